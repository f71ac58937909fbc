//! How long training lasts and how fast it learns.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Error;

/// The length of a phase of training.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "LengthText", into = "String")]
pub enum Length {
    /// So many batches, however many rows there are.
    Steps(u64),
    /// So many times (n/k)^2 batches: the paper's notion of an epoch.
    PaperEpochs(u64),
}

impl Length {
    /// In steps, for `n` rows in batches of `k`.
    pub fn steps(self, n: usize, k: usize) -> u64 {
        match self {
            Length::Steps(steps) => steps,
            Length::PaperEpochs(epochs) => {
                let batches = n as f64 / k as f64;
                (epochs as f64 * batches * batches).round() as u64
            }
        }
    }
}

/// `3000`, or `100 paper-epochs`.
impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Length::Steps(n) => write!(f, "{n}"),
            Length::PaperEpochs(n) => write!(f, "{n} paper-epochs"),
        }
    }
}

impl FromStr for Length {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad =
            || Error::setting("length", format!("expected a number of steps, or '100 paper-epochs', found '{text}'"));
        let (number, unit) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        let number = number.parse().map_err(|_| bad())?;
        match unit.trim() {
            "" | "steps" => Ok(Length::Steps(number)),
            "paper-epochs" => Ok(Length::PaperEpochs(number)),
            _ => Err(bad()),
        }
    }
}

/// As settings files may write it: a number or a text.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a number of steps, or text such as '100 paper-epochs'")]
enum LengthText {
    Number(u64),
    Text(String),
}

impl TryFrom<LengthText> for Length {
    type Error = Error;

    fn try_from(value: LengthText) -> Result<Self, Error> {
        match value {
            LengthText::Number(n) => Ok(Length::Steps(n)),
            LengthText::Text(text) => text.parse(),
        }
    }
}

impl From<Length> for String {
    fn from(length: Length) -> String {
        length.to_string()
    }
}

/// How the learning rate changes over a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// Rises over the first 100 steps (a tenth of a short phase), then falls to zero along a half cosine.
    Cosine,
    /// The same from first to last: the paper's.
    Constant,
}

impl FromStr for Schedule {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "cosine" => Ok(Schedule::Cosine),
            "constant" => Ok(Schedule::Constant),
            _ => Err(Error::setting("schedule", format!("expected cosine or constant, found '{text}'"))),
        }
    }
}

impl Schedule {
    /// What the peak rate is multiplied with at `step` (from 0) of `steps`.
    pub fn factor(self, step: u64, steps: u64) -> f64 {
        match self {
            Schedule::Constant => 1.0,
            Schedule::Cosine => {
                let warm_up = 100.min(steps / 10);
                if step < warm_up {
                    return (step + 1) as f64 / (warm_up + 1) as f64;
                }
                let done = (step - warm_up) as f64 / (steps - warm_up).max(1) as f64;
                0.5 * (1.0 + (std::f64::consts::PI * done).cos())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_epochs_are_squared() {
        assert_eq!(Length::PaperEpochs(1).steps(14_000, 200), 4900);
        assert_eq!((Length::PaperEpochs(4 * 30 + 100)).steps(14_000, 200), 1_078_000);
    }

    #[test]
    fn lengths_are_read_as_they_are_written() {
        for length in [Length::Steps(3000), Length::PaperEpochs(100)] {
            assert_eq!(length.to_string().parse::<Length>().unwrap(), length);
        }
        for bad in ["", "-3", "3 days", "many"] {
            assert!(bad.parse::<Length>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_cosine_rises_peaks_and_ends_near_zero() {
        let rate = |step| Schedule::Cosine.factor(step, 3000);
        assert!(rate(0) < 0.02 && (rate(100) - 1.0).abs() < 1e-12 && rate(2999) < 1e-5);
        assert!((1..3000).all(|s| if s <= 100 { rate(s) > rate(s - 1) } else { rate(s) < rate(s - 1) }));
        assert!((0..3).all(|s| Schedule::Cosine.factor(s, 3).is_finite()));
    }
}
