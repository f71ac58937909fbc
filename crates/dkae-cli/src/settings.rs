//! From flags and a TOML file to settings: defaults, then the file, then flags.
//!
//! Every setting has a flag and a key of the same name, but for the few in [`file::RENAMED`].

mod explain;
mod file;
mod kernel;

use std::path::PathBuf;

use anyhow::Result;
use dkae::Error;
use dkae::data::read::ReadOptions;
use dkae::kernel::KernelSpec;
use dkae::recipe::Recipe;
use dkae::train::Trainer;

use crate::flags::{Fit, Preparing, Reading, RowFlags};
use crate::idle;

pub use file::InFile;
use file::{flag_of, in_file};
pub use kernel::kernels;

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
    /// The file that settings came from, and the keys of it that hold: each with its table.
    file: Option<(PathBuf, Vec<(String, String)>)>,
}

impl Reading {
    /// As the library wants it.
    pub fn options(&self) -> ReadOptions {
        let mut options = ReadOptions::default();
        self.apply(&mut options);
        options
    }

    /// The same for a file of further rows: labels in a file of their own, and a label to leave out, are those of the first;
    /// classes, and columns that are left out, need not be there.
    pub fn options_for_more(&self) -> ReadOptions {
        ReadOptions { labels_file: None, drop_label: None, may_lack_columns: true, ..self.options() }
    }

    fn apply(&self, options: &mut ReadOptions) {
        let Reading {
            format,
            label,
            labels_file,
            group,
            header,
            delimiter,
            skip,
            drop_label,
            array,
            width,
            allow_missing,
            dense_limit,
        } = self.clone();
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
        put(&mut options.allow_missing, allow_missing);
        put(&mut options.dense_limit, dense_limit);
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
        flags.rows.apply(recipe)?;
        flags.kernel.apply(&mut recipe.kernel)?;

        let (network, training) = (&flags.network, &flags.training);
        let train = &mut recipe.train;
        if training.paper {
            // What the paper decides; everything else in a settings file stays.
            let Trainer { hidden, code, output, batches, init, pretrain, steps, rate, schedule, weight_decay, .. } =
                Trainer::paper();
            *train = Trainer {
                hidden,
                code,
                output,
                batches,
                init,
                pretrain,
                steps,
                rate,
                schedule,
                weight_decay,
                ..train.clone()
            };
        }
        put(&mut train.layers, network.layers.clone());
        put(&mut train.hidden, network.hidden);
        put(&mut train.code, network.code);
        set(&mut train.output, network.output_activation);
        put(&mut train.tied, network.tied);
        put(&mut train.lambda, training.lambda);
        put(&mut train.steps, training.steps);
        put(&mut train.init, training.init);
        set(&mut train.pretrain, training.pretrain);
        set(&mut train.batch, training.batch);
        put(&mut train.batches, training.batches);
        set(&mut train.rate, training.rate);
        put(&mut train.schedule, training.schedule);
        set(&mut train.clip, training.clip);
        put(&mut train.weight_decay, training.weight_decay);
        put(&mut train.noise, training.noise);
        put(&mut train.validate_every, training.validate_every);
        put(&mut train.validation_rows, training.validation_rows);
        set(&mut train.patience, training.patience);
        put(&mut recipe.seed, training.seed);
        if let Some((_, keys)) = &mut settings.file {
            keys.retain(|(table, key)| !flags.given.iter().any(|given| given == flag_of(table, key)));
        }
        settings.check().and_then(|()| idle::refuse_fit(flags, &settings)).map_err(|e| settings.blame(e))?;
        Ok(settings)
    }

    /// What is wrong with a setting of the file is said of the file, rather than of a flag that nobody gave.
    pub fn blame(&self, error: anyhow::Error) -> anyhow::Error {
        let (Some((path, keys)), Some(Error::Setting { name, message })) = (&self.file, error.downcast_ref()) else {
            return error;
        };
        // The one setting that a library's own part calls by another name.
        let flag = if *name == "components" { "svd".to_owned() } else { name.replace('_', "-") };
        let Some((table, key)) = keys.iter().find(|(table, key)| flag_of(table, key) == flag) else { return error };
        in_file(path, &format!("{}: {message}", explain::named(table, key))).into()
    }

    /// What can be wrong is found out before anything is read or computed.
    fn check(&self) -> Result<()> {
        if self.recipe.split_by.is_some() && self.data.group.is_none() {
            let message = "needs a column that says the group of each row: give --group";
            return Err(Error::setting("split-by", message).into());
        }
        if self.recipe.kernel == KernelSpec::Precomputed && self.prior.is_none() {
            return Err(Error::setting("kernel", "a precomputed kernel needs its matrix: give --prior").into());
        }
        Ok(self.recipe.check()?)
    }
}

impl Preparing {
    /// Changes `recipe` by what was given.
    pub fn apply(&self, recipe: &mut Recipe) {
        set(&mut recipe.take, self.take);
        put(&mut recipe.scale, self.scale);
        set(&mut recipe.svd, self.svd);
    }
}

impl RowFlags {
    /// Changes `recipe` by what was given.
    pub fn apply(&self, recipe: &mut Recipe) -> Result<()> {
        self.preparing.apply(recipe);
        if let Some(shares) = &self.split {
            recipe.split = three("split", shares)?;
            recipe.split_by = None;
        }
        if let Some(groups) = &self.split_by {
            recipe.split_by = Some(three("split-by", groups)?);
        }
        Ok(())
    }
}

fn three<T: Clone>(flag: &'static str, values: &[T]) -> Result<[T; 3]> {
    <[T; 3]>::try_from(values.to_vec()).map_err(|v| {
        let message = format!("expected three values, for training, validation and test, found {}", v.len());
        Error::setting(flag, message).into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_key_is_said_of_its_file() {
        let text = "take = 9\n[data]\nwidth = 3\n[[kernel.sum.parts]]\nweight = 1.0\n[kernel.sum.parts.kernel.rbf]\n\
                    width = { value = -1.0 }\n[train]\noutput = 'tanh'\n";
        let (settings, keys) = Settings::parse(text).unwrap();
        let settings = Settings { file: Some(("s.toml".into(), keys)), ..settings };
        let blamed = |name| settings.blame(Error::setting(name, "wrong").into()).to_string();
        assert_eq!(blamed("take"), "s.toml, take: wrong");
        assert_eq!(blamed("width"), "s.toml, [data] width: wrong");
        assert_eq!(blamed("rbf-width"), "s.toml, [kernel.rbf] width: wrong");
        assert_eq!(blamed("output_activation"), "s.toml, [train] output: wrong");
        // Not in the file.
        assert_eq!(blamed("output"), "output: wrong");
        assert_eq!(blamed("lambda"), "lambda: wrong");
    }
}
