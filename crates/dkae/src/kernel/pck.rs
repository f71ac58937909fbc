//! The probabilistic cluster kernel (Izquierdo-Verdiguier et al. 2015).
//!
//! Two rows are similar when mixtures of many sizes and starts put them into the same components:
//!
//! ```text
//! k(x, y) = 1/M sum_{q=1..Q} sum_{g=2..G} pi_q,g(x) . pi_q,g(y)        M = Q (G - 1)
//! ```
//!
//! with `pi_q,g(x)` the posteriors of x under a mixture of `g` components fitted from random start `q`. Mixtures of few
//! components carry the global structure, those of many the local one, so there is no width to choose. They are fitted
//! on one small subset of the rows; any other row has posteriors too.
//!
//! **Posteriors, fast and exact.** Of all rows, all mixtures of one restart together cost one f32 product of the moments
//! `[z, z^2, 1]` with one column per component, relative to a reference component of the same mixture, whose own score
//! is zero and needs no column. Features that are constant in the subset cancel. The error of such a score is below
//! `(K + 4) u` times the norms of moments and column (K terms, u = 2^-24); a component whose score is more than [`REACH`] and twice that
//! error below the best has a posterior of less than `exp(-REACH)` and is dropped. Where one component is left it has
//! the posterior one, and in many dimensions that is most often so; the others are computed again, in f64.
//! docs/method/em.md has the argument in full.

use std::cmp::Ordering;

use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, s};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::math::dispatch::dispatched;
use crate::math::rng::{self, Purpose};
use crate::math::{check, gemm, threads};
use crate::{Error, Result};

use super::mixture::{Covariance, FittedMixture, Mixture, Rows, Start};
use super::posteriors::{CHUNK, Chunk, Entry, Posteriors, SHARED};
use super::{Kernel, Prior};

/// Components this many nats below the best are dropped: together they have less than 1e-5 of a row for G up to 80,
/// one unit of the stored values, and one alone would be rounded to zero.
const REACH: f64 = 16.0;

/// Half the distance between 1 and the next f32.
const ROUND: f64 = 1.0 / 16_777_216.0;

/// The variance floor of the mixtures, which is added to every variance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Floor {
    /// In squared units of the features, as scikit-learn's `reg_covar`.
    Absolute(f64),
    /// As a fraction of the mean variance of the features in the subset: the same kernel whatever units the data are in.
    Relative(f64),
}

/// The settings of the probabilistic cluster kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pck {
    /// Random starts of each size of mixture, Q; 30 by default.
    pub restarts: usize,
    /// Components of the largest mixtures, G: sizes go from 2 to this; 30 by default.
    pub max_components: usize,
    /// Rows that mixtures are fitted on, drawn from the data; 200 by default. All rows if there are fewer.
    pub subset: usize,
    /// The form of the covariances; diagonal by default.
    pub covariance: Covariance,
    /// The variance floor; an absolute 0.01 by default, for features scaled to the unit range or to unit variance. Data
    /// in other units want a relative one: 0.15 of the mean variance is about the same on MNIST.
    pub floor: Floor,
    /// Where means start; at random rows by default.
    pub start: Start,
    /// EM stops when the mean log-likelihood of a row changes by less than this; 0.001 by default.
    pub tolerance: f64,
    /// EM stops after this many iterations in any case; 100 by default.
    pub max_iterations: usize,
    /// Chooses the subset and the starts; 0 by default.
    pub seed: u64,
}

impl Default for Pck {
    fn default() -> Self {
        Self {
            restarts: 30,
            max_components: 30,
            subset: 200,
            covariance: Covariance::Diagonal,
            floor: Floor::Absolute(1e-2),
            start: Start::Random,
            tolerance: 1e-3,
            max_iterations: 100,
            seed: 0,
        }
    }
}

/// How the fits of a [`FittedPck`] went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Mixtures fitted.
    pub mixtures: usize,
    /// Iterations of EM over all of them.
    pub iterations: usize,
    /// Mixtures whose likelihood stopped changing.
    pub converged: usize,
    /// Empty components that were started again.
    pub repaired: usize,
    /// Components that stayed empty.
    pub empty: usize,
}

