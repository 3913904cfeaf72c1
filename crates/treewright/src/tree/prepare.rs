//! From treebank trees to the trees that transition systems build, and back.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::sentence::Sentence;
use crate::tree::unary::{collapse_where, expand_unary};
use crate::tree::{
    BinaryTree, Child, ConstituentTree, DependencyTree, HeadRules, Tree, TreeKind, Underivable,
    binarize_with_heads,
};

/// What is done to treebank trees before a system sees them; stored in the model, because parses are restored by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preparation {
    /// Head rules, for the systems that build binary trees: the name of a built-in table.
    pub head_rules: String,
    /// How many sisters a temporary symbol remembers (order 0: none).
    pub markov_order: usize,
}

impl Default for Preparation {
    fn default() -> Self {
        Preparation { head_rules: "collins".to_owned(), markov_order: 0 }
    }
}

/// How much of its unary chains a tree keeps when it is made binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unaries {
    /// All of them.
    Keep,
    /// At most one unary per node: a chain of several becomes one node with a joined label.
    One,
    /// Only unaries above a word, one for each word at most; any other chain joins the label of what it stands on.
    AboveWords,
}

/// A [`Preparation`] whose tables have been read, so that preparing a tree cannot fail because of them.
#[derive(Clone, Debug)]
pub struct Preparer {
    /// What the system can build.
    pub unaries: Unaries,
    head_rules: HeadRules,
    markov_order: usize,
}

impl Preparer {
    /// Reads the tables.
    ///
    /// # Errors
    /// When the head rules are not known.
    pub fn new(preparation: &Preparation, unaries: Unaries) -> Result<Self> {
        let head_rules = HeadRules::named(&preparation.head_rules)?;
        Ok(Preparer { unaries, head_rules, markov_order: preparation.markov_order })
    }
}

/// A tree that a transition system builds.
pub trait ParserTree: Clone + std::fmt::Debug + PartialEq + Send + Sync + Sized {
    /// What a treebank holds of it.
    const KIND: TreeKind;
    /// Is it made binary, by head rules?
    const IS_BINARY: bool = false;

    /// The form of a treebank tree that systems build.
    ///
    /// # Errors
    /// When the tree is of the other kind.
    fn prepare(tree: &Tree, sentence: &Sentence, preparer: &Preparer) -> Result<Self, Underivable>;

    /// The treebank tree again, without what parsers do not predict (edge labels of constituents, secondary edges).
    fn restore(self) -> Tree;
}

impl ParserTree for ConstituentTree {
    const KIND: TreeKind = TreeKind::Constituents;

    fn prepare(tree: &Tree, _sentence: &Sentence, _preparer: &Preparer) -> Result<Self, Underivable> {
        constituents(tree).map(without_edges)
    }

    fn restore(self) -> Tree {
        Tree::Constituent(self)
    }
}

impl ParserTree for BinaryTree {
    const KIND: TreeKind = TreeKind::Constituents;
    const IS_BINARY: bool = true;

    fn prepare(tree: &Tree, sentence: &Sentence, preparer: &Preparer) -> Result<Self, Underivable> {
        let tree = without_edges(constituents(tree)?);
        // Heads are found in the tree as it is: the rules do not know joined labels. A joined node has the children of
        // the lowest node of its chain, which in post-order comes first.
        let heads = preparer.head_rules.heads(&tree, sentence);
        let merged = joined_nodes(&tree, preparer.unaries);
        let is_lowest = |i: usize| i == 0 || !merged[i - 1];
        let heads: Vec<usize> = (0..tree.n_nodes()).filter(|&i| is_lowest(i)).map(|i| heads[i]).collect();
        let joined = collapse_where(&tree, &merged);
        Ok(binarize_with_heads(&joined, sentence, &heads, preparer.markov_order))
    }

    fn restore(self) -> Tree {
        Tree::Constituent(expand_unary(&self.unbinarize()))
    }
}

impl ParserTree for DependencyTree {
    const KIND: TreeKind = TreeKind::Dependencies;

