//! The canonical form, its laws, and what is refused.

use proptest::prelude::*;

use super::*;
use crate::tree::arbitrary::{self, Rng, Shape};

fn token(i: usize) -> Child {
    Child::Token(TokenIdx::new(i))
}

fn nested(build: impl FnOnce(&mut NestedBuilder)) -> Result<ConstituentTree, TreeError> {
    let mut builder = NestedBuilder::default();
    build(&mut builder);
    builder.finish()
}

/// Builds a tree of labels and parents: node `i` hangs under `nodes[i].1`, word `i` under `tokens[i]`.
fn build(nodes: &[(&str, Option<usize>)], tokens: &[Option<usize>]) -> Result<ConstituentTree, TreeError> {
    let mut builder = TreeBuilder::with_tokens(tokens.len());
    for (label, _) in nodes {
        builder.node(*label);
    }
    for (i, parent) in nodes.iter().enumerate().filter_map(|(i, (_, parent))| Some((i, (*parent)?))) {
        builder.attach(Child::Node(NodeId::new(i)), NodeId::new(parent));
    }
    for (i, parent) in tokens.iter().enumerate().filter_map(|(i, parent)| Some((i, (*parent)?))) {
        builder.attach(token(i), NodeId::new(parent));
    }
    builder.finish()
}

#[test]
fn nodes_in_post_order_children_by_leftmost_word() {
    // S(0 1 2 3) over VP(1 3) and NP(0 2): given root first, VP before NP.
    let tree = build(&[("S", None), ("VP", Some(0)), ("NP", Some(0))], &[Some(2), Some(1), Some(2), Some(1)])
        .expect("a tree");
    let labels: Vec<_> = tree.nodes().map(|(_, node)| node.label.as_str()).collect();
    assert_eq!(labels, ["NP", "VP", "S"]);
    assert_eq!(tree.children(NodeId::new(0)), [token(0), token(2)]);
    assert_eq!(tree.children(tree.root()), [Child::Node(NodeId::new(0)), Child::Node(NodeId::new(1))]);
    let vp = tree.node(NodeId::new(1));
    assert_eq!((vp.span(), vp.n_tokens(), vp.is_discontinuous()), (1..4, 2, true));
    assert_eq!((vp.leftmost(), vp.rightmost()), (TokenIdx::new(1), TokenIdx::new(3)));
    assert_eq!(tree.tokens_under(NodeId::new(1)), [TokenIdx::new(1), TokenIdx::new(3)]);
    assert_eq!(tree.gap_degrees(), [1, 1, 0]);
    assert_eq!(tree.parents(), [Some(tree.root()), Some(tree.root()), None]);
}

#[test]
fn what_is_no_tree() {
    #[track_caller]
    fn check(nodes: &[(&str, Option<usize>)], tokens: &[Option<usize>], expected: TreeError) {
        assert_eq!(build(nodes, tokens), Err(expected));
    }
    check(&[], &[], TreeError::Empty);
    check(&[], &[None], TreeError::Empty);
    check(&[("S", None)], &[], TreeError::NoWords(0));
    check(&[("S", None), ("X", Some(0))], &[Some(0)], TreeError::NoWords(1));
    check(&[("S", None)], &[Some(0), None], TreeError::Unattached(TokenIdx::new(1)));
    check(&[("S", None), ("T", None)], &[Some(0), Some(1)], TreeError::Unrooted(1));
    check(&[("S", Some(0))], &[Some(0)], TreeError::Unrooted(0));
    check(&[("S", None), ("A", Some(2)), ("B", Some(1))], &[Some(0), Some(1)], TreeError::Unrooted(1));
    let mut builder = TreeBuilder::with_tokens(1);
    let root = builder.node("S");
    builder.attach(token(0), root);
    builder.attach(token(0), root);
    assert_eq!(builder.finish(), Err(TreeError::TwoParents(TokenIdx::new(0))));
    // A constituent may be moved, but not attached for the second time.
    let mut builder = TreeBuilder::with_tokens(1);
    let (root, middle, low) = (builder.node("S"), builder.node("VP"), builder.node("NP"));
    builder.attach(token(0), low);
    builder.attach(Child::Node(middle), root);
    builder.attach(Child::Node(low), root);
    builder.move_to(Child::Node(low), middle);
    assert!(builder.clone().finish().is_ok());
    builder.attach(Child::Node(low), middle);
    assert_eq!(builder.finish(), Err(TreeError::NodeTwoParents(2)));
}

