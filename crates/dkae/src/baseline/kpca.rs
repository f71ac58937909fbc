//! Kernel principal component analysis: PCA in the space where inner products are a kernel (Schölkopf, Smola and Müller
//! 1998).
//!
//! With the kernel matrix K of the rows, centred as `H K H` with `H = I - 1 1^T / n` (or left as it is), and its leading
//! eigenpairs (lambda_i, v_i), the scores of the rows are `v_i sqrt(lambda_i)`. A new row x with kernel values k(x) to the
//! rows of the fit has the scores `(k(x) - k_mean)^T v_i / sqrt(lambda_i)`, where k_mean is the mean row of K: the Nyström
//! formula. (v_i sums to zero, so the other terms of the centring drop out.) Uncentred, k_mean is zero.
//!
//! The eigenpairs come from products `K V` ([`eigen::leading`]), so K need never be whole: tiles of it are kept only within a
//! stated memory. It may be given
//! - as a kernel and rows ([`Kpca::fit`]): the model embeds new rows by itself;
//! - as any prior, a precomputed matrix among them ([`Kpca::fit_prior`]): new rows are embedded from their kernel values;
//! - by its factors, `K = F F^T` ([`Kpca::fit_factors`]): not even tiles of K are computed, and a new row needs only its own
//!   factors, `z = (f - f_mean) W` with `W = (F - f_mean)^T V / sqrt(lambda)`;
//! - by the probabilistic cluster kernel and rows ([`Kpca::fit_pck`]): the same, and the model embeds new rows by itself.

use std::ops::Range;

use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2, Axis, Zip, s};

use super::gram::Gram;
use crate::kernel::{Factors, FittedPck, Kept, Kernel, Prior};
use crate::math::{check, eigen, gemm};
use crate::method::Embed;
use crate::progress::{Progress, Silent};
use crate::{Error, Result};

/// Settings of kernel PCA.
#[derive(Clone, Debug, PartialEq)]
pub struct Kpca {
    /// How many components, at most the number of rows. Default 2.
    pub components: usize,
    /// Whether to subtract the mean in the kernel's space. Default true.
    pub centred: bool,
    /// Megabytes for tiles of the kernel matrix that are kept between products; what does not fit is computed again
    /// for each of them. 0 keeps nothing. n rows fit whole in a little more than `n^2 / 500 000`: a tile is kept or not.
    /// Default 512.
    pub cache_mb: usize,
    /// Residual of an eigenpair relative to its eigenvalue at which it counts as found. Default 1e-3; the f32 products allow
    /// little more.
    pub tolerance: f64,
    /// The most products with the kernel matrix. Default 40.
    pub max_sweeps: usize,
    /// Seeds the random start of the eigenvectors; the result does not depend on it beyond the tolerance. Default 0.
    pub seed: u64,
}

impl Default for Kpca {
    fn default() -> Self {
        Self { components: 2, centred: true, cache_mb: 512, tolerance: 1e-3, max_sweeps: 40, seed: 0 }
    }
}

/// Eigenpairs of a kernel matrix, and what new rows need.
#[derive(Clone, Debug)]
pub struct Spectrum {
    /// The eigenvalues, largest first; those that rounding made up or below zero are zero.
    pub values: Array1<f64>,
    /// The eigenvectors, one column for each value.
    pub vectors: Array2<f64>,
    /// How they were found; not known of pairs that were given.
    pub search: Option<Searched>,
    /// `v / sqrt(lambda)`, zero where lambda is.
    alphas: Array2<f32>,
    /// `k_mean^T alphas`.
    offset: Array1<f32>,
}

/// How a search for eigenpairs ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Searched {
    /// Whether every pair met the tolerance within the limit on sweeps.
    pub converged: bool,
    /// Products with the kernel matrix that were needed.
    pub sweeps: usize,
}

/// The rows of a fit under a kernel, ready to be compared with others.
pub(super) struct FittedRows {
    kernel: Box<dyn Kernel>,
    kept: Kept,
    /// How many there are, and their features.
    count: usize,
    pub(super) width: usize,
}

