//! What a search has found, for its best derivations in order.

use super::search::{Derived, Edge, Item, Search};
use super::space::{Grammar, Space};
use crate::decode::Weighing;
use crate::decode::k_best::{Derivations, Way};
use crate::ids::ActionId;

/// A search that kept all edges.
pub(super) struct FoundItems<'a> {
    grammar: &'a Grammar,
    space: &'a Space,
    search: &'a Search,
    /// The edges by the items they make, and where those of each begin.
    edges: Vec<u32>,
    starts: Vec<u32>,
}

impl<'a> FoundItems<'a> {
    pub(super) fn new(grammar: &'a Grammar, space: &'a Space, search: &'a Search) -> Self {
        let mut starts = vec![0; search.items.len() + 1];
        for derived in &search.edges {
            starts[derived.item as usize + 1] += 1;
        }
        for item in 0..search.items.len() {
            starts[item + 1] += starts[item];
        }
        let mut ends = starts.clone();
        let mut edges = vec![0; search.edges.len()];
        for (number, derived) in search.edges.iter().enumerate() {
            let end = &mut ends[derived.item as usize];
            edges[*end as usize] = number as u32;
            *end += 1;
        }
        FoundItems { grammar, space, search, edges, starts }
    }

    /// The weight of all derivations that were found.
    pub(super) fn total(&self, weighing: Weighing) -> f64 {
        let items = &self.search.items;
        let length = |item: &Item| {
            let span = self.space.nodes[item.node as usize];
            span.right - span.left
        };
        let mut shortest_first: Vec<u32> = (0..items.len() as u32).collect();
        shortest_first.sort_by_key(|&item| length(&items[item as usize]));
        // Of each item beside its best derivation.
        let mut totals = vec![1.0; items.len()];
        for item in shortest_first {
            let range = self.starts[item as usize] as usize..self.starts[item as usize + 1] as usize;
            if range.is_empty() {
                continue;
            }
            let of = |&edge: &u32| {
                let Derived { edge: Edge { left, right, .. }, added, .. } = self.search.edges[edge as usize];
                let (left, right) = (left as usize, right as usize);
                let score = items[left].inside + items[right].inside + added;
                let best = items[item as usize].inside;
                weighing.share(totals[left] * totals[right], f64::from(score), f64::from(best))
            };
            totals[item as usize] = self.edges[range].iter().map(of).sum();
        }
        let of = |&goal: &u32| {
            let item = &items[goal as usize];
            let score = item.inside + item.rest(self.grammar, self.space);
            weighing.share(totals[goal as usize], f64::from(score), weighing.best)
        };
        self.search.goals.iter().map(of).sum()
    }

    fn shift_of(&self, item: u32) -> ActionId {
        ActionId::new(self.search.items[item as usize].first_shift(self.grammar, self.space))
    }
}

impl Derivations for FoundItems<'_> {
    /// An item, or nothing: all that are complete.
    type Goal = Option<u32>;

    fn complete(&self) -> Option<u32> {
        None
    }

    fn best_score(&self, goal: Option<u32>) -> f64 {
        let inside = |item: u32| self.search.items[item as usize].inside;
        f64::from(goal.map_or(0, inside))
    }

    fn ways(&self, goal: Option<u32>) -> Vec<Way<Option<u32>>> {
        let Some(item) = goal else {
            // The search has found the best first.
            let way = |&goal: &u32| Way {
                parts: [None, Some(Some(goal))],
                actions: [Some(self.shift_of(goal)), Some(ActionId::new(self.grammar.finish))],
                gain: f64::from(self.search.items[goal as usize].rest(self.grammar, self.space)),
            };
            return self.search.goals.iter().map(way).collect();
        };
        let range = self.starts[item as usize] as usize..self.starts[item as usize + 1] as usize;
        if range.is_empty() {
            return vec![Way { parts: [None; 2], actions: [None; 2], gain: 0.0 }];
        }
        let mut derived: Vec<Derived> =
            self.edges[range].iter().map(|&number| self.search.edges[number as usize]).collect();
        let inside = |part: u32| self.search.items[part as usize].inside;
        let score = |Derived { edge, added, .. }: &Derived| inside(edge.left) + inside(edge.right) + added;
        // Of equals, the one that was found first stays first.
        derived.sort_by_key(|derived| std::cmp::Reverse(score(derived)));
        let way = |Derived { edge: Edge { left, right, action }, added, .. }| Way {
            parts: [Some(Some(left)), Some(Some(right))],
            actions: [Some(self.shift_of(right)), Some(ActionId::new(usize::from(action)))],
            gain: f64::from(added),
        };
        derived.into_iter().map(way).collect()
    }
}

impl Item {
    /// The shift that began it.
    #[inline]
    pub(super) fn first_shift(&self, grammar: &Grammar, space: &Space) -> usize {
        let left = usize::from(space.nodes[self.node as usize].left);
        let leaf = space.over(left, left + 1).start + usize::from(self.first);
        grammar.shift(space.nodes[leaf].symbol)
    }

    /// What the score of a complete item has beside its inside: the first shift and the end.
    pub(super) fn rest(&self, grammar: &Grammar, space: &Space) -> i32 {
        let shift = self.first_shift(grammar, space);
        i32::from(space.buffer(0)[shift]) + space.finish(grammar, self.node as usize)
    }
}
