//! Binary trees for tests: every small one, and random ones.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::ids::{ActionId, TokenIdx};
use crate::laws;
use crate::rng::Rng;
use crate::system::{SystemOptions, TransitionSystem};
use crate::systems::binary::Symbols;
use crate::tree::{BinaryTree, BinaryTreeBuilder, Child, Side};

/// What the trees have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape<'a> {
    /// Labels inside the tree.
    pub inner: &'a [&'a str],
    /// The label of the root.
    pub root: &'a str,
    /// Is there one temporary, `X:`?
    pub temporary: bool,
    pub discontinuous: bool,
    /// The longest unary chain above a word.
    pub above_words: usize,
    /// The longest unary chain above a binary node.
    pub above_nodes: usize,
}

/// The trees of the counts in the papers: one label, one temporary, heads, unaries above words.
pub(crate) const SMALL: Shape<'static> = Shape {
    inner: &["A"],
    root: "ROOT",
    temporary: true,
    discontinuous: true,
    above_words: 1,
    above_nodes: 0,
};

/// The symbols of [`SMALL`].
pub(crate) fn small_symbols() -> Symbols {
    Symbols::new(["A"], ["X:"], ["ROOT"])
}

/// The symbols of a treebank without labels inside trees.
pub(crate) fn flat_symbols() -> Symbols {
    Symbols::new([], ["S:"], ["S"])
}

/// Every tree of up to `max` words.
pub(crate) fn every_tree_up_to(max: usize, shape: Shape<'_>) -> Vec<BinaryTree> {
    (1..=max).flat_map(|n| every_tree(n, shape)).collect()
}

/// Random trees of up to twelve words, in which the label of the root stands inside too.
pub(crate) fn random_trees() -> Vec<BinaryTree> {
    let shape = Shape { inner: &["A", "B", "ROOT"], ..SMALL };
    let mut rng = Rng::new(3);
    (1..=60).map(|i| random_tree(&mut rng, i % 12 + 1, shape)).collect()
}

/// A system for these trees, with them.
pub(crate) fn with_own_system<S: TransitionSystem<Tree = BinaryTree>>(
    trees: Vec<BinaryTree>,
) -> (S, Vec<BinaryTree>) {
    (S::from_trees(trees.iter(), &SystemOptions::default()), trees)
}

/// Every small tree with a system for them, and random trees with their own.
pub(crate) fn golds<S: TransitionSystem<Tree = BinaryTree>>(small: S) -> Vec<(S, Vec<BinaryTree>)> {
    vec![(small, every_tree_up_to(4, SMALL)), with_own_system(random_trees())]
}

/// The names of all actions.
#[track_caller]
pub(crate) fn check_names<S: TransitionSystem>(system: &S, expected: &str) {
    let ids: Vec<ActionId> = (0..system.n_actions()).map(ActionId::new).collect();
    assert_eq!(laws::names(system, &ids), expected);
}

enum Term {
    Word(usize),
    Unary(String, Rc<Term>),
    Binary { label: String, is_temporary: bool, left: Rc<Term>, right: Rc<Term>, head: Side },
}

impl Term {
    fn is_temporary(&self) -> bool {
        matches!(self, Term::Binary { is_temporary: true, .. })
    }

    fn build(&self, builder: &mut BinaryTreeBuilder) -> Child {
        match self {
            Term::Word(i) => Child::Token(TokenIdx::new(*i)),
            Term::Unary(label, below) => {
                let below = below.build(builder);
                Child::Node(builder.unary(label.as_str(), below))
            }
            Term::Binary { label, is_temporary, left, right, head } => {
                let (left, right) = (left.build(builder), right.build(builder));
                Child::Node(builder.binary(label.as_str(), *is_temporary, left, right, *head))
            }
        }
    }
}

/// Every tree over `n` words.
pub(crate) fn every_tree(n: usize, shape: Shape<'_>) -> Vec<BinaryTree> {
    let mut memo = BTreeMap::new();
    let all = (1u32 << n) - 1;
    terms(all, true, n, shape, &mut memo)
        .iter()
        .map(|term| {
            let mut builder = BinaryTreeBuilder::with_tokens(n);
            term.build(&mut builder);
            builder.finish().expect("a term is a tree")
        })
        .collect()
}

type Memo = BTreeMap<u32, Rc<Vec<Rc<Term>>>>;

