//! What the dependency systems share: relations and their actions, the buffer, finished trees, gold trees.
//!
//! In all of them the artificial root r stands behind the last word and is never a dependent. Relations are limited
//! to the directions the treebank shows them in: a LEFT needs a relation seen on an arc from a word to its left (or,
//! when the head is r, on an arc from r), a RIGHT one seen on an arc to the right. A gold derivation attaches every
//! word in the direction of its arc, swapped or not, because the projective order keeps each head between its left
//! and its right dependents; so the limit makes no tree of the treebank underivable.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::forest::{Forest, Kind, View};
use crate::ids::{ActionId, CellId, LabelId, NodeId, StepId, TokenIdx};
use crate::sentence::Str;
use crate::system::ActionSet;
use crate::tree::Underivable;
use crate::tree::{Arc as TreeArc, DependencyTree};

/// The relations and the actions that make arcs: first the LEFTs, then the RIGHTs, behind a system's other actions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Relations {
    /// All relations, sorted; the position is the `LabelId`.
    names: Vec<Str>,
    /// How many actions come before the first LEFT.
    n_before: usize,
    /// The relation of each LEFT: those only for words, then those for words and r, then those only for r.
    left: Vec<u32>,
    /// `left[..n_word]` may be used when the head is a word ...
    n_word: usize,
    /// ... and `left[root..]` when it is r.
    root: usize,
    /// The relation of each RIGHT.
    right: Vec<u32>,
}

/// An action that makes an arc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArcAction {
    Left(LabelId),
    Right(LabelId),
}

