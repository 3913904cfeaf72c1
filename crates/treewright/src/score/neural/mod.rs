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
mod long;
mod lstm;
mod model;
mod network;
pub(in crate::score) mod optimiser;
mod output;
mod places;
mod small;
pub(in crate::score) mod words;

pub use self::encoder::Encoder;

use std::marker::PhantomData;

use self::batch_learner::NetworkKind;
use self::network::Network;
use super::ScorerKind;

/// The kind.
pub(super) const KIND: &dyn ScorerKind = &NetworkKind::<Network>(PhantomData);

#[cfg(test)]
mod tests;
