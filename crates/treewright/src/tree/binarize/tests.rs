use super::*;
use crate::tree::TreeBuilder;
use crate::tree::arbitrary::{Shape, constituents, deep_tree, spielraum, wide_tree};
use proptest::prelude::*;

/// The head word of a child.
fn head_word(tree: &BinaryTree, mut child: Child) -> TokenIdx {
    loop {
        child = match child {
            Child::Token(token) => return token,
            Child::Node(node) => match tree.node(node).kind {
                BinaryKind::Unary(only) => only,
                BinaryKind::Binary { left, head: Side::Left, .. } => left,
                BinaryKind::Binary { right, head: Side::Right, .. } => right,
            },
        };
    }
}

/// One line per node: `S: = NP *1`, where `*` marks the head and numbers are words.
fn show(tree: &BinaryTree) -> String {
    let child = |child: Child| match child {
        Child::Token(token) => token.index().to_string(),
        Child::Node(node) => tree.node(node).symbol().to_string(),
    };
    let line = |(_, node): (NodeId, &BinaryNode)| match node.kind {
        BinaryKind::Unary(only) => format!("{} = {}", node.symbol(), child(only)),
        BinaryKind::Binary { left, right, head: Side::Left } => {
            format!("{} = *{} {}", node.symbol(), child(left), child(right))
        }
        BinaryKind::Binary { left, right, head: Side::Right } => {
            format!("{} = {} *{}", node.symbol(), child(left), child(right))
        }
    };
    tree.nodes().map(line).collect::<Vec<_>>().join("\n")
}

/// A flat constituent `X` over the given tags with the head at `head`.
#[track_caller]
fn check_flat(tags: &[&str], head: usize, order: usize, expected: &str) {
    let sentence = Sentence::from_tagged(tags.iter().map(|&tag| ("w", tag)));
    let mut builder = TreeBuilder::with_tokens(tags.len());
    let x = builder.node("X");
    (0..tags.len()).for_each(|i| builder.attach(Child::Token(TokenIdx::new(i)), x));
    let tree = builder.finish().unwrap();
    assert_eq!(show(&binarize_with_heads(&tree, &sentence, &[head], order)), expected);
}

#[test]
fn left_sisters_come_first() {
    check_flat(&["A", "B", "H", "C", "D"], 2, 0, "X: = 1 *2\nX: = 0 *X:\nX: = *X: 3\nX = *X: 4");
    check_flat(&["H"], 0, 0, "X = 0");
    check_flat(&["A", "H"], 1, 0, "X = 0 *1");
}

#[test]
fn a_history_holds_the_latest_sisters() {
    check_flat(
        &["A", "B", "H", "C", "D"],
        2,
        2,
        "X:<B> = 1 *2\nX:<B,A> = 0 *X:<B>\nX:<A,C> = *X:<B,A> 3\nX = *X:<A,C> 4",
    );
    check_flat(&["A", "B", "H", "C"], 2, 1, "X:<B> = 1 *2\nX:<A> = 0 *X:<B>\nX = *X:<A> 3");
}

