//! Head-outward binarisation with order-h Markovisation (Klein and Manning 2003), and its inverse.
//!
//! A constituent `X` with the children `c1 .. cn` (by leftmost word) and the head `ch` is built from its head
//! outwards: first the sisters to the left of the head, the nearest first, then those to its right, the nearest
//! first. Every step but the last makes a *temporary* `X:`; the last makes `X`. This is the order of figure 2 and
//! table 1 of Coavoux and Crabbé (2017). For a discontinuous constituent, left and right are by leftmost word.
//!
//! With order h > 0 a temporary also remembers the labels of the last h sisters it took, the latest last:
//! `S:<NP,ADV>`. The head itself is not among them.
//!
//! There are two forms. [`BinaryTree`] keeps "is temporary" apart from the label, so any label is allowed; binary
//! transition systems work on it. [`binarize_tree`] gives an ordinary tree for writing to a file, where a
//! temporary is marked in the text of its label; see there for how labels that look like one are protected.

use crate::ids::{NodeId, TokenIdx};
use crate::sentence::{Sentence, Str};
use crate::tree::constituent::{Extent, post_order, yields};
use crate::tree::edit::{copy_edges, splice, splice_nodes};
use crate::tree::{Child, ConstituentTree, HeadRules, TreeError};

/// Left or right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The left child.
    Left,
    /// The right child.
    Right,
}

impl Side {
    /// The other side.
    pub fn flipped(self) -> Self {
        match self {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
        }
    }
}

/// The children of a binary node. The left one is the one whose yield begins first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryKind {
    /// One child.
    Unary(Child),
    /// Two children, one of them the head.
    Binary {
        /// The child whose yield begins first.
        left: Child,
        /// The other child.
        right: Child,
        /// Which of them is the head.
        head: Side,
    },
}

/// One node of a [`BinaryTree`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BinaryNode {
    /// The label; for a temporary node, that of the constituent it is a part of (`S`, not `S:`).
    pub label: Str,
    /// Was it introduced by binarisation?
    pub is_temporary: bool,
    /// The Markov history of a temporary: the last sisters, with commas between; empty for order 0.
    pub history: Str,
    /// The children.
    pub kind: BinaryKind,
    extent: Extent,
}

yields!(BinaryNode);

impl BinaryNode {
    /// The label as people write it: `S`, `S:` for a temporary, `S:<NP,ADV>` for one with a history.
    pub fn symbol(&self) -> Str {
        temporary_label(&self.label, self.is_temporary, &self.history)
    }
}

/// A symbol as people write it.
pub(crate) fn temporary_label(label: &str, is_temporary: bool, history: &str) -> Str {
    let mut symbol = Str::from(label);
    if is_temporary {
        symbol.push(':');
        if !history.is_empty() {
            symbol.push('<');
            symbol.push_str(history);
            symbol.push('>');
        }
    }
    symbol
}

/// A constituent tree in which every node has one or two children and a head.
///
/// It has one canonical form, so that `==` means "the same tree": nodes in post-order with the left child first,
/// the root last. It has no edge labels and no secondary edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BinaryTree {
    nodes: Vec<BinaryNode>,
    n_tokens: u32,
}

post_order!(BinaryTree, BinaryNode);

impl BinaryTree {
    /// The last word of a child's yield.
    fn rightmost(&self, child: Child) -> TokenIdx {
        match child {
            Child::Token(token) => token,
            Child::Node(node) => self.node(node).rightmost(),
        }
    }

    /// The two children of a binary node by their *last* words, and where the head is in that order; `None` for a
    /// unary node. Systems that reduce when the last word of a node has been read (SR-GAP) find the first of them
    /// on the stack and the second at the front of the deque, so this is the side of their reductions.
    pub fn by_rightmost(&self, node: NodeId) -> Option<(Child, Child, Side)> {
        match self.node(node).kind {
            BinaryKind::Unary(_) => None,
            BinaryKind::Binary { left, right, head } if self.rightmost(left) < self.rightmost(right) => {
                Some((left, right, head))
            }
            BinaryKind::Binary { left, right, head } => Some((right, left, head.flipped())),
        }
    }

    fn each_child(&self, mut visit: impl FnMut(NodeId, Child)) {
        for (id, node) in self.nodes() {
            match node.kind {
                BinaryKind::Unary(child) => visit(id, child),
                BinaryKind::Binary { left, right, .. } => {
                    visit(id, left);
                    visit(id, right);
                }
            }
        }
    }

    /// The same constituents without temporaries: their children hang from the next constituent above.
    ///
    /// A temporary root, which binarisation never makes, becomes an ordinary constituent: it has nothing above it.
    pub fn unbinarize(&self) -> ConstituentTree {
        let is_temporary = |id| self.node(id).is_temporary;
        let label = |id| self.node(id).label.clone();
        let (builder, _) = splice_nodes(&self.parents(), &self.token_parents(), is_temporary, label);
        builder.finish().expect("splicing nodes out of a tree leaves a tree")
    }
}

