//! The page as HTML: the template of `assets/`, filled.
//!
//! Whatever comes from data goes through [`escape`] on its way into the text, and into the script as JSON in which `<` is
//! written `\u003c`: no row, label, file or column name can end an element or begin one. The template is filled in one
//! pass, so that a name that looks like a placeholder stays a name.

use std::path::Path;
use std::time::Duration;

use dkae::data::atomic::write_atomically;
use serde::Serialize;

use super::figures::{curves, percent, short};
use super::{Page, Summary};
use crate::svg::escape;
use crate::theme::{self, Shape};
use crate::{Error, Result};

const PAGE: &str = include_str!("assets/page.html");
const WALKS: &str = include_str!("assets/walks.html");
const KERNELS: &str = include_str!("assets/kernels.html");
const CSS: &str = include_str!("assets/page.css");
const SCRIPTS: [&str; 5] = [
    include_str!("assets/data.js"),
    include_str!("assets/map.js"),
    include_str!("assets/panels.js"),
    include_str!("assets/kernels.js"),
    include_str!("assets/start.js"),
];

/// What the script gets besides the page: the marks of the classes and the scale of kernels.
#[derive(Serialize)]
struct Script<'a> {
    #[serde(flatten)]
    page: &'a Page,
    shapes: Vec<String>,
    colours: String,
}

impl Page {
    /// The page as one HTML document.
    pub fn html(&self) -> Result<String> {
        let walks = self.walks.as_ref().map(|walks| {
            let text = "Straight lines between the centroids of k-means clusters of the codes, decoded: in code space the \
                        way is straight, in the space of the rows it follows what the decoder learned.";
            fill(WALKS, &[("walks", text.into()), ("walks_still", walks.still.clone())])
        });
        let kernels = self.kernels.as_ref().map(|kernels| {
            let text = format!(
                "The similarity of every pair of {} {} rows: what the prior says, and the inner product of their codes. \
                 Rows are sorted by {}. On these rows the alignment of the two is {:.3} (1 when they are the same up to scale), \
                 L_c = {:.3}.",
                kernels.rows.len(),
                self.kind(),
                if self.classes.is_empty() { "cluster" } else { "class" },
                kernels.alignment,
                kernels.loss
            );
            fill(KERNELS, &[("kernels", text), ("kernels_still", kernels.still.clone())])
        });
        let misaligned = if self.worst.misaligned.is_empty() {
            String::new()
        } else {
            format!(
                "<h3>Most misaligned rows</h3>\n<p>The alignment of a row is the cosine between its similarities by the prior \
                 and by codes. These rows have the lowest. {}</p>\n<div class=\"still\">{}</div>\n\
                 <div class=\"live\" hidden><div id=\"misaligned-rows\" class=\"cards\"></div></div>",
                self.neighbours_text(),
                self.worst.misaligned_still
            )
        };
        let link = |shown: bool, id: &str, name: &str| {
            if shown { format!("<a href=\"#{id}\">{name}</a>") } else { String::new() }
        };
        let script = SCRIPTS.concat();
        Ok(fill(
            PAGE,
            &[
                ("version", env!("CARGO_PKG_VERSION").into()),
                ("theme", theme_css()),
                ("css", CSS.into()),
                ("name", escape(&self.summary.name)),
                ("lead", self.summary.lead()),
                ("notes", self.summary.notes()),
                ("tiles", self.tiles()),
                ("losses", self.summary.losses()),
                ("facts", self.summary.facts()),
                ("training", self.training()),
                ("curves", self.charts()),
                ("map", self.map_text()),
                ("values", self.values_text()),
                ("map_still", self.map.still.clone()),
                ("map_drawn", self.map_drawn()),
                ("walks_link", link(walks.is_some(), "walks", "Walks")),
                ("walks_section", walks.unwrap_or_default()),
                ("denoising", self.denoising_text()),
                ("denoising_still", self.denoising.still.clone()),
                ("kernels_link", link(kernels.is_some(), "kernels", "Kernels")),
                ("kernels_section", kernels.unwrap_or_default()),
                ("worst", self.worst_text()),
                ("worst_still", self.worst.reconstructed_still.clone()),
                ("misaligned_part", misaligned),
                ("data", self.json()?),
                ("script", format!("(() => {{\n'use strict';\n{script}}})();")),
            ],
        ))
    }

