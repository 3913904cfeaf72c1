//! Reads an encoder from the files in which encoders of the BERT family are passed around: `config.json`, `vocab.txt` or
//! `tokenizer.json`, and `model.safetensors`. BERT and MPNet are known. Writes such files, too.

use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::distances::N_KINDS;
use super::tokenizer::Tokenizer;
use super::{Encoder, Layer, Layout, Norm, Sizes};
use crate::config::EncoderFiles;
use crate::error::{Code, Error, Result};
use crate::score::neural::file;
use crate::score::neural::layers::{Array, Linear};

/// The settings that count.
#[derive(Deserialize)]
struct Settings {
    hidden_size: usize,
    num_attention_heads: usize,
    num_hidden_layers: usize,
    intermediate_size: usize,
    max_position_embeddings: usize,
    #[serde(default = "default_epsilon")]
    layer_norm_eps: f32,
    #[serde(default = "gelu")]
    hidden_act: String,
    #[serde(default = "absolute")]
    position_embedding_type: String,
    #[serde(default = "bert")]
    model_type: String,
    do_lower_case: Option<bool>,
    /// MPNet's kinds of distances.
    relative_attention_num_buckets: Option<usize>,
}

fn default_epsilon() -> f32 {
    1e-12
}

fn gelu() -> String {
    "gelu".to_owned()
}

fn absolute() -> String {
    "absolute".to_owned()
}

fn bert() -> String {
    "bert".to_owned()
}

/// What the kinds of encoders do not have in common, and how their files call it.
struct Kind {
    /// The position of the first piece.
    first_position: usize,
    types: Option<&'static str>,
    distances: Option<&'static str>,
    /// Queries, keys and values.
    attention: [&'static str; 3],
    mixed: &'static str,
    norm_1: &'static str,
}

const BERT: Kind = Kind {
    first_position: 0,
    types: Some("embeddings.token_type_embeddings.weight"),
    distances: None,
    attention: ["attention.self.query", "attention.self.key", "attention.self.value"],
    mixed: "attention.output.dense",
    norm_1: "attention.output.LayerNorm",
};

const MPNET: Kind = Kind {
    first_position: 2,
    types: None,
    distances: Some("encoder.relative_attention_bias.weight"),
    attention: ["attention.attn.q", "attention.attn.k", "attention.attn.v"],
    mixed: "attention.attn.o",
    norm_1: "attention.LayerNorm",
};

const PIECES: &str = "embeddings.word_embeddings.weight";
const POSITIONS: &str = "embeddings.position_embeddings.weight";
const NORM: &str = "embeddings.LayerNorm";
const UP: &str = "intermediate.dense";
const DOWN: &str = "output.dense";
const NORM_2: &str = "output.LayerNorm";

/// All layer norms, by their names in files.
fn norms<'a>(kind: &'a Kind, layout: &'a Layout) -> impl Iterator<Item = (String, Norm)> + 'a {
    let of_layers = layout.layers.iter().enumerate().flat_map(|(i, layer)| {
        let name = |part: &str| format!("encoder.layer.{i}.{part}");
        [(name(kind.norm_1), layer.norm_1), (name(NORM_2), layer.norm_2)]
    });
    std::iter::once((NORM.to_owned(), layout.norm)).chain(of_layers)
}

/// All linear layers, by their names in files: each has some columns of one of ours.
fn linears<'a>(
    kind: &'a Kind,
    layout: &'a Layout,
) -> impl Iterator<Item = (String, Linear, Range<usize>)> + 'a {
    let width = layout.sizes.width;
    layout.layers.iter().enumerate().flat_map(move |(i, &Layer { attention, mixed, up, down, .. })| {
        let name = move |part: &str| format!("encoder.layer.{i}.{part}");
        let of_attention = kind.attention.into_iter().enumerate();
        let of_attention =
            of_attention.map(move |(at, part)| (name(part), attention, at * width..(at + 1) * width));
        let others = [(kind.mixed, mixed), (UP, up), (DOWN, down)];
        let others =
            others.into_iter().map(move |(part, layer)| (name(part), layer, 0..layer.weights.n_columns));
        of_attention.chain(others)
    })
}

