//! Products by panels, `R = S Q`: what masks of non-zeros ([`sparse`](super::sparse)) and tiles ([`dense`](super::dense)) have in common.
//!
//! Q, the weights, is cut into panels of 128 columns, a row of which is eight vectors of AVX-512, and these into pieces of 56
//! rows, which are copied so that they lie in the first-level cache without gaps. A piece meets all rows of S, the batch, before
//! the next one is copied; the sums of a panel stay in the second-level cache meanwhile, and go to the caller when they are
//! done: bias and activation, or an optimiser's update, cost no pass over memory of their own. So weights are read once, from
//! wherever they are, in either layout, and never packed as a whole; of more rows of S than a batch usually has, the
//! panel is kept for the next 300 of them.
//!
//! The order in which a number of R is summed depends on S alone, so its bits do not depend on the number of threads. A panel
//! is the work of one thread, so that 500 columns keep no more than four of them busy.

#![allow(unsafe_code)]

use std::cell::Cell;
use std::ops::Range;

use ndarray::{ArrayView2, ArrayViewMut2, s};
use rayon::prelude::*;

use super::threads;
use super::turn::turn;

/// Numbers in a vector.
pub(super) const LANES: usize = 16;
/// Vectors in the row of a panel.
pub(super) const VECTORS: usize = 8;
/// Columns of a panel.
pub const WIDTH: usize = VECTORS * LANES;
/// Rows of a piece of a panel: 28 KB of the 32 that the first-level cache has at least.
pub(super) const DEPTH: usize = 56;
/// Rows of R that are made together: more than the usual batch, sums that stay in the second-level cache, no rows beside whole tiles.
pub const ROWS: usize = 300;
const _: () = assert!(ROWS.is_multiple_of(super::dense::ROWS));

/// Numbers that fill a vector, and a line of the cache.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Line(pub [f32; LANES]);

/// Whether this processor has the instructions that make these products fast; elsewhere they are right, but slow.
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

thread_local! {
    // Taken out while in use: a thread that waits may be given another panel meanwhile.
    static PANEL: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
    static SUMS: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

/// A piece of Q that meets some rows of S.
pub(super) struct Piece<'a> {
    /// Which columns of S, and rows of Q.
    pub columns: Range<usize>,
    /// The piece, [`VECTORS`] lines for each of its rows.
    pub lines: &'a [Line],
    /// How many of the lines in a row are in use.
    pub vectors: usize,
    /// Whether it is the first: sums begin with it, whatever was there.
    pub first: bool,
    /// The piece that will be wanted next, if it is still where Q is; turned so that its rows are contiguous.
    next: Option<ArrayView2<'a, f32>>,
}

impl Piece<'_> {
    /// Asks memory for the part of the next piece that falls to one of the rows of S: it comes while this piece keeps the
    /// processor busy.
    #[inline]
    pub fn fetch_next(&self, row: usize) {
        if let Some(next) = &self.next {
            fetch(next, row);
        }
    }
}

/// `R = S Q` by panels, where S has `rows` rows. `add` adds to the sums, [`VECTORS`] lines a row, what a piece of Q gives for
/// some rows of S. `finish` gets what `of_panels` has for the panel, the rows of R that are done, and these, each in [`WIDTH`]
/// numbers of which the panel's columns count. The rows or the columns of Q are contiguous.
pub(super) fn product<O: Send>(
    rows: usize,
    q: ArrayView2<f32>,
    of_panels: impl IndexedParallelIterator<Item = O>,
    add: impl Fn(Range<usize>, &Piece, &mut [Line]) + Sync,
    finish: impl Fn(&mut O, Range<usize>, ArrayView2<f32>) + Sync,
) {
    assert_eq!(of_panels.len(), q.ncols().div_ceil(WIDTH), "one for each panel");
    let inner = q.nrows();
    let work = |(p, mut of_panel): (usize, O)| {
        let q = q.slice(s![.., p * WIDTH..(p * WIDTH + WIDTH).min(q.ncols())]);
        let (mut panel, mut sums) = (PANEL.take(), SUMS.take());
        // More rows than one block come back to every piece; else a piece is packed over the one before.
        let kept = if rows > ROWS { inner } else { DEPTH };
        panel.resize(panel.len().max(kept * VECTORS), Line([0.0; LANES]));
        for first in (0..rows).step_by(ROWS) {
            let block = first..(first + ROWS).min(rows);
            sums.resize(block.len() * VECTORS, Line([0.0; LANES]));
            if inner == 0 {
                sums.fill(Line([0.0; LANES]));
            }
            for start in (0..inner).step_by(DEPTH) {
                let columns = start..(start + DEPTH).min(inner);
                let at = if kept > DEPTH { columns.start } else { 0 };
                let lines = &mut panel[at * VECTORS..][..columns.len() * VECTORS];
                if first == 0 {
                    pack(q.slice(s![columns.clone(), ..]), lines);
                }
                let next = columns.end..(columns.end + DEPTH).min(inner);
                let next = (first == 0 && !next.is_empty()).then(|| by_rows(q.slice(s![next, ..])));
                let piece = Piece { columns, lines, vectors: q.ncols().div_ceil(LANES), first: start == 0, next };
                add(block.clone(), &piece, &mut sums);
            }
            finish(&mut of_panel, block, numbers(&sums));
        }
        PANEL.set(panel);
        SUMS.set(sums);
    };
    threads::run(|| of_panels.enumerate().for_each(work));
}

