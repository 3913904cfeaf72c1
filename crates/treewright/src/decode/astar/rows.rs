//! Loops over rows of scores, one column per action: plain, over as many columns of each row, so that the compiler makes
//! vectors of them. (Not with `zip`: see [`crate::weights::kernel::zip`].)

use super::space::NEVER;

/// No row.
pub(super) const NO_ROW: u32 = u32::MAX;

/// `out[i] = max(out[i], row[i] + add)`.
#[inline(always)]
pub(super) fn raise(out: &mut [i32], row: &[i16], add: i32) {
    let n = out.len().min(row.len());
    let (out, row) = (&mut out[..n], &row[..n]);
    for i in 0..n {
        out[i] = out[i].max(i32::from(row[i]) + add);
    }
}

/// Raises two rows by the same one, with something added for each.
#[inline(always)]
pub(super) fn raise_both(one: &mut [i32], add_one: i32, other: &mut [i32], add_other: i32, row: &[i16]) {
    let n = one.len().min(other.len()).min(row.len());
    let (one, other, row) = (&mut one[..n], &mut other[..n], &row[..n]);
    for i in 0..n {
        one[i] = one[i].max(i32::from(row[i]) + add_one);
        other[i] = other[i].max(i32::from(row[i]) + add_other);
    }
}

/// `out[i] = max(out[i], one[i] + other[i])`.
#[inline(always)]
pub(super) fn raise_by_sum(out: &mut [i32], one: &[i32], other: &[i32]) {
    let n = out.len().min(one.len()).min(other.len());
    let (out, one, other) = (&mut out[..n], &one[..n], &other[..n]);
    for i in 0..n {
        out[i] = out[i].max(one[i] + other[i]);
    }
}

/// `out[i] += row[i]`.
#[inline(always)]
pub(super) fn add(out: &mut [i32], row: &[i16]) {
    let n = out.len().min(row.len());
    let (out, row) = (&mut out[..n], &row[..n]);
    for i in 0..n {
        out[i] += i32::from(row[i]);
    }
}

/// The largest sum of two numbers in the same column.
#[inline(always)]
pub(super) fn max_of_sums<T: Copy + Into<i32>>(one: &[i32], other: &[T]) -> i32 {
    let n = one.len().min(other.len());
    let (one, other) = (&one[..n], &other[..n]);
    let mut max = 3 * NEVER;
    for i in 0..n {
        max = max.max(one[i] + other[i].into());
    }
    max
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
