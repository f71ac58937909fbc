//! The weights that training starts from.
//!
//! *Glorot*: random, so that signals keep their size on the way (Glorot and Bengio 2010). Such a network reconstructs
//! nothing, and layers are best pretrained one by one.
//!
//! *Mirrored*: the network starts as a linear autoencoder, whose code is a rotation of the leading principal components of the
//! rows. Rectified units come in pairs `[relu(u), relu(-u)]`, and a layer between two such levels is
//!
//! ```text
//! W = [  Q  -Q ]        W [relu(u), relu(-u)] = [Qu, -Qu],  and the other way  W^T [relu(v), relu(-v)] = [Q^T v, -Q^T v]
//!     [ -Q   Q ]
//! ```
//!
//! with orthonormal columns in Q, so that everything gets through, both ways, and gradients too; relu functions that look
//! linear at first are known to train fast (Balduzzi et al. 2017). Where a level is narrower than the one below, Q has
//! orthonormal rows instead, and passes those leading components that the narrowest level has room for. At the
//! bottom the rows of Q span the leading components, the bias takes off the mean, and the decoder's bias puts it back. A sigmoid at
//! the output is met by its tangent: its bias is the logit of the mean, and W is longer by the inverse of its slope. No
//! pretraining is needed.

use std::fmt;
use std::str::FromStr;

use ndarray::{Array2, ArrayView1, ArrayView2, Axis, s};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::{Activation, Architecture, Autoencoder, Layer};
use crate::math::cholesky::Cholesky;
use crate::math::rng::{Purpose, stream};
use crate::math::{eigen, gemm, threads};
use crate::{Error, Result};

/// The most rows that the mean and the leading components are found from, and the most values of these.
const ROWS: usize = 4000;
const VALUES: usize = 1 << 24;
/// Making `few` of `many` orthonormal costs `few^2 many`; where that is more, in some layer, weights start at random. Two layers
/// of 4096 units are within it.
const MOST_WORK: usize = 1 << 36;
/// Products with the covariance, of this many more vectors than are wanted: the components need not be exact, since training
/// moves them.
const PRODUCTS: usize = 3;
const SPARE: usize = 32;
/// The longest mean row, in root mean squared distances of rows from it.
const FARTHEST: f64 = 3.0;
/// Up to this many components are put in their order.
const ORDERED: usize = 600;
/// Means of features this near to 0 or 1 are not followed further: their logits would be huge.
const EDGE: f32 = 0.05;

/// How weights start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Init {
    /// As a linear autoencoder of the leading principal components; Glorot's where units are neither rectified nor linear, in
    /// networks of many thousand units a layer, and for rows far from the origin, which ought to be scaled.
    Mirrored,
    /// At random (Glorot and Bengio 2010).
    Glorot,
}

impl fmt::Display for Init {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Init::Mirrored => "mirrored",
            Init::Glorot => "glorot",
        })
    }
}

impl FromStr for Init {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "mirrored" => Ok(Init::Mirrored),
            "glorot" => Ok(Init::Glorot),
            _ => Err(Error::setting("init", format!("expected mirrored or glorot, found '{text}'"))),
        }
    }
}

impl Init {
    /// Whether a network of this shape really starts mirrored when it is trained on the rows `x`.
    pub fn is_mirrored(self, shape: &Architecture, x: ArrayView2<f32>) -> bool {
        self == Init::Mirrored && can_look_linear(shape) && is_near_the_origin(x)
    }

    /// The weights that training on the rows `x` starts from.
    pub fn network(self, shape: Architecture, x: ArrayView2<f32>, seed: u64) -> Result<Autoencoder> {
        let mut net = Autoencoder::new(shape, seed)?;
        if self.is_mirrored(net.architecture(), x) {
            threads::run(|| mirror(&mut net, x, seed))?;
        }
        Ok(net)
    }
}

