//! Rows in: one reader per file format, and what happens to rows before anything is learned from them.

pub mod atomic;

use ndarray::Array2;
use serde::{Deserialize, Serialize};

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
}

/// Classes of rows: an index per row into a list of names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// The class of each row, an index into `names`.
    pub index: Vec<u32>,
    /// The name of each class.
    pub names: Vec<String>,
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
