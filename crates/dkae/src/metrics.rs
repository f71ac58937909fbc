//! How good things are: how alike two kernels are, how close rows are to their reconstruction, how often a class is right.
//!
//! Alignment of two kernel matrices is their cosine, and the paper's code loss is the distance of the two scaled to unit
//! length:
//!
//! ```text
//! A(K, L) = <K, L> / (|K| |L|)        L_c = |K/|K| - L/|L|| = sqrt(2 - 2 A)
//! ```
//!
//! No function here makes an n x n matrix. From factors `K = F F^T`, `L = G G^T` everything follows from small products (see
//! metrics/factors.rs); from priors, or from a prior and codes, the matrices are gone through block by block, one triangle of
//! them, with sums in f64.

mod factors;

pub use factors::{
    Factor, alignment_of_factors, alignment_of_factors_watched, centred_alignment_of_factors, factor_of_classes,
};

use ndarray::{Array1, Array2, ArrayView2, Axis};
use rayon::prelude::*;

use crate::kernel::Prior;
use crate::math::{gemm, threads, vector};
use crate::progress::Progress;
use crate::{Error, Result};

/// Rows of a block: large enough for a fast product, small enough (4 MB) to be summed before it leaves the cache.
const BLOCK: usize = 1024;

/// `<K, L>`, `<K, K>` and `<L, L>`: what alignment is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Products([f64; 3]);

impl Products {
    fn add(&mut self, other: [f64; 3], weight: f64) {
        self.0.iter_mut().zip(other).for_each(|(sum, v)| *sum += weight * v);
    }

    fn alignment(self) -> Result<f64> {
        let Products([kl, kk, ll]) = self;
        if kk > 0.0 && ll > 0.0 && kl.is_finite() && kk.is_finite() && ll.is_finite() {
            return Ok((kl / (kk.sqrt() * ll.sqrt())).clamp(-1.0, 1.0));
        }
        let which = if kk > 0.0 && kk.is_finite() { "second" } else { "first" };
        let what =
            if kk == 0.0 || ll == 0.0 { "is zero everywhere (or constant, if centred)" } else { "is not finite" };
        Err(Error::Numeric(format!("the {which} kernel matrix {what}, so its alignment is not defined")))
    }
}

/// The code loss `sqrt(2 - 2 A)` of an alignment: 0 for equal kernels up to scale.
pub fn code_loss(alignment: f64) -> f64 {
    (2.0 - 2.0 * alignment).max(0.0).sqrt()
}

fn same_rows(n: usize, m: usize) -> Result<()> {
    match n {
        0 => Err(Error::Data("no rows; a kernel matrix needs at least one".into())),
        _ if n != m => {
            Err(Error::Data(format!("the kernels are about {n} and {m} rows; they must be about the same rows")))
        }
        _ => Ok(()),
    }
}

/// The alignment of two kernel matrices.
pub fn alignment(k: ArrayView2<f32>, l: ArrayView2<f32>) -> Result<f64> {
    square(k, l)?;
    sums_of_rows(k, l).alignment()
}

/// The alignment of two kernel matrices after centring (Cortes, Mohri and Rostamizadeh 2012): rows and columns have their mean
/// taken off, so that a constant added to a kernel makes no difference.
pub fn centred_alignment(k: ArrayView2<f32>, l: ArrayView2<f32>) -> Result<f64> {
    square(k, l)?;
    // <HKH, HLH> = <K, L> - 2/n (K1).(L1) + (1'K1)(1'L1)/n^2 would cancel badly in a kernel of nearly equal entries.
    let means = |m: ArrayView2<f32>| -> (Vec<f64>, f64) {
        let n = m.nrows() as f64;
        let rows: Vec<f64> = m.rows().into_iter().map(|r| r.iter().map(|&v| f64::from(v)).sum::<f64>() / n).collect();
        let all = rows.iter().sum::<f64>() / n;
        (rows, all)
    };
    let ((mk, ak), (ml, al)) = (means(k), means(l));
    let row = |i: usize| {
        let mut sums = [0.0; 3];
        for j in 0..k.ncols() {
            let a = f64::from(k[[i, j]]) - mk[i] - mk[j] + ak;
            let b = f64::from(l[[i, j]]) - ml[i] - ml[j] + al;
            sums[0] += a * b;
            sums[1] += a * a;
            sums[2] += b * b;
        }
        sums
    };
    let rows: Vec<[f64; 3]> = threads::run(|| (0..k.nrows()).into_par_iter().map(row).collect());
    let mut products = Products::default();
    rows.into_iter().for_each(|r| products.add(r, 1.0));
    products.alignment()
}

