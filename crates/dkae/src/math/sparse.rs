//! Products that skip zeros: `R = S Q`, where many numbers of S are zero.
//!
//! A rectified unit is silent on most rows, and where it is silent no gradient passes: of the numbers that a training step
//! multiplies weights with, half and more are zero, at no fixed places. A general product multiplies with all of them. Here
//! each row of S is kept as a list of what is not zero, and each entry adds its multiple of one row of Q:
//!
//! ```text
//! R[i, :] = sum over j with S[i, j] != 0 of  S[i, j] Q[j, :]
//! ```
//!
//! by panels ([`panels`]), a row of S passing its entries for the piece with its eight sums in registers.
//!
//! A multiplication costs more here than in a tile, since each needs a number of Q from the cache: by our measure (docs/performance.md)
//! skipping pays where at least four in ten are zero, and only with AVX-512. Ask [`panels::available`] first.

#![allow(unsafe_code)]

use std::ops::Range;

use ndarray::{ArrayView2, ArrayViewMut2, s};
use rayon::prelude::*;

use super::panels::{self, DEPTH, LANES, Line, Piece, VECTORS, copy};
use super::threads;
use super::turn::turn;

/// The largest share of entries at which skipping the others pays.
pub const DENSEST: f64 = 0.6;

/// What is not zero in [`DEPTH`] columns of a row, in their order.
#[derive(Clone, Copy)]
struct Run {
    /// How far the entry's row is from the first one of the piece, in bytes.
    offsets: [u16; DEPTH],
    values: [f32; DEPTH],
}

/// From one row of a piece to the next.
const ROW_BYTES: usize = VECTORS * size_of::<Line>();
const _: () = assert!(DEPTH * ROW_BYTES <= 1 << 16, "offsets have 16 bits");

/// S: of each row what is not zero.
#[derive(Default)]
pub struct Nonzeros {
    rows: usize,
    columns: usize,
    /// For each piece of columns the runs of all rows, and how many entries they have. Six bytes for every number of S, zero or
    /// not, so that all runs can be made at once; of a run only its entries are read.
    runs: Vec<Run>,
    counts: Vec<u8>,
}

impl Nonzeros {
    /// Takes S in place of what was there, and tells the share of its numbers that are not zero. Its rows or its columns are
    /// contiguous. No memory is asked for where that was as large.
    pub fn take(&mut self, s: ArrayView2<f32>) -> f64 {
        (self.rows, self.columns) = s.dim();
        let runs = self.rows * self.columns.div_ceil(DEPTH);
        self.runs.resize(runs, Run { offsets: [0; DEPTH], values: [0.0; DEPTH] });
        self.counts.resize(runs, 0);
        let rows = self.rows.max(1);
        let entries: usize = threads::run(|| {
            let pieces = self.runs.par_chunks_mut(rows).zip(self.counts.par_chunks_mut(rows));
            let taken = pieces.enumerate().map(|(piece, (runs, counts))| {
                let columns = piece * DEPTH..(piece * DEPTH + DEPTH).min(s.ncols());
                take_piece(s.slice(s![.., columns]), runs, counts)
            });
            taken.sum()
        });
        entries as f64 / (self.rows * self.columns).max(1) as f64
    }

    /// `R = S Q`, handed out as [`panels::product`] does.
    pub fn multiply<O: Send>(
        &self,
        q: ArrayView2<f32>,
        of_panels: impl IndexedParallelIterator<Item = O>,
        finish: impl Fn(&mut O, Range<usize>, ArrayView2<f32>) + Sync,
    ) {
        assert_eq!(q.nrows(), self.columns, "inner dimensions of s and q");
        let add = |rows: Range<usize>, piece: &Piece, sums: &mut [Line]| {
            let at = piece.columns.start / DEPTH * self.rows;
            add(&self.runs[at..][rows.clone()], &self.counts[at..][rows], piece, sums);
        };
        panels::product(self.rows, q, of_panels, add, finish);
    }
}

/// The runs of all rows of a piece of S; how many entries they have together.
fn take_piece(s: ArrayView2<f32>, runs: &mut [Run], counts: &mut [u8]) -> usize {
    let mut entries = 0;
    let mut buffer = [0.0f32; LANES * DEPTH];
    let contiguous = s.ncols() <= 1 || s.strides()[1] == 1;
    for ((block, runs), counts) in (0..).zip(runs.chunks_mut(LANES)).zip(counts.chunks_mut(LANES)) {
        let first = block * LANES;
        let rows = s.slice(s![first..first + runs.len(), ..]);
        let mut room = ArrayViewMut2::from_shape((LANES, DEPTH), &mut buffer[..]).expect("as large as it says");
        let mut some = room.slice_mut(s![..runs.len(), ..s.ncols()]);
        // What is left of a block before this lies beyond the columns, which are the same for all, or beyond the rows.
        if contiguous {
            copy(rows, &mut some)
        } else {
            turn(rows.t(), some)
        }
        for ((row, run), count) in buffer.as_chunks::<DEPTH>().0.iter().zip(runs).zip(counts) {
            *count = compress(row, run);
            entries += usize::from(*count);
        }
    }
    entries
}

