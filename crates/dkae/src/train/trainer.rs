//! The trainer: settings, and the run from the first weights to a fitted model.
//!
//! Weights start mirrored ([`Init`]), or at random and then each layer by itself, from the input up: a small autoencoder
//! that reconstructs the output of the layers below, which stay as they are; the last one, the code layer, already under
//! the whole loss. Then all layers together. The weights kept are those with the best total loss on the validation
//! rows, when there are any.

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::adam::Adam;
use super::batches::{Batches, Noise};
use super::checkpoint::{Checkpoint, Fingerprint};
use super::observe::Observer;
use super::run::{Run, State, levels};
use super::schedule::{Length, Schedule};
use super::short;
use crate::data::Shape;
use crate::kernel::Prior;
use crate::net::{About, Activation, Architecture, Autoencoder, Init, Model, check_widths};
use crate::{Error, Result};

/// The paper's network.
const LARGE: [usize; 4] = [500, 500, 2000, 2000];

/// The paper's network for few features.
const SMALL: [usize; 4] = [50, 50, 200, 200];

/// The paper's rows in a batch.
const BATCH: usize = 200;

/// How to train. `Default` is what most users want; [`Trainer::paper`] is the paper's setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Trainer {
    /// Widths of the layers above the input; the last is the code's. Empty, the default, means by the data: 500, 500, 2000,
    /// 2000, or 50, 50, 200, 200 where there are few features or rows (both are the paper's).
    pub layers: Vec<usize>,
    /// Activation of the hidden layers. Default relu.
    pub hidden: Activation,
    /// Activation of the code. Default linear.
    pub code: Activation,
    /// Activation of the reconstruction; by default sigmoid when every training value lies in [0, 1], else linear.
    pub output: Option<Activation>,
    /// Whether the decoder uses the encoder's weights, transposed. Default true.
    pub tied: bool,
    /// Weight of the code loss, in [0, 1]; 0 is the plain stacked autoencoder. Default 0.1.
    #[serde(serialize_with = "short::number")]
    pub lambda: f32,
    /// Rows in a batch. Default 200, or all when there are fewer.
    pub batch: Option<usize>,
    /// How batches are drawn. Default every row once per pass.
    pub batches: Batches,
    /// How weights start. Default mirrored: as a linear autoencoder of the leading principal components.
    pub init: Init,
    /// Steps of pretraining for each layer. By default none where weights start mirrored, else 300.
    pub pretrain: Option<Length>,
    /// Steps of fine-tuning. Default 3000.
    pub steps: Length,
    /// Peak learning rate of Adam; by default chosen from the widths of the layers.
    pub rate: Option<f64>,
    /// How the rate changes. Default warm-up, then cosine.
    pub schedule: Schedule,
    /// Largest norm of the gradient; longer ones are shortened. Default no limit.
    #[serde(serialize_with = "short::option")]
    pub clip: Option<f32>,
    /// Decay of weights and biases, per step and unit of the rate: what keeps held-out rows near the training rows. Default 0.15.
    #[serde(serialize_with = "short::number")]
    pub weight_decay: f32,
    /// Noise on the inputs. Default none.
    pub noise: Noise,
    /// Steps of fine-tuning between two looks at the validation rows. Default 250.
    pub validate_every: u64,
    /// Validation rows looked at, from the first; L_c costs the square of it. Default 4000.
    pub validation_rows: usize,
    /// Looks without improvement after which fine-tuning stops. Default never.
    pub patience: Option<u64>,
    /// Seed of everything random. Default 7.
    pub seed: u64,
}

impl Default for Trainer {
    fn default() -> Self {
        Trainer {
            layers: Vec::new(),
            hidden: Activation::Relu,
            code: Activation::Linear,
            output: None,
            tied: true,
            lambda: 0.1,
            batch: None,
            batches: Batches::Permutation,
            init: Init::Mirrored,
            pretrain: None,
            steps: Length::Steps(3000),
            rate: None,
            schedule: Schedule::Cosine,
            clip: None,
            weight_decay: 0.15,
            noise: Noise::None,
            validate_every: 250,
            validation_rows: 4000,
            patience: None,
            seed: 7,
        }
    }
}

