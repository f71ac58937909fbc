//! The idx format of MNIST: arrays of any number of axes, big-endian, often gzipped.
//!
//! Two zero bytes, one byte for the type of number (0x08 u8, 0x09 i8, 0x0b i16, 0x0c i32, 0x0d f32, 0x0e f64), one for the
//! number of axes, each axis' length as a 32-bit number, then the numbers. The first axis counts the rows; two more make
//! each row a grey picture. Labels are a second file with one axis, called `...labels-idx1...` where the pictures are
//! `...images-idx3...`; it is found by that name.

use std::path::{Path, PathBuf};

use super::input::Input;
use super::read::{Format, ReadOptions, read_as};
use super::records::{Contiguous, Element, Kind, Records};
use super::rows::{Interner, Opened};
use super::{Shape, Table};
use crate::{Error, Result};

/// Reads an idx file, with the labels beside it.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Table> {
    read_as(Format::Idx, path.as_ref(), options)
}

pub(crate) fn open(input: Input, options: &ReadOptions) -> Result<Opened> {
    options.refuse_columns("idx")?;
    let (records, element, axes) = header(input)?;
    let shape = match axes[..] {
        [_, height, width] => Shape::Image { channels: 1, height, width },
        _ => Shape::Vector,
    };
    // The header's check has shown that this product does not overflow.
    let width = axes[1..].iter().product();
    let rows_hint = records.rows_hint();
    Ok(Opened {
        reader: Box::new(Contiguous { records, element, width, labels: None }),
        width,
        shape,
        names: None,
        rows_hint,
    })
}

/// Reads the header, checked against the size of the file.
fn header(mut input: Input) -> Result<(Records, Element, Vec<usize>)> {
    let path = input.path.clone();
    let bad = |message: String| Error::format(&path, "header", message);
    let mut bytes = Vec::new();
    input.fill(4, &mut bytes)?;
    let &[0, 0, code, count] = &bytes[..] else {
        return Err(bad(format!(
            "not an idx file: it must begin with two zero bytes, a type and a number of axes, but begins with {bytes:02x?}"
        )));
    };
    let element = match code {
        0x08 => Element::new(Kind::Unsigned, 1, true),
        0x09 => Element::new(Kind::Signed, 1, true),
        0x0b => Element::new(Kind::Signed, 2, true),
        0x0c => Element::new(Kind::Signed, 4, true),
        0x0d => Element::new(Kind::Float, 4, true),
        0x0e => Element::new(Kind::Float, 8, true),
        _ => None,
    };
    let element = element
        .ok_or_else(|| bad(format!("unknown idx number type {code:#04x}; known are 0x08, 0x09, 0x0b to 0x0e")))?;
    if count == 0 {
        return Err(bad("the array has no axes, so no rows".to_owned()));
    }
    input.fill(4 * usize::from(count), &mut bytes)?;
    if bytes.len() < 4 * usize::from(count) {
        return Err(bad(format!("the file ends within the lengths of its {count} axes; it is truncated")));
    }
    let (axes, _) = bytes.as_chunks::<4>();
    let axes: Vec<usize> = axes.iter().map(|&b| u32::from_be_bytes(b) as usize).collect();
    let record = axes[1..].iter().try_fold(element.bytes(), |product, &axis| product.checked_mul(axis));
    let records = Records::new(input, record, Some(axes[0] as u64))?;
    Ok((records, element, axes))
}

/// Reads a file of labels: one axis.
pub(crate) fn labels(input: Input, out: &mut Interner) -> Result<()> {
    let (mut records, element, axes) = header(input)?;
    if axes.len() != 1 {
        let message = format!("labels were expected, one number per row, but the array has {} axes", axes.len());
        return Err(Error::format(records.path(), "header", message));
    }
    loop {
        let bytes = records.next(usize::MAX)?;
        if bytes.is_empty() {
            return Ok(());
        }
        element.decode_labels(bytes, |label| out.push(&label));
    }
}

