//! The command itself: how long `dkae --help` takes, and how large the program is.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

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
}

pub fn run() -> Result<CommandFigures> {
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
    let figures = CommandFigures { help_ms: median(&times), mb };
    println!("dkae --help {:.1} ms, {:.1} MB", figures.help_ms, figures.mb);
    Ok(figures)
}
