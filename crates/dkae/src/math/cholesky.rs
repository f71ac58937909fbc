//! Cholesky factors `A = L L^T` of symmetric positive definite matrices, and linear systems by two triangular solves.
//!
//! The factor is computed by blocks of columns. A block's own triangle is factored and inverted by the textbook loops;
//! everything else is GEMM: with `W = L_kk^-1`, the panel below is `A_ik W^T`, and the rest loses `L_ik L_jk^T`. The
//! work is cut by shape alone, so the factor has the same bits with one thread or many, and it overwrites the matrix,
//! so that a large system is in memory once.

use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, s};
use rayon::prelude::*;

use crate::math::{gemm, threads};
use crate::progress::{Progress, Silent};
use crate::{Error, Result};

/// Columns per block: large enough for GEMM, small enough that the textbook loops do not show.
const BLOCK: usize = 128;

/// The Cholesky factor of a matrix.
pub struct Cholesky {
    /// L below and on the diagonal; what is above is never read.
    l: Array2<f64>,
    /// The inverse of each diagonal block of L.
    inverses: Vec<Array2<f64>>,
}

impl Cholesky {
    /// Factors `a`, of which only the lower triangle is read. Fails when `a` is not positive definite.
    pub fn new(a: Array2<f64>) -> Result<Self> {
        Self::watched(a, &Silent)
    }

    /// As [`new`](Self::new); a wish to stop is heard after every block of columns.
    pub fn watched(mut a: Array2<f64>, progress: &dyn Progress) -> Result<Self> {
        let n = a.nrows();
        assert_eq!(a.ncols(), n, "a symmetric matrix is square");
        let mut inverses = Vec::with_capacity(n.div_ceil(BLOCK));
        for first in (0..n).step_by(BLOCK) {
            progress.check()?;
            let end = (first + BLOCK).min(n);
            let inverse = factor_block(a.slice_mut(s![first..end, first..end]), first)?;
            let (mut panel, mut rest) = a.slice_mut(s![end.., first..]).split_at(Axis(1), end - first);
            let copy = panel.to_owned();
            gemm::product(1.0, copy.view(), inverse.t(), 0.0, panel.view_mut());
            let panel = panel.view();
            threads::run(|| {
                rest.axis_chunks_iter_mut(Axis(0), BLOCK).into_par_iter().enumerate().for_each(|(i, mut rows)| {
                    // Up to the diagonal only: the upper triangle is nobody's business.
                    let right = i * BLOCK + rows.nrows();
                    let mine = panel.slice(s![i * BLOCK..right, ..]);
                    let all = panel.slice(s![..right, ..]);
                    gemm::sequential(-1.0, mine, all.t(), 1.0, rows.slice_mut(s![.., ..right]));
                });
            });
            inverses.push(inverse);
        }
        Ok(Self { l: a, inverses })
    }

    /// Replaces the columns of `b` by the solutions of `A x = b`.
    pub fn solve(&self, mut b: ArrayViewMut2<f64>) {
        self.forward(b.view_mut());
        for (k, inverse) in self.inverses.iter().enumerate().rev() {
            let (first, end) = (k * BLOCK, k * BLOCK + inverse.nrows());
            let (mut mine, done) = b.view_mut().split_at(Axis(0), end);
            let mut mine = mine.slice_mut(s![first.., ..]);
            gemm::product(-1.0, self.l.slice(s![end.., first..end]).t(), done.view(), 1.0, mine.view_mut());
            let copy = mine.to_owned();
            gemm::product(1.0, inverse.t(), copy.view(), 0.0, mine);
        }
    }

    /// Replaces the columns of `b` by the solutions of `L x = b`.
    pub fn forward(&self, mut b: ArrayViewMut2<f64>) {
        let n = self.l.nrows();
        assert_eq!(b.nrows(), n, "rows of the right-hand side");
        for (k, inverse) in self.inverses.iter().enumerate() {
            let (first, end) = (k * BLOCK, k * BLOCK + inverse.nrows());
            let (done, mut rest) = b.view_mut().split_at(Axis(0), first);
            let mut mine = rest.slice_mut(s![..end - first, ..]);
            gemm::product(-1.0, self.l.slice(s![first..end, ..first]), done.view(), 1.0, mine.view_mut());
            let copy = mine.to_owned();
            gemm::product(1.0, inverse.view(), copy.view(), 0.0, mine);
        }
    }

    /// The factor, with zeros above the diagonal.
    pub fn factor(&self) -> Array2<f64> {
        Array2::from_shape_fn(self.l.dim(), |(i, j)| if j <= i { self.l[[i, j]] } else { 0.0 })
    }
}

