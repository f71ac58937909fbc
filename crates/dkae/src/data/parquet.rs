//! Apache Parquet: flat columns of numbers; labels and groups may be text.
//!
//! Columns are read side by side, a few thousand rows at a time, so a file larger than memory passes through. Nested and
//! repeated columns are refused unless they are left out.

use std::borrow::Cow;
use std::fs::File;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ndarray::{Array2, ArrayView2, s};
use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{DataType, FloatType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnDescriptor, Type};

use super::atomic::AtomicFile;
use super::columns::Layout;
use super::csv::as_setting;
use super::input::Input;
use super::label_column::FindLayout;
use super::read::{Format, ReadOptions, read_as};
use super::rows::{Collector, Opened, Reader, number_label, row_place};
use super::stream::{RowSink, check_width};
use super::{Shape, Table};
use crate::{Error, Result};

/// Reads a Parquet file.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Table> {
    read_as(Format::Parquet, path.as_ref(), options)
}

/// Calls into the Parquet library. It reports most damage as an error but meets some with a panic, which must not end
/// the caller's program.
fn guarded<T>(path: &Path, place: &str, call: impl FnOnce() -> Result<T, ParquetError>) -> Result<T> {
    let failure = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(ParquetError::External(e))) => match e.downcast::<std::io::Error>() {
            Ok(e) => return Err(Error::io(path)(*e)),
            Err(e) => e.to_string(),
        },
        Ok(Err(e)) => e.to_string(),
        Err(_) => "the library that reads it gave up".to_owned(),
    };
    let message = format!("not readable as Parquet ({failure}); the file is damaged, truncated or of another format");
    Err(Error::format(path, place, message))
}

pub(crate) fn open(input: Input, options: &ReadOptions) -> Result<Opened> {
    open_with(input, options, Layout::new)
}

/// As [`open`], with another way to tell which columns are what.
pub(crate) fn open_with(input: Input, options: &ReadOptions, layout: FindLayout) -> Result<Opened> {
    let path = input.path;
    let file = File::open(&path).map_err(Error::io(&path))?;
    let reader = guarded(&path, "", || SerializedFileReader::new(file))?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let names: Vec<String> = schema.columns().iter().map(|c| root_name(c)).collect();
    if names.is_empty() {
        return Err(Error::format(&path, "", "the file has no columns"));
    }
    let layout = layout(&path, options, names.len(), Some(&names))?;
    let columns = |list: &[usize], words: bool| -> Result<Vec<Column>> {
        list.iter().map(|&i| Column::new(&path, i, &schema.columns()[i], words)).collect()
    };
    let label = layout.label.map(|i| columns(&[i], true)).transpose()?;
    let group = layout.group.map(|i| columns(&[i], true)).transpose()?;
    let features = columns(&layout.features, false)?;
    let width = features.len();
    let names = layout.features.iter().map(|&i| names[i].clone()).collect();
    let size = std::fs::metadata(&path).map_err(Error::io(&path))?.len();
    let mut rows_hint = Some(0usize);
    for (i, group) in reader.metadata().row_groups().iter().enumerate() {
        rows_hint = rows_hint.and_then(|sum| sum.checked_add(usize::try_from(group.num_rows()).ok()?));
        for chunk in group.columns() {
            let start = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
            let end = u64::try_from(start).ok().zip(u64::try_from(chunk.compressed_size()).ok());
            if end.and_then(|(start, length)| start.checked_add(length)).is_none_or(|end| end > size) {
                let message = "its data lie outside the file, which is damaged or truncated; copy or download it again";
                let place = format!("row group {}, column `{}`", i + 1, chunk.column_path().string());
                return Err(Error::format(&path, place, message));
            }
        }
    }
    // A row of a column chunk may take less than a bit, so only a generous multiple of the size bounds the rows.
    let rows_hint = rows_hint.filter(|&rows| (rows as u64).saturating_mul(width as u64) <= size.saturating_mul(64));
    let all = label.into_iter().chain(group).flatten().chain(features).collect();
    let rows = Rows {
        path,
        reader,
        columns: all,
        has_label: layout.label.is_some(),
        has_group: layout.group.is_some(),
        next_group: 0,
        left: 0,
        row: 0,
    };
    Ok(Opened { reader: Box::new(rows), width, shape: Shape::Vector, names: Some(names), rows_hint })
}

