//! From flags and a TOML file to settings: defaults, then the file, then flags.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use dkae::Error;
use dkae::data::read::ReadOptions;
use dkae::kernel::KernelSpec;
use dkae::recipe::Recipe;
use dkae::train::Trainer;
use serde::{Deserialize, Serialize};

use crate::flags::{Fit, KernelFlags, Reading};

/// A settings file: how to read the rows, and the recipe.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// How to read the rows.
    pub data: ReadOptions,
    /// A kernel matrix of all rows, instead of a kernel.
    pub prior: Option<PathBuf>,
    /// Steps between two checkpoints; 0 for none.
    pub checkpoint_every: Option<u64>,
    /// Everything else.
    pub recipe: Recipe,
}

impl Reading {
    /// As the library wants it.
    pub fn options(&self) -> ReadOptions {
        let mut options = ReadOptions::default();
        self.apply(&mut options);
        options
    }

    fn apply(&self, options: &mut ReadOptions) {
        let Reading { format, label, labels_file, group, header, delimiter, skip, drop_label, array, width } =
            self.clone();
        set(&mut options.format, format);
        set(&mut options.label, label);
        set(&mut options.labels_file, labels_file);
        set(&mut options.group, group);
        set(&mut options.header, header);
        set(&mut options.delimiter, delimiter);
        if !skip.is_empty() {
            options.skip = skip;
        }
        set(&mut options.drop_label, drop_label);
        set(&mut options.array, array);
        set(&mut options.width, width);
    }
}

/// Takes what was given.
fn set<T>(target: &mut Option<T>, given: Option<T>) {
    if given.is_some() {
        *target = given;
    }
}

/// As [`set`], for settings that always have a value.
fn put<T>(target: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *target = given;
    }
}

impl Settings {
    /// The settings in force for a fit.
    pub fn of(flags: &Fit) -> Result<Self> {
        let mut settings = match &flags.config {
            None => Settings::default(),
            Some(path) => Settings::read(path)?,
        };
        flags.reading.apply(&mut settings.data);
        set(&mut settings.prior, flags.kernel.prior.clone());
        set(&mut settings.checkpoint_every, flags.training.checkpoint_every);
        let recipe = &mut settings.recipe;
        let rows = &flags.rows;
        set(&mut recipe.take, rows.take);
        put(&mut recipe.split, rows.split.as_deref().map(three).transpose()?);
        set(&mut recipe.split_by, rows.split_by.as_deref().map(three).transpose()?);
        put(&mut recipe.scale, rows.scale);
        set(&mut recipe.svd, rows.svd);
        flags.kernel.apply(&mut recipe.kernel)?;

        let (network, training) = (&flags.network, &flags.training);
        let train = &mut recipe.train;
        if training.paper {
            *train = Trainer { layers: std::mem::take(&mut train.layers), ..Trainer::paper() };
            if train.layers.is_empty() {
                train.layers = Trainer::paper().layers;
            }
        }
        put(&mut train.layers, network.layers.clone());
        put(&mut train.hidden, network.hidden);
        put(&mut train.code, network.code);
        set(&mut train.output, network.output_activation);
        if network.untied {
            train.tied = false;
        }
        put(&mut train.lambda, training.lambda);
        put(&mut train.steps, training.steps);
        put(&mut train.pretrain, training.pretrain);
        set(&mut train.batch, training.batch);
        put(&mut train.batches, training.batches);
        set(&mut train.rate, training.rate);
        put(&mut train.schedule, training.schedule);
        set(&mut train.clip, training.clip);
        put(&mut train.noise, training.noise);
        put(&mut train.validate_every, training.validate_every);
        set(&mut train.patience, training.patience);
        put(&mut recipe.seed, training.seed);
        Ok(settings)
    }
}

fn three<T: Clone>(values: &[T]) -> Result<[T; 3]> {
    <[T; 3]>::try_from(values.to_vec())
        .map_err(|v| Error::setting("split", format!("expected three values, found {}", v.len())).into())
}

/// The part of a settings file that is not the recipe.
#[derive(Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
struct Command {
    data: ReadOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    prior: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint_every: Option<u64>,
}

impl Settings {
    /// From a TOML file.
    fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
        Self::parse(&text).with_context(|| format!("{}: not a settings file", path.display()))
    }

    fn parse(text: &str) -> Result<Self> {
        let mut recipe: toml::Table = toml::from_str(text)?;
        // The command's own keys are taken out, so that each side can refuse what it does not know.
        let own = ["data", "prior", "checkpoint-every"];
        let command: toml::Table = own.iter().filter_map(|&key| Some((key.to_owned(), recipe.remove(key)?))).collect();
        let Command { data, prior, checkpoint_every } = command.try_into()?;
        Ok(Settings { data, prior, checkpoint_every, recipe: recipe.try_into()? })
    }

    /// As a TOML file.
    pub fn write(&self, path: &Path) -> Result<()> {
        let command =
            Command { data: self.data.clone(), prior: self.prior.clone(), checkpoint_every: self.checkpoint_every };
        let mut table = toml::Table::try_from(&self.recipe)?;
        table.extend(toml::Table::try_from(&command)?);
        let text = toml::to_string_pretty(&table)?;
        dkae::data::atomic::write_atomically(path, |file| file.write_all(text.as_bytes()))?;
        Ok(())
    }
}

impl KernelFlags {
    /// Changes `spec` by what was given.
    pub fn apply(&self, _spec: &mut KernelSpec) -> Result<()> {
        Ok(())
    }
}
