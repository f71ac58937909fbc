//! The gradient of every parameter against central differences of a naive implementation in f64.
//!
//! The naive implementation below shares nothing with the library: plain loops over plain vectors, written from the
//! formulas of the paper.

use dkae::kernel::Prior;
use dkae::math::threads;
use dkae::net::{Activation, Architecture, Autoencoder};
use dkae::train::Workspace;
use ndarray::{Array2, ArrayViewMut2};

const K: usize = 7;
const WIDTHS: [usize; 4] = [6, 5, 4, 3];

struct Matrix(Array2<f32>);

impl Prior for Matrix {
    fn len(&self) -> usize {
        self.0.nrows()
    }

    fn block(&self, rows: &[usize], columns: &[usize], mut out: ArrayViewMut2<f32>) {
        for (i, &r) in rows.iter().enumerate() {
            for (j, &c) in columns.iter().enumerate() {
                out[[i, j]] = self.0[[r, c]];
            }
        }
    }
}

/// Numbers that look random and are the same everywhere.
fn noise(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..n)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        })
        .collect()
}

fn activate(activation: Activation, z: f64) -> f64 {
    match activation {
        Activation::Sigmoid => 1.0 / (1.0 + (-z).exp()),
        Activation::Tanh => z.tanh(),
        Activation::Relu => z.max(0.0),
        Activation::Linear => z,
    }
}

/// Parameters of one layer: W (out x in), b, V (out x in, or none), c.
#[derive(Clone)]
struct NaiveLayer {
    tensors: Vec<Vec<f64>>,
    tied: bool,
    inputs: usize,
    outputs: usize,
}

/// `(1 - lambda) / (k d) sum |x - x~|^2 + lambda | C/|C| - P/|P| |` over layers `from..to`, by the definition; `noise` is
/// added to what the layers encode, and the clean input remains what they have to reconstruct.
#[allow(clippy::too_many_arguments)]
fn naive_loss(
    layers: &[NaiveLayer],
    activations: &[Activation],
    from: usize,
    to: usize,
    lambda: f64,
    x: &[Vec<f64>],
    noise: Option<&[Vec<f64>]>,
    prior: Option<&Array2<f32>>,
) -> f64 {
    let up = |layer: &NaiveLayer, activation, h: &[f64]| -> Vec<f64> {
        (0..layer.outputs)
            .map(|o| {
                let sum: f64 = (0..layer.inputs).map(|i| layer.tensors[0][o * layer.inputs + i] * h[i]).sum();
                activate(activation, sum + layer.tensors[1][o])
            })
            .collect()
    };
    let down = |layer: &NaiveLayer, activation, h: &[f64]| -> Vec<f64> {
        let weights = if layer.tied { &layer.tensors[0] } else { &layer.tensors[2] };
        (0..layer.inputs)
            .map(|i| {
                let sum: f64 = (0..layer.outputs).map(|o| weights[o * layer.inputs + i] * h[o]).sum();
                activate(activation, sum + layer.tensors.last().unwrap()[i])
            })
            .collect()
    };
    let mut squares = 0.0;
    let mut codes = Vec::new();
    for (i, row) in x.iter().enumerate() {
        let mut h = row.clone();
        for l in 0..from {
            h = up(&layers[l], activations[l + 1], &h);
        }
        let input = h.clone();
        if let Some(noise) = noise {
            h.iter_mut().zip(&noise[i]).for_each(|(h, n)| *h += n);
        }
        for l in from..to {
            h = up(&layers[l], activations[l + 1], &h);
        }
        codes.push(h.clone());
        for l in (from..to).rev() {
            h = down(&layers[l], activations[l], &h);
        }
        squares += input.iter().zip(&h).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    }
    let reconstruction = squares / (x.len() * layers[from].inputs) as f64;
    let Some(prior) = prior else { return reconstruction };
    let k = x.len();
    let c = |i: usize, j: usize| codes[i].iter().zip(&codes[j]).map(|(a, b)| a * b).sum::<f64>();
    let p = |i: usize, j: usize| f64::from(prior[[i, j]]);
    let pairs = || (0..k).flat_map(|i| (0..k).map(move |j| (i, j)));
    let norm_c = pairs().map(|(i, j)| c(i, j).powi(2)).sum::<f64>().sqrt();
    let norm_p = pairs().map(|(i, j)| p(i, j).powi(2)).sum::<f64>().sqrt();
    let code = pairs().map(|(i, j)| (c(i, j) / norm_c - p(i, j) / norm_p).powi(2)).sum::<f64>().sqrt();
    (1.0 - lambda) * reconstruction + lambda * code
}

