//! Products that skip zeros: `R = S Q`, where many numbers of S are zero.
//!
//! A rectified unit is silent on most rows, and where it is silent no gradient passes: of the numbers that a training step
//! multiplies weights with, half and more are zero, at no fixed places. A general product multiplies with all of them. Here
//! a bit for each number says whether it is zero, and the others add their multiples of one row of Q:
//!
//! ```text
//! R[i, :] = sum over j with S[i, j] != 0 of  S[i, j] Q[j, :]
//! ```
//!
//! by panels ([`panels`]), a row of S passing its bits for the piece with its eight sums in registers. Each multiplication would
//! want a number of Q from the cache, of which processors read fewer than they can multiply; so rows pass in twos, and share what they
//! read: first where both are not zero, then where only the first is, then where only the second is.
//!
//! So a number's sum depends on the row beside it, in its last bits. Rows that pass alone have the bits that tiles
//! ([`dense`](super::dense)) give them if all numbers are finite, whatever is beside them, and take a little longer.
//!
//! By our measure (docs/performance.md) skipping pays where at least a quarter of S is zero, a little more for rows that pass alone, and only
//! with AVX-512. Ask [`panels::available`] first.

#![allow(unsafe_code)]

use std::ops::Range;

use ndarray::{ArrayView2, s};
use rayon::prelude::*;

use super::panels::{self, DEPTH, Line, Piece, VECTORS};
use super::threads;

/// How the rows of S pass a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Each by itself: the bits of a row are those of tiles, and depend on no other row.
    Alone,
    /// In twos, which is faster.
    Twos,
}

impl Pass {
    /// The largest share of numbers that are not zero at which skipping the others pays.
    pub fn densest(self) -> f64 {
        match self {
            Pass::Alone => 0.7,
            Pass::Twos => 0.75,
        }
    }
}

/// The bits of a row for the columns of a piece, the first one lowest.
type Mask = u64;
const _: () = assert!(DEPTH <= Mask::BITS as usize, "a bit for each column of a piece");

/// Which numbers of S are not zero.
#[derive(Default)]
pub struct Nonzeros {
    rows: usize,
    columns: usize,
    /// For each piece of columns the masks of all rows.
    masks: Vec<Mask>,
}

impl Nonzeros {
    /// Looks at S in place of what was there, and tells the share of its numbers that are not zero. No memory is asked for where
    /// that was as large.
    pub fn take(&mut self, s: ArrayView2<f32>) -> f64 {
        (self.rows, self.columns) = s.dim();
        self.masks.resize(self.rows * self.columns.div_ceil(DEPTH), 0);
        let rows = self.rows.max(1);
        let count: usize = threads::run(|| {
            let pieces = self.masks.par_chunks_mut(rows).enumerate();
            let found = pieces.map(|(piece, masks)| {
                let columns = piece * DEPTH..(piece * DEPTH + DEPTH).min(s.ncols());
                look(s.slice(s![.., columns]), masks);
                masks.iter().map(|mask| mask.count_ones() as usize).sum::<usize>()
            });
            found.sum()
        });
        count as f64 / (self.rows * self.columns).max(1) as f64
    }

    /// `R = S Q`, handed out as [`panels::product`] does. S is what [`take`](Self::take) has seen.
    pub fn multiply<O: Send>(
        &self,
        s: ArrayView2<f32>,
        pass: Pass,
        q: ArrayView2<f32>,
        of_panels: impl IndexedParallelIterator<Item = O>,
        finish: impl Fn(&mut O, Range<usize>, ArrayView2<f32>) + Sync,
    ) {
        assert_eq!(s.dim(), (self.rows, self.columns), "the matrix whose zeros are known");
        assert_eq!(q.nrows(), self.columns, "inner dimensions of s and q");
        let add = |rows: Range<usize>, piece: &Piece, sums: &mut [Line]| {
            let masks = &self.masks[piece.columns.start / DEPTH * self.rows..][rows.clone()];
            add(s.slice(s![rows, piece.columns.clone()]), masks, pass, piece, sums);
        };
        panels::product(self.rows, q, of_panels, add, finish);
    }
}

/// The masks of the rows of a piece of S.
fn look(s: ArrayView2<f32>, masks: &mut [Mask]) {
    assert!(s.nrows() == masks.len() && s.ncols() <= DEPTH, "a mask for each row, a bit for each column");
    #[cfg(target_arch = "x86_64")]
    if panels::available() {
        // SAFETY: the processor was asked, and the sizes checked.
        unsafe {
            match *s.strides() {
                [_, 1] => return x86::look_along_rows(s, masks),
                [1, _] => return x86::look_along_columns(s, masks),
                _ => {}
            }
        }
    }
    plain::look(s, masks);
}

