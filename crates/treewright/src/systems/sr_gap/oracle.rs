//! The exact dynamic oracle of SR-GAP. The paper has only a static one; this one was found by exhaustive search.
//!
//! The loss counts (label, yield) pairs of the n-ary tree, temporaries left out; gold has one label per yield (unary
//! chains are joined). Write *item* for an element of S or D, and let D have one element:
//! - A gold node Y of several words is *open* while no item crosses, equals or contains it, and it has unshifted
//!   words or contains d0. A gold unary is open until its word is no longer the one just shifted.
//! - Every item and unshifted word belongs to the smallest open Y that contains it, which is its *host*; an open node is
//!   a piece of the next larger one.
//! - Y needs a piece that is not a temporary; without one it cannot be completed, and counts as closed. With one, it is
//!   completed. With k pieces that takes k - 1 reductions. If the system has temporary symbols, the intermediate ones
//!   make temporaries, but two temporaries never join: all of them but one cost a wrong constituent each. If it has
//!   none, all intermediate ones make wrong constituents: k - 2.
//! - loss = wrong constituents so far + gold nodes neither built nor completable + those wrong constituents.
//!
//! If gaps are pending, a reduction must follow (after more gaps, perhaps), so the loss is the minimum of that value over
//! the reductions of d0 with an item of S.
//!
//! All of this is kept up to date step by step. A node that is no longer open never opens again, so nodes and their
//! pieces are only ever merged. A reduction within one host costs nothing or a wrong constituent; every node that it
//! closes costs at least 1. So the actions that cost nothing are found without looking at the tree or the stack: by
//! counting the items that have the same host as d0. Only after a gap that does cost something the stack is searched,
//! from d0 down and no further than where enough open nodes lie between an item and d0 to make it too dear.

use std::sync::Arc;

use crate::forest::{Forest, Kind};
use crate::ids::{ActionId, LabelId};
use crate::oracle::Oracle;
use crate::system::{ActionSet, TransitionSystem};
use crate::systems::sr_gap::{Action, SrGap, State};
use crate::tree::{BinaryTree, ConstituentTree, Underivable};

mod gold;
mod pieces;

pub(in crate::systems::sr_gap) use gold::Gold;
use pieces::{Made, NEVER, Progress};

/// The exact dynamic oracle for one sentence.
#[derive(Clone, Debug)]
pub struct DynamicOracle {
    gold: Arc<Gold>,
    progress: Progress,
}

impl DynamicOracle {
    /// The oracle for an n-ary gold tree, with unary chains joined into one label above a word and none elsewhere.
    ///
    /// # Errors
    /// When the system cannot build the tree.
    pub fn new(system: &SrGap, gold: &ConstituentTree) -> Result<Self, Underivable> {
        let gold = Gold::new(system, gold)?;
        let progress = Progress::new(&gold, !system.symbols.temporaries().is_empty());
        Ok(DynamicOracle { gold: Arc::new(gold), progress })
    }

    /// One word has one action that counts.
    fn loss_of_one_word(&self, forest: &Forest, state: &State) -> u32 {
        let label = state.d0.and_then(|d0| forest.node(d0).label);
        if label.is_none() || label == self.gold.unary[0] { 0 } else { 2 }
    }

    /// The losses of the configuration and after the kinds of actions that `wanted` asks for, beside that of a
    /// configuration without gaps. Those that are larger than the configuration's own need not be exact if `roughly`.
    fn costs(&mut self, roughly: bool, wanted: impl Fn(Kinds) -> bool) -> Costs {
        let DynamicOracle { gold, progress } = self;
        let unary = progress.unary;
        let now = if progress.n_gaps > 0 { progress.best_reduction(gold, progress.n_gaps, NEVER) } else { 0 };
        let below = if roughly { now.saturating_add(1) } else { NEVER };
        let mut costs = Costs {
            now,
            shift: NEVER,
            gap: NEVER,
            unary: (unary, now, now + 1 + u32::from(unary.is_some())),
            reduce: (None, NEVER, NEVER),
            temporary: NEVER,
        };
        // Whatever is done, a unary that is not built now is lost.
        let lost = |cost: u32| cost.saturating_add(u32::from(unary.is_some()));
        if wanted(Kinds::Shift) {
            costs.shift = lost(progress.shift_cost(gold, below));
        }
        if wanted(Kinds::Gap) {
            costs.gap = lost(progress.best_reduction(gold, progress.n_gaps + 1, below));
        }
        let Some(item) = progress.item(progress.n_gaps) else { return costs };
        if wanted(Kinds::Reduce) {
            let label = progress.gold_label(gold, item);
            costs.reduce = (
                label,
                lost(label.map_or(NEVER, |_| progress.reduction_cost(gold, item, Made::Gold, below))),
                lost(progress.reduction_cost(gold, item, Made::Wrong, below)),
            );
        }
        if wanted(Kinds::Temporary) {
            costs.temporary = lost(progress.reduction_cost(gold, item, Made::Temporary, below));
        }
        costs
    }
}

