//! What methods have in common, so that an experiment or a user can swap one for another: what embeds rows, what maps
//! an embedding back, what names the class of a row.

use ndarray::{Array2, ArrayView2};

use crate::Result;

/// Maps rows to a new space, rows it was not fitted on included.
pub trait Embed: Send + Sync {
    /// How many features a row must have.
    fn input_width(&self) -> usize;

    /// How many coordinates an embedded row has.
    fn width(&self) -> usize;

    /// Embeds rows, one output row per input row. Rows of another width, or with values that are not finite, are an error.
    fn embed(&self, x: ArrayView2<f32>) -> Result<Array2<f32>>;
}

impl<T: Embed + ?Sized> Embed for Box<T> {
    fn input_width(&self) -> usize {
        (**self).input_width()
    }

    fn width(&self) -> usize {
        (**self).width()
    }

    fn embed(&self, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        (**self).embed(x)
    }
}

/// Maps embedded rows back to inputs.
pub trait Invert: Embed {
    /// The inputs that these embedded rows stand for; the same errors.
    fn invert(&self, z: ArrayView2<f32>) -> Result<Array2<f32>>;
}

/// Names the class of a row.
pub trait Classify: Send + Sync {
    /// How many features a row must have.
    fn input_width(&self) -> usize;

    /// The class of each row, as the indices that were used in fitting.
    fn classify(&self, x: ArrayView2<f32>) -> Result<Vec<u32>>;
}
