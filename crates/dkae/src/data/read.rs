//! Reading a file of rows, whatever its format.
//!
//! [`read`] takes everything into memory; [`crate::data::stream::open`] goes through the same rows block by block. The
//! format follows from the file's name and first bytes unless [`ReadOptions::format`] says it; gzip is always recognised.
//!
//! ```
//! use dkae::data::read::{ReadOptions, read};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("flowers.csv");
//! std::fs::write(&path, "length,width,kind\n5.1,3.5,setosa\n7.0,3.2,versicolor\n")?;
//! let table = read(&path, &ReadOptions { label: Some("kind".parse()?), ..ReadOptions::default() })?;
//! assert_eq!(table.x.dim(), (2, 2));
//! assert_eq!(table.labels.unwrap().names, ["setosa", "versicolor"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::path::{Path, PathBuf};
use std::str::FromStr;

use ndarray::{Array2, ArrayView2, Axis, concatenate};
use serde::{Deserialize, Serialize};

pub use super::columns::Column;
use super::input::Input;
use super::rows::{Interner, Opened, collect, collect_mapped};
use super::sparse::DENSE_LIMIT;
use super::{Labels, Table, cifar, csv, idx, npy, svmlight};
use crate::written;
use crate::{Error, Result};

/// What to read from a file and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct ReadOptions {
    /// The file's format; by default by its name and first bytes.
    pub format: Option<Format>,
    /// The column with the class of each row (csv, Parquet), or the array of labels (npz). Default: none; for npz an
    /// array called `y`, `labels`, `label` or `target`.
    pub label: Option<Column>,
    /// A file with one label per row (idx, npy, or text with one label per line). Default: none; for idx images the
    /// labels file with the usual name beside them, when there is one.
    pub labels_file: Option<PathBuf>,
    /// The column that says which part a row belongs to (csv, Parquet). Default: none.
    pub group: Option<Column>,
    /// Whether a csv file begins with the names of its columns. Default: found out from the first two rows.
    pub header: Option<bool>,
    /// What separates the columns of a csv file. Default: tab, semicolon or comma, whichever fits the first rows.
    pub delimiter: Option<char>,
    /// Columns to leave out (csv, Parquet). Default: none.
    pub skip: Vec<Column>,
    /// Rows with this label are left out. Default: none.
    #[serde(deserialize_with = "written::word")]
    pub drop_label: Option<String>,
    /// Keep missing and infinite values instead of refusing them; missing ones become NaN. Default: false.
    pub allow_missing: bool,
    /// The array with the rows in an npz file. Default: `x`, `X`, `data` or `arr_0`.
    pub array: Option<String>,
    /// What `label`, `group` and `skip` name need not be there, as in a file of new rows. A column that is given by its place
    /// is not there when the file has `width` columns in all. Default: false.
    #[serde(skip)]
    pub may_lack_columns: bool,
    /// How many features svmlight rows have. Default: the largest index in the file.
    pub width: Option<usize>,
    /// The most bytes that sparse rows may take once made dense. Default: 2 GiB.
    pub dense_limit: usize,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            format: None,
            label: None,
            labels_file: None,
            group: None,
            header: None,
            delimiter: None,
            skip: Vec::new(),
            drop_label: None,
            allow_missing: false,
            array: None,
            may_lack_columns: false,
            width: None,
            dense_limit: DENSE_LIMIT,
        }
    }
}

impl ReadOptions {
    /// Refuses settings about columns for formats that have none, rather than ignoring them.
    pub(crate) fn refuse_columns(&self, format: &str) -> Result<()> {
        let name = match self {
            Self { may_lack_columns: true, .. } => return Ok(()),
            Self { label: Some(_), .. } => "label",
            Self { group: Some(_), .. } => "group",
            Self { skip, .. } if !skip.is_empty() => "skip",
            _ => return Ok(()),
        };
        let hint = if name == "label" { "; give labels in a file of their own" } else { "" };
        Err(Error::setting(name, format!("{format} files have no columns to choose from{hint}")))
    }
}

