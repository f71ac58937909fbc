//! `dkae align`: how alike two kernels of the same rows are.
//!
//! A kernel comes as its matrix, as factors F with K = F F^T (codes, or the posteriors that `dkae kernel --factors` writes), or
//! as classes (the ideal kernel). From factors and classes no n x n matrix is made.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::Result;
use clap::Args;
use dkae::Error;
use dkae::data::read::{Column, Format, ReadOptions, detect_format, read, read_labels};
use dkae::data::sparse::{Csr, DENSE_LIMIT};
use dkae::data::svmlight::read_sparse;
use dkae::data::{Labels, read_label_column};
use dkae::kernel::{FirstRows, Ideal, Kernel as _, Linear, Precomputed, Prior};
use dkae::metrics::{
    Factor, alignment_of_factors_watched, alignment_of_priors, centred_alignment_of_priors, code_loss,
    factor_of_classes,
};
use dkae::progress::Progress;
use ndarray::Array2;
use serde_json::{Value, json};

use crate::rows::shown;
use crate::screen::{Screen, count};

/// Sparse factors of more columns are refused: sums are kept for each.
const MOST_COLUMNS: usize = 1 << 24;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dkae align p.npy codes.npy                           a kernel matrix and codes
  dkae align f.svm.gz codes.npy                        the factors of `dkae kernel --factors` and codes: any number of rows
  dkae align codes.npy rows.csv --b labels:class       codes and the ideal kernel of the classes in a column
  dkae align p.npy labels.txt --b labels               a matrix and one label per line
  dkae align p.npy q.parquet --json                    two matrices

A square file is taken for a kernel matrix, an svmlight file and any other table for factors, one row for each row of data.
Alignment is the cosine of the two kernel matrices, L_c = sqrt(2 - 2 alignment) the distance of the two at unit length, as in
`dkae fit`. Centred alignment takes off the means of rows and columns first, so that a constant makes no difference.")]
pub struct Align {
    /// A kernel: its matrix, factors or classes
    #[arg(value_name = "A")]
    pub first: PathBuf,
    /// Another kernel of the same rows
    #[arg(value_name = "B")]
    pub second: PathBuf,
    /// What A is: matrix, factors, labels (one per row), or labels:COLUMN of a table [default: by its shape]
    #[arg(long, value_name = "KIND")]
    pub a: Option<Kind>,
    /// What B is, likewise
    #[arg(long, value_name = "KIND")]
    pub b: Option<Kind>,
}

/// What a file says about a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    Matrix,
    Factors,
    Labels(Option<Column>),
}

impl FromStr for Kind {
    type Err = Error;

    fn from_str(text: &str) -> dkae::Result<Self> {
        Ok(match (text, text.strip_prefix("labels:")) {
            ("matrix", _) => Self::Matrix,
            ("factors", _) => Self::Factors,
            ("labels", _) => Self::Labels(None),
            (_, Some(column)) => Self::Labels(Some(column.parse()?)),
            _ => return Err(Error::Data("expected matrix, factors, labels or labels:COLUMN".into())),
        })
    }
}

/// A kernel that was read.
enum Given {
    Matrix(Precomputed),
    Dense(Array2<f32>),
    Sparse(Csr),
    /// The classes, and the same as a factor.
    Classes(Labels, Csr),
}

pub fn run(flags: &Align, screen: Screen) -> Result<(String, Value)> {
    let a = screen.reading(|| given("a", &flags.first, flags.a.as_ref()))?;
    let b = screen.reading(|| given("b", &flags.second, flags.b.as_ref()))?;
    let (n, m, first, second) = (a.rows(), b.rows(), flags.first.display(), flags.second.display());
    if n != m {
        let n = count(n, "row");
        let message = format!("{first} is about {n} and {second} about {m}; both must be about the same rows");
        return Err(Error::Data(message).into());
    }
    let about = [a.describe(), b.describe()];
    let (alignment, centred) = screen.watched("aligning", |progress| align(a, b, progress))?;
    let loss = code_loss(alignment);
    let lines = [
        format!("A                  {first}: {}", about[0]),
        format!("B                  {second}: {}", about[1]),
        format!("alignment          {alignment:.6}"),
        match centred {
            Some(centred) => format!("centred alignment  {centred:.6}"),
            None => "centred alignment  not defined: one of the kernels is constant".into(),
        },
        format!("L_c                {loss:.6}"),
    ];
    let value = json!({
        "a": { "file": shown(&flags.first), "kind": about[0] }, "b": { "file": shown(&flags.second), "kind": about[1] }, "rows": n,
        "alignment": alignment, "centred_alignment": centred, "code_loss": loss,
    });
    Ok((lines.join("\n"), value))
}

