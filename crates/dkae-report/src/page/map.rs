//! The map section: held-out rows on the first two components of their codes, and a grid of decoded points of that plane.

use dkae::code::PcaModel;
use dkae::net::Model;
use ndarray::{Array2, ArrayView2, Axis, s};
use serde::Serialize;

use super::figures::{Line, gallery, percent};
use super::looks::{Choice, Given, Looks};
use super::pack::{Packed, level, range};
use super::rows::{Held, in_words};
use super::statistics::near_ends;
use super::{Page, Report, decode};
use crate::Result;
use crate::scatter;
use crate::svg::escape;
use crate::theme::{self, Shape};

/// Points of the map when it stands still, without JavaScript or on paper.
const STILL: usize = 1000;
/// Decoded points along each side when it stands still.
const STILL_SIDE: usize = 6;
/// Width by height of the map on a screen: what it shows beside the rows is decoded too.
const ASPECT: f64 = 4.0 / 3.0;

/// The map.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Map {
    /// The plane's part that is shown: left, right, bottom, top.
    pub range: [f64; 4],
    /// Coordinates of the rows in 16 bits of that range.
    pub x: Packed,
    pub y: Packed,
    /// The share of the codes' variance along both axes.
    pub explained: [f64; 2],
    /// Decoded points along each side, and the sheet with them: from the left, then from the bottom.
    pub side: usize,
    pub grid: usize,
    #[serde(skip)]
    pub still: String,
    /// Some of the decoded points that stand still; nothing when they are not pictures.
    #[serde(skip)]
    pub decoded_still: String,
    /// Rows that are drawn when it stands still.
    #[serde(skip)]
    pub drawn: usize,
    /// Rows that lie beyond the part that is shown.
    #[serde(skip)]
    pub beyond: usize,
}

impl Report {
    /// The map; with it the features that decoded points are shown by.
    pub(super) fn map(
        &self,
        model: &Model,
        pca: &PcaModel,
        codes: ArrayView2<f32>,
        held: &Held,
        looks: &mut Looks,
    ) -> Result<(Map, Choice)> {
        let scores = pca.transform(codes)?;
        // A code of one number has one component.
        let mut points = Array2::zeros((scores.nrows(), 2));
        let axes = scores.ncols().min(2);
        points.slice_mut(s![.., ..axes]).assign(&scores.slice(s![.., ..axes]));
        let padded = |axis: usize| {
            let (low, high) = range(points.column(axis).iter().map(|&v| f64::from(v)));
            // A row far from all others would leave one dot of them.
            let (low, high) = near_ends(points.column(axis).to_vec(), (low as f32, high as f32));
            let (low, high) = (f64::from(low), f64::from(high));
            let rim = 0.06 * (high - low);
            (low - rim, high + rim)
        };
        let [x0, x1, y0, y1] = widened(padded(0), padded(1));
        let beyond = at_the_rim(&mut points, [(x0, x1), (y0, y1)]);
        let side = self.grid;
        let along = |i: usize, low: f64, high: f64| low + (high - low) * i as f64 / (side - 1) as f64;
        let mut places = Array2::zeros((side * side, scores.ncols()));
        for (i, mut place) in places.rows_mut().into_iter().enumerate() {
            place[0] = along(i % side, x0, x1) as f32;
            if axes == 2 {
                place[1] = along(i / side, y0, y1) as f32;
            }
        }
        let decoded = decode(model, pca.inverse(places.view())?.view())?;
        let varying = looks.varying(Given::Network(&decoded))?;
        let grid = looks.add(Given::Network(&decoded), &varying)?;

        let shown = points.nrows().min(STILL);
        let still = scatter::Map { width: 560.0, height: 460.0, ..scatter::Map::default() };
        let labels = &held.labels[..held.labels.len().min(shown)];
        let still = still.draw(points.slice(s![..shown, ..]), labels, &held.classes)?;
        let key = key(labels, &held.classes, still.svg());
        let decoded_still = match looks.shape() {
            Some(_) => decoded_still(looks, &decoded, side, if axes == 2 { STILL_SIDE } else { 1 })?,
            None => String::new(),
        };
        let ratio = &pca.explained_variance_ratio;
        let explained = [ratio[0], ratio.get(1).copied().unwrap_or(0.0)];
        let map = Map {
            range: [x0, x1, y0, y1],
            x: Packed::u16s(points.column(0).iter().map(|&v| level(v.into(), x0, x1))),
            y: Packed::u16s(points.column(1).iter().map(|&v| level(v.into(), y0, y1))),
            explained,
            side,
            grid,
            still: still.svg().to_owned() + &key,
            decoded_still,
            drawn: shown,
            beyond,
        };
        Ok((map, varying))
    }
}

