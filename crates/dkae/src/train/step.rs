//! One training step: forward, loss, backward, and the gradient of every weight. docs/method.md derives each line.
//!
//! A batch of k rows is kept features x rows, the rows contiguous and padded to a multiple of 16 with columns of zeros:
//! that is the layout in which the products run fastest. Level l of the autoencoder has two matrices,
//! each two batches wide:
//!
//! ```text
//! up[l]   = [ h_l         | dec_l ]      h_l    activation in the encoder,  dec_l  gradient at the decoder's input to s
//! down[l] = [ enc_l | h~_l        ]      h~_l   activation in the decoder,  enc_l  gradient at the encoder's input to s
//! ```
//!
//! so that the gradient of tied weights, `enc_{l+1} h_l^T + h~_{l+1} dec_l^T`, is the single product
//! `down[l+1] up[l]^T`. The step works on any run of levels: all of them in fine-tuning, two in pretraining.
//!
//! Behind rectified units half of all these numbers are zero, or more, and products skip them (math/sparse.rs);
//! where they are fewer, weights meet the whole batch (math/dense.rs).

use std::ops::Range;

use ndarray::{Array2, ArrayView2, ArrayViewMut, ArrayViewMut2, Axis, Dimension, s};
use rayon::prelude::*;

use super::adam::Adam;
use super::loss::CodeLoss;
use crate::kernel::Prior;
use crate::math::elementwise::{self, AdamStep};
use crate::math::factor::Factor;
use crate::math::sparse::{Nonzeros, Pass};
use crate::math::turn::turn;
use crate::math::{gemm, panels, threads};
use crate::net::{Activation, Architecture, Autoencoder, Layer};
use crate::{Error, Result};

/// Features whose squared errors are summed as one, so that the sum is the same for any number of threads.
const PIECE: usize = 128;

/// The widest level whose gradients wait for a whole panel: 8 MB for each thread.
const WIDEST_WAITING: usize = 16_384;

thread_local! {
    // Taken out while in use: a thread that waits may be given another block meanwhile.
    static GRADIENT: std::cell::Cell<Vec<f32>> = const { std::cell::Cell::new(Vec::new()) };
}

/// Both terms of the loss of one batch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Losses {
    /// Mean squared error per feature.
    pub reconstruction: f32,
    /// `L_c`; zero when the code loss takes no part.
    pub code: f32,
}

impl Losses {
    /// `(1 - lambda) L_r + lambda L_c`.
    pub fn total(self, lambda: f32) -> f32 {
        (1.0 - lambda) * self.reconstruction + lambda * self.code
    }
}

/// Everything a step writes to: made once, some of it by the first step, so that the others allocate nothing.
pub struct Workspace {
    rows: usize,
    /// Width of one batch: `rows`, padded.
    padded: usize,
    up: Vec<Array2<f32>>,
    down: Vec<Array2<f32>>,
    /// Room for the clean input while there is noise on it: the first rows, as many as the level is wide.
    clean: Array2<f32>,
    disturbed: bool,
    /// Squared errors of the pieces of a level, to be added in their order.
    sums: Vec<f64>,
    loss: CodeLoss,
    /// Room for gradients; none until somebody asks for them, since [`descend`](Workspace::descend) does without.
    gradients: Vec<Layer>,
    nonzeros: Nonzeros,
}

impl Workspace {
    /// For batches of `rows` rows of this autoencoder.
    pub fn new(net: &Autoencoder, rows: usize) -> Self {
        let shape = net.architecture();
        let padded = rows.next_multiple_of(16);
        let widest = (0..shape.layers.len()).map(|l| shape.width(l)).max().unwrap_or(0);
        let room = || (0..=shape.layers.len()).map(|l| Array2::zeros((shape.width(l), 2 * padded))).collect();
        Workspace {
            rows,
            padded,
            up: room(),
            down: room(),
            clean: Array2::zeros((widest, padded)),
            disturbed: false,
            sums: Vec::with_capacity(widest.div_ceil(PIECE)),
            loss: CodeLoss::new(rows),
            gradients: Vec::new(),
            nonzeros: Nonzeros::default(),
        }
    }

