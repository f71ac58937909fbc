//! The radial basis function kernel, `exp(-|a - b|^2 / (2 sigma^2))`.
//!
//! The width sigma is given as a number, or as a fraction of the median distance between rows: 0.15 of it is what the
//! paper uses for kernel PCA.

use std::str::FromStr;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, ArrayViewMut2, Axis};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::math::elementwise::exp_of_multiple;
use crate::math::rng::{Purpose, sample, stream};
use crate::math::{check, distance, threads};
use crate::written::{Amount, amount};
use crate::{Error, Result};

use super::analytic::Formula;

/// At most this many rows are drawn to find the median distance.
const MEDIAN_ROWS: usize = 2000;

/// How the width sigma is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Amount", rename_all = "kebab-case")]
pub enum Width {
    /// Sigma itself, in units of the features.
    Value(f64),
    /// Sigma as a fraction of the median Euclidean distance between two different rows, of up to 2000 drawn rows.
    MedianFraction(f64),
}

impl Width {
    fn of((value, share): (f64, bool)) -> Self {
        if share { Width::MedianFraction(value) } else { Width::Value(value) }
    }
}

impl TryFrom<Amount> for Width {
    type Error = Error;

    fn try_from(written: Amount) -> Result<Self> {
        written.read("rbf-width", ["value", "median-fraction"]).map(Self::of)
    }
}

/// `2.5`, or `15%` of the median distance.
impl FromStr for Width {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        amount("rbf-width", text).map(Self::of)
    }
}

/// The settings of the radial basis function kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rbf {
    /// The width; 0.15 of the median distance by default, as the paper has it.
    pub width: Width,
    /// Chooses the rows that the median is taken of; 0 by default.
    pub seed: u64,
}

impl Default for Rbf {
    fn default() -> Self {
        Self { width: Width::MedianFraction(0.15), seed: 0 }
    }
}

impl Rbf {
    /// Finds the width for these rows.
    pub fn fit(&self, x: ArrayView2<f32>) -> Result<FittedRbf> {
        self.check()?;
        check::finite("rows for a kernel", x)?;
        let sigma = match self.width {
            Width::Value(sigma) => sigma,
            Width::MedianFraction(fraction) => fraction * median_distance(x, self.seed)?,
        };
        // Distances do not depend on the origin, and f32 has the most digits near it.
        let centre = x.mean_axis(Axis(0)).unwrap_or_else(|| Array1::zeros(x.ncols()));
        Ok(FittedRbf { sigma, centre })
    }

    /// All that can be wrong with the settings by themselves.
    pub fn check(&self) -> Result<()> {
        let (Width::Value(value) | Width::MedianFraction(value)) = self.width;
        if !(value > 0.0 && value.is_finite()) {
            return Err(Error::setting("rbf-width", format!("expected a positive number, found {value}")));
        }
        Ok(())
    }

    /// One line: the kernel and its settings.
    pub fn describe(&self) -> String {
        match self.width {
            Width::Value(sigma) => format!("radial basis functions: width {sigma}"),
            Width::MedianFraction(fraction) => {
                format!("radial basis functions: width {fraction} of the median distance, seed {}", self.seed)
            }
        }
    }
}

/// The median of the distances between different rows, of up to 2000 drawn ones; the mean of the two in the middle when
/// their number is even. Rows of which most are equal have no scale: an error.
pub(crate) fn median_distance(x: ArrayView2<f32>, seed: u64) -> Result<f64> {
    let n = x.nrows();
    if n < 2 {
        return Err(Error::Data(format!(
            "the median distance needs at least 2 rows, there are {n}; give the width as a number"
        )));
    }
    let drawn = sample(&mut stream(seed, Purpose::Subset, 1, 0), n, n.min(MEDIAN_ROWS));
    let rows = x.select(Axis(0), &drawn);
    let rows = &rows - &rows.mean_axis(Axis(0)).unwrap_or_else(|| Array1::zeros(x.ncols()));
    let mut squared = Array2::zeros((drawn.len(), drawn.len()));
    threads::run(|| distance::squared_distances(rows.view(), rows.view(), squared.view_mut()));
    let mut pairs: Vec<f32> =
        squared.rows().into_iter().enumerate().flat_map(|(i, row)| row.into_iter().take(i).copied()).collect();
    let middle = pairs.len() / 2;
    let even = pairs.len().is_multiple_of(2);
    let (below, &mut upper, _) = pairs.select_nth_unstable_by(middle, f32::total_cmp);
    let upper = f64::from(upper).sqrt();
    let lower = if even { below.iter().fold(0.0f32, |a, &b| a.max(b)) } else { 0.0 };
    let median = if even { 0.5 * (upper + f64::from(lower).sqrt()) } else { upper };
    if !(median > 0.0 && median.is_finite()) {
        // A distance whose square has no f32 may have become 0, too.
        let huge = rows.rows().into_iter().any(|row| !row.dot(&row).is_finite());
        return Err(Error::Data(match huge {
            true => "the median distance between rows is too large for a number of 32 bits; scale the rows".into(),
            false => {
                "the median distance between rows is 0, because most of them are equal; give the width as a number"
                    .into()
            }
        }));
    }
    Ok(median)
}

