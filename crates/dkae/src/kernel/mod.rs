//! Kernels, and kernels as priors: what the inner products of codes are asked to reproduce.

mod prior;

pub use prior::{Kernel, Prior};
