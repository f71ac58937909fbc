//! The posteriors of rows under many mixtures, and the kernel P they make: sparse, four bytes an entry.
//!
//! With one row of F per row of data and one column per component of every mixture,
//!
//! ```text
//! P_ij = 1/M sum_mixtures sum_components F_ic F_jc        M mixtures, so that P_ii <= 1
//! ```
//!
//! In many dimensions a row belongs to one component of a mixture almost surely, so a row of F has little more than one
//! entry per mixture: about a thousand at Q = G = 30, out of 13 920 columns. P itself is never stored.
//!
//! An entry is a component's number within its mixture (15 bits), a bit that marks the last entry of the mixture, and
//! the posterior as a 16-bit fraction of one; posteriors that round to zero have no entry. The error of a stored
//! posterior is at most 1/131070, and docs/method/em.md bounds what that does to P.
//!
//! A block of P is computed in tiles. Mixtures of few components fill a small dense matrix and go through GEMM; the rest
//! are turned into lists by column, and every entry of a row adds its column's list to that row of the tile.

use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis};
use rayon::prelude::*;

use crate::math::{gemm, threads};

use super::Prior;

/// One posterior of one row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// The component's number within its mixture, and [`Entry::LAST`].
    component: u16,
    /// The posterior, in units of 1/65535.
    value: u16,
}

impl Entry {
    /// Marks the last entry of a mixture.
    const LAST: u16 = 1 << 15;
    /// The number of values between 0 and 1.
    pub(super) const ONE: f64 = 65535.0;

    pub(super) fn new(component: usize, value: u16) -> Self {
        Self { component: component as u16, value }
    }

    pub(super) fn close(&mut self) {
        self.component |= Self::LAST;
    }
}

/// The rows of a chunk: their entries one after another, and where each row begins.
pub(super) struct Chunk {
    pub(super) entries: Box<[Entry]>,
    /// One more than there are rows.
    pub(super) begins: Box<[u32]>,
}

/// How many rows a chunk has. Chunks are what posteriors are computed and stored in, so nothing is ever moved to grow.
pub(super) const CHUNK: usize = 512;

/// The posteriors of rows under the mixtures of a [`FittedPck`](super::FittedPck): the factor F of P = F F^T / M.
pub struct Posteriors {
    rows: usize,
    /// The first column of each mixture, and the number of columns.
    firsts: Vec<u32>,
    /// For each mixture its first column in the dense part of a tile, if it goes there.
    dense: Vec<Option<u32>>,
    dense_columns: usize,
    chunks: Vec<Chunk>,
}

/// Mixtures of at most this many components are multiplied as dense matrices: their columns have many entries each, so
/// lists would be long, and there are few columns. Measured on 200 x 200 blocks of MNIST at Q = G = 30.
const DENSE_COMPONENTS: usize = 9;

/// Rows and columns of a tile at most; bounds the scratch memory of [`Posteriors::between`].
const TILE: usize = 256;

impl Posteriors {
    /// From chunks of [`CHUNK`] rows; `components` are those of each mixture.
    pub(super) fn new(components: impl Iterator<Item = usize>, chunks: Vec<Chunk>) -> Self {
        let mut firsts = vec![0];
        let mut dense = Vec::new();
        let (mut columns, mut dense_columns) = (0, 0);
        for g in components {
            dense.push((g <= DENSE_COMPONENTS).then_some(dense_columns as u32));
            dense_columns += if g <= DENSE_COMPONENTS { g } else { 0 };
            columns += g as u32;
            firsts.push(columns);
        }
        let rows = chunks.iter().map(|c| c.begins.len() - 1).sum();
        Self { rows, firsts, dense, dense_columns, chunks }
    }

    /// How many columns F has: the components of all mixtures.
    pub fn columns(&self) -> usize {
        self.firsts.last().map_or(0, |&c| c as usize)
    }

    /// How many mixtures there are.
    pub fn mixtures(&self) -> usize {
        self.firsts.len() - 1
    }

    /// How many entries are stored.
    pub fn entries(&self) -> usize {
        self.chunks.iter().map(|c| c.entries.len()).sum()
    }

    /// The memory that the entries and their index take.
    pub fn bytes(&self) -> usize {
        self.entries() * size_of::<Entry>()
            + self.chunks.iter().map(|c| c.begins.len() * size_of::<u32>()).sum::<usize>()
            + (self.firsts.len() + self.dense.len()) * 8
    }

