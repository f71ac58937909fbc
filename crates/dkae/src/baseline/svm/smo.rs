//! Sequential minimal optimisation with second-order working sets, for one binary problem (Platt 1998; Fan, Chen and Lin
//! 2005, LIBSVM's rule).
//!
//! With signed duals `b_i = y_i a_i` the problem is
//!
//! ```text
//! min 1/2 b^T K b - y.b    subject to  sum b = 0,  lo_i <= b_i <= hi_i   ([0, C] for y = 1, [-C, 0] for y = -1)
//! ```
//!
//! and `v = y - K b` says which way each wants to go. One step takes the i that wants up most (largest v below its upper
//! bound), the j that promises the largest gain `(v_i - v_j)^2 / (K_ii + K_jj - 2 K_ij)` among those that may go down, and moves
//! `b_i` up and `b_j` down by the same amount. It ends when the largest v that may go up exceeds the smallest that may
//! go down by no more than the tolerance. The threshold is the mean v of the free ones, or the middle between the bounds.
//!
//! The kernel matrix is given by rows, each in two pieces, so that pairs of classes can share the blocks of each class with
//! itself. A step is two passes over vectors of the problem's length, in vectorised loops; nothing is shrunk, since a pair
//! of classes is short enough for its vectors to stay in cache.

use crate::math::vector::{self, Best, First};
use crate::progress::Progress;

use super::Fit;

/// The rows of a symmetric kernel matrix.
pub(super) trait Rows {
    /// Row `i`, as the piece for the first rows and the piece for the rest.
    fn row(&self, i: usize) -> [&[f32]; 2];
}

/// A curvature for pairs of equal rows, which have none.
const TINY: f64 = 1e-12;

/// Steps between two looks at whether to stop.
const PATIENCE: usize = 4096;

/// One binary problem and the state of its solution.
pub(super) struct Smo {
    /// Signed duals.
    pub b: Vec<f64>,
    /// `y - K b`.
    pub v: Vec<f64>,
    /// `K_ii`.
    diagonal: Vec<f32>,
    low: Vec<f64>,
    high: Vec<f64>,
    /// 0 where the dual may go up, minus infinity at its upper bound.
    up_bar: Vec<f64>,
    /// 0 where the dual may go down, plus infinity at its lower bound.
    down_bar: Vec<f64>,
}

impl Smo {
    /// All duals zero. `signs` are 1 and -1.
    pub fn new(signs: &[f64], diagonal: Vec<f32>, c: f64) -> Self {
        let n = signs.len();
        let (b, v) = (vec![0.0; n], signs.to_vec());
        let (low, high) = signs.iter().map(|&y| if y > 0.0 { (0.0, c) } else { (-c, 0.0) }).unzip();
        let mut smo = Smo { b, v, diagonal, low, high, up_bar: vec![0.0; n], down_bar: vec![0.0; n] };
        (0..n).for_each(|i| smo.set_bars(i));
        smo
    }

    /// A part of a problem: duals, values and bounds of `members`, the rest held fixed.
    pub fn part(&self, members: &[usize]) -> Self {
        let pick = |from: &[f64]| members.iter().map(|&i| from[i]).collect();
        Smo {
            b: pick(&self.b),
            v: pick(&self.v),
            diagonal: members.iter().map(|&i| self.diagonal[i]).collect(),
            low: pick(&self.low),
            high: pick(&self.high),
            up_bar: pick(&self.up_bar),
            down_bar: pick(&self.down_bar),
        }
    }

    /// Sets dual `i`; its effect on `v` is the caller's business.
    pub fn set(&mut self, i: usize, value: f64) {
        self.b[i] = value;
        self.set_bars(i);
    }

    /// Sets a new, larger price; the duals stay where they are, which is within the new bounds.
    pub fn raise_price(&mut self, c: f64) {
        for i in 0..self.b.len() {
            if self.low[i] < 0.0 {
                self.low[i] = -c;
            } else {
                self.high[i] = c;
            }
            self.set_bars(i);
        }
    }

    fn set_bars(&mut self, i: usize) {
        self.up_bar[i] = if self.b[i] < self.high[i] { 0.0 } else { f64::NEG_INFINITY };
        self.down_bar[i] = if self.b[i] > self.low[i] { 0.0 } else { f64::INFINITY };
    }

    /// Whether dual `i` may go up, and whether it may go down.
    pub fn may_move(&self, i: usize) -> (bool, bool) {
        (self.up_bar[i] == 0.0, self.down_bar[i] == 0.0)
    }

