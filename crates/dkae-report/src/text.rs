//! How wide a piece of text is.
//!
//! Measured with the typeface of the PNGs (Roboto, see `fonts/README.md`). A viewer of the SVG may have another one, so
//! every width carries a little slack: Arial and Helvetica run up to 5 % wider.

use std::sync::LazyLock;
use ttf_parser::Face;

/// The embedded typeface, upright.
pub(crate) const REGULAR: &[u8] = include_bytes!("../fonts/Roboto-Regular.ttf");
/// The embedded typeface, bold.
pub(crate) const BOLD: &[u8] = include_bytes!("../fonts/Roboto-Bold.ttf");

const SLACK: f64 = 1.06;

static FACES: LazyLock<[Option<Face<'static>>; 2]> =
    LazyLock::new(|| [Face::parse(REGULAR, 0).ok(), Face::parse(BOLD, 0).ok()]);

/// The width of `text` in pixels at font size `size`.
pub(crate) fn width(text: &str, size: f64, bold: bool) -> f64 {
    // A letter the face lacks (a Chinese class name, say) comes from another face, about as wide as it is high.
    let ems = |letter| {
        let face = FACES[usize::from(bold)].as_ref()?;
        let advance = face.glyph_hor_advance(face.glyph_index(letter)?)?;
        Some(f64::from(advance) / f64::from(face.units_per_em()))
    };
    text.chars().map(|letter| ems(letter).unwrap_or(1.0)).sum::<f64>() * size * SLACK
}

/// `text` cut to at most `room` pixels, with an ellipsis where something was cut.
pub(crate) fn fit(text: &str, size: f64, bold: bool, room: f64) -> String {
    if width(text, size, bold) <= room {
        return text.to_owned();
    }
    let mut kept: Vec<char> = text.chars().collect();
    while kept.pop().is_some() {
        let cut = kept.iter().collect::<String>().trim_end().to_owned() + "…";
        if width(&cut, size, bold) <= room || kept.is_empty() {
            return cut;
        }
    }
    String::new()
}

/// Names cut to at most `room` pixels each. Those that would be cut to the same lose their middle instead: names of
/// classes often differ at their ends.
pub(crate) fn fit_apart(names: &[String], size: f64, bold: bool, room: f64) -> Vec<String> {
    let cut: Vec<String> = names.iter().map(|name| fit(name, size, bold, room)).collect();
    let alike = |i: usize| cut[i] != names[i] && cut.iter().enumerate().any(|(j, other)| j != i && *other == cut[i]);
    let shown = (0..names.len()).map(|i| match alike(i) {
        true => without_middle(&names[i], size, bold, room).unwrap_or_else(|| cut[i].clone()),
        false => cut[i].clone(),
    });
    shown.collect()
}

/// The beginning and the end of a text, as much of them as there is room for.
fn without_middle(text: &str, size: f64, bold: bool, room: f64) -> Option<String> {
    let letters: Vec<char> = text.chars().collect();
    // No letter is narrower than a pixel.
    let most = letters.len().min(room.max(0.0) as usize);
    let kept = |count: usize| {
        let (head, tail) = (count * 2 / 5, count - count * 2 / 5);
        letters[..head].iter().chain(&['…']).chain(&letters[letters.len() - tail..]).collect::<String>()
    };
    (2..most).rev().map(kept).find(|cut| width(cut, size, bold) <= room)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_come_from_the_face() {
        // Roboto's digits are all 1150 of 2048 units wide.
        assert!((width("0123", 10.0, false) - 4.0 * 10.0 * 1150.0 / 2048.0 * SLACK).abs() < 0.05);
        assert!(width("W", 10.0, false) > 2.0 * width("i", 10.0, false));
        assert!(width("loss", 10.0, true) > width("loss", 10.0, false));
        assert_eq!(width("漢", 10.0, false), 10.0 * SLACK);
    }

    #[test]
    fn the_face_has_the_signs_figures_use() {
        for letter in "λκαβ‖≤≥⁻⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂ᵀ−×·…–—ŁőЖя".chars() {
            for face in FACES.iter() {
                assert!(face.as_ref().unwrap().glyph_index(letter).is_some(), "no {letter}");
            }
        }
    }

    #[test]
    fn names_that_begin_alike_keep_their_ends() {
        let names =
            ["a long name that ends one way", "a long name that ends another", "short", "something else, long too"];
        let names = names.map(str::to_owned);
        let cut = fit_apart(&names, 10.0, false, 70.0);
        assert!(cut.iter().all(|name| width(name, 10.0, false) <= 70.0), "{cut:?}");
        assert!(cut[0].starts_with("a l") && cut[0].ends_with(" way") && cut[1].ends_with("other"), "{cut:?}");
        assert_eq!((cut[2].as_str(), cut[3].ends_with('…')), ("short", true));
        // No room for anything, and nothing to cut.
        assert_eq!(fit_apart(&names, 10.0, false, 0.0).len(), 4);
        assert_eq!(fit_apart(&names, 10.0, false, 1000.0), names);
    }

    #[test]
    fn cut_text_fits_and_says_so() {
        assert_eq!(fit("loss", 10.0, false, 100.0), "loss");
        let cut = fit("a very long class name", 10.0, false, 60.0);
        assert!(cut.ends_with('…') && width(&cut, 10.0, false) <= 60.0, "{cut}");
    }
}
