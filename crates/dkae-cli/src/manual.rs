//! Completions and manual pages, made from the flags' own definitions.

use std::path::Path;

use anyhow::Result;
use clap::CommandFactory;
use dkae::Error;
use serde_json::{Value, json};

use crate::flags::Flags;
use crate::rows::shown;

/// The completion script for a shell.
pub fn completions(shell: clap_complete::Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Flags::command(), "dkae", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// One page for the command and one for each of its subcommands.
pub fn pages(folder: &Path) -> Result<(String, Value)> {
    std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
    clap_mangen::generate_to(Flags::command(), folder).map_err(Error::io(folder))?;
    let count = std::fs::read_dir(folder).map_err(Error::io(folder))?.count();
    Ok((format!("wrote the manual to {}", folder.display()), json!({ "folder": shown(folder), "pages": count })))
}
