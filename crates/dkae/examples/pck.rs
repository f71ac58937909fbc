//! Fits the probabilistic cluster kernel on 20 000 MNIST digits and prints what it costs and what it is worth: times,
//! entries per row, memory, the time of a block of P, and the distance to the ideal kernel of the labels.
//!
//! `cargo run --release --example pck -- [rows]`, with the data folder in `DKAE_DATA`.

use std::io::Read;
use std::path::PathBuf;
use std::time::Instant;

use dkae::kernel::{Floor, Pck, Prior};
use dkae::math::rng::{Purpose, below, sample, stream};
use ndarray::{Array2, Axis};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rows = std::env::args().nth(1).map_or(Ok(20_000), |a| a.parse::<usize>())?;
    let floor = std::env::args().nth(2).map_or(Ok(Floor::Absolute(1e-2)), |a| a.parse().map(Floor::Absolute))?;
    let images = read("train-images-idx3-ubyte.gz", 16)?;
    let labels = read("train-labels-idx1-ubyte.gz", 8)?;
    let drawn = sample(&mut stream(0, Purpose::Split, 0, 0), labels.len(), rows);
    let x = Array2::from_shape_fn((rows, 784), |(i, k)| f32::from(images[drawn[i] * 784 + k]) / 255.0);
    drop(images);
    let labels: Vec<u8> = drawn.iter().map(|&i| labels[i]).collect();
    // The last 15 % are the test part, the first 70 % are for fitting, as in the paper.
    let (train, test) = (rows * 70 / 100, rows * 85 / 100..rows);
    println!("{rows} rows of 784 features read, peak memory {} MB", peak());

    let start = Instant::now();
    let pck = Pck { floor, ..Pck::default() }.fit(x.slice_axis(Axis(0), (0..train).into()))?;
    let fitted = start.elapsed();
    let posteriors = pck.posteriors(x.view())?;
    let total = start.elapsed();
    println!("{:?}", pck.summary());
    println!("fit {fitted:.2?}, posteriors {:.2?}, together {total:.2?}", total - fitted);
    println!(
        "{:.0} entries a row of {} columns, {:.1} MB; peak memory {} MB",
        posteriors.non_zeros() as f64 / rows as f64,
        posteriors.columns(),
        posteriors.bytes() as f64 / 1e6,
        peak()
    );

    let mut block = Array2::zeros((200, 200));
    let mut times = Vec::new();
    let mut rng = stream(1, Purpose::Batches, 0, 0);
    for _ in 0..50 {
        let batch: Vec<usize> = (0..200).map(|_| below(&mut rng, rows)).collect();
        let start = Instant::now();
        posteriors.block(&batch, &batch, block.view_mut());
        times.push(start.elapsed());
    }
    times.sort();
    println!("a 200 x 200 block takes {:.2?} (median of 50), {:.2?} at best", times[25], times[0]);

    let test: Vec<usize> = test.collect();
    let (mut pp, mut pi, mut ii) = (0.0, 0.0, 0.0);
    for part in test.chunks(500) {
        let mut p = Array2::zeros((part.len(), test.len()));
        posteriors.block(part, &test, p.view_mut());
        for ((i, j), &p) in p.indexed_iter() {
            let (p, same) = (f64::from(p), labels[part[i]] == labels[test[j]]);
            pp += p * p;
            pi += if same { p } else { 0.0 };
            ii += f64::from(same);
        }
    }
    println!("L_c(P, ideal) on {} test rows: {:.4}", test.len(), (2.0 - 2.0 * pi / (pp * ii).sqrt()).max(0.0).sqrt());
    Ok(())
}

fn read(name: &str, header: usize) -> std::io::Result<Vec<u8>> {
    let data = std::env::var_os("DKAE_DATA").map_or_else(|| PathBuf::from("../shared/data"), PathBuf::from);
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(std::fs::File::open(data.join("mnist").join(name))?).read_to_end(&mut bytes)?;
    Ok(bytes.split_off(header))
}

/// The largest memory this process has had, in MB, where the system says so.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap_or("0");
    line.split_whitespace().next().and_then(|kb| kb.parse::<usize>().ok()).unwrap_or(0) / 1000
}
