//! Text with columns (csv, tsv), plain or gzipped.
//!
//! Two things are found out from the first lines unless the user says them. The delimiter is the first of tab, semicolon
//! and comma that cuts the first lines into the same number of columns, more than one. The first row is a header when some
//! column has words there and a number below, or when it has nothing but words. Text is UTF-8; anything else is refused,
//! because a name that was guessed would not be found again.

use std::collections::VecDeque;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

use csv::{ByteRecord, ReaderBuilder};

use super::columns::{Column, Layout};
use super::input::{Input, MARK, read_error};
use super::label_column::FindLayout;
use super::read::{Format, ReadOptions, read_as};
use super::rows::{Collector, Interner, Opened, Reader};
use super::{Shape, Table};
use crate::{Error, Result};

/// Reads a csv or tsv file.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Table> {
    read_as(Format::Csv, path.as_ref(), options)
}

pub(crate) fn open(input: Input, options: &ReadOptions) -> Result<Opened> {
    open_with(input, options, Layout::new)
}

/// As [`open`], with another way to tell which columns are what.
pub(crate) fn open_with(mut input: Input, options: &ReadOptions, layout: FindLayout) -> Result<Opened> {
    let path = input.path.clone();
    let start = input.peek(1 << 16)?;
    refuse_binary(&path, &start)?;
    let delimiter = match options.delimiter {
        Some(c) if c.is_ascii() && !c.is_ascii_alphanumeric() && !"\n\r\"+-.".contains(c) => c as u8,
        Some(c) if c.is_ascii() => {
            let message =
                format!("{c:?} cannot separate columns: it ends lines, quotes, or belongs to numbers and words");
            return Err(Error::setting("delimiter", message));
        }
        Some(c) => return Err(Error::setting("delimiter", format!("`{c}` is not a single ASCII character"))),
        None => guess_delimiter(&start),
    };
    let lines = Unix { inner: input.reader, after_return: false, at_start: true };
    let reader = ReaderBuilder::new().has_headers(false).flexible(true).delimiter(delimiter).from_reader(lines);
    let mut records = Records { path: path.clone(), reader, pending: VecDeque::new() };
    let first = records.next()?.ok_or_else(|| Error::format(&path, "", "the file is empty"))?;
    let second = records.next()?;
    let header = options.header.unwrap_or_else(|| is_header(&first, second.as_ref()) || names_columns(&first, options));
    let columns = first.len();
    let name = |(j, field): (usize, &[u8])| match utf8(field) {
        Some(name) => Ok(name.to_owned()),
        None => {
            let line = first.position().map_or(1, |p| p.line());
            Err(Error::format(&path, format!("header (line {line}), column {}", j + 1), not_utf8(field)))
        }
    };
    let all_names: Option<Vec<String>> =
        header.then(|| first.iter().enumerate().map(name).collect::<Result<_>>()).transpose()?;
    let layout = layout(&path, options, columns, all_names.as_deref())?;
    let names = all_names.as_ref().map(|n| layout.features.iter().map(|&i| n[i].clone()).collect());
    records.pending.extend((!header).then_some(first).into_iter().chain(second));
    let width = layout.features.len();
    let rows = Rows { records, layout, columns, all_names, row: 0 };
    Ok(Opened { reader: Box::new(rows), width, shape: Shape::Vector, names, rows_hint: None })
}

/// Reads one label per line; a table is refused.
pub(crate) fn labels(mut input: Input, out: &mut Interner) -> Result<()> {
    input.skip_mark()?;
    let path = input.path.clone();
    for (i, line) in input.reader.split(b'\n').enumerate() {
        let line = line.map_err(|e| read_error(&path, e))?;
        let Some(label) = utf8(&line) else {
            return Err(Error::format(&path, format!("line {}", i + 1), not_utf8(&line)));
        };
        if label.is_empty() || label.contains(['\t', ';', ',']) {
            let message = format!("one label was expected on each line, found `{}`", shorten(label));
            return Err(Error::format(&path, format!("line {}", i + 1), message));
        }
        out.push(label);
    }
    Ok(())
}

