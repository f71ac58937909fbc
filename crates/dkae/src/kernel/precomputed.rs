//! A kernel matrix that comes from elsewhere.
//!
//! This is the one prior that is n x n, because it was brought so (or has so few rows that its factor would take more
//! memory). It is checked: square, finite and symmetric are
//! required; a negative eigenvalue is a warning, because such a matrix is no inner product of any codes, though training
//! comes as near to it as codes can. The smallest eigenvalue is exact (a full decomposition, in f64) up to 1000 rows; above,
//! it is the smallest Ritz value of 100 Lanczos steps, which is never below the smallest eigenvalue, and close to it
//! where that one stands out.

use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2, Axis};
use rand::RngExt;
use rayon::prelude::*;

use crate::math::rng::{Purpose, stream};
use crate::math::{check, eigen, threads};
use crate::progress::{Progress, Silent};
use crate::{Error, Result};

use super::Prior;

/// Two values that should be equal may differ by this much of the largest value.
const ASYMMETRY: f32 = 1e-4;

/// Eigenvalues down to this much of the largest are rounding.
const ROUNDING: f64 = 1e-5;

/// Up to this many rows the eigenvalues are all computed.
const FULL: usize = 1000;

/// Steps of the Lanczos iteration above that.
const STEPS: usize = 100;

/// A kernel matrix that was given.
#[derive(Clone, Debug)]
pub struct Precomputed {
    matrix: Array2<f32>,
}

impl Precomputed {
    /// Checks a kernel matrix; warnings come with it.
    pub fn new(matrix: Array2<f32>) -> Result<(Self, Vec<String>)> {
        Self::watched(matrix, &Silent)
    }

    /// As [`new`](Self::new), with someone who may stop it: the eigenvalues of many rows take a while.
    pub fn watched(matrix: Array2<f32>, progress: &dyn Progress) -> Result<(Self, Vec<String>)> {
        let checked = Self::any_eigenvalues(matrix)?;
        let mut warnings = Vec::new();
        let (smallest, spread) = eigenvalue_range(checked.matrix(), progress)?;
        if smallest < -ROUNDING * spread {
            let nature = if checked.len() <= FULL { "" } else { " or less" };
            warnings.push(format!(
                "the kernel matrix is not positive semi-definite: its smallest eigenvalue is {smallest:.4e}{nature} (the largest is {spread:.4e})"
            ));
        }
        Ok((checked, warnings))
    }

    /// Checks all but the eigenvalues, for those to whom these do not matter.
    pub fn any_eigenvalues(matrix: Array2<f32>) -> Result<Self> {
        let (n, columns) = matrix.dim();
        if n != columns || n == 0 {
            return Err(Error::Data(format!(
                "a kernel matrix is square, one row and one column per sample; this one is {n} x {columns}"
            )));
        }
        check::finite("kernel matrix", matrix.view())?;
        let largest = matrix.iter().fold(0.0f32, |a, v| a.max(v.abs()));
        let mut worst = (0.0f32, 0, 0);
        for i in 0..n {
            for j in 0..i {
                let difference = (matrix[[i, j]] - matrix[[j, i]]).abs();
                if difference > worst.0 {
                    worst = (difference, j, i);
                }
            }
        }
        let (difference, i, j) = worst;
        if difference > ASYMMETRY * largest {
            return Err(Error::Data(format!(
                "a kernel matrix is symmetric, but row {0}, column {1} is {2} and row {1}, column {0} is {3}; average it with its transpose if that is noise",
                i + 1,
                j + 1,
                matrix[[i, j]],
                matrix[[j, i]]
            )));
        }
        Ok(Self { matrix })
    }

    /// The matrix of a prior. For few rows alone: where it takes no more memory than the prior itself.
    pub(super) fn of(prior: &dyn Prior) -> Self {
        let rows: Vec<usize> = (0..prior.len()).collect();
        let mut matrix = Array2::zeros((rows.len(), rows.len()));
        prior.block(&rows, &rows, matrix.view_mut());
        Self { matrix }
    }

    /// The kernel of some of the rows, in this order; an error if there is no such row.
    pub fn select(&self, rows: &[usize]) -> Result<Self> {
        let n = self.matrix.nrows();
        if let Some(row) = rows.iter().find(|&&row| row >= n) {
            return Err(Error::Data(format!("a kernel matrix of {n} rows has no row {}", row + 1)));
        }
        Ok(Self { matrix: self.matrix.select(Axis(0), rows).select(Axis(1), rows) })
    }

    /// The matrix.
    pub fn matrix(&self) -> ArrayView2<'_, f32> {
        self.matrix.view()
    }
}

/// The smallest eigenvalue and the largest magnitude of one.
fn eigenvalue_range(matrix: ArrayView2<f32>, progress: &dyn Progress) -> Result<(f64, f64)> {
    let values = if matrix.nrows() <= FULL {
        eigen::symmetric_watched(matrix.mapv(f64::from).view(), progress)?.0
    } else {
        lanczos(matrix, progress)?
    };
    let smallest = values.iter().fold(f64::INFINITY, |a, &v| a.min(v));
    Ok((smallest, values.iter().fold(0.0, |a: f64, v| a.max(v.abs()))))
}

