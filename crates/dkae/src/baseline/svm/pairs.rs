//! The pairs of classes of a kernel support vector machine: which parts of the kernel matrix are computed when.
//!
//! Nearly all of a pair's rows are asked for at some point, so where memory allows, blocks of K are computed whole, by
//! matrix products: K of each class with itself once for all pairs, K between two classes once for their pair. So each
//! entry of K's lower half is computed once, and no more of it is held at a time than `cache_mb` says. As many pairs as fit
//! are solved side by side.
//!
//! A pair that does not fit is solved by decomposition (Joachims 1999): take the worst violators as a working set, compute
//! the rows of K for those in one product, take steps within the set until it is solved, pass the moves on to all others, and
//! go on with the next set, half of which is the newer half of the last.

use ndarray::{Array2, ArrayView2, Axis, concatenate, s};
use rayon::prelude::*;

use super::smo::{Rows, Smo};
use super::{Fit, KernelSvm};
use crate::kernel::Prior;
use crate::math::vector;
use crate::progress::{Pieces, Progress};
use crate::{Error, Result};

/// The most rows in a working set.
const WORKING_SET: usize = 1024;

/// Rows of the blocks from which the diagonal of K is read when K is too large to hold.
const DIAGONAL: usize = 64;

/// Values that one thread updates at a time.
const STRETCH: usize = 2048;

/// What is reported while a pair is solved whose block of K is too large.
const LARGE: &str = "kernel SVM: steps of a large pair";

/// All pairs of one training set, to be solved for each of several prices, smallest first.
pub(super) struct Pairs<'a> {
    pub settings: &'a KernelSvm,
    pub prior: &'a dyn Prior,
    /// The rows of each class.
    pub members: &'a [Vec<usize>],
    pub prices: &'a [f64],
    pub progress: &'a dyn Progress,
}

/// One pair, solved for one price.
pub(super) struct Pair {
    /// The rows with a dual that is not zero, and that dual with its sign.
    pub duals: Vec<(usize, f64)>,
    pub threshold: f64,
    pub fit: Fit,
}