/// Refuses what no text has, before it is taken for strange columns.
fn refuse_binary(path: &Path, start: &[u8]) -> Result<()> {
    let what = if start.starts_with(&[0x1f, 0x8b]) {
        "a gzip file inside a gzip file; unpack it once"
    } else if start.starts_with(b"PK\x03\x04") {
        "an archive or a spreadsheet; save the table itself as csv"
    } else if start.contains(&0) && !start.starts_with(&[0xff, 0xfe]) && !start.starts_with(&[0xfe, 0xff]) {
        "binary data; say which format it is"
    } else {
        return Ok(());
    };
    Err(Error::format(path, "", format!("text with columns was expected, and this is {what}")))
}

fn guess_delimiter(start: &[u8]) -> u8 {
    let start = start.strip_prefix(MARK).unwrap_or(start);
    for delimiter in [b'\t', b';'] {
        let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).delimiter(delimiter).from_reader(start);
        let mut counts = reader.byte_records().map_while(|r| r.ok()).map(|r| r.len()).take(10).collect::<Vec<_>>();
        // The last record may be cut off by the end of what was looked at.
        if counts.len() > 1 {
            counts.pop();
        }
        if counts.first().is_some_and(|&n| n > 1 && counts.iter().all(|&m| m == n)) {
            return delimiter;
        }
    }
    b','
}

fn is_header(first: &ByteRecord, second: Option<&ByteRecord>) -> bool {
    let word = |field: &[u8]| matches!(number(field), Field::Word);
    first.iter().all(word)
        || second.is_some_and(|second| {
            first.iter().zip(second).any(|(above, below)| word(above) && matches!(number(below), Field::Number(_)))
        })
}

/// Whether a row of numbers is a header after all: it counts the columns, as pandas does when they have no names, or it has
/// the name of a column that was asked for.
fn names_columns(first: &ByteRecord, options: &ReadOptions) -> bool {
    let counts = |from: usize| first.iter().enumerate().all(|(j, field)| utf8(field) == Some(&*(from + j).to_string()));
    let asked = options.label.iter().chain(&options.group).chain(&options.skip);
    let named = |column: &Column| matches!(column, Column::Name(name) if first.iter().any(|f| utf8(f) == Some(name)));
    first.len() > 2 && counts(0) || asked.into_iter().any(named)
}

enum Field {
    Number(f32),
    Missing,
    Word,
}

fn number(field: &[u8]) -> Field {
    let field = field.trim_ascii();
    if matches!(field, b"" | b"?")
        || [&b"NA"[..], b"N/A", b"NaN", b"null", b"none"].iter().any(|m| field.eq_ignore_ascii_case(m))
    {
        return Field::Missing;
    }
    match std::str::from_utf8(field).ok().and_then(|f| f.parse().ok()) {
        Some(v) => Field::Number(v),
        None => Field::Word,
    }
}

/// A field that was read as `value`, with all its digits. Seven are no trouble for f32, and need no second look.
fn exact(field: &[u8], value: f32) -> f64 {
    match field.len() {
        0..=7 => value.into(),
        _ => std::str::from_utf8(field.trim_ascii()).ok().and_then(|f| f.parse().ok()).unwrap_or(value.into()),
    }
}

/// How a setting names a column: by its name where that is a plain one, or by its number.
pub(crate) fn as_setting(column: usize, name: Option<&str>) -> String {
    name.and_then(plain_name).map_or_else(|| (column + 1).to_string(), str::to_owned)
}

/// A name that can be given as it is: one word that neither a shell nor a setting takes for anything else.
pub(crate) fn plain_name(name: &str) -> Option<&str> {
    let plain = |c: char| c.is_alphanumeric() || "_.%/+@=-".contains(c);
    (name.chars().all(plain) && !name.starts_with('-') && matches!(name.parse(), Ok(Column::Name(_)))).then_some(name)
}

/// A field as text, without the blanks around it.
fn utf8(field: &[u8]) -> Option<&str> {
    std::str::from_utf8(field).ok().map(str::trim)
}

fn not_utf8(field: &[u8]) -> String {
    let text = shorten(&String::from_utf8_lossy(field.trim_ascii()));
    format!("`{text}` is not UTF-8 text (it may be Latin-1 or UTF-16); save the file as UTF-8")
}

