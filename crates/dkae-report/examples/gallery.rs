//! Every kind of figure, drawn into a folder: `cargo run --release -p dkae-report --example gallery -- FOLDER`.
//!
//! The pictures are the optdigits set, read from `$DKAE_DATA` or `../shared/data`; where there is none, noisy blobs
//! stand in. Kernels and maps are computed from them in a few lines, the curves are made up.

use dkae::code::Pca;
use dkae::data::read::{Column, ReadOptions, read};
use dkae_report::curves::{Axis, Curves, Series};
use dkae_report::images::{Grid, Row, Shape};
use dkae_report::kernel::{Kernels, Matrix, groups};
use dkae_report::panel::{Part, Sheet};
use dkae_report::scatter::Map;
use dkae_report::{Figure, Result};
use ndarray::{Array1, Array2, Axis as Dim, s};
use std::path::{Path, PathBuf};

fn main() -> Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "gallery".to_owned()));
    if let Err(source) = std::fs::create_dir_all(&folder) {
        return Err(dkae::Error::io(&folder)(source).into());
    }
    let save = |name: &str, figure: &Figure| -> Result<()> {
        figure.save_svg(folder.join(name).with_extension("svg"))?;
        figure.save_png(folder.join(name).with_extension("png"), 2.0)?;
        println!("{name}: {} x {}, {} KB of SVG", figure.width(), figure.height(), figure.svg().len() / 1024);
        Ok(())
    };
    let (x, labels) = digits().unwrap_or_else(|| {
        println!("no optdigits under DKAE_DATA or ../shared/data: drawing blobs instead");
        blobs()
    });
    let names: Vec<String> = (0..10).map(|d| d.to_string()).collect();

    // Pictures: originals, and what is left of them with 4 and 16 principal components.
    let (first, mean) = (x.slice(s![..12, ..]), x.mean_axis(Dim(0)).unwrap_or_default());
    let components = Pca { components: 16, ..Pca::default() }.fit(x.view())?.components;
    let back = |k: usize| {
        let basis = components.slice(s![..k, ..]);
        (&first - &mean).dot(&basis.t()).dot(&basis) + &mean
    };
    let (few, more) = (back(4), back(16));
    let grid = Grid { shape: Shape { channels: 1, height: 8, width: 8 }, cell: 56.0, ..Grid::default() };
    let originals = grid.draw(&[
        Row { caption: "original", pictures: first },
        Row { caption: "16 components", pictures: more.view() },
        Row { caption: "4 components", pictures: few.view() },
    ])?;
    save("images", &originals)?;
    let ink = Grid {
        invert: true,
        title: "Ink on paper".into(),
        columns: labels[..12].iter().map(|l| format!("a {l}")).collect(),
        ..grid.clone()
    };
    save("images-ink", &ink.draw(&[Row { caption: "", pictures: first }])?)?;
    let colour = Array2::from_shape_fn((6, 3 * 32 * 32), |(k, at)| {
        let (c, y, x) = (at / 1024, at / 32 % 32, at % 32);
        (0.5 + 0.5 * ((x as f32 * (c + 1) as f32 + y as f32 * k as f32) / 24.0).sin()) * (1.0 - 0.02 * (y as f32))
    });
    let grid = Grid { shape: Shape { channels: 3, height: 32, width: 32 }, cell: 64.0, ..Grid::default() };
    let dim = colour.mapv(|v| 0.6 * v + 0.1);
    save(
        "images-colour",
        &grid.draw(&[
            Row { caption: "original", pictures: colour.view() },
            Row { caption: "dimmed", pictures: dim.view() },
        ])?,
    )?;

    // Kernels: an RBF kernel of 600 rows sorted by class, and a power of the cosine.
    let mut order: Vec<usize> = (0..x.nrows().min(600)).collect();
    order.sort_by_key(|&i| labels[i]);
    let sorted = x.select(Dim(0), &order);
    let classes: Vec<usize> = order.iter().map(|&i| labels[i]).collect();
    let squares: Array1<f32> = sorted.map_axis(Dim(1), |r| r.dot(&r));
    let inner = sorted.dot(&sorted.t());
    let rbf =
        Array2::from_shape_fn(inner.dim(), |(i, j)| (-(squares[i] + squares[j] - 2.0 * inner[[i, j]]) / 6.0).exp());
    let code_kernel =
        Array2::from_shape_fn(inner.dim(), |(i, j)| (inner[[i, j]] / (squares[i] * squares[j]).sqrt()).powi(8));
    let groups_of_rows = groups(&classes, &names)?;
    let both = [
        Matrix { title: "Prior kernel P", values: rbf.view() },
        Matrix { title: "Code kernel C", values: code_kernel.view() },
    ];
    let kernels =
        Kernels { normalise: true, unit: "entry / RMS".into(), ..Kernels::default() }.draw(&both, &groups_of_rows)?;
    save("kernels", &kernels)?;
    let topics = ["corporate", "economics", "government & <social>", "markets"];
    let topic_rows: Vec<usize> = classes.iter().map(|&c| [0, 0, 0, 0, 1, 2, 2, 2, 3, 3][c]).collect();
    let one = Matrix { title: "P", values: rbf.view() };
    save("kernel-names", &Kernels { side: 300.0, ..Kernels::default() }.draw(&[one], &groups(&topic_rows, &topics)?)?)?;

    // Curves.
    let steps: Vec<f64> = (0..=60).map(|i| f64::from(i) * 100.0).collect();
    let decay = |from: f64, to: f64, rate: f64, wobble: f64| -> Vec<f64> {
        let shake = |i: usize| 1.0 + wobble * ((i * 7919 % 101) as f64 / 101.0 - 0.5);
        steps.iter().enumerate().map(|(i, s)| (to + (from - to) * (-s / rate).exp()) * shake(i)).collect()
    };
    let (rt, rv) = (decay(0.11, 0.018, 900.0, 0.06), decay(0.115, 0.022, 900.0, 0.03));
    let (ct, cv) = (decay(1.1, 0.31, 1500.0, 0.05), decay(1.12, 0.34, 1500.0, 0.02));
    let chart = Curves {
        title: "Training".into(),
        x: Axis::new("step"),
        y: Axis::new("reconstruction loss").log(),
        right: Some(Axis::new("code loss").from_zero()),
        marks: vec![(1500.0, "fine-tuning".into())],
        ..Curves::default()
    };
    let losses = [
        Series::new("reconstruction", &steps, &rt, 0),
        Series::new("validation", &steps, &rv, 0).dashed(),
        Series::new("code loss", &steps, &ct, 3).right(),
        Series::new("validation", &steps, &cv, 3).right().dashed(),
    ];
    save("curves-two-axes", &chart.draw(&losses)?)?;
    let lambda = [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0];
    let chart = Curves {
        x: Axis::new("λ").at(&lambda),
        y: Axis::new("reconstruction loss, validation"),
        right: Some(Axis::new("code loss, validation")),
        ..Curves::default()
    };
    save(
        "curves-lambda",
        &chart.draw(&[
            Series::new("reconstruction", &lambda, &[0.012, 0.013, 0.015, 0.02, 0.03, 0.045, 0.09], 0).marked(),
            Series::new("code", &lambda, &[0.9, 0.52, 0.41, 0.36, 0.33, 0.32, 0.315], 3).marked().right(),
        ])?,
    )?;
    let m: Vec<f64> = (0..10).map(|i| f64::from(1 << i)).collect();
    let (train, out): (Vec<f64>, Vec<f64>) = m.iter().map(|m| (0.9 / m.sqrt(), 0.95 / m.powf(0.45))).unzip();
    let chart = Curves {
        title: "Distance to the prior".into(),
        x: Axis::new("components").log(),
        y: Axis::new("‖P − K‖").log(),
        ..Curves::default()
    };
    save(
        "curves-log",
        &chart.draw(&[
            Series::new("kPCA, training", &m, &train, 0).marked(),
            Series::new("kPCA, Nyström", &m, &out, 4).marked().dashed(),
            Series::new("dkAE, training", &[1.0, 512.0], &[0.2, 0.2], 2),
            Series::new("dkAE, test", &[1.0, 512.0], &[0.21, 0.21], 3).dashed(),
        ])?,
    )?;

    // Maps.
    let map = (&x - &mean).dot(&components.slice(s![..2, ..]).t());
    let axes = ["component 1".to_owned(), "component 2".to_owned()];
    let chart = Map { title: "All digits".into(), width: 520.0, height: 480.0, axes, ..Map::default() };
    save("map", &chart.draw(map.view(), &labels, &names)?)?;
    let few_topics: Vec<usize> = labels.iter().map(|&c| [0, 0, 0, 0, 1, 2, 2, 2, 3, 3][c]).collect();
    save("map-names", &Map::default().draw(map.slice(s![..250, ..]), &few_topics[..250], &topics)?)?;

    // The sheet of the demo.
    let matrices = Kernels { normalise: true, unit: "entry / RMS".into(), side: 230.0, ..Kernels::default() }
        .draw(&both, &groups_of_rows)?;
    let map = Map { width: 340.0, height: matrices.height(), ..Map::default() }.draw(
        map.slice(s![..1500, ..]),
        &labels[..1500],
        &names,
    )?;
    let top = Grid { shape: Shape { channels: 1, height: 8, width: 8 }, cell: 56.0, ..Grid::default() }.draw(&[
        Row { caption: "original", pictures: first },
        Row { caption: "reconstruction", pictures: more.view() },
    ])?;
    let half = |axis: Axis| Curves { width: 455.0, height: 250.0, x: Axis::new("step"), y: axis, ..Curves::default() };
    let left = half(Axis::new("mean squared error").log())
        .draw(&[Series::new("train", &steps, &rt, 0), Series::new("validation", &steps, &rv, 0).dashed()])?;
    let right = half(Axis::new("distance of the normalised kernels").from_zero())
        .draw(&[Series::new("train", &steps, &ct, 3), Series::new("validation", &steps, &cv, 3).dashed()])?;
    let sheet = Sheet {
        title: "A sheet, as the demo draws it".into(),
        subtitle: "pictures by 16 principal components, kernels of the inputs, losses made up".into(),
        letters: true,
    };
    save(
        "sheet",
        &sheet.draw(&[
            vec![Part { title: "Rows and their reconstructions", figure: &top }],
            vec![
                Part { title: "Kernels, rows sorted by class", figure: &matrices },
                Part { title: "Codes in two dimensions", figure: &map },
            ],
            vec![Part { title: "Reconstruction loss", figure: &left }, Part { title: "Code loss", figure: &right }],
        ])?,
    )
}