    /// By how much the largest value that may go up exceeds the smallest that may go down.
    pub fn violation(&self) -> f64 {
        let up = self.v.iter().zip(&self.up_bar).fold(f64::NEG_INFINITY, |m, (v, bar)| m.max(v + bar));
        let down = self.v.iter().zip(&self.down_bar).fold(f64::INFINITY, |m, (v, bar)| m.min(v + bar));
        up - down
    }

    /// Takes steps until the violation is within the tolerance, `limit` steps were taken or someone asks to stop.
    pub fn solve(&mut self, rows: &impl Rows, tolerance: f64, limit: usize, progress: &dyn Progress) -> Fit {
        let n = self.b.len();
        let cut = if n == 0 { 0 } else { rows.row(0)[0].len() };
        let mut first =
            (0..n).fold(Best::NONE, |best, i| best.or(Best { value: self.v[i] + self.up_bar[i], index: i }));
        for step in 0..limit {
            if first.value == f64::NEG_INFINITY || (step % PATIENCE == PATIENCE - 1 && progress.stop()) {
                return Fit { iterations: step, converged: first.value == f64::NEG_INFINITY };
            }
            let i = first.index;
            let about = First { value: first.value, diagonal: f64::from(self.diagonal[i]), tiny: TINY };
            let row_i = rows.row(i);
            let (mut second, mut least) = (Best::NONE, f64::INFINITY);
            for (piece, range) in row_i.into_iter().zip([0..cut, cut..n]) {
                let offset = range.start;
                let (diagonal, bar) = (&self.diagonal[range.clone()], &self.down_bar[range.clone()]);
                let (mut best, smallest) = vector::search_second(about, piece, diagonal, bar, &self.v[range]);
                best.index = best.index.saturating_add(offset);
                second = second.or(best);
                least = least.min(smallest);
            }
            if first.value - least <= tolerance || second == Best::NONE {
                return Fit { iterations: step, converged: true };
            }
            let j = second.index;
            let row_j = rows.row(j);
            let k_ij = f64::from(if j < cut { row_i[0][j] } else { row_i[1][j - cut] });
            let curvature = f64::from(self.diagonal[i]) + f64::from(self.diagonal[j]) - 2.0 * k_ij;
            let curvature = if curvature > 0.0 { curvature } else { TINY };
            let wanted = (self.v[i] - self.v[j]) / curvature;
            let (room_i, room_j) = (self.high[i] - self.b[i], self.b[j] - self.low[j]);
            let delta = wanted.min(room_i).min(room_j);
            // A dual that uses up its room lands on its bound exactly, not a rounding error beside it.
            self.b[i] = if delta == room_i { self.high[i] } else { self.b[i] + delta };
            self.b[j] = if delta == room_j { self.low[j] } else { self.b[j] - delta };
            self.set_bars(i);
            self.set_bars(j);
            first = Best::NONE;
            for ((p, q), range) in row_i.into_iter().zip(row_j).zip([0..cut, cut..n]) {
                let offset = range.start;
                let bar = &self.up_bar[range.clone()];
                let mut best = vector::descend_and_search(delta, p, q, bar, &mut self.v[range]);
                best.index = best.index.saturating_add(offset);
                first = first.or(best);
            }
        }
        Fit { iterations: limit, converged: self.violation() <= tolerance }
    }

