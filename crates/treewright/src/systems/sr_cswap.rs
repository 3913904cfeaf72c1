//! SR-CSWAP: SR-SWAP with every run of swaps as one action, SWAP-i (Maier 2015; compared in section 3.5 of Coavoux
//! and Crabbé 2017). See [`crate::systems::sr_swap`] for actions, conditions and the derivation of a tree.
//!
//! i is at most the longest run of swaps in the treebank, so the system is not complete.

use crate::systems::sr_swap::Swap;

/// SR-SWAP with compound swaps.
pub type SrCswap = Swap<true>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ActionId;
    use crate::laws::{self, Walks};
    use crate::system::TransitionSystem;
    use crate::systems::binary::Symbols;
    use crate::systems::binary::samples::{
        SMALL, Shape, every_tree, every_tree_up_to, golds, random_trees, small_symbols, with_own_system,
    };
    use crate::systems::sr_swap::{Action, Run, SrSwap};
    use crate::tree::BinaryTree;

    fn small(max_run: u32) -> SrCswap {
        SrCswap::new(small_symbols(), max_run)
    }

    /// A system that allows one swap in a row.
    fn short() -> SrCswap {
        SrCswap::new(Symbols::new(["A", "B", "ROOT"], ["X:"], ["ROOT"]), 1)
    }

    struct Examples;

    impl laws::Fixture for Examples {
        type System = SrCswap;

        fn golds() -> Vec<(SrCswap, Vec<BinaryTree>)> {
            golds(small(3))
        }

        fn random_walks() -> Vec<Walks<SrCswap>> {
            vec![
                Walks::random(with_own_system(random_trees()).0, 1..=10, 60, false),
                Walks::random(short(), 1..=10, 60, false),
            ]
        }

        fn every_walk() -> Vec<Walks<SrCswap>> {
            vec![Walks { is_tight: false, ..Walks::every(small(2), 1..=3, false) }]
        }
    }

    laws::suite!(Examples);

    #[test]
    fn every_run_of_swaps_is_one_action() {
        let (system, single) = (small(3), SrSwap::new(small_symbols(), 1));
        for tree in every_tree_up_to(4, SMALL) {
            let expanded: Vec<String> = system
                .derive(&tree)
                .unwrap()
                .into_iter()
                .flat_map(|action| match system.actions().get(action) {
                    Action::Swap(Run(run)) => vec!["SWAP".to_owned(); run as usize],
                    _ => vec![system.name(action)],
                })
                .collect();
            assert_eq!(expanded.join(" "), laws::names(&single, &single.derive(&tree).unwrap()));
        }
    }

    #[test]
    fn the_longest_run_of_swaps_comes_from_the_treebank() {
        let why = random_trees().iter().find_map(|tree| short().derive(tree).err()).unwrap();
        assert!(why.0.contains("swaps in a row"), "{why}");
        // Continuous trees have no swaps at all.
        let plain = every_tree(3, Shape { discontinuous: false, ..SMALL });
        let (none, plain) = with_own_system::<SrCswap>(plain);
        assert!((0..none.n_actions()).all(|i| !none.name(ActionId::new(i)).starts_with("SWAP")));
        plain.iter().for_each(|tree| laws::derivation_rebuilds(&none, tree, 3));
    }
}
