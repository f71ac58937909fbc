//! Opening a file for reading: plain or gzip by its first bytes, and what an I/O error means for the user.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use crate::{Error, Result};

/// Deflate cannot expand one byte to more than 1032, so a gzip file's size bounds what is inside.
const MOST_EXPANSION: u64 = 1032;

/// The bytes of a file, unpacked when it is a gzip file.
pub(crate) struct Input {
    pub path: PathBuf,
    pub reader: Box<dyn BufRead + Send>,
    /// The most bytes that can come: a header that promises more is wrong. `None` for pipes.
    pub most_bytes: Option<u64>,
    pub gzip: bool,
}

impl Input {
    /// Opens a file; gzip is known by its magic number, whatever the name.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(Error::io(path))?;
        let metadata = file.metadata().map_err(Error::io(path))?;
        if metadata.is_dir() {
            return Err(Error::format(path, "", "is a folder; give the file in it"));
        }
        let size = metadata.is_file().then_some(metadata.len());
        let mut reader = BufReader::with_capacity(1 << 16, file);
        let start = reader.fill_buf().map_err(Error::io(path))?;
        if start.starts_with(&[0x1f, 0x8b]) {
            let inner = BufReader::with_capacity(1 << 16, MultiGzDecoder::new(reader));
            let most_bytes = size.map(|s| s.saturating_mul(MOST_EXPANSION));
            return Ok(Self { path: path.to_owned(), reader: Box::new(inner), most_bytes, gzip: true });
        }
        Ok(Self { path: path.to_owned(), reader: Box::new(reader), most_bytes: size, gzip: false })
    }

    /// Some of the first bytes (all of them when the file is shorter), which stay to be read.
    pub fn peek(&mut self, most: u64) -> Result<Vec<u8>> {
        let mut start = Vec::new();
        let read = self.reader.by_ref().take(most).read_to_end(&mut start);
        read.map_err(|e| self.error(e))?;
        let rest = std::mem::replace(&mut self.reader, Box::new(std::io::empty()));
        self.reader = Box::new(Cursor::new(start.clone()).chain(rest));
        Ok(start)
    }

    /// Up to `most` bytes into `buffer`, replacing what it held. The buffer grows with what arrives, not with `most`.
    pub fn fill(&mut self, most: usize, buffer: &mut Vec<u8>) -> Result<()> {
        buffer.clear();
        let read = self.reader.by_ref().take(most as u64).read_to_end(buffer);
        read.map(|_| ()).map_err(|e| self.error(e))
    }

    /// Whether all bytes have been read; for gzip this also checks its checksum.
    pub fn at_end(&mut self) -> Result<bool> {
        let empty = self.reader.fill_buf().map(|b| b.is_empty());
        empty.map_err(|e| self.error(e))
    }

    /// What a failed read means: damage in the file, or the system's refusal.
    pub fn error(&self, e: std::io::Error) -> Error {
        read_error(&self.path, e)
    }
}

/// As [`Input::error`], for a path.
pub(crate) fn read_error(path: &Path, e: std::io::Error) -> Error {
    match e.kind() {
        ErrorKind::UnexpectedEof => {
            Error::format(path, "", "the compressed file is truncated; copy or download it again")
        }
        ErrorKind::InvalidData | ErrorKind::InvalidInput => {
            Error::format(path, "", format!("the compressed file is damaged ({e}); copy or download it again"))
        }
        _ => Error::io(path)(e),
    }
}
