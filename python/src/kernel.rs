//! A fitted kernel of rows.

use std::sync::Arc;

use dkae::kernel::{self as kernels, FittedPck, Kept, KernelSpec, Prior, Width};
use dkae::progress::Progress;
use dkae::{Error, Result};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::error::to_python;
use crate::watch::{Hooks, watched};

/// Where rows begin, columns, values, and how many columns there are.
type CsrParts<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<f32>>, usize);

/// A kernel that was fitted on rows, and what it takes to fit it the same way again.
#[pyclass(frozen, module = "dkae._core")]
#[derive(Clone)]
pub struct Kernel {
    fitted: Fitted,
    spec: KernelSpec,
    rows: Arc<Array2<f32>>,
    of_prepared: bool,
}

#[derive(Clone)]
enum Fitted {
    /// Has posteriors besides.
    Pck(Arc<FittedPck>),
    Other(Arc<dyn kernels::Kernel>),
}

impl Kernel {
    /// Fits a kernel; `of_prepared` says that its rows are those that a model prepared.
    pub fn fit(spec: &KernelSpec, x: ArrayView2<f32>, of_prepared: bool, progress: &dyn Progress) -> Result<Self> {
        let (spec, rows, fitted) = match spec {
            KernelSpec::Pck(settings) => {
                let rows = x.select(Axis(0), &settings.drawn(x.nrows()));
                (spec.clone(), rows, Fitted::Pck(Arc::new(settings.fit_watched(x, progress)?)))
            }
            KernelSpec::Rbf(settings) => {
                let rbf = settings.fit(x)?;
                let spec = KernelSpec::Rbf(kernels::Rbf { width: Width::Value(rbf.sigma()), seed: settings.seed });
                // The centre of the rows is all that is left to know once the width is.
                let centre = x.mean_axis(Axis(0)).ok_or_else(|| Error::Data("there are no rows".into()))?;
                (spec, centre.insert_axis(Axis(0)), Fitted::Other(Arc::new(rbf)))
            }
            // The others depend on the width of rows only.
            _ => (spec.clone(), Array2::zeros((1, x.ncols())), Fitted::Other(spec.fit_watched(x, progress)?.into())),
        };
        Ok(Kernel { fitted, spec, rows: Arc::new(rows), of_prepared })
    }

    /// Whether its rows are those that a model prepared.
    pub fn of_prepared(&self) -> bool {
        self.of_prepared
    }

    /// The kernel itself.
    pub fn fitted(&self) -> &dyn kernels::Kernel {
        match &self.fitted {
            Fitted::Pck(pck) => &**pck,
            Fitted::Other(kernel) => &**kernel,
        }
    }

    /// Its settings.
    pub fn spec(&self) -> &KernelSpec {
        &self.spec
    }

    /// The mixtures, when it is a probabilistic cluster kernel.
    pub fn pck(&self) -> Option<&FittedPck> {
        match &self.fitted {
            Fitted::Pck(pck) => Some(pck),
            Fitted::Other(_) => None,
        }
    }
}

/// So that a model may own one.
impl kernels::Kernel for Kernel {
    fn prior<'a>(&'a self, x: ArrayView2<'a, f32>) -> Result<Box<dyn Prior + 'a>> {
        self.fitted().prior(x)
    }

    fn prior_watched<'a>(&'a self, x: ArrayView2<'a, f32>, progress: &dyn Progress) -> Result<Box<dyn Prior + 'a>> {
        self.fitted().prior_watched(x, progress)
    }

    fn between(&self, a: ArrayView2<f32>, b: ArrayView2<f32>, out: ArrayViewMut2<f32>) -> Result<()> {
        self.fitted().between(a, b, out)
    }

    fn keep(&self, x: Array2<f32>, progress: &dyn Progress) -> Result<Kept> {
        self.fitted().keep(x, progress)
    }

    fn between_kept(&self, a: ArrayView2<f32>, b: &Kept, out: ArrayViewMut2<f32>) -> Result<()> {
        self.fitted().between_kept(a, b, out)
    }

    fn describe(&self) -> String {
        self.fitted().describe()
    }
}

/// A kernel's settings from JSON.
pub fn spec(json: &str) -> Result<KernelSpec> {
    serde_json::from_str(json).map_err(|e| Error::setting("kernel", e.to_string()))
}

#[pymethods]
impl Kernel {
    /// Fits the kernel that `spec` (JSON) describes on rows; `listener` hears how far it is.
    #[new]
    #[pyo3(signature = (spec, x, of_prepared = false, listener = None))]
    fn new(
        py: Python<'_>,
        spec: &str,
        x: PyReadonlyArray2<f32>,
        of_prepared: bool,
        listener: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let x = x.as_array();
        watched(py, Hooks { listener, ..Hooks::default() }, |watch| {
            Kernel::fit(&self::spec(spec)?, x, of_prepared, watch)
        })
    }

    /// The kernel between rows.
    fn between<'py>(
        &self,
        py: Python<'py>,
        a: PyReadonlyArray2<'py, f32>,
        b: PyReadonlyArray2<'py, f32>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let (a, b) = (a.as_array(), b.as_array());
        if self.pck().is_none() {
            return crate::by_blocks(py, a, b.nrows(), |a| {
                let mut out = Array2::zeros((a.nrows(), b.nrows()));
                self.fitted().between(a, b, out.view_mut())?;
                Ok(out)
            });
        }
        let mut out = crate::zeros(a.nrows(), b.nrows())?;
        watched(py, Hooks::default(), |watch| match self.pck() {
            Some(pck) => pck.between_watched(a, b, out.view_mut(), watch),
            None => Ok(()),
        })?;
        Ok(out.into_pyarray(py))
    }

    /// The posteriors of rows as the parts of a sparse matrix; only of a probabilistic cluster kernel.
    fn posteriors<'py>(&self, py: Python<'py>, x: PyReadonlyArray2<'py, f32>) -> PyResult<CsrParts<'py>> {
        let x = x.as_array();
        let (begins, columns, values, width) = watched(py, Hooks::default(), |watch| {
            let pck = self.pck().ok_or_else(|| Error::setting("kernel", "has no posteriors: it is not a PCK"))?;
            let posteriors = pck.posteriors_watched(x, watch)?;
            let (begins, columns, values) = posteriors.to_csr();
            let begins: Vec<i64> = begins.into_iter().map(|b| b as i64).collect();
            let columns: Vec<i32> = columns.into_iter().map(|c| c as i32).collect();
            Ok((begins, columns, values, posteriors.columns()))
        })?;
        Ok((begins.into_pyarray(py), columns.into_pyarray(py), values.into_pyarray(py), width))
    }

    /// One line for people.
    fn describe(&self) -> String {
        self.fitted().describe()
    }

    /// Mixtures that were fitted, how many of them converged, and the iterations of all together; only of a
    /// probabilistic cluster kernel.
    fn mixtures(&self) -> Option<(usize, usize, usize)> {
        let summary = self.pck()?.summary();
        Some((summary.mixtures, summary.converged, summary.iterations))
    }

    /// What [`Kernel::new`] takes to make the same kernel.
    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<(String, Bound<'py, PyArray2<f32>>, bool)> {
        let spec = serde_json::to_string(&self.spec).map_err(|e| to_python(Error::Numeric(e.to_string())))?;
        Ok((spec, self.rows.as_ref().clone().into_pyarray(py), self.of_prepared))
    }
}
