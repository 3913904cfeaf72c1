//! Decoders: which states to keep. They know neither features nor gold.

mod beam;
mod greedy;

pub use beam::{Beam, BeamSearch, Item};
pub use greedy::Greedy;

use crate::score::Scorer;
use crate::sentence::Sentence;
use crate::system::TransitionSystem;

/// A finished parse.
#[derive(Clone, Debug, PartialEq)]
pub struct Parse<T> {
    /// The tree.
    pub tree: T,
    /// The sum of its actions' scores, in the scorer's own unit.
    pub score: f64,
}

/// Searches for the best derivation. Gives nothing for a sentence without words.
pub trait Decoder {
    /// The best parse it finds.
    fn decode<S: TransitionSystem, M: Scorer + ?Sized>(
        &mut self,
        system: &S,
        scorer: &mut M,
        sentence: &Sentence,
    ) -> Option<Parse<S::Tree>> {
        self.k_best(system, scorer, sentence, 1).into_iter().next()
    }

    /// Up to `k` parses with different derivations, best first.
    fn k_best<S: TransitionSystem, M: Scorer + ?Sized>(
        &mut self,
        system: &S,
        scorer: &mut M,
        sentence: &Sentence,
        k: usize,
    ) -> Vec<Parse<S::Tree>>;
}

#[cfg(test)]
mod tests;
