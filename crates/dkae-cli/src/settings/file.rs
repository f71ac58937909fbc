//! The settings file itself: which keys it has and where, read from TOML and written as TOML.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use dkae::Error;
use dkae::data::read::ReadOptions;
use dkae::kernel::{Pck, Polynomial, Rbf, Sum};
use dkae::recipe::Recipe;
use dkae::train::Trainer;
use serde::{Deserialize, Serialize};

use super::Settings;
use super::explain::{WrongValue, explain};

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
pub const RENAMED: [(&str, &str, &str); 2] =
    [("output-activation", "train", "output"), ("rbf-width", "kernel.rbf", "width")];

/// The flag of a key.
pub fn flag_of<'a>(table: &str, key: &'a str) -> &'a str {
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
pub fn tables() -> Vec<(&'static str, Vec<String>)> {
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

/// A key that is known, but elsewhere, is an error that says where; one that is not known at all is told those that are.
fn refuse_unknown(file: &toml::Table) -> Result<()> {
    let tables = tables();
    let at = |place: &str| match place {
        "" => "at the top, before any [table]".to_owned(),
        place => format!("in [{place}]"),
    };
    for (place, known) in &tables {
        let path = place.split('.').filter(|key| !key.is_empty());
        let found = path.into_iter().try_fold(file, |table, key| table.get(key)?.as_table());
        let unknown = found.and_then(|table| table.keys().find(|key| !known.contains(key)));
        let Some(key) = unknown else { continue };
        if let Some((_, table, name)) = RENAMED.iter().find(|(flag, ..)| flag == key) {
            bail!("`{key}` is called `{name}` here, and belongs {}", at(table));
        }
        let places: Vec<String> =
            tables.iter().filter(|(_, known)| known.contains(key)).map(|(place, _)| at(place)).collect();
        if places.is_empty() {
            bail!("`{key}` is not a setting; {} there are: {}", at(place), known.join(", "));
        }
        let here = if place.is_empty() { "the top".to_owned() } else { format!("[{place}]") };
        bail!("`{key}` does not belong in {here}; put it {}", places.join(" or "));
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

/// What is wrong with a key of a file.
pub fn in_file(path: &Path, what: &str) -> InFile {
    InFile(format!("{}, {what}", path.display()))
}

impl Settings {
    /// From a TOML file.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(Error::io(path))?;
        let text = String::from_utf8(bytes).map_err(|_| {
            InFile(format!("settings file {}: is not UTF-8 text; is it a settings file?", path.display()))
        })?;
        let (settings, keys) = Self::parse(&text).map_err(|e| match e.is::<WrongValue>() {
            true => in_file(path, &e.to_string()).into(),
            false => e.context(InFile(format!("settings file {}", path.display()))),
        })?;
        Ok(Settings { file: Some((path.to_owned(), keys)), ..settings })
    }

    /// The settings in a file, and its keys.
    pub fn parse(text: &str) -> Result<(Self, Vec<(String, String)>)> {
        let mut recipe = with_dashes(toml::from_str(text)?)?;
        refuse_unknown(&recipe)?;
        let keys = keys(&recipe, "");
        for place in SEEDED {
            let section = place.iter().try_fold(&recipe, |table, &key| table.get(key)?.as_table());
            if section.is_some_and(|table| table.contains_key("seed") && table.get("seed") != recipe.get("seed")) {
                bail!("`seed` is set in [{}]; set it at the top alone: it seeds everything", place.join("."));
            }
        }
        // The command's own keys are taken out, so that each side can refuse what it does not know.
        let command: toml::Table = OWN.iter().filter_map(|&key| Some((key.to_owned(), recipe.remove(key)?))).collect();
        let Command { data, prior, checkpoint_every } = command.try_into().map_err(explain)?;
        let recipe = recipe.try_into().map_err(explain)?;
        Ok((Settings { data, prior, checkpoint_every, recipe, file: None }, keys))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::Fit;
    use clap::Args;
    use dkae::kernel::KernelSpec;

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
