//! Squared Euclidean distances between blocks of rows: `|a - b|^2 = |a|^2 + |b|^2 - 2 a.b`, the cross terms by GEMM.

use ndarray::{Array1, ArrayView2, ArrayViewMut2, Zip};

use crate::math::gemm::product;

/// The squared norm of each row, summed in f64.
pub fn squared_norms(x: ArrayView2<f32>) -> Array1<f32> {
    x.rows().into_iter().map(|row| row.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>() as f32).collect()
}

/// Writes the squared distances between the rows of `a` and the rows of `b`; never negative.
pub fn squared_distances(a: ArrayView2<f32>, b: ArrayView2<f32>, mut out: ArrayViewMut2<f32>) {
    product(-2.0, a, b.t(), 0.0, out.view_mut());
    let (na, nb) = (squared_norms(a), squared_norms(b));
    Zip::from(out.rows_mut()).and(&na).par_for_each(|mut row, &na| {
        Zip::from(&mut row).and(&nb).for_each(|d, &nb| *d = (*d + na + nb).max(0.0));
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
}
