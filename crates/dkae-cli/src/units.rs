//! Whether rows are in the units of those that a model was trained on: 0 to 1 where it knows 0 to 255 gives no error, and
//! nonsense.
//!
//! A model's scaling remembers the range, or mean and deviation, of its training rows. Rows like these may well be outside
//! of it: rare features, heavy tails and single rows are all ordinary. So nothing is said of
//! - features that were constant in training or all but constant, which tell nothing of their unit;
//! - values up to ten ranges (deviations) away, or a few beyond: at least a tenth of all values must be (by Chebyshev at most
//!   one in a hundred of the training rows' is), in three features, or one in a hundred where one range is that of all
//!   features; but for a single value as far away as no training row can be;
//! - small values in few rows, in the tail of a range, or where they are zero: nearly all others must be below two per cent of
//!   what is usual.

use std::path::Path;

use dkae::data::Shape;
use dkae::data::scale::{Scale, Scaler};
use dkae::net::Model;
use ndarray::ArrayView2;

use crate::rows::Like;

/// Ranges or deviations from the middle that a value is far away from.
const FAR: f64 = 10.0;
/// Those that no training row was: in n rows the largest is sqrt(n) deviations from the mean.
const NOWHERE: f64 = 1e5;
/// The share of the usual size that values are small below. One in 255 and one in a hundred are the mistakes to find.
const SMALL: f64 = 0.02;
/// Small values must be this many, or chance has its part.
const VALUES: usize = 200;

/// What a feature was like in training.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Usual {
    middle: f64,
    /// Its range, or its standard deviation.
    spread: f64,
    /// How large its values were, whatever their sign.
    size: f64,
}

/// The units that a model takes rows in, as far as they are known.
#[derive(Clone, Debug, PartialEq)]
pub struct Units {
    kind: Scale,
    picture: bool,
    /// One for each feature, or one for all.
    usual: Vec<Option<Usual>>,
}

impl Units {
    /// Those of a model; none for text, whose weights have no unit, and where values are taken as they are.
    pub fn of(model: &Model) -> Option<Self> {
        let (preparation, about) = (model.preparation(), model.about());
        if preparation.text.is_some() {
            return None;
        }
        // The scaling of choice is none when all is within 0 and 1.
        let auto = about.settings.get("scale").is_some_and(|scale| scale == "auto");
        Self::new(&preparation.scaler, auto, matches!(about.shape, Shape::Image { .. }))
    }

    fn new(scaler: &Scaler, auto: bool, picture: bool) -> Option<Self> {
        let kind = scaler.kind();
        let one = |(&offset, &factor): (&f32, &f32)| {
            let (offset, spread) = (f64::from(offset), 1.0 / f64::from(factor));
            // A constant feature has the factor 1; one with rounding errors alone is no better.
            let constant = factor == 1.0 || spread < 1e-5 * offset.abs();
            (!constant).then(|| match kind {
                Scale::Standard => Usual { middle: offset, spread, size: offset.hypot(spread) },
                _ => Usual { middle: offset + 0.5 * spread, spread, size: offset.abs().max((offset + spread).abs()) },
            })
        };
        let usual = match kind {
            Scale::None if auto => vec![Some(Usual { middle: 0.5, spread: 1.0, size: 1.0 })],
            Scale::None | Scale::Auto => return None,
            _ => scaler.offset().iter().zip(scaler.factor()).map(one).collect(),
        };
        Some(Units { kind, picture, usual })
    }

    /// From the darkest to the brightest value of the training rows, where that is known.
    pub fn range(&self) -> Option<(f32, f32)> {
        if self.kind == Scale::Standard {
            return None;
        }
        let known = self.usual.iter().flatten();
        let ends = known.map(|u| (u.middle - 0.5 * u.spread, u.middle + 0.5 * u.spread));
        let range = ends.reduce(|(low, high), (l, h)| (low.min(l), high.max(h)))?;
        Some((range.0 as f32, range.1 as f32))
    }

    /// What is usual, in words.
    fn words(&self, usual: Usual) -> String {
        // Six digits: the scaling has hardly more.
        let short = |value: f64| plain(format!("{value:.5e}").parse().unwrap_or(value as f32));
        match self.kind {
            Scale::Standard => format!("about {} give or take {}", short(usual.middle), short(usual.spread)),
            _ => {
                let half = 0.5 * usual.spread;
                format!("{} to {}", short(usual.middle - half), short(usual.middle + half))
            }
        }
    }
}

/// What was seen of the rows of a file.
pub struct Seen<'a> {
    units: &'a Units,
    rows: usize,
    values: usize,
    /// Values far away, and the features that have any.
    far: usize,
    far_features: Vec<bool>,
    /// The value that is farthest away: how far, where, what.
    farthest: (f64, usize, usize, f32),
    /// Values that are not zero, and those of them that are not small.
    nonzero: usize,
    large: usize,
    range: (f32, f32),
}