/// Rows to learn from or to validate on, with their prior.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    /// The rows.
    pub x: ArrayView2<'a, f32>,
    /// P of these rows; may be missing when lambda is 0.
    pub prior: Option<&'a dyn Prior>,
}

impl Trainer {
    /// The paper's choices: sigmoid units (at the output for rows in [0, 1] only, which others could not reach), a
    /// constant rate, no decay, batches drawn independently, 30 epochs of (n/k)^2 batches of pretraining per layer and 100
    /// of fine-tuning. About a million steps at the paper's sizes.
    pub fn paper() -> Self {
        Trainer {
            hidden: Activation::Sigmoid,
            code: Activation::Sigmoid,
            batches: Batches::Independent,
            init: Init::Glorot,
            pretrain: Some(Length::PaperEpochs(30)),
            steps: Length::PaperEpochs(100),
            rate: Some(1e-3),
            schedule: Schedule::Constant,
            weight_decay: 0.0,
            ..Trainer::default()
        }
    }

    /// Trains on all rows of `x`, aligned with `prior`.
    pub fn fit(&self, x: ArrayView2<f32>, prior: &dyn Prior, observer: &mut dyn Observer) -> Result<Model> {
        self.fit_validated(Rows { x, prior: Some(prior) }, None, None, observer)
    }

    /// Trains on `train`, watches `validation`, and goes on from `checkpoint` when its file is there.
    pub fn fit_validated(
        &self,
        train: Rows,
        validation: Option<Rows>,
        checkpoint: Option<&Checkpoint>,
        observer: &mut dyn Observer,
    ) -> Result<Model> {
        let (model, stopped) = self.run(None, train, validation, checkpoint, observer)?;
        if stopped { Err(Error::Interrupted) } else { Ok(model) }
    }

    /// As [`fit_validated`](Self::fit_validated), from the weights of `start` when they are given, and then without
    /// pretraining. An observer that breaks off ends the training, and the model is what was reached.
    pub fn fit_from(
        &self,
        start: Option<&Autoencoder>,
        train: Rows,
        validation: Option<Rows>,
        observer: &mut dyn Observer,
    ) -> Result<Model> {
        Ok(self.run(start, train, validation, None, observer)?.0)
    }

    /// The model, and whether the observer broke off.
    fn run(
        &self,
        start: Option<&Autoencoder>,
        train: Rows,
        validation: Option<Rows>,
        checkpoint: Option<&Checkpoint>,
        observer: &mut dyn Observer,
    ) -> Result<(Model, bool)> {
        self.check()?;
        let architecture = match start {
            Some(net) => net.architecture().clone(),
            None => self.architecture(train.x)?,
        };
        if architecture.input != train.x.ncols() {
            let (found, expected) = (train.x.ncols(), architecture.input);
            return Err(Error::Data(format!("the rows have {found} columns, but the network takes {expected}")));
        }
        self.check_rows("training", train)?;
        if let Some(validation) = validation {
            self.check_rows("validation", validation)?;
            if validation.x.ncols() != train.x.ncols() {
                return Err(Error::Data(format!(
                    "the validation rows have {} columns, the training rows {}",
                    validation.x.ncols(),
                    train.x.ncols()
                )));
            }
        }
        let batch = self.batch.unwrap_or(BATCH.min(train.x.nrows()));
        if batch > train.x.nrows() {
            let message = format!("{batch} rows a batch, but there are {} training rows; use fewer", train.x.nrows());
            return Err(Error::setting("batch", message));
        }
        let fingerprint = Fingerprint::of(self, train, validation);
        let mirrored = self.init.is_mirrored(&architecture, train.x);
        let pretrain = self.pretrain.unwrap_or(Length::Steps(if mirrored { 0 } else { 300 }));
        let rate = self.rate.unwrap_or_else(|| default_rate(&architecture, mirrored));
        let (net, phase) = match start {
            Some(net) => (net.clone(), net.layers().len()),
            None if pretrain.steps(train.x.nrows(), batch) == 0 => {
                let layers = architecture.layers.len();
                (self.init.network(architecture, train.x, self.seed)?, layers)
            }
            None => (self.init.network(architecture, train.x, self.seed)?, 0),
        };
        let mut state = State {
            phase,
            step: 0,
            adam: Adam::new(&net.layers()[levels(phase, net.layers().len())]),
            net,
            best: None,
            looks_since_best: 0,
            history: Vec::new(),
            sums: (0.0, 0.0, 0),
        };
        if let Some(checkpoint) = checkpoint {
            checkpoint.restore(&fingerprint, &mut state)?;
        }
        let stopped = Run {
            trainer: self,
            batch,
            pretrain,
            rate,
            train: train.first(usize::MAX),
            validation: validation.as_ref().map(|v| v.first(self.validation_rows)),
        }
        .go(
            &mut state,
            observer,
            |state| checkpoint.map_or(Ok(()), |c| c.save(&fingerprint, state)),
            checkpoint,
        )?;
        if let Some((_, layers)) = state.best {
            state.net = Autoencoder::from_layers(state.net.architecture().clone(), layers)?;
        }
        let about = About {
            settings: serde_json::to_value(self).expect("settings are plain data"),
            kernel: String::new(),
            shape: Shape::Vector,
            names: None,
            rows: train.x.nrows(),
            figures: Default::default(),
            history: state.history,
            caller: serde_json::Value::Null,
        };
        Ok((Model::new(state.net, about), stopped))
    }

