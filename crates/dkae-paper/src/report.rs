//! What an experiment leaves behind: `results.json`, the figure as SVG and PNG, and a table with the paper's numbers
//! beside ours.

use std::path::PathBuf;
use std::time::Instant;

use dkae::Error;
use dkae::data::atomic::write_atomically;
use dkae_report::Figure;
use dkae_report::dots::Dot;
use serde::Serialize;
use serde_json::{Value, json};

use crate::Result;
use crate::context::Context;
use crate::store::write_json;

/// Picture pixels per figure pixel in PNGs: sharp enough for a page, and kernels stay below a megabyte.
const SCALE: f64 = 1.5;

/// The results of an experiment: plain data, and how they are shown.
pub trait Results: Serialize {
    /// The figure.
    fn figure(&self) -> Result<Figure>;

    /// The table.
    fn table(&self) -> Table;
}

/// A table for people, with what they should know about it.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// What it is about, and where the paper has it.
    pub title: String,
    /// The names of the columns.
    pub head: Vec<String>,
    /// The rows, as wide as the head.
    pub rows: Vec<Vec<String>>,
    /// Sentences below it.
    pub notes: Vec<String>,
}

impl Table {
    /// A table without rows.
    pub fn new(title: &str, head: &[&str]) -> Table {
        Table { title: title.into(), head: head.iter().map(|h| h.to_string()).collect(), ..Table::default() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Adds a sentence.
    pub fn note(&mut self, sentence: impl Into<String>) {
        self.notes.push(sentence.into());
    }

    /// Head and rows as Markdown.
    pub fn grid(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rule = vec!["---".to_owned(); self.head.len()];
        [&self.head, &rule].into_iter().chain(&self.rows).map(|cells| line(cells)).collect()
    }

    /// All of it as Markdown, under a heading.
    pub fn markdown(&self) -> String {
        let mut text = format!("## {}\n\n{}", self.title, self.grid());
        self.notes.iter().for_each(|note| text += &format!("\n{note}\n"));
        text
    }
}

/// A number the paper prints, or a dash.
pub fn printed(value: Option<f64>, decimals: usize) -> String {
    value.map_or("–".into(), |v| format!("{v:.decimals$}"))
}

/// Mean and standard deviation (by n - 1), as they are drawn; none of nothing.
pub fn summary(values: &[f64]) -> Option<Dot> {
    let n = values.len() as f64;
    if values.is_empty() {
        return None;
    }
    let value = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - value).powi(2)).sum();
    Some(Dot { value, spread: if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 } })
}

/// What a method scored, beside the paper's number where it prints one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Scored {
    /// The method.
    pub method: &'static str,
    /// What was measured.
    pub value: f64,
    /// What the paper prints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paper: Option<f64>,
}

/// Values with the names of their methods and the paper's numbers.
pub fn scored(methods: &[(&'static str, Option<f64>)], values: &[f64]) -> Vec<Scored> {
    methods.iter().zip(values).map(|(&(method, paper), &value)| Scored { method, value, paper }).collect()
}

/// Those that the paper has too.
pub fn ranked(scores: &[Scored]) -> Vec<Ranked<'static>> {
    scores.iter().filter_map(|s| Some(Ranked { name: s.method, paper: s.paper?, ours: s.value })).collect()
}

/// A method with the paper's score and ours.
pub struct Ranked<'a> {
    /// Its name.
    pub name: &'a str,
    /// What the paper prints.
    pub paper: f64,
    /// What was measured.
    pub ours: f64,
}

/// Says whether methods come in the paper's order, and where they do not. `larger` is whether more is better.
pub fn order(methods: &[Ranked], larger: bool) -> String {
    let better = |a: f64, b: f64| if larger { a > b } else { a < b };
    let mut swapped = Vec::new();
    for (i, a) in methods.iter().enumerate() {
        for b in &methods[i + 1..] {
            let (first, second) = if better(a.paper, b.paper) { (a, b) } else { (b, a) };
            if better(second.ours, first.ours) && first.paper != second.paper {
                swapped.push(format!("{} is better than {} here, worse in the paper", second.name, first.name));
            }
        }
    }
    if swapped.is_empty() {
        "Among the rows that the paper has, the order is the paper's.".into()
    } else {
        format!("Among the rows that the paper has, the order is another: {}.", swapped.join("; "))
    }
}

