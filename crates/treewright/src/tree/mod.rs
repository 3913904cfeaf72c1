//! Finished trees as plain values, and the transforms between them.

#[cfg(test)]
pub(crate) mod arbitrary;
mod binarize;
mod constituent;
mod dependency;
mod edit;
mod functions;
mod head_rules;
mod prepare;
mod pseudo_projective;
mod punctuation;
mod traces;
mod transform;
mod unary;

pub use binarize::{
    BinaryKind, BinaryNode, BinaryTree, BinaryTreeBuilder, Side, binarize, binarize_tree,
    binarize_with_heads, unbinarize_tree,
};
pub use constituent::{Child, ConstituentTree, NestedBuilder, Node, SecondaryEdge, TreeBuilder, TreeError};
pub use dependency::{Arc, DependencyTree};
pub use functions::{category, name_root, strip_functions};
pub use head_rules::{Candidate, HeadRules, lexical_heads};
pub use prepare::{ParserTree, Preparation, Preparer, Unaries};
pub use pseudo_projective::{PseudoProjective, deprojectivize, projectivize};
pub use punctuation::{PunctuationTags, lower_punctuation, raise_punctuation};
pub use traces::{remove_traces, resolve_traces};
pub use transform::{Transform, TransformHelp};
pub use unary::{collapse_same, collapse_unary, expand_unary};

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
