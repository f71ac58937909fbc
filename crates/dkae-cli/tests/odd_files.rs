//! Files that are unusual rather than wrong, and wrong ones of unusual kinds: names, pipes, links, digits, bytes.

mod common;

use std::ffi::OsString;
use std::path::Path;
use std::process::{Output, Stdio};

use common::{SMALL, clouds, dkae, done, fails, files, fitted, refused, run, run_with, stderr, write};

/// The warnings of a command that must succeed.
fn warnings(folder: &Path, arguments: &str) -> Vec<String> {
    let output = run(folder, arguments);
    assert!(output.status.success(), "dkae {arguments}: {}", stderr(&output));
    stderr(&output).lines().filter(|line| line.starts_with("warning: ")).map(str::to_owned).collect()
}

/// The clouds with a time in their first column: seconds since 1970 in one hour.
fn timed(folder: &Path, name: &str, start: f64) {
    let text = std::fs::read_to_string(clouds(folder, 90)).unwrap();
    let lines = text.lines().enumerate().map(|(i, line)| match i {
        0 => format!("time,{line}\n"),
        i => format!("{},{line}\n", start + 0.5 * i as f64),
    });
    write(folder, name, lines.collect::<String>());
}

#[test]
fn a_large_common_offset_is_warned_of_once_with_file_and_column() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    timed(path, "late.csv", 1_700_000_000.0);
    timed(path, "early.csv", 0.0);
    for name in ["late", "early"] {
        let expected = usize::from(name == "late");
        let rest = format!("{name}.csv --label kind");
        for arguments in [
            format!("fit {rest} {SMALL} -o {name}.dkae"),
            format!("encode {name}.dkae {rest} -o x.npy"),
            format!("cluster {name}.dkae {rest} -o x.npy"),
            format!("kernel {rest} --kernel linear -o x.npy"),
            format!("embed {rest} --components 2 -o x.npy"),
            format!("classify {rest} --method knn"),
            format!("report {name}.dkae {rest} -o x.html"),
            format!("fit {rest} {SMALL} -o {name}.dkae --quiet"),
        ] {
            let said = warnings(path, &arguments);
            assert_eq!(said.len(), expected, "dkae {arguments}: {said:?}");
            for words in ["late.csv, feature 1 (`time`): ", "steps of 128 ", "subtract", "1700000000.5"] {
                assert!(said.iter().all(|line| line.contains(words)), "{said:?}");
            }
        }
        let value: serde_json::Value = serde_json::from_str(&done(path, &format!("inspect {rest} --json"))).unwrap();
        assert_eq!(value["warnings"].as_array().unwrap().len(), expected);
        assert_eq!(done(path, &format!("inspect {rest}")).contains("`time`"), name == "late");
    }
}

#[test]
fn rows_that_are_not_word_counts_are_named_by_file_and_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let rows: String = (0..60).map(|i| format!("{} {}:{} {}:1\n", i % 2, 1 + i % 3, 1 + i % 4, 4 + i % 5)).collect();
    write(path, "texts.svm", format!("# a comment\n{rows}"));
    let text = "--tfidf --svd 3 --kernel linear --layers 4,2 --pretrain 2 --steps 5";
    done(path, &format!("fit texts.svm {text} -o m.dkae"));
    write(path, "bad.svm", format!("# a comment\n{rows}1 2:-4\n{rows}"));
    write(path, "bad.csv", format!("{}1,-2,0,0,0,0,0,0\n", "1,2,0,0,0,0,0,1\n".repeat(60)));
    for (file, words) in [
        ("bad.svm", ["bad.svm: row 61 (from 1), word 2: -4 is not a word count", "from 0 up"]),
        ("bad.csv", ["bad.csv: row 61 (from 1), word 2: -2 is not a word count", "from 0 up"]),
    ] {
        fails(path, &format!("fit {file} {text} -o x.dkae"), 1, &words);
        for command in ["encode", "reconstruct", "cluster", "denoise"] {
            fails(path, &format!("{command} m.dkae {file} -o x.npy"), 1, &words);
        }
    }
    // Rows keep their numbers in the file when others are left out.
    fails(path, &format!("fit bad.svm --drop-label 0 {text} -o x.dkae"), 1, &["bad.svm: row 61 (from 1)"]);
}

