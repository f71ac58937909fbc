//! `dkae classify`: learn classes from training rows, choose settings on validation rows, measure on test rows.
//!
//! Rows are used as they are (prepared by what the training rows ask for), or as codes when a model is given. Then rows whose
//! class nobody knows may be asked about.

mod rows;

use std::path::Path;

use anyhow::Result;
use dkae::Error;
use dkae::baseline::knn::Knn;
use dkae::baseline::svm::choose::{self, PRICES, Part, Tried};
use dkae::baseline::svm::linear::Hinge;
use dkae::baseline::svm::{KernelSvm, LinearSvm};
use dkae::data::Labels;
use dkae::data::atomic::write_atomically;
use dkae::kernel::{Kernel, KernelSpec, Precomputed, Prior};
use dkae::metrics::{accuracy, confusion};
use dkae::progress::Progress;
use dkae::recipe::Recipe;
use ndarray::Array2;
use serde_json::{Value, json};

use crate::flags::{Classify, HingeKind, KernelFlags, Method};
use crate::idle;
use crate::rows::{classify, load_model, shown, table};
use crate::screen::{self, Screen};
use rows::Given;

/// Prices tried for a kernel machine: smaller and larger ones seldom win and cost the most time.
const KERNEL_PRICES: [f64; 4] = [0.1, 1.0, 10.0, 100.0];
/// Widths of the radial basis functions tried, wide ones first: of equals the first wins.
const WIDTHS: [&str; 3] = ["100%", "50%", "25%"];

/// A setting that was tried: in words, for machines, and its accuracy on the validation rows.
struct Trial {
    text: String,
    value: Value,
    accuracy: f64,
}

/// What was tried, what won, and what it says of the test rows and of those that were asked about.
struct Outcome {
    trials: Vec<Trial>,
    best: usize,
    predicted: Vec<u32>,
    warnings: Vec<String>,
}

pub fn run(flags: &Classify, screen: Screen) -> Result<(String, Value)> {
    refuse_idle(flags)?;
    let data = flags.data.first().or(flags.train.as_ref()).expect("required by the flags");
    let model = flags.model.as_deref().map(|path| load_model(path, data).map(|m| (path, m))).transpose()?;
    // A model's own settings, so that it is not tested on rows it has learned from.
    let mut recipe = match &model {
        None => Recipe::default(),
        Some((path, model)) => match serde_json::from_value(model.about().settings.clone()) {
            Ok(recipe) => recipe,
            Err(_) if flags.train.is_some() => Recipe::default(),
            Err(_) => {
                let message = format!(
                    "{} does not say which rows it learned from; give rows of their own with --train and --test",
                    path.display()
                );
                return Err(Error::setting("model", message).into());
            }
        },
    };
    flags.rows.apply(&mut recipe)?;
    recipe.seed = flags.seed.unwrap_or(recipe.seed);
    recipe.check()?;
    if flags.reading.group.is_some() && (recipe.split_by.is_none() || flags.train.is_some()) {
        return Err(Error::setting("group", idle::NO_SPLIT).into());
    }
    if let Some(path) = &flags.output {
        check_output(path)?;
    }

    let kernels = kernels(flags, recipe.seed)?;
    let by = model.as_ref().map(|(path, model)| (*path, model));
    let given = Given::read(flags, by, &recipe, screen)?;
    let Given { rows, split, numbers: test_rows } = &given;
    let labels = rows.labels.clone().expect("rows without classes are refused as they are read");
    let pointless = split.test.is_empty() && flags.predict.is_none();
    if pointless || split.validation.is_empty() && trials(flags) > 1 {
        let flag = if flags.train.is_some() { "train" } else { "split" };
        return Err(Error::setting(flag, "leaves no rows to choose settings by or none to test on").into());
    }
    if let (Some((path, model)), None) = (&model, &flags.train)
        && model.about().rows != split.train.len()
    {
        let (path, learned, drawn) = (path.display(), model.about().rows, split.train.len());
        screen::warn(format!(
            "{path} was trained on {learned} rows, but {drawn} are drawn to learn from here: with other rows, or another split, \
             than in its fit, test rows may be rows that it was trained on"
        ));
    }
    let numbers = [&split.train, &split.validation, &split.test].map(|part| labels.select(part).index);
    check_classes(flags, flags.train.as_ref().unwrap_or_else(|| &flags.data[0]), &labels, &numbers)?;
    let test_rows = test_rows.clone();
    let (x, matrix) = given.prepare(flags, by, &recipe, screen)?;
    let [n, m, k] = numbers.each_ref().map(Vec::len);
    let what = if matrix.is_some() { "kernel values" } else { "features" };
    screen.say(format_args!("{n} training, {m} validation, {k} test rows of {} {what}", x[2].ncols()));
    let problem = Problem { x, matrix, y: &numbers, names: &labels.names, seed: recipe.seed };
    let outcome = match flags.method {
        Method::Svm => linear(flags, &problem, screen)?,
        Method::KernelSvm => kernel(flags, &kernels, &problem, screen)?,
        Method::Knn => knn(flags, &problem, screen)?,
    };
    let (tested, told) = outcome.predicted.split_at(k);
    match &flags.output {
        Some(path) if flags.predict.is_some() => write_told(path, &labels, told)?,
        Some(path) => write_tested(path, &test_rows, &labels, &numbers[2], tested)?,
        None => {}
    }
    report(flags, &labels, &numbers[2], &outcome, [n, m, k])
}

