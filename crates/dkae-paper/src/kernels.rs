//! Kernel matrices of the test rows as pictures, rows sorted by class: shared by `reconstructions` and `ideal`.

use dkae::data::Labels;
use dkae::kernel::Prior;
use dkae_report::Figure;
use dkae_report::kernel::{Kernels, Matrix, groups};
use ndarray::{Array2, ArrayView2, Axis};

use crate::Result;

/// The most rows drawn: more would be averaged away on a screen.
const ROWS: usize = 1500;

/// Rows to draw, sorted by class, and their classes.
pub struct Sorted {
    rows: Vec<usize>,
    classes: Vec<usize>,
    names: Vec<String>,
    /// Rows that there are.
    of: usize,
}

impl Sorted {
    /// The first rows of a part, sorted by class.
    pub fn new(labels: &Labels) -> Sorted {
        let mut rows: Vec<usize> = (0..labels.index.len().min(ROWS)).collect();
        rows.sort_by_key(|&i| labels.index[i]);
        let classes = rows.iter().map(|&i| labels.index[i] as usize).collect();
        Sorted { rows, classes, names: labels.names.clone(), of: labels.index.len() }
    }

    /// A sentence about what is drawn, where that is not everything.
    pub fn note(&self) -> Option<String> {
        (self.rows.len() < self.of)
            .then(|| format!("Kernels are drawn for {} of the {} test rows.", self.rows.len(), self.of))
    }

    /// The matrix of a prior.
    pub fn prior(&self, prior: &dyn Prior) -> Array2<f32> {
        let mut matrix = Array2::zeros((self.rows.len(), self.rows.len()));
        prior.block(&self.rows, &self.rows, matrix.view_mut());
        matrix
    }

    /// The inner products of codes.
    pub fn codes(&self, codes: ArrayView2<f32>) -> Array2<f32> {
        let sorted = codes.select(Axis(0), &self.rows);
        sorted.dot(&sorted.t())
    }

    /// The matrices side by side on one scale, each divided by its root mean square as L_c does.
    pub fn draw(&self, matrices: &[(String, &Array2<f32>)], side: f64) -> Result<Figure> {
        let matrices: Vec<Matrix> =
            matrices.iter().map(|(title, values)| Matrix { title, values: values.view() }).collect();
        let settings = Kernels { normalise: true, unit: "entry / RMS".into(), side, ..Kernels::default() };
        Ok(settings.draw(&matrices, &groups(&self.classes, &self.names)?)?)
    }
}
