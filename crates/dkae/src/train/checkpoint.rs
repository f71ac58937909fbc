//! Checkpoints: where a run stands, so that a killed one can go on.
//!
//! A checkpoint holds everything the next step depends on: weights, Adam's moments, the best weights so far, the losses
//! recorded, and which step of which phase comes next. Batches and noise depend on the step's number alone, so nothing
//! else is needed, and a resumed run ends in the same model, bit for bit. A fingerprint of settings and data keeps a
//! checkpoint from being continued with other ones.

use std::path::{Path, PathBuf};

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::adam::Adam;
use super::observe::Phase;
use super::run::State;
use super::trainer::{Rows, Trainer};
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
    /// What decides the run besides the trainer's settings; null when that is not known.
    recipe: Value,
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
    #[serde(default)]
    recipe: Value,
    phase: usize,
    step: u64,
    adam_time: u64,
    best: Option<f32>,
    looks_since_best: u64,
    history: Vec<Record>,
    sums: (f64, f64, u64),
}

/// What the description of every version's checkpoints has.
#[derive(Deserialize)]
struct Outline {
    fingerprint: Origin,
}

#[derive(Deserialize)]
struct Origin {
    version: String,
}

/// Where an unfinished run stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The version of the library that wrote the checkpoint.
    pub version: String,
    /// The phase it is in.
    pub phase: Phase,
    /// Steps taken in the phase.
    pub step: u64,
    /// Rows it trains on.
    pub rows: usize,
    /// Their features.
    pub features: usize,
}

