//! The Python package's bindings: arrays in, arrays out, errors and signals translated. All arithmetic is the library's;
//! estimators, their parameters and their checks are Python (`python/dkae`).

mod error;
mod isomap;
mod kernel;
mod model;
mod prior;
mod spectral;
mod svm;
mod watch;

use ndarray::ArrayView2;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;

/// Sets how many threads compute; 0 means one per core.
#[pyfunction]
fn set_threads(count: usize) {
    dkae::math::threads::set_count(count);
}

/// How many threads compute.
#[pyfunction]
fn get_threads() -> usize {
    dkae::math::threads::count()
}

/// Pixels (5000 x 784, from 0 to 255) and classes of the embedded digits.
#[pyfunction]
fn digits(py: Python<'_>) -> (Bound<'_, PyArray2<f32>>, Bound<'_, PyArray1<u32>>) {
    let table = dkae::data::sample::digits();
    let classes = table.labels.map(|labels| labels.index).unwrap_or_default();
    (table.x.into_pyarray(py), classes.into_pyarray(py))
}

/// An owned array of rows in C order.
fn owned(x: ArrayView2<f32>) -> ndarray::Array2<f32> {
    x.as_standard_layout().into_owned()
}

#[pymodule]
mod _core {
    #[pymodule_export]
    use super::isomap::IsomapModel;
    #[pymodule_export]
    use super::kernel::Kernel;
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::spectral::{SpectralModel, keca, kernel_pca};
    #[pymodule_export]
    use super::svm::{SupportVectorModel, linear_svm};
    #[pymodule_export]
    use super::{digits, get_threads, set_threads};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