/// What a column is called; the leaves of a nested one share its name.
fn root_name(column: &ColumnDescriptor) -> String {
    column.path().parts().first().cloned().unwrap_or_default()
}

/// A column to read: the label first, then the group, then the features.
struct Column {
    index: usize,
    name: String,
    unsigned: bool,
    nullable: bool,
    reader: Option<ColumnReader>,
    /// The rows read last: numbers, or words for labels and groups.
    numbers: Vec<f64>,
    words: Option<Vec<String>>,
}

impl Column {
    fn new(path: &Path, index: usize, about: &ColumnDescriptor, words: bool) -> Result<Self> {
        let name = root_name(about);
        let refuse = |what: &str| {
            let column = as_setting(index, Some(&name));
            let message = format!("{what}; leave the column out with skip {column}, or convert it before saving");
            Err(Error::format(path, format!("column {} (`{name}`)", index + 1), message))
        };
        if about.max_rep_level() > 0 || about.path().parts().len() > 1 {
            return refuse("holds lists or nested values, where one number per row was expected");
        }
        match about.physical_type() {
            Physical::BOOLEAN | Physical::FLOAT | Physical::DOUBLE => {}
            Physical::INT32 | Physical::INT64 => {
                if matches!(about.logical_type_ref(), Some(LogicalType::Decimal { .. }))
                    || about.converted_type() == ConvertedType::DECIMAL
                {
                    return refuse("holds decimals, which are not supported");
                }
            }
            Physical::BYTE_ARRAY if words => {}
            Physical::BYTE_ARRAY => {
                let column = as_setting(index, Some(&name));
                return refuse(&format!(
                    "holds text, where numbers were expected; if the column holds classes, set label to {column}"
                ));
            }
            other => return refuse(&format!("holds values of type {other}, which are not supported")),
        }
        use ConvertedType::{UINT_8, UINT_16, UINT_32, UINT_64};
        let unsigned = matches!(about.converted_type(), UINT_8 | UINT_16 | UINT_32 | UINT_64);
        let nullable = about.max_def_level() > 0;
        Ok(Self { index, name, unsigned, nullable, reader: None, numbers: vec![], words: words.then(Vec::new) })
    }

    /// Reads the next `rows` values; fewer are an error.
    fn read(&mut self, rows: usize) -> Result<(), ParquetError> {
        let is_label = self.words.is_some();
        let (numbers, words, nullable, unsigned) = (&mut self.numbers, &mut self.words, self.nullable, self.unsigned);
        numbers.clear();
        let mut number = |v: Option<f64>| match words {
            Some(words) => words.push(v.map_or_else(String::new, number_label)),
            None => numbers.push(v.unwrap_or(f64::NAN)),
        };
        let missing = || ParquetError::General("a column has no data".to_owned());
        match self.reader.as_mut().ok_or_else(missing)? {
            ColumnReader::BoolColumnReader(r) => {
                values(r, rows, nullable, |v| number(v.map(|&v| f64::from(u8::from(v)))))
            }
            ColumnReader::FloatColumnReader(r) => values(r, rows, nullable, |v| number(v.map(|&v| f64::from(v)))),
            ColumnReader::DoubleColumnReader(r) => values(r, rows, nullable, |v| number(v.copied())),
            ColumnReader::Int32ColumnReader(r) => values(r, rows, nullable, |v| {
                number(v.map(|&v| if unsigned { f64::from(v as u32) } else { f64::from(v) }));
            }),
            // As labels they keep all their digits.
            ColumnReader::Int64ColumnReader(r) if is_label => values(r, rows, nullable, |v| {
                let text = |&v: &i64| if unsigned { (v as u64).to_string() } else { v.to_string() };
                words.get_or_insert_default().push(v.map_or_else(String::new, text));
            }),
            ColumnReader::Int64ColumnReader(r) => values(r, rows, nullable, |v| {
                number(v.map(|&v| if unsigned { v as u64 as f64 } else { v as f64 }));
            }),
            ColumnReader::ByteArrayColumnReader(r) => values(r, rows, nullable, |v| {
                let text = v.map_or(Cow::Borrowed(""), |v| String::from_utf8_lossy(v.data()));
                words.get_or_insert_default().push(text.into_owned());
            }),
            _ => Err(missing()),
        }
    }
}

