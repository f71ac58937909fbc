//! What every experiment works with: the plan, the data, the trained models, and whoever is waiting.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

use dkae::Error;
use dkae::data::prepare::Preparation;
use dkae::kernel::{KernelSpec, Prior};
use dkae::net::{Activation, Init, Model};
use dkae::progress::Progress;
use dkae::recipe::{FittedKernel, RawRows, Recipe, Source};
use dkae::train::{Losses, Observer, Rows, evaluate};
use ndarray::Array2;
use serde::Serialize;

use crate::Result;
use crate::budget::Plan;
use crate::data::{Data, Set, found};
use crate::store::Store;

/// Whoever waits for the experiments: is told what goes on, and may ask to stop.
pub trait Watch {
    /// One line about something that has happened.
    fn say(&self, _line: &str) {}

    /// Follows a training.
    fn training(&self, what: &str) -> Box<dyn Observer + '_>;

    /// Does other work, which says how far it is and can be stopped.
    fn work(&self, what: &str, work: &mut dyn FnMut(&dyn Progress));
}

/// One training: a recipe on a set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Job {
    /// The set.
    pub set: Set,
    /// Everything else.
    pub recipe: Recipe,
}

/// What an experiment works with.
pub struct Context<'a> {
    /// Sizes, lengths and grids.
    pub plan: Plan,
    /// Seed of everything random.
    pub seed: u64,
    /// What has been computed already.
    pub store: Store,
    /// The folder of the data.
    folder: PathBuf,
    watch: &'a dyn Watch,
    loaded: RefCell<HashMap<(Set, u64), Rc<Data>>>,
    kernels: RefCell<HashMap<String, Rc<FittedKernel>>>,
}

impl<'a> Context<'a> {
    /// A context without anything loaded.
    pub fn new(plan: Plan, seed: u64, folder: impl Into<PathBuf>, store: Store, watch: &'a dyn Watch) -> Self {
        Context {
            plan,
            seed,
            store,
            folder: folder.into(),
            watch,
            loaded: RefCell::default(),
            kernels: RefCell::default(),
        }
    }

    /// Tells whoever waits.
    pub fn say(&self, line: &str) {
        self.watch.say(line);
    }

    /// Work that says how far it is and can be stopped.
    pub fn work<T>(&self, what: &str, work: impl FnOnce(&dyn Progress) -> Result<T>) -> Result<T> {
        let (mut work, mut result) = (Some(work), None);
        self.watch.work(what, &mut |progress| {
            if let Some(work) = work.take() {
                result = Some(if progress.stop() { Err(Error::Interrupted.into()) } else { work(progress) });
            }
        });
        result.unwrap_or_else(|| Err(Error::Interrupted.into()))
    }

    /// A set, split by a seed; read once.
    pub fn data(&self, set: Set, seed: u64) -> Result<Rc<Data>> {
        if let Some(data) = self.loaded.borrow().get(&(set, seed)) {
            return Ok(data.clone());
        }
        let recipe = self.plan.recipe(set, seed);
        let read =
            |progress: &dyn Progress| Data::load(set, &recipe, &self.folder, self.plan.embedded, progress).map(Rc::new);
        let data = self.work(&format!("reading {}", set.name()), read)?;
        self.loaded.borrow_mut().insert((set, seed), data.clone());
        Ok(data)
    }

    /// Forgets the data that were read, and kernels fitted on them.
    pub fn forget(&self) {
        self.loaded.borrow_mut().clear();
        self.kernels.borrow_mut().clear();
    }

    /// The kernel of a recipe, fitted on the training rows; fitted once.
    pub fn kernel(&self, data: &Data, recipe: &Recipe) -> Result<Rc<FittedKernel>> {
        let key = Store::key(&(data.fingerprint, &recipe.kernel, recipe.seed, recipe.train.lambda == 0.0));
        if let Some(kernel) = self.kernels.borrow().get(&key) {
            return Ok(kernel.clone());
        }
        let fit = |progress: &dyn Progress| Ok(Rc::new(recipe.kernel(&data.prepared, None, progress)?));
        let kernel = self.work("fitting the kernel", fit)?;
        self.kernels.borrow_mut().insert(key, kernel.clone());
        Ok(kernel)
    }

    /// The prior of one part of a set under the kernel of a recipe (which must have one), handed to `use_it`.
    pub fn with_prior<T>(
        &self,
        data: &Data,
        recipe: &Recipe,
        part: usize,
        use_it: impl FnOnce(&dyn Prior) -> Result<T>,
    ) -> Result<T> {
        match &*self.kernel(data, &Plan::with_lambda(recipe, 0.1))? {
            FittedKernel::Kernel(kernel) => {
                let x = data.prepared.parts[part].view();
                let prior = self.work("applying the kernel", |progress| Ok(kernel.prior_watched(x, progress)?))?;
                use_it(&*prior)
            }
            _ => Err(Error::setting("kernel", "expected a kernel of rows").into()),
        }
    }

