//! The stacked autoencoder as a function: rows to codes, codes to rows.
//!
//! Level 0 is the input, level L the code. `encode` goes up, `h_l = s(W_l h_{l-1} + b_l)`; `decode` comes down,
//! `h_{l-1} = s(V_l^T h_l + c_l)`. Rows are worked on in blocks, for which a product sums in the same order: every row meets the same
//! sequence of operations whatever block it is in, and codes do not depend on how rows are cut up.
//!
//! Products go by panels (math/panels.rs) where those are fast, and skip the zeros that rectified units leave. Elsewhere they are
//! general ones, for which blocks are padded to a multiple of [`BLOCK`].

use std::ops::Range;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, ArrayViewMut1, ArrayViewMut2, Axis, CowArray, s};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::math::factor::Factor;
use crate::math::sparse::{Nonzeros, Pass};
use crate::math::{elementwise, gemm, panels, threads};
use crate::net::{Activation, Layer};
use crate::{Error, Result};

/// The unit of blocks of rows: four tiles of the general product, where a single row costs as much as this many.
const BLOCK: usize = 192;

/// The largest block in these units for the general product, which packs all weights anew for every block.
const MOST: usize = 8;

/// One row in so many is looked at first for how many of its numbers are zero.
const SAMPLE: usize = 16;

/// The shape of an autoencoder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Architecture {
    /// Width of a row.
    pub input: usize,
    /// Widths of the layers above it; the last is the code's.
    pub layers: Vec<usize>,
    /// Activation of the hidden layers, in encoder and decoder.
    pub hidden: Activation,
    /// Activation of the code.
    pub code: Activation,
    /// Activation of the reconstruction.
    pub output: Activation,
    /// Whether the decoder uses the encoder's weights, transposed.
    pub tied: bool,
}

impl Architecture {
    /// Activation of the units at a level, in encoder and decoder alike.
    pub fn activation(&self, level: usize) -> Activation {
        match level {
            0 => self.output,
            l if l == self.layers.len() => self.code,
            _ => self.hidden,
        }
    }

    /// Width of a level; level 0 is the input.
    pub fn width(&self, level: usize) -> usize {
        if level == 0 { self.input } else { self.layers[level - 1] }
    }

    /// Whether this can be built: at least one layer, no empty one.
    pub fn check(&self) -> Result<()> {
        if self.input == 0 {
            return Err(Error::Data("the rows have no features: nothing to learn from".into()));
        }
        if self.layers.is_empty() {
            return Err(Error::setting("layers", "expected at least the width of the code, found an empty list"));
        }
        check_widths(&self.layers)
    }

    /// How many weights and biases there are.
    pub fn parameters(&self) -> usize {
        (0..self.layers.len())
            .map(|l| {
                let (inputs, outputs) = (self.width(l), self.width(l + 1));
                inputs * outputs * if self.tied { 1 } else { 2 } + inputs + outputs
            })
            .sum()
    }
}

/// No layer is empty.
pub(crate) fn check_widths(layers: &[usize]) -> Result<()> {
    if let Some(i) = layers.iter().position(|&w| w == 0) {
        return Err(Error::setting("layers", format!("layer {} has width 0; every layer needs a unit", i + 1)));
    }
    match layers.iter().position(|&w| w > WIDEST) {
        Some(i) => {
            let message = format!("layer {} has width {}; the most is {WIDEST}", i + 1, layers[i]);
            Err(Error::setting("layers", message))
        }
        None => match layers.windows(2).map(|pair| pair[0] * pair[1]).max() {
            Some(weights) if weights > WIDEST * 1000 => {
                let message = format!("two layers have {weights} weights between them; the most is {}", WIDEST * 1000);
                Err(Error::setting("layers", message))
            }
            _ => Ok(()),
        },
    }
}

/// A layer of more units is a slip of the pen, not a wish.
const WIDEST: usize = 1_000_000;

/// As `784-500-500-2000-2000`.
impl std::fmt::Display for Architecture {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}", self.input)?;
        self.layers.iter().try_for_each(|w| write!(f, "-{w}"))
    }
}

