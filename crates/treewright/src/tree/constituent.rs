//! Constituent trees: n-ary, labelled, possibly discontinuous, in one arena.
//!
//! A tree is kept in one canonical form, so that `==` means "the same tree": the children of a node stand in the
//! order of their leftmost words, and the nodes stand in post-order (children before parents, the root last).
//! Secondary edges are sorted by their lower end.
//! Words are not nodes; their tags belong to the sentence.

mod nested;
#[cfg(test)]
mod tests;

use crate::ids::{NodeId, TokenIdx};
use crate::sentence::Str;
use crate::tree::ancestors::Ancestors;

pub use nested::NestedBuilder;

/// A child of a constituent: a word or another constituent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Child {
    /// A word.
    Token(TokenIdx),
    /// A constituent.
    Node(NodeId),
}

/// One constituent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The label, with function tags and indices if the treebank writes them there (`NP-SBJ-1`).
    pub label: Str,
    /// The label of the edge to the parent (the function, in export and TIGER-XML); may be empty.
    pub edge: Str,
    children: (u32, u32),
    extent: Extent,
}

/// What a node covers: its yield, as far as it can be said without listing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub leftmost: TokenIdx,
    pub rightmost: TokenIdx,
    pub n_tokens: u32,
}

impl Extent {
    /// Of one word.
    #[inline]
    pub(super) fn word(token: TokenIdx) -> Self {
        Extent { leftmost: token, rightmost: token, n_tokens: 1 }
    }

    /// Of two nodes together.
    #[inline]
    pub(super) fn join(self, other: Self) -> Self {
        Extent {
            leftmost: self.leftmost.min(other.leftmost),
            rightmost: self.rightmost.max(other.rightmost),
            n_tokens: self.n_tokens.saturating_add(other.n_tokens),
        }
    }
}

/// What the nodes of both kinds of constituent trees tell about their yields.
macro_rules! yields {
    ($node:ty) => {
        impl $node {
            /// The first word of the yield.
            pub fn leftmost(&self) -> TokenIdx {
                self.extent.leftmost
            }

            /// The last word of the yield.
            pub fn rightmost(&self) -> TokenIdx {
                self.extent.rightmost
            }

            /// From the first word of the yield to just after its last, gaps included.
            pub fn span(&self) -> std::ops::Range<usize> {
                self.leftmost().index()..self.rightmost().index() + 1
            }

            /// The number of words in the yield.
            pub fn n_tokens(&self) -> usize {
                self.extent.n_tokens as usize
            }

            /// Does the yield have a gap?
            pub fn is_discontinuous(&self) -> bool {
                self.span().len() != self.n_tokens()
            }
        }
    };
}

pub(super) use yields;

yields!(Node);

/// What both kinds of constituent trees have: nodes in post-order, and `each_child`.
macro_rules! post_order {
    ($tree:ty, $node:ty) => {
        impl $tree {
            /// The number of constituents.
            pub fn n_nodes(&self) -> usize {
                self.nodes.len()
            }

            /// The number of words.
            pub fn n_tokens(&self) -> usize {
                self.n_tokens as usize
            }

            /// The root: the last node.
            pub fn root(&self) -> NodeId {
                NodeId::new(self.nodes.len() - 1)
            }

            /// The constituents in post-order, the root last.
            pub fn nodes(&self) -> impl ExactSizeIterator<Item = (NodeId, &$node)> + DoubleEndedIterator {
                self.nodes.iter().enumerate().map(|(i, node)| (NodeId::new(i), node))
            }

            /// One constituent.
            pub fn node(&self, node: NodeId) -> &$node {
                &self.nodes[node.index()]
            }

            /// The parent of every constituent; `None` for the root.
            pub fn parents(&self) -> Vec<Option<NodeId>> {
                let mut parents = vec![None; self.nodes.len()];
                self.each_child(|parent, child| {
                    if let Child::Node(node) = child {
                        parents[node.index()] = Some(parent);
                    }
                });
                parents
            }

            /// The parent of every word.
            pub fn token_parents(&self) -> Vec<NodeId> {
                let mut parents = vec![self.root(); self.n_tokens()];
                self.each_child(|parent, child| {
                    if let Child::Token(token) = child {
                        parents[token.index()] = parent;
                    }
                });
                parents
            }
        }
    };
}

