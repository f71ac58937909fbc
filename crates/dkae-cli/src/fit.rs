//! `dkae fit`: rows in a file to a model in a file.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use dkae::Error;
use dkae::data::read::{Format, ReadOptions, detect_format, read_many};
use dkae::data::{stream, svmlight, tfidf};
use dkae::kernel::Precomputed;
use dkae::math::check;
use dkae::net::Model;
use dkae::recipe::{Recipe, Source};
use dkae::train::Checkpoint;
use dkae_report::page::TRAINING;
use ndarray::{Array2, Axis};
use serde_json::{Value, json};

use crate::flags::Fit;
use crate::report;
use crate::rows::{say_header, shown};
use crate::screen::{self, Screen, count, number, seconds};
use crate::settings::Settings;

/// Steps between two checkpoints: less than a minute at the paper's sizes.
const CHECKPOINT_EVERY: u64 = 500;

pub fn run(flags: &Fit, screen: Screen) -> Result<(String, Value)> {
    let start = Instant::now();
    let settings = Settings::of(flags)?;
    if let Some(path) = &flags.write_config {
        settings.write(path)?;
        return Ok((format!("wrote the settings to {}", path.display()), json!({ "settings": shown(path) })));
    }
    let output = flags.output.as_deref().expect("required without --write-config");
    // Found out now rather than after training.
    dkae::data::atomic::AtomicFile::create(output)?;
    let checkpoint = match settings.checkpoint_every.unwrap_or(CHECKPOINT_EVERY) {
        0 => None,
        every => Some(Checkpoint::new(beside(output, "checkpoint"), every)),
    };
    let page = flags.page();
    if let Some(page) = &page {
        report::check_name("report", page)?;
    }
    let model = with_rows(&flags.data, &settings.data, &settings.recipe, screen, |source, reading| {
        let reading = ("reading".to_owned(), reading);
        let files = Files { data: &flags.data, output, page: page.as_deref() };
        fit(&settings, source, checkpoint.as_ref(), files, vec![reading], screen)
    });
    let model = match (model, &checkpoint) {
        (Err(e), Some(checkpoint))
            if e.downcast_ref().is_some_and(|e| matches!(e, Error::Interrupted)) && checkpoint.path.exists() =>
        {
            let saved = checkpoint.path.display();
            return Err(
                e.context(format!("stopped; progress is saved in {saved}; to resume, give the same command again"))
            );
        }
        (model, _) => model.map_err(|e| settings.blame(about_rows(e, &flags.data)))?,
    };
    let (mut text, mut value) = summary(&model);
    let also = page.as_ref().map_or(String::new(), |page| format!(", {}", page.display()));
    text += &format!("\nwrote {}{also} in {}", output.display(), seconds(start.elapsed()));
    value["model"] = json!(shown(output));
    if let Some(page) = &page {
        value["report"] = json!(shown(page));
    }
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

/// Reads rows, and hands them over with the time that took.
pub fn with_rows<T>(
    paths: &[PathBuf],
    options: &ReadOptions,
    recipe: &Recipe,
    screen: Screen,
    work: impl FnOnce(&Source, Duration) -> Result<T>,
) -> Result<T> {
    let start = Instant::now();
    if sparse(paths, options, recipe)? {
        let table = screen.reading(|| svmlight::read_sparse(&paths[0], options))?;
        check_counts(paths, table.numbers.as_deref(), table.x.iter())?;
        return work(&Source::from(&table), start.elapsed());
    }
    let table = screen.reading(|| read_many(paths, options))?;
    say_header(&paths[0], options.format, table.names.as_deref(), screen)?;
    table.warnings.iter().for_each(screen::warn);
    // The parts that things are fitted on have rows of other numbers.
    check::finite_features("rows", 0, table.names.as_deref(), table.x.view())
        .map_err(|e| about_rows(e.into(), paths))?;
    if recipe.svd.is_some() {
        let entries = table.x.indexed_iter().map(|((i, j), &c)| (i, j, c));
        check_counts(paths, table.numbers.as_deref(), entries)?;
    }
    work(&Source::from(&table), start.elapsed())
}

/// Refuses rows that are not word counts, by their numbers in the file.
fn check_counts(
    paths: &[PathBuf],
    numbers: Option<&[usize]>,
    entries: impl Iterator<Item = (usize, usize, f32)>,
) -> Result<()> {
    let numbered = |(i, j, c)| (numbers.map_or(i, |numbers| numbers[i]), j, c);
    tfidf::check_counts(entries.map(numbered)).map_err(|e| about_rows(e.into(), paths))
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

/// What is read and written.
struct Files<'a> {
    data: &'a [PathBuf],
    output: &'a Path,
    page: Option<&'a Path>,
}

/// Fits and saves; the page comes last, so that nothing that goes wrong with it costs the model.
fn fit(
    settings: &Settings,
    source: &Source,
    checkpoint: Option<&Checkpoint>,
    files: Files,
    mut times: Vec<(String, Duration)>,
    screen: Screen,
) -> Result<Model> {
    let recipe = &settings.recipe;
    let prepared = screen.watched("preparing the rows", |progress| recipe.prepare(source, progress))?;
    let [train, validation, test] = prepared.parts.each_ref().map(|x| x.nrows());
    screen.say(format_args!(
        "{train} training, {validation} validation, {test} test rows of {}",
        count(prepared.parts[0].ncols(), "feature")
    ));
    if let Some(checkpoint) = checkpoint {
        recipe.check_checkpoint(&prepared, settings.prior.is_some(), checkpoint)?;
    }
    let matrix = settings.prior.as_deref().map(|path| read_matrix(path, source.x.len(), screen)).transpose()?;
    let start = Instant::now();
    let kernel = screen.watched("fitting the kernel", |progress| recipe.kernel(&prepared, matrix, progress))?;
    let priors = screen.watched("applying it to all rows", |progress| kernel.priors(&prepared, progress))?;
    times.push(("kernel".into(), start.elapsed()));
    let start = Instant::now();
    let mut observer = screen.training();
    let model = recipe.train(source, &prepared, &kernel, priors.as_ref(), checkpoint, &mut observer)?;
    times.push((TRAINING.into(), start.elapsed()));
    model.save(files.output)?;
    if let Some(checkpoint) = checkpoint {
        checkpoint.remove()?;
    }
    if let Some(page) = files.page {
        let fitted = (&model, source, &prepared, priors.as_ref());
        report::after_fit(page, &report::name(files.data), fitted, &times, recipe.seed, screen)
            .with_context(|| format!("{} is saved, but not its page", files.output.display()))?;
    }
    Ok(model)
}

/// A kernel matrix of so many rows, from a file of any format.
pub fn read_matrix(path: &Path, rows: usize, screen: Screen) -> Result<Precomputed> {
    let blocks = screen::reading(|| -> dkae::Result<_> {
        let mut source = stream::open(path, &ReadOptions::default())?;
        let mut blocks = Vec::new();
        while let Some(block) = source.next_block(1000)? {
            blocks.push(block);
        }
        Ok(blocks)
    })?;
    let views: Vec<_> = blocks.iter().map(|b| b.view()).collect();
    let matrix: Array2<f32> = ndarray::concatenate(Axis(0), &views).context("reading a kernel matrix")?;
    if matrix.nrows() == matrix.ncols() && matrix.nrows() != rows {
        let message = format!(
            "{}: a matrix of {}, but there are {rows} rows of data; it takes one row and column for each, in their order",
            path.display(),
            count(matrix.nrows(), "row")
        );
        return Err(Error::setting("prior", message).into());
    }
    let checked = screen.watched("checking the kernel matrix", |progress| Precomputed::watched(matrix, progress));
    let (matrix, warnings) = checked.with_context(|| path.display().to_string())?;
    for warning in warnings {
        screen::warn(format!("{}: {warning}", path.display()));
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
            lines.push(format!("{part:<12}{:>10}{code:>10}", number(reconstruction, 5)));
        }
    }
    if let Some(codes) = figure("test.codes-to-ideal") {
        let prior = figure("test.prior-to-ideal").map_or(String::new(), |p| format!(", of the prior {p:.4}"));
        lines.push(format!("L_c to the ideal kernel of the classes: of the codes {codes:.4}{prior}"));
    }
    (lines.join("\n"), json!({ "architecture": model.net().architecture().to_string(), "figures": about.figures }))
}
