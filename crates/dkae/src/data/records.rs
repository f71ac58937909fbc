//! Files that are rows of numbers of one size after a header (idx, CIFAR-10, npy): the numbers' types, and reading them
//! some records at a time.

use std::path::Path;

use super::Labels;
use super::input::Input;
use super::rows::{Collector, Reader, number_label, row_place};
use crate::{Error, Result};

/// How a number is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Unsigned,
    Signed,
    Float,
}

/// The type of stored numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    kind: Kind,
    bytes: usize,
    big_endian: bool,
}

/// Calls `$f` with the numbers of `$raw`, read as the element's type says.
macro_rules! numbers {
    ($element:expr, $raw:expr, $f:expr) => {{
        macro_rules! each {
            ($t:ty) => {{
                const N: usize = size_of::<$t>();
                let (chunks, _) = $raw.as_chunks::<N>();
                if $element.big_endian {
                    chunks.iter().map(|&c| <$t>::from_be_bytes(c)).for_each($f)
                } else {
                    chunks.iter().map(|&c| <$t>::from_le_bytes(c)).for_each($f)
                }
            }};
        }
        match ($element.kind, $element.bytes) {
            (Kind::Bool, _) => $raw.iter().map(|&b| u8::from(b != 0)).for_each($f),
            (Kind::Unsigned, 1) => each!(u8),
            (Kind::Unsigned, 2) => each!(u16),
            (Kind::Unsigned, 4) => each!(u32),
            (Kind::Unsigned, _) => each!(u64),
            (Kind::Signed, 1) => each!(i8),
            (Kind::Signed, 2) => each!(i16),
            (Kind::Signed, 4) => each!(i32),
            (Kind::Signed, _) => each!(i64),
            (Kind::Float, 4) => each!(f32),
            (Kind::Float, _) => each!(f64),
        }
    }};
}

/// The ways a stored number is used.
trait Number: Copy {
    fn feature(self) -> f32;
    fn exact(self) -> f64;
    fn label(self) -> String;
}

macro_rules! number {
    ($label:ident: $($t:ty)*) => {$(
        impl Number for $t {
            fn feature(self) -> f32 {
                self as f32
            }
            fn exact(self) -> f64 {
                self as f64
            }
            fn label(self) -> String {
                $label(self)
            }
        }
    )*};
}
number!(whole: u8 u16 u32 u64 i8 i16 i32 i64);
number!(real: f32 f64);

/// All digits.
fn whole(value: impl ToString) -> String {
    value.to_string()
}

fn real(value: impl Into<f64>) -> String {
    number_label(value.into())
}

impl Element {
    /// A type of number, when there is one of that size.
    pub fn new(kind: Kind, bytes: usize, big_endian: bool) -> Option<Self> {
        let known = match kind {
            Kind::Bool => bytes == 1,
            Kind::Unsigned | Kind::Signed => matches!(bytes, 1 | 2 | 4 | 8),
            Kind::Float => matches!(bytes, 4 | 8),
        };
        known.then_some(Self { kind, bytes, big_endian })
    }

    pub fn bytes(self) -> usize {
        self.bytes
    }

    /// Appends the numbers in `raw` to `out`.
    pub fn decode(self, raw: &[u8], out: &mut Vec<f32>) {
        numbers!(self, raw, |v| out.push(v.feature()));
    }

    /// Whether numbers may have more digits than f32.
    pub fn is_wide(self) -> bool {
        self.bytes >= 4 && (self.kind, self.bytes) != (Kind::Float, 4)
    }

    /// As [`decode`](Self::decode), with all their digits.
    pub fn decode_exact(self, raw: &[u8], out: &mut Vec<f64>) {
        numbers!(self, raw, |v| out.push(v.exact()));
    }

    /// Passes the numbers in `raw` on as names of classes.
    pub fn decode_labels(self, raw: &[u8], mut out: impl FnMut(String)) {
        numbers!(self, raw, |v| out(v.label()));
    }
}

/// Records of one size, read some at a time. Nothing is allocated for what has not arrived.
pub(crate) struct Records {
    pub input: Input,
    record_bytes: usize,
    /// Promised by the header, when there is one.
    total: Option<u64>,
    /// Read so far.
    pub done: u64,
    buffer: Vec<u8>,
}

/// Read at once, about; more than a disk or a decompressor needs to be busy.
const CHUNK_BYTES: usize = 1 << 20;

