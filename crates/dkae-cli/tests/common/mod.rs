//! What the black-box tests share: the command, and a small data set with classes.

#![allow(dead_code)] // Each test file uses its own part.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub fn dkae() -> Command {
    Command::new(env!("CARGO_BIN_EXE_dkae"))
}

/// Runs the command in a folder; the arguments are separated by spaces.
pub fn run(folder: &Path, arguments: &str) -> Output {
    dkae().current_dir(folder).args(arguments.split_whitespace()).output().expect("the command starts")
}

/// As [`run`], and it must succeed.
pub fn done(folder: &Path, arguments: &str) -> String {
    let output = run(folder, arguments);
    assert!(output.status.success(), "dkae {arguments}: {}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// As [`run`], and it must fail with this exit code; returns the message, which must be a single line.
pub fn refused(folder: &Path, arguments: &str, code: i32) -> String {
    let output = run(folder, arguments);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "dkae {arguments}: {text}");
    // The message is the last line; clap's usage errors say more.
    let message = text.lines().find(|l| l.starts_with("error: ")).unwrap_or_else(|| panic!("no message: {text}"));
    assert!(code == 2 || text.trim_end().ends_with(message), "more than one line: {text}");
    assert!(message.len() > "error: ".len() + 10, "nothing said: {text}");
    message.to_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Three clouds of points in eight dimensions, as csv with a header and a class.
pub fn clouds(folder: &Path, rows: usize) -> PathBuf {
    let mut text = String::from("a,b,c,d,e,f,g,h,kind\n");
    let mut state = 88_172_645_463_325_252u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    for i in 0..rows {
        let class = i % 3;
        for j in 0..8 {
            let centre = if j % 3 == class { 3.0 } else { 0.0 };
            text += &format!("{:.4},", centre + next() + next());
        }
        text += ["red", "green", "blue"][class];
        text.push('\n');
    }
    let path = folder.join("clouds.csv");
    std::fs::write(&path, text).unwrap();
    path
}

/// Files in a folder, sorted.
pub fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
