//! The probabilistic cluster kernel: 870 mixtures fitted on 200 rows, and the posteriors of 20 000 rows.
//!
//! The peer is scikit-learn's `GaussianMixture` with diagonal covariances, from the same rows, means, variances and weights,
//! with the same stopping rule; once as it is, with the threads of its linear algebra, and once with the mixtures shared
//! out over threads. The faster counts. The posteriors of some rows are compared, every component of every mixture.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use dkae::kernel::Pck;
use dkae::kernel::mixture::Rows;
use dkae::math::rng::{Purpose, sample, stream};
use ndarray::{Array2, Axis};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::data::{self, Drawn};
use crate::environment::Bench;
use crate::results::{Row, median, seconds};
use crate::turns::{Turns, alternate, timed};

/// The mean difference of posteriors that is still the same. Ours are stored as 16-bit fractions.
const SAME: f64 = 1e-5;

#[derive(Clone, Serialize, Deserialize)]
pub struct Settings {
    x: PathBuf,
    rows: usize,
    kernel: Pck,
    /// Which rows the mixtures are fitted on, and where each starts.
    starts: PathBuf,
    /// Where to write the posteriors of the first rows.
    out: PathBuf,
    /// How many rows those are.
    compared: usize,
    /// Whether the peer shares mixtures out over threads.
    shared_out: bool,
}

/// The subset and the starts of all mixtures, drawn as [`Pck::fit`] draws them.
#[derive(Serialize)]
struct Starts {
    subset: Vec<usize>,
    starts: Vec<Vec<usize>>,
}

/// Writes the starts of a kernel fitted on the first `n` rows of the drawn ones.
pub fn starts(bench: &Bench, drawn: &Drawn, n: usize) -> Result<PathBuf> {
    bench.prepared(&format!("starts-{n}.json"), |path| {
        let kernel = data::kernel(bench);
        let mut subset = sample(&mut stream(kernel.seed, Purpose::Subset, 0, 0), n, kernel.subset.min(n));
        subset.sort_unstable();
        let x = data::read(&drawn.x, n)?.select(Axis(0), &subset);
        let rows = Rows::new(x.view(), kernel.covariance)?;
        let mixtures = (1..=kernel.restarts).flat_map(|q| (2..=kernel.max_components).map(move |g| (q, g)));
        let draw = |(q, g)| rows.draw(g, kernel.start, &mut stream(kernel.seed, Purpose::Mixture, q as u64, g as u64));
        let starts = Starts { subset, starts: mixtures.map(draw).collect() };
        Ok(std::fs::write(path, serde_json::to_string(&starts)?)?)
    })
}

pub fn run(bench: &Bench) -> Result<Vec<Row>> {
    let rounds = bench.either(3, 2);
    let drawn = data::drawn(bench)?;
    let settings = Settings {
        starts: starts(bench, &drawn, drawn.all)?,
        x: drawn.x,
        rows: drawn.all,
        kernel: data::kernel(bench),
        out: bench.folder.join("posteriors-ours.npy"),
        compared: 500,
        shared_out: false,
    };
    let theirs = Settings { out: bench.folder.join("posteriors-theirs.npy"), ..settings.clone() };
    let shared = Settings { shared_out: true, out: bench.folder.join("posteriors-shared.npy"), ..settings.clone() };
    let mut sides = [
        bench.ours("dkae", "pck", &settings)?,
        bench.peer("scikit-learn", "pck", &theirs)?,
        bench.peer("scikit-learn, mixtures on threads", "pck", &shared)?,
    ];
    let replies = alternate(&mut sides, 0, rounds)?;
    let mut worst = (0.0, 0.0);
    for peer in [&theirs, &shared] {
        let (mean, largest) = difference(&settings.out, &peer.out, settings.compared)?;
        worst = if mean >= worst.0 { (mean, largest) } else { worst };
    }
    ensure!(worst.0 < SAME, "posteriors differ by {:.1e} on average, {:.1e} at most", worst.0, worst.1);
    let (ours, theirs) = (replies[0][0].number("iterations")?, replies[1][0].number("iterations")?);
    ensure!((ours / theirs - 1.0).abs() < 0.01, "{ours} iterations of EM, the peer {theirs}");
    let check = format!(
        "posteriors of {} rows {:.0e} apart on average, {:.0e} at most; {ours} and {theirs} iterations",
        settings.compared, worst.0, worst.1
    );
    let times: Vec<Vec<f64>> = replies.iter().map(|r| seconds(r, 0)).collect();
    let best = if median(&times[1]) <= median(&times[2]) { 1 } else { 2 };
    let peer = ["", "scikit-learn GaussianMixture", "scikit-learn GaussianMixture, on threads"][best];
    Ok(vec![Row::less("PCK of 20 000 rows", peer, "s", &times[0], &times[best], 10.0, &check)])
}

/// The mean and the largest difference of two files of posteriors.
fn difference(ours: &Path, theirs: &Path, rows: usize) -> Result<(f64, f64)> {
    let (a, b) = (data::read(ours, rows)?, data::read(theirs, rows)?);
    ensure!(a.dim() == b.dim(), "{:?} posteriors, the peer {:?}", a.dim(), b.dim());
    ensure!(a.iter().chain(&b).all(|v| v.is_finite()), "some posteriors are not finite");
    let d = (&a - &b).mapv(|d| f64::from(d.abs()));
    Ok((d.mean().context("no posteriors")?, d.fold(0.0, |m, &v| m.max(v))))
}

pub fn work(settings: Settings, turns: Turns) -> Result<()> {
    let x = data::read(&settings.x, settings.rows)?;
    turns.serve(|| {
        let (fitted, seconds) = timed(|| -> dkae::Result<_> {
            let kernel = settings.kernel.fit(x.view())?;
            let posteriors = kernel.posteriors(x.view())?;
            Ok((kernel, posteriors))
        });
        let (kernel, posteriors) = fitted?;
        let mut dense = Array2::zeros((settings.compared, posteriors.columns()));
        for (i, mut row) in dense.rows_mut().into_iter().enumerate() {
            posteriors.row(i).for_each(|(column, value)| row[column] = value);
        }
        data::write(&settings.out, dense.view())?;
        Ok((seconds, json!({ "iterations": kernel.summary().iterations })))
    })
}
