//! `walk`: k-means with ten clusters on the codes of training digits, and straight walks between pairs of centroids, decoded
//! (section 5.2, figure 8). The pairs are drawn at random; one of them is of two clusters that stand for the same digit, where there are
//! such: the paper shows one of those.

use dkae::code::{KMeans, walk_decoded};
use dkae::math::rng::{Purpose, sample, stream};
use dkae::recipe::Recipe;
use dkae_report::Figure;
use dkae_report::images::{Grid, Row};
use ndarray::{Array2, Axis};
use serde::Serialize;

use crate::Result;
use crate::budget::Plan;
use crate::context::{Context, Job};
use crate::data::Set;
use crate::report::{self, Table};

/// Clusters, as many as classes.
const CLUSTERS: usize = 10;
/// Walks shown.
const WALKS: usize = 6;
/// Pictures of a walk, both ends included.
const STEPS: usize = 12;

/// A cluster in terms of classes.
#[derive(Clone, Debug, Serialize)]
pub struct Cluster {
    /// Rows in it.
    pub rows: usize,
    /// The class most of them have.
    pub class: String,
    /// The share that has it.
    pub share: f64,
}

/// The clusters and the walks.
#[derive(Serialize)]
pub struct Results {
    /// All clusters.
    pub clusters: Vec<Cluster>,
    /// The share of training rows whose class is that of most of their cluster.
    pub purity: f64,
    /// The clusters between which each walk goes.
    pub pairs: Vec<(usize, usize)>,
    /// The largest step of each walk in input space, as a part of the whole distance; 1/11 would be perfectly even.
    pub largest_steps: Vec<f64>,
    /// The walks, decoded.
    #[serde(skip)]
    pub walks: Vec<Array2<f32>>,
}

/// The trainings it stands on.
pub fn jobs(plan: &Plan, seed: u64) -> Vec<Job> {
    vec![Job { set: Set::Mnist, recipe: recipe(plan, seed) }]
}

fn recipe(plan: &Plan, seed: u64) -> Recipe {
    plan.recipe(Set::Mnist, seed)
}

/// Different pairs of clusters, drawn at random; if none of them is of one class, the last gives way to the first drawn that is.
fn pairs(seed: u64, clusters: &[Cluster]) -> Vec<(usize, usize)> {
    let all: Vec<(usize, usize)> = (0..CLUSTERS).flat_map(|a| (a + 1..CLUSTERS).map(move |b| (a, b))).collect();
    let mut random = stream(seed, Purpose::Demo, 0, 0);
    let drawn: Vec<_> = sample(&mut random, all.len(), all.len()).into_iter().map(|i| all[i]).collect();
    let same = |&(a, b): &(usize, usize)| clusters[a].class == clusters[b].class;
    let (mut pairs, others) = (drawn[..WALKS].to_vec(), &drawn[WALKS..]);
    if !pairs.iter().any(same)
        && let Some(&pair) = others.iter().find(|pair| same(pair))
    {
        pairs[WALKS - 1] = pair;
    }
    pairs
}

/// The largest distance between neighbours as a part of the distance from first to last.
fn largest_step(rows: &Array2<f32>) -> f64 {
    let distance = |a: usize, b: usize| {
        let square: f32 = rows.row(a).iter().zip(rows.row(b)).map(|(a, b)| (a - b).powi(2)).sum();
        f64::from(square).sqrt()
    };
    let largest = (1..rows.nrows()).map(|i| distance(i - 1, i)).fold(0.0, f64::max);
    let whole = distance(0, rows.nrows() - 1);
    if whole > 0.0 { largest / whole } else { 0.0 }
}

