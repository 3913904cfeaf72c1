//! From the words of sentences to vectors: the forward pass.

use std::ops::Range;
use std::sync::Arc;

use super::kernel::{gelu, layer_norm, scale};
use super::tokenizer::Tokenizer;
use super::{Layer, Layout, Norm, Sizes};
use super::{distances, stored};
use crate::rng::Rng;
use crate::score::neural::kernel::{Left, Packed, Sum, add, multiply, softmax};
use crate::score::neural::layers::{Dropout, PackedLinear};
use crate::sentence::Sentence;

/// Pieces that go through all layers together, so that they stay in the cache. A longer window is not cut.
const GROUP: usize = 192;

/// The weights of an encoder, packed for products.
#[derive(Clone, Debug)]
pub(in crate::score::neural) struct PackedEncoder {
    pub(super) sizes: Sizes,
    pub(super) tokenizer: Arc<Tokenizer>,
    pieces: Arc<Table>,
    positions: Vec<f32>,
    pub(super) norm: PackedNorm,
    pub(super) layers: Vec<PackedLayer>,
    distances: Vec<f32>,
}

/// The vectors of pieces.
#[derive(Clone, Debug)]
pub(super) enum Table {
    Float(Vec<f32>),
    /// In 8 bits, with a scale for each row.
    Small(Vec<i8>, Vec<f32>),
}

#[derive(Clone, Debug, Default)]
pub(super) struct PackedNorm {
    pub scale: Vec<f32>,
    pub shift: Vec<f32>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct PackedLayer {
    pub attention: PackedLinear,
    pub mixed: PackedLinear,
    pub norm_1: PackedNorm,
    pub up: PackedLinear,
    pub down: PackedLinear,
    pub norm_2: PackedNorm,
}

/// The pieces of sentences, and where each word has its first and its last.
#[derive(Clone, Debug, Default)]
pub(super) struct Pieces {
    ids: Vec<u32>,
    pub positions: Vec<u32>,
    /// The pieces that see each other.
    pub windows: Vec<Range<usize>>,
    /// For each word of each sentence the rows of its first and its last piece.
    pub words: Vec<[u32; 2]>,
}

/// What a layer computed.
#[derive(Clone, Debug, Default)]
pub(super) struct LayerMemory {
    /// Queries, keys and values.
    pub attention: Vec<f32>,
    /// How much each piece looks at each other of its window: for each window and head a square.
    pub looks: Vec<f32>,
    pub context: Vec<f32>,
    pub first: HalfMemory,
    pub up: Vec<f32>,
    pub inner: Vec<f32>,
    pub second: HalfMemory,
}

/// How a half of a layer ended.
#[derive(Clone, Debug, Default)]
pub(super) struct HalfMemory {
    pub dropout: Dropout,
    pub norm: NormMemory,
    /// What comes out.
    pub out: Vec<f32>,
}

/// Memory of the forward pass.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    pub pieces: Pieces,
    /// What goes into the first layer.
    pub start: Vec<f32>,
    pub start_norm: NormMemory,
    pub start_dropout: Dropout,
    pub layers: Vec<LayerMemory>,
    scratch: Scratch,
}

/// Rows before scale and shift, and what they were multiplied by.
#[derive(Clone, Debug, Default)]
pub(super) struct NormMemory {
    pub normal: Vec<f32>,
    pub factors: Vec<f32>,
}

#[derive(Clone, Debug, Default)]
struct Scratch {
    keys: Vec<f32>,
    packed_keys: Packed,
    packed_values: Packed,
    distances: Vec<f32>,
}

/// Gives a vector a length; what was in it does not matter.
pub(super) fn resize(values: &mut Vec<f32>, n: usize) -> &mut [f32] {
    values.resize(n, 0.0);
    values
}

