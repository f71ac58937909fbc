//! Kernel matrices as pictures, side by side on one scale.
//!
//! The caller sorts rows by class; a good kernel is then dark blocks along the diagonal. Matrices larger than the picture
//! are averaged over blocks of entries, not sampled, so that a thin structure fades instead of flickering.
//!
//! The scale runs between two quantiles of all entries shown: the diagonal of many kernels is so much larger than the
//! rest that a scale up to the maximum would show nothing else. The colour bar has a pointed end where it clips.

use crate::images::encode;
use crate::svg::{Anchor, Canvas, Style, n};
use crate::{Error, Figure, Result, text, theme, ticks};
use ndarray::{Array2, ArrayView2};

/// A run of rows of one class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The class's name.
    pub name: String,
    /// How many rows it has.
    pub rows: usize,
}

/// The runs of equal labels in rows sorted by class. `names[label]` names a class; a label without a name is shown as
/// its number.
pub fn groups(sorted_labels: &[usize], names: &[impl AsRef<str>]) -> Result<Vec<Group>> {
    if let Some(i) = (1..sorted_labels.len()).find(|&i| sorted_labels[i - 1] > sorted_labels[i]) {
        return Err(Error::Data(format!(
            "labels of a kernel's rows must be sorted: row {i} has class {} after class {}",
            sorted_labels[i],
            sorted_labels[i - 1]
        )));
    }
    let name = |label: usize| names.get(label).map_or_else(|| label.to_string(), |n| n.as_ref().to_owned());
    let runs = sorted_labels.chunk_by(|a, b| a == b);
    Ok(runs.map(|run| Group { name: name(run[0]), rows: run.len() }).collect())
}

/// A matrix and its title.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    /// What stands above it.
    pub title: &'a str,
    /// The kernel, square, rows sorted by class.
    pub values: ArrayView2<'a, f32>,
}

/// How kernel matrices are drawn.
#[derive(Clone, Debug)]
pub struct Kernels {
    /// The side of one matrix in pixels. Default 240.
    pub side: f64,
    /// The share of entries clipped at each end of the scale, 0 to 0.5. Default 0.005; 0 shows the whole range.
    pub clip: f64,
    /// The ends of the scale; the quantiles by default.
    pub range: Option<(f64, f64)>,
    /// Whether each matrix is divided by its root mean square first, which puts kernels of different scale on one, as the
    /// code loss does. Default false.
    pub normalise: bool,
    /// What the colour bar measures, written above it; nothing by default.
    pub unit: String,
    /// The most pixels along a side of the embedded picture; larger matrices are averaged. Default 360.
    pub pixels: usize,
}

impl Default for Kernels {
    fn default() -> Self {
        Kernels { side: 240.0, clip: 0.005, range: None, normalise: false, unit: String::new(), pixels: 360 }
    }
}

/// The width of the colour bar.
const BAR: f64 = 10.0;
/// The most room for class names on the left.
const NAMES: f64 = 150.0;

