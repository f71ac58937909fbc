//! `dkae fit`: rows in a file to a model in a file.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use dkae::Error;
use dkae::data::read::{Format, ReadOptions, detect_format, read_many};
use dkae::data::{stream, svmlight};
use dkae::kernel::Precomputed;
use dkae::net::Model;
use dkae::recipe::{Recipe, Source};
use dkae::train::Checkpoint;
use ndarray::{Array2, Axis};
use serde_json::{Value, json};

use crate::flags::Fit;
use crate::inspect::{NO_HEADER, header};
use crate::screen::{Screen, seconds};
use crate::settings::Settings;

/// Steps between two checkpoints: less than a minute at the paper's sizes.
const CHECKPOINT_EVERY: u64 = 500;

pub fn run(flags: &Fit, screen: Screen) -> Result<(String, Value)> {
    let start = Instant::now();
    let settings = Settings::of(flags)?;
    if let Some(path) = &flags.write_config {
        settings.write(path)?;
        return Ok((format!("wrote the settings to {}", path.display()), json!({ "settings": path })));
    }
    let output = flags.output.as_deref().expect("required without --write-config");
    // Found out now rather than after training.
    dkae::data::atomic::AtomicFile::create(output)?;
    let checkpoint = match settings.checkpoint_every.unwrap_or(CHECKPOINT_EVERY) {
        0 => None,
        every => Some(Checkpoint { path: beside(output, "checkpoint"), every }),
    };
    let model = match sparse(&flags.data, &settings.data, &settings.recipe)? {
        true => {
            let table = screen.timed("reading", || svmlight::read_sparse(&flags.data[0], &settings.data))?;
            fit(&settings, &Source::from(&table), checkpoint.as_ref(), screen)
        }
        false => {
            let table = screen.timed("reading", || read_many(&flags.data, &settings.data))?;
            match header(&flags.data[0], settings.data.format, &table)? {
                Some(true) => screen.say("the first row names the columns"),
                Some(false) => screen.say(NO_HEADER),
                None => {}
            }
            fit(&settings, &Source::from(&table), checkpoint.as_ref(), screen)
        }
    };
    let model = match (model, &checkpoint) {
        (Err(e), Some(checkpoint)) if e.downcast_ref().is_some_and(|e| matches!(e, Error::Interrupted)) => {
            let saved = checkpoint.path.display();
            return Err(
                e.context(format!("stopped; progress is saved in {saved}; to resume, give the same command again"))
            );
        }
        (model, _) => model.map_err(|e| about_rows(e, &flags.data))?,
    };
    model.save(output)?;
    if let Some(checkpoint) = &checkpoint {
        checkpoint.remove()?;
    }
    let (mut text, mut value) = summary(&model);
    text += &format!("\nwrote {} in {}", output.display(), seconds(start.elapsed()));
    value["model"] = json!(output);
    value["seconds"] = json!(start.elapsed().as_secs_f64());
    Ok((text, value))
}

/// The library speaks of "the rows"; people want to know which file they are in.
pub fn about_rows(error: anyhow::Error, files: &[PathBuf]) -> anyhow::Error {
    let of_rows = |e: &(dyn std::error::Error + 'static)| matches!(e.downcast_ref(), Some(Error::Data(_)));
    match (error.chain().next().is_some_and(of_rows), files.first()) {
        (true, Some(file)) => error.context(file.display().to_string()),
        _ => error,
    }
}

/// Word counts that are to be reduced stay sparse: a dense table of them may not fit.
fn sparse(paths: &[PathBuf], options: &ReadOptions, recipe: &Recipe) -> Result<bool> {
    Ok(match (paths, options.format) {
        _ if recipe.svd.is_none() => false,
        ([_], Some(format)) => format == Format::Svmlight,
        ([path], None) => detect_format(path)? == Format::Svmlight,
        _ => false,
    })
}

/// `my.dkae` to `my.dkae.checkpoint`.
pub fn beside(path: &Path, extension: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    name.into()
}

fn fit(settings: &Settings, source: &Source, checkpoint: Option<&Checkpoint>, screen: Screen) -> Result<Model> {
    let recipe = &settings.recipe;
    let prepared = recipe.prepare(source)?;
    let [train, validation, test] = prepared.parts.each_ref().map(|x| x.nrows());
    screen.say(format_args!(
        "{train} training, {validation} validation, {test} test rows of {} features",
        prepared.parts[0].ncols()
    ));
    let matrix = settings.prior.as_deref().map(read_matrix).transpose()?;
    let kernel = screen.timed("fitting the kernel", || recipe.kernel(&prepared, matrix))?;
    let priors = screen.timed("applying it to all rows", || kernel.priors(&prepared))?;
    let mut observer = screen.training();
    Ok(recipe.train(source, &prepared, &kernel, priors.as_ref(), checkpoint, &mut observer)?)
}

/// A kernel matrix from a file of any format.
fn read_matrix(path: &Path) -> Result<Precomputed> {
    let mut source = stream::open(path, &ReadOptions::default())?;
    let mut blocks = Vec::new();
    while let Some(block) = source.next_block(1000)? {
        blocks.push(block);
    }
    let views: Vec<_> = blocks.iter().map(|b| b.view()).collect();
    let matrix: Array2<f32> = ndarray::concatenate(Axis(0), &views).context("reading a kernel matrix")?;
    let (matrix, warnings) = Precomputed::new(matrix).with_context(|| path.display().to_string())?;
    for warning in warnings {
        eprintln!("warning: {}: {warning}", path.display());
    }
    Ok(matrix)
}

/// The figures of a new model.
pub fn summary(model: &Model) -> (String, Value) {
    let about = model.about();
    let figure = |name: &str| about.figures.get(name).copied();
    let mut lines = vec![format!("{:<12}{:>10}{:>10}", "", "L_r", "L_c")];
    for part in ["train", "validation", "test"] {
        if let Some(reconstruction) = figure(&format!("{part}.reconstruction")) {
            let code = figure(&format!("{part}.code")).map_or("-".into(), |c| format!("{c:.4}"));
            lines.push(format!("{part:<12}{reconstruction:>10.5}{code:>10}"));
        }
    }
    if let Some(codes) = figure("test.codes-to-ideal") {
        let prior = figure("test.prior-to-ideal").map_or(String::new(), |p| format!(", of the prior {p:.4}"));
        lines.push(format!("L_c to the ideal kernel of the classes: of the codes {codes:.4}{prior}"));
    }
    (lines.join("\n"), json!({ "architecture": model.net().architecture().to_string(), "figures": about.figures }))
}
