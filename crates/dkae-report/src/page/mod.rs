//! One self-contained HTML page that shows what a model learned.
//!
//! Two steps, so that each can be read and tested by itself: [`Report::gather`] computes everything the page shows and
//! puts it into a plain [`Page`]; [`Page::html`] fills the template (`assets/`: one HTML, one CSS and a few JavaScript
//! files, all embedded). The page needs no network and no server. It carries
//!
//! - pictures of rows as PNG sprite sheets, other rows as their largest features;
//! - a grid of decoded points of the plane of the map, which the page interpolates: the inverse map, live;
//! - decoded walks, denoised examples, and the lower triangles of both kernels in 16 bits.
//!
//! Without JavaScript the figures of this crate stand in place of the live ones; on paper too.
//!
//! What decides the size of the page is the pictures of rows. They are made smaller, and then fewer, until they fit
//! [`Report::budget`]. A page that is too large all the same is made again with less, until it is under 5 MB.

mod classify;
mod denoise;
mod figures;
mod html;
mod kernels;
mod looks;
mod pack;
mod space;

use std::collections::BTreeMap;
use std::time::Duration;

use dkae::code::Pca;
use dkae::data::scale::Scale;
use dkae::data::{Labels, Shape};
use dkae::kernel::Prior;
use dkae::net::{Model, Record};
use dkae::progress::Progress;
use dkae::recipe::{Prepared, Source};
use ndarray::{Array2, ArrayView1, ArrayView2, Axis, concatenate, s};
use serde::Serialize;

use crate::{Error, Result};
use classify::Accuracies;
use denoise::Denoising;
use figures::{Line, gallery, named_table, short};
use kernels::{Groups, Kernels, Misaligned};
use looks::{Choice, Given, Looks, Raw, Sheet};
use pack::Packed;
use space::{Map, Walks};

/// What a page is about: a model, the rows it was trained on and held out from, and what is known besides.
pub struct Subject<'a> {
    /// What the data are called, as a file name.
    pub name: &'a str,
    /// The model.
    pub model: &'a Model,
    /// The rows as they were read.
    pub source: &'a Source<'a>,
    /// The same in their parts, prepared for the model.
    pub rows: &'a Prepared,
    /// The prior of each part, when there is one.
    pub priors: Option<&'a [Box<dyn Prior + 'a>; 3]>,
    /// Losses by name, such as `test.reconstruction`; those of [`dkae::net::About`] when the rows are the model's own.
    pub figures: &'a BTreeMap<String, f64>,
    /// How long things took, as far as is known.
    pub times: &'a [(String, Duration)],
    /// What a reader must know besides, a sentence each.
    pub notes: &'a [String],
}

/// The most bytes of a page: 5 MB, with something to spare.
const MOST_BYTES: usize = 4_900_000;
/// The most classes: more can neither be told apart on a map nor be learned by a machine each in reasonable time.
const MOST_CLASSES: usize = 100;
/// Letters of a name from the data: a label or a column may be called a whole text.
const LETTERS: usize = 120;

/// How much a page shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Held-out rows on the map, at most: test rows first, then validation rows. Default 3000.
    pub points: usize,
    /// Decoded points along each side of the map. Default 24.
    pub grid: usize,
    /// Clusters to walk between, at most. Default 10.
    pub clusters: usize,
    /// Points on each walk, both ends included. Default 11.
    pub steps: usize,
    /// Rows in the denoising panel. Default 10.
    pub examples: usize,
    /// Rows of the kernel matrices shown. Default 240.
    pub kernel_rows: usize,
    /// Rows listed as worst, of each kind. Default 12.
    pub worst: usize,
    /// Training rows that components, clusters and linear machines are fitted on, at most. Default 4000.
    pub fitted: usize,
    /// Prices C tried for the linear machines. Default 0.01, 0.1, 1 and 10.
    pub prices: Vec<f64>,
    /// Bytes that pictures of rows may take in the page; less when the whole page would have 5 MB. Default 2.8 million.
    pub budget: usize,
    /// Seed of noise and clusters. Default 7.
    pub seed: u64,
}

impl Default for Report {
    fn default() -> Self {
        Report {
            points: 3000,
            grid: 24,
            clusters: 10,
            steps: 11,
            examples: 10,
            kernel_rows: 240,
            worst: 12,
            fitted: 4000,
            prices: vec![1e-2, 1e-1, 1.0, 1e1],
            budget: 2_800_000,
            seed: 7,
        }
    }
}

