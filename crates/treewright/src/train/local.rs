//! Local training: each state by itself, with an oracle, and with exploration of the model's own mistakes.

use super::{Example, Log};
use crate::config::TrainConfig;
use crate::decode::Greedy;
use crate::error::{Code, Error, Result};
use crate::oracle::Oracle;
use crate::registry::AnyOracle;
use crate::registry::Registered;
use crate::rng::Rng;
use crate::score::Learner;
use crate::system::ActionSet;

/// One pass over the data; gives the number of steps in which the model was wrong, and of all.
#[allow(clippy::too_many_arguments)] // The trainer's own loop is its only caller.
pub(super) fn epoch<S: Registered>(
    config: &TrainConfig,
    epoch: usize,
    system: &S,
    examples: &[Example<S>],
    order: &[usize],
    learner: &mut impl Learner,
    rng: &mut Rng,
    log: &mut dyn Log,
) -> Result<(u64, u64)> {
    let mut greedy = Greedy::new();
    let mut sets = [ActionSet::new(system.n_actions()), ActionSet::new(system.n_actions())];
    let explore = if epoch > config.explore_after { config.explore } else { 0.0 };
    let mut counts = (0, 0);
    for (done, &i) in order.iter().enumerate() {
        let example = &examples[i];
        let unfit = |why: crate::tree::Underivable| Error::new(Code::Underivable, 0, 0, why.to_string());
        let oracle = AnyOracle::new(config.oracle, system, &example.gold).map_err(unfit)?;
        learn(&mut greedy, system, example, oracle, learner, rng, explore, &mut sets, &mut counts);
        log.sentence(epoch, done + 1, order.len());
    }
    Ok(counts)
}

/// Learns from one sentence.
#[allow(clippy::too_many_arguments)] // The epoch's loop is its only caller.
fn learn<S: Registered, L: Learner>(
    greedy: &mut Greedy,
    system: &S,
    example: &Example<S>,
    mut oracle: AnyOracle<S>,
    learner: &mut L,
    rng: &mut Rng,
    explore: f64,
    [good, allowed]: &mut [ActionSet; 2],
    counts: &mut (u64, u64),
) {
    greedy.walk(system, learner, &example.sentence, |learner, forest, state, view, rows, legal| {
        // The parser will choose among all legal actions, so that is what it learns to do; only what is right, and
        // where training goes, is up to the oracle.
        allowed.clone_from(legal);
        oracle.restrict(system, forest, state, allowed);
        oracle.optimal(system, forest, state, allowed, good);
        let predicted = rows.best(0, legal).expect("a state that is not final has a legal action");
        let best_good = rows.best(0, good).expect("an oracle always has an optimal action");
        counts.1 += 1;
        if legal.len() > 1 {
            let loss = learner.learn_step(forest, view, rows.row(0), legal, good);
            counts.0 += u64::from(loss > 0.0);
            learner.end_batch();
        }
        let wrong = !good.contains(predicted);
        let follow = wrong
            && explore > 0.0
            && rng.unit() < explore
            && allowed.contains(predicted)
            && oracle.may_follow(system, forest, state, predicted);
        let action = if follow { predicted } else { best_good };
        oracle.advance(system, forest, state, action);
        action
    });
}
