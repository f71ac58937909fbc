//! The rows on the page: held-out rows, what they are called, and how well they are reconstructed.

use dkae::data::Labels;
use dkae::recipe::Prepared;
use ndarray::{Array2, ArrayView1, ArrayView2, Axis, concatenate, s};
use serde::Serialize;

use super::Subject;
use super::looks::Raw;
use super::pack::Packed;
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
    /// Parts they come from, in order, and how many of each.
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
}

/// Rows of a part that are on the page.
pub(super) struct Held {
    /// Parts and how many rows of each, the first being the one that figures are about.
    pub parts: Vec<(usize, usize)>,
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
    /// Test rows, then validation rows; training rows only when there is nothing else.
    pub fn new(subject: &Subject, limit: usize) -> Result<Held> {
        let Subject { source, rows, .. } = *subject;
        let labels = classes(rows);
        let own = [&rows.split.train, &rows.split.validation, &rows.split.test];
        let order: &[usize] = if own[1].len() + own[2].len() > 0 { &[2, 1] } else { &[0] };
        let mut left = limit;
        let mut parts = Vec::new();
        for &part in order.iter().filter(|&&part| !own[part].is_empty()) {
            let count = own[part].len().min(left);
            left -= count;
            if count > 0 {
                parts.push((part, count));
            }
        }
        let views: Vec<_> = parts.iter().map(|&(part, count)| rows.parts[part].slice(s![..count, ..])).collect();
        let x = concatenate(Axis(0), &views).map_err(|_| Error::Data("no rows to make a report of".to_owned()))?;
        let chosen: Vec<usize> = parts.iter().flat_map(|&(part, count)| own[part][..count].iter().copied()).collect();
        let number = |&i: &usize| source.numbers.and_then(|numbers| numbers.get(i).copied()).unwrap_or(i) as u32;
        let raw = Raw::of(source, subject.model.preparation(), &chosen)?;
        let classes = labels.map(|labels| labels[0].names.iter().map(|name| clipped(name)).collect());
        let labels = match labels {
            Some(labels) => parts
                .iter()
                .flat_map(|&(part, count)| labels[part].index[..count].iter().map(|&label| label as usize))
                .collect(),
            None => Vec::new(),
        };
        let numbers = chosen.iter().map(number).collect();
        Ok(Held { parts, x, raw, numbers, labels, classes: classes.unwrap_or_default() })
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

    /// The part that figures are about, and its rows on the page, which are the first.
    pub fn first(&self) -> (usize, usize) {
        self.parts[0]
    }
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
