//! `dkae classify`: learn classes from training rows, choose settings on validation rows, measure on test rows.
//!
//! Rows are used as they are (prepared by what the training rows ask for), or as codes when a model is given.

use std::path::{Path, PathBuf};

use anyhow::Result;
use dkae::Error;
use dkae::baseline::knn::Knn;
use dkae::baseline::svm::choose::{self, PRICES, Part, Tried};
use dkae::baseline::svm::linear::Hinge;
use dkae::baseline::svm::{KernelSvm, LinearSvm};
use dkae::data::atomic::write_atomically;
use dkae::data::read::{ReadOptions, join, read_many};
use dkae::data::split::Split;
use dkae::data::{Labels, Table};
use dkae::kernel::{Kernel, KernelSpec, Precomputed, Prior};
use dkae::math::check;
use dkae::metrics::{accuracy, confusion};
use dkae::net::Model;
use dkae::progress::Progress;
use dkae::recipe::{Recipe, Source};
use ndarray::{Array2, Axis, s};
use serde_json::{Value, json};

use crate::fit::{about_rows, read_matrix};
use crate::flags::{Classify, HingeKind, KernelFlags, Method};
use crate::idle;
use crate::rows::{Like, classify, encode, load_model, read_like, say_header, shown, table};
use crate::screen::{self, Screen};

/// Prices tried for a kernel machine: smaller and larger ones seldom win and cost the most time.
const KERNEL_PRICES: [f64; 4] = [0.1, 1.0, 10.0, 100.0];
/// Widths of the radial basis functions tried, wide ones first: of equals the first wins.
const WIDTHS: [&str; 3] = ["100%", "50%", "25%"];
/// The share of the training rows that settings are chosen by.
const SHARE: f64 = 0.2;

/// A setting that was tried: in words, for machines, and its accuracy on the validation rows.
struct Trial {
    text: String,
    value: Value,
    accuracy: f64,
}

/// What was tried, what won, and what it says of the test rows.
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

    let (options, by) = (flags.reading.options(), model.as_ref().map(|(path, model)| (*path, model)));
    let (rows, split) = match (&flags.train, &flags.test) {
        (Some(train), Some(test)) => from_files(flags, by, [train, test], options, recipe.seed, screen)?,
        _ => {
            let rows = read_rows(by, &flags.data, &options, screen)?;
            let split = recipe.split(rows.len(), rows.groups.as_deref())?;
            (rows, split)
        }
    };
    let Some(labels) = &rows.labels else {
        let file = flags.data[0].display();
        let message = format!("{file}: the rows have no classes to learn; name their column, or give --labels-file");
        return Err(Error::setting("label", message).into());
    };
    if split.test.is_empty() || split.validation.is_empty() && trials(flags) > 1 {
        return Err(Error::setting("split", "leaves no rows to choose settings by or none to test on").into());
    }
    let numbers = [&split.train, &split.validation, &split.test].map(|part| labels.select(part).index);
    let file = flags.train.as_ref().unwrap_or_else(|| &flags.data[0]);
    if let (Some(&class), true) = (numbers[0].first(), flags.method != Method::Knn)
        && numbers[0].iter().all(|&other| other == class)
    {
        let (file, n, name) = (file.display(), numbers[0].len(), &labels.names[class as usize]);
        let message = format!(
            "{file}: all {n} training rows are of class `{name}`; a support vector machine needs at least two classes"
        );
        return Err(Error::Data(message).into());
    }
    let mut known = vec![false; labels.names.len()];
    numbers[0].iter().for_each(|&class| known[class as usize] = true);
    let strangers = numbers[2].iter().filter(|&&class| !known[class as usize]).count();
    if let Some(&class) = numbers[2].iter().find(|&&class| !known[class as usize]) {
        let (all, name) = (numbers[2].len(), &labels.names[class as usize]);
        screen::warn(format!(
            "{strangers} of {all} test rows are of classes that no training row has, such as `{name}`: they count as wrong"
        ));
    }
    // Numbered as in their file: test rows from a file of their own stand last in the table.
    let before = if flags.test.is_some() { rows.len() - split.test.len() } else { 0 };
    let test_rows: Vec<usize> = split.test.iter().map(|i| i - before).collect();
    let matrix = if by_matrix(flags) { Some(matrix(flags, &rows, &split, screen)?) } else { None };
    let parts = match (&model, &matrix) {
        (_, Some((_, values))) => {
            // The training rows are in the matrix itself.
            let part = |rows: &[usize]| values.select(Axis(0), rows).select(Axis(1), &split.train);
            [Array2::zeros((split.train.len(), 0)), part(&split.validation), part(&split.test)]
        }
        (None, None) => {
            let prepare = |progress: &dyn Progress| recipe.prepare_split(&Source::from(&rows), split, progress);
            screen.watched("preparing the rows", prepare)?.parts
        }
        (Some((_, model)), None) => {
            let [a, b, c] = [split.train, split.validation, split.test].map(|part| {
                if part.is_empty() {
                    return Ok(Array2::zeros((0, model.code_width())));
                }
                encode(model, rows.x.select(Axis(0), &part).view(), screen)
            });
            [a?, b?, c?]
        }
    };
    let [n, m, k] = parts.each_ref().map(|x| x.nrows());
    let what = if matrix.is_some() { "kernel values" } else { "features" };
    screen.say(format_args!("{n} training, {m} validation, {k} test rows of {} {what}", parts[2].ncols()));
    let matrix = matrix.map(|(matrix, _)| matrix);
    let problem = Problem { x: parts, matrix, y: &numbers, names: &labels.names, seed: recipe.seed };
    let outcome = match flags.method {
        Method::Svm => linear(flags, &problem, screen)?,
        Method::KernelSvm => kernel(flags, &problem, screen)?,
        Method::Knn => knn(flags, &problem, screen)?,
    };
    if let Some(path) = &flags.output {
        write_predictions(path, &test_rows, labels, &numbers[2], &outcome.predicted)?;
    }
    report(flags, labels, &numbers[2], &outcome, [n, m, k])
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

