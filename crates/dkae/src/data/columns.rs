//! Which columns of a file are what: named by users, found in a file.

use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::read::ReadOptions;
use crate::written::Word;
use crate::{Error, Result};

/// A column of a file: by its name, by its number counted from 1, or the last one.
///
/// As text, `last` is the last column, digits are a number, anything else is a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Word", into = "String")]
pub enum Column {
    /// The column of this name.
    Name(String),
    /// The column with this number, counted from 1.
    Number(usize),
    /// The last column.
    Last,
}

impl FromStr for Column {
    type Err = Error;

    fn from_str(s: &str) -> Result<Self> {
        match s.trim() {
            "" => Err(Error::setting("column", "give a column's name, its number counted from 1, or `last`")),
            "last" => Ok(Self::Last),
            s => match s.parse() {
                Ok(0) => Err(Error::setting("column", "columns are counted from 1, so 0 is none of them")),
                Ok(number) => Ok(Self::Number(number)),
                Err(_) => Ok(Self::Name(s.to_owned())),
            },
        }
    }
}

impl TryFrom<Word> for Column {
    type Error = Error;

    fn try_from(word: Word) -> Result<Self> {
        String::from(word).parse()
    }
}

impl From<Column> for String {
    fn from(column: Column) -> Self {
        column.to_string()
    }
}

impl std::fmt::Display for Column {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Number(number) => write!(f, "{number}"),
            Self::Last => f.write_str("last"),
        }
    }
}

impl Column {
    /// The column's index from 0 in a file with `count` columns.
    fn resolve(&self, setting: &'static str, path: &Path, count: usize, names: Option<&[String]>) -> Result<usize> {
        let refuse = |why: String| Err(Error::setting(setting, format!("{}: {why}", path.display())));
        match (self, names) {
            (Self::Last, _) => Ok(count - 1),
            (&Self::Number(n), _) if (1..=count).contains(&n) => Ok(n - 1),
            (&Self::Number(n), _) => refuse(format!("there is no column {n}, only 1 to {count}")),
            (Self::Name(name), None) => {
                refuse(format!("no column is called `{name}`, the file names none; give a number from 1 to {count}"))
            }
            // A name can stand for several columns when they are left out, and then they all are.
            (Self::Name(name), Some(names)) if setting != "skip" && names.iter().filter(|n| *n == name).count() > 1 => {
                let places: Vec<String> =
                    (1..=count).filter(|i| names[i - 1] == *name).map(|i| i.to_string()).collect();
                refuse(format!("columns {} are all called `{name}`; give the number of one", places.join(", ")))
            }
            (Self::Name(name), Some(names)) => match names.iter().position(|n| n == name) {
                Some(i) => Ok(i),
                None => {
                    let mut known = names.iter().take(20).cloned().collect::<Vec<_>>().join(", ");
                    if names.len() > 20 {
                        known.push_str(", ...");
                    }
                    refuse(format!("no column is called `{name}`; there are: {known}"))
                }
            },
        }
    }
}

/// Which columns of a file are what, as indices from 0.
pub(crate) struct Layout {
    pub label: Option<usize>,
    pub group: Option<usize>,
    pub features: Vec<usize>,
}

impl Layout {
    /// Sorts `count` columns into label, group, left out, and features.
    pub fn new(path: &Path, options: &ReadOptions, count: usize, names: Option<&[String]>) -> Result<Self> {
        let resolve = |setting, column: &Column| column.resolve(setting, path, count, names);
        let there = |column: &&Column| match column {
            _ if !options.may_lack_columns => true,
            Column::Name(name) => names.is_some_and(|names| names.contains(name)),
            Column::Number(number) => options.width != Some(count) && *number <= count,
            Column::Last => options.width != Some(count),
        };
        let label = options.label.as_ref().filter(there).map(|c| resolve("label", c)).transpose()?;
        let group = options.group.as_ref().filter(there).map(|c| resolve("group", c)).transpose()?;
        let mut feature = vec![true; count];
        for column in options.skip.iter().filter(there) {
            feature[resolve("skip", column)?] = false;
            // A name can stand for several columns: the leaves of a nested one in Parquet.
            if let (Column::Name(name), Some(names)) = (column, names) {
                names.iter().zip(&mut feature).filter(|(n, _)| *n == name).for_each(|(_, f)| *f = false);
            }
        }
        for i in label.into_iter().chain(group) {
            feature[i] = false;
        }
        let features: Vec<usize> = (0..count).filter(|&i| feature[i]).collect();
        if features.is_empty() {
            return Err(Error::format(path, "", "no column is left to be a feature"));
        }
        Ok(Self { label, group, features })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_read_from_text_as_documented() {
        assert_eq!("last".parse::<Column>().unwrap(), Column::Last);
        assert_eq!("3".parse::<Column>().unwrap(), Column::Number(3));
        assert_eq!(" kind ".parse::<Column>().unwrap(), Column::Name("kind".into()));
        assert!("0".parse::<Column>().is_err() && "".parse::<Column>().is_err());
    }
}
