//! Kernels that are a formula of two rows: what they share.
//!
//! A block of P gathers its rows, multiplies them, and applies the formula to the products; nothing else is stored. The
//! memory for the gathered rows is kept by each thread. Rows that follow each other are taken where they are.

use ndarray::{ArrayView2, ArrayViewMut2, s};

use crate::Result;
use crate::math::{check, threads};

use super::{Kernel, Prior};

/// A kernel by a formula of two rows. Everything with a formula is a [`Kernel`].
pub trait Formula: Send + Sync {
    /// How many features rows must have; `None` if it does not matter.
    fn width(&self) -> Option<usize>;

    /// Writes the kernel between rows of the same width into `out`.
    fn fill(&self, a: ArrayView2<f32>, b: ArrayView2<f32>, out: ArrayViewMut2<f32>);

    /// One line: the kernel and its settings.
    fn describe(&self) -> String;
}

impl<F: Formula> Kernel for F {
    fn prior<'a>(&'a self, x: ArrayView2<'a, f32>) -> Result<Box<dyn Prior + 'a>> {
        self.width().map_or(Ok(()), |width| check::width("rows for a kernel", x, width))?;
        check::finite("rows for a kernel", x)?;
        Ok(Box::new(FormulaPrior { formula: self, x }))
    }

    fn between(&self, a: ArrayView2<f32>, b: ArrayView2<f32>, out: ArrayViewMut2<f32>) -> Result<()> {
        let width = self.width().unwrap_or(a.ncols());
        for x in [a, b] {
            check::width("rows for a kernel", x, width)?;
            check::finite("rows for a kernel", x)?;
        }
        threads::run(|| self.fill(a, b, out));
        Ok(())
    }

    fn describe(&self) -> String {
        Formula::describe(self)
    }
}

struct FormulaPrior<'a, F> {
    formula: &'a F,
    x: ArrayView2<'a, f32>,
}

thread_local! {
    // Taken out while in use: a thread that waits for a product may be given another block meanwhile.
    static GATHERED: std::cell::Cell<[Vec<f32>; 2]> = const { std::cell::Cell::new([Vec::new(), Vec::new()]) };
}

impl<F: Formula> Prior for FormulaPrior<'_, F> {
    fn len(&self) -> usize {
        self.x.nrows()
    }

    fn block(&self, rows: &[usize], columns: &[usize], out: ArrayViewMut2<f32>) {
        threads::run(|| {
            let mut gathered = GATHERED.take();
            let [a, b] = &mut gathered;
            self.formula.fill(self.rows(rows, a), self.rows(columns, b), out);
            GATHERED.set(gathered);
        });
    }
}

impl<F> FormulaPrior<'_, F> {
    /// The rows of these numbers, copied to `memory` unless they follow each other.
    fn rows<'m>(&'m self, numbers: &[usize], memory: &'m mut Vec<f32>) -> ArrayView2<'m, f32> {
        if let Some(&first) = numbers.first()
            && numbers.iter().enumerate().all(|(i, &row)| row == first + i)
        {
            return self.x.slice(s![first..first + numbers.len(), ..]);
        }
        memory.clear();
        for &number in numbers {
            let row = self.x.row(number);
            match row.as_slice() {
                Some(values) => memory.extend_from_slice(values),
                None => memory.extend(row),
            }
        }
        ArrayView2::from_shape((numbers.len(), self.x.ncols()), memory).expect("as many values as were copied")
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::math::rng::{Purpose, stream};
    use ndarray::Array2;
    use rand::RngExt;

    pub fn random(n: usize, d: usize, seed: u64) -> Array2<f32> {
        let mut rng = stream(seed, Purpose::Demo, n as u64, d as u64);
        Array2::from_shape_simple_fn((n, d), || rng.random::<f32>() * 2.0 - 1.0)
    }

    /// Checks that blocks and `between` are what `formula` says, computed in f64.
    pub fn check(kernel: &dyn Kernel, x: ArrayView2<f32>, formula: impl Fn(&[f64], &[f64]) -> f64) {
        let prior = kernel.prior(x).unwrap();
        assert_eq!(prior.len(), x.nrows());
        // In any order, repeated, and one after the other.
        compare(kernel, &*prior, x, &formula, ([0, 3, 3, 5], [5, 1, 0, 2, 4]));
        compare(kernel, &*prior, x, &formula, ([2, 3, 4, 5], [0, 1, 2, 3, 4]));
    }

    fn compare(
        kernel: &dyn Kernel,
        prior: &dyn Prior,
        x: ArrayView2<f32>,
        formula: impl Fn(&[f64], &[f64]) -> f64,
        (rows, columns): ([usize; 4], [usize; 5]),
    ) {
        let mut block = Array2::from_elem((4, 5), f32::NAN);
        prior.block(&rows, &columns, block.view_mut());
        let (a, b) = (x.select(ndarray::Axis(0), &rows), x.select(ndarray::Axis(0), &columns));
        let mut between = Array2::from_elem((5, 4), f32::NAN);
        kernel.between(a.view(), b.view(), between.view_mut().reversed_axes()).unwrap();
        let wide = |i: usize| x.row(i).iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
        for (i, &row) in rows.iter().enumerate() {
            for (j, &column) in columns.iter().enumerate() {
                let want = formula(&wide(row), &wide(column));
                for got in [block[[i, j]], between[[j, i]]] {
                    assert!(
                        (f64::from(got) - want).abs() <= 2e-6 * want.abs().max(1.0),
                        "{row},{column}: {got} not {want}"
                    );
                }
            }
        }
    }

    #[test]
    fn rows_of_another_width_and_values_that_are_no_numbers_are_errors() {
        let kernel = super::super::Rbf::default().fit(random(9, 3, 1).view()).unwrap();
        let message = kernel.prior(random(9, 4, 1).view()).err().unwrap().to_string();
        assert!(message.contains('3') && message.contains('4'), "{message}");
        let mut x = random(9, 3, 1);
        x[[2, 1]] = f32::INFINITY;
        assert!(kernel.prior(x.view()).err().unwrap().to_string().contains("row 3, column 2 is inf"));
    }
}
