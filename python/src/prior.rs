//! What a model's codes are aligned with, as Python gives it: a fitted kernel, a function, classes, or a matrix.

use dkae::kernel::{Ideal, Precomputed, Prior};
use dkae::{Error, Result};
use ndarray::{ArrayView2, ArrayViewMut2, Axis};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::kernel::Kernel;
use crate::watch::Watch;

/// A prior as an argument.
#[derive(FromPyObject)]
pub enum Given<'py> {
    /// A fitted kernel.
    Kernel(Py<Kernel>),
    /// Classes of the rows, for the ideal kernel.
    Classes(PyReadonlyArray1<'py, u32>),
    /// The kernel matrix of the rows.
    Matrix(PyReadonlyArray2<'py, f32>),
    /// A function of two blocks of rows.
    Function(Py<PyAny>),
}

/// The same, free of the interpreter's lock.
pub enum Source {
    Kernel(Kernel),
    Classes(Vec<u32>),
    Matrix(Precomputed),
    Function,
}

impl Source {
    /// Takes over what was given; the function, if it is one, goes to the thread that stays with Python.
    pub fn take(given: Given<'_>) -> Result<(Self, Option<Py<PyAny>>)> {
        Ok(match given {
            Given::Kernel(kernel) => (Source::Kernel(kernel.get().clone()), None),
            Given::Classes(classes) => (Source::Classes(classes.as_array().to_vec()), None),
            Given::Matrix(matrix) => (Source::Matrix(Precomputed::new(crate::owned(matrix.as_array()))?.0), None),
            Given::Function(function) => (Source::Function, Some(function)),
        })
    }

    /// The same about some of the rows.
    pub fn select(&self, rows: &[usize]) -> Result<Self> {
        Ok(match self {
            Source::Kernel(kernel) => Source::Kernel(kernel.clone()),
            Source::Classes(classes) => Source::Classes(rows.iter().map(|&i| classes[i]).collect()),
            Source::Matrix(matrix) => Source::Matrix(matrix.select(rows)?),
            Source::Function => Source::Function,
        })
    }

    /// An error unless this is about `rows` rows.
    pub fn check_rows(&self, rows: usize) -> Result<()> {
        let (what, found) = match self {
            Source::Classes(classes) => ("classes", classes.len()),
            Source::Matrix(matrix) => ("rows of the kernel matrix", matrix.len()),
            Source::Kernel(_) | Source::Function => return Ok(()),
        };
        if found == rows { Ok(()) } else { Err(Error::Data(format!("{found} {what} for {rows} rows of X"))) }
    }

    /// P of rows: kernels that the model fitted see prepared rows, all else sees them as they were given.
    pub fn prior<'a>(
        &'a self,
        raw: ArrayView2<'a, f32>,
        prepared: ArrayView2<'a, f32>,
        watch: &'a Watch,
    ) -> Result<Box<dyn Prior + 'a>> {
        match self {
            Source::Kernel(kernel) => {
                kernel.fitted().prior_watched(if kernel.of_prepared() { prepared } else { raw }, watch)
            }
            Source::Classes(classes) => Ok(Box::new(Ideal::new(classes))),
            Source::Matrix(matrix) => Ok(Box::new(matrix.clone())),
            Source::Function => Ok(Box::new(FunctionPrior { x: raw, watch })),
        }
    }
}

/// P of rows by a function of Python.
struct FunctionPrior<'a> {
    x: ArrayView2<'a, f32>,
    watch: &'a Watch<'a>,
}

impl Prior for FunctionPrior<'_> {
    fn len(&self) -> usize {
        self.x.nrows()
    }

    fn block(&self, rows: &[usize], columns: &[usize], mut out: ArrayViewMut2<f32>) {
        match self.watch.kernel(self.x.select(Axis(0), rows), self.x.select(Axis(0), columns)) {
            Some(values) if values.dim() == out.dim() => out.assign(&values),
            // The function failed: the work has been asked to stop, and its result will not be looked at.
            _ => out.fill(1.0),
        }
    }
}
