//! Products of narrow batches with weights, `R = S Q`, where few numbers of S are zero.
//!
//! A general product packs all of Q before it multiplies, and writes R before anybody can use it. With 200 rows in S that
//! shows: weights pass through memory once more, and a row or column that is left over from a tile costs as much as a whole
//! one. Here the product goes by panels ([`panels`]). A tile of R, 5 rows by 64 columns, is in registers while a piece of Q
//! passes: 20 of the 32 vectors that AVX-512 has, 4 for the row of the piece, one for the factor.

#![allow(unsafe_code)]

use std::ops::Range;

use ndarray::{ArrayView2, s};
use rayon::prelude::*;

use super::panels::{self, Line, Piece, VECTORS};

/// Rows of a tile: a divisor of the usual 200.
pub(super) const ROWS: usize = 5;

/// `R = S Q`, handed out as [`panels::product`] does. S may have any layout.
pub fn multiply<O: Send>(
    s: ArrayView2<f32>,
    q: ArrayView2<f32>,
    of_panels: impl IndexedParallelIterator<Item = O>,
    finish: impl Fn(&mut O, Range<usize>, ArrayView2<f32>) + Sync,
) {
    assert_eq!(q.nrows(), s.ncols(), "inner dimensions of s and q");
    let add = |rows: Range<usize>, piece: &Piece, sums: &mut [Line]| {
        add(s.slice(s![rows, piece.columns.clone()]), piece, sums);
    };
    panels::product(s.nrows(), q, of_panels, add, finish);
}

/// Adds to the sums what some rows of S, with as many columns as the piece has rows, get from it.
fn add(s: ArrayView2<f32>, piece: &Piece, sums: &mut [Line]) {
    assert_eq!((sums.len(), piece.lines.len()), (s.nrows() * VECTORS, s.ncols() * VECTORS), "sums and lines");
    assert!(piece.vectors <= VECTORS, "vectors of the piece");
    #[cfg(target_arch = "x86_64")]
    if panels::available() {
        let mut row = 0;
        while row < s.nrows() {
            let rows = if row + ROWS <= s.nrows() { ROWS } else { 1 };
            (row..row + rows).for_each(|row| piece.fetch_next(row));
            for first in (0..piece.vectors).step_by(x86::ACROSS) {
                let tile = x86::Tile {
                    factors: s.as_ptr().wrapping_offset(row as isize * s.strides()[0]),
                    apart: [s.strides()[0], s.strides()[1]],
                    depth: s.ncols(),
                    lines: piece.lines.as_ptr().wrapping_add(first),
                    sums: sums.as_mut_ptr().wrapping_add(row * VECTORS + first),
                };
                // SAFETY: the processor was asked. From `row` on S has `rows` rows, and `depth` columns. The piece has `depth`
                // rows of `VECTORS` lines and the sums have as many as S, and the vectors taken are among those `VECTORS`.
                unsafe { tile.add(rows, x86::ACROSS.min(piece.vectors - first)) };
            }
            row += rows;
        }
        return;
    }
    plain(s, piece, sums);
}

