//! Numbers as the page carries them: little-endian bytes in base64, a quarter of what decimal digits would take.

use serde::Serialize;

use crate::svg::base64;

/// Bytes for the page's script, as base64.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Packed(String);

impl Packed {
    pub fn bytes(bytes: &[u8]) -> Packed {
        Packed(base64(bytes))
    }

    pub fn u16s(values: impl Iterator<Item = u16>) -> Packed {
        Packed::bytes(&values.flat_map(u16::to_le_bytes).collect::<Vec<u8>>())
    }

    pub fn u32s(values: impl Iterator<Item = u32>) -> Packed {
        Packed::bytes(&values.flat_map(u32::to_le_bytes).collect::<Vec<u8>>())
    }

    pub fn f32s(values: impl Iterator<Item = f32>) -> Packed {
        Packed::bytes(&values.flat_map(f32::to_le_bytes).collect::<Vec<u8>>())
    }

    #[cfg(test)]
    fn read_bytes(&self) -> Vec<u8> {
        const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let bits = self.0.trim_end_matches('=').chars().flat_map(|c| {
            let digit = DIGITS.find(c).unwrap();
            (0..6).rev().map(move |bit| digit >> bit & 1)
        });
        let bits: Vec<usize> = bits.collect();
        bits.chunks_exact(8).map(|byte| byte.iter().fold(0, |sum, bit| 2 * sum + *bit as u8)).collect()
    }

    /// What was packed.
    #[cfg(test)]
    pub fn read_u16s(&self) -> Vec<u16> {
        self.read_bytes().chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect()
    }

    #[cfg(test)]
    pub fn read_u32s(&self) -> Vec<u32> {
        self.read_bytes().chunks_exact(4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect()
    }

    #[cfg(test)]
    pub fn read_f32s(&self) -> Vec<f32> {
        self.read_bytes().chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect()
    }

    /// The length in the page.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

/// The place of `value` between `low` and `high` in 16 bits.
pub(super) fn level(value: f64, low: f64, high: f64) -> u16 {
    if high > low { ((value - low) / (high - low) * 65535.0).round().clamp(0.0, 65535.0) as u16 } else { 0 }
}

/// The smallest and the largest value; zero and zero when there is none.
pub(super) fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    if low <= high { (low, high) } else { (0.0, 0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_packed_little_endian() {
        // 1 and 258 as u16: 01 00 02 01.
        assert_eq!(Packed::u16s([1, 258].into_iter()).0, "AQACAQ==");
        assert_eq!(Packed("AQACAQ==".to_owned()).read_u16s(), [1, 258]);
        assert_eq!(Packed::f32s([1.0].into_iter()).0, base64(&[0, 0, 0x80, 0x3f]));
    }

    #[test]
    fn levels_span_the_range_and_survive_an_empty_one() {
        assert_eq!([level(-1.0, -1.0, 3.0), level(3.0, -1.0, 3.0), level(1.0, -1.0, 3.0)], [0, 65535, 32768]);
        assert_eq!([level(2.0, 2.0, 2.0), level(9.0, 0.0, 1.0)], [0, 65535]);
        assert_eq!(range([3.0, -1.0].into_iter()), (-1.0, 3.0));
        assert_eq!(range(std::iter::empty()), (0.0, 0.0));
    }
}
