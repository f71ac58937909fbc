//! A weighted sum of kernels: similar in this sense or in that one.
//!
//! Each kernel is divided by the mean of its diagonal on the rows it was fitted on, so that weights mean shares whatever
//! the scales of the kernels.

use ndarray::{Array2, ArrayView2, ArrayViewMut2};
use serde::{Deserialize, Serialize};

use crate::progress::{Progress, Silent};
use crate::{Error, Result};

use super::{Kept, Kernel, KernelSpec, Prior};

/// Rows that the mean of the diagonal is taken of, spread evenly over the data.
const DIAGONAL_ROWS: usize = 200;

/// One kernel of a sum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Its weight; positive.
    pub weight: f64,
    /// Its settings.
    pub kernel: KernelSpec,
}

/// The settings of a sum of kernels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sum {
    /// The kernels and their weights.
    pub parts: Vec<Part>,
}

impl Sum {
    /// Fits every kernel on these rows.
    pub fn fit(&self, x: ArrayView2<f32>) -> Result<FittedSum> {
        self.fit_watched(x, &Silent)
    }

    /// As [`fit`](Self::fit), with someone to report to.
    pub fn fit_watched(&self, x: ArrayView2<f32>, progress: &dyn Progress) -> Result<FittedSum> {
        self.check()?;
        if x.nrows() == 0 {
            return Err(Error::Data("a sum of kernels needs at least one row to be fitted on".into()));
        }
        let parts = self.parts.iter().map(|part| {
            let kernel = part.kernel.fit_watched(x, progress)?;
            let diagonal = mean_diagonal(kernel.as_ref(), x)?;
            if !(diagonal > 0.0 && diagonal.is_finite()) {
                return Err(Error::Data(format!(
                    "the mean of the diagonal of a kernel in a sum is {diagonal} ({}); it must be positive",
                    kernel.describe()
                )));
            }
            Ok(((part.weight / diagonal) as f32, kernel))
        });
        Ok(FittedSum { parts: parts.collect::<Result<_>>()?, describe: self.describe() })
    }

    /// All that can be wrong with the settings by themselves.
    pub fn check(&self) -> Result<()> {
        if self.parts.is_empty() {
            return Err(Error::setting("kernel", "a sum of kernels needs at least one"));
        }
        for Part { weight, kernel } in &self.parts {
            if !(*weight > 0.0 && weight.is_finite()) {
                return Err(Error::setting(
                    "kernel",
                    format!("expected a positive weight for each kernel of a sum, found {weight}"),
                ));
            }
            if !kernel.is_of_rows() {
                let message =
                    format!("only kernels with a formula for any rows can be added up, not the {}", kernel.describe());
                return Err(Error::setting("kernel", message));
            }
            kernel.check()?;
        }
        Ok(())
    }

    /// One line: the kernels and their weights.
    pub fn describe(&self) -> String {
        let parts: Vec<String> =
            self.parts.iter().map(|p| format!("{} x ({})", p.weight, p.kernel.describe())).collect();
        format!("sum: {}", parts.join(" + "))
    }
}

fn mean_diagonal(kernel: &dyn Kernel, x: ArrayView2<f32>) -> Result<f64> {
    let n = x.nrows();
    let step = n.div_ceil(DIAGONAL_ROWS);
    let rows: Vec<usize> = (0..n).step_by(step).collect();
    let x = x.select(ndarray::Axis(0), &rows);
    let mut p = Array2::zeros((rows.len(), rows.len()));
    kernel.between(x.view(), x.view(), p.view_mut())?;
    Ok(p.diag().iter().map(|&v| f64::from(v)).sum::<f64>() / rows.len() as f64)
}

/// A sum of kernels that were fitted.
pub struct FittedSum {
    parts: Vec<(f32, Box<dyn Kernel>)>,
    describe: String,
}

impl FittedSum {
    /// Adds up what `fill` writes for each kernel, weighted.
    fn add_up(
        &self,
        mut out: ArrayViewMut2<f32>,
        fill: impl Fn(usize, &dyn Kernel, ArrayViewMut2<f32>) -> Result<()>,
    ) -> Result<()> {
        out.fill(0.0);
        let mut part = Array2::zeros(out.dim());
        for (i, (weight, kernel)) in self.parts.iter().enumerate() {
            fill(i, kernel.as_ref(), part.view_mut())?;
            out.scaled_add(*weight, &part);
        }
        Ok(())
    }
}

impl Kernel for FittedSum {
    fn prior<'a>(&'a self, x: ArrayView2<'a, f32>) -> Result<Box<dyn Prior + 'a>> {
        self.prior_watched(x, &Silent)
    }

    fn prior_watched<'a>(&'a self, x: ArrayView2<'a, f32>, progress: &dyn Progress) -> Result<Box<dyn Prior + 'a>> {
        let part = |(weight, kernel): &'a (f32, Box<dyn Kernel>)| Ok((*weight, kernel.prior_watched(x, progress)?));
        Ok(Box::new(SumPrior { parts: self.parts.iter().map(part).collect::<Result<_>>()? }))
    }

    fn between(&self, a: ArrayView2<f32>, b: ArrayView2<f32>, out: ArrayViewMut2<f32>) -> Result<()> {
        self.add_up(out, |_, kernel, part| kernel.between(a, b, part))
    }

    fn keep(&self, x: Array2<f32>, progress: &dyn Progress) -> Result<Kept> {
        let keep = |(_, kernel): &(f32, Box<dyn Kernel>)| kernel.keep(x.clone(), progress);
        Ok(Kept::Parts(self.parts.iter().map(keep).collect::<Result<_>>()?))
    }

    fn between_kept(&self, a: ArrayView2<f32>, b: &Kept, out: ArrayViewMut2<f32>) -> Result<()> {
        match b {
            Kept::Parts(b) if b.len() == self.parts.len() => {
                self.add_up(out, |i, kernel, part| kernel.between_kept(a, &b[i], part))
            }
            _ => Err(Kept::foreign()),
        }
    }

    fn describe(&self) -> String {
        self.describe.clone()
    }
}

struct SumPrior<'a> {
    parts: Vec<(f32, Box<dyn Prior + 'a>)>,
}

impl Prior for SumPrior<'_> {
    fn len(&self) -> usize {
        self.parts.first().map_or(0, |(_, prior)| prior.len())
    }

    fn block(&self, rows: &[usize], columns: &[usize], mut out: ArrayViewMut2<f32>) {
        out.fill(0.0);
        let mut block = Array2::zeros(out.dim());
        for (weight, prior) in &self.parts {
            prior.block(rows, columns, block.view_mut());
            out.scaled_add(*weight, &block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::analytic::tests::{check, random};
    use super::super::{Rbf, Width};
    use super::*;

    #[test]
    fn a_sum_is_the_weighted_sum_of_normalised_kernels() {
        let x = random(6, 4, 1);
        let sum = Sum {
            parts: vec![
                Part { weight: 2.0, kernel: KernelSpec::Linear },
                Part { weight: 0.5, kernel: KernelSpec::Rbf(Rbf { width: Width::Value(1.0), seed: 0 }) },
            ],
        };
        let mean = x.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>() / 6.0;
        check(&sum.fit(x.view()).unwrap(), x.view(), |a, b| {
            let dot: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
            let squared: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
            2.0 * dot / mean + 0.5 * (-0.5 * squared).exp()
        });
        assert!(Sum::default().fit(x.view()).is_err());
    }
}
