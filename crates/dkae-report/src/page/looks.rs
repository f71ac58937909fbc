//! What a row looks like on the page: a picture when the data are pictures, its largest features otherwise.
//!
//! Everything is shown in the units of the data: rows as they were read (word counts as their TF-IDF weights), what the
//! network makes (reconstructions, decoded points) mapped back to them. All of it is on a [`Sheet`]: pictures as one
//! PNG, other rows as a few features each.
//!
//! The largest features of a row are those farthest from their mean, in standard deviations of the training rows:
//! columns in different units can then be compared, and a word of a text counts by how unusual it is there.

use dkae::data::prepare::Preparation;
use dkae::data::sparse::Csr;
use dkae::net::Model;
use dkae::recipe::{RawRows, Source};
use ndarray::{Array2, ArrayView1, ArrayView2, Axis, concatenate, s};
use serde::Serialize;

use super::pack::Packed;
use super::picture::Picture;
use super::rows::clipped;
use super::statistics::{BLOCK, Statistics};
use super::{decode, encode};
use crate::images::{self, encode as encode_png};
use crate::{Error, Result};

/// Features shown of one row.
pub(super) const LISTED: usize = 8;
/// Features that are named where a few stand for all.
const NAMED: usize = 3;
/// Features shown of a decoded point.
const DECODED: usize = 12;
/// Grey levels of a picture: enough for the eye at this size, and half the bytes of 256.
const LEVELS: f32 = 31.0;
/// Sides of squares that pictures have no more pixels than: tried largest first, until all rows fit.
const SIDES: [usize; 4] = [32, 28, 24, 16];

/// Many rows or decoded points, by place.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Sheet {
    /// Pictures side by side, `columns` in a line.
    Pictures { png: Packed, columns: usize, count: usize },
    /// `width` features of each: which (for each by itself, or once for all), and their values.
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
        /// Width by height as they are drawn.
        aspect: f64,
    },
    /// The features that occur on sheets: names; where bars begin and end; mean values of the training rows.
    Features {
        names: Vec<String>,
        low: Vec<f32>,
        high: Vec<f32>,
        mean: Vec<f64>,
        /// How many features rows have in all.
        of: usize,
    },
}

/// Rows in the units of the data.
pub(super) enum Raw {
    Dense(Array2<f32>),
    /// TF-IDF weights.
    Words(Csr),
}

impl Raw {
    /// Some of the rows that were read.
    pub fn of(source: &Source, preparation: &Preparation, rows: &[usize]) -> Result<Raw> {
        let sparse = || match &source.x {
            RawRows::Dense(x) => Csr::from_dense(x.select(Axis(0), rows).view()),
            RawRows::Sparse(x) => x.select(rows),
        };
        Ok(match (&preparation.text, &source.x) {
            (Some((tfidf, _)), _) => Raw::Words(tfidf.transform(&sparse())?),
            (None, RawRows::Dense(x)) => Raw::Dense(x.select(Axis(0), rows)),
            (None, RawRows::Sparse(_)) => Raw::Dense(sparse().to_dense(usize::MAX)?),
        })
    }

    pub fn select(&self, rows: &[usize]) -> Raw {
        match self {
            Raw::Dense(x) => Raw::Dense(x.select(Axis(0), rows)),
            Raw::Words(x) => Raw::Words(x.select(rows)),
        }
    }

    fn block(&self, start: usize, end: usize) -> Result<Array2<f32>> {
        Ok(match self {
            Raw::Dense(x) => x.slice(s![start..end, ..]).to_owned(),
            Raw::Words(x) => x.select(&(start..end).collect::<Vec<_>>()).to_dense(usize::MAX)?,
        })
    }
}

/// What is to be shown.
#[derive(Clone, Copy)]
pub(super) enum Given<'a> {
    /// Rows as they were read.
    Rows(&'a Raw),
    /// What the network sees or makes.
    Network(&'a Array2<f32>),
}

impl Given<'_> {
    pub fn nrows(&self) -> usize {
        match self {
            Given::Rows(Raw::Dense(x)) => x.nrows(),
            Given::Rows(Raw::Words(x)) => x.nrows(),
            Given::Network(x) => x.nrows(),
        }
    }
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

/// A sheet of features before it is known which occur on any.
struct Draft {
    features: Vec<u32>,
    values: Vec<f32>,
    width: usize,
    count: usize,
}

pub(super) struct Looks<'a> {
    preparation: &'a Preparation,
    names: Option<&'a [String]>,
    statistics: Statistics,
    picture: Option<Picture>,
    /// Where the bars of each feature begin and end; none of pictures.
    bars: Vec<(f32, f32)>,
    /// Pictures have no more pixels than a square of this side.
    side: usize,
    sheets: Vec<Sheet>,
    drafts: Vec<Draft>,
}

