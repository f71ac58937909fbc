//! A fitted model and its file: the autoencoder, what is done to rows before it, and how it came about.
//!
//! The file is safetensors: `encoder.0.weight` (out x in), `encoder.0.bias`, `decoder.0.bias` and so on up to the code, and
//! `decoder.0.weight` (out x in, applied transposed) when the decoder has weights of its own; `scale.offset` and
//! `scale.factor`; `text.idf` `text.components` and `text.singular_values` for text. The metadata entry `dkae` is JSON: format version, library
//! version, architecture, and [`About`]. Nothing in it depends on the clock or the machine.

use std::path::Path;

use ndarray::{Array2, ArrayView1, ArrayView2, ArrayViewMut1, Axis};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::store::{Reader, Writer};
use super::{Architecture, Autoencoder, Layer};
use crate::data::Shape;
use crate::data::atomic::write_atomically;
use crate::data::prepare::Preparation;
use crate::data::scale::{Scale, Scaler};
use crate::data::svd::TruncatedSvd;
use crate::data::tfidf::TfIdf;
use crate::math::threads;
use crate::{Embed, Error, Invert, Result};

/// The version of the file's layout; a file with a larger one is refused.
const FORMAT: u32 = 1;

/// What messages call a model that is not in a file.
const IN_MEMORY: &str = "model in memory";

/// A fitted model: maps rows to codes and codes to rows.
#[derive(Clone, Debug)]
pub struct Model {
    net: Autoencoder,
    preparation: Preparation,
    about: About,
}

/// How a model came about; part of its file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// The settings it was made with.
    pub settings: serde_json::Value,
    /// The kernel the codes were aligned with, in words; empty when unknown.
    pub kernel: String,
    /// What a row is.
    pub shape: Shape,
    /// The names of the features, when they have names.
    pub names: Option<Vec<String>>,
    /// Rows trained on.
    pub rows: usize,
    /// Figures by name, such as `test.reconstruction`: what was measured when training was over.
    pub figures: std::collections::BTreeMap<String, f64>,
    /// The losses as training went on.
    pub history: Vec<Record>,
    /// What a caller wants to find again, as the Python package does its parameters as they were given. Nothing here looks at
    /// it; null, which takes no room in the file, when there is nothing.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub caller: serde_json::Value,
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

#[derive(Serialize, Deserialize)]
struct Description {
    format: u32,
    library: String,
    architecture: Architecture,
    scale: Scale,
    about: About,
}

impl Model {
    /// A model of this autoencoder, for rows that need no preparation.
    pub fn new(net: Autoencoder, about: About) -> Self {
        Model { net, preparation: Preparation::none(), about }
    }

    /// The same model for raw rows, which are prepared first.
    pub fn with_preparation(mut self, preparation: Preparation) -> Self {
        self.preparation = preparation;
        self
    }

    /// Codes of rows.
    pub fn encode(&self, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        self.check_width(x.ncols())?;
        let mut codes = match self.preparation.is_none() {
            true => self.net.encode(x)?,
            false => self.net.encode(self.preparation.apply(x)?.view())?,
        };
        mark_missing(x, &mut codes);
        Ok(codes)
    }

    /// Rows of codes, in the units of the rows it was trained on; for text, TF-IDF weights rather than counts.
    pub fn decode(&self, codes: ArrayView2<f32>) -> Result<Array2<f32>> {
        let mut x = self.net.decode(codes)?;
        if !self.preparation.is_none() {
            x = self.preparation.apply_inverse(x.view())?;
        }
        mark_missing(codes, &mut x);
        Ok(x)
    }

    /// Rows, encoded and decoded again.
    pub fn reconstruct(&self, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        self.check_width(x.ncols())?;
        let mut back = match self.preparation.is_none() {
            true => self.net.reconstruct(x)?,
            false => {
                let prepared = self.net.reconstruct(self.preparation.apply(x)?.view())?;
                self.preparation.apply_inverse(prepared.view())?
            }
        };
        mark_missing(x, &mut back);
        Ok(back)
    }

    /// How many features a raw row has.
    pub fn input_width(&self) -> usize {
        self.preparation.input_width().unwrap_or(self.net.architecture().input)
    }

    /// How many numbers a code has.
    pub fn code_width(&self) -> usize {
        self.net.architecture().width(self.net.layers().len())
    }

