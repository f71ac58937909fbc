//! What a model's codes are aligned with, as Python gives it: a fitted kernel, a function, classes, or a matrix.

use dkae::kernel::{FirstRows, Ideal, Precomputed, Prior};
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

/// The same, free of the interpreter's lock; a matrix is still where it was.
pub enum Taken<'a> {
    Kernel(Kernel),
    Classes(Vec<u32>),
    Matrix(ArrayView2<'a, f32>),
    Function,
}

/// The same, checked.
pub enum Source {
    Kernel(Kernel),
    Classes(Vec<u32>),
    Matrix(Precomputed),
    Function,
}

impl<'py> Given<'py> {
    /// What was given, for a thread without Python; the function, if it is one, goes to the thread that stays with it.
    pub fn take(&self, py: Python<'py>) -> (Taken<'_>, Option<Py<PyAny>>) {
        match self {
            Given::Kernel(kernel) => (Taken::Kernel(kernel.get().clone()), None),
            Given::Classes(classes) => (Taken::Classes(classes.as_array().to_vec()), None),
            Given::Matrix(matrix) => (Taken::Matrix(matrix.as_array()), None),
            Given::Function(function) => (Taken::Function, Some(function.clone_ref(py))),
        }
    }
}

/// What is optional, taken.
pub fn take<'a, 'py>(given: &'a Option<Given<'py>>, py: Python<'py>) -> (Option<Taken<'a>>, Option<Py<PyAny>>) {
    given.as_ref().map_or((None, None), |given| {
        let (taken, function) = given.take(py);
        (Some(taken), function)
    })
}

impl Taken<'_> {
    /// The same, checked against so many rows of X; warnings come with it. A matrix is copied here, and looked through.
    pub fn check(self, rows: usize) -> Result<(Source, Vec<String>)> {
        let (what, found) = match &self {
            Taken::Classes(classes) => ("classes", classes.len()),
            Taken::Matrix(matrix) => ("rows of the kernel matrix", matrix.nrows()),
            Taken::Kernel(_) | Taken::Function => ("rows", rows),
        };
        if found != rows {
            return Err(Error::Data(format!("{found} {what} for {rows} rows of X")));
        }
        Ok(match self {
            Taken::Kernel(kernel) => (Source::Kernel(kernel), Vec::new()),
            Taken::Classes(classes) => (Source::Classes(classes), Vec::new()),
            Taken::Function => (Source::Function, Vec::new()),
            Taken::Matrix(matrix) => {
                let (matrix, warnings) = Precomputed::new(crate::owned(matrix))?;
                (Source::Matrix(matrix), warnings)
            }
        })
    }
}

impl Source {
    /// The same about some of the rows.
    pub fn select(&self, rows: &[usize]) -> Result<Self> {
        Ok(match self {
            Source::Kernel(kernel) => Source::Kernel(kernel.clone()),
            Source::Classes(classes) => Source::Classes(rows.iter().map(|&i| classes[i]).collect()),
            Source::Matrix(matrix) => Source::Matrix(matrix.select(rows)?),
            Source::Function => Source::Function,
        })
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
            Source::Matrix(matrix) => Ok(Box::new(FirstRows { prior: matrix, rows: matrix.len() })),
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
