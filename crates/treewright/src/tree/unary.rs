//! Unary chains as one node, and back.
//!
//! A chain `S -> VP -> ..` becomes one node `S+VP`, so that each yield has at most one label. In labels, `+` and
//! `\` are written `\+` and `\\`, so the inverse is exact for every label. Edge labels are joined in the same way
//! when those inside the chain are not all empty. Secondary edges of any node of a chain go to the joined node, and
//! from there to the top of the chain: this alone is not undone.

use crate::ids::NodeId;
use crate::sentence::Str;
use crate::tree::edit::{copy_edges, push_escaped, splice};
use crate::tree::{Child, ConstituentTree, TreeBuilder};

/// Which nodes are the only child of their parent, which may not be merged with the root if `keep_root`.
fn merged_with_parent(tree: &ConstituentTree, keep_root: bool) -> Vec<bool> {
    let mut merged = vec![false; tree.n_nodes()];
    for (id, _) in tree.nodes().filter(|&(id, _)| !(keep_root && id == tree.root())) {
        if let &[Child::Node(only)] = tree.children(id) {
            merged[only.index()] = true;
        }
    }
    merged
}

/// Joins every unary chain into one node. With `keep_root` the root stays a node of its own (`TOP` over `S`).
pub fn collapse_unary(tree: &ConstituentTree, keep_root: bool) -> ConstituentTree {
    collapse_where(tree, &merged_with_parent(tree, keep_root))
}

/// Joins the nodes that are marked, each the only child of its parent, with their parents.
pub(crate) fn collapse_where(tree: &ConstituentTree, merged: &[bool]) -> ConstituentTree {
    // In post-order the only child of a node stands right before it, so a chain is a run of merged nodes before its
    // top.
    let mut tops = tree.clone();
    for (i, _) in merged.iter().enumerate().filter(|(_, merged)| !**merged) {
        let mut bottom = i;
        while bottom > 0 && merged[bottom - 1] {
            bottom -= 1;
        }
        let chain = (bottom..=i).rev().map(|node| tree.node(NodeId::new(node)));
        let is_marked = chain.clone().skip(1).any(|node| !node.edge.is_empty());
        let edges = chain.clone().take(if is_marked { usize::MAX } else { 1 });
        *tops.label_mut(NodeId::new(i)) = join(chain.map(|node| &node.label));
        *tops.edge_mut(NodeId::new(i)) = join(edges.map(|node| &node.edge));
    }
    splice(&tops, |id| merged[id.index()], |id| tops.node(id).label.clone())
}

/// The inverse of [`collapse_unary`].
pub fn expand_unary(tree: &ConstituentTree) -> ConstituentTree {
    let mut builder = TreeBuilder::with_tokens(tree.n_tokens());
    // The top and the bottom of the chain that each node becomes.
    let mut becomes: Vec<(NodeId, NodeId)> = Vec::with_capacity(tree.n_nodes());
    for (_, node) in tree.nodes() {
        let labels = split(&node.label);
        let edges = split(&node.edge);
        let mut chain: Option<(NodeId, NodeId)> = None;
        for (i, label) in labels.into_iter().enumerate() {
            let new = builder.node(label);
            if let Some(edge) = edges.get(i) {
                builder.set_edge(new, edge.clone());
            }
            chain = Some(match chain {
                None => (new, new),
                Some((top, bottom)) => {
                    builder.attach(Child::Node(new), bottom);
                    (top, new)
                }
            });
        }
        becomes.push(chain.expect("a label has at least one part"));
    }
    for (id, _) in tree.nodes() {
        let (_, bottom) = becomes[id.index()];
        for &child in tree.children(id) {
            match child {
                Child::Node(node) => builder.attach(Child::Node(becomes[node.index()].0), bottom),
                token => builder.attach(token, bottom),
            }
        }
    }
    copy_edges(tree, &mut builder, |node| becomes[node.index()].0);
    builder.finish().expect("chains in place of nodes leave a tree")
}

/// Splices out every node whose parent has the same label and no other child: `NP -> NP` becomes one `NP`, with the
/// edge label of the upper one.
pub fn collapse_same(tree: &ConstituentTree) -> ConstituentTree {
    let mut is_same = vec![false; tree.n_nodes()];
    for (id, node) in tree.nodes() {
        if let &[Child::Node(only)] = tree.children(id) {
            is_same[only.index()] = tree.node(only).label == node.label;
        }
    }
    splice(tree, |id| is_same[id.index()], |id| tree.node(id).label.clone())
}

