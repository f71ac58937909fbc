//! The cosine kernel, `a . b / (|a| |b|)`: the angle between rows, whatever their length. A row of zeros has no angle and
//! is similar to nothing, 0 with every row and itself.

use ndarray::{Array1, ArrayView2, ArrayViewMut2, Zip};

use crate::math::{distance, gemm};

use super::analytic::Formula;

/// The cosine kernel. It has no settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cosine;

impl Formula for Cosine {
    fn width(&self) -> Option<usize> {
        None
    }

    fn fill(&self, a: ArrayView2<f32>, b: ArrayView2<f32>, mut out: ArrayViewMut2<f32>) {
        gemm::product(1.0, a, b.t(), 0.0, out.view_mut());
        let inverse = |x| -> Array1<f32> {
            distance::squared_norms(x).mapv(|n| if n > 0.0 { (1.0 / f64::from(n).sqrt()) as f32 } else { 0.0 })
        };
        let (a, b) = (inverse(a), inverse(b));
        Zip::from(out.rows_mut()).and(&a).for_each(|mut row, &a| {
            Zip::from(&mut row).and(&b).for_each(|v, &b| *v *= a * b);
        });
    }

    fn describe(&self) -> String {
        "cosine".into()
    }
}

#[cfg(test)]
mod tests {
    use super::super::analytic::tests::{check, random};
    use super::*;

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
