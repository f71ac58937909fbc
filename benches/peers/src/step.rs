//! One training step of d-500-500-2000-2000 with 200 rows a batch: forward, both losses, backward, Adam.
//!
//! Ours is the trainer as users run it, timed by its observer, with blocks of P from posteriors; the peer draws the same
//! batches and indexes a stored P. Both start from the same weights, so their losses must be the same, step by step.
//! In the same rounds a large square product runs through both libraries: the faster is what the machine can do, and
//! the floating-point operations of a step (its matrix products alone, as a general product does them: ours skips the zeros of rectified
//! units, and may seem faster than the machine) over its time are compared with that.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, ensure};
use dkae::Error;
use dkae::data::Shape;
use dkae::kernel::Pck;
use dkae::math::gemm;
use dkae::net::{About, Activation, Architecture, Autoencoder, Init, Model};
use dkae::train::{Batches, Event, Length, Phase, Sampler, Schedule, Trainer};
use ndarray::Array2;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::data::{self, SEED};
use crate::environment::Bench;
use crate::results::{Row, seconds};
use crate::turns::{Turns, alternate, timed};

/// The rate of both sides, constant.
const RATE: f64 = 5e-4;
const BATCH: usize = 200;
const LAMBDA: f32 = 0.1;
/// Losses of the first round may differ by this, relatively: rounding in single precision, grown over its steps.
const SAME: f64 = 1e-3;

#[derive(Clone, Serialize, Deserialize)]
pub struct Settings {
    x: PathBuf,
    rows: usize,
    /// The start, as a model file.
    start: PathBuf,
    /// The rows of each batch.
    batches: PathBuf,
    /// P as a whole.
    prior: PathBuf,
    layers: Vec<usize>,
    kernel: Pck,
    /// Steps in a turn.
    steps: usize,
    /// Steps in all.
    total: usize,
    lambda: f32,
    rate: f64,
    /// Whether the peer compiles.
    compiled: bool,
    /// Multiply square matrices of this side instead.
    square: Option<usize>,
}

pub fn run(bench: &Bench) -> Result<Vec<Row>> {
    let (warm_up, rounds, steps) = bench.either((1, 15, 20), (1, 3, 4));
    let drawn = data::drawn(bench)?;
    let architecture = paper_network();
    let layers = architecture.layers.clone();
    let flops = flops(&architecture, BATCH);
    let start = start(bench)?;
    let total = (warm_up + rounds) * steps;
    let batches = bench.folder.join("batches.npy");
    let mut sampler = Sampler::new(Batches::Independent, SEED, layers.len() as u64, drawn.train);
    let mut drawn_batches = Array2::zeros((total, BATCH));
    let mut batch = vec![0; BATCH];
    for (step, mut row) in drawn_batches.rows_mut().into_iter().enumerate() {
        sampler.draw(step as u64, &mut batch);
        row.iter_mut().zip(&batch).for_each(|(out, &i)| *out = i as f32);
    }
    data::write(&batches, drawn_batches.view())?;
    let settings = Settings {
        prior: data::whole_prior(bench, &drawn)?,
        x: drawn.x,
        rows: drawn.train,
        start,
        batches,
        layers,
        kernel: data::kernel(bench),
        steps,
        total,
        lambda: LAMBDA,
        rate: RATE,
        compiled: false,
        square: None,
    };
    let compiled = Settings { compiled: true, ..settings.clone() };
    let side = bench.either(4096, 1024);
    let square = Settings { square: Some(side), ..settings.clone() };
    let mut sides = [
        bench.ours("dkae", "step", &settings)?,
        bench.peer("PyTorch", "step", &settings)?,
        bench.peer("torch.compile", "step", &compiled)?,
        bench.ours("product, gemm crate", "step", &square)?,
        bench.peer("product, PyTorch", "step", &square)?,
    ];
    let replies = alternate(&mut sides, warm_up, rounds)?;

    let ours = seconds(&replies[0], warm_up);
    let step_ms = |i: usize| seconds(&replies[i], warm_up).iter().map(|s| 1e3 * s / steps as f64).collect::<Vec<_>>();
    let mut rows = Vec::new();
    for (i, peer, goal) in [(1, "PyTorch eager, fused Adam", 1.3), (2, "torch.compile, fused Adam", 1.1)] {
        let losses = |side: usize| -> Result<Vec<[f64; 2]>> {
            Ok(replies[side].iter().map(|r| r.value::<Vec<[f64; 2]>>()).collect::<Result<Vec<_>>>()?.concat())
        };
        let (first, all) = (difference(&losses(0)?[..steps], &losses(i)?), difference(&losses(0)?, &losses(i)?));
        ensure!(first < SAME, "{peer}: the losses of the first {steps} steps differ by {first:.1e}, relatively");
        let check = format!("same losses: {first:.0e} apart in {steps} steps, {all:.0e} in {total}");
        rows.push(Row::less("training step", peer, "ms", &step_ms(0), &step_ms(i), goal, &check));
    }
    let giga = |flops: f64, times: &[f64]| times.iter().map(|s| 1e-9 * flops / s).collect::<Vec<_>>();
    let product = 2.0 * (side as f64).powi(3);
    let best: Vec<f64> = giga(product, &seconds(&replies[3], warm_up))
        .into_iter()
        .zip(giga(product, &seconds(&replies[4], warm_up)))
        .map(|(a, b)| a.max(b))
        .collect();
    let achieved = giga(flops * steps as f64, &ours);
    let check = format!(
        "{:.2} GFLOP a step in its products, skipped zeros counted; peak by {side} x {side} x {side}",
        1e-9 * flops
    );
    rows.push(Row::more("training step", "GEMM peak of the machine", "GFLOP/s", &achieved, &best, 0.8, &check));
    Ok(rows)
}

