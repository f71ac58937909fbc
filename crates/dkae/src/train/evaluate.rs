//! Both losses over all rows of a part, not batch by batch: what validation and reports show.

use ndarray::{ArrayView2, Axis};

use super::Rows;
use super::step::Losses;
use crate::Result;
use crate::metrics;
use crate::net::Autoencoder;

/// Rows worked on at a time.
const BLOCK: usize = 1024;

/// L_r, and L_c between the kernel of codes and the prior when there is one, over all of `rows`.
pub fn evaluate(net: &Autoencoder, rows: Rows) -> Result<Losses> {
    let mut squares = 0.0;
    let Some(prior) = rows.prior else {
        for x in rows.x.axis_chunks_iter(Axis(0), BLOCK) {
            squares += squared_error(x, net.reconstruct(x)?.view());
        }
        return Ok(Losses { reconstruction: (squares / rows.x.len() as f64) as f32, code: 0.0 });
    };
    let codes = net.encode(rows.x)?;
    for (x, z) in rows.x.axis_chunks_iter(Axis(0), BLOCK).zip(codes.axis_chunks_iter(Axis(0), BLOCK)) {
        squares += squared_error(x, net.decode(z)?.view());
    }
    let code = metrics::prior_code_loss(prior, codes.view())?;
    Ok(Losses { reconstruction: (squares / rows.x.len() as f64) as f32, code: code as f32 })
}

fn squared_error(a: ArrayView2<f32>, b: ArrayView2<f32>) -> f64 {
    a.iter().zip(b).map(|(&a, &b)| f64::from(a - b).powi(2)).sum()
}
