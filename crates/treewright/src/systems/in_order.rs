//! In-order constituent parsing: a non-terminal is opened after its first child (Liu and Zhang 2017; the notation and
//! figures 4 and 5 of Fernández-González and Gómez-Rodríguez 2018).
//!
//! Deviations: the treebank's longest unary chain bounds the unary constituents above one item, so that every walk
//! ends. The bound comes from the trees the system is made for, so it makes none of them underivable.

use serde::{Deserialize, Serialize};

use crate::forest::{Forest, Kind, View};
use crate::ids::{ActionId, CellId, LabelId, StepId, TokenIdx};
use crate::oracle::{Cheapest, Oracle};
use crate::sentence::Sentence;
use crate::system::{ActionSet, SystemOptions, TransitionSystem, Underivable};
use crate::systems::gold;
use crate::systems::labels::{self, Labels};
use crate::tree::{Child, ConstituentTree};

/// The in-order system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InOrder {
    labels: Labels,
    /// The longest chain of unary constituents above one item; `None` is no limit.
    max_unary: Option<u32>,
}

/// One configuration.
#[derive(Clone, Copy, Debug)]
pub struct State {
    pub(super) stack: Option<CellId>,
    pub(super) next: TokenIdx,
    /// Openings on the stack.
    pub(super) n_open: u32,
    /// Unary constituents at the top of the topmost word or constituent.
    pub(super) n_unary: u32,
    /// Is the top of the stack an opening?
    pub(super) is_fresh: bool,
    pub(super) is_finished: bool,
    past: Option<StepId>,
}

/// The transitions, in the order of their ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// **Legal** while words remain and something is open, or the stack is empty. **Effect** pushes b0. **Cost** gold
    /// constituents that should have been opened or closed before b0.
    Shift,
    /// **Legal** when s0 is a word or a constituent and the limit allows it. **Effect** pushes the opening of a
    /// constituent whose first child is s0. **Cost** 1 if the smallest gold constituent still to be built that starts
    /// with s0 has another label.
    Open(LabelId),
    /// **Legal** when something is open (directly after NT: a unary constituent). **Effect** closes the topmost
    /// opening over everything above it and the item below it. **Cost** the constituent, if it is not gold, and the
    /// gold ones it stands in the way of.
    Reduce,
    /// **Legal** when one constituent covers all words. **Effect** ends the parse. **Cost** gold constituents above
    /// s0 that were not built.
    Finish,
}

impl InOrder {
    /// A system with these labels; `max_unary` bounds unary chains (at least one is always allowed).
    pub fn with_labels(labels: Labels, max_unary: Option<u32>) -> Self {
        InOrder { labels, max_unary: max_unary.map(|max| max.max(1)) }
    }

    /// Its labels.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Refuses trees that the system cannot build, but for unknown labels.
    fn check(&self, gold: &ConstituentTree) -> Result<(), Underivable> {
        labels::continuous(gold)?;
        let chain = longest_chain(gold);
        match self.max_unary {
            Some(max) if chain > max => {
                Err(Underivable(format!("a unary chain of {chain} is longer than the limit, {max}")))
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
            i if i == self.labels.len() + 1 => Action::Reduce,
            _ => Action::Finish,
        }
    }

    /// The id of an action.
    #[inline]
    pub fn encode(&self, action: Action) -> ActionId {
        ActionId::new(match action {
            Action::Shift => 0,
            Action::Open(label) => label.index() + 1,
            Action::Reduce => self.labels.len() + 1,
            Action::Finish => self.labels.len() + 2,
        })
    }
}

impl TransitionSystem for InOrder {
    type Tree = ConstituentTree;
    type State = State;

    fn from_trees<'a>(trees: impl Iterator<Item = &'a ConstituentTree>, _options: &SystemOptions) -> Self {
        let mut labels = Labels::default();
        let mut max_unary = 1;
        for tree in trees {
            labels.add_tree(tree);
            max_unary = longest_chain(tree).max(max_unary);
        }
        InOrder::with_labels(labels, Some(max_unary))
    }

    fn n_actions(&self) -> usize {
        self.labels.len() + 3
    }

    fn label(&self, label: LabelId) -> String {
        self.labels.name(label).to_owned()
    }

    fn name(&self, action: ActionId) -> String {
        match self.decode(action) {
            Action::Shift => "SH".to_owned(),
            Action::Open(label) => format!("NT-{}", self.labels.name(label)),
            Action::Reduce => "RE".to_owned(),
            Action::Finish => "FI".to_owned(),
        }
    }

