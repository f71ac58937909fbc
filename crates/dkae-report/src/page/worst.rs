//! The section that says where to look next: the worst reconstructions and the most misaligned rows.
//!
//! A row's alignment is the cosine between its row of P and its row of C, over the rows of its part on the page; a row
//! with a low one has other neighbours among the codes than the prior gives it.
//!
//! The nearest row is, by either kernel, the one of the largest cosine k(x, y) / sqrt(k(x, x) k(y, y)). The entry itself
//! would call the row with the largest diagonal nearest to all: the longest code, the longest row of a linear kernel, the
//! row that a cluster kernel is surest of.

use dkae::kernel::Prior;
use dkae::math::{gemm, threads};
use dkae::progress::Progress;
use ndarray::{Array2, ArrayView1, ArrayView2, Axis, s};
use serde::Serialize;

use super::Page;
use super::figures::{Line, fixed, gallery, named_table, short};
use super::looks::{Choice, Given, Looks};
use super::rows::{Held, PARTS, Ranked, in_words};
use crate::Result;

/// Rows of both kernels that are compared at a time.
const BLOCK: usize = 128;

/// The rows to look at next, as places among the rows on the page.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Worst {
    /// Worst reconstructed first.
    pub reconstructed: Vec<usize>,
    /// The mean squared error of all rows ranked.
    pub mean_error: f64,
    /// Least aligned first.
    pub misaligned: Vec<Misaligned>,
    /// A sheet with those rows, then their nearest by the prior, then by codes, all by the features of the first; pictures
    /// need none.
    pub neighbours: Option<usize>,
    /// The rows ranked by their error, and those ranked by their alignment, in words.
    #[serde(skip)]
    pub ranked: String,
    #[serde(skip)]
    pub aligned: String,
    #[serde(skip)]
    pub reconstructed_still: String,
    #[serde(skip)]
    pub misaligned_still: String,
}

/// A row whose kernels differ, and the rows most like it by each; places among the rows on the page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Misaligned {
    pub row: usize,
    pub alignment: f64,
    pub by_prior: usize,
    pub by_codes: usize,
}

impl Worst {
    pub fn new(
        ranked: &Ranked,
        errors: &[f32],
        misaligned: Vec<Misaligned>,
        (looks, largest): (&mut Looks, &Choice),
        held: &Held,
        back: ArrayView2<f32>,
    ) -> Result<Worst> {
        let on_page = |place: &(usize, usize)| held.places.iter().position(|own| own == place);
        let order: Vec<usize> = ranked.worst.iter().filter_map(on_page).collect();
        let mean_error = ranked.mean;
        let briefly = looks.shape().is_some();
        let still = |looks: &Looks, rows: &[usize], named: &[(&str, Given)]| {
            let lines: Vec<Line> = named.iter().map(|&(caption, rows)| Line { caption, rows }).collect();
            gallery(looks, &largest.select(rows), &lines, &held.names(rows, briefly))
        };
        let (rows, back) = (held.raw.select(&order), back.select(Axis(0), &order));
        let reconstructed_still =
            still(looks, &order, &[("row", Given::Rows(&rows)), ("from its code", Given::Network(&back))])?;
        let lines: Vec<[String; 3]> = order
            .iter()
            .map(|&i| {
                let error = f64::from(errors[i]);
                [held.name(i, false), short(error), times(error / mean_error.max(f64::MIN_POSITIVE))]
            })
            .collect();
        let reconstructed_still = reconstructed_still + &named_table(["", "squared error", "times the mean"], &lines);

        let named: Vec<_> = ranked.parts.iter().map(|&(part, count)| (PARTS[part], count)).collect();
        let mut worst = Worst {
            reconstructed: order,
            mean_error,
            ranked: in_words(&named),
            aligned: looked_at(held, ranked),
            reconstructed_still,
            ..Worst::default()
        };
        if misaligned.is_empty() {
            return Ok(worst);
        }
        let places = |of: fn(&Misaligned) -> usize| misaligned.iter().map(of).collect::<Vec<_>>();
        let [odd, by_prior, by_codes] = [places(|m| m.row), places(|m| m.by_prior), places(|m| m.by_codes)];
        let [row, prior, codes] = [&odd, &by_prior, &by_codes].map(|places| held.raw.select(places));
        let lines = [
            ("row", Given::Rows(&row)),
            ("most like it by the prior", Given::Rows(&prior)),
            ("most like it by codes", Given::Rows(&codes)),
        ];
        worst.misaligned_still = still(looks, &odd, &lines)?;
        let lines: Vec<[String; 4]> = misaligned
            .iter()
            .map(|m| {
                let name = |i: usize| held.name(i, false);
                [name(m.row), fixed(m.alignment, 3), name(m.by_prior), name(m.by_codes)]
            })
            .collect();
        worst.misaligned_still += &named_table(["", "alignment", "most like it by the prior", "by codes"], &lines);
        if looks.shape().is_none() {
            let all = [odd.as_slice(), &by_prior, &by_codes].concat();
            let choice = largest.select(&odd).repeated(3);
            worst.neighbours = Some(looks.add(Given::Rows(&held.raw.select(&all)), &choice)?);
        }
        worst.misaligned = misaligned;
        Ok(worst)
    }
}

