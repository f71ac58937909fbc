//! All experiments at the smoke budget: what they write, that they resume, and what a stop costs.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::path::Path;

use dkae::Error as LibraryError;
use dkae::net::Activation;
use dkae::progress::{Progress, Silent};
use dkae::train::{Event, Observer, Phase, Trainer};
use dkae_paper::data::Set;
use dkae_paper::store::Store;
use dkae_paper::{Budget, Context, Error, Experiment, Plan, Watch, estimate, reproduce};
use serde_json::Value;

/// Counts finished trainings, and stops in the middle of the one after `patience` of them.
struct Counter {
    started: Cell<usize>,
    steps: Cell<usize>,
    patience: usize,
}

impl Counter {
    fn new(patience: usize) -> Self {
        Counter { started: Cell::new(0), steps: Cell::new(0), patience }
    }
}

impl Watch for Counter {
    fn training(&self, _: &str) -> Box<dyn Observer + '_> {
        self.started.set(self.started.get() + 1);
        Box::new(|event: &Event| {
            if let Event::Step { phase, step, .. } = *event {
                self.steps.set(self.steps.get() + 1);
                if self.started.get() > self.patience && phase == Phase::FineTune && step == 20 {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        })
    }

    fn work(&self, _: &str, work: &mut dyn FnMut(&dyn Progress)) {
        work(&Silent);
    }
}

fn context<'a>(cache: &Path, plan: Plan, watch: &'a Counter) -> Context<'a> {
    Context::new(plan, 5, "", Store::open(cache).unwrap(), watch)
}

/// Every number in a document, with its place.
fn numbers(value: &Value, place: String, out: &mut Vec<(String, Option<f64>)>) {
    match value {
        Value::Number(n) => out.push((place, n.as_f64())),
        // JSON has no way to write what is not finite but null.
        Value::Null => out.push((place, None)),
        Value::Array(all) => all.iter().enumerate().for_each(|(i, v)| numbers(v, format!("{place}[{i}]"), out)),
        Value::Object(all) => all.iter().for_each(|(k, v)| numbers(v, format!("{place}.{k}"), out)),
        _ => {}
    }
}

#[test]
fn all_nine_write_their_files_and_a_second_run_trains_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (out, cache) = (folder.path().join("results"), folder.path().join("cache"));
    let plan = Plan::of(Budget::Smoke);
    let watch = Counter::new(usize::MAX);
    let done = reproduce(&context(&cache, plan.clone(), &watch), &out, &Experiment::ALL).unwrap();
    assert!(done.len() == 9 && done.iter().all(|d| !d.kept));
    let wanted = estimate::distinct(Experiment::ALL.iter().flat_map(|e| e.jobs(&plan, 5)).collect()).len();
    // The winners among the candidates are not known before; their trainings, three a seed, may be some of the others, and so
    // may those of the two runners-up.
    let seeds = plan.seeds as usize;
    assert!(
        (wanted - 3 * seeds - 2..=wanted + seeds).contains(&watch.started.get()),
        "{} {wanted}",
        watch.started.get()
    );

    for experiment in Experiment::ALL {
        let name = experiment.name();
        let read = |file: &str| std::fs::read(out.join(name).join(file)).unwrap();
        assert!(read(&format!("{name}.svg")).starts_with(b"<svg"), "{name}");
        assert!(read(&format!("{name}.png")).starts_with(b"\x89PNG"), "{name}");
        let table = String::from_utf8(read("table.md")).unwrap();
        assert!(table.starts_with("## ") && table.contains("paper") && table.contains("\n| --- |"), "{table}");
        assert!(table.contains("Budget smoke") && table.contains("not to be compared"), "{table}");
        assert!(!table.contains("NaN") && !table.contains("inf "), "{table}");
        let results: Value = serde_json::from_slice(&read("results.json")).unwrap();
        assert_eq!((results["experiment"].as_str(), results["seed"].as_u64()), (Some(name), Some(5)));
        for key in ["settings", "versions", "seconds", "numbers", "trainings"] {
            assert!(!results[key].is_null(), "{name}: {key}");
        }
        assert!(!results["trainings"].as_array().unwrap().is_empty(), "{name}");
        let mut found = Vec::new();
        numbers(&results["numbers"], String::new(), &mut found);
        assert!(!found.is_empty(), "{name}");
        for (place, number) in found {
            // Curves that do not cross within the components looked at have no crossing.
            let may_miss = place.starts_with(".crossings");
            assert!(may_miss || number.is_some_and(f64::is_finite), "{name}{place}: {number:?}");
        }
    }

    let again = Counter::new(usize::MAX);
    let done = reproduce(&context(&cache, plan.clone(), &again), &out, &Experiment::ALL).unwrap();
    assert!(done.iter().all(|d| d.kept));
    // A damaged file is not taken for a result.
    std::fs::write(out.join("walk/results.json"), "{").unwrap();
    let done = reproduce(&context(&cache, plan.clone(), &again), &out, &Experiment::ALL).unwrap();
    assert_eq!(done.iter().filter(|d| !d.kept).map(|d| d.experiment.name()).collect::<Vec<_>>(), ["walk"]);
    // Without the results, but with the models: everything is written again, and equal, and nothing is trained.
    let before = std::fs::read(out.join("lambda/table.md")).unwrap();
    std::fs::remove_dir_all(&out).unwrap();
    reproduce(&context(&cache, plan, &again), &out, &Experiment::ALL).unwrap();
    assert_eq!(again.started.get(), 0);
    assert_eq!(std::fs::read(out.join("lambda/table.md")).unwrap(), before);
}