impl Pck {
    /// Fits all mixtures on a subset of `x`.
    pub fn fit(&self, x: ArrayView2<f32>) -> Result<FittedPck> {
        let n = x.nrows();
        self.check(n)?;
        let mut drawn = rng::sample(&mut rng::stream(self.seed, Purpose::Subset, 0, 0), n, self.subset.min(n));
        drawn.sort_unstable();
        let rows = Rows::new(x.select(Axis(0), &drawn).view(), self.covariance)?;
        let floor = match self.floor {
            Floor::Absolute(floor) => floor,
            // Rows that are all equal have no variance to take a fraction of; any floor gives the same kernel then.
            Floor::Relative(fraction) => fraction * if rows.mean_variance() > 0.0 { rows.mean_variance() } else { 1.0 },
        };
        let settings = Mixture {
            covariance: self.covariance,
            floor,
            tolerance: self.tolerance,
            max_iterations: self.max_iterations,
        };
        // Parameters are kept in units of each feature's spread (of all features' together where they share one
        // variance): products of f32 stay in range whatever units the data are in, and their error bound is tight.
        let scales: Vec<f64> = match self.covariance {
            Covariance::Spherical => vec![(rows.mean_variance() + floor).sqrt(); rows.active().len()],
            _ => rows.variance().iter().map(|v| (v + floor).sqrt()).collect(),
        };
        let sizes = self.max_components - 1;
        let fits: Vec<(Compact, Summary)> = threads::run(|| {
            (0..self.restarts * sizes)
                .into_par_iter()
                .with_max_len(1)
                .map(|i| {
                    let (q, g) = (i / sizes + 1, i % sizes + 2);
                    let mut rng = rng::stream(self.seed, Purpose::Mixture, q as u64, g as u64);
                    let starts = rows.draw(g, self.start, &mut rng);
                    let fit = settings.fit(&rows, rows.means_at(&starts).view())?;
                    let summary = Summary {
                        mixtures: 1,
                        iterations: fit.iterations,
                        converged: usize::from(fit.converged),
                        repaired: fit.repaired,
                        empty: fit.empty,
                    };
                    Ok((Compact::new(&fit, &scales), summary))
                })
                .collect::<Result<_>>()
        })?;
        let mut summary = Summary::default();
        let mut mixtures = Vec::with_capacity(fits.len());
        for (mixture, fit) in fits {
            summary.mixtures += fit.mixtures;
            summary.iterations += fit.iterations;
            summary.converged += fit.converged;
            summary.repaired += fit.repaired;
            summary.empty += fit.empty;
            mixtures.push(mixture);
        }
        Ok(FittedPck {
            settings: self.clone(),
            width: x.ncols(),
            active: rows.active().to_vec(),
            centre: rows.centre().to_vec(),
            units: scales.iter().map(|s| 1.0 / s).collect(),
            mixtures,
            summary,
        })
    }

    fn check(&self, n: usize) -> Result<()> {
        let Self { restarts, max_components: g, subset, .. } = *self;
        if restarts == 0 {
            return Err(Error::setting("restarts", "must be at least 1, got 0"));
        }
        if !(2..1 << 15).contains(&g) {
            return Err(Error::setting("max_components", format!("must be from 2 to 32767, got {g}")));
        }
        if g > subset {
            return Err(Error::setting(
                "max_components",
                format!(
                    "{g} components cannot start at different rows of a subset of {subset}; raise subset or lower max_components"
                ),
            ));
        }
        if g > n {
            return Err(Error::Data(format!(
                "mixtures of up to {g} components need at least {g} rows, but there are {n}; lower max_components or bring more rows"
            )));
        }
        let mixtures = restarts.saturating_mul(g - 1);
        if mixtures > 65_535 {
            return Err(Error::setting(
                "restarts",
                format!("gives {mixtures} mixtures in all; at most 65535 can be kept"),
            ));
        }
        let (Floor::Absolute(floor) | Floor::Relative(floor)) = self.floor;
        if !(1e-30..=1e30).contains(&floor) {
            return Err(Error::setting(
                "floor",
                format!("must be a positive number (0.01 suits features from 0 to 1), got {floor}"),
            ));
        }
        if !(self.tolerance >= 0.0 && self.tolerance.is_finite()) {
            return Err(Error::setting("tolerance", format!("must be zero or positive, got {}", self.tolerance)));
        }
        if self.max_iterations == 0 {
            return Err(Error::setting("max_iterations", "must be at least 1, got 0"));
        }
        Ok(())
    }

    /// One line: the kernel and its settings.
    pub fn describe(&self) -> String {
        let floor = match self.floor {
            Floor::Absolute(floor) => format!("{floor}"),
            Floor::Relative(fraction) => format!("{fraction} of the mean variance"),
        };
        format!(
            "probabilistic cluster kernel: Q {}, G {}, fitted on {} rows, {} covariance, floor {floor}, {} starts, seed {}",
            self.restarts,
            self.max_components,
            self.subset,
            match self.covariance {
                Covariance::Diagonal => "diagonal",
                Covariance::Spherical => "spherical",
                Covariance::Tied => "tied",
            },
            match self.start {
                Start::Random => "random",
                Start::KMeansPlusPlus => "k-means++",
            },
            self.seed
        )
    }
}

/// A mixture as it is kept: f32, in the units of [`FittedPck::units`]. The mixture *is* what these rounded numbers say;
/// everything later is exact for them.
struct Compact {
    /// `log w_c + 1/2 sum_k log p_ck`: what a component's log-density is at its mean, but for a constant of the mixture.
    peaks: Vec<f64>,
    /// For each component its means, then its precisions.
    parameters: Vec<f32>,
}

