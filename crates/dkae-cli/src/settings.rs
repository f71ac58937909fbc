//! From flags and a TOML file to settings: defaults, then the file, then flags.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use dkae::Error;
use dkae::data::read::ReadOptions;
use dkae::kernel::{Floor, KernelSpec, Pck, Polynomial, Rbf, Width};
use dkae::recipe::Recipe;
use dkae::train::Trainer;
use serde::{Deserialize, Serialize};

use crate::flags::{Fit, KernelFlags, Reading, RowFlags};

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
        flags.rows.apply(recipe)?;
        flags.kernel.apply(&mut recipe.kernel)?;

        let (network, training) = (&flags.network, &flags.training);
        let train = &mut recipe.train;
        if training.paper {
            // What the paper decides; everything else in a settings file stays.
            let Trainer { hidden, code, output, batches, pretrain, steps, rate, schedule, .. } = Trainer::paper();
            *train = Trainer { hidden, code, output, batches, pretrain, steps, rate, schedule, ..train.clone() };
        }
        put(&mut train.layers, network.layers.clone());
        put(&mut train.hidden, network.hidden);
        put(&mut train.code, network.code);
        set(&mut train.output, network.output_activation);
        put(&mut train.tied, network.tied);
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
        put(&mut train.validation_rows, training.validation_rows);
        set(&mut train.patience, training.patience);
        put(&mut recipe.seed, training.seed);
        settings.check()?;
        Ok(settings)
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

impl RowFlags {
    /// Changes `recipe` by what was given.
    pub fn apply(&self, recipe: &mut Recipe) -> Result<()> {
        set(&mut recipe.take, self.take);
        if let Some(shares) = &self.split {
            recipe.split = three("split", shares)?;
            recipe.split_by = None;
        }
        if let Some(groups) = &self.split_by {
            recipe.split_by = Some(three("split-by", groups)?);
        }
        put(&mut recipe.scale, self.scale);
        set(&mut recipe.svd, self.svd);
        Ok(())
    }
}

fn three<T: Clone>(flag: &'static str, values: &[T]) -> Result<[T; 3]> {
    <[T; 3]>::try_from(values.to_vec()).map_err(|v| {
        let message = format!("expected three values, for training, validation and test, found {}", v.len());
        Error::setting(flag, message).into()
    })
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
        for place in [&["train"][..], &["kernel", "pck"], &["kernel", "rbf"]] {
            let section = place.iter().try_fold(&recipe, |table, &key| table.get(key)?.as_table());
            if section.is_some_and(|table| table.contains_key("seed") && table.get("seed") != recipe.get("seed")) {
                let message =
                    format!("[{}] has one of its own; set seed at the top: it seeds everything", place.join("."));
                return Err(Error::setting("seed", message).into());
            }
        }
        let command: toml::Table = own.iter().filter_map(|&key| Some((key.to_owned(), recipe.remove(key)?))).collect();
        let Command { data, prior, checkpoint_every } = command.try_into()?;
        Ok(Settings { data, prior, checkpoint_every, recipe: recipe.try_into()? })
    }

    /// As a TOML file.
    pub fn write(&self, path: &Path) -> Result<()> {
        let command =
            Command { data: self.data.clone(), prior: self.prior.clone(), checkpoint_every: self.checkpoint_every };
        let mut table = toml::Table::try_from(self.recipe.seeded())?;
        table.extend(toml::Table::try_from(&command)?);
        let text = toml::to_string_pretty(&table)?;
        dkae::data::atomic::write_atomically(path, |file| file.write_all(text.as_bytes()))?;
        Ok(())
    }
}

