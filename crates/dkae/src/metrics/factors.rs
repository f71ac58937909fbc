//! Alignment of kernels known by their factors, `K = F F^T` and `L = G G^T`: codes, posteriors, classes.
//!
//! ```text
//! <K, L> = |F^T G|^2        <H K H, H L H> = |F^T H G|^2,    F^T H G = F^T G - (F^T 1)(G^T 1)^T / n
//! ```
//!
//! so that neither K nor L is needed, whatever the number of rows. Dense factors are multiplied tile by tile. Of sparse ones
//! (posteriors; classes, which have a one for every row) a column of F gathers the rows of G that it touches. Sums are f64.

use ndarray::{Array2, ArrayView2, Axis};
use rayon::prelude::*;

use super::{Products, same_rows};
use crate::Result;
use crate::data::Labels;
use crate::data::sparse::Csr;
use crate::math::{gemm, threads};
use crate::progress::{Pieces, Progress, Silent};

/// Columns of a tile of `F^T G`, and rows that are made f64 and multiplied at a time.
pub(super) const TILE: usize = 256;
pub(super) const TILE_ROWS: usize = 512;

/// Columns of a sparse factor that are taken by one task.
const COLUMNS: usize = 64;

/// What is reported.
const WHAT: &str = "alignment: products of factors";

/// The factor F of a kernel `F F^T`, one row of it for each row of data.
#[derive(Clone, Copy, Debug)]
pub enum Factor<'a> {
    /// All values.
    Dense(ArrayView2<'a, f32>),
    /// Those that are not zero.
    Sparse(&'a Csr),
}

impl<'a> From<ArrayView2<'a, f32>> for Factor<'a> {
    fn from(f: ArrayView2<'a, f32>) -> Self {
        Self::Dense(f)
    }
}

impl<'a> From<&'a Csr> for Factor<'a> {
    fn from(f: &'a Csr) -> Self {
        Self::Sparse(f)
    }
}

/// The factor of the ideal kernel: a column for each class, a one for each row.
pub fn factor_of_classes(labels: &Labels) -> Result<Csr> {
    let n = labels.index.len();
    Csr::new((0..=n).collect(), labels.index.clone(), vec![1.0; n], labels.names.len())
}

/// The alignment of `F F^T` and `G G^T`; a row of F and the same row of G belong together.
pub fn alignment_of_factors<'a>(f: impl Into<Factor<'a>>, g: impl Into<Factor<'a>>) -> Result<f64> {
    alignment_of_factors_watched(f.into(), g.into(), false, &Silent)
}

/// As [`alignment_of_factors`], after centring: the columns of both factors have their mean taken off.
pub fn centred_alignment_of_factors<'a>(f: impl Into<Factor<'a>>, g: impl Into<Factor<'a>>) -> Result<f64> {
    alignment_of_factors_watched(f.into(), g.into(), true, &Silent)
}

/// Both, with someone to report to.
pub fn alignment_of_factors_watched(f: Factor, g: Factor, centred: bool, progress: &dyn Progress) -> Result<f64> {
    same_rows(f.height(), g.height())?;
    threads::run(|| {
        // H is a projection: once a dense factor is centred, a sparse one beside it need not be.
        let (f_less, g_less) = (f.less_mean(centred), g.less_mean(centred));
        let (f, g) = (f.or(f_less.as_ref()), g.or(g_less.as_ref()));
        let pieces = Pieces::new(progress, WHAT, f.pieces(&g) + f.pieces(&f) + g.pieces(&g));
        let norm = |f: Factor, g: Factor| match (f, g) {
            (Factor::Dense(f), Factor::Dense(g)) => multiplied(f, g, &pieces),
            (Factor::Sparse(f), Factor::Dense(_)) => gathered(f, g, false, &pieces),
            (Factor::Dense(_), Factor::Sparse(g)) => gathered(g, f, false, &pieces),
            (Factor::Sparse(f), Factor::Sparse(_)) => gathered(f, g, centred, &pieces),
        };
        Products([norm(f, g)?, norm(f, f)?, norm(g, g)?]).alignment()
    })
}

