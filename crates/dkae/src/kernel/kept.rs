//! Rows that many others are to be compared with: what a kernel computes of them is computed once.
//!
//! A formula needs the rows themselves. The probabilistic cluster kernel needs their posteriors, which cost more than the
//! comparison; a sum needs what its kernels need.

use ndarray::Array2;

use super::Posteriors;
use crate::Error;

/// Rows as [`Kernel::keep`](super::Kernel::keep) prepared them, for the same kernel's
/// [`between_kept`](super::Kernel::between_kept).
pub enum Kept {
    /// The rows themselves.
    Rows(Array2<f32>),
    /// Their posteriors.
    Posteriors(Posteriors),
    /// What each kernel of a sum keeps of them.
    Parts(Vec<Kept>),
}

impl Kept {
    /// Rows that another kernel prepared.
    pub(super) fn foreign() -> Error {
        Error::Data("rows that were kept by one kernel cannot be compared by another".into())
    }
}

#[cfg(test)]
mod tests {
    use super::super::analytic::tests::random;
    use super::super::{Kernel, KernelSpec, Part, Pck, Rbf, Sum};
    use super::*;
    use crate::progress::Silent;

    fn pck(restarts: usize) -> KernelSpec {
        KernelSpec::Pck(Pck { restarts, max_components: 5, subset: 50, ..Pck::default() })
    }

    fn sum() -> KernelSpec {
        let kernels = [pck(2), KernelSpec::Rbf(Rbf::default()), KernelSpec::Linear];
        KernelSpec::Sum(Sum { parts: kernels.map(|kernel| Part { weight: 0.5, kernel }).into() })
    }

    #[test]
    fn kept_rows_are_compared_as_the_rows_themselves() {
        let (x, new) = (random(90, 3, 1), random(40, 3, 2));
        for spec in [pck(3), KernelSpec::Rbf(Rbf::default()), sum()] {
            let kernel = spec.fit(x.view()).unwrap();
            let kept = kernel.keep(x.clone(), &Silent).unwrap();
            let [mut plain, mut once] = [Array2::zeros((40, 90)), Array2::from_elem((40, 90), f32::NAN)];
            kernel.between(new.view(), x.view(), plain.view_mut()).unwrap();
            kernel.between_kept(new.view(), &kept, once.view_mut()).unwrap();
            assert_eq!(once, plain, "{}", kernel.describe());
        }
    }

    #[test]
    fn rows_that_another_kernel_kept_are_refused() {
        let x = random(60, 3, 1);
        let specs = [pck(3), pck(4), KernelSpec::Rbf(Rbf::default()), sum()];
        let kernels: Vec<Box<dyn Kernel>> = specs.map(|spec| spec.fit(x.view()).unwrap()).into();
        for (i, a) in kernels.iter().enumerate() {
            for (j, b) in kernels.iter().enumerate() {
                let kept = b.keep(x.clone(), &Silent).unwrap();
                let mut out = Array2::zeros((60, 60));
                assert_eq!(a.between_kept(x.view(), &kept, out.view_mut()).is_ok(), i == j, "{i} {j}");
            }
        }
    }
}
