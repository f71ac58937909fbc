//! How the results of `classify` are shown: the figure, the table and its sentences.

use dkae_report::Figure;
use dkae_report::dots::{Dot, Dots, Line};
use dkae_report::panel::{self, Sheet};

use super::Method::*;
use super::trial::{BEST, Candidate, MORE_ROWS, PRIORS, leader, winner};
use super::{Column, Method, Results};
use crate::Result;
use crate::data::Set;
use crate::report::{self, Ranked, Table, order, printed, summary};

impl Column {
    /// The candidates that the best codes were chosen from.
    fn compared_for(&self, best: Method) -> &[Candidate] {
        if best == BestSupervisedCodes { &self.supervised_candidates } else { &self.candidates }
    }

    /// Where the set is from, in a few words: up to the first colon.
    fn kind(&self) -> &'static str {
        self.origin.split(':').next().unwrap_or_default()
    }

    fn of(&self, method: Method) -> Option<Dot> {
        summary(&self.scores.get(&method)?.iter().map(|s| s.test).collect::<Vec<_>>())
    }

    fn shown(&self, method: Method) -> String {
        match self.of(method) {
            Some(Dot { value, spread }) if spread > 0.0 => format!("{value:.2} ± {spread:.2}"),
            Some(Dot { value, .. }) => format!("{value:.2}"),
            None => "–".into(),
        }
    }

    /// The winner of a trial: a sentence.
    fn chosen(&self, best: Method) -> String {
        let tried = self.compared_for(best);
        let Some(found) = winner(tried) else { return String::new() };
        // A variant is one of the best prior, which then has a name too.
        let prior = leader(&tried[..PRIORS.min(tried.len())]).filter(|_| best == BestCodes && found >= PRIORS);
        let of = prior.map(|i| format!("; the best prior is {}", tried[i].name)).unwrap_or_default();
        format!(" {} is: {}{of}.", best.name(), tried[found].name)
    }

    /// What alignment adds, where both rows are there: a sentence.
    fn gain(&self, aligned: Method, plain: Method, what: &str) -> String {
        let (Some(aligned), Some(plain)) = (self.scores.get(&aligned), self.scores.get(&plain)) else {
            return String::new();
        };
        // Seed by seed: what a split does to both is no difference between them.
        let gains: Vec<f64> = aligned.iter().zip(plain).map(|(a, b)| a.test - b.test).collect();
        match summary(&gains) {
            Some(Dot { value, spread }) if gains.len() > 1 => format!(" {what} {value:+.2} ± {spread:.2} points."),
            Some(Dot { value, .. }) => format!(" {what} {value:+.2} points."),
            None => String::new(),
        }
    }
}

impl Results {
    /// All candidates with their scores on every set.
    fn trials(&self) -> Table {
        let heads = ["candidate"].into_iter().chain(self.columns.iter().map(|c| c.set.name()));
        let mut table = Table::new("", &heads.collect::<Vec<_>>());
        let Some(first) = self.columns.first() else { return table };
        for best in [BestCodes, BestSupervisedCodes] {
            for (i, candidate) in first.compared_for(best).iter().enumerate() {
                let cell = |column: &Column| {
                    let all = column.compared_for(best);
                    let shown = all[i].shown();
                    if winner(all) == Some(i) { format!("**{shown}**") } else { shown }
                };
                table.row([candidate.name.clone()].into_iter().chain(self.columns.iter().map(cell)));
            }
        }
        table
    }
}

impl Candidate {
    /// What it scored in the first round, and in the second if it came so far.
    fn shown(&self) -> String {
        match (&self.failure, self.whole) {
            (Some(_), _) if self.validation > 0.0 => format!("{:.2} → failed", self.validation),
            (Some(_), _) => "failed".into(),
            (None, None) => format!("{:.2}", self.validation),
            (None, Some(whole)) => format!("{:.2} → {whole:.2}", self.validation),
        }
    }
}

