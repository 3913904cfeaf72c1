//! LSTMs whose states form trees: a state is made from any earlier one and an input, and nothing is ever computed again.
//!
//! States are rows, made many at a time; going back to an earlier state is to name its row.

use crate::rng::Rng;
use crate::score::neural::kernel::{Left, Sum, add, lstm_cell, lstm_cell_back};
use crate::score::neural::layers::{Arrays, Linear, PackedLinear, Scratch};
use crate::score::neural::words::NONE;

/// The parameters: for each layer one linear map from its input and the state before to its four gates (input, forget,
/// candidate, output).
#[derive(Clone, Debug)]
pub(super) struct Lstm {
    layers: Vec<Linear>,
    n_units: usize,
}

/// Weights packed for products.
#[derive(Clone, Debug, Default)]
pub(super) struct PackedLstm {
    layers: Vec<PackedLinear>,
    n_in: usize,
    n_units: usize,
}

/// States. Row `i` of each array is of state `i`.
#[derive(Clone, Debug, Default)]
pub(super) struct States {
    layers: Vec<Layer>,
    n_units: usize,
    n_rows: usize,
}

#[derive(Clone, Debug, Default)]
struct Layer {
    /// Input and state before, side by side. For parsing these, the gates and `tanh_c` are kept for the newest rows only.
    x: Vec<f32>,
    /// The activations of all gates; after the way back, the gradients of their sums.
    gates: Vec<f32>,
    tanh_c: Vec<f32>,
    c: Vec<f32>,
    h: Vec<f32>,
    /// Gradients of states.
    dc: Vec<f32>,
    dh: Vec<f32>,
}

/// What is left out while learning: values, with this probability.
pub(super) struct Noise<'a> {
    pub p: f64,
    pub rng: &'a mut Rng,
}

impl Noise<'_> {
    /// Leaves out values. No mask is kept: the way back takes what is 0 for left out. Other values are 0 only where ReLU
    /// has cut them off, and these have no gradient anyway.
    pub(super) fn apply(&mut self, values: &mut [f32]) {
        if self.p == 0.0 {
            return;
        }
        let limit = (self.p * 65536.0) as u64;
        let factor = (1.0 / (1.0 - self.p)) as f32;
        for values in values.chunks_mut(4) {
            let bits = self.rng.next_u64();
            for (i, value) in values.iter_mut().enumerate() {
                *value *= if (bits >> (16 * i)) & 0xFFFF < limit { 0.0 } else { factor };
            }
        }
    }

    /// The way back.
    pub(super) fn back(p: f64, values: &[f32], gradients: &mut [f32]) {
        if p > 0.0 {
            let factor = (1.0 / (1.0 - p)) as f32;
            let pairs = gradients.iter_mut().zip(values);
            pairs.for_each(|(gradient, value)| *gradient *= if *value == 0.0 { 0.0 } else { factor });
        }
    }
}

impl Lstm {
    pub(super) fn new(arrays: &mut Arrays, name: &str, n_in: usize, n_units: usize, n_layers: usize) -> Self {
        let layer = |i: usize| {
            let n_in = if i == 0 { n_in } else { n_units };
            Linear::new(arrays, &format!("{name}.{i}"), n_in + n_units, 4 * n_units)
        };
        Lstm { layers: (0..n_layers).map(layer).collect(), n_units }
    }

    /// Random weights; forget gates begin open.
    pub(super) fn start(&self, all: &mut [f32], rng: &mut Rng) {
        for layer in &self.layers {
            layer.start(all, rng);
            layer.bias.of_mut(all)[self.n_units..2 * self.n_units].fill(1.0);
        }
    }

    pub(super) fn pack(&self, all: &[f32], learns: bool, out: &mut PackedLstm) {
        out.n_units = self.n_units;
        out.n_in = self.layers.first().map_or(0, |layer| layer.weights.n_rows - self.n_units);
        out.layers.resize_with(self.layers.len(), PackedLinear::default);
        self.layers.iter().zip(&mut out.layers).for_each(|(layer, out)| out.set(*layer, all, learns));
    }

    /// The last part of the way back: the gradients of all weights, when those of all gates are known.
    pub(super) fn back_to_weights(&self, states: &States, gradients: &mut [f32], scratch: &mut Scratch) {
        for (linear, layer) in self.layers.iter().zip(&states.layers) {
            linear.back_to_weights(
                Left::dense(&layer.x, linear.weights.n_rows),
                &layer.gates,
                gradients,
                scratch,
            );
        }
    }
}

fn row_of(values: &[f32], row: usize, size: usize) -> &[f32] {
    &values[row * size..(row + 1) * size]
}

