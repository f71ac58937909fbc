//! The trial of `classify`: which prior, weight, units, start and length make the best codes.
//!
//! Candidates are compared on validation rows alone and for the first seed, in two rounds. In the first they have a part of their
//! steps: priors, then what can be done with the best of them; those that know the labels of the training rows among themselves. In
//! the second the two best and the paper's setting have all their steps, since what learns fastest need not be best in the end.

use dkae::kernel::{KernelSpec, Pck, Rbf, Sum, Width};
use dkae::net::{Activation, Init, Model};
use dkae::recipe::Recipe;
use dkae::train::{Length, Noise, Trainer};
use serde::{Deserialize, Serialize};

use super::{codes, linear, on_codes, recipes};
use crate::budget::Plan;
use crate::context::Context;
use crate::data::Set;
use crate::{Error, Result};

/// A candidate for the best codes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Candidate {
    /// What is special about it.
    pub name: String,
    /// Accuracy on the validation rows after the shorter training, in per cent; 0 when that failed.
    pub validation: f64,
    /// The same after the whole training, for those that came so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<f64>,
    /// Why training failed, in either round: its units died, say. Such a candidate is out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl Candidate {
    fn describe(&self) -> String {
        match &self.failure {
            None => format!("{} {:.2}", self.name, self.whole.unwrap_or(self.validation)),
            Some(why) => format!("{} out, since {why}", self.name),
        }
    }
}

/// Rows that a candidate's mixtures are fitted on, instead of 200; fewer on CIFAR-10, whose rows are wide. They have a third of the
/// starts: mixtures cost rows times features times starts.
pub(super) const MORE_ROWS: [usize; 2] = [1000, 500];

/// How many priors are tried.
pub(super) const PRIORS: usize = 4;

/// Deviation of the Gaussian noise on the inputs that is tried, in the units of the scaled rows.
const NOISE: f32 = 0.3;

/// The priors that are tried for the best codes, the paper's first.
pub(super) fn priors(plan: &Plan, set: Set, seed: u64) -> Vec<(String, Recipe)> {
    let usual = plan.classified(set, seed);
    let rows = if set == Set::Cifar { MORE_ROWS[1] } else { MORE_ROWS[0] };
    let many = KernelSpec::Pck(Pck { subset: rows, restarts: plan.pck.restarts.div_ceil(3), ..plan.pck.clone() });
    let rbf = KernelSpec::Rbf(Rbf { width: Width::MedianFraction(0.6), ..Rbf::default() });
    let part = |kernel: &KernelSpec| dkae::kernel::Part { weight: 1.0, kernel: kernel.clone() };
    let both = KernelSpec::Sum(Sum { parts: vec![part(&many), part(&rbf)] });
    let with = |kernel: KernelSpec| Recipe { kernel, ..usual.clone() };
    vec![
        ("the paper's: PCK of 200 rows, lambda 0.1".into(), usual.clone()),
        ("PCK of more rows".into(), with(many)),
        ("RBF of 0.6 of the median distance".into(), with(rbf)),
        ("PCK of more rows + RBF".into(), with(both)),
    ]
}

/// What is tried with the best of the priors: another weight, other units, another start, a longer training. What is no other
/// training than one of the priors' is left out.
pub(super) fn variants(plan: &Plan, set: Set, seed: u64, prior: usize) -> Vec<(String, Recipe)> {
    let priors = priors(plan, set, seed);
    let best = priors[prior].1.clone();
    let same = || best.train.clone();
    let relu = |lambda| Trainer { code: Activation::Relu, lambda, ..same() };
    let sigmoid = || Trainer { hidden: Activation::Sigmoid, code: Activation::Sigmoid, ..same() };
    let mut all = vec![
        ("lambda 0.5", Trainer { lambda: 0.5, ..same() }),
        ("twice the steps", longer(same())),
        ("relu code", relu(0.1)),
        ("relu code, lambda 0.5", relu(0.5)),
        ("relu code, twice the steps", longer(relu(0.1))),
        ("sigmoid units", sigmoid()),
        ("sigmoid units, twice the steps", longer(sigmoid())),
    ];
    if let Some(train) = mirrored(relu(0.1)) {
        all.push(("relu code, mirrored start", train.clone()));
        all.push(("relu code, mirrored start, twice the steps", longer(train)));
    }
    let all =
        all.into_iter().map(|(name, train)| (format!("the best prior, {name}"), Recipe { train, ..best.clone() }));
    let mut kept = priors;
    for (name, recipe) in all {
        if kept.iter().all(|(_, other)| *other != recipe) {
            kept.push((name, recipe));
        }
    }
    kept.split_off(PRIORS)
}

