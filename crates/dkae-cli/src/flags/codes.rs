//! The flags of the commands that use a model.

use std::path::PathBuf;

use clap::Args;
use dkae::train::Noise;

use super::Reading;

/// A model, the rows that it is used on, and where the result goes.
#[derive(Debug, Args)]
pub struct ModelFiles {
    /// The model
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// The rows or codes to convert
    #[arg(value_name = "DATA")]
    pub data: PathBuf,
    /// Where to write the result
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dkae encode my.dkae rows.csv --skip class -o codes.npy
  dkae decode my.dkae codes.npy -o rows.csv
  dkae reconstruct my.dkae rows.parquet -o again.parquet

Files are read and written block by block: they may be larger than memory. Output is npy, csv, tsv (either .gz) or parquet.")]
pub struct Convert {
    #[command(flatten)]
    pub files: ModelFiles,
    #[command(flatten)]
    pub reading: Reading,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dkae denoise my.dkae noisy.npy --fit clean.npy -o out.npy     components of clean codes
  dkae denoise my.dkae rows.csv --components 8 -o out.csv       components of the codes themselves
  dkae denoise my.dkae rows.npy --noise gauss:0.25 -o out.npy   add noise first, say how much goes

Noise is added, and errors are measured, in the units the network sees: after the model's own scaling.")]
#[command(mut_arg("data", |data| data.help("The rows to clean")))]
#[command(mut_arg("output", |output| output.help("Where to write the cleaned rows: npy, csv, tsv or parquet")))]
#[command(mut_arg("allow_missing", |flag| flag.hide(true)))]
pub struct Denoise {
    #[command(flatten)]
    pub files: ModelFiles,
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
    #[arg(long, value_name = "N", default_value_t = 7, requires = "noise")]
    pub seed: u64,
    #[command(flatten)]
    pub reading: Reading,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dkae walk my.dkae rows.npy --from 3 --to 17 -o walk.npy     from row 3 to row 17, counted from 0
  dkae walk my.dkae images.idx --clusters 10 --pairs 3 -o walk.npy --figure walk.svg")]
#[command(mut_arg("data", |data| data.help("The rows to walk between")))]
#[command(mut_arg("output", |output| output.help("Where to write the decoded steps, one per row: npy, csv, tsv or parquet")))]
#[command(mut_arg("allow_missing", |flag| flag.hide(true)))]
pub struct Walk {
    #[command(flatten)]
    pub files: ModelFiles,
    /// The row to start from, counted from 0
    #[arg(long, value_name = "I", requires = "to")]
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
    #[arg(long, value_name = "N", default_value_t = 7, conflicts_with_all = ["from", "to"])]
    pub seed: u64,
    #[command(flatten)]
    pub reading: Reading,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dkae cluster my.dkae rows.csv --label class -o clusters.csv     as many clusters as classes
  dkae cluster my.dkae rows.npy --clusters 20 -o clusters.npy")]
#[command(mut_arg("data", |data| data.help("The rows to cluster")))]
#[command(mut_arg("output", |output| output.help("Where to write the cluster of each row, counted from 0: npy, csv, tsv or parquet")))]
#[command(mut_arg("allow_missing", |flag| flag.hide(true)))]
pub struct Cluster {
    #[command(flatten)]
    pub files: ModelFiles,
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

Give the rows that the model was trained on, read as they were then: the page shows those that were held out from training. \
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
