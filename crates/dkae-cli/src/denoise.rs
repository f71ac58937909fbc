//! `dkae denoise`: encode, keep the leading principal components of the codes, decode.
//!
//! All of it happens on prepared rows, where noise of a given size means the same for every data set.

use std::path::PathBuf;

use anyhow::Result;
use dkae::code::{Pca, PcaModel};
use dkae::data::read::ReadOptions;
use dkae::math::threads;
use dkae::metrics::mean_squared_error;
use dkae::train::Noise;
use ndarray::{Array2, ArrayView2};
use serde_json::{Value, json};

use crate::flags::Denoise;
use crate::rows::{Like, by_blocks, encode, load_model, read_like, shown, write_raw};
use crate::screen::{Screen, number};

pub fn run(flags: &Denoise, screen: Screen) -> Result<(String, Value)> {
    flags.noise.check()?;
    let at = &flags.files;
    let model = load_model(&at.model, &at.data)?;
    // A wrong name is found out now rather than after the work.
    dkae::data::stream::create(&at.output, model.input_width(), None)?;
    let options = flags.reading.options();
    let prepared = |path: &PathBuf, options: &ReadOptions| -> Result<Array2<f32>> {
        let (files, preparation) = (std::slice::from_ref(path), model.preparation());
        Ok(read_like(&Like::model(&at.model, &model), files, options, screen, |x| preparation.apply(x))?.x)
    };
    let clean = prepared(&at.data, &options)?;
    let rows = noisy(clean.view(), flags.noise, flags.seed);
    let codes = encode(&model, rows.view(), screen)?;
    let find = |codes: &Array2<f32>| {
        let components = flags.components.unwrap_or(32.min(model.code_width()).min(codes.nrows()));
        let pca = Pca { components, ..Pca::default() };
        screen.watched("finding the components", |progress| pca.fit_watched(codes.view(), progress))
    };
    let pca: PcaModel = match &flags.fit {
        None => find(&codes)?,
        Some(path) => find(&encode(&model, prepared(path, &flags.reading.options_for_more())?.view(), screen)?)?,
    };
    let components = pca.components.nrows();
    let cleaned = by_blocks("decoding", codes.view(), screen, |block| model.net().decode(pca.project(block)?.view()))?;
    write_raw(&at.output, cleaned.view(), model.preparation(), model.about().names.as_deref(), &options)?;

    let kept: f64 = pca.explained_variance_ratio.sum();
    let mut lines = vec![format!("kept {} components, {:.1} % of the codes' variance", components, 100.0 * kept)];
    let mut value = json!({
        "rows": cleaned.nrows(), "columns": model.input_width(), "components": components, "explained_variance": kept,
        "output": shown(&at.output),
    });
    let after = mean_squared_error(clean.view(), cleaned.view())?;
    if flags.noise == Noise::None {
        lines.push(format!("mean squared distance from the rows given: {}", number(after, 5)));
    } else {
        let before = mean_squared_error(clean.view(), rows.view())?;
        let (noisy, cleaned) = (number(before, 5), number(after, 5));
        lines.push(format!("mean squared error to the clean rows: {noisy} with noise, {cleaned} cleaned"));
        value["noisy_mse"] = json!(before);
    }
    value["mse"] = json!(after);
    lines.push(format!("wrote {}", at.output.display()));
    Ok((lines.join("\n"), value))
}

/// The rows with noise added.
fn noisy(clean: ArrayView2<f32>, noise: Noise, seed: u64) -> Array2<f32> {
    let mut rows = clean.to_owned();
    let n = rows.nrows();
    threads::run(|| noise.disturb(seed, 0, 0, n, rows.view_mut().reversed_axes()));
    rows
}