/// Passes on the next `rows` values of a column, `None` for nulls.
fn values<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    nullable: bool,
    mut pass: impl FnMut(Option<&T::T>),
) -> Result<(), ParquetError> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let mut done = 0;
    while done < rows {
        values.clear();
        levels.clear();
        let (records, _, _) = reader.read_records(rows - done, nullable.then_some(&mut levels), None, &mut values)?;
        if records == 0 {
            return Err(ParquetError::EOF("a column is shorter than the file says".to_owned()));
        }
        let mut next = values.iter();
        for i in 0..records {
            let there = !nullable || levels.get(i).is_some_and(|&level| level > 0);
            pass(if there { next.next() } else { None });
        }
        done += records;
    }
    Ok(())
}

struct Rows {
    path: PathBuf,
    reader: SerializedFileReader<File>,
    columns: Vec<Column>,
    has_label: bool,
    has_group: bool,
    next_group: usize,
    /// Rows left in the row group that is being read.
    left: usize,
    /// Rows read so far.
    row: u64,
}

impl Rows {
    /// Opens the next row group that has rows; false when there is none.
    fn next_group(&mut self) -> Result<bool> {
        while self.left == 0 {
            if self.next_group == self.reader.num_row_groups() {
                return Ok(false);
            }
            let i = self.next_group;
            self.next_group += 1;
            let (reader, columns, path) = (&self.reader, &mut self.columns, &self.path);
            let rows = reader.metadata().row_group(i).num_rows();
            self.left = guarded(path, &format!("row group {}", i + 1), || {
                let group = reader.get_row_group(i)?;
                for column in columns.iter_mut() {
                    column.reader = Some(group.get_column_reader(column.index)?);
                }
                usize::try_from(rows).map_err(|_| ParquetError::General(format!("it has {rows} rows")))
            })?;
        }
        Ok(true)
    }
}

impl Reader for Rows {
    fn read(&mut self, max: usize, out: &mut Collector) -> Result<usize> {
        if !self.next_group()? {
            return Ok(0);
        }
        let rows = (1_000_000 / self.columns.len()).clamp(1, 1 << 16).min(max).min(self.left);
        for column in &mut self.columns {
            if let Some(words) = &mut column.words {
                words.clear();
            }
            let place = format!("{}, column {} (`{}`)", row_place(self.row), column.index + 1, column.name);
            guarded(&self.path, &place, || column.read(rows))?;
        }
        let (special, features) = self.columns.split_at(usize::from(self.has_label) + usize::from(self.has_group));
        for i in 0..rows {
            let row = self.row + i as u64;
            let word = |column: &Column| -> Result<String> {
                match column.words.as_ref().and_then(|w| w.get(i)) {
                    Some(word) if !word.is_empty() => Ok(word.clone()),
                    _ => {
                        let place = format!("{}, column {} (`{}`)", row_place(row), column.index + 1, column.name);
                        Err(Error::format(
                            &self.path,
                            place,
                            "the label or group is missing; fill it in or leave out the row",
                        ))
                    }
                }
            };
            let label = special.first().filter(|_| self.has_label).map(word).transpose()?;
            let group = special.last().filter(|_| self.has_group).map(word).transpose()?;
            out.exact.extend(features.iter().map(|column| column.numbers[i]));
            out.values.extend(out.exact.iter().map(|&v| v as f32));
            out.end_row(label.as_deref(), group.as_deref(), || row_place(row))?;
        }
        self.left -= rows;
        self.row += rows as u64;
        Ok(rows)
    }
}

