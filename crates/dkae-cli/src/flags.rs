//! Every flag of the command, once: help, completions and the man page all come from here.

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand};
use dkae::data::read::{Column, Format};
use dkae::data::scale::Scale;
use dkae::net::Activation;
use dkae::train::{Batches, Length, Noise, Schedule};

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

const EXAMPLES: &str = "\
Examples:
  dkae demo                                      train on the embedded digits and look at the result
  dkae fit rows.csv --label class -o my.dkae     train on a table
  dkae report my.dkae rows.csv --label class     what it learned, as one HTML page
  dkae encode my.dkae new.csv -o codes.npy       rows to codes
  dkae decode my.dkae codes.npy -o back.csv      codes to rows
  dkae classify rows.csv --label class --model my.dkae    a linear SVM on the codes
  dkae embed rows.csv --label class -o z.csv     kernel PCA and its like, without a network
  dkae inspect my.dkae                           what is in a file
  dkae reproduce all --budget smoke              the paper's experiments

Rows are counted from 0 where you name them (--from, --to, --rows) and in results. Messages about what is in a file count
rows, columns and lines from 1, as editors do.";

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
    Embed(Box<crate::embed::Embed>),
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

impl Command {
    /// An output that is also an input, or another output, would be lost: nobody means that.
    pub fn refuse_overwriting(&self) -> dkae::Result<()> {
        let refuse = |path: &Path, why| {
            let message = format!("{} is also {why}, and would be lost; write to another file", path.display());
            Err(dkae::Error::setting("output", message))
        };
        let (outputs, inputs) = self.files();
        let inputs: Vec<PathBuf> = inputs.into_iter().filter_map(|path| real(path)).collect();
        let mut written = Vec::new();
        for (path, place) in outputs.iter().filter_map(|path| Some((path, real(path)?))) {
            if inputs.contains(&place) {
                return refuse(path, "read");
            }
            if written.contains(&place) {
                return refuse(path, "written by the same command");
            }
            written.push(place);
        }
        Ok(())
    }

    /// What the command writes, and what it reads.
    fn files(&self) -> (Vec<PathBuf>, Vec<&PathBuf>) {
        match self {
            Command::Demo(d) => (d.files().to_vec(), Vec::new()),
            Command::Fit(f) => (
                f.output.iter().cloned().chain(f.page()).chain(f.write_config.clone()).collect(),
                f.data.iter().chain(&f.config).chain(&f.kernel.prior).chain(&f.reading.labels_file).collect(),
            ),
            Command::Encode(c) | Command::Decode(c) | Command::Reconstruct(c) => {
                (vec![c.output.clone()], [&c.model, &c.data].into_iter().chain(&c.reading.labels_file).collect())
            }
            Command::Kernel(k) => (vec![k.output.clone()], k.data.iter().chain(&k.reading.labels_file).collect()),
            Command::Embed(e) => (
                e.figure.iter().chain([&e.output]).cloned().collect(),
                e.data.iter().chain(&e.on).chain(&e.reading.labels_file).collect(),
            ),
            Command::Denoise(d) => (
                vec![d.output.clone()],
                [&d.model, &d.data].into_iter().chain(&d.fit).chain(&d.reading.labels_file).collect(),
            ),
            Command::Walk(w) => (
                w.figure.iter().chain([&w.output]).cloned().collect(),
                [&w.model, &w.data].into_iter().chain(&w.reading.labels_file).collect(),
            ),
            Command::Cluster(c) => {
                (vec![c.output.clone()], [&c.model, &c.data].into_iter().chain(&c.reading.labels_file).collect())
            }
            Command::Report(r) => (
                vec![r.page()],
                r.data.iter().chain([&r.model]).chain(&r.prior).chain(&r.reading.labels_file).collect(),
            ),
            Command::Classify(c) => (
                c.output.iter().cloned().collect(),
                c.data
                    .iter()
                    .chain(&c.train)
                    .chain(&c.validation)
                    .chain(&c.test)
                    .chain(&c.model)
                    .chain(&c.reading.labels_file)
                    .collect(),
            ),
            _ => (Vec::new(), Vec::new()),
        }
    }
}

/// Where a file is or would be; nothing for what is not a plain file, such as /dev/null.
fn real(path: &Path) -> Option<PathBuf> {
    match path.canonicalize() {
        Ok(path) => path.is_file().then_some(path),
        Err(_) => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Some(folder.canonicalize().ok()?.join(path.file_name()?))
        }
    }
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
    /// Column that says which part a row belongs to, for --split-by
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

