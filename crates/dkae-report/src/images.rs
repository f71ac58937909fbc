//! Grids of pictures: originals above their reconstructions, walks, denoised digits.
//!
//! All pictures of a grid are one PNG inside the SVG, shown with sharp pixels, so that a reader sees the data and not an
//! interpolation of it.

use crate::svg::{Anchor, Canvas, Style};
use crate::{Error, Figure, Result, text, theme};
use ndarray::ArrayView2;

/// How a row of numbers is a picture: `channels` planes of `height` x `width`, each row-major. One channel is grey,
/// three are red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// 1 or 3.
    pub channels: usize,
    /// Pixels down.
    pub height: usize,
    /// Pixels across.
    pub width: usize,
}

/// One row of a grid: a caption and its pictures, one per matrix row, values in [0, 1] (beyond is clipped).
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// What stands to the left, as "original".
    pub caption: &'a str,
    /// One picture per row, `channels * height * width` columns.
    pub pictures: ArrayView2<'a, f32>,
}

/// How a grid of pictures is drawn.
#[derive(Clone, Debug)]
pub struct Grid {
    /// How a row is a picture. Default: grey, 28 x 28.
    pub shape: Shape,
    /// The width of one picture in pixels, rounded so that each of its pixels is as large as the next. Default 56.
    pub cell: f64,
    /// Whether to show 1 as black, as ink on paper. For grey pictures. Default false.
    pub invert: bool,
    /// Captions above the columns; none by default.
    pub columns: Vec<String>,
    /// A title above the grid; none by default.
    pub title: String,
}

impl Default for Grid {
    fn default() -> Self {
        let shape = Shape { channels: 1, height: 28, width: 28 };
        Grid { shape, cell: 56.0, invert: false, columns: Vec::new(), title: String::new() }
    }
}

impl Grid {
    /// Draws the rows one below the other. Rows may have different numbers of pictures.
    pub fn draw(&self, rows: &[Row]) -> Result<Figure> {
        self.check(rows)?;
        let Shape { height, width, .. } = self.shape;
        let across = rows.iter().map(|r| r.pictures.nrows()).max().unwrap_or(0);
        // The gap is whole picture pixels, since grid and gaps are one PNG.
        let gap = (width as f64 * 0.08).round().max(1.0) as usize;
        let scale =
            if self.cell >= width as f64 { (self.cell / width as f64).round() } else { self.cell / width as f64 };
        let (w, h) = (across * (width + gap) - gap, rows.len() * (height + gap) - gap);
        let png = self.mosaic(rows, w, h, gap)?;

        let caption_width = rows.iter().map(|r| text::width(r.caption, theme::LABEL, false)).fold(0.0, f64::max);
        let left = theme::MARGIN + if caption_width > 0.0 { caption_width + 10.0 } else { 0.0 };
        let title_height = if self.title.is_empty() { 0.0 } else { theme::TITLE + 10.0 };
        let column_height = if self.columns.is_empty() { 0.0 } else { theme::LABEL + 6.0 };
        let top = theme::MARGIN + title_height + column_height;
        let (step_x, step_y) = ((width + gap) as f64 * scale, (height + gap) as f64 * scale);

        let mut canvas = Canvas::default();
        canvas.title(&self.title, f64::INFINITY);
        canvas.image([left, top, w as f64 * scale, h as f64 * scale], &png, scale >= 1.0);
        for (i, row) in rows.iter().enumerate() {
            let middle = top + i as f64 * step_y + height as f64 * scale / 2.0;
            let style = Style { size: theme::LABEL, anchor: Anchor::End, fill: theme::INK, ..Style::default() };
            canvas.text((left - 10.0, middle + theme::LABEL * 0.36), row.caption, style);
        }
        for (j, caption) in self.columns.iter().take(across).enumerate() {
            let middle = left + j as f64 * step_x + width as f64 * scale / 2.0;
            let style = Style { size: theme::LABEL, anchor: Anchor::Middle, ..Style::default() };
            let shown = text::fit(caption, theme::LABEL, false, step_x - 2.0);
            canvas.text((middle, top - 6.0), &shown, style);
        }
        let (total_w, total_h) = (left + w as f64 * scale + theme::MARGIN, top + h as f64 * scale + theme::MARGIN);
        let total_w = total_w.max(text::width(&self.title, theme::TITLE, true) + 2.0 * theme::MARGIN);
        let captions: Vec<&str> = rows.iter().map(|r| r.caption).filter(|c| !c.is_empty()).collect();
        let description = format!("{} Grid of pictures, {across} across: {}", self.title, captions.join(", "));
        Ok(Figure::new(total_w, total_h, description.trim(), canvas.into_body()))
    }