/// The same training with twice the steps after pretraining.
fn longer(train: Trainer) -> Trainer {
    let steps = match train.steps {
        Length::Steps(n) => Length::Steps(2 * n),
        Length::PaperEpochs(n) => Length::PaperEpochs(2 * n),
    };
    Trainer { steps, ..train }
}

/// The same training from mirrored weights, which need no pretraining; none where units are not rectified.
fn mirrored(train: Trainer) -> Option<Trainer> {
    (train.hidden == Activation::Relu).then_some(Trainer { init: Init::Mirrored, pretrain: None, ..train })
}

/// What is tried for the best codes that know the labels.
pub(super) fn supervised_candidates(plan: &Plan, set: Set, seed: u64) -> Vec<(String, Recipe)> {
    let [_, _, usual] = recipes(plan, set, seed);
    let with = |train: Trainer| Recipe { train, ..usual.clone() };
    let same = || usual.train.clone();
    let noise = Noise::Gauss(NOISE);
    let mut all = vec![
        ("labels, the paper's: lambda 0.1".into(), usual.clone()),
        (format!("labels, noise of {NOISE}"), with(Trainer { noise, ..same() })),
        ("labels, relu code".into(), with(Trainer { code: Activation::Relu, ..same() })),
    ];
    if let Some(train) = mirrored(Trainer { noise, ..same() }) {
        all.push((format!("labels, noise of {NOISE}, mirrored start"), with(train.clone())));
        all.push((format!("labels, noise of {NOISE}, mirrored start, twice the steps"), with(longer(train))));
    }
    all
}

/// The same network at lambda 0. With the usual kernel, which it does not use: so it is the same training for every prior.
pub(super) fn without_prior(plan: &Plan, set: Set, recipe: &Recipe) -> Recipe {
    Recipe { kernel: plan.classified(set, recipe.seed).kernel, ..Plan::with_lambda(recipe, 0.0) }
}

/// Compares candidates on validation rows.
pub(super) fn compare(context: &Context, set: Set, candidates: Vec<(String, Recipe)>) -> Result<Vec<Candidate>> {
    let data = context.data(set, context.seed)?;
    let mut found: Vec<Candidate> = Vec::new();
    for (name, recipe) in candidates {
        let recipe = context.plan.trial(&recipe);
        let inputs = ("candidate", data.fingerprint, recipe.seeded(), &context.plan.prices);
        let validate = |model: Model| {
            context
                .store
                .remember(&inputs, || Ok(100.0 * linear(context, &data, &codes(&model, &data)?, &name)?.best.accuracy))
        };
        let candidate = match context.model(&data, &recipe).and_then(validate) {
            Ok(validation) => Candidate { name: name.clone(), validation, whole: None, failure: None },
            Err(error) => {
                Candidate { name: name.clone(), validation: 0.0, whole: None, failure: Some(numeric(error)?) }
            }
        };
        context.say(&format!("{}, per cent of validation rows: {}", set.name(), candidate.describe()));
        found.push(candidate);
    }
    Ok(found)
}

/// What a training says that failed for its numbers, where others may do; any other error is one for all.
fn numeric(error: Error) -> Result<String> {
    match error {
        Error::Dkae(dkae::Error::Numeric(message)) => Ok(message),
        other => Err(other),
    }
}

