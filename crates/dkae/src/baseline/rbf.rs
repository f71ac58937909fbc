//! The Gaussian kernel `exp(-gamma |a - b|^2)` for methods that choose its width themselves, and the median distance
//! they choose it by.

use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis};
use rayon::prelude::*;

use crate::kernel::{Kernel, Prior};
use crate::math::rng::{Purpose, sample, stream};
use crate::math::{distance, threads};
use crate::{Error, Result};

/// The Gaussian kernel.
pub struct Rbf {
    /// `1 / (2 width^2)`.
    pub gamma: f32,
}

impl Rbf {
    /// The kernel of a width: `exp(-|a - b|^2 / (2 width^2))`.
    pub fn of_width(width: f64) -> Self {
        Self { gamma: (0.5 / (width * width)) as f32 }
    }
}

impl Kernel for Rbf {
    fn prior<'a>(&'a self, x: ArrayView2<'a, f32>) -> Result<Box<dyn Prior + 'a>> {
        Ok(Box::new(RbfPrior { gamma: self.gamma, x }))
    }

    fn between(&self, a: ArrayView2<f32>, b: ArrayView2<f32>, mut out: ArrayViewMut2<f32>) -> Result<()> {
        threads::run(|| {
            distance::squared_distances(a, b, out.view_mut());
            out.axis_chunks_iter_mut(Axis(0), 64).into_par_iter().for_each(|mut rows| {
                rows.mapv_inplace(|d| (-self.gamma * d).exp());
            });
        });
        Ok(())
    }

    fn describe(&self) -> String {
        format!("rbf, gamma {}", self.gamma)
    }
}

struct RbfPrior<'a> {
    gamma: f32,
    x: ArrayView2<'a, f32>,
}

impl Prior for RbfPrior<'_> {
    fn len(&self) -> usize {
        self.x.nrows()
    }

    fn block(&self, rows: &[usize], columns: &[usize], mut out: ArrayViewMut2<f32>) {
        let (a, b) = (self.x.select(Axis(0), rows), self.x.select(Axis(0), columns));
        distance::squared_distances(a.view(), b.view(), out.view_mut());
        out.mapv_inplace(|d| (-self.gamma * d).exp());
    }
}

/// The median distance between two different rows; of more than 2000 rows, among 2000 drawn at random.
///
/// Rows that are all equal have no scale, and more than half equal pairs have the median 0: an error.
pub fn median_distance(x: ArrayView2<f32>, seed: u64) -> Result<f64> {
    const MOST: usize = 2000;
    let drawn;
    let x = if x.nrows() > MOST {
        let rows = sample(&mut stream(seed, Purpose::Subset, 0, 0), x.nrows(), MOST);
        drawn = x.select(Axis(0), &rows);
        drawn.view()
    } else {
        x
    };
    let n = x.nrows();
    let mut d = Array2::zeros((n, n));
    threads::run(|| distance::squared_distances(x, x, d.view_mut()));
    let mut all: Vec<f32> = (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| d[[i, j]]).collect();
    let middle = all.len() / 2;
    let median = if all.is_empty() { 0.0 } else { *all.select_nth_unstable_by(middle, f32::total_cmp).1 };
    if median > 0.0 {
        return Ok(f64::from(median).sqrt());
    }
    Err(Error::Data(format!(
        "the median distance between {n} rows is 0: most of them are equal; give a width, or drop the duplicates"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn kernel_and_prior_are_the_formula() {
        let x = array![[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]];
        let rbf = Rbf::of_width(2.0);
        let mut k = Array2::zeros((3, 3));
        rbf.between(x.view(), x.view(), k.view_mut()).unwrap();
        for (i, j, d) in [(0, 0, 0.0f32), (0, 1, 25.0), (0, 2, 1.0), (1, 2, 18.0)] {
            assert!((k[[i, j]] - (-d / 8.0).exp()).abs() < 1e-6);
        }
        let mut block = Array2::zeros((1, 2));
        rbf.prior(x.view()).unwrap().block(&[1], &[2, 0], block.view_mut());
        assert_eq!(block, array![[k[[1, 2]], k[[1, 0]]]]);
    }

    #[test]
    fn the_median_of_known_distances() {
        // Distances 1, 2, 3, 1, 2, 1 on a line.
        let x = array![[0.0], [1.0], [2.0], [3.0]];
        assert_eq!(median_distance(x.view(), 0).unwrap(), 2.0);
        assert!(median_distance(Array2::zeros((5, 2)).view(), 0).is_err());
        assert!(median_distance(Array2::zeros((1, 2)).view(), 0).is_err());
    }
}
