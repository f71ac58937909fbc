//! From flags and a TOML file to settings: defaults, then the file, then flags.
//!
//! Every setting has a flag and a key of the same name, but for the few in [`RENAMED`].

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use dkae::Error;
use dkae::data::read::ReadOptions;
use dkae::kernel::{Floor, KernelSpec, Part, Pck, Polynomial, Rbf, Sum, Width};
use dkae::recipe::Recipe;
use dkae::train::Trainer;
use serde::{Deserialize, Serialize};

use crate::flags::{Fit, KernelFlags, Preparing, Reading, RowFlags};
use crate::idle;

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
            let Trainer { hidden, code, output, batches, pretrain, steps, rate, schedule, weight_decay, .. } =
                Trainer::paper();
            *train = Trainer {
                hidden,
                code,
                output,
                batches,
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
        put(&mut train.pretrain, training.pretrain);
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
        let table = if table.is_empty() { String::new() } else { format!("[{table}] ") };
        InFile(format!("{}, {table}{key}: {message}", path.display())).into()
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

/// The keys of a settings file that are not the recipe's.
const OWN: [&str; 3] = ["data", "prior", "checkpoint-every"];

/// Flags whose keys have another name: the flag, the table, the key.
const RENAMED: [(&str, &str, &str); 2] =
    [("output-activation", "train", "output"), ("rbf-width", "kernel.rbf", "width")];

/// The flag of a key.
fn flag_of<'a>(table: &str, key: &'a str) -> &'a str {
    let renamed = RENAMED.iter().find(|(_, place, name)| (*place, *name) == (table, key));
    renamed.map_or(key, |(flag, ..)| flag)
}

/// Every key of a settings file with its table; kernels in a sum are as those that stand alone.
fn keys(file: &toml::Table, place: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (key, value) in file {
        found.push((place.to_owned(), key.clone()));
        let inner = if place.is_empty() || key == "kernel" { key.clone() } else { format!("{place}.{key}") };
        let tables = match value {
            toml::Value::Array(list) => &list[..],
            value => std::slice::from_ref(value),
        };
        found.extend(tables.iter().filter_map(toml::Value::as_table).flat_map(|table| keys(table, &inner)));
    }
    found
}

/// The tables of a settings file, and the keys of each.
fn tables() -> Vec<(&'static str, Vec<String>)> {
    // JSON, unlike TOML, has settings without a value, too.
    fn keys(settings: &impl Serialize) -> Vec<String> {
        let value = serde_json::to_value(settings).unwrap_or_default();
        value.as_object().map(|table| table.keys().cloned().collect()).unwrap_or_default()
    }
    let top = keys(&Recipe::default()).into_iter().chain(OWN.map(str::to_owned)).collect();
    let kernels = ["pck", "rbf", "linear", "polynomial", "cosine", "sum", "ideal", "precomputed"];
    vec![
        ("", top),
        ("data", keys(&ReadOptions::default())),
        ("train", keys(&Trainer::default())),
        ("kernel", kernels.map(str::to_owned).to_vec()),
        ("kernel.pck", keys(&Pck::default())),
        ("kernel.rbf", keys(&Rbf::default())),
        ("kernel.polynomial", keys(&Polynomial::default())),
        ("kernel.sum", keys(&Sum::default())),
    ]
}

/// A key that is known, but elsewhere, is an error that says where; a key that is not known at all is left to others.
fn refuse_misplaced(file: &toml::Table) -> Result<()> {
    let tables = tables();
    let at = |place: &str| match place {
        "" => "at the top, before any [table]".to_owned(),
        place => format!("in [{place}]"),
    };
    for (place, known) in &tables {
        let path = place.split('.').filter(|key| !key.is_empty());
        let found = path.into_iter().try_fold(file, |table, key| table.get(key)?.as_table());
        for key in found.iter().flat_map(|table| table.keys()).filter(|key| !known.contains(key)) {
            if let Some((_, table, name)) = RENAMED.iter().find(|(flag, ..)| flag == key) {
                bail!("`{key}` is called `{name}` here, and belongs {}", at(table));
            }
            let places: Vec<String> =
                tables.iter().filter(|(_, known)| known.contains(key)).map(|(place, _)| at(place)).collect();
            if !places.is_empty() {
                let here = if place.is_empty() { "the top".to_owned() } else { format!("[{place}]") };
                bail!("`{key}` does not belong in {here}; put it {}", places.join(" or "));
            }
        }
    }
    Ok(())
}