    fn key(data: &Data, recipe: &Recipe) -> String {
        Store::key(&("model", data.fingerprint, recipe.seeded()))
    }

    /// The models of recipes on a set, in order; trains what has not been trained. They take prepared rows.
    pub fn models(&self, data: &Data, recipes: &[Recipe]) -> Result<Vec<Model>> {
        let missing = |recipe: &Recipe| !self.store.has_model(&Self::key(data, recipe));
        let mut waiting: Vec<&Recipe> = recipes.iter().filter(|r| missing(r)).collect();
        // All recipes with one kernel share its priors.
        while let Some(&first) = waiting.first() {
            let alike = |r: &Recipe| r.kernel == first.kernel && (r.train.lambda == 0.0) == (first.train.lambda == 0.0);
            let (group, rest): (Vec<&Recipe>, _) = waiting.into_iter().partition(|r| alike(r));
            waiting = rest;
            let kernel = self.kernel(data, first)?;
            let priors = self.work("applying the kernel", |progress| Ok(kernel.priors(&data.prepared, progress)?))?;
            for recipe in group {
                self.train(data, recipe, &kernel, priors.as_ref())?;
            }
        }
        recipes
            .iter()
            .map(|recipe| {
                let key = Self::key(data, recipe);
                let model = self.store.model(&key, &describe(data.set, recipe), settings(recipe))?;
                Ok(model.with_preparation(Preparation::none()))
            })
            .collect()
    }

    /// The model of one recipe.
    pub fn model(&self, data: &Data, recipe: &Recipe) -> Result<Model> {
        let mut models = self.models(data, std::slice::from_ref(recipe))?;
        Ok(models.remove(0))
    }

    fn train(
        &self,
        data: &Data,
        recipe: &Recipe,
        kernel: &FittedKernel,
        priors: Option<&[Box<dyn Prior + '_>; 3]>,
    ) -> Result<()> {
        let what = describe(data.set, recipe);
        self.say(&format!("training {what}"));
        // Training asks the source for the shape and the names only.
        let none = Array2::zeros((0, 0));
        let source = Source {
            x: RawRows::Dense(&none),
            labels: None,
            groups: None,
            names: None,
            shape: data.shape,
            numbers: None,
        };
        self.store.train(&Self::key(data, recipe), &what, settings(recipe), |checkpoint| {
            let mut observer = self.watch.training(&what);
            recipe.train(&source, &data.prepared, kernel, priors, Some(checkpoint), &mut *observer)
        })
    }

    /// Both losses of a model on one part of a set.
    pub fn losses(model: &Model, data: &Data, part: usize, prior: &dyn Prior) -> Result<Losses> {
        Ok(evaluate(model.net(), Rows { x: data.prepared.parts[part].view(), prior: Some(prior) })?)
    }

    /// What tells the results of this context from others'.
    pub fn inputs(&self) -> impl Serialize + '_ {
        let files: Vec<(u64, String)> = if self.plan.embedded { Vec::new() } else { self.folder_state() };
        (&self.plan, self.seed, files)
    }

    /// Sizes and times of the data files.
    fn folder_state(&self) -> Vec<(u64, String)> {
        let state = |file: PathBuf| {
            let about = file.metadata().ok()?;
            Some((about.len(), format!("{:?}", about.modified().ok()?)))
        };
        let mut all: Vec<_> = Set::all_files().filter_map(|file| state(found(&self.folder, file))).collect();
        all.sort();
        all
    }
}

fn settings(recipe: &Recipe) -> serde_json::Value {
    serde_json::to_value(recipe.seeded()).expect("settings are plain data")
}

/// A training in words.
pub fn describe(set: Set, recipe: &Recipe) -> String {
    let recipe = recipe.seeded();
    let train = &recipe.train;
    let layers: Vec<String> = train.layers.iter().map(usize::to_string).collect();
    let kernel = match &recipe.kernel {
        _ if train.lambda == 0.0 => "no kernel".into(),
        KernelSpec::Ideal => "ideal kernel".into(),
        other => other.describe(),
    };
    let order = match set {
        Set::Cloud([a, b, c]) => format!(" {a}-{b}-{c}"),
        _ => String::new(),
    };
    let noise = match train.noise {
        dkae::train::Noise::None => String::new(),
        dkae::train::Noise::Mask(share) => format!(", {share} of the inputs masked"),
        dkae::train::Noise::Gauss(deviation) => format!(", Gaussian noise of {deviation}"),
    };
    let units = match (train.hidden, train.code) {
        (Activation::Relu, Activation::Linear) => String::new(),
        (hidden, code) => format!(", {hidden} units and {code} code"),
    };
    let start = if train.init == Init::Mirrored { ", mirrored start" } else { "" };
    format!(
        "{}{order}: d-{}, lambda {}, {kernel}{units}{start}{noise}, {} steps, seed {}",
        set.name(),
        layers.join("-"),
        train.lambda,
        train.steps,
        recipe.seed
    )
}
