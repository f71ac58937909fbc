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
    /// Size of the program as it is built.
    pub mb: f64,
    /// Its size without symbols and line numbers; none where there is no `strip`.
    pub stripped_mb: Option<f64>,
}

pub fn run() -> Result<CommandFigures> {
    let program = std::env::current_exe()?.with_file_name("dkae");
    ensure!(program.exists(), "{} is not there; build it with `cargo build --release`", program.display());
    let size = |path: &std::path::Path| -> Result<f64> { Ok(1e-6 * std::fs::metadata(path)?.len() as f64) };
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let mut help = Command::new(&program);
        let (status, seconds) = timed(|| help.arg("--help").stdout(Stdio::null()).status());
        ensure!(status.context("dkae could not be started")?.success(), "dkae --help failed");
        times.push(1e3 * seconds);
    }
    let stripped = program.with_file_name("dkae-stripped");
    let strip = Command::new("strip").arg("-o").arg(&stripped).arg(&program).status();
    let stripped_mb = match strip {
        Ok(status) if status.success() => Some(size(&stripped)?),
        _ => None,
    };
    let _ = std::fs::remove_file(&stripped);
    let figures = CommandFigures { help_ms: median(&times), mb: size(&program)?, stripped_mb };
    println!("dkae --help {:.1} ms, {:.1} MB, stripped {:?} MB", figures.help_ms, figures.mb, figures.stripped_mb);
    Ok(figures)
}
