//! What one does with codes: on clouds that are easy to tell apart the numbers must show it, and everywhere they must be
//! those of the library.

mod common;

use std::path::Path;

use common::{blurred, clouds, done, refused, run, stderr};
use dkae::baseline::svm::choose::{self, PRICES, Part, Tried};
use dkae::baseline::svm::{KernelSvm, LinearSvm};
use dkae::code::{KMeans, Pca};
use dkae::data::Table;
use dkae::data::read::{ReadOptions, read};
use dkae::data::split::Split;
use dkae::kernel::{Kernel, Precomputed, Rbf, Width};
use dkae::math::threads;
use dkae::method::Classify;
use dkae::metrics::mean_squared_error;
use dkae::net::Model;
use dkae::progress::Silent;
use dkae::recipe::{Recipe, Source};
use dkae::train::Noise;
use ndarray::{Array2, Axis};
use serde_json::Value;

const FIT: &str = "fit clouds.csv --label kind --restarts 2 --max-components 4 --subset 60 --layers 64,16 --pretrain 200 \
                   --steps 1500 --seed 3";

fn fitted() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    clouds(folder.path(), 300);
    done(folder.path(), &format!("{FIT} -o m.dkae"));
    folder
}

fn json(folder: &Path, arguments: &str) -> Value {
    serde_json::from_str(&done(folder, &format!("{arguments} --json"))).unwrap()
}

fn rows(folder: &Path, name: &str) -> Array2<f32> {
    read(folder.join(name), &ReadOptions::default()).unwrap().x
}

/// The rows of a file and their classes.
fn table(folder: &Path, name: &str) -> Table {
    let options = ReadOptions { label: Some("kind".parse().unwrap()), ..ReadOptions::default() };
    read(folder.join(name), &options).unwrap()
}

#[test]
fn denoising_is_the_projection_on_the_components_of_the_codes_it_is_fitted_on() {
    let folder = fitted();
    let path = folder.path();
    let model = Model::load(path.join("m.dkae")).unwrap();
    let clean = model.preparation().apply(table(path, "clouds.csv").x.view()).unwrap();
    let mut noisy = clean.clone();
    threads::run(|| Noise::Gauss(0.4).disturb(7, 0, 0, 300, noisy.view_mut().reversed_axes()));
    let [clean_codes, noisy_codes] = [&clean, &noisy].map(|x| model.net().encode(x.view()).unwrap());
    let denoise = "denoise m.dkae clouds.csv --label kind --noise gauss:0.4 --components 3 -o d.npy";
    let mut outputs = Vec::new();
    for (fit, codes) in [("--fit clouds.csv", clean_codes), ("", noisy_codes.clone())] {
        let value = json(path, &format!("{denoise} {fit}"));
        let pca = Pca { components: 3, ..Pca::default() }.fit(codes.view()).unwrap();
        // Less the mean, on the components and back.
        let off = &noisy_codes - &pca.mean;
        let projected = off.dot(&pca.components.t()).dot(&pca.components) + &pca.mean;
        let found = rows(path, "d.npy");
        let want = model.decode(projected.view()).unwrap();
        assert_eq!(found.dim(), want.dim());
        let most = (&found - &want).iter().fold(0.0f32, |most, d| most.max(d.abs()));
        assert!(most < 1e-4, "{fit}: {most}");
        let prepared = model.net().decode(projected.view()).unwrap();
        for (name, of) in [("mse", &prepared), ("noisy_mse", &noisy)] {
            let want = mean_squared_error(clean.view(), of.view()).unwrap();
            assert!((value[name].as_f64().unwrap() - want).abs() < 1e-5, "{fit}: {name}: {value} {want}");
        }
        outputs.push(found);
    }
    // Clean and noisy codes have components of their own, or the test would not tell them apart.
    assert!((&outputs[0] - &outputs[1]).iter().any(|d| d.abs() > 0.01));
}

