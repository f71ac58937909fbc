//! What has been computed already: trained models and small results, each under a name that its inputs decide.
//!
//! A key is a fingerprint of everything a result depends on: data, settings, seed, version of the library. So one model
//! serves every experiment that asks for it, nothing that has finished is done again, and a change of any input asks
//! for a new result. Files are written whole or not at all. A training under way has its own checkpoint, so that a
//! killed run loses a few hundred steps.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Instant;

use dkae::Error;
use dkae::data::atomic::write_atomically;
use dkae::net::Model;
use dkae::train::Checkpoint;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::data::fingerprint;

/// Steps between two checkpoints: half a minute at the paper's sizes.
const CHECKPOINT_EVERY: u64 = 500;

/// A folder of results.
pub struct Store {
    folder: PathBuf,
    /// Every training that was asked for since [`Store::take_log`].
    log: RefCell<Vec<Training>>,
}

/// A training that an experiment stands on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Training {
    /// What was trained, in words.
    pub what: String,
    /// Its key in the store.
    pub key: String,
    /// The time it took, when it was done.
    pub seconds: f64,
    /// The commit of the program that trained it.
    pub commit: String,
    /// Whether it was there already.
    pub reused: bool,
    /// The settings.
    pub settings: serde_json::Value,
}

/// How long a training has taken so far, and by which program it ended.
#[derive(Default, Serialize, Deserialize)]
struct Clock {
    seconds: f64,
    #[serde(default)]
    commit: String,
}

impl Store {
    /// The store in a folder, which is made when it is not there.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Store> {
        let folder = folder.into();
        std::fs::create_dir_all(&folder).map_err(Error::io(&folder))?;
        Ok(Store { folder, log: RefCell::default() })
    }

    /// The key of these inputs.
    pub fn key(inputs: &impl Serialize) -> String {
        let version = env!("CARGO_PKG_VERSION");
        let text = serde_json::to_string(&(version, inputs)).expect("settings are plain data");
        format!("{:016x}", fingerprint(text.bytes().map(u64::from)))
    }

    fn path(&self, key: &str, extension: &str) -> PathBuf {
        self.folder.join(format!("{key}.{extension}"))
    }

    /// Whether the model of a key is there.
    pub fn has_model(&self, key: &str) -> bool {
        self.path(key, "dkae").exists()
    }

    /// Trains the model of a key; `train` gets the checkpoint to go on from.
    pub fn train(
        &self,
        key: &str,
        what: &str,
        settings: serde_json::Value,
        train: impl Fn(&Checkpoint) -> dkae::Result<Model>,
    ) -> Result<()> {
        let clock = self.path(key, "time.json");
        let Clock { seconds: before, .. } = read_json(&clock)?.unwrap_or_default();
        let checkpoint = Checkpoint::new(self.path(key, "checkpoint"), CHECKPOINT_EVERY);
        let start = Instant::now();
        let trained = match train(&checkpoint) {
            // A checkpoint of the store's own that cannot be gone on with, of another build or damaged: begin again.
            Err(Error::Format { path, .. }) if path == checkpoint.path => {
                checkpoint.remove()?;
                train(&checkpoint)
            }
            other => other,
        };
        let seconds = before + start.elapsed().as_secs_f64();
        let commit = env!("DKAE_COMMIT").to_owned();
        write_json(&clock, &Clock { seconds, commit: commit.clone() })?;
        trained?.save(self.path(key, "dkae"))?;
        checkpoint.remove()?;
        self.log(Training { what: what.into(), key: key.into(), seconds, commit, reused: false, settings });
        Ok(())
    }

    /// The model of a key, which must be there.
    pub fn model(&self, key: &str, what: &str, settings: serde_json::Value) -> Result<Model> {
        let Clock { seconds, commit } = read_json(&self.path(key, "time.json"))?.unwrap_or_default();
        self.log(Training { what: what.into(), key: key.into(), seconds, commit, reused: true, settings });
        Model::load(self.path(key, "dkae")).map_err(|error| match error {
            Error::Format { path, place, message } => {
                Error::Format { path, place, message: format!("{message}; remove it, and it will be trained again") }
                    .into()
            }
            other => other.into(),
        })
    }

    fn log(&self, training: Training) {
        let mut log = self.log.borrow_mut();
        // A model that was trained for this experiment is then asked for: that is one training, not two.
        if !log.iter().any(|t| t.key == training.key) {
            log.push(training);
        }
    }

    /// A small result: read when it is there, else computed and kept.
    pub fn remember<T: Serialize + DeserializeOwned>(
        &self,
        inputs: &impl Serialize,
        compute: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let path = self.path(&Self::key(inputs), "json");
        if let Some(found) = read_json(&path)? {
            return Ok(found);
        }
        let result = compute()?;
        write_json(&path, &result)?;
        Ok(result)
    }

    /// The trainings asked for since the last call, each once.
    pub fn take_log(&self) -> Vec<Training> {
        self.log.take()
    }
}

/// What a JSON file holds; none when there is no file.
fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    match std::fs::read(path) {
        Ok(bytes) => match serde_json::from_slice(&bytes) {
            Ok(value) => Ok(Some(value)),
            Err(e) => Err(Error::format(path, "", format!("{e}; remove it, and it will be made again")).into()),
        },
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::io(path)(e).into()),
    }
}

/// Writes a value as JSON, whole or not at all.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let mut text = serde_json::to_string_pretty(value).expect("results are plain data");
    text.push('\n');
    Ok(write_atomically(path, |file| file.write_all(text.as_bytes()))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_computed_once_and_again_for_other_inputs() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("new/folder")).unwrap();
        let compute = |inputs: (&str, u32), value: f64| store.remember(&inputs, || Ok(value)).unwrap();
        assert_eq!(compute(("a", 1), 0.5), 0.5);
        assert_eq!(compute(("a", 1), 0.7), 0.5);
        assert_eq!(compute(("a", 2), 0.7), 0.7);
    }

    #[test]
    fn a_failure_is_not_kept_and_a_damaged_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        assert!(store.remember::<f64>(&1, || Err(Error::Interrupted.into())).is_err());
        assert_eq!(store.remember(&1, || Ok(2.0)).unwrap(), 2.0);
        let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        std::fs::write(&file, "{").unwrap();
        let message = store.remember(&1, || Ok(2.0)).unwrap_err().to_string();
        assert!(message.contains(".json") && message.contains("remove it"), "{message}");
    }
    #[test]
    fn a_checkpoint_that_cannot_be_gone_on_with_is_begun_again() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        std::fs::write(store.path("k", "checkpoint"), "of another build").unwrap();
        let train = |checkpoint: &Checkpoint| match checkpoint.path.exists() {
            true => Err(Error::format(&checkpoint.path, "", "is the checkpoint of a run with another kernel")),
            false => Err(Error::Interrupted),
        };
        let error = store.train("k", "a training", serde_json::Value::Null, train).unwrap_err();
        assert!(matches!(error, crate::Error::Dkae(Error::Interrupted)), "{error}");
        assert!(!store.path("k", "checkpoint").exists());
    }
}
