//! Time and memory as rows grow, at a fixed number of steps: memory should be linear in the rows with little a row beyond the data
//! itself, encoding time linear, the time of a step flat.
//!
//! Rows are MNIST, and MNIST again with small shifts. Each size is fitted in a process of its own, because a process's peak never
//! falls, and all sizes take turns a few times, so that a machine that slows down meanwhile does not look like growth; medians
//! count. Codes are made block by block and not kept: 2000 codes a row would be 8 KB each.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use dkae::kernel::Pck;
use dkae::net::Init;
use dkae::train::{Event, Length, Phase, Trainer};
use ndarray::Axis;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::data::{self, SEED};
use crate::environment::Bench;
use crate::results::median;
use crate::turns::{Turns, peak_mb, timed};

/// Rows encoded at a time.
const BLOCK: usize = 1920;

#[derive(Clone, Serialize, Deserialize)]
pub struct Settings {
    x: PathBuf,
    rows: usize,
    kernel: Pck,
    layers: Vec<usize>,
    pretrain: u64,
    steps: u64,
}

/// All sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    /// From small to large.
    pub sizes: Vec<Size>,
    /// Bytes of peak memory that a row adds beyond its own features: the most from one size to the next.
    pub bytes_a_row: f64,
}

/// One size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Size {
    /// Rows.
    pub rows: usize,
    /// Time of the kernel: mixtures, and posteriors of all rows.
    pub kernel_seconds: f64,
    /// Median time of a step of fine-tuning.
    pub step_ms: f64,
    /// Time of the whole fit.
    pub fit_seconds: f64,
    /// Time to encode all rows.
    pub encode_seconds: f64,
    /// Peak memory of the fit and of encoding.
    pub peak_mb: f64,
    /// The rows alone.
    pub data_mb: f64,
}

pub fn run(bench: &Bench) -> Result<Growth> {
    let sizes = bench.either([10_000, 20_000, 40_000, 80_000], [2000, 4000, 6000, 8000]);
    let largest = sizes[sizes.len() - 1];
    let x = bench.prepared("growth.npy", |path| data::write_shifted(path, bench.digits()?.x.view(), largest))?;
    let rounds = bench.either(3, 1);
    let mut runs = vec![Vec::new(); sizes.len()];
    for i in (0..rounds).flat_map(|_| 0..sizes.len()) {
        let rows = sizes[i];
        let settings = Settings {
            x: x.clone(),
            rows,
            kernel: data::kernel(bench),
            layers: bench.either(Vec::new(), vec![100, 50]),
            pretrain: 20,
            steps: bench.either(200, 20),
        };
        let mut side = bench.ours("dkae", "growth", &settings)?;
        let size: Size = side.turn()?.value()?;
        println!(
            "{rows} rows: kernel {:.2} s, step {:.1} ms, fit {:.1} s, encode {:.2} s, peak {:.0} MB of which data {:.0} MB",
            size.kernel_seconds, size.step_ms, size.fit_seconds, size.encode_seconds, size.peak_mb, size.data_mb
        );
        runs[i].push(size);
    }
    let found: Vec<Size> = runs.iter().map(|runs| middle(runs)).collect();
    let bytes_a_row = bytes_a_row(&found);
    println!("at most {bytes_a_row:.0} bytes a row beyond the data");
    Ok(Growth { sizes: found, bytes_a_row })
}

/// The median of every figure of one size.
fn middle(runs: &[Size]) -> Size {
    let of = |figure: fn(&Size) -> f64| median(&runs.iter().map(figure).collect::<Vec<_>>());
    Size {
        rows: runs[0].rows,
        kernel_seconds: of(|s| s.kernel_seconds),
        step_ms: of(|s| s.step_ms),
        fit_seconds: of(|s| s.fit_seconds),
        encode_seconds: of(|s| s.encode_seconds),
        peak_mb: of(|s| s.peak_mb),
        data_mb: of(|s| s.data_mb),
    }
}

/// What a row adds beyond the data, from one size to the next: the most.
fn bytes_a_row(sizes: &[Size]) -> f64 {
    let beyond = |size: &Size| size.peak_mb - size.data_mb;
    let slope = |pair: &[Size]| 1e6 * (beyond(&pair[1]) - beyond(&pair[0])) / (pair[1].rows - pair[0].rows) as f64;
    sizes.windows(2).map(slope).fold(f64::NEG_INFINITY, f64::max)
}

pub fn work(settings: Settings, turns: Turns) -> Result<()> {
    let x = data::read(&settings.x, settings.rows)?;
    turns.serve(|| {
        let begin = Instant::now();
        let prior = settings.kernel.fit(x.view())?.posteriors(x.view())?;
        let kernel_seconds = begin.elapsed().as_secs_f64();
        let trainer = Trainer {
            layers: settings.layers.clone(),
            init: Init::Glorot,
            pretrain: Some(Length::Steps(settings.pretrain)),
            steps: Length::Steps(settings.steps),
            seed: SEED,
            ..Trainer::default()
        };
        let (mut last, mut steps) = (Instant::now(), Vec::new());
        let model = trainer.fit(x.view(), &prior, &mut |event: &Event| {
            if let Event::Step { phase: Phase::FineTune, .. } = event {
                steps.push(1e3 * last.elapsed().as_secs_f64());
            }
            last = Instant::now();
            ControlFlow::Continue(())
        })?;
        let fit_seconds = begin.elapsed().as_secs_f64();
        let (encoded, encode_seconds) = timed(|| {
            x.axis_chunks_iter(Axis(0), BLOCK)
                .try_for_each(|block| model.encode(block).map(std::hint::black_box).map(drop))
        });
        encoded?;
        let peak_mb = peak_mb()?;
        let size = Size {
            rows: x.nrows(),
            kernel_seconds,
            step_ms: median(&steps),
            fit_seconds,
            encode_seconds,
            peak_mb,
            data_mb: 4e-6 * x.len() as f64,
        };
        Ok((fit_seconds + encode_seconds, json!(size)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_a_row_leave_out_what_does_not_grow_and_the_data() {
        // A row adds 2400 bytes, and 1600 more from the second size on.
        let beyond = |rows: usize| 2400 * rows + 1600 * rows.saturating_sub(20_000);
        let size = |rows: usize| Size {
            rows,
            kernel_seconds: 0.0,
            step_ms: 0.0,
            fit_seconds: 0.0,
            encode_seconds: 0.0,
            peak_mb: 300.0 + 1e-6 * (3136 * rows + beyond(rows)) as f64,
            data_mb: 1e-6 * 3136.0 * rows as f64,
        };
        assert!((bytes_a_row(&[10_000, 20_000].map(size)) - 2400.0).abs() < 1e-6);
        assert!((bytes_a_row(&[10_000, 20_000, 40_000].map(size)) - 4000.0).abs() < 1e-6);
    }
}
