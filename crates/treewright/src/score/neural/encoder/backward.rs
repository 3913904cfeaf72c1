//! The way back through an encoder: from the gradients of the vectors of words to those of its weights. The vectors of pieces
//! are not learnt.

use std::ops::Range;

use super::forward::{LayerMemory, Memory, NormMemory, PackedEncoder, PackedLayer, PackedNorm, resize};
use super::kernel::{gelu_back, layer_norm_back, scale, softmax_back};
use super::{Layer, Layout, Norm, Sizes, distances};
use crate::score::neural::kernel::{Left, Packed, Sum, add, multiply};
use crate::score::neural::layers;

/// Memory of the way back.
#[derive(Clone, Debug, Default)]
pub(in crate::score::neural) struct BackMemory {
    /// The gradients of what comes out of the layer, and of what goes in.
    d_out: Vec<f32>,
    d_in: Vec<f32>,
    /// Those of what comes out of a half of the layer, before what went around it is added.
    d_half: Vec<f32>,
    d_inner: Vec<f32>,
    d_context: Vec<f32>,
    d_attention: Vec<f32>,
    d_looks: Vec<f32>,
    /// Of all layers.
    d_distances: Vec<f32>,
    dense: Vec<f32>,
    packed: Packed,
    scratch: layers::Scratch,
}

impl PackedEncoder {
    /// The way back of [`PackedEncoder::encode_to_learn`]: `d_words` are the gradients of what it gave; those of the weights go
    /// to `gradients`, whatever was there.
    pub(super) fn back(
        &self,
        layout: &Layout,
        outputs: &[usize],
        memory: &Memory,
        d_words: &[f32],
        back: &mut BackMemory,
        gradients: &mut [f32],
    ) {
        let width = self.sizes.width;
        let row_size = outputs.len() * width;
        let n_rows = memory.start.len() / width;
        resize(&mut back.d_out, n_rows * width).fill(0.0);
        back.d_distances.clear();
        back.d_distances.resize(layout.distances.map_or(0, |array| array.len()), 0.0);
        for (i, (layer, arrays)) in self.layers.iter().zip(&layout.layers).enumerate().rev() {
            for (at, _) in outputs.iter().enumerate().filter(|(_, output)| **output == i + 1) {
                for (word, ends) in memory.pieces.words.iter().enumerate() {
                    let gradients = &d_words[word * row_size + at * width..][..width];
                    for end in ends {
                        let to = &mut back.d_out[*end as usize * width..][..width];
                        to.iter_mut().zip(gradients).for_each(|(to, gradient)| *to += 0.5 * gradient);
                    }
                }
            }
            let x = if i == 0 { &memory.start } else { &memory.layers[i - 1].second.out };
            let windows = &memory.pieces.windows;
            layer.back(&self.sizes, arrays, windows, x, &memory.layers[i], back, gradients);
            std::mem::swap(&mut back.d_out, &mut back.d_in);
        }
        if let Some(distances) = layout.distances {
            distances.of_mut(gradients).copy_from_slice(&back.d_distances);
        }
        memory.start_dropout.back(&mut back.d_out);
        norm_back(layout.norm, &self.norm, &memory.start_norm, &mut back.d_out, gradients);
        layout.positions.of_mut(gradients).fill(0.0);
        layout.pieces.of_mut(gradients).fill(0.0);
        for (row, position) in back.d_out.chunks_exact(width).zip(&memory.pieces.positions) {
            add(row, layout.positions.row_mut(gradients, *position as usize));
        }
    }
}

/// The way back through a layer norm, in place.
fn norm_back(norm: Norm, packed: &PackedNorm, memory: &NormMemory, rows: &mut [f32], gradients: &mut [f32]) {
    let width = packed.scale.len();
    let (mut d_scale, mut d_shift) = (vec![0.0; width], vec![0.0; width]);
    let normal = memory.normal.chunks_exact(width);
    for ((row, normal), &factor) in rows.chunks_exact_mut(width).zip(normal).zip(&memory.factors) {
        layer_norm_back(row, normal, factor, &packed.scale, &mut d_scale, &mut d_shift);
    }
    norm.scale.of_mut(gradients).copy_from_slice(&d_scale);
    norm.shift.of_mut(gradients).copy_from_slice(&d_shift);
}