impl Records {
    /// Checks the promised size against the file's.
    pub fn new(input: Input, record_bytes: Option<usize>, total: Option<u64>) -> Result<Self> {
        let path = input.path.clone();
        let too_large = || {
            Error::format(
                &path,
                "header",
                "promises more than the file can hold; it is truncated or not of the format it seems to be",
            )
        };
        let record_bytes = record_bytes.ok_or_else(too_large)?;
        if record_bytes == 0 {
            return Err(Error::format(&path, "header", "the rows have no features"));
        }
        let bytes = (record_bytes as u64).checked_mul(total.unwrap_or(0)).ok_or_else(too_large)?;
        if input.most_bytes.is_some_and(|most| bytes > most) {
            return Err(too_large());
        }
        Ok(Self { input, record_bytes, total, done: 0, buffer: Vec::new() })
    }

    /// How many records there are, when that is known and bounded by the file's size.
    pub fn rows_hint(&self) -> Option<usize> {
        self.input.most_bytes.and(self.total).map(|n| n as usize)
    }

    pub fn path(&self) -> &Path {
        &self.input.path
    }

    /// The next whole records, at most `max`; none at the end of the file.
    pub fn next(&mut self, max: usize) -> Result<&[u8]> {
        let left = self.total.map_or(u64::MAX, |n| n - self.done);
        let wanted = (CHUNK_BYTES / self.record_bytes).max(1).min(max);
        let wanted = (wanted as u64).min(left) as usize;
        self.input.fill(wanted * self.record_bytes, &mut self.buffer)?;
        let got = self.buffer.len() / self.record_bytes;
        let ragged = self.buffer.len() % self.record_bytes;
        self.done += got as u64;
        if got < wanted && (ragged > 0 || self.total.is_some()) {
            let expected = match self.total {
                Some(n) => format!("the header promises {n} rows"),
                None => format!("every record has {} bytes", self.record_bytes),
            };
            return Err(Error::format(
                &self.input.path,
                row_place(self.done),
                format!("the file ends in the middle ({expected}); it is truncated, copy or download it again"),
            ));
        }
        if got == 0 && !self.input.at_end()? {
            return Err(Error::format(
                &self.input.path,
                "",
                format!("the file goes on after the {} rows its header promises", self.done),
            ));
        }
        Ok(&self.buffer)
    }
}

/// Rows one after the other.
pub(crate) struct Contiguous {
    pub records: Records,
    pub element: Element,
    pub width: usize,
    pub labels: Option<Labels>,
}

/// Ends row `i` of the file (from 0), with its label if there are any.
pub(crate) fn end_row(out: &mut Collector, labels: &Option<Labels>, i: u64) -> Result<()> {
    let label = labels.as_ref().map(|l| l.names[l.index[i as usize] as usize].as_str());
    out.end_row(label, None, || row_place(i))
}

impl Reader for Contiguous {
    fn read(&mut self, max: usize, out: &mut Collector) -> Result<usize> {
        let first = self.records.done;
        let bytes = self.records.next(max)?;
        let mut rows = 0;
        for row in bytes.chunks_exact(self.width * self.element.bytes()) {
            self.element.decode(row, &mut out.values);
            if self.element.is_wide() {
                self.element.decode_exact(row, &mut out.exact);
            }
            end_row(out, &self.labels, first + rows)?;
            rows += 1;
        }
        Ok(rows as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_type_and_byte_order() {
        let check = |kind, bytes, big, raw: &[u8], value: f32, label: &str| {
            let element = Element::new(kind, bytes, big).unwrap();
            let (mut out, mut labels) = (vec![], vec![]);
            element.decode(raw, &mut out);
            element.decode_labels(raw, |l| labels.push(l));
            assert_eq!((out, labels), (vec![value], vec![label.to_owned()]), "{element:?}");
        };
        check(Kind::Bool, 1, false, &[3], 1.0, "1");
        check(Kind::Unsigned, 1, false, &[200], 200.0, "200");
        check(Kind::Signed, 1, false, &[200], -56.0, "-56");
        check(Kind::Signed, 2, true, &[0xff, 0xfe], -2.0, "-2");
        check(Kind::Unsigned, 2, false, &[0xfe, 0xff], 65534.0, "65534");
        check(Kind::Signed, 8, false, &(-9_007_199_254_740_993i64).to_le_bytes(), -9.007_199e15, "-9007199254740993");
        check(Kind::Unsigned, 8, true, &7u64.to_be_bytes(), 7.0, "7");
        check(Kind::Signed, 4, true, &5i32.to_be_bytes(), 5.0, "5");
        check(Kind::Unsigned, 4, true, &5u32.to_be_bytes(), 5.0, "5");
        check(Kind::Float, 4, true, &1.5f32.to_be_bytes(), 1.5, "1.5");
        check(Kind::Float, 8, false, &2.0f64.to_le_bytes(), 2.0, "2");
        assert_eq!(Element::new(Kind::Float, 2, false), None);
    }
}
