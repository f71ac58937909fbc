//! `visualise`: test digits in two dimensions by the paper's five methods, and how well the nearest training digit on the map
//! names them (section 5.1, figure 6 and table 3).
//!
//! Every map is fitted on the training rows and applied to the test rows. KECA keeps 10 components under a Gaussian kernel of
//! 0.15 of the median distance, then PCA two; codes of the three autoencoders go through PCA; ISOMAP needs none. The score
//! is the accuracy of 1-NN on the map: training rows are the neighbours, test rows are asked about. It is the mean of several
//! seeds, each with its own split, since one moves it by a point; the maps of the first are shown.
//!
//! A map of dkAE shows its prior, so beside the paper's prior there is one that is chosen for the map. That needs no training: kernel
//! PCA of the prior is what the codes are led to, and the prior whose map by kernel PCA has the best score on the validation
//! rows is taken, for each seed by itself. Kernel PCA has a row for both priors, and ISOMAP one with its neighbours chosen likewise.

use std::ops::Range;

use dkae::baseline::knn::Knn;
use dkae::baseline::{Isomap, Keca, Kpca};
use dkae::code::Pca;
use dkae::kernel::{Floor, KernelSpec, Pck};
use dkae::method::{Classify, Embed};
use dkae::metrics::accuracy;
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
const METHODS: [(&str, Option<f64>); 9] = [
    ("KECA", Some(29.5)),
    ("ISOMAP", Some(36.8)),
    ("AE+PCA", Some(30.5)),
    ("DAE+PCA", Some(31.2)),
    ("dkAE+PCA", Some(39.6)),
    ("dkAE+PCA, prior chosen", None),
    ("kPCA, PCK", None),
    ("kPCA, prior chosen", None),
    ("ISOMAP, neighbours chosen", None),
];
/// Those whose maps are drawn, which come first.
const DRAWN: usize = 6;
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
    /// How what is no network was set, and what was chosen, for each seed.
    pub setup: Vec<Setup>,
    /// Test rows on each map.
    #[serde(skip)]
    pub maps: Vec<Array2<f32>>,
    #[serde(skip)]
    labels: Vec<usize>,
    #[serde(skip)]
    names: Vec<String>,
}

/// How what is no network was set, and what was chosen.
#[derive(Clone, Debug, Serialize)]
pub struct Setup {
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
    /// Accuracy on the validation rows for each prior that was tried, on its map by kernel PCA; the best is taken.
    pub priors: Vec<Tried>,
    /// The same for each number of neighbours that ISOMAP was tried with.
    pub neighbours: Vec<Tried>,
}

/// A setting that was tried.
#[derive(Clone, Debug, Serialize)]
pub struct Tried {
    /// The setting.
    pub name: String,
    /// Per cent of the validation rows.
    pub validation: f64,
}

/// The plain, the denoising and the kernelized autoencoder.
fn recipes(plan: &Plan, seed: u64) -> [Recipe; 3] {
    let usual = plan.recipe(Set::Mnist, seed);
    let plain = Plan::with_lambda(&usual, 0.0);
    let masked = Trainer { noise: Noise::Mask(0.2), ..plain.train.clone() };
    [plain.clone(), Recipe { train: masked, ..plain }, usual]
}

/// The kernelized autoencoder with another prior.
fn with_prior(plan: &Plan, seed: u64, prior: &Pck) -> Recipe {
    Recipe { kernel: KernelSpec::Pck(prior.clone()), ..plan.recipe(Set::Mnist, seed) }
}

/// The priors to choose from, the paper's first.
fn candidates(plan: &Plan) -> Vec<Pck> {
    [&plan.pck].into_iter().chain(&plan.map_priors).cloned().collect()
}

/// What tells the priors that are tried from each other.
fn short_name(prior: &Pck) -> String {
    let floor = match prior.floor {
        Floor::Absolute(variance) => variance.to_string(),
        Floor::Relative(share) => format!("{share} of the variance"),
    };
    format!("{} rows, Q {}, floor {floor}", prior.subset, prior.restarts)
}

/// The seeds, each with its own split of the rows.
fn seeds(plan: &Plan, first: u64) -> Range<u64> {
    first..first + plan.seeds
}

/// The trainings it stands on; the prior of the last of each seed is not known before, but all take about as long.
pub fn jobs(plan: &Plan, first: u64) -> Vec<Job> {
    let chosen = |seed| plan.map_priors.last().map(|prior| with_prior(plan, seed, prior));
    let all = seeds(plan, first).flat_map(|seed| recipes(plan, seed).into_iter().chain(chosen(seed)));
    all.map(|recipe| Job { set: Set::Mnist, recipe }).collect()
}

/// Training, validation and test rows on a map.
type Maps = [Array2<f32>; 3];

/// The map of a method that was fitted on the training rows, which it has placed.
fn map_of(method: &impl Embed, placed: Array2<f32>, data: &Data) -> Result<Maps> {
    let [_, asked, new] = &data.prepared.parts;
    Ok([placed, method.embed(asked.view())?, method.embed(new.view())?])
}