#[test]
fn denoising_brings_rows_closer_to_the_clean_ones() {
    let folder = fitted();
    let path = folder.path();
    let denoise = "denoise m.dkae clouds.csv --label kind --noise gauss:0.4 --components 3 --fit clouds.csv -o a.csv";
    let value = json(path, denoise);
    let (before, after) = (value["noisy_mse"].as_f64().unwrap(), value["mse"].as_f64().unwrap());
    assert!((before - 0.16).abs() < 0.02, "the variance of the noise: {before}");
    assert!(after < before, "{after} of {before}");
    // The same seed, the same noise.
    json(path, &denoise.replace("a.csv", "b.csv"));
    assert!(rows(path, "a.csv") == rows(path, "b.csv"));
    json(path, &denoise.replace("a.csv", "c.csv --seed 1"));
    assert!(rows(path, "a.csv") != rows(path, "c.csv"));
    // With every component kept nothing is taken away: what is left is the reconstruction.
    done(path, "denoise m.dkae clouds.csv --label kind --components 16 -o all.npy");
    done(path, "reconstruct m.dkae clouds.csv --label kind -o again.npy");
    let (all, again) = (rows(path, "all.npy"), rows(path, "again.npy"));
    assert!((&all - &again).iter().all(|d| d.abs() < 1e-3));
}

#[test]
fn a_walk_goes_from_one_reconstruction_to_the_other() {
    let folder = fitted();
    let path = folder.path();
    done(path, "reconstruct m.dkae clouds.csv --label kind -o again.npy");
    done(path, "walk m.dkae clouds.csv --label kind --from 4 --to 11 --steps 7 -o walk.csv");
    let (again, walk) = (rows(path, "again.npy"), rows(path, "walk.csv"));
    assert_eq!(walk.dim(), (7, 8));
    for (step, row) in [(0, 4), (6, 11)] {
        assert!((&walk.row(step) - &again.row(row)).iter().all(|d| d.abs() < 1e-4), "step {step}");
    }
    // Between clusters: as many walks as pairs, from decoded centroid to decoded centroid.
    let value = json(path, "walk m.dkae clouds.csv --label kind --clusters 3 --pairs 3 --steps 5 -o walks.npy");
    assert_eq!((value["rows"].as_u64(), value["walks"].as_array().map(Vec::len)), (Some(15), Some(3)));
    let walks = rows(path, "walks.npy");
    let model = Model::load(path.join("m.dkae")).unwrap();
    let codes = model.encode(table(path, "clouds.csv").x.view()).unwrap();
    let centroids = KMeans { clusters: 3, seed: 7, ..KMeans::default() }.fit(codes.view(), &Silent).unwrap().centroids;
    for (number, name) in value["walks"].as_array().unwrap().iter().enumerate() {
        let ends: Vec<usize> = name.as_str().unwrap().split(' ').filter_map(|word| word.parse().ok()).collect();
        assert_ne!(ends[0], ends[1], "{name}");
        let codes = dkae::code::walk(centroids.row(ends[0]), centroids.row(ends[1]), 5).unwrap();
        let gap = &walks.slice(ndarray::s![5 * number..5 * number + 5, ..]) - &model.decode(codes.view()).unwrap();
        assert!(gap.iter().all(|d| d.abs() < 1e-4), "{name}: {gap}");
    }
}

