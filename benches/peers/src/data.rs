//! The rows that both sides work on, prepared once and kept as files that both read.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use dkae::data::read::ReadOptions;
use dkae::data::split::Split;
use dkae::data::{Table, idx, sample, stream};
use dkae::kernel::{Pck, Posteriors, Prior};
use ndarray::{Array2, ArrayView2, Axis};

use crate::environment::{Bench, workspace};

/// The seed of everything drawn here, and of both sides.
pub const SEED: u64 = 0;

/// Parts of the rows: training, validation, test.
const SHARES: [f64; 3] = [0.7, 0.15, 0.15];

/// The 60 000 training images of MNIST, pixels in [0, 1].
pub fn mnist() -> Result<Table> {
    let folder = std::env::var_os("DKAE_DATA").map_or(workspace().join("../shared/data"), PathBuf::from);
    let path = folder.join("mnist/train-images-idx3-ubyte.gz");
    let mut table = idx::read(&path, &ReadOptions::default())
        .context("MNIST is looked for in the folder that DKAE_DATA names, or in ../shared/data beside the workspace")?;
    table.x /= 255.0;
    Ok(table)
}

/// The digits that come with the library, pixels in [0, 1].
pub fn embedded() -> Table {
    let mut table = sample::digits();
    table.x /= 255.0;
    table
}

/// Writes rows as npy.
pub fn write(path: &Path, x: ArrayView2<f32>) -> Result<()> {
    let mut sink = stream::create(path, x.ncols(), None)?;
    sink.write(x)?;
    Ok(sink.finish()?)
}

/// The first `n` rows of an npy file.
pub fn read(path: &Path, n: usize) -> Result<Array2<f32>> {
    let x = stream::open(path, &ReadOptions::default())?.next_block(n)?.context("an empty file")?;
    anyhow::ensure!(x.nrows() == n, "{} has {} rows, {n} are needed: remove it", path.display(), x.nrows());
    Ok(x)
}

/// The drawn rows: their file, the file of their labels, and how many are for training and validation; the rest is for test.
pub struct Drawn {
    /// Training, validation and test rows, one after another.
    pub x: PathBuf,
    /// Their classes.
    pub labels: PathBuf,
    /// How many of them are for training.
    pub train: usize,
    /// How many come after those, for validation.
    pub validation: usize,
    /// All of them.
    pub all: usize,
}

/// 20 000 rows of MNIST, as TARGETS has them; 2000 of the embedded digits in a quick run.
pub fn drawn(bench: &Bench) -> Result<Drawn> {
    let take = bench.either(20_000, 2000);
    let rows = || -> Result<_> {
        let table = bench.digits()?;
        let Split { train, validation, test } = Split::random_of(table.len(), take, SHARES, SEED)?;
        Ok(table.select(&[train, validation, test].concat()))
    };
    let x = bench.prepared("rows.npy", |path| write(path, rows()?.x.view()))?;
    let labels = bench.prepared("labels.npy", |path| {
        let labels = rows()?.labels.context("digits have labels")?.index;
        write(path, Array2::from_shape_fn((labels.len(), 1), |(i, _)| labels[i] as f32).view())
    })?;
    let part = |share: f64| (share * take as f64).round() as usize;
    Ok(Drawn { x, labels, train: part(SHARES[0]), validation: part(SHARES[1]), all: take })
}

/// The first `n` classes in a file of labels.
pub fn read_labels(path: &Path, n: usize) -> Result<Vec<u32>> {
    Ok(read(path, n)?.column(0).iter().map(|&v| v as u32).collect())
}

/// The kernel of the comparisons: the paper's, or a small one in a quick run.
pub fn kernel(bench: &Bench) -> Pck {
    let size = bench.either(30, 6);
    Pck { restarts: size, max_components: size, seed: SEED, ..Pck::default() }
}

/// P of the training rows as a whole matrix, for a peer that indexes it.
pub fn whole_prior(bench: &Bench, drawn: &Drawn) -> Result<PathBuf> {
    bench.prepared("prior.npy", |path| {
        let posteriors = posteriors(bench, drawn)?;
        let columns: Vec<usize> = (0..drawn.train).collect();
        let mut sink = stream::create(path, drawn.train, None)?;
        for rows in columns.chunks(500) {
            let mut block = Array2::zeros((rows.len(), drawn.train));
            posteriors.block(rows, &columns, block.view_mut());
            sink.write(block.view())?;
        }
        Ok(sink.finish()?)
    })
}

/// The posteriors of the training rows.
pub fn posteriors(bench: &Bench, drawn: &Drawn) -> Result<Posteriors> {
    let x = read(&drawn.x, drawn.train)?;
    Ok(kernel(bench).fit(x.view())?.posteriors(x.view())?)
}

/// `n` rows, the first ones as they are and every further round over them shifted by a pixel or two, written a block at a time.
pub fn write_shifted(path: &Path, x: ArrayView2<f32>, n: usize) -> Result<()> {
    const SHIFTS: [(isize, isize); 8] = [(0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (-1, -1), (2, 0), (0, 2)];
    let mut sink = stream::create(path, x.ncols(), None)?;
    let rounds = std::iter::once((0, 0)).chain(SHIFTS.into_iter().cycle());
    let mut left = n;
    for shift in rounds {
        let take = left.min(x.nrows());
        for block in x.slice(ndarray::s![..take, ..]).axis_chunks_iter(Axis(0), 1000) {
            sink.write(shifted(block, shift).view())?;
        }
        left -= take;
        if left == 0 {
            break;
        }
    }
    Ok(sink.finish()?)
}

/// Pictures of 28 x 28 moved down and right; what comes in is 0.
fn shifted(x: ArrayView2<f32>, (down, right): (isize, isize)) -> Array2<f32> {
    const SIDE: isize = 28;
    Array2::from_shape_fn(x.dim(), |(i, pixel)| {
        let (row, column) = (pixel as isize / SIDE - down, pixel as isize % SIDE - right);
        let inside = (0..SIDE).contains(&row) && (0..SIDE).contains(&column);
        if inside { x[[i, (row * SIDE + column) as usize]] } else { 0.0 }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifting_moves_pixels_and_brings_in_zeros() {
        let x = Array2::from_shape_fn((1, 784), |(_, p)| p as f32 + 1.0);
        assert_eq!(shifted(x.view(), (0, 0)), x);
        let moved = shifted(x.view(), (1, -2));
        assert_eq!(moved[[0, 28]], x[[0, 2]], "the first pixel of the second row comes from two to the right, one up");
        assert!(moved.iter().take(28).all(|&v| v == 0.0), "nothing is above the first row");
        assert_eq!((moved[[0, 28 + 26]], moved[[0, 28 + 27]]), (0.0, 0.0));
        assert_eq!(moved.iter().filter(|&&v| v == 0.0).count(), 28 + 27 * 2);
    }
}