    /// The widths that an empty [`layers`](Self::layers) stands for.
    pub fn automatic_layers(rows: usize, features: usize) -> [usize; 4] {
        if features < 64 || rows < 2000 { SMALL } else { LARGE }
    }

    fn architecture(&self, x: ArrayView2<f32>) -> Result<Architecture> {
        let unit_range = || x.iter().all(|v| (0.0..=1.0).contains(v));
        let output = self.output.unwrap_or_else(|| if unit_range() { Activation::Sigmoid } else { Activation::Linear });
        let architecture = Architecture {
            input: x.ncols(),
            layers: match &self.layers[..] {
                [] => Self::automatic_layers(x.nrows(), x.ncols()).to_vec(),
                given => given.to_vec(),
            },
            hidden: self.hidden,
            code: self.code,
            output,
            tied: self.tied,
        };
        architecture.check()?;
        Ok(architecture)
    }

    /// All that can be wrong with the settings by themselves, before there are rows.
    pub fn check(&self) -> Result<()> {
        check_widths(&self.layers)?;
        if !(0.0..=1.0).contains(&self.lambda) {
            return Err(Error::setting("lambda", format!("expected a number in [0, 1], found {}", self.lambda)));
        }
        if let Some(batch @ 0..2) = self.batch {
            return Err(Error::setting("batch", format!("expected at least 2 rows a batch, found {batch}")));
        }
        if let Some(rate) = self.rate
            && !(rate > 0.0 && rate.is_finite())
        {
            return Err(Error::setting("rate", format!("expected a positive number, found {rate}")));
        }
        if let Some(clip) = self.clip
            && (clip.is_nan() || clip <= 0.0)
        {
            return Err(Error::setting("clip", format!("expected a positive number, found {clip}")));
        }
        if !(0.0..=10.0).contains(&self.weight_decay) {
            let message = format!("expected a number from 0 (none) to 10, found {}", self.weight_decay);
            return Err(Error::setting("weight-decay", message));
        }
        self.noise.check()?;
        if self.validate_every == 0 {
            return Err(Error::setting("validate-every", "expected at least 1 step, found 0"));
        }
        if self.validation_rows < 2 {
            let message = format!("expected at least 2 rows to compare, found {}", self.validation_rows);
            return Err(Error::setting("validation-rows", message));
        }
        if self.patience == Some(0) {
            return Err(Error::setting(
                "patience",
                "expected at least 1 look, found 0; leave it out to never stop early",
            ));
        }
        Ok(())
    }

    /// All that can be wrong with rows, before anything is computed.
    fn check_rows(&self, part: &str, rows: Rows) -> Result<()> {
        if rows.x.nrows() == 0 {
            return Err(Error::Data(format!("there are no {part} rows")));
        }
        if let Some(((row, column), value)) = rows.x.indexed_iter().find(|(_, v)| !v.is_finite()) {
            return Err(Error::Data(format!(
                "{part} row {}, column {} is {value}; every value must be finite: drop or fill such rows first",
                row + 1,
                column + 1
            )));
        }
        match rows.prior {
            Some(prior) if prior.len() != rows.x.nrows() => Err(Error::Data(format!(
                "the prior is about {} rows, but there are {} {part} rows",
                prior.len(),
                rows.x.nrows()
            ))),
            None if self.lambda > 0.0 => Err(Error::setting(
                "lambda",
                format!(
                    "{} asks for a code loss, but the {part} rows have no prior; give one, or set lambda to 0",
                    self.lambda
                ),
            )),
            _ => Ok(()),
        }
    }
}