/// Kernel PCA of rows under a kernel.
pub struct KpcaModel {
    rows: FittedRows,
    /// The eigenpairs.
    pub spectrum: Spectrum,
}

/// Kernel PCA through the factors of the kernel matrix.
#[derive(Clone, Debug)]
pub struct FactorKpca {
    /// The eigenpairs.
    pub spectrum: Spectrum,
    /// `(F - f_mean)^T V / sqrt(lambda)`.
    weights: Array2<f64>,
    /// `f_mean^T weights`.
    offset: Array1<f64>,
}

/// Kernel PCA under the probabilistic cluster kernel, through its posteriors; keeps none of the rows of the fit.
pub struct PckKpca {
    pck: FittedPck,
    /// The eigenpairs, and the map of posteriors.
    pub model: FactorKpca,
}

/// An eigenvalue below this part of the largest is rounding: the kernel is known to f32 only.
pub(super) const NOTHING: f64 = 1e-6;

/// The mean row.
fn mean(x: ArrayView2<f64>) -> Array1<f64> {
    x.sum_axis(Axis(0)) / x.nrows() as f64
}

/// `v / sqrt(lambda)`, zero where lambda is.
fn alphas(values: &Array1<f64>, vectors: &Array2<f64>) -> Array2<f64> {
    vectors * &values.mapv(|v| if v > 0.0 { 1.0 / v.sqrt() } else { 0.0 })
}

impl Kpca {
    /// Kernel PCA of the rows of `x`, of which the model keeps a copy for new rows.
    pub fn fit(&self, kernel: Box<dyn Kernel>, x: ArrayView2<f32>, progress: &dyn Progress) -> Result<KpcaModel> {
        check::rows("rows for kernel PCA", x)?;
        let prior = kernel.prior_watched(x, progress)?;
        let spectrum = self.fit_prior(&*prior, progress)?;
        drop(prior);
        Ok(KpcaModel { rows: FittedRows::new(kernel, x.to_owned(), progress)?, spectrum })
    }

    /// Kernel PCA of a prior.
    pub fn fit_prior(&self, prior: &dyn Prior, progress: &dyn Progress) -> Result<Spectrum> {
        let tile = |rows: Range<usize>, columns: Range<usize>, out: ArrayViewMut2<f32>| {
            prior.block(&rows.collect::<Vec<_>>(), &columns.collect::<Vec<_>>(), out);
            Ok(())
        };
        let mut gram = Gram::new(prior.len(), self.cache_mb, &tile);
        self.eigenpairs(prior.len(), progress, |v| gram.times(v.map(|v| v as f32).view(), progress))
    }

    /// Kernel PCA of `F F^T`.
    pub fn fit_factors(&self, factors: &dyn Factors, progress: &dyn Progress) -> Result<FactorKpca> {
        let n = factors.height();
        let spectrum = self.eigenpairs(n, progress, |v| {
            let inner = factors.transpose_times(v.map(|v| v).view());
            progress.check()?;
            Ok(factors.times(inner.view()))
        })?;
        // The alphas of a centred matrix sum to zero, so centring F changes nothing here but rounding.
        let weights = factors.transpose_times(alphas(&spectrum.values, &spectrum.vectors).view());
        let offset = if self.centred {
            let mean = factors.transpose_times(Array2::from_elem((n, 1), 1.0 / n as f64).view());
            mean.column(0).dot(&weights)
        } else {
            Array1::zeros(self.components)
        };
        Ok(FactorKpca { spectrum, weights, offset })
    }

    /// Kernel PCA of the rows of `x` under the probabilistic cluster kernel.
    pub fn fit_pck(&self, pck: FittedPck, x: ArrayView2<f32>, progress: &dyn Progress) -> Result<PckKpca> {
        let model = self.fit_factors(&pck.posteriors_watched(x, progress)?, progress)?;
        Ok(PckKpca { pck, model })
    }

