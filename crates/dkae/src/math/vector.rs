//! Inner loops over plain slices, compiled for several instruction sets (math/dispatch.rs).
//!
//! Every loop keeps a fixed number of partial results ("lanes") and joins them in a fixed order, and none uses fused
//! multiply-add. So the compiler can vectorise it for any width, and the result is the same, bit for bit, on every
//! machine.

use super::dispatch::dispatched;

/// Partial results per loop: four AVX-512 registers of f64, enough to hide the latency of an addition.
const LANES: usize = 32;

dispatched! {
    /// The inner product of a row and a vector, summed in f64. Panics if their lengths differ.
    pub fn dot(x: &[f32], w: &[f64]) -> f64 {
        dot_body(x, w)
    }
}

#[inline(always)]
fn dot_body(x: &[f32], w: &[f64]) -> f64 {
    assert_eq!(x.len(), w.len(), "lengths of the factors");
    let mut sums = [0.0f64; LANES];
    let (xs, ws) = (x.chunks_exact(LANES), w.chunks_exact(LANES));
    let rest: f64 = xs.remainder().iter().zip(ws.remainder()).map(|(&x, &w)| f64::from(x) * w).sum();
    for (x, w) in xs.zip(ws) {
        for l in 0..LANES {
            sums[l] += f64::from(x[l]) * w[l];
        }
    }
    total(&sums) + rest
}

dispatched! {
    /// The squared norm of a row, summed in f64.
    pub fn squared_norm(x: &[f32]) -> f64 {
        squared_norm_body(x)
    }
}

#[inline(always)]
fn squared_norm_body(x: &[f32]) -> f64 {
    let mut sums = [0.0f64; LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for (sum, &v) in sums.iter_mut().zip(chunk) {
            *sum += f64::from(v) * f64::from(v);
        }
    }
    total(&sums) + rest.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>()
}

dispatched! {
    /// The inner product of two rows in f32: for what only steers.
    pub fn dot_f32(x: &[f32], w: &[f32]) -> f32 {
        dot_f32_body(x, w)
    }
}

#[inline(always)]
fn dot_f32_body(x: &[f32], w: &[f32]) -> f32 {
    const LANES: usize = 64;
    assert_eq!(x.len(), w.len(), "lengths of the factors");
    let mut sums = [0.0f32; LANES];
    let (xs, ws) = (x.chunks_exact(LANES), w.chunks_exact(LANES));
    let rest: f32 = xs.remainder().iter().zip(ws.remainder()).map(|(&x, &w)| x * w).sum();
    for (x, w) in xs.zip(ws) {
        for l in 0..LANES {
            sums[l] += x[l] * w[l];
        }
    }
    // By halves, which stays vectorised and rounds less than one long sum.
    let mut width = LANES / 2;
    while width > 0 {
        for l in 0..width {
            sums[l] += sums[l + width];
        }
        width /= 2;
    }
    sums[0] + rest
}

dispatched! {
    /// `w += a x`. Panics if the lengths differ.
    pub fn add_scaled(a: f64, x: &[f32], w: &mut [f64]) {
        add_scaled_body(a, x, w)
    }
}

#[inline(always)]
fn add_scaled_body(a: f64, x: &[f32], w: &mut [f64]) {
    assert_eq!(x.len(), w.len(), "lengths of the rows");
    for (w, &x) in w.iter_mut().zip(x) {
        *w += a * f64::from(x);
    }
}

dispatched! {
    /// As [`add_scaled`], in f32.
    pub fn add_scaled_f32(a: f32, x: &[f32], w: &mut [f32]) {
        add_scaled_f32_body(a, x, w)
    }
}

#[inline(always)]
fn add_scaled_f32_body(a: f32, x: &[f32], w: &mut [f32]) {
    assert_eq!(x.len(), w.len(), "lengths of the rows");
    for (w, &x) in w.iter_mut().zip(x) {
        *w += a * x;
    }
}

dispatched! {
    /// The squared distance of two rows, differences and sum in f64. Panics if the lengths differ.
    pub fn squared_distance(a: &[f32], b: &[f32]) -> f64 {
        squared_distance_body(a, b)
    }
}

