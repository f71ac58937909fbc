//! Kernel entropy component analysis (Jenssen 2010): kernel PCA without centring, its components ranked by what they
//! contribute to the entropy of the data rather than by their variance.
//!
//! The Rényi entropy is estimated from `V = 1^T K 1 / n^2 = (1/n^2) sum_i lambda_i (1^T e_i)^2` over the eigenpairs of the
//! kernel matrix; the components kept are those with the largest terms. A component of large variance whose entries
//! cancel contributes nothing, one that follows a cluster contributes much.
//!
//! Only the leading eigenpairs are looked at. A term is at most `n lambda_i`, so no eigenpair beyond the last of
//! them can belong to the best when `n lambda_last` is below the smallest term kept: then the ranking is exact, and the
//! model says so.

use ndarray::{Array1, Array2, ArrayView2};

use super::kpca::{FittedRows, Kpca, NOTHING, Spectrum};
use crate::Result;
use crate::kernel::{Kernel, Prior, Rbf, Width};
use crate::math::check;
use crate::method::Embed;
use crate::progress::Progress;

/// Settings of kernel entropy component analysis.
#[derive(Clone, Debug, PartialEq)]
pub struct Keca {
    /// How many components, at most the number of candidates. Default 2.
    pub components: usize,
    /// The leading eigenpairs among which the components are chosen; fewer when there are fewer rows. Default 64.
    pub candidates: usize,
    /// Width of the Gaussian kernel as a part of the median distance between rows. Default 0.15, as in the paper.
    pub width: f64,
    /// Megabytes for tiles of the kernel matrix, as in [`Kpca`]. Default 512.
    pub cache_mb: usize,
    /// Residual of an eigenpair relative to its eigenvalue at which it counts as found. Default 1e-3.
    pub tolerance: f64,
    /// The most products with the kernel matrix. Default 40.
    pub max_sweeps: usize,
    /// Seeds the random start and the draw of rows for the median. Default 0.
    pub seed: u64,
}

impl Default for Keca {
    fn default() -> Self {
        let kpca = Kpca::default();
        Self {
            components: 2,
            candidates: 64,
            width: 0.15,
            cache_mb: kpca.cache_mb,
            tolerance: kpca.tolerance,
            max_sweeps: kpca.max_sweeps,
            seed: 0,
        }
    }
}

/// Entropy components of a kernel matrix. New rows are embedded from their kernel values, by the [`Spectrum`].
pub struct EntropyComponents {
    /// The eigenpairs kept, by falling contribution.
    pub spectrum: Spectrum,
    /// `lambda_i (1^T e_i)^2` of each.
    pub contributions: Array1<f64>,
    /// Where each stood among the eigenpairs by falling eigenvalue, from 0.
    pub ranks: Vec<usize>,
    /// Whether no eigenpair beyond the candidates can belong to the components.
    pub exact: bool,
}

/// Entropy components of rows under a kernel.
pub struct KecaModel {
    rows: FittedRows,
    /// The eigenpairs kept, by falling contribution.
    pub spectrum: Spectrum,
    /// `lambda_i (1^T e_i)^2` of each.
    pub contributions: Array1<f64>,
    /// Where each stood among the eigenpairs by falling eigenvalue, from 0.
    pub ranks: Vec<usize>,
    /// Whether no eigenpair beyond the candidates can belong to the components.
    pub exact: bool,
}

impl Keca {
    /// Entropy components of the rows of `x` under a Gaussian kernel of [`width`](Keca::width).
    pub fn fit(&self, x: ArrayView2<f32>, progress: &dyn Progress) -> Result<KecaModel> {
        check::rows("rows for KECA", x)?;
        let rbf = Rbf { width: Width::MedianFraction(self.width), seed: self.seed };
        self.fit_kernel(Box::new(rbf.fit(x)?), x, progress)
    }

    /// Entropy components of the rows of `x` under any kernel.
    pub fn fit_kernel(
        &self,
        kernel: Box<dyn Kernel>,
        x: ArrayView2<f32>,
        progress: &dyn Progress,
    ) -> Result<KecaModel> {
        check::rows("rows for KECA", x)?;
        let prior = kernel.prior_watched(x, progress)?;
        let EntropyComponents { spectrum, contributions, ranks, exact } = self.fit_prior(&*prior, progress)?;
        drop(prior);
        let rows = FittedRows::new(kernel, x.to_owned(), progress)?;
        Ok(KecaModel { rows, spectrum, contributions, ranks, exact })
    }