    /// The autoencoder itself, which works on prepared rows.
    pub fn net(&self) -> &Autoencoder {
        &self.net
    }

    /// What is done to rows before they are encoded.
    pub fn preparation(&self) -> &Preparation {
        &self.preparation
    }

    /// How the model came about.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// How the model came about, to be completed.
    pub fn about_mut(&mut self) -> &mut About {
        &mut self.about
    }

    fn check_width(&self, found: usize) -> Result<()> {
        let expected = self.input_width();
        if found == expected {
            return Ok(());
        }
        Err(Error::Data(format!("the rows have {found} columns, but the model was trained on rows of {expected}")))
    }

    /// Writes the model, whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let bytes = self.to_bytes()?;
        write_atomically(path, |file| file.write_all(&bytes))
    }

    /// The bytes of the model's file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut writer = Writer::default();
        for (l, layer) in self.net.layers().iter().enumerate() {
            for ((name, shape), values) in layer.names(l).zip(layer.tensors()) {
                writer.add(name, shape, values);
            }
        }
        let scaler = &self.preparation.scaler;
        writer.add("scale.offset", vec![scaler.offset().len()], scaler.offset());
        writer.add("scale.factor", vec![scaler.factor().len()], scaler.factor());
        let (components, singular_values);
        if let Some((tfidf, svd)) = &self.preparation.text {
            writer.add("text.idf", vec![tfidf.idf.len()], &tfidf.idf);
            components = svd.components.as_standard_layout();
            singular_values = svd.singular_values.to_vec();
            writer.add("text.singular_values", vec![singular_values.len()], &singular_values);
            let (m, d) = components.dim();
            writer.add("text.components", vec![m, d], components.as_slice().expect("in standard layout"));
        }
        let description = Description {
            format: FORMAT,
            library: env!("CARGO_PKG_VERSION").into(),
            architecture: self.net.architecture().clone(),
            scale: scaler.kind(),
            about: self.about.clone(),
        };
        writer.bytes(IN_MEMORY, &description)
    }

    /// Reads a model.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::read(&path, Reader::open(&path)?)
    }

    /// Reads a model from the bytes of its file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(IN_MEMORY, Reader::parse(IN_MEMORY, bytes)?)
    }

    fn read(path: impl AsRef<Path>, mut reader: Reader) -> Result<Self> {
        #[derive(Deserialize)]
        struct Version {
            format: u32,
            library: String,
        }
        #[derive(Deserialize)]
        struct Unfinished {
            #[serde(rename = "fingerprint")]
            _fingerprint: serde::de::IgnoredAny,
        }
        if reader.description::<Unfinished>().is_ok() {
            let message = "is the checkpoint of an unfinished run, not a model; give the same fit again to finish it";
            return Err(Error::format(&path, "", message));
        }
        let version: Version = reader.description()?;
        if version.format > FORMAT {
            let message = format!(
                "has the model format {}, written by dkae {}; this is dkae {}, which reads up to format {FORMAT}: \
                 install a newer version",
                version.format,
                version.library,
                env!("CARGO_PKG_VERSION")
            );
            return Err(Error::format(&path, "", message));
        }
        let Description { architecture, scale, about, .. } = reader.description()?;
        // What is wrong with the contents is wrong with this file, not with a setting or with rows.
        let damaged = |place: &str, e: Error| Error::format(&path, place, format!("the file is damaged: {e}"));
        architecture.check().map_err(|e| damaged("architecture", e))?;
        let layers = (0..architecture.layers.len())
            .map(|l| {
                let shape = (architecture.width(l), architecture.width(l + 1));
                Layer::read(shape, architecture.tied, l, |name, shape| reader.take_shaped(name, shape))
            })
            .collect::<Result<_>>()?;
        let scaler = Scaler::from_parts(scale, reader.take("scale.offset")?.1, reader.take("scale.factor")?.1)
            .map_err(|e| damaged("arrays scale.offset and scale.factor", e))?;
        if ![1, architecture.input].contains(&scaler.offset().len()) {
            let message =
                format!("{} numbers for {} features: the file is damaged", scaler.offset().len(), architecture.input);
            return Err(Error::format(&path, "array scale.offset", message));
        }
        let text = if reader.has("text.idf") {
            let m = architecture.input;
            let d = reader.length("text.idf");
            let idf = reader.take_shaped("text.idf", &[d])?;
            let components = Array2::from_shape_vec((m, d), reader.take_shaped("text.components", &[m, d])?)
                .map_err(|e| Error::format(&path, "array text.components", format!("the file is damaged: {e}")))?;
            let singular_values = reader.take_shaped("text.singular_values", &[m])?.into();
            Some((TfIdf { idf }, TruncatedSvd { components, singular_values }))
        } else {
            None
        };
        Ok(Model {
            net: Autoencoder::from_layers(architecture, layers).map_err(|e| damaged("layers", e))?,
            preparation: Preparation { text, scaler },
            about,
        })
    }
}

