//! Posteriors under many mixtures, fast and exact.
//!
//! All mixtures of one restart together cost one f32 product of the moments `[z, z^2, 1]` of all rows with one column per
//! component, relative to a reference component of the same mixture, whose own score is zero and needs no column.
//! Features that are constant in the subset cancel. The others are counted from their median there: any origin near the data is right, and where most
//! rows share a value, as pictures and counts share zero, most moments are zero from there, and the product skips them. The error
//! of such a score is below
//!
//! ```text
//! (K + 4) u |moments| |column|        K terms, u = 2^-24
//! ```
//!
//! A component whose score is more than [`REACH`] and twice that error below the best has a posterior of less than
//! `exp(-REACH)` and is dropped. Where one component is left it has the posterior one, and in many dimensions that is most
//! often so; the others are computed again, in f64. docs/method/em.md has the argument in full.

use std::cmp::Ordering;

use ndarray::{Array2, ArrayView2, Axis, s};
use rayon::prelude::*;

use crate::Result;
use crate::math::dispatch::dispatched;
use crate::math::factor::Factor;
use crate::math::sparse::{Nonzeros, Pass};
use crate::math::turn::turn;
use crate::math::{gemm, panels, threads};
use crate::progress::{Pieces, Progress};

use super::mixture::FittedMixture;
use super::posteriors::{CHUNK, Chunk, Entry, Posteriors, SHARED};

/// Components this many nats below the best are dropped: together they have less than 1e-5 of a row for G up to 80,
/// one unit of the stored values, and one alone would be rounded to zero.
const REACH: f64 = 16.0;

/// Half the distance between 1 and the next f32.
const ROUND: f64 = 1.0 / 16_777_216.0;

/// A mixture as it is kept: f32, in the units of [`Screen::units`]. The mixture *is* what these rounded numbers say;
/// everything later is exact for them.
pub(super) struct Compact {
    /// `log w_c + 1/2 sum_k log p_ck`: what a component's log-density is at its mean, but for a constant of the mixture.
    peaks: Vec<f64>,
    /// For each component its means, then its precisions.
    parameters: Vec<f32>,
}

