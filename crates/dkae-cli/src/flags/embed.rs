//! The flags of `dkae embed`.

use std::path::PathBuf;

use clap::Args;

use super::{KernelFlags, Preparing, Reading, positive};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dkae embed rows.csv --label class -o z.csv --figure map.svg       kernel PCA of the cluster kernel, and a map
  dkae embed rows.npy --method pca --components 32 -o z.npy         principal components
  dkae embed rows.npy --kernel rbf --rbf-width 50% -o z.npy         kernel PCA of another kernel
  dkae embed rows.npy --method isomap --neighbours 8 -o z.parquet   distances along the data
  dkae embed rows.npy --on new.npy -o z.npy                         fitted on rows.npy, new.npy embedded
  dkae embed rows.npy --components 16 -o z.npy --reconstruct r.npy  and back: rows from their coordinates
  dkae embed p.npy --kernel precomputed -o z.npy                    kernel PCA of a kernel matrix
  dkae embed counts.svm.gz --tfidf --svd 20 -o z.npy                word counts

The method is fitted on all rows of DATA, or those drawn by --take (--json lists them), prepared as `dkae fit` does. Without --on these rows are \
embedded and written in their order; with it, those of the other file, which are read in the same way. With labels, it is also \
said how often the nearest other row of the fit has a row's class. With --kernel precomputed DATA is a kernel matrix, and the \
file of --on has a row of kernel values to the rows of DATA for each new row.

The way back of --reconstruct is exact for pca. For the others it is a kernel ridge regression from coordinates to rows, fitted \
on four fifths of the rows (5000 at most); its width and ridge are those with the least error on the rest. Errors are measured \
after scaling.")]
#[command(mut_arg("prior", |prior| prior.hide(true)))]
pub struct Embed {
    /// The rows; several files of the same kind are put one after another
    #[arg(value_name = "DATA", required = true)]
    pub data: Vec<PathBuf>,
    /// Where to write the coordinates, one row for each: npy, csv, tsv or parquet
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// pca, kpca (kernel PCA), keca (kernel entropy components; rbf by default) or isomap
    #[arg(long, value_name = "METHOD", default_value = "kpca", hide_possible_values = true)]
    pub method: Embedding,
    /// Coordinates of an embedded row
    #[arg(long, value_name = "M", default_value_t = 2)]
    pub components: usize,
    /// Embed the rows of this file instead, by what was fitted on DATA
    #[arg(long, value_name = "DATA")]
    pub on: Option<PathBuf>,
    /// Write the rows that the coordinates stand for, too: npy, csv, tsv or parquet
    #[arg(long, value_name = "FILE")]
    pub reconstruct: Option<PathBuf>,
    /// Draw the first two coordinates, by class: a file name ending in .svg or .png
    #[arg(long, value_name = "FILE")]
    pub figure: Option<PathBuf>,
    /// kpca: leave the mean in
    #[arg(long)]
    pub uncentred: bool,
    /// keca: leading eigenpairs among which components are chosen [default: 64, or twice the components]
    #[arg(long, value_name = "N")]
    pub candidates: Option<usize>,
    /// kpca, keca: how far an eigenpair may be off, as a share of its eigenvalue; rounding limits it to about 1e-6, but for
    /// pck [default: 0.001]
    #[arg(long, value_name = "X", value_parser = positive, allow_negative_numbers = true)]
    pub eigen_tolerance: Option<f64>,
    /// isomap: neighbours that each row is linked to [default: 5]
    #[arg(long, value_name = "K")]
    pub neighbours: Option<usize>,
    /// isomap: rows that paths are measured from, drawn at random [default: 1000, or all when there are fewer]
    #[arg(long, value_name = "N")]
    pub landmarks: Option<usize>,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 7)]
    pub seed: u64,
    #[command(flatten)]
    pub reading: Reading,
    #[command(flatten)]
    pub rows: Preparing,
    #[command(flatten)]
    pub kernel: KernelFlags,
}

/// How rows are embedded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Embedding {
    /// Principal components.
    Pca,
    /// Kernel PCA.
    Kpca,
    /// Kernel entropy components.
    Keca,
    /// Distances along the data.
    Isomap,
}
