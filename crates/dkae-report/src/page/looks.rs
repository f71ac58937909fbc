//! What a row looks like on the page: a picture when the data are pictures, its largest features otherwise.
//!
//! Rows come in as the network sees them and are shown in the units of the data. Everything that is shown (rows,
//! reconstructions, decoded points) is on a [`Sheet`]: pictures as one PNG, other rows as a few features each.
//!
//! The largest features of a row are those farthest from their mean, in standard deviations of the training rows:
//! columns in different units can then be compared, and a word of a text counts by how unusual it is there.

use dkae::data::Shape;
use dkae::data::prepare::Preparation;
use dkae::net::Model;
use ndarray::{Array1, Array2, ArrayView2, Axis};
use serde::Serialize;

use super::pack::{Packed, level, range};
use super::{clipped, decode, encode};
use crate::images::{self, encode as encode_png};
use crate::{Error, Result};

/// Features shown of one row.
pub(super) const LISTED: usize = 8;
/// Features shown of a decoded point.
const DECODED: usize = 12;
/// Grey levels of a picture: enough for the eye at this size, and half the bytes of 256.
const LEVELS: f32 = 31.0;
/// Sides of pictures that are tried, largest first, until all rows fit.
const SIDES: [usize; 4] = [32, 28, 24, 16];
/// Rows worked on at a time: rows of text are wide once they are back in the units of the data.
const BLOCK: usize = 256;

/// Many rows or decoded points, by place.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Sheet {
    /// Pictures side by side, `columns` in a line.
    Pictures { png: Packed, columns: usize, count: usize },
    /// `width` features of each: which (for each by itself, or once for all), and their values in 16 bits between the
    /// ends of the feature's range.
    Features { features: Packed, values: Packed, width: usize, count: usize },
}

/// How sheets are to be read.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Legend {
    Pictures {
        channels: usize,
        height: usize,
        width: usize,
    },
    /// The features that occur on sheets: names, ends of their ranges, means of the training rows.
    Features {
        names: Vec<String>,
        low: Vec<f64>,
        high: Vec<f64>,
        mean: Vec<f64>,
        /// How many features rows have in all.
        of: usize,
    },
}

/// Which features are shown.
pub(super) enum Choice {
    /// Pictures have no choice.
    All,
    /// Those of each row.
    Each(Array2<u32>),
    /// The same of every row.
    Same(Vec<u32>),
}

impl Choice {
    /// The same features for `times` copies of the rows, one after another.
    pub fn repeated(&self, times: usize) -> Choice {
        match self {
            Choice::All => Choice::All,
            Choice::Same(same) => Choice::Same(same.clone()),
            Choice::Each(each) => {
                let n = each.nrows();
                Choice::Each(Array2::from_shape_fn((n * times, each.ncols()), |(i, j)| each[[i % n, j]]))
            }
        }
    }

    /// The features of some of the rows.
    pub fn select(&self, rows: &[usize]) -> Choice {
        match self {
            Choice::All => Choice::All,
            Choice::Same(same) => Choice::Same(same.clone()),
            Choice::Each(each) => Choice::Each(each.select(Axis(0), rows)),
        }
    }
}

/// A sheet of features before the ranges of all sheets are known.
struct Draft {
    features: Vec<u32>,
    values: Vec<f32>,
    width: usize,
    count: usize,
}

pub(super) struct Looks<'a> {
    preparation: &'a Preparation,
    names: Option<&'a [String]>,
    /// The mean of each feature and its deviation, in the units of the data.
    mean: Array1<f64>,
    deviation: Array1<f64>,
    /// How rows are pictures, and the value that is black and the one that is white.
    picture: Option<(images::Shape, f32, f32)>,
    /// The most pixels along a side.
    side: usize,
    sheets: Vec<Sheet>,
    drafts: Vec<Draft>,
}

