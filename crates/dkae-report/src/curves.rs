//! Line charts: losses over training, scores over a setting.
//!
//! Curves carry their names at their ends, so that no reader has to match colours with a legend; where two names would
//! overlap they are moved apart. Training curves are solid, validation curves dashed. A second axis on the right takes a
//! quantity of another scale; its numbers then have the colour of its curves.
//!
//! A value that cannot be shown (not finite, or not positive on a logarithmic axis) leaves a gap: a training that
//! diverged is still a figure.

use crate::svg::{Anchor, Canvas, Style};
use crate::{Error, Figure, Result, text, theme, ticks};

/// An axis.
#[derive(Clone, Debug, Default)]
pub struct Axis {
    /// What it measures.
    pub label: String,
    /// Whether it is logarithmic. Default false.
    pub log: bool,
    /// Where its ticks are; chosen when empty, the default.
    pub ticks: Vec<f64>,
    /// Whether a linear axis starts at zero (when nothing is negative). Default false.
    pub from_zero: bool,
}

impl Axis {
    /// A linear axis.
    pub fn new(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), ..Axis::default() }
    }

    /// The same, logarithmic.
    pub fn log(mut self) -> Axis {
        self.log = true;
        self
    }

    /// The same, starting at zero.
    pub fn from_zero(mut self) -> Axis {
        self.from_zero = true;
        self
    }

    /// The same, with ticks at these values.
    pub fn at(mut self, ticks: &[f64]) -> Axis {
        self.ticks = ticks.to_vec();
        self
    }

    fn shows(&self, value: f64) -> bool {
        // Beyond these ends of the doubles the width of the axis itself would overflow.
        value.abs() <= 1e300 && (!self.log || value >= 1e-300)
    }
}

/// One curve.
#[derive(Clone, Debug)]
pub struct Series<'a> {
    /// Its name, shown at its end.
    pub label: &'a str,
    /// Where along the x axis, rising.
    pub x: &'a [f64],
    /// The values.
    pub y: &'a [f64],
    /// Its colour, an index into the theme's palette.
    pub colour: usize,
    /// Whether the line is dashed (validation). Default false.
    pub dashed: bool,
    /// Whether its points are marked, with the shape that goes with the colour. Default false.
    pub marked: bool,
    /// Whether it belongs to the axis on the right. Default false.
    pub right: bool,
}

