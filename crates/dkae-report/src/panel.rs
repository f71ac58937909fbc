//! Several figures on one sheet.
//!
//! Figures keep their size, so that all text on the sheet has one size. Rows stand one below the other; a row that is
//! narrower than the widest spreads its figures over the width.

use crate::svg::{Canvas, Style, n};
use crate::{Error, Figure, Result, text, theme};

/// A figure on a sheet, with a title above it.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The title; none when empty.
    pub title: &'a str,
    /// The figure.
    pub figure: &'a Figure,
}

/// How a sheet is put together.
#[derive(Clone, Debug, Default)]
pub struct Sheet {
    /// A title above all; none by default.
    pub title: String,
    /// Smaller text below the title; none by default.
    pub subtitle: String,
    /// Whether titles of parts begin with a, b, c, ... for a caption to refer to. Default false.
    pub letters: bool,
}

const HEAD: f64 = 18.0;
const GAP: f64 = 6.0;

impl Sheet {
    /// Puts the figures together, row by row.
    pub fn draw(&self, rows: &[Vec<Part>]) -> Result<Figure> {
        if rows.iter().all(|row| row.is_empty()) {
            return Err(Error::Data("no figures for the sheet".to_owned()));
        }
        let length =
            |row: &Vec<Part>| row.iter().map(|p| p.figure.width()).sum::<f64>() + GAP * (row.len().max(1) - 1) as f64;
        let subtitle_width = text::width(&self.subtitle, theme::LABEL, false) + 2.0 * theme::MARGIN;
        let head_width = text::width(&self.title, HEAD, true) + 2.0 * theme::MARGIN;
        let width = rows.iter().map(length).fold(head_width.max(subtitle_width), f64::max);

        let mut canvas = Canvas::default();
        let mut y = 0.0;
        if !self.title.is_empty() {
            let style = Style { size: HEAD, bold: true, fill: theme::INK, ..Style::default() };
            canvas.text((theme::MARGIN, theme::MARGIN + HEAD), &self.title, style);
            y += theme::MARGIN + HEAD + 4.0;
        }
        if !self.subtitle.is_empty() {
            canvas.text(
                (theme::MARGIN, y + theme::LABEL + 4.0),
                &self.subtitle,
                Style { size: theme::LABEL, ..Style::default() },
            );
            y += theme::LABEL + 8.0;
        }
        let mut letter = b'a';
        for row in rows.iter().filter(|row| !row.is_empty()) {
            let titled = self.letters || row.iter().any(|p| !p.title.is_empty());
            let head = if titled { theme::MARGIN + theme::TITLE } else { 0.0 };
            let gap = if row.len() > 1 { GAP + (width - length(row)) / (row.len() - 1) as f64 } else { 0.0 };
            let mut x = 0.0;
            for part in row {
                let mut at = x + theme::MARGIN;
                let style = Style { size: theme::TITLE, bold: true, fill: theme::INK, ..Style::default() };
                if self.letters {
                    let mark = char::from(letter).to_string();
                    letter = if letter == b'z' { b'a' } else { letter + 1 };
                    canvas.text((at, y + head), &mark, Style { fill: theme::AXIS, ..style });
                    at += text::width(&mark, theme::TITLE, true) + 6.0;
                }
                let room = x + part.figure.width() + gap - at;
                canvas.text((at, y + head), &text::fit(part.title, theme::TITLE, true, room), style);
                canvas.raw(&format!("<g transform=\"translate({} {})\">\n", n(x), n(y + head)));
                canvas.raw(part.figure.body());
                canvas.raw("</g>\n");
                x += part.figure.width() + gap;
            }
            y += head + row.iter().map(|p| p.figure.height()).fold(0.0, f64::max);
        }
        let titles: Vec<&str> = rows.iter().flatten().map(|p| p.title).filter(|t| !t.is_empty()).collect();
        let description = format!("{} {}", self.title, titles.join(", "));
        Ok(Figure::new(width, y, description.trim(), canvas.into_body()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::check;
    use resvg::usvg;

    fn block(width: f64, height: f64) -> Figure {
        let mut canvas = Canvas::default();
        canvas.rect([0.0, 0.0, width, height], theme::INK, None);
        Figure::new(width, height, "block", canvas.into_body())
    }

    /// Where the parts were moved to.
    fn shifts(figure: &Figure) -> Vec<String> {
        let document = usvg::roxmltree::Document::parse(figure.svg()).unwrap();
        document.descendants().filter_map(|d| d.attribute("transform")).map(str::to_owned).collect()
    }

    #[test]
    fn rows_stack_and_narrow_rows_spread() {
        let (wide, small) = (block(200.0, 50.0), block(60.0, 30.0));
        let part = |figure| Part { title: "", figure };
        let rows = [vec![part(&wide)], vec![part(&small), part(&small)]];
        let sheet = Sheet::default().draw(&rows).unwrap();
        assert_eq!((sheet.width(), sheet.height()), (200.0, 80.0));
        assert_eq!(shifts(&sheet), ["translate(0 0)", "translate(0 50)", "translate(140 50)"]);
        check::renders(&sheet);
    }

    #[test]
    fn titles_and_letters_are_shown_as_text() {
        let (a, b) = (block(150.0, 40.0), block(150.0, 40.0));
        let rows = [vec![Part { title: "<one>", figure: &a }, Part { title: "t & \"w\"", figure: &b }]];
        let sheet = Sheet { title: "<script>".into(), subtitle: "it's".into(), letters: true }.draw(&rows).unwrap();
        check::renders(&sheet);
        assert_eq!(check::texts(&sheet), ["<script>", "it's", "a", "<one>", "b", "t & \"w\""]);
    }

    #[test]
    fn an_empty_sheet_is_an_error() {
        assert!(Sheet::default().draw(&[]).is_err() && Sheet::default().draw(&[vec![]]).is_err());
    }
}