impl Compact {
    fn new(fit: &FittedMixture, scales: &[f64]) -> Self {
        let (g, a) = fit.means.dim();
        let mut parameters = Vec::with_capacity(2 * g * a);
        let mut peaks = Vec::with_capacity(g);
        for c in 0..g {
            parameters.extend((0..a).map(|k| (fit.means[[c, k]] / scales[k]) as f32));
            // A variance of less than 1e-30 of the feature's own would have no f32 precision.
            parameters.extend((0..a).map(|k| (scales[k] * scales[k] / fit.variances[[c, k]]).min(1e30) as f32));
            let precisions = &parameters[parameters.len() - a..];
            peaks.push(fit.weights[c].ln() + 0.5 * precisions.iter().map(|&p| f64::from(p).ln()).sum::<f64>());
        }
        Self { peaks, parameters }
    }

    fn components(&self) -> usize {
        self.peaks.len()
    }

    /// The means and the precisions of a component.
    #[inline(always)]
    fn component(&self, c: usize) -> (&[f32], &[f32]) {
        let a = self.parameters.len() / self.peaks.len() / 2;
        self.parameters[2 * a * c..2 * a * (c + 1)].split_at(a)
    }

    /// The log-density of a row under a component, weight included, but for a constant of the mixture and the row.
    #[inline(always)]
    fn log_density(&self, c: usize, z: &[f64], squares: bool) -> f64 {
        let (m, p) = self.component(c);
        // With one shared variance z^2 p is the same for all components: without it rows far away keep their digits.
        self.peaks[c]
            + if squares {
                sum_terms(z, m, p, |z, m, p| -0.5 * (z - m) * (z - m) * p)
            } else {
                sum_terms(z, m, p, |z, m, p| (z - 0.5 * m) * m * p)
            }
    }
}

/// The sum of a term over the features, in f64: several sums side by side, for the compiler to keep in a few vectors, so
/// that no addition waits for the one before.
#[inline(always)]
fn sum_terms(z: &[f64], m: &[f32], p: &[f32], term: impl Fn(f64, f64, f64) -> f64) -> f64 {
    const LANES: usize = 32;
    let mut sums = [0.0; LANES];
    let whole = z.len() / LANES * LANES;
    for ((z, m), p) in z.chunks_exact(LANES).zip(m.chunks_exact(LANES)).zip(p.chunks_exact(LANES)) {
        for l in 0..LANES {
            sums[l] += term(z[l], f64::from(m[l]), f64::from(p[l]));
        }
    }
    let rest = z[whole..].iter().zip(&m[whole..]).zip(&p[whole..]);
    sums.iter().sum::<f64>() + rest.map(|((&z, &m), &p)| term(z, f64::from(m), f64::from(p))).sum::<f64>()
}

/// The mixtures of a probabilistic cluster kernel.
pub struct FittedPck {
    settings: Pck,
    width: usize,
    /// Features that vary in the subset; the others add the same to every component.
    active: Vec<usize>,
    centre: Vec<f64>,
    /// What a centred feature is multiplied by to be in units of its spread in the subset.
    units: Vec<f64>,
    /// By restart, then by size.
    mixtures: Vec<Compact>,
    summary: Summary,
}

/// Panels of several restarts are kept at a time, up to this many bytes.
const PANEL_BYTES: usize = 64 << 20;

/// The columns of all mixtures of one restart, for one product: the linear part of each log-density less that of a
/// reference component of the same mixture.
struct Panel<'a> {
    /// The number of the first mixture.
    first: usize,
    mixtures: &'a [Compact],
    /// The reference component of each mixture, and the largest norm in its columns of each of the three parts.
    references: Vec<(usize, [f64; 3])>,
    /// One row per column of the product: the terms of a component are next to each other.
    columns: Array2<f32>,
}

impl FittedPck {
    /// How the fits went.
    pub fn summary(&self) -> Summary {
        self.summary
    }

    /// The settings it was fitted with.
    pub fn settings(&self) -> &Pck {
        &self.settings
    }

    /// How many features a row must have.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The posteriors of any rows.
    pub fn posteriors(&self, x: ArrayView2<f32>) -> Result<Posteriors> {
        check::width("rows for a kernel", x, self.width)?;
        check::finite("rows for a kernel", x)?;
        let sizes = self.settings.max_components - 1;
        let mut chunks: Vec<Chunk> = Vec::new();
        chunks.resize_with(x.nrows().div_ceil(CHUNK), Chunk::default);
        let bytes = 4 * (2 * self.active.len() + 1) * sizes * self.settings.max_components / 2;
        let together = (PANEL_BYTES / bytes.max(1)).max(1);
        threads::run(|| {
            for (i, restarts) in self.mixtures.chunks(sizes * together).enumerate() {
                let first = |q: usize| (i * together + q) * sizes;
                let panels: Vec<Panel> =
                    restarts.par_chunks(sizes).enumerate().map(|(q, m)| self.panel(first(q), m)).collect();
                chunks.par_iter_mut().zip(x.axis_chunks_iter(Axis(0), CHUNK).into_par_iter()).for_each(|(chunk, x)| {
                    let mut parts = vec![std::mem::take(chunk)];
                    parts.extend(self.parts(x, &panels));
                    *chunk = merge(x.nrows(), parts);
                });
            }
        });
        Ok(Posteriors::new(self.mixtures.iter().map(Compact::components), chunks))
    }

