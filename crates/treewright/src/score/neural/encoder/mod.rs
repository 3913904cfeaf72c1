//! A pre-trained encoder of the BERT family as additional input of the network: words to pieces, pieces through the first
//! layers of a transformer, and for each word the mean of its first and its last piece (Devlin et al. 2019). Encoders of the
//! kind of MPNet (Song et al. 2020) also look at the distance between pieces.
//!
//! Deviations: sentences that have more pieces than the encoder has positions are read in overlapping windows; batches have
//! no padding.

mod backward;
mod distances;
mod forward;
mod input;
mod kernel;
mod load;
mod stored;
mod tokenizer;

pub(super) use self::backward::BackMemory;
pub(super) use self::forward::PackedEncoder;
pub(super) use self::input::{EncoderHeader, EncoderInput, InputMemory, fill};

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use self::forward::Memory;
use self::stored::Bits;
use self::tokenizer::Tokenizer;
use super::layers::{Array, Arrays, Linear};
use crate::sentence::Sentence;

/// A pre-trained encoder as its files have it, with the first of its layers or all of them.
#[derive(Clone, Debug)]
pub struct Encoder {
    tokenizer: Arc<Tokenizer>,
    layout: Layout,
    /// All numbers.
    all: Vec<f32>,
}

impl Encoder {
    /// The vectors of the words of sentences, in order: for each word the means of its first and its last piece in these
    /// layers, side by side. Layers are numbered from 1. In 8 bits, which is faster, the vectors are a little less exact.
    pub fn vectors(&self, sentences: &[&Sentence], layers: &[usize], in_eight_bits: bool) -> Vec<f32> {
        let tokenizer = self.tokenizer.clone();
        let packed = match in_eight_bits {
            false => PackedEncoder::new(&self.layout, tokenizer, &self.all, false),
            true => {
                let arrays = stored::store(&self.layout.arrays, &self.all, Bits::Eight);
                let arrays: Vec<&[u8]> = arrays.iter().map(|array| &array.bytes[..]).collect();
                PackedEncoder::small(&self.layout, tokenizer, &arrays)
            }
        };
        let mut out = Vec::new();
        packed.encode(sentences, layers, &mut Memory::default(), &mut out);
        out
    }
}

/// The sizes of an encoder.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Sizes {
    n_pieces: usize,
    n_positions: usize,
    n_layers: usize,
    /// Numbers in a vector.
    width: usize,
    n_heads: usize,
    /// Units between the two products of the second half of a layer.
    inner: usize,
    /// What is added to variances.
    epsilon: f32,
    /// Kinds of distances between pieces; 0 if the encoder does not look at them.
    #[serde(default, skip_serializing_if = "is_zero")]
    n_distances: usize,
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

impl Sizes {
    /// Do the sizes fit together?
    fn check(&self) -> Result<(), String> {
        let Sizes { n_pieces, n_positions, n_layers, width, n_heads, inner, epsilon, n_distances } = *self;
        let sizes = [n_pieces, n_positions, n_layers, width, n_heads, inner];
        let are_sound = sizes.iter().all(|size| (1..1 << 20).contains(size))
            && n_positions > 2
            && width.is_multiple_of(n_heads)
            && width.max(inner) <= 1 << 14
            && n_layers <= 1 << 10
            && epsilon.is_finite()
            && epsilon >= 0.0
            && distances::is_known(n_distances);
        if are_sound { Ok(()) } else { Err(format!("the sizes of the encoder make no sense: {self:?}")) }
    }
}

/// The scale and the shift of a layer norm.
#[derive(Clone, Copy, Debug)]
struct Norm {
    scale: Array,
    shift: Array,
}

impl Norm {
    fn new(arrays: &mut Arrays, name: &str, width: usize) -> Self {
        Norm {
            scale: arrays.add(format!("{name}.scale"), 1, width),
            shift: arrays.add(format!("{name}.shift"), 1, width),
        }
    }
}

/// One layer: attention and a network for each piece, each followed by the sum with what went in and a layer norm.
#[derive(Clone, Copy, Debug)]
struct Layer {
    /// Queries, keys and values, side by side.
    attention: Linear,
    mixed: Linear,
    norm_1: Norm,
    up: Linear,
    down: Linear,
    norm_2: Norm,
}

/// What the names of all arrays of an encoder begin with.
pub(super) const PREFIX: &str = "encoder.";
const PIECES: &str = "encoder.pieces";

/// Where each array lies among all numbers.
#[derive(Clone, Debug)]
struct Layout {
    sizes: Sizes,
    arrays: Arrays,
    pieces: Array,
    positions: Array,
    norm: Norm,
    layers: Vec<Layer>,
    /// What each kind of distance adds to how much a piece looks at another, for each head; the same in all layers.
    distances: Option<Array>,
}

impl Layout {
    fn new(sizes: Sizes) -> Self {
        let mut arrays = Arrays::default();
        let pieces = arrays.add_table(PIECES, sizes.n_pieces, sizes.width);
        Self::with_pieces(sizes, arrays, pieces)
    }

    /// Without the vectors of pieces, which are never changed: what can be learnt.
    fn of_tuned(sizes: Sizes) -> Self {
        Self::with_pieces(sizes, Arrays::default(), Array { start: 0, n_rows: 0, n_columns: sizes.width })
    }

    /// All arrays but that of the pieces, after those that are there.
    fn with_pieces(sizes: Sizes, mut arrays: Arrays, pieces: Array) -> Self {
        let Sizes { n_positions, n_layers, width, inner, n_heads, n_distances, .. } = sizes;
        let positions = arrays.add_table("encoder.positions", n_positions, width);
        let norm = Norm::new(&mut arrays, "encoder.norm", width);
        let layers = (0..n_layers)
            .map(|i| {
                let name = |part: &str| format!("encoder.{i}.{part}");
                Layer {
                    attention: Linear::new(&mut arrays, &name("attention"), width, 3 * width),
                    mixed: Linear::new(&mut arrays, &name("mixed"), width, width),
                    norm_1: Norm::new(&mut arrays, &name("norm-1"), width),
                    up: Linear::new(&mut arrays, &name("up"), width, inner),
                    down: Linear::new(&mut arrays, &name("down"), inner, width),
                    norm_2: Norm::new(&mut arrays, &name("norm-2"), width),
                }
            })
            .collect();
        // One row: such arrays are stored in 32 bits.
        let distances = (n_distances > 0).then(|| arrays.add("encoder.distances", 1, n_distances * n_heads));
        Layout { sizes, arrays, pieces, positions, norm, layers, distances }
    }
}

#[cfg(test)]
pub(super) mod tests;
