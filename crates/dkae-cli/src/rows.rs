//! What commands that work on codes share: rows that fit a model, their codes, and files of results.

use std::path::{Path, PathBuf};

use anyhow::Result;
use dkae::data::prepare::Preparation;
use dkae::data::read::{Format, ReadOptions, detect_format, read_mapped};
use dkae::data::stream::{self, RowSink};
use dkae::data::{Shape, Table, tfidf};
use dkae::math::check;
use dkae::net::Model;
use dkae::{Classify, Error};
use dkae_report::images;
use ndarray::{Array2, ArrayView2, Axis};
use unicode_width::UnicodeWidthStr;

use crate::inspect::{NO_HEADER, header};
use crate::screen::{self, Screen, count, stop_requested};
use crate::units::{Seen, Units};

/// Rows held in memory or encoded at a time.
pub const BLOCK: usize = 1920;

/// Rows classified at a time: among many training rows the nearest of each take a while to find, and Ctrl-C waits for them.
const ASKED: usize = 512;

/// The model of a command that takes rows as well. The two are easily given in the wrong order.
pub fn load_model(model: &Path, data: &Path) -> Result<Model> {
    Model::load(model).map_err(|e| {
        let (e, name) = (anyhow::Error::from(e), data.display());
        if is_model(model) {
            return e;
        }
        if is_model(data) {
            return e.context(format!("MODEL comes first, then DATA, and {name} is a model; are they swapped?"));
        }
        match model.is_file().then(|| detect_format(model)) {
            Some(Ok(format)) => {
                let format = crate::inspect::name(&format);
                e.context(format!(
                    "a model was expected, a file that `dkae fit` wrote, and this one seems to be {format}"
                ))
            }
            _ => e,
        }
    })
}

/// Models are safetensors: eight bytes with the length of a JSON header, then the header. A pipe is none: what one reads from
/// it is gone.
pub fn is_model(path: &Path) -> bool {
    use std::io::Read;
    let mut start = [0; 9];
    path.is_file()
        && std::fs::File::open(path).and_then(|mut f| f.read_exact(&mut start)).is_ok()
        && start[8] == b'{'
        && start[5..8] == [0, 0, 0]
}

/// What rows must be like to go with a model, or with rows that something was fitted on.
pub struct Like<'a> {
    /// Who says so, with the verb: `the model m.dkae takes`.
    pub who: String,
    /// Columns.
    pub width: usize,
    /// What these are called.
    pub names: Option<&'a [String]>,
    /// Whether values may be missing.
    pub gaps: bool,
    /// Whether they are word counts.
    pub counts: bool,
    /// What values are usual, where that is known.
    pub units: Option<Units>,
}

impl<'a> Like<'a> {
    /// The rows that a model takes.
    pub fn model(path: &Path, model: &'a Model) -> Self {
        let who = format!("the model {} takes", path.display());
        Like {
            who,
            width: model.input_width(),
            names: model.about().names.as_deref(),
            gaps: false,
            counts: model.preparation().text.is_some(),
            units: Units::of(model),
        }
    }

    /// To see whether the rows of a file are in the units of the training rows.
    pub fn seen(&self) -> Option<Seen<'_>> {
        self.units.as_ref().map(|units| Seen::new(units, self.width))
    }

    /// Refuses rows, or codes, of another width.
    pub fn check_width(&self, data: &Path, found: usize, what: &str) -> dkae::Result<()> {
        let (expected, who) = (self.width, &self.who);
        if found == expected {
            return Ok(());
        }
        let hint = match found {
            found if found == expected + 1 && what == "rows" => {
                "; if one column is a label, leave it out with --label or --skip"
            }
            _ => "",
        };
        let found = count(found, "column");
        Err(Error::Data(format!("{}: {what} of {found}, but {who} {expected}{hint}", data.display())))
    }

    /// Refuses rows that are no word counts, where they must be; they come after `before` others. Gaps are not its business.
    pub fn check_counts(&self, data: &Path, before: usize, rows: ArrayView2<f32>) -> dkae::Result<()> {
        if !self.counts {
            return Ok(());
        }
        let entries = rows.indexed_iter().map(|((i, j), &c)| (before + i, j, c)).filter(|(_, _, c)| c.is_finite());
        tfidf::check_counts(entries).map_err(|e| Error::Data(format!("{}: {e}", data.display())))
    }

    /// Refuses rows whose columns have other names, or the same in another order: what is made of them would mean nothing.
    pub fn check_names(&self, data: &Path, found: Option<&[String]>) -> Result<()> {
        let (Some(found), Some(expected)) = (found, self.names) else { return Ok(()) };
        let Some(i) = found.iter().zip(expected).position(|(a, b)| a != b) else { return Ok(()) };
        let (data, feature, name, wanted) = (data.display(), i + 1, &found[i], &expected[i]);
        let message = format!(
            "{data}: feature {feature} is `{name}`, but {} `{wanted}` there; bring the columns in the same order",
            self.who
        );
        Err(Error::Data(message).into())
    }
}