    /// Puts these rows of `x` at level 0.
    pub fn load(&mut self, x: ArrayView2<f32>, batch: &[usize]) {
        assert_eq!(batch.len(), self.rows, "rows of the batch");
        // By blocks of features: a cache line of the target takes 16 rows, one of the source 16 features.
        let features = 64;
        self.up[0]
            .slice_mut(s![.., ..self.rows])
            .axis_chunks_iter_mut(Axis(0), features)
            .into_par_iter()
            .enumerate()
            .for_each(|(i, mut target)| {
                let first = i * features;
                let last = first + target.nrows();
                for (mut column, &row) in target.columns_mut().into_iter().zip(batch) {
                    column.assign(&x.slice(s![row, first..last]));
                }
            });
        self.disturbed = false;
    }

    /// Disturbs the input at `level` with `noise(values)`; the clean one remains what has to be reconstructed.
    pub fn disturb(&mut self, level: usize, noise: impl FnOnce(ArrayViewMut2<f32>)) {
        let padded = self.padded;
        let mut input = self.up[level].slice_mut(s![.., ..padded]);
        self.clean.slice_mut(s![..input.nrows(), ..]).assign(&input);
        self.disturbed = true;
        noise(input.view_mut());
    }

    /// Encodes from the first level of `levels` to the last.
    pub fn encode(&mut self, net: &Autoencoder, levels: Range<usize>) {
        let padded = self.padded;
        for l in levels {
            let (below, above) = self.up.split_at_mut(l + 1);
            let input = below[l].slice(s![.., ..padded]);
            let output = above[0].slice_mut(s![.., ..padded]);
            let layer = &net.layers()[l];
            let activation = net.architecture().activation(l + 1);
            // Rows themselves may be mostly zero: pictures, counts of words.
            let nonzeros = (l == 0 || rectified(net, l)).then_some(&mut self.nonzeros);
            let input = (input, self.rows);
            propagate(layer.weights.view(), input, nonzeros, layer.bias.as_slice(), activation, output);
        }
    }

    /// Decodes from the last level of `levels`, where the codes are what the encoder left, to the first.
    fn decode(&mut self, net: &Autoencoder, levels: Range<usize>) {
        let padded = self.padded;
        self.down[levels.end].slice_mut(s![.., padded..]).assign(&self.up[levels.end].slice(s![.., ..padded]));
        for l in levels.rev() {
            let (below, above) = self.down.split_at_mut(l + 1);
            let input = above[0].slice(s![.., padded..]);
            let output = below[l].slice_mut(s![.., padded..]);
            let layer = &net.layers()[l];
            let activation = net.architecture().activation(l);
            let nonzeros = rectified(net, l + 1).then_some(&mut self.nonzeros);
            let input = (input, self.rows);
            propagate(layer.back().t(), input, nonzeros, layer.decoder_bias.as_slice(), activation, output);
        }
    }

    /// Forward and backward over `levels`, starting from what is at the first of them. Leaves the gradients of
    /// `(1 - lambda) L_r + lambda L_c` in [`gradients`](Workspace::gradients). `prior` is P and the batch's rows in it;
    /// without it the loss is `L_r`.
    pub fn differentiate(
        &mut self,
        net: &Autoencoder,
        levels: Range<usize>,
        lambda: f32,
        prior: Option<(&dyn Prior, &[usize])>,
    ) -> Result<Losses> {
        let losses = self.backpropagate(net, levels.clone(), lambda, prior)?;
        self.weight_gradients(net, levels);
        Ok(losses)
    }

    /// As [`differentiate`](Workspace::differentiate), up to the gradients at the inputs of all units; those of the weights
    /// are left to [`descend`](Workspace::descend).
    pub fn backpropagate(
        &mut self,
        net: &Autoencoder,
        levels: Range<usize>,
        lambda: f32,
        prior: Option<(&dyn Prior, &[usize])>,
    ) -> Result<Losses> {
        let lambda = if prior.is_some() { lambda } else { 0.0 };
        self.encode(net, levels.clone());
        self.decode(net, levels.clone());
        let reconstruction = self.reconstruction_loss(net.architecture(), levels.start, 1.0 - lambda);
        self.back_through_decoder(net, levels.clone());
        let code = match prior {
            Some((prior, batch)) if lambda > 0.0 => {
                prior.block(batch, batch, self.loss.prior.view_mut());
                let codes = self.up[levels.end].slice(s![.., ..self.rows]);
                let gradient = self.down[levels.end].slice_mut(s![.., ..self.rows]);
                self.loss.add_gradient(codes, lambda, gradient)?
            }
            _ => 0.0,
        };
        let losses = Losses { reconstruction, code };
        if !(losses.reconstruction + losses.code).is_finite() {
            return Err(Error::Numeric(
                "the loss is not finite: training diverged; lower the learning rate or set a gradient clip".into(),
            ));
        }
        self.back_through_encoder(net, levels);
        Ok(losses)
    }