#[test]
fn a_walk_between_pictures_is_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    // Bars at twelve places of 6 x 6 pictures, as idx has them.
    let mut bytes = vec![0, 0, 8, 3, 0, 0, 0, 60, 0, 0, 0, 6, 0, 0, 0, 6];
    for i in 0..60 {
        bytes.extend((0..36).map(|at| if (if i % 2 == 0 { at / 6 } else { at % 6 }) == i % 6 { 250u8 } else { 5 }));
    }
    std::fs::write(path.join("bars.idx"), bytes).unwrap();
    done(path, "fit bars.idx --lambda 0 --layers 24,8 --pretrain 20 --steps 100 -o m.dkae");
    for figure in ["w.svg", "w.png"] {
        done(path, &format!("walk m.dkae bars.idx --clusters 4 --pairs 2 -o w.npy --figure {figure}"));
    }
    let svg = std::fs::read_to_string(path.join("w.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.matches("cluster ").count() >= 2, "{}", &svg[..200]);
    assert!(std::fs::read(path.join("w.png")).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn clusters_of_codes_are_the_clouds() {
    let folder = fitted();
    let path = folder.path();
    let value = json(path, "cluster m.dkae clouds.csv --label kind -o clusters.csv");
    assert_eq!(value["sizes"], serde_json::json!([100, 100, 100]));
    assert_eq!(value["purity"], 1.0);
    let clusters = rows(path, "clusters.csv");
    assert_eq!(clusters.dim(), (300, 1));
    assert!((3..300).all(|i| clusters[[i, 0]] == clusters[[i - 3, 0]]) && clusters[[0, 0]] != clusters[[1, 0]]);
    // Inertia is what it says: the sum of squares to the means.
    let model = Model::load(path.join("m.dkae")).unwrap();
    let codes = model.encode(table(path, "clouds.csv").x.view()).unwrap();
    let inertia: f32 = (0..3)
        .map(|class| {
            let own: Vec<usize> = (class..300).step_by(3).collect();
            let own = codes.select(Axis(0), &own);
            (&own - &own.mean_axis(Axis(0)).unwrap()).mapv(|d| d * d).sum()
        })
        .sum();
    let found = value["inertia"].as_f64().unwrap();
    assert!((found / f64::from(inertia) - 1.0).abs() < 1e-3, "{found} {inertia}");
    let value = json(path, "cluster m.dkae clouds.csv --skip kind --clusters 5 -o five.npy");
    assert_eq!((value["clusters"].as_u64(), value["purity"].is_null()), (Some(5), true));
    let text = done(path, "cluster m.dkae clouds.csv --label kind -o clusters.csv");
    assert!(text.contains("purity 100.00 %") && text.contains("class \\ cluster"), "{text}");
}

#[test]
fn every_method_tells_the_clouds_apart_on_rows_and_on_codes() {
    let folder = fitted();
    let path = folder.path();
    for model in ["", "--model m.dkae"] {
        for method in [
            "svm",
            "kernel-svm --c 1,10 --rbf-width 50%,25%",
            "kernel-svm --kernel linear",
            "knn --neighbours 1,3",
            "svm --hinge linear --tolerance 0.01",
        ] {
            let value = json(path, &format!("classify clouds.csv --label kind {model} --method {method}"));
            assert!(value["accuracy"].as_f64().unwrap() > 0.97, "{model} {method}: {value}");
            assert_eq!((value["train"].as_u64(), value["test"].as_u64()), (Some(210), Some(45)));
        }
    }
    let value = json(path, "classify clouds.csv --label kind --method kernel-svm --c 10,1 --rbf-width 50%,25%");
    assert_eq!(value["tried"].as_array().map(Vec::len), Some(4));
    let text = done(path, "classify clouds.csv --label kind -o p.csv");
    assert!(text.contains("true \\ predicted") && text.contains("accuracy on 45 test rows"), "{text}");
    let predictions = std::fs::read_to_string(path.join("p.csv")).unwrap();
    assert_eq!((predictions.lines().count(), predictions.lines().next()), (46, Some("row,class,predicted")));
    // Row numbers are those of the file: row i is of class i mod 3.
    for line in predictions.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(["red", "green", "blue"][cells[0].parse::<usize>().unwrap() % 3], cells[1], "{line}");
    }
}

#[test]
fn classes_are_those_of_the_machine_that_the_library_chooses_on_rows_and_on_codes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    blurred(path, 300);
    done(
        path,
        "fit blurred.csv --label kind --lambda 0 --layers 32,16 --init glorot --pretrain 50 --steps 200 --seed 3 -o m.dkae",
    );
    let (table, model) = (table(path, "blurred.csv"), Model::load(path.join("m.dkae")).unwrap());
    let labels = table.labels.as_ref().unwrap();
    // A model brings its seed along.
    let mut predictions = Vec::new();
    for (flags, seed) in [("", 7), ("--model m.dkae", 3), ("--seed 3", 3)] {
        let split = Split::random(300, [0.7, 0.15, 0.15], seed).unwrap();
        let parts = match flags {
            "--model m.dkae" => [&split.train, &split.validation, &split.test]
                .map(|part| model.encode(table.x.select(Axis(0), part).view()).unwrap()),
            _ => Recipe::default().prepare_split(&Source::from(&table), split.clone(), &Silent).unwrap().parts,
        };
        let classes = [&split.train, &split.validation].map(|part| labels.select(part).index);
        let [train, validation] = [0, 1].map(|i| Part { x: parts[i].view(), labels: &classes[i] });
        let agrees = |method: &str, tried: &[Tried], best: Tried, model: &dyn Classify| {
            let value = json(path, &format!("classify blurred.csv --label kind {flags} --method {method} -o p.csv"));
            let same = |value: &Value, tried: &Tried| {
                value["c"] == tried.c
                    && (value["accuracy"].as_f64().unwrap() - tried.accuracy).abs() < 1e-12
                    && value["converged"] == tried.converged
                    && value["rbf_width"].as_str() == method.contains("rbf").then_some(["25%", "100%"][tried.kernel])
            };
            let found = value["tried"].as_array().unwrap();
            assert_eq!(found.len(), tried.len(), "{flags} {method}");
            assert!(found.iter().zip(tried).all(|(a, b)| same(a, b)), "{flags} {method}: {value} {tried:?}");
            assert!(same(&value["best"], &best), "{flags} {method}: {value} {best:?}");
            // The first is no good, or it would not show when it is always taken.
            assert!(tried[0].accuracy < best.accuracy - 0.1, "{flags} {method}: {tried:?}");
            let text = std::fs::read_to_string(path.join("p.csv")).unwrap();
            let predicted = model.classify(parts[2].view()).unwrap();
            let names = predicted.iter().map(|&class| &labels.names[class as usize]);
            let want: Vec<String> = split
                .test
                .iter()
                .zip(names)
                .map(|(&row, name)| format!("{row},{},{name}", labels.names[labels.index[row] as usize]))
                .collect();
            assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), want, "{flags} {method}");
            text
        };

        let svm = LinearSvm { seed, ..LinearSvm::default() };
        let choice = choose::linear(&svm, &PRICES, train, validation, &Silent).unwrap();
        let linear = agrees("svm", &choice.tried, choice.best, &choice.model);
        let kernels = [0.25, 1.0].map(|part| Rbf { width: Width::MedianFraction(part), seed }.fit(train.x).unwrap());
        let kernels = kernels.each_ref().map(|kernel| kernel as &dyn Kernel);
        let choice = choose::kernel(&KernelSvm::default(), &kernels, &[0.1, 10.0], train, validation, &Silent).unwrap();
        let method = "kernel-svm --rbf-width 25%,100% --c 10,0.1";
        let kernel = agrees(method, &choice.tried, choice.best, &choice.model);
        assert_ne!(linear, kernel, "{flags}");
        predictions.push([linear, kernel]);
    }
    // The same test rows as rows and as codes are not all put in the same classes.
    assert!(predictions[1][0] != predictions[2][0] && predictions[1][1] != predictions[2][1]);
}