/// The same settings with `max-components` for `max_components`: either may be written.
fn with_dashes(table: toml::Table) -> Result<toml::Table> {
    let mut renamed = toml::Table::new();
    for (key, value) in table {
        let key = key.replace('_', "-");
        let value = match value {
            toml::Value::Table(inner) => with_dashes(inner)?.into(),
            toml::Value::Array(list) => {
                let inner = |value| match value {
                    toml::Value::Table(inner) => with_dashes(inner).map(Into::into),
                    other => Ok(other),
                };
                toml::Value::Array(list.into_iter().map(inner).collect::<Result<_>>()?)
            }
            other => other,
        };
        if renamed.insert(key.clone(), value).is_some() {
            bail!("`{key}` is set twice, with a dash and with an underscore");
        }
    }
    Ok(renamed)
}

/// What is wrong in a settings file: an error of usage.
#[derive(Debug)]
pub struct InFile(String);

impl std::fmt::Display for InFile {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InFile {}

impl Settings {
    /// From a TOML file.
    fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
        let (settings, keys) =
            Self::parse(&text).with_context(|| InFile(format!("settings file {}", path.display())))?;
        Ok(Settings { file: Some((path.to_owned(), keys)), ..settings })
    }

    /// The settings in a file, and its keys.
    fn parse(text: &str) -> Result<(Self, Vec<(String, String)>)> {
        let mut recipe = with_dashes(toml::from_str(text)?)?;
        refuse_misplaced(&recipe)?;
        let keys = keys(&recipe, "");
        for place in SEEDED {
            let section = place.iter().try_fold(&recipe, |table, &key| table.get(key)?.as_table());
            if section.is_some_and(|table| table.contains_key("seed") && table.get("seed") != recipe.get("seed")) {
                bail!("`seed` is set in [{}]; set it at the top alone: it seeds everything", place.join("."));
            }
        }
        // The command's own keys are taken out, so that each side can refuse what it does not know.
        let command: toml::Table = OWN.iter().filter_map(|&key| Some((key.to_owned(), recipe.remove(key)?))).collect();
        let Command { data, prior, checkpoint_every } = command.try_into()?;
        Ok((Settings { data, prior, checkpoint_every, recipe: recipe.try_into()?, file: None }, keys))
    }

    /// As a TOML file.
    pub fn write(&self, path: &Path) -> Result<()> {
        let command =
            Command { data: self.data.clone(), prior: self.prior.clone(), checkpoint_every: self.checkpoint_every };
        let mut table = toml::Table::try_from(&self.recipe)?;
        // The one at the top seeds everything.
        for place in SEEDED {
            let section = place.iter().try_fold(&mut table, |table, &key| table.get_mut(key)?.as_table_mut());
            section.and_then(|section| section.remove("seed"));
        }
        table.extend(toml::Table::try_from(&command)?);
        let text = toml::to_string_pretty(&table)?;
        dkae::data::atomic::write_atomically(path, |file| file.write_all(text.as_bytes()))?;
        Ok(())
    }
}

/// Sections that have a seed of their own, which is the one at the top.
const SEEDED: [&[&str]; 3] = [&["train"], &["kernel", "pck"], &["kernel", "rbf"]];

impl KernelFlags {
    /// Changes `spec` by what was given.
    pub fn apply(&self, spec: &mut KernelSpec) -> Result<()> {
        if let Some(name) = &self.kernel {
            *spec = keeping(name.parse()?, spec);
        }
        self.tune(spec)?;
        self.refuse_idle(spec)
    }