fn check(
    hidden: Activation,
    code: Activation,
    output: Activation,
    tied: bool,
    lambda: Option<f32>,
    pretrain: Option<usize>,
    disturbed: bool,
) {
    let case = format!(
        "{hidden} {code} {output}, tied {tied}, lambda {lambda:?}, pretraining {pretrain:?}, noise {disturbed}"
    );
    let architecture = Architecture { input: WIDTHS[0], layers: WIDTHS[1..].to_vec(), hidden, code, output, tied };
    let activations: Vec<_> = (0..WIDTHS.len()).map(|l| architecture.activation(l)).collect();
    let mut net = Autoencoder::new(architecture, 11).unwrap();
    // Biases away from zero, so that their part in everything shows.
    for (l, layer) in net.layers_mut().iter_mut().enumerate() {
        let values = noise(100, 3 + l as u64);
        layer.bias.iter_mut().zip(&values).for_each(|(b, v)| *b = (v - 0.3) as f32);
        layer.decoder_bias.iter_mut().zip(&values[50..]).for_each(|(b, v)| *b = (v - 0.3) as f32);
    }
    let x =
        Array2::from_shape_vec((K, WIDTHS[0]), noise(K * WIDTHS[0], 1).iter().map(|&v| v as f32).collect()).unwrap();
    let factor = Array2::from_shape_vec((K, 4), noise(K * 4, 2).iter().map(|&v| v as f32).collect()).unwrap();
    let prior = Matrix(factor.dot(&factor.t()));
    let (from, to) = pretrain.map_or((0, WIDTHS.len() - 1), |l| (l, l + 1));

    let amounts: Vec<Vec<f64>> = noise(K * WIDTHS[from], 5)
        .chunks(WIDTHS[from])
        .map(|row| row.iter().map(|&v| f64::from((v - 0.5) as f32)).collect())
        .collect();
    let rows: Vec<usize> = (0..K).collect();
    let mut workspace = Workspace::new(&net, K);
    let losses = threads::run(|| {
        workspace.load(x.view(), &rows);
        workspace.encode(&net, 0..from);
        if disturbed {
            workspace.disturb(from, |mut values| {
                for (i, row) in amounts.iter().enumerate() {
                    row.iter().enumerate().for_each(|(j, &v)| values[[j, i]] += v as f32);
                }
            });
        }
        workspace.differentiate(
            &net,
            from..to,
            lambda.unwrap_or(0.0),
            lambda.map(|_| (&prior as &dyn Prior, &rows[..])),
        )
    })
    .unwrap();

    let mut naive: Vec<NaiveLayer> = net
        .layers()
        .iter()
        .map(|layer| NaiveLayer {
            tensors: layer.tensors().map(|t| t.iter().map(|&v| f64::from(v)).collect()).collect(),
            tied,
            inputs: layer.inputs(),
            outputs: layer.outputs(),
        })
        .collect();
    let x: Vec<Vec<f64>> = x.rows().into_iter().map(|r| r.iter().map(|&v| f64::from(v)).collect()).collect();
    let weight = f64::from(lambda.unwrap_or(0.0));
    let noise = disturbed.then_some(&amounts[..]);
    let loss =
        |layers: &[NaiveLayer]| naive_loss(layers, &activations, from, to, weight, &x, noise, lambda.map(|_| &prior.0));

    let found = f64::from(losses.total(lambda.unwrap_or(0.0)));
    let want = loss(&naive);
    assert!((found - want).abs() < 1e-5 * want, "{case}: loss {found}, expected {want}");
    for l in from..to {
        for (t, gradient) in workspace.gradients()[l].tensors().enumerate() {
            // Small enough not to step over a rectifier's kink, large enough for f64.
            let h = 1e-6;
            let mut expected = Vec::new();
            for i in 0..gradient.len() {
                let value = naive[l].tensors[t][i];
                naive[l].tensors[t][i] = value + h;
                let above = loss(&naive);
                naive[l].tensors[t][i] = value - h;
                let below = loss(&naive);
                naive[l].tensors[t][i] = value;
                expected.push((above - below) / (2.0 * h));
            }
            let size = expected.iter().fold(0.0f64, |a, v| a.max(v.abs()));
            assert!(size > 1e-6, "{case}: layer {l}, tensor {t} has no gradient to speak of");
            for (i, (&g, &e)) in gradient.iter().zip(&expected).enumerate() {
                // Entries far below the tensor's largest have fewer digits in f32: they are sums of terms as large as that. The
                // farthest is 1.7e-5 of it away.
                let error = (f64::from(g) - e).abs();
                assert!(
                    error < 1e-4 * e.abs() + 2e-5 * size,
                    "{case}: layer {l}, tensor {t}, number {i}: {g}, expected {e}, largest {size}"
                );
            }
        }
    }
}

