//! 2-D maps of thousands of rows by class.
//!
//! Each class has a colour and a shape, and its name at its median, or beside it where the name would hide the class or
//! another. More classes than can be named there, and names too long for it, are in a legend below the map. Marks are
//! small and half transparent, so that dense places show as dense, and they are drawn in turn over the classes: drawn
//! class after class, the last one would hide the others. A unit is as long across as down, since distances are what a
//! map is for.

use crate::svg::{Anchor, Canvas, Style, n};
use crate::{Error, Figure, Result, text, theme};
use ndarray::ArrayView2;

/// How a map is drawn.
#[derive(Clone, Debug)]
pub struct Map {
    /// Width in pixels. Default 360.
    pub width: f64,
    /// Height in pixels, without the legend. Default 360.
    pub height: f64,
    /// Radius of a mark in pixels; chosen by the number of points when `None`, the default.
    pub radius: Option<f64>,
    /// A title above; none by default.
    pub title: String,
    /// Labels of the axes across and up; none by default.
    pub axes: [String; 2],
}

impl Default for Map {
    fn default() -> Self {
        let axes = [String::new(), String::new()];
        Map { width: 360.0, height: 360.0, radius: None, title: String::new(), axes }
    }
}

/// A class's name on the map.
struct Name {
    class: usize,
    text: String,
    x: f64,
    y: f64,
    half: f64,
    /// Where the class has its median.
    of: (f64, f64),
}

/// The height of a name.
const HIGH: f64 = 15.0;
/// The most classes whose names are on the map.
const NAMED: usize = 12;
/// The largest share of a class that a name may cover.
const COVERED: f64 = 1.0 / 3.0;
/// A name farther than this from its class is joined to it by a line.
const FAR: f64 = 14.0;
/// The most classes in the legend: a name each of thousands of rows would be a figure of many pages.
const LISTED: usize = 100;
/// The height of a line of the legend.
const LINE: f64 = 17.0;

impl Map {
    /// Draws the points, one per row of two columns. `labels[i]` is the class of row i and `names[label]` its name; a
    /// label without a name is shown as its number. Without labels (empty) all points look alike.
    pub fn draw(&self, points: ArrayView2<f32>, labels: &[usize], names: &[impl AsRef<str>]) -> Result<Figure> {
        self.check(points, labels)?;
        let title_height = if self.title.is_empty() { 0.0 } else { theme::TITLE + 8.0 };
        let (up, across) = (!self.axes[1].is_empty(), !self.axes[0].is_empty());
        let label_height = theme::LABEL + 6.0;
        let top = theme::MARGIN + title_height + if up { label_height } else { 0.0 };
        let bottom = self.height - theme::MARGIN - if across { label_height } else { 0.0 };
        let (x0, x1) = (theme::MARGIN, self.width - theme::MARGIN);
        if x1 - x0 < 40.0 || bottom - top < 40.0 {
            return Err(Error::Data(format!("{} x {} pixels leave no room for a map", self.width, self.height)));
        }

        let range = |column: usize| {
            let values = points.column(column);
            values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &v| (a.min(v.into()), b.max(v.into())))
        };
        let ((xa, xb), (ya, yb)) = (range(0), range(1));
        let rim = 10.0;
        let unit = ((x1 - x0 - 2.0 * rim) / (xb - xa)).min((bottom - top - 2.0 * rim) / (yb - ya));
        // All points in one place: any unit shows them.
        let unit = if unit.is_finite() { unit } else { 1.0 };
        let place = |x: f64, y: f64| {
            ((x0 + x1) / 2.0 + (x - (xa + xb) / 2.0) * unit, (top + bottom) / 2.0 - (y - (ya + yb) / 2.0) * unit)
        };
        let places: Vec<(f64, f64)> = points.rows().into_iter().map(|p| place(p[0].into(), p[1].into())).collect();
        let class = |i: usize| labels.get(i).copied().unwrap_or(0);

        let mut canvas = Canvas::default();
        canvas.title(&self.title, self.width - 2.0 * theme::MARGIN);
        canvas.rect([x0, top, x1 - x0, bottom - top], "none", Some((theme::GRID, 1.0)));
        let plain = Style { size: theme::LABEL, ..Style::default() };
        canvas.text((x0, top - 6.0), &self.axes[1], plain);
        canvas.text((x1, bottom + theme::LABEL + 2.0), &self.axes[0], Style { anchor: Anchor::End, ..plain });

