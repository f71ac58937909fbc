//! What can go wrong when a figure is drawn or written.

use std::path::PathBuf;

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused to write the file.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file concerned.
        path: PathBuf,
        /// The system's own error.
        source: std::io::Error,
    },
    /// Data or settings that make no figure: wrong shape, not a number, nothing to draw.
    #[error("{0}")]
    Data(String),
    /// The picture could not be rendered: too large, or not enough memory.
    #[error("rendering the figure: {0}")]
    Render(String),
}
