//! Where an axis has its ticks, and how they are written.
//!
//! A linear axis steps by 1, 2 or 5 times a power of ten, the step nearest to (range / wanted) (Heckbert, "Nice Numbers
//! for Graph Labels", Graphics Gems, 1990). A logarithmic axis has its decades, and 2 and 5 within them while there is
//! room.

/// Ticks of a linear axis that lie within `lo..=hi`, about `wanted` of them, rising. Empty unless both ends are finite
/// and `lo < hi`.
pub fn linear(lo: f64, hi: f64, wanted: usize) -> Vec<f64> {
    if !(lo.is_finite() && hi.is_finite() && lo < hi && (hi - lo).is_finite()) {
        return Vec::new();
    }
    let rough = (hi - lo) / wanted.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let lead = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .min_by(|a, b| (rough / power / a).ln().abs().total_cmp(&(rough / power / b).ln().abs()))
        .unwrap_or(1.0);
    let step = lead * power;
    // A range of a few floats, or one far from zero next to its width, has no such steps.
    if !step.is_normal() || (lo.abs().max(hi.abs()) / step) > 1e12 {
        return vec![lo, hi];
    }
    // A relative slack of 1e-9 steps, so that an end that should be a tick is one in spite of rounding.
    let (first, last) = ((lo / step - 1e-9).ceil() as i64, (hi / step + 1e-9).floor() as i64);
    // Dividing by the exact power of ten gives 0.3 where multiplying by 0.1 would give 0.30000000000000004.
    let places = -step.log10().floor();
    let tick = |i: i64| {
        if places > 0.0 {
            (i as f64 * step * 10f64.powf(places)).round() / 10f64.powf(places)
        } else {
            (i as f64 * step).round()
        }
    };
    (first..=last).map(tick).collect()
}

/// Ticks of a logarithmic axis within `lo..=hi` (both positive), at most about `wanted`, rising.
pub fn logarithmic(lo: f64, hi: f64, wanted: usize) -> Vec<f64> {
    if !(lo > 0.0 && lo < hi && hi.is_finite()) {
        return Vec::new();
    }
    let decades = lo.log10().floor() as i32..=hi.log10().ceil() as i32;
    let within = |leads: &[u32], every: i32| -> Vec<f64> {
        let all = decades.clone().filter(|d| d.rem_euclid(every) == 0);
        // Parsing gives the double nearest to the decimal number; powi would be a bit off.
        let all = all.flat_map(|d| leads.iter().filter_map(move |l| format!("{l}e{d}").parse().ok()));
        all.filter(|&t: &f64| t >= lo * (1.0 - 1e-9) && t <= hi * (1.0 + 1e-9)).collect()
    };
    let fine = within(&[1, 2, 5], 1);
    if fine.len() < 3 {
        // Less than a decade: a linear axis's ticks serve better.
        return linear(lo, hi, wanted);
    }
    if fine.len() <= wanted {
        return fine;
    }
    (1..).map(|every| within(&[1], every)).find(|t| t.len() <= wanted.max(2)).unwrap_or_default()
}

/// The ticks as text, all with the same number of decimals unless `log`. Very large and very small numbers are
/// written as powers of ten; minus is the proper sign, U+2212.
pub fn labels(ticks: &[f64], log: bool) -> Vec<String> {
    let largest = ticks.iter().fold(0.0f64, |m, t| m.max(t.abs()));
    let smallest = ticks.iter().filter(|t| **t != 0.0).fold(f64::INFINITY, |m, t| m.min(t.abs()));
    let scientific = largest >= 1e6 || (log && smallest < 1e-3) || largest < 1e-4;
    if scientific {
        return ticks.iter().map(|&t| power_of_ten(t)).collect();
    }
    let decimals = |t: f64| (0..12).find(|&d| (t - format!("{t:.d$}").parse().unwrap_or(t)).abs() <= 1e-9 * t.abs());
    let most = ticks.iter().filter_map(|&t| decimals(t)).max().unwrap_or(0);
    // On a log axis 0.01 and 100 stand side by side; each has the decimals it needs.
    let write = |t: f64| format!("{t:.*}", if log { decimals(t).unwrap_or(0) } else { most });
    ticks.iter().map(|&t| minus(&write(t))).collect()
}