#[test]
fn an_autoencoder_trained_with_noise_takes_it_away_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    clouds(path, 300);
    let fit = "fit clouds.csv --label kind --lambda 0 --layers 64,16 --pretrain 200 --steps 1500 --seed 3";
    // All components of the codes: what is left is the network's own doing.
    let left = |noise: &str| {
        done(path, &format!("{fit} {noise} -o m.dkae"));
        let value = json(path, "denoise m.dkae clouds.csv --label kind --noise gauss:0.4 --components 16 -o d.npy");
        (value["mse"].as_f64().unwrap(), value["noisy_mse"].as_f64().unwrap())
    };
    let ((plain, before), (trained, _)) = (left(""), left("--noise gauss:0.4"));
    assert!(plain > 0.6 * before, "a plain one gives back what it got: {plain} of {before}");
    assert!(trained < 0.5 * before && trained < 0.7 * plain, "{trained} and {plain} of {before}");
}

#[test]
fn a_machine_that_was_stopped_says_so_by_its_flags() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    clouds(path, 300);
    for (method, words) in [
        ("svm", &["class ", "stopped after 1 iterations", "raise --max-iterations", "lower --c"][..]),
        ("svm --hinge linear", &["class ", "raise --max-iterations"]),
        ("kernel-svm --rbf-width 50%", &["classes ", "stopped after 1 steps", "raise --max-iterations", "lower --c"]),
    ] {
        let classify = format!("classify clouds.csv --label kind --method {method} --c 10 --max-iterations 1");
        let output = run(path, &classify);
        let message = stderr(&output);
        let line = message.lines().find(|line| line.starts_with("warning: ")).unwrap_or_else(|| panic!("{message}"));
        assert!(output.status.success() && words.iter().all(|word| line.contains(word)), "{line}");
        let value = json(path, &classify);
        assert_eq!(value["best"]["converged"], false, "{method}");
        assert!(line.contains(value["warnings"][0].as_str().unwrap()), "{value}");
    }
}

