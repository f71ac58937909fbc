//! What happens to raw rows before they are learned from: TF-IDF and a truncated SVD for word counts, then scaling.
//!
//! All of it is fitted on the training part and stored in the model, so that new rows pass through the same maps.

use ndarray::{Array2, ArrayView2};

use super::scale::{Scale, Scaler};
use super::sparse::Csr;
use super::svd::TruncatedSvd;
use super::tfidf::TfIdf;
use crate::Result;

/// The fitted maps from raw rows to prepared ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Preparation {
    /// For word counts: TF-IDF, then the truncated SVD.
    pub text: Option<(TfIdf, TruncatedSvd)>,
    /// Applied last.
    pub scaler: Scaler,
}

impl Preparation {
    /// Rows stay as they are.
    pub fn none() -> Self {
        Preparation { text: None, scaler: Scaler::none() }
    }

    /// Whether rows stay as they are.
    pub fn is_none(&self) -> bool {
        self.text.is_none() && self.scaler.kind() == Scale::None
    }

    /// The width of raw rows, where it differs from that of prepared ones.
    pub fn input_width(&self) -> Option<usize> {
        self.text.as_ref().map(|(tfidf, _)| tfidf.idf.len())
    }

    /// Prepares raw rows.
    pub fn apply(&self, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        match &self.text {
            None => self.scaler.apply(x),
            Some(_) => self.apply_sparse(&Csr::from_dense(x)),
        }
    }

    /// Prepares raw rows that are stored sparsely.
    pub fn apply_sparse(&self, x: &Csr) -> Result<Array2<f32>> {
        match &self.text {
            None => self.scaler.apply(x.to_dense(usize::MAX)?.view()),
            Some((tfidf, svd)) => self.scaler.apply(svd.transform(&tfidf.transform(x)?)?.view()),
        }
    }

    /// From prepared rows back to raw ones; for text, to TF-IDF weights rather than counts.
    pub fn apply_inverse(&self, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        let x = self.scaler.apply_inverse(x)?;
        match &self.text {
            None => Ok(x),
            Some((_, svd)) => svd.inverse_transform(x.view()),
        }
    }
}
