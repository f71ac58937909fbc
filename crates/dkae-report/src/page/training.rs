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
