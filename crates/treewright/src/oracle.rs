//! What an oracle is, and the static one, which every system has.

use crate::forest::Forest;
use crate::ids::ActionId;
use crate::system::{ActionSet, TransitionSystem, Underivable};

/// Says which actions lead to the best trees still reachable. Made per sentence from the gold tree.
///
/// The **loss** of a configuration is the smallest loss of any finished parse reachable from it; an action's **cost**
/// is how much it raises the loss. Callers follow one walk: they call `advance` for every action they take, so an
/// oracle may keep books; to branch, clone the oracle.
pub trait Oracle<S: TransitionSystem>: Clone {
    /// The loss of the configuration; `None` where this oracle does not define one (a static oracle off its path).
    fn loss(&mut self, system: &S, forest: &Forest, state: &S::State) -> Option<u32>;

    /// The loss after a legal action. Oracles with a cheaper way than to apply it and look override this.
    fn loss_after(
        &mut self,
        system: &S,
        forest: &mut Forest,
        state: &S::State,
        action: ActionId,
    ) -> Option<u32> {
        let after = system.apply(forest, state, action);
        let mut oracle = self.clone();
        oracle.advance(system, forest, state, action);
        oracle.loss(system, forest, &after)
    }

    /// The legal actions of least cost (cost 0, for an exact oracle), into `out`, which is cleared first.
    fn optimal(
        &mut self,
        system: &S,
        forest: &mut Forest,
        state: &S::State,
        legal: &ActionSet,
        out: &mut ActionSet,
    );

    /// Tells the oracle that `action` is taken in `state`.
    fn advance(&mut self, _system: &S, _forest: &Forest, _state: &S::State, _action: ActionId) {}

    /// May training follow this wrong action? (SWAP: no.)
    fn may_follow(&self, _system: &S, _forest: &Forest, _state: &S::State, _action: ActionId) -> bool {
        true
    }
}

/// The gold derivation and nothing else: defined only while the walk follows it.
#[derive(Clone, Debug)]
pub struct StaticOracle {
    actions: Vec<ActionId>,
    /// How many steps have been taken; `None` once the walk has left the derivation.
    taken: Option<usize>,
}

impl StaticOracle {
    /// The oracle for one gold tree.
    ///
    /// # Errors
    /// When the system cannot derive the tree.
    pub fn new<S: TransitionSystem>(system: &S, gold: &S::Tree) -> Result<Self, Underivable> {
        Ok(Self::from_actions(system.derive(gold)?))
    }

    /// The oracle for a derivation already at hand.
    pub fn from_actions(actions: Vec<ActionId>) -> Self {
        StaticOracle { actions, taken: Some(0) }
    }

    /// The next gold action, if the walk is on the path and not at its end.
    pub fn next(&self) -> Option<ActionId> {
        self.actions.get(self.taken?).copied()
    }
}

impl<S: TransitionSystem> Oracle<S> for StaticOracle {
    fn loss(&mut self, _system: &S, _forest: &Forest, _state: &S::State) -> Option<u32> {
        self.taken.map(|_| 0)
    }

    fn optimal(
        &mut self,
        _system: &S,
        _forest: &mut Forest,
        _state: &S::State,
        legal: &ActionSet,
        out: &mut ActionSet,
    ) {
        out.clone_from(legal);
        let gold = self.next();
        legal.iter().filter(|&action| Some(action) != gold).for_each(|action| out.remove(action));
    }

    fn advance(&mut self, _system: &S, _forest: &Forest, _state: &S::State, action: ActionId) {
        self.taken =
            self.taken.filter(|&taken| self.actions.get(taken) == Some(&action)).map(|taken| taken + 1);
    }

    fn may_follow(&self, _system: &S, _forest: &Forest, _state: &S::State, _action: ActionId) -> bool {
        false
    }
}