/// Everything a page shows. What is serialised goes to the page's script; the rest is only in its text and figures.
#[derive(Clone, Debug, Serialize)]
pub struct Page {
    #[serde(skip)]
    summary: Summary,
    #[serde(skip)]
    history: Vec<Record>,
    #[serde(skip)]
    layers: usize,
    /// What a reader must know about the values of rows.
    #[serde(skip)]
    about_values: String,
    /// The classes of the rows, in their order; empty without labels, and with too many to show.
    classes: Vec<String>,
    looks: looks::Legend,
    sheets: Vec<Sheet>,
    rows: Rows,
    map: Map,
    walks: Option<Walks>,
    denoising: Denoising,
    kernels: Option<Kernels>,
    worst: Worst,
}

/// What stands at the top.
#[derive(Clone, Debug, Default)]
struct Summary {
    name: String,
    data: String,
    kernel: String,
    architecture: String,
    units: String,
    preparation: String,
    parameters: usize,
    trained: usize,
    code_width: usize,
    parts: [usize; 3],
    figures: BTreeMap<String, f64>,
    accuracies: Option<Accuracies>,
    times: Vec<(String, Duration)>,
    notes: Vec<String>,
}

/// The rows on the page.
#[derive(Clone, Debug, Serialize)]
struct Rows {
    /// How many.
    count: usize,
    /// Parts they come from, in order, and how many of each.
    parts: Vec<(&'static str, usize)>,
    /// Their numbers in the data, from 0.
    numbers: Packed,
    /// Their classes; empty without labels.
    classes: Packed,
    /// Their squared errors per feature, as the network sees them.
    errors: Packed,
    /// Sheets with the rows and their reconstructions.
    original: usize,
    restored: usize,
}

/// The rows to look at next, as places among the rows on the page.
#[derive(Clone, Debug, Default, Serialize)]
struct Worst {
    /// Worst reconstructed first.
    reconstructed: Vec<usize>,
    /// The mean squared error of all rows looked at.
    mean_error: f64,
    /// Least aligned first.
    misaligned: Vec<Misaligned>,
    /// A sheet with those rows, then their nearest by the prior, then by codes, all by the features of the first; pictures
    /// need none.
    neighbours: Option<usize>,
    #[serde(skip)]
    reconstructed_still: String,
    #[serde(skip)]
    misaligned_still: String,
}

/// Rows of a part that are on the page.
struct Held {
    /// Parts and how many rows of each, the first being the one that figures are about.
    parts: Vec<(usize, usize)>,
    /// As the network sees them, and as they were read.
    x: Array2<f32>,
    raw: Raw,
    /// Their numbers in the file.
    numbers: Vec<u32>,
    labels: Vec<usize>,
    /// What the classes are called.
    classes: Vec<String>,
}

const PARTS: [&str; 3] = ["training", "validation", "test"];

impl Held {
    /// Test rows, then validation rows; training rows only when there is nothing else.
    fn new(subject: &Subject, limit: usize) -> Result<Held> {
        let Subject { source, rows, .. } = *subject;
        let labels = classes(rows);
        let own = [&rows.split.train, &rows.split.validation, &rows.split.test];
        let order: &[usize] = if own[1].len() + own[2].len() > 0 { &[2, 1] } else { &[0] };
        let mut left = limit;
        let mut parts = Vec::new();
        for &part in order.iter().filter(|&&part| !own[part].is_empty()) {
            let count = own[part].len().min(left);
            left -= count;
            if count > 0 {
                parts.push((part, count));
            }
        }
        let views: Vec<_> = parts.iter().map(|&(part, count)| rows.parts[part].slice(s![..count, ..])).collect();
        let x = concatenate(Axis(0), &views).map_err(|_| Error::Data("no rows to make a report of".to_owned()))?;
        let chosen: Vec<usize> = parts.iter().flat_map(|&(part, count)| own[part][..count].iter().copied()).collect();
        let number = |&i: &usize| source.numbers.and_then(|numbers| numbers.get(i).copied()).unwrap_or(i) as u32;
        let raw = Raw::of(source, subject.model.preparation(), &chosen)?;
        let classes = labels.map(|labels| labels[0].names.iter().map(|name| clipped(name)).collect());
        let labels = match labels {
            Some(labels) => parts
                .iter()
                .flat_map(|&(part, count)| labels[part].index[..count].iter().map(|&label| label as usize))
                .collect(),
            None => Vec::new(),
        };
        let numbers = chosen.iter().map(number).collect();
        Ok(Held { parts, x, raw, numbers, labels, classes: classes.unwrap_or_default() })
    }