/// A row with a missing or infinite value has no code and no reconstruction: NaN, rather than the numbers that a rectifier
/// makes of it.
fn mark_missing(input: ArrayView2<f32>, output: &mut Array2<f32>) {
    let mark = |(input, mut output): (ArrayView1<f32>, ArrayViewMut1<f32>)| {
        // All of them, without a way out in between: that goes by vectors.
        if !input.fold(true, |all, v| all & v.is_finite()) {
            output.fill(f32::NAN);
        }
    };
    threads::run(|| {
        let rows = input.axis_iter(Axis(0)).into_par_iter().zip(output.axis_iter_mut(Axis(0)));
        rows.with_min_len(64).for_each(mark);
    });
}

impl Embed for Model {
    fn input_width(&self) -> usize {
        self.input_width()
    }

    fn width(&self) -> usize {
        self.code_width()
    }

    fn embed(&self, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        self.encode(x)
    }
}

impl Invert for Model {
    fn invert(&self, z: ArrayView2<f32>) -> Result<Array2<f32>> {
        self.decode(z)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::sparse::Csr;
    use crate::data::svd::Svd;
    use crate::net::Activation;
    use ndarray::array;
    use proptest::prelude::*;

    fn model(tied: bool, seed: u64) -> Model {
        let architecture = Architecture {
            input: 4,
            layers: vec![5, 3],
            hidden: Activation::Tanh,
            code: Activation::Linear,
            output: Activation::Linear,
            tied,
        };
        let about = About {
            settings: serde_json::json!({ "lambda": 0.1 }),
            kernel: "linear".into(),
            shape: Shape::Image { channels: 1, height: 2, width: 2 },
            names: Some(["a", "b", "c", "<d>"].map(String::from).to_vec()),
            rows: 9,
            figures: [("test.code".to_owned(), 0.1)].into(),
            history: vec![Record { phase: 2, step: 10, reconstruction: 0.3, code: 0.2, validation: Some((0.4, 0.1)) }],
            caller: serde_json::Value::Null,
        };
        let scaler =
            Scaler::from_parts(Scale::Standard, vec![1.0, 2.0, 3.0, 4.0], vec![0.5, 0.25, 2.0, 1.0 / 3.0]).unwrap();
        Model::new(Autoencoder::new(architecture, seed).unwrap(), about)
            .with_preparation(Preparation { text: None, scaler })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn a_loaded_model_is_the_same_model_and_saves_to_the_same_bytes(tied: bool, seed: u64) {
            let folder = tempfile::tempdir().unwrap();
            let (first, second) = (folder.path().join("1.dkae"), folder.path().join("2.dkae"));
            let made = model(tied, seed);
            made.save(&first).unwrap();
            let read = Model::load(&first).unwrap();
            read.save(&second).unwrap();
            prop_assert_eq!(std::fs::read(&first).unwrap(), std::fs::read(&second).unwrap());
            prop_assert_eq!(std::fs::read(&first).unwrap(), Model::from_bytes(&made.to_bytes().unwrap()).unwrap().to_bytes().unwrap());
            prop_assert_eq!(made.about(), read.about());
            let x = array![[1.0, 2.0, 3.0, 4.0], [0.0, -1.0, 0.5, 9.0]];
            let codes = made.encode(x.view()).unwrap();
            prop_assert_eq!(&codes, &read.encode(x.view()).unwrap());
            prop_assert_eq!(made.decode(codes.view()).unwrap(), read.reconstruct(x.view()).unwrap());
        }
    }

    #[test]
    fn rows_are_scaled_on_the_way_in_and_back_on_the_way_out() {
        let made = model(true, 1);
        let x = array![[3.0, 6.0, 4.0, 7.0]];
        let scaled = array![[1.0, 1.0, 2.0, 1.0]];
        let codes = made.encode(x.view()).unwrap();
        assert_eq!(codes, made.net().encode(scaled.view()).unwrap());
        let (raw, prepared) = (made.decode(codes.view()).unwrap(), made.net().decode(codes.view()).unwrap());
        for (j, (offset, factor)) in [(1.0, 0.5), (2.0, 0.25), (3.0, 2.0), (4.0, 1.0 / 3.0)].into_iter().enumerate() {
            assert!((raw[[0, j]] - (prepared[[0, j]] / factor + offset)).abs() < 1e-5);
        }
    }

    #[test]
    fn a_text_model_saves_to_the_same_bytes_and_gives_the_same_codes() {
        let counts = Array2::from_shape_fn((14, 9), |(i, j)| ((i * 7 + j * 5 + i * j) % 4) as f32);
        let sparse = Csr::from_dense(counts.view());
        let tfidf = TfIdf::fit(&sparse).unwrap();
        let weights = tfidf.transform(&sparse).unwrap();
        let svd = Svd { components: 4, seed: 1 }.fit(&weights).unwrap();
        let scaler = Scale::Standard.fit(svd.transform(&weights).unwrap().view(), Shape::Vector).unwrap();
        let made = model(false, 3).with_preparation(Preparation { text: Some((tfidf, svd)), scaler });
        assert_eq!((made.input_width(), made.code_width()), (9, 3));
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("1.dkae"), folder.path().join("2.dkae"));
        made.save(&first).unwrap();
        let read = Model::load(&first).unwrap();
        read.save(&second).unwrap();
        assert_eq!(std::fs::read(&first).unwrap(), std::fs::read(&second).unwrap());
        assert_eq!(made.preparation(), read.preparation());
        let codes = made.encode(counts.view()).unwrap();
        assert!(codes.iter().all(|v| v.is_finite()) && codes.row(0) != codes.row(1));
        assert_eq!(codes, read.encode(counts.view()).unwrap());
        assert_eq!(made.decode(codes.view()).unwrap(), read.decode(codes.view()).unwrap());
        assert_eq!(made.reconstruct(counts.view()).unwrap(), read.reconstruct(counts.view()).unwrap());
    }

