//! Kernel PCA and kernel entropy components.

use dkae::Embed;
use dkae::baseline::{Keca, Kpca, KpcaModel, Spectrum};
use ndarray::Array1;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::error::to_python;
use crate::kernel::Kernel;
use crate::watch::{Hooks, watched};

/// Eigenvalues, eigenvectors, offset.
type Parts<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f32>>);

/// A model, contributions to the entropy, ranks by eigenvalue, whether the ranking is exact, and whether every candidate
/// was found to the tolerance.
type Entropy<'py> = (SpectralModel, Bound<'py, PyArray1<f64>>, Vec<usize>, bool, bool);

/// Leading eigenpairs of a kernel matrix, and the map of new rows.
#[pyclass(frozen, module = "dkae._core")]
pub struct SpectralModel {
    model: KpcaModel,
}

/// Kernel PCA; also whether every eigenpair was found to the tolerance.
#[pyfunction]
#[pyo3(signature = (kernel, x, components, centred, cache_mb, tolerance, max_sweeps, seed))]
#[allow(clippy::too_many_arguments)]
pub fn kernel_pca<'py>(
    py: Python<'py>,
    kernel: Py<Kernel>,
    x: PyReadonlyArray2<'py, f32>,
    components: usize,
    centred: bool,
    cache_mb: usize,
    tolerance: f64,
    max_sweeps: usize,
    seed: u64,
) -> PyResult<(SpectralModel, bool)> {
    let (kernel, x) = (kernel.get().clone(), x.as_array());
    let settings = Kpca { components, centred, cache_mb, tolerance, max_sweeps, seed };
    watched(py, Hooks::default(), |watch| {
        let model = match kernel.pck() {
            // P is a product of posteriors: not even tiles of it are needed to find its eigenpairs.
            Some(pck) => {
                let spectrum = settings.fit_factors(&pck.posteriors_watched(x, watch)?, watch)?.spectrum;
                KpcaModel::from_parts(Box::new(kernel.clone()), crate::owned(x), spectrum)?
            }
            None => settings.fit(Box::new(kernel), x, watch)?,
        };
        let converged = converged(&model.spectrum);
        Ok((SpectralModel { model }, converged))
    })
}

/// Whether every eigenpair that was looked for met the tolerance.
fn converged(spectrum: &Spectrum) -> bool {
    spectrum.search.is_some_and(|search| search.converged)
}

/// Kernel entropy components; also the contribution of each to the entropy, and how the search for them ended.
#[pyfunction]
#[pyo3(signature = (kernel, x, components, candidates, cache_mb, tolerance, max_sweeps, seed))]
#[allow(clippy::too_many_arguments)]
pub fn keca<'py>(
    py: Python<'py>,
    kernel: Py<Kernel>,
    x: PyReadonlyArray2<'py, f32>,
    components: usize,
    candidates: usize,
    cache_mb: usize,
    tolerance: f64,
    max_sweeps: usize,
    seed: u64,
) -> PyResult<Entropy<'py>> {
    let (kernel, x) = (kernel.get().clone(), x.as_array());
    let settings = Keca { components, candidates, cache_mb, tolerance, max_sweeps, seed, ..Keca::default() };
    let (model, contributions, ranks, exact, converged) = watched(py, Hooks::default(), |watch| {
        let found = settings.fit_kernel(Box::new(kernel.clone()), x, watch)?;
        let converged = converged(&found.spectrum);
        let model = KpcaModel::from_parts(Box::new(kernel), crate::owned(x), found.spectrum)?;
        Ok((SpectralModel { model }, found.contributions, found.ranks, found.exact, converged))
    })?;
    Ok((model, contributions.into_pyarray(py), ranks, exact, converged))
}

#[pymethods]
impl SpectralModel {
    /// A model from the rows of the fit and [`parts`](SpectralModel::parts).
    #[new]
    fn new(
        kernel: Py<Kernel>,
        x: PyReadonlyArray2<f32>,
        values: PyReadonlyArray1<f64>,
        vectors: PyReadonlyArray2<f64>,
        offset: PyReadonlyArray1<f32>,
    ) -> PyResult<Self> {
        let offset: Array1<f32> = offset.as_array().to_owned();
        let spectrum = Spectrum::from_parts(values.as_array().to_owned(), vectors.as_array().to_owned(), offset);
        let model = spectrum.and_then(|spectrum| {
            KpcaModel::from_parts(Box::new(kernel.get().clone()), crate::owned(x.as_array()), spectrum)
        });
        Ok(SpectralModel { model: model.map_err(to_python)? })
    }

    /// Eigenvalues, eigenvectors, and what is subtracted from the scores of new rows.
    fn parts<'py>(&self, py: Python<'py>) -> Parts<'py> {
        let spectrum = self.model.spectrum.clone();
        let offset = spectrum.offset().clone();
        (spectrum.values.into_pyarray(py), spectrum.vectors.into_pyarray(py), offset.into_pyarray(py))
    }

    /// Products with the kernel matrix that the fit took; not known of a model from its parts.
    fn sweeps(&self) -> Option<usize> {
        self.model.spectrum.search.map(|search| search.sweeps)
    }

    /// Scores of the rows of the fit.
    fn scores<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f32>> {
        self.model.spectrum.scores().into_pyarray(py)
    }

    /// Scores of new rows.
    fn embed<'py>(&self, py: Python<'py>, x: PyReadonlyArray2<'py, f32>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        crate::by_blocks(py, x.as_array(), self.model.width(), |x| self.model.embed(x))
    }
}