/// An experiment under way, or done before.
pub struct Run<'a> {
    /// What it works with.
    pub context: &'a Context<'a>,
    /// Where its results go.
    pub folder: PathBuf,
    name: &'static str,
    /// The key of everything the results depend on.
    inputs: String,
    start: Instant,
}

impl<'a> Run<'a> {
    /// Begins now.
    pub fn begin(context: &'a Context<'a>, name: &'static str, folder: PathBuf, inputs: String) -> Self {
        Run { context, folder, name, inputs, start: Instant::now() }
    }

    /// Whether all files are there, made from the same inputs; a damaged document is made again.
    pub fn is_finished(&self) -> bool {
        let drawn = ["svg", "png"].map(|kind| format!("{}.{kind}", self.name));
        let there = drawn.iter().map(String::as_str).chain(["table.md"]).all(|file| self.folder.join(file).exists());
        let document = std::fs::read(self.folder.join("results.json")).unwrap_or_default();
        let document: Value = serde_json::from_slice(&document).unwrap_or_default();
        there && document["inputs"] == self.inputs
    }

    /// Writes everything about the experiment to its folder.
    pub fn write(&self, results: &impl Results) -> Result<()> {
        let Run { context, folder, name, inputs, start } = self;
        std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
        let numbers = serde_json::to_value(results).expect("results are plain data");
        let trainings = context.store.take_log();
        let trained: f64 = trainings.iter().map(|t| t.seconds).sum();
        let mut settings = serde_json::to_value(&context.plan).expect("settings are plain data");
        // Every training tells its own; what they have in common is not the whole of any.
        settings.as_object_mut().map(|plan| plan.remove("trainer"));
        let value = json!({
            "experiment": name,
            "budget": context.plan.budget,
            "seed": context.seed,
            "inputs": inputs,
            "versions": {
                "dkae": env!("CARGO_PKG_VERSION"),
                "commit": env!("DKAE_COMMIT"),
                "rustc": env!("RUSTC_VERSION"),
            },
            "threads": dkae::math::threads::count(),
            "seconds": start.elapsed().as_secs_f64(),
            "seconds_of_its_trainings": trained,
            "numbers": numbers,
            "trainings": trainings,
            "settings": settings,
        });
        // What other inputs left here is no longer whole.
        match std::fs::remove_file(folder.join("results.json")) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(Error::io(folder)(e).into()),
            _ => {}
        }
        let figure = results.figure()?;
        figure.save_svg(folder.join(name).with_extension("svg"))?;
        figure.save_png(folder.join(name).with_extension("png"), SCALE)?;
        let mut table = results.table();
        if let Some(caution) = context.plan.caution() {
            table.note(caution);
        }
        let table = table.markdown();
        write_atomically(folder.join("table.md"), |file| file.write_all(table.as_bytes()))?;
        // Last: where it is, the others are.
        write_json(&folder.join("results.json"), &value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_markdown() {
        let mut table = Table::new("Numbers", &["a", "b"]);
        table.row(["1".into(), "2".into()]);
        table.note("That is all.");
        assert_eq!(table.markdown(), "## Numbers\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\nThat is all.\n");
    }

    #[test]
    fn values_are_summed_up_by_mean_and_sample_deviation() {
        assert_eq!(summary(&[]), None);
        assert_eq!(summary(&[90.0]), Some(Dot { value: 90.0, spread: 0.0 }));
        assert_eq!(summary(&[90.0, 92.0, 94.0]), Some(Dot { value: 92.0, spread: 2.0 }));
    }

    #[test]
    fn the_order_is_compared_pair_by_pair() {
        let methods = |ours: [f64; 3]| {
            let of = |name, paper, ours| Ranked { name, paper, ours };
            [of("a", 1.0, ours[0]), of("b", 2.0, ours[1]), of("c", 3.0, ours[2])]
        };
        assert_eq!(
            order(&methods([5.0, 6.0, 7.0]), true),
            "Among the rows that the paper has, the order is the paper's."
        );
        assert_eq!(
            order(&methods([5.0, 5.0, 7.0]), true),
            "Among the rows that the paper has, the order is the paper's."
        );
        let swapped = order(&methods([6.0, 5.0, 7.0]), true);
        assert_eq!(
            swapped,
            "Among the rows that the paper has, the order is another: a is better than b here, worse in the paper."
        );
        assert_eq!(order(&methods([7.0, 6.0, 5.0]), false).matches("better than").count(), 3);
    }
}
