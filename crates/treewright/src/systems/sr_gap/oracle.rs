//! The exact dynamic oracle of SR-GAP. The paper has only a static one; this one was found by exhaustive search.
//!
//! The loss counts (label, yield) pairs of the n-ary tree, temporaries left out; gold has one label per yield (unary
//! chains are joined). Write *item* for an element of S or D, and let D have one element:
//! - A gold node Y of several words is *open* while no item crosses, equals or contains it, and it has unshifted
//!   words or contains d0. A gold unary is open until its word is no longer the one just shifted.
//! - Every item and unshifted word belongs to the smallest open Y that contains it. Y needs a piece that is not a
//!   temporary; without one it cannot be completed, and its pieces go to the next larger open node. With one, it is
//!   completed, but two temporaries never join: all of them but one cost a wrong constituent each.
//! - loss = wrong constituents so far + gold nodes neither built nor completable + those wrong constituents.
//!
//! If gaps are pending, a reduction must follow (after more gaps, perhaps), so the loss is the minimum of that value over
//! the reductions of d0 with an item of S.
//!
//! Reading a configuration costs a pass over the words and one over the gold nodes for each kind of action; items of S that belong
//! to the same node and are both temporaries or both not are alike, so pending gaps cost one pass for each node that
//! has an item. Nothing is kept between steps.

use std::sync::Arc;

use crate::forest::{Forest, Kind};
use crate::ids::{ActionId, LabelId, NodeId};
use crate::oracle::Oracle;
use crate::system::{ActionSet, TransitionSystem};
use crate::systems::sr_gap::{Action, Last, SrGap, State};
use crate::tree::ancestors::Ancestors;
use crate::tree::{BinaryTree, Child, ConstituentTree, Underivable};

/// The gold tree as the oracle needs it: nodes of several words in post-order, the root last.
#[derive(Debug)]
struct Gold {
    ancestors: Ancestors,
    size: Vec<u32>,
    /// The place after the last word.
    right: Vec<u32>,
    label: Vec<LabelId>,
    /// The smallest node of several words above each word.
    above_word: Vec<u32>,
    /// The label of the unary above each word.
    unary: Vec<Option<LabelId>>,
}

impl Gold {
    fn new(system: &SrGap, tree: &ConstituentTree) -> Result<Self, Underivable> {
        let mut gold = Gold {
            ancestors: Ancestors::new(&[]),
            size: Vec::new(),
            right: Vec::new(),
            label: Vec::new(),
            above_word: vec![0; tree.n_tokens()],
            unary: vec![None; tree.n_tokens()],
        };
        // Where each node of the tree went; a unary above a word has no place of its own.
        let (mut place, mut parents) = (vec![0; tree.n_nodes()], Vec::new());
        for (id, node) in tree.nodes() {
            let label = system.symbols.label_at(&node.label, id == tree.root())?;
            match *tree.children(id) {
                [Child::Token(token)] => {
                    gold.unary[token.index()] = Some(label);
                    continue;
                }
                [Child::Node(below)] => {
                    let below = &tree.node(below).label;
                    let why = format!("{} has the one child {below}, which is not a word", node.label);
                    return Err(Underivable(why));
                }
                _ => {}
            }
            let new = gold.label.len() as u32;
            place[id.index()] = new;
            gold.label.push(label);
            parents.push(None);
            gold.size.push(node.n_tokens() as u32);
            gold.right.push(node.rightmost().index() as u32 + 1);
            for &child in tree.children(id) {
                match child {
                    Child::Token(token) => gold.above_word[token.index()] = new,
                    Child::Node(child) => match tree.children(child) {
                        &[Child::Token(token)] => gold.above_word[token.index()] = new,
                        _ => parents[place[child.index()] as usize] = Some(NodeId::new(new as usize)),
                    },
                }
            }
        }
        gold.ancestors = Ancestors::new(&parents);
        Ok(gold)
    }

    /// The smallest node that contains both.
    fn common(&self, a: u32, b: u32) -> u32 {
        self.ancestors.lowest_common(NodeId::new(a as usize), NodeId::new(b as usize)).index() as u32
    }