/// A field as it is shown in a message.
fn shorten(field: &str) -> String {
    match field.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &field[..end]),
        None => field.to_owned(),
    }
}

/// Records with the first ones put back.
struct Records {
    path: PathBuf,
    reader: csv::Reader<Unix>,
    pending: VecDeque<ByteRecord>,
}

impl Records {
    fn next(&mut self) -> Result<Option<ByteRecord>> {
        let mut record = ByteRecord::new();
        Ok(self.next_into(&mut record)?.then_some(record))
    }

    fn next_into(&mut self, record: &mut ByteRecord) -> Result<bool> {
        if let Some(first) = self.pending.pop_front() {
            *record = first;
            return Ok(true);
        }
        let found = self.reader.read_byte_record(record).map_err(|e| match e.into_kind() {
            csv::ErrorKind::Io(e) => read_error(&self.path, e),
            other => Error::format(&self.path, "", format!("not readable as csv: {other:?}")),
        })?;
        // The library notes where it began to look, which is before empty lines. A record ends with a line, and has those
        // that its quoted fields have; a quote that is not closed has no end.
        if let (true, Some(mut position)) = (found, record.position().cloned()) {
            let inside = record.as_slice().iter().filter(|&&b| b == b'\n').count() as u64;
            let line = self.reader.position().line().saturating_sub(1 + inside);
            position.set_line(line.max(position.line()));
            record.set_position(Some(position));
        }
        Ok(found)
    }
}

/// Lines that end as on Unix, whatever the file has, the last one too: so lines can be counted.
struct Unix {
    inner: Box<dyn BufRead + Send>,
    after_return: bool,
    at_start: bool,
}

impl Read for Unix {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let bytes = self.inner.fill_buf()?;
            if bytes.is_empty() {
                let ended = std::mem::replace(&mut self.at_start, true) || out.is_empty();
                out.iter_mut().take(1).for_each(|b| *b = b'\n');
                return Ok(usize::from(!ended));
            }
            let taken = bytes.len().min(out.len());
            // Most files have nothing to change, and copying is fast.
            if !self.after_return && !bytes[..taken].contains(&b'\r') {
                out[..taken].copy_from_slice(&bytes[..taken]);
                self.at_start = out[..taken].last().map_or(self.at_start, |&last| last == b'\n');
                self.inner.consume(taken);
                return Ok(taken);
            }
            let mut written = 0;
            for &byte in &bytes[..taken] {
                let second = byte == b'\n' && self.after_return;
                self.after_return = byte == b'\r';
                if !second {
                    out[written] = if self.after_return { b'\n' } else { byte };
                    written += 1;
                }
            }
            self.inner.consume(taken);
            if let Some(&last) = out[..written].last() {
                self.at_start = last == b'\n';
            }
            if written > 0 || taken == 0 {
                return Ok(written);
            }
        }
    }
}

struct Rows {
    records: Records,
    layout: Layout,
    columns: usize,
    all_names: Option<Vec<String>>,
    /// Rows read so far.
    row: u64,
}

impl Rows {
    fn place(&self, record: &ByteRecord, column: Option<usize>) -> String {
        let line = record.position().map_or(String::new(), |p| format!(" (line {})", p.line()));
        let column = column.map_or(String::new(), |j| {
            let name = self.all_names.as_ref().map_or(String::new(), |n| format!(" (`{}`)", shorten(&n[j])));
            format!(", column {}{name}", j + 1)
        });
        format!("row {}{line}{column}", self.row)
    }

    /// What to do about a word where a number should be. Words from the first row on are likely to be classes, if there are
    /// none yet.
    fn not_a_number(&self, text: &str, column: usize) -> String {
        let name = as_setting(column, self.all_names.as_ref().map(|names| &*names[column]));
        let hint = match (text.replace(',', ".").parse::<f32>(), self.row, self.layout.label) {
            (Ok(_), ..) => "decimals are written with a point".to_owned(),
            _ if text.contains('\n') => "it goes over several lines: is a quote (\") not closed?".to_owned(),
            (_, 1, None) => {
                format!("if the column holds classes, set label to {name}, else leave it out with skip {name}")
            }
            (_, 1, _) => format!("leave the column out with skip {name}"),
            _ => format!("correct it, or leave out the row, or the column with skip {name}"),
        };
        format!("`{}` is not a number; {hint}", shorten(text))
    }

