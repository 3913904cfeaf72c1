//! Pseudo-projective dependencies (Nivre and Nilsson 2005): non-projective arcs are lifted until the tree is
//! projective, and the relations say how to undo it.
//!
//! The shortest non-projective arc (ties go to the one whose dependent stands first) is lifted to the head's head,
//! until there is none. With `d` the relation of the lifted word, `h` that of its original head and `p` that of a
//! word on the way from there to the new head, relations become
//!
//! | encoding    | lifted | on the way |
//! |-------------|--------|------------|
//! | `head`      | `d↑h`  | `p`        |
//! | `path`      | `d↑`   | `p↓`       |
//! | `head+path` | `d↑h`  | `p↓`       |
//!
//! `↑`, `↓` and `\` in original relations are written with a `\` before them, so relations are always restored
//! exactly. Heads are looked for again below the new head, breadth first and from left to right: `head` takes the
//! first word with the relation `h`, `path` the first at which a way ends. That does not always give back the original
//! head (`docs/log/2026-11.md`).
//!
//! Deviation: for `head+path` the paper takes the first word on a way with the relation `h`; we prefer one at which
//! the way also ends, which restores more.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::ids::TokenIdx;
use crate::sentence::Str;
use crate::tree::DependencyTree;
use crate::tree::edit::push_escaped;

/// What the relations of lifted arcs remember.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PseudoProjective {
    /// The relation of the original head.
    Head,
    /// The way down to the original head.
    Path,
    /// Both.
    HeadPath,
}

impl PseudoProjective {
    /// All encodings with their names.
    pub const ALL: [(&'static str, PseudoProjective); 3] = [
        ("head", PseudoProjective::Head),
        ("path", PseudoProjective::Path),
        ("head+path", PseudoProjective::HeadPath),
    ];

    /// The encoding of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|&(_, encoding)| encoding)
    }

    fn marks_head(self) -> bool {
        self != PseudoProjective::Path
    }

    fn marks_path(self) -> bool {
        self != PseudoProjective::Head
    }
}

/// Lifts arcs until the tree is projective, and encodes the lifts in the relations.
///
/// Time is near-linear in the length of the sentence plus, for each lift, in the words under the arcs of one head.
///
/// # Panics
/// When the heads have a cycle or lie outside the sentence.
pub fn projectivize(tree: &DependencyTree, encoding: PseudoProjective) -> DependencyTree {
    let n = tree.len();
    assert!(tree.find_cycle().is_none(), "the heads of a tree have no cycle");
    let mut lifting = Lifting::new(tree);
    lifting.run();
    let mut is_on_path = vec![false; n];
    let mut way = Vec::new();
    let mut result = DependencyTree { arcs: tree.arcs.clone() };
    for d in 0..n {
        let arc = &mut result.arcs[d];
        arc.head = lifting.heads[d].map(TokenIdx::new);
        arc.label = escape(&tree.arcs[d].label);
        let original = tree.arcs[d].head.map(TokenIdx::index);
        if original == lifting.heads[d] {
            continue;
        }
        arc.label.push('↑');
        if encoding.marks_head() {
            let original = original.expect("an arc from the root is never lifted");
            arc.label.push_str(&escape(&tree.arcs[original].label));
        }
        // The way is read in the projective tree, where it will be looked for. If the original head was itself
        // lifted past the new one, there is no way to be marked.
        way.clear();
        let mut at = original;
        while let Some(word) = at.filter(|_| at != lifting.heads[d]) {
            way.push(word);
            at = lifting.heads[word];
        }
        if at == lifting.heads[d] {
            way.iter().for_each(|&word| is_on_path[word] = true);
        }
    }
    if encoding.marks_path() {
        for (arc, _) in result.arcs.iter_mut().zip(is_on_path).filter(|(_, is_on_path)| *is_on_path) {
            arc.label.push('↓');
        }
    }
    result
}

