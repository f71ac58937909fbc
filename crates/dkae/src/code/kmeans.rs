//! k-means: k centroids that make the sum of squared distances from every row to its nearest centroid (the inertia) small.
//!
//! Lloyd's algorithm: rows go to their nearest centroid, centroids move to the mean of their rows, until no row changes
//! or the centroids stand still. It finds a local optimum, so it runs from several starts and the best is kept. Starts
//! are k-means++ (Arthur and Vassilvitskii 2007): the first centroid is a random row, each further one a row drawn with
//! probability proportional to the squared distance from those chosen; of `2 + ln k` draws the best is taken.
//! A centroid that loses all its rows takes the row that is farthest from its own centroid.
//!
//! Distances come from GEMM on a copy of the rows less their mean (far from zero, `|x|^2 - 2 x.c + |c|^2` would cancel);
//! centroids are means in f64, each summed in row order by one thread, so the result does not depend on the number of
//! threads.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, s};
use rand::RngExt;
use rayon::prelude::*;

use crate::code::pca;
use crate::math::rng::{Purpose, below, stream};
use crate::math::{check, distance, gemm, threads};
use crate::progress::Progress;
use crate::{Error, Result};

/// Settings of k-means.
#[derive(Clone, Debug, PartialEq)]
pub struct KMeans {
    /// How many clusters, at most the number of rows. Default 8.
    pub clusters: usize,
    /// How many starts; the result of least inertia is kept. Default 10.
    pub restarts: usize,
    /// The most iterations from one start. Default 300.
    pub max_iterations: usize,
    /// Stop when the squared movement of all centroids together is at most this times the mean variance of a column.
    /// Default 1e-4.
    pub tolerance: f64,
    /// Seeds the starts. Default 0.
    pub seed: u64,
}

impl Default for KMeans {
    fn default() -> Self {
        Self { clusters: 8, restarts: 10, max_iterations: 300, tolerance: 1e-4, seed: 0 }
    }
}

/// Fitted centroids.
#[derive(Clone, Debug)]
pub struct KMeansModel {
    /// One centroid per row.
    pub centroids: Array2<f32>,
    /// The cluster of each row of the fit.
    pub labels: Vec<u32>,
    /// The sum of squared distances from the rows of the fit to their centroids.
    pub inertia: f64,
    /// Iterations of the start that won.
    pub iterations: usize,
    /// Whether that start came to rest before the limit on iterations.
    pub converged: bool,
}

/// Rows whose distances are computed at a time.
const ROWS: usize = 256;

impl KMeans {
    /// Clusters the rows of `x`.
    pub fn fit(&self, x: ArrayView2<f32>, progress: &dyn Progress) -> Result<KMeansModel> {
        self.check(x)?;
        if self.restarts == 0 {
            return Err(Error::setting("restarts", "expected at least 1, found 0"));
        }
        threads::run(|| {
            let rows = Rows::new(x);
            let mut best: Option<KMeansModel> = None;
            for restart in 0..self.restarts {
                let start = self.start(&rows, restart as u64, progress)?;
                let model = self.lloyd(&rows, start, progress)?;
                // Strictly better: of equals the earlier start stays.
                if best.as_ref().is_none_or(|b| model.inertia < b.inertia) {
                    best = Some(model);
                }
                progress.step("k-means starts", restart as u64 + 1, self.restarts as u64);
            }
            Ok(best.expect("at least one start was made"))
        })
    }

    /// Clusters the rows of `x` from given centroids, one per row of `start`, once.
    pub fn fit_from(&self, x: ArrayView2<f32>, start: ArrayView2<f32>, progress: &dyn Progress) -> Result<KMeansModel> {
        self.check(x)?;
        check::rows("initial centroids", start)?;
        check::width("initial centroids", start, x.ncols())?;
        if start.nrows() != self.clusters {
            let (want, found) = (self.clusters, start.nrows());
            return Err(Error::Data(format!(
                "initial centroids: expected {want}, one for each cluster, found {found}"
            )));
        }
        threads::run(|| {
            let rows = Rows::new(x);
            let start = start.mapv(f64::from) - &rows.mean;
            self.lloyd(&rows, start, progress)
        })
    }

