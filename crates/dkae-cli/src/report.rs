//! `dkae report`: what a model learned, as one HTML page. `dkae fit --report` and `dkae demo` write the same.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;
use dkae::Error;
use dkae::data::atomic::AtomicFile;
use dkae::data::split::Split;
use dkae::kernel::{KernelSpec, Prior};
use dkae::net::Model;
use dkae::recipe::{Prepared, RawRows, Recipe, Source, measure};
use dkae_report::page::{self, Subject};
use serde_json::{Value, json};

use crate::fit::{read_matrix, summary, with_rows};
use crate::flags::Report;
use crate::rows::{Like, load_model, shown};
use crate::screen::{self, Screen, count, seconds};
use crate::settings::kernels;

/// How far a loss may be from the one in the model file when the rows are the same: other machines round otherwise.
const SAME: f64 = 1e-3;

pub fn run(flags: &Report, screen: Screen) -> Result<(String, Value)> {
    let start = Instant::now();
    let model = load_model(&flags.model, &flags.data[0])?;
    let output = flags.page();
    check_name("output", &output)?;
    let recipe: Recipe = serde_json::from_value(model.about().settings.clone()).unwrap_or_else(|_| {
        screen::warn(format!(
            "{} does not say how its rows were split: parts called held-out may be rows it learned from",
            flags.model.display()
        ));
        Recipe::default()
    });
    let mut options = flags.reading.options();
    // A sparse file of few rows may not mention the last words of the vocabulary.
    options.width = options.width.or(Some(model.input_width()));
    let figures = with_rows(&flags.data, &options, &recipe, screen, |source, reading| {
        show(flags, &model, &recipe, source, reading, &output, screen)
    })?;
    let (_, mut value) = summary(&model);
    value["figures"] = json!(figures);
    value["report"] = json!(shown(&output));
    value["seconds"] = json!(start.elapsed().as_secs_f64());
    Ok((format!("wrote {} in {}", output.display(), seconds(start.elapsed())), value))
}

/// Brings the rows into the parts they had in training, fits the kernel again, and writes the page.
fn show(
    flags: &Report,
    model: &Model,
    recipe: &Recipe,
    source: &Source,
    reading: Duration,
    output: &Path,
    screen: Screen,
) -> Result<std::collections::BTreeMap<String, f64>> {
    let (file, about) = (&flags.data[0], model.about());
    let width = match &source.x {
        RawRows::Dense(x) => x.ncols(),
        RawRows::Sparse(x) => x.ncols(),
    };
    let like = Like::model(&flags.model, model);
    like.check_width(file, width, "rows")?;
    like.check_names(file, source.names)?;
    // Rows of another number were not split as the model's own were.
    let own = recipe.split(source.x.len(), source.groups).ok().filter(|split| split.train.len() == about.rows);
    let known = own.is_some();
    let split = match own {
        Some(split) => split,
        None => Split::random(source.x.len(), Recipe::default().split, recipe.seed)?,
    };
    let matrix = match &flags.prior {
        Some(_) if recipe.train.lambda == 0.0 => {
            return Err(Error::setting("prior", "has no effect: the model was trained without a kernel").into());
        }
        prior => prior.as_deref().map(|path| read_matrix(path, source.x.len(), screen)).transpose()?,
    };
    check_enough(file, source.x.len(), split.train.len(), recipe, matrix.is_some())?;
    let prepared = Prepared::by(model.preparation(), source, split)?;
    let since = Instant::now();
    let kernel = screen.watched("fitting the kernel", |progress| recipe.kernel(&prepared, matrix, progress))?;
    let priors = screen.watched("applying it to all rows", |progress| kernel.priors(&prepared, progress))?;
    let mut times = vec![("reading".to_owned(), reading)];
    if priors.is_some() {
        times.push(("fitting the kernel again".to_owned(), since.elapsed()));
    }
    let since = Instant::now();
    let figures = screen.timed("measuring", || measure(model, &prepared, priors.as_ref()))?;
    times.push(("measuring".to_owned(), since.elapsed()));

    let loss = "train.reconstruction";
    let same = known
        && match (figures.get(loss), about.figures.get(loss)) {
            (Some(now), Some(then)) => (now - then).abs() <= SAME * then,
            _ => true,
        };
    let mut notes = Vec::new();
    if !same {
        let n = prepared.split.train.len();
        let note = format!(
            "These are not the rows that the model was trained on, or not in the same order. All figures are about the rows \
             given; the kernel and what else is fitted here was fitted on {n} of them, called training rows below."
        );
        screen.say(&note);
        notes.push(note);
    } else if !about.kernel.is_empty() && kernel.describe() != about.kernel {
        let message = format!("the model was aligned with another kernel ({}); give that one here", about.kernel);
        return Err(Error::setting("prior", message).into());
    }
    let subject = Subject {
        name: &name(&flags.data),
        model,
        source,
        rows: &prepared,
        priors: priors.as_ref(),
        figures: &figures,
        times: &times,
        notes: &notes,
    };
    write(output, &subject, recipe.seed, screen)?;
    Ok(figures)
}

