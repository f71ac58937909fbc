//! A product of our own, `G = D U^T`, a few rows of G at a time: for the gradients of weights.
//!
//! Those products are the largest of a training step, and nobody needs G as a whole: an optimiser wants each of its numbers
//! once. A general product writes all of G to memory, from where the optimiser reads it back. Here U is copied once, turned,
//! into panels that suit the registers; [`Panels::multiply`] then makes any few rows of G, in the caller's cache, for as
//! little as a general product takes for all of them.
//!
//! A tile of G, 5 rows by 80 columns, is kept in registers while its sums run: 25 of the 32 vectors that AVX-512 has, 5 for
//! the row of the panel, one for the factor. Every number of G is summed in the order of the columns of D alone, so its bits depend
//! neither on the number of threads nor on which rows are made together. Processors without AVX-512 have the general product.

#![allow(unsafe_code)]

use std::ops::Range;

use ndarray::{ArrayView2, s};
use rayon::prelude::*;

/// Rows of a tile.
const ROWS: usize = 5;
/// Vectors in a row of a tile.
const VECTORS: usize = 5;
/// Numbers in a vector.
pub(super) const LANES: usize = 16;
/// Columns of a panel.
const WIDTH: usize = VECTORS * LANES;

/// Numbers that fill a vector, and a line of the cache.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Line(pub [f32; LANES]);

/// Whether this processor has the instructions that tiles are made of.
pub fn available() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("avx512f")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// U, turned and cut into panels of [`WIDTH`] of its rows: for each of its columns in use the numbers of those rows,
/// side by side, zeros beyond the last row.
#[derive(Default)]
pub struct Panels {
    lines: Vec<Line>,
    /// Rows of U: columns of G.
    width: usize,
    /// The columns of U, and of D, that are summed over.
    used: [Range<usize>; 2],
}

impl Panels {
    /// Takes U in place of what was there; no memory is asked for where that was as large. The sums run over two runs of
    /// columns, which are of one length.
    pub fn pack(&mut self, u: ArrayView2<f32>, used: [Range<usize>; 2]) {
        let depth = used[0].len();
        assert!(used[1].len() == depth && used.iter().all(|run| run.end <= u.ncols()), "{used:?}");
        assert!(u.ncols() <= 1 || u.strides()[1] == 1, "rows of u are contiguous");
        self.width = u.nrows();
        self.used = used;
        let panel = 2 * depth * VECTORS;
        self.lines.resize(self.width.div_ceil(WIDTH) * panel, Line([0.0; LANES]));
        let (width, used) = (self.width, &self.used);
        self.lines.par_chunks_mut(panel.max(1)).enumerate().for_each(|(p, lines)| {
            let rows = p * WIDTH..(p * WIDTH + WIDTH).min(width);
            for line in lines.chunks_mut(VECTORS) {
                line[rows.len() / LANES..].fill(Line([0.0; LANES]));
            }
            for (run, lines) in used.iter().zip(lines.chunks_mut(depth * VECTORS)) {
                // So few columns at a time that the lines written to stay in the first cache.
                for (block, lines) in lines.chunks_mut(LANES * VECTORS).enumerate() {
                    let first = run.start + block * LANES;
                    let columns = first..(first + LANES).min(run.end);
                    for (j, row) in u.slice(s![rows.clone(), columns]).rows().into_iter().enumerate() {
                        for (line, &value) in lines.chunks_exact_mut(VECTORS).zip(row) {
                            line[j / LANES].0[j % LANES] = value;
                        }
                    }
                }
            }
        });
    }

