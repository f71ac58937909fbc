//! `dkae embed` and `dkae align`: the same numbers as the library's, on rows of the fit and on others, and messages that help.

mod common;

use std::path::Path;

use common::{clouds, done, files, refused, run, stderr};
use dkae::Embed;
use dkae::baseline::{Isomap, Keca, Kpca, Pairs, Preimage, PreimageModel};
use dkae::code::Pca;
use dkae::data::read::{ReadOptions, read};
use dkae::data::scale::{Scale, Scaler};
use dkae::data::split::Split;
use dkae::kernel::{KernelSpec, Pck, Rbf, Width};
use dkae::progress::Silent;
use dkae::recipe::{Recipe, Source};
use ndarray::{Array2, ArrayView2, Axis, s};
use serde_json::Value;

/// A quick cluster kernel.
const PCK: &str = "--restarts 2 --max-components 4 --subset 60";

fn json(folder: &Path, arguments: &str) -> Value {
    serde_json::from_str(&done(folder, &format!("{arguments} --json"))).unwrap()
}

fn rows(folder: &Path, name: &str) -> Array2<f32> {
    read(folder.join(name), &ReadOptions::default()).unwrap().x
}

/// A folder with the clouds as `clouds.csv`, and their first 120 rows and the others as `a.csv` and `b.csv`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(clouds(folder.path(), 180)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for (name, range) in [("a.csv", 1..121), ("b.csv", 121..181)] {
        std::fs::write(folder.path().join(name), [&[lines[0]], &lines[range]].concat().join("\n")).unwrap();
    }
    folder
}

/// Rows and new ones, scaled as the command does: by the rows of the fit.
fn scaled(folder: &Path) -> (Array2<f32>, Array2<f32>) {
    let options = ReadOptions { label: Some("kind".parse().unwrap()), ..ReadOptions::default() };
    let [a, b] = ["a.csv", "b.csv"].map(|name| read(folder.join(name), &options).unwrap());
    let scaler: Scaler = Scale::Auto.fit(a.x.view(), a.shape).unwrap();
    (scaler.apply(a.x.view()).unwrap(), scaler.apply(b.x.view()).unwrap())
}

fn close(a: &Array2<f32>, b: &Array2<f32>) -> bool {
    a.dim() == b.dim() && (a - b).iter().all(|d| d.abs() < 1e-4)
}

