//! The polynomial kernel, `(gamma a . b + offset)^degree`.

use ndarray::{ArrayView2, ArrayViewMut2};
use serde::{Deserialize, Serialize};

use crate::math::gemm;
use crate::{Error, Result};

use super::analytic::Formula;

/// The settings of the polynomial kernel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Polynomial {
    /// The power; 3 by default.
    pub degree: u32,
    /// The factor of the inner product; one over the number of features by default.
    pub gamma: Option<f64>,
    /// What is added to it; at least 0, or the kernel is not positive; 1 by default.
    pub offset: f64,
}

impl Default for Polynomial {
    fn default() -> Self {
        Self { degree: 3, gamma: None, offset: 1.0 }
    }
}

impl Polynomial {
    /// Settles the factor for rows of this width.
    pub fn fit(&self, x: ArrayView2<f32>) -> Result<FittedPolynomial> {
        self.check()?;
        let gamma = self.gamma.unwrap_or(1.0 / x.ncols().max(1) as f64);
        Ok(FittedPolynomial { degree: self.degree, gamma, offset: self.offset, width: x.ncols() })
    }

    /// All that can be wrong with the settings by themselves.
    pub fn check(&self) -> Result<()> {
        if !(1..=64).contains(&self.degree) {
            return Err(Error::setting("degree", format!("must be from 1 to 64, got {}", self.degree)));
        }
        if let Some(gamma) = self.gamma
            && !(gamma > 0.0 && gamma.is_finite())
        {
            return Err(Error::setting("gamma", format!("must be a positive number, got {gamma}")));
        }
        if !(self.offset >= 0.0 && self.offset.is_finite()) {
            return Err(Error::setting("offset", format!("must be zero or positive, got {}", self.offset)));
        }
        Ok(())
    }

    /// One line: the kernel and its settings.
    pub fn describe(&self) -> String {
        let gamma = self.gamma.map_or("1/features".into(), |gamma| gamma.to_string());
        format!("polynomial: degree {}, gamma {gamma}, offset {}", self.degree, self.offset)
    }
}

/// The polynomial kernel with its factor.
pub struct FittedPolynomial {
    degree: u32,
    gamma: f64,
    offset: f64,
    width: usize,
}

impl Formula for FittedPolynomial {
    fn width(&self) -> Option<usize> {
        Some(self.width)
    }

    fn fill(&self, a: ArrayView2<f32>, b: ArrayView2<f32>, mut out: ArrayViewMut2<f32>) {
        gemm::product(self.gamma as f32, a, b.t(), 0.0, out.view_mut());
        let (degree, offset) = (self.degree as i32, self.offset as f32);
        out.par_mapv_inplace(|v| (v + offset).powi(degree));
    }

    fn describe(&self) -> String {
        format!("polynomial: degree {}, gamma {}, offset {}", self.degree, self.gamma, self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::super::analytic::tests::{check, random};
    use super::*;

    #[test]
    fn blocks_are_the_formula() {
        let x = random(6, 5, 1);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let kernel = Polynomial { degree: 4, gamma: Some(0.5), offset: 0.25 }.fit(x.view()).unwrap();
        check(&kernel, x.view(), |a, b| (0.5 * dot(a, b) + 0.25).powi(4));
        let kernel = Polynomial::default().fit(x.view()).unwrap();
        check(&kernel, x.view(), |a, b| (dot(a, b) / 5.0 + 1.0).powi(3));
    }

    #[test]
    fn settings_that_make_no_sense_are_errors() {
        let x = random(3, 2, 1);
        let good = Polynomial::default();
        for (bad, name) in [
            (Polynomial { degree: 0, ..good }, "degree"),
            (Polynomial { gamma: Some(0.0), ..good }, "gamma"),
            (Polynomial { offset: -1.0, ..good }, "offset"),
        ] {
            assert!(bad.fit(x.view()).err().unwrap().to_string().starts_with(name));
        }
    }
}
