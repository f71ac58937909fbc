//! Code space as the page shows it: a map of held-out rows on the first two components of the codes, a grid of decoded
//! points of that plane, and walks between centroids.

use dkae::code::{KMeans, KMeansModel, PcaModel, walk};
use dkae::data::Labels;
use dkae::net::Model;
use dkae::progress::Progress;
use ndarray::{Array2, ArrayView2, Axis, concatenate, s};
use serde::Serialize;

use super::figures::{Line, gallery, percent};
use super::looks::{Choice, Given, Looks};
use super::pack::{Packed, level, range};
use super::{Held, Report, decode};
use crate::scatter;
use crate::{Error, Result};

/// Points of the map when it stands still, without JavaScript or on paper.
const STILL: usize = 1000;
/// Width by height of the map on a screen: what it shows beside the rows is decoded too.
const ASPECT: f64 = 4.0 / 3.0;
/// Points of a walk in a table that stands still.
const STOPS: usize = 6;

/// The map.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Map {
    /// The plane's part that is shown: left, right, bottom, top.
    pub range: [f64; 4],
    /// Coordinates of the rows in 16 bits of that range.
    pub x: Packed,
    pub y: Packed,
    /// The share of the codes' variance along both axes.
    pub explained: [f64; 2],
    /// Decoded points along each side, and the sheet with them: from the left, then from the bottom.
    pub side: usize,
    pub grid: usize,
    #[serde(skip)]
    pub still: String,
    /// Rows that are drawn when it stands still.
    #[serde(skip)]
    pub drawn: usize,
}

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