impl<'a> Looks<'a> {
    /// Looks of the rows of a model; `train` are the training rows of `source`.
    pub fn new(model: &'a Model, source: &Source, train: &[usize]) -> Result<Self> {
        let preparation = model.preparation();
        let statistics = Statistics::new(source, preparation, train)?;
        let width = statistics.mean.len();
        let picture = Picture::of(model.about().shape, &statistics);
        let bars = match picture {
            Some(_) => Vec::new(),
            None => statistics.bars(source, preparation, train)?,
        };
        Ok(Looks {
            preparation,
            names: model.about().names.as_deref().filter(|names| names.len() == width),
            statistics,
            picture,
            bars,
            side: SIDES[0],
            sheets: Vec::new(),
            drafts: Vec::new(),
        })
    }

    /// What is given, in the units of the data, a block at a time.
    fn blocks<'b>(&'b self, given: Given<'b>) -> impl Iterator<Item = Result<Array2<f32>>> + 'b {
        (0..given.nrows()).step_by(BLOCK).map(move |start| {
            let end = given.nrows().min(start + BLOCK);
            match given {
                Given::Rows(rows) => rows.block(start, end),
                Given::Network(x) => Ok(self.preparation.apply_inverse(x.slice(s![start..end, ..]))?),
            }
        })
    }

    /// Does something with each row, in the units of the data.
    fn each(&self, given: Given, mut work: impl FnMut(ArrayView1<f32>)) -> Result<()> {
        for block in self.blocks(given) {
            block?.rows().into_iter().for_each(&mut work);
        }
        Ok(())
    }

    /// Chooses the size of pictures, and how many of the rows can be shown, so that rows and reconstructions take at most
    /// `budget` bytes of the page.
    pub fn fit(&mut self, model: &Model, x: ArrayView2<f32>, budget: usize, points: usize) -> Result<usize> {
        if self.picture.is_none() || x.nrows() == 0 {
            return Ok(points);
        }
        let tried = x.slice(s![..x.nrows().min(BLOCK), ..]).to_owned();
        let back = decode(model, encode(model, tried.view())?.view())?;
        let mut each = 1.0;
        for side in SIDES {
            self.side = side;
            let bytes = self.png(Given::Network(&tried))?.len() + self.png(Given::Network(&back))?.len();
            each = bytes as f64 / tried.nrows() as f64;
            if each * x.nrows() as f64 <= budget as f64 {
                return Ok(points);
            }
        }
        Ok(((budget as f64 / each) as usize).max(1))
    }

    /// The size of pictures on the page.
    pub fn shape(&self) -> Option<images::Shape> {
        self.picture.map(|picture| picture.reduced(self.side))
    }

    /// What is given as pictures for a figure, from 0 (black) to 1, and their size there.
    pub fn figure(&self, given: Given) -> Result<(images::Shape, Array2<f32>)> {
        let (picture, to) = self.pictures()?;
        let blocks = self.blocks(given).map(|raw| Ok(picture.shrunk(&raw?, to))).collect::<Result<Vec<_>>>()?;
        let views: Vec<_> = blocks.iter().map(|block| block.view()).collect();
        let all = concatenate(Axis(0), &views).map_err(|e| Error::Data(e.to_string()))?;
        Ok(picture.for_figure(all, to))
    }

    /// How rows are pictures, and their size on the page.
    fn pictures(&self) -> Result<(Picture, images::Shape)> {
        self.picture.zip(self.shape()).ok_or_else(|| Error::Data("the rows are not pictures".to_owned()))
    }

