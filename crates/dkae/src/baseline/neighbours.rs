//! The nearest rows, exactly: what k-nearest-neighbour classification and ISOMAP's graph are made of.
//!
//! Squared distances `|a|^2 + |b|^2 - 2 a.b` come in blocks from matrix products in f32, whose rounding may swap neighbours that
//! are nearly as far. So the product only narrows the choice: every row whose distance could, within the rounding bound, be
//! among the k smallest is measured again in f64 from the differences, and those distances decide. Of equally distant rows the
//! one with the smaller number is nearer.

use std::cmp::Ordering::Greater;

use ndarray::{Array2, ArrayView1, ArrayView2, Axis, CowArray, Ix2, s};

use crate::math::{distance, gemm, vector};

/// Rows to find neighbours of at a time, and rows to find them among, per block of distances.
pub(super) const QUERIES: usize = 64;
const BLOCK: usize = 1024;

/// Rows that neighbours are found among.
#[derive(Clone, Debug)]
pub(super) struct Crowd<'a> {
    x: CowArray<'a, f32, Ix2>,
    norms: Vec<f32>,
}

impl<'a> Crowd<'a> {
    /// Finite rows.
    pub fn new(x: ArrayView2<'a, f32>) -> Self {
        let x = match x.is_standard_layout() {
            true => CowArray::from(x),
            false => CowArray::from(x.as_standard_layout().into_owned()),
        };
        let norms = distance::squared_norms(x.view()).to_vec();
        Crowd { x, norms }
    }

    /// The same, kept.
    pub fn into_owned(self) -> Crowd<'static> {
        Crowd { x: CowArray::from(self.x.into_owned()), norms: self.norms }
    }

    pub fn x(&self) -> ArrayView2<'_, f32> {
        self.x.view()
    }

    /// Squared distance and number of the k nearest rows of each of a few finite queries, nearest first. Where the queries
    /// are rows of the crowd, `own` is the number of the first of them, and none is its own neighbour.
    pub fn nearest(&self, queries: ArrayView2<f32>, k: usize, own: Option<usize>) -> Vec<Vec<(f64, usize)>> {
        let d = self.x.ncols();
        let queries = queries.as_standard_layout();
        let norms = distance::squared_norms(queries.view());
        let largest = self.norms.iter().fold(0.0f32, |m, &v| m.max(v));
        let mut searches: Vec<Search> = norms.iter().map(|&norm| Search::new(k, rounding(d, norm, largest))).collect();
        let mut products = Array2::<f32>::zeros((queries.nrows(), BLOCK));
        for (number, block) in self.x.axis_chunks_iter(Axis(0), BLOCK).enumerate() {
            let first = number * BLOCK;
            let mut products = products.slice_mut(s![.., ..block.nrows()]);
            gemm::sequential(1.0, queries.view(), block.t(), 0.0, products.view_mut());
            for (i, ((search, products), norm)) in searches.iter_mut().zip(products.rows()).zip(&norms).enumerate() {
                let itself = own.map(|own| own + i);
                for (j, (&product, other)) in products.iter().zip(&self.norms[first..]).enumerate() {
                    if itself != Some(first + j) {
                        search.offer(norm + other - 2.0 * product, first + j);
                    }
                }
            }
        }
        let flat = self.x.as_slice().unwrap_or(&[]);
        let exact = |(search, query): (Search, ArrayView1<f32>)| {
            let query = query.to_slice().unwrap_or(&[]);
            let measure = |i: usize| (vector::squared_distance(query, &flat[i * d..(i + 1) * d]), i);
            let mut near: Vec<(f64, usize)> = search.candidates().map(measure).collect();
            near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            near.truncate(k);
            near
        };
        searches.into_iter().zip(queries.rows()).map(exact).collect()
    }
}

