//! Chores of this repository.
//!
//! `cargo xtask test` runs every test; `cargo xtask ci` runs what must pass before a change lands: formatting, lints and
//! documentation without warnings, then every test. Both do their own set-up and need cargo alone.

use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let chore = std::env::args().nth(1);
    let done = match chore.as_deref() {
        Some("test") => test(),
        Some("ci") => check() && test(),
        _ => {
            eprintln!(
                "usage: cargo xtask test   every test\n       cargo xtask ci     formatting, lints, docs, then every test"
            );
            return ExitCode::from(2);
        }
    };
    if done { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Formatting, lints, documentation.
fn check() -> bool {
    cargo("formatting", &["fmt", "--all", "--check"], &[])
        && cargo(
            "lints",
            &["clippy", "--workspace", "--all-targets", "--release", "--locked", "--", "-D", "warnings"],
            &[],
        )
        && cargo(
            "documentation",
            &["doc", "--workspace", "--no-deps", "--release", "--locked"],
            &[("RUSTDOCFLAGS", "-D warnings")],
        )
}

/// All tests, optimised: numerics in plain loops are too slow otherwise, and the build is shared with the command.
fn test() -> bool {
    cargo("tests", &["test", "--workspace", "--release", "--locked"], &[])
}

/// Runs cargo and says what failed.
fn cargo(what: &str, arguments: &[&str], environment: &[(&str, &str)]) -> bool {
    eprintln!("== {what}: cargo {}", arguments.join(" "));
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo).args(arguments).envs(environment.iter().copied()).status();
    let done = status.as_ref().is_ok_and(|s| s.success());
    if !done {
        eprintln!("== {what} failed: {}", status.map_or_else(|e| e.to_string(), |s| s.to_string()));
    }
    done
}
