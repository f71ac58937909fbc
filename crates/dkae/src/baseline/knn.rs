//! Classification by the k nearest training rows, exactly.
//!
//! Neighbours are found in neighbours.rs. The class with most of the k of them wins, and of equals the one whose nearest row is
//! nearer.

use ndarray::{Array2, ArrayView2, Axis};
use rayon::prelude::*;

use crate::baseline::labelled::Classes;
use crate::baseline::neighbours::{Crowd, QUERIES};
use crate::math::{check, threads};
use crate::method::Classify;
use crate::{Error, Result};

/// Settings of a nearest-neighbour classifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knn {
    /// How many neighbours vote. Default 1.
    pub k: usize,
}

impl Default for Knn {
    fn default() -> Self {
        Knn { k: 1 }
    }
}

/// A fitted nearest-neighbour classifier: the training rows and their classes.
#[derive(Clone, Debug)]
pub struct KnnModel {
    k: usize,
    rows: Crowd<'static>,
    labels: Vec<u32>,
}

/// The nearest training rows of some rows, nearest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbours {
    /// Numbers of training rows: one row per row asked about, k columns.
    pub rows: Array2<usize>,
    /// Their distances (not squared).
    pub distances: Array2<f64>,
}

impl Knn {
    /// Keeps the rows and their classes.
    pub fn fit(&self, x: ArrayView2<f32>, labels: &[u32]) -> Result<KnnModel> {
        Classes::new(x.nrows(), labels)?;
        if self.k == 0 || self.k > x.nrows() {
            return Err(Error::setting(
                "k",
                format!("expected 1 to {}, the number of training rows, found {}", x.nrows(), self.k),
            ));
        }
        check::finite("rows for nearest neighbours", x)?;
        Ok(KnnModel { k: self.k, rows: Crowd::new(x).into_owned(), labels: labels.to_vec() })
    }
}

impl KnnModel {
    /// The k nearest training rows of each row.
    pub fn neighbours(&self, x: ArrayView2<f32>) -> Result<Neighbours> {
        check::width("rows for nearest neighbours", x, self.input_width())?;
        check::finite("rows for nearest neighbours", x)?;
        let found: Vec<Vec<(f64, usize)>> = threads::run(|| {
            let blocks: Vec<ArrayView2<f32>> = x.axis_chunks_iter(Axis(0), QUERIES).collect();
            blocks.into_par_iter().flat_map_iter(|queries| self.rows.nearest(queries, self.k, None)).collect()
        });
        let mut rows = Array2::zeros((x.nrows(), self.k));
        let mut distances = Array2::zeros((x.nrows(), self.k));
        for (i, found) in found.into_iter().enumerate() {
            for (j, (squared, row)) in found.into_iter().enumerate() {
                rows[[i, j]] = row;
                distances[[i, j]] = squared.sqrt();
            }
        }
        Ok(Neighbours { rows, distances })
    }
}

impl Classify for KnnModel {
    fn input_width(&self) -> usize {
        self.rows.x().ncols()
    }

