//! The cost of a step with the exact dynamic oracle of SR-GAP, for sentences of 10 to 10,000 words.
//!
//! Random trees with 30 labels, one constituent in ten discontinuous; walks that follow the oracle but for one random
//! action in ten, as training with exploration does: `system` is finding the legal actions and applying one, `oracle`
//! the optimal actions, in nanoseconds a step. `cargo bench --bench sr_gap_oracle`. On Linux the time is that which
//! the thread spent on a processor, so that a busy machine matters less.

use std::hint::black_box;
use std::time::Instant;

use treewright::forest::Forest;
use treewright::oracle::Oracle;
use treewright::rng::Rng;
use treewright::system::{ActionSet, SystemOptions, TransitionSystem};
use treewright::systems::sr_gap::{DynamicOracle, SrGap};
use treewright::tree::{BinaryTree, BinaryTreeBuilder, Child, Side};
use treewright::{Sentence, Token, TokenIdx};

/// Long enough that the ticks in which processor time is counted (some milliseconds) do not matter.
const REPEATS: usize = 100;

fn nanoseconds(start: Instant) -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let on_processor = stat.split(' ').next().and_then(|field| field.parse().ok());
    on_processor.unwrap_or_else(|| start.elapsed().as_nanos() as u64)
}

fn random_tree(rng: &mut Rng, n: usize) -> BinaryTree {
    let mut builder = BinaryTreeBuilder::with_tokens(n);
    let mut items: Vec<(Child, bool)> = (0..n).map(|i| (Child::Token(TokenIdx::new(i)), false)).collect();
    while items.len() > 1 {
        let at = rng.below(items.len() - 1);
        let with = if rng.below(10) == 0 { (at + 1 + rng.below(4)).min(items.len() - 1) } else { at + 1 };
        let (left, right) = (items[at], items[with]);
        if left.1 && right.1 {
            continue;
        }
        items.remove(with);
        let has_solid = items.iter().enumerate().any(|(i, item)| i != at && !item.1);
        let is_temporary = has_solid && rng.below(3) == 0;
        let label = if items.len() == 1 { "ROOT".to_owned() } else { format!("L{}", rng.below(30)) };
        let head = if right.1 { Side::Right } else { Side::Left };
        items[at] = (Child::Node(builder.binary(label, is_temporary, left.0, right.0, head)), is_temporary);
    }
    builder.finish().expect("merging until one node is left gives a tree")
}

fn main() {
    for n in [10, 20, 50, 100, 200, 1000, 10_000] {
        // The longer the sentences, the fewer times.
        let repeats = (20_000 / n).clamp(2, REPEATS);
        let mut rng = Rng::new(n as u64);
        let golds: Vec<BinaryTree> = (0..2000 / n + 1).map(|_| random_tree(&mut rng, n)).collect();
        let system = SrGap::from_trees(golds.iter(), &SystemOptions::default());
        let tokens = (0..n).map(|_| Token::new("w", "T")).collect();
        let sentence = Sentence { tokens, ..Sentence::default() };
        let (mut forest, mut legal, mut optimal) =
            (Forest::new(), ActionSet::default(), ActionSet::default());
        // The walks are chosen first, so that choosing is not measured.
        let mut walks = Vec::new();
        for gold in &golds {
            let mut oracle = DynamicOracle::for_gold(&system, gold).expect("the tree is derivable");
            let mut state = system.start(&mut forest, &sentence);
            let mut walk = Vec::new();
            while !system.is_final(&forest, &state) {
                system.legal(&forest, &state, &mut legal);
                oracle.optimal(&system, &mut forest, &state, &legal, &mut optimal);
                let choices = if rng.below(10) == 0 { &legal } else { &optimal };
                let action = choices.iter().nth(rng.below(choices.len())).expect("within the set");
                oracle.advance(&system, &forest, &state, action);
                state = system.apply(&mut forest, &state, action);
                walk.push(action);
            }
            walks.push((gold, walk));
        }
        let n_steps: usize = walks.iter().map(|(_, walk)| walk.len()).sum();
        let mut time = |with_oracle: bool| {
            let start = Instant::now();
            let before = nanoseconds(start);
            for (gold, walk) in walks.iter().cycle().take(walks.len() * repeats) {
                let mut oracle = DynamicOracle::for_gold(&system, gold).expect("the tree is derivable");
                let mut state = system.start(&mut forest, &sentence);
                for &action in walk {
                    system.legal(&forest, &state, &mut legal);
                    if with_oracle {
                        oracle.optimal(&system, &mut forest, &state, &legal, &mut optimal);
                        oracle.advance(&system, &forest, &state, action);
                    }
                    black_box((&legal, &optimal));
                    state = system.apply(&mut forest, &state, action);
                }
            }
            (nanoseconds(start) - before) / (n_steps * repeats) as u64
        };
        let (system_alone, both) = (time(false), time(true));
        println!(
            "sr-gap n = {n:>5}: system {system_alone:>5} ns/step, oracle {:>6} ns/step ({n_steps} steps, {} actions)",
            both.saturating_sub(system_alone),
            system.n_actions()
        );
    }
}
