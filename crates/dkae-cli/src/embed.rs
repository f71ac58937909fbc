//! `dkae embed`: rows to a few coordinates, by the methods that need no network, and back.
//!
//! Everything is fitted on all rows of DATA, and these rows are embedded; with `--on` rows of another file are, by what was
//! fitted on DATA.

mod methods;

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use dkae::Error;
use dkae::baseline::knn::{Knn, KnnModel};
use dkae::data::prepare::Preparation;
use dkae::data::read::ReadOptions;
use dkae::data::scale::Scale;
use dkae::data::split::Split;
use dkae::data::{Labels, stream};
use dkae::kernel::{KernelSpec, Rbf};
use dkae::math::check;
use dkae::metrics::mean_squared_error;
use dkae::recipe::{Recipe, Source};
use dkae_report::scatter::Map as Scatter;
use ndarray::{Array2, ArrayView2, Axis};
use serde_json::{Value, json};

use crate::figure;
use crate::fit::{about_rows, with_rows};
use crate::flags::{Embed, Embedding, KernelFlags};
use crate::rows::{BLOCK, Like, by_blocks, read_like, shown, write, write_raw};
use crate::screen::{self, Screen, seconds, stop_requested};
use methods::{Fitted, Map};

pub fn run(flags: &Embed, screen: Screen) -> Result<(String, Value)> {
    refuse_idle(flags)?;
    let spec = kernel(flags)?;
    let mut recipe = Recipe { seed: flags.seed, ..Recipe::default() };
    flags.rows.apply(&mut recipe);
    if spec == KernelSpec::Precomputed {
        recipe.scale = Scale::None;
    }
    recipe.check()?;
    // A wrong name is found out now rather than after the work.
    stream::create(&flags.output, 1, None)?;
    if let Some(path) = &flags.reconstruct {
        stream::create(path, 1, None).map_err(|e| match e {
            Error::Setting { message, .. } => Error::setting("reconstruct", message),
            other => other,
        })?;
    }
    if let Some(path) = &flags.figure {
        figure::check_name("figure", path)?;
        if flags.components < 2 {
            return Err(Error::setting("figure", "a map needs two coordinates; give --components 2 or more").into());
        }
    }
    let (start, options) = (Instant::now(), flags.reading.options());
    with_rows(&flags.data, &options, &recipe, screen, |source, _| {
        let (mut lines, mut value) = embed(flags, &spec, &recipe, source, &options, screen)?;
        let files = [Some(&flags.output), flags.reconstruct.as_ref(), flags.figure.as_ref()];
        let names: Vec<String> = files.into_iter().flatten().map(|path| path.display().to_string()).collect();
        let (rows, columns) = (&value["rows"], &value["components"]);
        lines.push(format!("wrote {rows} rows of {columns} to {} in {}", names.join(", "), seconds(start.elapsed())));
        value["output"] = json!(shown(&flags.output));
        value["reconstruct"] = json!(flags.reconstruct.as_deref().map(shown));
        value["figure"] = json!(flags.figure.as_deref().map(shown));
        value["seconds"] = json!(start.elapsed().as_secs_f64());
        Ok((lines.join("\n"), value))
    })
}

/// Rows that were prepared, where they are, and their classes. Rows with gaps are NaN, and so are their coordinates.
struct Embedded {
    x: Array2<f32>,
    z: Array2<f32>,
    labels: Option<Labels>,
}

impl Embedded {
    fn select(&self, rows: &[usize]) -> Embedded {
        let labels = self.labels.as_ref().map(|labels| labels.select(rows));
        Embedded { x: self.x.select(Axis(0), rows), z: self.z.select(Axis(0), rows), labels }
    }
}

