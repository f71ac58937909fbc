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
//! When the graph falls into pieces, the closest rows of every two pieces are linked; of very many pieces, which would be
//! linked more often than their number squared allows, only those that a shortest tree over all of them links. The model
//! tells how many pieces there were.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use ndarray::{Array2, ArrayView1, ArrayView2, ArrayViewMut1, ArrayViewMut2, Axis, s};
use rayon::prelude::*;

use super::kpca::{Kpca, Spectrum};
use super::neighbours::{Crowd, QUERIES};
use crate::kernel::Prior;
use crate::math::rng::{Purpose, sample, stream};
use crate::math::{check, distance, threads};
use crate::method::Embed;
use crate::progress::{Pieces, Progress};
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
    /// A model from its parts, as [`parts`](Self::parts) and the fields give them.
    pub fn from_parts(
        x: Array2<f32>,
        neighbours: usize,
        pieces: usize,
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
        Ok(Self { spectrum, scores, pieces, x, neighbours, to_landmarks })
    }

    /// The rows of the fit, the neighbours of a row, and the distances from every row to each landmark.
    pub fn parts(&self) -> (ArrayView2<'_, f32>, usize, ArrayView2<'_, f32>) {
        (self.x.view(), self.neighbours, self.to_landmarks.view())
    }
}

/// The most pieces of which every two are linked.
const FEW: usize = 128;

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
        check::components(self.components, n, "the number of rows")?;
        check::as_many("landmarks", self.landmarks, self.components)?;
        let count = self.landmarks.min(n);
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

/// The `k` nearest rows of `b` for every row of `a`, nearest first, and how far they are; `same` leaves out the row of the
/// same number.
fn nearest(
    a: ArrayView2<f32>,
    b: ArrayView2<f32>,
    k: usize,
    same: bool,
    progress: &dyn Progress,
) -> Result<Vec<Vec<(u32, f64)>>> {
    let crowd = Crowd::new(b);
    let k = k.min(b.nrows() - usize::from(same));
    let count = a.nrows().div_ceil(QUERIES);
    let of_block = |block: usize| {
        let first = block * QUERIES;
        let queries = a.slice(s![first..(first + QUERIES).min(a.nrows()), ..]);
        let root = |found: Vec<(f64, usize)>| found.into_iter().map(|(d, j)| (j as u32, d.sqrt())).collect();
        Ok(crowd.nearest(queries, k, same.then_some(first)).into_iter().map(root).collect())
    };
    let pieces = Pieces::new(progress, "neighbours: blocks of rows", count);
    let blocks: Vec<Vec<Vec<(u32, f64)>>> =
        (0..count).into_par_iter().map(|block| pieces.one(|| of_block(block))).collect::<Result<_>>()?;
    Ok(blocks.into_iter().flatten().collect())
}

fn length(a: ArrayView1<f32>, b: ArrayView1<f32>) -> f64 {
    a.iter().zip(b).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2)).sum::<f64>().sqrt()
}

/// The graph of neighbours.
fn neighbours(x: ArrayView2<f32>, k: usize, progress: &dyn Progress) -> Result<Graph> {
    let mut graph: Graph = vec![Vec::new(); x.nrows()];
    for (i, links) in nearest(x, x, k, true, progress)?.into_iter().enumerate() {
        for (j, length) in links {
            // A link counts in both directions; one that both ends chose is there twice, which does no harm.
            graph[i].push((j, length));
            graph[j as usize].push((i as u32, length));
        }
    }
    Ok(graph)
}