    fn eigenpairs(
        &self,
        n: usize,
        progress: &dyn Progress,
        mut apply: impl FnMut(Operand) -> Result<Array2<f64>>,
    ) -> Result<Spectrum> {
        check::components(self.components, n, "the number of rows")?;
        let mut means = None;
        let (what, most) = ("products with the kernel matrix", self.max_sweeps as u64);
        let mut sweep = 0;
        // Whole vectors of AVX-512 where they add little to the basis: products with tiles take no longer, and fewer of them are needed.
        let least = self.components + eigen::Search::default().spare;
        let whole = least.next_multiple_of(16);
        let spare = if whole - least <= least / 8 { whole } else { least } - self.components;
        let search = eigen::Search { tolerance: self.tolerance, max_sweeps: self.max_sweeps, seed: self.seed, spare };
        let found = eigen::leading(n, self.components, &search, progress, |v| {
            progress.check()?;
            let w = if self.centred {
                // The mean row of K rides along with the first product.
                let more = usize::from(means.is_none());
                let mut w = apply(Operand { v, mean: Some(mean(v)), more })?;
                means = means.take().or_else(|| Some(w.column(v.ncols()).to_owned()));
                w = w.slice_move(s![.., ..v.ncols()]);
                let mean = mean(w.view());
                w -= &mean;
                w
            } else {
                apply(Operand { v, mean: None, more: 0 })?
            };
            sweep += 1;
            progress.step(what, most.min(sweep), most);
            Ok(w)
        })?;
        progress.step(what, most, most);
        let largest = found.values.first().copied().unwrap_or(0.0);
        let values = found.values.mapv(|v| if v > NOTHING * largest.max(0.0) { v } else { 0.0 });
        let alphas = alphas(&values, &found.vectors);
        let offset = match means {
            Some(means) => means.dot(&alphas).mapv(|v| v as f32),
            None => Array1::zeros(self.components),
        };
        Ok(Spectrum {
            values,
            vectors: found.vectors,
            search: Some(Searched { converged: found.converged, sweeps: found.sweeps }),
            alphas: alphas.mapv(|v| v as f32),
            offset,
        })
    }
}

/// Vectors that the kernel matrix is to be multiplied with: each less its mean if there is one, then so many columns of `1 / n`.
struct Operand<'a> {
    v: ArrayView2<'a, f64>,
    mean: Option<Array1<f64>>,
    more: usize,
}

impl Operand<'_> {
    /// The vectors as numbers of any kind: the only copy that is made.
    fn map<T: Clone>(&self, number: impl Fn(f64) -> T) -> Array2<T> {
        let (n, width) = self.v.dim();
        let mut out = Array2::from_elem((n, width + self.more), number(1.0 / n as f64));
        let vectors = Zip::from(out.slice_mut(s![.., ..width])).and(&self.v);
        match &self.mean {
            Some(mean) => vectors.and_broadcast(mean).for_each(|out, &v, &mean| *out = number(v - mean)),
            None => vectors.for_each(|out, &v| *out = number(v)),
        }
        out
    }
}

impl KpcaModel {
    /// A model from its parts: the kernel, the rows of the fit, the eigenpairs.
    pub fn from_parts(kernel: Box<dyn Kernel>, x: Array2<f32>, spectrum: Spectrum) -> Result<Self> {
        if x.nrows() != spectrum.vectors.nrows() {
            let (rows, entries) = (x.nrows(), spectrum.vectors.nrows());
            return Err(Error::Data(format!("{rows} rows, but eigenvectors of {entries} entries")));
        }
        Ok(Self { rows: FittedRows::new(kernel, x, &Silent)?, spectrum })
    }
}

impl Spectrum {
    /// From eigenvalues, eigenvectors and [`offset`](Self::offset), as they were stored.
    pub fn from_parts(values: Array1<f64>, vectors: Array2<f64>, offset: Array1<f32>) -> Result<Self> {
        let width = values.len();
        if vectors.ncols() != width || offset.len() != width {
            let message = format!("{width} eigenvalues, {} vectors, {} offsets", vectors.ncols(), offset.len());
            return Err(Error::Data(message));
        }
        let alphas = alphas(&values, &vectors).mapv(|v| v as f32);
        Ok(Self { values, vectors, search: None, alphas, offset })
    }

