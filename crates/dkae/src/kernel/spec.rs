//! Any kernel by its settings, for commands, settings files and model files.
//!
//! Kernels of rows are [fitted](KernelSpec::fit) and then know any row. Two priors are not kernels of rows: the ideal one
//! is made of labels and the precomputed one of a matrix; [`KernelSpec::prior`] makes those that need no fitted kernel.

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

use super::{Cosine, Ideal, Kernel, Linear, Pck, Polynomial, Prior, Rbf, Sum};

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

    /// Whether [`fit`](Self::fit) can work: not for the ideal and the precomputed kernel.
    pub fn is_of_rows(&self) -> bool {
        !matches!(self, Self::Ideal | Self::Precomputed)
    }

    /// P of rows, from the fitted kernel where it is one of rows, from the labels where it is the ideal one.
    pub fn prior<'a>(
        &self,
        fitted: Option<&'a dyn Kernel>,
        x: ArrayView2<'a, f32>,
        labels: Option<&'a [u32]>,
    ) -> Result<Box<dyn Prior + 'a>> {
        match (self, fitted, labels) {
            (Self::Ideal, _, Some(labels)) if labels.len() == x.nrows() => Ok(Box::new(Ideal::new(labels))),
            (Self::Ideal, _, Some(labels)) => Err(Error::Data(format!(
                "the ideal kernel needs one label per row: {} labels, {} rows",
                labels.len(),
                x.nrows()
            ))),
            (Self::Ideal, _, None) => Err(Error::Data(
                "the ideal kernel is made of labels, and the data have none; name the label column".into(),
            )),
            (Self::Precomputed, ..) => {
                Err(Error::setting("kernel", "a precomputed kernel comes with its matrix (Precomputed::new)"))
            }
            (_, Some(kernel), _) => kernel.prior(x),
            (_, None, _) => Err(Error::setting("kernel", "must be fitted on rows before it makes a prior")),
        }
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
    fn every_kernel_of_rows_makes_a_prior_and_the_ideal_one_needs_labels() {
        let x = random(40, 3, 1);
        let labels: Vec<u32> = (0..40).map(|i| i % 3).collect();
        for spec in [
            KernelSpec::Pck(Pck { restarts: 2, max_components: 3, ..Pck::default() }),
            KernelSpec::Rbf(Rbf::default()),
            KernelSpec::Linear,
            KernelSpec::Polynomial(Polynomial::default()),
            KernelSpec::Cosine,
            KernelSpec::Ideal,
        ] {
            let fitted = if spec.is_of_rows() { Some(spec.fit(x.view()).unwrap()) } else { None };
            assert!(spec.is_of_rows() || spec.fit(x.view()).is_err());
            let prior = spec.prior(fitted.as_deref(), x.view(), Some(&labels)).unwrap();
            let mut p = Array2::from_elem((3, 3), f32::NAN);
            prior.block(&[0, 1, 3], &[0, 1, 3], p.view_mut());
            assert!(p.iter().all(|v| v.is_finite()) && p[[0, 0]] > 0.0, "{}", spec.describe());
        }
        assert!(KernelSpec::Ideal.prior(None, x.view(), None).is_err());
        assert!(KernelSpec::Ideal.prior(None, x.view(), Some(&labels[..39])).is_err());
    }
}