/// The graph of neighbours, joined when it is in pieces, and the number of pieces it was in.
fn graph(x: ArrayView2<f32>, k: usize, progress: &dyn Progress) -> Result<(Graph, usize)> {
    // Distances do not know where the origin is, but their rounding does.
    let centred = x.mean_axis(Axis(0)).map_or_else(|| x.to_owned(), |mean| &x - &mean);
    let x = centred.view();
    let mut graph = neighbours(x, k, progress)?;
    let (piece, pieces) = label_pieces(&graph);
    let links = match pieces {
        1 => Vec::new(),
        2..=FEW => closest_pairs(x, &piece, pieces, progress)?,
        _ => shortest_tree(x, piece, pieces, progress)?,
    };
    for (i, j) in links {
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
    let mut best = vec![(f32::INFINITY, 0, 0); pieces * pieces];
    each_distance(x, progress, |d, i, j| {
        let (p, q) = (piece[i].min(piece[j]), piece[i].max(piece[j]));
        let slot = &mut best[p * pieces + q];
        if p != q && d < slot.0 {
            *slot = (d, i, j);
        }
    })?;
    let pairs = (0..pieces).flat_map(|p| (p + 1..pieces).map(move |q| p * pieces + q));
    Ok(pairs.map(|slot| (best[slot].1, best[slot].2)).collect())
}

/// Links that make one of all pieces and are the shortest that do: their minimum spanning tree, as Borůvka finds it. Each
/// round links every piece to the row outside that is nearest to it, so that at most half as many pieces are left.
fn shortest_tree(
    x: ArrayView2<f32>,
    mut piece: Vec<usize>,
    mut pieces: usize,
    progress: &dyn Progress,
) -> Result<Vec<(usize, usize)>> {
    let mut links = Vec::new();
    while pieces > 1 {
        let mut best: Vec<Option<(f32, usize, usize)>> = vec![None; pieces];
        each_distance(x, progress, |d, i, j| {
            if piece[i] == piece[j] {
                return;
            }
            let new = (d, i.min(j), i.max(j));
            for p in [piece[i], piece[j]] {
                // Equal distances go by the numbers of the rows, or three pieces could be linked in a circle.
                let closer = |old: (f32, usize, usize)| {
                    new.0.total_cmp(&old.0).then((new.1, new.2).cmp(&(old.1, old.2))).is_lt()
                };
                if best[p].is_none_or(closer) {
                    best[p] = Some(new);
                }
            }
        })?;
        let mut found: Vec<(usize, usize)> = best.into_iter().flatten().map(|(_, i, j)| (i, j)).collect();
        // Two pieces may have chosen the same link.
        found.sort_unstable();
        found.dedup();
        let mut joined: Graph = vec![Vec::new(); pieces];
        for &(i, j) in &found {
            joined[piece[i]].push((piece[j] as u32, 0.0));
            joined[piece[j]].push((piece[i] as u32, 0.0));
        }
        let (of_piece, left) = label_pieces(&joined);
        piece.iter_mut().for_each(|p| *p = of_piece[*p]);
        pieces = left;
        links.append(&mut found);
    }
    Ok(links)
}

/// Hands over the squared distance of every two rows, and their numbers, by blocks of rows.
fn each_distance(x: ArrayView2<f32>, progress: &dyn Progress, mut take: impl FnMut(f32, usize, usize)) -> Result<()> {
    const ROWS: usize = 256;
    let pieces = Pieces::new(progress, "distances between pieces: blocks of rows", x.nrows().div_ceil(ROWS));
    for first in (0..x.nrows()).step_by(ROWS) {
        pieces.one(|| {
            let rows = first..(first + ROWS).min(x.nrows());
            // Pairs with earlier rows were seen the other way round.
            let mut d = Array2::zeros((rows.len(), x.nrows() - first));
            distance::squared_distances(x.slice(s![rows, ..]), x.slice(s![first.., ..]), d.view_mut());
            d.indexed_iter().for_each(|((i, j), &d)| take(d, first + i, first + j));
            Ok(())
        })?;
    }
    Ok(())
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
    let from = |start: usize, mut out: ArrayViewMut1<f32>| {
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
        Ok(())
    };
    let pieces = Pieces::new(progress, "shortest paths", landmarks.len());
    let rows = out.axis_iter_mut(Axis(0)).into_par_iter().zip(landmarks);
    rows.try_for_each(|(out, &start)| pieces.one(|| from(start, out)))?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, Impatient, refused, same_but_for_signs as same};
    use crate::progress::Silent;
    use ndarray::array;
    use rand::RngExt;

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
            // Nor is the picture smaller or larger.
            let slope = a.dot(&b) / a.dot(&a);
            assert!((slope.abs() - 1.0).abs() < 0.02, "{c}: {slope}");
        }
        // A row of the fit is its own nearest neighbour, so as a new row it lands where it was.
        let embedded = few.embed(x.view()).unwrap();
        assert!(same(&embedded, &few.scores, 1e-4));
        let (rows, neighbours, distances) = few.parts();
        let (spectrum, scores) = (few.spectrum.clone(), few.scores.clone());
        let again = IsomapModel::from_parts(rows.to_owned(), neighbours, 7, distances.to_owned(), spectrum, scores);
        let again = again.unwrap();
        assert_eq!((again.embed(x.view()).unwrap(), again.pieces), (embedded, 7));
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
    fn neighbours_far_from_the_origin_are_the_same() {
        let x = roll(300);
        let far = &x + 1000.0;
        // What f32 leaves of the differences out there.
        let near = &far - 1000.0;
        let links =
            |x: &Array2<f32>| threads::run(|| nearest(x.view(), x.view(), 5, true, &crate::progress::Silent)).unwrap();
        let numbers = |links: Vec<Vec<(u32, f64)>>| -> Vec<Vec<u32>> {
            links.into_iter().map(|row| row.into_iter().map(|(j, _)| j).collect()).collect()
        };
        assert_eq!(numbers(links(&far)), numbers(links(&near)));
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
    fn very_many_pieces_are_joined_by_the_shortest_tree_over_them() {
        let mut rng = stream(3, Purpose::Demo, 0, 0);
        let x = Array2::from_shape_simple_fn((700, 2), || rng.random::<f32>());
        let (piece, pieces) = label_pieces(&neighbours(x.view(), 1, &Silent).unwrap());
        assert!(pieces > FEW, "{pieces}");
        let links = shortest_tree(x.view(), piece.clone(), pieces, &Silent).unwrap();
        assert_eq!(links.len(), pieces - 1);
        let of_links: f64 = links.iter().map(|&(i, j)| length(x.row(i), x.row(j))).sum();
        // Prim's: the piece nearest to those already in the tree, one after the other.
        let mut from_tree = vec![f64::INFINITY; pieces];
        let (mut open, mut newest, mut total) = ((1..pieces).collect::<Vec<_>>(), 0, 0.0);
        while !open.is_empty() {
            for i in (0..700).filter(|&i| piece[i] == newest) {
                for j in 0..700 {
                    from_tree[piece[j]] = from_tree[piece[j]].min(length(x.row(i), x.row(j)));
                }
            }
            let nearest = (0..open.len()).min_by(|&a, &b| from_tree[open[a]].total_cmp(&from_tree[open[b]])).unwrap();
            newest = open.swap_remove(nearest);
            total += from_tree[newest];
        }
        assert!((of_links / total - 1.0).abs() < 1e-5, "{of_links} {total}");
        // With them the graph is one, so every row is at a distance from every other, and is embedded.
        let model = Isomap { neighbours: 1, ..Isomap::default() }.fit(x.view(), &Silent).unwrap();
        assert_eq!(model.pieces, pieces);
        assert!(model.scores.iter().all(|v| v.is_finite()) && model.to_landmarks.iter().all(|d| d.is_finite()));
    }

    #[test]
    fn equal_distances_make_no_circles() {
        // Pairs of rows in a square grid: every piece has several at the same distance.
        let x = Array2::from_shape_fn((2 * 144, 2), |(i, j)| {
            let place = if j == 0 { i / 2 % 12 } else { i / 2 / 12 };
            4.0 * place as f32 + if i % 2 == 1 { 1.0 } else { 0.0 }
        });
        let (piece, pieces) = label_pieces(&neighbours(x.view(), 1, &Silent).unwrap());
        assert_eq!(pieces, 144);
        assert_eq!(shortest_tree(x.view(), piece, pieces, &Silent).unwrap().len(), 143);
    }

    #[test]
    fn bad_input_is_an_error() {
        let fit = |settings: Isomap, x: Array2<f32>| settings.fit(x.view(), &Silent);
        for neighbours in [0, 9] {
            let found = format!("neighbours: expected at least 1 and fewer than the 9 rows, found {neighbours}");
            refused(fit(Isomap { neighbours, ..Isomap::default() }, roll(9)), &found);
        }
        refused(fit(Isomap { components: 10, ..Isomap::default() }, roll(9)), "components: expected 1 to 9");
        let few = Isomap { components: 3, landmarks: 2, ..Isomap::default() };
        refused(fit(few, roll(9)), "landmarks: expected at least 3");
        refused(fit(Isomap::default(), array![[1.0], [f32::NAN], [0.0]]), "row 2, column 1 is NaN");
        let model = fit(Isomap::default(), roll(9)).unwrap();
        refused(model.embed(Array2::zeros((2, 4)).view()), "rows to embed: expected 3 columns");
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