/// The entries of a row, and how many there are.
fn compress(row: &[f32; DEPTH], run: &mut Run) -> u8 {
    #[cfg(target_arch = "x86_64")]
    if panels::available() {
        // SAFETY: the processor was asked.
        return unsafe { x86::compress(row, run) };
    }
    plain::compress(row, run)
}

/// Adds to the sums of each row what its run says.
fn add(runs: &[Run], counts: &[u8], piece: &Piece, sums: &mut [Line]) {
    assert!(sums.len() == runs.len() * VECTORS && counts.len() == runs.len(), "sums and counts for every run");
    for (row, ((run, &count), sums)) in runs.iter().zip(counts).zip(sums.chunks_exact_mut(VECTORS)).enumerate() {
        piece.fetch_next(row);
        // Offsets grow along a run.
        let last = usize::from(run.offsets[usize::from(count).saturating_sub(1)]);
        assert!(count == 0 || last + ROW_BYTES <= size_of_val(piece.lines), "entries are within the piece");
        #[cfg(target_arch = "x86_64")]
        if panels::available() {
            // SAFETY: the processor was asked. The run was made by `compress`: its offsets are those of rows of the piece, of
            // which the last was just checked, and each row has `VECTORS` lines, as have the sums.
            unsafe {
                let (sums, lines) = (sums.as_mut_ptr(), piece.lines.as_ptr());
                match piece.vectors {
                    1 => x86::add::<1>(run, count, lines, sums),
                    2 => x86::add::<2>(run, count, lines, sums),
                    3 => x86::add::<3>(run, count, lines, sums),
                    4 => x86::add::<4>(run, count, lines, sums),
                    5 => x86::add::<5>(run, count, lines, sums),
                    6 => x86::add::<6>(run, count, lines, sums),
                    7 => x86::add::<7>(run, count, lines, sums),
                    _ => x86::add::<VECTORS>(run, count, lines, sums),
                }
            }
            continue;
        }
        plain::add(run, count, piece.lines, &mut sums[..piece.vectors]);
    }
}

/// The same in plain words: for other processors, and what the vectors are compared with.
mod plain {
    use super::{DEPTH, Line, ROW_BYTES, Run, VECTORS};

    pub fn compress(row: &[f32; DEPTH], run: &mut Run) -> u8 {
        let mut count = 0;
        for (i, &value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            run.offsets[count] = (i * ROW_BYTES) as u16;
            run.values[count] = value;
            count += 1;
        }
        count as u8
    }

