//! Derivations of several sentences that go on in lockstep, so that their states are scored at once.

use super::greedy::SOME_ACTION;
use crate::forest::{Forest, View};
use crate::ids::ActionId;
use crate::score::{SlotId, Views};
use crate::sentence::Sentence;
use crate::system::{ActionSet, TransitionSystem};

/// The derivation of one sentence, which a scorer has open.
pub(crate) struct Lane<S: TransitionSystem> {
    slot: SlotId,
    pub forest: Forest,
    pub state: S::State,
    views: [View; 1],
    /// The legal actions of the state, after [`Lane::has_choice`].
    pub legal: ActionSet,
}

impl<S: TransitionSystem> Lane<S> {
    /// At the start; what is in the forest does not matter.
    pub(crate) fn new(system: &S, sentence: &Sentence, slot: SlotId, mut forest: Forest) -> Self {
        let state = system.start(&mut forest, sentence);
        Lane { slot, views: [system.view(&state)], forest, state, legal: ActionSet::default() }
    }

    /// Goes on to the next state with more than one legal action; is there one? Tells of the actions on the way, before each
    /// is taken.
    pub(crate) fn has_choice(
        &mut self,
        system: &S,
        mut see: impl FnMut(&Forest, &S::State, ActionId),
    ) -> bool {
        while !system.is_final(&self.forest, &self.state) {
            system.legal(&self.forest, &self.state, &mut self.legal);
            if !self.legal.is_single() {
                self.views[0] = system.view(&self.state);
                return true;
            }
            let action = self.legal.first().expect(SOME_ACTION);
            see(&self.forest, &self.state, action);
            self.take(system, action);
        }
        false
    }

    /// What is to be scored.
    pub(crate) fn views(&self) -> Views<'_> {
        Views { slot: self.slot, forest: &self.forest, views: &self.views }
    }

    /// Takes an action.
    pub(crate) fn take(&mut self, system: &S, action: ActionId) {
        self.state = system.apply(&mut self.forest, &self.state, action);
    }
}
