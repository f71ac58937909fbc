//! The support vector machine with a kernel, one class against one.
//!
//! Every pair of classes a < b makes a binary problem on the rows of the two, solved by sequential minimal optimisation
//! (`smo.rs`); its decision function is `f(x) = sum_i beta_i K(x_i, x) + threshold`, positive for a. A row goes to the class that
//! wins most pairs, the smallest of equals, as in LIBSVM and scikit-learn's SVC.
//!
//! What costs time is the kernel; `pairs.rs` says which parts of its matrix are computed when, and how much is held.

use ndarray::{Array2, ArrayView2, Axis};
use rayon::prelude::*;

use super::Fit;
use super::pairs::{Pair, Pairs};
use crate::baseline::labelled::Classes;
use crate::kernel::{Kept, Kernel, Prior};
use crate::math::{check, gemm, threads};
use crate::method::Classify;
use crate::progress::{Progress, Silent};
use crate::{Error, Result};

/// Settings of a kernel support vector machine; the defaults are those of scikit-learn's SVC.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelSvm {
    /// The price C of rows inside the margin, above 0. Default 1.
    pub c: f64,
    /// How far the optimality conditions may be missed. Default 1e-3.
    pub tolerance: f64,
    /// The most memory for parts of the kernel matrix, in MB (10^6 bytes), unless two of its rows take more. Default 256.
    pub cache_mb: usize,
    /// The most steps per pair of classes. Default ten million.
    pub max_iterations: usize,
}

impl Default for KernelSvm {
    fn default() -> Self {
        KernelSvm { c: 1.0, tolerance: 1e-3, cache_mb: 256, max_iterations: 10_000_000 }
    }
}

/// What a fit leaves when only a kernel matrix is known: which rows count, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct SupportVectors {
    /// The classes, smallest number first.
    pub classes: Vec<u32>,
    /// The numbers of the training rows that count in at least one pair, in order.
    pub rows: Vec<usize>,
    /// One row per support vector, one column per pair of classes, in the order (0,1), (0,2), ..., (1,2), ...
    pub duals: Array2<f64>,
    /// The threshold of each pair.
    pub thresholds: Vec<f64>,
    /// How the solution of each pair ended.
    pub fits: Vec<Fit>,
}

/// A fitted kernel support vector machine.
pub struct KernelSvmModel<'k> {
    kernel: &'k dyn Kernel,
    /// The rows of the support vectors, and their features.
    kept: Kept,
    width: usize,
    /// Which rows count, and how.
    pub support: SupportVectors,
}

/// A machine fitted on a kernel matrix. The rows that it classifies are kernel values, one for each row of the fit, as those
/// of scikit-learn's SVC with a precomputed kernel.
#[derive(Clone, Debug)]
pub struct MatrixSvmModel {
    width: usize,
    /// Which rows count, and how.
    pub support: SupportVectors,
}

