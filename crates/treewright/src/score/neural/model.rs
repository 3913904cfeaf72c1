//! A network that parses.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::any_network::{NetworkModel, ParsingNetwork};
use super::characters::Alphabet;
use super::encoder::{EncoderHeader, EncoderInput};
use super::file::{self, Extra};
use super::long::{LongSentence, MAX_WHOLE, windows};
use super::lstm::Batch;
use super::network::{Encoding, Network, States, Weights};
use super::places::Places;
use super::words::{Lexicon, Reader, TagSet};
use crate::config::{EncoderFiles, NeuralConfig};
use crate::error::Result;
use crate::hash;
use crate::score::{Rows, Scorer, Shared, SlotId, Slots, StoredScorer, Views, WordTags, bad_model};
use crate::sentence::{Sentence, Str, Token};

/// What the model file says beside the numbers.
#[derive(Serialize, Deserialize)]
struct Header {
    settings: NeuralConfig,
    lexicon: Lexicon,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    alphabet: Option<Alphabet>,
    tag_sets: Vec<TagSet>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    encoder: Option<EncoderHeader>,
}

pub(super) type NeuralModel = NetworkModel<Network>;

impl ParsingNetwork for Network {
    const KIND: &'static str = "neural";

    fn header(&self) -> serde_json::Value {
        let Network { config, reader, tag_sets, encoder, .. } = self;
        let Reader { lexicon, alphabet, .. } = reader.clone();
        let encoder = encoder.as_ref().map(|encoder| encoder.header.clone());
        let (settings, tag_sets) = (config.clone(), tag_sets.clone());
        let header = Header { settings, lexicon, alphabet, tag_sets, encoder };
        serde_json::to_value(header).expect("plain data")
    }

    fn load(stored: StoredScorer, shared: Shared) -> Result<NeuralModel> {
        let (Header { settings, lexicon, alphabet, tag_sets, encoder }, words) = stored.open()?;
        settings.check().map_err(|error| bad_model(error.message))?;
        if tag_sets.iter().any(|set| set.tags.is_empty()) {
            return Err(bad_model("the network has a set of no tags"));
        }
        if alphabet.is_some() != (settings.char_size > 0) || alphabet.as_ref().is_some_and(|a| !a.is_sound())
        {
            return Err(bad_model("the network's characters are not what its settings say"));
        }
        let places = Places::parse(&settings.places).map_err(bad_model)?;
        let vectors = file::vectors_of_width(words.words()).map_err(bad_model)?;
        let NeuralConfig { affix_rows: n_rows, affixes, tags, .. } = settings;
        let reader = Reader { lexicon, alphabet, vectors, n_rows, affixes, tags };
        encoder.iter().try_for_each(EncoderHeader::check).map_err(bad_model)?;
        let mut network =
            Network::new(&settings, reader, encoder.as_ref(), tag_sets, places, shared.kind_ends);
        let extra = encoder.as_ref().map_or(Vec::new(), EncoderHeader::outline);
        let (numbers, vectors, extra) =
            file::read(words.words(), &network.arrays, &extra).map_err(bad_model)?;
        network.reader.vectors = vectors;
        if let Some(header) = encoder {
            network.encoder = Some(EncoderInput::load_shared(header, &words, &extra).map_err(bad_model)?);
        }
        Ok(NetworkModel::of_file(Arc::new(network), words, numbers))
    }

    fn scorer(model: NeuralModel) -> Box<dyn Scorer> {
        Box::new(NeuralScorer {
            model,
            encoding: Encoding::default(),
            states: States::default(),
            slots: Slots::default(),
            cache: Cache::default(),
            wants_tags: false,
            tags: Vec::new(),
            tag_scores: Vec::new(),
        })
    }

    fn looks_at_tags(&self) -> bool {
        self.reader.tags
    }

    fn encoder(&self, words: &[u32]) -> Option<EncoderFiles> {
        let encoder = self.encoder.as_ref()?;
        encoder.files(&self.encoder_arrays(encoder, words)?)
    }

