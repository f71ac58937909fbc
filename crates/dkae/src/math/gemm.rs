//! Matrix products: the one place that calls a GEMM crate.
//!
//! `dst = beta dst + alpha a b`, for any strides. The rows of `dst` are cut into blocks and each block is one sequential
//! product, which sums over the inner dimension in an order that depends on that dimension alone: the result is the same,
//! bit for bit, with one thread or many. [`product_by_rows`] hands
//! every block to a closure as soon as it is done, while it is still in cache: bias and activation then cost no pass over
//! memory of their own.
//!
//! The crate is fastest when the longer contiguous axis of `dst` and of one factor is the same; this module passes strides
//! through and leaves the layout to the caller.

#![allow(unsafe_code)]

use gemm::Parallelism;
use ndarray::{ArrayView2, ArrayViewMut2, Axis};
use rayon::prelude::*;

/// The numbers that matrices are made of: `f32` or `f64`.
pub trait Float: Copy + PartialEq + Default + Send + Sync + sealed::Sealed + 'static {}
impl Float for f32 {}
impl Float for f64 {}

mod sealed {
    /// The GEMM crate knows these types and no others.
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// `dst = beta dst + alpha a b` on the computing threads. With `beta` zero, `dst` is written without being read.
pub fn product<T: Float>(alpha: T, a: ArrayView2<T>, b: ArrayView2<T>, beta: T, dst: ArrayViewMut2<T>) {
    let (m, k) = a.dim();
    let n = b.ncols();
    if m < n / 4 {
        // A wide result: cut the other way, as rows of the transposed product.
        return product_by_rows(alpha, b.t(), a.t(), beta, dst.reversed_axes(), block_rows(n, m, k), |_, _| ());
    }
    product_by_rows(alpha, a, b, beta, dst, block_rows(m, n, k), |_, _| ());
}

/// Rows per block: large enough that packing `b` again for each block does not show, small enough to share out, and all
/// blocks about alike.
fn block_rows(m: usize, n: usize, k: usize) -> usize {
    let flops_a_row = 2 * n.max(1) * k.max(1);
    let most = (4_000_000 / flops_a_row).max(m.div_ceil(16)).clamp(64, m.max(64));
    m.div_ceil(m.div_ceil(most).max(1)).max(1)
}

/// Rows per block for products of a training step without AVX-512, one after the other in quick succession: one block for each thread,
/// because the crate packs all of `b` anew for every block. At least 128 rows and at most 64 blocks, so that the last
/// one has more than 64 rows as well: with fewer the crate may sum in another order, and the bits would depend on the
/// number of threads.
pub fn rows_for_each_thread(m: usize) -> usize {
    let blocks = crate::math::threads::count().min(m / 128).clamp(1, 64);
    m.div_ceil(blocks).max(1)
}

/// As [`product`], by blocks of `rows` rows of `dst`; `finish` gets the first row's number and the finished block.
pub fn product_by_rows<T: Float>(
    alpha: T,
    a: ArrayView2<T>,
    b: ArrayView2<T>,
    beta: T,
    mut dst: ArrayViewMut2<T>,
    rows: usize,
    finish: impl Fn(usize, ArrayViewMut2<T>) + Sync,
) {
    assert_eq!(a.nrows(), dst.nrows(), "rows of a and dst");
    crate::math::threads::run(|| {
        dst.axis_chunks_iter_mut(Axis(0), rows)
            .into_par_iter()
            .zip(a.axis_chunks_iter(Axis(0), rows))
            .enumerate()
            .for_each(|(i, (mut dst, a))| {
                sequential(alpha, a, b, beta, dst.view_mut());
                finish(i * rows, dst);
            });
    });
}

/// As [`product`], on the calling thread alone: for use inside work that is already shared out.
pub fn sequential<T: Float>(alpha: T, a: ArrayView2<T>, b: ArrayView2<T>, beta: T, mut dst: ArrayViewMut2<T>) {
    let (m, k) = a.dim();
    let n = b.ncols();
    assert_eq!(b.nrows(), k, "inner dimensions of a and b");
    assert_eq!(dst.dim(), (m, n), "shape of dst");
    let (dst_rs, dst_cs) = (dst.strides()[0], dst.strides()[1]);
    // SAFETY: the shapes were checked against each other above, pointers and strides come from live ndarray views of
    // those shapes, and `dst` is borrowed mutably, so it overlaps neither factor.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            dst.as_mut_ptr(),
            dst_cs,
            dst_rs,
            beta != T::default(),
            a.as_ptr(),
            a.strides()[1],
            a.strides()[0],
            b.as_ptr(),
            b.strides()[1],
            b.strides()[0],
            beta,
            alpha,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{rng, threads};
    use ndarray::{Array2, s};
    use rand::RngExt;

    fn random(m: usize, n: usize, seed: u64) -> Array2<f32> {
        let mut rng = rng::stream(seed, rng::Purpose::Demo, m as u64, n as u64);
        Array2::from_shape_simple_fn((m, n), || rng.random::<f32>() - 0.5)
    }

    fn naive(a: ArrayView2<f32>, b: ArrayView2<f32>) -> Array2<f32> {
        Array2::from_shape_fn((a.nrows(), b.ncols()), |(i, j)| {
            (0..a.ncols()).map(|l| f64::from(a[[i, l]]) * f64::from(b[[l, j]])).sum::<f64>() as f32
        })
    }

    #[test]
    fn products_agree_with_the_definition_for_every_layout() {
        for (m, n, k) in [(1, 1, 1), (3, 200, 17), (200, 3, 17), (65, 300, 129), (300, 65, 1)] {
            let (a, b) = (random(m, k, 1), random(k, n, 2));
            let (at, bt) = (a.t().as_standard_layout().into_owned(), b.t().as_standard_layout().into_owned());
            let want = naive(a.view(), b.view());
            for a in [a.view(), at.t()] {
                for b in [b.view(), bt.t()] {
                    let mut dst = Array2::from_elem((m, n), f32::NAN);
                    product(1.0, a, b, 0.0, dst.view_mut());
                    assert!((&dst - &want).iter().all(|d| d.abs() < 1e-4), "{m} {n} {k}");
                    product(0.5, a, b, -1.0, dst.view_mut());
                    assert!((&dst + &(&want * 0.5)).iter().all(|d| d.abs() < 1e-4), "{m} {n} {k}");
                }
            }
        }
    }

    #[test]
    fn one_thread_and_many_give_the_same_bits() {
        let (a, b) = (random(333, 257, 3), random(257, 190, 4));
        let run = |threads| {
            threads::with_count(threads, || {
                let mut dst = Array2::zeros((333, 190));
                product(1.0, a.view(), b.view(), 0.0, dst.view_mut());
                dst
            })
        };
        assert_eq!(run(1), run(3));
    }

    #[test]
    fn a_block_for_each_thread_gives_the_same_bits_for_any_number_of_them() {
        for (m, n, k) in [(65, 208, 500), (257, 16, 784), (500, 208, 30), (777, 48, 2000), (8200, 16, 700)] {
            let (a, turned, b) = (random(m, k, 5), random(k, m, 6), random(k, n, 7));
            let run = |threads, a: ArrayView2<f32>| {
                threads::with_count(threads, || {
                    let mut dst = Array2::zeros((m, n));
                    let rows = rows_for_each_thread(m);
                    product_by_rows(1.0, a, b.view(), 0.0, dst.view_mut(), rows, |_, _| ());
                    dst
                })
            };
            for a in [a.view(), turned.t()] {
                let one = run(1, a);
                assert!([2, 3, 6, 70].into_iter().all(|threads| run(threads, a) == one), "{m} x {k} x {n}");
            }
        }
    }

    #[test]
    fn every_block_is_finished_once() {
        let (a, b) = (random(100, 5, 5), random(5, 7, 6));
        let mut dst = Array2::zeros((100, 7));
        product_by_rows(1.0, a.view(), b.view(), 0.0, dst.view_mut(), 32, |first, mut block| {
            block += first as f32;
        });
        let want = naive(a.view(), b.view());
        for i in 0..100 {
            let shift = (i / 32 * 32) as f32;
            let d = &dst.slice(s![i, ..]) - &want.slice(s![i, ..]);
            assert!(d.iter().all(|d| (d - shift).abs() < 1e-4));
        }
    }
}