impl Encoder {
    /// Reads an encoder from the contents of its files. Of its layers the first `n_layers` are kept.
    ///
    /// # Errors
    /// When it is no encoder of the BERT family, its files do not fit together, or it has fewer layers.
    pub fn read(files: &EncoderFiles, n_layers: usize) -> Result<Self> {
        read(files, n_layers).map_err(|why| Error::new(Code::BadTraining, why))
    }
}

fn read(files: &EncoderFiles, n_layers: usize) -> Result<Encoder, String> {
    let EncoderFiles { config, vocabulary, weights } = files;
    let settings: Settings =
        serde_json::from_str(config).map_err(|error| format!("in the encoder's config.json: {error}"))?;
    let kind = match settings.model_type.as_str() {
        "bert" => &BERT,
        "mpnet" => &MPNET,
        other => {
            return Err(format!("the encoder has model_type {other:?}; \"bert\" and \"mpnet\" are known"));
        }
    };
    let known = [
        ("hidden_act", &settings.hidden_act, "gelu"),
        ("position_embedding_type", &settings.position_embedding_type, "absolute"),
    ];
    if let Some((name, value, known)) = known.iter().find(|(_, value, known)| value != known) {
        return Err(format!("the encoder has {name} {value:?}; only {known:?} is known"));
    }
    if n_layers == 0 || n_layers > settings.num_hidden_layers {
        let n = settings.num_hidden_layers;
        return Err(format!("the encoder has {n} layers: use from 1 to {n} of them, not {n_layers}"));
    }
    let tokenizer = Tokenizer::read(vocabulary, settings.do_lower_case)?;
    let file = Weights::open(weights)?;
    // Padding may make the table longer than the vocabulary.
    let n_pieces = file.shape(PIECES)?[0];
    if n_pieces < tokenizer.len() {
        let n = tokenizer.len();
        return Err(format!("the encoder has {n_pieces} vectors of pieces, but a vocabulary of {n}"));
    }
    let sizes = Sizes {
        n_pieces: tokenizer.len(),
        n_positions: settings.max_position_embeddings.saturating_sub(kind.first_position),
        n_layers,
        width: settings.hidden_size,
        n_heads: settings.num_attention_heads,
        inner: settings.intermediate_size,
        epsilon: settings.layer_norm_eps,
        n_distances: match kind.distances {
            Some(_) => settings.relative_attention_num_buckets.unwrap_or(N_KINDS),
            None => 0,
        },
    };
    sizes.check()?;
    let layout = Layout::new(sizes);
    let n_numbers = layout.arrays.n_numbers;
    if n_numbers > file.max_numbers() {
        return Err(format!(
            "the encoder has {n_numbers} weights by its config.json, but its model.safetensors has only {} bytes",
            weights.len()
        ));
    }
    let mut all = vec![0.0; n_numbers];
    file.copy(kind, &layout, n_pieces, &mut all)?;
    if !all.iter().all(|number| number.is_finite()) {
        return Err("the encoder has weights that are not finite".to_owned());
    }
    Ok(Encoder { tokenizer: Arc::new(tokenizer), layout, all })
}

/// The arrays of a safetensors file.
struct Weights<'a> {
    header: Map<String, Value>,
    bytes: &'a [u8],
    /// What all names begin with.
    prefix: &'static str,
}

#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

