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

use self::learner::StackLstmLearner;
use self::model::StackLstmModel;
use self::network::{Network, Trees};
use self::words::{Lexicon, Reader};
use super::neural::words::Vectors;
use super::{AnyLearner, ScorerKind, ScorerModel, Shared};
use crate::config::TrainConfig;
use crate::error::Result;
use crate::map::WordSource;
use crate::sentence::Sentence;

/// The kind.
#[derive(Debug)]
pub struct StackLstmKind;

impl ScorerKind for StackLstmKind {
    fn name(&self) -> &'static str {
        "stack-lstm"
    }

    fn learner(&self, config: &TrainConfig, shared: Shared, sentences: &[&Sentence]) -> Result<AnyLearner> {
        let reader = Reader::new(Lexicon::of(sentences), Vectors::of(&config.vectors));
        let trees = Trees::of(&config.system.info());
        let network = Network::new(&config.stack_lstm, reader, trees, shared.n_actions());
        Ok(AnyLearner::Batch(Box::new(StackLstmLearner::new(network, config.seed, config.epochs))))
    }

    fn load(
        &self,
        header: serde_json::Value,
        words: Arc<dyn WordSource>,
        shared: Shared,
    ) -> Result<Arc<dyn ScorerModel>> {
        Ok(Arc::new(StackLstmModel::load(header, words, shared.n_actions())?))
    }
}

#[cfg(test)]
mod tests;
