//! What runs have measured: one row per comparison, kept as JSON.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::build::Build;
use crate::command::CommandFigures;
use crate::environment::Machine;
use crate::growth::Growth;
use crate::turns::Reply;

/// All that is kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Results {
    /// The comparisons by the name of the work.
    pub works: BTreeMap<String, Entry>,
    /// Time and memory as rows grow.
    pub growth: Option<Growth>,
    /// Start-up time and size of the command, and the time of its demo.
    pub command: Option<CommandFigures>,
    /// The time of a clean build.
    pub build: Option<Build>,
}

/// The last run of one work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Where it ran.
    pub machine: Machine,
    /// What it measured.
    pub rows: Vec<Row>,
}

/// One comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The work.
    pub work: String,
    /// Whom it is compared with.
    pub peer: String,
    /// Our figure: the median of the rounds.
    pub ours: f64,
    /// The peer's.
    pub theirs: f64,
    /// Their unit.
    pub unit: String,
    /// How many times better we are: the median of the rounds' ratios. None when one side did not get there.
    pub ratio: Option<f64>,
    /// The smallest and the largest of those.
    pub spread: Option<(f64, f64)>,
    /// What the ratio should be at least.
    pub goal: f64,
    /// Rounds that count.
    pub rounds: usize,
    /// What was compared to know that both computed the same, and how near it was.
    pub check: String,
}

impl Row {
    /// A comparison where less is better: time, memory.
    pub fn less(work: &str, peer: &str, unit: &str, ours: &[f64], theirs: &[f64], goal: f64, check: &str) -> Self {
        let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| b / a).collect();
        let spread = ratios.iter().fold((f64::INFINITY, 0.0f64), |(lo, hi), &r| (lo.min(r), hi.max(r)));
        Row {
            work: work.into(),
            peer: peer.into(),
            ours: median(ours),
            theirs: median(theirs),
            unit: unit.into(),
            ratio: Some(median(&ratios)),
            spread: Some(spread),
            goal,
            rounds: ratios.len(),
            check: check.into(),
        }
    }

    /// A comparison where more is better: speed.
    pub fn more(work: &str, peer: &str, unit: &str, ours: &[f64], theirs: &[f64], goal: f64, check: &str) -> Self {
        let mut row = Row::less(work, peer, unit, theirs, ours, goal, check);
        std::mem::swap(&mut row.ours, &mut row.theirs);
        row
    }

    /// Whether the goal is reached.
    pub fn reached(&self) -> bool {
        self.ratio.is_some_and(|ratio| ratio >= self.goal)
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Row { work, peer, ours, theirs, unit, goal, check, .. } = self;
        let ratio = self.ratio.map_or("not reached".into(), |r| format!("{r:.2} x"));
        write!(f, "{work} | {peer} | {ours:.4} {unit} | {theirs:.4} {unit} | {ratio} (goal {goal}) | {check}")
    }
}

/// The middle value, the mean of the two in the middle of an even number.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]),
    }
}

/// The seconds of the replies that count.
pub fn seconds(replies: &[Reply], warm_up: usize) -> Vec<f64> {
    replies[warm_up..].iter().map(|r| r.seconds).collect()
}

/// The largest peak memory of some replies, in MB.
pub fn peak(replies: &[Reply]) -> [f64; 1] {
    [replies.iter().map(|r| r.peak_mb).fold(0.0, f64::max)]
}

/// The kept results; none when there is no file yet.
pub fn load(path: &Path) -> Result<Results> {
    match std::fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text).with_context(|| path.display().to_string()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Results::default()),
        Err(error) => Err(error).with_context(|| path.display().to_string()),
    }
}

/// Keeps results.
pub fn save(results: &Results, path: &Path) -> Result<()> {
    let text = serde_json::to_string_pretty(results)? + "\n";
    Ok(dkae::data::atomic::write_atomically(path, |file| file.write_all(text.as_bytes()))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_the_median_of_the_rounds_and_not_the_ratio_of_medians() {
        // The machine is three times slower in the last round, for both.
        let row = Row::less("w", "p", "s", &[1.0, 1.2, 3.0], &[2.0, 2.0, 6.6], 1.3, "");
        assert_eq!((row.ours, row.theirs), (1.2, 2.0));
        assert!((row.ratio.unwrap() - 2.0).abs() < 1e-12 && row.reached());
        let (low, high) = row.spread.unwrap();
        assert!((low - 2.0 / 1.2).abs() < 1e-12 && (high - 2.2).abs() < 1e-12);
        let row = Row::more("w", "p", "GFLOP/s", &[200.0], &[400.0], 0.8, "");
        assert_eq!((row.ours, row.theirs, row.ratio), (200.0, 400.0, Some(0.5)));
        assert!(!row.reached());
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0, 2.0, 3.0])), (2.0, 2.5));
        assert!(median(&[]).is_nan());
    }
}
