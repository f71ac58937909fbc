//! Rows that are pictures: how large the page shows them, and their pixels at that size.

use dkae::data::Shape;
use ndarray::Array2;

use super::statistics::Statistics;
use crate::images;

/// Pixels along the short side that a narrow picture keeps.
const NARROW: usize = 8;
/// How much higher than wide, or wider than high, a picture is drawn at most: a strip of 4 x 200 pixels would be a line.
const SLIM: f64 = 4.0;

/// How rows are pictures.
#[derive(Clone, Copy, Debug)]
pub(super) struct Picture {
    /// In the data.
    pub shape: images::Shape,
    /// The value that is black, and the one that is white.
    low: f32,
    high: f32,
}

impl Picture {
    /// Of rows with the shape of the model's; none where they are no pictures, or not of one or three channels.
    pub fn of(shape: Shape, statistics: &Statistics) -> Option<Picture> {
        let Shape::Image { channels: channels @ (1 | 3), height, width } = shape else { return None };
        let values = statistics.low.len();
        if channels * height * width != values || values == 0 {
            return None;
        }
        let low = statistics.low.iter().copied().fold(f32::INFINITY, f32::min);
        let high = statistics.high.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        Some(Picture { shape: images::Shape { channels, height, width }, low, high })
    }

    /// The size on the page: no more pixels than a square of `side`, and of a narrow picture its width before its length.
    pub fn reduced(&self, side: usize) -> images::Shape {
        let images::Shape { channels, height, width } = self.shape;
        let (most, area) = (side * side, height * width);
        if area <= most {
            return self.shape;
        }
        let factor = (most as f64 / area as f64).sqrt();
        let shrunk = |side: usize| ((side as f64 * factor).round() as usize).max(1);
        let (short, long) = (height.min(width), height.max(width));
        let short = shrunk(short).max(short.min(NARROW));
        let long = shrunk(long).min((most / short).max(1));
        let (height, width) = if height < width { (short, long) } else { (long, short) };
        images::Shape { channels, height, width }
    }

    /// Width by height as a picture of the page's size `to` is drawn, and whether its pixels are stretched for that.
    pub fn aspect(&self, to: images::Shape) -> (f64, bool) {
        let own = self.shape.width as f64 / self.shape.height as f64;
        let drawn = own.clamp(1.0 / SLIM, SLIM);
        if drawn == own { (to.width as f64 / to.height as f64, false) } else { (drawn, true) }
    }

    /// What a reader must know about the size of pictures.
    pub fn about(&self, to: images::Shape) -> String {
        let images::Shape { height, width, .. } = self.shape;
        let mut text = String::new();
        if to != self.shape {
            text +=
                &format!(" Pictures are shown with {} x {} pixels, of their {width} x {height}.", to.width, to.height);
        }
        if self.aspect(to).1 {
            let (stretched, shape) = match width < height {
                true => ("wider", "as high as they are wide"),
                false => ("higher", "as wide as they are high"),
            };
            text += &format!(
                " Pictures of {width} x {height} pixels would be strips: they are drawn {stretched}, {SLIM} times {shape}."
            );
        }
        text
    }

    /// Pictures of the page's size `to`, from 0 (black) to 1: means over blocks of pixels.
    pub fn shrunk(&self, raw: &Array2<f32>, to: images::Shape) -> Array2<f32> {
        let span = (self.high - self.low).max(f32::MIN_POSITIVE);
        let shown = raw.mapv(|v| ((v - self.low) / span).clamp(0.0, 1.0));
        resized(&shown, self.shape, to)
    }

    /// The same for a figure, whose pixels are as wide as they are high: with pixels repeated where they are stretched.
    pub fn for_figure(&self, shrunk: Array2<f32>, to: images::Shape) -> (images::Shape, Array2<f32>) {
        let (aspect, stretched) = self.aspect(to);
        if !stretched {
            return (to, shrunk);
        }
        let (height, width) = match aspect < 1.0 {
            true => (to.height, ((to.height as f64 * aspect).round() as usize).max(to.width)),
            false => (((to.width as f64 / aspect).round() as usize).max(to.height), to.width),
        };
        let drawn = images::Shape { height, width, ..to };
        (drawn, resized(&shrunk, to, drawn))
    }
}

