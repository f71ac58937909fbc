//! NumPy arrays: npy, and npz archives of several.
//!
//! An npy file is the magic number `\x93NUMPY`, a version, the length of a header, the header (a Python dictionary with
//! the type, the order and the shape) and the numbers. The first axis counts the rows; one axis alone is one feature per
//! row, three are grey pictures, four with 1 or 3 in the second place are pictures by planes. Rows of an array in Fortran
//! order lie scattered over the file; they are gathered block by block.

use std::fs::File;
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::input::{Input, read_error};
use super::read::{Column, Format, ReadOptions, read_as};
use super::records::{Contiguous, Element, Kind, Records, end_row};
use super::rows::{Collector, Interner, Opened, Reader};
use super::{Labels, Shape, Table, zip};
use crate::{Error, Result};

/// Reads an npy file.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Table> {
    read_as(Format::Npy, path.as_ref(), options)
}

/// Reads an npz file: one array of rows, and one of labels when there is one.
pub fn read_npz(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Table> {
    read_as(Format::Npz, path.as_ref(), options)
}

pub(crate) fn open(input: Input, options: &ReadOptions) -> Result<Opened> {
    options.refuse_columns("npy")?;
    open_array(input, None)
}

/// The names that arrays of rows and of labels usually have, the likeliest first.
const ROWS: [&str; 4] = ["x", "X", "data", "arr_0"];
const LABELS: [&str; 4] = ["y", "labels", "label", "target"];

pub(crate) fn open_npz(input: Input, options: &ReadOptions) -> Result<Opened> {
    ReadOptions { label: None, ..options.clone() }.refuse_columns("npz")?;
    let path = input.path;
    let entries = zip::entries(&path)?;
    let array = |name: &str| entries.iter().find(|e| e.name.strip_suffix(".npy") == Some(name));
    let known = || {
        let names: Vec<_> = entries.iter().filter_map(|e| e.name.strip_suffix(".npy")).collect();
        if names.is_empty() { "no arrays".to_owned() } else { names.join(", ") }
    };
    let rows = match &options.array {
        Some(name) => array(name).ok_or_else(|| format!("no array is called `{name}`; there are: {}", known())),
        None => ROWS.iter().find_map(|name| array(name)).ok_or_else(|| {
            format!("no array is called x, X, data or arr_0; say which holds the rows; there are: {}", known())
        }),
    };
    let rows = rows.map_err(|message| Error::format(&path, "", message))?;
    let labels = match &options.label {
        Some(Column::Name(name)) => match array(name) {
            None if !options.may_lack_columns => {
                let message = format!("{}: no array is called `{name}`; there are: {}", path.display(), known());
                return Err(Error::setting("label", message));
            }
            found => found,
        },
        Some(_) if options.may_lack_columns => None,
        Some(_) => return Err(Error::setting("label", "the labels of an npz file are an array: give its name")),
        None => LABELS.iter().find_map(|name| array(name)),
    };
    let labels = match labels {
        Some(entry) if options.labels_file.is_none() => {
            let mut all = Interner::default();
            self::labels(zip::open(&path, entry)?, &mut all)?;
            Some(all.into_labels())
        }
        _ => None,
    };
    open_array(zip::open(&path, rows)?, labels)
}

fn open_array(input: Input, labels: Option<Labels>) -> Result<Opened> {
    let path = input.path.clone();
    let (mut input, header) = header(input)?;
    let Item::Number(element) = header.item else {
        return Err(Error::format(&path, "header", format!("{} are not numbers", header.descr)));
    };
    let Some((&rows, axes)) = header.shape.split_first() else {
        return Err(Error::format(&path, "header", "a single number, where an array of rows was expected"));
    };
    if let Some(labels) = labels.as_ref().filter(|l| l.index.len() as u64 != rows) {
        let message = format!("{} labels for {rows} rows", labels.index.len());
        return Err(Error::format(&path, "", message));
    }
    let too_large = || Error::format(&path, "header", "the shape is too large to be true");
    let axes = axes.iter().map(|&a| usize::try_from(a)).collect::<Result<Vec<_>, _>>().map_err(|_| too_large())?;
    let record = axes.iter().try_fold(element.bytes(), |product, &axis| product.checked_mul(axis));
    let shape = match axes[..] {
        [height, width] => Shape::Image { channels: 1, height, width },
        [channels @ (1 | 3), height, width] => Shape::Image { channels, height, width },
        _ => Shape::Vector,
    };
    if header.fortran && axes.len() > 1 {
        return Err(Error::format(
            &path,
            "header",
            "an array of more than two axes in Fortran order; save it with numpy.ascontiguousarray",
        ));
    }
    let reader: Box<dyn Reader>;
    let rows_hint;
    let width = record.unwrap_or(0) / element.bytes();
    // Of one column both orders are the same.
    if header.fortran && width > 1 {
        let (source, start, most_bytes): (Box<dyn ReadSeek>, u64, _) = match input.most_bytes {
            Some(size) if !input.gzip => {
                let file = File::open(&path).map_err(Error::io(&path))?;
                (Box::new(file), header.data_start, size.saturating_sub(header.data_start))
            }
            // Not a file one can seek in: unpack all of it; memory grows with what arrives.
            _ => {
                let mut bytes = Vec::new();
                input.fill(usize::MAX, &mut bytes)?;
                let size = bytes.len() as u64;
                (Box::new(Cursor::new(bytes)), 0, size)
            }
        };
        // The same check of the size as for C order.
        let input = Input { most_bytes: Some(most_bytes), ..input };
        let records = Records::new(input, record, Some(rows))?;
        rows_hint = records.rows_hint();
        reader = Box::new(Scattered { path: path.clone(), source, start, rows, width, element, labels, done: 0 });
    } else {
        let records = Records::new(input, record, Some(rows))?;
        rows_hint = records.rows_hint();
        reader = Box::new(Contiguous { records, element, width, labels });
    }
    Ok(Opened { reader, width, shape, names: None, rows_hint })
}

/// Reads an array with one label per row: numbers or text.
pub(crate) fn labels(input: Input, out: &mut Interner) -> Result<()> {
    let path = input.path.clone();
    let (input, header) = header(input)?;
    if !matches!(header.shape[..], [_] | [_, 1]) {
        let message = format!("labels were expected, one per row, but the array has the shape {:?}", header.shape);
        return Err(Error::format(&path, "header", message));
    }
    let bytes = match header.item {
        Item::Number(element) => Some(element.bytes()),
        Item::Bytes(length) => Some(length),
        Item::Unicode { length, .. } => length.checked_mul(4),
    };
    let mut records = Records::new(input, bytes, Some(header.shape[0]))?;
    loop {
        let chunk = records.next(usize::MAX)?;
        if chunk.is_empty() {
            return Ok(());
        }
        match header.item {
            Item::Number(element) => element.decode_labels(chunk, |label| out.push(&label)),
            Item::Bytes(length) => {
                for text in chunk.chunks_exact(length) {
                    out.push(String::from_utf8_lossy(text).trim_end_matches('\0'));
                }
            }
            Item::Unicode { length, big_endian } => {
                for text in chunk.chunks_exact(4 * length) {
                    let code = |&c: &[u8; 4]| if big_endian { u32::from_be_bytes(c) } else { u32::from_le_bytes(c) };
                    let text: String = text
                        .as_chunks::<4>()
                        .0
                        .iter()
                        .map(|c| char::from_u32(code(c)).unwrap_or(char::REPLACEMENT_CHARACTER))
                        .collect();
                    out.push(text.trim_end_matches('\0'));
                }
            }
        }
    }
}

/// What an array is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Item {
    Number(Element),
    Bytes(usize),
    Unicode { length: usize, big_endian: bool },
}