/// The derivation of table 1, found as the paper describes its oracle.
#[test]
fn table_1_comes_out() {
    let (sentence, tree) = spielraum();
    let binary = binarize(&tree, &sentence, &HeadRules::named("german").unwrap(), 0);
    let parents = binary.parents();
    let token_parents = binary.token_parents();
    let parent = |child: Child| match child {
        Child::Token(token) => Some(token_parents[token.index()]),
        Child::Node(node) => parents[node.index()],
    };
    let (mut stack, mut deque, mut next, mut actions) = (Vec::new(), Vec::new(), 0, Vec::new());
    loop {
        let mate =
            |s: &&Child| parent(**s).is_some() && parent(**s) == deque.last().copied().and_then(parent);
        match stack.iter().rev().position(|s| mate(&s)) {
            Some(gaps) => {
                // The deque is written with its nearest element last.
                for _ in 0..gaps {
                    actions.push("GAP".to_owned());
                    deque.insert(0, stack.pop().unwrap());
                }
                let (s0, d0) = (stack.pop().unwrap(), deque.pop().unwrap());
                let id = parent(d0).unwrap();
                let (first, second, head) = binary.by_rightmost(id).unwrap();
                assert_eq!((first, second), (s0, d0));
                let side = if head == Side::Left { "L" } else { "R" };
                actions.push(format!("R{side}({})", binary.node(id).symbol()));
                stack.append(&mut deque);
                deque.push(Child::Node(id));
            }
            None if next < 5 => {
                actions.push("SH".to_owned());
                stack.append(&mut deque);
                deque.push(Child::Token(TokenIdx::new(next)));
                next += 1;
            }
            None => break,
        }
    }
    assert_eq!(actions.join(" "), "SH SH SH SH SH RR(NP) GAP GAP RR(NP) GAP RL(S:) RR(S)");
    assert_eq!(head_word(&binary, Child::Node(binary.root())).index(), 1);
    let temporary = binary.nodes().find(|(_, node)| node.is_temporary).unwrap().1;
    // Section 2.3 says that the left index of S: is 1; by its own definition it is that of "Es".
    assert_eq!(
        (temporary.leftmost().index(), temporary.rightmost().index(), temporary.n_tokens()),
        (0, 4, 4)
    );
}

#[test]
fn labels_that_look_temporary_are_protected_in_text() {
    let (sentence, tree) = spielraum();
    let rules = HeadRules::named("german").unwrap();
    let mut nasty = tree.clone();
    *nasty.label_mut(NodeId::new(0)) = "NP:".into();
    *nasty.label_mut(NodeId::new(1)) = "NP:<A>\\".into();
    let written = binarize_tree(&nasty, &sentence, &rules, 0);
    let labels: Vec<&str> = written.nodes().map(|(_, node)| node.label.as_str()).collect();
    assert_eq!(labels, ["NP:\\", "NP:<A>\\\\", "S:", "S"]);
    assert_eq!(unbinarize_tree(&written), nasty);
}

#[test]
fn a_temporary_root_stays() {
    let mut builder = BinaryTreeBuilder::with_tokens(2);
    let word = |i| Child::Token(TokenIdx::new(i));
    builder.binary("S", true, word(1), word(0), Side::Left);
    let binary = builder.finish().unwrap();
    assert_eq!(show(&binary), "S: = 0 *1");
    assert_eq!(binary.unbinarize().node(NodeId::new(0)).label, "S");
}

#[test]
fn what_is_no_tree_is_refused() {
    #[track_caller]
    fn check(n_tokens: usize, build: impl Fn(&mut BinaryTreeBuilder), expected: TreeError) {
        let mut builder = BinaryTreeBuilder::with_tokens(n_tokens);
        build(&mut builder);
        assert_eq!(builder.finish(), Err(expected));
    }
    let word = |i| Child::Token(TokenIdx::new(i));
    check(1, |_| (), TreeError::Empty);
    check(
        2,
        |b| {
            b.unary("S", word(0));
        },
        TreeError::Unattached(TokenIdx::new(1)),
    );
    check(
        1,
        |b| {
            b.unary("S", word(1));
        },
        TreeError::TwoParents(TokenIdx::new(1)),
    );
    check(
        1,
        |b| {
            b.binary("S", false, word(0), word(0), Side::Left);
        },
        TreeError::TwoParents(TokenIdx::new(0)),
    );
    check(
        2,
        |b| {
            (0..2).for_each(|i| {
                b.unary("S", word(i));
            });
        },
        TreeError::Unrooted(0),
    );
    let shared = |b: &mut BinaryTreeBuilder| {
        let below = Child::Node(b.unary("A", word(0)));
        b.binary("S", false, below, below, Side::Left);
    };
    check(1, shared, TreeError::TwoParents(TokenIdx::new(0)));
}

