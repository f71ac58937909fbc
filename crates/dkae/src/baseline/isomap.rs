//! ISOMAP: distances along the data instead of through the air, then classical scaling (Tenenbaum, de Silva and Langford
//! 2000).
//!
//! Every row is linked to its k nearest neighbours; the distance of two rows is the length of the shortest path between
//! them (Dijkstra). Classical scaling embeds rows so that straight-line distances reproduce these: kernel PCA of
//! `-D^2 / 2`, centred. A new row reaches every row through its own neighbours, `min_i |x - x_i| + D_ij`, and is embedded
//! by the formula for new rows of kernel PCA.
//!
//! Paths are needed from a number of landmarks only (de Silva and Tenenbaum 2003): scaling embeds the landmarks, and the
//! other rows follow from their distances to them as new rows do. With every row a landmark this is plain ISOMAP;
//! with fewer, memory is landmarks x rows and the paths cost accordingly less.
//!
//! When the graph falls into pieces, the closest rows of every two pieces are linked, and the model tells how many
//! pieces there were.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ndarray::{Array2, ArrayView1, ArrayView2, ArrayViewMut2, Axis, s};
use rayon::prelude::*;

use super::kpca::{Kpca, Spectrum};
use crate::kernel::Prior;
use crate::math::rng::{Purpose, sample, stream};
use crate::math::{check, distance, threads};
use crate::method::Embed;
use crate::progress::Progress;
use crate::{Error, Result};

/// Settings of ISOMAP.
#[derive(Clone, Debug, PartialEq)]
pub struct Isomap {
    /// How many coordinates, at most the number of landmarks. Default 2.
    pub components: usize,
    /// How many neighbours each row is linked to, fewer than there are rows. Default 5.
    pub neighbours: usize,
    /// How many rows, drawn at random, are landmarks; all of them when there are no more. Default 1000.
    pub landmarks: usize,
    /// Seeds the draw of landmarks. Default 0.
    pub seed: u64,
}

impl Default for Isomap {
    fn default() -> Self {
        Self { components: 2, neighbours: 5, landmarks: 1000, seed: 0 }
    }
}

/// A fitted ISOMAP.
#[derive(Clone, Debug)]
pub struct IsomapModel {
    /// Eigenpairs of the centred `-D^2 / 2` between landmarks.
    pub spectrum: Spectrum,
    /// The embedding of the rows of the fit.
    pub scores: Array2<f32>,
    /// Pieces that the graph of neighbours had before they were joined; 1 when it was connected.
    pub pieces: usize,
    x: Array2<f32>,
    neighbours: usize,
    /// From every row of the fit, the distance along the graph to each landmark.
    to_landmarks: Array2<f32>,
}

impl IsomapModel {
    /// A model from its parts, as [`parts`](Self::parts) gives them.
    pub fn from_parts(
        x: Array2<f32>,
        neighbours: usize,
        to_landmarks: Array2<f32>,
        spectrum: Spectrum,
        scores: Array2<f32>,
    ) -> Result<Self> {
        let n = x.nrows();
        let fit = to_landmarks.dim() == (n, spectrum.vectors.nrows())
            && scores.dim() == (n, spectrum.values.len())
            && (1..n).contains(&neighbours);
        if !fit {
            return Err(Error::Data("the parts of a fitted ISOMAP do not fit together".into()));
        }
        Ok(Self { spectrum, scores, pieces: 1, x, neighbours, to_landmarks })
    }

    /// The rows of the fit, the neighbours of a row, and the distances from every row to each landmark.
    pub fn parts(&self) -> (ArrayView2<'_, f32>, usize, ArrayView2<'_, f32>) {
        (self.x.view(), self.neighbours, self.to_landmarks.view())
    }
}

/// Links of every row: the other row and the length.
type Graph = Vec<Vec<(u32, f64)>>;

