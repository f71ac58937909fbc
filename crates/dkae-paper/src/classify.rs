//! `classify`: support vector machines on rows and on codes (section 5.1, table 2), and what the alignment adds.
//!
//! | row | machine | on |
//! |---|---|---|
//! | SVM | linear | rows |
//! | kSVM, PCK | kernel, the prior itself | rows; the paper does not name the kernel of its kSVM, on MNIST this one fits |
//! | kSVM, RBF | kernel, radial basis functions | rows; the strongest that the paper leaves out |
//! | AE codes | linear | codes of the plain autoencoder: the same network at lambda 0, also left out by the paper |
//! | cSVM | linear | codes aligned with the PCK, lambda 0.1 |
//! | cSVM, best in the trial | linear | codes of the candidate that is best on the validation rows |
//! | plain codes of that network | linear | codes of that candidate's network, trained without its prior: what alignment adds to it |
//! | scSVM | linear | codes aligned with the ideal kernel of the training labels; those of validation rows choose when to stop |
//! | scSVM, best in the trial | linear | the same with the candidate that is best on the validation rows |
//!
//! C, and the width of radial basis functions, are chosen on the validation rows of each split. So is the winner of the trial
//! (trial.rs), on those of the first seed alone, some of which are test rows of the other seeds. Weights start as in the paper, at
//! random and pretrained, but for the candidates that say so.

mod shown;
mod trial;

use std::collections::BTreeMap;

use dkae::baseline::svm::choose::{self, Choice, Part, Tried};
use dkae::baseline::svm::{KernelSvm, LinearSvm, LinearSvmModel};
use dkae::kernel::{Kernel, KernelSpec, Rbf, Width};
use dkae::method::Classify;
use dkae::metrics::accuracy;
use dkae::net::Model;
use dkae::progress::Progress;
use dkae::recipe::Recipe;
use ndarray::{Array2, Axis};
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::budget::Plan;
use crate::context::{Context, Job};
use crate::data::{Data, Set};
pub use trial::Candidate;
use trial::{BEST, compare, decide, leader, priors, supervised_candidates, variants, winner, without_prior};

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Method {
    Svm,
    KernelPck,
    KernelRbf,
    PlainCodes,
    Codes,
    BestCodes,
    BestPlainCodes,
    SupervisedCodes,
    BestSupervisedCodes,
}

use Method::*;

impl Method {
    const ALL: [Method; 9] =
        [Svm, KernelPck, KernelRbf, PlainCodes, Codes, BestCodes, BestPlainCodes, SupervisedCodes, BestSupervisedCodes];

    /// Whether it is measured in the other orders of CLOUD too, where there is no trial.
    fn everywhere(self) -> bool {
        !matches!(self, BestCodes | BestPlainCodes | BestSupervisedCodes)
    }

    fn name(self) -> &'static str {
        match self {
            Svm => "SVM",
            KernelPck => "kSVM, PCK",
            KernelRbf => "kSVM, RBF",
            PlainCodes => "SVM on plain AE codes",
            Codes => "cSVM",
            BestCodes => "cSVM, best in the trial",
            BestPlainCodes => "plain codes of that network",
            SupervisedCodes => "scSVM",
            BestSupervisedCodes => "scSVM, best in the trial",
        }
    }

    /// The paper's accuracy in per cent, where it prints one.
    fn paper(self, set: Set) -> Option<f64> {
        let [mnist, cloud, cifar, reuters] = match self {
            Svm => [90.60, 99.50, 36.60, 91.40],
            KernelPck => [93.80, 99.60, 36.93, 93.23],
            Codes => [94.80, 99.63, 38.17, 93.77],
            SupervisedCodes => [96.23, 99.70, 42.73, 94.17],
            KernelRbf | PlainCodes | BestCodes | BestPlainCodes | BestSupervisedCodes => return None,
        };
        match set {
            Set::Mnist => Some(mnist),
            Set::Cloud([3, 1, 2]) => Some(cloud),
            Set::Cifar => Some(cifar),
            Set::Reuters => Some(reuters),
            Set::Cloud(_) | Set::FiveSix => None,
        }
    }
}