impl<'a> Series<'a> {
    /// A solid line on the left axis.
    pub fn new(label: &'a str, x: &'a [f64], y: &'a [f64], colour: usize) -> Series<'a> {
        Series { label, x, y, colour, dashed: false, marked: false, right: false }
    }

    /// The same, dashed.
    pub fn dashed(mut self) -> Self {
        self.dashed = true;
        self
    }

    /// The same, with its points marked.
    pub fn marked(mut self) -> Self {
        self.marked = true;
        self
    }

    /// The same, on the right axis.
    pub fn right(mut self) -> Self {
        self.right = true;
        self
    }
}

/// How a line chart is drawn.
#[derive(Clone, Debug)]
pub struct Curves {
    /// Width in pixels. Default 520.
    pub width: f64,
    /// Height in pixels. Default 300.
    pub height: f64,
    /// A title above; none by default.
    pub title: String,
    /// The x axis.
    pub x: Axis,
    /// The y axis on the left.
    pub y: Axis,
    /// The y axis on the right; none by default.
    pub right: Option<Axis>,
    /// Vertical lines with a name, as where fine-tuning begins; none by default.
    pub marks: Vec<(f64, String)>,
}

impl Default for Curves {
    fn default() -> Self {
        let (x, y) = (Axis::default(), Axis::default());
        Curves { width: 520.0, height: 300.0, title: String::new(), x, y, right: None, marks: Vec::new() }
    }
}

/// An axis with its range and its place on the sheet.
struct Placed {
    log: bool,
    lo: f64,
    hi: f64,
    ticks: Vec<f64>,
    labels: Vec<String>,
    /// Pixels of `lo` and `hi`.
    from: f64,
    to: f64,
}

impl Placed {
    /// The axis over `values`, about one tick every `every` of `length` pixels; `rim` is the free share at both ends.
    fn new(axis: &Axis, values: impl Iterator<Item = f64>, length: f64, every: f64, rim: f64) -> Result<Placed> {
        let shown = values.chain(axis.ticks.iter().copied()).filter(|&v| axis.shows(v));
        let (mut lo, mut hi) = shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)));
        if lo > hi {
            let kind = if axis.log { "finite and positive" } else { "finite" };
            return Err(Error::Data(format!("axis “{}” has no value that is {kind}: nothing to draw", axis.label)));
        }
        if axis.from_zero && !axis.log {
            (lo, hi) = (lo.min(0.0), hi.max(0.0));
        }
        if axis.log {
            if hi / lo < 1.0 + 1e-9 {
                (lo, hi) = (lo / 1.5, hi * 1.5);
            }
            let more = (hi / lo).powf(rim);
            (lo, hi) = (lo / more, hi * more);
        } else {
            if hi - lo <= 1e-12 * hi.abs().max(lo.abs()) {
                let around = 0.5 * hi.abs().max(1e-6);
                (lo, hi) = (lo - around, hi + around);
            }
            let more = (hi - lo) * rim;
            // Zero stays the end of an axis that begins there.
            lo = if lo == 0.0 { 0.0 } else { lo - more };
            hi = if hi == 0.0 { 0.0 } else { hi + more };
        }
        let wanted = (length / every).max(2.0) as usize;
        let ticks = match (axis.ticks.is_empty(), axis.log) {
            (false, _) => axis.ticks.iter().copied().filter(|&t| axis.shows(t)).collect(),
            (true, true) => ticks::logarithmic(lo, hi, wanted),
            (true, false) => ticks::linear(lo, hi, wanted),
        };
        // Ticks someone chose are written with the decimals each needs: 0, 0.1, 0.25.
        let labels = ticks::labels(&ticks, axis.log || !axis.ticks.is_empty());
        Ok(Placed { log: axis.log, lo, hi, ticks, labels, from: 0.0, to: 0.0 })
    }

    fn at(&self, value: f64) -> f64 {
        let scale = |v: f64| if self.log { v.ln() } else { v };
        let share = (scale(value) - scale(self.lo)) / (scale(self.hi) - scale(self.lo));
        self.from + share * (self.to - self.from)
    }

    fn widest(&self) -> f64 {
        self.labels.iter().map(|l| text::width(l, theme::TICK, false)).fold(0.0, f64::max)
    }
}

/// A curve's name and where it wants to be.
struct Name<'a> {
    text: &'a str,
    ink: String,
    colour: String,
    /// The end of the curve.
    end: (f64, f64),
    width: f64,
    /// The middle of the text.
    y: f64,
}

const LINE: f64 = 14.0;

