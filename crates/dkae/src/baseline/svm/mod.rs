//! Support vector machines: [`linear`] on features or codes, [`kernel`] on any kernel, and [`choose`] for their settings.

pub mod choose;
mod descent;
pub mod kernel;
pub mod linear;
mod newton;
mod pairs;
mod smo;

pub use kernel::{KernelSvm, KernelSvmModel, MatrixSvmModel};
pub use linear::{LinearSvm, LinearSvmModel};

/// How the solution of one binary problem ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fit {
    /// Iterations taken.
    pub iterations: usize,
    /// Whether the tolerance was reached before the limit of iterations.
    pub converged: bool,
}
