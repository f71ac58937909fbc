//! Products with a kernel matrix that is never whole: `P V` from square tiles of P, computed when needed.
//!
//! P is symmetric, so a tile between two different blocks of rows serves both: `out_I += P_IJ V_J` and
//! `out_J += P_IJ^T V_I`. Tiles are kept, in f32, as long as they fit a stated limit on memory; the others are computed
//! again for every product. With room for a little more than half of n^2 numbers every tile is computed once in all. A tile between
//! a block and itself is symmetric too: three of its quarters are computed, and the rest of its place is never touched.
//!
//! The order is that of a tournament in which every block of rows meets every other one: in each round every block
//! appears in one tile only, so the tiles of a round run in parallel without sharing results, and every result is summed
//! in the order of the rounds, whatever the number of threads.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, ShapeBuilder, Zip, s};
use rayon::prelude::*;

use crate::Result;
use crate::math::{dense, gemm, panels, threads};
use crate::progress::Progress;

/// Rows per block: a tile of 2 MB, most of which is still in a core's caches at its second use. Smaller ones were slower. No rows of
/// it or of its half are beside whole tiles of [`dense`].
const BLOCK: usize = 700;

/// Computes the kernel between two ranges of rows.
pub type Tile<'a> = dyn Fn(Range<usize>, Range<usize>, ArrayViewMut2<f32>) -> Result<()> + Sync + 'a;

/// The kernel matrix of `n` rows.
pub struct Gram<'a> {
    n: usize,
    tile: &'a Tile<'a>,
    /// Pairs of blocks; in one round no block appears twice.
    rounds: Vec<Vec<(usize, usize)>>,
    blocks: Vec<Range<usize>>,
    /// Places for tiles, in the order of the rounds. One allocation: as many small ones they would leave gaps between them.
    kept: Vec<f32>,
    /// Whether the tile of a place has been computed.
    computed: Vec<bool>,
}

/// Memory for a tile, and whether it has been computed.
type Place<'m> = (&'m mut [f32], &'m mut bool);

/// Entries of a tile, at most.
const TILE: usize = BLOCK * BLOCK;

impl<'a> Gram<'a> {
    /// The kernel matrix of `n` rows, with at most `cache_mb` megabytes (10^6 bytes) of kept tiles.
    pub fn new(n: usize, cache_mb: usize, tile: &'a Tile<'a>) -> Self {
        let blocks: Vec<_> = (0..n).step_by(BLOCK).map(|i| i..(i + BLOCK).min(n)).collect();
        let rounds = tournament(blocks.len());
        let tiles: usize = rounds.iter().map(Vec::len).sum();
        let fit = (cache_mb.saturating_mul(1_000_000) / (size_of::<f32>() * TILE)).min(tiles);
        Self { n, tile, rounds, blocks, kept: vec![0.0; fit * TILE], computed: vec![false; fit] }
    }

    /// `P V`; the products are f32, the sums over blocks f64.
    pub fn times(&mut self, v: ArrayView2<f32>, progress: &dyn Progress) -> Result<Array2<f64>> {
        let Self { n, tile, rounds, blocks, kept, computed } = self;
        assert_eq!(v.nrows(), *n, "rows of the vectors");
        let mut out = Array2::zeros((*n, v.ncols()));
        let sums: Vec<Mutex<ArrayViewMut2<f64>>> = out.axis_chunks_iter_mut(Axis(0), BLOCK).map(Mutex::new).collect();
        // Adds to some rows of a block what a part of P, between these and other rows, gives them.
        let add = |block: usize, rows: Range<usize>, part: ArrayView2<f32>, others: Range<usize>| {
            // Nobody else has this block in this round.
            let mut sum = sums[block].lock().unwrap_or_else(PoisonError::into_inner);
            let first = blocks[block].start;
            let sum = sum.slice_mut(s![rows.start - first..rows.end - first, ..]);
            add_product(sum, part, v.slice(s![others, ..]), panels::available());
        };
        let mut places = kept.chunks_mut(TILE).zip(computed);
        for round in rounds {
            progress.check()?;
            let places: Vec<_> = round.iter().map(|_| places.next()).collect();
            let meet = |(&(i, j), place): (&(usize, usize), Option<Place>)| {
                let (mut own, mut done) = (Vec::new(), false);
                let (mut values, done) = place.unwrap_or_else(|| {
                    own.resize(blocks[i].len() * blocks[j].len(), 0.0);
                    (&mut own, &mut done)
                });
                for (rows, columns) in parts(&blocks[i], &blocks[j]) {
                    let shape = (rows.len(), columns.len());
                    let (part, rest) = std::mem::take(&mut values).split_at_mut(shape.0 * shape.1);
                    values = rest;
                    let mut part = ArrayViewMut2::from_shape(shape, part).expect("as many as were split off");
                    if !*done {
                        tile(rows.clone(), columns.clone(), part.view_mut())?;
                    }
                    add(i, rows.clone(), part.view(), columns.clone());
                    if rows != columns {
                        add(j, columns, part.t(), rows);
                    }
                }
                *done = true;
                Ok(())
            };
            threads::run(|| round.par_iter().zip(places).try_for_each(meet))?;
        }
        drop(sums);
        Ok(out)
    }
}

