//! The rows of `dkae classify`: where they come from, and what is made of them.

use std::path::{Path, PathBuf};

use anyhow::Result;
use dkae::Error;
use dkae::data::Table;
use dkae::data::read::{ReadOptions, join, read_many};
use dkae::data::split::Split;
use dkae::kernel::Precomputed;
use dkae::math::check;
use dkae::net::Model;
use dkae::progress::Progress;
use dkae::recipe::{Recipe, Source};
use ndarray::{Array2, ArrayView2, Axis, concatenate, s};

use super::by_matrix;
use crate::fit::{about_rows, read_matrix};
use crate::flags::Classify;
use crate::rows::{Like, encode, read_like, say_header};
use crate::screen::{self, Screen};

/// The share of the training rows that settings are chosen by.
const SHARE: f64 = 0.2;

/// A model, and the file it is from.
type Named<'a> = (&'a Path, &'a Model);

/// The rows whose classes are known, those of all files in one table, and which are for what.
pub struct Given {
    pub rows: Table,
    pub split: Split,
    /// The number of each test row in the file that it is from.
    pub numbers: Vec<usize>,
}

impl Given {
    pub fn read(flags: &Classify, model: Option<Named>, recipe: &Recipe, screen: Screen) -> Result<Self> {
        if let Some(train) = &flags.train {
            return Self::from_files(flags, model, train, recipe.seed, screen);
        }
        let rows = read_rows(model, &flags.data, &flags.reading.options(), screen)?;
        if rows.labels.is_none() {
            return Err(no_classes(&flags.data[0]));
        }
        let split = recipe.split(rows.len(), rows.groups.as_deref())?;
        let numbers = split.test.iter().map(|&i| number(&rows, i)).collect();
        Ok(Given { rows, split, numbers })
    }

    /// Training, validation and test rows from files of their own; classes are matched by name.
    fn from_files(flags: &Classify, model: Option<Named>, train: &Path, seed: u64, screen: Screen) -> Result<Self> {
        let learn = read_rows(model, &[train.to_owned()], &flags.reading.options(), screen)?;
        if learn.labels.is_none() {
            return Err(no_classes(train));
        }
        let like = like(train, learn.x.ncols(), learn.names.as_deref());
        let read_more = |path: &PathBuf, labels_file: &Option<PathBuf>| -> Result<Table> {
            let mut options = ReadOptions { may_lack_columns: true, ..flags.reading.options() };
            options.labels_file.clone_from(labels_file);
            if labels_file.is_some() {
                options.skip.extend(options.label.take());
            }
            // A sparse file of few rows may not mention the last features. What a model prepares has a width of its own.
            options.width = options.width.or(model.is_none().then_some(like.width));
            let table = read_rows(model, std::slice::from_ref(path), &options, screen)?;
            if table.labels.is_none() {
                return Err(no_classes(path));
            }
            like.check_width(path, table.x.ncols(), "rows")?;
            like.check_names(path, table.names.as_deref())?;
            Ok(table)
        };
        let choose = flags.validation.as_ref().map(|path| read_more(path, &flags.validation_labels)).transpose()?;
        let measure = flags.test.as_ref().map(|path| read_more(path, &flags.test_labels)).transpose()?;
        let n = learn.len();
        let mut split = match &choose {
            Some(choose) => {
                Split { train: (0..n).collect(), validation: (n..n + choose.len()).collect(), test: vec![] }
            }
            None => {
                let share = flags.validation_share.unwrap_or(SHARE);
                if !(share > 0.0 && share < 1.0) {
                    let message = format!("expected a number between 0 and 1, found {share}");
                    return Err(Error::setting("validation-share", message).into());
                }
                Split::random(n, [1.0 - share, share, 0.0], seed)?
            }
        };
        let before = n + choose.as_ref().map_or(0, Table::len);
        split.test = (before..before + measure.as_ref().map_or(0, Table::len)).collect();
        let numbers = measure.iter().flat_map(|rows| (0..rows.len()).map(|i| number(rows, i))).collect();
        let tables: Vec<Table> = [Some(learn), choose, measure].into_iter().flatten().collect();
        Ok(Given { rows: join(tables)?, split, numbers })
    }

