//! Principal component analysis: the directions in which rows vary most.
//!
//! With the mean row subtracted, the components are the leading eigenvectors of the covariance `X^T X / (n - 1)`; the
//! scores of a row are its inner products with them, and `scores C + mean` is the nearest row that the components can
//! express. Signs are fixed: the entry of largest magnitude of every component is positive.
//!
//! The covariance is never formed when few components are wanted: the eigenpairs come from products `X^T (X V)` with
//! blocks of vectors ([`eigen::leading`]). Only when the components are a good part of all there are, the smaller of the
//! covariance (d x d) and the Gram matrix of the rows (n x n, fewer rows than columns) is decomposed whole. Everything is
//! centred and accumulated in f64 on the way, whatever the mean of the data.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, ArrayViewMut2, Axis, s};
use rayon::prelude::*;

use crate::math::{check, eigen, gemm, threads};
use crate::method::{Embed, Invert};
use crate::progress::{Progress, Silent};
use crate::{Error, Result};

/// Settings of a principal component analysis.
#[derive(Clone, Debug, PartialEq)]
pub struct Pca {
    /// How many components, at most the smaller of rows and columns. Default 2.
    pub components: usize,
    /// Residual of an eigenpair relative to its eigenvalue at which it counts as found. Default 1e-7.
    pub tolerance: f64,
    /// Seeds the random start of the eigenvectors; the result does not depend on it beyond the tolerance. Default 0.
    pub seed: u64,
}

impl Default for Pca {
    fn default() -> Self {
        Self { components: 2, tolerance: 1e-7, seed: 0 }
    }
}

/// Fitted components.
#[derive(Clone, Debug)]
pub struct PcaModel {
    /// The mean row.
    pub mean: Array1<f32>,
    /// One component per row, of length one, in order of explained variance.
    pub components: Array2<f32>,
    /// The variance along each component (with n - 1).
    pub explained_variance: Array1<f64>,
    /// The same as a part of the variance of all columns together.
    pub explained_variance_ratio: Array1<f64>,
}

/// What is reported, and the most of it.
const PRODUCTS: (&str, u64) = ("principal components: products", 300);
/// Rows that are centred at a time.
const ROWS: usize = 256;
/// Pieces that rows are cut into for sums over all of them, whatever the number of threads.
const PIECES: usize = 16;

impl Pca {
    /// Finds the components of the rows of `x`.
    pub fn fit(&self, x: ArrayView2<f32>) -> Result<PcaModel> {
        self.fit_watched(x, &Silent)
    }

    /// As [`fit`](Self::fit), with someone to report to.
    pub fn fit_watched(&self, x: ArrayView2<f32>, progress: &dyn Progress) -> Result<PcaModel> {
        check::rows("rows for PCA", x)?;
        let (n, d) = x.dim();
        if n < 2 {
            return Err(Error::Data("rows for PCA: expected at least 2, found 1; one row has no variance".into()));
        }
        check::components(self.components, n.min(d), &format!("the smaller of {n} rows and {d} columns"))?;
        threads::run(|| {
            let mean = mean(x);
            let centred = Centred { x, mean: mean.view(), progress };
            let (what, most) = PRODUCTS;
            let search = eigen::Search {
                tolerance: self.tolerance,
                max_sweeps: most as usize,
                seed: self.seed,
                ..eigen::Search::default()
            };
            let m = self.components;
            let (narrow, size) = (d <= n, n.min(d));
            let product = |v: ArrayView2<f64>| if narrow { centred.scatter(v) } else { centred.gram(v) };
            let mut done = 0;
            let told = |v: ArrayView2<f64>| {
                let w = product(v)?;
                done += 1;
                progress.step(what, done.min(most), most);
                Ok(w)
            };
            let found = if 4 * m >= size { None } else { Some(eigen::leading(size, m, &search, progress, told)?) };
            let (values, mut vectors) = match found {
                Some(found) if found.converged => (found.values, found.vectors),
                // Equal eigenvalues right behind the last component can keep it from settling: no search then.
                _ => eigen::symmetric_watched(product(Array2::eye(size).view())?.view(), progress)?,
            };
            if !narrow {
                vectors = orthonormal(centred.transpose_times(vectors.slice(s![.., ..m]))?);
            }
            let mut vectors = vectors.slice(s![.., ..m]).to_owned();
            eigen::fix_signs(vectors.view_mut());
            let explained_variance = values.slice(s![..m]).mapv(|v| v.max(0.0) / (n - 1) as f64);
            let total = centred.squares()? / (n - 1) as f64;
            let explained_variance_ratio = explained_variance.mapv(|v| if total > 0.0 { v / total } else { 0.0 });
            progress.step(what, most, most);
            Ok(PcaModel {
                mean: mean.mapv(|v| v as f32),
                components: vectors.t().mapv(|v| v as f32),
                explained_variance,
                explained_variance_ratio,
            })
        })
    }
}

