//! Newton's method for linear support vector machines with the squared hinge, all classes at once.
//!
//! With A the rows inside the margin (1 - y z > 0, z = X w), one class has
//!
//! ```text
//! f(w)  = 1/2 |w|^2 + C sum_A (1 - y z)^2
//! g(w)  = w + 2C X_A^T (z_A - y_A)
//! H     = I + 2C X_A^T X_A
//! ```
//!
//! f is made of pieces of parabolas, so Newton steps with an exact search along each direction end after finitely many
//! (Keerthi and DeCoste 2005). Each direction `H s = -g` comes from conjugate gradients, whose products `X^T (A .* (X p))`
//! go over the rows once for all open classes and touch only those inside the margin: a tenth of them for digits.
//! (As two thin matrix products over all rows they cost more on digits and as much on pictures of which nearly all rows
//! are inside.)
//!
//! What makes few products enough is the preconditioner. `X^T X` over all rows, computed once, scaled by the share r of rows
//! inside the margin, is close to `X_A^T X_A` for every class, so one Cholesky factor of `I + 2C r X^T X` serves them all.
//! It is factored anew when r has halved or doubled.
//!
//! Second derivatives are taken in f32, since they only steer; gradients and decision values in f64, so the optimum is as
//! exact as the tolerance asks.

use std::ops::Range;

use ndarray::{Array2, ArrayView1, Axis, Zip, s};
use rayon::prelude::*;

use super::Fit;
use super::linear::Problem;
use crate::math::cholesky::Cholesky;
use crate::math::gemm::sequential;
use crate::math::vector;
use crate::progress::Progress;
use crate::{Error, Result};

/// The fewest rows worth handing to a thread.
const BLOCK: usize = 64;

/// Columns of a tile of `X^T X`, and rows summed in f32 before they are added up in f64.
const TILE: usize = 256;
const TILE_ROWS: usize = 1024;

/// The most conjugate-gradient steps per direction; a poor direction is still one of descent.
const MAX_INNER: usize = 250;

pub(super) struct Newton<'a> {
    problem: &'a Problem<'a>,
    /// `X^T X` with the constant feature, lower triangle.
    gram: Array2<f64>,
}

impl<'a> Newton<'a> {
    pub fn new(problem: &'a Problem<'a>, progress: &dyn Progress) -> Result<Self> {
        Ok(Newton { problem, gram: gram(problem, progress)? })
    }

    /// Improves `weights` (one row per problem) until every problem is solved or has had its steps.
    pub fn solve(
        &self,
        c: f64,
        tolerance: f64,
        max_steps: usize,
        weights: &mut Array2<f64>,
        progress: &dyn Progress,
    ) -> Result<Vec<Fit>> {
        let signs = &self.problem.signs;
        let (problems, n) = signs.dim();
        let goals = self.goals(c, tolerance);
        let mut fits = vec![Fit { iterations: 0, converged: false }; problems];
        let mut open: Vec<usize> = (0..problems).collect();
        let mut z = self.forward(weights);
        let mut factor: Option<(f64, Cholesky)> = None;
        for step in 0..=max_steps {
            if progress.stop() {
                return Err(Error::Interrupted);
            }
            // The residual of the rows inside the margin, and which they are.
            let mut residual = z.select(Axis(0), &open);
            let mut inside = Array2::<f32>::zeros(residual.dim());
            for (row, &k) in open.iter().enumerate() {
                Zip::from(residual.row_mut(row)).and(inside.row_mut(row)).and(signs.row(k)).for_each(|r, a, &y| {
                    let y = f64::from(y);
                    let active = 1.0 - y * *r > 0.0;
                    *a = if active { 1.0 } else { 0.0 };
                    *r = if active { *r - y } else { 0.0 };
                });
            }
            let mut gradient = self.backward(&residual);
            gradient *= 2.0 * c;
            gradient += &weights.select(Axis(0), &open);
            let norms: Vec<f64> = gradient.rows().into_iter().map(norm).collect();
            for (row, &k) in open.iter().enumerate() {
                fits[k] = Fit { iterations: step, converged: norms[row] <= goals[k] };
            }
            let still: Vec<usize> = (0..open.len()).filter(|&row| !fits[open[row]].converged).collect();
            open = still.iter().map(|&row| open[row]).collect();
            progress.step("linear SVM", (problems - open.len()) as u64, problems as u64);
            if open.is_empty() || step == max_steps {
                break;
            }
            let inside = inside.select(Axis(0), &still);
            let gradient = gradient.select(Axis(0), &still);
            let goals_left: Vec<f64> = open.iter().map(|&k| goals[k]).collect();

            let share = f64::from(inside.sum()) / (open.len() * n) as f64;
            if factor.as_ref().is_none_or(|(old, _)| !(0.5..2.0).contains(&(share / old))) {
                factor = Some((share, self.precondition(2.0 * c * share)?));
            }
            let Some((_, factor)) = &factor else { unreachable!("factored just above") };
            let direction = self.directions(&gradient, &inside, c, &goals_left, factor, progress)?;
            let slope = self.forward(&direction);
            let lengths: Vec<f64> = (0..open.len())
                .into_par_iter()
                .map(|row| {
                    let k = open[row];
                    exact_length(weights.row(k), direction.row(row), z.row(k), slope.row(row), signs.row(k), c)
                })
                .collect();
            for (row, &k) in open.iter().enumerate() {
                weights.row_mut(k).scaled_add(lengths[row], &direction.row(row));
                z.row_mut(k).scaled_add(lengths[row], &slope.row(row));
            }
        }
        Ok(fits)
    }

