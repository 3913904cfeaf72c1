//! Loops over rows of scores, one column per action: plain, so that the compiler makes vectors of them.

use super::space::NEVER;

/// No row.
pub(super) const NO_ROW: u32 = u32::MAX;

/// `out[i] = max(out[i], row[i] + add)`.
#[inline(always)]
pub(super) fn raise(out: &mut [i32], row: &[i16], add: i32) {
    for (out, &value) in out.iter_mut().zip(row) {
        *out = (*out).max(i32::from(value) + add);
    }
}

/// Raises two rows by the same one, with something added for each.
#[inline(always)]
pub(super) fn raise_both(one: &mut [i32], add_one: i32, other: &mut [i32], add_other: i32, row: &[i16]) {
    for ((one, other), &value) in one.iter_mut().zip(other).zip(row) {
        *one = (*one).max(i32::from(value) + add_one);
        *other = (*other).max(i32::from(value) + add_other);
    }
}

/// `out[i] = max(out[i], one[i] + other[i])`.
#[inline(always)]
pub(super) fn raise_by_sum(out: &mut [i32], one: &[i32], other: &[i32]) {
    for ((out, &one), &other) in out.iter_mut().zip(one).zip(other) {
        *out = (*out).max(one + other);
    }
}

/// `out[i] += row[i]`.
#[inline(always)]
pub(super) fn add(out: &mut [i32], row: &[i16]) {
    for (out, &value) in out.iter_mut().zip(row) {
        *out += i32::from(value);
    }
}

/// The largest sum of two numbers in the same column.
#[inline(always)]
pub(super) fn max_of_sums<T: Copy + Into<i32>>(one: &[i32], other: &[T]) -> i32 {
    one.iter().zip(other).fold(3 * NEVER, |max, (&one, &other)| max.max(one + other.into()))
}

/// A table of rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    values: Vec<i32>,
    n_columns: usize,
}

impl Table {
    /// Begins anew with rows of what cannot be.
    pub(super) fn reset(&mut self, n_rows: usize, n_columns: usize) {
        self.n_columns = n_columns;
        self.values.clear();
        self.values.resize(n_rows * n_columns, NEVER);
    }

    /// The row of this number; if it is none, a new one gets it.
    #[inline(always)]
    pub(super) fn row_or_new(&mut self, number: &mut u32) -> &mut [i32] {
        if *number == NO_ROW {
            *number = self.n_rows() as u32;
            self.values.resize(self.values.len() + self.n_columns, NEVER);
        }
        self.row_mut(*number as usize)
    }

    pub(super) fn n_rows(&self) -> usize {
        self.values.len() / self.n_columns.max(1)
    }

    #[inline(always)]
    pub(super) fn row(&self, row: usize) -> &[i32] {
        &self.values[row * self.n_columns..][..self.n_columns]
    }

    #[inline(always)]
    pub(super) fn row_mut(&mut self, row: usize) -> &mut [i32] {
        &mut self.values[row * self.n_columns..][..self.n_columns]
    }
}