    fn check(&self, rows: &[Row]) -> Result<()> {
        let Shape { channels, height, width } = self.shape;
        let length = channels.checked_mul(height).and_then(|v| v.checked_mul(width)).unwrap_or(0);
        if !(channels == 1 || channels == 3) || length == 0 {
            return Err(Error::Data(format!(
                "picture shape {channels} x {height} x {width}: expected 1 or 3 channels and at least one pixel"
            )));
        }
        if !(self.cell.is_finite() && self.cell >= 1.0) {
            return Err(Error::Data(format!("picture width {}: expected 1 pixel or more", self.cell)));
        }
        if rows.iter().all(|r| r.pictures.nrows() == 0) {
            return Err(Error::Data("no pictures to draw".to_owned()));
        }
        for (i, row) in rows.iter().enumerate() {
            if row.pictures.ncols() != length {
                return Err(Error::Data(format!(
                    "row {i} of the grid ({}) has {} values per picture, expected {channels} x {height} x {width} = {length}",
                    row.caption,
                    row.pictures.ncols()
                )));
            }
            if let Some(((k, _), value)) = row.pictures.indexed_iter().find(|(_, v)| !v.is_finite()) {
                return Err(Error::Data(format!(
                    "row {i} of the grid ({}), picture {k}: a value is {value}",
                    row.caption
                )));
            }
        }
        Ok(())
    }

    /// All pictures in one PNG on white, `gap` pixels apart.
    fn mosaic(&self, rows: &[Row], w: usize, h: usize, gap: usize) -> Result<Vec<u8>> {
        let Shape { channels, height, width } = self.shape;
        let mut pixels = vec![255u8; w * h * channels];
        for (i, row) in rows.iter().enumerate() {
            for (j, picture) in row.pictures.rows().into_iter().enumerate() {
                for (at, &value) in picture.iter().enumerate() {
                    let (channel, y, x) = (at / (height * width), at / width % height, at % width);
                    let value = if self.invert { 1.0 - value } else { value };
                    let place = (i * (height + gap) + y) * w + j * (width + gap) + x;
                    pixels[place * channels + channel] = (value.clamp(0.0, 1.0) * 255.0).round() as u8;
                }
            }
        }
        let colour = if channels == 1 { png::ColorType::Grayscale } else { png::ColorType::Rgb };
        encode(w, h, colour, None, &pixels)
    }
}

