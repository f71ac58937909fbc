//! How much work the experiments do: every size, length and grid, in one place.
//!
//! | | smoke | standard | paper |
//! |---|---|---|---|
//! | data | embedded digits, 700 / 150 / 150 | as the paper splits them | as the paper splits them |
//! | network | 784-60-40-30 | d-500-500-2000-2000 | the same |
//! | steps a layer, then of all | 30, 120 | 60, 1240 (fewer in `classify` and where a step costs more or rows are few) | 30 and 100 epochs of (n/k)^2 batches |
//! | units | relu, linear code | relu, linear code | sigmoid |
//! | seeds of MNIST and REUTERS in `classify`, and in `visualise` | 2 | 3 | 3 |
//! | made for | CI, three minutes | two hours; an estimate comes first | weeks; an estimate comes first |

use std::fmt;
use std::str::FromStr;

use dkae::Error;
use dkae::kernel::{Floor, KernelSpec, Pck};
use dkae::net::Init;
use dkae::recipe::Recipe;
use dkae::train::{Length, Trainer};
use serde::Serialize;

use crate::data::Set;

/// How much work to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Budget {
    /// Small networks on the embedded digits: shows that everything works, in minutes and without data.
    Smoke,
    /// All nine in two hours; before it starts it says how long the trainings will take.
    Standard,
    /// The schedule as the paper prints it.
    Paper,
}

impl Budget {
    /// All of them.
    pub const ALL: [Budget; 3] = [Budget::Smoke, Budget::Standard, Budget::Paper];
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Budget::Smoke => "smoke",
            Budget::Standard => "standard",
            Budget::Paper => "paper",
        })
    }
}

impl FromStr for Budget {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Budget::ALL
            .into_iter()
            .find(|b| b.to_string() == text)
            .ok_or_else(|| Error::setting("budget", format!("expected smoke, standard or paper, found '{text}'")))
    }
}

/// The lengths of a training, and its rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Steps {
    /// Of pretraining, for each layer.
    pub pretrain: Length,
    /// Of fine-tuning.
    pub fine: Length,
    /// The peak rate; none for that of the plan's trainer, which is for longer trainings.
    pub rate: Option<f64>,
}

/// The sizes, lengths and grids of a budget. Part of every result, and of what tells one result from another.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// The budget it is for.
    pub budget: Budget,
    /// Whether the embedded digits stand in for MNIST, so that no data are needed.
    pub embedded: bool,
    /// The sets of `classify`.
    pub sets: Vec<Set>,
    /// Rows drawn from MNIST, CLOUD and CIFAR-10.
    pub take: usize,
    /// The hidden layers of the usual network.
    pub hidden: Vec<usize>,
    /// The width of its code, N_c.
    pub code: usize,
    /// The network for CLOUD.
    pub small: Vec<usize>,
    /// The weights of the code loss that `lambda` compares.
    pub lambdas: Vec<f32>,
    /// The widths of the code that `code-size` compares.
    pub code_sizes: Vec<usize>,
    /// The prior.
    pub pck: Pck,
    /// What all trainings have in common.
    pub trainer: Trainer,
    /// Steps on MNIST.
    pub steps: Steps,
    /// Steps on MNIST in `classify`, whose accuracies level off sooner than the losses: 18 trainings, and those of the trial.
    pub steps_classify: Steps,
    /// Steps on CIFAR-10, where one costs 1.7 times as much.
    pub steps_cifar: Steps,
    /// Steps on REUTERS, where 20 features are soon learned.
    pub steps_reuters: Steps,
    /// Steps on CLOUD, where one costs a twentieth.
    pub steps_cloud: Steps,
    /// Steps on two classes of MNIST, a fifth of the rows.
    pub steps_two: Steps,
    /// The share of the steps that candidates of `classify` get while they are compared.
    pub trial: f64,
    /// Seeds that `classify` averages over on MNIST and REUTERS, and `visualise`.
    pub seeds: u64,
    /// Prices C tried for linear machines.
    pub prices: Vec<f64>,
    /// Prices C tried for kernel machines.
    pub kernel_prices: Vec<f64>,
    /// Widths tried for radial basis functions, as parts of the median distance between rows; wide ones first.
    pub widths: Vec<f64>,
    /// With more training rows than this, a kernel machine's grid is searched on this many of them first, and the best
    /// [`finalists`](Plan::finalists) are fitted on all.
    pub search_rows: usize,
    /// How many settings of a kernel machine are fitted on all rows.
    pub finalists: usize,
    /// The most components of kernel PCA that `kpca` looks at.
    pub components: usize,
    /// Landmarks of ISOMAP.
    pub landmarks: usize,
    /// Neighbours in its graph that `visualise` tries; the first are the usual ones.
    pub neighbours: Vec<usize>,
    /// Priors that `visualise` tries for its map, beside the paper's: mixtures on more rows, and with larger variances, which
    /// make them softer.
    pub map_priors: Vec<Pck>,
    /// Components kept in `denoise`.
    pub kept: usize,
}