#[test]
fn a_stopped_run_loses_at_most_the_training_under_way() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("results");
    let plan = Plan { lambdas: vec![0.0, 0.1, 0.5], ..Plan::of(Budget::Smoke) };
    let run = |watch: &Counter, cache: &str| {
        reproduce(&context(&folder.path().join(cache), plan.clone(), watch), &out, &[Experiment::Lambda])
    };
    let stopped = Counter::new(1);
    let error = run(&stopped, "a").unwrap_err();
    assert!(matches!(error, Error::Dkae(LibraryError::Interrupted)), "{error}");
    assert_eq!(stopped.started.get(), 2);
    assert!(!out.join("lambda/results.json").exists());

    let rest = Counter::new(usize::MAX);
    run(&rest, "a").unwrap();
    assert_eq!(rest.started.get(), 2);
    let table = std::fs::read(out.join("lambda/table.md")).unwrap();
    std::fs::remove_dir_all(&out).unwrap();
    let whole = Counter::new(usize::MAX);
    run(&whole, "b").unwrap();
    assert_eq!(whole.started.get(), 3);
    // The one that was stopped went on from its checkpoint, so no step was taken twice, and the result is the same.
    assert_eq!(stopped.steps.get() + rest.steps.get(), whole.steps.get());
    assert_eq!(std::fs::read(out.join("lambda/table.md")).unwrap(), table);
}

#[test]
fn another_seed_is_another_result() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("results");
    let watch = Counter::new(usize::MAX);
    let store = || Store::open(folder.path().join("cache")).unwrap();
    let plan = Plan { lambdas: vec![0.1], ..Plan::of(Budget::Smoke) };
    let run = |seed, out: &Path| {
        let context = Context::new(plan.clone(), seed, "", store(), &watch);
        reproduce(&context, out, &[Experiment::Lambda]).unwrap().remove(0).kept
    };
    assert!(!run(1, &out) && !run(2, &out));
    assert_eq!(watch.started.get(), 2);
    // Folders of results that share a cache are told apart.
    let other = folder.path().join("other");
    assert!(!run(1, &other) && run(1, &other) && run(2, &out) && !run(1, &out));
    assert_eq!(watch.started.get(), 2);
}