impl Pieces {
    /// Cuts the words of sentences into pieces, and long sentences into windows that overlap.
    pub(super) fn read(&mut self, tokenizer: &Tokenizer, n_positions: usize, sentences: &[&Sentence]) {
        let Pieces { ids, positions, windows, words } = self;
        ids.clear();
        positions.clear();
        windows.clear();
        words.clear();
        let (mut pieces, mut ends) = (Vec::new(), Vec::new());
        for sentence in sentences {
            pieces.clear();
            ends.clear();
            for token in &sentence.tokens {
                let first = pieces.len();
                tokenizer.cut(&token.form, &mut pieces);
                ends.push([first, pieces.len() - 1]);
            }
            let cuts = Windows::new(pieces.len(), n_positions - 2);
            let start = ids.len();
            for window in 0..cuts.n {
                let begin = ids.len();
                ids.push(tokenizer.start);
                ids.extend_from_slice(&pieces[cuts.range(window)]);
                ids.push(tokenizer.end);
                positions.extend(0..(ids.len() - begin) as u32);
                windows.push(begin..ids.len());
            }
            let row = |piece: usize| (start + cuts.row(piece)) as u32;
            words.extend(ends.iter().map(|ends| ends.map(row)));
        }
    }
}

/// How the pieces of a sentence are cut into windows.
#[derive(Clone, Copy, Debug)]
struct Windows {
    n_pieces: usize,
    n: usize,
    /// Pieces in a window, but for the last.
    size: usize,
    /// From the beginning of one window to that of the next.
    step: usize,
}

impl Windows {
    fn new(n_pieces: usize, size: usize) -> Self {
        // A quarter is read twice.
        let step = size - size / 4;
        let n = 1 + n_pieces.saturating_sub(size).div_ceil(step);
        Windows { n_pieces, n, size, step }
    }

    fn range(self, window: usize) -> Range<usize> {
        window * self.step..(window * self.step + self.size).min(self.n_pieces)
    }

    /// The row of a piece, in the window in which it is farther from the edge.
    fn row(self, piece: usize) -> usize {
        let overlap = self.size - self.step;
        let window = (piece.saturating_sub(overlap / 2) / self.step).min(self.n - 1);
        // Each window has a start and an end.
        window * (self.size + 2) + 1 + piece - window * self.step
    }
}

impl PackedNorm {
    fn set(&mut self, norm: Norm, all: &[f32]) {
        self.scale.clear();
        self.scale.extend(norm.scale.of(all));
        self.shift.clear();
        self.shift.extend(norm.shift.of(all));
    }

    /// Normalises rows in place.
    fn apply(&self, rows: &mut [f32], epsilon: f32, memory: &mut NormMemory) {
        let width = self.scale.len();
        memory.normal.resize(rows.len(), 0.0);
        memory.factors.clear();
        for (row, normal) in rows.chunks_exact_mut(width).zip(memory.normal.chunks_exact_mut(width)) {
            memory.factors.push(layer_norm(row, normal, &self.scale, &self.shift, epsilon));
        }
    }
}

/// Arrays in 8 bits, one after the other.
struct Cursor<'a>(&'a [&'a [u8]]);

impl<'a> Cursor<'a> {
    fn bytes(&mut self) -> &'a [u8] {
        let (first, rest) = self.0.split_first().expect("as many arrays as the outline has");
        self.0 = rest;
        first
    }

    fn small(&mut self) -> &'a [i8] {
        bytemuck::cast_slice(self.bytes())
    }

    fn floats(&mut self) -> Vec<f32> {
        stored::floats(self.bytes()).collect()
    }

    fn linear(&mut self) -> PackedLinear {
        let (weights, scales) = (self.small(), self.floats());
        PackedLinear::small(weights, &scales, self.floats())
    }

    fn norm(&mut self) -> PackedNorm {
        PackedNorm { scale: self.floats(), shift: self.floats() }
    }
}

impl PackedEncoder {
    pub(super) fn new(layout: &Layout, tokenizer: Arc<Tokenizer>, all: &[f32], learns: bool) -> Self {
        let pieces = Arc::new(Table::Float(layout.pieces.of(all).to_vec()));
        Self::with_pieces(layout, tokenizer, pieces, all, learns)
    }