impl Relations {
    /// The relations of these trees, in the directions they occur in.
    ///
    /// A direction that never occurs gets the relations of the other one (or, failing that, all), so that no parse
    /// gets stuck for want of a relation.
    pub(super) fn from_trees<'a>(trees: impl Iterator<Item = &'a DependencyTree>, n_before: usize) -> Self {
        let (mut left, mut right, mut root) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for tree in trees {
            for (dependent, arc) in tree.arcs.iter().enumerate() {
                let set = match arc.head {
                    None => &mut root,
                    Some(head) if head.index() > dependent => &mut left,
                    Some(_) => &mut right,
                };
                if !set.contains(&arc.label) {
                    set.insert(arc.label.clone());
                }
            }
        }
        let words: BTreeSet<Str> = left.union(&right).cloned().collect();
        let mut all: BTreeSet<Str> = words.union(&root).cloned().collect();
        if all.is_empty() {
            all.insert(Str::default());
        }
        let for_words = if words.is_empty() { &all } else { &words };
        let or = |set: BTreeSet<Str>, other: &BTreeSet<Str>| if set.is_empty() { other.clone() } else { set };
        let (left, right, root) = (or(left, for_words), or(right, for_words), or(root, &all));
        Self::new(all.clone(), &left, &right, &root, n_before)
    }

    /// These relations, each in every place. No relation at all means unlabelled trees.
    pub(super) fn with_labels(labels: impl IntoIterator<Item = Str>, n_before: usize) -> Self {
        let mut all: BTreeSet<Str> = labels.into_iter().collect();
        if all.is_empty() {
            all.insert(Str::default());
        }
        Self::new(all.clone(), &all, &all, &all, n_before)
    }

    fn new(
        all: BTreeSet<Str>,
        word: &BTreeSet<Str>,
        right: &BTreeSet<Str>,
        root: &BTreeSet<Str>,
        n_before: usize,
    ) -> Self {
        let names: Vec<Str> = all.into_iter().collect();
        let id = |name: &Str| names.binary_search(name).expect("every relation is in the table") as u32;
        let mut left: Vec<u32> = word.difference(root).map(id).collect();
        let root_start = left.len();
        left.extend(word.intersection(root).map(id));
        let n_word = left.len();
        left.extend(root.difference(word).map(id));
        let right = right.iter().map(id).collect();
        Relations { left, right, n_word, root: root_start, n_before, names }
    }

    /// Checks a table from a file, for a system with this many actions before the arcs.
    pub(super) fn check(&self, n_before: usize) -> Result<(), String> {
        let is_known = |ids: &[u32]| ids.iter().all(|&id| (id as usize) < self.names.len());
        let are_distinct = |ids: &[u32]| ids.iter().collect::<BTreeSet<_>>().len() == ids.len();
        let wrong = if self.n_before != n_before {
            "another number of actions than the system has comes before the arcs"
        } else if !self.names.is_sorted_by(|a, b| a < b) {
            "the relations are not in order"
        } else if !is_known(&self.left) || !is_known(&self.right) {
            "an arc has a relation that is not in the table"
        } else if !are_distinct(&self.left) || !are_distinct(&self.right) {
            "an arc is in the table twice"
        } else if self.right.is_empty() || self.n_word == 0 || self.root >= self.left.len() {
            "a direction has no relation"
        } else if self.root > self.n_word || self.n_word > self.left.len() {
            "the relations of words and of the root do not cover the table"
        } else {
            return Ok(());
        };
        Err(wrong.to_owned())
    }

    /// The number of actions, those before the arcs included.
    pub(super) fn n_actions(&self) -> usize {
        self.n_before + self.left.len() + self.right.len()
    }

    /// What an action at or behind the first LEFT does.
    pub(super) fn arc_action(&self, action: ActionId) -> ArcAction {
        let i = action.index() - self.n_before;
        match self.left.get(i) {
            Some(&label) => ArcAction::Left(LabelId::new(label as usize)),
            None => ArcAction::Right(LabelId::new(self.right[i - self.left.len()] as usize)),
        }
    }

    /// Is this action, at or behind the first LEFT, a LEFT?
    #[inline]
    pub(super) fn is_left(&self, action: ActionId) -> bool {
        action.index() < self.n_before + self.left.len()
    }

    /// The text of a relation.
    pub(super) fn label(&self, label: LabelId) -> &str {
        &self.names[label.index()]
    }

    /// The action's name: `LEFT-nsubj`, or just `LEFT` for the empty relation.
    pub(super) fn name(&self, action: ActionId) -> String {
        let (side, label) = match self.arc_action(action) {
            ArcAction::Left(label) => ("LEFT", label),
            ArcAction::Right(label) => ("RIGHT", label),
        };
        match self.names[label.index()].as_str() {
            "" => side.to_owned(),
            label => format!("{side}-{label}"),
        }
    }

    /// Allows every LEFT whose relation fits the head.
    #[inline]
    pub(super) fn allow_left(&self, head: Kind, out: &mut ActionSet) {
        let (start, end) = match head {
            Kind::Root => (self.root, self.left.len()),
            _ => (0, self.n_word),
        };
        out.insert_range(self.n_before + start, self.n_before + end);
    }

    /// Allows every RIGHT.
    #[inline]
    pub(super) fn allow_right(&self, out: &mut ActionSet) {
        out.insert_range(self.n_before + self.left.len(), self.n_actions());
    }

    /// The action that makes this arc.
    fn action_of(&self, dependent: usize, arc: &TreeArc) -> Result<ActionId, Underivable> {
        let unknown =
            |place: &str| Underivable(format!("the relation `{}` was never seen {place}", arc.label));
        let label = self.names.binary_search(&arc.label).map_err(|_| unknown("in training"))? as u32;
        let (range, first, place) = match arc.head {
            None => (&self.left[self.root..], self.root, "on an arc from the root"),
            Some(head) if head.index() > dependent => (&self.left[..self.n_word], 0, "on an arc to the left"),
            Some(_) => (&self.right[..], self.left.len(), "on an arc to the right"),
        };
        let at = range.iter().position(|&l| l == label).ok_or_else(|| unknown(place))?;
        Ok(ActionId::new(self.n_before + first + at))
    }

    /// The tree below r, once every word hangs from it.
    pub(super) fn tree(&self, forest: &Forest, root: NodeId) -> DependencyTree {
        let mut tree = DependencyTree { arcs: vec![TreeArc::default(); forest.n_tokens()] };
        let mut todo = vec![root];
        while let Some(head) = todo.pop() {
            let node = forest.node(head);
            for dependent in forest.dependents(head) {
                let child = forest.node(dependent);
                let label = child.label.expect("an attached node has a relation");
                tree.arcs[child.head.index()] = TreeArc {
                    head: (node.kind == Kind::Word).then_some(node.head),
                    label: self.names[label.index()].clone(),
                };
                todo.push(dependent);
            }
        }
        tree
    }
}

/// The buffer: words in front (put back, or with dependents), then the words that were never shifted, then r.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffer {
    pub(super) front: Option<CellId>,
    pub(super) next: TokenIdx,
}

impl Buffer {
    /// All words.
    pub(super) fn new() -> Self {
        Buffer { front: None, next: TokenIdx::new(0) }
    }

    /// b0. There is always one until r is shifted.
    #[inline]
    pub(super) fn first(&self, forest: &Forest) -> NodeId {
        match self.front {
            Some(cell) => forest.cell(cell).node,
            None => forest.leaf(self.next),
        }
    }

