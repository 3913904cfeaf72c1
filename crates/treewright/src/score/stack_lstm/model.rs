//! A network that parses.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::StackLstmKind;
use super::learner::score;
use super::network::{Network, PackedNetwork, Trees, Weights};
use super::tape::{Side, Tape};
use super::words::{Lexicon, Reader};
use crate::config::StackLstmConfig;
use crate::error::{Code, Error, Result};
use crate::map::WordSource;
use crate::score::neural::file::{self, Numbers, Precision};
use crate::score::neural::words::Vectors;
use crate::score::{Rows, Scorer, ScorerKind, ScorerModel, SlotId, Slots, Views};
use crate::sentence::Sentence;

/// What the model file says beside the numbers.
#[derive(Serialize, Deserialize)]
struct Header {
    settings: StackLstmConfig,
    trees: Trees,
    lexicon: Lexicon,
}

/// A network with its numbers.
#[derive(Clone, Debug)]
pub(super) struct StackLstmModel {
    network: Arc<Network>,
    packed: Arc<PackedNetwork>,
    /// The file.
    words: Arc<dyn WordSource>,
    numbers: Arc<Numbers>,
}

impl StackLstmModel {
    pub(super) fn new(network: Arc<Network>, all: &[f32]) -> Self {
        Self::stored(network, all, Precision::Whole)
    }

    /// A model as it is when it comes back from a file.
    fn stored(network: Arc<Network>, all: &[f32], precision: Precision) -> Self {
        let words = file::write(&network.arrays, all, &network.reader.vectors, &[], precision);
        let (numbers, ..) =
            file::read(&words, &network.arrays, &[]).expect("what was just written can be read");
        Self::packed(network, Arc::new(words), numbers)
    }

    fn packed(network: Arc<Network>, words: Arc<dyn WordSource>, numbers: Numbers) -> Self {
        let (packed, numbers) = (Arc::default(), Arc::new(numbers));
        let mut model = StackLstmModel { network, packed, words, numbers };
        let mut packed = PackedNetwork::default();
        model.network.pack(model.numbers(), false, &mut packed);
        model.packed = Arc::new(packed);
        model
    }

    /// Reads what `header` and `words` gave.
    pub(super) fn load(
        header: serde_json::Value,
        words: Arc<dyn WordSource>,
        n_actions: usize,
    ) -> Result<Self> {
        let bad = |message: String| Error::new(Code::BadModel, message);
        let Header { settings, trees, lexicon } =
            serde_json::from_value(header).map_err(|error| bad(format!("in the model's header: {error}")))?;
        settings.check().map_err(|error| bad(error.message.to_string()))?;
        let width = file::vector_shape(words.words()).map_or(0, |[_, width]| width);
        if width > 1 << 14 {
            return Err(bad("the network's word vectors are too wide".to_owned()));
        }
        let reader = Reader::new(lexicon, Vectors { width, ..Vectors::default() });
        let mut network = Network::new(&settings, reader, trees, n_actions);
        let (numbers, vectors, _) = file::read(words.words(), &network.arrays, &[]).map_err(bad)?;
        network.reader.vectors = vectors;
        Ok(Self::packed(Arc::new(network), words, numbers))
    }

    /// All numbers.
    fn numbers(&self) -> &[f32] {
        match &*self.numbers {
            Numbers::Owned(all) => all,
            Numbers::InFile(start) => {
                bytemuck::cast_slice(&self.words.words()[*start..*start + self.network.arrays.n_numbers])
            }
        }
    }

    pub(super) fn weights(&self) -> Weights<'_> {
        Weights { network: &self.network, packed: &self.packed, all: self.numbers() }
    }
}

impl ScorerModel for StackLstmModel {
    fn kind(&self) -> &'static str {
        StackLstmKind.name()
    }

    fn scorer(&self) -> Box<dyn Scorer> {
        let (tape, slots) = (Tape::new(false), Slots::default());
        Box::new(StackLstmScorer { model: self.clone(), tape, slots, n_open: 0 })
    }

    fn header(&self) -> serde_json::Value {
        let Network { config, reader, trees, .. } = &*self.network;
        let header = Header { settings: config.clone(), trees: *trees, lexicon: reader.lexicon.clone() };
        serde_json::to_value(header).expect("plain data")
    }

    fn words(&self) -> &[u32] {
        self.words.words()
    }

    fn n_features(&self) -> usize {
        self.network.arrays.n_numbers
    }

    fn quantized(&self) -> Option<Arc<dyn ScorerModel>> {
        match &*self.numbers {
            Numbers::InFile(_) => {
                Some(Arc::new(Self::stored(self.network.clone(), self.numbers(), Precision::EightBits)))
            }
            Numbers::Owned(_) => None,
        }
    }
}

/// Parses with a network.
struct StackLstmScorer {
    model: StackLstmModel,
    tape: Tape,
    slots: Slots<Side>,
    n_open: usize,
}

impl Scorer for StackLstmScorer {
    fn open(&mut self, sentences: &[&Sentence], slots: &mut Vec<SlotId>) {
        let StackLstmScorer { model, tape, slots: own, n_open } = self;
        let weights = model.weights();
        // Vectors are kept until no sentence is open.
        if *n_open == 0 {
            tape.start(weights, None);
        }
        *n_open += sentences.len();
        let first = slots.len();
        slots.extend(sentences.iter().map(|_| own.open(Side::default).0));
        let numbers: Vec<usize> = slots[first..].iter().map(|slot| slot.0 as usize).collect();
        tape.open(weights, sentences, &mut own.items, &numbers, None);
    }

    fn close(&mut self, slot: SlotId) {
        self.slots.close(slot);
        self.n_open -= 1;
    }

    fn score(&mut self, queries: &[Views<'_>], rows: &mut Rows) {
        let StackLstmScorer { model, tape, slots, .. } = self;
        score(tape, model.weights(), queries, &mut slots.items, None, rows);
    }

    fn is_log_linear(&self) -> bool {
        true
    }

    fn prefers_batches(&self) -> bool {
        true
    }
}