/// The labels with `+` between them, protected.
fn join<'a>(labels: impl Iterator<Item = &'a Str>) -> Str {
    let mut joined = Str::default();
    for (i, label) in labels.enumerate() {
        if i > 0 {
            joined.push('+');
        }
        push_escaped(&mut joined, label, &['+']);
    }
    joined
}

/// The labels that were joined; at least one.
fn split(joined: &str) -> Vec<Str> {
    let mut labels = vec![Str::default()];
    let mut chars = joined.chars();
    while let Some(c) = chars.next() {
        let label = labels.last_mut().expect("there is always one");
        match c {
            '+' => labels.push(Str::default()),
            // A lone backslash at the end was not written by us; it stands for itself.
            '\\' => label.push(chars.next().unwrap_or('\\')),
            _ => label.push(c),
        }
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::arbitrary::{Shape, constituents, deep_tree, wide_tree};
    use proptest::prelude::*;

    /// A chain of constituents over two words.
    fn chain(labels: &[&str]) -> ConstituentTree {
        let mut builder = TreeBuilder::with_tokens(2);
        let nodes: Vec<NodeId> = labels.iter().map(|&label| builder.node(label)).collect();
        nodes.windows(2).for_each(|pair| builder.attach(Child::Node(pair[1]), pair[0]));
        for i in 0..2 {
            builder.attach(Child::Token(crate::TokenIdx::new(i)), *nodes.last().unwrap());
        }
        builder.finish().unwrap()
    }

    fn labels(tree: &ConstituentTree) -> Vec<&str> {
        tree.nodes().map(|(_, node)| node.label.as_str()).rev().collect()
    }

    #[test]
    fn chains_are_joined_from_the_top() {
        let tree = chain(&["TOP", "S", "VP"]);
        assert_eq!(labels(&collapse_unary(&tree, false)), ["TOP+S+VP"]);
        assert_eq!(labels(&collapse_unary(&tree, true)), ["TOP", "S+VP"]);
        assert_eq!(labels(&collapse_unary(&chain(&["A+", "\\B"]), false)), ["A\\++\\\\B"]);
        assert_eq!(labels(&collapse_unary(&chain(&["", "", ""]), false)), ["++"]);
    }

    #[test]
    fn the_same_label_twice_is_one() {
        assert_eq!(labels(&collapse_same(&chain(&["S", "NP", "NP", "NP", "S", "S"]))), ["S", "NP", "S"]);
        assert_eq!(labels(&collapse_same(&chain(&["S", "S"]))), ["S"]);
    }

    #[test]
    fn deep_and_wide_trees() {
        for (_, tree) in [deep_tree(100_000), wide_tree(1_000_000)] {
            let collapsed = collapse_unary(&tree, true);
            assert!(collapsed.n_nodes() <= tree.n_nodes() / 10 + 2);
            assert_eq!(expand_unary(&collapsed), tree);
        }
    }

    proptest! {
        #[test]
        fn expand_is_the_inverse((_, tree) in constituents(8, Shape { secondary: false, ..Shape::NASTY }), keep_root: bool) {
            let collapsed = collapse_unary(&tree, keep_root);
            prop_assert_eq!(&expand_unary(&collapsed), &tree);
            for (id, _) in collapsed.nodes() {
                let is_unary = matches!(collapsed.children(id), [Child::Node(_)]);
                prop_assert!(!is_unary || (keep_root && id == collapsed.root()));
            }
        }

        #[test]
        fn no_label_repeats((_, tree) in constituents(6, Shape::CONTINUOUS)) {
            let collapsed = collapse_same(&tree);
            for (id, node) in collapsed.nodes() {
                if let &[Child::Node(only)] = collapsed.children(id) {
                    prop_assert!(collapsed.node(only).label != node.label);
                }
            }
            prop_assert_eq!(collapsed.n_tokens(), tree.n_tokens());
            prop_assert_eq!(&collapse_same(&collapsed), &collapsed);
        }
    }
}
