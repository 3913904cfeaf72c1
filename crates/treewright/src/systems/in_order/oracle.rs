//! The exact dynamic oracle of the in-order system.

use crate::forest::Forest;
use crate::ids::{ActionId, LabelId};
use crate::oracle::{Cheapest, Oracle};
use crate::system::{ActionSet, TransitionSystem};
use crate::systems::gold;
use crate::systems::in_order::{Action, InOrder, State};
use crate::tree::grouped::Grouped;
use crate::tree::{ConstituentTree, Underivable};

mod limit;

use limit::Top;

/// The exact dynamic oracle: a closed form, kept up to date step by step.
///
/// An opening is known by its label and the start of the item directly below it (the paper's own index does not
/// identify the constituent it will become). Starts rise strictly up the stack, and only two kinds of start are
/// *live*: those of openings, and that of the top item. Nothing that starts elsewhere in front of b0 can be built any
/// more. The loss is the number of
/// - built constituents that are not gold,
/// - gold constituents that were not built and start at a dead place or end before b0,
/// - openings that cannot become the *smallest* gold constituent still to be built that starts where they do,
/// - and 1, if the tree cannot end in a root that is free: the last constituent over all words must have a label that
///   may stand at roots. If gold constituents over all words are still to be built and one of them has such a label,
///   that one is built last. Otherwise a wrong root has to go on top of them or, if there are none, on top of what
///   stands there, unless that has such a label itself.
///
/// An opening with a label that was seen only at roots is closed at the end, and nothing is built on top of it. So it
/// loses every gold constituent that starts with the sentence, but for the root if that is its own.
///
/// That is what the loss is as long as the limit on unary chains does not bind; where it may, `limit.rs` has the rest.
#[derive(Clone, Debug)]
pub struct DynamicOracle {
    /// Gold constituents by start, end and label, equal ones counted together.
    gold: Vec<Entry>,
    by_start: Grouped,
    by_end: Grouped,
    /// How many gold constituents of a start can still be built.
    alive: Vec<u32>,
    /// No entry of a start before this one can be built any more.
    first_alive: Vec<u32>,
    /// The starts of the openings, from the bottom of the stack.
    open_starts: Vec<u32>,
    /// The opening at a start, and whether it will become a gold constituent.
    open: Vec<Option<Opened>>,
    n_wrong: u32,
    n_lost: u32,
    n_bad: u32,
    /// The limit on unary chains.
    max_unary: u32,
    /// Starts with more gold constituents over one span than the limit.
    is_tight: Vec<bool>,
    /// Openings at such starts that will not become gold constituents.
    n_tight: u32,
    /// True if there are more gold constituents over all words than the limit.
    is_root_tight: bool,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    left: u32,
    right: u32,
    label: LabelId,
    /// How many such gold constituents were neither built nor lost.
    count: u32,
}

#[derive(Clone, Copy, Debug)]
struct Opened {
    label: LabelId,
    is_good: bool,
}

impl DynamicOracle {
    fn now(&self) -> u32 {
        self.n_wrong + self.n_lost + self.n_bad
    }

    /// The entries that start at `left`; none, if nothing there can be built any more.
    fn at_start(&self, left: u32) -> &[Entry] {
        if self.alive[left as usize] == 0 {
            return &[];
        }
        &self.gold[self.first_alive[left as usize] as usize..self.by_start.range(left as usize).end]
    }

    /// Moves on to the first entry of a start that can still be built, if there is one.
    fn skip_dead(&mut self, left: u32) {
        let entries = self.by_start.range(left as usize);
        let first = &mut self.first_alive[left as usize];
        while entries.contains(&(*first as usize)) && self.gold[*first as usize].count == 0 {
            *first += 1;
        }
    }

    /// The entries that end at `right` and can still be built.
    fn at_end(&self, right: u32) -> impl Iterator<Item = &Entry> {
        // The entries of a dead start keep their counts; that none is alive says enough.
        let can_be_built = |entry: &&Entry| entry.count > 0 && self.alive[entry.left as usize] > 0;
        self.by_end.of(right as usize).iter().map(|&i| &self.gold[i as usize]).filter(can_be_built)
    }