/// A path as results name it. Those that are not text have no name in JSON.
pub fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Rows to have in memory at a time. Wide ones, as of word counts, are made dense: fewer of them, 64 MB at most.
pub fn together(width: usize, options: &ReadOptions) -> usize {
    (options.dense_limit / 4).min(16_000_000).checked_div(width).unwrap_or(BLOCK).clamp(1, BLOCK)
}

/// What `make` makes of the rows of some files, with their classes and groups. Rows are read block by block and only what is
/// made of them is kept: all the word counts of many texts would not fit into memory.
pub fn read_like(
    like: &Like,
    files: &[PathBuf],
    options: &ReadOptions,
    screen: Screen,
    mut make: impl FnMut(ArrayView2<f32>) -> dkae::Result<Array2<f32>>,
) -> Result<Table> {
    let mut options = options.clone();
    // A sparse file of few rows may not mention the last words of the vocabulary.
    options.width = options.width.or(Some(like.width));
    let progress = screen.rows("reading", None);
    let mut seen: Vec<(PathBuf, Seen)> = Vec::new();
    let table = read_mapped(files, &options, together(like.width, &options), |file, before, rows| {
        if stop_requested() {
            return Err(Error::Interrupted);
        }
        like.check_width(file, rows.ncols(), "rows")?;
        if !like.gaps {
            check::finite_features(&file.display().to_string(), before, like.names, rows)?;
        }
        like.check_counts(file, before, rows)?;
        if before == 0 {
            seen.extend(like.seen().map(|new| (file.to_owned(), new)));
        }
        if let Some((_, seen)) = seen.last_mut() {
            seen.look(rows);
        }
        progress.add(rows.nrows());
        make(rows)
    })?;
    progress.finish(table.len());
    table.warnings.iter().for_each(screen::warn);
    seen.iter().filter_map(|(file, seen)| seen.warning(like, file)).for_each(screen::warn);
    say_header(&files[0], options.format, table.names.as_deref(), screen)?;
    like.check_names(&files[0], table.names.as_deref())?;
    Ok(table)
}

/// Says whether a csv file begins with the names of its columns: a first row may be taken for the wrong thing.
pub fn say_header(path: &Path, format: Option<Format>, names: Option<&[String]>, screen: Screen) -> Result<()> {
    match header(path, format, names)? {
        Some(true) => screen.say("the first row names the columns"),
        Some(false) => screen.say(NO_HEADER),
        None => {}
    }
    Ok(())
}

/// The codes of prepared rows.
pub fn encode(model: &Model, x: ArrayView2<f32>, screen: Screen) -> Result<Array2<f32>> {
    by_blocks("encoding", x, screen, |block| model.net().encode(block))
}

/// What `work` makes of each block of rows, with progress and a way to stop.
pub fn by_blocks(
    what: &'static str,
    x: ArrayView2<f32>,
    screen: Screen,
    work: impl Fn(ArrayView2<f32>) -> dkae::Result<Array2<f32>>,
) -> Result<Array2<f32>> {
    let progress = screen.rows(what, Some(x.nrows()));
    let mut blocks = Vec::new();
    for block in x.axis_chunks_iter(Axis(0), BLOCK) {
        if stop_requested() {
            return Err(Error::Interrupted.into());
        }
        blocks.push(work(block)?);
        progress.add(block.nrows());
    }
    progress.finish(x.nrows());
    let views: Vec<_> = blocks.iter().map(|b| b.view()).collect();
    ndarray::concatenate(Axis(0), &views).map_err(|_| Error::Data("there are no rows".into()).into())
}

/// The class of each row, with progress and a way to stop.
pub fn classify(classifier: &dyn Classify, x: ArrayView2<f32>, screen: Screen) -> Result<Vec<u32>> {
    let progress = screen.rows("classifying", Some(x.nrows()));
    let mut classes = Vec::new();
    for block in x.axis_chunks_iter(Axis(0), ASKED) {
        if stop_requested() {
            return Err(Error::Interrupted.into());
        }
        classes.extend(classifier.classify(block)?);
        progress.add(block.nrows());
    }
    progress.finish(x.nrows());
    Ok(classes)
}

/// Writes rows to a file whose name says the format; columns are called as the model's features where they have names.
pub fn write(path: &Path, rows: ArrayView2<f32>, names: Option<&[String]>) -> Result<()> {
    let mut sink = create(path, rows.ncols(), names)?;
    sink.write(rows)?;
    Ok(sink.finish()?)
}

/// Writes prepared rows as they were before.
pub fn write_raw(
    path: &Path,
    rows: ArrayView2<f32>,
    preparation: &Preparation,
    names: Option<&[String]>,
    options: &ReadOptions,
) -> Result<()> {
    let width = preparation.input_width().unwrap_or(rows.ncols());
    let mut sink = create(path, width, names)?;
    for block in rows.axis_chunks_iter(Axis(0), together(width, options)) {
        sink.write(preparation.apply_inverse(block)?.view())?;
    }
    Ok(sink.finish()?)
}