/// The settings of a fit; what is not given is taken from --config, or else the default.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dkae fit rows.csv --label class -o my.dkae
  dkae fit rows.csv --label class -o my.dkae --report     a page of what was learned, in my.html
  dkae fit train-images-idx3-ubyte.gz --take 20000 --seed 0 -o mnist.dkae
  dkae fit clouds.csv.gz --label label --drop-label 0 --skip y,x --group image --split-by 3,1,2 -o clouds.dkae
  dkae fit counts.svm.gz --tfidf --svd 20 --scale standard -o texts.dkae
  dkae fit rows.npy --kernel rbf --rbf-width 15% -o rbf.dkae
  dkae fit rows.npy --kernel 0.5*pck+rbf -o both.dkae
  dkae fit rows.npy --lambda 0 --noise mask:0.2 -o denoising.dkae
  dkae fit rows.npy --config settings.toml --steps 10000 -o long.dkae

A run that was stopped, by Ctrl-C or otherwise, goes on from its checkpoint when the same command is given again.")]
pub struct Fit {
    /// The rows; several files of the same kind are put one after another
    #[arg(value_name = "DATA", required = true)]
    pub data: Vec<PathBuf>,
    /// Where to write the model
    #[arg(short, long, value_name = "MODEL", required_unless_present = "write_config")]
    pub output: Option<PathBuf>,
    /// Write a page that shows what was learned, too [default name: the model's, with .html]
    #[arg(long, value_name = "PAGE.html", num_args = 0..=1, conflicts_with = "write_config")]
    pub report: Option<Option<PathBuf>>,
    /// Settings as a TOML file; flags go before it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Write the settings in force to a TOML file and stop
    #[arg(long, value_name = "FILE")]
    pub write_config: Option<PathBuf>,
    #[command(flatten)]
    pub reading: Reading,
    #[command(flatten)]
    pub rows: RowFlags,
    #[command(flatten)]
    pub kernel: KernelFlags,
    #[command(flatten)]
    pub network: NetworkFlags,
    #[command(flatten)]
    pub training: TrainingFlags,
}

impl Fit {
    /// The page to write, if one is asked for.
    pub fn page(&self) -> Option<PathBuf> {
        let beside = || self.output.as_ref().map(|model| model.with_extension("html"));
        self.report.as_ref().and_then(|path| path.clone().or_else(beside))
    }
}

/// Which rows to learn from, and what to do to them first.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Rows")]
pub struct RowFlags {
    /// Draw this many rows and use only those
    #[arg(long, value_name = "N")]
    pub take: Option<usize>,
    /// Shares of training, validation and test rows [default: 0.7,0.15,0.15]
    #[arg(long, value_name = "A,B,C", value_delimiter = ',', conflicts_with = "split_by")]
    pub split: Option<Vec<f64>>,
    /// Groups (see --group) for training, validation and test
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub split_by: Option<Vec<String>>,
    /// auto, none, unit (each feature from 0 to 1), unit-all (one range for all, as pictures want) or standard [default: auto]
    #[arg(long, value_name = "SCALE")]
    pub scale: Option<Scale>,
    /// Word counts to TF-IDF weights; needs --svd
    #[arg(long, requires = "svd")]
    pub tfidf: bool,
    /// Then to this many dimensions by a truncated SVD
    #[arg(long, value_name = "N", requires = "tfidf")]
    pub svd: Option<usize>,
}

/// The kernel that codes are aligned with.
#[derive(Debug, Default, PartialEq, Args)]
#[command(next_help_heading = "Kernel")]
pub struct KernelFlags {
    /// pck, rbf, linear, polynomial, cosine, ideal (needs labels), or a weighted sum such as 0.5*pck+rbf [default: pck]
    #[arg(long, value_name = "KERNEL")]
    pub kernel: Option<String>,
    /// A kernel matrix of all rows (npy, csv, parquet) instead
    #[arg(long, value_name = "FILE", conflicts_with = "kernel")]
    pub prior: Option<PathBuf>,
    /// pck: random starts for each size of mixture [default: 30]
    #[arg(long, value_name = "Q")]
    pub restarts: Option<usize>,
    /// pck: components of the largest mixtures [default: 30]
    #[arg(long, value_name = "G")]
    pub max_components: Option<usize>,
    /// pck: rows the mixtures are fitted on [default: 200]
    #[arg(long, value_name = "N")]
    pub subset: Option<usize>,
    /// pck: diagonal, spherical or tied covariances [default: diagonal]
    #[arg(long, value_name = "FORM")]
    pub covariance: Option<String>,
    /// pck: added to every variance: a number, or a share of the mean variance such as 5% [default: 0.01]
    #[arg(long, value_name = "V")]
    pub floor: Option<String>,
    /// pck: means start at random rows, or spread by k-means++: random or k-means++ [default: random]
    #[arg(long, value_name = "START")]
    pub start: Option<String>,
    /// pck: EM stops when the mean log-likelihood changes by less [default: 0.001]
    #[arg(long, value_name = "X")]
    pub tolerance: Option<f64>,
    /// pck: or after this many iterations [default: 100]
    #[arg(long, value_name = "N")]
    pub max_iterations: Option<usize>,
    /// rbf: a number, or a share of the median distance such as 15% [default: 15%]
    #[arg(long, value_name = "WIDTH")]
    pub rbf_width: Option<String>,
    /// polynomial: (gamma a.b + offset)^degree [default: 3]
    #[arg(long, value_name = "N")]
    pub degree: Option<u32>,
    /// polynomial: gamma [default: 1 / features]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub gamma: Option<f64>,
    /// polynomial: offset [default: 1]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub offset: Option<f64>,
}

