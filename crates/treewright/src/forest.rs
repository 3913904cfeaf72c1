//! The per-sentence arena: nodes, the tree-structured stack's cells, and the steps of derivations.
//!
//! Nothing here is ever edited, only appended, so states that share a past share its memory: a state is a few ids,
//! copying one costs nothing, and greedy, beam and best-first search use the same representation.

use crate::ids::{ActionId, CellId, LabelId, NodeId, StepId, TokenIdx};

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A word, with whatever dependents a dependency system has given it.
    Word,
    /// The artificial root of a dependency tree, one place after the last word.
    Root,
    /// A finished constituent.
    Constituent,
    /// A constituent that binarisation made up and un-binarisation takes away.
    Temporary,
    /// A non-terminal that was opened and not yet closed (top-down and in-order systems).
    Opening,
}

/// A word, constituent, dependency subtree or opening. Its own children never change.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// Its constituent label; for a dependent, the relation to its head once it is attached.
    pub label: Option<LabelId>,
    /// Its lexical head; for an opening, the word before which or at which it was opened.
    pub head: TokenIdx,
    /// The first word of the yield.
    pub left: TokenIdx,
    /// The place after the last word of the yield.
    pub right: TokenIdx,
    /// A constituent's first child; a dependency head's outermost left dependent.
    pub first: Option<NodeId>,
    /// A constituent's last child; a dependency head's outermost right dependent.
    pub last: Option<NodeId>,
    /// Number of children; of a dependency head, its left dependents.
    pub n_left: u32,
    /// Of a dependency head, its right dependents; 0 for constituents.
    pub n_right: u32,
    /// Constituents: where the children stand in the forest's list.
    children: u32,
    /// Dependency heads: the same head before its newest dependent was attached.
    before: Option<NodeId>,
    /// Dependency heads: the newest dependent.
    newest: Option<NodeId>,
    /// Dependency heads: the second outermost left dependent. (Kept here, like the sets, so that looking costs the
    /// same however many dependents there are.)
    pub second_first: Option<NodeId>,
    /// Dependency heads: the second outermost right dependent.
    pub second_last: Option<NodeId>,
    /// Dependency heads: the relations of the left dependents, one bit each (from 62 relations on they share bits).
    pub left_relations: u64,
    /// Dependency heads: the relations of the right dependents.
    pub right_relations: u64,
}

impl Node {
    /// What a node has of each kind before anything is known.
    const BARE: Node = Node {
        kind: Kind::Word,
        label: None,
        head: TokenIdx::new(0),
        left: TokenIdx::new(0),
        right: TokenIdx::new(0),
        first: None,
        last: None,
        n_left: 0,
        n_right: 0,
        children: 0,
        before: None,
        newest: None,
        second_first: None,
        second_last: None,
        left_relations: 0,
        right_relations: 0,
    };
}

/// One cell of a stack: an item and what lies below it. Stacks that share their lower part share its cells.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// The item.
    pub node: NodeId,
    /// The cell below.
    pub below: Option<CellId>,
    /// The number of cells from here to the bottom, this one included.
    pub depth: u32,
}

/// One step of a derivation.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// What was done.
    pub action: ActionId,
    /// The step before.
    pub before: Option<StepId>,
}

/// Where the data structures of a configuration begin: all that a scorer sees of a state.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// The stack, or S in the systems that split it.
    pub stack: Option<CellId>,
    /// The top of the deque D; in systems without a deque, whatever they declare to be "d0", or nothing.
    pub deque_top: Option<NodeId>,
    /// The rest of D: its nearest element first.
    pub deque: Option<CellId>,
    /// How many elements `deque` has; below them the chain belongs to the stack.
    pub n_deque: u32,
    /// Words that were put back (and words that already have dependents), in front of `next`.
    pub buffer: Option<CellId>,
    /// The first word that was never shifted.
    pub next: TokenIdx,
    /// The newest step.
    pub past: Option<StepId>,
}

/// A place in a configuration; 0 is nearest to the action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// s0, s1, ...
    Stack(u8),
    /// d0, d1, ...
    Deque(u8),
    /// b0, b1, ...
    Buffer(u8),
}

/// The arena of one sentence; cleared and reused for the next.
#[derive(Clone, Debug, Default)]
pub struct Forest {
    nodes: Vec<Node>,
    children: Vec<NodeId>,
    cells: Vec<Cell>,
    steps: Vec<Step>,
    n_tokens: usize,
    n_leaves: usize,
}

impl Forest {
    /// An empty arena.
    pub fn new() -> Self {
        Forest::default()
    }

