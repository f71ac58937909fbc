//! What all readers share: a reader appends rows to a [`Collector`], which checks them, drops those the user does not
//! want and keeps the labels. Reading a whole file and reading it by blocks are the same walk, so they cannot differ.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ndarray::{Array2, ArrayView2};

use super::csv::plain_name;
use super::narrow::Narrowing;
use super::read::ReadOptions;
use super::{Labels, Shape, Table};
use crate::{Error, Result};

/// A file whose header has been read and whose rows are about to be.
pub(crate) struct Opened {
    pub reader: Box<dyn Reader>,
    /// Features in a row; never zero.
    pub width: usize,
    pub shape: Shape,
    pub names: Option<Vec<String>>,
    /// How many rows there are, when the header says so and the file is long enough for it to be true.
    pub rows_hint: Option<usize>,
}

/// Walks through the rows of a file.
pub(crate) trait Reader: Send {
    /// Appends up to `max` rows to `out`; the number read, and 0 only at the end. Rows that `out` drops count too.
    fn read(&mut self, max: usize, out: &mut Collector) -> Result<usize>;
}

/// Rows on their way into memory.
pub(crate) struct Collector {
    pub path: PathBuf,
    pub width: usize,
    /// Values of the kept rows, one row after the other; a reader appends a row and then calls `end_row`.
    pub values: Vec<f32>,
    /// The numbers of the row appended last as the file has them, where that is with more digits; else empty.
    pub exact: Vec<f64>,
    narrowing: Narrowing,
    /// Rows kept and not yet taken away.
    pub kept: usize,
    /// Rows of the file passed so far.
    seen: usize,
    /// Their numbers, of those kept; without a label to drop by, all are kept.
    numbers: Vec<usize>,
    names: Option<Vec<String>>,
    labels: Interner,
    groups: Interner,
    /// Labels from a file of their own.
    side: Option<(PathBuf, Labels)>,
    drop_label: Option<String>,
    dropped: usize,
    allow_missing: bool,
}

impl Collector {
    pub fn new(path: &Path, opened: &Opened, side: Option<(PathBuf, Labels)>, options: &ReadOptions) -> Self {
        Self {
            path: path.to_owned(),
            width: opened.width,
            values: Vec::new(),
            exact: Vec::new(),
            narrowing: Narrowing::default(),
            kept: 0,
            seen: 0,
            numbers: Vec::new(),
            names: opened.names.clone(),
            labels: Interner::default(),
            groups: Interner::default(),
            side,
            drop_label: options.drop_label.clone(),
            dropped: 0,
            allow_missing: options.allow_missing,
        }
    }

    /// Ends the row whose values were appended last: drops it, checks it, notes its label. `place` names the row.
    pub fn end_row(&mut self, label: Option<&str>, group: Option<&str>, place: impl FnOnce() -> String) -> Result<()> {
        let label = match &self.side {
            Some(side) => Some(side_label(side, self.seen, &self.path)?),
            None => label,
        };
        if label.is_none() && self.drop_label.is_some() {
            return Err(Error::setting("drop_label", "there are no labels to drop rows by; name the label column"));
        }
        self.seen += 1;
        let start = self.kept * self.width;
        if let (Some(label), Some(unwanted)) = (label, &self.drop_label)
            && same_label(label, unwanted)
        {
            self.values.truncate(start);
            self.exact.clear();
            self.dropped += 1;
            return Ok(());
        }
        self.narrowing.add(&self.exact);
        self.exact.clear();
        if !self.allow_missing
            && let Some(j) = self.values[start..].iter().position(|v| !v.is_finite())
        {
            let name = self.names.as_ref().map_or(String::new(), |n| format!(" (`{}`)", n[j]));
            // Its number among all columns of the file is not known here.
            let column = match self.names.as_ref().and_then(|n| plain_name(&n[j])) {
                Some(column) => format!(", or the column with skip {column}"),
                None => " or the column".to_owned(),
            };
            let what = if self.values[start + j].is_nan() {
                "a missing value (NaN)"
            } else {
                "an infinite value, or one too large for 32 bits"
            };
            return Err(Error::format(
                &self.path,
                format!("{}, feature {}{name}", place(), j + 1),
                format!("{what} where a finite number was expected; fill it in, or leave out the row{column}"),
            ));
        }
        if let Some(label) = label {
            self.labels.push(label);
        }
        if let Some(group) = group {
            self.groups.push(group);
        }
        if self.drop_label.is_some() {
            self.numbers.push(self.seen - 1);
        }
        self.kept += 1;
        Ok(())
    }