impl Pairs<'_> {
    /// The solutions of each pair, one for each price.
    pub fn solve(&self, pairs: &[(usize, usize)]) -> Result<Vec<Vec<Pair>>> {
        let (keep, room) = self.share(pairs);
        let own = |(keep, rows): (&bool, &Vec<usize>)| keep.then(|| self.block(rows, rows)).transpose();
        let kept = keep.iter().zip(self.members).map(own).collect::<Result<Vec<_>>>()?;
        let size = |pair| self.size(pair, &keep);

        let pieces = Pieces::new(self.progress, "kernel SVM: pairs of classes", pairs.len());
        let mut solved = Vec::with_capacity(pairs.len());
        while solved.len() < pairs.len() {
            let todo = &pairs[solved.len()..];
            let (mut wave, mut used) = (0, 0);
            while wave < todo.len() && used + size(todo[wave]) <= room {
                used += size(todo[wave]);
                wave += 1;
            }
            if wave == 0 {
                solved.push(self.decompose(todo[0], room)?);
                pieces.count();
            } else {
                // Blocks one after the other, each by all threads; then the pairs side by side, each by one.
                let blocks = todo[..wave].iter().map(|&pair| self.blocks(pair, &kept)).collect::<Result<Vec<_>>>()?;
                solved.par_extend(blocks.par_iter().zip(todo).map(|(blocks, &pair)| {
                    let pair = self.solve_dense(pair, blocks, &kept);
                    pieces.count();
                    pair
                }));
            }
            // A pair that was asked to stop is not solved.
            self.progress.check()?;
        }
        Ok(solved)
    }

    /// Of which classes K with themselves is kept for all pairs, and how many entries of K are left for pairs then.
    fn share(&self, pairs: &[(usize, usize)]) -> (Vec<bool>, usize) {
        let budget = self.settings.cache_mb.saturating_mul(1_000_000) / size_of::<f32>();
        let (mut keep, mut room) = (Vec::new(), budget);
        // They may take half of it, as many as fit.
        for rows in self.members {
            let size = rows.len().pow(2);
            keep.push(size <= room.saturating_sub(budget / 2));
            room -= if keep[keep.len() - 1] { size } else { 0 };
        }
        // Pairs that do not fit beside them are solved without them.
        for (class, rows) in self.members.iter().enumerate() {
            let mut own = pairs.iter().filter(|(a, b)| [*a, *b].contains(&class));
            if keep[class] && !own.any(|&pair| self.size(pair, &keep) <= room) {
                keep[class] = false;
                room += rows.len().pow(2);
            }
        }
        (keep, room)
    }

    /// The entries of K that a pair holds: K between its classes, both ways around, and K within those that are not kept.
    fn size(&self, (a, b): (usize, usize), keep: &[bool]) -> usize {
        let own = |class: usize| if keep[class] { 0 } else { self.members[class].len().pow(2) };
        2 * self.members[a].len() * self.members[b].len() + own(a) + own(b)
    }

    fn blocks(&self, (a, b): (usize, usize), kept: &[Option<Array2<f32>>]) -> Result<PairBlocks> {
        let own = |c: usize| kept[c].is_none().then(|| self.block(&self.members[c], &self.members[c])).transpose();
        let ab = self.block(&self.members[a], &self.members[b])?;
        Ok(PairBlocks { aa: own(a)?, ba: ab.t().as_standard_layout().into_owned(), ab, bb: own(b)? })
    }

    fn solve_dense(&self, pair: (usize, usize), blocks: &PairBlocks, kept: &[Option<Array2<f32>>]) -> Vec<Pair> {
        let (Some(aa), Some(bb)) =
            (blocks.aa.as_ref().or(kept[pair.0].as_ref()), blocks.bb.as_ref().or(kept[pair.1].as_ref()))
        else {
            unreachable!("a class's own block is kept, or made for the pair")
        };
        let rows = PairRows { aa: aa.view(), ab: blocks.ab.view(), ba: blocks.ba.view(), bb: bb.view() };
        let diagonal = rows.aa.diag().iter().chain(rows.bb.diag()).copied().collect();
        let mut smo = self.start(pair, diagonal);
        let solve = |&c| {
            smo.raise_price(c);
            let fit = smo.solve(&rows, self.settings.tolerance, self.settings.max_iterations, self.progress);
            self.finish(pair, &smo, fit)
        };
        self.prices.iter().map(solve).collect()
    }

    /// Solves a pair whose block of K is too large, holding at most `room` entries, or two rows where that is more.
    fn decompose(&self, pair: (usize, usize), room: usize) -> Result<Vec<Pair>> {
        let both = self.rows(pair);
        let n = both.len();
        let mut diagonal = Vec::with_capacity(n);
        for some in both.chunks(DIAGONAL) {
            diagonal.extend(self.block(some, some)?.diag());
        }
        // The set's rows of K exist twice for a moment, when half of them are replaced; then comes K within the set.
        let most = (room / (3 * n)).clamp(2, WORKING_SET).min(n);
        let limit = self.settings.max_iterations;
        let mut smo = self.start(pair, diagonal);
        let mut out = Vec::with_capacity(self.prices.len());
        for &c in self.prices {
            smo.raise_price(c);
            let (mut set, mut kernel, mut steps) = (Vec::new(), Array2::<f32>::zeros((0, n)), 0);
            let mut violation = smo.violation();
            while violation > self.settings.tolerance && steps < limit {
                self.progress.check()?;
                self.progress.step(LARGE, steps as u64, limit as u64);
                // Of few rows none is kept: a set takes both sides of the worst pair, or it would not move.
                let keep = if most < 4 { 0 } else { set.len() / 2 };
                let kept = set.split_off(set.len() - keep);
                let new = worst(&smo, &kept, most - keep);
                let fresh = self.block(&new.iter().map(|&i| both[i]).collect::<Vec<_>>(), &both)?;
                let old = kernel.slice(s![kernel.nrows() - keep.., ..]);
                kernel = concatenate(Axis(0), &[old, fresh.view()])
                    .map_err(|e| Error::Numeric(format!("kernel rows of a working set: {e}")))?;
                set = [kept, new].concat();

                let mut part = smo.part(&set);
                let within = Square(kernel.select(Axis(1), &set).as_standard_layout().into_owned());
                // A tenth of what is wrong outside: closer would be wasted, since the others pull back.
                let goal = (0.1 * violation).max(0.5 * self.settings.tolerance);
                steps += part.solve(&within, goal, limit - steps, self.progress).iterations.max(1);
                let moves: Vec<f64> = set.iter().zip(&part.b).map(|(&i, b)| b - smo.b[i]).collect();
                smo.v.par_chunks_mut(STRETCH).zip(kernel.axis_chunks_iter(Axis(1), STRETCH)).for_each(|(v, kernel)| {
                    for (row, &by) in kernel.rows().into_iter().zip(&moves).filter(|(_, by)| **by != 0.0) {
                        vector::add_scaled(-by, row.to_slice().expect("a piece of a row-major row"), v);
                    }
                });
                set.iter().zip(&part.b).for_each(|(&i, &b)| smo.set(i, b));
                violation = smo.violation();
            }
            self.progress.step(LARGE, limit as u64, limit as u64);
            out.push(self.finish(
                pair,
                &smo,
                Fit { iterations: steps, converged: violation <= self.settings.tolerance },
            ));
        }
        Ok(out)
    }

    /// The rows of a pair: those of its first class, then those of its second.
    fn rows(&self, (a, b): (usize, usize)) -> Vec<usize> {
        [&self.members[a][..], &self.members[b][..]].concat()
    }

    fn start(&self, (a, b): (usize, usize), diagonal: Vec<f32>) -> Smo {
        let signs = [vec![1.0; self.members[a].len()], vec![-1.0; self.members[b].len()]].concat();
        Smo::new(&signs, diagonal, self.settings.c)
    }

    fn finish(&self, pair: (usize, usize), smo: &Smo, fit: Fit) -> Pair {
        let duals = self.rows(pair).into_iter().zip(smo.b.iter().copied()).filter(|(_, b)| *b != 0.0).collect();
        Pair { duals, threshold: smo.threshold(), fit }
    }

    /// K between some rows; an error if it is not finite.
    fn block(&self, rows: &[usize], columns: &[usize]) -> Result<Array2<f32>> {
        self.progress.check()?;
        let mut out = Array2::zeros((rows.len(), columns.len()));
        self.prior.block(rows, columns, out.view_mut());
        let wrong =
            |(i, row): (usize, &[f32])| row.iter().position(|v| !v.is_finite()).map(|j| (rows[i], columns[j], row[j]));
        let values = out.as_slice().unwrap_or(&[]);
        match values.par_chunks(columns.len().max(1)).enumerate().find_map_first(wrong) {
            None => Ok(out),
            Some((i, j, v)) => Err(Error::Data(format!(
                "the kernel between rows {} and {} is {v}; it must be finite: check the rows and the kernel's settings",
                i + 1,
                j + 1
            ))),
        }
    }
}