    /// Entropy components of a prior, a precomputed matrix among them.
    pub fn fit_prior(&self, prior: &dyn Prior, progress: &dyn Progress) -> Result<EntropyComponents> {
        let n = prior.len();
        check::components(self.components, n, "the number of rows")?;
        check::as_many("candidates", self.candidates, self.components)?;
        let candidates = self.candidates.min(n);
        let kpca = Kpca {
            components: candidates,
            centred: false,
            cache_mb: self.cache_mb,
            tolerance: self.tolerance,
            max_sweeps: self.max_sweeps,
            seed: self.seed,
        };
        let all = kpca.fit_prior(prior, progress)?;
        let term = |i: usize| all.values[i] * all.vectors.column(i).sum().powi(2);
        let mut ranked: Vec<(usize, f64)> = (0..candidates).map(|i| (i, term(i))).collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranked.truncate(self.components);
        let (ranks, contributions): (Vec<usize>, Vec<f64>) = ranked.into_iter().unzip();
        let least = contributions.last().copied().unwrap_or(0.0);
        // No eigenvalue beyond the candidates is larger than the last of them, or than what counts as zero.
        let rest = all.values[candidates - 1].max(NOTHING * all.values[0].max(0.0));
        let found = all.search.as_ref().is_none_or(|search| search.converged);
        let exact = found && (candidates == n || n as f64 * rest <= least);
        Ok(EntropyComponents { spectrum: all.select(&ranks), contributions: contributions.into(), ranks, exact })
    }
}

impl Embed for KecaModel {
    fn input_width(&self) -> usize {
        self.rows.width
    }

    fn width(&self) -> usize {
        self.ranks.len()
    }

    fn embed(&self, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        self.rows.project(&self.spectrum, x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::refused;
    use crate::math::eigen;
    use crate::progress::Silent;
    use ndarray::array;

    /// A tight cluster of many rows, a loose one, and a tight one of few: the loose one has a second component, of large
    /// variance, whose entries cancel.
    fn rows(n: usize) -> Array2<f32> {
        Array2::from_shape_fn((n, 2), |(i, j)| {
            let wave = ((i * i * 13 + i * 7 + j * 5) as f32).sin();
            match i % 10 {
                0..5 => 0.3 * wave,
                5..9 => 8.0 + 3.0 * wave,
                _ => 16.0 * (1 - 2 * j as i32) as f32 + 0.2 * wave,
            }
        })
    }

    #[test]
    fn components_are_the_largest_terms_of_the_entropy() {
        let x = rows(230);
        let mut k = Array2::zeros((230, 230));
        Rbf::default().fit(x.view()).unwrap().between(x.view(), x.view(), k.view_mut()).unwrap();
        // GEMM leaves the last bits of the two triangles different.
        let k = k.mapv(f64::from);
        let k = (&k + &k.t()) * 0.5;
        let (values, vectors) = eigen::symmetric(k.view()).unwrap();
        let mut terms: Vec<(f64, usize)> = (0..230).map(|i| (values[i] * vectors.column(i).sum().powi(2), i)).collect();
        // The terms add up to the sum of the kernel matrix.
        let (sum, whole) = (terms.iter().map(|t| t.0).sum::<f64>(), k.sum());
        assert!((sum / whole - 1.0).abs() < 1e-9);
        terms.sort_by(|a, b| b.0.total_cmp(&a.0));

        let model = Keca { components: 3, candidates: 40, ..Keca::default() }.fit(x.view(), &Silent).unwrap();
        assert!(model.exact && model.spectrum.search.is_some_and(|s| s.converged));
        for (i, &(term, rank)) in terms[..3].iter().enumerate() {
            assert_eq!(model.ranks[i], rank);
            assert!((model.contributions[i] / term - 1.0).abs() < 1e-5);
        }
        // The ranking differs from that by variance, or the test would show nothing.
        assert_ne!(model.ranks, vec![0, 1, 2]);
        // Rows of the fit as if they were new.
        let z = model.embed(x.view()).unwrap();
        let off = (&z - &model.spectrum.scores()).iter().fold(0.0f32, |most, d| most.max(d.abs()));
        assert!(off < 1e-5, "{off}");
        assert_eq!((model.input_width(), model.width()), (2, 3));
    }

    #[test]
    fn few_candidates_are_not_called_exact() {
        let model = Keca { components: 2, candidates: 2, ..Keca::default() }.fit(rows(230).view(), &Silent).unwrap();
        assert!(!model.exact);
    }

    #[test]
    fn equal_rows_work_and_bad_input_is_an_error() {
        let x = Array2::from_shape_fn((30, 2), |(i, j)| (i % 10 * (j + 1)) as f32);
        let model = Keca::default().fit(x.view(), &Silent).unwrap();
        assert!(model.embed(x.view()).unwrap().iter().all(|v| v.is_finite()));
        let fit = |settings: Keca, x: Array2<f32>| settings.fit(x.view(), &Silent);
        refused(fit(Keca { components: 65, ..Keca::default() }, rows(100)), "candidates: expected at least 65");
        refused(fit(Keca { components: 6, ..Keca::default() }, rows(5)), "components: expected 1 to 5");
        refused(fit(Keca { width: 0.0, ..Keca::default() }, rows(5)), "rbf-width: expected a positive number");
        refused(fit(Keca::default(), array![[1.0], [f32::NAN], [0.0]]), "row 2, column 1 is NaN");
        refused(fit(Keca::default(), Array2::zeros((9, 2))), "median");
        refused(model.embed(Array2::zeros((2, 3)).view()), "rows to embed: expected 2 columns");
    }
}
