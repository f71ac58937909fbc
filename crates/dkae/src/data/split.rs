//! Dividing rows into a training, a validation and a test part: at random, or by a column of the file.
//!
//! ```
//! use dkae::data::split::Split;
//!
//! let split = Split::random(20_000, [0.70, 0.15, 0.15], 0)?;
//! assert_eq!((split.train.len(), split.validation.len(), split.test.len()), (14_000, 3000, 3000));
//! # Ok::<(), dkae::Error>(())
//! ```

use crate::math::rng::{Purpose, sample, stream};
use crate::{Error, Result};

/// Which rows are for what. No row is in two parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// Rows to learn from.
    pub train: Vec<usize>,
    /// Rows to choose settings by.
    pub validation: Vec<usize>,
    /// Rows to measure the result on.
    pub test: Vec<usize>,
}

impl Split {
    /// Divides `n` rows at random by these fractions for training, validation and test, which must sum to 1. The first
    /// two sizes are rounded, the last takes the rest.
    pub fn random(n: usize, fractions: [f64; 3], seed: u64) -> Result<Self> {
        Self::random_of(n, n, fractions, seed)
    }

    /// Draws `take` of `n` rows at random and divides those.
    pub fn random_of(n: usize, take: usize, fractions: [f64; 3], seed: u64) -> Result<Self> {
        check_fractions(fractions)?;
        if take > n {
            return Err(Error::setting("take", format!("{take} rows cannot be drawn from {n}")));
        }
        let part = |fraction: f64| (fraction * take as f64).round() as usize;
        let train = part(fractions[0]);
        if train == 0 {
            let message = format!("nothing is left to learn from: a fraction of {} of {take} rows", fractions[0]);
            return Err(Error::setting("split", message));
        }
        let validation = part(fractions[1]).min(take - train);
        let mut rows = sample(&mut stream(seed, Purpose::Split, 0, 0), n, take);
        let test = rows.split_off(train + validation);
        let validation = rows.split_off(train);
        Ok(Self { train: rows, validation, test })
    }

    /// Divides rows by the group each belongs to; rows of other groups are left out.
    pub fn by_group(groups: &[String], train: &str, validation: &str, test: &str) -> Result<Self> {
        check_groups([train, validation, test])?;
        let part = |name: &str| -> Result<Vec<usize>> {
            let rows: Vec<usize> = (0..groups.len()).filter(|&i| groups[i] == name).collect();
            if rows.is_empty() {
                let mut known: Vec<&str> = groups.iter().map(String::as_str).collect();
                known.sort_unstable();
                known.dedup();
                known.truncate(20);
                let message = format!("no row is in group `{name}`; the groups are: {}", known.join(", "));
                return Err(Error::setting("split-by", message));
            }
            Ok(rows)
        };
        Ok(Self { train: part(train)?, validation: part(validation)?, test: part(test)? })
    }

    /// Draws so many rows of the training, the validation and the test part at random.
    pub fn take(&self, sizes: [usize; 3], seed: u64) -> Result<Self> {
        let draw = |part: &[usize], size: usize, name: &str, stream_number: u64| {
            if size > part.len() {
                let message = format!("{size} rows cannot be drawn from the {} of the {name} part", part.len());
                return Err(Error::setting("take", message));
            }
            // Counter 0 is the random split itself.
            let drawn = sample(&mut stream(seed, Purpose::Split, stream_number, 0), part.len(), size);
            Ok(drawn.into_iter().map(|i| part[i]).collect())
        };
        Ok(Self {
            train: draw(&self.train, sizes[0], "training", 1)?,
            validation: draw(&self.validation, sizes[1], "validation", 2)?,
            test: draw(&self.test, sizes[2], "test", 3)?,
        })
    }
}