/// A PNG of 8-bit pixels.
pub(crate) fn encode(
    w: usize,
    h: usize,
    colour: png::ColorType,
    palette: Option<Vec<u8>>,
    pixels: &[u8],
) -> Result<Vec<u8>> {
    let side = |v: usize| u32::try_from(v).map_err(|_| Error::Render(format!("a picture {v} pixels long")));
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, side(w)?, side(h)?);
    encoder.set_color(colour);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::High);
    if let Some(palette) = palette {
        encoder.set_palette(palette);
    }
    let error = |e: png::EncodingError| Error::Render(e.to_string());
    let mut writer = encoder.write_header().map_err(error)?;
    writer.write_image_data(pixels).map_err(error)?;
    writer.finish().map_err(error)?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::check;
    use ndarray::{Array2, array};
    use resvg::tiny_skia::Pixmap;

    fn grid(channels: usize, height: usize, width: usize, cell: f64) -> Grid {
        Grid { shape: Shape { channels, height, width }, cell, ..Grid::default() }
    }

    #[test]
    fn every_pixel_lands_in_its_place_with_its_value() {
        // Two pictures of 1 x 2 pixels, ten figure pixels each, a gap of one pixel between.
        let pictures = array![[0.0, 0.2], [0.4, 0.6]];
        let figure = grid(1, 1, 2, 20.0).draw(&[Row { caption: "", pictures: pictures.view() }]).unwrap();
        assert_eq!(check::numbers(&figure, "image", &["x", "y", "width", "height"]), [[12.0, 12.0, 50.0, 10.0]]);
        let picture = Pixmap::decode_png(&figure.png(1.0).unwrap()).unwrap();
        let grey = |x: u32| picture.pixel(x, 17).unwrap().red();
        for (left, value) in [(12, 0), (22, 51), (32, 255), (42, 102), (52, 153)] {
            assert_eq!((grey(left), grey(left + 9)), (value, value), "pixel from {left}");
        }
    }

    #[test]
    fn colour_planes_are_red_green_blue() {
        let pictures = array![[1.0, 0.0, 0.5]];
        let figure = grid(3, 1, 1, 30.0).draw(&[Row { caption: "", pictures: pictures.view() }]).unwrap();
        let picture = Pixmap::decode_png(&figure.png(1.0).unwrap()).unwrap();
        let p = picture.pixel(27, 27).unwrap();
        assert_eq!([p.red(), p.green(), p.blue()], [255, 0, 128]);
    }

    #[test]
    fn inverted_pictures_are_ink_on_paper_and_values_beyond_are_clipped() {
        let pictures = array![[1.5], [-2.0]];
        let mut grid = grid(1, 1, 1, 10.0);
        grid.invert = true;
        let figure = grid.draw(&[Row { caption: "", pictures: pictures.view() }]).unwrap();
        let picture = Pixmap::decode_png(&figure.png(1.0).unwrap()).unwrap();
        assert_eq!((picture.pixel(17, 17).unwrap().red(), picture.pixel(37, 17).unwrap().red()), (0, 255));
    }

    #[test]
    fn captions_are_shown_as_text() {
        let pictures = Array2::from_elem((3, 784), 0.3);
        let rows = [
            Row { caption: "<script>alert(\"1\")</script>", pictures: pictures.view() },
            Row { caption: "it's & more", pictures: pictures.view() },
        ];
        let grid = Grid { columns: vec!["a<b".into()], title: "<t>".into(), ..Grid::default() };
        let figure = grid.draw(&rows).unwrap();
        check::renders(&figure);
        assert_eq!(check::texts(&figure), ["<t>", "<script>alert(\"1\")</script>", "it's & more", "a<b"]);
    }

    #[test]
    fn wrong_input_is_an_error_that_names_it() {
        let good = array![[0.5f32, 0.5]];
        let message = |grid: &Grid, pictures: &Array2<f32>| {
            grid.draw(&[Row { caption: "original", pictures: pictures.view() }]).unwrap_err().to_string()
        };
        assert!(message(&grid(1, 1, 3, 9.0), &good).contains("2 values per picture, expected 1 x 1 x 3 = 3"));
        assert!(message(&grid(2, 1, 1, 9.0), &good).contains("1 or 3 channels"));
        assert!(message(&grid(1, 1, 2, f64::NAN), &good).contains("width NaN"));
        assert!(message(&grid(1, 1, 2, 9.0), &array![[0.0, f32::NAN]]).contains("picture 0: a value is NaN"));
        assert!(message(&grid(1, 1, 2, 9.0), &Array2::zeros((0, 2))).contains("no pictures"));
        assert!(grid(1, 1, 2, 9.0).draw(&[]).is_err());
    }
}
