//! The features of states of open sentences.

use std::sync::Arc;

use crate::features::{Encoded, Extractor, Horizon, TemplateSet, Vocabulary};
use crate::forest::{Forest, View};
use crate::score::{SlotId, Slots};
use crate::sentence::Sentence;

/// Names the features of states.
#[derive(Clone, Debug)]
pub(crate) struct FeatureReader {
    pub(super) vocabulary: Arc<Vocabulary>,
    extractor: Extractor,
    /// How far the features look.
    pub horizon: Horizon,
    encoded: Slots<Encoded>,
    keys: Vec<u64>,
}

/// What a scorer leaves to its `reader`.
macro_rules! left_to_reader {
    () => {
        fn open(
            &mut self,
            sentences: &[&$crate::sentence::Sentence],
            slots: &mut Vec<$crate::score::SlotId>,
        ) {
            self.reader.open(sentences, slots);
        }

        fn close(&mut self, slot: $crate::score::SlotId) {
            self.reader.close(slot);
        }

        fn horizon(&self) -> Option<&$crate::features::Horizon> {
            Some(&self.reader.horizon)
        }
    };
}

pub(crate) use left_to_reader;

impl FeatureReader {
    pub(crate) fn new(vocabulary: Arc<Vocabulary>, templates: &TemplateSet) -> Self {
        FeatureReader {
            vocabulary,
            extractor: Extractor::new(templates),
            horizon: templates.horizon(),
            encoded: Slots::default(),
            keys: Vec::new(),
        }
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
