//! What several transforms share: taking nodes or words out of a tree, copying edges, and escapes in labels.

use crate::ids::{NodeId, TokenIdx};
use crate::sentence::{Sentence, Str};
use crate::tree::{Child, ConstituentTree, TreeBuilder, TreeError};

/// Builds a tree without the nodes that `is_spliced` names: their children hang from the next node above that stays.
/// The root always stays. The nodes are given by their parents, children before parents; `label` gives the labels of
/// those that stay. Also gives what each node became: itself, or the node above that took its children.
pub(super) fn splice_nodes(
    parents: &[Option<NodeId>],
    token_parents: &[NodeId],
    is_spliced: impl Fn(NodeId) -> bool,
    label: impl Fn(NodeId) -> Str,
) -> (TreeBuilder, Vec<NodeId>) {
    let mut builder = TreeBuilder::with_tokens(token_parents.len());
    let mut becomes = vec![NodeId::new(0); parents.len()];
    for i in (0..parents.len()).rev() {
        let id = NodeId::new(i);
        let above = parents[i].map(|parent| becomes[parent.index()]);
        becomes[i] = match above {
            Some(above) if is_spliced(id) => above,
            _ => {
                let new = builder.node(label(id));
                if let Some(above) = above {
                    builder.attach(Child::Node(new), above);
                }
                new
            }
        };
    }
    for (i, parent) in token_parents.iter().enumerate() {
        builder.attach(Child::Token(TokenIdx::new(i)), becomes[parent.index()]);
    }
    (builder, becomes)
}

/// [`splice_nodes`] for a whole tree. Secondary edges of nodes that go pass to the node above.
pub(super) fn splice(
    tree: &ConstituentTree,
    is_spliced: impl Fn(NodeId) -> bool,
    label: impl Fn(NodeId) -> Str,
) -> ConstituentTree {
    let (mut builder, becomes) = splice_nodes(&tree.parents(), &tree.token_parents(), is_spliced, label);
    // A node comes after those that it took the children of, so its own edge is set last.
    for (id, node) in tree.nodes() {
        builder.set_edge(becomes[id.index()], node.edge.clone());
    }
    copy_edges(tree, &mut builder, |node| becomes[node.index()]);
    builder.finish().expect("splicing nodes out of a tree leaves a tree")
}

/// Copies the edge labels of words and the secondary edges to a tree over the same words; `becomes` says what each node
/// is there.
pub(super) fn copy_edges(
    tree: &ConstituentTree,
    builder: &mut TreeBuilder,
    becomes: impl Fn(NodeId) -> NodeId,
) {
    for token in (0..tree.n_tokens()).map(TokenIdx::new) {
        builder.set_token_edge(token, tree.token_edge(token));
    }
    for edge in tree.secondary_edges() {
        let child = match edge.child {
            Child::Node(node) => Child::Node(becomes(node)),
            token => token,
        };
        builder.secondary(child, edge.label.clone(), becomes(edge.parent));
    }
}

/// The tree with the given parents, without the words that are not kept and the nodes that dominate none of the
/// others. Secondary edges that lose an end are dropped.
///
/// # Errors
/// When no word is kept, or the parents are not those of a tree.
pub(super) fn rebuild(
    tree: &ConstituentTree,
    parents: &[Option<NodeId>],
    token_parents: &[NodeId],
    keep: &[bool],
) -> Result<ConstituentTree, TreeError> {
    let mut builder = TreeBuilder::default();
    let mut becomes: Vec<Option<NodeId>> = vec![None; tree.n_nodes()];
    let mut new_tokens: Vec<Option<TokenIdx>> = vec![None; tree.n_tokens()];
    for (n_kept, i) in (0..tree.n_tokens()).filter(|&i| keep[i]).enumerate() {
        let token = TokenIdx::new(i);
        let new = TokenIdx::new(n_kept);
        new_tokens[i] = Some(new);
        let (mut below, mut at) = (Child::Token(new), Some(token_parents[i]));
        // Nodes are made as they are met from their words, so empty ones are never made.
        while let Some(node) = at {
            let met = becomes[node.index()];
            let made = met.unwrap_or_else(|| {
                let made = builder.node(tree.node(node).label.clone());
                builder.set_edge(made, tree.node(node).edge.clone());
                made
            });
            builder.attach(below, made);
            if met.is_some() {
                break;
            }
            becomes[node.index()] = Some(made);
            (below, at) = (Child::Node(made), parents[node.index()]);
        }
        builder.set_token_edge(new, tree.token_edge(token));
    }
    for edge in tree.secondary_edges() {
        let child = match edge.child {
            Child::Node(node) => becomes[node.index()].map(Child::Node),
            Child::Token(token) => new_tokens[token.index()].map(Child::Token),
        };
        if let (Some(child), Some(parent)) = (child, becomes[edge.parent.index()]) {
            builder.secondary(child, edge.label.clone(), parent);
        }
    }
    builder.finish()
}

/// The sentence without the words that are not kept. Multiword ranges shrink, and go when nothing of them is left.
pub(super) fn retain_tokens(mut sentence: Sentence, keep: &[bool]) -> Sentence {
    // How many words are kept before each position.
    let mut before = Vec::with_capacity(keep.len() + 1);
    let mut n_kept = 0;
    before.push(0);
    for &keep in keep {
        n_kept += usize::from(keep);
        before.push(n_kept);
    }
    sentence.multiwords.retain_mut(|multiword| {
        let (first, end) = (before[multiword.first.index()], before[multiword.last.index() + 1]);
        if first < end {
            (multiword.first, multiword.last) = (TokenIdx::new(first), TokenIdx::new(end - 1));
        }
        first < end
    });
    for empty in &mut sentence.empty_nodes {
        empty.after = before[empty.after.min(keep.len())];
    }
    let mut keep = keep.iter();
    sentence.tokens.retain(|_| *keep.next().expect("one entry per word"));
    sentence
}

/// Appends a text with a backslash before each of these signs and before each backslash.
pub(super) fn push_escaped(out: &mut Str, text: &str, signs: &[char]) {
    for c in text.chars() {
        if c == '\\' || signs.contains(&c) {
            out.push('\\');
        }
        out.push(c);
    }
}