/// A file format that rows are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// The MNIST format: `idx`, `ubyte`.
    Idx,
    /// The binary version of CIFAR-10: `bin`.
    Cifar,
    /// Text with columns: `csv`, `tsv`.
    Csv,
    /// A NumPy array: `npy`.
    Npy,
    /// NumPy arrays in an archive: `npz`.
    Npz,
    /// Sparse rows as text: `svm`, `svmlight`, `libsvm`.
    Svmlight,
    /// Apache Parquet: `parquet`.
    Parquet,
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(s: &str) -> Result<Self> {
        Ok(match s.to_ascii_lowercase().as_str() {
            "idx" => Self::Idx,
            "cifar" => Self::Cifar,
            "csv" | "tsv" => Self::Csv,
            "npy" => Self::Npy,
            "npz" => Self::Npz,
            "svmlight" | "libsvm" | "svm" => Self::Svmlight,
            "parquet" => Self::Parquet,
            _ => {
                let message = format!("`{s}` is not one of idx, cifar, csv, npy, npz, svmlight, parquet");
                return Err(Error::setting("format", message));
            }
        })
    }
}

/// Reads all rows of a file into memory.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Table> {
    Ok(read_counted(path.as_ref(), options)?.0)
}

/// The same, with how many rows the file has, those that were dropped included.
fn read_counted(path: &Path, options: &ReadOptions) -> Result<(Table, usize)> {
    let (opened, side) = open(path, options)?;
    collect(path, opened, side, options)
}

/// Reads a file in a known format.
pub(crate) fn read_as(format: Format, path: &Path, options: &ReadOptions) -> Result<Table> {
    read(path, &ReadOptions { format: Some(format), ..options.clone() })
}

/// Reads several files one after the other, as the batches of CIFAR-10: the same columns in each, classes matched by name.
pub fn read_many(paths: &[impl AsRef<Path>], options: &ReadOptions) -> Result<Table> {
    let (mut tables, mut counts) = (Vec::new(), Vec::new());
    for path in paths.iter().map(|path| path.as_ref()) {
        let (table, count) = read_counted(path, options)?;
        tables.push((path, table));
        counts.push(count);
    }
    join_files(tables, &counts)
}

/// As [`read_many`], but of every `block` rows only what `map` makes of them is kept, such as their codes: the rows
/// themselves need not fit into memory. `map` is told the file and how many of its rows came before the block. Names and
/// shape are those of the rows in the files.
///
/// ```
/// use dkae::data::read::{ReadOptions, read_mapped};
/// use ndarray::Axis;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("rows.csv");
/// std::fs::write(&path, "1,2\n3,4\n5,6\n")?;
/// let table = read_mapped(&[&path], &ReadOptions::default(), 2, |_, _, rows| {
///     Ok(rows.sum_axis(Axis(1)).insert_axis(Axis(1)))
/// })?;
/// assert_eq!(table.x, ndarray::array![[3.0], [7.0], [11.0]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_mapped(
    paths: &[impl AsRef<Path>],
    options: &ReadOptions,
    block: usize,
    mut map: impl FnMut(&Path, usize, ArrayView2<f32>) -> Result<Array2<f32>>,
) -> Result<Table> {
    let (mut tables, mut counts) = (Vec::new(), Vec::new());
    for path in paths {
        let path = path.as_ref();
        let (opened, side) = open(path, options)?;
        let mut before = 0;
        let (table, count) = collect_mapped(path, opened, side, options, block, |rows| {
            let made = map(path, before, rows);
            before += rows.nrows();
            made
        })?;
        tables.push((path, table));
        counts.push(count);
    }
    join_files(tables, &counts)
}

