//! Pre-images by kernel ridge regression: from embedded points back to inputs (Bakır, Weston and Schölkopf, "Learning to
//! find pre-images", 2004).
//!
//! With embedded points z_i of known inputs x_i and a Gaussian kernel of its own, `K_ij = exp(-gamma |z_i - z_j|^2)`, the
//! weights are `A = (K + ridge I)^-1 X` and the pre-image of a point z is `sum_i k(z, z_i) A_i`. Width and ridge are
//! chosen on validation rows: those that give the least squared error there.
//!
//! The system has as many unknowns as rows, so at most [`Preimage::max_rows`] rows, drawn at random, take part: memory is
//! two matrices of that size squared, whatever the number of rows given.

use ndarray::{Array2, ArrayView2, Axis, s};
use rayon::prelude::*;

use crate::kernel::median_distance;
use crate::math::cholesky::Cholesky;
use crate::math::rng::{Purpose, sample, stream};
use crate::math::{check, distance, gemm, threads};
use crate::method::{Embed, Invert};
use crate::metrics::mean_squared_error;
use crate::progress::{Progress, Silent};
use crate::{Error, Result};

/// Settings of the regression.
#[derive(Clone, Debug, PartialEq)]
pub struct Preimage {
    /// Widths of the kernel to try, as multiples of the median distance between embedded points. Default 0.25 to 2.
    pub widths: Vec<f64>,
    /// Ridges to try. Default 1e-4 to 1.
    pub ridges: Vec<f64>,
    /// The most rows that take part; the time grows with the cube, the memory with the square. Default 5000.
    pub max_rows: usize,
    /// Seeds the draw of rows when there are more. Default 0.
    pub seed: u64,
}

impl Default for Preimage {
    fn default() -> Self {
        Self { widths: vec![0.25, 0.5, 1.0, 2.0], ridges: vec![1e-4, 1e-3, 1e-2, 1e-1, 1.0], max_rows: 5000, seed: 0 }
    }
}

/// A fitted map from embedded points to inputs.
#[derive(Clone, Debug)]
pub struct PreimageModel {
    /// The kernel is `exp(-gamma |a - b|^2)`.
    pub gamma: f64,
    /// The ridge.
    pub ridge: f64,
    /// Mean squared error per value on the validation rows, when there were any.
    pub validation_mse: Option<f64>,
    z: Array2<f32>,
    weights: Array2<f64>,
}

/// What embeds, together with the pre-images that make it invertible.
pub struct WithPreimage<E> {
    /// What embeds.
    pub embed: E,
    /// The way back.
    pub preimage: PreimageModel,
}

/// A part of the embedded points and their inputs, row for row.
#[derive(Clone, Copy)]
pub struct Pairs<'a> {
    /// Embedded points.
    pub z: ArrayView2<'a, f32>,
    /// The inputs they came from.
    pub x: ArrayView2<'a, f32>,
}

impl Pairs<'_> {
    fn check(&self, what: &str) -> Result<()> {
        check::rows(&format!("embedded points ({what})"), self.z)?;
        check::rows(&format!("inputs of embedded points ({what})"), self.x)?;
        let (a, b) = (self.z.nrows(), self.x.nrows());
        if a == b {
            return Ok(());
        }
        Err(Error::Data(format!("pre-images ({what}): expected as many embedded points as inputs, found {a} and {b}")))
    }
}

impl Preimage {
    /// Fits on `train`, with the width and ridge that are best on `validation`.
    pub fn fit(&self, train: Pairs, validation: Pairs, progress: &dyn Progress) -> Result<PreimageModel> {
        train.check("training")?;
        validation.check("validation")?;
        check::width("validation points", validation.z, train.z.ncols())?;
        check::width("validation inputs", validation.x, train.x.ncols())?;
        for (name, grid) in [("widths", &self.widths), ("ridges", &self.ridges)] {
            if grid.is_empty() || !grid.iter().all(|&v| v > 0.0 && v.is_finite()) {
                return Err(Error::setting(name, format!("expected one or more numbers above 0, found {grid:?}")));
            }
        }
        if self.max_rows == 0 {
            return Err(Error::setting("max_rows", "expected at least 1, found 0"));
        }
        let drawn;
        let train = if train.z.nrows() > self.max_rows {
            let mut rows = sample(&mut stream(self.seed, Purpose::Subset, 3, 0), train.z.nrows(), self.max_rows);
            rows.sort_unstable();
            drawn = (train.z.select(Axis(0), &rows), train.x.select(Axis(0), &rows));
            Pairs { z: drawn.0.view(), x: drawn.1.view() }
        } else {
            // A copy may live shorter than what was lent, as the drawn rows do.
            Pairs { ..train }
        };
        let median = median_distance(train.z, self.seed)?;
        let total = (self.widths.len() * self.ridges.len()) as u64;
        let mut best: Option<PreimageModel> = None;
        let mut failure = None;
        for (done, (&width, &ridge)) in
            self.widths.iter().flat_map(|w| self.ridges.iter().map(move |r| (w, r))).enumerate()
        {
            progress.check()?;
            let gamma = 0.5 / (width * median).powi(2);
            match PreimageModel::solve(train, gamma, ridge, progress) {
                Ok(mut model) => {
                    let mse = model.error(validation)?;
                    model.validation_mse = Some(mse);
                    if best.as_ref().and_then(|b| b.validation_mse).is_none_or(|b| mse < b) {
                        best = Some(model);
                    }
                }
                // A ridge too small for this width is no candidate; the others may do.
                Err(Error::Numeric(message)) => failure = Some(message),
                Err(other) => return Err(other),
            }
            progress.step("widths and ridges of the pre-images", done as u64 + 1, total);
        }
        best.ok_or_else(|| Error::Numeric(failure.unwrap_or_default()))
    }
}