/// How one machine did on one split of a set.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Score {
    /// Accuracy on the validation rows, in per cent.
    pub validation: f64,
    /// Accuracy on the test rows, in per cent.
    pub test: f64,
    /// The settings that were best on the validation rows.
    pub chosen: String,
    /// Whether the machine met its tolerance.
    pub converged: bool,
}

/// All scores on a set.
#[derive(Debug, Serialize)]
pub struct Column {
    /// The set.
    pub set: Set,
    /// Whether it is the paper's.
    pub origin: &'static str,
    /// Of every method the scores of all seeds.
    pub scores: BTreeMap<Method, Vec<Score>>,
    /// What was compared for the best codes.
    pub candidates: Vec<Candidate>,
    /// What was compared for the best codes that know the labels of the training rows.
    pub supervised_candidates: Vec<Candidate>,
}

/// All scores.
#[derive(Debug, Serialize)]
pub struct Results {
    /// The share of their steps that candidates had.
    pub trial: f64,
    /// One for each set.
    pub columns: Vec<Column>,
    /// CLOUD with the images in other roles.
    pub orders: Vec<Column>,
}

/// The seeds a set is measured with.
fn seeds(plan: &Plan, set: Set, first: u64) -> Vec<u64> {
    let count = if matches!(set, Set::Mnist | Set::Reuters) { plan.seeds } else { 1 };
    (first..first + count).collect()
}

/// The plain autoencoder, the paper's setting, and the supervised one.
fn recipes(plan: &Plan, set: Set, seed: u64) -> [Recipe; 3] {
    let usual = plan.classified(set, seed);
    [Plan::with_lambda(&usual, 0.0), usual.clone(), Recipe { kernel: KernelSpec::Ideal, ..usual }]
}

/// The trainings it stands on; the best of the candidates are taken to be the last.
pub fn jobs(plan: &Plan, first: u64) -> Vec<Job> {
    let mut jobs = Vec::new();
    for &set in &plan.sets {
        let tried = [priors(plan, set, first), variants(plan, set, first, 0), supervised_candidates(plan, set, first)];
        jobs.extend(tried.into_iter().flatten().map(|(_, recipe)| Job { set, recipe: plan.trial(&recipe) }));
        for seed in seeds(plan, set, first) {
            jobs.extend(recipes(plan, set, seed).map(|recipe| Job { set, recipe }));
            // The runners-up are trained for the first seed alone.
            let count = if seed == first { BEST } else { 1 };
            let last = |all: Vec<(String, Recipe)>| all.into_iter().rev().map(|(_, recipe)| recipe).take(count);
            let best: Vec<Recipe> = last(variants(plan, set, seed, 0)).collect();
            let plain = best.first().map(|recipe| without_prior(plan, set, recipe));
            let all = best.into_iter().chain(plain).chain(last(supervised_candidates(plan, set, seed)));
            jobs.extend(all.map(|recipe| Job { set, recipe }));
        }
    }
    for set in orders(plan) {
        jobs.extend(recipes(plan, set, first).map(|recipe| Job { set, recipe }));
    }
    jobs
}

fn orders(plan: &Plan) -> Vec<Set> {
    if plan.sets.contains(&Set::CLOUD) { Set::OTHER_ORDERS.to_vec() } else { Vec::new() }
}

fn part<'a>(x: &'a [Array2<f32>; 3], data: &'a Data, i: usize) -> Part<'a> {
    Part { x: x[i].view(), labels: &data.labels()[i].index }
}

fn linear(context: &Context, data: &Data, x: &[Array2<f32>; 3], what: &str) -> Result<Choice<LinearSvmModel>> {
    let settings = LinearSvm { seed: context.seed, ..LinearSvm::default() };
    context.work(&format!("{}: linear SVM on {what}", data.set.name()), |progress| {
        let (train, validation) = (part(x, data, 0), part(x, data, 1));
        Ok(choose::linear(&settings, &context.plan.prices, train, validation, progress)?)
    })
}

