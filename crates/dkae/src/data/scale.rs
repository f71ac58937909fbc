//! Bringing features to a common scale: `z = (x - offset) factor`.
//!
//! Offsets and factors are found on the training part alone and stored in the model, so that validation, test and new rows
//! pass through the same map and none of them leaks into it. A feature that is constant in training gets factor 1.

use ndarray::{Array1, Array2, ArrayView2, Zip};
use serde::{Deserialize, Serialize};

use super::Shape;
use crate::math::check;
use crate::{Error, Result};

/// Which scale to bring features to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// None when all values are within 0 and 1 already, else [`Scale::UnitAll`] for pictures and [`Scale::Standard`] for
    /// the rest. The default.
    #[default]
    Auto,
    /// Values stay as they are.
    None,
    /// Each feature's own range becomes 0 to 1.
    Unit,
    /// The range of all features together becomes 0 to 1: pictures keep their contrast.
    UnitAll,
    /// Each feature gets mean 0 and standard deviation 1.
    Standard,
}

impl std::str::FromStr for Scale {
    type Err = Error;

    fn from_str(s: &str) -> Result<Self> {
        match s {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::None),
            "unit" => Ok(Self::Unit),
            "unit-all" => Ok(Self::UnitAll),
            "standard" => Ok(Self::Standard),
            _ => Err(Error::setting("scale", format!("`{s}` is not one of auto, none, unit, unit-all, standard"))),
        }
    }
}

impl std::fmt::Display for Scale {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::None => "none",
            Self::Unit => "unit",
            Self::UnitAll => "unit-all",
            Self::Standard => "standard",
        })
    }
}

/// A fitted scaling. One offset and factor per feature, or one of each for all features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaler {
    kind: Scale,
    offset: Vec<f32>,
    factor: Vec<f32>,
}

impl Scale {
    /// Fits the scaling on the training rows.
    pub fn fit(self, train: ArrayView2<f32>, shape: Shape) -> Result<Scaler> {
        check::rows("training rows to scale by", train)?;
        let ranges = || {
            let mut ranges = vec![(f32::INFINITY, f32::NEG_INFINITY); train.ncols()];
            for row in train.rows() {
                for ((low, high), &v) in ranges.iter_mut().zip(row) {
                    (*low, *high) = (low.min(v), high.max(v));
                }
            }
            ranges
        };
        let all = |ranges: &[(f32, f32)]| {
            ranges.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(l, h), r| (l.min(r.0), h.max(r.1)))
        };
        let kind = match (self, shape) {
            (Self::Auto, _) if train.iter().all(|v| (0.0..=1.0).contains(v)) => Self::None,
            (Self::Auto, Shape::Image { .. }) => Self::UnitAll,
            (Self::Auto, Shape::Vector) => Self::Standard,
            (kind, _) => kind,
        };
        // (offset, size) of every feature; size 0 when constant.
        let fitted: Vec<(f64, f64)> = match kind {
            Self::Auto | Self::None => vec![(0.0, 1.0)],
            Self::UnitAll => [all(&ranges())].map(|(l, h)| (l.into(), f64::from(h) - f64::from(l))).to_vec(),
            Self::Unit => ranges().iter().map(|&(l, h)| (l.into(), f64::from(h) - f64::from(l))).collect(),
            Self::Standard => standard(train, &ranges()),
        };
        let mut scaler = Scaler { kind, offset: Vec::new(), factor: Vec::new() };
        for (j, &(offset, size)) in fitted.iter().enumerate() {
            let factor = if size == 0.0 { 1.0 } else { (1.0 / size) as f32 };
            if !factor.is_normal() {
                let message =
                    format!("feature {}: a spread of {size:e} cannot be scaled in 32 bits; change its unit", j + 1);
                return Err(Error::Data(message));
            }
            scaler.offset.push(offset as f32);
            scaler.factor.push(factor);
        }
        Ok(scaler)
    }
}

