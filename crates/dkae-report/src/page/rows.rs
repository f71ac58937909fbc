//! The rows on the page: held-out rows, what they are called, and how well they are reconstructed.
//!
//! All held-out rows are ranked by their error, however few of them the page has room for: the worst of all are on it too.

use std::cmp::Reverse;

use dkae::data::Labels;
use dkae::progress::Progress;
use dkae::recipe::Prepared;
use ndarray::{Array2, ArrayView1, ArrayView2, Axis, concatenate};
use serde::Serialize;

use super::looks::Raw;
use super::pack::Packed;
use super::{BLOCK, Subject, decode, encode};
use crate::{Error, Result};

/// The most classes: more can neither be told apart on a map nor be learned by a machine each in reasonable time.
const MOST_CLASSES: usize = 100;
/// Letters of a name from the data: a label or a column may be called a whole text.
pub(super) const LETTERS: usize = 120;

/// What parts of the rows are called.
pub(super) const PARTS: [&str; 3] = ["training", "validation", "test"];

/// The rows on the page.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Rows {
    /// How many.
    pub count: usize,
    /// Parts they come from, in order, and how many of each; a part may come in two pieces.
    pub parts: Vec<(&'static str, usize)>,
    /// Their numbers in the data, from 0.
    pub numbers: Packed,
    /// Their classes; empty without labels.
    pub classes: Packed,
    /// Their squared errors per feature, as the network sees them.
    pub errors: Packed,
    /// Sheets with the rows and their reconstructions.
    pub original: usize,
    pub restored: usize,
    /// Rows that are there whatever their error.
    #[serde(skip)]
    pub regular: usize,
}

/// Rows of a part that are on the page.
pub(super) struct Held {
    /// Parts and how many rows of each, the first being the one that figures are about.
    pub parts: Vec<(usize, usize)>,
    /// The part of each row and its place there.
    pub places: Vec<(usize, usize)>,
    /// How many of them are the first of their part; the others were asked for by their places.
    pub regular: usize,
    /// As the network sees them, and as they were read.
    pub x: Array2<f32>,
    pub raw: Raw,
    /// Their numbers in the file.
    pub numbers: Vec<u32>,
    pub labels: Vec<usize>,
    /// What the classes are called.
    pub classes: Vec<String>,
}

impl Held {
    /// The first `limit` of the test rows, then of the validation rows; training rows only when there is nothing else.
    /// After them those of `also` that are not among them.
    pub fn new(subject: &Subject, limit: usize, also: &[(usize, usize)]) -> Result<Held> {
        let Subject { source, rows, .. } = *subject;
        let labels = classes(rows);
        let own = [&rows.split.train, &rows.split.validation, &rows.split.test];
        let all = held_out(rows).into_iter().flat_map(|part| (0..own[part].len()).map(move |i| (part, i)));
        let mut places: Vec<(usize, usize)> = all.take(limit).collect();
        let regular = places.len();
        let mut others: Vec<_> = also.iter().copied().filter(|place| !places.contains(place)).collect();
        others.sort_unstable_by_key(|&(part, i)| (Reverse(part), i));
        let pieces = |places: &[(usize, usize)]| {
            places.chunk_by(|a, b| a.0 == b.0).map(|piece| (piece[0].0, piece.len())).collect::<Vec<_>>()
        };
        let parts = [pieces(&places), pieces(&others)].concat();
        places.extend(others);
        let x: Vec<_> = places
            .chunk_by(|a, b| a.0 == b.0)
            .map(|piece| rows.parts[piece[0].0].select(Axis(0), &piece.iter().map(|&(_, i)| i).collect::<Vec<_>>()))
            .collect();
        let x: Vec<_> = x.iter().map(|x| x.view()).collect();
        let x = concatenate(Axis(0), &x).map_err(|_| Error::Data("no rows to make a report of".to_owned()))?;
        let chosen: Vec<usize> = places.iter().map(|&(part, i)| own[part][i]).collect();
        let number = |&i: &usize| source.numbers.and_then(|numbers| numbers.get(i).copied()).unwrap_or(i) as u32;
        let raw = Raw::of(source, subject.model.preparation(), &chosen)?;
        let classes = labels.map(|labels| labels[0].names.iter().map(|name| clipped(name)).collect());
        let labels = match labels {
            Some(labels) => places.iter().map(|&(part, i)| labels[part].index[i] as usize).collect(),
            None => Vec::new(),
        };
        let numbers = chosen.iter().map(number).collect();
        Ok(Held { parts, places, regular, x, raw, numbers, labels, classes: classes.unwrap_or_default() })
    }

