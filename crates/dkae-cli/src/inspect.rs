//! `dkae inspect`: what is in a data or model file.

use std::path::Path;

use anyhow::Result;
use dkae::data::read::{Format, detect_format, read};
use dkae::data::{Shape, Table};
use dkae::net::Model;
use dkae::train::{Checkpoint, Standing};
use serde_json::{Value, json};

use crate::flags::Inspect;
use crate::rows::is_model;
use crate::screen::{self, count, number};

pub fn run(flags: &Inspect) -> Result<(String, Value)> {
    if is_model(&flags.file) {
        if let Some(standing) = Checkpoint::standing(&flags.file)? {
            return Ok(checkpoint(&flags.file, &standing));
        }
        return Ok(model(&Model::load(&flags.file)?));
    }
    let mut options = flags.reading.options();
    options.allow_missing = true;
    let table = screen::reading(|| read(&flags.file, &options))?;
    let header = header(&flags.file, options.format, table.names.as_deref())?;
    Ok(data(&table, header))
}

/// Whether a csv file begins with the names of its columns; unknown for files of other formats, and for pipes, which cannot
/// be looked into again.
pub fn header(path: &Path, format: Option<Format>, names: Option<&[String]>) -> Result<Option<bool>> {
    let format = match format {
        None if path.is_file() => Some(detect_format(path)?),
        format => format,
    };
    Ok((format == Some(Format::Csv)).then_some(names.is_some()))
}

/// What is said of a csv file without a header: a first row of numbers may have been meant as one.
pub const NO_HEADER: &str =
    "no header: columns are numbered, and the first row is data; if it holds names, give --header true";

fn checkpoint(path: &Path, standing: &Standing) -> (String, Value) {
    let Standing { version, phase, step, rows, features } = standing;
    let name = path.to_string_lossy();
    let output = name.strip_suffix(".checkpoint").map_or("MODEL", |model| model);
    let lines = [
        format!("checkpoint of an unfinished fit by dkae {version}"),
        format!("rows       {} of {}", thousands(*rows), count(*features, "feature")),
        format!("stands at  {phase}, step {step}"),
        format!("to resume  give the same command again: dkae fit ... -o {output}"),
    ];
    let value = json!({
        "kind": "checkpoint", "version": version, "phase": phase.to_string(), "step": step, "rows": rows,
        "features": features, "output": output,
    });
    (lines.join("\n"), value)
}

fn model(model: &Model) -> (String, Value) {
    let (about, shape) = (model.about(), model.net().architecture());
    let mut lines = vec![
        format!(
            "model      {shape}, {} parameters, {} weights",
            thousands(shape.parameters()),
            if shape.tied { "tied" } else { "untied" }
        ),
        format!("units      hidden {}, code {}, output {}", shape.hidden, shape.code, shape.output),
        format!(
            "rows       {} of {}{}",
            thousands(about.rows),
            count(model.input_width(), "feature"),
            picture(about.shape)
        ),
        format!("kernel     {}", if about.kernel.is_empty() { "unknown" } else { &about.kernel }),
    ];
    if let Some((_, svd)) = &model.preparation().text {
        lines.push(format!("text       TF-IDF, then {} dimensions by a truncated SVD", svd.components.nrows()));
    }
    lines.push(format!("scaling    {}", name(&model.preparation().scaler.kind())));
    for part in ["train", "validation", "test"] {
        let figure = |what: &str| about.figures.get(&format!("{part}.{what}"));
        if let Some(reconstruction) = figure("reconstruction") {
            let code = figure("code").map(|c| format!(", L_c {c:.4}")).unwrap_or_default();
            lines.push(format!("{part:<10} L_r {}{code}", number(*reconstruction, 5)));
        }
    }
    if let Some(codes) = about.figures.get("test.codes-to-ideal") {
        let prior =
            about.figures.get("test.prior-to-ideal").map(|p| format!(", of the prior {p:.4}")).unwrap_or_default();
        lines.push(format!("to ideal   L_c of the codes {codes:.4}{prior}"));
    }
    let settings = serde_json::to_string(&about.settings).unwrap_or_default();
    lines.push(format!("settings   {settings}"));
    let value = json!({
        "kind": "model",
        "architecture": shape,
        "input_width": model.input_width(),
        "code_width": model.code_width(),
        "scaling": name(&model.preparation().scaler.kind()),
        "about": about,
    });
    (lines.join("\n"), value)
}

