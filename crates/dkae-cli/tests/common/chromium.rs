//! Chromium, and the checks of a page in it.

use std::path::Path;
use std::process::Command;

use crate::common::stderr;

/// The browser, when there is one and Node to drive it.
pub fn chromium() -> Option<String> {
    let works = |program: &str| Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success());
    let given = std::env::var("DKAE_CHROMIUM").ok();
    let known = ["chromium", "chromium-browser", "google-chrome"].map(str::to_owned);
    let found = given.into_iter().chain(known).find(|program| works(program));
    if let (Some(found), true) = (found, works("node")) {
        return Some(found);
    }
    let required = |name: &str, value: &str| std::env::var(name).is_ok_and(|v| v == value);
    assert!(
        !required("CI", "true") && !required("DKAE_REQUIRE_BROWSER", "1"),
        "the tests of the report need chromium and node: apt-get install chromium nodejs"
    );
    println!("skipped: no chromium or no node, so the report is not tested in a browser");
    None
}

/// Runs the checks on a page about the data called `name`; what they say.
pub fn check(chromium: &str, page: &Path, name: &str) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/check.mjs");
    let mut command = Command::new("node");
    command.arg(script).arg(page).arg(name).arg(chromium);
    let output = command.output().expect("node starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", stderr(&output));
    assert!(text.trim_end().ends_with(" checks"), "the checks did not come to their end: {text}");
    text.into_owned()
}
