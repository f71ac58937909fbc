//! Eigendecompositions of symmetric matrices, largest eigenvalue first, signs fixed.
//!
//! An eigenvector is defined up to its sign; here the entry of largest magnitude is positive, so that the same data give
//! the same picture everywhere.
//!
//! [`symmetric`] decomposes a whole matrix; [`leading`] finds the few largest eigenpairs of a matrix that is known only
//! by what it does to a block of vectors, which is all that a large kernel matrix needs to offer.
//!
//! [`leading`] is the block Lanczos method with full orthogonalisation and thick restarts. From an orthonormal random
//! block Q_1, `Q_{j+1} = orth((I - Q Q^T) A Q_j)` with `Q = [Q_1 .. Q_j]` the basis so far; the eigenpairs (theta, y) of
//! `T = Q^T A Q` give the approximations (theta, Q y), and their residual is known without another product:
//! `A Q y - theta Q y = (I - Q Q^T) A Q_j y_j` with y_j the last block of y. When the basis is full it is replaced by
//! its best vectors. (Musco and Musco, "Randomized block Krylov methods for stronger and faster approximate singular
//! value decomposition", 2015; Wu and Simon, "Thick-restart Lanczos method", 2000.)

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd;
use faer::{Mat, Par};
use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2, Axis, ShapeBuilder, s};
use rand::RngExt;
use rayon::prelude::*;

use crate::math::gemm::{self, product};
use crate::math::rng::{Purpose, stream};
use crate::math::threads;
use crate::progress::Progress;
use crate::{Error, Result};

/// How [`leading`] searches.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// A pair has converged when `|A v - theta v|` is at most this times `max(|theta|, theta_1 / 1000)`. Default 1e-6.
    pub tolerance: f64,
    /// The most products with the matrix, each with one block of vectors. Default 60.
    pub max_sweeps: usize,
    /// Seeds the random start. Default 0.
    pub seed: u64,
    /// Columns of the random start beyond the pairs that are wanted: they keep the last of these from lagging behind. Default 8.
    pub spare: usize,
}

impl Default for Search {
    fn default() -> Self {
        Self { tolerance: 1e-6, max_sweeps: 60, seed: 0, spare: 8 }
    }
}

/// What [`leading`] found.
#[derive(Clone, Debug)]
pub struct Leading {
    /// The eigenvalues, largest first.
    pub values: Array1<f64>,
    /// The eigenvectors as columns in the same order, signs fixed.
    pub vectors: Array2<f64>,
    /// `|A v - theta v|` of each pair.
    pub residuals: Array1<f64>,
    /// Products with the matrix that were needed.
    pub sweeps: usize,
    /// Whether every pair met the tolerance; if not, the limit on sweeps ended the search.
    pub converged: bool,
}

/// Up to this size the whole matrix is decomposed.
const DENSE: usize = 192;
/// The basis holds at most this many blocks before it is restarted.
const BLOCKS: usize = 6;
/// Rows of a block that are turned together: few enough for the cache, and as many for any number of threads.
const TURNED: usize = 512;
/// From this size on a decomposition takes so long that one may want to stop it.
const LONG: usize = 512;