    /// The gradient norm to reach in each problem: LIBLINEAR's rule, relative to zero weights.
    fn goals(&self, c: f64, tolerance: f64) -> Vec<f64> {
        let signs = &self.problem.signs;
        let n = signs.ncols() as f64;
        let at_zero = self.backward(&signs.mapv(f64::from)) * (2.0 * c);
        let positive = |k: usize| signs.row(k).iter().filter(|&&y| y > 0.0).count() as f64;
        // What rounding leaves of a sum over all rows; less cannot be asked for.
        let floor = f64::EPSILON * 2.0 * c * (n * self.gram.diag().sum()).sqrt();
        (0..signs.nrows())
            .map(|k| tolerance * positive(k).min(n - positive(k)).max(1.0) / n * norm(at_zero.row(k)))
            .map(|goal| goal.max(floor))
            .collect()
    }

    /// The Cholesky factor of `I + scale X^T X`.
    fn precondition(&self, scale: f64) -> Result<Cholesky> {
        // The products of X^T X were rounded in f32, which may cost it its smallest eigenvalues: a ridge of that size
        // puts them right, and it is raised in the rare case that it does not suffice.
        let mean = self.gram.diag().sum() / self.gram.nrows() as f64;
        let mut ridge = 1e-8 * scale * mean;
        for _ in 0..8 {
            let mut m = &self.gram * scale;
            m.diag_mut().mapv_inplace(|v| v + 1.0 + ridge);
            if let Ok(factor) = Cholesky::new(m) {
                return Ok(factor);
            }
            ridge *= 10.0;
        }
        Err(Error::Numeric(
            "linear SVM: the second derivative could not be factored; scale the features to about unit size".into(),
        ))
    }

    /// Conjugate gradients for `H s = -g` in every open problem, until the residual is a tenth of the gradient: closer
    /// would be wasted, since the rows inside the margin change with the step.
    fn directions(
        &self,
        gradient: &Array2<f64>,
        inside: &Array2<f32>,
        c: f64,
        goals: &[f64],
        factor: &Cholesky,
        progress: &dyn Progress,
    ) -> Result<Array2<f64>> {
        let mut s = Array2::<f64>::zeros(gradient.dim());
        let mut r = -gradient;
        let limit = |(g, &goal): (ArrayView1<f64>, &f64)| (0.1 * norm(g)).max(0.5 * goal);
        let limits: Vec<f64> = gradient.rows().into_iter().zip(goals).map(limit).collect();
        let mut p = preconditioned(&r, factor);
        let mut rho: Vec<f64> = (0..r.nrows()).map(|k| r.row(k).dot(&p.row(k))).collect();
        let mut live: Vec<usize> = (0..r.nrows()).collect();
        for _ in 0..MAX_INNER {
            if progress.stop() {
                return Err(Error::Interrupted);
            }
            let q = self.second_derivative(&p.select(Axis(0), &live), &inside.select(Axis(0), &live), c);
            for (row, &k) in live.iter().enumerate() {
                let alpha = rho[k] / p.row(k).dot(&q.row(row));
                s.row_mut(k).scaled_add(alpha, &p.row(k));
                r.row_mut(k).scaled_add(-alpha, &q.row(row));
            }
            live.retain(|&k| norm(r.row(k)) > limits[k]);
            if live.is_empty() {
                break;
            }
            let z = preconditioned(&r.select(Axis(0), &live), factor);
            for (row, &k) in live.iter().enumerate() {
                let new = r.row(k).dot(&z.row(row));
                let beta = new / rho[k];
                rho[k] = new;
                Zip::from(p.row_mut(k)).and(z.row(row)).for_each(|p, &z| *p = z + beta * *p);
            }
        }
        Ok(s)
    }