impl Kernels {
    /// Draws the matrices from left to right. `groups` are the classes of the rows, the same for every matrix (see
    /// [`groups`]); empty when there are none.
    pub fn draw(&self, matrices: &[Matrix], groups: &[Group]) -> Result<Figure> {
        self.check(matrices, groups)?;
        let shrunk: Vec<Array2<f64>> = matrices.iter().map(|m| self.shrink(m.values)).collect();
        let (lo, hi, clipped) = self.scale(&shrunk);

        let rows: usize = groups.iter().map(|g| g.rows).sum();
        let spans: Vec<(f64, f64)> = groups
            .iter()
            .scan(0, |done, g| {
                let from = *done;
                *done += g.rows;
                Some((from as f64 / rows as f64 * self.side, *done as f64 / rows as f64 * self.side))
            })
            .collect();
        // Names stand left of the first matrix and, where all of them fit, below every matrix.
        let name_width = groups.iter().map(|g| text::width(&g.name, theme::TICK, false)).fold(0.0, f64::max).min(NAMES);
        let below = groups.iter().zip(&spans).all(|(g, (a, b))| text::width(&g.name, theme::TICK, false) + 2.0 < b - a);

        let left = theme::MARGIN + if groups.is_empty() { 0.0 } else { name_width + 6.0 };
        let titles = matrices.iter().any(|m| !m.title.is_empty());
        let top = theme::MARGIN + if titles { theme::LABEL + 8.0 } else { 0.0 };
        let step = self.side + 18.0;
        let mut canvas = Canvas::default();
        for (i, (matrix, values)) in matrices.iter().zip(&shrunk).enumerate() {
            let x = left + i as f64 * step;
            let style = Style { size: theme::LABEL, bold: true, fill: theme::INK, ..Style::default() };
            canvas.text((x, top - 8.0), &text::fit(matrix.title, theme::LABEL, true, step - 6.0), style);
            // Few entries are sharp squares. Many are finer than the screen's pixels, and sharp ones would show as stripes.
            let sharp = 3.0 * values.nrows() as f64 <= self.side;
            canvas.image([x, top, self.side, self.side], &colours(values, lo, hi)?, sharp);
            for &(_, end) in spans.iter().take(spans.len().saturating_sub(1)) {
                canvas.line([x, top + end, x + self.side, top + end], theme::AXIS, 0.5);
                canvas.line([x + end, top, x + end, top + self.side], theme::AXIS, 0.5);
            }
            canvas.rect([x, top, self.side, self.side], "none", Some((theme::AXIS, 0.75)));
            if below {
                for (group, (a, b)) in groups.iter().zip(&spans) {
                    let style = Style { anchor: Anchor::Middle, ..Style::default() };
                    canvas.text((x + (a + b) / 2.0, top + self.side + theme::TICK + 3.0), &group.name, style);
                }
            }
        }
        let names: Vec<String> = groups.iter().map(|group| group.name.clone()).collect();
        let names = text::fit_apart(&names, theme::TICK, false, NAMES);
        let mut last = f64::NEG_INFINITY;
        for (name, (a, b)) in names.iter().zip(&spans) {
            let y = top + (a + b) / 2.0 + theme::TICK * 0.36;
            // A class of a few rows among thousands has no room for its name.
            if y - last >= theme::TICK - 1.0 {
                let style = Style { anchor: Anchor::End, ..Style::default() };
                canvas.text((left - 6.0, y), name, style);
                last = y;
            }
        }
        let bar_x = left + matrices.len() as f64 * step - 2.0;
        let bar_end = self.bar(&mut canvas, bar_x, top, (lo, hi), clipped)?;
        let height =
            top + self.side + if below && !groups.is_empty() { theme::TICK + 6.0 } else { 0.0 } + theme::MARGIN;
        let shown: Vec<&str> = matrices.iter().map(|m| m.title).collect();
        let description = format!("Kernel matrices, rows sorted by class: {}", shown.join(", "));
        Ok(Figure::new(bar_end + theme::MARGIN, height, &description, canvas.into_body()))
    }

    fn check(&self, matrices: &[Matrix], groups: &[Group]) -> Result<()> {
        let Some(first) = matrices.first() else {
            return Err(Error::Data("no kernel matrix to draw".to_owned()));
        };
        let size = first.values.nrows();
        for Matrix { title, values } in matrices {
            if values.dim() != (size, size) || size == 0 {
                let (r, c) = values.dim();
                return Err(Error::Data(format!(
                    "kernel matrix “{title}” is {r} x {c}, expected {size} x {size} and not empty"
                )));
            }
            if let Some(((i, j), value)) = values.indexed_iter().find(|(_, v)| !v.is_finite()) {
                return Err(Error::Data(format!(
                    "kernel matrix “{title}”: the entry at row {i}, column {j} is {value}"
                )));
            }
        }
        let rows: usize = groups.iter().map(|g| g.rows).sum();
        if !groups.is_empty() && rows != size {
            return Err(Error::Data(format!("the groups have {rows} rows in all, the kernel matrices {size}")));
        }
        if !(self.side.is_finite() && self.side >= 10.0 && self.pixels >= 1 && (0.0..0.5).contains(&self.clip)) {
            return Err(Error::Data(format!(
                "side {}, pixels {}, clip {}: expected a side of 10 or more, pixels of 1 or more, clip in [0, 0.5)",
                self.side, self.pixels, self.clip
            )));
        }
        match self.range {
            Some((lo, hi)) if !(lo.is_finite() && hi.is_finite() && lo < hi) => {
                Err(Error::Data(format!("the kernel scale runs from {lo} to {hi}; expected finite, rising ends")))
            }
            _ => Ok(()),
        }
    }