    /// A label or group, which must not be empty.
    fn word<'r>(&self, record: &'r ByteRecord, column: usize, what: &str, path: &Path) -> Result<&'r str> {
        let message = match utf8(&record[column]) {
            None => not_utf8(&record[column]),
            Some("") => format!("the {what} is missing; fill it in or leave out the row"),
            Some(word) => return Ok(word),
        };
        Err(Error::format(path, self.place(record, Some(column)), message))
    }
}

impl Reader for Rows {
    fn read(&mut self, max: usize, out: &mut Collector) -> Result<usize> {
        let mut record = ByteRecord::new();
        for done in 0..max.min(4096) {
            if !self.records.next_into(&mut record)? {
                return Ok(done);
            }
            self.row += 1;
            if record.len() != self.columns {
                let message = format!("{} columns where the first row has {}", record.len(), self.columns);
                return Err(Error::format(&out.path, self.place(&record, None), message));
            }
            let label = self.layout.label.map(|j| self.word(&record, j, "label", &out.path)).transpose()?;
            let group = self.layout.group.map(|j| self.word(&record, j, "group", &out.path)).transpose()?;
            for &j in &self.layout.features {
                let value = match number(&record[j]) {
                    Field::Number(v) => v,
                    Field::Missing => f32::NAN,
                    Field::Word => {
                        let message = match utf8(&record[j]) {
                            None => not_utf8(&record[j]),
                            Some(text) => self.not_a_number(text, j),
                        };
                        return Err(Error::format(&out.path, self.place(&record, Some(j)), message));
                    }
                };
                out.values.push(value);
                out.exact.push(exact(&record[j], value));
            }
            out.end_row(label, group, || self.place(&record, None))?;
        }
        Ok(max.min(4096))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::test_files::{gzip, message, write};
    use ndarray::array;

    fn table(text: &str, options: &ReadOptions) -> Result<Table> {
        let folder = tempfile::tempdir().unwrap();
        read(write(&folder, "a.csv", text.as_bytes()), options)
    }

    fn plain(text: &str) -> Result<Table> {
        table(text, &ReadOptions::default())
    }

    #[test]
    fn numbers_are_a_header_when_they_count_the_columns_or_are_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let rows = |text: &str, options: &ReadOptions| {
            let path = folder.path().join("h.csv");
            std::fs::write(&path, text).unwrap();
            crate::data::read::read(&path, options).map(|table| table.len())
        };
        let plain = ReadOptions::default();
        assert_eq!(rows("0,1,2\n5,6,7\n", &plain).unwrap(), 1);
        assert_eq!(rows("0,1,3\n5,6,7\n", &plain).unwrap(), 2);
        assert_eq!(rows("0,1\n5,6\n", &plain).unwrap(), 2, "two numbers count by chance too easily");
        let label = ReadOptions { label: Some(Column::Name("class".into())), ..ReadOptions::default() };
        assert_eq!(rows("0,1,class\n1,2,x\n3,4,y\n", &label).unwrap(), 2);
    }

