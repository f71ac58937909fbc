//! Chores of this repository.
//!
//! `cargo xtask test` runs every test; `cargo xtask ci` runs what must pass before a change lands: formatting, lints and
//! documentation without warnings, then every test. Both do
//! their own set-up; they need cargo, a C compiler and, for some tests, Python 3, Node and Chromium.

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
    let python = python();
    browser();
    let environment: Vec<(&str, &str)> = python.iter().map(|path| ("DKAE_PYTHON", path.as_str())).collect();
    cargo("tests", &["test", "--workspace", "--release", "--locked"], &environment)
}

/// A Python with the `safetensors` package, in a folder of its own, for the test that a model file loads there. Without a
/// network the test is skipped, with a line that says so.
fn python() -> Option<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python");
    let python = folder.join("bin/python");
    let run = |program: &std::ffi::OsStr, arguments: &[&std::ffi::OsStr]| {
        Command::new(program).args(arguments).status().is_ok_and(|status| status.success())
    };
    let ready = || run(python.as_os_str(), &["-c".as_ref(), "import numpy, safetensors".as_ref()]);
    let made = python.exists() && ready()
        || run("python3".as_ref(), &["-m".as_ref(), "venv".as_ref(), folder.as_os_str()])
            && run(python.as_os_str(), &["-m", "pip", "install", "--quiet", "numpy", "safetensors"].map(AsRef::as_ref))
            && ready();
    if !made {
        eprintln!("== no Python with safetensors could be set up: the test that loads a model there will be skipped");
    }
    made.then(|| python.to_string_lossy().into_owned())
}

/// Chromium and Node, for the tests of the report: installed where this is Debian or the like and we may. Where they
/// cannot be had the tests say that they are skipped, or fail where `CI` or `DKAE_REQUIRE_BROWSER` asks for them.
fn browser() {
    let works = |program: &&str| Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success());
    let missing: Vec<&str> = [("chromium", "chromium"), ("node", "nodejs")]
        .into_iter()
        .filter_map(|(program, package)| (!works(&program)).then_some(package))
        .collect();
    if missing.is_empty() || std::env::var_os("DKAE_CHROMIUM").is_some() {
        return;
    }
    eprintln!("== installing {} for the tests of the report", missing.join(" and "));
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").args(arguments).status().is_ok_and(|status| status.success())
    };
    let install = [&["install", "-y", "-q", "--no-install-recommends"][..], &missing].concat();
    // The lists of packages may be old or, on a fresh machine, not there.
    let installed = apt(&install) || apt(&["update", "-q"]) && apt(&install);
    if !installed {
        eprintln!("== {} could not be installed: the report may not be tested in a browser", missing.join(" and "));
    }
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
