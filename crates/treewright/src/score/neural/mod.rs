//! The neural scorer: words in context by bidirectional LSTMs, and a small network over the words at the places of a
//! configuration (Kiperwasser and Goldberg 2016; paper 003), for every system.
//!
//! Deviations: beside or instead of characters, words are known by hashed prefixes, suffixes, shape and form; the first layer
//! over places is computed once per word; the labels of items and dependents are looked at; tags are learnt beside actions.

pub(in crate::score) mod any_network;
pub(in crate::score) mod batch_learner;
mod characters;
mod encoder;
pub(in crate::score) mod file;
#[cfg(test)]
pub(in crate::score) mod gradients;
pub(in crate::score) mod kernel;
pub(in crate::score) mod layers;
mod learner;
mod lstm;
mod model;
mod network;
pub(in crate::score) mod optimiser;
mod output;
mod places;
mod small;
pub(in crate::score) mod words;

pub use self::encoder::Encoder;

use std::sync::Arc;

use self::any_network::ParsingNetwork;
use self::batch_learner::NetworkLearner;
use self::characters::Alphabet;
use self::encoder::EncoderInput;
use self::model::NeuralModel;
use self::network::Network;
use self::places::{Places, default_places};
use self::words::{Lexicon, Reader, TagColumn, TagSet, Vectors};
use super::{AnyLearner, ScorerKind, ScorerModel, Shared, StoredScorer};
use crate::config::{NeuralConfig, TrainConfig};
use crate::error::{Code, Error, Result};
use crate::sentence::Sentence;

/// The kind.
#[derive(Debug)]
pub struct NeuralKind;

impl ScorerKind for NeuralKind {
    fn name(&self) -> &'static str {
        Network::KIND
    }

    fn learner(&self, config: &TrainConfig, shared: Shared, sentences: &[&Sentence]) -> Result<AnyLearner> {
        let mut settings = config.neural.clone();
        if settings.places.trim().is_empty() {
            let info = config.system.info();
            default_places(info.kind, info.is_binary).clone_into(&mut settings.places);
        }
        let places = Places::parse(&settings.places)
            .map_err(|why| Error::new(Code::BadTraining, format!("neural.places: {why}")))?;
        let NeuralConfig { affix_rows: n_rows, affixes, tags, tag_weight, char_size, .. } = settings;
        let reader = Reader {
            lexicon: Lexicon::of(sentences),
            alphabet: (char_size > 0).then(|| Alphabet::of(sentences)),
            vectors: Vectors::of(&config.vectors),
            n_rows,
            affixes,
            tags,
        };
        // Tags that are looked at need not be learnt.
        let columns = TagColumn::ALL.iter().filter(|_| tag_weight > 0.0 && !tags);
        let tag_sets =
            columns.map(|column| TagSet::of(*column, sentences)).filter(|set| set.tags.len() > 1).collect();
        let (mut encoder, mut extra) = (None, Vec::new());
        if !config.encoder.is_empty() {
            let pretrained = Encoder::read(&config.encoder, settings.encoder_layers)?;
            let outputs = settings.encoder_outputs();
            let (input, arrays) = EncoderInput::learning(&pretrained, &outputs, settings.fine_tune);
            (encoder, extra) = (Some(Arc::new(input)), arrays);
        }
        let header = encoder.as_ref().map(|encoder| &encoder.header);
        let mut network = Network::new(&settings, reader, header, tag_sets, places, shared.kind_ends);
        network.encoder = encoder;
        let settings = learner::settings(&settings, network.tuned);
        let learner = NetworkLearner::new(network, extra, settings, config.seed);
        Ok(AnyLearner::Batch(Box::new(learner)))
    }

    fn load(&self, stored: StoredScorer, shared: Shared) -> Result<Arc<dyn ScorerModel>> {
        Ok(Arc::new(NeuralModel::load(stored, shared.kind_ends)?))
    }
}

#[cfg(test)]
mod tests;
