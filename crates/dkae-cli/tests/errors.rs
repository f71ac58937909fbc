//! Bad input: one clear message that names the file and the place in it or the flag, the right exit code, and nothing left
//! behind.

mod common;

use common::{SMALL, clouds, done, fails, files, fitted, refused, run, stderr, write};

/// An npy file of 32-bit floats.
fn npy(rows: usize, columns: usize, value: impl Fn(usize) -> f32) -> Vec<u8> {
    let dictionary = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    let mut bytes =
        [&b"\x93NUMPY\x01\x00"[..], &(dictionary.len() as u16).to_le_bytes(), dictionary.as_bytes()].concat();
    (0..rows * columns).for_each(|i| bytes.extend(value(i).to_le_bytes()));
    bytes
}

#[test]
fn values_that_are_not_numbers_are_named_by_row_and_column() {
    let folder = fitted();
    let path = folder.path();
    write(path, "nan.csv", "a,b\n1,2\n3,nan\n");
    write(path, "inf.csv", "a,b\n1,2\n-inf,4\n");
    write(path, "gap.csv", "a,b\n1,2\n3,\n");
    write(path, "text.csv", "a,b\n1,2\n3,four\n");
    write(path, "prose.csv", "it was a dark\nand stormy night\n");
    write(path, "ragged.csv", "a,b\n1,2\n3\n");
    write(path, "nan.npy", npy(9, 8, |i| if i == 19 { f32::NAN } else { 0.5 }));
    for command in ["fit", "kernel"] {
        let output = if command == "fit" { "x.dkae" } else { "x.npy" };
        let refuse = |file: &str, words: &[&str]| {
            let all: Vec<&str> = [file].into_iter().chain(words.iter().copied()).collect();
            fails(path, &format!("{command} {file} -o {output}"), 1, &all);
        };
        refuse("nan.csv", &["row 2", "feature 2", "`b`", "NaN", "finite"]);
        refuse("inf.csv", &["row 2", "feature 1", "`a`", "infinite"]);
        refuse("gap.csv", &["row 2", "`b`", "missing"]);
        refuse("text.csv", &["row 2", "column 2", "`four`", "not a number"]);
        refuse("prose.csv", &["row 1", "column 1", "not a number"]);
        refuse(
            "clouds.csv",
            &[
                "row 1",
                "column 9",
                "`red` is not a number",
                "classes, give --label kind, else leave it out with --skip",
            ],
        );
        refuse("ragged.csv", &["row 2", "line 3", "1 columns where the first row has 2"]);
        refuse("nan.npy", &["row 3 (from 1)", "feature 4", "NaN"]);
    }
    fails(path, "encode m.dkae nan.npy -o x.csv", 1, &["nan.npy", "row 3", "feature 4", "NaN"]);
}

#[test]
fn files_that_are_not_what_they_seem_are_refused() {
    let folder = fitted();
    let path = folder.path();
    write(path, "bad.npy", b"\x93NUMPX\x01\x00aaaa");
    write(path, "bad.idx", [0, 0, 0x42, 2, 0, 0, 0, 1, 0, 0, 0, 1]);
    write(path, "bad.parquet", b"PARX1234");
    write(path, "bad.npz", b"PK\x03\x05nonsense");
    write(path, "short.npy", &npy(9, 8, |_| 0.5)[..200]);
    write(path, "noise", [7u8, 200, 3, 0, 255, 1]);
    write(path, "empty.csv", "");
    write(path, "header.csv", "a,b,c,d,e,f,g,h\n");
    let text = std::fs::read(path.join("clouds.csv")).unwrap();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, &text).unwrap();
    let packed = packed.finish().unwrap();
    write(path, "cut.csv.gz", &packed[..packed.len() / 2]);
    for (file, word) in [
        ("bad.npy", "NUMPY"),
        ("bad.idx", "header"),
        ("bad.parquet", "Parquet"),
        ("bad.npz", "npz"),
        ("short.npy", "truncated"),
        ("noise", "format"),
        ("empty.csv", "empty"),
        ("header.csv", "no rows"),
        ("cut.csv.gz --label kind", "truncated"),
        ("missing.csv", "No such file"),
    ] {
        let name = file.split(' ').next().unwrap();
        fails(path, &format!("fit {file} -o x.dkae"), 1, &[name, word]);
        fails(path, &format!("encode m.dkae {file} -o x.csv"), 1, &[name, word]);
        fails(path, &format!("inspect {file}"), 1, &[name, word]);
        fails(path, &format!("cluster m.dkae {file} -o x.csv"), 1, &[name, word]);
    }
}