/// The mean row, in f64.
pub(crate) fn mean(x: ArrayView2<f32>) -> Array1<f64> {
    let n = x.nrows();
    let parts: Vec<Array1<f64>> = pieces(n)
        .into_par_iter()
        .map(|rows| {
            let mut sum = Array1::<f64>::zeros(x.ncols());
            for row in x.slice(s![rows, ..]).rows() {
                sum.zip_mut_with(&row, |s, &v| *s += f64::from(v));
            }
            sum
        })
        .collect();
    parts.into_iter().fold(Array1::zeros(x.ncols()), |a, b| a + b) / n as f64
}

fn pieces(n: usize) -> Vec<std::ops::Range<usize>> {
    let size = n.div_ceil(PIECES).max(1);
    (0..n).step_by(size).map(|i| i..(i + size).min(n)).collect()
}

/// Gram-Schmidt, twice, in order: for vectors that are orthogonal but for rounding. A vector that rounding made up (rows
/// that span less than was asked for) is replaced by a unit vector orthogonal to the others.
fn orthonormal(mut v: Array2<f64>) -> Array2<f64> {
    let d = v.nrows();
    let largest = v.columns().into_iter().map(|c| c.dot(&c).sqrt()).fold(0.0, f64::max);
    let mut spare = 0;
    for j in 0..v.ncols() {
        let mut column = v.column(j).to_owned();
        let mut small = column.dot(&column).sqrt() <= 1e-10 * largest;
        loop {
            if small {
                column.fill(0.0);
                column[spare % d] = 1.0;
                spare += 1;
            }
            let before = column.dot(&column).sqrt();
            for _ in 0..2 {
                for k in 0..j {
                    let inner = column.dot(&v.column(k));
                    column.scaled_add(-inner, &v.column(k));
                }
            }
            let norm = column.dot(&column).sqrt();
            if norm > 1e-6 * before && norm > 0.0 {
                column /= norm;
                break;
            }
            small = true;
        }
        v.column_mut(j).assign(&column);
    }
    v
}

/// Rows less their mean, a block at a time and in f64.
struct Centred<'a> {
    x: ArrayView2<'a, f32>,
    mean: ArrayView1<'a, f64>,
    progress: &'a dyn Progress,
}

impl Centred<'_> {
    fn block(&self, rows: std::ops::Range<usize>) -> Array2<f64> {
        let mut block = self.x.slice(s![rows, ..]).mapv(f64::from);
        block -= &self.mean;
        block
    }

    /// `X^T (X V)`.
    fn scatter(&self, v: ArrayView2<f64>) -> Result<Array2<f64>> {
        self.sum(v.dim(), |block, _, out| {
            let mut scores = Array2::zeros((block.nrows(), v.ncols()));
            gemm::sequential(1.0, block, v, 0.0, scores.view_mut());
            gemm::sequential(1.0, block.t(), scores.view(), 1.0, out);
        })
    }

    /// `X^T V`.
    fn transpose_times(&self, v: ArrayView2<f64>) -> Result<Array2<f64>> {
        self.sum((self.x.ncols(), v.ncols()), |block, rows, out| {
            gemm::sequential(1.0, block.t(), v.slice(s![rows, ..]), 1.0, out);
        })
    }

    /// `X (X^T V)`.
    fn gram(&self, v: ArrayView2<f64>) -> Result<Array2<f64>> {
        let inner = self.transpose_times(v)?;
        let mut out = Array2::zeros(v.dim());
        out.axis_chunks_iter_mut(Axis(0), ROWS).into_par_iter().enumerate().try_for_each(|(i, out)| {
            self.progress.check()?;
            let block = self.block(i * ROWS..i * ROWS + out.nrows());
            gemm::sequential(1.0, block.view(), inner.view(), 0.0, out);
            Ok(())
        })?;
        Ok(out)
    }

    /// The sum of all squares.
    fn squares(&self) -> Result<f64> {
        let add = |block: ArrayView2<f64>, _, mut out: ArrayViewMut2<f64>| {
            out[[0, 0]] += block.iter().map(|v| v * v).sum::<f64>();
        };
        Ok(self.sum((1, 1), add)?[[0, 0]])
    }

    /// What `add` adds up over all blocks, the same for any number of threads.
    fn sum(
        &self,
        shape: (usize, usize),
        add: impl Fn(ArrayView2<f64>, std::ops::Range<usize>, ArrayViewMut2<f64>) + Sync,
    ) -> Result<Array2<f64>> {
        let parts: Vec<Array2<f64>> = pieces(self.x.nrows())
            .into_par_iter()
            .map(|piece| {
                let mut out = Array2::zeros(shape);
                for first in piece.clone().step_by(ROWS) {
                    self.progress.check()?;
                    let rows = first..(first + ROWS).min(piece.end);
                    add(self.block(rows.clone()).view(), rows, out.view_mut());
                }
                Ok(out)
            })
            .collect::<Result<_>>()?;
        Ok(parts.into_iter().fold(Array2::zeros(shape), |a, b| a + b))
    }
}