    /// The labels of the smallest constituents still to be built that start at `left` and end at `from` or later.
    fn smallest(&self, left: u32, from: u32) -> impl Iterator<Item = LabelId> {
        let mut alive =
            self.at_start(left).iter().filter(move |entry| entry.count > 0 && entry.right >= from).peekable();
        let right = alive.peek().map(|entry| entry.right);
        alive.take_while(move |entry| Some(entry.right) == right).map(|entry| entry.label)
    }

    fn is_good(&self, left: u32, label: LabelId, from: u32) -> bool {
        self.smallest(left, from).any(|smallest| smallest == label)
    }

    /// The gold constituents over all words that are still to be built.
    fn over_all(&self) -> impl Iterator<Item = &Entry> {
        let end = self.open.len() as u32 - 1;
        self.at_start(0)
            .iter()
            .rev()
            .take_while(move |entry| entry.right == end)
            .filter(|entry| entry.count > 0)
    }

    /// Is a wrong root needed (1) once the gold constituents over all words, `without` one of this label, are built on
    /// top of something labelled `below`?
    fn wrong_root(&self, system: &InOrder, without: Option<LabelId>, below: Option<LabelId>) -> u32 {
        self.finish_cost(system, without, below, u32::MAX)
    }

    /// The same for a bottommost opening, when b0 is at `next`.
    fn wrong_root_above(&self, system: &InOrder, label: LabelId, next: u32) -> u32 {
        if system.table.is_root_only(label) {
            return 0;
        }
        // The opening becomes one of those over all words if there are no smaller ones, and it is among them.
        let end = self.open.len() as u32 - 1;
        let is_last =
            !self.at_start(0).iter().any(|entry| entry.count > 0 && (next..end).contains(&entry.right));
        let is_among = is_last && self.over_all().any(|entry| entry.label == label);
        self.wrong_root(system, is_among.then_some(label), Some(label))
    }

    /// The same for a configuration.
    fn wrong_root_now(&self, system: &InOrder, forest: &Forest, state: &State) -> u32 {
        let Some(top) = state.stack.filter(|_| !state.own.is_finished) else { return 0 };
        match self.open[0] {
            Some(bottom) => self.wrong_root_above(system, bottom.label, state.next.index() as u32),
            None => match forest.node(forest.cell(top).node).label {
                Some(label) if system.table.is_root_only(label) => 0,
                label => self.wrong_root(system, None, label),
            },
        }
    }

    /// How many gold constituents an opening at the start of the sentence loses whose label was seen only at roots.
    fn lost_below_root(&self, label: LabelId) -> u32 {
        self.alive[0] - u32::from(self.over_all().any(|entry| entry.label == label))
    }

    /// The loss after opening a constituent over the item that starts at `left`.
    fn after_open(&self, system: &InOrder, left: u32, label: LabelId, state: &State, wrong_root: u32) -> u32 {
        if system.table.is_root_only(label) {
            let is_good = self.over_all().any(|entry| entry.label == label);
            return self.now() + self.lost_below_root(label) + u32::from(!is_good);
        }
        let next = state.next.index() as u32;
        let wrong_root =
            if state.own.n_open == 0 { self.wrong_root_above(system, label, next) } else { wrong_root };
        self.now() + u32::from(!self.is_good(left, label, next)) + wrong_root
    }

    /// Notes the opening at a start, or that there is none any more.
    fn set_open(&mut self, left: u32, opened: Option<Opened>) {
        let is_tight = u32::from(self.is_tight[left as usize]);
        let bad = |opened: Option<Opened>| u32::from(opened.is_some_and(|opened| !opened.is_good));
        let (before, after) = (bad(self.open[left as usize]), bad(opened));
        self.n_bad = self.n_bad - before + after;
        self.n_tight = self.n_tight - is_tight * before + is_tight * after;
        self.open[left as usize] = opened;
    }

    fn kill(&mut self, left: u32) {
        self.n_lost += std::mem::take(&mut self.alive[left as usize]);
    }