impl Rows<'_> {
    /// The first `n` of them.
    fn first(&self, n: usize) -> Rows<'_> {
        let n = n.min(self.x.nrows());
        Rows { x: self.x.slice(ndarray::s![..n, ..]), prior: self.prior }
    }
}

/// The peak rate when none is given: 4 / the widest layer, half of that where weights start at random, at most 0.005. Adam
/// moves every weight by about the rate, so a unit's input moves by the rate times the number of its inputs: wide layers
/// want small rates. What was tried is in docs/results.md.
fn default_rate(architecture: &Architecture, mirrored: bool) -> f64 {
    let widest = architecture.layers.iter().max().copied().unwrap_or(1);
    let most = if mirrored { 4.0 } else { 2.0 };
    (most / widest as f64).min(5e-3)
}

#[cfg(test)]
mod tests {
    use super::super::run::norm;
    use super::*;
    use crate::kernel::Ideal;
    use crate::math::rng::{self, Purpose};
    use crate::train::{Event, Phase, evaluate};
    use ndarray::{Array2, s};
    use rand::RngExt;
    use std::ops::ControlFlow;

    /// Rows of three classes in [0, 1], and their classes.
    fn rows(n: usize) -> (Array2<f32>, Vec<u32>) {
        let mut rng = rng::stream(1, Purpose::Demo, 0, 0);
        let classes: Vec<u32> = (0..n).map(|i| (i % 3) as u32).collect();
        let x = Array2::from_shape_fn((n, 6), |(i, j)| {
            let centre = if j % 3 == i % 3 { 0.7 } else { 0.2 };
            centre + 0.2 * (rng.random::<f32>() - 0.5)
        });
        (x, classes)
    }

    fn small() -> Trainer {
        Trainer {
            layers: vec![16, 8],
            batch: Some(30),
            pretrain: Some(Length::Steps(50)),
            steps: Length::Steps(300),
            validate_every: 50,
            ..Trainer::default()
        }
    }

    fn refusal(trainer: Trainer) -> String {
        let (x, classes) = rows(60);
        trainer.fit(x.view(), &Ideal::new(&classes), &mut ()).expect_err("refused").to_string()
    }

    #[test]
    fn both_losses_fall_and_the_codes_reproduce_the_prior() {
        let (x, classes) = rows(120);
        let (ideal, model) = (Ideal::new(&classes), small());
        let model = model.fit(x.view(), &ideal, &mut ()).unwrap();
        let losses = evaluate(model.net(), Rows { x: x.view(), prior: Some(&ideal) }).unwrap();
        assert!(losses.reconstruction < 0.01 && losses.code < 0.2, "{losses:?}");
    }

    #[test]
    fn the_model_kept_is_the_best_on_validation() {
        let (x, classes) = rows(90);
        let (train, held) = (x.slice(s![..60, ..]), x.slice(s![60.., ..]));
        let (p, q) = (Ideal::new(&classes[..60]), Ideal::new(&classes[60..]));
        // A rate this high keeps the loss jumping, so that the last model is rarely the best.
        let trainer = Trainer { rate: Some(0.05), schedule: Schedule::Constant, ..small() };
        let mut seen = Vec::new();
        let model = trainer
            .fit_validated(
                Rows { x: train, prior: Some(&p) },
                Some(Rows { x: held, prior: Some(&q) }),
                None,
                &mut |event: &Event| {
                    if let Event::Validation { losses, .. } = event {
                        seen.push(losses.total(trainer.lambda));
                    }
                    ControlFlow::Continue(())
                },
            )
            .unwrap();
        let kept = evaluate(model.net(), Rows { x: held, prior: Some(&q) }).unwrap().total(trainer.lambda);
        let best = seen.iter().copied().fold(f32::INFINITY, f32::min);
        assert_eq!(kept, best);
        assert_eq!(seen.len(), 6);
        let layers = model.net().layers().len();
        let recorded =
            |phase| model.about().history.iter().filter(|r| r.phase == phase && r.validation.is_some()).count();
        assert_eq!(recorded(layers), 6, "every look is on record");
        assert!((0..layers).all(|layer| recorded(layer) == 4), "pretraining is watched too");
    }

