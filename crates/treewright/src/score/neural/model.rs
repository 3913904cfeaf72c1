//! A network that parses.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::NeuralKind;
use super::characters::Alphabet;
use super::encoder::{EncoderHeader, EncoderInput};
use super::file::{self, Extra, Numbers, Precision};
use super::network::{Encoding, Network, PackedNetwork, States, Weights};
use super::places::Places;
use super::words::{Lexicon, Reader, TagSet, Vectors};
use crate::config::NeuralConfig;
use crate::error::{Code, Error, Result};
use crate::map::WordSource;
use crate::score::{Rows, Scorer, ScorerKind, ScorerModel, SlotId, Slots, Views, WordTags};
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

/// A network with its numbers.
#[derive(Clone, Debug)]
pub(super) struct NeuralModel {
    network: Arc<Network>,
    packed: Arc<PackedNetwork>,
    /// The file.
    words: Arc<dyn WordSource>,
    numbers: Arc<Numbers>,
}

impl NeuralModel {
    /// A model with all numbers of a network, and the arrays of its encoder.
    pub(super) fn new(network: Arc<Network>, all: &[f32], extra: &[Extra]) -> Self {
        Self::stored(network, all, extra, Precision::Whole)
    }

    /// A model as it is when it comes back from a file.
    fn stored(network: Arc<Network>, all: &[f32], extra: &[Extra], precision: Precision) -> Self {
        let words = file::write(&network.arrays, all, &network.reader.vectors, extra, precision);
        let (numbers, ..) =
            file::read(&words, &network.arrays, extra).expect("what was just written can be read");
        Self::packed(network, Arc::new(words), numbers)
    }

    fn packed(network: Arc<Network>, words: Arc<dyn WordSource>, numbers: Numbers) -> Self {
        let (packed, numbers) = (Arc::default(), Arc::new(numbers));
        let mut model = NeuralModel { network, packed, words, numbers };
        let mut packed = PackedNetwork::default();
        model.network.pack(model.numbers(), false, &mut packed);
        if let Numbers::Owned(all) = &*model.numbers {
            model.network.shrink(all, &mut packed);
        }
        model.packed = Arc::new(packed);
        model
    }

    /// Reads what `header` and `words` gave.
    pub(super) fn load(
        header: serde_json::Value,
        words: Arc<dyn WordSource>,
        kind_ends: Vec<usize>,
    ) -> Result<Self> {
        let bad = |message: String| Error::new(Code::BadModel, message);
        let Header { settings, lexicon, alphabet, tag_sets, encoder } =
            serde_json::from_value(header).map_err(|error| bad(format!("in the model's header: {error}")))?;
        settings.check().map_err(|error| bad(error.message.to_string()))?;
        if tag_sets.iter().any(|set| set.tags.is_empty()) {
            return Err(bad("the network has a set of no tags".to_owned()));
        }
        if alphabet.is_some() != (settings.char_size > 0) || alphabet.as_ref().is_some_and(|a| !a.is_sound())
        {
            return Err(bad("the network's characters are not what its settings say".to_owned()));
        }
        let places = Places::parse(&settings.places).map_err(bad)?;
        let width = file::vector_shape(words.words()).map_or(0, |[_, width]| width);
        if width > 1 << 14 {
            return Err(bad("the network's word vectors are too wide".to_owned()));
        }
        let vectors = Vectors { width, ..Vectors::default() };
        let NeuralConfig { affix_rows: n_rows, affixes, tags, .. } = settings;
        let reader = Reader { lexicon, alphabet, vectors, n_rows, affixes, tags };
        encoder.iter().try_for_each(EncoderHeader::check).map_err(bad)?;
        let encoder_width = encoder.as_ref().map(EncoderHeader::width);
        let mut network = Network::new(&settings, reader, encoder_width, tag_sets, places, kind_ends);
        let extra = encoder.as_ref().map_or(Vec::new(), EncoderHeader::outline);
        let (numbers, vectors, extra) = file::read(words.words(), &network.arrays, &extra).map_err(bad)?;
        network.reader.vectors = vectors;
        if let Some(header) = encoder {
            network.encoder = Some(Arc::new(EncoderInput::load(header, &extra).map_err(bad)?));
        }
        Ok(Self::packed(Arc::new(network), words, numbers))
    }

    /// All numbers.
    pub(super) fn numbers(&self) -> &[f32] {
        match &*self.numbers {
            Numbers::Owned(all) => all,
            Numbers::InFile(start) => {
                bytemuck::cast_slice(&self.words.words()[*start..*start + self.network.arrays.n_numbers])
            }
        }
    }