/// The paper's network for MNIST, with the activations that most users get.
pub fn paper_network() -> Architecture {
    Architecture {
        input: 784,
        layers: vec![500, 500, 2000, 2000],
        hidden: Activation::Relu,
        code: Activation::Linear,
        output: Activation::Sigmoid,
        tied: true,
    }
}

/// Random weights that both sides start from, as a model file.
pub fn start(bench: &Bench) -> Result<PathBuf> {
    bench.prepared("start.dkae", |path| {
        let about = About {
            settings: serde_json::Value::Null,
            kernel: String::new(),
            shape: Shape::Vector,
            names: None,
            rows: 0,
            figures: Default::default(),
            history: Vec::new(),
            caller: serde_json::Value::Null,
        };
        Ok(Model::new(Autoencoder::new(paper_network(), SEED)?, about).save(path)?)
    })
}

/// Operations in the matrix products of a step, k rows a batch. A layer of a x b weights costs 2 k a b in each of: encoder,
/// decoder, back through the decoder, back through the encoder (not for the first layer: nobody asks for the input's gradient), and
/// twice for the gradient of tied weights. The code loss adds C and its gradient, 2 k^2 N_c each.
fn flops(shape: &Architecture, k: usize) -> f64 {
    let layers = shape.layers.len();
    let products: usize = (0..layers).map(|l| shape.width(l) * shape.width(l + 1) * if l == 0 { 5 } else { 6 }).sum();
    2.0 * k as f64 * (products + 2 * k * shape.width(layers)) as f64
}

/// The largest relative difference of losses, step by step; the shorter list decides how many.
fn difference(a: &[[f64; 2]], b: &[[f64; 2]]) -> f64 {
    a.iter().zip(b).flat_map(|(a, b)| a.iter().zip(b)).map(|(a, b)| (a / b - 1.0).abs()).fold(0.0, f64::max)
}

pub fn work(settings: Settings, mut turns: Turns) -> Result<()> {
    if let Some(side) = settings.square {
        let a = Array2::from_shape_fn((side, side), |(i, j)| ((i * 7 + j * 3) % 11) as f32 - 5.0);
        let mut c = Array2::zeros((side, side));
        return turns.serve(|| {
            let ((), seconds) = timed(|| gemm::product(1.0f32, a.view(), a.view(), 0.0, c.view_mut()));
            Ok((seconds, json!(null)))
        });
    }
    let x = data::read(&settings.x, settings.rows)?;
    let prior = settings.kernel.fit(x.view())?.posteriors(x.view())?;
    let trainer = Trainer {
        layers: settings.layers,
        batch: Some(BATCH),
        batches: Batches::Independent,
        init: Init::Glorot,
        pretrain: Some(Length::Steps(0)),
        steps: Length::Steps(settings.total as u64),
        rate: Some(settings.rate),
        weight_decay: 0.0,
        schedule: Schedule::Constant,
        lambda: settings.lambda,
        seed: SEED,
        ..Trainer::default()
    };
    let mut losses = Vec::new();
    let mut begin = Instant::now();
    let mut failed = Ok(());
    let mut observer = |event: &Event| match *event {
        Event::Phase { phase: Phase::FineTune, .. } => next_turn(&mut turns, &mut begin),
        Event::Step { phase: Phase::FineTune, losses: found, .. } => {
            losses.push([found.reconstruction, found.code]);
            if losses.len() < settings.steps {
                return ControlFlow::Continue(());
            }
            failed = turns.done(begin.elapsed().as_secs_f64(), json!(losses));
            losses.clear();
            next_turn(&mut turns, &mut begin)
        }
        _ => ControlFlow::Continue(()),
    };
    match trainer.fit(x.view(), &prior, &mut observer) {
        Ok(_) | Err(Error::Interrupted) => failed,
        Err(error) => Err(error.into()),
    }
}

fn next_turn(turns: &mut Turns, begin: &mut Instant) -> ControlFlow<()> {
    let more = turns.wait();
    *begin = Instant::now();
    if more { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operations_of_a_step_are_those_of_its_products() {
        let shape = Architecture {
            input: 3,
            layers: vec![5, 2],
            hidden: Activation::Relu,
            code: Activation::Linear,
            output: Activation::Linear,
            tied: true,
        };
        let product = |m: usize, n: usize, k: usize| 2 * m * n * k;
        let k = 7;
        let forward = 2 * (product(k, 5, 3) + product(k, 2, 5));
        let back = (product(k, 5, 3) + product(k, 2, 5)) + product(k, 5, 2);
        let weights = 2 * (product(5, 3, k) + product(2, 5, k));
        let loss = product(k, k, 2) + product(k, 2, k);
        assert_eq!(flops(&shape, k), (forward + back + weights + loss) as f64);
    }

    #[test]
    fn losses_differ_by_the_worst_of_them() {
        assert_eq!(difference(&[[1.0, 2.0], [4.0, 4.0]], &[[1.0, 2.0], [4.0, 8.0], [0.0, 9.0]]), 0.5);
    }
}