/// The same in plain words: for other processors, and what the vectors are compared with.
fn plain(s: ArrayView2<f32>, piece: &Piece, sums: &mut [Line]) {
    for (factors, sums) in s.rows().into_iter().zip(sums.chunks_mut(VECTORS)) {
        for (&factor, lines) in factors.iter().zip(piece.lines.chunks(VECTORS)) {
            for (sums, line) in sums.iter_mut().zip(lines).take(piece.vectors) {
                for (sum, q) in sums.0.iter_mut().zip(line.0) {
                    *sum = factor.mul_add(q, *sum);
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Line, ROWS, VECTORS};

    /// Vectors in a row of a tile.
    pub(super) const ACROSS: usize = 4;

    /// One tile: where its factors, its part of the piece and its sums begin.
    pub(super) struct Tile {
        pub factors: *const f32,
        /// From one row of factors to the next, and from one column to the next.
        pub apart: [isize; 2],
        /// Columns of factors, and rows of the piece.
        pub depth: usize,
        pub lines: *const Line,
        pub sums: *mut Line,
    }

    impl Tile {
        /// Adds to so many rows, [`ROWS`] or one, of so many vectors, 1 to [`ACROSS`].
        ///
        /// # Safety
        ///
        /// In each of these rows `depth` factors can be read, `apart` from each other. So many lines can be read from each of
        /// `depth` rows of the piece, and read and written in each of these rows of the sums; rows are [`VECTORS`] lines apart.
        /// Both begin at a [`Line`], which is aligned as vectors want it.
        #[target_feature(enable = "avx512f")]
        pub unsafe fn add(&self, rows: usize, across: usize) {
            // SAFETY: the caller's promise, handed on.
            unsafe {
                match (rows, across) {
                    (ROWS, 1) => self.add_to::<ROWS, 1>(),
                    (ROWS, 2) => self.add_to::<ROWS, 2>(),
                    (ROWS, 3) => self.add_to::<ROWS, 3>(),
                    (ROWS, _) => self.add_to::<ROWS, ACROSS>(),
                    (_, 1) => self.add_to::<1, 1>(),
                    (_, 2) => self.add_to::<1, 2>(),
                    (_, 3) => self.add_to::<1, 3>(),
                    _ => self.add_to::<1, ACROSS>(),
                }
            }
        }

        /// As [`add`](Self::add), to R rows of V vectors.
        #[inline]
        #[target_feature(enable = "avx512f")]
        unsafe fn add_to<const R: usize, const V: usize>(&self) {
            let Tile { mut factors, apart, mut lines, sums, .. } = *self;
            // SAFETY: the caller's promise.
            unsafe {
                let at = |r: usize, v: usize| sums.add(r * VECTORS + v).cast::<f32>();
                let mut found: [[__m512; V]; R] =
                    std::array::from_fn(|r| std::array::from_fn(|v| _mm512_load_ps(at(r, v))));
                for _ in 0..self.depth {
                    let row: [__m512; V] = std::array::from_fn(|v| _mm512_load_ps(lines.add(v).cast()));
                    for (r, found) in found.iter_mut().enumerate() {
                        let factor = _mm512_set1_ps(*factors.offset(r as isize * apart[0]));
                        for (sum, value) in found.iter_mut().zip(row) {
                            *sum = _mm512_fmadd_ps(factor, value, *sum);
                        }
                    }
                    lines = lines.wrapping_add(VECTORS);
                    factors = factors.wrapping_offset(apart[1]);
                }
                for (r, found) in found.into_iter().enumerate() {
                    for (v, sum) in found.into_iter().enumerate() {
                        _mm512_store_ps(at(r, v), sum);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::panels::trial::{piece, random, whole};
    use crate::math::panels::{LANES, numbers};
    use crate::math::sparse::Nonzeros;
    use crate::math::threads;
    use ndarray::Array2;

    fn product(s: ArrayView2<f32>, q: ArrayView2<f32>) -> Array2<f32> {
        let mut found = Array2::from_elem((s.nrows(), q.ncols()), f32::NAN);
        whole!(multiply(s, q), found);
        found
    }

    #[test]
    fn it_is_the_plain_product_for_every_layout_and_number_of_threads_and_has_the_bits_of_lists() {
        let shapes = [
            (1, 1, 1),
            (200, 130, 784),
            (417, 80, 48),
            (17, 300, 97),
            (209, 257, 49),
            (5, 7, 0),
            (30, 110, 60),
            (3, 48, 100),
        ];
        for (m, n, depth) in shapes {
            let (s, q) = (random(m, depth, 0.9), random(depth, n, 1.0));
            let turned = |a: &Array2<f32>| a.t().as_standard_layout().into_owned();
            let (st, qt) = (turned(&s), turned(&q));
            let found = threads::with_count(1, || product(s.view(), q.view()));
            for ((i, j), &found) in found.indexed_iter() {
                let want: f64 = (0..depth).map(|k| f64::from(s[[i, k]]) * f64::from(q[[k, j]])).sum();
                assert!((f64::from(found) - want).abs() < 1e-4, "{m} {n} {depth}: {i} {j}: {found} {want}");
            }
            for (s, q) in [(s.view(), qt.t()), (st.t(), q.view()), (st.t(), qt.t())] {
                assert_eq!(threads::with_count(3, || product(s, q)), found, "{m} {n} {depth}");
            }
            // Rows that are farther apart than they are long.
            let wide = Array2::from_shape_fn((m, depth + 9), |(i, j)| if j < depth { s[[i, j]] } else { f32::NAN });
            assert_eq!(product(wide.slice(s![.., ..depth]), q.view()), found, "{m} {n} {depth}");
            let (mut nonzeros, mut by_lists) = (Nonzeros::default(), Array2::zeros(found.dim()));
            nonzeros.take(s.view());
            whole!(nonzeros.multiply(q.view()), by_lists);
            assert_eq!(by_lists, found, "{m} {n} {depth}");
        }
    }

    #[test]
    fn vectors_and_plain_words_agree_to_the_bit() {
        for (rows, vectors) in [(1, 8), (5, 3), (12, 5), (7, 1), (9, 6)] {
            let (s, q) = (random(rows, 40, 0.9), random(40, vectors * LANES, 1.0));
            let lines = piece(q.view());
            let piece = Piece::of(&lines, vectors);
            let start = || vec![Line([0.5; LANES]); rows * VECTORS];
            let (mut found, mut want) = (start(), start());
            add(s.view(), &piece, &mut found);
            plain(s.view(), &piece, &mut want);
            assert_eq!(numbers(&found), numbers(&want), "{rows} {vectors}");
        }
    }
}