/// The kernel matrix of the training rows, and the values of all rows, with a column for each that may be trained on.
fn matrix(flags: &Classify, rows: &Table, split: &Split, screen: Screen) -> Result<(Precomputed, Array2<f32>)> {
    if let Some(path) = &flags.prior {
        let matrix = read_matrix(path, rows.len(), screen)?;
        return Ok((matrix.select(&split.train)?, matrix.matrix().to_owned()));
    }
    let (file, square) = match (&flags.train, &flags.validation) {
        (None, _) => (&flags.data[..], rows.len()),
        (Some(file), None) => (std::slice::from_ref(file), split.train.len() + split.validation.len()),
        (Some(file), Some(_)) => (std::slice::from_ref(file), split.train.len()),
    };
    let given = rows.x.slice(s![..square, ..]).to_owned();
    let checked = screen.watched("checking the kernel matrix", |progress| Precomputed::watched(given, progress));
    let (matrix, warnings) = checked.map_err(|e| about_rows(e.into(), file))?;
    warnings.iter().for_each(|warning| screen::warn(format!("{}: {warning}", file[0].display())));
    Ok((matrix.select(&split.train)?, rows.x.clone()))
}

/// Rows as they are, or prepared by a model.
fn read_rows(
    model: Option<(&Path, &Model)>,
    files: &[PathBuf],
    options: &ReadOptions,
    screen: Screen,
) -> Result<Table> {
    if let Some((path, model)) = model {
        return read_like(&Like::model(path, model), files, options, screen, |x| model.preparation().apply(x));
    }
    let table = screen.reading(|| read_many(files, options))?;
    say_header(&files[0], options.format, table.names.as_deref(), screen)?;
    table.warnings.iter().for_each(screen::warn);
    check::finite(&files[0].display().to_string(), table.x.view())?;
    Ok(table)
}

/// Reads training, validation and test rows from files of their own into one table; classes are matched by name.
fn from_files(
    flags: &Classify,
    model: Option<(&Path, &Model)>,
    [train, test]: [&PathBuf; 2],
    mut options: ReadOptions,
    seed: u64,
    screen: Screen,
) -> Result<(Table, Split)> {
    let mut names: Option<Option<Vec<String>>> = None;
    let mut read_next = |path: &PathBuf| -> Result<Table> {
        let table = read_rows(model, std::slice::from_ref(path), &options, screen)?;
        if table.labels.is_none() {
            let message = format!("{}: the rows have no classes; name their column or --labels-file", path.display());
            return Err(Error::setting("label", message).into());
        }
        // A sparse file of few rows may not mention the last features. What a model prepares has a width of its own.
        if model.is_none() {
            options.width = options.width.or(Some(table.x.ncols()));
        }
        if options.width.is_some_and(|width| width != table.x.ncols()) && model.is_none() {
            let (found, width) = (table.x.ncols(), options.width.unwrap_or(0));
            let message = format!("{}: rows of {found} features, but the training rows have {width}", path.display());
            return Err(Error::Data(message).into());
        }
        match &names {
            None => names = Some(table.names.clone()),
            Some(first) => {
                let (who, width) = (format!("{} has", train.display()), table.x.ncols());
                let like = Like { who, width, names: first.as_deref(), gaps: false, counts: false };
                like.check_names(path, table.names.as_deref())?;
            }
        }
        Ok(table)
    };
    let learn = read_next(train)?;
    let choose = flags.validation.as_ref().map(&mut read_next).transpose()?;
    let measure = read_next(test)?;
    let n = learn.len();
    let mut split = match &choose {
        Some(choose) => Split { train: (0..n).collect(), validation: (n..n + choose.len()).collect(), test: vec![] },
        None => {
            let share = flags.validation_share.unwrap_or(SHARE);
            if !(share > 0.0 && share < 1.0) {
                let message = format!("expected a number between 0 and 1, found {share}");
                return Err(Error::setting("validation-share", message).into());
            }
            Split::random(n, [1.0 - share, share, 0.0], seed)?
        }
    };
    let before = n + choose.as_ref().map_or(0, Table::len);
    split.test = (before..before + measure.len()).collect();
    let tables: Vec<Table> = [Some(learn), choose, Some(measure)].into_iter().flatten().collect();
    Ok((join(tables)?, split))
}