/// The second round: the finalists get all their steps, and their scores are noted. `recipes` are those of all candidates.
pub(super) fn decide(
    context: &Context,
    set: Set,
    candidates: &mut [Candidate],
    recipes: &[(String, Recipe)],
) -> Result<()> {
    let data = context.data(set, context.seed)?;
    for i in finalists(candidates) {
        let candidate = &mut candidates[i];
        match on_codes(context, &data, &recipes[i].1, &candidate.name) {
            Ok(score) => candidate.whole = Some(score.validation),
            Err(error) => candidate.failure = Some(numeric(error)?),
        }
        context.say(&format!("{}, after the whole training: {}", set.name(), candidate.describe()));
    }
    Ok(())
}

/// How many of the best of the first round come to the second, beside the paper's setting.
pub(super) const BEST: usize = 2;

/// The places of those that are compared once more after the whole training, in their order: the paper's, which is the first, and the best.
fn finalists(candidates: &[Candidate]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..candidates.len()).filter(|&i| candidates[i].failure.is_none()).collect();
    // Stable: the first of equals.
    places.sort_by(|&a, &b| candidates[b].validation.total_cmp(&candidates[a].validation));
    places.truncate(BEST);
    places.extend(candidates.first().filter(|first| first.failure.is_none()).map(|_| 0));
    places.sort_unstable();
    places.dedup();
    places
}

/// The place of the best candidate after the shorter training, whatever comes of it later; the first of equals.
pub(super) fn leader(candidates: &[Candidate]) -> Option<usize> {
    best_by(candidates, |c| (c.validation > 0.0).then_some(c.validation))
}

/// The place of the best candidate after the whole training; the first of equals.
pub(super) fn winner(candidates: &[Candidate]) -> Option<usize> {
    best_by(candidates, |c| c.whole)
}

fn best_by(candidates: &[Candidate], score: impl Fn(&Candidate) -> Option<f64>) -> Option<usize> {
    let scored = candidates.iter().enumerate().filter_map(|(i, c)| Some((i, score(c)?)));
    scored.rev().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(i, _)| i)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(validation: f64) -> Candidate {
        Candidate { name: String::new(), validation, whole: None, failure: None }
    }

    #[test]
    fn the_two_best_and_the_papers_setting_come_to_the_second_round_which_decides() {
        let mut all = [90.0, 95.0, 93.0, 95.0, 94.0].map(candidate).to_vec();
        assert_eq!((leader(&all), finalists(&all), winner(&all)), (Some(1), vec![0, 1, 3], None));
        for (i, whole) in [(0, 96.0), (1, 95.0), (3, 96.0)] {
            all[i].whole = Some(whole);
        }
        assert_eq!(winner(&all), Some(0));
        // A failure in the second round changes nothing about the first.
        let died = || Some("its units died".to_owned());
        (all[1].whole, all[1].failure) = (None, died());
        assert_eq!((leader(&all), winner(&all)), (Some(1), Some(0)));
        all[1] = Candidate { failure: died(), ..candidate(0.0) };
        assert_eq!((leader(&all), finalists(&all)), (Some(3), vec![0, 3, 4]));
        all[0].failure = died();
        assert_eq!(finalists(&all), [3, 4]);
        assert_eq!((leader(&[]), finalists(&[])), (None, vec![]));
    }

    #[test]
    fn no_two_candidates_are_the_same_training() {
        for budget in crate::budget::Budget::ALL {
            let plan = Plan::of(budget);
            for prior in 0..PRIORS {
                let mut tried = priors(&plan, Set::Mnist, 3);
                assert_eq!(tried.len(), PRIORS);
                tried.extend(variants(&plan, Set::Mnist, 3, prior));
                tried.extend(supervised_candidates(&plan, Set::Mnist, 3));
                let recipes: Vec<Recipe> = tried.into_iter().map(|(_, recipe)| recipe).collect();
                let same = |i: usize| recipes[..i].contains(&recipes[i]);
                assert!((0..recipes.len()).all(|i| !same(i)), "{budget} {prior}");
            }
        }
    }
}
