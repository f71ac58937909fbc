//! The cosine kernel, `a . b / (|a| |b|)`: the angle between rows, whatever their length. A row of zeros has no angle and
//! is similar to nothing, 0 with every row and itself.

use ndarray::{Array2, ArrayView2, ArrayViewMut2};

use crate::math::gemm;

use super::analytic::Formula;

/// The cosine kernel. It has no settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cosine;

impl Formula for Cosine {
    fn width(&self) -> Option<usize> {
        None
    }

    fn fill(&self, a: ArrayView2<f32>, b: ArrayView2<f32>, out: ArrayViewMut2<f32>) {
        // Of length one first: products of very long or very short rows leave the range of f32.
        let (a, b) = (of_length_one(a), of_length_one(b));
        gemm::product(1.0, a.view(), b.t(), 0.0, out);
    }

    fn describe(&self) -> String {
        "cosine".into()
    }
}

fn of_length_one(x: ArrayView2<f32>) -> Array2<f32> {
    let mut x = x.to_owned();
    for mut row in x.rows_mut() {
        let length = row.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt();
        if length > 0.0 {
            row.mapv_inplace(|v| (f64::from(v) / length) as f32);
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::super::analytic::tests::{check, random};
    use super::*;

    #[test]
    fn the_length_of_rows_does_not_matter_however_long_or_short() {
        let x = random(4, 3, 2);
        let cosines = |x: &Array2<f32>| {
            let mut out = Array2::zeros((4, 4));
            Cosine.fill(x.view(), x.view(), out.view_mut());
            out
        };
        let want = cosines(&x);
        for scale in [1e-30f32, 1e30] {
            assert!((cosines(&(&x * scale)) - &want).iter().all(|d| d.abs() < 1e-6), "{scale}");
        }
    }

    #[test]
    fn blocks_are_the_formula_and_zeros_are_similar_to_nothing() {
        let mut x = random(6, 5, 1);
        x.row_mut(3).fill(0.0);
        check(&Cosine, x.view(), |a, b| {
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let norms = (dot(a, a) * dot(b, b)).sqrt();
            if norms > 0.0 { dot(a, b) / norms } else { 0.0 }
        });
    }
}