    fn check(&self, x: ArrayView2<f32>) -> Result<()> {
        check::rows("rows for k-means", x)?;
        if !(1..=x.nrows()).contains(&self.clusters) {
            let (n, k) = (x.nrows(), self.clusters);
            return Err(Error::setting("clusters", format!("expected 1 to {n} (the number of rows), found {k}")));
        }
        if self.max_iterations == 0 {
            return Err(Error::setting("max_iterations", "expected at least 1, found 0"));
        }
        if self.tolerance.is_nan() || self.tolerance < 0.0 {
            return Err(Error::setting("tolerance", format!("expected 0 or more, found {}", self.tolerance)));
        }
        Ok(())
    }

    /// k-means++ with several draws for each centroid; centroids less the mean row.
    fn start(&self, rows: &Rows, restart: u64, progress: &dyn Progress) -> Result<Array2<f64>> {
        let mut rng = stream(self.seed, Purpose::KMeans, restart, 0);
        let (n, k) = (rows.centred.nrows(), self.clusters);
        let trials = 2 + (k as f64).ln() as usize;
        let mut chosen = vec![below(&mut rng, n)];
        let mut nearest = rows.distances_to(&chosen).column(0).to_owned();
        while chosen.len() < k {
            progress.check()?;
            let total: f64 = nearest.iter().map(|&d| f64::from(d)).sum();
            let draws: Vec<usize> = (0..trials)
                .map(|_| {
                    if total <= 0.0 {
                        // Every row is a centroid already (fewer distinct rows than clusters): any row will do.
                        return below(&mut rng, n);
                    }
                    let mut left = rng.random::<f64>() * total;
                    let found = nearest.iter().position(|&d| {
                        left -= f64::from(d);
                        left < 0.0
                    });
                    // Rounding can leave a crumb beyond the last row.
                    found.or_else(|| nearest.iter().rposition(|&d| d > 0.0)).unwrap_or(0)
                })
                .collect();
            let mut distances = rows.distances_to(&draws);
            for mut column in distances.columns_mut() {
                column.zip_mut_with(&nearest, |d, &old| *d = d.min(old));
            }
            let inertia = |j: usize| distances.column(j).iter().map(|&d| f64::from(d)).sum::<f64>();
            let sums: Vec<f64> = (0..trials).map(inertia).collect();
            let best = (0..trials).fold(0, |best, j| if sums[j] < sums[best] { j } else { best });
            chosen.push(draws[best]);
            nearest = distances.column(best).to_owned();
        }
        Ok(rows.centred.select(Axis(0), &chosen).mapv(f64::from))
    }

    fn lloyd(&self, rows: &Rows, start: Array2<f64>, progress: &dyn Progress) -> Result<KMeansModel> {
        let stop = self.tolerance * rows.variance;
        let mut centroids = start;
        let mut labels = Vec::new();
        let (mut iterations, mut converged) = (0, false);
        while iterations < self.max_iterations && !converged {
            if progress.stop() {
                return Err(Error::Interrupted);
            }
            iterations += 1;
            let (new, distances) = rows.assign(&centroids.mapv(|v| v as f32));
            let moved = rows.centroids(&new, &distances, &centroids);
            let same = new == labels;
            let shift: f64 = moved.iter().zip(&centroids).map(|(a, b)| (a - b) * (a - b)).sum();
            (labels, centroids) = (new, moved);
            converged = same || shift <= stop;
        }
        // Labels and inertia are those of the centroids that are handed out.
        let (labels, distances) = rows.assign(&centroids.mapv(|v| v as f32));
        let inertia: f64 = distances.iter().map(|&d| f64::from(d)).sum();
        if !inertia.is_finite() {
            return Err(Error::Data("distances between rows overflow: values are too large; scale them".into()));
        }
        let centroids = (centroids + &rows.mean).mapv(|v| v as f32);
        Ok(KMeansModel { centroids, labels, inertia, iterations, converged })
    }
}

/// Rows, and what is the same for every start.
struct Rows {
    mean: Array1<f64>,
    /// The rows less their mean.
    centred: Array2<f32>,
    /// Their squared norms.
    norms: Array1<f32>,
    /// The mean variance of a column.
    variance: f64,
}

impl Rows {
    fn new(x: ArrayView2<f32>) -> Self {
        let mean = pca::mean(x);
        let mut centred = x.to_owned();
        centred.axis_iter_mut(Axis(0)).into_par_iter().for_each(|mut row| {
            row.zip_mut_with(&mean, |v, m| *v = (f64::from(*v) - m) as f32);
        });
        let norms = distance::squared_norms(centred.view());
        let variance = norms.iter().map(|&v| f64::from(v)).sum::<f64>() / x.len() as f64;
        Self { mean, centred, norms, variance }
    }

