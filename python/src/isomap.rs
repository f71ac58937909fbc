//! ISOMAP.

use dkae::Embed;
use dkae::baseline::{Isomap, IsomapModel as Fitted, Spectrum};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::error::to_python;
use crate::watch::{Hooks, watched};

/// Distances to landmarks, eigenvalues, eigenvectors, offset, embedding of the rows of the fit.
type Parts<'py> = (
    Bound<'py, PyArray2<f32>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray1<f32>>,
    Bound<'py, PyArray2<f32>>,
);

/// A fitted ISOMAP.
#[pyclass(frozen, module = "dkae._core")]
pub struct IsomapModel {
    model: Fitted,
}

#[pymethods]
impl IsomapModel {
    /// Embeds rows; also how many pieces the graph of neighbours was in.
    #[staticmethod]
    fn fit<'py>(
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f32>,
        components: usize,
        neighbours: usize,
        landmarks: usize,
        seed: u64,
    ) -> PyResult<(Self, usize)> {
        let x = x.as_array();
        let settings = Isomap { components, neighbours, landmarks, seed };
        let model = watched(py, Hooks::default(), |watch| settings.fit(x, watch))?;
        let pieces = model.pieces;
        Ok((IsomapModel { model }, pieces))
    }

    /// A model from the rows of the fit, the number of neighbours, that of pieces, and [`parts`](IsomapModel::parts).
    #[new]
    #[allow(clippy::too_many_arguments)]
    fn new(
        x: PyReadonlyArray2<f32>,
        neighbours: usize,
        pieces: usize,
        to_landmarks: PyReadonlyArray2<f32>,
        values: PyReadonlyArray1<f64>,
        vectors: PyReadonlyArray2<f64>,
        offset: PyReadonlyArray1<f32>,
        scores: PyReadonlyArray2<f32>,
    ) -> PyResult<Self> {
        let (values, vectors) = (values.as_array().to_owned(), vectors.as_array().to_owned());
        let model = Spectrum::from_parts(values, vectors, offset.as_array().to_owned()).and_then(|spectrum| {
            let [x, to_landmarks, scores] = [x, to_landmarks, scores].map(|a| crate::owned(a.as_array()));
            Fitted::from_parts(x, neighbours, pieces, to_landmarks, spectrum, scores)
        });
        Ok(IsomapModel { model: model.map_err(to_python)? })
    }

    /// What [`IsomapModel::new`] takes besides the rows and the two numbers.
    fn parts<'py>(&self, py: Python<'py>) -> Parts<'py> {
        let spectrum = self.model.spectrum.clone();
        let offset = spectrum.offset().clone();
        (
            self.model.parts().2.to_owned().into_pyarray(py),
            spectrum.values.into_pyarray(py),
            spectrum.vectors.into_pyarray(py),
            offset.into_pyarray(py),
            self.model.scores.clone().into_pyarray(py),
        )
    }

    /// The embedding of new rows.
    fn embed<'py>(&self, py: Python<'py>, x: PyReadonlyArray2<'py, f32>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        crate::by_blocks(py, x.as_array(), self.model.width(), |x| self.model.embed(x))
    }
}