    /// The arrays of its encoder go into 8 bits, too.
    fn quantised(mut self: Arc<Self>, words: &[u32]) -> Option<(Arc<Self>, Vec<Extra>)> {
        let Some(encoder) = &self.encoder else { return Some((self, Vec::new())) };
        let (encoder, arrays) = encoder.quantised(&self.encoder_arrays(encoder, words)?).ok()?;
        Arc::make_mut(&mut self).encoder = Some(Arc::new(encoder));
        Some((self, arrays))
    }
}

impl Network {
    /// The bytes of the arrays of its encoder in its file.
    fn encoder_arrays<'a>(&self, encoder: &EncoderInput, words: &'a [u32]) -> Option<Vec<&'a [u8]>> {
        let (.., arrays) = file::read_written(words, &self.arrays, &encoder.header.outline()).ok()?;
        Some(arrays)
    }
}

/// Parses with a network.
struct NeuralScorer {
    model: NeuralModel,
    encoding: Encoding,
    states: States,
    slots: Slots<Slot>,
    cache: Cache,
    wants_tags: bool,
    /// The tags found so far.
    tags: Vec<WordTags>,
    tag_scores: Vec<f32>,
}

/// What each word of an open sentence adds to the hidden units.
#[derive(Debug, Default)]
struct Slot {
    first: Vec<f32>,
    /// In its place, if the sentence is read in windows.
    long: Option<Box<LongSentence>>,
}

/// An open sentence with more numbers gives their memory back when it is closed.
const MAX_KEPT: usize = 1 << 22;
/// A batch with more words gives back the memory that it took to read it.
const MAX_ROWS_KEPT: usize = 1 << 13;

/// What stands for words before their context is read, for the words of late.
#[derive(Debug, Default)]
struct Cache {
    places: FxHashMap<Str, u32>,
    inputs: Vec<f32>,
}

/// When there are more words the cache is emptied.
const MAX_CACHED: usize = 1 << 14;
/// New words that are embedded together: their spellings take the most memory of all.
const TOGETHER: usize = 1 << 9;

impl Cache {
    /// Fills the input of a batch.
    fn fill(&mut self, weights: Weights<'_>, sentences: &[&Sentence], encoding: &mut Encoding) {
        if self.places.len() > MAX_CACHED {
            self.places.clear();
            self.inputs.clear();
        }
        let (reader, size) = (&weights.network.reader, weights.input_size());
        let mut places = vec![0; encoding.batch.n_rows()];
        let mut missing: Vec<&Token> = Vec::new();
        for (i, sentence) in sentences.iter().enumerate() {
            for (position, token) in sentence.tokens.iter().enumerate() {
                let key = match reader.tags {
                    false => token.form.clone(),
                    true => hash::joined([&*token.form, &*token.tag, &*token.xpos, &*token.feats]).into(),
                };
                let next = self.places.len() as u32;
                places[encoding.batch.row(i, position)] = *self.places.entry(key).or_insert_with(|| {
                    missing.push(token);
                    next
                });
            }
        }
        for missing in missing.chunks(TOGETHER) {
            encoding.rows.reset(missing.len(), reader.n_tables());
            missing.iter().enumerate().for_each(|(at, token)| reader.read(token, at, &mut encoding.rows));
            weights.embed(encoding, None);
            self.inputs.extend_from_slice(&encoding.input);
        }
        encoding.input.clear();
        for &place in &places {
            encoding
                .input
                .extend_from_slice(&self.inputs[place as usize * size..(place as usize + 1) * size]);
        }
    }
}

impl Scorer for NeuralScorer {
    fn open(&mut self, sentences: &[&Sentence], slots: &mut Vec<SlotId>) {
        if sentences.iter().all(|sentence| sentence.len() <= MAX_WHOLE) {
            return self.open_whole(sentences, slots);
        }
        for sentence in sentences {
            match sentence.len() > MAX_WHOLE {
                true => slots.push(self.open_long(sentence)),
                false => self.open_whole(&[sentence], slots),
            }
        }
    }

    fn close(&mut self, slot: SlotId) {
        let held = self.slots.get(slot);
        if held.long.is_some() || held.first.capacity() > MAX_KEPT {
            *held = Slot::default();
        }
        self.slots.close(slot);
    }