/// The `count` worst violators outside `taken`: by turns the one that wants up most and the one that wants down most.
fn worst(smo: &Smo, taken: &[usize], count: usize) -> Vec<usize> {
    let mut used = vec![false; smo.b.len()];
    taken.iter().for_each(|&i| used[i] = true);
    let ranked = |up: bool| {
        let may = |&i: &usize| if up { smo.may_move(i).0 } else { smo.may_move(i).1 };
        let mut all: Vec<usize> = (0..smo.b.len()).filter(may).collect();
        all.sort_by(|&i, &j| if up { smo.v[j].total_cmp(&smo.v[i]) } else { smo.v[i].total_cmp(&smo.v[j]) });
        all.into_iter()
    };
    let mut sides = [ranked(true), ranked(false)];
    let mut out = Vec::with_capacity(count);
    let mut empty = 0;
    for turn in 0.. {
        if out.len() == count || empty >= 2 {
            break;
        }
        match sides[turn % 2].find(|&i| !used[i]) {
            Some(i) => {
                used[i] = true;
                out.push(i);
                empty = 0;
            }
            None => empty += 1,
        }
    }
    out
}

/// The parts of K that belong to one pair; a class's own block is here only if it is not kept for all pairs.
struct PairBlocks {
    aa: Option<Array2<f32>>,
    ab: Array2<f32>,
    ba: Array2<f32>,
    bb: Option<Array2<f32>>,
}

struct PairRows<'a> {
    aa: ArrayView2<'a, f32>,
    ab: ArrayView2<'a, f32>,
    ba: ArrayView2<'a, f32>,
    bb: ArrayView2<'a, f32>,
}