/// Starts a file of required columns of one type, compressed by Snappy.
fn writer(path: &Path, names: &[String], kind: Physical) -> Result<SerializedFileWriter<AtomicFile>> {
    let schema = names
        .iter()
        .map(|name| {
            let column = Type::primitive_type_builder(name, kind);
            column.with_repetition(Repetition::REQUIRED).build().map(Arc::new)
        })
        .collect::<Result<Vec<_>, _>>()
        .and_then(|fields| Type::group_type_builder("rows").with_fields(fields).build());
    let schema = schema.map_err(|e| write_error(path, e))?;
    // Floats hardly repeat: a dictionary would be built for nothing.
    let properties =
        WriterProperties::builder().set_compression(Compression::SNAPPY).set_dictionary_enabled(false).build();
    let file = AtomicFile::create(path)?;
    let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties));
    writer.map_err(|e| write_error(path, e))
}

/// Ends a file and gives it its name.
fn commit(writer: SerializedFileWriter<AtomicFile>, path: &Path) -> Result<()> {
    let mut file = writer.into_inner().map_err(|e| write_error(path, e))?;
    file.flush().map_err(Error::io(path))?;
    file.commit()
}

/// Writes one required INT64 column.
pub(crate) fn write_whole(path: &Path, name: &str, numbers: &[u32]) -> Result<()> {
    let mut writer = writer(path, &[name.to_owned()], Physical::INT64)?;
    let values: Vec<i64> = numbers.iter().map(|&n| n.into()).collect();
    let mut write = || -> Result<(), ParquetError> {
        let mut group = writer.next_row_group()?;
        if let Some(mut chunk) = group.next_column()? {
            chunk.typed::<Int64Type>().write_batch(&values, None, None)?;
            chunk.close()?;
        }
        group.close().map(|_| ())
    };
    write().map_err(|e| write_error(path, e))?;
    commit(writer, path)
}

/// Writes a Parquet file of required FLOAT columns, compressed by Snappy.
pub(crate) struct ParquetSink {
    writer: SerializedFileWriter<AtomicFile>,
    path: PathBuf,
    width: usize,
    /// Rows not yet written: a row group is as large as memory allows without being felt.
    pending: Vec<Array2<f32>>,
    pending_rows: usize,
    group_rows: usize,
}

/// Numbers in a row group: some 64 MB.
const GROUP_VALUES: usize = 16_000_000;

impl ParquetSink {
    pub fn create(path: &Path, width: usize, names: Option<&[String]>) -> Result<Self> {
        let names = names.map_or_else(|| (1..=width).map(|j| format!("c{j}")).collect(), <[String]>::to_vec);
        let writer = writer(path, &names, Physical::FLOAT)?;
        let group_rows = (GROUP_VALUES / width).max(1);
        Ok(Self { writer, path: path.to_owned(), width, pending: Vec::new(), pending_rows: 0, group_rows })
    }

    fn write_group(&mut self) -> Result<()> {
        let (writer, blocks) = (&mut self.writer, &self.pending);
        let mut values = Vec::with_capacity(self.pending_rows);
        let mut write = || -> Result<(), ParquetError> {
            let mut group = writer.next_row_group()?;
            let mut column = 0;
            while let Some(mut chunk) = group.next_column()? {
                values.clear();
                blocks.iter().for_each(|rows| values.extend(rows.column(column)));
                chunk.typed::<FloatType>().write_batch(&values, None, None)?;
                chunk.close()?;
                column += 1;
            }
            group.close().map(|_| ())
        };
        write().map_err(|e| write_error(&self.path, e))?;
        self.pending.clear();
        self.pending_rows = 0;
        Ok(())
    }
}

fn write_error(path: &Path, e: ParquetError) -> Error {
    match e {
        ParquetError::External(e) => match e.downcast::<std::io::Error>() {
            Ok(e) => Error::io(path)(*e),
            Err(e) => Error::io(path)(std::io::Error::other(e)),
        },
        e => Error::io(path)(std::io::Error::other(e)),
    }
}

