//! Rows that are mostly zero, stored by their other entries only (compressed sparse rows).

use ndarray::{Array2, ArrayView2, Axis};
use rayon::prelude::*;

use super::Labels;
use crate::math::threads;
use crate::{Error, Result};

/// The most bytes that sparse rows may take once made dense, unless someone says otherwise: 2 GiB.
pub const DENSE_LIMIT: usize = 2 << 30;

/// A sparse matrix: row `i` has `values[k]` in column `indices[k]` for `k` in `starts[i]..starts[i + 1]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Csr {
    starts: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f32>,
    width: usize,
}

/// Sparse rows read from a file.
#[derive(Clone, Debug)]
pub struct SparseTable {
    /// One row per sample.
    pub x: Csr,
    /// The class of each row.
    pub labels: Option<Labels>,
    /// The number of each row in the file, from 0, when rows were left out.
    pub numbers: Option<Vec<usize>>,
}

impl Csr {
    /// A matrix of `width` columns from its parts: where each row begins (and, last, where the last one ends), the columns,
    /// ascending within a row, and the values.
    pub fn new(starts: Vec<usize>, indices: Vec<u32>, values: Vec<f32>, width: usize) -> Result<Self> {
        let wrong = |what: &str| Err(Error::Data(format!("not a sparse matrix: {what}")));
        if starts.first() != Some(&0) || starts.last() != Some(&indices.len()) || !starts.is_sorted() {
            return wrong("the starts of the rows must ascend from 0 to the number of entries");
        }
        if indices.len() != values.len() {
            return wrong("as many columns as values were expected");
        }
        for row in starts.windows(2) {
            let row = &indices[row[0]..row[1]];
            if !row.is_sorted_by(|a, b| a < b) || row.last().is_some_and(|&j| j as usize >= width) {
                return wrong("columns must ascend within a row and be smaller than the width");
            }
        }
        Ok(Self { starts, indices, values, width })
    }

    /// The values of a dense matrix that are not zero.
    pub fn from_dense(x: ArrayView2<f32>) -> Self {
        let mut sparse = Self { starts: vec![0], indices: Vec::new(), values: Vec::new(), width: x.ncols() };
        for row in x.rows() {
            for (j, &v) in row.iter().enumerate().filter(|&(_, &v)| v != 0.0) {
                sparse.indices.push(j as u32);
                sparse.values.push(v);
            }
            sparse.starts.push(sparse.values.len());
        }
        sparse
    }

    /// The number of rows.
    pub fn nrows(&self) -> usize {
        self.starts.len() - 1
    }

    /// The number of columns.
    pub fn ncols(&self) -> usize {
        self.width
    }

    /// The number of stored entries.
    pub fn entries(&self) -> usize {
        self.values.len()
    }

    /// The columns and values of row `i`.
    pub fn row(&self, i: usize) -> (&[u32], &[f32]) {
        let row = self.starts[i]..self.starts[i + 1];
        (&self.indices[row.clone()], &self.values[row])
    }