#[test]
fn what_is_no_nested_tree() {
    let words = |builder: &mut NestedBuilder, words: &[usize]| {
        words.iter().for_each(|&i| builder.token(TokenIdx::new(i)));
    };
    assert_eq!(nested(|_| {}), Err(TreeError::Empty));
    assert_eq!(nested(|b| words(b, &[0])), Err(TreeError::Unattached(TokenIdx::new(0))));
    let closed = |list: &'static [usize]| {
        nested(|b| {
            words(b, list);
            assert!(b.close(0, "S".into()));
        })
    };
    assert_eq!(closed(&[1]), Err(TreeError::Unattached(TokenIdx::new(0))));
    assert_eq!(closed(&[0, 2]), Err(TreeError::Unattached(TokenIdx::new(1))));
    assert_eq!(closed(&[1, 0, 1]), Err(TreeError::TwoParents(TokenIdx::new(1))));
    assert!(closed(&[2, 0, 1]).is_ok());
    let two = nested(|b| {
        words(b, &[0, 1]);
        assert!(b.close(1, "A".into()) && b.close(0, "B".into()) && !b.close(1, "C".into()));
        words(b, &[2]);
        assert!(b.close(1, "D".into()));
    });
    assert_eq!(two, Err(TreeError::Unrooted(1)));
    // A builder can be used again, whatever happened.
    let mut builder = NestedBuilder::default();
    words(&mut builder, &[5, 5]);
    assert!(builder.finish().is_err());
    words(&mut builder, &[0]);
    builder.close(0, "S".into());
    assert_eq!(builder.finish(), build(&[("S", None)], &[Some(0)]));
}

/// The tree given to a `NestedBuilder`, with the children of every node shuffled.
fn renested(tree: &ConstituentTree, rng: &mut Rng, shuffle: bool) -> Result<ConstituentTree, TreeError> {
    enum Step {
        Child(Child),
        Close(NodeId, usize),
    }
    let mut builder = NestedBuilder::default();
    let mut todo = vec![Step::Child(Child::Node(tree.root()))];
    while let Some(step) = todo.pop() {
        match step {
            Step::Child(Child::Token(token)) => builder.token(token),
            Step::Child(Child::Node(node)) => {
                // What waits now is to the left of all its words.
                todo.push(Step::Close(node, builder.n_waiting()));
                let mut children = tree.children(node).to_vec();
                for i in (1..children.len()).filter(|_| shuffle) {
                    children.swap(i, rng.below(i + 1));
                }
                todo.extend(children.into_iter().rev().map(Step::Child));
            }
            Step::Close(node, start) => assert!(builder.close(start, tree.node(node).label.clone())),
        }
    }
    builder.finish()
}

proptest! {
    /// Whatever the order in which nodes and children are given, the same tree comes out.
    #[test]
    fn there_is_one_form(
        (_, tree) in arbitrary::constituents(10, Shape { edges: false, secondary: false, ..Shape::NASTY }),
        seed: u64,
    ) {
        let mut rng = Rng(seed);
        prop_assert_eq!(tree.to_builder().finish(), Ok(tree.clone()));
        prop_assert_eq!(renested(&tree, &mut rng, false), Ok(tree.clone()));
        prop_assert_eq!(renested(&tree, &mut rng, true), Ok(tree.clone()));
        // The nodes in a random order.
        let mut order: Vec<usize> = (0..tree.n_nodes()).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, rng.below(i + 1));
        }
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(i, &node)| place[node] = i);
        let mut builder = TreeBuilder::with_tokens(tree.n_tokens());
        for &node in &order {
            builder.node(tree.node(NodeId::new(node)).label.clone());
        }
        for (id, _) in tree.nodes() {
            for &child in tree.children(id) {
                let child = match child {
                    Child::Node(node) => Child::Node(NodeId::new(place[node.index()])),
                    word => word,
                };
                builder.attach(child, NodeId::new(place[id.index()]));
            }
        }
        prop_assert_eq!(builder.finish(), Ok(tree.clone()));
    }

    /// Edges and secondary edges survive, and secondary edges are a set.
    #[test]
    fn edges_are_kept((_, tree) in arbitrary::constituents(8, Shape::NASTY)) {
        prop_assert_eq!(tree.to_builder().finish(), Ok(tree.clone()));
        let mut builder = tree.to_builder();
        builder.secondary.reverse();
        prop_assert_eq!(builder.finish(), Ok(tree.clone()));
    }

    /// Yields, spans and gaps against their definitions.
    #[test]
    fn yields_are_right((_, tree) in arbitrary::constituents(12, Shape::DISCONTINUOUS)) {
        let gaps = tree.gap_degrees();
        for (id, node) in tree.nodes() {
            let words = tree.tokens_under(id);
            let n_gaps = words.windows(2).filter(|pair| pair[0].index() + 1 != pair[1].index()).count();
            prop_assert_eq!(gaps[id.index()] as usize, n_gaps);
            prop_assert_eq!(node.is_discontinuous(), n_gaps > 0);
            prop_assert_eq!((words.first(), words.last()), (Some(&node.leftmost()), Some(&node.rightmost())));
            prop_assert_eq!(words.len(), node.n_tokens());
            let lefts: Vec<_> = tree.children(id).iter().map(|&child| tree.leftmost(child)).collect();
            prop_assert!(lefts.is_sorted());
        }
    }
}

#[test]
fn deep_and_wide_trees() {
    for (_, tree) in [arbitrary::deep_tree(100_000), arbitrary::wide_tree(1_000_000)] {
        assert_eq!(tree.gap_degrees().iter().max(), Some(&0));
        assert_eq!(tree.tokens_under(tree.root()).len(), tree.n_tokens());
        assert!(tree.to_builder().finish().as_ref() == Ok(&tree));
        assert!(renested(&tree, &mut Rng(1), true).as_ref() == Ok(&tree));
    }
}