impl PreimageModel {
    /// Fits on all of `train` with a given kernel and ridge.
    pub fn new(train: Pairs, gamma: f64, ridge: f64) -> Result<Self> {
        Self::solve(train, gamma, ridge, &Silent)
    }

    fn solve(train: Pairs, gamma: f64, ridge: f64, progress: &dyn Progress) -> Result<Self> {
        train.check("training")?;
        for (name, value) in [("gamma", gamma), ("ridge", ridge)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(Error::setting(name, format!("expected a number above 0, found {value}")));
            }
        }
        let mut k = kernel(train.z, train.z, gamma);
        // A row is at distance zero from itself, whatever rounding says.
        k.diag_mut().fill(1.0 + ridge);
        let mut weights = train.x.mapv(f64::from);
        Cholesky::watched(k, progress)?.solve(weights.view_mut());
        Ok(Self { gamma, ridge, validation_mse: None, z: train.z.to_owned(), weights })
    }

    /// The inputs that embedded points stand for.
    pub fn invert(&self, z: ArrayView2<f32>) -> Result<Array2<f32>> {
        check::width("embedded points", z, self.z.ncols())?;
        check::finite("embedded points", z)?;
        let mut x = Array2::zeros((z.nrows(), self.weights.ncols()));
        // Blocks of points bound the memory for their kernel values.
        for (z, mut x) in z.axis_chunks_iter(Axis(0), 512).zip(x.axis_chunks_iter_mut(Axis(0), 512)) {
            let k = kernel(z, self.z.view(), self.gamma);
            let mut back = Array2::zeros((z.nrows(), self.weights.ncols()));
            gemm::product(1.0, k.view(), self.weights.view(), 0.0, back.view_mut());
            x.zip_mut_with(&back, |x, &b| *x = b as f32);
        }
        Ok(x)
    }

    /// Mean squared error per value.
    fn error(&self, pairs: Pairs) -> Result<f64> {
        mean_squared_error(pairs.x, self.invert(pairs.z)?.view())
    }
}

/// `exp(-gamma |a - b|^2)` in f64 from f32 distances.
fn kernel(a: ArrayView2<f32>, b: ArrayView2<f32>, gamma: f64) -> Array2<f64> {
    const ROWS: usize = 128;
    let mut out = Array2::zeros((a.nrows(), b.nrows()));
    threads::run(|| {
        out.axis_chunks_iter_mut(Axis(0), ROWS).into_par_iter().enumerate().for_each(|(i, mut out)| {
            let mut d = Array2::zeros(out.dim());
            let first = i * ROWS;
            distance::squared_distances(a.slice(s![first..first + out.nrows(), ..]), b, d.view_mut());
            out.zip_mut_with(&d, |k, &d| *k = (-gamma * f64::from(d)).exp());
        });
    });
    out
}

impl<E: Embed> Embed for WithPreimage<E> {
    fn input_width(&self) -> usize {
        self.embed.input_width()
    }

    fn width(&self) -> usize {
        self.embed.width()
    }

    fn embed(&self, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        self.embed.embed(x)
    }
}

