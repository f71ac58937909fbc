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
use crate::sweep::{self, Point, SLACK, falls};

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
            "The paper's curves: L_r grows with lambda ({}), L_c falls ({}); a change back by less than {:.0} % of the range does \
             not count.",
            says(falls(&errors)),
            says(falls(&distances)),
            100.0 * SLACK
        ));
        let middle: Vec<&Point> = self.points.iter().filter(|p| (0.1..=0.9).contains(&p.value)).collect();
        let grows = |of: fn(&Point) -> f64| {
            let values = middle.iter().map(|p| of(p));
            values.clone().fold(0.0, f64::max) / values.fold(f64::INFINITY, f64::min)
        };
        table.note(format!(
            "The paper calls both nearly constant for lambda from 0.1 to 0.9. Here the largest there is {:.1} times the smallest \
             for L_r, {:.1} times for L_c.",
            grows(|p| p.reconstruction),
            grows(|p| p.code)
        ));
        table
    }
}
