//! The autoencoder itself: activations, layers, initial weights, and the model file.

mod activation;
mod autoencoder;
mod init;
mod layer;
mod model;
pub(crate) mod store;

pub use activation::Activation;
pub(crate) use autoencoder::check_widths;
pub use autoencoder::{Architecture, Autoencoder};
pub use init::Init;
pub use layer::Layer;
pub use model::{About, Model, Record};