/// Ritz values after some steps of the Lanczos iteration, every vector made orthogonal to all before it.
fn lanczos(matrix: ArrayView2<f32>, progress: &dyn Progress) -> Result<Array1<f64>> {
    let n = matrix.nrows();
    let mut rng = stream(0, Purpose::Sketch, n as u64, 0);
    let mut basis: Vec<Array1<f64>> = Vec::new();
    let mut tridiagonal = Array2::zeros((STEPS, STEPS));
    let mut next = Array1::from_shape_simple_fn(n, || rng.random::<f64>() - 0.5);
    let (mut steps, mut largest) = (0, 0.0f64);
    while steps < STEPS {
        progress.check()?;
        progress.step("eigenvalues of the kernel matrix", steps as u64, STEPS as u64);
        let norm = next.dot(&next).sqrt();
        if steps > 0 {
            if norm <= 1e-10 * largest {
                // The space is exhausted: the values are exact.
                break;
            }
            tridiagonal[[steps, steps - 1]] = norm;
            tridiagonal[[steps - 1, steps]] = norm;
        }
        let vector = &next / norm;
        next = threads::run(|| {
            let dots: Vec<f64> = (0..n)
                .into_par_iter()
                .map(|i| matrix.row(i).iter().zip(&vector).map(|(&m, v)| f64::from(m) * v).sum())
                .collect();
            Array1::from(dots)
        });
        let along = next.dot(&vector);
        tridiagonal[[steps, steps]] = along;
        largest = largest.max(norm).max(along.abs());
        basis.push(vector);
        // Twice: once loses half of the digits.
        for _ in 0..2 {
            for vector in &basis {
                let along = next.dot(vector);
                next.scaled_add(-along, vector);
            }
        }
        steps += 1;
    }
    progress.step("eigenvalues of the kernel matrix", STEPS as u64, STEPS as u64);
    Ok(eigen::symmetric(tridiagonal.slice(ndarray::s![..steps, ..steps]))?.0)
}

impl Prior for Precomputed {
    fn len(&self) -> usize {
        self.matrix.nrows()
    }

    fn block(&self, rows: &[usize], columns: &[usize], mut out: ArrayViewMut2<f32>) {
        assert_eq!(out.dim(), (rows.len(), columns.len()), "shape of out");
        for (&row, mut out) in rows.iter().zip(out.rows_mut()) {
            let stored = self.matrix.row(row);
            columns.iter().zip(&mut out).for_each(|(&column, out)| *out = stored[column]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::analytic::tests::random;
    use super::*;
    use ndarray::array;

    #[test]
    fn blocks_and_selections_are_parts_of_the_matrix() {
        let x = random(6, 3, 1);
        let (kernel, warnings) = Precomputed::new(x.dot(&x.t())).unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
        let mut out = Array2::zeros((2, 3));
        kernel.block(&[4, 1], &[0, 4, 4], out.view_mut());
        assert_eq!(out[[1, 2]], kernel.matrix()[[1, 4]]);
        let part = kernel.select(&[5, 2]).unwrap();
        assert_eq!((part.len(), part.matrix()[[0, 1]]), (2, kernel.matrix()[[5, 2]]));
        assert!(kernel.select(&[6]).is_err());
    }

    #[test]
    fn what_is_no_kernel_matrix_is_refused_with_its_place() {
        let message = |m| Precomputed::new(m).err().unwrap().to_string();
        assert!(message(Array2::zeros((2, 3))).contains("2 x 3"));
        assert!(message(array![[1.0, f32::NAN], [0.0, 1.0]]).contains("row 1, column 2 is NaN"));
        let skew = message(array![[1.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.1, 1.0]]);
        assert!(skew.contains("row 2, column 3 is 0.2 and row 3, column 2 is 0.1"), "{skew}");
    }

    #[test]
    fn a_negative_eigenvalue_is_a_warning_that_names_it() {
        // Eigenvalues 3 and -1.
        let (_, warnings) = Precomputed::new(array![[1.0, 2.0], [2.0, 1.0]]).unwrap();
        assert!(warnings[0].contains("-1.0000e0"), "{warnings:?}");
    }

    #[test]
    fn lanczos_finds_a_smallest_eigenvalue_that_stands_out() {
        let x = random(300, 20, 2);
        let v = random(300, 1, 3);
        let matrix = x.dot(&x.t()) - v.dot(&v.t()) * 0.5;
        let exact = eigen::symmetric(matrix.mapv(f64::from).view()).unwrap().0;
        let ritz = lanczos(matrix.view(), &Silent).unwrap();
        let smallest = ritz.iter().fold(f64::INFINITY, |a, &v| a.min(v));
        assert!(exact[299] < -1.0);
        assert!((smallest - exact[299]).abs() < 1e-6 * exact[0], "{smallest} {}", exact[299]);
    }
}
