//! What costs memory: the probabilistic cluster kernel a fixed amount, and a fixed amount per row; the kernel support
//! vector machine what its cache may take. Each is measured in a process of its own, because a process's peak never falls.

use std::process::Command;

use dkae::baseline::svm::KernelSvm;
use dkae::data::sample;
use dkae::kernel::{FittedRbf, Pck};
use dkae::math::rng::{Purpose, stream};
use ndarray::Array2;
use rand::RngExt;

const FEATURES: usize = 64;

/// The two numbers that a test of this file prints in a process of its own: its peak memory in bytes, and another.
fn in_a_process(test: &str, variable: (&str, &str)) -> (f64, f64) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(variable.0, variable.1)
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
    println!("measured: {} {}", peak(), posteriors.bytes());
}

/// In a process of its own: the paper's kernel on 20 000 rows of 784 features, which are the embedded digits in four
/// shades. Data, mixtures and posteriors together stay below 400 MB.
#[test]
fn the_papers_kernel_on_20000_rows_stays_below_400_mb() {
    if !peak_is_known() {
        return;
    }
    if std::env::var("DKAE_TEST_PAPER").is_ok() {
        let x = {
            let digits = sample::digits().x;
            Array2::from_shape_fn((20_000, 784), |(i, j)| {
                digits[[i % 5000, j]] / 255.0 * (1.0 - 0.05 * (i / 5000) as f32)
            })
        };
        let posteriors = Pck::default().fit(x.view()).unwrap().posteriors(x.view()).unwrap();
        println!("measured: {} {}", peak(), posteriors.bytes());
        return;
    }
    let (peak, stored) = in_a_process("the_papers_kernel_on_20000_rows_stays_below_400_mb", ("DKAE_TEST_PAPER", "1"));
    println!("{:.0} MB at the peak, {:.0} MB of them posteriors", peak / 1e6, stored / 1e6);
    assert!(peak < 400e6, "{peak}");
}

fn peak_is_known() -> bool {
    let known = std::path::Path::new("/proc/self/status").exists();
    if !known {
        println!("skipped: this system does not tell a process's peak memory");
    }
    known
}

/// Peak memory of this process in bytes.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
    1024.0 * peak.split_whitespace().next().unwrap().parse::<f64>().unwrap()
}

#[test]
fn memory_per_row_does_not_grow() {
    if !peak_is_known() {
        return;
    }
    if let Ok(rows) = std::env::var("DKAE_TEST_ROWS") {
        return child(rows.parse().unwrap());
    }
    let sizes = [10_000, 30_000, 50_000];
    let [small, middle, large] =
        sizes.map(|rows| in_a_process("memory_per_row_does_not_grow", ("DKAE_TEST_ROWS", &rows.to_string())));
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

/// Two classes of 4000 rows each: their kernel matrix would take 256 MB. A cache of half of that and one of a hundredth find the
/// same machine.
#[test]
fn a_kernel_machine_takes_no_more_than_its_cache() {
    if !peak_is_known() {
        return;
    }
    if let Ok(cache_mb) = std::env::var("DKAE_TEST_CACHE") {
        let mut rng = stream(1, Purpose::Demo, 0, 0);
        let x = Array2::from_shape_fn((8000, 4), |(i, _)| rng.random::<f32>() + 0.5 * (i % 2) as f32);
        let labels: Vec<u32> = (0..8000).map(|i| i % 2).collect();
        let before = peak();
        let (svm, rbf) =
            (KernelSvm { cache_mb: cache_mb.parse().unwrap(), ..KernelSvm::default() }, FittedRbf::of_sigma(0.5, 4));
        let model = svm.fit(&rbf, x.view(), &labels).unwrap();
        println!("measured: {} {}", peak() - before, model.support.duals.mapv(f64::abs).sum());
        return;
    }
    let test = "a_kernel_machine_takes_no_more_than_its_cache";
    let [large, small] = ["128", "3"].map(|mb| in_a_process(test, ("DKAE_TEST_CACHE", mb)));
    println!("{:.0} MB of 128, {:.0} MB of 3; duals {:.2} and {:.2}", large.0 / 1e6, small.0 / 1e6, large.1, small.1);
    // Beyond the cache: duals, gradients and the buffers of products.
    assert!(large.0 < 128e6 + 12e6 && small.0 < 3e6 + 12e6, "{large:?} {small:?}");
    assert!(large.0 > 50e6, "{large:?}: the cache is not used");
    assert!((large.1 - small.1).abs() < 0.01 * large.1, "{large:?} {small:?}");
}