fn score(data: &Data, test: &Array2<f32>, model: &dyn Classify, best: Tried, chosen: String) -> Result<Score> {
    let found = model.classify(test.view())?;
    let test = 100.0 * accuracy(&data.labels()[2].index, &found)?;
    Ok(Score { validation: 100.0 * best.accuracy, test, chosen, converged: best.converged })
}

fn on_features(context: &Context, data: &Data, x: &[Array2<f32>; 3], what: &str) -> Result<Score> {
    let choice = linear(context, data, x, what)?;
    score(data, &x[2], &choice.model, choice.best, format!("C {}", choice.best.c))
}

fn codes(model: &Model, data: &Data) -> Result<[Array2<f32>; 3]> {
    let [a, b, c] = data.prepared.parts.each_ref().map(|x| model.encode(x.view()));
    Ok([a?, b?, c?])
}

fn on_codes(context: &Context, data: &Data, recipe: &Recipe, what: &str) -> Result<Score> {
    let inputs = ("linear SVM on codes", data.fingerprint, recipe.seeded(), &context.plan.prices);
    // The model also where the score is known: it is in the log of trainings then.
    let model = context.model(data, recipe)?;
    context.store.remember(&inputs, || on_features(context, data, &codes(&model, data)?, what))
}

/// A kernel machine; kernels with their names, wide ones first.
fn on_kernel(context: &Context, data: &Data, kernels: &[(String, Box<dyn Kernel>)], what: &str) -> Result<Score> {
    let plan = &context.plan;
    let x = &data.prepared.parts;
    let (train, validation) = (part(x, data, 0), part(x, data, 1));
    let settings = KernelSvm { cache_mb: 1024, ..KernelSvm::default() };
    let all: Vec<&dyn Kernel> = kernels.iter().map(|(_, kernel)| &**kernel).collect();
    let n = train.x.nrows();
    let what = format!("{}: {what}", data.set.name());
    let mut finalists: Vec<(usize, f64)> = Vec::new();
    if n > plan.search_rows {
        let rows: Vec<usize> = (0..plan.search_rows).map(|i| i * n / plan.search_rows).collect();
        let labels: Vec<u32> = rows.iter().map(|&i| train.labels[i]).collect();
        let some = train.x.select(Axis(0), &rows);
        let some = Part { x: some.view(), labels: &labels };
        let choice = context.work(&format!("{what}, grid on {} rows", rows.len()), |progress| {
            Ok(choose::kernel(&settings, &all, &plan.kernel_prices, some, validation, progress)?)
        })?;
        let mut tried = choice.tried;
        tried.sort_by(|a, b| b.accuracy.total_cmp(&a.accuracy).then(a.c.total_cmp(&b.c)));
        finalists.extend(tried.iter().take(plan.finalists).map(|t| (t.kernel, t.c)));
    } else {
        finalists.extend((0..all.len()).flat_map(|k| plan.kernel_prices.iter().map(move |&c| (k, c))));
    }
    let mut best: Option<(usize, Choice<_>)> = None;
    for (k, &kernel) in all.iter().enumerate() {
        let prices: Vec<f64> = finalists.iter().filter(|f| f.0 == k).map(|f| f.1).collect();
        if prices.is_empty() {
            continue;
        }
        let choice = context.work(&format!("{what}, {}", kernels[k].0), |progress| {
            Ok(choose::kernel(&settings, &[kernel], &prices, train, validation, progress)?)
        })?;
        if best.as_ref().is_none_or(|(_, b)| choice.best.accuracy > b.best.accuracy) {
            best = Some((k, choice));
        }
    }
    let (k, choice) = best.ok_or_else(|| dkae::Error::setting("kernels", "there must be at least one to try"))?;
    score(data, &x[2], &choice.model, choice.best, format!("{}, C {}", kernels[k].0, choice.best.c))
}

