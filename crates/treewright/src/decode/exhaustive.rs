//! Exhaustive search, for tests: every derivation is tried, so the best is the best. The reference of every other decoder.
//!
//! Derivations of different length are compared as in a beam: where a system has IDLE, all are padded to the length of the
//! longest.

use super::{Decoder, Found, Guarantee, Input};
use crate::forest::Forest;
use crate::ids::ActionId;
use crate::score::{Rows, Scorer, SlotId, Views};
use crate::system::{ActionSet, TransitionSystem};

/// Exhaustive search.
pub(crate) struct Exhaustive;

/// A derivation, finished or not.
struct Hypothesis<T> {
    state: T,
    score: f64,
    n_steps: usize,
}

/// The successors of a state with the scores of the actions.
fn successors<S: TransitionSystem>(
    system: &S,
    scorer: &mut dyn Scorer,
    (slot, forest): (SlotId, &mut Forest),
    state: &S::State,
) -> Vec<(S::State, f64)> {
    let mut legal = ActionSet::new(system.n_actions());
    system.legal(forest, state, &mut legal);
    let mut rows = Rows::default();
    scorer.score(&[Views { slot, forest, views: &[system.view(state)] }], &mut rows);
    let mut after = |action: ActionId| {
        let score = f64::from(rows.row(0)[action.index()]);
        (system.apply(forest, state, action), score)
    };
    legal.iter().map(&mut after).collect()
}

impl<S: TransitionSystem> Decoder<S> for Exhaustive {
    fn decode(&mut self, input: Input<'_, S>, found: &mut dyn FnMut(Found<'_, S>) -> bool) -> Guarantee {
        let Input { system, scorer, sentence } = input;
        if sentence.is_empty() {
            return Guarantee::Exact;
        }
        let slot = scorer.open_one(sentence);
        let mut forest = Forest::new();
        let start = system.start(&mut forest, sentence);
        let mut todo = vec![Hypothesis { state: start, score: 0.0, n_steps: 0 }];
        let mut finished = Vec::new();
        while let Some(next) = todo.pop() {
            if system.is_final(&forest, &next.state) {
                finished.push(next);
                continue;
            }
            for (state, score) in successors(system, scorer, (slot, &mut forest), &next.state) {
                todo.push(Hypothesis { state, score: next.score + score, n_steps: next.n_steps + 1 });
            }
        }
        let longest = finished.iter().map(|one| one.n_steps).max().unwrap_or(0);
        for one in &mut finished {
            for _ in one.n_steps..longest {
                // IDLE, or nothing.
                let Some((state, score)) = successors(system, scorer, (slot, &mut forest), &one.state).pop()
                else {
                    break;
                };
                one.state = state;
                one.score += score;
            }
        }
        scorer.close(slot);
        finished.sort_by(|one, other| other.score.total_cmp(&one.score));
        for Hypothesis { state, score, .. } in finished {
            if !found(Found { forest: &forest, state, score, score_gap: 0.0 }) {
                break;
            }
        }
        Guarantee::Exact
    }
}