#[inline(always)]
fn squared_distance_body(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len(), "lengths of the rows");
    let mut sums = [0.0f64; LANES];
    let (xs, ys) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let square = |a: f32, b: f32| (f64::from(a) - f64::from(b)) * (f64::from(a) - f64::from(b));
    let rest: f64 = xs.remainder().iter().zip(ys.remainder()).map(|(&a, &b)| square(a, b)).sum();
    for (a, b) in xs.zip(ys) {
        for l in 0..LANES {
            sums[l] += square(a[l], b[l]);
        }
    }
    total(&sums) + rest
}

dispatched! {
    /// `[a.b, a.a, b.b]`, summed in f64. Panics if the lengths differ.
    pub fn moments(a: &[f32], b: &[f32]) -> [f64; 3] {
        moments_body(a, b)
    }
}

#[inline(always)]
fn moments_body(a: &[f32], b: &[f32]) -> [f64; 3] {
    const LANES: usize = 16;
    assert_eq!(a.len(), b.len(), "lengths of the rows");
    let (mut ab, mut aa, mut bb) = ([0.0f64; LANES], [0.0f64; LANES], [0.0f64; LANES]);
    let (xs, ys) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let mut rest = [0.0; 3];
    for (&x, &y) in xs.remainder().iter().zip(ys.remainder()) {
        let (x, y) = (f64::from(x), f64::from(y));
        rest[0] += x * y;
        rest[1] += x * x;
        rest[2] += y * y;
    }
    for (x, y) in xs.zip(ys) {
        for l in 0..LANES {
            let (x, y) = (f64::from(x[l]), f64::from(y[l]));
            ab[l] += x * y;
            aa[l] += x * x;
            bb[l] += y * y;
        }
    }
    [rest[0] + total(&ab), rest[1] + total(&aa), rest[2] + total(&bb)]
}

#[inline(always)]
fn total<const N: usize>(sums: &[f64; N]) -> f64 {
    sums.iter().sum()
}

/// Asks for a row that will be read soon, so that it is in cache by then: for rows visited in random order.
#[allow(unsafe_code)]
pub fn prefetch(row: &[f32]) {
    #[cfg(target_arch = "x86_64")]
    for line in row.chunks(16) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint and never faults; the address is that of a live slice anyway.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = row;
}

/// Where a largest value was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Best {
    /// The largest value; minus infinity when there was none to choose from.
    pub value: f64,
    /// Its place, the first of equals.
    pub index: usize,
}

impl Best {
    /// Nothing found yet.
    pub const NONE: Best = Best { value: f64::NEG_INFINITY, index: usize::MAX };

    /// The better of two; the earlier place when they are equal.
    pub fn or(self, other: Best) -> Best {
        if other.value > self.value || (other.value == self.value && other.index < self.index) { other } else { self }
    }
}

/// Lanes of a search for a largest value: two AVX-512 registers.
const SEARCH: usize = 16;

struct Search {
    value: [f64; SEARCH],
    index: [u64; SEARCH],
}

impl Search {
    #[inline(always)]
    fn new() -> Self {
        Search { value: [f64::NEG_INFINITY; SEARCH], index: [u64::MAX; SEARCH] }
    }

    #[inline(always)]
    fn offer(&mut self, lane: usize, value: f64, index: u64) {
        let better = value > self.value[lane];
        self.value[lane] = if better { value } else { self.value[lane] };
        self.index[lane] = if better { index } else { self.index[lane] };
    }

    #[inline(always)]
    fn best(&self) -> Best {
        let each = |l: usize| Best { value: self.value[l], index: self.index[l] as usize };
        (0..SEARCH).map(each).filter(|b| b.index != u64::MAX as usize).fold(Best::NONE, Best::or)
    }
}

dispatched! {
    /// `v -= delta (p - q)`, and the largest of `v + bar` after it. `bar` is 0 where an entry may be chosen and minus
    /// infinity elsewhere. Panics if the lengths differ.
    pub fn descend_and_search(delta: f64, p: &[f32], q: &[f32], bar: &[f64], v: &mut [f64]) -> Best {
        descend_and_search_body(delta, p, q, bar, v)
    }
}

