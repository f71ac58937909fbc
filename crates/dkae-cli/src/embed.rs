//! `dkae embed`: rows to a few coordinates, by the methods that need no network.
//!
//! Everything is fitted on all rows of DATA, and these rows are embedded; with `--on` rows of another file are, by what was
//! fitted on DATA.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Result;
use clap::Args;
use dkae::Error;
use dkae::baseline::knn::{Knn, KnnModel};
use dkae::baseline::{Isomap, Keca, Kpca, Spectrum};
use dkae::code::Pca;
use dkae::data::read::{ReadOptions, read, read_many};
use dkae::data::scale::Scale;
use dkae::data::{Labels, Table, stream};
use dkae::kernel::{Kernel as _, KernelSpec, Precomputed, Rbf};
use dkae::math::check;
use dkae::progress::Progress;
use dkae_report::scatter::Map;
use ndarray::{Array2, ArrayView2, Axis};
use serde_json::{Value, json};

use crate::figure;
use crate::fit::about_rows;
use crate::flags::{KernelFlags, Reading};
use crate::rows::{BLOCK, by_blocks, compare_names, shown, write};
use crate::screen::{self, Screen, seconds, stop_requested};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dkae embed rows.csv --label class -o z.csv --figure map.svg       kernel PCA of the cluster kernel, and a map
  dkae embed rows.npy --method pca --components 32 -o z.npy         principal components
  dkae embed rows.npy --kernel rbf --rbf-width 50% -o z.npy         kernel PCA of another kernel
  dkae embed rows.npy --method isomap --neighbours 8 -o z.parquet   distances along the data
  dkae embed rows.npy --on new.npy -o z.npy                         fitted on rows.npy, new.npy embedded
  dkae embed p.npy --kernel precomputed -o z.npy                    kernel PCA of a kernel matrix

The method is fitted on all rows of DATA, scaled as `dkae fit` does unless --scale says otherwise. Without --on these rows
are embedded and written in their order; with it, those of the other file, which are read in the same way. With labels, it
is also said how often the nearest other row of the fit has a row's class. With --kernel precomputed DATA is a kernel
matrix, and the file of --on has a row of kernel values to the rows of DATA for each new row. Kernel PCA and KECA find their
eigenpairs to a thousandth of the eigenvalue.")]
pub struct Embed {
    /// The rows; several files of the same kind are put one after another
    #[arg(value_name = "DATA", required = true)]
    pub data: Vec<PathBuf>,
    /// Where to write the coordinates, one row for each: npy, csv, tsv or parquet
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// pca, kpca (kernel PCA), keca (kernel entropy components; rbf by default) or isomap
    #[arg(long, value_name = "METHOD", default_value = "kpca")]
    pub method: Method,
    /// Coordinates of an embedded row
    #[arg(long, value_name = "M", default_value_t = 2)]
    pub components: usize,
    /// Embed the rows of this file instead, by what was fitted on DATA
    #[arg(long, value_name = "DATA")]
    pub on: Option<PathBuf>,
    /// Draw the first two coordinates, by class: a file name ending in .svg or .png
    #[arg(long, value_name = "FILE")]
    pub figure: Option<PathBuf>,
    /// kpca: leave the mean in
    #[arg(long)]
    pub uncentred: bool,
    /// keca: leading eigenpairs among which components are chosen [default: 64, or twice the components]
    #[arg(long, value_name = "N")]
    pub candidates: Option<usize>,
    /// isomap: neighbours that each row is linked to [default: 5]
    #[arg(long, value_name = "K")]
    pub neighbours: Option<usize>,
    /// isomap: rows that paths are measured from, drawn at random [default: 1000, or all when there are fewer]
    #[arg(long, value_name = "N")]
    pub landmarks: Option<usize>,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 7)]
    pub seed: u64,
    /// auto, none, unit, unit-all or standard [default: auto]
    #[arg(long, value_name = "SCALE")]
    pub scale: Option<Scale>,
    #[command(flatten)]
    pub reading: Reading,
    #[command(flatten)]
    pub kernel: KernelFlags,
}

