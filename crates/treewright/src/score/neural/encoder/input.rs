//! The encoder as an input of the network: for each word of a batch its vector in some of the layers, in 16 bits.

use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::forward::{Memory, PackedEncoder};
use super::kernel::{narrow, widen};
use super::stored::{self, Bits};
use super::tokenizer::Tokenizer;
use super::{Encoder, Layout, Sizes};
use crate::score::neural::file::Extra;
use crate::sentence::Sentence;

/// What a model file says about an encoder beside its numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::score::neural) struct EncoderHeader {
    sizes: Sizes,
    /// The layers whose vectors are used, from 1.
    outputs: Vec<usize>,
    eight_bits: bool,
    #[serde(with = "shared")]
    tokenizer: Arc<Tokenizer>,
}

/// How serde reads and writes what is shared.
mod shared {
    use super::{Arc, Deserialize, Serialize, Tokenizer};

    pub(super) fn serialize<S: serde::Serializer>(
        tokenizer: &Tokenizer,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        tokenizer.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<Tokenizer>, D::Error> {
        Tokenizer::deserialize(deserializer).map(Arc::new)
    }
}

impl EncoderHeader {
    /// The number of numbers for each word.
    pub(in crate::score::neural) fn width(&self) -> usize {
        self.outputs.len() * self.sizes.width
    }

    fn bits(&self) -> Bits {
        if self.eight_bits { Bits::Eight } else { Bits::Sixteen }
    }

    /// Do the parts fit together?
    ///
    /// # Errors
    /// Why not.
    pub(in crate::score::neural) fn check(&self) -> Result<(), String> {
        self.sizes.check()?;
        let are_layers = self.outputs.iter().all(|output| (1..=self.sizes.n_layers).contains(output));
        if self.outputs.is_empty() || !are_layers || self.width() > 1 << 16 {
            return Err(format!("the encoder has no layers {:?}", self.outputs));
        }
        if self.tokenizer.len() != self.sizes.n_pieces {
            return Err("the encoder has a vector for each piece".to_owned());
        }
        Ok(())
    }

    /// The arrays that the model file must have.
    pub(in crate::score::neural) fn outline(&self) -> Vec<Extra> {
        stored::outline(&Layout::new(self.sizes), self.bits())
    }
}

/// An encoder whose weights do not change.
#[derive(Debug)]
pub(in crate::score::neural) struct EncoderInput {
    pub(in crate::score::neural) header: EncoderHeader,
    packed: PackedEncoder,
    /// The vectors of sentences that were read before, if they are kept.
    cache: Option<Mutex<Cache>>,
}

/// The vectors of sentences by their words.
type Cache = FxHashMap<String, Arc<[u16]>>;

/// Memory of one thread.
#[derive(Clone, Debug, Default)]
pub(in crate::score::neural) struct InputMemory {
    forward: Memory,
    vectors: Vec<f32>,
    halves: Vec<u16>,
}

impl EncoderInput {
    /// An encoder with the vectors of these layers, which keeps the vectors of all sentences that it reads; and its arrays
    /// for a model file.
    pub(in crate::score::neural) fn learning(encoder: &Encoder, outputs: &[usize]) -> (Self, Vec<Extra>) {
        let header = EncoderHeader {
            sizes: encoder.layout.sizes,
            outputs: outputs.to_vec(),
            eight_bits: false,
            tokenizer: encoder.tokenizer.clone(),
        };
        // What is learnt from is what the model file will have.
        let arrays = encoder.stored(Bits::Sixteen);
        let bytes: Vec<&[u8]> = arrays.iter().map(|array| &array.bytes[..]).collect();
        let mut input = Self::load(header, &bytes).expect("what was just stored can be read");
        input.cache = Some(Mutex::default());
        (input, arrays)
    }

