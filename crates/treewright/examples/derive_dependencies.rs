//! Which trees of a dependency treebank can each system derive? Derives every tree, checks that the derivation gives
//! the tree back, and does the same with a walk of the dynamic oracle's optimal actions. Relations come from the first
//! file.
//!
//! `cargo run --release --example derive_dependencies -- TRAIN.conllu DEV.conllu`

use std::collections::BTreeMap;

use treewright::forest::Forest;
use treewright::oracle::Oracle;
use treewright::registry::Registered;
use treewright::system::{ActionSet, SystemOptions};
use treewright::systems::{arc_eager, arc_hybrid, arc_hybrid_swap, arc_standard_swap};
use treewright::treebank::{self, ReadOptions};
use treewright::{DependencyTree, Sentence, Tree};

type Treebank = Vec<(Sentence, DependencyTree)>;

fn read(file: &str) -> Result<Treebank, Box<dyn std::error::Error>> {
    let bytes = std::fs::read(file)?;
    let options = ReadOptions { file: file.to_owned(), ..ReadOptions::default() };
    let mut trees = Treebank::new();
    for entry in treebank::open(&bytes[..], &options)?.reader {
        let entry = entry?;
        match entry.tree {
            Some(Tree::Dependency(tree)) => trees.push((entry.sentence, tree)),
            _ => return Err(format!("{file} has sentences without dependency trees").into()),
        }
    }
    Ok(trees)
}

/// The tree of a walk of optimal actions, the first of them at each step.
fn follow<S: Registered<Tree = DependencyTree>>(system: &S, sentence: &Sentence, gold: &S::Tree) -> S::Tree {
    let (mut forest, mut legal, mut optimal) = (Forest::new(), ActionSet::default(), ActionSet::default());
    let mut oracle = S::Dynamic::for_gold(system, gold).expect("the tree is derivable");
    let mut state = system.start(&mut forest, sentence);
    while !system.is_final(&forest, &state) {
        system.legal(&forest, &state, &mut legal);
        oracle.restrict(system, &forest, &state, &mut legal);
        oracle.optimal(system, &mut forest, &state, &legal, &mut optimal);
        let action = optimal.first().expect("an exact oracle has an optimal action");
        oracle.advance(system, &forest, &state, action);
        state = system.apply(&mut forest, &state, action);
    }
    system.tree(&forest, &state)
}

fn report<S: Registered<Tree = DependencyTree>>(files: &[(String, Treebank)], single_root: bool) {
    let train = files[0].1.iter().map(|(_, tree)| tree);
    let system = S::from_trees(train, &SystemOptions { single_root });
    println!("{} (single root: {single_root}), {} actions", S::TAG, system.n_actions());
    for (file, trees) in files {
        let (mut rebuilt, mut steps, mut words, mut why_not) = (0, 0, 0, BTreeMap::new());
        let mut forest = Forest::new();
        for (sentence, gold) in trees {
            let actions = match system.derive(gold) {
                Ok(actions) => actions,
                Err(why) => {
                    // Word numbers and relations differ from tree to tree; the kind of reason does not.
                    let kind = why.0.split(|c: char| c.is_ascii_digit() || c == '`').next_back();
                    *why_not.entry(kind.unwrap_or_default().trim().to_owned()).or_insert(0) += 1;
                    continue;
                }
            };
            let mut state = system.start(&mut forest, sentence);
            for &action in &actions {
                state = system.apply(&mut forest, &state, action);
            }
            assert_eq!(&system.tree(&forest, &state), gold, "the derivation gives another tree");
            assert_eq!(&follow(&system, sentence, gold), gold, "the oracle leads to another tree");
            rebuilt += 1;
            steps += actions.len();
            words += gold.len();
        }
        let per_word = steps as f64 / words as f64;
        println!(
            "  {file}: {rebuilt} of {} rebuilt, {per_word:.3} steps a word; not derivable: {why_not:?}",
            trees.len()
        );
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut files = Vec::new();
    for file in std::env::args().skip(1) {
        let trees = read(&file)?;
        files.push((file, trees));
    }
    if files.is_empty() {
        return Err("give at least one treebank".into());
    }
    for single_root in [true, false] {
        report::<arc_hybrid::ArcHybrid>(&files, single_root);
        report::<arc_hybrid_swap::ArcHybridSwap>(&files, single_root);
        report::<arc_standard_swap::ArcStandardSwap>(&files, single_root);
        report::<arc_eager::ArcEager>(&files, single_root);
    }
    Ok(())
}
