//! The configuration that every system works on: stack, deque, buffer, and what the system keeps of its own.

use std::fmt::Debug;

use crate::forest::{Forest, View};
use crate::ids::{ActionId, CellId, NodeId, StepId, TokenIdx};

/// What `TransitionSystem` asks of a state. Every [`Configuration`] has it; its default is the start.
pub trait State: Copy + Debug + Default + Send {
    /// What a scorer sees.
    fn view(&self) -> View;

    /// Notes the action that led here.
    fn note(&mut self, forest: &mut Forest, action: ActionId);
}

/// A configuration. The parts that a system does not have stay empty; `own` is what it has beside them.
#[derive(Clone, Copy, Debug)]
pub struct Configuration<O = ()> {
    /// The top of the stack; where the topmost item is kept apart (`d0`), of the rest of the stack.
    pub(crate) stack: Option<CellId>,
    /// The topmost item, in the systems over binary trees: they join it with the stack.
    pub(crate) d0: Option<NodeId>,
    /// The items between `d0` and the stack, nearest to `d0` first: the first `n_deque` cells from here on.
    pub(crate) deque: Option<CellId>,
    pub(crate) n_deque: u32,
    /// Words in front of the buffer: put back, or with dependents.
    pub(crate) buffer: Option<CellId>,
    /// The first word that was never shifted.
    pub(crate) next: TokenIdx,
    pub(crate) past: Option<StepId>,
    pub(crate) own: O,
}

impl<O: Default> Default for Configuration<O> {
    fn default() -> Self {
        let (next, own) = (TokenIdx::new(0), O::default());
        Configuration { stack: None, d0: None, deque: None, n_deque: 0, buffer: None, next, past: None, own }
    }
}

impl<O: Copy + Debug + Default + Send> State for Configuration<O> {
    #[inline]
    fn view(&self) -> View {
        let Configuration { stack, d0, deque, n_deque, buffer, next, past, .. } = *self;
        View { stack, deque_top: d0, deque, n_deque, buffer, next, past }
    }

    #[inline]
    fn note(&mut self, forest: &mut Forest, action: ActionId) {
        self.past = Some(forest.push_step(action, self.past));
    }
}

impl<O> Configuration<O> {
    /// Are there words in the buffer?
    #[inline]
    pub(crate) fn words_left(&self, forest: &Forest) -> bool {
        self.buffer.is_some() || self.next.index() < forest.n_tokens()
    }

    /// The first item of the buffer; the caller knows that there is one.
    #[inline]
    pub(crate) fn b0(&self, forest: &Forest) -> NodeId {
        match self.buffer {
            Some(cell) => forest.cell(cell).node,
            None => forest.leaf(self.next),
        }
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
        let b0 = self.b0(forest);
        match self.buffer {
            Some(cell) => self.buffer = forest.cell(cell).below,
            None => self.next = TokenIdx::new(self.next.index() + 1),
        }
        b0
    }

    /// Puts a node in front of the buffer.
    #[inline]
    pub(crate) fn put_back(&mut self, forest: &mut Forest, node: NodeId) {
        self.buffer = Some(forest.push_cell(node, self.buffer));
    }

    /// Moves b0 to the stack.
    #[inline]
    pub(crate) fn shift(&mut self, forest: &mut Forest) {
        let b0 = self.take(forest);
        self.push(forest, b0);
    }
}
