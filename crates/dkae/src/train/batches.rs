//! Which rows make the batch of a step, and the noise that is put on them.
//!
//! Both depend on the seed, the phase and the step alone, so that a run resumed at any step draws what it would have
//! drawn.

use std::collections::BTreeMap;
use std::str::FromStr;

use ndarray::{ArrayViewMut2, s};
use rand::RngExt;
use rand_distr::StandardNormal;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::short;
use crate::Error;
use crate::math::rng::{self, Purpose};
use crate::written::only;

/// How batches are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Batches {
    /// Every row once per pass, in a new order each time; rows that do not fill a batch wait for the next pass.
    #[default]
    Permutation,
    /// Every row of every batch drawn independently: the paper's.
    Independent,
}

/// What is done to inputs before they are encoded; the clean inputs remain what has to be reconstructed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", rename_all = "kebab-case")]
pub enum Noise {
    /// Nothing.
    #[default]
    None,
    /// This share of the features is set to zero (0.2 is the paper's denoising autoencoder).
    Mask(#[serde(serialize_with = "short::number")] f32),
    /// Normal noise of this standard deviation is added.
    Gauss(#[serde(serialize_with = "short::number")] f32),
}

impl FromStr for Batches {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "permutation" => Ok(Batches::Permutation),
            "independent" => Ok(Batches::Independent),
            _ => Err(Error::setting("batches", format!("expected permutation or independent, found '{text}'"))),
        }
    }
}

/// Noise as settings files may write it: as the flag does, or as a table such as `{ mask = 0.2 }`.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected none, mask:SHARE or gauss:DEVIATION, in quotes")]
enum Written {
    Text(String),
    Table(BTreeMap<String, f32>),
}

impl TryFrom<Written> for Noise {
    type Error = Error;

    fn try_from(written: Written) -> Result<Self, Error> {
        match written {
            Written::Text(text) => text.parse(),
            Written::Table(table) => match only(&table) {
                Some(("mask", share)) => Ok(Noise::Mask(share)),
                Some(("gauss", deviation)) => Ok(Noise::Gauss(deviation)),
                _ => Err(Error::setting("noise", "expected mask:SHARE or gauss:DEVIATION")),
            },
        }
    }
}

/// `none`, `mask:0.2`, `gauss:0.25`.
impl FromStr for Noise {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || Error::setting("noise", format!("expected none, mask:SHARE or gauss:DEVIATION, found '{text}'"));
        let amount = |text: &str| text.parse().map_err(|_| bad());
        match text.split_once(':') {
            None if text == "none" => Ok(Noise::None),
            Some(("mask", share)) => Ok(Noise::Mask(amount(share)?)),
            Some(("gauss", deviation)) => Ok(Noise::Gauss(amount(deviation)?)),
            _ => Err(bad()),
        }
    }
}

/// Draws the batches of one phase of training.
pub struct Sampler {
    batches: Batches,
    seed: u64,
    phase: u64,
    rows: usize,
    /// The order of the pass in progress.
    order: Vec<usize>,
    pass: Option<u64>,
}

impl Sampler {
    /// For `rows` rows.
    pub fn new(batches: Batches, seed: u64, phase: u64, rows: usize) -> Self {
        Sampler { batches, seed, phase, rows, order: (0..rows).collect(), pass: None }
    }

    /// Writes the rows of batch number `step` into `batch`, which must not be longer than there are rows.
    pub fn draw(&mut self, step: u64, batch: &mut [usize]) {
        let k = batch.len();
        match self.batches {
            Batches::Independent => {
                let mut rng = rng::stream(self.seed, Purpose::Batches, self.phase, step);
                batch.fill_with(|| rng::below(&mut rng, self.rows));
            }
            Batches::Permutation => {
                let per_pass = (self.rows / k) as u64;
                let (pass, place) = (step / per_pass, (step % per_pass) as usize);
                if self.pass != Some(pass) {
                    self.order.iter_mut().enumerate().for_each(|(i, row)| *row = i);
                    rng::shuffle(&mut rng::stream(self.seed, Purpose::Batches, self.phase, pass), &mut self.order);
                    self.pass = Some(pass);
                }
                batch.copy_from_slice(&self.order[place * k..(place + 1) * k]);
            }
        }
    }
}

impl Noise {
    /// An error unless the amount makes sense.
    pub fn check(self) -> Result<(), Error> {
        match self {
            Noise::Mask(share) if !(0.0..1.0).contains(&share) => {
                Err(Error::setting("noise", format!("expected a share in [0, 1) to mask, found {share}")))
            }
            Noise::Gauss(deviation) if !(deviation >= 0.0 && deviation.is_finite()) => {
                Err(Error::setting("noise", format!("expected a deviation of at least 0, found {deviation}")))
            }
            _ => Ok(()),
        }
    }

    /// Disturbs a batch (features x rows, only the first `k` columns are rows); every feature has its own stream, so
    /// features can be worked on in any order.
    pub fn disturb(self, seed: u64, phase: u64, step: u64, k: usize, mut batch: ArrayViewMut2<f32>) {
        if self == Noise::None {
            return;
        }
        let width = batch.nrows() as u64;
        batch.outer_iter_mut().into_par_iter().enumerate().for_each(|(feature, mut values)| {
            let mut rng = rng::stream(seed, Purpose::Noise, phase, step * width + feature as u64);
            for value in values.slice_mut(s![..k]) {
                match self {
                    Noise::None => {}
                    Noise::Mask(share) => {
                        if rng.random::<f32>() < share {
                            *value = 0.0;
                        }
                    }
                    Noise::Gauss(deviation) => *value += deviation * rng.sample::<f32, _>(StandardNormal),
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::threads;
    use ndarray::Array2;

    #[test]
    fn a_pass_of_permutations_meets_every_row_once() {
        let mut sampler = Sampler::new(Batches::Permutation, 1, 0, 103);
        let mut batch = [0; 10];
        let mut seen = vec![0; 103];
        for step in 0..10 {
            sampler.draw(step, &mut batch);
            batch.iter().for_each(|&i| seen[i] += 1);
        }
        assert_eq!(seen.iter().sum::<i32>(), 100);
        assert!(seen.iter().all(|&n| n <= 1));
    }

    #[test]
    fn a_batch_depends_on_its_step_alone() {
        for kind in [Batches::Permutation, Batches::Independent] {
            let (mut a, mut b) = ([0; 7], [0; 7]);
            let mut sampler = Sampler::new(kind, 1, 2, 50);
            (0..30).for_each(|step| sampler.draw(step, &mut a));
            Sampler::new(kind, 1, 2, 50).draw(29, &mut b);
            assert_eq!(a, b);
        }
    }

    #[test]
    fn noise_has_the_share_and_deviation_asked_for_and_spares_padding() {
        let draw = |noise: Noise| {
            let mut batch = Array2::from_elem((100, 208), 1.0f32);
            threads::run(|| noise.disturb(1, 0, 3, 200, batch.view_mut()));
            assert!(batch.slice(s![.., 200..]).iter().all(|&v| v == 1.0));
            batch.slice(s![.., ..200]).to_owned()
        };
        let masked = draw(Noise::Mask(0.2)).iter().filter(|&&v| v == 0.0).count() as f32 / 20_000.0;
        assert!((masked - 0.2).abs() < 0.01, "{masked}");
        let noisy = draw(Noise::Gauss(0.25));
        let (mean, deviation) = (noisy.mean().unwrap(), noisy.std(0.0));
        assert!((mean - 1.0).abs() < 0.01 && (deviation - 0.25).abs() < 0.005, "{mean} {deviation}");
    }
}