    /// Writes the page to `path`: all of it, or the old file stays.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let html = self.html()?;
        Ok(write_atomically(path, |file| file.write_all(html.as_bytes()))?)
    }

    /// What the script reads.
    fn json(&self) -> Result<String> {
        let shapes = (0..self.classes.len().max(1)).map(|class| Shape::of(class).path(0.0, 0.0, 10.0)).collect();
        let colours = theme::sequential().iter().flatten().map(|v| format!("{v:02x}")).collect();
        let json = serde_json::to_string(&Script { page: self, shapes, colours })
            .map_err(|e| Error::Data(format!("the page's data: {e}")))?;
        // Inside a script element only `</script` and `<!--` mean something; without `<` there is neither.
        Ok(json.replace('<', "\\u003c"))
    }

    fn tiles(&self) -> String {
        let Summary { figures, accuracies, .. } = &self.summary;
        let mut tiles = String::new();
        let mut tile = |value: String, what: &str, about: String| {
            tiles += &format!("<div class=\"tile\"><b>{value}</b><span>{what}</span><i>{}</i></div>", escape(&about));
        };
        if let Some(error) = figures.get("test.reconstruction") {
            tile(
                short(*error),
                "reconstruction loss L_r, test rows",
                "mean squared error per value, as the network sees rows".into(),
            );
        }
        if let Some(loss) = figures.get("test.code") {
            let alignment = 1.0 - loss * loss / 2.0;
            tile(
                format!("{loss:.4}"),
                "code loss L_c, test rows",
                format!("distance of both kernels, 0 to 1.41; their alignment is {alignment:.3}"),
            );
        }
        if let Some(loss) = figures.get("test.codes-to-ideal") {
            let prior = figures.get("test.prior-to-ideal");
            let prior = prior.map_or(String::new(), |p| format!("; that of the prior is {p:.4}"));
            tile(
                format!("{loss:.4}"),
                "L_c of codes to the ideal kernel",
                format!("the ideal kernel knows the classes{prior}"),
            );
        }
        if let Some(accuracy) = accuracies {
            let about = format!(
                "on inputs {:.2} %; {} rows to learn from, {} to test on",
                100.0 * accuracy.inputs,
                accuracy.learned,
                accuracy.tested
            );
            tile(format!("{:.2} %", 100.0 * accuracy.codes), "accuracy of a linear SVM on codes", about);
        }
        tiles
    }

    fn training(&self) -> String {
        if self.history.is_empty() {
            return "The model does not say how its training went.".into();
        }
        let pretrained = self.history.iter().any(|record| record.phase < self.layers);
        let finetuned = self.history.iter().any(|record| record.phase >= self.layers);
        let mut text = String::from(match (pretrained, finetuned) {
            (true, true) => "Each layer was first trained by itself, then all together. ",
            (true, false) => "Each layer was trained by itself. ",
            (false, _) => "All layers were trained together from the start. ",
        });
        text += match self.history.iter().any(|record| record.validation.is_some()) {
            true => "Training losses are means over batches (solid); losses on validation rows are dashed. ",
            false => "Training losses are means over batches; no validation rows were looked at. ",
        };
        text += "L_r is the mean squared error per value";
        text += match self.history.iter().any(|record| record.code > 0.0) {
            true => "; L_c is the distance of the normalised kernels.",
            false => "; codes were not aligned with a kernel.",
        };
        text
    }

    fn charts(&self) -> String {
        let charts = curves(&self.history, self.layers);
        let figure =
            |title: &str, svg: &str| format!("<figure><figcaption>{}</figcaption>{svg}</figure>\n", escape(title));
        charts.iter().map(|chart| figure(chart.title, chart.figure.svg())).collect()
    }

    fn map_text(&self) -> String {
        let parts: Vec<String> = self.rows.parts.iter().map(|(name, count)| format!("{count} {name}")).collect();
        let parts = parts.join(" and ");
        let [a, b] = self.map.explained;
        let classes = if self.classes.is_empty() {
            ""
        } else {
            " Colour and shape show the class, which training did not see unless the kernel is made of labels."
        };
        if self.summary.code_width == 1 {
            return format!(
                "The codes of {parts} rows. A code is one number, so all lie on a line, and the decoder makes the same of \
                 all points above each other.{classes}"
            );
        }
        let sees = if a + b < 0.9995 {
            ": the decoder sees no more than that of a point of the map, so its rows are plainer here than a row's own \
             reconstruction"
        } else {
            ""
        };
        let (a, b) = (percent(a), percent(b));
        format!(
            "The codes of {parts} rows on their first two principal components, which carry {a} and {b} of the \
             variance{sees}.{classes}"
        )
    }

    fn values_text(&self) -> String {
        match self.about_values.trim() {
            "" => String::new(),
            text => format!("<p class=\"small\">{text}</p>"),
        }
    }

    fn map_drawn(&self) -> String {
        match (self.map.drawn, self.rows.count) {
            (drawn, all) if drawn < all => format!("The first {drawn} of the {all} rows are drawn."),
            (_, all) => format!("{all} rows are drawn."),
        }
    }

    /// What the rows on the page are.
    fn kind(&self) -> &'static str {
        match self.rows.parts[0].0 {
            "training" => "training",
            _ => "held-out",
        }
    }

    fn denoising_text(&self) -> String {
        format!(
            "Noise is put on {} rows, and only the leading principal components of their codes are kept. Few components wash \
             rows out, many let the noise through<span class=\"live\" hidden>; the slider chooses</span>.",
            self.kind()
        )
    }

    fn worst_text(&self) -> String {
        format!(
            "The {} rows farthest from their reconstruction: mislabelled, damaged or rare rows are often among them. The \
             mean squared error of all {} rows is {}.<span class=\"live\" hidden> Press a row to find it on the map.</span>",
            self.kind(),
            self.rows.parts[0].1,
            short(self.worst.mean_error)
        )
    }

    /// Whether the least aligned rows have other neighbours.
    fn neighbours_text(&self) -> String {
        let all = self.worst.misaligned.len();
        match (self.worst.misaligned.iter().filter(|m| m.by_prior != m.by_codes).count(), all) {
            (0, _) => "Each has the same nearest row by the prior and by codes.".into(),
            (differ, all) if differ == all => "Each has another nearest row by codes than by the prior.".into(),
            (1, all) => format!("One of the {all} has another nearest row by codes than by the prior."),
            (differ, all) => format!("{differ} of the {all} have another nearest row by codes than by the prior."),
        }
    }
}