    /// `H p = p + 2C X^T (inside .* (X p))`, products in f32.
    fn second_derivative(&self, p: &Array2<f64>, inside: &Array2<f32>, c: f64) -> Array2<f64> {
        let (problems, d) = (p.nrows(), self.problem.x.ncols());
        // To unit length first: f32 has less room below.
        let scales: Vec<f64> = p.rows().into_iter().map(|p| norm(p).max(f64::MIN_POSITIVE)).collect();
        let small: Vec<f32> = (0..problems)
            .flat_map(|k| p.row(k).into_iter().take(d).map(move |&p| (k, p)))
            .map(|(k, p)| (p / scales[k]) as f32)
            .collect();
        let bias: Vec<f32> = (0..problems).map(|k| (p[[k, d]] / scales[k] * self.problem.bias) as f32).collect();
        let mut sum = self.over_rows(problems, |rows, sum| {
            let mut part = vec![0.0f32; problems * d];
            let mut last = vec![0.0f64; problems];
            for i in rows {
                let x = self.problem.row(i);
                for k in (0..problems).filter(|&k| inside[[k, i]] > 0.0) {
                    let weights = k * d..(k + 1) * d;
                    let z = vector::dot_f32(x, &small[weights.clone()]) + bias[k];
                    vector::add_scaled_f32(z, x, &mut part[weights]);
                    last[k] += f64::from(z);
                }
            }
            for k in 0..problems {
                let mut sum = sum.row_mut(k);
                Zip::from(sum.slice_mut(s![..d])).and(&part[k * d..(k + 1) * d]).for_each(|s, &p| *s = f64::from(p));
                sum[d] = last[k] * self.problem.bias;
            }
        });
        for (k, scale) in scales.iter().enumerate() {
            let scale = 2.0 * c * scale;
            Zip::from(sum.row_mut(k)).and(p.row(k)).for_each(|s, &p| *s = p + scale * *s);
        }
        sum
    }

    /// `X w` for each row of `w`: one row of decision values per problem.
    fn forward(&self, w: &Array2<f64>) -> Array2<f64> {
        let (n, d) = self.problem.x.dim();
        let weights: Vec<Vec<f64>> = w.rows().into_iter().map(|w| w.to_vec()).collect();
        let value = |x: &[f32], w: &[f64]| vector::dot(x, &w[..d]) + w[d] * self.problem.bias;
        let by_row: Vec<f64> = (0..n)
            .into_par_iter()
            .with_min_len(BLOCK)
            .flat_map_iter(|i| weights.iter().map(move |w| value(self.problem.row(i), w)))
            .collect();
        Array2::from_shape_fn((weights.len(), n), |(k, i)| by_row[i * weights.len() + k])
    }

    /// `X^T r` for each row of `r`, the constant feature last. Rows outside the margin have r = 0 and cost nothing.
    fn backward(&self, r: &Array2<f64>) -> Array2<f64> {
        let d = self.problem.x.ncols();
        self.over_rows(r.nrows(), |rows, sum| {
            let sum = sum.as_slice_mut().unwrap_or(&mut []);
            for i in rows {
                let x = self.problem.row(i);
                for (k, sum) in sum.chunks_exact_mut(d + 1).enumerate().filter(|(k, _)| r[[*k, i]] != 0.0) {
                    vector::add_scaled(r[[k, i]], x, &mut sum[..d]);
                    sum[d] += r[[k, i]] * self.problem.bias;
                }
            }
        })
    }