    /// Reads an encoder from the bytes of its arrays in a model file.
    ///
    /// # Errors
    /// When they are damaged.
    pub(in crate::score::neural) fn load(header: EncoderHeader, arrays: &[&[u8]]) -> Result<Self, String> {
        let layout = Layout::new(header.sizes);
        let tokenizer = header.tokenizer.clone();
        let packed = match header.bits() {
            Bits::Sixteen => {
                let all = stored::read(&layout, arrays)?;
                PackedEncoder::new(&layout, tokenizer, &all, false)
            }
            Bits::Eight => {
                stored::check_small(&layout, arrays)?;
                PackedEncoder::small(&layout, tokenizer, arrays)
            }
        };
        Ok(EncoderInput { header, packed, cache: None })
    }

    /// The same encoder with weights of 8 bits instead of 16, and its arrays.
    ///
    /// # Errors
    /// When the arrays are damaged.
    pub(in crate::score::neural) fn quantised(&self, arrays: &[&[u8]]) -> Result<(Self, Vec<Extra>), String> {
        let layout = Layout::new(self.header.sizes);
        let all = stored::read(&layout, arrays)?;
        let encoder = Encoder { tokenizer: self.header.tokenizer.clone(), layout, all };
        let arrays = encoder.stored(Bits::Eight);
        let bytes: Vec<&[u8]> = arrays.iter().map(|array| &array.bytes[..]).collect();
        let header = EncoderHeader { eight_bits: true, ..self.header.clone() };
        Ok((Self::load(header, &bytes)?, arrays))
    }

    /// Hands the vector of each word to `put`, with the numbers of its sentence and its position.
    pub(in crate::score::neural) fn read(
        &self,
        sentences: &[&Sentence],
        memory: &mut InputMemory,
        mut put: impl FnMut(usize, usize, &[u16]),
    ) {
        let Some(cache) = &self.cache else {
            self.encode(sentences, memory);
            let mut rows = memory.halves.chunks_exact(self.header.width());
            for (i, sentence) in sentences.iter().enumerate() {
                (0..sentence.len()).zip(&mut rows).for_each(|(position, row)| put(i, position, row));
            }
            return;
        };
        let keys: Vec<String> = sentences.iter().map(|sentence| key(sentence)).collect();
        let find = |cache: &Cache| keys.iter().map(|key| cache.get(key).cloned()).collect::<Vec<_>>();
        let mut found = find(&cache.lock().expect("nobody panics with the cache"));
        let is_missing = |i: &usize| found[*i].is_none();
        let missing: Vec<usize> = (0..sentences.len()).filter(is_missing).collect();
        if !missing.is_empty() {
            let unknown: Vec<&Sentence> = missing.iter().map(|&i| sentences[i]).collect();
            self.encode(&unknown, memory);
            let mut rest = &memory.halves[..];
            for &i in &missing {
                let (own, after) = rest.split_at(sentences[i].len() * self.header.width());
                rest = after;
                found[i] = Some(own.into());
            }
            let mut cache = cache.lock().expect("nobody panics with the cache");
            missing.iter().for_each(|&i| {
                cache.insert(keys[i].clone(), found[i].clone().expect("it was just made"));
            });
        }
        for (i, found) in found.iter().enumerate() {
            let rows = found.as_ref().expect("all were found or made").chunks_exact(self.header.width());
            rows.enumerate().for_each(|(position, row)| put(i, position, row));
        }
    }

    fn encode(&self, sentences: &[&Sentence], memory: &mut InputMemory) {
        let InputMemory { forward, vectors, halves } = memory;
        self.packed.encode(sentences, &self.header.outputs, forward, vectors);
        halves.resize(vectors.len(), 0);
        narrow(vectors, halves);
    }
}

/// The words of a sentence.
fn key(sentence: &Sentence) -> String {
    let mut key = String::new();
    for token in &sentence.tokens {
        key.push_str(&token.form);
        key.push('\n');
    }
    key
}

/// Widens the vector of a word.
pub(in crate::score::neural) fn fill(halves: &[u16], out: &mut [f32]) {
    widen(halves, out);
}