    /// After [`backpropagate`](Workspace::backpropagate) over `levels`, one step of `adam`, whose moments are those of these
    /// levels alone.
    ///
    /// Where products by panels are fast, the gradient goes to Adam panel by panel, or some rows of a panel at a time, and is never
    /// there as a whole. Else it is computed first.
    pub fn descend(&mut self, net: &mut Autoencoder, levels: Range<usize>, adam: &mut Adam, rate: f64, decay: f64) {
        if !net.architecture().tied || !panels::available() {
            self.weight_gradients(net, levels.clone());
            return adam.step(&mut net.layers_mut()[levels.clone()], &self.gradients[levels], rate, 1.0, decay);
        }
        let padded = self.padded;
        let step = adam.next(rate, 1.0, decay);
        threads::run(|| {
            for (i, l) in levels.enumerate() {
                let (rectified_above, rectified_below) = (rectified(net, l + 1), rectified(net, l));
                let (layer, mean, square) = (&mut net.layers_mut()[l], &mut adam.mean[i], &mut adam.square[i]);
                let (down, up) = (self.down[l + 1].view(), self.up[l].view());
                let of = [&mut layer.weights, &mut mean.weights, &mut square.weights].map(|of| of.view_mut());
                // Columns of the gradient by what is not zero below the weights, or its rows by what is not zero above. The former
                // if possible: a panel is whole rows of weights then, of whose gradients each thread needs room
                // for one.
                let below = rectified_below && up.nrows() <= WIDEST_WAITING;
                let below = Factor::of(up, Pass::Twos, below.then_some(&mut self.nonzeros));
                if let Factor::Nonzeros(..) = below {
                    update_by_panels(&step, of.map(|of| of.reversed_axes()), below, down.t());
                } else {
                    let above = Factor::of(down, Pass::Twos, rectified_above.then_some(&mut self.nonzeros));
                    update_by_panels(&step, of, above, up.t());
                }
                let (enc, dec) = (down.slice(s![.., ..padded]), up.slice(s![.., padded..]));
                let encoder = [&mut layer.bias, &mut mean.bias, &mut square.bias].map(|of| of.view_mut());
                update(&step, encoder, |gradient| sum_rows(enc, Some(gradient)));
                let decoder = [&mut layer.decoder_bias, &mut mean.decoder_bias, &mut square.decoder_bias];
                update(&step, decoder.map(|of| of.view_mut()), |gradient| sum_rows(dec, Some(gradient)));
            }
        });
    }

    /// The gradients of the last call of [`differentiate`](Workspace::differentiate) or
    /// [`weight_gradients`](Workspace::weight_gradients), layer by layer; none before.
    pub fn gradients(&self) -> &[Layer] {
        &self.gradients
    }

    /// L_r at `level`, and `dec = 2 weight / (k d) (h~ - x) s'(h~)` there.
    fn reconstruction_loss(&mut self, shape: &Architecture, level: usize, weight: f32) -> f32 {
        let (k, padded, activation) = (self.rows, self.padded, shape.activation(level));
        let width = shape.width(level);
        let scale = 2.0 * weight / (k * width) as f32;
        let (mut up, down) = (self.up[level].view_mut(), self.down[level].view());
        let clean = self.disturbed.then(|| self.clean.view());
        // Sums by fixed pieces, added in their order: the same for any number of threads.
        self.sums.clear();
        self.sums.resize(width.div_ceil(PIECE), 0.0);
        up.axis_chunks_iter_mut(Axis(0), PIECE)
            .into_par_iter()
            .zip(down.axis_chunks_iter(Axis(0), PIECE))
            .zip(&mut self.sums)
            .enumerate()
            .for_each(|(i, ((mut up, down), total))| {
                let mut sum = 0.0f64;
                for (j, (mut up, down)) in up.rows_mut().into_iter().zip(down.rows()).enumerate() {
                    let (input, delta) = up.as_slice_mut().expect("rows are contiguous").split_at_mut(padded);
                    let output = &down.as_slice().expect("rows are contiguous")[padded..];
                    let clean = clean.as_ref().map(|c| c.row(i * PIECE + j));
                    let target = clean.as_ref().map_or(&*input, |c| c.as_slice().expect("rows are contiguous"));
                    let mut row_sum = 0.0f32;
                    for ((delta, &output), &target) in delta[..k].iter_mut().zip(&output[..k]).zip(&target[..k]) {
                        let difference = output - target;
                        row_sum += difference * difference;
                        *delta = scale * difference;
                    }
                    sum += f64::from(row_sum);
                    delta[k..].fill(0.0);
                    activation.multiply_slope(delta, output);
                }
                *total = sum;
            });
        let sum: f64 = self.sums.iter().sum();
        (sum / (k * width) as f64) as f32
    }

