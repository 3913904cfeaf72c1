//! Top-down constituent parsing: a non-terminal is opened before its first child (Dyer et al. 2016; the notation and
//! figures 2 and 3 of Fernández-González and Gómez-Rodríguez 2018).
//!
//! Deviations: the treebank's longest run of openings bounds the openings in a row, so that every walk ends. The
//! bound comes from the trees the system is made for, so it makes none of them underivable.

use serde::{Deserialize, Serialize};

use crate::forest::{Forest, Kind, View};
use crate::ids::{ActionId, CellId, LabelId, StepId, TokenIdx};
use crate::oracle::{Cheapest, Oracle};
use crate::sentence::Sentence;
use crate::system::{ActionSet, SystemOptions, TransitionSystem, Underivable};
use crate::systems::gold;
use crate::systems::labels::{self, Labels};
use crate::tree::{Child, ConstituentTree};

/// The top-down system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopDown {
    labels: Labels,
    /// How many non-terminals may be opened in a row; `None` is no limit.
    max_openings: Option<u32>,
}

/// One configuration.
#[derive(Clone, Copy, Debug)]
pub struct State {
    pub(super) stack: Option<CellId>,
    pub(super) next: TokenIdx,
    /// Openings on the stack.
    pub(super) n_open: u32,
    /// Openings on top of the stack, above the last word or constituent.
    pub(super) n_fresh: u32,
    past: Option<StepId>,
}

/// The transitions, in the order of their ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// **Legal** while words remain and something is open. **Effect** pushes b0. **Cost** gold constituents that
    /// start at b0 and were not opened.
    Shift,
    /// **Legal** while words remain and the limit allows it. **Effect** pushes the opening of a constituent that
    /// starts at b0. **Cost** 1 if no gold constituent with this label starts there; more if it must end where
    /// another one should.
    Open(LabelId),
    /// **Legal** when the top is not an opening, and something else is open or no words remain. **Effect** closes
    /// the topmost opening over everything above it. **Cost** the constituent, if it is not gold, and the gold ones
    /// it stands in the way of.
    Reduce,
}

impl TopDown {
    /// A system with these labels; `max_openings` bounds the openings in a row (at least one is always allowed).
    pub fn with_labels(labels: Labels, max_openings: Option<u32>) -> Self {
        TopDown { labels, max_openings: max_openings.map(|max| max.max(1)) }
    }

    /// Its labels.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Refuses trees that the system cannot build, but for unknown labels.
    fn check(&self, gold: &ConstituentTree) -> Result<(), Underivable> {
        labels::continuous(gold)?;
        let run = longest_run(gold);
        match self.max_openings {
            Some(max) if run > max => {
                Err(Underivable(format!("{run} constituents start at one word; the limit is {max}")))
            }
            _ => Ok(()),
        }
    }

    /// What an id stands for.
    #[inline]
    pub fn decode(&self, action: ActionId) -> Action {
        match action.index() {
            0 => Action::Shift,
            i if i <= self.labels.len() => Action::Open(LabelId::new(i - 1)),
            _ => Action::Reduce,
        }
    }

    /// The id of an action.
    #[inline]
    pub fn encode(&self, action: Action) -> ActionId {
        ActionId::new(match action {
            Action::Shift => 0,
            Action::Open(label) => label.index() + 1,
            Action::Reduce => self.labels.len() + 1,
        })
    }
}

impl TransitionSystem for TopDown {
    type Tree = ConstituentTree;
    type State = State;