    fn png(&self, given: Given) -> Result<Packed> {
        let (picture, to) = self.pictures()?;
        let images::Shape { channels, height, width } = to;
        let (columns, lines) = (columns(given.nrows()), given.nrows().div_ceil(columns(given.nrows())));
        let across = columns * width;
        let mut pixels = vec![0u8; across * lines * height * channels];
        let mut first = 0;
        for raw in self.blocks(given) {
            let block = picture.shrunk(&raw?, to);
            for (i, picture) in block.rows().into_iter().enumerate() {
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
        let Statistics { mean, deviation, .. } = &self.statistics;
        let deviation = deviation[feature];
        if deviation > 0.0 { ((f64::from(value) - mean[feature]) / deviation).abs() } else { 0.0 }
    }

    /// The largest features of each row, the most unusual first.
    pub fn largest(&self, given: Given) -> Result<Choice> {
        if self.picture.is_some() {
            return Ok(Choice::All);
        }
        let width = self.statistics.mean.len().min(LISTED);
        let mut chosen = Vec::with_capacity(given.nrows() * width);
        self.each(given, |row| chosen.extend(largest(row.len(), width, |j| self.unusual(j, row[j]))))?;
        let chosen = Array2::from_shape_vec((given.nrows(), width), chosen).map_err(|e| Error::Data(e.to_string()))?;
        Ok(Choice::Each(chosen))
    }

    /// The features that vary most among decoded points.
    pub fn varying(&self, given: Given) -> Result<Choice> {
        if self.picture.is_some() {
            return Ok(Choice::All);
        }
        let deviation = &self.statistics.deviation;
        let d = deviation.len();
        let mut ends = vec![(f64::INFINITY, f64::NEG_INFINITY); d];
        self.each(given, |row| {
            ends.iter_mut().zip(row).for_each(|(e, &v)| *e = (e.0.min(v.into()), e.1.max(v.into())));
        })?;
        let spread = |j: usize| if deviation[j] > 0.0 { (ends[j].1 - ends[j].0) / deviation[j] } else { 0.0 };
        Ok(Choice::Same(largest(d, d.min(DECODED), spread)))
    }

    /// The values of the chosen features, row by row.
    pub fn values(&self, given: Given, choice: &Choice) -> Result<Array2<f32>> {
        let width = match choice {
            Choice::All => 0,
            Choice::Each(each) => each.ncols(),
            Choice::Same(same) => same.len(),
        };
        let mut values = Vec::with_capacity(given.nrows() * width);
        self.each(given, |row| {
            let place = values.len() / width.max(1);
            let value = |&j: &u32| row[j as usize];
            match choice {
                Choice::All => {}
                Choice::Each(each) => values.extend(each.row(place).iter().map(value)),
                Choice::Same(same) => values.extend(same.iter().map(value)),
            }
        })?;
        Array2::from_shape_vec((given.nrows(), width), values).map_err(|e| Error::Data(e.to_string()))
    }

    /// Puts rows on a new sheet; its place among the sheets.
    pub fn add(&mut self, given: Given, choice: &Choice) -> Result<usize> {
        if self.picture.is_some() {
            let count = given.nrows();
            self.sheets.push(Sheet::Pictures { png: self.png(given)?, columns: columns(count), count });
            return Ok(self.sheets.len() - 1);
        }
        let values = self.values(given, choice)?;
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

    /// What a reader must know about the values that are shown.
    pub fn about_values(&self) -> String {
        let mut text = String::new();
        if let Ok((picture, to)) = self.pictures() {
            text += &picture.about(to);
        }
        if self.picture.is_none() {
            let listed = self.statistics.mean.len();
            if listed > LISTED {
                text += &format!(
                    " Of the {listed} features of a row those {LISTED} are listed that are farthest from their mean, in \
                     deviations of the training rows; of what is decoded those that vary most over the map."
                );
            }
        }
        if let Some((_, svd)) = &self.preparation.text {
            text += &format!(
                " Values are TF-IDF weights: of a row its own; of what the decoder makes, and of rows with noise, those that \
                 the {} dimensions of the SVD stand for.",
                svd.components.nrows()
            );
        }
        text
    }

    /// What a reader must know about the bars beside values, which only the page's script draws.
    pub fn about_bars(&self) -> String {
        if self.picture.is_some() {
            return String::new();
        }
        let bars = " A bar runs from the least to the largest value in the training rows; its tick is their mean, and an \
                    arrow at its end means that the value lies beyond.";
        bars.to_owned() + &self.about_far()
    }

    /// Which bars end before the last value of the training rows.
    fn about_far(&self) -> String {
        let Statistics { low, high, .. } = &self.statistics;
        let cut = self.bars.iter().enumerate().filter(|&(j, &ends)| ends != (low[j], high[j]));
        let cut: Vec<u32> = cut.map(|(j, _)| j as u32).collect();
        if cut.is_empty() {
            return String::new();
        }
        let mut names: Vec<String> = cut.iter().take(NAMED).map(|&j| self.name(j)).collect();
        if cut.len() > NAMED {
            names.push(format!("{} more", cut.len() - NAMED));
        }
        let last = names.pop().unwrap_or_default();
        let names = if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) };
        format!(
            " Of {names} it ends before single values that lie so far out that nothing would be seen of all others."
        )
    }

    /// All sheets, and how to read them.
    pub fn finish(self) -> (Legend, Vec<Sheet>) {
        if let Ok((picture, to)) = self.pictures() {
            let images::Shape { channels, height, width } = to;
            return (Legend::Pictures { channels, height, width, aspect: picture.aspect(to).0 }, self.sheets);
        }
        // Only the features that occur are carried, in their order.
        let mut used: Vec<u32> = self.drafts.iter().flat_map(|d| d.features.iter().copied()).collect();
        used.sort_unstable();
        used.dedup();
        let place = |feature: u32| used.partition_point(|&u| u < feature);
        let sheets = self.drafts.iter().map(|draft| Sheet::Features {
            // 65 536 features would take 8000 rows that have not one in common.
            features: Packed::u16s(draft.features.iter().map(|&f| place(f) as u16)),
            values: Packed::f32s(draft.values.iter().copied()),
            width: draft.width,
            count: draft.count,
        });
        let sheets = sheets.collect();
        let mean = &self.statistics.mean;
        let legend = Legend::Features {
            names: used.iter().map(|&f| self.name(f)).collect(),
            low: used.iter().map(|&f| self.bars[f as usize].0).collect(),
            high: used.iter().map(|&f| self.bars[f as usize].1).collect(),
            mean: used.iter().map(|&f| mean[f as usize]).collect(),
            of: mean.len(),
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
    use dkae::data::sparse::SparseTable;
    use dkae::data::svd::Svd;
    use dkae::data::tfidf::TfIdf;
    use dkae::data::{Shape, Table};
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
            caller: serde_json::Value::Null,
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
        let table = Table { x, ..Table::default() };
        let looks = Looks::new(&model, &Source::from(&table), &[0, 1, 2, 3]).unwrap();
        let seen = Given::Network(&prepared);
        let Choice::Each(chosen) = looks.largest(seen).unwrap() else { panic!("not pictures") };
        assert_eq!(chosen.row(3).to_vec(), [2, 1, 0]);
        assert_eq!(chosen.row(2)[0], 0);
        // Values are in the units of the data.
        let choice = Choice::Each(chosen);
        let values = looks.values(seen, &choice).unwrap();
        assert!((values[[3, 0]] - 0.09).abs() < 1e-6 && (values[[3, 2]] - 1000.0).abs() < 1e-2, "{values}");
        // Rows as they were read have them to the last bit.
        let read = Raw::of(&Source::from(&table), model.preparation(), &[2, 3]).unwrap();
        let read = looks.values(Given::Rows(&read), &choice.select(&[2, 3])).unwrap();
        assert_eq!(read.row(1).to_vec(), [0.09, 2.5, 1000.0]);
        assert_eq!(looks.name(2), "feature 3");
    }

    /// The first column has a value that is far from all others, and on a scale of 16 bits they would all be one.
    #[test]
    fn a_sheet_of_features_has_their_values_and_the_range_of_the_training_rows() {
        let x = array![[1.0f32, -5.0], [1995.0, 10.0], [2.5e8, 0.0], [1.0, 99.0]];
        let model = model(Shape::Vector, x.view());
        let table = Table { x, ..Table::default() };
        let source = Source::from(&table);
        // The last row is held out.
        let mut looks = Looks::new(&model, &source, &[0, 1, 2]).unwrap();
        let rows = Raw::of(&source, model.preparation(), &[0, 1, 3]).unwrap();
        looks.add(Given::Rows(&rows), &Choice::Same(vec![0])).unwrap();
        looks.add(Given::Rows(&rows), &Choice::Same(vec![1])).unwrap();
        let (Legend::Features { names, low, high, mean, of }, sheets) = looks.finish() else { panic!("not pictures") };
        assert_eq!((names, of), (vec!["feature 1".to_owned(), "feature 2".to_owned()], 2));
        assert_eq!((low, high), (vec![1.0, -5.0], vec![2.5e8, 10.0]));
        assert!((mean[1] - 5.0 / 3.0).abs() < 1e-9);
        for (sheet, wanted) in sheets.iter().zip([[1.0, 1995.0, 1.0], [-5.0, 10.0, 99.0]]) {
            let Sheet::Features { values, width, count, .. } = sheet else { panic!("not pictures") };
            assert_eq!((*width, *count), (1, 3));
            assert_eq!(*values, Packed::f32s(wanted.into_iter()));
        }
    }

    #[test]
    fn a_bar_that_ends_before_a_far_value_is_explained() {
        let x = Array2::from_shape_fn((100, 2), |(i, j)| if (i, j) == (7, 1) { 1e7 } else { (i % 10) as f32 });
        let model = model(Shape::Vector, x.view());
        let table = Table { x, ..Table::default() };
        let train: Vec<usize> = (0..100).collect();
        let mut looks = Looks::new(&model, &Source::from(&table), &train).unwrap();
        let text = looks.about_bars();
        assert!(!looks.about_values().contains("bar"));
        assert!(text.contains(" Of feature 2 it ends before single values"), "{text}");
        let rows = Raw::of(&Source::from(&table), model.preparation(), &[7]).unwrap();
        looks.add(Given::Rows(&rows), &Choice::Same(vec![0, 1])).unwrap();
        let (Legend::Features { low, high, .. }, _) = looks.finish() else { panic!("not pictures") };
        assert_eq!((low, high), (vec![0.0, 0.0], vec![9.0, 9.0]));
    }

    /// Two texts of two words each: what the row has, not what is left of it after the SVD.
    #[test]
    fn words_of_a_row_are_its_own() {
        let counts = Csr::new(vec![0, 2, 4, 5], vec![0, 1, 1, 2, 3], vec![2.0, 1.0, 1.0, 3.0, 1.0], 4).unwrap();
        let tfidf = TfIdf::fit(&counts).unwrap();
        let weights = tfidf.transform(&counts).unwrap().to_dense(usize::MAX).unwrap();
        let svd = Svd { components: 1, ..Svd::default() }.fit(&tfidf.transform(&counts).unwrap()).unwrap();
        let model = model(Shape::Vector, array![[1.0f32], [2.0]].view());
        let scaler = model.preparation().scaler.clone();
        let model = model.with_preparation(Preparation { text: Some((tfidf, svd)), scaler });
        let source = SparseTable { x: counts, labels: None, numbers: None };
        let source = Source::from(&source);
        let looks = Looks::new(&model, &source, &[0, 1, 2]).unwrap();
        let rows = Raw::of(&source, model.preparation(), &[0, 1, 2]).unwrap();
        let all = Choice::Same(vec![0, 1, 2, 3]);
        assert_eq!(looks.values(Given::Rows(&rows), &all).unwrap(), weights);
        let Choice::Each(largest) = looks.largest(Given::Rows(&rows)).unwrap() else { panic!("not pictures") };
        assert_eq!([largest[[1, 0]], largest[[2, 0]]], [2, 3]);
        // What is not mentioned counts as zero, in means and ranges too.
        let mean = weights.mean_axis(Axis(0)).unwrap();
        let close = |a: f64, b: f32| (a - f64::from(b)).abs() < 1e-6;
        assert!(looks.statistics.mean.iter().zip(&mean).all(|(&a, &b)| close(a, b)));
        let deviation = weights.std_axis(Axis(0), 0.0);
        assert!(looks.statistics.deviation.iter().zip(&deviation).all(|(&a, &b)| close(a, b)));
        assert!(looks.statistics.low.iter().all(|&low| low == 0.0));
        assert_eq!(looks.statistics.high[2], weights[[1, 2]]);
    }

    #[test]
    fn large_pictures_are_shown_as_means_of_their_pixels() {
        // 64 x 64, the left half black, the right half white: 32 x 32 of the same.
        let picture = |_, at: usize| if at % 64 < 32 { 0.0f32 } else { 200.0 };
        let x = Array2::from_shape_fn((2, 64 * 64), |(i, at)| picture(i, at) + (i * (at % 2)) as f32);
        let model = model(Shape::Image { channels: 1, height: 64, width: 64 }, x.view());
        let prepared = model.preparation().apply(x.view()).unwrap();
        let table = Table { x, ..Table::default() };
        let looks = Looks::new(&model, &Source::from(&table), &[0, 1]).unwrap();
        assert_eq!(looks.about_values(), " Pictures are shown with 32 x 32 pixels, of their 64 x 64.");
        assert_eq!(looks.shape(), Some(images::Shape { channels: 1, height: 32, width: 32 }));
        let (shape, shown) = looks.figure(Given::Network(&prepared)).unwrap();
        assert_eq!((Some(shape), shown.dim()), (looks.shape(), (2, 32 * 32)));
        assert!(
            shown
                .row(0)
                .iter()
                .enumerate()
                .all(|(at, &v)| (v - if at % 32 < 16 { 0.0 } else { 200.0 / 201.0 }).abs() < 1e-3)
        );
    }
}
