//! What layers are made of: arrays in one long row of numbers, linear layers, dropout.

use super::kernel::{Left, Packed, Sum, add, multiply};
use super::small::{MAX_WEIGHT, SmallWeights};
use crate::rng::Rng;

/// Where an array of parameters lies among all of them. It is stored row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::score) struct Array {
    pub start: usize,
    pub n_rows: usize,
    pub n_columns: usize,
}

impl Array {
    pub(in crate::score) fn len(self) -> usize {
        self.n_rows * self.n_columns
    }

    /// Its numbers.
    pub(in crate::score) fn of(self, all: &[f32]) -> &[f32] {
        &all[self.start..self.start + self.len()]
    }

    pub(in crate::score) fn of_mut(self, all: &mut [f32]) -> &mut [f32] {
        &mut all[self.start..self.start + self.len()]
    }

    /// One of its rows.
    pub(in crate::score) fn row(self, all: &[f32], row: usize) -> &[f32] {
        &self.of(all)[row * self.n_columns..(row + 1) * self.n_columns]
    }

    pub(in crate::score) fn row_mut(self, all: &mut [f32], row: usize) -> &mut [f32] {
        &mut self.of_mut(all)[row * self.n_columns..(row + 1) * self.n_columns]
    }
}

/// Gives every array its place, one after the other, and keeps their names for the model file.
#[derive(Clone, Debug, Default)]
pub(in crate::score) struct Arrays {
    pub named: Vec<Named>,
    pub n_numbers: usize,
}

/// An array with its name.
#[derive(Clone, Debug)]
pub(in crate::score) struct Named {
    pub name: String,
    pub array: Array,
    /// Are its rows looked up one by one? Otherwise it is multiplied with as a whole.
    pub is_table: bool,
}

impl Arrays {
    pub(in crate::score) fn add(
        &mut self,
        name: impl Into<String>,
        n_rows: usize,
        n_columns: usize,
    ) -> Array {
        let array = Array { start: self.n_numbers, n_rows, n_columns };
        self.n_numbers += array.len();
        self.named.push(Named { name: name.into(), array, is_table: false });
        array
    }

    /// The same for a table of rows.
    pub(in crate::score) fn add_table(
        &mut self,
        name: impl Into<String>,
        n_rows: usize,
        n_columns: usize,
    ) -> Array {
        let array = self.add(name, n_rows, n_columns);
        self.named.iter_mut().next_back().expect("it was just added").is_table = true;
        array
    }
}

/// y = x W + b.
#[derive(Clone, Copy, Debug)]
pub(in crate::score) struct Linear {
    pub weights: Array,
    pub bias: Array,
}

impl Linear {
    pub(in crate::score) fn new(arrays: &mut Arrays, name: &str, n_in: usize, n_out: usize) -> Self {
        let weights = arrays.add(format!("{name}.weights"), n_in, n_out);
        Linear { weights, bias: arrays.add(format!("{name}.bias"), 1, n_out) }
    }

    /// Random weights of the variance that keeps that of the values (Glorot and Bengio 2010).
    pub(in crate::score) fn start(self, all: &mut [f32], rng: &mut Rng) {
        let Array { n_rows, n_columns, .. } = self.weights;
        uniform(self.weights.of_mut(all), (6.0 / (n_rows + n_columns) as f64).sqrt(), rng);
    }

    /// The way back: the gradients of weights and bias, to their places in `gradients`, which need not be empty before, and
    /// of `x`, if it is wanted.
    pub(in crate::score) fn back(
        self,
        packed: &PackedLinear,
        x: &[f32],
        dy: &[f32],
        gradients: &mut [f32],
        dx: Option<(&mut [f32], Sum)>,
        scratch: &mut Scratch,
    ) {
        self.back_to_weights(Left::dense(x, self.weights.n_rows), dy, gradients, scratch);
        if let Some((dx, sum)) = dx {
            packed.back_to_input(Left::dense(dy, self.weights.n_columns), dx, self.weights.n_rows, sum);
        }
    }

    /// The first half of the way back: the gradients of weights and bias.
    pub(in crate::score) fn back_to_weights(
        self,
        x: Left<'_>,
        dy: &[f32],
        gradients: &mut [f32],
        scratch: &mut Scratch,
    ) {
        let Array { n_rows: n_in, n_columns: n_out, .. } = self.weights;
        scratch.outer_product(x, n_in, Left::dense(dy, n_out), n_out, self.weights.of_mut(gradients), n_out);
        sum_rows(dy, self.bias.of_mut(gradients));
    }
}

