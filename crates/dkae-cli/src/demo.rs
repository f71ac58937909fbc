//! `dkae demo`: the whole way on the embedded digits, in under a minute.

use std::time::Instant;

use anyhow::Result;
use dkae::data::atomic::AtomicFile;
use dkae::data::sample;
use dkae::kernel::{KernelSpec, Pck};
use dkae::progress::Silent;
use dkae::recipe::{Recipe, Source};
use dkae::train::{Length, Trainer};
use dkae_report::page::TRAINING;
use serde_json::{Value, json};

use crate::fit::summary;
use crate::flags::Demo;
use crate::rows::shown;
use crate::screen::{Screen, seconds};
use crate::{figure, report, sheet};

pub fn run(flags: &Demo, screen: Screen) -> Result<(String, Value)> {
    let start = Instant::now();
    // Found out now rather than after training.
    flags.files().iter().try_for_each(|path| AtomicFile::create(path).map(drop))?;
    let recipe = Recipe {
        seed: flags.seed,
        kernel: KernelSpec::Pck(Pck { restarts: 10, ..Pck::default() }),
        train: Trainer {
            layers: vec![500, 500, 500],
            steps: Length::Steps(1000),
            // Often enough for a curve.
            validate_every: 150,
            ..Trainer::default()
        },
        ..Recipe::default()
    };
    let digits = sample::digits();
    let source = Source::from(&digits);
    screen.say("5000 handwritten digits (MNIST), 28 x 28 pixels; the classes are used for the figures only");
    let prepared = recipe.prepare(&source, &Silent)?;
    let since = Instant::now();
    let what = "fitting the probabilistic cluster kernel";
    let kernel = screen.watched(what, |progress| recipe.kernel(&prepared, None, progress))?;
    let priors = screen.watched("applying it to all rows", |progress| kernel.priors(&prepared, progress))?;
    let mut times = vec![("kernel".to_owned(), since.elapsed())];
    let since = Instant::now();
    let model = recipe.train(&source, &prepared, &kernel, priors.as_ref(), None, &mut screen.training())?;
    times.push((TRAINING.to_owned(), since.elapsed()));
    model.save(&flags.output)?;
    let [_, page, svg, png] = flags.files();
    let figures = [svg, png];
    if let Some([_, _, test]) = &priors {
        let sheet = screen.timed("drawing", || sheet::draw(&model, &prepared, &**test))?;
        figures.iter().try_for_each(|path| figure::save(path, &sheet))?;
    }
    let fitted = (&model, &source, &prepared, priors.as_ref());
    report::after_fit(&page, "Handwritten digits", fitted, &times, recipe.seed, screen)?;
    let (mut text, mut value) = summary(&model);
    let files = [&flags.output, &page, &figures[0], &figures[1]].map(|path| path.display().to_string());
    text += &format!("\nwrote {} in {}", files.join(", "), seconds(start.elapsed()));
    value["model"] = json!(shown(&flags.output));
    value["report"] = json!(shown(&page));
    value["sheet"] = json!(figures.each_ref().map(|path| shown(path)));
    value["seconds"] = json!(start.elapsed().as_secs_f64());
    let parts = times.into_iter().map(|(part, time)| (part, json!(time.as_secs_f64())));
    value["seconds-of-parts"] = Value::Object(parts.collect());
    Ok((text, value))
}
