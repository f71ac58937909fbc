//! The walks section: clusters of codes, and straight lines between their centroids, decoded.

use dkae::code::{KMeans, KMeansModel, walk};
use dkae::data::Labels;
use dkae::net::Model;
use dkae::progress::Progress;
use ndarray::{Array2, ArrayView2, Axis, concatenate, s};
use serde::Serialize;

use super::figures::{Line, capital, gallery, percent};
use super::looks::{Choice, Given, Looks};
use super::{Report, decode};
use crate::svg::escape;
use crate::{Error, Result};

/// Points of a walk in a table that stands still.
const STOPS: usize = 6;

/// Walks between all pairs of centroids.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Walks {
    /// The clusters' names.
    pub names: Vec<String>,
    /// Points on each walk.
    pub steps: usize,
    /// The sheet with them: (0, 1), (0, 2), ..., (1, 2), ...
    pub sheet: usize,
    #[serde(skip)]
    pub still: String,
}

/// Clusters of codes, with names.
pub(super) struct Clusters {
    pub model: KMeansModel,
    pub names: Vec<String>,
}

impl Walks {
    /// What the section shows.
    pub fn text() -> &'static str {
        "Straight lines between the centroids of k-means clusters of the codes, decoded: in code space the way is straight, \
         in the space of the rows it follows what the decoder learned."
    }
}

impl Report {
    /// Clusters of training codes, as many as classes, ordered and named by the class that most of their rows have.
    pub(super) fn clusters(
        &self,
        codes: ArrayView2<f32>,
        labels: Option<&Labels>,
        progress: &dyn Progress,
    ) -> Result<Clusters> {
        let wanted = labels.map_or(8, |labels| labels.names.len()).clamp(2, self.clusters.max(2));
        let clusters = wanted.min(codes.nrows());
        let settings = KMeans { clusters, restarts: 3, seed: self.seed, ..KMeans::default() };
        let mut model = settings.fit(codes, progress)?;
        let Some(labels) = labels else {
            let names = (1..=clusters).map(|i| format!("cluster {i}")).collect();
            return Ok(Clusters { model, names });
        };
        let mut counts = Array2::<usize>::zeros((clusters, labels.names.len().max(1)));
        model.labels.iter().zip(&labels.index).for_each(|(&c, &l)| counts[[c as usize, l as usize]] += 1);
        let most =
            |c: usize| (0..counts.ncols()).fold(0, |best, l| if counts[[c, l]] > counts[[c, best]] { l } else { best });
        let mut order: Vec<usize> = (0..clusters).collect();
        order.sort_by_key(|&c| (most(c), c));
        let names = order.iter().enumerate().map(|(place, &c)| {
            let share = counts[[c, most(c)]] as f64 / counts.row(c).sum().max(1) as f64;
            let name = labels.names.get(most(c)).cloned().unwrap_or_default();
            format!("cluster {}: {} {name}", place + 1, percent(share))
        });
        let names = names.collect();
        model.centroids = model.centroids.select(Axis(0), &order);
        Ok(Clusters { model, names })
    }

    /// Walks between all pairs of centroids; none when there is one cluster only.
    pub(super) fn walks(
        &self,
        model: &Model,
        clusters: &Clusters,
        varying: &Choice,
        looks: &mut Looks,
    ) -> Result<Option<Walks>> {
        let centroids = &clusters.model.centroids;
        let k = centroids.nrows();
        let pairs = (0..k).flat_map(|i| (i + 1..k).map(move |j| (i, j)));
        let codes = pairs.map(|(i, j)| walk(centroids.row(i), centroids.row(j), self.steps));
        let codes: Vec<Array2<f32>> = codes.collect::<dkae::Result<_>>()?;
        let views: Vec<_> = codes.iter().map(|c| c.view()).collect();
        if views.is_empty() {
            return Ok(None);
        }
        let all = concatenate(Axis(0), &views).map_err(|e| Error::Data(e.to_string()))?;
        let decoded = decode(model, all.view())?;
        let sheet = looks.add(Given::Network(&decoded), varying)?;
        // From the first cluster to the next few.
        let walks = 1..k.min(5);
        let place = |j: usize| (j - 1) * self.steps;
        let along = |step: usize| format!("{} %", 100 * step / (self.steps - 1));
        let still = if looks.shape().is_some() {
            let shown = walks.clone();
            let still: Vec<_> = walks
                .map(|j| {
                    (
                        format!("cluster 1 to {}", j + 1),
                        decoded.slice(s![place(j)..place(j) + self.steps, ..]).to_owned(),
                    )
                })
                .collect();
            let lines = still.iter().map(|(caption, rows)| Line { caption, rows: Given::Network(rows) });
            let heads: Vec<String> = (0..self.steps).map(along).collect();
            gallery(looks, varying, &lines.collect::<Vec<_>>(), &heads)? + &key(&clusters.names[..shown.end])
        } else {
            // A table for each walk, with a column for each stop.
            let names = &clusters.names;
            let tables: Vec<String> = walks.clone().map(|j| format!("from {} to {}", names[0], names[j])).collect();
            let stops = stops(self.steps);
            let at = |&step: &usize| {
                (along(step), decoded.select(Axis(0), &walks.clone().map(|j| place(j) + step).collect::<Vec<_>>()))
            };
            let still: Vec<_> = stops.iter().map(at).collect();
            let lines = still.iter().map(|(caption, rows)| Line { caption, rows: Given::Network(rows) });
            gallery(looks, varying, &lines.collect::<Vec<_>>(), &tables)?
        };
        Ok(Some(Walks { names: clusters.names.clone(), steps: self.steps, sheet, still }))
    }
}

/// What the clusters are, below a figure that has only their numbers; nothing where they have no other names.
fn key(names: &[String]) -> String {
    match names.iter().any(|name| name.contains(':')) {
        true => format!("<p class=\"small\">{}.</p>", escape(&capital(&names.join("; ")))),
        false => String::new(),
    }
}

/// Steps of a walk, spread evenly, with both ends.
fn stops(steps: usize) -> Vec<usize> {
    let count = steps.min(STOPS);
    (0..count).map(|i| i * (steps - 1) / (count - 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_with_numbers_of_clusters_has_a_key() {
        let names = ["cluster 1: 77 % <b>0</b>", "cluster 2: over 99 % 1"].map(str::to_owned);
        assert_eq!(key(&names), "<p class=\"small\">Cluster 1: 77 % &lt;b&gt;0&lt;/b&gt;; cluster 2: over 99 % 1.</p>");
        assert_eq!(key(&["cluster 1", "cluster 2"].map(str::to_owned)), "");
    }

    #[test]
    fn stops_go_all_the_way() {
        assert_eq!(stops(11), [0, 2, 4, 6, 8, 10]);
        assert_eq!((stops(2), stops(8)), (vec![0, 1], vec![0, 1, 2, 4, 5, 7]));
    }
}
