//! Both losses over all rows of a part, not batch by batch: what validation and reports show.

use ndarray::{Array2, ArrayView2, Axis};

use super::Rows;
use super::step::Losses;
use crate::Result;
use crate::kernel::FirstRows;
use crate::metrics;
use crate::net::Autoencoder;
use crate::progress::{Progress, Silent};

/// Rows worked on at a time.
const BLOCK: usize = 1024;

/// L_r, and L_c between the kernel of codes and the prior when there is one, over all of `rows`; the prior may be about
/// more rows, of which these are the first.
pub fn evaluate(net: &Autoencoder, rows: Rows) -> Result<Losses> {
    evaluate_watched(net, rows, &Silent)
}

/// As [`evaluate`], with someone to report to.
pub fn evaluate_watched(net: &Autoencoder, rows: Rows, progress: &dyn Progress) -> Result<Losses> {
    let mut squares = 0.0;
    let Some(prior) = rows.prior else {
        for x in rows.x.axis_chunks_iter(Axis(0), BLOCK) {
            progress.check()?;
            squares += squared_error(x, net.reconstruct(x)?.view());
        }
        return Ok(Losses { reconstruction: (squares / rows.x.len() as f64) as f32, code: 0.0 });
    };
    let mut codes = Array2::zeros((rows.x.nrows(), net.architecture().width(net.layers().len())));
    let blocks = rows.x.axis_chunks_iter(Axis(0), BLOCK).zip(codes.axis_chunks_iter_mut(Axis(0), BLOCK));
    for (x, mut z) in blocks {
        progress.check()?;
        z.assign(&net.encode(x)?);
    }
    for (x, z) in rows.x.axis_chunks_iter(Axis(0), BLOCK).zip(codes.axis_chunks_iter(Axis(0), BLOCK)) {
        progress.check()?;
        squares += squared_error(x, net.decode(z)?.view());
    }
    let prior = FirstRows { prior, rows: codes.nrows() };
    let code = metrics::code_loss(metrics::alignment_with_codes(&prior, codes.view(), progress)?);
    Ok(Losses { reconstruction: (squares / rows.x.len() as f64) as f32, code: code as f32 })
}

/// As [`evaluate`], of one layer in pretraining: it encodes and reconstructs what the layers below make of `rows`. Only the
/// last has codes to compare with the prior.
pub(super) fn evaluate_layer(net: &Autoencoder, layer: usize, rows: Rows) -> Result<Losses> {
    let prior = rows.prior.filter(|_| layer + 1 == net.layers().len());
    let own = net.part(layer..layer + 1)?;
    if layer == 0 {
        return evaluate(&own, Rows { x: rows.x, prior });
    }
    let below = net.part(0..layer)?.encode(rows.x)?;
    evaluate(&own, Rows { x: below.view(), prior })
}

fn squared_error(a: ArrayView2<f32>, b: ArrayView2<f32>) -> f64 {
    a.iter().zip(b).map(|(&a, &b)| f64::from(a - b).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::super::step::Workspace;
    use super::*;
    use crate::fixture::Impatient;
    use crate::kernel::{Ideal, Prior};
    use crate::math::threads;
    use crate::net::{Activation, Architecture};
    use ndarray::Array2;

    #[test]
    fn the_losses_of_a_layer_are_those_of_a_batch_of_all_rows_in_pretraining() {
        let architecture = Architecture {
            input: 7,
            layers: vec![6, 5, 4],
            hidden: Activation::Tanh,
            code: Activation::Linear,
            output: Activation::Sigmoid,
            tied: true,
        };
        let net = Autoencoder::new(architecture, 3).unwrap();
        let x = Array2::from_shape_fn((30, 7), |(i, j)| ((i * 5 + j * 3) % 11) as f32 / 11.0);
        let labels: Vec<u32> = (0..30).map(|i| i % 3).collect();
        let prior = Ideal::new(&labels);
        let batch: Vec<usize> = (0..30).collect();
        let mut workspace = Workspace::new(&net, 30);
        for layer in 0..3 {
            let aligned = (layer == 2).then_some((&prior as &dyn Prior, &batch[..]));
            let want = threads::run(|| {
                workspace.load(x.view(), &batch);
                workspace.encode(&net, 0..layer);
                workspace.differentiate(&net, layer..layer + 1, 0.5, aligned).unwrap()
            });
            let got = evaluate_layer(&net, layer, Rows { x: x.view(), prior: Some(&prior) }).unwrap();
            assert!((got.reconstruction - want.reconstruction).abs() < 1e-6 * want.reconstruction.max(1.0), "{layer}");
            assert!(
                (got.code - want.code).abs() < 1e-5 && (got.code > 0.0) == (layer == 2),
                "{layer}: {got:?} {want:?}"
            );
        }
    }

    #[test]
    fn it_stops_when_asked_with_and_without_a_prior() {
        let architecture = Architecture {
            input: 3,
            layers: vec![2],
            hidden: Activation::Relu,
            code: Activation::Linear,
            output: Activation::Linear,
            tied: true,
        };
        let net = Autoencoder::new(architecture, 1).unwrap();
        let (x, prior) = (Array2::ones((5, 3)), Ideal::new(&[0, 0, 1, 1, 1]));
        for prior in [None, Some(&prior as &dyn Prior)] {
            let rows = Rows { x: x.view(), prior };
            assert!(matches!(evaluate_watched(&net, rows, &Impatient), Err(crate::Error::Interrupted)));
            assert_eq!(evaluate_watched(&net, rows, &Silent).unwrap(), evaluate(&net, rows).unwrap());
        }
    }
}
