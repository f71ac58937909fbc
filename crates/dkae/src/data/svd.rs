//! Truncated singular value decomposition of sparse rows: the m directions that hold most of them.
//!
//! `X ~ U S V^T` with m columns; new rows are mapped by `x V` and back by `z V^T`. Rows are not centred, which would make
//! them dense. For TF-IDF rows this is latent semantic analysis (Deerwester et al. 1990).
//!
//! The right singular vectors are the leading eigenvectors of `A = X^T X`. Narrow matrices form A itself. For wide ones A
//! is only ever multiplied with: a block Krylov basis `[Q, A Q, A^2 Q, ...]` from a random block Q is kept orthonormal, and
//! the eigenvectors of A within it (Rayleigh-Ritz) are taken once their residual is small; if the basis grows too large
//! first, it starts anew from the best vectors so far. (Musco and Musco 2015; Golub and Underwood 1977.) Memory is a few
//! hundred vectors, in f64; nothing is n x n and X is never dense.

use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut1, Axis, concatenate, s};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::sparse::Csr;
use crate::math::eigen::{fix_signs, symmetric};
use crate::math::gemm::product;
use crate::math::rng::{Purpose, stream};
use crate::math::threads;
use crate::progress::{Pieces, Progress, Silent};
use crate::{Error, Result};

/// Settings of the decomposition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Svd {
    /// How many directions to keep. Default: 20, as the paper does for Reuters.
    pub components: usize,
    /// The seed of the random start; it decides the last digits only. Default: 0.
    pub seed: u64,
}

impl Default for Svd {
    fn default() -> Self {
        Self { components: 20, seed: 0 }
    }
}

/// A fitted truncated SVD.
#[derive(Clone, Debug, PartialEq)]
pub struct TruncatedSvd {
    /// The right singular vectors as rows (m x d), the largest singular value first; in each the entry of largest
    /// magnitude is positive.
    pub components: Array2<f32>,
    /// The singular values, largest first.
    pub singular_values: Array1<f32>,
}

/// Up to this width `A` is formed and decomposed whole.
const NARROW: usize = 256;
/// Residuals of eigenvectors, relative to the largest eigenvalue.
const TOLERANCE: f64 = 1e-11;
const MOST_RESTARTS: usize = 60;

impl Svd {
    /// Fits the decomposition on training rows.
    pub fn fit(&self, train: &Csr) -> Result<TruncatedSvd> {
        self.fit_watched(train, &Silent)
    }

    /// As [`fit`](Self::fit), with someone to report to.
    pub fn fit_watched(&self, train: &Csr, progress: &dyn Progress) -> Result<TruncatedSvd> {
        let m = self.components;
        let (n, d) = (train.nrows(), train.ncols());
        if m == 0 || m > d.min(n) {
            let message = format!("{m} is not between 1 and {}, the smaller side of the {n} x {d} matrix", d.min(n));
            return Err(Error::setting("components", message));
        }
        if let Some(v) = train.values().iter().find(|v| !v.is_finite()) {
            return Err(Error::Data(format!("{v} among the values; all must be finite")));
        }
        let found = if d <= NARROW { narrow(train, m, progress) } else { self.wide(train, progress) };
        let (values, mut vectors) = found?;
        // Eigenvalues below the rounding of the largest are zero, and their vectors arbitrary.
        let rank = values.iter().take_while(|&&v| v > values[0] * 1e-13 && v > 0.0).count();
        if rank < m {
            let message =
                format!("the rows span {rank} directions only, so {m} components do not exist; ask for fewer");
            return Err(Error::Data(message));
        }
        fix_signs(vectors.view_mut());
        Ok(TruncatedSvd {
            // In the order a model file has them, so that a loaded model computes with the same bits.
            components: vectors.mapv(|v| v as f32).t().as_standard_layout().into_owned(),
            singular_values: values.mapv(|v| v.sqrt() as f32),
        })
    }

