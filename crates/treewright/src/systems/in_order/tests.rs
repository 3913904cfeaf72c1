//! Laws and exactness of the in-order system and its oracles.

use super::*;
use crate::laws;
use crate::rng::Rng;
use crate::systems::trees;

fn system(max_unary: u32) -> InOrder {
    InOrder::with_labels(trees::LABELS.into_iter().collect(), Some(max_unary))
}

#[test]
fn every_small_tree_is_derived_and_rebuilt() {
    for (n, max_unary, count) in [(1, 3, 14), (2, 2, 686), (3, 1, 2106)] {
        let all = trees::all(n, max_unary);
        assert_eq!(all.len(), count);
        let system = InOrder::from_trees(all.iter(), &SystemOptions::default());
        all.iter().for_each(|tree| laws::derivation_rebuilds(&system, tree, n));
    }
}

#[test]
fn random_trees_are_derived_and_rebuilt_within_their_own_limits() {
    let mut rng = Rng::new(1);
    for n in 1..40 {
        let tree = trees::random(&mut rng, n, 3);
        let system = InOrder::from_trees([&tree].into_iter(), &SystemOptions::default());
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
    fn check(system: &InOrder, tree: &ConstituentTree, expected: &str) {
        assert_eq!(system.derive(tree).unwrap_err().0, expected);
    }
    check(&system(2), &trees::tree("(A (C w0) w1)"), "the label C is not among the system's labels");
    check(&system(1), &trees::tree("(A (B (A w0)) w1)"), "a unary chain of 2 is longer than the limit, 1");
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
    let system = InOrder::from_trees([&tree].into_iter(), &SystemOptions::default());
    laws::derivation_rebuilds(&system, &tree, 1);
}

fn flags(state: &State) -> [u32; 3] {
    [state.n_unary, u32::from(state.is_fresh), u32::from(state.is_finished)]
}

/// The most gold constituents over one span: no completion worth taking builds a longer unary chain.
fn longest_gold_chain(gold: &ConstituentTree) -> u32 {
    let mut spans: Vec<_> = gold.nodes().map(|(_, node)| (node.span().start, node.span().end)).collect();
    spans.sort_unstable();
    spans.chunk_by(|a, b| a == b).map(<[_]>::len).max().unwrap_or(0) as u32
}

/// Is the limit on unary chains far enough away, even after one more step and after closing a bad opening at once?
fn is_free(state: &State, gold: &ConstituentTree, max_unary: u32) -> bool {
    state.n_unary + 2 + longest_gold_chain(gold) <= max_unary
}

/// Checks every configuration in which the limit cannot bind.
#[track_caller]
fn check_exact(gold: &ConstituentTree, max_unary: u32) -> usize {
    let system = system(max_unary);
    // The loss does not see in which order constituents over one span stand.
    if longest_gold_chain(gold) == 1 {
        let oracle = DynamicOracle::for_gold(&system, gold).unwrap();
        laws::optimal_walk_gives_gold(&system, &oracle, gold, gold.n_tokens(), 1);
    }
    let visit = |state: &State| is_free(state, gold, max_unary);
    trees::oracle_is_exact::<_, DynamicOracle>(&system, system.labels(), gold, &flags, visit)
}

#[test]
fn the_oracle_is_exact_on_small_trees() {
    let mut rng = Rng::new(5);
    let mut checked = 0;
    for gold in trees::all(1, 2).iter().chain(&trees::all(2, 1)) {
        checked += check_exact(gold, longest_gold_chain(gold) + 2);
    }
    println!("{checked} configurations");
    for _ in 0..10 {
        checked += check_exact(&trees::random(&mut rng, 3, 1), 3);
    }
    println!("{checked} configurations");
}