    /// Forgets everything and makes one node per word, so that word `i` is node `i`; with `with_root`, node `n` is
    /// the artificial root.
    pub fn start(&mut self, n_tokens: usize, with_root: bool) {
        self.nodes.clear();
        self.children.clear();
        self.cells.clear();
        self.steps.clear();
        self.n_tokens = n_tokens;
        self.n_leaves = n_tokens + usize::from(with_root);
        self.nodes.extend((0..self.n_leaves).map(|i| Node {
            kind: if i < n_tokens { Kind::Word } else { Kind::Root },
            head: TokenIdx::new(i),
            left: TokenIdx::new(i),
            right: TokenIdx::new(i + 1),
            ..Node::BARE
        }));
    }

    /// The bytes that its nodes, cells and steps take.
    #[inline]
    pub fn n_bytes(&self) -> usize {
        size_of_val(&*self.nodes)
            + size_of_val(&*self.children)
            + size_of_val(&*self.cells)
            + size_of_val(&*self.steps)
    }

    /// Forgets everything if that takes much memory, and gives the memory back.
    pub fn give_back(&mut self) {
        /// A longer sentence is rare.
        const MAX_KEPT: usize = 1 << 25;
        if self.n_bytes() > MAX_KEPT {
            *self = Forest::new();
        }
    }

    /// The number of words.
    pub fn n_tokens(&self) -> usize {
        self.n_tokens
    }

    /// The number of nodes; recurrent scorers size their side tables by it.
    pub fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The number of cells.
    pub fn n_cells(&self) -> usize {
        self.cells.len()
    }

    /// The number of steps.
    pub fn n_steps(&self) -> usize {
        self.steps.len()
    }

    /// The node of a word (or of the root, at place `n`).
    #[inline]
    pub fn leaf(&self, token: TokenIdx) -> NodeId {
        debug_assert!(token.index() < self.n_leaves, "a leaf is a word or the root");
        NodeId::new(token.index())
    }

    /// One node.
    #[inline]
    pub fn node(&self, node: NodeId) -> &Node {
        &self.nodes[node.index()]
    }

    /// One cell.
    #[inline]
    pub fn cell(&self, cell: CellId) -> &Cell {
        &self.cells[cell.index()]
    }

    /// One step.
    #[inline]
    pub fn step(&self, step: StepId) -> &Step {
        &self.steps[step.index()]
    }

    /// The children of a constituent, from left to right.
    #[inline]
    pub fn children(&self, node: NodeId) -> &[NodeId] {
        let node = self.node(node);
        match node.kind {
            Kind::Constituent | Kind::Temporary => {
                &self.children[node.children as usize..(node.children + node.n_left) as usize]
            }
            Kind::Word | Kind::Root | Kind::Opening => &[],
        }
    }

    /// The dependents of a dependency head, the newest first.
    pub fn dependents(&self, head: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let mut version = Some(head);
        std::iter::from_fn(move || {
            let node = self.node(version?);
            version = node.before;
            node.newest
        })
    }

    /// A dependency head before its newest dependent was attached, and that dependent; nothing without dependents.
    #[inline]
    pub fn attachment(&self, head: NodeId) -> Option<(NodeId, NodeId)> {
        let node = self.node(head);
        node.before.zip(node.newest)
    }

    /// Appends a constituent over `children`, which are in the order the system gives them. Its yield runs from the
    /// first word of any child to the last.
    pub fn push_constituent(
        &mut self,
        kind: Kind,
        label: LabelId,
        head: TokenIdx,
        children: &[NodeId],
    ) -> NodeId {
        let start = self.children.len();
        self.children.extend_from_slice(children);
        self.push_parent(start, kind, label, head)
    }

    /// Appends a constituent over the children from `start` on.
    fn push_parent(&mut self, start: usize, kind: Kind, label: LabelId, head: TokenIdx) -> NodeId {
        let children = &self.children[start..];
        let left = children.iter().map(|&child| self.node(child).left).min();
        let right = children.iter().map(|&child| self.node(child).right).max();
        self.push_node(Node {
            kind,
            label: Some(label),
            head,
            left: left.expect("a constituent has children"),
            right: right.expect("a constituent has children"),
            first: children.first().copied(),
            last: children.last().copied(),
            n_left: children.len() as u32,
            children: start as u32,
            ..Node::BARE
        })
    }

    /// Appends a continuous constituent over the top `count` items of a stack, the deepest of them leftmost, with
    /// `first` to their left if it is given. Its head is that of its leftmost child.
    pub fn push_reduction(
        &mut self,
        label: LabelId,
        first: Option<NodeId>,
        top: Option<CellId>,
        count: usize,
    ) -> NodeId {
        let start = self.children.len();
        let mut at = top;
        for _ in 0..count {
            let cell = *self.cell(at.expect("the stack holds the children"));
            self.children.push(cell.node);
            at = cell.below;
        }
        self.children.extend(first);
        self.children[start..].reverse();
        let head = self.node(self.children[start]).head;
        self.push_parent(start, Kind::Constituent, label, head)
    }

