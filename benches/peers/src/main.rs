//! `dkae` beside PyTorch and scikit-learn on the same work, in one run.
//!
//! ```sh
//! cargo build --release                               # the command itself, for `command`
//! cargo run --release -p dkae-peers -- all            # every comparison, about an hour on two cores
//! cargo run --release -p dkae-peers -- step kpca      # some of them
//! cargo run --release -p dkae-peers -- --quick all    # small sizes: does everything run and agree?
//! cargo run --release -p dkae-peers -- report         # table and chart again, from the kept results
//! ```
//!
//! Times on shared machines drift, ratios hold. So both sides are started, and then take turns: each computes while the
//! others wait, round after round; a ratio is taken in each round, and the median of those is the result (`turns.rs`). A
//! side is a process of its own: this program again for `dkae`, `peer/peer.py` for the peers. Before a ratio counts, the
//! results of both sides are compared: losses, posteriors, eigenvalues, accuracies. If they differ, the run stops.
//!
//! One file per work; in it the sizes, what the driver compares, and our side. The peer's side has the same name under
//! `peer/`. Results are kept in `results.json`, one entry per work with the machine it ran on, and docs/performance.md and
//! its chart are made from that file. The Python packages, PyTorch among them, are installed under `target/peers`.

mod build;
mod command;
mod data;
mod encode;
mod environment;
mod fit;
mod growth;
mod kpca;
mod pck;
mod report;
mod results;
mod step;
mod svm;
mod turns;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};

use environment::Bench;
use turns::Turns;

#[derive(Parser)]
#[command(about = "dkae beside PyTorch and scikit-learn, on the same work in one run")]
struct Arguments {
    /// Small sizes and few rounds: shows that everything runs and agrees. The numbers mean nothing and are not kept.
    #[arg(long)]
    quick: bool,
    /// A Python that has the packages of requirements.txt; by default one is set up under target/peers.
    #[arg(long, value_name = "FILE")]
    python: Option<std::path::PathBuf>,
    /// On AMD's processors, leave PyTorch's MKL as it is installed, at half its speed; these results are not for the committed page.
    #[arg(long)]
    as_installed: bool,
    /// What to run.
    #[arg(required = true, value_name = "WORK")]
    works: Vec<Work>,
    /// Our side of one work, started by the program itself.
    #[arg(long, hide = true, value_name = "JSON")]
    settings: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Work {
    /// Every comparison below up to `command`.
    All,
    /// One training step, against PyTorch eager and compiled, and against the machine's GEMM peak.
    Step,
    /// The probabilistic cluster kernel against scikit-learn's mixtures.
    Pck,
    /// The whole fit, and the time until it is as good, against scikit-learn and PyTorch.
    Fit,
    /// The time until the fit is as good, alone.
    Reach,
    /// Encoding and decoding against PyTorch.
    Encode,
    /// Kernel PCA against scikit-learn.
    Kpca,
    /// Support vector machines against scikit-learn.
    Svm,
    /// Time and memory as rows grow.
    Growth,
    /// Start-up time and size of the command, and the time of its demo.
    Command,
    /// The time of a clean release build; not part of `all`.
    Build,
    /// Table and chart from the kept results; runs nothing.
    Report,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if let Some(settings) = &arguments.settings {
        let [work] = arguments.works[..] else { anyhow::bail!("one work at a time") };
        return take_turns(work, settings);
    }
    let bench = match arguments.works[..] {
        [Work::Report] => Bench::without_peers(arguments.quick)?,
        _ => Bench::new(arguments.quick, arguments.python, arguments.as_installed)?,
    };
    let works = match arguments.works[..] {
        [Work::All] => {
            vec![Work::Step, Work::Pck, Work::Fit, Work::Encode, Work::Kpca, Work::Svm, Work::Growth, Work::Command]
        }
        ref some => some.to_vec(),
    };
    for work in works {
        eprintln!("== {work:?}");
        run(work, &bench).with_context(|| format!("{work:?}"))?;
    }
    Ok(())
}

/// The driver of one work: measures, compares, keeps.
fn run(work: Work, bench: &Bench) -> Result<()> {
    match work {
        Work::All => anyhow::bail!("`all` stands alone"),
        Work::Report => return report::write(&results::load(&bench.kept())?, bench),
        Work::Step => bench.keep("step", step::run(bench)?)?,
        Work::Pck => bench.keep("pck", pck::run(bench)?)?,
        Work::Fit => {
            let (fit, reach) = fit::run(bench, true)?;
            bench.keep("fit", fit)?;
            bench.keep("reach", reach)?;
        }
        Work::Reach => bench.keep("reach", fit::run(bench, false)?.1)?,
        Work::Encode => bench.keep("encode", encode::run(bench)?)?,
        Work::Kpca => bench.keep("kpca", kpca::run(bench)?)?,
        Work::Svm => bench.keep("svm", svm::run(bench)?)?,
        Work::Growth => {
            let growth = growth::run(bench)?;
            bench.change(|results| results.growth = Some(growth))?;
        }
        Work::Command => {
            let command = command::run(bench)?;
            bench.change(|results| results.command = Some(command))?;
        }
        Work::Build => {
            let build = build::run(bench)?;
            bench.change(|results| results.build = Some(build))?;
        }
    }
    report::write(&results::load(&bench.kept())?, bench)
}

/// Our side of one work.
fn take_turns(work: Work, settings: &str) -> Result<()> {
    let settings = serde_json::from_str(settings).context("settings")?;
    match work {
        Work::Step => step::work(serde_json::from_value(settings)?, Turns::new()),
        Work::Pck => pck::work(serde_json::from_value(settings)?, Turns::new()),
        Work::Fit => fit::work(serde_json::from_value(settings)?, Turns::new()),
        Work::Encode => encode::work(serde_json::from_value(settings)?, Turns::new()),
        Work::Kpca => kpca::work(serde_json::from_value(settings)?, Turns::new()),
        Work::Svm => svm::work(serde_json::from_value(settings)?, Turns::new()),
        Work::Growth => growth::work(serde_json::from_value(settings)?, Turns::new()),
        _ => anyhow::bail!("{work:?} has no sides"),
    }
}
