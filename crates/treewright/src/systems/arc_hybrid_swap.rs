//! Arc-hybrid dependency parsing with SWAP, for non-projective trees, and its static-dynamic oracle (de Lhoneux,
//! Stymne and Nivre 2017). See [`crate::systems::arc_hybrid`] for actions, derivation and oracle.

use super::arc_hybrid::Hybrid;

/// Arc-hybrid with SWAP.
pub type ArcHybridSwap = Hybrid<true>;

#[cfg(test)]
mod tests;
