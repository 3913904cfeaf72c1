//! Dependency trees: one head and one relation per word.

use crate::ids::TokenIdx;
use crate::sentence::Str;

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
        // Children lists as one array, counted first.
        let mut start = vec![0usize; n + 2];
        let slot = |head: Option<TokenIdx>| head.map_or(0, |h| h.index() + 1);
        for arc in &self.arcs {
            start[slot(arc.head) + 1] += 1;
        }
        for i in 0..=n {
            start[i + 1] += start[i];
        }
        let mut fill = start.clone();
        let mut children = vec![0usize; n];
        for (d, arc) in self.arcs.iter().enumerate() {
            let s = slot(arc.head);
            children[fill[s]] = d;
            fill[s] += 1;
        }
        let (mut enter, mut leave) = (vec![0u32; n], vec![0u32; n]);
        let mut clock = 0;
        let mut stack: Vec<(usize, usize)> = vec![(0, start[0])];
        while let Some((node, next)) = stack.pop() {
            if next < start[node + 1] {
                stack.push((node, next + 1));
                let child = children[next];
                clock += 1;
                enter[child] = clock;
                stack.push((child + 1, start[child + 1]));
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