/// What is to be learned: training, validation and test rows, the numbers of their classes, and what these are called.
struct Problem<'a> {
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

fn kernel(flags: &Classify, problem: &Problem, screen: Screen) -> Result<Outcome> {
    if let Some(matrix) = &problem.matrix {
        return precomputed(flags, problem, matrix, screen);
    }
    let name = flags.kernel.as_deref().unwrap_or("rbf");
    let widths = match (name, &flags.rbf_width) {
        ("rbf", None) => WIDTHS.map(|w| Some(w.to_owned())).to_vec(),
        ("rbf", Some(widths)) => widths.iter().cloned().map(Some).collect(),
        _ => vec![None],
    };
    let spec = |rbf_width: &Option<String>| {
        let mut spec = KernelSpec::default();
        let flags = KernelFlags { kernel: Some(name.into()), rbf_width: rbf_width.clone(), ..KernelFlags::default() };
        flags.apply(&mut spec)?;
        Ok(spec.with_seed(problem.seed))
    };
    let specs = widths.iter().map(spec).collect::<Result<Vec<KernelSpec>>>()?;
    let fitted: Vec<Box<dyn Kernel>> = screen.watched("fitting the kernel", |progress| {
        specs.iter().map(|spec| spec.fit_watched(problem.x[0].view(), progress)).collect::<dkae::Result<_>>()
    })?;
    let kernels: Vec<&dyn Kernel> = fitted.iter().map(|k| &**k).collect();
    let (settings, prices) = kernel_settings(flags);
    let (train, validation) = (problem.part(0), problem.part(1));
    let choice = screen.watched("fitting", |p| choose::kernel(&settings, &kernels, &prices, train, validation, p))?;
    let described = |t: &Tried| {
        let width = &widths[t.kernel];
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
    let right = accuracy(truth, &outcome.predicted)?;
    let counts = confusion(truth, &outcome.predicted)?;
    let names: Vec<String> = counts.classes.iter().map(|&c| labels.names[c as usize].clone()).collect();
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
    lines.push(table("true \\ predicted", &names, &names, &counts.counts));
    lines.push(format!("accuracy on {test} test rows: {:.2} %", 100.0 * right));
    if let Some(path) = &flags.output {
        lines.push(format!("wrote {}", path.display()));
    }
    let value = json!({
        "accuracy": right, "best": tried[outcome.best], "tried": tried, "classes": names,
        "confusion": counts.counts.rows().into_iter().map(|r| r.to_vec()).collect::<Vec<_>>(),
        "train": train, "validation": validation, "test": test, "warnings": warnings, "output": flags.output.as_deref().map(shown),
    });
    Ok((lines.join("\n"), value))
}

fn check_output(path: &Path) -> Result<()> {
    if path.extension().is_some_and(|e| e == "csv") {
        return Ok(());
    }
    Err(Error::setting("output", format!("{}: predictions are written as csv; name the file so", path.display()))
        .into())
}

/// One line for each test row: its number (from 0) among all rows read, its class and the prediction.
fn write_predictions(path: &Path, rows: &[usize], labels: &Labels, truth: &[u32], predicted: &[u32]) -> Result<()> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(["row", "class", "predicted"])?;
    for ((row, &class), &guess) in rows.iter().zip(truth).zip(predicted) {
        let name = |i: u32| labels.names[i as usize].as_str();
        writer.write_record([&row.to_string(), name(class), name(guess)])?;
    }
    let bytes = writer.into_inner().map_err(|e| Error::Data(e.to_string()))?;
    Ok(write_atomically(path, |file| file.write_all(&bytes))?)
}
