//! The features of states of open sentences.

use std::sync::Arc;

use crate::features::{Encoded, Extractor, TemplateSet, Vocabulary};
use crate::forest::{Forest, View};
use crate::score::{SlotId, Slots};
use crate::sentence::Sentence;

/// Names the features of states.
#[derive(Clone, Debug)]
pub(crate) struct FeatureReader {
    pub(super) vocabulary: Arc<Vocabulary>,
    extractor: Extractor,
    encoded: Slots<Encoded>,
    keys: Vec<u64>,
}

impl FeatureReader {
    pub(crate) fn new(vocabulary: Arc<Vocabulary>, templates: &TemplateSet) -> Self {
        let extractor = Extractor::new(templates);
        FeatureReader { vocabulary, extractor, encoded: Slots::default(), keys: Vec::new() }
    }

    pub(crate) fn open(&mut self, sentences: &[&Sentence], slots: &mut Vec<SlotId>) {
        let (make, vocabulary) = (|| self.extractor.encoded(), &self.vocabulary);
        self.encoded
            .open_all(sentences, slots, make, |encoded, sentence| vocabulary.encode(sentence, encoded));
    }

    pub(crate) fn close(&mut self, slot: SlotId) {
        self.encoded.close(slot);
    }

    /// The words of an open sentence.
    pub(super) fn encoded(&mut self, slot: SlotId) -> &Encoded {
        self.encoded.get(slot)
    }

    /// The keys of the features of a state.
    #[inline]
    pub(crate) fn keys(&mut self, slot: SlotId, forest: &Forest, view: &View) -> &[u64] {
        self.extractor.extract(forest, view, self.encoded.get(slot), &mut self.keys);
        &self.keys
    }
}