/// Pictures of another size: where it is smaller means over blocks of pixels, where it is larger the pixels again.
fn resized(pictures: &Array2<f32>, from: images::Shape, to: images::Shape) -> Array2<f32> {
    if from == to {
        return pictures.clone();
    }
    let block = |i: usize, from: usize, to: usize| i * from / to..((i + 1) * from / to).max(i * from / to + 1);
    let plane = from.height * from.width;
    Array2::from_shape_fn((pictures.nrows(), to.channels * to.height * to.width), |(row, at)| {
        let (channel, y, x) = (at / (to.height * to.width), at / to.width % to.height, at % to.width);
        let (ys, xs) = (block(y, from.height, to.height), block(x, from.width, to.width));
        let count = (ys.len() * xs.len()) as f32;
        let of_line = |y: usize| xs.clone().map(|x| pictures[[row, channel * plane + y * from.width + x]]).sum::<f32>();
        ys.map(of_line).sum::<f32>() / count
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(height: usize, width: usize) -> Picture {
        Picture { shape: images::Shape { channels: 1, height, width }, low: 0.0, high: 1.0 }
    }

    #[test]
    fn narrow_pictures_keep_their_width_and_no_picture_has_more_pixels_than_the_square() {
        let reduced = |height, width, side| {
            let images::Shape { height, width, .. } = picture(height, width).reduced(side);
            (height, width)
        };
        // Height by width.
        assert_eq!(reduced(28, 28, 32), (28, 28));
        assert_eq!((reduced(64, 64, 32), reduced(28, 28, 24)), ((32, 32), (24, 24)));
        assert_eq!((reduced(200, 4, 32), reduced(4, 200, 32)), ((200, 4), (4, 200)));
        assert_eq!((reduced(2000, 4, 32), reduced(1, 5000, 32)), ((256, 4), (1, 1024)));
        assert_eq!(reduced(200, 4, 16), (64, 4));
        for (height, width) in [(1, 1), (3, 7), (33, 31), (480, 640), (9, 9000), (10_000, 1)] {
            for side in [32, 28, 24, 16] {
                let (h, w) = reduced(height, width, side);
                assert!(h * w <= side * side && h >= 1 && w >= 1 && h <= height && w <= width, "{h} x {w}");
            }
        }
    }

    #[test]
    fn strips_are_drawn_four_to_one_and_the_reader_is_told() {
        let tall = picture(200, 4);
        assert_eq!(tall.aspect(tall.reduced(32)), (0.25, true));
        let told = tall.about(tall.reduced(32));
        assert_eq!(
            told,
            " Pictures of 4 x 200 pixels would be strips: they are drawn wider, 4 times as high as they are wide."
        );
        let wide = picture(4, 2000);
        assert_eq!(wide.aspect(wide.reduced(32)), (4.0, true));
        assert!(wide.about(wide.reduced(32)).contains("drawn higher, 4 times as wide as they are high"));
        let usual = picture(30, 20);
        assert_eq!(
            (usual.aspect(usual.reduced(32)), usual.about(usual.reduced(32))),
            ((20.0 / 30.0, false), "".into())
        );
    }

    #[test]
    fn a_strip_in_a_figure_has_every_pixel_in_its_place() {
        let tall = picture(40, 2);
        let values = Array2::from_shape_fn((1, 80), |(_, at)| at as f32 / 80.0);
        let (shape, drawn) = tall.for_figure(values.clone(), tall.reduced(32));
        assert_eq!((shape.height, shape.width), (40, 10));
        for y in 0..40 {
            for x in 0..10 {
                assert_eq!(drawn[[0, y * 10 + x]], values[[0, y * 2 + x / 5]], "({x}, {y})");
            }
        }
    }
}
