//! Dependency trees: one head and one relation per word.

use crate::ids::TokenIdx;
use crate::sentence::Str;
use crate::tree::grouped::Grouped;

/// The arc that enters one word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arc {
    /// The word's head; `None` is the artificial root.
    pub head: Option<TokenIdx>,
    /// The relation.
    pub label: Str,
}

/// A dependency tree: `arcs[i]` enters word `i`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DependencyTree {
    /// One arc per word.
    pub arcs: Vec<Arc>,
}

/// The head and the relation of each word, in order, as in CoNLL-U: `2:nsubj 0:root`. Words count from 1, and 0 is the root.
impl std::fmt::Display for DependencyTree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, Arc { head, label }) in self.arcs.iter().enumerate() {
            let space = if i > 0 { " " } else { "" };
            let head = head.map_or(0, |head| head.index() + 1);
            write!(f, "{space}{head}:{}", if label.is_empty() { "_" } else { label })?;
        }
        Ok(())
    }
}

impl DependencyTree {
    /// A tree without relations, from heads; `None` is the root.
    pub fn from_heads(heads: impl IntoIterator<Item = Option<usize>>) -> Self {
        let arc = |head: Option<usize>| Arc { head: head.map(TokenIdx::new), label: Str::default() };
        DependencyTree { arcs: heads.into_iter().map(arc).collect() }
    }

    /// The number of words.
    pub fn len(&self) -> usize {
        self.arcs.len()
    }

    /// Has it no words?
    pub fn is_empty(&self) -> bool {
        self.arcs.is_empty()
    }

    /// The head of `token`; `None` is the root.
    pub fn head(&self, token: TokenIdx) -> Option<TokenIdx> {
        self.arcs[token.index()].head
    }

    /// The words whose head is the root.
    pub fn roots(&self) -> impl Iterator<Item = TokenIdx> + '_ {
        self.arcs.iter().enumerate().filter(|(_, arc)| arc.head.is_none()).map(|(i, _)| TokenIdx::new(i))
    }

    /// A word on a cycle, if there is one. A head outside the sentence counts as none.
    pub fn find_cycle(&self) -> Option<TokenIdx> {
        // 0 = unseen, 1 = on the current path, 2 = leads to the root.
        let mut mark = vec![0u8; self.len()];
        let mut path = Vec::new();
        for start in 0..self.len() {
            let mut at = Some(start);
            while let Some(i) = at {
                match mark[i] {
                    0 => {
                        mark[i] = 1;
                        path.push(i);
                        at = self.arcs[i].head.map(TokenIdx::index).filter(|&h| h < self.len());
                    }
                    1 => return Some(TokenIdx::new(i)),
                    _ => break,
                }
            }
            path.drain(..).for_each(|i| mark[i] = 2);
        }
        None
    }

    /// Which arcs are non-projective: some word strictly between head and dependent is not dominated by the head.
    /// Arcs from the root are projective by this definition (all words are dominated by the root).
    pub fn nonprojective_arcs(&self) -> Vec<bool> {
        // A word is dominated by h exactly if its enter time lies in h's interval: ask the least and the greatest
        // enter time inside the arc. Constant work per short arc, logarithmic per long one.
        let times = self.dominance_intervals();
        let extremes = Extremes::new(&times.enter);
        let is_nonprojective = |(d, arc): (usize, &Arc)| {
            let Some(h) = arc.head.map(TokenIdx::index) else { return false };
            let (l, r) = (h.min(d), h.max(d));
            l + 1 < r && {
                let (least, greatest) = extremes.within(l + 1, r);
                least < times.enter[h] || greatest > times.leave[h]
            }
        };
        self.arcs.iter().enumerate().map(is_nonprojective).collect()
    }

    /// Is every arc projective?
    pub fn is_projective(&self) -> bool {
        !self.nonprojective_arcs().contains(&true)
    }

    /// Enter and leave times of a walk over the tree: constant-time dominance.
    fn dominance_intervals(&self) -> Intervals {
        let n = self.len();
        // The artificial root is node 0, word i node i + 1.
        let slot = |arc: &Arc| arc.head.map_or(0, |head| head.index() + 1);
        let children = Grouped::by(self.arcs.iter().map(slot), n + 1);
        let (mut enter, mut leave) = (vec![0u32; n], vec![0u32; n]);
        let mut clock = 0;
        // Each entry is a node and how many of its children have been visited.
        let mut stack: Vec<(usize, usize)> = vec![(0, 0)];
        while let Some((node, visited)) = stack.pop() {
            if let Some(&child) = children.of(node).get(visited) {
                stack.push((node, visited + 1));
                clock += 1;
                enter[child as usize] = clock;
                stack.push((child as usize + 1, 0));
            } else if node > 0 {
                leave[node - 1] = clock;
            }
        }
        Intervals { enter, leave }
    }
}

/// When a walk over the tree enters each word and leaves its subtree.
struct Intervals {
    enter: Vec<u32>,
    leave: Vec<u32>,
}

/// Least and greatest value of any range of an array (a segment tree).
struct Extremes {
    tree: Vec<(u32, u32)>,
    n: usize,
}

