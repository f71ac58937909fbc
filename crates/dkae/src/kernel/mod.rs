//! Kernels, and kernels as priors: what the inner products of codes are asked to reproduce.

mod factors;
mod prior;

pub use factors::Factors;
pub use prior::{Kernel, Prior};