impl Plan {
    /// The plan of a budget.
    pub fn of(budget: Budget) -> Plan {
        let lengths =
            |pretrain, fine| Steps { pretrain: Length::Steps(pretrain), fine: Length::Steps(fine), rate: None };
        let steps = |pretrain, fine, rate| Steps { rate: Some(rate), ..lengths(pretrain, fine) };
        let standard = Plan {
            budget: Budget::Standard,
            embedded: false,
            sets: vec![Set::Mnist, Set::CLOUD, Set::Cifar, Set::Reuters],
            take: 20_000,
            hidden: vec![500, 500, 2000],
            code: 2000,
            small: vec![50, 50, 200, 200],
            lambdas: vec![0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0],
            code_sizes: vec![10, 50, 200, 500, 1000, 2000],
            pck: Pck::default(),
            // As in the paper, weights start at random and layers are pretrained, in all methods alike.
            trainer: Trainer { init: Init::Glorot, ..Trainer::default() },
            steps: steps(60, 1240, 0.002),
            steps_classify: steps(50, 600, 0.002),
            steps_cifar: steps(40, 400, 0.0013),
            steps_reuters: steps(30, 250, 0.002),
            steps_cloud: lengths(100, 2000),
            steps_two: steps(60, 600, 0.002),
            trial: 0.4,
            seeds: 3,
            // Wide enough for all sets: codes that know the labels want 1e-6, CLOUD's rows twice the median and 0.01, REUTERS a fifth of it.
            prices: vec![1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3],
            kernel_prices: vec![1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3],
            widths: vec![8.0, 4.0, 2.0, 1.0, 0.6, 0.35, 0.2, 0.12],
            search_rows: 4000,
            finalists: 3,
            components: 256,
            landmarks: 2000,
            neighbours: vec![5, 10, 20, 40],
            map_priors: softer(&[(200, 0.1), (200, 0.3), (1000, 0.01), (1000, 0.1), (1000, 0.3), (1000, 1.0)], 10),
            kept: 32,
        };
        match budget {
            Budget::Standard => standard,
            Budget::Paper => {
                let printed = Steps { pretrain: Length::PaperEpochs(30), fine: Length::PaperEpochs(100), rate: None };
                Plan {
                    budget,
                    // A look at the validation rows once an epoch of 4900 batches.
                    trainer: Trainer { validate_every: 4900, ..Trainer::paper() },
                    steps: printed,
                    steps_classify: printed,
                    steps_cifar: printed,
                    steps_reuters: printed,
                    steps_cloud: printed,
                    steps_two: printed,
                    ..standard
                }
            }
            Budget::Smoke => Plan {
                budget,
                embedded: true,
                sets: vec![Set::Mnist],
                take: 1000,
                hidden: vec![60, 40],
                code: 30,
                small: vec![20, 10],
                code_sizes: vec![2, 5, 10, 20, 30],
                pck: Pck { restarts: 3, max_components: 10, ..Pck::default() },
                trainer: Trainer { validate_every: 40, ..standard.trainer },
                steps: lengths(30, 120),
                steps_classify: lengths(30, 120),
                steps_cifar: lengths(10, 40),
                steps_reuters: lengths(10, 40),
                steps_cloud: lengths(10, 40),
                steps_two: lengths(30, 120),
                trial: 0.5,
                seeds: 2,
                prices: vec![0.01, 0.1, 1.0, 10.0],
                kernel_prices: vec![1.0, 10.0],
                widths: vec![1.0, 0.6],
                search_rows: 400,
                finalists: 2,
                components: 64,
                landmarks: 200,
                neighbours: vec![5, 10],
                map_priors: softer(&[(200, 0.1), (400, 0.1)], 3)
                    .into_iter()
                    .map(|prior| Pck { max_components: 10, ..prior })
                    .collect(),
                kept: 16,
                ..standard
            },
        }
    }

    /// What a reader of numbers of this budget has to know.
    pub fn caution(&self) -> Option<String> {
        let layers = || self.hidden.iter().chain([&self.code]).map(usize::to_string).collect::<Vec<_>>().join("-");
        self.embedded.then(|| {
            format!(
                "Budget {}: {} of the embedded digits and a network of d-{}, to show that everything works. These numbers are \
                 not to be compared with the paper's.",
                self.budget,
                self.take,
                layers()
            )
        })
    }

    /// The lengths of a training on a set.
    pub fn steps(&self, set: Set) -> Steps {
        match set {
            Set::Mnist => self.steps,
            Set::FiveSix => self.steps_two,
            Set::Cloud(_) => self.steps_cloud,
            Set::Cifar => self.steps_cifar,
            Set::Reuters => self.steps_reuters,
        }
    }