    pub fn add(run: &Run, count: u8, piece: &[Line], sums: &mut [Line]) {
        for (&offset, value) in run.offsets.iter().zip(run.values).take(usize::from(count)) {
            let row = &piece[usize::from(offset) / ROW_BYTES * VECTORS..];
            for (sums, row) in sums.iter_mut().zip(row) {
                for (sum, q) in sums.0.iter_mut().zip(row.0) {
                    *sum = value.mul_add(q, *sum);
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{DEPTH, LANES, Line, ROW_BYTES, Run};

    /// The entries of a row, and how many there are.
    #[target_feature(enable = "avx512f")]
    pub fn compress(row: &[f32; DEPTH], run: &mut Run) -> u8 {
        let step = ROW_BYTES as i32;
        let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        let mut offsets = _mm512_mullo_epi32(lanes, _mm512_set1_epi32(step));
        let mut count = 0;
        for first in (0..DEPTH).step_by(LANES) {
            // SAFETY: `first` and the 15 after it are within the row. At most `first` entries were written before, so that
            // 16 more are within the run; those beyond the entries are written over by the next, or never read.
            unsafe {
                let values = _mm512_loadu_ps(row.as_ptr().add(first));
                let found = _mm512_cmp_ps_mask::<_CMP_NEQ_UQ>(values, _mm512_setzero_ps());
                _mm512_storeu_ps(run.values.as_mut_ptr().add(count), _mm512_maskz_compress_ps(found, values));
                let which = _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(found, offsets));
                _mm256_storeu_si256(run.offsets.as_mut_ptr().add(count).cast(), which);
                count += found.count_ones() as usize;
            }
            offsets = _mm512_add_epi32(offsets, _mm512_set1_epi32(step * LANES as i32));
        }
        count as u8
    }

    /// Adds the entries' multiples of their rows to V vectors of sums.
    ///
    /// # Safety
    ///
    /// The first `count` entries of the run, at most [`DEPTH`], were written. Each of their offsets is a multiple of
    /// [`ROW_BYTES`], and V lines of the piece can be read from there on; V lines of sums can be read and written.
    #[target_feature(enable = "avx512f")]
    pub unsafe fn add<const V: usize>(run: &Run, count: u8, piece: *const Line, sums: *mut Line) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut found: [__m512; V] = std::array::from_fn(|v| _mm512_load_ps(sums.add(v).cast()));
            for entry in 0..usize::from(count) {
                let value = _mm512_set1_ps(*run.values.get_unchecked(entry));
                let row = piece.byte_add(usize::from(*run.offsets.get_unchecked(entry)));
                for (v, sum) in found.iter_mut().enumerate() {
                    *sum = _mm512_fmadd_ps(value, _mm512_load_ps(row.add(v).cast()), *sum);
                }
            }
            for (v, sum) in found.into_iter().enumerate() {
                _mm512_store_ps(sums.add(v).cast(), sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::panels::trial::{piece, random, whole};
    use crate::math::panels::{WIDTH, numbers};
    use ndarray::Array2;

    fn product(s: ArrayView2<f32>, q: ArrayView2<f32>) -> (f64, Array2<f32>) {
        let mut nonzeros = Nonzeros::default();
        let mut found = Array2::from_elem((s.nrows(), q.ncols()), f32::NAN);
        let mut multiply = |s, q, mut found: ArrayViewMut2<f32>| {
            let share = nonzeros.take(s);
            whole!(nonzeros.multiply(q), found);
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
            (417, 80, 48, 0.5),
            (17, 300, 97, 1.0),
            (209, 257, 49, 0.0),
            (5, 7, 0, 0.5),
            (300, 20, 60, 0.5),
            (30, 60, 60, 0.5),
            (30, 90, 60, 0.5),
            (30, 110, 60, 0.5),
        ] {
            let (s, q) = (random(m, depth, share), random(depth, n, 1.0));
            let turned = |a: &Array2<f32>| a.t().as_standard_layout().into_owned();
            let (st, qt) = (turned(&s), turned(&q));
            let (found_share, found) = threads::with_count(1, || product(s.view(), q.view()));
            let nonzero = s.iter().filter(|&&v| v != 0.0).count() as f64;
            assert!((found_share - nonzero / s.len().max(1) as f64).abs() < 1e-9, "{found_share}");
            for ((i, j), &found) in found.indexed_iter() {
                let want: f64 = (0..depth).map(|k| f64::from(s[[i, k]]) * f64::from(q[[k, j]])).sum();
                assert!((f64::from(found) - want).abs() < 1e-4, "{m} {n} {depth}: {i} {j}: {found} {want}");
            }
            for (s, q) in [(s.view(), qt.t()), (st.t(), q.view()), (st.t(), qt.t())] {
                assert_eq!(threads::with_count(3, || product(s, q)).1, found, "{m} {n} {depth}");
            }
        }
    }

    #[test]
    fn vectors_and_plain_words_agree_to_the_bit() {
        let (rows, q) = (random(40, DEPTH, 0.4), random(DEPTH, WIDTH, 1.0));
        let lines = piece(q.view());
        let piece = Piece::of(&lines, VECTORS);
        let empty = Run { offsets: [0; DEPTH], values: [0.0; DEPTH] };
        for row in rows.rows() {
            let row: &[f32; DEPTH] = row.to_slice().unwrap().try_into().unwrap();
            let (mut fast, mut slow) = (empty, empty);
            let counts = (compress(row, &mut fast), plain::compress(row, &mut slow));
            assert_eq!(counts.0, counts.1);
            let n = usize::from(counts.0);
            assert_eq!((&fast.offsets[..n], &fast.values[..n]), (&slow.offsets[..n], &slow.values[..n]));
            let (mut found, mut want) = (vec![Line([0.5; LANES]); VECTORS], vec![Line([0.5; LANES]); VECTORS]);
            add(&[fast], &[counts.0], &piece, &mut found);
            plain::add(&slow, counts.1, &lines, &mut want);
            assert_eq!(numbers(&found), numbers(&want));
        }
    }

    #[test]
    #[should_panic(expected = "entries are within the piece")]
    fn entries_beyond_the_piece_are_refused() {
        let mut run = Run { offsets: [0; DEPTH], values: [0.0; DEPTH] };
        run.offsets[1] = (2 * ROW_BYTES) as u16;
        let lines = vec![Line([0.0; LANES]); 2 * VECTORS];
        add(&[run], &[2], &Piece::of(&lines, VECTORS), &mut vec![Line([0.0; LANES]); VECTORS]);
    }

    #[test]
    fn what_is_not_a_number_is_not_skipped() {
        let mut s = random(3, 60, 0.5);
        s[[1, 50]] = f32::NAN;
        let (_, found) = product(s.view(), random(60, 4, 1.0).view());
        assert!(found.row(1).iter().all(|v| v.is_nan()) && found.row(2).iter().all(|v| v.is_finite()));
    }
}
