//! What several transforms share: taking nodes or words out of a tree, and asking who is above whom.

use crate::ids::{NodeId, TokenIdx};
use crate::sentence::{Sentence, Str};
use crate::tree::{Child, ConstituentTree, TreeBuilder, TreeError};

/// The tree without the nodes that `is_spliced` names: their children hang from the next node above that stays.
/// The root always stays. `label` gives the labels of those that stay; secondary edges of the others pass to the
/// node above.
pub(super) fn splice(
    tree: &ConstituentTree,
    is_spliced: impl Fn(NodeId) -> bool,
    label: impl Fn(NodeId) -> Str,
) -> ConstituentTree {
    let parents = tree.parents();
    let mut builder = TreeBuilder::with_tokens(tree.n_tokens());
    let mut becomes = vec![NodeId::new(0); tree.n_nodes()];
    // Parents come after children, so the walk is from the end.
    for (id, node) in tree.nodes().rev() {
        let above = parents[id.index()].map(|parent| becomes[parent.index()]);
        becomes[id.index()] = match above {
            Some(above) if is_spliced(id) => above,
            _ => {
                let new = builder.node(label(id));
                builder.set_edge(new, node.edge.clone());
                if let Some(above) = above {
                    builder.attach(Child::Node(new), above);
                }
                new
            }
        };
    }
    for (i, parent) in tree.token_parents().into_iter().enumerate() {
        let token = TokenIdx::new(i);
        builder.attach(Child::Token(token), becomes[parent.index()]);
        if !tree.token_edge(token).is_empty() {
            builder.set_token_edge(token, tree.token_edge(token));
        }
    }
    for edge in tree.secondary_edges() {
        let child = match edge.child {
            Child::Node(node) => Child::Node(becomes[node.index()]),
            token => token,
        };
        builder.secondary(child, edge.label.clone(), becomes[edge.parent.index()]);
    }
    builder.finish().expect("splicing nodes out of a tree leaves a tree")
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
        if !tree.token_edge(token).is_empty() {
            builder.set_token_edge(new, tree.token_edge(token));
        }
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

/// Who is above whom, in constant or logarithmic time.
pub(super) struct Ancestors {
    parents: Vec<usize>,
    depth: Vec<u32>,
    /// A far ancestor (Myers' skew-binary jumps).
    jump: Vec<usize>,
    /// The first node of each subtree: in post-order a subtree is a range that ends at its top.
    first: Vec<usize>,
}

impl Ancestors {
    pub(super) fn new(tree: &ConstituentTree) -> Self {
        let n_nodes = tree.n_nodes();
        let root = n_nodes - 1;
        let parents: Vec<usize> =
            tree.parents().into_iter().map(|parent| parent.map_or(root, NodeId::index)).collect();
        let (mut depth, mut jump) = (vec![0u32; n_nodes], vec![root; n_nodes]);
        for node in (0..root).rev() {
            let parent = parents[node];
            depth[node] = depth[parent] + 1;
            let (near, far) = (jump[parent], jump[jump[parent]]);
            let is_even = depth[parent] - depth[near] == depth[near] - depth[far];
            jump[node] = if is_even { far } else { parent };
        }
        let mut first: Vec<usize> = (0..n_nodes).collect();
        for node in 0..root {
            let parent = parents[node];
            first[parent] = first[parent].min(first[node]);
        }
        Ancestors { parents, depth, jump, first }
    }

    /// The number of nodes above a node.
    pub(super) fn depth(&self, node: NodeId) -> u32 {
        self.depth[node.index()]
    }

    /// Is `above` the node itself or above it?
    pub(super) fn dominates(&self, above: NodeId, node: NodeId) -> bool {
        (self.first[above.index()]..=above.index()).contains(&node.index())
    }

    /// The lowest node that dominates both.
    pub(super) fn lowest_common(&self, a: NodeId, b: NodeId) -> NodeId {
        let mut at = a.index();
        let b = b.index();
        while !(self.first[at]..=at).contains(&b) {
            let far = self.jump[at];
            // A jump that lands above the answer is one too far.
            at = if (self.first[far]..=far).contains(&b) { self.parents[at] } else { far };
        }
        NodeId::new(at)
    }
}
