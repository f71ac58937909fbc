//! What the black-box tests share: the command, and a small data set with classes.

#![allow(dead_code)] // Each test file uses its own part.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub fn dkae() -> Command {
    Command::new(env!("CARGO_BIN_EXE_dkae"))
}

/// Runs the command in a folder; the arguments are separated by spaces.
pub fn run(folder: &Path, arguments: &str) -> Output {
    run_with(folder, arguments.split_whitespace())
}

/// As [`run`], for arguments of any kind.
pub fn run_with<S: AsRef<OsStr>>(folder: &Path, arguments: impl IntoIterator<Item = S>) -> Output {
    dkae().current_dir(folder).args(arguments).output().expect("the command starts")
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
    classes(folder.join("clouds.csv"), rows, |class, next| {
        std::array::from_fn(|j| if j % 3 == class { 3.0 } else { 0.0 } + next() + next())
    })
}

/// The same number of clouds, long ones that overlap: features come in pairs, and what tells the classes apart is a small
/// difference within a pair whose members vary much together. Weights that are kept small miss it.
pub fn blurred(folder: &Path, rows: usize) -> PathBuf {
    classes(folder.join("blurred.csv"), rows, |class, next| {
        let mut row = [0.0; 8];
        for (pair, values) in row.chunks_mut(2).enumerate() {
            let both = 6.0 * next();
            values[0] = both + next() + if pair == class { 0.8 } else { 0.0 };
            values[1] = both + next();
        }
        row
    })
}

/// Rows of three classes in turn, each made from its class and numbers between 0 and 1.
fn classes(path: PathBuf, rows: usize, mut row: impl FnMut(usize, &mut dyn FnMut() -> f64) -> [f64; 8]) -> PathBuf {
    let mut text = String::from("a,b,c,d,e,f,g,h,kind\n");
    let mut state = 88_172_645_463_325_252u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    for i in 0..rows {
        row(i % 3, &mut next).iter().for_each(|value| text += &format!("{value:.4},"));
        text += ["red", "green", "blue"][i % 3];
        text.push('\n');
    }
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

/// A small, quick fit.
pub const SMALL: &str = "--restarts 2 --max-components 4 --subset 60 --layers 8,4 --pretrain 2 --steps 5";

/// A folder with the clouds and a model of them.
pub fn fitted() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    clouds(folder.path(), 90);
    done(folder.path(), &format!("fit clouds.csv --label kind {SMALL} -o m.dkae"));
    folder
}

/// The command fails with this code, says all of these words in its one message, and leaves the folder as it was.
pub fn fails(folder: &Path, arguments: &str, code: i32, words: &[&str]) {
    let before = files(folder);
    let message = refused(folder, arguments, code);
    for word in words {
        assert!(message.contains(word), "dkae {arguments}: no '{word}' in: {message}");
    }
    assert!(!message.contains("panicked"), "{message}");
    let parts: Vec<&str> = message.split(": ").collect();
    assert!(parts.windows(2).all(|pair| pair[0] != pair[1]), "said twice: {message}");
    assert_eq!(files(folder), before, "dkae {arguments} left something behind");
}

pub fn write(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) {
    std::fs::write(folder.join(name), bytes).unwrap();
}