fn on_rows(context: &Context, data: &Data, seed: u64, method: Method) -> Result<Score> {
    let plan = &context.plan;
    let x = &data.prepared.parts;
    let grids = (&plan.prices, &plan.kernel_prices, &plan.widths, plan.search_rows, plan.finalists, &plan.pck);
    context.store.remember(&("SVM on rows", method, data.fingerprint, seed, grids), || match method {
        Svm => on_features(context, data, x, "rows"),
        KernelPck => {
            let kernel = KernelSpec::Pck(plan.pck.clone()).with_seed(seed);
            let fit = |progress: &dyn Progress| Ok(kernel.fit_watched(x[0].view(), progress)?);
            let kernel = context.work("fitting the kernel", fit)?;
            on_kernel(context, data, &[("PCK".to_owned(), kernel)], "kernel SVM")
        }
        _ => {
            let kernel = |&width: &f64| -> Result<(String, Box<dyn Kernel>)> {
                let rbf = Rbf { width: Width::MedianFraction(width), seed };
                Ok((format!("RBF of width {width} of the median"), Box::new(rbf.fit(x[0].view())?)))
            };
            let kernels = plan.widths.iter().map(kernel).collect::<Result<Vec<_>>>()?;
            on_kernel(context, data, &kernels, "kernel SVM")
        }
    })
}

fn column(context: &Context, set: Set, with_best: bool) -> Result<Column> {
    let plan = &context.plan;
    let mut scores: BTreeMap<Method, Vec<Score>> = BTreeMap::new();
    let mut prior = 0;
    let candidates = |seed, prior| [priors(plan, set, seed), variants(plan, set, seed, prior)].concat();
    let (mut compared, mut supervised_compared) = (Vec::new(), Vec::new());
    if with_best {
        let seed = context.seed;
        compared = compare(context, set, priors(plan, set, seed))?;
        prior = leader(&compared).unwrap_or(0);
        compared.extend(compare(context, set, variants(plan, set, seed, prior))?);
        supervised_compared = compare(context, set, supervised_candidates(plan, set, seed))?;
        decide(context, set, &mut compared, &candidates(seed, prior))?;
        decide(context, set, &mut supervised_compared, &supervised_candidates(plan, set, seed))?;
    }
    let (best, best_supervised) = (winner(&compared).unwrap_or(0), winner(&supervised_compared).unwrap_or(0));
    for seed in seeds(plan, set, context.seed) {
        let data = context.data(set, seed)?;
        let [plain, usual, supervised] = recipes(plan, set, seed);
        let mut add = |method, score| scores.entry(method).or_default().push(score);
        for method in [Svm, KernelPck, KernelRbf] {
            add(method, on_rows(context, &data, seed, method)?);
        }
        for (method, recipe) in [(PlainCodes, &plain), (Codes, &usual), (SupervisedCodes, &supervised)] {
            add(method, on_codes(context, &data, recipe, method.name())?);
        }
        if with_best {
            let recipe = candidates(seed, prior).swap_remove(best).1;
            add(BestCodes, on_codes(context, &data, &recipe, BestCodes.name())?);
            let plain = without_prior(plan, set, &recipe);
            add(BestPlainCodes, on_codes(context, &data, &plain, "the best network's plain codes")?);
            let recipe = supervised_candidates(plan, set, seed).swap_remove(best_supervised).1;
            add(BestSupervisedCodes, on_codes(context, &data, &recipe, BestSupervisedCodes.name())?);
        }
    }
    Ok(Column {
        set,
        origin: set.origin(plan.embedded),
        scores,
        candidates: compared,
        supervised_candidates: supervised_compared,
    })
}

/// Trains and measures.
pub fn run(context: &Context) -> Result<Results> {
    let mut columns = Vec::new();
    for &set in &context.plan.sets {
        columns.push(column(context, set, true)?);
        // One set at a time in memory.
        context.forget();
    }
    let orders = orders(&context.plan).into_iter().map(|set| column(context, set, false)).collect::<Result<_>>()?;
    context.forget();
    Ok(Results { trial: context.plan.trial, columns, orders })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_mnist_and_reuters_have_several_seeds() {
        let plan = Plan::of(crate::budget::Budget::Standard);
        assert_eq!(seeds(&plan, Set::Mnist, 5), [5, 6, 7]);
        assert_eq!(seeds(&plan, Set::Cifar, 5), [5]);
    }
}