#[derive(Debug)]
struct Header {
    descr: String,
    item: Item,
    fortran: bool,
    shape: Vec<u64>,
    /// Where the numbers begin.
    data_start: u64,
}

/// Headers are padded to 64 bytes and rarely longer than 128; a list of fields could be longer, but is refused anyway.
const LONGEST_HEADER: u32 = 1 << 16;

fn header(mut input: Input) -> Result<(Input, Header)> {
    let path = input.path.clone();
    let bad = |message: String| Error::format(&path, "header", message);
    let truncated = || bad("the file ends within its header; it is truncated".to_owned());
    let mut bytes = Vec::new();
    input.fill(8, &mut bytes)?;
    if !bytes.starts_with(b"\x93NUMPY") {
        return Err(bad(format!("not an npy file: it must begin with \\x93NUMPY, but begins with {bytes:02x?}")));
    }
    let version = *bytes.get(6).ok_or_else(truncated)?;
    let length_bytes = match version {
        1 => 2,
        2 | 3 => 4,
        _ => return Err(bad(format!("npy format version {version} is not known; known are 1, 2 and 3"))),
    };
    input.fill(length_bytes, &mut bytes)?;
    let length = match bytes[..] {
        [a, b] => u32::from(u16::from_le_bytes([a, b])),
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]),
        _ => return Err(truncated()),
    };
    if length > LONGEST_HEADER {
        return Err(bad(format!("a header of {length} bytes is too long to be true")));
    }
    input.fill(length as usize, &mut bytes)?;
    if bytes.len() < length as usize {
        return Err(truncated());
    }
    let text = String::from_utf8_lossy(&bytes);
    let (descr, fortran, shape) = parse_dictionary(&text).ok_or_else(|| {
        bad("its dictionary cannot be read; plain arrays with descr, fortran_order and shape can".to_owned())
    })?;
    let item = parse_descr(descr).ok_or_else(|| {
        bad(format!("the type `{descr}` cannot be read; convert the array with .astype(numpy.float32) before saving"))
    })?;
    let data_start = 8 + length_bytes as u64 + u64::from(length);
    Ok((input, Header { descr: format!("items of type `{descr}`"), item, fortran, shape, data_start }))
}