impl KernelSvm {
    /// Fits on rows and their classes.
    pub fn fit<'k>(&self, kernel: &'k dyn Kernel, x: ArrayView2<f32>, labels: &[u32]) -> Result<KernelSvmModel<'k>> {
        self.fit_watched(kernel, x, labels, &Silent)
    }

    /// As [`fit`](Self::fit), with someone to report to.
    pub fn fit_watched<'k>(
        &self,
        kernel: &'k dyn Kernel,
        x: ArrayView2<f32>,
        labels: &[u32],
        progress: &dyn Progress,
    ) -> Result<KernelSvmModel<'k>> {
        let mut models = self.fit_path(kernel, x, labels, &[self.c], progress)?;
        models.pop().ok_or_else(|| Error::Numeric("no model was fitted".into()))
    }

    /// Fits for each of several prices, smallest first; the kernel matrix is computed once for all of them.
    pub(super) fn fit_path<'k>(
        &self,
        kernel: &'k dyn Kernel,
        x: ArrayView2<f32>,
        labels: &[u32],
        prices: &[f64],
        progress: &dyn Progress,
    ) -> Result<Vec<KernelSvmModel<'k>>> {
        let classes = Classes::at_least_two(x.nrows(), labels)?;
        check::finite("rows for a kernel SVM", x)?;
        let prior = kernel.prior_watched(x, progress)?;
        let all = self.solve(&*prior, &classes, prices, progress)?;
        drop(prior);
        let model = |support: SupportVectors| {
            let kept = kernel.keep(x.select(Axis(0), &support.rows), progress)?;
            Ok(KernelSvmModel { kernel, kept, width: x.ncols(), support })
        };
        all.into_iter().map(model).collect()
    }

    /// Fits on a kernel matrix alone, answered block by block.
    pub fn fit_precomputed(&self, prior: &dyn Prior, labels: &[u32]) -> Result<MatrixSvmModel> {
        self.fit_precomputed_watched(prior, labels, &Silent)
    }

    /// As [`fit_precomputed`](Self::fit_precomputed), with someone to report to.
    pub fn fit_precomputed_watched(
        &self,
        prior: &dyn Prior,
        labels: &[u32],
        progress: &dyn Progress,
    ) -> Result<MatrixSvmModel> {
        let mut all = self.fit_matrix_path(prior, labels, &[self.c], progress)?;
        all.pop().ok_or_else(|| Error::Numeric("no model was fitted".into()))
    }

    /// Fits on a kernel matrix for each of several prices, smallest first.
    pub(super) fn fit_matrix_path(
        &self,
        prior: &dyn Prior,
        labels: &[u32],
        prices: &[f64],
        progress: &dyn Progress,
    ) -> Result<Vec<MatrixSvmModel>> {
        let classes = Classes::at_least_two(prior.len(), labels)?;
        let all = self.solve(prior, &classes, prices, progress)?;
        Ok(all.into_iter().map(|support| MatrixSvmModel { width: prior.len(), support }).collect())
    }

    fn check(&self, prices: &[f64]) -> Result<()> {
        if let Some(c) = prices.iter().find(|&&c| !(c > 0.0 && c.is_finite())) {
            return Err(Error::setting("c", format!("expected a number above 0, found {c}; 1 is a good start")));
        }
        if !(self.tolerance > 0.0 && self.tolerance.is_finite()) {
            return Err(Error::setting("tolerance", format!("expected a number above 0, found {}", self.tolerance)));
        }
        if self.cache_mb == 0 {
            return Err(Error::setting("cache_mb", "expected 1 or more, found 0; 256 is the default"));
        }
        if self.max_iterations == 0 {
            return Err(Error::setting("max_iterations", "expected 1 or more, found 0"));
        }
        Ok(())
    }

    /// Solves all pairs for all prices (smallest first).
    fn solve(
        &self,
        prior: &dyn Prior,
        classes: &Classes,
        prices: &[f64],
        progress: &dyn Progress,
    ) -> Result<Vec<SupportVectors>> {
        self.check(prices)?;
        let members = classes.rows();
        let k = members.len();
        let pairs: Vec<(usize, usize)> = (0..k).flat_map(|a| (a + 1..k).map(move |b| (a, b))).collect();
        let solved =
            threads::run(|| Pairs { settings: self, prior, members: &members, prices, progress }.solve(&pairs))?;
        Ok((0..prices.len())
            .map(|price| {
                let pairs: Vec<&Pair> = solved.iter().map(|by_price| &by_price[price]).collect();
                let mut rows: Vec<usize> = pairs.iter().flat_map(|p| p.duals.iter().map(|&(i, _)| i)).collect();
                rows.sort_unstable();
                rows.dedup();
                let mut duals = Array2::zeros((rows.len(), pairs.len()));
                for (column, pair) in pairs.iter().enumerate() {
                    for &(i, b) in &pair.duals {
                        duals[[rows.partition_point(|&r| r < i), column]] = b;
                    }
                }
                SupportVectors {
                    classes: classes.names.clone(),
                    rows,
                    duals,
                    thresholds: pairs.iter().map(|p| p.threshold).collect(),
                    fits: pairs.iter().map(|p| p.fit).collect(),
                }
            })
            .collect())
    }
}

/// Rows per block of decision values.
const BLOCK: usize = 256;

impl SupportVectors {
    /// What the user should know: one line for each pair that stopped at the limit of iterations; `name` is what a class is
    /// called.
    pub fn warnings(&self, name: impl Fn(u32) -> String) -> Vec<String> {
        let stopped = self.names().into_iter().zip(&self.fits).filter(|(_, f)| !f.converged);
        stopped
            .map(|((a, b), f)| {
                let (a, b) = (name(a), name(b));
                format!(
                    "classes {a} and {b}: stopped after {} steps without reaching the tolerance; raise max_iterations or \
                     lower c",
                    f.iterations
                )
            })
            .collect()
    }

