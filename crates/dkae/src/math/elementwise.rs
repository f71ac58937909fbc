//! Passes over slices of numbers: activations, their slopes, Adam.
//!
//! Each loop is written once, in plain code that the compiler vectorises for several instruction sets
//! (math/dispatch.rs).

use super::dispatch::dispatched;

/// `e^x` to two units in the last place, for `x` in the range where the result is a normal number; clamped outside.
///
/// `x = n ln 2 + r` with `|r| <= ln 2 / 2`; `e^r` by its Taylor polynomial of degree 7, `2^n` by the exponent bits.
#[inline(always)]
#[allow(clippy::excessive_precision)] // ln 2 in parts, to the last digit.
fn exp(x: f32) -> f32 {
    // Adding and subtracting 1.5 * 2^23 rounds to the nearest whole number, and vectorises everywhere.
    const ROUND: f32 = 12_582_912.0;
    // ln 2 in two parts, so that n ln 2 is subtracted exactly.
    const LN2_HIGH: f32 = 0.693_359_375;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let x = x.clamp(-87.0, 88.0);
    let n = (x * std::f32::consts::LOG2_E + ROUND) - ROUND;
    let r = (x - n * LN2_HIGH) - n * LN2_LOW;
    let mut p = 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    p * f32::from_bits(((n as i32 + 127) << 23) as u32)
}

/// Near zero, where `1 - 2 / (e^2x + 1)` would cancel, by the odd polynomial of the Cephes library (Moshier).
#[inline(always)]
#[allow(clippy::excessive_precision)] // The coefficients as published.
fn tanh(x: f32) -> f32 {
    let z = x * x;
    let mut p = -5.704_988_6e-3;
    p = p * z + 2.063_908_9e-2;
    p = p * z - 5.373_971_6e-2;
    p = p * z + 1.333_144_2e-1;
    p = p * z - 3.333_328_2e-1;
    let small = x + x * z * p;
    let large = 1.0 - 2.0 / (exp(2.0 * x) + 1.0);
    if x.abs() < 0.625 { small } else { large }
}

dispatched! {
    /// `z = z + bias`.
    pub fn add(z: &mut [f32], bias: f32) {
        for z in z {
            *z += bias;
        }
    }
}

dispatched! {
    /// `z = a + b`.
    pub fn sum(z: &mut [f32], a: &[f32], b: &[f32]) {
        for ((z, a), b) in z.iter_mut().zip(a).zip(b) {
            *z = a + b;
        }
    }
}

dispatched! {
    /// `z = 1 / (1 + e^-(z + bias))`.
    pub fn add_sigmoid(z: &mut [f32], bias: f32) {
        for z in z {
            *z = 1.0 / (1.0 + exp(-(*z + bias)));
        }
    }
}

dispatched! {
    /// `z = tanh(z + bias)`.
    pub fn add_tanh(z: &mut [f32], bias: f32) {
        for z in z {
            *z = tanh(*z + bias);
        }
    }
}

dispatched! {
    /// `z = max(z + bias, 0)`. What is not a number stays so: a unit that diverged must not pass for a silent one.
    pub fn add_relu(z: &mut [f32], bias: f32) {
        for z in z {
            let sum = *z + bias;
            *z = if sum <= 0.0 { 0.0 } else { sum };
        }
    }
}

dispatched! {
    /// `delta = delta h (1 - h)`: back through a sigmoid whose output was `h`.
    pub fn slope_sigmoid(delta: &mut [f32], h: &[f32]) {
        for (d, h) in delta.iter_mut().zip(h) {
            *d *= h * (1.0 - h);
        }
    }
}

dispatched! {
    /// `delta = delta (1 - h^2)`: back through a tanh whose output was `h`.
    pub fn slope_tanh(delta: &mut [f32], h: &[f32]) {
        for (d, h) in delta.iter_mut().zip(h) {
            *d *= 1.0 - h * h;
        }
    }
}

dispatched! {
    /// `delta = delta [h > 0]`: back through a rectifier whose output was `h`.
    pub fn slope_relu(delta: &mut [f32], h: &[f32]) {
        for (d, h) in delta.iter_mut().zip(h) {
            *d = if *h > 0.0 { *d } else { 0.0 };
        }
    }
}

