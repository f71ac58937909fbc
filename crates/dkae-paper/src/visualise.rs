//! `visualise`: test digits in two dimensions by five methods, and how well the nearest training digit on the map names
//! them (section 5.1, figure 6 and table 3).
//!
//! Every map is fitted on the training rows and applied to the test rows. KECA keeps 10 components under a Gaussian kernel of
//! 0.15 of the median distance, then PCA two; codes of the three autoencoders go through PCA; ISOMAP needs none. The score
//! is the accuracy of 1-NN on the map: training rows are the neighbours, test rows are asked about. It is the mean of several
//! seeds, each with its own split, since one moves it by a point; the maps of the first are shown.

use std::ops::Range;

use dkae::baseline::Isomap;
use dkae::baseline::Keca;
use dkae::baseline::knn::Knn;
use dkae::code::Pca;
use dkae::method::{Classify, Embed};
use dkae::metrics::accuracy;
use dkae::net::Model;
use dkae::progress::Progress;
use dkae::recipe::Recipe;
use dkae::train::{Noise, Trainer};
use dkae_report::Figure;
use dkae_report::dots::{Dot, Dots, Line};
use dkae_report::panel::{Part, Sheet};
use dkae_report::scatter::Map;
use ndarray::{Array2, s};
use serde::Serialize;

use crate::Result;
use crate::budget::Plan;
use crate::context::{Context, Job};
use crate::data::{Data, Set};
use crate::report::{self, Scored, Table, order, printed, ranked, scored, summary};

/// The methods and the paper's accuracies in per cent.
const METHODS: [(&str, Option<f64>); 5] = [
    ("KECA", Some(29.5)),
    ("ISOMAP", Some(36.8)),
    ("AE+PCA", Some(30.5)),
    ("DAE+PCA", Some(31.2)),
    ("dkAE+PCA", Some(39.6)),
];
/// Leading eigenvectors that KECA chooses from, where there are so many rows.
const CANDIDATES: usize = 256;
/// Points drawn on a map.
const POINTS: usize = 1500;

/// The scores, and the maps.
#[derive(Serialize)]
pub struct Results {
    /// Accuracy of 1-NN on the map of each method, in per cent: the mean of all seeds.
    pub accuracies: Vec<Scored>,
    /// The same for each method and seed.
    pub by_seed: Vec<Vec<f64>>,
    /// How the methods that are no networks were set.
    pub baselines: Baselines,
    /// Test rows on each map.
    #[serde(skip)]
    pub maps: Vec<Array2<f32>>,
    #[serde(skip)]
    labels: Vec<usize>,
    #[serde(skip)]
    names: Vec<String>,
}

/// Settings of KECA and ISOMAP.
#[derive(Clone, Debug, Serialize)]
pub struct Baselines {
    /// The width of KECA's kernel, as a part of the median distance.
    pub keca_width: f64,
    /// Its components, on which PCA follows.
    pub keca_components: usize,
    /// How many leading eigenvectors these were chosen from, by entropy.
    pub keca_candidates: usize,
    /// Whether no eigenvector beyond those can have more of it.
    pub keca_exact: bool,
    /// Neighbours in ISOMAP's graph.
    pub isomap_neighbours: usize,
    /// Its landmarks.
    pub isomap_landmarks: usize,
}

/// The plain, the denoising and the kernelized autoencoder.
fn recipes(plan: &Plan, seed: u64) -> [Recipe; 3] {
    let usual = plan.recipe(Set::Mnist, seed);
    let plain = Plan::with_lambda(&usual, 0.0);
    let masked = Trainer { noise: Noise::Mask(0.2), ..plain.train.clone() };
    [plain.clone(), Recipe { train: masked, ..plain }, usual]
}

/// The seeds, each with its own split of the rows.
fn seeds(plan: &Plan, first: u64) -> Range<u64> {
    first..first + plan.seeds
}

/// The trainings it stands on.
pub fn jobs(plan: &Plan, first: u64) -> Vec<Job> {
    seeds(plan, first).flat_map(|seed| recipes(plan, seed)).map(|recipe| Job { set: Set::Mnist, recipe }).collect()
}

/// Training and test rows on a map.
type Maps = [Array2<f32>; 2];

/// Two principal components of the training rows.
fn two_components(context: &Context, [train, test]: Maps) -> Result<Maps> {
    let fit = |progress: &dyn Progress| Ok(Pca::default().fit_watched(train.view(), progress)?);
    let pca = context.work("principal components", fit)?;
    Ok([pca.transform(train.view())?, pca.transform(test.view())?])
}

