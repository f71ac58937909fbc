//! Every kernel is one: symmetric and positive semi-definite, whatever the rows.

use dkae::kernel::{Ideal, Kernel, KernelSpec, Part, Pck, Polynomial, Prior, Rbf, Sum, Width};
use dkae::math::eigen;
use ndarray::Array2;
use proptest::prelude::*;

const ROWS: usize = 24;

fn matrix(prior: &dyn Prior) -> Array2<f64> {
    let all: Vec<usize> = (0..prior.len()).collect();
    let mut p = Array2::from_elem((all.len(), all.len()), f32::NAN);
    prior.block(&all, &all, p.view_mut());
    p.mapv(f64::from)
}

fn check(name: &str, p: &Array2<f64>) -> Result<(), TestCaseError> {
    let size = p.iter().fold(0.0f64, |a, v| a.max(v.abs()));
    prop_assert!(size > 0.0 && size.is_finite(), "{name}: largest entry {size}");
    prop_assert!((p - &p.t()).iter().all(|d| d.abs() <= 1e-6 * size), "{name} is not symmetric");
    let least = eigen::symmetric(p.view()).unwrap().0[ROWS - 1];
    prop_assert!(least > -1e-5 * size * ROWS as f64, "{name}: smallest eigenvalue {least}, largest entry {size}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_kernel_is_symmetric_and_positive_semi_definite(
        values in prop::collection::vec(-3.0f32..3.0, ROWS * 5), width in 0.2..5.0f64, degree in 1u32..5,
        classes in prop::collection::vec(0u32..4, ROWS),
    ) {
        let x = Array2::from_shape_vec((ROWS, 5), values).unwrap();
        let pck = Pck { restarts: 2, max_components: 4, ..Pck::default() };
        let rbf = Rbf { width: Width::Value(width), ..Rbf::default() };
        let part = |kernel| Part { weight: 0.5, kernel };
        let specs = [
            KernelSpec::Pck(pck.clone()),
            KernelSpec::Rbf(rbf.clone()),
            KernelSpec::Linear,
            KernelSpec::Polynomial(Polynomial { degree, ..Polynomial::default() }),
            KernelSpec::Cosine,
            KernelSpec::Sum(Sum { parts: vec![part(KernelSpec::Pck(pck)), part(KernelSpec::Rbf(rbf))] }),
        ];
        for spec in specs {
            let kernel: Box<dyn Kernel> = spec.fit(x.view()).unwrap();
            let p = matrix(&*kernel.prior(x.view()).unwrap());
            check(&kernel.describe(), &p)?;
        }
        check("ideal", &matrix(&Ideal::new(&classes)))?;
    }
}