#[test]
fn deep_and_wide_trees() {
    let rules = HeadRules::named("rightmost").unwrap();
    let (sentence, tree) = deep_tree(100_000);
    let binary = binarize(&tree, &sentence, &rules, 1);
    assert_eq!(binary.unbinarize(), tree);
    assert_eq!(unbinarize_tree(&binarize_tree(&tree, &sentence, &rules, 1)), tree);
    let (sentence, tree) = wide_tree(1_000_000);
    let binary = binarize(&tree, &sentence, &rules, 1);
    assert_eq!(binary.n_nodes(), 999_999);
    assert_eq!(binary.unbinarize(), tree);
}

proptest! {
    /// The inverse law, and what holds of every binarised tree.
    #[test]
    fn unbinarize_is_the_inverse(
        (sentence, tree) in constituents(12, Shape::NASTY),
        rules in 0..5usize,
        order in 0..4usize,
    ) {
        let name = HeadRules::built_in().nth(rules).unwrap().0;
        let rules = HeadRules::named(name).unwrap();
        let binary = binarize(&tree, &sentence, &rules, order);
        let mut plain = tree.clone();
        plain.clear_edges();
        plain.clear_secondary_edges();
        prop_assert_eq!(&binary.unbinarize(), &plain);
        prop_assert_eq!(&unbinarize_tree(&binarize_tree(&tree, &sentence, &rules, order)), &tree);
        // The head words are those of the constituents.
        let heads = rules.lexical_heads(&tree, &sentence);
        let permanent = binary.nodes().filter(|(_, node)| !node.is_temporary);
        for ((id, _), &head) in permanent.zip(&heads) {
            prop_assert_eq!(head_word(&binary, Child::Node(id)), head);
        }
        let n_permanent = binary.nodes().filter(|(_, node)| !node.is_temporary).count();
        prop_assert_eq!(n_permanent, tree.n_nodes());
        let parents = binary.parents();
        for (id, node) in binary.nodes() {
            if let BinaryKind::Binary { left, right, .. } = node.kind {
                let leftmost = |child| match child {
                    Child::Token(token) => token,
                    Child::Node(node) => binary.node(node).leftmost(),
                };
                prop_assert!(leftmost(left) < leftmost(right));
            }
            if node.is_temporary {
                // A temporary is the head of a node with the same label.
                let above = parents[id.index()].unwrap();
                prop_assert_eq!(&binary.node(above).label, &node.label);
                prop_assert_eq!(head_word(&binary, Child::Node(above)), head_word(&binary, Child::Node(id)));
                let is_binary = matches!(node.kind, BinaryKind::Binary { .. });
                prop_assert!(is_binary);
                prop_assert!(order > 0 || node.history.is_empty());
            }
        }
    }

    /// Building the same nodes in another order gives the same tree.
    #[test]
    fn the_builder_is_canonical((sentence, tree) in constituents(10, Shape::DISCONTINUOUS)) {
        let binary = binarize(&tree, &sentence, &HeadRules::named("leftmost").unwrap(), 0);
        let mut builder = BinaryTreeBuilder::with_tokens(tree.n_tokens());
        // By size, which is another order in which children come first; words and sides swapped.
        let mut order: Vec<NodeId> = binary.nodes().map(|(id, _)| id).collect();
        order.sort_by_key(|&id| binary.node(id).n_tokens());
        let mut becomes = vec![None; binary.n_nodes()];
        for id in order {
            let node = binary.node(id);
            let renamed = |child: Child| match child {
                Child::Node(node) => Child::Node(becomes[node.index()].unwrap()),
                token => token,
            };
            becomes[id.index()] = Some(match node.kind {
                BinaryKind::Unary(child) => builder.unary(node.label.clone(), renamed(child)),
                BinaryKind::Binary { left, right, head } => builder.binary(
                    node.label.clone(), node.is_temporary, renamed(right), renamed(left), head.flipped(),
                ),
            });
        }
        prop_assert_eq!(builder.finish().unwrap(), binary);
    }
}
