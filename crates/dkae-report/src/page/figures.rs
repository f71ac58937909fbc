//! What sections share: rows that stand still, as they are shown without JavaScript and on paper, and numbers as text.

use super::looks::{Choice, Given, Looks};
use crate::Result;
use crate::images::{Grid, Row};
use crate::svg::escape;

/// A line of rows with its caption.
pub(super) struct Line<'a> {
    pub caption: &'a str,
    pub rows: Given<'a>,
}

/// The width of a picture.
const CELL: f64 = 48.0;
/// Rows that are not pictures take a table each; more than these would be a long scroll.
const TABLES: usize = 4;

/// Lines of rows: pictures as one figure; otherwise, for each of the first rows, a table of its features by line.
pub(super) fn gallery(looks: &Looks, choice: &Choice, lines: &[Line], columns: &[String]) -> Result<String> {
    if looks.shape().is_some() {
        let shown = lines.iter().map(|line| looks.figure(line.rows)).collect::<Result<Vec<_>>>()?;
        let rows = lines.iter().zip(&shown).map(|(line, (_, p))| Row { caption: line.caption, pictures: p.view() });
        let shape = shown.first().map(|(shape, _)| *shape).unwrap_or(Grid::default().shape);
        // Wide pictures get more room, or they would be a few pixels high.
        let cell = CELL * (shape.width as f64 / shape.height as f64).clamp(1.0, 2.0);
        let grid = Grid { shape, cell, columns: columns.to_vec(), ..Grid::default() };
        return Ok(grid.draw(&rows.collect::<Vec<_>>())?.svg().to_owned());
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

/// So many decimals, with the minus sign of [`short`], and none before zero. `fixed` of the page's script has the same rule.
pub(super) fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().all(|c| matches!(c, '0' | '.')) => rest.to_owned(),
        Some(rest) => format!("\u{2212}{rest}"),
        None => text,
    }
}

/// With a capital letter, as a sentence begins.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 1.0, -0.012_345_6, 1234.56, 1.5e7, 2.0e-9, 250_000.0, 1995.0, 1e9].map(short);
        assert_eq!(shown, ["0", "1", "−0.01235", "1234.56", "15000000", "2.000e−9", "250000", "1995", "1.000e9"]);
    }

    #[test]
    fn decimals_have_the_same_minus_sign_and_zero_has_none() {
        let shown = [0.12345, -0.12345, -0.0004, -1.0, -10.0].map(|v| fixed(v, 3));
        assert_eq!(shown, ["0.123", "−0.123", "0.000", "−1.000", "−10.000"]);
    }

    #[test]
    fn almost_all_is_not_all() {
        let shown = [0.0, 0.004, 0.5, 0.9949, 0.9991, 1.0].map(percent);
        assert_eq!(shown, ["0 %", "under 1 %", "50 %", "99 %", "over 99 %", "100 %"]);
    }
}
