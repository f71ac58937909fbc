//! Support vector machines.

use dkae::baseline::svm::kernel::SupportVectors;
use dkae::baseline::svm::linear::{Hinge, Solver};
use dkae::baseline::svm::{KernelSvm, KernelSvmModel, LinearSvm};
use dkae::{Error, kernel::Kernel as _};
use ndarray::{Array2, Axis};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::error::to_python;
use crate::kernel::Kernel;
use crate::watch::{Hooks, watched};

/// Coefficients, intercepts, iterations, and what the user should know.
type Linear<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>, Vec<usize>, Vec<String>);

/// What a class is called in messages: what the user called it.
fn called(names: &[String]) -> impl Fn(u32) -> String {
    |class| names.get(class as usize).cloned().unwrap_or_else(|| class.to_string())
}

/// A linear SVM on rows and classes, whose names are for messages.
#[pyfunction]
#[pyo3(signature = (x, classes, names, c, hinge, bias, tolerance, max_iterations, seed))]
#[allow(clippy::too_many_arguments)]
pub fn linear_svm<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f32>,
    classes: PyReadonlyArray1<'py, u32>,
    names: Vec<String>,
    c: f64,
    hinge: bool,
    bias: Option<f64>,
    tolerance: f64,
    max_iterations: usize,
    seed: u64,
) -> PyResult<Linear<'py>> {
    let (x, classes) = (x.as_array(), classes.as_array().to_vec());
    let loss = if hinge { Hinge::L1 } else { Hinge::L2 };
    let settings = LinearSvm { c, loss, bias, tolerance, max_iterations, solver: Solver::Auto, seed };
    let model = watched(py, Hooks::default(), |watch| settings.fit_watched(x, &classes, watch))?;
    let (warnings, iterations) = (model.warnings(called(&names)), model.fits.iter().map(|f| f.iterations).collect());
    Ok((model.coefficients.into_pyarray(py), model.intercepts.into_pyarray(py), iterations, warnings))
}

/// The support vectors of a kernel SVM.
#[pyclass(frozen, module = "dkae._core")]
pub struct SupportVectorModel {
    kernel: Kernel,
    x: Array2<f32>,
    support: SupportVectors,
}

/// Classes, numbers of the support vectors, duals, thresholds.
type Support<'py> = (Vec<u32>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>);

#[pymethods]
impl SupportVectorModel {
    /// Fits on rows and classes, whose names are for messages; also the most steps of a pair of classes, and what the user
    /// should know.
    #[staticmethod]
    #[allow(clippy::too_many_arguments)]
    fn fit<'py>(
        py: Python<'py>,
        kernel: Py<Kernel>,
        x: PyReadonlyArray2<'py, f32>,
        classes: PyReadonlyArray1<'py, u32>,
        names: Vec<String>,
        c: f64,
        tolerance: f64,
        cache_mb: usize,
        max_iterations: usize,
    ) -> PyResult<(Self, usize, Vec<String>)> {
        let kernel = kernel.get().clone();
        let (x, classes) = (x.as_array(), classes.as_array().to_vec());
        let settings = KernelSvm { c, tolerance, cache_mb, max_iterations };
        let support = watched(py, Hooks::default(), |watch| {
            dkae::math::check::finite("X", x)?;
            Ok(settings.fit_precomputed_watched(&*kernel.prior_watched(x, watch)?, &classes, watch)?.support)
        })?;
        let warnings = support.warnings(called(&names));
        let steps = support.fits.iter().map(|f| f.iterations).max().unwrap_or(0);
        let x = x.select(Axis(0), &support.rows);
        Ok((SupportVectorModel { kernel, x, support }, steps, warnings))
    }

    /// A model from its support vectors and [`parts`](SupportVectorModel::parts).
    #[new]
    fn new(
        kernel: Py<Kernel>,
        x: PyReadonlyArray2<f32>,
        classes: Vec<u32>,
        rows: PyReadonlyArray1<i64>,
        duals: PyReadonlyArray2<f64>,
        thresholds: PyReadonlyArray1<f64>,
    ) -> PyResult<Self> {
        let (x, duals, thresholds) = (crate::owned(x.as_array()), duals.as_array().to_owned(), thresholds.as_array());
        let rows: Vec<usize> = rows.as_array().iter().map(|&i| i as usize).collect();
        let pairs = classes.len() * classes.len().saturating_sub(1) / 2;
        if duals.dim() != (rows.len(), pairs) || x.nrows() != rows.len() || thresholds.len() != pairs {
            return Err(to_python(Error::Data("the parts of a support vector machine do not fit together".into())));
        }
        let support = SupportVectors { classes, rows, duals, thresholds: thresholds.to_vec(), fits: Vec::new() };
        Ok(SupportVectorModel { kernel: kernel.get().clone(), x, support })
    }

    /// What [`SupportVectorModel::new`] takes besides the kernel and the rows.
    fn parts<'py>(&self, py: Python<'py>) -> Support<'py> {
        let SupportVectors { classes, rows, duals, thresholds, .. } = self.support.clone();
        let rows: Vec<i64> = rows.into_iter().map(|i| i as i64).collect();
        (classes, rows.into_pyarray(py), duals.into_pyarray(py), thresholds.into_pyarray(py))
    }

    /// Decision values, one column per pair of classes, positive for the first of the two.
    fn decision<'py>(&self, py: Python<'py>, x: PyReadonlyArray2<'py, f32>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (x, pairs) = (x.as_array(), self.support.thresholds.len());
        let model =
            KernelSvmModel::from_parts(&self.kernel, self.x.clone(), self.support.clone()).map_err(to_python)?;
        crate::by_blocks(py, x, pairs, |x| model.decision(x))
    }
}
