//! The whole job, from raw rows to a fitted model and its figures: split, prepare, fit the kernel, train, measure.
//!
//! The command and the Python package both stand on this, so that a model means the same wherever it was made.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ndarray::{Array2, Axis};
use serde::{Deserialize, Serialize};

use crate::data::prepare::Preparation;
use crate::data::scale::Scale;
use crate::data::sparse::{Csr, DENSE_LIMIT, SparseTable};
use crate::data::split::{Split, check_fractions, check_groups};
use crate::data::svd::Svd;
use crate::data::tfidf::TfIdf;
use crate::data::{Labels, Shape, Table};
use crate::kernel::{FirstRows, Ideal, Kernel, KernelSpec, Precomputed, Prior};
use crate::net::Model;
use crate::progress::{Progress, Silent};
use crate::train::{Checkpoint, Losses, Observer, Rows, Trainer, evaluate};
use crate::{Error, Result, metrics, written};

/// Rows of a part that figures are measured on; L_c costs the square of it.
const MEASURED: usize = 4000;

/// Everything that decides a model, but for the rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Recipe {
    /// Seed of everything random: the split, the kernel's starts, weights and batches, whose own seeds it replaces. Default 7.
    pub seed: u64,
    /// Draw this many rows and use only those. Default all.
    pub take: Option<usize>,
    /// Shares of training, validation and test rows. Default 0.7, 0.15, 0.15.
    pub split: [f64; 3],
    /// Groups for training, validation and test, instead of shares. Default none.
    #[serde(deserialize_with = "written::three_words")]
    pub split_by: Option<[String; 3]>,
    /// For word counts: TF-IDF, then a truncated SVD to this many dimensions. Default none.
    pub svd: Option<usize>,
    /// Scaling of the features. Default by the data.
    pub scale: Scale,
    /// The kernel that codes are aligned with. Default the probabilistic cluster kernel.
    pub kernel: KernelSpec,
    /// The network and its training.
    pub train: Trainer,
}

impl Default for Recipe {
    fn default() -> Self {
        Recipe {
            seed: 7,
            take: None,
            split: [0.70, 0.15, 0.15],
            split_by: None,
            svd: None,
            scale: Scale::Auto,
            kernel: KernelSpec::default(),
            train: Trainer::default(),
        }
    }
}

/// Raw rows, dense or sparse, and what is known about them.
pub struct Source<'a> {
    /// The rows.
    pub x: RawRows<'a>,
    /// Their classes.
    pub labels: Option<&'a Labels>,
    /// Their groups.
    pub groups: Option<&'a [String]>,
    /// The names of their features.
    pub names: Option<&'a [String]>,
    /// What a row is.
    pub shape: Shape,
    /// Their numbers in the file, where rows were left out.
    pub numbers: Option<&'a [usize]>,
}

/// Raw rows.
pub enum RawRows<'a> {
    /// All values.
    Dense(&'a Array2<f32>),
    /// Non-zero values only: word counts.
    Sparse(&'a Csr),
}

impl<'a> From<&'a Table> for Source<'a> {
    fn from(table: &'a Table) -> Self {
        Source {
            x: RawRows::Dense(&table.x),
            labels: table.labels.as_ref(),
            groups: table.groups.as_deref(),
            names: table.names.as_deref(),
            shape: table.shape,
            numbers: table.numbers.as_deref(),
        }
    }
}

impl<'a> From<&'a SparseTable> for Source<'a> {
    fn from(table: &'a SparseTable) -> Self {
        Source {
            x: RawRows::Sparse(&table.x),
            labels: table.labels.as_ref(),
            groups: None,
            names: None,
            shape: Shape::Vector,
            numbers: table.numbers.as_deref(),
        }
    }
}

impl RawRows<'_> {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            RawRows::Dense(x) => x.nrows(),
            RawRows::Sparse(x) => x.nrows(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many features each has.
    pub fn width(&self) -> usize {
        match self {
            RawRows::Dense(x) => x.ncols(),
            RawRows::Sparse(x) => x.ncols(),
        }
    }
}