pub(super) use post_order;

post_order!(ConstituentTree, Node);

/// A second parent, outside the tree (export and TIGER-XML have them).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondaryEdge {
    /// What is attached to it.
    pub child: Child,
    /// The edge's label.
    pub label: Str,
    /// The second parent.
    pub parent: NodeId,
}

impl SecondaryEdge {
    /// Their order in a tree: words before nodes, then by parent, then by label.
    fn order(&self) -> (bool, usize, NodeId, &str) {
        match self.child {
            Child::Token(token) => (false, token.index(), self.parent, &self.label),
            Child::Node(node) => (true, node.index(), self.parent, &self.label),
        }
    }
}

/// Why a set of nodes is not a tree over the sentence. Positions are those given to the builder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeError {
    /// There is no node at all.
    Empty,
    /// A node (by its number in the builder) dominates no word.
    NoWords(usize),
    /// A word has two parents, or one parent twice.
    TwoParents(TokenIdx),
    /// A node (by its number in the builder) has two parents, or one parent twice.
    NodeTwoParents(usize),
    /// A word has no parent.
    Unattached(TokenIdx),
    /// Nodes that are not under the root, or on a cycle (one of them, by its number in the builder).
    Unrooted(usize),
}

impl std::fmt::Display for TreeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TreeError::Empty => write!(f, "the tree has no constituent"),
            TreeError::NoWords(_) => write!(f, "a constituent dominates no word"),
            TreeError::TwoParents(token) => write!(f, "word {} has two parents", token.index()),
            TreeError::NodeTwoParents(_) => write!(f, "a constituent has two parents"),
            TreeError::Unattached(token) => write!(f, "word {} has no parent", token.index()),
            TreeError::Unrooted(_) => write!(f, "a constituent is not connected to the root"),
        }
    }
}

/// A constituent tree over `n_tokens` words. See the module for its canonical form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstituentTree {
    nodes: Vec<Node>,
    children: Vec<Child>,
    /// The edge labels of the words; empty if no word has one.
    token_edges: Vec<Str>,
    secondary: Vec<SecondaryEdge>,
    n_tokens: u32,
}

/// Brackets with the numbers of the words, counted from 1: `(S (VP 1 3) 2)`.
impl std::fmt::Display for ConstituentTree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // What is still to be written, the next at the end; nothing stands for a closing bracket.
        let mut rest = vec![Some(Child::Node(self.root()))];
        while let Some(next) = rest.pop() {
            match next {
                None => f.write_str(")")?,
                Some(Child::Token(token)) => write!(f, " {}", token.index() + 1)?,
                Some(Child::Node(node)) => {
                    let space = if node == self.root() { "" } else { " " };
                    write!(f, "{space}({}", self.node(node).label)?;
                    rest.push(None);
                    rest.extend(self.children(node).iter().rev().copied().map(Some));
                }
            }
        }
        Ok(())
    }
}

impl ConstituentTree {
    /// The label of one constituent, to be changed in place.
    pub fn label_mut(&mut self, node: NodeId) -> &mut Str {
        &mut self.nodes[node.index()].label
    }

    /// The edge label of one constituent, to be changed in place.
    pub fn edge_mut(&mut self, node: NodeId) -> &mut Str {
        &mut self.nodes[node.index()].edge
    }

    /// The children of a constituent, by leftmost word.
    pub fn children(&self, node: NodeId) -> &[Child] {
        let (start, end) = self.nodes[node.index()].children;
        &self.children[start as usize..end as usize]
    }

    /// The first word of a child's yield.
    pub fn leftmost(&self, child: Child) -> TokenIdx {
        match child {
            Child::Token(token) => token,
            Child::Node(node) => self.node(node).leftmost(),
        }
    }

    /// The label of the edge above a word; empty if there is none.
    pub fn token_edge(&self, token: TokenIdx) -> &str {
        self.token_edges.get(token.index()).map_or("", Str::as_str)
    }

    /// Does any word or node have an edge label?
    pub fn has_edges(&self) -> bool {
        !self.token_edges.is_empty() || self.nodes.iter().any(|node| !node.edge.is_empty())
    }

