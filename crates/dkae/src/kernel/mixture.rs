//! One Gaussian mixture, fitted by expectation maximisation.
//!
//! The density of a row is `sum_c w_c N(x; m_c, v_c)` with `g` components. Covariances have no off-diagonal terms: the
//! mixtures of a cluster kernel are fitted on some hundred rows of some hundred features, where a full covariance has no
//! inverse. A variance `floor` is added to every variance, as scikit-learn's `reg_covar` is, so that none is below it.
//!
//! With the precision `p = 1/v`, the logarithm of a component's density is linear in the moments `[x, x^2]` of a row:
//!
//! ```text
//! log w_c + log N(x; m_c, v_c) = sum_k x_k m_ck p_ck - 1/2 x_k^2 p_ck        two products with stacked precisions
//!                              + log w_c - 1/2 sum_k (log 2 pi v_ck + m_ck^2 p_ck)        one constant per component
//! ```
//!
//! so the E step is one product of the moments of all rows with one column per component, followed by a log-sum-exp over
//! the components, and the M step one product of the responsibilities with the same moments. Everything is f64, and rows
//! are centred first, so that `x^2 - m^2` loses nothing to a large mean. docs/method/em.md derives the updates.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, ArrayViewMut2, Axis, Zip, s};
use rand::RngExt;
use rand::rngs::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::math::{check, gemm, rng};
use crate::progress::{Progress, Silent};
use crate::{Error, Result};

/// The logarithm of 2 pi.
const LOG_2_PI: f64 = 1.837_877_066_409_345_3;

/// A component that explains less than this many rows in all is empty.
const EMPTY: f64 = 1e-6;

/// The form of a component's covariance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Covariance {
    /// One variance per component and feature.
    #[default]
    Diagonal,
    /// One variance per component, the same for all features; for features of one scale.
    Spherical,
    /// One variance per feature, shared by all components: the fewest parameters, and the form to take when there are
    /// fewer rows than features and a component's own variances would be estimated from a handful of rows.
    Tied,
}

/// Where the means of a mixture start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// At different rows, drawn evenly.
    #[default]
    Random,
    /// At rows drawn far from each other, with probability by squared distance (Arthur and Vassilvitskii 2007).
    #[serde(rename = "k-means++")]
    KMeansPlusPlus,
}

/// Rows made ready for any number of mixtures: centred, constant features left out, with their squares.
pub struct Rows {
    width: usize,
    active: Vec<usize>,
    centre: Vec<f64>,
    variance: Vec<f64>,
    /// One row per row: features, then their squares.
    moments: Array2<f64>,
    /// The same, transposed: each of the two steps reads its factor in the order it is stored in.
    by_feature: Array2<f64>,
}

impl Rows {
    /// Prepares `x` for mixtures of the given form.
    ///
    /// A feature that is the same in all rows has the same mean and variance in every component, so it adds the same to
    /// all their log-densities; it is left out. A spherical variance is one for all features, so there all stay.
    pub fn new(x: ArrayView2<f32>, covariance: Covariance) -> Result<Self> {
        let (n, width) = x.dim();
        check::rows("rows for a mixture", x)?;
        let varies = |k: &usize| x.column(*k).iter().any(|&v| v != x[[0, *k]]);
        let active: Vec<usize> = (0..width).filter(|k| covariance == Covariance::Spherical || varies(k)).collect();
        let a = active.len();
        let (mut centre, mut variance) = (Vec::with_capacity(a), Vec::with_capacity(a));
        let mut moments = Array2::zeros((n, 2 * a));
        for (j, &k) in active.iter().enumerate() {
            let mean = x.column(k).iter().map(|&v| f64::from(v)).sum::<f64>() / n as f64;
            let mut sum = 0.0;
            for (i, &v) in x.column(k).iter().enumerate() {
                let d = f64::from(v) - mean;
                moments[[i, j]] = d;
                moments[[i, a + j]] = d * d;
                sum += d * d;
            }
            centre.push(mean);
            variance.push(sum / n as f64);
        }
        let by_feature = moments.t().as_standard_layout().into_owned();
        Ok(Self { width, active, centre, variance, moments, by_feature })
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.moments.nrows()
    }

