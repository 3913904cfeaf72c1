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
    use crate::laws;
    use crate::rng::Rng;
    use crate::system::{SystemOptions, TransitionSystem};
    use crate::systems::binary::samples::{SMALL, Shape, every_tree, random_tree};
    use crate::systems::sr_swap::{Action, SrSwap};
    use crate::tree::BinaryTree;

    #[test]
    fn every_small_tree_is_derived_with_one_action_for_each_run_of_swaps() {
        let system = SrCswap::with_labels(["A"], ["X:"], ["ROOT"], 3);
        let single = SrSwap::with_labels(["A"], ["X:"], ["ROOT"], 1);
        for n in 1..=4 {
            for tree in every_tree(n, SMALL) {
                laws::derivation_rebuilds(&system, &tree, n);
                let expanded: Vec<String> = system
                    .derive(&tree)
                    .unwrap()
                    .into_iter()
                    .flat_map(|action| match system.action_of(action) {
                        Action::Swap(run) => vec!["SWAP".to_owned(); run as usize],
                        _ => vec![system.name(action)],
                    })
                    .collect();
                assert_eq!(expanded.join(" "), laws::names(&single, &single.derive(&tree).unwrap()));
            }
        }
    }

    #[test]
    fn random_walks_and_trees_obey_the_laws() {
        let shape = Shape { inner: &["A", "B", "ROOT"], ..SMALL };
        let mut rng = Rng::new(3);
        let trees: Vec<BinaryTree> = (1..=60).map(|i| random_tree(&mut rng, i % 12 + 1, shape)).collect();
        let system = SrCswap::from_trees(trees.iter(), &SystemOptions::default());
        trees.iter().for_each(|tree| laws::derivation_rebuilds(&system, tree, tree.n_tokens()));
        let small = SrCswap::with_labels(["A", "B", "ROOT"], ["X:"], ["ROOT"], 1);
        for n in 1..=10 {
            laws::random_walks(&system, n, 60, n as u64, false, |tree| assert_eq!(tree.n_tokens(), n));
            laws::random_walks(&small, n, 60, n as u64, false, |tree| assert_eq!(tree.n_tokens(), n));
        }
        let tiny = SrCswap::with_labels(["A"], ["X:"], ["ROOT"], 2);
        for n in 1..=3 {
            laws::every_walk(&tiny, n, |_, _, walk| {
                assert!(walk.len() <= tiny.max_steps(n));
                true
            });
        }
        let why = trees.iter().find_map(|tree| small.derive(tree).err()).unwrap();
        assert!(why.0.contains("swaps in a row"), "{why}");
        // Continuous trees have no swaps at all.
        let plain = every_tree(3, Shape { discontinuous: false, ..SMALL });
        let none = SrCswap::from_trees(plain.iter(), &SystemOptions::default());
        assert!((0..none.n_actions()).all(|i| !none.name(ActionId::new(i)).starts_with("SWAP")));
        plain.iter().for_each(|tree| laws::derivation_rebuilds(&none, tree, 3));
    }
}
