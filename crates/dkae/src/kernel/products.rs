//! Products of posteriors with blocks of vectors, `F W` and `F^T V`: all that the eigenpairs of P = F F^T / M need.
//!
//! A row of F is one in the column of the component that owns it, for every mixture, and a few posteriors where it is
//! shared. So a row of `F W` is a sum of rows of W, and a row of V is added to rows of `F^T V`: additions of vectors, and
//! what they cost is where the vectors come from. Mixtures are taken in groups whose part of W stays in the second-level
//! cache while many rows of F pass by.
//!
//! Sums are f64, in an order that does not depend on the number of threads.

use std::ops::Range;

use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use super::Factors;
use super::posteriors::{Posteriors, SHARED};
use crate::math::dispatch::dispatched;
use crate::math::threads;

/// Numbers of W, or of the result, that a group of mixtures has at most: half a megabyte.
const CACHED: usize = 1 << 16;
/// There are at least this many groups, for the threads to share.
const GROUPS: usize = 16;
/// Rows of the result of `F W` that one task makes.
const ROWS: usize = 256;

/// The factor is F / sqrt(M), so that P is it times its transpose.
impl Factors for Posteriors {
    fn height(&self) -> usize {
        self.rows()
    }

    fn width(&self) -> usize {
        self.columns()
    }

    fn times(&self, w: ArrayView2<f64>) -> Array2<f64> {
        assert_eq!(w.nrows(), self.columns(), "rows of w");
        let (width, scale, w) = (w.ncols(), self.scale(), w.as_standard_layout());
        let (mut out, groups) = (vec![0.0; self.rows() * width], self.groups(width));
        let w = w.as_slice().expect("the standard layout is contiguous");
        threads::run(|| {
            out.par_chunks_mut((ROWS * width).max(1)).enumerate().for_each(|(block, out)| {
                gather(self, block * ROWS, &groups, w, width, out);
                out.iter_mut().for_each(|v| *v *= scale);
            });
        });
        Array2::from_shape_vec((self.rows(), width), out).expect("as many numbers as were made")
    }

    fn transpose_times(&self, v: ArrayView2<f64>) -> Array2<f64> {
        assert_eq!(v.nrows(), self.rows(), "rows of v");
        let (width, scale, v) = (v.ncols(), self.scale(), v.as_standard_layout());
        let mut out = vec![0.0; self.columns() * width];
        let v = v.as_slice().expect("the standard layout is contiguous");
        let mut rest = &mut out[..];
        let mut parts = Vec::new();
        for group in self.groups(width) {
            let columns = self.firsts()[group.end] - self.firsts()[group.start];
            let (part, after) = rest.split_at_mut(columns as usize * width);
            parts.push((group, part));
            rest = after;
        }
        threads::run(|| {
            parts.into_par_iter().for_each(|(group, out)| {
                scatter(self, group, v, width, out);
                out.iter_mut().for_each(|v| *v *= scale);
            });
        });
        Array2::from_shape_vec((self.columns(), width), out).expect("as many numbers as were made")
    }
}

impl Posteriors {
    /// Runs of mixtures that are taken together when vectors are `width` numbers long.
    fn groups(&self, width: usize) -> Vec<Range<usize>> {
        let columns = (CACHED / width.max(1)).min(self.columns() / GROUPS).max(1) as u32;
        let (mut groups, mut start) = (Vec::new(), 0);
        for mixture in 1..=self.mixtures() {
            let next = self.firsts().get(mixture + 1);
            if next.is_none_or(|next| next - self.firsts()[start] > columns) {
                groups.push(start..mixture);
                start = mixture;
            }
        }
        groups
    }
}

dispatched! {
    /// Adds to the rows of `out` the rows of F, from `first` on, times `w`.
    fn gather(f: &Posteriors, first: usize, groups: &[Range<usize>], w: &[f64], width: usize, out: &mut [f64]) {
        gather_body(f, first, groups, w, width, out)
    }
}

#[inline(always)]
fn gather_body(f: &Posteriors, first: usize, groups: &[Range<usize>], w: &[f64], width: usize, out: &mut [f64]) {
    for group in groups {
        for (i, out) in out.chunks_exact_mut(width.max(1)).enumerate() {
            let row = first + i;
            // Four at a time, so that the sum is loaded and stored less often.
            let (mut waiting, mut count) = ([&w[..0]; 4], 0);
            for (&owner, &column) in f.parts(row).0[group.clone()].iter().zip(&f.firsts()[group.clone()]) {
                if owner == SHARED {
                    continue;
                }
                let place = (column as usize + usize::from(owner)) * width;
                waiting[count] = &w[place..place + width];
                count += 1;
                if count == 4 {
                    let [a, b, c, d] = waiting;
                    for ((((out, a), b), c), d) in out.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                        *out += (a + b) + (c + d);
                    }
                    count = 0;
                }
            }
            for w in &waiting[..count] {
                out.iter_mut().zip(*w).for_each(|(out, w)| *out += w);
            }
            for (mixture, shares) in f.shared(row, group.clone()) {
                for share in shares {
                    let place = (f.firsts()[mixture] as usize + usize::from(share.number)) * width;
                    let posterior = f64::from(share.posterior());
                    out.iter_mut().zip(&w[place..place + width]).for_each(|(out, w)| *out += posterior * w);
                }
            }
        }
    }
}

dispatched! {
    /// Adds the rows of `v` to the rows of `out` that their components have; `out` holds those of the group.
    fn scatter(f: &Posteriors, group: Range<usize>, v: &[f64], width: usize, out: &mut [f64]) {
        scatter_body(f, group, v, width, out)
    }
}

#[inline(always)]
fn scatter_body(f: &Posteriors, group: Range<usize>, v: &[f64], width: usize, out: &mut [f64]) {
    let begin = f.firsts()[group.start];
    for (row, v) in v.chunks_exact(width.max(1)).enumerate() {
        for (&owner, &column) in f.parts(row).0[group.clone()].iter().zip(&f.firsts()[group.clone()]) {
            if owner != SHARED {
                let place = ((column - begin) as usize + usize::from(owner)) * width;
                out[place..place + width].iter_mut().zip(v).for_each(|(out, v)| *out += v);
            }
        }
        for (mixture, shares) in f.shared(row, group.clone()) {
            for share in shares {
                let place = ((f.firsts()[mixture] - begin) as usize + usize::from(share.number)) * width;
                let posterior = f64::from(share.posterior());
                out[place..place + width].iter_mut().zip(v).for_each(|(out, v)| *out += posterior * v);
            }
        }
    }
}
