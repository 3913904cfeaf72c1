//! The exact dynamic oracle of the top-down system.

use std::ops::Range;

use crate::forest::Forest;
use crate::ids::{ActionId, LabelId};
use crate::oracle::{Cheapest, Oracle};
use crate::system::{ActionSet, TransitionSystem};
use crate::systems::gold;
use crate::systems::top_down::{Action, State, TopDown};
use crate::tree::grouped::Grouped;
use crate::tree::{ConstituentTree, Underivable};

/// All matches, of openings with the groups before and with the group.
fn both(before: u32, matched: u32) -> u32 {
    before + matched
}

/// The exact dynamic oracle: a dynamic programme over the openings, kept up to date step by step.
///
/// Every opening will end somewhere: the bottommost at the end of the sentence, the others no later than those below
/// them, and at b0 or later (later, if an opening on top still waits for its first word). The loss is that of
/// the best choice of ends. Two facts make it cheap:
/// - The gold constituents that started before b0 and have not ended all contain the word before b0, so they are
///   nested: those that start earlier end no earlier. The choice for one start therefore never restricts that for
///   another, and the loss is a sum over starts. For one start it is a longest common subsequence of the openings
///   there (bottom to top) and the gold constituents (largest first; those over one span in any order).
/// - An opening that matches nothing can end where the one below it ends, so it costs itself and nothing else.
///
/// Openings at b0 are different: gold constituents there that are not open yet can still be opened on top of them,
/// unless they are larger than where the topmost opening will end, or the limit on openings in a row leaves no room.
///
/// If the gold root has a label that was seen only at roots, it is lost once something else is opened first.
#[derive(Clone, Debug)]
pub struct DynamicOracle {
    /// Gold constituents that start at one place and end at one place; by start, then the largest first.
    groups: Vec<Group>,
    /// The labels of each group, equal ones counted together.
    members: Vec<Member>,
    by_start: Grouped,
    by_end: Grouped,
    /// How many groups of a start do not end before b0.
    alive: Vec<u32>,
    /// The openings, from the bottom of the stack.
    openings: Vec<Opened>,
    /// For every opening, the most matches between the openings at its start up to itself and the first 0, 1, 2, ..
    /// groups there.
    rows: Vec<u32>,
    /// In the same places, for each group of one constituent: where the topmost opening that matches it is matched, the
    /// most matches of those below that with the groups before.
    single_rows: Vec<Option<u32>>,
    /// The topmost opening of a start, by its number in `openings` plus one; 0 is none.
    top_at: Vec<u32>,
    /// The member that is the gold root, if its label can only be the first to be opened.
    root: Option<u32>,
    /// Built constituents that are not gold, and the gold root if it can no longer be opened.
    n_wrong: u32,
    /// Gold constituents that start before b0 and were not built.
    n_missing: u32,
    /// Matches at all starts before b0, with gold that ends at b0 or later.
    n_matched: u32,
    /// The same with gold that ends later than b0.
    n_matched_later: u32,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    left: u32,
    right: u32,
    members: (u32, u32),
    /// Members that were not built yet.
    size: u32,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    label: LabelId,
    /// How many such constituents were not built yet.
    count: u32,
}

#[derive(Clone, Copy, Debug)]
struct Opened {
    label: LabelId,
    left: u32,
    /// The number of the first opening at its start.
    first: u32,
    /// Where its row begins.
    row: u32,
    /// The cost of the openings at its start up to itself while that is b0.
    fresh_cost: u32,
}

impl DynamicOracle {
    /// The groups of a start, as a range.
    fn groups_at(&self, left: u32) -> Range<usize> {
        self.by_start.range(left as usize)
    }

    fn members(&self, group: &Group) -> &[Member] {
        &self.members[group.members.0 as usize..group.members.1 as usize]
    }

    /// The openings of a start, as a range: they stand together. Where there are none, it is empty and at the end.
    fn openings_at(&self, left: u32) -> Range<usize> {
        let end = match self.top_at[left as usize] as usize {
            0 => return self.openings.len()..self.openings.len(),
            end => end,
        };
        self.openings[end - 1].first as usize..end
    }

