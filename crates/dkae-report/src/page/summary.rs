//! The summary at the top of the page: data, kernel, network, times, losses, and what a linear machine makes of codes.

use std::collections::BTreeMap;
use std::time::Duration;

use dkae::data::Shape;
use dkae::data::scale::Scale;

use super::classify::Accuracies;
use super::figures::{capital, short};
use super::rows::too_many;
use super::{Subject, TRAINING};
use crate::svg::escape;

/// What stands at the top.
#[derive(Clone, Debug, Default)]
pub(super) struct Summary {
    pub name: String,
    pub data: String,
    pub kernel: String,
    pub architecture: String,
    pub units: String,
    pub preparation: String,
    pub parameters: usize,
    pub trained: usize,
    pub code_width: usize,
    pub parts: [usize; 3],
    pub figures: BTreeMap<String, f64>,
    pub accuracies: Option<Accuracies>,
    pub times: Vec<(String, Duration)>,
    pub notes: Vec<String>,
}

impl Summary {
    pub fn new(subject: &Subject, accuracies: Option<Accuracies>) -> Summary {
        let Subject { model, rows, .. } = *subject;
        let (about, architecture) = (model.about(), model.net().architecture());
        let parts = rows.parts.each_ref().map(|x| x.nrows());
        let kind = match about.shape {
            Shape::Image { channels, height, width } => {
                let colour = if channels == 3 { "colour " } else { "" };
                format!("{colour}pictures of {width} x {height} pixels")
            }
            Shape::Vector => format!("rows of {} features", model.input_width()),
        };
        let classes = match &rows.labels {
            Some(labels) => format!(", {} classes", labels[0].names.len()),
            None => ", no labels".to_owned(),
        };
        let mut preparation = match model.preparation().scaler.kind() {
            Scale::None => "as they are".to_owned(),
            Scale::Standard => "each feature to mean 0 and deviation 1".to_owned(),
            Scale::Unit => "each feature to 0 … 1".to_owned(),
            _ => "all features by one range, to 0 … 1".to_owned(),
        };
        if let Some((_, svd)) = &model.preparation().text {
            preparation =
                format!("TF-IDF, {} dimensions by a truncated SVD, then {preparation}", svd.components.nrows());
        }
        Summary {
            name: subject.name.to_owned(),
            data: format!("{kind}{classes}"),
            kernel: about.kernel.clone(),
            architecture: architecture.to_string(),
            units: format!(
                "{} hidden units, {} code, {} output; {} weights",
                architecture.hidden,
                architecture.code,
                architecture.output,
                if architecture.tied { "tied" } else { "untied" }
            ),
            parameters: architecture.parameters(),
            preparation,
            trained: about.rows,
            code_width: model.code_width(),
            parts,
            figures: subject.figures.clone(),
            accuracies,
            times: subject.times.to_vec(),
            notes: subject.notes.iter().cloned().chain(too_many(rows)).collect(),
        }
    }

    pub fn tiles(&self) -> String {
        let Summary { figures, accuracies, .. } = self;
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

    pub fn lead(&self) -> String {
        let trained = thousands(self.trained);
        let width = self.code_width;
        escape(&format!(
            "{}. An autoencoder with codes of {width} number{}, trained on {trained} rows.",
            capital(&self.data),
            if width == 1 { "" } else { "s" }
        ))
    }

    pub fn notes(&self) -> String {
        self.notes.iter().map(|note| format!("<p class=\"note\">{}</p>\n", escape(note))).collect()
    }

    pub fn losses(&self) -> String {
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

    pub fn facts(&self) -> String {
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
        if !self.times.iter().any(|(what, _)| what == TRAINING) {
            let why = "not known here: a model's file is the same for the same seed, and has no times";
            facts.push(("Training time", format!("{why}; dkae fit --report shows it")));
        }
        facts.iter().map(|(name, text)| format!("<dt>{name}</dt><dd>{}</dd>", escape(text))).collect()
    }
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
    if time < Duration::from_millis(50) {
        return "under 0.1 s".into();
    }
    if s < 100 { format!("{:.1} s", time.as_secs_f64()) } else { format!("{} min {} s", s / 60, s % 60) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of one element after another, without their tags.
    fn plain(html: &str) -> String {
        let text = html.split('<').filter_map(|piece| piece.split_once('>')).map(|(_, text)| text.trim());
        text.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn every_figure_stands_where_it_is_named() {
        let names = ["reconstruction", "code", "codes-to-ideal", "prior-to-ideal"];
        let parts = [("train", 0.1), ("validation", 0.2), ("test", 0.3)];
        let figure = |(part, base): (&str, f64), (k, what): (usize, &str)| {
            (format!("{part}.{what}"), base + 0.01 * (k + 1) as f64)
        };
        let figures = parts.iter().flat_map(|&p| names.iter().enumerate().map(move |(k, w)| figure(p, (k, w))));
        let accuracies = Accuracies { inputs: 0.8125, codes: 0.9375, learned: 70, tested: 16 };
        let summary = Summary {
            figures: figures.collect(),
            accuracies: Some(accuracies),
            parts: [70, 14, 16],
            ..Summary::default()
        };
        let tiles = plain(&summary.tiles());
        for words in [
            "0.31 | reconstruction loss L_r, test rows | ",
            // 1 - 0.32^2 / 2.
            "0.3200 | code loss L_c, test rows | distance of both kernels, 0 to 1.41; their alignment is 0.949",
            "0.3300 | L_c of codes to the ideal kernel | the ideal kernel knows the classes; that of the prior is 0.3400",
            "93.75 % | accuracy of a linear SVM on codes | on inputs 81.25 %; 70 rows to learn from, 16 to test on",
        ] {
            assert!(tiles.contains(words), "{words}: {tiles}");
        }
        let losses = plain(&summary.losses());
        let wanted =
            "training, 70 rows | 0.11 | 0.1200 | validation, 14 rows | 0.21 | 0.2200 | test, 16 rows | 0.31 | 0.3200";
        assert!(losses.ends_with(wanted), "{losses}");
        assert!(plain(&summary.facts()).contains("Linear SVM | 81.25 % on inputs, 93.75 % on codes"));
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!([thousands(999), thousands(3500), thousands(14000)], ["999", "3500", "14\u{202f}000"]);
        assert_eq!(seconds(Duration::from_millis(1234)), "1.2 s");
        assert_eq!(seconds(Duration::from_secs(125)), "2 min 5 s");
        assert_eq!(seconds(Duration::from_millis(4)), "under 0.1 s");
    }
}