/// How rows are embedded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Method {
    /// Principal components.
    Pca,
    /// Kernel PCA.
    Kpca,
    /// Kernel entropy components.
    Keca,
    /// Distances along the data.
    Isomap,
}

/// A fitted method, the rows of the fit embedded, and what there is to say about it.
struct Fitted {
    model: Box<dyn dkae::Embed>,
    scores: Array2<f32>,
    lines: Vec<String>,
    value: Value,
    warnings: Vec<String>,
}

pub fn run(flags: &Embed, screen: Screen) -> Result<(String, Value)> {
    let start = Instant::now();
    refuse_idle(flags)?;
    let spec = kernel(flags)?;
    // A wrong name is found out now rather than after the work.
    stream::create(&flags.output, 1, None)?;
    if let Some(path) = &flags.figure {
        figure::check_name("figure", path)?;
        if flags.components < 2 {
            return Err(Error::setting("figure", "a map needs two coordinates; give --components 2 or more").into());
        }
    }
    let options = flags.reading.options();
    let table = screen.reading(|| read_many(&flags.data, &options))?;
    table.warnings.iter().for_each(screen::warn);
    check::finite(&flags.data[0].display().to_string(), table.x.view())?;
    check::components(flags.components, table.len(), "the number of rows")?;
    let scale = if spec == KernelSpec::Precomputed { Scale::None } else { flags.scale.unwrap_or_default() };
    let scaler = scale.fit(table.x.view(), table.shape).map_err(|e| about_rows(e.into(), &flags.data))?;
    let x = scaler.apply(table.x.view())?;
    let fitted = screen.watched("fitting", |progress| fit(flags, &spec, x.view(), progress));
    let fitted = fitted.map_err(|e| about_rows(e, &flags.data))?;
    let (z, labels) = match &flags.on {
        None => (fitted.scores.clone(), table.labels.clone()),
        Some(path) => {
            let new = read_new(path, &table, options, flags, screen)?;
            let rows = scaler.apply(new.x.view())?;
            (by_blocks("embedding", rows.view(), screen, |block| fitted.model.embed(block))?, new.labels)
        }
    };
    if !z.iter().all(|v| v.is_finite()) {
        let message = "the coordinates are not finite: values are so large that the kernel overflows; scale the rows, with \
                       --scale standard, or leave the largest out";
        let rows = flags.on.as_ref().unwrap_or(&flags.data[0]);
        return Err(Error::format(rows, "", message).into());
    }
    let names: Vec<String> = (1..=z.ncols()).map(|i| format!("component{i}")).collect();
    write(&flags.output, z.view(), Some(&names))?;
    if let Some(path) = &flags.figure {
        draw(path, z.view(), labels.as_ref())?;
    }

    let Fitted { mut lines, mut value, warnings, scores, .. } = fitted;
    warnings.iter().for_each(screen::warn);
    if let (Some(own), Some(labels)) = (&table.labels, &labels) {
        let right = nearest((scores.view(), own), (z.view(), labels), flags.on.is_none(), screen)?;
        if let Some(right) = right {
            lines.push(format!("nearest neighbour of the same class: {:.2} % of {} rows", 100.0 * right, z.nrows()));
            value["nearest_neighbour_accuracy"] = json!(right);
        }
    }
    let also = flags.figure.as_ref().map_or(String::new(), |path| format!(", {}", path.display()));
    let (rows, columns, output) = (z.nrows(), z.ncols(), flags.output.display());
    lines.push(format!("wrote {rows} rows of {columns} to {output}{also} in {}", seconds(start.elapsed())));
    value["rows"] = json!(rows);
    value["fitted_rows"] = json!(table.len());
    value["components"] = json!(columns);
    value["warnings"] = json!(warnings);
    value["output"] = json!(shown(&flags.output));
    value["figure"] = json!(flags.figure.as_deref().map(shown));
    value["seconds"] = json!(start.elapsed().as_secs_f64());
    Ok((lines.join("\n"), value))
}