    /// An encoder whose vectors of pieces lie elsewhere.
    pub(super) fn with_pieces(
        layout: &Layout,
        tokenizer: Arc<Tokenizer>,
        pieces: Arc<Table>,
        all: &[f32],
        learns: bool,
    ) -> Self {
        let mut packed = PackedEncoder {
            sizes: layout.sizes,
            tokenizer,
            pieces,
            positions: Vec::new(),
            norm: PackedNorm::default(),
            layers: vec![PackedLayer::default(); layout.layers.len()],
            distances: Vec::new(),
        };
        packed.set(layout, all, learns);
        packed
    }

    /// The encoder in 8 bits, from the bytes of its arrays in the order of a model file.
    pub(super) fn small(layout: &Layout, tokenizer: Arc<Tokenizer>, arrays: &[&[u8]]) -> Self {
        let mut next = Cursor(arrays);
        let numbers = next.small().to_vec();
        let pieces = Arc::new(Table::Small(numbers, next.floats()));
        let (positions, scales) = (next.small(), next.floats());
        let rows = positions.chunks_exact(layout.sizes.width).zip(scales);
        let positions =
            rows.flat_map(|(row, scale)| row.iter().map(move |x| f32::from(*x) * scale)).collect();
        let norm = next.norm();
        let layers = layout.layers.iter().map(|_| PackedLayer {
            attention: next.linear(),
            mixed: next.linear(),
            norm_1: next.norm(),
            up: next.linear(),
            down: next.linear(),
            norm_2: next.norm(),
        });
        let layers = layers.collect();
        let distances = layout.distances.map_or(Vec::new(), |_| next.floats());
        PackedEncoder { sizes: layout.sizes, tokenizer, pieces, positions, norm, layers, distances }
    }

    /// Takes over all weights but those of pieces, which are never changed.
    pub(super) fn set(&mut self, layout: &Layout, all: &[f32], learns: bool) {
        self.positions.clear();
        self.positions.extend(layout.positions.of(all));
        self.norm.set(layout.norm, all);
        self.distances.clear();
        self.distances.extend(layout.distances.iter().flat_map(|array| array.of(all)));
        for (packed, layer) in self.layers.iter_mut().zip(&layout.layers) {
            let Layer { attention, mixed, norm_1, up, down, norm_2 } = *layer;
            packed.attention.set(attention, all, learns);
            packed.mixed.set(mixed, all, learns);
            packed.norm_1.set(norm_1, all);
            packed.up.set(up, all, learns);
            packed.down.set(down, all, learns);
            packed.norm_2.set(norm_2, all);
        }
    }

    /// Reads sentences and gives each word of each of them, in order, a row of `out`: the means of its first and its last
    /// piece in the layers `outputs`, side by side. Layers are numbered from 1.
    pub(super) fn encode(
        &self,
        sentences: &[&Sentence],
        outputs: &[usize],
        memory: &mut Memory,
        out: &mut Vec<f32>,
    ) {
        let Memory { pieces, start, start_norm, layers, scratch, .. } = memory;
        pieces.read(&self.tokenizer, self.sizes.n_positions, sentences);
        let width = self.sizes.width;
        let row_size = outputs.len() * width;
        let out = resize(out, pieces.words.len() * row_size);
        out.fill(0.0);
        layers.resize_with(layers.len().max(1), LayerMemory::default);
        let memory = &mut layers[0];
        let mut windows = &pieces.windows[..];
        while let Some(first) = windows.first() {
            let limit = first.start + GROUP;
            let n = windows.partition_point(|window| window.end <= limit).max(1);
            let (group, rest) = windows.split_at(n);
            windows = rest;
            let rows = first.start..group[n - 1].end;
            self.embed(pieces, rows.clone(), start, start_norm);
            for (i, layer) in self.layers.iter().enumerate() {
                layer.apply(self, group, start, &mut None, memory, scratch);
                std::mem::swap(start, &mut memory.second.out);
                for (at, _) in outputs.iter().enumerate().filter(|(_, output)| **output == i + 1) {
                    collect(&pieces.words, rows.clone(), start, &mut out[at * width..], (width, row_size));
                }
            }
        }
    }