impl RowSink for ParquetSink {
    fn write(&mut self, rows: ArrayView2<f32>) -> Result<()> {
        check_width(&self.path, self.width, rows)?;
        let mut rest = rows;
        while rest.nrows() > 0 {
            let now = rest.nrows().min(self.group_rows - self.pending_rows);
            self.pending.push(rest.slice(s![..now, ..]).to_owned());
            self.pending_rows += now;
            rest = rest.slice_move(s![now.., ..]);
            if self.pending_rows == self.group_rows {
                self.write_group()?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        if self.pending_rows > 0 {
            self.write_group()?;
        }
        let Self { writer, path, .. } = *self;
        commit(writer, &path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::test_files::{fixture, message, write};
    use ndarray::array;

    fn options(label: &str, skip: &[&str]) -> ReadOptions {
        ReadOptions {
            label: (!label.is_empty()).then(|| label.parse().unwrap()),
            skip: skip.iter().map(|s| s.parse().unwrap()).collect(),
            ..ReadOptions::default()
        }
    }

    #[test]
    fn a_label_column_is_read_beside_columns_of_any_kind() {
        let labels = crate::data::read_label_column(fixture("table.parquet"), &"kind".parse().unwrap()).unwrap();
        assert_eq!(labels.index, [1, 0, 1]);
    }

    #[test]
    fn columns_written_by_pyarrow_in_every_type_are_read() {
        // table.parquet, made by readers.py in row groups of two rows.
        let skip = ["list", "nested", "word", "hole"];
        let mut all = options("kind", &skip);
        all.group = Some("part".parse().unwrap());
        let table = read(fixture("table.parquet"), &all).unwrap();
        assert_eq!(table.names.unwrap(), ["f4", "f8", "i4", "i8", "u4", "i1", "bool", "opt"]);
        assert_eq!(
            table.x,
            array![
                [0.5, 1.5, -1.0, -2.0, 4294967295.0, -8.0, 1.0, 9.0],
                [1.5, 2.5, 2.0, 3.0, 1.0, 7.0, 0.0, 8.0],
                [2.5, 3.5, 3.0, 4.0, 2.0, 6.0, 1.0, 7.0]
            ]
        );
        assert_eq!(table.groups.unwrap(), ["1", "1", "2"]);
        assert_eq!(table.labels.unwrap().index, [1, 0, 1]);
    }

    #[test]
    fn whole_numbers_keep_all_their_digits_as_labels() {
        // 2^53 and the number after it, which are the same in f64.
        let labels = read(fixture("ids.parquet"), &options("id", &[])).unwrap().labels.unwrap();
        assert_eq!(
            (labels.names, labels.index),
            (vec!["9007199254740992".into(), "9007199254740993".into()], vec![0, 1])
        );
    }

    #[test]
    fn bad_files_are_refused_with_row_and_column() {
        let path = fixture("table.parquet");
        let says = |options: ReadOptions, part: &str| {
            let m = message(read(&path, &options));
            assert!(m.contains(part), "{m}");
        };
        says(options("", &[]), "column 9 (`kind`): holds text");
        says(options("kind", &["word", "hole"]), "holds lists or nested values");
        says(options("no", &[]), "label:");
        says(
            options("hole", &["list", "nested", "word", "kind"]),
            "row 2 (from 1), column 12 (`hole`): the label or group is missing",
        );
        let path = fixture("holes.parquet");
        let m = message(read(&path, &ReadOptions::default()));
        assert!(m.contains("holes.parquet, row 2 (from 1), feature 1 (`a`): a missing value"), "{m}");
        let allowed = ReadOptions { allow_missing: true, ..ReadOptions::default() };
        assert!(read(&path, &allowed).unwrap().x[[1, 0]].is_nan());

        let folder = tempfile::tempdir().unwrap();
        let good = std::fs::read(fixture("table.parquet")).unwrap();
        for bytes in [&good[..good.len() - 1], &good[..20], b"PAR1", b"P"] {
            let path = write(&folder, "a.parquet", bytes);
            assert!(message(read(&path, &ReadOptions::default())).contains("not readable as Parquet"));
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_an_error_that_names_the_file() {
        let mut sink = Box::new(ParquetSink::create(Path::new("/dev/full"), 4, None).unwrap());
        let rows = Array2::<f32>::ones((1000, 4));
        let e = sink.write(rows.view()).and_then(|()| sink.finish()).unwrap_err().to_string();
        assert!(e.starts_with("/dev/full: ") && e.contains("No space left"), "{e}");
    }
}
