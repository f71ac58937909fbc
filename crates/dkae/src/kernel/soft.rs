//! Blocks of P where most rows are shared by several components: few features, soft clusters.
//!
//! There P is a product of dense matrices. The columns of F are cut into ranges of whole mixtures; for each range the
//! rows are written out and multiplied, on whatever thread is free, and the products of all ranges are added in order:
//!
//! ```text
//! P = 1/M sum_ranges F_r F_r^T
//! ```
//!
//! A block between some rows and themselves, which is what training asks for, is symmetric: only strips up to the
//! diagonal are multiplied.

use std::cell::Cell;
use std::ops::Range;

use ndarray::{ArrayView2, ArrayViewMut2, Axis, s};
use rayon::prelude::*;

use crate::math::gemm;

use super::posteriors::{SHARED, Side, TILE, next_list};

/// Columns of F in a range, at least; a mixture is never cut. The rows of a tile are then 1 MB, which stays in cache.
const COLUMNS: usize = 1024;

/// Rows of a strip of a symmetric block.
const STRIP: usize = 64;

/// What a tile needs besides its output; kept by each thread, so that a training step allocates nothing.
#[derive(Default)]
struct Scratch {
    left: Starts,
    right: Starts,
    /// The product of each range.
    sums: Vec<f32>,
}

/// For each row of a tile, where the entries of each range begin.
type Starts = Vec<u32>;

thread_local! {
    // Taken out while in use: a thread that waits may be given other work meanwhile.
    static SCRATCH: Cell<Scratch> = Cell::default();
    static DENSE: Cell<[Vec<f32>; 2]> = Cell::default();
}

/// Writes P between two sides into `out`.
pub(super) fn block(left: Side, right: Side, mut out: ArrayViewMut2<f32>) {
    let mut scratch = SCRATCH.take();
    for (mut out, rows) in out.axis_chunks_iter_mut(Axis(0), TILE).zip(left.1.chunks(TILE)) {
        for (out, columns) in out.axis_chunks_iter_mut(Axis(1), TILE).zip(right.1.chunks(TILE)) {
            tile((left.0, rows), (right.0, columns), &mut scratch, out);
        }
    }
    SCRATCH.set(scratch);
}

fn tile(left: Side, right: Side, scratch: &mut Scratch, mut out: ArrayViewMut2<f32>) {
    let symmetric = std::ptr::eq(left.0, right.0) && left.1 == right.1;
    let (n, m) = out.dim();
    let ranges = ranges(left.0.firsts()).count();
    find_starts(left, ranges, &mut scratch.left);
    if !symmetric {
        find_starts(right, ranges, &mut scratch.right);
    }
    scratch.sums.resize(ranges * n * m, 0.0);
    let Scratch { left: left_starts, right: right_starts, sums } = scratch;
    sums.par_chunks_exact_mut(n * m).enumerate().for_each(|(r, sums)| {
        let Some(mixtures) = self::ranges(left.0.firsts()).nth(r) else { return };
        let mut sums = ArrayViewMut2::from_shape((n, m), sums).expect("sized above");
        let mut dense = DENSE.take();
        let [f, g] = &mut dense;
        let f = write_out(left, left_starts, r, mixtures.clone(), f);
        if symmetric {
            for begin in (0..n).step_by(STRIP) {
                let end = (begin + STRIP).min(n);
                let strip = sums.slice_mut(s![begin..end, ..end]);
                gemm::sequential(1.0, f.slice(s![begin..end, ..]), f.slice(s![..end, ..]).t(), 0.0, strip);
            }
        } else {
            let g = write_out(right, right_starts, r, mixtures, g);
            gemm::sequential(1.0, f, g.t(), 0.0, sums);
        }
        DENSE.set(dense);
    });
    let scale = (1.0 / left.0.mixtures() as f64) as f32;
    for (i, mut out) in out.rows_mut().into_iter().enumerate() {
        let width = if symmetric { i + 1 } else { m };
        for (j, out) in out.iter_mut().take(width).enumerate() {
            *out = scale * sums[i * m + j..].iter().step_by(n * m).sum::<f32>();
        }
    }
    if symmetric {
        for i in 0..n {
            for j in 0..i {
                out[[j, i]] = out[[i, j]];
            }
        }
    }
}

/// The mixtures of each range of columns.
fn ranges(firsts: &[u32]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mixtures = firsts.len() - 1;
    let mut begin = 0;
    std::iter::from_fn(move || {
        let range =
            begin..(begin..mixtures).find(|&m| (firsts[m] - firsts[begin]) as usize >= COLUMNS).unwrap_or(mixtures);
        begin = range.end;
        (!range.is_empty()).then_some(range)
    })
}

