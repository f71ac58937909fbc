//! The command itself: how long `dkae --help` and `dkae demo` take, and how large the program is.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::environment::Bench;
use crate::results::median;
use crate::turns::timed;

/// Starts of the command.
const STARTS: usize = 50;

/// What was measured of the command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommandFigures {
    /// Median time of `dkae --help`.
    pub help_ms: f64,
    /// Size of the program.
    pub mb: f64,
    /// Time of `dkae demo`.
    pub demo_seconds: f64,
    /// That of its kernel.
    pub demo_kernel_seconds: f64,
    /// That of its training.
    pub demo_training_seconds: f64,
}

pub fn run(bench: &Bench) -> Result<CommandFigures> {
    let program = std::env::current_exe()?.with_file_name("dkae");
    ensure!(program.exists(), "{} is not there; build it with `cargo build --release`", program.display());
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let mut help = Command::new(&program);
        let (status, seconds) = timed(|| help.arg("--help").stdout(Stdio::null()).status());
        ensure!(status.context("dkae could not be started")?.success(), "dkae --help failed");
        times.push(1e3 * seconds);
    }
    let mb = 1e-6 * std::fs::metadata(&program)?.len() as f64;
    let folder = bench.folder.join("demo");
    std::fs::create_dir_all(&folder)?;
    let demo = Command::new(&program).args(["demo", "--json"]).current_dir(&folder).output()?;
    ensure!(demo.status.success(), "dkae demo failed: {}", String::from_utf8_lossy(&demo.stderr));
    let demo: Value = serde_json::from_slice(&demo.stdout).context("what dkae demo --json says")?;
    let seconds = |of: &Value| of.as_f64().context("a time of dkae demo");
    let figures = CommandFigures {
        help_ms: median(&times),
        mb,
        demo_seconds: seconds(&demo["seconds"])?,
        demo_kernel_seconds: seconds(&demo["seconds-of-parts"]["kernel"])?,
        demo_training_seconds: seconds(&demo["seconds-of-parts"]["training"])?,
    };
    println!("dkae --help {:.1} ms, {mb:.1} MB; dkae demo {:.1} s", figures.help_ms, figures.demo_seconds);
    Ok(figures)
}