    /// Appends an opening of a constituent that starts at `left`.
    pub fn push_opening(&mut self, label: LabelId, left: TokenIdx, at: TokenIdx) -> NodeId {
        self.push_node(Node {
            kind: Kind::Opening,
            label: Some(label),
            head: at,
            left,
            right: left,
            ..Node::BARE
        })
    }

    /// Attaches `dependent` to `head` by `label` and gives the head's new version.
    pub fn attach(&mut self, head: NodeId, dependent: NodeId, label: LabelId) -> NodeId {
        let dependent = self.push_node(Node { label: Some(label), ..*self.node(dependent) });
        let (child, mut node) = (*self.node(dependent), *self.node(head));
        // Swapped words may come in any order; "outermost" goes by the words' own places.
        let is_farther = |than: Option<NodeId>| {
            than.is_none_or(|than| (child.head < self.node(than).head) == (child.head < node.head))
        };
        let relation = 1 << (label.index() % 62);
        let (outermost, second) = if child.head < node.head {
            node.n_left += 1;
            node.left_relations |= relation;
            (&mut node.first, &mut node.second_first)
        } else {
            node.n_right += 1;
            node.right_relations |= relation;
            (&mut node.last, &mut node.second_last)
        };
        if is_farther(*outermost) {
            *second = outermost.replace(dependent);
        } else if is_farther(*second) {
            *second = Some(dependent);
        }
        node.left = node.left.min(child.left);
        // The root has no place in the sentence; its yield does not matter to anyone.
        node.right = node.right.max(child.right);
        node.before = Some(head);
        node.newest = Some(dependent);
        self.push_node(node)
    }

    /// A copy of `node` that carries the relation to its head before the head takes it (arc-eager systems).
    pub fn with_label(&mut self, node: NodeId, label: LabelId) -> NodeId {
        self.push_node(Node { label: Some(label), ..*self.node(node) })
    }

    fn push_node(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        NodeId::new(self.nodes.len() - 1)
    }

    /// Puts `node` on top of `below`.
    #[inline]
    pub fn push_cell(&mut self, node: NodeId, below: Option<CellId>) -> CellId {
        let depth = self.depth(below) + 1;
        self.cells.push(Cell { node, below, depth });
        CellId::new(self.cells.len() - 1)
    }

    /// Appends a step.
    #[inline]
    pub fn push_step(&mut self, action: ActionId, before: Option<StepId>) -> StepId {
        self.steps.push(Step { action, before });
        StepId::new(self.steps.len() - 1)
    }

    /// The number of cells in a chain.
    #[inline]
    pub fn depth(&self, chain: Option<CellId>) -> u32 {
        chain.map_or(0, |cell| self.cell(cell).depth)
    }

    /// The nodes of a chain, from its top.
    pub fn chain(&self, top: Option<CellId>) -> impl Iterator<Item = NodeId> + '_ {
        let mut at = top;
        std::iter::from_fn(move || {
            let cell = self.cell(at?);
            at = cell.below;
            Some(cell.node)
        })
    }

    /// The node at `place`, if there is one.
    #[inline(always)]
    pub fn peek(&self, view: &View, place: Place) -> Option<NodeId> {
        match place {
            Place::Stack(i) => self.nth(view.stack, i),
            Place::Deque(0) => view.deque_top,
            Place::Deque(i) if u32::from(i) <= view.n_deque => self.nth(view.deque, i - 1),
            Place::Deque(_) => None,
            Place::Buffer(i) => {
                let in_front = self.depth(view.buffer);
                if u32::from(i) < in_front {
                    return self.nth(view.buffer, i);
                }
                let token = view.next.index() + usize::from(i) - in_front as usize;
                (token < self.n_leaves).then(|| NodeId::new(token))
            }
        }
    }

    #[inline]
    fn nth(&self, chain: Option<CellId>, i: u8) -> Option<NodeId> {
        let mut cell = self.cell(chain?);
        for _ in 0..i {
            cell = self.cell(cell.below?);
        }
        Some(cell.node)
    }

    /// The actions that led to `step`, in order.
    pub fn history(&self, step: Option<StepId>) -> Vec<ActionId> {
        let mut actions = Vec::new();
        let mut at = step;
        while let Some(step) = at {
            let step = self.step(step);
            actions.push(step.action);
            at = step.before;
        }
        actions.reverse();
        actions
    }
}
