//! The transition systems, one file each: actions, legality, effect, derivation, oracle, laws.

pub mod arc_hybrid;
pub mod arc_hybrid_swap;
pub mod binary;
mod dependency;
pub mod in_order;
mod labels;
pub mod sr_gap;
pub mod top_down;
#[cfg(test)]
pub(crate) mod trees;

pub use labels::Labels;
