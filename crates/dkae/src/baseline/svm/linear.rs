//! The linear support vector machine, one class against the rest.
//!
//! For each class with signs y = +1 (the class) and -1 (the rest) it minimises, with the intercept as one more weight on a
//! constant feature (so it is regularised too, as in LIBLINEAR and scikit-learn's LinearSVC),
//!
//! ```text
//! 1/2 |w|^2 + C sum_i max(0, 1 - y_i w.x_i)^p      p = 2: squared hinge (default), p = 1: hinge
//! ```
//!
//! Two classes make one problem, and a positive decision value then means the second of them.
//!
//! Two solvers reach the same optimum. [`Solver::Newton`] works on the weights, needs the squared hinge, and goes over the
//! rows once for all classes (`newton.rs`). [`Solver::Descent`] is dual coordinate descent (Hsieh et al. 2008), for both
//! losses (`descent.rs`). Newton is the default where it applies: its factored second derivative makes it insensitive to
//! badly scaled features, where coordinate descent takes very many sweeps.

use ndarray::{Array1, Array2, ArrayView2, Axis, CowArray, Ix2, s};
use rayon::prelude::*;

use crate::baseline::labelled::Classes;
use crate::baseline::svm::{Fit, descent, newton};
use crate::math::{check, gemm, threads};
use crate::method::Classify;
use crate::progress::{Progress, Silent};
use crate::{Error, Result};

/// What a row on the wrong side of its margin costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hinge {
    /// The square of the distance to the margin.
    #[default]
    L2,
    /// The distance to the margin.
    L1,
}

/// How the optimum is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Solver {
    /// Newton for the squared hinge on rows of at most [`NEWTON_WIDTH`] features, coordinate descent otherwise.
    #[default]
    Auto,
    /// Newton's method on the weights, all classes at once; squared hinge only.
    Newton,
    /// Dual coordinate descent, class by class; any loss and any width.
    Descent,
}

/// The widest rows for which [`Solver::Auto`] takes Newton's method: it holds a few matrices of width x width in f64
/// (128 MB each at this width).
pub const NEWTON_WIDTH: usize = 4096;

/// Settings of a linear support vector machine; the defaults are those of scikit-learn's LinearSVC.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearSvm {
    /// The price C of rows inside the margin, above 0. Default 1.
    pub c: f64,
    /// The loss. Default [`Hinge::L2`].
    pub loss: Hinge,
    /// The value of the constant feature that carries the intercept (scikit-learn's `intercept_scaling`); `None` for a
    /// plane through the origin. Default 1.
    pub bias: Option<f64>,
    /// When to stop. Newton: the gradient is this times its value at zero weights, times the share of the smaller side.
    /// Descent: the spread of the projected gradient. Both as in LIBLINEAR. Default 1e-4.
    pub tolerance: f64,
    /// The most Newton steps or sweeps per class. Default 1000.
    pub max_iterations: usize,
    /// The solver. Default [`Solver::Auto`].
    pub solver: Solver,
    /// The seed of the order in which coordinate descent visits rows. Default 0.
    pub seed: u64,
}

impl Default for LinearSvm {
    fn default() -> Self {
        LinearSvm {
            c: 1.0,
            loss: Hinge::L2,
            bias: Some(1.0),
            tolerance: 1e-4,
            max_iterations: 1000,
            solver: Solver::Auto,
            seed: 0,
        }
    }
}

/// The binary problems of one training set.
pub(super) struct Problem<'a> {
    /// The rows, contiguous.
    pub x: CowArray<'a, f32, Ix2>,
    /// The sign of each row (columns) in each problem (rows).
    pub signs: Array2<f32>,
    /// The constant feature; 0 without an intercept.
    pub bias: f64,
}

impl Problem<'_> {
    /// Weights per problem, the constant feature's included.
    pub fn width(&self) -> usize {
        self.x.ncols() + 1
    }

    /// One row of features.
    pub fn row(&self, i: usize) -> &[f32] {
        let d = self.x.ncols();
        &self.x.as_slice().expect("made contiguous by fit_path()")[i * d..(i + 1) * d]
    }
}

