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
//! Rows are f32, w and the duals f64. Every class has its own list of the rows that still take part, put in a new order
//! for each sweep, so that late sweeps, over few rows, cost little, and classes can be shared out over threads.

use ndarray::Array2;
use rayon::prelude::*;

use super::Fit;
use super::linear::{Hinge, LinearSvm, Problem};
use crate::math::{rng, vector};
use crate::progress::Progress;
use crate::{Error, Result};

/// One class on its way.
struct State<'a> {
    signs: &'a [f32],
    w: Vec<f64>,
    duals: Vec<f64>,
    /// The rows; those that still take part come first.
    rows: Vec<u32>,
    active: usize,
    /// The largest and smallest projected gradient of the last sweep, which decide what is left out.
    above: f64,
    below: f64,
    fit: Fit,
}

/// What all classes have in common.
struct Terms<'a, 'b> {
    problem: &'a Problem<'b>,
    /// `Q_ii` of each row.
    diagonal: Vec<f64>,
    /// The upper bound U of a dual, and the additional diagonal D.
    upper: f64,
    extra: f64,
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
    let diagonal = problem.x.rows().into_iter().map(|row| square(row) + problem.bias * problem.bias + extra).collect();
    let terms = Terms { problem, diagonal, upper, extra };
    let mut states: Vec<State> = (0..problems)
        .map(|k| State {
            signs: problem.signs.row(k).to_slice().unwrap_or(&[]),
            w: vec![0.0; problem.width()],
            duals: vec![0.0; n],
            rows: (0..n as u32).collect(),
            active: n,
            above: f64::INFINITY,
            below: f64::NEG_INFINITY,
            fit: Fit { iterations: 0, converged: false },
        })
        .collect();
    states.par_iter_mut().enumerate().with_max_len(1).try_for_each(|(k, state)| {
        while !state.fit.converged && state.fit.iterations < settings.max_iterations {
            if progress.stop() {
                return Err(Error::Interrupted);
            }
            progress.step("linear SVM", state.fit.iterations as u64, settings.max_iterations as u64);
            let sweep = state.fit.iterations as u64;
            let mut rng = rng::stream(settings.seed, rng::Purpose::Descent, k as u64, sweep);
            rng::shuffle(&mut rng, &mut state.rows[..state.active]);
            state.sweep(&terms, settings.tolerance);
        }
        Ok(())
    })?;
    progress.step("linear SVM", settings.max_iterations as u64, settings.max_iterations as u64);
    for (state, mut weights) in states.iter().zip(weights.rows_mut()) {
        weights.iter_mut().zip(&state.w).for_each(|(out, &w)| *out = w);
    }
    Ok(states.iter().map(|s| s.fit).collect())
}

impl State<'_> {
    /// Visits every row that takes part once, and looks at how far from the optimum they were.
    fn sweep(&mut self, terms: &Terms, tolerance: f64) {
        let (mut max, mut min) = (f64::NEG_INFINITY, f64::INFINITY);
        let mut place = 0;
        while place < self.active {
            // The next row is on its way while this one is used.
            if let Some(&next) = self.rows.get(place + 1) {
                vector::prefetch(terms.problem.row(next as usize));
            }
            match self.visit(terms, self.rows[place] as usize) {
                Some(projected) => {
                    max = max.max(projected);
                    min = min.min(projected);
                    place += 1;
                }
                None => {
                    self.active -= 1;
                    self.rows.swap(place, self.active);
                }
            }
        }
        self.fit.iterations += 1;
        // Without a row left, minus infinity.
        if max - min <= tolerance {
            self.fit.converged = self.active == self.rows.len();
            self.active = self.rows.len();
            (self.above, self.below) = (f64::INFINITY, f64::NEG_INFINITY);
        } else {
            self.above = if max > 0.0 { max } else { f64::INFINITY };
            self.below = if min < 0.0 { min } else { f64::NEG_INFINITY };
        }
    }

    /// Moves the dual of a row to its optimum and returns the projected gradient there was; none if the row is to be
    /// left out.
    fn visit(&mut self, terms: &Terms, i: usize) -> Option<f64> {
        let Terms { problem: Problem { bias, .. }, upper, extra, .. } = *terms;
        let (row, diagonal) = (terms.problem.row(i), terms.diagonal[i]);
        let d = row.len();
        let (y, dual) = (f64::from(self.signs[i]), self.duals[i]);
        let gradient = y * (vector::dot(row, &self.w[..d]) + self.w[d] * bias) - 1.0 + extra * dual;
        let projected = if dual <= 0.0 {
            if gradient > self.above {
                return None;
            }
            gradient.min(0.0)
        } else if dual >= upper {
            if gradient < self.below {
                return None;
            }
            gradient.max(0.0)
        } else {
            gradient
        };
        // A row of zeros without intercept has no curvature under the hinge: its dual goes straight to the bound.
        let wanted = if diagonal > 0.0 { dual - gradient / diagonal } else { upper };
        if projected.abs() > 1e-12 {
            let new = wanted.max(0.0).min(upper);
            self.duals[i] = new;
            let step = (new - dual) * y;
            vector::add_scaled(step, row, &mut self.w[..d]);
            self.w[d] += step * bias;
        }
        Some(projected)
    }
}