    fn classify(&self, x: ArrayView2<f32>) -> Result<Vec<u32>> {
        let neighbours = self.neighbours(x)?;
        let vote = |rows: ndarray::ArrayView1<usize>| {
            let classes: Vec<u32> = rows.iter().map(|&i| self.labels[i]).collect();
            let votes = |class: u32| classes.iter().filter(|&&c| c == class).count();
            // Nearest first, so the first class with the most votes is the one whose nearest row is nearest.
            classes.iter().fold(classes[0], |best, &c| if votes(c) > votes(best) { c } else { best })
        };
        Ok(neighbours.rows.rows().into_iter().map(vote).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use crate::math::rng;
    use ndarray::array;
    use rand::RngExt;

    #[test]
    fn neighbours_and_votes_agree_with_scikit_learn() {
        let all = Fixture::load("svm");
        let (x, labels) = (all.array("x"), all.value::<Vec<u32>>("labels"));
        let queries = all.array("queries");
        let want = all.part("neighbours");
        let model = Knn { k: 7 }.fit(x.view(), &labels).unwrap();
        let got = model.neighbours(queries.view()).unwrap();
        let distances = want.matrix("distances");
        assert!((&got.distances - &distances).iter().all(|d| d.abs() < 1e-9));
        let rows: Vec<Vec<usize>> = want.value("rows");
        for (i, row) in rows.iter().enumerate() {
            assert_eq!(got.rows.row(i).to_vec(), *row, "query {i}");
        }
        let votes: Vec<Vec<u32>> = want.value("votes");
        for (class, votes) in model.classify(queries.view()).unwrap().into_iter().zip(votes) {
            assert_eq!(votes[(class as usize - 3) / 2], *votes.iter().max().unwrap());
        }
        let one = Knn::default().fit(x.view(), &labels).unwrap().classify(queries.view()).unwrap();
        assert_eq!(one, want.value::<Vec<u32>>("one"));
    }

    /// Rows far from the origin and close to each other: f32 norms and products cancel to nothing.
    #[test]
    fn neighbours_are_exact_where_f32_products_are_not() {
        let mut rng = rng::stream(1, rng::Purpose::Demo, 0, 0);
        let mut near = |n: usize| Array2::from_shape_simple_fn((n, 40), || 1000.0 + rng.random::<f32>());
        let (x, queries) = (near(1500), near(70));
        let model = Knn { k: 3 }.fit(x.view(), &vec![0; 1500]).unwrap();
        let got = model.neighbours(queries.view()).unwrap();
        for (i, query) in queries.rows().into_iter().enumerate() {
            let distance = |row: ndarray::ArrayView1<f32>| {
                row.iter().zip(query).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2)).sum::<f64>()
            };
            let mut want: Vec<(f64, usize)> = x.rows().into_iter().map(distance).zip(0..).collect();
            want.sort_by(|a, b| a.0.total_cmp(&b.0));
            assert_eq!(got.rows.row(i).to_vec(), want[..3].iter().map(|w| w.1).collect::<Vec<_>>());
        }
    }

    #[test]
    fn of_equally_distant_rows_the_first_is_nearer_and_breaks_ties() {
        let x = array![[2.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.0, 1.0]];
        let origin = array![[0.0, 0.0]];
        let found = Knn { k: 4 }.fit(x.view(), &[5, 6, 7, 5]).unwrap();
        assert_eq!(found.neighbours(origin.view()).unwrap().rows, array![[1, 2, 3, 0]]);
        let class = |k, labels: &[u32]| Knn { k }.fit(x.view(), labels).unwrap().classify(origin.view()).unwrap()[0];
        // One vote each: the nearest, not the smallest class.
        assert_eq!(class(2, &[5, 6, 3, 5]), 6);
        assert_eq!(class(4, &[5, 6, 7, 5]), 5);
    }

    #[test]
    fn values_beyond_the_range_of_f32_products_still_have_neighbours() {
        let x = array![[1e30, 0.0], [0.0, 1e30], [-1e30, 0.0]];
        let model = Knn::default().fit(x.view(), &[1, 2, 3]).unwrap();
        assert_eq!(model.classify(array![[9e29, 1e29], [-1e29, 8e29]].view()).unwrap(), [1, 2]);
    }

    #[test]
    fn bad_input_is_refused() {
        let x = array![[0.0f32], [1.0]];
        assert!(
            Knn { k: 3 }
                .fit(x.view(), &[0, 1])
                .unwrap_err()
                .to_string()
                .contains("1 to 2, the number of training rows")
        );
        assert!(Knn { k: 0 }.fit(x.view(), &[0, 1]).is_err());
        assert!(Knn { k: 1 }.fit(array![[f32::NAN]].view(), &[0]).is_err());
        let model = Knn::default().fit(x.view(), &[0, 1]).unwrap();
        assert!(model.classify(array![[0.0, 1.0]].view()).is_err());
        assert!(model.classify(array![[f32::INFINITY]].view()).is_err());
    }
}
