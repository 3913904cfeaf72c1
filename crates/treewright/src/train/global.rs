//! Global training: the derivation that a decoder prefers against the gold one (structured perceptron).

use super::{Epoch, Example, Mistakes, Task};
use crate::decode::{Input, Reference, Violation};
use crate::forest::Forest;
use crate::ids::ActionId;
use crate::registry::Registered;
use crate::score::Learner;
use crate::system::TransitionSystem;

impl<S: Registered> Task<S> {
    /// One pass over the data with any decoder; what led to an update is a mistake.
    pub(super) fn learn_globally(&mut self, learner: &mut dyn Learner, epoch: Epoch<'_>) -> Mistakes {
        let Epoch { config, number, examples, order, log, .. } = epoch;
        let Task { system, decoder, .. } = self;
        let mut forest = Forest::new();
        let mut mistakes = Mistakes { n_wrong: 0, of: order.len() as u64 };
        for (done, &i) in order.iter().enumerate() {
            let Example { sentence, actions, .. } = &examples[i];
            let reference = Reference { actions, update: config.update };
            if let Some(violation) = decoder.violation(Input { system, scorer: learner, sentence }, reference)
            {
                learn(&**system, &examples[i], &violation, &mut forest, learner);
                mistakes.n_wrong += 1;
            }
            if (done + 1) % config.batch == 0 || done + 1 == order.len() {
                learner.step();
            }
            log.sentence(number, done + 1, order.len());
        }
        mistakes
    }
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