impl LinearSvm {
    /// Fits on rows and their classes.
    pub fn fit(&self, x: ArrayView2<f32>, labels: &[u32]) -> Result<LinearSvmModel> {
        self.fit_watched(x, labels, &Silent)
    }

    /// As [`fit`](Self::fit), with someone to report to.
    pub fn fit_watched(&self, x: ArrayView2<f32>, labels: &[u32], progress: &dyn Progress) -> Result<LinearSvmModel> {
        let mut model = None;
        self.fit_path(x, labels, &[self.c], progress, &mut |_, fitted| {
            model = Some(fitted);
            Ok(())
        })?;
        model.ok_or_else(|| Error::Numeric("no model was fitted".into()))
    }

    /// Fits for each price in turn (Newton steps begin where those for the price before ended), and hands over every model.
    pub(super) fn fit_path(
        &self,
        x: ArrayView2<f32>,
        labels: &[u32],
        prices: &[f64],
        progress: &dyn Progress,
        each: &mut (dyn FnMut(f64, LinearSvmModel) -> Result<()> + Send),
    ) -> Result<()> {
        self.check(x, prices)?;
        let classes = Classes::at_least_two(x.nrows(), labels)?;
        check::finite("rows for a linear SVM", x)?;
        let newton = match self.solver {
            Solver::Auto => self.loss == Hinge::L2 && x.ncols() <= NEWTON_WIDTH,
            Solver::Newton => true,
            Solver::Descent => false,
        };
        // Two classes are one problem: the second against the first.
        let positive: Vec<usize> = if classes.names.len() == 2 { vec![1] } else { (0..classes.names.len()).collect() };
        let signs = Array2::from_shape_fn((positive.len(), x.nrows()), |(k, i)| {
            if classes.of_row[i] == positive[k] { 1.0 } else { -1.0 }
        });
        let problem = Problem { x: x.as_standard_layout(), signs, bias: self.bias.unwrap_or(0.0) };
        threads::run(|| {
            let mut weights = Array2::zeros((positive.len(), problem.width()));
            let newton = if newton { Some(newton::Newton::new(&problem, progress)?) } else { None };
            for &c in prices {
                let fits = match &newton {
                    Some(newton) => newton.solve(c, self.tolerance, self.max_iterations, &mut weights, progress)?,
                    None => descent::solve(&problem, c, self, &mut weights, progress)?,
                };
                let coefficients = weights.slice(s![.., ..x.ncols()]).to_owned();
                let intercepts = weights.column(x.ncols()).mapv(|w| w * problem.bias);
                each(c, LinearSvmModel { classes: classes.names.clone(), coefficients, intercepts, fits })?;
            }
            Ok(())
        })
    }

    fn check(&self, x: ArrayView2<f32>, prices: &[f64]) -> Result<()> {
        if let Some(c) = prices.iter().find(|&&c| !(c > 0.0 && c.is_finite())) {
            return Err(Error::setting("c", format!("expected a number above 0, found {c}; 1 is a good start")));
        }
        if !(self.tolerance > 0.0 && self.tolerance.is_finite()) {
            return Err(Error::setting("tolerance", format!("expected a number above 0, found {}", self.tolerance)));
        }
        if self.max_iterations == 0 {
            return Err(Error::setting("max_iterations", "expected 1 or more, found 0"));
        }
        if let Some(bias) = self.bias.filter(|b| !(*b > 0.0 && b.is_finite())) {
            return Err(Error::setting(
                "bias",
                format!("expected a number above 0, found {bias}; use none for no intercept"),
            ));
        }
        if self.solver == Solver::Newton && self.loss == Hinge::L1 {
            return Err(Error::setting("solver", "Newton's method needs the squared hinge; use descent for the hinge"));
        }
        if x.ncols() == 0 {
            return Err(Error::Data("rows have no features".into()));
        }
        Ok(())
    }
}