/// The four sets in the formats and under the names they are published in, but tiny.
fn tiny_data(folder: &Path) {
    let digits = dkae::data::sample::digits();
    let labels = digits.labels.unwrap().index;
    let write = |file: &str, bytes: &[u8]| {
        let path = folder.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    let n = 240u32;
    let pixels = digits.x.iter().take(n as usize * 784).map(|&v| v as u8);
    let header = |kind: u8, sizes: &[u32]| -> Vec<u8> {
        [0, 0, 8, kind].into_iter().chain(sizes.iter().flat_map(|s| s.to_be_bytes())).collect()
    };
    let own = || labels.iter().take(n as usize).map(|&l| l as u8);
    write("mnist/train-images-idx3-ubyte.gz", &header(3, &[n, 28, 28]).into_iter().chain(pixels).collect::<Vec<_>>());
    write("mnist/train-labels-idx1-ubyte.gz", &header(1, &[n]).into_iter().chain(own()).collect::<Vec<_>>());
    for batch in 1..=2usize {
        let record = |i: usize| {
            let class = (i % 10) as u8;
            [class].into_iter().chain((0..3072).map(move |j| (37 * i + j * (i % 10 + 1)) as u8))
        };
        let bytes: Vec<u8> = (0..120).flat_map(|i| record(i + 120 * batch)).collect();
        // Packed or not: names with and without the ending are found.
        write(&format!("cifar10/data_batch_{batch}.bin{}", ["", ".gz"][batch - 1]), &bytes);
    }
    let mut csv = String::from("image,y,x,label,NDAI,SD,CORR,DF,CF,BF,AF,AN\n");
    for i in 0..900 {
        let (image, label) = (i % 3 + 1, [-1, 0, 1][i / 3 % 3]);
        let feature = |j: usize| (i * (j + 3) % 29) as f64 / 10.0 + f64::from(label) * j as f64;
        let features: Vec<String> = (0..8).map(|j| feature(j).to_string()).collect();
        csv += &format!("{image},{i},{i},{label},{}\n", features.join(","));
    }
    write("cloud-misr/misr_arctic_cloud.csv.gz", csv.as_bytes());
    let mut counts = String::new();
    for i in 0..240usize {
        let mut words: Vec<usize> = (0..12).map(|j| 1 + (i % 4) * 10 + (i * 7 + j * 5) % 25).collect();
        words.sort_unstable();
        words.dedup();
        let pairs: Vec<String> = words.iter().map(|w| format!("{w}:{}", 1 + (i + w) % 3)).collect();
        counts += &format!("{} {}\n", i % 4, pairs.join(" "));
    }
    write("reuters-rcv1/rcv1_4root_full.counts.svm.gz", counts.as_bytes());
}

#[test]
fn classify_reads_all_four_sets_and_shows_every_order_of_the_images() {
    let folder = tempfile::tempdir().unwrap();
    tiny_data(folder.path());
    let smoke = Plan::of(Budget::Smoke);
    let plan = Plan {
        embedded: false,
        sets: Plan::of(Budget::Standard).sets,
        take: 240,
        hidden: vec![20],
        code: 10,
        // A few rectified units may all die on such data.
        trainer: Trainer { hidden: Activation::Tanh, ..smoke.trainer.clone() },
        ..smoke
    };
    let watch = Counter::new(usize::MAX);
    let store = Store::open(folder.path().join("cache")).unwrap();
    let context = Context::new(plan, 0, folder.path(), store, &watch);
    let results = dkae_paper::classify::run(&context).unwrap();
    assert_eq!(
        results.columns.iter().map(|c| c.set.name()).collect::<Vec<_>>(),
        ["MNIST", "CLOUD", "CIFAR-10", "REUTERS"]
    );
    assert_eq!(results.orders.len(), 5);
    for column in &results.columns {
        assert_eq!(column.scores.len(), 9, "{}", column.set.name());
        let seeds = if matches!(column.set, Set::Mnist | Set::Reuters) { 2 } else { 1 };
        for scores in column.scores.values() {
            assert_eq!(scores.len(), seeds);
            assert!(scores.iter().all(|s| (0.0..=100.0).contains(&s.test)));
        }
    }
    let table = dkae_paper::report::Results::table(&results).markdown();
    for words in [
        "| SVM |",
        "kSVM, PCK",
        "kSVM, RBF",
        "plain AE codes",
        "cSVM, best in the trial",
        "plain codes of that network",
        "scSVM, best in the trial",
        "What alignment adds to codes",
        "labels, the paper's: lambda 0.1",
        " → ",
        "scSVM",
        "90.60",
        "99.63",
        "42.73",
        "94.17",
        "| 1, 2, 3 |",
        "stand-in",
        "the paper's own set",
        "±",
    ] {
        assert!(table.contains(words), "{words}: {table}");
    }
    dkae_paper::report::Results::figure(&results).unwrap();
}