    #[test]
    fn patience_stops_a_run_that_no_longer_improves() {
        let (x, classes) = rows(90);
        let p = Ideal::new(&classes);
        let both = Rows { x: x.view(), prior: Some(&p) };
        let trainer = Trainer {
            rate: Some(0.2),
            schedule: Schedule::Constant,
            patience: Some(3),
            validate_every: 5,
            steps: Length::Steps(5000),
            ..small()
        };
        let mut stopped = None;
        let result = trainer.fit_validated(both, Some(both), None, &mut |event: &Event| {
            if let Event::EarlyStop { step } = event {
                stopped = Some(*step);
            }
            ControlFlow::Continue(())
        });
        assert!(result.is_ok() && stopped.is_some_and(|step| step < 5000), "{stopped:?}");
    }

    #[test]
    fn training_goes_on_from_given_weights_without_pretraining() {
        let (x, classes) = rows(120);
        let prior = Ideal::new(&classes);
        let all = Rows { x: x.view(), prior: Some(&prior) };
        let loss = |model: &Model| evaluate(model.net(), all).unwrap().total(0.1);
        let first = Trainer { steps: Length::Steps(20), ..small() }.fit_from(None, all, None, &mut ()).unwrap();
        let more = small().fit_from(Some(first.net()), all, None, &mut ()).unwrap();
        assert!(loss(&more) < 0.7 * loss(&first), "{} {}", loss(&more), loss(&first));
        assert!(more.about().history.iter().all(|record| record.phase == 2));
        // No steps, no change.
        let none = Trainer { steps: Length::Steps(0), ..small() };
        assert_eq!(none.fit_from(Some(first.net()), all, None, &mut ()).unwrap().net(), first.net());
        let narrow = Rows { x: x.slice(s![.., ..5]), prior: Some(&prior) };
        let message = small().fit_from(Some(first.net()), narrow, None, &mut ()).err().unwrap().to_string();
        assert!(message.contains("5 columns") && message.contains("takes 6"), "{message}");
    }

    #[test]
    fn only_weights_that_start_at_random_are_pretrained_by_default() {
        let (x, classes) = rows(60);
        let prior = Ideal::new(&classes);
        let phases = |trainer: Trainer| {
            let mut seen = Vec::new();
            let trainer = Trainer { pretrain: None, steps: Length::Steps(2), ..trainer };
            let mut observer = |event: &Event| {
                if let Event::Phase { phase, steps, .. } = *event {
                    seen.push((phase, steps));
                }
                ControlFlow::Continue(())
            };
            trainer.fit(x.view(), &prior, &mut observer).unwrap();
            seen
        };
        let whole = (Phase::FineTune, 2);
        let layer = |layer| (Phase::Pretrain { layer, of: 2 }, 300);
        assert_eq!(phases(small()), [whole]);
        assert_eq!(phases(Trainer { init: Init::Glorot, ..small() }), [layer(0), layer(1), whole]);
        assert_eq!(phases(Trainer { hidden: Activation::Sigmoid, ..small() }), [layer(0), layer(1), whole]);
        let wide = Architecture { layers: vec![500, 2000], ..small().architecture(x.view()).unwrap() };
        assert_eq!((default_rate(&wide, true), default_rate(&wide, false)), (2e-3, 1e-3));
    }

