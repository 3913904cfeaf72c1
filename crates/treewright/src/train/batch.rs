//! Local training of learners that want minibatches: the sentences of a minibatch go from state to state in lockstep, so that
//! all their states are scored at once, and threads share its parts.

use super::local::{Guide, exploration, max_steps, unfit};
use super::loss::{BestLoss, HingeAllLoss, HingeLoss, LogLoss, Loss};
use super::{Epoch, Example, Mistakes, Task};
use crate::config::LossKind;
use crate::decode::Lane;
use crate::error::Result;
use crate::forest::Forest;
use crate::oracle::Oracle;
use crate::parallel;
use crate::registry::{OracleKind, Registered};
use crate::rng::Rng;
use crate::score::{BatchLearner, LearnerPart, Rows, SlotId, Views};
use crate::sentence::Sentence;

/// Minibatches whose sentences are put in order of length together: enough for sentences of nearly the same length, few
/// enough for minibatches that differ from epoch to epoch.
const POOL: usize = 4;

impl<S: Registered> Task<S> {
    /// One pass over the data.
    pub(super) fn learn_in_batches(
        &self,
        learner: &mut dyn BatchLearner,
        epoch: Epoch<'_>,
    ) -> Result<Mistakes> {
        let Epoch { config, number, examples, order, rng, log } = epoch;
        let batches = minibatches(examples, order, learner.batch_words(), rng);
        let trainer = Trainer {
            system: &*self.system,
            gold: &self.gold,
            oracle: config.oracle(),
            explore: exploration(config, number),
            loss: match learner.loss() {
                LossKind::Log => &LogLoss,
                LossKind::Best => &BestLoss,
                LossKind::Hinge => &HingeLoss,
                LossKind::HingeAll => &HingeAllLoss,
            },
            seed: rng.next_u64(),
        };
        let (mut mistakes, mut n_done) = (Mistakes::default(), 0);
        let progress = |n_done: usize| {
            let share = n_done as f64 / order.len() as f64;
            ((number - 1) as f64 + share) / config.epochs as f64
        };
        for batch in batches {
            let parts = learner.parts(progress(n_done));
            let n_parts = parts.len();
            // Dealt out in turn, so that all parts have about as many words.
            let share = |part: usize| -> Vec<(usize, &Example)> {
                batch.iter().skip(part).step_by(n_parts).map(|&i| (i, &examples[i])).collect()
            };
            let work = parts.into_iter().enumerate().map(|(i, part)| (part, share(i)));
            let work: Vec<_> = work.filter(|(_, share)| !share.is_empty()).collect();
            let worker =
                || |(mut part, share): (Box<dyn LearnerPart + '_>, Vec<_>)| trainer.learn(&mut *part, &share);
            parallel::map(config.jobs, work, worker, |found: Result<Mistakes>| {
                let Mistakes { n_wrong, of } = found?;
                mistakes.n_wrong += n_wrong;
                mistakes.of += of;
                Ok(())
            })?;
            n_done += batch.len();
            learner.step(progress(n_done))?;
            log.sentence(number, n_done, order.len());
        }
        Ok(mistakes)
    }
}

/// Cuts the examples into minibatches of about `n_words` words, of sentences of about the same length, in random order.
fn minibatches(examples: &[Example], order: &[usize], n_words: usize, rng: &mut Rng) -> Vec<Vec<usize>> {
    let length = |i: &usize| examples[*i].sentence.len();
    let mut batches: Vec<Vec<usize>> = Vec::new();
    for mut pool in cut(order, POOL * n_words, length) {
        pool.sort_by_key(|i| std::cmp::Reverse(length(i)));
        batches.extend(cut(&pool, n_words, length));
    }
    rng.shuffle(&mut batches);
    batches
}

/// Cuts a list before each item that would make a piece too long.
fn cut(items: &[usize], limit: usize, length: impl Fn(&usize) -> usize) -> Vec<Vec<usize>> {
    let mut pieces: Vec<Vec<usize>> = Vec::new();
    let mut total = 0;
    for item in items {
        total += length(item);
        if pieces.is_empty() || total > limit {
            pieces.push(Vec::new());
            total = length(item);
        }
        pieces.last_mut().expect("there is a piece").push(*item);
    }
    pieces
}

/// What threads share.
struct Trainer<'a, S: Registered> {
    system: &'a S,
    gold: &'a [S::Tree],
    oracle: OracleKind,
    explore: f64,
    loss: &'a (dyn Loss + Sync),
    seed: u64,
}