    /// Takes the edge labels of nodes and words away.
    pub fn clear_edges(&mut self) {
        self.nodes.iter_mut().for_each(|node| node.edge.clear());
        self.token_edges.clear();
    }

    /// Takes the edges to second parents away.
    pub fn clear_secondary_edges(&mut self) {
        self.secondary.clear();
    }

    /// Edges to second parents.
    pub fn secondary_edges(&self) -> &[SecondaryEdge] {
        &self.secondary
    }

    fn each_child(&self, mut visit: impl FnMut(NodeId, Child)) {
        for (id, _) in self.nodes() {
            self.children(id).iter().for_each(|&child| visit(id, child));
        }
    }

    /// Is some constituent discontinuous?
    pub fn is_discontinuous(&self) -> bool {
        self.nodes.iter().any(Node::is_discontinuous)
    }

    /// The words under a node, in ascending order.
    pub fn tokens_under(&self, node: NodeId) -> Vec<TokenIdx> {
        // The nodes of a subtree are the contiguous post-order range that ends at its top.
        let mut tokens = Vec::with_capacity(self.node(node).n_tokens());
        let mut todo = vec![node];
        while let Some(id) = todo.pop() {
            for &child in self.children(id) {
                match child {
                    Child::Token(token) => tokens.push(token),
                    Child::Node(child) => todo.push(child),
                }
            }
        }
        tokens.sort_unstable();
        tokens
    }

    /// The number of gaps in the yield of every constituent, in near-linear time whatever the tree's shape.
    pub fn gap_degrees(&self) -> Vec<u32> {
        // A yield of k words has k - a blocks, a = its pairs of neighbouring words; a pair (i, i+1) lies inside
        // every node above the lowest node that dominates both.
        let ancestors = Ancestors::new(&self.parents());
        let mut pairs = vec![0u32; self.nodes.len()];
        for pair in self.token_parents().windows(2) {
            pairs[ancestors.lowest_common(pair[0], pair[1]).index()] += 1;
        }
        for (node, _) in self.nodes().take(self.root().index()) {
            pairs[ancestors.parent(node).index()] += pairs[node.index()];
        }
        self.nodes.iter().zip(pairs).map(|(node, pairs)| node.extent.n_tokens - pairs - 1).collect()
    }

    /// The same tree as a builder, to be edited: node `i` of the tree is node `i` of the builder.
    pub fn to_builder(&self) -> TreeBuilder {
        let mut builder = TreeBuilder::with_tokens(self.n_tokens());
        for (_, node) in self.nodes() {
            let id = builder.node(node.label.clone());
            builder.set_edge(id, node.edge.clone());
        }
        for (id, _) in self.nodes() {
            for &child in self.children(id) {
                builder.attach(child, id);
            }
        }
        for (i, edge) in self.token_edges.iter().enumerate() {
            builder.set_token_edge(TokenIdx::new(i), edge.clone());
        }
        builder.secondary = self.secondary.clone();
        builder
    }
}

/// Builds a tree from nodes and parents in any order, and checks it.
#[derive(Clone, Debug, Default)]
pub struct TreeBuilder {
    labels: Vec<Str>,
    edges: Vec<Str>,
    parents: Vec<Option<NodeId>>,
    token_parents: Vec<Option<NodeId>>,
    token_edges: Vec<Str>,
    secondary: Vec<SecondaryEdge>,
    /// The first word or constituent that was given two parents.
    doubled: Option<Child>,
}

impl TreeBuilder {
    /// A builder for a sentence of `n_tokens` words.
    pub fn with_tokens(n_tokens: usize) -> Self {
        TreeBuilder { token_parents: vec![None; n_tokens], ..TreeBuilder::default() }
    }

    /// Adds a constituent, not yet attached. An unattached one must be the root in the end.
    pub fn node(&mut self, label: impl Into<Str>) -> NodeId {
        self.labels.push(label.into());
        self.edges.push(Str::default());
        self.parents.push(None);
        NodeId::new(self.labels.len() - 1)
    }

    /// The number of constituents so far.
    pub fn n_nodes(&self) -> usize {
        self.labels.len()
    }

    /// The label of a constituent.
    pub fn label(&self, node: NodeId) -> &Str {
        &self.labels[node.index()]
    }