    /// `dec_{l+1} = (V_l dec_l) s'(h~_{l+1})`; at the code the slope is left to the encoder's side.
    fn back_through_decoder(&mut self, net: &Autoencoder, levels: Range<usize>) {
        let padded = self.padded;
        for l in levels.clone() {
            let activation = net.architecture().activation(l + 1);
            let (below, above) = self.up.split_at_mut(l + 1);
            let input = (below[l].slice(s![.., padded..]), self.rows);
            let nonzeros = rectified(net, l).then_some(&mut self.nonzeros);
            if l + 1 == levels.end {
                let output = self.down[l + 1].slice_mut(s![.., ..padded]);
                product(net.layers()[l].back(), input, nonzeros, output, |_, _| ());
            } else {
                let h = self.down[l + 1].slice(s![.., padded..]);
                let output = above[0].slice_mut(s![.., padded..]);
                back(net.layers()[l].back(), input, nonzeros, (activation, h), output);
            }
        }
    }

    /// `enc_L` gets its slope; then `enc_l = (W_l^T enc_{l+1}) s'(h_l)` downwards.
    fn back_through_encoder(&mut self, net: &Autoencoder, levels: Range<usize>) {
        let padded = self.padded;
        let activation = net.architecture().activation(levels.end);
        self.down[levels.end]
            .axis_iter_mut(Axis(0))
            .into_par_iter()
            .zip(self.up[levels.end].axis_iter(Axis(0)))
            .for_each(|(mut down, up)| {
                let delta = &mut down.as_slice_mut().expect("rows are contiguous")[..padded];
                activation.multiply_slope(delta, &up.as_slice().expect("rows are contiguous")[..padded]);
            });
        for l in (levels.start + 1..levels.end).rev() {
            let (below, above) = self.down.split_at_mut(l + 1);
            let input = (above[0].slice(s![.., ..padded]), self.rows);
            let output = below[l].slice_mut(s![.., ..padded]);
            let slope = (net.architecture().activation(l), self.up[l].slice(s![.., ..padded]));
            let nonzeros = rectified(net, l + 1).then_some(&mut self.nonzeros);
            back(net.layers()[l].weights.t(), input, nonzeros, slope, output);
        }
    }

    /// After [`backpropagate`](Workspace::backpropagate) over `levels`: the gradients of their weights and biases, for
    /// [`gradients`](Workspace::gradients).
    pub fn weight_gradients(&mut self, net: &Autoencoder, levels: Range<usize>) {
        let (padded, tied) = (self.padded, net.architecture().tied);
        if self.gradients.is_empty() {
            self.gradients = net.layers().iter().map(Layer::zeros_like).collect();
        }
        for l in levels {
            let gradient = &mut self.gradients[l];
            let (down, up) = (self.down[l + 1].view(), self.up[l].view());
            let (enc, h_decoder) = down.split_at(Axis(1), padded);
            let (h, dec) = up.split_at(Axis(1), padded);
            if tied {
                general(down, up.t(), gradient.weights.view_mut(), |_, _| ());
            } else {
                general(enc, h.t(), gradient.weights.view_mut(), |_, _| ());
                let own = gradient.decoder_weights.as_mut().expect("untied layers have decoder weights");
                general(h_decoder, dec.t(), own.view_mut(), |_, _| ());
            }
            sum_rows(enc, gradient.bias.as_slice_mut());
            sum_rows(dec, gradient.decoder_bias.as_slice_mut());
        }
    }
}