/// The optdigits training set: pixels in [0, 1] and labels.
fn digits() -> Option<(Array2<f32>, Vec<usize>)> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let data = std::env::var_os("DKAE_DATA").map_or(beside, PathBuf::from);
    let options = ReadOptions { label: Some(Column::Last), ..ReadOptions::default() };
    let table = read(data.join("digits/optdigits.tra.csv.gz"), &options).ok()?;
    Some((table.x / 16.0, table.labels?.index.into_iter().map(|label| label as usize).collect()))
}

/// Ten blurred dots on a ring, shaken.
fn blobs() -> (Array2<f32>, Vec<usize>) {
    let labels: Vec<usize> = (0..2000).map(|i| i % 10).collect();
    let x = Array2::from_shape_fn((2000, 64), |(i, at)| {
        let turn = (i % 10) as f32 * 0.628 + (i * 7919 % 97) as f32 * 0.003;
        let (cx, cy) = (3.5 + 2.2 * turn.cos(), 3.5 + 2.2 * turn.sin());
        let square = ((at % 8) as f32 - cx).powi(2) + ((at / 8) as f32 - cy).powi(2);
        (-square / 2.5).exp() * (0.8 + 0.2 * ((i * 31 + at * 17) % 13) as f32 / 13.0)
    });
    (x, labels)
}
