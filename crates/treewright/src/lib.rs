//! Treewright: shift-reduce syntactic parsing, from treebank to tree.

pub mod error;
pub mod ids;
pub mod sentence;
pub mod tree;
pub mod treebank;

pub use error::{Code, Error, Result};
pub use ids::{ActionId, CellId, LabelId, NodeId, StepId, TokenIdx, WordId};
pub use sentence::{Sentence, Str, Token};
pub use tree::{ConstituentTree, DependencyTree, Tree};
