//! The methods of `dkae embed`: what each is fitted by, what there is to say about it, and its way back.

use anyhow::Result;
use dkae::baseline::{EntropyComponents, Isomap, Keca, Kpca, Pairs, Preimage, PreimageModel, Spectrum, WithPreimage};
use dkae::code::Pca;
use dkae::data::split::Split;
use dkae::kernel::{Kernel as _, KernelSpec, Precomputed};
use dkae::progress::Progress;
use dkae::{Embed as _, Error, Invert};
use ndarray::{Array2, ArrayView2, Axis};
use serde_json::{Value, json};

use crate::flags::{Embed, Embedding};

/// The share of rows that the way back is chosen by.
const VALIDATION: f64 = 0.2;

/// A fitted method, the rows of the fit embedded, and what there is to say about it.
pub struct Fitted {
    pub map: Map,
    pub scores: Array2<f32>,
    pub lines: Vec<String>,
    pub value: Value,
    pub warnings: Vec<String>,
}

/// From rows to coordinates, and perhaps back.
pub enum Map {
    OneWay(Box<dyn dkae::Embed>),
    BothWays(Box<dyn Invert>),
}

impl Map {
    pub fn embed(&self, x: ArrayView2<f32>) -> dkae::Result<Array2<f32>> {
        match self {
            Map::OneWay(map) => map.embed(x),
            Map::BothWays(map) => map.embed(x),
        }
    }
}

impl Fitted {
    /// A way back for a method that has none of its own, from the rows `x` of the fit and where they are.
    pub fn with_way_back(mut self, x: ArrayView2<f32>, seed: u64, progress: &dyn Progress) -> Result<Self> {
        let Map::OneWay(embed) = self.map else { return Ok(self) };
        let Split { train, validation, .. } = Split::random(x.nrows(), [1.0 - VALIDATION, VALIDATION, 0.0], seed)?;
        if validation.is_empty() {
            let message = format!("needs 3 rows or more, to learn from and to choose by; there are {}", x.nrows());
            return Err(Error::setting("reconstruct", message).into());
        }
        let part = |rows: &[usize]| (self.scores.select(Axis(0), rows), x.select(Axis(0), rows));
        let ((z, of_z), (w, of_w)) = (part(&train), part(&validation));
        let settings = Preimage { seed, ..Preimage::default() };
        let (train, chosen_by) = (Pairs { z: z.view(), x: of_z.view() }, Pairs { z: w.view(), x: of_w.view() });
        let preimage: PreimageModel = settings.fit(train, chosen_by, progress)?;
        let (width, ridge, mse) = ((0.5 / preimage.gamma).sqrt(), preimage.ridge, preimage.validation_mse);
        self.lines.push(format!(
            "way back: kernel ridge regression of width {}, ridge {ridge}; squared error per value {:.5} on {} validation rows",
            number(width),
            mse.unwrap_or(f64::NAN),
            validation.len()
        ));
        self.value["way_back"] = json!({
            "width": width, "gamma": preimage.gamma, "ridge": ridge, "validation_mse": mse,
            "validation_rows": validation.len(),
        });
        self.map = Map::BothWays(Box::new(WithPreimage { embed, preimage }));
        Ok(self)
    }
}

pub fn fit(flags: &Embed, spec: &KernelSpec, x: ArrayView2<f32>, progress: &dyn Progress) -> Result<Fitted> {
    match flags.method {
        Embedding::Pca => pca(flags, x, progress),
        Embedding::Kpca => kpca(flags, spec, x, progress),
        Embedding::Keca => keca(flags, spec, x, progress),
        Embedding::Isomap => isomap(flags, x, progress),
    }
}

fn pca(flags: &Embed, x: ArrayView2<f32>, progress: &dyn Progress) -> Result<Fitted> {
    let (components, seed) = (flags.components, flags.seed);
    let model = Pca { components, seed, ..Pca::default() }.fit_watched(x, progress)?;
    let shares = model.explained_variance_ratio.to_vec();
    let percent = |v: f64| format!("{:.1} %", 100.0 * v);
    let lines = vec![
        format!("principal components of {} rows", x.nrows()),
        format!("share of the variance {}, together {}", list(&shares, percent), percent(shares.iter().sum())),
    ];
    let value = json!({
        "method": "pca", "explained_variance": model.explained_variance.to_vec(),
        "explained_variance_ratio": shares,
    });
    let (scores, map) = (model.transform(x)?, Map::BothWays(Box::new(model)));
    Ok(Fitted { scores, map, lines, value, warnings: Vec::new() })
}

fn kpca(flags: &Embed, spec: &KernelSpec, x: ArrayView2<f32>, progress: &dyn Progress) -> Result<Fitted> {
    let (components, seed) = (flags.components, flags.seed);
    let usual = Kpca::default();
    let tolerance = flags.eigen_tolerance.unwrap_or(usual.tolerance);
    let kpca = Kpca { components, centred: !flags.uncentred, tolerance, seed, ..usual };
    let mut warnings = Vec::new();
    let (model, spectrum, kernel): (Box<dyn dkae::Embed>, Spectrum, String) = match spec {
        // Through its posteriors: not even blocks of the kernel matrix are needed.
        KernelSpec::Pck(settings) => {
            let pck = settings.fit_watched(x, progress)?;
            let kernel = pck.describe();
            let model = kpca.fit_pck(pck, x, progress)?;
            let spectrum = model.model.spectrum.clone();
            (Box::new(model), spectrum, kernel)
        }
        KernelSpec::Precomputed => {
            let (matrix, about) = Precomputed::watched(x.to_owned(), progress)?;
            warnings = about;
            let spectrum = kpca.fit_prior(&matrix, progress)?;
            (Box::new(spectrum.clone()), spectrum, spec.describe())
        }
        _ => {
            let fitted = spec.fit_watched(x, progress)?;
            let kernel = fitted.describe();
            let model = kpca.fit(fitted, x, progress)?;
            let spectrum = model.spectrum.clone();
            (Box::new(model), spectrum, kernel)
        }
    };
    let name = if flags.uncentred { "kernel PCA, uncentred" } else { "kernel PCA" };
    let mut fitted = spectral(name, x.nrows(), model, &spectrum);
    fitted.lines.insert(1, kernel.clone());
    fitted.warnings.extend(warnings);
    fitted.value["method"] = json!("kpca");
    fitted.value["centred"] = json!(!flags.uncentred);
    fitted.value["kernel"] = json!(kernel);
    Ok(fitted)
}

