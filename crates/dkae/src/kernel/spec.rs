//! Any kernel by its settings, for commands, settings files and model files.
//!
//! Kernels of rows are [fitted](KernelSpec::fit) and then know any row. Two priors are not kernels of rows: the ideal one
//! is made of labels ([`super::Ideal`]) and the precomputed one of a matrix ([`super::Precomputed`]).

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

use super::{Cosine, Kernel, Linear, Pck, Polynomial, Rbf, Sum};

/// A kernel and its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelSpec {
    /// The probabilistic cluster kernel.
    Pck(Pck),
    /// Radial basis functions.
    Rbf(Rbf),
    /// The inner product.
    Linear,
    /// A polynomial of the inner product.
    Polynomial(Polynomial),
    /// The cosine of the angle.
    Cosine,
    /// A weighted sum of kernels.
    Sum(Sum),
    /// 1 for rows of the same class, else 0.
    Ideal,
    /// A matrix that is brought along.
    Precomputed,
}

impl Default for KernelSpec {
    fn default() -> Self {
        Self::Pck(Pck::default())
    }
}

impl KernelSpec {
    /// Fits the kernel on rows. The ideal and the precomputed kernel are not kernels of rows: an error says so.
    pub fn fit(&self, x: ArrayView2<f32>) -> Result<Box<dyn Kernel>> {
        let not_of_rows = |what: &str| Err(Error::setting("kernel", what));
        Ok(match self {
            Self::Pck(settings) => Box::new(settings.fit(x)?),
            Self::Rbf(settings) => Box::new(settings.fit(x)?),
            Self::Linear => Box::new(Linear),
            Self::Polynomial(settings) => Box::new(settings.fit(x)?),
            Self::Cosine => Box::new(Cosine),
            Self::Sum(settings) => Box::new(settings.fit(x)?),
            Self::Ideal => {
                return not_of_rows("the ideal kernel is known for labelled rows only, not for rows in general");
            }
            Self::Precomputed => {
                return not_of_rows(
                    "a precomputed kernel is known for its own rows only; choose a kernel with a formula for others",
                );
            }
        })
    }

    /// All that can be wrong with the settings by themselves, before there are rows.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Pck(settings) => settings.check(),
            Self::Rbf(settings) => settings.check(),
            Self::Polynomial(settings) => settings.check(),
            Self::Sum(settings) => settings.check(),
            Self::Linear | Self::Cosine | Self::Ideal | Self::Precomputed => Ok(()),
        }
    }

    /// The same kernel with this seed for all that is random in it.
    pub fn with_seed(mut self, seed: u64) -> Self {
        match &mut self {
            Self::Pck(settings) => settings.seed = seed,
            Self::Rbf(settings) => settings.seed = seed,
            Self::Sum(settings) => {
                settings.parts.iter_mut().for_each(|part| part.kernel = part.kernel.clone().with_seed(seed));
            }
            Self::Linear | Self::Polynomial(_) | Self::Cosine | Self::Ideal | Self::Precomputed => {}
        }
        self
    }

    /// Whether [`fit`](Self::fit) can work: not for the ideal and the precomputed kernel.
    pub fn is_of_rows(&self) -> bool {
        !matches!(self, Self::Ideal | Self::Precomputed)
    }

    /// One line: the kernel and its settings.
    pub fn describe(&self) -> String {
        match self {
            Self::Pck(settings) => settings.describe(),
            Self::Rbf(settings) => settings.describe(),
            Self::Linear => Linear.describe(),
            Self::Polynomial(settings) => settings.describe(),
            Self::Cosine => Cosine.describe(),
            Self::Sum(settings) => settings.describe(),
            Self::Ideal => "ideal kernel of the labels".into(),
            Self::Precomputed => "precomputed matrix".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::analytic::tests::random;
    use super::super::{Floor, Width};
    use super::*;
    use ndarray::Array2;

    #[test]
    fn every_kernel_survives_json_and_says_what_it_is() {
        let sum = Sum { parts: vec![super::super::Part { weight: 1.0, kernel: KernelSpec::Cosine }] };
        for spec in [
            KernelSpec::default(),
            KernelSpec::Pck(Pck { floor: Floor::Relative(0.15), ..Pck::default() }),
            KernelSpec::Rbf(Rbf { width: Width::Value(2.5), seed: 1 }),
            KernelSpec::Linear,
            KernelSpec::Polynomial(Polynomial::default()),
            KernelSpec::Cosine,
            KernelSpec::Sum(sum),
            KernelSpec::Ideal,
            KernelSpec::Precomputed,
        ] {
            let json = serde_json::to_string(&spec).unwrap();
            assert_eq!(serde_json::from_str::<KernelSpec>(&json).unwrap(), spec, "{json}");
            assert!(!spec.describe().is_empty() && !spec.describe().contains('\n'));
        }
        let partial: KernelSpec = serde_json::from_str(r#"{"pck": {"restarts": 5}}"#).unwrap();
        assert_eq!(partial, KernelSpec::Pck(Pck { restarts: 5, ..Pck::default() }));
        assert!(serde_json::from_str::<KernelSpec>(r#"{"pck": {"restart": 5}}"#).is_err());
    }

    #[test]
    fn every_kernel_of_rows_makes_a_prior_and_the_others_say_why_not() {
        let x = random(40, 3, 1);
        for spec in [
            KernelSpec::Pck(Pck { restarts: 2, max_components: 3, ..Pck::default() }),
            KernelSpec::Rbf(Rbf::default()),
            KernelSpec::Linear,
            KernelSpec::Polynomial(Polynomial::default()),
            KernelSpec::Cosine,
        ] {
            let kernel = spec.fit(x.view()).unwrap();
            let mut p = Array2::from_elem((3, 3), f32::NAN);
            kernel.prior(x.view()).unwrap().block(&[0, 1, 3], &[0, 1, 3], p.view_mut());
            assert!(p.iter().all(|v| v.is_finite()) && p[[0, 0]] > 0.0, "{}", spec.describe());
        }
        for spec in [KernelSpec::Ideal, KernelSpec::Precomputed] {
            assert!(!spec.is_of_rows() && spec.fit(x.view()).is_err());
        }
    }
}