    #[test]
    fn what_a_caller_keeps_is_found_again_and_nothing_takes_no_room() {
        let mut made = model(true, 1);
        let plain = made.to_bytes().unwrap();
        assert!(!String::from_utf8_lossy(&plain).contains("caller"));
        assert!(Model::from_bytes(&plain).unwrap().about().caller.is_null());
        made.about_mut().caller = serde_json::json!({ "gamma": 0.1 });
        assert_eq!(Model::from_bytes(&made.to_bytes().unwrap()).unwrap().about(), made.about());
    }

    #[test]
    fn rows_with_a_missing_or_infinite_value_have_no_code_and_the_others_keep_theirs() {
        let model = model(true, 1);
        let mut x = Array2::from_shape_fn((300, 4), |(i, j)| ((i * 4 + j) as f32).sin());
        let codes = model.encode(x.view()).unwrap();
        (x[[0, 3]], x[[130, 0]], x[[299, 2]]) = (f32::NAN, f32::INFINITY, f32::NEG_INFINITY);
        for (i, (found, want)) in model.encode(x.view()).unwrap().rows().into_iter().zip(codes.rows()).enumerate() {
            match i {
                0 | 130 | 299 => assert!(found.iter().all(|v| v.is_nan()), "row {i}"),
                _ => assert_eq!(found, want, "row {i}"),
            }
        }
    }

    #[test]
    fn a_newer_format_is_refused_with_a_clear_message() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new.dkae");
        model(true, 1).save(&path).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        let version = br#"\"format\":1"#;
        let at = bytes.windows(version.len()).position(|w| w == version).unwrap() + version.len() - 1;
        bytes[at] = b'9';
        std::fs::write(&path, bytes).unwrap();
        let message = Model::load(&path).unwrap_err().to_string();
        assert!(message.contains("format 9") && message.contains("install a newer version"), "{message}");
    }
}