    /// The parent; the root's is itself.
    fn parent(&self, node: u32) -> u32 {
        self.ancestors.parent(NodeId::new(node as usize)).index() as u32
    }

    fn depth(&self, node: u32) -> u32 {
        self.ancestors.depth(NodeId::new(node as usize))
    }
}

/// What has become of a gold node of several words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Open,
    Built,
    Lost,
}

/// What stands on the stack, as far as gold is concerned.
#[derive(Clone, Copy, Debug)]
struct Item {
    /// The smallest gold node that contains its words.
    above: u32,
    size: u32,
    is_temporary: bool,
}

/// What belongs to a gold node.
#[derive(Clone, Copy, Debug, Default)]
struct Pieces {
    temporary: u32,
    solid: u32,
}

/// What a reduction makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    Gold,
    Wrong,
    Temporary,
}

/// The exact dynamic oracle for one sentence.
#[derive(Clone, Debug)]
pub struct DynamicOracle {
    gold: Arc<Gold>,
    notes: Notes,
}

/// What is noted about one configuration; the memory is reused for the next.
#[derive(Clone, Debug, Default)]
struct Notes {
    fate: Vec<Fate>,
    /// For a node that is not open, a node above it on the way to the next open one; for an open one, itself.
    up: Vec<u32>,
    pieces: Vec<Pieces>,
    /// d0.
    newest: Option<Item>,
    /// The other items, nearest first: those passed over by gaps, then S.
    items: Vec<Item>,
    /// Wrong constituents, and gold unaries that can no longer be built.
    wrong: u32,
    /// The open unary above d0, if d0 was just shifted.
    unary: Option<LabelId>,
    n_shifted: u32,
    n_gaps: usize,
    has_temporaries: bool,
    // Scratch.
    work: Vec<Pieces>,
    order: Vec<NodeId>,
    todo: Vec<NodeId>,
    parts: Vec<Item>,
    undo: Vec<(u32, Fate)>,
    seen: Vec<[bool; 2]>,
}

impl DynamicOracle {
    /// The oracle for an n-ary gold tree, with unary chains joined into one label above a word and none elsewhere.
    ///
    /// # Errors
    /// When the system cannot build the tree.
    pub fn new(system: &SrGap, gold: &ConstituentTree) -> Result<Self, Underivable> {
        Ok(DynamicOracle { gold: Arc::new(Gold::new(system, gold)?), notes: Notes::default() })
    }

    /// One word has one action that counts.
    fn loss_of_one_word(&self, forest: &Forest, state: &State) -> u32 {
        let label = state.d0.and_then(|d0| forest.node(d0).label);
        if label.is_none() || label == self.gold.unary[0] { 0 } else { 2 }
    }
}

/// The losses after the actions of one configuration, by what they do.
#[derive(Clone, Copy, Debug)]
struct After {
    shift: u32,
    gap: u32,
    unary: (Option<LabelId>, u32, u32),
    reduce: (Option<LabelId>, u32, u32),
    temporary: u32,
}

/// No finished parse.
const NEVER: u32 = u32::MAX;

impl Notes {
    /// Reads a configuration.
    fn read(&mut self, gold: &Gold, system: &SrGap, forest: &Forest, state: &State) {
        let n_nodes = gold.label.len();
        self.fate.clear();
        self.fate.resize(n_nodes, Fate::Open);
        self.up.clear();
        self.up.extend(0..n_nodes as u32);
        self.pieces.clear();
        self.pieces.resize(n_nodes, Pieces::default());
        self.seen.clear();
        self.seen.resize(n_nodes, [false; 2]);
        self.wrong = 0;
        self.unary = None;
        self.items.clear();
        self.n_shifted = state.next.index() as u32;
        self.n_gaps = state.n_deque as usize;
        self.has_temporaries = !system.symbols.temporaries().is_empty();
        let just_shifted = state.d0.filter(|_| state.own.last == Last::Shift);
        for node in forest.chain(state.whole_stack()) {
            let item = self.read_item(gold, forest, node, None);
            self.items.push(item);
        }
        self.newest = state.d0.map(|d0| self.read_item(gold, forest, d0, just_shifted));
        for token in state.next.index()..gold.above_word.len() {
            self.pieces[gold.above_word[token] as usize].solid += 1;
        }
        // A node whose words are all shifted, without d0, can never be built.
        for y in 0..n_nodes as u32 {
            if self.fate[y as usize] == Fate::Open && gold.right[y as usize] < self.n_shifted {
                self.close(gold, y, Fate::Lost);
            }
        }
    }

