//! Cholesky factors `A = L L^T` of symmetric positive definite matrices, and solving with them.
//!
//! Block by block, from the left: factor the block on the diagonal, divide the panel below it, take the panel's products
//! off what remains. All but the diagonal blocks is matrix products, on the computing threads, with the same bits for any
//! number of them.

use ndarray::{Array2, ArrayView2, ArrayViewMut2, s};

use crate::math::gemm::product;
use crate::math::vector;

/// Rows of a diagonal block: its scalar factorisation must not show, its products should be worth a GEMM.
const BLOCK: usize = 96;

/// Columns of a strip of the remainder: the strips leave out most of the upper triangle.
const STRIP: usize = 384;

/// The factor of a matrix.
pub struct Cholesky {
    /// L in the lower triangle, row-major; what is above it is not meaningful.
    l: Array2<f64>,
}

/// Factors `a`, of which only the lower triangle is read; `None` if it is not positive definite in f64.
pub fn factor(a: Array2<f64>) -> Option<Cholesky> {
    let mut a = if a.is_standard_layout() { a } else { a.as_standard_layout().into_owned() };
    let n = a.nrows();
    assert_eq!(a.ncols(), n, "a symmetric matrix is square");
    for start in (0..n).step_by(BLOCK) {
        let end = (start + BLOCK).min(n);
        factor_small(a.slice_mut(s![start..end, start..end]))?;
        if end < n {
            let inverse = invert_lower(a.slice(s![start..end, start..end]));
            let below = a.slice(s![end.., start..end]).to_owned();
            product(1.0, below.view(), inverse.t(), 0.0, a.slice_mut(s![end.., start..end]));
            let panel = a.slice(s![end.., start..end]).to_owned();
            for strip in (end..n).step_by(STRIP) {
                let width = STRIP.min(n - strip);
                let rows = panel.slice(s![strip - end.., ..]);
                let columns = panel.slice(s![strip - end..strip - end + width, ..]);
                product(-1.0, rows, columns.t(), 1.0, a.slice_mut(s![strip.., strip..strip + width]));
            }
        }
    }
    Some(Cholesky { l: a })
}

/// The plain algorithm, row by row, on the lower triangle.
fn factor_small(mut a: ArrayViewMut2<f64>) -> Option<()> {
    for i in 0..a.nrows() {
        for j in 0..=i {
            let sum = a[[i, j]] - a.slice(s![i, ..j]).dot(&a.slice(s![j, ..j]));
            if i > j {
                a[[i, j]] = sum / a[[j, j]];
            } else if sum > 0.0 && sum.is_finite() {
                a[[i, i]] = sum.sqrt();
            } else {
                return None;
            }
        }
    }
    Some(())
}

/// The inverse of a lower triangle, zeros above the diagonal.
fn invert_lower(l: ArrayView2<f64>) -> Array2<f64> {
    let n = l.nrows();
    let mut inverse = Array2::zeros((n, n));
    for j in 0..n {
        inverse[[j, j]] = 1.0 / l[[j, j]];
        for i in j + 1..n {
            let sum = l.slice(s![i, j..i]).dot(&inverse.slice(s![j..i, j]));
            inverse[[i, j]] = -sum / l[[i, i]];
        }
    }
    inverse
}

impl Cholesky {
    /// Solves `A x = b` in place, on the calling thread. Both halves run along the rows of L, which are contiguous.
    pub fn solve(&self, b: &mut [f64]) {
        let n = self.l.nrows();
        assert_eq!(b.len(), n, "length of the right-hand side");
        let row = |i: usize| &self.rows()[i * n..i * n + i + 1];
        for i in 0..n {
            let l = row(i);
            b[i] = (b[i] - vector::dot_f64(&l[..i], &b[..i])) / l[i];
        }
        for i in (0..n).rev() {
            let l = row(i);
            b[i] /= l[i];
            let x = b[i];
            vector::add_scaled_f64(-x, &l[..i], &mut b[..i]);
        }
    }

    fn rows(&self) -> &[f64] {
        self.l.as_slice().expect("made row by row in factor()")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::rng;
    use rand::RngExt;

    fn random(n: usize, m: usize) -> Array2<f64> {
        let mut rng = rng::stream(3, rng::Purpose::Demo, n as u64, m as u64);
        Array2::from_shape_simple_fn((n, m), || rng.random::<f64>() - 0.5)
    }

    #[test]
    fn solutions_satisfy_the_equations_whatever_the_blocks() {
        for n in [1, 2, BLOCK - 1, BLOCK, BLOCK + 1, STRIP + 2 * BLOCK + 5] {
            let f = random(n, n + 3);
            let a = f.dot(&f.t()) + Array2::<f64>::eye(n);
            let x = random(n, 1).column(0).to_owned();
            let mut b = a.dot(&x).to_vec();
            factor(a).unwrap().solve(&mut b);
            assert!(b.iter().zip(&x).all(|(b, x)| (b - x).abs() < 1e-9), "{n}");
        }
    }

    #[test]
    fn an_indefinite_matrix_has_no_factor() {
        let mut a = Array2::<f64>::eye(BLOCK + 4);
        a[[BLOCK + 2, BLOCK + 2]] = -1.0;
        assert!(factor(a).is_none());
    }
}
