use super::*;
use crate::forest::Forest;
use crate::laws;
use crate::oracle::Oracle;
use crate::rng::Rng;
use crate::system::{ActionSet, TransitionSystem};
use crate::systems::arc_hybrid::{DynamicOracle, Rules};
use crate::systems::dependency::tests::{Arcs, check_derivation, on_a_random_walk, tree};

laws::suite!(Arcs<Rules<true>>, exact);

#[test]
fn dependents_on_the_stack_are_counted_whatever_happens() {
    let mut rng = Rng::new(4);
    for round in 0..300 {
        let system = ArcHybridSwap::with_labels([], round % 2 == 0);
        let gold = Arcs::<Rules<true>>::random_tree(&mut rng, 1 + round % 12, round % 2 == 0);
        let oracle: DynamicOracle = Oracle::for_gold(&system, &gold).unwrap();
        on_a_random_walk(&system, oracle, gold.len(), &mut rng, |oracle, _, _| {
            oracle.reachable.check_counts();
        });
    }
}

#[test]
fn a_known_derivation() {
    // 3 -> 1 and 4 -> 2 cross; 3 is the root and 4 hangs from it.
    check_derivation::<Rules<true>>(
        &[3, 4, 5, 3],
        &["a", "b", "a", "b"],
        "SHIFT SHIFT SWAP LEFT-a SHIFT SHIFT LEFT-b SHIFT RIGHT-b LEFT-a",
    );
}

#[test]
fn a_due_swap_stands_alone_and_no_other_may_be_followed() {
    let system = ArcHybridSwap::with_labels([], true);
    let gold = tree(&[3, 4, 5, 3]);
    let oracle: DynamicOracle = Oracle::for_gold(&system, &gold).unwrap();
    let mut forest = Forest::new();
    let mut legal = ActionSet::default();
    let mut state = system.start(&mut forest, &laws::sentence(4));
    for (action, expected) in [
        ("SHIFT", vec!["SHIFT"]),
        ("SHIFT", vec!["SHIFT", "LEFT"]),
        ("SWAP", vec!["SWAP"]),
        ("LEFT", vec!["SHIFT", "LEFT"]),
    ] {
        system.legal(&forest, &state, &mut legal);
        for action in legal.iter() {
            let allowed = expected.contains(&system.name(action).as_str());
            assert_eq!(oracle.may_follow(&system, &forest, &state, action), allowed);
        }
        oracle.restrict(&system, &forest, &state, &mut legal);
        assert_eq!(legal.iter().map(|action| system.name(action)).collect::<Vec<_>>(), expected);
        state = system.apply(&mut forest, &state, system.action(action).unwrap());
    }
}
