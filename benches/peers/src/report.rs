//! The kept results for readers: the tables of docs/performance.md and the bar chart beside it.
//!
//! The page is written by hand but for what stands between two marks; no number between them is typed.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use dkae_report::bars::{Bar, Bars};

use crate::environment::{Bench, Machine, workspace};
use crate::growth::Size;
use crate::results::{Results, Row};

const BEGIN: &str = "<!-- measured: begin -->";
const END: &str = "<!-- measured: end -->";

/// The order of the works on the page.
const ORDER: [&str; 7] = ["step", "pck", "fit", "reach", "encode", "kpca", "svm"];

/// Writes the page and the chart of committed results; those of other runs go to the folder of their data.
pub fn write(results: &Results, bench: &Bench) -> Result<()> {
    let docs = workspace().join("docs");
    let page = docs.join("performance.md");
    let text = std::fs::read_to_string(&page).with_context(|| page.display().to_string())?;
    let folder: PathBuf = if bench.committed { docs } else { bench.folder.clone() };
    std::fs::write(folder.join("performance.md"), with_tables(&text, results)?)?;
    let rows: Vec<&Row> = rows(results).collect();
    if !rows.is_empty() {
        let figure = chart(&rows)?;
        figure.save_svg(folder.join("performance.svg"))?;
        figure.save_png(folder.join("performance.png"), 2.0)?;
    }
    Ok(())
}

fn rows(results: &Results) -> impl Iterator<Item = &Row> {
    rows_and_machines(results).map(|(row, _)| row)
}

fn rows_and_machines(results: &Results) -> impl Iterator<Item = (&Row, &Machine)> {
    let entries = ORDER.into_iter().filter_map(|work| results.works.get(work));
    entries.flat_map(|entry| entry.rows.iter().map(|row| (row, &entry.machine)))
}

/// The machines of the comparisons, in the order in which the page names them.
fn machines(results: &Results) -> Vec<&Machine> {
    let mut machines: Vec<&Machine> = Vec::new();
    for (_, machine) in rows_and_machines(results) {
        if !machines.contains(&machine) {
            machines.push(machine);
        }
    }
    machines
}

fn chart(rows: &[&Row]) -> dkae_report::Result<dkae_report::Figure> {
    let labels: Vec<String> = rows.iter().map(|row| format!("{}: {}", row.work, row.peer)).collect();
    let bars: Vec<Bar> = rows
        .iter()
        .zip(&labels)
        // What the machine can do at most is no peer.
        .filter(|(row, _)| row.goal > 1.0)
        .map(|(row, label)| Bar { label, value: row.ratio, mark: row.goal, colour: if row.reached() { 2 } else { 1 } })
        .collect();
    let axis =
        "times better than the peer, on a logarithmic scale; the mark is the goal, orange does not reach it".to_owned();
    Bars { title: "dkae beside its peers".into(), axis, ..Bars::default() }.draw(&bars)
}

/// The page with its tables made anew.
fn with_tables(page: &str, results: &Results) -> Result<String> {
    let (before, rest) = page.split_once(BEGIN).with_context(|| format!("the page has no `{BEGIN}`"))?;
    let (_, after) = rest.split_once(END).with_context(|| format!("the page has no `{END}`"))?;
    Ok(format!("{before}{BEGIN}\n\n{}\n{END}{after}", tables(results)))
}