impl PcaModel {
    /// The scores of rows on the components.
    pub fn transform(&self, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        check::width("rows for PCA", x, self.mean.len())?;
        check::finite("rows for PCA", x)?;
        let mut scores = Array2::zeros((x.nrows(), self.components.nrows()));
        threads::run(|| {
            scores.axis_chunks_iter_mut(Axis(0), ROWS).into_par_iter().zip(x.axis_chunks_iter(Axis(0), ROWS)).for_each(
                |(scores, x)| {
                    let centred = &x - &self.mean;
                    gemm::sequential(1.0, centred.view(), self.components.t(), 0.0, scores);
                },
            );
        });
        Ok(scores)
    }

    /// The rows that scores stand for.
    pub fn inverse(&self, scores: ArrayView2<f32>) -> Result<Array2<f32>> {
        check::width("PCA scores", scores, self.components.nrows())?;
        check::finite("PCA scores", scores)?;
        let mut rows = Array2::zeros((scores.nrows(), self.mean.len()));
        gemm::product(1.0, scores, self.components.view(), 0.0, rows.view_mut());
        rows += &self.mean;
        Ok(rows)
    }

    /// Rows projected on the components, and back: the nearest rows that the components can express.
    pub fn project(&self, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        self.inverse(self.transform(x)?.view())
    }
}

impl Embed for PcaModel {
    fn input_width(&self) -> usize {
        self.mean.len()
    }

    fn width(&self) -> usize {
        self.components.nrows()
    }

    fn embed(&self, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        self.transform(x)
    }
}

impl Invert for PcaModel {
    fn invert(&self, z: ArrayView2<f32>) -> Result<Array2<f32>> {
        self.inverse(z)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, refused};
    use crate::math::rng::{Purpose, stream};
    use ndarray::array;
    use rand::RngExt;

    /// Rows whose variances fall off, with correlated columns and a mean far from zero.
    fn rows(n: usize, d: usize) -> Array2<f32> {
        let mut rng = stream(11, Purpose::Demo, n as u64, d as u64);
        let mix = Array2::from_shape_simple_fn((d, d), || rng.random::<f32>() - 0.5);
        let x = Array2::from_shape_fn((n, d), |(_, j)| (rng.random::<f32>() - 0.5) * 0.9f32.powi(j as i32));
        x.dot(&mix) + 50.0
    }

    #[test]
    fn agrees_with_scikit_learn() {
        let f = Fixture::load("pca");
        let model = Pca { components: 3, ..Pca::default() }.fit(f.array("x").view()).unwrap();
        let close = |a: Array2<f32>, name: &str, tolerance| {
            let d = &a - &f.array(name);
            assert!(d.iter().all(|d| d.abs() < tolerance), "{name}: {d}");
        };
        close(model.components.clone(), "components", 1e-5);
        close(model.transform(f.array("x").view()).unwrap(), "scores", 1e-4);
        let back = model.inverse(f.array("scores").view()).unwrap();
        close(back, "back", 1e-4);
        for (a, b) in model.explained_variance.iter().zip(f.list("explained_variance")) {
            assert!((a - b).abs() < 1e-6 * b);
        }
        for (a, b) in model.explained_variance_ratio.iter().zip(f.list("explained_variance_ratio")) {
            assert!((a - b).abs() < 1e-6 * b);
        }
    }