impl Isomap {
    /// Embeds the rows of `x`.
    pub fn fit(&self, x: ArrayView2<f32>, progress: &dyn Progress) -> Result<IsomapModel> {
        check::rows("rows for ISOMAP", x)?;
        let n = x.nrows();
        if !(1..n).contains(&self.neighbours) || n > u32::MAX as usize {
            let found = self.neighbours;
            return Err(Error::setting(
                "neighbours",
                format!("expected at least 1 and fewer than the {n} rows, found {found}"),
            ));
        }
        let count = self.landmarks.min(n);
        check::components(self.components, count, &format!("the landmarks among {n} rows"))?;
        let mut landmarks: Vec<usize> = (0..n).collect();
        if count < n {
            landmarks = sample(&mut stream(self.seed, Purpose::Subset, 2, 0), n, count);
            landmarks.sort_unstable();
        }
        threads::run(|| {
            let (graph, pieces) = graph(x, self.neighbours, progress)?;
            let paths = paths(&graph, &landmarks, progress)?;
            let between = Between { paths: paths.view(), landmarks: &landmarks };
            // A dissimilarity matrix is small (landmarks only), so it need not be kept a second time.
            let kpca =
                Kpca { components: self.components, cache_mb: 0, tolerance: 1e-5, max_sweeps: 200, ..Kpca::default() };
            let spectrum = kpca.fit_prior(&between, progress)?;
            // The matrix of paths between all rows is symmetric as it is.
            let to_landmarks = if count == n { paths } else { paths.t().as_standard_layout().into_owned() };
            let scores =
                if count == n { spectrum.scores() } else { spectrum.project(similarity(&to_landmarks).view())? };
            Ok(IsomapModel { spectrum, scores, pieces, x: x.to_owned(), neighbours: self.neighbours, to_landmarks })
        })
    }
}

/// `-D^2 / 2`.
fn similarity(distances: &Array2<f32>) -> Array2<f32> {
    distances.mapv(|d| -0.5 * d * d)
}

/// `-D^2 / 2` between landmarks.
struct Between<'a> {
    /// One row of distances to all rows for each landmark.
    paths: ArrayView2<'a, f32>,
    landmarks: &'a [usize],
}

impl Prior for Between<'_> {
    fn len(&self) -> usize {
        self.landmarks.len()
    }

    fn block(&self, rows: &[usize], columns: &[usize], mut out: ArrayViewMut2<f32>) {
        for ((i, j), v) in out.indexed_iter_mut() {
            let d = self.paths[[rows[i], self.landmarks[columns[j]]]];
            *v = -0.5 * d * d;
        }
    }
}

impl Embed for IsomapModel {
    fn input_width(&self) -> usize {
        self.x.ncols()
    }

    fn width(&self) -> usize {
        self.spectrum.values.len()
    }

    fn embed(&self, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        check::rows("rows to embed", x)?;
        check::width("rows to embed", x, self.x.ncols())?;
        let mut z = Array2::zeros((x.nrows(), self.width()));
        threads::run(|| {
            let links = nearest(x, self.x.view(), self.neighbours, false, &crate::progress::Silent)?;
            for (links, mut z) in links.chunks(256).zip(z.axis_chunks_iter_mut(Axis(0), 256)) {
                let mut d = Array2::from_elem((links.len(), self.to_landmarks.ncols()), f32::INFINITY);
                d.axis_iter_mut(Axis(0)).into_par_iter().zip(links).for_each(|(mut d, links)| {
                    for &(i, length) in links {
                        let path = self.to_landmarks.row(i as usize);
                        d.zip_mut_with(&path, |d, &p| *d = d.min((f64::from(p) + length) as f32));
                    }
                });
                z.assign(&self.spectrum.project(similarity(&d).view())?);
            }
            Ok(z)
        })
    }
}