/// Two principal components of the training rows.
fn two_components(context: &Context, maps: Maps) -> Result<Maps> {
    let fit = |progress: &dyn Progress| Ok(Pca::default().fit_watched(maps[0].view(), progress)?);
    let pca = context.work("principal components", fit)?;
    let [own, asked, new] = maps.each_ref().map(|z| pca.transform(z.view()));
    Ok([own?, asked?, new?])
}

/// The map of codes.
fn of_codes(context: &Context, data: &Data, recipe: &Recipe) -> Result<Maps> {
    let model = context.model(data, recipe)?;
    let [own, asked, new] = data.prepared.parts.each_ref().map(|x| model.encode(x.view()));
    two_components(context, [own?, asked?, new?])
}

/// The map of a prior by kernel PCA.
fn of_prior(context: &Context, data: &Data, recipe: &Recipe) -> Result<Maps> {
    let KernelSpec::Pck(pck) = recipe.seeded().kernel else {
        return Err(dkae::Error::setting("kernel", "expected the probabilistic cluster kernel").into());
    };
    let x = data.prepared.parts[0].view();
    let kpca = context.work("kernel PCA of a prior", |progress| {
        let settings = Kpca { seed: recipe.seed, ..Kpca::default() };
        Ok(settings.fit_pck(pck.fit_watched(x, progress)?, x, progress)?)
    })?;
    map_of(&kpca, kpca.model.spectrum.scores(), data)
}

/// Per cent of the rows of a part whose nearest training row on the map has their class.
fn score(data: &Data, maps: &Maps, part: usize) -> Result<f64> {
    let labels = data.labels();
    let found = Knn::default().fit(maps[0].view(), &labels[0].index)?.classify(maps[part].view())?;
    Ok(100.0 * accuracy(&labels[part].index, &found)?)
}

/// The maps of all settings, and their scores on validation rows.
fn try_all<T>(
    data: &Data,
    settings: &[T],
    name: impl Fn(&T) -> String,
    map: impl Fn(&T) -> Result<Maps>,
) -> Result<(Vec<Maps>, Vec<Tried>)> {
    let one = |setting| {
        let maps = map(setting)?;
        let tried = Tried { name: name(setting), validation: score(data, &maps, 1)? };
        Ok((maps, tried))
    };
    settings.iter().map(one).collect()
}

/// The place of the best score; the first of equals.
fn best(tried: &[Tried]) -> usize {
    let by_score = |a: &usize, b: &usize| tried[*a].validation.total_cmp(&tried[*b].validation);
    (0..tried.len()).rev().max_by(by_score).unwrap_or(0)
}

/// What one seed gives.
struct Shown {
    accuracies: Vec<f64>,
    /// Test rows on the maps that are drawn.
    maps: Vec<Array2<f32>>,
    setup: Setup,
    labels: Vec<usize>,
    names: Vec<String>,
}

fn shown(context: &Context, seed: u64) -> Result<Shown> {
    let plan = &context.plan;
    let data = context.data(Set::Mnist, seed)?;
    let x = data.prepared.parts[0].view();
    let by_entropy = Keca { components: 10, candidates: CANDIDATES, seed, ..Keca::default() };
    let keca = context.work("KECA", |progress| Ok(by_entropy.fit(x, progress)?))?;
    let by_paths = |&neighbours: &usize| {
        let settings = Isomap { neighbours, landmarks: plan.landmarks, seed, ..Isomap::default() };
        let isomap = context.work("ISOMAP", |progress| Ok(settings.fit(x, progress)?))?;
        map_of(&isomap, isomap.scores.clone(), &data)
    };
    let (mut isomaps, neighbours) = try_all(&data, &plan.neighbours, |k| format!("{k} neighbours"), by_paths)?;
    let [plain, masked, aligned] = recipes(plan, seed);
    let with = |prior: &Pck| with_prior(plan, seed, prior);
    let (mut kpcas, priors) =
        try_all(&data, &candidates(plan), short_name, |prior| of_prior(context, &data, &with(prior)))?;
    let all: [Maps; METHODS.len()] = [
        two_components(context, map_of(&keca, keca.spectrum.scores(), &data)?)?,
        isomaps[0].clone(),
        of_codes(context, &data, &plain)?,
        of_codes(context, &data, &masked)?,
        of_codes(context, &data, &aligned)?,
        of_codes(context, &data, &with(&candidates(plan)[best(&priors)]))?,
        kpcas[0].clone(),
        kpcas.swap_remove(best(&priors)),
        isomaps.swap_remove(best(&neighbours)),
    ];
    let accuracies = all.iter().map(|maps| score(&data, maps, 2)).collect::<Result<_>>()?;
    let setup = Setup {
        keca_width: by_entropy.width,
        keca_components: by_entropy.components,
        keca_candidates: by_entropy.candidates,
        keca_exact: keca.exact,
        isomap_neighbours: plan.neighbours[0],
        isomap_landmarks: plan.landmarks,
        priors,
        neighbours,
    };
    let asked = &data.labels()[2];
    let labels = asked.index.iter().map(|&l| l as usize).collect();
    let maps = all.into_iter().take(DRAWN).map(|[_, _, test]| test).collect();
    Ok(Shown { accuracies, maps, setup, labels, names: asked.names.clone() })
}

