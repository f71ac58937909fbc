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
//! on one small subset of the rows; any other row has posteriors too (screen.rs computes them, posteriors.rs keeps them).

use std::str::FromStr;

use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::math::rng::{self, Purpose};
use crate::math::{check, threads};
use crate::progress::{Pieces, Progress, Silent};
use crate::written::{Amount, amount};
use crate::{Error, Result};

use super::mixture::{Covariance, Mixture, Rows, Start};
use super::posteriors::Posteriors;
use super::screen::{Compact, Screen};
use super::{Kept, Kernel, Precomputed, Prior};

/// The variance floor of the mixtures, which is added to every variance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Amount", rename_all = "kebab-case")]
pub enum Floor {
    /// In squared units of the features, as scikit-learn's `reg_covar`.
    Absolute(f64),
    /// As a fraction of the mean variance of the features in the subset: the same kernel whatever units the data are in.
    Relative(f64),
}

impl Floor {
    fn of((value, share): (f64, bool)) -> Self {
        if share { Floor::Relative(value) } else { Floor::Absolute(value) }
    }
}

impl TryFrom<Amount> for Floor {
    type Error = Error;

    fn try_from(written: Amount) -> Result<Self> {
        written.read("floor", ["absolute", "relative"]).map(Self::of)
    }
}

/// `0.01`, or `5%` of the mean variance.
impl FromStr for Floor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        amount("floor", text).map(Self::of)
    }
}

