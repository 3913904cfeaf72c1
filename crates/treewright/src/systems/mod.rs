//! The transition systems, one file each: actions, legality, effect, derivation, oracle, laws.

pub mod arc_eager;
pub mod arc_hybrid;
pub mod arc_hybrid_swap;
pub mod arc_standard_swap;
pub mod binary;
pub mod bottom_up;
pub mod bottom_up_2n;
mod dependency;
mod gold;
pub mod in_order;
mod labels;
pub mod paper;
#[cfg(test)]
mod roots;
pub mod sr_cgap;
pub mod sr_cswap;
pub mod sr_gap;
pub mod sr_swap;
pub mod table;
pub mod top_down;
#[cfg(test)]
pub(crate) mod trees;

pub use labels::Labels;