fn square(k: ArrayView2<f32>, l: ArrayView2<f32>) -> Result<()> {
    for m in [k, l] {
        if m.nrows() != m.ncols() {
            return Err(Error::Data(format!(
                "a kernel matrix is square, but this one is {} x {}",
                m.nrows(),
                m.ncols()
            )));
        }
    }
    same_rows(k.nrows(), l.nrows())
}

/// The three products, row by row, added up in order.
fn sums_of_rows(k: ArrayView2<f32>, l: ArrayView2<f32>) -> Products {
    let (k, l) = (k.as_standard_layout(), l.as_standard_layout());
    let (width, k, l) = (k.ncols().max(1), k.as_slice().unwrap_or(&[]), l.as_slice().unwrap_or(&[]));
    let rows: Vec<[f64; 3]> =
        threads::run(|| k.par_chunks(width).zip(l.par_chunks(width)).map(|(k, l)| vector::moments(k, l)).collect());
    let mut products = Products::default();
    rows.into_iter().for_each(|r| products.add(r, 1.0));
    products
}

/// The alignment of two priors on the same rows, block by block.
pub fn alignment_of_priors(k: &dyn Prior, l: &dyn Prior, progress: &dyn Progress) -> Result<f64> {
    same_rows(k.len(), l.len())?;
    by_blocks(k.len(), progress, |rows, columns, left, right| {
        k.block(rows, columns, left);
        l.block(rows, columns, right);
    })
}

/// As [`alignment_of_priors`], after centring; goes through both twice, for the means first.
pub fn centred_alignment_of_priors(k: &dyn Prior, l: &dyn Prior, progress: &dyn Progress) -> Result<f64> {
    same_rows(k.len(), l.len())?;
    let k = Centred::new(k, "alignment: means of the first kernel", progress)?;
    let l = Centred::new(l, "alignment: means of the second kernel", progress)?;
    alignment_of_priors(&k, &l, progress)
}

/// A prior less the means of its rows and columns.
struct Centred<'a> {
    prior: &'a dyn Prior,
    /// The mean of each row, less half of the mean of all: what is taken off once for the row and once for the column.
    means: Array1<f64>,
}

impl<'a> Centred<'a> {
    fn new(prior: &'a dyn Prior, what: &str, progress: &dyn Progress) -> Result<Self> {
        let n = prior.len();
        let all: Vec<usize> = (0..n).collect();
        let mut means = Array1::zeros(n);
        let mut block = Array2::zeros((BLOCK.min(n), BLOCK.min(n)));
        for (rows, mut means) in all.chunks(BLOCK).zip(means.axis_chunks_iter_mut(Axis(0), BLOCK)) {
            for columns in all.chunks(BLOCK) {
                progress.check()?;
                let mut block = block.slice_mut(ndarray::s![..rows.len(), ..columns.len()]);
                threads::run(|| prior.block(rows, columns, block.view_mut()));
                let sum = |row: ndarray::ArrayView1<f32>| row.iter().map(|&v| f64::from(v)).sum::<f64>();
                means.iter_mut().zip(block.rows()).for_each(|(mean, row)| *mean += sum(row) / n as f64);
            }
            progress.step(what, rows[rows.len() - 1] as u64 + 1, n as u64);
        }
        means -= means.mean().unwrap_or(0.0) / 2.0;
        Ok(Self { prior, means })
    }
}