/// `sum = sum + part v`, by panels or by the general product.
fn add_product(mut sum: ArrayViewMut2<f64>, part: ArrayView2<f32>, v: ArrayView2<f32>, by_panels: bool) {
    if by_panels {
        // The part, much the larger factor, is read where it is.
        let of_panels = sum.axis_chunks_iter_mut(Axis(1), panels::WIDTH).into_par_iter();
        return dense::multiply(part, v, of_panels, |sum, rows, found| {
            let found = found.slice(s![.., ..sum.ncols()]);
            Zip::from(sum.slice_mut(s![rows, ..])).and(found).for_each(|s, &p| *s += f64::from(p));
        });
    }
    // Contiguous along the many rows, which is how the general product is fastest.
    let mut product = Array2::zeros((part.nrows(), v.ncols()).f());
    gemm::sequential(1.0, part, v, 0.0, product.view_mut());
    Zip::from(&mut sum).and(&product).for_each(|s, &p| *s += f64::from(p));
}

/// What is computed and kept of the tile between two blocks. Between a block and itself it is symmetric: of its four quarters,
/// one is the transpose of another.
fn parts(rows: &Range<usize>, columns: &Range<usize>) -> Vec<(Range<usize>, Range<usize>)> {
    if rows != columns || rows.len() < 2 {
        return vec![(rows.clone(), columns.clone())];
    }
    let middle = rows.start + rows.len() / 2;
    let (first, second) = (rows.start..middle, middle..rows.end);
    vec![(first.clone(), first.clone()), (second.clone(), second.clone()), (first, second)]
}