fn maps(context: &Context, data: &Data, models: &[Model], seed: u64) -> Result<(Vec<Maps>, Baselines)> {
    let [x, _, new] = &data.prepared.parts;
    let by_entropy = Keca { components: 10, candidates: CANDIDATES, seed, ..Keca::default() };
    let keca = context.work("KECA", |progress| Ok(by_entropy.fit(x.view(), progress)?))?;
    let mut maps = vec![two_components(context, [keca.spectrum.scores(), keca.embed(new.view())?])?];
    let by_paths = Isomap { landmarks: context.plan.landmarks, seed, ..Isomap::default() };
    let isomap = context.work("ISOMAP", |progress| Ok(by_paths.fit(x.view(), progress)?))?;
    maps.push([isomap.scores.clone(), isomap.embed(new.view())?]);
    for model in models {
        maps.push(two_components(context, [model.encode(x.view())?, model.encode(new.view())?])?);
    }
    let baselines = Baselines {
        keca_width: by_entropy.width,
        keca_components: by_entropy.components,
        keca_candidates: by_entropy.candidates,
        keca_exact: keca.exact,
        isomap_neighbours: by_paths.neighbours,
        isomap_landmarks: by_paths.landmarks,
    };
    Ok((maps, baselines))
}

/// Test rows on the maps of one seed, with what is known of them.
struct Shown {
    accuracies: Vec<f64>,
    maps: Vec<Array2<f32>>,
    baselines: Baselines,
    labels: Vec<usize>,
    names: Vec<String>,
}

fn shown(context: &Context, seed: u64) -> Result<Shown> {
    let data = context.data(Set::Mnist, seed)?;
    let models = context.models(&data, &recipes(&context.plan, seed))?;
    let [own, _, asked] = data.labels();
    let (mut accuracies, mut shown) = (Vec::new(), Vec::new());
    let (maps, baselines) = maps(context, &data, &models, seed)?;
    for [train, test] in maps {
        let found = Knn::default().fit(train.view(), &own.index)?.classify(test.view())?;
        accuracies.push(100.0 * accuracy(&asked.index, &found)?);
        shown.push(test);
    }
    let labels = asked.index.iter().map(|&l| l as usize).collect();
    Ok(Shown { accuracies, maps: shown, baselines, labels, names: asked.names.clone() })
}

/// Trains and measures.
pub fn run(context: &Context) -> Result<Results> {
    let Shown { accuracies: first, maps, baselines, labels, names } = shown(context, context.seed)?;
    let mut by_seed: Vec<Vec<f64>> = first.into_iter().map(|accuracy| vec![accuracy]).collect();
    for seed in seeds(&context.plan, context.seed).skip(1) {
        let more = shown(context, seed)?.accuracies;
        by_seed.iter_mut().zip(more).for_each(|(all, accuracy)| all.push(accuracy));
    }
    let means: Vec<f64> = by_seed.iter().filter_map(|all| Some(summary(all)?.value)).collect();
    Ok(Results { accuracies: scored(&METHODS, &means), by_seed, baselines, maps, labels, names })
}

impl report::Results for Results {
    fn figure(&self) -> Result<Figure> {
        let count = self.labels.len().min(POINTS);
        let draw = |map: &Array2<f32>| {
            let settings = Map { width: 330.0, height: 310.0, ..Map::default() };
            settings.draw(map.slice(s![..count, ..]), &self.labels[..count], &self.names)
        };
        let drawn = self.maps.iter().map(draw).collect::<Result<Vec<_>, _>>()?;
        let both = || self.accuracies.iter().zip(&self.by_seed);
        let titles: Vec<String> = both().map(|(s, all)| format!("{}: 1-NN {:.1} %", s.method, all[0])).collect();
        let dot = |value| Dot { value, spread: 0.0 };
        let line =
            |(s, all): (&Scored, &Vec<f64>)| Line { name: s.method, values: vec![summary(all), s.paper.map(dot)] };
        let lines: Vec<Line> = both().map(line).collect();
        let kinds = vec!["here".into(), "paper".into()];
        let label = format!("1-NN accuracy, %: mean ± deviation, {} seeds", self.by_seed[0].len());
        let scores = Dots { width: 330.0, label, kinds, ..Dots::default() }.draw(&lines)?;
        let mut parts: Vec<Part> = titles.iter().zip(&drawn).map(|(title, figure)| Part { title, figure }).collect();
        parts.push(Part { title: "Accuracies", figure: &scores });
        let rows: Vec<Vec<Part>> = parts.chunks(3).map(<[_]>::to_vec).collect();
        Ok(Sheet { letters: true, ..Sheet::default() }.draw(&rows)?)
    }

    fn table(&self) -> Table {
        let title = "7. `visualise`: 1-NN accuracy on 2-D maps of the test part in per cent (figure 6, table 3), MNIST";
        let mut table = Table::new(title, &["method", "here", "paper"]);
        for (Scored { method, value, paper }, all) in self.accuracies.iter().zip(&self.by_seed) {
            let spread = summary(all).map_or(0.0, |dot| dot.spread);
            table.row([method.to_string(), format!("{value:.1} ± {spread:.1}"), printed(*paper, 1)]);
        }
        table.note(order(&ranked(&self.accuracies), true));
        table.note(format!(
            "Mean ± standard deviation of {} seeds. Maps are fitted on the training rows; test rows look for their nearest training \
             row on the map. ISOMAP has {} neighbours and {} landmarks. The figure shows {} of the {} test rows, first seed.",
            self.by_seed[0].len(),
            self.baselines.isomap_neighbours,
            self.baselines.isomap_landmarks,
            self.labels.len().min(POINTS),
            self.labels.len()
        ));
        table
    }
}