/// The settings of the probabilistic cluster kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Pck {
    /// Random starts of each size of mixture, Q; 30 by default.
    pub restarts: usize,
    /// Components of the largest mixtures, G: sizes go from 2 to this; 30 by default.
    #[serde(alias = "max_components")]
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
    #[serde(alias = "max_iterations")]
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
        self.fit_watched(x, &Silent)
    }

    /// As [`fit`](Self::fit), with someone to report to.
    pub fn fit_watched(&self, x: ArrayView2<f32>, progress: &dyn Progress) -> Result<FittedPck> {
        let n = x.nrows();
        self.check()?;
        if self.max_components > n {
            let g = self.max_components;
            return Err(Error::Data(format!(
                "mixtures of up to {g} components need at least {g} rows, but there are {n}; lower max_components or bring more rows"
            )));
        }
        let drawn = self.drawn(n);
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
        let all = self.restarts * sizes;
        let pieces = Pieces::new(progress, "mixtures", all);
        let one = |i: usize| {
            let (q, g) = (i / sizes + 1, i % sizes + 2);
            let mut rng = rng::stream(self.seed, Purpose::Mixture, q as u64, g as u64);
            let starts = rows.draw(g, self.start, &mut rng);
            let fit = settings.fit_watched(&rows, rows.means_at(&starts).view(), progress)?;
            let summary = Summary {
                mixtures: 1,
                iterations: fit.iterations,
                converged: usize::from(fit.converged),
                repaired: fit.repaired,
                empty: fit.empty,
            };
            Ok((Compact::new(&fit, &scales), summary))
        };
        let fits: Vec<(Compact, Summary)> = threads::run(|| {
            (0..all).into_par_iter().with_max_len(1).map(|i| pieces.one(|| one(i))).collect::<Result<_>>()
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
        let units: Vec<f64> = scales.iter().map(|s| 1.0 / s).collect();
        Ok(FittedPck {
            // As many rows as were drawn, should there have been fewer than asked for.
            settings: Pck { subset: drawn.len(), ..self.clone() },
            width: x.ncols(),
            screen: Screen {
                squares: self.covariance != Covariance::Tied,
                active: rows.active().to_vec(),
                centre: rows.centre().to_vec(),
                origin: units.iter().zip(rows.medians()).map(|(unit, median)| median * unit).collect(),
                units,
                sizes,
                mixtures,
            },
            summary,
        })
    }

    /// Which of `n` rows the mixtures are fitted on. A fit on these rows alone gives the same mixtures, so they are all
    /// that has to be kept to have the kernel again.
    pub fn drawn(&self, n: usize) -> Vec<usize> {
        let mut drawn = rng::sample(&mut rng::stream(self.seed, Purpose::Subset, 0, 0), n, self.subset.min(n));
        drawn.sort_unstable();
        drawn
    }

    /// All that can be wrong with the settings by themselves.
    pub fn check(&self) -> Result<()> {
        let Self { restarts, max_components: g, subset, .. } = *self;
        if restarts == 0 {
            return Err(Error::setting("restarts", "expected 1 or more, found 0"));
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
            return Err(Error::setting("max_iterations", "expected 1 or more, found 0"));
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

/// The mixtures of a probabilistic cluster kernel.
pub struct FittedPck {
    settings: Pck,
    width: usize,
    screen: Screen,
    summary: Summary,
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
        self.posteriors_watched(x, &Silent)
    }

    /// As [`posteriors`](Self::posteriors), with someone to report to.
    pub fn posteriors_watched(&self, x: ArrayView2<f32>, progress: &dyn Progress) -> Result<Posteriors> {
        check::width("rows for a kernel", x, self.width)?;
        check::finite("rows for a kernel", x)?;
        self.screen.posteriors(x, progress)
    }

    /// As [`Kernel::between`], with someone to report to while the posteriors are computed.
    pub fn between_watched(
        &self,
        a: ArrayView2<f32>,
        b: ArrayView2<f32>,
        out: ArrayViewMut2<f32>,
        progress: &dyn Progress,
    ) -> Result<()> {
        let (a, b) = (self.posteriors_watched(a, progress)?, self.posteriors_watched(b, progress)?);
        progress.check()?;
        all_between(&a, &b, out);
        Ok(())
    }
}

/// P between all rows of both.
fn all_between(a: &Posteriors, b: &Posteriors, out: ArrayViewMut2<f32>) {
    let (rows, columns): (Vec<usize>, Vec<usize>) = ((0..a.len()).collect(), (0..b.len()).collect());
    a.between(&rows, b, &columns, out);
}

impl Kernel for FittedPck {
    fn prior<'a>(&'a self, x: ArrayView2<'a, f32>) -> Result<Box<dyn Prior + 'a>> {
        self.prior_watched(x, &Silent)
    }

    fn prior_watched<'a>(&'a self, x: ArrayView2<'a, f32>, progress: &dyn Progress) -> Result<Box<dyn Prior + 'a>> {
        let posteriors = self.posteriors_watched(x, progress)?;
        // Of few rows P takes less memory than its factor, and a look-up instead of a product.
        if size_of::<f32>() * posteriors.len().pow(2) <= posteriors.bytes() {
            return Ok(Box::new(Precomputed::of(&posteriors)));
        }
        Ok(Box::new(posteriors))
    }

    fn between(&self, a: ArrayView2<f32>, b: ArrayView2<f32>, out: ArrayViewMut2<f32>) -> Result<()> {
        self.between_watched(a, b, out, &Silent)
    }

    fn keep(&self, x: Array2<f32>, progress: &dyn Progress) -> Result<Kept> {
        Ok(Kept::Posteriors(self.posteriors_watched(x.view(), progress)?))
    }

    fn between_kept(&self, a: ArrayView2<f32>, b: &Kept, out: ArrayViewMut2<f32>) -> Result<()> {
        let a = self.posteriors(a)?;
        match b {
            Kept::Posteriors(b) if (a.mixtures(), a.columns()) == (b.mixtures(), b.columns()) => {
                all_between(&a, b, out);
                Ok(())
            }
            _ => Err(Kept::foreign()),
        }
    }

    fn describe(&self) -> String {
        let Summary { mixtures, converged, repaired, empty, .. } = self.summary;
        let mut text = format!("{}; {converged} of {mixtures} mixtures converged", self.settings.describe());
        if repaired > 0 || empty > 0 {
            text += &format!(", {repaired} empty components started again, {empty} stayed empty");
        }
        text
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::Factors;
    use super::*;
    use crate::fixture::Fixture;
    use crate::kernel::analytic::tests::random;
    use ndarray::{Array2, concatenate};
    use proptest::prelude::*;

    /// 180 handwritten digits of 64 features from 0 to 1 (UCI optdigits), kept for the tests of mixtures.
    pub fn digits() -> Array2<f32> {
        let fixture = Fixture::load("mixture");
        concatenate![Axis(0), fixture.array("x"), fixture.array("new")] / 16.0
    }

    /// Posteriors of `of` by the plain formula, from mixtures fitted on `x` once more: rows x columns of F.
    pub fn naive(settings: &Pck, x: ArrayView2<f32>, of: ArrayView2<f32>) -> Array2<f64> {
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

    pub fn dense(posteriors: &Posteriors) -> Array2<f64> {
        let mut f = Array2::zeros((posteriors.len(), posteriors.columns()));
        for i in 0..posteriors.len() {
            posteriors.row(i).for_each(|(column, value)| f[[i, column]] = f64::from(value));
        }
        f
    }

    pub fn worst(a: &Array2<f64>, b: &Array2<f64>) -> f64 {
        assert_eq!(a.dim(), b.dim());
        (a - b).iter().fold(0.0, |worst, d| f64::max(worst, d.abs()))
    }

    pub fn small() -> Pck {
        Pck { restarts: 3, max_components: 12, subset: 100, seed: 5, ..Pck::default() }
    }

    #[test]
    fn k_means_plus_plus_starts_work_too() {
        let (x, settings) = (digits(), Pck { start: Start::KMeansPlusPlus, ..small() });
        let posteriors = settings.fit(x.view()).unwrap().posteriors(x.view()).unwrap();
        assert!(worst(&dense(&posteriors), &naive(&settings, x.view(), x.view())) < 2e-5);
        assert!(worst(&dense(&posteriors), &naive(&small(), x.view(), x.view())) > 0.5);
    }

    #[test]
    fn the_drawn_rows_alone_give_the_same_kernel() {
        let x = digits();
        let settings = Pck { floor: Floor::Relative(0.15), ..small() };
        let drawn = x.select(Axis(0), &settings.drawn(x.nrows()));
        assert_eq!(drawn.nrows(), 100);
        let posteriors = |rows: &Array2<f32>| settings.fit(rows.view()).unwrap().posteriors(x.view()).unwrap().to_csr();
        assert_eq!(posteriors(&drawn), posteriors(&x));
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
            // The block of a training step: the same rows twice.
            let batch = &rows[..200];
            let mut square = Array2::from_elem((200, 200), f32::NAN);
            posteriors.block(batch, batch, square.view_mut());
            let among = f.select(Axis(0), batch);
            assert!(worst(&square.mapv(f64::from), &among.dot(&among.t())) < 1e-6);
            assert_eq!(square, square.t());
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
    fn moments_are_counted_from_the_value_that_most_rows_share() {
        let x = Array2::from_shape_fn((80, 3), |(i, j)| if (i + j) % 4 == 0 { 0.1 * i as f32 } else { 0.3 });
        let screen = small().fit(x.view()).unwrap().screen;
        assert_eq!(screen.active, [0, 1, 2]);
        assert!((0..3).all(|j| screen.value(j, 0.3) == screen.origin[j]));
    }

    #[test]
    fn a_fitted_kernel_tells_how_many_rows_it_was_fitted_on() {
        let x = random(40, 3, 1);
        let fitted = |subset| Pck { restarts: 2, max_components: 3, subset, ..Pck::default() }.fit(x.view()).unwrap();
        assert!(fitted(200).describe().contains("fitted on 40 rows"), "{}", fitted(200).describe());
        assert!(fitted(30).describe().contains("fitted on 30 rows"), "{}", fitted(30).describe());
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
