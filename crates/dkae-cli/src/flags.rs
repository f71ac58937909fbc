//! Every flag of the command, once: help, completions and the man page all come from here.

mod classify;
mod codes;
mod embed;
mod files;
mod fit;

use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use dkae::data::read::{Column, Format};
use dkae::data::scale::Scale;

pub use classify::{Classify, HingeKind, Method};
pub use codes::{Cluster, Convert, Denoise, ModelFiles, Report, Walk};
pub use embed::{Embed, Embedding};
pub use fit::{Fit, KernelFlags, Preparing, RowFlags};

/// Kernel methods with an explicit map both ways.
///
/// dkae learns codes whose inner products reproduce a kernel of your choice, and a decoder that maps any point of code
/// space back to input space. Linear work on codes is then non-linear work on your rows.
#[derive(Debug, Parser)]
#[command(name = "dkae", version, max_term_width = 100, arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Flags {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub global: Global,
}

impl Flags {
    /// From the command line; ends the process when it is wrong, or asks for help.
    pub fn from_command_line() -> Self {
        let matches = Self::command().get_matches();
        let mut flags = Self::from_arg_matches(&matches).unwrap_or_else(|e| e.exit());
        if let (Command::Fit(fit), Some((_, own))) = (&mut flags.command, matches.subcommand()) {
            let given = own.ids().filter(|id| own.value_source(id.as_str()) == Some(ValueSource::CommandLine));
            fit.given = given.map(|id| id.as_str().replace('_', "-")).collect();
        }
        flags
    }
}

const EXAMPLES: &str = "\
Examples:
  dkae demo                                      train on the embedded digits and look at the result
  dkae fit rows.csv --label class -o my.dkae     train on a table
  dkae report my.dkae rows.csv --label class     what it learned, as one HTML page
  dkae encode my.dkae new.csv -o codes.npy       rows to codes
  dkae decode my.dkae codes.npy -o back.csv      codes to rows
  dkae classify rows.csv --label class --model my.dkae     a linear SVM on the codes
  dkae embed rows.csv --label class -o z.csv     kernel PCA and its like, without a network
  dkae inspect my.dkae                           what is in a file
  dkae reproduce all --budget smoke              the paper's experiments

Rows are counted from 0 where you name them (--from, --to, --rows) and in results. Messages about what is in a file count \
rows, columns and lines from 1, as editors do. Ctrl-C stops a command at the next good moment, mostly within a second; \
pressed again, at once.";

/// What every command understands.
#[derive(Debug, Args)]
pub struct Global {
    /// Say nothing but errors and warnings
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Print the result as one JSON document
    #[arg(long, global = true)]
    pub json: bool,
    /// Threads that compute; by default one per core. The result is the same for any number
    #[arg(long, global = true, value_name = "N", default_value_t = 0, hide_default_value = true,
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(0..=1024))]
    pub threads: usize,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Train on the embedded digits and show what was learned
    Demo(Demo),
    /// Train a model on the rows of a file
    Fit(Box<Fit>),
    /// Rows to codes
    Encode(Convert),
    /// Codes to rows
    Decode(Convert),
    /// Rows to codes and back
    Reconstruct(Convert),
    /// Show what is in a data or model file
    Inspect(Inspect),
    /// Write the kernel matrix of given rows, or its factors
    Kernel(Box<Kernel>),
    /// Rows to a few coordinates: PCA, kernel PCA, entropy components or ISOMAP
    Embed(Box<Embed>),
    /// How alike two kernels are: alignment and L_c
    Align(crate::align::Align),
    /// Clean rows: keep the leading components of their codes
    Denoise(Denoise),
    /// Walk in a straight line between two codes
    Walk(Walk),
    /// Cluster rows by k-means on their codes
    Cluster(Cluster),
    /// Show what a model learned, as one HTML page
    Report(Report),
    /// Tell classes apart, by the rows themselves or by their codes
    Classify(Box<Classify>),
    /// Run the experiments of the paper: every table and figure
    Reproduce(crate::reproduce::Reproduce),
    /// Print a completion script for a shell
    #[command(after_help = "\
Examples:
  dkae completions bash > ~/.local/share/bash-completion/completions/dkae
  dkae completions zsh > ~/.zfunc/_dkae
  dkae completions fish > ~/.config/fish/completions/dkae.fish")]
    Completions {
        /// bash, elvish, fish, powershell or zsh
        shell: clap_complete::Shell,
    },
    /// Write the manual pages
    #[command(after_help = "\
