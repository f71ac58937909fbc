//! Random numbers by purpose: every consumer draws from a stream of its own, named by what it is for.
//!
//! A stream depends on the seed, the purpose and two counters (which mixture, which epoch, which step), and on nothing
//! else: not on the number of threads, not on what was drawn before. So work can be split, skipped or resumed anywhere
//! and still draws the same numbers.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// What a stream of random numbers is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Purpose {
    /// Splitting rows into training, validation and test parts.
    Split = 1,
    /// Drawing a subset of rows.
    Subset = 2,
    /// Starting a mixture; counters: restart, components.
    Mixture = 3,
    /// Initial weights; counter: layer.
    Weights = 4,
    /// Order of the rows in batches; counters: phase, epoch or step.
    Batches = 5,
    /// Noise added to inputs; counters: phase, step.
    Noise = 6,
    /// Starting k-means; counter: restart.
    KMeans = 7,
    /// Random test vectors of iterative and randomised linear algebra.
    Sketch = 8,
    /// Order of coordinate descent; counters: class, sweep.
    Descent = 9,
    /// Demonstrations and examples.
    Demo = 10,
}

/// The stream of `seed` for `purpose` and two counters.
pub fn stream(seed: u64, purpose: Purpose, a: u64, b: u64) -> ChaCha8Rng {
    let mut key = [0u8; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&(purpose as u64).to_le_bytes());
    key[16..24].copy_from_slice(&a.to_le_bytes());
    key[24..].copy_from_slice(&b.to_le_bytes());
    ChaCha8Rng::from_seed(key)
}

/// A whole number in `0..n`, the same on 32- and 64-bit machines.
pub fn below(rng: &mut ChaCha8Rng, n: usize) -> usize {
    rng.random_range(0..n as u64) as usize
}

/// Shuffles `items` in place (Fisher-Yates).
pub fn shuffle<T>(rng: &mut ChaCha8Rng, items: &mut [T]) {
    for i in (1..items.len()).rev() {
        items.swap(i, below(rng, i + 1));
    }
}

/// `m` different numbers below `n`, in random order. `m` must not exceed `n`.
pub fn sample(rng: &mut ChaCha8Rng, n: usize, m: usize) -> Vec<usize> {
    assert!(m <= n, "cannot draw {m} of {n} without repetition");
    let mut all: Vec<usize> = (0..n).collect();
    for i in 0..m {
        let j = i + below(rng, n - i);
        all.swap(i, j);
    }
    all.truncate(m);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_purpose_and_counters_and_repeat() {
        let draw = |p, a, b| stream(7, p, a, b).random::<u64>();
        let base = draw(Purpose::Split, 0, 0);
        assert_eq!(base, draw(Purpose::Split, 0, 0));
        assert_ne!(base, draw(Purpose::Subset, 0, 0));
        assert_ne!(base, draw(Purpose::Split, 1, 0));
        assert_ne!(base, draw(Purpose::Split, 0, 1));
    }

    #[test]
    fn a_sample_has_no_repetitions() {
        let mut drawn = sample(&mut stream(1, Purpose::Subset, 0, 0), 50, 50);
        drawn.sort_unstable();
        assert_eq!(drawn, (0..50).collect::<Vec<_>>());
    }
}
