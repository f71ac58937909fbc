use dkae::kernel::Prior;
use dkae::math::threads;
use dkae::net::*;
use dkae::train::*;
use ndarray::*;
struct I;
impl Prior for I {
    fn len(&self) -> usize {
        20000
    }
    fn block(&self, r: &[usize], c: &[usize], mut out: ArrayViewMut2<f32>) {
        for (i, r) in r.iter().enumerate() {
            for (j, c) in c.iter().enumerate() {
                out[[i, j]] = if r % 10 == c % 10 { 1.0 } else { 0.1 };
            }
        }
    }
}
fn main() {
    let t = Trainer::default();
    let a = Architecture {
        input: 784,
        layers: t.layers.clone(),
        hidden: Activation::Relu,
        code: Activation::Linear,
        output: Activation::Sigmoid,
        tied: true,
    };
    let mut net = Autoencoder::new(a, 1).unwrap();
    let x = Array2::from_shape_fn((2000, 784), |(i, j)| if (i * 31 + j * 17) % 7 == 0 { 0.8 } else { 0.0 });
    let mut w = Workspace::new(&net, 200);
    let mut adam = Adam::new(net.layers());
    let batch: Vec<usize> = (0..200).map(|i| i * 7 % 2000).collect();
    for rep in 0..6 {
        let s = std::time::Instant::now();
        let (mut td, mut ta) = (0.0, 0.0);
        for _ in 0..10 {
            threads::run(|| {
                let s = std::time::Instant::now();
                w.load(x.view(), &batch);
                w.differentiate(&net, 0..4, 0.1, Some((&I, &batch))).unwrap();
                td += s.elapsed().as_secs_f64();
                let s = std::time::Instant::now();
                adam.step(net.layers_mut(), w.gradients(), 1e-4, 1.0);
                ta += s.elapsed().as_secs_f64();
            });
        }
        println!(
            "{rep} {:.1} ms/step  diff {:.1} adam {:.1}",
            s.elapsed().as_secs_f64() * 100.0,
            td * 100.0,
            ta * 100.0
        );
    }
}
