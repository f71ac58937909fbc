//! The numerics everything else stands on. The only module with `unsafe` code, and the only one that calls a GEMM crate.

pub mod check;
pub mod cholesky;
pub(crate) mod dense;
pub(crate) mod dispatch;
pub mod distance;
pub mod eigen;
pub mod elementwise;
pub(crate) mod factor;
pub mod gemm;
pub(crate) mod panels;
pub mod rng;
pub(crate) mod sparse;
pub mod threads;
pub(crate) mod turn;
pub mod vector;
