//! For tests only: what scikit-learn computed (tests/fixtures/svm.py), and two kernels to compute with.

use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis};
use serde_json::Value;

use crate::Result;
use crate::kernel::{Kernel, Prior};

pub fn load() -> Value {
    serde_json::from_str(include_str!("../../tests/fixtures/svm.json")).unwrap()
}

pub fn matrix(v: &Value) -> Array2<f64> {
    let rows: Vec<Vec<f64>> = serde_json::from_value(v.clone()).unwrap();
    Array2::from_shape_fn((rows.len(), rows[0].len()), |(i, j)| rows[i][j])
}

pub fn rows(v: &Value) -> Array2<f32> {
    matrix(v).mapv(|v| v as f32)
}

pub fn numbers<T: serde::de::DeserializeOwned>(v: &Value) -> Vec<T> {
    serde_json::from_value(v.clone()).unwrap()
}

/// The rows of the first two classes, and their labels.
pub fn two_classes(x: &Array2<f32>, labels: &[u32]) -> (Array2<f32>, Vec<u32>) {
    let some: Vec<usize> = (0..labels.len()).filter(|&i| labels[i] != 7).collect();
    (x.select(Axis(0), &some), some.iter().map(|&i| labels[i]).collect())
}

/// A kernel by its formula, computed in f64 and rounded once.
pub struct Formula(pub fn(&[f64], &[f64]) -> f64);

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub const RBF: Formula = Formula(|a, b| (-0.3 * a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>()).exp());
pub const LINEAR: Formula = Formula(dot);
pub const POLYNOMIAL: Formula = Formula(|a, b| (0.25 * dot(a, b) + 1.0).powi(3));

impl Kernel for Formula {
    fn prior<'a>(&'a self, x: ArrayView2<'a, f32>) -> Result<Box<dyn Prior + 'a>> {
        Ok(Box::new(FormulaPrior(self, x)))
    }

    fn between(&self, a: ArrayView2<f32>, b: ArrayView2<f32>, mut out: ArrayViewMut2<f32>) -> Result<()> {
        let (a, b) = (a.mapv(f64::from), b.mapv(f64::from));
        for ((i, j), out) in out.indexed_iter_mut() {
            *out = self.0(&a.row(i).to_vec(), &b.row(j).to_vec()) as f32;
        }
        Ok(())
    }

    fn describe(&self) -> String {
        "a formula".into()
    }
}

struct FormulaPrior<'a>(&'a Formula, ArrayView2<'a, f32>);

impl Prior for FormulaPrior<'_> {
    fn len(&self) -> usize {
        self.1.nrows()
    }

    fn block(&self, rows: &[usize], columns: &[usize], out: ArrayViewMut2<f32>) {
        let pick = |of: &[usize]| self.1.select(Axis(0), of);
        self.0.between(pick(rows).view(), pick(columns).view(), out).unwrap();
    }
}
