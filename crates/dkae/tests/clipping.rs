//! A gradient longer than the limit is shortened to it, by the same factor for every parameter.
//!
//! Adam hides the length of gradients but for its epsilon: its first step is `rate s g / (|s g| + epsilon)` with
//! `s = min(1, clip / |g|)`. A limit near epsilon makes the factor show.

use dkae::math::threads;
use dkae::net::{Activation, Architecture, Autoencoder};
use dkae::train::{Length, Rows, Schedule, Trainer, Workspace};
use ndarray::Array2;

const RATE: f64 = 0.01;
const EPSILON: f64 = 1e-8;
const ROWS: usize = 24;

fn x() -> Array2<f32> {
    Array2::from_shape_fn((ROWS, 5), |(i, j)| ((i * 7 + j * 3 + i * j) % 11) as f32 / 5.0 - 1.0)
}

/// One layer, so that the only step is the first one of fine-tuning, on all rows at once.
fn trained(clip: Option<f32>) -> Autoencoder {
    let trainer = Trainer {
        layers: vec![3],
        code: Activation::Tanh,
        output: Some(Activation::Linear),
        tied: false,
        lambda: 0.0,
        batch: Some(ROWS),
        pretrain: Some(Length::Steps(0)),
        steps: Length::Steps(1),
        rate: Some(RATE),
        schedule: Schedule::Constant,
        clip,
        weight_decay: 0.0,
        ..Trainer::default()
    };
    let x = x();
    trainer.fit_validated(Rows { x: x.view(), prior: None }, None, None, &mut ()).unwrap().net().clone()
}

/// The parameters before the step, and their gradients.
fn start() -> (Vec<f64>, Vec<f64>) {
    let architecture = trained(None).architecture().clone();
    let shape = Architecture { layers: vec![3], ..architecture };
    let net = Autoencoder::new(shape, Trainer::default().seed).unwrap();
    let mut workspace = Workspace::new(&net, ROWS);
    threads::run(|| {
        workspace.load(x().view(), &(0..ROWS).collect::<Vec<_>>());
        workspace.differentiate(&net, 0..1, 0.0, None)
    })
    .unwrap();
    (numbers(net.layers()), numbers(workspace.gradients()))
}

fn numbers(layers: &[dkae::net::Layer]) -> Vec<f64> {
    layers.iter().flat_map(|layer| layer.tensors()).flatten().map(|&v| f64::from(v)).collect()
}

#[test]
fn a_step_is_that_of_the_gradient_shrunk_to_the_limit() {
    let (before, gradient) = start();
    let norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
    assert!(norm > 0.1, "{norm}");
    for clip in [1e-8f32, 5e-8, 1e-7] {
        let shrink = f64::from(clip) / norm;
        let after = numbers(trained(Some(clip)).layers());
        let mut shown = 0;
        for ((w, g), after) in before.iter().zip(&gradient).zip(&after) {
            let step = RATE * shrink * g / ((shrink * g).abs() + EPSILON);
            assert!((w - step - after).abs() < 2e-5 * RATE.max(w.abs()), "clip {clip}: {} expected, {after}", w - step);
            // Without the factor the step would be the whole rate.
            shown += usize::from(step.abs() < 0.9 * RATE);
        }
        assert!(shown > before.len() / 2, "clip {clip}: {shown}");
    }
}

#[test]
fn a_gradient_within_the_limit_is_left_alone() {
    let (_, gradient) = start();
    let norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt() as f32;
    assert!(trained(Some(1.01 * norm)) == trained(None));
    // At first every step is the rate times a sign, so a little below the norm makes a difference in the last digits only.
    assert!(numbers(trained(Some(1e-7)).layers()) != numbers(trained(None).layers()));
}