impl States {
    pub(super) fn clear(&mut self) {
        for Layer { x, gates, tanh_c, c, h, .. } in &mut self.layers {
            [x, gates, tanh_c, c, h].into_iter().for_each(Vec::clear);
        }
        self.n_rows = 0;
    }

    /// What comes out of the last layer.
    pub(super) fn output(&self, row: u32) -> &[f32] {
        let layer = self.layers.last().expect("there is a layer");
        row_of(&layer.h, row as usize, self.n_units)
    }

    /// Before the way back: no state has a gradient yet.
    pub(super) fn start_back(&mut self) {
        for layer in &mut self.layers {
            for values in [&mut layer.dc, &mut layer.dh] {
                values.clear();
                values.resize(self.n_rows * self.n_units, 0.0);
            }
        }
    }

    /// Adds to the gradient of what comes out of the last layer.
    pub(super) fn add_gradient(&mut self, row: u32, gradient: &[f32]) {
        let (n, row) = (self.n_units, row as usize);
        let layer = self.layers.last_mut().expect("there is a layer");
        add(gradient, &mut layer.dh[row * n..(row + 1) * n]);
    }
}

impl PackedLstm {
    /// Appends a state after each of `before` (or after nothing, `NONE`); `fill` puts the input of each in its place.
    /// Gives the row of the first.
    pub(super) fn extend(
        &self,
        states: &mut States,
        keeps: bool,
        before: &[u32],
        mut noise: Option<&mut Noise<'_>>,
        mut fill: impl FnMut(usize, &mut [f32]),
    ) -> u32 {
        let (n, n_new, first) = (self.n_units, before.len(), states.n_rows);
        states.n_units = n;
        states.layers.resize_with(self.layers.len(), Layer::default);
        let zeros = vec![0.0; n];
        for (i, packed) in self.layers.iter().enumerate() {
            let n_in = if i == 0 { self.n_in } else { n };
            let width = n_in + n;
            let (below, rest) = states.layers.split_at_mut(i);
            let Layer { x, gates, tanh_c, c, h, .. } = &mut rest[0];
            // Where the new rows begin in what only learning keeps.
            let start = if keeps { first } else { 0 };
            x.resize((start + n_new) * width, 0.0);
            gates.resize((start + n_new) * 4 * n, 0.0);
            tanh_c.resize((start + n_new) * n, 0.0);
            c.resize((first + n_new) * n, 0.0);
            h.resize((first + n_new) * n, 0.0);
            let x = &mut x[start * width..];
            for (j, x) in x.chunks_exact_mut(width).enumerate() {
                let (input, state) = x.split_at_mut(n_in);
                match below.last() {
                    None => fill(j, input),
                    Some(below) => input.copy_from_slice(row_of(&below.h, first + j, n)),
                }
                if let Some(noise) = noise.as_deref_mut() {
                    noise.apply(input);
                }
                match before[j] {
                    NONE => state.fill(0.0),
                    row => state.copy_from_slice(row_of(h, row as usize, n)),
                }
            }
            let gates = &mut gates[start * 4 * n..];
            packed.apply(Left { values: x, n_rows: n_new, stride: width }, gates, 4 * n);
            let (c_done, c_new) = c.split_at_mut(first * n);
            let rows = gates.chunks_exact_mut(4 * n).zip(c_new.chunks_exact_mut(n));
            let rows =
                rows.zip(tanh_c[start * n..].chunks_exact_mut(n).zip(h[first * n..].chunks_exact_mut(n)));
            for (((gates, c), (tanh_c, h)), &row) in rows.zip(before) {
                let c_before = if row == NONE { &zeros } else { row_of(c_done, row as usize, n) };
                lstm_cell(gates, c_before, c, tanh_c, h);
            }
        }
        states.n_rows += n_new;
        first as u32
    }

