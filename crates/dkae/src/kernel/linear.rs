//! The linear kernel, `a . b`.

use ndarray::{ArrayView2, ArrayViewMut2};

use crate::math::gemm;

use super::analytic::Formula;

/// The linear kernel. It has no settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Linear;

impl Formula for Linear {
    fn width(&self) -> Option<usize> {
        None
    }

    fn fill(&self, a: ArrayView2<f32>, b: ArrayView2<f32>, out: ArrayViewMut2<f32>) {
        gemm::product(1.0, a, b.t(), 0.0, out);
    }

    fn describe(&self) -> String {
        "linear".into()
    }
}

#[cfg(test)]
mod tests {
    use super::super::analytic::tests::{check, random};
    use super::*;

    #[test]
    fn blocks_are_the_formula() {
        check(&Linear, random(6, 5, 1).view(), |a, b| a.iter().zip(b).map(|(a, b)| a * b).sum());
    }
}