/// Training rows of one class alone teach nothing; classes that only test rows have are never found.
fn check_classes(flags: &Classify, file: &Path, labels: &Labels, [train, _, test]: &[Vec<u32>; 3]) -> Result<()> {
    if let (Some(&class), true) = (train.first(), flags.method != Method::Knn)
        && train.iter().all(|&other| other == class)
    {
        let (file, n, name) = (file.display(), train.len(), name(labels, class));
        let message = format!(
            "{file}: all {n} training rows are of class `{name}`; a support vector machine needs at least two classes"
        );
        return Err(Error::Data(message).into());
    }
    let mut known = vec![false; labels.names.len()];
    train.iter().for_each(|&class| known[class as usize] = true);
    let strangers: Vec<u32> = test.iter().copied().filter(|&class| !known[class as usize]).collect();
    if let Some(&class) = strangers.first() {
        let (some, all, name) = (strangers.len(), test.len(), name(labels, class));
        screen::warn(format!(
            "{some} of {all} test rows are of classes that no training row has, such as `{name}`: they count as wrong"
        ));
    }
    Ok(())
}

/// Flags that would have no effect, which nobody means.
fn refuse_idle(flags: &Classify) -> Result<()> {
    let (rows, files, coded) = (&flags.rows, flags.train.is_some(), flags.model.is_some());
    let (kernel, matrix) = (flags.method == Method::KernelSvm, by_matrix(flags));
    let rbf = flags.kernel.as_deref().is_none_or(|k| k == "rbf");
    let idle = [
        ("take", rows.preparing.take.is_some() && files, "goes with DATA, not with --train and --test"),
        ("split", rows.split.is_some() && files, "goes with DATA, not with --train and --test"),
        ("split-by", rows.split_by.is_some() && files, "goes with DATA, not with --train and --test"),
        ("prior", flags.prior.is_some() && files, "goes with DATA, not with --train and --test"),
        ("predict", flags.prior.is_some() && flags.predict.is_some(), "--prior has no kernel values of other rows"),
        ("train", files && flags.test.is_none() && flags.predict.is_none(), "goes with --test, --predict or both"),
        ("prior", flags.prior.is_some() && !kernel, "is a setting of --method kernel-svm"),
        ("model", coded && matrix, "a kernel matrix takes the place of codes"),
        ("scale", rows.preparing.scale.is_some() && matrix, "a kernel matrix is taken as it is"),
        ("svd", rows.preparing.svd.is_some() && matrix, "a kernel matrix is taken as it is"),
        ("scale", rows.preparing.scale.is_some() && coded, "a model prepares rows in its own way"),
        ("svd", rows.preparing.svd.is_some() && coded, "a model prepares rows in its own way"),
        ("c", flags.c.is_some() && flags.method == Method::Knn, "is a setting of --method svm and kernel-svm"),
        ("kernel", flags.kernel.is_some() && !kernel, "is a setting of --method kernel-svm"),
        (
            "rbf-width",
            flags.rbf_width.is_some() && !(kernel && rbf && !matrix),
            "is a setting of --method kernel-svm --kernel rbf",
        ),
        ("hinge", flags.hinge.is_some() && flags.method != Method::Svm, "is a setting of --method svm"),
        ("tolerance", flags.tolerance.is_some() && flags.method == Method::Knn, "is no setting of --method knn"),
        (
            "max-iterations",
            flags.max_iterations.is_some() && flags.method == Method::Knn,
            "is no setting of --method knn",
        ),
        ("neighbours", flags.neighbours.is_some() && flags.method != Method::Knn, "is a setting of --method knn"),
    ];
    match idle.into_iter().find(|(_, given, _)| *given) {
        Some((flag, _, why)) => Err(Error::setting(flag, why).into()),
        None => Ok(()),
    }
}