    /// Everything but b0.
    #[inline]
    pub(super) fn rest(&self, forest: &Forest) -> Buffer {
        match self.front {
            Some(cell) => Buffer { front: forest.cell(cell).below, ..*self },
            None => Buffer { next: TokenIdx::new(self.next.index() + 1), ..*self },
        }
    }

    /// With `node` in front.
    #[inline]
    pub(super) fn push(&self, forest: &mut Forest, node: NodeId) -> Buffer {
        Buffer { front: Some(forest.push_cell(node, self.front)), ..*self }
    }
}

/// Stack and buffer: a configuration of the systems whose arcs lie inside the forest's nodes.
#[derive(Clone, Copy, Debug)]
pub struct Configuration {
    pub(super) stack: Option<CellId>,
    pub(super) buffer: Buffer,
    past: Option<StepId>,
}

impl Configuration {
    /// The empty stack and all words, then r, in the buffer.
    pub(super) fn start(forest: &mut Forest, n: usize) -> Self {
        forest.start(n, true);
        Configuration { stack: None, buffer: Buffer::new(), past: None }
    }

    /// Nothing on the stack, and r alone in the buffer.
    #[inline]
    pub(super) fn is_done(&self, forest: &Forest) -> bool {
        self.stack.is_none() && forest.node(self.b0(forest)).kind == Kind::Root
    }

    /// The first item of the buffer. There is always one until r is shifted.
    #[inline]
    pub(super) fn b0(&self, forest: &Forest) -> NodeId {
        self.buffer.first(forest)
    }

    /// The top of the stack.
    #[inline]
    pub(super) fn s0(&self, forest: &Forest) -> Option<NodeId> {
        Some(forest.cell(self.stack?).node)
    }

    /// The item below the top of the stack.
    #[inline]
    pub(super) fn s1(&self, forest: &Forest) -> Option<NodeId> {
        Some(forest.cell(forest.cell(self.stack?).below?).node)
    }

    /// Takes the top off the stack.
    #[inline]
    pub(super) fn pop(&mut self, forest: &Forest) -> NodeId {
        let top = forest.cell(self.stack.expect("a legal action finds its items on the stack"));
        self.stack = top.below;
        top.node
    }

    /// Puts a node on the stack.
    #[inline]
    pub(super) fn push(&mut self, forest: &mut Forest, node: NodeId) {
        self.stack = Some(forest.push_cell(node, self.stack));
    }

    /// Takes the first item out of the buffer.
    #[inline]
    pub(super) fn take(&mut self, forest: &Forest) -> NodeId {
        let first = self.b0(forest);
        self.buffer = self.buffer.rest(forest);
        first
    }

    /// Puts a node in front of the buffer.
    #[inline]
    pub(super) fn put_back(&mut self, forest: &mut Forest, node: NodeId) {
        self.buffer = self.buffer.push(forest, node);
    }

    /// Notes the action that led here.
    #[inline]
    pub(super) fn note(&mut self, forest: &mut Forest, action: ActionId) {
        self.past = Some(forest.push_step(action, self.past));
    }

    /// What a scorer sees.
    #[inline]
    pub(super) fn view(&self) -> View {
        View {
            stack: self.stack,
            deque_top: None,
            deque: None,
            n_deque: 0,
            buffer: self.buffer.front,
            next: self.buffer.next,
            past: self.past,
        }
    }
}

/// The word (n for r) that a node stands for.
#[inline]
pub(super) fn word(forest: &Forest, node: NodeId) -> usize {
    forest.node(node).head.index()
}

/// A gold tree as numbers; r is word n.
#[derive(Debug)]
pub(super) struct Gold {
    /// The head of each word.
    pub(super) heads: Vec<u32>,
    /// The action that attaches each word to its head.
    pub(super) actions: Vec<ActionId>,
    /// Where each head's dependents begin in `dependents`; r's come last.
    starts: Vec<u32>,
    dependents: Vec<u32>,
}

