//! The stack-LSTM scorer: LSTMs over the stack, the buffer and the history of actions, and vectors of constituents that are
//! composed of those of their children (Dyer et al. 2015 and 2016; Liu and Zhang 2017; paper 000), for every system.
//!
//! Deviations: the LSTMs have no peephole connections; unknown words share rows by a hash of what they look like instead
//! of by English word classes; sentences learn in minibatches, where the same cell runs across all of them. Systems with
//! a deque also look at the state of the stack below it and at d0. The vector of a dependency head is composed again with
//! each dependent it gets.

mod chain;
mod learner;
mod model;
mod network;
mod tape;
mod words;

use std::sync::Arc;

use self::model::StackLstmModel;
use self::network::{Network, Trees};
use self::words::{Lexicon, Reader};
use super::neural::any_network::ParsingNetwork;
use super::neural::batch_learner::NetworkLearner;
use super::neural::words::Vectors;
use super::{AnyLearner, ScorerKind, ScorerModel, Shared, StoredScorer};
use crate::config::TrainConfig;
use crate::error::Result;
use crate::sentence::Sentence;

/// The kind.
#[derive(Debug)]
pub struct StackLstmKind;

impl ScorerKind for StackLstmKind {
    fn name(&self) -> &'static str {
        Network::KIND
    }

    fn learner(&self, config: &TrainConfig, shared: Shared, sentences: &[&Sentence]) -> Result<AnyLearner> {
        let reader = Reader::new(Lexicon::of(sentences), Vectors::of(&config.vectors));
        let trees = Trees::of(&config.system.info());
        let network = Network::new(&config.stack_lstm, reader, trees, shared.n_actions());
        let settings = learner::settings(&config.stack_lstm, config.epochs);
        Ok(AnyLearner::Batch(Box::new(NetworkLearner::new(network, Vec::new(), settings, config.seed))))
    }

    fn load(&self, stored: StoredScorer, shared: Shared) -> Result<Arc<dyn ScorerModel>> {
        Ok(Arc::new(StackLstmModel::load(stored, shared.n_actions())?))
    }
}

#[cfg(test)]
mod tests;