impl<'a> Looks<'a> {
    /// Looks of the rows of a model; `train` are training rows as the network sees them.
    pub fn new(model: &'a Model, train: ArrayView2<f32>) -> Result<Self> {
        let preparation = model.preparation();
        let width = if preparation.is_none() { train.ncols() } else { model.input_width() };
        let (mut sum, mut squares) = (Array1::<f64>::zeros(width), Array1::<f64>::zeros(width));
        let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
        // Squares are summed around the first row, or large means would drown small deviations.
        let mut origin: Option<Array1<f32>> = None;
        for block in train.axis_chunks_iter(Axis(0), BLOCK) {
            let raw = preparation.apply_inverse(block)?;
            let origin = origin.get_or_insert_with(|| raw.row(0).to_owned());
            for row in raw.rows() {
                for (j, (&v, &o)) in row.iter().zip(&*origin).enumerate() {
                    let v64 = f64::from(v) - f64::from(o);
                    sum[j] += v64;
                    squares[j] += v64 * v64;
                    (low, high) = (low.min(v), high.max(v));
                }
            }
        }
        let n = train.nrows().max(1) as f64;
        let origin = origin.ok_or_else(|| Error::Data("a report needs training rows, found none".to_owned()))?;
        let shift = sum / n;
        let deviation = (squares / n - &shift * &shift).mapv(|v| v.max(0.0).sqrt());
        let picture = match model.about().shape {
            Shape::Image { channels: channels @ (1 | 3), height, width: across }
                if channels * height * across == width && width > 0 =>
            {
                Some((images::Shape { channels, height, width: across }, low, high))
            }
            _ => None,
        };
        Ok(Looks {
            preparation,
            names: model.about().names.as_deref().filter(|names| names.len() == width),
            mean: shift + origin.mapv(f64::from),
            deviation,
            picture,
            side: SIDES[0],
            sheets: Vec::new(),
            drafts: Vec::new(),
        })
    }

    /// Chooses the size of pictures, and how many of the rows can be shown, so that rows and reconstructions take at most
    /// `budget` bytes of the page.
    pub fn fit(&mut self, model: &Model, x: ArrayView2<f32>, budget: usize, points: usize) -> Result<usize> {
        if self.picture.is_none() || x.nrows() == 0 {
            return Ok(points);
        }
        let tried = x.slice(ndarray::s![..x.nrows().min(BLOCK), ..]);
        let back = decode(model, encode(model, tried)?.view())?;
        let mut each = 1.0;
        for side in SIDES {
            self.side = side;
            let bytes = self.png(tried)?.len() + self.png(back.view())?.len();
            each = bytes as f64 / tried.nrows() as f64;
            if each * x.nrows() as f64 <= budget as f64 {
                return Ok(points);
            }
        }
        Ok(((budget as f64 / each) as usize).max(1))
    }

    /// The size of pictures on the page.
    pub fn shape(&self) -> Option<images::Shape> {
        let (images::Shape { channels, height, width }, ..) = self.picture?;
        let larger = height.max(width);
        let short = |side: usize| if larger <= self.side { side } else { (side * self.side).div_ceil(larger) };
        Some(images::Shape { channels, height: short(height), width: short(width) })
    }

    /// Rows as pictures of the page's size, from 0 (black) to 1.
    pub fn pictures(&self, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        let (Some((from, low, high)), Some(to)) = (self.picture, self.shape()) else {
            return Err(Error::Data("the rows are not pictures".to_owned()));
        };
        let raw = self.preparation.apply_inverse(x)?;
        let span = (high - low).max(f32::MIN_POSITIVE);
        let shown = raw.mapv(|v| ((v - low) / span).clamp(0.0, 1.0));
        if from == to {
            return Ok(shown);
        }
        // Means over blocks of pixels.
        let block = |i: usize, from: usize, to: usize| i * from / to..((i + 1) * from / to).max(i * from / to + 1);
        let plane = from.height * from.width;
        Ok(Array2::from_shape_fn((x.nrows(), to.channels * to.height * to.width), |(row, at)| {
            let (channel, y, x) = (at / (to.height * to.width), at / to.width % to.height, at % to.width);
            let (ys, xs) = (block(y, from.height, to.height), block(x, from.width, to.width));
            let count = (ys.len() * xs.len()) as f32;
            let of_line =
                |y: usize| xs.clone().map(|x| shown[[row, channel * plane + y * from.width + x]]).sum::<f32>();
            ys.map(of_line).sum::<f32>() / count
        }))
    }

