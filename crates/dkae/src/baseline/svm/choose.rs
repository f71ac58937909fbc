//! Choosing settings on a validation part, as the paper does: the price C of a linear machine, and C together with the kernel
//! (the width of an RBF) of a kernel machine.
//!
//! Every value is tried; the most accurate on the validation rows wins, and of equals the simplest: the smallest C, then
//! the kernel that comes first in the list (so list wide kernels before narrow ones).

use ndarray::ArrayView2;

use super::kernel::{MatrixSvmModel, SupportVectors};
use super::{KernelSvm, KernelSvmModel, LinearSvm, LinearSvmModel};
use crate::kernel::{Kernel, Prior};
use crate::method::Classify;
use crate::metrics::accuracy;
use crate::progress::Progress;
use crate::{Error, Result};

/// Rows with their classes.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The rows.
    pub x: ArrayView2<'a, f32>,
    /// The class of each.
    pub labels: &'a [u32],
}

/// The prices tried by default: a thousandth to a thousand, by factors of ten.
pub const PRICES: [f64; 7] = [1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3];

/// One value that was tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tried {
    /// The price.
    pub c: f64,
    /// The kernel's place in the list; 0 for a linear machine.
    pub kernel: usize,
    /// The share of validation rows classified correctly.
    pub accuracy: f64,
    /// Whether every binary problem reached its tolerance.
    pub converged: bool,
}

/// What was tried, and the best of it.
#[derive(Clone, Debug)]
pub struct Choice<M> {
    /// Every value tried: kernel by kernel in the order of the list, prices in growing order.
    pub tried: Vec<Tried>,
    /// The one that won.
    pub best: Tried,
    /// The model fitted with it, on the training part.
    pub model: M,
}

/// Collects what was tried and keeps the best model.
struct Contest<M> {
    tried: Vec<Tried>,
    best: Option<(Tried, M)>,
}

impl<M: Classify> Contest<M> {
    /// A kernel machine for each price.
    fn enter_all(
        &mut self,
        kernel: usize,
        machines: impl Iterator<Item = (f64, M)>,
        support: impl Fn(&M) -> &SupportVectors,
        validation: Part,
    ) -> Result<()> {
        for (c, model) in machines {
            let accuracy = accuracy(validation.labels, &model.classify(validation.x)?)?;
            let converged = support(&model).fits.iter().all(|f| f.converged);
            self.enter(Tried { c, kernel, accuracy, converged }, model);
        }
        Ok(())
    }
}

impl<M> Contest<M> {
    fn enter(&mut self, tried: Tried, model: M) {
        self.tried.push(tried);
        let simpler = |a: &Tried, b: &Tried| (a.c, a.kernel) < (b.c, b.kernel);
        let wins = self.best.as_ref().is_none_or(|(best, _)| {
            tried.accuracy > best.accuracy || (tried.accuracy == best.accuracy && simpler(&tried, best))
        });
        if wins {
            self.best = Some((tried, model));
        }
    }

    fn end(self) -> Result<Choice<M>> {
        let (best, model) =
            self.best.ok_or_else(|| Error::setting("kernels", "expected at least one to try, found none"))?;
        Ok(Choice { tried: self.tried, best, model })
    }
}

fn sorted(prices: &[f64]) -> Result<Vec<f64>> {
    if prices.is_empty() {
        return Err(Error::setting("prices", "expected at least one to try, found none"));
    }
    let mut prices = prices.to_vec();
    prices.sort_by(f64::total_cmp);
    prices.dedup();
    Ok(prices)
}

/// Fits a linear machine for each price and chooses among them. Prices are tried from the smallest: Newton steps begin
/// where those for the price before ended, so that a whole grid costs little more than its largest price.
pub fn linear(
    settings: &LinearSvm,
    prices: &[f64],
    train: Part,
    validation: Part,
    progress: &dyn Progress,
) -> Result<Choice<LinearSvmModel>> {
    let prices = sorted(prices)?;
    let mut contest = Contest { tried: Vec::new(), best: None };
    settings.fit_path(train.x, train.labels, &prices, progress, &mut |c, model| {
        let accuracy = accuracy(validation.labels, &model.classify(validation.x)?)?;
        let converged = model.fits.iter().all(|f| f.converged);
        contest.enter(Tried { c, kernel: 0, accuracy, converged }, model);
        Ok(())
    })?;
    contest.end()
}

/// Fits a kernel machine for each kernel and price and chooses among them. Each kernel's matrix is computed once for all
/// prices.
pub fn kernel<'k>(
    settings: &KernelSvm,
    kernels: &[&'k dyn Kernel],
    prices: &[f64],
    train: Part,
    validation: Part,
    progress: &dyn Progress,
) -> Result<Choice<KernelSvmModel<'k>>> {
    let prices = sorted(prices)?;
    let mut contest = Contest { tried: Vec::new(), best: None };
    for (place, &kernel) in kernels.iter().enumerate() {
        let models = settings.fit_path(kernel, train.x, train.labels, &prices, progress)?;
        contest.enter_all(place, prices.iter().copied().zip(models), |model| &model.support, validation)?;
    }
    contest.end()
}