    /// Squared distances of all rows to the rows numbered `to`, one column for each.
    fn distances_to(&self, to: &[usize]) -> Array2<f32> {
        let mut out = Array2::zeros((self.centred.nrows(), to.len()));
        gemm::product(-2.0, self.centred.view(), self.centred.select(Axis(0), to).t(), 0.0, out.view_mut());
        for (mut row, &own) in out.rows_mut().into_iter().zip(&self.norms) {
            row.iter_mut().zip(to).for_each(|(d, &j)| *d = (*d + own + self.norms[j]).max(0.0));
        }
        // A row is at distance zero from itself, whatever rounding says.
        for (j, &i) in to.iter().enumerate() {
            out[[i, j]] = 0.0;
        }
        out
    }

    /// The nearest centroid of every row (of equals the first) and the squared distance to it.
    fn assign(&self, centroids: &Array2<f32>) -> (Vec<u32>, Vec<f32>) {
        let n = self.centred.nrows();
        let parts: Vec<Vec<(u32, f32)>> = (0..n.div_ceil(ROWS))
            .into_par_iter()
            .map(|i| {
                let rows = i * ROWS..((i + 1) * ROWS).min(n);
                nearest(self.centred.slice(s![rows.clone(), ..]), self.norms.slice(s![rows]), centroids)
            })
            .collect();
        parts.into_iter().flatten().unzip()
    }

    /// The mean of every cluster's rows; empty clusters get the farthest rows.
    fn centroids(&self, labels: &[u32], distances: &[f32], old: &Array2<f64>) -> Array2<f64> {
        let k = old.nrows();
        let mut members = vec![Vec::new(); k];
        for (i, &label) in labels.iter().enumerate() {
            members[label as usize].push(i);
        }
        let empty: Vec<usize> = (0..k).filter(|&c| members[c].is_empty()).collect();
        if !empty.is_empty() {
            let mut order: Vec<usize> = (0..labels.len()).collect();
            order.sort_by(|&a, &b| distances[b].total_cmp(&distances[a]).then(a.cmp(&b)));
            // A row that sits on its centroid is no help, nor is one that is alone in its cluster.
            let mut far = order.into_iter().take_while(|&i| distances[i] > 0.0);
            for c in empty {
                let Some(i) = far.by_ref().find(|&i| members[labels[i] as usize].len() > 1) else { break };
                members[labels[i] as usize].retain(|&j| j != i);
                members[c].push(i);
            }
        }
        let mut out = old.clone();
        out.axis_iter_mut(Axis(0)).into_par_iter().zip(&members).for_each(|(mut centroid, members)| {
            if members.is_empty() {
                return;
            }
            centroid.fill(0.0);
            for &i in members {
                centroid.zip_mut_with(&self.centred.row(i), |c, &v| *c += f64::from(v));
            }
            centroid /= members.len() as f64;
        });
        out
    }
}

/// The nearest centroid of every row and the squared distance to it; `own` is the squared norm of every row.
fn nearest(a: ArrayView2<f32>, own: ArrayView1<f32>, centroids: &Array2<f32>) -> Vec<(u32, f32)> {
    let mut d = Array2::zeros((a.nrows(), centroids.nrows()));
    gemm::sequential(-2.0, a, centroids.t(), 0.0, d.view_mut());
    let norms = distance::squared_norms(centroids.view());
    let pick = |(row, own): (ArrayView1<f32>, &f32)| {
        let first = (0u32, row[0] + norms[0]);
        let (label, d) = (1..row.len()).fold(first, |best, j| {
            let d = row[j] + norms[j];
            if d < best.1 { (j as u32, d) } else { best }
        });
        (label, (d + own).max(0.0))
    };
    d.rows().into_iter().zip(own).map(pick).collect()
}