/// A bound on the error of one distance in f32: each of d products and sums rounds once, relative to |a| |b|; the norms and
/// the two sums at the end round relative to (|a| + |b|)^2.
fn rounding(d: usize, norm: f32, largest: f32) -> f32 {
    let (a, b) = (norm.sqrt(), largest.sqrt());
    f32::EPSILON * (d as f32 * a * b + 4.0 * (a + b) * (a + b))
}

/// The search for one row's neighbours.
struct Search {
    k: usize,
    error: f32,
    /// The k smallest distances so far, largest last.
    smallest: Vec<f32>,
    /// Whatever may still be among the k nearest.
    candidates: Vec<(f32, usize)>,
    /// Beyond this distance nothing is.
    limit: f32,
}

impl Search {
    fn new(k: usize, error: f32) -> Self {
        Search { k, error, smallest: Vec::with_capacity(k + 1), candidates: Vec::new(), limit: f32::INFINITY }
    }

    fn offer(&mut self, distance: f32, row: usize) {
        if distance > self.limit {
            return;
        }
        self.candidates.push((distance, row));
        let place = self.smallest.partition_point(|&s| s <= distance);
        if place < self.k {
            self.smallest.insert(place, distance);
            self.smallest.truncate(self.k);
            if self.smallest.len() == self.k {
                // The true k-th distance is at most this plus one error; a candidate's at least its own minus one.
                self.limit = self.smallest[self.k - 1] + 2.0 * self.error;
            }
        }
    }

    fn candidates(self) -> impl Iterator<Item = usize> {
        // Not `<=`: where f32 overflows, distances are not comparable and everything is measured again.
        self.candidates.into_iter().filter(move |c| c.0.partial_cmp(&self.limit) != Some(Greater)).map(|c| c.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::rng;
    use ndarray::{array, concatenate};
    use rand::RngExt;

    /// The k nearest rows of one query by all distances in f64; of equals the smaller number first.
    fn by_force(x: ArrayView2<f32>, query: ArrayView1<f32>, k: usize, itself: Option<usize>) -> Vec<(f64, usize)> {
        let squared = |row: ArrayView1<f32>| {
            row.iter().zip(query).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2)).sum::<f64>()
        };
        let mut all: Vec<(f64, usize)> = x.rows().into_iter().map(squared).zip(0..).collect();
        all.retain(|&(_, i)| itself != Some(i));
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        all.truncate(k);
        all
    }

    fn random(n: usize, d: usize, seed: u64) -> Array2<f32> {
        let mut rng = rng::stream(seed, rng::Purpose::Demo, n as u64, d as u64);
        Array2::from_shape_simple_fn((n, d), || rng.random::<f32>() - 0.5)
    }

    /// Numbers exactly, distances but for the order of the sum.
    fn agree(found: &[Vec<(f64, usize)>], x: ArrayView2<f32>, queries: ArrayView2<f32>, k: usize, own: Option<usize>) {
        assert_eq!(found.len(), queries.nrows());
        for (i, (found, query)) in found.iter().zip(queries.rows()).enumerate() {
            let want = by_force(x, query, k, own.map(|own| own + i));
            let numbers = |list: &[(f64, usize)]| list.iter().map(|&(_, i)| i).collect::<Vec<_>>();
            assert_eq!(numbers(found), numbers(&want), "query {i}, k {k}");
            let off = found.iter().zip(&want).map(|(a, b)| (a.0 - b.0).abs() / b.0.max(1e-30)).fold(0.0, f64::max);
            assert!(off < 1e-12, "query {i}, k {k}: {off}");
        }
    }

    #[test]
    fn neighbours_are_those_of_all_distances_whatever_the_blocks() {
        // Fewer rows than a block, one block to the row, and a rest.
        for n in [40, BLOCK, 2 * BLOCK + 7] {
            let (x, queries) = (random(n, 13, 1), random(9, 13, 2));
            let crowd = Crowd::new(x.view());
            for k in [1, 5, 33] {
                agree(&crowd.nearest(queries.view(), k, None), x.view(), queries.view(), k, None);
            }
            // Rows of the crowd do not count themselves; the first asked about need not be the first.
            let own = n - 20;
            let some = x.slice(s![own.., ..]);
            agree(&crowd.nearest(some, 4, Some(own)), x.view(), some, 4, Some(own));
        }
    }