Examples:
  dkae man ~/.local/share/man/man1     then: man dkae")]
    Man {
        /// The folder to write to
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dkae demo                    writes digits.dkae, .html, .svg and .png in the current folder
  dkae demo -o out/d.dkae      writes out/d.dkae, .html, .svg and .png")]
pub struct Demo {
    /// Where to write the model; the report (HTML) and the figure (SVG and PNG) go beside it
    #[arg(short, long, value_name = "MODEL", default_value = "digits.dkae")]
    pub output: PathBuf,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 7)]
    pub seed: u64,
}

impl Command {
    /// The files of the commands that use a model on rows, and how the rows are read.
    pub fn model_files(&self) -> Option<(&ModelFiles, &Reading)> {
        match self {
            Command::Encode(c) | Command::Decode(c) | Command::Reconstruct(c) => Some((&c.files, &c.reading)),
            Command::Denoise(d) => Some((&d.files, &d.reading)),
            Command::Walk(w) => Some((&w.files, &w.reading)),
            Command::Cluster(c) => Some((&c.files, &c.reading)),
            _ => None,
        }
    }
}

impl Demo {
    /// What it writes: the model, the page, the figure twice.
    pub fn files(&self) -> [PathBuf; 4] {
        let beside = |extension| self.output.with_extension(extension);
        [self.output.clone(), beside("html"), beside("svg"), beside("png")]
    }
}

/// How to read a file of rows.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Reading")]
pub struct Reading {
    /// File format: idx, cifar, csv, npy, npz, svmlight or parquet; by default by name and first bytes
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,
    /// Column with the class of each row: a name, a number from 1, or 'last'
    #[arg(long, value_name = "COLUMN")]
    pub label: Option<Column>,
    /// File with one label per row
    #[arg(long, value_name = "FILE")]
    pub labels_file: Option<PathBuf>,
    /// Column that says which part a row belongs to, for --split-by; it is no feature
    #[arg(long, value_name = "COLUMN")]
    pub group: Option<Column>,
    /// Whether a csv file begins with column names; by default found out
    #[arg(long, value_name = "BOOL")]
    pub header: Option<bool>,
    /// What separates the columns of a csv file; by default found out
    #[arg(long, value_name = "CHAR")]
    pub delimiter: Option<char>,
    /// Columns to leave out
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub skip: Vec<Column>,
    /// Leave out rows with this label
    #[arg(long, value_name = "LABEL", allow_hyphen_values = true)]
    pub drop_label: Option<String>,
    /// Array with the rows in an npz file
    #[arg(long, value_name = "NAME")]
    pub array: Option<String>,
    /// Features of svmlight rows; by default the largest index
    #[arg(long, value_name = "N")]
    pub width: Option<usize>,
    /// Read missing and infinite values rather than refuse the file; results of such rows are NaN, and nothing can be fitted
    /// on them
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub allow_missing: Option<bool>,
    /// The most bytes that sparse rows may take once made dense [default: 2147483648]
    #[arg(long, value_name = "BYTES")]
    pub dense_limit: Option<usize>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dkae inspect rows.csv --label class
  dkae inspect my.dkae --json")]
pub struct Inspect {
    /// A file of rows, or a model
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    #[command(flatten)]
    pub reading: Reading,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dkae kernel rows.csv --label class -o p.npy                      the whole matrix
  dkae kernel rows.csv --rows 0..500 -o p.npy                      between the first 500 rows
  dkae kernel rows.npy --factors -o f.svm.gz                       sparse F with P = F F^T (pck)
  dkae kernel rows.npy --kernel rbf --rbf-width 15% -o p.parquet   another kernel

The kernel is fitted on all rows of the file, and the matrix is written block by block.")]
#[command(mut_arg("prior", |prior| prior.hide(true)))]
#[command(mut_arg("allow_missing", |flag| flag.hide(true)))]
pub struct Kernel {
    /// The rows
    #[arg(value_name = "DATA", required = true)]
    pub data: Vec<PathBuf>,
    /// Where to write the matrix
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Only between these rows: 0..500 are the first 500 (counted from 0, the last left out)
    #[arg(long, value_name = "A..B")]
    pub rows: Option<String>,
    /// Write the factors F of P = F F^T instead, as svmlight
    #[arg(long)]
    pub factors: bool,
    #[command(flatten)]
    pub reading: Reading,
    /// auto, none, unit, unit-all or standard [default: auto]
    #[arg(long, value_name = "SCALE", help_heading = "Kernel")]
    pub scale: Option<Scale>,
    #[command(flatten)]
    pub kernel: KernelFlags,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 7)]
    pub seed: u64,
}

/// A number above 0: anything else is refused before any row is read.
fn positive(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|&c: &f64| c > 0.0 && c.is_finite()).ok_or_else(|| "expected a number above 0".into())
}
