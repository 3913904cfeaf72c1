//! (Tests only) a law of every constituent system: what a treebank never does with the labels of roots, no parse does.

use std::collections::BTreeSet;

use crate::laws;
use crate::registry::{Registered, SystemTag, SystemVisitor};
use crate::system::SystemOptions;
use crate::systems::trees;
use crate::tree::TreeKind;
use crate::tree::{ConstituentTree, ParserTree, Preparation, Preparer, Tree};

/// The labels at roots and those inside.
fn places<'a>(trees: impl Iterator<Item = &'a ConstituentTree>) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut roots, mut inner) = (BTreeSet::new(), BTreeSet::new());
    for tree in trees {
        for (id, node) in tree.nodes() {
            (if id == tree.root() { &mut roots } else { &mut inner }).insert(node.label.to_string());
        }
    }
    (roots, inner)
}

/// Random walks of a system for these trees.
struct Walks<'a>(&'a [ConstituentTree]);

impl SystemVisitor for Walks<'_> {
    type Output = ();

    fn visit<S: Registered>(self) {
        let preparer = Preparer::new(&Preparation::default(), S::UNARIES).expect("built-in rules");
        let prepare = |tree: &ConstituentTree| {
            let sentence = laws::sentence(tree.n_tokens());
            S::Tree::prepare(&Tree::from(tree.clone()), &sentence, &preparer).expect("constituents")
        };
        let prepared: Vec<S::Tree> = self.0.iter().map(prepare).collect();
        let system = S::from_trees(prepared.iter(), &SystemOptions::default());
        for (tree, gold) in prepared.iter().zip(self.0) {
            laws::derivation_rebuilds(&system, tree, gold.n_tokens());
        }
        let (roots, inner) = places(self.0.iter());
        for n in 1..=9 {
            laws::random_walks(&system, n, 60, n as u64, false, |tree| {
                let Tree::Constituent(tree) = tree.clone().restore() else { panic!("not constituents") };
                let (own_roots, own_inner) = places([&tree].into_iter());
                assert!(own_roots.is_subset(&roots), "{}: the root of {tree:?}", S::TAG);
                assert!(own_inner.is_subset(&inner), "{}: inside {tree:?}", S::TAG);
            });
        }
    }
}

#[track_caller]
fn check(treebank: &[&str]) {
    let treebank: Vec<ConstituentTree> = treebank.iter().map(|text| trees::tree(text)).collect();
    let constituents = |tag: &&SystemTag| tag.info().kind == TreeKind::Constituents;
    let systems: Vec<&SystemTag> = SystemTag::ALL.iter().filter(constituents).collect();
    assert!(!systems.is_empty());
    systems.into_iter().for_each(|tag| tag.visit(Walks(&treebank)));
}

#[test]
fn one_root_symbol_is_the_root_and_nothing_else() {
    check(&["(TOP (S (NP w0) (VP w1 w2)))", "(TOP (NP w0 w1))", "(TOP (S (S (VP w0 (NP w1))) w2))"]);
    // Where one-word sentences were seen, and unaries right below the root.
    check(&["(TOP (X w0))", "(TOP (S (NP w0) (VP (V w1) w2)))", "(TOP (S (NP (N w0))))"]);
}

#[test]
fn several_root_labels_keep_to_the_root() {
    check(&["(TOP (S w0 w1) w2)", "(FRAG (NP w0) w1)", "(TOP (FRAGS (NP w0) w1))", "(FRAG w0)"]);
}

#[test]
fn labels_that_are_both_stand_in_both_places_and_others_do_not() {
    check(&["(S (NP w0) (VP w1 (S (VP w2))))", "(TOP (S w0 w1))", "(S w0)"]);
    check(&["(S (S w0 w1) w2)", "(NP (NP w0) (PP w1 w2))"]);
}