    fn action(&self, name: &str) -> Option<ActionId> {
        let action = match name {
            "SH" => Action::Shift,
            "RE" => Action::Reduce,
            "FI" => Action::Finish,
            _ => Action::Open(self.labels.get(name.strip_prefix("NT-")?)?),
        };
        Some(self.encode(action))
    }

    fn start(&self, forest: &mut Forest, sentence: &Sentence) -> State {
        forest.start(sentence.len(), false);
        State {
            stack: None,
            next: TokenIdx::new(0),
            n_open: 0,
            n_unary: 0,
            is_fresh: false,
            is_finished: false,
            past: None,
        }
    }

    fn is_final(&self, _forest: &Forest, state: &State) -> bool {
        state.is_finished
    }

    fn legal(&self, forest: &Forest, state: &State, out: &mut ActionSet) {
        out.reset(self.n_actions());
        if state.is_finished {
            return;
        }
        let words_left = state.next.index() < forest.n_tokens();
        let chain_may_grow = self.max_unary.is_none_or(|max| state.n_unary < max);
        // A word on a lone finished item could never be joined with it.
        if words_left && (state.stack.is_none() || state.n_open > 0) {
            out.insert(self.encode(Action::Shift));
        }
        // An opening that may neither be closed at once nor take a word would be a dead end.
        if !state.is_fresh && state.stack.is_some() && (words_left || chain_may_grow) {
            out.insert_range(1, 1 + self.labels.len());
        }
        if state.n_open > 0 && (!state.is_fresh || chain_may_grow) {
            out.insert(self.encode(Action::Reduce));
        }
        if !words_left
            && state.n_open == 0
            && state.stack.is_some_and(|s0| forest.node(forest.cell(s0).node).kind == Kind::Constituent)
        {
            out.insert(self.encode(Action::Finish));
        }
    }

    fn apply(&self, forest: &mut Forest, state: &State, action: ActionId) -> State {
        let past = Some(forest.push_step(action, state.past));
        match self.decode(action) {
            Action::Shift => {
                let word = forest.leaf(state.next);
                let stack = Some(forest.push_cell(word, state.stack));
                let next = labels::behind(state.next);
                State { stack, next, n_unary: 0, is_fresh: false, past, ..*state }
            }
            Action::Open(label) => {
                let s0 = state.stack.expect("NT is legal only above an item");
                let left = forest.node(forest.cell(s0).node).left;
                let opening = forest.push_opening(label, left, state.next);
                let stack = Some(forest.push_cell(opening, state.stack));
                State { stack, n_open: state.n_open + 1, is_fresh: true, past, ..*state }
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
                let first = *forest.cell(at.expect("an opening stands on its first child"));
                let label = forest.node(opening).label.expect("an opening has a label");
                let node = forest.push_reduction(label, Some(first.node), state.stack, count);
                let stack = Some(forest.push_cell(node, first.below));
                let n_unary = if count == 0 { state.n_unary + 1 } else { 0 };
                State { stack, n_open: state.n_open - 1, n_unary, is_fresh: false, past, ..*state }
            }
            Action::Finish => State { is_finished: true, past, ..*state },
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
        enum Todo {
            Visit(Child),
            Open(LabelId),
            Close,
        }
        let mut actions = Vec::with_capacity(gold.n_tokens() + 2 * gold.n_nodes() + 1);
        let mut todo = vec![Todo::Visit(Child::Node(gold.root()))];
        while let Some(item) = todo.pop() {
            match item {
                Todo::Visit(Child::Token(_)) => actions.push(self.encode(Action::Shift)),
                Todo::Visit(Child::Node(node)) => {
                    let label = self.labels.id(&gold.node(node).label)?;
                    let (&first, rest) =
                        gold.children(node).split_first().expect("every constituent has a child");
                    todo.push(Todo::Close);
                    todo.extend(rest.iter().rev().map(|&child| Todo::Visit(child)));
                    todo.push(Todo::Open(label));
                    todo.push(Todo::Visit(first));
                }
                Todo::Open(label) => actions.push(self.encode(Action::Open(label))),
                Todo::Close => actions.push(self.encode(Action::Reduce)),
            }
        }
        actions.push(self.encode(Action::Finish));
        Ok(actions)
    }

    /// `n - 1` constituents at most have several children; every word and every one of these carries a unary chain
    /// at most; every constituent takes two steps, every word one, and FI one.
    fn max_steps(&self, n_tokens: usize) -> usize {
        match self.max_unary {
            Some(max) => {
                let several = n_tokens.saturating_sub(1);
                let unary = (n_tokens + several).saturating_mul(max as usize);
                several.saturating_add(unary).saturating_mul(2).saturating_add(n_tokens + 1)
            }
            None => usize::MAX,
        }
    }
}

/// The longest chain of constituents with one child.
fn longest_chain(tree: &ConstituentTree) -> u32 {
    let mut chains = vec![0; tree.n_nodes()];
    for (id, _) in tree.nodes() {
        // Children come before their parents.
        chains[id.index()] = match tree.children(id) {
            [Child::Node(child)] => chains[child.index()] + 1,
            [Child::Token(_)] => 1,
            _ => 0,
        };
    }
    chains.into_iter().max().unwrap_or(0)
}

/// The exact dynamic oracle: a closed form, kept up to date step by step.
///
/// An opening is known by its label and the start of the item directly below it (the paper's own index does not
/// identify the constituent it will become). Starts rise strictly up the stack, and only two kinds of start are
/// *live*: those of openings, and that of the top item. Nothing that starts elsewhere in front of b0 can be built any
/// more. The loss is the number of
/// - built constituents that are not gold,
/// - gold constituents that were not built and start at a dead place or end before b0,
/// - openings that cannot become the *smallest* gold constituent still to be built that starts where they do.
///
/// That holds without a limit on unary chains. A limit of a treebank's own makes a difference only above items that
/// already carry more unaries than any gold tree has; there `optimal` still gives the legal actions of least loss by
/// this count.
#[derive(Clone, Debug)]
pub struct DynamicOracle {
    /// Gold constituents by start, end and label, equal ones counted together.
    gold: Vec<Entry>,
    /// The entries of one start, as ranges of `gold`.
    by_start: Vec<u32>,
    /// The entries of one end, as ranges of `ends`, which holds places in `gold`.
    by_end: Vec<u32>,
    ends: Vec<u32>,
    /// How many gold constituents of a start can still be built.
    alive: Vec<u32>,
    /// The starts of the openings, from the bottom of the stack.
    open_starts: Vec<u32>,
    /// The opening at a start, and whether it will become a gold constituent.
    open: Vec<Option<Opened>>,
    n_wrong: u32,
    n_lost: u32,
    n_bad: u32,
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

