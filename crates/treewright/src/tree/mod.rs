//! Finished trees as plain values, and the transforms between them.

mod constituent;
mod dependency;

pub use constituent::{Child, ConstituentTree, Node, SecondaryEdge, TreeBuilder, TreeError};
pub use dependency::{Arc, DependencyTree};

/// A finished tree of either kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    /// Heads and relations.
    Dependency(DependencyTree),
    /// Labelled constituents, possibly discontinuous.
    Constituent(ConstituentTree),
}

impl From<DependencyTree> for Tree {
    fn from(tree: DependencyTree) -> Self {
        Tree::Dependency(tree)
    }
}

impl From<ConstituentTree> for Tree {
    fn from(tree: ConstituentTree) -> Self {
        Tree::Constituent(tree)
    }
}