/// Builds a [`BinaryTree`] from its nodes, children before parents, in any such order.
#[derive(Clone, Debug, Default)]
pub struct BinaryTreeBuilder {
    nodes: Vec<BinaryNode>,
    n_tokens: usize,
}

impl BinaryTreeBuilder {
    /// A builder for a sentence of `n_tokens` words.
    pub fn with_tokens(n_tokens: usize) -> Self {
        BinaryTreeBuilder { n_tokens, ..BinaryTreeBuilder::default() }
    }

    /// Adds a node over one child.
    ///
    /// # Panics
    /// When the child is a node that has not been added yet.
    pub fn unary(&mut self, label: impl Into<Str>, child: Child) -> NodeId {
        self.push(label.into(), false, BinaryKind::Unary(child), self.extent(child))
    }

    /// Adds a node over two children, in either order: the one that begins first becomes the left one.
    ///
    /// # Panics
    /// When a child is a node that has not been added yet.
    pub fn binary(
        &mut self,
        label: impl Into<Str>,
        is_temporary: bool,
        left: Child,
        right: Child,
        head: Side,
    ) -> NodeId {
        let (l, r) = (self.extent(left), self.extent(right));
        let kind = if l.leftmost <= r.leftmost {
            BinaryKind::Binary { left, right, head }
        } else {
            BinaryKind::Binary { left: right, right: left, head: head.flipped() }
        };
        self.push(label.into(), is_temporary, kind, l.join(r))
    }

    /// Gives a temporary node its Markov history.
    pub fn set_history(&mut self, node: NodeId, history: impl Into<Str>) {
        self.nodes[node.index()].history = history.into();
    }

    fn push(&mut self, label: Str, is_temporary: bool, kind: BinaryKind, extent: Extent) -> NodeId {
        self.nodes.push(BinaryNode { label, is_temporary, history: Str::default(), kind, extent });
        NodeId::new(self.nodes.len() - 1)
    }

    fn extent(&self, child: Child) -> Extent {
        match child {
            Child::Token(token) => Extent::word(token),
            Child::Node(node) => self.nodes[node.index()].extent,
        }
    }

    /// Checks the tree and puts it in canonical form, in linear time. The node added last is the root.
    ///
    /// # Errors
    /// When the nodes are not one tree over all the words.
    pub fn finish(mut self) -> Result<BinaryTree, TreeError> {
        let n_nodes = self.nodes.len();
        if n_nodes == 0 {
            return Err(TreeError::Empty);
        }
        let mut new_id: Vec<Option<NodeId>> = vec![None; n_nodes];
        let mut has_parent = vec![false; self.n_tokens];
        let mut order: Vec<usize> = Vec::with_capacity(n_nodes);
        // Each entry is a node and how many of its children have been visited.
        let mut stack = vec![(n_nodes - 1, 0)];
        while let Some((at, visited)) = stack.pop() {
            let child = match (self.nodes[at].kind, visited) {
                (BinaryKind::Unary(child), 0) | (BinaryKind::Binary { left: child, .. }, 0) => Some(child),
                (BinaryKind::Binary { right, .. }, 1) => Some(right),
                _ => None,
            };
            match child {
                None => {
                    if new_id[at].replace(NodeId::new(order.len())).is_some() {
                        // A node under two parents: its words are reported, since they too are met twice.
                        return Err(TreeError::TwoParents(self.nodes[at].leftmost()));
                    }
                    order.push(at);
                }
                Some(child) => {
                    stack.push((at, visited + 1));
                    match child {
                        Child::Node(node) => stack.push((node.index(), 0)),
                        Child::Token(token) => {
                            let seen = has_parent.get_mut(token.index());
                            if seen.is_none_or(|seen| std::mem::replace(seen, true)) {
                                return Err(TreeError::TwoParents(token));
                            }
                        }
                    }
                }
            }
        }
        if let Some(lost) = new_id.iter().position(Option::is_none) {
            return Err(TreeError::Unrooted(lost));
        }
        if let Some(lost) = has_parent.iter().position(|seen| !seen) {
            return Err(TreeError::Unattached(TokenIdx::new(lost)));
        }
        let renamed = |child: Child| match child {
            Child::Node(node) => Child::Node(new_id[node.index()].expect("every node was visited")),
            token => token,
        };
        let nodes = order.into_iter().map(|at| {
            let node = &mut self.nodes[at];
            let kind = match node.kind {
                BinaryKind::Unary(child) => BinaryKind::Unary(renamed(child)),
                BinaryKind::Binary { left, right, head } => {
                    BinaryKind::Binary { left: renamed(left), right: renamed(right), head }
                }
            };
            let (label, history) = (std::mem::take(&mut node.label), std::mem::take(&mut node.history));
            BinaryNode { label, history, kind, ..*node }
        });
        Ok(BinaryTree { nodes: nodes.collect(), n_tokens: self.n_tokens as u32 })
    }
}

