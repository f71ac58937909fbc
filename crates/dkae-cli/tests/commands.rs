//! Every command as a user meets it: files in, files out, what is printed, and the same results as the library's.

mod common;

use std::path::Path;
use std::process::Command;

use common::{clouds, dkae, done, files, refused, run, stderr};
use dkae::data::read::{ReadOptions, read};
use dkae::net::Model;
use ndarray::Array2;

/// A quick fit of the clouds, without the file to write.
const FIT: &str = "fit clouds.csv --label kind --restarts 2 --max-components 4 --subset 60 --layers 32,16 --pretrain 100 \
                   --steps 500 --validate-every 125";
const COMMANDS: [&str; 17] = [
    "demo",
    "fit",
    "encode",
    "decode",
    "reconstruct",
    "inspect",
    "kernel",
    "embed",
    "align",
    "denoise",
    "walk",
    "cluster",
    "classify",
    "report",
    "reproduce",
    "completions",
    "man",
];

/// A folder with the clouds, their features alone, and a model.
fn fitted() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    clouds(folder.path(), 300);
    done(folder.path(), &format!("{FIT} -o m.dkae"));
    folder
}

fn rows(folder: &Path, name: &str) -> Array2<f32> {
    read(folder.join(name), &ReadOptions::default()).unwrap().x
}

fn features(folder: &Path) -> Array2<f32> {
    let options = ReadOptions { label: Some("kind".parse().unwrap()), ..ReadOptions::default() };
    read(folder.join("clouds.csv"), &options).unwrap().x
}