#[test]
fn settings_out_of_range_are_named_as_flags() {
    let folder = fitted();
    let path = folder.path();
    let fit = |more: &str, words: &[&str]| {
        fails(path, &format!("fit clouds.csv --label kind {more} -o x.dkae"), 2, words);
    };
    fit("--batch 1000", &["--batch", "1000", "63 training rows"]);
    fit("--batch 1", &["--batch", "at least 2"]);
    fit("--lambda 1.5", &["--lambda", "[0, 1]", "1.5"]);
    fit("--lambda -0.1", &["--lambda", "[0, 1]", "-0.1"]);
    fit("--lambda nan", &["--lambda", "[0, 1]", "NaN"]);
    fit("--subset 10 --max-components 20", &["--max-components", "20 components", "subset of 10", "raise --subset"]);
    fit("--restarts 0", &["--restarts", "1 or more"]);
    fit("--floor 0", &["--floor", "positive"]);
    fit("--covariance round", &["--covariance", "round", "spherical"]);
    fit("--start here", &["--start", "here"]);
    fit("--kernel gaussian", &["--kernel", "gaussian", "rbf"]);
    fit("--kernel rbf --rbf-width none", &["--rbf-width", "none"]);
    fit("--kernel rbf --subset 9", &["--subset", "--kernel pck"]);
    fit("--kernel polynomial --degree 0", &["--degree", "1 to 64"]);
    fit("--layers 8,0", &["--layers", "width 0"]);
    fit("--hidden swish", &["--hidden", "swish", "relu"]);
    fit("--steps many", &["--steps", "many"]);
    fit("--pretrain many", &["--pretrain", "many"]);
    fit("--rate 0", &["--rate", "positive"]);
    fit("--clip -1", &["--clip", "positive", "-1"]);
    fit("--noise mask:2", &["--noise", "[0, 1)", "2"]);
    fit("--noise salt:1", &["--noise", "salt:1", "gauss"]);
    fit("--validate-every 0", &["--validate-every", "at least 1"]);
    fit("--take 1000", &["--take", "1000", "90"]);
    fit("--split 0.5,0.5", &["--split", "three values"]);
    fit("--split 0.5,0.5,0.5", &["--split", "sum to 1"]);
    fit("--split-by 1,2,3", &["--split-by", "group"]);
    fit("--group kind --split-by red,green,black", &["--split-by", "black", "red"]);
    fit("--tfidf --svd 50", &["--svd", "50", "8"]);
    fit("--scale huge", &["--scale", "huge", "standard"]);
    fit("--skip nothing", &["--skip", "clouds.csv", "nothing", "kind"]);
    fit("--format xml", &["--format", "xml", "parquet"]);
    fails(path, "fit clouds.csv --label nope -o x.dkae", 2, &["--label", "clouds.csv", "nope", "kind"]);
    fails(path, "fit clouds.csv --skip kind --kernel ideal -o x.dkae", 2, &["--kernel", "labels", "label column"]);
    fails(path, "kernel clouds.csv --skip kind --kernel ideal -o x.npy", 2, &["--kernel", "labels", "--label"]);
    fails(path, "kernel clouds.csv --skip kind --rows 80..99 -o x.npy", 2, &["--rows", "80..99", "90 rows"]);
    fails(path, "kernel clouds.csv --skip kind --kernel rbf --factors -o x.svm", 2, &["--factors"]);
    fails(path, "fit clouds.csv --label kind", 2, &["required"]);
    fails(path, "fit --frobnicate", 2, &["--frobnicate"]);

    fails(path, "denoise m.dkae clouds.csv --label kind --components 5 -o x.npy", 2, &["--components", "1 to 4", "5"]);
    fails(path, "denoise m.dkae clouds.csv --label kind --noise mask:1 -o x.npy", 2, &["--noise", "[0, 1)"]);
    fails(path, "cluster m.dkae clouds.csv --label kind --clusters 91 -o x.npy", 2, &["--clusters", "1 to 90", "91"]);
    fails(path, "cluster m.dkae clouds.csv --label kind --restarts 0 -o x.npy", 2, &["--restarts"]);
    let walk = |more: &str, words: &[&str]| {
        fails(path, &format!("walk m.dkae clouds.csv --label kind {more} -o x.npy"), 2, words);
    };
    walk("--from 0 --to 90", &["--to", "clouds.csv", "0 to 89 (counted from 0)", "90"]);
    walk("--from 0 --to 1 --steps 1", &["--steps", "expected 2 (the two ends) to 1000000"]);
    walk("--clusters 3 --pairs 4", &["--pairs", "1 to 3", "4"]);
    walk("--clusters 1", &["--clusters", "at least 2"]);
    walk("--from 0 --to 1 --figure w.svg", &["--figure", "pictures"]);
    walk("--from 0 --to 1 --figure w.gif", &["--figure", "w.gif", "svg or png"]);
    walk("", &["--from I", "--to J", "--clusters K"]);
    let classify = |more: &str, words: &[&str]| fails(path, &format!("classify {more}"), 2, words);
    classify("clouds.csv --skip kind", &["--label", "clouds.csv", "no classes"]);
    classify("clouds.csv --label kind --c 0", &["--c", "above 0"]);
    classify("clouds.csv --label kind --c -1", &["--c", "above 0", "-1"]);
    classify("missing.csv --method kernel-svm --hinge linear", &["--hinge", "svm"]);
    classify("missing.csv --method knn --max-iterations 3", &["--max-iterations", "knn"]);
    classify("missing.csv --c 1,nan", &["--c", "above 0", "nan"]);
    classify("missing.csv --method knn --neighbours 0", &["--neighbours", "1 or more"]);
    classify("clouds.csv --label kind --method knn --neighbours 64", &["--neighbours", "63", "64"]);
    classify("clouds.csv --label kind --method knn --c 1", &["--c", "kernel-svm"]);
    classify("clouds.csv --label kind --split 1,0,0", &["--split", "no rows"]);
    classify("clouds.csv --label kind --model m.dkae --scale none", &["--scale", "its own way"]);
    classify("clouds.csv --label kind -o p.npy", &["--output", "p.npy", "csv"]);
    classify("--train clouds.csv --test clouds.csv --label kind --take 9", &["--take", "DATA"]);
    classify(
        "--train clouds.csv --test clouds.csv --label kind --validation-share 1",
        &["--validation-share", "0 and 1"],
    );
    classify("--train clouds.csv --label kind", &["--train", "--test, --predict"]);
}