/// One table of those of several files, which must have the same columns; `counts` are the rows of each, those that were
/// dropped included.
fn join_files(tables: Vec<(&Path, Table)>, counts: &[usize]) -> Result<Table> {
    let Some((first_path, first)) = tables.first() else {
        return Err(Error::Data("no file to read was given".to_owned()));
    };
    for (path, table) in &tables[1..] {
        let differs =
            |what: &str| Error::format(path, "", format!("does not go with {}: {what}", first_path.display()));
        if table.x.ncols() != first.x.ncols() {
            return Err(differs(&format!("{} features instead of {}", table.x.ncols(), first.x.ncols())));
        }
        if table.names != first.names {
            return Err(differs("other column names"));
        }
        if table.labels.is_some() != first.labels.is_some() {
            return Err(differs("one has labels, the other has not"));
        }
    }
    // Rows count through all files, so a file's own begin after all rows of those before it.
    let numbers = tables.iter().any(|(_, t)| t.numbers.is_some()).then(|| {
        let starts = counts.iter().scan(0, |next, count| Some(std::mem::replace(next, *next + count)));
        let own = |t: &Table, start: usize| match &t.numbers {
            Some(numbers) => numbers.iter().map(|n| start + n).collect::<Vec<_>>(),
            None => (start..start + t.len()).collect(),
        };
        tables.iter().zip(starts).flat_map(|((_, t), start)| own(t, start)).collect()
    });
    Ok(Table { numbers, ..join(tables.into_iter().map(|(_, table)| table).collect())? })
}

/// Puts tables of the same width one after the other; classes are matched by name, and features are called as in the first.
/// Numbers of rows are those in the new table.
pub fn join(mut tables: Vec<Table>) -> Result<Table> {
    if tables.len() == 1 {
        return Ok(tables.remove(0));
    }
    let views: Vec<_> = tables.iter().map(|t| t.x.view()).collect();
    let x = concatenate(Axis(0), &views).map_err(|e| Error::Data(format!("cannot join the files: {e}")))?;
    let labels = tables.iter().all(|t| t.labels.is_some()).then(|| {
        let mut all = Interner::default();
        for labels in tables.iter().filter_map(|t| t.labels.as_ref()) {
            labels.index.iter().for_each(|&i| all.push(&labels.names[i as usize]));
        }
        all.into_labels()
    });
    let groups = tables.iter().all(|t| t.groups.is_some());
    let groups = groups.then(|| tables.iter_mut().flat_map(|t| t.groups.take().unwrap_or_default()).collect());
    let warnings = tables.iter_mut().flat_map(|t| std::mem::take(&mut t.warnings)).collect();
    let first = tables.swap_remove(0);
    Ok(Table { x, labels, names: first.names, shape: first.shape, groups, numbers: None, warnings })
}

/// Opens a file and, when its labels are elsewhere, reads those.
pub(crate) fn open(path: &Path, options: &ReadOptions) -> Result<(Opened, Option<(PathBuf, Labels)>)> {
    let mut input = Input::open(path)?;
    if input.at_end()? {
        return Err(Error::format(path, "", "the file is empty, there are no rows in it"));
    }
    let format = match options.format {
        Some(format) => format,
        None => detect(&mut input)?,
    };
    // Parquet and npz have their tables of contents at the end, and the width of svmlight rows takes a pass of its own.
    let twice = match format {
        Format::Parquet | Format::Npz => Some(""),
        Format::Svmlight if options.width.is_none() => Some(", or say how wide its rows are"),
        _ => None,
    };
    if let (Some(way_out), None) = (twice, input.most_bytes) {
        let message = format!("is a pipe, and a file of this format must be read twice; save it first{way_out}");
        return Err(Error::format(path, "", message));
    }
    let opened = match format {
        Format::Idx => idx::open(input, options),
        Format::Cifar => cifar::open(input, options),
        Format::Csv => csv::open(input, options),
        Format::Npy => npy::open(input, options),
        Format::Npz => npy::open_npz(input, options),
        Format::Svmlight => svmlight::open(input, options),
        #[cfg(feature = "parquet")]
        Format::Parquet => super::parquet::open(input, options),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => {
            Err(Error::format(path, "", "this build cannot read Parquet; build with the feature `parquet`"))
        }
    }?;
    let labels_file = match &options.labels_file {
        Some(file) => Some(file.clone()),
        None if format == Format::Idx => idx::sibling_labels(path),
        None => None,
    };
    let side = labels_file.map(|file| read_labels(&file).map(|labels| (file, labels))).transpose()?;
    Ok((opened, side))
}