#[test]
fn every_method_writes_what_the_library_computes_for_rows_of_the_fit_and_for_others() {
    let folder = folder();
    let path = folder.path();
    let (x, new) = scaled(path);
    let x = x.view();
    let rbf = Rbf { width: Width::MedianFraction(0.5), seed: 7 };
    let pck = Pck { restarts: 2, max_components: 4, subset: 60, seed: 7, ..Pck::default() };
    let kpca = Kpca { components: 3, seed: 7, ..Kpca::default() };
    let pca = Pca { components: 3, seed: 7, ..Pca::default() }.fit(x).unwrap();
    let linear = KernelSpec::Linear.fit(x).unwrap();
    let by_pck = kpca.fit_pck(pck.fit(x).unwrap(), x, &Silent).unwrap();
    let by_rbf = kpca.fit(Box::new(rbf.fit(x).unwrap()), x, &Silent).unwrap();
    let uncentred = Kpca { centred: false, ..kpca.clone() }.fit(linear, x, &Silent).unwrap();
    let keca = Keca { components: 3, seed: 7, ..Keca::default() }.fit(x, &Silent).unwrap();
    let isomap = Isomap { components: 3, neighbours: 9, landmarks: 1000, seed: 7 }.fit(x, &Silent).unwrap();
    let cases: [(String, Array2<f32>, &dyn Embed); 6] = [
        ("--method pca".into(), pca.transform(x).unwrap(), &pca),
        (PCK.into(), by_pck.model.spectrum.scores(), &by_pck),
        ("--kernel rbf --rbf-width 50%".into(), by_rbf.spectrum.scores(), &by_rbf),
        ("--kernel linear --uncentred".into(), uncentred.spectrum.scores(), &uncentred),
        ("--method keca".into(), keca.spectrum.scores(), &keca),
        ("--method isomap --neighbours 9".into(), isomap.scores.clone(), &isomap),
    ];
    for (flags, scores, model) in cases {
        let value = json(path, &format!("embed a.csv --label kind --components 3 {flags} -o z.npy"));
        assert_eq!(rows(path, "z.npy"), scores, "{flags}");
        assert_eq!((value["rows"].as_u64(), value["components"].as_u64()), (Some(120), Some(3)), "{flags}");
        let right = value["nearest_neighbour_accuracy"].as_f64().unwrap();
        assert!(right > 0.9, "{flags}: clouds that lie apart stay apart: {right}");
        // Rows that were not in the fit.
        let value = json(path, &format!("embed a.csv --label kind --components 3 {flags} --on b.csv -o new.csv"));
        assert!(close(&rows(path, "new.csv"), &model.embed(new.view()).unwrap()), "{flags}");
        assert_eq!((value["rows"].as_u64(), value["fitted_rows"].as_u64()), (Some(60), Some(120)), "{flags}");
        assert!(value["nearest_neighbour_accuracy"].as_f64().unwrap() > 0.9, "{flags}: {value}");
        // Those of the fit, as if they were others, stay where they are.
        done(path, &format!("embed a.csv --label kind --components 3 {flags} --on a.csv -o same.parquet"));
        let gap = (&rows(path, "same.parquet") - &scores).iter().fold(0.0f32, |a, d| a.max(d.abs()));
        assert!(gap < 2e-3, "{flags}: {gap}");
    }
    let header = std::fs::read_to_string(path.join("new.csv")).unwrap();
    assert!(header.starts_with("component1,component2,component3\n"), "{header}");
    // Entropy components of the matrix are those of the kernel.
    done(path, "kernel a.csv --label kind --kernel rbf --rbf-width 50% -o p.npy");
    done(path, "embed a.csv --label kind --components 3 --method keca --kernel rbf --rbf-width 50% -o by-rows.npy");
    done(path, "embed p.npy --components 3 --method keca --kernel precomputed -o by-matrix.npy");
    assert!(close(&rows(path, "by-rows.npy"), &rows(path, "by-matrix.npy")));
}

fn mse(a: &Array2<f32>, b: &Array2<f32>) -> f64 {
    (a - b).mapv(|d| f64::from(d).powi(2)).mean().unwrap()
}