// Writing to a `String` cannot fail.
fn tables(results: &Results) -> String {
    let mut out = String::new();
    if results.works.is_empty() {
        let _ = writeln!(out, "No comparison has been kept yet.");
    } else {
        let _ = writeln!(out, "![How many times better dkae is than each peer, with the goals](performance.svg)\n");
        let _ = writeln!(
            out,
            "| work | peer | dkae | peer's | ratio | rounds' range | goal | reached | both computed the same |"
        );
        let _ = writeln!(out, "|---|---|---|---|---|---|---|---|---|");
        let machines = machines(results);
        for (row, machine) in rows_and_machines(results) {
            let Row { work, peer, unit, goal, check, .. } = row;
            let ratio = row.ratio.map_or("-".into(), |r| format!("{r:.2}"));
            let spread = match row.spread {
                Some((low, high)) if row.rounds > 1 => format!("{low:.2} to {high:.2} in {}", row.rounds),
                _ => "one run".into(),
            };
            let (ours, theirs) = (figure(row.ours), figure(row.theirs));
            let reached = if row.reached() { "yes" } else { "no" };
            let on = machines.iter().position(|&m| m == machine).filter(|_| machines.len() > 1);
            let on = on.map_or(String::new(), |i| format!(" ({})", i + 1));
            let _ = writeln!(
                out,
                "| {work}{on} | {peer} | {ours} {unit} | {theirs} {unit} | {ratio} | {spread} | {goal} | {reached} | {check} |"
            );
        }
        let _ = writeln!(out);
        let named = machines.iter().enumerate().map(|(i, machine)| match machines.len() {
            1 => machine.to_string(),
            _ => format!("({}) {machine}", i + 1),
        });
        let _ = writeln!(out, "Measured on: {}.", named.collect::<Vec<_>>().join("; "));
    }
    if let Some(growth) = &results.growth {
        let _ = writeln!(out, "\n| rows | kernel | step | fit | encode | peak memory | of which the rows |");
        let _ = writeln!(out, "|---|---|---|---|---|---|---|");
        for size in &growth.sizes {
            let _ = writeln!(
                out,
                "| {} | {} s | {} ms | {} s | {} s | {:.0} MB | {:.0} MB |",
                size.rows,
                figure(size.kernel_seconds),
                figure(size.step_ms),
                figure(size.fit_seconds),
                figure(size.encode_seconds),
                size.peak_mb,
                size.data_mb
            );
        }
        let range = |figure: fn(&Size) -> f64| {
            let figures = growth.sizes.iter().map(figure);
            (figures.clone().fold(f64::INFINITY, f64::min), figures.fold(0.0, f64::max))
        };
        let (a_row, step) = (range(|s| 1e6 * s.encode_seconds / s.rows as f64), range(|s| s.step_ms));
        let _ = writeln!(
            out,
            "\nA row adds at most {:.0} bytes to the peak beyond its own features, from one size to the next (goal: below 8000). Encoding takes {:.0} to {:.0} \
             microseconds a row (goal: the same for all sizes), a step {:.0} to {:.0} ms (likewise).",
            growth.bytes_a_row, a_row.0, a_row.1, step.0, step.1
        );
    }
    if let Some(command) = &results.command {
        let _ = writeln!(
            out,
            "\n`dkae --help` takes {} ms (goal: below 20); the program has {:.1} MB. `dkae demo` takes {} s: {} s its kernel, {} s \
             its training, the rest figures and the page.",
            figure(command.help_ms),
            command.mb,
            figure(command.demo_seconds),
            figure(command.demo_kernel_seconds),
            figure(command.demo_training_seconds)
        );
    }
    if let Some(build) = &results.build {
        let _ = writeln!(out, "\nA clean release build takes {:.0} s for {} crates.", build.seconds, build.crates);
    }
    out
}

/// A number with three digits that count.
fn figure(value: f64) -> String {
    let decimals = (2 - value.abs().max(1e-6).log10().floor() as i32).clamp(0, 6) as usize;
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::package;
    use crate::results;

    #[test]
    fn the_page_shows_the_kept_results() {
        let kept = results::load(&package().join("results.json")).unwrap();
        let page = std::fs::read_to_string(workspace().join("docs/performance.md")).unwrap();
        assert_eq!(
            page,
            with_tables(&page, &kept).unwrap(),
            "make it anew: cargo run --release -p dkae-peers -- report"
        );
    }

    #[test]
    fn tables_hold_every_row_and_the_page_around_them_stays() {
        let row = Row::less("a step", "a peer", "ms", &[50.0, 51.0], &[60.0, 70.0], 1.3, "same");
        let mut results = Results::default();
        let entry = results::Entry { machine: Default::default(), rows: vec![row.clone()] };
        results.works.insert("step".into(), entry);
        let page = format!("# Title\n{BEGIN}\nold\n{END}\nend\n");
        let found = with_tables(&page, &results).unwrap();
        assert!(found.starts_with("# Title\n") && found.ends_with(&format!("{END}\nend\n")) && !found.contains("old"));
        assert!(found.contains("| a step | a peer | 50.5 ms | 65.0 ms | 1.29 | 1.20 to 1.37 in 2 | 1.3 | no | same |"));
        assert_eq!(with_tables(&found, &results).unwrap(), found, "making it again changes nothing");
        assert!(chart(&[&row]).unwrap().svg().contains("a step: a peer"));
        // Rows of two machines say which.
        let machine = Machine { processor: "another".into(), ..Machine::default() };
        results.works.insert("svm".into(), results::Entry { machine, rows: vec![row] });
        let found = with_tables(&page, &results).unwrap();
        assert!(
            found.contains("| a step (1) |") && found.contains("| a step (2) |") && found.contains("; (2) "),
            "{found}"
        );
    }

    #[test]
    fn figures_have_three_digits() {
        assert_eq!([figure(52.341), figure(0.012_34), figure(1234.0), figure(8.0)], ["52.3", "0.0123", "1234", "8.00"]);
    }
}
