//! The flags of `dkae classify`.

use std::path::PathBuf;

use clap::Args;

use super::{Reading, RowFlags, positive};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dkae classify rows.csv --label class                    split, then a linear SVM on the rows
  dkae classify rows.csv --label class --model my.dkae    on codes, split as in the model's fit
  dkae classify rows.csv --label class --method kernel-svm --c 1,10 --rbf-width 25%,50%
  dkae classify rows.csv --label class --method kernel-svm --prior p.npy
  dkae classify --train a.csv --test b.csv --label class --method knn --neighbours 1,3,5 -o out.csv
  dkae classify --train a.csv --label class --predict new.csv -o out.csv    classes of new rows

Every value in a list is tried, and the one that does best on the validation rows is used on the test rows. With --kernel \
precomputed the rows are kernel values themselves: DATA is a square matrix, or the file of --train is, and those of \
--validation, --test and --predict have a column for each of its rows.")]
#[command(mut_arg("allow_missing", |flag| flag.hide(true)))]
pub struct Classify {
    /// The rows, to be split into training, validation and test rows
    #[arg(value_name = "DATA", required_unless_present = "train", conflicts_with_all = ["train", "test", "validation"])]
    pub data: Vec<PathBuf>,
    /// Rows to learn from, instead of DATA
    #[arg(long, value_name = "DATA")]
    pub train: Option<PathBuf>,
    /// Rows to choose settings by [default: a share of the training rows]
    #[arg(long, value_name = "DATA", requires = "train")]
    pub validation: Option<PathBuf>,
    /// Their labels, one per row, where those are in a file of their own; --labels-file has the training rows'
    #[arg(long, value_name = "FILE", requires = "validation")]
    pub validation_labels: Option<PathBuf>,
    /// Rows to measure the result on
    #[arg(long, value_name = "DATA", requires = "train")]
    pub test: Option<PathBuf>,
    /// Their labels
    #[arg(long, value_name = "FILE", requires = "test")]
    pub test_labels: Option<PathBuf>,
    /// Rows whose classes are not known: --output gets the predictions of these
    #[arg(long, value_name = "DATA", requires = "output")]
    pub predict: Option<PathBuf>,
    /// Share of the training rows to choose settings by, with --train and without --validation [default: 0.2]
    #[arg(long, value_name = "X", requires = "train", conflicts_with = "validation")]
    pub validation_share: Option<f64>,
    /// Classify the codes of this model; its own seed, --take and split hold unless given
    #[arg(long, value_name = "MODEL")]
    pub model: Option<PathBuf>,
    /// svm (linear), kernel-svm or knn
    #[arg(long, value_name = "METHOD", default_value = "svm", hide_possible_values = true)]
    pub method: Method,
    /// svm, kernel-svm: prices of errors to try [default: 0.001 to 1000; for kernel-svm 0.1,1,10,100]
    #[arg(long, value_name = "C,C,...", value_delimiter = ',', value_parser = positive, allow_negative_numbers = true)]
    pub c: Option<Vec<f64>>,
    /// kernel-svm: rbf, pck, linear, polynomial, cosine, a sum such as 0.5*pck+rbf, or precomputed [default: rbf]
    #[arg(long, value_name = "KERNEL")]
    pub kernel: Option<String>,
    /// kernel-svm: a kernel matrix of all rows of DATA (npy, csv, parquet) instead
    #[arg(long, value_name = "FILE", conflicts_with = "kernel")]
    pub prior: Option<PathBuf>,
    /// kernel-svm: widths to try, numbers or shares of the median distance [default: 100%,50%,25%]
    #[arg(long, value_name = "W,W,...", value_delimiter = ',')]
    pub rbf_width: Option<Vec<String>>,
    /// knn: numbers of neighbours to try [default: 1]
    #[arg(long, value_name = "K,K,...", value_delimiter = ',', value_parser = at_least_one, allow_negative_numbers = true)]
    pub neighbours: Option<Vec<usize>>,
    /// svm: what errors cost, their square or themselves: squared or linear [default: squared]
    #[arg(long, value_name = "HINGE", hide_possible_values = true)]
    pub hinge: Option<HingeKind>,
    /// svm, kernel-svm: how far the optimum may be missed [default: 0.0001; for kernel-svm 0.001]
    #[arg(long, value_name = "X")]
    pub tolerance: Option<f64>,
    /// svm, kernel-svm: the most steps [default: 1000 for each class; for kernel-svm 10000000 for each pair]
    #[arg(long, value_name = "N")]
    pub max_iterations: Option<usize>,
    /// Write the class and the prediction of every test row, or the predictions of --predict, as csv
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

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&k| k > 0).ok_or_else(|| "expected a whole number, 1 or more".into())
}
