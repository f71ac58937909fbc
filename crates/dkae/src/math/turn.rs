//! A matrix turned, columns for rows, 16 x 16 numbers at a time in registers.
//!
//! One by one, numbers of a column are a cache line apart, and turning a matrix costs as much as a good part of the product
//! that wants it turned.

#![allow(unsafe_code)]

use ndarray::{ArrayView2, ArrayViewMut2};

/// `to = from^T`. Fast where the rows of both are contiguous; they may be farther apart than they are long.
pub fn turn(from: ArrayView2<f32>, mut to: ArrayViewMut2<f32>) {
    let (rows, columns) = from.dim();
    assert_eq!(to.dim(), (columns, rows), "the shape of the turned matrix");
    #[cfg(target_arch = "x86_64")]
    {
        let contiguous = |strides: &[isize], length: usize| length <= 1 || strides[1] == 1;
        if is_x86_feature_detected!("avx512f") && contiguous(from.strides(), columns) && contiguous(to.strides(), rows)
        {
            let (apart, apart_to) = (from.strides()[0], to.strides()[0]);
            for row in (0..rows).step_by(16) {
                for column in (0..columns).step_by(16) {
                    let size = (16.min(rows - row), 16.min(columns - column));
                    // SAFETY: the processor was asked. The block begins within both matrices, and `size` of its numbers lie
                    // there: `from` has them in rows of `apart`, `to`, whose shape was checked, in rows of `apart_to`.
                    unsafe {
                        let from = from.as_ptr().offset(row as isize * apart).add(column);
                        let to = to.as_mut_ptr().offset(column as isize * apart_to).add(row);
                        x86::block(from, apart, size, to, apart_to);
                    }
                }
            }
            return;
        }
    }
    to.assign(&from.t());
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    /// Turns at most 16 x 16 numbers.
    ///
    /// # Safety
    ///
    /// `rows` rows of `columns` numbers can be read from `from` on, `apart` from each other, and `columns` rows of `rows`
    /// numbers written from `to` on, `apart_to` from each other; both sizes are 1 to 16.
    #[target_feature(enable = "avx512f")]
    pub unsafe fn block(
        from: *const f32,
        apart: isize,
        (rows, columns): (usize, usize),
        to: *mut f32,
        apart_to: isize,
    ) {
        let first = |n: usize| (u32::MAX >> (32 - n)) as __mmask16;
        let (read, write) = (first(columns), first(rows));
        let zero = _mm512_setzero_ps();
        let r: [__m512; 16] = std::array::from_fn(|i| match i < rows {
            // SAFETY: a row that is there, and of it the columns that are there.
            true => unsafe { _mm512_maskz_loadu_ps(read, from.offset(i as isize * apart)) },
            false => zero,
        });
        // Pairs of rows, then fours: afterwards u[4 g + c] has in its quarter q the numbers of column 4 q + c in rows 4 g to 4 g + 3.
        let t: [__m512; 16] = std::array::from_fn(|i| match i % 2 {
            0 => _mm512_unpacklo_ps(r[i], r[i + 1]),
            _ => _mm512_unpackhi_ps(r[i - 1], r[i]),
        });
        let u: [__m512; 16] = std::array::from_fn(|i| {
            let pair = i / 4 * 4 + i % 4 / 2;
            let (a, b) = (_mm512_castps_pd(t[pair]), _mm512_castps_pd(t[pair + 2]));
            _mm512_castpd_ps(if i % 2 == 0 { _mm512_unpacklo_pd(a, b) } else { _mm512_unpackhi_pd(a, b) })
        });
        for c in 0..4 {
            // Quarters of two groups side by side, then of all four.
            let low = (_mm512_shuffle_f32x4::<0x44>(u[c], u[4 + c]), _mm512_shuffle_f32x4::<0x44>(u[8 + c], u[12 + c]));
            let high =
                (_mm512_shuffle_f32x4::<0xee>(u[c], u[4 + c]), _mm512_shuffle_f32x4::<0xee>(u[8 + c], u[12 + c]));
            let turned = [
                _mm512_shuffle_f32x4::<0x88>(low.0, low.1),
                _mm512_shuffle_f32x4::<0xdd>(low.0, low.1),
                _mm512_shuffle_f32x4::<0x88>(high.0, high.1),
                _mm512_shuffle_f32x4::<0xdd>(high.0, high.1),
            ];
            for (quarter, column) in turned.into_iter().enumerate() {
                let j = 4 * quarter + c;
                if j < columns {
                    // SAFETY: a column that is there, and of it the rows that are there.
                    unsafe { _mm512_mask_storeu_ps(to.offset(j as isize * apart_to), write, column) };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, s};

    #[test]
    fn every_size_and_distance_of_rows_is_turned_and_nothing_beside_it_is_touched() {
        for (rows, columns) in [(1, 1), (16, 16), (3, 40), (40, 3), (17, 33), (48, 128), (0, 5)] {
            let from = Array2::from_shape_fn((rows + 2, columns + 3), |(i, j)| (100 * i + j) as f32);
            let from = from.slice(s![1..rows + 1, 2..columns + 2]);
            let mut to = Array2::from_elem((columns + 2, rows + 5), -1.0);
            turn(from, to.slice_mut(s![1..columns + 1, 3..rows + 3]));
            for ((j, i), &found) in to.indexed_iter() {
                let inside = (1..=columns).contains(&j) && (3..rows + 3).contains(&i);
                let want = if inside { from[[i - 3, j - 1]] } else { -1.0 };
                assert_eq!(found, want, "{rows} x {columns}: {j} {i}");
            }
        }
    }

    #[test]
    fn columns_that_are_contiguous_are_copied() {
        let from = Array2::from_shape_fn((5, 7), |(i, j)| (10 * i + j) as f32);
        let mut to = Array2::zeros((5, 7));
        turn(from.t(), to.view_mut());
        assert_eq!(to, from);
    }
}