/// The file is not there: whoever looked at it first would complain about that.
#[test]
fn settings_are_checked_before_anything_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    for (flags, words) in [
        ("--lambda 1.5", &["--lambda", "[0, 1]", "1.5"][..]),
        ("--layers 8,0", &["--layers", "width 0"]),
        ("--batch 1", &["--batch", "at least 2"]),
        ("--rate 0", &["--rate", "positive"]),
        ("--clip -1", &["--clip", "positive"]),
        ("--weight-decay -1", &["--weight-decay", "from 0"]),
        ("--noise mask:2", &["--noise", "[0, 1)"]),
        ("--patience 0", &["--patience", "at least 1"]),
        ("--validate-every 0", &["--validate-every", "at least 1"]),
        ("--validation-rows 1", &["--validation-rows", "at least 2"]),
        ("--subset 10 --max-components 20", &["--max-components", "subset of 10", "raise --subset"]),
        ("--restarts 0", &["--restarts", "1 or more"]),
        ("--max-iterations 0", &["--max-iterations", "1 or more"]),
        ("--tolerance nan", &["--tolerance", "NaN"]),
        ("--kernel polynomial --degree 0", &["--degree", "1 to 64"]),
        ("--kernel polynomial --gamma -1", &["--gamma", "positive"]),
        ("--split 0.5,0.5,0.5", &["--split", "sum to 1"]),
        ("--split-by 1,2,3", &["--split-by", "--group"]),
        ("--group g --split-by 1,1,3", &["--split-by", "different groups"]),
        ("--take 0", &["--take", "at least 1"]),
        ("--tfidf --svd 0", &["--svd", "at least 1"]),
    ] {
        fails(path, &format!("fit missing.csv {flags} -o x.dkae"), 2, words);
    }
    write(path, "s.toml", "[train]\npatience = 0\n");
    fails(path, "fit missing.csv --config s.toml -o x.dkae", 2, &["s.toml, [train] patience: ", "at least 1"]);
    write(path, "s.toml", "kernel = 'precomputed'\n");
    fails(path, "fit missing.csv --config s.toml -o x.dkae", 2, &["s.toml, kernel: ", "--prior"]);
    fails(path, "kernel missing.csv --restarts 0 -o x.npy", 2, &["--restarts", "1 or more"]);
    // With sound settings it is the file.
    fails(path, "fit missing.csv -o x.dkae", 1, &["missing.csv", "No such file"]);
}

