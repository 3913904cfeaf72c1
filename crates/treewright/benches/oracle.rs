//! Time of one step of the exact oracles (`optimal` and `advance`) against sentence length.
//!
//! The walk follows an optimal action three times out of four and any legal action otherwise, as training with
//! exploration does. A perceptron scores a step in one or two microseconds.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use treewright::forest::Forest;
use treewright::ids::{ActionId, NodeId, TokenIdx};
use treewright::oracle::Oracle;
use treewright::registry::Registered;
use treewright::rng::Rng;
use treewright::system::{ActionSet, SystemOptions};
use treewright::systems::{in_order::InOrder, top_down::TopDown};
use treewright::tree::{Child, ConstituentTree, TreeBuilder};
use treewright::{Sentence, Token};

const LABELS: usize = 25;

/// A random tree with nodes of two to four children and some unary constituents.
fn random_tree(rng: &mut Rng, n: usize) -> ConstituentTree {
    let mut builder = TreeBuilder::with_tokens(n);
    let root = builder.node("L0");
    let mut todo: Vec<(NodeId, usize, usize)> = vec![(root, 0, n)];
    while let Some((parent, left, right)) = todo.pop() {
        let n_parts = (2 + rng.below(3)).min(right - left);
        let mut cuts: Vec<usize> = (1..n_parts).map(|_| left + 1 + rng.below(right - left - 1)).collect();
        cuts.extend([left, right]);
        cuts.sort_unstable();
        cuts.dedup();
        for part in cuts.windows(2) {
            if part[1] - part[0] == 1 && rng.below(4) > 0 {
                builder.attach(Child::Token(TokenIdx::new(part[0])), parent);
                continue;
            }
            let node = builder.node(format!("L{}", rng.below(LABELS)));
            builder.attach(Child::Node(node), parent);
            if part[1] - part[0] == 1 {
                builder.attach(Child::Token(TokenIdx::new(part[0])), node);
            } else {
                todo.push((node, part[0], part[1]));
            }
        }
    }
    builder.finish().expect("a tree over all words")
}

/// A walk with its states, to be replayed.
fn walk<S: Registered<Tree = ConstituentTree>>(
    system: &S,
    forest: &mut Forest,
    sentence: &Sentence,
    gold: &ConstituentTree,
    rng: &mut Rng,
) -> Vec<(S::State, ActionId)> {
    let mut state = system.start(forest, sentence);
    let mut oracle = S::Dynamic::for_gold(system, gold).expect("a derivable tree");
    let (mut legal, mut optimal) = (ActionSet::default(), ActionSet::default());
    let mut steps = Vec::new();
    while !system.is_final(forest, &state) {
        system.legal(forest, &state, &mut legal);
        oracle.optimal(system, forest, &state, &legal, &mut optimal);
        let choice = if rng.below(4) > 0 { &optimal } else { &legal };
        let action = choice.iter().nth(rng.below(choice.len())).expect("there is one");
        oracle.advance(system, forest, &state, action);
        steps.push((state, action));
        state = system.apply(forest, &state, action);
    }
    steps
}

fn bench<S: Registered<Tree = ConstituentTree>>(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group(format!("oracle/{}", S::TAG));
    for n in [10, 25, 50, 100, 200] {
        let mut rng = Rng::new(n as u64);
        let gold = random_tree(&mut rng, n);
        let sentence = Sentence {
            tokens: (0..n).map(|i| Token::new(format!("w{i}"), "")).collect(),
            ..Sentence::default()
        };
        let system = S::from_trees([&gold].into_iter(), &SystemOptions::default());
        let mut forest = Forest::new();
        let steps = walk(&system, &mut forest, &sentence, &gold, &mut rng);
        group.throughput(Throughput::Elements(steps.len() as u64));
        group.bench_function(BenchmarkId::from_parameter(n), |bencher| {
            let (mut legal, mut optimal) = (ActionSet::default(), ActionSet::default());
            bencher.iter(|| {
                let mut oracle = S::Dynamic::for_gold(&system, &gold).expect("a derivable tree");
                for (state, action) in &steps {
                    system.legal(&forest, state, &mut legal);
                    oracle.optimal(&system, &mut forest, state, &legal, &mut optimal);
                    black_box(&optimal);
                    oracle.advance(&system, &forest, state, *action);
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, bench::<TopDown>, bench::<InOrder>);
criterion_main!(benches);