impl<'a> Seen<'a> {
    pub fn new(units: &'a Units, width: usize) -> Self {
        Seen {
            units,
            rows: 0,
            values: 0,
            far: 0,
            far_features: vec![false; width],
            farthest: (0.0, 0, 0, 0.0),
            nonzero: 0,
            large: 0,
            range: (f32::INFINITY, f32::NEG_INFINITY),
        }
    }

    /// Looks at the next rows, as they are in the file.
    pub fn look(&mut self, rows: ArrayView2<f32>) {
        for row in rows.rows() {
            let usual = self.units.usual.iter().cycle();
            for (j, (&value, usual)) in row.iter().zip(usual).enumerate() {
                let Some(usual) = usual.filter(|_| value.is_finite()) else { continue };
                self.values += 1;
                let distance = (f64::from(value) - usual.middle).abs() / usual.spread;
                if distance > FAR {
                    self.far += 1;
                    self.far_features[j] = true;
                }
                if distance > self.farthest.0 {
                    self.farthest = (distance, self.rows, j, value);
                }
                self.nonzero += usize::from(value != 0.0);
                self.large += usize::from(f64::from(value).abs() >= SMALL * usual.size);
                self.range = (self.range.0.min(value), self.range.1.max(value));
            }
            self.rows += 1;
        }
    }

    /// What to tell about the rows of `file`, if anything.
    pub fn warning(&self, like: &Like, file: &Path) -> Option<String> {
        let (units, who, file) = (self.units, &like.who, file.display());
        let (distance, row, feature, value) = self.farthest;
        let one = units.usual.len() == 1;
        let usual = units.usual[if one { 0 } else { feature }];
        let share = self.far as f64 / self.values as f64;
        let known = if one { self.far_features.len() } else { units.usual.iter().flatten().count() };
        let many = self.far_features.iter().filter(|far| **far).count() >= known.min(3);
        let (low, high) = self.range;
        if many && share >= if one { 0.01 } else { 0.1 } {
            let usual = units.words(usual?);
            let found = match one {
                true => format!("values from {} to {}, but {who} {usual}", plain(low), plain(high)),
                false => format!(
                    "{:.0} % of the values are far from usual: {}, but {who} {usual} there",
                    100.0 * share,
                    place(like, row, feature, value)
                ),
            };
            return Some(format!(
                "{file}: {found}; the results will mean little: give the rows in the units of the training rows"
            ));
        }
        if distance > NOWHERE {
            let (place, usual) = (place(like, row, feature, value), units.words(usual?));
            return Some(format!(
                "{file}: {place}, but {who} {usual} there; results of that row will mean little: correct it, or leave it out"
            ));
        }
        // Most values are small beside the end of a range with a long tail, so there not one may be large.
        let large = if units.kind == Scale::Standard { self.nonzero / 33 } else { 0 };
        let rows = if units.picture { 5 } else { 50 };
        if units.kind != Scale::None && self.rows >= rows && self.nonzero >= VALUES && self.large <= large {
            let usual = match usual.filter(|_| one) {
                Some(usual) => units.words(usual),
                None => "values more than fifty times as large".to_owned(),
            };
            let (low, high) = (plain(low), plain(high));
            return Some(format!(
                "{file}: values from {low} to {high}, but {who} {usual}; were they scaled before? The results will mean \
                 little: give the rows in the units of the training rows"
            ));
        }
        None
    }
}

/// A value and where it is, counted from 1.
fn place(like: &Like, row: usize, feature: usize, value: f32) -> String {
    let name = like.names.and_then(|names| names.get(feature)).map_or(String::new(), |name| format!(" (`{name}`)"));
    format!("row {} (from 1), feature {}{name} is {}", row + 1, feature + 1, plain(value))
}

