//! Which node of a tree is above which, in constant or logarithmic time.

use crate::ids::NodeId;

/// The nodes above each node of a tree whose nodes are in post-order, the root last.
#[derive(Clone, Debug)]
pub(crate) struct Ancestors {
    /// The parent; the root's is itself.
    parents: Vec<u32>,
    depth: Vec<u32>,
    /// An ancestor further up (Myers' skew-binary jumps).
    jump: Vec<u32>,
    /// The first node of each subtree: in post-order a subtree is a range that ends at its top.
    first: Vec<u32>,
}

impl Ancestors {
    /// For the parents of all nodes; the root's is left out, or itself.
    pub(crate) fn new(parents: &[Option<NodeId>]) -> Self {
        let n_nodes = parents.len();
        let root = n_nodes.saturating_sub(1) as u32;
        let parents: Vec<u32> =
            parents.iter().map(|parent| parent.map_or(root, |parent| parent.index() as u32)).collect();
        let (mut depth, mut jump) = (vec![0u32; n_nodes], vec![root; n_nodes]);
        for node in (0..root as usize).rev() {
            let parent = parents[node] as usize;
            depth[node] = depth[parent] + 1;
            let near = jump[parent] as usize;
            let far = jump[near];
            let is_even = depth[parent] - depth[near] == depth[near] - depth[far as usize];
            jump[node] = if is_even { far } else { parent as u32 };
        }
        let mut first: Vec<u32> = (0..n_nodes as u32).collect();
        for node in 0..root as usize {
            let parent = parents[node] as usize;
            first[parent] = first[parent].min(first[node]);
        }
        Ancestors { parents, depth, jump, first }
    }

    /// The parent of a node; the root's is itself.
    #[inline]
    pub(crate) fn parent(&self, node: NodeId) -> NodeId {
        NodeId::new(self.parents[node.index()] as usize)
    }

    /// The number of nodes above a node.
    #[inline]
    pub(crate) fn depth(&self, node: NodeId) -> u32 {
        self.depth[node.index()]
    }

    /// Is `above` the node itself or above it?
    #[inline]
    pub(crate) fn dominates(&self, above: NodeId, node: NodeId) -> bool {
        (self.first[above.index()] as usize..=above.index()).contains(&node.index())
    }

    /// The lowest node that dominates both.
    pub(crate) fn lowest_common(&self, a: NodeId, b: NodeId) -> NodeId {
        let mut at = a;
        while !self.dominates(at, b) {
            let far = NodeId::new(self.jump[at.index()] as usize);
            // A jump that lands above the answer is one too far.
            at = if self.dominates(far, b) { self.parent(at) } else { far };
        }
        at
    }
}
