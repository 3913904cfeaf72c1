//! The best successors of the states of a step.

use std::cmp::Ordering;

use crate::ids::ActionId;

/// This many times the width are the candidates that are kept for the next step: several may be merged into one state.
const SPARE: usize = 4;

/// A successor of an item.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub score: f64,
    /// In the newest level.
    pub parent: u32,
    /// Which predictor of its origin a pop is over; 0 for other actions.
    pub predictor: u32,
    pub action: ActionId,
    pub gain: f32,
}

impl Candidate {
    /// Best first; ties go to the better parent, then to the better predictor, then to the smaller action.
    fn order(&self, other: &Candidate) -> Ordering {
        let rank = |one: &Candidate| (one.parent, one.predictor, one.action);
        other.score.total_cmp(&self.score).then_with(|| rank(self).cmp(&rank(other)))
    }
}

/// The candidates for the next level.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidates {
    /// In order, after the last was offered.
    pub list: Vec<Candidate>,
    capacity: usize,
    /// No candidate up to this score is among the best.
    pub floor: f64,
    /// Was any left out?
    pub is_pruned: bool,
}

impl Candidates {
    /// Begins a step of a beam of this width.
    pub(super) fn clear(&mut self, width: usize) {
        self.list.clear();
        self.capacity = width.saturating_mul(SPARE);
        self.floor = f64::NEG_INFINITY;
        self.is_pruned = false;
    }

    /// What an action's score must exceed, at least, to be kept on top of `before`. (Half as precise, so a little lower.)
    #[inline]
    pub(super) fn min_gain(&self, before: f64) -> f32 {
        ((self.floor - before) as f32).next_down()
    }

    /// Keeps a candidate if it may be among the best. Of equals the earlier comes first.
    #[inline]
    pub(super) fn offer(&mut self, candidate: Candidate) {
        if candidate.score <= self.floor {
            return;
        }
        self.list.push(candidate);
        if self.list.len() >= self.capacity.saturating_mul(2) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let (_, worst, _) = self.list.select_nth_unstable_by(self.capacity - 1, Candidate::order);
        self.floor = worst.score;
        self.list.truncate(self.capacity);
        self.is_pruned = true;
    }

    /// Puts them in order.
    pub(super) fn finish(&mut self) {
        if self.list.len() > self.capacity {
            self.cut();
        }
        self.list.sort_unstable_by(Candidate::order);
    }
}
