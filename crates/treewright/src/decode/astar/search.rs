//! The search itself: deduction over items, best bound first.
//!
//! An *item* is a node with the item below it and the shift that began it. Its *inside* is the best score of the actions after
//! that shift, up to the node. Two items are joined where the node of the first is what lies below the second; only then is
//! the score of the shift that began the second added, because only then all that it depends on is known. (Paper 001 prints
//! something else; this is the weighted deduction of Knuth, and of Klein and Manning.)
//!
//! Items leave the agenda in the order of inside plus *outside*, a bound on the score of everything else. If no bound is too
//! low, the first complete derivation that leaves it is the best.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasher, Hash, Hasher};

use rustc_hash::FxHasher;

use super::budget::{Budget, STEPS_PER_ITEM};
use super::space::{Grammar, Space};

/// Nothing there: no item, or no node.
pub(super) const NONE: u32 = u32::MAX;

/// How many items leave the agenda between two looks at the clock.
const PATIENCE: usize = 1 << 10;

/// FxHash, inlined: the `hash_one` that every [`BuildHasher`] has may stay a call, and items are looked up millions of times.
#[derive(Clone, Copy, Debug, Default)]
struct InlineHasher;

impl BuildHasher for InlineHasher {
    type Hasher = FxHasher;

    #[inline]
    fn build_hasher(&self) -> FxHasher {
        FxHasher::default()
    }

    #[inline]
    fn hash_one<T: Hash>(&self, value: T) -> u64 {
        let mut hasher = FxHasher::default();
        value.hash(&mut hasher);
        hasher.finish()
    }
}

/// A bound on what is not under an item: a node, the shift that began it, and the node below.
pub(super) trait Outside {
    fn outside(&self, node: usize, shift: usize, below: Option<usize>) -> i32;
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    /// The node below, or none.
    pub below: u32,
    pub node: u32,
    /// The number of the shift that began it, among those of its place.
    pub first: u16,
    is_closed: bool,
    pub inside: i32,
    /// What it was made of.
    pub edge: Edge,
    /// Where its joints are, once it left the agenda.
    joints: (u32, u32),
    /// The next of the closed items with the same node, and with the same node below.
    next_with_node: u32,
    next_with_below: u32,
}

/// Two items that are joined by an action; none for an item over one word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub left: u32,
    pub right: u32,
    pub action: u16,
}

/// What an item and the node below it can be joined to, and what the reduction scores.
#[derive(Clone, Copy, Debug)]
struct Joint {
    node: u32,
    action: u16,
    score: i32,
}

/// An edge with the item it makes and what it adds to the insides of its parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Derived {
    pub item: u32,
    pub edge: Edge,
    pub added: i32,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The best derivation was found.
    Found(u32),
    /// Nothing reaches the floor.
    Nothing,
    /// A limit stopped it; no derivation has a higher score than this.
    Stopped(i32),
}

/// The memory of a search, which is used again.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    pub items: Vec<Item>,
    /// From what an item is to its number.
    numbers: HashMap<(u32, u32, u16), u32, InlineHasher>,
    agenda: BinaryHeap<(i32, Reverse<u32>)>,
    /// For each node the newest closed item with it, and with it below.
    with_node: Vec<u32>,
    with_below: Vec<u32>,
    joints: Vec<Joint>,
    /// All edges, if they are wanted.
    pub edges: Vec<Derived>,
    /// The complete items, best first.
    pub goals: Vec<u32>,
}

/// What a search is about.
pub(super) struct Problem<'a> {
    pub grammar: &'a Grammar,
    pub space: &'a Space,
    pub outside: &'a dyn Outside,
    /// Derivations with lower scores are of no interest.
    pub floor: i32,
    /// Are all derivations above the floor wanted, or the best alone?
    pub wants_all: bool,
}

impl Search {
    /// The number of items that were made.
    pub(super) fn n_items(&self) -> usize {
        self.items.len()
    }

