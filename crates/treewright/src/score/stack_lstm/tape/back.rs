//! The way back: through all that was computed, in reverse.

use super::super::chain::{Noise, States};
use super::super::network::{Chain, Network, Trees, Weights};
use super::{Op, Scored, Tape, Words};
use crate::score::neural::kernel::{Left, Sum, add};
use crate::score::neural::words::NONE;

impl Tape {
    /// Adds the gradients of the scores of the next configuration.
    pub(in super::super) fn push_gradients(&mut self, row: &[f32]) {
        self.scored.gradients.extend_from_slice(row);
    }

    /// The way back from the gradients of scores. The gradients of all but embeddings of words and tags go to `gradients`,
    /// whatever was there; `add_embedded` adds those.
    pub(in super::super) fn back(&mut self, weights: Weights<'_>, gradients: &mut [f32]) {
        let Weights { network, packed, .. } = weights;
        let (size, units, p) = (network.config.input_size, network.config.units, network.config.dropout);
        self.d_items.clear();
        self.d_items.resize(self.items.len(), 0.0);
        self.joins.dy.resize(self.joins.n * size, 0.0);
        self.words.dy.resize(self.words.words.len() * size, 0.0);
        self.words.dx.resize(self.words.x.len(), 0.0);
        self.chains.iter_mut().for_each(States::start_back);
        for array in [network.symbols, network.actions] {
            array.of_mut(gradients).fill(0.0);
        }
        let Tape { items, d_items, symbols, chains, words, joins, scored, ops, indices, scratch, dx, .. } =
            self;
        let Scored { sources, x, hidden, gradients: d_scores, d_hidden, dx: d_state } = scored;
        d_hidden.resize(hidden.len(), 0.0);
        d_state.resize(x.len(), 0.0);
        let to_hidden = Some((&mut **d_hidden, Sum::Fresh));
        network.output.back(&packed.output, hidden, d_scores, gradients, to_hidden, scratch);
        relu_back(hidden, d_hidden);
        network.state.back(&packed.state, x, d_hidden, gradients, Some((d_state, Sum::Fresh)), scratch);
        Noise::back(p, x, d_state);
        let n_state = network.state.weights.n_rows;
        for (sources, gradient) in sources.iter().zip(d_state.chunks_exact(n_state)) {
            let mut parts = gradient.chunks_exact(units);
            let mut pass = |chain: Chain, row: u32| {
                chains[chain as usize].add_gradient(row, parts.next().expect("a state has all parts"));
            };
            pass(Chain::Stack, sources[0]);
            pass(Chain::Buffer, sources[1]);
            pass(Chain::History, sources[2]);
            if network.has_deque() {
                pass(Chain::Stack, sources[3]);
                add(&gradient[4 * units..], row_mut(d_items, sources[4], size));
            }
        }
        for &op in ops.iter().rev() {
            match op {
                Op::Extend { chain, first, n, at } => {
                    let (inputs, before) = indices[at as usize..(at + 2 * n) as usize].split_at(n as usize);
                    let (packed, states) = (&packed.chains[chain as usize], &mut chains[chain as usize]);
                    packed.back(states, first, before, p, dx, |j, dx| match chain {
                        Chain::History => add(dx, network.actions.row_mut(gradients, inputs[j] as usize)),
                        _ => add(dx, row_mut(d_items, inputs[j], size)),
                    });
                }
                Op::Join { first, n, join } => {
                    let (at, end) = (first as usize * size, (first + n) as usize * size);
                    let dy = &mut joins.dy[join as usize * size..(join + n) as usize * size];
                    before_relu(&items[at..end], &d_items[at..end], dy);
                    let width = network.join.weights.n_rows;
                    dx.resize(n as usize * width, 0.0);
                    packed.join.back_to_input(Left::dense(dy, size), dx, width, Sum::Fresh);
                    let n_sources = joins.sources.len() / joins.n;
                    let sources = joins.sources[join as usize * n_sources..].chunks_exact(n_sources);
                    for (dx, sources) in dx.chunks_exact(width).zip(sources) {
                        let (first, second) = dx.split_at(size);
                        if network.composes_by_lstm() {
                            chains[Chain::Forward as usize].add_gradient(sources[0], first);
                            chains[Chain::Backward as usize].add_gradient(sources[1], second);
                            continue;
                        }
                        add(first, row_mut(d_items, sources[0], size));
                        if network.trees == Trees::Dependencies {
                            for (dx, &row) in second.chunks_exact(size).zip(&sources[1..]) {
                                add(dx, row_mut(d_items, row, size));
                            }
                        } else {
                            for (i, (dx, &row)) in second.iter().zip(&sources[1..]).enumerate() {
                                d_items[row as usize * size + i] += dx;
                            }
                        }
                    }
                }
                Op::Words { first, n, word } => {
                    let (at, end) = (first as usize * size, (first + n) as usize * size);
                    let dy = &mut words.dy[word as usize * size..(word + n) as usize * size];
                    before_relu(&items[at..end], &d_items[at..end], dy);
                    let n_in = network.input.weights.n_rows;
                    let dx = &mut words.dx[word as usize * n_in..(word + n) as usize * n_in];
                    packed.input.back_to_input(Left::dense(dy, size), dx, n_in, Sum::Fresh);
                }
            }
        }
        for (symbol, rows) in symbols.iter().enumerate().filter(|(_, rows)| rows[0] != NONE) {
            add(row_mut(d_items, rows[0], size), network.symbols.row_mut(gradients, symbol));
        }
        for (lstm, states) in network.chains.iter().zip(&*chains) {
            lstm.back_to_weights(states, gradients, scratch);
        }
        for (layer, x, dy) in [(network.join, &joins.x, &joins.dy), (network.input, &words.x, &words.dy)] {
            layer.back_to_weights(Left::dense(x, layer.weights.n_rows), dy, gradients, scratch);
        }
    }

    /// Adds the gradients of embeddings of words and tags, as the way back left them, to their rows.
    pub(in super::super) fn add_embedded(&self, network: &Network, gradients: &mut [f32]) {
        let Words { words, tags, dx, .. } = &self.words;
        let (word_size, tag_size) = (network.words.n_columns, network.tags.n_columns);
        let rows = dx.chunks_exact(network.input.weights.n_rows);
        for ((dx, &word), &tag) in rows.zip(words).zip(tags) {
            add(&dx[..word_size], network.words.row_mut(gradients, word as usize));
            add(&dx[word_size..word_size + tag_size], network.tags.row_mut(gradients, tag as usize));
        }
    }
}

fn row_mut(values: &mut [f32], row: u32, size: usize) -> &mut [f32] {
    &mut values[row as usize * size..(row as usize + 1) * size]
}

/// The gradients before a ReLU, from those after it.
fn before_relu(values: &[f32], after: &[f32], before: &mut [f32]) {
    before.copy_from_slice(after);
    relu_back(values, before);
}

/// The way back of ReLU, from what came out.
fn relu_back(values: &[f32], gradients: &mut [f32]) {
    let pairs = gradients.iter_mut().zip(values);
    pairs.for_each(|(gradient, value)| *gradient = if *value > 0.0 { *gradient } else { 0.0 });
}