/// Fits, embeds, writes.
fn embed(
    flags: &Embed,
    spec: &KernelSpec,
    recipe: &Recipe,
    source: &Source,
    options: &ReadOptions,
    screen: Screen,
) -> Result<(Vec<String>, Value)> {
    let split = drawn(source.x.len(), recipe)?;
    check::components(flags.components, split.train.len(), "the number of rows")?;
    let ours = |e: dkae::Error| about_rows(e.into(), &flags.data);
    let prepared = screen.watched("preparing the rows", |progress| recipe.prepare_split(source, split, progress));
    let prepared = prepared.map_err(ours)?;
    let ([x, ..], preparation) = (prepared.parts, prepared.preparation);
    let labels = prepared.labels.map(|[labels, ..]| labels);
    let fitted = screen.watched("fitting", |progress| {
        let fitted = methods::fit(flags, spec, x.view(), progress)?;
        if flags.reconstruct.is_some() { fitted.with_way_back(x.view(), flags.seed, progress) } else { Ok(fitted) }
    });
    let fitted: Fitted = fitted.map_err(|e| about_rows(e, &flags.data))?;
    let own = Embedded { x, z: fitted.scores, labels };
    let other = match &flags.on {
        None => None,
        Some(path) => Some(read_new(path, source, &preparation, &fitted.map, flags, screen)?),
    };
    let written = other.as_ref().unwrap_or(&own);
    let whole: Vec<usize> = (0..written.x.nrows()).filter(|&i| !written.x.row(i).iter().any(|v| v.is_nan())).collect();
    let (known, file) = (written.select(&whole), flags.on.as_ref().unwrap_or(&flags.data[0]));
    if !known.z.iter().all(|v| v.is_finite()) {
        let message = "the coordinates are not finite: values are so large that the kernel overflows; scale the rows, with \
                       --scale standard, or leave the largest out";
        return Err(Error::format(file, "", message).into());
    }
    if flags.figure.is_some() && whole.is_empty() {
        return Err(Error::setting("figure", "there is nothing to draw: every row has missing values").into());
    }
    let Fitted { mut lines, mut value, mut warnings, map, .. } = fitted;
    if let (Some(path), Map::BothWays(map)) = (&flags.reconstruct, &map) {
        let back = by_blocks("reconstructing", written.z.view(), screen, |z| past_gaps(z, |z| map.invert(z)))?;
        write_raw(path, back.view(), &preparation, source.names, options)?;
        if !whole.is_empty() {
            let error = mean_squared_error(known.x.view(), back.select(Axis(0), &whole).view())?;
            let whose = if flags.on.is_some() { "rows that were not fitted on" } else { "rows that were fitted on" };
            lines.push(format!("squared error per value of the rows written, {whose}: {error:.5}"));
            value["mse"] = json!(error);
        }
    }
    let names: Vec<String> = (1..=written.z.ncols()).map(|i| format!("component{i}")).collect();
    write(&flags.output, written.z.view(), Some(&names))?;
    if let Some(path) = &flags.figure {
        draw(path, known.z.view(), known.labels.as_ref())?;
    }
    let missing = written.x.nrows() - known.x.nrows();
    if missing > 0 {
        let (file, rows) = (file.display(), written.x.nrows());
        warnings.push(format!("{file}: {missing} of {rows} rows have missing values; their results are NaN"));
    }
    warnings.iter().for_each(screen::warn);
    if let Some(right) = nearest(&own, &known, flags.on.is_none(), screen)? {
        lines.push(format!("nearest neighbour of the same class: {:.2} % of {} rows", 100.0 * right, known.z.nrows()));
        value["nearest_neighbour_accuracy"] = json!(right);
    }
    if recipe.take.is_some() {
        let number = |&i: &usize| source.numbers.map_or(i, |numbers| numbers[i]);
        value["taken"] = json!(prepared.split.train.iter().map(number).collect::<Vec<usize>>());
    }
    value["rows"] = json!(written.z.nrows());
    value["fitted_rows"] = json!(own.z.nrows());
    value["components"] = json!(written.z.ncols());
    value["warnings"] = json!(warnings);
    Ok((lines, value))
}

/// All rows, or those that are drawn, in their order.
fn drawn(n: usize, recipe: &Recipe) -> Result<Split> {
    let mut split = Split::random_of(n, recipe.take.unwrap_or(n), [1.0, 0.0, 0.0], recipe.seed)?;
    split.train.sort_unstable();
    Ok(split)
}

