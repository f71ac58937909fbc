//! Reference numbers of other libraries for tests: JSON files under `tests/fixtures`, each made by the script beside it.

use ndarray::Array2;
use serde_json::Value;

/// One fixture file: named numbers, lists and matrices.
pub struct Fixture(Value);

impl Fixture {
    /// Reads `tests/fixtures/{name}.json`.
    pub fn load(name: &str) -> Self {
        let path = format!("{}/tests/fixtures/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        Self(serde_json::from_str(&text).unwrap_or_else(|e| panic!("{path}: {e}")))
    }

    /// The list of numbers `name`; a single number is a list of one.
    pub fn list(&self, name: &str) -> Vec<f64> {
        match &self.0[name] {
            Value::Array(values) => values.iter().map(|v| v.as_f64().expect("a number")).collect(),
            value => vec![value.as_f64().unwrap_or_else(|| panic!("no numbers called {name}"))],
        }
    }

    /// The matrix `name`, a list of rows.
    pub fn array(&self, name: &str) -> Array2<f32> {
        let rows = self.0[name].as_array().unwrap_or_else(|| panic!("no matrix called {name}"));
        let width = rows.first().and_then(Value::as_array).map_or(0, Vec::len);
        let values = rows.iter().flat_map(|row| row.as_array().expect("a row"));
        let values = values.map(|v| v.as_f64().expect("a number") as f32).collect();
        Array2::from_shape_vec((rows.len(), width), values).expect("rows of one length")
    }
}
