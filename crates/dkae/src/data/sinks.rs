//! Writers of npy and csv files, block by block.

use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use ndarray::ArrayView2;

use super::atomic::AtomicFile;
use super::stream::{RowSink, check_width};
use crate::{Error, Result};

/// Writes an npy file of f32. The number of rows is known at the end only, so the header is written twice.
pub(crate) struct NpySink {
    file: AtomicFile,
    width: usize,
    rows: u64,
    buffer: Vec<u8>,
}

/// The length of the header: room for any number of rows, and the numbers begin at a multiple of 64 bytes.
const NPY_HEADER: usize = 128;

/// The header of an array of items of a type, such as `<f4`.
pub(super) fn npy_header(descr: &str, shape: &str) -> [u8; NPY_HEADER] {
    let mut header = [b' '; NPY_HEADER];
    header[..10].copy_from_slice(b"\x93NUMPY\x01\x00\x76\x00");
    let dictionary = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    header[10..10 + dictionary.len()].copy_from_slice(dictionary.as_bytes());
    header[NPY_HEADER - 1] = b'\n';
    header
}

fn rows_header(rows: u64, width: usize) -> [u8; NPY_HEADER] {
    npy_header("<f4", &format!("({rows}, {width})"))
}

impl NpySink {
    pub fn create(path: &Path, width: usize) -> Result<Self> {
        let mut file = AtomicFile::create(path)?;
        file.write_all(&rows_header(0, width)).map_err(Error::io(path))?;
        Ok(Self { file, width, rows: 0, buffer: Vec::new() })
    }
}

impl RowSink for NpySink {
    fn write(&mut self, rows: ArrayView2<f32>) -> Result<()> {
        check_width(self.file.path(), self.width, rows)?;
        for row in rows.rows() {
            self.buffer.clear();
            self.buffer.extend(row.iter().flat_map(|v| v.to_le_bytes()));
            self.file.write_all(&self.buffer).map_err(Error::io(self.file.path()))?;
        }
        self.rows += rows.nrows() as u64;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        let header = rows_header(self.rows, self.width);
        let written = self.file.seek(SeekFrom::Start(0)).and_then(|_| self.file.write_all(&header));
        written.map_err(Error::io(self.file.path()))?;
        self.file.commit()
    }
}

/// Plain or compressed bytes.
enum Output {
    Plain(AtomicFile),
    Gzip(Box<GzEncoder<AtomicFile>>),
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Plain(file) => file.write(bytes),
            Self::Gzip(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Self::Plain(file) => file.flush(),
            Self::Gzip(file) => file.flush(),
        }
    }
}

/// Writes a csv file; numbers have as many digits as it takes to read the same f32 back.
pub(crate) struct CsvSink {
    output: Output,
    path: PathBuf,
    width: usize,
    delimiter: u8,
    line: Vec<u8>,
}

impl CsvSink {
    pub fn create(path: &Path, width: usize, names: Option<&[String]>, delimiter: u8, gzip: bool) -> Result<Self> {
        let file = AtomicFile::create(path)?;
        let output = if gzip {
            Output::Gzip(Box::new(GzEncoder::new(file, Compression::default())))
        } else {
            Output::Plain(file)
        };
        let mut sink = Self { output, path: path.to_owned(), width, delimiter, line: Vec::new() };
        if let Some(names) = names {
            // Quotes names that need it.
            let mut header = csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
            let written = header.write_record(names).map_err(std::io::Error::from);
            let bytes = written.and_then(|()| header.into_inner().map_err(|e| e.into_error()));
            bytes.and_then(|bytes| sink.output.write_all(&bytes)).map_err(Error::io(path))?;
        }
        Ok(sink)
    }
}

impl RowSink for CsvSink {
    fn write(&mut self, rows: ArrayView2<f32>) -> Result<()> {
        check_width(&self.path, self.width, rows)?;
        for row in rows.rows() {
            self.line.clear();
            for (j, &v) in row.iter().enumerate() {
                if j > 0 {
                    self.line.push(self.delimiter);
                }
                // Very small and very large numbers would fill the line with zeros.
                let written = if v == 0.0 || (1e-5..1e9).contains(&v.abs()) {
                    write!(self.line, "{v}")
                } else {
                    write!(self.line, "{v:e}")
                };
                written.map_err(Error::io(&self.path))?;
            }
            self.line.push(b'\n');
            self.output.write_all(&self.line).map_err(Error::io(&self.path))?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        match self.output {
            Output::Plain(file) => file.commit(),
            Output::Gzip(file) => file.finish().map_err(Error::io(&self.path))?.commit(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_an_error_that_names_the_file() {
        let rows = Array2::<f32>::ones((100_000, 4));
        let path = Path::new("/dev/full");
        let sinks: [Box<dyn RowSink>; 3] = [
            Box::new(NpySink::create(path, 4).unwrap()),
            Box::new(CsvSink::create(path, 4, None, b',', false).unwrap()),
            Box::new(CsvSink::create(path, 4, None, b',', true).unwrap()),
        ];
        for mut sink in sinks {
            let e = sink.write(rows.view()).and_then(|()| sink.finish()).unwrap_err().to_string();
            assert!(e.starts_with("/dev/full: No space left"), "{e}");
        }
    }

    #[test]
    fn headers_have_their_length_for_any_shape() {
        let header = rows_header(u64::MAX, usize::MAX);
        assert!(header.ends_with(b"\n") && String::from_utf8_lossy(&header[10..]).contains("18446744073709551615), }"));
    }
}