    /// Whether the squares of features tell components apart; with one shared variance they cancel.
    fn has_squares(&self) -> bool {
        self.settings.covariance != Covariance::Tied
    }

    fn panel<'a>(&self, first: usize, mixtures: &'a [Compact]) -> Panel<'a> {
        let a = self.active.len();
        let squares = if self.has_squares() { a } else { 0 };
        let mut columns = Array2::zeros((mixtures.iter().map(|m| m.components() - 1).sum(), a + squares + 1));
        let mut references = Vec::with_capacity(mixtures.len());
        let mut j = 0;
        for mixture in mixtures {
            // The sharpest component is the worst to be compared with: take the one of the lowest peak.
            let reference = (0..mixture.components())
                .min_by(|&b, &c| mixture.peaks[b].total_cmp(&mixture.peaks[c]))
                .unwrap_or_default();
            let mut largest = [0.0f64; 3];
            for c in (0..mixture.components()).filter(|&c| c != reference) {
                let ((m, p), (m0, p0)) = (mixture.component(c), mixture.component(reference));
                let mut constant = mixture.peaks[c] - mixture.peaks[reference];
                for k in 0..a {
                    let [m, p, m0, p0] = [m[k], p[k], m0[k], p0[k]].map(f64::from);
                    columns[[j, k]] = (m * p - m0 * p0) as f32;
                    if squares > 0 {
                        columns[[j, a + k]] = (-0.5 * (p - p0)) as f32;
                    }
                    constant -= 0.5 * (m * m * p - m0 * m0 * p0);
                }
                columns[[j, a + squares]] = constant as f32;
                for (largest, part) in largest.iter_mut().zip([0..a, a..a + squares, a + squares..a + squares + 1]) {
                    *largest = largest.max(norm(columns.slice(s![j, part]).iter()));
                }
                j += 1;
            }
            references.push((reference, largest));
        }
        Panel { first, mixtures, references, columns }
    }

    /// The posteriors of the rows of a chunk under the mixtures of each panel.
    fn parts(&self, x: ArrayView2<f32>, panels: &[Panel]) -> Vec<Chunk> {
        let (n, a) = (x.nrows(), self.active.len());
        let squares = if self.has_squares() { a } else { 0 };
        let terms = a + squares + 1;
        let mut z = Array2::zeros((n, a));
        // One column per row of data, so that the product has the rows of data next to each other in factor and result.
        let mut moments = Array2::from_elem((terms, n), 1.0f32);
        let mut norms = vec![[0.0, 0.0, 1.0]; n];
        for (j, &k) in self.active.iter().enumerate() {
            for (i, &x) in x.column(k).iter().enumerate() {
                let value = (f64::from(x) - self.centre[j]) * self.units[j];
                z[[i, j]] = value;
                moments[[j, i]] = value as f32;
                norms[i][0] += value * value;
                if squares > 0 {
                    moments[[a + j, i]] = (value * value) as f32;
                    norms[i][1] += value.powi(4);
                }
            }
        }
        // The rounding of a sum of products in any order, of the factors themselves, and a little for second order.
        let rounding = (terms + 4) as f64 * ROUND * 1.01;
        let errors: Vec<[f64; 3]> = norms.iter().map(|norms| norms.map(|squared| rounding * squared.sqrt())).collect();
        let widest = panels.iter().map(|p| p.columns.nrows()).max().unwrap_or(0);
        let mut scores = Array2::zeros((widest, n));
        panels
            .iter()
            .map(|panel| {
                let mut scores = scores.slice_mut(s![..panel.columns.nrows(), ..]);
                gemm::sequential(1.0, panel.columns.view(), moments.view(), 0.0, scores.view_mut());
                screen(Screening { panel, scores: scores.view(), z: z.view(), errors: &errors, squares: squares > 0 })
            })
            .collect()
    }
}

/// From the scores of a chunk to its entries.
struct Screening<'a> {
    panel: &'a Panel<'a>,
    /// One row per column of the panel, one column per row of data.
    scores: ArrayView2<'a, f32>,
    z: ArrayView2<'a, f64>,
    /// For each row of data the error of a score by the norms of the parts of its column.
    errors: &'a [[f64; 3]],
    /// Whether the squares of features tell components apart.
    squares: bool,
}

dispatched! {
    /// The posteriors of a chunk under the mixtures of a panel.
    fn screen(work: Screening) -> Chunk {
        screen_body(work)
    }
}