/// A fitted linear support vector machine.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearSvmModel {
    /// The classes, smallest number first.
    pub classes: Vec<u32>,
    /// One row of weights per problem: per class, or a single row for two classes.
    pub coefficients: Array2<f64>,
    /// One intercept per problem.
    pub intercepts: Array1<f64>,
    /// How each problem ended.
    pub fits: Vec<Fit>,
}

/// Rows per block of decision values.
const BLOCK: usize = 256;

impl LinearSvmModel {
    /// What the user should know: one line for each problem that stopped at the limit of iterations; `name` is what a class is
    /// called.
    pub fn warnings(&self, name: impl Fn(u32) -> String) -> Vec<String> {
        let stopped = self.fits.iter().enumerate().filter(|(_, f)| !f.converged);
        let shift = usize::from(self.classes.len() == 2);
        stopped
            .map(|(k, f)| {
                format!(
                    "class {}: stopped after {} iterations without reaching the tolerance; raise max_iterations, scale the \
                     features or lower c",
                    name(self.classes[k + shift]),
                    f.iterations
                )
            })
            .collect()
    }

    /// The decision values `x.w + b`, one column per problem.
    pub fn decision(&self, x: ArrayView2<f32>) -> Result<Array2<f64>> {
        check::width("rows for a linear SVM", x, self.coefficients.ncols())?;
        check::finite("rows for a linear SVM", x)?;
        let mut out = Array2::zeros((x.nrows(), self.intercepts.len()));
        threads::run(|| {
            out.axis_chunks_iter_mut(Axis(0), BLOCK).into_par_iter().zip(x.axis_chunks_iter(Axis(0), BLOCK)).for_each(
                |(mut out, x)| {
                    out.assign(&self.intercepts);
                    gemm::sequential(1.0, x.mapv(f64::from).view(), self.coefficients.t(), 1.0, out);
                },
            );
        });
        Ok(out)
    }
}

impl Classify for LinearSvmModel {
    fn input_width(&self) -> usize {
        self.coefficients.ncols()
    }