    /// The entry of a constituent that is still to be built.
    fn position(&self, label: LabelId, left: u32, right: u32) -> Option<usize> {
        let start = self.first_alive[left as usize] as usize;
        let alive = self.at_start(left).iter();
        let mut near = alive.enumerate().take_while(|(_, e)| e.right <= right);
        let found = near.find(|(_, e)| e.right == right && e.label == label && e.count > 0);
        found.map(|(i, _)| start + i)
    }

    fn after_shift(&self, top: Option<u32>, next: u32) -> u32 {
        let mut loss = self.now() + top.map_or(0, |left| self.alive[left as usize]);
        // The entries of one end stand by start, so those that share a start follow one another.
        let mut checked = None;
        for entry in self.at_end(next).filter(|entry| Some(entry.left) != top) {
            loss += entry.count;
            if let Some(opened) = self.open[entry.left as usize]
                && checked != Some(entry.left)
            {
                checked = Some(entry.left);
                let is_good = self.is_good(entry.left, opened.label, next + 1);
                loss = loss + u32::from(!is_good) - u32::from(!opened.is_good);
            }
        }
        loss
    }

    fn after_reduce(&self, top: Option<u32>, next: u32) -> u32 {
        let left = *self.open_starts.last().expect("RE is legal only with an opening");
        let opened = self.open[left as usize].expect("an opening stands at its start");
        let is_gold = self.position(opened.label, left, next).is_some();
        self.now() - u32::from(!opened.is_good)
            + u32::from(!is_gold)
            + top.map_or(0, |top| self.alive[top as usize])
    }

    /// The loss after an action that the limit on unary chains has no part in.
    fn without_limit_after(&self, system: &InOrder, forest: &Forest, state: &State, action: ActionId) -> u32 {
        let (top, next) = (top_item(forest, state), state.next.index() as u32);
        match system.actions().get(action) {
            Action::Shift => {
                // A first word has all of gold above it.
                let bottom = self.open[0];
                let wrong = bottom.map_or(0, |opened| self.wrong_root_above(system, opened.label, next + 1));
                self.after_shift(top, next) + wrong
            }
            Action::Open(label) => {
                let left = top.expect("NT is legal only above an item");
                let wrong_root = self.wrong_root_now(system, forest, state);
                self.after_open(system, left, label, state, wrong_root)
            }
            Action::Reduce => {
                let left = *self.open_starts.last().expect("RE is legal only with an opening");
                let opened = self.open[left as usize].expect("an opening stands at its start");
                let wrong_root = if left > 0 {
                    self.wrong_root_now(system, forest, state)
                } else if system.table.is_root_only(opened.label) {
                    0
                } else {
                    let is_over_all = next as usize == forest.n_tokens();
                    let is_gold = is_over_all && self.position(opened.label, 0, next).is_some();
                    self.wrong_root(system, is_gold.then_some(opened.label), Some(opened.label))
                };
                self.after_reduce(top, next) + wrong_root
            }
            Action::Finish => self.now() + self.alive[0],
        }
    }

    /// The top after an action, if the limit on unary chains may bind there.
    fn binding_top_after(&self, top: Top, action: Action) -> Option<Top> {
        let (after, may_be_tight) = match action {
            Action::Shift => {
                let may_be_tight = self.at_end(top.next).any(|entry| self.is_tight[entry.left as usize]);
                (top.shifted(), may_be_tight)
            }
            Action::Open(_) => (Top { is_fresh: true, ..top }, self.is_tight[top.left as usize]),
            Action::Reduce => {
                let left = *self.open_starts.last().expect("RE is legal only with an opening");
                let label = self.open[left as usize].map(|opened| opened.label);
                let n_unary = if top.is_fresh { top.n_unary + 1 } else { 0 };
                (Top { left, label, n_unary, is_fresh: false, ..top }, self.is_tight[left as usize])
            }
            Action::Finish => return None,
        };
        // An opening that was just made is not there yet; it may be any of those wanted, or none.
        let is_narrow = match action {
            Action::Open(_) => self.is_narrow(Top { is_fresh: false, n_unary: top.n_unary + 1, ..top }),
            _ => self.is_narrow(after),
        };
        (self.n_tight > 0 || self.is_root_tight || may_be_tight || is_narrow).then_some(after)
    }

