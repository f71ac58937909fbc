//! `dkae report` and `fit --report` without a browser: what they write, and what they refuse.

mod common;

use common::{clouds, done, files, refused};

const QUICK: &str = "--steps 60 --pretrain 10 --layers 20,10";

#[test]
fn a_page_has_the_models_name_unless_told_otherwise_and_machines_are_told_it() {
    let folder = tempfile::tempdir().unwrap();
    clouds(folder.path(), 200);
    let fit = format!("fit clouds.csv --label kind --kernel cosine {QUICK} -o m.dkae --report --json");
    let value: serde_json::Value = serde_json::from_str(&done(folder.path(), &fit)).unwrap();
    assert_eq!(value["report"], "m.html");
    assert_eq!(files(folder.path()), ["clouds.csv", "m.dkae", "m.html"]);
    let first = std::fs::read_to_string(folder.path().join("m.html")).unwrap();
    assert!(first.contains("training ") && first.contains("<dt>Times</dt>"), "times are shown");
    let report = "report m.dkae clouds.csv --label kind -o again.html --json";
    let again: serde_json::Value = serde_json::from_str(&done(folder.path(), report)).unwrap();
    // How long training took is not in the model; the page says what it did itself, and where the other is shown.
    let page = std::fs::read_to_string(folder.path().join("again.html")).unwrap();
    let times = page.split("<dt>Times</dt><dd>").nth(1).and_then(|rest| rest.split("</dd>").next()).unwrap();
    for what in ["reading ", "fitting the kernel again ", "measuring ", "encoding 200 rows ", "both linear SVMs "] {
        assert!(times.contains(what), "{what}: {times}");
    }
    assert!(page.contains("<dt>Training time</dt>") && page.contains("dkae fit --report"));
    assert!(!first.contains("<dt>Training time</dt>"));
    // Measured again from the model and the rows alone.
    for name in ["train.reconstruction", "validation.code", "test.codes-to-ideal", "test.prior-to-ideal"] {
        let of = |v: &serde_json::Value| v["figures"][name].as_f64().unwrap();
        assert!((of(&value) - of(&again)).abs() < 1e-6, "{name}: {} {}", of(&value), of(&again));
    }
}

#[test]
fn what_cannot_be_reported_on_is_refused_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    clouds(folder.path(), 200);
    let train = format!("fit clouds.csv --label kind --kernel cosine {QUICK} -o m.dkae");
    let message = refused(folder.path(), &format!("{train} --report page.txt"), 2);
    assert!(message.contains("page.txt") && message.contains(".html"), "{message}");
    // Found out before training.
    assert_eq!(files(folder.path()), ["clouds.csv"]);
    done(folder.path(), &train);
    let message = refused(folder.path(), "report m.dkae clouds.csv", 1);
    assert!(message.contains("`kind`") && message.contains("label"), "{message}");
    let message = refused(folder.path(), "report m.dkae clouds.csv --label kind -o page", 2);
    assert!(message.contains(".html"), "{message}");
    refused(folder.path(), "report m.dkae none.csv", 1);
    assert!(!folder.path().join("m.html").exists());
}

#[test]
fn a_given_kernel_matrix_is_asked_for_again() {
    let folder = tempfile::tempdir().unwrap();
    clouds(folder.path(), 200);
    done(folder.path(), "kernel clouds.csv --label kind --kernel cosine -o p.npy");
    done(folder.path(), &format!("fit clouds.csv --label kind --prior p.npy {QUICK} -o m.dkae"));
    let message = refused(folder.path(), "report m.dkae clouds.csv --label kind", 2);
    assert!(message.contains("--prior") && message.contains("given matrix"), "{message}");
    done(folder.path(), "report m.dkae clouds.csv --label kind --prior p.npy");
    // A matrix of other rows is refused, a larger one too.
    clouds(folder.path(), 60);
    let message = refused(folder.path(), &format!("fit clouds.csv --label kind --prior p.npy {QUICK} -o x.dkae"), 2);
    assert!(message.contains("--prior") && message.contains("60 rows of data"), "{message}");
    assert!(folder.path().join("m.html").exists());
}
