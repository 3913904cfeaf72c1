//! In-order constituent parsing: a non-terminal is opened after its first child (Liu and Zhang 2017; the notation and
//! figures 4 and 5 of Fernández-González and Gómez-Rodríguez 2018).
//!
//! Deviations: the treebank's longest unary chain bounds the unary constituents above one item, so that every walk
//! ends. The bound comes from the trees the system is made for, so it makes none of them underivable. What those trees
//! never have is illegal: a label inside that was seen only at roots, and a label at the root that was never seen there.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::forest::Forest;
use crate::ids::{ActionId, LabelId};
use crate::system::actions::{Actions, actions};
use crate::system::configuration::Configuration;
use crate::system::{ActionSet, SystemOptions, TransitionSystem, check_limit};
use crate::systems::labels::{self, Labels, PlacedLabels, builds};
use crate::tree::{Child, ConstituentTree, Underivable};

mod authors;
mod oracle;

pub use authors::AuthorsOracle;
pub use oracle::DynamicOracle;

/// The in-order system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InOrder {
    #[serde(flatten)]
    pub(super) table: PlacedLabels,
    /// The longest chain of unary constituents above one item; `None` is no limit.
    max_unary: Option<u32>,
}

/// One configuration.
pub type State = Configuration<Own>;

/// What a configuration holds beside stack and buffer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Own {
    /// Openings on the stack.
    n_open: u32,
    /// Unary constituents at the top of the topmost word or constituent.
    n_unary: u32,
    /// Is the top of the stack an opening?
    is_fresh: bool,
    /// Does the bottommost opening have a label that was seen only at roots?
    in_root: bool,
    is_finished: bool,
}

actions! {
    /// **Legal** while words remain and something is open, or the stack is empty. **Effect** pushes b0. **Cost** gold
    /// constituents that should have been opened or closed before b0.
    Shift = "SH",
    /// **Legal** when s0 is a word or a constituent and the limit allows it. Above another opening the label is one
    /// seen inside trees. Above an item that covers all words, the limit must leave room for a root, and nothing stands
    /// on a label seen only at roots. **Effect** pushes the opening of a constituent whose first child is s0. **Cost** 1
    /// if the smallest gold constituent still to be built that starts with s0 has another label; for a label seen only
    /// at roots, the gold constituents that start with s0 and do not cover all words.
    Open(label: LabelId) = "NT-{label}",
    /// **Legal** when something is open (directly after NT: a unary constituent); while words remain, not for a label
    /// seen only at roots. **Effect** closes the topmost opening over everything above it and the item below it.
    /// **Cost** the constituent, if it is not gold, and the gold ones that it makes impossible.
    Reduce = "RE",
    /// **Legal** when one constituent covers all words, with a label that may stand at roots. **Effect** ends the parse.
    /// **Cost** gold constituents above s0 that were not built.
    Finish = "FI",
}

impl InOrder {
    /// A system with these labels, each of which may stand anywhere; `max_unary` bounds unary chains (at least one is
    /// always allowed).
    pub fn with_labels(labels: Labels, max_unary: Option<u32>) -> Self {
        InOrder { table: PlacedLabels::anywhere(labels), max_unary: max_unary.map(|max| max.max(1)) }
    }

    /// Refuses trees that the system cannot build, but for unknown labels.
    fn check(&self, gold: &ConstituentTree) -> Result<(), Underivable> {
        self.table.check(gold)?;
        let chain = longest_chain(gold);
        if let Some(max) = self.max_unary.filter(|&max| chain > max) {
            return Err(Underivable(format!("a unary chain of {chain} is longer than the limit, {max}")));
        }
        Ok(())
    }
}

impl TransitionSystem for InOrder {
    builds!(ConstituentTree, labels table, root stack);