impl Gold {
    /// Takes a tree in.
    ///
    /// # Errors
    /// When it is no tree, has several roots where one is asked for, or has an arc no action makes.
    pub(super) fn new(
        relations: &Relations,
        single_root: bool,
        tree: &DependencyTree,
    ) -> Result<Self, Underivable> {
        let n = tree.len();
        let mut heads = Vec::with_capacity(n);
        for (i, arc) in tree.arcs.iter().enumerate() {
            let head = arc.head.map_or(n, TokenIdx::index);
            if arc.head.is_some() && head >= n {
                return Err(Underivable(format!("the head of word {} is not in the sentence", i + 1)));
            }
            heads.push(head as u32);
        }
        if let Some(on_cycle) = tree.find_cycle() {
            return Err(Underivable(format!("word {} is on a cycle", on_cycle.index() + 1)));
        }
        let n_roots = tree.roots().count();
        if single_root && n_roots > 1 {
            return Err(Underivable(format!(
                "{n_roots} words hang from the root, and the system allows one"
            )));
        }
        let actions = tree
            .arcs
            .iter()
            .enumerate()
            .map(|(i, arc)| relations.action_of(i, arc))
            .collect::<Result<_, _>>()?;
        let mut starts = vec![0u32; n + 2];
        heads.iter().for_each(|&head| starts[head as usize + 1] += 1);
        for i in 0..=n {
            starts[i + 1] += starts[i];
        }
        let (mut fill, mut dependents) = (starts.clone(), vec![0u32; n]);
        for (i, &head) in heads.iter().enumerate() {
            dependents[fill[head as usize] as usize] = i as u32;
            fill[head as usize] += 1;
        }
        Ok(Gold { heads, actions, starts, dependents })
    }

    /// [`Gold::new`] for systems that build projective trees only.
    ///
    /// # Errors
    /// Also when an arc is not projective.
    pub(super) fn projective(
        relations: &Relations,
        single_root: bool,
        tree: &DependencyTree,
    ) -> Result<Self, Underivable> {
        let gold = Self::new(relations, single_root, tree)?;
        if let Some(i) = tree.nonprojective_arcs().iter().position(|&crosses| crosses) {
            let head = gold.heads[i] + 1;
            return Err(Underivable(format!("the arc from word {head} to word {} is not projective", i + 1)));
        }
        Ok(gold)
    }

    /// The number of words.
    pub(super) fn n(&self) -> usize {
        self.heads.len()
    }

    /// The head of a word.
    #[inline]
    pub(super) fn head(&self, word: usize) -> usize {
        self.heads[word] as usize
    }

    /// The dependents of a word, or of r, from left to right.
    #[inline]
    pub(super) fn dependents(&self, head: usize) -> &[u32] {
        &self.dependents[self.starts[head] as usize..self.starts[head + 1] as usize]
    }

    /// How many dependents each word has, and r.
    pub(super) fn n_dependents(&self) -> Vec<u32> {
        self.starts.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    /// The projective order: the place of each word, and of r, in an inorder traversal that visits every head
    /// between its left and its right dependents. In a projective tree it is the order of the words.
    pub(super) fn projective_order(&self) -> Vec<u32> {
        let n = self.n();
        let (mut order, mut clock) = (vec![0; n + 1], 0);
        // A head, how many of its dependents were visited, and whether it has its own place yet.
        let mut todo = vec![(n, 0, false)];
        while let Some((head, visited, placed)) = todo.pop() {
            let dependents = self.dependents(head);
            match dependents.get(visited) {
                Some(&next) if placed || (next as usize) < head => {
                    todo.push((head, visited + 1, placed));
                    todo.push((next as usize, 0, false));
                }
                _ if !placed => {
                    order[head] = clock;
                    clock += 1;
                    todo.push((head, visited, true));
                }
                _ => {}
            }
        }
        order
    }
}

/// Which gold arcs can still be had, and the loss so far: what the arc-decomposable systems' oracles keep.
///
/// `RDEPS(h)`, the reachable dependents of h, are its gold dependents whose arc is neither made nor lost.
#[derive(Clone, Debug)]
pub(super) struct Reachable {
    pub(super) gold: Arc<Gold>,
    /// Is this word in the RDEPS of its head?
    open: Vec<bool>,
    /// The size of each RDEPS.
    n_open: Vec<u32>,
    on_stack: Vec<bool>,
    /// How many gold arcs are lost.
    pub(super) loss: u32,
}

impl Reachable {
    /// Everything is within reach.
    pub(super) fn new(gold: Gold) -> Self {
        let n = gold.n();
        let n_open = gold.n_dependents();
        Reachable { gold: Arc::new(gold), open: vec![true; n], n_open, on_stack: vec![false; n + 1], loss: 0 }
    }

    /// `d` is in `RDEPS(h(d))`.
    #[inline]
    pub(super) fn has_head(&self, d: usize) -> bool {
        self.open[d]
    }

    /// `|RDEPS(h)|`.
    #[inline]
    pub(super) fn n_dependents(&self, h: usize) -> u32 {
        self.n_open[h]
    }

