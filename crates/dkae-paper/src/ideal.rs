//! `ideal`: how far the prior P, the kernel K_AE of a plain autoencoder's codes and the kernel C of dkAE's codes are from the
//! ideal kernel of the classes on the test rows, and by how many per cent each improves on the others (table 1).
//!
//! The improvement of a on b is `100 (L_c(b) / L_c(a) - 1)`: the formula that gives the paper's entries from its distances.

use dkae::kernel::{Ideal, Prior};
use dkae::metrics::{alignment_of_priors, alignment_with_codes, code_loss, improvement_percent};
use dkae::recipe::Recipe;
use dkae_report::Figure;
use ndarray::Array2;
use serde::Serialize;

use crate::Result;
use crate::budget::Plan;
use crate::context::{Context, Job};
use crate::data::Set;
use crate::kernels::Sorted;
use crate::report::{self, Ranked, Table, order};

/// The kernels, in the paper's order.
const NAMES: [&str; 3] = ["P", "K_AE", "C"];
/// The paper's distances.
const PAPER: [f64; 3] = [1.0132, 1.1417, 1.0115];

/// The distances, and what is shown.
#[derive(Serialize)]
pub struct Results {
    /// L_c to the ideal kernel: of P, of K_AE, of C.
    pub distances: [f64; 3],
    /// The improvement in per cent of each (rows) on each (columns).
    pub improvements: [[f64; 3]; 3],
    /// The ideal kernel, P, K_AE and C.
    #[serde(skip)]
    kernels: [Array2<f32>; 4],
    #[serde(skip)]
    sorted: Sorted,
}

fn recipes(plan: &Plan, seed: u64) -> [Recipe; 2] {
    [0.0, 0.1].map(|lambda| Plan::with_lambda(&plan.recipe(Set::Mnist, seed), lambda))
}

/// The trainings it stands on.
pub fn jobs(plan: &Plan, seed: u64) -> Vec<Job> {
    recipes(plan, seed).map(|recipe| Job { set: Set::Mnist, recipe }).to_vec()
}

/// By how many per cent each loss improves on each.
fn improvements(losses: [f64; 3]) -> [[f64; 3]; 3] {
    losses.map(|own| losses.map(|other| improvement_percent(own, other)))
}

/// Trains and measures.
pub fn run(context: &Context) -> Result<Results> {
    let data = context.data(Set::Mnist, context.seed)?;
    let recipes = recipes(&context.plan, context.seed);
    let models = context.models(&data, &recipes)?;
    let x = data.prepared.parts[2].view();
    let [plain, aligned] = [models[0].encode(x)?, models[1].encode(x)?];
    let ideal = Ideal::new(&data.labels()[2].index);
    let sorted = Sorted::new(&data.labels()[2]);
    context.with_prior(&data, &recipes[1], 2, |prior: &dyn Prior| {
        let distances = context.work("comparing with the ideal kernel", |progress| {
            Ok([
                alignment_of_priors(prior, &ideal, progress)?,
                alignment_with_codes(&ideal, plain.view(), progress)?,
                alignment_with_codes(&ideal, aligned.view(), progress)?,
            ]
            .map(code_loss))
        })?;
        let kernels =
            [sorted.prior(&ideal), sorted.prior(prior), sorted.codes(plain.view()), sorted.codes(aligned.view())];
        Ok(Results { distances, improvements: improvements(distances), kernels, sorted })
    })
}

impl report::Results for Results {
    fn figure(&self) -> Result<Figure> {
        let [ideal, prior, plain, aligned] = &self.kernels;
        let [p, k, c] = self.distances;
        let matrices = [
            ("ideal".to_owned(), ideal),
            (format!("P: L_c = {p:.3}"), prior),
            (format!("K_AE: L_c = {k:.3}"), plain),
            (format!("C: L_c = {c:.3}"), aligned),
        ];
        self.sorted.draw(&matrices, 200.0)
    }

    fn table(&self) -> Table {
        let title = "4. `ideal`: distance to the ideal kernel of the classes (table 1), MNIST test part";
        let head = [
            "kernel",
            "% better than P",
            "than K_AE",
            "than C",
            "L_c to the ideal",
            "paper: than P",
            "than K_AE",
            "than C",
            "L_c",
        ];
        let mut table = Table::new(title, &head);
        let paper = improvements(PAPER);
        for i in 0..3 {
            let percent = |row: &[f64; 3]| row.map(|v| format!("{v:.1}").replace("-0.0", "0.0"));
            let own = percent(&self.improvements[i]).into_iter().chain([format!("{:.4}", self.distances[i])]);
            let theirs = percent(&paper[i]).into_iter().chain([format!("{:.4}", PAPER[i])]);
            table.row([NAMES[i].to_owned()].into_iter().chain(own).chain(theirs));
        }
        let ranked: Vec<Ranked> =
            (0..3).map(|i| Ranked { name: NAMES[i], paper: PAPER[i], ours: self.distances[i] }).collect();
        table.note(format!("Smaller distances are better. {}", order(&ranked, false)));
        table.notes.extend(self.sorted.note());
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_distances_give_the_papers_improvements() {
        let rounded = improvements(PAPER).map(|row| row.map(|v| (v * 10.0).round() / 10.0));
        assert_eq!(rounded, [[0.0, 12.7, -0.2], [-11.3, 0.0, -11.4], [0.2, 12.9, 0.0]]);
    }
}
