//! Bidirectional LSTM layers over batches of sentences. A batch has no padding: sentences go by length, the longest first,
//! and at each position only those take part that are long enough.

use std::ops::Range;

use super::kernel::{Left, Packed, Sum, lstm_cell, lstm_cell_back, multiply};
use super::layers::{Array, Arrays, Right, Scratch, sum_rows, uniform};
use crate::rng::Rng;

/// Where the words of sentences stand in the rows of a batch: the first words of all sentences, then their second words,
/// and so on.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    /// The place of each sentence among those at a position: longer ones first.
    ranks: Vec<usize>,
    /// The first row of each position, and the number of rows.
    starts: Vec<usize>,
}

impl Batch {
    pub(super) fn of(lengths: impl Iterator<Item = usize>) -> Self {
        let lengths: Vec<usize> = lengths.collect();
        let mut order: Vec<usize> = (0..lengths.len()).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(lengths[i]));
        let mut ranks = vec![0; lengths.len()];
        order.iter().enumerate().for_each(|(rank, &i)| ranks[i] = rank);
        let longest = order.first().map_or(0, |&i| lengths[i]);
        let mut starts = vec![0];
        for position in 0..longest {
            let size = order.partition_point(|&i| lengths[i] > position);
            starts.push(starts[position] + size);
        }
        Batch { ranks, starts }
    }

    pub(super) fn n_rows(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// The row of a word.
    pub(super) fn row(&self, sentence: usize, position: usize) -> usize {
        self.starts[position] + self.ranks[sentence]
    }

    /// The words of all sentences, in order: the number of the sentence and the position.
    pub(super) fn words(&self) -> impl Iterator<Item = (usize, usize)> {
        let length =
            move |rank: usize| (0..self.n_positions()).take_while(move |&i| self.size(i) > rank).count();
        let sentences = self.ranks.iter().enumerate();
        sentences
            .flat_map(move |(sentence, &rank)| (0..length(rank)).map(move |position| (sentence, position)))
    }

    fn n_positions(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    fn size(&self, position: usize) -> usize {
        self.starts[position + 1] - self.starts[position]
    }

    /// The positions in reading order, or the other way round; each with the one before it.
    fn walk(&self, direction: usize) -> impl DoubleEndedIterator<Item = (usize, Option<usize>)> + use<> {
        let n = self.n_positions();
        (0..n).map(move |i| match direction {
            0 => (i, i.checked_sub(1)),
            _ => (n - 1 - i, (i > 0).then(|| n - i)),
        })
    }

    /// How many sentences are at both positions.
    fn n_shared(&self, position: usize, before: usize) -> usize {
        self.size(position).min(self.size(before))
    }

    /// The rows at a position: the place of the sentence, the row, and that of the same sentence at the position before,
    /// if it has one.
    fn rows(
        &self,
        position: usize,
        before: Option<usize>,
    ) -> impl Iterator<Item = (usize, usize, Option<usize>)> {
        let before = before.map(|before| (self.starts[before], self.n_shared(position, before)));
        (0..self.size(position)).map(move |rank| {
            let row_before = before.filter(|&(_, n_before)| rank < n_before).map(|(start, _)| start + rank);
            (rank, self.starts[position] + rank, row_before)
        })
    }
}

/// The parameters of a layer: for both directions side by side the weights of the input and the bias, one above the
/// other the weights of the state before. The four gates are input, forget, candidate, output.
#[derive(Clone, Copy, Debug)]
pub(super) struct BiLstm {
    input: Array,
    recurrent: [Array; 2],
    bias: Array,
    n_units: usize,
}

/// Weights packed for products.
#[derive(Clone, Debug, Default)]
pub(super) struct PackedBiLstm {
    input: Right,
    recurrent: [Right; 2],
    bias: Vec<f32>,
    input_back: Packed,
    recurrent_back: [Packed; 2],
    n_units: usize,
}

/// What a layer computed for a batch.
#[derive(Clone, Debug, Default)]
pub(super) struct LstmMemory {
    /// The activations of all gates; after the way back, the gradients of their sums.
    gates: Vec<f32>,
    c: Vec<f32>,
    tanh_c: Vec<f32>,
    /// The states of both directions, side by side: what comes out.
    pub h: Vec<f32>,
    c_before: Vec<f32>,
    dc: Vec<f32>,
    h_before: Vec<f32>,
}

/// One direction: where its numbers lie in the rows of both.
#[derive(Clone, Copy)]
struct Lane {
    /// Units in each direction.
    n: usize,
    direction: usize,
}

impl Lane {
    fn units(self, row: usize) -> Range<usize> {
        let start = (2 * row + self.direction) * self.n;
        start..start + self.n
    }

    fn gates(self, row: usize) -> Range<usize> {
        let start = (2 * row + self.direction) * 4 * self.n;
        start..start + 4 * self.n
    }

    /// Copies the state of a row; without one, zeros.
    fn copy(self, states: &[f32], row: Option<usize>, out: &mut [f32]) {
        match row {
            Some(row) => out.copy_from_slice(&states[self.units(row)]),
            None => out.fill(0.0),
        }
    }
}

impl BiLstm {
    pub(super) fn new(arrays: &mut Arrays, name: &str, n_in: usize, n_units: usize) -> Self {
        let input = arrays.add(format!("{name}.input"), n_in, 8 * n_units);
        let recurrent = ["forward", "backward"]
            .map(|direction| arrays.add(format!("{name}.{direction}"), n_units, 4 * n_units));
        BiLstm { input, recurrent, bias: arrays.add(format!("{name}.bias"), 1, 8 * n_units), n_units }
    }

    /// Random weights; forget gates begin open.
    pub(super) fn start(&self, all: &mut [f32], rng: &mut Rng) {
        let n = self.n_units;
        uniform(self.input.of_mut(all), (6.0 / (self.input.n_rows + 4 * n) as f64).sqrt(), rng);
        self.recurrent
            .iter()
            .for_each(|array| uniform(array.of_mut(all), (6.0 / (5 * n) as f64).sqrt(), rng));
        self.bias.of_mut(all).chunks_exact_mut(4 * n).for_each(|gates| gates[n..2 * n].fill(1.0));
    }

    pub(super) fn pack(&self, all: &[f32], learns: bool, out: &mut PackedBiLstm) {
        let Array { n_rows, n_columns, .. } = self.input;
        let n = self.n_units;
        out.n_units = n;
        out.input.set(self.input.of(all), n_rows, n_columns);
        out.bias.clear();
        out.bias.extend(self.bias.of(all));
        for (direction, array) in self.recurrent.iter().enumerate() {
            out.recurrent[direction].set(array.of(all), n, 4 * n);
        }
        if learns {
            out.input_back.set_transposed(self.input.of(all), n_rows, n_columns);
            for (direction, array) in self.recurrent.iter().enumerate() {
                out.recurrent_back[direction].set_transposed(array.of(all), n, 4 * n);
            }
        }
    }

    /// Keeps the weights in 8 bits, for parsing alone.
    pub(super) fn shrink(&self, all: &[f32], out: &mut PackedBiLstm) {
        out.input = Right::small(self.input.of(all), self.input.n_columns);
        out.recurrent = self.recurrent.map(|array| Right::small(array.of(all), array.n_columns));
    }

    /// The way back from the gradients of what came out, which change on the way, to those of the parameters and of the
    /// input.
    pub(super) fn back(
        &self,
        packed: &PackedBiLstm,
        (batch, x): (&Batch, &[f32]),
        memory: &mut LstmMemory,
        (d_out, dx): (&mut [f32], &mut [f32]),
        gradients: &mut [f32],
        scratch: &mut Scratch,
    ) {
        let (n, n_in, n_rows) = (self.n_units, self.input.n_rows, batch.n_rows());
        let LstmMemory { gates, c, tanh_c, h, c_before, dc, h_before } = memory;
        for direction in 0..2 {
            let lane = Lane { n, direction };
            dc.clear();
            dc.resize(batch.ranks.len() * n, 0.0);
            for (position, before) in batch.walk(direction).rev() {
                let start = batch.starts[position];
                let n_before = before.map_or(0, |before| batch.n_shared(position, before));
                for (rank, row, row_before) in batch.rows(position, before) {
                    lane.copy(c, row_before, c_before);
                    let (units, gates) = (lane.units(row), &mut gates[lane.gates(row)]);
                    let dc = &mut dc[rank * n..(rank + 1) * n];
                    lstm_cell_back(gates, c_before, &tanh_c[units.clone()], &d_out[units], dc);
                }
                if let Some(before) = before {
                    let d_gates =
                        Left { values: &gates[lane.gates(start).start..], n_rows: n_before, stride: 8 * n };
                    let d_before = &mut d_out[lane.units(batch.starts[before]).start..];
                    multiply(d_gates, &packed.recurrent_back[direction], d_before, 2 * n, Sum::Added);
                }
            }
            h_before.clear();
            h_before.resize(n_rows * n, 0.0);
            for (position, before) in batch.walk(direction) {
                let Some(before) = before else { continue };
                for rank in 0..batch.n_shared(position, before) {
                    let to = (batch.starts[position] + rank) * n;
                    let from = lane.units(batch.starts[before] + rank);
                    h_before[to..to + n].copy_from_slice(&h[from]);
                }
            }
            let d_gates = Left { values: &gates[lane.gates(0).start..], n_rows, stride: 8 * n };
            let to = self.recurrent[direction].of_mut(gradients);
            scratch.outer_product(Left::dense(h_before, n), n, d_gates, 4 * n, to, 4 * n);
            let to = &mut self.input.of_mut(gradients)[lane.gates(0).start..];
            scratch.product_with_packed(Left::dense(x, n_in), n_in, to, 8 * n);
        }
        sum_rows(gates, self.bias.of_mut(gradients));
        multiply(Left::dense(gates, 8 * n), &packed.input_back, dx, n_in, Sum::Fresh);
    }
}

impl PackedBiLstm {
    /// Reads a batch of rows, `n_in` numbers each.
    pub(super) fn apply(&self, batch: &Batch, x: &[f32], n_in: usize, memory: &mut LstmMemory) {
        let (n, n_rows) = (self.n_units, batch.n_rows());
        let LstmMemory { gates, c, tanh_c, h, c_before, .. } = memory;
        gates.resize(n_rows * 8 * n, 0.0);
        [&mut *c, &mut *tanh_c, &mut *h].into_iter().for_each(|values| values.resize(n_rows * 2 * n, 0.0));
        c_before.resize(n, 0.0);
        gates.chunks_exact_mut(8 * n).for_each(|row| row.copy_from_slice(&self.bias));
        self.input.multiply(Left { values: x, n_rows, stride: n_in }, gates, 8 * n, Sum::Added);
        for direction in 0..2 {
            let lane = Lane { n, direction };
            for (position, before) in batch.walk(direction) {
                let start = batch.starts[position];
                let n_before = before.map_or(0, |before| batch.n_shared(position, before));
                if let Some(before) = before {
                    let values = &h[lane.units(batch.starts[before]).start..];
                    let states = Left { values, n_rows: n_before, stride: 2 * n };
                    let sums = &mut gates[lane.gates(start).start..];
                    self.recurrent[direction].multiply(states, sums, 8 * n, Sum::Added);
                }
                for (_, row, row_before) in batch.rows(position, before) {
                    lane.copy(c, row_before, c_before);
                    let (units, gates) = (lane.units(row), &mut gates[lane.gates(row)]);
                    let (c, tanh_c, h) = (&mut c[units.clone()], &mut tanh_c[units.clone()], &mut h[units]);
                    lstm_cell(gates, c_before, c, tanh_c, h);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::gradients::check;
    use super::super::kernel::tests::random;
    use super::*;

    #[test]
    fn a_batch_keeps_positions_together() {
        let batch = Batch::of([2, 0, 3, 1].into_iter());
        let rows = |sentence, n| (0..n).map(|position| batch.row(sentence, position)).collect::<Vec<_>>();
        assert_eq!([rows(0, 2), rows(2, 3), rows(3, 1)], [vec![1, 4], vec![0, 3, 5], vec![2]]);
        assert_eq!(batch.n_rows(), 6);
        assert_eq!(Batch::of([].into_iter()).n_rows(), 0);
    }

    fn layer(n_in: usize, n_units: usize) -> (BiLstm, Vec<f32>) {
        let mut arrays = Arrays::default();
        let layer = BiLstm::new(&mut arrays, "test", n_in, n_units);
        let mut all = vec![0.0; arrays.n_numbers];
        let mut rng = Rng::new(5);
        layer.start(&mut all, &mut rng);
        uniform(layer.bias.of_mut(&mut all), 0.5, &mut rng);
        (layer, all)
    }

    fn states(layer: &BiLstm, all: &[f32], batch: &Batch, x: &[f32]) -> Vec<f32> {
        let (mut packed, mut memory) = (PackedBiLstm::default(), LstmMemory::default());
        layer.pack(all, false, &mut packed);
        packed.apply(batch, x, layer.input.n_rows, &mut memory);
        memory.h
    }

    #[test]
    fn sentences_of_a_batch_do_not_see_each_other() {
        let (layer, all) = layer(5, 6);
        let lengths = [4, 1, 7, 4];
        let batch = Batch::of(lengths.into_iter());
        let x = random(&mut Rng::new(6), batch.n_rows() * 5);
        let together = states(&layer, &all, &batch, &x);
        for (sentence, &length) in lengths.iter().enumerate() {
            let rows = |values: &[f32], width: usize| -> Vec<f32> {
                let row = |position| &values[batch.row(sentence, position) * width..][..width];
                (0..length).flat_map(row).copied().collect()
            };
            let alone = states(&layer, &all, &Batch::of([length].into_iter()), &rows(&x, 5));
            assert_eq!(alone, rows(&together, 12), "the same bits");
        }
    }

    #[test]
    fn gradients_are_those_of_finite_differences() {
        let (layer, all) = layer(3, 4);
        let batch = Batch::of([3, 1, 2].into_iter());
        let mut rng = Rng::new(7);
        let (x, wanted) = (random(&mut rng, batch.n_rows() * 3), random(&mut rng, batch.n_rows() * 8));
        let loss = |all: &[f32], x: &[f32]| -> f64 {
            let pairs = states(&layer, all, &batch, x).into_iter().zip(&wanted);
            pairs.map(|(h, wanted)| f64::from(h) * f64::from(*wanted)).sum()
        };
        let (mut packed, mut memory) = (PackedBiLstm::default(), LstmMemory::default());
        layer.pack(&all, true, &mut packed);
        packed.apply(&batch, &x, 3, &mut memory);
        let (mut gradients, mut dx) = (vec![9.0; all.len()], vec![9.0; x.len()]);
        let scratch = &mut Scratch::default();
        let mut d_out = wanted.clone();
        layer.back(&packed, (&batch, &x), &mut memory, (&mut d_out, &mut dx), &mut gradients, scratch);
        check(&all, &gradients, 2e-4, |all| loss(all, &x));
        check(&x, &dx, 2e-4, |x| loss(&all, x));
    }
}
