//! `kpca`: how far the kernel matrix that kernel PCA makes of its first m components is from the prior, against m, and where
//! that becomes nearer than dkAE (section 4.4, figure 5).
//!
//! With P = V Λ Vᵀ on the training rows, K_m = Σ_{i<=m} λ_i v_i v_iᵀ, so that <K_m, P> = |K_m|² = Σ_{i<=m} λ_i² and the alignment is
//! `sqrt(Σ_{i<=m} λ_i²) / |P|`. On the test rows the scores Z come from Nyström's formula, and K_m = Z_m Z_mᵀ, with
//! <K_m, P> = Σ_{i<=m} z_iᵀ P z_i and |K_m|² = |Z_mᵀ Z_m|². Nothing is centred, as P is not.

use dkae::baseline::Kpca;
use dkae::kernel::{KernelSpec, Posteriors};
use dkae::metrics::{alignment_with_codes, code_loss};
use dkae::recipe::Recipe;
use dkae_report::Figure;
use dkae_report::curves::{Axis, Curves, Series};
use ndarray::{Array2, ArrayView2};
use serde::Serialize;

use crate::Result;
use crate::budget::Plan;
use crate::context::{Context, Job};
use crate::data::Set;
use crate::report::{self, Table};

/// Where the curves cross in the paper.
const PAPER: usize = 16;

/// Distances to the prior, and where they cross.
#[derive(Debug, Serialize)]
pub struct Results {
    /// L_c(K_m, P) on the training rows for m = 1, 2, ...
    pub train: Vec<f64>,
    /// The same on the test rows.
    pub test: Vec<f64>,
    /// L_c(C, P) of dkAE on the training and the test rows.
    pub dkae: [f64; 2],
    /// The smallest m at which kernel PCA is at least as near as dkAE, on the training and the test rows.
    pub crossings: [Option<usize>; 2],
}

/// The trainings it stands on.
pub fn jobs(plan: &Plan, seed: u64) -> Vec<Job> {
    vec![Job { set: Set::Mnist, recipe: recipe(plan, seed) }]
}

fn recipe(plan: &Plan, seed: u64) -> Recipe {
    plan.recipe(Set::Mnist, seed)
}

/// The smallest number of components whose distance is at most `level`; the first entry is of one component.
pub fn crossing(distances: &[f64], level: f64) -> Option<usize> {
    distances.iter().position(|&d| d <= level).map(|i| i + 1)
}

/// L_c(K_m, P) for every m from the eigenvalues of P and its norm.
fn from_spectrum(values: &[f64], norm: f64) -> Vec<f64> {
    let sums = values.iter().scan(0.0, |sum, v| {
        *sum += v * v;
        Some(*sum)
    });
    sums.map(|sum: f64| code_loss((sum.sqrt() / norm).min(1.0))).collect()
}

/// L_c(Z_m Z_mᵀ, P) for every m.
fn from_scores(p: ArrayView2<f32>, z: ArrayView2<f32>) -> Vec<f64> {
    let norm = p.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt();
    let pz = p.dot(&z);
    let gram = z.mapv(f64::from).t().dot(&z.mapv(f64::from));
    let (mut inner, mut square) = (0.0, 0.0);
    (0..z.ncols())
        .map(|m| {
            inner += z.column(m).iter().zip(pz.column(m)).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>();
            square += gram[[m, m]].powi(2) + 2.0 * (0..m).map(|i| gram[[i, m]].powi(2)).sum::<f64>();
            code_loss((inner / (square.sqrt() * norm)).clamp(-1.0, 1.0))
        })
        .collect()
}

/// Trains and measures.
pub fn run(context: &Context) -> Result<Results> {
    let data = context.data(Set::Mnist, context.seed)?;
    let recipe = recipe(&context.plan, context.seed);
    let model = context.model(&data, &recipe)?;
    let [x, _, new] = &data.prepared.parts;
    let KernelSpec::Pck(pck) = recipe.seeded().kernel else {
        return Err(dkae::Error::setting("kernel", "expected the probabilistic cluster kernel").into());
    };
    let kernel = context.work("fitting the kernel", |progress| Ok(pck.fit_watched(x.view(), progress)?))?;
    let [own, others]: [Posteriors; 2] = context.work("applying the kernel", |progress| {
        let [own, others] = [x, new].map(|x| kernel.posteriors_watched(x.view(), progress));
        Ok([own?, others?])
    })?;
    let dkae = context.work("distance of dkAE to the prior", |progress| {
        let distance = |prior: &Posteriors, x: &Array2<f32>| -> Result<f64> {
            Ok(code_loss(alignment_with_codes(prior, model.encode(x.view())?.view(), progress)?))
        };
        Ok([distance(&own, x)?, distance(&others, new)?])
    })?;
    let rows: Vec<usize> = (0..new.nrows()).collect();
    let mut p = Array2::zeros((rows.len(), rows.len()));
    dkae::kernel::Prior::block(&others, &rows, &rows, p.view_mut());

    // Twice as many components until the curves have crossed dkAE's level.
    let most = context.plan.components.min(x.nrows() / 4);
    let mut components = 32.min(most);
    loop {
        let settings = Kpca { components, centred: false, seed: recipe.seed, ..Kpca::default() };
        let found =
            context.work(&format!("kernel PCA, {components} components"), |p| Ok(settings.fit_factors(&own, p)?))?;
        let values = found.spectrum.values.to_vec();
        // K of all components found has a known norm, and its alignment with P then gives the norm of P.
        let scores = found.spectrum.scores();
        let aligned = context.work("distance of kernel PCA to the prior", |progress| {
            Ok(alignment_with_codes(&own, scores.view(), progress)?)
        })?;
        let norm = values.iter().map(|v| v * v).sum::<f64>().sqrt() / aligned;
        let train = from_spectrum(&values, norm);
        let test = from_scores(p.view(), found.project(&others)?.view());
        let crossings = [crossing(&train, dkae[0]), crossing(&test, dkae[1])];
        if crossings.iter().all(Option::is_some) || components == most {
            return Ok(Results { train, test, dkae, crossings });
        }
        components = (2 * components).min(most);
    }
}