#[test]
fn flags_without_effect_are_refused_by_name() {
    let folder = fitted();
    let path = folder.path();
    write(path, "labels.txt", "red\n".repeat(90));
    write(path, "rows.npy", npy(90, 8, |i| (i % 7) as f32));
    write(path, "s.svm", "1 1:2 8:1\n2 2:1\n");
    for (arguments, words) in [
        ("fit clouds.csv --label kind --group a -o x.dkae", &["--group", "--split-by", "--skip"][..]),
        ("classify clouds.csv --label kind --group a", &["--group", "--split-by", "--skip"]),
        ("classify --train clouds.csv --test clouds.csv --label kind --group a", &["--group", "--split-by"]),
        ("kernel not-there.csv -o k.foo", &["--output", "k.foo"]),
        ("kernel clouds.csv --label kind --group a -o x.npy", &["--group", "no effect", "--skip"]),
        ("embed clouds.csv --label kind --group a -o x.npy", &["--group", "no effect", "--skip"]),
        ("classify clouds.csv --label kind --prior p.npy", &["--prior", "kernel-svm"]),
        ("classify clouds.csv --label kind --method kernel-svm --prior p.npy --scale none", &["--scale", "as it is"]),
        ("classify clouds.csv --label kind --method kernel-svm --prior p.npy --rbf-width 1", &["--rbf-width"]),
        ("classify clouds.csv --label kind --method kernel-svm --prior p.npy --model m.dkae", &["--model", "matrix"]),
        (
            "classify --train clouds.csv --test clouds.csv --label kind --method kernel-svm --prior p.npy",
            &["--prior", "goes with DATA"],
        ),
        ("fit clouds.csv --label kind --labels-file labels.txt -o x.dkae", &["--labels-file", "label", "--skip"]),
        ("cluster m.dkae clouds.csv --label kind --labels-file labels.txt -o x.csv", &["--labels-file", "--skip"]),
        ("encode m.dkae rows.npy --labels-file labels.txt -o x.csv", &["--labels-file", "--drop-label"]),
        ("kernel rows.npy --labels-file labels.txt -o x.npy", &["--labels-file", "--drop-label"]),
        ("fit clouds.csv --label kind --array x -o x.dkae", &["--array", "npz", "clouds.csv is csv"]),
        ("encode m.dkae rows.npy --array x -o x.csv", &["--array", "npz", "rows.npy is npy"]),
        ("encode m.dkae rows.npy --format npy --array x -o x.csv", &["--array", "npz"]),
        ("inspect clouds.csv --width 9", &["--width", "svmlight", "clouds.csv is csv"]),
        ("report m.dkae clouds.csv --label kind --width 8", &["--width", "svmlight"]),
        ("inspect clouds.csv --dense-limit 9", &["--dense-limit", "svmlight"]),
        ("inspect rows.npy --header true", &["--header", "csv", "rows.npy is npy"]),
        ("kernel s.svm --delimiter ; -o x.npy", &["--delimiter", "csv", "s.svm is svmlight"]),
        ("inspect m.dkae --label kind", &["--label", "m.dkae is a model"]),
        ("fit clouds.csv --label kind --lambda 0 --kernel rbf -o x.dkae", &["--kernel", "lambda is 0"]),
        ("fit clouds.csv --label kind --lambda 0 --restarts 2 -o x.dkae", &["--restarts", "lambda is 0"]),
        ("fit clouds.csv --label kind --split 0.8,0,0.2 --patience 3 -o x.dkae", &["--patience", "validation rows"]),
        ("fit clouds.csv --label kind --write-config s.toml -o x.dkae", &["--write-config", "--output"]),
        ("denoise m.dkae rows.npy --seed 3 -o x.npy", &["required"]),
        ("walk m.dkae rows.npy --from 0 --to 1 --seed 3 -o x.npy", &["--seed"]),
    ] {
        fails(path, arguments, 2, words);
    }
    // What the same flags are for.
    done(path, "cluster m.dkae rows.npy --labels-file labels.txt -o c.csv");
    done(path, "inspect s.svm --width 9 --dense-limit 100");
    done(path, "encode m.dkae clouds.csv --label kind --header true --delimiter , -o codes.csv");
    done(path, "kernel rows.npy --labels-file labels.txt --kernel ideal -o p.npy");
}

#[test]
fn a_report_says_how_many_rows_it_needs() {
    let folder = fitted();
    let path = folder.path();
    let text = std::fs::read_to_string(path.join("clouds.csv")).unwrap();
    let few = |rows: usize| {
        let lines: Vec<&str> = text.lines().take(1 + rows).collect();
        write(path, "few.csv", lines.join("\n"));
    };
    // Mixtures of up to four components need four rows, and 70 % of five are four.
    for rows in [1, 2, 4] {
        few(rows);
        let words = [
            "few.csv: ",
            if rows == 1 { "1 row is too few" } else { "rows are too few" },
            "70 %",
            "at least 5",
            "trained on",
        ];
        fails(path, "report m.dkae few.csv --label kind", 1, &words);
    }
    few(5);
    done(path, "report m.dkae few.csv --label kind");
    done(path, "fit clouds.csv --label kind --kernel cosine --layers 8,4 --pretrain 2 --steps 5 -o c.dkae");
    few(2);
    fails(path, "report c.dkae few.csv --label kind", 1, &["few.csv: 2 rows are too few", "at least 3"]);
    few(3);
    done(path, "report c.dkae few.csv --label kind");
}