    /// Rows of G into `out`, one after another: those of these rows of D. On the calling thread.
    pub fn multiply(&self, d: ArrayView2<f32>, out: &mut [f32]) {
        assert_eq!(out.len(), d.nrows() * self.width, "room for the rows of the product");
        assert!(self.used.iter().all(|run| run.end <= d.ncols()), "columns of d");
        assert!(d.ncols() <= 1 || d.strides()[1] == 1, "rows of d are contiguous");
        assert!(available(), "tiles need AVX-512");
        #[cfg(target_arch = "x86_64")]
        {
            let depth = self.used[0].len();
            if depth == 0 {
                return out.fill(0.0);
            }
            for (p, lines) in self.lines.chunks(2 * depth * VECTORS).enumerate() {
                let columns = WIDTH.min(self.width - p * WIDTH);
                let mut row = 0;
                while row < d.nrows() {
                    let rows = if row + ROWS <= d.nrows() { ROWS } else { 1 };
                    let first = d.slice(s![row.., ..]);
                    let of = |run: &Range<usize>| first.as_ptr().wrapping_add(run.start);
                    let tile = x86::Tile {
                        depth,
                        factors: self.used.each_ref().map(of),
                        stride: d.strides()[0],
                        panel: lines.as_ptr(),
                        out: out[row * self.width + p * WIDTH..].as_mut_ptr(),
                        width: self.width,
                        columns,
                    };
                    // SAFETY: the processor was asked above. The factors are `rows` rows of `d`, `depth` columns from the
                    // start of either run; both runs end within `d`, whose rows are contiguous. The panel has `2 depth`
                    // rows of `VECTORS` lines. The tile ends within `out`: `rows` of its rows from `row` on, `columns` of
                    // its columns from `p * WIDTH` on.
                    unsafe { tile.sum(rows) };
                    row += rows;
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{LANES, Line, ROWS, VECTORS};

    /// One tile: where its factors are and where it goes.
    pub(super) struct Tile {
        /// How many columns of D each run has.
        pub depth: usize,
        /// The first number of either run in the first row of D.
        pub factors: [*const f32; 2],
        /// From one row of D to the next.
        pub stride: isize,
        pub panel: *const Line,
        /// The first number of the tile.
        pub out: *mut f32,
        /// From one row of G to the next.
        pub width: usize,
        /// Columns of the tile.
        pub columns: usize,
    }

    impl Tile {
        /// Sums up so many rows: [`ROWS`] or one.
        ///
        /// # Safety
        ///
        /// In each of these rows of D, `stride` apart, `depth` numbers can be read from either factor on. The panel has
        /// `2 depth` times [`VECTORS`] lines. In each of these rows of G, `width` apart, `columns` numbers, 1 to
        /// [`VECTORS`] times [`LANES`], can be written from `out` on.
        #[target_feature(enable = "avx512f")]
        pub unsafe fn sum(&self, rows: usize) {
            let vectors = self.columns.div_ceil(LANES);
            // SAFETY: the caller's promise, handed on; the vectors counted here hold the tile's columns.
            unsafe {
                match (rows, vectors) {
                    (ROWS, 1) => self.sum_of::<ROWS, 1>(),
                    (ROWS, 2) => self.sum_of::<ROWS, 2>(),
                    (ROWS, 3) => self.sum_of::<ROWS, 3>(),
                    (ROWS, 4) => self.sum_of::<ROWS, 4>(),
                    (ROWS, _) => self.sum_of::<ROWS, VECTORS>(),
                    (_, 1) => self.sum_of::<1, 1>(),
                    (_, 2) => self.sum_of::<1, 2>(),
                    (_, 3) => self.sum_of::<1, 3>(),
                    (_, 4) => self.sum_of::<1, 4>(),
                    _ => self.sum_of::<1, VECTORS>(),
                }
            }
        }

        /// As [`sum`](Self::sum), of R rows and the V vectors that hold the columns.
        #[inline]
        #[target_feature(enable = "avx512f")]
        unsafe fn sum_of<const R: usize, const V: usize>(&self) {
            let mut sums = [[_mm512_setzero_ps(); V]; R];
            let mut line = self.panel;
            for mut factors in self.factors {
                for _ in 0..self.depth {
                    // SAFETY: within the panel, and within the rows of D.
                    unsafe {
                        let row: [__m512; V] = std::array::from_fn(|v| _mm512_load_ps(line.add(v).cast()));
                        for (r, sums) in sums.iter_mut().enumerate() {
                            let factor = _mm512_set1_ps(*factors.offset(r as isize * self.stride));
                            for (sum, value) in sums.iter_mut().zip(row) {
                                *sum = _mm512_fmadd_ps(factor, value, *sum);
                            }
                        }
                        line = line.add(VECTORS);
                        factors = factors.add(1);
                    }
                }
            }
            // The last vector of a row may be part of one.
            let rest = self.columns - (V - 1) * LANES;
            let last = (u32::MAX >> (32 - rest)) as __mmask16;
            for (r, sums) in sums.iter().enumerate() {
                for (v, &sum) in sums.iter().enumerate() {
                    let mask = if v + 1 == V { last } else { __mmask16::MAX };
                    // SAFETY: only the tile's own columns are written.
                    unsafe { _mm512_mask_storeu_ps(self.out.add(r * self.width + v * LANES), mask, sum) };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::rng;
    use ndarray::Array2;
    use rand::RngExt;

    fn random(m: usize, n: usize, seed: u64) -> Array2<f32> {
        let mut rng = rng::stream(seed, rng::Purpose::Demo, m as u64, n as u64);
        Array2::from_shape_simple_fn((m, n), || rng.random::<f32>() - 0.5)
    }

    #[test]
    fn rows_are_those_of_the_plain_product_whichever_are_made_together() {
        if !available() {
            return eprintln!("skipped: this processor has no AVX-512");
        }
        let mut panels = Panels::default();
        for (m, n, depth, padded) in
            [(1, 1, 1, 1), (23, 180, 200, 208), (7, 81, 200, 208), (11, 79, 17, 32), (6, 177, 33, 48), (5, 33, 0, 4)]
        {
            // Rows that are farther apart than they are long.
            let d = random(m, 2 * padded + 9, 1);
            let (d, u) = (d.slice(s![.., 3..2 * padded + 3]), random(n, 2 * padded, 2));
            let used = [0..depth, padded..padded + depth];
            // Panels are used again, so what is left of larger ones must not show.
            panels.pack(u.view(), used.clone());
            let mut found = vec![f32::NAN; m * n];
            panels.multiply(d, &mut found);
            for (i, row) in found.chunks(n).enumerate() {
                for (j, &found) in row.iter().enumerate() {
                    let columns = used.iter().cloned().flatten();
                    let want: f64 = columns.map(|k| f64::from(d[[i, k]]) * f64::from(u[[j, k]])).sum();
                    assert!((f64::from(found) - want).abs() < 1e-5, "{m} {n} {depth}: {i} {j}: {found} {want}");
                }
            }
            for i in 0..m {
                let mut alone = vec![f32::NAN; n];
                panels.multiply(d.slice(s![i..=i, ..]), &mut alone);
                assert_eq!(alone, found[i * n..(i + 1) * n], "row {i} of {m} x {n}");
            }
        }
    }
}
