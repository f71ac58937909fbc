//! Squared Euclidean distances between blocks of rows: `|a - b|^2 = |a|^2 + |b|^2 - 2 a.b`, the cross terms by GEMM.

use ndarray::{Array1, ArrayView1, ArrayView2, ArrayViewMut2, Zip};

use crate::math::gemm::product_by_rows;
use crate::math::vector;

/// The squared norm of each row, summed in f64.
pub fn squared_norms(x: ArrayView2<f32>) -> Array1<f32> {
    let norm = |row: ArrayView1<f32>| match row.as_slice() {
        Some(row) => vector::squared_norm(row) as f32,
        None => vector::squared_norm(&row.to_vec()) as f32,
    };
    x.rows().into_iter().map(norm).collect()
}

/// Writes the squared distances between the rows of `a` and the rows of `b`; never negative.
pub fn squared_distances(a: ArrayView2<f32>, b: ArrayView2<f32>, out: ArrayViewMut2<f32>) {
    if a.nrows() < b.nrows() / 4 {
        // A wide result is shared out along its columns.
        return squared_distances(b, a, out.reversed_axes());
    }
    let (na, nb) = (squared_norms(a), squared_norms(b));
    // Every block packs all of `b` for itself, so blocks are larger than those of a plain product, which for the tiles
    // of kernel PCA would have 64 rows; that costs about a tenth of its time. The norms are added while a block is still
    // in cache.
    let rows = a.nrows().div_ceil(16).clamp(352, 1024);
    product_by_rows(-2.0, a, b.t(), 0.0, out, rows, |first, mut block| {
        Zip::indexed(block.rows_mut()).for_each(|i, mut row| {
            let na = na[first + i];
            Zip::from(&mut row).and(&nb).for_each(|d, &nb| *d = (*d + na + nb).max(0.0));
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, array};

    #[test]
    fn distances_of_a_known_triangle() {
        let a = array![[0.0, 0.0], [3.0, 4.0]];
        let b = array![[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]];
        let mut d = Array2::zeros((2, 3));
        squared_distances(a.view(), b.view(), d.view_mut());
        assert_eq!(d, array![[0.0, 9.0, 25.0], [25.0, 16.0, 0.0]]);
    }

    #[test]
    fn norms_are_the_same_for_every_layout() {
        let x = Array2::from_shape_fn((5, 40), |(i, j)| ((i * 40 + j) as f32 * 0.7).sin());
        let turned = x.t().as_standard_layout().into_owned();
        assert_eq!(squared_norms(turned.t()), squared_norms(x.view()));
    }

    #[test]
    fn tall_and_wide_agree_with_the_definition() {
        let rows = |n: usize, by: f32| Array2::from_shape_fn((n, 9), |(i, j)| ((i * 9 + j) as f32 * by).sin());
        for (m, n) in [(900, 5), (5, 900), (700, 720)] {
            let (a, b) = (rows(m, 0.7), rows(n, 1.3));
            let mut d = Array2::from_elem((m, n), f32::NAN);
            squared_distances(a.view(), b.view(), d.view_mut());
            for ((i, j), &d) in d.indexed_iter() {
                let want: f64 = (0..9).map(|l| (f64::from(a[[i, l]]) - f64::from(b[[j, l]])).powi(2)).sum();
                assert!((f64::from(d) - want).abs() < 1e-5, "{m} x {n}: {i}, {j}");
            }
        }
    }
}