fn json(text: &str) -> serde_json::Value {
    // More than one document is an error of the parser.
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[test]
fn streamed_files_of_every_format_hold_what_the_library_computes() {
    let folder = fitted();
    let (path, x) = (folder.path(), features(folder.path()));
    let model = Model::load(path.join("m.dkae")).unwrap();
    let codes = model.encode(x.view()).unwrap();
    let back = model.decode(codes.view()).unwrap();
    for format in ["npy", "csv", "tsv", "csv.gz", "parquet"] {
        done(path, &format!("encode m.dkae clouds.csv --label kind -o codes.{format}"));
        assert_eq!(rows(path, &format!("codes.{format}")), codes, "{format}");
        done(path, &format!("decode m.dkae codes.{format} -o back.{format}"));
        assert_eq!(rows(path, &format!("back.{format}")), back, "{format}");
        done(path, &format!("reconstruct m.dkae clouds.csv --skip kind -o again.{format}"));
        assert_eq!(rows(path, &format!("again.{format}")), back, "{format}");
        // What was written can be read back by the same command.
        done(path, &format!("encode m.dkae back.{format} -o twice.npy"));
        assert_eq!(rows(path, "twice.npy"), model.encode(back.view()).unwrap(), "{format}");
    }
    let table = read(path.join("back.csv"), &ReadOptions::default()).unwrap();
    assert_eq!(table.names.unwrap(), ["a", "b", "c", "d", "e", "f", "g", "h"], "decoded columns keep their names");
    // The model has learned something: rows are far closer to their reconstruction than to the mean row.
    let spread = x.var_axis(ndarray::Axis(0), 0.0).mean().unwrap();
    let error = (&back - &x).mapv(|d| d * d).mean().unwrap();
    assert!(error < 0.2 * spread, "{error} of {spread}");
}

#[test]
fn the_kernel_matrix_is_the_product_of_its_factors() {
    let folder = fitted();
    let path = folder.path();
    let kernel = "kernel clouds.csv --label kind --restarts 2 --max-components 4 --subset 60";
    done(path, &format!("{kernel} -o p.npy"));
    done(path, &format!("{kernel} --rows 10..40 -o part.csv"));
    done(path, &format!("{kernel} --factors -o f.svm.gz"));
    let (p, part) = (rows(path, "p.npy"), rows(path, "part.csv"));
    assert_eq!((p.dim(), part.dim()), ((300, 300), (30, 30)));
    assert!((&p.slice(ndarray::s![10..40, 10..40]) - &part).iter().all(|d| d.abs() < 1e-5));
    let f = read(path.join("f.svm.gz"), &ReadOptions::default()).unwrap().x;
    assert!((f.dot(&f.t()) - &p).iter().all(|d| d.abs() < 1e-3 * p[[0, 0]]));
    done(path, "kernel clouds.csv --label kind --kernel ideal -o ideal.npy");
    let ideal = rows(path, "ideal.npy");
    assert_eq!([ideal[[0, 3]], ideal[[0, 1]]], [1.0, 0.0]);
    // A written matrix is a prior to train with.
    done(path, "fit clouds.csv --label kind --prior ideal.npy --layers 16,8 --pretrain 10 --steps 20 -o own.dkae");
    let text = done(path, "inspect own.dkae");
    assert!(text.contains("a given matrix of 300 rows"), "{text}");
}

#[test]
fn inspect_tells_what_is_in_a_file() {
    let folder = fitted();
    let text = done(folder.path(), "inspect clouds.csv --label kind");
    assert!(text.contains("300 of 8 features") && text.contains("red: 100") && text.contains("a, b, c"), "{text}");
    let text = done(folder.path(), "inspect m.dkae");
    assert!(text.contains("8-32-16") && text.contains("probabilistic cluster kernel"), "{text}");
    let value = json(&done(folder.path(), "inspect m.dkae --json"));
    assert_eq!(value["code_width"], 16);
    assert!(value["about"]["figures"]["test.reconstruction"].as_f64().unwrap() > 0.0);
    // Every look at the validation rows is in the history: whether or not the training losses are due.
    let looks =
        value["about"]["history"].as_array().unwrap().iter().filter(|r| r["phase"] == 2 && !r["validation"].is_null());
    assert_eq!(looks.map(|r| r["step"].as_u64().unwrap()).collect::<Vec<_>>(), [125, 250, 375, 500]);
    std::fs::write(folder.path().join("gaps.csv"), "a,b\n1,\n3,inf\n").unwrap();
    let value = json(&done(folder.path(), "inspect gaps.csv --json"));
    assert_eq!([&value["missing"], &value["infinite"]], [1, 1]);
}

#[test]
fn a_file_without_a_header_is_said_to_have_none() {
    let folder = tempfile::tempdir().unwrap();
    clouds(folder.path(), 60);
    // Years as column names: numbers, so the row is data unless it is said to be a header.
    let text = std::fs::read_to_string(folder.path().join("clouds.csv")).unwrap();
    let years = text.lines().skip(1).map(|l| l.rsplit_once(',').unwrap().0.to_owned() + "\n");
    let text: String = ["2001,2002,2003,2004,2005,2006,2007,2008\n".to_owned()].into_iter().chain(years).collect();
    std::fs::write(folder.path().join("years.csv"), text).unwrap();

    let words = ["no header: columns are numbered", "--header true"];
    let text = done(folder.path(), "inspect years.csv");
    assert!(words.iter().all(|w| text.contains(w)) && text.contains("61 of 8 features"), "{text}");
    let text = done(folder.path(), "inspect years.csv --header true");
    assert!(text.contains("2001, 2002, 2003") && text.contains("60 of 8") && !text.contains("no header"), "{text}");
    assert_eq!(json(&done(folder.path(), "inspect years.csv --json"))["header"], false);
    assert_eq!(json(&done(folder.path(), "inspect clouds.csv --label kind --json"))["header"], true);

    let fit = |file: &str| {
        stderr(&run(folder.path(), &format!("fit {file} --lambda 0 --layers 4 --steps 2 --pretrain 1 -o m.dkae")))
    };
    let text = fit("years.csv");
    assert!(words.iter().all(|w| text.contains(w)), "{text}");
    let text = fit("clouds.csv --label kind");
    assert!(text.contains("the first row names the columns") && !text.contains("no header"), "{text}");
    // Whoever reads such a file says so.
    for command in ["encode m.dkae", "reconstruct m.dkae", "cluster m.dkae", "denoise m.dkae", "kernel --kernel linear"]
    {
        for (file, words) in [("clouds.csv --label kind", "the first row names the columns"), ("years.csv", words[0])] {
            let text = stderr(&run(folder.path(), &format!("{command} {file} -o out.csv")));
            assert!(text.contains(words), "{command} {file}: {text}");
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn rows_may_come_through_a_pipe() {
    let folder = fitted();
    let pipe = |arguments: &str| {
        let script = format!("cat clouds.csv | \"$0\" {arguments}");
        let arguments = ["-c", &script, env!("CARGO_BIN_EXE_dkae")];
        let output = Command::new("sh").current_dir(folder.path()).args(arguments).output().unwrap();
        assert!(output.status.success(), "{script}: {}", stderr(&output));
    };
    pipe("fit /dev/stdin --label kind --lambda 0 --layers 4 --steps 2 --pretrain 1 -o p.dkae");
    pipe("encode p.dkae /dev/stdin --label kind -o a.npy");
    done(folder.path(), "encode p.dkae clouds.csv --label kind -o b.npy");
    assert_eq!(rows(folder.path(), "a.npy"), rows(folder.path(), "b.npy"));
    pipe("cluster p.dkae /dev/stdin --label kind -o c.csv");
    pipe("inspect /dev/stdin --label kind");
}

#[test]
fn texts_whose_word_counts_do_not_fit_when_dense_are_used_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    // 150 texts of two kinds, of 2000 words: 1.2 MB once dense.
    let mut text = String::new();
    for i in 0..150 {
        let kind = i % 2;
        text += &format!("{kind}");
        (0..12).for_each(|j| text += &format!(" {}:{}", 1 + kind * 1000 + j * 83 + (i * 7 + j) % 60, 1 + (i + j) % 3));
        text.push('\n');
    }
    std::fs::write(path.join("t.svm"), text).unwrap();
    done(
        path,
        "fit t.svm --tfidf --svd 5 --layers 8,4 --pretrain 50 --steps 200 --restarts 2 --max-components 3 -o m.dkae",
    );
    for (arguments, output) in [
        ("encode m.dkae t.svm", "npy"),
        ("cluster m.dkae t.svm --clusters 2", "csv"),
        ("walk m.dkae t.svm --from 0 --to 1", "npy"),
        ("walk m.dkae t.svm --clusters 3", "npy"),
        ("denoise m.dkae t.svm --components 2", "npy"),
        ("classify t.svm --model m.dkae", "csv"),
        ("classify --train t.svm --test t.svm --model m.dkae", "csv"),
    ] {
        let [dense, sparse] = [String::new(), " --dense-limit 100000".into()].map(|limit| {
            done(path, &format!("{arguments}{limit} -o out.{output}"));
            std::fs::read(path.join(format!("out.{output}"))).unwrap()
        });
        assert!(dense == sparse, "{arguments}");
    }
    // Without the reduction they would have to be dense.
    assert!(refused(path, "kernel t.svm --dense-limit 100000 -o p.npy", 1).contains("truncated SVD"));
}

/// One run of every command that is quick.
const EVERY: [&str; 14] = [
    "fit clouds.csv --label kind --restarts 1 --max-components 3 --layers 8,4 --pretrain 2 --steps 5 -o other.dkae",
    "fit clouds.csv --write-config settings.toml",
    "encode m.dkae clouds.csv --label kind -o codes.npy",
    "decode m.dkae codes.npy -o back.csv",
    "reconstruct m.dkae clouds.csv --label kind -o again.csv",
    "inspect m.dkae",
    "inspect clouds.csv --label kind",
    "kernel clouds.csv --label kind --kernel linear -o p.npy",
    "embed clouds.csv --label kind --kernel rbf -o z.csv --figure z.svg",
    "align p.npy z.csv",
    "denoise m.dkae clouds.csv --label kind --components 4 -o clean.csv",
    "walk m.dkae clouds.csv --label kind --from 0 --to 1 -o walk.csv",
    "cluster m.dkae clouds.csv --label kind -o clusters.csv",
    "classify clouds.csv --label kind --model m.dkae",
];

#[test]
fn json_is_one_document_and_quiet_is_silence() {
    let folder = fitted();
    let more = ["man pages", "completions bash"];
    for arguments in EVERY.into_iter().chain(more) {
        let output = run(folder.path(), &format!("{arguments} --json"));
        assert!(output.status.success(), "{arguments}: {}", stderr(&output));
        assert!(json(&String::from_utf8(output.stdout.clone()).unwrap()).is_object(), "{arguments}");
        assert_eq!(stderr(&output), "", "{arguments}");
        let output = run(folder.path(), &format!("{arguments} --quiet"));
        assert!(output.status.success(), "{arguments}: {}", stderr(&output));
        assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{arguments}");
        // Both at once: a machine that wants the result and nothing else.
        assert!(json(&done(folder.path(), &format!("{arguments} --quiet --json"))).is_object(), "{arguments}");
    }
}

#[test]
fn a_settings_file_gives_the_same_model_as_the_flags() {
    let folder = fitted();
    let path = folder.path();
    let flags = format!("{FIT} --noise mask:0.1 --lambda 0.3 --scale standard --code tanh --split 0.6,0.2,0.2");
    done(path, &format!("{flags} -o flags.dkae"));
    done(path, &format!("{flags} --write-config settings.toml"));
    assert!(!files(path).contains(&"settings.dkae".to_owned()));
    done(path, "fit clouds.csv --config settings.toml -o file.dkae");
    let bytes = |name: &str| std::fs::read(path.join(name)).unwrap();
    assert!(bytes("flags.dkae") == bytes("file.dkae"));
    // Flags go before the file.
    done(path, "fit clouds.csv --config settings.toml --lambda 0 --steps 7 -o over.dkae");
    let about = json(&done(path, "inspect over.dkae --json"));
    let train = &about["about"]["settings"]["train"];
    assert_eq!((train["lambda"].as_f64(), train["noise"]["mask"].as_f64().is_some()), (Some(0.0), true));
    assert!(train["steps"].to_string().contains('7'), "{train}");
}

#[test]
fn a_sum_of_kernels_is_learned_from() {
    let folder = fitted();
    let kernel = "--kernel 0.5*pck+rbf --rbf-width 50% --restarts 2 --max-components 4";
    done(
        folder.path(),
        &format!("fit clouds.csv --label kind {kernel} --layers 8,4 --steps 20 --pretrain 5 -o sum.dkae"),
    );
    let text = done(folder.path(), "inspect sum.dkae");
    assert!(text.contains("sum: 0.5 x (probabilistic") && text.contains("+ 1 x (radial basis"), "{text}");
    done(folder.path(), &format!("kernel clouds.csv --label kind {kernel} -o p.npy"));
    let p = rows(folder.path(), "p.npy");
    let diagonal = p.diag().mean().unwrap();
    assert!((diagonal - 1.5).abs() < 1e-3, "each kernel has a mean diagonal of 1: {diagonal}");
}

#[test]
fn what_to_make_of_gaps_and_of_sparse_rows_are_flags() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("s.svm"), "1 1:2 5:1\n2 2:1\n").unwrap();
    done(path, "inspect s.svm --dense-limit 40");
    assert!(refused(path, "inspect s.svm --dense-limit 39", 1).contains("s.svm"));
    std::fs::write(path.join("gaps.csv"), "a,b\n1,\n3,4\n5,6\n").unwrap();
    let refusal = |flags: &str| refused(path, &format!("fit gaps.csv {flags} --lambda 0 --split 1,0,0 -o m.dkae"), 1);
    assert!(refusal("").contains("a missing value"));
    // It is read, and then nothing can be learned from it.
    let message = refusal("--allow-missing --scale none");
    assert!(message.contains("NaN") && message.contains("must be finite"), "{message}");
    assert!(refusal("--allow-missing=false").contains("a missing value"));
}

#[test]
fn the_papers_choices_go_by_one_name_and_flags_go_before_them() {
    let folder = tempfile::tempdir().unwrap();
    clouds(folder.path(), 60);
    let fit = "fit clouds.csv --label kind --restarts 1 --max-components 3 --layers 4,2 --batch 21 --paper";
    done(folder.path(), &format!("{fit} -o p.dkae"));
    let value = json(&done(folder.path(), "inspect p.dkae --json"));
    let train = &value["about"]["settings"]["train"];
    for (key, choice) in [
        ("hidden", "sigmoid"),
        ("code", "sigmoid"),
        ("batches", "independent"),
        ("schedule", "constant"),
        ("init", "glorot"),
        ("pretrain", "30 paper-epochs"),
        ("steps", "100 paper-epochs"),
    ] {
        assert_eq!(train[key], choice, "{key}");
    }
    assert_eq!((&train["rate"], &train["tied"]), (&0.001.into(), &true.into()));
    assert_eq!(train["weight-decay"], 0.0);
    assert_eq!(
        (&value["architecture"]["hidden"], &value["architecture"]["code"]),
        (&"sigmoid".into(), &"sigmoid".into())
    );
    // 42 training rows in batches of 21: (42/21)^2 = 4 batches in an epoch.
    let history = value["about"]["history"].as_array().unwrap().clone();
    let last = |phase: u64| history.iter().filter(|r| r["phase"] == phase).filter_map(|r| r["step"].as_u64()).max();
    assert_eq!([last(0), last(1), last(2)], [Some(120), Some(120), Some(400)]);

    done(folder.path(), &format!("{fit} --hidden tanh --steps 3 -o f.dkae"));
    let value = json(&done(folder.path(), "inspect f.dkae --json"));
    let train = &value["about"]["settings"]["train"];
    assert_eq!((&train["hidden"], &train["code"], &train["steps"]), (&"tanh".into(), &"sigmoid".into(), &"3".into()));
}

#[test]
fn an_unknown_setting_in_a_file_is_refused() {
    let folder = fitted();
    for (text, word) in [
        ("colour = 3\n", "colour"),
        ("[train]\nlambada = 0.1\n", "lambada"),
        ("[data]\nlable = 'kind'\n", "lable"),
        ("seed = 'seven'\n", "seed"),
        ("seed = \n", "line 1"),
    ] {
        std::fs::write(folder.path().join("bad.toml"), text).unwrap();
        let message = refused(folder.path(), "fit clouds.csv --config bad.toml -o x.dkae", 2);
        assert!(message.contains("bad.toml") && message.contains(word), "{message}");
    }
    assert!(!files(folder.path()).iter().any(|f| f.starts_with("x.dkae")));
}

#[test]
fn classes_are_read_from_one_column_whatever_the_others_hold() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    // The ideal kernel of red, blue, red.
    std::fs::write(path.join("p.csv"), "1,0,1\n0,1,0\n1,0,1\n").unwrap();
    std::fs::write(path.join("rows.csv"), "id,f,class\nr1,1,red\nr2,,blue\nr3,NA,red\n").unwrap();
    for column in ["class", "3", "last"] {
        let value = json(&done(path, &format!("align p.csv rows.csv --b labels:{column} --json")));
        assert_eq!(value["b"]["kind"], "ideal kernel of 3 rows in 2 classes");
        assert!((value["alignment"].as_f64().unwrap() - 1.0).abs() < 1e-12, "{value}");
    }
    // A column that is not there, and a table taken for factors: no flag is named that this command lacks.
    let missing = refused(path, "align p.csv rows.csv --b labels:nope", 2);
    assert!(missing.starts_with("error: --b: rows.csv: no column is called `nope`"), "{missing}");
    let text = refused(path, "align p.csv rows.csv", 1);
    assert!(text.contains("if the column holds classes, say --b labels:id, else leave it out"), "{text}");
    for message in [missing, text] {
        assert!(
            !message.contains("skip") && !message.contains("--label ") && !message.contains("set label"),
            "{message}"
        );
    }
}