/// A stacked autoencoder.
#[derive(Clone, Debug, PartialEq)]
pub struct Autoencoder {
    architecture: Architecture,
    layers: Vec<Layer>,
}

impl Autoencoder {
    /// A new one with Glorot weights.
    pub fn new(architecture: Architecture, seed: u64) -> Result<Self> {
        architecture.check()?;
        let layers = (0..architecture.layers.len())
            .map(|l| Layer::glorot(architecture.width(l), architecture.width(l + 1), architecture.tied, seed, l))
            .collect();
        Ok(Autoencoder { architecture, layers })
    }

    /// From layers that exist already; their shapes are checked against the architecture.
    pub fn from_layers(architecture: Architecture, layers: Vec<Layer>) -> Result<Self> {
        architecture.check()?;
        let fits = layers.len() == architecture.layers.len()
            && layers.iter().enumerate().all(|(l, layer)| {
                let shape = (architecture.width(l + 1), architecture.width(l));
                layer.weights.dim() == shape
                    && layer.decoder_weights.as_ref().map(|w| w.dim()) == (!architecture.tied).then_some(shape)
                    && (layer.bias.len(), layer.decoder_bias.len()) == shape
                    && layer.weights.is_standard_layout()
                    && [&layer.bias, &layer.decoder_bias].iter().all(|bias| bias.is_standard_layout())
            });
        if !fits {
            return Err(Error::Data(format!("the layers do not have the shapes of {architecture}")));
        }
        Ok(Autoencoder { architecture, layers })
    }

    /// The layers of a range alone, as an autoencoder from the first of its levels to the last.
    pub(crate) fn part(&self, layers: Range<usize>) -> Result<Self> {
        let whole = &self.architecture;
        let architecture = Architecture {
            input: whole.width(layers.start),
            layers: whole.layers.get(layers.clone()).unwrap_or_default().to_vec(),
            hidden: whole.hidden,
            code: whole.activation(layers.end),
            output: whole.activation(layers.start),
            tied: whole.tied,
        };
        Self::from_layers(architecture, self.layers.get(layers).unwrap_or_default().to_vec())
    }

    /// Its shape.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// Its layers, from the input up.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Its layers, to be trained.
    pub fn layers_mut(&mut self) -> &mut [Layer] {
        &mut self.layers
    }

    /// Codes of rows.
    pub fn encode(&self, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        check_width("rows", x.ncols(), self.architecture.input)?;
        Ok(by_blocks(x, self.architecture.width(self.layers.len()), |x, codes, room| self.up(x, codes, room)))
    }

    /// Rows of codes.
    pub fn decode(&self, codes: ArrayView2<f32>) -> Result<Array2<f32>> {
        check_width("codes", codes.ncols(), self.architecture.width(self.layers.len()))?;
        Ok(by_blocks(codes, self.architecture.input, |codes, out, room| self.down(codes, out, room)))
    }

    /// Rows, encoded and decoded again; the codes are not kept.
    pub fn reconstruct(&self, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        check_width("rows", x.ncols(), self.architecture.input)?;
        let width = self.architecture.width(self.layers.len());
        Ok(by_blocks(x, self.architecture.input, |x, out, room| {
            let mut codes = room.matrix((x.nrows(), width));
            self.up(x, codes.view_mut(), room);
            self.down(codes.view(), out, room);
            room.take_back(codes);
        }))
    }

    fn up(&self, x: ArrayView2<f32>, codes: ArrayViewMut2<f32>, room: &mut Room) {
        let layers = self.layers.iter().enumerate();
        let layers = layers.map(|(l, layer)| (layer.weights.t(), &layer.bias, self.architecture.activation(l + 1)));
        through(layers, x, codes, room);
    }

    fn down(&self, codes: ArrayView2<f32>, out: ArrayViewMut2<f32>, room: &mut Room) {
        let layers = self.layers.iter().enumerate().rev();
        let layers = layers.map(|(l, layer)| (layer.back(), &layer.decoder_bias, self.architecture.activation(l)));
        through(layers, codes, out, room);
    }
}

