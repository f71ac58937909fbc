//! The few SVG elements the figures are made of, and the one place where text is escaped.

use crate::{text, theme};
use std::fmt::Write;

/// Where a text hangs on its point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text looks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style<'a> {
    pub size: f64,
    pub bold: bool,
    pub anchor: Anchor,
    pub fill: &'a str,
    /// A rim in the colour of the paper, for text over marks.
    pub halo: bool,
}

impl Default for Style<'_> {
    fn default() -> Self {
        Style { size: theme::TICK, bold: false, anchor: Anchor::Start, fill: theme::MUTED, halo: false }
    }
}

/// The body of a figure as it grows.
#[derive(Default)]
pub(crate) struct Canvas {
    body: String,
}

// Writing to a `String` cannot fail, so the results of `write!` below are dropped.
impl Canvas {
    pub fn into_body(self) -> String {
        self.body
    }

    /// SVG text that is already well-formed.
    pub fn raw(&mut self, svg: &str) {
        self.body.push_str(svg);
    }

    pub fn rect(&mut self, [x, y, w, h]: [f64; 4], fill: &str, stroke: Option<(&str, f64)>) {
        let _ =
            write!(self.body, r#"<rect x="{}" y="{}" width="{}" height="{}" fill="{fill}""#, n(x), n(y), n(w), n(h));
        if let Some((colour, width)) = stroke {
            let _ = write!(self.body, r#" stroke="{colour}" stroke-width="{}""#, n(width));
        }
        self.body.push_str("/>\n");
    }

    pub fn line(&mut self, [x1, y1, x2, y2]: [f64; 4], stroke: &str, width: f64) {
        let _ = writeln!(
            self.body,
            r#"<line x1="{}" y1="{}" x2="{}" y2="{}" stroke="{stroke}" stroke-width="{}"/>"#,
            n(x1),
            n(y1),
            n(x2),
            n(y2),
            n(width)
        );
    }

    /// A figure's title at its top left, cut to the room it has.
    pub fn title(&mut self, title: &str, room: f64) {
        let style = Style { size: theme::TITLE, bold: true, fill: theme::INK, ..Style::default() };
        let at = (theme::MARGIN, theme::MARGIN + theme::TITLE - 2.0);
        self.text(at, &text::fit(title, theme::TITLE, true, room), style);
    }

    /// Open paths through the given points, one per run.
    pub fn path(&mut self, runs: &[Vec<(f64, f64)>], stroke: &str, width: f64, dash: Option<&str>) {
        let mut d = String::new();
        for run in runs {
            for (i, &(x, y)) in run.iter().enumerate() {
                let _ = write!(d, "{}{} {}", if i == 0 { 'M' } else { 'L' }, n(x), n(y));
            }
        }
        let dash = dash.map(|d| format!(r#" stroke-dasharray="{d}""#)).unwrap_or_default();
        let _ = writeln!(
            self.body,
            r#"<path d="{d}" fill="none" stroke="{stroke}" stroke-width="{}" stroke-linejoin="round" stroke-linecap="round"{dash}/>"#,
            n(width)
        );
    }

    /// A class's mark, centred at (x, y).
    pub fn mark(&mut self, shape: theme::Shape, (x, y): (f64, f64), radius: f64, fill: &str) {
        let _ = writeln!(self.body, r#"<path d="{}" fill="{fill}"/>"#, shape.path(x, y, radius));
    }

    /// One line of text, its baseline at `y`.
    pub fn text(&mut self, (x, y): (f64, f64), text: &str, style: Style) {
        if text.is_empty() {
            return;
        }
        let _ =
            write!(self.body, r#"<text x="{}" y="{}" font-size="{}" fill="{}""#, n(x), n(y), n(style.size), style.fill);
        if style.bold {
            self.body.push_str(r#" font-weight="700""#);
        }
        match style.anchor {
            Anchor::Start => {}
            Anchor::Middle => self.body.push_str(r#" text-anchor="middle""#),
            Anchor::End => self.body.push_str(r#" text-anchor="end""#),
        }
        if style.halo {
            let _ = write!(
                self.body,
                r#" stroke="{}" stroke-width="3" stroke-linejoin="round" paint-order="stroke""#,
                theme::PAPER
            );
        }
        let _ = writeln!(self.body, ">{}</text>", escape(text));
    }

    /// A PNG; `sharp` shows each of its pixels as a rectangle, for pictures shown larger than they are.
    pub fn image(&mut self, [x, y, w, h]: [f64; 4], png: &[u8], sharp: bool) {
        let sharp = if sharp { r#" image-rendering="pixelated" style="image-rendering:pixelated""# } else { "" };
        let _ = writeln!(
            self.body,
            r#"<image x="{}" y="{}" width="{}" height="{}" preserveAspectRatio="none"{sharp} href="data:image/png;base64,{}"/>"#,
            n(x),
            n(y),
            n(w),
            n(h),
            base64(png)
        );
    }
}

/// A coordinate: two decimals (a fiftieth of a printed point), no trailing zeros.
pub(crate) fn n(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// `text` as the content of an element or of a quoted attribute. Characters that XML 1.0 forbids become U+FFFD.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            '\0'..='\x1f' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

/// Base64 with padding (RFC 4648, section 4).
pub(crate) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let word = three.iter().fold(0u32, |w, &b| w << 8 | u32::from(b)) << (8 * (3 - three.len()));
        for i in 0..4 {
            // n bytes fill n + 1 letters.
            let letter = if i <= three.len() { LETTERS[(word >> (18 - 6 * i)) as usize & 63] } else { b'=' };
            out.push(char::from(letter));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_agrees_with_the_vectors_of_rfc_4648() {
        for (plain, coded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
        assert_eq!(base64(&[0xfb, 0xff]), "+/8=");
    }

    #[test]
    fn coordinates_are_short_and_never_minus_zero() {
        assert_eq!([n(1.0), n(-0.001), n(2.345_1), n(100.0), n(0.5)], ["1", "0", "2.35", "100", "0.5"]);
    }

    #[test]
    fn what_xml_reserves_or_forbids_is_escaped() {
        assert_eq!(escape("<b a=\"1\" c='2'>&\u{1b}\n"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;\u{fffd} ");
    }
}
