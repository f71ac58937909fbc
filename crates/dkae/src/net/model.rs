//! A fitted model and its file: the autoencoder, what is done to rows before it, and how it came about.

use std::path::Path;

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::store::{Reader, Writer};
use super::{Architecture, Autoencoder, Layer};
use crate::data::Shape;
use crate::{Error, Result};

/// The version of the file's layout; a file with a larger one is refused.
const FORMAT: u32 = 1;

/// A fitted model: maps rows to codes and codes to rows.
#[derive(Clone, Debug)]
pub struct Model {
    net: Autoencoder,
    about: About,
}

/// How a model came about; part of its file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// The trainer's settings.
    pub settings: serde_json::Value,
    /// The kernel the codes were aligned with, in words.
    pub kernel: String,
    /// What a row is.
    pub shape: Shape,
    /// The losses as training went on.
    pub history: Vec<Record>,
}

/// The losses at one moment of training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Layer in pretraining, or the number of layers in fine-tuning.
    pub phase: usize,
    /// Steps taken in the phase.
    pub step: u64,
    /// Mean L_r of the batches since the last record.
    pub reconstruction: f32,
    /// Mean L_c of the batches since the last record.
    pub code: f32,
    /// L_r and L_c on the validation rows, when they were looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<(f32, f32)>,
}

impl About {
    /// With these settings and losses; the rest unknown.
    pub fn new(settings: serde_json::Value, history: Vec<Record>) -> Self {
        About { settings, kernel: String::new(), shape: Shape::Vector, history }
    }
}

#[derive(Serialize, Deserialize)]
struct Description {
    format: u32,
    library: String,
    architecture: Architecture,
    about: About,
}

impl Model {
    /// A model of this autoencoder.
    pub fn new(net: Autoencoder, about: About) -> Self {
        Model { net, about }
    }

    /// Codes of rows.
    pub fn encode(&self, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        self.net.encode(x)
    }

    /// Rows of codes.
    pub fn decode(&self, codes: ArrayView2<f32>) -> Result<Array2<f32>> {
        self.net.decode(codes)
    }

    /// The autoencoder itself.
    pub fn net(&self) -> &Autoencoder {
        &self.net
    }

    /// How the model came about.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Writes the model, whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let mut writer = Writer::default();
        for (l, layer) in self.net.layers().iter().enumerate() {
            for ((name, shape), values) in layer.names(l).zip(layer.tensors()) {
                writer.add(name, shape, values);
            }
        }
        let description = Description {
            format: FORMAT,
            library: env!("CARGO_PKG_VERSION").into(),
            architecture: self.net.architecture().clone(),
            about: self.about.clone(),
        };
        writer.write(path, &description)
    }

    /// Reads a model.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        #[derive(Deserialize)]
        struct Version {
            format: u32,
            library: String,
        }
        let mut reader = Reader::open(&path)?;
        let version: Version = reader.description()?;
        if version.format > FORMAT {
            return Err(Error::format(
                &path,
                "",
                format!(
                    "has the model format {}, written by dkae {}; this is dkae {}, which reads up to format {FORMAT}: \
                     install a newer version",
                    version.format,
                    version.library,
                    env!("CARGO_PKG_VERSION")
                ),
            ));
        }
        let found: Description = reader.description()?;
        found.architecture.check()?;
        let mut layers = Vec::new();
        for l in 0..found.architecture.layers.len() {
            let (inputs, outputs) = (found.architecture.width(l), found.architecture.width(l + 1));
            let mut layer = Layer::glorot(inputs, outputs, found.architecture.tied, 0, l).zeros_like();
            let names: Vec<_> = layer.names(l).collect();
            for ((name, shape), target) in names.into_iter().zip(layer.tensors_mut()) {
                reader.fill(&name, &shape, target)?;
            }
            layers.push(layer);
        }
        Ok(Model { net: Autoencoder::from_layers(found.architecture, layers)?, about: found.about })
    }
}