    fn from_trees<'a>(trees: impl Iterator<Item = &'a ConstituentTree>, _options: &SystemOptions) -> Self {
        let mut labels = Labels::default();
        let mut max_openings = 1;
        for tree in trees {
            labels.add_tree(tree);
            max_openings = longest_run(tree).max(max_openings);
        }
        TopDown::with_labels(labels, Some(max_openings))
    }

    fn n_actions(&self) -> usize {
        self.labels.len() + 2
    }

    fn label(&self, label: LabelId) -> String {
        self.labels.name(label).to_owned()
    }

    fn name(&self, action: ActionId) -> String {
        match self.decode(action) {
            Action::Shift => "SH".to_owned(),
            Action::Open(label) => format!("NT-{}", self.labels.name(label)),
            Action::Reduce => "RE".to_owned(),
        }
    }

    fn action(&self, name: &str) -> Option<ActionId> {
        let action = match name {
            "SH" => Action::Shift,
            "RE" => Action::Reduce,
            _ => Action::Open(self.labels.get(name.strip_prefix("NT-")?)?),
        };
        Some(self.encode(action))
    }

    fn start(&self, forest: &mut Forest, sentence: &Sentence) -> State {
        forest.start(sentence.len(), false);
        State { stack: None, next: TokenIdx::new(0), n_open: 0, n_fresh: 0, past: None }
    }

    fn is_final(&self, _forest: &Forest, state: &State) -> bool {
        state.n_open == 0 && state.stack.is_some()
    }

    fn legal(&self, forest: &Forest, state: &State, out: &mut ActionSet) {
        out.reset(self.n_actions());
        if self.is_final(forest, state) {
            return;
        }
        let words_left = state.next.index() < forest.n_tokens();
        if words_left && state.n_open > 0 {
            out.insert(self.encode(Action::Shift));
        }
        if words_left && self.max_openings.is_none_or(|max| state.n_fresh < max) {
            out.insert_range(1, 1 + self.labels.len());
        }
        // Closing the last opening finishes, so nothing may be left over.
        if state.n_open > 0 && state.n_fresh == 0 && (state.n_open > 1 || !words_left) {
            out.insert(self.encode(Action::Reduce));
        }
    }

    fn apply(&self, forest: &mut Forest, state: &State, action: ActionId) -> State {
        let past = Some(forest.push_step(action, state.past));
        match self.decode(action) {
            Action::Shift => {
                let word = forest.leaf(state.next);
                let stack = Some(forest.push_cell(word, state.stack));
                State { stack, next: labels::behind(state.next), n_fresh: 0, past, ..*state }
            }
            Action::Open(label) => {
                let opening = forest.push_opening(label, state.next, state.next);
                let stack = Some(forest.push_cell(opening, state.stack));
                State { stack, n_open: state.n_open + 1, n_fresh: state.n_fresh + 1, past, ..*state }
            }
            Action::Reduce => {
                let (mut at, mut count) = (state.stack, 0);
                let opening = loop {
                    let cell = *forest.cell(at.expect("RE is legal only above an opening"));
                    at = cell.below;
                    if forest.node(cell.node).kind == Kind::Opening {
                        break cell.node;
                    }
                    count += 1;
                };
                let label = forest.node(opening).label.expect("an opening has a label");
                let node = forest.push_reduction(label, None, state.stack, count);
                let stack = Some(forest.push_cell(node, at));
                State { stack, n_open: state.n_open - 1, n_fresh: 0, past, ..*state }
            }
        }
    }

    fn view(&self, state: &State) -> View {
        View {
            stack: state.stack,
            deque_top: None,
            deque: None,
            n_deque: 0,
            buffer: None,
            next: state.next,
            past: state.past,
        }
    }

    fn tree(&self, forest: &Forest, state: &State) -> ConstituentTree {
        let top = state.stack.expect("a final state has one constituent");
        self.labels.tree(forest, forest.cell(top).node)
    }

    fn derive(&self, gold: &ConstituentTree) -> Result<Vec<ActionId>, Underivable> {
        self.check(gold)?;
        let mut actions = Vec::with_capacity(gold.n_tokens() + 2 * gold.n_nodes());
        // `None` stands for the end of the constituent that was opened last.
        let mut todo = vec![Some(Child::Node(gold.root()))];
        while let Some(item) = todo.pop() {
            actions.push(self.encode(match item {
                Some(Child::Token(_)) => Action::Shift,
                Some(Child::Node(node)) => {
                    todo.push(None);
                    todo.extend(gold.children(node).iter().rev().map(|&child| Some(child)));
                    Action::Open(self.labels.id(&gold.node(node).label)?)
                }
                None => Action::Reduce,
            }));
        }
        Ok(actions)
    }

    /// Every word is preceded by a run of openings at most, and every opening is closed once.
    fn max_steps(&self, n_tokens: usize) -> usize {
        match self.max_openings {
            Some(max) => n_tokens.saturating_mul(1 + 2 * max as usize),
            None => usize::MAX,
        }
    }
}

/// The most constituents that start at one word.
fn longest_run(tree: &ConstituentTree) -> u32 {
    let mut starts = vec![0; tree.n_tokens()];
    tree.nodes().for_each(|(_, node)| starts[node.leftmost().index()] += 1);
    starts.into_iter().max().unwrap_or(0)
}

