//! Treewright: shift-reduce syntactic parsing, from treebank to tree.

pub mod decode;
pub mod draw;
pub mod error;
pub mod eval;
pub mod features;
pub mod forest;
pub mod ids;
#[cfg(test)]
pub(crate) mod laws;
mod map;
pub mod model;
pub mod oracle;
pub mod parser;
pub mod rng;
pub mod score;
pub mod sentence;
pub mod stats;
pub mod system;
pub mod systems;
pub mod train;
pub mod tree;
pub mod treebank;

pub use error::{Code, Error, Result};
pub use ids::{ActionId, CellId, LabelId, NodeId, StepId, TokenIdx, WordId};
pub use sentence::{Sentence, Str, Token};
pub use tree::{ConstituentTree, DependencyTree, Tree};