    /// Means over blocks, so that no side is longer than `pixels`.
    fn shrink(&self, values: ArrayView2<f32>) -> Array2<f64> {
        let n = values.nrows();
        // Blocks of one size (but for the last few): blocks of one and of two entries in turn would show as stripes.
        let m = n.div_ceil(n.div_ceil(self.pixels));
        let mean_square = values.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>() / (n * n) as f64;
        let unit = if self.normalise && mean_square > 0.0 { mean_square.sqrt() } else { 1.0 };
        // Blocks differ by at most one row; every entry is in one block.
        let block = |i: usize| i * n / m..(i + 1) * n / m;
        Array2::from_shape_fn((m, m), |(i, j)| {
            let part = values.slice(ndarray::s![block(i), block(j)]);
            part.iter().map(|&v| f64::from(v)).sum::<f64>() / part.len() as f64 / unit
        })
    }

    /// The ends of the scale and whether entries lie beyond each.
    fn scale(&self, shrunk: &[Array2<f64>]) -> (f64, f64, (bool, bool)) {
        let mut all: Vec<f64> = shrunk.iter().flatten().copied().collect();
        all.sort_by(f64::total_cmp);
        let last = all.len() - 1;
        let cut = (self.clip * last as f64) as usize;
        let (mut lo, mut hi) = self.range.unwrap_or((all[cut], all[last - cut]));
        // A kernel that is nearly never negative starts its scale at zero: the reader's reference.
        if self.range.is_none() && lo > 0.0 && lo < 0.25 * hi {
            lo = 0.0;
        }
        if lo >= hi {
            // A constant matrix: any range around it will do.
            (lo, hi) = (lo - 0.5 * lo.abs().max(1e-12), hi + 0.5 * hi.abs().max(1e-12));
        }
        (lo, hi, (all[0] < lo, all[last] > hi))
    }

    /// The colour bar; returns where it ends on the right.
    fn bar(&self, canvas: &mut Canvas, x: f64, top: f64, (lo, hi): (f64, f64), clipped: (bool, bool)) -> Result<f64> {
        let height = (self.side * 0.6).max(60.0).min(self.side);
        let y = top + self.side - height;
        let column = Array2::from_shape_fn((128, 1), |(i, _)| 1.0 - i as f64 / 127.0);
        canvas.image([x, y, BAR, height], &colours(&column, 0.0, 1.0)?, false);
        canvas.rect([x, y, BAR, height], "none", Some((theme::AXIS, 0.75)));
        let marks = ticks::linear(lo, hi, (height / 36.0) as usize);
        let mut end = x + BAR;
        for (value, label) in marks.iter().zip(ticks::labels(&marks, false)) {
            let at = y + height * (hi - value) / (hi - lo);
            canvas.line([x + BAR, at, x + BAR + 3.0, at], theme::AXIS, 0.75);
            canvas.text((x + BAR + 6.0, at + theme::TICK * 0.36), &label, Style::default());
            end = end.max(x + BAR + 6.0 + text::width(&label, theme::TICK, false));
        }
        // What lies beyond the ends has the ends' colours; pointed ends say so.
        let [low, .., high] = theme::sequential().map(|[r, g, b]| format!("#{r:02x}{g:02x}{b:02x}"));
        let mut point = |y: f64, tip: f64, fill: &str| {
            let d = format!("M{} {}L{} {}L{} {}z", n(x), n(y), n(x + BAR / 2.0), n(tip), n(x + BAR), n(y));
            canvas
                .raw(&format!("<path d=\"{d}\" fill=\"{fill}\" stroke=\"{}\" stroke-width=\"0.75\"/>\n", theme::AXIS));
        };
        if clipped.1 {
            point(y, y - 8.0, &high);
        }
        if clipped.0 {
            point(y + height, y + height + 8.0, &low);
        }
        // Above the pointed end, if there is one.
        canvas.text((x, y - 14.0), &self.unit, Style::default());
        Ok(end.max(x + text::width(&self.unit, theme::TICK, false)))
    }
}