    /// The leading eigenpairs of A by a restarted block Krylov method. Fewer pairs than asked for when A has no more.
    fn wide(&self, x: &Csr, progress: &dyn Progress) -> Result<(Array1<f64>, Array2<f64>)> {
        let m = self.components;
        let d = x.ncols();
        let xt = x.transposed();
        let block = (m + 8).min(d);
        let largest_basis = (8 * block).max(160).min(d);
        let (what, most) = ("truncated SVD: products", (MOST_RESTARTS * largest_basis.div_ceil(block)) as u64);
        let mut done = 0;
        let mut image_of = |v: ArrayView2<f64>| {
            progress.check()?;
            let inner = x.times(v);
            progress.check()?;
            let image = xt.times(inner.view());
            done += 1;
            progress.step(what, most.min(done), most);
            Ok(image)
        };
        let mut rng = stream(self.seed, Purpose::Sketch, 0, 0);
        // The random block is passed through A once, so that it lies in the row space of X: what A maps to zero can
        // then never come up as a direction.
        let start = Array2::from_shape_simple_fn((d, block), || StandardNormal.sample(&mut rng));
        let mut start = orthonormal(image_of(start.view())?, None);
        let mut worst = f64::INFINITY;
        for _ in 0..MOST_RESTARTS {
            if start.ncols() == 0 {
                return Ok((Array1::zeros(1), Array2::zeros((d, 1))));
            }
            let mut basis = start.clone();
            // V^T A V, block column by block column.
            let mut projected = Array2::<f64>::zeros((0, 0));
            let mut newest = start;
            let (values, vectors) = loop {
                let image = image_of(newest.view())?;
                let size = basis.ncols();
                let old = size - newest.ncols();
                let mut column = Array2::zeros((size, newest.ncols()));
                product(1.0, basis.t(), image.view(), 0.0, column.view_mut());
                let mut grown = Array2::zeros((size, size));
                grown.slice_mut(s![..old, ..old]).assign(&projected);
                grown.slice_mut(s![.., old..]).assign(&column);
                grown.slice_mut(s![old.., ..]).assign(&column.t());
                projected = grown;
                let next = orthonormal(image.clone(), Some(basis.view()));
                let (values, small) = symmetric(projected.view())?;
                let kept = m.min(size);
                // A u = theta u + residual; what is left of A (newest block) outside the basis is the residual.
                let mut outside = image;
                product(-1.0, basis.view(), column.view(), 1.0, outside.view_mut());
                let mut residual = Array2::zeros((d, kept));
                product(1.0, outside.view(), small.slice(s![old.., ..kept]), 0.0, residual.view_mut());
                worst = residual.columns().into_iter().map(|r| r.dot(&r).sqrt()).fold(0.0, f64::max) / values[0];
                let found = next.ncols() == 0 || (kept == m && worst <= TOLERANCE);
                if found || size + next.ncols() > largest_basis {
                    let keep = if found { kept } else { block.min(size) };
                    let mut vectors = Array2::zeros((d, keep));
                    product(1.0, basis.view(), small.slice(s![.., ..keep]), 0.0, vectors.view_mut());
                    if found {
                        progress.step(what, most, most);
                        return Ok((values.slice(s![..keep]).to_owned(), vectors));
                    }
                    break (values, vectors);
                }
                basis = concatenate(Axis(1), &[basis.view(), next.view()])
                    .map_err(|e| Error::Numeric(format!("the basis of the SVD cannot grow: {e}")))?;
                newest = next;
            };
            drop(values);
            start = orthonormal(vectors, None);
        }
        Err(Error::Numeric(format!(
            "the truncated SVD did not converge: residual {worst:.1e} of the largest eigenvalue after {MOST_RESTARTS} \
             restarts; ask for another number of components"
        )))
    }
}

/// All of A, decomposed.
fn narrow(x: &Csr, m: usize, progress: &dyn Progress) -> Result<(Array1<f64>, Array2<f64>)> {
    let xt = x.transposed();
    let d = x.ncols();
    let mut gram = Array2::<f64>::zeros((d, d));
    let one = |j: usize, mut out: ArrayViewMut1<f64>| {
        let (rows, values) = xt.row(j);
        for (&i, &v) in rows.iter().zip(values) {
            let (columns, row) = x.row(i as usize);
            for (&k, &w) in columns.iter().zip(row) {
                out[k as usize] += f64::from(v) * f64::from(w);
            }
        }
        Ok(())
    };
    let pieces = Pieces::new(progress, "truncated SVD: columns", d);
    threads::run(|| {
        let rows = gram.rows_mut().into_iter().collect::<Vec<_>>().into_par_iter();
        rows.enumerate().try_for_each(|(j, out)| pieces.one(|| one(j, out)))
    })?;
    let (values, vectors) = symmetric(gram.view())?;
    Ok((values.slice(s![..m]).to_owned(), vectors.slice(s![.., ..m]).to_owned()))
}