/// How many settings are tried, by what was given.
fn trials(flags: &Classify) -> usize {
    match flags.method {
        Method::Knn => flags.neighbours.as_ref().map_or(1, Vec::len),
        _ => 2,
    }
}

/// Whether the kernel is a matrix that is brought along.
fn by_matrix(flags: &Classify) -> bool {
    flags.prior.is_some() || flags.method == Method::KernelSvm && flags.kernel.as_deref() == Some("precomputed")
}

/// What is to be learned: training, validation and test rows, the numbers of their classes, and what these are called.
struct Problem<'a> {
    /// After the test rows come those whose class is asked for.
    x: [Array2<f32>; 3],
    /// The kernel matrix of the training rows, when it was given; the others are kernel values to them then.
    matrix: Option<Precomputed>,
    y: &'a [Vec<u32>; 3],
    names: &'a [String],
    seed: u64,
}

impl Problem<'_> {
    fn part(&self, i: usize) -> Part<'_> {
        Part { x: self.x[i].view(), labels: &self.y[i] }
    }

    fn name(&self, class: u32) -> String {
        self.names[class as usize].clone()
    }
}

fn linear(flags: &Classify, problem: &Problem, screen: Screen) -> Result<Outcome> {
    let prices = flags.c.clone().unwrap_or(PRICES.to_vec());
    let usual = LinearSvm::default();
    let settings = LinearSvm {
        loss: if flags.hinge == Some(HingeKind::Linear) { Hinge::L1 } else { Hinge::L2 },
        tolerance: flags.tolerance.unwrap_or(usual.tolerance),
        max_iterations: flags.max_iterations.unwrap_or(usual.max_iterations),
        seed: problem.seed,
        ..usual
    };
    let (train, validation) = (problem.part(0), problem.part(1));
    let choice = screen.watched("fitting", |p| choose::linear(&settings, &prices, train, validation, p))?;
    Ok(Outcome {
        best: place(&choice.tried, &choice.best),
        trials: choice.tried.iter().map(|t| trial(t, "", json!({}))).collect(),
        predicted: classify(&choice.model, problem.x[2].view(), screen)?,
        warnings: choice.model.warnings(|class| problem.name(class)),
    })
}

/// A kernel machine on a matrix.
fn precomputed(flags: &Classify, problem: &Problem, matrix: &Precomputed, screen: Screen) -> Result<Outcome> {
    let (settings, prices) = kernel_settings(flags);
    let train = (matrix as &dyn Prior, &problem.y[0][..]);
    let choose = |p: &dyn Progress| choose::precomputed(&settings, &prices, train, problem.part(1), p);
    let choice = screen.watched("fitting", choose)?;
    let described = |t: &Tried| trial(t, "", json!({ "kernel": KernelSpec::Precomputed.describe() }));
    Ok(Outcome {
        best: place(&choice.tried, &choice.best),
        trials: choice.tried.iter().map(described).collect(),
        predicted: classify(&choice.model, problem.x[2].view(), screen)?,
        warnings: choice.model.support.warnings(|class| problem.name(class)),
    })
}

/// The settings of a kernel machine, and the prices to try.
fn kernel_settings(flags: &Classify) -> (KernelSvm, Vec<f64>) {
    let usual = KernelSvm::default();
    let settings = KernelSvm {
        tolerance: flags.tolerance.unwrap_or(usual.tolerance),
        max_iterations: flags.max_iterations.unwrap_or(usual.max_iterations),
        ..usual
    };
    (settings, flags.c.clone().unwrap_or(KERNEL_PRICES.to_vec()))
}