    /// The class numbers of each pair.
    pub fn names(&self) -> Vec<(u32, u32)> {
        let k = self.classes.len();
        (0..k).flat_map(|a| (a + 1..k).map(move |b| (self.classes[a], self.classes[b]))).collect()
    }

    /// The decision values of rows, from the kernel between them (rows) and the support vectors (columns): one column per
    /// pair, positive for its first class. (For two classes scikit-learn turns the sign around.)
    pub fn decision(&self, kernel: ArrayView2<f32>) -> Result<Array2<f64>> {
        if kernel.ncols() != self.rows.len() {
            return Err(Error::Data(format!(
                "the kernel matrix has {} columns, but there are {} support vectors; give one column for each, in order",
                kernel.ncols(),
                self.rows.len()
            )));
        }
        check::finite("kernel matrix", kernel)?;
        let mut out = Array2::zeros((kernel.nrows(), self.thresholds.len()));
        let thresholds = ndarray::aview1(&self.thresholds);
        threads::run(|| {
            out.axis_chunks_iter_mut(Axis(0), BLOCK)
                .into_par_iter()
                .zip(kernel.axis_chunks_iter(Axis(0), BLOCK))
                .for_each(|(mut out, kernel)| {
                    out.assign(&thresholds);
                    // Large duals of both signs cancel, so the sum is taken in f64.
                    gemm::sequential(1.0, kernel.mapv(f64::from).view(), self.duals.view(), 1.0, out);
                });
        });
        Ok(out)
    }

    /// The class that wins most pairs, the smallest of equals, from decision values.
    pub fn vote(&self, decision: ArrayView2<f64>) -> Vec<u32> {
        let k = self.classes.len();
        let vote = |values: ndarray::ArrayView1<f64>| {
            let mut votes = vec![0usize; k];
            let pairs = (0..k).flat_map(|a| (a + 1..k).map(move |b| (a, b)));
            for ((a, b), &value) in pairs.zip(values) {
                votes[if value > 0.0 { a } else { b }] += 1;
            }
            self.classes[(0..k).fold(0, |best, c| if votes[c] > votes[best] { c } else { best })]
        };
        decision.rows().into_iter().map(vote).collect()
    }
}

impl<'k> KernelSvmModel<'k> {
    /// A model from its kernel, the rows of its support vectors, and how they count.
    pub fn from_parts(kernel: &'k dyn Kernel, x: Array2<f32>, support: SupportVectors) -> Result<Self> {
        if x.nrows() != support.rows.len() {
            let (rows, vectors) = (x.nrows(), support.rows.len());
            return Err(Error::Data(format!("{vectors} support vectors need as many rows, but there are {rows}")));
        }
        let width = x.ncols();
        Ok(KernelSvmModel { kernel, kept: kernel.keep(x, &Silent)?, width, support })
    }
}

impl KernelSvmModel<'_> {
    /// The decision values of rows, one column per pair of classes; see [`SupportVectors::decision`].
    pub fn decision(&self, x: ArrayView2<f32>) -> Result<Array2<f64>> {
        check::width("rows for a kernel SVM", x, self.width)?;
        check::finite("rows for a kernel SVM", x)?;
        let mut out = Array2::zeros((x.nrows(), self.support.thresholds.len()));
        // A block of the kernel matrix at a time.
        for (mut out, x) in out.axis_chunks_iter_mut(Axis(0), 2 * BLOCK).zip(x.axis_chunks_iter(Axis(0), 2 * BLOCK)) {
            let mut kernel = Array2::zeros((x.nrows(), self.support.rows.len()));
            threads::run(|| self.kernel.between_kept(x, &self.kept, kernel.view_mut()))?;
            out.assign(&self.support.decision(kernel.view())?);
        }
        Ok(out)
    }
}

impl Classify for KernelSvmModel<'_> {
    fn input_width(&self) -> usize {
        self.width
    }

    fn classify(&self, x: ArrayView2<f32>) -> Result<Vec<u32>> {
        Ok(self.support.vote(self.decision(x)?.view()))
    }
}

impl Classify for MatrixSvmModel {
    fn input_width(&self) -> usize {
        self.width
    }

