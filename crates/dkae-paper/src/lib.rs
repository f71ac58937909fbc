//! The experiments of Kampffmeyer, Løkse, Bianchi, Jenssen and Livi, "The Deep Kernelized Autoencoder": every table and figure
//! of its sections 4 and 5, one file each.
//!
//! An experiment's `run` (for the two that vary one setting, [`sweep::run`]) takes a [`Context`] (plan, data, trained models,
//! whoever is waiting) and returns plain results, which know their figure and their table. [`reproduce`] runs some of them and writes everything below one folder; what
//! has finished is not run again, and one trained model serves all experiments that ask for it ([`store`]).

pub mod budget;
pub mod classify;
pub mod code_size;
mod context;
pub mod data;
pub mod denoise;
pub mod estimate;
pub mod ideal;
mod kernels;
pub mod kpca;
pub mod lambda;
pub mod page;
pub mod reconstructions;
pub mod report;
pub mod store;
pub mod sweep;
pub mod visualise;
pub mod walk;

use std::path::{Path, PathBuf};

use report::Run;
use store::Store;

pub use budget::{Budget, Plan};
pub use context::{Context, Job, Watch, describe};

/// What can go wrong: in an experiment, or in drawing it.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub enum Error {
    /// In the experiment.
    Dkae(#[from] dkae::Error),
    /// In its figure.
    Report(#[from] dkae_report::Error),
}

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Experiment {
    Lambda,
    CodeSize,
    Reconstructions,
    Ideal,
    Kpca,
    Classify,
    Visualise,
    Denoise,
    Walk,
}

impl Experiment {
    /// All of them, in the paper's order.
    pub const ALL: [Experiment; 9] = [
        Experiment::Lambda,
        Experiment::CodeSize,
        Experiment::Reconstructions,
        Experiment::Ideal,
        Experiment::Kpca,
        Experiment::Classify,
        Experiment::Visualise,
        Experiment::Denoise,
        Experiment::Walk,
    ];

    /// Its name, which is also that of its folder.
    pub fn name(self) -> &'static str {
        match self {
            Experiment::Lambda => "lambda",
            Experiment::CodeSize => "code-size",
            Experiment::Reconstructions => "reconstructions",
            Experiment::Ideal => "ideal",
            Experiment::Kpca => "kpca",
            Experiment::Classify => "classify",
            Experiment::Visualise => "visualise",
            Experiment::Denoise => "denoise",
            Experiment::Walk => "walk",
        }
    }

    /// What it shows, in one line.
    pub fn about(self) -> &'static str {
        match self {
            Experiment::Lambda => "Both losses on validation rows against the weight of the code loss",
            Experiment::CodeSize => "Both losses on validation rows against the width of the code",
            Experiment::Reconstructions => "Digits, their reconstructions, and kernels sorted by class",
            Experiment::Ideal => "The ideal kernel, the prior, and the kernels of plain and of aligned codes",
            Experiment::Kpca => "Distance to the prior of kernel PCA against its components, and of dkAE",
            Experiment::Classify => "Accuracy of support vector machines on rows and on codes",
            Experiment::Visualise => "Test digits in two dimensions by six methods",
            Experiment::Denoise => "Noisy digits, cleaned by several methods",
            Experiment::Walk => "Walks between centroids of codes, decoded",
        }
    }

    /// The trainings it stands on.
    pub fn jobs(self, plan: &Plan, seed: u64) -> Vec<Job> {
        match self {
            Experiment::Lambda => sweep::jobs(lambda::recipes(plan, seed)),
            Experiment::CodeSize => sweep::jobs(code_size::recipes(plan, seed)),
            Experiment::Reconstructions => reconstructions::jobs(plan, seed),
            Experiment::Ideal => ideal::jobs(plan, seed),
            Experiment::Kpca => kpca::jobs(plan, seed),
            Experiment::Classify => classify::jobs(plan, seed),
            Experiment::Visualise => visualise::jobs(plan, seed),
            Experiment::Denoise => denoise::jobs(plan, seed),
            Experiment::Walk => walk::jobs(plan, seed),
        }
    }

    fn run(self, run: &Run) -> Result<()> {
        let context = run.context;
        match self {
            Experiment::Lambda => {
                let points = sweep::run(context, lambda::recipes(&context.plan, context.seed))?;
                run.write(&lambda::Results { points })
            }
            Experiment::CodeSize => {
                let points = sweep::run(context, code_size::recipes(&context.plan, context.seed))?;
                run.write(&code_size::Results { points })
            }
            Experiment::Reconstructions => run.write(&reconstructions::run(context)?),
            Experiment::Ideal => run.write(&ideal::run(context)?),
            Experiment::Kpca => run.write(&kpca::run(context)?),
            Experiment::Classify => run.write(&classify::run(context)?),
            Experiment::Visualise => run.write(&visualise::run(context)?),
            Experiment::Denoise => run.write(&denoise::run(context)?),
            Experiment::Walk => run.write(&walk::run(context)?),
        }
    }
}

/// What became of one experiment.
#[derive(Clone, Debug)]
pub struct Done {
    /// Which.
    pub experiment: Experiment,
    /// The folder of its results.
    pub folder: PathBuf,
    /// Whether it had finished before and was not run.
    pub kept: bool,
}

/// Runs experiments and writes their results below `out`; those that have finished with the same inputs are kept.
pub fn reproduce(context: &Context, out: &Path, experiments: &[Experiment]) -> Result<Vec<Done>> {
    let mut done = Vec::new();
    for &experiment in experiments {
        let name = experiment.name();
        let inputs = Store::key(&(context.inputs(), experiment.jobs(&context.plan, context.seed)));
        let run = Run::begin(context, name, out.join(name), inputs);
        let kept = run.is_finished();
        if kept {
            context.say(&format!("{name}: finished before; remove {} to run it again", run.folder.display()));
        } else {
            context.say(&format!("{name}: {}", experiment.about()));
            // What an interrupted experiment asked for is not this one's.
            context.store.take_log();
            experiment.run(&run)?;
        }
        done.push(Done { experiment, folder: run.folder, kept });
    }
    Ok(done)
}
