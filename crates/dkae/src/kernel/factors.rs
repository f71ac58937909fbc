//! Kernel matrices known by their factors: `P = F F^T` with one row of F per row of data.
//!
//! Products with P are then two products with F, and P itself is never needed. For the probabilistic cluster kernel F is
//! the stacked posteriors; for a linear kernel it is the data.

use ndarray::{Array2, ArrayView2};

use crate::math::gemm;

/// The factor F of a kernel matrix `P = F F^T`, known by its products.
pub trait Factors: Send + Sync {
    /// How many rows F has: one for each row of data.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many columns F has.
    fn width(&self) -> usize;

    /// `F^T V`, `width` rows; `v` has `len` rows.
    fn transpose_times(&self, v: ArrayView2<f32>) -> Array2<f32>;

    /// `F W`, `len` rows; `w` has `width` rows.
    fn times(&self, w: ArrayView2<f32>) -> Array2<f32>;
}

impl Factors for Array2<f32> {
    fn len(&self) -> usize {
        self.nrows()
    }

    fn width(&self) -> usize {
        self.ncols()
    }

    fn transpose_times(&self, v: ArrayView2<f32>) -> Array2<f32> {
        let mut out = Array2::zeros((self.ncols(), v.ncols()));
        gemm::product(1.0, self.t(), v, 0.0, out.view_mut());
        out
    }

    fn times(&self, w: ArrayView2<f32>) -> Array2<f32> {
        let mut out = Array2::zeros((self.nrows(), w.ncols()));
        gemm::product(1.0, self.view(), w, 0.0, out.view_mut());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn two_products_are_one_with_the_matrix() {
        let f = array![[1.0, 2.0], [0.0, 1.0], [3.0, -1.0]];
        let v = array![[1.0], [2.0], [-1.0]];
        assert_eq!(f.times(f.transpose_times(v.view()).view()), f.dot(&f.t()).dot(&v));
        assert_eq!((Factors::len(&f), f.width(), Factors::is_empty(&f)), (3, 2, false));
    }
}
