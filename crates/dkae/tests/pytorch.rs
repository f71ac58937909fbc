//! Ten Adam steps against PyTorch: same start, same batches, the same losses. `fixtures/adam_steps.py` made the fixture.

use dkae::kernel::Prior;
use dkae::math::threads;
use dkae::net::{Activation, Architecture, Autoencoder, Layer};
use dkae::train::{Adam, Workspace};
use ndarray::{Array1, Array2, ArrayViewMut2};
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    hidden: Activation,
    code: Activation,
    output: Activation,
    tied: bool,
    rate: f64,
    decay: f64,
    widths: Vec<usize>,
    lambda: f32,
    layers: Vec<CaseLayer>,
    x: Vec<f32>,
    factor: Vec<f32>,
    batches: Vec<Vec<usize>>,
    losses: Vec<(f64, f64)>,
}

#[derive(Deserialize)]
struct CaseLayer {
    weight: Vec<f32>,
    bias: Vec<f32>,
    back_weight: Vec<f32>,
    back_bias: Vec<f32>,
}

/// `F F^T`, one entry at a time.
struct Factored(Array2<f32>);

impl Prior for Factored {
    fn len(&self) -> usize {
        self.0.nrows()
    }

    fn block(&self, rows: &[usize], columns: &[usize], mut out: ArrayViewMut2<f32>) {
        for (i, &r) in rows.iter().enumerate() {
            for (j, &c) in columns.iter().enumerate() {
                out[[i, j]] = self.0.row(r).dot(&self.0.row(c));
            }
        }
    }
}

#[test]
fn ten_adam_steps_give_pytorchs_losses() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("fixtures/adam_steps.json")).unwrap();
    assert_eq!(cases.len(), 4);
    for case in cases {
        let architecture = Architecture {
            input: case.widths[0],
            layers: case.widths[1..].to_vec(),
            hidden: case.hidden,
            code: case.code,
            output: case.output,
            tied: case.tied,
        };
        let layers = case.layers.iter().enumerate().map(|(l, layer)| {
            let matrix = |v: &[f32]| Array2::from_shape_vec((case.widths[l + 1], case.widths[l]), v.to_vec()).unwrap();
            Layer {
                weights: matrix(&layer.weight),
                bias: Array1::from(layer.bias.clone()),
                decoder_weights: (!case.tied).then(|| matrix(&layer.back_weight)),
                decoder_bias: Array1::from(layer.back_bias.clone()),
            }
        });
        let start = Autoencoder::from_layers(architecture, layers.collect()).unwrap();
        let rows = case.x.len() / case.widths[0];
        let x = Array2::from_shape_vec((rows, case.widths[0]), case.x).unwrap();
        let prior = Factored(Array2::from_shape_vec((rows, case.factor.len() / rows), case.factor).unwrap());
        assert_eq!(case.losses.len(), 10);
        // The gradient as a whole and then the update, and both together.
        for together in [false, true] {
            let mut net = start.clone();
            let mut workspace = Workspace::new(&net, case.batches[0].len());
            let mut adam = Adam::new(net.layers());
            let levels = 0..net.layers().len();
            for (step, (batch, want)) in case.batches.iter().zip(&case.losses).enumerate() {
                let found = threads::run(|| {
                    workspace.load(x.view(), batch);
                    let prior = Some((&prior as &dyn Prior, &batch[..]));
                    if together {
                        let losses = workspace.backpropagate(&net, levels.clone(), case.lambda, prior);
                        workspace.descend(&mut net, levels.clone(), &mut adam, case.rate, case.decay);
                        return losses;
                    }
                    let losses = workspace.differentiate(&net, levels.clone(), case.lambda, prior);
                    adam.step(net.layers_mut(), workspace.gradients(), case.rate, 1.0, case.decay);
                    losses
                })
                .unwrap();
                for (what, found, want) in [("L_r", found.reconstruction, want.0), ("L_c", found.code, want.1)] {
                    let error = (f64::from(found) / want - 1.0).abs();
                    assert!(error < 1e-5, "{} step {step}: {what} {found}, PyTorch {want}", case.hidden);
                }
            }
        }
    }
}
