//! `code-size`: both losses on the validation rows against the width of the code, N_c, at lambda = 0.1 (section 4.2,
//! figure 3b). The paper finds that both fall as the code grows.

use dkae::recipe::Recipe;
use dkae_report::Figure;
use dkae_report::curves::Axis;
use serde::Serialize;

use crate::Result;
use crate::budget::Plan;
use crate::data::Set;
use crate::report::{self, Table};
use crate::sweep::{self, Point, falls};

/// Both losses for every width.
#[derive(Debug, Serialize)]
pub struct Results {
    /// By growing width.
    pub points: Vec<Point>,
}

/// Every width with its training.
pub fn recipes(plan: &Plan, seed: u64) -> impl Iterator<Item = (f64, Recipe)> {
    plan.code_sizes.iter().map(move |&code| (code as f64, Plan { code, ..plan.clone() }.recipe(Set::Mnist, seed)))
}

impl report::Results for Results {
    fn figure(&self) -> Result<Figure> {
        let sizes: Vec<f64> = self.points.iter().map(|p| p.value).collect();
        sweep::figure(
            &self.points,
            Axis::new("N_c, width of the code").log().at(&sizes),
            "Losses against the width of the code",
        )
    }

    fn table(&self) -> Table {
        let title = "2. `code-size`: the width of the code at lambda 0.1 (section 4.2, figure 3b), MNIST";
        let mut table = sweep::table(&self.points, title, "N_c");
        let column = |f: fn(&Point) -> f64| self.points.iter().map(f).collect::<Vec<f64>>();
        let says = |values: &[f64]| if falls(values) { "falls here too" } else { "does not fall at every step here" };
        table.note(format!(
            "The paper: both losses fall as N_c grows. L_r {}, L_c {}.",
            says(&column(|p| p.reconstruction)),
            says(&column(|p| p.code))
        ));
        table
    }
}