impl Page {
    pub(super) fn worst_text(&self) -> String {
        format!(
            "The {} rows farthest from their reconstruction, of all {} rows: mislabelled, damaged or rare rows are often \
             among them. The mean squared error of all is {}{}.<span class=\"live\" hidden> Press a row to find it on the \
             map.</span>",
            self.kind(),
            self.worst.ranked,
            short(self.worst.mean_error),
            self.as_seen()
        )
    }

    /// The part about misaligned rows; nothing without a prior.
    pub(super) fn misaligned_part(&self) -> String {
        if self.worst.misaligned.is_empty() {
            return String::new();
        }
        format!(
            "<h3>Most misaligned rows</h3>\n<p>The alignment of a row is the cosine between its similarities to the rows \
             of its part by the prior and by codes. Of {} these have the lowest. The nearest row is the one of the largest \
             cosine, whatever the lengths of rows and codes. {}</p>\n<div class=\"still\">{}</div>\n\
             <div class=\"live\" hidden><div id=\"misaligned-rows\" class=\"cards\"></div></div>",
            self.worst.aligned,
            self.neighbours_text(),
            self.worst.misaligned_still
        )
    }

    /// Whether the least aligned rows have other neighbours.
    fn neighbours_text(&self) -> String {
        let all = self.worst.misaligned.len();
        match (self.worst.misaligned.iter().filter(|m| m.by_prior != m.by_codes).count(), all) {
            (0, _) => "Each has the same nearest row by the prior and by codes.".into(),
            (differ, all) if differ == all => "Each has another nearest row by codes than by the prior.".into(),
            (1, all) => format!("One of the {all} has another nearest row by codes than by the prior."),
            (differ, all) => format!("{differ} of the {all} have another nearest row by codes than by the prior."),
        }
    }
}

/// How many times the mean; next to a row that is far worse than all others there may be little of it.
fn times(share: f64) -> String {
    if share < 0.095 { short(share) } else { format!("{share:.1}") }
}

/// Which rows are ranked by their alignment: every part by itself, as far as it is on the page.
fn looked_at(held: &Held, ranked: &Ranked) -> String {
    let piece = |(part, _, count): (usize, usize, usize)| {
        let all = ranked.parts.iter().find(|(own, _)| *own == part).map_or(count, |(_, all)| *all);
        match count < all {
            true => format!("the first {count} of {all} {} rows", PARTS[part]),
            false => format!("all {count} {} rows", PARTS[part]),
        }
    };
    held.pieces().into_iter().map(piece).collect::<Vec<_>>().join(" and ")
}