/// Binarises a tree: `heads` decide where to begin, `order` is the length of the Markov history.
pub fn binarize(tree: &ConstituentTree, sentence: &Sentence, rules: &HeadRules, order: usize) -> BinaryTree {
    binarize_with_heads(tree, sentence, &rules.heads(tree, sentence), order)
}

/// As [`binarize`], given the position of the head among the children of every constituent.
///
/// # Panics
/// When `heads` does not fit the tree.
pub fn binarize_with_heads(
    tree: &ConstituentTree,
    sentence: &Sentence,
    heads: &[usize],
    order: usize,
) -> BinaryTree {
    let mut builder = BinaryTreeBuilder::with_tokens(tree.n_tokens());
    let mut becomes: Vec<NodeId> = Vec::with_capacity(tree.n_nodes());
    for (id, node) in tree.nodes() {
        let children = tree.children(id);
        let renamed = |child: Child| match child {
            Child::Node(node) => Child::Node(becomes[node.index()]),
            token => token,
        };
        let new = if let &[only] = children {
            builder.unary(node.label.clone(), renamed(only))
        } else {
            let head = heads[id.index()];
            let mut top = renamed(children[head]);
            // The k-th sister from the head outwards: first the left ones, then the right ones.
            let sister = |k: usize| children[if k < head { head - 1 - k } else { k + 1 }];
            for k in 0..children.len() - 1 {
                let is_temporary = k + 2 < children.len();
                let (label, other) = (node.label.clone(), renamed(sister(k)));
                let new = builder.binary(label, is_temporary, top, other, Side::Left);
                if is_temporary && order > 0 {
                    let latest = (k + 1).saturating_sub(order)..k + 1;
                    builder.set_history(new, history(tree, sentence, latest.map(sister)));
                }
                top = Child::Node(new);
            }
            let Child::Node(new) = top else { unreachable!("there were at least two children") };
            new
        };
        becomes.push(new);
    }
    builder.finish().expect("a binarised tree is a tree")
}

/// The labels of sisters, with commas between.
fn history(tree: &ConstituentTree, sentence: &Sentence, sisters: impl Iterator<Item = Child>) -> Str {
    let mut text = Str::default();
    for (i, sister) in sisters.enumerate() {
        if i > 0 {
            text.push(',');
        }
        text.push_str(match sister {
            Child::Token(token) => sentence.tokens.get(token.index()).map_or("", |token| token.tag.as_str()),
            Child::Node(node) => tree.node(node).label.as_str(),
        });
    }
    text
}

/// Does the text of a label mark a temporary?
fn looks_temporary(label: &str) -> bool {
    label.ends_with(':') || (label.ends_with('>') && label.contains(":<"))
}

/// Binarises into an ordinary tree, for writing: temporaries are labelled `X:` or `X:<NP,ADV>`.
///
/// An original label that looks like a temporary, or ends in a backslash, gets a backslash at its end, so that
/// [`unbinarize_tree`] is exact for every label. Heads are not kept. Edge labels and secondary edges are kept;
/// the edges above temporaries have no label.
pub fn binarize_tree(
    tree: &ConstituentTree,
    sentence: &Sentence,
    rules: &HeadRules,
    order: usize,
) -> ConstituentTree {
    let binary = binarize(tree, sentence, rules, order);
    let label = |id| {
        let mut label = binary.node(id).symbol();
        if !binary.node(id).is_temporary && (looks_temporary(&label) || label.ends_with('\\')) {
            label.push('\\');
        }
        label
    };
    let (mut builder, becomes) = splice_nodes(&binary.parents(), &binary.token_parents(), |_| false, label);
    // Temporaries stand between the constituents, which stay in their order.
    let own = binary.nodes().filter(|(_, node)| !node.is_temporary).map(|(id, _)| becomes[id.index()]);
    let own: Vec<NodeId> = own.collect();
    for (&new, (_, node)) in own.iter().zip(tree.nodes()) {
        builder.set_edge(new, node.edge.clone());
    }
    copy_edges(tree, &mut builder, |node| own[node.index()]);
    builder.finish().expect("a binarised tree is a tree")
}

/// The inverse of [`binarize_tree`]: splices out the nodes whose labels mark temporaries. A temporary at the root
/// is kept, since it has nothing above it.
pub fn unbinarize_tree(tree: &ConstituentTree) -> ConstituentTree {
    let label = |id: NodeId| {
        let label = &tree.node(id).label;
        Str::from(label.strip_suffix('\\').unwrap_or(label))
    };
    splice(tree, |id| looks_temporary(&tree.node(id).label), label)
}

#[cfg(test)]
mod tests;
