//! Stack and buffer of the dependency systems.

use crate::forest::{Forest, Kind, View};
use crate::ids::{ActionId, CellId, LabelId, NodeId, StepId, TokenIdx};

/// The buffer: words in front (put back, or with dependents), then the words that were never shifted, then r.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer {
    pub(crate) front: Option<CellId>,
    pub(crate) next: TokenIdx,
}

impl Buffer {
    /// All words.
    pub(crate) fn new() -> Self {
        Buffer { front: None, next: TokenIdx::new(0) }
    }

    /// b0. There is always one until r is shifted.
    #[inline]
    pub(crate) fn first(&self, forest: &Forest) -> NodeId {
        match self.front {
            Some(cell) => forest.cell(cell).node,
            None => forest.leaf(self.next),
        }
    }

    /// Everything but b0.
    #[inline]
    pub(crate) fn rest(&self, forest: &Forest) -> Buffer {
        match self.front {
            Some(cell) => Buffer { front: forest.cell(cell).below, ..*self },
            None => Buffer { next: TokenIdx::new(self.next.index() + 1), ..*self },
        }
    }

    /// With `node` in front.
    #[inline]
    pub(crate) fn push(&self, forest: &mut Forest, node: NodeId) -> Buffer {
        Buffer { front: Some(forest.push_cell(node, self.front)), ..*self }
    }
}

/// A configuration: stack, buffer, and what a system keeps of its own. Arcs lie inside the forest's nodes.
#[derive(Clone, Copy, Debug)]
pub struct Configuration<O = ()> {
    pub(crate) stack: Option<CellId>,
    pub(crate) buffer: Buffer,
    past: Option<StepId>,
    pub(crate) own: O,
}

impl<O: Default> Configuration<O> {
    /// The empty stack and all words, then r, in the buffer.
    pub(crate) fn start(forest: &mut Forest, n: usize) -> Self {
        forest.start(n, true);
        Configuration { stack: None, buffer: Buffer::new(), past: None, own: O::default() }
    }

    /// Nothing on the stack, and r alone in the buffer.
    #[inline]
    pub(crate) fn is_done(&self, forest: &Forest) -> bool {
        self.stack.is_none() && forest.node(self.b0(forest)).kind == Kind::Root
    }

    /// The first item of the buffer. There is always one until r is shifted.
    #[inline]
    pub(crate) fn b0(&self, forest: &Forest) -> NodeId {
        self.buffer.first(forest)
    }

    /// The top of the stack.
    #[inline]
    pub(crate) fn s0(&self, forest: &Forest) -> Option<NodeId> {
        Some(forest.cell(self.stack?).node)
    }

    /// The item below the top of the stack.
    #[inline]
    pub(crate) fn s1(&self, forest: &Forest) -> Option<NodeId> {
        Some(forest.cell(forest.cell(self.stack?).below?).node)
    }

    /// Takes the top off the stack.
    #[inline]
    pub(crate) fn pop(&mut self, forest: &Forest) -> NodeId {
        let top = forest.cell(self.stack.expect("a legal action finds its items on the stack"));
        self.stack = top.below;
        top.node
    }

    /// Puts a node on the stack.
    #[inline]
    pub(crate) fn push(&mut self, forest: &mut Forest, node: NodeId) {
        self.stack = Some(forest.push_cell(node, self.stack));
    }

    /// Takes the first item out of the buffer.
    #[inline]
    pub(crate) fn take(&mut self, forest: &Forest) -> NodeId {
        let first = self.b0(forest);
        self.buffer = self.buffer.rest(forest);
        first
    }

    /// Puts a node in front of the buffer.
    #[inline]
    pub(crate) fn put_back(&mut self, forest: &mut Forest, node: NodeId) {
        self.buffer = self.buffer.push(forest, node);
    }

    /// Moves b0 to the stack.
    #[inline]
    pub(crate) fn shift(&mut self, forest: &mut Forest) {
        let b0 = self.take(forest);
        self.push(forest, b0);
    }

    /// Pops s0 and hangs it from b0.
    #[inline]
    pub(crate) fn hang_from_b0(&mut self, forest: &mut Forest, label: LabelId) {
        let (s0, b0) = (self.pop(forest), self.take(forest));
        let head = forest.attach(b0, s0, label);
        self.put_back(forest, head);
    }

    /// Pops s0 and hangs it from s1.
    #[inline]
    pub(crate) fn hang_from_s1(&mut self, forest: &mut Forest, label: LabelId) {
        let (s0, s1) = (self.pop(forest), self.pop(forest));
        let head = forest.attach(s1, s0, label);
        self.push(forest, head);
    }

    /// Notes the action that led here.
    #[inline]
    pub(crate) fn note(&mut self, forest: &mut Forest, action: ActionId) {
        self.past = Some(forest.push_step(action, self.past));
    }

    /// What a scorer sees.
    #[inline]
    pub(crate) fn view(&self) -> View {
        View {
            stack: self.stack,
            deque_top: None,
            deque: None,
            n_deque: 0,
            buffer: self.buffer.front,
            next: self.buffer.next,
            past: self.past,
        }
    }
}

/// The word (n for r) that a node stands for.
#[inline]
pub(crate) fn word(forest: &Forest, node: NodeId) -> usize {
    forest.node(node).head.index()
}
