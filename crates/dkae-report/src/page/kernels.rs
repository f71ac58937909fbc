//! The prior kernel beside the kernel of the codes, and the rows where they differ most.
//!
//! A row's alignment is the cosine between its row of P and its row of C, over the rows on the page; a row with a low
//! one has other neighbours among the codes than the prior gives it.

use dkae::kernel::Prior;
use dkae::math::{gemm, threads};
use dkae::metrics::{alignment, code_loss};
use dkae::progress::Progress;
use ndarray::{Array2, ArrayView1, ArrayView2, Axis, s};
use serde::Serialize;

use super::Report;
use super::pack::{Packed, level, range};
use crate::Result;
use crate::kernel::{self, Matrix, groups};

/// Rows of both kernels that are compared at a time.
const BLOCK: usize = 128;
/// The share of entries beyond each end of the colour scale.
const CLIP: f64 = 0.005;

/// Which group each row belongs to: classes, or clusters where there are no classes.
pub(super) struct Groups {
    pub of: Vec<usize>,
    pub names: Vec<String>,
}

/// Both kernels.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Kernels {
    /// The rows, as places among the rows on the page, in the order shown.
    pub rows: Vec<usize>,
    /// Groups in order: name and rows.
    pub groups: Vec<(String, usize)>,
    /// Lower triangles with the diagonal, in 16 bits between the ends.
    pub prior: Triangle,
    pub codes: Triangle,
    /// The colour scale: entries divided by their root mean square.
    pub scale: (f64, f64),
    /// The alignment of both on the rows shown, and the code loss.
    pub alignment: f64,
    pub loss: f64,
    /// A sheet with the rows in that order by the same features, so that they can be compared; pictures need none.
    pub sheet: Option<usize>,
    #[serde(skip)]
    pub still: String,
}

/// A symmetric matrix.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Triangle {
    low: f64,
    high: f64,
    /// Root mean square of all entries.
    rms: f64,
    values: Packed,
}

impl Triangle {
    fn new(matrix: ArrayView2<f32>) -> Triangle {
        let (low, high) = range(matrix.iter().map(|&v| f64::from(v)));
        let rms = (matrix.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>() / matrix.len() as f64).sqrt();
        let lower = matrix.rows().into_iter().enumerate();
        let lower = lower.flat_map(|(i, row)| row.iter().take(i + 1).map(|&v| f64::from(v)).collect::<Vec<_>>());
        Triangle { low, high, rms, values: Packed::u16s(lower.map(|v| level(v, low, high))) }
    }
}

/// A row whose kernels differ, and the rows most like it by each; places among the rows on the page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Misaligned {
    pub row: usize,
    pub alignment: f64,
    pub by_prior: usize,
    pub by_codes: usize,
}

impl Report {
    /// Both kernels of some of the rows, spread evenly, sorted by group.
    pub(super) fn kernels(&self, prior: &dyn Prior, codes: ArrayView2<f32>, by: &Groups) -> Result<Kernels> {
        let n = codes.nrows();
        let shown = n.min(self.kernel_rows);
        let mut order: Vec<usize> = (0..shown).map(|i| i * n / shown).collect();
        order.sort_by_key(|&i| by.of[i]);
        let (mut p, mut c) = (Array2::zeros((shown, shown)), Array2::zeros((shown, shown)));
        prior.block(&order, &order, p.view_mut());
        let chosen = codes.select(Axis(0), &order);
        threads::run(|| gemm::product(1.0, chosen.view(), chosen.t(), 0.0, c.view_mut()));

        let labels: Vec<usize> = order.iter().map(|&i| by.of[i]).collect();
        let runs = groups(&labels, &by.names)?;
        let settings = kernel::Kernels { normalise: true, unit: "entry / RMS".into(), ..kernel::Kernels::default() };
        let both =
            [Matrix { title: "prior kernel P", values: p.view() }, Matrix { title: "code kernel C", values: c.view() }];
        let still = settings.draw(&both, &runs)?.svg().to_owned();
        let (prior, codes) = (Triangle::new(p.view()), Triangle::new(c.view()));
        let mut all: Vec<f64> = [(&p, prior.rms), (&c, codes.rms)]
            .into_iter()
            .flat_map(|(m, rms)| m.iter().map(move |&v| f64::from(v) / rms.max(f64::MIN_POSITIVE)))
            .collect();
        all.sort_by(f64::total_cmp);
        let cut = (CLIP * (all.len() - 1) as f64) as usize;
        let (low, high) = (all[cut].min(0.0), all[all.len() - 1 - cut]);
        let alignment = alignment(p.view(), c.view())?;
        Ok(Kernels {
            rows: order,
            groups: runs.into_iter().map(|run| (run.name, run.rows)).collect(),
            prior,
            codes,
            scale: (low, high.max(low + 1e-9)),
            alignment,
            loss: code_loss(alignment),
            sheet: None,
            still,
        })
    }
}