    /// Reads all that an item is made of, and counts the item as a piece.
    fn read_item(&mut self, gold: &Gold, forest: &Forest, top: NodeId, just_shifted: Option<NodeId>) -> Item {
        // A pre-order with the last child first; read backwards, children come before their parents, and a second
        // child's part lies above the first's.
        let (mut order, mut todo) = (std::mem::take(&mut self.order), std::mem::take(&mut self.todo));
        order.clear();
        todo.push(top);
        while let Some(id) = todo.pop() {
            order.push(id);
            todo.extend(forest.children(id));
        }
        self.parts.clear();
        for &id in order.iter().rev() {
            let node = forest.node(id);
            let part = match *forest.children(id) {
                [] => {
                    let unary = gold.unary[node.head.index()];
                    if Some(id) == just_shifted {
                        self.unary = unary;
                    } else {
                        self.wrong += u32::from(unary.is_some());
                    }
                    Item { above: gold.above_word[node.head.index()], size: 1, is_temporary: false }
                }
                [below] => {
                    // The gold unary, if there is one, was counted as lost at its word.
                    if gold.unary[forest.node(below).head.index()] == node.label {
                        self.wrong -= 1;
                    } else {
                        self.wrong += 1;
                    }
                    self.parts.pop().expect("the child was read")
                }
                _ => {
                    let second = self.parts.pop().expect("the second child was read");
                    let first = self.parts.pop().expect("the first child was read");
                    self.join(gold, first, second, node.label.filter(|_| node.kind == Kind::Constituent))
                }
            };
            self.parts.push(part);
        }
        (self.order, self.todo) = (order, todo);
        let item = self.parts.pop().expect("the item was read");
        *self.count(item) += 1;
        item
    }

    fn count(&mut self, item: Item) -> &mut u32 {
        let pieces = &mut self.pieces[item.above as usize];
        if item.is_temporary { &mut pieces.temporary } else { &mut pieces.solid }
    }

    /// Two parts under one node, which is a temporary if it has no label.
    fn join(&mut self, gold: &Gold, first: Item, second: Item, label: Option<LabelId>) -> Item {
        let above = gold.common(first.above, second.above);
        let size = first.size + second.size;
        for part in [first, second] {
            let mut y = self.next_open(part.above);
            while gold.depth(y) > gold.depth(above) {
                self.close(gold, y, Fate::Lost);
                y = self.next_open(y);
            }
        }
        let is_gold = size == gold.size[above as usize] && label == Some(gold.label[above as usize]);
        if size == gold.size[above as usize] {
            self.close(gold, above, if is_gold { Fate::Built } else { Fate::Lost });
        }
        if label.is_some() && !is_gold {
            self.wrong += 1;
        }
        Item { above, size, is_temporary: label.is_none() }
    }

    fn close(&mut self, gold: &Gold, y: u32, fate: Fate) {
        self.fate[y as usize] = fate;
        self.up[y as usize] = gold.parent(y);
    }

    /// The smallest open node at or above `y`, or the root.
    fn next_open(&mut self, y: u32) -> u32 {
        let mut y = y as usize;
        while self.up[y] as usize != y {
            // Halving the way makes later walks short.
            self.up[y] = self.up[self.up[y] as usize];
            y = self.up[y] as usize;
        }
        y as u32
    }