impl Page {
    /// What the section shows.
    pub(super) fn map_text(&self) -> String {
        let parts = in_words(&self.rows.parts);
        let [a, b] = self.map.explained;
        let classes = if self.classes.is_empty() {
            ""
        } else {
            " Colour and shape show the class, which training did not see unless the kernel is made of labels."
        };
        let also = match self.rows.count - self.rows.regular {
            0 => String::new(),
            1 => " The last of them is there because its error is among the largest.".into(),
            n => format!(" The last {n} of them are there because their errors are among the largest."),
        };
        let beyond = match self.map.beyond {
            0 => String::new(),
            1 => " One row lies far beyond all others, and is drawn at the rim.".into(),
            n => format!(" {n} rows lie far beyond all others, and are drawn at the rim."),
        };
        if self.summary.code_width == 1 {
            let above = self.decoder_text(", and the decoder makes the same of all points above each other");
            return format!(
                "The codes of {parts} rows. A code is one number, so all lie on a line{above}.{also}{beyond}{classes}"
            );
        }
        let sees = if a + b < 0.9995 {
            self.decoder_text(
                ": the decoder sees no more than that of a point of the map, so its rows are plainer here than a row's own \
                 reconstruction",
            )
        } else {
            String::new()
        };
        let (a, b) = (percent(a), percent(b));
        format!(
            "The codes of {parts} rows on their first two principal components, which carry {a} and {b} of the \
             variance{sees}.{also}{beyond}{classes}"
        )
    }

    /// Words about the decoder at a point of the map. Only the page's script shows what it makes of it, but for pictures.
    fn decoder_text(&self, words: &str) -> String {
        match self.map.decoded_still.is_empty() {
            true => format!("<span class=\"live\" hidden>{words}</span>"),
            false => words.to_owned(),
        }
    }

    /// The decoded points that stand still, and what they are.
    pub(super) fn decoded_still(&self) -> String {
        if self.map.decoded_still.is_empty() {
            return String::new();
        }
        let where_from = match self.summary.code_width {
            1 => "points spread evenly over the map, from its left end to its right",
            _ => "points spread evenly over the map, from its upper left corner to its lower right",
        };
        format!("<p>What the decoder makes of {where_from}:</p>\n{}", self.map.decoded_still)
    }

    pub(super) fn map_drawn(&self) -> String {
        match (self.map.drawn, self.rows.count) {
            (drawn, all) if drawn < all => format!("The first {drawn} of the {all} rows are drawn."),
            (_, all) => format!("{all} rows are drawn."),
        }
    }
}

/// A key of the classes below a map, when it does not have their names whole.
fn key(labels: &[usize], classes: &[String], map: &str) -> String {
    let mut shown = labels.to_vec();
    shown.sort_unstable();
    shown.dedup();
    let names = shown.into_iter().filter_map(|class| Some((class, escape(classes.get(class)?))));
    let names: Vec<_> = names.collect();
    if names.iter().all(|(_, name)| map.contains(&format!(">{name}</text>"))) {
        return String::new();
    }
    let item = |(class, name): &(usize, String)| {
        let (mark, fill) = (Shape::of(*class).path(0.0, 0.0, 10.0), theme::colour(*class));
        format!(
            "<li><svg viewBox=\"-14 -14 28 28\" width=\"14\" height=\"14\" aria-hidden=\"true\"><path d=\"{mark}\" \
             fill=\"{fill}\"/></svg><span>{name}</span></li>"
        )
    };
    format!("<ul class=\"key\">{}</ul>", names.iter().map(item).collect::<String>())
}

