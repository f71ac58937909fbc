//! The training section: the curves of both losses, in pretraining and fine-tuning, on training and validation rows.

use dkae::net::Record;

use super::Page;
use crate::Figure;
use crate::curves::{Axis, Curves, Series};
use crate::svg::escape;

impl Page {
    /// What the section shows.
    pub(super) fn training(&self) -> String {
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

    /// A chart for each loss and phase.
    pub(super) fn charts(&self) -> String {
        let charts = curves(&self.history, self.layers);
        let figure =
            |title: &str, svg: &str| format!("<figure><figcaption>{}</figcaption>{svg}</figure>\n", escape(title));
        charts.iter().map(|chart| figure(chart.title, chart.figure.svg())).collect()
    }
}

/// A chart and what it shows.
struct Chart {
    title: &'static str,
    figure: Figure,
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
fn curves(history: &[Record], layers: usize) -> Vec<Chart> {
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

    /// Where the corners of a curve are.
    fn corners(chart: &Chart, colour: usize, dashed: bool) -> Vec<(f64, f64)> {
        let stroke = format!("stroke=\"{}\"", crate::theme::colour(colour));
        let curve = |l: &&str| l.contains("d=\"M") && l.contains(&stroke) && l.contains("stroke-dasharray") == dashed;
        let line = chart.figure.svg().lines().find(curve).unwrap();
        let path = line.split("d=\"").nth(1).unwrap().split('"').next().unwrap();
        let points = path.split(['M', 'L']).filter_map(|p| p.split_once(' '));
        points.map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap())).collect()
    }

    #[test]
    fn curves_have_the_values_of_the_history() {
        let (steps, codes, errors) = ([10, 20, 50], [0.9f32, 0.6, 0.5], [0.4f32, 0.2, 0.1]);
        let history: Vec<Record> = (0..9)
            .map(|i| Record {
                phase: i / 3,
                step: steps[i % 3],
                // Every phase has values of its own.
                reconstruction: errors[i % 3] / (1 + i / 3) as f32,
                code: if i < 3 { 0.0 } else { codes[i % 3] / (1 + i / 3) as f32 },
                validation: (i % 3 > 0).then(|| (2.0 * errors[i % 3] / (1 + i / 3) as f32, 0.7 * codes[i % 3])),
            })
            .collect();
        let charts = curves(&history, 2);
        let scaled = |values: [f32; 3], by: f64| values.map(|v| f64::from(v) * by).to_vec();
        let looks = |values: [f32; 3], by: f64| scaled(values, by)[1..].to_vec();
        for (place, title, colour, log, train, validation) in [
            (0, "Pretraining: reconstruction", 0, true, scaled(errors, 1.0), looks(errors, 2.0)),
            (0, "Pretraining: reconstruction", 1, true, scaled(errors, 0.5), looks(errors, 1.0)),
            (1, "Pretraining of the code layer: alignment", 3, false, scaled(codes, 0.5), looks(codes, 0.7)),
            (2, "Fine-tuning: reconstruction", 0, true, scaled(errors, 1.0 / 3.0), looks(errors, 2.0 / 3.0)),
            (3, "Fine-tuning: alignment", 3, false, scaled(codes, 1.0 / 3.0), looks(codes, 0.7)),
        ] {
            let chart = &charts[place];
            assert_eq!(chart.title, title);
            let (solid, dashed) = (corners(chart, colour, false), corners(chart, colour, true));
            assert_eq!((solid.len(), dashed.len()), (3, 2), "{title}");
            // By the first and last corner of the solid curve the scales are known; all others must agree.
            let along = |steps: [u64; 3], i: usize| steps[i] as f64;
            let up = |value: f64| if log { value.ln() } else { value };
            let scale = |a: f64, b: f64, from: f64, to: f64, at: f64| from + (at - a) / (b - a) * (to - from);
            let x = |i: usize| scale(along(steps, 0), along(steps, 2), solid[0].0, solid[2].0, along(steps, i));
            let y = |value: f64| scale(up(train[0]), up(train[2]), solid[0].1, solid[2].1, up(value));
            for (found, wanted) in solid.iter().zip((0..3).map(|i| (x(i), y(train[i])))) {
                assert!((found.0 - wanted.0).abs() < 0.03 && (found.1 - wanted.1).abs() < 0.03, "{title} {found:?}");
            }
            for (found, wanted) in dashed.iter().zip((0..2).map(|i| (x(i + 1), y(validation[i])))) {
                assert!(
                    (found.0 - wanted.0).abs() < 0.03 && (found.1 - wanted.1).abs() < 0.1,
                    "{title} {found:?} {wanted:?}"
                );
            }
            // Up is more, and later is to the right.
            assert!(solid[0].1 < solid[2].1 && solid[0].0 < solid[2].0, "{title}");
        }
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
