//! What a beam of merged states has found, for its k best derivations: an item has derivations since the push that began its
//! topmost item, and whole ones.

use super::{DpBeam, Edge, NONE, Predictor};
use crate::decode::Weighing;
use crate::decode::k_best::{Derivations, Way};
use crate::system::TransitionSystem;

/// Whose derivations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::decode) enum Goal {
    /// Of the items of the last level, whole ones.
    Any,
    /// Of an item, whole ones.
    All(u32),
    /// Of an item, since the push.
    Inside(u32),
}

impl<S: TransitionSystem> DpBeam<S> {
    /// The number of derivations of the last sentence that the merged states of the last step stand for.
    pub(super) fn count(&self) -> f64 {
        // Of each item, those since its push, and all.
        let mut counts: Vec<(f64, f64)> = Vec::with_capacity(self.items.len());
        for item in &self.items {
            let mut inside = f64::from(u8::from(item.edges.0 == NONE));
            for edge in self.edges_of(item) {
                let below = if edge.below == NONE { 1.0 } else { counts[edge.below as usize].0 };
                inside += below * counts[edge.item as usize].0;
            }
            let predictors = self.predictors_of(item);
            let before: f64 = predictors.iter().map(|before| counts[before.item as usize].1).sum();
            counts.push((inside, if predictors.is_empty() { inside } else { before * inside }));
        }
        counts.iter().skip(self.level).map(|count| count.1).sum()
    }

    /// The weight of all derivations that the merged states of the last step stand for.
    pub(super) fn total(&self, weighing: Weighing) -> f64 {
        // Of each item beside the best derivation of it, those since its push, and all.
        let mut totals: Vec<(f64, f64)> = Vec::with_capacity(self.items.len());
        for item in &self.items {
            let mut inside = f64::from(u8::from(item.edges.0 == NONE));
            for edge in self.edges_of(item) {
                let (mut score, mut total) = (edge.gain, totals[edge.item as usize].0);
                score += self.items[edge.item as usize].inside;
                if let Some(below) = self.items.get(edge.below as usize) {
                    score += below.inside;
                    total *= totals[edge.below as usize].0;
                }
                inside += weighing.share(total, score, item.inside);
            }
            let predictors = self.predictors_of(item);
            let of = |before: &Predictor| {
                weighing.share(totals[before.item as usize].1, before.score, predictors[0].score)
            };
            let before: f64 = predictors.iter().map(of).sum();
            totals.push((inside, if predictors.is_empty() { inside } else { before * inside }));
        }
        let last = self.items.iter().zip(&totals).skip(self.level);
        last.map(|(item, total)| weighing.share(total.1, item.score, weighing.best)).sum()
    }
}

impl<S: TransitionSystem> Derivations for DpBeam<S> {
    type Goal = Goal;

    fn complete(&self) -> Goal {
        Goal::Any
    }

    fn best_score(&self, goal: Goal) -> f64 {
        match goal {
            Goal::All(item) => self.items[item as usize].score,
            Goal::Inside(item) => self.items[item as usize].inside,
            Goal::Any => self.items[self.level].score,
        }
    }

    fn ways(&self, goal: Goal) -> Vec<Way<Goal>> {
        match goal {
            Goal::Any => {
                let items = self.level..self.items.len();
                let way =
                    |item| Way { parts: [Some(Goal::All(item as u32)), None], actions: [None; 2], gain: 0.0 };
                items.map(way).collect()
            }
            Goal::All(id) => {
                let item = &self.items[id as usize];
                let predictors = self.predictors_of(item);
                if predictors.is_empty() {
                    return vec![Way {
                        parts: [Some(Goal::Inside(id)), None],
                        actions: [None; 2],
                        gain: 0.0,
                    }];
                }
                let push = Some(self.push_of(id));
                let way = |before: &Predictor| Way {
                    parts: [Some(Goal::All(before.item)), Some(Goal::Inside(id))],
                    actions: [push, None],
                    gain: before.gain,
                };
                predictors.iter().map(way).collect()
            }
            Goal::Inside(id) => {
                let item = &self.items[id as usize];
                if item.edges.0 == NONE {
                    return vec![Way { parts: [None; 2], actions: [None; 2], gain: 0.0 }];
                }
                let way = |edge: &Edge| {
                    let below = (edge.below != NONE).then_some(edge.below);
                    Way {
                        parts: [below.map(Goal::Inside), Some(Goal::Inside(edge.item))],
                        actions: [below.map(|_| self.push_of(edge.item)), Some(edge.action)],
                        gain: edge.gain,
                    }
                };
                self.edges_of(item).map(way).collect()
            }
        }
    }
}