impl report::Results for Results {
    fn figure(&self) -> Result<Figure> {
        let draw = |column: &Column| -> Result<Figure> {
            let lines: Vec<Line> = Method::ALL
                .into_iter()
                .map(|method| {
                    let paper = method.paper(column.set).map(|value| Dot { value, spread: 0.0 });
                    Line { name: method.name(), values: vec![column.of(method), paper] }
                })
                .collect();
            let kinds = vec!["here".into(), "paper".into()];
            let seeds = column.scores.values().map(Vec::len).max().unwrap_or(0);
            let label = match seeds {
                0 | 1 => "accuracy on test rows, %".into(),
                _ => format!("accuracy on test rows, %: mean ± deviation, {seeds} seeds"),
            };
            let dots = Dots { width: 500.0, label, kinds, decimals: 2, ..Dots::default() };
            Ok(dots.draw(&lines)?)
        };
        let drawn = self.columns.iter().map(draw).collect::<Result<Vec<_>>>()?;
        let titled = |(column, figure)| {
            let column: &Column = column;
            (format!("{} ({})", column.set.name(), column.kind()), figure)
        };
        let titled: Vec<(String, &Figure)> = self.columns.iter().zip(&drawn).map(titled).collect();
        let parts: Vec<panel::Part> = titled.iter().map(|(title, figure)| panel::Part { title, figure }).collect();
        let rows: Vec<Vec<panel::Part>> = parts.chunks(2).map(<[_]>::to_vec).collect();
        Ok(Sheet::default().draw(&rows)?)
    }

    fn table(&self) -> Table {
        let title = "6. `classify`: accuracy on test rows in per cent (section 5.1, table 2)";
        let heads = self.columns.iter().flat_map(|c| [c.set.name(), "paper"]);
        let mut table = Table::new(title, &["method"].into_iter().chain(heads).collect::<Vec<_>>());
        let kinds = self.columns.iter().flat_map(|c| [c.kind().to_owned(), String::new()]);
        table.row(["the set is".to_owned()].into_iter().chain(kinds));
        for method in Method::ALL {
            let cells = self.columns.iter().flat_map(|c| [c.shown(method), printed(method.paper(c.set), 2)]);
            table.row([method.name().to_owned()].into_iter().chain(cells));
        }
        for column in &self.columns {
            let seeds = column.scores.values().map(Vec::len).max().unwrap_or(0);
            let spread =
                if seeds > 1 { format!("; mean ± standard deviation of {seeds} seeds") } else { String::new() };
            let mut text = format!("**{}**: {}{spread}.", column.set.name(), column.origin);
            text += &column.gain(Codes, PlainCodes, "What alignment adds to codes in the paper's setting:");
            text += &column.gain(BestCodes, BestPlainCodes, "In the best setting of the trial:");
            for method in [BestCodes, BestSupervisedCodes] {
                text += &column.chosen(method);
            }
            let ranked = |method: Method| {
                let (paper, ours) = (method.paper(column.set)?, column.of(method)?.value);
                Some(Ranked { name: method.name(), paper, ours })
            };
            let ranked: Vec<Ranked> = Method::ALL.into_iter().filter_map(ranked).collect();
            text += &format!(" {}", order(&ranked, true));
            table.note(text);
        }
        table.note(
            "The paper does not name the kernel of its kSVM; its numbers stand beside the PCK, which they match on MNIST. C, and the \
             width of RBF, are chosen on validation rows; kernel machines with many training rows search their grid on some of \
             them, and the best few settings are then fitted on all. scSVM knows the labels of training rows, and those of validation \
             rows choose when to stop. \"Plain codes of that network\" have the settings that were best for aligned codes, but for \
             their lambda of 0.",
        );
        table.note(format!(
            "The trial, first seed: per cent of validation rows after {:.0} % of a candidate's steps, and after an arrow when \
             it has had all of them: the {BEST} best so far, and the paper's setting. The best of these, in bold, has the row in the \
             table above. \"More rows\" are {} ({} on CIFAR-10) with a third of the starts.\n\n{}",
            100.0 * self.trial,
            MORE_ROWS[0],
            MORE_ROWS[1],
            self.trials().grid().trim_end()
        ));
        if !self.orders.is_empty() {
            let order = |set: Set| match set {
                Set::Cloud([a, b, c]) => format!("{a}, {b}, {c}"),
                other => other.name().to_owned(),
            };
            let methods: Vec<Method> = Method::ALL.into_iter().filter(|m| m.everywhere()).collect();
            let names = methods.iter().map(|m| m.name());
            let head: Vec<&str> = ["images to train, validate, test"].into_iter().chain(names).collect();
            let mut other = Table::new("", &head);
            for column in self.columns.iter().filter(|c| c.set == Set::CLOUD).chain(&self.orders) {
                let cells = methods.iter().map(|&m| column.shown(m));
                other.row([order(column.set)].into_iter().chain(cells));
            }
            table.note(format!("CLOUD with the three images in every role:\n\n{}", other.grid().trim_end()));
        }
        table
    }
}
