//! The whole fit, from rows to a model, and the time until it is as good.
//!
//! The reference recipe: the paper's kernel on the training rows, 300 steps of pretraining a layer, 3000 steps of fine-tuning,
//! batches drawn with replacement, a peak rate of 5e-4 with warm-up and a cosine. Both sides follow it, each in a fresh
//! process, so that its peak memory is that of the fit; the peer's is scikit-learn's mixtures (the same starts) and PyTorch. They
//! must end at about the same validation losses. Weights and batches are drawn by each side for itself.
//!
//! Then the time until both validation losses are as good as that recipe makes them: ours by the default schedule, the peer by
//! the recipe. Both look at the validation rows equally often; ours pays for its looks, the peer's are not counted.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, ensure};
use dkae::Error;
use dkae::kernel::Pck;
use dkae::net::Init;
use dkae::train::{Batches, Event, Length, Losses, Rows, Trainer, evaluate};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::data::{self, SEED};
use crate::environment::Bench;
use crate::results::{Row, seconds};
use crate::turns::{Reply, Turns, alternate};
use crate::{pck, step};

/// Validation losses of both sides may differ by this, relatively: their random numbers are not the same.
const SAME: f64 = 0.1;
const PEER: &str = "scikit-learn + PyTorch, fused Adam";

#[derive(Clone, Serialize, Deserialize)]
pub struct Settings {
    x: PathBuf,
    train: usize,
    validation: usize,
    kernel: Pck,
    starts: PathBuf,
    layers: Vec<usize>,
    pretrain: u64,
    steps: u64,
    rate: f64,
    lambda: f32,
    batch: usize,
    /// Validation losses to reach: L_r and L_c.
    target: (f32, f32),
    /// Steps between looks at the validation rows.
    look_every: u64,
    /// Ours: the default schedule until the target is reached, instead of the recipe.
    until_reached: bool,
}

/// The rows of the whole fit (none unless `whole`), and those of reaching its losses.
pub fn run(bench: &Bench, whole: bool) -> Result<(Vec<Row>, Vec<Row>)> {
    let drawn = data::drawn(bench)?;
    let settings = Settings {
        starts: pck::starts(bench, &drawn, drawn.train)?,
        x: drawn.x,
        train: drawn.train,
        validation: drawn.validation,
        kernel: data::kernel(bench),
        layers: bench.either(step::paper_network().layers, vec![100, 50]),
        pretrain: bench.either(300, 100),
        steps: bench.either(3000, 300),
        rate: bench.either(5e-4, 5e-3),
        lambda: 0.1,
        batch: 200,
        target: bench.either((0.0052, 0.107), (0.05, 0.5)),
        look_every: bench.either(100, 50),
        until_reached: false,
    };
    let until = Settings { until_reached: true, ..settings.clone() };
    // Eager: compiling five variants of the step takes longer than it saves in 4200 steps.
    let mut sides =
        vec![bench.ours("dkae, default schedule", "fit", &until)?, bench.peer("PyTorch", "fit", &settings)?];
    if whole {
        sides.push(bench.ours("dkae, recipe", "fit", &settings)?);
    }
    let replies = alternate(&mut sides, 0, 1)?;
    let mut fit = Vec::new();
    if whole {
        let check = same(&replies[2][0], &replies[1][0])?;
        fit.push(Row::less("whole fit", PEER, "s", &seconds(&replies[2], 0), &seconds(&replies[1], 0), 1.6, &check));
        let peak = |i: usize| replies[i][0].number("fit_peak_mb");
        let memory = "peak of a fresh process that does the fit";
        fit.push(Row::less("whole fit, peak memory", PEER, "MB", &[peak(2)?], &[peak(1)?], 3.0, memory));
    }
    Ok((fit, vec![reach(&settings, &replies[0][0], &replies[1][0])]))
}

