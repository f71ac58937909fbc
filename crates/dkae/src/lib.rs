//! Kernel methods with an explicit map both ways.
//!
//! `dkae` learns an encoder whose code inner products reproduce a kernel of your choice, and a decoder that maps any
//! point of code space back to input space (Kampffmeyer, Løkse, Bianchi, Jenssen and Livi, "The Deep Kernelized
//! Autoencoder"). Linear work on codes is then non-linear work on inputs, at a cost per new row that does not grow with
//! the training set, and no n x n matrix is ever stored.
//!
//! Data flows one way through the modules; each uses only those before it:
//! [`math`] → [`data`] → [`kernel`] → [`net`] → [`train`] → [`code`], [`baseline`].

pub mod baseline;
pub mod code;
pub mod data;
mod error;
#[cfg(test)]
mod fixture;
pub mod kernel;
pub mod math;
pub mod method;
pub mod metrics;
pub mod net;
pub mod progress;
pub mod recipe;
pub mod train;
mod written;

pub use error::{Error, Result};
pub use method::{Classify, Embed, Invert};

/// The README's examples are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
