//! One look for every figure: typeface, sizes, greys, class colours and shapes, the scale of kernels.
//!
//! Classes differ in colour *and* shape, and figures name them where they are: none of it needs colour vision. The first
//! six colours are Okabe and Ito's ("Color Universal Design", 2008), without their yellow, which is lost on white; six
//! darker or greyer ones follow.
//!
//! Kernels use a sequential scale whose lightness falls evenly from paper to ink (in Oklab; Ottosson, "A perceptual color
//! space for image processing", 2020) while the hue turns from yellow over green to blue. Zero is light: most of a
//! kernel matrix is near zero, and its blocks then stand out dark, on a screen, in print and in grey.

use crate::svg::n;
use std::fmt::Write;
use std::sync::LazyLock;

/// The typeface and its stand-ins, as CSS writes them. PNGs always use the first.
pub const TYPEFACE: &str = "Roboto, 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif";
/// Size of a figure's title, in pixels.
pub const TITLE: f64 = 14.0;
/// Size of axis labels, captions and class names.
pub const LABEL: f64 = 12.0;
/// Size of the numbers on axes.
pub const TICK: f64 = 11.0;
/// The free rim around a figure.
pub const MARGIN: f64 = 12.0;
/// The width a whole sheet is meant for.
pub const SHEET: f64 = 960.0;

/// The paper, drawn under every figure.
pub const PAPER: &str = "#ffffff";
/// Titles and labels.
pub const INK: &str = "#1f2328";
/// Numbers on axes, captions.
pub const MUTED: &str = "#545d68";
/// Axis lines.
pub const AXIS: &str = "#8b949e";
/// Grid lines.
pub const GRID: &str = "#e8eaed";

/// What stands for paper, ink, muted ink, axes and grid on a dark screen, in this order.
pub const DARK: [&str; 5] = ["#161b22", "#e6edf3", "#a3adb8", "#6e7681", "#30363d"];

type Rgb = [u8; 3];

const PALETTE: [Rgb; 12] = [
    [0x00, 0x72, 0xb2], // blue
    [0xe6, 0x9f, 0x00], // orange
    [0x00, 0x9e, 0x73], // green
    [0xd5, 0x5e, 0x00], // vermilion
    [0xcc, 0x79, 0xa7], // pink
    [0x56, 0xb4, 0xe9], // sky
    [0x3b, 0x3b, 0x3b], // near black
    [0xad, 0x9c, 0x00], // olive
    [0x5b, 0x3a, 0x9e], // violet
    [0x8c, 0x51, 0x0a], // brown
    [0x8a, 0x93, 0x9e], // grey
    [0x00, 0x5f, 0x63], // dark teal
];

/// The same classes on a dark screen: light enough for text, near black turned near white.
const DARK_PALETTE: [Rgb; 12] = [
    [0x4d, 0xa3, 0xe0], // blue
    [0xf0, 0xb4, 0x2a], // orange
    [0x2f, 0xc2, 0x98], // green
    [0xf0, 0x7f, 0x33], // vermilion
    [0xe0, 0x97, 0xc0], // pink
    [0x8c, 0xd0, 0xf5], // sky
    [0xf0, 0xf0, 0xf0], // near white
    [0xd0, 0xc0, 0x30], // olive
    [0xa9, 0x8c, 0xf0], // violet
    [0xc8, 0x8c, 0x4a], // brown
    [0x98, 0xa2, 0xad], // grey
    [0x3f, 0xa9, 0xad], // teal
];

/// The colour of a class or a curve, for marks and lines. Repeats after twelve.
pub fn colour(class: usize) -> String {
    hex(PALETTE[class % PALETTE.len()])
}

/// The colour of a class or a curve on a dark screen, for marks, lines and text.
pub fn dark_colour(class: usize) -> String {
    hex(DARK_PALETTE[class % DARK_PALETTE.len()])
}

/// The same colour, darkened where needed so that text in it reads on paper (contrast of 4.5, WCAG 2 level AA).
pub fn ink(class: usize) -> String {
    let mut rgb = PALETTE[class % PALETTE.len()];
    while contrast_with_white(rgb) < 4.5 {
        rgb = rgb.map(|v| (f64::from(v) * 0.96) as u8);
    }
    hex(rgb)
}