/// A value of a file as it is there, or with an exponent.
fn plain(value: f32) -> String {
    if value == 0.0 || (1e-4..1e7).contains(&value.abs()) { value.to_string() } else { format!("{value:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, s};

    fn verdict(units: &Units, rows: ArrayView2<f32>) -> Option<String> {
        let who = "the model m.dkae takes".to_owned();
        let like = Like { who, width: rows.ncols(), names: None, gaps: false, counts: false, units: None };
        let mut seen = Seen::new(units, rows.ncols());
        rows.axis_chunks_iter(ndarray::Axis(0), 7).for_each(|block| seen.look(block));
        seen.warning(&like, Path::new("rows.npy"))
    }

    /// Rows of a kind, the same each time.
    fn made(rows: usize, columns: usize, mut value: impl FnMut(&mut dyn FnMut() -> f64, usize) -> f64) -> Array2<f32> {
        let mut state = 88_172_645_463_325_252u64;
        let mut next = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        Array2::from_shape_fn((rows, columns), |(_, j)| value(&mut next, j) as f32)
    }

    fn gauss(next: &mut dyn FnMut() -> f64) -> f64 {
        (0..12).map(|_| next()).sum::<f64>() - 6.0
    }

    /// Kinds of rows: dense, grey pictures, rare marks, long tails, constant columns, wide features beside narrow ones.
    fn kinds() -> Vec<(&'static str, Array2<f32>)> {
        vec![
            ("dense", made(600, 8, |next, j| 10.0 * j as f64 + gauss(next))),
            ("pictures", made(600, 64, |next, _| if next() < 0.8 { 0.0 } else { (255.0 * next()).round() })),
            ("rare marks", made(600, 40, |next, j| f64::from(u8::from(next() < 0.3 / (1.0 + j as f64))))),
            ("long tails", made(600, 8, |next, _| (2.0 * gauss(next)).exp())),
            ("constant", made(600, 8, |next, j| if j < 6 { 3.7 } else { gauss(next) })),
            ("jitter", made(600, 8, |next, j| if j < 6 { 3.7 + 1e-7 * next() } else { gauss(next) })),
            ("unlike units", made(600, 4, |next, j| 1000f64.powi(j as i32) * next())),
            ("counts", made(600, 50, |next, j| (f64::from(j as u32 + 1).recip() * 4.0 * next()).floor())),
        ]
    }

    fn units(x: &Array2<f32>, scale: Scale, picture: bool) -> Option<Units> {
        let shape = if picture { Shape::Image { channels: 1, height: 1, width: x.ncols() } } else { Shape::Vector };
        Units::new(&scale.fit(x.view(), shape).unwrap(), false, picture)
    }

    #[test]
    fn rows_like_the_training_rows_pass_whatever_they_are() {
        for (name, x) in kinds() {
            let (train, new) = (x.slice(s![..300, ..]).to_owned(), x.slice(s![300.., ..]));
            for scale in [Scale::Unit, Scale::UnitAll, Scale::Standard] {
                let Some(units) = units(&train, scale, name == "pictures") else { continue };
                for rows in [train.view(), new] {
                    assert_eq!(verdict(&units, rows), None, "{name}, {scale}, all");
                    for i in 0..rows.nrows() {
                        let single = rows.slice(s![i..i + 1, ..]);
                        assert_eq!(verdict(&units, single), None, "{name}, {scale}, row {i}: {single}");
                    }
                }
            }
        }
    }

    #[test]
    fn other_units_are_told_by_file_finding_and_expectation() {
        let (_, x) = kinds().remove(1);
        for scale in [Scale::UnitAll, Scale::Unit, Scale::Standard] {
            let units = units(&x, scale, true).unwrap();
            let small = verdict(&units, (&x / 255.0).view()).unwrap_or_else(|| panic!("{scale}: small"));
            assert!(small.starts_with("rows.npy: values from 0 to 1, but the model m.dkae takes "), "{small}");
            let large = verdict(&units, (&x * 255.0).view()).unwrap_or_else(|| panic!("{scale}: large"));
            let found =
                if scale == Scale::UnitAll { "values from 0 to 65025" } else { "% of the values are far from usual" };
            assert!(large.starts_with("rows.npy: ") && large.contains(found), "{large}");
            // One row in another unit is enough where values are too large.
            assert!(verdict(&units, (&x.slice(s![..1, ..]) * 255.0).view()).is_some(), "{scale}");
            let mut cell = x.clone();
            cell[[4, 9]] = 1e30;
            let cell = verdict(&units, cell.view()).unwrap_or_else(|| panic!("{scale}: cell"));
            assert!(cell.contains("row 5 (from 1), feature 10 is 1e30, but the model m.dkae takes "), "{cell}");
        }
        let units = units(&x, Scale::UnitAll, true).unwrap();
        assert!(verdict(&units, (&x / 255.0).view()).unwrap().contains("takes 0 to 255"));
        // The factor is in 32 bits.
        let (low, high) = units.range().unwrap();
        assert!(low.abs() < 1e-4 && (high - 255.0).abs() < 1e-4, "{low} {high}");
    }

    #[test]
    fn dense_tables_in_other_units_are_told_as_well() {
        let (_, x) = kinds().remove(0);
        for scale in [Scale::Unit, Scale::UnitAll, Scale::Standard] {
            let units = units(&x, scale, false).unwrap();
            for factor in [0.001, 1000.0] {
                assert!(verdict(&units, (&x * factor).view()).is_some(), "{scale}, {factor}");
            }
            assert!(verdict(&units, (&x + 273.15).view()).is_some() || scale == Scale::UnitAll, "{scale}, offset");
        }
    }

    #[test]
    fn values_taken_as_they_are_have_no_unit_but_between_0_and_1() {
        let (_, x) = kinds().remove(1);
        let within = &x / 255.0;
        let scaler = Scale::Auto.fit(within.view(), Shape::Vector).unwrap();
        assert_eq!(Units::new(&scaler, false, false), None);
        let units = Units::new(&scaler, true, false).unwrap();
        assert_eq!(verdict(&units, within.view()), None);
        assert_eq!(verdict(&units, (&within / 1000.0).view()), None, "0 to 1 may have been less");
        assert!(
            verdict(&units, x.view()).unwrap().contains("values from 0 to 255, but the model m.dkae takes 0 to 1;")
        );
    }
}
