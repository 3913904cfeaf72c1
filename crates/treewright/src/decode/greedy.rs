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
        mut choose: impl FnMut(&mut M, &mut Forest, &S::State, &View, &Rows, &mut ActionSet) -> ActionId,
    ) -> (&Forest, S::State) {
        scorer.start_sentence(sentence);
        let mut state = system.start(&mut self.forest, sentence);
        while !system.is_final(&self.forest, &state) {
            system.legal(&self.forest, &state, &mut self.legal);
            let view = system.view(&state);
            scorer.score(&self.forest, &[view], &mut self.rows);
            let action = choose(scorer, &mut self.forest, &state, &view, &self.rows, &mut self.legal);
            state = system.apply(&mut self.forest, &state, action);
        }
        (&self.forest, state)
    }
}

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
            let action = rows.best(0, legal).expect("a state that is not final has a legal action");
            score += f64::from(rows.row(0)[action.index()]);
            action
        });
        vec![Parse { tree: system.tree(forest, &state), score }]
    }
}
