//! The command `dkae`: flags in, library calls, results out.
//!
//! Exit codes: 0 done, 1 failed, 2 used wrongly, 130 stopped by Ctrl-C. Results go to standard output, everything else to
//! standard error.

mod align;
mod classify;
mod cluster;
mod convert;
mod demo;
mod denoise;
mod embed;
mod figure;
mod fit;
mod flags;
mod idle;
mod inspect;
mod kernel;
mod manual;
mod report;
mod reproduce;
mod rows;
mod screen;
mod settings;
mod sheet;
mod units;
mod walk;

use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use dkae::Error;
use serde_json::{Value, json};

use convert::Direction;
use flags::{Command, Flags};
use screen::Screen;

fn main() -> ExitCode {
    let flags = Flags::from_command_line();
    dkae::math::threads::set_count(flags.global.threads);
    screen::watch_for_interrupts();
    let screen = Screen::new(&flags.global);
    // A fault of ours is one line too, with a place to look for it, and not a success. It is told here rather than where it
    // happens: the reader of Parquet files catches those that damaged files cause in its crate.
    static FAULT: Mutex<String> = Mutex::new(String::new());
    std::panic::set_hook(Box::new(|fault| {
        *FAULT.lock().unwrap_or_else(PoisonError::into_inner) = fault.to_string();
    }));
    let result = match std::panic::catch_unwind(|| run(&flags, screen)) {
        Ok(result) => result,
        Err(_) => {
            let fault = FAULT.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let version = env!("CARGO_PKG_VERSION");
            screen::tell(format_args!("error: a fault in dkae {version}, please report it: {fault}"));
            return ExitCode::FAILURE;
        }
    };
    match result {
        Ok((text, value)) => {
            use std::io::Write;
            let text = if flags.global.json { value.to_string() } else { text };
            let text = if flags.global.quiet && !flags.global.json { String::new() } else { text };
            // A reader that went away (`| head`) is no failure of ours; a full disk is.
            let mut out = std::io::stdout();
            let written = if text.is_empty() { Ok(()) } else { writeln!(out, "{text}").and_then(|()| out.flush()) };
            match written {
                Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
                    screen::tell(format_args!("error: the result could not be printed: {e}"));
                    ExitCode::FAILURE
                }
                _ => ExitCode::SUCCESS,
            }
        }
        Err(error) => {
            screen::tell(format_args!("error: {}", screen::printable(&message(&error, &flags.command))));
            ExitCode::from(exit_code(&error))
        }
    }
}

fn run(flags: &Flags, screen: Screen) -> Result<(String, Value)> {
    flags.command.refuse_overwriting()?;
    flags.command.refuse_models()?;
    idle::refuse(&flags.command)?;
    let converted = |value: Value| (format!("wrote {}", value["output"].as_str().unwrap_or_default()), value);
    match &flags.command {
        Command::Demo(demo) => demo::run(demo, screen),
        Command::Fit(fit) => fit::run(fit, screen),
        Command::Encode(convert) => convert::run(convert, Direction::Encode, screen).map(converted),
        Command::Decode(convert) => convert::run(convert, Direction::Decode, screen).map(converted),
        Command::Reconstruct(convert) => convert::run(convert, Direction::Reconstruct, screen).map(converted),
        Command::Inspect(inspect) => inspect::run(inspect),
        Command::Kernel(kernel) => kernel::run(kernel, screen),
        Command::Embed(embed) => embed::run(embed, screen),
        Command::Align(align) => align::run(align, screen),
        Command::Denoise(denoise) => denoise::run(denoise, screen),
        Command::Walk(walk) => walk::run(walk, screen),
        Command::Cluster(cluster) => cluster::run(cluster, screen),
        Command::Report(report) => report::run(report, screen),
        Command::Classify(classify) => classify::run(classify, screen),
        Command::Reproduce(reproduce) => reproduce::run(reproduce, screen),
        Command::Completions { shell } => {
            let script = manual::completions(*shell);
            let value = json!({ "shell": shell.to_string(), "script": script });
            Ok((script, value))
        }
        Command::Man { folder } => manual::pages(folder),
    }
}

/// The chain of what went wrong, in one line; settings are named as the flags are.
fn message(error: &anyhow::Error, command: &Command) -> String {
    // `align` reads rows as well, but has no flags about how.
    let advice = |text: &str| if matches!(command, Command::Align(_)) { text.to_owned() } else { advice(text) };
    let part = |e: &(dyn std::error::Error + 'static)| match e.downcast_ref::<Error>() {
        Some(Error::Setting { name, message }) => format!("--{}: {}", flag(name, command), advice(message)),
        // A TOML error draws the place in several lines; its words are enough. Any other message is kept whole.
        None if e.is::<toml::de::Error>() => {
            let words = |line: &&str| !line.is_empty() && !line.contains('|');
            e.to_string().lines().map(str::trim).filter(words).collect::<Vec<_>>().join(", ")
        }
        _ => advice(&e.to_string().lines().map(str::trim).collect::<Vec<_>>().join(" ")),
    };
    let mut parts: Vec<String> = Vec::new();
    for part in error.chain().map(part) {
        // An error that tells its cause in its own words has told it.
        let told = |last: &String| last.ends_with(&part) || part == Error::Interrupted.to_string();
        if !parts.last().is_some_and(told) {
            parts.push(part);
        }
    }
    parts.join(": ")
}

/// Settings in the library's advice, and the flags they are given by.
const ADVICE: [(&str, &str); 6] = [
    ("lower max_components", "lower --max-components"),
    ("raise subset", "raise --subset"),
    ("raise max_iterations", "raise --max-iterations"),
    ("or lower c", "or lower --c"),
    ("lower the learning rate or set a gradient clip", "lower --rate, set --clip, or scale large values with --scale"),
    ("lower the learning rate", "lower --rate"),
];

/// The same of those about reading rows.
const READING_ADVICE: [(&str, &str); 5] = [
    ("set label to ", "give --label "),
    ("with skip ", "with --skip "),
    ("say which holds the rows", "say with --array which holds the rows"),
    ("say which it is: ", "say with --format which it is: "),
    ("or say how wide its rows are", "or say with --width how wide its rows are"),
];

/// Advice in the library's words, with its settings named as the flags are.
fn advice(message: &str) -> String {
    let flags = |text: String, (words, flags): &(&str, &str)| text.replace(words, flags);
    ADVICE.iter().chain(&READING_ADVICE).fold(message.to_owned(), flags)
}

/// The flag that a setting of the library is given by: the same name but for these few.
fn flag(setting: &str, command: &Command) -> String {
    match (setting, command) {
        ("components", Command::Fit(_) | Command::Classify(_)) => "svd".into(),
        ("k", _) => "neighbours".into(),
        ("prices", _) => "c".into(),
        _ => setting.replace('_', "-"),
    }
}

fn exit_code(error: &anyhow::Error) -> u8 {
    match error.chain().find_map(|e| e.downcast_ref::<Error>()) {
        Some(Error::Setting { .. }) => 2,
        Some(Error::Interrupted) => 130,
        _ if error.downcast_ref::<settings::InFile>().is_some() => 2,
        _ => 1,
    }
}