    fn png(&self, x: ArrayView2<f32>) -> Result<Packed> {
        let Some(shape) = self.shape() else { return Err(Error::Data("the rows are not pictures".to_owned())) };
        let images::Shape { channels, height, width } = shape;
        let (columns, lines) = (columns(x.nrows()), x.nrows().div_ceil(columns(x.nrows())));
        let across = columns * width;
        let mut pixels = vec![0u8; across * lines * height * channels];
        let mut first = 0;
        for block in x.axis_chunks_iter(Axis(0), BLOCK) {
            for (i, picture) in self.pictures(block)?.rows().into_iter().enumerate() {
                let (line, column) = ((first + i) / columns, (first + i) % columns);
                for (at, &value) in picture.iter().enumerate() {
                    let (channel, y, x) = (at / (height * width), at / width % height, at % width);
                    let place = (line * height + y) * across + column * width + x;
                    pixels[place * channels + channel] = ((value * LEVELS).round() * (255.0 / LEVELS)).round() as u8;
                }
            }
            first += block.nrows();
        }
        let colour = if channels == 1 { png::ColorType::Grayscale } else { png::ColorType::Rgb };
        Ok(Packed::bytes(&encode_png(across, lines * height, colour, None, &pixels)?))
    }

    /// How many deviations a value is from the mean of its feature.
    fn unusual(&self, feature: usize, value: f32) -> f64 {
        let deviation = self.deviation[feature];
        if deviation > 0.0 { ((f64::from(value) - self.mean[feature]) / deviation).abs() } else { 0.0 }
    }

    /// The largest features of each row, the most unusual first.
    pub fn largest(&self, x: ArrayView2<f32>) -> Result<Choice> {
        if self.picture.is_some() {
            return Ok(Choice::All);
        }
        let width = self.mean.len().min(LISTED);
        let mut chosen = Vec::with_capacity(x.nrows() * width);
        for block in x.axis_chunks_iter(Axis(0), BLOCK) {
            for row in self.preparation.apply_inverse(block)?.rows() {
                chosen.extend(largest(row.len(), width, |j| self.unusual(j, row[j])));
            }
        }
        let chosen = Array2::from_shape_vec((x.nrows(), width), chosen).map_err(|e| Error::Data(e.to_string()))?;
        Ok(Choice::Each(chosen))
    }

    /// The features that vary most among decoded points.
    pub fn varying(&self, x: ArrayView2<f32>) -> Result<Choice> {
        if self.picture.is_some() {
            return Ok(Choice::All);
        }
        let d = self.mean.len();
        let mut ends = vec![(f64::INFINITY, f64::NEG_INFINITY); d];
        for block in x.axis_chunks_iter(Axis(0), BLOCK) {
            for row in self.preparation.apply_inverse(block)?.rows() {
                ends.iter_mut().zip(row).for_each(|(e, &v)| *e = (e.0.min(v.into()), e.1.max(v.into())));
            }
        }
        let spread = |j: usize| if self.deviation[j] > 0.0 { (ends[j].1 - ends[j].0) / self.deviation[j] } else { 0.0 };
        Ok(Choice::Same(largest(d, d.min(DECODED), spread)))
    }

    /// The values of the chosen features, row by row.
    pub fn values(&self, x: ArrayView2<f32>, choice: &Choice) -> Result<Array2<f32>> {
        let width = match choice {
            Choice::All => 0,
            Choice::Each(each) => each.ncols(),
            Choice::Same(same) => same.len(),
        };
        let mut values = Vec::with_capacity(x.nrows() * width);
        for block in x.axis_chunks_iter(Axis(0), BLOCK) {
            for row in self.preparation.apply_inverse(block)?.rows() {
                let place = values.len() / width.max(1);
                let value = |&j: &u32| row[j as usize];
                match choice {
                    Choice::All => {}
                    Choice::Each(each) => values.extend(each.row(place).iter().map(value)),
                    Choice::Same(same) => values.extend(same.iter().map(value)),
                }
            }
        }
        Array2::from_shape_vec((x.nrows(), width), values).map_err(|e| Error::Data(e.to_string()))
    }