/// Mean and standard deviation (by n, not n - 1) of each feature, in two passes in f64.
fn standard(train: ArrayView2<f32>, ranges: &[(f32, f32)]) -> Vec<(f64, f64)> {
    let n = train.nrows() as f64;
    let mut mean = Array1::<f64>::zeros(train.ncols());
    for row in train.rows() {
        Zip::from(&mut mean).and(row).for_each(|m, &v| *m += f64::from(v));
    }
    mean /= n;
    let mut variance = Array1::<f64>::zeros(train.ncols());
    for row in train.rows() {
        Zip::from(&mut variance).and(&mean).and(row).for_each(|s, &m, &v| *s += (f64::from(v) - m).powi(2));
    }
    variance /= n;
    let constant = |&(low, high): &(f32, f32)| low == high;
    // The mean of a constant is not exactly it, so the deviation would be tiny but not zero.
    ranges
        .iter()
        .zip(mean.iter().zip(&variance))
        .map(|(range, (&m, &s))| if constant(range) { (range.0.into(), 0.0) } else { (m, s.sqrt()) })
        .collect()
}

impl Scaler {
    /// Values stay as they are.
    pub fn none() -> Self {
        Self { kind: Scale::None, offset: vec![0.0], factor: vec![1.0] }
    }

    /// A scaling from its parts, as a model file stores them: as many offsets as factors, one or one per feature.
    pub fn from_parts(kind: Scale, offset: Vec<f32>, factor: Vec<f32>) -> Result<Self> {
        let fine = !offset.is_empty()
            && offset.len() == factor.len()
            && offset.iter().all(|v| v.is_finite())
            && factor.iter().all(|v| v.is_normal());
        if !fine {
            let message = format!(
                "not a scaling: {} offsets and {} factors; as many of both were expected, finite, factors not zero",
                offset.len(),
                factor.len()
            );
            return Err(Error::Data(message));
        }
        Ok(Self { kind, offset, factor })
    }

    /// What was fitted: never [`Scale::Auto`].
    pub fn kind(&self) -> Scale {
        self.kind
    }

    /// What is subtracted: one number for all features or one for each.
    pub fn offset(&self) -> &[f32] {
        &self.offset
    }

    /// What is then multiplied by: one number for all features or one for each.
    pub fn factor(&self) -> &[f32] {
        &self.factor
    }

    /// Scales rows.
    pub fn apply(&self, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        self.map(x, |v, offset, factor| (v - offset) * factor)
    }

    /// Scales rows back.
    pub fn apply_inverse(&self, z: ArrayView2<f32>) -> Result<Array2<f32>> {
        self.map(z, |v, offset, factor| v / factor + offset)
    }