impl KernelFlags {
    /// Changes `spec` by what was given.
    pub fn apply(&self, spec: &mut KernelSpec) -> Result<()> {
        if let Some(name) = &self.kernel {
            let named = match name.as_str() {
                "pck" => KernelSpec::Pck(Pck::default()),
                "rbf" => KernelSpec::Rbf(Rbf::default()),
                "linear" => KernelSpec::Linear,
                "polynomial" => KernelSpec::Polynomial(Polynomial::default()),
                "cosine" => KernelSpec::Cosine,
                "ideal" => KernelSpec::Ideal,
                _ => {
                    let message = format!("expected pck, rbf, linear, polynomial, cosine or ideal, found '{name}'");
                    return Err(Error::setting("kernel", message).into());
                }
            };
            // The kind that the settings file has keeps the file's settings.
            if std::mem::discriminant(&named) != std::mem::discriminant(spec) {
                *spec = named;
            }
        }
        match spec {
            KernelSpec::Pck(pck) => {
                put(&mut pck.restarts, self.restarts);
                put(&mut pck.max_components, self.max_components);
                put(&mut pck.subset, self.subset);
                put(&mut pck.covariance, parse_name("covariance", self.covariance.as_deref())?);
                put(&mut pck.tolerance, self.tolerance);
                put(&mut pck.max_iterations, self.max_iterations);
                put(&mut pck.start, parse_name("start", self.start.as_deref())?);
                put(&mut pck.floor, parse_amount("floor", self.floor.as_deref(), Floor::Absolute, Floor::Relative)?);
            }
            KernelSpec::Rbf(rbf) => {
                let width = self.rbf_width.as_deref();
                put(&mut rbf.width, parse_amount("rbf-width", width, Width::Value, Width::MedianFraction)?);
            }
            KernelSpec::Polynomial(polynomial) => {
                put(&mut polynomial.degree, self.degree);
                set(&mut polynomial.gamma, self.gamma);
                put(&mut polynomial.offset, self.offset);
            }
            _ => {}
        }
        self.refuse_idle(spec)
    }

    /// A flag of another kernel would have no effect, which nobody means.
    fn refuse_idle(&self, spec: &KernelSpec) -> Result<()> {
        let pck = matches!(spec, KernelSpec::Pck(_)) && self.prior.is_none();
        let rbf = matches!(spec, KernelSpec::Rbf(_)) && self.prior.is_none();
        let polynomial = matches!(spec, KernelSpec::Polynomial(_)) && self.prior.is_none();
        let idle = [
            ("restarts", self.restarts.is_some() && !pck, "pck"),
            ("max-components", self.max_components.is_some() && !pck, "pck"),
            ("subset", self.subset.is_some() && !pck, "pck"),
            ("covariance", self.covariance.is_some() && !pck, "pck"),
            ("floor", self.floor.is_some() && !pck, "pck"),
            ("start", self.start.is_some() && !pck, "pck"),
            ("tolerance", self.tolerance.is_some() && !pck, "pck"),
            ("max-iterations", self.max_iterations.is_some() && !pck, "pck"),
            ("rbf-width", self.rbf_width.is_some() && !rbf, "rbf"),
            ("degree", self.degree.is_some() && !polynomial, "polynomial"),
            ("gamma", self.gamma.is_some() && !polynomial, "polynomial"),
            ("offset", self.offset.is_some() && !polynomial, "polynomial"),
        ];
        match idle.into_iter().find(|(_, given, _)| *given) {
            Some((flag, _, kernel)) => Err(Error::setting(flag, format!("is a setting of --kernel {kernel}")).into()),
            None => Ok(()),
        }
    }
}

/// A name as settings files write it.
fn parse_name<T: for<'a> Deserialize<'a>>(flag: &'static str, name: Option<&str>) -> Result<Option<T>> {
    let parse = |name: &str| serde_json::from_value(name.into());
    // The message of an unknown variant lists the known ones.
    Ok(name.map(parse).transpose().map_err(|e| Error::setting(flag, e.to_string()))?)
}

/// A number, or a share such as `15%`.
fn parse_amount<T>(
    flag: &'static str,
    text: Option<&str>,
    absolute: impl Fn(f64) -> T,
    relative: impl Fn(f64) -> T,
) -> Result<Option<T>> {
    let Some(text) = text else { return Ok(None) };
    let (number, share) = text.strip_suffix('%').map_or((text, false), |number| (number, true));
    match number.trim().parse::<f64>() {
        Ok(value) if value > 0.0 && value.is_finite() => {
            Ok(Some(if share { relative(value / 100.0) } else { absolute(value) }))
        }
        _ => {
            Err(Error::setting(flag, format!("expected a positive number or a share such as 15%, found '{text}'"))
                .into())
        }
    }
}