/// The labels file that goes with a file of pictures, when it is there.
pub(crate) fn sibling_labels(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let renamed = [("images-idx3", "labels-idx1"), ("images.idx3", "labels.idx1")]
        .iter()
        .find_map(|(from, to)| name.contains(from).then(|| name.replace(from, to)))?;
    let plain = renamed.strip_suffix(".gz").unwrap_or(&renamed).to_owned();
    let packed = format!("{plain}.gz");
    [renamed, packed, plain].into_iter().map(|name| path.with_file_name(name)).find(|p| p.is_file())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::data::test_files::{gzip, message, write};
    use ndarray::array;

    /// An idx file of these axes.
    pub(crate) fn file(code: u8, axes: &[u32], data: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0, 0, code, axes.len() as u8];
        axes.iter().for_each(|a| bytes.extend(a.to_be_bytes()));
        bytes.extend(data);
        bytes
    }

    #[test]
    fn pictures_find_the_labels_beside_them() {
        let folder = tempfile::tempdir().unwrap();
        let images = file(8, &[3, 2, 2], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255]);
        let path = write(&folder, "t-images-idx3-ubyte.gz", &gzip(&images));
        assert!(read(&path, &ReadOptions::default()).unwrap().labels.is_none());
        write(&folder, "t-labels-idx1-ubyte", &file(8, &[3], &[7, 0, 7]));
        let table = read(&path, &ReadOptions::default()).unwrap();
        assert_eq!(table.x, array![[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 255.0]]);
        assert_eq!(table.shape, Shape::Image { channels: 1, height: 2, width: 2 });
        let labels = table.labels.unwrap();
        assert_eq!((labels.index, labels.names), (vec![1, 0, 1], vec!["0".to_owned(), "7".to_owned()]));

        let dropped = ReadOptions { drop_label: Some("7".into()), ..ReadOptions::default() };
        assert_eq!(read(&path, &dropped).unwrap().x, array![[4.0, 5.0, 6.0, 7.0]]);
    }

    #[test]
    fn every_type_of_number_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let check = |code, data: Vec<u8>| {
            let path = write(&folder, "a.idx", &file(code, &[1, 2], &data));
            read(path, &ReadOptions::default()).unwrap().x
        };
        assert_eq!(check(9, vec![1, 0xff]), array![[1.0, -1.0]]);
        assert_eq!(check(11, [1i16, -300].iter().flat_map(|v| v.to_be_bytes()).collect()), array![[1.0, -300.0]]);
        assert_eq!(check(12, [1i32, -70000].iter().flat_map(|v| v.to_be_bytes()).collect()), array![[1.0, -70000.0]]);
        assert_eq!(check(13, [0.5f32, -2.0].iter().flat_map(|v| v.to_be_bytes()).collect()), array![[0.5, -2.0]]);
        assert_eq!(check(14, [0.5f64, -2.0].iter().flat_map(|v| v.to_be_bytes()).collect()), array![[0.5, -2.0]]);
    }

    #[test]
    fn bad_files_are_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let good = file(8, &[3, 2], &[1, 2, 3, 4, 5, 6]);
        let read = |bytes: &[u8]| message(read(write(&folder, "a.idx", bytes), &ReadOptions::default()));
        assert!(read(b"\x89PNG....").contains("a.idx, header: not an idx file"));
        assert!(read(b"").contains("a.idx: the file is empty"));
        assert!(read(&file(7, &[1], &[0])).contains("unknown idx number type 0x07"));
        assert!(read(&file(8, &[], &[0])).contains("no axes"));
        assert!(read(&good[..10]).contains("ends within the lengths of its 2 axes"));
        assert!(
            read(&good[..good.len() - 1])
                .contains("row 3 (from 1): the file ends in the middle (the header promises 3 rows)")
        );
        assert!(read(&[&good[..], &[9]].concat()).contains("goes on after the 3 rows"));
        assert!(read(&file(8, &[0, 2], &[])).contains("no rows"));
        assert!(read(&file(8, &[3, 0], &[])).contains("no features"));
        assert!(read(&file(8, &[u32::MAX; 5], &[1])).contains("promises more"));
        let packed = gzip(&good);
        assert!(read(&packed[..packed.len() - 4]).contains("truncated"));
        assert!(read(&gzip(&good[..good.len() - 1])).contains("row 3 (from 1): the file ends in the middle"));
        let mut damaged = packed.clone();
        let crc = damaged.len() - 6;
        damaged[crc] ^= 1;
        assert!(read(&damaged).contains("damaged"));
        let nan = file(13, &[2, 1], &[1.0f32, f32::NAN].iter().flat_map(|v| v.to_be_bytes()).collect::<Vec<_>>());
        assert!(read(&nan).contains("a.idx, row 2 (from 1), feature 1: a missing value"));
    }

    #[test]
    fn labels_must_be_as_many_as_rows() {
        let folder = tempfile::tempdir().unwrap();
        let path = write(&folder, "a.idx", &file(8, &[3, 1], &[1, 2, 3]));
        for labels in [&[1u8, 2][..], &[1, 2, 3, 4]] {
            let labels = write(&folder, "l.idx", &file(8, &[labels.len() as u32], labels));
            let options = ReadOptions { labels_file: Some(labels), ..ReadOptions::default() };
            assert!(message(read(&path, &options)).contains("do the two files belong together"));
        }
        let options = ReadOptions { label: Some(super::super::read::Column::Last), ..ReadOptions::default() };
        assert!(message(read(&path, &options)).starts_with("label: idx files have no columns"));
    }
}
