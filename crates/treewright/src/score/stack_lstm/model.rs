//! A network that parses.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::learner::{open, score};
use super::network::{Network, Trees};
use super::tape::{Side, Tape};
use super::words::{Lexicon, Reader};
use crate::config::StackLstmConfig;
use crate::error::Result;
use crate::score::neural::any_network::{NetworkModel, ParsingNetwork};
use crate::score::neural::file;
use crate::score::{Rows, Scorer, Shared, SlotId, Slots, StoredScorer, Views, bad_model};
use crate::sentence::Sentence;

/// What the model file says beside the numbers.
#[derive(Serialize, Deserialize)]
struct Header {
    settings: StackLstmConfig,
    trees: Trees,
    lexicon: Lexicon,
}

pub(super) type StackLstmModel = NetworkModel<Network>;

impl ParsingNetwork for Network {
    const KIND: &'static str = "stack-lstm";

    fn header(&self) -> serde_json::Value {
        let Network { config, reader, trees, .. } = self;
        let header = Header { settings: config.clone(), trees: *trees, lexicon: reader.lexicon.clone() };
        serde_json::to_value(header).expect("plain data")
    }

    fn load(stored: StoredScorer, shared: Shared) -> Result<StackLstmModel> {
        let (Header { settings, trees, lexicon }, words) = stored.open()?;
        settings.check().map_err(|error| bad_model(error.message))?;
        let reader = Reader::new(lexicon, file::vectors_of_width(words.words()).map_err(bad_model)?);
        let mut network = Network::new(&settings, reader, trees, shared.n_actions());
        let (numbers, vectors, _) = file::read(words.words(), &network.arrays, &[]).map_err(bad_model)?;
        network.reader.vectors = vectors;
        Ok(NetworkModel::of_file(Arc::new(network), words, numbers))
    }

    fn scorer(model: StackLstmModel) -> Box<dyn Scorer> {
        Box::new(StackLstmScorer { model, tape: Tape::new(false), slots: Slots::default(), n_open: 0 })
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
        open(tape, weights, sentences, own, None, slots);
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