    #[test]
    fn delimiters_and_headers_are_found_out() {
        let want = array![[1.0, 2.5], [-3.0, 4.0]];
        for text in [
            "1,2.5\n-3,4\n",
            "1;2.5\n-3;4",
            "1\t2.5\r\n-3\t4\r\n",
            "a,b\n1,2.5\n-3,4\n",
            "\u{feff}a;b\n1;2.5\n\n-3;4\n",
            "\"a, b\"\tc\n 1 \t2.5\n-3\t4e0\n",
            "1,b\n1,2.5\n-3,4\n",
        ] {
            assert_eq!(plain(text).unwrap().x, want, "{text:?}");
        }
        assert_eq!(plain("\u{feff}a;b\n1;2\n").unwrap().names.unwrap(), ["a", "b"]);
        assert_eq!(plain("1\n2\n").unwrap().x, array![[1.0], [2.0]]);
        let forced = ReadOptions { header: Some(true), ..ReadOptions::default() };
        assert_eq!(table("1,2\n3,4\n", &forced).unwrap().x, array![[3.0, 4.0]]);
        let packed = gzip(b"a,b\n1,2.5\n-3,4\n");
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(write(&folder, "a.csv.gz", &packed), &ReadOptions::default()).unwrap().x, want);
    }

    #[test]
    fn label_group_and_left_out_columns_by_name_number_and_last() {
        let text = "image,y,label,f,g\n1,9,a,0.5,1\n2,9,b,0.25,2\n2,9,0,7,x\n";
        let by_name = ReadOptions {
            label: Some("label".parse().unwrap()),
            group: Some("image".parse().unwrap()),
            skip: vec!["y".parse().unwrap(), Column::Last],
            drop_label: Some("0".into()),
            ..ReadOptions::default()
        };
        let by_number = ReadOptions {
            label: Some(Column::Number(3)),
            group: Some(Column::Number(1)),
            skip: vec![Column::Number(2), Column::Number(5)],
            ..by_name.clone()
        };
        for options in [by_name, by_number] {
            let t = table(text, &options).unwrap();
            assert_eq!(t.x, array![[0.5], [0.25]]);
            assert_eq!(t.names.unwrap(), ["f"]);
            assert_eq!(t.groups.unwrap(), ["1", "2"]);
            assert_eq!(t.labels.unwrap().names, ["a", "b"]);
        }
        let iris = ReadOptions { label: Some(Column::Last), ..ReadOptions::default() };
        assert_eq!(table("5.1,3.5,setosa\n7,3.2,versicolor\n", &iris).unwrap().x.dim(), (2, 2));
    }

    #[test]
    fn bad_files_are_refused_with_row_and_column() {
        let says = |text: &str, part: &str| {
            let m = message(plain(text));
            assert!(m.contains(part), "{m}");
        };
        says("a,b\n1,2\n3\n", "a.csv, row 2 (line 3): 1 columns where the first row has 2");
        says("a,b\n1,2\n3,x\n", "row 2 (line 3), column 2 (`b`): `x` is not a number");
        says("a,b\n1,2\n3,\n", "row 2 (line 3), feature 2 (`b`): a missing value");
        says("1,2\n3,NA\n", "row 2 (line 2), feature 2: a missing value");
        says("1,2\n3,inf\n", "an infinite value");
        says("1,2\n3,1e300\n", "too large");
        says("1;2,5\n3;4,5\n", "decimals are written with a point");
        says(
            "a,kind\n1,red\n",
            "`red` is not a number; if the column holds classes, set label to kind, else leave it out with skip kind",
        );
        says("a,my kind\n1,red\n", "set label to 2, else leave it out with skip 2");
        says("1,red\n2,green\n", "set label to 2");
        says("a,b\n1,2\n3,x\n", "correct it, or leave out the row, or the column with skip b");
        says("", "the file is empty");
        says("a,b\n", "no rows");
        let label = |l: &str| ReadOptions { label: Some(l.parse().unwrap()), ..ReadOptions::default() };
        assert!(message(table("a,b\n1,2\n", &label("c"))).contains("no column is called `c`; there are: a, b"));
        assert!(message(table("1,2\n", &label("c"))).contains("the file names none"));
        assert!(message(table("1,2\n", &label("3"))).contains("no column 3, only 1 to 2"));
        let m = message(table("a,b,c\n1,x,y\n", &label("c")));
        assert!(m.contains("column 2 (`b`): `x` is not a number; leave the column out with skip b"), "{m}");
        assert!(message(table("1,a\n2,\n", &label("2"))).contains("row 2 (line 2), column 2: the label is missing"));
        assert!(message(table("1\n", &label("1"))).contains("no column is left"));
        let dropped = ReadOptions { drop_label: Some("b".into()), ..label("2") };
        assert!(message(table("1,b\n", &dropped)).contains("every row has the label `b`"));
        let dropped = ReadOptions { drop_label: Some("b".into()), ..ReadOptions::default() };
        assert!(message(table("1,2\n", &dropped)).starts_with("drop_label: there are no labels"));
        let dropped = ReadOptions { delimiter: Some('€'), ..ReadOptions::default() };
        assert!(message(table("1,2\n", &dropped)).starts_with("delimiter"));
        for delimiter in ['\n', '\r', '"', '1', 'e', '.', '-'] {
            let odd = ReadOptions { delimiter: Some(delimiter), ..ReadOptions::default() };
            assert!(message(table("1,2\n", &odd)).contains("cannot separate columns"), "{delimiter:?}");
        }
        for delimiter in [' ', '|', ':', '\t', '_'] {
            let odd = ReadOptions { delimiter: Some(delimiter), ..ReadOptions::default() };
            assert_eq!(table(&format!("1{delimiter}2\n"), &odd).unwrap().x, array![[1.0, 2.0]], "{delimiter:?}");
        }
    }

    #[test]
    fn lines_are_counted_as_editors_count_them() {
        let says = |text: &str, place: &str| {
            let m = message(plain(text));
            assert!(m.contains(place), "{text:?}: {m}");
        };
        for (end, name) in [("\n", "Unix"), ("\r\n", "Windows"), ("\r", "old Mac")] {
            let lines = |lines: &[&str]| lines.join(end);
            says(&lines(&["a,b", "1,2", "3,x", ""]), "row 2 (line 3), column 2");
            says(&lines(&["a,b", "1,2", "3,x"]), "row 2 (line 3), column 2");
            says(&lines(&["a,b", "x,2", "3,4", ""]), "row 1 (line 2), column 1");
            says(&lines(&["1,2", "3,", ""]), "row 2 (line 2), feature 2");
            // Empty lines are no rows, but lines.
            says(&lines(&["", "a,b", "", "", "1,2", "", "3,x", ""]), "row 2 (line 7), column 2");
            // A quoted name over two lines.
            says(&lines(&["\"a", "b\",c", "1,2", "3,x", ""]), "row 2 (line 4), column 2");
            assert_eq!(plain(&lines(&["a,b", "1,2", "3,4", ""])).unwrap().x, array![[1.0, 2.0], [3.0, 4.0]], "{name}");
        }
        says("a,b\n1,2\n3,\"4\n5,6\n", "row 2 (line 3), column 2 (`b`): `4");
        says("a,b\n1,2\n3,\"4\n5,6\n", "is a quote (\") not closed?");
    }

    #[test]
    fn line_ends_are_found_whatever_pieces_a_file_comes_in() {
        let text = b"a\r\nb\n\r\n\rc\r\n\r\nd";
        for (piece, buffer) in [(1, 1), (2, 1), (1, 7), (3, 2), (64, 64)] {
            let inner = Box::new(std::io::BufReader::with_capacity(piece, &text[..]));
            let mut lines = Unix { inner, after_return: false, at_start: true };
            let (mut out, mut some) = (Vec::<u8>::new(), vec![0; buffer]);
            loop {
                match lines.read(&mut some).unwrap() {
                    0 => break,
                    n => out.extend(&some[..n]),
                }
            }
            assert_eq!(out, b"a\nb\n\n\nc\n\nd\n", "{piece} {buffer}");
        }
    }

    #[test]
    fn what_is_not_text_is_called_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        for (bytes, words) in [
            (gzip(&gzip(b"a,b\n1,2\n")), "a gzip file inside a gzip file"),
            (b"PK\x03\x04\0\0\0".to_vec(), "an archive or a spreadsheet"),
            (b"a,b\n1,\0\n".to_vec(), "binary data"),
        ] {
            let m = message(read(write(&folder, "a.csv", &bytes), &ReadOptions::default()));
            assert!(m.contains("a.csv: text with columns was expected") && m.contains(words), "{m}");
        }
    }

    #[test]
    fn digits_that_32_bits_cannot_hold_are_warned_of() {
        let text = |offset: f64| {
            let rows: String =
                (0..40).map(|i| format!("{:.2},{i},{}\n", offset + 0.25 * f64::from(i), i % 3)).collect();
            format!("t,i,c\n{rows}")
        };
        let label = ReadOptions { label: Some("c".parse().unwrap()), ..ReadOptions::default() };
        assert_eq!(table(&text(0.0), &label).unwrap().warnings, [""; 0]);
        let warnings = table(&text(1e8), &label).unwrap().warnings;
        assert!(matches!(&warnings[..], [w] if w.contains("a.csv, feature 1 (`t`): ")), "{warnings:?}");
        // Rows that are left out do not count: all others are equal in their first column.
        let rows = "100000000.25,a\n100000000.25,a\n100000007.75,b\n100000000.25,a\n";
        let dropped = ReadOptions { label: Some(Column::Last), drop_label: Some("b".into()), ..ReadOptions::default() };
        assert_eq!(table(rows, &dropped).unwrap().warnings, [""; 0]);
        assert_eq!(table(rows, &ReadOptions { drop_label: None, ..dropped }).unwrap().warnings.len(), 1);
    }

    #[test]
    fn text_that_is_not_utf8_is_refused_with_its_place_and_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let label = ReadOptions { label: Some(Column::Last), ..ReadOptions::default() };
        let says = |bytes: &[u8], options: &ReadOptions, place: &str| {
            let m = message(read(write(&folder, "a.csv", bytes), options));
            assert!(m.contains(&format!("a.csv, {place}: `")) && m.contains("save the file as UTF-8"), "{m}");
        };
        says(b"a,gr\xfc\xdfe\n1,2\n", &label, "header (line 1), column 2");
        says(b"a,b\n1,x\n2,gr\xfcn\n", &label, "row 2 (line 3), column 2 (`b`)");
        says(b"a,b\n1,2\n2,\xb5\n", &ReadOptions::default(), "row 2 (line 3), column 2 (`b`)");
        says(b"\xff\xfea\0,\0b\0\n\0", &ReadOptions::default(), "header (line 1), column 1");
        let group = ReadOptions { group: Some(Column::Number(1)), ..ReadOptions::default() };
        says(b"g,b\n\xe9,2\n", &group, "row 1 (line 2), column 1 (`g`)");
        let side = ReadOptions { labels_file: Some(write(&folder, "l.txt", b"a\n\xe4\n")), ..ReadOptions::default() };
        let m = message(read(write(&folder, "a.csv", b"1,2\n3,4\n"), &side));
        assert!(m.contains("l.txt, line 2: `") && m.contains("save the file as UTF-8"), "{m}");
        // A column that is left out may hold anything; what is UTF-8 is read as it is.
        let skip = ReadOptions { skip: vec![Column::Last], ..ReadOptions::default() };
        assert!(read(write(&folder, "a.csv", b"a,b\n1,\xe9\n"), &skip).is_ok());
        let table = read(write(&folder, "a.csv", "größe,art\n1,grün\n".as_bytes()), &label).unwrap();
        assert_eq!(
            (table.names.unwrap(), table.labels.unwrap().names),
            (vec!["größe".to_owned()], vec!["grün".to_owned()])
        );
    }

    #[test]
    fn missing_values_become_nan_when_allowed() {
        let options = ReadOptions { allow_missing: true, ..ReadOptions::default() };
        let t = table("a,b,c\n1,,?\nNA,nan,inf\n", &options).unwrap();
        assert_eq!(t.x[[0, 0]], 1.0);
        assert_eq!(t.x.iter().filter(|v| v.is_nan()).count(), 4);
        assert_eq!(t.x[[1, 2]], f32::INFINITY);
    }

    #[test]
    fn labels_come_from_a_text_file_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let data = write(&folder, "a.csv", b"1,2\n3,4\n");
        let options =
            ReadOptions { labels_file: Some(write(&folder, "l.txt", b"dog\ncat\n")), ..ReadOptions::default() };
        assert_eq!(read(&data, &options).unwrap().labels.unwrap().names, ["cat", "dog"]);
        // What some editors put before the text is none of it.
        write(&folder, "l.txt", b"\xef\xbb\xbfdog\r\ndog\r\n");
        assert_eq!(read(&data, &options).unwrap().labels.unwrap().names, ["dog"]);
        write(&folder, "l.txt", b"dog\n\n");
        assert!(message(read(&data, &options)).contains("l.txt, line 2: one label was expected"));
    }
}