impl Curves {
    /// Draws the curves.
    pub fn draw(&self, series: &[Series]) -> Result<Figure> {
        self.check(series)?;
        let values = |right: bool| series.iter().filter(move |s| s.right == right).flat_map(|s| s.y.iter().copied());
        let title_height = if self.title.is_empty() { 0.0 } else { theme::TITLE + 8.0 };
        // Two long labels of y axes stand one below the other.
        let wide = |label: &str| text::width(label, theme::LABEL, false) + theme::MARGIN;
        let stacked = self.right.as_ref().is_some_and(|r| wide(&self.y.label) + wide(&r.label) + 8.0 > self.width);
        let raised = if stacked { theme::LABEL + 4.0 } else { 0.0 };
        let top = theme::MARGIN + title_height + theme::LABEL + 10.0 + raised;
        let bottom = self.height - theme::MARGIN - theme::LABEL - 8.0 - theme::TICK - 4.0;
        let mut left = Placed::new(&self.y, values(false), bottom - top, 44.0, 0.05);
        // With curves on the right only, the left axis has nothing to say.
        let has_left = series.iter().any(|s| !s.right);
        let mut right = match &self.right {
            Some(axis) => Some(Placed::new(axis, values(true), bottom - top, 44.0, 0.05)?),
            None => None,
        };
        if !has_left {
            left = Placed::new(&Axis::default(), [0.0, 1.0].into_iter(), bottom - top, 44.0, 0.05);
        }
        let mut left = left?;
        for axis in [Some(&mut left), right.as_mut()].into_iter().flatten() {
            (axis.from, axis.to) = (bottom, top);
        }
        let names_width =
            series.iter().map(|s| text::width(s.label, theme::LABEL, true)).fold(0.0, f64::max).min(170.0);
        let x0 = theme::MARGIN + if has_left { left.widest() + 8.0 } else { 0.0 };
        let axis_x = self.width - theme::MARGIN - right.as_ref().map_or(0.0, |r| r.widest() + 8.0);
        // The names have a column of their own between the ends of the curves and the right axis.
        let x1 = axis_x - if names_width > 0.0 { names_width + 12.0 } else { 0.0 };
        if x1 - x0 < 40.0 || bottom - top < 40.0 {
            return Err(Error::Data(format!("{} x {} pixels leave no room for the curves", self.width, self.height)));
        }
        let all_x = series.iter().flat_map(|s| s.x.iter().copied()).chain(self.marks.iter().map(|m| m.0));
        let rim = if series.iter().any(|s| s.marked) { 0.02 } else { 0.0 };
        let mut x = Placed::new(&self.x, all_x, x1 - x0, 64.0, rim)?;
        (x.from, x.to) = (x0, x1);

        let mut canvas = Canvas::default();
        canvas.title(&self.title, self.width - 2.0 * theme::MARGIN);
        self.axes(&mut canvas, series, (&x, has_left.then_some(&left), right.as_ref()), axis_x, raised);

        for &(at, ref name) in self.marks.iter().filter(|m| self.x.shows(m.0)) {
            let at = x.at(at);
            canvas.path(&[vec![(at, top), (at, bottom)]], theme::AXIS, 1.0, Some("2 3"));
            // On the side with more room, at the top, where loss curves seldom are late in training.
            let (anchor, shift) = if at > (x0 + x1) / 2.0 { (Anchor::End, -5.0) } else { (Anchor::Start, 5.0) };
            canvas.text((at + shift, top + theme::TICK), name, Style { anchor, halo: true, ..Style::default() });
        }
        let mut names = Vec::new();
        for s in series {
            let (axis, placed) =
                if s.right { (self.right.as_ref(), right.as_ref()) } else { (Some(&self.y), Some(&left)) };
            let (Some(axis), Some(placed)) = (axis, placed) else { continue };
            let colour = theme::colour(s.colour);
            let runs = self.runs(s, axis, &x, placed);
            let dash = s.dashed.then_some("5 4");
            canvas.path(&runs.iter().filter(|r| r.len() > 1).map(|r| thin(r)).collect::<Vec<_>>(), &colour, 1.8, dash);
            let shape = theme::Shape::of(s.colour);
            // A point alone between two gaps has no line; it is marked so as not to vanish.
            for run in runs.iter().filter(|r| s.marked || r.len() == 1) {
                for &point in run {
                    canvas.mark(shape, point, 3.2, &colour);
                }
            }
            if let Some(&end) = runs.last().and_then(|r| r.last()) {
                let shown = text::width(s.label, theme::LABEL, true);
                names.push(Name { text: s.label, ink: theme::ink(s.colour), colour, end, width: shown, y: end.1 });
            }
        }
        names.retain(|name| !name.text.is_empty());
        part(&mut names, top + LINE / 2.0, bottom - LINE / 2.0);
        for name in &names {
            let at = name.end.0 + 10.0;
            if (name.y - name.end.1).abs() > 3.0 {
                canvas.line([name.end.0 + 2.0, name.end.1, at - 3.0, name.y], &name.colour, 0.75);
            }
            let style = Style { size: theme::LABEL, bold: true, fill: &name.ink, halo: true, ..Style::default() };
            let shown = text::fit(name.text, theme::LABEL, true, axis_x - at);
            canvas.text((at, name.y + theme::LABEL * 0.36), &shown, style);
        }
        let listed: Vec<&str> = series.iter().map(|s| s.label).filter(|label| !label.is_empty()).collect();
        let what = if self.title.is_empty() { &self.y.label } else { &self.title };
        let description = format!("{what}, by {}: {}", self.x.label, listed.join(", "));
        Ok(Figure::new(self.width, self.height, &description, canvas.into_body()))
    }

    fn check(&self, series: &[Series]) -> Result<()> {
        if series.is_empty() {
            return Err(Error::Data("no curves to draw".to_owned()));
        }
        if !(self.width.is_finite() && self.height.is_finite()) {
            return Err(Error::Data(format!("a chart of {} x {} pixels", self.width, self.height)));
        }
        for s in series {
            if s.x.len() != s.y.len() {
                let (x, y) = (s.x.len(), s.y.len());
                return Err(Error::Data(format!("curve “{}” has {x} x values and {y} y values", s.label)));
            }
            if s.right && self.right.is_none() {
                return Err(Error::Data(format!(
                    "curve “{}” is on the right axis, and there is none: set `right`",
                    s.label
                )));
            }
        }
        Ok(())
    }

