//! Arc-standard dependency parsing with SWAP, for non-projective trees (Nivre 2009), derived with the fewer swaps of
//! Nivre, Kuhlmann and Hall (2009).
//!
//! Deviations: the root r stands after the last word instead of at the bottom of the stack; it is shifted last and
//! only takes dependents on its left, and the parse ends with r alone on the stack. Relations are limited to the
//! places the treebank shows them in (see `dependency.rs`). Arc-standard is not arc-decomposable, so there is no
//! dynamic oracle.

use super::dependency::{ArcRules, ArcSystem, Gold, LeftRelation, Relations, RightRelation, SHIFT, SWAP};
use crate::forest::{Forest, Kind};
use crate::ids::{ActionId, NodeId};
use crate::system::ActionSet;
use crate::system::actions::actions;
use crate::system::configuration::Configuration;
use crate::tree::{DependencyTree, Underivable};

/// The system.
pub type ArcStandardSwap = ArcSystem<Rules>;

/// One configuration.
pub type State = Configuration;

/// What tells it from other dependency systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules;

actions! {
    /// **Legal** when there is a b0; with a single root, r only onto a lone word. **Effect** moves b0 to the stack.
    Shift = "SHIFT",
    /// **Legal** when there is an s1 that comes before s0 in the sentence (no two words are swapped twice), and s0
    /// is not r. **Effect** puts s1 back in front of the buffer.
    Swap = "SWAP",
    /// **Legal** when there is an s1. **Effect** takes s1 from under s0 and attaches it to s0.
    Left(relation: LeftRelation) = "LEFT{relation}",
    /// **Legal** when there is an s1, and s0 is not r. **Effect** pops s0 and attaches it to s1.
    Right(relation: RightRelation) = "RIGHT{relation}",
}

impl ArcStandardSwap {
    /// The derivation of Nivre (2009), which swaps as soon as two words are not in projective order.
    ///
    /// # Errors
    /// As for `derive`.
    pub fn derive_eager(&self, tree: &DependencyTree) -> Result<Vec<ActionId>, Underivable> {
        self.derivation(tree, |_, _| false)
    }

    /// A derivation that leaves s0 and b0 together, and swaps later, when `together` says so.
    fn derivation(
        &self,
        tree: &DependencyTree,
        together: impl Fn(usize, usize) -> bool,
    ) -> Result<Vec<ActionId>, Underivable> {
        let gold = Gold::new(&self.relations, self.single_root, tree)?;
        let (n, order) = (gold.n(), gold.projective_order());
        let mut missing = gold.n_dependents();
        let mut actions = Vec::with_capacity(2 * n + 1);
        let (mut stack, mut buffer): (Vec<usize>, Vec<usize>) = (Vec::new(), (0..=n).rev().collect());
        while n > 0 && stack != [n] {
            match stack[..] {
                [.., s1, s0] if gold.head(s1) == s0 && missing[s1] == 0 => {
                    actions.push(gold.actions[s1]);
                    missing[s0] -= 1;
                    stack.remove(stack.len() - 2);
                }
                [.., s1, s0] if s0 < n && gold.head(s0) == s1 && missing[s0] == 0 => {
                    actions.push(gold.actions[s0]);
                    missing[s1] -= 1;
                    stack.pop();
                }
                [.., s1, s0]
                    if order[s1] > order[s0] && !buffer.last().is_some_and(|&b0| together(s0, b0)) =>
                {
                    actions.push(SWAP);
                    buffer.push(stack.remove(stack.len() - 2));
                }
                _ => {
                    actions.push(SHIFT);
                    stack.push(buffer.pop().expect("a tree is complete when the buffer is empty"));
                }
            }
        }
        Ok(actions)
    }
}

impl ArcRules for Rules {
    type Action = Action;
    type Own = ();

    /// r alone on the stack; or nothing to parse.
    fn is_final(forest: &Forest, state: &State) -> bool {
        match state.s0(forest) {
            Some(s0) => forest.node(s0).kind == Kind::Root && forest.depth(state.stack) == 1,
            None => forest.n_tokens() == 0,
        }
    }

