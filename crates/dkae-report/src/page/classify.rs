//! How well a linear support vector machine tells the classes apart, on inputs and on codes: what the codes add.

use dkae::Classify;
use dkae::baseline::svm::LinearSvm;
use dkae::baseline::svm::choose::{self, Part};
use dkae::data::Labels;
use dkae::metrics::accuracy;
use dkae::net::Model;
use dkae::progress::Progress;
use dkae::recipe::Prepared;
use ndarray::{ArrayView2, s};

use super::{Report, encode};
use crate::Result;

/// Shares of test rows classified correctly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Accuracies {
    pub inputs: f64,
    pub codes: f64,
    /// Rows learned from.
    pub learned: usize,
    /// Rows tested on.
    pub tested: usize,
}

impl Report {
    /// None with one class only, or without rows to choose by and test on.
    pub(super) fn accuracies(
        &self,
        model: &Model,
        rows: &Prepared,
        labels: &[Labels; 3],
        progress: &dyn Progress,
    ) -> Result<Option<Accuracies>> {
        let limits = rows.parts.each_ref().map(|x| x.nrows().min(self.fitted));
        let own = |i: usize| &labels[i].index[..limits[i]];
        if limits.contains(&0) || own(0).iter().all(|&l| l == own(0)[0]) {
            return Ok(None);
        }
        let x: [ArrayView2<f32>; 3] = std::array::from_fn(|i| rows.parts[i].slice(s![..limits[i], ..]));
        let measure = |x: [ArrayView2<f32>; 3]| -> Result<f64> {
            let part = |i: usize| Part { x: x[i], labels: own(i) };
            let settings = LinearSvm { seed: self.seed, ..LinearSvm::default() };
            let choice = choose::linear(&settings, &self.prices, part(0), part(1), progress)?;
            Ok(accuracy(own(2), &choice.model.classify(x[2])?)?)
        };
        let inputs = measure(x)?;
        let [a, b, c] = x.map(|x| encode(model, x));
        let (a, b, c) = (a?, b?, c?);
        let codes = measure([a.view(), b.view(), c.view()])?;
        Ok(Some(Accuracies { inputs, codes, learned: limits[0], tested: limits[2] }))
    }
}
