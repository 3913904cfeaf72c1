//! Top-down constituent parsing: a non-terminal is opened before its first child (Dyer et al. 2016; the notation and
//! figures 2 and 3 of Fernández-González and Gómez-Rodríguez 2018).
//!
//! Deviations: the treebank's longest run of openings bounds the openings in a row, so that every walk ends. The
//! bound comes from the trees the system is made for, so it makes none of them underivable. What those trees never have
//! is illegal: a label inside that was seen only at roots, and a label at the root that was never seen there.

use serde::{Deserialize, Serialize};

use crate::forest::{Forest, View};
use crate::ids::{ActionId, CellId, LabelId, StepId, TokenIdx};
use crate::sentence::Sentence;
use crate::system::{ActionSet, SystemOptions, TransitionSystem, check_limit};
use crate::systems::actions::{Actions, actions, from_tables};
use crate::systems::labels::{self, Labels, Places, SeenLabels};
use crate::tree::Underivable;
use crate::tree::{Child, ConstituentTree};

mod oracle;

pub use oracle::DynamicOracle;

/// The top-down system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopDown {
    pub(super) labels: Labels,
    #[serde(default)]
    places: Places,
    /// How many non-terminals may be opened in a row; `None` is no limit.
    max_openings: Option<u32>,
}

/// One configuration.
#[derive(Clone, Copy, Debug)]
pub struct State {
    pub(super) stack: Option<CellId>,
    pub(super) next: TokenIdx,
    /// Openings on the stack.
    pub(super) n_open: u32,
    /// Openings on top of the stack, above the last word or constituent.
    pub(super) n_fresh: u32,
    past: Option<StepId>,
}

actions! {
    /// **Legal** while words remain and something is open. **Effect** pushes b0. **Cost** gold constituents that
    /// start at b0 and were not opened.
    Shift = "SH",
    /// **Legal** while words remain and the limit allows it; the first label is one seen at roots, the others were seen
    /// inside trees. **Effect** pushes the opening of a constituent that starts at b0. **Cost** 1 if no gold constituent with this label starts there; more if it must end where
    /// another one should.
    Open(label: LabelId) = "NT-{label}",
    /// **Legal** when the top is not an opening, and something else is open or no words remain. **Effect** closes
    /// the topmost opening over everything above it. **Cost** the constituent, if it is not gold, and the gold ones
    /// it stands in the way of.
    Reduce = "RE",
}

impl TopDown {
    /// A system with these labels, each of which may stand anywhere; `max_openings` bounds the openings in a row (at
    /// least one is always allowed).
    pub fn with_labels(labels: Labels, max_openings: Option<u32>) -> Self {
        TopDown { labels, places: Places::default(), max_openings: max_openings.map(|max| max.max(1)) }
    }

    /// Refuses trees that the system cannot build, but for unknown labels.
    fn check(&self, gold: &ConstituentTree) -> Result<(), Underivable> {
        self.places.check(&self.labels, gold)?;
        let run = longest_run(gold);
        if let Some(max) = self.max_openings.filter(|&max| run > max) {
            return Err(Underivable(format!("{run} constituents start at one word; the limit is {max}")));
        }
        Ok(())
    }

    /// Its actions.
    #[inline]
    pub(super) fn actions(&self) -> Actions<Action> {
        Actions::new([1, self.labels.len(), 1])
    }
}

impl TransitionSystem for TopDown {
    type Tree = ConstituentTree;
    type State = State;

    fn from_trees<'a>(trees: impl Iterator<Item = &'a ConstituentTree>, _options: &SystemOptions) -> Self {
        let (labels, places, max_openings) = SeenLabels::of(trees, longest_run);
        TopDown { labels, places, max_openings }
    }

    from_tables!(labels);

    fn start(&self, forest: &mut Forest, sentence: &Sentence) -> State {
        forest.start(sentence.len(), false);
        State { stack: None, next: TokenIdx::new(0), n_open: 0, n_fresh: 0, past: None }
    }

    fn is_final(&self, _forest: &Forest, state: &State) -> bool {
        state.n_open == 0 && state.stack.is_some()
    }

    fn legal(&self, forest: &Forest, state: &State, out: &mut ActionSet) {
        let actions = self.actions().clear(out);
        if self.is_final(forest, state) {
            return;
        }
        let words_left = state.next.index() < forest.n_tokens();
        if words_left && state.n_open > 0 {
            out.insert(actions.id(Action::Shift));
        }
        if words_left && self.max_openings.is_none_or(|max| state.n_fresh < max) {
            let n_labels = self.labels.len();
            let labels =
                if state.n_open == 0 { self.places.roots(n_labels) } else { self.places.inner(n_labels) };
            actions.allow(Action::Open, labels, out);
        }
        // Closing the last opening finishes, so nothing may be left over.
        if state.n_open > 0 && state.n_fresh == 0 && (state.n_open > 1 || !words_left) {
            out.insert(actions.id(Action::Reduce));
        }
    }

    fn apply(&self, forest: &mut Forest, state: &State, action: ActionId) -> State {
        let past = Some(forest.push_step(action, state.past));
        match self.actions().get(action) {
            Action::Shift => {
                let word = forest.leaf(state.next);
                let stack = Some(forest.push_cell(word, state.stack));
                State { stack, next: labels::after(state.next), n_fresh: 0, past, ..*state }
            }
            Action::Open(label) => {
                let opening = forest.push_opening(label, state.next, state.next);
                let stack = Some(forest.push_cell(opening, state.stack));
                State { stack, n_open: state.n_open + 1, n_fresh: state.n_fresh + 1, past, ..*state }
            }
            Action::Reduce => {
                let (label, count, below) = labels::topmost_opening(forest, state.stack);
                let node = forest.push_reduction(label, None, state.stack, count);
                let stack = Some(forest.push_cell(node, below));
                State { stack, n_open: state.n_open - 1, n_fresh: 0, past, ..*state }
            }
        }
    }

    fn view(&self, state: &State) -> View {
        labels::view(state.stack, state.next, state.past)
    }

    fn tree(&self, forest: &Forest, state: &State) -> ConstituentTree {
        self.labels.tree(forest, state.stack)
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
                    Action::Open(self.labels.id(&gold.node(node).label)?)
                }
                None => Action::Reduce,
            }));
        }
        Ok(actions)
    }

    fn check_tables(&self) -> Result<(), String> {
        self.places.check_table(self.labels.len())?;
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