    /// The row, the column and the value of every stored entry.
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize, f32)> {
        (0..self.nrows()).flat_map(|i| {
            let (columns, values) = self.row(i);
            columns.iter().zip(values).map(move |(&j, &v)| (i, j as usize, v))
        })
    }

    /// The same matrix with other values for the same entries.
    pub(crate) fn with_values(&self, values: Vec<f32>) -> Self {
        assert_eq!(values.len(), self.values.len(), "one value for each entry");
        Self { starts: self.starts.clone(), indices: self.indices.clone(), values, width: self.width }
    }

    /// All values, row by row.
    pub(crate) fn values(&self) -> &[f32] {
        &self.values
    }

    /// These rows, in this order. Panics when there is no such row.
    pub fn select(&self, rows: &[usize]) -> Self {
        let mut out = Self { starts: vec![0], indices: vec![], values: vec![], width: self.width };
        for &i in rows {
            let (indices, values) = self.row(i);
            out.indices.extend(indices);
            out.values.extend(values);
            out.starts.push(out.indices.len());
        }
        out
    }

    /// The transposed matrix. Panics with more than 2^32 rows.
    pub fn transposed(&self) -> Self {
        assert!(u32::try_from(self.nrows()).is_ok(), "rows become columns, which are numbered with 32 bits");
        let mut starts = vec![0usize; self.width + 1];
        for &j in &self.indices {
            starts[j as usize + 1] += 1;
        }
        for j in 0..self.width {
            starts[j + 1] += starts[j];
        }
        let mut next = starts.clone();
        let (mut indices, mut values) = (vec![0u32; self.indices.len()], vec![0f32; self.values.len()]);
        for i in 0..self.nrows() {
            let (columns, row) = self.row(i);
            for (&j, &v) in columns.iter().zip(row) {
                let at = &mut next[j as usize];
                (indices[*at], values[*at]) = (i as u32, v);
                *at += 1;
            }
        }
        Self { starts, indices, values, width: self.nrows() }
    }

    /// All entries, zeros included, when they take at most `limit` bytes.
    pub fn to_dense(&self, limit: usize) -> Result<Array2<f32>> {
        let bytes = self.nrows().saturating_mul(self.width).saturating_mul(size_of::<f32>());
        if bytes > limit {
            return Err(Error::Data(too_large(self.nrows(), self.width, limit)));
        }
        let mut dense = Array2::zeros((self.nrows(), self.width));
        for (i, mut row) in dense.rows_mut().into_iter().enumerate() {
            let (indices, values) = self.row(i);
            for (&j, &v) in indices.iter().zip(values) {
                row[j as usize] = v;
            }
        }
        Ok(dense)
    }

    /// The product with a dense matrix, in f64. Each row is one sum in a fixed order, so threads do not show.
    pub(crate) fn times(&self, dense: ArrayView2<f64>) -> Array2<f64> {
        assert_eq!(dense.nrows(), self.width, "inner dimensions");
        let mut out = Array2::zeros((self.nrows(), dense.ncols()));
        threads::run(|| {
            out.axis_chunks_iter_mut(Axis(0), 64).into_par_iter().enumerate().for_each(|(c, mut chunk)| {
                for (i, mut sum) in chunk.rows_mut().into_iter().enumerate() {
                    let (indices, values) = self.row(c * 64 + i);
                    for (&j, &v) in indices.iter().zip(values) {
                        sum.scaled_add(f64::from(v), &dense.row(j as usize));
                    }
                }
            });
        });
        out
    }
}

/// What to do about sparse rows that are too many and too wide to be made dense.
pub(crate) fn too_large(rows: usize, width: usize, limit: usize) -> String {
    format!(
        "{rows} sparse rows of {width} features would take {:.1} GB once made dense, more than the limit of {:.1} GB; \
         reduce them first by TF-IDF and a truncated SVD, or raise the limit",
        rows as f64 * width as f64 * 4e-9,
        limit as f64 * 1e-9
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    fn example() -> Csr {
        Csr::new(vec![0, 2, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, -3.0], 4).unwrap()
    }

    #[test]
    fn dense_selected_and_transposed_agree() {
        let dense = array![[1.0, 0.0, 2.0, 0.0], [0.0; 4], [0.0, -3.0, 0.0, 0.0]];
        let csr = example();
        assert_eq!(csr.to_dense(48).unwrap(), dense);
        assert_eq!(csr.transposed().to_dense(48).unwrap(), dense.t());
        assert_eq!(csr.select(&[2, 0, 0]).to_dense(48).unwrap(), dense.select(Axis(0), &[2, 0, 0]));
        let other = array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]];
        assert_eq!(csr.times(other.view()), dense.mapv(f64::from).dot(&other));
    }

    #[test]
    fn parts_that_make_no_matrix_and_too_large_ones_are_refused() {
        assert!(Csr::new(vec![0, 2], vec![1, 0], vec![1.0, 1.0], 2).is_err());
        assert!(Csr::new(vec![0, 2], vec![1, 1], vec![1.0, 1.0], 2).is_err());
        assert!(Csr::new(vec![0, 1], vec![2], vec![1.0], 2).is_err());
        assert!(Csr::new(vec![0, 2], vec![0], vec![1.0], 2).is_err());
        assert!(Csr::new(vec![], vec![], vec![], 2).is_err());
        assert!(Csr::new(vec![0, 1], vec![0], vec![], 2).is_err());
        assert!(example().to_dense(47).unwrap_err().to_string().contains("TF-IDF"));
    }
}
