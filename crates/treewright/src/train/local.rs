//! Local training: each state by itself, with an oracle, and with exploration of the model's own mistakes.

use super::loss::{Loss, PerceptronLoss};
use super::{Epoch, Mistakes, Task};
use crate::config::TrainConfig;
use crate::decode::{Greedy, Step};
use crate::error::{Code, Error, Result};
use crate::forest::Forest;
use crate::ids::ActionId;
use crate::oracle::Oracle;
use crate::registry::Registered;
use crate::rng::Rng;
use crate::score::{Learner, Rows, SlotId};
use crate::sentence::Sentence;
use crate::system::{ActionSet, TransitionSystem};
use crate::tree::Underivable;

impl<S: Registered> Task<S> {
    /// One pass over the data.
    pub(super) fn learn_locally(&self, learner: &mut dyn Learner, epoch: Epoch<'_>) -> Result<Mistakes> {
        let Epoch { config, number, examples, order, rng, log } = epoch;
        let mut trainer = Trainer {
            system: &*self.system,
            greedy: Greedy::default(),
            guide: Guide::new(exploration(config, number)),
            rng,
            gradient: Vec::new(),
            mistakes: Mistakes::default(),
        };
        let (mut done, mut slots) = (0, Vec::new());
        for batch in order.chunks(config.batch) {
            let sentences: Vec<_> = batch.iter().map(|&i| &examples[i].sentence).collect();
            slots.clear();
            learner.open(&sentences, &mut slots);
            for (&i, &slot) in batch.iter().zip(&slots) {
                let oracle = config.oracle().for_gold(&*self.system, &self.gold[examples[i].gold]);
                trainer.learn(&examples[i].sentence, slot, &mut *oracle.map_err(|why| unfit(&why))?, learner);
                learner.close(slot);
                done += 1;
                log.sentence(number, done, order.len());
            }
            if !learner.learns_by_state() {
                learner.step();
            }
        }
        Ok(trainer.mistakes)
    }
}

/// An epoch learns from this many steps of a sentence per word, at most, ...
const STEPS_PER_WORD: usize = 8;

/// ... but never from fewer than these: no derivation of a sentence of up to 140 words has more.
const MIN_STEPS: usize = 20_000;

/// The number of steps of a sentence that an epoch learns from, at most. With SWAP or GAP the number of steps may grow
/// with the square of the length: a sentence of 10,000 words in random order takes 50 million.
pub(super) fn max_steps(n_tokens: usize) -> usize {
    (STEPS_PER_WORD * n_tokens).max(MIN_STEPS)
}

/// The probability of following the model's own mistakes in this epoch.
pub(super) fn exploration(config: &TrainConfig, epoch: usize) -> f64 {
    if epoch > config.explore_after { config.explore } else { 0.0 }
}

pub(super) fn unfit(why: &Underivable) -> Error {
    Error::new(Code::Underivable, why.to_string())
}

/// What an oracle says about a state, and where training goes from there.
pub(super) struct Guide {
    /// With this probability the model's own mistakes are followed.
    explore: f64,
    /// The optimal actions of the last state.
    pub good: ActionSet,
    allowed: ActionSet,
}

/// The best actions of a state by their scores.
#[derive(Clone, Copy, Debug)]
pub(super) struct Best {
    /// Of all legal ones.
    pub predicted: ActionId,
    /// Of the optimal ones.
    good: ActionId,
}

impl Guide {
    pub(super) fn new(explore: f64) -> Self {
        Guide { explore, good: ActionSet::default(), allowed: ActionSet::default() }
    }

    /// Asks the oracle. The parser will choose among all legal actions, so that is what it learns to do; only what is
    /// right, and where training goes, is up to the oracle.
    pub(super) fn ask<S: TransitionSystem>(
        &mut self,
        system: &S,
        oracle: &mut dyn Oracle<S>,
        (forest, state): (&mut Forest, &S::State),
        (rows, row): (&Rows, usize),
        legal: &ActionSet,
    ) -> Best {
        self.allowed.clone_from(legal);
        oracle.restrict(system, forest, state, &mut self.allowed);
        oracle.optimal(system, forest, state, &self.allowed, &mut self.good);
        Best {
            predicted: rows.best(row, legal).expect("a state that is not final has a legal action"),
            good: rows.best(row, &self.good).expect("an oracle always has an optimal action"),
        }
    }

    /// The next action, which the oracle is told.
    pub(super) fn next<S: TransitionSystem>(
        &self,
        system: &S,
        oracle: &mut dyn Oracle<S>,
        (forest, state): (&Forest, &S::State),
        best: Best,
        rng: &mut Rng,
    ) -> ActionId {
        let follows = !self.good.contains(best.predicted)
            && self.explore > 0.0
            && rng.unit() < self.explore
            && self.allowed.contains(best.predicted)
            && oracle.may_follow(system, forest, state, best.predicted);
        let action = if follows { best.predicted } else { best.good };
        oracle.advance(system, forest, state, action);
        action
    }
}

struct Trainer<'a, S> {
    system: &'a S,
    greedy: Greedy,
    guide: Guide,
    rng: &'a mut Rng,
    gradient: Vec<(ActionId, f32)>,
    mistakes: Mistakes,
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
        let Trainer { system, greedy, guide, rng, gradient, mistakes } = self;
        let choose = |step: Step<'_, S, dyn Learner + '_>| {
            let Step { scorer: learner, slot, forest, state, view, rows, legal } = step;
            let best = guide.ask(*system, oracle, (forest, state), (rows, 0), legal);
            mistakes.of += 1;
            if legal.len() > 1 {
                let loss = PerceptronLoss.gradient(rows.row(0), legal, &guide.good, gradient);
                mistakes.n_wrong += u64::from(loss > 0.0);
                if loss > 0.0 {
                    learner.backward(slot, forest, &view, gradient);
                }
                if learner.learns_by_state() {
                    learner.step();
                }
            }
            guide.next(*system, oracle, (forest, state), best, rng)
        };
        greedy.walk_at_most(max_steps(sentence.len()), *system, learner, (slot, sentence), choose);
    }
}