    /// The most matches at a start between its openings and its first `n_groups` groups.
    fn matches(&self, left: u32, n_groups: u32) -> u32 {
        match self.top_at[left as usize] {
            0 => 0,
            top => self.rows[(self.openings[top as usize - 1].row + n_groups) as usize],
        }
    }

    /// How many groups of a start end later than `right`, given that none alive ends before it.
    fn alive_after(&self, left: u32, right: u32) -> u32 {
        let alive = self.alive[left as usize];
        let last = self.groups_at(left).start + alive as usize;
        alive - u32::from(alive > 0 && self.groups[last - 1].right == right)
    }

    /// The best value of the matches of some openings with the groups before, and of the rest with the group, where
    /// the openings are those numbered `range` and then `extra`, and `without` was just taken out of the group.
    fn best_block(
        &self,
        range: Range<usize>,
        extra: Option<LabelId>,
        group: usize,
        without: Option<LabelId>,
        value: impl Fn(u32, u32) -> u32,
    ) -> u32 {
        let group_data = &self.groups[group];
        let members = self.members(group_data);
        let size = group_data.size - u32::from(without.is_some());
        let column = (group - self.groups_at(group_data.left).start) as u32;
        // Labels used up so far.
        let mut used: Vec<(LabelId, u32)> = without.map(|label| (label, 1)).into_iter().collect();
        let mut matched = 0;
        let mut take = |label: LabelId| {
            let available = members.iter().find(|m| m.label == label).map_or(0, |m| m.count);
            let slot = match used.iter().position(|&(known, _)| known == label) {
                Some(slot) => slot,
                None => {
                    used.push((label, 0));
                    used.len() - 1
                }
            };
            if used[slot].1 < available {
                used[slot].1 += 1;
                matched += 1;
            }
            matched
        };
        let before = |i: usize| {
            if i > range.start { self.rows[(self.openings[i - 1].row + column) as usize] } else { 0 }
        };
        // The bottommost opening ends with the sentence, so it matches nothing smaller.
        let may_match = |opening: usize| opening > 0 || column == 0;
        let mut matched = extra.filter(|_| may_match(range.end)).map_or(0, &mut take);
        let mut best = value(before(range.end), matched);
        for i in range.clone().rev() {
            // More openings in this block can only help while the group has room, and leave no more for those before.
            if matched == size || value(before(i + 1), size) <= best {
                break;
            }
            if may_match(i) {
                matched = take(self.openings[i].label);
            }
            best = best.max(value(before(i), matched));
        }
        best
    }

    /// The most matches of openings at the start of a group with the groups before it.
    fn matches_before(&self, openings: &Range<usize>, group: usize) -> u32 {
        let column = group - self.groups_at(self.groups[group].left).start;
        openings.clone().last().map_or(0, |top| self.rows[self.openings[top].row as usize + column])
    }

    /// The value of `single_rows` for an opening with this label on top of those numbered `below`, and a group.
    fn single(&self, below: &Range<usize>, label: LabelId, group: usize) -> Option<u32> {
        let data = &self.groups[group];
        let column = group - self.groups_at(data.left).start;
        let may_match = below.end > 0 || column == 0;
        if may_match && self.members(data).iter().any(|m| m.label == label && m.count > 0) {
            return Some(self.matches_before(below, group));
        }
        below.clone().last().and_then(|top| self.single_rows[self.openings[top].row as usize + column])
    }

    /// [`Self::best_block`] of the openings numbered `below` and one more with this label.
    fn best_over(
        &self,
        below: &Range<usize>,
        label: LabelId,
        group: usize,
        value: impl Fn(u32, u32) -> u32,
    ) -> u32 {
        if self.groups[group].size != 1 {
            return self.best_block(below.clone(), Some(label), group, None, value);
        }
        let without = value(self.matches_before(below, group), 0);
        self.single(below, label, group).map_or(without, |before| without.max(value(before, 1)))
    }