/// Some of the decoded points as pictures, from the top left; `lines` lines of them at most.
fn decoded_still(looks: &Looks, decoded: &Array2<f32>, side: usize, lines: usize) -> Result<String> {
    let count = side.min(STILL_SIDE);
    let spread = |i: usize| i * (side - 1) / (count - 1).max(1);
    let line = |j: usize| decoded.select(Axis(0), &(0..count).map(|i| j * side + spread(i)).collect::<Vec<_>>());
    let rows: Vec<Array2<f32>> = (0..count).rev().take(lines).map(|j| line(spread(j))).collect();
    let lines = rows.iter().map(|rows| Line { caption: "", rows: Given::Network(rows) });
    gallery(looks, &Choice::All, &lines.collect::<Vec<_>>(), &[])
}

/// Brings points beyond the part that is shown to its rim, where they can be seen; how many there were.
fn at_the_rim(points: &mut Array2<f32>, ends: [(f64, f64); 2]) -> usize {
    let mut beyond = 0;
    for mut point in points.rows_mut() {
        let before = point.to_owned();
        for (value, (low, high)) in point.iter_mut().zip(ends) {
            let rim = 0.02 * (high - low);
            *value = value.clamp((low + rim) as f32, (high - rim) as f32);
        }
        beyond += usize::from(point != before);
    }
    beyond
}

