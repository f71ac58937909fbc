//! What the user sees while work goes on: a bar with both losses and the time left on a terminal, plain lines otherwise,
//! nothing when quiet or when a machine reads. Everything here goes to standard error; results go to standard output.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dkae::progress::Progress;
use dkae::train::{Event, Losses, Observer, Phase};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::flags::Global;

/// Set by Ctrl-C.
static STOP: AtomicBool = AtomicBool::new(false);

/// Set while a file is read, and nothing else is done.
static READING: AtomicBool = AtomicBool::new(false);

/// Two signals this close are one wish: `timeout` and some shells send it to the process and to its group.
const ONE_WISH: Duration = Duration::from_millis(300);

/// How often a spinner moves.
const TICK: Duration = Duration::from_millis(120);

/// From now on Ctrl-C asks work to stop at the next good moment; the second one ends the process at once, and so does the
/// first while a file is read: nothing is begun then that could be left half done.
pub fn watch_for_interrupts() {
    let mut first: Option<Instant> = None;
    let handler = move || {
        let reading = READING.load(Ordering::SeqCst);
        STOP.store(true, Ordering::SeqCst);
        let again = first.get_or_insert_with(Instant::now).elapsed() > ONE_WISH;
        if reading || again {
            // Under the bar.
            let line = if std::io::stderr().is_terminal() { "\n" } else { "" };
            let lost = if reading { "" } else { " a second time: ended at once, and what was not yet saved is lost" };
            tell(format_args!("{line}error: {}{lost}", dkae::Error::Interrupted));
            std::process::exit(130);
        }
    };
    // Without a handler Ctrl-C ends the process, which loses at most the steps since the last checkpoint.
    let _ = ctrlc::set_handler(handler);
}

/// Whether the user asked to stop.
pub fn stop_requested() -> bool {
    STOP.load(Ordering::SeqCst)
}

/// Reads a file, which Ctrl-C ends at once; no file may be open for writing.
pub fn reading<T>(work: impl FnOnce() -> T) -> T {
    READING.store(true, Ordering::SeqCst);
    let result = work();
    READING.store(false, Ordering::SeqCst);
    result
}

/// A line for people. A reader that went away is no reason to stop the work.
pub fn tell(line: impl std::fmt::Display) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Something that the user should know, whoever reads; on a line of its own.
pub fn warn(text: impl std::fmt::Display) {
    tell(format_args!("warning: {}", printable(&text.to_string())));
}

/// Text without what would move the cursor or change colours: names and cells of files may hold anything.
pub fn printable(text: &str) -> String {
    let escaped = |c: char| if c.is_control() { c.escape_default().collect() } else { c.to_string() };
    text.chars().map(escaped).collect()
}

/// How to talk to the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    /// A person at a terminal.
    Bars,
    /// A log file.
    Lines,
    /// Nobody.
    Nothing,
}

impl Screen {
    pub fn new(global: &Global) -> Self {
        if global.quiet || global.json {
            Screen::Nothing
        } else if std::io::stderr().is_terminal() {
            Screen::Bars
        } else {
            Screen::Lines
        }
    }

    /// One line about something that has happened.
    pub fn say(self, line: impl std::fmt::Display) {
        if self != Screen::Nothing {
            tell(line);
        }
    }

    /// Says what is being done and, when it is over, how long it took.
    pub fn timed<T>(self, what: &str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let spinner = (self == Screen::Bars).then(|| {
            let spinner = ProgressBar::new_spinner().with_message(what.to_owned());
            spinner.enable_steady_tick(TICK);
            spinner
        });
        let result = work();
        if let Some(spinner) = spinner {
            spinner.finish_and_clear();
        }
        self.say(format_args!("{what}: {}", seconds(start.elapsed())));
        result
    }

    /// Reads rows, and says how long it took; Ctrl-C ends it at once.
    pub fn reading<T>(self, work: impl FnOnce() -> T) -> T {
        self.timed("reading", || reading(work))
    }

    /// As [`timed`](Self::timed), for work that says how far it is and can be stopped.
    pub fn watched<T>(self, what: &str, work: impl FnOnce(&dyn Progress) -> T) -> T {
        let start = Instant::now();
        let bar = self.spinner("{msg} {spinner} {elapsed}");
        bar.set_message(what.to_owned());
        let watch = Watch { bar, begun: AtomicBool::new(false) };
        let result = work(&watch);
        watch.bar.finish_and_clear();
        self.say(format_args!("{what}: {}", seconds(start.elapsed())));
        result
    }

    /// A bar for work of so many rows; unknown when the file does not say.
    pub fn rows(self, what: &'static str, total: Option<usize>) -> Rows {
        let bar = match (self, total) {
            (Screen::Bars, Some(total)) => bar(total as u64, "{msg} {wide_bar} {pos}/{len} rows, {eta} left"),
            _ => self.spinner("{msg} {spinner} {pos} rows, {elapsed}"),
        };
        bar.set_message(what);
        Rows { bar, screen: self, what, start: Instant::now() }
    }

    /// For work that may take long to say how far it is: it moves all the same.
    fn spinner(self, template: &str) -> ProgressBar {
        if self != Screen::Bars {
            return ProgressBar::hidden();
        }
        let bar = bar(0, template);
        bar.enable_steady_tick(TICK);
        bar
    }

    /// An observer of training.
    pub fn training(self) -> Training {
        Training { screen: self, bar: ProgressBar::hidden(), steps: 0, validation: None, said: Instant::now() }
    }
}

