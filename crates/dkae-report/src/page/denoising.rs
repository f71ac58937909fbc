//! The denoising section: rows, the same with noise, and what is left of the noise when only the leading components of
//! their codes are kept.

use dkae::code::PcaModel;
use dkae::math::threads;
use dkae::metrics::mean_squared_error;
use dkae::net::Model;
use dkae::train::Noise;
use ndarray::{Array2, ArrayView2, Axis, concatenate, s};
use serde::Serialize;

use super::figures::{Line, gallery, short};
use super::looks::{Given, Looks};
use super::rows::Held;
use super::{Page, Report, decode, encode};
use crate::{Error, Result};

/// The most components kept.
pub(super) const MOST: usize = 128;
/// Rows that errors are measured on.
const MEASURED: usize = 500;

/// The denoising panel.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Denoising {
    /// The rows shown, as places among the rows on the page.
    pub rows: Vec<usize>,
    /// The deviation of the noise, as the network sees rows.
    pub deviation: f64,
    /// Numbers of components kept, and how many there are: numbers in a code.
    pub components: Vec<usize>,
    pub of: usize,
    /// The share of the codes' variance that they explain.
    pub explained: Vec<f64>,
    /// Mean squared error of the noisy rows, and of the denoised ones by components.
    pub noisy_error: f64,
    pub errors: Vec<f64>,
    /// Sheets: the rows, the noisy ones, and the denoised ones (all rows for the first number of components, then all for
    /// the next, ...).
    pub original: usize,
    pub noisy: usize,
    pub denoised: usize,
    #[serde(skip)]
    pub still: String,
}

/// The first `pca` components alone.
fn leading(pca: &PcaModel, count: usize) -> PcaModel {
    PcaModel {
        mean: pca.mean.clone(),
        components: pca.components.slice(s![..count, ..]).to_owned(),
        explained_variance: pca.explained_variance.slice(s![..count]).to_owned(),
        explained_variance_ratio: pca.explained_variance_ratio.slice(s![..count]).to_owned(),
    }
}

impl Report {
    pub(super) fn denoising(&self, model: &Model, pca: &PcaModel, held: &Held, looks: &mut Looks) -> Result<Denoising> {
        // Without the rows that are there because they are far from all others.
        let deviation = self.deviation(held.x.slice(s![..held.regular, ..]), looks);
        let rows = examples(&held.labels, held.first().1, self.examples);
        // The examples come first, then more rows to measure errors on.
        let measured: Vec<usize> =
            rows.iter().copied().chain((0..held.first().1).filter(|i| !rows.contains(i)).take(MEASURED)).collect();
        let clean = held.x.select(Axis(0), &measured);
        let mut noisy = clean.clone();
        let n = noisy.nrows();
        threads::run(|| Noise::Gauss(deviation as f32).disturb(self.seed, 0, 0, n, noisy.view_mut().reversed_axes()));
        let codes = encode(model, noisy.view())?;

        let most = pca.components.nrows();
        let doubling = std::iter::successors(Some(1usize), |c| Some(2 * c)).take_while(|&c| c < most);
        let components: Vec<usize> = doubling.chain([most]).collect();
        let (mut errors, mut cleaned) = (Vec::new(), Vec::new());
        for &count in &components {
            let kept = leading(pca, count);
            let denoised = decode(model, kept.inverse(kept.transform(codes.view())?.view())?.view())?;
            errors.push(mean_squared_error(clean.view(), denoised.view())?);
            cleaned.push(denoised.slice(s![..rows.len(), ..]).to_owned());
        }
        let views: Vec<_> = cleaned.iter().map(|c| c.view()).collect();
        let all = concatenate(Axis(0), &views).map_err(|e| Error::Data(e.to_string()))?;
        let first = |x: &Array2<f32>| x.slice(s![..rows.len(), ..]).to_owned();
        let (shown, disturbed) = (held.raw.select(&rows), first(&noisy));
        let (shown, disturbed) = (Given::Rows(&shown), Given::Network(&disturbed));
        let largest = looks.largest(shown)?;
        let repeated = largest.repeated(components.len());
        let names = held.names(&rows, looks.shape().is_some());
        let still = denoising_still(looks, (shown, disturbed), &components, &cleaned, &names)?;
        let ratio = &pca.explained_variance_ratio;
        Ok(Denoising {
            original: looks.add(shown, &largest)?,
            noisy: looks.add(disturbed, &largest)?,
            denoised: looks.add(Given::Network(&all), &repeated)?,
            of: codes.ncols(),
            explained: components.iter().map(|&c| ratio.slice(s![..c]).sum()).collect(),
            noisy_error: mean_squared_error(clean.view(), noisy.view())?,
            rows,
            deviation,
            components,
            errors,
            still,
        })
    }

