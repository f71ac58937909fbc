//! The page's figures that stand still: training curves, and what is shown without JavaScript or on paper.

use dkae::net::Record;

use super::looks::{Choice, Given, Looks};
use crate::curves::{Axis, Curves, Series};
use crate::images::{Grid, Row};
use crate::svg::escape;
use crate::{Figure, Result};

/// A line of rows with its caption.
pub(super) struct Line<'a> {
    pub caption: &'a str,
    pub rows: Given<'a>,
}

/// Rows that are not pictures take a table each; more than these would be a long scroll.
const TABLES: usize = 4;

/// Lines of rows: pictures as one figure; otherwise, for each of the first rows, a table of its features by line.
pub(super) fn gallery(looks: &Looks, choice: &Choice, lines: &[Line], columns: &[String]) -> Result<String> {
    if let Some(shape) = looks.shape() {
        let shown = lines.iter().map(|line| looks.pictures(line.rows)).collect::<Result<Vec<_>>>()?;
        let rows: Vec<Row> =
            lines.iter().zip(&shown).map(|(line, p)| Row { caption: line.caption, pictures: p.view() }).collect();
        let grid = Grid { shape, cell: 48.0, columns: columns.to_vec(), ..Grid::default() };
        return Ok(grid.draw(&rows)?.svg().to_owned());
    }
    let values = lines.iter().map(|line| looks.values(line.rows, choice)).collect::<Result<Vec<_>>>()?;
    let count = values.iter().map(|v| v.nrows()).max().unwrap_or(0);
    let mut html = String::new();
    for i in 0..count.min(TABLES) {
        html += "<table class=\"features\">";
        if let Some(column) = columns.get(i) {
            html += &format!("<caption>{}</caption>", escape(column));
        }
        html += "<tr><th scope=\"col\">feature</th>";
        lines.iter().for_each(|line| html += &format!("<th scope=\"col\">{}</th>", escape(line.caption)));
        html += "</tr>";
        let features: Vec<u32> = match choice {
            Choice::All => Vec::new(),
            Choice::Each(each) => each.row(i).to_vec(),
            Choice::Same(same) => same.clone(),
        };
        for (j, &feature) in features.iter().enumerate() {
            html += &format!("<tr><th scope=\"row\">{}</th>", escape(&looks.name(feature)));
            for values in &values {
                let value = values.get([i, j]).map_or(String::new(), |&v| short(v.into()));
                html += &format!("<td>{value}</td>");
            }
            html += "</tr>";
        }
        html += "</table>\n";
    }
    Ok(html)
}

/// A table of names and what is to be known of each.
pub(super) fn named_table<const N: usize>(head: [&str; N], lines: &[[String; N]]) -> String {
    let cells = |tag: &str, cells: &[String; N]| {
        let cell = |(i, text): (usize, &String)| match (tag, i) {
            ("td", 0) => format!("<th scope=\"row\">{}</th>", escape(text)),
            ("td", _) => format!("<td>{}</td>", escape(text)),
            _ => format!("<th scope=\"col\">{}</th>", escape(text)),
        };
        format!("<tr>{}</tr>", cells.iter().enumerate().map(cell).collect::<String>())
    };
    let body: String = lines.iter().map(|line| cells("td", line)).collect();
    format!("<table class=\"named\">{}{body}</table>\n", cells("th", &head.map(str::to_owned)))
}

/// Digits enough to know a value by: four of them after the zeros of a small one, six of others, and every one before
/// the point. `short` of the page's script has the same rule.
pub(super) fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".into() } else { "–".into() };
    }
    let size = value.abs().log10().floor();
    if !(-4.0..9.0).contains(&size) {
        return format!("{value:.3e}").replace('-', "\u{2212}");
    }
    let digits = if size < 0.0 { 3.0 } else { 5.0 };
    let text = format!("{value:.*}", (digits - size).max(0.0) as usize);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    text.replace('-', "\u{2212}")
}

/// A share in percent; 100 only when it is all, and 0 only when it is nothing.
pub(super) fn percent(share: f64) -> String {
    let whole = (100.0 * share).round() as u32;
    match (whole, share < 1.0, share > 0.0) {
        (100, true, _) => "over 99 %".into(),
        (0, _, true) => "under 1 %".into(),
        _ => format!("{whole} %"),
    }
}

/// A chart and what it shows.
pub(super) struct Chart {
    pub title: &'static str,
    pub figure: Figure,
}

/// Steps and values of a loss.
type Curve = (Vec<f64>, Vec<f64>);

/// One loss over one phase: of the training batches, and of the validation rows where they were looked at.
fn losses(history: &[Record], phase: usize, code: bool) -> (Curve, Curve) {
    let own = || history.iter().filter(|r| r.phase == phase);
    let train = own().map(|r| (r.step as f64, f64::from(if code { r.code } else { r.reconstruction }))).unzip();
    let looks = own().filter_map(|r| Some((r.step as f64, r.validation?)));
    (train, looks.map(|(step, v)| (step, f64::from(if code { v.1 } else { v.0 }))).unzip())
}

