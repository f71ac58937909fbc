//! What can go wrong when a figure is drawn or written.

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file could not be written.
    #[error(transparent)]
    Write(#[from] dkae::Error),
    /// Data or settings that make no figure: wrong shape, not a number, nothing to draw.
    #[error("{0}")]
    Data(String),
    /// The picture could not be rendered: too large, or not enough memory.
    #[error("rendering the figure: {0}")]
    Render(String),
}