    /// Whether there are none: never.
    pub fn is_empty(&self) -> bool {
        self.moments.nrows() == 0
    }

    /// How many features a row has, constant ones included.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The features that are kept.
    pub fn active(&self) -> &[usize] {
        &self.active
    }

    /// The mean of each kept feature, which rows are centred by.
    pub fn centre(&self) -> &[f64] {
        &self.centre
    }

    /// The variance of each kept feature over all rows.
    pub fn variance(&self) -> &[f64] {
        &self.variance
    }

    /// The mean of the variances of all features.
    pub fn mean_variance(&self) -> f64 {
        self.variance.iter().sum::<f64>() / self.width as f64
    }

    /// The kept features of all rows, centred.
    pub fn centred(&self) -> ArrayView2<'_, f64> {
        self.moments.slice(s![.., ..self.active.len()])
    }

    /// The median of each kept feature, centred: the upper one of two in the middle, so that it is the value of some row.
    pub fn medians(&self) -> Vec<f64> {
        let median = |column: ArrayView1<f64>| {
            let mut values = column.to_vec();
            let middle = values.len() / 2;
            *values.select_nth_unstable_by(middle, f64::total_cmp).1
        };
        self.centred().columns().into_iter().map(median).collect()
    }

    /// The numbers of `g` rows for means to start at.
    pub fn draw(&self, g: usize, start: Start, rng: &mut ChaCha8Rng) -> Vec<usize> {
        let n = self.len();
        match start {
            Start::Random => rng::sample(rng, n, g),
            Start::KMeansPlusPlus => {
                let x = self.centred();
                let mut chosen = vec![rng::below(rng, n)];
                let mut nearest = vec![f64::INFINITY; n];
                while chosen.len() < g {
                    let last = x.row(chosen[chosen.len() - 1]);
                    for (d, row) in nearest.iter_mut().zip(x.rows()) {
                        *d = d.min(Zip::from(&row).and(&last).fold(0.0, |sum, a, b| sum + (a - b) * (a - b)));
                    }
                    let mut left = nearest.iter().sum::<f64>() * rng.random::<f64>();
                    // When all distances are zero every row is as good as any: the last one is taken.
                    let far = nearest.iter().position(|&d| {
                        left -= d;
                        left < 0.0
                    });
                    chosen.push(far.unwrap_or(n - 1));
                }
                chosen
            }
        }
    }

    /// The means that stand at these rows, for [`Mixture::fit`].
    pub fn means_at(&self, rows: &[usize]) -> Array2<f64> {
        self.centred().select(Axis(0), rows)
    }
}

/// The settings of one mixture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mixture {
    /// The form of the covariance; diagonal by default.
    pub covariance: Covariance,
    /// Added to every variance, in squared units of the features; 0.01 by default.
    pub floor: f64,
    /// EM stops when the mean log-likelihood of a row changes by less than this between iterations; 0.001 by default.
    pub tolerance: f64,
    /// EM stops after this many iterations in any case; 100 by default.
    pub max_iterations: usize,
}

impl Default for Mixture {
    fn default() -> Self {
        Self { covariance: Covariance::Diagonal, floor: 1e-2, tolerance: 1e-3, max_iterations: 100 }
    }
}

/// A mixture that was fitted. Means and variances are about the kept features of the [`Rows`] it was fitted on.
#[derive(Clone, Debug)]
pub struct FittedMixture {
    /// The weight of each component; they sum to one.
    pub weights: Array1<f64>,
    /// The mean of each component, relative to the centre of the rows: `g` x kept features.
    pub means: Array2<f64>,
    /// The variance of each component and kept feature, whatever the form of the covariance; at least the floor.
    pub variances: Array2<f64>,
    /// The mean log-likelihood of a row at the last E step.
    pub log_likelihood: f64,
    /// How many iterations EM took.
    pub iterations: usize,
    /// Whether it stopped because the likelihood no longer changed.
    pub converged: bool,
    /// How many times an empty component was started again.
    pub repaired: usize,
    /// How many components are empty in the end; no row belongs to those.
    pub empty: usize,
}