    /// `|{d in RDEPS(h) : d on the stack}|`.
    #[inline]
    pub(super) fn n_dependents_on_stack(&self, h: usize) -> u32 {
        if self.n_open[h] == 0 {
            return 0;
        }
        let is_there = |&&d: &&u32| self.open[d as usize] && self.on_stack[d as usize];
        self.gold.dependents(h).iter().filter(is_there).count() as u32
    }

    /// Is this word on the stack?
    #[inline]
    pub(super) fn is_on_stack(&self, word: usize) -> bool {
        self.on_stack[word]
    }

    /// Notes that a word went onto the stack or left it.
    #[inline]
    pub(super) fn set_on_stack(&mut self, word: usize, is_there: bool) {
        self.on_stack[word] = is_there;
    }

    /// Removes `d` from `RDEPS(h(d))`: its arc is made or lost.
    #[inline]
    pub(super) fn close(&mut self, d: usize) {
        if std::mem::replace(&mut self.open[d], false) {
            self.n_open[self.gold.head(d)] -= 1;
        }
    }

    /// Sets `RDEPS(h) = []`.
    pub(super) fn close_dependents(&mut self, h: usize) {
        self.close_where(h, |_, _| true);
    }

    /// Removes the words on the stack from `RDEPS(h)`.
    pub(super) fn close_dependents_on_stack(&mut self, h: usize) {
        self.close_where(h, |this, d| this.on_stack[d]);
    }

    fn close_where(&mut self, h: usize, which: impl Fn(&Self, usize) -> bool) {
        if self.n_open[h] == 0 {
            return;
        }
        let gold = Arc::clone(&self.gold);
        for &d in gold.dependents(h) {
            if which(self, d as usize) {
                self.close(d as usize);
            }
        }
    }
}

/// The costs and updates of the arc-hybrid systems (Figure 1 of de Lhoneux, Stymne and Nivre 2017).
impl Reachable {
    /// LEFT and RIGHT: `|RDEPS(s0)| + [[h(s0) is not the new head, and s0 is in RDEPS(h(s0))]]`; a wrong relation
    /// counts as a wrong head.
    #[inline]
    pub(super) fn arc_cost(
        &self,
        forest: &Forest,
        state: &Configuration,
        action: ActionId,
        is_left: bool,
    ) -> u32 {
        let s0 = word(forest, state.s0(forest).expect("an arc action takes s0"));
        let is_gold = action == self.gold.actions[s0] && {
            let head = if is_left { Some(state.b0(forest)) } else { state.s1(forest) };
            head.is_some_and(|head| word(forest, head) == self.gold.head(s0))
        };
        self.n_dependents(s0) + u32::from(!is_gold && self.has_head(s0))
    }

    /// The update of LEFT and RIGHT: sets `RDEPS(s0) = []` and removes s0 from `RDEPS(h(s0))`.
    pub(super) fn attach(&mut self, s0: usize) {
        self.close_dependents(s0);
        self.close(s0);
        self.set_on_stack(s0, false);
    }

    /// SHIFT, case 2: `|{d in RDEPS(b0) : d on the stack}| + [[h(b0) is on the stack below s0, and b0 is in
    /// RDEPS(h(b0))]]`, and with a single root `+ [[h(b0) = r, the stack is not empty, and b0 is in RDEPS(r)]]`.
    #[inline]
    pub(super) fn shift_cost(&self, forest: &Forest, state: &Configuration, single_root: bool) -> u32 {
        let b0 = word(forest, state.b0(forest));
        let loses_head = self.has_head(b0) && self.shift_loses_head(forest, state, b0, single_root);
        self.n_dependents_on_stack(b0) + u32::from(loses_head)
    }

    fn shift_loses_head(&self, forest: &Forest, state: &Configuration, b0: usize, single_root: bool) -> bool {
        let Some(s0) = state.s0(forest) else { return false };
        let head = self.gold.head(b0);
        if head == self.gold.n() { single_root } else { self.is_on_stack(head) && head != word(forest, s0) }
    }

    /// The update of SHIFT, case 2.
    pub(super) fn shift(&mut self, forest: &Forest, state: &Configuration, single_root: bool) {
        let b0 = word(forest, state.b0(forest));
        if self.shift_loses_head(forest, state, b0, single_root) {
            self.close(b0);
        }
        self.close_dependents_on_stack(b0);
        self.set_on_stack(b0, true);
    }
}

#[cfg(test)]
pub(super) mod tests;