/// Adam on some weights and their two moments, with the gradient that `differentiate` writes.
fn update<D: Dimension>(step: &AdamStep, of: [ArrayViewMut<f32, D>; 3], differentiate: impl FnOnce(&mut [f32])) {
    let mut gradient = GRADIENT.take();
    gradient.resize(of[0].len(), 0.0);
    differentiate(&mut gradient);
    let [w, m, v] = of.map(|of| of.into_slice().expect("weights are contiguous"));
    elementwise::adam(step, w, &gradient, m, v);
    GRADIENT.set(gradient);
}

/// Adam on weights and their two moments with the gradient `S Q`, by panels of its columns. Rows or columns of the weights are
/// contiguous. With contiguous columns a panel is one piece of memory, and waits until its gradient is whole: Adam goes through
/// it faster than through many short rows.
fn update_by_panels(step: &AdamStep, of: [ArrayViewMut2<f32>; 3], s: Factor, q: ArrayView2<f32>) {
    let (across, width) = (Axis(1), panels::WIDTH);
    let [mut w, mut m, mut v] = of;
    let of_panels = w
        .axis_chunks_iter_mut(across, width)
        .into_par_iter()
        .zip(m.axis_chunks_iter_mut(across, width))
        .zip(v.axis_chunks_iter_mut(across, width))
        .map(|((w, m), v)| (w, m, v, Vec::new()));
    s.multiply(q, of_panels, |(w, m, v, room), rows, gradient| {
        let gradient = gradient.slice(s![.., ..w.ncols()]);
        if w.ncols() <= 1 || w.strides()[1] == 1 {
            let [w, m, v] = [w, m, v].map(|of| of.slice_mut(s![rows.clone(), ..]));
            return update_rows(step, [w, m, v], gradient);
        }
        if rows.start == 0 {
            *room = GRADIENT.take();
            room.resize(w.len(), 0.0);
        }
        let mut turned = ArrayViewMut2::from_shape((w.ncols(), w.nrows()), &mut room[..]).expect("as large as it says");
        turn(gradient, turned.slice_mut(s![.., rows.clone()]));
        if rows.end == w.nrows() {
            let [w, m, v] = [w, m, v].map(|of| of.view_mut().reversed_axes());
            let [w, m, v] = [w, m, v].map(|of| of.into_slice().expect("weights are contiguous"));
            elementwise::adam(step, w, room, m, v);
            GRADIENT.set(std::mem::take(room));
        }
    });
}

/// Adam, row by row.
fn update_rows(step: &AdamStep, [mut w, mut m, mut v]: [ArrayViewMut2<f32>; 3], gradient: ArrayView2<f32>) {
    let all = w.rows_mut().into_iter().zip(m.rows_mut()).zip(v.rows_mut()).zip(gradient.rows());
    for (((w, m), v), gradient) in all {
        let [w, m, v] = [w, m, v].map(|of| of.into_slice().expect("rows are contiguous"));
        elementwise::adam(step, w, gradient.to_slice().expect("rows are contiguous"), m, v);
    }
}

/// The gradient of a bias: each entry is the sum of a row.
fn sum_rows(deltas: ArrayView2<f32>, out: Option<&mut [f32]>) {
    let out = out.expect("biases are contiguous");
    out.par_iter_mut().with_min_len(PIECE).zip(deltas.axis_iter(Axis(0))).for_each(|(out, row)| *out = row.sum());
}

/// Whether the units of a level are rectified: many of their numbers are zero then, and so are their gradients.
fn rectified(net: &Autoencoder, level: usize) -> bool {
    net.architecture().activation(level) == Activation::Relu
}

