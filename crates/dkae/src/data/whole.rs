//! A file of one whole number per row, such as the cluster of each: int64 in npy (one axis) and Parquet, plain digits in csv.

use std::io::Write;
use std::path::Path;

use ndarray::ArrayView2;

use super::atomic::AtomicFile;
use super::sinks::npy_header;
use super::stream;
use crate::{Error, Result};

/// Writes a number per row to a file whose name says the format, as in [`stream::create`]; `name` is the column's. As text
/// they must be below 2^24.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("clusters.csv");
/// dkae::data::write_whole(&path, "cluster", &[2, 0, 1])?;
/// assert_eq!(std::fs::read_to_string(&path)?, "cluster\n2\n0\n1\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_whole(path: impl AsRef<Path>, name: &str, numbers: &[u32]) -> Result<()> {
    let path = path.as_ref();
    match path.extension().map(|e| e.to_ascii_lowercase()).as_ref().and_then(|e| e.to_str()) {
        Some("npy") => {
            let mut file = AtomicFile::create(path)?;
            let shape = format!("({},)", numbers.len());
            let mut bytes = npy_header("<i8", &shape).to_vec();
            bytes.extend(numbers.iter().flat_map(|&n| i64::from(n).to_le_bytes()));
            file.write_all(&bytes).map_err(Error::io(path))?;
            file.commit()
        }
        #[cfg(feature = "parquet")]
        Some("parquet" | "pq") => super::parquet::write_whole(path, name, numbers),
        _ => {
            let mut sink = stream::create(path, 1, Some(&[name.to_owned()]))?;
            // The text of whole numbers that f32 holds exactly is the same.
            if let Some(large) = numbers.iter().find(|&&n| n >= 1 << 24) {
                let message = format!("{}: {large} is too large to be written as text", path.display());
                return Err(Error::Data(message));
            }
            for chunk in numbers.chunks(1 << 16) {
                let values: Vec<f32> = chunk.iter().map(|&n| n as f32).collect();
                let rows =
                    ArrayView2::from_shape((values.len(), 1), &values).map_err(|e| Error::Data(e.to_string()))?;
                sink.write(rows)?;
            }
            sink.finish()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::read::{ReadOptions, read};

    #[test]
    fn numbers_come_back_from_every_format() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.npy", "a.csv", "a.tsv.gz", "a.parquet", "A.NPY"] {
            let path = folder.path().join(name);
            write_whole(&path, "cluster", &[3, 0, 70_000]).unwrap();
            let table = read(&path, &ReadOptions::default()).unwrap();
            assert_eq!(table.x, ndarray::array![[3.0], [0.0], [70_000.0]], "{name}");
            let named = table.names.is_none_or(|names| names == ["cluster"]);
            assert!(named, "{name}");
        }
        let npy = std::fs::read(folder.path().join("a.npy")).unwrap();
        let header = String::from_utf8_lossy(&npy[10..128]).into_owned();
        assert!(header.contains("'descr': '<i8'") && header.contains("'shape': (3,)"), "{header}");
        assert_eq!(npy.len(), 128 + 3 * 8);
        assert!(write_whole(folder.path().join("a.xlsx"), "c", &[1]).is_err());
    }
}