    #[test]
    fn an_observer_that_breaks_off_leaves_the_weights_reached() {
        let (x, classes) = rows(60);
        let prior = Ideal::new(&classes);
        let all = Rows { x: x.view(), prior: Some(&prior) };
        let mut stop = |event: &Event| match event {
            Event::Step { phase: Phase::FineTune, step: 7, .. } => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let stopped = small().fit_from(None, all, None, &mut stop).unwrap();
        // A constant rate, so that the first steps do not know how many there will be.
        let constant = Trainer { schedule: Schedule::Constant, ..small() };
        let short = Trainer { steps: Length::Steps(7), ..constant.clone() };
        assert_eq!(
            constant.fit_from(None, all, None, &mut stop).unwrap().net(),
            short.fit(x.view(), &prior, &mut ()).unwrap().net()
        );
        assert_eq!(stopped.about().rows, 60);
    }

    #[test]
    fn lambda_zero_needs_no_prior_and_is_a_plain_autoencoder() {
        let (x, _) = rows(60);
        let trainer = Trainer { lambda: 0.0, noise: Noise::Mask(0.2), ..small() };
        let model = trainer.fit_validated(Rows { x: x.view(), prior: None }, None, None, &mut ()).unwrap();
        let losses = evaluate(model.net(), Rows { x: x.view(), prior: None }).unwrap();
        assert!(losses.reconstruction < 0.01 && losses.code == 0.0, "{losses:?}");
    }

    #[test]
    fn the_output_follows_the_data() {
        let (x, classes) = rows(60);
        let p = Ideal::new(&classes);
        let output = |x: &Array2<f32>| {
            let trainer = Trainer { steps: Length::Steps(1), pretrain: Some(Length::Steps(1)), ..small() };
            trainer.fit(x.view(), &p, &mut ()).unwrap().net().architecture().output
        };
        assert_eq!(output(&x), Activation::Sigmoid);
        assert_eq!(output(&(&x * 3.0)), Activation::Linear);
    }

    #[test]
    fn what_cannot_be_trained_is_refused_with_a_reason() {
        for (trainer, words) in [
            (Trainer { lambda: 1.5, ..small() }, "lambda: expected a number in [0, 1], found 1.5"),
            (Trainer { lambda: f32::NAN, ..small() }, "lambda"),
            (Trainer { batch: Some(61), ..small() }, "61 rows a batch, but there are 60"),
            (Trainer { batch: Some(1), ..small() }, "batch"),
            (Trainer { layers: vec![3, 0], ..small() }, "layer 2 has width 0"),
            (Trainer { rate: Some(-1.0), ..small() }, "rate"),
            (Trainer { clip: Some(0.0), ..small() }, "clip"),
            (Trainer { weight_decay: f32::NAN, ..small() }, "weight-decay"),
            (Trainer { noise: Noise::Mask(1.0), ..small() }, "noise"),
            (Trainer { validate_every: 0, ..small() }, "validate-every"),
            (Trainer { validation_rows: 0, ..small() }, "validation-rows"),
            (Trainer { patience: Some(0), ..small() }, "patience"),
        ] {
            let message = refusal(trainer);
            assert!(message.contains(words), "{message}");
        }
        let (mut x, classes) = rows(60);
        let short = small().fit(x.view(), &Ideal::new(&classes[..59]), &mut ()).err().unwrap().to_string();
        assert!(short.contains("59 rows") && short.contains("60 training rows"), "{short}");
        x[[4, 2]] = f32::NAN;
        let message = small().fit(x.view(), &Ideal::new(&classes), &mut ()).err().unwrap().to_string();
        assert!(message.contains("row 5, column 3 is NaN"), "{message}");
    }

    #[test]
    fn divergence_is_an_error_that_names_the_step() {
        let (x, classes) = rows(60);
        let x = &x * 1e18;
        let trainer = Trainer { rate: Some(1e6), output: Some(Activation::Linear), ..small() };
        let message = trainer.fit(x.view(), &Ideal::new(&classes), &mut ()).err().unwrap().to_string();
        assert!(message.contains("pretraining layer 1 of 2, step") && message.contains("diverged"), "{message}");
    }

    #[test]
    fn a_clip_changes_the_run_and_the_norm_is_over_all_tensors() {
        let (x, classes) = rows(60);
        let p = Ideal::new(&classes);
        let free = small().fit(x.view(), &p, &mut ()).unwrap();
        let clipped = Trainer { clip: Some(1e-3), ..small() }.fit(x.view(), &p, &mut ()).unwrap();
        assert_ne!(free.net(), clipped.net());
        let losses = evaluate(clipped.net(), Rows { x: x.view(), prior: Some(&p) }).unwrap();
        assert!(losses.code < 0.3, "{losses:?}");
        let layer = free.net().layers()[0].clone();
        let sum: f64 = layer.tensors().flatten().map(|&v| f64::from(v) * f64::from(v)).sum();
        assert!((f64::from(norm(&[layer])) - sum.sqrt()).abs() < 1e-4);
    }
}