fn minus(text: &str) -> String {
    text.replace('-', "\u{2212}")
}

/// 10³, 2·10⁻⁴, 0.
fn power_of_ten(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let text = format!("{value:e}");
    let (lead, power) = text.split_once('e').unwrap_or((&text, "0"));
    let raise = |c: char| match c {
        '-' => '⁻',
        '0' => '⁰',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4'..='9' => char::from_u32('⁴' as u32 + (c as u32 - '4' as u32)).unwrap_or(c),
        other => other,
    };
    let raised: String = power.chars().map(raise).collect();
    match lead {
        "1" => format!("10{raised}"),
        "-1" => format!("\u{2212}10{raised}"),
        _ => format!("{}·10{raised}", minus(lead)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_ticks_are_the_numbers_a_person_would_choose() {
        assert_eq!(linear(0.0, 1.0, 5), [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]);
        assert_eq!(linear(0.07, 0.41, 4), [0.1, 0.2, 0.3, 0.4]);
        assert_eq!(linear(-3.0, 12.0, 3), [0.0, 5.0, 10.0]);
        assert_eq!(linear(0.0, 4900.0, 5), [0.0, 1000.0, 2000.0, 3000.0, 4000.0]);
        assert_eq!(linear(1.0e-7, 3.0e-7, 2), [1e-7, 2e-7, 3e-7]);
    }

    #[test]
    fn linear_ticks_lie_inside_are_even_and_about_as_many_as_wanted() {
        let mut seed = 1u64;
        for _ in 0..2000 {
            let mut next = || {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (seed >> 33) as f64 / 2f64.powi(31)
            };
            let width = 10f64.powf(next() * 12.0 - 6.0);
            let lo = (next() - 0.5) * 20.0 * width;
            let ticks = linear(lo, lo + width, 5);
            assert!((3..=8).contains(&ticks.len()), "{lo} {width} {ticks:?}");
            assert!(ticks.iter().all(|t| *t >= lo - 1e-6 * width && *t <= lo + width * (1.0 + 1e-6)));
            let step = ticks[1] - ticks[0];
            assert!(ticks.windows(2).all(|w| ((w[1] - w[0]) / step - 1.0).abs() < 1e-6), "{ticks:?}");
            let lead = step / 10f64.powf((step * 1.000_001).log10().floor());
            assert!([1.0, 2.0, 5.0].iter().any(|n| (lead - n).abs() < 1e-5), "step {step}");
        }
    }

    #[test]
    fn odd_ranges_give_no_ticks_and_no_panic() {
        for (lo, hi) in [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY), (-f64::MAX, f64::MAX)] {
            assert!(linear(lo, hi, 5).is_empty());
        }
        assert_eq!(linear(1.0, 1.0 + f64::EPSILON, 5).len(), 2);
        assert!(!linear(0.0, 1e-310, 5).is_empty());
        assert!(logarithmic(0.0, 1.0, 5).is_empty() && logarithmic(-1.0, 1.0, 5).is_empty());
    }

    #[test]
    fn logarithmic_ticks_are_decades_or_finer() {
        assert_eq!(logarithmic(0.5, 2000.0, 6), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(logarithmic(0.009, 0.11, 6), [0.01, 0.02, 0.05, 0.1]);
        assert_eq!(logarithmic(1e-12, 1.0, 5), [1e-12, 1e-9, 1e-6, 1e-3, 1.0]);
        assert_eq!(logarithmic(0.2, 0.4, 4), [0.2, 0.25, 0.3, 0.35, 0.4]);
    }

    #[test]
    fn labels_are_short_and_alike() {
        assert_eq!(labels(&[0.0, 0.5, 1.0], false), ["0.0", "0.5", "1.0"]);
        assert_eq!(labels(&[-10.0, 0.0, 10.0], false), ["−10", "0", "10"]);
        assert_eq!(labels(&[0.01, 1.0, 100.0], true), ["0.01", "1", "100"]);
        assert_eq!(labels(&[1e-5, 2e-4, 1.0], true), ["10⁻⁵", "2·10⁻⁴", "10⁰"]);
        assert_eq!(labels(&[0.0, 2e6, 4e6], false), ["0", "2·10⁶", "4·10⁶"]);
    }
}