    fn map(&self, x: ArrayView2<f32>, f: impl Fn(f32, f32, f32) -> f32) -> Result<Array2<f32>> {
        let d = self.offset.len();
        if d > 1 {
            check::width("rows to scale", x, d)?;
        }
        let mut out = x.to_owned();
        if self.kind == Scale::None {
            return Ok(out);
        }
        for mut row in out.rows_mut() {
            let parts = self.offset.iter().zip(&self.factor).cycle();
            row.iter_mut().zip(parts).for_each(|(v, (&offset, &factor))| *v = f(*v, offset, factor));
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::test_files::message;
    use ndarray::array;

    const PICTURE: Shape = Shape::Image { channels: 1, height: 1, width: 3 };

    #[test]
    fn unit_ranges_have_their_closed_form() {
        let x = array![[0.0, 10.0, 7.0], [5.0, 30.0, 7.0]];
        let unit = Scale::Unit.fit(x.view(), Shape::Vector).unwrap();
        assert_eq!(unit.apply(x.view()).unwrap(), array![[0.0, 0.0, 0.0], [1.0, 1.0, 0.0]]);
        let all = Scale::UnitAll.fit(x.view(), Shape::Vector).unwrap();
        assert_eq!((all.offset(), all.factor()), (&[0.0][..], &[1.0 / 30.0][..]));
        assert_eq!(all.apply(array![[15.0, 60.0, 0.0]].view()).unwrap(), array![[0.5, 2.0, 0.0]]);
    }

    #[test]
    fn standard_scores_have_mean_zero_and_deviation_one_even_far_from_zero() {
        // Deviations of 1e-3 around 1e4 are lost when squares are accumulated in f32.
        let x = Array2::from_shape_fn((1001, 2), |(i, j)| if j == 0 { 10_000.0 + (i % 7) as f32 } else { 3.7 });
        let scaler = Scale::Standard.fit(x.view(), Shape::Vector).unwrap();
        let z = scaler.apply(x.view()).unwrap().mapv(f64::from);
        // i % 7 over 143 whole cycles: mean 3, variance 4.
        assert!((f64::from(scaler.offset()[0]) - 10_003.0).abs() < 1e-3);
        assert!((f64::from(scaler.factor()[0]) - 0.5).abs() < 1e-6);
        assert!(z.column(0).mean().unwrap().abs() < 1e-6);
        assert!(z.column(1).iter().all(|&v| v == 0.0) && scaler.factor()[1] == 1.0 && scaler.offset()[1] == 3.7);
    }

    #[test]
    fn the_inverse_brings_rows_back() {
        let x = Array2::from_shape_fn((50, 4), |(i, j)| (i * i) as f32 * 0.37 - j as f32 * 100.0);
        for scale in [Scale::None, Scale::Unit, Scale::UnitAll, Scale::Standard] {
            let scaler = scale.fit(x.view(), Shape::Vector).unwrap();
            assert_eq!(scaler.kind(), scale);
            let back = scaler.apply_inverse(scaler.apply(x.view()).unwrap().view()).unwrap();
            assert!((&back - &x).iter().all(|d| d.abs() < 2e-4), "{scale:?}");
            let copy = Scaler::from_parts(scaler.kind(), scaler.offset().to_vec(), scaler.factor().to_vec()).unwrap();
            assert_eq!(copy, scaler);
        }
    }

    #[test]
    fn names_are_the_same_in_text_and_in_settings() {
        for scale in [Scale::Auto, Scale::None, Scale::Unit, Scale::UnitAll, Scale::Standard] {
            assert_eq!(scale.to_string().parse::<Scale>().unwrap(), scale);
            assert_eq!(serde_json::to_value(scale).unwrap(), scale.to_string());
        }
        assert!(message("half".parse::<Scale>()).contains("unit-all"));
    }

    #[test]
    fn auto_looks_at_the_data() {
        let auto = |x: Array2<f32>, shape| Scale::Auto.fit(x.view(), shape).unwrap().kind();
        assert_eq!(auto(array![[0.0, 128.0, 255.0]], PICTURE), Scale::UnitAll);
        assert_eq!(auto(array![[0.0, 0.5, 1.0]], PICTURE), Scale::None);
        assert_eq!(auto(array![[0.0, 0.5, 1.0]], Shape::Vector), Scale::None);
        assert_eq!(auto(array![[0.0, -0.5, 1.0]], Shape::Vector), Scale::Standard);
    }

    #[test]
    fn what_cannot_be_scaled_is_refused() {
        let fit = |x: Array2<f32>| message(Scale::Standard.fit(x.view(), Shape::Vector));
        assert!(fit(array![[1.0, f32::NAN]]).contains("row 1, column 2 is NaN"));
        assert!(fit(Array2::zeros((0, 3))).contains("found 0 x 3"));
        assert!(fit(array![[f32::MAX], [f32::MIN]]).contains("feature 1"));
        assert!(fit(array![[0.0], [1e-45]]).contains("feature 1"));
        let scaler = Scale::Unit.fit(array![[1.0, 2.0], [3.0, 4.0]].view(), Shape::Vector).unwrap();
        assert!(
            message(scaler.apply(array![[1.0]].view()))
                .contains("expected 2 columns, as in the rows of the fit, found 1")
        );
        assert!(Scaler::from_parts(Scale::Unit, vec![0.0], vec![0.0]).is_err());
        assert!(Scaler::from_parts(Scale::Unit, vec![0.0], vec![]).is_err());
    }
}
