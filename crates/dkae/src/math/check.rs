//! What every method asks of the rows it is given, in one place and in the same words.

use ndarray::ArrayView2;

use crate::{Error, Result};

/// At least one row and one column, and every value finite. `what` names the rows in the message.
pub fn rows(what: &str, x: ArrayView2<f32>) -> Result<()> {
    if x.is_empty() {
        let (n, d) = x.dim();
        return Err(Error::Data(format!("{what}: expected at least one row and one column, found {n} x {d}")));
    }
    finite(what, x)
}

/// Every value finite. Rows and columns are counted from 1, as in messages about files.
pub fn finite(what: &str, x: ArrayView2<f32>) -> Result<()> {
    finite_in(what, 0, x, |j| format!("column {}", j + 1))
}

/// As [`finite`], for rows of a file that come after `before` others. Features are not its columns: labels and columns that
/// were left out are not among them. They may have names.
pub fn finite_features(what: &str, before: usize, names: Option<&[String]>, x: ArrayView2<f32>) -> Result<()> {
    finite_in(what, before, x, |j| {
        let name = names.and_then(|names| names.get(j)).map_or(String::new(), |name| format!(" (`{name}`)"));
        format!("feature {}{name}", j + 1)
    })
}

fn finite_in(what: &str, before: usize, x: ArrayView2<f32>, place: impl Fn(usize) -> String) -> Result<()> {
    for (i, row) in x.rows().into_iter().enumerate() {
        if let Some(j) = row.iter().position(|v| !v.is_finite()) {
            let (row_number, place, value) = (before + i + 1, place(j), row[j]);
            return Err(Error::Data(format!(
                "{what}: row {row_number}, {place} is {value}; every value must be finite: fill it in or drop the row"
            )));
        }
    }
    Ok(())
}

/// The same number of columns as the rows of the fit.
pub fn width(what: &str, x: ArrayView2<f32>, expected: usize) -> Result<()> {
    if x.ncols() == expected {
        return Ok(());
    }
    Err(Error::Data(format!(
        "{what}: expected {expected} columns, as in the rows of the fit, found {}; were they prepared the same way?",
        x.ncols()
    )))
}

/// Between 1 and `most` components, which is what `why` allows.
pub fn components(wanted: usize, most: usize, why: &str) -> Result<()> {
    if (1..=most).contains(&wanted) {
        return Ok(());
    }
    Err(Error::setting("components", format!("expected 1 to {most} ({why}), found {wanted}")))
}

/// At least as many of something as there are components, which are chosen among them or computed from them.
pub fn as_many(name: &'static str, found: usize, components: usize) -> Result<()> {
    if found >= components {
        return Ok(());
    }
    Err(Error::setting(name, format!("expected at least {components}, as many as components, found {found}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, array};

    #[test]
    fn the_message_names_the_place_counted_from_one() {
        let message = rows("rows", array![[0.0, 1.0], [f32::NAN, 2.0]].view()).unwrap_err().to_string();
        assert!(message.starts_with("rows: row 2, column 1 is NaN"), "{message}");
        let names = ["a".to_owned(), "b".to_owned()];
        let gap = array![[0.0, f32::NAN]];
        let message = |names| finite_features("f.csv", 7, names, gap.view()).unwrap_err().to_string();
        assert!(message(Some(&names[..])).starts_with("f.csv: row 8, feature 2 (`b`) is NaN"));
        assert!(message(None).starts_with("f.csv: row 8, feature 2 is NaN"));
        let empty = Array2::zeros((0, 3));
        assert!(rows("rows", empty.view()).is_err() && finite("rows", empty.view()).is_ok());
        assert!(rows("rows", array![[0.0, f32::INFINITY]].view()).is_err());
        assert!(rows("rows", array![[0.0, 1.0]].view()).is_ok());
        assert!(width("rows", array![[0.0, 1.0]].view(), 3).is_err());
        assert!(components(0, 3, "rows").is_err() && components(4, 3, "rows").is_err());
        let message = as_many("landmarks", 1, 2).unwrap_err().to_string();
        assert_eq!(message, "landmarks: expected at least 2, as many as components, found 1");
        assert!(as_many("landmarks", 2, 2).is_ok());
    }
}
