//! `dkae embed` and `dkae align`: the same numbers as the library's, on rows of the fit and on others, and messages that help.

mod common;

use std::path::Path;

use common::{clouds, done, files, refused, run, stderr};
use dkae::Embed;
use dkae::baseline::{Isomap, Keca, Kpca};
use dkae::code::Pca;
use dkae::data::read::{ReadOptions, read};
use dkae::data::scale::{Scale, Scaler};
use dkae::kernel::{KernelSpec, Pck, Rbf, Width};
use dkae::progress::Silent;
use ndarray::{Array2, ArrayView2};
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
        ("--method isomap --landmarks 1 -o z.npy", 2, &["--components", "landmarks"]),
        ("--method keca --candidates 1 -o z.npy", 2, &["--components", "candidates"]),
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
