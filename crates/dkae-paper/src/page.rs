//! The page that shows the results: tables and figures of a folder of results, put into a Markdown file between two marks. No
//! number on it is typed by hand, and what stands outside the marks stays.

use std::path::{Component, Path, PathBuf};

use dkae::Error;
use dkae::data::atomic::write_atomically;
use serde_json::Value;

use crate::{Experiment, Result};

const BEGIN: &str = "<!-- results: begin -->";
const END: &str = "<!-- results: end -->";

/// Puts the results in `out` into `page`; returns how many experiments there were.
pub fn update(page: &Path, out: &Path) -> Result<usize> {
    let old = match std::fs::read_to_string(page) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => format!("# Results\n\n{BEGIN}\n{END}\n"),
        Err(e) => return Err(Error::io(page)(e).into()),
    };
    let parts = old.split_once(BEGIN).and_then(|(a, rest)| Some((a, rest.split_once(END)?.1)));
    let Some((before, after)) = parts else {
        let message = format!("has no lines {BEGIN} and {END}, between which the results go; add them");
        return Err(Error::format(page, "", message).into());
    };
    let (text, count) = sections(out, &from_to(page.parent().unwrap_or(Path::new("")), out)?)?;
    // What is on the page is not given up for nothing.
    if count == 0 {
        let message = format!(
            "there are no results in {}; run an experiment first, or name the folder or the budget of those that were run",
            out.display()
        );
        return Err(Error::setting("out", message).into());
    }
    let new = format!("{before}{BEGIN}\n\n{text}{END}{after}");
    write_atomically(page, |file| file.write_all(new.as_bytes()))?;
    Ok(count)
}

/// The sections of all experiments that are there; `link` leads from the page to the folder of results.
fn sections(out: &Path, link: &str) -> Result<(String, usize)> {
    let (mut text, mut count) = (String::new(), 0);
    for experiment in Experiment::ALL {
        let name = experiment.name();
        let folder = out.join(name);
        let file = folder.join("results.json");
        let Ok(json) = std::fs::read_to_string(&file) else { continue };
        let results: Value = serde_json::from_str(&json).map_err(|e| Error::format(&file, "", e.to_string()))?;
        let table = folder.join("table.md");
        let table = std::fs::read_to_string(&table).map_err(Error::io(&table))?;
        let trainings = results["trainings"].as_array().map_or(0, Vec::len);
        let minutes = |key: &str| results[key].as_f64().unwrap_or(0.0) / 60.0;
        text += table.trim_end();
        text += &format!(
            "\n\n![{}]({link}/{name}/{name}.png)\n\nBudget {}, seed {}; {trainings} training{}, shared ones included, of \
             {:.1} minutes. [All numbers and settings]({link}/{name}/results.json), [SVG]({link}/{name}/{name}.svg).\n\n",
            experiment.about(),
            results["budget"].as_str().unwrap_or("unknown"),
            results["seed"],
            if trainings == 1 { "" } else { "s" },
            minutes("seconds_of_its_trainings"),
        );
        count += 1;
    }
    Ok((text, count))
}

/// The way from one folder to another, with forward slashes.
fn from_to(from: &Path, to: &Path) -> Result<String> {
    let absolute = |path: &Path| -> Result<Vec<String>> {
        let path = std::path::absolute(if path == Path::new("") { Path::new(".") } else { path });
        let path: PathBuf = path.map_err(Error::io(to))?;
        let mut parts: Vec<String> = Vec::new();
        for part in path.components() {
            match part {
                Component::ParentDir => drop(parts.pop()),
                Component::CurDir => {}
                other => parts.push(other.as_os_str().to_string_lossy().into_owned()),
            }
        }
        Ok(parts)
    };
    let (from, to) = (absolute(from)?, absolute(to)?);
    let same = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = vec!["..".to_owned(); from.len() - same];
    let way = [up, to[same..].to_vec()].concat().join("/");
    Ok(if way.is_empty() { ".".into() } else { way })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_between_folders() {
        let way = |a: &str, b: &str| from_to(Path::new(a), Path::new(b)).unwrap();
        assert_eq!(way("docs", "results"), "../results");
        assert_eq!(way("", "results"), "results");
        assert_eq!(way("a/b", "a/b"), ".");
        assert_eq!(way("a/./b/../c", "a/d/e"), "../d/e");
    }

    #[test]
    fn results_go_between_the_marks_and_the_rest_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (page, out) = (folder.path().join("docs/page.md"), folder.path().join("results"));
        std::fs::create_dir_all(page.parent().unwrap()).unwrap();
        std::fs::write(&page, format!("above\n{BEGIN}\nold\n{END}\nbelow\n")).unwrap();
        let refused = update(&page, &out).unwrap_err().to_string();
        assert!(refused.contains("no results") && std::fs::read_to_string(&page).unwrap().contains("old"), "{refused}");
        std::fs::create_dir_all(out.join("walk")).unwrap();
        std::fs::write(out.join("walk/results.json"), r#"{"budget": "smoke", "seed": 3, "trainings": [1]}"#).unwrap();
        std::fs::write(out.join("walk/table.md"), "## A table\n").unwrap();
        for _ in 0..2 {
            assert_eq!(update(&page, &out).unwrap(), 1);
        }
        let text = std::fs::read_to_string(&page).unwrap();
        assert!(text.starts_with("above\n") && text.ends_with("below\n") && !text.contains("old"), "{text}");
        for words in ["## A table", "](../results/walk/walk.png)", "Budget smoke, seed 3; 1 training, shared"] {
            assert_eq!(text.matches(words).count(), 1, "{words}: {text}");
        }
        std::fs::write(&page, "no marks").unwrap();
        assert!(update(&page, &out).unwrap_err().to_string().contains("results: begin"));
        std::fs::remove_file(&page).unwrap();
        assert_eq!(update(&page, &out).unwrap(), 1);
    }
}
