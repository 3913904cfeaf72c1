//! Gold dependency trees as numbers, and which of their arcs can still be had: what derivations and oracles ask.

use std::sync::Arc;

use super::configuration::{Configuration, word};
use super::relations::Relations;
use crate::forest::Forest;
use crate::ids::{ActionId, TokenIdx};
use crate::tree::DependencyTree;
use crate::tree::Underivable;

/// A gold tree as numbers; r is word n.
#[derive(Debug)]
pub(crate) struct Gold {
    /// The head of each word.
    pub(crate) heads: Vec<u32>,
    /// The action that attaches each word to its head.
    pub(crate) actions: Vec<ActionId>,
    /// Where each head's dependents begin in `dependents`; r's come last.
    starts: Vec<u32>,
    dependents: Vec<u32>,
}

impl Gold {
    /// Takes a tree in.
    ///
    /// # Errors
    /// When it is no tree, has several roots where one is asked for, or has an arc no action makes.
    pub(crate) fn new(
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
    pub(crate) fn projective(
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
    pub(crate) fn n(&self) -> usize {
        self.heads.len()
    }

    /// The head of a word.
    #[inline]
    pub(crate) fn head(&self, word: usize) -> usize {
        self.heads[word] as usize
    }

    /// The dependents of a word, or of r, from left to right.
    #[inline]
    pub(crate) fn dependents(&self, head: usize) -> &[u32] {
        &self.dependents[self.starts[head] as usize..self.starts[head + 1] as usize]
    }

    /// How many dependents each word has, and r.
    pub(crate) fn n_dependents(&self) -> Vec<u32> {
        self.starts.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    /// The projective order: the place of each word, and of r, in an inorder traversal that visits every head
    /// between its left and its right dependents. In a projective tree it is the order of the words.
    pub(crate) fn projective_order(&self) -> Vec<u32> {
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
pub(crate) struct Reachable {
    pub(crate) gold: Arc<Gold>,
    /// Is this word in the RDEPS of its head?
    open: Vec<bool>,
    /// The size of each RDEPS.
    n_open: Vec<u32>,
    on_stack: Vec<bool>,
    /// How many gold arcs are lost.
    pub(crate) loss: u32,
}

impl Reachable {
    /// Everything is within reach.
    pub(crate) fn new(gold: Gold) -> Self {
        let n = gold.n();
        let n_open = gold.n_dependents();
        Reachable { gold: Arc::new(gold), open: vec![true; n], n_open, on_stack: vec![false; n + 1], loss: 0 }
    }

    /// `d` is in `RDEPS(h(d))`.
    #[inline]
    pub(crate) fn has_head(&self, d: usize) -> bool {
        self.open[d]
    }

    /// `|RDEPS(h)|`.
    #[inline]
    pub(crate) fn n_dependents(&self, h: usize) -> u32 {
        self.n_open[h]
    }

    /// `|{d in RDEPS(h) : d on the stack}|`.
    #[inline]
    pub(crate) fn n_dependents_on_stack(&self, h: usize) -> u32 {
        if self.n_open[h] == 0 {
            return 0;
        }
        let is_there = |&&d: &&u32| self.open[d as usize] && self.on_stack[d as usize];
        self.gold.dependents(h).iter().filter(is_there).count() as u32
    }

    /// Is this word on the stack?
    #[inline]
    pub(crate) fn is_on_stack(&self, word: usize) -> bool {
        self.on_stack[word]
    }

    /// Notes that a word went onto the stack or left it.
    #[inline]
    pub(crate) fn set_on_stack(&mut self, word: usize, is_there: bool) {
        self.on_stack[word] = is_there;
    }

    /// Removes `d` from `RDEPS(h(d))`: its arc is made or lost.
    #[inline]
    pub(crate) fn close(&mut self, d: usize) {
        if std::mem::replace(&mut self.open[d], false) {
            self.n_open[self.gold.head(d)] -= 1;
        }
    }

    /// Sets `RDEPS(h) = []`.
    pub(crate) fn close_dependents(&mut self, h: usize) {
        self.close_where(h, |_, _| true);
    }

    /// Removes the words on the stack from `RDEPS(h)`.
    pub(crate) fn close_dependents_on_stack(&mut self, h: usize) {
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
    pub(crate) fn arc_cost(
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
    pub(crate) fn attach(&mut self, s0: usize) {
        self.close_dependents(s0);
        self.close(s0);
        self.set_on_stack(s0, false);
    }

    /// SHIFT, case 2: `|{d in RDEPS(b0) : d on the stack}| + [[h(b0) is on the stack below s0, and b0 is in
    /// RDEPS(h(b0))]]`, and with a single root `+ [[h(b0) = r, the stack is not empty, and b0 is in RDEPS(r)]]`.
    #[inline]
    pub(crate) fn shift_cost(&self, forest: &Forest, state: &Configuration, single_root: bool) -> u32 {
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
    pub(crate) fn shift(&mut self, forest: &Forest, state: &Configuration, single_root: bool) {
        let b0 = word(forest, state.b0(forest));
        if self.shift_loses_head(forest, state, b0, single_root) {
            self.close(b0);
        }
        self.close_dependents_on_stack(b0);
        self.set_on_stack(b0, true);
    }
}
