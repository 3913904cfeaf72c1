//! The k best derivations of merged states, exactly and lazily (Huang and Chiang 2005, algorithm 3).
//!
//! An item has derivations since the push that began its topmost item, and whole ones. Those of both kinds are made from
//! derivations of other items, the next best one at a time, when somebody asks for it.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::{DpBeam, NONE};
use crate::ids::ActionId;
use crate::system::TransitionSystem;

/// Whose derivations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Goal {
    /// Of the items of the last level, whole ones.
    Any,
    /// Of an item, whole ones.
    All(u32),
    /// Of an item, since the push.
    Inside(u32),
}

/// One way to make derivations: from those of one or two goals.
#[derive(Clone, Copy, Debug)]
struct Way {
    parts: [Option<Goal>; 2],
    /// What comes between the parts, and after them.
    actions: [Option<ActionId>; 2],
    /// The score of these.
    gain: f64,
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
    /// The better is the greater; of equals the earlier way.
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
#[derive(Debug, Default)]
struct Known {
    ways: Vec<Way>,
    /// The derivations found, best first.
    best: Vec<Derivation>,
    heap: BinaryHeap<Derivation>,
    /// Neighbours of the last derivation found that are not in the heap yet; their scores are missing.
    pending: Vec<Derivation>,
}

/// The derivations found so far.
#[derive(Debug, Default)]
pub(super) struct KBest {
    known: FxHashMap<Goal, Known>,
}

impl KBest {
    /// The score and the actions of a derivation of the last level, the best being number 0.
    pub(super) fn get<S: TransitionSystem>(
        &mut self,
        beam: &DpBeam<S>,
        rank: usize,
    ) -> Option<(f64, Vec<ActionId>)> {
        self.find(beam, Goal::Any, rank as u32);
        let score = self.score(Goal::Any, rank as u32)?;
        Some((score, self.actions(beam, rank as u32)))
    }

    /// The score of a derivation that was found.
    fn score(&self, goal: Goal, rank: u32) -> Option<f64> {
        self.known.get(&goal)?.best.get(rank as usize).map(|derivation| derivation.score)
    }

    /// Finds derivations up to this rank, or as many as there are. (A loop, because sentences may be long.)
    fn find<S: TransitionSystem>(&mut self, beam: &DpBeam<S>, goal: Goal, rank: u32) {
        let mut todo = vec![(goal, rank)];
        'goals: while let Some(&(goal, rank)) = todo.last() {
            self.known.entry(goal).or_insert_with(|| Known::of(beam, goal));
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

    /// The actions of a derivation of the last level.
    fn actions<S: TransitionSystem>(&mut self, beam: &DpBeam<S>, rank: u32) -> Vec<ActionId> {
        enum Rest {
            Part(Goal, u32),
            Action(ActionId),
        }
        let mut actions = Vec::new();
        let mut rest = vec![Rest::Part(Goal::Any, rank)];
        while let Some(next) = rest.pop() {
            match next {
                Rest::Action(action) => actions.push(action),
                Rest::Part(goal, rank) => {
                    // Nobody had to ask for more than the best score of some parts.
                    let known = self.known.entry(goal).or_insert_with(|| Known::of(beam, goal));
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

impl Known {
    fn of<S: TransitionSystem>(beam: &DpBeam<S>, goal: Goal) -> Self {
        let ways = ways(beam, goal);
        let score = |part: Option<Goal>| match part {
            Some(Goal::All(item)) => beam.items[item as usize].score,
            Some(Goal::Inside(item)) => beam.items[item as usize].inside,
            Some(Goal::Any) | None => 0.0,
        };
        let best = |(i, way): (usize, &Way)| Derivation {
            score: way.gain + way.parts.map(score).iter().sum::<f64>(),
            way: i as u32,
            ranks: [0, 0],
        };
        let mut derivations = ways.iter().enumerate().map(best);
        // The first way is the one that the search found best.
        let first = derivations.next();
        let heap = derivations.collect();
        let mut known = Known { heap, ways, ..Known::default() };
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

/// The ways to make the derivations of a goal, the best first.
fn ways<S: TransitionSystem>(beam: &DpBeam<S>, goal: Goal) -> Vec<Way> {
    match goal {
        Goal::Any => {
            let items = beam.level..beam.items.len();
            let way =
                |item| Way { parts: [Some(Goal::All(item as u32)), None], actions: [None; 2], gain: 0.0 };
            items.map(way).collect()
        }
        Goal::All(id) => {
            let item = &beam.items[id as usize];
            let predictors = beam.predictors_of(item);
            if predictors.is_empty() {
                return vec![Way { parts: [Some(Goal::Inside(id)), None], actions: [None; 2], gain: 0.0 }];
            }
            let push = Some(beam.push_of(id));
            let way = |before: &super::Predictor| Way {
                parts: [Some(Goal::All(before.item)), Some(Goal::Inside(id))],
                actions: [push, None],
                gain: before.gain,
            };
            predictors.iter().map(way).collect()
        }
        Goal::Inside(id) => {
            let item = &beam.items[id as usize];
            if item.edges.0 == NONE {
                return vec![Way { parts: [None; 2], actions: [None; 2], gain: 0.0 }];
            }
            let way = |edge: &super::Edge| {
                let below = (edge.below != NONE).then_some(edge.below);
                Way {
                    parts: [below.map(Goal::Inside), Some(Goal::Inside(edge.item))],
                    actions: [below.map(|_| beam.push_of(edge.item)), Some(edge.action)],
                    gain: edge.gain,
                }
            };
            beam.edges_of(item).map(way).collect()
        }
    }
}
