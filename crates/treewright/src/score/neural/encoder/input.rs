//! The encoder as an input of the network: for each word of a batch its vector in some of the layers, in 16 bits.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::backward::BackMemory;
use super::forward::{Memory, PackedEncoder, Table};
use super::kernel::{narrow, widen};
use super::stored::{self, Bits};
use super::tokenizer::Tokenizer;
use super::{Encoder, Layout, PIECES, Sizes, load};
use crate::config::EncoderFiles;
use crate::hash;
use crate::map::WordSource;
use crate::rng::Rng;
use crate::score::neural::file::Extra;
use crate::score::neural::layers::Arrays;
use crate::sentence::Sentence;

/// What a model file says about an encoder beside its numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::score::neural) struct EncoderHeader {
    sizes: Sizes,
    /// The layers whose vectors are used, from 1.
    outputs: Vec<usize>,
    eight_bits: bool,
    /// Are its weights being learnt with those of the network, which has them? The vectors of pieces are not.
    #[serde(skip)]
    pub is_tuned: bool,
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

    /// The arrays that the model file must have beside those of the network.
    pub(in crate::score::neural) fn outline(&self) -> Vec<Extra> {
        stored::outline(&self.arrays(), self.bits())
    }

    /// The arrays that are not the network's.
    fn arrays(&self) -> Arrays {
        if !self.is_tuned {
            return Layout::new(self.sizes).arrays;
        }
        let mut arrays = Arrays::default();
        arrays.add_table(PIECES, self.sizes.n_pieces, self.sizes.width);
        arrays
    }

    /// Adds the arrays that are learnt to those of a network; gives where their numbers begin, if there are any.
    pub(in crate::score::neural) fn add_tuned(&self, arrays: &mut Arrays) -> Option<usize> {
        let start = arrays.n_numbers;
        for named in self.is_tuned.then(|| Layout::of_tuned(self.sizes).arrays.named).into_iter().flatten() {
            match named.is_table {
                true => arrays.add_table(named.name, named.array.n_rows, named.array.n_columns),
                false => arrays.add(named.name, named.array.n_rows, named.array.n_columns),
            };
        }
        self.is_tuned.then_some(start)
    }
}

/// An encoder as the input of a network.
#[derive(Debug)]
pub(in crate::score::neural) struct EncoderInput {
    pub header: EncoderHeader,
    weights: Weights,
    /// Where its arrays are, if they come from a file.
    file: Option<InFile>,
    keeps: Keeps,
    /// Is it the encoder of several networks?
    is_shared: AtomicBool,
    /// The vectors of sentences that were read before, if they are kept.
    cache: Mutex<Cache>,
}

/// A file, and where it has each array.
type InFile = (Arc<dyn WordSource>, Vec<Range<usize>>);

/// Which vectors of sentences it keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeps {
    /// Those of the last sentences, if other networks may want them, too.
    Recent,
    All,
}

/// When there are more words of recent sentences, they are forgotten.
const MAX_RECENT: usize = 1 << 13;

/// Encoders that are in use, so that networks share those that are the same.
static IN_USE: Mutex<Vec<Weak<EncoderInput>>> = Mutex::new(Vec::new());

/// Where its weights are.
#[derive(Debug)]
enum Weights {
    /// They do not change.
    Frozen(Box<PackedEncoder>),
    /// They are the network's, but for the vectors of pieces, while they are learnt.
    Tuned { layout: Box<Layout>, pieces: Arc<Table>, start: Vec<f32> },
}