impl Factor<'_> {
    /// The other one, if there is one.
    fn or<'b>(&'b self, other: Option<&'b Array2<f32>>) -> Factor<'b> {
        match (other, self) {
            (Some(other), _) => Factor::Dense(other.view()),
            (None, Self::Dense(f)) => Factor::Dense(f.view()),
            (None, Self::Sparse(f)) => Factor::Sparse(f),
        }
    }

    fn height(&self) -> usize {
        match self {
            Self::Dense(f) => f.nrows(),
            Self::Sparse(f) => f.nrows(),
        }
    }

    fn width(&self) -> usize {
        match self {
            Self::Dense(f) => f.ncols(),
            Self::Sparse(f) => f.ncols(),
        }
    }

    /// How many pieces of work the product with another factor is.
    fn pieces(&self, other: &Factor) -> usize {
        match (self, other) {
            (Self::Dense(f), Factor::Dense(g)) => f.ncols().div_ceil(TILE) * g.ncols().div_ceil(TILE),
            (Self::Sparse(f), _) => f.ncols().div_ceil(COLUMNS),
            (_, Factor::Sparse(g)) => g.ncols().div_ceil(COLUMNS),
        }
    }

    /// The mean row.
    fn mean(&self) -> Vec<f64> {
        let (n, mut sums) = (self.height(), vec![0.0; self.width()]);
        (0..n).for_each(|i| self.add_row(i, 1.0, &mut sums));
        sums.iter_mut().for_each(|s| *s /= n as f64);
        sums
    }

    /// A dense factor less its mean row, if that is wanted.
    fn less_mean(&self, wanted: bool) -> Option<Array2<f32>> {
        let Self::Dense(f) = self else { return None };
        wanted.then(|| {
            let (mean, mut f) = (self.mean(), f.to_owned());
            for mut row in f.rows_mut() {
                row.iter_mut().zip(&mean).for_each(|(v, m)| *v = (f64::from(*v) - m) as f32);
            }
            f
        })
    }

    /// Adds `weight` times a row to `sum`.
    fn add_row(&self, row: usize, weight: f64, sum: &mut [f64]) {
        match self {
            Self::Dense(f) => sum.iter_mut().zip(f.row(row)).for_each(|(s, &v)| *s += weight * f64::from(v)),
            Self::Sparse(f) => {
                let (columns, values) = f.row(row);
                columns.iter().zip(values).for_each(|(&j, &v)| sum[j as usize] += weight * f64::from(v));
            }
        }
    }
}

/// `|F^T G|^2`, tile by tile.
fn multiplied(f: ArrayView2<f32>, g: ArrayView2<f32>, pieces: &Pieces) -> Result<f64> {
    let starts = |m: usize| (0..m).step_by(TILE);
    let tiles: Vec<(usize, usize)> = starts(f.ncols()).flat_map(|i| starts(g.ncols()).map(move |j| (i, j))).collect();
    let tile = |&(i, j): &(usize, usize)| {
        let columns = |m: &ArrayView2<f32>, from: usize| ndarray::Slice::from(from..(from + TILE).min(m.ncols()));
        let (f, g) = (f.slice_axis(Axis(1), columns(&f, i)), g.slice_axis(Axis(1), columns(&g, j)));
        let mut sum = Array2::<f64>::zeros((f.ncols(), g.ncols()));
        for (f, g) in f.axis_chunks_iter(Axis(0), TILE_ROWS).zip(g.axis_chunks_iter(Axis(0), TILE_ROWS)) {
            // In f64: L_c is the root of a small difference of these sums.
            let (f, g) = (f.mapv(f64::from), g.mapv(f64::from));
            gemm::sequential(1.0, f.t(), g.view(), 1.0, sum.view_mut());
        }
        Ok(sum.iter().map(|v| v * v).sum::<f64>())
    };
    let norms = tiles.par_iter().map(|t| pieces.one(|| tile(t))).collect::<Result<Vec<f64>>>()?;
    Ok(norms.into_iter().sum())
}