fn data(table: &Table, header: Option<bool>) -> (String, Value) {
    let (n, d) = table.x.dim();
    let finite = || table.x.iter().copied().filter(|v| v.is_finite());
    let (low, high) = finite().fold((f32::INFINITY, f32::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    let missing = table.x.iter().filter(|v| v.is_nan()).count();
    let infinite = table.x.iter().filter(|v| v.is_infinite()).count();
    let zeros = table.x.iter().filter(|&&v| v == 0.0).count();
    let constant = table.x.columns().into_iter().filter(|c| c.iter().all(|v| v == &c[0])).count();
    let mean = finite().map(f64::from).sum::<f64>() / (n * d - missing - infinite).max(1) as f64;
    let mut lines = vec![
        format!("rows       {} of {}{}", thousands(n), count(d, "feature"), picture(table.shape)),
        format!(
            "range      {low} to {high}, mean {mean:.4}, {:.0} % zeros",
            100.0 * zeros as f64 / (n * d).max(1) as f64
        ),
        format!(
            "missing    {}{}",
            count(missing, "value"),
            if infinite > 0 { format!(", {infinite} infinite") } else { String::new() }
        ),
        format!("constant   {}", count(constant, "feature")),
    ];
    lines.extend(table.warnings.iter().map(|warning| format!("warning    {warning}")));
    let mut classes = Value::Null;
    if let Some(labels) = &table.labels {
        let counts = labels.counts();
        let list: Vec<String> =
            labels.names.iter().zip(&counts).take(20).map(|(name, n)| format!("{name}: {n}")).collect();
        let more = if counts.len() > 20 { ", ..." } else { "" };
        lines.push(format!("classes    {} ({}{more})", counts.len(), list.join(", ")));
        classes = json!(labels.names.iter().zip(&counts).collect::<std::collections::BTreeMap<_, _>>());
    }
    if let Some(groups) = &table.groups {
        let mut counts = std::collections::BTreeMap::new();
        groups.iter().for_each(|g| *counts.entry(g).or_insert(0) += 1);
        let list: Vec<String> = counts.iter().take(20).map(|(name, n)| format!("{name}: {n}")).collect();
        lines.push(format!("groups     {} ({})", counts.len(), list.join(", ")));
    }
    if let Some(names) = &table.names {
        let list: Vec<&str> = names.iter().take(12).map(String::as_str).collect();
        lines.push(format!("features   {}{}", list.join(", "), if names.len() > 12 { ", ..." } else { "" }));
    }
    if header == Some(false) {
        lines.push(format!("features   {NO_HEADER}"));
    }
    let value = json!({
        "kind": "data", "rows": n, "features": d, "shape": table.shape, "min": low, "max": high, "mean": mean,
        "missing": missing, "infinite": infinite, "zeros": zeros, "constant_features": constant, "classes": classes,
        "names": table.names, "header": header, "warnings": table.warnings,
    });
    (lines.join("\n"), value)
}

fn picture(shape: Shape) -> String {
    match shape {
        Shape::Vector => String::new(),
        Shape::Image { channels: 1, height, width } => format!(", grey pictures of {height} x {width}"),
        Shape::Image { channels, height, width } => format!(", pictures of {channels} x {height} x {width}"),
    }
}

/// A setting's name, as in settings files.
pub fn name(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}

/// `12 345 678`.
fn thousands(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(c);
    }
    out
}