    /// The cost of the openings at b0: of themselves if they match nothing, and of the gold constituents at b0 that are
    /// not open and are larger than where the topmost of them ends, or for which the limit leaves no room.
    fn fresh_cost(&self, next: u32) -> u32 {
        self.openings_at(next).last().map_or(0, |top| self.openings[top].fresh_cost)
    }

    /// The same with one more on top of them.
    fn fresh_cost_with(&self, system: &TopDown, next: u32, label: LabelId) -> u32 {
        let below = self.openings_at(next);
        let n_openings = below.len() as u32 + 1;
        let room = system.max_openings.map_or(u32::MAX, |max| max.saturating_sub(n_openings));
        let without_room = |count: u32| count.saturating_sub(room);
        // Gold constituents that are no larger than the group that is looked at.
        let mut left: u32 = self.groups_at(next).map(|group| self.groups[group].size).sum();
        let (mut best, mut larger) = (n_openings + without_room(left), 0);
        for group in self.groups_at(next) {
            // Everything open matched and counted twice would not make up for what is larger.
            if larger >= best + n_openings {
                break;
            }
            let value =
                |before, matched| 2 * before + matched + without_room(left) - without_room(left - matched);
            let saved = self.best_over(&below, label, group, value);
            best = best.min(n_openings + larger + without_room(left) - saved);
            larger += self.groups[group].size;
            left -= self.groups[group].size;
        }
        best
    }

    /// The number of openings in front of b0.
    fn n_old(&self, next: u32) -> u32 {
        (self.openings.len() - self.openings_at(next).len()) as u32
    }

    /// Can the gold root no longer be opened once `label` is the first?
    fn loses_root(&self, state: &State, label: LabelId) -> bool {
        state.own.n_open == 0 && self.root.is_some_and(|root| self.members[root as usize].label != label)
    }

    /// Takes the gold root out of what can be built. It is a member of the first group: no other starts earlier, or
    /// there ends later.
    fn lose_root(&mut self) {
        let root = self.root.expect("asked before") as usize;
        self.members[root].count -= 1;
        self.groups[0].size -= 1;
        self.n_wrong += 1;
    }

    /// Puts it back.
    fn regain_root(&mut self) {
        let root = self.root.expect("asked before") as usize;
        self.members[root].count += 1;
        self.groups[0].size += 1;
        self.n_wrong -= 1;
    }

    fn loss_here(&self, state: &State) -> u32 {
        let next = state.next.index() as u32;
        if state.own.n_fresh == 0 {
            return self.n_wrong + self.n_missing + self.openings.len() as u32 - 2 * self.n_matched;
        }
        self.before_fresh(next) + self.fresh_cost(next)
    }

    /// The loss apart from what starts at b0, when something was opened there.
    fn before_fresh(&self, next: u32) -> u32 {
        self.n_wrong + self.n_missing + self.n_old(next) - 2 * self.n_matched_later
    }

    fn after_shift(&self, next: u32) -> u32 {
        let n_gold: u32 = self.groups_at(next).map(|group| self.groups[group].size).sum();
        let matched = self.n_matched_later + self.matches(next, self.alive[next as usize]);
        self.n_wrong + self.n_missing + n_gold + self.openings.len() as u32 - 2 * matched
    }

    /// The gold group and member that closing the topmost opening at b0 builds.
    fn built(&self, next: u32) -> Option<(usize, usize)> {
        let top = *self.openings.last().expect("RE is legal only with an opening");
        let alive = self.alive[top.left as usize] as usize;
        let group = (self.groups_at(top.left).start + alive).checked_sub(1)?;
        let data = &self.groups[group];
        if alive == 0 || data.right != next {
            return None;
        }
        let place = self.members(data).iter().position(|m| m.label == top.label && m.count > 0)?;
        Some((group, data.members.0 as usize + place))
    }