impl KMeansModel {
    /// The nearest centroid of each row.
    pub fn predict(&self, x: ArrayView2<f32>) -> Result<Vec<u32>> {
        check::width("rows for k-means", x, self.centroids.ncols())?;
        check::rows("rows for k-means", x)?;
        threads::run(|| {
            let mean = pca::mean(self.centroids.view()).mapv(|v| v as f32);
            let centroids = &self.centroids - &mean;
            let parts: Vec<Vec<u32>> = x
                .axis_chunks_iter(Axis(0), ROWS)
                .into_par_iter()
                .map(|a| {
                    let a = &a - &mean;
                    let found = nearest(a.view(), distance::squared_norms(a.view()).view(), &centroids);
                    found.into_iter().map(|(label, _)| label).collect()
                })
                .collect();
            Ok(parts.concat())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, Impatient, refused};
    use crate::math::rng::sample;
    use crate::progress::Silent;
    use ndarray::array;

    /// Three round clouds, far from each other and from zero.
    fn clouds(n: usize) -> Array2<f32> {
        let mut rng = stream(2, Purpose::Demo, n as u64, 0);
        Array2::from_shape_fn((n, 4), |(i, j)| 1000.0 + (i % 3 * 10 * (j + 1)) as f32 + rng.random::<f32>())
    }

    fn inertia(x: &Array2<f32>, model: &KMeansModel) -> f64 {
        let square = |i: usize| -> f64 {
            let c = model.centroids.row(model.labels[i] as usize);
            x.row(i).iter().zip(c).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2)).sum()
        };
        (0..x.nrows()).map(square).sum()
    }

    #[test]
    fn agrees_with_scikit_learn_from_the_same_centroids() {
        let f = Fixture::load("kmeans");
        let x = f.array("x");
        for case in ["plain", "empty"] {
            let start = f.array(&format!("{case}_start"));
            let settings = KMeans { clusters: start.nrows(), ..KMeans::default() };
            let model = settings.fit_from(x.view(), start.view(), &Silent).unwrap();
            let want: Vec<u32> = f.list(&format!("{case}_labels")).iter().map(|&v| v as u32).collect();
            assert_eq!(model.labels, want, "{case}");
            let d = &model.centroids - &f.array(&format!("{case}_centroids"));
            assert!(d.iter().all(|d| d.abs() < 1e-5), "{case}: {d}");
            let want = f.list(&format!("{case}_inertia"))[0];
            assert!((model.inertia / want - 1.0).abs() < 1e-5, "{case}");
            assert_eq!(model.iterations as f64, f.list(&format!("{case}_iterations"))[0], "{case}");
            assert_eq!(model.predict(x.view()).unwrap(), model.labels, "{case}");
        }
    }

    #[test]
    fn separate_clouds_are_found_and_their_means_are_the_centroids() {
        let x = clouds(300);
        let model = KMeans { clusters: 3, ..KMeans::default() }.fit(x.view(), &Silent).unwrap();
        assert!(model.converged);
        for cloud in 0..3 {
            let rows: Vec<usize> = (cloud..300).step_by(3).collect();
            let label = model.labels[rows[0]];
            assert!(rows.iter().all(|&i| model.labels[i] == label));
            let mean = pca::mean(x.select(Axis(0), &rows).view());
            let c = model.centroids.row(label as usize);
            assert!(c.iter().zip(&mean).all(|(&c, m)| (f64::from(c) - m).abs() < 1e-4));
        }
        assert!((inertia(&x, &model) / model.inertia - 1.0).abs() < 1e-3);
    }

    #[test]
    fn of_several_starts_the_best_is_kept() {
        let x = Fixture::load("kmeans").array("x");
        let rows = Rows::new(x.view());
        let mut later = 0;
        for seed in 0..8 {
            let settings = KMeans { clusters: 6, restarts: 8, seed, ..KMeans::default() };
            let each: Vec<KMeansModel> = (0..8)
                .map(|restart| {
                    settings.lloyd(&rows, settings.start(&rows, restart, &Silent).unwrap(), &Silent).unwrap()
                })
                .collect();
            let best = (1..8).fold(0, |best, i| if each[i].inertia < each[best].inertia { i } else { best });
            let model = settings.fit(x.view(), &Silent).unwrap();
            assert_eq!((model.inertia, &model.labels), (each[best].inertia, &each[best].labels), "{seed}");
            assert_eq!(model.centroids, each[best].centroids, "{seed}");
            later += usize::from(best > 0);
        }
        assert!(later > 0, "were the first start always the best, the test would show nothing");
    }

