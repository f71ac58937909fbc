//! Denoising as in the paper: encode, keep the leading components of the codes, decode.
//!
//! Noise spreads over all directions of code space while what the rows have in common lies along a few, so projecting
//! the codes on the leading principal components of clean codes, `C^T C (z - mean) + mean`, removes most of the noise.

use ndarray::{Array2, ArrayView2};

use crate::code::PcaModel;
use crate::method::Invert;
use crate::{Error, Result};

/// Denoises the rows of `x`: codes of `model`, projected on the components of `pca` (fitted on clean codes), decoded.
pub fn denoise(model: &dyn Invert, pca: &PcaModel, x: ArrayView2<f32>) -> Result<Array2<f32>> {
    if pca.mean.len() != model.width() {
        return Err(Error::Data(format!(
            "denoising: expected components of codes of width {}, found components of width {}; fit the PCA on codes \
             of the same model",
            model.width(),
            pca.mean.len()
        )));
    }
    model.invert(pca.project(model.embed(x)?.view())?.view())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Pca;
    use crate::math::rng::{Purpose, stream};
    use rand::RngExt;

    #[test]
    fn what_is_off_the_line_of_clean_rows_is_removed() {
        // Clean rows lie on a line in five dimensions; the model is a rotation, so the line stays one in code space.
        let line = Array2::from_shape_fn((50, 5), |(i, j)| i as f32 * (j as f32 - 1.0) * 0.1);
        let mut rng = stream(1, Purpose::Demo, 0, 0);
        let noise = Array2::from_shape_simple_fn((50, 5), || rng.random::<f32>() - 0.5);
        let model = Pca { components: 5, ..Pca::default() }.fit(noise.view()).unwrap();
        let codes = model.transform(line.view()).unwrap();
        let pca = Pca { components: 1, ..Pca::default() }.fit(codes.view()).unwrap();
        let cleaned = denoise(&model, &pca, (&line + &noise).view()).unwrap();
        // The oracle: orthogonal projection on the line.
        let direction = Array2::from_shape_fn((5, 1), |(j, _)| (j as f32 - 1.0) / 15f32.sqrt());
        let want = (&line + &noise).dot(&direction).dot(&direction.t());
        assert!((&cleaned - &want).iter().all(|d| d.abs() < 1e-4));
        // And rows already on it stay where they are.
        let same = denoise(&model, &pca, line.view()).unwrap();
        assert!((&same - &line).iter().all(|d| d.abs() < 1e-4));
    }

    #[test]
    fn components_of_another_width_are_an_error() {
        let x = Array2::from_shape_fn((9, 4), |(i, j)| ((i * j) as f32).cos());
        let model = Pca { components: 3, ..Pca::default() }.fit(x.view()).unwrap();
        assert!(denoise(&model, &model, x.view()).is_err());
    }
}