    /// Searches until the best derivation is found, or all that reach the floor.
    pub(super) fn run(&mut self, problem: &Problem<'_>, budget: &mut Budget) -> Ending {
        let Problem { space, wants_all, .. } = *problem;
        self.clear(space.nodes.len());
        self.predict(problem, NONE, 0, i32::MAX);
        let (mut n_closed, mut n_items) = (0, 0);
        while let Some((priority, Reverse(item))) = self.agenda.pop() {
            if self.items[item as usize].is_closed {
                continue;
            }
            n_closed += 1;
            let made = (self.items.len() - n_items) * STEPS_PER_ITEM as usize;
            n_items = self.items.len();
            let has_work = budget.spend(made) && budget.has_room_for_search(self.n_bytes());
            if !has_work || (n_closed % PATIENCE == 0 && budget.is_late()) {
                return Ending::Stopped(priority);
            }
            let Item { below, node, .. } = self.items[item as usize];
            self.items[item as usize].is_closed = true;
            let span = space.nodes[node as usize];
            let (left, right) = (usize::from(span.left), usize::from(span.right));
            if right - left == space.n {
                self.goals.push(item);
                if !wants_all {
                    return Ending::Found(item);
                }
                continue;
            }
            if below != NONE {
                self.find_joints(problem, item);
                let left = (self.with_node[below as usize], |item: &Item| item.next_with_node);
                if !self.each(left, |search, left| search.join(problem, left, item, budget)) {
                    return Ending::Stopped(priority);
                }
                self.items[item as usize].next_with_below =
                    std::mem::replace(&mut self.with_below[below as usize], item);
            }
            if right < space.n {
                if self.with_node[node as usize] == NONE {
                    self.predict(problem, node, right, priority);
                }
                let right = (self.with_below[node as usize], |item: &Item| item.next_with_below);
                if !self.each(right, |search, right| search.join(problem, item, right, budget)) {
                    return Ending::Stopped(priority);
                }
                self.items[item as usize].next_with_node =
                    std::mem::replace(&mut self.with_node[node as usize], item);
            }
        }
        self.goals.first().map_or(Ending::Nothing, |&goal| Ending::Found(goal))
    }

    /// Calls a function with each item of a list, from the first to the one after each, until it gives false.
    #[inline(always)]
    fn each(
        &mut self,
        (first, after): (u32, impl Fn(&Item) -> u32),
        mut with: impl FnMut(&mut Self, u32) -> bool,
    ) -> bool {
        let mut item = first;
        while item != NONE {
            if !with(self, item) {
                return false;
            }
            item = after(&self.items[item as usize]);
        }
        true
    }

    /// The memory that the search takes. (An item is also in a hash table, in at most so many bytes.)
    fn n_bytes(&self) -> usize {
        const ENTRY: usize = 32;
        self.items.len() * (size_of::<Item>() + ENTRY)
            + self.agenda.len() * size_of::<(i32, Reverse<u32>)>()
            + self.joints.len() * size_of::<Joint>()
            + self.edges.len() * size_of::<Derived>()
            + self.with_node.len() * 2 * size_of::<u32>()
    }

    fn clear(&mut self, n_nodes: usize) {
        self.items.clear();
        self.numbers.clear();
        self.agenda.clear();
        self.joints.clear();
        self.edges.clear();
        self.goals.clear();
        for newest in [&mut self.with_node, &mut self.with_below] {
            newest.clear();
            newest.resize(n_nodes, NONE);
        }
    }

    /// Adds the items over the word at a place, above a node or nothing. None has a higher priority than what it follows.
    fn predict(&mut self, problem: &Problem<'_>, below: u32, place: usize, most: i32) {
        for (first, node) in problem.space.over(place, place + 1).enumerate() {
            let shift = problem.grammar.shift(problem.space.nodes[node].symbol);
            let priority = bound(problem, 0, node, shift, below).min(most);
            if priority >= problem.floor {
                let number = self.items.len() as u32;
                self.items.push(Item::new(below, node as u32, first as u16));
                self.numbers.insert((below, node as u32, first as u16), number);
                self.agenda.push((priority, Reverse(number)));
            }
        }
    }