    #[inline]
    fn legal(system: &ArcStandardSwap, forest: &Forest, state: &State, out: &mut ActionSet) {
        let n_stack = forest.depth(state.stack);
        let s0 = state.s0(forest).map(|s0| forest.node(s0));
        let s1 = state.s1(forest).map(|s1| forest.node(s1));
        // Once r is on the stack, the buffer is empty and every item left becomes a dependent of r.
        if s0.is_some_and(|s0| s0.kind == Kind::Root) {
            if s1.is_some() {
                system.relations.allow_left(Kind::Root, out);
            }
            return;
        }
        let b0 = forest.node(state.b0(forest)).kind;
        if b0 != Kind::Root || n_stack == 1 || n_stack > 1 && !system.single_root {
            out.insert(SHIFT);
        }
        if let (Some(s0), Some(s1)) = (s0, s1) {
            if s1.head < s0.head {
                out.insert(SWAP);
            }
            system.relations.allow_left(Kind::Word, out);
            system.relations.allow_right(out);
        }
    }

    #[inline]
    fn act(relations: &Relations, forest: &mut Forest, state: &mut State, action: Action) {
        match action {
            Action::Shift => state.shift(forest),
            Action::Swap => {
                let (s0, s1) = (state.pop(forest), state.pop(forest));
                state.put_back(forest, s1);
                state.push(forest, s0);
            }
            Action::Left(relation) => {
                let (s0, s1) = (state.pop(forest), state.pop(forest));
                let head = forest.attach(s0, s1, relations.left(relation));
                state.push(forest, head);
            }
            Action::Right(relation) => state.attach_to_s1(forest, relations.right(relation)),
        }
    }

    fn root(forest: &Forest, state: &State) -> NodeId {
        state.s0(forest).unwrap_or_else(|| state.b0(forest))
    }

    /// LEFT and RIGHT as soon as the dependent has all of its own; SWAP when s1 and s0 are not in projective order,
    /// but not while s0 and b0 belong to the same maximal projective component; else SHIFT.
    fn derive(system: &ArcStandardSwap, tree: &DependencyTree) -> Result<Vec<ActionId>, Underivable> {
        let component = projective_components(&Gold::new(&system.relations, system.single_root, tree)?);
        system.derivation(tree, |s0, b0| component[s0] == component[b0])
    }

    /// Every word and r are shifted once, every word is attached once, and every pair of words costs at most a SWAP
    /// and a SHIFT.
    fn max_steps(n_tokens: usize) -> usize {
        match n_tokens {
            0 => 0,
            n => 2 * n + 1 + n * (n - 1),
        }
    }
}

/// The maximal projective component of each word: the largest parts that arc-standard builds without SWAP. r is a
/// component of its own, because a word that is still to be swapped must not be left below r.
fn projective_components(gold: &Gold) -> Vec<usize> {
    let n = gold.n();
    let mut missing = gold.n_dependents();
    let mut is_attached = vec![false; n];
    let mut stack: Vec<usize> = Vec::new();
    for word in 0..n {
        stack.push(word);
        while let [.., s1, s0] = stack[..] {
            let (dependent, head) = if gold.head(s1) == s0 { (s1, s0) } else { (s0, s1) };
            if gold.head(dependent) != head || missing[dependent] > 0 {
                break;
            }
            is_attached[dependent] = true;
            missing[head] -= 1;
            stack.truncate(stack.len() - 2);
            stack.push(head);
        }
    }
    let mut component: Vec<usize> = (0..=n).collect();
    let mut todo = vec![n];
    while let Some(head) = todo.pop() {
        for &dependent in gold.dependents(head) {
            let dependent = dependent as usize;
            if is_attached[dependent] {
                component[dependent] = component[head];
            }
            todo.push(dependent);
        }
    }
    component
}

#[cfg(test)]
mod tests;