fn hex([r, g, b]: Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// The contrast ratio of WCAG 2.
fn contrast_with_white(rgb: Rgb) -> f64 {
    1.05 / (light(rgb) + 0.05)
}

/// The relative luminance of WCAG 2.
fn light(rgb: Rgb) -> f64 {
    let [r, g, b] = rgb.map(linear);
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

/// An sRGB value as a share of light.
fn linear(value: u8) -> f64 {
    let v = f64::from(value) / 255.0;
    if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
}

/// The mark of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
    TriangleDown,
    Plus,
    Cross,
    Star,
    TriangleLeft,
    Bar,
    TriangleRight,
    Dash,
}

impl Shape {
    const ALL: [Shape; 12] = [
        Shape::Circle,
        Shape::Square,
        Shape::Triangle,
        Shape::Diamond,
        Shape::TriangleDown,
        Shape::Plus,
        Shape::Cross,
        Shape::Star,
        Shape::TriangleLeft,
        Shape::Bar,
        Shape::TriangleRight,
        Shape::Dash,
    ];

    /// The shape of a class. When the colours start over, the shapes are moved on by one, so that 144 classes differ.
    pub fn of(class: usize) -> Shape {
        Shape::ALL[(class % PALETTE.len() + class / PALETTE.len() % Shape::ALL.len()) % Shape::ALL.len()]
    }

    /// The outline as SVG path data, centred at (x, y), with about the area of a circle of radius `r`.
    pub(crate) fn path(self, x: f64, y: f64, r: f64) -> String {
        // Regular polygons: corners, radius over r, angle of the first corner in degrees (0 is right, 90 is down).
        let polygon = |corners: usize, size: f64, turn: f64| -> Vec<(f64, f64)> {
            let angle = |i: usize| (turn + 360.0 * i as f64 / corners as f64).to_radians();
            (0..corners).map(|i| (size * angle(i).cos(), size * angle(i).sin())).collect()
        };
        // A plus with arms of length 1.3 and half-width 0.38, turned by some degrees.
        let plus = |turn: f64| -> Vec<(f64, f64)> {
            let (a, b) = (1.3, 0.38);
            let corners = [
                (a, b),
                (b, b),
                (b, a),
                (-b, a),
                (-b, b),
                (-a, b),
                (-a, -b),
                (-b, -b),
                (-b, -a),
                (b, -a),
                (b, -b),
                (a, -b),
            ];
            let (sin, cos) = turn.to_radians().sin_cos();
            corners.iter().map(|&(x, y): &(f64, f64)| (x * cos - y * sin, x * sin + y * cos)).collect()
        };
        let corners = match self {
            Shape::Circle => {
                let (left, d) = (n(x - r), n(2.0 * r));
                let r = n(r);
                return format!("M{left} {}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0z", n(y));
            }
            Shape::Square => polygon(4, 1.25, 45.0),
            Shape::Triangle => polygon(3, 1.45, -90.0),
            Shape::Diamond => polygon(4, 1.35, 0.0),
            Shape::TriangleDown => polygon(3, 1.45, 90.0),
            Shape::Plus => plus(0.0),
            Shape::Cross => plus(45.0),
            Shape::Star => {
                let (outer, inner) = (polygon(5, 1.6, -90.0), polygon(5, 0.7, -54.0));
                outer.into_iter().zip(inner).flat_map(|(a, b)| [a, b]).collect()
            }
            Shape::TriangleLeft => polygon(3, 1.45, 180.0),
            Shape::Bar => vec![(-0.5, -1.45), (0.5, -1.45), (0.5, 1.45), (-0.5, 1.45)],
            Shape::TriangleRight => polygon(3, 1.45, 0.0),
            Shape::Dash => vec![(-1.45, -0.5), (1.45, -0.5), (1.45, 0.5), (-1.45, 0.5)],
        };
        let mut d = String::new();
        for (i, (dx, dy)) in corners.into_iter().enumerate() {
            let _ = write!(d, "{}{} {}", if i == 0 { 'M' } else { 'L' }, n(x + r * dx), n(y + r * dy));
        }
        d + "z"
    }
}

/// Stops of the kernel scale, from low to high: chroma and hue (degrees) in Oklab. Lightness is even and not listed.
const STOPS: [(f64, f64); 6] =
    [(0.015, 100.0), (0.095, 125.0), (0.105, 168.0), (0.095, 218.0), (0.105, 258.0), (0.085, 280.0)];
const LIGHTEST: f64 = 0.985;
const DARKEST: f64 = 0.24;

static SEQUENTIAL: LazyLock<[Rgb; 256]> = LazyLock::new(|| {
    std::array::from_fn(|i| {
        let t = i as f64 / 255.0;
        let place = t * (STOPS.len() - 1) as f64;
        let below = (place as usize).min(STOPS.len() - 2);
        let ((c0, h0), (c1, h1)) = (STOPS[below], STOPS[below + 1]);
        let share = place - below as f64;
        oklch_to_rgb(LIGHTEST + (DARKEST - LIGHTEST) * t, c0 + (c1 - c0) * share, h0 + (h1 - h0) * share)
    })
});

/// The scale of kernels, from low (light) to high (dark), as 256 sRGB colours.
pub fn sequential() -> &'static [[u8; 3]; 256] {
    &SEQUENTIAL
}

