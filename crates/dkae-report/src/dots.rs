//! Dot charts: one line per method, a mark per source, values across. For scores that differ by little, where bars from
//! zero would show nothing but their own height.

use crate::svg::{Anchor, Canvas, Style};
use crate::{Error, Figure, Result, text, theme, ticks};

/// A value, and how far it spreads to both sides (a standard deviation; 0 when it is not known).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dot {
    /// The value.
    pub value: f64,
    /// Its spread.
    pub spread: f64,
}

/// One line of the chart: a name, and a value of each kind, or none.
#[derive(Clone, Debug)]
pub struct Line<'a> {
    /// What stands to the left.
    pub name: &'a str,
    /// One value for each of [`Dots::kinds`].
    pub values: Vec<Option<Dot>>,
}

/// How a dot chart is drawn.
#[derive(Clone, Debug)]
pub struct Dots {
    /// Width in pixels. Default 460.
    pub width: f64,
    /// What the axis measures.
    pub label: String,
    /// The kinds of values, as "ours" and "paper"; each has its own colour and shape.
    pub kinds: Vec<String>,
    /// Decimals of the numbers written at the right, which are those of the first kind. Default 1.
    pub decimals: usize,
    /// A title above; none by default.
    pub title: String,
}

impl Default for Dots {
    fn default() -> Self {
        Dots { width: 460.0, label: String::new(), kinds: Vec::new(), decimals: 1, title: String::new() }
    }
}

/// The height of one line.
const STEP: f64 = 22.0;

impl Dots {
    /// Draws the lines one below the other.
    pub fn draw(&self, lines: &[Line]) -> Result<Figure> {
        let ends = |dot: &Dot| [dot.value - dot.spread, dot.value + dot.spread];
        let all = || lines.iter().flat_map(|line| line.values.iter().flatten()).flat_map(ends);
        if let Some(line) = lines.iter().find(|line| line.values.len() != self.kinds.len()) {
            let (found, expected) = (line.values.len(), self.kinds.len());
            return Err(Error::Data(format!("line “{}” has {found} values, expected {expected}", line.name)));
        }
        let (lo, hi) = all().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)));
        if !(lo.is_finite() && hi.is_finite()) || all().any(|v| !v.is_finite()) {
            return Err(Error::Data("a dot chart needs at least one value, and all of them finite".to_owned()));
        }
        let rim = if hi > lo { 0.06 * (hi - lo) } else { 0.5 * hi.abs().max(1e-6) };
        let (lo, hi) = (lo - rim, hi + rim);

        let number = |line: &Line| {
            let dot = line.values.first().copied().flatten();
            dot.map_or(String::new(), |dot| format!("{:.*}", self.decimals, dot.value))
        };
        let widest = |texts: &mut dyn Iterator<Item = String>| {
            texts.map(|t| text::width(&t, theme::LABEL, false)).fold(0.0, f64::max)
        };
        let names = widest(&mut lines.iter().map(|line| line.name.to_owned()));
        let numbers = widest(&mut lines.iter().map(number));
        let title_height = if self.title.is_empty() { 0.0 } else { theme::TITLE + 8.0 };
        let top = theme::MARGIN + title_height + theme::LABEL + 10.0;
        let bottom = top + STEP * lines.len() as f64;
        let (x0, x1) = (theme::MARGIN + names + 12.0, self.width - theme::MARGIN - numbers - 10.0);
        if x1 - x0 < 60.0 {
            return Err(Error::Data(format!("{} pixels leave no room for the values", self.width)));
        }
        let at = |value: f64| x0 + (value - lo) / (hi - lo) * (x1 - x0);

        let mut canvas = Canvas::default();
        canvas.title(&self.title, self.width - 2.0 * theme::MARGIN);
        let marks = ticks::linear(lo, hi, ((x1 - x0) / 64.0).max(2.0) as usize);
        for (&tick, label) in marks.iter().zip(ticks::labels(&marks, false)) {
            canvas.line([at(tick), top, at(tick), bottom], theme::GRID, 1.0);
            let style = Style { anchor: Anchor::Middle, ..Style::default() };
            canvas.text((at(tick), bottom + theme::TICK + 4.0), &label, style);
        }
        let middle = Style { size: theme::LABEL, anchor: Anchor::Middle, fill: theme::INK, ..Style::default() };
        canvas.text(((x0 + x1) / 2.0, bottom + theme::TICK + theme::LABEL + 10.0), &self.label, middle);

        // The kinds, above the marks they explain.
        let mut x = x0;
        for (kind, name) in self.kinds.iter().enumerate() {
            canvas.mark(shape(kind), (x + 5.0, top - 11.0), 4.0, &theme::colour(colour(kind)));
            let fill = theme::ink(colour(kind));
            let style = Style { size: theme::LABEL, bold: true, fill: &fill, ..Style::default() };
            canvas.text((x + 14.0, top - 7.0), name, style);
            x += 14.0 + text::width(name, theme::LABEL, true) + 16.0;
        }
        for (i, line) in lines.iter().enumerate() {
            let y = top + STEP * (i as f64 + 0.5);
            let style = Style { size: theme::LABEL, anchor: Anchor::End, fill: theme::INK, ..Style::default() };
            canvas.text((x0 - 12.0, y + theme::LABEL * 0.36), line.name, style);
            canvas.line([x0, y, x1, y], theme::GRID, 1.0);
            // The first kind is drawn last, above the others.
            for (kind, dot) in line.values.iter().enumerate().rev() {
                let Some(dot) = dot else { continue };
                let colour = theme::colour(colour(kind));
                if dot.spread > 0.0 {
                    canvas.line([at(dot.value - dot.spread), y, at(dot.value + dot.spread), y], &colour, 2.0);
                }
                canvas.mark(shape(kind), (at(dot.value), y), 4.5, &colour);
            }
            let style = Style { size: theme::LABEL, anchor: Anchor::End, fill: theme::INK, ..Style::default() };
            canvas.text((self.width - theme::MARGIN, y + theme::LABEL * 0.36), &number(line), style);
        }
        let listed: Vec<&str> = lines.iter().map(|line| line.name).collect();
        let description = format!("{} {}: {}", self.title, self.label, listed.join(", "));
        let height = bottom + theme::TICK + theme::LABEL + 14.0 + theme::MARGIN;
        Ok(Figure::new(self.width, height, description.trim(), canvas.into_body()))
    }
}