/// The clouds with each value times a factor, in a file of that name.
fn times(folder: &Path, name: &str, factor: f64) {
    let text = std::fs::read_to_string(folder.join("clouds.csv")).unwrap();
    let mut lines = text.lines();
    let mut out = lines.next().unwrap().to_owned();
    for line in lines {
        out.push('\n');
        let cells = line.split(',').map(|cell| cell.parse::<f64>().map_or(cell.into(), |v| (factor * v).to_string()));
        out += &cells.collect::<Vec<String>>().join(",");
    }
    std::fs::write(folder.join(name), out + "\n").unwrap();
}

#[test]
fn rows_in_other_units_than_the_models_are_told() {
    let folder = fitted();
    let path = folder.path();
    times(path, "small.csv", 1.0 / 255.0);
    times(path, "large.csv", 255.0);
    let mut text = std::fs::read_to_string(path.join("clouds.csv")).unwrap();
    text += "1,2,3,1e30,1,2,3,1,red\n";
    std::fs::write(path.join("cell.csv"), text).unwrap();
    for command in [
        "encode m.dkae FILE --label kind -o out.npy",
        "reconstruct m.dkae FILE --label kind -o out.npy",
        "cluster m.dkae FILE --label kind -o out.npy",
        "walk m.dkae FILE --label kind --from 0 --to 1 -o out.npy",
        "denoise m.dkae FILE --label kind -o out.npy",
        "classify FILE --label kind --model m.dkae",
    ] {
        let warnings = |file: &str| {
            let output = run(path, &command.replace("FILE", file));
            let all = stderr(&output);
            // Values like 1e30 may be more than a method can bear.
            assert!(output.status.success() || file == "cell.csv", "{command}: {all}");
            all.lines().filter(|l| l.starts_with("warning: ")).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(warnings("clouds.csv"), [""; 0], "{command}");
        for (file, words) in [
            ("small.csv", "were they scaled before?"),
            ("large.csv", "give the rows in the units of the training rows"),
            ("cell.csv", "row 301 (from 1), feature 4 (`d`) is 1e30, but the model m.dkae takes about "),
        ] {
            let found = warnings(file);
            let told =
                found.iter().filter(|w| w.contains(&format!("{file}: ")) && w.contains("the model m.dkae takes "));
            assert_eq!(told.filter(|w| w.contains(words)).count(), 1, "{command} {file}: {found:?}");
        }
    }
    // Codes are not rows.
    done(path, "encode m.dkae clouds.csv --label kind -o codes.csv");
    assert!(!stderr(&run(path, "decode m.dkae codes.csv -o back.csv")).contains("warning"));
}

#[test]
fn clusters_are_whole_numbers() {
    let folder = fitted();
    let path = folder.path();
    for format in ["npy", "csv", "parquet"] {
        done(path, &format!("cluster m.dkae clouds.csv --label kind -o c.{format}"));
    }
    let npy = std::fs::read(path.join("c.npy")).unwrap();
    let header = String::from_utf8_lossy(&npy[..128]).into_owned();
    assert!(header.contains("'descr': '<i8'") && header.contains("'shape': (300,)"), "{header}");
    let csv = std::fs::read_to_string(path.join("c.csv")).unwrap();
    assert!(csv.starts_with("cluster\n") && csv.lines().skip(1).all(|l| ["0", "1", "2"].contains(&l)), "{csv}");
    assert_eq!(rows(path, "c.npy"), rows(path, "c.csv"));
    assert_eq!(rows(path, "c.parquet"), rows(path, "c.csv"));
    // One of something, and more clusters than fit in a table.
    let text = done(path, "cluster m.dkae clouds.csv --skip kind --clusters 1 -o c.npy");
    assert!(text.starts_with("1 cluster of 300 rows\n"), "{text}");
    let text = done(path, "cluster m.dkae clouds.csv --label kind --clusters 20 -o c.npy");
    assert!(text.contains("cluster 19: ") && text.contains(" of them ") && !text.contains("class \\"), "{text}");
}

#[test]
fn a_walk_says_between_what_it_goes() {
    let folder = fitted();
    let path = folder.path();
    let text = done(path, "walk m.dkae clouds.csv --label kind --clusters 3 --pairs 2 -o w.npy");
    let (head, names) = text.trim_end().split_once(": ").unwrap_or_else(|| panic!("{text}"));
    assert_eq!(head, "wrote 2 walks of 10 steps to w.npy");
    assert!(names.split(", ").count() == 2 && names.split(", ").all(|n| n.starts_with("cluster ")), "{text}");
    let text = done(path, "walk m.dkae clouds.csv --label kind --from 0 --to 1 -o w.npy");
    assert_eq!(text, "wrote 1 walk of 10 steps to w.npy\n");
}

#[test]
fn letters_that_a_png_cannot_show_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    clouds(path, 60);
    let text = std::fs::read_to_string(path.join("clouds.csv")).unwrap().replace("red", "日本");
    std::fs::write(path.join("clouds.csv"), text).unwrap();
    let warned = |figure: &str| {
        let output = run(path, &format!("embed clouds.csv --label kind --method pca -o z.csv --figure {figure}"));
        assert!(output.status.success(), "{}", stderr(&output));
        stderr(&output).lines().filter(|l| l.contains("日本")).map(str::to_owned).collect::<Vec<_>>()
    };
    let found = warned("z.png");
    assert!(
        matches!(&found[..], [w] if w.starts_with("warning: z.png: letters of `日本`") && w.contains(".svg")),
        "{found:?}"
    );
    assert_eq!(warned("z.svg"), [""; 0]);
}

