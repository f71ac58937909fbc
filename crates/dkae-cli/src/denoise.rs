//! `dkae denoise`: encode, keep the leading principal components of the codes, decode.
//!
//! All of it happens on prepared rows, where noise of a given size means the same for every data set.

use anyhow::Result;
use dkae::code::{Pca, PcaModel, denoise};
use dkae::math::threads;
use dkae::metrics::mean_squared_error;
use dkae::train::Noise;
use ndarray::{Array2, ArrayView2};
use serde_json::{Value, json};

use crate::flags::Denoise;
use crate::rows::{by_blocks, load_model, read_for, write};
use crate::screen::Screen;

pub fn run(flags: &Denoise, screen: Screen) -> Result<(String, Value)> {
    flags.noise.check()?;
    let model = load_model(&flags.model, &flags.data)?;
    // A wrong name is found out now rather than after the work.
    dkae::data::stream::create(&flags.output, model.input_width(), None)?;
    let options = flags.reading.options();
    let prepared = |path| -> Result<Array2<f32>> {
        let table = read_for((&flags.model, &model), path, &options, screen)?;
        Ok(model.preparation().apply(table.x.view())?)
    };
    let clean = prepared(&flags.data)?;
    let rows = noisy(clean.view(), flags.noise, flags.seed);
    let find = |x: ArrayView2<f32>| -> Result<PcaModel> {
        let codes = by_blocks("encoding", x, screen, |block| model.net().encode(block))?;
        let components = flags.components.unwrap_or(32.min(model.code_width()).min(codes.nrows()));
        let pca = Pca { components, ..Pca::default() };
        Ok(screen.watched("finding the components", |progress| pca.fit_watched(codes.view(), progress))?)
    };
    let pca = match &flags.fit {
        None => find(rows.view())?,
        Some(path) => find(prepared(path)?.view())?,
    };
    let components = pca.components.nrows();
    let cleaned = by_blocks("cleaning", rows.view(), screen, |block| denoise(model.net(), &pca, block))?;
    let raw = model.preparation().apply_inverse(cleaned.view())?;
    write(&flags.output, raw.view(), model.about().names.as_deref())?;

    let kept: f64 = pca.explained_variance_ratio.sum();
    let mut lines = vec![format!("kept {} components, {:.1} % of the codes' variance", components, 100.0 * kept)];
    let mut value = json!({
        "rows": raw.nrows(), "columns": raw.ncols(), "components": components, "explained_variance": kept,
        "output": flags.output,
    });
    let after = mean_squared_error(clean.view(), cleaned.view())?;
    if flags.noise == Noise::None {
        lines.push(format!("mean squared distance from the rows given: {after:.5}"));
    } else {
        let before = mean_squared_error(clean.view(), rows.view())?;
        lines.push(format!("mean squared error to the clean rows: {before:.5} with noise, {after:.5} cleaned"));
        value["noisy_mse"] = json!(before);
    }
    value["mse"] = json!(after);
    lines.push(format!("wrote {}", flags.output.display()));
    Ok((lines.join("\n"), value))
}

/// The rows with noise added.
fn noisy(clean: ArrayView2<f32>, noise: Noise, seed: u64) -> Array2<f32> {
    let mut rows = clean.to_owned();
    let n = rows.nrows();
    threads::run(|| noise.disturb(seed, 0, 0, n, rows.view_mut().reversed_axes()));
    rows
}
