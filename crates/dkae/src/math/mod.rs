//! The numerics everything else stands on. The only module with `unsafe` code, and the only one that calls a GEMM crate.

pub mod check;
pub mod distance;
pub mod eigen;
pub mod gemm;
pub mod rng;
pub mod solve;
pub mod threads;