    /// The entries that start at `left`.
    fn at_start(&self, left: u32) -> &[Entry] {
        &self.gold[self.by_start[left as usize] as usize..self.by_start[left as usize + 1] as usize]
    }

    /// The entries that end at `right` and can still be built.
    fn at_end(&self, right: u32) -> impl Iterator<Item = (usize, &Entry)> {
        let range = self.by_end[right as usize] as usize..self.by_end[right as usize + 1] as usize;
        self.ends[range].iter().map(|&i| (i as usize, &self.gold[i as usize])).filter(|(_, entry)| {
            // The entries of a dead start keep their counts; that none is alive says enough.
            entry.count > 0 && self.alive[entry.left as usize] > 0
        })
    }

    /// The labels of the smallest constituents still to be built that start at `left` and end at `from` or later.
    fn smallest(&self, left: u32, from: u32) -> impl Iterator<Item = LabelId> {
        let rest = if self.alive[left as usize] > 0 { self.at_start(left) } else { &[] };
        let mut alive = rest.iter().filter(move |entry| entry.count > 0 && entry.right >= from).peekable();
        let right = alive.peek().map(|entry| entry.right);
        alive.take_while(move |entry| Some(entry.right) == right).map(|entry| entry.label)
    }

    fn is_good(&self, left: u32, label: LabelId, from: u32) -> bool {
        self.smallest(left, from).any(|smallest| smallest == label)
    }

    fn kill(&mut self, left: u32) {
        self.n_lost += std::mem::take(&mut self.alive[left as usize]);
    }

    /// The entry of a constituent that is still to be built.
    fn position(&self, label: LabelId, left: u32, right: u32) -> Option<usize> {
        let start = self.by_start[left as usize] as usize;
        let found =
            self.at_start(left).iter().position(|e| e.right == right && e.label == label && e.count > 0);
        found.filter(|_| self.alive[left as usize] > 0).map(|i| start + i)
    }