fn terms(words: u32, is_root: bool, n: usize, shape: Shape<'_>, memo: &mut Memo) -> Rc<Vec<Rc<Term>>> {
    if !is_root && let Some(known) = memo.get(&words) {
        return Rc::clone(known);
    }
    let mut bare = Vec::new();
    let roots = [shape.root];
    if words.is_power_of_two() {
        bare.push(Rc::new(Term::Word(words.trailing_zeros() as usize)));
    } else {
        let rest = words & (words - 1);
        // Every part of `rest` but itself, beside the first word, is a left child.
        let mut part = rest;
        while part != 0 {
            part = (part - 1) & rest;
            let (left, right) = (words & !rest | part, rest & !part);
            let is_interval = |set: u32| (set >> set.trailing_zeros()).wrapping_add(1).is_power_of_two();
            if shape.discontinuous || (is_interval(left) && is_interval(right)) {
                pairs(left, right, is_root, n, shape, memo, &mut bare);
            }
        }
    }
    let longest = if words.is_power_of_two() { shape.above_words } else { shape.above_nodes };
    let mut found: Vec<Rc<Term>> = Vec::new();
    let mut level = bare;
    for height in 0..=longest {
        let above: Vec<Rc<Term>> = level
            .iter()
            .filter(|term| !term.is_temporary() && !is_labelled(term, &roots))
            .flat_map(|term| {
                let labels =
                    if is_root { shape.inner.iter().chain(&roots) } else { shape.inner.iter().chain(&[]) };
                labels
                    .map(|label| Rc::new(Term::Unary((*label).to_owned(), Rc::clone(term))))
                    .collect::<Vec<_>>()
            })
            .collect();
        found.extend(level.into_iter().filter(|term| !is_root || is_labelled(term, &roots)));
        level = if height < longest { above } else { Vec::new() };
    }
    let found = Rc::new(found);
    if !is_root {
        memo.insert(words, Rc::clone(&found));
    }
    found
}

fn is_labelled(term: &Term, labels: &[&str]) -> bool {
    match term {
        Term::Word(_) => false,
        Term::Unary(label, _) => labels.contains(&label.as_str()),
        Term::Binary { label, is_temporary, .. } => !is_temporary && labels.contains(&label.as_str()),
    }
}

fn pairs(
    left: u32,
    right: u32,
    is_root: bool,
    n: usize,
    shape: Shape<'_>,
    memo: &mut Memo,
    out: &mut Vec<Rc<Term>>,
) {
    let (lefts, rights) = (terms(left, false, n, shape, memo), terms(right, false, n, shape, memo));
    for l in lefts.iter() {
        for r in rights.iter() {
            for head in [Side::Left, Side::Right] {
                let other = if head == Side::Left { r } else { l };
                if other.is_temporary() {
                    continue;
                }
                let mut push = |label: &str, is_temporary: bool| {
                    let (left, right) = (Rc::clone(l), Rc::clone(r));
                    out.push(Rc::new(Term::Binary {
                        label: label.to_owned(),
                        is_temporary,
                        left,
                        right,
                        head,
                    }));
                };
                if is_root {
                    push(shape.root, false);
                }
                if !is_root || shape.above_nodes > 0 {
                    shape.inner.iter().for_each(|label| push(label, false));
                }
                if !is_root && shape.temporary {
                    push("X", true);
                }
            }
        }
    }
}

/// A random tree over `n` words with unaries above words only: items are merged in a random order, so nearly every
/// node is discontinuous unless the shape forbids it.
pub(crate) fn random_tree(rng: &mut Rng, n: usize, shape: Shape<'_>) -> BinaryTree {
    let mut builder = BinaryTreeBuilder::with_tokens(n);
    if n == 1 {
        builder.unary(shape.root, Child::Token(TokenIdx::new(0)));
        return builder.finish().expect("one node is a tree");
    }
    let mut items: Vec<(Child, bool)> = (0..n)
        .map(|i| {
            let word = Child::Token(TokenIdx::new(i));
            if shape.above_words > 0 && rng.below(4) == 0 {
                (Child::Node(builder.unary(shape.inner[rng.below(shape.inner.len())], word)), false)
            } else {
                (word, false)
            }
        })
        .collect();
    while items.len() > 1 {
        let at = rng.below(items.len() - 1);
        let with = if shape.discontinuous { at + 1 + rng.below(items.len() - 1 - at) } else { at + 1 };
        let ((left, left_temporary), (right, right_temporary)) = (items[at], items[with]);
        if left_temporary && right_temporary {
            continue;
        }
        let head = match (left_temporary, right_temporary) {
            (true, _) => Side::Left,
            (_, true) => Side::Right,
            _ => [Side::Left, Side::Right][rng.below(2)],
        };
        items.remove(with);
        // A temporary needs an item that is not one to join later.
        let solid = items.iter().enumerate().any(|(i, item)| i != at && !item.1);
        let is_temporary = shape.temporary && solid && rng.below(2) == 0;
        let label = if items.len() == 1 {
            shape.root
        } else if is_temporary {
            "X"
        } else {
            shape.inner[rng.below(shape.inner.len())]
        };
        items[at] = (Child::Node(builder.binary(label, is_temporary, left, right, head)), is_temporary);
        if items.len() > 1 && items.iter().all(|item| item.1) {
            unreachable!("a temporary is only made beside something solid");
        }
    }
    builder.finish().expect("merging until one node is left gives a tree")
}