/// The inverse of [`projectivize`], as far as the encoding allows. Any tree is accepted, even one that a parser has
/// made up; a lifted arc whose original head is not found stays where it is.
///
/// # Panics
/// When the heads have a cycle or lie outside the sentence.
pub fn deprojectivize(tree: &DependencyTree, encoding: PseudoProjective) -> DependencyTree {
    let n = tree.len();
    assert!(tree.find_cycle().is_none(), "the heads of a tree have no cycle");
    let marks: Vec<Marks> = tree.arcs.iter().map(|arc| Marks::read(&arc.label)).collect();
    let mut result = DependencyTree { arcs: tree.arcs.clone() };
    for (arc, marks) in result.arcs.iter_mut().zip(&marks) {
        arc.label = marks.relation.clone();
    }
    let mut children = children(tree);
    // Lifted arcs are undone from the top, level by level and from left to right, as they are met in the
    // projective tree.
    let mut order: Vec<usize> = Vec::with_capacity(n);
    order.extend(&children[n]);
    let mut next = 0;
    while next < order.len() {
        order.extend(&children[order[next]]);
        next += 1;
    }
    let mut queue = VecDeque::new();
    for d in order {
        let Some(wanted) = &marks[d].lifted else { continue };
        let from = result.arcs[d].head.map_or(n, TokenIdx::index);
        queue.clear();
        let enter = |queue: &mut VecDeque<usize>, word: usize, children: &[Vec<usize>]| {
            let may_enter = |&c: &usize| c != d && (!encoding.marks_path() || marks[c].is_on_path);
            queue.extend(children[word].iter().copied().filter(may_enter));
        };
        enter(&mut queue, from, &children);
        let (mut found, mut second_best) = (None, None);
        while let Some(word) = queue.pop_front() {
            // The way ends where no marked arc leads on.
            let is_end = || !children[word].iter().any(|&c| c != d && marks[c].is_on_path);
            let has_relation = marks[word].relation == *wanted;
            if (!encoding.marks_head() || has_relation) && (!encoding.marks_path() || is_end()) {
                found = Some(word);
                break;
            }
            // With ways that share a part, the wanted one may end in the middle of another.
            if has_relation && encoding.marks_head() {
                second_best = second_best.or(Some(word));
            }
            enter(&mut queue, word, &children);
        }
        if let Some(head) = found.or(second_best) {
            result.arcs[d].head = Some(TokenIdx::new(head));
            move_child(&mut children, d, from, head);
        }
    }
    result
}

/// The dependents of each word from left to right, and last those of the artificial root.
fn children(tree: &DependencyTree) -> Vec<Vec<usize>> {
    let mut children = vec![Vec::new(); tree.len() + 1];
    for (d, arc) in tree.arcs.iter().enumerate() {
        children[arc.head.map_or(tree.len(), TokenIdx::index)].push(d);
    }
    children
}

/// Moves a word from the dependents of one head to those of another.
fn move_child(children: &mut [Vec<usize>], d: usize, from: usize, to: usize) {
    let at = children[from].binary_search(&d).expect("a head knows its dependents");
    children[from].remove(at);
    let at = children[to].partition_point(|&child| child < d);
    children[to].insert(at, d);
}

/// The tree while arcs are being lifted.
struct Lifting {
    heads: Vec<Option<usize>>,
    children: Vec<Vec<usize>>,
    is_nonprojective: Vec<bool>,
    /// Candidates: length, dependent. Entries may be out of date.
    shortest: BinaryHeap<Reverse<(usize, usize)>>,
    /// For the check of one arc: when a word was last seen, and whether it was dominated.
    seen: Vec<(u32, bool)>,
    n_checks: u32,
    trail: Vec<usize>,
}