    /// Lists what an item and the node below it can be joined to: of each symbol the best action, or all.
    fn find_joints(&mut self, problem: &Problem<'_>, item: u32) {
        let Problem { grammar, space, wants_all, .. } = *problem;
        let Item { below, node, .. } = self.items[item as usize];
        let (left, right) = (space.nodes[below as usize].left, space.nodes[node as usize].right);
        let start = self.joints.len() as u32;
        for whole in space.over(usize::from(left), usize::from(right)) {
            let scored = grammar.reductions(space.nodes[whole].symbol).iter().filter_map(|&action| {
                let score = space.reduction(below as usize, node as usize, usize::from(action))?;
                Some((score, Reverse(action)))
            });
            let joint = |(score, Reverse(action))| Joint { node: whole as u32, action, score };
            if wants_all {
                self.joints.extend(scored.map(joint));
            } else {
                self.joints.extend(scored.max().map(joint));
            }
        }
        self.items[item as usize].joints = (start, self.joints.len() as u32);
    }

    /// Joins two closed items in all ways. False if that was too much work.
    fn join(&mut self, problem: &Problem<'_>, left: u32, right: u32, budget: &mut Budget) -> bool {
        let Problem { grammar, space, floor, wants_all, .. } = *problem;
        let (one, other) = (self.items[left as usize], self.items[right as usize]);
        let one_shift = one.first_shift(grammar, space);
        let below = node_below(one.below);
        let added = space.shift(one.node as usize, below, other.first_shift(grammar, space));
        for joint in other.joints.0..other.joints.1 {
            let Joint { node, action, score } = self.joints[joint as usize];
            let added = added + score;
            let inside = one.inside + other.inside + added;
            let priority = bound(problem, inside, node as usize, one_shift, one.below);
            if priority < floor || space.is_dead_end(grammar, node as usize, below) {
                continue;
            }
            let edge = Edge { left, right, action };
            let item = *self.numbers.entry((one.below, node, one.first)).or_insert_with(|| {
                self.items.push(Item::new(one.below, node, one.first));
                self.items[..].last_mut().expect("just pushed").inside = i32::MIN;
                self.items.len() as u32 - 1
            });
            if wants_all {
                self.edges.push(Derived { item, edge, added });
            }
            let known = &mut self.items[item as usize];
            if inside > known.inside {
                debug_assert!(!known.is_closed, "a closed item has its best inside: bounds are consistent");
                known.inside = inside;
                known.edge = edge;
                self.agenda.push((priority, Reverse(item)));
            }
        }
        budget.spend(1 + (other.joints.1 - other.joints.0) as usize)
    }
}

/// A bound on the score of a derivation with an item; of a complete one, its score.
#[inline]
fn bound(problem: &Problem<'_>, inside: i32, node: usize, shift: usize, below: u32) -> i32 {
    let Problem { grammar, space, outside, .. } = *problem;
    let span = space.nodes[node];
    if usize::from(span.right - span.left) == space.n {
        return i32::from(space.buffer(0)[shift]) + inside + space.finish(grammar, node);
    }
    inside + outside.outside(node, shift, node_below(below))
}

/// The node below an item.
fn node_below(below: u32) -> Option<usize> {
    (below != NONE).then_some(below as usize)
}

impl Item {
    /// An item over one word.
    fn new(below: u32, node: u32, first: u16) -> Self {
        Item {
            below,
            node,
            first,
            is_closed: false,
            inside: 0,
            edge: Edge { left: NONE, right: NONE, action: 0 },
            joints: (0, 0),
            next_with_node: NONE,
            next_with_below: NONE,
        }
    }
}
