//! Kernels, and kernels as priors: what the inner products of codes are asked to reproduce.

mod analytic;
mod cosine;
mod factors;
mod ideal;
mod linear;
pub mod mixture;
mod pck;
mod polynomial;
mod posteriors;
mod precomputed;
mod prior;
mod rbf;
mod spec;
mod sum;

pub use analytic::Formula;
pub use cosine::Cosine;
pub use factors::Factors;
pub use ideal::Ideal;
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

use ndarray::ArrayView2;

use crate::{Error, Result};

/// An error that names the first value that is not a finite number.
fn check_finite(x: ArrayView2<f32>) -> Result<()> {
    match x.indexed_iter().find(|(_, v)| !v.is_finite()) {
        None => Ok(()),
        Some(((row, column), v)) => Err(Error::Data(format!(
            "row {row}, column {column} (counted from 0) is {v}; a kernel needs finite numbers: drop the row or fill in the value"
        ))),
    }
}

/// An error when rows do not have the width a kernel was fitted for.
fn check_width(x: ArrayView2<f32>, width: usize) -> Result<()> {
    if x.ncols() == width {
        return Ok(());
    }
    Err(Error::Data(format!("the kernel was fitted on rows of {width} features, these have {}", x.ncols())))
}