    /// To be called when the reader has reached the end.
    pub fn finish(&self) -> Result<()> {
        self.side.as_ref().map_or(Ok(()), |side| check_count(side, self.seen, &self.path))
    }

    /// What is doubtful about the rows so far.
    pub fn warnings(&self) -> Vec<String> {
        let path = self.path.display();
        let narrow = self.narrowing.warning(self.names.as_deref()).map(|text| format!("{path}, {text}"));
        let unwanted = self.drop_label.as_ref().filter(|_| self.dropped == 0 && self.seen > 0);
        let unknown = unwanted.map(|label| format!("{path}: no row has the label `{label}`, which was to be dropped"));
        narrow.into_iter().chain(unknown).collect()
    }

    /// Takes the kept rows away, and forgets their labels.
    pub fn take_block(&mut self) -> Array2<f32> {
        self.labels.rows.clear();
        self.groups.rows.clear();
        self.numbers.clear();
        self.take_rows()
    }

    /// Takes the kept rows away; their labels stay.
    fn take_rows(&mut self) -> Array2<f32> {
        let rows = std::mem::take(&mut self.kept);
        let values = std::mem::take(&mut self.values);
        Array2::from_shape_vec((rows, self.width), values).expect("every row has the same width")
    }

    /// A table of all rows that were passed, or of what was made of them.
    fn into_table(mut self, x: Array2<f32>, shape: Shape) -> Result<Table> {
        if x.nrows() == 0 {
            let message = match (&self.drop_label, self.seen) {
                (Some(label), 1..) => format!("every row has the label `{label}`, which was to be dropped"),
                _ => "the file has no rows".to_owned(),
            };
            return Err(Error::format(&self.path, "", message));
        }
        let warnings = self.warnings();
        let labels = std::mem::take(&mut self.labels);
        let groups = std::mem::take(&mut self.groups);
        let groups =
            (!groups.rows.is_empty()).then(|| groups.rows.iter().map(|&i| groups.names[i as usize].clone()).collect());
        let labels = (!labels.rows.is_empty()).then(|| labels.into_labels());
        let names = self.names.take();
        let numbers = (self.drop_label.is_some() && self.numbers.len() < self.seen).then_some(self.numbers);
        Ok(Table { x, labels, names, shape, groups, numbers, warnings })
    }
}

/// Row `i` of a file (from 0), as messages call it. Lines tell how rows of text are counted; others need a word.
pub(crate) fn row_place(i: u64) -> String {
    format!("row {} (from 1)", i + 1)
}

/// The label of row `i` of `data` (from 0) that a file of labels has.
pub(crate) fn side_label<'a>((path, side): &'a (PathBuf, Labels), i: usize, data: &Path) -> Result<&'a str> {
    match side.index.get(i) {
        Some(&class) => Ok(&side.names[class as usize]),
        None => Err(count_mismatch(path, side.index.len(), data, "more")),
    }
}

/// Refuses a file of labels that has another number of them than `data` has rows.
pub(crate) fn check_count((path, side): &(PathBuf, Labels), rows: usize, data: &Path) -> Result<()> {
    match side.index.len() {
        count if count == rows => Ok(()),
        count => Err(count_mismatch(path, count, data, &rows.to_string())),
    }
}

fn count_mismatch(labels: &Path, count: usize, data: &Path, rows: &str) -> Error {
    Error::format(
        labels,
        "",
        format!(
            "{count} labels for the rows of {}, which are {rows}; do the two files belong together? (A label file has no line with a name)",
            data.display()
        ),
    )
}

/// Reads everything; with it how many rows the file has, those that were dropped included.
pub(crate) fn collect(
    path: &Path,
    mut opened: Opened,
    side: Option<(PathBuf, Labels)>,
    options: &ReadOptions,
) -> Result<(Table, usize)> {
    let mut out = Collector::new(path, &opened, side, options);
    if let Some(rows) = opened.rows_hint {
        // A hint: a file may promise more than it has, and more than there is memory. Then the values grow as they come.
        let _ = out.values.try_reserve_exact(rows.saturating_mul(opened.width));
    }
    while opened.reader.read(usize::MAX, &mut out)? > 0 {}
    out.finish()?;
    // Values may have been grown to twice what is needed, and tables live long.
    out.values.shrink_to_fit();
    let (x, seen) = (out.take_rows(), out.seen);
    Ok((out.into_table(x, opened.shape)?, seen))
}