/// Flags that would have no effect, which nobody means.
fn refuse_idle(flags: &Embed) -> Result<()> {
    let is = |method| flags.method == method;
    let kernel = is(Embedding::Kpca) || is(Embedding::Keca);
    let (matrix, rows) = (flags.kernel.kernel.as_deref() == Some("precomputed"), &flags.rows);
    let idle = [
        ("uncentred", flags.uncentred && !is(Embedding::Kpca), "is a setting of --method kpca"),
        ("candidates", flags.candidates.is_some() && !is(Embedding::Keca), "is a setting of --method keca"),
        ("neighbours", flags.neighbours.is_some() && !is(Embedding::Isomap), "is a setting of --method isomap"),
        ("landmarks", flags.landmarks.is_some() && !is(Embedding::Isomap), "is a setting of --method isomap"),
        ("method", flags.kernel != KernelFlags::default() && !kernel, "only kpca and keca have a kernel to set"),
        ("eigen-tolerance", flags.eigen_tolerance.is_some() && !kernel, "is a setting of --method kpca and keca"),
        ("reconstruct", flags.reconstruct.is_some() && matrix, "a kernel matrix does not say what its rows are"),
        ("scale", rows.scale.is_some() && matrix, "a kernel matrix is taken as it is"),
        ("svd", rows.svd.is_some() && matrix, "a kernel matrix is taken as it is"),
        ("take", rows.take.is_some() && matrix, "a kernel matrix is taken as it is"),
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
        Embedding::Keca => KernelSpec::Rbf(Rbf::default()),
        _ => KernelSpec::default(),
    };
    flags.kernel.apply(&mut spec)?;
    spec.check()?;
    if spec == KernelSpec::Ideal {
        let message = "the ideal kernel is made of labels: there is nothing to embed rows by";
        return Err(Error::setting("kernel", message).into());
    }
    Ok(spec.with_seed(flags.seed))
}

/// The rows of another file, which must be of the same kind, and where they are.
fn read_new(
    path: &Path,
    source: &Source,
    preparation: &Preparation,
    map: &Map,
    flags: &Embed,
    screen: Screen,
) -> Result<Embedded> {
    let options = flags.reading.options_for_more();
    let who = format!("{} has", flags.data[0].display());
    let like = Like {
        who,
        width: source.x.width(),
        names: source.names,
        gaps: options.allow_missing,
        counts: preparation.text.is_some(),
        units: None,
    };
    let files = [path.to_owned()];
    let new = read_like(&like, &files, &options, screen, |x| past_gaps(x, |x| preparation.apply(x)))?;
    let z = by_blocks("embedding", new.x.view(), screen, |x| past_gaps(x, |x| map.embed(x)))?;
    Ok(Embedded { x: new.x, z, labels: new.labels })
}

/// What `work` makes of rows; of those with gaps it is NaN.
fn past_gaps(
    x: ArrayView2<f32>,
    work: impl Fn(ArrayView2<f32>) -> dkae::Result<Array2<f32>>,
) -> dkae::Result<Array2<f32>> {
    let gaps: Vec<usize> = (0..x.nrows()).filter(|&i| !x.row(i).iter().all(|v| v.is_finite())).collect();
    if gaps.is_empty() {
        return work(x);
    }
    let mut filled = x.to_owned();
    gaps.iter().for_each(|&i| filled.row_mut(i).fill(0.0));
    let mut made = work(filled.view())?;
    gaps.iter().for_each(|&i| made.row_mut(i).fill(f32::NAN));
    Ok(made)
}

/// How often the nearest row of the fit has the same class; `same` when the rows asked about are those of the fit, which
/// do not count themselves. Nothing when there is no other row, or no class.
fn nearest(fit: &Embedded, new: &Embedded, same: bool, screen: Screen) -> Result<Option<f64>> {
    let (Some(own), Some(labels)) = (&fit.labels, &new.labels) else { return Ok(None) };
    let (fit, new) = ((fit.z.view(), own), (new.z.view(), labels));
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
    let map = Scatter { width: 520.0, height: 520.0, axes, ..Scatter::default() };
    figure::save(path, &map.draw(z.slice(ndarray::s![.., ..2]), &classes, names)?)
}