dispatched! {
    /// `d = e^(factor d)`; zero where that is less than `e^-87`, the smallest of the normal numbers.
    pub fn exp_of_multiple(values: &mut [f32], factor: f32) {
        for d in values {
            let x = *d * factor;
            *d = if x < -87.0 { 0.0 } else { exp(x) };
        }
    }
}

/// What one Adam step does to every weight alike; see `train::adam` for the formula.
#[derive(Clone, Copy, Debug)]
pub struct AdamStep {
    /// Decay of the mean of gradients.
    pub beta1: f32,
    /// Decay of the mean of squared gradients.
    pub beta2: f32,
    /// `rate / (1 - beta1^t)`.
    pub rate: f32,
    /// `1 / sqrt(1 - beta2^t)`.
    pub root: f32,
    /// Added to the root, so that nothing is divided by zero.
    pub epsilon: f32,
    /// What gradients are multiplied with first (clipping).
    pub shrink: f32,
    /// What weights are multiplied with first (weight decay).
    pub keep: f32,
}

dispatched! {
    /// One Adam step for a slice of weights `w` with gradient `g` and moments `m`, `v`.
    pub fn adam(step: &AdamStep, w: &mut [f32], g: &[f32], m: &mut [f32], v: &mut [f32]) {
        let AdamStep { beta1, beta2, rate, root, epsilon, shrink, keep } = *step;
        for (((w, g), m), v) in w.iter_mut().zip(g).zip(m).zip(v) {
            let g = g * shrink;
            *m = beta1 * *m + (1.0 - beta1) * g;
            *v = beta2 * *v + (1.0 - beta2) * g * g;
            *w = keep * *w - rate * *m / (v.sqrt() * root + epsilon);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Vec<f32> {
        (-4000..=4000).map(|i| i as f32 * 0.02).chain([1e-6, -1e-6, 0.0, 0.625, -0.62499]).collect()
    }

    #[test]
    fn activations_agree_with_f64_to_a_few_units_in_the_last_place() {
        for (fast, exact) in [
            (add_sigmoid as fn(&mut [f32], f32), (|x| 1.0 / (1.0 + (-x).exp())) as fn(f64) -> f64),
            (add_tanh, f64::tanh),
        ] {
            let mut z = grid();
            fast(&mut z, 0.25);
            for (x, y) in grid().into_iter().zip(z) {
                let want = exact(f64::from(x + 0.25));
                assert!((f64::from(y) - want).abs() <= 4e-7 * want.abs() + 1e-37, "{x}: {y} {want}");
            }
        }
    }

    #[test]
    fn rectified_numbers_are_positive_zero_or_not_a_number() {
        let mut z = [-2.0, -0.5, 0.0, 1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
        add_relu(&mut z, 0.5);
        assert_eq!(z[..6], [0.0, 0.0, 0.5, 1.5, f32::INFINITY, 0.0]);
        assert!(z[6].is_nan());
    }

    #[test]
    fn powers_of_e_agree_with_f64_and_end_in_zero() {
        let mut d: Vec<f32> = (0..4000).map(|i| i as f32 * 0.05).collect();
        let of = d.clone();
        exp_of_multiple(&mut d, -0.5);
        for (x, y) in of.into_iter().zip(d) {
            let want = (-0.5 * f64::from(x)).exp();
            let want = if 0.5 * x > 87.0 { 0.0 } else { want };
            assert!((f64::from(y) - want).abs() <= 3e-7 * want, "{x}: {y} {want}");
        }
        let mut ends = [0.0, f32::MAX, f32::INFINITY];
        exp_of_multiple(&mut ends, -1.0);
        assert_eq!(ends, [1.0, 0.0, 0.0]);
    }

    #[test]
    fn exp_is_finite_at_the_ends() {
        assert!(exp(1000.0).is_finite() && exp(-1000.0) > 0.0);
        assert!((f64::from(exp(1.0)) - std::f64::consts::E).abs() < 5e-7);
    }
}