fn row_of<'a>(m: &'a ArrayView2<f32>, i: usize) -> &'a [f32] {
    let width = m.ncols();
    &m.as_slice().expect("blocks are made row by row")[i * width..(i + 1) * width]
}

impl Rows for PairRows<'_> {
    fn row(&self, i: usize) -> [&[f32]; 2] {
        match i.checked_sub(self.aa.nrows()) {
            None => [row_of(&self.aa, i), row_of(&self.ab, i)],
            Some(i) => [row_of(&self.ba, i), row_of(&self.bb, i)],
        }
    }
}

/// A whole kernel matrix.
struct Square(Array2<f32>);

impl Rows for Square {
    fn row(&self, i: usize) -> [&[f32]; 2] {
        let width = self.0.ncols();
        let all = self.0.as_slice().expect("made contiguous in decompose()");
        [&all[i * width..(i + 1) * width], &[]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Precomputed;
    use crate::math::rng::{self, Purpose};
    use crate::progress::Silent;
    use rand::RngExt;

    #[test]
    fn a_pair_is_solved_by_working_sets_of_any_size() {
        let n = 60;
        let mut rng = rng::stream(1, Purpose::Demo, 0, 0);
        let x = Array2::from_shape_fn((n, 2), |(i, _)| rng.random::<f32>() + if i < n / 2 { 0.0 } else { 0.4 });
        let distance =
            |i: usize, j: usize| vector::squared_distance(x.row(i).to_slice().unwrap(), x.row(j).to_slice().unwrap());
        let matrix = Array2::from_shape_fn((n, n), |(i, j)| (-2.0 * distance(i, j) as f32).exp());
        let (prior, _) = Precomputed::new(matrix).unwrap();
        let members = [(0..n / 2).collect::<Vec<_>>(), (n / 2..n).collect()];
        let settings = KernelSvm { tolerance: 1e-5, max_iterations: 100_000, ..KernelSvm::default() };
        let pairs =
            Pairs { settings: &settings, prior: &prior, members: &members, prices: &[1.0, 10.0], progress: &Silent };
        let whole = pairs.solve(&[(0, 1)]).unwrap().pop().unwrap();
        for rows in [0, 2, 3, 4, 7, 20] {
            for (part, whole) in pairs.decompose((0, 1), 3 * n * rows).unwrap().iter().zip(&whole) {
                assert!(part.fit.converged && whole.fit.converged, "sets of {rows}");
                assert!(
                    (part.threshold - whole.threshold).abs() < 1e-3,
                    "sets of {rows}: {} {}",
                    part.threshold,
                    whole.threshold
                );
                let sum = |pair: &Pair| pair.duals.iter().map(|(_, b)| b.abs()).sum::<f64>();
                assert!((sum(part) - sum(whole)).abs() < 1e-3 * sum(whole), "sets of {rows}");
            }
        }
    }

    #[test]
    fn blocks_are_kept_for_pairs_that_fit_beside_them() {
        let share = |sizes: &[usize], cache_mb: usize| {
            let mut next = 0;
            let mut rows = |n: usize| {
                next += n;
                (next - n..next).collect::<Vec<_>>()
            };
            let members: Vec<Vec<usize>> = sizes.iter().map(|&n| rows(n)).collect();
            let (settings, prior) =
                (KernelSvm { cache_mb, ..KernelSvm::default() }, Precomputed::new(Array2::eye(1)).unwrap().0);
            let pairs =
                Pairs { settings: &settings, prior: &prior, members: &members, prices: &[1.0], progress: &Silent };
            let all: Vec<(usize, usize)> =
                (0..sizes.len()).flat_map(|a| (a + 1..sizes.len()).map(move |b| (a, b))).collect();
            pairs.share(&all)
        };
        // 4 MB are a million entries. Three classes of 300: each by itself 90 000, a pair then 180 000 more.
        assert_eq!(share(&[300, 300, 300], 4), (vec![true; 3], 730_000));
        // 700 rows are 490 000 entries: one block would fit the half, but no pair beside it.
        assert_eq!(share(&[700, 700], 4), (vec![false; 2], 1_000_000));
        // The pairs with the large class do not fit; the two small ones are kept for each other.
        assert_eq!(share(&[900, 100, 100], 4), (vec![false, true, true], 980_000));
    }
}