#[test]
fn a_packed_file_with_something_behind_it_is_damaged_and_not_truncated() {
    let folder = fitted();
    let path = folder.path();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, &std::fs::read(path.join("clouds.csv")).unwrap()).unwrap();
    let packed = packed.finish().unwrap();
    for rest in [&b"x"[..], b"and then some more text"] {
        write(path, "more.csv.gz", [&packed[..], rest].concat());
        for arguments in ["fit more.csv.gz --label kind -o x.dkae", "encode m.dkae more.csv.gz --label kind -o x.npy"] {
            let words = ["more.csv.gz: the compressed file is damaged", "not gzip follows where it ends"];
            fails(path, arguments, 1, &words);
        }
    }
    write(path, "padded.csv.gz", [&packed[..], &[0; 1000]].concat());
    done(path, "encode m.dkae padded.csv.gz --label kind -o x.npy");
}

#[test]
fn names_of_any_kind_can_be_read_and_written() {
    let folder = fitted();
    let path = folder.path();
    let mut names: Vec<OsString> =
        ["with space", "new\nline", "-dash", "naïve", "'quoted\"", "a,b;c"].map(OsString::from).to_vec();
    #[cfg(target_os = "linux")]
    names.push(std::os::unix::ffi::OsStringExt::from_vec(b"not\xfftext".to_vec()));
    let join = |name: &OsString, end: &str| {
        let mut file = OsString::from("./");
        file.push(name);
        file.push(end);
        file
    };
    for name in &names {
        let [rows, codes, model] = [".csv", "-codes.npy", ".dkae"].map(|end| join(name, end));
        std::fs::copy(path.join("clouds.csv"), path.join(&rows)).unwrap();
        let encode = ["encode".into(), "m.dkae".into(), rows.clone(), "-o".into(), codes.clone()];
        let fit = ["fit".into(), rows.clone(), "-o".into(), model.clone()];
        let small = SMALL.split(' ').map(OsString::from);
        for arguments in [encode.to_vec(), fit.into_iter().chain(small).collect()] {
            let label = ["--label", "kind", "--json"].map(OsString::from);
            let output = run_with(path, arguments.iter().chain(&label));
            assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
            assert!(serde_json::from_slice::<serde_json::Value>(&output.stdout).is_ok(), "{arguments:?}");
        }
        assert!(path.join(&codes).is_file() && path.join(&model).is_file());
        // A message about it is one line.
        let output = run_with(
            path,
            ["encode".as_ref(), model.as_os_str(), "none.csv".as_ref(), "-o".as_ref(), rows.as_os_str()],
        );
        assert_eq!((output.status.code(), stderr(&output).lines().count()), (Some(1), 1), "{}", stderr(&output));
    }
}

#[test]
fn what_a_file_holds_does_not_reach_the_terminal_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write(path, "red.csv", "a,b\n1,2\n3,\u{1b}[31mred\u{7}\n");
    write(path, "s.toml", "[train]\nhidden = \"\\u001b[31mred\"\n");
    for (arguments, code) in [("fit red.csv -o x.dkae", 1), ("fit red.csv --config s.toml -o x.dkae", 2)] {
        let message = refused(path, arguments, code);
        assert!(message.contains("\\u{1b}[31mred") && !message.contains(char::is_control), "{message:?}");
    }
}

#[test]
fn files_that_are_hardly_files_are_refused() {
    let folder = fitted();
    let path = folder.path();
    std::fs::create_dir(path.join("folder.csv")).unwrap();
    write(path, "archive.csv", b"PK\x03\x04\x14\0\0\0");
    write(path, "zeros.csv", b"1,2\n3,\0\0\n");
    write(path, "quote.csv", "a,b\n1,2\n3,\"4\n5,6\n");
    write(path, "windows.csv", "a,b\r\n1,2\r\n3,x\r\n");
    write(path, "twice.csv", "a,b,a\n1,2,3\n4,5,6\n");
    write(
        path,
        "two.npz",
        std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../dkae/tests/fixtures/arrays.npz")).unwrap(),
    );
    for (arguments, code, words) in [
        ("folder.csv", 1, &["folder.csv: is a folder"][..]),
        ("archive.csv", 1, &["archive.csv: ", "an archive or a spreadsheet", "as csv"]),
        ("zeros.csv", 1, &["zeros.csv: ", "binary data"]),
        ("quote.csv", 1, &["quote.csv, row 2 (line 3), column 2 (`b`)", "is a quote (\") not closed?"]),
        ("windows.csv", 1, &["windows.csv, row 2 (line 3), column 2 (`b`)", "`x` is not a number"]),
        ("twice.csv --label a", 2, &["--label", "twice.csv", "columns 1, 3 are all called `a`"]),
        ("two.npz", 1, &["two.npz: ", "say with --array which holds the rows", "be_f4"]),
    ] {
        for command in ["fit", "kernel"] {
            let output = if command == "fit" { "x.dkae" } else { "x.npy" };
            fails(path, &format!("{command} {arguments} -o {output}"), code, words);
        }
        fails(path, &format!("inspect {arguments}"), code, words);
    }
    fails(path, "inspect -", 1, &["-: there is no such file; for standard input give /dev/stdin"]);
}