/// The `k` nearest rows of `b` for every row of `a`, nearest first, of equals the one of smaller number; `same` leaves out
/// the row of the same number. Exact: GEMM distances find a few candidates more than are needed, and these are compared
/// by their true distances.
fn nearest(
    a: ArrayView2<f32>,
    b: ArrayView2<f32>,
    k: usize,
    same: bool,
    progress: &dyn Progress,
) -> Result<Vec<Vec<(u32, f64)>>> {
    const SPARE: usize = 8;
    let (n, m) = (a.nrows(), b.nrows());
    let k = k.min(m - usize::from(same));
    // At most 16 MB of distances at a time for each thread.
    let rows = (4_000_000 / m).clamp(16, 256);
    let done = AtomicU64::new(0);
    let blocks: Vec<Vec<Vec<(u32, f64)>>> = (0..n.div_ceil(rows))
        .into_par_iter()
        .map(|block| {
            if progress.stop() {
                return Err(Error::Interrupted);
            }
            let first = block * rows;
            let a = a.slice(s![first..(first + rows).min(n), ..]);
            let mut d = Array2::zeros((a.nrows(), m));
            distance::squared_distances(a, b, d.view_mut());
            let mut order: Vec<u32> = Vec::with_capacity(m);
            let pick = |(i, d): (usize, ArrayView1<f32>)| {
                order.clear();
                order.extend((0..m as u32).filter(|&j| !(same && j as usize == first + i)));
                let by = |p: &u32, q: &u32| d[*p as usize].total_cmp(&d[*q as usize]).then(p.cmp(q));
                let most = (k + SPARE).min(order.len());
                if most < order.len() {
                    order.select_nth_unstable_by(most, by);
                }
                let mut found: Vec<(u32, f64)> =
                    order[..most].iter().map(|&j| (j, length(a.row(i), b.row(j as usize)))).collect();
                found.sort_by(|p, q| p.1.total_cmp(&q.1).then(p.0.cmp(&q.0)));
                found.truncate(k);
                found
            };
            let found = d.rows().into_iter().enumerate().map(pick).collect();
            progress.step("neighbours", done.fetch_add(1, Relaxed) + 1, n.div_ceil(rows) as u64);
            Ok(found)
        })
        .collect::<Result<_>>()?;
    Ok(blocks.into_iter().flatten().collect())
}

fn length(a: ArrayView1<f32>, b: ArrayView1<f32>) -> f64 {
    a.iter().zip(b).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2)).sum::<f64>().sqrt()
}

/// The graph of neighbours, joined when it is in pieces, and the number of pieces it was in.
fn graph(x: ArrayView2<f32>, k: usize, progress: &dyn Progress) -> Result<(Graph, usize)> {
    let n = x.nrows();
    let mut graph: Graph = vec![Vec::new(); n];
    for (i, links) in nearest(x, x, k, true, progress)?.into_iter().enumerate() {
        for (j, length) in links {
            // A link counts in both directions; one that both ends chose is there twice, which does no harm.
            graph[i].push((j, length));
            graph[j as usize].push((i as u32, length));
        }
    }
    let (piece, pieces) = label_pieces(&graph);
    for (i, j) in closest_pairs(x, &piece, pieces, progress)? {
        let length = length(x.row(i), x.row(j));
        graph[i].push((j as u32, length));
        graph[j].push((i as u32, length));
    }
    Ok((graph, pieces))
}

/// The piece of the graph that each row belongs to, and how many there are.
fn label_pieces(graph: &Graph) -> (Vec<usize>, usize) {
    let mut piece = vec![usize::MAX; graph.len()];
    let mut count = 0;
    for start in 0..graph.len() {
        if piece[start] != usize::MAX {
            continue;
        }
        piece[start] = count;
        let mut open = vec![start];
        while let Some(i) = open.pop() {
            for &(j, _) in &graph[i] {
                if piece[j as usize] == usize::MAX {
                    piece[j as usize] = count;
                    open.push(j as usize);
                }
            }
        }
        count += 1;
    }
    (piece, count)
}

/// The closest rows of every two pieces.
fn closest_pairs(
    x: ArrayView2<f32>,
    piece: &[usize],
    pieces: usize,
    progress: &dyn Progress,
) -> Result<Vec<(usize, usize)>> {
    if pieces == 1 {
        return Ok(Vec::new());
    }
    let mut best = vec![(f32::INFINITY, 0, 0); pieces * pieces];
    for first in (0..x.nrows()).step_by(256) {
        if progress.stop() {
            return Err(Error::Interrupted);
        }
        let rows = first..(first + 256).min(x.nrows());
        // Pairs with earlier rows were seen the other way round.
        let mut d = Array2::zeros((rows.len(), x.nrows() - first));
        distance::squared_distances(x.slice(s![rows, ..]), x.slice(s![first.., ..]), d.view_mut());
        for ((i, j), &d) in d.indexed_iter() {
            let (i, j) = (first + i, first + j);
            let (p, q) = (piece[i].min(piece[j]), piece[i].max(piece[j]));
            let slot = &mut best[p * pieces + q];
            if p != q && d < slot.0 {
                *slot = (d, i, j);
            }
        }
    }
    let pairs = (0..pieces).flat_map(|p| (p + 1..pieces).map(move |q| p * pieces + q));
    Ok(pairs.map(|slot| (best[slot].1, best[slot].2)).collect())
}