impl Summary {
    fn lead(&self) -> String {
        let trained = thousands(self.trained);
        let width = self.code_width;
        escape(&format!(
            "{}. An autoencoder with codes of {width} number{}, trained on {trained} rows.",
            capital(&self.data),
            if width == 1 { "" } else { "s" }
        ))
    }

    fn notes(&self) -> String {
        self.notes.iter().map(|note| format!("<p class=\"note\">{}</p>\n", escape(note))).collect()
    }

    fn losses(&self) -> String {
        let figure = |part: &str, what: &str| self.figures.get(&format!("{part}.{what}")).copied();
        let aligned = self.figures.keys().any(|name| name.ends_with(".code"));
        let head = if aligned { "<th scope=\"col\">L_c to the prior</th>" } else { "" };
        let mut rows = String::new();
        for (part, count) in ["train", "validation", "test"].into_iter().zip(self.parts) {
            let Some(reconstruction) = figure(part, "reconstruction") else { continue };
            let code = figure(part, "code").map_or("–".into(), |c| format!("{c:.4}"));
            let code = if aligned { format!("<td>{code}</td>") } else { String::new() };
            let name = if part == "train" { "training" } else { part };
            rows += &format!(
                "<tr><th scope=\"row\">{name}, {} rows</th><td>{}</td>{code}</tr>",
                thousands(count),
                short(reconstruction)
            );
        }
        format!(
            "<table><caption>Both losses</caption><tr><th scope=\"col\">part</th><th scope=\"col\">L_r</th>{head}</tr>{rows}</table>"
        )
    }

