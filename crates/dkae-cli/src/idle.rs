//! Flags that would have no effect. Nobody means that, so they are refused by name.

use std::path::PathBuf;

use anyhow::Result;
use dkae::Error;
use dkae::data::read::{Format, ReadOptions, detect_format};
use dkae::net::{Activation, Init};

use crate::flags::{Command, Fit};
use crate::inspect::name;
use crate::rows::is_model;
use crate::settings::Settings;

/// Refuses flags that are idle by themselves or for the files given, but for those of a fit, whose settings may come from a
/// file: see [`refuse_fit`].
pub fn refuse(command: &Command) -> Result<()> {
    let (reading, data) = match command {
        Command::Inspect(i) => (&i.reading, std::slice::from_ref(&i.file)),
        Command::Kernel(k) => (&k.reading, &k.data[..]),
        Command::Embed(e) => (&e.reading, &e.data[..]),
        Command::Report(r) => (&r.reading, &r.data[..]),
        Command::Classify(c) => (&c.reading, c.train.as_ref().map_or(&c.data[..], std::slice::from_ref)),
        command => match command.model_files() {
            Some((files, reading)) => (reading, std::slice::from_ref(&files.data)),
            None => return Ok(()),
        },
    };
    let options = reading.options();
    if options.group.is_some() && matches!(command, Command::Kernel(_) | Command::Embed(_)) {
        return Err(Error::setting("group", "groups have no effect here; to leave the column out, give --skip").into());
    }
    if options.allow_missing && matches!(command, Command::Kernel(_)) {
        let message =
            "a kernel is fitted on all rows, and none can be fitted on missing values; fill them in or drop the rows";
        return Err(Error::setting("allow-missing", message).into());
    }
    if let (Command::Inspect(i), Some((flag, _))) = (command, given(&options).into_iter().find(|(_, given)| *given))
        && is_model(&i.file)
    {
        return Err(Error::setting(flag, format!("is about rows, and {} is a model", i.file.display())).into());
    }
    let classes = match command {
        Command::Kernel(k) => k.kernel.kernel.as_deref() == Some("ideal"),
        command => {
            matches!(
                command,
                Command::Inspect(_)
                    | Command::Embed(_)
                    | Command::Cluster(_)
                    | Command::Report(_)
                    | Command::Classify(_)
            )
        }
    };
    if options.labels_file.is_some() && options.drop_label.is_none() && !classes {
        return Err(Error::setting("labels-file", "classes have no effect here, but with --drop-label").into());
    }
    refuse_reading(&options, data)
}

/// What is said about reading, and whether it was.
fn given(options: &ReadOptions) -> [(&'static str, bool); 12] {
    [
        ("format", options.format.is_some()),
        ("label", options.label.is_some()),
        ("labels-file", options.labels_file.is_some()),
        ("group", options.group.is_some()),
        ("header", options.header.is_some()),
        ("delimiter", options.delimiter.is_some()),
        ("skip", !options.skip.is_empty()),
        ("drop-label", options.drop_label.is_some()),
        ("allow-missing", options.allow_missing),
        ("array", options.array.is_some()),
        ("width", options.width.is_some()),
        ("dense-limit", options.dense_limit != ReadOptions::default().dense_limit),
    ]
}

/// What can be said about files of one format alone.
const FORMATS: [(&str, Format); 5] = [
    ("header", Format::Csv),
    ("delimiter", Format::Csv),
    ("array", Format::Npz),
    ("width", Format::Svmlight),
    ("dense-limit", Format::Svmlight),
];

fn refuse_reading(options: &ReadOptions, data: &[PathBuf]) -> Result<()> {
    if options.label.is_some() && options.labels_file.is_some() {
        let message = "classes come from one place, and label names another; to leave its column out, give --skip";
        return Err(Error::setting("labels-file", message).into());
    }
    let given = given(options);
    let given = |flag: &str| given.iter().any(|(name, given)| *name == flag && *given);
    // A pipe cannot be looked into and read again; whatever is wrong with a file is told by its reader.
    let Some(path) = data.first().filter(|path| path.is_file()) else { return Ok(()) };
    let format = match options.format {
        None if FORMATS.iter().any(|(flag, _)| given(flag)) => detect_format(path).ok(),
        format => format,
    };
    let Some(format) = format else { return Ok(()) };
    match FORMATS.into_iter().find(|(flag, own)| given(flag) && *own != format) {
        Some((flag, own)) => {
            let message = format!("is about {} files, and {} is {}", name(&own), path.display(), name(&format));
            Err(Error::setting(flag, message).into())
        }
        None => Ok(()),
    }
}

/// The flags of a kernel.
const KERNEL: [&str; 14] = [
    "kernel",
    "prior",
    "restarts",
    "max-components",
    "subset",
    "covariance",
    "floor",
    "start",
    "tolerance",
    "max-iterations",
    "rbf-width",
    "degree",
    "gamma",
    "offset",
];

/// What needs validation rows.
const VALIDATION: [&str; 3] = ["patience", "validate-every", "validation-rows"];

/// Refuses flags of a fit that its other settings leave without effect.
pub fn refuse_fit(flags: &Fit, settings: &Settings) -> Result<()> {
    let recipe = &settings.recipe;
    let given =
        |names: &[&'static str]| names.iter().copied().find(|name| flags.given.iter().any(|given| given == name));
    // --split on top of a settings file takes the place of its groups.
    let replaced = flags.config.is_some() && flags.rows.split.is_some();
    if settings.data.group.is_some() && recipe.split_by.is_none() && !replaced {
        return Err(Error::setting("group", NO_SPLIT).into());
    }
    if let (0.0, Some(flag)) = (recipe.train.lambda, given(&KERNEL)) {
        return Err(Error::setting(flag, "has no effect when lambda is 0: codes are not aligned with a kernel").into());
    }
    if let (true, Some(flag)) = (recipe.split_by.is_none() && recipe.split[1] == 0.0, given(&VALIDATION)) {
        return Err(Error::setting(flag, "has no effect without validation rows, and split leaves none").into());
    }
    let bent = |activation| matches!(activation, Activation::Sigmoid | Activation::Tanh);
    let (train, init) = (&recipe.train, given(&["init"]).is_some());
    if init && train.init == Init::Mirrored && (train.layers.len() != 1 && bent(train.hidden) || bent(train.code)) {
        return Err(Error::setting("init", "mirrored has no effect: sigmoid and tanh units start at random").into());
    }
    refuse_reading(&settings.data, &flags.data)
}

/// What is wrong with --group alone.
pub const NO_SPLIT: &str = "is for --split-by, which is not given; to leave the column out, give --skip";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::{KernelFlags, Reading};
    use clap::Args;

    fn flags<T: Args>() -> Vec<String> {
        let command = T::augment_args(clap::Command::new("any"));
        command.get_arguments().filter_map(|a| a.get_long().map(str::to_owned)).collect()
    }

    #[test]
    fn every_flag_of_reading_and_of_kernels_is_known_here() {
        assert_eq!(flags::<KernelFlags>(), KERNEL);
        let given: Vec<&str> = given(&ReadOptions::default()).iter().map(|(flag, _)| *flag).collect();
        let mut known = flags::<Reading>();
        known.sort();
        assert_eq!(known, {
            let mut g = given;
            g.sort_unstable();
            g
        });
        assert!(FORMATS.iter().all(|(flag, _)| known.iter().any(|k| k == flag)));
    }
}