/// The exact dynamic oracle: a dynamic programme over the openings, kept up to date step by step.
///
/// Every opening will end somewhere: the bottommost at the end of the sentence, the others no later than those below
/// them, and at or behind b0 (behind it, if an opening on top still waits for its first word). The loss is that of
/// the best choice of ends. Two facts make it cheap:
/// - The gold constituents that started before b0 and have not ended all contain the word before b0, so they are
///   nested: those that start earlier end no earlier. The choice for one start therefore never restricts that for
///   another, and the loss is a sum over starts. For one start it is a longest common subsequence of the openings
///   there (bottom to top) and the gold constituents (largest first; those over one span in any order).
/// - An opening that matches nothing can end where the one below it ends, so it costs itself and nothing else.
///
/// Openings at b0 are different: gold constituents there that are not open yet can still be opened on top of them,
/// unless they are larger than where the topmost opening will end.
///
/// That holds without a limit on openings in a row. A limit of a treebank's own makes a difference only where more
/// was opened than any gold tree opens; there `optimal` still gives the legal actions of least loss by this count.
#[derive(Clone, Debug)]
pub struct DynamicOracle {
    /// Gold constituents that start at one place and end at one place; by start, then the largest first.
    groups: Vec<Group>,
    /// The labels of each group, equal ones counted together.
    members: Vec<Member>,
    /// The groups of one start, as ranges of `groups`.
    by_start: Vec<u32>,
    /// The groups of one end, as ranges of `ends`, which holds places in `groups`.
    by_end: Vec<u32>,
    ends: Vec<u32>,
    /// How many groups of a start do not end before b0.
    alive: Vec<u32>,
    /// The openings, from the bottom of the stack.
    openings: Vec<Opened>,
    /// For every opening, the most matches between the openings at its start up to itself and the first 0, 1, 2, ..
    /// groups there.
    rows: Vec<u32>,
    /// The topmost opening of a start, by its number in `openings` plus one; 0 is none.
    top_at: Vec<u32>,
    /// Built constituents that are not gold.
    n_wrong: u32,
    /// Gold constituents that start before b0 and were not built.
    n_missing: u32,
    /// Matches at all starts before b0, with gold that ends at b0 or later.
    n_matched: u32,
    /// The same with gold that ends later than b0.
    n_matched_later: u32,
    /// Labels used up so far by one block; scratch.
    used: Vec<(LabelId, u32)>,
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
    /// Where its row begins.
    row: u32,
}

impl DynamicOracle {
    /// The groups of a start, as a range.
    fn groups_at(&self, left: u32) -> std::ops::Range<usize> {
        self.by_start[left as usize] as usize..self.by_start[left as usize + 1] as usize
    }

    fn members(&self, group: &Group) -> &[Member] {
        &self.members[group.members.0 as usize..group.members.1 as usize]
    }

    /// The openings of a start, as a range: they stand together.
    fn openings_at(&self, left: u32) -> std::ops::Range<usize> {
        let end = self.top_at[left as usize] as usize;
        let count = self.openings[..end].iter().rev().take_while(|opened| opened.left == left).count();
        end - count..end
    }

    /// The most matches at a start between its openings and its first `n_groups` groups.
    fn matches(&self, left: u32, n_groups: u32) -> u32 {
        match self.top_at[left as usize] {
            0 => 0,
            top => self.rows[(self.openings[top as usize - 1].row + n_groups) as usize],
        }
    }

    /// How many groups of a start end later than `right`, given that none alive ends before it.
    fn alive_behind(&self, left: u32, right: u32) -> u32 {
        let alive = self.alive[left as usize];
        let last = self.groups_at(left).start + alive as usize;
        alive - u32::from(alive > 0 && self.groups[last - 1].right == right)
    }

    /// The best of `weight * (matches of some openings with the groups before) + matches of the rest with the group`,
    /// where the openings are those numbered `range` and then `extra`, and `without` was just taken out of the group.
    fn best_block(
        &self,
        used: &mut Vec<(LabelId, u32)>,
        range: std::ops::Range<usize>,
        extra: Option<LabelId>,
        group: usize,
        without: Option<LabelId>,
        weight: u32,
    ) -> u32 {
        let group_data = &self.groups[group];
        let members = self.members(group_data);
        let size = group_data.size - u32::from(without.is_some());
        let column = group as u32 - self.by_start[group_data.left as usize];
        used.clear();
        used.extend(without.map(|label| (label, 1)));
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
        let mut best = weight * before(range.end) + matched;
        for i in range.clone().rev() {
            // More openings in this block can only help while the group has room, and leave less for those before.
            if matched == size {
                break;
            }
            if may_match(i) {
                matched = take(self.openings[i].label);
            }
            best = best.max(weight * before(i) + matched);
        }
        best
    }

