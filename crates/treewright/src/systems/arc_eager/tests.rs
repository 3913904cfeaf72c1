use super::*;
use crate::laws;
use crate::rng::Rng;
use crate::systems::dependency::tests::{
    Search, all_trees, check_tree, labelled, loss, random_projective_tree, tree,
};

fn unlabelled(single_root: bool) -> ArcEager {
    ArcEager::with_labels([], single_root)
}

fn ab(single_root: bool) -> ArcEager {
    ArcEager::with_labels(["a".into(), "b".into()], single_root)
}

fn projective_trees(n: usize, single_root: bool) -> impl Iterator<Item = DependencyTree> {
    all_trees(n, single_root).into_iter().filter(DependencyTree::is_projective)
}

#[test]
fn derivations_rebuild_every_projective_tree() {
    for single_root in [true, false] {
        for n in 1..7 {
            projective_trees(n, single_root)
                .for_each(|gold| laws::derivation_rebuilds(&unlabelled(single_root), &gold, n));
        }
    }
}

#[test]
fn walks_end_in_trees() {
    for single_root in [true, false] {
        for n in 1..9 {
            laws::random_walks(&ab(single_root), n, 200, 1, false, |tree| {
                check_tree(tree, n, single_root);
                assert!(tree.is_projective());
            });
        }
        for n in 1..6 {
            laws::every_walk(&unlabelled(single_root), n, |_, _, _| true);
        }
    }
}

#[test]
fn nothing_to_parse_is_parsed() {
    laws::derivation_rebuilds(&unlabelled(true), &DependencyTree::default(), 0);
}

#[test]
fn crossing_arcs_are_named() {
    let why = unlabelled(true).derive(&tree(&[3, 4, 5, 3])).unwrap_err();
    assert_eq!(why.0, "the arc from word 4 to word 2 is not projective");
}

#[test]
fn a_known_derivation() {
    // Economic <- news -> little: 1 <- 2 <- r, 2 -> 3.
    let system = ab(true);
    let gold = labelled(tree(&[2, 4, 2]), |i| ["a", "b", "a"][i]);
    let actions = system.derive(&gold).unwrap();
    assert_eq!(laws::names(&system, &actions), "SHIFT LEFT-a SHIFT RIGHT-a REDUCE LEFT-b");
}

#[test]
fn the_oracle_is_exact() {
    for single_root in [true, false] {
        for n in 1..5 {
            for gold in projective_trees(n, single_root) {
                let system = unlabelled(single_root);
                let oracle = DynamicOracle::for_gold(&system, &gold).unwrap();
                laws::oracle_is_exact(&system, &oracle, n, &loss(&gold), &|_, _| vec![], |_, _| true);
            }
        }
        for gold in projective_trees(5, single_root).chain(projective_trees(6, single_root).step_by(5)) {
            let system = unlabelled(single_root);
            let oracle = DynamicOracle::for_gold(&system, &gold).unwrap();
            Search::new(&system, &system.relations, &gold, &oracle).check_all();
        }
    }
}

#[test]
fn the_labelled_oracle_is_exact() {
    for single_root in [true, false] {
        for n in 1..5 {
            for (i, gold) in projective_trees(n, single_root).enumerate() {
                let gold = labelled(gold, |word| ["a", "b"][(i + word) % 2]);
                let system = ab(single_root);
                let oracle = DynamicOracle::for_gold(&system, &gold).unwrap();
                Search::new(&system, &system.relations, &gold, &oracle).check_all();
            }
        }
    }
}

#[test]
fn the_oracle_is_exact_on_longer_walks() {
    let mut rng = Rng::new(5);
    for single_root in [true, false] {
        for _ in 0..200 {
            let n = 5 + rng.below(4);
            let gold = random_projective_tree(&mut rng, n, single_root);
            let system = unlabelled(single_root);
            let oracle = DynamicOracle::for_gold(&system, &gold).unwrap();
            Search::new(&system, &system.relations, &gold, &oracle).check_walks(&mut rng, 5);
        }
    }
}

#[test]
fn optimal_walks_rebuild_every_projective_tree() {
    for single_root in [true, false] {
        for n in 1..7 {
            for (seed, gold) in projective_trees(n, single_root).enumerate() {
                let system = unlabelled(single_root);
                let oracle = DynamicOracle::for_gold(&system, &gold).unwrap();
                laws::optimal_walk_gives_gold(&system, &oracle, &gold, n, seed as u64);
            }
        }
    }
}
