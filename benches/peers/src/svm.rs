//! Support vector machines: linear ones on 14 000 codes and on their pixels, with both hinges, and with an RBF kernel,
//! against scikit-learn's `LinearSVC` and `SVC`.
//!
//! Prices, tolerances and kernels are the same. The accuracies on the test rows must be equal but for a few rows, and
//! for linear machines our objective must be no worse than the peer's.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use dkae::Classify;
use dkae::baseline::svm::linear::Hinge;
use dkae::baseline::svm::{KernelSvm, LinearSvm};
use dkae::kernel::{Rbf, Width};
use dkae::net::Init;
use dkae::train::{Length, Trainer};
use ndarray::{Array2, ArrayView2, Axis, s};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::data::{self, Drawn, SEED};
use crate::environment::Bench;
use crate::results::{Row, seconds};
use crate::turns::{Turns, alternate, timed};

/// Accuracies may differ by this: three rows in a thousand.
const SAME: f64 = 0.003;
/// Our objective may be this times the peer's: both stop at a tolerance.
const NO_WORSE: f64 = 1.002;

#[derive(Clone, Serialize, Deserialize)]
pub struct Settings {
    x: PathBuf,
    labels: PathBuf,
    train: usize,
    /// The first test row; those between are for validation.
    test: usize,
    all: usize,
    machine: Machine,
    /// The price C.
    c: f64,
    /// exp(-gamma |a - b|^2)
    gamma: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Machine {
    SquaredHinge,
    Hinge,
    Rbf,
}

pub fn run(bench: &Bench) -> Result<Vec<Row>> {
    let drawn = data::drawn(bench)?;
    let codes = codes(bench, &drawn)?;
    let works = [
        ("linear SVM on codes, squared hinge", &codes, Machine::SquaredHinge, 0.1, "LinearSVC"),
        ("linear SVM on codes, hinge", &codes, Machine::Hinge, 0.1, "LinearSVC"),
        ("linear SVM on pixels, squared hinge", &drawn.x, Machine::SquaredHinge, 0.1, "LinearSVC"),
        ("linear SVM on pixels, hinge", &drawn.x, Machine::Hinge, 0.1, "LinearSVC"),
        ("RBF SVM on pixels", &drawn.x, Machine::Rbf, 10.0, "SVC"),
        ("RBF SVM on codes", &codes, Machine::Rbf, 10.0, "SVC"),
    ];
    let mut rows = Vec::new();
    for (work, x, machine, c, peer) in works {
        let gamma = match machine {
            Machine::Rbf => {
                let x = data::read(x, drawn.train)?;
                1.0 / (x.ncols() as f64 * f64::from(x.var(0.0)))
            }
            _ => 0.0,
        };
        let settings = Settings {
            x: x.clone(),
            labels: drawn.labels.clone(),
            train: drawn.train,
            test: drawn.train + drawn.validation,
            all: drawn.all,
            machine,
            c,
            gamma,
        };
        let mut sides = [bench.ours("dkae", "svm", &settings)?, bench.peer(peer, "svm", &settings)?];
        let replies = alternate(&mut sides, 0, bench.either(3, 2))?;
        let (ours, theirs) = (replies[0][0].number("accuracy")?, replies[1][0].number("accuracy")?);
        ensure!(
            (ours - theirs).abs() <= bench.either(SAME, 0.02),
            "{work}: accuracy {ours:.4}, the peer's {theirs:.4}"
        );
        let mut check = format!("accuracy {:.2} and {:.2} %", 100.0 * ours, 100.0 * theirs);
        if machine != Machine::Rbf {
            let (ours, theirs) = (replies[0][0].number("objective")?, replies[1][0].number("objective")?);
            ensure!(ours <= NO_WORSE * theirs, "{work}: objective {ours:.5}, the peer's {theirs:.5}");
            check += &format!(", objective {ours:.4} and {theirs:.4}");
            let stopped = |i: usize| replies[i][0].value["converged"] == json!(false);
            for (who, _) in [("ours", 0), ("the peer", 1)].into_iter().filter(|&(_, i)| stopped(i)) {
                check += &format!("; {who} stopped at its limit of iterations");
            }
        }
        rows.push(Row::less(work, peer, "s", &seconds(&replies[0], 0), &seconds(&replies[1], 0), 2.0, &check));
    }
    Ok(rows)
}

/// Codes of the drawn rows, by a network that was trained for a minute.
fn codes(bench: &Bench, drawn: &Drawn) -> Result<PathBuf> {
    bench.prepared("codes.npy", |path| {
        let x = data::read(&drawn.x, drawn.all)?;
        let train = x.slice(s![..drawn.train, ..]);
        let prior = data::kernel(bench).fit(train)?.posteriors(train)?;
        let trainer = Trainer {
            layers: bench.either(Vec::new(), vec![100, 50]),
            init: Init::Glorot,
            pretrain: Some(Length::Steps(100)),
            steps: Length::Steps(500),
            seed: SEED,
            ..Trainer::default()
        };
        data::write(path, trainer.fit(train, &prior, &mut ())?.encode(x.view())?.view())
    })
}

pub fn work(settings: Settings, turns: Turns) -> Result<()> {
    let x = data::read(&settings.x, settings.all)?;
    let labels = data::read_labels(&settings.labels, settings.all)?;
    let (train, rest) = x.view().split_at(Axis(0), settings.train);
    let test = rest.slice(s![settings.test - settings.train.., ..]);
    let (known, asked) = (&labels[..settings.train], &labels[settings.test..]);
    let accuracy =
        |found: Vec<u32>| found.iter().zip(asked).filter(|(a, b)| a == b).count() as f64 / asked.len() as f64;
    if settings.machine == Machine::Rbf {
        let kernel = Rbf { width: Width::Value((0.5 / settings.gamma).sqrt()), ..Rbf::default() }.fit(train)?;
        let machine = KernelSvm { c: settings.c, ..KernelSvm::default() };
        return turns.serve(|| {
            let (model, seconds) = timed(|| machine.fit(&kernel, train, known));
            let (found, predict) = timed(|| model?.classify(test));
            Ok((seconds, json!({ "accuracy": accuracy(found?), "predict_seconds": predict })))
        });
    }
    let loss = if settings.machine == Machine::Hinge { Hinge::L1 } else { Hinge::L2 };
    let machine = LinearSvm { c: settings.c, loss, ..LinearSvm::default() };
    turns.serve(|| {
        let (model, seconds) = timed(|| machine.fit(train, known));
        let model = model?;
        let weights = model.coefficients.iter().chain(&model.intercepts).map(|w| w * w).sum::<f64>();
        let objective = objective(model.decision(train)?.view(), known, loss, settings.c) + 0.5 * weights;
        let value = json!({
            "accuracy": accuracy(model.classify(test)?),
            "objective": objective,
            "converged": model.fits.iter().all(|f| f.converged),
        });
        Ok((seconds, value))
    })
}

/// C times the losses of all classes against the rest.
fn objective(decision: ArrayView2<f64>, labels: &[u32], loss: Hinge, c: f64) -> f64 {
    let inside = Array2::from_shape_fn(decision.dim(), |(i, k)| {
        let sign = if labels[i] == k as u32 { 1.0 } else { -1.0 };
        (1.0 - sign * decision[[i, k]]).max(0.0)
    });
    c * match loss {
        Hinge::L1 => inside.sum(),
        Hinge::L2 => inside.mapv(|v| v * v).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn the_objective_counts_what_is_inside_the_margin() {
        let decision = array![[2.0, -0.5], [0.5, 1.0]];
        // Row 0 of class 0 misses in column 1 by 0.5; row 1 of class 1 misses in column 0 by 1.5.
        assert_eq!(objective(decision.view(), &[0, 1], Hinge::L1, 2.0), 4.0);
        assert_eq!(objective(decision.view(), &[0, 1], Hinge::L2, 2.0), 5.0);
    }
}