    /// Gold nodes that will not be built plus wrong constituents to come, if `n_shifted` words were shifted and D has
    /// one element.
    fn still_to_come(&mut self, gold: &Gold, n_shifted: u32) -> u32 {
        let work = &mut self.work;
        work.clone_from(&self.pieces);
        let root = work.len() - 1;
        let mut loss = 0;
        for y in 0..work.len() {
            let Pieces { temporary, solid } = work[y];
            let is_open = self.fate[y] == Fate::Open && gold.right[y] >= n_shifted;
            let above = &mut work[gold.parent(y as u32) as usize];
            if is_open && solid > 0 {
                loss += temporary.saturating_sub(1);
                above.solid += 1;
            } else {
                if is_open && y == root {
                    return NEVER;
                }
                loss += u32::from(self.fate[y] != Fate::Built);
                above.temporary += temporary;
                above.solid += solid;
            }
        }
        loss
    }

    /// The loss after a reduction of d0 with `item`.
    fn after_reduction(&mut self, gold: &Gold, item: Item, made: Made) -> u32 {
        let Some(newest) = self.newest else { return NEVER };
        let above = gold.common(newest.above, item.above);
        let joined = Item { above, size: newest.size + item.size, is_temporary: made == Made::Temporary };
        let mut undo = std::mem::take(&mut self.undo);
        undo.clear();
        for part in [newest, item] {
            let mut y = self.next_open(part.above);
            while gold.depth(y) > gold.depth(above) {
                undo.push((y, std::mem::replace(&mut self.fate[y as usize], Fate::Lost)));
                y = self.next_open(gold.parent(y));
            }
        }
        if joined.size == gold.size[above as usize] {
            let fate = if made == Made::Gold { Fate::Built } else { Fate::Lost };
            undo.push((above, std::mem::replace(&mut self.fate[above as usize], fate)));
        }
        *self.count(newest) -= 1;
        *self.count(item) -= 1;
        *self.count(joined) += 1;
        let to_come = self.still_to_come(gold, self.n_shifted);
        *self.count(joined) -= 1;
        *self.count(item) += 1;
        *self.count(newest) += 1;
        for (y, fate) in undo.drain(..).rev() {
            self.fate[y as usize] = fate;
        }
        self.undo = undo;
        let unary = u32::from(self.unary.is_some());
        to_come.saturating_add(self.wrong + unary + u32::from(made == Made::Wrong))
    }

    /// Does a reduction of d0 with `item` give the yield of a gold node?
    fn gold_label(&self, gold: &Gold, item: Item) -> Option<LabelId> {
        let newest = self.newest?;
        let above = gold.common(newest.above, item.above) as usize;
        (gold.size[above] == newest.size + item.size).then(|| gold.label[above])
    }

    /// The least loss after a reduction of d0 with one of the items from number `first` on. No less than `floor` is
    /// possible, so it ends the search.
    fn best_reduction(&mut self, gold: &Gold, first: usize, floor: u32) -> u32 {
        let Some(newest) = self.newest else { return NEVER };
        let mut best = NEVER;
        self.seen.iter_mut().for_each(|seen| *seen = [false; 2]);
        for i in first..self.items.len() {
            let item = self.items[i];
            if newest.is_temporary && item.is_temporary {
                continue;
            }
            let host = self.next_open(item.above) as usize;
            if std::mem::replace(&mut self.seen[host][usize::from(item.is_temporary)], true) {
                continue;
            }
            if self.gold_label(gold, item).is_some() {
                best = best.min(self.after_reduction(gold, item, Made::Gold));
            } else {
                best = best.min(self.after_reduction(gold, item, Made::Wrong));
                if self.has_temporaries && best > floor {
                    best = best.min(self.after_reduction(gold, item, Made::Temporary));
                }
            }
            if best <= floor {
                break;
            }
        }
        best
    }

    /// The loss of the configuration.
    fn loss(&mut self, gold: &Gold) -> u32 {
        if self.n_gaps > 0 {
            self.best_reduction(gold, self.n_gaps, 0)
        } else {
            self.still_to_come(gold, self.n_shifted).saturating_add(self.wrong)
        }
    }