/// The autoencoder.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Network")]
pub struct NetworkFlags {
    /// Widths of the layers; the last is the code's [default: by the data, 500,500,2000,2000 for large ones]
    #[arg(long, value_name = "N,N,...", value_delimiter = ',')]
    pub layers: Option<Vec<usize>>,
    /// Activation of hidden layers: sigmoid, tanh, relu or linear [default: relu]
    #[arg(long, value_name = "S")]
    pub hidden: Option<Activation>,
    /// Activation of the code [default: linear]
    #[arg(long, value_name = "S")]
    pub code: Option<Activation>,
    /// Activation of the output [default: sigmoid when the rows lie within 0 and 1, else linear]
    #[arg(long, value_name = "S")]
    pub output_activation: Option<Activation>,
    /// Whether the decoder uses the encoder's weights, transposed; false gives it its own [default: true]
    #[arg(long, value_name = "BOOL")]
    pub tied: Option<bool>,
}

/// How to train.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Training")]
pub struct TrainingFlags {
    /// The paper's choices: sigmoid, 30 and 100 epochs of (n/k)^2 batches, constant rate. Takes days at its sizes
    #[arg(long)]
    pub paper: bool,
    /// Weight of the code loss, from 0 (a plain autoencoder) to 1 [default: 0.1]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub lambda: Option<f32>,
    /// Steps of fine-tuning, or such as '100 paper-epochs' [default: 6000]
    #[arg(long, value_name = "N")]
    pub steps: Option<Length>,
    /// Steps of pretraining for each layer, likewise [default: 300]
    #[arg(long, value_name = "N")]
    pub pretrain: Option<Length>,
    /// Rows in a batch [default: 200, or all when there are fewer]
    #[arg(long, value_name = "K")]
    pub batch: Option<usize>,
    /// permutation (every row once a pass) or independent draws [default: permutation]
    #[arg(long, value_name = "KIND")]
    pub batches: Option<Batches>,
    /// Peak learning rate [default: by the network]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub rate: Option<f64>,
    /// cosine (with warm-up) or constant [default: cosine]
    #[arg(long, value_name = "KIND")]
    pub schedule: Option<Schedule>,
    /// Largest norm of the gradient [default: no limit]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub clip: Option<f32>,
    /// Decay of weights and biases, per step and unit of the rate [default: 0.15]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub weight_decay: Option<f32>,
    /// Noise on inputs: mask:SHARE or gauss:DEVIATION [default: none]
    #[arg(long, value_name = "NOISE")]
    pub noise: Option<Noise>,
    /// Steps between two looks at the validation rows [default: 250]
    #[arg(long, value_name = "N")]
    pub validate_every: Option<u64>,
    /// Validation rows looked at; the code loss costs the square of it [default: 4000]
    #[arg(long, value_name = "N")]
    pub validation_rows: Option<usize>,
    /// Stop after this many looks without improvement [default: never]
    #[arg(long, value_name = "N")]
    pub patience: Option<u64>,
    /// Seed of everything random [default: 7]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Steps between two checkpoints; 0 for none [default: 500]
    #[arg(long, value_name = "N")]
    pub checkpoint_every: Option<u64>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dkae encode my.dkae rows.csv --skip class -o codes.npy
  dkae decode my.dkae codes.npy -o rows.csv
  dkae reconstruct my.dkae rows.parquet -o again.parquet

Files are read and written block by block: they may be larger than memory. Output is npy, csv, tsv (either .gz) or parquet.")]
pub struct Convert {
    /// The model
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// The rows or codes to convert
    #[arg(value_name = "DATA")]
    pub data: PathBuf,
    /// Where to write the result
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub reading: Reading,
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
    /// auto, none, unit, unit-all or standard
    #[arg(long, value_name = "SCALE")]
    pub scale: Option<Scale>,
    #[command(flatten)]
    pub kernel: KernelFlags,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 7)]
    pub seed: u64,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dkae denoise my.dkae noisy.npy --fit clean.npy -o cleaned.npy     components of clean codes
  dkae denoise my.dkae rows.csv --components 8 -o cleaned.csv       components of the codes themselves
  dkae denoise my.dkae rows.npy --noise gauss:0.25 -o cleaned.npy   add noise first, and say how much of it goes