#[test]
fn a_kernel_machine_takes_a_matrix_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let text = std::fs::read_to_string(clouds(path, 300)).unwrap();
    // The prior of everything is nobody's formula: it is what was written that counts.
    done(path, "kernel clouds.csv --label kind --kernel 0.5*linear+rbf --rbf-width 100% -o p.npy");
    let kinds: Vec<&str> = text.lines().skip(1).map(|line| line.rsplit(',').next().unwrap()).collect();
    std::fs::write(path.join("kinds.txt"), kinds.join("\n")).unwrap();
    let svm = "--method kernel-svm --c 0.01,1";
    let beside = json(path, &format!("classify clouds.csv --label kind {svm} --prior p.npy -o a.csv"));
    let itself = json(path, &format!("classify p.npy --labels-file kinds.txt {svm} --kernel precomputed -o b.csv"));
    assert_eq!((&beside["tried"], &beside["confusion"]), (&itself["tried"], &itself["confusion"]));
    let read_text = |name: &str| std::fs::read_to_string(path.join(name)).unwrap();
    assert_eq!(read_text("a.csv"), read_text("b.csv"));
    assert!(beside["accuracy"].as_f64().unwrap() > 0.97, "{beside}");
    assert_eq!((beside["tried"].as_array().map(Vec::len), beside["train"].as_u64()), (Some(2), Some(210)));
    assert_eq!(beside["best"]["kernel"], "precomputed matrix");

    // The library on the same split says the same of every test row.
    let matrix = rows(path, "p.npy");
    let split = Split::random(300, [0.7, 0.15, 0.15], 7).unwrap();
    let labels: Vec<u32> =
        kinds.iter().map(|k| ["blue", "green", "red"].iter().position(|n| n == k).unwrap() as u32).collect();
    let of = |rows: &[usize]| rows.iter().map(|&i| labels[i]).collect::<Vec<u32>>();
    let train = Precomputed::new(matrix.clone()).unwrap().0.select(&split.train).unwrap();
    let values = matrix.select(Axis(0), &split.test).select(Axis(1), &split.train);
    let c = beside["best"]["c"].as_f64().unwrap();
    let support = KernelSvm { c, ..KernelSvm::default() }.fit_precomputed(&train, &of(&split.train)).unwrap().support;
    let decision = support.decision(values.select(Axis(1), &support.rows).view()).unwrap();
    let predicted = support.vote(decision.view());
    for (line, (row, class)) in read_text("a.csv").lines().skip(1).zip(split.test.iter().zip(predicted)) {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!((cells[0], cells[2]), (&*row.to_string(), ["blue", "green", "red"][class as usize]));
    }

    // Files of their own: a square one to learn from, and the values of other rows to its rows.
    for (name, range) in [("train.csv", 0..200), ("test.csv", 200..300)] {
        let header: String = (0..200).map(|j| format!("to{j},")).collect();
        let line = |i: usize| {
            let values: String = (0..200).map(|j| format!("{},", matrix[[i, j]])).collect();
            format!("{values}{}\n", kinds[i])
        };
        std::fs::write(path.join(name), format!("{header}kind\n{}", range.map(line).collect::<String>())).unwrap();
    }
    let files = format!("classify --train train.csv --test test.csv --label kind {svm} --kernel precomputed");
    let value = json(path, &files);
    assert!(value["accuracy"].as_f64().unwrap() > 0.97, "{value}");
    assert_eq!(["train", "validation", "test"].map(|part| value[part].as_u64()), [Some(160), Some(40), Some(100)]);
    // What is no kernel matrix is refused.
    let refusal = refused(path, &format!("classify clouds.csv --label kind {svm} --kernel precomputed"), 1);
    assert!(refusal.contains("clouds.csv") && refusal.contains("square") && refusal.contains("300 x 8"), "{refusal}");
    let swapped =
        files.replace("train.csv", "x").replace("test.csv", "train.csv").replace("--train x", "--train test.csv");
    assert!(refused(path, &swapped, 1).contains("square"));
    let short = refused(path, &format!("classify train.csv --label kind {svm} --prior p.npy"), 2);
    assert!(short.contains("--prior") && short.contains("300 rows") && short.contains("200 rows"), "{short}");
}

