//! The autoencoder: fitted, applied, saved.

use std::collections::BTreeMap;
use std::path::PathBuf;

use dkae::data::Shape;
use dkae::data::prepare::Preparation;
use dkae::data::split::Split;
use dkae::kernel::{FirstRows, KernelSpec, Prior};
use dkae::progress::Progress;
use dkae::recipe::Recipe;
use dkae::train::{Losses, Rows, Trainer, evaluate, evaluate_watched};
use dkae::{Error, Result};
use ndarray::{ArrayView2, Axis, CowArray, Ix2, s};
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::to_python;
use crate::kernel::Kernel;
use crate::prior::{self, Given, Source, Taken};
use crate::watch::{Hooks, Watch, watched};

/// Rows that the final figures are measured on, at most; L_c costs the square of it.
const MEASURED: usize = 4000;

/// Rows of a kernel matrix that are computed between two looks for signals.
const STRIP: usize = 256;

/// Ends the description of a kernel that sees rows as they are given rather than scaled. Part of the file: the package
/// reads it there.
const AS_GIVEN: &str = "; of unscaled rows";

/// Phase, step, both losses of training, both losses of validation.
type Row = (usize, u64, f32, f32, Option<(f32, f32)>);

/// A fitted model.
#[pyclass(frozen, module = "dkae._core")]
pub struct Model {
    model: dkae::net::Model,
}

/// Prepared rows: those that were given where nothing has to be done to them.
fn prepare<'a>(preparation: &Preparation, x: ArrayView2<'a, f32>) -> Result<CowArray<'a, f32, Ix2>> {
    if preparation.is_none() { Ok(x.into()) } else { Ok(preparation.apply(x)?.into()) }
}

/// Some rows: all of them as they are, or a copy.
fn select<'a>(x: ArrayView2<'a, f32>, rows: &[usize], all: bool) -> CowArray<'a, f32, Ix2> {
    if all { x.into() } else { x.select(Axis(0), rows).into() }
}

/// What one fit is made of.
struct Fit<'a> {
    recipe: Recipe,
    shape: Shape,
    names: Option<Vec<String>>,
    start: Option<&'a Model>,
    /// Settings of the training as they were asked for, where these rows or this call made others of them.
    asked: serde_json::Map<String, serde_json::Value>,
    /// What the package keeps in the file for itself.
    caller: serde_json::Value,
}

impl Fit<'_> {
    fn run(
        &self,
        x: ArrayView2<f32>,
        given: Option<Taken>,
        watch: &Watch,
    ) -> Result<(Model, Option<Kernel>, Vec<String>)> {
        // The package gives the kernel a seed of its own.
        let recipe = Recipe { kernel: self.recipe.kernel.clone(), ..self.recipe.seeded() };
        let (given, warnings) = match given {
            Some(given) => given.check(x.nrows()).map(|(source, warnings)| (Some(source), warnings))?,
            None => (None, Vec::new()),
        };
        let split = recipe.split(x.nrows(), None)?;
        let whole = split.validation.is_empty();
        let Split { train, validation, .. } = split;
        let parts = [select(x, &train, whole), select(x, &validation, false)];
        let preparation = match self.start {
            Some(start) => start.model.preparation().clone(),
            None => Preparation { text: None, scaler: recipe.scale.fit(parts[0].view(), self.shape)? },
        };
        let prepared = [prepare(&preparation, parts[0].view())?, prepare(&preparation, parts[1].view())?];
        let source = match given {
            _ if recipe.train.lambda == 0.0 => None,
            Some(source) => Some(source),
            None => Some(Source::Kernel(Kernel::fit(&recipe.kernel, prepared[0].view(), true, watch)?)),
        };
        let kernel = match &source {
            Some(Source::Kernel(kernel)) => Some(kernel.clone()),
            _ => None,
        };
        // Whole rows keep their order, so what is about them needs no selection.
        let sources = match (&source, whole) {
            (None, _) => [None, None],
            (Some(_), true) => [source, None],
            (Some(source), false) => [Some(source.select(&train)?), Some(source.select(&validation)?)],
        };
        let mut priors: [Option<Box<dyn Prior + '_>>; 2] = [None, None];
        for i in 0..2 {
            if let Some(source) = &sources[i] {
                priors[i] = Some(source.prior(parts[i].view(), prepared[i].view(), watch)?);
            }
        }
        let rows = |i: usize| Rows { x: prepared[i].view(), prior: priors[i].as_deref() };
        let start = self.start.map(|start| start.model.net());
        let held = (!whole).then(|| rows(1));
        let mut model = recipe.train.fit_from(start, rows(0), held, &mut watch.observer())?;

        let mut figures = BTreeMap::new();
        for (i, part) in ["train", "validation"].into_iter().enumerate() {
            if prepared[i].nrows() > 0 {
                let losses = measure(&model, rows(i))?;
                figures.insert(format!("{part}.reconstruction"), f64::from(losses.reconstruction));
                if priors[i].is_some() {
                    figures.insert(format!("{part}.code"), f64::from(losses.code));
                }
            }
        }
        let about = model.about_mut();
        // A kernel that was brought along has settings, and a seed, of its own.
        let brought = kernel.as_ref().filter(|kernel| !kernel.of_prepared());
        let recipe = Recipe { kernel: brought.map_or(recipe.kernel.clone(), |kernel| kernel.spec().clone()), ..recipe };
        about.settings = serde_json::to_value(&recipe).map_err(|e| Error::Numeric(e.to_string()))?;
        if let Some(train) = about.settings["train"].as_object_mut() {
            train.extend(self.asked.clone());
        }
        about.kernel = match &sources[0] {
            Some(Source::Kernel(kernel)) if kernel.of_prepared() => dkae::kernel::Kernel::describe(kernel),
            Some(Source::Kernel(kernel)) => format!("{}{AS_GIVEN}", dkae::kernel::Kernel::describe(kernel)),
            Some(Source::Classes(_)) => KernelSpec::Ideal.describe(),
            Some(Source::Matrix(_)) => KernelSpec::Precomputed.describe(),
            Some(Source::Function) => "a Python function".into(),
            None => "none".into(),
        };
        about.caller = self.caller.clone();
        about.shape = self.shape;
        about.names = self.names.clone();
        about.figures = figures;
        if let Some(start) = self.start {
            about.history = start.model.about().history.iter().chain(&about.history).cloned().collect();
            about.rows += start.model.about().rows;
        }
        Ok((Model { model: model.with_preparation(preparation) }, kernel, warnings))
    }
}

