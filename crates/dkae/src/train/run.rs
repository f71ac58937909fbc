//! A run: the loop over phases and steps, and what it keeps on the way.
//!
//! Everything the next step depends on is in [`State`], so a run can stop after any step and go on later.

use std::ops::{ControlFlow, Range};

use super::adam::Adam;
use super::batches::{Noise, Sampler};
use super::checkpoint::Checkpoint;
use super::evaluate::{evaluate, evaluate_layer};
use super::observe::{Event, Observer, Phase};
use super::schedule::Length;
use super::step::{Losses, Workspace};
use super::trainer::{Rows, Trainer};
use crate::math::threads;
use crate::net::{Autoencoder, Layer, Record};
use crate::{Error, Result};

/// Where a run stands: everything the next step depends on, and what will be in the model file.
#[derive(Clone)]
pub(super) struct State {
    /// Layer in pretraining, or the number of layers in fine-tuning.
    pub phase: usize,
    /// Steps taken in the phase.
    pub step: u64,
    pub net: Autoencoder,
    pub adam: Adam,
    /// The best on validation so far: total loss and layers.
    pub best: Option<(f32, Vec<Layer>)>,
    /// Looks at the validation rows since the best one.
    pub looks_since_best: u64,
    pub history: Vec<Record>,
    /// Sums of the losses since the last record, and how many.
    pub sums: (f64, f64, u64),
}

/// One run of a trainer over its rows.
pub(super) struct Run<'a> {
    pub trainer: &'a Trainer,
    /// Rows in a batch.
    pub batch: usize,
    /// Length of pretraining, for each layer.
    pub pretrain: Length,
    /// The peak rate.
    pub rate: f64,
    pub train: Rows<'a>,
    pub validation: Option<Rows<'a>>,
}

