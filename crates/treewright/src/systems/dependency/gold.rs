//! Gold dependency trees as numbers, and which of their arcs are still reachable: for derivations and oracles.

use std::sync::Arc;

use super::relations::Relations;
use crate::ids::{ActionId, TokenIdx};
use crate::tree::grouped::Grouped;
use crate::tree::{DependencyTree, Underivable};

/// A gold tree as numbers; r is word n.
#[derive(Debug)]
pub(crate) struct Gold {
    /// The head of each word.
    pub heads: Vec<u32>,
    /// The action that attaches each word to its head.
    pub actions: Vec<ActionId>,
    /// The dependents of each word, from left to right; r's come last.
    dependents: Grouped,
}

impl Gold {
    /// Takes a tree in.
    ///
    /// # Errors
    /// When it is not a tree, has several roots where only one is allowed, or has an arc that no action makes.
    pub(crate) fn new(
        relations: &Relations,
        single_root: bool,
        tree: &DependencyTree,
    ) -> Result<Self, Underivable> {
        let n = tree.len();
        let head = |arc: &crate::tree::Arc| arc.head.map_or(n, TokenIdx::index);
        if let Some(i) = tree.arcs.iter().position(|arc| arc.head.is_some() && head(arc) >= n) {
            return Err(Underivable(format!("the head of word {} is not in the sentence", i + 1)));
        }
        let heads: Vec<u32> = tree.arcs.iter().map(|arc| head(arc) as u32).collect();
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
        let dependents = Grouped::by(heads.iter().map(|&head| head as usize), n + 1);
        Ok(Gold { heads, actions, dependents })
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
        self.dependents.of(head)
    }

    /// How many dependents each word has, and r.
    pub(crate) fn n_dependents(&self) -> Vec<u32> {
        (0..=self.n()).map(|head| self.dependents(head).len() as u32).collect()
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

/// Which gold arcs are still reachable, and the loss so far: what the oracles of arc-decomposable systems keep.
///
/// `RDEPS(h)`, the reachable dependents of h, are its gold dependents whose arc is neither made nor lost.
#[derive(Clone, Debug)]
pub(crate) struct Reachable {
    pub gold: Arc<Gold>,
    /// Is this word in the RDEPS of its head?
    open: Vec<bool>,
    /// The size of each RDEPS.
    n_open: Vec<u32>,
    /// The number of words of each RDEPS that are on the stack.
    n_open_on_stack: Vec<u32>,
    on_stack: Vec<bool>,
    /// How many gold arcs are lost.
    pub loss: u32,
}

impl Reachable {
    /// Everything is within reach.
    pub(crate) fn new(gold: Gold) -> Self {
        let n = gold.n();
        let n_open = gold.n_dependents();
        Reachable {
            gold: Arc::new(gold),
            open: vec![true; n],
            n_open,
            n_open_on_stack: vec![0; n + 1],
            on_stack: vec![false; n + 1],
            loss: 0,
        }
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
        self.n_open_on_stack[h]
    }

    /// Is this word on the stack?
    #[inline]
    pub(crate) fn is_on_stack(&self, word: usize) -> bool {
        self.on_stack[word]
    }

    /// Notes that a word went onto the stack or left it.
    #[inline]
    pub(crate) fn set_on_stack(&mut self, word: usize, is_there: bool) {
        let was_there = std::mem::replace(&mut self.on_stack[word], is_there);
        if self.open[word] && was_there != is_there {
            let count = &mut self.n_open_on_stack[self.gold.head(word)];
            *count = if is_there { *count + 1 } else { *count - 1 };
        }
    }

    /// Removes `d` from `RDEPS(h(d))`: its arc is made or lost.
    #[inline]
    pub(crate) fn close(&mut self, d: usize) {
        if std::mem::replace(&mut self.open[d], false) {
            self.n_open[self.gold.head(d)] -= 1;
            self.n_open_on_stack[self.gold.head(d)] -= u32::from(self.on_stack[d]);
        }
    }

    /// Sets `RDEPS(h) = []`.
    pub(crate) fn close_dependents(&mut self, h: usize) {
        self.close_while(h, |this| this.n_open[h] > 0, |_, _| true);
    }

    /// Removes the words on the stack from `RDEPS(h)`.
    pub(crate) fn close_dependents_on_stack(&mut self, h: usize) {
        self.close_while(h, |this| this.n_open_on_stack[h] > 0, |this, d| this.on_stack[d]);
    }

    /// Takes `d` off the stack, with its arc made or lost: sets `RDEPS(d) = []` and removes `d` from `RDEPS(h(d))`.
    pub(crate) fn attach(&mut self, d: usize) {
        self.close_dependents(d);
        self.close(d);
        self.set_on_stack(d, false);
    }

    /// Compares what is counted with the definition.
    #[cfg(test)]
    #[track_caller]
    pub(crate) fn check_counts(&self) {
        for h in 0..=self.gold.n() {
            let open = || self.gold.dependents(h).iter().filter(|&&d| self.open[d as usize]);
            assert_eq!(self.n_dependents(h) as usize, open().count(), "{h}");
            let on_stack = open().filter(|&&d| self.on_stack[d as usize]).count();
            assert_eq!(self.n_dependents_on_stack(h) as usize, on_stack, "{h}");
        }
    }

    /// Removes words from `RDEPS(h)`, as long as there are any to remove.
    fn close_while(
        &mut self,
        h: usize,
        are_left: impl Fn(&Self) -> bool,
        which: impl Fn(&Self, usize) -> bool,
    ) {
        if !are_left(self) {
            return;
        }
        let gold = Arc::clone(&self.gold);
        for &d in gold.dependents(h) {
            if which(self, d as usize) {
                self.close(d as usize);
                if !are_left(self) {
                    return;
                }
            }
        }
    }
}