    /// What a row is called; briefly where there is little room.
    pub fn name(&self, i: usize, briefly: bool) -> String {
        let class = self.labels.get(i).and_then(|&label| self.classes.get(label)).filter(|_| !briefly);
        let number = self.numbers[i];
        class.map_or_else(|| format!("row {number}"), |class| format!("row {number}, class {class}"))
    }

    pub fn names(&self, rows: &[usize], briefly: bool) -> Vec<String> {
        rows.iter().map(|&i| self.name(i, briefly)).collect()
    }

    /// Parts of the rows that are the first of theirs: the part, where they begin on the page, and how many they are.
    pub fn pieces(&self) -> Vec<(usize, usize, usize)> {
        let piece = |start: &mut usize, &(part, count): &(usize, usize)| {
            let from = *start;
            *start += count;
            (from < self.regular).then_some((part, from, count))
        };
        self.parts.iter().scan(0, piece).collect()
    }

    /// The part that figures are about, and its rows on the page, which are the first.
    pub fn first(&self) -> (usize, usize) {
        self.parts[0]
    }
}

/// The parts whose rows a page is about: test, then validation; training only when there is nothing else.
fn held_out(rows: &Prepared) -> Vec<usize> {
    let filled = |parts: &[usize]| parts.iter().copied().filter(|&part| rows.parts[part].nrows() > 0).collect();
    let held: Vec<usize> = filled(&[2, 1]);
    if held.is_empty() { filled(&[0]) } else { held }
}

/// Held-out rows by how far they are from their reconstruction.
pub(super) struct Ranked {
    /// The parts that were looked at, all their rows.
    pub parts: Vec<(usize, usize)>,
    /// The part and place of the worst, worst first.
    pub worst: Vec<(usize, usize)>,
    /// The mean of all errors.
    pub mean: f64,
}

impl Ranked {
    /// The `count` worst of all held-out rows, a block at a time.
    pub fn new(subject: &Subject, count: usize, progress: &dyn Progress) -> Result<Ranked> {
        let Subject { model, rows, .. } = *subject;
        let parts: Vec<_> = held_out(rows).into_iter().map(|part| (part, rows.parts[part].nrows())).collect();
        let mut found = Vec::new();
        for &(part, _) in &parts {
            let mut all = Vec::new();
            for block in rows.parts[part].axis_chunks_iter(Axis(0), BLOCK) {
                if progress.stop() {
                    return Err(dkae::Error::Interrupted.into());
                }
                all.extend(errors(block, decode(model, encode(model, block)?.view())?.view()));
            }
            found.extend(all.into_iter().enumerate().map(|(i, error)| (error, (part, i))));
        }
        let mean = found.iter().map(|&(error, _)| f64::from(error)).sum::<f64>() / found.len().max(1) as f64;
        // Stable: of equals the first.
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        Ok(Ranked { parts, worst: found.into_iter().take(count).map(|(_, place)| place).collect(), mean })
    }
}

/// How many rows of which parts, such as `18 test and 18 validation`; pieces of a part are counted together.
pub(super) fn in_words(parts: &[(&str, usize)]) -> String {
    let mut whole: Vec<(&str, usize)> = Vec::new();
    for &(name, count) in parts {
        match whole.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += count,
            None => whole.push((name, count)),
        }
    }
    whole.iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(" and ")
}

/// The labels of the three parts, unless there are too many classes to show.
pub(super) fn classes(rows: &Prepared) -> Option<&[Labels; 3]> {
    rows.labels.as_ref().filter(|labels| labels[0].names.len() <= MOST_CLASSES)
}

/// What a reader must know when there are.
pub(super) fn too_many(rows: &Prepared) -> Option<String> {
    let count = rows.labels.as_ref()?[0].names.len();
    (count > MOST_CLASSES).then(|| {
        format!(
            "The rows have {count} classes, more than the {MOST_CLASSES} that a page shows: the map has one colour, kernels \
             are sorted by cluster, and no linear SVM was trained."
        )
    })
}

/// A name from the data, at a length that can be shown.
pub(super) fn clipped(name: &str) -> String {
    match name.char_indices().nth(LETTERS) {
        Some(_) => name.chars().take(LETTERS - 1).chain(['…']).collect(),
        None => name.to_owned(),
    }
}

/// The squared error of each row, per feature.
pub(super) fn errors(x: ArrayView2<f32>, back: ArrayView2<f32>) -> Vec<f32> {
    let error = |(a, b): (ArrayView1<f32>, ArrayView1<f32>)| {
        a.iter().zip(b).map(|(&a, &b)| f64::from(a - b).powi(2)).sum::<f64>() / a.len() as f64
    };
    x.rows().into_iter().zip(back.rows()).map(|pair| error(pair) as f32).collect()
}
