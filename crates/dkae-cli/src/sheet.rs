//! The demo's figure: what was learned, on one sheet.

use anyhow::Result;
use dkae::code::Pca;
use dkae::kernel::Prior;
use dkae::net::{Model, Record};
use dkae::recipe::Prepared;
use dkae_report::Figure;
use dkae_report::curves::{Axis, Curves, Series};
use dkae_report::images::{Grid, Row};
use dkae_report::kernel::{Kernels, Matrix, groups};
use dkae_report::panel::{Part, Sheet};
use dkae_report::scatter::Map;
use ndarray::{Array2, ArrayView2, Axis as Dim};

/// Pictures shown.
const PICTURES: usize = 12;

/// Draws the sheet of a model of pictures with classes, on its test rows.
pub fn draw(model: &Model, prepared: &Prepared, prior: &dyn Prior) -> Result<Figure> {
    let x = &prepared.parts[2];
    let net = model.net();
    let codes = net.encode(x.view())?;
    let (labels, names) = match &prepared.labels {
        Some([_, _, test]) => (test.index.iter().map(|&l| l as usize).collect(), test.names.clone()),
        None => (vec![0; x.nrows()], Vec::new()),
    };
    let pictures = pictures(model, x, &labels)?;
    let kernels = kernels(codes.view(), prior, &labels, &names)?;
    let points = Pca { components: 2, ..Pca::default() }.fit(codes.view())?.transform(codes.view())?;
    let map = Map { width: 340.0, height: kernels.height(), ..Map::default() }.draw(points.view(), &labels, &names)?;
    let history = &model.about().history;
    let last = history.iter().map(|r| r.phase).max().unwrap_or(0);
    let fine: Vec<&Record> = history.iter().filter(|r| r.phase == last).collect();
    let reconstruction = curve(
        &fine,
        Axis::new("mean squared error per pixel").log(),
        0,
        |r| r.reconstruction,
        |(reconstruction, _)| reconstruction,
    )?;
    let code =
        curve(&fine, Axis::new("distance of the normalised kernels").from_zero(), 3, |r| r.code, |(_, code)| code)?;
    let figure = |name: &str| model.about().figures.get(name).copied().unwrap_or(f64::NAN);
    let sheet = Sheet {
        title: "Handwritten digits, learned with a kernel and a map both ways".into(),
        subtitle: format!(
            "{} trained on {} digits; a, b, c show {} others: squared error {:.4} per pixel, kernel distance {:.3}",
            net.architecture(),
            model.about().rows,
            x.nrows(),
            figure("test.reconstruction"),
            figure("test.code"),
        ),
        letters: true,
    };
    Ok(sheet.draw(&[
        vec![Part { title: "Digits, and what the decoder makes of their codes", figure: &pictures }],
        vec![
            Part { title: "Kernels, rows sorted by class", figure: &kernels },
            Part { title: "Codes on their first two components", figure: &map },
        ],
        vec![
            Part { title: "Reconstruction loss in fine-tuning", figure: &reconstruction },
            Part { title: "Code loss in fine-tuning", figure: &code },
        ],
    ])?)
}

/// Rows and their reconstructions: the first of each class, then more.
fn pictures(model: &Model, x: &Array2<f32>, labels: &[usize]) -> Result<Figure> {
    let mut order: Vec<usize> = (0..x.nrows()).collect();
    let turn = |i: usize| labels[..i].iter().filter(|&&l| l == labels[i]).count();
    order.sort_by_key(|&i| (turn(i), labels[i]));
    order.truncate(PICTURES);
    let shown = x.select(Dim(0), &order);
    let back = model.net().reconstruct(shown.view())?;
    let shape = crate::rows::picture(model.about().shape).unwrap_or(Grid::default().shape);
    Ok(Grid { shape, ..Grid::default() }.draw(&[
        Row { caption: "digit", pictures: shown.view() },
        Row { caption: "from its code", pictures: back.view() },
    ])?)
}

/// The prior and the kernel of the codes.
fn kernels(codes: ArrayView2<f32>, prior: &dyn Prior, labels: &[usize], names: &[String]) -> Result<Figure> {
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by_key(|&i| labels[i]);
    let mut p = Array2::zeros((order.len(), order.len()));
    prior.block(&order, &order, p.view_mut());
    let sorted = codes.select(Dim(0), &order);
    let c = sorted.dot(&sorted.t());
    let classes: Vec<usize> = order.iter().map(|&i| labels[i]).collect();
    let settings = Kernels { normalise: true, unit: "entry / RMS".into(), side: 230.0, ..Kernels::default() };
    let both = [Matrix { title: "prior kernel", values: p.view() }, Matrix { title: "code kernel", values: c.view() }];
    Ok(settings.draw(&both, &groups(&classes, names)?)?)
}

/// A loss over the steps of fine-tuning, on training batches and on validation rows.
fn curve(
    fine: &[&Record],
    axis: Axis,
    colour: usize,
    train: impl Fn(&Record) -> f32,
    validation: impl Fn((f32, f32)) -> f32,
) -> Result<Figure> {
    let (steps, losses): (Vec<f64>, Vec<f64>) = fine.iter().map(|r| (r.step as f64, f64::from(train(r)))).unzip();
    let looks = fine.iter().filter_map(|r| Some((r.step as f64, f64::from(validation(r.validation?)))));
    let (seen, found): (Vec<f64>, Vec<f64>) = looks.unzip();
    let chart = Curves { width: 455.0, height: 250.0, x: Axis::new("step"), y: axis, ..Curves::default() };
    let mut series = vec![Series::new("train", &steps, &losses, colour)];
    if !seen.is_empty() {
        series.push(Series::new("validation", &seen, &found, colour).dashed());
    }
    Ok(chart.draw(&series)?)
}
