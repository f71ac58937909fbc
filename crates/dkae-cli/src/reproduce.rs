//! `dkae reproduce`: the paper's experiments, run and written to a folder.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use dkae::Error;
use dkae::progress::Progress;
use dkae::train::Observer;
use dkae_paper::data::Set;
use dkae_paper::store::Store;
use dkae_paper::{Budget, Context, Experiment, Job, Plan, Watch, estimate, page, reproduce};
use serde_json::{Value, json};

use crate::rows::shown;
use crate::screen::{Screen, count, seconds};

#[derive(Debug, Args)]
#[command(after_help = "\
Experiments:
  lambda           both losses against the weight of the code loss
  code-size        both losses against the width of the code
  reconstructions  digits, their reconstructions, and kernels sorted by class
  ideal            distance of three kernels to the ideal one
  kpca             the prior by kernel PCA and by dkAE
  classify         support vector machines on rows and on codes, four data sets
  visualise        maps in two dimensions by six methods
  denoise          noisy fives and sixes, cleaned
  walk             walks between centroids of codes

Examples:
  dkae reproduce all --budget smoke             everything on the embedded digits, in minutes
  dkae reproduce all --data ~/data              the standard budget: two hours on two cores; it first makes an estimate
  dkae reproduce classify --data ~/data         one experiment
  dkae reproduce classify --sets mnist,cifar-10 --data ~/data    on the sets that are there
  dkae reproduce page --page docs/results.md    only put tables and figures into a page
Ctrl-C, or a crash, loses at most what is under way, part of a training or a search of a grid: the same command goes on from there.")]
pub struct Reproduce {
    /// An experiment, 'all', or 'page' to run nothing
    #[arg(value_name = "NAME")]
    name: Name,
    /// The folder of the data sets; the README says where they are published [default: $DKAE_DATA, or data]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// smoke (embedded digits, minutes), standard (two hours) or paper (the printed schedule, weeks)
    #[arg(long, value_name = "BUDGET", default_value = "standard")]
    budget: Budget,
    /// Where results go, each experiment in a folder of its own [default: results; of another budget than standard,
    /// results-smoke or results-paper]
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Where trained models and other finished pieces are kept [default: .cache in the folder of results]
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// classify: the sets to measure on, of mnist, cloud, cifar-10, reuters [default: all; with --budget smoke mnist]
    #[arg(long, value_name = "SET,...", value_delimiter = ',')]
    sets: Option<Vec<String>>,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Put tables and figures of the results into this Markdown page [default: none, or README.md in the folder of results
    /// for 'page']
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

/// What to run.
#[derive(Clone, Debug)]
struct Name(Vec<Experiment>);

impl FromStr for Name {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Name(Experiment::ALL.to_vec())),
            "page" => Ok(Name(Vec::new())),
            name => Experiment::ALL.into_iter().find(|e| e.name() == name).map(|e| Name(vec![e])).ok_or_else(|| {
                let names: Vec<&str> = Experiment::ALL.iter().map(|e| e.name()).collect();
                format!("expected all, page, or one of {}", names.join(", "))
            }),
        }
    }
}

impl Watch for Screen {
    fn say(&self, line: &str) {
        Screen::say(*self, line);
    }

    fn training(&self, _: &str) -> Box<dyn Observer + '_> {
        Box::new(Screen::training(*self))
    }

    fn work(&self, what: &str, work: &mut dyn FnMut(&dyn Progress)) {
        self.watched(what, work);
    }
}

pub fn run(flags: &Reproduce, screen: Screen) -> Result<(String, Value)> {
    let start = Instant::now();
    let Name(experiments) = &flags.name;
    let mut plan = Plan::of(flags.budget);
    if let Some(names) = &flags.sets {
        let wanted = names.iter().map(|name| Set::named(name)).collect::<Result<Vec<_>, _>>().map_err(plain)?;
        plan.sets.retain(|set| wanted.contains(set));
        if plan.sets.is_empty() {
            return Err(Error::setting("sets", format!("none of these is in the budget {}", flags.budget)).into());
        }
    }
    let out = flags.out.clone().unwrap_or_else(|| match flags.budget {
        Budget::Standard => "results".into(),
        // Results of an hour are not to be written over by those of a minute.
        other => format!("results-{other}").into(),
    });
    let cache = flags.cache.clone().unwrap_or_else(|| out.join(".cache"));
    let mut lines = Vec::new();
    let mut value = json!({ "budget": flags.budget.to_string(), "seed": flags.seed, "experiments": [] });
    if !experiments.is_empty() {
        let folder = flags.data.clone().or_else(|| std::env::var_os("DKAE_DATA").map(PathBuf::from));
        let folder = folder.unwrap_or_else(|| "data".into());
        let jobs = estimate::distinct(experiments.iter().flat_map(|e| e.jobs(&plan, flags.seed)).collect());
        if !plan.embedded {
            // Found out now rather than after hours.
            jobs.iter().try_for_each(|job| job.set.require(&folder)).map_err(plain)?;
        }
        announce(&plan, &jobs, screen)?;
        let context = Context::new(plan, flags.seed, folder, Store::open(&cache).map_err(plain)?, &screen);
        let done = reproduce(&context, &out, experiments).map_err(|e| {
            let interrupted = matches!(e, dkae_paper::Error::Dkae(Error::Interrupted));
            let saved = format!(
                "stopped; what has finished is kept in {}: the same command goes on from there",
                cache.display()
            );
            if interrupted { plain(e).context(saved) } else { plain(e) }
        })?;
        for done in done {
            let note = if done.kept { ", finished before" } else { "" };
            lines.push(format!("{}: {}{note}", done.experiment.name(), done.folder.join("table.md").display()));
            let about =
                json!({ "name": done.experiment.name(), "folder": shown(&done.folder), "finished_before": done.kept });
            value["experiments"].as_array_mut().into_iter().for_each(|all| all.push(about.clone()));
        }
    }
    let page = flags.page.clone().or_else(|| experiments.is_empty().then(|| out.join("README.md")));
    if let Some(page) = page {
        if !out.is_dir() {
            let message = format!(
                "there is no folder {}; run an experiment first, or name the budget of those that were run (--budget smoke)",
                out.display()
            );
            return Err(Error::setting("out", message).into());
        }
        let count = page::update(&page, &out).map_err(plain)?;
        lines.push(format!("wrote {count} experiments to {}", page.display()));
        value["page"] = json!(shown(&page));
    }
    lines.push(format!("done in {}", seconds(start.elapsed())));
    value["seconds"] = json!(start.elapsed().as_secs_f64());
    Ok((lines.join("\n"), value))
}

/// Says how long the trainings will take, from steps measured now.
fn announce(plan: &Plan, jobs: &[Job], screen: Screen) -> Result<()> {
    if plan.budget == Budget::Smoke || screen == Screen::Nothing {
        return Ok(());
    }
    let found =
        screen.watched("measuring a few steps", |progress| estimate::seconds(plan, jobs, progress)).map_err(plain)?;
    let time = match found / 86400.0 {
        days if days >= 2.0 => format!("{days:.0} days"),
        _ => seconds(Duration::from_secs_f64(found)),
    };
    screen.say(format_args!(
        "{} of about {time} together if none is there yet, at the speed just measured; other work comes on top",
        count(jobs.len(), "training")
    ));
    Ok(())
}

/// The library's own error, so that its exit code is known.
fn plain(error: dkae_paper::Error) -> anyhow::Error {
    match error {
        dkae_paper::Error::Dkae(error) => error.into(),
        dkae_paper::Error::Report(error) => error.into(),
    }
}