impl Run<'_> {
    /// Steps until the end; true when the observer asked to stop before it.
    pub fn go(
        &self,
        state: &mut State,
        observer: &mut dyn Observer,
        save: impl Fn(&State) -> Result<()>,
        checkpoint: Option<&Checkpoint>,
    ) -> Result<bool> {
        let layers = state.net.layers().len();
        let mut workspace = Workspace::new(&state.net, self.batch);
        let mut batch = vec![0; self.batch];
        let every = checkpoint.map_or(u64::MAX, |c| c.every.max(1));
        let mut unsaved = 0;
        while state.phase <= layers {
            let (phase, steps) = self.phase(state.phase, layers);
            let mut sampler =
                Sampler::new(self.trainer.batches, self.trainer.seed, state.phase as u64, self.train.x.nrows());
            let mut flow = observer.event(&Event::Phase { phase, steps, from: state.step });
            while state.step < steps && flow.is_continue() {
                sampler.draw(state.step, &mut batch);
                let losses = threads::run(|| self.step(state, &mut workspace, &batch, steps))?;
                state.step += 1;
                self.record(state, steps, losses);
                flow = observer.event(&Event::Step { phase, step: state.step, losses });
                if self.looks(state, steps) && self.look(state, phase, observer, &mut flow)? {
                    state.step = steps;
                }
                unsaved += 1;
                // The last step of a phase waits for the first of the next, which starts with fresh moments.
                if unsaved >= every && state.step < steps {
                    save(state)?;
                    unsaved = 0;
                }
            }
            if flow.is_break() {
                save(state)?;
                return Ok(true);
            }
            state.phase += 1;
            state.step = 0;
            state.sums = (0.0, 0.0, 0);
            let next = levels(state.phase, layers);
            state.adam = Adam::new(&state.net.layers()[next]);
        }
        Ok(false)
    }

    fn phase(&self, phase: usize, layers: usize) -> (Phase, u64) {
        let steps = |length: Length| length.steps(self.train.x.nrows(), self.batch);
        if phase < layers {
            (Phase::Pretrain { layer: phase, of: layers }, steps(self.pretrain))
        } else {
            (Phase::FineTune, steps(self.trainer.steps))
        }
    }

    fn step(&self, state: &mut State, workspace: &mut Workspace, batch: &[usize], steps: u64) -> Result<Losses> {
        let layers = state.net.layers().len();
        let levels = levels(state.phase, layers);
        workspace.load(self.train.x, batch);
        workspace.encode(&state.net, 0..levels.start);
        if self.trainer.noise != Noise::None {
            workspace.disturb(levels.start, |values| {
                self.trainer.noise.disturb(self.trainer.seed, state.phase as u64, state.step, batch.len(), values);
            });
        }
        // Layers below the code have no inner products to align.
        let prior = if levels.end == layers { self.train.prior.map(|p| (p, batch)) } else { None };
        let losses =
            workspace.backpropagate(&state.net, levels.clone(), self.trainer.lambda, prior).map_err(|e| match e {
                Error::Numeric(message) => {
                    Error::Numeric(format!("{}, step {}: {message}", self.phase(state.phase, layers).0, state.step + 1))
                }
                other => other,
            })?;
        let rate = self.rate * self.trainer.schedule.factor(state.step, steps);
        let decay = f64::from(self.trainer.weight_decay);
        match self.trainer.clip {
            None => workspace.descend(&mut state.net, levels, &mut state.adam, rate, decay),
            // How long the gradient is, is known when all of it is there.
            Some(clip) => {
                workspace.weight_gradients(&state.net, levels.clone());
                let gradients = &workspace.gradients()[levels.clone()];
                let shrink = (clip / norm(gradients)).min(1.0);
                state.adam.step(&mut state.net.layers_mut()[levels], gradients, rate, shrink, decay);
            }
        }
        Ok(losses)
    }

    /// Keeps about 200 records of the training losses per phase, and one wherever the validation rows are looked at.
    fn record(&self, state: &mut State, steps: u64, losses: Losses) {
        state.sums.0 += f64::from(losses.reconstruction);
        state.sums.1 += f64::from(losses.code);
        state.sums.2 += 1;
        if state.step.is_multiple_of(steps.div_ceil(200)) || self.looks(state, steps) {
            let (reconstruction, code, count) = state.sums;
            let mean = |sum: f64| (sum / count as f64) as f32;
            state.history.push(Record {
                phase: state.phase,
                step: state.step,
                reconstruction: mean(reconstruction),
                code: mean(code),
                validation: None,
            });
            state.sums = (0.0, 0.0, 0);
        }
    }

    /// Whether it is time to look at the validation rows. Pretraining is short: about four looks at each layer.
    fn looks(&self, state: &State, steps: u64) -> bool {
        let every = match self.phase(state.phase, state.net.layers().len()).0 {
            Phase::Pretrain { .. } => self.trainer.validate_every.min(steps.div_ceil(4)),
            Phase::FineTune => self.trainer.validate_every,
        };
        state.step.is_multiple_of(every) || state.step == steps
    }

    /// Looks at the validation rows, if there are any; true when patience has run out.
    fn look(
        &self,
        state: &mut State,
        phase: Phase,
        observer: &mut dyn Observer,
        flow: &mut ControlFlow<()>,
    ) -> Result<bool> {
        let Some(validation) = self.validation else { return Ok(false) };
        let losses = match phase {
            Phase::Pretrain { layer, .. } => evaluate_layer(&state.net, layer, validation)?,
            Phase::FineTune => evaluate(&state.net, validation)?,
        };
        match state.history.last_mut() {
            Some(last) if last.phase == state.phase && last.step == state.step => {
                last.validation = Some((losses.reconstruction, losses.code));
            }
            _ => {}
        }
        if phase != Phase::FineTune {
            return Ok(false);
        }
        let total = losses.total(self.trainer.lambda);
        let best = state.best.as_ref().is_none_or(|(least, _)| total < *least);
        if best {
            state.best = Some((total, state.net.layers().to_vec()));
            state.looks_since_best = 0;
        } else {
            state.looks_since_best += 1;
        }
        let told = observer.event(&Event::Validation { step: state.step, losses, best });
        if told.is_break() {
            *flow = told;
        }
        if self.trainer.patience.is_some_and(|patience| state.looks_since_best >= patience) {
            let _ = observer.event(&Event::EarlyStop { step: state.step });
            return Ok(true);
        }
        Ok(false)
    }
}

/// The levels that a phase trains between, which are also the numbers of its layers.
pub(super) fn levels(phase: usize, layers: usize) -> Range<usize> {
    if phase < layers { phase..phase + 1 } else { 0..layers }
}

pub(super) fn norm(gradients: &[Layer]) -> f32 {
    let sum: f64 = gradients
        .iter()
        .flat_map(|layer| layer.tensors())
        .map(|tensor| tensor.iter().map(|&g| f64::from(g) * f64::from(g)).sum::<f64>())
        .sum();
    sum.sqrt() as f32
}