impl Prior for Centred<'_> {
    fn len(&self) -> usize {
        self.prior.len()
    }

    fn block(&self, rows: &[usize], columns: &[usize], mut out: ndarray::ArrayViewMut2<f32>) {
        self.prior.block(rows, columns, out.view_mut());
        for (&i, mut out) in rows.iter().zip(out.rows_mut()) {
            let less = |(v, &j): (&mut f32, &usize)| *v = (f64::from(*v) - self.means[i] - self.means[j]) as f32;
            out.iter_mut().zip(columns).for_each(less);
        }
    }
}

/// The alignment of a prior and the kernel `C = codes codes^T` of the same rows, block by block.
pub fn alignment_with_codes(prior: &dyn Prior, codes: ArrayView2<f32>, progress: &dyn Progress) -> Result<f64> {
    same_rows(prior.len(), codes.nrows())?;
    by_blocks(prior.len(), progress, |rows, columns, left, right| {
        prior.block(rows, columns, left);
        let range = |of: &[usize]| ndarray::Slice::from(of[0]..of[0] + of.len());
        let (a, b) = (codes.slice_axis(Axis(0), range(rows)), codes.slice_axis(Axis(0), range(columns)));
        gemm::product(1.0, a, b.t(), 0.0, right);
    })
}

/// Alignment from blocks on and below the diagonal; `fill` writes both kernels between two ranges of rows.
fn by_blocks(
    n: usize,
    progress: &dyn Progress,
    fill: impl Fn(&[usize], &[usize], ndarray::ArrayViewMut2<f32>, ndarray::ArrayViewMut2<f32>) + Sync,
) -> Result<f64> {
    let all: Vec<usize> = (0..n).collect();
    let blocks: Vec<&[usize]> = all.chunks(BLOCK).collect();
    let total = (blocks.len() * (blocks.len() + 1) / 2) as u64;
    let mut products = Products::default();
    let mut done = 0;
    for (i, rows) in blocks.iter().enumerate() {
        for (j, columns) in blocks[..=i].iter().enumerate() {
            progress.check()?;
            let (mut left, mut right) =
                (Array2::zeros((rows.len(), columns.len())), Array2::zeros((rows.len(), columns.len())));
            threads::run(|| fill(rows, columns, left.view_mut(), right.view_mut()));
            // Blocks off the diagonal stand for their mirror images too.
            products.add(sums_of_rows(left.view(), right.view()).0, if i == j { 1.0 } else { 2.0 });
            done += 1;
            progress.step("alignment: blocks", done, total);
        }
    }
    products.alignment()
}

/// By how many per cent a loss `a` improves on a loss `b`: `100 (b / a - 1)`, as in the paper's first table, negative when it
/// is worse.
pub fn improvement_percent(a: f64, b: f64) -> f64 {
    100.0 * (b / a - 1.0)
}

/// The mean squared difference per entry of rows and their reconstruction.
pub fn mean_squared_error(x: ArrayView2<f32>, y: ArrayView2<f32>) -> Result<f64> {
    if x.dim() != y.dim() {
        return Err(Error::Data(format!(
            "the rows are {:?} and their reconstruction {:?}; they must match",
            x.dim(),
            y.dim()
        )));
    }
    if x.is_empty() {
        return Err(Error::Data("no values; a mean needs at least one".into()));
    }
    let row = |(a, b): (ndarray::ArrayView1<f32>, ndarray::ArrayView1<f32>)| {
        a.iter().zip(b).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2)).sum::<f64>()
    };
    Ok(x.rows().into_iter().zip(y.rows()).map(row).sum::<f64>() / x.len() as f64)
}

fn same_labels(truth: &[u32], predicted: &[u32]) -> Result<()> {
    if truth.len() != predicted.len() {
        return Err(Error::Data(format!("{} labels but {} predictions", truth.len(), predicted.len())));
    }
    if truth.is_empty() {
        return Err(Error::Data("no labels; an accuracy needs at least one".into()));
    }
    Ok(())
}

