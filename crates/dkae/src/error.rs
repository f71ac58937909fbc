//! What can go wrong, in words a user can act on.
//!
//! Every message says where (a file and a place in it, a setting, an argument), what was expected, what came, and where
//! it is not obvious, what to do. The command prints these messages as they are.

use std::path::{Path, PathBuf};

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused: a missing file, a full disk, no permission.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file concerned.
        path: PathBuf,
        /// The system's own error.
        source: std::io::Error,
    },
    /// A file that is not what it claims to be: wrong magic number, truncated, ragged, not a number.
    #[error("{}{}: {message}", path.display(), if place.is_empty() { String::new() } else { format!(", {place}") })]
    Format {
        /// The file concerned.
        path: PathBuf,
        /// Where in the file, for people: `row 3, column 2`, `byte 16`; empty when it is the whole file.
        place: String,
        /// What was expected, what came, what to do.
        message: String,
    },
    /// A setting outside its range or at odds with another one.
    #[error("{name}: {message}")]
    Setting {
        /// The setting's name, as the field and the flag are called.
        name: &'static str,
        /// What was expected, what came, what to do.
        message: String,
    },
    /// Data that the method cannot use: wrong width, non-finite values, too few rows, one class only.
    #[error("{0}")]
    Data(String),
    /// A computation that failed although settings and data looked fine.
    #[error("{0}")]
    Numeric(String),
    /// The user asked to stop (Ctrl-C, or an observer that said so).
    #[error("stopped on request")]
    Interrupted,
}

impl Error {
    /// An [`Error::Io`] for `path`; for use in `map_err`.
    pub fn io(path: impl AsRef<Path>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.as_ref().to_owned();
        move |source| Error::Io { path, source }
    }

    /// An [`Error::Format`] at a place in a file.
    pub fn format(path: impl AsRef<Path>, place: impl Into<String>, message: impl Into<String>) -> Self {
        Error::Format { path: path.as_ref().to_owned(), place: place.into(), message: message.into() }
    }

    /// An [`Error::Setting`].
    pub fn setting(name: &'static str, message: impl Into<String>) -> Self {
        Error::Setting { name, message: message.into() }
    }
}