/// The kernels to try, each with its width as it was given.
fn kernels(flags: &Classify, seed: u64) -> Result<Vec<(KernelSpec, Option<String>)>> {
    if flags.method != Method::KernelSvm || by_matrix(flags) {
        return Ok(Vec::new());
    }
    let name = kernel_name(flags);
    let widths = match (name, &flags.rbf_width) {
        ("rbf", None) => WIDTHS.map(|w| Some(w.to_owned())).to_vec(),
        ("rbf", Some(widths)) => widths.iter().cloned().map(Some).collect(),
        _ => vec![None],
    };
    let spec = |rbf_width: Option<String>| {
        let mut spec = KernelSpec::default();
        let flags = KernelFlags { kernel: Some(name.into()), rbf_width: rbf_width.clone(), ..KernelFlags::default() };
        flags.apply(&mut spec)?;
        spec.check()?;
        if spec == KernelSpec::Ideal {
            let message = "the ideal kernel is made of the classes that are to be found; give another";
            return Err(Error::setting("kernel", message).into());
        }
        Ok((spec.with_seed(seed), rbf_width))
    };
    widths.into_iter().map(spec).collect()
}

fn kernel_name(flags: &Classify) -> &str {
    flags.kernel.as_deref().unwrap_or("rbf")
}

fn kernel(
    flags: &Classify,
    specs: &[(KernelSpec, Option<String>)],
    problem: &Problem,
    screen: Screen,
) -> Result<Outcome> {
    if let Some(matrix) = &problem.matrix {
        return precomputed(flags, problem, matrix, screen);
    }
    let fitted: Vec<Box<dyn Kernel>> = screen.watched("fitting the kernel", |progress| {
        specs.iter().map(|(spec, _)| spec.fit_watched(problem.x[0].view(), progress)).collect::<dkae::Result<_>>()
    })?;
    let kernels: Vec<&dyn Kernel> = fitted.iter().map(|k| &**k).collect();
    let (settings, prices) = kernel_settings(flags);
    let (train, validation) = (problem.part(0), problem.part(1));
    let choice = screen.watched("fitting", |p| choose::kernel(&settings, &kernels, &prices, train, validation, p))?;
    let described = |t: &Tried| {
        let (name, width) = (kernel_name(flags), &specs[t.kernel].1);
        let words = width.as_ref().map_or(format!(", {name}"), |w| format!(", {name} of width {w}"));
        trial(t, &words, json!({ "kernel": kernels[t.kernel].describe(), "rbf_width": width }))
    };
    Ok(Outcome {
        best: place(&choice.tried, &choice.best),
        trials: choice.tried.iter().map(described).collect(),
        predicted: classify(&choice.model, problem.x[2].view(), screen)?,
        warnings: choice.model.support.warnings(|class| problem.name(class)),
    })
}

fn knn(flags: &Classify, Problem { x, y, .. }: &Problem, screen: Screen) -> Result<Outcome> {
    let counts = flags.neighbours.clone().unwrap_or(vec![1]);
    let mut trials: Vec<Trial> = Vec::new();
    for &k in &counts {
        let fitted = Knn { k }.fit(x[0].view(), &y[0])?;
        let accuracy = match y[1].is_empty() {
            true => f64::NAN,
            false => accuracy(&y[1], &classify(&fitted, x[1].view(), screen)?)?,
        };
        trials.push(Trial { text: format!("k {k}"), value: json!({ "neighbours": k }), accuracy });
    }
    // Of equals the first.
    let best = (1..trials.len()).fold(0, |b, i| if trials[i].accuracy > trials[b].accuracy { i } else { b });
    let fitted = Knn { k: counts[best] }.fit(x[0].view(), &y[0])?;
    Ok(Outcome { trials, best, predicted: classify(&fitted, x[2].view(), screen)?, warnings: Vec::new() })
}

fn place(tried: &[Tried], best: &Tried) -> usize {
    tried.iter().position(|t| (t.c, t.kernel) == (best.c, best.kernel)).unwrap_or(0)
}