/// The three values of a header such as `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }`.
fn parse_dictionary(text: &str) -> Option<(&str, bool, Vec<u64>)> {
    let after = |key: &str| {
        let at = [format!("'{key}'"), format!("\"{key}\"")].iter().find_map(|k| Some(text.find(k)? + k.len()))?;
        text[at..].trim_start().strip_prefix(':').map(str::trim_start)
    };
    let descr = after("descr")?;
    let quote = descr.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let descr = descr[1..].split(quote).next()?;
    let fortran = match after("fortran_order")? {
        v if v.starts_with("True") => true,
        v if v.starts_with("False") => false,
        _ => return None,
    };
    let shape = after("shape")?.strip_prefix('(')?;
    let shape = &shape[..shape.find(')')?];
    let axes = shape.split(',').map(str::trim).filter(|a| !a.is_empty());
    // Python 2 wrote long numbers with an L.
    let shape = axes.map(|a| a.trim_end_matches('L').parse().ok()).collect::<Option<Vec<u64>>>()?;
    Some((descr, fortran, shape))
}

fn parse_descr(descr: &str) -> Option<Item> {
    let mut chars = descr.chars();
    let big_endian = match chars.next()? {
        '>' => true,
        '<' | '|' | '=' => false,
        _ => return None,
    };
    let letter = chars.next()?;
    let size: usize = chars.as_str().parse().ok()?;
    let kind = match letter {
        'b' => Kind::Bool,
        'u' => Kind::Unsigned,
        'i' => Kind::Signed,
        'f' => Kind::Float,
        'S' => return Some(Item::Bytes(size)),
        'U' => return Some(Item::Unicode { length: size, big_endian }),
        _ => return None,
    };
    Element::new(kind, size, big_endian).map(Item::Number)
}

trait ReadSeek: Read + Seek + Send {}
impl<T: Read + Seek + Send> ReadSeek for T {}

/// Columns one after the other: a block of rows is a piece of each column.
struct Scattered {
    path: PathBuf,
    source: Box<dyn ReadSeek>,
    start: u64,
    rows: u64,
    width: usize,
    element: Element,
    labels: Option<Labels>,
    done: u64,
}