    /// What a row is called; briefly where there is little room.
    fn name(&self, i: usize, briefly: bool) -> String {
        let class = self.labels.get(i).and_then(|&label| self.classes.get(label)).filter(|_| !briefly);
        let number = self.numbers[i];
        class.map_or_else(|| format!("row {number}"), |class| format!("row {number}, class {class}"))
    }

    fn names(&self, rows: &[usize], briefly: bool) -> Vec<String> {
        rows.iter().map(|&i| self.name(i, briefly)).collect()
    }

    /// The part that figures are about, and its rows on the page, which are the first.
    fn first(&self) -> (usize, usize) {
        self.parts[0]
    }
}

impl Report {
    /// Computes all that the page shows.
    pub fn gather(&self, subject: &Subject, progress: &dyn Progress) -> Result<Page> {
        self.check()?;
        tell(progress, 0, "report: linear machines")?;
        let accuracies = match classes(subject.rows) {
            Some(labels) => self.accuracies(subject.model, subject.rows, labels, progress)?,
            None => None,
        };
        let mut settings = self.clone();
        loop {
            let page = settings.attempt(subject, accuracies, progress)?;
            let bytes = page.html()?.len();
            if bytes <= MOST_BYTES || page.rows.count <= 1 {
                return Ok(page);
            }
            // With smaller pictures all sheets shrink, with fewer rows only theirs: small steps, but not too many.
            let budget = settings.budget.min(bytes);
            settings.budget = (budget / 4 * 3).min(budget.saturating_sub(bytes - MOST_BYTES));
            if let looks::Legend::Features { .. } = page.looks {
                settings.points = page.rows.count / 2;
            }
        }
    }

    /// All that the page shows, however large it becomes.
    fn attempt(&self, subject: &Subject, accuracies: Option<Accuracies>, progress: &dyn Progress) -> Result<Page> {
        let Subject { model, rows, .. } = *subject;
        let tell = |done: u64, what: &str| tell(progress, done, what);
        let labels = classes(rows);

        tell(1, "report: rows")?;
        let train = rows.parts[0].slice(s![..rows.parts[0].nrows().min(self.fitted), ..]);
        let mut looks = Looks::new(model, subject.source, &rows.split.train)?;
        let limit = looks.fit(model, Held::new(subject, self.points)?.x.view(), self.budget, self.points)?;
        let held = Held::new(subject, limit)?;
        let classes = held.classes.clone();
        let codes = encode(model, held.x.view())?;
        let back = decode(model, codes.view())?;
        let errors = errors(held.x.view(), back.view());
        let largest = looks.largest(Given::Rows(&held.raw))?;
        let original = looks.add(Given::Rows(&held.raw), &largest)?;
        let restored = looks.add(Given::Network(&back), &largest)?;

        tell(2, "report: code space")?;
        let train_codes = encode(model, train)?;
        let most = train_codes.ncols().min(train_codes.nrows() - 1).min(denoise::MOST);
        let pca = Pca { components: most, ..Pca::default() }.fit_watched(train_codes.view(), progress)?;
        let (map, varying) = self.map(model, &pca, codes.view(), &held, &mut looks)?;
        let named = labels.map(|labels| Labels { index: labels[0].index.clone(), names: classes.clone() });
        let clusters = self.clusters(train_codes.view(), named.as_ref(), progress)?;
        let walks = self.walks(model, &clusters, &varying, &mut looks)?;

        tell(3, "report: denoising")?;
        let denoising = self.denoising(model, &pca, &held, &mut looks)?;

        tell(4, "report: kernels")?;
        let (part, count) = held.first();
        let shown = codes.slice(s![..count, ..]);
        let prior = subject.priors.map(|priors| &*priors[part]);
        let mut kernels = match prior {
            Some(prior) if held.labels.is_empty() => {
                let of = clusters.model.predict(shown)?.into_iter().map(|c| c as usize).collect();
                Some(self.kernels(prior, shown, &Groups { of, names: clusters.names.clone() })?)
            }
            Some(prior) => {
                Some(self.kernels(prior, shown, &Groups { of: held.labels.clone(), names: classes.clone() })?)
            }
            None => None,
        };
        if let (Some(kernels), None) = (&mut kernels, looks.shape()) {
            let rows = held.raw.select(&kernels.rows);
            kernels.sheet = Some(looks.add(Given::Rows(&rows), &varying)?);
        }
        let misaligned = match prior {
            Some(prior) => kernels::misaligned(prior, shown, self.worst, progress)?,
            None => Vec::new(),
        };
        let worst = Worst::new(&errors[..count], self.worst, misaligned, (&mut looks, &largest), &held, back.view())?;
        let about_values = looks.about_values();
        let (looks, sheets) = looks.finish();
        tell(5, "report")?;
        Ok(Page {
            summary: Summary::new(subject, accuracies),
            history: model.about().history.clone(),
            layers: model.net().layers().len(),
            about_values,
            classes,
            looks,
            sheets,
            rows: Rows {
                count: held.x.nrows(),
                parts: held.parts.iter().map(|&(part, count)| (PARTS[part], count)).collect(),
                numbers: Packed::u32s(held.numbers.iter().copied()),
                classes: Packed::u16s(held.labels.iter().map(|&label| label as u16)),
                errors: Packed::f32s(errors.iter().copied()),
                original,
                restored,
            },
            map,
            walks,
            denoising,
            kernels,
            worst,
        })
    }