#[test]
fn a_model_for_rows_and_rows_for_a_model_are_told_apart() {
    let folder = fitted();
    let path = folder.path();
    std::fs::copy(path.join("m.dkae"), path.join("other.dkae")).unwrap();
    for (arguments, call) in [
        ("fit m.dkae -o x.dkae", "dkae fit DATA -o MODEL"),
        ("kernel m.dkae -o x.npy", "dkae kernel DATA -o FILE"),
        ("classify m.dkae --label kind", "dkae classify DATA"),
        ("encode other.dkae m.dkae -o x.npy", "dkae encode MODEL DATA -o CODES"),
        ("decode m.dkae m.dkae -o x.npy", "dkae decode MODEL CODES -o FILE"),
        ("report other.dkae m.dkae", "dkae report MODEL DATA"),
        ("denoise other.dkae clouds.csv --label kind --fit m.dkae -o x.npy", "dkae denoise MODEL DATA"),
        ("fit clouds.csv --label kind --config m.dkae -o x.dkae", "dkae fit DATA -o MODEL"),
    ] {
        fails(path, arguments, 1, &["m.dkae: is a model", call]);
    }
    for arguments in ["encode clouds.csv clouds.csv -o x.npy", "classify clouds.csv --label kind --model clouds.csv"] {
        fails(
            path,
            arguments,
            1,
            &["a model was expected", "`dkae fit` wrote", "csv", "clouds.csv: is not a dkae file"],
        );
    }
}

#[test]
fn too_few_rows_are_named_with_their_file() {
    let folder = fitted();
    let path = folder.path();
    write(path, "one.csv", "a,b\n1,2\n");
    fails(path, "fit one.csv -o x.dkae", 1, &["one.csv", "rows", "--max-components"]);
    fails(path, "fit one.csv --kernel rbf -o x.dkae", 1, &["one.csv", "at least 2 rows"]);
    write(path, "single.csv", "a,b,kind\n1,2,x\n3,4,x\n5,6,x\n7,8,x\n1,1,x\n1,2,x\n2,2,x\n3,3,x\n9,8,x\n1,7,x\n");
    fails(
        path,
        "classify single.csv --label kind",
        1,
        &["single.csv", "all 7 training rows", "class `x`", "two classes"],
    );
}

#[test]
fn models_that_do_not_fit_or_are_damaged_are_refused() {
    let folder = fitted();
    let path = folder.path();
    write(path, "narrow.csv", "a,b\n1,2\n3,4\n");
    fails(path, "encode m.dkae narrow.csv -o x.npy", 1, &["narrow.csv", "2 columns", "m.dkae", "takes 8"]);
    fails(path, "encode m.dkae clouds.csv -o x.npy", 1, &["clouds.csv", "9 columns", "takes 8", "--label or --skip"]);
    fails(path, "decode m.dkae narrow.csv -o x.npy", 1, &["narrow.csv", "codes of 2 columns", "takes 4"]);
    for command in ["denoise", "cluster", "walk --from 0 --to 1"] {
        fails(path, &format!("{command} m.dkae narrow.csv -o x.npy"), 1, &["narrow.csv", "2 columns", "takes 8"]);
    }
    write(path, "named.csv", "a,b,kind\n1,2,x\n3,4,y\n");
    let words = ["named.csv", "2 columns", "takes 8"];
    fails(path, "classify named.csv --label kind --split 0.5,0,0.5 --method knn --model m.dkae", 1, &words);
    fails(path, "encode clouds.csv clouds.csv -o x.npy", 1, &["clouds.csv", "not a dkae file"]);
    fails(path, "encode none.dkae clouds.csv -o x.npy", 1, &["none.dkae", "No such file"]);
    for command in ["encode", "decode", "reconstruct", "denoise", "cluster", "walk --from 0 --to 1"] {
        let words = ["MODEL comes first", "m.dkae is a model", "swapped", "clouds.csv"];
        fails(path, &format!("{command} clouds.csv m.dkae -o x.npy"), 1, &words);
    }
    let bytes = std::fs::read(path.join("m.dkae")).unwrap();
    for keep in [0, 5, 8, 100, bytes.len() / 2, bytes.len() - 1] {
        write(path, "cut.dkae", &bytes[..keep]);
        fails(path, "encode cut.dkae clouds.csv --label kind -o x.npy", 1, &["cut.dkae", "damaged"]);
    }
    // A newer format: the description keeps its length.
    let start = br#"{\"format\":1"#;
    let place = bytes.windows(start.len()).position(|w| w == start).expect("the description begins so");
    let mut newer = bytes.clone();
    newer[place + start.len() - 1] = b'9';
    write(path, "newer.dkae", &newer);
    for command in ["encode newer.dkae clouds.csv --label kind -o x.npy", "inspect newer.dkae"] {
        fails(path, command, 1, &["newer.dkae", "format 9", "up to format 1", "newer version"]);
    }
    // Weights that are not numbers.
    let mut broken = bytes.clone();
    let end = broken.len();
    broken[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    write(path, "broken.dkae", &broken);
    fails(path, "encode broken.dkae clouds.csv --label kind -o x.npy", 1, &["broken.dkae", "damaged"]);
}

#[test]
fn constant_columns_are_no_trouble() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::from("a,same,b,zero\n");
    (0..60).for_each(|i| text += &format!("{},5,{},0\n", i % 7, (i * i) % 11));
    write(folder.path(), "flat.csv", text);
    for scale in ["auto", "unit", "standard", "none"] {
        done(folder.path(), &format!("fit flat.csv {SMALL} --scale {scale} -o m.dkae"));
        let back = done(folder.path(), "reconstruct m.dkae flat.csv -o back.csv --json");
        assert!(back.contains("60"), "{back}");
        let text = std::fs::read_to_string(folder.path().join("back.csv")).unwrap();
        assert!(!text.to_lowercase().contains("nan") && !text.contains("inf"), "{scale}");
    }
}

