//! The classes of rows, without the rows: one column of a table (csv, Parquet) or one array of an npz file.
//!
//! Other columns may hold anything, text or gaps: they are not looked at.

use std::path::Path;

use super::columns::{Column, Layout};
use super::input::Input;
use super::read::{Format, ReadOptions, detect_format, read_as};
use super::rows::{Interner, Opened, collect};
use super::{Labels, csv, npy, zip};
use crate::{Error, Result};

/// Tells which columns are what: from the path, the settings, how many columns there are and what they are called.
pub(crate) type FindLayout = fn(&Path, &ReadOptions, usize, Option<&[String]>) -> Result<Layout>;

/// Reads the classes in a column of a csv or Parquet file, or in an array of an npz file, and nothing else of it.
///
/// ```
/// use dkae::data::read_label_column;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("flowers.csv");
/// std::fs::write(&path, "id,length,kind\nf1,5.1,setosa\nf2,,versicolor\n")?;
/// let labels = read_label_column(&path, &"kind".parse()?)?;
/// assert_eq!(labels.names, ["setosa", "versicolor"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_label_column(path: impl AsRef<Path>, column: &Column) -> Result<Labels> {
    let path = path.as_ref();
    let options = ReadOptions { label: Some(column.clone()), ..ReadOptions::default() };
    // What is looked at is gone from a pipe, and only text comes through one.
    let format = if path.is_file() { detect_format(path)? } else { Format::Csv };
    let opened: Opened = match format {
        Format::Csv => csv::open_with(Input::open(path)?, &options, that_column)?,
        #[cfg(feature = "parquet")]
        Format::Parquet => super::parquet::open_with(Input::open(path)?, &options, that_column)?,
        Format::Npz => return array(path, column),
        // These have no columns, and say so.
        other => return read_as(other, path, &options).and_then(|table| found(path, table.labels)),
    };
    found(path, collect(path, opened, None, &options)?.0.labels)
}

fn found(path: &Path, labels: Option<Labels>) -> Result<Labels> {
    labels.ok_or_else(|| Error::format(path, "", "no labels were found"))
}

/// The label alone, no feature.
fn that_column(path: &Path, options: &ReadOptions, count: usize, names: Option<&[String]>) -> Result<Layout> {
    match Layout::new(path, options, count, names) {
        Ok(layout) => Ok(Layout { features: Vec::new(), ..layout }),
        // The only column is the one that was asked for; a wrong name is an error of the setting.
        Err(Error::Format { .. }) if count == 1 => Ok(Layout { label: Some(0), group: None, features: Vec::new() }),
        Err(e) => Err(e),
    }
}

/// An array of labels in an npz file.
fn array(path: &Path, column: &Column) -> Result<Labels> {
    let entries = zip::entries(path)?;
    let entry = entries.iter().find(|e| e.name.strip_suffix(".npy") == Some(&column.to_string()));
    let entry = entry.ok_or_else(|| {
        let names: Vec<_> = entries.iter().filter_map(|e| e.name.strip_suffix(".npy")).collect();
        let known = if names.is_empty() { "no arrays".to_owned() } else { names.join(", ") };
        Error::setting("label", format!("{}: no array is called `{column}`; there are: {known}", path.display()))
    })?;
    let mut all = Interner::default();
    npy::labels(zip::open(path, entry)?, &mut all)?;
    Ok(all.into_labels())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::test_files::{message, write};

    #[test]
    fn other_columns_may_hold_anything() {
        let folder = tempfile::tempdir().unwrap();
        let path = write(&folder, "a.csv", b"id,f,kind\nx1,1,red\nx2,,blue\nx3,NA,red\n");
        for column in ["kind", "3", "last"] {
            let labels = read_label_column(&path, &column.parse().unwrap()).unwrap();
            assert_eq!(
                (&labels.index[..], &labels.names[..]),
                (&[1, 0, 1][..], &["blue".to_owned(), "red".to_owned()][..])
            );
        }
        let m = message(read_label_column(&path, &"no".parse().unwrap()));
        assert!(m.starts_with("label: ") && m.contains("there are: id, f, kind"), "{m}");
        let gap = write(&folder, "gap.csv", b"id,kind\nx1,red\nx2,\n");
        let m = message(read_label_column(&gap, &Column::Last));
        assert!(m.contains("row 2 (line 3), column 2 (`kind`): the label is missing"), "{m}");
    }

    #[test]
    fn a_table_of_that_column_alone_is_enough() {
        let folder = tempfile::tempdir().unwrap();
        let path = write(&folder, "a.csv", b"kind\nred\nblue\n");
        for column in ["kind", "1", "last"] {
            assert_eq!(read_label_column(&path, &column.parse().unwrap()).unwrap().names, ["blue", "red"]);
        }
        assert!(message(read_label_column(&path, &"2".parse().unwrap())).contains("no column 2, only 1 to 1"));
        assert!(message(read_label_column(&path, &"x".parse().unwrap())).contains("no column is called `x`"));
    }

    #[test]
    fn what_has_no_columns_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = write(&folder, "a.svm", b"1 1:2\n");
        assert!(message(read_label_column(&path, &Column::Last)).contains("have no columns to choose from"));
    }
}
