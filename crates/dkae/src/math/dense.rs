//! Products of narrow batches with weights, and of tiles of a kernel matrix with a few vectors: `R = S Q`, where few numbers of S
//! are zero.
//!
//! A general product packs all of Q before it multiplies, and writes R before anybody can use it. With 200 rows in S that
//! shows: weights pass through memory once more, and a row or column that is left over from a tile costs as much as a whole
//! one. Here the product goes by panels ([`panels`]). A tile of R, 5 rows by 64 columns, is in registers while a piece of Q
//! passes: 20 of the 32 vectors that AVX-512 has, 4 for the row of the piece, one for the factor.

#![allow(unsafe_code)]

use std::ops::Range;

use ndarray::{ArrayView2, s};
use rayon::prelude::*;

use super::panels::{self, LANES, Line, Piece, VECTORS};

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
        // SAFETY: the processor was asked. The piece has as many rows of `VECTORS` lines as S has columns and the sums have as
        // many as S has rows, and the vectors in use are among those.
        return unsafe { x86::add(s, piece, sums.as_mut_ptr()) };
    }
    plain(s, piece, sums);
}

/// The same in plain words: for other processors, and what the vectors are compared with.
fn plain(s: ArrayView2<f32>, piece: &Piece, sums: &mut [Line]) {
    for (factors, sums) in s.rows().into_iter().zip(sums.chunks_mut(VECTORS)) {
        if piece.first {
            sums.fill(Line([0.0; LANES]));
        }
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

    use ndarray::ArrayView2;

    use super::{Line, Piece, ROWS, VECTORS};

    /// Vectors in a row of a tile.
    const ACROSS: usize = 4;

    /// Adds to the sums, tile by tile, what the rows of S get from the piece.
    ///
    /// # Safety
    ///
    /// The piece has as many rows, of [`VECTORS`] lines, as S has columns, and the sums have as many as S has rows. At most
    /// [`VECTORS`] of the piece's vectors are in use.
    #[target_feature(enable = "avx512f")]
    pub unsafe fn add(s: ArrayView2<f32>, piece: &Piece, sums: *mut Line) {
        let mut row = 0;
        while row < s.nrows() {
            let rows = if row + ROWS <= s.nrows() { ROWS } else { 1 };
            (row..row + rows).for_each(|row| piece.fetch_next(row));
            for first in (0..piece.vectors).step_by(ACROSS) {
                let tile = Tile {
                    factors: s.as_ptr().wrapping_offset(row as isize * s.strides()[0]),
                    apart: [s.strides()[0], s.strides()[1]],
                    depth: s.ncols(),
                    lines: piece.lines.as_ptr().wrapping_add(first),
                    sums: sums.wrapping_add(row * VECTORS + first),
                    begin: piece.first,
                };
                // SAFETY: from `row` on S has `rows` rows, and `depth` columns; the rest is the caller's promise.
                unsafe {
                    match (rows, ACROSS.min(piece.vectors - first)) {
                        (ROWS, 1) => tile.add::<ROWS, 1>(),
                        (ROWS, 2) => tile.add::<ROWS, 2>(),
                        (ROWS, 3) => tile.add::<ROWS, 3>(),
                        (ROWS, _) => tile.add::<ROWS, ACROSS>(),
                        (_, 1) => tile.add::<1, 1>(),
                        (_, 2) => tile.add::<1, 2>(),
                        (_, 3) => tile.add::<1, 3>(),
                        _ => tile.add::<1, ACROSS>(),
                    }
                }
            }
            row += rows;
        }
    }

    /// One tile: where its factors, its part of the piece and its sums begin.
    struct Tile {
        factors: *const f32,
        /// From one row of factors to the next, and from one column to the next.
        apart: [isize; 2],
        /// Columns of factors, and rows of the piece.
        depth: usize,
        lines: *const Line,
        sums: *mut Line,
        /// Whether the sums begin here.
        begin: bool,
    }

    impl Tile {
        /// Adds to R rows of V vectors.
        ///
        /// # Safety
        ///
        /// In each of these rows `depth` factors can be read, `apart` from each other. So many lines can be read from each of
        /// `depth` rows of the piece, and read and written in each of these rows of the sums; rows are [`VECTORS`] lines apart.
        /// Both begin at a [`Line`], which is aligned as vectors want it.
        #[inline]
        #[target_feature(enable = "avx512f")]
        unsafe fn add<const R: usize, const V: usize>(&self) {
            let Tile { mut factors, apart, mut lines, sums, .. } = *self;
            // SAFETY: the caller's promise.
            unsafe {
                let at = |r: usize, v: usize| sums.add(r * VECTORS + v).cast::<f32>();
                let mut found: [[__m512; V]; R] = [[_mm512_setzero_ps(); V]; R];
                if !self.begin {
                    found = std::array::from_fn(|r| std::array::from_fn(|v| _mm512_load_ps(at(r, v))));
                }
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
    use crate::math::panels::numbers;
    use crate::math::panels::trial::{piece, random, whole};
    use crate::math::threads;
    use ndarray::Array2;

    fn product(s: ArrayView2<f32>, q: ArrayView2<f32>) -> Array2<f32> {
        let mut found = Array2::from_elem((s.nrows(), q.ncols()), f32::NAN);
        whole!(multiply(s, q), found);
        found
    }

    #[test]
    fn it_is_the_plain_product_for_every_layout_and_number_of_threads() {
        let shapes = [
            (1, 1, 1),
            (200, 130, 784),
            (417, 80, 148),
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
        }
    }

    #[test]
    fn vectors_and_plain_words_agree_to_the_bit() {
        for (rows, vectors) in [(1, 8), (5, 3), (12, 5), (7, 1), (9, 6)] {
            let (s, q) = (random(rows, 40, 0.9), random(40, vectors * LANES, 1.0));
            let lines = piece(q.view());
            for first in [false, true] {
                let mut piece = Piece::of(&lines, vectors);
                piece.first = first;
                let start = || vec![Line([0.5; LANES]); rows * VECTORS];
                let (mut found, mut want) = (start(), start());
                add(s.view(), &piece, &mut found);
                plain(s.view(), &piece, &mut want);
                let width = vectors * LANES;
                let [found, want] = [&found, &want].map(|of| numbers(of).slice_move(s![.., ..width]));
                assert_eq!(found, want, "{rows} {vectors}");
            }
        }
    }
}