/// Memory that the blocks of a thread's share use one after the other: what a block frees the system takes back, and the next one
/// would wait for it.
#[derive(Default)]
struct Room {
    nonzeros: Nonzeros,
    free: Vec<Vec<f32>>,
}

impl Room {
    /// A matrix to be written as a whole: its numbers may be those of an earlier one.
    fn matrix(&mut self, shape: (usize, usize)) -> Array2<f32> {
        let mut values = self.free.pop().unwrap_or_default();
        values.resize(shape.0 * shape.1, 0.0);
        Array2::from_shape_vec(shape, values).expect("as many as the shape says")
    }

    /// Its memory is free again.
    fn take_back(&mut self, matrix: Array2<f32>) {
        self.free.push(matrix.into_raw_vec_and_offset().0);
    }
}

/// Applies `f` to blocks of rows and of what they become.
fn by_blocks(
    x: ArrayView2<f32>,
    width: usize,
    f: impl Fn(ArrayView2<f32>, ArrayViewMut2<f32>, &mut Room) + Sync,
) -> Array2<f32> {
    let mut out = Array2::zeros((x.nrows(), width));
    // By panels a block should stay in the caches while all weights pass.
    let rows = match panels::available() {
        true => panels::ROWS,
        false => BLOCK * x.nrows().div_ceil(BLOCK * threads::count()).clamp(1, MOST),
    };
    let work = |room: &mut Room, (mut out, x): (ArrayViewMut2<f32>, ArrayView2<f32>)| {
        if panels::available() {
            return f(x, out, room);
        }
        let padded = x.nrows().next_multiple_of(BLOCK);
        let mut block = Array2::zeros((padded, x.ncols()));
        block.slice_mut(s![..x.nrows(), ..]).assign(&x);
        let mut found = room.matrix((padded, width));
        f(block.view(), found.view_mut(), room);
        out.assign(&found.slice(s![..x.nrows(), ..]));
        room.take_back(found);
    };
    threads::run(|| {
        let blocks = out.axis_chunks_iter_mut(Axis(0), rows).into_par_iter().zip(x.axis_chunks_iter(Axis(0), rows));
        blocks.for_each_init(Room::default, work);
    });
    out
}

/// Rows through layers, each with its weights (in x out), bias and activation; the last one writes to `out`.
fn through<'a>(
    layers: impl ExactSizeIterator<Item = (ArrayView2<'a, f32>, &'a Array1<f32>, Activation)>,
    x: ArrayView2<f32>,
    mut out: ArrayViewMut2<f32>,
    room: &mut Room,
) {
    // Rows that are not contiguous would be gathered anew for every panel of weights.
    let mut h = CowArray::from(x);
    if x.strides()[1] != 1 {
        let mut copy = room.matrix(x.dim());
        copy.assign(&x);
        h = copy.into();
    }
    let last = layers.len() - 1;
    for (l, (w, bias, activation)) in layers.enumerate() {
        if l == last {
            propagate(h.view(), w, bias, activation, &mut room.nonzeros, out.view_mut());
            break;
        }
        let mut z = room.matrix((h.nrows(), w.ncols()));
        propagate(h.view(), w, bias, activation, &mut room.nonzeros, z.view_mut());
        let before = std::mem::replace(&mut h, z.into());
        if before.is_owned() {
            room.take_back(before.into_owned());
        }
    }
    if h.is_owned() {
        room.take_back(h.into_owned());
    }
}