    fn facts(&self) -> String {
        let mut facts = vec![
            ("Data", self.data.clone()),
            ("Scaling", self.preparation.clone()),
            ("Kernel", if self.kernel.is_empty() { "unknown".into() } else { self.kernel.clone() }),
            ("Network", format!("{}; {}; {} parameters", self.architecture, self.units, thousands(self.parameters))),
        ];
        if let Some(accuracy) = &self.accuracies {
            let percent = |share: f64| format!("{:.2} %", 100.0 * share);
            let text = format!("{} on inputs, {} on codes", percent(accuracy.inputs), percent(accuracy.codes));
            facts.push(("Linear SVM", format!("{text}; its price C chosen on validation rows")));
        }
        if !self.times.is_empty() {
            let times = self.times.iter().map(|(what, time)| format!("{what} {}", seconds(*time)));
            facts.push(("Times", times.collect::<Vec<_>>().join(", ")));
        }
        facts.iter().map(|(name, text)| format!("<dt>{name}</dt><dd>{}</dd>", escape(text))).collect()
    }
}

/// `template` with every `{{name}}` replaced, in one pass; a name without a value stays.
fn fill(template: &str, values: &[(&str, String)]) -> String {
    let mut out = String::with_capacity(template.len() + values.iter().map(|(_, v)| v.len()).sum::<usize>());
    let mut rest = template;
    while let Some(start) = rest.find("{{") {
        let Some(length) = rest[start..].find("}}") else { break };
        let name = &rest[start + 2..start + length];
        out += &rest[..start];
        match values.iter().find(|(known, _)| *known == name) {
            Some((_, value)) => out += value,
            None => out += &rest[start..start + length + 2],
        }
        rest = &rest[start + length + 2..];
    }
    out + rest
}

/// The theme as CSS: its colours as variables, for light and dark screens, and the figures in the colours of a dark one.
fn theme_css() -> String {
    let light = [theme::PAPER, theme::INK, theme::MUTED, theme::AXIS, theme::GRID];
    let names = ["paper", "ink", "muted", "axis", "grid"];
    let variables = |page: &str, colours: [&str; 5], class: fn(usize) -> String, ink: fn(usize) -> String| {
        let base: String = names.iter().zip(colours).map(|(name, colour)| format!("--{name}:{colour};")).collect();
        let classes: String = (0..12).map(|k| format!("--class-{k}:{};--ink-{k}:{};", class(k), ink(k))).collect();
        format!(":root{{--page:{page};{base}{classes}}}")
    };
    // Figures name the colours of paper; on a dark screen each has its counterpart.
    let mut figures = String::new();
    let mut counterpart = |from: &str, to: &str| {
        figures += &format!("svg [fill=\"{from}\"]{{fill:{to}}}svg [stroke=\"{from}\"]{{stroke:{to}}}");
    };
    light.iter().zip(theme::DARK).for_each(|(from, to)| counterpart(from, to));
    for k in 0..12 {
        counterpart(&theme::colour(k), &theme::dark_colour(k));
        counterpart(&theme::ink(k), &theme::dark_colour(k));
    }
    format!(
        ":root{{--typeface:{}}}\n{}\n@media screen and (prefers-color-scheme:dark){{{}{figures}}}",
        theme::TYPEFACE,
        variables("#f6f7f9", light, theme::colour, theme::ink),
        variables("#0d1117", theme::DARK, theme::dark_colour, theme::dark_colour),
    )
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// 14 000.
fn thousands(value: usize) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) && digits.len() > 4 {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

fn seconds(time: Duration) -> String {
    let s = time.as_secs();
    if s < 100 { format!("{:.1} s", time.as_secs_f64()) } else { format!("{} min {} s", s / 60, s % 60) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_filled_once() {
        let filled = fill("a {{x}} b {{y}} c {{z}} {{", &[("x", "{{y}}".into()), ("y", "1".into())]);
        assert_eq!(filled, "a {{y}} b 1 c {{z}} {{");
    }

    #[test]
    fn every_place_of_the_templates_has_a_value() {
        // What `html` fills in is named there; a place that is forgotten would show as {{name}}.
        let source = include_str!("html.rs");
        for template in [PAGE, WALKS, KERNELS] {
            for place in template.split("{{").skip(1).filter_map(|rest| rest.split_once("}}")) {
                assert!(source.contains(&format!("(\"{}\", ", place.0)), "{}", place.0);
            }
        }
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!([thousands(999), thousands(3500), thousands(14000)], ["999", "3500", "14\u{202f}000"]);
        assert_eq!(seconds(Duration::from_millis(1234)), "1.2 s");
        assert_eq!(seconds(Duration::from_secs(125)), "2 min 5 s");
    }
}