/// Shares that divide the whole.
pub(crate) fn check_fractions(fractions: [f64; 3]) -> Result<()> {
    if fractions.iter().any(|f| !(0.0..=1.0).contains(f)) || (fractions.iter().sum::<f64>() - 1.0).abs() > 1e-9 {
        let message =
            format!("{fractions:?} are not three fractions from 0 to 1 that sum to 1, such as 0.7, 0.15, 0.15");
        return Err(Error::setting("split", message));
    }
    Ok(())
}

/// Groups that share no row.
pub(crate) fn check_groups([train, validation, test]: [&str; 3]) -> Result<()> {
    if train == validation || train == test || validation == test {
        let message = format!("the parts must be different groups, but are `{train}`, `{validation}` and `{test}`");
        return Err(Error::setting("split-by", message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::test_files::message;
    use proptest::prelude::*;

    const USUAL: [f64; 3] = [0.70, 0.15, 0.15];

    proptest! {
        #[test]
        fn every_row_is_in_one_part(n in 1usize..300, a in 0.2f64..1.0, b in 0.0f64..1.0, seed: u64) {
            let fractions = [a, (1.0 - a) * b, (1.0 - a) * (1.0 - b)];
            prop_assume!((n as f64 * a).round() >= 1.0);
            let split = Split::random(n, fractions, seed).unwrap();
            prop_assert_eq!(split.train.len(), (n as f64 * a).round() as usize);
            let mut all = [&split.train[..], &split.validation, &split.test].concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..n).collect::<Vec<_>>());
        }
    }

    #[test]
    fn sizes_are_rounded_and_sum_to_all() {
        let split = Split::random(11_276, USUAL, 3).unwrap();
        assert_eq!((split.train.len(), split.validation.len(), split.test.len()), (7893, 1691, 1692));
        let split = Split::random_of(60_000, 20_000, USUAL, 3).unwrap();
        assert_eq!((split.train.len(), split.validation.len(), split.test.len()), (14_000, 3000, 3000));
        assert!(split.train.iter().any(|&i| i >= 40_000));
    }

    #[test]
    fn the_seed_decides() {
        let split = |seed| Split::random(100, USUAL, seed).unwrap();
        assert_eq!(split(1), split(1));
        assert_ne!(split(1), split(2));
    }

    #[test]
    fn groups_are_the_parts_and_can_be_thinned() {
        let groups: Vec<String> = (0..40).map(|i| ["a", "b", "c", "d"][i % 4].to_owned()).collect();
        let split = Split::by_group(&groups, "c", "a", "b").unwrap();
        assert_eq!((split.train[1], split.validation[1], split.test[1]), (6, 4, 5));
        assert_eq!((split.train.len(), split.validation.len(), split.test.len()), (10, 10, 10));
        let thin = split.take([4, 10, 0], 1).unwrap();
        assert_eq!((thin.train.len(), thin.validation.len(), thin.test.len()), (4, 10, 0));
        assert!(thin.train.iter().all(|i| i % 4 == 2));
        let mut validation = thin.validation.clone();
        validation.sort_unstable();
        assert_eq!(validation, split.validation);
        assert!(
            message(split.take([11, 0, 0], 1)).contains("11 rows cannot be drawn from the 10 of the training part")
        );
        assert!(message(Split::by_group(&groups, "x", "a", "b")).contains("the groups are: a, b, c, d"));
        assert!(message(Split::by_group(&groups, "a", "a", "b")).contains("different groups"));
    }

    #[test]
    fn impossible_divisions_are_refused() {
        assert!(message(Split::random(10, [0.5, 0.5, 0.5], 0)).starts_with("split:"));
        assert!(message(Split::random(10, [1.2, -0.2, 0.0], 0)).starts_with("split:"));
        assert!(message(Split::random(10, [f64::NAN, 0.5, 0.5], 0)).starts_with("split:"));
        assert!(message(Split::random(0, USUAL, 0)).contains("nothing is left"));
        assert!(message(Split::random_of(10, 11, USUAL, 0)).starts_with("take:"));
    }
}