/// Flags that would have no effect, which nobody means.
fn refuse_idle(flags: &Embed) -> Result<()> {
    let is = |method| flags.method == method;
    let kernel = is(Method::Kpca) || is(Method::Keca);
    let idle = [
        ("uncentred", flags.uncentred && !is(Method::Kpca), "is a setting of --method kpca"),
        ("candidates", flags.candidates.is_some() && !is(Method::Keca), "is a setting of --method keca"),
        ("neighbours", flags.neighbours.is_some() && !is(Method::Isomap), "is a setting of --method isomap"),
        ("landmarks", flags.landmarks.is_some() && !is(Method::Isomap), "is a setting of --method isomap"),
        ("method", flags.kernel != KernelFlags::default() && !kernel, "only kpca and keca have a kernel to set"),
        ("prior", flags.kernel.prior.is_some(), "give the matrix itself as DATA, with --kernel precomputed"),
    ];
    match idle.into_iter().find(|(_, given, _)| *given) {
        Some((flag, _, why)) => Err(Error::setting(flag, why).into()),
        None => Ok(()),
    }
}

/// The kernel in force.
fn kernel(flags: &Embed) -> Result<KernelSpec> {
    let mut spec = match flags.method {
        Method::Keca => KernelSpec::Rbf(Rbf::default()),
        _ => KernelSpec::default(),
    };
    flags.kernel.apply(&mut spec)?;
    spec.check()?;
    let refuse = |flag, why: &str| Err(Error::setting(flag, why).into());
    match spec {
        KernelSpec::Ideal => refuse("kernel", "the ideal kernel is made of labels: there is nothing to embed rows by"),
        KernelSpec::Precomputed if flags.method == Method::Keca => {
            refuse("kernel", "entropy components need a kernel with a formula; give the rows and one of the others")
        }
        KernelSpec::Precomputed if flags.scale.is_some() => refuse("scale", "a kernel matrix is taken as it is"),
        spec => Ok(spec.with_seed(flags.seed)),
    }
}

