//! Letters that the embedded typeface lacks: PNGs show boxes in their place, while viewers of the SVG have other typefaces.

use crate::{Figure, text};
use resvg::usvg::roxmltree::Document;
use ttf_parser::Face;

impl Figure {
    /// The texts of the figure with a letter that its PNG cannot show, each once, in the order of the figure.
    pub fn unreadable_texts(&self) -> Vec<String> {
        let (Ok(face), Ok(document)) = (Face::parse(text::REGULAR, 0), Document::parse(self.svg())) else {
            return Vec::new();
        };
        let mut found: Vec<String> = Vec::new();
        for text in document.descendants().filter(|d| d.has_tag_name("text")).filter_map(|d| d.text()) {
            let lacks = |letter: char| !letter.is_whitespace() && face.glyph_index(letter).is_none();
            if text.chars().any(lacks) && !found.iter().any(|t| t == text) {
                found.push(text.to_owned());
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg::{Canvas, Style};

    #[test]
    fn texts_with_letters_that_are_not_in_the_typeface_are_named_once() {
        let mut canvas = Canvas::default();
        for text in ["grün & 5 < 6", "日本", "λ = 0.1", "日本", "a 漢"] {
            canvas.text((5.0, 15.0), text, Style::default());
        }
        let figure = Figure::new(60.0, 20.0, "漢", canvas.into_body());
        assert_eq!(figure.unreadable_texts(), ["日本", "a 漢"]);
    }
}