    fn from_trees<'a>(trees: impl Iterator<Item = &'a ConstituentTree>, _options: &SystemOptions) -> Self {
        let (table, max_unary) = PlacedLabels::of(trees, longest_chain);
        InOrder { table, max_unary }
    }

    #[inline]
    fn actions(&self) -> Actions<Action> {
        Actions::new([1, self.table.labels.len(), 1, 1])
    }

    fn is_final(&self, _forest: &Forest, state: &State) -> bool {
        state.own.is_finished
    }

    fn legal(&self, forest: &Forest, state: &State, out: &mut ActionSet) {
        let actions = self.actions().clear(out);
        let Own { n_open, n_unary, is_fresh, in_root, is_finished } = state.own;
        if is_finished {
            return;
        }
        let words_left = state.words_left(forest);
        let may_grow_by = |count: u32| self.max_unary.is_none_or(|max| n_unary.saturating_add(count) <= max);
        // A word on a lone finished item could never be joined with it.
        if words_left && (state.stack.is_none() || n_open > 0) {
            out.insert(actions.id(Action::Shift));
        }
        let mut openings = |labels: Range<usize>| actions.allow(Action::Open, labels, out);
        if let Some(s0) = state.stack.filter(|_| !is_fresh) {
            if n_open > 0 {
                // An opening that may neither be closed at once nor take a word would be a dead end.
                if words_left || may_grow_by(1) {
                    openings(self.table.inner());
                }
            } else if words_left {
                openings(0..self.table.labels.len());
            } else {
                let label = forest.node(forest.cell(s0).node).label;
                let may_stand_inside = label.is_none_or(|label| !self.table.is_root_only(label));
                if may_stand_inside && may_grow_by(1) {
                    openings(self.table.roots());
                }
                // Without room for a root above it, this would be a dead end.
                if may_stand_inside && may_grow_by(2) {
                    openings(self.table.inner());
                }
                if label.is_some_and(|label| self.table.roots().contains(&label.index())) {
                    out.insert(actions.id(Action::Finish));
                }
            }
        }
        let would_close_root = in_root && n_open == 1;
        if n_open > 0 && (!is_fresh || may_grow_by(1)) && !(would_close_root && words_left) {
            out.insert(actions.id(Action::Reduce));
        }
    }

    fn act(&self, forest: &mut Forest, state: &mut State, action: Action) {
        match action {
            Action::Shift => {
                state.shift(forest);
                state.own.n_unary = 0;
                state.own.is_fresh = false;
            }
            Action::Open(label) => {
                let s0 = state.s0(forest).expect("NT is legal only above an item");
                let opening = forest.push_opening(label, forest.node(s0).left, state.next);
                state.push(forest, opening);
                state.own.n_open += 1;
                state.own.is_fresh = true;
                state.own.in_root |= self.table.is_root_only(label);
            }
            Action::Reduce => {
                let (label, count, below) = labels::topmost_opening(forest, state.stack);
                let first = *forest.cell(below.expect("an opening stands on its first child"));
                let node = forest.push_reduction(label, Some(first.node), state.stack, count);
                state.stack = Some(forest.push_cell(node, first.below));
                state.own.n_open -= 1;
                state.own.n_unary = if count == 0 { state.own.n_unary + 1 } else { 0 };
                state.own.is_fresh = false;
            }
            Action::Finish => state.own.is_finished = true,
        }
    }

    fn derive(&self, gold: &ConstituentTree) -> Result<Vec<ActionId>, Underivable> {
        self.check(gold)?;
        let table = self.actions();
        enum Todo {
            Visit(Child),
            Open(LabelId),
            Close,
        }
        let mut actions = Vec::with_capacity(gold.n_tokens() + 2 * gold.n_nodes() + 1);
        let mut todo = vec![Todo::Visit(Child::Node(gold.root()))];
        while let Some(item) = todo.pop() {
            match item {
                Todo::Visit(Child::Token(_)) => actions.push(table.id(Action::Shift)),
                Todo::Visit(Child::Node(node)) => {
                    let label = self.table.labels.id(&gold.node(node).label)?;
                    let (&first, rest) =
                        gold.children(node).split_first().expect("every constituent has a child");
                    todo.push(Todo::Close);
                    todo.extend(rest.iter().rev().map(|&child| Todo::Visit(child)));
                    todo.push(Todo::Open(label));
                    todo.push(Todo::Visit(first));
                }
                Todo::Open(label) => actions.push(table.id(Action::Open(label))),
                Todo::Close => actions.push(table.id(Action::Reduce)),
            }
        }
        actions.push(table.id(Action::Finish));
        Ok(actions)
    }

    fn check_tables(&self) -> Result<(), String> {
        self.table.check_table()?;
        check_limit("max_unary", self.max_unary, 1)
    }

    /// `n - 1` constituents at most have several children; every word and every one of these carries a unary chain
    /// at most; every constituent takes two steps, every word one, and FI one.
    fn max_steps(&self, n_tokens: usize) -> usize {
        match self.max_unary {
            Some(max) => {
                let several = n_tokens.saturating_sub(1);
                let unary = (n_tokens + several).saturating_mul(max as usize);
                several.saturating_add(unary).saturating_mul(2).saturating_add(n_tokens + 1)
            }
            None => usize::MAX,
        }
    }
}

/// The longest chain of constituents with one child.
fn longest_chain(tree: &ConstituentTree) -> u32 {
    let mut chains = vec![0; tree.n_nodes()];
    for (id, _) in tree.nodes() {
        // Children come before their parents.
        chains[id.index()] = match tree.children(id) {
            [Child::Node(child)] => chains[child.index()] + 1,
            [Child::Token(_)] => 1,
            _ => 0,
        };
    }
    chains.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests;
