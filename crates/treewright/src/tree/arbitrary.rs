//! Random trees for property tests.
//!
//! A tree is made from a size and a seed, so a failing case shrinks to a shorter sentence. Any tree can come out:
//! unary chains, wide and deep nodes, and, if asked for, any discontinuity.

use proptest::prelude::*;

use crate::ids::TokenIdx;
use crate::sentence::{Sentence, Str, Token};
use crate::tree::{Arc, Child, ConstituentTree, DependencyTree, TreeBuilder};

/// A small deterministic generator (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct Rng(pub u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which must not be 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// True once in `times`.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of the choices.
    pub(crate) fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }
}

/// What random constituent trees may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape<'a> {
    pub discontinuous: bool,
    /// Edge labels.
    pub edges: bool,
    /// Edges to second parents.
    pub secondary: bool,
    /// Constituents with one child.
    pub unaries: bool,
    pub labels: &'a [&'a str],
    pub tags: &'a [&'a str],
}

/// Ordinary labels.
pub(crate) const LABELS: &[&str] = &["S", "NP", "VP", "PP", "AP"];
/// Ordinary tags.
pub(crate) const TAGS: &[&str] = &["N", "V", "P", "D", "A", "CC", ","];
/// Labels that a careless encoding confuses with its own marks.
pub(crate) const NASTY_LABELS: &[&str] = &[
    "S", "NP", "X:", "X:<NP>", ":", "\\", "X:\\", "S+VP", "+", "S\\+", "NP-SBJ-1", "-LRB-", "|", "A=1", "<",
    "é:", "",
];

impl Shape<'_> {
    /// Continuous trees with ordinary labels.
    pub(crate) const CONTINUOUS: Shape<'static> = Shape {
        discontinuous: false,
        edges: false,
        secondary: false,
        unaries: true,
        labels: LABELS,
        tags: TAGS,
    };
    /// Discontinuous trees with ordinary labels.
    pub(crate) const DISCONTINUOUS: Shape<'static> = Shape { discontinuous: true, ..Shape::CONTINUOUS };
    /// Everything, with labels that look like marks.
    pub(crate) const NASTY: Shape<'static> =
        Shape { edges: true, secondary: true, labels: NASTY_LABELS, ..Shape::DISCONTINUOUS };
}

/// Words `w0 w1 ..` with random tags.
pub(crate) fn sentence(rng: &mut Rng, n_tokens: usize, tags: &[&str]) -> Sentence {
    let tokens = (0..n_tokens).map(|i| Token::new(format!("w{i}"), rng.pick(tags))).collect();
    Sentence { tokens, ..Sentence::default() }
}

/// A random tree over `n_tokens` words, at least one.
pub(crate) fn constituent_tree(rng: &mut Rng, n_tokens: usize, shape: Shape<'_>) -> ConstituentTree {
    let mut builder = TreeBuilder::with_tokens(n_tokens);
    let mut open: Vec<Child> = (0..n_tokens).map(|i| Child::Token(TokenIdx::new(i))).collect();
    loop {
        let can_grow = matches!(open[..], [Child::Token(_)]) || (shape.unaries && rng.once_in(4));
        if open.len() == 1 && !can_grow {
            break;
        }
        let least = if open.len() == 1 || (shape.unaries && rng.once_in(4)) { 1 } else { 2 };
        let most = if rng.once_in(3) { open.len().max(2) - 1 } else { 3 };
        let wanted = if least == 1 { 1 } else { 2 + rng.below(most) };
        let wanted = wanted.min(open.len());
        let node = builder.node(rng.pick(shape.labels));
        if shape.discontinuous {
            for _ in 0..wanted {
                let child = open.remove(rng.below(open.len()));
                builder.attach(child, node);
            }
            let at = rng.below(open.len() + 1);
            open.insert(at, Child::Node(node));
        } else {
            let at = rng.below(open.len() - wanted + 1);
            open.drain(at..at + wanted).for_each(|child| builder.attach(child, node));
            open.insert(at, Child::Node(node));
        }
    }
    if shape.edges {
        let edges = ["", "HD", "SB", "X:"];
        for i in 0..builder.n_nodes() {
            builder.set_edge(crate::ids::NodeId::new(i), rng.pick(&edges));
        }
        for i in 0..n_tokens {
            builder.set_token_edge(TokenIdx::new(i), rng.pick(&edges));
        }
    }
    if shape.secondary {
        for _ in 0..rng.below(3) {
            let parent = crate::ids::NodeId::new(rng.below(builder.n_nodes()));
            let child = match rng.below(2) {
                0 => Child::Token(TokenIdx::new(rng.below(n_tokens))),
                _ => Child::Node(crate::ids::NodeId::new(rng.below(builder.n_nodes()))),
            };
            builder.secondary(child, "RE", parent);
        }
    }
    builder.finish().expect("merging until one node is left gives a tree")
}

/// Random sentences of up to `max_tokens` words with random trees.
pub(crate) fn constituents(
    max_tokens: usize,
    shape: Shape<'static>,
) -> impl Strategy<Value = (Sentence, ConstituentTree)> {
    (1..=max_tokens, any::<u64>()).prop_map(move |(n_tokens, seed)| {
        let mut rng = Rng(seed);
        let sentence = sentence(&mut rng, n_tokens, shape.tags);
        let tree = constituent_tree(&mut rng, n_tokens, shape);
        (sentence, tree)
    })
}

