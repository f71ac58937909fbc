//! The page as HTML: the template of `assets/`, filled.
//!
//! Whatever comes from data goes through [`escape`] on its way into the text, and into the script as JSON in which `<` is
//! written `\u003c`: no row, label, file or column name can end an element or begin one. The template is filled in one
//! pass, so that a name that looks like a placeholder stays a name.

use std::path::Path;

use dkae::data::atomic::write_atomically;
use serde::Serialize;

use super::Page;
use super::looks::Legend;
use super::walks::Walks;
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
        let walks = self
            .walks
            .as_ref()
            .map(|walks| fill(WALKS, &[("walks", Walks::text().into()), ("walks_still", walks.still.clone())]));
        let kernels = self.kernels.as_ref().map(|kernels| {
            fill(KERNELS, &[("kernels", self.kernels_text(kernels)), ("kernels_still", kernels.still.clone())])
        });
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
                ("tiles", self.summary.tiles()),
                ("losses", self.summary.losses()),
                ("facts", self.summary.facts()),
                ("training", self.training()),
                ("curves", self.charts()),
                ("map", self.map_text()),
                ("values", self.values_text()),
                ("map_still", self.map.still.clone()),
                ("map_drawn", self.map_drawn()),
                ("decoded_still", self.decoded_still()),
                ("walks_link", link(walks.is_some(), "walks", "Walks")),
                ("walks_section", walks.unwrap_or_default()),
                ("denoising", self.denoising_text()),
                ("denoising_still", self.denoising.still.clone()),
                ("kernels_link", link(kernels.is_some(), "kernels", "Kernels")),
                ("kernels_section", kernels.unwrap_or_default()),
                ("worst", self.worst_text()),
                ("worst_still", self.worst.reconstructed_still.clone()),
                ("misaligned_part", self.misaligned_part()),
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

    fn values_text(&self) -> String {
        // Bars are drawn by the script.
        let bars = format!("<span class=\"live\" hidden> {}</span>", escape(self.about_bars.trim()));
        match (self.about_values.trim(), self.about_bars.as_str()) {
            ("", "") => String::new(),
            (text, "") => format!("<p class=\"small\">{}</p>", escape(text)),
            (text, _) => format!("<p class=\"small\">{}{bars}</p>", escape(text)),
        }
    }

    /// What is to be said of errors and noise beside tables, whose values are those of the file.
    pub(super) fn as_seen(&self) -> String {
        match self.looks {
            Legend::Pictures { .. } => String::new(),
            Legend::Features { .. } => format!(", as the network sees rows ({})", escape(&self.summary.preparation)),
        }
    }

    /// What the rows on the page are.
    pub(super) fn kind(&self) -> &'static str {
        match self.rows.parts[0].0 {
            "training" => "training",
            _ => "held-out",
        }
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
}
