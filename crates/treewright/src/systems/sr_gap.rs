//! SR-GAP: discontinuous constituents by reductions of items that are not neighbours (Coavoux and Crabbé 2017,
//! "Incremental discontinuous phrase structure parsing with the GAP transition", section 2.2, figure 3, table 7).
//!
//! The stack is split in two: the deque D (its top `d0`, below it the items that GAP has passed over) and S below
//! them. A reduction takes `s0`, the top of S, and `d0`; GAP moves the split down by one item. All of it is one
//! chain of cells with two pointers (section 2.5): GAP only moves the split, a reduction grows the cells that were
//! passed over anew. In the view, `stack` is S, `deque_top` is d0 and `deque` the items passed over, nearest first.
//!
//! Deviations from table 7:
//! - RU(X) never makes a temporary, and IDLE needs its one element in D (slips of the print).
//! - A label may be an axiom and stand inside trees, if it does in the treebank: the last reduction makes an axiom,
//!   any other reduction a label seen inside (or a temporary).
//! - When no label was ever seen inside a tree, axioms may stand inside, but only where nothing else is legal.

use serde::{Deserialize, Serialize};

use crate::forest::{Forest, Kind, View};
use crate::ids::{ActionId, CellId, LabelId, NodeId, StepId, TokenIdx};
use crate::sentence::Sentence;
use crate::system::{ActionSet, SystemOptions, TransitionSystem};
use crate::systems::binary::{Move, SymbolSets, Symbols, gap_moves, is_solid};
use crate::tree::Underivable;
use crate::tree::{BinaryTree, Side, Unaries};

/// The transition system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SrGap {
    symbols: Symbols,
}

/// The actions, in the order of their ids: SH, GAP, RU by label, RR by symbol, RL by symbol, IDLE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// **Legal** while words are left, not after GAP (the gaps would have had no effect, and a tree two derivations).
    /// **Effect** flushes D to S and puts the next word on D.
    Shift,
    /// **Legal** when S has two items; if d0 is a temporary, something below s0 must not be one.
    /// **Effect** moves s0 to the bottom of D.
    Gap,
    /// **Legal** directly after SH. X is an axiom if the sentence has one word, else a label seen inside trees.
    /// **Effect** puts X over d0.
    Unary(LabelId),
    /// **Legal** when S is not empty and s0 is not a temporary (the head, d0, may be one). X is an axiom in the last
    /// reduction, where S and D have one item each and no word is left; elsewhere a label seen inside trees, or a
    /// temporary. A temporary needs words left or an item, beside the two, that is not a temporary: something must
    /// take it in the end.
    /// **Effect** replaces s0 and d0 by X, whose head is d0's, on a D whose other items are flushed to S.
    Right(LabelId),
    /// **Legal** as RR, but d0 must not be a temporary. **Effect** as RR, but the head is s0's.
    Left(LabelId),
    /// **Legal** in a final configuration, to pad a derivation. **Effect** none.
    Idle,
}

/// The kind of the newest action, as far as legality asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Shift,
    Gap,
    Other,
}

/// One configuration.
#[derive(Clone, Copy, Debug)]
pub struct State {
    d0: Option<NodeId>,
    /// The top of the whole stack, without d0.
    top: Option<CellId>,
    /// The top of S: `n_gaps` cells below `top`.
    split: Option<CellId>,
    n_gaps: u32,
    /// Items of S that are not temporaries, and such items of D beside d0; so that legality never walks the stack.
    n_solid_stack: u32,
    n_solid_deque: u32,
    next: TokenIdx,
    last: Last,
    past: Option<StepId>,
}

const SHIFT: usize = 0;
const GAP: usize = 1;
const UNARY: usize = 2;

impl SrGap {
    /// A system for labels that may stand inside trees, temporaries written `X:`, and axioms (labels of roots).
    pub fn with_labels<'a>(
        labels: impl IntoIterator<Item = &'a str>,
        temporaries: impl IntoIterator<Item = &'a str>,
        axioms: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        SrGap { symbols: Symbols::new(labels, temporaries, axioms) }
    }

    /// The labels and temporaries.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    fn first_right(&self) -> usize {
        UNARY + self.symbols.labels().len()
    }

    fn first_left(&self) -> usize {
        self.first_right() + self.symbols.len()
    }

    fn idle(&self) -> usize {
        self.first_left() + self.symbols.len()
    }

    /// The action of this id.
    #[inline]
    pub fn action_of(&self, action: ActionId) -> Action {
        let (id, right, left) = (action.index(), self.first_right(), self.first_left());
        match id {
            SHIFT => Action::Shift,
            GAP => Action::Gap,
            _ if id < right => Action::Unary(LabelId::new(id - UNARY)),
            _ if id < left => Action::Right(LabelId::new(id - right)),
            _ if id < self.idle() => Action::Left(LabelId::new(id - left)),
            _ => Action::Idle,
        }
    }

    /// The id of an action.
    pub fn id_of(&self, action: Action) -> ActionId {
        ActionId::new(match action {
            Action::Shift => SHIFT,
            Action::Gap => GAP,
            Action::Unary(label) => UNARY + label.index(),
            Action::Right(label) => self.first_right() + label.index(),
            Action::Left(label) => self.first_left() + label.index(),
            Action::Idle => self.idle(),
        })
    }
}