    /// Labels the edge above a constituent.
    pub fn set_edge(&mut self, node: NodeId, edge: impl Into<Str>) {
        self.edges[node.index()] = edge.into();
    }

    /// Labels the edge above a word.
    pub fn set_token_edge(&mut self, token: TokenIdx, edge: impl Into<Str>) {
        let edge = edge.into();
        if self.token_edges.len() <= token.index() {
            if edge.is_empty() {
                return;
            }
            self.token_edges.resize(self.token_parents.len().max(token.index() + 1), Str::default());
        }
        self.token_edges[token.index()] = edge;
    }

    /// Adds an edge to a second parent.
    pub fn secondary(&mut self, child: Child, label: impl Into<Str>, parent: NodeId) {
        self.secondary.push(SecondaryEdge { child, label: label.into(), parent });
    }

    /// Attaches a word or constituent to `parent`. A second parent makes `finish` fail; the sentence grows when a word
    /// after its end is attached.
    pub fn attach(&mut self, child: Child, parent: NodeId) {
        let slot = match child {
            Child::Node(node) => &mut self.parents[node.index()],
            Child::Token(token) => {
                if self.token_parents.len() <= token.index() {
                    self.token_parents.resize(token.index() + 1, None);
                }
                &mut self.token_parents[token.index()]
            }
        };
        if slot.is_some() && self.doubled.is_none() {
            self.doubled = Some(child);
        }
        *slot = Some(parent);
    }

    /// Attaches a word or constituent to another parent.
    pub fn move_to(&mut self, child: Child, parent: NodeId) {
        match child {
            Child::Node(node) => self.parents[node.index()] = Some(parent),
            Child::Token(token) => self.token_parents[token.index()] = Some(parent),
        }
    }