    /// The same for weights that are learnt: all pieces go through all layers together, and the memory keeps what the way back
    /// needs. As noise, numbers are left out of each half of a layer, and before the first, with a probability.
    pub(super) fn encode_to_learn(
        &self,
        sentences: &[&Sentence],
        outputs: &[usize],
        mut noise: Option<(f64, &mut Rng)>,
        memory: &mut Memory,
        out: &mut Vec<f32>,
    ) {
        let Memory { pieces, start, start_norm, start_dropout, layers, scratch } = memory;
        pieces.read(&self.tokenizer, self.sizes.n_positions, sentences);
        let (n_rows, width) = (pieces.ids.len(), self.sizes.width);
        let row_size = outputs.len() * width;
        let out = resize(out, pieces.words.len() * row_size);
        out.fill(0.0);
        self.embed(pieces, 0..n_rows, start, start_norm);
        leave_out(start, &mut noise, start_dropout);
        layers.resize_with(self.layers.len(), LayerMemory::default);
        for (i, layer) in self.layers.iter().enumerate() {
            let (before, after) = layers.split_at_mut(i);
            let x = before.last().map_or(&*start, |memory| &memory.second.out);
            layer.apply(self, &pieces.windows, x, &mut noise, &mut after[0], scratch);
            for (at, _) in outputs.iter().enumerate().filter(|(_, output)| **output == i + 1) {
                collect(
                    &pieces.words,
                    0..n_rows,
                    &after[0].second.out,
                    &mut out[at * width..],
                    (width, row_size),
                );
            }
        }
    }

    /// The vectors of pieces before the first layer.
    pub(super) fn embed(
        &self,
        pieces: &Pieces,
        rows: Range<usize>,
        out: &mut Vec<f32>,
        norm: &mut NormMemory,
    ) {
        let width = self.sizes.width;
        let out = resize(out, rows.len() * width);
        for (out, row) in out.chunks_exact_mut(width).zip(rows) {
            let (piece, position) = (pieces.ids[row] as usize, pieces.positions[row] as usize);
            let numbers = piece * width..(piece + 1) * width;
            match &*self.pieces {
                Table::Float(all) => out.copy_from_slice(&all[numbers]),
                Table::Small(all, scales) => {
                    let numbers = out.iter_mut().zip(&all[numbers]);
                    numbers.for_each(|(out, number)| *out = f32::from(*number) * scales[piece]);
                }
            }
            add(&self.positions[position * width..(position + 1) * width], out);
        }
        self.norm.apply(out, self.sizes.epsilon, norm);
    }
}

/// Adds half of the vector of each piece that is the first or the last of its word to the word's row of `out`.
fn collect(
    words: &[[u32; 2]],
    rows: Range<usize>,
    x: &[f32],
    out: &mut [f32],
    (width, stride): (usize, usize),
) {
    // Words go by sentence, so those of a group lie together.
    let first = words.partition_point(|[_, last]| (*last as usize) < rows.start);
    for (word, ends) in words.iter().enumerate().skip(first) {
        if ends[0] as usize >= rows.end {
            break;
        }
        for end in ends.iter().map(|end| *end as usize).filter(|end| rows.contains(end)) {
            let row = &x[(end - rows.start) * width..][..width];
            let out = &mut out[word * stride..][..width];
            out.iter_mut().zip(row).for_each(|(out, x)| *out += 0.5 * x);
        }
    }
}

/// Leaves out numbers with the probability of the noise, if there is noise.
fn leave_out(values: &mut [f32], noise: &mut Option<(f64, &mut Rng)>, dropout: &mut Dropout) {
    if let Some((p, rng)) = noise {
        dropout.apply(values, *p, rng);
    }
}