/// Whether all units are rectified or linear, and none of the layers too wide.
fn can_look_linear(shape: &Architecture) -> bool {
    let straight = |activation| matches!(activation, Activation::Relu | Activation::Linear);
    let affordable = |l: usize| {
        let (a, b) = (shape.width(l), shape.width(l + 1));
        a.min(b).saturating_mul(a).saturating_mul(b) <= MOST_WORK
    };
    straight(shape.code)
        && (shape.layers.len() == 1 || straight(shape.hidden))
        && (0..shape.layers.len()).all(affordable)
        && neck(shape) > 0
}

/// Whether the mean row is not many times longer than rows are apart: biases would have to follow it, and the first steps push
/// units that are balanced around such a mean out of all rows' reach.
fn is_near_the_origin(x: ArrayView2<f32>) -> bool {
    let rows = some(x);
    let length = |row: ArrayView1<f32>| row.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>();
    let Some(mean) = rows.mean_axis(Axis(0)) else { return false };
    let spread = rows.rows().into_iter().map(|row| length((&row - &mean).view())).sum::<f64>() / rows.nrows() as f64;
    length(mean.view()) <= FARTHEST.powi(2) * spread
}

/// Whether the units of a level come in pairs.
fn paired(shape: &Architecture, level: usize) -> bool {
    level > 0 && shape.activation(level) == Activation::Relu
}

/// What a level has room for: as many components as it has units, or pairs.
fn room(shape: &Architecture, level: usize) -> usize {
    if paired(shape, level) { shape.width(level) / 2 } else { shape.width(level) }
}

/// What gets through all levels. A single rectified unit has no other half, and then nothing does.
fn neck(shape: &Architecture) -> usize {
    (0..=shape.layers.len()).map(|level| room(shape, level)).min().unwrap_or(0)
}

/// Evenly spaced rows of `x`, few enough.
fn some(x: ArrayView2<f32>) -> Array2<f32> {
    let most = ROWS.min(VALUES / x.ncols().max(1)).max(256);
    let chosen: Vec<usize> = (0..x.nrows()).step_by(x.nrows().div_ceil(most).max(1)).collect();
    x.select(Axis(0), &chosen)
}

/// Makes all layers mirrored. What an odd width leaves over keeps its random weights.
fn mirror(net: &mut Autoencoder, x: ArrayView2<f32>, seed: u64) -> Result<()> {
    let mut centred = some(x);
    let mean = centred.mean_axis(Axis(0)).ok_or_else(|| Error::Data("there are no rows to start from".into()))?;
    centred -= &mean;
    let shape = net.architecture().clone();
    let (neck, room) = (neck(&shape), |level: usize| room(&shape, level));
    let mut q = leading(centred.view(), room(1), seed)?;
    // The components that the narrowest level has room for, as the first level sees them: one in each column.
    let mut seen = if room(1) < shape.input {
        Array2::from_shape_fn((room(1), neck), |(i, j)| if i == j { 1.0 } else { 0.0 })
    } else {
        times(q.view(), leading(centred.view(), neck, seed)?.t())
    };
    bottom(&mut net.layers_mut()[0], &shape, mean.view(), centred.view(), &mut q);
    for l in 0..shape.layers.len() {
        if l > 0 {
            q = if room(l + 1) < room(l) {
                keeping(seen.view(), room(l + 1), seed, l)?
            } else {
                orthonormal(room(l + 1), room(l), seed, l)?
            };
            seen = times(q.view(), seen.view());
        }
        fill(&mut net.layers_mut()[l], &shape, l, q.view());
    }
    Ok(())
}

/// Puts `q` and its mirror images into the layer above level `l`.
fn fill(layer: &mut Layer, shape: &Architecture, l: usize, q: ArrayView2<f32>) {
    let sides = |level: usize| [1.0, -1.0f32].into_iter().enumerate().take(if paired(shape, level) { 2 } else { 1 });
    for (row, side) in sides(l + 1) {
        for (column, way) in sides(l) {
            let (first, from) = (row * q.nrows(), column * q.ncols());
            let mut part = layer.weights.slice_mut(s![first..first + q.nrows(), from..from + q.ncols()]);
            part.assign(&(&q * (side * way)));
        }
    }
    if let Some(back) = &mut layer.decoder_weights {
        back.assign(&layer.weights);
    }
}