/// Trains and measures.
pub fn run(context: &Context) -> Result<Results> {
    let data = context.data(Set::Mnist, context.seed)?;
    let model = context.model(&data, &recipe(&context.plan, context.seed))?;
    let codes = model.encode(data.prepared.parts[0].view())?;
    let settings = KMeans { clusters: CLUSTERS, seed: context.seed, ..KMeans::default() };
    let found = context.work("k-means", |progress| Ok(settings.fit(codes.view(), progress)?))?;
    let labels = &data.labels()[0];
    let mut counts = Array2::<usize>::zeros((CLUSTERS, labels.names.len()));
    found.labels.iter().zip(&labels.index).for_each(|(&k, &class)| counts[[k as usize, class as usize]] += 1);
    let cluster = |row: ndarray::ArrayView1<usize>| {
        let rows = row.sum();
        let (class, most) = row.iter().enumerate().max_by_key(|(_, n)| **n).unwrap_or((0, &0));
        Cluster { rows, class: labels.names[class].clone(), share: *most as f64 / rows.max(1) as f64 }
    };
    let clusters: Vec<Cluster> = counts.axis_iter(Axis(0)).map(cluster).collect();
    let purity = clusters.iter().map(|c| c.share * c.rows as f64).sum::<f64>() / codes.nrows() as f64;
    let pairs = pairs(context.seed, &clusters);
    let walk =
        |&(a, b): &(usize, usize)| Ok(walk_decoded(&model, found.centroids.row(a), found.centroids.row(b), STEPS)?);
    let walks = pairs.iter().map(walk).collect::<Result<Vec<_>>>()?;
    Ok(Results { clusters, purity, pairs, largest_steps: walks.iter().map(largest_step).collect(), walks })
}

impl Results {
    fn caption(&self, (a, b): (usize, usize)) -> String {
        format!("{} to {}", self.clusters[a].class, self.clusters[b].class)
    }

    /// With the shares that the two digits have in their clusters.
    fn full_caption(&self, (a, b): (usize, usize)) -> String {
        let about = |c: &Cluster| format!("{} ({:.0} %)", c.class, 100.0 * c.share);
        format!("{} to {}", about(&self.clusters[a]), about(&self.clusters[b]))
    }
}

impl report::Results for Results {
    fn figure(&self) -> Result<Figure> {
        let captions: Vec<String> = self.pairs.iter().map(|&pair| self.full_caption(pair)).collect();
        let rows: Vec<Row> =
            captions.iter().zip(&self.walks).map(|(caption, walk)| Row { caption, pictures: walk.view() }).collect();
        let title = "Walks between centroids of codes, named by the digit most frequent in each cluster".into();
        Ok(Grid { title, ..Grid::default() }.draw(&rows)?)
    }

    fn table(&self) -> Table {
        let title = "9. `walk`: from centroid to centroid in code space (section 5.2, figure 8), MNIST";
        let head = ["walk", "digits in its clusters", "largest of 11 steps, share of the distance", "paper"];
        let mut table = Table::new(title, &head);
        for (&(a, b), step) in self.pairs.iter().zip(&self.largest_steps) {
            let about = |c: &Cluster| format!("{:.0} % {}", 100.0 * c.share, c.class);
            let both = format!("{}; {}", about(&self.clusters[a]), about(&self.clusters[b]));
            table.row([self.caption((a, b)), both, format!("{step:.2}"), "pictures only".into()]);
        }
        let classes: std::collections::BTreeSet<&str> = self.clusters.iter().map(|c| &*c.class).collect();
        table.note(format!(
            "{:.1} % of the training digits have the class of most of their cluster; the ten clusters stand for {} classes. A \
             walk of even steps has 0.09 in the third column; 1 would be a jump. Pairs are drawn at random, but that one is of two \
             clusters of one digit where there are such.",
            100.0 * self.purity,
            classes.len()
        ));
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn pairs_are_different_and_one_is_of_one_class_where_there_is_such() {
        let cluster = |class: usize| Cluster { rows: 1, class: class.to_string(), share: 1.0 };
        let different: Vec<Cluster> = (0..CLUSTERS).map(cluster).collect();
        for seed in 0..20 {
            let found = pairs(seed, &different);
            assert_eq!(found, pairs(seed, &different));
            assert!(found.iter().all(|(a, b)| a < b && *b < CLUSTERS));
            let mut once = found.clone();
            once.sort_unstable();
            once.dedup();
            assert_eq!(once.len(), WALKS);
            // Clusters 2 and 7 stand for one class.
            let mut twins = different.clone();
            twins[7] = cluster(2);
            let with_twins = pairs(seed, &twins);
            assert!(with_twins.contains(&(2, 7)), "{with_twins:?}");
            assert_eq!(with_twins[..WALKS - 1], found[..WALKS - 1]);
        }
    }

    #[test]
    fn the_largest_step_tells_a_jump_from_a_walk() {
        assert!((largest_step(&array![[0.0, 0.0], [0.0, 1.0], [0.0, 2.0]]) - 0.5).abs() < 1e-6);
        assert!((largest_step(&array![[0.0], [0.0], [3.0]]) - 1.0).abs() < 1e-6);
        assert_eq!(largest_step(&array![[1.0], [1.0]]), 0.0);
    }
}