#[test]
fn kernel_pca_goes_back_to_rows_by_the_width_and_ridge_that_are_best_on_validation_rows() {
    let folder = folder();
    let path = folder.path();
    let (x, new) = scaled(path);
    let kernel = "--kernel rbf --rbf-width 100% --components 4";
    let value = json(path, &format!("embed a.csv --label kind {kernel} -o z.npy --reconstruct back.csv"));

    // The oracle: the whole grid, each pair fitted and measured by itself.
    let rbf = Rbf { width: Width::MedianFraction(1.0), seed: 7 }.fit(x.view()).unwrap();
    let kpca = Kpca { components: 4, seed: 7, ..Kpca::default() }.fit(Box::new(rbf), x.view(), &Silent).unwrap();
    let z = kpca.spectrum.scores();
    let split = Split::random(120, [0.8, 0.2, 0.0], 7).unwrap();
    let part = |rows: &[usize]| (z.select(Axis(0), rows), x.select(Axis(0), rows));
    let ((tz, tx), (vz, vx)) = (part(&split.train), part(&split.validation));
    let train = Pairs { z: tz.view(), x: tx.view() };
    let median = Rbf { width: Width::MedianFraction(1.0), seed: 7 }.fit(tz.view()).unwrap().sigma();
    let grid = Preimage::default();
    let mut all: Vec<(f64, f64, f64)> = Vec::new();
    for (width, &ridge) in grid.widths.iter().flat_map(|w| grid.ridges.iter().map(move |r| (w * median, r))) {
        let model = PreimageModel::new(train, 0.5 / width.powi(2), ridge).unwrap();
        all.push((mse(&model.invert(vz.view()).unwrap(), &vx), width, ridge));
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (error, width, ridge) = all[0];
    assert!(error < 0.9 * all[all.len() - 1].0, "a choice that matters: {all:?}");
    let way = &value["way_back"];
    assert_eq!((way["ridge"].as_f64(), way["validation_rows"].as_u64()), (Some(ridge), Some(24)));
    assert!((way["width"].as_f64().unwrap() / width - 1.0).abs() < 1e-9, "{way} {width}");
    assert!((way["validation_mse"].as_f64().unwrap() / error - 1.0).abs() < 1e-6, "{way} {error}");

    // The rows written are those of that model, in the units of the file and with the names of its columns.
    let model = PreimageModel::new(train, 0.5 / width.powi(2), ridge).unwrap();
    let options = ReadOptions { label: Some("kind".parse().unwrap()), ..ReadOptions::default() };
    let raw = read(path.join("a.csv"), &options).unwrap();
    let scaler: Scaler = Scale::Auto.fit(raw.x.view(), raw.shape).unwrap();
    let back = model.invert(z.view()).unwrap();
    let text = std::fs::read_to_string(path.join("back.csv")).unwrap();
    assert!(text.starts_with("a,b,c,d,e,f,g,h\n"), "{text}");
    assert!(close(&rows(path, "back.csv"), &scaler.apply_inverse(back.view()).unwrap()));
    assert!((value["mse"].as_f64().unwrap() / mse(&back, &x) - 1.0).abs() < 1e-4, "{value}");

    // So are rows that were not in the fit.
    let on = format!("embed a.csv --label kind {kernel} --on b.csv -o z.npy --reconstruct new.parquet");
    let text = done(path, &on);
    let back = model.invert(kpca.embed(new.view()).unwrap().view()).unwrap();
    assert!(close(&rows(path, "new.parquet"), &scaler.apply_inverse(back.view()).unwrap()));
    let words = [
        "way back: kernel ridge regression of width ",
        "ridge ",
        "24 validation rows",
        "rows that were not fitted on: ",
    ];
    assert!(words.iter().all(|words| text.contains(words)), "{text}");
    let spread = (&new - &new.mean_axis(Axis(0)).unwrap()).mapv(|d| f64::from(d).powi(2)).mean().unwrap();
    let error = json(path, &on)["mse"].as_f64().unwrap();
    assert!((error / mse(&back, &new) - 1.0).abs() < 1e-4 && error < 0.5 * spread, "{error} of {spread}");
}

#[test]
fn every_method_has_a_way_back() {
    let folder = folder();
    let path = folder.path();
    // All components of PCA are the rows themselves.
    let value =
        json(path, "embed a.csv --label kind --method pca --components 8 --on b.csv -o z.npy --reconstruct r.csv");
    let options = ReadOptions { label: Some("kind".parse().unwrap()), ..ReadOptions::default() };
    assert!(close(&rows(path, "r.csv"), &read(path.join("b.csv"), &options).unwrap().x));
    assert!(value["way_back"].is_null() && value["mse"].as_f64().unwrap() < 1e-9, "{value}");
    // Three clouds in eight dimensions: coordinates that tell them apart say most of what there is to say.
    for flags in [PCK, "--method keca", "--method isomap --neighbours 9"] {
        let value = json(path, &format!("embed a.csv --label kind {flags} -o z.npy --reconstruct r.npy"));
        let (x, _) = scaled(path);
        let spread = (&x - &x.mean_axis(Axis(0)).unwrap()).mapv(|d| f64::from(d).powi(2)).mean().unwrap();
        let error = value["mse"].as_f64().unwrap();
        assert!(error < 0.5 * spread && value["way_back"]["ridge"].as_f64().is_some(), "{flags}: {error} of {spread}");
    }
}

#[test]
fn rows_that_are_drawn_are_embedded_as_if_they_were_alone() {
    let folder = folder();
    let path = folder.path();
    let value = json(path, "embed clouds.csv --label kind --take 50 --method pca -o z.npy");
    let taken: Vec<usize> = serde_json::from_value(value["taken"].clone()).unwrap();
    assert!(taken.len() == 50 && taken.is_sorted() && taken.iter().all(|&i| i < 180), "{taken:?}");
    let text = std::fs::read_to_string(path.join("clouds.csv")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let some: Vec<&str> = [0].into_iter().chain(taken.iter().map(|i| i + 1)).map(|i| lines[i]).collect();
    std::fs::write(path.join("some.csv"), some.join("\n")).unwrap();
    let alone = json(path, "embed some.csv --label kind --method pca -o alone.npy");
    assert_eq!(rows(path, "z.npy"), rows(path, "alone.npy"));
    assert_eq!(value["nearest_neighbour_accuracy"], alone["nearest_neighbour_accuracy"]);
    // All rows by what was fitted on those.
    let value = json(path, "embed clouds.csv --label kind --take 50 --method pca --on clouds.csv -o all.npy");
    assert_eq!((value["rows"].as_u64(), value["fitted_rows"].as_u64()), (Some(180), Some(50)));
    assert!(close(&rows(path, "all.npy").select(Axis(0), &taken), &rows(path, "alone.npy")));
    assert_ne!(
        json(path, "embed clouds.csv --label kind --take 50 --method pca --seed 8 -o z.npy")["taken"],
        value["taken"]
    );
}

#[test]
fn word_counts_are_embedded_by_their_weights_and_go_back_to_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    // Forty texts on two subjects of ten words each, and a word that all have.
    let mut text = String::new();
    for i in 0..40usize {
        text += &format!("{}", i % 2);
        for j in 0..10usize {
            let count = (i * 7 + j * 3) % 4;
            if count > 0 {
                text += &format!(" {}:{count}", 10 * (i % 2) + j + 1);
            }
        }
        text += " 21:1\n";
    }
    std::fs::write(path.join("counts.svm"), &text).unwrap();
    let value = json(path, "embed counts.svm --tfidf --svd 4 --method pca --components 3 -o z.npy --reconstruct w.npy");
    let recipe = Recipe { svd: Some(4), ..Recipe::default() };
    let table = read(path.join("counts.svm"), &ReadOptions::default()).unwrap();
    let split = Split { train: (0..40).collect(), validation: vec![], test: vec![] };
    let prepared = recipe.prepare_split(&Source::from(&table), split, &Silent).unwrap();
    let x = prepared.parts[0].view();
    let pca = Pca { components: 3, seed: 7, ..Pca::default() }.fit(x).unwrap();
    let z = pca.transform(x).unwrap();
    assert!(close(&rows(path, "z.npy"), &z));
    assert_eq!(value["nearest_neighbour_accuracy"], 1.0);
    let weights = prepared.preparation.apply_inverse(pca.inverse(z.view()).unwrap().view()).unwrap();
    assert_eq!(weights.ncols(), 21);
    assert!(close(&rows(path, "w.npy"), &weights));
    // A file of few texts that does not mention the last words.
    let first: String = text.lines().take(2).map(|line| line.replace(" 21:1", "") + "\n").collect();
    std::fs::write(path.join("few.svm"), first).unwrap();
    done(path, "embed counts.svm --tfidf --svd 4 --method pca --components 3 --on few.svm -o few.npy");
    let mut few = table.x.slice(s![..2, ..]).to_owned();
    few.column_mut(20).fill(0.0);
    let want = pca.transform(prepared.preparation.apply(few.view()).unwrap().view()).unwrap();
    assert!(close(&rows(path, "few.npy"), &want));
}

#[test]
fn rows_with_gaps_have_coordinates_that_say_so() {
    let folder = folder();
    let path = folder.path();
    let text = std::fs::read_to_string(path.join("b.csv")).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for row in [1, 5] {
        let rest = lines[row].split_once(',').unwrap().1.to_owned();
        lines[row] = format!("nan,{rest}");
    }
    std::fs::write(path.join("gaps.csv"), lines.join("\n")).unwrap();
    for flags in ["--method pca", "--kernel rbf", "--method isomap --neighbours 9"] {
        let embed = format!("embed a.csv --label kind {flags} --allow-missing");
        done(path, &format!("{embed} --on b.csv -o whole.npy"));
        let output = run(path, &format!("{embed} --on gaps.csv -o z.npy --reconstruct r.npy --figure m.svg"));
        assert!(output.status.success() && stderr(&output).contains("gaps.csv: 2 of 60 rows"), "{}", stderr(&output));
        let raw = ReadOptions { allow_missing: true, ..ReadOptions::default() };
        let [z, r] = ["z.npy", "r.npy"].map(|name| read(path.join(name), &raw).unwrap().x);
        let whole = rows(path, "whole.npy");
        for i in 0..60 {
            let gap = i == 0 || i == 4;
            assert!(z.row(i).iter().chain(r.row(i)).all(|v| v.is_nan() == gap), "{flags}: row {i}");
            assert!(gap || (&z.row(i) - &whole.row(i)).iter().all(|d| d.abs() < 1e-5), "{flags}: row {i}");
        }
    }
}

#[test]
fn a_tighter_tolerance_is_the_librarys_and_one_that_cannot_be_met_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    clouds(path, 400);
    let options = ReadOptions { label: Some("kind".parse().unwrap()), ..ReadOptions::default() };
    let table = read(path.join("clouds.csv"), &options).unwrap();
    let x = Scale::Auto.fit(table.x.view(), table.shape).unwrap().apply(table.x.view()).unwrap();
    let embed = "embed clouds.csv --label kind --kernel rbf --rbf-width 50% --components 6 -o z.npy";
    for (flag, tolerance) in [("", 1e-3), ("--eigen-tolerance 1e-5", 1e-5)] {
        let rbf = Rbf { width: Width::MedianFraction(0.5), seed: 7 }.fit(x.view()).unwrap();
        let kpca = Kpca { components: 6, tolerance, seed: 7, ..Kpca::default() };
        let value = json(path, &format!("{embed} {flag}"));
        assert_eq!(value["converged"], true, "{flag}");
        let model = kpca.fit(Box::new(rbf), x.view(), &Silent).unwrap();
        assert_eq!(rows(path, "z.npy"), model.spectrum.scores(), "{flag}");
    }
    let output = run(path, &format!("{embed} --eigen-tolerance 1e-13"));
    assert!(output.status.success() && stderr(&output).contains("--eigen-tolerance"), "{}", stderr(&output));
}

