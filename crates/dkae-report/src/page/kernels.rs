//! The kernels section: the prior kernel beside the kernel of the codes, rows sorted by class.

use dkae::kernel::Prior;
use dkae::math::{gemm, threads};
use dkae::metrics::{alignment, code_loss};
use ndarray::{Array2, ArrayView2, Axis};
use serde::Serialize;

use super::figures::fixed;
use super::pack::Packed;
use super::{Page, Report};
use crate::Result;
use crate::kernel::{self, Matrix, groups};

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
    /// Lower triangles with the diagonal.
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

/// A symmetric matrix. Its entries are carried whole: a polynomial kernel may have some a million times larger than
/// others, of which levels between two ends would leave nothing.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Triangle {
    /// Root mean square of all entries.
    rms: f64,
    values: Packed,
}

impl Triangle {
    fn new(matrix: ArrayView2<f32>) -> Triangle {
        let rms = (matrix.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>() / matrix.len() as f64).sqrt();
        let lower = matrix.rows().into_iter().enumerate();
        let lower = lower.flat_map(|(i, row)| row.iter().take(i + 1).copied().collect::<Vec<_>>());
        Triangle { rms, values: Packed::f32s(lower) }
    }
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

impl Page {
    /// What the section shows.
    pub(super) fn kernels_text(&self, kernels: &Kernels) -> String {
        format!(
            "The similarity of every pair of {} {} rows: what the prior says, and the inner product of their codes. Rows \
             are sorted by {}. On these rows the alignment of the two is {} (1 when they are the same up to scale), \
             L_c = {}.",
            kernels.rows.len(),
            self.kind(),
            if self.classes.is_empty() { "cluster" } else { "class" },
            fixed(kernels.alignment, 3),
            fixed(kernels.loss, 3)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dkae::kernel::Precomputed;

    #[test]
    fn both_kernels_are_carried_row_by_row_in_the_order_of_the_groups() {
        let codes = ndarray::array![[1.0f32, 0.0], [0.5, 2.0], [3.0, 0.25], [0.0, 1.5]];
        let half = ndarray::array![[2.0f32, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, 3.0]];
        let whole = half.dot(&half.t());
        let (prior, _) = Precomputed::new(whole.clone()).unwrap();
        let by = Groups { of: vec![1, 0, 1, 0], names: vec!["a".into(), "b".into()] };
        let kernels = Report::default().kernels(&prior, codes.view(), &by).unwrap();
        assert_eq!(kernels.rows, [1, 3, 0, 2]);
        assert_eq!(kernels.groups, [("a".to_owned(), 2), ("b".to_owned(), 2)]);
        for (found, whole) in [(&kernels.prior, &whole), (&kernels.codes, &codes.dot(&codes.t()))] {
            let pairs = (0..4).flat_map(|i| (0..=i).map(move |j| (i, j)));
            let values = found.values.read_f32s();
            assert_eq!(values.len(), 10);
            for ((i, j), value) in pairs.zip(values) {
                let wanted = whole[[kernels.rows[i], kernels.rows[j]]];
                assert!((value - wanted).abs() <= 1e-6 * wanted.abs(), "({i}, {j}): {value} {wanted}");
            }
            let squares = whole.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>();
            assert!((found.rms - (squares / 16.0).sqrt()).abs() < 1e-5 * found.rms);
        }
        // The cosine of both as vectors of 16 entries, by hand.
        let c = codes.dot(&codes.t());
        let dot = |a: &Array2<f32>, b: &Array2<f32>| a.iter().zip(b).map(|(&a, &b)| f64::from(a * b)).sum::<f64>();
        let cosine = dot(&whole, &c) / (dot(&whole, &whole) * dot(&c, &c)).sqrt();
        assert!((kernels.alignment - cosine).abs() < 1e-5 && cosine < 0.99, "{} {cosine}", kernels.alignment);
        assert!((kernels.loss - (2.0 - 2.0 * cosine).sqrt()).abs() < 1e-4, "{}", kernels.loss);
    }

    /// One row a thousand times as long as the others: of degree 3 their entries are 1e18 times smaller than its own.
    #[test]
    fn small_entries_of_a_kernel_with_a_wide_range_come_back_to_six_digits() {
        let x = Array2::from_shape_fn((6, 3), |(i, j)| {
            (0.1 + ((i * 5 + j * 3) % 7) as f32) * if i == 4 { 1000.0 } else { 1.0 }
        });
        let p = x.dot(&x.t()).mapv(|v| (v + 1.0).powi(3));
        let (least, most) = p.iter().fold((f32::INFINITY, 0f32), |(a, b), &v| (a.min(v), b.max(v)));
        assert!(most / least > 1e12, "{least} {most}");
        let triangle = Triangle::new(p.view());
        let pairs = (0..6).flat_map(|i| (0..=i).map(move |j| (i, j)));
        for ((i, j), value) in pairs.zip(triangle.values.read_f32s()) {
            assert!((value - p[[i, j]]).abs() <= 1e-6 * p[[i, j]].abs(), "({i}, {j}): {value} {}", p[[i, j]]);
        }
    }
}