impl Mixture {
    /// Fits a mixture by EM from these means (one row per component, see [`Rows::means_at`]), uniform weights, and the
    /// variances of the data. Runs on the calling thread.
    ///
    /// A component that no row belongs to any more is started again at the row that the mixture explains worst, with
    /// the variances of the data. That is done as often as there are components; one that is empty after that keeps its
    /// last mean and variances and a weight of next to nothing.
    pub fn fit(&self, rows: &Rows, means: ArrayView2<f64>) -> Result<FittedMixture> {
        self.fit_watched(rows, means, &Silent)
    }

    /// As [`fit`](Self::fit), for someone who may ask to stop; asked before each iteration.
    pub fn fit_watched(&self, rows: &Rows, means: ArrayView2<f64>, progress: &dyn Progress) -> Result<FittedMixture> {
        let (n, g) = (rows.len(), means.nrows());
        let a = rows.active.len();
        assert_eq!(means.ncols(), a, "means have one value per kept feature");
        if g == 0 {
            return Err(Error::setting("components", "a mixture has at least one component"));
        }
        let start = self.start_variance(rows);
        let mut fit = FittedMixture {
            weights: Array1::from_elem(g, 1.0 / g as f64),
            means: means.to_owned(),
            variances: start.broadcast((g, a)).map(|v| v.to_owned()).unwrap_or_default(),
            log_likelihood: f64::NEG_INFINITY,
            iterations: 0,
            converged: false,
            repaired: 0,
            empty: 0,
        };
        let mut panel = Array2::zeros((g, 2 * a));
        // Stored by component, so that either product has its longer contiguous axis in common with its result.
        let mut shares = Array2::zeros((g, n));
        let mut sums = Array2::zeros((g, 2 * a));
        let mut row_likelihoods = vec![0.0; n];
        while fit.iterations < self.max_iterations && !fit.converged {
            progress.check()?;
            fit.iterations += 1;
            self.expectation(rows, &fit, panel.view_mut(), shares.view_mut(), &mut row_likelihoods);
            let before = fit.log_likelihood;
            fit.log_likelihood = row_likelihoods.iter().sum::<f64>() / n as f64;
            if !fit.log_likelihood.is_finite() {
                return Err(Error::Numeric(format!(
                    "the likelihood of a mixture of {g} components is {}; are the features of very different scale? \
                     Scale them, or raise the variance floor ({})",
                    fit.log_likelihood, self.floor
                )));
            }
            gemm::sequential(1.0, shares.view(), rows.moments.view(), 0.0, sums.view_mut());
            let repaired = self.maximisation(rows, &mut fit, shares.view(), sums.view(), &start, &row_likelihoods);
            fit.converged = (fit.log_likelihood - before).abs() < self.tolerance && !repaired;
        }
        Ok(fit)
    }

    fn start_variance(&self, rows: &Rows) -> Array1<f64> {
        match self.covariance {
            Covariance::Spherical => Array1::from_elem(rows.active.len(), rows.mean_variance() + self.floor),
            _ => rows.variance.iter().map(|v| v + self.floor).collect(),
        }
    }