    /// Training, validation and test rows as they are learned from: scaled, as codes, or as values of a kernel matrix, which
    /// is that of the training rows. Those of `--predict` come after the test rows.
    pub fn prepare(
        self,
        flags: &Classify,
        model: Option<Named>,
        recipe: &Recipe,
        screen: Screen,
    ) -> Result<([Array2<f32>; 3], Option<Precomputed>)> {
        let first = flags.train.as_ref().unwrap_or_else(|| &flags.data[0]);
        let names = self.rows.names.clone();
        let like = match model {
            Some((path, model)) => Like::model(path, model),
            None => like(first, self.rows.x.ncols(), names.as_deref()),
        };
        let new = |make: &dyn Fn(ArrayView2<f32>) -> dkae::Result<Array2<f32>>| match &flags.predict {
            None => Ok(None),
            Some(path) => {
                let (files, options) = (std::slice::from_ref(path), flags.reading.options_for_more());
                read_like(&like, files, &options, screen, make).map(|table| Some(table.x))
            }
        };
        if by_matrix(flags) {
            let columns = self.split.train.clone();
            let (matrix, [validation, test]) = self.matrix(flags, screen)?;
            let asked = new(&|x| Ok(x.select(Axis(1), &columns)))?;
            // The training rows are in the matrix itself.
            let train = Array2::zeros((columns.len(), 0));
            return Ok(([train, validation, follow(test, asked)?], Some(matrix)));
        }
        let Given { rows, split, .. } = self;
        let Some((_, model)) = model else {
            let prepare = |progress: &dyn Progress| recipe.prepare_split(&Source::from(&rows), split, progress);
            let prepared = screen.watched("preparing the rows", prepare)?;
            let asked = new(&|x| prepared.preparation.apply(x))?;
            let [train, validation, test] = prepared.parts;
            return Ok(([train, validation, follow(test, asked)?], None));
        };
        let asked = new(&|x| model.preparation().apply(x))?;
        let encode = |x: Array2<f32>| match x.nrows() {
            0 => Ok(Array2::zeros((0, model.code_width()))),
            _ => encode(model, x.view(), screen),
        };
        let [train, validation, test] =
            [split.train, split.validation, split.test].map(|part| rows.x.select(Axis(0), &part));
        Ok(([encode(train)?, encode(validation)?, encode(follow(test, asked)?)?], None))
    }

    /// The kernel matrix of the training rows, and the kernel values of validation and test rows with them.
    fn matrix(self, flags: &Classify, screen: Screen) -> Result<(Precomputed, [Array2<f32>; 2])> {
        let Given { rows, split, .. } = self;
        let parts = |values: ArrayView2<f32>| {
            [&split.validation, &split.test].map(|rows| {
                Array2::from_shape_fn((rows.len(), split.train.len()), |(i, j)| values[[rows[i], split.train[j]]])
            })
        };
        if let Some(path) = &flags.prior {
            let matrix = read_matrix(path, rows.len(), screen)?;
            return Ok((matrix.select(&split.train)?, parts(matrix.matrix())));
        }
        let (file, square) = match (&flags.train, &flags.validation) {
            (None, _) => (&flags.data[..], rows.len()),
            (Some(file), None) => (std::slice::from_ref(file), split.train.len() + split.validation.len()),
            (Some(file), Some(_)) => (std::slice::from_ref(file), split.train.len()),
        };
        let (given, all) = match square == rows.len() {
            true => (rows.x, None),
            false => (rows.x.slice(s![..square, ..]).to_owned(), Some(rows.x)),
        };
        let checked = screen.watched("checking the kernel matrix", |progress| Precomputed::watched(given, progress));
        let (matrix, warnings) = checked.map_err(|e| about_rows(e.into(), file))?;
        warnings.iter().for_each(|warning| screen::warn(format!("{}: {warning}", file[0].display())));
        let parts = parts(all.as_ref().map_or(matrix.matrix(), |all| all.view()));
        Ok((matrix.select(&split.train)?, parts))
    }
}

/// The number of a row in its file, where some were left out.
fn number(rows: &Table, i: usize) -> usize {
    rows.numbers.as_ref().map_or(i, |numbers| numbers[i])
}

fn no_classes(file: &Path) -> anyhow::Error {
    let message = format!(
        "{}: the rows have no classes; name their column, or give a file of labels: --labels-file, and for rows of their \
         own --validation-labels and --test-labels",
        file.display()
    );
    Error::setting("label", message).into()
}

/// What other rows must be like to go with those of `file`.
fn like<'a>(file: &Path, width: usize, names: Option<&'a [String]>) -> Like<'a> {
    Like { who: format!("{} has", file.display()), width, names, gaps: false, counts: false, units: None }
}

/// The second rows after the first.
fn follow(first: Array2<f32>, second: Option<Array2<f32>>) -> Result<Array2<f32>> {
    match second {
        None => Ok(first),
        Some(second) => Ok(concatenate(Axis(0), &[first.view(), second.view()])
            .map_err(|e| Error::Data(format!("rows of --predict: {e}")))?),
    }
}

/// Rows as they are, or prepared by a model.
fn read_rows(model: Option<Named>, files: &[PathBuf], options: &ReadOptions, screen: Screen) -> Result<Table> {
    if let Some((path, model)) = model {
        return read_like(&Like::model(path, model), files, options, screen, |x| model.preparation().apply(x));
    }
    let table = screen.reading(|| read_many(files, options))?;
    say_header(&files[0], options.format, table.names.as_deref(), screen)?;
    table.warnings.iter().for_each(screen::warn);
    check::finite(&files[0].display().to_string(), table.x.view())?;
    Ok(table)
}