fn fit(flags: &Embed, spec: &KernelSpec, x: ArrayView2<f32>, progress: &dyn Progress) -> Result<Fitted> {
    let (components, seed) = (flags.components, flags.seed);
    match flags.method {
        Method::Pca => {
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
            Ok(Fitted { scores: model.transform(x)?, model: Box::new(model), lines, value, warnings: Vec::new() })
        }
        Method::Kpca => {
            let kpca = Kpca { components, centred: !flags.uncentred, seed, ..Kpca::default() };
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
                    let (matrix, about) = Precomputed::new(x.to_owned())?;
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
        Method::Keca => {
            let usual = Keca::default();
            let candidates = flags.candidates.unwrap_or(usual.candidates.max(components.saturating_mul(2)));
            let kernel = spec.fit_watched(x, progress)?;
            let description = kernel.describe();
            let model = Keca { components, candidates, seed, ..usual }.fit_kernel(kernel, x, progress)?;
            let (spectrum, contributions) = (model.spectrum.clone(), model.contributions.to_vec());
            let ranks: Vec<f64> = model.ranks.iter().map(|&r| (r + 1) as f64).collect();
            let exact = model.exact;
            let mut fitted = spectral("kernel entropy components", x.nrows(), Box::new(model), &spectrum);
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
        Method::Isomap => {
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
    }
}

/// What the methods that find eigenpairs have in common.
fn spectral(name: &str, rows: usize, model: Box<dyn dkae::Embed>, spectrum: &Spectrum) -> Fitted {
    let values = spectrum.values.to_vec();
    let lines = vec![format!("{name} of {rows} rows"), format!("eigenvalues {}", list(&values, number))];
    let mut warnings = Vec::new();
    if let Some(search) = spectrum.search.filter(|search| !search.converged) {
        let message = format!("the eigenpairs were still changing after {} products with the matrix", search.sweeps);
        warnings.push(message);
    }
    let empty = values.iter().filter(|&&v| v == 0.0).count();
    if empty > 0 {
        warnings.push(format!("the last {empty} of {} components are empty: the matrix has no more", values.len()));
    }
    let value = json!({ "eigenvalues": values, "converged": spectrum.search.is_none_or(|s| s.converged) });
    Fitted { model, scores: spectrum.scores(), lines, value, warnings }
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

/// The rows of another file, which must be of the same kind.
fn read_new(path: &Path, fitted: &Table, options: ReadOptions, flags: &Embed, screen: Screen) -> Result<Table> {
    // A sparse file of few rows may not mention the last features; a file of labels belongs to DATA.
    let width = options.width.or(Some(fitted.x.ncols()));
    let options = ReadOptions { width, labels_file: None, ..options };
    let new = screen.reading(|| match read(path, &options) {
        // New rows often have no class.
        Err(Error::Setting { name: "label", .. }) => read(path, &ReadOptions { label: None, ..options }),
        result => result,
    })?;
    new.warnings.iter().for_each(screen::warn);
    check::finite(&path.display().to_string(), new.x.view())?;
    let (found, expected, data) = (new.x.ncols(), fitted.x.ncols(), flags.data[0].display());
    if found != expected {
        let message = format!("{}: rows of {found} columns, but {data} has {expected}", path.display());
        return Err(Error::Data(message).into());
    }
    compare_names(path, new.names.as_deref(), &format!("{data} has"), fitted.names.as_deref())?;
    Ok(new)
}

/// How often the nearest row of the fit has the same class; `same` when the rows asked about are those of the fit, which
/// do not count themselves. Nothing when there is no other row.
fn nearest(
    fit: (ArrayView2<f32>, &Labels),
    new: (ArrayView2<f32>, &Labels),
    same: bool,
    screen: Screen,
) -> Result<Option<f64>> {
    let k = if same { 2 } else { 1 };
    if fit.0.nrows() < k || new.0.nrows() == 0 {
        return Ok(None);
    }
    let model: KnnModel = Knn { k }.fit(fit.0, &fit.1.index)?;
    let progress = screen.rows("comparing neighbours of", Some(new.0.nrows()));
    let mut right = 0;
    for (number, block) in new.0.axis_chunks_iter(Axis(0), BLOCK).enumerate() {
        if stop_requested() {
            return Err(Error::Interrupted.into());
        }
        for (i, found) in model.neighbours(block)?.rows.rows().into_iter().enumerate() {
            let row = number * BLOCK + i;
            // Of equal rows either may come first.
            let other = found.iter().find(|&&other| !same || other != row);
            let name = |labels: &Labels, row: usize| labels.names[labels.index[row] as usize].clone();
            right += usize::from(other.is_some_and(|&other| name(fit.1, other) == name(new.1, row)));
        }
        progress.add(block.nrows());
    }
    progress.finish(new.0.nrows());
    Ok(Some(right as f64 / new.0.nrows() as f64))
}

/// A map of the first two coordinates.
fn draw(path: &Path, z: ArrayView2<f32>, labels: Option<&Labels>) -> Result<()> {
    let axes = ["component 1", "component 2"].map(String::from);
    let classes: Vec<usize> = labels.map_or(Vec::new(), |l| l.index.iter().map(|&i| i as usize).collect());
    let names = labels.map_or(&[][..], |l| &l.names);
    let map = Map { width: 520.0, height: 520.0, axes, ..Map::default() };
    figure::save(path, &map.draw(z.slice(ndarray::s![.., ..2]), &classes, names)?)
}
