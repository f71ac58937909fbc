//! Both losses over all rows of a part, not batch by batch: what validation and reports show.

use ndarray::{ArrayView2, Axis};

use super::Rows;
use super::step::Losses;
use crate::Result;
use crate::kernel::FirstRows;
use crate::metrics;
use crate::net::Autoencoder;
use crate::progress::Silent;

/// Rows worked on at a time.
const BLOCK: usize = 1024;

/// L_r, and L_c between the kernel of codes and the prior when there is one, over all of `rows`; the prior may be about
/// more rows, of which these are the first.
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
    let prior = FirstRows { prior, rows: codes.nrows() };
    let code = metrics::code_loss(metrics::alignment_with_codes(&prior, codes.view(), &Silent)?);
    Ok(Losses { reconstruction: (squares / rows.x.len() as f64) as f32, code: code as f32 })
}

fn squared_error(a: ArrayView2<f32>, b: ArrayView2<f32>) -> f64 {
    a.iter().zip(b).map(|(&a, &b)| f64::from(a - b).powi(2)).sum()
}