/// As [`kernel`], for a kernel that is known as a matrix alone: `train` is the one of the training rows, with their classes,
/// and the rows of `validation` are the kernel values of its rows to these.
pub fn precomputed(
    settings: &KernelSvm,
    prices: &[f64],
    train: (&dyn Prior, &[u32]),
    validation: Part,
    progress: &dyn Progress,
) -> Result<Choice<MatrixSvmModel>> {
    let prices = sorted(prices)?;
    let mut contest = Contest { tried: Vec::new(), best: None };
    let models = settings.fit_matrix_path(train.0, train.1, &prices, progress)?;
    contest.enter_all(0, prices.iter().copied().zip(models), |model| &model.support, validation)?;
    contest.end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, Formula, LINEAR, RBF, refused};
    use crate::progress::Silent;
    use ndarray::{Array2, Axis, array};

    fn parts() -> (Array2<f32>, Vec<u32>) {
        let all = Fixture::load("svm");
        (all.array("x"), all.value("labels"))
    }

    #[test]
    fn every_price_is_tried_and_the_table_is_what_separate_fits_give() {
        let (x, labels) = parts();
        let (train, validation) = x.view().split_at(Axis(0), 60);
        let (train, validation) =
            (Part { x: train, labels: &labels[..60] }, Part { x: validation, labels: &labels[60..] });
        let svm = LinearSvm { tolerance: 1e-8, ..LinearSvm::default() };
        let choice = linear(&svm, &[10.0, 0.01, 1.0], train, validation, &Silent).unwrap();
        assert_eq!(choice.tried.iter().map(|t| t.c).collect::<Vec<_>>(), [0.01, 1.0, 10.0]);
        for tried in &choice.tried {
            let model = LinearSvm { c: tried.c, ..svm.clone() }.fit(train.x, train.labels).unwrap();
            let want = accuracy(validation.labels, &model.classify(validation.x).unwrap()).unwrap();
            assert_eq!(tried.accuracy, want);
            assert!(tried.accuracy <= choice.best.accuracy);
            if tried.c == choice.best.c {
                assert!((&model.coefficients - &choice.model.coefficients).iter().all(|d| d.abs() < 1e-5));
            }
        }

        let svm = KernelSvm { tolerance: 1e-8, ..KernelSvm::default() };
        let choice = kernel(&svm, &[&LINEAR, &RBF], &PRICES, train, validation, &Silent).unwrap();
        assert_eq!(choice.tried.len(), 2 * PRICES.len());
        for tried in &choice.tried {
            let kernel: &dyn Kernel = if tried.kernel == 0 { &LINEAR } else { &RBF };
            let model = KernelSvm { c: tried.c, ..svm.clone() }.fit(kernel, train.x, train.labels).unwrap();
            let want = accuracy(validation.labels, &model.classify(validation.x).unwrap()).unwrap();
            assert_eq!(tried.accuracy, want, "{tried:?}");
            assert!(tried.accuracy <= choice.best.accuracy);
            // The model that comes back is the winner's, and no other's.
            let off = model.decision(validation.x).unwrap() - choice.model.decision(validation.x).unwrap();
            let off = off.iter().fold(0.0f64, |most, d| most.max(d.abs()));
            let won = (tried.c, tried.kernel) == (choice.best.c, choice.best.kernel);
            assert!(if won { off < 1e-5 } else { off > 1e-3 }, "{tried:?}: {off}");
        }
        assert_ne!(choice.best, choice.tried[0]);
    }

    #[test]
    fn a_matrix_is_chosen_for_as_its_kernel_is() {
        let (x, labels) = parts();
        let (train, validation) = x.view().split_at(Axis(0), 60);
        let (known, asked) = (&labels[..60], &labels[60..]);
        let part = |x, labels| Part { x, labels };
        let svm = KernelSvm::default();
        let want = kernel(&svm, &[&RBF], &PRICES, part(train, known), part(validation, asked), &Silent).unwrap();
        let mut values = Array2::zeros((validation.nrows(), 60));
        RBF.between(validation, train, values.view_mut()).unwrap();
        let matrix = RBF.prior(train).unwrap();
        let found = precomputed(&svm, &PRICES, (&*matrix, known), part(values.view(), asked), &Silent).unwrap();
        assert_eq!((&found.tried, found.best), (&want.tried, want.best));
        assert_eq!(found.model.support, want.model.support);
        assert_eq!(found.model.classify(values.view()).unwrap(), want.model.classify(validation).unwrap());
        assert_eq!(found.model.input_width(), 60);
        let few = found.model.classify(values.slice(ndarray::s![.., ..59])).unwrap_err().to_string();
        assert!(few.contains("expected 60 columns"), "{few}");
    }

    #[test]
    fn of_equals_the_smallest_price_and_then_the_first_kernel_wins() {
        const SAME: Formula = Formula(|a, b| a[0] * b[0]);
        let (x, labels) = (array![[-1.0], [1.0], [-2.0], [2.0]], [0, 1, 0, 1]);
        let part = Part { x: x.view(), labels: &labels };
        let choice = linear(&LinearSvm::default(), &[1e2, 1.0, 10.0], part, part, &Silent).unwrap();
        assert_eq!((choice.best.c, choice.best.accuracy), (1.0, 1.0));
        let choice = kernel(&KernelSvm::default(), &[&SAME, &SAME], &[5.0, 2.0], part, part, &Silent).unwrap();
        assert_eq!((choice.best.c, choice.best.kernel), (2.0, 0));
    }

    #[test]
    fn nothing_to_try_is_an_error() {
        let (x, labels) = (array![[-1.0], [1.0]], [0, 1]);
        let part = Part { x: x.view(), labels: &labels };
        let nothing = "expected at least one to try, found none";
        refused(linear(&LinearSvm::default(), &[], part, part, &Silent), &format!("prices: {nothing}"));
        refused(linear(&LinearSvm::default(), &[1.0, f64::NAN], part, part, &Silent), "c: expected a number above 0");
        refused(kernel(&KernelSvm::default(), &[], &[1.0], part, part, &Silent), &format!("kernels: {nothing}"));
    }
}