/// Kinds of actions whose losses are found in different ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kinds {
    Shift,
    Gap,
    Reduce,
    Temporary,
}

/// The losses of a configuration and after its actions, by what they do; of unaries and reductions the gold label and
/// the losses with it and with another one.
#[derive(Clone, Copy, Debug)]
struct Costs {
    now: u32,
    shift: u32,
    gap: u32,
    unary: (Option<LabelId>, u32, u32),
    reduce: (Option<LabelId>, u32, u32),
    temporary: u32,
}

impl Costs {
    fn of(&self, system: &SrGap, action: ActionId) -> u32 {
        let by_label = |(gold, right, wrong): (Option<LabelId>, u32, u32), label| {
            if gold == Some(label) { right } else { wrong }
        };
        match system.actions().get(action) {
            Action::Shift => self.shift,
            Action::Gap => self.gap,
            Action::Unary(label) => by_label(self.unary, label),
            Action::Right(label) | Action::Left(label) => {
                if system.symbols.kind(label) == Kind::Temporary {
                    self.temporary
                } else {
                    by_label(self.reduce, label)
                }
            }
            Action::Idle => self.now,
        }
    }
}

impl Oracle<SrGap> for DynamicOracle {
    fn for_gold(system: &SrGap, gold: &BinaryTree) -> Result<Self, Underivable> {
        DynamicOracle::new(system, &gold.unbinarize())
    }

    fn loss(&mut self, _system: &SrGap, forest: &Forest, state: &State) -> Option<u32> {
        if forest.n_tokens() == 1 {
            return Some(self.loss_of_one_word(forest, state));
        }
        let costs = self.costs(true, |_| false);
        Some(self.progress.loss.saturating_add(costs.now))
    }

    fn loss_after(
        &mut self,
        system: &SrGap,
        forest: &mut Forest,
        state: &State,
        action: ActionId,
    ) -> Option<u32> {
        if forest.n_tokens() == 1 {
            let after = system.apply(forest, state, action);
            return Some(self.loss_of_one_word(forest, &after));
        }
        let costs = self.costs(false, |_| true);
        Some(self.progress.loss.saturating_add(costs.of(system, action)))
    }

    fn optimal(
        &mut self,
        system: &SrGap,
        forest: &mut Forest,
        state: &State,
        legal: &ActionSet,
        out: &mut ActionSet,
    ) {
        out.reset(system.n_actions());
        if forest.n_tokens() == 1 {
            let now = self.loss_of_one_word(forest, state);
            for action in legal.iter() {
                let after = system.apply(forest, state, action);
                if self.loss_of_one_word(forest, &after) == now {
                    out.insert(action);
                }
            }
            return;
        }
        let actions = system.actions();
        let has_temporary = legal.iter().any(|action| match actions.get(action) {
            Action::Right(label) | Action::Left(label) => system.symbols.kind(label) == Kind::Temporary,
            _ => false,
        });
        let costs = self.costs(true, |asked| match asked {
            Kinds::Shift => legal.contains(actions.id(Action::Shift)),
            Kinds::Gap => legal.contains(actions.id(Action::Gap)),
            Kinds::Reduce => true,
            Kinds::Temporary => has_temporary,
        });
        for action in legal.iter() {
            if costs.of(system, action) == costs.now {
                out.insert(action);
            }
        }
    }

    fn advance(&mut self, system: &SrGap, forest: &Forest, _state: &State, action: ActionId) {
        if forest.n_tokens() == 1 {
            return;
        }
        let DynamicOracle { gold, progress } = self;
        match system.actions().get(action) {
            Action::Shift => progress.shift(gold),
            Action::Gap => progress.gap(gold),
            Action::Unary(label) => progress.reduce_unary(label),
            Action::Right(label) | Action::Left(label) => {
                let label = (system.symbols.kind(label) == Kind::Constituent).then_some(label);
                progress.reduce(gold, label);
            }
            Action::Idle => {}
        }
    }
}
