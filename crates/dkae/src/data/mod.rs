//! Rows in: one reader per file format, and what happens to rows before anything is learned from them.
//!
//! [`read::read`] reads a file of any known format into a [`Table`]; [`stream`] reads and writes files larger than memory
//! block by block; [`sample::digits`] is a table that needs no file. Then [`split`] divides the rows, and [`scale`],
//! [`tfidf`] and [`svd`] are fitted on the training part and applied to all. Files are written whole or not at all
//! ([`atomic`]).
//!
//! ```
//! use dkae::data::{sample, scale::Scale, split::Split};
//!
//! let digits = sample::digits();
//! let split = Split::random(digits.len(), [0.70, 0.15, 0.15], 0)?;
//! let (train, test) = (digits.select(&split.train), digits.select(&split.test));
//! let scaler = Scale::Auto.fit(train.x.view(), train.shape)?;
//! let test_x = scaler.apply(test.x.view())?;
//! assert_eq!(test_x.dim(), (750, 784));
//! # Ok::<(), dkae::Error>(())
//! ```

use ndarray::{Array2, Axis};
use serde::{Deserialize, Serialize};

pub mod atomic;
pub mod cifar;
mod columns;
pub mod csv;
pub mod idx;
mod input;
mod label_column;
mod narrow;
pub mod npy;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod prepare;
pub mod read;
mod records;
mod rows;
pub mod sample;
pub mod scale;
mod sinks;
pub mod sparse;
pub mod split;
pub mod stream;
pub mod svd;
pub mod svmlight;
#[cfg(test)]
mod test_files;
pub mod tfidf;
mod whole;
mod zip;

pub use label_column::read_label_column;
pub use whole::write_whole;

/// Rows read from a file: features, and what else the file knows about them.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// One row per sample, one column per feature.
    pub x: Array2<f32>,
    /// The class of each row, when the file has labels.
    pub labels: Option<Labels>,
    /// The name of each feature, when the file names them.
    pub names: Option<Vec<String>>,
    /// What a row is a picture of, when it is one.
    pub shape: Shape,
    /// Which part each row belongs to (an image, a subject, a fold), when a column says so.
    pub groups: Option<Vec<String>>,
    /// The number of each row in its file, from 0, when rows were left out; through all files when there are several.
    pub numbers: Option<Vec<usize>>,
    /// What is doubtful about the rows, for people: a file and columns of it that 32 bits do not hold well.
    pub warnings: Vec<String>,
}

impl Table {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.x.nrows()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of classes; 0 without labels.
    pub fn classes(&self) -> usize {
        self.labels.as_ref().map_or(0, |labels| labels.names.len())
    }

    /// These rows, in this order, with their labels and groups; classes keep their numbers. Panics when there is no such
    /// row.
    pub fn select(&self, rows: &[usize]) -> Self {
        Self {
            x: self.x.select(Axis(0), rows),
            labels: self.labels.as_ref().map(|labels| labels.select(rows)),
            names: self.names.clone(),
            shape: self.shape,
            groups: self.groups.as_ref().map(|groups| rows.iter().map(|&i| groups[i].clone()).collect()),
            numbers: self.numbers.as_ref().map(|numbers| rows.iter().map(|&i| numbers[i]).collect()),
            warnings: self.warnings.clone(),
        }
    }
}

/// Classes of rows: an index per row into a list of names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// The class of each row, an index into `names`.
    pub index: Vec<u32>,
    /// The name of each class.
    pub names: Vec<String>,
}

impl Labels {
    /// The classes of these rows, in this order; the names stay as they are. Panics when there is no such row.
    pub fn select(&self, rows: &[usize]) -> Self {
        Self { index: rows.iter().map(|&i| self.index[i]).collect(), names: self.names.clone() }
    }

    /// How many rows each class has.
    pub fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.names.len()];
        self.index.iter().for_each(|&i| counts[i as usize] += 1);
        counts
    }
}

/// How the features of one row are arranged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// A plain list of features.
    #[default]
    Vector,
    /// A picture: `channels` planes of `height` rows of `width` pixels.
    Image {
        /// Planes: 1 for grey, 3 for red, green, blue.
        channels: usize,
        /// Rows of pixels.
        height: usize,
        /// Pixels in a row.
        width: usize,
    },
}