/// Refuses rows of which too few are left to fit the kernel and the components of the codes on.
fn check_enough(file: &Path, n: usize, train: usize, recipe: &Recipe, matrix: bool) -> Result<()> {
    let components = |kernel: &KernelSpec| match kernel {
        KernelSpec::Pck(pck) if recipe.train.lambda > 0.0 && !matrix => pck.max_components,
        _ => 2,
    };
    let needed = kernels(&recipe.kernel).into_iter().map(components).max().unwrap_or(2).max(2);
    if train >= needed {
        return Ok(());
    }
    let share = Recipe::default().split[0];
    let least = (n..).find(|&n| (share * n as f64).round() as usize >= needed).unwrap_or(needed);
    let message = format!(
        "{}: {} {} too few for a report, which fits the kernel again on {:.0} % of them and shows the others; give at \
         least {least}, best those that the model was trained on",
        file.display(),
        count(n, "row"),
        if n == 1 { "is" } else { "are" },
        100.0 * share
    );
    Err(Error::Data(message).into())
}

/// A fitted model, its rows as they were read and as they were prepared, and their priors.
type Fitted<'a> = (&'a Model, &'a Source<'a>, &'a Prepared, Option<&'a [Box<dyn Prior + 'a>; 3]>);

/// The page of a model that was just fitted.
pub fn after_fit(
    path: &Path,
    name: &str,
    (model, source, rows, priors): Fitted,
    times: &[(String, Duration)],
    seed: u64,
    screen: Screen,
) -> Result<()> {
    let subject = Subject { name, model, source, rows, priors, figures: &model.about().figures, times, notes: &[] };
    write(path, &subject, seed, screen)
}

/// Computes the page and writes it.
fn write(path: &Path, subject: &Subject, seed: u64, screen: Screen) -> Result<()> {
    let settings = page::Report { seed, ..page::Report::default() };
    let page = screen.watched("report", |progress| settings.gather(subject, progress));
    let written = page.and_then(|page| page.save(path));
    // The library's own errors keep their meaning: a wish to stop is no failure.
    written.map_err(|error| match error {
        dkae_report::Error::Write(error) => error.into(),
        error => error.into(),
    })
}

/// Refuses names that a browser would not take for a page, and places that cannot be written to.
pub fn check_name(flag: &'static str, path: &Path) -> Result<()> {
    if !matches!(path.extension().and_then(|e| e.to_str()), Some("html" | "htm")) {
        let message = format!("{}: a report is an HTML page; name the file so, with .html", path.display());
        return Err(Error::setting(flag, message).into());
    }
    AtomicFile::create(path)?;
    Ok(())
}

/// What the data are called.
pub fn name(files: &[PathBuf]) -> String {
    let name = |path: &PathBuf| path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    match files {
        [] => String::new(),
        [one] => name(one),
        [first, more @ ..] => format!("{} and {} more", name(first), more.len()),
    }
}