    /// The paper's setting on a set: its network and prior, lambda 0.1.
    pub fn recipe(&self, set: Set, seed: u64) -> Recipe {
        self.trained_for(self.steps(set), set, seed)
    }

    /// The same as `classify` trains it.
    pub fn classified(&self, set: Set, seed: u64) -> Recipe {
        let steps = if set == Set::Mnist { self.steps_classify } else { self.steps(set) };
        self.trained_for(steps, set, seed)
    }

    fn trained_for(&self, steps: Steps, set: Set, seed: u64) -> Recipe {
        let usual = || self.hidden.iter().copied().chain([self.code]).collect();
        let Steps { pretrain, fine, rate } = steps;
        Recipe {
            seed,
            take: (set != Set::Reuters).then_some(self.take),
            split_by: match set {
                Set::Cloud(images) => Some(images.map(|image| image.to_string())),
                _ => None,
            },
            svd: (set == Set::Reuters).then_some(20),
            kernel: KernelSpec::Pck(self.pck.clone()),
            train: Trainer {
                layers: if matches!(set, Set::Cloud(_)) { self.small.clone() } else { usual() },
                lambda: 0.1,
                pretrain: Some(pretrain),
                steps: fine,
                rate: rate.or(self.trainer.rate),
                ..self.trainer.clone()
            },
            ..Recipe::default()
        }
    }

    /// The same recipe with another weight of the code loss.
    pub fn with_lambda(recipe: &Recipe, lambda: f32) -> Recipe {
        Recipe { train: Trainer { lambda, ..recipe.train.clone() }, ..recipe.clone() }
    }

    /// The same recipe at the shorter length that candidates are compared at.
    pub fn trial(&self, recipe: &Recipe) -> Recipe {
        let short = |length: Length| match length {
            Length::Steps(n) => Length::Steps(((n as f64 * self.trial).round() as u64).max(1)),
            Length::PaperEpochs(n) => Length::PaperEpochs(((n as f64 * self.trial).round() as u64).max(1)),
        };
        let train = &recipe.train;
        let train = Trainer { pretrain: train.pretrain.map(short), steps: short(train.steps), ..train.clone() };
        Recipe { train, ..recipe.clone() }
    }
}

/// Priors with these numbers of rows and variance floors, and so many starts.
fn softer(settings: &[(usize, f64)], restarts: usize) -> Vec<Pck> {
    let one = |&(subset, floor)| Pck { subset, restarts, floor: Floor::Absolute(floor), ..Pck::default() };
    settings.iter().map(one).collect()
}

/// The number that was written down: 0.1, not the 0.10000000149 that f32 makes of it.
pub fn decimal(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_read_as_they_are_written() {
        for budget in Budget::ALL {
            assert_eq!(budget.to_string().parse::<Budget>().unwrap(), budget);
        }
        assert!("large".parse::<Budget>().is_err());
    }

    #[test]
    fn the_standard_plan_has_the_papers_sizes_and_the_paper_plan_its_schedule() {
        let plan = Plan::of(Budget::Standard);
        let mnist = plan.recipe(Set::Mnist, 0);
        assert_eq!(mnist.train.layers, [500, 500, 2000, 2000]);
        assert_eq!((mnist.train.lambda, mnist.take), (0.1, Some(20_000)));
        assert_eq!(plan.recipe(Set::CLOUD, 0).train.layers, [50, 50, 200, 200]);
        assert_eq!(plan.recipe(Set::CLOUD, 0).split_by.unwrap().join(""), "312");
        assert_eq!(plan.recipe(Set::Reuters, 0).svd, Some(20));
        let paper = Plan::of(Budget::Paper).recipe(Set::Mnist, 0).train;
        let steps = |length: Length| length.steps(14_000, 200);
        assert_eq!(4 * paper.pretrain.map_or(0, steps) + steps(paper.steps), 1_078_000);
    }

    #[test]
    fn decimals_are_as_they_were_written() {
        assert_eq!([0.0, 0.1, 0.75, 1.0].map(decimal), [0.0, 0.1, 0.75, 1.0]);
    }

    #[test]
    fn a_trial_is_shorter_and_otherwise_the_same() {
        let plan = Plan::of(Budget::Standard);
        let whole = plan.classified(Set::Mnist, 0);
        assert_eq!(whole.train.steps, plan.steps_classify.fine);
        assert_eq!(whole.train.rate, plan.steps_classify.rate);
        let trial = plan.trial(&whole);
        assert_eq!((trial.train.pretrain, trial.train.steps), (Some(Length::Steps(20)), Length::Steps(240)));
        let again = Trainer { pretrain: whole.train.pretrain, steps: whole.train.steps, ..trial.train.clone() };
        assert_eq!(Recipe { train: again, ..trial }, whole);
    }
}