impl HalfMemory {
    /// Adds what went into the half to what was computed from it, and brings the sum to the same scale.
    fn finish(&mut self, x: &[f32], norm: &PackedNorm, epsilon: f32, noise: &mut Option<(f64, &mut Rng)>) {
        leave_out(&mut self.out, noise, &mut self.dropout);
        add(x, &mut self.out);
        norm.apply(&mut self.out, epsilon, &mut self.norm);
    }
}

impl PackedLayer {
    /// The layer, for windows whose rows lie one after the other in `x`, from the first of the first window on.
    fn apply(
        &self,
        encoder: &PackedEncoder,
        windows: &[Range<usize>],
        x: &[f32],
        noise: &mut Option<(f64, &mut Rng)>,
        memory: &mut LayerMemory,
        scratch: &mut Scratch,
    ) {
        let Sizes { width, inner: n_inner, n_heads, epsilon, .. } = encoder.sizes;
        let n_rows = x.len() / width;
        let LayerMemory { attention, looks, context, first: first_half, up, inner, second } = memory;
        self.attention.apply(Left::dense(x, width), resize(attention, n_rows * 3 * width), 3 * width);
        let first = windows.first().map_or(0, |window| window.start);
        let context = resize(context, n_rows * width);
        let squares = windows.iter().map(|window| window.len() * window.len()).sum::<usize>();
        let mut looks = &mut resize(looks, squares * n_heads)[..];
        for window in windows {
            let rows = window.start - first..window.end - first;
            let (own, rest) = looks.split_at_mut(n_heads * rows.len() * rows.len());
            looks = rest;
            encoder.look(
                &attention[rows.start * 3 * width..],
                rows.len(),
                own,
                &mut context[rows.start * width..],
                scratch,
            );
        }
        self.mixed.apply(Left::dense(context, width), resize(&mut first_half.out, n_rows * width), width);
        first_half.finish(x, &self.norm_1, epsilon, noise);
        let middle = &first_half.out;
        self.up.apply(Left::dense(middle, width), resize(up, n_rows * n_inner), n_inner);
        gelu(up, resize(inner, n_rows * n_inner));
        self.down.apply(Left::dense(inner, n_inner), resize(&mut second.out, n_rows * width), width);
        second.finish(middle, &self.norm_2, epsilon, noise);
    }
}

impl PackedEncoder {
    /// The pieces of a window look at each other, with each head.
    fn look(
        &self,
        attention: &[f32],
        n: usize,
        looks: &mut [f32],
        context: &mut [f32],
        scratch: &mut Scratch,
    ) {
        let Sizes { width, n_heads, .. } = self.sizes;
        let (size, stride) = (width / n_heads, 3 * width);
        let by = 1.0 / (size as f32).sqrt();
        for (head, looks) in looks.chunks_exact_mut(n * n).enumerate() {
            let part = |kind: usize| &attention[kind * width + head * size..];
            scratch.keys.clear();
            part(1).chunks(stride).take(n).for_each(|row| scratch.keys.extend_from_slice(&row[..size]));
            scratch.packed_keys.set_transposed(&scratch.keys, n, size);
            scratch.packed_values.set_rows(Left { values: part(2), n_rows: n, stride }, size);
            multiply(Left { values: part(0), n_rows: n, stride }, &scratch.packed_keys, looks, n, Sum::Fresh);
            scale(looks, by);
            if !self.distances.is_empty() {
                distances::of_window(&self.distances, n_heads, head, n, &mut scratch.distances);
                let rows = distances::rows(&scratch.distances);
                looks.chunks_exact_mut(n).zip(rows).for_each(|(looks, row)| add(row, looks));
            }
            looks.chunks_exact_mut(n).for_each(softmax);
            multiply(
                Left::dense(looks, n),
                &scratch.packed_values,
                &mut context[head * size..],
                width,
                Sum::Fresh,
            );
        }
    }
}