fn bar(total: u64, template: &str) -> ProgressBar {
    ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(8)).with_style(style(template))
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("a fixed template").progress_chars("━╸─")
}

/// `3.2 s`, `4 min 10 s`, `2 h 5 min`.
pub fn seconds(time: Duration) -> String {
    let s = time.as_secs();
    match s {
        0..100 => format!("{:.1} s", time.as_secs_f64()),
        100..6000 => format!("{} min {} s", s / 60, s % 60),
        _ => format!("{} h {} min", s / 3600, s % 3600 / 60),
    }
}

/// A number with so many decimals; very large and very small ones with an exponent.
pub fn number(value: f64, decimals: usize) -> String {
    let smallest = 10f64.powi(1 - decimals as i32);
    if value == 0.0 || !value.is_finite() || (smallest..1e6).contains(&value.abs()) {
        format!("{value:.decimals$}")
    } else {
        format!("{value:.3e}")
    }
}

/// So many of something: `1 row`, `2 rows`, `3 classes`.
pub fn count(n: usize, word: &str) -> String {
    let end = match word {
        _ if n == 1 => "",
        word if word.ends_with('s') => "es",
        _ => "s",
    };
    format!("{n} {word}{end}")
}

/// The library's reports on a bar, and Ctrl-C to the library.
struct Watch {
    bar: ProgressBar,
    /// Whether there was a report; until then there is nothing to draw a bar of.
    begun: AtomicBool,
}

impl Progress for Watch {
    fn step(&self, what: &str, done: u64, total: u64) {
        self.bar.set_message(what.to_owned());
        self.bar.set_length(total);
        self.bar.set_position(done);
        if !self.begun.swap(true, Ordering::Relaxed) {
            self.bar.set_style(style("{msg} {wide_bar} {pos}/{len}, {elapsed}"));
        }
    }

    fn stop(&self) -> bool {
        stop_requested()
    }
}

/// Progress over rows.
pub struct Rows {
    bar: ProgressBar,
    screen: Screen,
    what: &'static str,
    start: Instant,
}

impl Rows {
    pub fn add(&self, rows: usize) {
        self.bar.inc(rows as u64);
    }

    pub fn finish(self, rows: usize) {
        self.bar.finish_and_clear();
        self.screen.say(format_args!("{} {}: {}", self.what, count(rows, "row"), seconds(self.start.elapsed())));
    }
}

/// Follows a training run.
pub struct Training {
    screen: Screen,
    bar: ProgressBar,
    steps: u64,
    validation: Option<Losses>,
    said: Instant,
}

impl Training {
    fn status(&self, losses: Losses) -> String {
        let mut text = format!("L_r {}", number(losses.reconstruction.into(), 5));
        if losses.code > 0.0 {
            text += &format!("  L_c {:.4}", losses.code);
        }
        if let Some(v) = self.validation {
            text += &format!("  (validation {}", number(v.reconstruction.into(), 5));
            text += &if v.code > 0.0 { format!(", {:.4})", v.code) } else { ")".into() };
        }
        text
    }
}

impl Observer for Training {
    fn event(&mut self, event: &Event) -> ControlFlow<()> {
        match *event {
            Event::Phase { phase, steps, from } => {
                self.bar.finish_and_clear();
                self.steps = steps;
                if from > 0 {
                    self.screen.say(format_args!("going on from the checkpoint: {phase}, step {from} of {steps}"));
                }
                if self.screen == Screen::Bars && steps > 0 {
                    self.bar = bar(steps, "{prefix} {wide_bar} {pos}/{len} {msg} {eta} left");
                    self.bar.set_position(from);
                    self.bar.reset_eta();
                    self.bar.set_prefix(phase.to_string());
                }
            }
            Event::Step { phase, step, losses } => {
                self.bar.set_position(step);
                if self.screen == Screen::Bars && step.is_multiple_of(5) {
                    self.bar.set_message(self.status(losses));
                }
                // A log wants a line now and then; fine-tuning has its validation lines as well.
                let last = step == self.steps;
                if self.screen == Screen::Lines && (last || self.said.elapsed() > Duration::from_secs(15)) {
                    self.said = Instant::now();
                    self.screen.say(format_args!("{phase}: step {step} of {}, {}", self.steps, self.status(losses)));
                }
                if last {
                    self.bar.finish_and_clear();
                    if self.screen == Screen::Bars && matches!(phase, Phase::Pretrain { .. }) {
                        self.screen.say(format_args!("{phase}: {}", self.status(losses)));
                    }
                }
            }
            Event::Validation { losses, .. } => self.validation = Some(losses),
            Event::EarlyStop { step } => {
                self.bar.finish_and_clear();
                self.screen.say(format_args!("stopped early at step {step}: the validation loss no longer improves"));
            }
        }
        if stop_requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_whatever_their_size() {
        for (value, text) in [
            (0.0, "0.00000"),
            (0.012345, "0.01235"),
            (1e-4, "0.00010"),
            (3.2e-9, "3.200e-9"),
            (-123456.5, "-123456.50000"),
            (3911605570961266e39, "3.912e54"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(number(value, 5), text);
        }
    }

    #[test]
    fn one_is_not_many() {
        assert_eq!([count(1, "row"), count(0, "row"), count(2, "class")], ["1 row", "0 rows", "2 classes"]);
    }
}