    /// The threshold: decision values are `sum b_i K(x_i, x) + threshold`.
    pub fn threshold(&self) -> f64 {
        let free: Vec<f64> =
            (0..self.b.len()).filter(|&i| self.may_move(i) == (true, true)).map(|i| self.v[i]).collect();
        if !free.is_empty() {
            return free.iter().sum::<f64>() / free.len() as f64;
        }
        let up = self.v.iter().zip(&self.up_bar).fold(f64::NEG_INFINITY, |m, (v, bar)| m.max(v + bar));
        let down = self.v.iter().zip(&self.down_bar).fold(f64::INFINITY, |m, (v, bar)| m.min(v + bar));
        (up + down) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::rng;
    use crate::progress::Silent;
    use ndarray::{Array2, Axis};
    use rand::RngExt;

    /// A matrix whose rows come in two pieces, the first of this length.
    struct Whole(Array2<f32>, usize);

    impl Rows for Whole {
        fn row(&self, i: usize) -> [&[f32]; 2] {
            let n = self.0.ncols();
            let (first, rest) = self.0.as_slice().unwrap()[i * n..(i + 1) * n].split_at(self.1);
            [first, rest]
        }
    }

    /// The Gaussian kernel of random rows, and signs that these decide in part only.
    fn problem(n: usize) -> (Array2<f32>, Vec<f64>) {
        let mut rng = rng::stream(8, rng::Purpose::Demo, n as u64, 0);
        let x = Array2::from_shape_simple_fn((n, 2), || 4.0 * rng.random::<f32>());
        let squared = |i: usize, j: usize| (&x.row(i) - &x.row(j)).mapv(|d| d * d).sum();
        let k = Array2::from_shape_fn((n, n), |(i, j)| (-squared(i.min(j), i.max(j))).exp());
        let side = |row: ndarray::ArrayView1<f32>| if row[0] + rng.random::<f32>() > 2.5 { 1.0 } else { -1.0 };
        let signs = x.axis_iter(Axis(0)).map(side).collect();
        (k, signs)
    }

    fn solved(k: &Array2<f32>, signs: &[f64], c: f64, cut: usize) -> Smo {
        let mut smo = Smo::new(signs, k.diag().to_vec(), c);
        assert!(smo.solve(&Whole(k.clone(), cut), 1e-9, 1_000_000, &Silent).converged);
        smo
    }

    /// What makes a point the optimum of a convex problem, recomputed from the duals alone.
    fn assert_optimal(smo: &Smo, k: &Array2<f32>, signs: &[f64], c: f64) {
        let n = signs.len();
        assert!(smo.b.iter().sum::<f64>().abs() < 1e-9, "the duals add up to zero");
        let (mut up, mut down) = (f64::NEG_INFINITY, f64::INFINITY);
        for i in 0..n {
            let (low, high) = if signs[i] > 0.0 { (0.0, c) } else { (-c, 0.0) };
            assert!((low..=high).contains(&smo.b[i]), "{i}: {}", smo.b[i]);
            let v = signs[i] - (0..n).map(|j| f64::from(k[[i, j]]) * smo.b[j]).sum::<f64>();
            assert!((v - smo.v[i]).abs() < 1e-7, "{i}: {v} {}", smo.v[i]);
            up = if smo.b[i] < high { up.max(v) } else { up };
            down = if smo.b[i] > low { down.min(v) } else { down };
        }
        assert!(up - down < 1e-7, "something could still move: {up} {down}");
        assert!((up.min(down) - 1e-7..=up.max(down) + 1e-7).contains(&smo.threshold()));
    }

    #[test]
    fn solutions_meet_the_conditions_of_the_optimum_wherever_rows_are_cut() {
        let (k, signs) = problem(60);
        for c in [0.05, 1.0, 100.0] {
            let whole = solved(&k, &signs, c, 60);
            assert_optimal(&whole, &k, &signs, c);
            for cut in [0, 1, 37] {
                assert_eq!(solved(&k, &signs, c, cut).b, whole.b, "C {c}, cut at {cut}");
            }
        }
        let at_bounds = |smo: &Smo, c: f64| smo.b.iter().filter(|b| b.abs() == c).count();
        assert!(
            at_bounds(&solved(&k, &signs, 0.05, 9), 0.05) > 20 && at_bounds(&solved(&k, &signs, 100.0, 9), 100.0) < 20
        );
    }

    #[test]
    fn a_raised_price_goes_on_to_the_optimum_of_the_new_one() {
        let (k, signs) = problem(50);
        let mut smo = solved(&k, &signs, 0.1, 20);
        smo.raise_price(5.0);
        assert!(smo.violation() > 1e-3, "there is something to do");
        assert!(smo.solve(&Whole(k.clone(), 20), 1e-9, 1_000_000, &Silent).converged);
        assert_optimal(&smo, &k, &signs, 5.0);
    }

    #[test]
    fn a_part_moves_its_own_duals_only_and_the_limit_is_told() {
        let (k, signs) = problem(40);
        let mut smo = Smo::new(&signs, k.diag().to_vec(), 1.0);
        let members: Vec<usize> = (0..40).step_by(2).collect();
        let mut part = smo.part(&members);
        let own = Array2::from_shape_fn((20, 20), |(i, j)| k[[members[i], members[j]]]);
        assert!(part.solve(&Whole(own.clone(), 7), 1e-9, 1_000_000, &Silent).converged);
        let half: Vec<f64> = members.iter().map(|&i| signs[i]).collect();
        assert_optimal(&part, &own, &half, 1.0);
        let fit = smo.solve(&Whole(k, 40), 1e-9, 3, &Silent);
        assert_eq!(fit, Fit { iterations: 3, converged: false });
    }
}