/// `z = s(x w + bias)` for a block of rows, with room to note what is not zero.
fn propagate(
    x: ArrayView2<f32>,
    w: ArrayView2<f32>,
    bias: &Array1<f32>,
    activation: Activation,
    nonzeros: &mut Nonzeros,
    mut z: ArrayViewMut2<f32>,
) {
    if !panels::available() {
        gemm::sequential(1.0, x, w, 0.0, z.view_mut());
        z += bias;
        return z.rows_mut().into_iter().for_each(|row| activation.apply(contiguous(row), 0.0));
    }
    let of_panels = z.axis_chunks_iter_mut(Axis(1), panels::WIDTH).into_par_iter();
    let of_panels = of_panels.zip(bias.axis_chunks_iter(Axis(0), panels::WIDTH));
    let finish = |(z, bias): &mut (ArrayViewMut2<f32>, ArrayView1<f32>), rows: Range<usize>, block: ArrayView2<f32>| {
        let width = z.ncols();
        let bias = bias.to_slice().expect("biases are contiguous");
        for (z, found) in z.slice_mut(s![rows, ..]).rows_mut().into_iter().zip(block.rows()) {
            let z = contiguous(z);
            elementwise::sum(z, &found.to_slice().expect("rows are contiguous")[..width], bias);
            activation.apply(z, 0.0);
        }
    };
    // Rows pass alone: what a row becomes must not depend on the ones beside it. Codes have no zeros as a rule, which some of them
    // show; a wrong guess changes no bit, since weights are finite.
    let few = nonzeros.take(x.slice(s![..;SAMPLE, ..])) <= Pass::Alone.densest();
    Factor::of(x, Pass::Alone, few.then_some(nonzeros)).multiply(w, of_panels, finish);
}

fn contiguous(row: ArrayViewMut1<'_, f32>) -> &mut [f32] {
    row.into_slice().expect("rows are contiguous")
}

