//! Local training: each state by itself, with an oracle, and with exploration of the model's own mistakes.

use super::loss::{Loss, Perceptron};
use super::{Epoch, Task};
use crate::decode::{Greedy, Step};
use crate::error::{Code, Error, Result};
use crate::ids::ActionId;
use crate::oracle::Oracle;
use crate::registry::Registered;
use crate::rng::Rng;
use crate::score::{Learner, SlotId};
use crate::sentence::Sentence;
use crate::system::ActionSet;
use crate::tree::Underivable;

/// One pass over the data; gives the number of steps in which the model was wrong, and of all.
pub(super) fn epoch<S: Registered>(task: &Task<S>, epoch: Epoch<'_>) -> Result<(u64, u64)> {
    let Epoch { config, number, examples, order, learner, rng, log } = epoch;
    let mut trainer = Trainer {
        system: &*task.system,
        greedy: Greedy::default(),
        explore: if number > config.explore_after { config.explore } else { 0.0 },
        rng,
        good: ActionSet::default(),
        allowed: ActionSet::default(),
        gradient: Vec::new(),
        n_wrong: 0,
        n_steps: 0,
    };
    let (mut done, mut slots) = (0, Vec::new());
    for batch in order.chunks(config.batch) {
        let sentences: Vec<_> = batch.iter().map(|&i| &examples[i].sentence).collect();
        slots.clear();
        learner.open(&sentences, &mut slots);
        for (&i, &slot) in batch.iter().zip(&slots) {
            let unfit = |why: Underivable| Error::new(Code::Underivable, why.to_string());
            let oracle = config.oracle.for_gold(&*task.system, &task.gold[examples[i].gold]);
            trainer.learn(&examples[i].sentence, slot, &mut *oracle.map_err(unfit)?, learner);
            learner.close(slot);
            done += 1;
            log.sentence(number, done, order.len());
        }
        if !learner.learns_by_state() {
            learner.step();
        }
    }
    Ok((trainer.n_wrong, trainer.n_steps))
}

struct Trainer<'a, S> {
    system: &'a S,
    greedy: Greedy,
    /// With this probability the model's own mistakes are followed.
    explore: f64,
    rng: &'a mut Rng,
    good: ActionSet,
    allowed: ActionSet,
    gradient: Vec<(ActionId, f32)>,
    n_wrong: u64,
    n_steps: u64,
}

impl<S: Registered> Trainer<'_, S> {
    /// Learns from one sentence, which the learner has open.
    fn learn(
        &mut self,
        sentence: &Sentence,
        slot: SlotId,
        oracle: &mut dyn Oracle<S>,
        learner: &mut dyn Learner,
    ) {
        let Trainer { system, greedy, explore, rng, good, allowed, gradient, n_wrong, n_steps } = self;
        let choose = |step: Step<'_, S, dyn Learner + '_>| {
            let Step { scorer: learner, slot, forest, state, view, rows, legal } = step;
            // The parser will choose among all legal actions, so that is what it learns to do; only what is right, and
            // where training goes, is up to the oracle.
            allowed.clone_from(legal);
            oracle.restrict(system, forest, state, allowed);
            oracle.optimal(system, forest, state, allowed, good);
            let predicted = rows.best(0, legal).expect("a state that is not final has a legal action");
            let best_good = rows.best(0, good).expect("an oracle always has an optimal action");
            *n_steps += 1;
            if legal.len() > 1 {
                let loss = Perceptron.gradient(rows.row(0), legal, good, gradient);
                *n_wrong += u64::from(loss > 0.0);
                if loss > 0.0 {
                    learner.backward(slot, forest, &view, gradient);
                }
                if learner.learns_by_state() {
                    learner.step();
                }
            }
            let is_wrong = !good.contains(predicted);
            let follows = is_wrong
                && *explore > 0.0
                && rng.unit() < *explore
                && allowed.contains(predicted)
                && oracle.may_follow(system, forest, state, predicted);
            let action = if follows { predicted } else { best_good };
            oracle.advance(system, forest, state, action);
            action
        };
        greedy.walk(*system, learner, (slot, sentence), choose);
    }
}