    fn after_reduce(&self, next: u32) -> u32 {
        let top = *self.openings.last().expect("RE is legal only with an opening");
        let alive = self.alive[top.left as usize];
        let range = self.openings_at(top.left);
        let below = range.start..range.end - 1;
        let (gold, matched) = match self.built(next) {
            Some((group, _)) => (1, self.best_block(below, None, group, Some(top.label), both)),
            None if below.is_empty() => (0, 0),
            None => (0, self.rows[(self.openings[below.end - 1].row + alive) as usize]),
        };
        let all_matched = self.n_matched - self.matches(top.left, alive) + matched;
        self.n_wrong + (1 - gold) + self.n_missing - gold + self.openings.len() as u32 - 1 - 2 * all_matched
    }

    /// Fills in one place of an opening's row.
    fn fill(&mut self, opening: usize, group: usize) {
        let Opened { left, row, first, label, .. } = self.openings[opening];
        let place = row as usize + group - self.groups_at(left).start;
        let below = first as usize..opening;
        let matched = self.best_over(&below, label, group, both);
        self.single_rows[place] = self.single(&below, label, group);
        self.rows[place + 1] = matched.max(self.rows[place]);
    }

    /// Pushes an opening at b0.
    fn open(&mut self, system: &TopDown, next: u32, label: LabelId) {
        let fresh_cost = self.fresh_cost_with(system, next, label);
        let (first, groups) = (self.openings_at(next).start as u32, self.groups_at(next));
        let (opening, row) = (self.openings.len(), self.rows.len());
        self.openings.push(Opened { label, left: next, first, row: row as u32, fresh_cost });
        self.top_at[next as usize] = opening as u32 + 1;
        self.rows.resize(row + groups.len() + 1, 0);
        self.single_rows.resize(row + groups.len() + 1, None);
        groups.for_each(|group| self.fill(opening, group));
    }
}

impl Oracle<TopDown> for DynamicOracle {
    fn for_gold(system: &TopDown, gold: &ConstituentTree) -> Result<Self, Underivable> {
        system.check(gold)?;
        let mut constituents = gold::constituents(&system.table.labels, gold)?;
        constituents.sort_unstable_by_key(|g| (g.left, std::cmp::Reverse(g.right), g.label));
        let n = gold.n_tokens();
        let root_label = system.table.labels.id(&gold.node(gold.root()).label)?;
        let (mut groups, mut members) = (Vec::<Group>::new(), Vec::<Member>::new());
        for g in constituents {
            let is_new = groups.last().is_none_or(|last| (last.left, last.right) != (g.left, g.right));
            if is_new {
                let start = members.len() as u32;
                groups.push(Group { left: g.left, right: g.right, members: (start, start), size: 0 });
            }
            let group = groups.last_mut().expect("just pushed");
            match members.last_mut().filter(|last| !is_new && last.label == g.label) {
                Some(last) => last.count += 1,
                None => members.push(Member { label: g.label, count: 1 }),
            }
            group.size += 1;
            group.members.1 = members.len() as u32;
        }
        let root_only = system.table.is_root_only(root_label);
        let root = members.iter().position(|member| root_only && member.label == root_label);
        let by_start = Grouped::by(groups.iter().map(|group| group.left as usize), n + 1);
        Ok(DynamicOracle {
            by_end: Grouped::by(groups.iter().map(|group| group.right as usize), n + 1),
            alive: (0..=n).map(|start| by_start.of(start).len() as u32).collect(),
            by_start,
            groups,
            members,
            openings: Vec::new(),
            rows: Vec::new(),
            single_rows: Vec::new(),
            top_at: vec![0; n + 1],
            root: root.map(|root| root as u32),
            n_wrong: 0,
            n_missing: 0,
            n_matched: 0,
            n_matched_later: 0,
        })
    }

    fn loss(&mut self, _system: &TopDown, _forest: &Forest, state: &State) -> Option<u32> {
        Some(self.loss_here(state))
    }

    fn loss_after(
        &mut self,
        system: &TopDown,
        _forest: &mut Forest,
        state: &State,
        action: ActionId,
    ) -> Option<u32> {
        let next = state.next.index() as u32;
        Some(match system.actions().get(action) {
            Action::Shift => self.after_shift(next),
            Action::Open(label) => {
                let loses_root = self.loses_root(state, label);
                if loses_root {
                    self.lose_root();
                }
                let loss = self.before_fresh(next) + self.fresh_cost_with(system, next, label);
                if loses_root {
                    self.regain_root();
                }
                loss
            }
            Action::Reduce => self.after_reduce(next),
        })
    }