    fn score(&mut self, queries: &[Views<'_>], rows: &mut Rows) {
        let NeuralScorer { model, states, slots, .. } = self;
        let weights = model.weights();
        states.clear();
        for query in queries {
            match slots.get(query.slot) {
                Slot { first, long: None } => {
                    for view in query.views {
                        weights.look(query.forest, view, first, |word| word, states);
                    }
                }
                Slot { long: Some(long), .. } => {
                    long.load(weights, query);
                    for view in query.views {
                        weights.look(query.forest, view, long.rows(), |word| long.row(word), states);
                    }
                }
            }
        }
        rows.reset(states.len(), weights.network.n_actions());
        let (values, stride) = rows.values_mut();
        weights.scores(states, 0, values, stride);
    }

    fn is_log_linear(&self) -> bool {
        true
    }

    fn prefers_batches(&self) -> bool {
        true
    }

    fn finds_tags(&self) -> bool {
        !self.model.network.tag_sets.is_empty()
    }

    fn set_tagging(&mut self, is_wanted: bool) {
        self.wants_tags = is_wanted;
        self.tags.clear();
    }

    fn take_tags(&mut self) -> Vec<WordTags> {
        std::mem::take(&mut self.tags)
    }
}

impl NeuralScorer {
    /// Reads the words of sentences in context.
    fn read(&mut self, sentences: &[&Sentence]) {
        let NeuralScorer { model, encoding, cache, .. } = self;
        let weights = model.weights();
        encoding.batch = Batch::of(sentences.iter().map(|sentence| sentence.len()));
        cache.fill(weights, sentences, encoding);
        weights.read_encoder(sentences, encoding, None);
        weights.read_context_to_parse(encoding);
    }

    fn open_whole(&mut self, sentences: &[&Sentence], slots: &mut Vec<SlotId>) {
        self.read(sentences);
        let NeuralScorer { model, encoding, slots: own, .. } = self;
        let weights = model.weights();
        weights.first_of_batch(encoding);
        let size = weights.first_size();
        for (i, sentence) in sentences.iter().enumerate() {
            let (slot, Slot { first, .. }) = own.open(Slot::default);
            slots.push(slot);
            if sentences.len() == 1 {
                std::mem::swap(first, &mut encoding.first);
                continue;
            }
            first.clear();
            for position in 0..sentence.len() {
                let row = encoding.batch.row(i, position);
                first.extend_from_slice(&encoding.first[row * size..(row + 1) * size]);
            }
        }
        if self.wants_tags {
            self.find_tags(sentences.iter().map(|sentence| 0..sentence.len()));
        }
        self.forget_long();
    }

    /// Opens a sentence that is read in windows.
    fn open_long(&mut self, sentence: &Sentence) -> SlotId {
        let mut long = LongSentence::new(self.model.weights(), sentence.len());
        for (read, kept) in windows(sentence.len()) {
            let window = Sentence { tokens: sentence.tokens[read].to_vec(), ..Sentence::default() };
            self.read(&[&window]);
            long.push(self.encoding.context(), kept.clone());
            if self.wants_tags {
                self.find_tags(std::iter::once(kept));
            }
        }
        self.forget_long();
        let (slot, held) = self.slots.open(Slot::default);
        held.long = Some(Box::new(long));
        slot
    }

    /// Gives back memory that only a long sentence needed.
    fn forget_long(&mut self) {
        if self.encoding.batch.n_rows() > MAX_ROWS_KEPT {
            self.encoding = Encoding::default();
            self.tag_scores = Vec::new();
        }
    }

    /// Finds the tags of these words of each sentence of the batch that was just read.
    fn find_tags(&mut self, positions: impl Iterator<Item = Range<usize>>) {
        let NeuralScorer { model, encoding, tags, tag_scores, .. } = self;
        let found = model.weights().tags(encoding, tag_scores);
        for (i, positions) in positions.enumerate() {
            for position in positions {
                let row = encoding.batch.row(i, position);
                let mut of_word = WordTags::default();
                for (set, best) in model.network.tag_sets.iter().zip(&found) {
                    *set.column.of_mut(&mut of_word) = Some(set.tags[best[row]].clone());
                }
                tags.push(of_word);
            }
        }
    }
}