/// A matrix as a PNG with the scale's 256 colours as its palette.
fn colours(values: &Array2<f64>, lo: f64, hi: f64) -> Result<Vec<u8>> {
    let pixels: Vec<u8> =
        values.iter().map(|v| ((v - lo) / (hi - lo) * 255.0).round().clamp(0.0, 255.0) as u8).collect();
    let palette = theme::sequential().iter().flatten().copied().collect();
    encode(values.ncols(), values.nrows(), png::ColorType::Indexed, Some(palette), &pixels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::check;
    use ndarray::array;
    use resvg::tiny_skia::Pixmap;

    #[test]
    fn entries_have_the_colour_of_their_value_in_their_place() {
        let k = array![[1.0, 0.0], [0.5, 1.0]];
        let kernels = Kernels { side: 40.0, clip: 0.0, ..Kernels::default() };
        let figure = kernels.draw(&[Matrix { title: "", values: k.view() }], &[]).unwrap();
        let places = check::numbers(&figure, "image", &["x", "y", "width", "height"]);
        assert_eq!(places[0], [12.0, 12.0, 40.0, 40.0]);
        let picture = Pixmap::decode_png(&figure.png(1.0).unwrap()).unwrap();
        for (x, y, step) in [(22, 22, 255), (42, 22, 0), (22, 42, 128), (42, 42, 255)] {
            let p = picture.pixel(x, y).unwrap();
            assert_eq!([p.red(), p.green(), p.blue()], theme::sequential()[step], "at {x}, {y}");
        }
    }

    #[test]
    fn large_matrices_are_averaged_over_blocks_that_cover_them() {
        let k = Array2::from_shape_fn((5, 5), |(i, j)| (i * 5 + j) as f32);
        let small = Kernels { pixels: 2, ..Kernels::default() }.shrink(k.view());
        // Rows 0-1 and 2-4: the mean of each block by hand.
        assert_eq!(small, array![[3.0, 5.5], [15.5, 18.0]]);
        let halved = Kernels { pixels: 1, normalise: true, ..Kernels::default() }.shrink(k.view());
        assert!((halved[[0, 0]] - 12.0 / (196.0f64).sqrt()).abs() < 1e-12, "{halved}");
    }

    #[test]
    fn groups_follow_the_labels() {
        let found = groups(&[0, 0, 2], &["cat", "dog"]).unwrap();
        assert_eq!(found, [Group { name: "cat".into(), rows: 2 }, Group { name: "2".into(), rows: 1 }]);
        assert!(groups(&[1, 0], &["a"]).unwrap_err().to_string().contains("row 1"));
    }

    #[test]
    fn class_edges_and_names_stand_at_the_classes() {
        let k = Array2::<f32>::eye(4);
        let groups = groups(&[0, 1, 1, 1], &["<a>", "b"]).unwrap();
        let kernels = Kernels { side: 100.0, ..Kernels::default() };
        let figure = kernels.draw(&[Matrix { title: "P & \"C\"", values: k.view() }], &groups).unwrap();
        check::renders(&figure);
        let texts = check::texts(&figure);
        assert!(["P & \"C\"", "<a>", "b"].iter().all(|t| texts.contains(&t.to_string())), "{texts:?}");
        let image = &check::numbers(&figure, "image", &["x", "y"])[0];
        let edges = check::numbers(&figure, "line", &["x1", "y1", "x2", "y2"]);
        assert!(edges.contains(&vec![image[0], image[1] + 25.0, image[0] + 100.0, image[1] + 25.0]), "{edges:?}");
        assert!(edges.contains(&vec![image[0] + 25.0, image[1], image[0] + 25.0, image[1] + 100.0]));
    }

    #[test]
    fn the_scale_is_shared_and_clips_the_diagonal() {
        let weak = Array2::from_shape_fn((40, 40), |(i, j)| if i == j { 100.0 } else { 0.5f32 });
        let kernels = Kernels { clip: 0.03, ..Kernels::default() };
        let (lo, hi, clipped) = kernels.scale(&[kernels.shrink(weak.view())]);
        assert!(lo < hi && hi < 1.0 && clipped == (false, true), "{lo} {hi} {clipped:?}");
        let (lo, hi, _) = kernels.scale(&[array![[0.0, 1.0]], array![[2.0, 3.0]]]);
        assert_eq!((lo, hi), (0.0, 3.0));
    }

    #[test]
    fn wrong_input_is_an_error_and_constant_matrices_are_not() {
        let draw =
            |k: &Array2<f32>, g: &[Group]| Kernels::default().draw(&[Matrix { title: "K", values: k.view() }], g);
        assert!(draw(&Array2::zeros((2, 3)), &[]).unwrap_err().to_string().contains("2 x 3"));
        assert!(draw(&Array2::zeros((0, 0)), &[]).is_err());
        assert!(draw(&array![[1.0, f32::NAN], [0.0, 1.0]], &[]).unwrap_err().to_string().contains("row 0, column 1"));
        assert!(draw(&Array2::eye(3), &[Group { name: "a".into(), rows: 2 }]).is_err());
        assert!(Kernels::default().draw(&[], &[]).is_err());
        for value in [0.0, 1.0, -3.0] {
            check::renders(&draw(&Array2::from_elem((3, 3), value), &[]).unwrap());
        }
    }
}