#[test]
fn the_nearest_other_row_is_compared() {
    let folder = tempfile::tempdir().unwrap();
    // On a line: 0 and 1 are each other's nearest, of one class; 4 and 6 too, of two; twins at 9 have each other.
    let text = "x,kind\n0,a\n1,a\n4,a\n6,b\n9,c\n9,c\n";
    std::fs::write(folder.path().join("line.csv"), text).unwrap();
    let embed = "embed line.csv --label kind --method pca --components 1 --scale none";
    let value = json(folder.path(), &format!("{embed} -o z.npy"));
    assert!((value["nearest_neighbour_accuracy"].as_f64().unwrap() - 4.0 / 6.0).abs() < 1e-9, "{value}");
    // New rows by those of the fit; the classes are matched by name, in whatever order they come.
    std::fs::write(folder.path().join("new.csv"), "x,kind\n8.5,c\n6.1,b\n0.4,d\n").unwrap();
    let value = json(folder.path(), &format!("{embed} --on new.csv -o z.npy"));
    assert!((value["nearest_neighbour_accuracy"].as_f64().unwrap() - 2.0 / 3.0).abs() < 1e-9, "{value}");
    // Without classes there is nothing to say.
    std::fs::write(folder.path().join("plain.csv"), "x\n8.5\n6.1\n").unwrap();
    let value = json(folder.path(), &format!("{embed} --on plain.csv -o z.npy"));
    assert_eq!((value["rows"].as_u64(), value["nearest_neighbour_accuracy"].is_null()), (Some(2), true));
}