/// The vectors of sentences by their words.
#[derive(Debug, Default)]
struct Cache {
    vectors: FxHashMap<String, Arc<[u16]>>,
    n_words: usize,
}

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
    /// If it is tuned, it keeps nothing: vectors change with the weights.
    pub(in crate::score::neural) fn learning(
        encoder: &Encoder,
        outputs: &[usize],
        is_tuned: bool,
    ) -> (Self, Vec<Extra>) {
        let header = EncoderHeader {
            sizes: encoder.layout.sizes,
            outputs: outputs.to_vec(),
            eight_bits: false,
            is_tuned,
            tokenizer: encoder.tokenizer.clone(),
        };
        // What is learnt from is what the model file will have.
        let (mut input, arrays) = Self::stored(header, &encoder.all);
        match &mut input.weights {
            Weights::Frozen(_) => input.keeps = Keeps::All,
            Weights::Tuned { start, .. } => *start = encoder.all[encoder.layout.pieces.len()..].to_vec(),
        }
        (input, arrays)
    }

    /// An encoder with all these numbers, as it is when it comes back from a file, and its arrays for the file.
    fn stored(header: EncoderHeader, all: &[f32]) -> (Self, Vec<Extra>) {
        let arrays = stored::store(&header.arrays(), all, Bits::Sixteen);
        let bytes: Vec<&[u8]> = arrays.iter().map(|array| &array.bytes[..]).collect();
        (Self::load(header, &bytes).expect("what was just stored can be read"), arrays)
    }

    /// The encoder with the weights that were learnt, which do not change any more, and its arrays for a model file.
    pub(in crate::score::neural) fn with_tuned(&self, tuned: &[f32]) -> Option<(Self, Vec<Extra>)> {
        let Weights::Tuned { pieces, .. } = &self.weights else { return None };
        let Table::Float(pieces) = &**pieces else { return None };
        let header = EncoderHeader { is_tuned: false, ..self.header.clone() };
        Some(Self::stored(header, &[pieces, tuned].concat()))
    }

    /// Reads an encoder from the bytes of its arrays in a model file.
    ///
    /// # Errors
    /// When they are damaged.
    pub(in crate::score::neural) fn load(header: EncoderHeader, arrays: &[&[u8]]) -> Result<Self, String> {
        let (own, tokenizer) = (header.arrays(), header.tokenizer.clone());
        let all = match header.bits() {
            Bits::Sixteen => stored::read(&own, arrays, Bits::Sixteen)?,
            Bits::Eight => {
                stored::check_small(&own, arrays)?;
                Vec::new()
            }
        };
        let weights = if header.is_tuned {
            let layout = Box::new(Layout::of_tuned(header.sizes));
            Weights::Tuned { layout, pieces: Arc::new(Table::Float(all)), start: Vec::new() }
        } else {
            let layout = Layout::new(header.sizes);
            Weights::Frozen(Box::new(match header.bits() {
                Bits::Sixteen => PackedEncoder::new(&layout, tokenizer, &all, false),
                Bits::Eight => PackedEncoder::small(&layout, tokenizer, arrays),
            }))
        };
        let (keeps, is_shared) = (Keeps::Recent, AtomicBool::new(false));
        Ok(EncoderInput { header, weights, file: None, keeps, is_shared, cache: Mutex::default() })
    }

    /// The same for arrays in a file. If another network has just this encoder, they share it: then a sentence that both read
    /// goes through it only once.
    ///
    /// # Errors
    /// When they are damaged.
    pub(in crate::score::neural) fn load_shared(
        header: EncoderHeader,
        file: &Arc<dyn WordSource>,
        arrays: &[&[u8]],
    ) -> Result<Arc<Self>, String> {
        let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        in_use.retain(|other| other.strong_count() > 0);
        let same = in_use.iter().filter_map(Weak::upgrade).find(|other| other.is(&header, arrays));
        if let Some(same) = same {
            same.is_shared.store(true, Ordering::Relaxed);
            return Ok(same);
        }
        let mut input = Self::load(header, arrays)?;
        let first = file.words().as_ptr() as usize;
        let range = |array: &&[u8]| {
            let start = array.as_ptr() as usize - first;
            start..start + array.len()
        };
        input.file = Some((file.clone(), arrays.iter().map(range).collect()));
        let input = Arc::new(input);
        in_use.push(Arc::downgrade(&input));
        Ok(input)
    }

    /// Is it an encoder with this header and these arrays?
    fn is(&self, header: &EncoderHeader, arrays: &[&[u8]]) -> bool {
        self.header == *header
            && self.file.as_ref().is_some_and(|(file, ranges)| {
                let bytes: &[u8] = bytemuck::cast_slice(file.words());
                ranges.iter().map(|range| &bytes[range.clone()]).eq(arrays.iter().copied())
            })
    }

    /// Sentences whose vectors are kept.
    #[cfg(test)]
    pub(in crate::score::neural) fn n_kept(&self) -> usize {
        self.cache.lock().expect("nobody panics with the cache").vectors.len()
    }

    /// If its weights are learnt: those to begin with.
    pub(in crate::score::neural) fn start(&self) -> &[f32] {
        match &self.weights {
            Weights::Frozen(_) => &[],
            Weights::Tuned { start, .. } => start,
        }
    }

    /// Packs the weights, if they are the network's; `all` are theirs.
    pub(in crate::score::neural) fn pack(&self, all: &[f32], learns: bool, out: &mut Option<PackedEncoder>) {
        let Weights::Tuned { layout, pieces, .. } = &self.weights else { return };
        match out {
            Some(packed) => packed.set(layout, all, learns),
            None => {
                let tokenizer = self.header.tokenizer.clone();
                *out = Some(PackedEncoder::with_pieces(layout, tokenizer, pieces.clone(), all, learns));
            }
        }
    }

    /// Reads sentences with weights that are learnt, and hands the vector of each word to `put`. As noise, numbers are left out
    /// of the halves of layers with a probability.
    pub(in crate::score::neural) fn read_to_learn(
        &self,
        packed: &PackedEncoder,
        sentences: &[&Sentence],
        memory: &mut InputMemory,
        noise: Option<(f64, &mut Rng)>,
        mut put: impl FnMut(usize, usize, &[f32]),
    ) {
        let InputMemory { forward, vectors, .. } = memory;
        packed.encode_to_learn(sentences, &self.header.outputs, noise, forward, vectors);
        let mut rows = vectors.chunks_exact(self.header.width());
        for (i, sentence) in sentences.iter().enumerate() {
            (0..sentence.len()).zip(&mut rows).for_each(|(position, row)| put(i, position, row));
        }
    }

    /// The way back of [`Self::read_to_learn`]; `d_words` are the gradients of the vectors of words, in order.
    pub(in crate::score::neural) fn back(
        &self,
        packed: &PackedEncoder,
        memory: &InputMemory,
        d_words: &[f32],
        back: &mut BackMemory,
        gradients: &mut [f32],
    ) {
        if let Weights::Tuned { layout, .. } = &self.weights {
            packed.back(layout, &self.header.outputs, &memory.forward, d_words, back, gradients);
        }
    }

    /// Its files, for other parsers, from the bytes of its arrays.
    pub(in crate::score::neural) fn files(&self, arrays: &[&[u8]]) -> Option<EncoderFiles> {
        let all = stored::read(&self.header.arrays(), arrays, self.header.bits()).ok()?;
        Some(load::write(&Layout::new(self.header.sizes), &self.header.tokenizer, &all))
    }

    /// The same encoder with weights of 8 bits instead of 16, and its arrays.
    ///
    /// # Errors
    /// When the arrays are damaged.
    pub(in crate::score::neural) fn quantised(&self, arrays: &[&[u8]]) -> Result<(Self, Vec<Extra>), String> {
        let (own, EncoderHeader { sizes, tokenizer, .. }) = (self.header.arrays(), &self.header);
        let mut all = stored::read(&own, arrays, self.header.bits())?;
        // What is 0 takes no room in a gzipped model.
        let of_pieces = Layout::new(*sizes).pieces.of_mut(&mut all).chunks_exact_mut(sizes.width);
        let unused = of_pieces.zip(tokenizer.are_unused()).filter(|(_, is_unused)| *is_unused);
        unused.for_each(|(numbers, _)| numbers.fill(0.0));
        let arrays = stored::store(&own, &all, Bits::Eight);
        let bytes: Vec<&[u8]> = arrays.iter().map(|array| &array.bytes[..]).collect();
        let header = EncoderHeader { eight_bits: true, ..self.header.clone() };
        Ok((Self::load(header, &bytes)?, arrays))
    }

    /// Hands the vector of each word to `put`, with the numbers of its sentence and its position; `tuned` are the weights if they
    /// are the network's.
    pub(in crate::score::neural) fn read(
        &self,
        tuned: Option<&PackedEncoder>,
        sentences: &[&Sentence],
        memory: &mut InputMemory,
        mut put: impl FnMut(usize, usize, &[u16]),
    ) {
        if self.keeps == Keeps::Recent && !self.is_shared.load(Ordering::Relaxed) {
            self.encode(tuned, sentences, memory);
            let mut rows = memory.halves.chunks_exact(self.header.width());
            for (i, sentence) in sentences.iter().enumerate() {
                (0..sentence.len()).zip(&mut rows).for_each(|(position, row)| put(i, position, row));
            }
            return;
        }
        let keys: Vec<String> = sentences.iter().map(|sentence| key(sentence)).collect();
        let cache = || self.cache.lock().expect("nobody panics with the cache");
        let find = |cache: &Cache| keys.iter().map(|key| cache.vectors.get(key).cloned()).collect::<Vec<_>>();
        let mut found = find(&cache());
        let is_missing = |i: &usize| found[*i].is_none();
        let missing: Vec<usize> = (0..sentences.len()).filter(is_missing).collect();
        if !missing.is_empty() {
            let unknown: Vec<&Sentence> = missing.iter().map(|&i| sentences[i]).collect();
            self.encode(tuned, &unknown, memory);
            let mut rest = &memory.halves[..];
            for &i in &missing {
                let (own, after) = rest.split_at(sentences[i].len() * self.header.width());
                rest = after;
                found[i] = Some(own.into());
            }
            let mut cache = cache();
            if self.keeps == Keeps::Recent && cache.n_words > MAX_RECENT {
                *cache = Cache::default();
            }
            for &i in &missing {
                cache.vectors.insert(keys[i].clone(), found[i].clone().expect("it was just made"));
                cache.n_words += sentences[i].len();
            }
        }
        for (i, found) in found.iter().enumerate() {
            let rows = found.as_ref().expect("all were found or made").chunks_exact(self.header.width());
            rows.enumerate().for_each(|(position, row)| put(i, position, row));
        }
    }

    fn encode(&self, tuned: Option<&PackedEncoder>, sentences: &[&Sentence], memory: &mut InputMemory) {
        let InputMemory { forward, vectors, halves } = memory;
        let packed = match &self.weights {
            Weights::Frozen(packed) => packed,
            Weights::Tuned { .. } => tuned.expect("the network has the weights of its encoder"),
        };
        packed.encode(sentences, &self.header.outputs, forward, vectors);
        halves.resize(vectors.len(), 0);
        narrow(vectors, halves);
    }
}

/// The words of a sentence, as the key of its vectors.
fn key(sentence: &Sentence) -> String {
    hash::joined(sentence.tokens.iter().map(|token| &*token.form))
}

/// Widens the vector of a word.
pub(in crate::score::neural) fn fill(halves: &[u16], out: &mut [f32]) {
    widen(halves, out);
}