    #[test]
    fn one_start_finds_small_clouds_far_from_a_large_one() {
        // A thousand rows near zero, and nine times five far from there and from each other.
        let mut rng = stream(2, Purpose::Demo, 0, 0);
        let cloud = |i: usize| if i < 1000 { 0 } else { 1 + (i - 1000) / 5 };
        let x = Array2::from_shape_fn((1045, 2), |(i, j)| {
            let far = [cloud(i), cloud(i).pow(2) % 7][j];
            1000.0 * far as f32 + rng.random::<f32>()
        });
        let found = |model: &KMeansModel| {
            let mut of_cloud = vec![None; 10];
            let same = (0..1045).all(|i| *of_cloud[cloud(i)].get_or_insert(model.labels[i]) == model.labels[i]);
            of_cloud.sort_unstable();
            of_cloud.dedup();
            same && of_cloud.len() == 10
        };
        for seed in 0..50 {
            let settings = KMeans { clusters: 10, restarts: 1, seed, ..KMeans::default() };
            assert!(found(&settings.fit(x.view(), &Silent).unwrap()), "{seed}");
            // Of ten rows drawn evenly nearly all are near zero, where they stay: a start that knows no distances fails.
            let even = x.select(Axis(0), &sample(&mut stream(seed, Purpose::Demo, 1, 0), 1045, 10));
            assert!(!found(&settings.fit_from(x.view(), even.view(), &Silent).unwrap()), "{seed}");
        }
    }

    #[test]
    fn no_cluster_stays_empty_while_there_are_distinct_rows() {
        let x = clouds(60);
        // All centroids in one far corner: only one of them gets any rows at first.
        let start = Array2::from_shape_fn((5, 4), |(i, _)| i as f32);
        let model = KMeans { clusters: 5, ..KMeans::default() }.fit_from(x.view(), start.view(), &Silent).unwrap();
        assert!((0..5).all(|c| model.labels.contains(&c)), "{:?}", model.labels);
    }

    #[test]
    fn duplicate_rows_work_even_with_fewer_distinct_rows_than_clusters() {
        let x = Array2::from_shape_fn((12, 2), |(i, j)| (i % 2 * (j + 1)) as f32);
        let model = KMeans { clusters: 4, ..KMeans::default() }.fit(x.view(), &Silent).unwrap();
        assert!(model.inertia < 1e-10 && model.converged);
        assert!(model.centroids.iter().all(|v| v.is_finite()));
        let all = KMeans { clusters: 12, restarts: 1, ..KMeans::default() }.fit(x.view(), &Silent).unwrap();
        assert!(all.inertia < 1e-10);
    }

    #[test]
    fn bad_input_is_an_error_and_a_stop_is_heard() {
        let x = clouds(9);
        let fit = |settings: KMeans, x: &Array2<f32>| settings.fit(x.view(), &Silent);
        for clusters in [0, 10] {
            let found = format!("clusters: expected 1 to 9 (the number of rows), found {clusters}");
            refused(fit(KMeans { clusters, ..KMeans::default() }, &x), &found);
        }
        refused(fit(KMeans { restarts: 0, ..KMeans::default() }, &x), "restarts: expected at least 1");
        refused(fit(KMeans { max_iterations: 0, ..KMeans::default() }, &x), "max_iterations: expected at least 1");
        refused(fit(KMeans { tolerance: f64::NAN, ..KMeans::default() }, &x), "tolerance: expected 0 or more");
        refused(fit(KMeans { clusters: 1, ..KMeans::default() }, &array![[f32::NAN]]), "row 1, column 1 is NaN");
        let settings = KMeans { clusters: 2, ..KMeans::default() };
        let from = |start: ArrayView2<f32>| settings.fit_from(x.view(), start, &Silent);
        refused(from(x.slice(s![..3, ..])), "initial centroids: expected 2, one for each cluster, found 3");
        refused(from(Array2::zeros((2, 3)).view()), "initial centroids: expected 4 columns");
        let narrow = Array2::zeros((2, 3));
        refused(fit(settings, &x).unwrap().predict(narrow.view()), "rows for k-means: expected 4 columns");
        assert!(matches!(KMeans::default().fit(x.view(), &Impatient), Err(Error::Interrupted)));
    }

    #[test]
    fn one_thread_and_many_give_the_same_bits() {
        let x = clouds(2000);
        let run = |count| {
            threads::with_count(count, || {
                let settings = KMeans { clusters: 7, restarts: 3, ..KMeans::default() };
                let model = settings.fit(x.view(), &Silent).unwrap();
                (model.centroids, model.labels, model.inertia)
            })
        };
        assert_eq!(run(1), run(3));
    }
}