    /// The losses after all kinds of actions that `wanted` asks for; `now` is the loss of the configuration.
    fn after(&mut self, gold: &Gold, now: u32, wanted: impl Fn(Kinds) -> bool) -> After {
        let unary = u32::from(self.unary.is_some());
        let shift = if wanted(Kinds::Shift) {
            self.still_to_come(gold, self.n_shifted + 1).saturating_add(self.wrong + unary)
        } else {
            NEVER
        };
        let gap = if wanted(Kinds::Gap) { self.best_reduction(gold, self.n_gaps + 1, now) } else { NEVER };
        let mut after = After {
            shift,
            gap,
            unary: (self.unary, now, now.saturating_add(1 + unary)),
            reduce: (None, NEVER, NEVER),
            temporary: NEVER,
        };
        if let Some(&item) = self.items.get(self.n_gaps) {
            if wanted(Kinds::Reduce) {
                let label = self.gold_label(gold, item);
                let right =
                    if label.is_some() { self.after_reduction(gold, item, Made::Gold) } else { NEVER };
                after.reduce = (label, right, self.after_reduction(gold, item, Made::Wrong));
            }
            if wanted(Kinds::Temporary) {
                after.temporary = self.after_reduction(gold, item, Made::Temporary);
            }
        }
        after
    }
}

/// Kinds of actions whose losses are found in different ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kinds {
    Shift,
    Gap,
    Reduce,
    Temporary,
}

impl After {
    fn of(&self, system: &SrGap, action: ActionId, now: u32) -> u32 {
        let by_label = |(gold, right, wrong): (Option<LabelId>, u32, u32), label| {
            if gold == Some(label) { right } else { wrong }
        };
        match system.actions().get(action) {
            Action::Shift => self.shift,
            Action::Gap => self.gap,
            Action::Unary(label) => by_label(self.unary, label),
            Action::Right(label) | Action::Left(label) => {
                if system.symbols.kind(label) == Kind::Temporary {
                    self.temporary
                } else {
                    by_label(self.reduce, label)
                }
            }
            Action::Idle => now,
        }
    }
}

impl DynamicOracle {
    fn read(&mut self, system: &SrGap, forest: &Forest, state: &State) -> u32 {
        let DynamicOracle { gold, notes } = self;
        notes.read(gold, system, forest, state);
        notes.loss(gold)
    }
}

impl Oracle<SrGap> for DynamicOracle {
    fn for_gold(system: &SrGap, gold: &BinaryTree) -> Result<Self, Underivable> {
        DynamicOracle::new(system, &gold.unbinarize())
    }

    fn loss(&mut self, system: &SrGap, forest: &Forest, state: &State) -> Option<u32> {
        if forest.n_tokens() == 1 {
            return Some(self.loss_of_one_word(forest, state));
        }
        Some(self.read(system, forest, state))
    }

    fn loss_after(
        &mut self,
        system: &SrGap,
        forest: &mut Forest,
        state: &State,
        action: ActionId,
    ) -> Option<u32> {
        if forest.n_tokens() == 1 {
            let after = system.apply(forest, state, action);
            return Some(self.loss_of_one_word(forest, &after));
        }
        let now = self.read(system, forest, state);
        let after = self.notes.after(&self.gold, now, |_| true);
        Some(after.of(system, action, now))
    }

    fn optimal(
        &mut self,
        system: &SrGap,
        forest: &mut Forest,
        state: &State,
        legal: &ActionSet,
        out: &mut ActionSet,
    ) {
        out.reset(system.n_actions());
        if forest.n_tokens() == 1 {
            let now = self.loss_of_one_word(forest, state);
            for action in legal.iter() {
                let after = system.apply(forest, state, action);
                if self.loss_of_one_word(forest, &after) == now {
                    out.insert(action);
                }
            }
            return;
        }
        let now = self.read(system, forest, state);
        let has_temporary = legal.iter().any(|action| match system.actions().get(action) {
            Action::Right(label) | Action::Left(label) => system.symbols.kind(label) == Kind::Temporary,
            _ => false,
        });
        let after = self.notes.after(&self.gold, now, |asked| match asked {
            Kinds::Shift => legal.contains(system.actions().id(Action::Shift)),
            Kinds::Gap => legal.contains(system.actions().id(Action::Gap)),
            Kinds::Reduce => true,
            Kinds::Temporary => has_temporary,
        });
        for action in legal.iter() {
            if after.of(system, action, now) == now {
                out.insert(action);
            }
        }
    }
}
