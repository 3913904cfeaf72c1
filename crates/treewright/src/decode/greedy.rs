//! Greedy search: the highest-scoring legal action at each step. Also the one loop that oracles and training share.

use super::{Decoder, Parse};
use crate::forest::{Forest, View};
use crate::ids::ActionId;
use crate::score::{Rows, Scorer};
use crate::sentence::Sentence;
use crate::system::{ActionSet, TransitionSystem};

/// Greedy search, with its scratch memory.
#[derive(Clone, Debug, Default)]
pub struct Greedy {
    forest: Forest,
    legal: ActionSet,
    rows: Rows,
}

impl Greedy {
    /// A decoder without a past.
    pub fn new() -> Self {
        Greedy::default()
    }

    /// Walks from the start to a final state; `choose` picks each action, given the state's scores and the legal
    /// actions.
    pub fn walk<S: TransitionSystem, M: Scorer + ?Sized>(
        &mut self,
        system: &S,
        scorer: &mut M,
        sentence: &Sentence,
        choose: impl FnMut(&mut M, &mut Forest, &S::State, &View, &Rows, &mut ActionSet) -> ActionId,
    ) -> (&Forest, S::State) {
        self.walk_scoring(|_| true, system, scorer, sentence, choose)
    }

    /// The same; scores are computed only where `needs_scores` of the legal actions, else they mean nothing.
    fn walk_scoring<S: TransitionSystem, M: Scorer + ?Sized>(
        &mut self,
        needs_scores: impl Fn(&ActionSet) -> bool,
        system: &S,
        scorer: &mut M,
        sentence: &Sentence,
        mut choose: impl FnMut(&mut M, &mut Forest, &S::State, &View, &Rows, &mut ActionSet) -> ActionId,
    ) -> (&Forest, S::State) {
        scorer.start_sentence(sentence);
        let mut state = system.start(&mut self.forest, sentence);
        while !system.is_final(&self.forest, &state) {
            system.legal(&self.forest, &state, &mut self.legal);
            let view = system.view(&state);
            if needs_scores(&self.legal) {
                scorer.score(&self.forest, &[view], &mut self.rows);
            }
            let action = choose(scorer, &mut self.forest, &state, &view, &self.rows, &mut self.legal);
            state = system.apply(&mut self.forest, &state, action);
        }
        (&self.forest, state)
    }

    /// The tree alone: where there is but one action to choose from, its score does not matter.
    pub fn tree<S: TransitionSystem, M: Scorer + ?Sized>(
        &mut self,
        system: &S,
        scorer: &mut M,
        sentence: &Sentence,
    ) -> Option<S::Tree> {
        if sentence.is_empty() {
            return None;
        }
        let has_choice = |legal: &ActionSet| !legal.is_single();
        let (forest, state) =
            self.walk_scoring(has_choice, system, scorer, sentence, |_, _, _, _, rows, legal| {
                if has_choice(legal) { rows.best(0, legal) } else { legal.first() }.expect(SOME_ACTION)
            });
        Some(system.tree(forest, &state))
    }
}

const SOME_ACTION: &str = "a state that is not final has a legal action";

impl Decoder for Greedy {
    fn k_best<S: TransitionSystem, M: Scorer + ?Sized>(
        &mut self,
        system: &S,
        scorer: &mut M,
        sentence: &Sentence,
        k: usize,
    ) -> Vec<Parse<S::Tree>> {
        if sentence.is_empty() || k == 0 {
            return Vec::new();
        }
        let mut score = 0.0;
        let (forest, state) = self.walk(system, scorer, sentence, |_, _, _, _, rows, legal| {
            let action = rows.best(0, legal).expect(SOME_ACTION);
            score += f64::from(rows.row(0)[action.index()]);
            action
        });
        vec![Parse { tree: system.tree(forest, &state), score }]
    }
}