    /// The points of a curve on the sheet, cut where a value cannot be shown.
    fn runs(&self, s: &Series, axis: &Axis, x: &Placed, y: &Placed) -> Vec<Vec<(f64, f64)>> {
        let points: Vec<_> = s.x.iter().copied().zip(s.y.iter().copied()).collect();
        let shown = |&(a, b): &(f64, f64)| self.x.shows(a) && axis.shows(b);
        let runs = points.split(|p| !shown(p)).filter(|run| !run.is_empty());
        runs.map(|run| run.iter().map(|&(a, b)| (x.at(a), y.at(b))).collect()).collect()
    }

    /// Grid, axis lines, numbers and labels.
    fn axes(
        &self,
        canvas: &mut Canvas,
        series: &[Series],
        (x, left, right): (&Placed, Option<&Placed>, Option<&Placed>),
        axis_x: f64,
        raised: f64,
    ) {
        let vertical = left.or(right);
        let (bottom, top) = vertical.map_or((0.0, 0.0), |v| (v.from, v.to));
        // The colour shared by all curves of an axis, when there are two axes to tell apart.
        let shade = |side: bool| {
            let mut colours = series.iter().filter(|s| s.right == side).map(|s| s.colour);
            let first = colours.next()?;
            (right.is_some() && left.is_some() && colours.all(|c| c == first)).then(|| theme::ink(first))
        };
        if let Some(grid) = vertical {
            for &tick in &grid.ticks {
                canvas.line([x.from, grid.at(tick), x.to, grid.at(tick)], theme::GRID, 1.0);
            }
        }
        canvas.line([x.from, bottom, x.to, bottom], theme::AXIS, 1.0);
        let mut free = f64::NEG_INFINITY;
        for (&tick, label) in x.ticks.iter().zip(&x.labels) {
            let at = x.at(tick);
            canvas.line([at, bottom, at, bottom + 4.0], theme::AXIS, 1.0);
            let half = text::width(label, theme::TICK, false) / 2.0;
            if at - half >= free {
                let style = Style { anchor: Anchor::Middle, ..Style::default() };
                canvas.text((at, bottom + 6.0 + theme::TICK), label, style);
                free = at + half + 4.0;
            }
        }
        let middle = Style { size: theme::LABEL, anchor: Anchor::Middle, fill: theme::INK, ..Style::default() };
        canvas.text(((x.from + x.to) / 2.0, bottom + 10.0 + theme::TICK + theme::LABEL), &self.x.label, middle);
        // The label of a y axis lies flat above it: nobody reads sideways.
        if let Some(axis) = left {
            let shade = shade(false).unwrap_or(theme::MUTED.to_owned());
            for (&tick, label) in axis.ticks.iter().zip(&axis.labels) {
                let style = Style { anchor: Anchor::End, fill: &shade, ..Style::default() };
                canvas.text((x.from - 7.0, axis.at(tick) + theme::TICK * 0.36), label, style);
            }
            let fill = if shade == theme::MUTED { theme::INK } else { &shade };
            canvas.text(
                (theme::MARGIN, top - 10.0 - raised),
                &self.y.label,
                Style { size: theme::LABEL, fill, ..Style::default() },
            );
        }
        if let (Some(axis), Some(settings)) = (right, &self.right) {
            let shade = shade(true).unwrap_or(theme::MUTED.to_owned());
            canvas.line([axis_x, top, axis_x, bottom], theme::GRID, 1.0);
            for (&tick, label) in axis.ticks.iter().zip(&axis.labels) {
                canvas.line([axis_x - 4.0, axis.at(tick), axis_x, axis.at(tick)], theme::AXIS, 1.0);
                let style = Style { fill: &shade, ..Style::default() };
                canvas.text((axis_x + 7.0, axis.at(tick) + theme::TICK * 0.36), label, style);
            }
            let fill = if shade == theme::MUTED { theme::INK } else { &shade };
            let style = Style { size: theme::LABEL, anchor: Anchor::End, fill, ..Style::default() };
            canvas.text((self.width - theme::MARGIN, top - 10.0), &settings.label, style);
        }
    }
}