/// The losses over training, a chart for each loss and phase; the phases of layers share one. Charts without a value
/// are left out.
pub(super) fn curves(history: &[Record], layers: usize) -> Vec<Chart> {
    let mut charts = Vec::new();
    let mut draw = |title: &'static str, code: bool, series: &[Series]| {
        let axis =
            if code { Axis::new("code loss L_c").from_zero() } else { Axis::new("reconstruction loss L_r").log() };
        let chart = Curves { width: 430.0, height: 260.0, x: Axis::new("step"), y: axis, ..Curves::default() };
        let known: Vec<Series> = series.iter().filter(|s| !s.x.is_empty()).cloned().collect();
        // A history of nothing but values that are not numbers makes no chart, and that is no reason to fail.
        if let Ok(figure) = chart.draw(&known) {
            charts.push(Chart { title, figure });
        }
    };
    let last = layers.saturating_sub(1);
    let name = |l: usize| if l == last { "code layer".to_owned() } else { format!("layer {}", l + 1) };
    let pretrained: Vec<_> = (0..layers).map(|l| (name(l), losses(history, l, false))).collect();
    let series = pretrained.iter().enumerate().flat_map(|(l, (name, (train, validation)))| {
        [Series::new(name, &train.0, &train.1, l), Series::new("", &validation.0, &validation.1, l).dashed()]
    });
    draw("Pretraining: reconstruction", false, &series.collect::<Vec<_>>());
    let aligned = history.iter().any(|r| r.code > 0.0);
    for (title, phase, code) in [
        ("Pretraining of the code layer: alignment", last, true),
        ("Fine-tuning: reconstruction", layers, false),
        ("Fine-tuning: alignment", layers, true),
    ] {
        let ((steps, train), (looks, validation)) = losses(history, phase, code);
        let colour = if code { 3 } else { 0 };
        if aligned || !code {
            draw(
                title,
                code,
                &[
                    Series::new("train", &steps, &train, colour),
                    Series::new("validation", &looks, &validation, colour).dashed(),
                ],
            );
        }
    }
    charts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 1.0, -0.012_345_6, 1234.56, 1.5e7, 2.0e-9, 250_000.0, 1995.0, 1e9].map(short);
        assert_eq!(shown, ["0", "1", "−0.01235", "1234.56", "15000000", "2.000e−9", "250000", "1995", "1.000e9"]);
    }

    #[test]
    fn almost_all_is_not_all() {
        let shown = [0.0, 0.004, 0.5, 0.9949, 0.9991, 1.0].map(percent);
        assert_eq!(shown, ["0 %", "under 1 %", "50 %", "99 %", "over 99 %", "100 %"]);
    }

    #[test]
    fn every_loss_and_phase_has_its_chart() {
        let record = |phase, step, code, validation| Record { phase, step, reconstruction: 0.1, code, validation };
        let history = [
            record(0, 1, 0.0, None),
            record(0, 2, 0.0, None),
            record(1, 1, 0.5, None),
            record(1, 2, 0.4, None),
            record(2, 1, 0.3, None),
            record(2, 2, 0.2, Some((0.2, 0.3))),
        ];
        assert_eq!(curves(&history, 2).len(), 4);
        let plain: Vec<Record> = history.iter().map(|r| Record { code: 0.0, ..r.clone() }).collect();
        assert_eq!(curves(&plain, 2).len(), 2);
        assert!(curves(&[], 2).is_empty());
    }

    #[test]
    fn pretraining_shows_the_validation_rows_dashed_in_the_colour_of_their_layer() {
        let record = |phase, step, validation| Record { phase, step, reconstruction: 0.1, code: 0.2, validation };
        let watched = |looks: bool| {
            let records = (0..3).flat_map(|phase| (1..5).map(move |step| (phase, step)));
            records.map(|(phase, step)| record(phase, step, looks.then_some((0.3, 0.4)))).collect::<Vec<_>>()
        };
        let dashed = |chart: &Chart, colour: usize| {
            let stroke = format!("stroke=\"{}\"", crate::theme::colour(colour));
            let lines = chart.figure.svg().lines();
            lines.filter(|l| l.contains("d=\"M") && l.contains(&stroke) && l.contains("stroke-dasharray")).count()
        };
        let charts = curves(&watched(true), 2);
        assert_eq!(charts[0].title, "Pretraining: reconstruction");
        assert_eq!([dashed(&charts[0], 0), dashed(&charts[0], 1)], [1, 1]);
        assert_eq!(charts[1].title, "Pretraining of the code layer: alignment");
        assert_eq!(dashed(&charts[1], 3), 1);
        // Curves without a name are not listed for readers who do not see them.
        assert!(charts[0].figure.svg().contains("layer 1, code layer"));
        let unwatched = curves(&watched(false), 2);
        assert!(unwatched.iter().all(|chart| !chart.figure.svg().contains("stroke-dasharray")));
    }
}
