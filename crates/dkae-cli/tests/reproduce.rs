//! `dkae reproduce` from outside: what it writes, what it keeps, what it refuses.

mod common;

use common::{done, files, refused, run, stderr};

#[test]
fn one_experiment_is_written_kept_and_shown_on_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let reproduce = |more: &str| {
        let text = done(folder.path(), &format!("reproduce walk --budget smoke --seed 1 --json {more}"));
        serde_json::from_str::<serde_json::Value>(&text).unwrap()
    };
    let first = reproduce("");
    assert_eq!(first["experiments"][0]["finished_before"], false);
    assert_eq!(files(&folder.path().join("results-smoke/walk")), ["results.json", "table.md", "walk.png", "walk.svg"]);
    assert_eq!(reproduce("--page page.md")["experiments"][0]["finished_before"], true);
    let page = std::fs::read_to_string(folder.path().join("page.md")).unwrap();
    assert!(page.contains("](results-smoke/walk/walk.png)") && page.contains("`walk`"), "{page}");
    done(folder.path(), "reproduce page --budget smoke");
    let page = std::fs::read_to_string(folder.path().join("results-smoke/README.md")).unwrap();
    assert!(page.contains("](./walk/walk.png)"), "{page}");
}

#[test]
fn the_paper_budget_begins_with_an_estimate() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("mnist")).unwrap();
    // Files that are there and cannot be read: the estimate, on made-up rows, comes before the data.
    for name in ["train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"] {
        std::fs::write(folder.path().join("mnist").join(name), "").unwrap();
    }
    let output = run(folder.path(), "reproduce walk --budget paper --data .");
    let said = stderr(&output);
    assert!(!output.status.success(), "{said}");
    let estimate = said.lines().find(|line| line.contains("1 training of about")).unwrap_or_else(|| panic!("{said}"));
    // 1.08 million steps: hours on any machine.
    assert!(estimate.contains(" h ") || estimate.contains(" days"), "{estimate}");
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
    let message = refused(folder.path(), "reproduce classify --sets imagenet", 2);
    assert!(message.contains("mnist, cloud, cifar-10, reuters") && message.contains("imagenet"), "{message}");
    refused(folder.path(), "reproduce classify --sets cloud --budget smoke", 2);
    // Only the files of the sets that are asked for have to be there.
    let message = refused(folder.path(), "reproduce classify --sets CIFAR-10 --data nowhere", 1);
    assert!(message.contains("cifar10/data_batch_1.bin.gz"), "{message}");
    assert!(files(folder.path()).is_empty(), "nothing is left behind");
}
