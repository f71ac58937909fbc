//! Chores of this repository.
//!
//! `cargo xtask test` runs every test, those of the Python package too; `cargo xtask ci` runs what must pass before a change
//! lands: formatting, lints and documentation without warnings, then every test. `cargo xtask wheel` builds the Python
//! package for others to install. All do their own set-up; they need cargo, a C compiler and, for Python, Python 3.10 or
//! newer, the packages that pip fetches, Node and Chromium. What cannot be tested for want of these or of the data is told at
//! the end; with the data folder in place, `ci` fails when a file of it is missing.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let chore = std::env::args().nth(1);
    let done = match chore.as_deref() {
        Some("test") => test(false),
        Some("ci") => check() && test(true),
        Some("wheel") => wheel(),
        _ => {
            eprintln!(
                "usage: cargo xtask test   every test\n       cargo xtask ci     formatting, lints, docs, then every \
                 test\n       cargo xtask wheel  the Python package, into target/wheels"
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

/// All tests, optimised: numerics in plain loops are too slow otherwise, and the build is shared with the command. `all` of
/// those on real data have to run, if there is a folder of data.
fn test(all: bool) -> bool {
    let mut left_out = Vec::new();
    let python = python();
    if python.is_none() {
        left_out.push("a model file in Python".to_owned());
    }
    if !browser() {
        left_out.push("the report in a browser".to_owned());
    }
    let data = std::env::var_os("DKAE_DATA").map_or_else(|| root().join("../shared/data"), PathBuf::from);
    if !data.is_dir() {
        left_out.push(format!("everything on real data ({} is not there; set DKAE_DATA)", data.display()));
    }
    let mut environment: Vec<(&str, &str)> = python.iter().map(|path| ("DKAE_PYTHON", path.as_str())).collect();
    if all && data.is_dir() && python.is_some() {
        // Said also where a Python is needed, hence only when there is one.
        environment.push(("DKAE_REQUIRE_DATA", "1"));
    }
    let done =
        cargo("tests", &["test", "--workspace", "--release", "--locked"], &environment) && package(&mut left_out);
    // A test that lacks what it needs passes, and its own line about that is not shown.
    if done && !left_out.is_empty() {
        eprintln!("== passed, but NOT TESTED: {}", left_out.join("; "));
    }
    done
}

/// The workspace's folder.
fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Runs a program in the workspace's folder; whether it succeeded.
fn run<S: AsRef<OsStr>>(program: impl AsRef<OsStr>, arguments: &[S]) -> bool {
    Command::new(program).args(arguments).current_dir(root()).status().is_ok_and(|status| status.success())
}

/// Builds the Python package in an environment of its own, made anew, and runs its tests there.
///
/// Without a Python or a network it is skipped, with a line that says so; not where `DKAE_REQUIRE_DATA` says that everything
/// has to be there.
fn package(left_out: &mut Vec<String>) -> bool {
    let folder = root().join("target/package");
    let python = folder.join("bin/python");
    eprintln!("== Python package: a new environment");
    let ready = run("python3", &["-c", "import sys; sys.exit(sys.version_info < (3, 10))"])
        && run("python3", &["-m".as_ref(), "venv".as_ref(), "--clear".as_ref(), folder.as_os_str()])
        && run(&python, &["-m", "pip", "install", "--quiet", "-r", "python/tests/requirements.txt"]);
    if !ready {
        eprintln!("== no Python 3.10 with the package's requirements could be set up: its tests are skipped");
        left_out.push("the Python package".to_owned());
        return std::env::var_os("DKAE_REQUIRE_DATA").is_none();
    }
    eprintln!("== Python package: ruff");
    if !run(&python, &["-m", "ruff", "check", "--quiet", "python"]) {
        eprintln!("== Python package: ruff has complaints");
        return false;
    }
    eprintln!("== Python package: pip install .");
    if !run(&python, &["-m", "pip", "install", "--quiet", "."]) {
        eprintln!("== Python package: building it failed");
        return false;
    }
    eprintln!("== Python package: pytest");
    // The command was built beside this program by the tests before.
    let beside = std::env::current_exe().map(|exe| exe.with_file_name("dkae")).unwrap_or_default();
    let tests = Command::new(&python)
        .args(["-m", "pytest", "python/tests"])
        .env("DKAE_COMMAND", beside)
        .current_dir(root())
        .status();
    let done = tests.is_ok_and(|status| status.success());
    if !done {
        eprintln!("== Python package: its tests failed");
    }
    done
}

/// Builds a wheel. It goes to others, so the places of sources on this machine are taken out of it; a target folder of its
/// own, because that is another build.
fn wheel() -> bool {
    let folder = root().join("target/wheel");
    let python = folder.join("bin/python");
    let ready = run("python3", &["-m".as_ref(), "venv".as_ref(), folder.as_os_str()])
        && run(&python, &["-m", "pip", "install", "--quiet", "maturin>=1.9,<2"]);
    let home = std::env::home_dir().unwrap_or_default();
    let cargo = std::env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
    let places = [(cargo, "cargo"), (root().canonicalize().unwrap_or_else(|_| root()), "dkae")];
    let flags = places.map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display())).join(" ");
    ready
        && Command::new(&python)
            .args(["-m", "maturin", "build", "--release", "--out", "target/wheels"])
            .env("RUSTFLAGS", flags)
            .env("CARGO_TARGET_DIR", folder.join("target"))
            .current_dir(root())
            .status()
            .is_ok_and(|status| status.success())
}

/// A Python with the `safetensors` package, in a folder of its own, for the test that a model file loads there. Without a
/// network the test is skipped, with a line that says so.
fn python() -> Option<String> {
    let folder = root().join("target/python");
    let python = folder.join("bin/python");
    let ready = || run(&python, &["-c", "import numpy, safetensors"]);
    let made = python.exists() && ready()
        || run("python3", &["-m".as_ref(), "venv".as_ref(), folder.as_os_str()])
            && run(&python, &["-m", "pip", "install", "--quiet", "numpy", "safetensors"])
            && ready();
    if !made {
        eprintln!("== no Python with safetensors could be set up: the test that loads a model there will be skipped");
    }
    made.then(|| python.to_string_lossy().into_owned())
}

/// Chromium and Node, for the tests of the report: installed where this is Debian or the like and we may. Where they
/// cannot be had the tests say that they are skipped, or fail where `CI` or `DKAE_REQUIRE_BROWSER` asks for them. Whether
/// they are there.
fn browser() -> bool {
    let works = |program: &&str| Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success());
    let missing: Vec<&str> = [("chromium", "chromium"), ("node", "nodejs")]
        .into_iter()
        .filter_map(|(program, package)| (!works(&program)).then_some(package))
        .collect();
    if missing.is_empty() || std::env::var_os("DKAE_CHROMIUM").is_some() {
        return true;
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
    installed
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