    fn classify(&self, kernel: ArrayView2<f32>) -> Result<Vec<u32>> {
        check::width("kernel values for a kernel SVM", kernel, self.width)?;
        let values = kernel.select(Axis(1), &self.support.rows);
        Ok(self.support.vote(self.support.decision(values.view())?.view()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, Formula, LINEAR, POLYNOMIAL, RBF, refused, two_classes};
    use crate::math::rng;
    use ndarray::array;
    use rand::RngExt;

    fn exact() -> KernelSvm {
        KernelSvm { c: 5.0, tolerance: 1e-10, ..KernelSvm::default() }
    }

    fn clouds(n: usize, classes: usize) -> (Array2<f32>, Vec<u32>) {
        let mut rng = rng::stream(4, rng::Purpose::Demo, n as u64, 0);
        let labels: Vec<u32> = (0..n).map(|i| (i % classes) as u32).collect();
        let x = Array2::from_shape_fn((n, 3), |(i, j)| {
            rng.random::<f32>() * 2.0 + if j == i % classes { 1.0 } else { 0.0 }
        });
        (x, labels)
    }

    #[test]
    fn decision_values_agree_with_scikit_learn() {
        let all = Fixture::load("svm");
        let (x, labels) = (all.array("x"), all.value::<Vec<u32>>("labels"));
        let queries = all.array("queries");
        for (name, kernel) in [("rbf", RBF), ("linear", LINEAR), ("polynomial", POLYNOMIAL)] {
            let want = all.part("kernel").part(name);
            let model = exact().fit(&kernel, x.view(), &labels).unwrap();
            let off = model.decision(queries.view()).unwrap() - want.matrix("decision");
            assert!(off.iter().all(|d| d.abs() < 1e-6), "{name}: {off}");
            assert_eq!(model.classify(queries.view()).unwrap(), want.value::<Vec<u32>>("predicted"), "{name}");
            assert_eq!(model.support.rows, want.value::<Vec<usize>>("support"), "{name}");
            assert_eq!(model.support.names(), [(3, 5), (3, 7), (5, 7)]);

            let prior = kernel.prior(x.view()).unwrap();
            assert_eq!(exact().fit_precomputed(&*prior, &labels).unwrap().support, model.support, "{name}");
        }
    }

    #[test]
    fn of_two_classes_the_first_is_positive() {
        let all = Fixture::load("svm");
        let (x, labels) = two_classes(&all.array("x"), &all.value::<Vec<u32>>("labels"));
        let queries = all.array("queries");
        let model = exact().fit(&RBF, x.view(), &labels).unwrap();
        let want: Vec<f64> = all.part("kernel_two").value("decision");
        let got = model.decision(queries.view()).unwrap();
        assert_eq!(got.dim(), (want.len(), 1));
        assert!(got.iter().zip(want).all(|(a, b)| (a + b).abs() < 1e-6));
        assert_eq!(model.classify(queries.view()).unwrap(), all.part("kernel_two").value::<Vec<u32>>("predicted"));
    }

    #[test]
    fn two_points_have_the_solution_one_computes_by_hand() {
        // K = [[1, 0], [0, 4]], y = (1, -1): b = (t, -t) minimises 5 t^2 / 2 - 2 t, so t = 0.4; with v = y - K b the
        // threshold is the mean of 1 - 0.4 and -1 + 1.6.
        let x = array![[1.0, 0.0], [0.0, 2.0]];
        let found = exact().fit(&LINEAR, x.view(), &[0, 1]).unwrap().support;
        assert!((found.duals[[0, 0]] - 0.4).abs() < 1e-12 && (found.duals[[1, 0]] + 0.4).abs() < 1e-12);
        assert!((found.thresholds[0] - 0.6).abs() < 1e-12);
        let capped = KernelSvm { c: 0.1, ..exact() }.fit(&LINEAR, x.view(), &[0, 1]).unwrap().support;
        assert_eq!(capped.duals, array![[0.1], [-0.1]]);
        // No dual is free: v = (0.9, -0.6), which may go down and up only; the middle is 0.15.
        assert!((capped.thresholds[0] - 0.15).abs() < 1e-7);
    }

    #[test]
    fn working_sets_end_where_whole_matrices_do() {
        let (x, labels) = clouds(700, 2);
        let whole = KernelSvm { c: 3.0, tolerance: 1e-8, ..KernelSvm::default() };
        let parts = KernelSvm { cache_mb: 1, ..whole.clone() };
        let prices = [0.5, 3.0];
        let (a, b) = (
            whole.fit_path(&RBF, x.view(), &labels, &prices, &Silent).unwrap(),
            parts.fit_path(&RBF, x.view(), &labels, &prices, &Silent).unwrap(),
        );
        for (a, b) in a.iter().zip(&b) {
            assert!(a.support.fits[0].converged && b.support.fits[0].converged);
            let off = a.decision(x.view()).unwrap() - b.decision(x.view()).unwrap();
            assert!(off.iter().all(|d| d.abs() < 1e-5), "{:?}", off.iter().fold(0.0f64, |m, d| m.max(d.abs())));
        }
    }

    #[test]
    fn classes_that_cannot_all_be_kept_give_the_same_solution() {
        // 3 x 220 rows: the blocks of two classes with themselves fit in half a megabyte, the third does not.
        let (x, labels) = clouds(660, 3);
        let fit =
            |cache_mb| KernelSvm { cache_mb, tolerance: 1e-6, ..KernelSvm::default() }.fit(&RBF, x.view(), &labels);
        assert_eq!(fit(1).unwrap().support, fit(64).unwrap().support);
    }

    #[test]
    fn votes_that_tie_go_to_the_smallest_class() {
        let support = SupportVectors {
            classes: vec![2, 4, 8],
            rows: vec![],
            duals: Array2::zeros((0, 3)),
            thresholds: vec![0.0; 3],
            fits: vec![],
        };
        // 2 beats 4, 4 beats 8, 8 beats 2; then 8 beats both; and exactly zero is a vote for the second, as in LIBSVM.
        let values = array![[1.0, -1.0, 1.0], [1.0, -1.0, -1.0], [0.0, 0.0, 0.0]];
        assert_eq!(support.vote(values.view()), [2, 8, 8]);
    }

    #[test]
    fn one_thread_and_many_give_the_same_bits() {
        let (x, labels) = clouds(200, 4);
        let run = |threads| {
            crate::math::threads::with_count(threads, || {
                let model = KernelSvm::default().fit(&RBF, x.view(), &labels).unwrap();
                model.support
            })
        };
        assert_eq!(run(1), run(3));
    }

    #[test]
    fn equal_rows_of_different_classes_do_not_stop_it() {
        let x = array![[1.0], [1.0], [1.0], [0.0]];
        let model = KernelSvm::default().fit(&RBF, x.view(), &[0, 1, 0, 1]).unwrap();
        assert!(model.support.fits[0].converged);
        assert!(model.decision(x.view()).unwrap().iter().all(|v| v.is_finite()));
    }

    #[test]
    fn bad_input_and_limits_are_reported() {
        let (x, labels) = clouds(60, 2);
        let error = |settings: KernelSvm| settings.fit(&RBF, x.view(), &labels).map(|_| ()).unwrap_err().to_string();
        assert!(error(KernelSvm { c: -1.0, ..KernelSvm::default() }).starts_with("c: expected a number above 0"));
        assert!(error(KernelSvm { tolerance: f64::NAN, ..KernelSvm::default() }).starts_with("tolerance:"));
        assert!(error(KernelSvm { cache_mb: 0, ..KernelSvm::default() }).starts_with("cache_mb:"));
        assert!(error(KernelSvm { max_iterations: 0, ..KernelSvm::default() }).starts_with("max_iterations:"));
        let svm = KernelSvm::default();
        let message =
            |x: ArrayView2<f32>, labels: &[u32]| svm.fit(&RBF, x, labels).map(|_| ()).unwrap_err().to_string();
        assert!(message(x.view(), &[1; 60]).contains("at least two classes"));
        assert!(message(x.view(), &[1; 59]).contains("60 rows but 59 labels"));
        assert!(message(array![[f32::NAN], [1.0]].view(), &[0, 1]).contains("row 1, column 1"));
        const WRONG: Formula = Formula(|a, b| if a[0] == b[0] { 1.0 } else { f64::NAN });
        let wrong = svm.fit(&WRONG, array![[0.0], [1.0]].view(), &[0, 1]).map(|_| ()).unwrap_err().to_string();
        assert!(wrong.contains("kernel between rows 1 and 2 is NaN"), "{wrong}");
        let model = svm.fit(&RBF, x.view(), &labels).unwrap();
        refused(model.classify(array![[0.0]].view()), "rows for a kernel SVM: expected 3 columns");
        let short = KernelSvm { max_iterations: 2, ..svm }.fit(&RBF, x.view(), &labels).unwrap();
        assert_eq!(short.support.fits, [Fit { iterations: 2, converged: false }]);
        assert!(short.support.warnings(|c| c.to_string())[0].starts_with("classes 0 and 1: stopped after 2 steps"));
    }
}