#[test]
fn places_that_cannot_be_written_to_are_named() {
    let folder = fitted();
    let path = folder.path();
    let fit = format!("fit clouds.csv --label kind {SMALL}");
    fails(path, &format!("{fit} -o none/x.dkae"), 1, &["none/x.dkae", "no folder none", "make it first"]);
    fails(path, "encode m.dkae clouds.csv --label kind -o none/x.npy", 1, &["none/x.npy", "no folder none"]);
    fails(path, "kernel clouds.csv --label kind -o none/x.npy", 1, &["none/x.npy", "no folder none"]);
    fails(path, &format!("{fit} -o ."), 1, &["directory"]);
    fails(path, "encode m.dkae clouds.csv --label kind -o x.txt", 2, &["--output", "x.txt", "npy", "parquet"]);
    fails(path, "encode m.dkae clouds.csv --label kind -o x", 2, &["--output", "npy"]);
}

/// `/dev/full` behaves as a file on a full disk.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_failure_that_names_the_file() {
    let folder = fitted();
    let path = folder.path();
    for name in ["full.npy", "full.csv", "full.csv.gz", "full.parquet", "full.dkae", "full.svm", "full.svm.gz"] {
        std::os::unix::fs::symlink("/dev/full", path.join(name)).unwrap();
    }
    let no_space = |arguments: &str, name: &str| fails(path, arguments, 1, &[name, "No space left"]);
    for name in ["full.npy", "full.csv", "full.csv.gz", "full.parquet"] {
        no_space(&format!("encode m.dkae clouds.csv --label kind -o {name}"), name);
        no_space(&format!("denoise m.dkae clouds.csv --label kind --components 2 -o {name}"), name);
        no_space(&format!("cluster m.dkae clouds.csv --label kind -o {name}"), name);
        no_space(&format!("kernel clouds.csv --label kind --kernel linear -o {name}"), name);
    }
    no_space(&format!("fit clouds.csv --label kind {SMALL} -o full.dkae"), "full.dkae");
    no_space("fit clouds.csv --write-config full.dkae", "full.dkae");
    no_space("classify clouds.csv --label kind -o full.csv", "full.csv");
    for name in ["full.svm", "full.svm.gz"] {
        no_space(&format!("kernel clouds.csv --label kind --max-components 3 --factors -o {name}"), name);
    }
}

/// A file system of a few pages, where this user may make one: a real disk runs full halfway, and takes its temporary file
/// back.
#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_runs_full_is_left_clean() {
    let folder = fitted();
    let path = folder.path();
    std::fs::create_dir(path.join("tiny")).unwrap();
    let script = "mount -t tmpfs -o size=64k tmpfs tiny && \"$0\" encode m.dkae big.npy -o tiny/codes.npy; echo code $?; \
                  ls -A tiny | wc -l";
    write(path, "big.npy", npy(20_000, 8, |i| (i % 5) as f32));
    let output = std::process::Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_dkae")])
        .current_dir(path)
        .output();
    let Ok(output) = output else {
        println!("skipped: there is no command `unshare` to make a small file system with");
        return;
    };
    let (text, message) = (String::from_utf8_lossy(&output.stdout).into_owned(), stderr(&output));
    if !output.status.success() || message.contains("mount:") {
        println!("skipped: a small file system cannot be made here: {message}");
        return;
    }
    assert_eq!(text.split_whitespace().collect::<Vec<_>>(), ["code", "1", "0"], "{message}");
    assert!(message.contains("tiny/codes.npy") && message.contains("No space left"), "{message}");
}

#[test]
fn a_file_that_was_there_survives_a_failure() {
    let folder = fitted();
    let path = folder.path();
    write(path, "codes.csv", "old");
    write(path, "late.npy", npy(5000, 8, |i| if i == 39_990 { f32::NAN } else { 0.5 }));
    fails(path, "encode m.dkae late.npy -o codes.csv", 1, &["late.npy", "row 4999"]);
    assert_eq!(std::fs::read(path.join("codes.csv")).unwrap(), b"old");
    let model = std::fs::read(path.join("m.dkae")).unwrap();
    fails(path, "fit late.npy -o m.dkae", 1, &["late.npy"]);
    assert!(std::fs::read(path.join("m.dkae")).unwrap() == model);
    assert!(!run(path, "encode m.dkae late.npy -o new.csv").status.success());
    assert!(!path.join("new.csv").exists());
}

