use dkae::kernel::*;
use dkae::net::*;
use dkae::train::*;
use ndarray::*;
use std::io::Read;
use std::ops::ControlFlow;
fn gz(p: &str) -> Vec<u8> {
    let mut v = vec![];
    flate2::read::GzDecoder::new(std::fs::File::open(p).unwrap()).read_to_end(&mut v).unwrap();
    v
}
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let get = |k: &str, d: &str| {
        args.iter().find_map(|a| a.strip_prefix(&format!("{k}=")).map(String::from)).unwrap_or(d.into())
    };
    let im = gz("../shared/data/mnist/train-images-idx3-ubyte.gz");
    let im = &im[16..];
    let n = 20000;
    let order =
        dkae::math::rng::sample(&mut dkae::math::rng::stream(0, dkae::math::rng::Purpose::Split, 0, 0), 60000, n);
    let x = Array2::from_shape_fn((n, 784), |(i, j)| im[order[i] * 784 + j] as f32 / 255.0);
    let (tr, va) = (x.slice(s![..14000, ..]), x.slice(s![14000..17000, ..]));
    let s = std::time::Instant::now();
    let pck = Pck { seed: 0, ..Pck::default() }.fit(tr).unwrap();
    let t1 = s.elapsed().as_secs_f64();
    let ptr = pck.posteriors(tr).unwrap();
    let pva = pck.posteriors(va).unwrap();
    println!("pck {t1:.1} {:.1} s", s.elapsed().as_secs_f64());
    let mut t = Trainer {
        steps: get("steps", "3000").parse().unwrap(),
        pretrain: get("pre", "300").parse().unwrap(),
        rate: Some(get("rate", "5e-4").parse().unwrap()),
        lambda: get("lambda", "0.1").parse().unwrap(),
        ..Trainer::default()
    };
    if let Some(c) = get("clip", "").parse().ok() {
        t.clip = Some(c);
    }
    t.hidden = get("hidden", "relu").parse().unwrap();
    t.code = get("code", "linear").parse().unwrap();
    t.batch = get("batch", "200").parse().unwrap();
    let s = std::time::Instant::now();
    let mut last = 0.0;
    let m = t
        .fit_validated(
            Rows { x: tr, prior: Some(&ptr) },
            Some(Rows { x: va, prior: Some(&pva) }),
            None,
            &mut |e: &Event| {
                match e {
                    Event::Phase { phase, .. } => println!("{:.0}s {phase}", s.elapsed().as_secs_f64()),
                    Event::Step { step, losses, .. } if step % 100 == 0 => {
                        println!("   {step} {:.5} {:.4}", losses.reconstruction, losses.code)
                    }
                    Event::Validation { step, losses, .. } => {
                        println!(
                            "{:.0}s  {step} val mse {:.5} Lc {:.4}  {:.1}ms",
                            s.elapsed().as_secs_f64(),
                            losses.reconstruction,
                            losses.code,
                            (s.elapsed().as_secs_f64() - last) / 250.0 * 1e3
                        );
                        last = s.elapsed().as_secs_f64();
                    }
                    _ => {}
                }
                ControlFlow::Continue(())
            },
        )
        .unwrap();
    m.save("/work/tmp/m.dkae").unwrap();
}
