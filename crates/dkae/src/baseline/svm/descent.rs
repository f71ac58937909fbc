//! Dual coordinate descent for linear support vector machines (Hsieh, Chang, Lin, Keerthi and Sundararajan 2008).
//!
//! The dual of one class is `min_a 1/2 a^T Q a - sum a` with `Q_ij = y_i y_j x_i.x_j + D [i = j]` and `0 <= a_i <= U`: for the
//! hinge D = 0 and U = C, for the squared hinge D = 1/(2C) and no upper bound. With `w = sum a_i y_i x_i` at hand,
//! one coordinate costs one inner product and, if it moves, one scaled row added to w:
//!
//! ```text
//! G = y_i w.x_i - 1 + D a_i,   a_i <- min(max(a_i - G / Q_ii, 0), U)
//! ```
//!
//! Coordinates at a bound that point outwards by more than the last sweep's largest violation are left out ("shrunk") until
//! the rest is solved; then all are looked at once more.
//!
//! All classes of a thread share one pass over the rows, so that a row comes from memory once for all of them. Rows are f32,
//! w and the duals f64. The order of rows is drawn per sweep and is the same for all classes, so the result of a class does
//! not depend on how classes are shared out over threads.

use ndarray::Array2;
use rayon::prelude::*;

use super::Fit;
use super::linear::{Hinge, LinearSvm, Problem};
use crate::math::{rng, threads, vector};
use crate::progress::Progress;
use crate::{Error, Result};

/// One class on its way.
struct State<'a> {
    signs: &'a [f32],
    w: Vec<f64>,
    duals: Vec<f64>,
    /// Whether each row still takes part.
    active: Vec<bool>,
    inactive: usize,
    /// The largest and smallest projected gradient of the last sweep, which decide what is left out.
    above: f64,
    below: f64,
    /// The same of this sweep.
    max: f64,
    min: f64,
    fit: Fit,
}

/// Solves every problem from zero duals and writes its weights.
pub(super) fn solve(
    problem: &Problem,
    c: f64,
    settings: &LinearSvm,
    weights: &mut Array2<f64>,
    progress: &dyn Progress,
) -> Result<Vec<Fit>> {
    let problems = weights.nrows();
    let n = problem.x.nrows();
    let (upper, extra) = match settings.loss {
        Hinge::L1 => (c, 0.0),
        Hinge::L2 => (f64::INFINITY, 0.5 / c),
    };
    let square = |row: ndarray::ArrayView1<f32>| row.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>();
    let diagonal: Vec<f64> =
        problem.x.rows().into_iter().map(|row| square(row) + problem.bias * problem.bias + extra).collect();
    let mut states: Vec<State> = (0..problems)
        .map(|k| State {
            signs: problem.signs.row(k).to_slice().unwrap_or(&[]),
            w: vec![0.0; problem.width()],
            duals: vec![0.0; n],
            active: vec![true; n],
            inactive: 0,
            above: f64::INFINITY,
            below: f64::NEG_INFINITY,
            max: f64::NEG_INFINITY,
            min: f64::INFINITY,
            fit: Fit { iterations: 0, converged: false },
        })
        .collect();
    let share = problems.div_ceil(threads::count());
    states.par_chunks_mut(share).try_for_each(|group| {
        for sweep in 0..settings.max_iterations {
            if progress.stop() {
                return Err(Error::Interrupted);
            }
            progress.step("linear SVM", sweep as u64, settings.max_iterations as u64);
            let mut order: Vec<usize> = (0..n).collect();
            rng::shuffle(&mut rng::stream(settings.seed, rng::Purpose::Descent, 0, sweep as u64), &mut order);
            // Only rows that some class still looks at; the next one is on its way while this one is used.
            order.retain(|&i| group.iter().any(|s| !s.fit.converged && s.active[i]));
            for (place, &i) in order.iter().enumerate() {
                if let Some(&next) = order.get(place + 1) {
                    vector::prefetch(problem.row(next));
                }
                for state in group.iter_mut().filter(|s| !s.fit.converged && s.active[i]) {
                    state.visit(i, problem.row(i), problem.bias, diagonal[i], upper, extra);
                }
            }
            for state in group.iter_mut().filter(|s| !s.fit.converged) {
                state.end_sweep(settings.tolerance);
            }
            if group.iter().all(|s| s.fit.converged) {
                break;
            }
        }
        Ok(())
    })?;
    for (state, mut weights) in states.iter().zip(weights.rows_mut()) {
        weights.iter_mut().zip(&state.w).for_each(|(out, &w)| *out = w);
    }
    Ok(states.iter().map(|s| s.fit).collect())
}

impl State<'_> {
    fn visit(&mut self, i: usize, row: &[f32], bias: f64, diagonal: f64, upper: f64, extra: f64) {
        let d = row.len();
        let (y, dual) = (f64::from(self.signs[i]), self.duals[i]);
        let gradient = y * (vector::dot(row, &self.w[..d]) + self.w[d] * bias) - 1.0 + extra * dual;
        let projected = if dual <= 0.0 {
            if gradient > self.above {
                return self.leave_out(i);
            }
            gradient.min(0.0)
        } else if dual >= upper {
            if gradient < self.below {
                return self.leave_out(i);
            }
            gradient.max(0.0)
        } else {
            gradient
        };
        self.max = self.max.max(projected);
        self.min = self.min.min(projected);
        // A row of zeros without intercept has no curvature under the hinge: its dual goes straight to the bound.
        let wanted = if diagonal > 0.0 { dual - gradient / diagonal } else { upper };
        if projected.abs() > 1e-12 {
            let new = wanted.max(0.0).min(upper);
            self.duals[i] = new;
            let step = (new - dual) * y;
            vector::add_scaled(step, row, &mut self.w[..d]);
            self.w[d] += step * bias;
        }
    }

    fn leave_out(&mut self, i: usize) {
        self.active[i] = false;
        self.inactive += 1;
    }

    fn end_sweep(&mut self, tolerance: f64) {
        self.fit.iterations += 1;
        let (max, min) = (self.max, self.min);
        (self.max, self.min) = (f64::NEG_INFINITY, f64::INFINITY);
        if max - min <= tolerance || max < min {
            if self.inactive == 0 {
                self.fit.converged = true;
            } else {
                self.active.fill(true);
                self.inactive = 0;
                (self.above, self.below) = (f64::INFINITY, f64::NEG_INFINITY);
            }
            return;
        }
        self.above = if max > 0.0 { max } else { f64::INFINITY };
        self.below = if min < 0.0 { min } else { f64::NEG_INFINITY };
    }
}