/// The share of rows whose class was named correctly, from 0 to 1.
pub fn accuracy(truth: &[u32], predicted: &[u32]) -> Result<f64> {
    same_labels(truth, predicted)?;
    Ok(truth.iter().zip(predicted).filter(|(a, b)| a == b).count() as f64 / truth.len() as f64)
}

/// How often each class was taken for each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confusion {
    /// The classes that occur as truth or prediction, smallest number first.
    pub classes: Vec<u32>,
    /// Row: the true class; column: the predicted one; both as places in `classes`.
    pub counts: Array2<u64>,
}

/// Counts how often each class was taken for each other.
pub fn confusion(truth: &[u32], predicted: &[u32]) -> Result<Confusion> {
    same_labels(truth, predicted)?;
    let mut classes = [truth, predicted].concat();
    classes.sort_unstable();
    classes.dedup();
    let place = |c: &u32| classes.partition_point(|d| d < c);
    let mut counts = Array2::zeros((classes.len(), classes.len()));
    truth.iter().zip(predicted).for_each(|(t, p)| counts[[place(t), place(p)]] += 1);
    Ok(Confusion { classes, counts })
}

#[cfg(test)]
mod tests {
    use super::factors::{TILE, TILE_ROWS};
    use super::*;
    use crate::kernel::{Kernel, Linear};
    use crate::math::rng;
    use crate::progress::Silent;
    use ndarray::array;
    use rand::RngExt;

    pub fn random(n: usize, m: usize, seed: u64) -> Array2<f32> {
        let mut rng = rng::stream(seed, rng::Purpose::Demo, n as u64, m as u64);
        Array2::from_shape_simple_fn((n, m), || rng.random::<f32>() - 0.3)
    }

    pub fn kernel(f: &Array2<f32>) -> Array2<f64> {
        let f = f.mapv(f64::from);
        f.dot(&f.t())
    }

    /// By definition, in f64.
    pub fn cosine(k: &Array2<f64>, l: &Array2<f64>) -> f64 {
        (k * l).sum() / ((k * k).sum() * (l * l).sum()).sqrt()
    }

    pub fn centre(k: &Array2<f64>) -> Array2<f64> {
        let n = k.nrows();
        let h = Array2::<f64>::eye(n) - 1.0 / n as f64;
        h.dot(k).dot(&h)
    }

    #[test]
    fn every_way_to_give_a_kernel_gives_the_alignment_by_definition() {
        // Sizes around those of blocks and tiles.
        for (n, m, p) in [(1, 1, 2), (40, 7, 3), (TILE_ROWS + 9, TILE + 5, 3), (BLOCK + 30, 4, 6)] {
            let (f, g) = (random(n, m, 1), random(n, p, 2));
            let (k, l) = (kernel(&f), kernel(&g));
            let want = cosine(&k, &l);
            let (k32, l32) = (k.mapv(|v| v as f32), l.mapv(|v| v as f32));
            let close = |got: Result<f64>| (got.unwrap() - want).abs() < 1e-6;
            assert!(close(alignment(k32.view(), l32.view())), "{n}");
            assert!(close(alignment_of_factors(f.view(), g.view())), "{n}");
            let (pf, pg) = (Linear.prior(f.view()).unwrap(), Linear.prior(g.view()).unwrap());
            assert!(close(alignment_of_priors(&*pf, &*pg, &Silent)), "{n}");
            assert!(close(alignment_with_codes(&*pf, g.view(), &Silent)), "{n}");
            if n > 1 {
                let want = cosine(&centre(&k), &centre(&l));
                let close = |got: Result<f64>| (got.unwrap() - want).abs() < 1e-5;
                assert!(close(centred_alignment(k32.view(), l32.view())), "{n}");
                assert!(close(centred_alignment_of_factors(f.view(), g.view())), "{n}");
                assert!(close(centred_alignment_of_priors(&*pf, &*pg, &Silent)), "{n}");
            }
        }
    }