    fn after_shift(&self, top: Option<u32>, next: u32) -> u32 {
        let mut loss = self.now() + top.map_or(0, |left| self.alive[left as usize]);
        // The entries of one end stand by start, so those that share a start follow one another.
        let mut checked = None;
        for (_, entry) in self.at_end(next).filter(|(_, entry)| Some(entry.left) != top) {
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
}

/// The start of the top item, if it is not an opening.
fn top_item(forest: &Forest, state: &State) -> Option<u32> {
    let top = state.stack.filter(|_| !state.is_fresh)?;
    Some(forest.node(forest.cell(top).node).left.index() as u32)
}

impl Oracle<InOrder> for DynamicOracle {
    fn for_gold(system: &InOrder, gold: &ConstituentTree) -> Result<Self, Underivable> {
        system.check(gold)?;
        let mut constituents = gold::constituents(&system.labels, gold)?;
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
        let mut ends: Vec<u32> = (0..entries.len() as u32).collect();
        ends.sort_by_key(|&i| entries[i as usize].right);
        Ok(DynamicOracle {
            by_start: gold::starts(entries.iter().map(|e| e.left), n + 1),
            by_end: gold::starts(entries.iter().map(|e| e.right), n + 1),
            ends,
            gold: entries,
            alive,
            open_starts: Vec::new(),
            open: vec![None; n + 1],
            n_wrong: 0,
            n_lost: 0,
            n_bad: 0,
        })
    }

    fn loss(&mut self, _system: &InOrder, _forest: &Forest, _state: &State) -> Option<u32> {
        Some(self.now())
    }

    fn loss_after(
        &mut self,
        system: &InOrder,
        forest: &mut Forest,
        state: &State,
        action: ActionId,
    ) -> Option<u32> {
        let (top, next) = (top_item(forest, state), state.next.index() as u32);
        Some(match system.decode(action) {
            Action::Shift => self.after_shift(top, next),
            Action::Open(label) => {
                let left = top.expect("NT is legal only above an item");
                self.now() + u32::from(!self.is_good(left, label, next))
            }
            Action::Reduce => self.after_reduce(top, next),
            Action::Finish => self.now() + self.alive[0],
        })
    }

    fn optimal(
        &mut self,
        system: &InOrder,
        forest: &mut Forest,
        state: &State,
        legal: &ActionSet,
        out: &mut ActionSet,
    ) {
        let mut cheapest = Cheapest::new(out, system.n_actions());
        let (top, next) = (top_item(forest, state), state.next.index() as u32);
        for action in [Action::Shift, Action::Reduce, Action::Finish] {
            let id = system.encode(action);
            if legal.contains(id) {
                let loss = self.loss_after(system, forest, state, id).expect("defined everywhere");
                cheapest.offer(id, loss);
            }
        }
        let Some(left) = top else { return };
        for label in self.smallest(left, next) {
            let id = system.encode(Action::Open(label));
            if legal.contains(id) {
                cheapest.offer(id, self.now());
            }
        }
        // All other labels cost 1; only when nothing is cheaper do they have to be visited.
        if cheapest.loss() > self.now() {
            let opens = (1..=system.labels.len()).map(ActionId::new);
            opens.filter(|&open| legal.contains(open)).for_each(|open| cheapest.offer(open, self.now() + 1));
        }
    }

    fn advance(&mut self, system: &InOrder, forest: &Forest, state: &State, action: ActionId) {
        let (top, next) = (top_item(forest, state), state.next.index() as u32);
        match system.decode(action) {
            Action::Shift => {
                if let Some(left) = top {
                    self.kill(left);
                }
                for k in self.by_end[next as usize]..self.by_end[next as usize + 1] {
                    let i = self.ends[k as usize] as usize;
                    let Entry { left, count, .. } = self.gold[i];
                    if count == 0 || self.alive[left as usize] == 0 {
                        continue;
                    }
                    self.gold[i].count = 0;
                    self.alive[left as usize] -= count;
                    self.n_lost += count;
                    if let Some(opened) = self.open[left as usize] {
                        let is_good = self.is_good(left, opened.label, next + 1);
                        self.n_bad = self.n_bad + u32::from(!is_good) - u32::from(!opened.is_good);
                        self.open[left as usize] = Some(Opened { is_good, ..opened });
                    }
                }
            }
            Action::Open(label) => {
                let left = top.expect("NT is legal only above an item");
                let is_good = self.is_good(left, label, next);
                self.n_bad += u32::from(!is_good);
                self.open[left as usize] = Some(Opened { label, is_good });
                self.open_starts.push(left);
            }
            Action::Reduce => {
                let left = self.open_starts.pop().expect("RE is legal only with an opening");
                let opened = self.open[left as usize].take().expect("an opening stands at its start");
                self.n_bad -= u32::from(!opened.is_good);
                if let Some(top) = top {
                    self.kill(top);
                }
                match self.position(opened.label, left, next) {
                    Some(i) => {
                        self.gold[i].count -= 1;
                        self.alive[left as usize] -= 1;
                    }
                    None => self.n_wrong += 1,
                }
            }
            Action::Finish => self.kill(0),
        }
    }
}

#[cfg(test)]
mod tests;
