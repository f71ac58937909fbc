//! Kernel PCA: 64 components of 14 000 rows, under an RBF kernel and under the probabilistic cluster kernel.
//!
//! The peer is scikit-learn's `KernelPCA` with its randomised solver, in single precision. For the cluster kernel both start
//! from the posteriors: ours works on them as they are, the peer needs the kernel matrix, a product of posteriors (dense, in single
//! precision, on all threads); it is also compared without that product. Eigenvalues and embeddings are compared, up to the
//! signs of components. Peak memory is that of a process that does this and nothing else.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use dkae::baseline::{Kpca, Spectrum};
use dkae::kernel::{Pck, Rbf, Width};
use dkae::progress::Silent;
use ndarray::Array2;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::data;
use crate::environment::Bench;
use crate::results::{Row, peak, seconds};
use crate::turns::{Turns, alternate, timed};

/// Eigenvalues may differ by this, relatively: the peer's random search finds the small ones roughly.
const SAME_VALUES: f64 = 0.05;
/// The cosine between each of the first components of both sides is at least this.
const SAME_COMPONENTS: f64 = 0.999;
/// How many first components those are.
const FIRST: usize = 5;

#[derive(Clone, Serialize, Deserialize)]
pub struct Settings {
    x: PathBuf,
    rows: usize,
    components: usize,
    /// exp(-gamma |a - b|^2); none means the cluster kernel.
    gamma: Option<f64>,
    kernel: Pck,
    /// The posteriors as a sparse matrix: `.begins`, `.columns` and `.values` are appended.
    posteriors: String,
    /// Where to write the embedding.
    out: PathBuf,
}

pub fn run(bench: &Bench) -> Result<Vec<Row>> {
    let rounds = bench.either(3, 2);
    let drawn = data::drawn(bench)?;
    let posteriors = bench.folder.join("posteriors").to_string_lossy().into_owned();
    bench.prepared("posteriors.values", |path| {
        let (begins, columns, values) = data::posteriors(bench, &drawn)?.to_csr();
        std::fs::write(
            path.with_extension("begins"),
            begins.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>(),
        )?;
        std::fs::write(
            path.with_extension("columns"),
            columns.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>(),
        )?;
        Ok(std::fs::write(path, values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>())?)
    })?;
    let x = data::read(&drawn.x, drawn.train)?;
    // scikit-learn's own choice for support vector machines: one over the features times the variance.
    let gamma = 1.0 / (x.ncols() as f64 * f64::from(x.var(0.0)));
    let mut rows = Vec::new();
    for (name, gamma) in [("RBF", Some(gamma)), ("PCK", None)] {
        let settings = Settings {
            x: drawn.x.clone(),
            rows: drawn.train,
            components: bench.either(64, 8),
            gamma,
            kernel: data::kernel(bench),
            posteriors: posteriors.clone(),
            out: bench.folder.join("embedding-ours.npy"),
        };
        let theirs = Settings { out: bench.folder.join("embedding-theirs.npy"), ..settings.clone() };
        let mut sides = [bench.ours("dkae", "kpca", &settings)?, bench.peer("KernelPCA", "kpca", &theirs)?];
        let replies = alternate(&mut sides, 0, rounds)?;
        let values = |i: usize| replies[i][0].value["values"].as_array().cloned().unwrap_or_default();
        let (ours, peers) = (numbers(&values(0)), numbers(&values(1)));
        ensure!(ours.len() == settings.components && peers.len() == ours.len(), "eigenvalues are missing");
        ensure!(ours.iter().chain(&peers).all(|v| v.is_finite()), "{name}: some eigenvalues are not finite");
        ensure!(replies[0][0].value["converged"] != false, "{name}: the search for eigenpairs stopped at its limit");
        let off = ours.iter().zip(&peers).map(|(a, b)| (a / b - 1.0).abs()).fold(0.0, f64::max);
        let cosines = cosines(&data::read(&settings.out, drawn.train)?, &data::read(&theirs.out, drawn.train)?);
        ensure!(cosines.iter().all(|c| c.is_finite()), "{name}: some cosines are not finite");
        let first = cosines[..FIRST].iter().copied().fold(1.0, f64::min);
        ensure!(off < SAME_VALUES, "{name}: eigenvalues differ by {off:.1e}, relatively");
        ensure!(first > SAME_COMPONENTS, "{name}: a cosine of only {first:.5} between the first components");
        let check = format!("eigenvalues {off:.0e} apart, cosine of the first {FIRST} components at least {first:.5}");
        let work = format!("kernel PCA, {name}");
        let (time, all) = (seconds(&replies[0], 0), seconds(&replies[1], 0));
        rows.push(Row::less(&work, "KernelPCA (randomized)", "s", &time, &all, 3.0, &check));
        if gamma.is_none() {
            let eigen = replies[1].iter().map(|r| r.number("eigen_seconds")).collect::<Result<Vec<f64>>>()?;
            let given = "KernelPCA (randomized), kernel matrix given";
            rows.push(Row::less(&work, given, "s", &time, &eigen, 3.0, &check));
        }
        let memory = format!("{work}, peak memory");
        let what = "peak of a process that does this alone";
        rows.push(Row::less(
            &memory,
            "KernelPCA (randomized)",
            "MB",
            &peak(&replies[0]),
            &peak(&replies[1]),
            2.0,
            what,
        ));
    }
    Ok(rows)
}

