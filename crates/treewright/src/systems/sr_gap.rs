//! SR-GAP: discontinuous constituents by reductions of items that are not neighbours (Coavoux and Crabbé 2017,
//! "Incremental discontinuous phrase structure parsing with the GAP transition", section 2.2, figure 3, table 7).
//!
//! The stack is split in two: the deque D (its top `d0`, below it the items that GAP has passed over) and S below
//! them. A reduction takes `s0`, the top of S, and `d0`; GAP moves the split down by one item. All of it is one
//! chain of cells with two pointers (section 2.5): GAP only moves the split, a reduction makes new cells for the items
//! that were passed over. In the view, `stack` is S, `deque_top` is d0 and `deque` the items passed over, nearest first.
//!
//! Deviations from table 7:
//! - RU(X) never makes a temporary, and IDLE needs its one element in D (slips of the print).
//! - A label may be an axiom and stand inside trees, if it does in the treebank: the last reduction makes an axiom,
//!   any other reduction a label seen inside (or a temporary).
//! - When no label was ever seen inside a tree, axioms may stand inside, but only where nothing else is legal.

use serde::{Deserialize, Serialize};

use crate::forest::Forest;
use crate::ids::{ActionId, LabelId};
use crate::system::actions::{Actions, actions};
use crate::system::configuration::Configuration;
use crate::system::{ActionSet, SystemOptions, TransitionSystem};
use crate::systems::binary::{Move, SymbolSets, Symbols, gap_moves, is_solid};
use crate::systems::labels::builds;
use crate::tree::{BinaryTree, Side, Unaries, Underivable};

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Last {
    Shift,
    Gap,
    #[default]
    Other,
}

/// One configuration.
pub type State = Configuration<Own>;

/// What a configuration holds beside stack, deque and buffer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Own {
    /// Items of S that are not temporaries, and such items of D beside d0; so that legality never walks the stack.
    n_solid_stack: u32,
    n_solid_deque: u32,
    last: Last,
}

impl SrGap {
    /// A system for these labels and temporaries.
    pub fn new(symbols: Symbols) -> Self {
        SrGap { symbols }
    }
}

impl TransitionSystem for SrGap {
    builds!(BinaryTree, labels symbols, root d0);

    const UNARIES: Unaries = Unaries::AboveWords;

    fn from_trees<'a>(trees: impl Iterator<Item = &'a BinaryTree>, _options: &SystemOptions) -> Self {
        SrGap { symbols: SymbolSets::of(trees, |_| ()) }
    }

    #[inline]
    fn actions(&self) -> Actions<Action> {
        let (n_labels, n_symbols) = (self.symbols.labels().len(), self.symbols.len());
        Actions::new([1, 1, n_labels, n_symbols, n_symbols, 1])
    }

    /// Nothing is left but d0, which no action may touch any more.
    fn is_final(&self, forest: &Forest, state: &State) -> bool {
        state.is_built(forest)
    }

    fn legal(&self, forest: &Forest, state: &State, out: &mut ActionSet) {
        let actions = self.actions().clear(out);
        if self.is_final(forest, state) {
            return out.insert(actions.id(Action::Idle));
        }
        let words_left = state.words_left(forest);
        let Own { n_solid_stack, n_solid_deque, last } = state.own;
        if words_left && last != Last::Gap {
            out.insert(actions.id(Action::Shift));
        }
        if last == Last::Shift {
            actions.allow(Action::Unary, self.symbols.above_words(forest), out);
        }
        let (Some(stack), Some(d0)) = (state.stack, state.d0) else { return };
        let stack = forest.cell(stack);
        let (solid_s0, solid_d0) = (is_solid(forest, stack.node), is_solid(forest, d0));
        let n_solid_below = n_solid_stack - u32::from(solid_s0);
        if stack.below.is_some() && (solid_d0 || n_solid_below > 0) {
            out.insert(actions.id(Action::Gap));
        }
        let is_last = !words_left && stack.below.is_none() && state.n_deque == 0;
        let labels = if is_last { self.symbols.roots() } else { self.symbols.inner() };
        let may_be_temporary = words_left || n_solid_below + n_solid_deque > 0;
        let kinds = [(Action::Right as _, solid_s0), (Action::Left as _, solid_d0)];
        self.symbols.allow_reductions(&actions, kinds, &[labels], may_be_temporary, out);
    }

    fn act(&self, forest: &mut Forest, state: &mut State, action: Action) {
        let solid = |node| u32::from(is_solid(forest, node));
        let (solid_s0, solid_d0) = (state.s0(forest).map_or(0, solid), state.d0.map_or(0, solid));
        let Own { n_solid_stack, n_solid_deque, .. } = state.own;
        let n_solid = n_solid_stack + n_solid_deque;
        let (n_solid_stack, n_solid_deque, last) = match action {
            Action::Shift => {
                state.shift_to_d0(forest);
                (n_solid + solid_d0, 0, Last::Shift)
            }
            Action::Gap => {
                state.gap(forest);
                (n_solid_stack - solid_s0, n_solid_deque + solid_s0, Last::Gap)
            }
            Action::Idle => return,
            Action::Unary(label) => {
                state.reduce_unary(forest, label);
                (n_solid_stack, n_solid_deque, Last::Other)
            }
            Action::Right(label) | Action::Left(label) => {
                let side = if action == Action::Right(label) { Side::Right } else { Side::Left };
                state.reduce(forest, &self.symbols, label, side);
                (n_solid - solid_s0, 0, Last::Other)
            }
        };
        state.own = Own { n_solid_stack, n_solid_deque, last };
    }

    fn derive(&self, gold: &BinaryTree) -> Result<Vec<ActionId>, Underivable> {
        let table = self.actions();
        let mut actions = Vec::new();
        for step in gap_moves(gold)? {
            let action = match step {
                Move::Shift => Action::Shift,
                Move::Unary(node) => Action::Unary(self.symbols.of(gold, node)?),
                Move::Binary { node, skipped, head } => {
                    actions.extend((0..skipped).map(|_| table.id(Action::Gap)));
                    let reduce = if head == Side::Left { Action::Left } else { Action::Right };
                    reduce(self.symbols.of(gold, node)?)
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