/// The `count` least aligned rows of the page, each among the first rows of its part.
pub(super) fn least_aligned(
    priors: &[Box<dyn Prior + '_>; 3],
    codes: ArrayView2<f32>,
    held: &Held,
    count: usize,
    progress: &dyn Progress,
) -> Result<Vec<Misaligned>> {
    let mut found = Vec::new();
    for (part, start, rows) in held.pieces() {
        let own = misaligned(&*priors[part], codes.slice(s![start..start + rows, ..]), count, progress)?;
        found.extend(own.into_iter().map(|m| Misaligned {
            row: start + m.row,
            by_prior: start + m.by_prior,
            by_codes: start + m.by_codes,
            ..m
        }));
    }
    sort(&mut found, count);
    Ok(found)
}

/// The `count` least aligned, least first.
fn sort(found: &mut Vec<Misaligned>, count: usize) {
    found.sort_by(|a, b| a.alignment.total_cmp(&b.alignment).then(a.row.cmp(&b.row)));
    found.truncate(count);
}

/// The `count` least aligned of some rows.
fn misaligned(
    prior: &dyn Prior,
    codes: ArrayView2<f32>,
    count: usize,
    progress: &dyn Progress,
) -> Result<Vec<Misaligned>> {
    let n = codes.nrows();
    let all: Vec<usize> = (0..n).collect();
    let length = |code: ArrayView1<f32>| code.iter().map(|v| v * v).sum::<f32>().sqrt();
    let lengths: Vec<f32> = codes.rows().into_iter().map(length).collect();
    let roots = roots(prior, n);
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
            // The length of the row itself is the same for all others.
            let cosine = |entry: f32, length: f32| if length > 0.0 { entry / length } else { 0.0 };
            let by_code = |j: usize| cosine(c[j], lengths[j]);
            // The prior may make many rows equally like this one, as the ideal kernel does with a class: of those the
            // nearest by codes.
            let by_prior = nearest(n, row, |j| (cosine(p[j], roots[j]), by_code(j)));
            found.push(Misaligned { row, alignment, by_prior, by_codes: nearest(n, row, |j| (by_code(j), 0.0)) });
        }
    }
    sort(&mut found, count);
    Ok(found)
}

/// Roots of the diagonal of the prior: lengths of the rows in its feature space. A given matrix may have a diagonal that
/// cannot be that, zeros or negative numbers; then all count as one, and its entries are compared as they are.
fn roots(prior: &dyn Prior, n: usize) -> Vec<f32> {
    let mut entry = Array2::zeros((1, 1));
    let diagonal = (0..n).map(|i| {
        prior.block(&[i], &[i], entry.view_mut());
        entry[[0, 0]]
    });
    let diagonal: Vec<f32> = diagonal.collect();
    let lengths = diagonal.iter().all(|&v| v >= 0.0) && diagonal.iter().any(|&v| v > 0.0);
    diagonal.into_iter().map(|v| if lengths { v.sqrt() } else { 1.0 }).collect()
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

    /// Row 0 lies in the direction of row 1, but row 2 is so long that its inner product is the largest with every row.
    #[test]
    fn the_nearest_by_the_prior_is_that_of_the_largest_cosine_where_the_diagonal_varies() {
        let x = ndarray::array![[1.0f32, 0.0], [0.9, 0.1], [50.0, 50.0], [0.1, 1.0]];
        let codes = ndarray::array![[1.0f32, 0.0], [0.0, 1.0], [1.0, 0.5], [0.5, 1.0]];
        let (prior, _) = Precomputed::new(x.dot(&x.t())).unwrap();
        let found = misaligned(&prior, codes.view(), 4, &Silent).unwrap();
        let by_prior = |row: usize| found.iter().find(|m| m.row == row).map(|m| m.by_prior);
        assert_eq!([by_prior(0), by_prior(1)], [Some(1), Some(0)]);
        // Row 3 is at 40 degrees to row 2 and at 78 to row 1.
        assert_eq!(by_prior(3), Some(2));
    }

    #[test]
    fn a_matrix_with_nothing_on_its_diagonal_is_taken_by_its_entries() {
        let p = ndarray::array![[0.0f32, 0.2, 0.9], [0.2, 0.0, 0.4], [0.9, 0.4, 0.0]];
        let codes = ndarray::array![[1.0f32, 0.0], [0.9, 0.1], [0.0, 1.0]];
        let (prior, _) = Precomputed::new(p).unwrap();
        let found = misaligned(&prior, codes.view(), 3, &Silent).unwrap();
        let by_prior = |row: usize| found.iter().find(|m| m.row == row).map(|m| m.by_prior);
        assert_eq!([by_prior(0), by_prior(1), by_prior(2)], [Some(2), Some(2), Some(0)]);
    }
}