impl Compact {
    pub(super) fn new(fit: &FittedMixture, scales: &[f64]) -> Self {
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

    pub(super) fn components(&self) -> usize {
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

/// Panels of several restarts are kept at a time, up to this many bytes.
const PANEL_BYTES: usize = 64 << 20;

/// All mixtures of a kernel, and what brings a row into their units.
pub(super) struct Screen {
    /// Whether the squares of features tell components apart; with one shared variance they cancel.
    pub(super) squares: bool,
    /// Features that vary in the subset; the others add the same to every component.
    pub(super) active: Vec<usize>,
    /// The mean of each of these.
    pub(super) centre: Vec<f64>,
    /// What a centred feature is multiplied by to be in units of its spread in the subset.
    pub(super) units: Vec<f64>,
    /// The median of each in the subset, centred and in these units: where moments are counted from.
    pub(super) origin: Vec<f64>,
    /// Mixtures per restart: of 2 components and so on.
    pub(super) sizes: usize,
    /// By restart, then by size.
    pub(super) mixtures: Vec<Compact>,
}

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

impl Screen {
    /// The posteriors of rows of the right width, all finite.
    pub(super) fn posteriors(&self, x: ArrayView2<f32>, progress: &dyn Progress) -> Result<Posteriors> {
        let sizes = self.sizes;
        let mut chunks: Vec<Chunk> = Vec::new();
        chunks.resize_with(x.nrows().div_ceil(CHUNK), Chunk::default);
        let bytes = 4 * (2 * self.active.len() + 1) * sizes * (sizes + 1) / 2;
        let together = (PANEL_BYTES / bytes.max(1)).max(1);
        let passes = self.mixtures.len().div_ceil(sizes * together);
        let pieces = Pieces::new(progress, "posteriors: blocks of rows", passes * chunks.len());
        threads::run(|| -> Result<()> {
            for (i, restarts) in self.mixtures.chunks(sizes * together).enumerate() {
                let first = |q: usize| (i * together + q) * sizes;
                let panels = restarts.par_chunks(sizes).enumerate();
                let panels: Vec<Panel> = panels.map(|(q, m)| self.panel(first(q), m)).collect();
                let one = |chunk: &mut Chunk, x: ArrayView2<f32>| {
                    let mut parts = vec![std::mem::take(chunk)];
                    parts.extend(self.parts(x, &panels, progress)?);
                    *chunk = merge(x.nrows(), parts);
                    Ok(())
                };
                let rows = x.axis_chunks_iter(Axis(0), CHUNK).into_par_iter();
                chunks.par_iter_mut().zip(rows).try_for_each(|(chunk, x)| pieces.one(|| one(chunk, x)))?;
            }
            Ok(())
        })?;
        Ok(Posteriors::new(self.mixtures.iter().map(Compact::components), chunks))
    }

    /// A feature of a row, centred and in units of its spread.
    pub(super) fn value(&self, active: usize, x: f32) -> f64 {
        (f64::from(x) - self.centre[active]) * self.units[active]
    }

    fn panel<'a>(&self, first: usize, mixtures: &'a [Compact]) -> Panel<'a> {
        let a = self.active.len();
        let squares = if self.squares { a } else { 0 };
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
                    let [m, m0] = [m, m0].map(|mean| mean - self.origin[k]);
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
    fn parts(&self, x: ArrayView2<f32>, panels: &[Panel], progress: &dyn Progress) -> Result<Vec<Chunk>> {
        let (n, a) = (x.nrows(), self.active.len());
        let squares = if self.squares { a } else { 0 };
        let terms = a + squares + 1;
        let mut z = Array2::zeros((n, a));
        // One column per row of data, so that the product has the rows of data next to each other in factor and result.
        let mut moments = Array2::from_elem((terms, n), 1.0f32);
        let mut norms = vec![[0.0, 0.0, 1.0]; n];
        for (j, &k) in self.active.iter().enumerate() {
            for (i, &x) in x.column(k).iter().enumerate() {
                z[[i, j]] = self.value(j, x);
                let value = z[[i, j]] - self.origin[j];
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
        // A moment that has no f32 leaves no bound.
        let error = |squared: f64| match squared.sqrt() {
            norm if norm < f64::from(f32::MAX) => rounding * norm,
            _ => f64::INFINITY,
        };
        let errors: Vec<[f64; 3]> = norms.iter().map(|norms| norms.map(error)).collect();
        let widest = panels.iter().map(|p| p.columns.nrows()).max().unwrap_or(0);
        let mut scores = Array2::zeros((widest, n));
        // Rows pass alone: what is kept of a row must not depend on the rows beside it.
        let mut nonzeros = Nonzeros::default();
        let factor = panels::available().then(|| Factor::of(moments.t(), Pass::Alone, Some(&mut nonzeros)));
        panels
            .iter()
            .map(|panel| {
                progress.check()?;
                let mut scores = scores.slice_mut(s![..panel.columns.nrows(), ..]);
                if let Some(factor) = &factor {
                    let of_panels = scores.axis_chunks_iter_mut(Axis(0), panels::WIDTH).into_par_iter();
                    factor.multiply(panel.columns.t(), of_panels, |scores, rows, found| {
                        turn(found.slice(s![.., ..scores.nrows()]), scores.slice_mut(s![.., rows]));
                    });
                } else {
                    gemm::sequential(1.0, panel.columns.view(), moments.view(), 0.0, scores.view_mut());
                }
                let (scores, z) = (scores.view(), z.view());
                Ok(screen(Screening { panel, scores, z, errors: &errors, squares: squares > 0 }))
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

#[cfg(test)]
mod tests {
    use super::super::analytic::tests::random;
    use super::super::pck::tests::{dense, digits, naive, small, worst};
    use super::super::{Covariance, Floor, Pck, Prior};
    use super::*;
    use crate::progress::Silent;
    use ndarray::{array, concatenate};

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
    fn squares_without_an_f32_drop_no_component() {
        // The second component is sharper in the first feature, where the square overflows, and wider in the other.
        let parameters = vec![0.0, 0.0, 1.0, 1.0 + 4.0 * f32::EPSILON, 0.0, 0.0, 1.0 + f32::EPSILON, 1.0];
        let screen = Screen {
            squares: true,
            active: vec![0, 1],
            centre: vec![0.0; 2],
            units: vec![1.0; 2],
            origin: vec![0.0; 2],
            sizes: 1,
            mixtures: vec![Compact { peaks: vec![0.0, 0.1], parameters }],
        };
        let found = screen.posteriors(array![[2e19, 1.8e19]].view(), &Silent).unwrap();
        assert_eq!(dense(&found), array![[0.0, 1.0]]);
    }

    #[test]
    fn rows_and_their_chunks_do_not_depend_on_each_other() {
        // Of the first chunk no number is zero, of the others most are.
        let mut x = random(1200, 9, 4);
        x.indexed_iter_mut().filter(|((i, j), _)| *i >= CHUNK && (i + j) % 4 > 0).for_each(|(_, v)| *v = 0.0);
        for covariance in [Covariance::Diagonal, Covariance::Spherical, Covariance::Tied] {
            let pck = Pck { covariance, ..small() }.fit(x.view()).unwrap();
            let all = dense(&pck.posteriors(x.view()).unwrap());
            for rows in [300..331, 501..530, 701..760] {
                let part = dense(&pck.posteriors(x.slice(s![rows.clone(), ..])).unwrap());
                assert_eq!(all.slice(s![rows.clone(), ..]), part, "{covariance:?} {rows:?}");
            }
        }
        let pck = small().fit(x.view()).unwrap();
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
}