#[test]
fn gradients_of_every_activation_tied_and_untied_with_and_without_the_code_loss() {
    for hidden in Activation::ALL {
        for code in Activation::ALL {
            for tied in [true, false] {
                for lambda in [None, Some(0.1), Some(0.75)] {
                    check(hidden, code, Activation::Sigmoid, tied, lambda, None, false);
                }
            }
        }
    }
    for output in Activation::ALL {
        for hidden in Activation::ALL {
            for tied in [true, false] {
                check(hidden, Activation::Linear, output, tied, Some(0.3), None, false);
            }
        }
    }
}

#[test]
fn gradients_of_each_layer_in_pretraining() {
    for hidden in Activation::ALL {
        for tied in [true, false] {
            check(hidden, Activation::Linear, Activation::Sigmoid, tied, None, Some(0), false);
            check(hidden, Activation::Linear, Activation::Sigmoid, tied, None, Some(1), false);
            check(hidden, Activation::Linear, Activation::Sigmoid, tied, Some(0.1), Some(2), false);
        }
    }
}

#[test]
fn gradients_with_noise_on_the_input_and_the_clean_one_to_reconstruct() {
    for hidden in Activation::ALL {
        for tied in [true, false] {
            for lambda in [None, Some(0.3)] {
                check(hidden, Activation::Linear, Activation::Sigmoid, tied, lambda, None, true);
            }
            // In pretraining the noise is on what the layers below give.
            check(hidden, Activation::Linear, Activation::Sigmoid, tied, None, Some(0), true);
            check(hidden, Activation::Linear, Activation::Sigmoid, tied, None, Some(1), true);
            check(hidden, Activation::Linear, Activation::Sigmoid, tied, Some(0.1), Some(2), true);
        }
    }
}