/// An orthonormal basis of what the columns of `block` span outside `basis`; columns that add nothing are left out.
fn orthonormal(mut block: Array2<f64>, basis: Option<ArrayView2<f64>>) -> Array2<f64> {
    let largest = block.columns().into_iter().map(|c| c.dot(&c).sqrt()).fold(0.0, f64::max);
    // Twice is enough (Giraud et al. 2005): the second pass removes what rounding left over in the first.
    for _ in 0..2 {
        if let Some(basis) = basis {
            let mut shares = Array2::zeros((basis.ncols(), block.ncols()));
            product(1.0, basis.t(), block.view(), 0.0, shares.view_mut());
            product(-1.0, basis, shares.view(), 1.0, block.view_mut());
        }
    }
    // Rows are contiguous, so columns are handled as rows of the transposed block.
    let mut rows: Vec<Array1<f64>> = Vec::new();
    for mut column in block.columns().into_iter().map(|c| c.to_owned()) {
        for _ in 0..2 {
            for other in &rows {
                let share = column.dot(other);
                column.scaled_add(-share, other);
            }
            if let Some(basis) = basis {
                let shares = basis.t().dot(&column);
                column -= &basis.dot(&shares);
            }
        }
        let norm = column.dot(&column).sqrt();
        if norm > largest * 1e-12 {
            rows.push(column / norm);
        }
    }
    let mut out = Array2::zeros((block.nrows(), rows.len()));
    for (mut column, row) in out.columns_mut().into_iter().zip(&rows) {
        column.assign(row);
    }
    out
}

impl TruncatedSvd {
    /// Maps sparse rows to their coordinates along the components: `x V`.
    pub fn transform(&self, x: &Csr) -> Result<Array2<f32>> {
        if x.ncols() != self.components.ncols() {
            let message =
                format!("rows of {} features, but the SVD was fitted on {}", x.ncols(), self.components.ncols());
            return Err(Error::Data(message));
        }
        let components = self.components.t().mapv(f64::from);
        Ok(x.times(components.view()).mapv(|v| v as f32))
    }