impl Reader for Scattered {
    fn read(&mut self, max: usize, out: &mut Collector) -> Result<usize> {
        // Pieces of a column long enough that reading, not seeking, takes the time, within some 64 MB for the block.
        // Numbers with more digits are kept twice, and take three times the room.
        let (size, wide) = (self.element.bytes(), self.element.is_wide());
        let values = if wide { 5_000_000 } else { 16_000_000 };
        let rows = (values / self.width).clamp(1, 1 << 16).min(max) as u64;
        let rows = rows.min(self.rows - self.done) as usize;
        if rows == 0 {
            return Ok(0);
        }
        let mut piece = vec![0; rows * size];
        let (mut columns, mut exact) = (Vec::with_capacity(rows * self.width), Vec::new());
        for j in 0..self.width as u64 {
            let at = self.start + (j * self.rows + self.done) * size as u64;
            let read = self.source.seek(SeekFrom::Start(at)).and_then(|_| self.source.read_exact(&mut piece));
            read.map_err(|e| match e.kind() {
                std::io::ErrorKind::UnexpectedEof => Error::format(
                    &self.path,
                    format!("column {}", j + 1),
                    "the file ends in the middle; it is truncated",
                ),
                _ => read_error(&self.path, e),
            })?;
            self.element.decode(&piece, &mut columns);
            if wide {
                self.element.decode_exact(&piece, &mut exact);
            }
        }
        for i in 0..rows {
            out.values.extend((0..self.width).map(|j| columns[j * rows + i]));
            if wide {
                out.exact.extend((0..self.width).map(|j| exact[j * rows + i]));
            }
            end_row(out, &self.labels, self.done + i as u64)?;
        }
        self.done += rows as u64;
        Ok(rows)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::data::test_files::{fixture, gzip, message, write};
    use ndarray::array;

    /// An npy file with this header.
    pub(crate) fn file(dictionary: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((dictionary.len() as u16).to_le_bytes());
        bytes.extend(dictionary.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn options() -> ReadOptions {
        ReadOptions::default()
    }

    #[test]
    fn arrays_written_by_numpy_in_every_type_and_order_are_read() {
        // arrays.npz, made by readers.py: each array is [[0, 1, 2], [3, 4, 100]] in some type and order.
        let path = fixture("arrays.npz");
        let want = array![[0.0, 1.0, 2.0], [3.0, 4.0, 100.0]];
        for name in [
            "f4",
            "f8",
            "be_f4",
            "be_f8",
            "u1",
            "i1",
            "i2",
            "be_i2",
            "i4",
            "i8",
            "u2",
            "u4",
            "u8",
            "fortran",
            "be_fortran",
        ] {
            let one = ReadOptions { array: Some(name.into()), ..options() };
            assert_eq!(read_npz(&path, &one).unwrap().x, want, "{name}");
        }
        let one = |name: &str| read_npz(&path, &ReadOptions { array: Some(name.into()), ..options() }).unwrap();
        assert_eq!(one("bool").x, want.mapv(|v| f32::from(v > 2.0)));
        assert_eq!(one("flat").x, array![[1.0], [2.0]]);
        let pictures = one("pictures");
        assert_eq!((pictures.x.dim(), pictures.shape), ((2, 6), Shape::Image { channels: 1, height: 3, width: 2 }));
        assert_eq!(one("colour").shape, Shape::Image { channels: 3, height: 1, width: 2 });
    }

    #[test]
    fn rows_and_labels_are_found_by_their_usual_names_or_given_ones() {
        for (file, names) in [("labelled.npz", vec!["-1", "1"]), ("labelled_packed.npz", vec!["cat", "dog"])] {
            let table = read_npz(fixture(file), &options()).unwrap();
            assert_eq!(table.x.dim(), (3, 2));
            let labels = table.labels.unwrap();
            assert_eq!(
                (labels.names, labels.index),
                (names.iter().map(|n| n.to_string()).collect(), vec![0, 1, 0]),
                "{file}"
            );
        }
        let path = fixture("labelled.npz");
        let other = ReadOptions { label: Some(Column::Name("other".into())), ..options() };
        assert_eq!(read_npz(&path, &other).unwrap().labels.unwrap().names, ["0", "2.5"]);
        let missing = ReadOptions { array: Some("z".into()), ..options() };
        assert!(message(read_npz(&path, &missing)).contains("no array is called `z`; there are: x, y, other, short"));
        let short = ReadOptions { label: Some(Column::Name("short".into())), ..options() };
        assert!(message(read_npz(&path, &short)).contains("2 labels for 3 rows"));
    }

    #[test]
    fn fortran_order_is_read_from_plain_and_packed_files() {
        let data: Vec<u8> = [1f32, 3.0, 5.0, 2.0, 4.0, 6.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        let bytes = file("{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2), }", &data);
        let want = array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
        let folder = tempfile::tempdir().unwrap();
        for (name, whole, short) in
            [("a.npy", bytes.clone(), bytes[..70].to_vec()), ("a.npy.gz", gzip(&bytes), gzip(&bytes[..70]))]
        {
            assert_eq!(read(write(&folder, name, &whole), &options()).unwrap().x, want);
            let short = write(&folder, name, &short);
            assert!(message(read(short, &options())).contains("promises more than the file can hold"), "{name}");
        }
    }

    #[test]
    fn bad_files_are_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let read = |bytes: &[u8]| message(read(write(&folder, "a.npy", bytes), &options()));
        let good = file("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }\n", &[1, 2, 3, 4, 5, 6]);
        assert!(read(b"hello there").contains("a.npy, header: not an npy file"));
        assert!(read(&good[..7]).contains("ends within its header"));
        assert!(read(&good[..9]).contains("ends within its header"));
        assert!(read(&good[..40]).contains("ends within its header"));
        assert!(read(&good[..good.len() - 1]).contains("a.npy, row 2 (from 1): the file ends in the middle"));
        assert!(read(&good[..good.len() - 6]).contains("row 1 (from 1): the file ends in the middle"));
        assert!(read(&[&good[..], &[1]].concat()).contains("goes on after the 2 rows"));
        let with = |dictionary: &str| read(&file(dictionary, &[0; 16]));
        assert!(
            with("{'descr': '|O', 'fortran_order': False, 'shape': (2, 3), }").contains("type `|O` cannot be read")
        );
        assert!(with("{'descr': '<c8', 'fortran_order': False, 'shape': (2, 3), }").contains("astype"));
        assert!(with("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }").contains("cannot be read"));
        assert!(with("{'descr': '<U2', 'fortran_order': False, 'shape': (2,), }").contains("are not numbers"));
        assert!(with("{'descr': '<f4', 'fortran_order': False, 'shape': (), }").contains("single number"));
        assert!(with("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 0), }").contains("no features"));
        assert!(with("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 1, 2), }").contains("Fortran order"));
        let huge = "{'descr': '<f8', 'fortran_order': False, 'shape': (18446744073709551615, 18446744073709551615), }";
        assert!(with(huge).contains("promises more"));
        assert!(with(&"(".repeat(60_000)).contains("cannot be read"));
        let nan: Vec<u8> = [1f32, 2.0, f32::INFINITY, 4.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        let nan = file("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }", &nan);
        assert!(read(&nan).contains("a.npy, row 2 (from 1), feature 1: an infinite value"));
    }

    #[test]
    fn damaged_archives_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let good = std::fs::read(fixture("labelled_packed.npz")).unwrap();
        let read = |bytes: &[u8]| message(read_npz(write(&folder, "a.npz", bytes), &options()));
        assert!(read(b"PK\x03\x04").contains("table at its end is missing"));
        assert!(read(&good[..good.len() / 2]).contains("table at its end is missing"));
        // One bit of the stored array x, which only the checksum can tell.
        let mut flipped = std::fs::read(fixture("labelled.npz")).unwrap();
        let at = flipped.windows(6).position(|w| w == b"\x93NUMPY").unwrap() + 128;
        flipped[at] ^= 1;
        assert!(read(&flipped).contains("wrong checksum"));
    }
}