/// `output = w input`, features x rows, of which so many are a batch: the others are zeros in the input, and in the output
/// before and after. `finish` gets the first row's number and the block of rows that begins there. With room for what is not
/// zero in the input, zeros are skipped if there are enough of them.
fn product(
    w: ArrayView2<f32>,
    (input, batch): (ArrayView2<f32>, usize),
    nonzeros: Option<&mut Nonzeros>,
    mut output: ArrayViewMut2<f32>,
    finish: impl Fn(usize, ArrayViewMut2<f32>) + Sync,
) {
    if !panels::available() {
        return general(w, input, output, finish);
    }
    let input = input.slice_move(s![.., ..batch]).reversed_axes();
    let of_panels = output.axis_chunks_iter_mut(Axis(0), panels::WIDTH).into_par_iter().enumerate();
    Factor::of(input, Pass::Twos, nonzeros).multiply(w.t(), of_panels, |(panel, output), rows, block| {
        turn(block.slice(s![.., ..output.nrows()]), output.slice_mut(s![.., rows.clone()]));
        if rows.end == batch {
            finish(*panel * panels::WIDTH, output.view_mut());
        }
    });
}

/// `output = a b` by the general product; `finish` gets the first row's number and the block of rows that begins there.
fn general(
    a: ArrayView2<f32>,
    b: ArrayView2<f32>,
    output: ArrayViewMut2<f32>,
    finish: impl Fn(usize, ArrayViewMut2<f32>) + Sync,
) {
    let rows = gemm::rows_for_each_thread(output.nrows());
    gemm::product_by_rows(1.0, a, b, 0.0, output, rows, finish);
}

/// `output = s(w input + bias)`, as [`product`].
fn propagate(
    w: ArrayView2<f32>,
    (input, batch): (ArrayView2<f32>, usize),
    nonzeros: Option<&mut Nonzeros>,
    bias: Option<&[f32]>,
    activation: Activation,
    output: ArrayViewMut2<f32>,
) {
    let bias = bias.expect("biases are contiguous");
    product(w, (input, batch), nonzeros, output, |first, mut block| {
        for (mut row, &bias) in block.rows_mut().into_iter().zip(&bias[first..]) {
            let row = row.as_slice_mut().expect("rows are contiguous");
            activation.apply(row, bias);
            // A unit may make something of nothing.
            row[batch..].fill(0.0);
        }
    });
}

/// `output = (w input) s'(h)`, as [`product`].
fn back(
    w: ArrayView2<f32>,
    input: (ArrayView2<f32>, usize),
    nonzeros: Option<&mut Nonzeros>,
    (activation, h): (Activation, ArrayView2<f32>),
    output: ArrayViewMut2<f32>,
) {
    product(w, input, nonzeros, output, |first, mut block| {
        for (mut row, h) in block.rows_mut().into_iter().zip(h.slice(s![first.., ..]).rows()) {
            activation.multiply_slope(
                row.as_slice_mut().expect("rows are contiguous"),
                h.as_slice().expect("rows are contiguous"),
            );
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_by_panels_are_the_general_one_and_leave_the_padding_alone() {
        let number = |i: usize, j: usize| ((i * 31 + j * 17 + i * j) % 97) as f32 / 97.0 - 0.5;
        for (units, inputs, batch, silent) in
            [(130, 97, 37, 0), (257, 500, 211, 0), (140, 90, 200, 2), (60, 300, 417, 1)]
        {
            let width = usize::next_multiple_of(batch, 16);
            let w = Array2::from_shape_fn((units, inputs), |(i, j)| number(i, j));
            let turned = w.t().as_standard_layout().into_owned();
            let input = Array2::from_shape_fn((inputs, width), |(i, j)| match (i + j) % 3 {
                third if j >= batch || third < silent => 0.0,
                _ => number(j, i),
            });
            let finish = |first: usize, mut block: ArrayViewMut2<f32>| {
                for (i, mut row) in (first..).zip(block.rows_mut()) {
                    row *= 1.0 + i as f32;
                }
            };
            let mut want = Array2::zeros((units, width));
            general(w.view(), input.view(), want.view_mut(), finish);
            for w in [w.view(), turned.t()] {
                for room in [None, Some(&mut Nonzeros::default())] {
                    let mut found = Array2::zeros((units, width));
                    threads::run(|| product(w, (input.view(), batch), room, found.view_mut(), finish));
                    assert!(found.slice(s![.., batch..]).iter().all(|&v| v == 0.0));
                    for (i, (found, want)) in found.rows().into_iter().zip(want.rows()).enumerate() {
                        let off = (&found - &want).iter().fold(0.0f32, |most, d| most.max(d.abs()));
                        assert!(off <= 1e-6 * inputs as f32 * (1.0 + i as f32), "{units} {inputs} {batch}: {i} {off}");
                    }
                }
            }
        }
    }
}
