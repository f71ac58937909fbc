//! Classifiers on 5000 real digits, against scikit-learn's accuracies on the same rows (tests/fixtures/svm.py).

mod common;

use common::shared_data;
use dkae::Classify;
use dkae::baseline::knn::Knn;
use dkae::baseline::svm::linear::Hinge;
use dkae::baseline::svm::{KernelSvm, LinearSvm};
use dkae::data::idx;
use dkae::data::read::ReadOptions;
use dkae::kernel::FittedRbf;
use dkae::metrics::accuracy;
use ndarray::{Axis, s};

#[test]
fn accuracy_on_digits_is_within_three_tenths_of_a_point_of_scikit_learn() {
    let Some(path) = shared_data("mnist/train-images-idx3-ubyte.gz") else { return };
    let table = idx::read(path, &ReadOptions::default()).unwrap();
    let x = table.x.slice(s![..8000, ..]).mapv(|v| v / 255.0);
    let labels = &table.labels.unwrap().index[..8000];
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
    let kernel = FittedRbf::of_sigma((0.5 / number("gamma")).sqrt(), 784);
    let svm = KernelSvm { c: number("rbf_c"), ..KernelSvm::default() };
    check(&svm.fit(&kernel, train, train_labels).unwrap(), "rbf", 0.003);
    // Exact on both sides; the fixture keeps twelve digits.
    check(&Knn::default().fit(train, train_labels).unwrap(), "one_neighbour", 1e-9);
}
