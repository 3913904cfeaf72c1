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
use crate::systems::actions::{Actions, actions, from_tables};
use crate::systems::binary::{
    Move, SymbolSets, Symbols, gap_moves, is_solid, restacked, stacked, unary, view,
};
use crate::systems::labels::after;
use crate::tree::Underivable;
use crate::tree::{BinaryTree, Side, Unaries};

/// The transition system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SrGap {
    symbols: Symbols,
}

actions! {
    /// **Legal** while words are left, not after GAP (the gaps would have had no effect, and a tree two derivations).
    /// **Effect** flushes D to S and puts the next word on D.
    Shift = "SH",
    /// **Legal** when S has two items; if d0 is a temporary, something below s0 must not be one.
    /// **Effect** moves s0 to the bottom of D.
    Gap = "GAP",
    /// **Legal** directly after SH. X is an axiom if the sentence has one word, else a label seen inside trees.
    /// **Effect** puts X over d0.
    Unary(label: LabelId) = "RU-{label}",
    /// **Legal** when S is not empty and s0 is not a temporary (the head, d0, may be one). X is an axiom in the last
    /// reduction, where S and D have one item each and no word is left; elsewhere a label seen inside trees, or a
    /// temporary. A temporary needs words left or an item, beside the two, that is not a temporary: something must
    /// take it in the end.
    /// **Effect** replaces s0 and d0 by X, whose head is d0's, on a D whose other items are flushed to S.
    Right(label: LabelId) = "RR-{label}",
    /// **Legal** as RR, but d0 must not be a temporary. **Effect** as RR, but the head is s0's.
    Left(label: LabelId) = "RL-{label}",
    /// **Legal** in a final configuration, to pad a derivation. **Effect** none.
    Idle = "IDLE",
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

impl SrGap {
    /// A system for these labels and temporaries.
    pub fn new(symbols: Symbols) -> Self {
        SrGap { symbols }
    }

    /// Its actions.
    #[inline]
    fn actions(&self) -> Actions<Action> {
        let (n_labels, n_symbols) = (self.symbols.labels().len(), self.symbols.len());
        Actions::new([1, 1, n_labels, n_symbols, n_symbols, 1])
    }
}

impl State {
    /// Nothing is left to do but d0, which no action may touch any more.
    fn is_complete(&self, forest: &Forest) -> bool {
        let is_built = self.d0.is_none_or(|d0| forest.node(d0).kind == Kind::Constituent);
        self.next.index() == forest.n_tokens() && self.top.is_none() && is_built
    }
}

impl TransitionSystem for SrGap {
    type Tree = BinaryTree;
    type State = State;
    const UNARIES: Unaries = Unaries::AboveWords;

    fn from_trees<'a>(trees: impl Iterator<Item = &'a BinaryTree>, _options: &SystemOptions) -> Self {
        SrGap { symbols: SymbolSets::of(trees, |_| ()) }
    }

    from_tables!(symbols);

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
        let actions = self.actions().clear(out);
        if state.is_complete(forest) {
            out.insert(actions.id(Action::Idle));
            return;
        }
        let words_left = state.next.index() < forest.n_tokens();
        if words_left && state.last != Last::Gap {
            out.insert(actions.id(Action::Shift));
        }
        if state.last == Last::Shift {
            actions.allow(Action::Unary, self.symbols.above_words(forest), out);
        }
        let (Some(split), Some(d0)) = (state.split, state.d0) else { return };
        let split = forest.cell(split);
        let (solid_s0, solid_d0) = (is_solid(forest, split.node), is_solid(forest, d0));
        let n_solid_below = state.n_solid_stack - u32::from(solid_s0);
        if split.below.is_some() && (solid_d0 || n_solid_below > 0) {
            out.insert(actions.id(Action::Gap));
        }
        let is_last = !words_left && split.below.is_none() && state.n_gaps == 0;
        let labels = if is_last { self.symbols.roots() } else { self.symbols.inner() };
        let may_be_temporary = words_left || n_solid_below + state.n_solid_deque > 0;
        let kinds = [(Action::Right as _, solid_s0), (Action::Left as _, solid_d0)];
        self.symbols.allow_reductions(&actions, kinds, &[labels], may_be_temporary, out);
    }

    fn apply(&self, forest: &mut Forest, state: &State, action: ActionId) -> State {
        let past = Some(forest.push_step(action, state.past));
        let (label, side) = match self.actions().get(action) {
            Action::Shift => {
                let top = stacked(forest, state.d0, state.top);
                let solid_d0 = u32::from(state.d0.is_some_and(|d0| is_solid(forest, d0)));
                return State {
                    d0: Some(forest.leaf(state.next)),
                    top,
                    split: top,
                    n_gaps: 0,
                    n_solid_stack: state.n_solid_stack + state.n_solid_deque + solid_d0,
                    n_solid_deque: 0,
                    next: after(state.next),
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
                let d0 = unary(forest, label, state.d0);
                return State { d0, last: Last::Other, past, ..*state };
            }
            Action::Right(label) => (label, Side::Right),
            Action::Left(label) => (label, Side::Left),
        };
        let split = *forest.cell(state.split.expect("a reduction needs an item in S"));
        let children = [split.node, state.d0.expect("a reduction needs an item in D")];
        let top = restacked(forest, state.top, state.n_gaps, split.below);
        let solid_s0 = u32::from(is_solid(forest, split.node));
        State {
            d0: Some(self.symbols.join(forest, label, children, side)),
            top,
            split: top,
            n_gaps: 0,
            n_solid_stack: state.n_solid_stack + state.n_solid_deque - solid_s0,
            n_solid_deque: 0,
            last: Last::Other,
            past,
            ..*state
        }
    }

    fn view(&self, state: &State) -> View {
        let view = view(state.d0, state.split, state.next, state.past);
        View { deque: state.top, n_deque: state.n_gaps, ..view }
    }

    fn tree(&self, forest: &Forest, state: &State) -> BinaryTree {
        self.symbols.tree(forest, state.d0)
    }

    fn derive(&self, gold: &BinaryTree) -> Result<Vec<ActionId>, Underivable> {
        let table = self.actions();
        let mut actions = Vec::new();
        for step in gap_moves(gold)? {
            let symbol = |node| self.symbols.of(gold.node(node), node == gold.root());
            let action = match step {
                Move::Shift => Action::Shift,
                Move::Unary(node) => Action::Unary(symbol(node)?),
                Move::Binary { node, skipped, head } => {
                    actions.extend((0..skipped).map(|_| table.id(Action::Gap)));
                    match head {
                        Side::Left => Action::Left(symbol(node)?),
                        Side::Right => Action::Right(symbol(node)?),
                    }
                }
            };
            actions.push(table.id(action));
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

mod oracle;
pub use oracle::DynamicOracle;

#[cfg(test)]
mod tests;