/// Every pair of `count` blocks once, and every block with itself, in rounds without repetition.
///
/// The circle method: one block stays, the others move around it by one place a round.
fn tournament(count: usize) -> Vec<Vec<(usize, usize)>> {
    let mut rounds = vec![(0..count).map(|i| (i, i)).collect::<Vec<_>>()];
    // An odd one out meets nobody.
    let seats = count + count % 2;
    for round in 0..seats.saturating_sub(1) {
        let turning = seats - 1;
        let pair = |k: usize| ((round + k) % turning, (round + turning - k) % turning);
        let pairs = std::iter::once((round, turning)).chain((1..seats / 2).map(pair));
        let pairs = pairs.filter(|&(i, j)| i < count && j < count);
        rounds.push(pairs.map(|(i, j)| (i.min(j), i.max(j))).collect());
    }
    rounds.retain(|round| !round.is_empty());
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use crate::fixture::{Impatient, refused};
    use crate::progress::Silent;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    #[test]
    fn a_tournament_has_every_pair_once_and_no_block_twice_a_round() {
        for count in 1..12 {
            let rounds = tournament(count);
            let mut all: Vec<_> = rounds.concat();
            all.sort_unstable();
            let want: Vec<_> = (0..count).flat_map(|i| (i..count).map(move |j| (i, j))).collect();
            assert_eq!(all, want, "{count}");
            for round in &rounds[1..] {
                let mut seen: Vec<_> = round.iter().flat_map(|&(i, j)| [i, j]).collect();
                seen.sort_unstable();
                seen.dedup();
                assert_eq!(seen.len(), 2 * round.len(), "{count}");
            }
        }
    }

    #[test]
    fn products_agree_with_the_whole_matrix_whatever_is_kept() {
        let n = 2200;
        let entry = |i: usize, j: usize| 1.0 / (1.0 + i.abs_diff(j) as f32);
        let calls = AtomicUsize::new(0);
        let tile = |rows: Range<usize>, columns: Range<usize>, mut out: ArrayViewMut2<f32>| {
            calls.fetch_add(1, Relaxed);
            for ((i, j), v) in out.indexed_iter_mut() {
                *v = entry(rows.start + i, columns.start + j);
            }
            Ok(())
        };
        let v = Array2::from_shape_fn((n, 2), |(i, j)| ((i * (j + 1)) as f32 * 0.37).sin());
        let want = |i: usize, c: usize| (0..n).map(|j| f64::from(entry(i, j)) * f64::from(v[[j, c]])).sum::<f64>();
        let mut results = Vec::new();
        // Four blocks, ten tiles of up to 1.98 MB, of which four are in three parts: none kept, those four kept, all kept.
        for (cache_mb, second_pass) in [(0, 18), (8, 6), (100, 0)] {
            let mut gram = Gram::new(n, cache_mb, &tile);
            calls.store(0, Relaxed);
            gram.times(v.view(), &Silent).unwrap();
            assert_eq!(calls.swap(0, Relaxed), 18);
            results.push(gram.times(v.view(), &Silent).unwrap());
            assert_eq!(calls.load(Relaxed), second_pass);
        }
        assert!(results.iter().all(|r| *r == results[0]));
        for i in (0..n).step_by(97) {
            for c in 0..2 {
                assert!((results[0][[i, c]] - want(i, c)).abs() < 1e-5, "{i} {c}");
            }
        }
    }

    #[test]
    fn every_size_and_width_has_the_plain_product_with_one_thread_and_many() {
        let entry = |i: usize, j: usize| 1.0 / (1.0 + i.abs_diff(j) as f32);
        let tile = |rows: Range<usize>, columns: Range<usize>, mut out: ArrayViewMut2<f32>| {
            out.indexed_iter_mut().for_each(|((i, j), v)| *v = entry(rows.start + i, columns.start + j));
            Ok(())
        };
        for (n, width) in [(1, 1), (2, 17), (3, 130), (BLOCK, 1), (BLOCK + 1, 130), (2 * BLOCK + 1, 17)] {
            let v = Array2::from_shape_fn((n, width), |(i, j)| ((i * (j + 1)) as f32 * 0.37).sin());
            let run = |count| threads::with_count(count, || Gram::new(n, 100, &tile).times(v.view(), &Silent).unwrap());
            let found = run(1);
            assert_eq!(run(3), found);
            for i in [0, n / 2, n - 1] {
                for c in [0, width - 1] {
                    let want: f64 = (0..n).map(|j| f64::from(entry(i, j)) * f64::from(v[[j, c]])).sum();
                    assert!((found[[i, c]] - want).abs() < 1e-5, "{n} {width}: {i} {c}");
                }
            }
        }
    }

    #[test]
    fn both_ways_to_multiply_add_the_same() {
        let part = Array2::from_shape_fn((213, 90), |(i, j)| ((i * 7 + j * 3) as f32 * 0.7).sin());
        for part in [part.view(), part.t()] {
            for width in [1, 17, 130] {
                let v = Array2::from_shape_fn((part.ncols(), width), |(i, j)| ((i + 5 * j) as f32 * 0.3).cos());
                let [panels, general] = [true, false].map(|by_panels| {
                    let mut sum = Array2::from_elem((part.nrows(), width), 0.5);
                    threads::run(|| add_product(sum.view_mut(), part, v.view(), by_panels));
                    sum
                });
                assert!((panels - general).iter().all(|d| d.abs() < 1e-4), "{width}");
            }
        }
    }

    #[test]
    fn what_an_error_left_half_done_is_computed_again() {
        let calls = AtomicUsize::new(0);
        let tile = |rows: Range<usize>, columns: Range<usize>, mut out: ArrayViewMut2<f32>| {
            if calls.fetch_add(1, Relaxed) == 1 {
                return Err(Error::Data("the second fails".into()));
            }
            out.indexed_iter_mut().for_each(|((i, j), v)| *v = (rows.start + i + columns.start + j) as f32);
            Ok(())
        };
        let v = Array2::ones((9, 1));
        let mut gram = Gram::new(9, 10, &tile);
        refused(gram.times(v.view(), &Silent), "the second fails");
        assert_eq!(gram.times(v.view(), &Silent).unwrap(), Gram::new(9, 10, &tile).times(v.view(), &Silent).unwrap());
    }

    #[test]
    fn errors_and_stops_end_a_product() {
        let broken = |_: Range<usize>, _: Range<usize>, _: ArrayViewMut2<f32>| Err(Error::Data("no such tile".into()));
        refused(Gram::new(5, 1, &broken).times(Array2::zeros((5, 1)).view(), &Silent), "no such tile");
        let fine = |_: Range<usize>, _: Range<usize>, _: ArrayViewMut2<f32>| Ok(());
        let stopped = Gram::new(5, 1, &fine).times(Array2::zeros((5, 1)).view(), &Impatient);
        assert!(matches!(stopped, Err(Error::Interrupted)));
    }
}
