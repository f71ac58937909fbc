//! Which compiler builds this, and from which commit, for the results to say.

use std::process::Command;

/// What a program prints; none if it is not there, or fails.
fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

fn main() {
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let version = said(&compiler, &["--version"]);
    let version = version.as_deref().and_then(|line| line.split(' ').nth(1)).unwrap_or("unknown");
    println!("cargo::rustc-env=RUSTC_VERSION={version}");
    // A copy without its history has none.
    let commit = said("git", &["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]);
    println!("cargo::rustc-env=DKAE_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
    for path in ["build.rs", "src", "../dkae/src"] {
        println!("cargo::rerun-if-changed={path}");
    }
    // Every commit is noted there.
    let log = said("git", &["rev-parse", "--git-path", "logs/HEAD"]);
    if let Some(log) = log.filter(|log| std::path::Path::new(log).exists()) {
        println!("cargo::rerun-if-changed={log}");
    }
}
