//! The two traits of this module.
//!
//! A [`Kernel`] is a similarity between any rows: an analytic formula, or mixtures that were fitted on some rows. A
//! [`Prior`] is the matrix P that a kernel makes of one particular set of rows, without that matrix ever being stored:
//! training asks only for "P between these rows and those".

use ndarray::{Array2, ArrayView2, ArrayViewMut2};

use super::Kept;
use crate::Result;
use crate::progress::Progress;

/// The kernel matrix P of a set of rows, answered block by block.
pub trait Prior: Send + Sync {
    /// How many rows P is about.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes P between `rows` and `columns` (row numbers below [`len`](Prior::len), repetitions allowed) into `out`.
    fn block(&self, rows: &[usize], columns: &[usize], out: ArrayViewMut2<f32>);
}

/// The prior of the first rows alone.
pub struct FirstRows<'a> {
    /// The prior of all rows.
    pub prior: &'a dyn Prior,
    /// How many of them count.
    pub rows: usize,
}

impl Prior for FirstRows<'_> {
    fn len(&self) -> usize {
        self.rows.min(self.prior.len())
    }

    fn block(&self, rows: &[usize], columns: &[usize], out: ArrayViewMut2<f32>) {
        self.prior.block(rows, columns, out);
    }
}

/// A similarity between any rows of the width it was made for.
pub trait Kernel: Send + Sync {
    /// P of these rows; rows the kernel was not fitted on are as good as any.
    fn prior<'a>(&'a self, x: ArrayView2<'a, f32>) -> Result<Box<dyn Prior + 'a>>;

    /// As [`prior`](Self::prior), with someone to report to: for kernels that compute something for every row first. The
    /// others have nothing to report.
    fn prior_watched<'a>(&'a self, x: ArrayView2<'a, f32>, _progress: &dyn Progress) -> Result<Box<dyn Prior + 'a>> {
        self.prior(x)
    }

    /// Writes the kernel between the rows of `a` and the rows of `b` into `out`.
    fn between(&self, a: ArrayView2<f32>, b: ArrayView2<f32>, out: ArrayViewMut2<f32>) -> Result<()>;

    /// Rows that many others are to be compared with: what the kernel computes of them, once. By default the rows themselves.
    fn keep(&self, x: Array2<f32>, _progress: &dyn Progress) -> Result<Kept> {
        Ok(Kept::Rows(x))
    }

    /// As [`between`](Self::between), with rows that [`keep`](Self::keep) prepared.
    fn between_kept(&self, a: ArrayView2<f32>, b: &Kept, out: ArrayViewMut2<f32>) -> Result<()> {
        match b {
            Kept::Rows(b) => self.between(a, b.view(), out),
            _ => Err(Kept::foreign()),
        }
    }

    /// One line for people and model files: the kernel and its settings.
    fn describe(&self) -> String;
}
