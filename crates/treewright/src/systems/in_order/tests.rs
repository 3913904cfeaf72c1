//! Laws and exactness of the in-order system and its oracles.

use super::*;
use crate::laws;
use crate::oracle::Oracle;
use crate::rng::Rng;
use crate::systems::paper::PaperOracle;
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
    let mut checked = 0;
    for gold in trees::all(1, 2).iter().chain(&trees::all(2, 1)) {
        checked += check_exact(gold, longest_gold_chain(gold) + 2);
    }
    assert!(checked > 900, "{checked} configurations");
}

#[test]
fn the_search_over_finished_trees_agrees() {
    let gold = trees::tree("(A w0)");
    let system = system(3);
    let checked = laws::oracle_is_exact(
        &system,
        &DynamicOracle::for_gold(&system, &gold).unwrap(),
        gold.n_tokens(),
        &|tree| trees::loss(tree, &gold),
        &|_, state| flags(state).to_vec(),
        |_, state| is_free(state, &gold, 3),
    );
    assert!(checked > 3, "{checked} configurations");
}

#[test]
fn the_oracle_is_exact_on_some_larger_trees() {
    let mut rng = Rng::new(5);
    for (n, count) in [(3, 8), (4, 2)] {
        let mut golds = std::iter::repeat_with(|| trees::random(&mut rng, n, 1))
            .filter(|gold| longest_gold_chain(gold) == 1);
        for gold in golds.by_ref().take(count) {
            check_exact(&gold, 3);
        }
    }
}

#[test]
fn the_oracle_is_exact_near_the_end_of_random_walks() {
    let mut rng = Rng::new(8);
    for round in 0..10 {
        let n = 4 + round % 5;
        // Without unaries in gold the limit can be low, and the search ends soon.
        let gold = trees::random(&mut rng, n, 0);
        let max_unary = longest_gold_chain(&gold) + 2;
        let system = system(max_unary);
        let mut search = trees::Search::new(&system, system.labels(), &gold, &flags);
        trees::random_walk::<_, DynamicOracle>(&system, &gold, &mut rng, |forest, state, oracle| {
            let words_left = n - state.next.index();
            if words_left + state.n_open as usize <= 3 && is_free(state, &gold, max_unary) {
                trees::check_state(&system, &mut search, forest, state, oracle);
            }
        });
    }
}

#[track_caller]
fn check_printed(gold: &str, actions: &str, printed: u32, truth: u32) {
    let gold = trees::tree(gold);
    let system = InOrder::with_labels(trees::LABELS.into_iter().collect(), None);
    let mut forest = Forest::new();
    let mut state = system.start(&mut forest, &laws::sentence(gold.n_tokens()));
    let mut paper: PaperOracle = Oracle::for_gold(&system, &gold).unwrap();
    let mut exact = DynamicOracle::for_gold(&system, &gold).unwrap();
    for name in actions.split_whitespace() {
        let action = system.action(name).unwrap();
        paper.advance(&system, &forest, &state, action);
        exact.advance(&system, &forest, &state, action);
        state = system.apply(&mut forest, &state, action);
    }
    assert_eq!(paper.loss(&system, &forest, &state), Some(printed), "printed");
    assert_eq!(exact.loss(&system, &forest, &state), Some(truth), "true");
}

#[test]
fn the_printed_loss_differs_from_the_true_one_where_it_is_known_to() {
    check_printed("(B (A w0) w1)", "SH NT-B", 0, 1);
    // An opening that becomes gold, but not by the index it has in the gold derivation.
    check_printed("(A w0 w1 w2)", "SH NT-B SH SH RE NT-A", 2, 1);
    check_printed("(A w0 w1 w2)", "SH NT-B RE NT-B SH SH RE NT-A", 3, 2);
    // On the gold path both are 0.
    check_printed("(B (A w0) w1)", "SH NT-A RE NT-B SH RE FI", 0, 0);
}

/// Labels keep to their places, and what `derive` accepts is what the system can build.
#[test]
fn roots_are_exact_for_the_oracle_too() {
    let (mut checked, mut refused) = (0, 0);
    for (seen, golds) in trees::root_treebanks() {
        let system = InOrder::from_trees(seen.iter(), &SystemOptions::default());
        for gold in &golds {
            let max_unary = longest_gold_chain(gold) + 3;
            let system = InOrder { max_unary: Some(max_unary), ..system.clone() };
            if system.derive(gold).is_err() {
                refused += 1;
                continue;
            }
            laws::derivation_rebuilds(&system, gold, gold.n_tokens());
            let visit = |state: &State| state.n_unary + 3 + longest_gold_chain(gold) <= max_unary;
            checked +=
                trees::oracle_is_exact::<_, DynamicOracle>(&system, system.labels(), gold, &flags, visit);
        }
    }
    assert!(checked > 1000 && refused > 50, "{checked} configurations, {refused} trees refused");
}

#[test]
fn roots_are_exact_near_the_end_of_random_walks() {
    let mut rng = Rng::new(9);
    for round in 0..5 {
        let n = 3 + round % 4;
        let gold = trees::random_below_root(&mut rng, n);
        let max_unary = longest_gold_chain(&gold) + 3;
        let system = InOrder::from_trees([&gold].into_iter(), &SystemOptions::default());
        let system = InOrder { max_unary: Some(max_unary), ..system };
        let mut search = trees::Search::new(&system, system.labels(), &gold, &flags);
        trees::random_walk::<_, DynamicOracle>(&system, &gold, &mut rng, |forest, state, oracle| {
            let words_left = n - state.next.index();
            let is_free = state.n_unary + 3 + longest_gold_chain(&gold) <= max_unary;
            if words_left + state.n_open as usize <= 3 && is_free {
                trees::check_state(&system, &mut search, forest, state, oracle);
            }
        });
    }
}

/// Memory of where labels stood is missing in files of older versions.
#[test]
fn a_table_without_places_allows_every_label_everywhere() {
    let old: InOrder = serde_json::from_str(r#"{"labels":["A","B"],"max_unary":2}"#).unwrap();
    assert_eq!(old, system(2));
}
