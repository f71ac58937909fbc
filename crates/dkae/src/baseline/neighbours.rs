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