    fn check(&self) -> Result<()> {
        let least = [
            ("points", self.points, 1),
            ("grid", self.grid, 2),
            ("clusters", self.clusters, 1),
            ("steps", self.steps, 2),
            ("examples", self.examples, 1),
            ("kernel_rows", self.kernel_rows, 1),
            ("fitted", self.fitted, 2),
            ("prices", self.prices.len(), 1),
        ];
        match least.iter().find(|(_, value, least)| value < least) {
            Some((name, value, least)) => Err(Error::Data(format!("{name}: expected {least} or more, found {value}"))),
            None => Ok(()),
        }
    }
}

impl Worst {
    fn new(
        errors: &[f32],
        count: usize,
        misaligned: Vec<Misaligned>,
        (looks, largest): (&mut Looks, &Choice),
        held: &Held,
        back: ArrayView2<f32>,
    ) -> Result<Worst> {
        let mut order: Vec<usize> = (0..errors.len()).collect();
        order.sort_by(|&a, &b| errors[b].total_cmp(&errors[a]).then(a.cmp(&b)));
        order.truncate(count);
        let mean_error = errors.iter().map(|&e| f64::from(e)).sum::<f64>() / errors.len().max(1) as f64;
        let briefly = looks.shape().is_some();
        let still = |looks: &Looks, rows: &[usize], named: &[(&str, Given)]| {
            let lines: Vec<Line> = named.iter().map(|&(caption, rows)| Line { caption, rows }).collect();
            gallery(looks, &largest.select(rows), &lines, &held.names(rows, briefly))
        };
        let (rows, back) = (held.raw.select(&order), back.select(Axis(0), &order));
        let reconstructed_still =
            still(looks, &order, &[("row", Given::Rows(&rows)), ("from its code", Given::Network(&back))])?;
        let lines: Vec<[String; 3]> = order
            .iter()
            .map(|&i| {
                let error = f64::from(errors[i]);
                [held.name(i, false), short(error), format!("{:.1}", error / mean_error.max(f64::MIN_POSITIVE))]
            })
            .collect();
        let reconstructed_still = reconstructed_still + &named_table(["", "squared error", "times the mean"], &lines);

        let mut worst = Worst { reconstructed: order, mean_error, reconstructed_still, ..Worst::default() };
        if misaligned.is_empty() {
            return Ok(worst);
        }
        let places = |of: fn(&Misaligned) -> usize| misaligned.iter().map(of).collect::<Vec<_>>();
        let [odd, by_prior, by_codes] = [places(|m| m.row), places(|m| m.by_prior), places(|m| m.by_codes)];
        let [row, prior, codes] = [&odd, &by_prior, &by_codes].map(|places| held.raw.select(places));
        let lines = [
            ("row", Given::Rows(&row)),
            ("most like it by the prior", Given::Rows(&prior)),
            ("most like it by codes", Given::Rows(&codes)),
        ];
        worst.misaligned_still = still(looks, &odd, &lines)?;
        let lines: Vec<[String; 4]> = misaligned
            .iter()
            .map(|m| {
                let name = |i: usize| held.name(i, false);
                [name(m.row), format!("{:.3}", m.alignment), name(m.by_prior), name(m.by_codes)]
            })
            .collect();
        worst.misaligned_still += &named_table(["", "alignment", "most like it by the prior", "by codes"], &lines);
        if looks.shape().is_none() {
            let all = [odd.as_slice(), &by_prior, &by_codes].concat();
            let choice = largest.select(&odd).repeated(3);
            worst.neighbours = Some(looks.add(Given::Rows(&held.raw.select(&all)), &choice)?);
        }
        worst.misaligned = misaligned;
        Ok(worst)
    }
}

impl Summary {
    fn new(subject: &Subject, accuracies: Option<Accuracies>) -> Summary {
        let Subject { model, rows, .. } = *subject;
        let (about, architecture) = (model.about(), model.net().architecture());
        let parts = rows.parts.each_ref().map(|x| x.nrows());
        let kind = match about.shape {
            Shape::Image { channels, height, width } => {
                let colour = if channels == 3 { "colour " } else { "" };
                format!("{colour}pictures of {width} x {height} pixels")
            }
            Shape::Vector => format!("rows of {} features", model.input_width()),
        };
        let classes = match &rows.labels {
            Some(labels) => format!(", {} classes", labels[0].names.len()),
            None => ", no labels".to_owned(),
        };
        let mut preparation = match model.preparation().scaler.kind() {
            Scale::None => "as they are".to_owned(),
            Scale::Standard => "each feature to mean 0 and deviation 1".to_owned(),
            Scale::Unit => "each feature to 0 … 1".to_owned(),
            _ => "all features by one range, to 0 … 1".to_owned(),
        };
        if let Some((_, svd)) = &model.preparation().text {
            preparation =
                format!("TF-IDF, {} dimensions by a truncated SVD, then {preparation}", svd.components.nrows());
        }
        Summary {
            name: subject.name.to_owned(),
            data: format!("{kind}{classes}"),
            kernel: about.kernel.clone(),
            architecture: architecture.to_string(),
            units: format!(
                "{} hidden units, {} code, {} output; {} weights",
                architecture.hidden,
                architecture.code,
                architecture.output,
                if architecture.tied { "tied" } else { "untied" }
            ),
            parameters: architecture.parameters(),
            preparation,
            trained: about.rows,
            code_width: model.code_width(),
            parts,
            figures: subject.figures.clone(),
            accuracies,
            times: subject.times.to_vec(),
            notes: subject.notes.iter().cloned().chain(too_many(rows)).collect(),
        }
    }
}

/// Tells how far the work is; an error when it is to stop.
fn tell(progress: &dyn Progress, done: u64, what: &str) -> Result<()> {
    progress.step(what, done, 5);
    if progress.stop() { Err(dkae::Error::Interrupted.into()) } else { Ok(()) }
}

/// The labels of the three parts, unless there are too many classes to show.
fn classes(rows: &Prepared) -> Option<&[Labels; 3]> {
    rows.labels.as_ref().filter(|labels| labels[0].names.len() <= MOST_CLASSES)
}

/// What a reader must know when there are.
fn too_many(rows: &Prepared) -> Option<String> {
    let count = rows.labels.as_ref()?[0].names.len();
    (count > MOST_CLASSES).then(|| {
        format!(
            "The rows have {count} classes, more than the {MOST_CLASSES} that a page shows: the map has one colour, kernels \
             are sorted by cluster, and no linear SVM was trained."
        )
    })
}

/// A name from the data, at a length that can be shown.
fn clipped(name: &str) -> String {
    match name.char_indices().nth(LETTERS) {
        Some(_) => name.chars().take(LETTERS - 1).chain(['…']).collect(),
        None => name.to_owned(),
    }
}

/// Codes of prepared rows, block by block: the activations of all layers of all rows at once could be large.
fn encode(model: &Model, x: ArrayView2<f32>) -> Result<Array2<f32>> {
    by_blocks(x, |block| model.net().encode(block))
}

/// Prepared rows of codes.
fn decode(model: &Model, codes: ArrayView2<f32>) -> Result<Array2<f32>> {
    by_blocks(codes, |block| model.net().decode(block))
}

fn by_blocks(x: ArrayView2<f32>, work: impl Fn(ArrayView2<f32>) -> dkae::Result<Array2<f32>>) -> Result<Array2<f32>> {
    let blocks = x.axis_chunks_iter(Axis(0), 1024).map(work).collect::<dkae::Result<Vec<_>>>()?;
    let views: Vec<_> = blocks.iter().map(|b| b.view()).collect();
    concatenate(Axis(0), &views).map_err(|_| Error::Data("there are no rows".to_owned()))
}

/// The squared error of each row, per feature.
fn errors(x: ArrayView2<f32>, back: ArrayView2<f32>) -> Vec<f32> {
    let error = |(a, b): (ArrayView1<f32>, ArrayView1<f32>)| {
        a.iter().zip(b).map(|(&a, &b)| f64::from(a - b).powi(2)).sum::<f64>() / a.len() as f64
    };
    x.rows().into_iter().zip(back.rows()).map(|pair| error(pair) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dkae::data::{Table, sample};
    use dkae::kernel::KernelSpec;
    use dkae::math::rng::{self, Purpose};
    use dkae::net::Activation;
    use dkae::progress::Silent;
    use dkae::recipe::{Recipe, Source};
    use dkae::train::{Length, Trainer};

    /// The page of a small model of some rows.
    fn page(table: &Table, settings: &Report) -> Page {
        about(table, quick(), |subject| settings.gather(subject, &Silent).unwrap())
    }

    /// A small model.
    fn quick() -> Recipe {
        let train = Trainer {
            layers: vec![20, 10],
            // Units that cannot die, whatever the rows.
            hidden: Activation::Tanh,
            code: Activation::Linear,
            steps: Length::Steps(20),
            pretrain: Length::Steps(5),
            ..Trainer::default()
        };
        Recipe { kernel: KernelSpec::Cosine, train, ..Recipe::default() }
    }

    /// What comes of a model of some rows.
    fn about<T>(table: &Table, recipe: Recipe, work: impl FnOnce(&Subject) -> T) -> T {
        let source = Source::from(table);
        let rows = recipe.prepare(&source, &Silent).unwrap();
        let kernel = recipe.kernel(&rows, None, &Silent).unwrap();
        let priors = kernel.priors(&rows, &Silent).unwrap();
        let model = recipe.train(&source, &rows, &kernel, priors.as_ref(), None, &mut ()).unwrap();
        let times = [("training".to_owned(), Duration::from_millis(1500))];
        let subject = Subject {
            name: "</title><b>rows</b>",
            model: &model,
            source: &source,
            rows: &rows,
            priors: priors.as_ref(),
            figures: &model.about().figures,
            times: &times,
            notes: &["a <b>note</b>".to_owned()],
        };
        work(&subject)
    }

    fn digits(rows: usize) -> Table {
        sample::digits().select(&(0..rows).collect::<Vec<_>>())
    }

    /// Three features far apart in scale, and one that is always the same; classes and columns with signs in their names.
    fn table() -> Table {
        let x = Array2::from_shape_fn((120, 4), |(i, j)| match j {
            0 => (i % 3) as f32 * 1000.0 + (i * 37 % 11) as f32,
            1 => (i * 17 % 29) as f32 / 1000.0,
            2 => (i * 7 % 13) as f32,
            _ => 5.0,
        });
        let names = ["</script><b>a</b>", "b & c", "\"d\"", "<!-- e"].map(str::to_owned).to_vec();
        let labels = Labels {
            index: (0..120).map(|i| i % 3).collect(),
            names: ["<i>x</i>", "y", "z"].map(str::to_owned).to_vec(),
        };
        Table { x, labels: Some(labels), names: Some(names), ..Table::default() }
    }

    #[test]
    fn the_same_model_gives_the_same_page_and_it_has_every_section() {
        let settings = Report { prices: vec![1.0], ..Report::default() };
        let (a, b) = (page(&digits(300), &settings).html().unwrap(), page(&digits(300), &settings).html().unwrap());
        assert_eq!(a, b);
        for id in ["summary", "training", "map", "walks", "denoising", "kernels", "worst", "misaligned-rows"] {
            assert!(a.contains(&format!("id=\"{id}\"")), "{id}");
        }
        for words in [
            "accuracy of a linear SVM on codes",
            "on inputs",
            "to the ideal kernel",
            "training 1.5 s",
            "validation, 45 rows",
        ] {
            assert!(a.contains(words), "{words}");
        }
        // Places of the template that were not filled; numbers of the text that are none.
        let text = a.split("<script").next().unwrap();
        assert!(!text.contains("{{") && !text.contains(">NaN"));
    }

    #[test]
    fn names_from_data_never_become_markup() {
        let html = page(&table(), &Report { prices: vec![1.0], ..Report::default() }).html().unwrap();
        for markup in ["<b>a</b>", "<b>rows</b>", "<b>note</b>", "<i>x</i>", "<!-- e"] {
            assert!(!html.contains(markup), "{markup}");
        }
        assert!(html.contains("&lt;b&gt;note&lt;/b&gt;") && html.contains("&lt;i&gt;x&lt;/i&gt;"));
        let json = html.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
        assert!(!json.contains('<'));
        let data: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(data["classes"][0], "<i>x</i>");
        assert_eq!(data["looks"]["features"]["names"][0], "</script><b>a</b>");
    }

    #[test]
    fn pictures_become_smaller_and_then_fewer_until_they_fit() {
        let table = digits(300);
        let bytes = |page: &Page| {
            let of = |i: usize| match &page.sheets[i] {
                Sheet::Pictures { png, .. } => png.len(),
                Sheet::Features { .. } => panic!("digits are pictures"),
            };
            of(page.rows.original) + of(page.rows.restored)
        };
        let side = |page: &Page| match page.looks {
            looks::Legend::Pictures { width, .. } => width,
            looks::Legend::Features { .. } => 0,
        };
        let settings = Report { prices: vec![1.0], ..Report::default() };
        let whole = page(&table, &settings);
        assert_eq!((whole.rows.count, side(&whole)), (90, 28));
        let smaller = page(&table, &Report { budget: bytes(&whole) * 3 / 4, ..settings.clone() });
        assert!(smaller.rows.count == 90 && side(&smaller) < 28 && bytes(&smaller) <= bytes(&whole) * 3 / 4);
        let fewer = page(&table, &Report { budget: bytes(&whole) / 8, ..settings });
        assert!(fewer.rows.count < 90 && fewer.rows.count > 5 && side(&fewer) == 16, "{}", fewer.rows.count);
        assert!(bytes(&fewer) <= bytes(&whole) / 6, "{} of {}", bytes(&fewer), bytes(&whole));
    }

    #[test]
    fn a_page_is_under_5_megabytes_even_of_noise_in_colour() {
        let mut noise = rng::stream(5, Purpose::Demo, 0, 0);
        let patterns = Array2::from_shape_simple_fn((4, 3 * 32 * 32), || rng::below(&mut noise, 256) as f32);
        let x = Array2::from_shape_fn((2450, 3 * 32 * 32), |(i, j)| {
            patterns[[i % 4, j]] + rng::below(&mut noise, 64) as f32
        });
        let table = Table { x, shape: Shape::Image { channels: 3, height: 32, width: 32 }, ..Table::default() };
        // By feature, so that the mean of the patterns, and with it whatever is decoded, is noise too.
        let recipe = Recipe { scale: Scale::Standard, ..quick() };
        about(&table, recipe, |subject| {
            let settings = Report { budget: 50_000_000, ..Report::default() };
            let page = settings.gather(subject, &Silent).unwrap();
            let bytes = page.html().unwrap().len();
            assert!(bytes < 5_000_000 && page.rows.count > 100, "{bytes} bytes, {} rows", page.rows.count);
            // Or nothing would have been put to the test.
            assert!(settings.attempt(subject, None, &Silent).unwrap().html().unwrap().len() > 5_000_000);
        });
    }

    #[test]
    fn names_as_long_as_texts_are_cut() {
        let x = Array2::from_shape_fn((120, 300), |(i, j)| ((i * 31 + j * j * 17 + i * j) % 101) as f32);
        let names = (0..300).map(|j| format!("{j}{}", "<".repeat(20_000))).collect();
        let labels = Labels {
            index: (0..120).map(|i| i % 3).collect(),
            names: (0..3).map(|k| format!("{k}{}", "é".repeat(1_000_000))).collect(),
        };
        let table = Table { x, labels: Some(labels), names: Some(names), ..Table::default() };
        let page = page(&table, &Report { prices: vec![1.0], ..Report::default() });
        assert_eq!(page.rows.count, 36);
        assert_eq!(page.classes[1], format!("1{}…", "é".repeat(LETTERS - 2)));
        assert!(page.html().unwrap().len() < 1_500_000);
        assert_eq!(clipped(&"a".repeat(LETTERS)), "a".repeat(LETTERS));
    }

    #[test]
    fn thousands_of_classes_are_not_shown_and_cost_no_time() {
        let rows = 6000;
        let x = Array2::from_shape_fn((rows, 4), |(i, j)| ((i * 37 + j * 101) % (97 + j)) as f32);
        let labels =
            Labels { index: (0..rows as u32).collect(), names: (0..rows).map(|i| format!("name {i}")).collect() };
        let table = Table { x, labels: Some(labels), ..Table::default() };
        about(&table, quick(), |subject| {
            let start = std::time::Instant::now();
            let page = Report::default().gather(subject, &Silent).unwrap();
            let html = page.html().unwrap();
            // One machine for each class took minutes; without them it is a second or two.
            assert!(start.elapsed() < Duration::from_secs(40), "{:?}", start.elapsed());
            assert!(page.summary.accuracies.is_none() && page.classes.is_empty());
            assert_eq!(page.rows.classes.len(), 0);
            assert!(html.contains("The rows have 6000 classes") && html.contains("sorted by cluster"));
            assert!(!html.contains("name 17"));
        });
    }

    /// The text of the page of a model that was made in another way.
    fn text(table: &Table, recipe: Recipe) -> String {
        about(table, recipe, |subject| {
            let html =
                Report { prices: vec![1.0], ..Report::default() }.gather(subject, &Silent).unwrap().html().unwrap();
            html.split("<script").next().unwrap().to_owned()
        })
    }

    #[test]
    fn captions_are_true_of_the_data() {
        let train = |change: fn(&mut Trainer)| {
            let mut recipe = quick();
            change(&mut recipe.train);
            recipe
        };
        let usual = text(&table(), quick());
        for words in ["held-out rows", "Each layer was first trained by itself", "are dashed", "codes of 10 numbers"] {
            assert!(usual.contains(words), "{words}");
        }
        let whole = text(&table(), Recipe { split: [1.0, 0.0, 0.0], ..quick() });
        assert!(!whole.contains("held-out") && whole.contains("The training rows farthest"));
        assert!(!whole.contains("dashed") && whole.contains("no validation rows"));
        let together = text(&table(), train(|train| train.pretrain = Length::Steps(0)));
        assert!(!together.contains("by itself, then") && together.contains("trained together from the start"));
        let plain = text(&table(), train(|train| train.lambda = 0.0));
        assert!(plain.contains("not aligned with a kernel") && !plain.contains("L_c is the distance"));
        let narrow = text(&table(), train(|train| train.layers = vec![5, 1]));
        assert!(narrow.contains("codes of 1 number,") && narrow.contains("A code is one number"));
        assert!(!narrow.contains("two principal components"));
    }

    #[test]
    fn tables_that_stand_still_name_rows_classes_and_errors_and_walks_go_all_the_way() {
        let page = text(&table(), quick());
        for words in ["squared error", "times the mean", "alignment", "<caption>row ", ", class y", "100 %</th>"] {
            assert!(page.contains(words), "{words}");
        }
        // 120 rows, of which 18 are for testing and 18 for validation.
        assert!(page.contains("36 rows are drawn."), "the map says how many rows it has");
    }

    #[test]
    fn rows_have_the_numbers_of_their_file() {
        let own = about(&table(), quick(), |subject| Held::new(subject, 9).unwrap().numbers);
        let numbered = Table { numbers: Some((0..120).map(|i| 1000 + 2 * i).collect()), ..table() };
        let found = about(&numbered, quick(), |subject| Held::new(subject, 9).unwrap().numbers);
        assert_eq!(found, own.iter().map(|i| 1000 + 2 * i).collect::<Vec<_>>());
    }

    #[test]
    fn settings_that_show_nothing_are_refused() {
        for settings in [Report { points: 0, ..Report::default() }, Report { prices: vec![], ..Report::default() }] {
            assert!(settings.check().is_err());
        }
    }
}