impl<E: Embed> Invert for WithPreimage<E> {
    fn invert(&self, z: ArrayView2<f32>) -> Result<Array2<f32>> {
        self.preimage.invert(z)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baseline::Kpca;
    use crate::fixture::{Fixture, refused};
    use crate::kernel::FittedRbf;

    #[test]
    fn agrees_with_scikit_learn() {
        // There the kernel of the regression is that of the embedding; its scores are taken as given.
        let f = Fixture::load("kpca");
        let (z, x) = (f.array("rbf_scores"), f.array("x"));
        let model = PreimageModel::new(Pairs { z: z.view(), x: x.view() }, 0.3, 0.05).unwrap();
        let back = model.invert(f.array("rbf_new").view()).unwrap();
        let d = &back - &f.array("rbf_back");
        assert!(d.iter().all(|d| d.abs() < 2e-5), "{d}");
    }

    #[test]
    fn kernel_pca_with_pre_images_inverts_as_in_scikit_learn() {
        let f = Fixture::load("kpca");
        let (x, new) = (f.array("x"), f.array("new"));
        let rbf = FittedRbf::of_sigma((0.5f64 / 0.3).sqrt(), 4);
        let embed = Kpca { components: 4, ..Kpca::default() }.fit(Box::new(rbf), x.view(), &Silent);
        let embed = embed.unwrap();
        let z = embed.spectrum.scores();
        let preimage = PreimageModel::new(Pairs { z: z.view(), x: x.view() }, 0.3, 0.05).unwrap();
        let both = WithPreimage { embed, preimage };
        let back = both.invert(both.embed(new.view()).unwrap().view()).unwrap();
        let d = &back - &f.array("rbf_back");
        assert!(d.iter().all(|d| d.abs() < 1e-4), "{d}");
        assert_eq!((both.input_width(), both.width()), (4, 4));
    }

    /// A curve in three dimensions over points on a line.
    fn curve(n: usize, shift: f32) -> (Array2<f32>, Array2<f32>) {
        let z = Array2::from_shape_fn((n, 1), |(i, _)| 6.0 * (i as f32 + shift) / n as f32);
        let x = Array2::from_shape_fn((n, 3), |(i, j)| (z[[i, 0]] * (j + 1) as f32 * 0.5).sin());
        (z, x)
    }

    #[test]
    fn the_choice_is_the_best_of_the_grid_on_validation_rows() {
        let ((z, x), (vz, vx)) = (curve(60, 0.0), curve(25, 0.4));
        let (train, validation) = (Pairs { z: z.view(), x: x.view() }, Pairs { z: vz.view(), x: vx.view() });
        let settings = Preimage { widths: vec![0.05, 0.5, 5.0], ridges: vec![1e-3, 10.0], ..Preimage::default() };
        let model = settings.fit(train, validation, &Silent).unwrap();
        let median = median_distance(z.view(), 0).unwrap();
        let mut errors = Vec::new();
        for width in &settings.widths {
            for &ridge in &settings.ridges {
                let gamma = 0.5 / (width * median).powi(2);
                let one = PreimageModel::new(train, gamma, ridge).unwrap();
                errors.push((one.error(validation).unwrap(), gamma, ridge));
            }
        }
        errors.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert_eq!((model.validation_mse, model.gamma, model.ridge), (Some(errors[0].0), errors[0].1, errors[0].2));
        assert!(errors[0].0 < 1e-4 && errors[5].0 > 0.1, "{errors:?}");
    }

    #[test]
    fn more_rows_than_allowed_are_drawn_from() {
        let ((z, x), (vz, vx)) = (curve(300, 0.0), curve(40, 0.4));
        let settings = Preimage { max_rows: 50, ..Preimage::default() };
        let (train, validation) = (Pairs { z: z.view(), x: x.view() }, Pairs { z: vz.view(), x: vx.view() });
        let model = settings.fit(train, validation, &Silent).unwrap();
        assert_eq!(model.z.nrows(), 50);
        assert!(model.validation_mse.unwrap() < 1e-3);
    }

    #[test]
    fn equal_points_work_and_bad_input_is_an_error() {
        let (z, x) = curve(20, 0.0);
        let twice = ndarray::concatenate![Axis(0), z, z];
        let inputs = ndarray::concatenate![Axis(0), x, x];
        let train = Pairs { z: twice.view(), x: inputs.view() };
        let model = Preimage::default().fit(train, Pairs { z: z.view(), x: x.view() }, &Silent).unwrap();
        assert!(model.validation_mse.unwrap() < 1e-3);
        refused(model.invert(Array2::zeros((2, 5)).view()), "embedded points: expected 1 columns");

        let pairs = Pairs { z: z.view(), x: x.view() };
        let short = Pairs { z: z.slice(s![..3, ..]), x: x.view() };
        let fit = |settings: Preimage, train, validation| settings.fit(train, validation, &Silent);
        let usual = Preimage::default;
        let counts = |part: &str| format!("({part}): expected as many embedded points as inputs, found 3 and 20");
        refused(fit(usual(), short, pairs), &counts("training"));
        refused(fit(usual(), pairs, short), &counts("validation"));
        refused(
            fit(Preimage { widths: vec![], ..usual() }, pairs, pairs),
            "widths: expected one or more numbers above 0",
        );
        refused(fit(Preimage { ridges: vec![-1.0], ..usual() }, pairs, pairs), "ridges: expected one or more");
        refused(fit(Preimage { max_rows: 0, ..usual() }, pairs, pairs), "max_rows: expected at least 1");
        refused(PreimageModel::new(pairs, 1.0, 0.0), "ridge: expected a number above 0");
        let hole = Array2::from_elem((20, 1), f32::NAN);
        let holed = Pairs { z: hole.view(), x: x.view() };
        refused(PreimageModel::new(holed, 1.0, 1.0), "embedded points (training): row 1, column 1 is NaN");
        let flat = Array2::zeros((20, 1));
        refused(fit(usual(), Pairs { z: flat.view(), x: x.view() }, pairs), "median");
    }
}
