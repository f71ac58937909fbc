//! A finished figure: its SVG, and the PNG rendered from it.
//!
//! PNGs are rendered with the embedded typeface alone, never with what the machine has installed: a bare machine has no
//! fonts, and two machines with different ones would give different pictures.

use crate::svg::{escape, n};
use crate::{Error, Result, text, theme};
use dkae::data::atomic::write_atomically;
use resvg::{tiny_skia, usvg};
use std::path::Path;
use std::sync::{Arc, LazyLock};

/// A figure. Sizes are in CSS pixels (1/96 inch).
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    width: f64,
    height: f64,
    /// What stands inside the root element, without the paper; `panel` puts several of these together.
    body: String,
    svg: String,
}

/// The largest side of a PNG, in pixels: beyond it a picture is a mistake, not a figure.
const LARGEST_SIDE: f64 = 20_000.0;

static FONTS: LazyLock<Arc<usvg::fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_data(text::REGULAR.to_vec());
    fonts.load_font_data(text::BOLD.to_vec());
    fonts.set_sans_serif_family("Roboto");
    Arc::new(fonts)
});

impl Figure {
    /// A figure from its body; `description` is what a screen reader says.
    pub(crate) fn new(width: f64, height: f64, description: &str, body: String) -> Figure {
        let (width, height) = (width.ceil().max(1.0), height.ceil().max(1.0));
        // The paper is part of the figure: its dark ink must stay readable on a dark page.
        let svg = format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" role="img" aria-label="{label}" font-family="{family}">
<rect width="{w}" height="{h}" rx="4" fill="{paper}"/>
{body}</svg>
"#,
            w = n(width),
            h = n(height),
            label = escape(description),
            family = escape(theme::TYPEFACE),
            paper = theme::PAPER,
        );
        Figure { width, height, body, svg }
    }

    /// The width in pixels.
    pub fn width(&self) -> f64 {
        self.width
    }

    /// The height in pixels.
    pub fn height(&self) -> f64 {
        self.height
    }

    /// The figure as an SVG document, ready to be written to a file or put into a page.
    pub fn svg(&self) -> &str {
        &self.svg
    }

    pub(crate) fn body(&self) -> &str {
        &self.body
    }

    /// The figure as a PNG, `scale` picture pixels per figure pixel (2 suits screens, 3 print).
    pub fn png(&self, scale: f64) -> Result<Vec<u8>> {
        let (w, h) = ((self.width * scale).round(), (self.height * scale).round());
        if !(scale > 0.0 && w >= 1.0 && h >= 1.0 && w <= LARGEST_SIDE && h <= LARGEST_SIDE) {
            return Err(Error::Render(format!(
                "scale {scale} makes a picture of {w} x {h} pixels; choose one that gives 1 to {LARGEST_SIDE} a side"
            )));
        }
        let options = usvg::Options { fontdb: FONTS.clone(), font_family: "Roboto".to_owned(), ..Default::default() };
        let tree = usvg::Tree::from_str(&self.svg, &options).map_err(|e| Error::Render(e.to_string()))?;
        let mut pixels = tiny_skia::Pixmap::new(w as u32, h as u32)
            .ok_or_else(|| Error::Render(format!("no memory for {w} x {h} pixels")))?;
        let transform = tiny_skia::Transform::from_scale(scale as f32, scale as f32);
        resvg::render(&tree, transform, &mut pixels.as_mut());
        pixels.encode_png().map_err(|e| Error::Render(e.to_string()))
    }

    /// Writes the SVG to `path`: all of it, or the old file stays.
    pub fn save_svg(&self, path: impl AsRef<Path>) -> Result<()> {
        Ok(write_atomically(path, |file| file.write_all(self.svg.as_bytes()))?)
    }

    /// Writes the PNG to `path`: all of it, or the old file stays. `scale` as in [`Figure::png`].
    pub fn save_png(&self, path: impl AsRef<Path>, scale: f64) -> Result<()> {
        let png = self.png(scale)?;
        Ok(write_atomically(path, |file| file.write_all(&png))?)
    }
}

/// For the tests of every figure: the SVG parses, and the PNG has the size it should and something on it.
#[cfg(test)]
pub(crate) mod check {
    use super::*;

    pub(crate) fn renders(figure: &Figure) {
        usvg::Tree::from_str(&figure.svg, &usvg::Options::default()).expect("well-formed SVG");
        let png = figure.png(2.0).unwrap();
        let picture = tiny_skia::Pixmap::decode_png(&png).unwrap();
        assert_eq!(f64::from(picture.width()), 2.0 * figure.width);
        assert_eq!(f64::from(picture.height()), 2.0 * figure.height);
        let white = tiny_skia::PremultipliedColorU8::from_rgba(255, 255, 255, 255).unwrap();
        let drawn = picture.pixels().iter().filter(|&&p| p != white).count();
        assert!(drawn > 50, "only {drawn} pixels are drawn");
    }

    /// The texts of a figure as a viewer would show them, in order.
    pub(crate) fn texts(figure: &Figure) -> Vec<String> {
        let document = usvg::roxmltree::Document::parse(&figure.svg).unwrap();
        document.descendants().filter(|d| d.has_tag_name("text")).map(|d| d.text().unwrap().to_owned()).collect()
    }

    /// The attributes of every element of a kind, as numbers.
    pub(crate) fn numbers(figure: &Figure, tag: &str, names: &[&str]) -> Vec<Vec<f64>> {
        let document = usvg::roxmltree::Document::parse(&figure.svg).unwrap();
        let number = |d: &usvg::roxmltree::Node, name: &&str| d.attribute(*name).unwrap().parse().unwrap();
        let elements: Vec<_> = document
            .descendants()
            .filter(|d| d.tag_name().name() == tag && names.iter().all(|name| d.has_attribute(*name)))
            .collect();
        elements.iter().map(|d| names.iter().map(|name| number(d, name)).collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg::{Canvas, Style};

    fn small() -> Figure {
        let mut canvas = Canvas::default();
        canvas.text((5.0, 15.0), "λ = 0.1", Style::default());
        Figure::new(60.0, 20.0, "a \"label\" <with> & signs", canvas.into_body())
    }

    #[test]
    fn text_is_drawn_without_any_installed_font() {
        check::renders(&small());
    }

    #[test]
    fn the_same_figure_gives_the_same_bytes() {
        assert_eq!(small().svg(), small().svg());
        assert_eq!(small().png(1.5).unwrap(), small().png(1.5).unwrap());
    }

    #[test]
    fn impossible_scales_are_errors() {
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9, 1e-9] {
            assert!(matches!(small().png(scale), Err(Error::Render(_))), "{scale}");
        }
    }

    #[test]
    fn files_are_written_whole_and_leave_nothing_beside_them() {
        let folder = tempfile::tempdir().unwrap();
        let (svg, png) = (folder.path().join("a.svg"), folder.path().join("a.png"));
        std::fs::write(&svg, "old").unwrap();
        small().save_svg(&svg).unwrap();
        small().save_png(&png, 1.0).unwrap();
        assert_eq!(std::fs::read_to_string(&svg).unwrap(), small().svg());
        assert!(std::fs::read(&png).unwrap().starts_with(b"\x89PNG"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
        let missing = small().save_svg(folder.path().join("no/such/a.svg")).unwrap_err();
        assert!(missing.to_string().contains("a.svg"), "{missing}");
    }
}
