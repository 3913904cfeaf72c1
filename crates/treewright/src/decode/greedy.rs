//! Greedy search: the highest-scoring legal action at each step. Also the one loop that oracles and training share.

use super::{Decoder, Found, Guarantee, Input, Inputs, Lane};
use crate::forest::{Forest, View};
use crate::ids::ActionId;
use crate::score::{Rows, Scorer, SlotId, Views};
use crate::sentence::Sentence;
use crate::system::{ActionSet, TransitionSystem};

/// Greedy search, with its scratch memory.
#[derive(Clone, Debug, Default)]
pub struct Greedy {
    forest: Forest,
    legal: ActionSet,
    rows: Rows,
    /// The arenas of sentences that are parsed at the same time.
    forests: Vec<Forest>,
}

/// A state of a walk that is not final, for choosing the next action.
pub struct Step<'a, S: TransitionSystem, M: ?Sized> {
    /// The scorer.
    pub scorer: &'a mut M,
    /// The sentence, as the scorer has it open.
    pub slot: SlotId,
    /// The arena of the sentence.
    pub forest: &'a mut Forest,
    /// The state.
    pub state: &'a S::State,
    /// What a scorer sees of it.
    pub view: View,
    /// Its scores, in the first row.
    pub rows: &'a Rows,
    /// Its legal actions.
    pub legal: &'a ActionSet,
}

impl Greedy {
    /// Walks from the start to a final state in a sentence that the scorer has open; `choose` picks each action.
    pub fn walk<S: TransitionSystem, M: Scorer + ?Sized>(
        &mut self,
        system: &S,
        scorer: &mut M,
        (slot, sentence): (SlotId, &Sentence),
        choose: impl FnMut(Step<'_, S, M>) -> ActionId,
    ) -> (&Forest, S::State) {
        self.walk_scoring(usize::MAX, |_| true, system, scorer, (slot, sentence), choose)
    }

    /// The same, but ends after `n_steps` steps, final or not.
    pub(crate) fn walk_at_most<S: TransitionSystem, M: Scorer + ?Sized>(
        &mut self,
        n_steps: usize,
        system: &S,
        scorer: &mut M,
        (slot, sentence): (SlotId, &Sentence),
        choose: impl FnMut(Step<'_, S, M>) -> ActionId,
    ) {
        self.walk_scoring(n_steps, |_| true, system, scorer, (slot, sentence), choose);
    }

    /// The same; scores are computed only where `needs_scores` of the legal actions, else they mean nothing.
    fn walk_scoring<S: TransitionSystem, M: Scorer + ?Sized>(
        &mut self,
        n_steps: usize,
        needs_scores: impl Fn(&ActionSet) -> bool,
        system: &S,
        scorer: &mut M,
        (slot, sentence): (SlotId, &Sentence),
        mut choose: impl FnMut(Step<'_, S, M>) -> ActionId,
    ) -> (&Forest, S::State) {
        let Greedy { forest, legal, rows, .. } = self;
        let mut state = system.start(forest, sentence);
        for _ in 0..n_steps {
            if system.is_final(forest, &state) {
                break;
            }
            system.legal(forest, &state, legal);
            let view = system.view(&state);
            if needs_scores(legal) {
                scorer.score(&[Views { slot, forest, views: &[view] }], rows);
            }
            let action = choose(Step { scorer, slot, forest, state: &state, view, rows, legal });
            state = system.apply(forest, &state, action);
        }
        (forest, state)
    }
}

pub(super) const SOME_ACTION: &str = "a state that is not final has a legal action";

impl<S: TransitionSystem> Decoder<S> for Greedy {
    fn decode(&mut self, input: Input<'_, S>, found: &mut dyn FnMut(Found<'_, S>) -> bool) -> Guarantee {
        let Input { system, scorer, sentence } = input;
        if !sentence.is_empty() {
            let slot = scorer.open_one(sentence);
            let mut score = 0.0;
            let is_normalised = scorer.is_log_linear();
            let (forest, state) = self.walk(system, scorer, (slot, sentence), |step| {
                let action = step.rows.best(0, step.legal).expect(SOME_ACTION);
                score += f64::from(step.rows.row(0)[action.index()]);
                score -= if is_normalised { step.rows.log_total(0, step.legal) } else { 0.0 };
                action
            });
            found(Found { forest, state, score, score_gap: 0.0 });
            scorer.close(slot);
            self.forest.give_back();
        }
        Guarantee::Heuristic
    }

    /// Where there is but one action to choose from, its score does not matter.
    fn best_tree(&mut self, input: Input<'_, S>) -> Option<S::Tree> {
        let Input { system, scorer, sentence } = input;
        if sentence.is_empty() {
            return None;
        }
        let slot = scorer.open_one(sentence);
        let has_choice = |legal: &ActionSet| !legal.is_single();
        let (forest, state) =
            self.walk_scoring(usize::MAX, has_choice, system, scorer, (slot, sentence), |step| {
                if has_choice(step.legal) { step.rows.best(0, step.legal) } else { step.legal.first() }
                    .expect(SOME_ACTION)
            });
        let tree = system.tree(forest, &state);
        scorer.close(slot);
        self.forest.give_back();
        Some(tree)
    }

    /// In lockstep: all sentences take a step at a time.
    fn best_trees(&mut self, inputs: Inputs<'_, S>, out: &mut Vec<Option<S::Tree>>) {
        if !inputs.scorer.prefers_batches() {
            return inputs.one_by_one(|input| out.push(self.best_tree(input)));
        }
        let Inputs { system, scorer, sentences } = inputs;
        let mut slots = Vec::with_capacity(sentences.len());
        scorer.open(sentences, &mut slots);
        let start = out.len();
        out.resize_with(start + sentences.len(), || None);
        let Greedy { rows, forests, .. } = self;
        let open = slots.iter().zip(sentences).enumerate().filter(|(_, (_, sentence))| !sentence.is_empty());
        // Each with the number of its sentence.
        let mut lanes: Vec<(usize, Lane<S>)> = open
            .map(|(number, (&slot, sentence))| {
                (number, Lane::new(system, sentence, slot, forests.pop().unwrap_or_default()))
            })
            .collect();
        loop {
            lanes.retain_mut(|(number, lane)| {
                if lane.has_choice(system, |_, _, _| {}) {
                    return true;
                }
                out[start + *number] = Some(system.tree(&lane.forest, &lane.state));
                lane.forest.give_back();
                forests.push(std::mem::take(&mut lane.forest));
                false
            });
            if lanes.is_empty() {
                break;
            }
            let queries: Vec<Views<'_>> = lanes.iter().map(|(_, lane)| lane.views()).collect();
            scorer.score(&queries, rows);
            for (row, (_, lane)) in lanes.iter_mut().enumerate() {
                lane.take(system, rows.best(row, &lane.legal).expect(SOME_ACTION));
            }
        }
        slots.into_iter().for_each(|slot| scorer.close(slot));
    }
}
