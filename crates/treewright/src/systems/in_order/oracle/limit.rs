//! The loss of the in-order system where the limit on unary chains may bind.
//!
//! Without the limit every gold constituent of a live start can be built. With it, three things cost more:
//! - On the top item no more unaries fit than the limit leaves room for. Directly after NT, the opening becomes one of
//!   them, or words are shifted first; both are tried.
//! - An opening that becomes a wrong constituent at the end of a gold group of one more constituent than the limit:
//!   they would all be unaries on top of it. If nothing above it has to end as late, it is closed earlier, and a gold
//!   constituent becomes the lowest of the group.
//! - At the root, what is missing for the last constituent to have a label that may stand there needs room, too.

use crate::forest::Forest;
use crate::ids::LabelId;
use crate::systems::in_order::oracle::DynamicOracle;
use crate::systems::in_order::{InOrder, State};

/// The top of a configuration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Top {
    /// The start of the topmost item that is not an opening.
    pub left: u32,
    /// Its label, if it is a constituent.
    pub label: Option<LabelId>,
    /// The number of unaries on top of it.
    pub n_unary: u32,
    /// True if there is an opening on it.
    pub is_fresh: bool,
    /// The place of b0.
    pub next: u32,
}

impl Top {
    /// The top of a state with a stack.
    pub fn of(forest: &Forest, state: &State) -> Option<Self> {
        let top = forest.cell(state.stack?);
        let item = if state.own.is_fresh {
            forest.cell(top.below.expect("below an opening")).node
        } else {
            top.node
        };
        let item = forest.node(item);
        Some(Top {
            left: item.left.index() as u32,
            label: item.label,
            n_unary: state.own.n_unary,
            is_fresh: state.own.is_fresh,
            next: state.next.index() as u32,
        })
    }

    /// After SH.
    pub fn shifted(self) -> Self {
        Top { left: self.next, label: None, n_unary: 0, is_fresh: false, next: self.next + 1 }
    }
}

impl DynamicOracle {
    /// The number of gold constituents that are still to be built from `left` to `right`.
    fn n_over(&self, left: u32, right: u32) -> u32 {
        let no_longer = self.at_start(left).iter().take_while(|entry| entry.right <= right);
        no_longer.filter(|entry| entry.right == right).map(|entry| entry.count).sum()
    }

    /// True if the limit can make a difference at the top.
    pub(super) fn is_narrow(&self, top: Top) -> bool {
        let Top { left, n_unary, is_fresh, next, .. } = top;
        let matched = is_fresh
            && self.open[left as usize]
                .is_some_and(|opened| self.position(opened.label, left, next).is_some());
        let n_unary = n_unary.saturating_add(u32::from(is_fresh));
        // A wrong root may have to stand on top.
        let is_whole = left == 0 && next as usize + 1 == self.open.len();
        let wanted = self.n_over(left, next) - u32::from(matched) + u32::from(is_whole);
        n_unary.saturating_add(wanted) > self.max_unary
    }

    /// The loss of a configuration.
    pub(super) fn loss_within_limit(&self, system: &InOrder, top: Top) -> u32 {
        if !top.is_fresh {
            return self.settled_loss(system, top);
        }
        let label = self.open[top.left as usize].expect("an opening stands at its start").label;
        let words_left = (top.next as usize) + 1 < self.open.len();
        let would_close_root = system.table.is_root_only(label) && self.open_starts.len() == 1;
        let mut best = u32::MAX;
        if top.n_unary < self.max_unary && !(would_close_root && words_left) {
            let mut after = self.clone();
            after.reduce(None, top.next);
            let n_unary = top.n_unary + 1;
            best = after.settled_loss(system, Top { label: Some(label), n_unary, is_fresh: false, ..top });
        }
        if words_left {
            let mut after = self.clone();
            after.shift(None, top.next);
            best = best.min(after.settled_loss(system, top.shifted()));
        }
        best
    }

    /// The loss of a configuration without an opening on top.
    fn settled_loss(&self, system: &InOrder, top: Top) -> u32 {
        let end = self.open.len() as u32 - 1;
        let last_end = |left: u32| {
            self.at_start(left).iter().rev().find(|entry| entry.count > 0).map_or(0, |entry| entry.right)
        };
        let room = self.max_unary - top.n_unary;
        let mut loss = self.now();
        if top.next == end && self.open_starts.is_empty() {
            loss += self.finish_cost(system, None, top.label, room);
        } else {
            loss += self.n_over(top.left, top.next).saturating_sub(room);
        }
        let mut end_above = last_end(top.left);
        for &left in self.open_starts.iter().rev() {
            let opened = self.open[left as usize].expect("an opening stands at its start");
            if system.table.is_root_only(opened.label) {
                continue;
            }
            let smallest = self.at_start(left).iter().find(|entry| entry.count > 0).map(|entry| entry.right);
            let closes_early = smallest.is_some_and(|right| end_above.max(top.next) < right);
            if left == 0 && smallest.is_none_or(|right| right == end) {
                let without = opened.is_good.then_some(opened.label);
                let cost = self.finish_cost(system, without, Some(opened.label), self.max_unary);
                // If it is closed early, gold is built in any order on top, but it is no longer gold itself.
                loss += if closes_early { cost.min(u32::from(opened.is_good)) } else { cost };
            } else if !opened.is_good && !closes_early {
                let right = smallest.unwrap_or(0);
                loss += u32::from(self.n_over(left, right) > self.max_unary);
            }
            end_above = end_above.max(last_end(left));
        }
        loss
    }

    /// The loss at the root when the gold constituents over all words that are still to be built, `without` one of
    /// this label, stand on top of something labelled `below`, with room for this many unaries.
    pub(super) fn finish_cost(
        &self,
        system: &InOrder,
        without: Option<LabelId>,
        below: Option<LabelId>,
        room: u32,
    ) -> u32 {
        let may_be_root = |label: LabelId| system.table.roots().contains(&label.index());
        let (mut n_left, mut has_root) = (0, false);
        for entry in self.over_all() {
            let count = entry.count - u32::from(without == Some(entry.label));
            n_left += count;
            has_root |= count > 0 && may_be_root(entry.label);
        }
        if room == 0 {
            return n_left;
        }
        if has_root {
            return n_left.saturating_sub(room);
        }
        let with_wrong_root = n_left.saturating_sub(room - 1) + 1;
        if below.is_some_and(may_be_root) { n_left.min(with_wrong_root) } else { with_wrong_root }
    }
}