impl Extremes {
    fn new(values: &[u32]) -> Self {
        let n = values.len();
        let mut tree = vec![(u32::MAX, 0); 2 * n];
        for (i, &value) in values.iter().enumerate() {
            tree[n + i] = (value, value);
        }
        for i in (1..n).rev() {
            tree[i] = Self::join(tree[2 * i], tree[2 * i + 1]);
        }
        Extremes { tree, n }
    }

    fn join(a: (u32, u32), b: (u32, u32)) -> (u32, u32) {
        (a.0.min(b.0), a.1.max(b.1))
    }

    fn within(&self, start: usize, end: usize) -> (u32, u32) {
        let (mut l, mut r, mut result) = (start + self.n, end + self.n, (u32::MAX, 0));
        while l < r {
            if l & 1 == 1 {
                result = Self::join(result, self.tree[l]);
                l += 1;
            }
            if r & 1 == 1 {
                r -= 1;
                result = Self::join(result, self.tree[r]);
            }
            l /= 2;
            r /= 2;
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::arbitrary::dependencies;
    use proptest::prelude::*;

    /// Does following heads from `word` lead to `head`?
    fn is_dominated(tree: &DependencyTree, word: usize, head: usize) -> bool {
        let mut at = Some(TokenIdx::new(word));
        while let Some(word) = at {
            if word.index() == head {
                return true;
            }
            at = tree.head(word);
        }
        false
    }

    /// The definition, literally.
    fn nonprojective_by_definition(tree: &DependencyTree) -> Vec<bool> {
        let crosses = |(d, arc): (usize, &Arc)| {
            arc.head.is_some_and(|head| {
                let head = head.index();
                (head.min(d) + 1..head.max(d)).any(|word| !is_dominated(tree, word, head))
            })
        };
        tree.arcs.iter().enumerate().map(crosses).collect()
    }

    #[track_caller]
    fn check_cycle(heads: &[Option<usize>], on_cycle: &[usize]) {
        let found = DependencyTree::from_heads(heads.iter().copied()).find_cycle().map(TokenIdx::index);
        match found {
            Some(word) => assert!(on_cycle.contains(&word), "{word} is not on a cycle"),
            None => assert!(on_cycle.is_empty(), "the cycle was not found"),
        }
    }

    #[test]
    fn cycles() {
        check_cycle(&[], &[]);
        check_cycle(&[None, Some(0), Some(1)], &[]);
        check_cycle(&[Some(0)], &[0]);
        check_cycle(&[Some(1), Some(2), Some(1), None], &[1, 2]);
        check_cycle(&[None, Some(3), Some(1), Some(2), Some(1)], &[1, 2, 3]);
        // A head outside the sentence ends the way.
        check_cycle(&[Some(7), Some(0)], &[]);
    }

    #[test]
    fn every_small_tree_is_checked() {
        // All head vectors over up to five words that are trees.
        for n in 1..=5usize {
            for code in 0..(n + 1).pow(n as u32) {
                let head = |d: usize| (code / (n + 1).pow(d as u32) % (n + 1)).checked_sub(1);
                let tree = DependencyTree::from_heads((0..n).map(head));
                let in_steps = |start: usize| {
                    let mut at = Some(start);
                    (0..=n).for_each(|_| at = at.and_then(head));
                    at
                };
                let is_tree = (0..n).all(|d| in_steps(d).is_none());
                assert_eq!(tree.find_cycle().is_none(), is_tree, "{tree:?}");
                if is_tree {
                    assert_eq!(tree.nonprojective_arcs(), nonprojective_by_definition(&tree), "{tree:?}");
                }
            }
        }
    }

    #[test]
    fn long_sentences() {
        let n = 1_000_000;
        let flat = DependencyTree::from_heads((0..n).map(|i| (i > 0).then_some(0)));
        assert!(flat.is_projective() && flat.find_cycle().is_none());
        let chain = DependencyTree::from_heads((0..n).map(|i: usize| i.checked_sub(1)));
        assert!(chain.is_projective() && chain.find_cycle().is_none());
        let ring = DependencyTree::from_heads((0..n).map(|i| Some((i + 1) % n)));
        assert!(ring.find_cycle().is_some());
    }

    proptest! {
        #[test]
        fn nonprojective_arcs_are_those_of_the_definition(tree in dependencies(40, false, &["x"])) {
            prop_assert_eq!(tree.nonprojective_arcs(), nonprojective_by_definition(&tree));
        }

        #[test]
        fn a_cycle_is_found(tree in dependencies(20, false, &["x"]), from in 0..20usize, to in 0..20usize) {
            // Hanging a word from one below it closes a cycle; from any other it does not.
            let (from, to) = (from % tree.len(), to % tree.len());
            let mut changed = tree.clone();
            changed.arcs[from].head = Some(TokenIdx::new(to));
            let found = changed.find_cycle();
            prop_assert_eq!(found.is_some(), is_dominated(&tree, to, from));
            if let Some(word) = found {
                prop_assert!(is_dominated(&tree, word.index(), from) && is_dominated(&tree, to, word.index()));
            }
        }
    }
}
