//! The commands of the README, run one after another as they stand there.

mod common;

use common::{clouds, done};

#[test]
fn the_commands_of_the_readme_work_in_their_order() {
    let readme = include_str!("../../../README.md");
    let section = readme.split("## The command").nth(1).and_then(|text| text.split("## ").next()).unwrap();
    let block = section.split("```sh").nth(1).and_then(|text| text.split("```").next()).unwrap();
    let commands: Vec<&str> = block
        .lines()
        .filter_map(|line| line.strip_prefix("dkae "))
        .map(|line| line.split(" #").next().unwrap().trim())
        .collect();
    assert!(commands.len() >= 8, "{commands:?}");

    // The files that the README speaks of: labelled rows, and rows without a label.
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(clouds(folder.path(), 300)).unwrap().replace(",kind\n", ",class\n");
    std::fs::write(folder.path().join("rows.csv"), &text).unwrap();
    let without_label: String = text.lines().map(|l| format!("{}\n", l.rsplit_once(',').unwrap().0)).collect();
    for name in ["new.csv", "noisy.csv"] {
        std::fs::write(folder.path().join(name), &without_label).unwrap();
    }
    for command in commands {
        // A short training shows the same; everything else is as written.
        let short = if command.starts_with("fit ") { " --steps 200 --pretrain 20 --restarts 3" } else { "" };
        done(folder.path(), &format!("{command}{short}"));
    }
    for file in ["my.dkae", "codes.npy", "back.csv", "clean.csv", "between.csv", "clusters.csv", "p.npy", "z.csv"] {
        assert!(folder.path().join(file).exists(), "{file}");
    }
}
