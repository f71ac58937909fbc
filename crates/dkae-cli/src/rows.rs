//! What commands that work on codes share: rows that fit a model, their codes, and files of results.

use std::path::Path;

use anyhow::Result;
use dkae::data::read::{ReadOptions, read};
use dkae::data::{Shape, Table, stream};
use dkae::math::check;
use dkae::net::Model;
use dkae::{Classify, Error};
use dkae_report::images;
use ndarray::{Array2, ArrayView2, Axis};

use crate::screen::{Screen, stop_requested};

/// Rows held in memory, encoded or classified at a time.
pub const BLOCK: usize = 1920;

/// The model of a command that takes rows as well. The two are easily given in the wrong order.
pub fn load_model(model: &Path, data: &Path) -> Result<Model> {
    Model::load(model).map_err(|e| {
        let (e, name) = (anyhow::Error::from(e), data.display());
        match !is_model(model) && is_model(data) {
            true => e.context(format!("MODEL comes first, then DATA, and {name} is a model; are they swapped?")),
            false => e,
        }
    })
}

/// Models are safetensors: eight bytes with the length of a JSON header, then the header.
pub fn is_model(path: &Path) -> bool {
    use std::io::Read;
    let mut start = [0; 9];
    std::fs::File::open(path).and_then(|mut f| f.read_exact(&mut start)).is_ok()
        && start[8] == b'{'
        && start[5..8] == [0, 0, 0]
}

/// Refuses rows that a model does not take.
pub fn check_width(data: &Path, found: usize, model: &Path, expected: usize, codes: bool) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    let what = if codes { "codes" } else { "rows" };
    let hint = match found {
        found if found == expected + 1 && !codes => "; if one column is a label, leave it out with --label or --skip",
        _ => "",
    };
    let (data, model) = (data.display(), model.display());
    Err(Error::Data(format!("{data}: {what} of {found} columns, but the model {model} takes {expected}{hint}")).into())
}

/// Refuses rows whose columns have other names, or the same in another order: their codes would mean nothing.
pub fn check_names(data: &Path, found: Option<&[String]>, model: &Path, expected: Option<&[String]>) -> Result<()> {
    compare_names(data, found, &format!("the model {} was trained with", model.display()), expected)
}

/// As [`check_names`], for rows that go with others; `others` is who has the names expected, with the verb.
pub fn compare_names(data: &Path, found: Option<&[String]>, others: &str, expected: Option<&[String]>) -> Result<()> {
    let (Some(found), Some(expected)) = (found, expected) else { return Ok(()) };
    let Some(i) = found.iter().zip(expected).position(|(a, b)| a != b) else { return Ok(()) };
    let (data, feature, name, wanted) = (data.display(), i + 1, &found[i], &expected[i]);
    let message = format!(
        "{data}: feature {feature} is `{name}`, but {others} `{wanted}` there; bring the columns in the same order"
    );
    Err(Error::Data(message).into())
}

/// All rows of a file, which must fit the model.
pub fn read_for(model: (&Path, &Model), data: &Path, options: &ReadOptions, screen: Screen) -> Result<Table> {
    let mut options = options.clone();
    // A sparse file of few rows may not mention the last words of the vocabulary.
    options.width = options.width.or(Some(model.1.input_width()));
    let table = screen.timed("reading", || read(data, &options))?;
    check::finite(&data.display().to_string(), table.x.view())?;
    check_width(data, table.x.ncols(), model.0, model.1.input_width(), false)?;
    check_names(data, table.names.as_deref(), model.0, model.1.about().names.as_deref())?;
    Ok(table)
}

/// The codes of raw rows.
pub fn encode(model: &Model, x: ArrayView2<f32>, screen: Screen) -> Result<Array2<f32>> {
    by_blocks("encoding", x, screen, |block| model.encode(block))
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
    for block in x.axis_chunks_iter(Axis(0), BLOCK) {
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
    let numbered: Vec<String>;
    let names = match names {
        Some(names) if names.len() == rows.ncols() => names,
        _ => {
            numbered = (1..=rows.ncols()).map(|i| format!("feature{i}")).collect();
            &numbered
        }
    };
    let mut sink = stream::create(path, rows.ncols(), Some(names))?;
    sink.write(rows)?;
    Ok(sink.finish()?)
}

/// How rows are pictures, for figures.
pub fn picture(shape: Shape) -> Option<images::Shape> {
    match shape {
        Shape::Image { channels: channels @ (1 | 3), height, width } => Some(images::Shape { channels, height, width }),
        _ => None,
    }
}

/// Counts as a table for people: `side` names its rows, `top` its columns.
pub fn table(corner: &str, side: &[String], top: &[String], counts: &Array2<u64>) -> String {
    let first = side.iter().map(|s| s.chars().count()).max().unwrap_or(0).max(corner.chars().count());
    let widths: Vec<usize> = top
        .iter()
        .enumerate()
        .map(|(j, name)| {
            let digits = counts.column(j).iter().max().map_or(1, |n| n.to_string().len());
            digits.max(name.chars().count())
        })
        .collect();
    let line = |head: &str, cells: Vec<String>| {
        let mut line = format!("{head:<first$}");
        cells.iter().zip(&widths).for_each(|(cell, w)| line += &format!("  {cell:>w$}"));
        line
    };
    let mut lines = vec![line(corner, top.to_vec())];
    for (name, row) in side.iter().zip(counts.rows()) {
        lines.push(line(name, row.iter().map(|n| n.to_string()).collect()));
    }
    lines.join("\n")
}