/// Rectified units in layers of several panels and a batch of several blocks, against plain products in f64.
#[test]
fn gradients_of_wide_layers_and_long_batches_are_those_of_plain_products() {
    let (k, widths) = (330, [320, 150, 140]);
    let shape = Architecture {
        input: widths[0],
        layers: widths[1..].to_vec(),
        hidden: Activation::Relu,
        code: Activation::Linear,
        output: Activation::Sigmoid,
        tied: true,
    };
    let mut net = Autoencoder::new(shape, 11).unwrap();
    for (i, layer) in net.layers_mut().iter_mut().enumerate() {
        for (j, tensor) in layer.tensors_mut().enumerate().filter(|(j, _)| *j > 0) {
            let values = noise(tensor.len(), (10 * i + j) as u64 + 5);
            tensor.iter_mut().zip(values).for_each(|(b, v)| *b = v as f32 * 0.4 - 0.2);
        }
    }
    // Four in five are zero, as in pictures.
    let x = Array2::from_shape_vec((k, widths[0]), noise(k * widths[0], 3)).unwrap().mapv(|v| (5.0 * v - 4.0).max(0.0));
    let x32 = x.mapv(|v| v as f32);
    let mut workspace = Workspace::new(&net, k);
    workspace.load(x32.view(), &(0..k).collect::<Vec<_>>());
    let losses = threads::run(|| workspace.differentiate(&net, 0..2, 0.0, None).unwrap());

    let [(w0, b0, c0), (w1, b1, c1)] = [0, 1].map(|l| {
        let layer = &net.layers()[l];
        let column = |b: &ndarray::Array1<f32>| b.mapv(f64::from).insert_axis(ndarray::Axis(1));
        (layer.weights.mapv(f64::from), column(&layer.bias), column(&layer.decoder_bias))
    });
    let relu = |z: Array2<f64>| z.mapv(|v| v.max(0.0));
    let step = |h: &Array2<f64>| h.mapv(|v| if v > 0.0 { 1.0 } else { 0.0 });
    let x = x.mapv(|v| f64::from(v as f32)).reversed_axes();
    let h1 = relu(w0.dot(&x) + &b0);
    let code = w1.dot(&h1) + &b1;
    let d1 = relu(w1.t().dot(&code) + &c1);
    let back = (w0.t().dot(&d1) + &c0).mapv(|z| 1.0 / (1.0 + (-z).exp()));
    let n = x.len() as f64;
    let loss = (&back - &x).mapv(|d| d * d).sum() / n;
    assert!((f64::from(losses.reconstruction) - loss).abs() < 1e-6 * loss, "{losses:?} {loss}");
    let dec0 = (&back - &x) * &back * back.mapv(|h| 1.0 - h) * (2.0 / n);
    let dec1 = w0.dot(&dec0) * step(&d1);
    let enc2 = w1.dot(&dec1);
    let enc1 = w1.t().dot(&enc2) * step(&h1);
    let want =
        [(enc1.dot(&x.t()) + d1.dot(&dec0.t()), &enc1, &dec0), (enc2.dot(&h1.t()) + code.dot(&dec1.t()), &enc2, &dec1)];
    for ((weights, enc, dec), found) in want.into_iter().zip(workspace.gradients()) {
        let sums = [enc, dec].map(|delta| delta.sum_axis(ndarray::Axis(1)));
        let pairs = [
            (weights.iter().copied().collect::<Vec<_>>(), found.weights.iter().copied().collect::<Vec<_>>()),
            (sums[0].to_vec(), found.bias.to_vec()),
            (sums[1].to_vec(), found.decoder_bias.to_vec()),
        ];
        for (want, found) in pairs {
            let largest = want.iter().fold(0.0f64, |most, v| most.max(v.abs()));
            let worst = want.iter().zip(&found).map(|(w, f)| (w - f64::from(*f)).abs()).fold(0.0, f64::max);
            assert!(largest > 0.0 && worst < 1e-5 * largest, "{worst:e} of {largest:e}");
        }
    }
}

/// Rectified units are silent where their input is negative, not where it is no number, and skipped zeros hide nothing.
#[test]
fn a_weight_that_is_not_a_number_is_noticed() {
    for (hidden, code) in [(Activation::Relu, Activation::Relu), (Activation::Relu, Activation::Linear)] {
        for layer in [0, 1] {
            let shape =
                Architecture { input: 40, layers: vec![30, 20], hidden, code, output: Activation::Sigmoid, tied: true };
            let mut net = Autoencoder::new(shape, 1).unwrap();
            net.layers_mut()[layer].weights.row_mut(3).fill(f32::NAN);
            let x = Array2::from_shape_vec((9, 40), noise(360, 2)).unwrap().mapv(|v| v as f32);
            let mut workspace = Workspace::new(&net, 9);
            workspace.load(x.view(), &(0..9).collect::<Vec<_>>());
            let error = threads::run(|| workspace.differentiate(&net, 0..2, 0.0, None)).unwrap_err().to_string();
            assert!(error.contains("diverged"), "{error}");
        }
    }
}