/// The format of a file, by its name and else by its first bytes.
pub fn detect_format(path: impl AsRef<Path>) -> Result<Format> {
    detect(&mut Input::open(path.as_ref())?)
}

fn detect(input: &mut Input) -> Result<Format> {
    let name = input.path.file_name().map(|n| n.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let by_name = match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "csv" | "tsv" => Some(Format::Csv),
        "npy" => Some(Format::Npy),
        "npz" => Some(Format::Npz),
        "svm" | "svmlight" | "libsvm" => Some(Format::Svmlight),
        "parquet" | "pq" => Some(Format::Parquet),
        "bin" => Some(Format::Cifar),
        "idx" => Some(Format::Idx),
        _ if name.ends_with("ubyte") || name.contains("-idx") || name.contains(".idx") => Some(Format::Idx),
        _ => None,
    };
    if let Some(format) = by_name {
        return Ok(format);
    }
    let start = input.peek(1 << 12)?;
    match start.as_slice() {
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Ok(Format::Npy),
        [b'P', b'K', 3, 4, ..] => Ok(Format::Npz),
        [b'P', b'A', b'R', b'1', ..] => Ok(Format::Parquet),
        [0, 0, 0x08..=0x0e, 1..=8, ..] => Ok(Format::Idx),
        [] => Err(Error::format(&input.path, "", "the file is empty")),
        [_, _, _, _, _, 0, 0, 0, b'{', ..] => {
            Err(Error::format(&input.path, "", "is a model or another safetensors file, where rows were expected"))
        }
        text if text.iter().all(|&b| b >= b' ' || matches!(b, b'\t' | b'\n' | b'\r')) => {
            Ok(if svmlight::looks_like(text) { Format::Svmlight } else { Format::Csv })
        }
        _ => Err(Error::format(
            &input.path,
            "",
            "cannot tell the format from name or contents; say which it is: idx, cifar, csv, npy, npz, svmlight, parquet",
        )),
    }
}

