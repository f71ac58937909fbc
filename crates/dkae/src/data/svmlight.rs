//! The svmlight (libsvm) format: sparse rows as text, plain or gzipped.
//!
//! A line is a label, perhaps `qid:7` (ignored), and `index:value` pairs with indices from 1; `#` begins a comment.
//! [`read_sparse`] keeps the rows sparse; [`read`] makes them dense, when that fits in [`ReadOptions::dense_limit`].

use std::io::BufRead;
use std::path::Path;

use super::input::{Input, MARK};
use super::read::{Format, ReadOptions, read_as, read_labels};
use super::rows::{Collector, Interner, Opened, Reader, check_count, number_label, same_label, side_label};
use super::sparse::{Csr, SparseTable, too_large};
use super::{Shape, Table};
use crate::{Error, Result};

/// Reads an svmlight file into dense rows.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Table> {
    read_as(Format::Svmlight, path.as_ref(), options)
}

/// Reads an svmlight file; the rows stay sparse.
pub fn read_sparse(path: impl AsRef<Path>, options: &ReadOptions) -> Result<SparseTable> {
    options.refuse_columns("svmlight")?;
    let mut lines = Lines::new(Input::open(path.as_ref())?, options)?;
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    let mut labels = Interner::default();
    let side = options.labels_file.as_ref().map(|file| read_labels(file).map(|l| (file.clone(), l))).transpose()?;
    let (mut seen, mut numbers) = (0, Vec::new());
    while lines.next()? {
        let label = match &side {
            Some(side) => side_label(side, seen, path.as_ref())?,
            None => &lines.label,
        };
        seen += 1;
        if options.drop_label.as_ref().is_some_and(|unwanted| same_label(label, unwanted)) {
            continue;
        }
        if !options.allow_missing
            && let Some(&(j, _)) = lines.entries.iter().find(|(_, v)| !v.is_finite())
        {
            return Err(lines.bad(format!("the value at index {} is not a finite number", u64::from(j) + 1)));
        }
        for &(j, v) in &lines.entries {
            indices.push(j);
            values.push(v);
        }
        starts.push(indices.len());
        labels.push(label);
        numbers.push(seen - 1);
    }
    if let Some(side) = &side {
        check_count(side, seen, path.as_ref())?;
    }
    if starts.len() == 1 {
        return Err(Error::format(path, "", "the file has no rows, or none that were to be kept"));
    }
    let width = options.width.unwrap_or(lines.largest);
    let numbers = (numbers.len() < seen).then_some(numbers);
    Ok(SparseTable { x: Csr::new(starts, indices, values, width)?, labels: Some(labels.into_labels()), numbers })
}

pub(crate) fn open(input: Input, options: &ReadOptions) -> Result<Opened> {
    options.refuse_columns("svmlight")?;
    let path = input.path.clone();
    let mut rows_hint = None;
    let width = match options.width {
        Some(width) => width,
        // The width is the largest index anywhere in the file, so it takes a first pass; memory then grows only with
        // what is read, and only within the limit.
        None => {
            let mut lines = Lines::new(Input::open(&path)?, options)?;
            let mut rows = 0usize;
            while lines.next()? {
                rows += 1;
            }
            rows_hint = Some(rows);
            lines.largest
        }
    };
    if width == 0 {
        return Err(Error::format(&path, "", "the file has no rows with values"));
    }
    // One row at least must fit; whole tables are checked as they grow.
    if width.saturating_mul(size_of::<f32>()) > options.dense_limit {
        return Err(Error::format(&path, "", too_large(1, width, options.dense_limit)));
    }
    let rows_hint = rows_hint.filter(|rows| rows.saturating_mul(width).saturating_mul(4) <= options.dense_limit);
    let lines = Lines::new(input, options)?;
    let rows = Rows { lines, width, limit: options.dense_limit };
    Ok(Opened { reader: Box::new(rows), width, shape: Shape::Vector, names: None, rows_hint })
}

/// Whether text looks like svmlight: a number and then a pair.
pub(crate) fn looks_like(text: &[u8]) -> bool {
    let text = text.strip_prefix(MARK).unwrap_or(text);
    let line = text.split(|&b| b == b'\n').find(|l| !l.trim_ascii().is_empty() && l[0] != b'#').unwrap_or_default();
    let mut tokens = line.split(|b| b.is_ascii_whitespace()).filter(|t| !t.is_empty());
    let is_number = |t: &[u8]| std::str::from_utf8(t).is_ok_and(|t| t.parse::<f64>().is_ok());
    tokens.next().is_some_and(is_number)
        && tokens.next().is_some_and(|pair| {
            let mut parts = pair.splitn(2, |&b| b == b':');
            parts.next().is_some_and(|i| i == b"qid" || is_number(i)) && parts.next().is_some_and(is_number)
        })
}