/// Finds where the entries of each range begin, row by row.
fn find_starts((posteriors, rows): Side, ranges: usize, starts: &mut Starts) {
    starts.resize(rows.len() * ranges, 0);
    starts.par_chunks_exact_mut(ranges).zip(rows).with_min_len(32).for_each(|(starts, &row)| {
        let all = posteriors.parts(row).1;
        let mut entries = all;
        let mut before = entries;
        let mut next = next_list(&mut entries);
        for (start, range) in starts.iter_mut().zip(self::ranges(posteriors.firsts())) {
            while next.is_some_and(|(mixture, _)| mixture < range.start) {
                before = entries;
                next = next_list(&mut entries);
            }
            *start = (all.len() - before.len()) as u32;
        }
    });
}

/// The columns of F of some mixtures, row by row.
fn write_out<'a>(
    (posteriors, rows): Side,
    starts: &[u32],
    range: usize,
    mixtures: Range<usize>,
    dense: &'a mut Vec<f32>,
) -> ArrayView2<'a, f32> {
    let firsts = posteriors.firsts();
    let begin = firsts[mixtures.start];
    let width = (firsts[mixtures.end] - begin) as usize;
    dense.clear();
    dense.resize(rows.len() * width, 0.0);
    let ranges = starts.len() / rows.len();
    for ((dense, &row), starts) in dense.chunks_exact_mut(width).zip(rows).zip(starts.chunks_exact(ranges)) {
        let (owners, entries) = posteriors.parts(row);
        let mut entries = &entries[starts[range] as usize..];
        for (&owner, &first) in owners[mixtures.clone()].iter().zip(&firsts[mixtures.clone()]) {
            let dense = &mut dense[(first - begin) as usize..];
            if owner != SHARED {
                dense[usize::from(owner)] = 1.0;
            } else if let Some((_, shares)) = next_list(&mut entries) {
                shares.iter().for_each(|entry| dense[usize::from(entry.number)] = entry.posterior());
            }
        }
    }
    ArrayView2::from_shape((rows.len(), width), dense).expect("sized above")
}

#[cfg(test)]
mod tests {
    use super::super::analytic::tests::random;
    use super::super::pck::tests::dense;
    use super::super::posteriors::Posteriors;
    use super::super::{Floor, Pck, Prior};
    use super::*;
    use crate::math::threads;
    use ndarray::Array2;

    fn posteriors(rows: usize, seed: u64) -> (Posteriors, Posteriors) {
        // Two features and a wide floor: nearly every row is shared. Some 2800 columns make several ranges.
        let settings = Pck { restarts: 15, max_components: 20, floor: Floor::Absolute(0.05), ..Pck::default() };
        let pck = settings.fit(random(300, 2, seed).view()).unwrap();
        (pck.posteriors(random(rows, 2, seed).view()).unwrap(), pck.posteriors(random(70, 2, seed + 1).view()).unwrap())
    }

    #[test]
    fn ranges_hold_whole_mixtures_and_all_of_them() {
        let firsts: Vec<u32> = (0..=50).map(|m| m * 30).collect();
        let ranges: Vec<_> = ranges(&firsts).collect();
        assert_eq!(ranges, [0..35, 35..50]);
        assert_eq!(super::ranges(&[0]).count(), 0);
    }

    #[test]
    fn a_block_is_the_product_of_the_factors_whatever_the_tiles() {
        let (left, right) = posteriors(TILE + 44, 3);
        assert!(left.non_zeros() > 3 * left.len() * left.mixtures());
        let rows: Vec<usize> = (0..left.len()).rev().collect();
        let columns: Vec<usize> = (0..70).map(|i| i * 7 % 70).collect();
        let scale = 1.0 / left.mixtures() as f64;
        let f = dense(&left).select(Axis(0), &rows);
        for (other, columns) in [(&left, &rows), (&right, &columns)] {
            let want = f.dot(&dense(other).select(Axis(0), columns).t()) * scale;
            let blocks = [1, 2].map(|count| {
                let mut out = Array2::from_elem((rows.len(), columns.len()), f32::NAN);
                threads::with_count(count, || block((&left, &rows), (other, columns), out.view_mut()));
                out
            });
            assert!((blocks[0].mapv(f64::from) - want).iter().all(|d| d.abs() < 2e-6));
            assert_eq!(blocks[0], blocks[1]);
        }
    }

    #[test]
    fn a_block_of_some_rows_with_themselves_is_exactly_symmetric() {
        let (posteriors, _) = posteriors(150, 5);
        let rows: Vec<usize> = (0..150).step_by(2).collect();
        let mut p = Array2::zeros((75, 75));
        posteriors.block(&rows, &rows, p.view_mut());
        assert_eq!(p, p.t());
    }
}