#[inline(always)]
fn descend_and_search_body(delta: f64, p: &[f32], q: &[f32], bar: &[f64], v: &mut [f64]) -> Best {
    let n = v.len();
    assert!(p.len() == n && q.len() == n && bar.len() == n, "lengths of the rows");
    let mut search = Search::new();
    let whole = n / SEARCH * SEARCH;
    let mut at = 0;
    while at < whole {
        let (p, q, bar) = (&p[at..at + SEARCH], &q[at..at + SEARCH], &bar[at..at + SEARCH]);
        let v = &mut v[at..at + SEARCH];
        for l in 0..SEARCH {
            v[l] -= delta * (f64::from(p[l]) - f64::from(q[l]));
            search.offer(l, v[l] + bar[l], (at + l) as u64);
        }
        at += SEARCH;
    }
    for t in whole..n {
        v[t] -= delta * (f64::from(p[t]) - f64::from(q[t]));
        search.offer(t - whole, v[t] + bar[t], t as u64);
    }
    search.best()
}

/// What the search for the second index of a working set needs to know about the first.
#[derive(Clone, Copy, Debug)]
pub struct First {
    /// Its value `v_i`.
    pub value: f64,
    /// Its own kernel value `K_ii`.
    pub diagonal: f64,
    /// What replaces a curvature that is not positive.
    pub tiny: f64,
}

dispatched! {
    /// The entry with the largest gain `(v_i - v_j)^2 / (K_ii + K_jj - 2 K_ij)` among those with `v_j + bar_j < v_i`
    /// (`bar` is 0 where an entry may be chosen and plus infinity elsewhere), and the smallest `v_j + bar_j`.
    /// Panics if the lengths differ.
    pub fn search_second(first: First, row: &[f32], diagonal: &[f32], bar: &[f64], v: &[f64]) -> (Best, f64) {
        search_second_body(first, row, diagonal, bar, v)
    }
}