/// Both losses on the first rows.
fn measure(model: &dkae::net::Model, rows: Rows) -> Result<Losses> {
    let n = rows.x.nrows().min(MEASURED);
    let first = rows.prior.map(|prior| FirstRows { prior, rows: n });
    let prior = first.as_ref().map(|p| p as &dyn Prior);
    evaluate(model.net(), Rows { x: rows.x.slice(s![..n, ..]), prior })
}

/// Parameters that are no recipe.
fn odd(error: serde_json::Error) -> PyErr {
    to_python(Error::setting("parameters", error.to_string()))
}

/// What a row is, from the channels, height and width of a picture.
fn shape(picture: Option<(usize, usize, usize)>) -> Shape {
    match picture {
        Some((channels, height, width)) => Shape::Image { channels, height, width },
        None => Shape::Vector,
    }
}

#[pymethods]
impl Model {
    /// Fits on rows. `recipe` is JSON; `prior`, when given, is used instead of its kernel; `start` is a model to go on
    /// from; `asked` (JSON) are settings of the training that the file is to have in place of the recipe's; `caller` (JSON)
    /// is what [`caller`](Self::caller) gives back. Gives the model, the kernel it fitted or was given, and what the user
    /// should know.
    #[staticmethod]
    #[pyo3(signature = (x, recipe, prior, picture, names, start, listener, every_step, asked = "{}", caller = "null"))]
    #[allow(clippy::too_many_arguments)]
    fn fit<'py>(
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f32>,
        recipe: &str,
        prior: Option<Given<'py>>,
        picture: Option<(usize, usize, usize)>,
        names: Option<Vec<String>>,
        start: Option<Py<Model>>,
        listener: Option<Py<PyAny>>,
        every_step: bool,
        asked: &str,
        caller: &str,
    ) -> PyResult<(Model, Option<Kernel>, Vec<String>)> {
        let recipe: Recipe = serde_json::from_str(recipe).map_err(odd)?;
        let asked = serde_json::from_str(asked).map_err(odd)?;
        let caller = serde_json::from_str(caller).map_err(odd)?;
        let (source, kernel) = prior::take(&prior, py);
        let fit = Fit { recipe, shape: shape(picture), names, start: start.as_ref().map(Py::get), asked, caller };
        let x = x.as_array();
        watched(py, Hooks { listener, every_step, kernel }, |watch| fit.run(x, source, watch))
    }

    /// All that can be wrong with a recipe (JSON) by itself, before time is spent on its kernel.
    #[staticmethod]
    fn check(recipe: &str) -> PyResult<()> {
        let recipe: Recipe = serde_json::from_str(recipe).map_err(odd)?;
        recipe.train.check().map_err(to_python)
    }

    /// Fits a kernel that `spec` (JSON) describes on rows as this model prepares them.
    fn fit_kernel<'py>(&self, py: Python<'py>, spec: &str, x: PyReadonlyArray2<'py, f32>) -> PyResult<Kernel> {
        let x = x.as_array();
        watched(py, Hooks::default(), |watch| {
            Kernel::fit(&crate::kernel::spec(spec)?, prepare(self.model.preparation(), x)?.view(), true, watch)
        })
    }

    /// Both losses on rows: reconstruction and code.
    fn losses<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f32>,
        prior: Option<Given<'py>>,
    ) -> PyResult<(f32, f32)> {
        let (source, kernel) = prior::take(&prior, py);
        let x = x.as_array();
        watched(py, Hooks { kernel, ..Hooks::default() }, |watch| {
            let prepared = prepare(self.model.preparation(), x)?;
            let source = source.map(|source| source.check(x.nrows())).transpose()?;
            let prior = match &source {
                Some((source, _)) => Some(source.prior(x, prepared.view(), watch)?),
                None => None,
            };
            let rows = Rows { x: prepared.view(), prior: prior.as_deref() };
            let losses = evaluate_watched(self.model.net(), rows, watch)?;
            Ok((losses.reconstruction, losses.code))
        })
    }

    /// The kernel matrix of some rows that codes are aligned with.
    fn prior<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f32>,
        prior: Given<'py>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let (source, kernel) = prior.take(py);
        let x = x.as_array();
        let mut matrix = crate::zeros(x.nrows(), x.nrows())?;
        watched(py, Hooks { kernel, ..Hooks::default() }, |watch| {
            let (source, _) = source.check(x.nrows())?;
            let prepared = prepare(self.model.preparation(), x)?;
            let prior = source.prior(x, prepared.view(), watch)?;
            let rows: Vec<usize> = (0..x.nrows()).collect();
            for (some, out) in rows.chunks(STRIP).zip(matrix.axis_chunks_iter_mut(Axis(0), STRIP)) {
                watch.check()?;
                prior.block(some, &rows, out);
            }
            Ok(())
        })?;
        Ok(matrix.into_pyarray(py))
    }

    /// Codes of rows.
    fn encode<'py>(&self, py: Python<'py>, x: PyReadonlyArray2<'py, f32>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        crate::by_blocks(py, x.as_array(), self.model.code_width(), |x| self.model.encode(x))
    }

    /// Rows of codes.
    fn decode<'py>(&self, py: Python<'py>, codes: PyReadonlyArray2<'py, f32>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        crate::by_blocks(py, codes.as_array(), self.model.input_width(), |codes| self.model.decode(codes))
    }

    /// Rows, encoded and decoded again.
    fn reconstruct<'py>(&self, py: Python<'py>, x: PyReadonlyArray2<'py, f32>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        crate::by_blocks(py, x.as_array(), self.model.input_width(), |x| self.model.reconstruct(x))
    }

    /// Writes the model's file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.model.save(path)).map_err(to_python)
    }

    /// Reads a model's file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let model = py.detach(|| dkae::net::Model::load(path)).map_err(to_python)?;
        Ok(Model { model })
    }

    /// The bytes of the model's file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.model.to_bytes()).map_err(to_python)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// A model from the bytes of its file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        Ok(Model { model: dkae::net::Model::from_bytes(bytes).map_err(to_python)? })
    }

    /// Pickled by way of the model's file.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (self.to_bytes(py)?,)))
    }

    /// The losses as training went on.
    fn history(&self) -> Vec<Row> {
        let history = &self.model.about().history;
        history.iter().map(|r| (r.phase, r.step, r.reconstruction, r.code, r.validation)).collect()
    }

    /// Figures by name.
    fn figures(&self) -> BTreeMap<String, f64> {
        self.model.about().figures.clone()
    }

    /// The recipe it was made by, as JSON.
    fn settings(&self) -> String {
        self.model.about().settings.to_string()
    }

    /// What the package keeps in the file for itself, as JSON; `null` in files of others.
    fn caller(&self) -> String {
        self.model.about().caller.to_string()
    }

    /// The kernel in words.
    fn kernel(&self) -> &str {
        &self.model.about().kernel
    }

    /// Names of the features, when there are any.
    fn names(&self) -> Option<Vec<String>> {
        self.model.about().names.clone()
    }

    /// Channels, height and width, when rows are pictures.
    fn picture(&self) -> Option<(usize, usize, usize)> {
        match self.model.about().shape {
            Shape::Image { channels, height, width } => Some((channels, height, width)),
            Shape::Vector => None,
        }
    }

    /// Rows trained on.
    fn rows(&self) -> usize {
        self.model.about().rows
    }

    /// How many features a row has.
    fn input_width(&self) -> usize {
        self.model.input_width()
    }

    /// Widths of the layers above the input; the last is the code's.
    fn layers(&self) -> Vec<usize> {
        self.model.net().architecture().layers.clone()
    }

    /// The widths that are used when none are given.
    #[staticmethod]
    fn automatic_layers(rows: usize, features: usize) -> [usize; 4] {
        Trainer::automatic_layers(rows, features)
    }
}