    /// What is subtracted from the scores of new rows, for the centring.
    pub fn offset(&self) -> &Array1<f32> {
        &self.offset
    }

    /// The scores of the rows of the fit, `v sqrt(lambda)`.
    pub fn scores(&self) -> Array2<f32> {
        (&self.vectors * &self.values.mapv(f64::sqrt)).mapv(|v| v as f32)
    }

    /// The scores of new rows from their kernel values: `k` has one row for each of them and one column for each row of
    /// the fit.
    pub fn project(&self, k: ArrayView2<f32>) -> Result<Array2<f32>> {
        check::width("kernel values of new rows", k, self.alphas.nrows())?;
        let mut z = Array2::zeros((k.nrows(), self.alphas.ncols()));
        gemm::product(1.0, k, self.alphas.view(), 0.0, z.view_mut());
        z -= &self.offset;
        Ok(z)
    }

    /// The same with only the components numbered `kept`, in that order.
    pub(super) fn select(&self, kept: &[usize]) -> Self {
        Self {
            values: self.values.select(Axis(0), kept),
            vectors: self.vectors.select(Axis(1), kept),
            search: self.search,
            alphas: self.alphas.select(Axis(1), kept),
            offset: self.offset.select(Axis(0), kept),
        }
    }
}

impl FittedRows {
    pub(super) fn new(kernel: Box<dyn Kernel>, x: Array2<f32>, progress: &dyn Progress) -> Result<Self> {
        let (count, width) = x.dim();
        Ok(Self { kept: kernel.keep(x, progress)?, kernel, count, width })
    }

    /// Scores of new rows, by blocks of at most 32 MB of kernel values.
    pub(super) fn project(&self, spectrum: &Spectrum, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        check::width("rows to embed", x, self.width)?;
        let rows = (8_000_000 / self.count.max(1)).clamp(16, 1024).min(x.nrows().max(1));
        let mut z = Array2::zeros((x.nrows(), spectrum.values.len()));
        let mut k = Array2::zeros((rows, self.count));
        for (x, mut z) in x.axis_chunks_iter(Axis(0), rows).zip(z.axis_chunks_iter_mut(Axis(0), rows)) {
            let mut k = k.slice_mut(s![..x.nrows(), ..]);
            self.kernel.between_kept(x, &self.kept, k.view_mut())?;
            z.assign(&spectrum.project(k.view())?);
        }
        Ok(z)
    }
}

impl Embed for KpcaModel {
    fn input_width(&self) -> usize {
        self.rows.width
    }

    fn width(&self) -> usize {
        self.spectrum.values.len()
    }

    fn embed(&self, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        self.rows.project(&self.spectrum, x)
    }
}

/// The rows of this map are kernel values, one for each row of the fit, as those of scikit-learn's `KernelPCA` with a
/// precomputed kernel.
impl Embed for Spectrum {
    fn input_width(&self) -> usize {
        self.vectors.nrows()
    }

    fn width(&self) -> usize {
        self.values.len()
    }

    fn embed(&self, k: ArrayView2<f32>) -> Result<Array2<f32>> {
        check::finite("kernel values of new rows", k)?;
        self.project(k)
    }
}

impl Embed for PckKpca {
    fn input_width(&self) -> usize {
        self.pck.width()
    }

    fn width(&self) -> usize {
        self.model.spectrum.values.len()
    }

    fn embed(&self, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        self.model.project(&self.pck.posteriors(x)?)
    }
}