    #[test]
    fn alignment_is_one_for_a_scaled_kernel_and_centring_forgives_a_constant() {
        let f = random(30, 4, 3);
        let k = kernel(&f).mapv(|v| v as f32);
        assert!(code_loss(alignment(k.view(), (&k * 4.0).view()).unwrap()) < 1e-7);
        assert_eq!(code_loss(alignment_of_factors(f.view(), f.view()).unwrap()), 0.0);
        let shifted = &k + 3.0;
        assert!(alignment(k.view(), shifted.view()).unwrap() < 0.95);
        assert!((centred_alignment(k.view(), shifted.view()).unwrap() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn orthogonal_kernels_are_at_distance_root_two() {
        let (k, l) = (array![[1.0, 0.0], [0.0, 0.0]], array![[0.0, 0.0], [0.0, 5.0]]);
        assert_eq!(code_loss(alignment(k.view(), l.view()).unwrap()), 2.0f64.sqrt());
        // The distance itself, of kernels scaled to unit length: (1, 1)/sqrt 2 against (1, 0).
        let both = array![[1.0, 0.0], [0.0, 1.0]];
        let want = ((1.0 - 0.5f64.sqrt()).powi(2) + 0.5).sqrt();
        assert!((code_loss(alignment(k.view(), both.view()).unwrap()) - want).abs() < 1e-12);
    }

    #[test]
    fn the_papers_first_table_comes_out() {
        let losses = [1.0132, 1.1417, 1.0115];
        let want = [["0.0", "12.7", "-0.2"], ["-11.3", "0.0", "-11.4"], ["0.2", "12.9", "0.0"]];
        for (a, row) in losses.iter().zip(want) {
            for (b, want) in losses.iter().zip(row) {
                assert_eq!(format!("{:.1}", improvement_percent(*a, *b)), want);
            }
        }
    }

    #[test]
    fn errors_and_counts_of_small_cases() {
        let (x, y) = (array![[1.0, 2.0], [3.0, 4.0]], array![[1.0, 0.0], [3.0, 5.0]]);
        assert_eq!(mean_squared_error(x.view(), y.view()).unwrap(), 5.0 / 4.0);
        let (truth, predicted) = ([7, 7, 2, 2, 2], [7, 2, 2, 2, 9]);
        assert_eq!(accuracy(&truth, &predicted).unwrap(), 0.6);
        let confusion = confusion(&truth, &predicted).unwrap();
        assert_eq!(confusion.classes, [2, 7, 9]);
        assert_eq!(confusion.counts, array![[2, 0, 1], [1, 1, 0], [0, 0, 0]]);
    }

    #[test]
    fn what_is_not_defined_is_an_error() {
        let (k, zero) = (array![[1.0f32]], array![[0.0f32]]);
        assert!(alignment(k.view(), zero.view()).unwrap_err().to_string().contains("second kernel matrix is zero"));
        assert!(alignment(zero.view(), k.view()).unwrap_err().to_string().contains("first kernel matrix is zero"));
        let nan = array![[f32::NAN]];
        assert!(
            alignment(k.view(), nan.view()).unwrap_err().to_string().contains("second kernel matrix is not finite")
        );
        assert!(alignment(k.view(), Array2::zeros((2, 2)).view()).is_err());
        assert!(alignment(Array2::zeros((2, 3)).view(), Array2::zeros((2, 3)).view()).is_err());
        assert!(alignment_of_factors(k.view(), Array2::zeros((2, 1)).view()).is_err());
        assert!(mean_squared_error(k.view(), Array2::zeros((2, 1)).view()).is_err());
        assert!(accuracy(&[], &[]).is_err() && accuracy(&[1], &[]).is_err());
        // A constant kernel has nothing left after centring.
        assert!(centred_alignment(Array2::ones((3, 3)).view(), Array2::eye(3).view()).is_err());
    }
}