/// As [`write()`], for rows that come block by block.
fn create(path: &Path, width: usize, names: Option<&[String]>) -> Result<Box<dyn RowSink>> {
    let numbered: Vec<String>;
    let names = match names {
        Some(names) if names.len() == width => names,
        _ => {
            numbered = (1..=width).map(|i| format!("feature{i}")).collect();
            &numbered
        }
    };
    Ok(stream::create(path, width, Some(names))?)
}

/// How rows are pictures, for figures.
pub fn picture(shape: Shape) -> Option<images::Shape> {
    match shape {
        Shape::Image { channels: channels @ (1 | 3), height, width } => Some(images::Shape { channels, height, width }),
        _ => None,
    }
}

/// The most columns of a table: more do not fit on a line.
pub const WIDEST_TABLE: usize = 12;

/// Counts as a table for people: `side` names its rows, `top` its columns. Of many classes told for one another, where both
/// have the same names, the most frequent mistakes are listed instead.
pub fn table(corner: &str, side: &[String], top: &[String], counts: &Array2<u64>) -> String {
    if side == top && top.len() > WIDEST_TABLE {
        return mistakes(corner, side, counts);
    }
    let first = side.iter().map(|s| s.width()).max().unwrap_or(0).max(corner.width());
    let widths: Vec<usize> = top
        .iter()
        .enumerate()
        .map(|(j, name)| {
            let digits = counts.column(j).iter().max().map_or(1, |n| n.to_string().len());
            digits.max(name.width())
        })
        .collect();
    let line = |head: &str, cells: Vec<String>| {
        let mut line = padded(head, first);
        for (cell, w) in cells.iter().zip(&widths) {
            line += &format!("  {}{cell}", " ".repeat(w.saturating_sub(cell.width())));
        }
        line
    };
    let mut lines = vec![line(corner, top.to_vec())];
    for (name, row) in side.iter().zip(counts.rows()) {
        lines.push(line(name, row.iter().map(|n| n.to_string()).collect()));
    }
    lines.join("\n")
}

/// The most frequent counts off the diagonal, at most twenty, the larger first.
fn mistakes(corner: &str, names: &[String], counts: &Array2<u64>) -> String {
    let mut found: Vec<(usize, usize, u64)> =
        counts.indexed_iter().filter(|((i, j), n)| i != j && **n > 0).map(|((i, j), &n)| (i, j, n)).collect();
    // Those as frequent stay in the order of the classes.
    found.sort_by_key(|&(_, _, n)| std::cmp::Reverse(n));
    let total: u64 = found.iter().map(|m| m.2).sum();
    let mut lines = vec![match (found.len(), total) {
        (0, _) => format!("{corner}: no mistakes"),
        (pairs, total) => {
            let shown = if pairs > 20 { ", the 20 most frequent" } else { "" };
            format!("{corner}: {} of {}{shown}", count(total as usize, "mistake"), count(pairs, "kind"))
        }
    }];
    found.truncate(20);
    let wide =
        |name: fn(&(usize, usize, u64)) -> usize| found.iter().map(|m| names[name(m)].width()).max().unwrap_or(0);
    let (first, second) = (wide(|m| m.0), wide(|m| m.1));
    for (i, j, n) in found {
        lines.push(format!("  {} \\ {}  {n}", padded(&names[i], first), padded(&names[j], second)));
    }
    lines.join("\n")
}

/// Text with blanks up to a width; letters of some scripts are two columns wide.
fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|w| (*w).to_owned()).collect()
    }

    #[test]
    fn columns_stand_under_their_names_whatever_the_letters() {
        let names = words(&["猫", "dog"]);
        let text = table("t", &names, &names, &ndarray::array![[12, 3], [0, 456]]);
        assert_eq!(text, "t    猫  dog\n猫   12    3\ndog   0  456");
    }

    #[test]
    fn mistakes_among_many_classes_are_a_list() {
        let names: Vec<String> = (0..40).map(|i| format!("c{i}")).collect();
        let mut counts = Array2::from_diag_elem(40, 9);
        assert_eq!(table("true", &names, &names, &counts), "true: no mistakes");
        (counts[[3, 11]], counts[[39, 2]], counts[[4, 5]]) = (7, 8, 7);
        let text = table("true", &names, &names, &counts);
        assert_eq!(text, "true: 22 mistakes of 3 kinds\n  c39 \\ c2   8\n  c3  \\ c11  7\n  c4  \\ c5   7");
        (0..39).for_each(|i| counts[[i, i + 1]] = 1);
        let text = table("true", &names, &names, &counts);
        assert!(
            text.lines().count() == 21 && text.starts_with("true: 54 mistakes of 41 kinds, the 20 most frequent"),
            "{text}"
        );
    }
}