#[test]
fn help_completions_and_manual_know_every_command() {
    let folder = tempfile::tempdir().unwrap();
    for command in COMMANDS {
        let help = done(folder.path(), &format!("{command} --help"));
        assert!(help.contains("Examples:") && help.contains(&format!("dkae {command}")), "{command}: {help}");
    }
    for shell in ["bash", "zsh", "fish"] {
        let script = done(folder.path(), &format!("completions {shell}"));
        for command in COMMANDS {
            assert!(script.contains(command), "{shell}: {command}");
        }
        assert!(script.contains("max-components"), "{shell}");
    }
    done(folder.path(), "man pages");
    let pages = files(&folder.path().join("pages"));
    let main = std::fs::read_to_string(folder.path().join("pages/dkae.1")).unwrap();
    for command in COMMANDS {
        assert!(pages.contains(&format!("dkae-{command}.1")), "{command}: {pages:?}");
        assert!(main.contains(command), "{command}");
    }
    let version = done(folder.path(), "--version");
    assert_eq!(version.trim(), format!("dkae {}", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_model_and_its_codes_load_in_python() {
    let python = std::env::var("DKAE_PYTHON").unwrap_or("python3".into());
    let found = Command::new(&python).args(["-c", "import safetensors.numpy, numpy"]).output();
    if !found.is_ok_and(|o| o.status.success()) {
        assert!(std::env::var_os("DKAE_REQUIRE_DATA").is_none(), "{python} has no safetensors package");
        println!("skipped: {python} has no safetensors package (set DKAE_PYTHON to one that has)");
        return;
    }
    let folder = fitted();
    done(folder.path(), "encode m.dkae clouds.csv --label kind -o codes.npy");
    let script = "import json, numpy as np, safetensors.numpy as s, safetensors\n\
                  t = s.load_file('m.dkae')\n\
                  about = json.loads(safetensors.safe_open('m.dkae', 'np').metadata()['dkae'])\n\
                  assert about['format'] == 1 and about['architecture']['layers'] == [32, 16], about\n\
                  assert t['encoder.0.weight'].shape == (32, 8), t['encoder.0.weight'].shape\n\
                  c = np.load('codes.npy')\n\
                  assert c.shape == (300, 16) and c.dtype == np.float32 and np.isfinite(c).all()\n";
    let output = Command::new(&python).current_dir(folder.path()).args(["-c", script]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn help_starts_at_once() {
    // The fastest of some: others may be using the machine.
    let time = |_| {
        let start = std::time::Instant::now();
        assert!(dkae().arg("--help").output().unwrap().status.success());
        start.elapsed()
    };
    let fastest = (0..10).map(time).min().unwrap();
    assert!(fastest.as_millis() < 20, "{fastest:?}");
}

#[test]
fn work_goes_on_when_nobody_reads_its_messages() {
    let folder = tempfile::tempdir().unwrap();
    clouds(folder.path(), 90);
    let work = |arguments: &str| {
        let mut command = dkae();
        command.current_dir(folder.path()).args(arguments.split(' ')).stderr(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stderr.take());
        child.wait().unwrap().code()
    };
    assert_eq!(work(&format!("{FIT} -o m.dkae")), Some(0));
    assert!(Model::load(folder.path().join("m.dkae")).is_ok());
    assert_eq!(work("fit missing.csv -o n.dkae"), Some(1));
}