/// Rows split and prepared: what the kernel and the trainer see.
pub struct Prepared {
    /// Which rows are in which part.
    pub split: Split,
    /// Training, validation and test rows.
    pub parts: [Array2<f32>; 3],
    /// Their classes.
    pub labels: Option<[Labels; 3]>,
    /// How they were prepared.
    pub preparation: Preparation,
}

impl Prepared {
    /// The parts of `split`, prepared by maps that were fitted before: a model's own.
    pub fn by(preparation: &Preparation, source: &Source, split: Split) -> Result<Prepared> {
        let rows = [&split.train, &split.validation, &split.test];
        let [a, b, c] = rows.map(|rows| match &source.x {
            RawRows::Dense(x) => preparation.apply(x.select(Axis(0), rows).view()),
            RawRows::Sparse(x) => preparation.apply_sparse(&x.select(rows)),
        });
        let labels = source.labels.map(|labels| rows.map(|rows| labels.select(rows)));
        Ok(Prepared { parts: [a?, b?, c?], labels, preparation: preparation.clone(), split })
    }
}

/// A kernel fitted on the training part, able to make the prior of each part.
pub enum FittedKernel {
    /// A kernel that applies to any rows.
    Kernel(Box<dyn Kernel>),
    /// The classes themselves.
    Ideal,
    /// A matrix that was given, over the raw rows.
    Matrix(Precomputed),
    /// No alignment is asked for.
    None,
}

impl FittedKernel {
    /// The priors of the training, validation and test rows; none when there is no kernel.
    pub fn priors<'a>(
        &'a self,
        prepared: &'a Prepared,
        progress: &dyn Progress,
    ) -> Result<Option<[Box<dyn Prior + 'a>; 3]>> {
        let Prepared { split, parts, labels, .. } = prepared;
        let [a, b, c]: [Result<Box<dyn Prior>>; 3] = match self {
            FittedKernel::None => return Ok(None),
            FittedKernel::Kernel(kernel) => parts.each_ref().map(|x| kernel.prior_watched(x.view(), progress)),
            FittedKernel::Ideal => {
                let labels = labels.as_ref().ok_or_else(labels_missing)?;
                labels.each_ref().map(|labels| Ok(Box::new(Ideal::new(&labels.index)) as _))
            }
            FittedKernel::Matrix(matrix) => {
                [&split.train, &split.validation, &split.test].map(|rows| Ok(Box::new(matrix.select(rows)?) as _))
            }
        };
        Ok(Some([a?, b?, c?]))
    }

    /// One line for people.
    pub fn describe(&self) -> String {
        match self {
            FittedKernel::Kernel(kernel) => kernel.describe(),
            FittedKernel::Ideal => "ideal kernel of the labels".into(),
            FittedKernel::Matrix(matrix) => format!("a given matrix of {} rows", matrix.len()),
            FittedKernel::None => "none".into(),
        }
    }
}

fn labels_missing() -> Error {
    Error::setting("kernel", "the ideal kernel is made of labels, and the rows have none; give a label column or file")
}

impl Recipe {
    /// All that can be wrong with the settings by themselves: to be found out before anything is read or computed.
    pub fn check(&self) -> Result<()> {
        check_fractions(self.split)?;
        if let Some(groups) = &self.split_by {
            check_groups(groups.each_ref().map(String::as_str))?;
        }
        for (name, count) in [("take", self.take), ("svd", self.svd)] {
            if count == Some(0) {
                return Err(Error::setting(name, "expected at least 1, found 0"));
            }
        }
        self.kernel.check()?;
        self.train.check()
    }

    /// Splits and prepares rows; everything is fitted on the training part.
    pub fn prepare(&self, source: &Source, progress: &dyn Progress) -> Result<Prepared> {
        self.prepare_split(source, self.split(source.x.len(), source.groups)?, progress)
    }

