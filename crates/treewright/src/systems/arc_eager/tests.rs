use super::*;
use crate::laws;
use crate::rng::Rng;
use crate::systems::dependency::tests::{Arcs, check_derivation, on_a_random_walk};

laws::suite!(Arcs<Rules>, exact);

#[test]
fn a_known_derivation() {
    // Economic <- news -> little: 1 <- 2 <- r, 2 -> 3.
    check_derivation::<Rules>(&[2, 4, 2], &["a", "b", "a"], "SHIFT LEFT-a SHIFT RIGHT-a REDUCE LEFT-b");
}

/// The walk from the last word up its gold heads, literally.
fn ancestor_by_walking(oracle: &DynamicOracle, b0: usize) -> Option<usize> {
    let gold = &oracle.reachable.gold;
    let mut at = gold.n() - 1;
    while at >= b0 {
        if !oracle.reachable.has_head(at) || gold.head(at) == gold.n() {
            return None;
        }
        at = gold.head(at);
    }
    Some(at)
}

#[test]
fn the_last_words_ancestor_is_where_walking_up_the_heads_ends() {
    let mut rng = Rng::new(3);
    for round in 0..300 {
        let single_root = round % 2 == 0;
        let system = ArcEager::with_labels([], single_root);
        let gold = Arcs::<Rules>::random_tree(&mut rng, 1 + round % 12, single_root);
        let oracle: DynamicOracle = Oracle::for_gold(&system, &gold).unwrap();
        on_a_random_walk(&system, oracle, gold.len(), &mut rng, |oracle, forest, state| {
            let b0 = word(forest, state.b0(forest));
            for place in b0..=(b0 + 1).min(gold.len()) {
                let expected = ancestor_by_walking(oracle, place);
                assert_eq!(oracle.last_words_ancestor(place), expected, "{gold:?}, {place}");
            }
            oracle.reachable.check_counts();
        });
    }
}
