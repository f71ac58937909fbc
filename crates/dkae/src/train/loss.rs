//! The code loss: how far the inner products of codes are from the prior, and which way to move the codes.
//!
//! With `C = Z Z^T` for codes `Z` (k x N_c) and a prior block `P` (k x k):
//!
//! ```text
//! L_c        = | C/|C| - P/|P| |_F = sqrt(2 - 2 A),   A = <C, P> / (|C| |P|)
//! dL_c / dC  = -(P/(|C||P|) - A C/|C|^2) / L_c
//! dL_c / dZ  = 2 (dL_c/dC) Z
//! ```
//!
//! docs/method.md derives these. `L_c` is summed directly rather than taken from `A`, which would cancel near `A = 1`.
//! Codes are kept as the trainer keeps them, N_c x k with the batch contiguous.

use ndarray::{Array2, ArrayView2, ArrayViewMut2, Zip, s};

use crate::math::{gemm, vector};
use crate::{Error, Result};

/// `L_c` is divided by in its own gradient; below this the codes match the prior to f32 precision.
const SMALLEST: f64 = 1e-6;

/// Room for the matrices of one batch, so that a step allocates nothing.
pub struct CodeLoss {
    /// P on the rows of the batch; fill it before calling [`add_gradient`](CodeLoss::add_gradient).
    pub prior: Array2<f32>,
    gram: Array2<f32>,
}

impl CodeLoss {
    /// For batches of `k` rows.
    pub fn new(k: usize) -> Self {
        CodeLoss { prior: Array2::zeros((k, k)), gram: Array2::zeros((k, k)) }
    }

    /// Returns `L_c` and adds `weight dL_c/dZ` to `gradient`. `codes` and `gradient` are N_c x k.
    pub fn add_gradient(
        &mut self,
        codes: ArrayView2<f32>,
        weight: f32,
        mut gradient: ArrayViewMut2<f32>,
    ) -> Result<f32> {
        let k = self.prior.nrows();
        gemm::product(1.0, codes.t(), codes, 0.0, self.gram.view_mut());
        let numbers = [&self.gram, &self.prior].map(|of| of.as_slice().expect("owned and in order"));
        let [_, norm_c, norm_p] = vector::moments(numbers[0], numbers[1]).map(f64::sqrt);
        if norm_c == 0.0 {
            return Err(Error::Numeric(
                "every code of a batch is zero, so its kernel has no direction: either all features are constant, or the code \
                 layer is dead; look at the rows, lower the learning rate, or use a linear or sigmoid code"
                    .into(),
            ));
        }
        if norm_p == 0.0 {
            return Err(Error::Data(
                "the prior kernel is zero between all rows of a batch: nothing to align the codes with".into(),
            ));
        }
        // Multiplied with, not divided by: this is done for every pair of rows.
        let (shrink_c, shrink_p) = (1.0 / norm_c, 1.0 / norm_p);
        let mut distance = 0.0;
        Zip::from(&self.gram).and(&self.prior).for_each(|&c, &p| {
            let d = f64::from(c) * shrink_c - f64::from(p) * shrink_p;
            distance += d * d;
        });
        let loss = distance.sqrt();
        let alignment = 1.0 - distance / 2.0;

        // dL_c/dC, in place of P; then one product with the codes. The two terms nearly cancel when C is close to P: f64.
        let scale = f64::from(2.0 * weight) / loss.max(SMALLEST) / norm_c;
        let (of_c, of_p) = (scale * alignment * shrink_c, scale * shrink_p);
        Zip::from(&mut self.prior).and(&self.gram).for_each(|p, &c| {
            *p = (of_c * f64::from(c) - of_p * f64::from(*p)) as f32;
        });
        let gradient = gradient.slice_mut(s![.., ..k]);
        gemm::product(1.0, codes.slice(s![.., ..k]), self.prior.view(), 1.0, gradient);
        Ok(loss as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;
    use proptest::prelude::*;

    fn matrix(rows: usize, columns: usize) -> impl Strategy<Value = Array2<f32>> {
        proptest::collection::vec(-2.0f32..2.0, rows * columns)
            .prop_map(move |v| Array2::from_shape_vec((rows, columns), v).unwrap())
    }

    fn loss(codes: &Array2<f32>, prior: &Array2<f32>) -> (f32, Array2<f32>) {
        let mut gradient = Array2::zeros(codes.dim());
        let mut room = CodeLoss::new(prior.nrows());
        room.prior.assign(prior);
        (room.add_gradient(codes.view(), 1.0, gradient.view_mut()).unwrap(), gradient)
    }

    proptest! {
        #[test]
        fn it_is_the_root_of_two_less_two_alignments_and_ignores_scale(
            codes in matrix(3, 6), factor in matrix(6, 4), scale in 0.1f32..10.0
        ) {
            let prior = factor.dot(&factor.t());
            let c = codes.t().dot(&codes);
            let norm = |a: &Array2<f32>| a.iter().map(|v| f64::from(v * v)).sum::<f64>().sqrt();
            prop_assume!(norm(&c) > 0.1 && norm(&prior) > 0.1);
            let inner: f64 = c.iter().zip(&prior).map(|(a, b)| f64::from(a * b)).sum();
            let want = (2.0 - 2.0 * inner / (norm(&c) * norm(&prior))).sqrt();
            let (found, _) = loss(&codes, &prior);
            prop_assert!((f64::from(found) - want).abs() < 1e-5, "{found} {want}");
            let (scaled_p, _) = loss(&codes, &(&prior * scale));
            let (scaled_c, _) = loss(&(&codes * scale), &prior);
            prop_assert!((found - scaled_p).abs() < 1e-5 && (found - scaled_c).abs() < 1e-5);
        }

        #[test]
        fn the_gradient_has_no_component_along_the_codes(codes in matrix(3, 6), factor in matrix(6, 4)) {
            // L_c does not change when the codes are scaled.
            let prior = factor.dot(&factor.t());
            prop_assume!(codes.iter().any(|v| v.abs() > 0.5) && prior.iter().any(|v| v.abs() > 0.1));
            let (found, gradient) = loss(&codes, &prior);
            prop_assume!(found > 0.05);
            let along: f32 = (&codes * &gradient).sum();
            let size = gradient.iter().map(|g| g.abs()).sum::<f32>();
            prop_assert!(along.abs() < 1e-4 * (1.0 + size), "{along}");
        }
    }

    #[test]
    fn codes_that_match_the_prior_have_no_loss_and_a_finite_gradient() {
        let codes = array![[1.0, 0.5, -0.25], [0.0, 2.0, 1.0]];
        let (found, gradient) = loss(&codes, &codes.t().dot(&codes));
        assert!(found < 1e-6 && gradient.iter().all(|g| g.abs() < 1e-2), "{found} {gradient}");
    }

    #[test]
    fn a_dead_code_layer_is_an_error() {
        let mut room = CodeLoss::new(2);
        room.prior.fill(1.0);
        let mut gradient = Array2::zeros((3, 2));
        let error = room.add_gradient(Array2::zeros((3, 2)).view(), 1.0, gradient.view_mut()).unwrap_err();
        assert!(error.to_string().contains("dead"), "{error}");
    }
}