/// A row still to be visited and the length of the path that leads there; ordered by length.
#[derive(PartialEq)]
struct Visit(f64, u32);

impl Eq for Visit {}

impl Ord for Visit {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
    }
}

impl PartialOrd for Visit {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The lengths of the shortest paths from every landmark (rows) to every row (columns).
fn paths(graph: &Graph, landmarks: &[usize], progress: &dyn Progress) -> Result<Array2<f32>> {
    let n = graph.len();
    let mut out = Array2::zeros((landmarks.len(), n));
    let done = AtomicU64::new(0);
    out.axis_iter_mut(Axis(0)).into_par_iter().zip(landmarks).try_for_each(|(mut out, &start)| {
        if progress.stop() {
            return Err(Error::Interrupted);
        }
        let mut shortest = vec![f64::INFINITY; n];
        shortest[start] = 0.0;
        let mut open = BinaryHeap::from([Reverse(Visit(0.0, start as u32))]);
        while let Some(Reverse(Visit(length, i))) = open.pop() {
            if length > shortest[i as usize] {
                continue;
            }
            for &(j, link) in &graph[i as usize] {
                let through = length + link;
                if through < shortest[j as usize] {
                    shortest[j as usize] = through;
                    open.push(Reverse(Visit(through, j)));
                }
            }
        }
        out.iter_mut().zip(&shortest).for_each(|(o, &s)| *o = s as f32);
        progress.step("shortest paths", done.fetch_add(1, Relaxed) + 1, landmarks.len() as u64);
        Ok(())
    })?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, same_but_for_signs as same};
    use crate::progress::Silent;
    use ndarray::array;

    fn settings() -> Isomap {
        Isomap { neighbours: 6, ..Isomap::default() }
    }

    #[test]
    fn agrees_with_scikit_learn_connected_or_in_pieces() {
        let f = Fixture::load("isomap");
        for (name, rows, pieces) in [("roll", "x", 1), ("pieces", "pieces", 3)] {
            let model = settings().fit(f.array(rows).view(), &Silent).unwrap();
            assert_eq!(model.pieces, pieces, "{name}");
            let d = &model.to_landmarks.slice(s![..3, ..]) - &f.array(&format!("{name}_distances"));
            assert!(d.iter().all(|d| d.abs() < 2e-5), "{name}: distances along the graph");
            for (a, b) in model.spectrum.values.iter().zip(f.list(&format!("{name}_values"))) {
                assert!((a / b - 1.0).abs() < 1e-5, "{name}: {a} {b}");
            }
            assert!(same(&model.scores, &f.array(&format!("{name}_scores")), 1e-5), "{name}: scores");
            let new = model.embed(f.array("new").view()).unwrap();
            assert!(same(&new, &f.array(&format!("{name}_new")), 1e-5), "{name}: new rows");
            assert_eq!((model.input_width(), model.width()), (3, 2));
        }
    }

    /// A spiral strip: two dimensions rolled up in three.
    fn roll(n: usize) -> Array2<f32> {
        Array2::from_shape_fn((n, 3), |(i, j)| {
            let t = 4.0 + 8.0 * (i as f32 / n as f32);
            match j {
                0 => t * t.cos(),
                1 => t * t.sin(),
                _ => 5.0 * ((i * 37 % n) as f32 / n as f32),
            }
        })
    }