#[test]
fn a_kernel_matrix_is_embedded_as_the_kernel_is() {
    let folder = folder();
    let path = folder.path();
    let kernel = "--kernel rbf --rbf-width 50%";
    done(path, &format!("kernel clouds.csv --label kind {kernel} -o p.npy"));
    done(path, &format!("embed clouds.csv --label kind {kernel} --components 4 -o z.npy"));
    let value = json(path, "embed p.npy --kernel precomputed --components 4 -o zp.npy");
    assert!(close(&rows(path, "z.npy"), &rows(path, "zp.npy")));
    assert_eq!(value["eigenvalues"].as_array().map(Vec::len), Some(4));
    // New rows come as their kernel values; those of the fit have a row of the matrix each.
    done(path, "embed p.npy --kernel precomputed --components 4 --on p.npy -o again.npy");
    assert!(close(&rows(path, "z.npy"), &rows(path, "again.npy")));
}

#[test]
fn the_summary_says_what_was_found_and_a_map_is_drawn() {
    let folder = folder();
    let path = folder.path();
    let text = done(path, "embed clouds.csv --label kind --method pca -o z.csv --figure map.svg");
    for words in
        ["principal components of 180 rows", "share of the variance", "together", "same class", "wrote 180 rows"]
    {
        assert!(text.contains(words), "no '{words}' in {text}");
    }
    let svg = std::fs::read_to_string(path.join("map.svg")).unwrap();
    assert!(svg.starts_with("<svg") && ["red", "green", "blue"].iter().all(|name| svg.contains(name)));
    done(path, "embed clouds.csv --skip kind --method isomap --neighbours 12 -o z.csv --figure map.png");
    assert!(std::fs::read(path.join("map.png")).unwrap().starts_with(b"\x89PNG"));
    let text = done(path, &format!("embed clouds.csv --label kind {PCK} -o z.csv"));
    assert!(text.contains("kernel PCA of 180 rows") && text.contains("probabilistic cluster kernel"), "{text}");
}