/// The radial basis function kernel with its width.
pub struct FittedRbf {
    sigma: f64,
    centre: Array1<f32>,
}

impl FittedRbf {
    /// The kernel of a width sigma that is already known (and positive), for rows of `width` features. Rows far from the
    /// origin lose digits; [`Rbf::fit`] centres them.
    pub fn of_sigma(sigma: f64, width: usize) -> Self {
        Self { sigma, centre: Array1::zeros(width) }
    }

    /// The width sigma.
    pub fn sigma(&self) -> f64 {
        self.sigma
    }
}

impl Formula for FittedRbf {
    fn width(&self) -> Option<usize> {
        Some(self.centre.len())
    }

    fn fill(&self, a: ArrayView2<f32>, b: ArrayView2<f32>, mut out: ArrayViewMut2<f32>) {
        let (a, b) = (&a - &self.centre, &b - &self.centre);
        distance::squared_distances(a.view(), b.view(), out.view_mut());
        // Finite, so that a row has similarity 1 with itself under any width.
        let factor = (-0.5 / (self.sigma * self.sigma)).max(f64::from(f32::MIN)) as f32;
        // Along the axis that is contiguous, which for a transposed block is the other one.
        let mut lines = if out.strides()[0] == 1 { out.reversed_axes() } else { out };
        lines.axis_iter_mut(Axis(0)).into_par_iter().for_each(|mut line| match line.as_slice_mut() {
            Some(line) => exp_of_multiple(line, factor),
            None => {
                let mut copy = line.to_vec();
                exp_of_multiple(&mut copy, factor);
                line.assign(&ArrayView1::from(&copy));
            }
        });
    }

    fn describe(&self) -> String {
        format!("radial basis functions: width {}", self.sigma)
    }
}

#[cfg(test)]
mod tests {
    use super::super::analytic::tests::{check, random};
    use super::*;
    use ndarray::{array, s};

    fn rbf(sigma: f64) -> impl Fn(&[f64], &[f64]) -> f64 {
        move |a, b| (-a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>() / (2.0 * sigma * sigma)).exp()
    }

    #[test]
    fn blocks_are_the_formula() {
        let x = random(6, 7, 1);
        check(&Rbf { width: Width::Value(1.5), seed: 0 }.fit(x.view()).unwrap(), x.view(), rbf(1.5));
    }

    #[test]
    fn blocks_of_any_strides_have_the_same_bits() {
        let (a, b) = (random(9, 7, 3), random(21, 7, 4));
        let kernel = FittedRbf::of_sigma(1.5, 7);
        let mut want = Array2::zeros((9, 21));
        kernel.fill(a.view(), b.view(), want.view_mut());
        let mut turned = Array2::zeros((21, 9));
        kernel.fill(a.view(), b.view(), turned.view_mut().reversed_axes());
        assert_eq!(turned.t(), want);
        let mut wide = Array2::zeros((9, 42));
        kernel.fill(a.view(), b.view(), wide.slice_mut(s![.., ..;2]));
        assert_eq!(wide.slice(s![.., ..;2]), want);
    }

    #[test]
    fn a_known_width_needs_no_rows() {
        let x = random(6, 7, 1);
        check(&FittedRbf::of_sigma(1.5, 7), x.view(), rbf(1.5));
    }

    #[test]
    fn a_large_common_offset_changes_nothing() {
        // Values that f32 has exactly, with and without the offset.
        let x = random(6, 7, 2).mapv(|v| (v * 8.0).round() / 8.0 + 4096.0);
        check(&Rbf { width: Width::Value(1.5), seed: 0 }.fit(x.view()).unwrap(), x.view(), rbf(1.5));
    }

    #[test]
    fn the_width_is_a_fraction_of_the_median_distance() {
        // Distances 1, 2, 3, 3, 5, 6 between four points on a line: the median is 3.
        let x = array![[0.0], [1.0], [3.0], [6.0]];
        let fitted = Rbf { width: Width::MedianFraction(0.15), seed: 3 }.fit(x.view()).unwrap();
        assert!((fitted.sigma() - 0.45).abs() < 1e-6, "{}", fitted.sigma());
        // 3, 4, 5: odd, the middle one.
        let x = array![[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]];
        assert!((Rbf::default().fit(x.view()).unwrap().sigma() - 0.6).abs() < 1e-6);
    }

    #[test]
    fn widths_that_make_no_sense_are_errors() {
        let x = random(5, 2, 1);
        for width in [Width::Value(0.0), Width::Value(f64::NAN), Width::MedianFraction(-1.0)] {
            let message = Rbf { width, seed: 0 }.fit(x.view()).err().unwrap().to_string();
            assert!(message.starts_with("rbf-width"), "{message}");
        }
        let huge = x.mapv(|v| v * 1e30);
        for (x, cause) in [(Array2::from_elem((5, 2), 1.0), "are equal"), (huge, "too large")] {
            let message = Rbf::default().fit(x.view()).err().unwrap().to_string();
            assert!(message.contains(cause), "{message}");
        }
    }
}