    /// Takes the settings of a kernel, and of every kernel in a sum.
    fn tune(&self, spec: &mut KernelSpec) -> Result<()> {
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
            KernelSpec::Sum(sum) => sum.parts.iter_mut().try_for_each(|part| self.tune(&mut part.kernel))?,
            _ => {}
        }
        Ok(())
    }

    /// A flag of another kernel would have no effect, which nobody means.
    fn refuse_idle(&self, spec: &KernelSpec) -> Result<()> {
        let has = |kind: fn(&KernelSpec) -> bool| kernels(spec).into_iter().any(kind) && self.prior.is_none();
        let pck = has(|spec| matches!(spec, KernelSpec::Pck(_)));
        let rbf = has(|spec| matches!(spec, KernelSpec::Rbf(_)));
        let polynomial = has(|spec| matches!(spec, KernelSpec::Polynomial(_)));
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

/// The kernel itself, or those that it is a sum of.
pub fn kernels(spec: &KernelSpec) -> Vec<&KernelSpec> {
    match spec {
        KernelSpec::Sum(sum) => sum.parts.iter().flat_map(|part| kernels(&part.kernel)).collect(),
        kernel => vec![kernel],
    }
}

/// The kernel that was named; the kinds that the settings file has already keep the file's settings.
fn keeping(named: KernelSpec, file: &KernelSpec) -> KernelSpec {
    match named {
        KernelSpec::Sum(Sum { parts }) => {
            let keep = |part: Part| Part { kernel: keeping(part.kernel, file), ..part };
            KernelSpec::Sum(Sum { parts: parts.into_iter().map(keep).collect() })
        }
        named => {
            let same = |kernel: &&KernelSpec| std::mem::discriminant(*kernel) == std::mem::discriminant(&named);
            kernels(file).into_iter().find(same).cloned().unwrap_or(named)
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Args;

    fn parse(text: &str) -> Settings {
        Settings::parse(text).unwrap_or_else(|e| panic!("{text}: {e:#}")).0
    }

    #[test]
    fn every_key_has_a_flag_and_every_flag_a_key() {
        let fit = Fit::augment_args(clap::Command::new("fit"));
        let flags: Vec<String> = fit.get_arguments().filter_map(|a| a.get_long().map(str::to_owned)).collect();
        let mut keys = Vec::new();
        for (table, known) in tables() {
            for key in known {
                keys.push((table, flag_of(table, &key).to_owned()));
            }
        }
        // Tables themselves, and the names of kernels, which are values of --kernel.
        let no_flag = |table: &str, key: &str| {
            (table.is_empty() && ["data", "train"].contains(&key)) || table == "kernel" || table == "kernel.sum"
        };
        for (table, key) in &keys {
            assert!(no_flag(table, key) || flags.contains(key), "[{table}] {key} has no flag");
        }
        // What is about files rather than the model, and names for several settings at once.
        let no_key = ["output", "report", "config", "write-config", "paper", "tfidf"];
        for flag in &flags {
            let known = keys.iter().any(|(table, key)| key == flag && !no_flag(table, key));
            assert!(known || no_key.contains(&&flag[..]), "--{flag} has no key");
        }
        assert!(flags.len() > 50, "{flags:?}");
    }

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

    #[test]
    fn keys_may_have_dashes_or_underscores() {
        let (dashes, underscores) = (
            "split-by = ['a', 'b', 'c']\ncheckpoint-every = 9\n[data]\ndrop-label = '0'\n[train]\nvalidate-every = 3\n\
             [kernel.pck]\nmax-components = 5\n",
            "split_by = ['a', 'b', 'c']\ncheckpoint_every = 9\n[data]\ndrop_label = '0'\n[train]\nvalidate_every = 3\n\
             [kernel.pck]\nmax_components = 5\n",
        );
        let (a, b) = (parse(dashes), parse(underscores));
        assert_eq!((&a.recipe, &a.data, a.checkpoint_every), (&b.recipe, &b.data, Some(9)));
        assert_eq!(a.recipe.kernel, KernelSpec::Pck(Pck { max_components: 5, ..Pck::default() }));
        let twice = Settings::parse("[train]\nvalidate-every = 3\nvalidate_every = 4\n").unwrap_err().to_string();
        assert!(twice.contains("validate-every") && twice.contains("twice"), "{twice}");
    }

    #[test]
    fn a_kernel_is_a_name_a_sum_or_a_table() {
        assert_eq!(parse("kernel = 'rbf'").recipe.kernel, parse("[kernel.rbf]").recipe.kernel);
        let sum = parse("kernel = '0.5*pck+rbf'").recipe.kernel;
        let table = "[[kernel.sum.parts]]\nweight = 0.5\n[kernel.sum.parts.kernel.pck]\n\
                     [[kernel.sum.parts]]\nweight = 1.0\nkernel = 'rbf'\n";
        assert_eq!(sum, parse(table).recipe.kernel);
        assert!(Settings::parse("[kernel.pck]\n[kernel.rbf]\n").unwrap_err().to_string().contains("give a sum"));
    }

    #[test]
    fn a_flag_names_a_kernel_and_the_file_its_settings() {
        let file = "[kernel.pck]\nsubset = 77\n";
        let with = |flags: KernelFlags| {
            let mut spec = parse(file).recipe.kernel;
            flags.apply(&mut spec).map(|()| spec)
        };
        let named = |name: &str| KernelFlags { kernel: Some(name.into()), ..KernelFlags::default() };
        let pck = KernelSpec::Pck(Pck { subset: 77, restarts: 3, ..Pck::default() });
        let flags = KernelFlags { restarts: Some(3), rbf_width: Some("2".into()), ..named("0.5*pck+rbf") };
        let rbf = KernelSpec::Rbf(Rbf { width: Width::Value(2.0), ..Rbf::default() });
        let parts = vec![Part { weight: 0.5, kernel: pck }, Part { weight: 1.0, kernel: rbf }];
        assert_eq!(with(flags).unwrap(), KernelSpec::Sum(Sum { parts }));
        assert_eq!(with(named("linear")).unwrap(), KernelSpec::Linear);
        let idle = with(KernelFlags { degree: Some(2), ..named("pck+rbf") }).unwrap_err().to_string();
        assert!(idle.contains("degree"), "{idle}");
    }

    #[test]
    fn a_misplaced_key_is_told_where_it_belongs() {
        for (text, words) in [
            ("lambda = 0.1\n", "`lambda` does not belong in the top; put it in [train]"),
            ("[train]\ntake = 9\n", "`take` does not belong in [train]; put it at the top"),
            ("[train]\nlabel = 'a'\n", "in [data]"),
            ("[kernel]\nmax_components = 9\n", "`max-components` does not belong in [kernel]; put it in [kernel.pck]"),
            ("[kernel.rbf]\ndegree = 9\n", "in [kernel.polynomial]"),
            ("rbf-width = 1.0\n", "`rbf-width` is called `width` here, and belongs in [kernel.rbf]"),
        ] {
            let message = Settings::parse(text).unwrap_err().to_string();
            assert!(message.contains(words), "{message}");
        }
    }

    #[test]
    fn settings_are_written_as_people_write_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.toml");
        let mut settings = parse("[train]\nnoise = { gauss = 0.3 }\nclip = 0.7\n");
        settings.recipe.train.lambda = 0.1;
        settings.write(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        for line in
            ["lambda = 0.1\n", "gauss = 0.3\n", "clip = 0.7\n", "max-components = 30\n", "allow-missing = false\n"]
        {
            assert!(text.contains(line), "{line} {text}");
        }
        let keys = text.lines().map(|line| line.split('=').next().unwrap_or_default());
        assert!(keys.into_iter().all(|key| !key.contains('_')), "{text}");
        assert_eq!(text.matches("seed = ").count(), 1, "one place to change it: {text}");
        assert_eq!(parse(&text).recipe.seeded(), settings.recipe.seeded());
    }
}
