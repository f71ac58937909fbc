//! What the probabilistic cluster kernel costs in memory: a fixed amount, and a fixed amount per row. Each size is
//! measured in a process of its own, because a process's peak never falls.

use std::process::Command;

use dkae::kernel::Pck;
use dkae::math::rng::{Purpose, stream};
use ndarray::Array2;
use rand::RngExt;

const FEATURES: usize = 64;

/// Peak memory in bytes after computing the posteriors of this many rows, and the bytes these take.
fn measure(rows: usize) -> (f64, f64) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "memory_per_row_does_not_grow", "--nocapture"])
        .env("DKAE_TEST_ROWS", rows.to_string())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = String::from_utf8(output.stdout).unwrap();
    let numbers = output.lines().find_map(|l| l.split_once("measured:")).unwrap().1;
    let mut numbers = numbers.split_whitespace().map(|v| v.parse::<f64>().unwrap());
    (numbers.next().unwrap(), numbers.next().unwrap())
}

fn child(rows: usize) {
    let mut rng = stream(1, Purpose::Demo, 0, 0);
    let x = Array2::from_shape_fn((rows, FEATURES), |(i, k)| ((i + k) % 10) as f32 * 0.1 + 0.2 * rng.random::<f32>());
    let pck = Pck { restarts: 4, ..Pck::default() }.fit(x.view()).unwrap();
    let posteriors = pck.posteriors(x.view()).unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
    let peak: f64 = peak.split_whitespace().next().unwrap().parse().unwrap();
    println!("measured: {} {}", peak * 1024.0, posteriors.bytes());
}

#[test]
fn memory_per_row_does_not_grow() {
    if !std::path::Path::new("/proc/self/status").exists() {
        println!("skipped: this system does not tell a process's peak memory");
        return;
    }
    if let Ok(rows) = std::env::var("DKAE_TEST_ROWS") {
        return child(rows.parse().unwrap());
    }
    let sizes = [10_000, 30_000, 50_000];
    let [small, middle, large] = sizes.map(measure);
    let data = 4.0 * FEATURES as f64;
    let per_row = |a: (f64, f64), b: (f64, f64)| (b.0 - a.0) / 20_000.0 - data;
    let stored = large.1 / 50_000.0;
    println!(
        "{:.0} and {:.0} bytes a row beyond the data, {stored:.0} of them stored",
        per_row(small, middle),
        per_row(middle, large)
    );
    assert!((small.1 / 10_000.0 - stored).abs() < 0.05 * stored, "stored bytes a row change with n");
    for growth in [per_row(small, middle), per_row(middle, large)] {
        assert!(growth < 1.3 * stored + 100.0, "{growth:.0} bytes a row, of which {stored:.0} are stored");
    }
}
