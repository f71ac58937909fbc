//! Straight-line walks in code space: what lies between two codes, or between two centroids of codes.
//!
//! Step i of s is `from + t (to - from)` with `t = i / (s - 1)`; decoding every step shows the walk in input space.

use ndarray::{Array2, ArrayView1};

use crate::method::Invert;
use crate::{Error, Result};

/// The most points of a walk: more than anybody looks at.
const MOST: usize = 1_000_000;

/// The `steps` points from `from` to `to`, both ends included, one per row.
pub fn walk(from: ArrayView1<f32>, to: ArrayView1<f32>, steps: usize) -> Result<Array2<f32>> {
    if from.len() != to.len() {
        let (a, b) = (from.len(), to.len());
        return Err(Error::Data(format!("a walk: expected two codes of one width, found {a} and {b}")));
    }
    if let Some(v) = from.iter().chain(to).find(|v| !v.is_finite()) {
        return Err(Error::Data(format!("a walk: expected finite codes, found {v}")));
    }
    if !(2..=MOST).contains(&steps) {
        return Err(Error::setting("steps", format!("expected 2 (the two ends) to {MOST}, found {steps}")));
    }
    Ok(Array2::from_shape_fn((steps, from.len()), |(i, j)| {
        let t = i as f64 / (steps - 1) as f64;
        // This form hits both ends exactly.
        ((1.0 - t) * f64::from(from[j]) + t * f64::from(to[j])) as f32
    }))
}

/// The same points as inputs.
pub fn walk_decoded(
    model: &dyn Invert,
    from: ArrayView1<f32>,
    to: ArrayView1<f32>,
    steps: usize,
) -> Result<Array2<f32>> {
    let points = walk(from, to, steps)?;
    crate::math::check::width("codes of a walk", points.view(), model.width())?;
    model.invert(points.view())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Pca;
    use ndarray::array;

    #[test]
    fn ends_are_exact_and_steps_are_equal() {
        let (a, b) = (array![0.1f32, -3.0, 7.0], array![0.7f32, 5.0, 7.0]);
        let points = walk(a.view(), b.view(), 5).unwrap();
        assert_eq!(points.row(0), a);
        assert_eq!(points.row(4), b);
        for i in 0..4 {
            let step = &points.row(i + 1) - &points.row(i);
            assert!((&step - &((&b - &a) / 4.0)).iter().all(|d| d.abs() < 1e-6));
        }
    }

    #[test]
    fn a_decoded_walk_is_straight_for_a_linear_model() {
        let x = Array2::from_shape_fn((20, 3), |(i, j)| ((i * (j + 2)) as f32).sin());
        let model = Pca { components: 3, ..Pca::default() }.fit(x.view()).unwrap();
        let z = model.transform(x.view()).unwrap();
        let walked = walk_decoded(&model, z.row(0), z.row(1), 3).unwrap();
        let middle = (&x.row(0) + &x.row(1)) / 2.0;
        for (got, want) in walked.rows().into_iter().zip([x.row(0), middle.view(), x.row(1)]) {
            assert!((&got - &want).iter().all(|d| d.abs() < 1e-5));
        }
        assert!(walk_decoded(&model, array![0.0].view(), array![1.0].view(), 3).is_err());
    }

    #[test]
    fn bad_input_is_an_error() {
        let a = array![0.0f32, 1.0];
        assert!(walk(a.view(), array![0.0].view(), 3).is_err());
        assert!(walk(a.view(), a.view(), 1).is_err());
        assert!(walk(a.view(), array![0.0, f32::NAN].view(), 3).is_err());
    }
}
