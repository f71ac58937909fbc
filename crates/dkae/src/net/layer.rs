//! One layer, both ways: the encoder's half `h = s(W x + b)` and the decoder's half `x~ = s(V^T h + c)`.
//!
//! With tied weights `V` is `W` itself. Both halves are stored with the shape of `W` (out x in), so the two cases differ
//! in one line.

use ndarray::{Array1, Array2, ArrayView2};
use rand::RngExt;

use crate::Result;
use crate::math::rng::{Purpose, stream};

/// Weights and biases of one layer of the encoder and its mirror in the decoder.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// W, out x in.
    pub weights: Array2<f32>,
    /// b, one per output.
    pub bias: Array1<f32>,
    /// V, out x in, when the decoder has weights of its own; applied transposed.
    pub decoder_weights: Option<Array2<f32>>,
    /// c, one per input.
    pub decoder_bias: Array1<f32>,
}

impl Layer {
    /// Weights drawn uniformly from +-sqrt(6 / (in + out)) (Glorot and Bengio 2010), biases zero. `index` is the layer's
    /// place in the stack: each layer has its own stream of random numbers.
    pub fn glorot(inputs: usize, outputs: usize, tied: bool, seed: u64, index: usize) -> Self {
        let limit = (6.0 / (inputs + outputs) as f32).sqrt();
        let draw = |half: u64| {
            let mut rng = stream(seed, Purpose::Weights, index as u64, half);
            Array2::from_shape_simple_fn((outputs, inputs), || (2.0 * rng.random::<f32>() - 1.0) * limit)
        };
        Layer {
            weights: draw(0),
            bias: Array1::zeros(outputs),
            decoder_weights: (!tied).then(|| draw(1)),
            decoder_bias: Array1::zeros(inputs),
        }
    }

    /// A layer read from somewhere: one function gives any of its tensors by name and shape.
    pub(crate) fn read(
        (inputs, outputs): (usize, usize),
        tied: bool,
        index: usize,
        mut take: impl FnMut(&str, &[usize]) -> Result<Vec<f32>>,
    ) -> Result<Self> {
        let weights = |values| Array2::from_shape_vec((outputs, inputs), values).expect("the shape was asked for");
        Ok(Layer {
            weights: weights(take(&format!("encoder.{index}.weight"), &[outputs, inputs])?),
            bias: take(&format!("encoder.{index}.bias"), &[outputs])?.into(),
            decoder_weights: match tied {
                true => None,
                false => Some(weights(take(&format!("decoder.{index}.weight"), &[outputs, inputs])?)),
            },
            decoder_bias: take(&format!("decoder.{index}.bias"), &[inputs])?.into(),
        })
    }

    /// A layer of the same shape, all zeros: gradients and moments have the form of what they belong to.
    pub fn zeros_like(&self) -> Self {
        Layer {
            weights: Array2::zeros(self.weights.dim()),
            bias: Array1::zeros(self.bias.dim()),
            decoder_weights: self.decoder_weights.as_ref().map(|w| Array2::zeros(w.dim())),
            decoder_bias: Array1::zeros(self.decoder_bias.dim()),
        }
    }

    /// Width of the rows that go in.
    pub fn inputs(&self) -> usize {
        self.weights.ncols()
    }

    /// Width of the rows that come out.
    pub fn outputs(&self) -> usize {
        self.weights.nrows()
    }

    /// V: the decoder's own weights, or W when they are tied.
    pub fn back(&self) -> ArrayView2<'_, f32> {
        self.decoder_weights.as_ref().unwrap_or(&self.weights).view()
    }

    /// All numbers of the layer, tensor by tensor.
    pub fn tensors(&self) -> impl Iterator<Item = &[f32]> {
        [
            Some(contiguous(&self.weights)),
            Some(contiguous(&self.bias)),
            self.decoder_weights.as_ref().map(contiguous),
            Some(contiguous(&self.decoder_bias)),
        ]
        .into_iter()
        .flatten()
    }

    /// As [`tensors`](Layer::tensors), to write to.
    pub fn tensors_mut(&mut self) -> impl Iterator<Item = &mut [f32]> {
        [
            Some(contiguous_mut(&mut self.weights)),
            Some(contiguous_mut(&mut self.bias)),
            self.decoder_weights.as_mut().map(contiguous_mut),
            Some(contiguous_mut(&mut self.decoder_bias)),
        ]
        .into_iter()
        .flatten()
    }

    /// The names and shapes of [`tensors`](Layer::tensors) in files, for the layer at `index` of the stack.
    pub fn names(&self, index: usize) -> impl Iterator<Item = (String, Vec<usize>)> {
        let weights = vec![self.outputs(), self.inputs()];
        [
            Some((format!("encoder.{index}.weight"), weights.clone())),
            Some((format!("encoder.{index}.bias"), vec![self.outputs()])),
            self.decoder_weights.as_ref().map(|_| (format!("decoder.{index}.weight"), weights)),
            Some((format!("decoder.{index}.bias"), vec![self.inputs()])),
        ]
        .into_iter()
        .flatten()
    }
}

fn contiguous<D: ndarray::Dimension>(array: &ndarray::Array<f32, D>) -> &[f32] {
    array.as_slice().expect("layers are made in standard layout and stay so")
}

fn contiguous_mut<D: ndarray::Dimension>(array: &mut ndarray::Array<f32, D>) -> &mut [f32] {
    array.as_slice_mut().expect("layers are made in standard layout and stay so")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glorot_weights_have_the_variance_of_the_formula() {
        let layer = Layer::glorot(300, 200, true, 1, 0);
        let (n, limit) = ((300 * 200) as f32, (6.0f32 / 500.0).sqrt());
        let variance = layer.weights.iter().map(|w| w * w).sum::<f32>() / n;
        assert!((variance / (limit * limit / 3.0) - 1.0).abs() < 0.02, "{variance}");
        assert!(layer.weights.iter().all(|w| w.abs() <= limit));
        assert_ne!(layer, Layer::glorot(300, 200, true, 1, 1));
    }
}
