//! What an oracle is, and the static one, which every system has.

use crate::forest::Forest;
use crate::ids::ActionId;
use crate::system::{ActionSet, TransitionSystem};
use crate::tree::Underivable;

/// Says which actions lead to the best trees still reachable. Made per sentence from the gold tree.
///
/// The **loss** of a configuration is the smallest loss of any finished parse reachable from it; an action's **cost**
/// is how much it raises the loss. Callers follow one walk: they call `advance` for every action they take, so an
/// oracle may keep a record of it; to branch, clone the oracle.
pub trait Oracle<S: TransitionSystem>: CloneOracle<S> + Send {
    /// The oracle for one gold tree.
    ///
    /// # Errors
    /// When the system cannot derive the tree.
    fn for_gold(system: &S, gold: &S::Tree) -> Result<Self, Underivable>
    where
        Self: Sized;

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
        let mut oracle = self.clone_oracle();
        oracle.advance(system, forest, state, action);
        oracle.loss(system, forest, &after)
    }

    /// The best legal actions, into `out`, which is cleared first: for an exact oracle those of cost 0. Oracles with a
    /// cheaper way than to look at every action override this.
    fn optimal(
        &mut self,
        system: &S,
        forest: &mut Forest,
        state: &S::State,
        legal: &ActionSet,
        out: &mut ActionSet,
    ) {
        out.reset(system.n_actions());
        let loss = self.loss(system, forest, state);
        for action in legal.iter() {
            if self.loss_after(system, forest, state, action) == loss {
                out.insert(action);
            }
        }
    }

    /// Removes from `legal` the actions that training must neither prefer nor follow in this state (SWAP: allowed only
    /// when it is due, and then alone). Trainers and the `oracle` command call it after `legal` and before `optimal`.
    /// Parsing never does, so a trainer must still learn that the removed actions are wrong. What is removed depends on
    /// the gold tree and the state, never on the walk.
    fn restrict(&self, _system: &S, _forest: &Forest, _state: &S::State, _legal: &mut ActionSet) {}

    /// Tells the oracle that `action` is taken in `state`.
    fn advance(&mut self, _system: &S, _forest: &Forest, _state: &S::State, _action: ActionId) {}

    /// May training follow this wrong action? (SWAP: no.)
    fn may_follow(&self, _system: &S, _forest: &Forest, _state: &S::State, _action: ActionId) -> bool {
        true
    }
}

/// Clones an oracle whose type is not known. Every oracle that can be cloned has it.
pub trait CloneOracle<S: TransitionSystem> {
    /// The clone.
    fn clone_oracle(&self) -> Box<dyn Oracle<S>>;
}

impl<S: TransitionSystem, O: Oracle<S> + Clone + 'static> CloneOracle<S> for O {
    fn clone_oracle(&self) -> Box<dyn Oracle<S>> {
        Box::new(self.clone())
    }
}

/// The legal actions of least loss among those offered.
pub(crate) struct Cheapest<'a> {
    legal: &'a ActionSet,
    out: &'a mut ActionSet,
    n_actions: usize,
    loss: u32,
}

impl<'a> Cheapest<'a> {
    /// Nothing offered yet.
    pub(crate) fn new(legal: &'a ActionSet, out: &'a mut ActionSet, n_actions: usize) -> Self {
        out.reset(n_actions);
        Cheapest { legal, out, n_actions, loss: u32::MAX }
    }

    /// The least loss so far.
    pub(crate) fn loss(&self) -> u32 {
        self.loss
    }

    /// Offers an action, which leads to this loss if it is legal.
    pub(crate) fn offer(&mut self, action: ActionId, loss: impl FnOnce() -> u32) {
        if !self.legal.contains(action) {
            return;
        }
        let loss = loss();
        if loss < self.loss {
            self.loss = loss;
            self.out.reset(self.n_actions);
        }
        if loss == self.loss {
            self.out.insert(action);
        }
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
    /// The oracle for a derivation already at hand.
    pub fn from_actions(actions: Vec<ActionId>) -> Self {
        StaticOracle { actions, taken: Some(0) }
    }

    /// The next gold action, if the walk is on the path and not at its end.
    pub fn next(&self) -> Option<ActionId> {
        self.actions.get(self.taken?).copied()
    }
}

/// The losses after legal actions. Of those that are all alike one is looked at, for the others, too.
pub(crate) fn losses_after(
    legal: &ActionSet,
    is_alike: impl Fn(ActionId) -> bool,
    mut loss_after: impl FnMut(ActionId) -> Option<u32>,
) -> Vec<(ActionId, u32)> {
    let mut of_alike = None;
    let mut losses = Vec::with_capacity(legal.len());
    for action in legal.iter() {
        let is_alike = is_alike(action);
        let loss = of_alike.filter(|_| is_alike).or_else(|| loss_after(action));
        losses.extend(loss.map(|loss| (action, loss)));
        if is_alike {
            of_alike = loss;
        }
    }
    losses
}

impl<S: TransitionSystem> Oracle<S> for StaticOracle {
    fn for_gold(system: &S, gold: &S::Tree) -> Result<Self, Underivable> {
        Ok(Self::from_actions(system.derive(gold)?))
    }

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