#[inline(always)]
fn screen_body(work: Screening) -> Chunk {
    let Screening { panel, scores, z, errors, squares } = work;
    let (n, mixtures) = (errors.len(), panel.mixtures.len());
    let scores = scores.as_slice().expect("a whole part of a matrix in standard layout");
    let z = z.as_slice().expect("a matrix in standard layout");
    let a = z.len() / n;
    let mut owners = vec![0u16; mixtures * n];
    let mut least = vec![0.0f32; n];
    let mut kept = vec![0u16; n];
    let mut best = vec![0.0f32; n];
    let (mut logs, mut entries, mut lists) = (Vec::new(), Vec::new(), Vec::new());
    let mut first = 0;
    for (m, mixture) in panel.mixtures.iter().enumerate() {
        let (reference, norms) = panel.references[m];
        let owners = &mut owners[m * n..][..n];
        // The reference's own score is 0.
        best.fill(0.0);
        owners.fill(reference as u16);
        let columns = || scores[first * n..].chunks_exact(n).take(mixture.components() - 1).enumerate();
        for (j, scores) in columns() {
            let component = (j + usize::from(j >= reference)) as u16;
            for ((&score, best), owner) in scores.iter().zip(&mut best).zip(&mut *owners) {
                *owner = if score > *best { component } else { *owner };
                *best = if score > *best { score } else { *best };
            }
        }
        for ((least, &best), errors) in least.iter_mut().zip(&best).zip(errors) {
            let error = errors[0] * norms[0] + errors[1] * norms[1] + errors[2] * norms[2];
            // Where the error is so large that scores may have overflowed, this is an infinity or not a number,
            // and no score is less.
            *least = best - if error < 1e30 { (REACH + 2.0 * error) as f32 } else { f32::INFINITY };
        }
        kept.iter_mut().zip(&least).for_each(|(kept, &least)| *kept = u16::from(!is_out(0.0, least)));
        for (_, scores) in columns() {
            for ((&score, kept), &least) in scores.iter().zip(&mut kept).zip(&least) {
                *kept += u16::from(!is_out(score, least));
            }
        }
        // Mixture by mixture, so that its parameters stay in cache.
        for (i, owner) in owners.iter_mut().enumerate().filter(|(i, _)| kept[*i] > 1) {
            logs.clear();
            for c in 0..mixture.components() {
                let score = match c.cmp(&reference) {
                    Ordering::Less => scores[(first + c) * n + i],
                    Ordering::Equal => 0.0,
                    Ordering::Greater => scores[(first + c - 1) * n + i],
                };
                if !is_out(score, least[i]) {
                    logs.push((c, mixture.log_density(c, &z[i * a..(i + 1) * a], squares)));
                }
            }
            let begin = entries.len();
            *owner = push_shares(panel.first + m, &mut logs, &mut entries);
            if *owner == SHARED {
                lists.push((i as u32, begin as u32..entries.len() as u32));
            }
        }
        first += mixture.components() - 1;
    }

    // From mixture by mixture to row by row; the sort is stable, so mixtures stay in order.
    lists.sort_by_key(|(i, _)| *i);
    let mut part = Chunk {
        owners: Vec::with_capacity(n * mixtures),
        entries: Vec::with_capacity(entries.len()),
        ends: Vec::with_capacity(n),
    };
    let mut lists = lists.into_iter().peekable();
    for i in 0..n {
        part.owners.extend((0..mixtures).map(|m| owners[m * n + i]));
        while let Some((_, list)) = lists.next_if(|(row, _)| *row as usize == i) {
            part.entries.extend_from_slice(&entries[list.start as usize..list.end as usize]);
        }
        part.ends.push(part.entries.len() as u32);
    }
    part
}

/// Whether a score is surely too low. Not so where either is not a number.
#[inline(always)]
fn is_out(score: f32, least: f32) -> bool {
    score < least
}

/// Turns log-densities of some components of a mixture into entries, those that round to zero left out, and returns
/// [`SHARED`]; or returns the one component that is left.
fn push_shares(mixture: usize, logs: &mut [(usize, f64)], entries: &mut Vec<Entry>) -> u16 {
    let largest = logs.iter().fold(f64::NEG_INFINITY, |best, (_, log)| best.max(*log));
    let mut sum = 0.0;
    for (_, log) in logs.iter_mut() {
        *log = (*log - largest).exp();
        sum += *log;
    }
    let head = entries.len();
    entries.push(Entry::default());
    let mut owner = 0;
    for &(c, share) in logs.iter() {
        // At least one share of at most 32 767 does not round to zero.
        let value = (share / sum * Entry::ONE).round() as u16;
        if value > 0 {
            entries.push(Entry::new(c, value));
            owner = c as u16;
        }
    }
    let shares = entries.len() - head - 1;
    if shares > 1 {
        entries[head] = Entry::new(mixture, shares as u16);
        return SHARED;
    }
    entries.truncate(head);
    owner
}

fn norm<'a>(values: impl Iterator<Item = &'a f32>) -> f64 {
    values.map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt()
}

