//! Fitting the autoencoder: the loss and its gradient, Adam, pretraining, checkpoints.

mod adam;
mod batches;
mod checkpoint;
mod evaluate;
mod loss;
mod observe;
mod run;
mod schedule;
mod short;
mod step;
mod trainer;

pub use adam::Adam;
pub use batches::{Batches, Noise, Sampler};
pub use checkpoint::{Checkpoint, Standing};
pub use evaluate::{evaluate, evaluate_watched};
pub use observe::{Event, Observer, Phase};
pub use schedule::{Length, Schedule};
pub use step::{Losses, Workspace};
pub use trainer::{Rows, Trainer};