#[inline(always)]
fn search_second_body(first: First, row: &[f32], diagonal: &[f32], bar: &[f64], v: &[f64]) -> (Best, f64) {
    let n = v.len();
    assert!(row.len() == n && diagonal.len() == n && bar.len() == n, "lengths of the rows");
    let mut search = Search::new();
    let mut least = [f64::INFINITY; SEARCH];
    let gain = |t: usize, row: f32, diagonal: f32, value: f64| {
        let slope = first.value - value;
        let curvature = first.diagonal + f64::from(diagonal) - 2.0 * f64::from(row);
        let curvature = if curvature > 0.0 { curvature } else { first.tiny };
        let gain = slope * slope / curvature;
        // A barred entry has slope minus infinity and falls out with those that point the wrong way.
        (if slope > 0.0 { gain } else { f64::NEG_INFINITY }, t as u64)
    };
    let whole = n / SEARCH * SEARCH;
    let mut at = 0;
    while at < whole {
        let (row, diagonal) = (&row[at..at + SEARCH], &diagonal[at..at + SEARCH]);
        let (bar, v) = (&bar[at..at + SEARCH], &v[at..at + SEARCH]);
        for l in 0..SEARCH {
            let value = v[l] + bar[l];
            least[l] = if value < least[l] { value } else { least[l] };
            let (gain, t) = gain(at + l, row[l], diagonal[l], value);
            search.offer(l, gain, t);
        }
        at += SEARCH;
    }
    for t in whole..n {
        let value = v[t] + bar[t];
        least[t - whole] = least[t - whole].min(value);
        let (gain, t) = gain(t, row[t], diagonal[t], value);
        search.offer(t as usize - whole, gain, t);
    }
    (search.best(), least.into_iter().fold(f64::INFINITY, f64::min))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::rng;
    use rand::RngExt;

    /// Lengths around every lane count, so that remainders are met.
    const LENGTHS: [usize; 8] = [0, 1, 15, 16, 17, 33, 100, 517];

    fn row(n: usize, seed: u64) -> Vec<f32> {
        let mut rng = rng::stream(seed, rng::Purpose::Demo, n as u64, 0);
        (0..n).map(|_| rng.random::<f32>() - 0.5).collect()
    }

    fn vector(n: usize, seed: u64) -> Vec<f64> {
        row(n, seed).into_iter().map(f64::from).collect()
    }

    #[test]
    fn sums_agree_with_the_definition_at_every_length() {
        for n in LENGTHS {
            let (x, y, w) = (row(n, 1), row(n, 2), vector(n, 3));
            // Rounding grows with the number of terms.
            let close = 1e-14 * (n + 1) as f64;
            let sum = |f: &dyn Fn(usize) -> f64| (0..n).map(f).sum::<f64>();
            let (a, b) = (|i: usize| f64::from(x[i]), |i: usize| f64::from(y[i]));
            assert!((dot(&x, &w) - sum(&|i| a(i) * w[i])).abs() < close);
            assert!((squared_distance(&x, &y) - sum(&|i| (a(i) - b(i)).powi(2))).abs() < close);
            let want = [sum(&|i| a(i) * b(i)), sum(&|i| a(i) * a(i)), sum(&|i| b(i) * b(i))];
            assert!((squared_norm(&x) - want[1]).abs() < close);
            assert!(moments(&x, &y).iter().zip(want).all(|(g, w)| (g - w).abs() < close));
            let mut got = w.clone();
            add_scaled(0.3, &x, &mut got);
            assert!((0..n).all(|i| got[i] == w[i] + 0.3 * a(i)));

            assert!((f64::from(dot_f32(&x, &y)) - want[0]).abs() < 1e-6 * (n + 1) as f64);
            let mut got = y.clone();
            add_scaled_f32(0.3, &x, &mut got);
            assert!((0..n).all(|i| got[i] == y[i] + 0.3 * x[i]));
        }
    }

    #[test]
    fn every_compiled_copy_gives_the_same_bits() {
        let (x, w) = (row(517, 1), vector(517, 3));
        assert_eq!(dot(&x, &w).to_bits(), dot_body(&x, &w).to_bits());
        assert_eq!(squared_norm(&x).to_bits(), squared_norm_body(&x).to_bits());
        let (mut v, mut u) = (vector(517, 4), vector(517, 4));
        let bar = vec![0.0; 517];
        let y = row(517, 2);
        assert_eq!(descend_and_search(0.7, &x, &y, &bar, &mut v), descend_and_search_body(0.7, &x, &y, &bar, &mut u));
        assert_eq!(v, u);
    }

    #[test]
    fn searches_find_what_a_plain_loop_finds() {
        for n in LENGTHS {
            let (p, q, diagonal) = (row(n, 1), row(n, 2), row(n, 5));
            let mut v = vector(n, 3);
            let barred: Vec<bool> = vector(n, 4).iter().map(|&x| x > 0.2).collect();
            let bar = |value: f64| -> Vec<f64> { barred.iter().map(|&b| if b { value } else { 0.0 }).collect() };
            let stepped: Vec<f64> = (0..n).map(|i| v[i] - 0.4 * (f64::from(p[i]) - f64::from(q[i]))).collect();
            let got = descend_and_search(0.4, &p, &q, &bar(f64::NEG_INFINITY), &mut v);
            assert_eq!(v, stepped);
            let mut want = Best::NONE;
            for i in (0..n).filter(|&i| !barred[i]) {
                want = if v[i] > want.value { Best { value: v[i], index: i } } else { want };
            }
            assert_eq!(got, want, "{n}");

            let first = First { value: 0.1, diagonal: 1.0, tiny: 1e-12 };
            let (got, least) = search_second(first, &p, &diagonal, &bar(f64::INFINITY), &v);
            let mut want = Best::NONE;
            for i in (0..n).filter(|&i| !barred[i] && v[i] < 0.1) {
                let curvature = 1.0 + f64::from(diagonal[i]) - 2.0 * f64::from(p[i]);
                let gain = (0.1 - v[i]).powi(2) / if curvature > 0.0 { curvature } else { 1e-12 };
                want = if gain > want.value { Best { value: gain, index: i } } else { want };
            }
            assert_eq!(got, want, "{n}");
            let smallest = (0..n).filter(|&i| !barred[i]).map(|i| v[i]).fold(f64::INFINITY, f64::min);
            assert_eq!(least, smallest);
        }
    }
}