    /// Noise of 0.25 for pictures whose values run from 0 to 1, as in the paper; half the deviation of a feature
    /// otherwise.
    fn deviation(&self, x: ArrayView2<f32>, looks: &Looks) -> f64 {
        let within = x.iter().all(|v| (0.0..=1.0).contains(v));
        if looks.shape().is_some() && within {
            return 0.25;
        }
        let n = x.nrows().max(1) as f64;
        let variance = |column: ndarray::ArrayView1<f32>| {
            let mean = column.iter().map(|&v| f64::from(v)).sum::<f64>() / n;
            column.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / n
        };
        0.5 * (x.columns().into_iter().map(variance).sum::<f64>() / x.ncols().max(1) as f64).sqrt()
    }
}

impl Page {
    pub(super) fn denoising_text(&self) -> String {
        format!(
            "Noise is put on {} rows, and only the leading principal components of their codes are kept. Few components wash \
             rows out, many let the noise through<span class=\"live\" hidden>; the slider chooses</span>.{}",
            self.kind(),
            match self.as_seen().as_str() {
                "" => String::new(),
                seen => format!(" Noise has a deviation of {}{seen}.", short(self.denoising.deviation)),
            }
        )
    }
}

fn denoising_still(
    looks: &Looks,
    (original, noisy): (Given, Given),
    components: &[usize],
    cleaned: &[Array2<f32>],
    names: &[String],
) -> Result<String> {
    // The head of a column has less room than the caption of a line of pictures.
    let caption = |&c: &usize| match (looks.shape(), c) {
        (None, c) => format!("{c} kept"),
        (_, 1) => "1 component".to_owned(),
        (_, c) => format!("{c} components"),
    };
    let captions: Vec<String> = components.iter().map(caption).collect();
    let mut lines = vec![Line { caption: "original", rows: original }, Line { caption: "noisy", rows: noisy }];
    let shown = captions.iter().zip(cleaned).rev().step_by(2);
    lines.extend(shown.map(|(caption, rows)| Line { caption, rows: Given::Network(rows) }));
    gallery(looks, &looks.largest(original)?, &lines, names)
}

/// Rows to show: the first of each class, then the second, ...
fn examples(labels: &[usize], rows: usize, count: usize) -> Vec<usize> {
    let mut seen = std::collections::BTreeMap::new();
    let mut keyed: Vec<(usize, usize, usize)> = (0..rows)
        .map(|i| {
            let label = labels.get(i).copied().unwrap_or(0);
            let turn = seen.entry(label).or_insert(0usize);
            *turn += 1;
            (*turn, label, i)
        })
        .collect();
    keyed.sort_unstable();
    keyed.into_iter().take(count).map(|(_, _, i)| i).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_take_classes_in_turn() {
        assert_eq!(examples(&[1, 1, 0, 1, 0], 5, 3), [2, 0, 4]);
        assert_eq!(examples(&[], 4, 9), [0, 1, 2, 3]);
    }

    #[test]
    fn the_first_components_alone_are_a_smaller_pca() {
        let x = Array2::from_shape_fn((30, 5), |(i, j)| ((i * 7 + j * j * 3) % 11) as f32 * (5 - j) as f32);
        let all = dkae::code::Pca { components: 4, ..Default::default() }.fit(x.view()).unwrap();
        let two = dkae::code::Pca { components: 2, ..Default::default() }.fit(x.view()).unwrap();
        let kept = leading(&all, 2).transform(x.view()).unwrap();
        let wanted = two.transform(x.view()).unwrap();
        assert!(kept.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-3));
    }
}