    fn shift(&mut self, top: Option<u32>, next: u32) {
        if let Some(left) = top {
            self.kill(left);
        }
        for k in 0..self.by_end.of(next as usize).len() {
            let i = self.by_end.of(next as usize)[k] as usize;
            let Entry { left, count, .. } = self.gold[i];
            if count == 0 || self.alive[left as usize] == 0 {
                continue;
            }
            self.gold[i].count = 0;
            self.alive[left as usize] -= count;
            self.n_lost += count;
            self.skip_dead(left);
            if let Some(opened) = self.open[left as usize] {
                let is_good = self.is_good(left, opened.label, next + 1);
                self.set_open(left, Some(Opened { is_good, ..opened }));
            }
        }
    }

    fn open(&mut self, system: &InOrder, left: u32, next: u32, label: LabelId) {
        if system.table.is_root_only(label) {
            self.n_lost += self.lost_below_root(label);
            let end = self.open.len() as u32 - 1;
            let mut alive = 0;
            for entry in &mut self.gold[self.by_start.range(0)] {
                entry.count *= u32::from((entry.right, entry.label) == (end, label));
                alive += entry.count;
            }
            self.alive[0] = alive;
            self.skip_dead(0);
        }
        let is_good = self.is_good(left, label, next);
        self.set_open(left, Some(Opened { label, is_good }));
        self.open_starts.push(left);
    }

    fn reduce(&mut self, top: Option<u32>, next: u32) {
        let left = self.open_starts.pop().expect("RE is legal only with an opening");
        let opened = self.open[left as usize].expect("an opening stands at its start");
        self.set_open(left, None);
        if let Some(top) = top {
            self.kill(top);
        }
        match self.position(opened.label, left, next) {
            Some(i) => {
                self.gold[i].count -= 1;
                self.alive[left as usize] -= 1;
                self.skip_dead(left);
            }
            None => self.n_wrong += 1,
        }
    }

    /// Takes an action where the top item, if it is not an opening, starts at `top`, and b0 is at `next`.
    fn take(&mut self, system: &InOrder, top: Option<u32>, next: u32, action: Action) {
        match action {
            Action::Shift => self.shift(top, next),
            Action::Open(label) => {
                let left = top.expect("NT is legal only above an item");
                self.open(system, left, next, label);
            }
            Action::Reduce => self.reduce(top, next),
            Action::Finish => self.kill(0),
        }
    }
}

/// The start of the top item, if it is not an opening.
fn top_item(forest: &Forest, state: &State) -> Option<u32> {
    let top = state.stack.filter(|_| !state.own.is_fresh)?;
    Some(forest.node(forest.cell(top).node).left.index() as u32)
}

impl Oracle<InOrder> for DynamicOracle {
    fn for_gold(system: &InOrder, gold: &ConstituentTree) -> Result<Self, Underivable> {
        system.check(gold)?;
        let mut constituents = gold::constituents(&system.table.labels, gold)?;
        constituents.sort_unstable_by_key(|g| (g.left, g.right, g.label));
        let n = gold.n_tokens();
        let mut entries: Vec<Entry> = Vec::with_capacity(constituents.len());
        let mut alive = vec![0; n + 1];
        for g in constituents {
            alive[g.left as usize] += 1;
            match entries.last_mut() {
                Some(e) if (e.left, e.right, e.label) == (g.left, g.right, g.label) => e.count += 1,
                _ => entries.push(Entry { left: g.left, right: g.right, label: g.label, count: 1 }),
            }
        }
        let max_unary = system.max_unary.unwrap_or(u32::MAX);
        let mut is_tight = vec![false; n + 1];
        for over_one in entries.chunk_by(|a, b| (a.left, a.right) == (b.left, b.right)) {
            let count: u32 = over_one.iter().map(|entry| entry.count).sum();
            is_tight[over_one[0].left as usize] |= count > max_unary;
        }
        let over_all: u32 =
            entries.iter().filter(|e| (e.left, e.right as usize) == (0, n)).map(|entry| entry.count).sum();
        let by_start = Grouped::by(entries.iter().map(|entry| entry.left as usize), n + 1);
        Ok(DynamicOracle {
            first_alive: (0..=n).map(|left| by_start.range(left).start as u32).collect(),
            by_start,
            by_end: Grouped::by(entries.iter().map(|entry| entry.right as usize), n + 1),
            gold: entries,
            alive,
            open_starts: Vec::new(),
            open: vec![None; n + 1],
            n_wrong: 0,
            n_lost: 0,
            n_bad: 0,
            max_unary,
            is_tight,
            n_tight: 0,
            is_root_tight: over_all > max_unary,
        })
    }

