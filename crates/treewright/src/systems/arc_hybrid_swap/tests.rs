use super::*;
use crate::laws;
use crate::rng::Rng;
use crate::systems::dependency::tests::{Search, all_trees, check_tree, labelled, loss, random_tree, tree};

fn unlabelled(single_root: bool) -> ArcHybridSwap {
    ArcHybridSwap::with_labels([], single_root)
}

fn ab(single_root: bool) -> ArcHybridSwap {
    ArcHybridSwap::with_labels(["a".into(), "b".into()], single_root)
}

fn trees(n: usize, single_root: bool) -> impl Iterator<Item = DependencyTree> {
    all_trees(n, single_root).into_iter()
}

#[test]
fn derivations_rebuild_every_tree() {
    for single_root in [true, false] {
        for n in 1..7 {
            trees(n, single_root)
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
            });
        }
        for n in 1..5 {
            laws::every_walk(&unlabelled(single_root), n, |_, _, _| true);
        }
    }
}

#[test]
fn nothing_to_parse_is_parsed() {
    laws::derivation_rebuilds(&unlabelled(true), &DependencyTree::default(), 0);
}

#[test]
fn the_longest_walk_is_as_long_as_the_bound() {
    for n in 1..5 {
        let (system, mut longest) = (unlabelled(true), 0);
        laws::every_walk(&system, n, |_, _, walk| {
            longest = longest.max(walk.len());
            true
        });
        assert_eq!(longest, system.max_steps(n));
    }
}

#[test]
fn a_known_derivation() {
    // 3 -> 1 and 4 -> 2 cross; 3 is the root and 4 hangs from it.
    let system = ab(true);
    let gold = labelled(tree(&[3, 4, 5, 3]), |i| ["a", "b", "a", "b"][i]);
    let actions = system.derive(&gold).unwrap();
    assert_eq!(
        laws::names(&system, &actions),
        "SHIFT SHIFT SWAP LEFT-a SHIFT SHIFT LEFT-b SHIFT RIGHT-b LEFT-a"
    );
}

#[test]
fn a_due_swap_stands_alone_and_no_other_may_be_followed() {
    let system = unlabelled(true);
    let gold = tree(&[3, 4, 5, 3]);
    let oracle = StaticDynamicOracle::for_gold(&system, &gold).unwrap();
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

#[test]
fn the_oracle_is_exact() {
    for single_root in [true, false] {
        for n in 1..5 {
            for gold in trees(n, single_root) {
                let system = unlabelled(single_root);
                let oracle = StaticDynamicOracle::for_gold(&system, &gold).unwrap();
                laws::oracle_is_exact(&system, &oracle, n, &loss(&gold), &|_, _| vec![], |_, _| true);
            }
        }
        for gold in trees(5, single_root).chain(trees(6, single_root).step_by(97)) {
            let system = unlabelled(single_root);
            let oracle = StaticDynamicOracle::for_gold(&system, &gold).unwrap();
            Search::new(&system, &system.relations, &gold, &oracle).check_all();
        }
    }
}

#[test]
fn the_labelled_oracle_is_exact() {
    for single_root in [true, false] {
        for n in 1..5 {
            for (i, gold) in trees(n, single_root).enumerate() {
                let gold = labelled(gold, |word| ["a", "b"][(i + word) % 2]);
                let system = ab(single_root);
                let oracle = StaticDynamicOracle::for_gold(&system, &gold).unwrap();
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
            let gold = random_tree(&mut rng, n, single_root);
            let system = unlabelled(single_root);
            let oracle = StaticDynamicOracle::for_gold(&system, &gold).unwrap();
            Search::new(&system, &system.relations, &gold, &oracle).check_walks(&mut rng, 3);
        }
    }
}

#[test]
fn optimal_walks_rebuild_every_tree() {
    for single_root in [true, false] {
        for n in 1..7 {
            for (seed, gold) in trees(n, single_root).enumerate() {
                let system = unlabelled(single_root);
                let oracle = StaticDynamicOracle::for_gold(&system, &gold).unwrap();
                laws::optimal_walk_gives_gold(&system, &oracle, &gold, n, seed as u64);
            }
        }
    }
}