/// The rows of a file, one at a time.
struct Lines {
    input: Input,
    line: Vec<u8>,
    number: u64,
    most_width: usize,
    /// The label of the row read last.
    label: String,
    /// Its entries that are not zero, by ascending index from 0.
    entries: Vec<(u32, f32)>,
    /// The largest index so far, counted from 1.
    largest: usize,
}

impl Lines {
    fn new(mut input: Input, options: &ReadOptions) -> Result<Self> {
        let most_width = options.width.unwrap_or(u32::MAX as usize);
        if most_width == 0 || most_width > u32::MAX as usize {
            return Err(Error::setting("width", format!("{most_width} is not between 1 and {}", u32::MAX)));
        }
        input.skip_mark()?;
        Ok(Self { input, line: vec![], number: 0, most_width, label: String::new(), entries: vec![], largest: 0 })
    }

    fn bad(&self, message: String) -> Error {
        Error::format(&self.input.path, format!("line {}", self.number), message)
    }

    /// Goes to the next row; false at the end.
    fn next(&mut self) -> Result<bool> {
        loop {
            self.line.clear();
            let got = self.input.reader.read_until(b'\n', &mut self.line);
            if got.map_err(|e| self.input.error(e))? == 0 {
                return Ok(false);
            }
            self.number += 1;
            let line = std::mem::take(&mut self.line);
            let text = line.split(|&b| b == b'#').next().unwrap_or_default();
            let found = std::str::from_utf8(text)
                .map_err(|_| self.bad("is not text; is the file really in svmlight format?".to_owned()))
                .and_then(|text| self.parse(text));
            self.line = line;
            if found? {
                return Ok(true);
            }
        }
    }

    /// Reads one line; false when it has nothing but white space.
    fn parse(&mut self, text: &str) -> Result<bool> {
        let mut tokens = text.split_ascii_whitespace();
        let Some(label) = tokens.next() else { return Ok(false) };
        if label.contains(':') {
            return Err(self.bad(format!("begins with `{label}`, where a label was expected")));
        }
        self.label = label.parse().map_or_else(|_| label.to_owned(), number_label);
        self.entries.clear();
        for token in tokens {
            let pair = || format!("`{token}` where index:value was expected, with indices from 1");
            let (index, value) = token.split_once(':').ok_or_else(|| self.bad(pair()))?;
            if index == "qid" {
                continue;
            }
            let index: usize = index.parse().map_err(|_| self.bad(pair()))?;
            let value: f32 = value.parse().map_err(|_| self.bad(pair()))?;
            if index == 0 || index > self.most_width {
                let counted =
                    "; here the first feature is 1: write the file anew with indices from 1 (zero_based=False)";
                let hint = if index == 0 { counted } else { "" };
                let message = format!("index {index} is not between 1 and {}{hint}", self.most_width);
                return Err(self.bad(message));
            }
            self.largest = self.largest.max(index);
            // A zero that is written out is still a zero: it must not count as a word of a document.
            if value != 0.0 {
                self.entries.push(((index - 1) as u32, value));
            }
        }
        self.entries.sort_by_key(|&(j, _)| j);
        if let Some(pair) = self.entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(self.bad(format!("index {} occurs twice", u64::from(pair[0].0) + 1)));
        }
        Ok(true)
    }
}

/// Rows made dense.
struct Rows {
    lines: Lines,
    width: usize,
    limit: usize,
}

