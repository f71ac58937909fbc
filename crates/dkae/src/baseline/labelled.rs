//! Rows with classes, checked once: what every classifier of this module asks of its training data.

use crate::{Error, Result};

/// The classes of a training set.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Classes {
    /// The class numbers that occur, smallest first.
    pub names: Vec<u32>,
    /// The class of each row, as a place in `names`.
    pub of_row: Vec<usize>,
}

impl Classes {
    /// Sorts out the labels of `rows` rows.
    pub fn new(rows: usize, labels: &[u32]) -> Result<Self> {
        if rows != labels.len() {
            return Err(Error::Data(format!("{rows} rows but {} labels; expected one label per row", labels.len())));
        }
        if rows == 0 {
            return Err(Error::Data("no rows; a classifier needs at least one row of each class".into()));
        }
        let mut names = labels.to_vec();
        names.sort_unstable();
        names.dedup();
        let of_row = labels.iter().map(|l| names.partition_point(|n| n < l)).collect();
        Ok(Classes { names, of_row })
    }

    /// As [`new`](Self::new), for methods that tell classes apart and so need two.
    pub fn at_least_two(rows: usize, labels: &[u32]) -> Result<Self> {
        let classes = Self::new(rows, labels)?;
        match classes.names[..] {
            [only] => Err(Error::Data(format!(
                "all {rows} rows are of class {only}; a support vector machine needs rows of at least two classes"
            ))),
            _ => Ok(classes),
        }
    }

    /// The numbers of the rows of each class, in order.
    pub fn rows(&self) -> Vec<Vec<usize>> {
        let mut rows = vec![Vec::new(); self.names.len()];
        for (i, &class) in self.of_row.iter().enumerate() {
            rows[class].push(i);
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_numbers_may_have_gaps_and_come_in_any_order() {
        let classes = Classes::at_least_two(4, &[9, 2, 9, 5]).unwrap();
        assert_eq!(classes, Classes { names: vec![2, 5, 9], of_row: vec![2, 0, 2, 1] });
        assert_eq!(classes.rows(), [vec![1], vec![3], vec![0, 2]]);
    }

    #[test]
    fn errors_name_what_is_wrong() {
        let message = |r: Result<()>| r.unwrap_err().to_string();
        assert!(message(Classes::new(3, &[1, 2]).map(drop)).contains("3 rows but 2 labels"));
        assert!(message(Classes::new(0, &[]).map(drop)).contains("no rows"));
        assert!(message(Classes::at_least_two(2, &[4, 4]).map(drop)).contains("all 2 rows are of class 4"));
    }
}
