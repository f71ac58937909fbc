//! Bars of ratios: how many times more or less than something else, one bar below the other, each with its goal.
//!
//! The axis is logarithmic and bars begin at 1: twice as much and half as much are equally long, to the right and to the left.

use crate::svg::{Anchor, Canvas, Style};
use crate::{Error, Figure, Result, text, theme, ticks};

/// One bar.
#[derive(Clone, Copy, Debug)]
pub struct Bar<'a> {
    /// What it is about, shown on its left.
    pub label: &'a str,
    /// The ratio, above 0; none leaves the place of the bar empty.
    pub value: Option<f64>,
    /// The ratio that is wanted, shown as a line across the bar.
    pub mark: f64,
    /// Its colour, an index into the theme's palette.
    pub colour: usize,
}

/// How bars are drawn.
#[derive(Clone, Debug)]
pub struct Bars {
    /// Width in pixels. Default that of a sheet.
    pub width: f64,
    /// A title above; none by default.
    pub title: String,
    /// What the ratio is; none by default.
    pub axis: String,
}

impl Default for Bars {
    fn default() -> Self {
        Bars { width: theme::SHEET, title: String::new(), axis: String::new() }
    }
}

const ROW: f64 = 24.0;
const THICK: f64 = 14.0;
/// Labels take at most this share of the width.
const LABELS: f64 = 0.5;

