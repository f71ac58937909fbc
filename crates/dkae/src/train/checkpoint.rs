//! Checkpoints: where a run stands, so that a killed one can go on.
//!
//! A checkpoint holds everything the next step depends on: weights, Adam's moments, the best weights so far, the losses
//! recorded, and which step of which phase comes next. Batches and noise depend on the step's number alone, so nothing
//! else is needed, and a resumed run ends in the same model, bit for bit. A fingerprint of settings and data keeps a
//! checkpoint from being continued with other ones.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::adam::Adam;
use super::trainer::{Rows, State, Trainer};
use crate::net::store::{Reader, Writer};
use crate::net::{Layer, Record};
use crate::{Error, Result};

/// Where and how often to save.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// The file; its presence means that a run was interrupted.
    pub path: PathBuf,
    /// Steps between two saves.
    pub every: u64,
}

/// What a checkpoint may be continued with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Fingerprint {
    settings: Trainer,
    rows: usize,
    features: usize,
    /// Of all training values.
    data: u64,
    /// Of a block of the prior.
    prior: u64,
    /// Of the validation rows and a block of their prior; zeros without them.
    validation: (u64, u64),
    version: String,
}

#[derive(Serialize, Deserialize)]
struct Description {
    fingerprint: Fingerprint,
    phase: usize,
    step: u64,
    adam_time: u64,
    best: Option<f32>,
    looks_since_best: u64,
    history: Vec<Record>,
    sums: (f64, f64, u64),
}

impl Fingerprint {
    pub fn of(settings: &Trainer, train: Rows, validation: Option<Rows>) -> Self {
        let hash_prior = |rows: &Rows| {
            rows.prior.map_or(0, |p| {
                let some: Vec<usize> = (0..p.len()).step_by((p.len() / 32).max(1)).take(32).collect();
                let mut block = ndarray::Array2::zeros((some.len(), some.len()));
                p.block(&some, &some, block.view_mut());
                hash(block.iter())
            })
        };
        Fingerprint {
            settings: settings.clone(),
            rows: train.x.nrows(),
            features: train.x.ncols(),
            data: hash(train.x.iter()),
            prior: hash_prior(&train),
            validation: validation.map_or((0, 0), |rows| (hash(rows.x.iter()), hash_prior(&rows))),
            version: env!("CARGO_PKG_VERSION").into(),
        }
    }

    /// What differs, for people.
    fn difference(&self, other: &Self) -> Option<&'static str> {
        if self == other {
            return None;
        }
        Some(if self.version != other.version {
            "another version of dkae"
        } else if self.settings != other.settings {
            "other settings"
        } else if (self.rows, self.features, self.data) != (other.rows, other.features, other.data) {
            "other training rows"
        } else if self.validation.0 != other.validation.0 {
            "other validation rows"
        } else {
            "another kernel"
        })
    }
}

/// Fowler-Noll-Vo (1a) over the bits: tells runs apart, nothing more.
fn hash<'a>(values: impl Iterator<Item = &'a f32>) -> u64 {
    values.fold(0xcbf2_9ce4_8422_2325, |h, v| (h ^ u64::from(v.to_bits())).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The stacks of layers in a checkpoint, by the prefix of their names.
fn stacks(state: &State) -> Vec<(&'static str, &[Layer])> {
    let mut stacks =
        vec![("now", state.net.layers()), ("mean", &state.adam.mean[..]), ("square", &state.adam.square[..])];
    if let Some((_, best)) = &state.best {
        stacks.push(("best", best));
    }
    stacks
}

impl Checkpoint {
    pub(super) fn save(&self, fingerprint: &Fingerprint, state: &State) -> Result<()> {
        let mut writer = Writer::default();
        for (prefix, stack) in stacks(state) {
            for (l, layer) in stack.iter().enumerate() {
                for ((name, shape), values) in layer.names(l).zip(layer.tensors()) {
                    writer.add(format!("{prefix}.{name}"), shape, values);
                }
            }
        }
        let description = Description {
            fingerprint: fingerprint.clone(),
            phase: state.phase,
            step: state.step,
            adam_time: state.adam.time,
            best: state.best.as_ref().map(|(loss, _)| *loss),
            looks_since_best: state.looks_since_best,
            history: state.history.clone(),
            sums: state.sums,
        };
        writer.write(&self.path, &description)
    }

    /// Brings `state`, fresh, to where the file says; does nothing when there is no file.
    pub(super) fn restore(&self, fingerprint: &Fingerprint, state: &mut State) -> Result<()> {
        if !self.path.exists() {
            return Ok(());
        }
        let mut reader = Reader::open(&self.path)?;
        let found: Description = reader.description()?;
        if let Some(what) = found.fingerprint.difference(fingerprint) {
            return Err(Error::format(
                &self.path,
                "",
                format!("is the checkpoint of a run with {what}; remove it to start over, or repeat that run to go on"),
            ));
        }
        let layers = state.net.layers().len();
        if found.phase > layers {
            return Err(Error::format(&self.path, "", "is past the last phase: the file is damaged"));
        }
        let trained = if found.phase < layers { found.phase..found.phase + 1 } else { 0..layers };
        state.adam = Adam { time: found.adam_time, ..Adam::new(&state.net.layers()[trained]) };
        state.best = found.best.map(|loss| (loss, state.net.layers().to_vec()));
        let tied = state.net.architecture().tied;
        let mut read = |prefix: &str, stack: &mut [Layer]| {
            for (l, layer) in stack.iter_mut().enumerate() {
                let shape = (layer.inputs(), layer.outputs());
                *layer =
                    Layer::read(shape, tied, l, |name, shape| reader.take_shaped(&format!("{prefix}.{name}"), shape))?;
            }
            Ok::<(), Error>(())
        };
        read("now", state.net.layers_mut())?;
        read("mean", &mut state.adam.mean)?;
        read("square", &mut state.adam.square)?;
        if let Some((_, best)) = &mut state.best {
            read("best", best)?;
        }
        state.phase = found.phase;
        state.step = found.step;
        state.looks_since_best = found.looks_since_best;
        state.history = found.history;
        state.sums = found.sums;
        Ok(())
    }

    /// Removes the file: the run is over.
    pub fn remove(&self) -> Result<()> {
        crate::data::atomic::remove_stale(&self.path);
        match std::fs::remove_file(&self.path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io(&self.path)(e)),
            _ => Ok(()),
        }
    }
}