    /// The E step: the share of each component in each row (g x n, columns sum to one) and each row's log-likelihood.
    fn expectation(
        &self,
        rows: &Rows,
        fit: &FittedMixture,
        mut panel: ArrayViewMut2<f64>,
        mut shares: ArrayViewMut2<f64>,
        row_likelihoods: &mut [f64],
    ) {
        let a = rows.active.len();
        let g = fit.weights.len();
        // Features that were left out have the floor as their variance and no distance from their mean.
        let left_out = (rows.width - a) as f64 * (LOG_2_PI + self.floor.ln());
        let mut constants = Vec::with_capacity(g);
        for c in 0..g {
            let mut sum = left_out + a as f64 * LOG_2_PI;
            for k in 0..a {
                let (m, p) = (fit.means[[c, k]], 1.0 / fit.variances[[c, k]]);
                panel[[c, k]] = m * p;
                panel[[c, a + k]] = -0.5 * p;
                sum += m * m * p;
            }
            sum += log_product(fit.variances.row(c).iter());
            constants.push(fit.weights[c].ln() - 0.5 * sum);
        }
        gemm::sequential(1.0, panel.view(), rows.by_feature.view(), 0.0, shares.view_mut());
        // The log-sum-exp of each row over the components, component by component.
        let mut largest = vec![f64::NEG_INFINITY; rows.len()];
        for (mut logs, constant) in shares.rows_mut().into_iter().zip(constants) {
            Zip::from(&mut logs).and(&mut largest[..]).for_each(|log, largest| {
                *log += constant;
                *largest = largest.max(*log);
            });
        }
        row_likelihoods.fill(0.0);
        for mut logs in shares.rows_mut() {
            Zip::from(&mut logs).and(&largest[..]).and(&mut row_likelihoods[..]).for_each(|log, largest, sum| {
                *log = (*log - largest).exp();
                *sum += *log;
            });
        }
        for mut logs in shares.rows_mut() {
            Zip::from(&mut logs).and(&row_likelihoods[..]).for_each(|share, sum| *share /= sum);
        }
        row_likelihoods.iter_mut().zip(&largest).for_each(|(sum, largest)| *sum = largest + sum.ln());
    }

    /// The M step, from the shares and the weighted sums of the moments. Says whether a component was started again.
    fn maximisation(
        &self,
        rows: &Rows,
        fit: &mut FittedMixture,
        shares: ArrayView2<f64>,
        sums: ArrayView2<f64>,
        start: &Array1<f64>,
        row_likelihoods: &[f64],
    ) -> bool {
        let (n, g, a) = (rows.len(), fit.weights.len(), rows.active.len());
        let mut worst: Option<Vec<usize>> = None;
        let repaired_before = fit.repaired;
        fit.empty = 0;
        let mut tied = vec![0.0; a];
        for c in 0..g {
            let mass = shares.row(c).sum();
            if mass >= EMPTY {
                fit.weights[c] = mass;
                for k in 0..a {
                    let m = sums[[c, k]] / mass;
                    let v = (sums[[c, a + k]] / mass - m * m).max(0.0);
                    fit.means[[c, k]] = m;
                    fit.variances[[c, k]] = v + self.floor;
                    tied[k] += mass * v;
                }
                if self.covariance == Covariance::Spherical {
                    let mean = fit.variances.row(c).sum() / a as f64;
                    fit.variances.row_mut(c).fill(mean);
                }
            } else if fit.repaired < g {
                let order = worst.get_or_insert_with(|| {
                    let mut order: Vec<usize> = (0..n).collect();
                    order.sort_by(|&i, &j| row_likelihoods[i].total_cmp(&row_likelihoods[j]));
                    order
                });
                let row = order[(fit.repaired - repaired_before) % n];
                fit.weights[c] = 1.0;
                fit.means.row_mut(c).assign(&rows.centred().row(row));
                fit.variances.row_mut(c).assign(start);
                fit.repaired += 1;
            } else {
                // The smallest weight that has a logarithm where subnormal numbers are zero.
                fit.weights[c] = f64::MIN_POSITIVE * n as f64;
                fit.empty += 1;
            }
        }
        if self.covariance == Covariance::Tied {
            let shared: Array1<f64> = tied.iter().map(|t| t / n as f64 + self.floor).collect();
            fit.variances.rows_mut().into_iter().for_each(|mut row| row.assign(&shared));
        }
        let total = fit.weights.sum();
        fit.weights.mapv_inplace(|w| (w / total).max(f64::MIN_POSITIVE));
        fit.repaired > repaired_before
    }
}

impl FittedMixture {
    /// The posterior of each component for rows given as their kept features, centred (as [`Rows::centred`]). The
    /// plain formula; [`FittedPck::posteriors`](super::FittedPck::posteriors) is the fast one.
    pub fn posteriors(&self, centred: ArrayView2<f64>) -> Array2<f64> {
        let g = self.weights.len();
        let mut out = Array2::zeros((centred.nrows(), g));
        let mut logs = vec![0.0; g];
        for (row, mut out) in centred.rows().into_iter().zip(out.rows_mut()) {
            for (c, log) in logs.iter_mut().enumerate() {
                let sum = Zip::from(&row)
                    .and(self.means.row(c))
                    .and(self.variances.row(c))
                    .fold(0.0, |sum, x, m, v| sum + v.ln() + (x - m) * (x - m) / v);
                *log = self.weights[c].ln() - 0.5 * sum;
            }
            normalise(&mut logs);
            Zip::from(&mut out).and(&logs).for_each(|out, &share| *out = share);
        }
        out
    }
}