/// Joins posteriors of the same rows under different mixtures: each row from the first part, then from the next.
fn merge(rows: usize, parts: Vec<Chunk>) -> Chunk {
    let parts: Vec<Chunk> = parts.into_iter().filter(|p| !p.ends.is_empty()).collect();
    let mut whole = Chunk {
        owners: Vec::with_capacity(parts.iter().map(|p| p.owners.len()).sum()),
        entries: Vec::with_capacity(parts.iter().map(|p| p.entries.len()).sum()),
        ends: Vec::with_capacity(rows),
    };
    for i in 0..rows {
        for part in &parts {
            let mixtures = part.owners.len() / rows;
            whole.owners.extend_from_slice(&part.owners[i * mixtures..(i + 1) * mixtures]);
            let begin = if i == 0 { 0 } else { part.ends[i - 1] };
            whole.entries.extend_from_slice(&part.entries[begin as usize..part.ends[i] as usize]);
        }
        whole.ends.push(whole.entries.len() as u32);
    }
    whole
}

impl Kernel for FittedPck {
    fn prior<'a>(&'a self, x: ArrayView2<'a, f32>) -> Result<Box<dyn Prior + 'a>> {
        Ok(Box::new(self.posteriors(x)?))
    }

    fn between(&self, a: ArrayView2<f32>, b: ArrayView2<f32>, out: ArrayViewMut2<f32>) -> Result<()> {
        let (a, b) = (self.posteriors(a)?, self.posteriors(b)?);
        let (rows, columns): (Vec<usize>, Vec<usize>) = ((0..a.len()).collect(), (0..b.len()).collect());
        a.between(&rows, &b, &columns, out);
        Ok(())
    }