/// The `m` largest eigenpairs of the symmetric `n` x `n` matrix A, where `apply(V)` is `A V`.
///
/// Memory beyond what `apply` needs is about 8 n (m + spare) numbers. A matrix of up to 192 rows, or of no more than three
/// blocks of `m + spare`, is decomposed whole. An error of `apply`, or a wish to stop, ends the search.
pub fn leading(
    n: usize,
    m: usize,
    search: &Search,
    progress: &dyn Progress,
    mut apply: impl FnMut(ArrayView2<f64>) -> Result<Array2<f64>>,
) -> Result<Leading> {
    crate::math::check::components(m, n, "the size of the matrix")?;
    if !(search.tolerance > 0.0 && search.tolerance.is_finite()) {
        return Err(Error::setting("tolerance", format!("expected a number above 0, found {}", search.tolerance)));
    }
    let mut apply = |v: ArrayView2<f64>| {
        let w = apply(v)?;
        assert_eq!(w.dim(), v.dim(), "shape of the product with a block of vectors");
        if w.iter().all(|w| w.is_finite()) {
            return Ok(w);
        }
        Err(Error::Numeric(
            "a product with the matrix is not finite: it has infinite or missing values, or comes from rows whose values are too large and \
             should be scaled".into(),
        ))
    };
    let width = m.saturating_add(search.spare);
    if n <= DENSE.max(width.saturating_mul(3)) {
        let mut a = apply(Array2::eye(n).view())?;
        a = (&a + &a.t()) * 0.5;
        let (values, vectors) = symmetric_watched(a.view(), progress)?;
        return Ok(Leading {
            values: values.slice(s![..m]).to_owned(),
            vectors: vectors.slice(s![.., ..m]).to_owned(),
            residuals: Array1::zeros(m),
            sweeps: 1,
            converged: true,
        });
    }
    let mut random = stream(search.seed, Purpose::Sketch, 0, 0);
    let mut draw = || Array2::from_shape_simple_fn((n, width), || random.random::<f64>() - 0.5);

    let room = (BLOCKS * width).min(n);
    // By columns, so that memory which no block has reached is not touched.
    let mut q = Array2::<f64>::zeros((n, room).f());
    let mut t = Array2::<f64>::zeros((room, room));
    let (mut dim, mut sweeps, mut scale) = (0, 0, 0.0);
    let mut block = draw();
    loop {
        let mut fresh = orthonormal(q.slice(s![.., ..dim]), block, 1e-13 * scale)?;
        if fresh.ncols() == 0 {
            // The basis is invariant, so what it holds is exact; but a random block finds what it may have missed.
            fresh = orthonormal(q.slice(s![.., ..dim]), draw(), 1e-8)?;
        }
        let last = dim..dim + fresh.ncols();
        q.slice_mut(s![.., last.clone()]).assign(&fresh);
        dim = last.end;
        drop(fresh);
        let mut w = apply(q.slice(s![.., last.clone()]))?;
        sweeps += 1;

        let basis = q.slice(s![.., ..dim]);
        let h = times(basis.t(), w.view());
        for ((i, j), &v) in h.indexed_iter() {
            t[[i, last.start + j]] = v;
            t[[last.start + j, i]] = v;
        }
        product(-1.0, basis, h.view(), 1.0, w.view_mut());
        let (values, y) = symmetric_watched(t.slice(s![..dim, ..dim]), progress)?;
        scale = values.iter().fold(0.0f64, |a, v| a.max(v.abs()));

        // |w y|^2 for the last block of every y, through the small matrix w^T w.
        let kept = m.min(dim);
        let tail = y.slice(s![last, ..kept]);
        let squares = (&times(times(w.t(), w.view()).view(), tail) * &tail).sum_axis(Axis(0));
        let residuals = squares.mapv(|v| v.max(0.0).sqrt());
        let floor = 1e-3 * values[0].abs();
        // A matrix of zeros has scale 0 and residual 0.
        let converged = dim >= m
            && residuals.iter().zip(&values).all(|(&r, &v)| r <= (search.tolerance * v.abs().max(floor)).max(1e-300));
        if converged || dim >= m && sweeps >= search.max_sweeps || dim == n {
            // The vectors take its room.
            drop(w);
            let mut vectors = times(basis, y.slice(s![.., ..m]));
            fix_signs(vectors.view_mut());
            let values = values.slice(s![..m]).to_owned();
            return Ok(Leading { values, vectors, residuals, sweeps, converged: converged || dim == n });
        }
        if dim + width > room {
            // n > 3 widths, so two of them fit beside the next block.
            let keep = (2 * width).min(room - width);
            let best = times(basis, y.slice(s![.., ..keep]));
            q.slice_mut(s![.., ..keep]).assign(&best);
            t.fill(0.0);
            t.diag_mut().slice_mut(s![..keep]).assign(&values.slice(s![..keep]));
            dim = keep;
        }
        block = w;
    }
}

fn times(a: ArrayView2<f64>, b: ArrayView2<f64>) -> Array2<f64> {
    let mut out = Array2::zeros((a.nrows(), b.ncols()));
    product(1.0, a, b, 0.0, out.view_mut());
    out
}