/// As [`collect`], but keeps of every `block` rows only what `map` makes of them.
pub(crate) fn collect_mapped(
    path: &Path,
    mut opened: Opened,
    side: Option<(PathBuf, Labels)>,
    options: &ReadOptions,
    block: usize,
    mut map: impl FnMut(ArrayView2<f32>) -> Result<Array2<f32>>,
) -> Result<(Table, usize)> {
    let mut out = Collector::new(path, &opened, side, options);
    let (mut values, mut rows, mut width) = (Vec::new(), 0, opened.width);
    let mut ended = false;
    while !ended {
        while !ended && out.kept < block.max(1) {
            ended = opened.reader.read(block.max(1) - out.kept, &mut out)? == 0;
        }
        if out.kept > 0 {
            let made = map(out.take_rows().view())?;
            rows += made.nrows();
            width = made.ncols();
            values.extend(made.iter());
        }
    }
    out.finish()?;
    let x = Array2::from_shape_vec((rows, width), values)
        .map_err(|_| Error::Data(format!("{}: blocks of rows became rows of different widths", path.display())))?;
    let seen = out.seen;
    Ok((out.into_table(x, opened.shape)?, seen))
}

/// Whether two labels are the same: as text, or as numbers (`0` and `0.0`).
pub(crate) fn same_label(a: &str, b: &str) -> bool {
    a == b || matches!((a.parse::<f64>(), b.parse::<f64>()), (Ok(a), Ok(b)) if a == b)
}

/// A number as the name of a class: whole numbers without a point.
pub(crate) fn number_label(value: f64) -> String {
    // `+ 0.0` turns minus zero into zero.
    format!("{}", value + 0.0)
}

/// Names seen so far and which of them each row has.
#[derive(Default)]
pub(crate) struct Interner {
    names: Vec<String>,
    index: HashMap<String, u32>,
    rows: Vec<u32>,
}

impl Interner {
    pub fn push(&mut self, name: &str) {
        let i = match self.index.get(name) {
            Some(&i) => i,
            None => {
                let i = self.names.len() as u32;
                self.names.push(name.to_owned());
                self.index.insert(name.to_owned(), i);
                i
            }
        };
        self.rows.push(i);
    }

    /// Labels with sorted names (as numbers when all are), so that they do not depend on the order of the rows.
    pub fn into_labels(self) -> Labels {
        let mut order: Vec<u32> = (0..self.names.len() as u32).collect();
        let numbers: Option<Vec<f64>> =
            self.names.iter().map(|n| n.parse::<f64>().ok().filter(|v| !v.is_nan())).collect();
        order.sort_by(|&a, &b| {
            let (a, b) = (a as usize, b as usize);
            let by_number = numbers.as_ref().map_or(std::cmp::Ordering::Equal, |n| n[a].total_cmp(&n[b]));
            by_number.then_with(|| self.names[a].cmp(&self.names[b]))
        });
        let mut rank = vec![0u32; order.len()];
        for (r, &i) in order.iter().enumerate() {
            rank[i as usize] = r as u32;
        }
        Labels {
            index: self.rows.iter().map(|&i| rank[i as usize]).collect(),
            names: order.iter().map(|&i| self.names[i as usize].clone()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(names: &[&str]) -> Labels {
        let mut interner = Interner::default();
        names.iter().for_each(|n| interner.push(n));
        interner.into_labels()
    }

    #[test]
    fn classes_are_sorted_as_numbers_when_all_are() {
        assert_eq!(
            labels(&["10", "-1", "9", "10"]),
            Labels { index: vec![2, 0, 1, 2], names: vec!["-1".into(), "9".into(), "10".into()] }
        );
        assert_eq!(labels(&["b", "10", "9"]).names, ["10", "9", "b"]);
    }

    #[test]
    fn whole_numbers_are_named_without_a_point() {
        assert_eq!([number_label(-0.0), number_label(3.0), number_label(-1.5)], ["0", "3", "-1.5"]);
        assert!(same_label("0", "0.0") && same_label("a", "a") && !same_label("a", "b"));
    }
}
