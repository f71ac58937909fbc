//! How long trainings will take, from steps measured here and now.
//!
//! A few steps of every distinct network are taken on made-up rows, phase by phase, and a few blocks of every distinct
//! prior; both are multiplied by the steps of each training. Looks at validation rows, kernels, support vector machines and
//! figures come on top: next to nothing at the paper's budget, a good part at the standard one.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::Instant;

use dkae::kernel::{Kernel, KernelSpec, Linear};
use dkae::progress::Progress;
use dkae::train::{Event, Length, Trainer};
use ndarray::Array2;

use crate::Result;
use crate::budget::Plan;
use crate::context::Job;
use crate::data::Set;

/// Rows of a batch in the paper.
const BATCH: usize = 200;
/// Steps measured in each phase.
const STEPS: u64 = 6;

/// Blocks of a prior that are measured.
const BLOCKS: usize = 5;

/// The made-up rows that a kernel is applied to: so many that it keeps its factors, as it does for those of a training, instead of a
/// matrix of all pairs; with as many columns as the narrowest set, whose small network feels the prior most.
const KERNEL_ROWS: (usize, usize) = (8000, 8);

/// Training rows and features of a set.
fn shape(plan: &Plan, set: Set) -> (usize, usize) {
    let rows = (0.7 * plan.take as f64) as usize;
    match set {
        Set::Mnist => (rows, 784),
        Set::FiveSix => (rows / 5, 784),
        Set::Cloud(_) => (rows, 8),
        Set::Cifar => (rows, 3072),
        Set::Reuters => (7893, 20),
    }
}

/// The trainings among these that differ.
pub fn distinct(jobs: Vec<Job>) -> Vec<Job> {
    let mut kept: Vec<Job> = Vec::new();
    for job in jobs {
        if !kept.contains(&job) {
            kept.push(job);
        }
    }
    kept
}

/// Seconds that a block of a kernel takes, as every step asks for one.
fn measure_prior(kernel: &KernelSpec, progress: &dyn Progress) -> Result<f64> {
    let x = Array2::from_shape_fn(KERNEL_ROWS, |(i, j)| ((i * i * 31 + i * j * 57) % 8191) as f32 / 8191.0);
    let kernel = kernel.fit_watched(x.view(), progress)?;
    let prior = kernel.prior_watched(x.view(), progress)?;
    let rows: Vec<usize> = (0..BATCH).map(|i| i * x.nrows() / BATCH).collect();
    let mut block = Array2::zeros((BATCH, BATCH));
    let start = Instant::now();
    for _ in 0..BLOCKS {
        prior.block(&rows, &rows, block.view_mut());
    }
    Ok(start.elapsed().as_secs_f64() / BLOCKS as f64)
}

/// Seconds per step in each phase, pretraining first, of a network on rows of a width, without the prior.
fn measure(trainer: &Trainer, width: usize, progress: &dyn Progress) -> Result<Vec<f64>> {
    // Half of the numbers are zero: pictures have more of them, other rows none.
    let x = Array2::from_shape_fn((BATCH, width), |(i, j)| ((i * 31 + j * 17) % 97).saturating_sub(48) as f32 / 48.0);
    let trainer = Trainer { pretrain: Some(Length::Steps(STEPS)), steps: Length::Steps(STEPS), ..trainer.clone() };
    let mut times: Vec<Vec<f64>> = Vec::new();
    let mut last = Instant::now();
    let mut observer = |event: &Event| {
        match event {
            Event::Phase { .. } => times.push(Vec::new()),
            Event::Step { .. } => times.last_mut().into_iter().for_each(|t| t.push(last.elapsed().as_secs_f64())),
            _ => {}
        }
        last = Instant::now();
        if progress.stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    trainer.fit(x.view(), &*Linear.prior(x.view())?, &mut observer)?;
    // The middle one: the first steps of a phase touch memory for the first time.
    let middle = |mut t: Vec<f64>| {
        t.sort_by(f64::total_cmp);
        t.get(t.len() / 2).copied().unwrap_or(0.0)
    };
    Ok(times.into_iter().map(middle).collect())
}

/// Seconds that these trainings will take together.
pub fn seconds(plan: &Plan, jobs: &[Job], progress: &dyn Progress) -> Result<f64> {
    // Units count: zeros of rectified ones are skipped.
    let mut networks: HashMap<(usize, Vec<usize>, String), Vec<f64>> = HashMap::new();
    let mut priors: HashMap<String, f64> = HashMap::new();
    let mut total = 0.0;
    for Job { set, recipe } in jobs {
        let (rows, width) = shape(plan, *set);
        let units = format!("{} {}", recipe.train.hidden, recipe.train.code);
        let key = (width, recipe.train.layers.clone(), units);
        let times = match networks.get(&key) {
            Some(times) => times.clone(),
            None => networks.entry(key).or_insert(measure(&recipe.train, width, progress)?).clone(),
        };
        let prior = match &recipe.kernel {
            // Blocks of the ideal kernel cost next to nothing.
            KernelSpec::Ideal => 0.0,
            _ if recipe.train.lambda == 0.0 => 0.0,
            kernel => match priors.get(&kernel.describe()) {
                Some(&seconds) => seconds,
                None => *priors.entry(kernel.describe()).or_insert(measure_prior(kernel, progress)?),
            },
        };
        let steps = |length: Length| length.steps(rows, BATCH) as f64;
        if let Some((fine, layers)) = times.split_last() {
            let pretrain = recipe.train.pretrain.map_or(0.0, steps);
            // Only the last of the layers is pretrained with the prior.
            total += steps(recipe.train.steps) * (fine + prior) + pretrain * (layers.iter().sum::<f64>() + prior);
        }
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::{classify, lambda, sweep, walk};
    use dkae::progress::Silent;

    #[test]
    fn experiments_share_trainings() {
        let plan = Plan::of(Budget::Paper);
        let alone = sweep::jobs(lambda::recipes(&plan, 0));
        let both = [alone.clone(), walk::jobs(&plan, 0)].concat();
        assert_eq!(alone.len(), 7);
        assert_eq!(distinct(both).len(), 7);
        // Those of MNIST and the first seed at lambda 0 and 0.1 are in both.
        let more = distinct([alone, classify::jobs(&plan, 0)].concat()).len();
        assert_eq!(more, 7 + distinct(classify::jobs(&plan, 0)).len() - 2);
    }

    #[test]
    fn the_estimate_grows_with_the_steps() {
        let plan = Plan { hidden: vec![20], code: 10, ..Plan::of(Budget::Smoke) };
        let job = |steps| {
            let mut recipe = plan.recipe(Set::Mnist, 0);
            recipe.train.steps = Length::Steps(steps);
            Job { set: Set::Mnist, recipe }
        };
        // One measurement serves both, so the ratio is exact but for pretraining.
        let both = seconds(&plan, &[job(1_000), job(100_000)], &Silent).unwrap();
        let small = seconds(&plan, &[job(1_000)], &Silent).unwrap();
        assert!(small > 0.0 && both > 10.0 * small, "{small} {both}");
        /// Asks to stop at once.
        struct Stop;
        impl Progress for Stop {
            fn stop(&self) -> bool {
                true
            }
        }
        let stopped = seconds(&plan, &[job(1_000)], &Stop);
        assert!(matches!(stopped, Err(crate::Error::Dkae(dkae::Error::Interrupted))), "{stopped:?}");
    }
}