/// A random dependency tree with one root; labels from `labels`.
pub(crate) fn dependency_tree(
    rng: &mut Rng,
    n_tokens: usize,
    projective: bool,
    labels: &[&str],
) -> DependencyTree {
    let mut arcs = vec![Arc::default(); n_tokens];
    for arc in &mut arcs {
        arc.label = rng.pick(labels).into();
    }
    if projective {
        // Each interval of words gets a head, which gets the parts on both sides of it, each in one or more pieces.
        let mut todo: Vec<(usize, usize, Option<usize>)> = vec![(0, n_tokens, None)];
        while let Some((left, right, head)) = todo.pop() {
            if left == right {
                continue;
            }
            // Below the root there may be several sisters; the root itself has one dependent.
            let cut =
                if head.is_some() && rng.once_in(2) { left + 1 + rng.below(right - left) } else { right };
            todo.push((cut, right, head));
            let top = left + rng.below(cut - left);
            arcs[top].head = head.map(TokenIdx::new);
            todo.push((left, top, Some(top)));
            todo.push((top + 1, cut, Some(top)));
        }
    } else {
        // In a random order, every word hangs from one before it.
        let mut order: Vec<usize> = (0..n_tokens).collect();
        for i in (1..n_tokens).rev() {
            order.swap(i, rng.below(i + 1));
        }
        for i in 1..n_tokens {
            arcs[order[i]].head = Some(TokenIdx::new(order[rng.below(i)]));
        }
    }
    DependencyTree { arcs }
}

/// Random dependency trees of up to `max_tokens` words.
pub(crate) fn dependencies(
    max_tokens: usize,
    projective: bool,
    labels: &'static [&'static str],
) -> impl Strategy<Value = DependencyTree> {
    (1..=max_tokens, any::<u64>())
        .prop_map(move |(n_tokens, seed)| dependency_tree(&mut Rng(seed), n_tokens, projective, labels))
}

/// A chain of `depth` constituents over one word, then a word to its right at each tenth level: deep and lopsided.
pub(crate) fn deep_tree(depth: usize) -> (Sentence, ConstituentTree) {
    let mut builder = TreeBuilder::default();
    let mut below = Child::Token(TokenIdx::new(0));
    let mut n_tokens = 1;
    for level in 0..depth {
        let node = builder.node(LABELS[level % LABELS.len()]);
        builder.attach(below, node);
        if level % 10 == 9 {
            builder.attach(Child::Token(TokenIdx::new(n_tokens)), node);
            n_tokens += 1;
        }
        below = Child::Node(node);
    }
    let tokens = (0..n_tokens).map(|_| Token { form: Str::from("w"), ..Token::new("", "N") }).collect();
    (Sentence { tokens, ..Sentence::default() }, builder.finish().expect("a chain is a tree"))
}

/// One constituent over `n_tokens` words.
pub(crate) fn wide_tree(n_tokens: usize) -> (Sentence, ConstituentTree) {
    let mut builder = TreeBuilder::with_tokens(n_tokens);
    let root = builder.node("S");
    (0..n_tokens).for_each(|i| builder.attach(Child::Token(TokenIdx::new(i)), root));
    let tokens = (0..n_tokens).map(|_| Token::new("w", "N")).collect();
    (Sentence { tokens, ..Sentence::default() }, builder.finish().expect("one node is a tree"))
}

/// "Es bestünde somit hinreichender Spielraum": figures 1 and 2 of Coavoux and Crabbé (2017).
pub(crate) fn spielraum() -> (Sentence, ConstituentTree) {
    let sentence = Sentence::from_tagged([
        ("Es", "PPER"),
        ("bestünde", "VVFIN"),
        ("somit", "PROAV"),
        ("hinreichender", "ADJA"),
        ("Spielraum", "NN"),
    ]);
    let mut builder = TreeBuilder::with_tokens(5);
    let (s, outer, inner) = (builder.node("S"), builder.node("NP"), builder.node("NP"));
    for (token, parent) in [(0, outer), (1, s), (2, s), (3, inner), (4, inner)] {
        builder.attach(Child::Token(TokenIdx::new(token)), parent);
    }
    builder.attach(Child::Node(outer), s);
    builder.attach(Child::Node(inner), outer);
    (sentence, builder.finish().unwrap())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generators_reach_what_they_promise() {
        let mut rng = Rng(7);
        let trees: Vec<_> =
            (0..300).map(|i| constituent_tree(&mut rng, 1 + i % 8, Shape::DISCONTINUOUS)).collect();
        assert!(trees.iter().any(|tree| tree.gap_degrees().iter().any(|&gaps| gaps > 1)));
        assert!(trees.iter().any(|tree| !tree.is_discontinuous() && tree.n_tokens() > 5));
        assert!(
            (0..300).all(|i| !constituent_tree(&mut rng, 1 + i % 8, Shape::CONTINUOUS).is_discontinuous())
        );
        assert!((0..300).all(|i| dependency_tree(&mut rng, 1 + i % 9, true, &["x"]).is_projective()));
        assert!((0..300).any(|i| !dependency_tree(&mut rng, 1 + i % 9, false, &["x"]).is_projective()));
        assert!((0..300).all(|i| dependency_tree(&mut rng, 1 + i % 9, false, &["x"]).find_cycle().is_none()));
        assert!((0..300).all(|i| dependency_tree(&mut rng, 1 + i % 9, true, &["x"]).roots().count() == 1));
    }
}