/// The biases of the first layer, and the length of its weights.
fn bottom(
    layer: &mut Layer,
    shape: &Architecture,
    mean: ArrayView1<f32>,
    centred: ArrayView2<f32>,
    q: &mut Array2<f32>,
) {
    layer.decoder_bias = if shape.output == Activation::Sigmoid {
        let near = mean.mapv(|m| m.clamp(EDGE, 1.0 - EDGE));
        *q *= gain(centred, near.view());
        near.mapv(|m| (m / (1.0 - m)).ln())
    } else {
        mean.to_owned()
    };
    let shift = q.dot(&mean);
    layer.bias.slice_mut(s![..q.nrows()]).assign(&-&shift);
    if paired(shape, 1) {
        layer.bias.slice_mut(s![q.nrows()..2 * q.nrows()]).assign(&shift);
    }
}

/// What W is longer by at the bottom, so that W^T W makes up for the sigmoid's slope `m (1 - m)` at the means `m`, features
/// counting by their variance.
fn gain(centred: ArrayView2<f32>, mean: ArrayView1<f32>) -> f32 {
    let (mut all, mut passed) = (0.0f64, 0.0f64);
    for row in centred.rows() {
        for (&v, &m) in row.iter().zip(mean) {
            let square = f64::from(v).powi(2);
            all += square;
            passed += square * f64::from(m * (1.0 - m));
        }
    }
    if passed > 0.0 { (all / passed).sqrt() as f32 } else { 2.0 }
}

/// About the `m` leading components of centred rows, in their order, one in each row; where `m` is at least the width of the rows,
/// orthonormal columns.
fn leading(rows: ArrayView2<f32>, m: usize, seed: u64) -> Result<Array2<f32>> {
    let (n, d) = rows.dim();
    let variance = rows.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>() / (n * d).max(1) as f64;
    if m >= d || variance == 0.0 {
        return orthonormal(m, d, seed, 0);
    }
    // In units in which the variance is 1, whatever those of the data are.
    let rows = rows.mapv(|v| (f64::from(v) / variance.sqrt()) as f32);
    let wanted = (m + SPARE).min(d);
    let mut basis = orthonormal(wanted, d, seed, 0)?;
    let mut scores = Array2::zeros((n, wanted));
    for _ in 0..PRODUCTS {
        gemm::product(1.0, rows.view(), basis.t(), 0.0, scores.view_mut());
        // What has no variance stays as it was, a little: no row of the basis may vanish.
        let mut next = &basis * 1e-3f32;
        gemm::product(1.0 / n as f32, scores.t(), rows.view(), 1.0, next.view_mut());
        basis = orthonormal_rows(next.mapv(f64::from))?;
    }
    if wanted <= ORDERED {
        let scores = times(rows.view(), basis.t()).mapv(f64::from);
        let mut spread = Array2::zeros((wanted, wanted));
        gemm::product(1.0, scores.t(), scores.view(), 0.0, spread.view_mut());
        let (_, turn) = eigen::symmetric(spread.view())?;
        basis = times(turn.mapv(|v| v as f32).t(), basis.view());
    }
    Ok(basis.slice(s![..m, ..]).to_owned())
}

fn times(a: ArrayView2<f32>, b: ArrayView2<f32>) -> Array2<f32> {
    let mut product = Array2::zeros((a.nrows(), b.ncols()));
    gemm::product(1.0, a, b, 0.0, product.view_mut());
    product
}

/// `rows` orthonormal rows whose span holds the columns of `seen`, and is random otherwise.
fn keeping(seen: ArrayView2<f32>, rows: usize, seed: u64, layer: usize) -> Result<Array2<f32>> {
    let mut all = orthonormal(rows, seen.nrows(), seed, layer)?.mapv(f64::from);
    all.slice_mut(s![..seen.ncols(), ..]).assign(&seen.t().mapv(f64::from));
    let kept = orthonormal_rows(all)?;
    // Turned, so that every unit has a share.
    Ok(times(orthonormal(rows, rows, seed, layer)?.view(), kept.view()))
}