#[test]
fn a_model_is_tested_on_rows_it_has_not_seen() {
    let folder = fitted();
    let path = folder.path();
    let predicted = |arguments: &str| {
        done(path, &format!("classify clouds.csv --label kind {arguments} -o p.csv"));
        std::fs::read_to_string(path.join("p.csv")).unwrap()
    };
    // The model's seed is 3 and is taken over; the split itself depends on nothing else.
    let own = predicted("--model m.dkae");
    assert_eq!(own, predicted("--model m.dkae --seed 3"));
    assert_ne!(own, predicted("--model m.dkae --seed 4"));
    let rows = |text: &str| text.lines().map(|l| l.split(',').next().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(rows(&own), rows(&predicted("--seed 3 --method knn")));
}

#[test]
fn training_and_test_rows_may_come_from_files_of_their_own() {
    let folder = fitted();
    let path = folder.path();
    let text = std::fs::read_to_string(path.join("clouds.csv")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    // The first class met differs between the files: classes are matched by name, not by number.
    for (name, range) in [("a.csv", 1..151), ("b.csv", 151..200), ("c.csv", 201..301)] {
        std::fs::write(path.join(name), [&[lines[0]], &lines[range]].concat().join("\n")).unwrap();
    }
    for more in ["", "--validation b.csv", "--validation-share 0.4", "--model m.dkae"] {
        let value = json(path, &format!("classify --train a.csv --test c.csv --label kind {more}"));
        assert!(value["accuracy"].as_f64().unwrap() > 0.97, "{more}: {value}");
        let sizes = ["train", "validation", "test"].map(|part| value[part].as_u64().unwrap());
        let expected = match more {
            "--validation b.csv" => [150, 49, 100],
            "--validation-share 0.4" => [90, 60, 100],
            _ => [120, 30, 100],
        };
        assert_eq!(sizes, expected, "{more}");
        // Classes come in the order they have in a single file, not in that of the rows.
        assert_eq!(value["classes"], serde_json::json!(["blue", "green", "red"]), "{more}");
    }
    // Rows are numbered as in the file they come from.
    done(path, "classify --train a.csv --test c.csv --label kind -o predicted.csv");
    let predicted = std::fs::read_to_string(path.join("predicted.csv")).unwrap();
    let numbers: Vec<usize> =
        predicted.lines().skip(1).map(|l| l.split(',').next().unwrap().parse().unwrap()).collect();
    assert_eq!(numbers, (0..100).collect::<Vec<_>>());
    // A class that was never learned is told, not only counted as wrong; a label that nobody has is not dropped in silence.
    std::fs::write(path.join("pink.csv"), text.replace("red", "pink")).unwrap();
    let output = run(path, "classify --train a.csv --test pink.csv --label kind --drop-label sea");
    let said = stderr(&output);
    assert!(said.contains("100 of 300 test rows are of classes that no training row has, such as `pink`"), "{said}");
    assert!(said.contains("a.csv: no row has the label `sea`"), "{said}");
}

#[test]
fn rows_without_classes_are_told_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let text = std::fs::read_to_string(blurred(path, 300)).unwrap();
    done(path, &format!("{} -o m.dkae", FIT.replace("clouds.csv", "blurred.csv")));
    let lines: Vec<&str> = text.lines().collect();
    let bare = |line: &&str| line.rsplit_once(',').unwrap().0.to_owned();
    let kind = |line: &&str| line.rsplit_once(',').unwrap().1.to_owned();
    let write = |name: &str, lines: Vec<String>| std::fs::write(path.join(name), lines.join("\n")).unwrap();
    let with_head = |range: std::ops::Range<usize>| [&[lines[0]], &lines[range]].concat();
    write("known.csv", with_head(1..201).iter().map(|l| l.to_string()).collect());
    write("new.csv", with_head(201..301).iter().map(|l| l.to_string()).collect());
    write("bare.csv", with_head(201..301).iter().map(bare).collect());
    write("known-rows.csv", with_head(1..201).iter().map(bare).collect());
    write("known-kinds.txt", lines[1..201].iter().map(kind).collect());
    write("new-kinds.txt", lines[201..301].iter().map(kind).collect());
    write("known-kinds-100.txt", lines[1..101].iter().map(kind).collect());
    done(path, "kernel blurred.csv --label kind --kernel rbf --rbf-width 50% -o p.npy");
    let matrix = rows(path, "p.npy");
    let x = table(path, "blurred.csv").x;
    let written = [
        ("known.npy", matrix.slice(ndarray::s![..200, ..200])),
        ("new.npy", matrix.slice(ndarray::s![200.., ..200])),
        ("bare.npy", x.slice(ndarray::s![200.., ..])),
    ];
    for (name, part) in written {
        let mut sink = dkae::data::stream::create(path.join(name), part.ncols(), None).unwrap();
        sink.write(part).and_then(|()| sink.finish()).unwrap();
    }
    let column = |name: &str, head: &str| {
        let text = std::fs::read_to_string(path.join(name)).unwrap();
        let place = text.lines().next().unwrap().split(',').position(|h| h == head).unwrap();
        text.lines().skip(1).map(|l| l.split(',').nth(place).unwrap().to_owned()).collect::<Vec<_>>()
    };
    let labelled = "--train known.csv --label kind";
    let split = "--train known-rows.csv --labels-file known-kinds.txt";
    let values = "--train known.npy --labels-file known-kinds.txt --method kernel-svm --kernel precomputed";
    for (train, test, new) in [
        (labelled, "new.csv", "bare.csv"),
        (labelled, "new.csv", "new.csv"),
        ("--train known.csv --label kind --scale standard --method knn", "new.csv", "bare.csv"),
        ("--train known.csv --label kind --method kernel-svm", "new.csv", "bare.csv"),
        ("--train known.csv --label kind --model m.dkae", "new.csv", "bare.csv"),
        (split, "bare.csv --test-labels new-kinds.txt", "bare.csv"),
        (values, "new.npy --test-labels new-kinds.txt", "new.npy"),
    ] {
        let tested = json(path, &format!("classify {train} --test {test} -o tested.csv"));
        let told = json(path, &format!("classify {train} --predict {new} -o told.csv"));
        assert_eq!(column("told.csv", "predicted"), column("tested.csv", "predicted"), "{train}");
        assert_eq!(column("told.csv", "row"), column("tested.csv", "row"), "{train}");
        // Some are wrong: what is written is not what was read.
        let accuracy = tested["accuracy"].as_f64().unwrap();
        assert!((0.35..1.0).contains(&accuracy), "{train}: {accuracy}");
        assert_eq!((&told["accuracy"], &told["predicted"]), (&Value::Null, &Value::from(100)), "{train}");
        assert_eq!(told["tried"], tested["tried"], "{train}");
        // Both at once: measured on test rows, and written of the others.
        let both = json(path, &format!("classify {train} --test {test} --predict {new} -o both.csv"));
        assert_eq!((&both["accuracy"], &both["predicted"]), (&tested["accuracy"], &told["predicted"]), "{train}");
        assert_eq!(column("both.csv", "predicted"), column("told.csv", "predicted"), "{train}");
    }
    // Labels in a file count instead of a column, for each file by itself; a column that is left out may be missing.
    done(path, "classify --train known.csv --label kind --test bare.csv --test-labels new-kinds.txt -o a.csv");
    done(path, "classify --train known.csv --label kind --test new.csv -o b.csv");
    assert_eq!(column("a.csv", "predicted"), column("b.csv", "predicted"));
    assert_eq!(column("a.csv", "class"), column("b.csv", "class"));
    let validated =
        |file: &str| json(path, &format!("classify {labelled} --validation {file} --predict bare.csv -o c.csv"));
    let tried = validated("bare.csv --validation-labels new-kinds.txt")["tried"].clone();
    assert_eq!(tried, validated("new.csv --validation-labels new-kinds.txt")["tried"]);
    assert_eq!(tried, validated("new.csv")["tried"]);
    assert_ne!(tried, validated("new.csv --validation-labels known-kinds-100.txt")["tried"]);
    // New rows in another format have no columns to choose from, and those by place are missing in a file of features alone.
    let places = lines[0].split(',').count();
    for (label, new) in [("kind".to_owned(), "bare.npy"), (places.to_string(), "bare.csv"), ("last".into(), "bare.csv")]
    {
        done(path, &format!("classify --train known.csv --label {label} --predict {new} -o d.csv"));
        assert_eq!(column("d.csv", "predicted"), column("b.csv", "predicted"), "{label} {new}");
    }
    // Rows that are left out are counted: a line names the row of the file.
    let written: Vec<String> = with_head(201..301).iter().map(kind).skip(1).collect();
    for files in ["--train known.csv --test new.csv", "new.csv"] {
        done(path, &format!("classify {files} --label kind --drop-label red -o e.csv"));
        for (row, class) in column("e.csv", "row").iter().zip(column("e.csv", "class")) {
            assert_eq!(written[row.parse::<usize>().unwrap()], class, "{files}: row {row}");
        }
    }
    let warned = stderr(&run(path, "classify new.csv --label kind --model m.dkae"));
    assert!(warned.contains("was trained on 210 rows, but 70 are drawn"), "{warned}");
    let text = done(path, "classify blurred.csv --label kind --predict bare.csv -o told.csv");
    assert!(
        text.contains("accuracy on 45 test rows") && text.contains("the classes of 100 rows to told.csv"),
        "{text}"
    );
    let alone = refused(path, "classify --train known.csv --label kind", 2);
    assert!(alone.contains("--train") && alone.contains("--predict"), "{alone}");
    let narrow = refused(path, "classify --train known-kinds.txt --label last --predict bare.csv -o told.csv", 1);
    assert!(narrow.contains("no column is left"), "{narrow}");
}

#[test]
fn clusters_that_are_empty_are_told() {
    let folder = fitted();
    let text = std::fs::read_to_string(folder.path().join("clouds.csv")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    std::fs::write(folder.path().join("two.csv"), [lines[0], lines[1], lines[2], lines[1], lines[2]].join("\n"))
        .unwrap();
    let text = done(folder.path(), "cluster m.dkae two.csv --label kind --clusters 4 -o z.npy");
    assert!(text.contains("2 clusters are empty: there are only 2 different codes"), "{text}");
}