/// The part of the plane that is shown: what the rows need, made as wide for its height as a screen shows it.
fn widened(x: (f64, f64), y: (f64, f64)) -> [f64; 4] {
    let height = (y.1 - y.0).max((x.1 - x.0) / ASPECT);
    // Rows that all have one code still lie somewhere.
    let height = if height > 0.0 { height } else { 1.0 };
    let around = |(low, high): (f64, f64), side: f64| [(low + high - side) / 2.0, (low + high + side) / 2.0];
    let ([left, right], [bottom, top]) = (around(x, ASPECT * height), around(y, height));
    [left, right, bottom, top]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::encode;
    use crate::page::looks::{Raw, Sheet, tests::model};
    use dkae::code::Pca;
    use dkae::data::{Shape, Table};
    use dkae::recipe::Source;

    /// A map that is mirrored or turned shows rows where they are not, and decodes other points than the one shown.
    #[test]
    fn rows_lie_where_their_codes_do_and_the_grid_runs_from_the_left_then_from_the_bottom() {
        let x = Array2::from_shape_fn((40, 4), |(i, j)| ((i * (7 + 3 * j) + j * j) % (11 + j)) as f32);
        let model = model(Shape::Vector, x.view());
        let table = Table { x, ..Table::default() };
        let source = Source::from(&table);
        let x = model.preparation().apply(table.x.view()).unwrap();
        let codes = encode(&model, x.view()).unwrap();
        let pca = Pca { components: 2, ..Pca::default() }.fit(codes.view()).unwrap();
        let held = Held {
            parts: vec![(2, 40)],
            places: (0..40).map(|i| (2, i)).collect(),
            regular: 40,
            raw: Raw::Dense(table.x.clone()),
            x,
            numbers: (0..40).collect(),
            labels: Vec::new(),
            classes: Vec::new(),
        };
        let rows: Vec<usize> = (0..40).collect();
        let mut looks = Looks::new(&model, &source, &rows).unwrap();
        let (map, varying) =
            Report { grid: 3, ..Report::default() }.map(&model, &pca, codes.view(), &held, &mut looks).unwrap();

        let [x0, x1, y0, y1] = map.range;
        assert!(((x1 - x0) / (y1 - y0) - ASPECT).abs() < 1e-9);
        let scores = pca.transform(codes.view()).unwrap();
        for (packed, axis, low, high) in [(&map.x, 0, x0, x1), (&map.y, 1, y0, y1)] {
            for (level, &score) in packed.read_u16s().into_iter().zip(scores.column(axis)) {
                let shown = low + (high - low) * f64::from(level) / 65535.0;
                assert!((shown - f64::from(score)).abs() < 1e-4 * (high - low), "{shown} {score}");
            }
        }

        // Point by point: the mean of the codes and so much of each component.
        let mut wanted = Looks::new(&model, &source, &rows).unwrap();
        let mut places = Vec::new();
        for y in [y0, (y0 + y1) / 2.0, y1] {
            for x in [x0, (x0 + x1) / 2.0, x1] {
                let code = (0..2).map(|j| {
                    let along = |axis: usize| f64::from(pca.components[[axis, j]]);
                    (f64::from(pca.mean[j]) + x * along(0) + y * along(1)) as f32
                });
                places.extend(code);
            }
        }
        let places = Array2::from_shape_vec((9, 2), places).unwrap();
        wanted.add(Given::Network(&decode(&model, places.view()).unwrap()), &varying).unwrap();
        let values = |looks: Looks| match looks.finish().1.remove(0) {
            Sheet::Features { values, .. } => values.read_f32s(),
            Sheet::Pictures { .. } => panic!("not pictures"),
        };
        let (found, wanted) = (values(looks), values(wanted));
        assert_eq!(found.len(), 9 * 4);
        assert!(found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-3), "{found:?} {wanted:?}");
    }

    #[test]
    fn a_row_far_from_all_others_stands_at_the_rim_and_leaves_them_their_room() {
        let mut points = Array2::from_shape_fn((50, 2), |(i, j)| ((i * (7 + j)) % 50) as f32);
        let (whole, ends) = (points.clone(), [(-3.0, 52.0), (-3.0, 52.0)]);
        assert_eq!((at_the_rim(&mut points, ends), &points), (0, &whole));
        points[[3, 0]] = 1e9;
        assert_eq!(at_the_rim(&mut points, ends), 1);
        assert!((50.0..52.0).contains(&points[[3, 0]]) && points[[3, 1]] == whole[[3, 1]]);

        let x = Array2::from_shape_fn((60, 3), |(i, j)| ((i * (7 + 3 * j) + j * j) % (11 + j)) as f32);
        let model = model(Shape::Vector, x.view());
        let mut far = x.clone();
        far[[17, 1]] = 1e7;
        let table = Table { x, ..Table::default() };
        let codes = encode(&model, model.preparation().apply(table.x.view()).unwrap().view()).unwrap();
        let pca = Pca { components: 2, ..Pca::default() }.fit(codes.view()).unwrap();
        let rows: Vec<usize> = (0..60).collect();
        let spread = |x: &Array2<f32>| {
            let prepared = model.preparation().apply(x.view()).unwrap();
            let codes = encode(&model, prepared.view()).unwrap();
            let held = Held {
                parts: vec![(2, 60)],
                places: (0..60).map(|i| (2, i)).collect(),
                regular: 60,
                raw: Raw::Dense(x.clone()),
                x: prepared,
                numbers: (0..60).collect(),
                labels: Vec::new(),
                classes: Vec::new(),
            };
            let mut looks = Looks::new(&model, &Source::from(&table), &rows).unwrap();
            let map = Report { grid: 3, ..Report::default() }.map(&model, &pca, codes.view(), &held, &mut looks);
            let map = map.unwrap().0;
            let mut levels = map.x.read_u16s();
            levels.sort_unstable();
            (levels[50] - levels[10], map.beyond)
        };
        let ((usual, none), (with_far, one)) = (spread(&table.x), spread(&far));
        assert_eq!((none, one), (0, 1));
        assert!(with_far > usual / 2, "{with_far} of {usual}");
    }

    #[test]
    fn the_part_that_is_shown_has_the_shape_of_the_screen() {
        assert_eq!(widened((0.0, 4.0), (0.0, 1.0)), [0.0, 4.0, -1.0, 2.0]);
        assert_eq!(widened((0.0, 1.0), (0.0, 3.0)), [-1.5, 2.5, 0.0, 3.0]);
        let [left, right, bottom, top] = widened((5.0, 5.0), (0.0, 0.0));
        assert!(left < 5.0 && right > 5.0 && bottom < 0.0 && top > 0.0);
    }
}