Noise is added, and errors are measured, in the units the network sees: after the model's own scaling.")]
pub struct Denoise {
    /// The model
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// The rows to clean
    #[arg(value_name = "DATA")]
    pub data: PathBuf,
    /// Where to write the cleaned rows: npy, csv, tsv or parquet
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Principal components of the codes to keep [default: 32, or all of a shorter code]
    #[arg(long, value_name = "M")]
    pub components: Option<usize>,
    /// Clean rows to find the components with; by default the rows to clean
    #[arg(long, value_name = "DATA")]
    pub fit: Option<PathBuf>,
    /// Add noise to the rows first: mask:SHARE or gauss:DEVIATION
    #[arg(long, value_name = "NOISE", default_value = "none", hide_default_value = true)]
    pub noise: Noise,
    /// Seed of the noise
    #[arg(long, value_name = "N", default_value_t = 7)]
    pub seed: u64,
    #[command(flatten)]
    pub reading: Reading,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dkae walk my.dkae rows.npy --from 3 --to 17 -o walk.npy                    from row 3 to row 17 (the first is row 0)
  dkae walk my.dkae images.idx --clusters 10 --pairs 3 -o walk.npy --figure walk.svg")]
pub struct Walk {
    /// The model
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// The rows to walk between
    #[arg(value_name = "DATA")]
    pub data: PathBuf,
    /// Where to write the decoded steps, one per row: npy, csv, tsv or parquet
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// The row to start from, counted from 0
    #[arg(long, value_name = "I", requires = "to", required_unless_present = "clusters")]
    pub from: Option<usize>,
    /// The row to arrive at, counted from 0
    #[arg(long, value_name = "J", requires = "from")]
    pub to: Option<usize>,
    /// Walk between centroids of this many clusters of codes instead
    #[arg(long, value_name = "K", conflicts_with_all = ["from", "to"])]
    pub clusters: Option<usize>,
    /// Pairs of centroids to walk between, drawn at random
    #[arg(long, value_name = "N", default_value_t = 3, conflicts_with_all = ["from", "to"])]
    pub pairs: usize,
    /// Points on each walk, both ends included
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub steps: usize,
    /// Draw the walks, when rows are pictures: a file name ending in .svg or .png
    #[arg(long, value_name = "FILE")]
    pub figure: Option<PathBuf>,
    /// Seed of the clusters and pairs
    #[arg(long, value_name = "N", default_value_t = 7)]
    pub seed: u64,
    #[command(flatten)]
    pub reading: Reading,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dkae cluster my.dkae rows.csv --label class -o clusters.csv     as many clusters as classes
  dkae cluster my.dkae rows.npy --clusters 20 -o clusters.npy")]
pub struct Cluster {
    /// The model
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// The rows to cluster
    #[arg(value_name = "DATA")]
    pub data: PathBuf,
    /// Where to write the cluster of each row, counted from 0: npy, csv, tsv or parquet
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Clusters [default: as many as classes, or 8 without labels]
    #[arg(long, value_name = "K")]
    pub clusters: Option<usize>,
    /// Random starts; the best result is kept
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub restarts: usize,
    /// Seed of the starts
    #[arg(long, value_name = "N", default_value_t = 7)]
    pub seed: u64,
    #[command(flatten)]
    pub reading: Reading,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dkae report my.dkae rows.csv --label class                     writes my.html
  dkae report mnist.dkae train-images-idx3-ubyte.gz -o page.html

Give the rows that the model was trained on, read as they were then: the page shows those that were held out from training.
With other rows it shows those, and says so. The page is one file; open it in any browser, no network is needed.")]
pub struct Report {
    /// The model
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// The rows; several files of the same kind are put one after another
    #[arg(value_name = "DATA", required = true)]
    pub data: Vec<PathBuf>,
    /// Where to write the page [default: the model's name, with .html]
    #[arg(short, long, value_name = "PAGE.html")]
    pub output: Option<PathBuf>,
    /// The kernel matrix of all rows, for a model that was fitted with --prior
    #[arg(long, value_name = "FILE")]
    pub prior: Option<PathBuf>,
    #[command(flatten)]
    pub reading: Reading,
}

impl Report {
    /// The page to write.
    pub fn page(&self) -> PathBuf {
        self.output.clone().unwrap_or_else(|| self.model.with_extension("html"))
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dkae classify rows.csv --label class                              split, then a linear SVM on the rows
  dkae classify rows.csv --label class --model my.dkae              on codes, with the parts the model was made with
  dkae classify --train a.csv --test b.csv --label class --method kernel-svm --c 1,10 --rbf-width 25%,50%
  dkae classify --train a.csv --test b.csv --label class --method knn --neighbours 1,3,5 -o predictions.csv

Every value in a list is tried, and the one that does best on the validation rows is used on the test rows.")]
pub struct Classify {
    /// The rows, to be split into training, validation and test rows
    #[arg(value_name = "DATA", required_unless_present = "train", conflicts_with_all = ["train", "test", "validation"])]
    pub data: Vec<PathBuf>,
    /// Rows to learn from, instead of DATA
    #[arg(long, value_name = "DATA", requires = "test")]
    pub train: Option<PathBuf>,
    /// Rows to choose settings by [default: a share of the training rows]
    #[arg(long, value_name = "DATA", requires = "train")]
    pub validation: Option<PathBuf>,
    /// Rows to measure the result on
    #[arg(long, value_name = "DATA", requires = "train")]
    pub test: Option<PathBuf>,
    /// Share of the training rows to choose settings by, with --train and without --validation [default: 0.2]
    #[arg(long, value_name = "X", requires = "train", conflicts_with = "validation")]
    pub validation_share: Option<f64>,
    /// Classify the codes of this model; its own seed, --take and split hold unless given
    #[arg(long, value_name = "MODEL")]
    pub model: Option<PathBuf>,
    /// svm (linear), kernel-svm or knn
    #[arg(long, value_name = "METHOD", default_value = "svm")]
    pub method: Method,
    /// svm, kernel-svm: prices of errors to try [default: 0.001 to 1000; for kernel-svm 0.1,1,10,100]
    #[arg(long, value_name = "C,C,...", value_delimiter = ',', value_parser = positive, allow_negative_numbers = true)]
    pub c: Option<Vec<f64>>,
    /// kernel-svm: rbf, pck, linear, polynomial or cosine [default: rbf]
    #[arg(long, value_name = "KERNEL")]
    pub kernel: Option<String>,
    /// kernel-svm: widths to try, numbers or shares of the median distance [default: 100%,50%,25%]
    #[arg(long, value_name = "W,W,...", value_delimiter = ',')]
    pub rbf_width: Option<Vec<String>>,
    /// knn: numbers of neighbours to try [default: 1]
    #[arg(long, value_name = "K,K,...", value_delimiter = ',', value_parser = at_least_one, allow_negative_numbers = true)]
    pub neighbours: Option<Vec<usize>>,
    /// svm: what errors cost, their square or themselves: squared or linear [default: squared]
    #[arg(long, value_name = "HINGE")]
    pub hinge: Option<HingeKind>,
    /// svm, kernel-svm: how far the optimum may be missed [default: 0.0001; for kernel-svm 0.001]
    #[arg(long, value_name = "X")]
    pub tolerance: Option<f64>,
    /// svm, kernel-svm: the most steps [default: 1000 for each class; for kernel-svm 10000000 for each pair]
    #[arg(long, value_name = "N")]
    pub max_iterations: Option<usize>,
    /// Write the class and the prediction of every test row, as csv
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Seed of everything random [default: the model's, or 7]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub reading: Reading,
    #[command(flatten)]
    pub rows: RowFlags,
}

/// What errors of a linear support vector machine cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum HingeKind {
    /// The square of the distance to the margin.
    Squared,
    /// The distance to the margin.
    Linear,
}

/// How classes are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Method {
    /// A linear support vector machine.
    Svm,
    /// A support vector machine with a kernel.
    KernelSvm,
    /// The nearest training rows.
    Knn,
}

/// A price: refused here, before any row is read.
fn positive(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|&c: &f64| c > 0.0 && c.is_finite()).ok_or_else(|| "expected a number above 0".into())
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&k| k > 0).ok_or_else(|| "expected a whole number, 1 or more".into())
}
