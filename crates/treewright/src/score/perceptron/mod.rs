//! The linear scorer: an averaged perceptron over feature templates learns, and its frozen weights parse.

mod contexts;
mod frozen;
mod learner;
mod reader;

pub use frozen::{Frozen, FrozenWeights};
pub use learner::Perceptron;
#[cfg(test)]
pub(crate) use reader::FeatureReader;
#[cfg(test)]
pub(crate) use reader::left_to_reader;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{AnyLearner, Scorer, ScorerKind, ScorerModel, Shared, StoredScorer, bad_model};
use crate::config::TrainConfig;
use crate::error::Result;
use crate::features::{TemplateSet, Vocabulary};
use crate::sentence::Sentence;
use crate::weights::Shape;

/// The kind.
#[derive(Debug)]
pub struct PerceptronKind;

/// What the model file says beside the weights.
#[derive(Serialize, Deserialize)]
struct Header {
    templates: String,
    n_buckets: usize,
    n_features: usize,
    /// Files of version 5 have whole fingerprints, and do not say so.
    #[serde(default = "whole")]
    fingerprint_bits: u32,
}

fn whole() -> u32 {
    u32::BITS
}

impl ScorerKind for PerceptronKind {
    fn name(&self) -> &'static str {
        "perceptron"
    }

    fn about(&self) -> &'static str {
        "linear, over feature templates"
    }

    fn learner(&self, config: &TrainConfig, shared: Shared, _sentences: &[&Sentence]) -> Result<AnyLearner> {
        let n_actions = shared.n_actions();
        let perceptron = Perceptron::new(shared.vocabulary, config.templates()?, n_actions);
        Ok(AnyLearner::Online(Box::new(perceptron.with_min_weight(config.min_weight))))
    }

    fn load(&self, stored: StoredScorer, shared: Shared) -> Result<Arc<dyn ScorerModel>> {
        let (Header { templates, n_buckets, n_features, fingerprint_bits }, words) = stored.open()?;
        let templates = TemplateSet::parse(&templates).map_err(|error| bad_model(error.message))?;
        let weights = FrozenWeights::from_words(
            words,
            shared.n_actions(),
            Shape { n_buckets, n_features, fingerprint_bits },
        )?;
        Ok(Arc::new(FrozenModel { vocabulary: shared.vocabulary, templates: Arc::new(templates), weights }))
    }
}

/// Templates and frozen weights.
#[derive(Clone, Debug)]
struct FrozenModel {
    vocabulary: Arc<Vocabulary>,
    templates: Arc<TemplateSet>,
    weights: FrozenWeights,
}

impl ScorerModel for FrozenModel {
    fn kind(&self) -> &'static str {
        PerceptronKind.name()
    }

    fn scorer(&self) -> Box<dyn Scorer> {
        Box::new(Frozen::new(self.vocabulary.clone(), &self.templates, self.weights.clone()))
    }

    fn header(&self) -> serde_json::Value {
        let Shape { n_buckets, n_features, fingerprint_bits } = self.weights.table().shape();
        let templates = self.templates.text().to_owned();
        let header = Header { templates, n_buckets, n_features, fingerprint_bits };
        serde_json::to_value(header).expect("plain data")
    }

    fn words(&self) -> &[u32] {
        self.weights.words()
    }

    fn packed_words(&self) -> Option<Vec<u8>> {
        self.weights.table().packed()
    }

    fn n_features(&self) -> usize {
        self.weights.n_features()
    }

    fn n_templates(&self) -> usize {
        self.templates.len()
    }
}

#[cfg(test)]
mod tests;