        // The more points, the smaller: 3 pixels for a hundred, 1.6 for ten thousand.
        let radius = self.radius.unwrap_or((3.0 - 0.7 * (points.nrows() as f64 / 100.0).log10()).clamp(1.4, 3.0));
        canvas.raw(&format!("<g fill-opacity=\"{}\">\n", n(if points.nrows() > 300 { 0.55 } else { 0.8 })));
        for i in in_turn(labels, points.nrows()) {
            canvas.mark(theme::Shape::of(class(i)), places[i], radius, &theme::colour(class(i)));
        }
        canvas.raw("</g>\n");
        let named = self.names(&places, labels, names, [x0, x1, top, bottom]);
        for name in &named {
            let (dx, dy) = (name.of.0 - name.x, name.of.1 - name.y);
            let (near_x, near_y) = (dx.clamp(-name.half, name.half), dy.clamp(-HIGH / 2.0, HIGH / 2.0));
            if (dx - near_x).hypot(dy - near_y) > FAR {
                canvas.line([name.x + near_x, name.y + near_y, name.of.0, name.of.1], &theme::ink(name.class), 0.75);
            }
        }
        for name in named {
            let (shape, ink) = (theme::Shape::of(name.class), theme::ink(name.class));
            let left = name.x - name.half;
            // The class's mark on a halo of its own, then its name.
            let halo = shape.path(left + 5.0, name.y, 4.2);
            canvas.raw(&format!(
                "<path d=\"{halo}\" fill=\"{ink}\" stroke=\"{}\" stroke-width=\"3\" stroke-linejoin=\"round\" paint-order=\"stroke\"/>\n",
                theme::PAPER
            ));
            let style = Style { size: theme::LABEL + 1.0, bold: true, fill: &ink, halo: true, ..Style::default() };
            canvas.text((left + 13.0, name.y + theme::LABEL * 0.38), &name.text, style);
        }
        let legend = self.legend(&mut canvas, labels, names, [x0, x1]);
        let description = format!("{} Map of {} points in two dimensions by class", self.title, points.nrows());
        Ok(Figure::new(self.width, self.height + legend, description.trim(), canvas.into_body()))
    }

    /// The classes in columns below the map, when it has not all of their names; how high that is.
    fn legend(&self, canvas: &mut Canvas, labels: &[usize], names: &[impl AsRef<str>], [x0, x1]: [f64; 2]) -> f64 {
        let classes = present(labels);
        let full: Vec<String> = classes.iter().map(|&class| name(class, names)).collect();
        if classes.len() <= NAMED && on_map(&full, x1 - x0) == full {
            return 0.0;
        }
        let (listed, more) = full.split_at(full.len().min(LISTED));
        let (mark, gap) = (16.0, 14.0);
        let widest = listed.iter().map(|name| text::width(name, theme::LABEL, false)).fold(0.0, f64::max);
        let columns = (((x1 - x0 + gap) / (widest + mark + gap)) as usize).clamp(1, listed.len());
        let lines = listed.len().div_ceil(columns);
        let step = (x1 - x0 + gap) / columns as f64;
        let shown = text::fit_apart(listed, theme::LABEL, false, step - mark - gap + 0.01);
        for (i, (&class, name)) in classes.iter().zip(&shown).enumerate() {
            let x = x0 + (i / lines) as f64 * step;
            let y = self.height + (i % lines) as f64 * LINE + LINE / 2.0 - 4.0;
            canvas.mark(theme::Shape::of(class), (x + 6.0, y), 4.2, &theme::colour(class));
            let style = Style { size: theme::LABEL, fill: theme::INK, ..Style::default() };
            canvas.text((x + mark, y + theme::LABEL * 0.36), name, style);
        }
        let mut height = lines as f64 * LINE;
        if !more.is_empty() {
            height += LINE;
            let at = (x0, self.height + height - LINE / 2.0 - 4.0 + theme::LABEL * 0.36);
            canvas.text(at, &format!("and {} more", more.len()), Style { size: theme::LABEL, ..Style::default() });
        }
        height + theme::MARGIN - 4.0
    }

    fn check(&self, points: ArrayView2<f32>, labels: &[usize]) -> Result<()> {
        if points.ncols() != 2 || points.nrows() == 0 {
            let (r, c) = points.dim();
            return Err(Error::Data(format!(
                "a map needs points of two columns and at least one row, found {r} x {c}"
            )));
        }
        if !labels.is_empty() && labels.len() != points.nrows() {
            return Err(Error::Data(format!("{} points and {} labels", points.nrows(), labels.len())));
        }
        if let Some(((i, j), value)) = points.indexed_iter().find(|(_, v)| !v.is_finite()) {
            return Err(Error::Data(format!("point {i} of the map: coordinate {j} is {value}")));
        }
        if !(self.width.is_finite() && self.height.is_finite() && self.radius.is_none_or(|r| r > 0.0 && r.is_finite()))
        {
            return Err(Error::Data(format!(
                "a map of {} x {} pixels, radius {:?}",
                self.width, self.height, self.radius
            )));
        }
        Ok(())
    }

    /// The names at the classes' medians, moved where they would overlap or hide a class, inside the frame; none of them
    /// when there are many.
    fn names(
        &self,
        places: &[(f64, f64)],
        labels: &[usize],
        names: &[impl AsRef<str>],
        [x0, x1, top, bottom]: [f64; 4],
    ) -> Vec<Name> {
        let classes = present(labels);
        if classes.len() > NAMED {
            return Vec::new();
        }
        let own = |class: usize| labels.iter().zip(places).filter(move |(l, _)| **l == class).map(|(_, p)| *p);
        let points: Vec<Vec<(f64, f64)>> = classes.iter().map(|&class| own(class).collect()).collect();
        // Whether a name at (x, y) leaves enough of every class to be seen.
        let hides = |x: f64, y: f64, half: f64| {
            points.iter().any(|own| {
                let under = |p: &&(f64, f64)| (p.0 - x).abs() < half + 2.0 && (p.1 - y).abs() < HIGH / 2.0 + 1.0;
                own.iter().filter(under).count() as f64 > COVERED * own.len() as f64
            })
        };
        let mut out: Vec<Name> = Vec::new();
        let full: Vec<String> = classes.iter().map(|&class| name(class, names)).collect();
        for (class, shown) in classes.iter().copied().zip(on_map(&full, x1 - x0)) {
            let (x, y) = (median(own(class).map(|p| p.0)), median(own(class).map(|p| p.1)));
            let half = (text::width(&shown, theme::LABEL + 1.0, true) + 13.0) / 2.0;
            let inside = |x: f64, y: f64| {
                let y = y.max(top + HIGH / 2.0).min(bottom - HIGH / 2.0);
                (x.max(x0 + half + 2.0).min(x1 - half - 2.0), y)
            };
            let free = |&(x, y): &(f64, f64)| {
                out.iter().all(|o| (o.x - x).abs() >= o.half + half + 4.0 || (o.y - y).abs() >= HIGH)
            };
            // The nearest free place, searched in rings around the median.
            let rings =
                (0..80).flat_map(|ring| (0..24).map(move |turn| (3.0 * f64::from(ring), f64::from(turn) * 15.0)));
            let around = rings
                .map(|(r, turn): (f64, f64)| inside(x + r * turn.to_radians().cos(), y + r * turn.to_radians().sin()));
            let mut tried = around.filter(free);
            let first = tried.next();
            let place = first.into_iter().chain(tried).find(|&(x, y)| !hides(x, y, half));
            let of = (x, y);
            let (x, y) = place.or(first).unwrap_or(inside(x, y));
            out.push(Name { class, text: shown, x, y, half, of });
        }
        out
    }
}

