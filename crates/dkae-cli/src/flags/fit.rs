//! The flags of `dkae fit`, which are also the keys of a settings file.

use std::path::PathBuf;

use clap::Args;
use dkae::data::scale::Scale;
use dkae::net::{Activation, Init};
use dkae::train::{Batches, Length, Noise, Schedule};

use super::Reading;

/// The settings of a fit; what is not given is taken from --config, or else the default.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dkae fit rows.csv --label class -o my.dkae
  dkae fit rows.csv --label class -o my.dkae --report     a page of what was learned, in my.html
  dkae fit train-images-idx3-ubyte.gz --take 20000 --seed 0 -o mnist.dkae
  dkae fit clouds.csv --label kind --skip y,x --group image --split-by 3,1,2 -o clouds.dkae
  dkae fit counts.svm.gz --tfidf --svd 20 --scale standard -o texts.dkae
  dkae fit rows.npy --kernel rbf --rbf-width 15% -o rbf.dkae
  dkae fit rows.npy --kernel 0.5*pck+rbf -o both.dkae
  dkae fit rows.npy --lambda 0 --noise mask:0.2 -o denoising.dkae
  dkae fit rows.npy --config settings.toml --steps 10000 -o long.dkae

A run that was stopped, by Ctrl-C or otherwise, goes on from its checkpoint when the same command is given again. \
A --prior that is not positive semi-definite is warned of: no codes have such inner products, and the nearest are learned.")]
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
    /// Settings as a TOML file; where a flag says otherwise, the flag holds
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Write the settings in force to a TOML file and stop
    #[arg(long, value_name = "FILE", conflicts_with = "output")]
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
    /// The flags that were given, without their dashes.
    #[arg(skip)]
    pub given: Vec<String>,
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
    #[command(flatten)]
    pub preparing: Preparing,
    /// Shares of training, validation and test rows [default: 0.7,0.15,0.15]
    #[arg(long, value_name = "A,B,C", value_delimiter = ',', conflicts_with = "split_by")]
    pub split: Option<Vec<f64>>,
    /// Groups (see --group) for training, validation and test
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub split_by: Option<Vec<String>>,
}

/// Which rows to use, and how they are prepared.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Rows")]
pub struct Preparing {
    /// Draw this many rows and use only those
    #[arg(long, value_name = "N")]
    pub take: Option<usize>,
    /// auto, none, unit (each feature from 0 to 1), unit-all (one range for all, as pictures want) or standard [default: auto]
    #[arg(long, value_name = "SCALE")]
    pub scale: Option<Scale>,
    /// Word counts to TF-IDF weights; needs --svd
    #[arg(long, requires = "svd")]
    pub tfidf: bool,
    /// Then to this many dimensions by a truncated SVD; needs --tfidf
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
    /// Steps of fine-tuning, or such as '100 paper-epochs' [default: 3000]
    #[arg(long, value_name = "N")]
    pub steps: Option<Length>,
    /// Steps of pretraining for each layer, likewise [default: none where weights start mirrored, else 300]
    #[arg(long, value_name = "N")]
    pub pretrain: Option<Length>,
    /// How weights start: mirrored (as a linear autoencoder of the leading principal components) or glorot (at random)
    /// [default: mirrored; sigmoid and tanh units, single units, layers of many thousand units, and rows far from the
    /// origin start at random]
    #[arg(long, value_name = "KIND")]
    pub init: Option<Init>,
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