    fn prepare(tree: &Tree, _sentence: &Sentence, _preparer: &Preparer) -> Result<Self, Underivable> {
        match tree {
            Tree::Dependency(tree) => Ok(tree.clone()),
            Tree::Constituent(_) => Err(Underivable("it is a constituent tree, not dependencies".to_owned())),
        }
    }

    fn restore(self) -> Tree {
        Tree::Dependency(self)
    }
}

/// The constituents of a tree of the right kind.
fn constituents(tree: &Tree) -> Result<&ConstituentTree, Underivable> {
    match tree {
        Tree::Constituent(tree) => Ok(tree),
        Tree::Dependency(_) => Err(Underivable("it is a dependency tree, not constituents".to_owned())),
    }
}

/// The nodes that are joined with their parents. Labels are protected even where none is.
fn joined_nodes(tree: &ConstituentTree, unaries: Unaries) -> Vec<bool> {
    let mut joined = vec![false; tree.n_nodes()];
    for (id, _) in tree.nodes() {
        if let &[Child::Node(only)] = tree.children(id) {
            joined[only.index()] = match unaries {
                Unaries::Keep => false,
                Unaries::One => tree.children(only).len() == 1,
                Unaries::AboveWords => true,
            };
        }
    }
    joined
}

/// The same constituents without edge labels and secondary edges.
fn without_edges(tree: &ConstituentTree) -> ConstituentTree {
    let mut tree = tree.clone();
    tree.clear_edges();
    tree.clear_secondary_edges();
    tree
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::TokenIdx;
    use crate::systems::trees;
    use crate::tree::{BinaryKind, TreeBuilder};

    #[test]
    fn edge_labels_and_secondary_edges_go_and_nothing_else() {
        let mut builder = TreeBuilder::with_tokens(2);
        let (root, inner) = (builder.node("S"), builder.node("NP"));
        builder.attach(Child::Node(inner), root);
        builder.attach(Child::Token(TokenIdx::new(0)), inner);
        builder.attach(Child::Token(TokenIdx::new(1)), root);
        let plain = builder.clone().finish().unwrap();
        builder.set_edge(inner, "SB");
        builder.secondary(Child::Node(inner), "OA", root);
        let rich = builder.finish().unwrap();
        assert_ne!(rich, plain);
        let preparer = Preparer::new(&Preparation::default(), Unaries::Keep).unwrap();
        let prepared = ConstituentTree::prepare(&Tree::from(rich), &Sentence::default(), &preparer).unwrap();
        assert_eq!(prepared, plain);
        assert_eq!(prepared.restore(), Tree::from(plain));
    }

    #[test]
    fn a_tree_of_the_other_kind_is_refused() {
        let preparer = Preparer::new(&Preparation::default(), Unaries::Keep).unwrap();
        let tree = Tree::from(DependencyTree::from_heads([None]));
        assert!(ConstituentTree::prepare(&tree, &Sentence::default(), &preparer).is_err());
        assert!(DependencyTree::prepare(&tree, &Sentence::default(), &preparer).is_ok());
    }

    #[track_caller]
    fn check_unaries(tree: &str, unaries: Unaries, expected: &[&str]) {
        let tree = Tree::from(trees::tree(tree));
        let preparer = Preparer::new(&Preparation::default(), unaries).unwrap();
        let sentence = crate::laws::sentence(3);
        let binary = BinaryTree::prepare(&tree, &sentence, &preparer).unwrap();
        let unary = |node: &&crate::tree::BinaryNode| matches!(node.kind, BinaryKind::Unary(_));
        let found: Vec<_> =
            binary.nodes().map(|(_, node)| node).filter(unary).map(|n| n.label.clone()).collect();
        assert_eq!(found, expected);
        assert_eq!(binary.restore(), tree);
    }

    #[test]
    fn unary_chains_are_joined_as_far_as_the_system_asks() {
        let tree = "(A (B+ (C (D (E w0)) w1 w2)))";
        check_unaries(tree, Unaries::Keep, &["E", "D", "B\\+", "A"]);
        check_unaries(tree, Unaries::One, &["D+E", "A+B\\+"]);
        check_unaries(tree, Unaries::AboveWords, &["D+E"]);
        check_unaries("(A (B (C w0)))", Unaries::AboveWords, &["A+B+C"]);
    }
}