fn numbers(values: &[serde_json::Value]) -> Vec<f64> {
    values.iter().filter_map(serde_json::Value::as_f64).collect()
}

/// The cosine between each pair of columns, without its sign.
fn cosines(a: &Array2<f32>, b: &Array2<f32>) -> Vec<f64> {
    let column = |x: &Array2<f32>, j: usize| x.column(j).mapv(f64::from);
    let cosine = |j: usize| {
        let (a, b) = (column(a, j), column(b, j));
        a.dot(&b).abs() / (a.dot(&a) * b.dot(&b)).sqrt()
    };
    (0..a.ncols()).map(cosine).collect()
}

pub fn work(settings: Settings, turns: Turns) -> Result<()> {
    let x = data::read(&settings.x, settings.rows)?;
    let kpca = Kpca { components: settings.components, ..Kpca::default() };
    let finish = |spectrum: &Spectrum, scores: Array2<f32>, seconds: f64| -> Result<_> {
        data::write(&settings.out, scores.view())?;
        let (sweeps, converged) = spectrum.search.map(|search| (search.sweeps, search.converged)).unzip();
        let value = json!({ "values": spectrum.values.to_vec(), "sweeps": sweeps, "converged": converged });
        Ok((seconds, value))
    };
    if let Some(gamma) = settings.gamma {
        let rbf = Rbf { width: Width::Value((0.5 / gamma).sqrt()), ..Rbf::default() };
        return turns.serve(|| {
            let (found, seconds) = timed(|| -> dkae::Result<_> {
                let model = kpca.fit(Box::new(rbf.fit(x.view())?), x.view(), &Silent)?;
                let scores = model.spectrum.scores();
                Ok((model.spectrum, scores))
            });
            let (spectrum, scores) = found?;
            finish(&spectrum, scores, seconds)
        });
    }
    let posteriors = settings.kernel.fit(x.view())?.posteriors(x.view())?;
    turns.serve(|| {
        let (found, seconds) = timed(|| -> dkae::Result<_> {
            let model = kpca.fit_factors(&posteriors, &Silent)?;
            let scores = model.spectrum.scores();
            Ok((model.spectrum, scores))
        });
        let (spectrum, scores) = found?;
        finish(&spectrum, scores, seconds)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn components_that_differ_in_sign_and_length_are_the_same() {
        let (a, b) = (array![[1.0f32, 1.0], [2.0, 0.0]], array![[-2.0f32, 0.0], [-4.0, 3.0]]);
        let found = cosines(&a, &b);
        assert!((found[0] - 1.0).abs() < 1e-12 && found[1].abs() < 1e-12, "{found:?}");
    }
}