#[test]
fn a_graph_in_pieces_is_joined_and_told() {
    let folder = folder();
    let output = run(folder.path(), "embed clouds.csv --label kind --method isomap --neighbours 3 -o z.npy");
    assert!(output.status.success());
    let message = stderr(&output);
    assert!(message.contains("warning: with 3 neighbours the rows fall into") && message.contains("--neighbours"));
    assert!(rows(folder.path(), "z.npy").iter().all(|v| v.is_finite()));
}

#[test]
fn what_cannot_be_embedded_or_aligned_is_told_and_leaves_nothing_behind() {
    let folder = folder();
    let path = folder.path();
    std::fs::write(path.join("nan.csv"), "a,b\n1,2\n3,nan\n").unwrap();
    std::fs::write(path.join("gap.csv"), "a,b\nnan,2\n").unwrap();
    std::fs::write(path.join("two.csv"), "a,b\n1,2\n3,4\n").unwrap();
    std::fs::write(path.join("huge.csv"), "a,b,c,d,e,f,g,h\n1e30,1,1,1,1,1,1,1\n").unwrap();
    std::fs::write(path.join("skew.csv"), "a,b\n1,2\n3,4\n").unwrap();
    std::fs::write(path.join("one.csv"), "a\n1\n3\n5\n").unwrap();
    std::fs::write(path.join("wide.svm"), "0 1:1 4000000000:1\n0 2:1\n").unwrap();
    std::fs::write(path.join("zero.csv"), "a,b,c\n0,0,0\n0,0,0\n").unwrap();
    let clouds = "embed clouds.csv --label kind";
    let cases: &[(&str, i32, &[&str])] = &[
        ("--components 181 -o z.npy", 2, &["--components", "1 to 180", "181"]),
        ("--components 0 -o z.npy", 2, &["--components", "found 0"]),
        ("--method pca --components 9 -o z.npy", 2, &["--components", "1 to 8", "9"]),
        ("--method isomap --neighbours 180 -o z.npy", 2, &["--neighbours", "180 rows"]),
        ("--method isomap --landmarks 1 -o z.npy", 2, &["--landmarks", "at least 2", "components", "found 1"]),
        ("--method isomap --landmarks 0 -o z.npy", 2, &["--landmarks", "found 0"]),
        ("--method keca --candidates 1 -o z.npy", 2, &["--candidates", "at least 2", "components", "found 1"]),
        ("--method keca --candidates 0 -o z.npy", 2, &["--candidates", "found 0"]),
        ("--eigen-tolerance 0 -o z.npy", 2, &["--eigen-tolerance", "above 0"]),
        ("--method pca --eigen-tolerance 1e-4 -o z.npy", 2, &["--eigen-tolerance", "kpca and keca"]),
        ("-o z.npy --reconstruct r.txt", 2, &["r.txt", "npy"]),
        ("-o z.npy --reconstruct z.npy", 2, &["z.npy", "also written"]),
        ("-o z.npy --reconstruct clouds.csv", 2, &["clouds.csv", "also read"]),
        ("--kernel precomputed -o z.npy --reconstruct r.npy", 2, &["--reconstruct", "kernel matrix"]),
        ("--kernel precomputed --scale none -o z.npy", 2, &["--scale", "as it is"]),
        ("--kernel precomputed --take 9 -o z.npy", 2, &["--take", "as it is"]),
        ("--take 181 -o z.npy", 2, &["--take", "181", "180"]),
        ("--take 5 --components 6 -o z.npy", 2, &["--components", "1 to 5"]),
        ("--svd 3 -o z.npy", 2, &["required"]),
        ("--method isomap --kernel rbf -o z.npy", 2, &["--method", "only kpca and keca"]),
        ("--method pca --neighbours 3 -o z.npy", 2, &["--neighbours", "isomap"]),
        ("--method keca --uncentred -o z.npy", 2, &["--uncentred", "kpca"]),
        ("--candidates 9 -o z.npy", 2, &["--candidates", "keca"]),
        ("--kernel ideal -o z.npy", 2, &["--kernel", "ideal"]),
        ("--prior p.npy -o z.npy", 2, &["--prior", "precomputed"]),
        ("--kernel precomputed -o z.npy", 1, &["clouds.csv", "square", "180 x 8"]),
        ("--rbf-width 2 -o z.npy", 2, &["--rbf-width", "--kernel rbf"]),
        ("-o z.txt", 2, &["--output", "z.txt", "npy"]),
        ("-o clouds.csv", 2, &["clouds.csv", "also read"]),
        ("--on b.csv -o b.csv", 2, &["b.csv", "also read"]),
        ("-o z.csv --figure z.csv", 2, &["z.csv", "also written"]),
        ("-o z.csv --figure z.pdf", 2, &["--figure", "svg or png"]),
        ("--components 1 -o z.csv --figure z.svg", 2, &["--figure", "two coordinates"]),
        ("-o z.csv --figure nowhere/z.svg", 2, &["--figure", "no folder nowhere"]),
        ("--on huge.csv --kernel polynomial -o z.csv --figure z.svg", 1, &["huge.csv", "not finite", "--scale"]),
        ("--on two.csv -o z.npy", 1, &["two.csv", "2 columns", "clouds.csv has 8"]),
        ("--on nan.csv -o z.npy", 1, &["nan.csv", "row 2"]),
        ("--on missing.csv -o z.npy", 1, &["missing.csv"]),
    ];
    let before = files(path);
    let fails = |arguments: &str, code: i32, words: &[&str]| {
        let message = refused(path, arguments, code);
        assert!(words.iter().all(|word| message.contains(word)), "dkae {arguments}: {words:?} in {message}");
        assert_eq!(files(path), before, "dkae {arguments} left something behind");
    };
    for (more, code, words) in cases {
        fails(&format!("{clouds} {more}"), *code, words);
    }
    let two = "embed two.csv --kernel linear --components 1 -o z.npy --reconstruct r.npy";
    fails(two, 2, &["--reconstruct", "3 rows or more", "2"]);
    let drawn = "embed two.csv --method pca --on gap.csv --allow-missing -o z.npy --figure m.svg";
    fails(drawn, 2, &["--figure", "nothing to draw"]);
    fails("embed nan.csv -o z.npy", 1, &["nan.csv", "row 2", "NaN"]);
    fails("embed nan.csv --allow-missing -o z.npy", 1, &["nan.csv", "row 2", "finite"]);
    fails("kernel huge.csv --scale none --kernel polynomial -o z.npy", 1, &["huge.csv", "not finite", "--scale"]);
    fails("embed two.csv --method pca --components 3 -o z.npy", 2, &["--components", "1 to 2"]);
    for (arguments, code, words) in [
        ("align two.csv zero.csv", 1, &["two.csv", "--a factors", "row 1, column 2"][..]),
        ("align zero.csv zero.csv", 1, &["first", "zero everywhere"]),
        ("align zero.csv one.csv", 2, &["--b", "one column", "--b labels", "--b factors"]),
        ("align zero.csv one.csv --b factors", 1, &["zero.csv is about 2 rows", "one.csv about 3"]),
        ("align one.csv one.csv --a matrix --b factors", 1, &["one.csv", "square", "3 x 1"]),
        ("align zero.csv wide.svm", 1, &["wide.svm", "4000000000 columns"]),
        ("align zero.csv nan.csv", 1, &["nan.csv", "row 2"]),
        ("align zero.csv zero.csv --b cosine", 2, &["--b", "labels:COLUMN"]),
        ("align zero.csv a.csv --b labels:nothing", 2, &["--b", "nothing", "kind"]),
        ("align zero.csv missing.npy", 1, &["missing.npy"]),
    ] {
        fails(arguments, code, words);
    }
}

