//! Rows block by block, for files larger than memory: [`open`] to read, [`create`] to write.
//!
//! ```
//! use dkae::data::read::ReadOptions;
//! use dkae::data::stream;
//!
//! # let folder = tempfile::tempdir()?;
//! # let (from, to) = (folder.path().join("in.csv"), folder.path().join("out.npy"));
//! std::fs::write(&from, "1,2\n3,4\n5,6\n")?;
//! let mut source = stream::open(&from, &ReadOptions::default())?;
//! let mut sink = stream::create(&to, source.width(), None)?;
//! while let Some(block) = source.next_block(2)? {
//!     sink.write((block * 10.0).view())?;
//! }
//! sink.finish()?;
//! assert_eq!(dkae::data::npy::read(&to, &ReadOptions::default())?.x[[2, 1]], 60.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::path::Path;

use ndarray::{Array2, ArrayView2};

use super::Shape;
use super::read::ReadOptions;
use super::rows::{Collector, Opened};
use super::sinks::{CsvSink, NpySink};
use crate::{Error, Result};

/// Gives the rows of a file block by block.
pub trait RowSource: Send {
    /// How many features a row has.
    fn width(&self) -> usize;

    /// The next rows, at most `max_rows` and at least one; `None` at the end. After an error it is at the end, too.
    fn next_block(&mut self, max_rows: usize) -> Result<Option<Array2<f32>>>;

    /// How many rows there are, when the file says so; rows that are to be dropped are counted.
    fn rows_hint(&self) -> Option<usize>;

    /// The names of the features, when the file has them.
    fn names(&self) -> Option<&[String]>;

    /// How the features of a row are arranged.
    fn shape(&self) -> Shape;

    /// What is doubtful about the rows so far, for people, as in [`Table::warnings`](super::Table::warnings).
    fn warnings(&self) -> Vec<String>;
}

