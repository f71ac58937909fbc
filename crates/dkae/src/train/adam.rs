//! Adam (Kingma and Ba 2015), with weight decay beside the gradient (Loshchilov and Hutter 2019).
//!
//! ```text
//! m = beta1 m + (1 - beta1) g          v = beta2 v + (1 - beta2) g^2
//! w = (1 - rate decay) w - rate / (1 - beta1^t) * m / (sqrt(v / (1 - beta2^t)) + epsilon)
//! ```

use rayon::prelude::*;

use crate::math::elementwise::{AdamStep, adam};
use crate::net::Layer;

const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const EPSILON: f32 = 1e-8;

/// Numbers updated by one task: the four slices fit the second-level cache.
const CHUNK: usize = 1 << 15;

/// The moments of a stack of layers.
#[derive(Clone, Debug, PartialEq)]
pub struct Adam {
    /// Steps taken.
    pub time: u64,
    /// Mean of gradients, one per weight.
    pub mean: Vec<Layer>,
    /// Mean of squared gradients, one per weight.
    pub square: Vec<Layer>,
}

impl Adam {
    /// Moments of zero for these layers.
    pub fn new(layers: &[Layer]) -> Self {
        let zeros: Vec<Layer> = layers.iter().map(Layer::zeros_like).collect();
        Adam { time: 0, mean: zeros.clone(), square: zeros }
    }

    /// The numbers of the next step, which is hereby begun.
    pub(super) fn next(&mut self, rate: f64, shrink: f32, decay: f64) -> AdamStep {
        self.time += 1;
        let t = self.time as f64;
        AdamStep {
            beta1: BETA1 as f32,
            beta2: BETA2 as f32,
            rate: (rate / (1.0 - BETA1.powf(t))) as f32,
            root: (1.0 / (1.0 - BETA2.powf(t)).sqrt()) as f32,
            epsilon: EPSILON,
            shrink,
            keep: (1.0 - rate * decay) as f32,
        }
    }

    /// One step. `shrink` multiplies the gradients first, `decay` is that of the weights.
    pub fn step(&mut self, layers: &mut [Layer], gradients: &[Layer], rate: f64, shrink: f32, decay: f64) {
        let step = self.next(rate, shrink, decay);
        for (((layer, gradient), mean), square) in
            layers.iter_mut().zip(gradients).zip(&mut self.mean).zip(&mut self.square)
        {
            let tensors = layer.tensors_mut().zip(gradient.tensors()).zip(mean.tensors_mut()).zip(square.tensors_mut());
            for (((w, g), m), v) in tensors {
                w.par_chunks_mut(CHUNK)
                    .zip(g.par_chunks(CHUNK))
                    .zip(m.par_chunks_mut(CHUNK))
                    .zip(v.par_chunks_mut(CHUNK))
                    .for_each(|(((w, g), m), v)| adam(&step, w, g, m, v));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::threads;

    #[test]
    fn the_first_steps_follow_the_formula() {
        let decay = 0.3;
        let mut layers = vec![Layer::glorot(3, 2, false, 1, 0)];
        let start = layers[0].weights[[1, 2]] as f64;
        let mut gradient = layers[0].zeros_like();
        let mut adam = Adam::new(&layers);
        let (mut w, mut m, mut v) = (start, 0.0f64, 0.0f64);
        for (t, g) in [(1, 0.5f64), (2, -0.25), (3, 2.0)] {
            gradient.weights[[1, 2]] = g as f32;
            threads::run(|| adam.step(&mut layers, std::slice::from_ref(&gradient), 0.01, 1.0, decay));
            m = 0.9 * m + 0.1 * g;
            v = 0.999 * v + 0.001 * g * g;
            w = (1.0 - 0.01 * decay) * w
                - 0.01 * (m / (1.0 - 0.9f64.powi(t))) / ((v / (1.0 - 0.999f64.powi(t))).sqrt() + 1e-8);
            assert!((f64::from(layers[0].weights[[1, 2]]) - w).abs() < 1e-6);
        }
        let still = Layer::glorot(3, 2, false, 1, 0).weights[[0, 0]] * (1.0 - 0.01 * decay as f32).powi(3);
        assert!((layers[0].weights[[0, 0]] - still).abs() < 1e-6, "no gradient, no move but the decay");
    }
}