/// The `count` least aligned rows.
pub(super) fn misaligned(
    prior: &dyn Prior,
    codes: ArrayView2<f32>,
    count: usize,
    progress: &dyn Progress,
) -> Result<Vec<Misaligned>> {
    let n = codes.nrows();
    let all: Vec<usize> = (0..n).collect();
    let length = |code: ArrayView1<f32>| code.iter().map(|v| v * v).sum::<f32>().sqrt();
    let lengths: Vec<f32> = codes.rows().into_iter().map(length).collect();
    let mut found = Vec::with_capacity(n);
    for rows in all.chunks(BLOCK) {
        if progress.stop() {
            return Err(dkae::Error::Interrupted.into());
        }
        let (mut p, mut c) = (Array2::zeros((rows.len(), n)), Array2::zeros((rows.len(), n)));
        prior.block(rows, &all, p.view_mut());
        let own = codes.slice(s![rows[0]..rows[0] + rows.len(), ..]);
        threads::run(|| gemm::product(1.0, own, codes.t(), 0.0, c.view_mut()));
        for (&row, (p, c)) in rows.iter().zip(p.rows().into_iter().zip(c.rows())) {
            let dot = |a: ArrayView1<f32>, b: ArrayView1<f32>| {
                a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>()
            };
            let norm = dot(p, p).sqrt() * dot(c, c).sqrt();
            let alignment = if norm > 0.0 { dot(p, c) / norm } else { 0.0 };
            // By direction, or the longest code would be most like every row. The prior may make many rows equally like
            // this one, as the ideal kernel does with a class: of those the nearest by codes.
            let cosine = |j: usize| if lengths[j] > 0.0 { c[j] / lengths[j] } else { 0.0 };
            let by_prior = nearest(n, row, |j| (p[j], cosine(j)));
            found.push(Misaligned { row, alignment, by_prior, by_codes: nearest(n, row, |j| (cosine(j), 0.0)) });
        }
    }
    found.sort_by(|a, b| a.alignment.total_cmp(&b.alignment).then(a.row.cmp(&b.row)));
    found.truncate(count);
    Ok(found)
}

/// The place of the most like, but for the row itself.
fn nearest(n: usize, own: usize, like: impl Fn(usize) -> (f32, f32)) -> usize {
    let others = (0..n).filter(|&j| j != own);
    others.reduce(|best, j| if like(j) > like(best) { j } else { best }).unwrap_or(own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dkae::kernel::Precomputed;
    use dkae::progress::Silent;

    #[test]
    fn both_kernels_are_carried_row_by_row_in_the_order_of_the_groups() {
        let codes = ndarray::array![[1.0f32, 0.0], [0.5, 2.0], [3.0, 0.25], [0.0, 1.5]];
        let half = ndarray::array![[2.0f32, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, 3.0]];
        let p = half.dot(&half.t());
        let (prior, _) = Precomputed::new(p.clone()).unwrap();
        let by = Groups { of: vec![1, 0, 1, 0], names: vec!["a".into(), "b".into()] };
        let kernels = Report::default().kernels(&prior, codes.view(), &by).unwrap();
        assert_eq!(kernels.rows, [1, 3, 0, 2]);
        assert_eq!(kernels.groups, [("a".to_owned(), 2), ("b".to_owned(), 2)]);
        for (found, whole) in [(&kernels.prior, p), (&kernels.codes, codes.dot(&codes.t()))] {
            let pairs = (0..4).flat_map(|i| (0..=i).map(move |j| (i, j)));
            let levels = found.values.read_u16s();
            assert_eq!(levels.len(), 10);
            for ((i, j), level) in pairs.zip(levels) {
                let value = found.low + (found.high - found.low) * f64::from(level) / 65535.0;
                let wanted = f64::from(whole[[kernels.rows[i], kernels.rows[j]]]);
                assert!((value - wanted).abs() < 1e-3, "({i}, {j}): {value} {wanted}");
            }
        }
    }

    /// Codes of two directions; the prior agrees but for row 2, which it puts with the other group.
    #[test]
    fn a_row_that_the_prior_puts_elsewhere_is_the_least_aligned() {
        let codes = ndarray::array![[1.0f32, 0.0], [1.0, 0.1], [1.0, 0.05], [0.0, 1.0], [0.1, 1.0]];
        let group = [0, 0, 1, 1, 1];
        let p = Array2::from_shape_fn((5, 5), |(i, j)| if group[i] == group[j] { 1.0 } else { 0.0f32 });
        let (prior, _) = Precomputed::new(p).unwrap();
        let found = misaligned(&prior, codes.view(), 2, &Silent).unwrap();
        assert_eq!((found.len(), found[0].row), (2, 2));
        // Of rows 3 and 4, equally like it by the prior, row 4 has the nearer code.
        assert_eq!((found[0].by_prior, found[0].by_codes), (4, 1));
        // Row 2 of C is (1, 1.005, 1.0025, 0.05, 0.15), of P (0, 0, 1, 1, 1).
        let c = [1.0, 1.005, 1.0025, 0.05, 0.15f64];
        let want = (c[2] + c[3] + c[4]) / (3f64.sqrt() * c.iter().map(|v| v * v).sum::<f64>().sqrt());
        assert!((found[0].alignment - want).abs() < 1e-6, "{} {want}", found[0].alignment);
    }

    #[test]
    fn the_nearest_code_is_that_of_the_same_direction_however_long_others_are() {
        let codes = ndarray::array![[1.0f32, 0.0], [0.9, 0.1], [50.0, 50.0], [0.0, 0.0]];
        let (prior, _) = Precomputed::new(Array2::eye(4)).unwrap();
        let found = misaligned(&prior, codes.view(), 4, &Silent).unwrap();
        let by_codes = |row: usize| found.iter().find(|m| m.row == row).map(|m| m.by_codes);
        assert_eq!((by_codes(0), by_codes(1)), (Some(1), Some(0)));
    }
}
