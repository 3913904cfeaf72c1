use super::*;
use crate::laws;
use crate::system::TransitionSystem;
use crate::systems::dependency::tests::{Arcs, all_trees, tree};

laws::suite!(Arcs<Rules>);

#[test]
fn a_known_derivation() {
    #[track_caller]
    fn check(heads: &[usize], lazy: &str, eager: &str) {
        let (system, gold) = (ArcStandardSwap::with_labels([], true), tree(heads));
        assert_eq!(laws::names(&system, &system.derive(&gold).unwrap()), lazy);
        assert_eq!(laws::names(&system, &system.derive_eager(&gold).unwrap()), eager);
    }
    check(&[2, 4, 2], "SHIFT SHIFT LEFT SHIFT RIGHT SHIFT LEFT", "SHIFT SHIFT LEFT SHIFT RIGHT SHIFT LEFT");
    // A hearing is scheduled on the issue today (Nivre 2009, Figure 1): 2 -> 5 and 4 -> 8 cross.
    let hearing = [2, 3, 9, 3, 2, 7, 5, 4];
    check(
        &hearing,
        "SHIFT SHIFT LEFT SHIFT SHIFT SHIFT SHIFT SHIFT LEFT RIGHT SWAP SWAP RIGHT SHIFT LEFT SHIFT SHIFT RIGHT \
         RIGHT SHIFT LEFT",
        "SHIFT SHIFT LEFT SHIFT SHIFT SHIFT SWAP SWAP SHIFT SHIFT SHIFT SWAP SWAP SHIFT SHIFT SHIFT SWAP SWAP \
         LEFT RIGHT RIGHT SHIFT LEFT SHIFT SHIFT RIGHT RIGHT SHIFT LEFT",
    );
}

#[test]
fn the_lazy_derivation_never_swaps_more() {
    let system = ArcStandardSwap::with_labels([], false);
    let n_swaps = |actions: &[ActionId]| actions.iter().filter(|&&action| action == SWAP).count();
    let mut fewer = 0;
    for n in 1..7 {
        for gold in all_trees(n, false) {
            let lazy = n_swaps(&system.derive(&gold).unwrap());
            let eager = n_swaps(&system.derive_eager(&gold).unwrap());
            assert!(lazy <= eager, "{gold:?}");
            assert_eq!(lazy == 0, gold.is_projective(), "{gold:?}");
            fewer += usize::from(lazy < eager);
        }
    }
    assert!(fewer > 0, "the lazy derivation is good for something");
}
