//! One self-contained HTML page that shows what a model learned.
//!
//! Two steps, so that each can be read and tested by itself: [`Report::gather`] computes everything the page shows and
//! puts it into a plain [`Page`], a section to a file; [`Page::html`] fills the template (`assets/`: one HTML, one CSS and a few JavaScript
//! files, all embedded). The page needs no network and no server. It carries
//!
//! - pictures of rows as PNG sprite sheets, other rows as their largest features;
//! - a grid of decoded points of the plane of the map, which the page interpolates: the inverse map, live;
//! - decoded walks, denoised examples, and the lower triangles of both kernels.
//!
//! Without JavaScript the figures of this crate stand in place of the live ones; on paper too.
//!
//! What decides the size of the page is the pictures of rows. They are made smaller, and then fewer, until they fit
//! [`Report::budget`]. A page that is too large all the same is made again with less, until it is under 5 MB.

// The sections of the page, from its top.
mod denoising;
mod kernels;
mod map;
mod summary;
mod training;
mod walks;
mod worst;

// What they are made of.
mod classify;
mod figures;
mod html;
mod looks;
mod pack;
mod picture;
mod rows;
mod statistics;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use dkae::code::Pca;
use dkae::data::Labels;
use dkae::kernel::Prior;
use dkae::net::{Model, Record};
use dkae::progress::Progress;
use dkae::recipe::{Prepared, Source};
use ndarray::{Array2, ArrayView2, Axis, concatenate, s};
use serde::Serialize;

use crate::{Error, Result};
use classify::Accuracies;
use denoising::Denoising;
use kernels::{Groups, Kernels};
use looks::{Given, Looks, Sheet};
use map::Map;
use pack::Packed;
use rows::{Held, PARTS, Ranked, Rows, classes, errors};
use summary::Summary;
use walks::Walks;
use worst::{Worst, least_aligned};

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
    /// How long things took, as far as is known; that of training is called [`TRAINING`].
    pub times: &'a [(String, Duration)],
    /// What a reader must know besides, a sentence each.
    pub notes: &'a [String],
}

/// What the time of training is called.
pub const TRAINING: &str = "training";

/// Rows encoded and decoded at a time: the activations of all layers of all rows at once could be large.
const BLOCK: usize = 1024;

/// The most bytes of a page: 5 MB, with something to spare.
const MOST_BYTES: usize = 4_900_000;

/// How much a page shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Held-out rows on the map, at most, besides the worst: test rows first, then validation rows. Default 3000.
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
    #[serde(skip)]
    about_bars: String,
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

impl Report {
    /// Computes all that the page shows.
    pub fn gather(&self, subject: &Subject, progress: &dyn Progress) -> Result<Page> {
        self.check()?;
        tell(progress, 0, "report: linear machines")?;
        let since = Instant::now();
        let accuracies = match classes(subject.rows) {
            Some(labels) => self.accuracies(subject.model, subject.rows, labels, progress)?,
            None => None,
        };
        let ranked = Ranked::new(subject, self.worst, progress)?;
        let machines = accuracies.map(|_| ("fitting both linear SVMs".to_owned(), since.elapsed()));
        let mut settings = self.clone();
        loop {
            let mut page = settings.attempt(subject, accuracies, &ranked, progress)?;
            page.summary.times.extend(machines.clone());
            let bytes = page.html()?.len();
            if bytes <= MOST_BYTES || page.rows.regular <= 1 {
                return Ok(page);
            }
            // With smaller pictures all sheets shrink, with fewer rows only theirs: small steps, but not too many.
            let budget = settings.budget.min(bytes);
            settings.budget = (budget / 4 * 3).min(budget.saturating_sub(bytes - MOST_BYTES));
            if let looks::Legend::Features { .. } = page.looks {
                settings.points = page.rows.regular / 2;
            }
        }
    }

    /// All that the page shows, however large it becomes.
    fn attempt(
        &self,
        subject: &Subject,
        accuracies: Option<Accuracies>,
        ranked: &Ranked,
        progress: &dyn Progress,
    ) -> Result<Page> {
        let Subject { model, rows, .. } = *subject;
        let tell = |done: u64, what: &str| tell(progress, done, what);
        let labels = classes(rows);

        tell(1, "report: rows")?;
        let train = rows.parts[0].slice(s![..rows.parts[0].nrows().min(self.fitted), ..]);
        let mut looks = Looks::new(model, subject.source, &rows.split.train)?;
        let limit = looks.fit(model, Held::new(subject, self.points, &[])?.x.view(), self.budget, self.points)?;
        let held = Held::new(subject, limit, &ranked.worst)?;
        let classes = held.classes.clone();
        let since = Instant::now();
        let codes = encode(model, held.x.view())?;
        let mut encoding = since.elapsed();
        let back = decode(model, codes.view())?;
        let errors = errors(held.x.view(), back.view());
        let largest = looks.largest(Given::Rows(&held.raw))?;
        let original = looks.add(Given::Rows(&held.raw), &largest)?;
        let restored = looks.add(Given::Network(&back), &largest)?;

        tell(2, "report: code space")?;
        let since = Instant::now();
        let train_codes = encode(model, train)?;
        encoding += since.elapsed();
        let most = train_codes.ncols().min(train_codes.nrows() - 1).min(denoising::MOST);
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
        let misaligned = match subject.priors {
            Some(priors) => least_aligned(priors, codes.view(), &held, self.worst, progress)?,
            None => Vec::new(),
        };
        let worst = Worst::new(ranked, &errors, misaligned, (&mut looks, &largest), &held, back.view())?;
        let (about_values, about_bars) = (looks.about_values(), looks.about_bars());
        let (looks, sheets) = looks.finish();
        let mut summary = Summary::new(subject, accuracies);
        summary.times.push((format!("encoding {} rows", held.x.nrows() + train.nrows()), encoding));
        tell(5, "report")?;
        Ok(Page {
            summary,
            history: model.about().history.clone(),
            layers: model.net().layers().len(),
            about_values,
            about_bars,
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
                regular: held.regular,
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

/// Tells how far the work is; an error when it is to stop.
fn tell(progress: &dyn Progress, done: u64, what: &str) -> Result<()> {
    progress.step(what, done, 5);
    if progress.stop() { Err(dkae::Error::Interrupted.into()) } else { Ok(()) }
}

/// Codes of prepared rows, block by block.
fn encode(model: &Model, x: ArrayView2<f32>) -> Result<Array2<f32>> {
    by_blocks(x, |block| model.net().encode(block))
}

/// Prepared rows of codes.
fn decode(model: &Model, codes: ArrayView2<f32>) -> Result<Array2<f32>> {
    by_blocks(codes, |block| model.net().decode(block))
}

fn by_blocks(x: ArrayView2<f32>, work: impl Fn(ArrayView2<f32>) -> dkae::Result<Array2<f32>>) -> Result<Array2<f32>> {
    let blocks = x.axis_chunks_iter(Axis(0), BLOCK).map(work).collect::<dkae::Result<Vec<_>>>()?;
    let views: Vec<_> = blocks.iter().map(|b| b.view()).collect();
    concatenate(Axis(0), &views).map_err(|_| Error::Data("there are no rows".to_owned()))
}

#[cfg(test)]
mod tests;