    #[test]
    fn few_components_are_the_first_of_all() {
        // Tall rows by products with the covariance, wide rows by products with the Gram matrix.
        for (n, d) in [(500, 260), (260, 500)] {
            let x = rows(n, d);
            let few = Pca { components: 5, ..Pca::default() }.fit(x.view()).unwrap();
            let all = Pca { components: n.min(d) - 1, ..Pca::default() }.fit(x.view()).unwrap();
            for i in 0..5 {
                let gap = &few.components.row(i) - &all.components.row(i);
                assert!(gap.iter().all(|g| g.abs() < 1e-5), "{n} x {d}, component {i}");
                let relative = few.explained_variance[i] / all.explained_variance[i] - 1.0;
                assert!(relative.abs() < 1e-9, "{n} x {d}, variance {i}: {relative}");
            }
            let gram = all.components.dot(&all.components.t());
            let off = &gram - &Array2::<f32>::eye(gram.nrows());
            assert!(off.iter().all(|v| v.abs() < 1e-5), "{n} x {d}: components are orthonormal");
        }
    }

    #[test]
    fn a_search_that_does_not_settle_is_left_for_the_whole_decomposition() {
        use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
        /// Counts the reports.
        struct Count(AtomicU64);
        impl Progress for Count {
            fn step(&self, _: &str, _: u64, _: u64) {
                self.0.fetch_add(1, Relaxed);
            }
        }
        for (n, d) in [(300, 200), (200, 300)] {
            let x = rows(n, d);
            // No residual is as small as that.
            let (settings, count) = (Pca { tolerance: 1e-60, ..Pca::default() }, Count(AtomicU64::new(0)));
            let found = settings.fit_watched(x.view(), &count).unwrap();
            assert_eq!(count.0.into_inner(), PRODUCTS.1 + 1, "every product, and the end");
            let all = Pca { components: 100, ..Pca::default() }.fit(x.view()).unwrap();
            assert_eq!(found.explained_variance, all.explained_variance.slice(s![..2]), "{n} x {d}");
            let gap = &found.components - &all.components.slice(s![..2, ..]);
            assert!(gap.iter().all(|g| g.abs() < 1e-6), "{n} x {d}");
        }
    }

    #[test]
    fn all_components_give_the_rows_back() {
        let x = rows(40, 7);
        let model = Pca { components: 7, ..Pca::default() }.fit(x.view()).unwrap();
        let back = model.invert(model.embed(x.view()).unwrap().view()).unwrap();
        assert!((&back - &x).iter().all(|d| d.abs() < 2e-5));
        assert!((model.explained_variance_ratio.sum() - 1.0).abs() < 1e-9);
        assert_eq!((model.input_width(), model.width()), (7, 7));
    }

    #[test]
    fn equal_rows_and_rows_of_low_rank_have_components_too() {
        let flat = Pca { components: 2, ..Pca::default() }.fit(Array2::ones((5, 9)).view()).unwrap();
        assert!(flat.explained_variance.iter().all(|&v| v == 0.0));
        assert!(flat.components.iter().all(|v| v.is_finite()));
        // Two distinct rows, several times: one direction and nothing else.
        let x = Array2::from_shape_fn((6, 10), |(i, j)| ((i % 2) * j) as f32);
        let model = Pca { components: 3, ..Pca::default() }.fit(x.view()).unwrap();
        assert!(model.explained_variance_ratio[0] > 1.0 - 1e-9);
        let gram = model.components.dot(&model.components.t());
        assert!((&gram - &Array2::<f32>::eye(3)).iter().all(|v| v.abs() < 1e-5), "{gram}");
    }

    #[test]
    fn bad_input_is_an_error() {
        let fit = |components, x: Array2<f32>| Pca { components, ..Pca::default() }.fit(x.view());
        refused(fit(3, rows(2, 5)), "components: expected 1 to 2 (the smaller of 2 rows and 5 columns), found 3");
        refused(fit(0, rows(5, 5)), "components: expected 1 to 5");
        refused(fit(1, array![[1.0, f32::NAN], [0.0, 1.0]]), "rows for PCA: row 1, column 2 is NaN");
        refused(fit(1, Array2::zeros((1, 4))), "expected at least 2, found 1");
        let model = fit(1, rows(5, 5)).unwrap();
        refused(model.transform(rows(5, 4).view()), "rows for PCA: expected 5 columns");
        refused(model.inverse(rows(5, 4).view()), "PCA scores: expected 1 columns");
    }

    #[test]
    fn one_thread_and_many_give_the_same_bits() {
        let x = rows(700, 260);
        let run = |count| {
            threads::with_count(count, || {
                let model = Pca { components: 4, ..Pca::default() }.fit(x.view()).unwrap();
                (model.transform(x.view()).unwrap(), model.explained_variance)
            })
        };
        assert_eq!(run(1), run(3));
    }
}
