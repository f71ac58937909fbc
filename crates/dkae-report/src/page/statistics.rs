//! What is known of each feature from the training rows: least, largest and mean values, deviations, and where the bars
//! that show its values begin and end.
//!
//! A bar runs from the least to the largest value. Where single values lie far from all others (a sum of money with a
//! misplaced point), that would leave nothing of the others to see: there it ends before them. Far is what lies more than
//! three times the range of the middle 98 % of the values beyond these.

use dkae::data::prepare::Preparation;
use dkae::recipe::Source;
use ndarray::{Array1, Array2};

use super::looks::Raw;
use crate::{Error, Result};

/// Rows worked on at a time: rows of text are wide once they are back in the units of the data.
pub(super) const BLOCK: usize = 256;
/// Training rows that the middle of the values is found from, at most; spread evenly.
const SAMPLE: usize = 1000;
/// The share of values beyond each end of the middle.
const BEYOND: f64 = 0.01;
/// How far beyond the middle a value has to be for the bar to end before it, as a multiple of the middle's range.
/// Of normal and exponential values the last is never so far.
const FAR: f64 = 3.0;

/// Least, largest and mean values of each feature in the training rows, and their standard deviations.
pub(super) struct Statistics {
    pub low: Array1<f32>,
    pub high: Array1<f32>,
    pub mean: Array1<f64>,
    pub deviation: Array1<f64>,
}

impl Statistics {
    pub fn new(source: &Source, preparation: &Preparation, train: &[usize]) -> Result<Statistics> {
        // Squares are summed around the first row, or large means would drown small deviations.
        let origin = match Raw::of(source, preparation, &train[..train.len().min(1)])? {
            Raw::Dense(x) => x.rows().into_iter().next().map(|row| row.to_owned()),
            Raw::Words(x) => Some(Array1::zeros(x.ncols())),
        };
        let origin = origin
            .filter(|_| !train.is_empty())
            .ok_or_else(|| Error::Data("a report needs training rows, found none".to_owned()))?;
        let width = origin.len();
        let (mut sum, mut squares) = (Array1::<f64>::zeros(width), Array1::<f64>::zeros(width));
        let (mut low, mut high) =
            (Array1::from_elem(width, f32::INFINITY), Array1::from_elem(width, f32::NEG_INFINITY));
        let mut counts = vec![0usize; width];
        let mut count = |j: usize, v: f32| {
            let shifted = f64::from(v) - f64::from(origin[j]);
            sum[j] += shifted;
            squares[j] += shifted * shifted;
            (low[j], high[j]) = (low[j].min(v), high[j].max(v));
            counts[j] += 1;
        };
        for rows in train.chunks(BLOCK) {
            match Raw::of(source, preparation, rows)? {
                Raw::Dense(x) => {
                    x.rows().into_iter().for_each(|row| row.iter().enumerate().for_each(|(j, &v)| count(j, v)))
                }
                Raw::Words(x) => (0..x.nrows()).for_each(|i| {
                    let (words, weights) = x.row(i);
                    words.iter().zip(weights).for_each(|(&j, &v)| count(j as usize, v));
                }),
            }
        }
        // What a sparse row does not mention is zero.
        for (j, _) in counts.iter().enumerate().filter(|(_, count)| **count < train.len()) {
            (low[j], high[j]) = (low[j].min(0.0), high[j].max(0.0));
        }
        let n = train.len() as f64;
        let shift = sum / n;
        let deviation = (squares / n - &shift * &shift).mapv(|v| v.max(0.0).sqrt());
        Ok(Statistics { low, high, mean: shift + origin.mapv(f64::from), deviation })
    }

    /// Where the bars of each feature begin and end. Words have no far values: their weights are shares of a text.
    pub fn bars(&self, source: &Source, preparation: &Preparation, train: &[usize]) -> Result<Vec<(f32, f32)>> {
        let ends = |j: usize| (self.low[j], self.high[j]);
        let all = (0..self.low.len()).map(ends).collect();
        let step = train.len().div_ceil(SAMPLE).max(1);
        let sample: Vec<usize> = train.iter().copied().step_by(step).collect();
        Ok(match Raw::of(source, preparation, &sample)? {
            Raw::Dense(x) => columns_near_ends(&x, all),
            Raw::Words(_) => all,
        })
    }
}

/// The ends of bars, before what is far from all others in the columns of `x`.
fn columns_near_ends(x: &Array2<f32>, ends: Vec<(f32, f32)>) -> Vec<(f32, f32)> {
    x.columns().into_iter().zip(ends).map(|(column, ends)| near_ends(column.to_vec(), ends)).collect()
}

/// The least and the largest of values, but for single values far from all others; `low` and `high` are those of all.
pub(super) fn near_ends(mut values: Vec<f32>, (low, high): (f32, f32)) -> (f32, f32) {
    values.sort_unstable_by(f32::total_cmp);
    let last = values.len().saturating_sub(1);
    // Rounded inwards, so that a single value never counts.
    let (first, end) = ((BEYOND * last as f64).ceil() as usize, ((1.0 - BEYOND) * last as f64).floor() as usize);
    let (Some(&from), Some(&to)) = (values.get(first), values.get(end)) else { return (low, high) };
    let (from, to) = (f64::from(from), f64::from(to));
    let range = to - from;
    let near = |v: f32| range <= 0.0 || (f64::from(v) >= from - FAR * range && f64::from(v) <= to + FAR * range);
    let mut kept = values.iter().copied().filter(|&v| near(v));
    let (least, largest) = (kept.next().unwrap_or(low), kept.next_back());
    let largest = largest.unwrap_or(least);
    (if near(low) { low } else { least }, if near(high) { high } else { largest })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(values: &[f32]) -> (f32, f32) {
        let x = Array2::from_shape_vec((values.len(), 1), values.to_vec()).unwrap();
        let all = values.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(l, h), &v| (l.min(v), h.max(v)));
        columns_near_ends(&x, vec![all])[0]
    }

    #[test]
    fn a_bar_ends_before_a_value_that_is_far_from_all_others() {
        let mut values: Vec<f32> = (0..200).map(|i| 100.0 + (i * 37 % 200) as f32).collect();
        assert_eq!(ends(&values), (100.0, 299.0));
        values[17] = 2.5e6;
        assert_eq!(ends(&values), (100.0, 299.0));
        values[18] = -1e30;
        assert_eq!(ends(&values), (100.0, 299.0));
        // A few rows are enough for one of them to be known as far.
        assert_eq!(ends(&[1.0, 2.0, 3.0, 4.0, 5.0, 1e9]), (1.0, 5.0));
        assert_eq!(ends(&[f32::MIN, 0.0, 1.0, f32::MAX]), (0.0, 1.0));
    }

    #[test]
    fn bars_of_ordinary_values_run_over_all_of_them() {
        let exponential: Vec<f32> = (0..1000).map(|i| -(1.0 - (i as f32 + 0.5) / 1000.0).ln()).collect();
        assert_eq!(ends(&exponential), (exponential[0], exponential[999]));
        // Nearly always the same value: there is no middle to end at.
        let rare: Vec<f32> = (0..1000).map(|i| if i == 3 { 7.0 } else { 0.0 }).collect();
        assert_eq!(ends(&rare), (0.0, 7.0));
        assert_eq!(ends(&[4.0]), (4.0, 4.0));
    }
}
