//! `dkae walk`: the straight line between two codes, decoded.

use std::path::Path;

use anyhow::Result;
use dkae::Error;
use dkae::code::{KMeans, walk};
use dkae::math::rng::{Purpose, sample, stream};
use dkae::net::Model;
use dkae_report::images::{Grid, Row, Shape};
use ndarray::{Array1, Array2, ArrayView2, Axis};
use serde_json::{Value, json};

use crate::figure;
use crate::flags::Walk;
use crate::rows::{Like, encode, load_model, picture, read_like, shown, write};
use crate::screen::{Screen, count};

/// What is wrong when no ends are given.
const NOWHERE: &str =
    "give --from I and --to J, two rows to walk between, or --clusters K, to walk between centroids of their codes";

/// Two codes, and what they are called.
struct Ends {
    name: String,
    from: Array1<f32>,
    to: Array1<f32>,
}

pub fn run(flags: &Walk, screen: Screen) -> Result<(String, Value)> {
    if flags.from.is_none() && flags.clusters.is_none() {
        return Err(Error::setting("from", NOWHERE).into());
    }
    let at = &flags.files;
    let model = load_model(&at.model, &at.data)?;
    dkae::data::stream::create(&at.output, model.input_width(), None)?;
    let shape = flags.figure.as_deref().map(|path| figure_shape(path, &model)).transpose()?;
    let (files, options) = (std::slice::from_ref(&at.data), flags.reading.options());
    let like = Like::model(&at.model, &model);
    let mut range = (f32::INFINITY, f32::NEG_INFINITY);
    let table = read_like(&like, files, &options, screen, |x| {
        range = x.iter().fold(range, |(low, high), &v| (low.min(v), high.max(v)));
        model.preparation().apply(x)
    })?;
    // Black to white is what the model knows, or else what is there.
    let range = like.units.as_ref().and_then(|units| units.range()).unwrap_or(range);
    let ends = match (flags.from, flags.to, flags.clusters) {
        (Some(from), Some(to), _) => rows(flags, &model, table.x.view(), from, to)?,
        (_, _, Some(clusters)) => centroids(flags, clusters, encode(&model, table.x.view(), screen)?.view(), screen)?,
        _ => return Err(Error::setting("from", NOWHERE).into()),
    };
    let walks: Vec<Array2<f32>> = ends
        .iter()
        .map(|e| walk(e.from.view(), e.to.view(), flags.steps).and_then(|codes| model.decode(codes.view())))
        .collect::<dkae::Result<_>>()?;
    let views: Vec<_> = walks.iter().map(|w| w.view()).collect();
    let all = ndarray::concatenate(Axis(0), &views).map_err(|e| Error::Data(e.to_string()))?;
    write(&at.output, all.view(), model.about().names.as_deref())?;
    let names: Vec<&str> = ends.iter().map(|e| e.name.as_str()).collect();
    let (walks_written, steps) = (count(ends.len(), "walk"), count(flags.steps, "step"));
    let mut text = format!("wrote {walks_written} of {steps} to {}", at.output.display());
    if let (Some(path), Some(shape)) = (&flags.figure, shape) {
        draw(path, shape, &ends, &walks, range)?;
        text += &format!(", drawn in {}", path.display());
    }
    if flags.clusters.is_some() {
        text += &format!(": {}", names.join(", "));
    }
    let value = json!({
        "walks": names, "steps": flags.steps, "rows": all.nrows(), "columns": all.ncols(), "output": shown(&at.output),
        "figure": flags.figure.as_deref().map(shown),
    });
    Ok((text, value))
}

fn figure_shape(path: &Path, model: &Model) -> Result<Shape> {
    figure::check_name("figure", path)?;
    picture(model.about().shape).ok_or_else(|| {
        Error::setting("figure", "only walks between pictures can be drawn, and the model was not trained on pictures")
            .into()
    })
}

/// The codes of two prepared rows.
fn rows(flags: &Walk, model: &Model, x: ArrayView2<f32>, from: usize, to: usize) -> Result<Vec<Ends>> {
    for (flag, row) in [("from", from), ("to", to)] {
        if row >= x.nrows() {
            let (file, last) = (flags.files.data.display(), x.nrows() - 1);
            return Err(Error::setting(
                flag,
                format!("expected a row of {file}, 0 to {last} (counted from 0), found {row}"),
            )
            .into());
        }
    }
    let codes = model.net().encode(x.select(Axis(0), &[from, to]).view())?;
    let name = format!("{from} to {to}");
    Ok(vec![Ends { name, from: codes.row(0).to_owned(), to: codes.row(1).to_owned() }])
}

/// Pairs of centroids of the codes.
fn centroids(flags: &Walk, clusters: usize, codes: ArrayView2<f32>, screen: Screen) -> Result<Vec<Ends>> {
    if clusters < 2 {
        return Err(Error::setting("clusters", format!("a walk needs at least 2, found {clusters}")).into());
    }
    if clusters > codes.nrows() {
        let message = format!("expected at most {}, as many as there are rows, found {clusters}", codes.nrows());
        return Err(Error::setting("clusters", message).into());
    }
    let all: Vec<(usize, usize)> = (0..clusters).flat_map(|i| (i + 1..clusters).map(move |j| (i, j))).collect();
    if flags.pairs == 0 || flags.pairs > all.len() {
        let message = format!("expected 1 to {}, the pairs of {clusters} clusters, found {}", all.len(), flags.pairs);
        return Err(Error::setting("pairs", message).into());
    }
    let settings = KMeans { clusters, seed: flags.seed, ..KMeans::default() };
    let found = screen.watched("clustering", |progress| settings.fit(codes, progress))?;
    let centroid = |i: usize| found.centroids.row(i).to_owned();
    let drawn = sample(&mut stream(flags.seed, Purpose::KMeans, u64::MAX, 0), all.len(), flags.pairs);
    Ok(drawn
        .into_iter()
        .map(|i| all[i])
        .map(|(i, j)| Ends { name: format!("cluster {i} to {j}"), from: centroid(i), to: centroid(j) })
        .collect())
}

/// One row of pictures for each walk; the range is black to white.
fn draw(path: &Path, shape: Shape, ends: &[Ends], walks: &[Array2<f32>], (low, high): (f32, f32)) -> Result<()> {
    let scaled: Vec<Array2<f32>> =
        walks.iter().map(|w| w.mapv(|v| (v - low) / (high - low).max(f32::MIN_POSITIVE))).collect();
    let lines: Vec<Row> = ends.iter().zip(&scaled).map(|(e, w)| Row { caption: &e.name, pictures: w.view() }).collect();
    figure::save(path, &Grid { shape, ..Grid::default() }.draw(&lines)?)
}
