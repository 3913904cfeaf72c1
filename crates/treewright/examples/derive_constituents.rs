//! Which trees of a constituent treebank can each binary system derive, and how long are the derivations? Derives
//! every tree, checks that the derivation gives the treebank's tree back, and prints the figures of table 6 of Coavoux
//! and Crabbé (2017). Labels and limits come from all files together.
//!
//! `cargo run --release --example derive_constituents -- HEAD_RULES SYSTEM[,SYSTEM] FILE..`

use std::collections::BTreeMap;

use treewright::forest::Forest;
use treewright::registry::{Registered, SystemTag, SystemVisitor};
use treewright::system::SystemOptions;
use treewright::tree::{ParserTree, Preparation, Preparer, TreeBuilder};
use treewright::treebank::{self, ReadOptions};
use treewright::{ConstituentTree, Sentence, Tree};

type Treebank = Vec<(Sentence, ConstituentTree)>;

fn read(file: &str) -> Result<Treebank, Box<dyn std::error::Error>> {
    let bytes = std::fs::read(file)?;
    let options = ReadOptions { file: file.to_owned(), ..ReadOptions::default() };
    let mut trees = Treebank::new();
    for entry in treebank::open(&bytes[..], &options)?.reader {
        let entry = entry?;
        match entry.tree {
            Some(Tree::Constituent(tree)) => trees.push((entry.sentence, bare(&tree))),
            _ => return Err(format!("{file} has sentences without constituent trees").into()),
        }
    }
    Ok(trees)
}

/// What parsers predict: no edge labels, no secondary edges.
fn bare(tree: &ConstituentTree) -> ConstituentTree {
    let mut builder = TreeBuilder::with_tokens(tree.n_tokens());
    for (_, node) in tree.nodes() {
        builder.node(node.label.clone());
    }
    for (id, _) in tree.nodes() {
        tree.children(id).iter().for_each(|&child| builder.attach(child, id));
    }
    builder.finish().expect("a tree without its edge labels is a tree")
}

struct Report<'a> {
    preparation: &'a Preparation,
    trees: &'a Treebank,
}

impl SystemVisitor for Report<'_> {
    type Output = Result<(), Box<dyn std::error::Error>>;

    fn visit<S: Registered>(self) -> Self::Output {
        let preparer = Preparer::new(self.preparation, S::UNARIES)?;
        let mut prepared = Vec::new();
        for (sentence, tree) in self.trees {
            let tree = Tree::from(tree.clone());
            prepared.push(S::Tree::prepare(&tree, sentence, &preparer).map_err(|why| why.to_string())?);
        }
        let system = S::from_trees(prepared.iter(), &SystemOptions::default());
        let (mut rebuilt, mut n_words, mut n_steps, mut longest) = (0, 0, 0, 0);
        let (mut n_moves, mut longest_run, mut ratios) = (0, 0, 0.0);
        let mut why_not: BTreeMap<String, usize> = BTreeMap::new();
        let mut forest = Forest::new();
        for ((sentence, tree), gold) in self.trees.iter().zip(prepared) {
            let actions = match system.derive(&gold) {
                Ok(actions) => actions,
                Err(why) => {
                    let kind = why.0.rsplit(')').next().unwrap_or_default().trim().to_owned();
                    *why_not.entry(kind).or_insert(0) += 1;
                    continue;
                }
            };
            let mut state = system.start(&mut forest, sentence);
            let mut run = 0;
            for &action in &actions {
                state = system.apply(&mut forest, &state, action);
                // GAP, GAP-i, SWAP and SWAP-i; a compound counts as the moves it stands for.
                let name = system.name(action);
                let count = match name.split_once('-') {
                    _ if name == "GAP" || name == "SWAP" => 1,
                    Some(("GAP" | "SWAP", count)) => count.parse()?,
                    _ => 0,
                };
                run = if count > 0 { run + count } else { 0 };
                longest_run = longest_run.max(run);
                n_moves += count;
            }
            if !system.is_final(&forest, &state) {
                return Err(format!("{}: a derivation ends too early", S::TAG).into());
            }
            if system.tree(&forest, &state).restore() != Tree::from(tree.clone()) {
                return Err(format!("{}: a derivation gives another tree", S::TAG).into());
            }
            rebuilt += 1;
            n_words += tree.n_tokens();
            n_steps += actions.len();
            ratios += actions.len() as f64 / tree.n_tokens() as f64;
            longest = longest.max(actions.len());
        }
        println!(
            "{:<13} {rebuilt} of {} rebuilt, {} actions, longest {longest}, gaps or swaps {n_moves}, most in a row \
             {longest_run}, {:.3} steps a word, {:.3} a word on average by sentence; not derivable: {why_not:?}",
            S::TAG,
            self.trees.len(),
            system.n_actions(),
            n_steps as f64 / n_words as f64,
            ratios / f64::from(rebuilt.max(1)),
        );
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [head_rules, systems, files @ ..] = &args[..] else {
        return Err("give head rules, systems and at least one treebank".into());
    };
    let mut trees = Treebank::new();
    for file in files {
        trees.extend(read(file)?);
    }
    let preparation = Preparation { head_rules: head_rules.clone(), ..Preparation::default() };
    for system in systems.split(',') {
        let tag: SystemTag = system.parse()?;
        tag.visit(Report { preparation: &preparation, trees: &trees })?;
    }
    Ok(())
}