/// The logarithm of the product of positive values. A logarithm is slow, so eight are multiplied first where that stays
/// in range.
fn log_product<'a>(values: impl Iterator<Item = &'a f64>) -> f64 {
    let (mut sum, mut product, mut factors) = (0.0, 1.0f64, 0);
    for &v in values {
        let next = product * v;
        if factors == 8 || !next.is_normal() {
            sum += product.ln();
            (product, factors) = (v, 1);
        } else {
            (product, factors) = (next, factors + 1);
        }
    }
    sum + product.ln()
}

/// Turns logarithms of weighted densities into shares that sum to one. The largest is subtracted first: densities of
/// many features are far outside the range of f64.
pub(super) fn normalise(logs: &mut [f64]) {
    let largest = logs.iter().fold(f64::NEG_INFINITY, |best, v| best.max(*v));
    let mut sum = 0.0;
    for v in logs.iter_mut() {
        *v = (*v - largest).exp();
        sum += *v;
    }
    logs.iter_mut().for_each(|v| *v /= sum);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    fn worst(a: ArrayView2<f64>, b: ArrayView2<f64>) -> f64 {
        assert_eq!(a.dim(), b.dim());
        Zip::from(&a).and(&b).fold(0.0, |worst, a, b| f64::max(worst, (a - b).abs()))
    }

    /// A small uneven cloud: four clusters in five features.
    fn cloud(n: usize, seed: u64) -> Array2<f32> {
        let mut rng = rng::stream(seed, rng::Purpose::Demo, 0, 0);
        Array2::from_shape_fn((n, 5), |(i, k)| ((i * 7 + k * i) % 4) as f32 + rng.random::<f32>() - 0.5)
    }

    #[test]
    fn mixtures_from_the_same_start_agree_with_scikit_learn() {
        let fixture = Fixture::load("mixture");
        let x = fixture.array("x") / 16.0;
        let new = fixture.matrix("new") / 16.0;
        let cases = fixture.parts("cases");
        assert!(cases.len() >= 6);
        for case in cases {
            let covariance: Covariance = case.value("covariance");
            let rows = Rows::new(x.view(), covariance).unwrap();
            let starts: Vec<usize> = case.value("starts");
            let settings = Mixture { covariance, floor: case.value("floor"), ..Mixture::default() };
            let fit = settings.fit(&rows, rows.means_at(&starts).view()).unwrap();
            let name = format!("{covariance:?} {}", starts.len());

            assert_eq!(fit.iterations, case.value::<usize>("iterations"), "{name}");
            assert!(fit.converged, "{name}");
            assert!((fit.log_likelihood - case.value::<f64>("log_likelihood")).abs() < 1e-8, "{name}");
            let weights = Array1::from(case.list("weights")).insert_axis(Axis(0));
            assert!(worst(fit.weights.view().insert_axis(Axis(0)), weights.view()) < 1e-8, "{name} weights");
            let centre = Array1::from(rows.centre().to_vec());
            let means = case.matrix("means").select(Axis(1), rows.active()) - &centre;
            assert!(worst(fit.means.view(), means.view()) < 1e-8, "{name} means");
            let variances = case.matrix("variances");
            let variances = match variances.ncols() {
                1 => variances.broadcast(fit.variances.dim()).unwrap().to_owned(),
                _ => variances.select(Axis(1), rows.active()),
            };
            assert!(worst(fit.variances.view(), variances.view()) < 1e-8, "{name} variances");
            let new = new.select(Axis(1), rows.active()) - &centre;
            let posteriors = fit.posteriors(new.view());
            assert!(worst(posteriors.view(), case.matrix("posteriors").view()) < 1e-7, "{name} posteriors");
        }
    }

    /// Tied variances by the definition, on all features, uncentred, one density at a time.
    #[test]
    fn a_tied_mixture_agrees_with_the_definition() {
        let x = cloud(60, 1);
        let (n, d, g, floor) = (60, 5, 4, 0.05);
        let starts = [3, 10, 21, 40];
        let at = |i: usize, k: usize| f64::from(x[[i, k]]);
        let mut weights = [0.25; 4];
        let mut means: Vec<Vec<f64>> = starts.iter().map(|&i| (0..d).map(|k| at(i, k)).collect()).collect();
        let column_mean = |k| (0..n).map(|i| at(i, k)).sum::<f64>() / n as f64;
        let mut variance: Vec<f64> = (0..d)
            .map(|k| (0..n).map(|i| (at(i, k) - column_mean(k)).powi(2)).sum::<f64>() / n as f64 + floor)
            .collect();
        for _ in 0..7 {
            let mut shares = vec![vec![0.0; g]; n];
            for (i, shares) in shares.iter_mut().enumerate() {
                for c in 0..g {
                    let density = |k: usize| {
                        (-0.5 * (at(i, k) - means[c][k]).powi(2) / variance[k]).exp()
                            / (2.0 * std::f64::consts::PI * variance[k]).sqrt()
                    };
                    shares[c] = weights[c] * (0..d).map(density).product::<f64>();
                }
                let total: f64 = shares.iter().sum();
                shares.iter_mut().for_each(|s| *s /= total);
            }
            let mut pooled = vec![0.0; d];
            for c in 0..g {
                let mass: f64 = shares.iter().map(|s| s[c]).sum();
                weights[c] = mass / n as f64;
                for k in 0..d {
                    means[c][k] = (0..n).map(|i| shares[i][c] * at(i, k)).sum::<f64>() / mass;
                    pooled[k] += (0..n).map(|i| shares[i][c] * (at(i, k) - means[c][k]).powi(2)).sum::<f64>();
                }
            }
            variance = pooled.iter().map(|p| p / n as f64 + floor).collect();
        }

        let rows = Rows::new(x.view(), Covariance::Tied).unwrap();
        let settings = Mixture { covariance: Covariance::Tied, floor, tolerance: 0.0, max_iterations: 7 };
        let fit = settings.fit(&rows, rows.means_at(&starts).view()).unwrap();
        assert_eq!((fit.iterations, fit.converged), (7, false));
        for c in 0..g {
            assert!((fit.weights[c] - weights[c]).abs() < 1e-10);
            for k in 0..d {
                assert!((fit.means[[c, k]] + rows.centre()[k] - means[c][k]).abs() < 1e-10);
                assert!((fit.variances[[c, k]] - variance[k]).abs() < 1e-10);
            }
        }
    }

    #[test]
    fn likelihood_never_falls_and_no_variance_is_below_the_floor() {
        let x = cloud(80, 2);
        // The floor is a penalty that EM does not know of, so it is kept small where monotony is asserted.
        for covariance in [Covariance::Diagonal, Covariance::Spherical, Covariance::Tied] {
            let rows = Rows::new(x.view(), covariance).unwrap();
            let mut before = f64::NEG_INFINITY;
            for max_iterations in 1..12 {
                let settings = Mixture { covariance, floor: 1e-9, tolerance: 0.0, max_iterations };
                let fit = settings.fit(&rows, rows.means_at(&[0, 1, 2, 3]).view()).unwrap();
                assert!(fit.log_likelihood >= before - 1e-6, "{covariance:?}: {} after {before}", fit.log_likelihood);
                assert!(fit.variances.iter().all(|&v| v >= 1e-9));
                before = fit.log_likelihood;
            }
        }
    }

    #[test]
    fn an_empty_component_is_started_again_at_the_worst_row() {
        let mut x = cloud(50, 3);
        x.row_mut(17).fill(40.0);
        let rows = Rows::new(x.view(), Covariance::Diagonal).unwrap();
        let mut means = rows.means_at(&[0, 1, 2]);
        means.row_mut(2).fill(-1e4);
        let one = Mixture { max_iterations: 1, ..Mixture::default() };
        let fit = one.fit(&rows, means.view()).unwrap();
        assert_eq!((fit.repaired, fit.empty), (1, 0));
        assert_eq!(fit.means.row(2), rows.centred().row(17));
        let fit = Mixture::default().fit(&rows, means.view()).unwrap();
        assert!(fit.converged && fit.repaired == 1 && fit.empty == 0);
        assert!((fit.weights[2] - 0.02).abs() < 1e-6, "the far row has a component of its own: {}", fit.weights);
    }

    #[test]
    fn a_component_that_stays_empty_is_counted_and_harmless() {
        // Two tight clusters in sixty features, each with a sharp component of its own: wherever the third is started
        // again, its wide variances leave it hundreds of nats behind, so it is empty again after every repair.
        let mut rng = rng::stream(7, rng::Purpose::Demo, 0, 0);
        let x = Array2::from_shape_fn((40, 60), |(i, _)| (i % 2) as f32 + 0.01 * (rng.random::<f32>() - 0.5));
        let rows = Rows::new(x.view(), Covariance::Diagonal).unwrap();
        let mut means = rows.means_at(&[0, 1, 2]);
        means.row_mut(2).fill(1e4);
        let fit = Mixture { floor: 1e-6, ..Mixture::default() }.fit(&rows, means.view()).unwrap();
        assert_eq!((fit.repaired, fit.empty, fit.converged), (3, 1, true));
        assert!(fit.weights.iter().chain(&fit.means).chain(&fit.variances).all(|v| v.is_finite()));
        assert!((fit.weights.sum() - 1.0).abs() < 1e-12 && fit.weights[2] > 0.0);
        for (i, row) in fit.posteriors(rows.centred()).rows().into_iter().enumerate() {
            assert!((row[i % 2] - 1.0).abs() < 1e-12 && row[2] == 0.0, "{row}");
        }
    }

    #[test]
    fn duplicates_constants_single_features_and_huge_values_stay_finite() {
        let same = Array2::from_elem((20, 3), 0.5f32);
        let single = Array2::from_shape_fn((20, 1), |(i, _)| i as f32);
        let pairs = Array2::from_shape_fn((20, 4), |(i, _)| (i / 10) as f32);
        let huge = cloud(20, 4).mapv(|v| v * 1e30);
        let far = cloud(20, 5).mapv(|v| v + 1e6);
        for x in [same, single, pairs, huge, far] {
            for covariance in [Covariance::Diagonal, Covariance::Spherical, Covariance::Tied] {
                let rows = Rows::new(x.view(), covariance).unwrap();
                let settings = Mixture { covariance, ..Mixture::default() };
                for start in [Start::Random, Start::KMeansPlusPlus] {
                    let drawn = rows.draw(6, start, &mut rng::stream(1, rng::Purpose::Mixture, 0, 6));
                    let fit = settings.fit(&rows, rows.means_at(&drawn).view()).unwrap();
                    assert!(fit.weights.iter().chain(&fit.means).chain(&fit.variances).all(|v| v.is_finite()));
                    assert!(fit.posteriors(rows.centred()).iter().all(|p| (0.0..=1.0).contains(p)));
                }
            }
        }
    }

    #[test]
    fn k_means_plus_plus_starts_in_every_cluster() {
        let x = Array2::from_shape_fn((40, 2), |(i, _)| (i % 4) as f32 * 100.0 + (i / 4) as f32 * 0.01);
        let rows = Rows::new(x.view(), Covariance::Diagonal).unwrap();
        for seed in 0..20 {
            let mut clusters: Vec<usize> = rows
                .draw(4, Start::KMeansPlusPlus, &mut rng::stream(seed, rng::Purpose::Mixture, 0, 0))
                .iter()
                .map(|i| i % 4)
                .collect();
            clusters.sort_unstable();
            assert_eq!(clusters, [0, 1, 2, 3], "seed {seed}");
        }
    }

    #[test]
    fn values_that_are_not_numbers_are_an_error_with_their_place() {
        let mut x = cloud(10, 6);
        x[[4, 2]] = f32::NAN;
        let message = Rows::new(x.view(), Covariance::Diagonal).err().unwrap().to_string();
        assert!(message.contains("row 5, column 3"), "{message}");
    }
}