    fn loss(&mut self, system: &InOrder, forest: &Forest, state: &State) -> Option<u32> {
        let top = Top::of(forest, state).filter(|_| !state.own.is_finished);
        if let Some(top) = top.filter(|&top| self.n_tight > 0 || self.is_root_tight || self.is_narrow(top)) {
            return Some(self.loss_within_limit(system, top));
        }
        Some(self.now() + self.wrong_root_now(system, forest, state))
    }

    fn loss_after(
        &mut self,
        system: &InOrder,
        forest: &mut Forest,
        state: &State,
        action: ActionId,
    ) -> Option<u32> {
        if let Some(top) = Top::of(forest, state)
            && action != system.actions().id(Action::Finish)
            && let Some(top) = self.binding_top_after(top, system.actions().get(action))
        {
            let mut after = self.clone();
            after.take(
                system,
                top_item(forest, state),
                state.next.index() as u32,
                system.actions().get(action),
            );
            return Some(after.loss_within_limit(system, top));
        }
        Some(self.without_limit_after(system, forest, state, action))
    }

    fn optimal(
        &mut self,
        system: &InOrder,
        forest: &mut Forest,
        state: &State,
        legal: &ActionSet,
        out: &mut ActionSet,
    ) {
        let mut cheapest = Cheapest::new(legal, out, system.n_actions());
        let may_bind = |top: Top| {
            let is_tight = self.n_tight > 0 || self.is_root_tight || self.is_tight[top.left as usize];
            let n_unary = top.n_unary.saturating_add(1);
            is_tight || self.is_narrow(Top { is_fresh: false, n_unary, ..top })
        };
        if Top::of(forest, state).is_some_and(may_bind) {
            for action in legal.iter() {
                let loss = self.loss_after(system, forest, state, action).expect("defined everywhere");
                cheapest.offer(action, || loss);
            }
            return;
        }
        let (actions, next) = (system.actions(), state.next.index() as u32);
        for id in [Action::Shift, Action::Reduce, Action::Finish].map(|action| actions.id(action)) {
            cheapest.offer(id, || self.loss_after(system, forest, state, id).expect("defined everywhere"));
        }
        let Some(left) = top_item(forest, state) else { return };
        let wrong_root = self.wrong_root_now(system, forest, state);
        let offer = |cheapest: &mut Cheapest<'_>, label| {
            let after = || self.after_open(system, left, label, state, wrong_root);
            cheapest.offer(actions.id(Action::Open(label)), after);
        };
        self.smallest(left, next).for_each(|label| offer(&mut cheapest, label));
        // All other labels cost something, unless a root has to be made up; only when nothing is free do they have to be
        // visited.
        if cheapest.loss() > self.now() + wrong_root || wrong_root > 0 && state.own.n_open == 0 {
            (0..system.table.labels.len()).for_each(|label| offer(&mut cheapest, LabelId::new(label)));
        }
    }

    fn advance(&mut self, system: &InOrder, forest: &Forest, state: &State, action: ActionId) {
        let (top, next) = (top_item(forest, state), state.next.index() as u32);
        self.take(system, top, next, system.actions().get(action));
    }
}