impl PackedLayer {
    /// From the gradients of what came out, `back.d_out`, to those of what went in, `back.d_in`.
    #[allow(clippy::too_many_arguments, reason = "what a layer is, saw and gives")]
    fn back(
        &self,
        sizes: &Sizes,
        arrays: &Layer,
        windows: &[Range<usize>],
        x: &[f32],
        memory: &LayerMemory,
        back: &mut BackMemory,
        gradients: &mut [f32],
    ) {
        let Sizes { width, inner: n_inner, n_heads, .. } = *sizes;
        let n_rows = x.len() / width;
        let BackMemory {
            d_out,
            d_in,
            d_half,
            d_inner,
            d_context,
            d_attention,
            d_looks,
            d_distances,
            dense,
            packed,
            scratch,
        } = back;
        norm_back(arrays.norm_2, &self.norm_2, &memory.second.norm, d_out, gradients);
        let d_inner = resize(d_inner, n_rows * n_inner);
        let d_half = resize(d_half, n_rows * width);
        d_half.copy_from_slice(d_out);
        memory.second.dropout.back(d_half);
        let down = &self.down;
        arrays.down.back(down, &memory.inner, d_half, gradients, Some((d_inner, Sum::Fresh)), scratch);
        gelu_back(&memory.up, d_inner);
        // What went around this half is already there.
        let up = &self.up;
        arrays.up.back(up, &memory.first.out, d_inner, gradients, Some((d_out, Sum::Added)), scratch);
        norm_back(arrays.norm_1, &self.norm_1, &memory.first.norm, d_out, gradients);
        let d_context = resize(d_context, n_rows * width);
        d_half.copy_from_slice(d_out);
        memory.first.dropout.back(d_half);
        let mixed = &self.mixed;
        arrays.mixed.back(mixed, &memory.context, d_half, gradients, Some((d_context, Sum::Fresh)), scratch);
        let d_attention = resize(d_attention, n_rows * 3 * width);
        let mut looks = &memory.looks[..];
        let (size, stride) = (width / n_heads, 3 * width);
        let by = 1.0 / (size as f32).sqrt();
        for window in windows {
            let n = window.len();
            for head in 0..n_heads {
                let (own, rest) = looks.split_at(n * n);
                looks = rest;
                let place = |kind: usize| window.start * stride + kind * width + head * size;
                let part = |kind: usize| Left { values: &memory.attention[place(kind)..], n_rows: n, stride };
                let d_own = Left {
                    values: &d_context[window.start * width + head * size..],
                    n_rows: n,
                    stride: width,
                };
                scratch.outer_product(
                    Left::dense(own, n),
                    n,
                    d_own,
                    size,
                    &mut d_attention[place(2)..],
                    stride,
                );
                dense.clear();
                part(2).values.chunks(stride).take(n).for_each(|row| dense.extend_from_slice(&row[..size]));
                packed.set_transposed(dense, n, size);
                let d_looks = resize(d_looks, n * n);
                multiply(d_own, packed, d_looks, n, Sum::Fresh);
                for (row, gradients) in own.chunks_exact(n).zip(d_looks.chunks_exact_mut(n)) {
                    softmax_back(row, gradients);
                }
                if !d_distances.is_empty() {
                    distances::back(d_looks, n_heads, head, n, d_distances);
                }
                scale(d_looks, by);
                packed.set_rows(part(1), size);
                multiply(Left::dense(d_looks, n), packed, &mut d_attention[place(0)..], stride, Sum::Fresh);
                let keys = &mut d_attention[place(1)..];
                scratch.outer_product(Left::dense(d_looks, n), n, part(0), size, keys, stride);
            }
        }
        let d_in = resize(d_in, n_rows * width);
        d_in.copy_from_slice(d_out);
        let attention = &self.attention;
        arrays.attention.back(attention, x, d_attention, gradients, Some((d_in, Sum::Added)), scratch);
    }
}
