//! Kernels, and kernels as priors: what the inner products of codes are asked to reproduce.

mod analytic;
mod cosine;
mod factors;
mod ideal;
mod kept;
mod linear;
pub mod mixture;
mod pck;
mod polynomial;
mod posteriors;
mod precomputed;
mod prior;
mod products;
mod rbf;
mod screen;
mod soft;
mod spec;
mod sum;

pub use analytic::Formula;
pub use cosine::Cosine;
pub use factors::Factors;
pub use ideal::Ideal;
pub use kept::Kept;
pub use linear::Linear;
pub use mixture::{Covariance, Mixture, Start};
pub use pck::{FittedPck, Floor, Pck, Summary};
pub use polynomial::{FittedPolynomial, Polynomial};
pub use posteriors::Posteriors;
pub use precomputed::Precomputed;
pub use prior::{FirstRows, Kernel, Prior};
pub(crate) use rbf::median_distance;
pub use rbf::{FittedRbf, Rbf, Width};
pub use spec::KernelSpec;
pub use sum::{FittedSum, Part, Sum};