/// `|F^T G|^2` of a sparse F, or `|F^T H G|^2`: one column of F after another.
fn gathered(f: &Csr, g: Factor, centred: bool, pieces: &Pieces) -> Result<f64> {
    let columns = f.transposed();
    let mean = centred.then(|| g.mean());
    let task = |first: usize| {
        let (mut norm, mut sum) = (0.0, vec![0.0; g.width()]);
        for column in first..(first + COLUMNS).min(columns.nrows()) {
            let (rows, values) = columns.row(column);
            sum.fill(0.0);
            rows.iter().zip(values).for_each(|(&i, &v)| g.add_row(i as usize, v.into(), &mut sum));
            if let Some(mean) = &mean {
                let of_f: f64 = values.iter().map(|&v| f64::from(v)).sum();
                sum.iter_mut().zip(mean).for_each(|(s, m)| *s -= of_f * m);
            }
            norm += sum.iter().map(|s| s * s).sum::<f64>();
        }
        Ok(norm)
    };
    let starts: Vec<usize> = (0..columns.nrows()).step_by(COLUMNS).collect();
    let norms = starts.par_iter().map(|&first| pieces.one(|| task(first))).collect::<Result<Vec<f64>>>()?;
    Ok(norms.into_iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Impatient, walsh};
    use crate::metrics::tests::{centre, cosine, kernel, random};

    /// Mostly zero; a constant column and an empty one, too.
    fn sparse(n: usize, m: usize, seed: u64) -> Csr {
        let mut f = random(n, m, seed).mapv(|v| if v > 0.4 { v } else { 0.0 });
        f.column_mut(0).fill(0.5);
        f.column_mut(m - 1).fill(0.0);
        Csr::from_dense(f.view())
    }

    #[test]
    fn sparse_factors_are_aligned_as_the_same_ones_written_out() {
        for (n, m, p) in [(12, 3, 4), (60, COLUMNS + 7, 9), (TILE_ROWS + 9, 30, TILE + 5)] {
            let (f, g, h) = (sparse(n, m, 1), sparse(n, p, 2), random(n, p, 3));
            let dense = |f: &Csr| f.to_dense(usize::MAX).unwrap();
            for (a, b, k, l) in [
                (Factor::from(&f), Factor::from(&g), dense(&f), dense(&g)),
                (Factor::from(&f), Factor::from(h.view()), dense(&f), h.clone()),
                (Factor::from(h.view()), Factor::from(&g), h.clone(), dense(&g)),
            ] {
                let (k, l) = (kernel(&k), kernel(&l));
                let got = alignment_of_factors(a, b).unwrap();
                assert!((got - cosine(&k, &l)).abs() < 1e-6, "{n}: {got}");
                let got = centred_alignment_of_factors(a, b).unwrap();
                assert!((got - cosine(&centre(&k), &centre(&l))).abs() < 1e-5, "{n}: centred {got}");
            }
        }
    }

    #[test]
    fn the_factor_of_classes_makes_the_ideal_kernel() {
        let labels = Labels { index: vec![2, 0, 2, 1, 0], names: ["a", "b", "c"].map(String::from).to_vec() };
        let f = factor_of_classes(&labels).unwrap().to_dense(1000).unwrap();
        let ideal = f.dot(&f.t());
        for ((i, j), &v) in ideal.indexed_iter() {
            assert_eq!(v, if labels.index[i] == labels.index[j] { 1.0 } else { 0.0 });
        }
    }

    #[test]
    fn many_rows_cost_no_matrix_of_every_two_of_them() {
        // A kernel matrix of so many rows would be 160 GB. The columns are orthogonal, so what comes out is known:
        // F^T G / n = diag(s_j t_j) + a b^T of columns scaled by s and t and shifted by a and b.
        let walsh = walsh(200_000, 5);
        let (s, t) = ([3.0f32, 2.0, 1.5, 1.0, 0.5], [0.5f32, 1.0, 0.25, 2.0, 1.0]);
        let (a, b) = ([0.0f32, 0.5, 1.0, 0.0, 0.25], [1.0f32, 0.0, 0.5, 0.0, 0.75]);
        let made = |scale: [f32; 5], shift: [f32; 5]| &walsh * &ndarray::aview1(&scale) + ndarray::aview1(&shift);
        let (f, g) = (made(s, a), made(t, b));
        let norm = |s: [f32; 5], a: [f32; 5], t: [f32; 5], b: [f32; 5]| -> f64 {
            let entry = |i: usize, j: usize| f64::from(if i == j { s[i] * t[i] } else { 0.0 } + a[i] * b[j]);
            (0..25).map(|at| entry(at / 5, at % 5).powi(2)).sum()
        };
        let want = |a, b| norm(s, a, t, b) / (norm(s, a, s, a) * norm(t, b, t, b)).sqrt();
        let (sparse_f, sparse_g) = (Csr::from_dense(f.view()), Csr::from_dense(g.view()));
        for (f, g) in [
            (Factor::from(f.view()), Factor::from(g.view())),
            (Factor::from(&sparse_f), Factor::from(g.view())),
            (Factor::from(&sparse_f), Factor::from(&sparse_g)),
        ] {
            let (plain, centred) = (alignment_of_factors(f, g).unwrap(), centred_alignment_of_factors(f, g).unwrap());
            assert!((plain - want(a, b)).abs() < 1e-9, "{plain} {}", want(a, b));
            let unshifted = want([0.0; 5], [0.0; 5]);
            assert!((centred - unshifted).abs() < 1e-9 && (plain - centred).abs() > 0.01, "{centred} {unshifted}");
        }
    }

    #[test]
    fn one_thread_and_many_give_the_same_bits() {
        let (f, g, h) = (sparse(700, 300, 1), sparse(700, 90, 2), random(700, 300, 3));
        let run = |count| {
            threads::with_count(count, || {
                let pairs = [(Factor::from(&f), Factor::from(&g)), (Factor::from(&f), Factor::from(h.view()))];
                pairs.map(|(a, b)| centred_alignment_of_factors(a, b).unwrap().to_bits())
            })
        };
        assert_eq!(run(1), run(3));
    }

    #[test]
    fn work_stops_when_asked_to() {
        let (f, h) = (sparse(9, 3, 1), random(9, 2, 2));
        for f in [Factor::from(&f), Factor::from(h.view())] {
            let stopped = alignment_of_factors_watched(f, f, false, &Impatient);
            assert!(matches!(stopped, Err(crate::Error::Interrupted)));
        }
    }
}