    /// The way back for states that were appended together; `take` gets the gradient of the input of each.
    pub(super) fn back(
        &self,
        states: &mut States,
        first: u32,
        before: &[u32],
        p: f64,
        dx: &mut Vec<f32>,
        mut take: impl FnMut(usize, &[f32]),
    ) {
        let (n, n_new, first) = (self.n_units, before.len(), first as usize);
        let zeros = vec![0.0; n];
        for (i, packed) in self.layers.iter().enumerate().rev() {
            let n_in = if i == 0 { self.n_in } else { n };
            let width = n_in + n;
            let (below, rest) = states.layers.split_at_mut(i);
            let Layer { x, gates, tanh_c, c, dc, dh, .. } = &mut rest[0];
            let gates = &mut gates[first * 4 * n..(first + n_new) * 4 * n];
            let (dc_done, dc_new) = dc.split_at_mut(first * n);
            let (dh_done, dh_new) = dh.split_at_mut(first * n);
            for (j, (gates, &row)) in gates.chunks_exact_mut(4 * n).zip(before).enumerate() {
                let c_before = if row == NONE { &zeros } else { row_of(c, row as usize, n) };
                let dc = &mut dc_new[j * n..(j + 1) * n];
                lstm_cell_back(gates, c_before, row_of(tanh_c, first + j, n), row_of(dh_new, j, n), dc);
                if row != NONE {
                    add(dc, &mut dc_done[row as usize * n..(row as usize + 1) * n]);
                }
            }
            dx.resize(n_new * width, 0.0);
            packed.back_to_input(Left::dense(gates, 4 * n), dx, width, Sum::Fresh);
            for (j, (dx, &row)) in dx.chunks_exact_mut(width).zip(before).enumerate() {
                let (d_input, d_state) = dx.split_at_mut(n_in);
                Noise::back(p, &x[(first + j) * width..(first + j) * width + n_in], d_input);
                match below.last_mut() {
                    None => take(j, d_input),
                    Some(below) => add(d_input, &mut below.dh[(first + j) * n..(first + j + 1) * n]),
                }
                if row != NONE {
                    add(d_state, &mut dh_done[row as usize * n..(row as usize + 1) * n]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::neural::gradients::check;
    use crate::score::neural::kernel::tests::random;
    use crate::score::neural::layers::uniform;

    /// States in the form of a tree: each after the one named.
    const BEFORE: [&[u32]; 3] = [&[NONE, NONE], &[0, 0, 1], &[2, 0, 4]];

    fn lstm(n_in: usize) -> (Lstm, Vec<f32>) {
        let mut arrays = Arrays::default();
        let lstm = Lstm::new(&mut arrays, "test", n_in, 4, 2);
        let mut all = vec![0.0; arrays.n_numbers];
        let mut rng = Rng::new(5);
        lstm.start(&mut all, &mut rng);
        lstm.layers.iter().for_each(|layer| uniform(layer.bias.of_mut(&mut all), 0.5, &mut rng));
        (lstm, all)
    }

    fn run(packed: &PackedLstm, x: &[f32], keeps: bool) -> States {
        let mut states = States::default();
        for before in BEFORE {
            let first = states.n_rows;
            packed.extend(&mut states, keeps, before, None, |j, out| {
                out.copy_from_slice(row_of(x, first + j, out.len()));
            });
        }
        states
    }

    #[test]
    fn gradients_are_those_of_finite_differences() {
        let (lstm, all) = lstm(3);
        let mut rng = Rng::new(7);
        let (x, wanted) = (random(&mut rng, 8 * 3), random(&mut rng, 8 * 4));
        let states = |all: &[f32], x: &[f32]| {
            let mut packed = PackedLstm::default();
            lstm.pack(all, true, &mut packed);
            let states = run(&packed, x, true);
            (packed, states)
        };
        let loss = |all: &[f32], x: &[f32]| -> f64 {
            let (_, states) = states(all, x);
            let of_row = |row: usize| {
                let pairs = states.output(row as u32).iter().zip(row_of(&wanted, row, 4));
                pairs.map(|(h, by)| f64::from(*h) * f64::from(*by)).sum::<f64>()
            };
            (0..8).map(of_row).sum()
        };
        let (packed, mut states) = states(&all, &x);
        states.start_back();
        (0..8).for_each(|row| states.add_gradient(row as u32, row_of(&wanted, row, 4)));
        let (mut gradients, mut d_input, mut dx) = (vec![9.0; all.len()], vec![0.0; x.len()], Vec::new());
        for (before, first) in BEFORE.into_iter().zip([0, 2, 5]).rev() {
            packed.back(&mut states, first, before, 0.0, &mut dx, |j, dx| {
                add(dx, &mut d_input[(first as usize + j) * 3..][..3]);
            });
        }
        lstm.back_to_weights(&states, &mut gradients, &mut Scratch::default());
        check(&all, &gradients, 2e-4, |all| loss(all, &x));
        check(&x, &d_input, 2e-4, |x| loss(&all, x));
    }

    #[test]
    fn what_only_learning_needs_changes_nothing() {
        let (lstm, all) = lstm(5);
        let mut packed = PackedLstm::default();
        lstm.pack(&all, false, &mut packed);
        let x = random(&mut Rng::new(6), 8 * 5);
        let (kept, not) = (run(&packed, &x, true), run(&packed, &x, false));
        (0..8).for_each(|row| assert_eq!(kept.output(row), not.output(row)));
    }
}