    fn classify(&self, x: ArrayView2<f32>) -> Result<Vec<u32>> {
        let values = self.decision(x)?;
        let name = |row: ndarray::ArrayView1<f64>| match row.len() {
            1 => self.classes[usize::from(row[0] > 0.0)],
            // The first of equals, as in scikit-learn.
            _ => self.classes[row.iter().enumerate().fold(0, |best, (k, &v)| if v > row[best] { k } else { best })],
        };
        Ok(values.rows().into_iter().map(name).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, Impatient, refused, two_classes};
    use crate::math::rng;
    use ndarray::array;
    use rand::RngExt;

    fn exact() -> LinearSvm {
        LinearSvm { c: 0.7, tolerance: 1e-10, max_iterations: 1_000_000, ..LinearSvm::default() }
    }

    /// Two overlapping clouds per class in `d` dimensions, the first feature a hundred times as large as the rest.
    fn clouds(n: usize, d: usize, classes: usize) -> (Array2<f32>, Vec<u32>) {
        let mut rng = rng::stream(2, rng::Purpose::Demo, n as u64, d as u64);
        let labels: Vec<u32> = (0..n).map(|i| (i % classes) as u32).collect();
        let x = Array2::from_shape_fn((n, d), |(i, j)| {
            let centre = if j % classes == i % classes { 0.5 } else { 0.0 };
            (centre + rng.random::<f32>() - 0.5) * if j == 0 { 100.0 } else { 1.0 }
        });
        (x, labels)
    }

    #[test]
    fn weights_agree_with_scikit_learn() {
        let all = Fixture::load("svm");
        let (x, labels) = (all.array("x"), all.value::<Vec<u32>>("labels"));
        let queries = all.array("queries");
        let (x2, labels2) = two_classes(&x, &labels);
        let squared = exact();
        let hinge = LinearSvm { loss: Hinge::L1, ..exact() };
        let scaled = LinearSvm { bias: Some(2.0), ..exact() };
        let origin = LinearSvm { bias: None, ..exact() };
        let cases =
            [("squared", squared.clone()), ("hinge", hinge), ("scaled", scaled), ("origin", origin), ("two", squared)];
        for (name, settings) in cases {
            for solver in [Solver::Newton, Solver::Descent] {
                if settings.loss == Hinge::L1 && solver == Solver::Newton {
                    continue;
                }
                let (x, labels) = if name == "two" { (&x2, &labels2) } else { (&x, &labels) };
                let model = LinearSvm { solver, ..settings.clone() }.fit(x.view(), labels).unwrap();
                let want = all.part("linear").part(name);
                let coefficients = want.matrix("coefficients");
                assert_eq!(model.coefficients.dim(), coefficients.dim(), "{name}");
                let off = &model.coefficients - &coefficients;
                assert!(off.iter().all(|d| d.abs() < 1e-6), "{name} {solver:?}: {off}");
                let want_intercepts: Vec<f64> = want.value("intercepts");
                assert_eq!(model.intercepts.len(), want_intercepts.len(), "{name}");
                assert!(model.intercepts.iter().zip(want_intercepts).all(|(a, b)| (a - b).abs() < 1e-6), "{name}");
                assert_eq!(model.classify(queries.view()).unwrap(), want.value::<Vec<u32>>("predicted"), "{name}");
                assert!(
                    model.fits.iter().all(|f| f.converged) && model.warnings(|c| c.to_string()).is_empty(),
                    "{name} {solver:?}"
                );
            }
        }
    }

    #[test]
    fn at_newtons_optimum_the_gradient_vanishes() {
        let (x, labels) = clouds(300, 23, 4);
        let model = LinearSvm { solver: Solver::Newton, ..exact() }.fit(x.view(), &labels).unwrap();
        let values = model.decision(x.view()).unwrap();
        for k in 0..4 {
            let (mut gradient, mut intercept) = (model.coefficients.row(k).to_owned(), model.intercepts[k]);
            for i in 0..300 {
                let y = if labels[i] == k as u32 { 1.0 } else { -1.0 };
                let inside = (1.0 - y * values[[i, k]]).max(0.0);
                gradient.scaled_add(-2.0 * 0.7 * y * inside, &x.row(i).mapv(f64::from));
                intercept -= 2.0 * 0.7 * y * inside;
            }
            // Of a sum of 300 rows of which one feature is 100 times the rest.
            assert!(gradient.iter().all(|g| g.abs() < 1e-5) && intercept.abs() < 1e-5, "{gradient} {intercept}");
        }
    }

    #[test]
    fn both_solvers_end_at_the_same_weights() {
        let (mut x, labels) = clouds(200, 70, 3);
        x.column_mut(0).mapv_inplace(|v| v / 100.0);
        let fit = |solver| LinearSvm { solver, ..exact() }.fit(x.view(), &labels).unwrap();
        let (newton, descent) = (fit(Solver::Newton), fit(Solver::Descent));
        let off = &newton.coefficients - &descent.coefficients;
        assert!(off.iter().all(|d| d.abs() < 1e-7), "{off}");
    }

    #[test]
    fn one_thread_and_many_give_the_same_bits() {
        let (x, labels) = clouds(500, 30, 3);
        for loss in [Hinge::L2, Hinge::L1] {
            let run = |threads| {
                crate::math::threads::with_count(threads, || {
                    LinearSvm { loss, max_iterations: 50, ..LinearSvm::default() }.fit(x.view(), &labels).unwrap()
                })
            };
            assert_eq!(run(1), run(3));
        }
    }

    #[test]
    fn a_limit_that_is_hit_is_reported() {
        let (x, labels) = clouds(200, 10, 3);
        for solver in [Solver::Newton, Solver::Descent] {
            let model = LinearSvm { solver, max_iterations: 1, tolerance: 1e-12, ..LinearSvm::default() };
            let model = model.fit(x.view(), &labels).unwrap();
            assert_eq!(model.fits[2], Fit { iterations: 1, converged: false });
            let warnings = model.warnings(|class| format!("no. {class}"));
            assert!(warnings[2].starts_with("class no. 2: stopped after 1 iterations"), "{warnings:?}");
        }
    }

    #[test]
    fn rows_of_zeros_do_no_harm() {
        let x = array![[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]];
        for (loss, solver) in [(Hinge::L1, Solver::Descent), (Hinge::L2, Solver::Descent), (Hinge::L2, Solver::Newton)]
        {
            for bias in [None, Some(1.0)] {
                let settings = LinearSvm { loss, solver, bias, ..LinearSvm::default() };
                let model = settings.fit(x.view(), &[0, 1, 1, 0]).unwrap();
                assert_eq!(model.classify(array![[2.0, 0.0], [-2.0, 0.0]].view()).unwrap(), [1, 0]);
                assert!(model.coefficients.iter().all(|v| v.is_finite()));
            }
        }
    }

    #[test]
    fn classes_that_no_plane_tells_apart_end_at_once() {
        // The corners of a square, opposite ones alike: zero weights are best, and rounding must not be chased.
        let x = array![[0.1, 0.3], [-0.1, -0.3], [0.1, -0.3], [-0.1, 0.3]];
        let x = ndarray::concatenate![ndarray::Axis(0), x, x, x];
        let labels = [0, 0, 1, 1].repeat(3);
        for solver in [Solver::Newton, Solver::Descent] {
            let model = LinearSvm { solver, ..LinearSvm::default() }.fit(x.view(), &labels).unwrap();
            assert!(model.fits[0].converged && model.coefficients.iter().all(|w| w.abs() < 1e-3), "{model:?}");
        }
    }

    #[test]
    fn bad_input_is_refused() {
        let (x, labels) = (array![[0.0f32], [1.0], [2.0]], [0, 1, 1]);
        let error = |settings: LinearSvm| settings.fit(x.view(), &labels).unwrap_err().to_string();
        assert!(error(LinearSvm { c: 0.0, ..LinearSvm::default() }).starts_with("c: expected a number above 0"));
        assert!(error(LinearSvm { c: f64::NAN, ..LinearSvm::default() }).starts_with("c:"));
        assert!(error(LinearSvm { tolerance: 0.0, ..LinearSvm::default() }).starts_with("tolerance:"));
        assert!(error(LinearSvm { bias: Some(-1.0), ..LinearSvm::default() }).starts_with("bias:"));
        assert!(error(LinearSvm { max_iterations: 0, ..LinearSvm::default() }).starts_with("max_iterations:"));
        let newton = LinearSvm { loss: Hinge::L1, solver: Solver::Newton, ..LinearSvm::default() };
        assert!(error(newton).starts_with("solver:"));
        let svm = LinearSvm::default();
        assert!(svm.fit(x.view(), &[1, 1, 1]).unwrap_err().to_string().contains("at least two classes"));
        assert!(svm.fit(x.view(), &[1, 0]).unwrap_err().to_string().contains("3 rows but 2 labels"));
        assert!(
            svm.fit(array![[0.0], [f32::NAN]].view(), &[0, 1]).unwrap_err().to_string().contains("row 2, column 1")
        );
        let model = svm.fit(x.view(), &labels).unwrap();
        refused(model.classify(array![[0.0, 1.0]].view()), "rows for a linear SVM: expected 1 columns");
    }

    #[test]
    fn a_wish_to_stop_is_granted() {
        let (x, labels) = clouds(50, 5, 2);
        for solver in [Solver::Newton, Solver::Descent] {
            let result = LinearSvm { solver, ..LinearSvm::default() }.fit_watched(x.view(), &labels, &Impatient);
            assert!(matches!(result, Err(Error::Interrupted)));
        }
    }
}