/// An orthonormal basis of the part of `block` that is orthogonal to `q`. Columns whose part is not longer than
/// `negligible` do not count, nor do directions that the others already span up to rounding.
///
/// Twice is enough: the second round removes what rounding left of the first. The columns are made orthonormal among
/// themselves through the eigenvectors of their Gram matrix, which shows the rank that a Cholesky factor would choke on.
fn orthonormal(q: ArrayView2<f64>, mut block: Array2<f64>, negligible: f64) -> Result<Array2<f64>> {
    for round in 0..2 {
        let inside = times(q.t(), block.view());
        product(-1.0, q, inside.view(), 1.0, block.view_mut());
        let norms = block.map_axis(Axis(0), |c| c.dot(&c).sqrt());
        if round == 0 {
            let kept: Vec<usize> = (0..block.ncols()).filter(|&j| norms[j] > negligible).collect();
            // A copy only where there is something to leave out.
            if kept.len() < block.ncols() {
                block = block.select(Axis(1), &kept);
            }
            for (mut column, &j) in block.columns_mut().into_iter().zip(&kept) {
                column /= norms[j];
            }
        }
        if block.ncols() == 0 {
            break;
        }
        let (values, vectors) = symmetric(times(block.t(), block.view()).view())?;
        let rank = values.iter().take_while(|&&v| v > 1e-11 * values[0]).count();
        let turn = &vectors.slice(s![.., ..rank]) / &values.slice(s![..rank]).mapv(f64::sqrt);
        block = turned(block, turn.view());
    }
    Ok(block)
}

/// `block turn`. A square `turn` goes over some rows at a time, in place: blocks of vectors are large.
fn turned(mut block: Array2<f64>, turn: ArrayView2<f64>) -> Array2<f64> {
    if turn.nrows() > turn.ncols() {
        return times(block.view(), turn);
    }
    threads::run(|| {
        block.axis_chunks_iter_mut(Axis(0), TURNED).into_par_iter().for_each(|mut rows| {
            let mut found = Array2::zeros(rows.dim());
            gemm::sequential(1.0, rows.view(), turn, 0.0, found.view_mut());
            rows.assign(&found);
        });
    });
    block
}

/// All eigenvalues, largest first, and the eigenvectors as columns in the same order. Reads the lower triangle.
pub fn symmetric(a: ArrayView2<f64>) -> Result<(Array1<f64>, Array2<f64>)> {
    let n = a.nrows();
    assert_eq!(a.ncols(), n, "a symmetric matrix is square");
    // One thread: with several, the crate cuts its sums by their number, and the last bits follow.
    let (par, params) = (Par::Seq, Default::default());
    let (mut u, mut values) = (Mat::zeros(n, n), Diag::zeros(n));
    let mut scratch =
        MemBuffer::new(evd::self_adjoint_evd_scratch::<f64>(n, evd::ComputeEigenvectors::Yes, par, params));
    let a = Mat::from_fn(n, n, |i, j| a[[i, j]]);
    let stack = MemStack::new(&mut scratch);
    evd::self_adjoint_evd(a.as_ref(), values.as_mut(), Some(u.as_mut()), par, stack, params).map_err(|e| {
        Error::Numeric(format!("the eigendecomposition of a {n} x {n} matrix failed ({e:?}); are all values finite?"))
    })?;
    let s = values.column_vector();
    let values = Array1::from_shape_fn(n, |i| s[n - 1 - i]);
    let mut vectors = Array2::from_shape_fn((n, n), |(i, j)| u[(i, n - 1 - j)]);
    fix_signs(vectors.view_mut());
    Ok((values, vectors))
}

/// As [`symmetric`], and a wish to stop is heard meanwhile.
pub fn symmetric_watched(a: ArrayView2<f64>, progress: &dyn Progress) -> Result<(Array1<f64>, Array2<f64>)> {
    if a.nrows() < LONG {
        return symmetric(a);
    }
    let a = a.to_owned();
    threads::aside(progress, move || symmetric(a.view()))?
}

