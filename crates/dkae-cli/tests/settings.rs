//! Settings files: the same spelling as the flags, and messages that name the file and the key.

mod common;

use common::{SMALL, clouds, done, fails, refused, write};

#[test]
fn values_in_a_settings_file_are_named_by_file_and_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    clouds(path, 90);
    for (text, words) in [
        ("[train]\nlambda = 1.5\n", &["error: s.toml, [train] lambda: expected", "[0, 1]", "1.5"][..]),
        ("[kernel.rbf]\nwidth = { value = -1.0 }\n", &["s.toml, [kernel.rbf] width: ", "-1"]),
        ("split = [0.5, 0.5, 0.5]\n", &["s.toml, split: ", "sum to 1"]),
        ("split-by = ['a', 'b', 'c']\n", &["s.toml, split-by: ", "--group"]),
        // What only the rows show.
        ("take = 1000\n", &["s.toml, take: ", "1000", "90"]),
        ("[train]\nbatch = 1000\n", &["s.toml, [train] batch: ", "63 training rows"]),
        ("svd = 50\n", &["s.toml, svd: ", "50"]),
        ("[data]\nskip = ['nothing']\n", &["s.toml, [data] skip: ", "clouds.csv", "nothing"]),
        ("[data]\ngroup = 'a'\n", &["s.toml, [data] group: ", "--split-by", "--skip"]),
        ("[data]\narray = 'x'\n", &["s.toml, [data] array: ", "npz", "clouds.csv is csv"]),
        ("seed = 'seven'\n", &["s.toml, seed: expected a whole number", "the text \"seven\"", "for example: seed = 7"]),
        ("seed = 7\n[train]\nseed = 99\n", &["settings file s.toml", "`seed` is set in [train]"]),
    ] {
        write(path, "s.toml", text);
        fails(path, "fit clouds.csv --label kind --config s.toml -o x.dkae", 2, words);
    }
    // A flag goes before the file, and is named when it is wrong itself.
    write(path, "s.toml", "[train]\nlambda = 1.5\n");
    fails(
        path,
        "fit clouds.csv --label kind --config s.toml --lambda 2 -o x.dkae",
        2,
        &["error: --lambda: ", "found 2"],
    );
    done(path, &format!("fit clouds.csv --label kind --config s.toml --lambda 0.2 {SMALL} -o x.dkae"));
}

#[test]
fn a_settings_file_takes_the_spelling_of_the_flags() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    clouds(path, 90);
    let quick = "--layers 8,4 --pretrain 2 --steps 5";
    for (text, flags) in [
        ("[kernel.rbf]\nwidth = '15%'\n", "--kernel rbf --rbf-width 15%"),
        ("[kernel.rbf]\nwidth = 2\n", "--kernel rbf --rbf-width 2"),
        ("[kernel.rbf]\nwidth = { median-fraction = 0.3 }\n", "--kernel rbf --rbf-width 30%"),
        ("[kernel.pck]\nfloor = 0.02\nrestarts = 2\n", "--floor 0.02 --restarts 2"),
        ("[kernel.pck]\nfloor = '5%'\nrestarts = 2\n", "--floor 5% --restarts 2"),
        ("kernel = 'rbf'\n[train]\nnoise = 'mask:0.2'\n", "--kernel rbf --noise mask:0.2"),
        ("kernel = 'rbf'\n[train]\nnoise = { gauss = 0.5 }\n", "--kernel rbf --noise gauss:0.5"),
        ("kernel = 'linear'\n[data]\nlabel = 9\n", "--kernel linear --label 9"),
        (
            "kernel = 'linear'\n[data]\nskip = [1, 'b']\ndrop-label = 'red'\n",
            "--kernel linear --skip 1,b --drop-label red",
        ),
        ("kernel = 'linear'\n[train]\nsteps = '5'\n", "--kernel linear --steps 5"),
    ] {
        let label = if text.contains("label = 9") { "" } else { "--label kind" };
        let by_flag = if flags.contains("--label") { "" } else { "--label kind" };
        // Steps come from the place that is tried.
        let quick = if text.contains("steps") { "--layers 8,4 --pretrain 2" } else { quick };
        write(path, "s.toml", text);
        done(path, &format!("fit clouds.csv {label} {quick} --config s.toml -o a.dkae"));
        done(path, &format!("fit clouds.csv {by_flag} {quick} {flags} -o b.dkae"));
        let [a, b] = ["a.dkae", "b.dkae"].map(|name| std::fs::read(path.join(name)).unwrap());
        assert!(a == b, "{text} makes another model than {flags}");
    }
    // Groups may be numbers, as in the column.
    let text = std::fs::read_to_string(path.join("clouds.csv")).unwrap();
    let numbered: Vec<String> = text
        .lines()
        .enumerate()
        .map(|(i, line)| match i {
            0 => format!("part,{line}"),
            i => format!("{},{line}", i % 3),
        })
        .collect();
    write(path, "parts.csv", numbered.join("\n"));
    write(path, "s.toml", "kernel = 'linear'\nsplit-by = [2, 0, 1]\n[data]\ngroup = 'part'\n");
    done(path, &format!("fit parts.csv --label kind {quick} --config s.toml -o a.dkae"));
}

#[test]
fn what_a_settings_file_has_wrong_is_said_with_an_example() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    for (text, words) in [
        (
            "[kernel.pck]\nfloor = true\n",
            &["s.toml, [kernel.pck] floor: expected a number, or a share", "floor = \"5%\""][..],
        ),
        ("[kernel.rbf]\nwidth = 'wide'\n", &["s.toml, [kernel.rbf] width: ", "'wide'", "width = \"15%\""]),
        ("[train]\nlambda = '0.1'\n", &["s.toml, [train] lambda: expected a number, found the text", "lambda = 0.1"]),
        ("[train]\nnoise = 'salt'\n", &["s.toml, [train] noise: expected none, mask:SHARE", "'salt'", "mask:0.2"]),
        (
            "[data]\nlabel = true\n",
            &["s.toml, [data] label: expected a name in quotes, or a number", "label = \"class\""],
        ),
        ("[data]\nlabel = 0\n", &["s.toml, [data] label: columns are counted from 1"]),
        ("train = 5\n", &["s.toml, train: expected a table, found 5"]),
        ("colour = 'red'\n", &["settings file s.toml: `colour` is not a setting", "seed", "checkpoint-every"]),
        ("[train]\nlamda = 0.1\n", &["`lamda` is not a setting; in [train] there are: ", "lambda"]),
        ("[trian]\nlambda = 0.1\n", &["`trian` is not a setting", "train"]),
        ("[kernel.gauss]\nwidth = 1\n", &["`gauss` is not a setting; in [kernel] there are: ", "rbf"]),
        ("seed =\n", &["settings file s.toml: TOML parse error at line 1"]),
    ] {
        write(path, "s.toml", text);
        fails(path, "fit missing.csv --config s.toml -o x.dkae", 2, words);
    }
    write(path, "s.toml", b"\xff\xfes\0");
    fails(path, "fit missing.csv --config s.toml -o x.dkae", 2, &["settings file s.toml: is not UTF-8 text"]);
    assert!(refused(path, "fit missing.csv --config none.toml -o x.dkae", 1).contains("none.toml: No such file"));
}