    /// Puts rows on a new sheet; its place among the sheets.
    pub fn add(&mut self, x: ArrayView2<f32>, choice: &Choice) -> Result<usize> {
        if self.picture.is_some() {
            self.sheets.push(Sheet::Pictures { png: self.png(x)?, columns: columns(x.nrows()), count: x.nrows() });
            return Ok(self.sheets.len() - 1);
        }
        let values = self.values(x, choice)?;
        let features = match choice {
            Choice::All => Vec::new(),
            Choice::Each(each) => each.iter().copied().collect(),
            Choice::Same(same) => same.clone(),
        };
        let (count, width) = values.dim();
        self.drafts.push(Draft { features, values: values.into_iter().collect(), width, count });
        Ok(self.drafts.len() - 1)
    }

    /// The name of a feature.
    pub fn name(&self, feature: u32) -> String {
        let named = self.names.and_then(|names| names.get(feature as usize));
        named.map_or_else(|| format!("feature {}", feature + 1), |name| clipped(name))
    }

    /// All sheets, and how to read them.
    pub fn finish(self) -> (Legend, Vec<Sheet>) {
        if let Some(images::Shape { channels, height, width }) = self.shape() {
            return (Legend::Pictures { channels, height, width }, self.sheets);
        }
        // Only the features that occur are carried, in their order.
        let mut used: Vec<u32> = self.drafts.iter().flat_map(|d| d.features.iter().copied()).collect();
        used.sort_unstable();
        used.dedup();
        let place = |feature: u32| used.partition_point(|&u| u < feature);
        let mut ends: Vec<Vec<f64>> = vec![Vec::new(); used.len()];
        let feature =
            |d: &Draft, i: usize| if d.features.len() == d.width { d.features[i % d.width] } else { d.features[i] };
        for draft in &self.drafts {
            for (i, &value) in draft.values.iter().enumerate() {
                ends[place(feature(draft, i))].push(value.into());
            }
        }
        let ends: Vec<(f64, f64)> = ends.into_iter().map(|values| range(values.into_iter())).collect();
        let sheets = self.drafts.iter().map(|draft| {
            let values = draft.values.iter().enumerate().map(|(i, &value)| {
                let (low, high) = ends[place(feature(draft, i))];
                level(value.into(), low, high)
            });
            Sheet::Features {
                // 65 536 features would take 8000 rows that have not one in common.
                features: Packed::u16s(draft.features.iter().map(|&f| place(f) as u16)),
                values: Packed::u16s(values),
                width: draft.width,
                count: draft.count,
            }
        });
        let sheets = sheets.collect();
        let legend = Legend::Features {
            names: used.iter().map(|&f| self.name(f)).collect(),
            low: ends.iter().map(|e| e.0).collect(),
            high: ends.iter().map(|e| e.1).collect(),
            mean: used.iter().map(|&f| self.mean[f as usize]).collect(),
            of: self.mean.len(),
        };
        (legend, sheets)
    }
}

/// A sheet about as wide as it is high.
fn columns(count: usize) -> usize {
    ((count as f64).sqrt().ceil() as usize).max(1)
}

