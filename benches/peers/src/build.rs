//! The time of a clean release build of the command, downloads not counted.

use std::process::Command;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use crate::environment::{Bench, workspace};
use crate::turns::timed;

/// What a clean build costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Build {
    /// Its time.
    pub seconds: f64,
    /// Crates compiled.
    pub crates: usize,
}

pub fn run(bench: &Bench) -> Result<Build> {
    let target = bench.folder.join("clean-build");
    if target.exists() {
        std::fs::remove_dir_all(&target)?;
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&cargo);
        command.current_dir(workspace()).env("CARGO_TARGET_DIR", &target).env("CARGO_INCREMENTAL", "0");
        command.args(arguments).stderr(std::process::Stdio::piped()).output()
    };
    ensure!(run(&["fetch", "--locked"])?.status.success(), "cargo fetch failed");
    let (output, seconds) = timed(|| run(&["build", "--release", "--locked", "-p", "dkae-cli"]));
    let output = output?;
    let messages = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the build failed:\n{messages}");
    let crates = messages.lines().filter(|l| l.trim_start().starts_with("Compiling")).count();
    std::fs::remove_dir_all(&target)?;
    println!("clean release build: {seconds:.0} s, {crates} crates");
    Ok(Build { seconds, crates })
}