/// Moves names that would overlap apart, each as little as the order allows, within `top..=bottom`.
fn part(names: &mut [Name], top: f64, bottom: f64) {
    names.sort_by(|a, b| a.end.1.total_cmp(&b.end.1));
    let beside = |a: &Name, b: &Name| a.end.0 < b.end.0 + b.width + 4.0 && b.end.0 < a.end.0 + a.width + 4.0;
    for name in names.iter_mut() {
        name.y = name.end.1.clamp(top, bottom.max(top));
    }
    // Half the overlap each, a few rounds; then one pass down and one up to settle what is left.
    for _ in 0..50 {
        for i in 0..names.len() {
            for j in i + 1..names.len() {
                let overlap = LINE - (names[j].y - names[i].y);
                if overlap > 0.0 && beside(&names[i], &names[j]) {
                    names[i].y = (names[i].y - overlap / 2.0).max(top);
                    names[j].y = (names[j].y + overlap / 2.0).min(bottom);
                }
            }
        }
    }
    for j in (0..names.len()).rev() {
        for i in 0..j {
            if beside(&names[i], &names[j]) && names[j].y - names[i].y < LINE - 0.5 {
                names[i].y = names[j].y - LINE;
            }
        }
    }
}

/// At most four points per pixel column (first, lowest, highest, last): the same picture from a hundred thousand steps
/// as from a thousand points.
fn thin(run: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if run.len() <= 1000 {
        return run.to_vec();
    }
    let mut out = Vec::new();
    for column in run.chunk_by(|a, b| a.0.floor() == b.0.floor()) {
        let extreme =
            |sign: f64| (0..column.len()).max_by(|&i, &j| (sign * column[i].1).total_cmp(&(sign * column[j].1)));
        let mut kept = vec![0, extreme(1.0).unwrap_or(0), extreme(-1.0).unwrap_or(0), column.len() - 1];
        kept.sort_unstable();
        kept.dedup();
        out.extend(kept.into_iter().map(|i| column[i]));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::check;

    /// The points of every curve (paths with a line) of a figure.
    fn paths(figure: &Figure) -> Vec<Vec<(f64, f64)>> {
        let lines = figure.svg().lines().filter(|l| l.contains("fill=\"none\" stroke=\"#") && l.starts_with("<path"));
        let point = |p: &str| p.split_once(' ').map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap())).unwrap();
        let data = |l: &str| l.split('"').nth(1).unwrap().to_owned();
        lines.map(|l| data(l).split(['M', 'L']).filter(|p| !p.is_empty()).map(point).collect()).collect()
    }

    #[test]
    fn points_land_on_the_ticks_of_their_values() {
        let (x, y) = ([0.0, 1.0, 2.0], [10.0, 100.0, 1000.0]);
        let chart = Curves { x: Axis::new("x"), y: Axis::new("y").log(), ..Curves::default() };
        let figure = chart.draw(&[Series::new("", &x, &y, 0)]).unwrap();
        check::renders(&figure);
        let points = &paths(&figure)[0];
        // Equal steps on both axes, y upwards.
        assert!((points[1].0 - points[0].0 - (points[2].0 - points[1].0)).abs() < 0.02, "{points:?}");
        assert!((points[0].1 - points[1].1 - (points[1].1 - points[2].1)).abs() < 0.02 && points[0].1 > points[2].1);
        // The grid line and the number of 100 are at the height of the middle point.
        let grid = check::numbers(&figure, "line", &["x1", "y1", "x2", "y2"]);
        assert!(grid.iter().any(|l| (l[1] - points[1].1).abs() < 0.02 && l[1] == l[3]), "{grid:?}");
        let number = figure.svg().lines().find(|l| l.contains(">100</text>")).unwrap();
        assert!(number.contains(&format!("y=\"{}\"", crate::svg::n(points[1].1 + theme::TICK * 0.36))), "{number}");
    }

    #[test]
    fn two_axes_scale_apart() {
        let x = [0.0, 1.0];
        let chart = Curves { right: Some(Axis::new("L_c")), y: Axis::new("L_r"), ..Curves::default() };
        let figure = chart
            .draw(&[Series::new("a", &x, &[0.0, 1.0], 0), Series::new("b", &x, &[0.0, 500.0], 3).right()])
            .unwrap();
        check::renders(&figure);
        let found = paths(&figure);
        assert_eq!(found[0], found[1]);
        assert!(check::texts(&figure).contains(&"500".to_owned()));
    }

    #[test]
    fn names_never_overlap() {
        let x = [0.0, 1.0];
        let labels: Vec<String> = (0..8).map(|i| format!("curve {i}")).collect();
        let ys: Vec<[f64; 2]> = (0..8).map(|i| [0.0, 1.0 + 0.001 * f64::from(i % 3)]).collect();
        let series: Vec<_> = labels.iter().zip(&ys).enumerate().map(|(i, (l, y))| Series::new(l, &x, y, i)).collect();
        let figure = Curves::default().draw(&series).unwrap();
        let mut heights: Vec<f64> = figure
            .svg()
            .lines()
            .filter(|l| l.contains(">curve "))
            .map(|l| l.split("y=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap())
            .collect();
        heights.sort_by(f64::total_cmp);
        assert_eq!(heights.len(), 8);
        assert!(heights.windows(2).all(|w| w[1] - w[0] > LINE - 1.0), "{heights:?}");
        assert!(heights[0] > 0.0 && heights[7] < 300.0);
    }

    #[test]
    fn values_that_cannot_be_shown_leave_gaps() {
        let x = [0.0, 1.0, 2.0, 3.0, 4.0];
        let y = [1.0, 2.0, f64::NAN, 3.0, 4.0];
        let figure = Curves::default().draw(&[Series::new("a", &x, &y, 0)]).unwrap();
        assert_eq!(
            figure.svg().lines().filter(|l| l.contains("stroke-width=\"1.8\"") && l.matches('M').count() == 2).count(),
            1
        );
        assert!(!figure.svg().contains("NaN") && !figure.svg().contains("inf"));
        let log = Curves { y: Axis::new("loss").log(), ..Curves::default() };
        let error = log.draw(&[Series::new("a", &x, &[0.0, -1.0, f64::NAN, 0.0, f64::INFINITY], 0)]).unwrap_err();
        assert!(error.to_string().contains("“loss” has no value that is finite and positive"), "{error}");
    }

    #[test]
    fn wrong_input_is_an_error_and_flat_curves_are_not() {
        let chart = Curves::default();
        assert!(chart.draw(&[]).is_err());
        assert!(chart.draw(&[Series::new("a", &[1.0], &[], 0)]).unwrap_err().to_string().contains("1 x values and 0"));
        assert!(chart.draw(&[Series::new("a", &[1.0], &[1.0], 0).right()]).is_err());
        assert!(Curves { width: 50.0, ..Curves::default() }.draw(&[Series::new("a", &[1.0], &[1.0], 0)]).is_err());
        for y in [[0.0, 0.0], [1e300, 1e300], [-5.0, -5.0], [1e-300, 1e-300], [-1e300, 1e300], [1.0, 1e308]] {
            let figure = chart.draw(&[Series::new("a", &[1.0, 2.0], &y, 0)]).unwrap();
            assert!(!figure.svg().contains("NaN") && !figure.svg().contains("inf"), "{y:?}");
            check::renders(&figure);
        }
    }

    #[test]
    fn labels_are_shown_as_text() {
        let x = [0.0, 1.0];
        let chart = Curves {
            title: "<script>".into(),
            x: Axis::new("\"x\""),
            y: Axis::new("a & b"),
            marks: vec![(0.5, "it's".into())],
            ..Curves::default()
        };
        let figure = chart.draw(&[Series::new("</text>", &x, &x, 0).marked().dashed()]).unwrap();
        check::renders(&figure);
        let texts = check::texts(&figure);
        assert!(["<script>", "\"x\"", "a & b", "it's", "</text>"].iter().all(|t| texts.contains(&t.to_string())));
    }

    #[test]
    fn long_curves_are_thinned_to_the_same_outline() {
        let run: Vec<(f64, f64)> = (0..100_000).map(|i| (f64::from(i) / 200.0, f64::from(i * 7919 % 1000))).collect();
        let few = thin(&run);
        assert!(few.len() <= 4 * 501);
        for column in 0..500 {
            let extremes = |points: &[(f64, f64)]| {
                let here = points.iter().filter(|p| p.0.floor() == f64::from(column)).map(|p| p.1);
                here.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), y| (a.min(y), b.max(y)))
            };
            assert_eq!(extremes(&run), extremes(&few));
        }
    }
}
