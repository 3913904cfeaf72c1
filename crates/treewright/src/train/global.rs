//! Global training: the beam's best derivation against the gold one (structured perceptron).

use super::{Example, Log};
use crate::config::{TrainConfig, Update};
use crate::decode::BeamSearch;
use crate::forest::Forest;
use crate::ids::ActionId;
use crate::score::{Learner, Rows};
use crate::system::{ActionSet, TransitionSystem};

/// One pass over the data; gives the number of sentences that led to an update, and of all.
pub(super) fn epoch<S: TransitionSystem>(
    config: &TrainConfig,
    epoch: usize,
    system: &S,
    examples: &[Example<S>],
    order: &[usize],
    learner: &mut impl Learner,
    log: &mut dyn Log,
) -> (u64, u64) {
    let mut trainer = Trainer::<S>::default();
    let mut errors = 0;
    for (done, &i) in order.iter().enumerate() {
        errors += u64::from(trainer.learn(system, &examples[i], learner, config.beam, config.update));
        learner.end_batch();
        log.sentence(epoch, done + 1, order.len());
    }
    (errors, order.len() as u64)
}

struct Trainer<S: TransitionSystem> {
    search: BeamSearch<S>,
    legal: ActionSet,
    rows: Rows,
    path: Vec<usize>,
    /// The gold states before each gold action, and the actions, IDLE padding included.
    gold: Vec<(S::State, ActionId)>,
}

impl<S: TransitionSystem> Default for Trainer<S> {
    fn default() -> Self {
        Trainer {
            search: BeamSearch::default(),
            legal: ActionSet::default(),
            rows: Rows::default(),
            path: Vec::new(),
            gold: Vec::new(),
        }
    }
}

/// A place up to which an update may go: the number of steps and the item that wrongly leads there.
#[derive(Clone, Copy)]
struct Violation {
    steps: usize,
    item: usize,
    /// By how much the wrong item is ahead of gold.
    margin: f64,
}

impl<S: TransitionSystem> Trainer<S> {
    /// Learns from one sentence; was there anything to learn?
    fn learn(
        &mut self,
        system: &S,
        example: &Example<S>,
        learner: &mut impl Learner,
        width: usize,
        update: Update,
    ) -> bool {
        let search = &mut self.search;
        search.start(system, learner, &example.sentence);
        self.gold.clear();
        let mut gold_state = search.items[0].state;
        let (mut gold_item, mut gold_score) = (Some(0usize), 0.0);
        let mut worst: Option<Violation> = None;
        let mut step = 0;
        loop {
            let gold_final = system.is_final(&search.forest, &gold_state);
            if search.is_done(system) && gold_final {
                break;
            }
            let action =
                gold_action(system, &search.forest, &gold_state, &example.actions, step, &mut self.legal);
            if let Some(action) = action {
                learner.score(&search.forest, &[system.view(&gold_state)], &mut self.rows);
                gold_score += f64::from(self.rows.row(0)[action.index()]);
            }
            search.step(system, learner, width, f64::INFINITY);
            step += 1;
            // Is the gold derivation still in the beam?
            gold_item = gold_item.and_then(|parent| {
                let follows = |item: &crate::decode::Item<S::State>| {
                    item.parent as usize == parent && item.action == action
                };
                search.beam().iter().position(follows).map(|i| search.level + i)
            });
            if let Some(action) = action {
                self.gold.push((gold_state, action));
                gold_state = match gold_item {
                    Some(item) => search.items[item].state,
                    None => system.apply(&mut search.forest, &gold_state, action),
                };
            }
            let best = search.level;
            let margin = search.items[best].score - gold_score;
            if gold_item.is_none() && update == Update::Early {
                worst = Some(Violation { steps: step, item: best, margin });
                break;
            }
            if gold_item != Some(best) && worst.is_none_or(|worst| margin > worst.margin) {
                worst = Some(Violation { steps: step, item: best, margin });
            }
        }
        let violation = match update {
            // Early: where gold fell out, or at the end if it came in second.
            Update::Early if gold_item.is_some() => {
                let best = search.level;
                (gold_item != Some(best)).then_some(Violation { steps: step, item: best, margin: 0.0 })
            }
            _ => worst,
        };
        match violation {
            Some(violation) => {
                self.update(system, learner, violation);
                true
            }
            None => false,
        }
    }

    /// Gold up, the wrong derivation down, from where they part.
    fn update(&mut self, system: &S, learner: &mut impl Learner, violation: Violation) {
        let search = &self.search;
        search.path(violation.item, &mut self.path);
        let gold = &self.gold[..self.gold.len().min(violation.steps)];
        // What both share cancels out.
        let shared = self
            .path
            .iter()
            .zip(gold)
            .take_while(|&(&item, gold)| search.items[item].action == Some(gold.1))
            .count();
        for (state, action) in &gold[shared..] {
            learner.nudge(&search.forest, &system.view(state), *action, 1.0);
        }
        for &item in &self.path[shared..] {
            let item = &search.items[item];
            if let Some(action) = item.action {
                let before = &search.items[item.parent as usize].state;
                learner.nudge(&search.forest, &system.view(before), action, -1.0);
            }
        }
    }
}

/// The gold action of a step: of the derivation, then IDLE if the system has it, then nothing.
fn gold_action<S: TransitionSystem>(
    system: &S,
    forest: &Forest,
    state: &S::State,
    actions: &[ActionId],
    step: usize,
    legal: &mut ActionSet,
) -> Option<ActionId> {
    if step < actions.len() {
        return Some(actions[step]);
    }
    system.legal(forest, state, legal);
    legal.first()
}