/// Turns every column so that its entry of largest magnitude (the first of them) is positive.
pub fn fix_signs(mut vectors: ArrayViewMut2<f64>) {
    for mut column in vectors.columns_mut() {
        let largest = column.iter().fold(0.0f64, |best, &v| if v.abs() > best.abs() { v } else { best });
        if largest < 0.0 {
            column.mapv_inplace(|v| -v);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Impatient, refused};
    use crate::progress::Silent;
    use ndarray::array;

    #[test]
    fn a_known_two_by_two() {
        let (values, vectors) = symmetric(array![[2.0, 1.0], [1.0, 2.0]].view()).unwrap();
        let r = 0.5f64.sqrt();
        assert!((&values - &array![3.0, 1.0]).iter().all(|d| d.abs() < 1e-12));
        assert!((&vectors.column(0) - &array![r, r]).iter().all(|d| d.abs() < 1e-12));
        // Entries of one size and of opposite signs; rounding says which of them is the largest, hence positive.
        let (a, b) = (vectors[[0, 1]], vectors[[1, 1]]);
        assert!((a * b + 0.5).abs() < 1e-12 && (a.abs() - r).abs() < 1e-12, "{vectors}");
    }

    /// A symmetric matrix with the given eigenvalues, and eigenvectors nobody would guess.
    fn with_values(values: &Array1<f64>) -> Array2<f64> {
        let n = values.len();
        let mut rng = stream(3, Purpose::Demo, n as u64, 0);
        let random = Array2::from_shape_simple_fn((n, n), || rng.random::<f64>() - 0.5);
        let (_, u) = symmetric((&random + &random.t()).view()).unwrap();
        times((&u * values).view(), u.t())
    }

    #[test]
    fn leading_pairs_agree_with_the_full_decomposition() {
        // Slow decay, fast decay, and negative values larger in magnitude than any wanted one.
        let spectra: [fn(usize) -> f64; 3] = [
            |i| 1.0 / (1.0 + i as f64),
            |i| 0.8f64.powi(i as i32),
            |i| if i < 200 { 100.0 - i as f64 } else { -500.0 },
        ];
        for (which, spectrum) in spectra.iter().enumerate() {
            let a = with_values(&Array1::from_shape_fn(300, spectrum));
            let (values, vectors) = symmetric(a.view()).unwrap();
            let search = Search { tolerance: 1e-9, max_sweeps: 300, seed: 5, ..Search::default() };
            let found = leading(300, 7, &search, &Silent, |v| Ok(times(a.view(), v))).unwrap();
            assert!(found.converged && found.sweeps > 1, "{which}: {found:?}");
            for i in 0..7 {
                assert!((found.values[i] - values[i]).abs() < 1e-9 * values[0], "{which}: value {i}");
                let d = &found.vectors.column(i) - &vectors.column(i);
                assert!(d.dot(&d).sqrt() < 1e-6, "{which}: vector {i}");
                let v = found.vectors.column(i).insert_axis(Axis(1));
                let r = times(a.view(), v) - &(&v * found.values[i]);
                let r = r.iter().map(|v| v * v).sum::<f64>().sqrt();
                assert!((r - found.residuals[i]).abs() < 1e-10 * values[0], "{which}: residual {i}");
            }
        }
    }

    #[test]
    fn repeated_values_low_rank_and_zero_are_no_obstacle() {
        // Thirty equal values, of which a block of 4 + 8 columns sees twelve at a time; then rank two; then nothing.
        let cases = [
            Array1::from_shape_fn(250, |i| if i < 30 { 2.0 } else { 1.0 / i as f64 }),
            Array1::from_shape_fn(250, |i| if i < 2 { 3.0 } else { 0.0 }),
            Array1::zeros(250),
            Array1::ones(250),
        ];
        for (which, values) in cases.iter().enumerate() {
            let a = with_values(values);
            let found = leading(250, 4, &Search::default(), &Silent, |v| Ok(times(a.view(), v))).unwrap();
            assert!(found.converged, "{which}");
            for i in 0..4 {
                assert!((found.values[i] - values[i]).abs() < 1e-7, "{which}: {}", found.values);
            }
            let gram = times(found.vectors.t(), found.vectors.view());
            assert!((&gram - &Array2::<f64>::eye(4)).iter().all(|d| d.abs() < 1e-10), "{which}");
        }
    }

    #[test]
    fn spare_columns_change_the_search_and_not_the_result() {
        let values = Array1::from_shape_fn(300, |i| 0.9f64.powi(i as i32));
        let a = with_values(&values);
        let found = |spare| {
            let search = Search { spare, ..Search::default() };
            leading(300, 7, &search, &Silent, |v| Ok(times(a.view(), v))).unwrap()
        };
        assert!(found(25).sweeps < found(1).sweeps && found(usize::MAX).sweeps == 1);
        for spare in [0, 1, 25, usize::MAX] {
            let found = found(spare);
            assert!(found.converged, "{spare}");
            let close = |(found, want): (&f64, &f64)| (found - want).abs() < 1e-9;
            assert!(found.values.iter().zip(&values).all(close), "{spare}: {}", found.values);
        }
    }

    #[test]
    fn blocks_are_turned_in_place_or_not_with_the_same_result() {
        let number = |i: usize, j: usize| ((i * 7 + j * 3) as f64 * 0.37).sin();
        let wide = Array2::from_shape_fn((1100, 7), |(i, j)| number(i, j));
        let turn = Array2::from_shape_fn((6, 6), |(i, j)| number(j, i));
        for block in [wide.slice(s![.., ..6]).to_owned(), wide.slice_move(s![.., ..6])] {
            for columns in [6, 4] {
                let turn = turn.slice(s![.., ..columns]);
                let want = times(block.view(), turn);
                let [one, many] = [1, 3].map(|count| threads::with_count(count, || turned(block.clone(), turn)));
                assert_eq!(one, many);
                assert!((&one - &want).iter().all(|d| d.abs() < 1e-12));
            }
        }
    }

    #[test]
    fn what_did_not_converge_says_so() {
        let a = with_values(&Array1::from_shape_fn(300, |i| 1.0 - 1e-4 * i as f64));
        let search = Search { tolerance: 1e-10, max_sweeps: 3, ..Search::default() };
        let found = leading(300, 3, &search, &Silent, |v| Ok(times(a.view(), v))).unwrap();
        assert!(!found.converged && found.sweeps == 3);
    }

    #[test]
    fn leading_refuses_nonsense() {
        let same = |v: ArrayView2<f64>| Ok(v.to_owned());
        refused(leading(3, 4, &Search::default(), &Silent, same), "components: expected 1 to 3");
        refused(leading(3, 0, &Search::default(), &Silent, same), "components: expected 1 to 3");
        let search = Search { tolerance: 0.0, ..Search::default() };
        refused(leading(3, 1, &search, &Silent, same), "tolerance: expected a number above 0");
        refused(leading(300, 3, &Search::default(), &Silent, |v| Ok(v.mapv(|_| f64::NAN))), "not finite");
        let stopped = leading(300, 3, &Search::default(), &Silent, |_| Err(Error::Interrupted));
        assert!(matches!(stopped, Err(Error::Interrupted)));
    }

    #[test]
    fn a_decomposition_has_the_same_bits_with_one_thread_and_many() {
        let a = with_values(&Array1::from_shape_fn(700, |i| 0.99f64.powi(i as i32)));
        let run = |count| threads::with_count(count, || symmetric(a.view()).unwrap());
        assert_eq!(run(1), run(4));
    }

    #[test]
    fn a_long_decomposition_is_left_when_asked_to_stop() {
        let wave = |n: usize| Array2::from_shape_fn((n, n), |(i, j)| ((i * j) as f64).sin());
        let a = wave(LONG);
        assert_eq!(symmetric_watched(a.view(), &Silent).unwrap(), symmetric(a.view()).unwrap());
        // More than a third of the pairs: decomposed whole, and asked about only when it has gone on for a moment.
        let (n, a) = (1500, wave(1500));
        let stopped = leading(n, n / 3, &Search::default(), &Impatient, |v| Ok(times(a.view(), v)));
        assert!(matches!(stopped, Err(Error::Interrupted)));
    }

    #[test]
    fn leading_has_the_same_bits_with_one_thread_and_many() {
        let a = with_values(&Array1::from_shape_fn(400, |i| 0.95f64.powi(i as i32)));
        let run = |count| {
            threads::with_count(count, || {
                let found = leading(400, 30, &Search::default(), &Silent, |v| Ok(times(a.view(), v))).unwrap();
                (found.values, found.vectors)
            })
        };
        assert_eq!(run(1), run(3));
    }
}