/// Adds to the sums of each row of S, with as many columns as the piece has rows, what its mask says.
fn add(s: ArrayView2<f32>, masks: &[Mask], pass: Pass, piece: &Piece, sums: &mut [Line]) {
    assert_eq!((sums.len(), piece.lines.len()), (s.nrows() * VECTORS, s.ncols() * VECTORS), "sums and lines");
    assert!(piece.vectors <= VECTORS && masks.len() == s.nrows(), "vectors of the piece, and a mask for each row");
    let most = masks.iter().fold(0, |all, mask| all | mask);
    assert!(most.checked_shr(s.ncols() as u32).unwrap_or(0) == 0, "bits are within the piece");
    #[cfg(target_arch = "x86_64")]
    if panels::available() {
        let sums = sums.as_mut_ptr();
        // SAFETY: the processor was asked. Bits are those of columns of S, as was checked, and the piece has as many rows, each of
        // `VECTORS` lines; so have the sums, one for each row of S, which has a mask too. The vectors taken are among those.
        unsafe {
            match piece.vectors {
                1 => x86::add::<1>(s, masks, pass, piece, sums),
                2 => x86::add::<2>(s, masks, pass, piece, sums),
                3 => x86::add::<3>(s, masks, pass, piece, sums),
                4 => x86::add::<4>(s, masks, pass, piece, sums),
                5 => x86::add::<5>(s, masks, pass, piece, sums),
                6 => x86::add::<6>(s, masks, pass, piece, sums),
                7 => x86::add::<7>(s, masks, pass, piece, sums),
                _ => x86::add::<VECTORS>(s, masks, pass, piece, sums),
            }
        }
        return;
    }
    plain::add(s, masks, pass, piece, sums);
}

/// The same in plain words: for other processors, and what the vectors are compared with.
mod plain {
    use ndarray::ArrayView2;

    use super::{Line, Mask, Pass, Piece, VECTORS};
    use crate::math::panels::LANES;

    pub fn look(s: ArrayView2<f32>, masks: &mut [Mask]) {
        for (row, mask) in s.rows().into_iter().zip(masks) {
            *mask = row.iter().enumerate().fold(0, |mask, (j, &value)| mask | (Mask::from(value != 0.0) << j));
        }
    }