/// Oklab in polar form to sRGB, clipped to its gamut.
fn oklch_to_rgb(lightness: f64, chroma: f64, hue: f64) -> Rgb {
    let (sin, cos) = hue.to_radians().sin_cos();
    let (a, b) = (chroma * cos, chroma * sin);
    let l = (lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b).powi(3);
    let m = (lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b).powi(3);
    let s = (lightness - 0.089_484_177_5 * a - 1.291_485_548_0 * b).powi(3);
    [
        4.076_741_662_1 * l - 3.307_711_591_3 * m + 0.230_969_929_2 * s,
        -1.268_438_004_6 * l + 2.609_757_401_1 * m - 0.341_319_396_5 * s,
        -0.004_196_086_3 * l - 0.703_418_614_7 * m + 1.707_614_701_0 * s,
    ]
    .map(|v| {
        let v = if v <= 0.003_130_8 { 12.92 * v } else { 1.055 * v.powf(1.0 / 2.4) - 0.055 };
        (v * 255.0).round().clamp(0.0, 255.0) as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lightness in Oklab, from sRGB: the inverse of the matrices above.
    fn lightness(rgb: Rgb) -> f64 {
        let [r, g, b] = rgb.map(linear);
        let l = (0.412_221_470_8 * r + 0.536_332_536_3 * g + 0.051_445_992_9 * b).cbrt();
        let m = (0.211_903_498_2 * r + 0.680_699_545_1 * g + 0.107_396_956_6 * b).cbrt();
        let s = (0.088_302_461_9 * r + 0.281_718_837_6 * g + 0.629_978_700_5 * b).cbrt();
        0.210_454_255_3 * l + 0.793_617_785_0 * m - 0.004_072_046_8 * s
    }

    #[test]
    fn the_kernel_scale_darkens_evenly() {
        for (i, &rgb) in sequential().iter().enumerate() {
            let wanted = LIGHTEST + (DARKEST - LIGHTEST) * i as f64 / 255.0;
            // Rounding to 8 bits moves the lightness by up to 0.003; more would mean a colour outside sRGB.
            assert!((lightness(rgb) - wanted).abs() < 0.004, "{i}: {} for {wanted}", lightness(rgb));
        }
    }

    #[test]
    fn text_in_class_colours_reads_on_paper() {
        for class in 0..12 {
            let ink = ink(class);
            let value = |at: usize| u8::from_str_radix(&ink[at..at + 2], 16).unwrap();
            assert!(contrast_with_white([value(1), value(3), value(5)]) >= 4.5, "{ink}");
        }
        // Marks need a contrast of 2 at least to be seen at all.
        assert!(PALETTE.iter().all(|&rgb| contrast_with_white(rgb) > 2.0));
    }

    #[test]
    fn class_colours_and_inks_read_on_a_dark_screen() {
        let rgb = |hex: &str| [1, 3, 5].map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap());
        let paper = light(rgb(DARK[0])) + 0.05;
        for text in DARK_PALETTE.into_iter().chain([rgb(DARK[1]), rgb(DARK[2])]) {
            assert!((light(text) + 0.05) / paper >= 4.5, "{text:?}");
        }
        assert_eq!((0..12).map(dark_colour).collect::<std::collections::BTreeSet<_>>().len(), 12);
    }

    #[test]
    fn classes_differ_in_colour_and_shape() {
        let looks: std::collections::BTreeSet<_> =
            (0..144).map(|c| (colour(c), format!("{:?}", Shape::of(c)))).collect();
        assert_eq!(looks.len(), 144);
        let shapes: std::collections::BTreeSet<_> = (0..12).map(|c| Shape::of(c).path(0.0, 0.0, 3.0)).collect();
        assert_eq!(shapes.len(), 12);
    }
}
