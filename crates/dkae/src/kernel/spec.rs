//! Any kernel by its settings, for commands, settings files and model files.
//!
//! Kernels of rows are [fitted](KernelSpec::fit) and then know any row. Two priors are not kernels of rows: the ideal one
//! is made of labels ([`super::Ideal`]) and the precomputed one of a matrix ([`super::Precomputed`]).
//!
//! As text a kernel is its name, `rbf`, or a sum of names with weights, `0.5*pck+rbf`; all other settings are the default
//! then. A settings file may have that text, or a table such as `[kernel.rbf]`.

use std::fmt;
use std::str::FromStr;

use ndarray::ArrayView2;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::progress::{Progress, Silent};
use crate::{Error, Result};

use super::{Cosine, Kernel, Linear, Part, Pck, Polynomial, Rbf, Sum};

/// A kernel and its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "kebab-case")]
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
        self.fit_watched(x, &Silent)
    }

    /// As [`fit`](Self::fit), with someone to report to.
    pub fn fit_watched(&self, x: ArrayView2<f32>, progress: &dyn Progress) -> Result<Box<dyn Kernel>> {
        let not_of_rows = |what: &str| Err(Error::setting("kernel", what));
        Ok(match self {
            Self::Pck(settings) => Box::new(settings.fit_watched(x, progress)?),
            Self::Rbf(settings) => Box::new(settings.fit(x)?),
            Self::Linear => Box::new(Linear),
            Self::Polynomial(settings) => Box::new(settings.fit(x)?),
            Self::Cosine => Box::new(Cosine),
            Self::Sum(settings) => Box::new(settings.fit_watched(x, progress)?),
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

impl FromStr for KernelSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if !text.contains(['+', '*']) {
            return Self::named(text);
        }
        let part = |part: &str| {
            let (weight, name) = match part.split_once('*') {
                None => (1.0, part),
                Some((weight, name)) => match weight.trim().parse() {
                    Ok(weight) => (weight, name),
                    Err(_) => {
                        let message = format!("expected a sum such as 0.5*pck+rbf, but '{weight}' is not a number");
                        return Err(Error::setting("kernel", message));
                    }
                },
            };
            Ok(Part { weight, kernel: Self::named(name)? })
        };
        let sum = Sum { parts: text.split('+').map(part).collect::<Result<_>>()? };
        sum.check()?;
        Ok(Self::Sum(sum))
    }
}

impl KernelSpec {
    fn named(name: &str) -> Result<Self> {
        Ok(match name.trim() {
            "pck" => Self::Pck(Pck::default()),
            "rbf" => Self::Rbf(Rbf::default()),
            "linear" => Self::Linear,
            "polynomial" => Self::Polynomial(Polynomial::default()),
            "cosine" => Self::Cosine,
            "ideal" => Self::Ideal,
            "precomputed" => Self::Precomputed,
            other => {
                let message = format!(
                    "expected pck, rbf, linear, polynomial, cosine, ideal, or a sum such as pck+rbf, found '{other}'"
                );
                return Err(Error::setting("kernel", message));
            }
        })
    }
}

impl Serialize for KernelSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The derived one.
        KernelSpec::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for KernelSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrTable;

        impl<'de> Visitor<'de> for TextOrTable {
            type Value = KernelSpec;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("the name of a kernel, or a table with its settings")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<KernelSpec, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<KernelSpec, A::Error> {
                let spec = KernelSpec::deserialize(MapAccessDeserializer::new(&mut map))?;
                match map.next_key::<IgnoredAny>()? {
                    None => Ok(spec),
                    Some(_) => Err(de::Error::custom("one kernel was expected; for several, give a sum: pck+rbf")),
                }
            }
        }

        deserializer.deserialize_any(TextOrTable)
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
        let json = serde_json::to_string(&KernelSpec::default()).unwrap();
        assert!(json.contains("max-components") && !json.contains('_'), "{json}");
        let older: KernelSpec = serde_json::from_str(r#"{"pck": {"max_components": 5, "max_iterations": 9}}"#).unwrap();
        assert_eq!(older, KernelSpec::Pck(Pck { max_components: 5, max_iterations: 9, ..Pck::default() }));
    }

    #[test]
    fn a_name_or_a_sum_of_names_is_a_kernel() {
        let read = |text: &str| serde_json::from_value::<KernelSpec>(text.into()).map_err(|e| e.to_string());
        assert_eq!(read("rbf").unwrap(), KernelSpec::Rbf(Rbf::default()));
        assert_eq!(read("linear").unwrap(), KernelSpec::Linear);
        let part = |weight: f64, kernel: KernelSpec| Part { weight, kernel };
        let parts = vec![part(0.5, KernelSpec::default()), part(1.0, KernelSpec::Cosine)];
        assert_eq!(read("0.5*pck + cosine").unwrap(), KernelSpec::Sum(Sum { parts }));
        for (text, words) in [
            ("gauss", "'gauss'"),
            ("pck+", "''"),
            ("x*pck", "'x' is not a number"),
            ("-1*pck+rbf", "positive weight"),
            ("pck+ideal", "not the ideal kernel"),
        ] {
            let message = read(text).unwrap_err();
            assert!(message.contains(words), "{message}");
        }
        let two = serde_json::from_str::<KernelSpec>(r#"{"pck": {}, "rbf": {}}"#).unwrap_err().to_string();
        assert!(two.contains("give a sum"), "{two}");
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