/// Opens a file of any format that [`super::read::read`] knows; it gives the same rows.
pub fn open(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Box<dyn RowSource>> {
    let path = path.as_ref();
    let (opened, side) = super::read::open(path, options)?;
    let out = Collector::new(path, &opened, side, options);
    Ok(Box::new(Blocks { opened, out, ended: false }))
}

struct Blocks {
    opened: Opened,
    out: Collector,
    ended: bool,
}

impl RowSource for Blocks {
    fn width(&self) -> usize {
        self.opened.width
    }

    fn next_block(&mut self, max_rows: usize) -> Result<Option<Array2<f32>>> {
        let max_rows = max_rows.max(1);
        while !self.ended && self.out.kept < max_rows {
            // Stays set if the reader fails.
            self.ended = true;
            if self.opened.reader.read(max_rows - self.out.kept, &mut self.out)? == 0 {
                self.out.finish()?;
            } else {
                self.ended = false;
            }
        }
        Ok((self.out.kept > 0).then(|| self.out.take_block()))
    }

    fn rows_hint(&self) -> Option<usize> {
        self.opened.rows_hint
    }

    fn names(&self) -> Option<&[String]> {
        self.opened.names.as_deref()
    }

    fn shape(&self) -> Shape {
        self.opened.shape
    }

    fn warnings(&self) -> Vec<String> {
        self.out.warnings()
    }
}

/// Writes rows block by block into a file that appears when it is finished, and not before.
pub trait RowSink: Send {
    /// Appends rows.
    fn write(&mut self, rows: ArrayView2<f32>) -> Result<()>;

    /// Gives the file its name. Without this call nothing is left behind.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Starts a file of rows of `width` features; the format follows from the name: npy, csv, tsv, csv.gz, tsv.gz, parquet.
///
/// `names` become the header of a csv file (without them it has none) and the columns of a Parquet file (without them:
/// `c1`, `c2` and so on); an npy file cannot hold them.
pub fn create(path: impl AsRef<Path>, width: usize, names: Option<&[String]>) -> Result<Box<dyn RowSink>> {
    let path = path.as_ref();
    if width == 0 {
        return Err(Error::Data(format!("{}: rows without features cannot be written", path.display())));
    }
    if let Some(names) = names.filter(|n| n.len() != width) {
        return Err(Error::Data(format!("{}: {} names for {width} features", path.display(), names.len())));
    }
    let name = path.file_name().map(|n| n.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let (stem, gzip) = name.strip_suffix(".gz").map_or((name.as_str(), false), |stem| (stem, true));
    match (stem.rsplit_once('.').map_or("", |(_, extension)| extension), gzip) {
        ("npy", false) => Ok(Box::new(NpySink::create(path, width)?)),
        ("csv", gzip) => Ok(Box::new(CsvSink::create(path, width, names, b',', gzip)?)),
        ("tsv", gzip) => Ok(Box::new(CsvSink::create(path, width, names, b'\t', gzip)?)),
        #[cfg(feature = "parquet")]
        ("parquet" | "pq", false) => Ok(Box::new(super::parquet::ParquetSink::create(path, width, names)?)),
        _ => {
            let message = format!(
                "{}: rows are written as npy, csv, tsv, csv.gz, tsv.gz or parquet; name the file so",
                path.display()
            );
            Err(Error::setting("output", message))
        }
    }
}

/// Refuses rows of another width than the file's.
pub(crate) fn check_width(path: &Path, width: usize, rows: ArrayView2<f32>) -> Result<()> {
    if rows.ncols() != width {
        let message = format!("{}: rows of {} features for a file of {width}", path.display(), rows.ncols());
        return Err(Error::Data(message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::read;
    use crate::data::test_files::{message, write};
    use ndarray::{Array2, array, concatenate, s};

    fn all(path: &Path, options: &ReadOptions, block: usize) -> Array2<f32> {
        let mut source = open(path, options).unwrap();
        let mut blocks = vec![];
        while let Some(rows) = source.next_block(block).unwrap() {
            assert!((1..=block).contains(&rows.nrows()) && rows.ncols() == source.width());
            blocks.push(rows);
        }
        assert!(source.next_block(block).unwrap().is_none());
        concatenate(ndarray::Axis(0), &blocks.iter().map(|b| b.view()).collect::<Vec<_>>()).unwrap()
    }

    fn example() -> Array2<f32> {
        Array2::from_shape_fn((5000, 3), |(i, j)| (i as f32 - 2500.0) * 10f32.powi(j as i32 * 7 - 9) + 0.1)
    }

    #[cfg(feature = "parquet")]
    const OUTPUTS: [&str; 5] = ["a.npy", "a.csv", "a.csv.gz", "a.tsv", "a.parquet"];
    #[cfg(not(feature = "parquet"))]
    const OUTPUTS: [&str; 4] = ["a.npy", "a.csv", "a.csv.gz", "a.tsv"];

    #[test]
    fn what_is_written_in_blocks_is_read_back_bit_for_bit_in_any_blocks() {
        let folder = tempfile::tempdir().unwrap();
        let names: Vec<String> = ["a", "b, c", "d"].map(str::to_owned).to_vec();
        for output in OUTPUTS {
            for names in [None, Some(&names[..])] {
                let path = folder.path().join(output);
                let mut sink = create(&path, 3, names).unwrap();
                let x = example();
                sink.write(x.slice(s![..1234, ..])).unwrap();
                sink.write(x.slice(s![1234..1234, ..])).unwrap();
                // Any layout of the rows.
                sink.write(x.slice(s![1234.., ..]).t().as_standard_layout().t()).unwrap();
                assert!(!path.exists());
                sink.finish().unwrap();
                let options = ReadOptions::default();
                let table = read::read(&path, &options).unwrap();
                assert_eq!(table.x, x, "{output}");
                if let (Some(names), false) = (names, output.ends_with("npy")) {
                    assert_eq!(table.names.as_deref(), Some(names), "{output}");
                }
                for block in [1, 7, 4096, 100_000] {
                    assert_eq!(all(&path, &options, block), x, "{output} {block}");
                }
                std::fs::remove_file(&path).unwrap();
            }
        }
    }

    #[test]
    fn a_sink_that_is_dropped_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        for output in OUTPUTS {
            let mut sink = create(folder.path().join(output), 3, None).unwrap();
            sink.write(example().view()).unwrap();
            drop(sink);
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{output}");
        }
    }

    #[test]
    fn wrong_widths_and_unknown_formats_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        for output in OUTPUTS {
            let mut sink = create(folder.path().join(output), 2, None).unwrap();
            assert!(message(sink.write(example().view())).contains("rows of 3 features for a file of 2"));
        }
        assert!(message(create("a.xlsx", 2, None)).starts_with("output: a.xlsx: rows are written as npy"));
        assert!(message(create("a.npy", 0, None)).contains("without features"));
        assert!(message(create("a.csv", 2, Some(&["a".to_owned()]))).contains("1 names for 2 features"));
    }

    #[test]
    fn dropped_rows_do_not_make_blocks_short() {
        let folder = tempfile::tempdir().unwrap();
        let path = write(&folder, "a.csv", b"1,a\n2,b\n3,a\n4,b\n5,a\n");
        let options = ReadOptions {
            label: Some("last".parse().unwrap()),
            drop_label: Some("b".into()),
            ..ReadOptions::default()
        };
        let mut source = open(&path, &options).unwrap();
        assert_eq!(source.next_block(2).unwrap().unwrap(), array![[1.0], [3.0]]);
        assert_eq!(source.next_block(2).unwrap().unwrap(), array![[5.0]]);
        assert!(source.next_block(2).unwrap().is_none());
    }

    #[test]
    fn a_source_that_failed_is_at_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = write(&folder, "a.csv", b"1\n2\nx\n4\n");
        let mut source = open(&path, &ReadOptions::default()).unwrap();
        assert_eq!(source.next_block(2).unwrap().unwrap().nrows(), 2);
        assert!(source.next_block(2).is_err());
        assert!(source.next_block(2).unwrap().is_none());
    }
}