    /// Adds up, in order, what `part` makes of each stretch of rows.
    fn over_rows(&self, problems: usize, part: impl Fn(Range<usize>, &mut Array2<f64>) + Sync) -> Array2<f64> {
        let n = self.problem.x.nrows();
        // Cut by the number of rows alone, so that the sum has the same order on any machine.
        let stretch = n.div_ceil(16).max(BLOCK);
        let starts: Vec<usize> = (0..n).step_by(stretch).collect();
        let parts: Vec<Array2<f64>> = starts
            .into_par_iter()
            .map(|from| {
                let mut sum = Array2::zeros((problems, self.problem.width()));
                part(from..(from + stretch).min(n), &mut sum);
                sum
            })
            .collect();
        parts.into_iter().reduce(|sum, part| sum + part).unwrap_or_default()
    }
}

/// One solution of the factored system per row.
fn preconditioned(r: &Array2<f64>, factor: &Cholesky) -> Array2<f64> {
    let mut z = r.clone();
    factor.solve(z.view_mut().reversed_axes());
    z
}

fn norm(v: ArrayView1<f64>) -> f64 {
    v.dot(&v).sqrt()
}

/// `X^T X` with the constant feature as the last, lower triangle.
fn gram(problem: &Problem, progress: &dyn Progress) -> Result<Array2<f64>> {
    let (n, d) = problem.x.dim();
    let mut gram = Array2::zeros((d + 1, d + 1));
    let starts: Vec<usize> = (0..d).step_by(TILE).collect();
    let tiles: Vec<(usize, usize)> =
        starts.iter().flat_map(|&i| starts.iter().filter(move |&&j| j <= i).map(move |&j| (i, j))).collect();
    let done: Vec<Array2<f64>> = tiles
        .par_iter()
        .map(|&(i, j)| {
            progress.check()?;
            let (rows, columns) = (TILE.min(d - i), TILE.min(d - j));
            let mut sum = Array2::<f64>::zeros((rows, columns));
            let mut part = Array2::<f32>::zeros((rows, columns));
            for x in problem.x.axis_chunks_iter(Axis(0), TILE_ROWS) {
                sequential(
                    1.0,
                    x.slice(s![.., i..i + rows]).t(),
                    x.slice(s![.., j..j + columns]),
                    0.0,
                    part.view_mut(),
                );
                Zip::from(&mut sum).and(&part).for_each(|s, &p| *s += f64::from(p));
            }
            Ok(sum)
        })
        .collect::<Result<_>>()?;
    for (&(i, j), tile) in tiles.iter().zip(&done) {
        gram.slice_mut(s![i..i + tile.nrows(), j..j + tile.ncols()]).assign(tile);
    }
    for row in problem.x.rows() {
        Zip::from(gram.slice_mut(s![d, ..d])).and(row).for_each(|g, &x| *g += problem.bias * f64::from(x));
    }
    gram[[d, d]] = n as f64 * problem.bias * problem.bias;
    Ok(gram)
}

/// The t that minimises f(w + t s): where its derivative, which grows with t and is made of straight pieces, is zero.
fn exact_length(
    w: ArrayView1<f64>,
    s: ArrayView1<f64>,
    z: ArrayView1<f64>,
    slope: ArrayView1<f64>,
    signs: ArrayView1<f32>,
    c: f64,
) -> f64 {
    let (ws, ss) = (w.dot(&s), s.dot(&s));
    let derivative = |t: f64| {
        let (mut value, mut rise) = (0.0, 0.0);
        Zip::from(z).and(slope).and(signs).for_each(|&z, &dz, &y| {
            let (y, at) = (f64::from(y), z + t * dz);
            if 1.0 - y * at > 0.0 {
                value += (at - y) * dz;
                rise += dz * dz;
            }
        });
        (ws + t * ss + 2.0 * c * value, ss + 2.0 * c * rise)
    };
    let (mut low, mut high) = (0.0, f64::INFINITY);
    let mut t = 1.0;
    for _ in 0..100 {
        let (value, rise) = derivative(t);
        if value > 0.0 {
            high = t;
        } else {
            low = t;
        }
        let next = t - value / rise;
        if (next - t).abs() <= 1e-12 * t {
            break;
        }
        // Newton's step on the derivative, or half the bracket when it leads out of it.
        t = if next > low && next < high {
            next
        } else if high.is_finite() {
            0.5 * (low + high)
        } else {
            2.0 * t
        };
    }
    t
}
