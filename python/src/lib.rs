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

use dkae::progress::Progress;
use ndarray::{Array2, ArrayView2, Axis};
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

/// Sets how many threads compute, at most [`dkae::math::threads::MOST`]; 0 means one per core.
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
fn owned(x: ArrayView2<f32>) -> Array2<f32> {
    x.as_standard_layout().into_owned()
}

/// Rows that are worked on between two looks for signals; sixteen of the network's own blocks, one for each of many cores.
const BLOCK: usize = 16 * 192;

/// An array of zeros, or Python's MemoryError where there is no room for it; the library would end the process.
fn zeros<T: Clone + Default>(rows: usize, columns: usize) -> PyResult<Array2<T>> {
    let failed = || {
        let gigabytes = rows as f64 * columns as f64 * size_of::<T>() as f64 / 1e9;
        PyMemoryError::new_err(format!("{rows} x {columns} numbers take {gigabytes:.1} GB, which there is no room for"))
    };
    let length = rows.checked_mul(columns).ok_or_else(failed)?;
    let mut values: Vec<T> = Vec::new();
    values.try_reserve_exact(length).map_err(|_| failed())?;
    values.resize(length, T::default());
    Array2::from_shape_vec((rows, columns), values).map_err(|_| failed())
}

/// What `map` makes of rows, a block at a time; signals are looked for between blocks.
fn by_blocks<'py, T: Clone + Default + Send + numpy::Element>(
    py: Python<'py>,
    x: ArrayView2<f32>,
    width: usize,
    map: impl Fn(ArrayView2<f32>) -> dkae::Result<Array2<T>> + Send + Sync,
) -> PyResult<Bound<'py, PyArray2<T>>> {
    let mut out = zeros(x.nrows(), width)?;
    watch::watched(py, watch::Hooks::default(), |watch| {
        let blocks = x.axis_chunks_iter(Axis(0), BLOCK).zip(out.axis_chunks_iter_mut(Axis(0), BLOCK));
        for (x, mut out) in blocks {
            watch.check()?;
            let values = map(x)?;
            if values.dim() != out.dim() {
                let (expected, found) = (out.dim(), values.dim());
                return Err(dkae::Error::Data(format!("a block of shape {expected:?} was expected, found {found:?}")));
            }
            out.assign(&values);
        }
        Ok(())
    })?;
    Ok(out.into_pyarray(py))
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
