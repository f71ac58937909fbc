//! `dkae reproduce` from outside: what it writes, what it keeps, what it refuses.

mod common;

use common::{done, files, refused};

#[test]
fn one_experiment_is_written_kept_and_shown_on_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let run = |more: &str| {
        let text = done(folder.path(), &format!("reproduce walk --budget smoke --seed 1 --json {more}"));
        serde_json::from_str::<serde_json::Value>(&text).unwrap()
    };
    let first = run("");
    assert_eq!(first["experiments"][0]["finished_before"], false);
    assert_eq!(files(&folder.path().join("results-smoke/walk")), ["results.json", "table.md", "walk.png", "walk.svg"]);
    assert_eq!(run("--page page.md")["experiments"][0]["finished_before"], true);
    let page = std::fs::read_to_string(folder.path().join("page.md")).unwrap();
    assert!(page.contains("](results-smoke/walk/walk.png)") && page.contains("`walk`"), "{page}");
    done(folder.path(), "reproduce page --budget smoke");
    let page = std::fs::read_to_string(folder.path().join("results-smoke/README.md")).unwrap();
    assert!(page.contains("](./walk/walk.png)"), "{page}");
}

#[test]
fn what_cannot_be_run_is_said_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let message = refused(folder.path(), "reproduce lambda --data nowhere", 1);
    for words in ["nowhere/mnist/train-images-idx3-ubyte.gz", "--data", "README", "--budget smoke"] {
        assert!(message.contains(words), "{message}");
    }
    refused(folder.path(), "reproduce everything", 2);
    let message = refused(folder.path(), "reproduce page", 2);
    assert!(message.contains("no folder results") && message.contains("--budget smoke"), "{message}");
    refused(folder.path(), "reproduce all --budget large", 2);
    assert!(files(folder.path()).is_empty(), "nothing is left behind");
}