impl Lifting {
    fn new(tree: &DependencyTree) -> Self {
        let n = tree.len();
        let heads: Vec<Option<usize>> = tree.arcs.iter().map(|arc| arc.head.map(TokenIdx::index)).collect();
        let children = children(tree);
        let is_nonprojective = tree.nonprojective_arcs();
        let candidates = (0..n).filter(|&d| is_nonprojective[d]);
        let length = |d: usize| heads[d].map_or(0, |head| head.abs_diff(d));
        let shortest = candidates.map(|d| Reverse((length(d), d))).collect();
        let (seen, trail) = (vec![(0, false); n], Vec::new());
        Lifting { heads, children, is_nonprojective, shortest, seen, n_checks: 0, trail }
    }

    fn run(&mut self) {
        while let Some(Reverse((length, d))) = self.shortest.pop() {
            let Some(head) = self.heads[d].filter(|head| head.abs_diff(d) == length) else { continue };
            if !self.is_nonprojective[d] {
                continue;
            }
            let above = self.heads[head];
            self.heads[d] = above;
            let n = self.heads.len();
            move_child(&mut self.children, d, head, above.unwrap_or(n));
            // Only what `head` dominates has changed: its own arcs and the new one are looked at again.
            self.is_nonprojective[d] = false;
            self.recheck(d);
            for i in 0..self.children[head].len() {
                self.recheck(self.children[head][i]);
            }
        }
    }

    /// Looks again at an arc that was projective or is new. Others stay non-projective until they are lifted, since
    /// a head only loses words.
    fn recheck(&mut self, d: usize) {
        let Some(head) = self.heads[d] else { return };
        if !self.is_nonprojective[d] && self.crosses(head, d) {
            self.is_nonprojective[d] = true;
            self.shortest.push(Reverse((head.abs_diff(d), d)));
        }
    }

    /// Is some word between them not dominated by the head?
    fn crosses(&mut self, head: usize, d: usize) -> bool {
        self.n_checks += 1;
        let check = self.n_checks;
        self.seen[head] = (check, true);
        for word in head.min(d) + 1..head.max(d) {
            let mut at = Some(word);
            self.trail.clear();
            let is_dominated = loop {
                match at {
                    None => break false,
                    Some(word) if self.seen[word].0 == check => break self.seen[word].1,
                    Some(word) => {
                        self.trail.push(word);
                        at = self.heads[word];
                    }
                }
            };
            if !is_dominated {
                return true;
            }
            for &word in &self.trail {
                self.seen[word] = (check, true);
            }
        }
        false
    }
}

/// What a relation of an encoded tree says.
struct Marks {
    relation: Str,
    /// For a lifted arc, the relation of the original head; empty if that is not encoded.
    lifted: Option<Str>,
    is_on_path: bool,
}

impl Marks {
    fn read(label: &str) -> Self {
        let mut marks = Marks { relation: Str::default(), lifted: None, is_on_path: false };
        let mut chars = label.chars();
        while let Some(c) = chars.next() {
            match c {
                '↑' if marks.lifted.is_none() => marks.lifted = Some(Str::default()),
                '↓' => marks.is_on_path = true,
                c => {
                    // A backslash at the end was not written by us; it stands for itself.
                    let c = if c == '\\' { chars.next().unwrap_or('\\') } else { c };
                    marks.lifted.as_mut().unwrap_or(&mut marks.relation).push(c);
                }
            }
        }
        marks
    }
}