    #[test]
    fn layouts_that_are_not_by_rows_and_owned_crowds_give_the_same() {
        let (x, queries) = (random(300, 5, 3), random(7, 5, 4));
        let want = Crowd::new(x.view()).nearest(queries.view(), 6, None);
        let by_columns = x.t().as_standard_layout().into_owned();
        let queries_by_columns = queries.t().as_standard_layout().into_owned();
        assert_eq!(Crowd::new(by_columns.t()).into_owned().nearest(queries_by_columns.t(), 6, None), want);
        let every_second = random(600, 5, 3);
        let every_second = every_second.slice(s![..;2, ..]);
        let found = Crowd::new(every_second).nearest(queries.view(), 6, None);
        agree(&found, every_second, queries.view(), 6, None);
    }

    #[test]
    fn of_equally_distant_rows_the_smaller_number_is_nearer_across_blocks() {
        // A square around the origin, again and again: all rows are at distance one, in every block.
        let square = array![[1.0f32, 0.0], [0.0, -1.0], [-1.0, 0.0], [0.0, 1.0]];
        let n = 2 * BLOCK + 4;
        let x = Array2::from_shape_fn((n, 2), |(i, j)| square[[i % 4, j]]);
        let found = Crowd::new(x.view()).nearest(array![[0.0, 0.0]].view(), 6, None);
        assert_eq!(found, [(0..6).map(|i| (1.0, i)).collect::<Vec<_>>()]);
        // Seen from row 2 the nearest are its copies, in order, and not itself.
        let found = Crowd::new(x.view()).nearest(x.slice(s![2..3, ..]), 3, Some(2));
        assert_eq!(found, [[(0.0, 6), (0.0, 10), (0.0, 14)]]);
    }

    #[test]
    fn duplicates_far_from_the_origin_are_at_distance_zero() {
        // The products in f32 are off by about 100 here, and the true distances are below 1.
        let near = random(500, 20, 5).mapv(|v| v * 0.1 + 3000.0);
        let x = concatenate![Axis(0), near, near];
        let crowd = Crowd::new(x.view());
        let some = x.slice(s![..QUERIES, ..]);
        let found = crowd.nearest(some, 3, Some(0));
        agree(&found, x.view(), some, 3, Some(0));
        for (i, found) in found.iter().enumerate() {
            assert_eq!(found[0], (0.0, i + 500), "its twin");
            assert!(found[1].0 > 0.0 && found[1].0 == found[2].0 && found[1].1 + 500 == found[2].1, "{found:?}");
        }
    }

    #[test]
    fn all_rows_are_neighbours_when_k_is_larger() {
        let (x, queries) = (random(6, 3, 6), random(2, 3, 7));
        let crowd = Crowd::new(x.view());
        let found = crowd.nearest(queries.view(), 50, None);
        assert!(found.iter().all(|list| list.len() == 6));
        agree(&found, x.view(), queries.view(), 50, None);
        let others = crowd.nearest(x.view(), 50, Some(0));
        assert!(others.iter().enumerate().all(|(i, list)| list.len() == 5 && list.iter().all(|&(_, j)| j != i)));
    }

    #[test]
    fn where_f32_overflows_distances_are_still_those_in_f64() {
        let x = array![[1e30f32, 0.0], [3e30, 0.0], [2.5e30, 0.0], [-1e30, 0.0]];
        let queries = array![[2.4e30f32, 0.0]];
        agree(&Crowd::new(x.view()).nearest(queries.view(), 3, None), x.view(), queries.view(), 3, None);
    }
}
