//! The k best derivations of what a search has found, exactly and lazily (Huang and Chiang 2005, algorithm 3).
//!
//! The derivations of a goal are made from derivations of other goals, the next best one at a time, when somebody asks for
//! it.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::hash::Hash;

use rustc_hash::FxHashMap;

use crate::ids::ActionId;

/// Derivations are listed as long as they have no more than this many actions together: very many may give the same tree.
pub(super) const MAX_STEPS: usize = 1 << 22;

/// What a search has found: goals, and the ways to make the derivations of each.
pub(super) trait Derivations {
    /// Something that has derivations.
    type Goal: Copy + Eq + Hash;

    /// The goal whose derivations are complete.
    fn complete(&self) -> Self::Goal;

    /// The ways to make the derivations of a goal, the best first.
    fn ways(&self, goal: Self::Goal) -> Vec<Way<Self::Goal>>;

    /// The score of the best derivation of a goal that is part of a way.
    fn best_score(&self, goal: Self::Goal) -> f64;
}

/// One way to make derivations: from those of up to two goals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way<G> {
    pub parts: [Option<G>; 2],
    /// What comes between the parts, and after them.
    pub actions: [Option<ActionId>; 2],
    /// The score of these.
    pub gain: f64,
}

/// A derivation: a way, and which derivation of each part.
#[derive(Clone, Copy, Debug)]
struct Derivation {
    score: f64,
    way: u32,
    ranks: [u32; 2],
}

impl Derivation {
    fn rank(&self) -> (u32, [u32; 2]) {
        (self.way, self.ranks)
    }
}

impl Ord for Derivation {
    /// The better one is greater; ties go to the earlier way.
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then_with(|| other.rank().cmp(&self.rank()))
    }
}

impl PartialOrd for Derivation {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Derivation {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Derivation {}

/// What is known of a goal.
#[derive(Debug)]
struct Known<G> {
    ways: Vec<Way<G>>,
    /// The derivations found, best first.
    best: Vec<Derivation>,
    heap: BinaryHeap<Derivation>,
    /// Neighbours of the last derivation found that are not in the heap yet; their scores are missing.
    pending: Vec<Derivation>,
}

/// The derivations found so far.
pub(super) struct KBest<'a, D: Derivations> {
    derivations: &'a D,
    known: FxHashMap<D::Goal, Known<D::Goal>>,
}

impl<'a, D: Derivations> KBest<'a, D> {
    /// Of what a search has found.
    pub(super) fn new(derivations: &'a D) -> Self {
        KBest { derivations, known: FxHashMap::default() }
    }

    /// The score and the actions of a complete derivation, the best being number 0.
    pub(super) fn get(&mut self, rank: usize) -> Option<(f64, Vec<ActionId>)> {
        let complete = self.derivations.complete();
        self.find(complete, rank as u32);
        let score = self.score(complete, rank as u32)?;
        Some((score, self.actions(complete, rank as u32)))
    }

    /// The score of a derivation that was found.
    fn score(&self, goal: D::Goal, rank: u32) -> Option<f64> {
        self.known.get(&goal)?.best.get(rank as usize).map(|derivation| derivation.score)
    }

    /// Finds derivations up to this rank, or as many as there are. (A loop, because sentences may be long.)
    fn find(&mut self, goal: D::Goal, rank: u32) {
        let mut todo = vec![(goal, rank)];
        'goals: while let Some(&(goal, rank)) = todo.last() {
            self.known.entry(goal).or_insert_with(|| Known::of(self.derivations, goal));
            loop {
                let known = &self.known[&goal];
                if known.best.len() > rank as usize {
                    break;
                }
                if let Some(&pending) = known.pending.last() {
                    let way = known.ways[pending.way as usize];
                    let mut score = Some(way.gain);
                    for (part, part_rank) in way.parts.into_iter().zip(pending.ranks) {
                        let Some(part) = part else { continue };
                        let is_sought = self.known.get(&part).is_some_and(Known::is_done);
                        let found = self.score(part, part_rank);
                        if found.is_none() && !is_sought {
                            todo.push((part, part_rank));
                            continue 'goals;
                        }
                        score = score.zip(found).map(|(one, other)| one + other);
                    }
                    let known = self.known.get_mut(&goal).expect("it was entered");
                    known.pending.pop();
                    known.heap.extend(score.map(|score| Derivation { score, ..pending }));
                } else {
                    let known = self.known.get_mut(&goal).expect("it was entered");
                    let Some(next) = known.heap.pop() else { break };
                    known.add(next);
                }
            }
            todo.pop();
        }
    }

    /// The actions of a derivation that was found.
    fn actions(&mut self, goal: D::Goal, rank: u32) -> Vec<ActionId> {
        enum Rest<G> {
            Part(G, u32),
            Action(ActionId),
        }
        let mut actions = Vec::new();
        let mut rest = vec![Rest::Part(goal, rank)];
        while let Some(next) = rest.pop() {
            match next {
                Rest::Action(action) => actions.push(action),
                Rest::Part(goal, rank) => {
                    // Nobody had to ask for more than the best score of some parts.
                    let known = self.known.entry(goal).or_insert_with(|| Known::of(self.derivations, goal));
                    let Derivation { way, ranks, .. } = known.best[rank as usize];
                    let Way { parts, actions: [between, after], .. } = known.ways[way as usize];
                    rest.extend(after.map(Rest::Action));
                    rest.extend(parts[1].map(|part| Rest::Part(part, ranks[1])));
                    rest.extend(between.map(Rest::Action));
                    rest.extend(parts[0].map(|part| Rest::Part(part, ranks[0])));
                }
            }
        }
        actions
    }
}

impl<G: Copy> Known<G> {
    fn of<D: Derivations<Goal = G>>(derivations: &D, goal: G) -> Self {
        let ways = derivations.ways(goal);
        let score = |part: Option<G>| part.map_or(0.0, |part| derivations.best_score(part));
        let best = |(i, way): (usize, &Way<G>)| Derivation {
            score: way.gain + way.parts.map(score).iter().sum::<f64>(),
            way: i as u32,
            ranks: [0, 0],
        };
        let mut derivations = ways.iter().enumerate().map(best);
        // The first way is the one that the search found best.
        let first = derivations.next();
        let heap = derivations.collect();
        let mut known = Known { heap, ways, best: Vec::new(), pending: Vec::new() };
        if let Some(first) = first {
            known.add(first);
        }
        known
    }

    /// Adds the next best derivation; its neighbours are the next candidates. Every pair of ranks is a neighbour once: the
    /// first rank grows only while the second is 0.
    fn add(&mut self, next: Derivation) {
        let Derivation { way, ranks: [one, other], .. } = next;
        self.best.push(next);
        let [has_one, has_other] = self.ways[way as usize].parts.map(|part| part.is_some());
        if has_one && other == 0 {
            self.pending.push(Derivation { ranks: [one + 1, 0], ..next });
        }
        if has_other {
            self.pending.push(Derivation { ranks: [one, other + 1], ..next });
        }
    }

    /// Are all derivations found?
    fn is_done(&self) -> bool {
        self.pending.is_empty() && self.heap.is_empty()
    }
}