/// Trains and measures.
pub fn run(context: &Context) -> Result<Results> {
    let Shown { accuracies: first, maps, setup, labels, names } = shown(context, context.seed)?;
    let mut by_seed: Vec<Vec<f64>> = first.into_iter().map(|accuracy| vec![accuracy]).collect();
    let mut setup = vec![setup];
    for seed in seeds(&context.plan, context.seed).skip(1) {
        let more = shown(context, seed)?;
        by_seed.iter_mut().zip(more.accuracies).for_each(|(all, accuracy)| all.push(accuracy));
        setup.push(more.setup);
    }
    let means: Vec<f64> = by_seed.iter().filter_map(|all| Some(summary(all)?.value)).collect();
    Ok(Results { accuracies: scored(&METHODS, &means), by_seed, setup, maps, labels, names })
}

impl Results {
    /// What was tried, with its scores on the validation rows of each seed, the best of them in bold.
    fn validation(&self, of: impl Fn(&Setup) -> &[Tried]) -> String {
        let seeds: Vec<&[Tried]> = self.setup.iter().map(of).collect();
        let one = |(i, tried): (usize, &Tried)| {
            let score = |seed: &&[Tried]| match best(seed) == i {
                true => format!("**{:.1}**", seed[i].validation),
                false => format!("{:.1}", seed[i].validation),
            };
            let scores: Vec<String> = seeds.iter().map(score).collect();
            format!("{}: {}", tried.name, scores.join(", "))
        };
        seeds[0].iter().enumerate().map(one).collect::<Vec<_>>().join("; ")
    }
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
        let titles: Vec<String> = both().map(|(s, all)| format!("{}: {:.1} %, first seed", s.method, all[0])).collect();
        let dot = |value| Dot { value, spread: 0.0 };
        let line =
            |(s, all): (&Scored, &Vec<f64>)| Line { name: s.method, values: vec![summary(all), s.paper.map(dot)] };
        let lines: Vec<Line> = both().map(line).collect();
        let kinds = vec!["here".into(), "paper".into()];
        let label = format!("1-NN accuracy, %: mean ± deviation, {} seeds", self.by_seed[0].len());
        let scores = Dots { width: 700.0, label, kinds, ..Dots::default() }.draw(&lines)?;
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
        let first = &self.setup[0];
        table.note(format!(
            "Mean ± standard deviation of {} seeds. Maps are fitted on the training rows; test rows look for their nearest training \
             row on the map. ISOMAP has {} neighbours and {} landmarks. The figure shows {} of the {} test rows, first seed.",
            self.by_seed[0].len(),
            first.isomap_neighbours,
            first.isomap_landmarks,
            self.labels.len().min(POINTS),
            self.labels.len()
        ));
        table.note(
            "Without the paper's number: a prior chosen on validation rows, for each seed by itself, by the score of its map by kernel PCA, before \
             anything is trained; kernel PCA itself under the paper's prior and under that one; and ISOMAP with its neighbours \
             chosen in the same way.",
        );
        let priors = self.validation(|setup| &setup.priors);
        let neighbours = self.validation(|setup| &setup.neighbours);
        table.note(format!("Per cent of the validation rows, seed by seed, what was chosen in bold. Priors by kernel PCA, PCK of {priors}. ISOMAP with {neighbours}."));
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_best_is_chosen_and_shown_in_bold_for_each_seed() {
        let tried = |scores: [f64; 3]| -> Vec<Tried> {
            let one = |(name, validation): (&str, f64)| Tried { name: name.into(), validation };
            ["a", "b", "c"].into_iter().zip(scores).map(one).collect()
        };
        assert_eq!((best(&tried([1.0, 3.0, 3.0])), best(&tried([2.0, 1.0, 0.0]))), (1, 0));
        let setup = |scores| Setup {
            keca_width: 0.15,
            keca_components: 10,
            keca_candidates: 64,
            keca_exact: true,
            isomap_neighbours: 5,
            isomap_landmarks: 9,
            priors: tried(scores),
            neighbours: Vec::new(),
        };
        let results = Results {
            accuracies: Vec::new(),
            by_seed: Vec::new(),
            setup: vec![setup([1.0, 3.0, 2.0]), setup([4.0, 3.5, 2.0])],
            maps: Vec::new(),
            labels: Vec::new(),
            names: Vec::new(),
        };
        assert_eq!(results.validation(|setup| &setup.priors), "a: 1.0, **4.0**; b: **3.0**, 3.5; c: 2.0, 2.0");
    }

    #[test]
    fn the_papers_prior_comes_first_and_no_other_is_the_same() {
        for budget in crate::budget::Budget::ALL {
            let plan = Plan::of(budget);
            let all = candidates(&plan);
            assert_eq!(all[0], plan.pck);
            assert!((1..all.len()).all(|i| !all[..i].contains(&all[i])), "{budget}");
        }
    }
}
