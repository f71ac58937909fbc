//! Which compiler builds this, and from which commit, for the results to say.

use std::path::Path;
use std::process::Command;

/// What the program is made of.
const SOURCES: [&str; 3] = ["../../crates", "../../Cargo.toml", "../../Cargo.lock"];

/// What a program prints; none if it is not there, or fails.
fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

/// The commit, and whether the sources are still as they are there; none for a copy without its history.
fn commit() -> Option<String> {
    // In somebody else's repository this file is not known.
    said("git", &["ls-files", "--error-unmatch", "build.rs"])?;
    let commit = said("git", &["rev-parse", "--short=12", "HEAD"])?;
    let changed = said("git", &[&["status", "--porcelain", "--"][..], &SOURCES].concat())?;
    Some(if changed.is_empty() { commit } else { format!("{commit}, changed") })
}

fn main() {
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let version = said(&compiler, &["--version"]);
    let version = version.as_deref().and_then(|line| line.split(' ').nth(1)).unwrap_or("unknown");
    println!("cargo::rustc-env=RUSTC_VERSION={version}");
    println!("cargo::rustc-env=DKAE_COMMIT={}", commit().as_deref().unwrap_or("unknown"));
    println!("cargo::rerun-if-changed=build.rs");
    // Every commit is noted in that log.
    let log = said("git", &["rev-parse", "--git-path", "logs/HEAD"]);
    for path in SOURCES.into_iter().chain(log.as_deref()).filter(|path| Path::new(path).exists()) {
        println!("cargo::rerun-if-changed={path}");
    }
}
