//! The binary version of CIFAR-10 (Krizhevsky 2009): records of one label byte and 3072 bytes of picture, the red, green
//! and blue planes of 32 x 32 pixels each. The batches may be given one by one ([`super::read::read_many`]) or joined
//! into one file; plain or gzipped.

use std::path::Path;

use super::input::Input;
use super::read::{Format, ReadOptions, read_as};
use super::records::Records;
use super::rows::{Collector, Opened, Reader, row_place};
use super::{Shape, Table};
use crate::{Error, Result};

const WIDTH: usize = 3 * 32 * 32;

/// What the label bytes mean; in alphabetical order, so that class 0 is label 0.
const CLASSES: [&str; 10] = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"];

/// Reads a file of CIFAR-10 records; classes have their English names.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Table> {
    read_as(Format::Cifar, path.as_ref(), options)
}

pub(crate) fn open(input: Input, options: &ReadOptions) -> Result<Opened> {
    options.refuse_columns("CIFAR-10")?;
    let rows_hint = input.most_bytes.filter(|_| !input.gzip).map(|bytes| bytes as usize / (1 + WIDTH));
    Ok(Opened {
        reader: Box::new(Rows(Records::new(input, Some(1 + WIDTH), None)?)),
        width: WIDTH,
        shape: Shape::Image { channels: 3, height: 32, width: 32 },
        names: None,
        rows_hint,
    })
}

struct Rows(Records);

impl Reader for Rows {
    fn read(&mut self, max: usize, out: &mut Collector) -> Result<usize> {
        let first = self.0.done;
        let path = self.0.path().to_owned();
        let mut rows = 0;
        for record in self.0.next(max)?.chunks_exact(1 + WIDTH) {
            let place = || row_place(first + rows);
            let Some(label) = CLASSES.get(usize::from(record[0])) else {
                let message =
                    format!("label {} is not one of 0 to 9; is this the binary version of CIFAR-10?", record[0]);
                return Err(Error::format(path, place(), message));
            };
            out.values.extend(record[1..].iter().map(|&v| f32::from(v)));
            out.end_row(Some(label), None, place)?;
            rows += 1;
        }
        Ok(rows as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::test_files::{gzip, message, write};

    fn record(label: u8, value: u8) -> Vec<u8> {
        let mut bytes = vec![value; 1 + WIDTH];
        bytes[0] = label;
        bytes
    }

    #[test]
    fn joined_batches_are_read_with_their_classes() {
        let folder = tempfile::tempdir().unwrap();
        // Two gzip files joined are a gzip file.
        let joined = [gzip(&[record(3, 1), record(0, 2)].concat()), gzip(&record(9, 3))].concat();
        let table = read(write(&folder, "a.bin.gz", &joined), &ReadOptions::default()).unwrap();
        assert_eq!(table.x.dim(), (3, WIDTH));
        assert_eq!((table.x[[0, 0]], table.x[[2, WIDTH - 1]]), (1.0, 3.0));
        let labels = table.labels.unwrap();
        assert_eq!(labels.names, ["airplane", "cat", "truck"]);
        assert_eq!(labels.index, [1, 0, 2]);
    }

    #[test]
    fn bad_files_are_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let read = |bytes: &[u8]| message(read(write(&folder, "a.bin", bytes), &ReadOptions::default()));
        assert!(
            read(&[record(1, 1), record(10, 1)].concat())
                .contains("a.bin, row 2 (from 1): label 10 is not one of 0 to 9")
        );
        assert!(read(&[record(1, 1), vec![1; 100]].concat()).contains("row 2 (from 1): the file ends in the middle"));
        assert!(read(&[]).contains("no rows"));
    }

    #[test]
    fn classes_are_in_alphabetical_order() {
        assert!(CLASSES.is_sorted());
    }
}