impl Fingerprint {
    pub fn of(settings: &Trainer, train: Rows, validation: Option<Rows>) -> Self {
        let hash_prior = |rows: &Rows| {
            rows.prior.map_or(0, |p| {
                // Every row against a few: a change anywhere shows.
                let all: Vec<usize> = (0..p.len()).collect();
                let few: Vec<usize> = all.iter().copied().step_by((p.len() / 32).max(1)).take(32).collect();
                let mut block = ndarray::Array2::zeros((all.len(), few.len()));
                p.block(&all, &few, block.view_mut());
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
}

/// The first setting that differs, with both values. `name` is that of the setting looked at.
fn different(then: &Value, now: &Value, name: &str) -> Option<String> {
    // The kinds of kernels and of noise are keys of tables with their settings.
    let word = |value: &Value| match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Object(table) if table.len() == 1 && table.values().all(Value::is_object) => {
            table.keys().cloned().collect()
        }
        other => other.to_string(),
    };
    match (then, now) {
        _ if then == now => None,
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            a.iter().find_map(|(key, value)| different(value, &b[key], key))
        }
        _ => Some(format!("{name} {}, and this one has {}", word(then), word(now))),
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
    /// A file to save to every so many steps.
    pub fn new(path: impl Into<PathBuf>, every: u64) -> Self {
        Checkpoint { path: path.into(), every, recipe: Value::Null }
    }

    /// The same for a run that more settings decide than the trainer's: a checkpoint of other ones is refused with the name of
    /// the setting.
    pub fn with_recipe(&self, recipe: Value) -> Self {
        Checkpoint { recipe, ..self.clone() }
    }

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
            recipe: self.recipe.clone(),
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
        match self.open(fingerprint, true)? {
            Some((reader, found)) => self.go_on(reader, found, state).map_err(|e| self.damaged(e)),
            None => Ok(()),
        }
    }

    /// Refuses the file, if there is one, when it is another run's: as far as that can be told without the kernel, which may
    /// take long to fit. Settings of the recipe that are left out are not compared.
    pub fn check(&self, settings: &Trainer, train: ArrayView2<f32>, validation: Option<ArrayView2<f32>>) -> Result<()> {
        if !self.path.exists() {
            return Ok(());
        }
        let rows = |x| Rows { x, prior: None };
        self.open(&Fingerprint::of(settings, rows(train), validation.map(rows)), false).map(|_| ())
    }

    /// The file and what it says of its run, which must be this one; none when there is no file. `fitted` says whether the
    /// fingerprint knows the priors.
    fn open(&self, fingerprint: &Fingerprint, fitted: bool) -> Result<Option<(Reader, Description)>> {
        if !self.path.exists() {
            return Ok(None);
        }
        let foreign = |what: &str| {
            let message =
                format!("is the checkpoint of a run with {what}; remove it to start over, or repeat that run to go on");
            Err(Error::format(&self.path, "", message))
        };
        let damaged = |e| self.damaged(e);
        let reader = Reader::open(&self.path).map_err(damaged)?;
        // First of all: another version may describe its runs in another way.
        let Outline { fingerprint: Origin { version } } = reader.description().map_err(damaged)?;
        if version != fingerprint.version {
            return foreign(&format!("dkae {version}, and this is dkae {}", fingerprint.version));
        }
        let found: Description = reader.description().map_err(damaged)?;
        match self.difference(&found, fingerprint, fitted) {
            Some(what) => foreign(&what),
            None => Ok(Some((reader, found))),
        }
    }

    /// What differs between the run of the file and this one, for people.
    fn difference(&self, found: &Description, now: &Fingerprint, fitted: bool) -> Option<String> {
        let then = &found.fingerprint;
        if then.settings != now.settings {
            let [a, b] = [then, now].map(|run| serde_json::to_value(&run.settings).unwrap_or_default());
            return different(&a, &b, "setting").or(Some("other settings".into()));
        }
        let of_recipe = |kernel: bool| {
            let (Value::Object(a), Value::Object(b)) = (&found.recipe, &self.recipe) else { return None };
            let mut some = a.iter().filter(|(key, _)| (*key == "kernel") == kernel && *key != "train");
            some.find_map(|(key, value)| different(value, b.get(key)?, key))
        };
        // Rows may differ by how they were drawn or scaled.
        let rows = |run: &Fingerprint| (run.rows, run.features, run.data);
        if rows(then) != rows(now) {
            return of_recipe(false).or(Some("other training rows".into()));
        }
        if then.validation.0 != now.validation.0 {
            return of_recipe(false).or(Some("other validation rows".into()));
        }
        let priors = |run: &Fingerprint| (run.prior, run.validation.1);
        match fitted {
            false => of_recipe(true),
            true if priors(then) == priors(now) => None,
            true => of_recipe(true).or(Some("another kernel".into())),
        }
    }

    /// The error of a file that cannot be read, with the way out.
    fn damaged(&self, error: Error) -> Error {
        match error {
            Error::Format { path, place, message } => {
                let message = format!("{message}; remove {} to start over", self.path.display());
                Error::Format { path, place, message }
            }
            other => other,
        }
    }

    /// Brings `state` to where the file says.
    fn go_on(&self, mut reader: Reader, found: Description, state: &mut State) -> Result<()> {
        let layers = state.net.layers().len();
        if found.phase > layers {
            return Err(Error::format(&self.path, "", "is past the last phase: the file is damaged"));
        }
        let trained = super::run::levels(found.phase, layers);
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

    /// Where the run stands whose checkpoint `path` is; none when the file is a model.
    pub fn standing(path: impl AsRef<Path>) -> Result<Option<Standing>> {
        let reader = Reader::open(path)?;
        if reader.description::<Outline>().is_err() {
            return Ok(None);
        }
        let Description { fingerprint, phase, step, .. } = reader.description()?;
        let layers = (0..).take_while(|l| reader.has(&format!("now.encoder.{l}.bias"))).count();
        let phase = if phase < layers { Phase::Pretrain { layer: phase, of: layers } } else { Phase::FineTune };
        let Fingerprint { rows, features, version, .. } = fingerprint;
        Ok(Some(Standing { version, phase, step, rows, features }))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Ideal;
    use crate::net::Model;
    use crate::train::{Event, Length, Noise};
    use ndarray::{Array2, s};
    use std::ops::ControlFlow;

    fn trainer() -> Trainer {
        Trainer { layers: vec![5, 3], pretrain: Some(Length::Steps(4)), steps: Length::Steps(12), ..Trainer::default() }
    }

    fn x() -> Array2<f32> {
        Array2::from_shape_fn((30, 4), |(i, j)| ((i * 7 + j * 3 + i * j) % 11) as f32 / 10.0)
    }

    fn classes() -> Vec<u32> {
        (0..30).map(|i| i % 3).collect()
    }

    /// Trains the first 20 rows, and validates on the others.
    fn fit(trainer: &Trainer, x: &Array2<f32>, classes: &[u32], path: &Path, last: u64) -> Result<Model> {
        let (train, validation) = (Ideal::new(&classes[..20]), Ideal::new(&classes[20..]));
        let (train, validation) = (
            Rows { x: x.slice(s![..20, ..]), prior: Some(&train) },
            Rows { x: x.slice(s![20.., ..]), prior: Some(&validation) },
        );
        let mut stop = |event: &Event| match event {
            Event::Step { phase: Phase::FineTune, step, .. } if *step == last => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let checkpoint = Checkpoint::new(path, 1000);
        trainer.fit_validated(train, Some(validation), Some(&checkpoint), &mut stop)
    }

    /// A run that was stopped after seven steps of fine-tuning, and its checkpoint.
    fn stopped() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.checkpoint");
        assert!(matches!(fit(&trainer(), &x(), &classes(), &path, 7), Err(Error::Interrupted)));
        (folder, path)
    }

    #[test]
    fn a_file_says_where_its_run_stands_and_a_model_does_not() {
        let (folder, path) = stopped();
        let standing = Checkpoint::standing(&path).unwrap().unwrap();
        let version = env!("CARGO_PKG_VERSION").to_owned();
        assert_eq!(standing, Standing { version, phase: Phase::FineTune, step: 7, rows: 20, features: 4 });
        let message = Model::load(&path).unwrap_err().to_string();
        assert!(message.contains("m.checkpoint: is the checkpoint of an unfinished run"), "{message}");
        // Going on ends in the model of the run that was never stopped.
        let resumed = fit(&trainer(), &x(), &classes(), &path, u64::MAX).unwrap();
        let whole = fit(&trainer(), &x(), &classes(), &folder.path().join("none"), u64::MAX).unwrap();
        assert_eq!((resumed.net(), resumed.about()), (whole.net(), whole.about()));
        let model = folder.path().join("m.dkae");
        whole.save(&model).unwrap();
        assert_eq!(Checkpoint::standing(&model).unwrap(), None);
    }

    #[test]
    fn a_checkpoint_of_another_run_is_refused_with_the_difference() {
        let (_folder, path) = stopped();
        let refusal = |trainer: &Trainer, x: &Array2<f32>, classes: &[u32]| {
            let message = fit(trainer, x, classes, &path, u64::MAX).unwrap_err().to_string();
            assert!(message.contains("m.checkpoint: is the checkpoint of a run with"), "{message}");
            assert!(message.contains("remove it to start over"), "{message}");
            message
        };
        let (x, classes) = (x(), classes());
        let changed = |place: [usize; 2]| {
            let mut other = x.clone();
            other[place] = 0.55;
            other
        };
        let mut swapped = classes.clone();
        swapped.swap(0, 1);
        let settings = Trainer { lambda: 0.2, ..trainer() };
        assert!(refusal(&settings, &x, &classes).contains("a run with lambda 0.1, and this one has 0.2; "));
        let settings = Trainer { noise: Noise::Mask(0.5), ..trainer() };
        assert!(refusal(&settings, &x, &classes).contains("a run with noise none, and this one has "));
        assert!(refusal(&trainer(), &changed([3, 1]), &classes).contains("other training rows"));
        assert!(refusal(&trainer(), &changed([25, 1]), &classes).contains("other validation rows"));
        assert!(refusal(&trainer(), &x, &swapped).contains("another kernel"));
        // It is still there, for the run that it belongs to.
        assert!(fit(&trainer(), &x, &classes, &path, u64::MAX).is_ok());
    }

    #[test]
    fn one_other_label_among_many_is_another_kernel() {
        let x = Array2::from_shape_fn((200, 3), |(i, j)| ((i * 7 + j * 3) % 11) as f32);
        let classes: Vec<u32> = (0..200).map(|i| i % 3).collect();
        let print = |classes: &[u32]| {
            let prior = crate::kernel::Ideal::new(classes);
            Fingerprint::of(&trainer(), Rows { x: x.view(), prior: Some(&prior) }, None).prior
        };
        // Row 101 is not among the few that all are compared with.
        let mut other = classes.clone();
        other[101] = (other[101] + 1) % 3;
        assert_ne!(print(&classes), print(&other));
    }

    #[test]
    fn damaged_files_and_those_of_another_version_are_refused() {
        let (_folder, path) = stopped();
        let bytes = std::fs::read(&path).unwrap();
        let refusal = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            fit(&trainer(), &x(), &classes(), &path, u64::MAX).unwrap_err().to_string()
        };
        for keep in [0, 7, 100, bytes.len() / 2, bytes.len() - 1] {
            let message = refusal(&bytes[..keep]);
            assert!(message.contains("m.checkpoint") && message.contains("damaged"), "{message}");
            assert!(message.ends_with(&format!("; remove {} to start over", path.display())), "{message}");
        }
        let replaced = |from: &str, to: &str| {
            let place = bytes.windows(from.len()).position(|w| w == from.as_bytes()).expect("the description has it");
            [&bytes[..place], to.as_bytes(), &bytes[place + from.len()..]].concat()
        };
        // A newer one, whose description has other fields.
        let version = env!("CARGO_PKG_VERSION");
        let newer = replaced(&format!(r#"\"version\":\"{version}"#), &format!(r#"\"version\":\"9{}"#, &version[1..]));
        let place = newer.windows(9).position(|w| w == br#"adam_time"#).unwrap();
        let newer = [&newer[..place], b"adam_tide", &newer[place + 9..]].concat();
        let message = refusal(&newer);
        assert!(message.contains(&format!("dkae 9{}, and this is dkae {version}", &version[1..])), "{message}");
        let message = refusal(&replaced(r#"\"phase\":2"#, r#"\"phase\":9"#));
        assert!(message.contains("past the last phase") && message.ends_with("to start over"), "{message}");
    }

    #[test]
    fn removing_takes_what_is_there() {
        let (folder, path) = stopped();
        let checkpoint = Checkpoint::new(path, 1);
        checkpoint.remove().unwrap();
        checkpoint.remove().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
