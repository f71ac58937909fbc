//! The left factor of a product by panels, `R = S Q`: what is not zero of S, or all of it, whichever takes less time.

use std::ops::Range;

use ndarray::ArrayView2;
use rayon::prelude::*;

use super::dense;
use super::sparse::{Nonzeros, Pass};

/// S, looked at.
pub enum Factor<'a> {
    /// What is not zero of it.
    Nonzeros(&'a Nonzeros, Pass, ArrayView2<'a, f32>),
    /// All of it.
    Dense(ArrayView2<'a, f32>),
}

impl<'a> Factor<'a> {
    /// Skips zeros if there is room to note the others and few enough of them.
    pub fn of(s: ArrayView2<'a, f32>, pass: Pass, room: Option<&'a mut Nonzeros>) -> Self {
        match room.and_then(|room| (room.take(s) <= pass.densest()).then_some(&*room)) {
            Some(found) => Factor::Nonzeros(found, pass, s),
            None => Factor::Dense(s),
        }
    }

    /// `R = S Q`, handed out as [`panels::product`](super::panels::product) does.
    pub fn multiply<O: Send>(
        &self,
        q: ArrayView2<f32>,
        of_panels: impl IndexedParallelIterator<Item = O>,
        finish: impl Fn(&mut O, Range<usize>, ArrayView2<f32>) + Sync,
    ) {
        match *self {
            Factor::Nonzeros(found, pass, s) => found.multiply(s, pass, q, of_panels, finish),
            Factor::Dense(s) => dense::multiply(s, q, of_panels, finish),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::panels::trial::{random, whole};
    use ndarray::Array2;

    #[test]
    fn zeros_are_skipped_where_there_are_enough_of_them_and_the_bits_are_the_same() {
        let q = random(90, 140, 1.0);
        for (share, skipped) in [(0.5, true), (0.9, false)] {
            let (s, mut room) = (random(30, 90, share), Nonzeros::default());
            let [with, without] =
                [Factor::of(s.view(), Pass::Alone, Some(&mut room)), Factor::of(s.view(), Pass::Alone, None)];
            assert_eq!(matches!(with, Factor::Nonzeros(..)), skipped);
            assert!(matches!(without, Factor::Dense(_)));
            let [found, want] = [with, without].map(|factor| {
                let mut found = Array2::from_elem((30, 140), f32::NAN);
                whole!(factor.multiply(q.view()), found);
                found
            });
            assert_eq!(found, want);
        }
    }
}