    /// Which of `n` rows are for training, validation and test.
    pub fn split(&self, n: usize, groups: Option<&[String]>) -> Result<Split> {
        match (&self.split_by, groups) {
            (None, _) => Split::random_of(n, self.take.unwrap_or(n), self.split, self.seed),
            (Some(_), None) => {
                Err(Error::setting("split-by", "needs a column that says the group of each row: give group"))
            }
            (Some([train, validation, test]), Some(groups)) => {
                let split = Split::by_group(groups, train, validation, test)?;
                match self.take {
                    None => Ok(split),
                    Some(take) => split.take(self.split.map(|share| (share * take as f64).round() as usize), self.seed),
                }
            }
        }
    }

    /// As [`prepare`](Self::prepare), for rows that are split already.
    pub fn prepare_split(&self, source: &Source, split: Split, progress: &dyn Progress) -> Result<Prepared> {
        let rows = [&split.train, &split.validation, &split.test];
        let labels = source.labels.map(|labels| rows.map(|rows| labels.select(rows)));
        let (parts, preparation) = match (&source.x, self.svd) {
            (RawRows::Dense(x), None) => {
                let raw = rows.map(|rows| x.select(Axis(0), rows));
                let scaler = self.scale.fit(raw[0].view(), source.shape)?;
                let preparation = Preparation { text: None, scaler };
                if preparation.is_none() {
                    (raw, preparation)
                } else {
                    // One part at a time, so that raw and scaled rows are not both whole in memory.
                    let [a, b, c] = raw.map(|part| preparation.apply(part.view()));
                    ([a?, b?, c?], preparation)
                }
            }
            (RawRows::Sparse(x), None) => {
                // The command makes rows dense as it reads them, within a limit of the user's; these come from a program.
                let [a, b, c] = rows.map(|rows| x.select(rows).to_dense(DENSE_LIMIT));
                let (a, b, c) = (a?, b?, c?);
                let scaler = self.scale.fit(a.view(), source.shape)?;
                let preparation = Preparation { text: None, scaler };
                let [a, b, c] = [a, b, c].map(|part| preparation.apply(part.view()));
                ([a?, b?, c?], preparation)
            }
            (x, Some(components)) => {
                let sparse = match x {
                    RawRows::Sparse(x) => Cow::Borrowed(*x),
                    RawRows::Dense(x) => Cow::Owned(Csr::from_dense(x.view())),
                };
                let raw = rows.map(|rows| sparse.select(rows));
                let tfidf = TfIdf::fit(&raw[0])?;
                let weights = tfidf.transform(&raw[0])?;
                let svd = Svd { components, seed: self.seed }.fit_watched(&weights, progress)?;
                let scaler = self.scale.fit(svd.transform(&weights)?.view(), Shape::Vector)?;
                let preparation = Preparation { text: Some((tfidf, svd)), scaler };
                let [a, b, c] = raw.map(|part| preparation.apply_sparse(&part));
                ([a?, b?, c?], preparation)
            }
        };
        Ok(Prepared { split, parts, labels, preparation })
    }

    /// The same recipe with its seed wherever one is used.
    pub fn seeded(&self) -> Self {
        Recipe {
            kernel: self.kernel.clone().with_seed(self.seed),
            train: Trainer { seed: self.seed, ..self.train.clone() },
            ..self.clone()
        }
    }

    /// Fits the kernel on the training rows. `matrix` is a given kernel matrix of all raw rows, which then is the kernel.
    pub fn kernel(
        &self,
        prepared: &Prepared,
        matrix: Option<Precomputed>,
        progress: &dyn Progress,
    ) -> Result<FittedKernel> {
        if self.train.lambda == 0.0 {
            return Ok(FittedKernel::None);
        }
        if let Some(matrix) = matrix {
            let Split { train, validation, test } = &prepared.split;
            let last = [train, validation, test].into_iter().flatten().max().copied().unwrap_or(0);
            if matrix.len() <= last {
                let message = format!("has {} rows, but row {} of the data is used", matrix.len(), last + 1);
                return Err(Error::setting("prior", message));
            }
            return Ok(FittedKernel::Matrix(matrix));
        }
        if self.kernel == KernelSpec::Precomputed {
            return Err(Error::setting("kernel", "a precomputed kernel needs its matrix: give prior"));
        }
        if self.kernel == KernelSpec::Ideal {
            return if prepared.labels.is_some() { Ok(FittedKernel::Ideal) } else { Err(labels_missing()) };
        }
        Ok(FittedKernel::Kernel(self.seeded().kernel.fit_watched(prepared.parts[0].view(), progress)?))
    }