impl report::Results for Results {
    fn figure(&self) -> Result<Figure> {
        let m: Vec<f64> = (1..=self.train.len()).map(|m| m as f64).collect();
        let ends = [1.0, self.train.len() as f64];
        let level = |value: f64| [value, value];
        let (train, test) = (level(self.dkae[0]), level(self.dkae[1]));
        // Both crossings are often close, and their names would overlap: the first speaks for both, to the left of both.
        let at = |i: usize| self.crossings[i].map(|m| m as f64);
        let name = |i: usize| self.crossings[i].map_or(format!("more than {}", self.train.len()), |m| m.to_string());
        let first = at(0).into_iter().chain(at(1)).fold(f64::INFINITY, f64::min);
        let text = format!("as near as dkAE from m = {} (training), {} (test)", name(0), name(1));
        let named = |m: f64| (m, if m == first { text.clone() } else { String::new() });
        let mut marks: Vec<(f64, String)> = at(0).into_iter().chain(at(1)).map(named).collect();
        marks.dedup();
        let chart = Curves {
            width: 680.0,
            height: 380.0,
            title: "Distance to the prior kernel".into(),
            x: Axis::new("components m").log(),
            y: Axis::new("L_c(K, P)").from_zero(),
            marks,
            ..Curves::default()
        };
        Ok(chart.draw(&[
            Series::new("kPCA, training", &m, &self.train, 0),
            Series::new("kPCA, test (Nyström)", &m, &self.test, 0).dashed(),
            Series::new("dkAE, training", &ends, &train, 3),
            Series::new("dkAE, test", &ends, &test, 3).dashed(),
        ])?)
    }

    fn table(&self) -> Table {
        let title = "5. `kpca`: the prior by kernel PCA and by dkAE (section 4.4, figure 5), MNIST";
        let mut table = Table::new(title, &["rows", "L_c(C, P) of dkAE", "kPCA is as near from m =", "paper"]);
        for (i, part) in ["training", "test, Nyström"].into_iter().enumerate() {
            let crossing = self.crossings[i].map_or(format!("more than {}", self.train.len()), |m| m.to_string());
            table.row([part.into(), format!("{:.4}", self.dkae[i]), crossing, PAPER.to_string()]);
        }
        table.note("The paper prints one m and does not say on which rows.");
        table.note(
            "A larger m is better for dkAE: with fewer components than that, kernel PCA is farther from the prior.",
        );
        let shown = [1usize, 2, 4, 8, 16, 32, 64, 128, 256].into_iter().filter(|&m| m <= self.train.len());
        let listed: Vec<String> =
            shown.map(|m| format!("m = {m}: {:.3} / {:.3}", self.train[m - 1], self.test[m - 1])).collect();
        table.note(format!("L_c(K_m, P) of kernel PCA, training / test: {}.", listed.join(", ")));
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dkae::metrics::alignment;
    use ndarray::array;

    #[test]
    fn the_crossing_is_the_first_number_of_components_that_is_near_enough() {
        let curve = [1.0, 0.8, 0.5, 0.3, 0.2];
        assert_eq!(crossing(&curve, 0.4), Some(4));
        assert_eq!(crossing(&curve, 0.5), Some(3));
        assert_eq!(crossing(&curve, 2.0), Some(1));
        assert_eq!(crossing(&curve, 0.1), None);
        assert_eq!(crossing(&[], 0.1), None);
    }

    #[test]
    fn distances_from_the_spectrum_are_those_of_the_matrices() {
        // Two orthonormal vectors and the eigenvalues 3, 1 (and 0).
        let v = array![[0.6f32, 0.8], [0.8, -0.6], [0.0, 0.0]];
        let p = (&v * &array![3.0, 1.0]).dot(&v.t());
        let norm = p.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
        let first = (&v.slice(ndarray::s![.., ..1]) * 3.0).dot(&v.slice(ndarray::s![.., ..1]).t());
        let want = code_loss(alignment(first.view(), p.view()).unwrap());
        let found = from_spectrum(&[3.0, 1.0], norm);
        assert!((found[0] - want).abs() < 1e-6 && found[1] < 1e-3, "{found:?} {want}");
    }

    #[test]
    fn distances_from_scores_are_those_of_the_matrices() {
        let p = array![[2.0f32, 0.5, 0.1], [0.5, 1.0, 0.3], [0.1, 0.3, 1.5]];
        let z = array![[1.2f32, -0.4], [0.5, 0.3], [0.2, 0.9]];
        let found = from_scores(p.view(), z.view());
        for m in 1..=2 {
            let z = z.slice(ndarray::s![.., ..m]);
            let want = code_loss(alignment(z.dot(&z.t()).view(), p.view()).unwrap());
            assert!((found[m - 1] - want).abs() < 1e-6, "{m}: {found:?} {want}");
        }
    }
}