    pub fn add(s: ArrayView2<f32>, masks: &[Mask], pass: Pass, piece: &Piece, sums: &mut [Line]) {
        for (i, (row, sums)) in s.rows().into_iter().zip(sums.chunks_mut(VECTORS)).enumerate() {
            if piece.first {
                sums.fill(Line([0.0; LANES]));
            }
            // What the row has in common with the one it passes with comes first.
            let other = if pass == Pass::Twos { masks.get(i ^ 1).copied().unwrap_or(0) } else { 0 };
            for mask in [masks[i] & other, masks[i] & !other] {
                for (j, &factor) in row.iter().enumerate().filter(|(j, _)| mask >> j & 1 == 1) {
                    for (sums, line) in sums.iter_mut().zip(&piece.lines[j * VECTORS..]).take(piece.vectors) {
                        for (sum, q) in sums.0.iter_mut().zip(line.0) {
                            *sum = factor.mul_add(q, *sum);
                        }
                    }
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use ndarray::ArrayView2;

    use super::{Line, Mask, Pass, Piece, VECTORS};
    use crate::math::panels::LANES;

    /// The masks of rows that are contiguous.
    ///
    /// # Safety
    ///
    /// The rows of S are contiguous, there is a mask for each, and it has a bit for every column.
    #[target_feature(enable = "avx512f")]
    pub unsafe fn look_along_rows(s: ArrayView2<f32>, masks: &mut [Mask]) {
        for (i, mask) in masks.iter_mut().enumerate() {
            let row = s.as_ptr().wrapping_offset(i as isize * s.strides()[0]);
            *mask = 0;
            for first in (0..s.ncols()).step_by(LANES) {
                // SAFETY: of the row, the numbers that are there.
                let found = unsafe { nonzero(row.add(first), s.ncols() - first) };
                *mask |= Mask::from(found) << first;
            }
        }
    }

    /// The masks of rows whose columns are contiguous: 16 at a time, a bit of each from every column.
    ///
    /// # Safety
    ///
    /// The columns of S are contiguous, there is a mask for each row, and it has a bit for every column.
    #[target_feature(enable = "avx512f")]
    pub unsafe fn look_along_columns(s: ArrayView2<f32>, masks: &mut [Mask]) {
        for (block, masks) in masks.chunks_mut(LANES).enumerate() {
            let (mut low, mut high) = (_mm512_setzero_si512(), _mm512_setzero_si512());
            let mut column = s.as_ptr().wrapping_add(block * LANES);
            for j in 0..s.ncols() {
                // SAFETY: of the column, the numbers that are there.
                let found = unsafe { nonzero(column, masks.len()) };
                let bit = _mm512_set1_epi64(1 << j);
                low = _mm512_mask_or_epi64(low, found as __mmask8, low, bit);
                high = _mm512_mask_or_epi64(high, (found >> 8) as __mmask8, high, bit);
                column = column.wrapping_offset(s.strides()[1]);
            }
            let mut all = [0; LANES];
            // SAFETY: there is room for both.
            unsafe {
                _mm512_storeu_si512(all.as_mut_ptr().cast(), low);
                _mm512_storeu_si512(all.as_mut_ptr().add(LANES / 2).cast(), high);
            }
            masks.copy_from_slice(&all[..masks.len()]);
        }
    }

    /// Which of at most 16 numbers, of which so many are there, are not zero.
    ///
    /// # Safety
    ///
    /// So many can be read.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn nonzero(numbers: *const f32, count: usize) -> __mmask16 {
        let there = if count >= LANES { !0 } else { (1 << count) - 1 };
        // SAFETY: the caller's promise.
        let values = unsafe { _mm512_maskz_loadu_ps(there, numbers) };
        _mm512_cmp_ps_mask::<_CMP_NEQ_UQ>(values, _mm512_setzero_ps())
    }

    /// Adds to V vectors of sums for every row of S.
    ///
    /// # Safety
    ///
    /// There is a mask for every row of S, whose bits stand for its columns. V lines can be read from each of as many rows of
    /// the piece, and read and written in as many rows of the sums as S has; all rows are [`VECTORS`] lines apart.
    #[target_feature(enable = "avx512f")]
    pub unsafe fn add<const V: usize>(s: ArrayView2<f32>, masks: &[Mask], pass: Pass, piece: &Piece, sums: *mut Line) {
        let &[down, across] = s.strides() else { unreachable!("a matrix has two strides") };
        let (lines, zero) = (piece.lines.as_ptr(), [_mm512_setzero_ps(); V]);
        // SAFETY: the caller's promise: `at` is asked for rows that the sums have, and bits stand for columns of S and rows
        // of the piece.
        unsafe {
            let at = |row: usize, v: usize| sums.add(row * VECTORS + v).cast::<f32>();
            let of = |row: usize| std::array::from_fn(|v| _mm512_load_ps(at(row, v)));
            let mut row = 0;
            while row < masks.len() {
                let two = pass == Pass::Twos && row + 1 < masks.len();
                let (first, second) = (masks[row], if two { masks[row + 1] } else { 0 });
                let factors = s.as_ptr().offset(row as isize * down);
                piece.fetch_next(row);
                if two {
                    piece.fetch_next(row + 1);
                }
                let (mut a, mut b): ([__m512; V], [__m512; V]) = (zero, zero);
                if !piece.first {
                    a = of(row);
                    if two {
                        b = of(row + 1);
                    }
                }
                let mut bits = first & second;
                while bits != 0 {
                    let j = bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    let factor = factors.offset(j as isize * across);
                    let (x, y) = (_mm512_set1_ps(*factor), _mm512_set1_ps(*factor.offset(down)));
                    let line: [__m512; V] = std::array::from_fn(|v| _mm512_load_ps(lines.add(j * VECTORS + v).cast()));
                    for (sum, q) in a.iter_mut().zip(line) {
                        *sum = _mm512_fmadd_ps(x, q, *sum);
                    }
                    for (sum, q) in b.iter_mut().zip(line) {
                        *sum = _mm512_fmadd_ps(y, q, *sum);
                    }
                }
                for (sums, mut bits, factors) in
                    [(&mut a, first & !second, factors), (&mut b, second & !first, factors.wrapping_offset(down))]
                {
                    while bits != 0 {
                        let j = bits.trailing_zeros() as usize;
                        bits &= bits - 1;
                        let factor = _mm512_set1_ps(*factors.offset(j as isize * across));
                        for (v, sum) in sums.iter_mut().enumerate() {
                            let q = _mm512_load_ps(lines.add(j * VECTORS + v).cast());
                            *sum = _mm512_fmadd_ps(factor, q, *sum);
                        }
                    }
                }
                for v in 0..V {
                    _mm512_store_ps(at(row, v), a[v]);
                    if two {
                        _mm512_store_ps(at(row + 1, v), b[v]);
                    }
                }
                row += if two { 2 } else { 1 };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::dense::multiply as by_tiles;
    use crate::math::panels::trial::{piece, random, whole};
    use crate::math::panels::{LANES, numbers};
    use ndarray::{Array2, ArrayViewMut2};

    fn product(s: ArrayView2<f32>, pass: Pass, q: ArrayView2<f32>) -> (f64, Array2<f32>) {
        let mut nonzeros = Nonzeros::default();
        let mut found = Array2::from_elem((s.nrows(), q.ncols()), f32::NAN);
        let mut multiply = |s, q, mut found: ArrayViewMut2<f32>| {
            let share = nonzeros.take(s);
            whole!(nonzeros.multiply(s, pass, q), found);
            share
        };
        // Room is used again, so what is left of a larger product must not show.
        let larger = (random(300, 90, 1.0), random(90, 140, 1.0));
        multiply(larger.0.view(), larger.1.view(), Array2::zeros((300, 140)).view_mut());
        (multiply(s, q, found.view_mut()), found)
    }

    #[test]
    fn it_is_the_plain_product_for_every_layout_share_and_number_of_threads() {
        for (m, n, depth, share) in [
            (1, 1, 1, 1.0),
            (200, 130, 784, 0.2),
            (417, 80, 148, 0.5),
            (17, 300, 97, 1.0),
            (209, 257, 57, 0.0),
            (5, 7, 0, 0.5),
            (300, 20, 60, 0.5),
            (30, 60, 60, 0.5),
            (30, 90, 60, 0.5),
            (31, 110, 60, 0.5),
        ] {
            let (s, q) = (random(m, depth, share), random(depth, n, 1.0));
            let turned = |a: &Array2<f32>| a.t().as_standard_layout().into_owned();
            let (st, qt) = (turned(&s), turned(&q));
            let (found_share, found) = threads::with_count(1, || product(s.view(), Pass::Twos, q.view()));
            let nonzero = s.iter().filter(|&&v| v != 0.0).count() as f64;
            assert!((found_share - nonzero / s.len().max(1) as f64).abs() < 1e-9, "{found_share}");
            for ((i, j), &found) in found.indexed_iter() {
                let want: f64 = (0..depth).map(|k| f64::from(s[[i, k]]) * f64::from(q[[k, j]])).sum();
                assert!((f64::from(found) - want).abs() < 1e-4, "{m} {n} {depth}: {i} {j}: {found} {want}");
            }
            for (s, q) in [(s.view(), qt.t()), (st.t(), q.view()), (st.t(), qt.t())] {
                assert_eq!(threads::with_count(3, || product(s, Pass::Twos, q)).1, found, "{m} {n} {depth}");
            }
            let mut tiles = Array2::zeros(found.dim());
            whole!(by_tiles(s.view(), q.view()), tiles);
            assert_eq!(product(s.view(), Pass::Alone, q.view()).1, tiles, "{m} {n} {depth}");
        }
    }

    #[test]
    fn vectors_and_plain_words_agree_to_the_bit() {
        for (rows, depth, vectors) in [(1, DEPTH, 8), (40, DEPTH, 7), (41, 30, 3), (2, 1, 1), (19, 17, 8)] {
            let (s, q) = (random(rows, depth, 0.4), random(depth, vectors * LANES, 1.0));
            let turned = s.t().as_standard_layout().into_owned();
            let lines = piece(q.view());
            for (first, pass) in [(false, Pass::Twos), (true, Pass::Twos), (true, Pass::Alone)] {
                let mut piece = Piece::of(&lines, vectors);
                piece.first = first;
                let mut want = vec![0; rows];
                plain::look(s.view(), &mut want);
                let start = || vec![Line([0.5; LANES]); rows * VECTORS];
                let mut wanted = start();
                plain::add(s.view(), &want, pass, &piece, &mut wanted);
                for s in [s.view(), turned.t()] {
                    let mut masks = vec![!0; rows];
                    look(s, &mut masks);
                    assert_eq!(masks, want);
                    let mut found = start();
                    add(s, &masks, pass, &piece, &mut found);
                    let width = vectors * LANES;
                    assert_eq!(
                        numbers(&found).slice(s![.., ..width]),
                        numbers(&wanted).slice(s![.., ..width]),
                        "{rows} x {depth}, {vectors}"
                    );
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "bits are within the piece")]
    fn bits_beyond_the_piece_are_refused() {
        let lines = vec![Line([0.0; LANES]); DEPTH * VECTORS];
        let sums = &mut vec![Line([0.0; LANES]); VECTORS];
        add(Array2::zeros((1, DEPTH)).view(), &[1 << DEPTH], Pass::Twos, &Piece::of(&lines, VECTORS), sums);
    }

    #[test]
    fn what_is_not_a_number_is_not_skipped() {
        let mut s = random(3, 60, 0.5);
        s[[1, 50]] = f32::NAN;
        let (_, found) = product(s.view(), Pass::Twos, random(60, 4, 1.0).view());
        assert!(found.row(1).iter().all(|v| v.is_nan()) && found.row(2).iter().all(|v| v.is_finite()));
    }
}