#[test]
fn a_cell_with_a_bar_is_shown_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bar.csv"), "a,b\n1,2\n3,x|y\n").unwrap();
    let message = refused(folder.path(), "fit bar.csv -o m.dkae", 1);
    assert!(message.contains("bar.csv") && message.contains("x|y"), "{message}");
}

#[test]
fn an_output_that_is_also_an_input_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let before = std::fs::read(clouds(folder.path(), 60)).unwrap();
    let message = refused(folder.path(), "fit clouds.csv --label kind -o clouds.csv", 2);
    assert!(message.contains("--output") && message.contains("would be lost"), "{message}");
    let message = refused(folder.path(), "classify clouds.csv --label kind -o clouds.csv", 2);
    assert!(message.contains("--output") && message.contains("would be lost"), "{message}");
    assert_eq!(std::fs::read(folder.path().join("clouds.csv")).unwrap(), before);
}

#[test]
fn no_file_of_a_command_overwrites_another() {
    let folder = fitted();
    let path = folder.path();
    write(path, "labels.txt", "red\n".repeat(90));
    std::fs::copy(path.join("m.dkae"), path.join("page.html")).unwrap();
    let before: Vec<_> = files(path).iter().map(|name| std::fs::read(path.join(name)).unwrap()).collect();
    for (arguments, flag) in [
        ("fit clouds.csv --label kind --report -o new.html", "--report"),
        ("fit clouds.csv --label kind --report same.html -o ./same.html", "--report"),
        ("fit clouds.csv --write-config clouds.csv", "--write-config"),
        ("demo -o digits.svg", "--output"),
        ("report page.html clouds.csv --label kind", "--output"),
        ("encode m.dkae clouds.csv --label kind --labels-file labels.txt -o labels.txt", "--output"),
        ("cluster m.dkae clouds.csv --labels-file labels.txt -o labels.txt", "--output"),
        ("kernel clouds.csv --labels-file labels.txt -o labels.txt", "--output"),
        ("walk m.dkae clouds.csv --label kind --from 0 --to 1 -o w.npy --figure clouds.csv", "--figure"),
        ("embed clouds.csv --label kind --reconstruct clouds.csv -o z.npy", "--reconstruct"),
        ("embed clouds.csv --label kind --figure z.svg -o z.svg", "--figure"),
    ] {
        fails(path, arguments, 2, &[&format!("error: {flag}: "), "would be lost"]);
    }
    let after: Vec<_> = files(path).iter().map(|name| std::fs::read(path.join(name)).unwrap()).collect();
    assert_eq!(before, after);
}

#[test]
fn what_cannot_be_meant_is_refused_before_any_work() {
    let folder = fitted();
    let path = folder.path();
    fails(path, "fit clouds.csv --label kind -o x.dkae --threads 100000", 2, &["--threads", "1024"]);
    fails(path, "fit clouds.csv --label kind -o x.dkae --layers 2000000000", 2, &["--layers", "1000000"]);
    fails(path, "fit clouds.csv --label kind -o x.dkae --layers 900000,900000", 2, &["--layers", "weights"]);
    fails(path, "walk m.dkae clouds.csv --label kind --clusters 60000 -o w.npy", 2, &["--clusters", "90"]);
    fails(path, "kernel clouds.csv --label kind --factors -o f.npy", 2, &["--output", ".svm"]);
    fails(path, "report clouds.csv m.dkae -o r.html", 1, &["swapped"]);
    fails(path, "classify m.dkae --label kind --model clouds.csv", 1, &["swapped"]);
}

#[test]
fn a_model_that_does_not_know_its_rows_is_not_tested_on_them() {
    let folder = fitted();
    let path = folder.path();
    let x = ndarray::Array2::from_shape_fn((60, 8), |(i, j)| ((i * 7 + j * 3) % 11) as f32);
    let trainer = dkae::train::Trainer {
        layers: vec![4],
        lambda: 0.0,
        pretrain: Some(dkae::train::Length::Steps(1)),
        steps: dkae::train::Length::Steps(1),
        ..Default::default()
    };
    let model = trainer.fit(x.view(), &dkae::kernel::Ideal::new(&[0; 60]), &mut ()).unwrap();
    model.save(path.join("bare.dkae")).unwrap();
    fails(path, "classify clouds.csv --label kind --model bare.dkae", 2, &["--model", "--train", "bare.dkae"]);
    done(path, "classify --train clouds.csv --test clouds.csv --label kind --model bare.dkae");
}

