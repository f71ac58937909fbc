//! What a person at a terminal sees: bars with both losses and the time left. `script` gives the command a terminal.
#![cfg(target_os = "linux")]

mod common;

use std::path::Path;
use std::process::Command;

use common::{clouds, run, stderr};

/// Everything the command writes to a terminal of 120 columns.
fn on_a_terminal(folder: &Path, arguments: &str) -> String {
    let line = format!("stty cols 120; {} {arguments}", env!("CARGO_BIN_EXE_dkae"));
    let output = Command::new("script")
        .args(["--quiet", "--return", "--command", &line, "/dev/null"])
        .env("TERM", "xterm")
        .current_dir(folder)
        .output()
        .expect("script, of util-linux, is there");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    text
}

#[test]
fn training_shows_a_bar_with_both_losses_and_the_time_left() {
    let folder = tempfile::tempdir().unwrap();
    clouds(folder.path(), 300);
    let fit = "fit clouds.csv --label kind --layers 64,64,8 --pretrain 50 --steps 1500 --restarts 2 -o m.dkae";
    let screen = on_a_terminal(folder.path(), fit);
    // The bar is drawn again and again in place: one frame has everything.
    let frame = screen
        .split('\r')
        .find(|frame| frame.contains("fine-tuning") && frame.contains("L_r ") && frame.contains("L_c "))
        .unwrap_or_else(|| panic!("no bar with both losses: {screen}"));
    assert!(frame.contains("/1500") && frame.contains(" left") && frame.contains('─'), "{frame}");

    // Into a file there are plain lines instead.
    let lines = stderr(&run(folder.path(), fit));
    assert!(lines.contains("fine-tuning: step 1500 of 1500, L_r ") && lines.contains("L_c "), "{lines}");
    assert!(!lines.contains('\r') && !lines.contains('━') && !lines.contains('\u{1b}'), "{lines}");
}

#[test]
fn quiet_and_json_show_nothing_on_the_way() {
    let folder = tempfile::tempdir().unwrap();
    clouds(folder.path(), 60);
    let fit = "fit clouds.csv --label kind --layers 8,2 --pretrain 5 --steps 20 --restarts 2 -o m.dkae";
    assert_eq!(on_a_terminal(folder.path(), &format!("{fit} --quiet")), "");
    let json = on_a_terminal(folder.path(), &format!("{fit} --json"));
    assert!(json.starts_with('{') && json.trim_end().ends_with('}') && json.lines().count() == 1, "{json}");
}

#[test]
fn work_that_has_not_reported_yet_shows_a_spinner_and_no_empty_bar() {
    let folder = tempfile::tempdir().unwrap();
    clouds(folder.path(), 300);
    let screen = on_a_terminal(folder.path(), "kernel clouds.csv --label kind --restarts 4 -o p.npy");
    assert!(!screen.contains("0/0"), "{screen}");
    let spins = |frame: &str| frame.contains("fitting the kernel ") && frame.contains(|c| "⠁⠂⠄⡀⢀⠠⠐⠈".contains(c));
    assert!(screen.split('\r').any(spins), "{screen}");
}