impl<'a> Weights<'a> {
    fn open(bytes: &'a [u8]) -> Result<Self, String> {
        let damaged = "the encoder's model.safetensors is damaged";
        let (length, rest) = bytes.split_first_chunk::<8>().ok_or(damaged)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| damaged)?;
        let (header, bytes) = rest.split_at_checked(length).ok_or(damaged)?;
        let header: Map<String, Value> =
            serde_json::from_slice(header).map_err(|error| format!("{damaged}: {error}"))?;
        let has = |prefix: &str| header.contains_key(&format!("{prefix}{PIECES}"));
        let prefix = ["", "bert.", "mpnet."].into_iter().find(|prefix| has(prefix));
        let prefix = prefix.ok_or("the encoder has no embeddings.word_embeddings.weight")?;
        Ok(Weights { header, bytes, prefix })
    }

    /// No file of this size has more numbers.
    fn max_numbers(&self) -> usize {
        self.bytes.len() / 2
    }

    fn entry(&self, name: &str) -> Result<Entry, String> {
        let name = format!("{}{name}", self.prefix);
        let entry = self.header.get(&name).ok_or_else(|| format!("the encoder lacks the array {name}"))?;
        serde_json::from_value(entry.clone()).map_err(|error| format!("array {name}: {error}"))
    }

    fn shape(&self, name: &str) -> Result<[usize; 2], String> {
        let entry = self.entry(name)?;
        entry.shape.try_into().map_err(|_| format!("the encoder's array {name} is no matrix"))
    }

    /// The numbers of an array of this shape.
    fn numbers(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, String> {
        let entry = self.entry(name)?;
        let [start, end] = entry.data_offsets;
        let bytes = self.bytes.get(start..end);
        let bytes = bytes.ok_or_else(|| format!("the encoder's array {name} is cut short"))?;
        let numbers: Vec<f32> = match entry.dtype.as_str() {
            "F32" => bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect(),
            "F16" => {
                let halves: Vec<u16> =
                    bytes.as_chunks().0.iter().map(|bytes| u16::from_le_bytes(*bytes)).collect();
                let mut numbers = vec![0.0; halves.len()];
                super::kernel::widen(&halves, &mut numbers);
                numbers
            }
            other => return Err(format!("the encoder's array {name} has numbers of type {other}")),
        };
        let n = shape.iter().try_fold(1usize, |product, n| product.checked_mul(*n));
        if entry.shape != shape || n != Some(numbers.len()) {
            return Err(format!("the encoder's array {name} is not as large as its config.json says"));
        }
        Ok(numbers)
    }

    fn copy(&self, kind: &Kind, layout: &Layout, n_pieces: usize, all: &mut [f32]) -> Result<(), String> {
        let Sizes { n_positions, width, n_heads, n_distances, .. } = layout.sizes;
        let pieces = self.numbers(PIECES, &[n_pieces, width])?;
        layout.pieces.of_mut(all).copy_from_slice(&pieces[..layout.pieces.len()]);
        let shape = [kind.first_position + n_positions, width];
        let mut positions = self.numbers(POSITIONS, &shape)?;
        if let Some(types) = kind.types {
            // All pieces are of the first of the two types, so its vector can be added to those of positions.
            let of_types = self.numbers(types, &self.shape(types)?)?;
            let first =
                of_types.get(..width).ok_or_else(|| format!("the encoder's array {types} is too small"))?;
            for row in positions.chunks_exact_mut(width) {
                row.iter_mut().zip(first).for_each(|(number, of_type)| *number += of_type);
            }
        }
        layout.positions.of_mut(all).copy_from_slice(&positions[kind.first_position * width..]);
        if let (Some(name), Some(array)) = (kind.distances, layout.distances) {
            array.of_mut(all).copy_from_slice(&self.numbers(name, &[n_distances, n_heads])?);
        }
        for (name, norm) in norms(kind, layout) {
            self.copy_norm(&name, norm, all)?;
        }
        for (name, to, columns) in linears(kind, layout) {
            self.copy_linear(&name, to, columns, all)?;
        }
        Ok(())
    }

    /// Copies a linear layer to these columns. In the file its weights lie column by column.
    fn copy_linear(
        &self,
        name: &str,
        to: Linear,
        columns: Range<usize>,
        all: &mut [f32],
    ) -> Result<(), String> {
        let Array { n_rows: n_in, n_columns, .. } = to.weights;
        let weights = self.numbers(&format!("{name}.weight"), &[columns.len(), n_in])?;
        let out = to.weights.of_mut(all);
        for (j, weights) in columns.clone().zip(weights.chunks_exact(n_in)) {
            weights.iter().enumerate().for_each(|(i, weight)| out[i * n_columns + j] = *weight);
        }
        let bias = self.numbers(&format!("{name}.bias"), &[columns.len()])?;
        to.bias.of_mut(all)[columns].copy_from_slice(&bias);
        Ok(())
    }

    fn copy_norm(&self, name: &str, to: Norm, all: &mut [f32]) -> Result<(), String> {
        let width = [to.scale.n_columns];
        // Old files use other names.
        let is_old = self.entry(&format!("{name}.gamma")).is_ok();
        let (scale, shift) = if is_old { ("gamma", "beta") } else { ("weight", "bias") };
        to.scale.of_mut(all).copy_from_slice(&self.numbers(&format!("{name}.{scale}"), &width)?);
        to.shift.of_mut(all).copy_from_slice(&self.numbers(&format!("{name}.{shift}"), &width)?);
        Ok(())
    }
}

