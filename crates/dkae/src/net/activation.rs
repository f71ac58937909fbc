//! Transfer functions of the units. Slopes are taken from the output `h = s(z)`, so `z` need not be kept:
//! sigmoid `h (1 - h)`, tanh `1 - h^2`, relu `[h > 0]`, linear 1.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::math::elementwise as pass;

/// A transfer function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// `1 / (1 + e^-z)`, the paper's.
    Sigmoid,
    /// `tanh z`.
    Tanh,
    /// `max(z, 0)`.
    Relu,
    /// `z`.
    Linear,
}

impl Activation {
    /// `z = s(z + bias)`.
    pub fn apply(self, z: &mut [f32], bias: f32) {
        match self {
            Activation::Sigmoid => pass::add_sigmoid(z, bias),
            Activation::Tanh => pass::add_tanh(z, bias),
            Activation::Relu => pass::add_relu(z, bias),
            Activation::Linear => pass::add(z, bias),
        }
    }

    /// `delta = delta s'(z)`, with `h = s(z)`.
    pub fn multiply_slope(self, delta: &mut [f32], h: &[f32]) {
        match self {
            Activation::Sigmoid => pass::slope_sigmoid(delta, h),
            Activation::Tanh => pass::slope_tanh(delta, h),
            Activation::Relu => pass::slope_relu(delta, h),
            Activation::Linear => {}
        }
    }

    /// All of them, for help texts and tests.
    pub const ALL: [Activation; 4] = [Activation::Sigmoid, Activation::Tanh, Activation::Relu, Activation::Linear];
}

impl fmt::Display for Activation {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Activation::Sigmoid => "sigmoid",
            Activation::Tanh => "tanh",
            Activation::Relu => "relu",
            Activation::Linear => "linear",
        })
    }
}

impl FromStr for Activation {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Activation::ALL.into_iter().find(|a| a.to_string() == name).ok_or_else(|| {
            Error::setting("activation", format!("expected sigmoid, tanh, relu or linear, found '{name}'"))
        })
    }
}