/// The `count` places of the largest scores, largest first; of equals the first.
fn largest(of: usize, count: usize, score: impl Fn(usize) -> f64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..of as u32).collect();
    let scores: Vec<f64> = (0..of).map(score).collect();
    let by_score = |a: &u32, b: &u32| scores[*b as usize].total_cmp(&scores[*a as usize]).then(a.cmp(b));
    if count < of {
        order.select_nth_unstable_by(count, by_score);
        order.truncate(count);
    }
    order.sort_by(by_score);
    order
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use dkae::data::scale::Scale;
    use dkae::net::{About, Activation, Architecture, Autoencoder};
    use ndarray::array;

    /// A linear model with codes of two numbers.
    pub fn model(shape: Shape, train: ArrayView2<f32>) -> Model {
        let architecture = Architecture {
            input: train.ncols(),
            layers: vec![2],
            hidden: Activation::Linear,
            code: Activation::Linear,
            output: Activation::Linear,
            tied: true,
        };
        let about = About {
            settings: serde_json::Value::Null,
            kernel: String::new(),
            shape,
            names: None,
            rows: train.nrows(),
            figures: Default::default(),
            history: Vec::new(),
        };
        let scaler = Scale::Standard.fit(train, shape).unwrap();
        let model = Model::new(Autoencoder::new(architecture, 1).unwrap(), about);
        model.with_preparation(Preparation { text: None, scaler })
    }

    #[test]
    fn the_largest_features_are_those_farthest_from_their_mean_in_their_own_units() {
        // Column 0 is large but ordinary in the last row; column 2 is small but unusual.
        let x = array![[1000.0f32, 1.0, 0.01], [1100.0, 2.0, 0.01], [900.0, 3.0, 0.01], [1000.0, 2.5, 0.09]];
        let model = model(Shape::Vector, x.view());
        let prepared = model.preparation().apply(x.view()).unwrap();
        let looks = Looks::new(&model, prepared.view()).unwrap();
        let Choice::Each(chosen) = looks.largest(prepared.view()).unwrap() else { panic!("not pictures") };
        assert_eq!(chosen.row(3).to_vec(), [2, 1, 0]);
        assert_eq!(chosen.row(2)[0], 0);
        // Values are in the units of the data.
        let values = looks.values(prepared.view(), &Choice::Each(chosen)).unwrap();
        assert!((values[[3, 0]] - 0.09).abs() < 1e-6 && (values[[3, 2]] - 1000.0).abs() < 1e-2, "{values}");
        assert_eq!(looks.name(2), "feature 3");
    }

    #[test]
    fn a_sheet_of_features_reads_back_within_its_16_bits() {
        let x = array![[1.0f32, -5.0], [3.0, 10.0], [2.0, 0.0]];
        let model = model(Shape::Vector, x.view());
        let prepared = model.preparation().apply(x.view()).unwrap();
        let mut looks = Looks::new(&model, prepared.view()).unwrap();
        looks.add(prepared.view(), &Choice::Same(vec![1])).unwrap();
        let (Legend::Features { names, low, high, of, .. }, sheets) = looks.finish() else { panic!("not pictures") };
        assert_eq!((names, of), (vec!["feature 2".to_owned()], 2));
        assert!((low[0] + 5.0).abs() < 1e-5 && (high[0] - 10.0).abs() < 1e-5);
        let Sheet::Features { values, width, count, .. } = &sheets[0] else { panic!("not pictures") };
        assert_eq!((*width, *count), (1, 3));
        // -5 is 0, 10 is 65535, 0 is a third of the way.
        assert_eq!(*values, Packed::u16s([0, 65535, 21845].into_iter()));
    }

    #[test]
    fn large_pictures_are_shown_as_means_of_their_pixels() {
        // 64 x 64, the left half black, the right half white: 32 x 32 of the same.
        let picture = |_, at: usize| if at % 64 < 32 { 0.0f32 } else { 200.0 };
        let x = Array2::from_shape_fn((2, 64 * 64), |(i, at)| picture(i, at) + (i * (at % 2)) as f32);
        let model = model(Shape::Image { channels: 1, height: 64, width: 64 }, x.view());
        let prepared = model.preparation().apply(x.view()).unwrap();
        let looks = Looks::new(&model, prepared.view()).unwrap();
        assert_eq!(looks.shape(), Some(images::Shape { channels: 1, height: 32, width: 32 }));
        let shown = looks.pictures(prepared.view()).unwrap();
        assert_eq!(shown.dim(), (2, 32 * 32));
        assert!(
            shown
                .row(0)
                .iter()
                .enumerate()
                .all(|(at, &v)| (v - if at % 32 < 16 { 0.0 } else { 200.0 / 201.0 }).abs() < 1e-3)
        );
    }
}