impl Report {
    /// The map; with it the features that decoded points are shown by.
    pub(super) fn map(
        &self,
        model: &Model,
        pca: &PcaModel,
        codes: ArrayView2<f32>,
        held: &Held,
        looks: &mut Looks,
    ) -> Result<(Map, Choice)> {
        let scores = pca.transform(codes)?;
        // A code of one number has one component.
        let mut points = Array2::zeros((scores.nrows(), 2));
        let axes = scores.ncols().min(2);
        points.slice_mut(s![.., ..axes]).assign(&scores.slice(s![.., ..axes]));
        let padded = |axis: usize| {
            let (low, high) = range(points.column(axis).iter().map(|&v| f64::from(v)));
            let rim = 0.06 * (high - low);
            (low - rim, high + rim)
        };
        let [x0, x1, y0, y1] = widened(padded(0), padded(1));
        let side = self.grid;
        let along = |i: usize, low: f64, high: f64| low + (high - low) * i as f64 / (side - 1) as f64;
        let mut places = Array2::zeros((side * side, scores.ncols()));
        for (i, mut place) in places.rows_mut().into_iter().enumerate() {
            place[0] = along(i % side, x0, x1) as f32;
            if axes == 2 {
                place[1] = along(i / side, y0, y1) as f32;
            }
        }
        let decoded = decode(model, pca.inverse(places.view())?.view())?;
        let varying = looks.varying(Given::Network(&decoded))?;
        let grid = looks.add(Given::Network(&decoded), &varying)?;

        let shown = points.nrows().min(STILL);
        let still = scatter::Map { width: 560.0, height: 460.0, ..scatter::Map::default() };
        let labels = &held.labels[..held.labels.len().min(shown)];
        let still = still.draw(points.slice(s![..shown, ..]), labels, &held.classes)?;
        let ratio = &pca.explained_variance_ratio;
        let explained = [ratio[0], ratio.get(1).copied().unwrap_or(0.0)];
        let map = Map {
            range: [x0, x1, y0, y1],
            x: Packed::u16s(points.column(0).iter().map(|&v| level(v.into(), x0, x1))),
            y: Packed::u16s(points.column(1).iter().map(|&v| level(v.into(), y0, y1))),
            explained,
            side,
            grid,
            still: still.svg().to_owned(),
            drawn: shown,
        };
        Ok((map, varying))
    }

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
            let still: Vec<_> = walks
                .map(|j| (format!("1 to {}", j + 1), decoded.slice(s![place(j)..place(j) + self.steps, ..]).to_owned()))
                .collect();
            let lines = still.iter().map(|(caption, rows)| Line { caption, rows: Given::Network(rows) });
            gallery(looks, varying, &lines.collect::<Vec<_>>(), &(0..self.steps).map(along).collect::<Vec<_>>())?
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

/// The part of the plane that is shown: what the rows need, made as wide for its height as a screen shows it.
fn widened(x: (f64, f64), y: (f64, f64)) -> [f64; 4] {
    let height = (y.1 - y.0).max((x.1 - x.0) / ASPECT);
    // Rows that all have one code still lie somewhere.
    let height = if height > 0.0 { height } else { 1.0 };
    let around = |(low, high): (f64, f64), side: f64| [(low + high - side) / 2.0, (low + high + side) / 2.0];
    let ([left, right], [bottom, top]) = (around(x, ASPECT * height), around(y, height));
    [left, right, bottom, top]
}

/// Steps of a walk, spread evenly, with both ends.
fn stops(steps: usize) -> Vec<usize> {
    let count = steps.min(STOPS);
    (0..count).map(|i| i * (steps - 1) / (count - 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::encode;
    use crate::page::looks::{Raw, Sheet, tests::model};
    use dkae::code::Pca;
    use dkae::data::{Shape, Table};
    use dkae::recipe::Source;

    /// A map that is mirrored or turned shows rows where they are not, and decodes other points than the one shown.
    #[test]
    fn rows_lie_where_their_codes_do_and_the_grid_runs_from_the_left_then_from_the_bottom() {
        let x = Array2::from_shape_fn((40, 4), |(i, j)| ((i * (7 + 3 * j) + j * j) % (11 + j)) as f32);
        let model = model(Shape::Vector, x.view());
        let table = Table { x, ..Table::default() };
        let source = Source::from(&table);
        let x = model.preparation().apply(table.x.view()).unwrap();
        let codes = encode(&model, x.view()).unwrap();
        let pca = Pca { components: 2, ..Pca::default() }.fit(codes.view()).unwrap();
        let held = Held {
            parts: vec![(2, 40)],
            raw: Raw::Dense(table.x.clone()),
            x,
            numbers: (0..40).collect(),
            labels: Vec::new(),
            classes: Vec::new(),
        };
        let rows: Vec<usize> = (0..40).collect();
        let mut looks = Looks::new(&model, &source, &rows).unwrap();
        let (map, varying) =
            Report { grid: 3, ..Report::default() }.map(&model, &pca, codes.view(), &held, &mut looks).unwrap();

        let [x0, x1, y0, y1] = map.range;
        assert!(((x1 - x0) / (y1 - y0) - ASPECT).abs() < 1e-9);
        let scores = pca.transform(codes.view()).unwrap();
        for (packed, axis, low, high) in [(&map.x, 0, x0, x1), (&map.y, 1, y0, y1)] {
            for (level, &score) in packed.read_u16s().into_iter().zip(scores.column(axis)) {
                let shown = low + (high - low) * f64::from(level) / 65535.0;
                assert!((shown - f64::from(score)).abs() < 1e-4 * (high - low), "{shown} {score}");
            }
        }

        // Point by point: the mean of the codes and so much of each component.
        let mut wanted = Looks::new(&model, &source, &rows).unwrap();
        let mut places = Vec::new();
        for y in [y0, (y0 + y1) / 2.0, y1] {
            for x in [x0, (x0 + x1) / 2.0, x1] {
                let code = (0..2).map(|j| {
                    let along = |axis: usize| f64::from(pca.components[[axis, j]]);
                    (f64::from(pca.mean[j]) + x * along(0) + y * along(1)) as f32
                });
                places.extend(code);
            }
        }
        let places = Array2::from_shape_vec((9, 2), places).unwrap();
        wanted.add(Given::Network(&decode(&model, places.view()).unwrap()), &varying).unwrap();
        let values = |looks: Looks| match looks.finish().1.remove(0) {
            Sheet::Features { values, .. } => values.read_f32s(),
            Sheet::Pictures { .. } => panic!("not pictures"),
        };
        let (found, wanted) = (values(looks), values(wanted));
        assert_eq!(found.len(), 9 * 4);
        assert!(found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-3), "{found:?} {wanted:?}");
    }

    #[test]
    fn the_part_that_is_shown_has_the_shape_of_the_screen() {
        assert_eq!(widened((0.0, 4.0), (0.0, 1.0)), [0.0, 4.0, -1.0, 2.0]);
        assert_eq!(widened((0.0, 1.0), (0.0, 3.0)), [-1.5, 2.5, 0.0, 3.0]);
        let [left, right, bottom, top] = widened((5.0, 5.0), (0.0, 0.0));
        assert!(left < 5.0 && right > 5.0 && bottom < 0.0 && top > 0.0);
    }

    #[test]
    fn stops_go_all_the_way() {
        assert_eq!(stops(11), [0, 2, 4, 6, 8, 10]);
        assert_eq!((stops(2), stops(8)), (vec![0, 1], vec![0, 1, 2, 4, 5, 7]));
    }
}