    fn describe(&self) -> String {
        self.settings.describe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use crate::kernel::analytic::tests::random;
    use ndarray::concatenate;
    use proptest::prelude::*;

    /// 180 handwritten digits of 64 features from 0 to 1 (UCI optdigits), kept for the tests of mixtures.
    fn digits() -> Array2<f32> {
        let fixture = Fixture::load("mixture");
        concatenate![Axis(0), fixture.array("x"), fixture.array("new")] / 16.0
    }

    /// Posteriors of `of` by the plain formula, from mixtures fitted on `x` once more: rows x columns of F.
    fn naive(settings: &Pck, x: ArrayView2<f32>, of: ArrayView2<f32>) -> Array2<f64> {
        let mut drawn = rng::sample(
            &mut rng::stream(settings.seed, Purpose::Subset, 0, 0),
            x.nrows(),
            settings.subset.min(x.nrows()),
        );
        drawn.sort_unstable();
        let rows = Rows::new(x.select(Axis(0), &drawn).view(), settings.covariance).unwrap();
        let (Floor::Absolute(floor) | Floor::Relative(floor)) = settings.floor;
        let mixture = Mixture { covariance: settings.covariance, floor, ..Mixture::default() };
        let centred =
            of.mapv(f64::from).select(Axis(1), rows.active()) - &ndarray::Array1::from(rows.centre().to_vec());
        let mut f = Array2::zeros((of.nrows(), 0));
        for q in 1..=settings.restarts {
            for g in 2..=settings.max_components {
                let mut rng = rng::stream(settings.seed, Purpose::Mixture, q as u64, g as u64);
                let starts = rows.draw(g, settings.start, &mut rng);
                let fit = mixture.fit(&rows, rows.means_at(&starts).view()).unwrap();
                f = concatenate![Axis(1), f, fit.posteriors(centred.view())];
            }
        }
        f
    }

    fn dense(posteriors: &Posteriors) -> Array2<f64> {
        let mut f = Array2::zeros((posteriors.len(), posteriors.columns()));
        for i in 0..posteriors.len() {
            posteriors.row(i).for_each(|(column, value)| f[[i, column]] = f64::from(value));
        }
        f
    }

    fn worst(a: &Array2<f64>, b: &Array2<f64>) -> f64 {
        assert_eq!(a.dim(), b.dim());
        (a - b).iter().fold(0.0, |worst, d| f64::max(worst, d.abs()))
    }

    fn small() -> Pck {
        Pck { restarts: 3, max_components: 12, subset: 100, seed: 5, ..Pck::default() }
    }

    #[test]
    fn posteriors_are_those_of_the_plain_formula() {
        let x = digits();
        // Two more rows, far outside of what the mixtures have seen.
        let mut rows = concatenate![Axis(0), x, x.slice(s![..2, ..])];
        rows.row_mut(180).fill(1e4);
        rows.row_mut(181).fill(-1e30);
        // Soft posteriors (large floor) and nearly certain ones (small floor).
        for covariance in [Covariance::Diagonal, Covariance::Spherical, Covariance::Tied] {
            for floor in [1.0, 1e-2, 1e-4] {
                let settings = Pck { covariance, floor: Floor::Absolute(floor), ..small() };
                let got = dense(&settings.fit(x.view()).unwrap().posteriors(rows.view()).unwrap());
                let mut want = naive(&settings, x.view(), rows.view());
                if covariance == Covariance::Tied {
                    // The plain formula has no digits left there: squares of 1e30 hide what tells components apart.
                    assert!(got.row(181).iter().all(|&p| p == 0.0 || p == 1.0));
                    want.row_mut(181).assign(&got.row(181));
                }
                let difference = worst(&got, &want);
                assert!(difference < 2e-5, "{covariance:?}, floor {floor}: {difference}");
            }
        }
    }

    #[test]
    fn k_means_plus_plus_starts_work_too() {
        let (x, settings) = (digits(), Pck { start: Start::KMeansPlusPlus, ..small() });
        let posteriors = settings.fit(x.view()).unwrap().posteriors(x.view()).unwrap();
        assert!(worst(&dense(&posteriors), &naive(&settings, x.view(), x.view())) < 2e-5);
        assert!(worst(&dense(&posteriors), &naive(&small(), x.view(), x.view())) > 0.5);
    }

    #[test]
    fn a_relative_floor_makes_the_units_of_the_data_irrelevant() {
        let x = digits();
        let settings = Pck { floor: Floor::Relative(0.15), ..small() };
        let f = |scale: f32| {
            let x = x.mapv(|v| v * scale);
            dense(&settings.fit(x.view()).unwrap().posteriors(x.view()).unwrap())
        };
        // The tolerance of EM is on the log-likelihood, which a change of units shifts but does not stretch.
        assert!(worst(&f(1.0), &f(1024.0)) < 2e-5);
    }

    #[test]
    fn blocks_are_sums_of_products_of_posteriors() {
        let x = digits();
        // Few features and a large floor make soft posteriors, for the dense path; the digits take the other one.
        for (x, floor) in [(x.clone(), 1e-2), (random(700, 2, 8), 1.0)] {
            let pck = Pck { floor: Floor::Absolute(floor), ..small() }.fit(x.view()).unwrap();
            let posteriors = pck.posteriors(x.view()).unwrap();
            let f = dense(&posteriors) / (posteriors.mixtures() as f64).sqrt();
            let rows: Vec<usize> = (0..300).map(|i| i * 7 % x.nrows()).collect();
            let columns: Vec<usize> = (0..601).map(|i| (i * 11 + 3) % x.nrows()).collect();
            let want = f.select(Axis(0), &rows).dot(&f.select(Axis(0), &columns).t());
            let mut block = Array2::from_elem((300, 601), f32::NAN);
            posteriors.block(&rows, &columns, block.view_mut());
            assert!(worst(&block.mapv(f64::from), &want) < 1e-6);
            // The same into memory of another order, and as a kernel between rows.
            let mut turned = Array2::from_elem((601, 300), f32::NAN);
            posteriors.block(&rows, &columns, turned.view_mut().reversed_axes());
            assert_eq!(turned.t(), block);
            let (a, b) = (x.select(Axis(0), &rows), x.select(Axis(0), &columns));
            pck.between(a.view(), b.view(), turned.view_mut().reversed_axes()).unwrap();
            assert_eq!(turned.t(), block);
        }
    }

    #[test]
    fn products_with_the_factor_are_those_of_the_dense_matrix() {
        let x = digits();
        let posteriors = small().fit(x.view()).unwrap().posteriors(x.view()).unwrap();
        let f = dense(&posteriors) / (posteriors.mixtures() as f64).sqrt();
        let (v, w) = (random(180, 11, 1).mapv(f64::from), random(posteriors.columns(), 11, 2).mapv(f64::from));
        assert!(worst(&posteriors.times(w.view()), &f.dot(&w)) < 1e-9);
        assert!(worst(&posteriors.transpose_times(v.view()), &f.t().dot(&v)) < 1e-9);
        let (begins, columns, values) = posteriors.to_csr();
        let mut csr = Array2::zeros(f.dim());
        for i in 0..180 {
            for k in begins[i] as usize..begins[i + 1] as usize {
                csr[[i, columns[k] as usize]] = f64::from(values[k]);
            }
        }
        assert!(worst(&csr, &f) < 1e-7);
        assert_eq!((columns.len(), values.len()), (posteriors.non_zeros(), posteriors.non_zeros()));
    }

    #[test]
    fn one_thread_and_many_give_the_same_bits() {
        let x = digits();
        let run = |threads| {
            threads::with_count(threads, || {
                let pck = small().fit(x.view()).unwrap();
                let posteriors = pck.posteriors(x.view()).unwrap();
                let rows: Vec<usize> = (0..180).collect();
                let mut p = Array2::zeros((180, 180));
                posteriors.block(&rows, &rows, p.view_mut());
                let product = posteriors.transpose_times(x.mapv(f64::from).view());
                (pck.summary(), posteriors.to_csr(), p, product)
            })
        };
        assert_eq!(run(1), run(3));
    }

    #[test]
    fn rows_and_their_chunks_do_not_depend_on_each_other() {
        let x = random(1200, 9, 4);
        let pck = small().fit(x.view()).unwrap();
        let all = dense(&pck.posteriors(x.view()).unwrap());
        let part = dense(&pck.posteriors(x.slice(s![500..530, ..])).unwrap());
        assert_eq!(all.slice(s![500..530, ..]), part);
        assert_eq!(pck.posteriors(x.slice(s![..0, ..])).unwrap().len(), 0);
    }

    #[test]
    fn more_restarts_than_panels_fit_in_memory_change_nothing() {
        // The panels of wide rows are made for a few restarts at a time.
        let x = random(40, 6000, 5);
        let settings = Pck { restarts: 13, max_components: 20, subset: 40, max_iterations: 2, ..Pck::default() };
        let one_panel = 4 * (2 * 6000 + 1) * 19 * 10;
        assert!(13 * one_panel > PANEL_BYTES);
        let pck = settings.fit(x.view()).unwrap();
        let f = dense(&pck.posteriors(x.view()).unwrap());
        for (m, first) in (0..13 * 19).map(|i| (i, i / 19 * 209 + (2..2 + i % 19).sum::<usize>())) {
            let g = m % 19 + 2;
            for row in f.slice(s![.., first..first + g]).rows() {
                assert!((row.sum() - 1.0).abs() < 20.0 / 65535.0, "mixture {m}");
            }
        }
    }

    #[test]
    fn odd_data_make_a_kernel_all_the_same() {
        let same = Array2::from_elem((20, 3), 0.5f32);
        let single = Array2::from_shape_fn((20, 1), |(i, _)| i as f32);
        let pairs = Array2::from_shape_fn((20, 4), |(i, _)| (i / 10) as f32);
        let huge = random(20, 5, 4).mapv(|v| v * 1e30);
        let tiny = random(20, 5, 4).mapv(|v| v * 1e-30);
        for x in [same, single, pairs, huge, tiny] {
            for covariance in [Covariance::Diagonal, Covariance::Spherical, Covariance::Tied] {
                for floor in [Floor::Absolute(1e-2), Floor::Relative(0.1)] {
                    let settings = Pck { restarts: 2, max_components: 6, covariance, floor, ..Pck::default() };
                    let pck = settings.fit(x.view()).unwrap();
                    assert_eq!(pck.summary().mixtures, 10);
                    let rows: Vec<usize> = (0..20).collect();
                    let mut p = Array2::from_elem((20, 20), f32::NAN);
                    pck.prior(x.view()).unwrap().block(&rows, &rows, p.view_mut());
                    assert!(p.iter().all(|v| (0.0..=1.000_01).contains(v)));
                    assert!(p.diag().iter().all(|&v| v > 0.16));
                }
            }
        }
    }

    #[test]
    fn settings_and_data_that_make_no_sense_are_errors() {
        let x = random(30, 3, 1);
        let good = Pck { restarts: 2, max_components: 5, ..Pck::default() };
        for (bad, name) in [
            (Pck { restarts: 0, ..good.clone() }, "restarts"),
            (Pck { restarts: 50_000, ..good.clone() }, "restarts"),
            (Pck { max_components: 1, ..good.clone() }, "max_components"),
            (Pck { max_components: 40_000, subset: 50_000, ..good.clone() }, "max_components"),
            (Pck { max_components: 20, subset: 19, ..good.clone() }, "max_components"),
            (Pck { floor: Floor::Absolute(0.0), ..good.clone() }, "floor"),
            (Pck { floor: Floor::Relative(f64::NAN), ..good.clone() }, "floor"),
            (Pck { tolerance: -1.0, ..good.clone() }, "tolerance"),
            (Pck { max_iterations: 0, ..good.clone() }, "max_iterations"),
        ] {
            let message = bad.fit(x.view()).err().unwrap().to_string();
            assert!(message.starts_with(name), "{message}");
        }
        let message = Pck { max_components: 31, ..good.clone() }.fit(x.view()).err().unwrap().to_string();
        assert!(message.contains("31") && message.contains("30"), "{message}");
        let pck = good.fit(x.view()).unwrap();
        assert!(pck.posteriors(random(4, 2, 1).view()).is_err());
        let mut x = random(4, 3, 1);
        x[[1, 2]] = f32::NAN;
        assert!(pck.posteriors(x.view()).err().unwrap().to_string().contains("row 2, column 3"));
        assert!(good.fit(random(30, 3, 1).mapv(|_| f32::NAN).view()).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn p_is_symmetric_and_positive_semi_definite(seed in 0u64..1000, features in 1usize..20, floor in 1e-4..1.0f64) {
            let x = random(40, features, seed);
            let settings = Pck { restarts: 2, max_components: 6, floor: Floor::Absolute(floor), seed, ..Pck::default() };
            let posteriors = settings.fit(x.view()).unwrap().posteriors(x.view()).unwrap();
            let rows: Vec<usize> = (0..40).collect();
            let mut p = Array2::zeros((40, 40));
            posteriors.block(&rows, &rows, p.view_mut());
            prop_assert!((&p - &p.t()).iter().all(|d| d.abs() < 1e-6));
            let values = crate::math::eigen::symmetric(p.mapv(f64::from).view()).unwrap().0;
            prop_assert!(values[39] > -1e-5, "smallest eigenvalue {}", values[39]);
            prop_assert!(p.diag().iter().all(|&v| v > 0.0 && v < 1.0 + 1e-5));
        }
    }
}