    fn weights(&self) -> Weights<'_> {
        Weights { network: &self.network, packed: &self.packed, all: self.numbers() }
    }
}

impl ScorerModel for NeuralModel {
    fn kind(&self) -> &'static str {
        NeuralKind.name()
    }

    fn scorer(&self) -> Box<dyn Scorer> {
        Box::new(NeuralScorer {
            model: self.clone(),
            encoding: Encoding::default(),
            states: States::default(),
            slots: Slots::default(),
            cache: Cache::default(),
            wants_tags: false,
            tags: Vec::new(),
            tag_scores: Vec::new(),
        })
    }

    fn header(&self) -> serde_json::Value {
        let Network { config, reader, tag_sets, encoder, .. } = &*self.network;
        let Reader { lexicon, alphabet, .. } = reader.clone();
        let encoder = encoder.as_ref().map(|encoder| encoder.header.clone());
        let (settings, tag_sets) = (config.clone(), tag_sets.clone());
        let header = Header { settings, lexicon, alphabet, tag_sets, encoder };
        serde_json::to_value(header).expect("plain data")
    }

    fn words(&self) -> &[u32] {
        self.words.words()
    }

    fn n_features(&self) -> usize {
        self.network.arrays.n_numbers
    }

    fn looks_at_tags(&self) -> bool {
        self.network.reader.tags
    }

    fn quantized(&self) -> Option<Arc<dyn ScorerModel>> {
        let Numbers::InFile(_) = &*self.numbers else { return None };
        let (mut network, mut extra) = (self.network.clone(), Vec::new());
        if let Some(encoder) = &self.network.encoder {
            let outline = encoder.header.outline();
            let (.., arrays) = file::read(self.words.words(), &network.arrays, &outline).ok()?;
            let (encoder, arrays) = encoder.quantised(&arrays).ok()?;
            Arc::make_mut(&mut network).encoder = Some(Arc::new(encoder));
            extra = arrays;
        }
        Some(Arc::new(Self::stored(network, self.numbers(), &extra, Precision::EightBits)))
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
}

/// What stands for words before their context is read, for the words of late.
#[derive(Debug, Default)]
struct Cache {
    places: FxHashMap<Str, u32>,
    inputs: Vec<f32>,
}

/// When there are more words the cache is emptied.
const MAX_CACHED: usize = 1 << 14;

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
                    true => [&*token.form, &*token.tag, &*token.xpos, &*token.feats].join("\t").into(),
                };
                let next = self.places.len() as u32;
                places[encoding.batch.row(i, position)] = *self.places.entry(key).or_insert_with(|| {
                    missing.push(token);
                    next
                });
            }
        }
        encoding.rows.reset(missing.len(), reader.n_tables());
        missing.iter().enumerate().for_each(|(at, token)| reader.read(token, at, &mut encoding.rows));
        weights.embed(encoding, None);
        self.inputs.extend_from_slice(&encoding.input);
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
        let NeuralScorer { model, encoding, slots: own, cache, .. } = self;
        let weights = model.weights();
        encoding.batch = super::lstm::Batch::of(sentences.iter().map(|sentence| sentence.len()));
        cache.fill(weights, sentences, encoding);
        weights.read_encoder(sentences, encoding, None);
        weights.read_context(encoding, None);
        let size = weights.first_size();
        for (i, sentence) in sentences.iter().enumerate() {
            let (slot, Slot { first }) = own.open(Slot::default);
            first.clear();
            for position in 0..sentence.len() {
                let row = encoding.batch.row(i, position);
                first.extend_from_slice(&encoding.first[row * size..(row + 1) * size]);
            }
            slots.push(slot);
        }
        if self.wants_tags {
            self.find_tags(sentences);
        }
    }

    fn close(&mut self, slot: SlotId) {
        self.slots.close(slot);
    }

    fn score(&mut self, queries: &[Views<'_>], rows: &mut Rows) {
        let NeuralScorer { model, states, slots, .. } = self;
        let weights = model.weights();
        states.clear();
        for query in queries {
            let Slot { first } = &*slots.get(query.slot);
            for view in query.views {
                weights.look(query.forest, view, first, |word| word, states);
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
    /// Finds the tags of the sentences that were just encoded.
    fn find_tags(&mut self, sentences: &[&Sentence]) {
        let NeuralScorer { model, encoding, tags, tag_scores, .. } = self;
        let found = model.weights().tags(encoding, tag_scores);
        for (i, sentence) in sentences.iter().enumerate() {
            for position in 0..sentence.len() {
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
