//! Something real to run on without any file: 5000 handwritten digits.
//!
//! 500 of each class, drawn at random from the training file of MNIST and shuffled. MNIST is by Yann LeCun, Corinna Cortes
//! and Christopher J.C. Burges and is available under the Creative Commons Attribution-ShareAlike 3.0 licence; so is this
//! sample (see `assets/README.md`).
//!
//! ```
//! let digits = dkae::data::sample::digits();
//! assert_eq!(digits.x.dim(), (5000, 784));
//! assert_eq!(digits.labels.unwrap().counts(), [500; 10]);
//! ```

use std::io::Read;

use flate2::bufread::GzDecoder;
use ndarray::Array2;

use super::{Labels, Shape, Table};

static PACKED: &[u8] = include_bytes!("../../assets/digits.gz");

const ROWS: usize = 5000;
const WIDTH: usize = 28 * 28;

/// The embedded digits: pixels from 0 to 255, labels `0` to `9`.
pub fn digits() -> Table {
    let mut bytes = Vec::with_capacity(ROWS * (1 + WIDTH));
    GzDecoder::new(PACKED).read_to_end(&mut bytes).expect("the embedded file is whole");
    let (labels, pixels) = bytes.split_at(ROWS);
    Table {
        x: Array2::from_shape_fn((ROWS, WIDTH), |(i, j)| f32::from(pixels[i * WIDTH + j])),
        labels: Some(Labels {
            index: labels.iter().map(|&l| u32::from(l)).collect(),
            names: (0..10).map(|k| k.to_string()).collect(),
        }),
        names: None,
        shape: Shape::Image { channels: 1, height: 28, width: 28 },
        groups: None,
        numbers: None,
        warnings: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_even_and_shuffled_and_pixels_are_ink_on_paper() {
        let table = digits();
        let labels = table.labels.as_ref().unwrap();
        assert_eq!(labels.counts(), [500; 10]);
        assert!(!labels.index.is_sorted() && table.classes() == 10);
        // Ones have the least ink, zeros the most; the frame is empty.
        let ink = |class: u32| {
            let rows: Vec<usize> = (0..ROWS).filter(|&i| labels.index[i] == class).collect();
            table.select(&rows).x.mean().unwrap()
        };
        assert!((1..10).all(|k| ink(k) < ink(0)) && (0..10).all(|k| k == 1 || ink(k) > ink(1)));
        assert_eq!(table.x.iter().copied().fold(0.0, f32::max), 255.0);
        assert!(table.x.column(0).iter().all(|&v| v == 0.0));
        assert!(PACKED.len() < 2_000_000);
    }
}