/// The cosine of two matrices, by definition.
fn cosine(k: &Array2<f64>, l: &Array2<f64>) -> f64 {
    (k * l).sum() / ((k * k).sum() * (l * l).sum()).sqrt()
}

fn centred(k: &Array2<f64>) -> Array2<f64> {
    let n = k.nrows();
    let h = Array2::<f64>::eye(n) - 1.0 / n as f64;
    h.dot(k).dot(&h)
}

#[test]
fn kernels_are_aligned_by_definition_however_they_are_given() {
    let folder = folder();
    let path = folder.path();
    done(path, &format!("kernel clouds.csv --label kind {PCK} -o p.npy"));
    done(path, &format!("kernel clouds.csv --label kind {PCK} --factors -o f.svm.gz"));
    done(path, "kernel clouds.csv --label kind --kernel ideal -o ideal.parquet");
    done(path, "embed clouds.csv --label kind --method pca --components 3 -o codes.csv");
    let labels: Vec<&str> = (0..180).map(|i| ["red", "green", "blue"][i % 3]).collect();
    std::fs::write(path.join("labels.txt"), labels.join("\n")).unwrap();
    let wide = |x: ArrayView2<f32>| x.mapv(f64::from);
    let codes = wide(rows(path, "codes.csv").view());
    let kernels = [wide(rows(path, "p.npy").view()), codes.dot(&codes.t()), wide(rows(path, "ideal.parquet").view())];
    // Each kernel in every form, with what else must be said.
    let forms: [&[(&str, &str)]; 3] = [
        &[("p.npy", ""), ("f.svm.gz", "")],
        &[("codes.csv", ""), ("codes.csv", "factors")],
        &[("ideal.parquet", ""), ("clouds.csv", "labels:kind"), ("labels.txt", "labels")],
    ];
    for (k, first) in kernels.iter().zip(forms) {
        for (l, second) in kernels.iter().zip(forms) {
            let want = [cosine(k, l), cosine(&centred(k), &centred(l))];
            for ((a, a_kind), (b, b_kind)) in first.iter().flat_map(|f| second.iter().map(move |g| (f, g))) {
                let kind =
                    |flag: &str, kind: &str| if kind.is_empty() { "".into() } else { format!("--{flag} {kind}") };
                let command = format!("align {a} {b} {} {}", kind("a", a_kind), kind("b", b_kind));
                let value = json(path, &command);
                let found = ["alignment", "centred_alignment", "code_loss"].map(|name| value[name].as_f64().unwrap());
                // Posteriors are kept, and written, to about five digits.
                assert!((found[0] - want[0]).abs() < 2e-4 && (found[1] - want[1]).abs() < 2e-4, "{command}: {value}");
                assert!((found[2] - (2.0 - 2.0 * found[0]).max(0.0).sqrt()).abs() < 1e-7, "{command}: {value}");
            }
        }
    }
    let text = done(path, "align f.svm.gz clouds.csv --b labels:kind");
    for words in ["sparse factors of 180 rows", "ideal kernel of 180 rows in 3 classes", "centred alignment", "L_c"] {
        assert!(text.contains(words), "no '{words}' in {text}");
    }
    // A constant kernel has nothing left once it is centred.
    std::fs::write(path.join("same.txt"), vec!["x"; 180].join("\n")).unwrap();
    let value = json(path, "align p.npy same.txt --b labels");
    assert!(value["centred_alignment"].is_null() && value["alignment"].as_f64().unwrap() > 0.0, "{value}");
}
