//! Both losses on the validation rows against one setting, on two axes: what `lambda` and `code-size` show.

use dkae::recipe::Recipe;
use dkae_report::Figure;
use dkae_report::curves::{Axis, Curves, Series};
use serde::Serialize;

use crate::Result;
use crate::context::{Context, Job};
use crate::data::Set;
use crate::report::Table;

/// Both losses at one value of the setting.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    /// The value of the setting.
    pub value: f64,
    /// L_r: the squared error per pixel on the validation rows.
    pub reconstruction: f64,
    /// L_c: the distance of the kernel of codes to the prior on the validation rows.
    pub code: f64,
}

/// The trainings of every value.
pub fn jobs(values: impl Iterator<Item = (f64, Recipe)>) -> Vec<Job> {
    values.map(|(_, recipe)| Job { set: Set::Mnist, recipe }).collect()
}

/// Trains a model on MNIST for every value and measures both losses on the validation rows.
pub fn run(context: &Context, values: impl Iterator<Item = (f64, Recipe)>) -> Result<Vec<Point>> {
    let data = context.data(Set::Mnist, context.seed)?;
    let (values, recipes): (Vec<f64>, Vec<Recipe>) = values.unzip();
    let models = context.models(&data, &recipes)?;
    context.with_prior(&data, &context.plan.recipe(Set::Mnist, context.seed), 1, |prior| {
        let measure = |(&value, model)| {
            let losses = Context::losses(model, &data, 1, prior)?;
            Ok(Point { value, reconstruction: f64::from(losses.reconstruction), code: f64::from(losses.code) })
        };
        values.iter().zip(&models).map(measure).collect()
    })
}

/// The chart.
pub fn figure(points: &[Point], axis: Axis, title: &str) -> Result<Figure> {
    let column = |f: fn(&Point) -> f64| points.iter().map(f).collect::<Vec<f64>>();
    let (x, r, c) = (column(|p| p.value), column(|p| p.reconstruction), column(|p| p.code));
    let chart = Curves {
        width: 620.0,
        height: 340.0,
        title: title.into(),
        x: axis,
        y: Axis::new("squared error per pixel, L_r").from_zero(),
        right: Some(Axis::new("kernel distance, L_c").from_zero()),
        ..Curves::default()
    };
    Ok(chart.draw(&[Series::new("L_r", &x, &r, 0).marked(), Series::new("L_c", &x, &c, 3).marked().right()])?)
}

/// The table; the paper shows curves and prints no number.
pub fn table(points: &[Point], title: &str, setting: &str) -> Table {
    let mut table = Table::new(title, &[setting, "L_r, validation", "L_c(C, P), validation", "paper"]);
    for p in points {
        table.row([
            p.value.to_string(),
            format!("{:.5}", p.reconstruction),
            format!("{:.4}", p.code),
            "curve only".into(),
        ]);
    }
    table
}

/// The share of its range by which a curve may turn back from one value to the next: single trainings are not exact.
pub const SLACK: f64 = 0.02;

/// Whether values never rise by more than [`SLACK`] of their range from one to the next.
pub fn falls(values: &[f64]) -> bool {
    let range =
        values.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b)) - values.iter().fold(f64::INFINITY, |a, &b| a.min(b));
    values.windows(2).all(|w| w[1] <= w[0] + SLACK * range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn falling_allows_for_a_little_noise() {
        assert!(falls(&[3.0, 2.0, 2.03, 1.0]));
        assert!(!falls(&[3.0, 2.0, 2.05, 1.0]));
        assert!(falls(&[1.0]));
    }
}
