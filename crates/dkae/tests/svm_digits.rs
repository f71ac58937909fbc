//! Classifiers on 5000 real digits, against scikit-learn's accuracies on the same rows (tests/fixtures/svm.py).
//!
//! MNIST is looked for in the folder that `DKAE_DATA` names, or in `../shared/data` beside the workspace; without it the test
//! says so and passes.

use std::io::Read;
use std::path::PathBuf;

use dkae::baseline::knn::Knn;
use dkae::baseline::svm::linear::Hinge;
use dkae::baseline::svm::{KernelSvm, LinearSvm};
use dkae::kernel::{Kernel, Prior};
use dkae::math::distance::squared_distances;
use dkae::metrics::accuracy;
use dkae::{Classify, Result};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis};

struct Rbf(f32);

impl Kernel for Rbf {
    fn prior<'a>(&'a self, x: ArrayView2<'a, f32>) -> Result<Box<dyn Prior + 'a>> {
        Ok(Box::new(RbfPrior(self, x)))
    }

    fn between(&self, a: ArrayView2<f32>, b: ArrayView2<f32>, mut out: ArrayViewMut2<f32>) -> Result<()> {
        squared_distances(a, b, out.view_mut());
        out.par_mapv_inplace(|d| (-self.0 * d).exp());
        Ok(())
    }

    fn describe(&self) -> String {
        format!("rbf, gamma {}", self.0)
    }
}

struct RbfPrior<'a>(&'a Rbf, ArrayView2<'a, f32>);

impl Prior for RbfPrior<'_> {
    fn len(&self) -> usize {
        self.1.nrows()
    }

    fn block(&self, rows: &[usize], columns: &[usize], out: ArrayViewMut2<f32>) {
        let pick = |of: &[usize]| self.1.select(Axis(0), of);
        self.0.between(pick(rows).view(), pick(columns).view(), out).unwrap();
    }
}

/// The first `n` bytes after the header of a gzipped IDX file.
fn read(file: &str, header: usize, n: usize) -> Option<Vec<u8>> {
    let data = std::env::var_os("DKAE_DATA").map(PathBuf::from);
    let data = data.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"));
    let file = std::fs::File::open(data.join("mnist").join(file)).ok()?;
    let mut bytes = vec![0; header + n];
    flate2::read::GzDecoder::new(file).read_exact(&mut bytes).unwrap();
    Some(bytes.split_off(header))
}

#[test]
fn accuracy_on_digits_is_within_three_tenths_of_a_point_of_scikit_learn() {
    const N: usize = 8000;
    let images = read("train-images-idx3-ubyte.gz", 16, N * 784);
    let labels = read("train-labels-idx1-ubyte.gz", 8, N);
    let (Some(images), Some(labels)) = (images, labels) else {
        println!("skipped: no mnist folder in DKAE_DATA or ../shared/data");
        return;
    };
    let x = Array2::from_shape_vec((N, 784), images.into_iter().map(|v| f32::from(v) / 255.0).collect()).unwrap();
    let labels: Vec<u32> = labels.into_iter().map(u32::from).collect();
    let (train, test) = x.view().split_at(Axis(0), 5000);
    let (train_labels, truth) = labels.split_at(5000);

    let fixture: serde_json::Value = serde_json::from_str(include_str!("fixtures/svm.json")).unwrap();
    let number = |name: &str| fixture["digits"][name].as_f64().unwrap();
    let check = |model: &dyn Classify, name: &str, room: f64| {
        let got = accuracy(truth, &model.classify(test).unwrap()).unwrap();
        println!("{name}: {got:.4}, scikit-learn {:.4}", number(name));
        assert!((got - number(name)).abs() <= room, "{name}: {got}, scikit-learn {}", number(name));
    };
    let linear = LinearSvm { c: number("linear_c"), ..LinearSvm::default() };
    check(&linear.fit(train, train_labels).unwrap(), "linear", 0.003);
    let hinge = LinearSvm { c: number("hinge_c"), loss: Hinge::L1, ..LinearSvm::default() };
    check(&hinge.fit(train, train_labels).unwrap(), "hinge", 0.003);
    let kernel = Rbf(number("gamma") as f32);
    let svm = KernelSvm { c: number("rbf_c"), ..KernelSvm::default() };
    check(&svm.fit(&kernel, train, train_labels).unwrap(), "rbf", 0.003);
    // Exact on both sides; the fixture keeps twelve digits.
    check(&Knn::default().fit(train, train_labels).unwrap(), "one_neighbour", 1e-9);
}