/// The sums of columns.
pub(in crate::score) fn sum_rows(rows: &[f32], out: &mut [f32]) {
    out.fill(0.0);
    rows.chunks_exact(out.len()).for_each(|row| add(row, out));
}

/// Numbers from `-limit` to `limit`.
pub(in crate::score) fn uniform(values: &mut [f32], limit: f64, rng: &mut Rng) {
    values.iter_mut().for_each(|value| *value = ((rng.unit() * 2.0 - 1.0) * limit) as f32);
}

/// The right side of a product.
#[derive(Clone, Debug)]
pub(super) enum Right {
    /// In 32 bits.
    Whole(Packed),
    /// In 8 bits, for parsing alone.
    Small(SmallWeights),
}

impl Default for Right {
    fn default() -> Self {
        Right::Whole(Packed::default())
    }
}

impl Right {
    /// Packs a matrix that lies row by row.
    pub(super) fn set(&mut self, matrix: &[f32], n_rows: usize, n_columns: usize) {
        match self {
            Right::Whole(packed) => packed.set(matrix, n_rows, n_columns),
            Right::Small(_) => unreachable!("weights of 8 bits are for parsing alone, and never change"),
        }
    }

    /// Packs a matrix in 8 bits.
    pub(super) fn small(matrix: &[f32], n_columns: usize) -> Self {
        let (weights, scales) = quantise(matrix, n_columns, MAX_WEIGHT, |i| i % n_columns);
        Right::Small(SmallWeights::new(&weights, &scales))
    }

    /// The product of `left` and this, to rows that begin every `stride` numbers of `out`.
    pub(super) fn multiply(&self, left: Left<'_>, out: &mut [f32], stride: usize, sum: Sum) {
        match self {
            Right::Whole(packed) => multiply(left, packed, out, stride, sum),
            Right::Small(weights) => weights.multiply(left, out, stride, sum),
        }
    }
}

/// Numbers as integers from `-max` to `max`, and their scales, of which there are `n_scales`; `scale_of` says which belongs to
/// a number. Numbers that were made from such integers give the same integers.
pub(super) fn quantise(
    numbers: &[f32],
    n_scales: usize,
    max: f32,
    scale_of: impl Fn(usize) -> usize,
) -> (Vec<i8>, Vec<f32>) {
    let mut scales = vec![0f32; n_scales];
    for (i, number) in numbers.iter().enumerate() {
        let scale = &mut scales[scale_of(i)];
        *scale = scale.max(number.abs() / max);
    }
    let small = |(i, number): (usize, &f32)| {
        let scale = scales[scale_of(i)];
        if scale > 0.0 { (number / scale).round().clamp(-max, max) as i8 } else { 0 }
    };
    (numbers.iter().enumerate().map(small).collect(), scales)
}

/// The weights of a linear layer, packed for products.
#[derive(Clone, Debug, Default)]
pub(in crate::score) struct PackedLinear {
    forward: Right,
    /// For the way back; empty where nothing is learnt.
    back: Packed,
    bias: Vec<f32>,
}

impl PackedLinear {
    pub(in crate::score) fn set(&mut self, of: Linear, all: &[f32], learns: bool) {
        let Array { n_rows, n_columns, .. } = of.weights;
        let bias = of.bias.of(all).iter().copied();
        self.set_to(of.weights.of(all), bias, (n_rows, n_columns), learns);
    }

    /// A layer in 8 bits, for parsing alone.
    pub(super) fn small(weights: &[i8], scales: &[f32], bias: Vec<f32>) -> Self {
        let forward = Right::Small(SmallWeights::new(weights, scales));
        PackedLinear { forward, back: Packed::default(), bias }
    }

    /// Keeps the weights in 8 bits.
    pub(super) fn shrink(&mut self, of: Linear, all: &[f32]) {
        self.forward = Right::small(of.weights.of(all), of.weights.n_columns);
    }

    /// Packs weights, which have this many rows and columns.
    pub(in crate::score) fn set_to(
        &mut self,
        weights: &[f32],
        bias: impl Iterator<Item = f32>,
        (n_rows, n_columns): (usize, usize),
        learns: bool,
    ) {
        self.forward.set(weights, n_rows, n_columns);
        if learns {
            self.back.set_transposed(weights, n_rows, n_columns);
        }
        self.bias.clear();
        self.bias.extend(bias);
    }

