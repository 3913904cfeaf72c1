//! Finished trees as plain values, and the transforms between them.

pub(crate) mod ancestors;
#[cfg(test)]
pub(crate) mod arbitrary;
mod binarize;
mod constituent;
mod dependency;
mod edit;
mod functions;
pub(crate) mod grouped;
mod head_rules;
pub(crate) mod plain;
mod prepare;
mod pseudo_projective;
mod punctuation;
mod traces;
mod transform;
mod unary;

pub(crate) use binarize::temporary_label;
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

use crate::names::by_name;
use crate::sentence::Sentence;

/// One sentence of a treebank, with its tree if it has one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The words.
    pub sentence: Sentence,
    /// The annotation.
    pub tree: Option<Tree>,
}

/// What a parser builds, or a treebank holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeKind {
    /// Dependency trees.
    Dependencies,
    /// Constituent trees.
    Constituents,
}

impl TreeKind {
    /// Both.
    pub const ALL: &[TreeKind] = &[TreeKind::Dependencies, TreeKind::Constituents];

    /// The name on the command line and in messages.
    pub fn name(self) -> &'static str {
        match self {
            TreeKind::Dependencies => "dependencies",
            TreeKind::Constituents => "constituents",
        }
    }
}

by_name!(TreeKind, "kind of tree");

/// A tree that a system cannot derive, and why, as a clause ("the tree is not projective").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Underivable(pub String);

impl std::fmt::Display for Underivable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A finished tree of either kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    /// Heads and relations.
    Dependency(DependencyTree),
    /// Labelled constituents, possibly discontinuous.
    Constituent(ConstituentTree),
}

impl Tree {
    /// Which of the two it is.
    pub fn kind(&self) -> TreeKind {
        match self {
            Tree::Dependency(_) => TreeKind::Dependencies,
            Tree::Constituent(_) => TreeKind::Constituents,
        }
    }
}

/// On one line, with numbers for the words, counted from 1, since a tree does not know its words: brackets, `(S (NP 1 2) (VP
/// 3))`, or for each word its head and relation as in CoNLL-U, `2:nsubj 0:root`.
impl std::fmt::Display for Tree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Tree::Dependency(tree) => tree.fmt(f),
            Tree::Constituent(tree) => tree.fmt(f),
        }
    }
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