/// The files of an encoder with all these numbers.
pub(super) fn write(layout: &Layout, tokenizer: &Tokenizer, all: &[f32]) -> EncoderFiles {
    let Sizes { n_pieces, n_positions, n_layers, width, n_heads, inner, epsilon, n_distances } = layout.sizes;
    let (kind, model_type) = if n_distances > 0 { (&MPNET, "mpnet") } else { (&BERT, "bert") };
    let mut arrays: Vec<(String, Vec<usize>, Vec<f32>)> = Vec::new();
    let mut push =
        |name: String, shape: &[usize], numbers: Vec<f32>| arrays.push((name, shape.to_vec(), numbers));
    push(PIECES.to_owned(), &[n_pieces, width], layout.pieces.of(all).to_vec());
    let mut positions = vec![0.0; kind.first_position * width];
    positions.extend_from_slice(layout.positions.of(all));
    push(POSITIONS.to_owned(), &[kind.first_position + n_positions, width], positions);
    if let Some(types) = kind.types {
        // Those of positions have it already.
        push(types.to_owned(), &[2, width], vec![0.0; 2 * width]);
    }
    if let (Some(name), Some(array)) = (kind.distances, layout.distances) {
        push(name.to_owned(), &[n_distances, n_heads], array.of(all).to_vec());
    }
    for (name, norm) in norms(kind, layout) {
        push(format!("{name}.weight"), &[width], norm.scale.of(all).to_vec());
        push(format!("{name}.bias"), &[width], norm.shift.of(all).to_vec());
    }
    for (name, from, columns) in linears(kind, layout) {
        let Array { n_rows: n_in, n_columns, .. } = from.weights;
        let (n_out, weights) = (columns.len(), from.weights.of(all));
        let by_column = columns.clone().flat_map(|j| (0..n_in).map(move |i| weights[i * n_columns + j]));
        push(format!("{name}.weight"), &[n_out, n_in], by_column.collect());
        push(format!("{name}.bias"), &[n_out], from.bias.of(all)[columns].to_vec());
    }
    let config = serde_json::json!({
        "model_type": model_type,
        "hidden_act": gelu(),
        "hidden_size": width,
        "num_attention_heads": n_heads,
        "num_hidden_layers": n_layers,
        "intermediate_size": inner,
        "max_position_embeddings": kind.first_position + n_positions,
        "layer_norm_eps": epsilon,
        "do_lower_case": tokenizer.is_uncased,
    });
    EncoderFiles {
        config: config.to_string(),
        vocabulary: tokenizer.pieces.join("\n"),
        weights: file::of_floats(arrays.iter()),
    }
}