impl Reader for Rows {
    fn read(&mut self, max: usize, out: &mut Collector) -> Result<usize> {
        let most = max.min(1024);
        for done in 0..most {
            if !self.lines.next()? {
                return Ok(done);
            }
            let start = out.values.len();
            if (start + self.width).saturating_mul(size_of::<f32>()) > self.limit {
                let message = too_large(out.kept + 1, self.width, self.limit);
                return Err(Error::format(&out.path, format!("line {}", self.lines.number), message));
            }
            out.values.resize(start + self.width, 0.0);
            for &(j, v) in &self.lines.entries {
                // The file may have changed since the first pass.
                match out.values.get_mut(start + j as usize) {
                    Some(value) => *value = v,
                    None => return Err(self.lines.bad(format!("index {} is larger than {}", j + 1, self.width))),
                }
            }
            out.end_row(Some(&self.lines.label), None, || format!("line {}", self.lines.number))?;
        }
        Ok(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::test_files::{gzip, message, write};
    use ndarray::array;

    fn options() -> ReadOptions {
        ReadOptions::default()
    }

    const TEXT: &str = "# a comment\n+1 1:2 3:0.5\n\n-1 qid:4 3:1 2:-4 # out of order\n1.0 4:0\n-1\n";

    #[test]
    fn dense_and_sparse_readings_agree() {
        let folder = tempfile::tempdir().unwrap();
        let want = array![[2.0, 0.0, 0.5, 0.0], [0.0, -4.0, 1.0, 0.0], [0.0; 4], [0.0; 4]];
        for (name, bytes) in [("a.svm", TEXT.as_bytes().to_vec()), ("a.svm.gz", gzip(TEXT.as_bytes()))] {
            let path = write(&folder, name, &bytes);
            let dense = read(&path, &options()).unwrap();
            assert_eq!(dense.x, want);
            let labels = dense.labels.unwrap();
            assert_eq!((labels.names.join(" "), labels.index.clone()), ("-1 1".to_owned(), vec![1, 0, 1, 0]));
            let sparse = read_sparse(&path, &options()).unwrap();
            assert_eq!(sparse.x.to_dense(1000).unwrap(), want);
            assert_eq!(sparse.x.entries(), 4);
            assert_eq!(sparse.labels.unwrap(), labels);
            let some = ReadOptions { width: Some(6), drop_label: Some("-1".into()), ..options() };
            assert_eq!(read(&path, &some).unwrap().x.dim(), (2, 6));
            let (dense, sparse) = (read(&path, &some).unwrap(), read_sparse(&path, &some).unwrap());
            assert_eq!(sparse.x.to_dense(1000).unwrap(), dense.x);
            // Of the file's rows 0 to 3, the two of the other class.
            assert_eq!((dense.numbers, sparse.numbers), (Some(vec![0, 2]), Some(vec![0, 2])));
            // Labels of a file of their own go before those on the lines.
            let other = write(&folder, "l.txt", b"a\nb\nc\na\n");
            let side = ReadOptions { labels_file: Some(other.clone()), drop_label: Some("b".into()), ..options() };
            let (dense, sparse) = (read(&path, &side).unwrap(), read_sparse(&path, &side).unwrap());
            assert_eq!((dense.labels.as_ref().unwrap().index.clone(), sparse.x.nrows()), (vec![0, 1, 0], 3));
            assert_eq!(dense.labels, sparse.labels);
            for text in ["a\nb\nc\n", "a\nb\nc\nd\ne\n"] {
                std::fs::write(&other, text).unwrap();
                for m in [message(read(&path, &side)), message(read_sparse(&path, &side))] {
                    assert!(m.contains("l.txt") && m.contains("do the two files belong together?"), "{m}");
                }
            }
        }
    }

    #[test]
    fn the_mark_that_some_editors_put_before_text_is_no_part_of_a_label() {
        let folder = tempfile::tempdir().unwrap();
        let path = write(&folder, "a.svm", b"\xef\xbb\xbf1 1:2\n1 2:3\n");
        let (dense, sparse) = (read(&path, &options()).unwrap(), read_sparse(&path, &options()).unwrap());
        assert_eq!(dense.labels.unwrap().names, ["1"]);
        assert_eq!(sparse.labels.unwrap().names, ["1"]);
    }

    #[test]
    fn bad_files_are_refused_with_the_line() {
        let folder = tempfile::tempdir().unwrap();
        let says = |text: &[u8], part: &str| {
            let path = write(&folder, "a.svm", text);
            for m in [message(read(&path, &options())), message(read_sparse(&path, &options()))] {
                assert!(m.contains(part), "{m}");
            }
        };
        says(b"1 1:1\n1 x\n", "a.svm, line 2: `x` where index:value was expected");
        says(b"1 1:1\n1 2:b\n", "a.svm, line 2: `2:b`");
        says(b"1 0:1\n", "index 0 is not between 1 and");
        says(b"1 0:1\n", "zero_based=False");
        says(b"1 5000000000:1\n", "index 5000000000 is not between");
        says(b"1 2:1 2:3\n", "line 1: index 2 occurs twice");
        says(b"2:1 3:1\n", "where a label was expected");
        says(b"1 2:nan\n", "line 1");
        says(b"1 \xff\xfe\n", "is not text");
        says(b"# nothing\n", "the file has no rows");
        let packed = gzip(TEXT.as_bytes());
        says(&packed[..packed.len() - 5], "truncated");
    }

    #[test]
    fn rows_too_wide_to_be_dense_are_refused_before_they_take_memory() {
        let folder = tempfile::tempdir().unwrap();
        let path = write(&folder, "a.svm", b"1 4000000000:1\n");
        assert!(message(read(&path, &options())).contains("truncated SVD"));
        assert_eq!(read_sparse(&path, &options()).unwrap().x.ncols(), 4_000_000_000);
        let path = write(&folder, "b.svm", "1 1000:1\n".repeat(100).as_bytes());
        let small = ReadOptions { dense_limit: 50 * 4000, ..options() };
        assert!(message(read(&path, &small)).contains("line 51"));
        let wide = ReadOptions { width: Some(999), ..options() };
        assert!(message(read_sparse(&path, &wide)).contains("index 1000 is not between 1 and 999"));
    }
}