fn check_width(what: &str, found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::Data(format!("the {what} have {found} columns, but the model was trained for {expected}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::rng::{Purpose, stream};
    use proptest::prelude::*;
    use rand::RngExt;

    fn net(tied: bool) -> Autoencoder {
        let architecture = Architecture {
            input: 13,
            layers: vec![9, 2],
            hidden: Activation::Tanh,
            code: Activation::Linear,
            output: Activation::Sigmoid,
            tied,
        };
        Autoencoder::new(architecture, 3).unwrap()
    }

    fn rows(n: usize) -> Array2<f32> {
        let mut rng = stream(5, Purpose::Demo, 0, 0);
        Array2::from_shape_simple_fn((n, 13), || rng.random::<f32>())
    }

    #[test]
    fn encode_is_the_formula() {
        let (net, x) = (net(false), rows(3));
        let codes = net.encode(x.view()).unwrap();
        for (x, code) in x.rows().into_iter().zip(codes.rows()) {
            let h: Vec<f64> = (0..9)
                .map(|i| (0..13).map(|j| f64::from(net.layers[0].weights[[i, j]] * x[j])).sum::<f64>().tanh())
                .collect();
            for (c, w) in code.iter().zip(net.layers[1].weights.rows()) {
                let want: f64 = w.iter().zip(&h).map(|(&w, h)| f64::from(w) * h).sum();
                assert!((f64::from(*c) - want).abs() < 1e-6);
            }
        }
    }

    proptest! {
        #[test]
        fn codes_and_rows_are_the_same_for_any_chunking(n in 1usize..500, cut in 0usize..500, tied: bool) {
            let (net, x) = (net(tied), rows(n));
            let cut = cut.min(n);
            let whole = net.encode(x.view()).unwrap();
            let back = net.decode(whole.view()).unwrap();
            for (range, part) in [(0..cut, x.slice(s![..cut, ..])), (cut..n, x.slice(s![cut.., ..]))] {
                let codes = net.encode(part).unwrap();
                prop_assert_eq!(&codes, &whole.slice(s![range.clone(), ..]));
                prop_assert_eq!(&net.decode(codes.view()).unwrap(), &back.slice(s![range.clone(), ..]));
                prop_assert_eq!(&net.reconstruct(part).unwrap(), &back.slice(s![range, ..]));
            }
        }
    }

    #[test]
    fn codes_and_rows_are_the_same_in_large_blocks_and_small_ones() {
        // Widths beside those of the product's tiles, and inner dimensions of several of its blocks.
        let architecture = Architecture { input: 13, layers: vec![1201, 130, 700], ..net(true).architecture };
        let (net, x) = (Autoencoder::new(architecture, 4).unwrap(), rows(2 * MOST * BLOCK + 1));
        let whole = threads::with_count(1, || net.encode(x.view()).unwrap());
        let back = threads::with_count(1, || net.decode(whole.view()).unwrap());
        for at in [0, 100, BLOCK * MOST - 1, 2 * BLOCK * MOST] {
            let row = at..at + 1;
            let code = net.encode(x.slice(s![row.clone(), ..])).unwrap();
            assert_eq!(code, whole.slice(s![row.clone(), ..]), "row {at}");
            assert_eq!(net.decode(code.view()).unwrap(), back.slice(s![row, ..]), "row {at}");
        }
        assert_eq!(threads::with_count(3, || net.encode(x.view()).unwrap()), whole);
        assert_eq!(threads::with_count(17, || net.decode(whole.view()).unwrap()), back);
        let turned = x.t().as_standard_layout().into_owned();
        for x in [x.view(), turned.t()] {
            assert_eq!(threads::with_count(1, || net.reconstruct(x).unwrap()), back);
        }
    }

    #[test]
    fn blocks_pass_their_memory_on_and_take_no_more_of_it() {
        let (net, x) = (net(true), rows(300));
        let turned = x.t().as_standard_layout().into_owned();
        let (mut room, mut codes) = (Room::default(), Array2::zeros((300, net.architecture.width(2))));
        net.up(turned.t(), codes.view_mut(), &mut room);
        let held = |room: &Room| room.free.iter().map(Vec::capacity).collect::<Vec<_>>();
        let first = held(&room);
        // The rows, turned, and what the first layer makes of them.
        assert_eq!(first.len(), 2);
        for x in [turned.t(), x.view(), turned.t()] {
            net.up(x, codes.view_mut(), &mut room);
            assert_eq!(held(&room).len(), first.len());
        }
        assert_eq!(codes, net.encode(x.view()).unwrap());
    }

    #[test]
    fn zeros_are_skipped_or_not_with_the_same_codes_for_every_layout() {
        let architecture = Architecture { hidden: Activation::Relu, layers: vec![300, 9], ..net(true).architecture };
        let net = Autoencoder::new(architecture, 6).unwrap();
        // Most of the first rows is zero and nothing of the last; between them rows of one block differ in that.
        let mut x = rows(500);
        x.slice_mut(s![..250, ..11]).fill(0.0);
        let codes = net.encode(x.view()).unwrap();
        let back = net.decode(codes.view()).unwrap();
        for i in [0, 150, 249, 250, 300, 499] {
            let row = s![i..i + 1, ..];
            assert_eq!(net.encode(x.slice(row)).unwrap(), codes.slice(row), "row {i}");
            assert_eq!(net.decode(codes.slice(row)).unwrap(), back.slice(row), "row {i}");
        }
        let turned = x.t().as_standard_layout().into_owned();
        assert_eq!(net.encode(turned.t()).unwrap(), codes);
        let reversed = net.encode(x.slice(s![..;-1, ..])).unwrap();
        assert_eq!(reversed.slice(s![..;-1, ..]), codes);
        // Blocks of either kind after each other.
        let many = ndarray::concatenate(Axis(0), &[x.view(); 5]).unwrap();
        let found = threads::with_count(1, || net.encode(many.view()).unwrap());
        assert!(found.axis_chunks_iter(Axis(0), 500).all(|part| part == codes));
        let nothing = net.encode(Array2::zeros((0, 13)).view()).unwrap();
        assert_eq!((nothing.dim(), net.decode(nothing.view()).unwrap().dim()), ((0, 9), (0, 13)));
    }

    #[test]
    fn a_wrong_width_names_both_numbers() {
        let message = net(true).encode(Array2::zeros((2, 12)).view()).unwrap_err().to_string();
        assert!(message.contains("12") && message.contains("13"), "{message}");
    }
}
