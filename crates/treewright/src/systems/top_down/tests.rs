//! Laws and exactness of the top-down system and its oracles.

use super::*;
use crate::laws;
use crate::rng::Rng;
use crate::systems::trees;

fn system(max_openings: u32) -> TopDown {
    TopDown::with_labels(trees::LABELS.into_iter().collect(), Some(max_openings))
}

#[test]
fn every_small_tree_is_derived_and_rebuilt() {
    for (n, max_unary, count) in [(1, 3, 14), (2, 2, 686), (3, 1, 2106)] {
        let all = trees::all(n, max_unary);
        assert_eq!(all.len(), count);
        let system = TopDown::from_trees(all.iter(), &SystemOptions::default());
        all.iter().for_each(|tree| laws::derivation_rebuilds(&system, tree, n));
    }
}

#[test]
fn random_trees_are_derived_and_rebuilt_within_their_own_limits() {
    let mut rng = Rng::new(1);
    for n in 1..40 {
        let tree = trees::random(&mut rng, n, 3);
        let system = TopDown::from_trees([&tree].into_iter(), &SystemOptions::default());
        laws::derivation_rebuilds(&system, &tree, n);
    }
}

#[test]
fn random_walks_end_and_are_the_one_derivation_of_their_tree() {
    for n in 1..8 {
        laws::random_walks(&system(2), n, 200, n as u64, true, |tree| assert_eq!(tree.n_tokens(), n));
    }
}

#[test]
fn trees_outside_the_tables_are_refused_with_a_reason() {
    #[track_caller]
    fn check(system: &TopDown, tree: &ConstituentTree, expected: &str) {
        assert_eq!(system.derive(tree).unwrap_err().0, expected);
    }
    check(&system(2), &trees::tree("(A (C w0) w1)"), "the label C is not among the system's labels");
    check(&system(2), &trees::tree("(A (B (A w0)) w1)"), "3 constituents start at one word; the limit is 2");
    let mut gap = trees::tree("(A (B w0) w1 w2)").to_builder();
    gap.move_to(Child::Token(TokenIdx::new(2)), crate::ids::NodeId::new(0));
    check(&system(2), &gap.finish().unwrap(), "B (from word 1 to word 3) is discontinuous");
}

#[test]
fn a_deep_tree_needs_no_deep_call_stack() {
    let mut builder = crate::tree::TreeBuilder::with_tokens(1);
    let mut above = builder.node("A");
    for _ in 0..100_000 {
        let node = builder.node("A");
        builder.attach(Child::Node(node), above);
        above = node;
    }
    builder.attach(Child::Token(TokenIdx::new(0)), above);
    let tree = builder.finish().unwrap();
    let system = TopDown::from_trees([&tree].into_iter(), &SystemOptions::default());
    laws::derivation_rebuilds(&system, &tree, 1);
}

fn flags(state: &State) -> [u32; 3] {
    [state.n_open, state.n_fresh, 0]
}

/// Is the limit on openings in a row far enough away, even after one more step?
fn is_free(state: &State, gold: &ConstituentTree, max_openings: u32) -> bool {
    state.n_fresh + 1 + longest_run(gold) <= max_openings
}

/// Checks every configuration in which the limit cannot bind.
#[track_caller]
fn check_exact(gold: &ConstituentTree, max_openings: u32) -> usize {
    let system = system(max_openings);
    let oracle = DynamicOracle::for_gold(&system, gold).unwrap();
    let mut spans: Vec<_> = gold.nodes().map(|(_, node)| node.span()).collect();
    spans.dedup();
    // The loss does not see in which order constituents over one span stand.
    if spans.len() == gold.n_nodes() {
        laws::optimal_walk_gives_gold(&system, &oracle, gold, gold.n_tokens(), 1);
    }
    let visit = |state: &State| is_free(state, gold, max_openings);
    trees::oracle_is_exact::<_, DynamicOracle>(&system, system.labels(), gold, &flags, visit)
}

#[test]
fn the_oracle_is_exact_on_small_trees() {
    let mut rng = Rng::new(5);
    let mut checked = 0;
    for gold in trees::all(1, 2).iter().chain(&trees::all(2, 1)) {
        checked += check_exact(gold, longest_run(gold) + 2);
    }
    println!("{checked} configurations");
    for _ in 0..10 {
        let gold = trees::random(&mut rng, 3, 1);
        checked += check_exact(&gold, longest_run(&gold) + 1);
    }
    println!("{checked} configurations");
}