/// An error unless both ended at about the same losses; else a text that says how near they are.
fn same(ours: &Reply, theirs: &Reply) -> Result<String> {
    let pair = |name: &str| -> Result<(f64, f64)> { Ok((ours.number(name)?, theirs.number(name)?)) };
    let ((a, b), (c, d)) = (pair("reconstruction")?, pair("code")?);
    for (what, ours, theirs) in [("L_r", a, b), ("L_c", c, d)] {
        ensure!((ours / theirs - 1.0).abs() < SAME, "validation {what} is {ours:.4}, the peer's {theirs:.4}");
    }
    Ok(format!("validation L_r {a:.4} and {b:.4}, L_c {c:.3} and {d:.3}"))
}

fn reach(settings: &Settings, ours: &Reply, theirs: &Reply) -> Row {
    let reached = |reply: &Reply| reply.number("reached").ok();
    let of = |reply: &Reply| reached(reply).unwrap_or(reply.seconds);
    let said = |who: &str, reply: &Reply| match reached(reply) {
        Some(_) => String::new(),
        None => {
            let ended = |loss: &str| reply.value[loss].as_f64().unwrap_or(f64::NAN);
            format!("; {who} ended without, at {:.5} and {:.4}", ended("reconstruction"), ended("code"))
        }
    };
    let (error, code) = settings.target;
    let check = format!(
        "validation L_r at most {error} and L_c at most {code}{}{}",
        said("ours", ours),
        said("the peer", theirs)
    );
    let row = Row::less("time until as good", PEER, "s", &[of(ours)], &[of(theirs)], 2.5, &check);
    // Whoever never gets there has no time to compare; a peer that does not is beaten by at least its whole time.
    if reached(ours).is_some() { row } else { Row { ratio: None, spread: None, ..row } }
}

pub fn work(settings: Settings, mut turns: Turns) -> Result<()> {
    let x = data::read(&settings.x, settings.train + settings.validation)?;
    let (train, validation) = x.view().split_at(ndarray::Axis(0), settings.train);
    if !turns.wait() {
        return Ok(());
    }
    let begin = Instant::now();
    let kernel = settings.kernel.fit(train)?;
    let prior = kernel.posteriors(train)?;
    let rows = Rows { x: train, prior: Some(&prior) };
    if settings.until_reached {
        let validation_prior = kernel.posteriors(validation)?;
        let watched = Rows { x: validation, prior: Some(&validation_prior) };
        let (mut reached, mut last) = (None, Losses::default());
        let mut observer = |event: &Event| {
            let Event::Validation { losses, step, .. } = *event else { return ControlFlow::Continue(()) };
            last = losses;
            if losses.reconstruction > settings.target.0 || losses.code > settings.target.1 {
                return ControlFlow::Continue(());
            }
            reached = Some((begin.elapsed().as_secs_f64(), step));
            ControlFlow::Break(())
        };
        // A quick run trains the small net of its settings; a real one whatever the default is.
        let layers = if settings.target.0 > 0.01 { settings.layers.clone() } else { Vec::new() };
        let trainer = Trainer { layers, seed: SEED, validate_every: settings.look_every, ..Trainer::default() };
        match trainer.fit_validated(rows, Some(watched), None, &mut observer) {
            Ok(_) | Err(Error::Interrupted) => {}
            Err(error) => return Err(error.into()),
        }
        let (seconds, step) = reached.unzip();
        let value =
            json!({ "reached": seconds, "step": step, "reconstruction": last.reconstruction, "code": last.code });
        return turns.done(begin.elapsed().as_secs_f64(), value);
    }
    let trainer = Trainer {
        layers: settings.layers,
        lambda: settings.lambda,
        batch: Some(settings.batch),
        batches: Batches::Independent,
        init: Init::Glorot,
        pretrain: Some(Length::Steps(settings.pretrain)),
        steps: Length::Steps(settings.steps),
        rate: Some(settings.rate),
        weight_decay: 0.0,
        seed: SEED,
        ..Trainer::default()
    };
    let model = trainer.fit_validated(rows, None, None, &mut ())?;
    let seconds = begin.elapsed().as_secs_f64();
    let peak = crate::turns::peak_mb()?;
    let validation_prior = kernel.posteriors(validation)?;
    let found = evaluate(model.net(), Rows { x: validation, prior: Some(&validation_prior) })?;
    let value = json!({ "reconstruction": found.reconstruction, "code": found.code, "fit_peak_mb": peak });
    turns.done(seconds, value)
}
