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

use std::marker::PhantomData;

use self::network::Network;
use super::ScorerKind;
use super::neural::batch_learner::NetworkKind;

/// The kind.
pub(super) const KIND: &dyn ScorerKind = &NetworkKind::<Network>(PhantomData);

#[cfg(test)]
mod tests;
