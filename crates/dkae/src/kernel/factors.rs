//! Kernel matrices known by their factors: `P = F F^T` with one row of F per row of data.
//!
//! Products with P are then two products with F, and P itself is never needed. For the probabilistic cluster kernel F is
//! the stacked posteriors; for a linear kernel it is the data.

use ndarray::{Array2, ArrayView2, Axis};

use crate::math::gemm;

/// The factor F of a kernel matrix `P = F F^T`, known by its products.
///
/// Vectors are f64, as eigenvectors are; how F itself is kept, and what its products are summed in, is its own affair.
pub trait Factors: Send + Sync {
    /// How many rows F has: one for each row of data.
    fn height(&self) -> usize;

    /// How many columns F has.
    fn width(&self) -> usize;

    /// `F^T V`, `width` rows; `v` has `height` rows.
    fn transpose_times(&self, v: ArrayView2<f64>) -> Array2<f64>;

    /// `F W`, `height` rows; `w` has `width` rows.
    fn times(&self, w: ArrayView2<f64>) -> Array2<f64>;
}

/// Rows of F whose products are summed in f32: of a whole column of many rows the last would be lost beside the first.
const ROWS: usize = 512;

/// Products in f32, sums over many rows in f64.
impl Factors for Array2<f32> {
    fn height(&self) -> usize {
        self.nrows()
    }

    fn width(&self) -> usize {
        self.ncols()
    }

    fn transpose_times(&self, v: ArrayView2<f64>) -> Array2<f64> {
        let mut out = Array2::zeros((self.ncols(), v.ncols()));
        for (f, v) in self.axis_chunks_iter(Axis(0), ROWS).zip(v.axis_chunks_iter(Axis(0), ROWS)) {
            out += &product(f.t(), v);
        }
        out
    }

    fn times(&self, w: ArrayView2<f64>) -> Array2<f64> {
        product(self.view(), w)
    }
}

fn product(f: ArrayView2<f32>, v: ArrayView2<f64>) -> Array2<f64> {
    let mut out = Array2::zeros((f.nrows(), v.ncols()));
    gemm::product(1.0, f, v.mapv(|v| v as f32).view(), 0.0, out.view_mut());
    out.mapv(f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn two_products_are_one_with_the_matrix() {
        let f = array![[1.0f32, 2.0], [0.0, 1.0], [3.0, -1.0]];
        let v = array![[1.0], [2.0], [-1.0]];
        let wide = f.mapv(f64::from);
        assert_eq!(f.times(f.transpose_times(v.view()).view()), wide.dot(&wide.t()).dot(&v));
        assert_eq!((f.height(), f.width()), (3, 2));
    }
}
