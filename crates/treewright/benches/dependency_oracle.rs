//! What a step costs with the dynamic oracles of the dependency systems, for sentences of 10 to 200 words.
//!
//! Random trees with 40 relations, random walks within what training may do. `system` is a step without the oracle's
//! advice: the legal actions, restricting them, applying one, and the step's share of setting up forest and oracle.
//! `oracle` is what finding the optimal actions and keeping the books add. Both in nanoseconds a step.
//! `cargo bench --bench dependency_oracle`. On Linux the time is that which the thread spent on a processor, so that
//! a busy machine matters less.

use std::hint::black_box;
use std::time::Instant;

use treewright::forest::Forest;
use treewright::oracle::Oracle;
use treewright::rng::Rng;
use treewright::system::{ActionSet, SystemOptions, TransitionSystem};
use treewright::systems::{arc_eager, arc_hybrid, arc_hybrid_swap};
use treewright::{DependencyTree, Sentence, Str, Token};

fn nanoseconds(start: Instant) -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let on_processor = stat.split(' ').next().and_then(|field| field.parse().ok());
    on_processor.unwrap_or_else(|| start.elapsed().as_nanos() as u64)
}

/// A random projective tree: each span's head is a random word, and what is left of it splits again.
fn projective_tree(rng: &mut Rng, n: usize) -> DependencyTree {
    let mut heads = vec![None; n];
    let mut todo = vec![(0, n, None)];
    while let Some((left, right, head)) = todo.pop() {
        if left == right {
            continue;
        }
        let word = left + rng.below(right - left);
        heads[word] = head;
        todo.extend([(left, word, Some(word)), (word + 1, right, Some(word))]);
    }
    labelled(rng, DependencyTree::from_heads(heads))
}

/// A projective tree in which one word in ten changes places with its neighbour.
fn almost_projective_tree(rng: &mut Rng, n: usize) -> DependencyTree {
    let tree = projective_tree(rng, n);
    let mut place: Vec<usize> = (0..n).collect();
    for i in 1..n {
        if rng.below(10) == 0 {
            place.swap(i - 1, i);
        }
    }
    let mut heads = vec![None; n];
    for (i, arc) in tree.arcs.iter().enumerate() {
        heads[place[i]] = arc.head.map(|head| place[head.index()]);
    }
    labelled(rng, DependencyTree::from_heads(heads))
}

fn labelled(rng: &mut Rng, mut tree: DependencyTree) -> DependencyTree {
    for arc in &mut tree.arcs {
        arc.label = Str::from(format!("l{}", rng.below(40)));
    }
    tree
}

fn walk<S: TransitionSystem<Tree = DependencyTree>, O: Oracle<S>>(
    system: &S,
    gold: &DependencyTree,
    rng: &mut Rng,
    with_oracle: bool,
) -> usize {
    let tokens = (0..gold.len()).map(|_| Token::new("w", "T")).collect();
    let sentence = Sentence { tokens, ..Sentence::default() };
    let (mut forest, mut legal, mut optimal) = (Forest::new(), ActionSet::default(), ActionSet::default());
    let mut oracle = O::for_gold(system, gold).expect("the tree is derivable");
    let mut state = system.start(&mut forest, &sentence);
    let mut n_steps = 0;
    while !system.is_final(&forest, &state) {
        system.legal(&forest, &state, &mut legal);
        oracle.restrict(system, &forest, &state, &mut legal);
        if with_oracle {
            oracle.optimal(system, &mut forest, &state, &legal, &mut optimal);
            black_box(&optimal);
        }
        let action = legal.iter().nth(rng.below(legal.len())).expect("within the set");
        if with_oracle {
            oracle.advance(system, &forest, &state, action);
        }
        state = system.apply(&mut forest, &state, action);
        n_steps += 1;
    }
    n_steps
}

fn measure<S: TransitionSystem<Tree = DependencyTree>, O: Oracle<S>>(
    name: &str,
    random_tree: impl Fn(&mut Rng, usize) -> DependencyTree,
) {
    for n in [10, 20, 50, 100, 200] {
        let mut rng = Rng::new(n as u64);
        let trees: Vec<DependencyTree> = (0..20_000 / n).map(|_| random_tree(&mut rng, n)).collect();
        let system = S::from_trees(trees.iter(), &SystemOptions::default());
        let [without, with] = [false, true].map(|with_oracle| {
            let mut rng = Rng::new(1);
            let start = Instant::now();
            let before = nanoseconds(start);
            let n_steps: usize = (0..5)
                .flat_map(|_| &trees)
                .map(|gold| walk::<S, O>(&system, gold, &mut rng, with_oracle))
                .sum();
            (nanoseconds(start) - before) as f64 / n_steps as f64
        });
        println!("{name:16} n = {n:3}: system {without:6.0} ns/step, oracle {:6.0} ns/step", with - without);
    }
}

fn main() {
    measure::<arc_hybrid::ArcHybrid, arc_hybrid::DynamicOracle>("arc-hybrid", projective_tree);
    measure::<arc_hybrid_swap::ArcHybridSwap, arc_hybrid::DynamicOracle>(
        "arc-hybrid-swap",
        almost_projective_tree,
    );
    measure::<arc_eager::ArcEager, arc_eager::DynamicOracle>("arc-eager", projective_tree);
}