    /// What the openings at b0, and `extra` on top of them, cost: themselves if they match nothing, and the gold
    /// constituents at b0 that are larger than where the topmost of them ends, if they are not open.
    fn fresh_cost(&self, used: &mut Vec<(LabelId, u32)>, next: u32, extra: Option<LabelId>) -> u32 {
        let range = self.openings_at(next);
        let n_openings = range.len() as u32 + u32::from(extra.is_some());
        let (mut best, mut larger) = (n_openings, 0);
        for group in self.groups_at(next) {
            // Everything open matched and counted twice would not make up for what is larger.
            if larger >= 2 * n_openings {
                break;
            }
            let matched = self.best_block(used, range.clone(), extra, group, None, 2);
            best = best.min((n_openings + larger).saturating_sub(matched));
            larger += self.groups[group].size;
        }
        best
    }

    /// The number of openings in front of b0.
    fn n_old(&self, next: u32) -> u32 {
        (self.openings.len() - self.openings_at(next).len()) as u32
    }

    fn loss_here(&self, used: &mut Vec<(LabelId, u32)>, state: &State) -> u32 {
        let next = state.next.index() as u32;
        if state.n_fresh == 0 {
            return self.n_wrong + self.n_missing + self.openings.len() as u32 - 2 * self.n_matched;
        }
        self.before_fresh(next) + self.fresh_cost(used, next, None)
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
        let group = (self.by_start[top.left as usize] as usize + alive).checked_sub(1)?;
        let data = &self.groups[group];
        if alive == 0 || data.right != next {
            return None;
        }
        let place = self.members(data).iter().position(|m| m.label == top.label && m.count > 0)?;
        Some((group, data.members.0 as usize + place))
    }

    fn after_reduce(&self, used: &mut Vec<(LabelId, u32)>, next: u32) -> u32 {
        let top = *self.openings.last().expect("RE is legal only with an opening");
        let alive = self.alive[top.left as usize];
        let range = self.openings_at(top.left);
        let below = range.start..range.end - 1;
        let (gold, matched) = match self.built(next) {
            Some((group, _)) => (1, self.best_block(used, below, None, group, Some(top.label), 1)),
            None if below.is_empty() => (0, 0),
            None => (0, self.rows[(self.openings[below.end - 1].row + alive) as usize]),
        };
        let all_matched = self.n_matched - self.matches(top.left, alive) + matched;
        self.n_wrong + (1 - gold) + self.n_missing - gold + self.openings.len() as u32 - 1 - 2 * all_matched
    }

    /// Fills in one place of an opening's row.
    fn fill(&mut self, opening: usize, group: usize) {
        let Opened { left, row, .. } = self.openings[opening];
        let start = self.openings[..opening].iter().rev().take_while(|below| below.left == left).count();
        let mut used = std::mem::take(&mut self.used);
        let value = self.best_block(&mut used, opening - start..opening + 1, None, group, None, 1);
        self.used = used;
        let place = row as usize + group - self.by_start[left as usize] as usize + 1;
        self.rows[place] = value;
    }
}

impl Oracle<TopDown> for DynamicOracle {
    fn for_gold(system: &TopDown, gold: &ConstituentTree) -> Result<Self, Underivable> {
        system.check(gold)?;
        let mut constituents = gold::constituents(&system.labels, gold)?;
        constituents.sort_unstable_by_key(|g| (g.left, std::cmp::Reverse(g.right), g.label));
        let n = gold.n_tokens();
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
        let mut ends: Vec<u32> = (0..groups.len() as u32).collect();
        ends.sort_by_key(|&i| groups[i as usize].right);
        let by_start = gold::starts(groups.iter().map(|group| group.left), n + 1);
        Ok(DynamicOracle {
            by_end: gold::starts(groups.iter().map(|group| group.right), n + 1),
            ends,
            alive: by_start.windows(2).map(|pair| pair[1] - pair[0]).collect(),
            by_start,
            groups,
            members,
            openings: Vec::new(),
            rows: Vec::new(),
            top_at: vec![0; n + 1],
            n_wrong: 0,
            n_missing: 0,
            n_matched: 0,
            n_matched_later: 0,
            used: Vec::new(),
        })
    }