    /// Refuses the checkpoint of another run. That is found out in training, too, but only when the kernel is fitted, which may
    /// take long. `matrix` says whether a kernel matrix is given.
    pub fn check_checkpoint(&self, prepared: &Prepared, matrix: bool, checkpoint: &Checkpoint) -> Result<()> {
        let mut recipe = self.described();
        if let (Some(table), true) = (recipe.as_object_mut(), matrix || self.train.lambda == 0.0) {
            table.remove("kernel");
        }
        let [train, validation, _] = prepared.parts.each_ref().map(|x| x.view());
        let validation = (validation.nrows() > 0).then_some(validation);
        checkpoint.with_recipe(recipe).check(&self.seeded().train, train, validation)
    }

    /// Every setting, as model files and checkpoints have them.
    fn described(&self) -> serde_json::Value {
        serde_json::to_value(self.seeded()).expect("settings are plain data")
    }

    /// Trains, and measures the model on every part.
    pub fn train(
        &self,
        source: &Source,
        prepared: &Prepared,
        kernel: &FittedKernel,
        priors: Option<&[Box<dyn Prior + '_>; 3]>,
        checkpoint: Option<&Checkpoint>,
        observer: &mut dyn Observer,
    ) -> Result<Model> {
        let rows = |i: usize| Rows { x: prepared.parts[i].view(), prior: priors.map(|p| &*p[i]) };
        let validation = (prepared.parts[1].nrows() > 0).then(|| rows(1));
        let trainer = self.seeded().train;
        let checkpoint = checkpoint.map(|checkpoint| checkpoint.with_recipe(self.described()));
        let mut model = trainer.fit_validated(rows(0), validation, checkpoint.as_ref(), observer)?;
        let figures = measure(&model, prepared, priors)?;
        let about = model.about_mut();
        about.settings = self.described();
        about.kernel = kernel.describe();
        about.shape = source.shape;
        about.names = source.names.map(<[String]>::to_vec);
        about.figures = figures;
        Ok(model.with_preparation(prepared.preparation.clone()))
    }
}

/// Both losses on each part, and with labels how far the codes' kernel and the prior are from the ideal one on the test
/// part; on at most the first 4000 rows of each.
pub fn measure(
    model: &Model,
    prepared: &Prepared,
    priors: Option<&[Box<dyn Prior + '_>; 3]>,
) -> Result<BTreeMap<String, f64>> {
    let mut figures = BTreeMap::new();
    for (i, part) in ["train", "validation", "test"].into_iter().enumerate() {
        let x = &prepared.parts[i];
        if x.nrows() == 0 {
            continue;
        }
        let x = x.slice(ndarray::s![..x.nrows().min(MEASURED), ..]);
        let Losses { reconstruction, code } = evaluate(model.net(), Rows { x, prior: priors.map(|p| &*p[i]) })?;
        figures.insert(format!("{part}.reconstruction"), f64::from(reconstruction));
        if priors.is_some() {
            figures.insert(format!("{part}.code"), f64::from(code));
        }
        if part == "test"
            && let Some(labels) = &prepared.labels
        {
            let ideal = Ideal::new(&labels[i].index[..x.nrows()]);
            let codes = model.net().encode(x)?;
            let codes_to_ideal = metrics::alignment_with_codes(&ideal, codes.view(), &Silent)?;
            figures.insert("test.codes-to-ideal".into(), metrics::code_loss(codes_to_ideal));
            if let Some(priors) = priors {
                let prior = FirstRows { prior: &*priors[i], rows: x.nrows() };
                let prior_to_ideal = metrics::alignment_of_priors(&prior, &ideal, &Silent)?;
                figures.insert("test.prior-to-ideal".into(), metrics::code_loss(prior_to_ideal));
            }
        }
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Pck;
    use crate::net::Activation;
    use crate::train::{Batches, Event, Length, Schedule};
    use std::ops::ControlFlow;

    /// Forty rows of two classes and four groups.
    fn table() -> Table {
        let x = Array2::from_shape_fn((40, 5), |(i, j)| {
            (if (i + j) % 2 == 0 { 3.0 } else { 0.0 }) + ((i * 7 + j * 3) % 11) as f32 / 10.0
        });
        let labels = Labels { index: (0..40).map(|i| i % 2).collect(), names: vec!["a".into(), "b".into()] };
        let groups = (0..40).map(|i| format!("g{}", i % 4)).collect();
        Table { x, labels: Some(labels), groups: Some(groups), ..Table::default() }
    }

    fn quick() -> Recipe {
        Recipe {
            kernel: KernelSpec::Pck(Pck { restarts: 2, max_components: 3, ..Pck::default() }),
            train: Trainer {
                layers: vec![4, 2],
                pretrain: Some(Length::Steps(3)),
                steps: Length::Steps(6),
                ..Trainer::default()
            },
            ..Recipe::default()
        }
    }

    fn fitted(recipe: &Recipe, table: &Table) -> Model {
        let source = Source::from(table);
        let prepared = recipe.prepare(&source, &Silent).unwrap();
        let kernel = recipe.kernel(&prepared, None, &Silent).unwrap();
        let priors = kernel.priors(&prepared, &Silent).unwrap();
        recipe.train(&source, &prepared, &kernel, priors.as_ref(), None, &mut ()).unwrap()
    }

    #[test]
    fn parts_are_as_large_as_asked_and_scaled_by_the_training_part() {
        let table = table();
        let recipe = Recipe { scale: Scale::Standard, take: Some(20), ..quick() };
        let prepared = recipe.prepare(&Source::from(&table), &Silent).unwrap();
        assert_eq!(prepared.parts.each_ref().map(|x| x.nrows()), [14, 3, 3]);
        let train = table.select(&prepared.split.train);
        let scaler = Scale::Standard.fit(train.x.view(), table.shape).unwrap();
        assert_eq!(prepared.preparation.scaler, scaler);
        let test = table.select(&prepared.split.test);
        assert_eq!(prepared.parts[2], scaler.apply(test.x.view()).unwrap());
        assert_eq!(prepared.labels.unwrap()[2], test.labels.unwrap());
    }

    #[test]
    fn word_counts_are_weighed_and_reduced_by_the_training_part_alone() {
        let table = Table { x: table().x.mapv(f32::round), ..table() };
        let recipe = Recipe { svd: Some(2), scale: Scale::Standard, ..quick() };
        let prepared = |table: &Table| recipe.prepare(&Source::from(table), &Silent).unwrap();
        let before = prepared(&table);
        // Another word in every document of some part.
        let with_changed = |rows: &[usize]| {
            let mut x = table.x.clone();
            rows.iter().for_each(|&i| x[[i, 0]] = if x[[i, 0]] > 0.0 { 0.0 } else { 9.0 });
            prepared(&Table { x, ..table.clone() })
        };
        for held_out in [&before.split.validation, &before.split.test] {
            let after = with_changed(held_out);
            assert_eq!(after.preparation, before.preparation);
            assert_eq!(after.parts[0], before.parts[0]);
            assert_ne!(after.parts, before.parts);
        }
        assert_ne!(with_changed(&before.split.train[..1]).preparation, before.preparation);
    }

    #[test]
    fn groups_decide_the_parts_when_asked_to() {
        let table = table();
        let recipe = Recipe { split_by: Some(["g2", "g0", "g1"].map(String::from)), ..quick() };
        let split = recipe.prepare(&Source::from(&table), &Silent).unwrap().split;
        assert!(split.train.iter().all(|i| i % 4 == 2) && split.test.iter().all(|i| i % 4 == 1));
        assert_eq!([split.train.len(), split.validation.len(), split.test.len()], [10, 10, 10]);
        let without = Table { groups: None, ..table };
        let message = recipe.prepare(&Source::from(&without), &Silent).err().unwrap().to_string();
        assert!(message.contains("split-by"), "{message}");
    }

    #[test]
    fn another_recipes_checkpoint_is_refused_by_name_before_the_kernel_is_fitted() {
        let folder = tempfile::tempdir().unwrap();
        let (table, recipe) = (table(), quick());
        let source = Source::from(&table);
        let checkpoint = Checkpoint::new(folder.path().join("m.checkpoint"), 1000);
        let prepared = recipe.prepare(&source, &Silent).unwrap();
        recipe.check_checkpoint(&prepared, false, &checkpoint).unwrap();
        let kernel = recipe.kernel(&prepared, None, &Silent).unwrap();
        let priors = kernel.priors(&prepared, &Silent).unwrap();
        let mut stop = |event: &Event| match event {
            Event::Step { step: 2, .. } => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let stopped = recipe.train(&source, &prepared, &kernel, priors.as_ref(), Some(&checkpoint), &mut stop);
        assert!(matches!(stopped, Err(Error::Interrupted)));

        let check = |recipe: &Recipe, matrix: bool| {
            let prepared = recipe.prepare(&source, &Silent).unwrap();
            recipe.check_checkpoint(&prepared, matrix, &checkpoint).map_err(|e| e.to_string())
        };
        check(&recipe, false).unwrap();
        let pck = |restarts| KernelSpec::Pck(Pck { restarts, max_components: 3, ..Pck::default() });
        let train = Trainer { steps: Length::Steps(7), ..recipe.train.clone() };
        for (other, words) in [
            (Recipe { take: Some(30), ..quick() }, "take none, and this one has 30"),
            (Recipe { scale: Scale::None, ..quick() }, "scale auto, and this one has none"),
            (Recipe { kernel: pck(4), ..quick() }, "restarts 2, and this one has 4"),
            (Recipe { kernel: KernelSpec::Linear, ..quick() }, "kernel pck, and this one has linear"),
            (Recipe { train, ..quick() }, "steps 6, and this one has 7"),
        ] {
            let message = check(&other, false).unwrap_err();
            assert!(message.contains(words) && message.contains("remove it to start over"), "{message}");
        }
        // Neither what these rows are scaled by anyway nor a kernel that a matrix stands in for makes a difference.
        check(&Recipe { scale: Scale::Standard, ..quick() }, false).unwrap();
        check(&Recipe { kernel: pck(4), ..quick() }, true).unwrap();
    }

    #[test]
    fn one_seed_is_everybodys() {
        let recipe = Recipe { seed: 99, ..quick() }.seeded();
        let KernelSpec::Pck(pck) = &recipe.kernel else { panic!("{:?}", recipe.kernel) };
        assert_eq!((recipe.train.seed, pck.seed), (99, 99));
        let (a, b) = (fitted(&quick(), &table()), fitted(&Recipe { seed: 99, ..quick() }, &table()));
        assert_eq!(a.net(), fitted(&quick(), &table()).net());
        assert_ne!(a.net(), b.net());
    }

    #[test]
    fn a_model_knows_its_recipe_and_its_figures() {
        let model = fitted(&quick(), &table());
        let about = model.about();
        assert_eq!(serde_json::from_value::<Recipe>(about.settings.clone()).unwrap(), quick().seeded());
        assert!(about.kernel.starts_with("probabilistic cluster kernel"), "{}", about.kernel);
        let named: Vec<&str> = about.figures.keys().map(String::as_str).collect();
        let expected = [
            "test.code",
            "test.codes-to-ideal",
            "test.prior-to-ideal",
            "test.reconstruction",
            "train.code",
            "train.reconstruction",
            "validation.code",
            "validation.reconstruction",
        ];
        assert_eq!(named, expected);
        // The figures are those of the model on its own prepared rows.
        let table = table();
        let prepared = quick().prepare(&Source::from(&table), &Silent).unwrap();
        let x = &prepared.parts[2];
        let back = model.net().reconstruct(x.view()).unwrap();
        let error = (&back - x).mapv(|d| f64::from(d * d)).mean().unwrap();
        assert!((about.figures["test.reconstruction"] - error).abs() < 1e-6 * error);
    }

    #[test]
    fn the_papers_choices_reach_the_model() {
        let recipe = Recipe { train: Trainer { layers: vec![4, 2], batch: Some(14), ..Trainer::paper() }, ..quick() };
        let model = fitted(&recipe, &table());
        let shape = model.net().architecture();
        assert_eq!((shape.hidden, shape.code, shape.tied), (Activation::Sigmoid, Activation::Sigmoid, true));
        let train = serde_json::from_value::<Recipe>(model.about().settings.clone()).unwrap().train;
        assert_eq!((train.batches, train.schedule, train.rate), (Batches::Independent, Schedule::Constant, Some(1e-3)));
        // 28 training rows in batches of 14: an epoch of the paper is (28/14)^2 = 4 batches.
        let last = |phase: usize| model.about().history.iter().filter(|r| r.phase == phase).map(|r| r.step).max();
        assert_eq!([last(0), last(1), last(2)], [Some(30 * 4), Some(30 * 4), Some(100 * 4)]);
    }

    #[test]
    fn kernels_that_lack_something_are_refused() {
        let table = table();
        let refusal = |recipe: Recipe, table: &Table, matrix: Option<usize>| {
            let prepared = recipe.prepare(&Source::from(table), &Silent).unwrap();
            let matrix = matrix.map(|n| Precomputed::new(Array2::eye(n)).unwrap().0);
            recipe.kernel(&prepared, matrix, &Silent).err().expect("refused").to_string()
        };
        let bare = Table { labels: None, ..table.clone() };
        let message = refusal(Recipe { kernel: KernelSpec::Ideal, ..quick() }, &bare, None);
        assert!(message.contains("made of labels"), "{message}");
        let message = refusal(Recipe { kernel: KernelSpec::Precomputed, ..quick() }, &table, None);
        assert!(message.contains("needs its matrix"), "{message}");
        let message = refusal(quick(), &table, Some(39));
        assert!(message.contains("prior: has 39 rows, but row 40"), "{message}");
        // Without a code loss none of them is needed.
        let mut plain = Recipe { kernel: KernelSpec::Precomputed, ..quick() };
        plain.train.lambda = 0.0;
        let prepared = plain.prepare(&Source::from(&table), &Silent).unwrap();
        assert!(matches!(plain.kernel(&prepared, None, &Silent), Ok(FittedKernel::None)));
    }

    #[test]
    fn settings_out_of_range_are_found_without_rows() {
        let train = |train: Trainer| Recipe { train, ..quick() };
        for (recipe, name) in [
            (Recipe { split: [0.5, 0.5, 0.5], ..quick() }, "split"),
            (Recipe { split_by: Some(["a", "a", "b"].map(String::from)), ..quick() }, "split-by"),
            (Recipe { take: Some(0), ..quick() }, "take"),
            (Recipe { svd: Some(0), ..quick() }, "svd"),
            (Recipe { kernel: KernelSpec::Pck(Pck { subset: 2, ..Pck::default() }), ..quick() }, "max_components"),
            (train(Trainer { lambda: 2.0, ..Trainer::default() }), "lambda"),
            (train(Trainer { layers: vec![0], ..Trainer::default() }), "layers"),
        ] {
            let message = recipe.check().unwrap_err().to_string();
            assert!(message.starts_with(&format!("{name}: ")), "{message}");
        }
        quick().check().unwrap();
    }
}