fn trial(tried: &Tried, more: &str, mut value: Value) -> Trial {
    value["c"] = json!(tried.c);
    value["converged"] = json!(tried.converged);
    let rest = if tried.converged { "" } else { ", not converged" };
    Trial { text: format!("C {}{more}{rest}", tried.c), value, accuracy: tried.accuracy }
}

/// What people and machines get.
fn report(
    flags: &Classify,
    labels: &Labels,
    truth: &[u32],
    outcome: &Outcome,
    [train, validation, test]: [usize; 3],
) -> Result<(String, Value)> {
    let (tested, told) = outcome.predicted.split_at(truth.len());
    let warnings: Vec<String> = outcome.warnings.iter().map(|warning| crate::advice(warning)).collect();
    warnings.iter().for_each(screen::warn);
    let mut lines = vec!["accuracy on the validation rows (* is the one used)".to_owned()];
    let mut tried = Vec::new();
    for (i, trial) in outcome.trials.iter().enumerate() {
        let mark = if i == outcome.best { '*' } else { ' ' };
        if trial.accuracy.is_nan() {
            lines.push(format!("{mark}        -  {}", trial.text));
        } else {
            lines.push(format!("{mark} {:6.2} %  {}", 100.0 * trial.accuracy, trial.text));
        }
        let mut value = trial.value.clone();
        value["accuracy"] = json!(trial.accuracy);
        tried.push(value);
    }
    let mut value = json!({
        "best": tried[outcome.best], "tried": tried, "train": train, "validation": validation, "test": test,
        "predicted": told.len(), "warnings": warnings, "output": flags.output.as_deref().map(shown),
    });
    if !truth.is_empty() {
        let (right, counts) = (accuracy(truth, tested)?, confusion(truth, tested)?);
        let names: Vec<String> = counts.classes.iter().map(|&c| labels.names[c as usize].clone()).collect();
        lines.push(table("true \\ predicted", &names, &names, &counts.counts));
        lines.push(format!("accuracy on {test} test rows: {:.2} %", 100.0 * right));
        value["accuracy"] = json!(right);
        value["classes"] = json!(names);
        value["confusion"] = json!(counts.counts.rows().into_iter().map(|r| r.to_vec()).collect::<Vec<_>>());
    }
    match (&flags.output, told.len()) {
        (Some(path), 0) => lines.push(format!("wrote {}", path.display())),
        (Some(path), rows) => lines.push(format!("wrote the classes of {rows} rows to {}", path.display())),
        (None, _) => {}
    }
    Ok((lines.join("\n"), value))
}

/// A wrong name is found out before the work rather than after it.
fn check_output(path: &Path) -> Result<()> {
    if path.extension().is_some_and(|e| e == "csv") {
        dkae::data::stream::create(path, 1, None)?;
        return Ok(());
    }
    Err(Error::setting("output", format!("{}: predictions are written as csv; name the file so", path.display()))
        .into())
}

/// One line for each row that was asked about: its number (from 0) in its file, and the prediction.
fn write_told(path: &Path, labels: &Labels, told: &[u32]) -> Result<()> {
    let lines = told.iter().enumerate().map(|(row, &guess)| vec![row.to_string(), name(labels, guess)]);
    write_lines(path, &["row", "predicted"], lines)
}

/// One line for each test row: its number (from 0) among all rows read, its class and the prediction.
fn write_tested(path: &Path, rows: &[usize], labels: &Labels, truth: &[u32], predicted: &[u32]) -> Result<()> {
    let lines = rows.iter().zip(truth).zip(predicted);
    let lines = lines.map(|((row, &class), &guess)| vec![row.to_string(), name(labels, class), name(labels, guess)]);
    write_lines(path, &["row", "class", "predicted"], lines)
}

fn write_lines(path: &Path, head: &[&str], lines: impl Iterator<Item = Vec<String>>) -> Result<()> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(head)?;
    lines.into_iter().try_for_each(|line| writer.write_record(line))?;
    let bytes = writer.into_inner().map_err(|e| Error::Data(e.to_string()))?;
    Ok(write_atomically(path, |file| file.write_all(&bytes))?)
}

fn name(labels: &Labels, class: u32) -> String {
    labels.names[class as usize].clone()
}
