//! Global training: the derivation that a decoder prefers against the gold one (structured perceptron).

use super::{Epoch, Example, Task};
use crate::decode::{Input, Reference, Violation};
use crate::forest::Forest;
use crate::ids::ActionId;
use crate::registry::Registered;
use crate::score::Learner;
use crate::system::TransitionSystem;

/// One pass over the data with any decoder; gives the number of sentences that led to an update, and of all.
pub(super) fn epoch<S: Registered>(
    task: &mut Task<S>,
    learner: &mut dyn Learner,
    epoch: Epoch<'_>,
) -> (u64, u64) {
    let Epoch { config, number, examples, order, log, .. } = epoch;
    let Task { system, decoder, .. } = task;
    let mut forest = Forest::new();
    let mut errors = 0;
    for (done, &i) in order.iter().enumerate() {
        let Example { sentence, actions, .. } = &examples[i];
        let reference = Reference { actions, update: config.update };
        if let Some(violation) = decoder.violation(Input { system, scorer: learner, sentence }, reference) {
            learn(&**system, &examples[i], &violation, &mut forest, learner);
            errors += 1;
        }
        if (done + 1) % config.batch == 0 || done + 1 == order.len() {
            learner.step();
        }
        log.sentence(number, done + 1, order.len());
    }
    (errors, order.len() as u64)
}

/// Gold up, the wrong derivation down, from where they part.
fn learn<S: TransitionSystem>(
    system: &S,
    example: &Example,
    Violation { predicted, reference }: &Violation,
    forest: &mut Forest,
    learner: &mut dyn Learner,
) {
    let slot = learner.open_one(&example.sentence);
    let mut state = system.start(forest, &example.sentence);
    // What both share cancels out.
    let shared = predicted.iter().zip(reference).take_while(|(one, other)| one == other).count();
    for &action in &reference[..shared] {
        state = system.apply(forest, &state, action);
    }
    let mut follow = |actions: &[ActionId], gradient: f32| {
        let mut state = state;
        for &action in actions {
            learner.backward(slot, forest, &system.view(&state), &[(action, gradient)]);
            state = system.apply(forest, &state, action);
        }
    };
    follow(&reference[shared..], -1.0);
    follow(&predicted[shared..], 1.0);
    learner.close(slot);
}
