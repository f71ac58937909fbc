//! Opening a file for reading: plain or gzip by its first bytes, and what an I/O error means for the user.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::GzDecoder;

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
        let file = File::open(path).map_err(|e| match e.kind() {
            // What many commands call standard input.
            ErrorKind::NotFound if path == Path::new("-") => {
                Error::format(path, "", "there is no such file; for standard input give /dev/stdin")
            }
            _ => Error::io(path)(e),
        })?;
        let metadata = file.metadata().map_err(Error::io(path))?;
        if metadata.is_dir() {
            return Err(Error::format(path, "", "is a folder; give the file in it"));
        }
        let size = metadata.is_file().then_some(metadata.len());
        let mut reader = BufReader::with_capacity(1 << 16, file);
        let start = reader.fill_buf().map_err(Error::io(path))?;
        if start.starts_with(&[0x1f, 0x8b]) {
            let members = Members { member: Some(GzDecoder::new(reader)) };
            let inner = BufReader::with_capacity(1 << 16, members);
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

/// The members of a gzip file one after the other: files that were joined stay readable. Zeros at the end are padding, as
/// tapes have it; anything else there is damage, and not the beginning of a member that is cut off.
struct Members {
    member: Option<GzDecoder<BufReader<File>>>,
}

impl Read for Members {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        while let Some(member) = &mut self.member {
            let got = member.read(out)?;
            if got > 0 || out.is_empty() {
                return Ok(got);
            }
            let Some(mut rest) = self.member.take().map(GzDecoder::into_inner) else { break };
            match first_that_is_not_zero(&mut rest)? {
                None => break,
                Some(0x1f) => self.member = Some(GzDecoder::new(rest)),
                Some(_) => {
                    let message = "something that is not gzip follows where it ends";
                    return Err(std::io::Error::new(ErrorKind::InvalidData, message));
                }
            }
        }
        Ok(0)
    }
}

/// The bytes that some editors put before UTF-8 text.
pub(crate) const MARK: &[u8] = b"\xef\xbb\xbf";

impl Input {
    /// Goes past the mark of UTF-8 text, if there is one: it is no part of the text.
    pub fn skip_mark(&mut self) -> Result<()> {
        if self.peek(MARK.len() as u64)? == MARK {
            let mut mark = Vec::new();
            self.fill(MARK.len(), &mut mark)?;
        }
        Ok(())
    }
}

/// Skips zeros; the byte after them stays to be read.
fn first_that_is_not_zero(rest: &mut impl BufRead) -> std::io::Result<Option<u8>> {
    loop {
        let bytes = rest.fill_buf()?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let zeros = bytes.iter().take_while(|&&b| b == 0).count();
        let next = bytes.get(zeros).copied();
        rest.consume(zeros);
        if next.is_some() {
            return Ok(next);
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::test_files::{gzip, message, write};

    fn unpacked(bytes: &[u8]) -> Result<Vec<u8>> {
        let folder = tempfile::tempdir().unwrap();
        let mut input = Input::open(&write(&folder, "a.gz", bytes))?;
        let mut out = Vec::new();
        input.fill(usize::MAX, &mut out)?;
        Ok(out)
    }

    #[test]
    fn joined_and_padded_gzip_files_are_read() {
        let (a, b) = (gzip(b"one "), gzip(b"two"));
        assert_eq!(unpacked(&[&a[..], &b].concat()).unwrap(), b"one two");
        // More padding than fits in a buffer.
        assert_eq!(unpacked(&[&a[..], &b, &[0; 100_000]].concat()).unwrap(), b"one two");
        assert_eq!(unpacked(&[&a[..], &[0; 512], &b].concat()).unwrap(), b"one two");
    }

    #[test]
    fn damage_is_told_from_truncation() {
        let packed = gzip(b"one two three");
        for rest in [&b"x"[..], b"xy", b"more than a header of gzip has", b"\0\0x"] {
            let said = message(unpacked(&[&packed[..], rest].concat()));
            assert!(said.contains("damaged") && said.contains("follows where it ends"), "{said}");
        }
        for keep in [3, 12, packed.len() - 9, packed.len() - 1] {
            let said = message(unpacked(&packed[..keep]));
            assert!(said.contains("truncated") && !said.contains("damaged"), "{keep}: {said}");
        }
        // A second member that is cut off.
        let said = message(unpacked(&[&packed[..], &packed[..8]].concat()));
        assert!(said.contains("truncated"), "{said}");
        let mut flipped = packed.clone();
        let checksum = flipped.len() - 6;
        flipped[checksum] ^= 1;
        assert!(message(unpacked(&flipped)).contains("damaged"));
    }

    #[test]
    fn a_dash_is_told_how_standard_input_is_called() {
        assert!(message(Input::open(Path::new("-"))).contains("/dev/stdin"));
    }
}