/// A random `rows` x `columns` matrix whose columns, or rows where they are fewer, are orthonormal.
fn orthonormal(rows: usize, columns: usize, seed: u64, layer: usize) -> Result<Array2<f32>> {
    // Apart from the streams of Glorot's weights, whose second counter is 0 or 1.
    let mut random = stream(seed, Purpose::Weights, layer as u64, 2);
    let (few, many) = (rows.min(columns), rows.max(columns));
    // Sums of four uniform numbers are nearly normal, which makes all directions nearly equally likely.
    let draw = Array2::from_shape_simple_fn((few, many), || (0..4).map(|_| random.random::<f64>()).sum::<f64>() - 2.0);
    let q = orthonormal_rows(draw)?;
    Ok(if rows <= columns { q } else { q.reversed_axes().as_standard_layout().into_owned() })
}

/// An orthonormal basis of the rows of `a`: `L^-1 A` with `A A^T = L L^T`, twice, since once leaves what rounding left.
fn orthonormal_rows(mut a: Array2<f64>) -> Result<Array2<f32>> {
    for _ in 0..2 {
        let mut gram = Array2::zeros((a.nrows(), a.nrows()));
        gemm::product(1.0, a.view(), a.t(), 0.0, gram.view_mut());
        Cholesky::new(gram)?.forward(a.view_mut());
    }
    Ok(a.mapv(|v| v as f32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(input: usize, layers: &[usize], code: Activation, output: Activation, tied: bool) -> Architecture {
        Architecture { input, layers: layers.to_vec(), hidden: Activation::Relu, code, output, tied }
    }

    /// Rows in a subspace of `rank` dimensions, around 0.5.
    fn rows(n: usize, d: usize, rank: usize) -> Array2<f32> {
        let mut random = stream(3, Purpose::Demo, 0, 0);
        let mut draw = |a, b| Array2::from_shape_simple_fn((a, b), || random.random::<f32>() - 0.5);
        draw(n, rank).dot(&draw(rank, d)) + 0.5
    }

    fn error(net: &Autoencoder, x: ArrayView2<f32>) -> f32 {
        let back = net.decode(net.encode(x).unwrap().view()).unwrap();
        (&back - &x).mapv(|v| v * v).mean().unwrap()
    }

    #[test]
    fn rows_within_reach_come_back_as_they_were() {
        let x = rows(300, 40, 8);
        for (layers, code) in [
            (vec![30, 24, 60, 50], Activation::Linear),
            (vec![30, 24, 60, 50], Activation::Relu),
            (vec![100, 17, 33, 21], Activation::Linear),
            (vec![8], Activation::Linear),
        ] {
            for tied in [true, false] {
                let shape = shape(40, &layers, code, Activation::Linear, tied);
                let mut net = Init::Mirrored.network(shape, x.view(), 1).unwrap();
                // What odd widths leave over is random: silence it.
                for l in 0..layers.len() {
                    let (odd_in, odd_out) =
                        (l > 0 && layers[l - 1] % 2 == 1, layers[l] % 2 == 1 && l + 1 < layers.len());
                    let layer = &mut net.layers_mut()[l];
                    for w in std::iter::once(&mut layer.weights).chain(&mut layer.decoder_weights) {
                        if odd_in {
                            w.slice_mut(s![.., -1]).fill(0.0);
                        }
                        if odd_out {
                            w.slice_mut(s![-1, ..]).fill(0.0);
                        }
                    }
                }
                let found = error(&net, x.view());
                assert!(found < 1e-6, "{layers:?} {code} {tied}: {found}");
            }
        }
    }

    #[test]
    fn a_sigmoid_output_is_met_by_its_tangent() {
        let x = (rows(300, 40, 8) - 0.5) * 0.2 + 0.5;
        let shape = shape(40, &[30, 24, 60, 50], Activation::Linear, Activation::Sigmoid, true);
        let glorot = Autoencoder::new(shape, 1).unwrap();
        let mut mirrored = glorot.clone();
        mirror(&mut mirrored, x.view(), 1).unwrap();
        let variance = x.var_axis(Axis(0), 0.0).mean().unwrap();
        let (mirrored, glorot) = (error(&mirrored, x.view()), error(&glorot, x.view()));
        assert!(mirrored < 0.02 * variance && glorot > 0.5 * variance, "{mirrored} {glorot} of {variance}");
    }

    #[test]
    fn the_leading_components_are_found_and_constant_rows_are_no_obstacle() {
        let x = rows(200, 30, 5);
        let centred = &x - &x.mean_axis(Axis(0)).unwrap();
        let q = leading(centred.view(), 5, 2).unwrap();
        let lost = &centred - &centred.dot(&q.t()).dot(&q);
        let share = lost.mapv(|v| v * v).sum() / centred.mapv(|v| v * v).sum();
        assert!(share < 1e-5, "{share}");
        // More than there are: the rest is anything, but orthonormal.
        let more = leading(centred.view(), 12, 2).unwrap();
        assert!((more.dot(&more.t()) - Array2::<f32>::eye(12)).iter().all(|v| v.abs() < 1e-4));
        let inside = &q - &q.dot(&more.slice(s![..5, ..]).t()).dot(&more.slice(s![..5, ..]));
        assert!(inside.iter().all(|v| v.abs() < 1e-3), "the first of more are those of fewer");
        // Whatever the units.
        for scale in [1e-22, 1e18] {
            assert!((leading((&centred * scale).view(), 5, 2).unwrap() - &q).iter().all(|v| v.abs() < 1e-3), "{scale}");
        }
        let constant = Array2::from_elem((20, 30), 0.5);
        let shape = shape(30, &[10, 4], Activation::Linear, Activation::Sigmoid, true);
        mirror(&mut Autoencoder::new(shape, 1).unwrap(), constant.view(), 1).unwrap();
    }

    #[test]
    fn random_bases_are_orthonormal_whichever_way_they_are_cut() {
        for (rows, columns) in [(7, 3), (3, 7), (5, 5), (1, 1)] {
            let q = orthonormal(rows, columns, 1, 0).unwrap();
            let gram = if rows <= columns { q.dot(&q.t()) } else { q.t().dot(&q) };
            let size = rows.min(columns);
            assert!((gram - Array2::<f32>::eye(size)).iter().all(|v| v.abs() < 1e-5), "{rows} x {columns}");
        }
    }

    #[test]
    fn units_that_cannot_look_linear_start_at_random() {
        let x = rows(50, 6, 3);
        let sigmoid = Architecture {
            hidden: Activation::Sigmoid,
            ..shape(6, &[5, 4], Activation::Linear, Activation::Linear, true)
        };
        let net = Init::Mirrored.network(sigmoid.clone(), x.view(), 1).unwrap();
        assert_eq!(net, Autoencoder::new(sigmoid, 1).unwrap());
        // Neither do layers so wide that it would take long.
        let at_random =
            |d, layers: &[usize]| !can_look_linear(&shape(d, layers, Activation::Linear, Activation::Linear, true));
        assert!(at_random(9000, &[9000]) && at_random(50_000, &[8000]) && !at_random(784, &[500, 500, 2000, 2000]));
        // Nor do networks for rows far from the origin.
        let near = shape(6, &[8, 4], Activation::Linear, Activation::Linear, true);
        let is_mirrored = |init: Init, offset: f32| init.is_mirrored(&near, (&x + offset).view());
        assert!(
            is_mirrored(Init::Mirrored, -0.5) && !is_mirrored(Init::Mirrored, 9.0) && !is_mirrored(Init::Glorot, -0.5)
        );
        // A single unit has no other half.
        let thin = shape(6, &[1, 1], Activation::Relu, Activation::Linear, true);
        assert_eq!(Init::Mirrored.network(thin.clone(), x.view(), 1).unwrap(), Autoencoder::new(thin, 1).unwrap());
    }

    #[test]
    fn the_start_has_the_same_bits_with_one_thread_and_many() {
        let x = rows(400, 60, 30);
        let run = |count| {
            let shape = shape(60, &[40, 90, 30], Activation::Linear, Activation::Sigmoid, true);
            threads::with_count(count, || Init::Mirrored.network(shape, x.view(), 1).unwrap())
        };
        assert_eq!(run(1), run(3));
    }
}
