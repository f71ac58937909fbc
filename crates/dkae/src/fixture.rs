//! For tests only: reference numbers of other libraries (JSON files under `tests/fixtures`, each made by the script beside
//! it), kernels that are as exact as their formula, and what tests of errors and of wishes to stop share.

use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Result;
use crate::kernel::{Kernel, Prior};
use crate::progress::Progress;

/// One fixture file, or a part of one: named numbers, lists, matrices and parts.
pub struct Fixture(Value);

impl Fixture {
    /// Reads `tests/fixtures/{name}.json`.
    pub fn load(name: &str) -> Self {
        let path = format!("{}/tests/fixtures/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        Self(serde_json::from_str(&text).unwrap_or_else(|e| panic!("{path}: {e}")))
    }

    /// What is called `name`, as whatever type the test wants.
    pub fn value<T: DeserializeOwned>(&self, name: &str) -> T {
        serde_json::from_value(self.0[name].clone()).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// The part `name`, which has names of its own.
    pub fn part(&self, name: &str) -> Self {
        Self(self.value(name))
    }

    /// The list of parts `name`.
    pub fn parts(&self, name: &str) -> Vec<Self> {
        self.value::<Vec<Value>>(name).into_iter().map(Self).collect()
    }

    /// The list of numbers `name`; a single number is a list of one.
    pub fn list(&self, name: &str) -> Vec<f64> {
        if self.0[name].is_array() { self.value(name) } else { vec![self.value(name)] }
    }

    /// The matrix `name`, a list of rows.
    pub fn matrix(&self, name: &str) -> Array2<f64> {
        let rows: Vec<Vec<f64>> = self.value(name);
        let width = rows.first().map_or(0, Vec::len);
        Array2::from_shape_vec((rows.len(), width), rows.concat()).expect("rows of one length")
    }

    /// The matrix `name`, as rows of data are.
    pub fn array(&self, name: &str) -> Array2<f32> {
        self.matrix(name).mapv(|v| v as f32)
    }
}

/// It is an error whose message has these words.
#[track_caller]
pub fn refused<T>(result: Result<T>, words: &str) {
    match result {
        Ok(_) => panic!("no error, where one was to say `{words}`"),
        Err(error) => assert!(error.to_string().contains(words), "no `{words}` in: {error}"),
    }
}

/// Asks to stop whenever asked.
pub struct Impatient;

impl Progress for Impatient {
    fn stop(&self) -> bool {
        true
    }
}

/// `n` rows of the first `m` Walsh functions of rising frequency, ones and minus ones: columns that are orthogonal to each
/// other and to the constant, when 2^m divides `n`.
pub fn walsh(n: usize, m: usize) -> Array2<f32> {
    assert!(n.is_multiple_of(1 << m), "{n} rows are no multiple of 2^{m}");
    Array2::from_shape_fn((n, m), |(i, j)| if i >> j & 1 == 0 { 1.0 } else { -1.0 })
}

/// Equal up to the sign of each column, to `tolerance` of the largest entry.
pub fn same_but_for_signs(a: &Array2<f32>, b: &Array2<f32>, tolerance: f32) -> bool {
    let scale = b.iter().fold(0.0f32, |s, v| s.max(v.abs()));
    a.dim() == b.dim()
        && a.columns().into_iter().zip(b.columns()).all(|(a, b)| {
            let sign = if a.dot(&b) < 0.0 { -1.0 } else { 1.0 };
            a.iter().zip(b).all(|(a, b)| (a - sign * b).abs() <= tolerance * scale)
        })
}

/// The rows of classes other than 7, of the three that `svm.json` has, and their labels.
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
