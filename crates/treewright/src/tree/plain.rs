//! Trees as plain data, for JSON and whatever else serde writes: lists of words and constituents that name their parents, so
//! that nothing is nested by the depth of a tree.
//!
//! Words count from 1 and 0 is the root, as in CoNLL-U; constituents count from 0, in the order of `nodes`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize, Serializer};

use super::{Arc, Child, ConstituentTree, DependencyTree, Tree};
use crate::ids::{NodeId, TokenIdx};
use crate::sentence::Str;

pub(crate) type Text<'a> = Cow<'a, str>;

/// The arc that enters a word.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Dependency<'a> {
    pub head: u32,
    #[serde(borrow, default, skip_serializing_if = "is_absent")]
    pub relation: Text<'a>,
}

/// A constituent tree.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Constituents<'a> {
    #[serde(borrow)]
    pub nodes: Vec<Node<'a>>,
    #[serde(borrow)]
    pub tokens: Vec<Leaf<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    pub secondary: Vec<Secondary<'a>>,
}

/// A constituent.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Node<'a> {
    #[serde(borrow)]
    pub label: Text<'a>,
    #[serde(borrow, default, skip_serializing_if = "is_absent")]
    pub edge: Text<'a>,
    pub parent: Option<u32>,
}

/// Where a word hangs.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Leaf<'a> {
    pub parent: u32,
    #[serde(borrow, default, skip_serializing_if = "is_absent")]
    pub edge: Text<'a>,
}

/// An edge to a second parent, from a word or a constituent.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Secondary<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    #[serde(borrow, default, skip_serializing_if = "is_absent")]
    pub label: Text<'a>,
    pub parent: u32,
}

pub(crate) fn is_absent(text: &Text) -> bool {
    text.is_empty()
}

pub(crate) fn text(value: &Str) -> Text<'_> {
    Text::Borrowed(value)
}

impl Dependency<'_> {
    pub(crate) fn from_arc(arc: &Arc) -> Dependency<'_> {
        let head = arc.head.map_or(0, |head| head.index() as u32 + 1);
        Dependency { head, relation: text(&arc.label) }
    }
}

impl Constituents<'_> {
    pub(crate) fn from_tree(tree: &ConstituentTree) -> Constituents<'_> {
        let index = |node: NodeId| node.index() as u32;
        let parents = tree.parents();
        let nodes = tree.nodes().map(|(id, node)| Node {
            label: text(&node.label),
            edge: text(&node.edge),
            parent: parents[id.index()].map(index),
        });
        let leaves = tree.token_parents().into_iter().enumerate().map(|(i, parent)| Leaf {
            parent: index(parent),
            edge: Text::Borrowed(tree.token_edge(TokenIdx::new(i))),
        });
        let secondary = tree.secondary_edges().iter().map(|edge| {
            let (token, node) = match edge.child {
                Child::Token(token) => (Some(token.index() as u32 + 1), None),
                Child::Node(node) => (None, Some(index(node))),
            };
            Secondary { token, node, label: text(&edge.label), parent: index(edge.parent) }
        });
        Constituents { nodes: nodes.collect(), tokens: leaves.collect(), secondary: secondary.collect() }
    }
}

/// One object for each word, in order: `{"head": 2, "relation": "nsubj"}`. Words count from 1, and 0 is the root; a relation
/// that is empty is left out.
impl Serialize for DependencyTree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.arcs.iter().map(Dependency::from_arc))
    }
}

/// `{"nodes": [{"label": "NP", "parent": 1}, ..], "tokens": [{"parent": 0}, ..]}`: the constituents, children before their
/// parents, which are numbers in this list (from 0; null for the root), and for each word the constituent that it hangs
/// under. Labels of edges stand beside the parents, as `edge`; edges to second parents in a list `secondary`.
impl Serialize for ConstituentTree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Constituents::from_tree(self).serialize(serializer)
    }
}

/// An object with one field, as in the format `json`: `dependencies` or `constituents`.
impl Serialize for Tree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Tree::Dependency(tree) => serializer.collect_map([("dependencies", tree)]),
            Tree::Constituent(tree) => serializer.collect_map([("constituents", tree)]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::TreeBuilder;

    #[track_caller]
    fn check(tree: impl Into<Tree>, json: &str, shown: &str) {
        let tree = tree.into();
        assert_eq!(serde_json::to_string(&tree).expect("plain data"), json);
        assert_eq!(tree.to_string(), shown);
    }

    #[test]
    fn dependencies_are_heads_and_relations() {
        let mut tree = DependencyTree::from_heads([Some(1), None, Some(1)]);
        tree.arcs[0].label = "nsubj".into();
        tree.arcs[1].label = "root".into();
        let json =
            r#"{"dependencies":[{"head":2,"relation":"nsubj"},{"head":0,"relation":"root"},{"head":2}]}"#;
        check(tree, json, "2:nsubj 0:root 2:_");
        check(DependencyTree::default(), r#"{"dependencies":[]}"#, "");
    }

    #[test]
    fn constituents_name_their_parents() {
        let mut builder = TreeBuilder::with_tokens(3);
        let [s, vp] = ["S", "VP"].map(|label| builder.node(label));
        builder.attach(Child::Node(vp), s);
        for (token, parent) in [(0, vp), (1, s), (2, vp)] {
            builder.attach(Child::Token(TokenIdx::new(token)), parent);
        }
        builder.set_token_edge(TokenIdx::new(1), "SB");
        let nodes = r#""nodes":[{"label":"VP","parent":1},{"label":"S","parent":null}]"#;
        let tokens = r#""tokens":[{"parent":0},{"parent":1,"edge":"SB"},{"parent":0}]"#;
        let json = format!(r#"{{"constituents":{{{nodes},{tokens}}}}}"#);
        check(builder.finish().expect("a tree"), &json, "(S (VP 1 3) 2)");
    }

    /// Nothing may recurse on the depth of a tree.
    #[test]
    fn deep_trees_are_shown_and_serialised() {
        const DEPTH: usize = 100_000;
        let mut builder = TreeBuilder::with_tokens(1);
        let nodes: Vec<NodeId> = (0..DEPTH).map(|_| builder.node("X")).collect();
        nodes.windows(2).for_each(|pair| builder.attach(Child::Node(pair[1]), pair[0]));
        builder.attach(Child::Token(TokenIdx::new(0)), nodes[DEPTH - 1]);
        let tree = Tree::from(builder.finish().expect("a tree"));
        assert_eq!(tree.to_string(), format!("{}1{}", "(X ".repeat(DEPTH), ")".repeat(DEPTH)));
        assert!(serde_json::to_string(&tree).is_ok());
    }
}