/// With `bytes` on standard input.
fn piped(folder: &Path, arguments: &str, bytes: &[u8]) -> Output {
    let mut command = dkae();
    command.current_dir(folder).args(arguments.split_whitespace());
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut input = child.stdin.take().unwrap();
    // A command that refuses what it is given may be gone before it is all there.
    let _ = std::io::Write::write_all(&mut input, bytes);
    drop(input);
    child.wait_with_output().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn rows_come_through_pipes_where_their_format_allows_it() {
    let folder = fitted();
    let path = folder.path();
    let clouds = std::fs::read(path.join("clouds.csv")).unwrap();
    done(path, "encode m.dkae clouds.csv --label kind -o want.npy");
    let output = piped(path, "encode m.dkae /dev/stdin --label kind -o got.npy", &clouds);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(std::fs::read(path.join("got.npy")).unwrap() == std::fs::read(path.join("want.npy")).unwrap());
    let output = piped(path, &format!("fit /dev/stdin --label kind {SMALL} -o p.dkae"), &clouds);
    assert!(output.status.success(), "{}", stderr(&output));
    done(path, "encode m.dkae clouds.csv --label kind -o x.parquet");
    let parquet = std::fs::read(path.join("x.parquet")).unwrap();
    let before = files(path);
    for (arguments, bytes, words) in [
        ("decode m.dkae /dev/stdin -o y.npy", &parquet[..], &["/dev/stdin: is a pipe", "save it first"][..]),
        ("kernel /dev/stdin -o y.npy", b"1 1:2\n2 2:1\n", &["is a pipe", "or say with --width how wide its rows are"]),
        ("encode m.dkae /dev/stdin -o y.npy", b"", &["/dev/stdin: the file is empty"]),
        ("fit /dev/stdin -o y.dkae", b"a,b\n1,x\n", &["/dev/stdin, row 1 (line 2)", "`x` is not a number"]),
    ] {
        let output = piped(path, arguments, bytes);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "dkae {arguments}: {said}");
        assert!(words.iter().all(|word| said.contains(word)), "dkae {arguments}: {said}");
        assert_eq!(files(path), before, "dkae {arguments} left something behind");
    }
}

#[cfg(unix)]
#[test]
fn links_are_written_through_or_refused_and_never_replaced() {
    use std::os::unix::fs::symlink;
    let folder = fitted();
    let path = folder.path();
    std::fs::create_dir(path.join("inner")).unwrap();
    symlink("inner/codes.npy", path.join("link.npy")).unwrap();
    symlink("none/codes.npy", path.join("astray.npy")).unwrap();
    symlink("round.csv", path.join("round.csv")).unwrap();
    done(path, "encode m.dkae clouds.csv --label kind -o link.npy");
    assert!(path.join("link.npy").is_symlink() && path.join("inner/codes.npy").is_file());
    let words = ["astray.npy: there is no folder none; make it first"];
    fails(path, "encode m.dkae clouds.csv --label kind -o astray.npy", 1, &words);
    assert!(path.join("astray.npy").is_symlink());
    fails(path, "encode m.dkae round.csv --label kind -o x.npy", 1, &["round.csv", "symbolic links"]);
}

#[test]
fn training_that_diverges_is_told_what_to_do() {
    let folder = fitted();
    let words = ["step", "the loss is not finite", "lower --rate, set --clip", "--scale"];
    fails(folder.path(), &format!("fit clouds.csv --label kind {SMALL} --rate 1e30 -o x.dkae"), 1, &words);
}

#[test]
fn a_place_that_cannot_be_written_to_is_found_out_before_the_work() {
    let folder = fitted();
    let path = folder.path();
    let started = |text: &str| ["fitting", "reading", "training"].iter().any(|word| text.contains(word));
    for arguments in ["demo -o none/d.dkae", "fit clouds.csv --label kind -o none/x.dkae"] {
        let output = run(path, arguments);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("there is no folder none") && !started(&said), "{said}");
    }
    assert_eq!(files(path), ["clouds.csv", "m.dkae"]);
}
