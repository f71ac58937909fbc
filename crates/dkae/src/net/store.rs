//! Named arrays and a description in one safetensors file: what model files and checkpoints have in common.
//!
//! The description is JSON under the single metadata key `dkae`: with one key, the order of keys in the file cannot vary,
//! and the same contents give the same bytes.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::data::atomic::write_atomically;
use crate::{Error, Result};

/// The metadata key that holds the description.
const KEY: &str = "dkae";

/// Arrays and a description, to be written.
#[derive(Default)]
pub struct Writer<'a> {
    tensors: BTreeMap<String, (Vec<usize>, &'a [f32])>,
}

impl<'a> Writer<'a> {
    /// Adds an array.
    pub fn add(&mut self, name: impl Into<String>, shape: Vec<usize>, values: &'a [f32]) {
        assert_eq!(shape.iter().product::<usize>(), values.len(), "shape and values");
        self.tensors.insert(name.into(), (shape, values));
    }

    /// Writes the file, whole or not at all.
    pub fn write(&self, path: impl AsRef<Path>, description: &impl Serialize) -> Result<()> {
        let bytes = self.bytes(&path, description)?;
        write_atomically(path, |file| file.write_all(&bytes))
    }

    /// The bytes of the file; `path` is for messages.
    pub fn bytes(&self, path: impl AsRef<Path>, description: &impl Serialize) -> Result<Vec<u8>> {
        let description = serde_json::to_string(description).map_err(|e| Error::format(&path, "", e.to_string()))?;
        let little_endian: Vec<Vec<u8>> =
            self.tensors.values().map(|(_, v)| v.iter().flat_map(|x| x.to_le_bytes()).collect()).collect();
        let views = self.tensors.iter().zip(&little_endian).map(|((name, (shape, _)), bytes)| {
            let view = TensorView::new(Dtype::F32, shape.clone(), bytes).expect("the shape was checked when added");
            (name.as_str(), view)
        });
        safetensors::serialize(views, Some(HashMap::from([(KEY.to_owned(), description)])))
            .map_err(|e| Error::format(&path, "", format!("cannot be written as safetensors: {e}")))
    }
}

/// Arrays and a description, as read.
pub struct Reader {
    path: std::path::PathBuf,
    tensors: BTreeMap<String, (Vec<usize>, Vec<f32>)>,
    description: String,
}

impl Reader {
    /// Reads a file. Any file may be passed: what is not a file of ours is an error that says so.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::parse(&path, &std::fs::read(&path).map_err(Error::io(&path))?)
    }

    /// Reads the bytes of a file; `path` is for messages.
    pub fn parse(path: impl AsRef<Path>, bytes: &[u8]) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let foreign = |why: String| Error::format(&path, "", format!("is not a dkae file, or is damaged: {why}"));
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|e| foreign(e.to_string()))?;
        let description = metadata
            .metadata()
            .as_ref()
            .and_then(|m| m.get(KEY))
            .ok_or_else(|| foreign(format!("its metadata has no entry '{KEY}'; was it written by another program?")))?
            .clone();
        let file = SafeTensors::deserialize(bytes).map_err(|e| foreign(e.to_string()))?;
        let mut tensors = BTreeMap::new();
        for (name, view) in file.tensors() {
            if view.dtype() != Dtype::F32 {
                return Err(Error::format(&path, format!("array {name}"), "expected 32-bit floats"));
            }
            let values = view.data().chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
            tensors.insert(name, (view.shape().to_vec(), values));
        }
        Ok(Reader { path, tensors, description })
    }

    /// The description.
    pub fn description<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(&self.description)
            .map_err(|e| Error::format(&self.path, "description", format!("cannot be understood: {e}")))
    }

    /// Takes an array, whatever its shape.
    pub fn take(&mut self, name: &str) -> Result<(Vec<usize>, Vec<f32>)> {
        self.tensors.remove(name).ok_or_else(|| Error::format(&self.path, format!("array {name}"), "is missing"))
    }

    /// Whether an array is there.
    pub fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// How many numbers an array has.
    pub fn length(&self, name: &str) -> usize {
        self.tensors.get(name).map_or(0, |(_, values)| values.len())
    }

    /// Takes an array of this shape, whose numbers must be finite.
    pub fn take_shaped(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let (found, values) = self.take(name)?;
        if found != shape {
            let message = format!("expected the shape {shape:?}, found {found:?}");
            return Err(Error::format(&self.path, format!("array {name}"), message));
        }
        if let Some(i) = values.iter().position(|v| !v.is_finite()) {
            let message = format!("number {i} is {}; the file is damaged", values[i]);
            return Err(Error::format(&self.path, format!("array {name}"), message));
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file(folder: &tempfile::TempDir) -> std::path::PathBuf {
        let path = folder.path().join("a.dkae");
        let mut writer = Writer::default();
        writer.add("b", vec![2, 2], &[1.0, 2.0, 3.0, 4.0]);
        writer.add("a", vec![3], &[-0.0, f32::MIN_POSITIVE / 2.0, 0.1]);
        writer.write(&path, &"hello").unwrap();
        path
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut reader = Reader::open(file(&folder)).unwrap();
        assert_eq!(reader.description::<String>().unwrap(), "hello");
        assert_eq!(reader.take_shaped("b", &[2, 2]).unwrap(), [1.0, 2.0, 3.0, 4.0]);
        let (_, a) = reader.take("a").unwrap();
        assert_eq!(a[1].to_bits(), (f32::MIN_POSITIVE / 2.0).to_bits());
        assert!(reader.take("a").unwrap_err().to_string().contains("array a: is missing"));
    }

    proptest! {
        #[test]
        fn damaged_files_are_errors_not_panics(cut in 0usize..400, flip in 0usize..400, bit in 0u8..8) {
            let folder = tempfile::tempdir().unwrap();
            let path = file(&folder);
            let mut bytes = std::fs::read(&path).unwrap();
            let whole = bytes.len();
            if flip < whole { bytes[flip] ^= 1 << bit; }
            bytes.truncate(cut);
            std::fs::write(&path, &bytes).unwrap();
            if let Ok(mut reader) = Reader::open(&path) {
                let _ = (reader.description::<String>(), reader.take("a"), reader.take("b"));
            }
        }
    }
}
