//! What the tests on real data share: where those are.

use std::path::{Path, PathBuf};

/// A file of the data folder: `DKAE_DATA`, or `../shared/data` beside the workspace.
///
/// Without it the test has nothing to do: a line says so and there is no path. Where `DKAE_REQUIRE_DATA` is set, as it
/// is when every test is meant to run, that is a failure instead.
pub fn shared_data(file: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = std::env::var_os("DKAE_DATA").map_or(beside, PathBuf::from).join(file);
    if path.exists() {
        return Some(path);
    }
    let message = format!("{} is not there; set DKAE_DATA to the folder of the data", path.display());
    assert!(std::env::var_os("DKAE_REQUIRE_DATA").is_none(), "{message} (DKAE_REQUIRE_DATA is set)");
    println!("skipped: {message}");
    None
}
