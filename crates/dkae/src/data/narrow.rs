//! What is lost when numbers become f32, which keeps some seven digits: in a column of 100000000.25, 100000000.75 and so on
//! all of them go to the offset, and the differences, which are what one learns from, are rounded away.
//!
//! Readers pass on the numbers as the file has them; this remembers how much each column varies, and at the end names those
//! whose variation comes near the steps of f32. A column that f32 holds exactly, such as small whole numbers, is never named.

/// Steps of f32 above this share of a column's standard deviation are worth a warning. The Python package has the same.
const ROUNDING: f64 = 0.01;

/// How the columns of a file vary.
#[derive(Debug, Default)]
pub(crate) struct Narrowing {
    columns: Vec<Column>,
}

/// Sums are of differences from the first value: those of the values themselves would lose the same digits.
#[derive(Clone, Debug, Default)]
struct Column {
    count: f64,
    first: f64,
    sum: f64,
    squares: f64,
    largest: f64,
    /// Whether f32 changed any value.
    changed: bool,
}

impl Column {
    fn add(&mut self, value: f64) {
        // Gaps are none of this file's business; what overflows is refused elsewhere.
        if !value.is_finite() {
            return;
        }
        if self.count == 0.0 {
            self.first = value;
        }
        let difference = value - self.first;
        self.count += 1.0;
        self.sum += difference;
        self.squares += difference * difference;
        self.largest = self.largest.max(value.abs());
        self.changed |= f64::from(value as f32) != value;
    }

    fn deviation(&self) -> f64 {
        let mean = self.sum / self.count;
        (self.squares / self.count - mean * mean).max(0.0).sqrt()
    }

    /// The distance from the largest value to the next one in f32.
    fn step(&self) -> f64 {
        let largest = self.largest as f32;
        f64::from(largest.next_up()) - f64::from(largest)
    }

    fn is_lost(&self) -> bool {
        let deviation = self.deviation();
        self.changed && deviation > 0.0 && self.step() > ROUNDING * deviation
    }
}

impl Narrowing {
    /// Takes note of a row.
    pub fn add(&mut self, row: &[f64]) {
        self.columns.resize(row.len().max(self.columns.len()), Column::default());
        self.columns.iter_mut().zip(row).for_each(|(column, &value)| column.add(value));
    }

    /// What to say about the file, if anything: its first column that suffers, and how many others do.
    pub fn warning(&self, names: Option<&[String]>) -> Option<String> {
        let mut lost = self.columns.iter().enumerate().filter(|(_, column)| column.is_lost());
        let (j, column) = lost.next()?;
        let name = names.and_then(|names| names.get(j)).map_or(String::new(), |name| format!(" (`{name}`)"));
        let others = match lost.count() {
            0 => String::new(),
            1 => " and another feature".to_owned(),
            n => format!(" and {n} other features"),
        };
        Some(format!(
            "feature {}{name}{others}: numbers are kept in 32 bits, in steps of {} for values as large as {}, but these \
             vary by {} only; subtract what they have in common, such as {}, before saving the file",
            j + 1,
            short(column.step()),
            short(column.largest),
            short(column.deviation()),
            column.first,
        ))
    }
}

/// Three digits.
fn short(value: f64) -> String {
    if (1e-3..1e6).contains(&value) {
        let digits = (2 - value.log10().floor() as i32).max(0) as usize;
        let text = format!("{value:.digits$}");
        return if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text };
    }
    format!("{value:.2e}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warning(values: impl IntoIterator<Item = f64>) -> Option<String> {
        let mut narrowing = Narrowing::default();
        values.into_iter().for_each(|v| narrowing.add(&[1.5, v]));
        narrowing.warning(Some(&["a".to_owned(), "t".to_owned()]))
    }

    #[test]
    fn a_large_common_offset_is_named_with_what_it_costs() {
        // Ten values a hundredth apart: their deviation is 0.0287 by hand; f32 has steps of 8 at 1e8.
        let text = warning((0..10).map(|i| 1e8 + 0.01 * f64::from(i))).unwrap();
        assert!(text.starts_with("feature 2 (`t`): ") && text.contains("steps of 8 "), "{text}");
        assert!(text.contains("vary by 0.0287 ") && text.contains("such as 100000000,"), "{text}");
    }

    #[test]
    fn the_share_of_the_deviation_decides() {
        // Steps are 128 at 1.7e9; uniform values over w have a deviation of w / sqrt(12).
        let over = |width: f64| warning((0..1000).map(move |i| 1.7e9 + 0.3 + width * f64::from(i) / 999.0));
        let limit = 128.0 / ROUNDING * 12f64.sqrt();
        assert!(over(0.95 * limit).is_some() && over(1.05 * limit).is_none());
    }

    #[test]
    fn what_f32_holds_well_is_not_warned_of() {
        assert_eq!(warning((0..50).map(|i| 0.1 * f64::from(i))), None);
        // Whole numbers below 2^24 are exact, however near to each other.
        assert_eq!(warning((0..5).map(|i| 16_000_000.0 + f64::from(i))), None);
        assert!(warning((0..5).map(|i| 32_000_000.0 + f64::from(i))).is_some());
        // A constant loses nothing that could be learned; nor do gaps count.
        assert_eq!(warning([1e8 + 0.1; 9]), None);
        assert_eq!(warning([f64::NAN, f64::INFINITY, 3.0, 4.5]), None);
        assert_eq!(Narrowing::default().warning(None), None);
    }

    #[test]
    fn other_features_are_counted() {
        let mut narrowing = Narrowing::default();
        (0..9).for_each(|i| narrowing.add(&[1e9 + 0.5 * f64::from(i), f64::from(i), 2e9 + 0.1 * f64::from(i)]));
        let text = narrowing.warning(None).unwrap();
        assert!(text.starts_with("feature 1 and another feature: "), "{text}");
    }
}