/// It knows factors, not how rows come by theirs, so it does not [`Embed`]; [`PckKpca`] does.
impl FactorKpca {
    /// The scores of new rows from their own factors.
    pub fn project(&self, factors: &dyn Factors) -> Result<Array2<f32>> {
        let (expected, found) = (self.weights.nrows(), factors.width());
        if expected != found {
            return Err(Error::Data(format!(
                "factors of new rows: expected {expected} columns, as in the fit, found {found}"
            )));
        }
        Ok((factors.times(self.weights.view()) - &self.offset).mapv(|v| v as f32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, Formula, refused, same_but_for_signs as same, walsh};
    use crate::kernel::{FittedRbf, Pck, Precomputed};
    use crate::math::threads;
    use crate::progress::Silent;
    use ndarray::array;

    const POLYNOMIAL: Formula = Formula(|a, b| (0.1 * a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() + 1.0).powi(3));

    /// `exp(-gamma |a - b|^2)` of rows of `width` features.
    fn rbf(gamma: f64, width: usize) -> FittedRbf {
        FittedRbf::of_sigma((0.5 / gamma).sqrt(), width)
    }

    fn settings(components: usize) -> Kpca {
        Kpca { components, ..Kpca::default() }
    }

    #[test]
    fn agrees_with_scikit_learn_for_formulas() {
        let f = Fixture::load("kpca");
        let (x, new) = (f.array("x"), f.array("new"));
        let kernels: [(&str, Box<dyn Kernel>); 2] = [("rbf", Box::new(rbf(0.3, 4))), ("poly", Box::new(POLYNOMIAL))];
        for (name, kernel) in kernels {
            let model = settings(4).fit(kernel, x.view(), &Silent).unwrap();
            for (a, b) in model.spectrum.values.iter().zip(f.list(&format!("{name}_values"))) {
                assert!((a / b - 1.0).abs() < 1e-5, "{name}: {a} {b}");
            }
            let want = f.array(&format!("{name}_scores"));
            assert!(same(&model.spectrum.scores(), &want, 1e-5), "{name} scores");
            assert!(same(&model.embed(x.view()).unwrap(), &want, 1e-5), "{name} scores by the formula for new rows");
            let before = model.embed(new.view()).unwrap();
            assert!(same(&before, &f.array(&format!("{name}_new")), 1e-5), "{name} new");
            assert_eq!((model.input_width(), model.width()), (4, 4));
            let Spectrum { values, vectors, offset, .. } = model.spectrum.clone();
            let again = KpcaModel::from_parts(
                model.rows.kernel,
                x.clone(),
                Spectrum::from_parts(values, vectors, offset).unwrap(),
            );
            assert_eq!(again.unwrap().embed(new.view()).unwrap(), before);
        }
    }

    #[test]
    fn agrees_with_scikit_learn_for_a_precomputed_matrix_and_for_its_factors() {
        let f = Fixture::load("kpca");
        let (a, b) = (f.array("factors"), f.array("new_factors"));
        let (scores, new) = (f.array("factors_scores"), f.array("factors_new"));
        let matrix = settings(4).fit_prior(&Precomputed::new(a.dot(&a.t())).unwrap().0, &Silent).unwrap();
        assert!(same(&matrix.scores(), &scores, 1e-5));
        assert!(same(&matrix.embed(b.dot(&a.t()).view()).unwrap(), &new, 1e-5));
        assert_eq!((matrix.input_width(), matrix.width()), (a.nrows(), 4));
        let factors = settings(4).fit_factors(&a, &Silent).unwrap();
        assert!(same(&factors.spectrum.scores(), &scores, 1e-5));
        assert!(same(&factors.project(&b).unwrap(), &new, 1e-5));
        for (a, b) in factors.spectrum.values.iter().zip(f.list("factors_values")) {
            assert!((a / b - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn a_search_agrees_with_scikit_learn_and_the_closer_the_tighter_its_tolerance() {
        let f = Fixture::load("kpca_many");
        let (x, new) = (f.array("x"), f.array("new"));
        let mut offs = Vec::new();
        // An eigenvector is off by about its residual over the gap to the next value: 3 of 28 here.
        for (tolerance, values, scores) in [(1e-3, 1e-5, 2e-3), (1e-6, 1e-6, 5e-6)] {
            let model = Kpca { tolerance, ..settings(5) }.fit(Box::new(rbf(0.1, 3)), x.view(), &Silent).unwrap();
            assert!(model.spectrum.search.is_some_and(|s| s.converged && s.sweeps > 1), "{tolerance}");
            for (a, b) in model.spectrum.values.iter().zip(f.list("values")) {
                assert!((a / b - 1.0).abs() < values, "{tolerance}: {a} {b}");
            }
            let found = model.spectrum.scores();
            assert!(same(&found, &f.array("scores"), scores), "{tolerance}: scores");
            assert!(same(&model.embed(new.view()).unwrap(), &f.array("new_scores"), scores), "{tolerance}: new rows");
            offs.push((&found.mapv(f32::abs) - &f.array("scores").mapv(f32::abs)).mapv(|d| d * d).sum());
        }
        assert!(offs[1] < offs[0], "{offs:?}");
    }

    /// Rows around a few centres: a kernel matrix with a fast spectrum, of several tiles and several Krylov blocks.
    fn rows(n: usize) -> Array2<f32> {
        Array2::from_shape_fn((n, 3), |(i, j)| (i % 5 * (j + 1)) as f32 + ((i * 7 + j * 3) as f32).sin())
    }

    #[test]
    fn few_components_of_many_rows_agree_with_the_full_decomposition() {
        let x = rows(900);
        for centred in [true, false] {
            let mut k = Array2::zeros((900, 900));
            rbf(0.5, 3).between(x.view(), x.view(), k.view_mut()).unwrap();
            let mut k = k.mapv(f64::from);
            if centred {
                k -= &k.mean_axis(Axis(0)).unwrap();
                k -= &k.mean_axis(Axis(1)).unwrap().insert_axis(Axis(1));
            }
            let (values, vectors) = eigen::symmetric(k.view()).unwrap();
            let model = Kpca { centred, ..settings(6) }.fit(Box::new(rbf(0.5, 3)), x.view(), &Silent).unwrap();
            assert!(model.spectrum.search.is_some_and(|s| s.converged && s.sweeps > 1));
            for i in 0..6 {
                assert!((model.spectrum.values[i] / values[i] - 1.0).abs() < 1e-6, "{centred}: value {i}");
                let inner = model.spectrum.vectors.column(i).dot(&vectors.column(i));
                assert!(inner > 1.0 - 1e-5, "{centred}: vector {i}: {inner}");
            }
            // The formula for new rows, on the rows of the fit, is the scores themselves.
            assert!(same(&model.embed(x.view()).unwrap(), &model.spectrum.scores(), 2e-4), "{centred}");
        }
    }

    #[test]
    fn what_is_kept_in_memory_and_the_number_of_threads_change_no_bit() {
        let x = rows(1500);
        let run = |cache_mb, count| {
            threads::with_count(count, || {
                let settings = Kpca { cache_mb, ..settings(3) };
                let model = settings.fit(Box::new(rbf(0.5, 3)), x.view(), &Silent).unwrap();
                model.embed(x.view()).unwrap()
            })
        };
        let first = run(0, 1);
        assert_eq!(first, run(0, 3));
        assert_eq!(first, run(512, 2));
    }

    #[test]
    fn the_cluster_kernel_by_its_factors_is_the_cluster_kernel_by_its_blocks() {
        // More rows than are decomposed whole, so that both ways search.
        let (x, new) = (rows(400), rows(450).slice(s![400.., ..]).to_owned());
        let kernel = || Pck { restarts: 3, max_components: 8, subset: 100, ..Pck::default() };
        let pck = kernel().fit(x.view()).unwrap();
        let (p, q) = (pck.posteriors(x.view()).unwrap(), pck.posteriors(new.view()).unwrap());
        for centred in [true, false] {
            let settings = Kpca { centred, tolerance: 1e-6, ..settings(5) };
            let blocks = settings.fit_prior(&p, &Silent).unwrap();
            let factors = settings.fit_factors(&p, &Silent).unwrap();
            for (a, b) in factors.spectrum.values.iter().zip(&blocks.values) {
                assert!((a / b - 1.0).abs() < 1e-5, "{centred}: {a} {b}");
            }
            let want = blocks.scores();
            assert!(same(&factors.spectrum.scores(), &want, 1e-4), "{centred}: scores");
            assert!(same(&factors.project(&p).unwrap(), &want, 1e-4), "{centred}: the rows of the fit as new ones");
            let mut k = Array2::zeros((50, 400));
            pck.between(new.view(), x.view(), k.view_mut()).unwrap();
            let want = blocks.project(k.view()).unwrap();
            assert!(same(&factors.project(&q).unwrap(), &want, 1e-4), "{centred}: new rows");
            let rows = settings.fit_pck(kernel().fit(x.view()).unwrap(), x.view(), &Silent).unwrap();
            assert_eq!(rows.embed(new.view()).unwrap(), factors.project(&q).unwrap());
            assert_eq!((rows.input_width(), rows.width()), (3, 5));
        }
    }

    #[test]
    fn factors_of_many_rows_cost_no_matrix_of_every_two_of_them() {
        // A kernel matrix of so many rows would be 160 GB. The columns are orthogonal and of mean a_j, so component j is
        // column j less its mean, of variance s_j^2.
        let (n, s, a) = (200_000, [3.0f32, 2.0, 1.5, 1.0, 0.5], [5.0f32, 0.0, -1.0, 0.25, 0.0]);
        let centred = walsh(n, 5) * ndarray::aview1(&s);
        let model = settings(5).fit_factors(&(&centred + &ndarray::aview1(&a)), &Silent).unwrap();
        assert!(model.spectrum.search.is_some_and(|s| s.converged));
        for (value, s) in model.spectrum.values.iter().zip(s) {
            assert!((value / (n as f64 * f64::from(s * s)) - 1.0).abs() < 1e-5, "{value} {s}");
        }
        assert!(same(&model.spectrum.scores(), &centred, 1e-4));
        // So does a new row's.
        let new = array![[8.0, 0.0, 1.0, 0.25, -2.0], [5.0, 4.0, -1.0, 3.25, 0.5]];
        let z = model.project(&new).unwrap();
        assert!(same(&z, &(&new - &ndarray::aview1(&a)), 1e-4), "{z}");
    }

    #[test]
    fn equal_rows_and_low_rank_give_empty_components_and_no_error() {
        let f = array![[1.0, 0.0], [1.0, 0.0], [0.0, 2.0], [0.0, 2.0], [1.0, 0.0]];
        let model = settings(4).fit_factors(&f, &Silent).unwrap();
        assert!(model.spectrum.values[0] > 1.0 && model.spectrum.values.iter().skip(1).all(|&v| v == 0.0));
        let z = model.project(&f).unwrap();
        assert!(z.iter().all(|v| v.is_finite()));
        assert!((&z - &model.spectrum.scores()).iter().all(|d| d.abs() < 1e-5));
        let flat = settings(2).fit(Box::new(rbf(1.0, 3)), Array2::ones((4, 3)).view(), &Silent).unwrap();
        assert!(flat.spectrum.values.iter().all(|&v| v < 1e-6));
    }

    #[test]
    fn bad_input_is_an_error() {
        let boxed = || Box::new(rbf(1.0, 3));
        for components in [0, 6] {
            let found = format!("components: expected 1 to 5 (the number of rows), found {components}");
            refused(settings(components).fit(boxed(), rows(5).view(), &Silent), &found);
        }
        let mut gap = rows(5);
        settings(1).fit(boxed(), gap.view(), &Silent).unwrap();
        gap[[3, 1]] = f32::NAN;
        refused(settings(1).fit(boxed(), gap.view(), &Silent), "rows for kernel PCA: row 4, column 2 is NaN");
        const WRONG: Formula = Formula(|a, b| if a == b { 1.0 } else { f64::NAN });
        let wrong = rows(5);
        refused(settings(1).fit_prior(&*WRONG.prior(wrong.view()).unwrap(), &Silent), "not finite");
        let model = settings(2).fit(boxed(), rows(5).view(), &Silent).unwrap();
        refused(model.embed(Array2::zeros((2, 4)).view()), "rows to embed: expected 3 columns");
        refused(model.spectrum.project(Array2::zeros((2, 4)).view()), "kernel values of new rows: expected 5 columns");
        let factors = settings(1).fit_factors(&rows(5), &Silent).unwrap();
        refused(factors.project(&Array2::zeros((2, 4))), "factors of new rows: expected 3 columns");
    }
}
