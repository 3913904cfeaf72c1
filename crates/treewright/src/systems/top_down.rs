//! Top-down constituent parsing: a non-terminal is opened before its first child (Dyer et al. 2016; the notation and
//! figures 2 and 3 of Fernández-González and Gómez-Rodríguez 2018).
//!
//! Deviations: the treebank's longest run of openings bounds the openings in a row, so that every walk ends. The
//! bound comes from the trees the system is made for, so it makes none of them underivable. What those trees never have
//! is illegal: a label inside that was seen only at roots, and a label at the root that was never seen there.

use serde::{Deserialize, Serialize};

use crate::forest::Forest;
use crate::ids::{ActionId, LabelId};
use crate::system::actions::{Actions, actions};
use crate::system::configuration::Configuration;
use crate::system::{ActionSet, SystemOptions, TransitionSystem, check_limit};
use crate::systems::labels::{self, Labels, PlacedLabels, builds};
use crate::tree::{Child, ConstituentTree, Underivable};

mod oracle;

pub use oracle::DynamicOracle;

/// The top-down system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopDown {
    #[serde(flatten)]
    pub(super) table: PlacedLabels,
    /// How many non-terminals may be opened in a row; `None` is no limit.
    max_openings: Option<u32>,
}

/// One configuration.
pub type State = Configuration<Own>;

/// What a configuration holds beside stack and buffer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Own {
    /// Openings on the stack.
    n_open: u32,
    /// Openings on top of the stack, above the last word or constituent.
    n_fresh: u32,
}

actions! {
    /// **Legal** while words remain and something is open. **Effect** pushes b0. **Cost** gold constituents that
    /// start at b0 and were not opened.
    Shift = "SH",
    /// **Legal** while words remain and the limit allows it; the first label is one seen at roots, the others were seen
    /// inside trees. **Effect** pushes the opening of a constituent that starts at b0. **Cost** 1 if no gold constituent
    /// with this label starts there; more if it must end where another one should.
    Open(label: LabelId) = "NT-{label}",
    /// **Legal** when the top is not an opening, and something else is open or no words remain. **Effect** closes
    /// the topmost opening over everything above it. **Cost** the constituent, if it is not gold, and the gold ones
    /// that it makes impossible.
    Reduce = "RE",
}

impl TopDown {
    /// A system with these labels, each of which may stand anywhere; `max_openings` bounds the openings in a row (at
    /// least one is always allowed).
    pub fn with_labels(labels: Labels, max_openings: Option<u32>) -> Self {
        TopDown { table: PlacedLabels::anywhere(labels), max_openings: max_openings.map(|max| max.max(1)) }
    }

    /// Refuses trees that the system cannot build, but for unknown labels.
    fn check(&self, gold: &ConstituentTree) -> Result<(), Underivable> {
        self.table.check(gold)?;
        let run = longest_run(gold);
        if let Some(max) = self.max_openings.filter(|&max| run > max) {
            return Err(Underivable(format!("{run} constituents start at one word; the limit is {max}")));
        }
        Ok(())
    }
}

impl TransitionSystem for TopDown {
    builds!(ConstituentTree, labels table, root stack);

    fn from_trees<'a>(trees: impl Iterator<Item = &'a ConstituentTree>, _options: &SystemOptions) -> Self {
        let (table, max_openings) = PlacedLabels::of(trees, longest_run);
        TopDown { table, max_openings }
    }

    #[inline]
    fn actions(&self) -> Actions<Action> {
        Actions::new([1, self.table.labels.len(), 1])
    }

    fn is_final(&self, _forest: &Forest, state: &State) -> bool {
        state.own.n_open == 0 && state.stack.is_some()
    }

    fn legal(&self, forest: &Forest, state: &State, out: &mut ActionSet) {
        let actions = self.actions().clear(out);
        if self.is_final(forest, state) {
            return;
        }
        let Own { n_open, n_fresh } = state.own;
        let words_left = state.words_left(forest);
        if words_left && n_open > 0 {
            out.insert(actions.id(Action::Shift));
        }
        if words_left && self.max_openings.is_none_or(|max| n_fresh < max) {
            let labels = if n_open == 0 { self.table.roots() } else { self.table.inner() };
            actions.allow(Action::Open, labels, out);
        }
        // Closing the last opening finishes, so nothing may be left over.
        if n_open > 0 && n_fresh == 0 && (n_open > 1 || !words_left) {
            out.insert(actions.id(Action::Reduce));
        }
    }

    fn act(&self, forest: &mut Forest, state: &mut State, action: Action) {
        match action {
            Action::Shift => {
                state.shift(forest);
                state.own.n_fresh = 0;
            }
            Action::Open(label) => {
                let opening = forest.push_opening(label, state.next, state.next);
                state.push(forest, opening);
                state.own.n_open += 1;
                state.own.n_fresh += 1;
            }
            Action::Reduce => {
                let (label, count, below) = labels::topmost_opening(forest, state.stack);
                let node = forest.push_reduction(label, None, state.stack, count);
                state.stack = Some(forest.push_cell(node, below));
                state.own.n_open -= 1;
                state.own.n_fresh = 0;
            }
        }
    }

    fn derive(&self, gold: &ConstituentTree) -> Result<Vec<ActionId>, Underivable> {
        self.check(gold)?;
        let table = self.actions();
        let mut actions = Vec::with_capacity(gold.n_tokens() + 2 * gold.n_nodes());
        // `None` stands for the end of the constituent that was opened last.
        let mut todo = vec![Some(Child::Node(gold.root()))];
        while let Some(item) = todo.pop() {
            actions.push(table.id(match item {
                Some(Child::Token(_)) => Action::Shift,
                Some(Child::Node(node)) => {
                    todo.push(None);
                    todo.extend(gold.children(node).iter().rev().map(|&child| Some(child)));
                    Action::Open(self.table.labels.id(&gold.node(node).label)?)
                }
                None => Action::Reduce,
            }));
        }
        Ok(actions)
    }

    fn check_tables(&self) -> Result<(), String> {
        self.table.check_table()?;
        check_limit("max_openings", self.max_openings, 1)
    }

    /// Every word is preceded by a run of openings at most, and every opening is closed once.
    fn max_steps(&self, n_tokens: usize) -> usize {
        match self.max_openings {
            Some(max) => n_tokens.saturating_mul(1 + 2 * max as usize),
            None => usize::MAX,
        }
    }
}

/// The most constituents that start at one word.
fn longest_run(tree: &ConstituentTree) -> u32 {
    let mut starts = vec![0; tree.n_tokens()];
    tree.nodes().for_each(|(_, node)| starts[node.leftmost().index()] += 1);
    starts.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests;