fn keca(flags: &Embed, spec: &KernelSpec, x: ArrayView2<f32>, progress: &dyn Progress) -> Result<Fitted> {
    let (components, seed) = (flags.components, flags.seed);
    let usual = Keca::default();
    let candidates = flags.candidates.unwrap_or(usual.candidates.max(components.saturating_mul(2)));
    let tolerance = flags.eigen_tolerance.unwrap_or(usual.tolerance);
    let keca = Keca { components, candidates, tolerance, seed, ..usual };
    let mut warnings = Vec::new();
    let (model, found, description): (Box<dyn dkae::Embed>, EntropyComponents, String) = match spec {
        KernelSpec::Precomputed => {
            let (matrix, about) = Precomputed::watched(x.to_owned(), progress)?;
            warnings = about;
            let found = keca.fit_prior(&matrix, progress)?;
            (Box::new(found.spectrum.clone()), found, spec.describe())
        }
        _ => {
            let kernel = spec.fit_watched(x, progress)?;
            let description = kernel.describe();
            let model = keca.fit_kernel(kernel, x, progress)?;
            let found = EntropyComponents {
                spectrum: model.spectrum.clone(),
                contributions: model.contributions.clone(),
                ranks: model.ranks.clone(),
                exact: model.exact,
            };
            (Box::new(model), found, description)
        }
    };
    let (contributions, exact) = (found.contributions.to_vec(), found.exact);
    let ranks: Vec<f64> = found.ranks.iter().map(|&r| (r + 1) as f64).collect();
    let mut fitted = spectral("kernel entropy components", x.nrows(), model, &found.spectrum);
    fitted.warnings.extend(warnings);
    fitted.lines.insert(1, description.clone());
    fitted.lines.push(format!("entropy terms {}", list(&contributions, number)));
    fitted.lines.push(format!("places by eigenvalue {}", list(&ranks, |r| r.to_string())));
    if !exact {
        let advice = "eigenpairs beyond the candidates may contribute more; raise --candidates to be sure";
        fitted.warnings.push(advice.into());
    }
    fitted.value["method"] = json!("keca");
    fitted.value["kernel"] = json!(description);
    fitted.value["contributions"] = json!(contributions);
    fitted.value["exact"] = json!(exact);
    Ok(fitted)
}

fn isomap(flags: &Embed, x: ArrayView2<f32>, progress: &dyn Progress) -> Result<Fitted> {
    let (components, seed) = (flags.components, flags.seed);
    let usual = Isomap::default();
    let neighbours = flags.neighbours.unwrap_or(usual.neighbours);
    let landmarks = flags.landmarks.unwrap_or(usual.landmarks);
    let model = Isomap { components, neighbours, landmarks, seed }.fit(x, progress)?;
    let (spectrum, scores, pieces) = (model.spectrum.clone(), model.scores.clone(), model.pieces);
    let mut fitted = spectral("ISOMAP", x.nrows(), Box::new(model), &spectrum);
    fitted.scores = scores;
    if pieces > 1 {
        let message = format!(
            "with {neighbours} neighbours the rows fall into {pieces} pieces, which were linked where they are \
             closest; raise --neighbours for a graph in one piece"
        );
        fitted.warnings.push(message);
    }
    fitted.value["method"] = json!("isomap");
    fitted.value["neighbours"] = json!(neighbours);
    fitted.value["pieces"] = json!(pieces);
    Ok(fitted)
}

/// What the methods that find eigenpairs have in common.
fn spectral(name: &str, rows: usize, model: Box<dyn dkae::Embed>, spectrum: &Spectrum) -> Fitted {
    let values = spectrum.values.to_vec();
    let lines = vec![format!("{name} of {rows} rows"), format!("eigenvalues {}", list(&values, number))];
    let mut warnings = Vec::new();
    if let Some(search) = spectrum.search.filter(|search| !search.converged) {
        let sweeps = search.sweeps;
        let message =
            format!("eigenpairs were still off by more than --eigen-tolerance after {sweeps} products with the matrix");
        warnings.push(message);
    }
    let empty = values.iter().filter(|&&v| v == 0.0).count();
    if empty > 0 {
        warnings.push(format!("the last {empty} of {} components are empty: the matrix has no more", values.len()));
    }
    let value = json!({ "eigenvalues": values, "converged": spectrum.search.is_none_or(|s| s.converged) });
    Fitted { map: Map::OneWay(model), scores: spectrum.scores(), lines, value, warnings }
}

/// The first few numbers.
fn list(values: &[f64], text: impl Fn(f64) -> String) -> String {
    const SHOWN: usize = 8;
    let mut shown: Vec<String> = values.iter().take(SHOWN).map(|&v| text(v)).collect();
    if values.len() > SHOWN {
        shown.push("...".into());
    }
    shown.join(", ")
}

/// Four digits, whatever the size.
fn number(v: f64) -> String {
    if v == 0.0 || (1e-2..1e5).contains(&v.abs()) { format!("{v:.4}") } else { format!("{v:.3e}") }
}