impl Bars {
    /// Draws the bars, the first on top.
    pub fn draw(&self, bars: &[Bar]) -> Result<Figure> {
        if bars.is_empty() {
            return Err(Error::Data("no bars to draw".to_owned()));
        }
        let shown = |v: f64| v.is_finite() && v > 0.0;
        for bar in bars {
            if let Some(bad) = bar.value.into_iter().chain([bar.mark]).find(|&v| !shown(v)) {
                return Err(Error::Data(format!("bar “{}” has {bad}; a ratio is above 0 and finite", bar.label)));
            }
        }
        let widest = bars.iter().map(|b| text::width(b.label, theme::LABEL, false)).fold(0.0, f64::max);
        let left = theme::MARGIN + widest.min(LABELS * self.width) + 10.0;
        // A number stands at the end of the longest bar.
        let right = self.width - theme::MARGIN - text::width("000.0", theme::LABEL, true) - 6.0;
        if right - left < 40.0 {
            return Err(Error::Data(format!("{} pixels leave no room for bars", self.width)));
        }
        let ends = bars.iter().flat_map(|b| b.value.into_iter().chain([b.mark]));
        let (lo, hi) = ends.fold((1.0f64, 1.0f64), |(lo, hi), v| (lo.min(v), hi.max(v)));
        // Some room on both sides, and an axis of some length when all is 1.
        let (lo, hi) = (lo / 1.1, (hi * 1.1).max(1.25));
        let at = |v: f64| left + (right - left) * (v / lo).ln() / (hi / lo).ln();

        let title_height = if self.title.is_empty() { 0.0 } else { theme::TITLE + 10.0 };
        let top = theme::MARGIN + title_height;
        let bottom = top + ROW * bars.len() as f64;
        let mut canvas = Canvas::default();
        canvas.title(&self.title, self.width - 2.0 * theme::MARGIN);
        let places = ticks::logarithmic(lo, hi, ((right - left) / 60.0) as usize);
        for (tick, label) in places.iter().zip(ticks::labels(&places, true)) {
            canvas.line([at(*tick), top, at(*tick), bottom], theme::GRID, 1.0);
            let style = Style { anchor: Anchor::Middle, ..Style::default() };
            canvas.text((at(*tick), bottom + theme::TICK + 4.0), &label, style);
        }
        for (i, bar) in bars.iter().enumerate() {
            let middle = top + ROW * (i as f64 + 0.5);
            let base = middle + theme::LABEL * 0.36;
            let label = text::fit(bar.label, theme::LABEL, false, left - theme::MARGIN - 10.0);
            let style = Style { size: theme::LABEL, anchor: Anchor::End, fill: theme::INK, ..Style::default() };
            canvas.text((left - 10.0, base), &label, style);
            let end = bar.value.map_or(at(1.0), |value| {
                let (from, to) = (at(1.0).min(at(value)), at(1.0).max(at(value)));
                canvas.rect([from, middle - THICK / 2.0, to - from, THICK], &theme::colour(bar.colour), None);
                to
            });
            canvas.line([at(bar.mark), middle - ROW * 0.42, at(bar.mark), middle + ROW * 0.42], theme::INK, 2.0);
            let number =
                bar.value.map_or("none".to_owned(), |v| if v < 10.0 { format!("{v:.2}") } else { format!("{v:.1}") });
            let style = Style { size: theme::LABEL, bold: true, fill: theme::INK, halo: true, ..Style::default() };
            // Beyond the mark where it would cross the number.
            let room = end - 6.0..end + 12.0 + text::width(&number, theme::LABEL, true);
            let clear = if room.contains(&at(bar.mark)) { at(bar.mark).max(end) } else { end };
            canvas.text((clear + 6.0, base), &number, style);
        }
        canvas.line([at(1.0), top, at(1.0), bottom], theme::AXIS, 1.0);
        let below = bottom + theme::TICK + 8.0 + theme::LABEL;
        let style = Style { size: theme::LABEL, anchor: Anchor::End, ..Style::default() };
        canvas.text((right, below), &text::fit(&self.axis, theme::LABEL, false, right - theme::MARGIN), style);
        let description = format!("{}: {}", self.title, bars.iter().map(|b| b.label).collect::<Vec<_>>().join(", "));
        Ok(Figure::new(self.width, below + theme::MARGIN, &description, canvas.into_body()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::check;
    use resvg::usvg::roxmltree::Document;

    fn bar(value: f64, mark: f64) -> Bar<'static> {
        Bar { label: "a <step>", value: Some(value), mark, colour: 0 }
    }

    /// Left edge and width of each bar, which are the rectangles after the paper.
    fn spans(figure: &Figure) -> Vec<(f64, f64)> {
        let document = Document::parse(figure.svg()).unwrap();
        let number = |d: &resvg::usvg::roxmltree::Node, name| d.attribute(name).unwrap().parse::<f64>().unwrap();
        let rects = document.descendants().filter(|d| d.has_tag_name("rect")).skip(1);
        rects.map(|d| (number(&d, "x"), number(&d, "width"))).collect()
    }

    #[test]
    fn twice_and_half_are_equally_long_and_meet_at_one() {
        let figure = Bars { title: "t".into(), axis: "times".into(), ..Bars::default() };
        let figure = figure.draw(&[bar(2.0, 1.3), bar(0.5, 0.8)]).unwrap();
        check::renders(&figure);
        let [(right, long), (left, short)] = spans(&figure)[..] else { panic!("two bars") };
        assert!((long - short).abs() < 0.02 && (left + short - right).abs() < 0.02, "{right} {long} {left} {short}");
        let texts = check::texts(&figure);
        for wanted in ["a <step>", "2.00", "0.50", "t", "times"] {
            assert!(texts.iter().any(|t| t == wanted), "{wanted} in {texts:?}");
        }
    }

    #[test]
    fn a_bar_without_a_value_keeps_its_place() {
        let figure = Bars::default().draw(&[Bar { value: None, ..bar(1.0, 2.5) }, bar(3.0, 2.5)]).unwrap();
        assert_eq!(spans(&figure).len(), 1);
        assert!(check::texts(&figure).contains(&"none".to_owned()));
    }

    #[test]
    fn what_is_no_ratio_is_an_error_that_names_the_bar() {
        assert!(Bars::default().draw(&[]).is_err());
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = Bars::default().draw(&[bar(bad, 1.0)]).unwrap_err().to_string();
            assert!(error.contains("a <step>"), "{error}");
        }
    }
}