/// Factors one diagonal block in place and returns the inverse of its factor. `first` is its place in the matrix.
fn factor_block(mut a: ArrayViewMut2<f64>, first: usize) -> Result<Array2<f64>> {
    let n = a.nrows();
    for j in 0..n {
        let pivot = a[[j, j]] - squares(a.view(), j);
        // Also true for NaN.
        if !(pivot > 0.0 && pivot.is_finite()) {
            return Err(Error::Numeric(format!(
                "pivot {} is {pivot:e} in a Cholesky factorisation: the matrix is not positive definite; a larger ridge \
                 makes it so",
                first + j + 1
            )));
        }
        let root = pivot.sqrt();
        a[[j, j]] = root;
        for i in j + 1..n {
            let inner: f64 = (0..j).map(|l| a[[i, l]] * a[[j, l]]).sum();
            a[[i, j]] = (a[[i, j]] - inner) / root;
        }
    }
    let mut inverse = Array2::zeros((n, n));
    for j in 0..n {
        inverse[[j, j]] = 1.0 / a[[j, j]];
        for i in j + 1..n {
            let inner: f64 = (j..i).map(|l| a[[i, l]] * inverse[[l, j]]).sum();
            inverse[[i, j]] = -inner / a[[i, i]];
        }
    }
    Ok(inverse)
}

fn squares(a: ArrayView2<f64>, j: usize) -> f64 {
    (0..j).map(|l| a[[j, l]] * a[[j, l]]).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::rng;
    use faer::{Mat, Side};
    use ndarray::array;
    use rand::RngExt;

    fn positive(n: usize) -> Array2<f64> {
        let mut rng = rng::stream(1, rng::Purpose::Demo, n as u64, 0);
        let x = Array2::from_shape_simple_fn((n, n / 2 + 1), || rng.random::<f64>() - 0.5);
        x.dot(&x.t()) + Array2::<f64>::eye(n) * 0.1
    }

    #[test]
    fn the_factor_agrees_with_an_independent_one() {
        for n in [1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 300] {
            let a = positive(n);
            let l = Cholesky::new(a.clone()).unwrap().factor();
            let want = Mat::from_fn(n, n, |i, j| a[[i, j]]).llt(Side::Lower).unwrap();
            let want = want.L();
            for ((i, j), &v) in l.indexed_iter() {
                assert!((v - want[(i, j)]).abs() < 1e-11, "{n}: {i} {j}");
            }
        }
    }

    #[test]
    fn a_solution_solves() {
        for n in [1, 130, 300] {
            let a = positive(n);
            let want = Array2::from_shape_fn((n, 3), |(i, j)| (i as f64 * 0.1 + j as f64).sin());
            let mut b = a.dot(&want);
            Cholesky::new(a).unwrap().solve(b.view_mut());
            assert!((&b - &want).iter().all(|d| d.abs() < 1e-9), "{n}");
        }
    }

    #[test]
    fn an_indefinite_matrix_is_an_error() {
        assert!(Cholesky::new(array![[1.0, 2.0], [2.0, 1.0]]).is_err());
        assert!(Cholesky::new(array![[f64::NAN]]).is_err());
        assert!(Cholesky::new(array![[0.0]]).is_err());
        let mut late = Array2::<f64>::eye(BLOCK + 4);
        late[[BLOCK + 2, BLOCK + 2]] = -1.0;
        let message = Cholesky::new(late).err().unwrap().to_string();
        assert!(message.contains(&format!("pivot {} is -1", BLOCK + 3)), "{message}");
    }

    #[test]
    fn a_wish_to_stop_is_heard_between_blocks() {
        use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
        /// Counts the questions, and says yes to the one of this number.
        struct Asked(AtomicUsize, usize);
        impl Progress for Asked {
            fn stop(&self) -> bool {
                self.0.fetch_add(1, Relaxed) == self.1
            }
        }
        let asked = Asked(AtomicUsize::new(0), usize::MAX);
        Cholesky::watched(positive(3 * BLOCK), &asked).unwrap();
        assert_eq!(asked.0.into_inner(), 3);
        let stopped = Cholesky::watched(positive(3 * BLOCK), &Asked(AtomicUsize::new(0), 2));
        assert!(matches!(stopped, Err(Error::Interrupted)));
    }

    #[test]
    fn one_thread_and_many_give_the_same_bits() {
        let run = |count| {
            threads::with_count(count, || {
                let mut b = Array2::ones((700, 9));
                Cholesky::new(positive(700)).unwrap().solve(b.view_mut());
                b
            })
        };
        assert_eq!(run(1), run(3));
    }
}