/// Copies a piece of Q, at most [`DEPTH`] rows and [`WIDTH`] columns, into the lines of a panel.
fn pack(q: ArrayView2<f32>, lines: &mut [Line]) {
    let (depth, width) = q.dim();
    let mut panel = numbers_mut(lines);
    let mut panel = panel.slice_mut(s![..depth, ..width]);
    if width <= 1 || q.strides()[1] == 1 { copy(q, &mut panel) } else { turn(q.t(), panel) }
}

/// `to = from`, whose rows are contiguous: by whole rows, which short ones gain from.
fn copy(from: ArrayView2<f32>, to: &mut ArrayViewMut2<f32>) {
    for (mut to, from) in to.rows_mut().into_iter().zip(from.rows()) {
        let (to, from) = (to.as_slice_mut(), from.to_slice());
        to.expect("rows are contiguous").copy_from_slice(from.expect("rows are contiguous"));
    }
}

/// The matrix or its transpose, whichever has contiguous rows.
fn by_rows(matrix: ArrayView2<f32>) -> ArrayView2<f32> {
    if matrix.strides()[1] == 1 { matrix } else { matrix.reversed_axes() }
}

/// Asks for a row of a matrix: it will be wanted soon. Nothing where there is none.
#[inline]
fn fetch(matrix: &ArrayView2<f32>, row: usize) {
    #[cfg(target_arch = "x86_64")]
    if row < matrix.nrows() {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        let first = matrix.as_ptr().wrapping_offset(row as isize * matrix.strides()[0]);
        for column in (0..matrix.ncols() + LANES).step_by(LANES) {
            // SAFETY: a hint, which no address makes wrong.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(first.wrapping_add(column).cast()) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (matrix, row);
}

/// Lines as rows of [`WIDTH`] numbers.
pub(super) fn numbers(lines: &[Line]) -> ArrayView2<'_, f32> {
    let rows = lines.len() / VECTORS;
    // SAFETY: lines are numbers without gaps.
    let numbers = unsafe { std::slice::from_raw_parts(lines.as_ptr().cast::<f32>(), rows * WIDTH) };
    ArrayView2::from_shape((rows, WIDTH), numbers).expect("as many as there are")
}

fn numbers_mut(lines: &mut [Line]) -> ArrayViewMut2<'_, f32> {
    let rows = lines.len() / VECTORS;
    // SAFETY: lines are numbers without gaps, borrowed as long as the view lives.
    let numbers = unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast::<f32>(), rows * WIDTH) };
    ArrayViewMut2::from_shape((rows, WIDTH), numbers).expect("as many as there are")
}

/// What the tests of products by panels share.
#[cfg(test)]
pub(super) mod trial {
    use super::*;
    use crate::math::rng;
    use ndarray::Array2;
    use rand::RngExt;

    impl<'a> Piece<'a> {
        /// A piece that is the only one.
        pub fn of(lines: &'a [Line], vectors: usize) -> Self {
            Piece { columns: 0..lines.len() / VECTORS, lines, vectors, first: false, next: None }
        }
    }

    /// The lines of a piece of Q.
    pub fn piece(q: ArrayView2<f32>) -> Vec<Line> {
        let mut lines = vec![Line([0.0; LANES]); q.nrows() * VECTORS];
        pack(q, &mut lines);
        lines
    }

    /// Numbers of which this share is not zero.
    pub fn random(m: usize, n: usize, share: f32) -> Array2<f32> {
        let mut rng = rng::stream(7, rng::Purpose::Demo, m as u64, n as u64);
        let mut number = || (rng.random::<f32>(), rng.random::<f32>() - 0.5);
        Array2::from_shape_simple_fn((m, n), || match number() {
            (chance, value) if chance < share => value,
            _ => 0.0,
        })
    }

    /// A product by panels, put together: `whole!(multiply(s, q), r)`.
    macro_rules! whole {
        ($($multiply:ident).+ ($($factor:expr),+), $r:expr) => {{
            let panels = $r.axis_chunks_iter_mut(ndarray::Axis(1), $crate::math::panels::WIDTH).into_par_iter();
            $($multiply).+($($factor),+, panels, |r, rows, block| {
                let width = r.ncols();
                r.slice_mut(ndarray::s![rows, ..]).assign(&block.slice(ndarray::s![.., ..width]));
            })
        }};
    }
    pub(in crate::math) use whole;
}