impl State {
    /// Nothing is left to do but d0, which no action may touch any more.
    fn is_complete(&self, forest: &Forest) -> bool {
        let is_built = self.d0.is_none_or(|d0| forest.node(d0).kind == Kind::Constituent);
        self.next.index() == forest.n_tokens() && self.top.is_none() && is_built
    }

    /// The stack without s0 and d0, in its order.
    fn without_pair(&self, forest: &mut Forest) -> Option<CellId> {
        let split = self.split.expect("a reduction needs an item in S");
        let mut rest = forest.cell(split).below;
        if self.n_gaps > 0 {
            let passed: Vec<NodeId> = forest.chain(self.top).take(self.n_gaps as usize).collect();
            for &node in passed.iter().rev() {
                rest = Some(forest.push_cell(node, rest));
            }
        }
        rest
    }
}

impl TransitionSystem for SrGap {
    type Tree = BinaryTree;
    type State = State;
    const UNARIES: Unaries = Unaries::AboveWords;

    fn from_trees<'a>(trees: impl Iterator<Item = &'a BinaryTree>, _options: &SystemOptions) -> Self {
        let mut sets = SymbolSets::default();
        trees.for_each(|tree| sets.add(tree));
        SrGap { symbols: sets.finish() }
    }

    fn n_actions(&self) -> usize {
        self.idle() + 1
    }

    fn label(&self, label: LabelId) -> String {
        self.symbols.name(label).to_string()
    }

    fn name(&self, action: ActionId) -> String {
        match self.action_of(action) {
            Action::Shift => "SH".to_owned(),
            Action::Gap => "GAP".to_owned(),
            Action::Unary(label) => format!("RU-{}", self.symbols.name(label)),
            Action::Right(label) => format!("RR-{}", self.symbols.name(label)),
            Action::Left(label) => format!("RL-{}", self.symbols.name(label)),
            Action::Idle => "IDLE".to_owned(),
        }
    }

    fn start(&self, forest: &mut Forest, sentence: &Sentence) -> State {
        forest.start(sentence.tokens.len(), false);
        State {
            d0: None,
            top: None,
            split: None,
            n_gaps: 0,
            n_solid_stack: 0,
            n_solid_deque: 0,
            next: TokenIdx::new(0),
            last: Last::Other,
            past: None,
        }
    }

    fn is_final(&self, forest: &Forest, state: &State) -> bool {
        state.is_complete(forest)
    }

    fn legal(&self, forest: &Forest, state: &State, out: &mut ActionSet) {
        out.reset(self.n_actions());
        if state.is_complete(forest) {
            out.insert(self.id_of(Action::Idle));
            return;
        }
        let words_left = state.next.index() < forest.n_tokens();
        if words_left && state.last != Last::Gap {
            out.insert(ActionId::new(SHIFT));
        }
        if state.last == Last::Shift {
            let labels = if forest.n_tokens() == 1 { self.symbols.roots() } else { self.symbols.inner() };
            out.insert_range(UNARY + labels.start, UNARY + labels.end);
        }
        let (Some(split), Some(d0)) = (state.split, state.d0) else { return };
        let split = forest.cell(split);
        let (solid_s0, solid_d0) = (is_solid(forest, split.node), is_solid(forest, d0));
        let n_solid_below = state.n_solid_stack - u32::from(solid_s0);
        if split.below.is_some() && (solid_d0 || n_solid_below > 0) {
            out.insert(ActionId::new(GAP));
        }
        let is_last = !words_left && split.below.is_none() && state.n_gaps == 0;
        let labels = if is_last { self.symbols.roots() } else { self.symbols.inner() };
        let temporaries = self.symbols.temporaries();
        let may_be_temporary = words_left || n_solid_below + state.n_solid_deque > 0;
        let mut reductions = |labels: std::ops::Range<usize>| {
            if solid_s0 {
                out.insert_range(self.first_right() + labels.start, self.first_right() + labels.end);
            }
            if solid_d0 {
                out.insert_range(self.first_left() + labels.start, self.first_left() + labels.end);
            }
        };
        reductions(labels);
        if may_be_temporary {
            reductions(temporaries);
        }
        if out.is_empty() {
            // Only without labels seen inside trees. With one, some reduction to it would be legal here.
            let mut reductions = |first: usize| out.insert_range(first, first + self.symbols.roots().end);
            if solid_s0 {
                reductions(self.first_right());
            }
            if solid_d0 {
                reductions(self.first_left());
            }
        }
    }

    fn apply(&self, forest: &mut Forest, state: &State, action: ActionId) -> State {
        let past = Some(forest.push_step(action, state.past));
        let (label, children, head) = match self.action_of(action) {
            Action::Shift => {
                let mut top = state.top;
                let mut n_solid_stack = state.n_solid_stack + state.n_solid_deque;
                if let Some(d0) = state.d0 {
                    top = Some(forest.push_cell(d0, top));
                    n_solid_stack += u32::from(is_solid(forest, d0));
                }
                return State {
                    d0: Some(forest.leaf(state.next)),
                    top,
                    split: top,
                    n_gaps: 0,
                    n_solid_stack,
                    n_solid_deque: 0,
                    next: TokenIdx::new(state.next.index() + 1),
                    last: Last::Shift,
                    past,
                };
            }
            Action::Gap => {
                let split = *forest.cell(state.split.expect("GAP needs two items in S"));
                let solid = u32::from(is_solid(forest, split.node));
                return State {
                    split: split.below,
                    n_gaps: state.n_gaps + 1,
                    n_solid_stack: state.n_solid_stack - solid,
                    n_solid_deque: state.n_solid_deque + solid,
                    last: Last::Gap,
                    past,
                    ..*state
                };
            }
            Action::Idle => return State { past, ..*state },
            Action::Unary(label) => {
                let d0 = state.d0.expect("RU needs an item in D");
                let head = forest.node(d0).head;
                let d0 = forest.push_constituent(self.symbols.kind(label), label, head, &[d0]);
                return State { d0: Some(d0), last: Last::Other, past, ..*state };
            }
            Action::Right(label) => (label, state.pair(forest), Side::Right),
            Action::Left(label) => (label, state.pair(forest), Side::Left),
        };
        let [s0, d0] = children;
        let head = forest.node(if head == Side::Left { s0 } else { d0 }).head;
        let top = state.without_pair(forest);
        let n_solid_stack = state.n_solid_stack + state.n_solid_deque - u32::from(is_solid(forest, s0));
        State {
            d0: Some(forest.push_constituent(self.symbols.kind(label), label, head, &children)),
            top,
            split: top,
            n_gaps: 0,
            n_solid_stack,
            n_solid_deque: 0,
            last: Last::Other,
            past,
            ..*state
        }
    }

    fn view(&self, state: &State) -> View {
        View {
            stack: state.split,
            deque_top: state.d0,
            deque: state.top,
            n_deque: state.n_gaps,
            buffer: None,
            next: state.next,
            past: state.past,
        }
    }

    fn tree(&self, forest: &Forest, state: &State) -> BinaryTree {
        self.symbols.tree(forest, state.d0.expect("a final state has a tree"))
    }

    fn derive(&self, gold: &BinaryTree) -> Result<Vec<ActionId>, Underivable> {
        let mut actions = Vec::new();
        for step in gap_moves(gold)? {
            let symbol = |node| self.symbols.of(gold.node(node), node == gold.root());
            let action = match step {
                Move::Shift => Action::Shift,
                Move::Unary(node) => Action::Unary(symbol(node)?),
                Move::Binary { node, skipped, head } => {
                    actions.extend((0..skipped).map(|_| ActionId::new(GAP)));
                    match head {
                        Side::Left => Action::Left(symbol(node)?),
                        Side::Right => Action::Right(symbol(node)?),
                    }
                }
            };
            actions.push(self.id_of(action));
        }
        Ok(actions)
    }

    fn check_tables(&self) -> Result<(), String> {
        self.symbols.check()
    }

    /// The longest derivation has a unary for each word and passes over everything before each reduction: n shifts,
    /// n unaries, n - 1 reductions and (n - 2) + (n - 3) + .. + 1 gaps.
    fn max_steps(&self, n_tokens: usize) -> usize {
        (n_tokens * n_tokens + 3 * n_tokens) / 2
    }
}

impl State {
    /// The two items of a reduction.
    fn pair(&self, forest: &Forest) -> [NodeId; 2] {
        let split = self.split.expect("a reduction needs an item in S");
        [forest.cell(split).node, self.d0.expect("a reduction needs an item in D")]
    }
}

mod oracle;
pub use oracle::DynamicOracle;

#[cfg(test)]
mod tests;