    /// The parent of a constituent.
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        self.parents[node.index()]
    }

    /// The parent of a word.
    pub fn token_parent(&self, token: TokenIdx) -> Option<NodeId> {
        self.token_parents[token.index()]
    }

    /// Checks the tree and puts it in canonical form, in linear time.
    ///
    /// # Errors
    /// When the nodes are not one tree over all the words.
    pub fn finish(mut self) -> Result<ConstituentTree, TreeError> {
        if self.labels.is_empty() {
            return Err(TreeError::Empty);
        }
        match self.doubled {
            None => {}
            Some(Child::Token(token)) => return Err(TreeError::TwoParents(token)),
            Some(Child::Node(node)) => return Err(TreeError::NodeTwoParents(node.index())),
        }
        let (root, lists) = self.child_lists()?;
        let PostOrder { new_id, nodes, children } = self.post_order(root, &lists)?;
        self.rename_secondary(&new_id);
        if self.token_edges.iter().all(|edge| edge.is_empty()) {
            self.token_edges.clear();
        }
        let n_tokens = self.token_parents.len() as u32;
        let (token_edges, secondary) = (self.token_edges, self.secondary);
        Ok(ConstituentTree { nodes, children, token_edges, secondary, n_tokens })
    }

    /// The root, and the children of each node in the order of their leftmost words.
    fn child_lists(&self) -> Result<(NodeId, ChildLists), TreeError> {
        let n_nodes = self.labels.len();
        // Walking up from the words in order, a node is met first from its leftmost word. Appending it to its
        // parent's children at that moment gives every child list in the order of leftmost words.
        let mut met = vec![false; n_nodes];
        let mut order: Vec<(u32, Child)> = Vec::with_capacity(n_nodes + self.token_parents.len());
        let mut n_children = vec![0u32; n_nodes];
        let mut root = None;
        for (i, parent) in self.token_parents.iter().enumerate() {
            let mut child = Child::Token(TokenIdx::new(i));
            let mut above = parent.ok_or(TreeError::Unattached(TokenIdx::new(i)))?;
            loop {
                order.push((above.index() as u32, child));
                n_children[above.index()] += 1;
                if std::mem::replace(&mut met[above.index()], true) {
                    break;
                }
                child = Child::Node(above);
                match self.parents[above.index()] {
                    Some(next) => above = next,
                    None if root.is_some_and(|r| r != above) => {
                        return Err(TreeError::Unrooted(above.index()));
                    }
                    None => {
                        root = Some(above);
                        break;
                    }
                }
            }
        }
        if let Some(unmet) = met.iter().position(|met| !met) {
            return Err(TreeError::NoWords(unmet));
        }
        let root = root.ok_or(TreeError::Unrooted(0))?;
        Ok((root, ChildLists::of(&n_children, order)))
    }

    /// The nodes below the root, children before parents; takes their labels.
    fn post_order(&mut self, root: NodeId, lists: &ChildLists) -> Result<PostOrder, TreeError> {
        let n_nodes = self.labels.len();
        let mut new_id = vec![None; n_nodes];
        let mut nodes = Vec::with_capacity(n_nodes);
        let mut children = Vec::with_capacity(lists.children.len());
        let mut stack = vec![(root, lists.start[root.index()])];
        while let Some((node, next)) = stack.pop() {
            let i = node.index();
            if let Some((position, child)) = lists.next_node(node, next) {
                stack.push((node, position + 1));
                stack.push((child, lists.start[child.index()]));
                continue;
            }
            let first = children.len() as u32;
            let mut extent = None;
            for &child in lists.of_node(node) {
                let (own, child) = match child {
                    Child::Token(token) => (Extent::word(token), child),
                    Child::Node(child) => {
                        let id: NodeId = new_id[child.index()].expect("children come before parents");
                        let node: &Node = &nodes[id.index()];
                        (node.extent, Child::Node(id))
                    }
                };
                extent = Some(extent.map_or(own, |extent: Extent| extent.join(own)));
                children.push(child);
            }
            new_id[i] = Some(NodeId::new(nodes.len()));
            nodes.push(Node {
                label: std::mem::take(&mut self.labels[i]),
                edge: std::mem::take(&mut self.edges[i]),
                children: (first, children.len() as u32),
                extent: extent.expect("every node met has a child"),
            });
        }
        // A node that was met but not reached from the root sits on, or hangs from, a cycle.
        if let Some(lost) = new_id.iter().position(Option::is_none) {
            return Err(TreeError::Unrooted(lost));
        }
        let new_id = new_id.into_iter().flatten().collect();
        Ok(PostOrder { new_id, nodes, children })
    }

    /// Secondary edges between nodes as they are called now, in order.
    fn rename_secondary(&mut self, new_id: &[NodeId]) {
        for edge in &mut self.secondary {
            edge.parent = new_id[edge.parent.index()];
            if let Child::Node(node) = &mut edge.child {
                *node = new_id[node.index()];
            }
        }
        self.secondary.sort_by(|a, b| a.order().cmp(&b.order()));
    }
}

/// The children of all nodes as ranges of one array.
struct ChildLists {
    /// Where those of each node begin; one more for the end.
    start: Vec<u32>,
    children: Vec<Child>,
}

impl ChildLists {
    /// From the number of each node's children, and parents with their children, those of one parent in order.
    fn of(n_children: &[u32], order: Vec<(u32, Child)>) -> Self {
        let mut start = vec![0u32; n_children.len() + 1];
        for (i, n) in n_children.iter().enumerate() {
            start[i + 1] = start[i] + n;
        }
        let mut fill = start.clone();
        let mut children = vec![Child::Token(TokenIdx::new(0)); order.len()];
        for (parent, child) in order {
            let slot = &mut fill[parent as usize];
            children[*slot as usize] = child;
            *slot += 1;
        }
        ChildLists { start, children }
    }

    #[inline]
    fn of_node(&self, node: NodeId) -> &[Child] {
        &self.children[self.start[node.index()] as usize..self.start[node.index() + 1] as usize]
    }

    /// The first constituent among a node's children from this position on, with its position.
    #[inline]
    fn next_node(&self, node: NodeId, from: u32) -> Option<(u32, NodeId)> {
        (from..self.start[node.index() + 1]).find_map(|position| match self.children[position as usize] {
            Child::Node(child) => Some((position, child)),
            Child::Token(_) => None,
        })
    }
}

/// The nodes of a tree, children before parents.
struct PostOrder {
    /// What each node of the builder is now.
    new_id: Vec<NodeId>,
    nodes: Vec<Node>,
    children: Vec<Child>,
}