/// Blue circles, then vermilion diamonds: told apart by shape as well.
fn colour(kind: usize) -> usize {
    3 * kind
}

fn shape(kind: usize) -> theme::Shape {
    theme::Shape::of(colour(kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::check;

    fn chart() -> Dots {
        Dots { label: "accuracy, %".into(), kinds: vec!["ours".into(), "paper".into()], ..Dots::default() }
    }

    fn dot(value: f64) -> Option<Dot> {
        Some(Dot { value, spread: 0.0 })
    }

    #[test]
    fn every_line_has_its_name_its_number_and_its_marks() {
        let lines = [
            Line { name: "SVM", values: vec![dot(91.3), dot(90.6)] },
            Line { name: "codes & <more>", values: vec![Some(Dot { value: 96.25, spread: 0.2 }), None] },
        ];
        let figure = chart().draw(&lines).unwrap();
        check::renders(&figure);
        let texts = check::texts(&figure);
        for words in ["SVM", "codes & <more>", "91.3", "96.2", "ours", "paper", "accuracy, %"] {
            assert!(texts.iter().any(|t| t == words), "{words}: {texts:?}");
        }
    }

    #[test]
    fn what_cannot_be_drawn_is_an_error() {
        let line = |values| [Line { name: "a", values }];
        assert!(chart().draw(&[]).is_err());
        assert!(chart().draw(&line(vec![None, None])).is_err());
        assert!(chart().draw(&line(vec![dot(1.0)])).is_err());
        assert!(chart().draw(&line(vec![dot(f64::NAN), None])).is_err());
        assert!(chart().draw(&line(vec![dot(1.0), None])).is_ok());
        assert!(Dots { width: 50.0, ..chart() }.draw(&line(vec![dot(1.0), None])).is_err());
    }
}