/// The classes that have rows, in order.
fn present(labels: &[usize]) -> Vec<usize> {
    let mut classes = labels.to_vec();
    classes.sort_unstable();
    classes.dedup();
    classes
}

/// What a class is called.
fn name(class: usize, names: &[impl AsRef<str>]) -> String {
    names.get(class).map_or_else(|| class.to_string(), |n| n.as_ref().to_owned())
}

/// Names as they stand on a map of some width.
fn on_map(names: &[String], width: f64) -> Vec<String> {
    text::fit_apart(names, theme::LABEL + 1.0, true, width / 2.5)
}

/// The rows in an order that takes classes in turn, in proportion to their sizes.
fn in_turn(labels: &[usize], rows: usize) -> Vec<usize> {
    let classes = labels.iter().max().map_or(0, |m| m.saturating_add(1));
    if labels.is_empty() || classes > rows.saturating_mul(16).max(1 << 16) {
        return (0..rows).collect();
    }
    let mut sizes = vec![0usize; classes];
    let rank: Vec<usize> = labels
        .iter()
        .map(|&l| {
            sizes[l] += 1;
            sizes[l]
        })
        .collect();
    let mut order: Vec<usize> = (0..rows).collect();
    let key = |i: usize| (rank[i] as f64 - 0.5) / sizes[labels[i]] as f64;
    order.sort_by(|&a, &b| key(a).total_cmp(&key(b)).then(a.cmp(&b)));
    order
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = values.collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::check;
    use ndarray::{Array2, array};

    const NONE: [&str; 0] = [];

    /// Where squares are centred: class 1 has squares, whose corners average to the centre.
    fn squares(figure: &Figure) -> Vec<(f64, f64)> {
        let group = figure.svg().split("<g fill-opacity").nth(1).unwrap().split("</g>").next().unwrap();
        let centre = |l: &str| {
            let d = l.split('"').nth(1).unwrap().trim_end_matches('z').to_owned();
            let corners: Vec<(f64, f64)> = d
                .split(['M', 'L'])
                .filter(|p| !p.is_empty())
                .map(|p| p.split_once(' ').map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap())).unwrap())
                .collect();
            let k = corners.len() as f64;
            (corners.iter().map(|c| c.0).sum::<f64>() / k, corners.iter().map(|c| c.1).sum::<f64>() / k)
        };
        group.lines().filter(|l| l.starts_with("<path")).map(centre).collect()
    }

    #[test]
    fn points_land_where_they_should_with_equal_units() {
        // 4 wide and 2 high in a frame of 336 x 336 with a rim of 10: 79 pixels per unit, centred at (180, 180).
        let points = array![[0.0, 0.0], [4.0, 2.0], [1.0, 2.0]];
        let figure = Map::default().draw(points.view(), &[1, 1, 1], &NONE).unwrap();
        let wanted = [(22.0, 259.0), (338.0, 101.0), (101.0, 101.0)];
        for (found, wanted) in squares(&figure).iter().zip(wanted) {
            assert!((found.0 - wanted.0).abs() < 0.02 && (found.1 - wanted.1).abs() < 0.02, "{found:?} {wanted:?}");
        }
        assert_eq!(squares(&figure).len(), 3);
        check::renders(&figure);
    }

    #[test]
    fn classes_are_drawn_in_turn() {
        assert_eq!(in_turn(&[0, 0, 0, 0, 1, 1], 6), [0, 4, 1, 2, 5, 3]);
        assert_eq!(in_turn(&[], 3), [0, 1, 2]);
        assert_eq!(in_turn(&[usize::MAX, 0], 2), [0, 1]);
    }

    #[test]
    fn names_stand_at_medians_and_never_overlap() {
        let far = array![[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [10.0, 10.0]];
        let figure = Map::default().draw(far.view(), &[0, 0, 0, 1], &["<b>", "\"quoted\" & more"]).unwrap();
        assert_eq!(check::texts(&figure), ["<b>", "\"quoted\" & more"]);
        // Twelve classes in the same place.
        let near = Array2::<f32>::from_shape_fn((12, 2), |(i, j)| (i * j) as f32 * 1e-3);
        let labels: Vec<usize> = (0..12).collect();
        let places: Vec<(f64, f64)> = near.rows().into_iter().map(|p| (p[0].into(), p[1].into())).collect();
        let names = Map::default().names(&places, &labels, &NONE, [0.0, 300.0, 0.0, 300.0]);
        for (i, a) in names.iter().enumerate() {
            for b in &names[i + 1..] {
                let apart = (a.x - b.x).abs() > a.half + b.half || (a.y - b.y).abs() >= HIGH;
                assert!(apart, "{} and {}", a.text, b.text);
            }
        }
    }

    /// A class of a few points in a small place, and one of a single point, in the midst of a large one.
    #[test]
    fn a_name_stands_beside_a_class_that_it_would_hide() {
        let mut points: Vec<[f32; 2]> = (0..400).map(|i| [(i % 20) as f32, (i / 20) as f32]).collect();
        points.extend((0..9).map(|i| [30.0 + 0.1 * (i % 3) as f32, 10.0 + 0.1 * (i / 3) as f32]));
        points.push([9.5, 9.5]);
        let labels: Vec<usize> = (0..410).map(|i| usize::from(i >= 400) + usize::from(i == 409)).collect();
        let places: Vec<(f64, f64)> = points.iter().map(|p| (10.0 * f64::from(p[0]), 10.0 * f64::from(p[1]))).collect();
        let names = ["large", "a small class", "one point"];
        let found = Map::default().names(&places, &labels, &names, [-20.0, 330.0, -20.0, 220.0]);
        assert_eq!(found.len(), 3);
        for name in &found {
            for class in 0..3 {
                let own = labels.iter().zip(&places).filter(|(l, _)| **l == class);
                let own: Vec<_> = own.map(|(_, p)| p).collect();
                let under =
                    own.iter().filter(|p| (p.0 - name.x).abs() < name.half && (p.1 - name.y).abs() < HIGH / 2.0);
                let share = under.count() as f64 / own.len() as f64;
                assert!(share <= COVERED, "{} hides {share} of class {class}", name.text);
            }
            // Beside it, not far from it.
            let gap = (name.of.0 - name.x).abs() - name.half;
            assert!(gap < 20.0 && (name.of.1 - name.y).abs() < 30.0, "{} is far away", name.text);
        }
        // The large class has its name where it was.
        assert!((found[0].x - 95.0).abs() < 40.0 && (found[0].y - 95.0).abs() < 40.0);
    }

    #[test]
    fn many_classes_are_in_a_legend_below_the_frame() {
        let points = Array2::from_shape_fn((60, 2), |(i, j)| ((i * (7 + j)) % 31) as f32);
        let draw = |classes: usize, names: &[String]| {
            let labels: Vec<usize> = (0..60).map(|i| i % classes).collect();
            Map::default().draw(points.view(), &labels, names).unwrap()
        };
        let names: Vec<String> = (0..20).map(|k| format!("class {k}")).collect();
        let few = draw(12, &names);
        assert_eq!((few.height(), check::texts(&few).len()), (360.0, 12));
        let many = draw(20, &names);
        check::renders(&many);
        assert_eq!(check::texts(&many), names);
        let (places, frame) = (check::numbers(&many, "text", &["x", "y"]), 360.0 - theme::MARGIN);
        assert!(places.iter().all(|p| p[1] > frame && p[1] < many.height()), "{places:?}");
        for (i, a) in places.iter().enumerate() {
            let apart = |b: &Vec<f64>| (a[1] - b[1]).abs() >= theme::LABEL || (a[0] - b[0]).abs() > 60.0;
            assert!(places[i + 1..].iter().all(apart), "{places:?}");
        }
        // Thousands of classes are not a figure of many pages.
        let labels: Vec<usize> = (0..3000).collect();
        let points = Array2::from_shape_fn((3000, 2), |(i, j)| ((i * (7 + j)) % 311) as f32);
        let thousands = Map::default().draw(points.view(), &labels, &NONE).unwrap();
        assert!(thousands.height() < 1000.0 && check::texts(&thousands).last().unwrap() == "and 2900 more");
        // Names that the map has no room for are there whole.
        let long: Vec<String> = (0..3).map(|k| format!("{} {k}", "long names ".repeat(4))).collect();
        let found = check::texts(&draw(3, &long));
        assert!(found.len() == 6 && found[3..] == long, "{found:?}");
    }

    #[test]
    fn wrong_input_is_an_error_and_single_points_are_not() {
        let map = Map::default();
        assert!(map.draw(Array2::zeros((3, 3)).view(), &[], &NONE).unwrap_err().to_string().contains("3 x 3"));
        assert!(map.draw(Array2::zeros((0, 2)).view(), &[], &NONE).is_err());
        assert!(
            map.draw(Array2::zeros((3, 2)).view(), &[1], &NONE).unwrap_err().to_string().contains("3 points and 1")
        );
        let error = map.draw(array![[0.0, f32::INFINITY]].view(), &[], &NONE).unwrap_err();
        assert!(error.to_string().contains("point 0 of the map: coordinate 1 is inf"), "{error}");
        check::renders(&map.draw(array![[5.0, 5.0]].view(), &[], &NONE).unwrap());
        check::renders(&map.draw(array![[5.0, 5.0], [5.0, 6.0]].view(), &[0, usize::MAX], &NONE).unwrap());
        check::renders(&map.draw(array![[f32::MIN, 5.0], [f32::MAX, 6.0]].view(), &[], &NONE).unwrap());
    }
}
