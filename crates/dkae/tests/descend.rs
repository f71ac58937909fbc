//! Gradient and update in one pass do what they do one after the other, in fine-tuning and in pretraining.

use std::ops::Range;

use dkae::math::threads;
use dkae::net::{Activation, Architecture, Autoencoder, Layer};
use dkae::train::{Adam, Workspace};
use ndarray::Array2;

const ROWS: usize = 37;

fn numbers(layers: &[Layer]) -> Vec<f32> {
    layers.iter().flat_map(|layer| layer.tensors()).flatten().copied().collect()
}

fn close(what: &str, found: &[f32], want: &[f32], tolerance: f32) {
    assert_eq!(found.len(), want.len());
    let largest = want.iter().fold(0.0f32, |most, v| most.max(v.abs()));
    assert!(largest > 0.0, "{what}: nothing to compare");
    for (i, (found, want)) in found.iter().zip(want).enumerate() {
        assert!((found - want).abs() <= tolerance * largest, "{what} {i}: {found}, {want} expected");
    }
}

/// Three steps of an autoencoder by panels of the gradient, and by the gradient as a whole: weights and moments are the same.
fn compare(shape: Architecture, levels: Range<usize>) {
    let inputs = shape.input;
    let x = Array2::from_shape_fn((ROWS, inputs), |(i, j)| ((i * 31 + j * 17 + i * j) % 97) as f32 / 97.0);
    let batch: Vec<usize> = (0..ROWS).collect();
    let start = Autoencoder::new(shape, 3).unwrap();
    let run = |together: bool| {
        let (mut net, mut adam) = (start.clone(), Adam::new(&start.layers()[levels.clone()]));
        let mut workspace = Workspace::new(&net, ROWS);
        for _ in 0..3 {
            workspace.load(x.view(), &batch);
            threads::run(|| {
                workspace.encode(&net, 0..levels.start);
                if together {
                    workspace.backpropagate(&net, levels.clone(), 0.0, None).unwrap();
                    workspace.descend(&mut net, levels.clone(), &mut adam, 1e-3, 0.1);
                } else {
                    workspace.differentiate(&net, levels.clone(), 0.0, None).unwrap();
                    let gradients = &workspace.gradients()[levels.clone()];
                    adam.step(&mut net.layers_mut()[levels.clone()], gradients, 1e-3, 1.0, 0.1);
                }
            });
        }
        assert_eq!(adam.time, 3);
        (numbers(net.layers()), numbers(&adam.mean), numbers(&adam.square))
    };
    let (found, want) = (run(true), run(false));
    // A gradient that nearly cancels may have either sign, and Adam moves by the rate all the same: three steps each.
    let moved = found.0.iter().zip(&want.0).filter(|(a, b)| (*a - *b).abs() > 1e-5).count();
    assert!(moved * 1000 < found.0.len(), "{moved} of {} weights differ", found.0.len());
    assert!(found.0.iter().zip(&numbers(start.layers())).any(|(a, b)| (a - b).abs() > 1e-3));
    close("mean", &found.1, &want.1, 1e-4);
    close("square", &found.2, &want.2, 1e-4);
}

#[test]
fn both_ways_to_take_a_step_lead_to_the_same_weights_and_moments() {
    // With rectified units zeros are skipped: below the weights, or above them where those below are not rectified.
    let (tanh, relu, linear) = (Activation::Tanh, Activation::Relu, Activation::Linear);
    let units = [(true, tanh, linear), (false, tanh, linear), (true, relu, linear), (true, relu, relu)];
    for (tied, hidden, code) in units {
        let output = if code == relu { relu } else { Activation::Sigmoid };
        // All levels, and the pretraining of either layer.
        for levels in [0..2, 0..1, 1..2] {
            // Gradients of several blocks of rows.
            compare(Architecture { input: 317, layers: vec![357, 129], hidden, code, output, tied }, levels);
        }
    }
}

#[test]
fn so_do_they_where_rectified_outputs_are_too_wide_to_wait_for() {
    let (hidden, code, output) = (Activation::Relu, Activation::Linear, Activation::Relu);
    compare(Architecture { input: 16_500, layers: vec![5, 3], hidden, code, output, tied: true }, 0..2);
}