    /// The values for rows of `x`, to rows that begin every `stride` numbers.
    pub(in crate::score) fn apply(&self, x: Left<'_>, out: &mut [f32], stride: usize) {
        out.chunks_mut(stride)
            .take(x.n_rows)
            .for_each(|row| row[..self.bias.len()].copy_from_slice(&self.bias));
        self.forward.multiply(x, out, stride, Sum::Added);
    }

    /// The other half of the way back: the gradients of the input, to rows that begin every `stride` numbers.
    pub(in crate::score) fn back_to_input(&self, dy: Left<'_>, dx: &mut [f32], stride: usize, sum: Sum) {
        multiply(dy, &self.back, dx, stride, sum);
    }
}

/// Memory for products of gradients.
#[derive(Clone, Debug, Default)]
pub(in crate::score) struct Scratch {
    transposed: Vec<f32>,
    packed: Packed,
}

impl Scratch {
    /// The transpose of `x` times `dy`, over all rows, to rows of `out` that begin every `stride` numbers.
    pub(in crate::score) fn outer_product(
        &mut self,
        x: Left<'_>,
        n_in: usize,
        dy: Left<'_>,
        n_out: usize,
        out: &mut [f32],
        stride: usize,
    ) {
        self.packed.set_rows(dy, n_out);
        self.product_with_packed(x, n_in, out, stride);
    }

    /// The same with the right side of the last product.
    pub(in crate::score) fn product_with_packed(
        &mut self,
        x: Left<'_>,
        n_in: usize,
        out: &mut [f32],
        stride: usize,
    ) {
        let n = x.n_rows;
        self.transposed.resize(n_in * n, 0.0);
        // In blocks that fit in the cache.
        for first in (0..n).step_by(16) {
            for column in 0..n_in {
                let to = &mut self.transposed[column * n..(column + 1) * n];
                let rows = first..(first + 16).min(n);
                for row in rows {
                    to[row] = x.values[row * x.stride + column];
                }
            }
        }
        let left = Left { values: &self.transposed, n_rows: n_in, stride: n };
        multiply(left, &self.packed, out, stride, Sum::Fresh);
    }
}

/// What is left out of some values while learning. The mask holds 0 or the factor that makes up for what is missing.
#[derive(Clone, Debug, Default)]
pub(in crate::score) struct Dropout {
    mask: Vec<f32>,
}

impl Dropout {
    /// Leaves out values with a probability of `p`.
    pub(in crate::score) fn apply(&mut self, values: &mut [f32], p: f64, rng: &mut Rng) {
        self.mask.clear();
        if p == 0.0 {
            return;
        }
        let limit = (p * 65536.0) as u64;
        let factor = (1.0 / (1.0 - p)) as f32;
        self.mask.resize(values.len(), 0.0);
        let mask = &mut self.mask[..values.len()];
        let mut bits = 0;
        for (i, value) in values.iter_mut().enumerate() {
            // A draw serves four values.
            bits = if i % 4 == 0 { rng.next_u64() } else { bits >> 16 };
            mask[i] = if bits & 0xFFFF < limit { 0.0 } else { factor };
            *value *= mask[i];
        }
    }

    /// What each of the last values was multiplied by.
    pub(super) fn mask(&self) -> &[f32] {
        &self.mask
    }

    /// The way back.
    pub(in crate::score) fn back(&self, gradients: &mut [f32]) {
        // Without a mask nothing was left out.
        gradients.iter_mut().zip(&self.mask).for_each(|(gradient, mask)| *gradient *= mask);
    }
}

/// The slope of leaky ReLU below 0.
const SLOPE: f32 = 0.1;

pub(in crate::score) fn leaky_relu(values: &mut [f32]) {
    values.iter_mut().for_each(|value| *value = if *value > 0.0 { *value } else { SLOPE * *value });
}

/// The way back, from what came out.
pub(in crate::score) fn leaky_relu_back(values: &[f32], gradients: &mut [f32]) {
    let pairs = gradients.iter_mut().zip(values);
    pairs.for_each(|(gradient, &value)| *gradient *= if value > 0.0 { 1.0 } else { SLOPE });
}