/// The alignment, and the centred one where there is one.
fn align(a: Given, b: Given, progress: &dyn Progress) -> dkae::Result<(f64, Option<f64>)> {
    let defined = |centred| match centred {
        Err(Error::Numeric(_)) => Ok(None),
        centred => centred.map(Some),
    };
    if let (Some(f), Some(g)) = (a.factor(), b.factor()) {
        let of = |centred| alignment_of_factors_watched(f, g, centred, progress);
        return Ok((of(false)?, defined(of(true))?));
    }
    // Beside a matrix of n x n numbers its factors may be dense.
    let (a, b) = (a.dense()?, b.dense()?);
    let (k, l) = (a.prior()?, b.prior()?);
    let plain = alignment_of_priors(&*k, &*l, progress)?;
    Ok((plain, defined(centred_alignment_of_priors(&*k, &*l, progress))?))
}

/// Reads a kernel; what it is, if that was not said, follows from its shape.
fn given(flag: &'static str, path: &Path, kind: Option<&Kind>) -> Result<Given> {
    if let Some(Kind::Labels(column)) = kind {
        let labels = match column {
            None => read_labels(path)?,
            Some(column) => read_label_column(path, column).map_err(|e| match e {
                Error::Setting { name: "label", message } => Error::setting(flag, message),
                e => e,
            })?,
        };
        let factor = factor_of_classes(&labels)?;
        return Ok(Given::Classes(labels, factor));
    }
    if detect_format(path)? == Format::Svmlight && kind != Some(&Kind::Matrix) {
        let factor = read_sparse(path, &ReadOptions::default())?.x;
        if factor.ncols() > MOST_COLUMNS {
            let (found, path) = (factor.ncols(), path.display());
            let message = format!("{path}: factors of {found} columns; at most {MOST_COLUMNS} can be taken");
            return Err(Error::Data(message).into());
        }
        return Ok(Given::Sparse(factor));
    }
    let x = read(path, &ReadOptions::default()).map_err(|e| in_own_words(e, flag))?.x;
    let square = x.nrows() == x.ncols();
    match kind {
        Some(Kind::Factors) => Ok(Given::Dense(x)),
        None if x.ncols() == 1 && !square => {
            let message = format!(
                "{} has one column: say --{flag} labels if these are classes, or --{flag} factors if they are codes of \
                 one number",
                path.display()
            );
            Err(Error::setting(flag, message).into())
        }
        None if !square => Ok(Given::Dense(x)),
        _ => {
            let hint = match kind {
                None => format!("; if these are codes or other factors, say --{flag} factors"),
                _ => String::new(),
            };
            // Whether its eigenvalues are those of a kernel matters to training, not here.
            let matrix = Precomputed::any_eigenvalues(x);
            Ok(Given::Matrix(matrix.map_err(|e| Error::Data(format!("{}: {e}{hint}", path.display())))?))
        }
    }
}

/// Advice about columns as this command understands it, which reads tables whole.
fn in_own_words(e: Error, flag: &str) -> Error {
    let Error::Format { path, place, message } = e else { return e };
    let mut message = message.replace("set label to ", &format!("say --{flag} labels:"));
    const SKIP: &str = " with skip ";
    if let Some(at) = message.find(SKIP) {
        let rest = &message[at + SKIP.len()..];
        let end = rest.find([',', ';', ' ']).unwrap_or(rest.len());
        message = format!("{}{}", &message[..at], &rest[end..]);
    }
    Error::Format { path, place, message }
}

impl Given {
    fn rows(&self) -> usize {
        match self {
            Self::Matrix(matrix) => matrix.len(),
            Self::Dense(x) => x.nrows(),
            Self::Sparse(x) | Self::Classes(_, x) => x.nrows(),
        }
    }

    fn describe(&self) -> String {
        let n = count(self.rows(), "row");
        match self {
            Self::Matrix(_) => format!("kernel matrix of {n}"),
            Self::Dense(x) => format!("factors of {n}, {}", count(x.ncols(), "column")),
            Self::Sparse(x) => {
                format!("sparse factors of {n}, {}, {}", count(x.ncols(), "column"), count(x.entries(), "value"))
            }
            Self::Classes(labels, _) => format!("ideal kernel of {n} in {}", count(labels.names.len(), "class")),
        }
    }

    fn factor(&self) -> Option<Factor<'_>> {
        match self {
            Self::Matrix(_) => None,
            Self::Dense(x) => Some(x.view().into()),
            Self::Sparse(x) | Self::Classes(_, x) => Some(x.into()),
        }
    }

    /// The same, sparse factors written out.
    fn dense(self) -> dkae::Result<Self> {
        match self {
            Self::Sparse(x) => Ok(Self::Dense(x.to_dense(DENSE_LIMIT)?)),
            other => Ok(other),
        }
    }

    fn prior(&self) -> dkae::Result<Box<dyn Prior + '_>> {
        Ok(match self {
            Self::Matrix(matrix) => Box::new(FirstRows { prior: matrix, rows: matrix.len() }),
            Self::Dense(x) => Linear.prior(x.view())?,
            Self::Classes(labels, _) => Box::new(Ideal::new(&labels.index)),
            Self::Sparse(_) => return Err(Error::Data("sparse factors must be written out first".into())),
        })
    }
}
