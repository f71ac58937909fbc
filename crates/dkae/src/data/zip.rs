//! Just enough of the zip format to read the arrays of an npz file: the table at the end of the file, entries stored or
//! deflated, zip64 for archives over 4 GB. An entry is unpacked as it is read, and its checksum is verified at its end.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::Crc;
use flate2::bufread::DeflateDecoder;

use super::input::Input;
use crate::{Error, Result};

/// One file in an archive.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub name: String,
    method: u16,
    crc: u32,
    packed: u64,
    /// Where the entry's own header begins.
    offset: u64,
}

const END: u32 = 0x0605_4b50;
const END_64: u32 = 0x0606_4b50;
const LOCATOR_64: u32 = 0x0706_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const LOCAL: u32 = 0x0403_4b50;

fn bad(path: &Path, message: &str) -> Error {
    Error::format(path, "", format!("not a readable npz archive: {message}; it is truncated or of another format"))
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    number(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    number(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    number(bytes, at).map(u64::from_le_bytes)
}

/// `length` bytes from `offset` on, or as many as there are.
fn piece(file: &mut File, path: &Path, offset: u64, length: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(offset)).map_err(Error::io(path))?;
    file.take(length).read_to_end(&mut bytes).map_err(Error::io(path))?;
    Ok(bytes)
}

/// The list of files in an archive.
pub(crate) fn entries(path: &Path) -> Result<Vec<Entry>> {
    let mut file = File::open(path).map_err(Error::io(path))?;
    let size = file.metadata().map_err(Error::io(path))?.len();
    // The end record has 22 bytes and a comment of at most 65535.
    let tail_start = size.saturating_sub(22 + 65535 + 20);
    let tail = piece(&mut file, path, tail_start, size - tail_start)?;
    let end = (0..tail.len().saturating_sub(21)).rev().find(|&i| u32_at(&tail, i) == Some(END));
    let end = end.ok_or_else(|| bad(path, "the table at its end is missing"))?;
    let mut length = u64::from(u32_at(&tail, end + 12).unwrap_or(0));
    let mut start = u64::from(u32_at(&tail, end + 16).unwrap_or(0));
    if let Some(locator) = end.checked_sub(20)
        && u32_at(&tail, locator) == Some(LOCATOR_64)
    {
        let at = u64_at(&tail, locator + 8).unwrap_or(u64::MAX);
        let record = piece(&mut file, path, at.min(size), 56)?;
        if u32_at(&record, 0) != Some(END_64) || record.len() < 56 {
            return Err(bad(path, "its zip64 table is missing"));
        }
        length = u64_at(&record, 40).unwrap_or(0);
        start = u64_at(&record, 48).unwrap_or(0);
    }
    if start.checked_add(length).is_none_or(|end| end > size) {
        return Err(bad(path, "its table lies outside the file"));
    }
    let table = piece(&mut file, path, start, length)?;
    let mut found = Vec::new();
    let mut rest = &table[..];
    while u32_at(rest, 0) == Some(CENTRAL) {
        let (entry, used) = central(rest).ok_or_else(|| bad(path, "an entry of its table is cut off"))?;
        found.push(entry);
        rest = &rest[used..];
    }
    Ok(found)
}

/// Reads one entry of the table; also how many bytes it takes.
fn central(bytes: &[u8]) -> Option<(Entry, usize)> {
    let length = |at| u16_at(bytes, at).map(usize::from);
    let (name_length, extra_length, comment_length) = (length(28)?, length(30)?, length(32)?);
    let name = bytes.get(46..46 + name_length)?;
    let mut extra = bytes.get(46 + name_length..46 + name_length + extra_length)?;
    let mut packed = u64::from(u32_at(bytes, 20)?);
    let mut unpacked = u64::from(u32_at(bytes, 24)?);
    let mut offset = u64::from(u32_at(bytes, 42)?);
    while let (Some(tag), Some(size)) = (u16_at(extra, 0), u16_at(extra, 2)) {
        let field = extra.get(4..4 + usize::from(size))?;
        if tag == 1 {
            // Sizes that did not fit in 32 bits, in this order, only those that did not.
            let mut at = 0;
            let mut next = |value: &mut u64| {
                if *value == u64::from(u32::MAX) {
                    *value = u64_at(field, at)?;
                    at += 8;
                }
                Some(())
            };
            next(&mut unpacked)?;
            next(&mut packed)?;
            next(&mut offset)?;
        }
        extra = &extra[4 + usize::from(size)..];
    }
    let entry = Entry {
        name: String::from_utf8_lossy(name).into_owned(),
        method: u16_at(bytes, 10)?,
        crc: u32_at(bytes, 16)?,
        packed,
        offset,
    };
    let used = 46 + name_length + extra_length + comment_length;
    (bytes.len() >= used).then_some((entry, used))
}

/// The unpacked bytes of an entry.
pub(crate) fn open(path: &Path, entry: &Entry) -> Result<Input> {
    let mut file = File::open(path).map_err(Error::io(path))?;
    let header = piece(&mut file, path, entry.offset, 30)?;
    let (Some(LOCAL), Some(name), Some(extra)) = (u32_at(&header, 0), u16_at(&header, 26), u16_at(&header, 28)) else {
        return Err(bad(path, &format!("the entry `{}` is missing", entry.name)));
    };
    let start = entry.offset + 30 + u64::from(name) + u64::from(extra);
    file.seek(SeekFrom::Start(start)).map_err(Error::io(path))?;
    let packed = BufReader::with_capacity(1 << 16, file.take(entry.packed));
    let size = std::fs::metadata(path).map_err(Error::io(path))?.len().min(entry.packed);
    let (most_bytes, bytes): (u64, Box<dyn Read + Send>) = match entry.method {
        0 => (size, Box::new(packed)),
        8 => (size.saturating_mul(1032), Box::new(DeflateDecoder::new(packed))),
        other => return Err(bad(path, &format!("the entry `{}` is packed by method {other}", entry.name))),
    };
    let checked = Checked { inner: bytes, crc: Crc::new(), expected: entry.crc };
    Ok(Input {
        path: path.to_owned(),
        reader: Box::new(BufReader::with_capacity(1 << 16, checked)),
        most_bytes: Some(most_bytes),
        gzip: true,
    })
}

/// Passes bytes on and complains at the end if they are not those that were packed.
struct Checked {
    inner: Box<dyn Read + Send>,
    crc: Crc,
    expected: u32,
}

impl Read for Checked {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let got = self.inner.read(out)?;
        self.crc.update(&out[..got]);
        if got == 0 && !out.is_empty() && self.crc.sum() != self.expected {
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, "wrong checksum"));
        }
        Ok(got)
    }
}