fn escape(label: &str) -> Str {
    let mut escaped = Str::default();
    push_escaped(&mut escaped, label, &['↑', '↓']);
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Arc;
    use crate::tree::arbitrary::dependencies;
    use proptest::prelude::*;

    /// A tree from heads (0 is the root) and relations.
    fn tree(text: &str) -> DependencyTree {
        let arc = |word: &str| {
            let (head, label) = word.split_once(':').unwrap();
            let head: usize = head.parse().unwrap();
            Arc { head: head.checked_sub(1).map(TokenIdx::new), label: label.into() }
        };
        DependencyTree { arcs: text.split_whitespace().map(arc).collect() }
    }

    #[track_caller]
    fn check(original: &str, encoding: PseudoProjective, expected: &str) {
        let encoded = projectivize(&tree(original), encoding);
        assert_eq!(encoded, tree(expected));
        assert_eq!(deprojectivize(&encoded, encoding), tree(original));
    }

    /// The Czech sentence of figures 1 and 2 in the paper: "Z nich je jen jedna na kvalitu." with its relations.
    const CZECH: &str = "3:AuxP 1:Atr 0:Pred 5:AuxZ 3:Sb 3:AuxP 6:Adv 0:AuxK";

    #[test]
    fn the_example_of_the_paper() {
        // "Z" depends on "jedna" (5), across "je" (3).
        let original = CZECH.replacen("3:AuxP", "5:AuxP", 1);
        check(&original, PseudoProjective::Head, &CZECH.replacen("AuxP", "AuxP↑Sb", 1));
        let path = CZECH.replacen("AuxP", "AuxP↑", 1).replace("3:Sb", "3:Sb↓");
        check(&original, PseudoProjective::Path, &path);
        let both = CZECH.replacen("AuxP", "AuxP↑Sb", 1).replace("3:Sb", "3:Sb↓");
        check(&original, PseudoProjective::HeadPath, &both);
    }

    #[test]
    fn the_shortest_arc_is_lifted_first() {
        // 4 -> 1 crosses 2 and 3, 4 -> 2 crosses 3: the shorter one is lifted first, then the longer one.
        check("4:a 4:b 0:r 3:c", PseudoProjective::Head, "3:a↑c 3:b↑c 0:r 3:c");
    }

    #[test]
    fn an_arc_may_be_lifted_more_than_once() {
        // 1 hangs from 5, which hangs from 4, which hangs from 3.
        check("5:a 3:b 0:r 3:c 4:d", PseudoProjective::Head, "3:a↑d 3:b 0:r 3:c 4:d");
        check("5:a 3:b 0:r 3:c 4:d", PseudoProjective::Path, "3:a↑ 3:b 0:r 3:c↓ 4:d↓");
    }

    #[test]
    fn the_end_of_the_way_is_preferred() {
        // 1 hangs from 5; on the way, 4 has the same relation as 5.
        check("5:a 3:b 0:r 3:c 4:c", PseudoProjective::HeadPath, "3:a↑c 3:b 0:r 3:c↓ 4:c↓");
        // The relation alone finds the wrong one.
        let encoded = projectivize(&tree("5:a 3:b 0:r 3:c 4:c"), PseudoProjective::Head);
        assert_eq!(deprojectivize(&encoded, PseudoProjective::Head), tree("4:a 3:b 0:r 3:c 4:c"));
        // Two words with ways through 4, which end at 5 and at 4: the relation tells them apart.
        let both = "5:a 4:b 0:r 3:c 4:d";
        check(both, PseudoProjective::HeadPath, "3:a↑d 3:b↑c 0:r 3:c↓ 4:d↓");
    }

    #[test]
    fn marks_in_relations_are_protected() {
        check("4:↑ 0:r 2:\\ 2:↓", PseudoProjective::HeadPath, "2:\\↑↑\\↓ 0:r 2:\\\\ 2:\\↓↓");
    }

    #[test]
    fn a_head_that_is_not_found_leaves_the_arc() {
        for (_, encoding) in PseudoProjective::ALL {
            assert_eq!(deprojectivize(&tree("2:a↑x 0:r 2:b"), encoding), tree("2:a 0:r 2:b"));
            assert_eq!(deprojectivize(&tree("0:a↑a↑\\"), encoding), tree("0:a"));
        }
    }

    #[test]
    fn long_sentences() {
        // Pairs of crossing arcs all along a million words: (h d h' d') with h -> d and h' -> d' over each other.
        let n = 1_000_000;
        let head = |i: usize| match i % 4 {
            0 => i.checked_sub(4),
            1 => Some(i + 2),
            _ => Some(i - i % 4),
        };
        let tree = DependencyTree::from_heads((0..n).map(head));
        let encoded = projectivize(&tree, PseudoProjective::Path);
        assert!(!tree.is_projective() && encoded.is_projective());
        assert_eq!(deprojectivize(&encoded, PseudoProjective::Path), tree);
        // A chain of 100,000 words.
        let chain = DependencyTree::from_heads((0..100_000usize).map(|i| i.checked_sub(1)));
        let encoded = projectivize(&chain, PseudoProjective::Head);
        assert_eq!(encoded, chain);
        assert_eq!(deprojectivize(&encoded, PseudoProjective::Head), chain);
    }

    /// The definition, literally: look at every arc after every lift.
    fn lifted_slowly(tree: &DependencyTree) -> Vec<Option<TokenIdx>> {
        let mut tree = tree.clone();
        loop {
            let bad = tree.nonprojective_arcs();
            let length = |d: usize| tree.arcs[d].head.map_or(0, |head| head.index().abs_diff(d));
            let Some(d) = (0..tree.len()).filter(|&d| bad[d]).min_by_key(|&d| (length(d), d)) else { break };
            let head = tree.arcs[d].head.expect("arcs from the root are projective");
            tree.arcs[d].head = tree.head(head);
        }
        tree.arcs.iter().map(|arc| arc.head).collect()
    }

    const RELATIONS: &[&str] = &["a", "b", "c↑", "↓", "\\", ""];

    proptest! {
        #[test]
        fn the_result_is_projective(tree in dependencies(12, false, RELATIONS)) {
            let heads = lifted_slowly(&tree);
            for (_, encoding) in PseudoProjective::ALL {
                let encoded = projectivize(&tree, encoding);
                prop_assert!(encoded.is_projective());
                prop_assert_eq!(&encoded.arcs.iter().map(|arc| arc.head).collect::<Vec<_>>(), &heads);
                // Relations always come back; the result is a tree with the same root.
                let decoded = deprojectivize(&encoded, encoding);
                prop_assert!(decoded.find_cycle().is_none());
                prop_assert_eq!(decoded.roots().collect::<Vec<_>>(), tree.roots().collect::<Vec<_>>());
                for (new, old) in decoded.arcs.iter().zip(&tree.arcs) {
                    prop_assert_eq!(&new.label, &old.label);
                }
                // Relations that all differ tell every head, as long as heads were not lifted themselves.
                let mut distinct = tree.clone();
                for (i, arc) in distinct.arcs.iter_mut().enumerate() {
                    arc.label = format!("r{i}").into();
                }
                let is_lifted = |d: usize| heads[d] != tree.arcs[d].head;
                let nested = (0..tree.len()).any(|d| is_lifted(d) && {
                    let mut at = tree.arcs[d].head;
                    std::iter::from_fn(|| { let now = at?; at = tree.head(now); Some(now) })
                        .any(|above| is_lifted(above.index()))
                });
                if encoding == PseudoProjective::Head && !nested {
                    prop_assert_eq!(deprojectivize(&projectivize(&distinct, encoding), encoding), distinct);
                }
            }
        }

        #[test]
        fn projective_trees_do_not_change(tree in dependencies(12, true, RELATIONS)) {
            for (_, encoding) in PseudoProjective::ALL {
                let encoded = projectivize(&tree, encoding);
                prop_assert!(encoded.arcs.iter().zip(&tree.arcs).all(|(new, old)| new.head == old.head));
                prop_assert_eq!(&deprojectivize(&encoded, encoding), &tree);
            }
        }

        #[test]
        fn any_encoded_tree_is_accepted(tree in dependencies(10, false, &["a↑a", "a↓", "b↑↓", "a", "↑", "\\"])) {
            for (_, encoding) in PseudoProjective::ALL {
                prop_assert!(deprojectivize(&tree, encoding).find_cycle().is_none());
            }
        }
    }
}