#[test]
fn rows_with_gaps_have_results_that_say_so_and_are_not_learned_from() {
    let folder = fitted();
    let path = folder.path();
    write(path, "gaps.npy", npy(9, 8, |i| if i == 19 { f32::NAN } else { 0.5 }));
    for (command, width) in [("encode", 4), ("reconstruct", 8)] {
        let output = run(path, &format!("{command} m.dkae gaps.npy --allow-missing -o out.npy"));
        assert!(output.status.success() && stderr(&output).contains("1 of 9 rows"), "{}", stderr(&output));
        let bytes = std::fs::read(path.join("out.npy")).unwrap();
        let numbers: Vec<f32> = bytes[bytes.len() - 9 * width * 4..]
            .chunks_exact(4)
            .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
            .collect();
        for (i, row) in numbers.chunks_exact(width).enumerate() {
            assert!(row.iter().all(|v| v.is_nan() == (i == 2)), "{command}, row {i}: {row:?}");
        }
        std::fs::remove_file(path.join("out.npy")).unwrap();
    }
    for (arguments, place) in [
        ("fit gaps.npy --allow-missing -o x.dkae", "row 3, feature 4 is NaN"),
        ("cluster m.dkae gaps.npy --clusters 2 --allow-missing -o c.npy", "row 3, feature 4 (`d`) is NaN"),
        ("denoise m.dkae gaps.npy --allow-missing -o d.npy", "row 3, feature 4 (`d`) is NaN"),
    ] {
        fails(path, arguments, 1, &["gaps.npy", place]);
    }
}

#[test]
fn columns_in_another_order_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(clouds(folder.path(), 60)).unwrap();
    done(
        folder.path(),
        "fit clouds.csv --label kind --restarts 2 --max-components 3 --layers 4 --steps 5 --pretrain 2 --batch 20 -o m.dkae",
    );
    std::fs::write(folder.path().join("other.csv"), text.replacen("a,b,", "b,a,", 1)).unwrap();
    for command in [
        "encode m.dkae other.csv --label kind -o c.npy",
        "cluster m.dkae other.csv --label kind -o c.csv",
        "classify other.csv --label kind --model m.dkae",
        "classify --train other.csv --test other.csv --label kind --model m.dkae",
        "classify --train clouds.csv --test other.csv --label kind",
        "classify --train clouds.csv --validation other.csv --test clouds.csv --label kind",
    ] {
        let message = refused(folder.path(), command, 1);
        assert!(message.contains("feature 1 is `b`") && message.contains("`a`"), "{message}");
    }
}

#[test]
fn the_factors_of_a_kernel_need_a_folder_before_any_work() {
    let folder = fitted();
    let path = folder.path();
    let output = run(path, "kernel clouds.csv --label kind --factors -o nodir/x.svm");
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.starts_with("error: nodir/x.svm: ") && text.lines().count() == 1, "nothing may come before: {text}");
}

#[test]
fn a_kernel_of_missing_values_is_refused_by_the_flag() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "gap.csv", "a,b\n1,\n3,4\n5,6\n");
    fails(folder.path(), "kernel gap.csv --allow-missing -o p.npy", 2, &["--allow-missing", "fill them in"]);
    let help = done(folder.path(), "kernel --help");
    assert!(!help.contains("allow-missing"), "{help}");
}

#[test]
fn a_column_of_text_is_told_to_be_left_out_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write(path, "id.csv", "id,a,my note,kind\nr1,1,x,red\nr2,2,y,blue\n");
    fails(path, "fit id.csv --label kind -o m.dkae", 1, &["leave the column out with --skip id"]);
    fails(path, "fit id.csv -o m.dkae", 1, &["give --label id, else leave it out with --skip id"]);
    fails(path, "fit id.csv --label kind --skip id -o m.dkae", 1, &["(`my note`)", "with --skip 3"]);
    write(path, "late.csv", "a,b\n1,2\n3,x\n");
    fails(path, "fit late.csv -o m.dkae", 1, &["correct it, or leave out the row, or the column with --skip b"]);
    write(path, "gap.csv", "a,b\n1,2\n3,\n");
    fails(path, "fit gap.csv -o m.dkae", 1, &["fill it in, or leave out the row, or the column with --skip b"]);
}

#[test]
fn a_walk_without_ends_is_told_both_ways() {
    let folder = fitted();
    fails(folder.path(), "walk m.dkae clouds.csv --label kind -o w.npy", 2, &["--from I and --to J", "--clusters K"]);
    let half = run(folder.path(), "walk m.dkae clouds.csv --label kind --from 1 -o w.npy");
    assert!(half.status.code() == Some(2) && stderr(&half).contains("--to <J>"), "{}", stderr(&half));
}

#[test]
fn values_that_a_model_cannot_take_are_named_by_feature() {
    let folder = fitted();
    let path = folder.path();
    write(path, "gap.csv", "kind,a,b,c,d,e,f,g,h\nred,1,2,3,4,5,6,7,8\nred,1,,3,4,5,6,7,8\n");
    let command = "cluster m.dkae gap.csv --label kind --clusters 1 --allow-missing -o c.npy";
    fails(path, command, 1, &["gap.csv: row 2, feature 2 (`b`) is NaN"]);
}