    fn loss(&mut self, _system: &TopDown, _forest: &Forest, state: &State) -> Option<u32> {
        let mut used = std::mem::take(&mut self.used);
        let loss = self.loss_here(&mut used, state);
        self.used = used;
        Some(loss)
    }

    fn loss_after(
        &mut self,
        system: &TopDown,
        _forest: &mut Forest,
        state: &State,
        action: ActionId,
    ) -> Option<u32> {
        let next = state.next.index() as u32;
        let mut used = std::mem::take(&mut self.used);
        let loss = match system.decode(action) {
            Action::Shift => self.after_shift(next),
            Action::Open(label) => self.before_fresh(next) + self.fresh_cost(&mut used, next, Some(label)),
            Action::Reduce => self.after_reduce(&mut used, next),
        };
        self.used = used;
        Some(loss)
    }

    fn optimal(
        &mut self,
        system: &TopDown,
        forest: &mut Forest,
        state: &State,
        legal: &ActionSet,
        out: &mut ActionSet,
    ) {
        let next = state.next.index() as u32;
        let mut cheapest = Cheapest::new(out, system.n_actions());
        for action in [Action::Shift, Action::Reduce] {
            let id = system.encode(action);
            if legal.contains(id) {
                let loss = self.loss_after(system, forest, state, id).expect("defined everywhere");
                cheapest.offer(id, loss);
            }
        }
        if (next as usize) >= forest.n_tokens() {
            return;
        }
        // An opening that no gold constituent at b0 answers costs 1, beside what it costs to open there at all.
        let mut used = std::mem::take(&mut self.used);
        let wrong = self.before_fresh(next) + 1 + self.fresh_cost(&mut used, next, None);
        for group in self.groups_at(next) {
            for member in self.members(&self.groups[group]) {
                let id = system.encode(Action::Open(member.label));
                if legal.contains(id) {
                    let cost = self.fresh_cost(&mut used, next, Some(member.label));
                    cheapest.offer(id, self.before_fresh(next) + cost);
                }
            }
        }
        if cheapest.loss() >= wrong {
            for label in (0..system.labels.len()).map(LabelId::new) {
                let id = system.encode(Action::Open(label));
                let is_gold =
                    |group: usize| self.members(&self.groups[group]).iter().any(|m| m.label == label);
                if legal.contains(id) && !self.groups_at(next).any(is_gold) {
                    cheapest.offer(id, wrong);
                }
            }
        }
        self.used = used;
    }

    fn advance(&mut self, system: &TopDown, _forest: &Forest, state: &State, action: ActionId) {
        let next = state.next.index() as u32;
        match system.decode(action) {
            Action::Shift => {
                self.n_missing += self.groups_at(next).map(|group| self.groups[group].size).sum::<u32>();
                self.n_matched = self.n_matched_later + self.matches(next, self.alive[next as usize]);
                let ending = |end: u32, by_end: &[u32]| {
                    by_end[end as usize] as usize..by_end[end as usize + 1] as usize
                };
                for k in ending(next, &self.by_end) {
                    self.alive[self.groups[self.ends[k] as usize].left as usize] -= 1;
                }
                self.n_matched_later = self.n_matched;
                for k in ending(next + 1, &self.by_end) {
                    let left = self.groups[self.ends[k] as usize].left;
                    let alive = self.alive[left as usize];
                    self.n_matched_later -= self.matches(left, alive) - self.matches(left, alive - 1);
                }
            }
            Action::Open(label) => {
                let row = self.rows.len() as u32;
                let opening = self.openings.len();
                self.openings.push(Opened { label, left: next, row });
                self.top_at[next as usize] = opening as u32 + 1;
                let groups = self.groups_at(next);
                self.rows.resize(self.rows.len() + groups.len() + 1, 0);
                groups.for_each(|group| self.fill(opening, group));
            }
            Action::Reduce => {
                let built = self.built(next);
                let Opened { left, row, .. } =
                    *self.openings.last().expect("RE is legal only with an opening");
                // This start is taken out of the sums, changed, and put back.
                let (alive, later) = (self.alive[left as usize], self.alive_behind(left, next));
                self.n_matched -= self.matches(left, alive);
                self.n_matched_later -= self.matches(left, later);
                self.openings.pop();
                self.rows.truncate(row as usize);
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
