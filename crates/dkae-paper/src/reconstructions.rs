//! `reconstructions`: test digits and what the decoder makes of their codes at lambda 0.75 and 0.1; the prior and the
//! kernels of codes at lambda 0 and 0.1 as pictures, rows sorted by class (section 4.3, figure 4).

use dkae::data::Labels;
use dkae::recipe::Recipe;
use dkae_report::Figure;
use dkae_report::images::{Grid, Row};
use dkae_report::panel::{Part, Sheet};
use ndarray::{Array2, Axis};
use serde::Serialize;

use crate::Result;
use crate::budget::{Plan, decimal};
use crate::context::{Context, Job};
use crate::data::Set;
use crate::kernels::Sorted;
use crate::report::{self, Table};

/// The weights of the code loss shown.
const LAMBDAS: [f32; 3] = [0.0, 0.1, 0.75];
/// Pictures shown.
const PICTURES: usize = 12;

/// Both losses on the test rows, and what is shown.
#[derive(Serialize)]
pub struct Results {
    /// lambda, L_r and L_c on the test rows.
    pub losses: Vec<(f64, f64, f64)>,
    /// Test digits.
    #[serde(skip)]
    pub originals: Array2<f32>,
    /// Their reconstructions, for each lambda.
    #[serde(skip)]
    pub back: Vec<Array2<f32>>,
    /// The prior and the kernels of codes, for each lambda.
    #[serde(skip)]
    pub kernels: (Array2<f32>, Vec<Array2<f32>>),
    #[serde(skip)]
    sorted: Sorted,
}

fn recipes(plan: &Plan, seed: u64) -> Vec<Recipe> {
    LAMBDAS.map(|lambda| Plan::with_lambda(&plan.recipe(Set::Mnist, seed), lambda)).to_vec()
}

/// The trainings it stands on.
pub fn jobs(plan: &Plan, seed: u64) -> Vec<Job> {
    recipes(plan, seed).into_iter().map(|recipe| Job { set: Set::Mnist, recipe }).collect()
}

/// The first row of each class, in turn, then the second, up to `count` of them.
pub fn some_of_each(labels: &Labels, count: usize) -> Vec<usize> {
    let mut turn = vec![0; labels.names.len()];
    let mut rows: Vec<(usize, u32, usize)> = Vec::new();
    for (i, &class) in labels.index.iter().enumerate() {
        rows.push((turn[class as usize], class, i));
        turn[class as usize] += 1;
    }
    rows.sort_unstable();
    rows.into_iter().take(count).map(|(_, _, i)| i).collect()
}

/// Trains and measures.
pub fn run(context: &Context) -> Result<Results> {
    let data = context.data(Set::Mnist, context.seed)?;
    let recipes = recipes(&context.plan, context.seed);
    let models = context.models(&data, &recipes)?;
    let (x, labels) = (&data.prepared.parts[2], &data.labels()[2]);
    let originals = x.select(Axis(0), &some_of_each(labels, PICTURES));
    let back = models.iter().map(|m| Ok(m.reconstruct(originals.view())?)).collect::<Result<_>>()?;
    let sorted = Sorted::new(labels);
    let of_codes = models.iter().map(|m| Ok(sorted.codes(m.encode(x.view())?.view()))).collect::<Result<_>>()?;
    let (losses, prior) = context.with_prior(&data, &recipes[1], 2, |prior| {
        let measure = |(&lambda, model)| {
            let losses = Context::losses(model, &data, 2, prior)?;
            Ok((decimal(lambda), f64::from(losses.reconstruction), f64::from(losses.code)))
        };
        Ok((LAMBDAS.iter().zip(&models).map(measure).collect::<Result<_>>()?, sorted.prior(prior)))
    })?;
    Ok(Results { losses, originals, back, kernels: (prior, of_codes), sorted })
}

impl report::Results for Results {
    fn figure(&self) -> Result<Figure> {
        let pictures = Grid::default().draw(&[
            Row { caption: "original", pictures: self.originals.view() },
            Row { caption: "λ = 0.75", pictures: self.back[2].view() },
            Row { caption: "λ = 0.1", pictures: self.back[1].view() },
            Row { caption: "λ = 0", pictures: self.back[0].view() },
        ])?;
        let (prior, of_codes) = &self.kernels;
        let titled = |lambda: f64, loss: f64| format!("C at λ = {lambda}: L_c = {loss:.3}");
        let matrices = [
            ("prior P".to_owned(), prior),
            (titled(0.0, self.losses[0].2), &of_codes[0]),
            (titled(0.1, self.losses[1].2), &of_codes[1]),
        ];
        let kernels = self.sorted.draw(&matrices, 240.0)?;
        Ok(Sheet { letters: true, ..Sheet::default() }.draw(&[
            vec![Part { title: "Test digits and what the decoder makes of their codes", figure: &pictures }],
            vec![Part { title: "Kernels of test digits, rows sorted by class", figure: &kernels }],
        ])?)
    }

    fn table(&self) -> Table {
        let title = "3. `reconstructions`: digits and kernels at several lambda (section 4.3, figure 4), MNIST";
        let mut table = Table::new(title, &["lambda", "L_r, test", "L_c(C, P), test", "paper"]);
        for (lambda, r, c) in &self.losses {
            table.row([lambda.to_string(), format!("{r:.5}"), format!("{c:.4}"), "pictures only".into()]);
        }
        table.notes.extend(self.sorted.note());
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_its_turn() {
        let labels = Labels { index: vec![1, 1, 0, 1, 2, 0], names: ["a", "b", "c"].map(String::from).to_vec() };
        assert_eq!(some_of_each(&labels, 4), [2, 0, 4, 5]);
        assert_eq!(some_of_each(&labels, 100).len(), 6);
    }
}