    fn entries_of(&self, row: usize) -> &[Entry] {
        let chunk = &self.chunks[row / CHUNK];
        let at = row % CHUNK;
        &chunk.entries[chunk.begins[at] as usize..chunk.begins[at + 1] as usize]
    }

    /// The columns and posteriors of one row, in ascending order of columns.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (usize, f32)> + '_ {
        let mut mixture = 0;
        self.entries_of(row).iter().map(move |entry| {
            let column = self.firsts[mixture] + u32::from(entry.component & !Entry::LAST);
            mixture += usize::from(entry.component & Entry::LAST != 0);
            (column as usize, f32::from(entry.value) / Entry::ONE as f32)
        })
    }

    /// F / sqrt(M) as a compressed sparse row matrix, so that P is that matrix times its transpose: where each row
    /// begins (one more than there are rows), the columns, and the values.
    pub fn to_csr(&self) -> (Vec<u64>, Vec<u32>, Vec<f32>) {
        let scale = self.scale() as f32;
        let mut begins = vec![0];
        let mut columns = Vec::with_capacity(self.entries());
        let mut values = Vec::with_capacity(self.entries());
        for i in 0..self.rows {
            for (column, value) in self.row(i) {
                columns.push(column as u32);
                values.push(value * scale);
            }
            begins.push(columns.len() as u64);
        }
        (begins, columns, values)
    }

    /// What F is multiplied by for P to be F F^T: one over the root of the number of mixtures.
    fn scale(&self) -> f64 {
        1.0 / (self.mixtures() as f64).sqrt()
    }

    /// `(F / sqrt(M)) w` for a dense `w` of [`columns`](Self::columns) rows.
    pub fn times(&self, w: ArrayView2<f64>) -> Array2<f64> {
        assert_eq!(w.nrows(), self.columns(), "rows of w");
        let scale = self.scale();
        let mut out = Array2::zeros((self.rows, w.ncols()));
        threads::run(|| {
            out.axis_chunks_iter_mut(Axis(0), 64).into_par_iter().enumerate().for_each(|(block, mut out)| {
                for (i, mut out) in out.rows_mut().into_iter().enumerate() {
                    for (column, value) in self.row(block * 64 + i) {
                        out.scaled_add(f64::from(value) * scale, &w.row(column));
                    }
                }
            });
        });
        out
    }

    /// `(F / sqrt(M))^T v` for a dense `v` of one row per row.
    pub fn transpose_times(&self, v: ArrayView2<f64>) -> Array2<f64> {
        assert_eq!(v.nrows(), self.rows, "rows of v");
        let scale = self.scale();
        let mut out = Array2::zeros((self.columns(), v.ncols()));
        // Every task owns some columns of the result and reads all rows in order: sums do not depend on the threads,
        // and there is no second copy of the result.
        threads::run(|| {
            let parts: Vec<Array2<f64>> = (0..v.ncols().div_ceil(8))
                .into_par_iter()
                .map(|part| {
                    let v = v.slice(ndarray::s![.., part * 8..v.ncols().min(part * 8 + 8)]);
                    let mut sums = Array2::zeros((self.columns(), v.ncols()));
                    for (i, v) in v.rows().into_iter().enumerate() {
                        for (column, value) in self.row(i) {
                            sums.row_mut(column).scaled_add(f64::from(value) * scale, &v);
                        }
                    }
                    sums
                })
                .collect();
            for (mut out, sums) in out.axis_chunks_iter_mut(Axis(1), 8).zip(parts) {
                out.assign(&sums);
            }
        });
        out
    }

    /// Writes P between `rows` of these posteriors and `columns` of others under the same mixtures into `out`.
    pub fn between(&self, rows: &[usize], other: &Posteriors, columns: &[usize], mut out: ArrayViewMut2<f32>) {
        assert_eq!(out.dim(), (rows.len(), columns.len()), "shape of out");
        assert_eq!(self.firsts, other.firsts, "both sides are posteriors under the same mixtures");
        // A small block is still cut in two for two threads, by its shape alone.
        let height = rows.len().div_ceil(2).clamp(1, TILE);
        threads::run(|| {
            out.axis_chunks_iter_mut(Axis(0), height).into_par_iter().zip(rows.par_chunks(height)).for_each(
                |(mut out, rows)| {
                    for (tile, columns) in out.axis_chunks_iter_mut(Axis(1), TILE).zip(columns.chunks(TILE)) {
                        let mut scratch = SCRATCH.take();
                        self.tile(rows, other, columns, &mut scratch, tile);
                        SCRATCH.set(scratch);
                    }
                },
            );
        });
    }

    fn tile(
        &self,
        rows: &[usize],
        other: &Posteriors,
        columns: &[usize],
        scratch: &mut Scratch,
        mut out: ArrayViewMut2<f32>,
    ) {
        let Scratch { ends, lists, left, right, sums } = scratch;
        let k = self.dense_columns;
        other.lists_by_column(columns, ends, lists, right);
        left.clear();
        left.resize(rows.len() * k, 0.0);
        sums.clear();
        sums.resize(rows.len() * columns.len(), 0.0);
        // 1/M and the two 1/65535 of the fixed-point values, in one factor on the rows' side.
        let unit = (1.0 / (self.mixtures() as f64 * Entry::ONE * Entry::ONE)) as f32;
        for (i, &row) in rows.iter().enumerate() {
            let sums = &mut sums[i * columns.len()..(i + 1) * columns.len()];
            let mut mixture = 0;
            for entry in self.entries_of(row) {
                let component = usize::from(entry.component & !Entry::LAST);
                let value = f32::from(entry.value) * unit;
                match self.dense[mixture] {
                    Some(first) => left[i * k + first as usize + component] = value,
                    None => {
                        let column = self.firsts[mixture] as usize + component;
                        let list = &lists[ends[column] as usize..ends[column + 1] as usize];
                        for &(j, w) in list {
                            sums[usize::from(j)] += value * f32::from(w);
                        }
                    }
                }
                mixture += usize::from(entry.component & Entry::LAST != 0);
            }
        }
        let view = |values, rows| ArrayView2::from_shape((rows, k), values).expect("sized above");
        let mut sums = ArrayViewMut2::from_shape(out.dim(), sums.as_mut_slice()).expect("sized above");
        gemm::sequential(1.0, view(left, rows.len()), view(right, columns.len()).t(), 1.0, sums.view_mut());
        out.assign(&sums);
    }

    /// Sorts the entries of `rows` by column, stably: `lists[ends[c]..ends[c + 1]]` are the places in `rows` and the
    /// values of column `c`. Mixtures of few components go into the rows of `dense` instead.
    fn lists_by_column(&self, rows: &[usize], ends: &mut Vec<u32>, lists: &mut Vec<(u16, u16)>, dense: &mut Vec<f32>) {
        let k = self.dense_columns;
        dense.clear();
        dense.resize(rows.len() * k, 0.0);
        ends.clear();
        ends.resize(self.columns() + 2, 0);
        // Counts, two places ahead: after the sum below and the filling, place c is where column c begins.
        for (i, &row) in rows.iter().enumerate() {
            let mut mixture = 0;
            for entry in self.entries_of(row) {
                let component = usize::from(entry.component & !Entry::LAST);
                match self.dense[mixture] {
                    Some(first) => dense[i * k + first as usize + component] = f32::from(entry.value),
                    None => ends[self.firsts[mixture] as usize + component + 2] += 1,
                }
                mixture += usize::from(entry.component & Entry::LAST != 0);
            }
        }
        let mut sum = 0;
        for end in ends.iter_mut() {
            sum += *end;
            *end = sum;
        }
        lists.clear();
        lists.resize(sum as usize, (0, 0));
        for (i, &row) in rows.iter().enumerate() {
            let mut mixture = 0;
            for entry in self.entries_of(row) {
                if self.dense[mixture].is_none() {
                    let column = self.firsts[mixture] as usize + usize::from(entry.component & !Entry::LAST);
                    let place = &mut ends[column + 1];
                    lists[*place as usize] = (i as u16, entry.value);
                    *place += 1;
                }
                mixture += usize::from(entry.component & Entry::LAST != 0);
            }
        }
    }
}

impl Prior for Posteriors {
    fn len(&self) -> usize {
        self.rows
    }

    fn block(&self, rows: &[usize], columns: &[usize], out: ArrayViewMut2<f32>) {
        self.between(rows, self, columns, out);
    }
}

/// What a tile needs besides its output; kept by each thread, so that a training step allocates nothing.
#[derive(Default)]
struct Scratch {
    ends: Vec<u32>,
    lists: Vec<(u16, u16)>,
    left: Vec<f32>,
    right: Vec<f32>,
    sums: Vec<f32>,
}

thread_local! {
    // Taken out while in use: a thread that waits may be given another tile meanwhile.
    static SCRATCH: std::cell::Cell<Scratch> = const {
        std::cell::Cell::new(Scratch {
            ends: Vec::new(),
            lists: Vec::new(),
            left: Vec::new(),
            right: Vec::new(),
            sums: Vec::new(),
        })
    };
}
