//! The ideal kernel of labels: 1 between rows of the same class, 0 between others.
//!
//! As a prior it makes the method supervised; as a yardstick it says how much of the classes a kernel knows.

use ndarray::ArrayViewMut2;

use super::Prior;

/// The ideal kernel of rows whose classes are known.
#[derive(Clone, Copy, Debug)]
pub struct Ideal<'a> {
    labels: &'a [u32],
}

impl<'a> Ideal<'a> {
    /// From the class of each row.
    pub fn new(labels: &'a [u32]) -> Self {
        Self { labels }
    }
}

impl Prior for Ideal<'_> {
    fn len(&self) -> usize {
        self.labels.len()
    }

    fn block(&self, rows: &[usize], columns: &[usize], mut out: ArrayViewMut2<f32>) {
        assert_eq!(out.dim(), (rows.len(), columns.len()), "shape of out");
        for (&row, mut out) in rows.iter().zip(out.rows_mut()) {
            for (&column, out) in columns.iter().zip(&mut out) {
                *out = if self.labels[row] == self.labels[column] { 1.0 } else { 0.0 };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, array};

    #[test]
    fn rows_of_a_class_are_alike_and_no_others() {
        let ideal = Ideal::new(&[7, 2, 7, 0]);
        assert_eq!(ideal.len(), 4);
        let mut out = Array2::from_elem((3, 4), f32::NAN);
        ideal.block(&[0, 1, 2], &[0, 1, 2, 3], out.view_mut());
        assert_eq!(out, array![[1., 0., 1., 0.], [0., 1., 0., 0.], [1., 0., 1., 0.]]);
    }
}
