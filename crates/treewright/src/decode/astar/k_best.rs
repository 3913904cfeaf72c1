//! The best derivations in order: of all items and edges that a search found, on demand the next best way to build each item
//! (algorithm 3 of Huang and Chiang, 2005).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::search::{Derived, Edge, Search};

/// A way to build an item: an edge and, for its two parts, which of their ways are taken. Better ones are greater; of equals,
/// those found first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Way {
    inside: i32,
    /// The number of the edge, none for an item over one word.
    edge: Reverse<Option<u32>>,
    ranks: Reverse<[u32; 2]>,
}

/// The ways to build an item that are known by now.
#[derive(Clone, Debug, Default)]
struct Ways {
    /// Best first.
    sorted: Vec<Way>,
    candidates: BinaryHeap<Way>,
    is_begun: bool,
    /// Have the candidates after the last of `sorted` been added?
    is_ready: bool,
}

/// The ways of all items.
pub(super) struct KBest<'a> {
    search: &'a Search,
    /// The edges by the items they make, and where those of each begin.
    edges: Vec<u32>,
    starts: Vec<u32>,
    ways: Vec<Ways>,
    goals: BinaryHeap<(i32, Reverse<u32>, Reverse<u32>)>,
}

impl<'a> KBest<'a> {
    /// Of a search that kept all edges; `rest` is what a complete item's score has beside its inside.
    pub(super) fn new(search: &'a Search, rest: impl Fn(u32) -> i32) -> Self {
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
        let goal = |&goal: &u32| (search.items[goal as usize].inside + rest(goal), Reverse(goal), Reverse(0));
        let goals = search.goals.iter().map(goal).collect();
        KBest { search, edges, starts, ways: vec![Ways::default(); search.items.len()], goals }
    }

    /// The next best derivation: its score, the complete item, and which of its ways.
    pub(super) fn next(&mut self) -> Option<(i32, u32, u32)> {
        let (score, Reverse(goal), Reverse(rank)) = self.goals.pop()?;
        self.ensure(goal, rank);
        if self.ensure(goal, rank + 1) {
            let ways = &self.ways[goal as usize].sorted;
            let less = ways[rank as usize].inside - ways[rank as usize + 1].inside;
            self.goals.push((score - less, Reverse(goal), Reverse(rank + 1)));
        }
        Some((score, goal, rank))
    }

    /// What a way is made of: an edge with the ways of its two parts; nothing for an item over one word.
    pub(super) fn parts(&mut self, item: u32, rank: u32) -> Option<(Edge, [u32; 2])> {
        self.ensure(item, rank);
        let Way { edge: Reverse(edge), ranks: Reverse(ranks), .. } =
            self.ways[item as usize].sorted[rank as usize];
        edge.map(|edge| (self.search.edges[edge as usize].edge, ranks))
    }

    /// Finds the ways of an item up to this rank; is there one of this rank? (No recursion: what is wanted first is on top of
    /// a stack.)
    fn ensure(&mut self, item: u32, rank: u32) -> bool {
        let mut todo = vec![(item, rank)];
        while let Some(&(item, rank)) = todo.last() {
            self.begin(item);
            let ways = &self.ways[item as usize];
            let is_done = ways.sorted.len() > rank as usize || (ways.is_ready && ways.candidates.is_empty());
            if is_done {
                todo.pop();
            } else if ways.is_ready {
                let ways = &mut self.ways[item as usize];
                let best = ways.candidates.pop().expect("there are candidates");
                ways.sorted.push(best);
                ways.is_ready = false;
            } else if let Some(missing) = self.add_candidates(item) {
                todo.push(missing);
            } else {
                self.ways[item as usize].is_ready = true;
            }
        }
        self.ways[item as usize].sorted.len() > rank as usize
    }

    /// The first candidates of an item: every edge with the best ways of its parts, whose insides the search knows.
    fn begin(&mut self, item: u32) {
        let ways = &mut self.ways[item as usize];
        if ways.is_begun {
            return;
        }
        (ways.is_begun, ways.is_ready) = (true, true);
        let range = self.starts[item as usize] as usize..self.starts[item as usize + 1] as usize;
        if range.is_empty() {
            let inside = self.search.items[item as usize].inside;
            ways.candidates.push(Way { inside, edge: Reverse(None), ranks: Reverse([0, 0]) });
            return;
        }
        for &number in &self.edges[range] {
            let Derived { edge, added, .. } = self.search.edges[number as usize];
            let [left, right] = [edge.left, edge.right].map(|part| self.search.items[part as usize].inside);
            let inside = left + right + added;
            ways.candidates.push(Way { inside, edge: Reverse(Some(number)), ranks: Reverse([0, 0]) });
        }
    }

    /// Adds the candidates that follow the last way found; or says which way of another item must be looked for before.
    fn add_candidates(&mut self, item: u32) -> Option<(u32, u32)> {
        let Way { edge: Reverse(edge), ranks: Reverse([left, right]), .. } =
            *self.ways[item as usize].sorted.last().expect("a way was found");
        let number = edge?;
        let Derived { edge, added, .. } = self.search.edges[number as usize];
        // Each pair of ranks follows one other alone, so none comes twice.
        let further = [[left, right + 1], [left + 1, 0]];
        let further = &further[..if right == 0 { 2 } else { 1 }];
        let is_known = |ways: &Ways, rank: u32| {
            ways.sorted.len() > rank as usize
                || (ways.is_begun && ways.is_ready && ways.candidates.is_empty())
        };
        for ranks in further {
            for (part, rank) in [edge.left, edge.right].into_iter().zip(*ranks) {
                if !is_known(&self.ways[part as usize], rank) {
                    return Some((part, rank));
                }
            }
        }
        for ranks in further {
            let parts = [edge.left, edge.right].into_iter().zip(*ranks);
            let mut insides = parts
                .map(|(part, rank)| self.ways[part as usize].sorted.get(rank as usize).map(|way| way.inside));
            if let [Some(left), Some(right)] = [insides.next().flatten(), insides.next().flatten()] {
                let inside = left + right + added;
                let way = Way { inside, edge: Reverse(Some(number)), ranks: Reverse(*ranks) };
                self.ways[item as usize].candidates.push(way);
            }
        }
        None
    }
}
