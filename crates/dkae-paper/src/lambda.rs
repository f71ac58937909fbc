//! `lambda`: both losses on the validation rows against the weight of the code loss (section 4.2, figure 3a).
//!
//! At lambda = 0 only the reconstruction counts, at 1 only the alignment; the paper finds both losses nearly constant
//! from 0.1 to 0.9.

use dkae::recipe::Recipe;
use dkae_report::Figure;
use dkae_report::curves::Axis;
use serde::Serialize;

use crate::Result;
use crate::budget::{Plan, decimal};
use crate::data::Set;
use crate::report::{self, Table};
use crate::sweep::{self, Point, falls};

/// Both losses for every lambda.
#[derive(Debug, Serialize)]
pub struct Results {
    /// By growing lambda.
    pub points: Vec<Point>,
}

/// Every lambda with its training.
pub fn recipes(plan: &Plan, seed: u64) -> impl Iterator<Item = (f64, Recipe)> {
    let usual = plan.recipe(Set::Mnist, seed);
    plan.lambdas.iter().map(move |&lambda| (decimal(lambda), Plan::with_lambda(&usual, lambda)))
}

impl report::Results for Results {
    fn figure(&self) -> Result<Figure> {
        let lambdas: Vec<f64> = self.points.iter().map(|p| p.value).collect();
        sweep::figure(
            &self.points,
            Axis::new("λ, weight of the code loss").at(&lambdas),
            "Reconstruction against alignment",
        )
    }

    fn table(&self) -> Table {
        let title = "1. `lambda`: the trade-off (section 4.2, figure 3a), MNIST";
        let mut table = sweep::table(&self.points, title, "lambda");
        let errors: Vec<f64> = self.points.iter().rev().map(|p| p.reconstruction).collect();
        let distances: Vec<f64> = self.points.iter().map(|p| p.code).collect();
        let says = |holds: bool| if holds { "so it is here" } else { "here not at every step" };
        table.note(format!(
            "The paper: L_r grows with lambda ({}), L_c falls ({}).",
            says(falls(&errors, 0.02)),
            says(falls(&distances, 0.02))
        ));
        table
    }
}
