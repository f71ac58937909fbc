//! Temporary.
use crate::kernel::Prior;
use crate::math::gemm;
use crate::{Error, Result};
use ndarray::{Array2, ArrayView2, s};

/// L_c between the kernel of codes and a prior.
pub fn prior_code_loss(prior: &dyn Prior, codes: ArrayView2<f32>) -> Result<f64> {
    let n = codes.nrows();
    let block = 512;
    let (mut cc, mut pp, mut cp) = (0.0f64, 0.0f64, 0.0f64);
    let mut c = Array2::<f32>::zeros((block, block));
    let mut p = Array2::<f32>::zeros((block, block));
    for i in (0..n).step_by(block) {
        let rows: Vec<usize> = (i..(i + block).min(n)).collect();
        for j in (i..n).step_by(block) {
            let columns: Vec<usize> = (j..(j + block).min(n)).collect();
            let mut c = c.slice_mut(s![..rows.len(), ..columns.len()]);
            let mut p = p.slice_mut(s![..rows.len(), ..columns.len()]);
            gemm::product(
                1.0,
                codes.slice(s![rows[0]..rows[0] + rows.len(), ..]),
                codes.slice(s![j..j + columns.len(), ..]).t(),
                0.0,
                c.view_mut(),
            );
            prior.block(&rows, &columns, p.view_mut());
            let w = if i == j { 1.0 } else { 2.0 };
            let (mut a, mut b, mut d) = (0.0, 0.0, 0.0);
            for (&c, &p) in c.iter().zip(&p) {
                let (c, p) = (f64::from(c), f64::from(p));
                a += c * c;
                b += p * p;
                d += c * p;
            }
            cc += w * a;
            pp += w * b;
            cp += w * d;
        }
    }
    if cc == 0.0 || pp == 0.0 {
        return Err(Error::Numeric("a kernel is zero everywhere".into()));
    }
    Ok((2.0 - 2.0 * cp / (cc * pp).sqrt()).max(0.0).sqrt())
}
/// L_c between two priors.
pub fn priors_code_loss(a: &dyn Prior, b: &dyn Prior, n: usize) -> Result<f64> {
    let all: Vec<usize> = (0..n).collect();
    let (mut cc, mut pp, mut cp) = (0.0f64, 0.0f64, 0.0f64);
    for rows in all.chunks(256) {
        let mut x = Array2::<f32>::zeros((rows.len(), n));
        let mut y = x.clone();
        a.block(rows, &all, x.view_mut());
        b.block(rows, &all, y.view_mut());
        for (&c, &p) in x.iter().zip(&y) {
            let (c, p) = (f64::from(c), f64::from(p));
            cc += c * c;
            pp += p * p;
            cp += c * p;
        }
    }
    Ok((2.0 - 2.0 * cp / (cc * pp).sqrt()).max(0.0).sqrt())
}
