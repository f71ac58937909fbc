//! Eigendecompositions of symmetric matrices, largest eigenvalue first, signs fixed.
//!
//! An eigenvector is defined up to its sign; here the entry of largest magnitude is positive, so that the same data give
//! the same picture everywhere.

use faer::{Mat, Side};
use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2};

use crate::{Error, Result};

/// All eigenvalues, largest first, and the eigenvectors as columns in the same order. Reads the lower triangle.
pub fn symmetric(a: ArrayView2<f64>) -> Result<(Array1<f64>, Array2<f64>)> {
    let n = a.nrows();
    assert_eq!(a.ncols(), n, "a symmetric matrix is square");
    let decomposition =
        crate::math::threads::run(|| Mat::from_fn(n, n, |i, j| a[[i, j]]).self_adjoint_eigen(Side::Lower)).map_err(
            |e| {
                Error::Numeric(format!(
                    "the eigendecomposition of a {n} x {n} matrix failed ({e:?}); are all values finite?"
                ))
            },
        )?;
    let (s, u) = (decomposition.S(), decomposition.U());
    let values = Array1::from_shape_fn(n, |i| s[n - 1 - i]);
    let mut vectors = Array2::from_shape_fn((n, n), |(i, j)| u[(i, n - 1 - j)]);
    fix_signs(vectors.view_mut());
    Ok((values, vectors))
}

/// Turns every column so that its entry of largest magnitude (the first of them) is positive.
pub fn fix_signs(mut vectors: ArrayViewMut2<f64>) {
    for mut column in vectors.columns_mut() {
        let largest = column.iter().fold(0.0f64, |best, &v| if v.abs() > best.abs() { v } else { best });
        if largest < 0.0 {
            column.mapv_inplace(|v| -v);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn a_known_two_by_two() {
        let (values, vectors) = symmetric(array![[2.0, 1.0], [1.0, 2.0]].view()).unwrap();
        let r = 0.5f64.sqrt();
        assert!((&values - &array![3.0, 1.0]).iter().all(|d| d.abs() < 1e-12));
        assert!((&vectors.column(0) - &array![r, r]).iter().all(|d| d.abs() < 1e-12));
        assert!((vectors[[0, 1]] - r).abs() < 1e-12 && (vectors[[1, 1]] + r).abs() < 1e-12 || vectors[[1, 1]] > 0.0);
    }
}