/// A sentence on its way.
struct Walk<S: Registered> {
    lane: Lane<S>,
    oracle: Box<dyn Oracle<S>>,
    rng: Rng,
    /// The number of steps that are still to be learnt from.
    steps_left: usize,
}

impl<S: Registered> Trainer<'_, S> {
    /// Learns from a part of a minibatch; examples come with their numbers.
    fn learn(&self, part: &mut dyn LearnerPart, examples: &[(usize, &Example)]) -> Result<Mistakes> {
        let sentences: Vec<&Sentence> = examples.iter().map(|(_, example)| &example.sentence).collect();
        let mut slots = Vec::with_capacity(sentences.len());
        part.open(&sentences, &mut slots);
        let mut walks = Vec::with_capacity(sentences.len());
        for ((number, example), &slot) in examples.iter().zip(&slots) {
            walks.push(self.start(*number, example, slot)?);
        }
        let (mut rows, mut gradients) = (Rows::default(), Rows::default());
        let (mut guide, mut mistakes, mut gradient) =
            (Guide::new(self.explore), Mistakes::default(), Vec::new());
        loop {
            walks.retain_mut(|Walk { lane, oracle, steps_left, .. }| {
                *steps_left > 0
                    && lane.has_choice(self.system, |forest, state, action| {
                        oracle.advance(self.system, forest, state, action);
                    })
            });
            if walks.is_empty() {
                break;
            }
            let queries: Vec<Views<'_>> = walks.iter().map(|walk| walk.lane.views()).collect();
            part.score(&queries, &mut rows);
            gradients.reset(walks.len(), self.system.n_actions());
            for (row, walk) in walks.iter_mut().enumerate() {
                let Walk { lane, oracle, rng, steps_left } = walk;
                *steps_left -= 1;
                let Lane { forest, state, legal, .. } = lane;
                let best = guide.ask(self.system, &mut **oracle, (forest, state), (&rows, row), legal);
                mistakes.of += 1;
                mistakes.n_wrong += u64::from(!guide.good.contains(best.predicted));
                self.loss.gradient(rows.row(row), legal, &guide.good, &mut gradient);
                let out = gradients.row_mut(row);
                gradient.iter().for_each(|&(action, by)| out[action.index()] = by);
                let action = guide.next(self.system, &mut **oracle, (forest, state), best, rng);
                lane.take(self.system, action);
            }
            part.backward(&gradients);
        }
        slots.into_iter().for_each(|slot| part.close(slot));
        part.finish();
        Ok(mistakes)
    }

    fn start(&self, number: usize, example: &Example, slot: SlotId) -> Result<Walk<S>> {
        let oracle =
            self.oracle.for_gold(self.system, &self.gold[example.gold]).map_err(|why| unfit(&why))?;
        Ok(Walk {
            lane: Lane::new(self.system, &example.sentence, slot, Forest::new()),
            oracle,
            // Each sentence has a generator of its own, so that the parts do not depend on each other.
            rng: Rng::new(self.seed ^ (number as u64).wrapping_mul(0xA24B_AED4_963E_E407)),
            steps_left: max_steps(example.sentence.len()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(length: usize) -> Example {
        let sentence = Sentence::from_tagged((0..length).map(|_| ("w", "T")));
        Example { sentence, number: 0, gold: 0, actions: Vec::new() }
    }

    #[test]
    fn minibatches_have_all_sentences_once_and_not_too_many_words() {
        let examples: Vec<Example> =
            (0..500).map(|i| example(1 + i * 7919 % 40)).chain([example(300)]).collect();
        let order: Vec<usize> = (0..examples.len()).collect();
        let batches = minibatches(&examples, &order, 100, &mut Rng::new(1));
        let words = |batch: &Vec<usize>| batch.iter().map(|&i| examples[i].sentence.len()).sum::<usize>();
        assert!(batches.iter().all(|batch| words(batch) <= 100 || batch.len() == 1));
        assert!(batches.len() < 140, "{} batches", batches.len());
        let mut all: Vec<usize> = batches.concat();
        all.sort_unstable();
        assert_eq!(all, order);
    }
}
