//! TF-IDF: word counts become weights that say how much a word tells about a document.
//!
//! A count c becomes `(1 + ln c) idf`, with `idf = ln((1 + n) / (1 + df)) + 1` for a word that occurs in df of the n training
//! documents; rows are then brought to length 1. The 1 + in the fraction acts as one more document with every word, so
//! that a word of new documents that was never seen in training has a finite weight. (Salton and Buckley 1988; the same
//! formula as scikit-learn's `TfidfTransformer(sublinear_tf=True)`.) It is one pass over the counts, shorter than reading
//! them, so it reports no progress.

use serde::{Deserialize, Serialize};

use super::sparse::Csr;
use crate::{Error, Result};

/// Fitted weights of words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TfIdf {
    /// The weight of each word.
    pub idf: Vec<f32>,
}

impl TfIdf {
    /// Counts in how many training documents (rows of word counts) each word occurs.
    pub fn fit(train: &Csr) -> Result<Self> {
        check_counts(train.iter())?;
        let mut documents = vec![0u64; train.ncols()];
        for i in 0..train.nrows() {
            let (words, counts) = train.row(i);
            words.iter().zip(counts).filter(|&(_, &c)| c > 0.0).for_each(|(&j, _)| documents[j as usize] += 1);
        }
        let n = train.nrows() as f64;
        Ok(Self { idf: documents.iter().map(|&df| (((1.0 + n) / (1.0 + df as f64)).ln() + 1.0) as f32).collect() })
    }

    /// Weighs word counts, of training documents or others. A document without words stays empty.
    pub fn transform(&self, counts: &Csr) -> Result<Csr> {
        if counts.ncols() != self.idf.len() {
            let message =
                format!("documents over {} words, but TF-IDF was fitted on {}", counts.ncols(), self.idf.len());
            return Err(Error::Data(message));
        }
        check_counts(counts.iter())?;
        let mut values = Vec::with_capacity(counts.entries());
        for i in 0..counts.nrows() {
            let (words, row) = counts.row(i);
            let weights = words.iter().zip(row).map(|(&j, &c)| {
                if c > 0.0 { (1.0 + f64::from(c).ln()) * f64::from(self.idf[j as usize]) } else { 0.0 }
            });
            let length = weights.clone().map(|w| w * w).sum::<f64>().sqrt();
            let factor = if length > 0.0 { 1.0 / length } else { 0.0 };
            values.extend(weights.map(|w| (w * factor) as f32));
        }
        Ok(counts.with_values(values))
    }
}

/// Refuses what is not a word count. Entries are a row, a word and a count each, rows and words counted from 0.
pub fn check_counts(entries: impl IntoIterator<Item = (usize, usize, f32)>) -> Result<()> {
    match entries.into_iter().find(|&(_, _, c)| !(c >= 0.0 && c.is_finite())) {
        Some((i, j, c)) => Err(Error::Data(format!(
            "row {} (from 1), word {}: {c} is not a word count: TF-IDF takes finite numbers from 0 up",
            i + 1,
            j + 1
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::test_files::{fixture, message};
    use crate::data::{read::ReadOptions, svmlight};
    use crate::fixture::Fixture;

    #[test]
    fn weights_agree_with_scikit_learn() {
        let counts = svmlight::read_sparse(fixture("counts.svm"), &ReadOptions::default()).unwrap().x;
        let expected = Fixture::load("tfidf_svd");
        let train: Vec<usize> = (0..expected.value("train")).collect();
        let tfidf = TfIdf::fit(&counts.select(&train)).unwrap();
        let idf: Vec<f64> = expected.value("idf");
        assert_eq!(idf.len(), tfidf.idf.len());
        assert!(idf.iter().zip(&tfidf.idf).all(|(a, &b)| (a - f64::from(b)).abs() < 1e-6));
        let weights = tfidf.transform(&counts).unwrap();
        let expected: Vec<f64> = expected.value("weights");
        assert_eq!(expected.len(), weights.entries());
        assert!(expected.iter().zip(weights.values()).all(|(a, &b)| (a - f64::from(b)).abs() < 1e-6));
    }

    #[test]
    fn a_document_without_words_stays_empty_and_zeros_do_not_count() {
        let counts = Csr::new(vec![0, 2, 2], vec![0, 1], vec![3.0, 0.0], 2).unwrap();
        let tfidf = TfIdf::fit(&counts).unwrap();
        assert!((tfidf.idf[0] - (1.5f32.ln() + 1.0)).abs() < 1e-6 && (tfidf.idf[1] - (3f32.ln() + 1.0)).abs() < 1e-6);
        assert_eq!(tfidf.transform(&counts).unwrap().values(), [1.0, 0.0]);
    }

    #[test]
    fn what_are_not_counts_is_refused() {
        let counts = |v| Csr::new(vec![0, 1], vec![0], vec![v], 2).unwrap();
        assert!(message(TfIdf::fit(&counts(-1.0))).contains("row 1 (from 1), word 1: -1 is not a word count"));
        assert!(message(TfIdf::fit(&counts(f32::NAN))).contains("NaN is not a word count"));
        let other = Csr::new(vec![0, 0], vec![], vec![], 3).unwrap();
        assert!(message(TfIdf::fit(&counts(1.0)).unwrap().transform(&other)).contains("over 3 words"));
    }
}