    #[test]
    fn landmarks_place_all_rows_about_where_plain_isomap_does() {
        let x = roll(600);
        let plain = settings().fit(x.view(), &Silent).unwrap();
        let few = Isomap { landmarks: 200, ..settings() }.fit(x.view(), &Silent).unwrap();
        assert_eq!(few.to_landmarks.dim(), (600, 200));
        for c in 0..2 {
            let (a, b) = (plain.scores.column(c), few.scores.column(c));
            let (a, b) = (&a - a.mean().unwrap(), &b - b.mean().unwrap());
            let correlation = a.dot(&b) / (a.dot(&a) * b.dot(&b)).sqrt();
            assert!(correlation.abs() > 0.995, "{c}: {correlation}");
        }
        // A row of the fit is its own nearest neighbour, so as a new row it lands where it was.
        let embedded = few.embed(x.view()).unwrap();
        assert!(same(&embedded, &few.scores, 1e-4));
        let (rows, neighbours, distances) = few.parts();
        let (spectrum, scores) = (few.spectrum.clone(), few.scores.clone());
        let again = IsomapModel::from_parts(rows.to_owned(), neighbours, distances.to_owned(), spectrum, scores);
        assert_eq!(again.unwrap().embed(x.view()).unwrap(), embedded);
        assert!(same(&plain.embed(x.view()).unwrap(), &plain.scores, 1e-3));
    }

    #[test]
    fn a_line_is_unrolled_to_its_lengths() {
        // Points on a circle's arc: the distance along the arc is nearly the angle.
        let x = Array2::from_shape_fn(
            (100, 2),
            |(i, j)| if j == 0 { (i as f32 * 0.03).cos() } else { (i as f32 * 0.03).sin() },
        );
        let model = Isomap { components: 1, neighbours: 2, ..Isomap::default() }.fit(x.view(), &Silent).unwrap();
        let z = model.scores.column(0);
        let sign = (z[99] - z[0]).signum();
        for i in 0..100 {
            assert!((sign * z[i] - (i as f32 - 49.5) * 0.03).abs() < 2e-3, "{i}: {}", z[i]);
        }
    }

    #[test]
    fn equal_rows_are_at_distance_zero() {
        let x = ndarray::concatenate![Axis(0), roll(60), roll(60), roll(60)];
        let model = Isomap { neighbours: 4, ..Isomap::default() }.fit(x.view(), &Silent).unwrap();
        for i in 0..60 {
            let d = &model.scores.row(i) - &model.scores.row(i + 60);
            assert!(d.iter().all(|d| d.abs() < 1e-3), "{i}: {d}");
        }
        // So many copies that every neighbour is one: each is a piece of its own, and they are joined.
        let copies = Array2::from_shape_fn((40, 1), |(i, _)| (i % 4) as f32);
        let model = Isomap { components: 1, neighbours: 3, ..Isomap::default() }.fit(copies.view(), &Silent).unwrap();
        assert!(model.pieces > 1);
        let z = model.scores.column(0);
        assert!((0..36).all(|i| (z[i] - z[i + 4]).abs() < 1e-4));
        assert!(((z[3] - z[0]).abs() - 3.0).abs() < 1e-3);
    }

    #[test]
    fn bad_input_is_an_error() {
        let fit = |settings: Isomap, x: Array2<f32>| settings.fit(x.view(), &Silent);
        assert!(fit(Isomap { neighbours: 0, ..Isomap::default() }, roll(9)).is_err());
        assert!(fit(Isomap { neighbours: 9, ..Isomap::default() }, roll(9)).is_err());
        assert!(fit(Isomap { components: 10, ..Isomap::default() }, roll(9)).is_err());
        assert!(fit(Isomap { components: 3, landmarks: 2, ..Isomap::default() }, roll(9)).is_err());
        assert!(fit(Isomap::default(), array![[1.0], [f32::NAN], [0.0]]).is_err());
        let model = fit(Isomap::default(), roll(9)).unwrap();
        assert!(model.embed(Array2::zeros((2, 4)).view()).is_err());
        struct Impatient;
        impl Progress for Impatient {
            fn stop(&self) -> bool {
                true
            }
        }
        assert!(matches!(Isomap::default().fit(roll(9).view(), &Impatient), Err(Error::Interrupted)));
    }

    #[test]
    fn one_thread_and_many_give_the_same_bits() {
        let x = roll(700);
        let run = |count| {
            threads::with_count(count, || {
                let model = Isomap { landmarks: 300, ..settings() }.fit(x.view(), &Silent).unwrap();
                (model.embed(x.view()).unwrap(), model.scores)
            })
        };
        assert_eq!(run(1), run(3));
    }
}