    fn optimal(
        &mut self,
        system: &TopDown,
        forest: &mut Forest,
        state: &State,
        legal: &ActionSet,
        out: &mut ActionSet,
    ) {
        let (actions, next) = (system.actions(), state.next.index() as u32);
        let labels = || (0..system.table.labels.len()).map(LabelId::new);
        let mut cheapest = Cheapest::new(legal, out, system.n_actions());
        let mut looked_at = vec![actions.id(Action::Shift), actions.id(Action::Reduce)];
        let is_first = state.own.n_open == 0 && self.root.is_some();
        if is_first {
            looked_at.extend(labels().map(|label| actions.id(Action::Open(label))));
        }
        for id in looked_at {
            cheapest.offer(id, || self.loss_after(system, forest, state, id).expect("defined everywhere"));
        }
        if is_first || next as usize >= forest.n_tokens() {
            return;
        }
        let mut gold: Vec<LabelId> = self
            .groups_at(next)
            .flat_map(|group| self.members(&self.groups[group]))
            .map(|m| m.label)
            .collect();
        gold.sort_unstable();
        gold.dedup();
        let after = |label| self.before_fresh(next) + self.fresh_cost_with(system, next, label);
        for &label in &gold {
            cheapest.offer(actions.id(Action::Open(label)), || after(label));
        }
        // The other openings are all alike.
        let mut wrong = labels().filter(|label| gold.binary_search(label).is_err()).peekable();
        let Some(loss) = wrong.peek().map(|&label| after(label)) else { return };
        if cheapest.loss() >= loss {
            wrong.for_each(|label| cheapest.offer(actions.id(Action::Open(label)), || loss));
        }
    }

    fn advance(&mut self, system: &TopDown, _forest: &Forest, state: &State, action: ActionId) {
        let next = state.next.index() as u32;
        match system.actions().get(action) {
            Action::Shift => {
                self.n_missing += self.groups_at(next).map(|group| self.groups[group].size).sum::<u32>();
                self.n_matched = self.n_matched_later + self.matches(next, self.alive[next as usize]);
                for &group in self.by_end.of(next as usize) {
                    self.alive[self.groups[group as usize].left as usize] -= 1;
                }
                self.n_matched_later = self.n_matched;
                for &group in self.by_end.of(next as usize + 1) {
                    let left = self.groups[group as usize].left;
                    let alive = self.alive[left as usize];
                    self.n_matched_later -= self.matches(left, alive) - self.matches(left, alive - 1);
                }
            }
            Action::Open(label) => {
                if self.loses_root(state, label) {
                    self.lose_root();
                }
                self.open(system, next, label);
            }
            Action::Reduce => {
                let built = self.built(next);
                let Opened { left, row, .. } =
                    *self.openings.last().expect("RE is legal only with an opening");
                // This start is taken out of the sums, changed, and put back.
                let (alive, later) = (self.alive[left as usize], self.alive_after(left, next));
                self.n_matched -= self.matches(left, alive);
                self.n_matched_later -= self.matches(left, later);
                self.openings.pop();
                self.rows.truncate(row as usize);
                self.single_rows.truncate(row as usize);
                let same = self.openings.last().is_some_and(|below| below.left == left);
                self.top_at[left as usize] = if same { self.openings.len() as u32 } else { 0 };
                match built {
                    Some((group, member)) => {
                        self.groups[group].size -= 1;
                        self.members[member].count -= 1;
                        self.n_missing -= 1;
                        for opening in self.openings_at(left) {
                            self.fill(opening, group);
                        }
                    }
                    None => self.n_wrong += 1,
                }
                self.n_matched += self.matches(left, alive);
                self.n_matched_later += self.matches(left, later);
            }
        }
    }
}

#[cfg(test)]
mod tests;