    /// Maps coordinates back to (dense) rows: `z V^T`.
    pub fn inverse_transform(&self, z: ArrayView2<f32>) -> Result<Array2<f32>> {
        let (m, d) = self.components.dim();
        if z.ncols() != m {
            return Err(Error::Data(format!("{} coordinates, but the SVD has {m} components", z.ncols())));
        }
        let mut out = Array2::zeros((z.nrows(), d));
        product(1.0, z, self.components.view(), 0.0, out.view_mut());
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::test_files::{fixture, message};
    use crate::data::tfidf::TfIdf;
    use crate::data::{read::ReadOptions, svmlight};
    use crate::fixture::Fixture;
    use rand::RngExt;

    /// A random sparse matrix with a decaying spectrum.
    fn example(n: usize, d: usize) -> Csr {
        let mut rng = stream(5, Purpose::Demo, n as u64, d as u64);
        let (mut starts, mut indices, mut values) = (vec![0], vec![], vec![]);
        for _ in 0..n {
            for j in 0..d as u32 {
                if rng.random::<f32>() < 3.0 / (3.0 + j as f32) {
                    indices.push(j);
                    values.push(rng.random::<f32>() + 0.1);
                }
            }
            starts.push(indices.len());
        }
        Csr::new(starts, indices, values, d).unwrap()
    }

    #[test]
    fn tfidf_and_svd_agree_with_scikit_learn() {
        let counts = svmlight::read_sparse(fixture("counts.svm"), &ReadOptions::default()).unwrap().x;
        assert!(counts.ncols() > NARROW);
        let expected = Fixture::load("tfidf_svd");
        let train: Vec<usize> = (0..expected.value("train")).collect();
        let train = counts.select(&train);
        let tfidf = TfIdf::fit(&train).unwrap();
        let svd = Svd { components: 6, seed: 3 }.fit(&tfidf.transform(&train).unwrap()).unwrap();
        let values: Vec<f64> = expected.value("singular_values");
        assert!(values.iter().zip(&svd.singular_values).all(|(a, &b)| (a - f64::from(b)).abs() < 1e-5));
        let codes: Vec<Vec<f64>> = expected.value("codes");
        let ours = svd.transform(&tfidf.transform(&counts).unwrap()).unwrap();
        assert_eq!(ours.dim(), (codes.len(), 6));
        for ((i, j), &v) in ours.indexed_iter() {
            assert!((codes[i][j] - f64::from(v)).abs() < 1e-5, "{i} {j}: {} {v}", codes[i][j]);
        }
    }

    #[test]
    fn wide_and_narrow_ways_agree() {
        let x = example(300, 200);
        let (values, vectors) = narrow(&x, 9, &Silent).unwrap();
        let (wide_values, wide_vectors) = Svd { components: 9, seed: 1 }.wide(&x, &Silent).unwrap();
        for j in 0..9 {
            assert!((values[j] - wide_values[j]).abs() < 1e-9 * values[0], "{j}");
            assert!(vectors.column(j).dot(&wide_vectors.column(j)).abs() > 1.0 - 1e-9, "{j}");
        }
    }

    #[test]
    fn the_basis_may_be_restarted_and_equal_singular_values_are_all_found() {
        // 500 words each in a document of its own: all singular values equal but the first few.
        let n = 500;
        let values = (0..n).map(|i| if i < 3 { 3.0 - i as f32 * 0.5 } else { 1.0 }).collect();
        let x = Csr::new((0..=n).collect(), (0..n as u32).collect(), values, n).unwrap();
        let svd = Svd { components: 6, seed: 0 }.fit(&x).unwrap();
        for (have, want) in svd.singular_values.iter().zip([3.0, 2.5, 2.0, 1.0, 1.0, 1.0]) {
            assert!((have - want).abs() < 1e-6, "{}", svd.singular_values);
        }
        // A slowly falling spectrum takes more vectors than the basis holds.
        let values = (0..n).map(|i| 1.0 - i as f32 * 1e-3).collect();
        let x = Csr::new((0..=n).collect(), (0..n as u32).collect(), values, n).unwrap();
        let svd = Svd { components: 5, seed: 0 }.fit(&x).unwrap();
        for (j, have) in svd.singular_values.iter().enumerate() {
            assert!((have - (1.0 - j as f32 * 1e-3)).abs() < 1e-6, "{}", svd.singular_values);
            assert!(svd.components[[j, j]] > 0.9999);
        }
    }

    #[test]
    fn rows_within_the_components_come_back() {
        // Rank 2: every row is a multiple of one of two.
        let rows: Vec<f32> = (0..40).flat_map(|i| [1.0 + i as f32, 2.0 + 2.0 * i as f32]).collect();
        let indices = (0..40).flat_map(|i| if i % 2 == 0 { [0, 299] } else { [1, 5] }).collect();
        let x = Csr::new((0..=40).map(|i| 2 * i).collect(), indices, rows, 300).unwrap();
        let svd = Svd { components: 2, seed: 0 }.fit(&x).unwrap();
        let back = svd.inverse_transform(svd.transform(&x).unwrap().view()).unwrap();
        assert!((&back - &x.to_dense(usize::MAX).unwrap()).iter().all(|d| d.abs() < 1e-4));
        assert!(message(Svd { components: 3, seed: 0 }.fit(&x)).contains("span 2 directions only"));
    }

    #[test]
    fn one_thread_and_many_give_the_same_bits() {
        let x = example(200, 400);
        let fit = |count| threads::with_count(count, || Svd { components: 5, seed: 2 }.fit(&x).unwrap());
        assert_eq!(fit(1), fit(3));
    }

    #[test]
    fn impossible_requests_are_refused() {
        let x = example(10, 20);
        assert!(message(Svd { components: 0, seed: 0 }.fit(&x)).starts_with("components: 0 is not between 1 and 10"));
        assert!(message(Svd { components: 11, seed: 0 }.fit(&x)).contains("11 is not between"));
        let empty = Csr::new(vec![0; 11], vec![], vec![], 20).unwrap();
        assert!(message(Svd { components: 1, seed: 0 }.fit(&empty)).contains("span 0 directions"));
        let empty = Csr::new(vec![0; 11], vec![], vec![], 600).unwrap();
        assert!(message(Svd { components: 1, seed: 0 }.fit(&empty)).contains("span 0 directions"));
        let svd = Svd { components: 2, seed: 0 }.fit(&x).unwrap();
        assert!(message(svd.transform(&example(3, 5))).contains("rows of 5 features"));
        assert!(message(svd.inverse_transform(Array2::zeros((1, 3)).view())).contains("3 coordinates"));
    }
}