/// Reads a file of labels: idx or npy with one number per row, or text with one label per line.
pub fn read_labels(path: impl AsRef<Path>) -> Result<Labels> {
    let path = path.as_ref();
    let mut input = Input::open(path)?;
    let mut labels = Interner::default();
    match detect(&mut input)? {
        Format::Idx => idx::labels(input, &mut labels)?,
        Format::Npy => npy::labels(input, &mut labels)?,
        Format::Csv => csv::labels(input, &mut labels)?,
        _ => return Err(Error::format(path, "", "labels are read from idx, npy or text files, one label per row")),
    }
    Ok(labels.into_labels())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_rows_may_lack_the_columns_that_were_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        let column = |text: &str| text.parse::<Column>().unwrap();
        let shape = |text: &str, named: [&str; 3], width| {
            std::fs::write(&path, text).unwrap();
            let [label, group, skip] = named.map(column);
            let strict = ReadOptions {
                label: Some(label),
                group: Some(group),
                skip: vec![skip],
                width,
                ..ReadOptions::default()
            };
            let lenient = ReadOptions { may_lack_columns: true, ..strict.clone() };
            let table = read(&path, &lenient).unwrap();
            let found = (table.x.ncols(), table.labels.is_some(), table.groups.is_some());
            (read(&path, &strict).is_ok(), found)
        };
        let named = ["kind", "image", "id"];
        assert_eq!(shape("id,a,b,kind,image\n1,2,3,x,1\n2,3,4,y,1\n", named, None), (true, (2, true, true)));
        assert_eq!(shape("a,b,kind\n2,3,x\n3,4,y\n", named, None), (false, (2, true, false)));
        assert_eq!(shape("id,a,b\n1,2,3\n2,3,4\n", named, None), (false, (2, false, false)));
        assert_eq!(shape("2,3\n3,4\n", named, None), (false, (2, false, false)));
        // By their places, once it is known how many features rows have.
        let placed = ["last", "4", "1"];
        assert_eq!(shape("1,2,3,1,x\n2,3,4,1,y\n", placed, Some(2)), (true, (2, true, true)));
        assert_eq!(shape("2,3\n3,4\n", placed, Some(2)), (false, (2, false, false)));
        // Formats without columns; an archive without the array.
        let bare = ReadOptions { label: Some(column("kind")), skip: vec![column("id")], ..ReadOptions::default() };
        let lenient = ReadOptions { may_lack_columns: true, ..bare.clone() };
        let array = folder.path().join("rows.npy");
        let mut sink = crate::data::stream::create(&array, 2, None).unwrap();
        sink.write(Array2::zeros((3, 2)).view()).and_then(|()| sink.finish()).unwrap();
        for path in [array, crate::data::test_files::fixture("labelled.npz")] {
            assert!(read(&path, &bare).is_err(), "{}", path.display());
            assert!(read(&path, &lenient).unwrap().labels.is_none(), "{}", path.display());
        }
    }

    #[test]
    fn formats_are_recognised_by_name_and_by_contents() {
        let folder = tempfile::tempdir().unwrap();
        let detect = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            detect_format(path).map_err(|e| e.to_string())
        };
        for (name, format) in [
            ("a.CSV.gz", Format::Csv),
            ("a.tsv", Format::Csv),
            ("a.npy", Format::Npy),
            ("a.npz", Format::Npz),
            ("a.svm.gz", Format::Svmlight),
            ("a.parquet", Format::Parquet),
            ("data_batch_1.bin.gz", Format::Cifar),
            ("train-images-idx3-ubyte.gz", Format::Idx),
            ("train-images.idx3-ubyte", Format::Idx),
        ] {
            assert_eq!(detect(name, b"x"), Ok(format), "{name}");
        }
        for (bytes, format) in [
            (&b"\x93NUMPY\x01"[..], Format::Npy),
            (b"PK\x03\x04....", Format::Npz),
            (b"PAR1....", Format::Parquet),
            (b"\x00\x00\x08\x03....", Format::Idx),
            (b"1,2,3\n", Format::Csv),
            (b"+1 3:0.5 7:2 # note\n-1 2:1\n", Format::Svmlight),
            (b"\xef\xbb\xbf+1 3:0.5\n", Format::Svmlight),
        ] {
            assert_eq!(detect("data", bytes), Ok(format));
        }
        assert!(detect("data", b"").unwrap_err().contains("the file is empty"));
        assert!(detect("data", &[0xff, 0xfe, 0, 1]).unwrap_err().contains("say which it is"));
        assert!(detect("m.dkae", b"\x09\x01\0\0\0\0\0\0{\"").unwrap_err().contains("is a model"));
    }

    #[test]
    fn several_files_become_one_table_with_classes_matched_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let a = file("a.csv", "x,c\n1,b\n2,c\n");
        let b = file("b.csv", "x,c\n3,a\n4,b\n");
        let options = ReadOptions { label: Some(Column::Last), ..ReadOptions::default() };
        let table = read_many(&[&a, &b], &options).unwrap();
        assert_eq!(table.x.column(0).to_vec(), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!((table.labels.unwrap().index, table.numbers), (vec![1, 2, 0, 1], None));
        // Rows keep their numbers when some are left out: the last of one file and the first of the other.
        for (label, left) in [("c", vec![0, 2, 3]), ("a", vec![0, 1, 3])] {
            let dropped = ReadOptions { drop_label: Some(label.into()), ..options.clone() };
            assert_eq!(read_many(&[&a, &b], &dropped).unwrap().numbers, Some(left));
        }
        let wide = file("wide.csv", "x,z,c\n3,1,a\n");
        let e = read_many(&[&a, &wide], &options).unwrap_err().to_string();
        assert!(e.contains("wide.csv") && e.contains("2 features instead of 1"), "{e}");
        assert!(read_many(&[] as &[&Path], &options).is_err());
    }

    #[test]
    fn mapped_rows_are_those_of_the_whole_table_whatever_the_blocks() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["x,c\n1,b\n2,c\n9,d\n4,b\n", "x,c\n3,a\n4,b\n"].map(|text| {
            let path = folder.path().join(format!("{}.csv", text.len()));
            std::fs::write(&path, text).unwrap();
            path
        });
        let options = ReadOptions { label: Some(Column::Last), drop_label: Some("d".into()), ..ReadOptions::default() };
        let whole = read_many(&files, &options).unwrap();
        for block in [1, 2, 3, 100] {
            let mut places = Vec::new();
            let mapped = read_mapped(&files, &options, block, |path, before, rows| {
                assert!(rows.nrows() <= block);
                places.extend((before..before + rows.nrows()).map(|i| (path.to_owned(), i)));
                Ok(concatenate![Axis(1), rows, rows.mapv(|v| -v)])
            })
            .unwrap();
            assert_eq!(mapped.x.column(0), whole.x.column(0), "{block}");
            assert_eq!((mapped.x.ncols(), &mapped.labels, &mapped.names), (2, &whole.labels, &whole.names));
            let counted = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)].map(|(file, i)| (files[file].clone(), i));
            assert_eq!(places, counted);
        }
        let all = ReadOptions { drop_label: Some("x".into()), ..options };
        std::fs::write(&files[0], "x,c\n1,x\n").unwrap();
        let e = read_mapped(&files[..1], &all, 9, |_, _, rows| Ok(rows.to_owned())).unwrap_err().to_string();
        assert!(e.contains("every row has the label `x`"), "{e}");
    }

    /// Forty times a quarter more than 1e8, where f32 has steps of 8, beside whole numbers, as every format has it.
    #[test]
    fn digits_that_32_bits_cannot_hold_are_warned_of_in_every_format() {
        let folder = tempfile::tempdir().unwrap();
        let rows: Vec<[f64; 2]> = (0..40).map(|i| [1e8 + 0.25 * f64::from(i), f64::from(i)]).collect();
        let header = |order: &str, kind: &str| {
            npy::tests::file(&format!("{{'descr': '{kind}', 'fortran_order': {order}, 'shape': (40, 2), }}"), &[])
        };
        let bytes = |values: &mut dyn Iterator<Item = f64>| values.flat_map(f64::to_le_bytes).collect::<Vec<_>>();
        let in_rows = bytes(&mut rows.iter().flatten().copied());
        let in_columns = bytes(&mut (0..2).flat_map(|j| rows.iter().map(move |row| row[j])));
        let whole: Vec<u8> = (0..40i64).flat_map(|i| [i, 1_700_000_000_000 + i]).flat_map(i64::to_le_bytes).collect();
        let narrow: Vec<u8> = rows.iter().flatten().flat_map(|&v| (v as f32).to_le_bytes()).collect();
        let mut idx = vec![0, 0, 14, 2, 0, 0, 0, 40, 0, 0, 0, 2];
        idx.extend(rows.iter().flatten().flat_map(|v| v.to_be_bytes()));
        let text: String = rows.iter().map(|[t, i]| format!("{t};{i}\n")).collect();
        let files: Vec<(&str, Vec<u8>, Option<&str>)> = vec![
            ("a.csv", text.into_bytes(), Some("feature 1: ")),
            ("c.npy", [header("False", "<f8"), in_rows].concat(), Some("feature 1: ")),
            ("f.npy", [header("True", "<f8"), in_columns].concat(), Some("feature 1: ")),
            ("i.npy", [header("False", "<i8"), whole].concat(), Some("feature 2: ")),
            ("a.idx", idx, Some("feature 1: ")),
            #[cfg(feature = "parquet")]
            (
                "a.parquet",
                std::fs::read(super::super::test_files::fixture("offset.parquet")).unwrap(),
                Some("feature 1 (`t`): "),
            ),
            // What is lost was lost before.
            ("n.npy", [header("False", "<f4"), narrow].concat(), None),
        ];
        for (name, bytes, place) in files {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            let table = read(&path, &ReadOptions::default()).unwrap();
            assert_eq!((table.len(), table.warnings.len()), (40, usize::from(place.is_some())), "{name}");
            let words = place.map(|place| format!("{name}, {place}numbers are kept in 32 bits"));
            assert!(table.warnings.iter().all(|w| words.as_ref().is_some_and(|words| w.contains(words))), "{table:?}");
            let mut source = super::super::stream::open(&path, &ReadOptions::default()).unwrap();
            while source.next_block(7).unwrap().is_some() {}
            assert_eq!(source.warnings(), table.warnings, "{name}");
            // Of several files all are said.
            assert_eq!(
                read_many(&[&path, &path], &ReadOptions::default()).unwrap().warnings.len(),
                2 * table.warnings.len()
            );
        }
    }

    #[test]
    fn a_name_that_several_columns_have_is_no_place_for_labels() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("twice.csv");
        std::fs::write(&path, "a,b,a\n1,2,3\n4,5,6\n").unwrap();
        let label = |text: &str| ReadOptions { label: Some(text.parse().unwrap()), ..ReadOptions::default() };
        let e = read(&path, &label("a")).unwrap_err().to_string();
        assert!(
            e.starts_with("label: ") && e.contains("columns 1, 3 are all called `a`; give the number of one"),
            "{e}"
        );
        assert_eq!(read(&path, &label("3")).unwrap().labels.unwrap().names, ["3", "6"]);
        let skip = ReadOptions { skip: vec!["a".parse().unwrap()], ..ReadOptions::default() };
        assert_eq!(read(&path, &skip).unwrap().x, ndarray::array![[2.0], [5.0]]);
    }

    #[test]
    fn an_empty_file_is_called_so_whatever_its_format() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.csv", "a.npy", "a.npz", "a.idx", "a.bin", "a.svm", "a.parquet", "a"] {
            let path = folder.path().join(name);
            std::fs::write(&path, "").unwrap();
            let e = read(&path, &ReadOptions::default()).unwrap_err().to_string();
            assert!(e.contains(&format!("{name}: the file is empty")), "{e}");
        }
    }

    /// A pipe that a thread writes into, as another command would.
    #[test]
    #[cfg(target_os = "linux")]
    fn pipes_are_read_or_refused_by_what_the_format_needs() {
        use std::os::fd::AsRawFd;
        let through = |bytes: Vec<u8>, options: ReadOptions| {
            let (reader, mut writer) = std::io::pipe().unwrap();
            let path = format!("/proc/self/fd/{}", reader.as_raw_fd());
            let table = std::thread::scope(|scope| {
                scope.spawn(move || std::io::Write::write_all(&mut writer, &bytes));
                read(&path, &options)
            });
            table.map(|table| table.x).map_err(|e| e.to_string())
        };
        let want = ndarray::array![[1.0, 2.0], [3.0, 4.0]];
        let plain = ReadOptions::default();
        assert_eq!(through(b"1,2\n3,4\n".to_vec(), plain.clone()), Ok(want.clone()));
        let svm = b"1 1:1 2:2\n2 1:3 2:4\n".to_vec();
        let wide = ReadOptions { width: Some(2), ..ReadOptions::default() };
        assert_eq!(through(svm.clone(), wide), Ok(want));
        assert!(
            through(svm, plain.clone())
                .unwrap_err()
                .contains("is a pipe, and a file of this format must be read twice")
        );
        let npz = std::fs::read(super::super::test_files::fixture("labelled.npz")).unwrap();
        assert!(through(npz, plain.clone()).unwrap_err().contains("save it first"));
        assert!(through(Vec::new(), plain).unwrap_err().contains("the file is empty"));
    }

    #[test]
    fn a_folder_and_a_missing_file_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let e = read(folder.path(), &ReadOptions::default()).unwrap_err().to_string();
        assert!(e.contains("is a folder"), "{e}");
        let e = read("no-such-file.csv", &ReadOptions::default()).unwrap_err().to_string();
        assert!(e.starts_with("no-such-file.csv: No such file"), "{e}");
    }
}
