//! Arc-hybrid dependency parsing (Kuhlmann, Gómez-Rodríguez and Satta 2011), with and without SWAP (de Lhoneux, Stymne
//! and Nivre 2017, sections 2 and 3, Figure 1).
//!
//! The root r stands after the last word; the parse ends with an empty stack and r alone in the buffer. Without SWAP a
//! parse of n words takes exactly 2n steps and is projective. SWAP reverses the order of two neighbours: sorting the
//! words into the projective order of a tree (an inorder traversal, with every head between its left and its right
//! dependents) makes any tree derivable by LEFT and RIGHT. Both systems are one type; without SWAP there is simply no
//! action of that kind. [`crate::systems::arc_hybrid_swap`] is the one that has it.
//!
//! Deviations: relations are limited to the places the treebank shows them in (see `dependency.rs`). Figure 1 is not
//! exact for single-root trees: shifting a gold root onto a stack that is not empty loses its arc from r, because
//! the words below it cannot leave the stack before it does and r takes only the last word left there. The oracle has
//! that term (with SWAP, only where SHIFT is final, case 2).

use std::sync::Arc;

use super::dependency::{
    ArcRules, ArcSystem, Gold, LeftRelation, Reachable, Relations, RightRelation, SHIFT, SWAP, word,
};
use crate::forest::{Forest, Kind};
use crate::ids::ActionId;
use crate::oracle::Oracle;
use crate::system::actions::actions;
use crate::system::configuration::Configuration;
use crate::system::{ActionSet, StackEffect, TransitionSystem};
use crate::tree::{DependencyTree, Underivable};

/// Arc-hybrid without SWAP.
pub type ArcHybrid = Hybrid<false>;

/// Arc-hybrid with SWAP or without it.
pub type Hybrid<const WITH_SWAP: bool> = ArcSystem<Rules<WITH_SWAP>>;

/// One configuration.
pub type State = Configuration;

/// What tells these systems from other dependency systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules<const WITH_SWAP: bool>;

actions! {
    /// **Legal** when b0 is not r. **Effect** moves b0 to the stack. **Cost** nothing if b0 will be swapped back
    /// (case 1); else (case 2) b0's reachable dependents on the stack, and its head there unless that is s0; with a
    /// single root, r as its head unless the stack is empty.
    Shift = "SHIFT",
    /// **Legal** when there is an s0, b0 is not r, and s0 comes before b0 in the sentence: no two words are swapped
    /// twice. **Effect** puts s0 after b0 in the buffer. **Cost** nothing where training allows it.
    Swap = "SWAP",
    /// **Legal** when there is an s0; with a single root and b0 = r, only when s0 is alone. **Effect** pops s0 and
    /// attaches it to b0. **Cost** s0's reachable dependents, and its reachable head unless that is b0 (and the
    /// relation is right).
    Left(relation: LeftRelation) = "LEFT{relation}",
    /// **Legal** when there is an s1. **Effect** pops s0 and attaches it to s1. **Cost** as LEFT, with s1 for b0.
    Right(relation: RightRelation) = "RIGHT{relation}",
}

impl<const WITH_SWAP: bool> ArcRules for Rules<WITH_SWAP> {
    type Action = Action;
    type Own = ();
    const N_BEFORE: usize = 1 + WITH_SWAP as usize;

    #[inline]
    fn legal(system: &Hybrid<WITH_SWAP>, forest: &Forest, state: &State, out: &mut ActionSet) {
        let b0 = forest.node(state.b0(forest));
        let n_stack = forest.depth(state.stack);
        if b0.kind != Kind::Root {
            out.insert(SHIFT);
        }
        // r is always last, so there is something after b0 exactly when b0 is not r.
        if WITH_SWAP
            && let Some(s0) = state.s0(forest)
            && b0.kind != Kind::Root
            && forest.node(s0).head < b0.head
        {
            out.insert(SWAP);
        }
        if n_stack == 1 || n_stack > 1 && (b0.kind != Kind::Root || !system.single_root) {
            system.relations.allow_left(b0.kind, out);
        }
        if n_stack > 1 {
            system.relations.allow_right(out);
        }
    }

    #[inline]
    fn act(relations: &Relations, forest: &mut Forest, state: &mut State, action: Action) {
        match action {
            Action::Shift => state.shift(forest),
            Action::Swap => state.put_after_b0(forest),
            Action::Left(relation) => state.attach_to_b0(forest, relations.left(relation)),
            Action::Right(relation) => state.attach_to_s1(forest, relations.right(relation)),
        }
    }

    /// The eager oracle of section 3.2: SWAP whenever s0 and b0 are not in projective order; else, when s0 has all of
    /// its dependents, LEFT if its head is b0 and RIGHT if it is s1; else SHIFT.
    fn derive(system: &Hybrid<WITH_SWAP>, tree: &DependencyTree) -> Result<Vec<ActionId>, Underivable> {
        let gold = system.gold(tree)?;
        let (n, order) = (gold.n(), gold.projective_order());
        let mut missing = gold.n_dependents();
        let mut actions = Vec::with_capacity(2 * n);
        let (mut stack, mut buffer): (Vec<usize>, Vec<usize>) = (Vec::new(), (0..=n).rev().collect());
        while let Some(&b0) = buffer.last()
            && (b0 < n || !stack.is_empty())
        {
            match stack[..] {
                [.., s0] if order[s0] > order[b0] => {
                    actions.push(SWAP);
                    stack.pop();
                    buffer.insert(buffer.len() - 1, s0);
                }
                [ref below @ .., s0]
                    if missing[s0] == 0 && (gold.head(s0) == b0 || below.last() == Some(&gold.head(s0))) =>
                {
                    actions.push(gold.actions[s0]);
                    missing[gold.head(s0)] -= 1;
                    stack.pop();
                }
                _ => {
                    actions.push(SHIFT);
                    stack.push(b0);
                    buffer.pop();
                }
            }
        }
        Ok(actions)
    }

    /// Every word is shifted once and attached once, and every pair of words costs at most a SWAP and a SHIFT.
    fn max_steps(n_tokens: usize) -> usize {
        let n_swaps = if WITH_SWAP { n_tokens * n_tokens.saturating_sub(1) / 2 } else { 0 };
        2 * (n_tokens + n_swaps)
    }

    /// With SWAP, words that were put back may have dependents, so states cannot be merged.
    fn effect(action: Action) -> Option<StackEffect> {
        match action {
            _ if WITH_SWAP => None,
            Action::Shift => Some(StackEffect::Push),
            Action::Left(_) | Action::Right(_) => Some(StackEffect::Pop),
            Action::Swap => None,
        }
    }
}

impl<const WITH_SWAP: bool> Hybrid<WITH_SWAP> {
    /// A gold tree as numbers.
    fn gold(&self, tree: &DependencyTree) -> Result<Gold, Underivable> {
        let read = if WITH_SWAP { Gold::new } else { Gold::projective };
        read(&self.relations, self.single_root, tree)
    }
}

/// The dynamic oracle: exact without SWAP (Goldberg and Nivre 2013), static for SWAP, which is taken exactly when s0 and
/// b0 are not in projective order.
///
/// Within what [`Oracle::restrict`] leaves, the loss is exact: the number of words that cannot get their gold head
/// and relation any more. Outside it is not defined.
#[derive(Clone, Debug)]
pub struct DynamicOracle {
    pub(super) reachable: Reachable,
    /// PROJ and what follows from it; never changes.
    order: Arc<Order>,
}

#[derive(Debug)]
struct Order {
    /// The place of each word, and of r, in the projective order.
    place: Vec<u32>,
    /// The smallest place of any word from here on.
    min_from: Vec<u32>,
}

impl DynamicOracle {
    /// Are s0 and b0 not in projective order?
    fn swap_is_due(&self, forest: &Forest, state: &State) -> bool {
        let Some(s0) = state.s0(forest) else { return false };
        let place = |node| self.order.place[word(forest, node)];
        place(s0) > place(state.b0(forest))
    }

    /// Case 1 of SHIFT: b0 will be swapped back, because a later word in the buffer belongs before it.
    ///
    /// Only words that were never shifted need to be looked at: those in front of them were put back from a stack
    /// that is in projective order, so they stand in projective order themselves.
    fn will_be_swapped(&self, forest: &Forest, state: &State) -> bool {
        let b0 = word(forest, state.b0(forest));
        let first_after = state.next.index().max(b0 + 1);
        self.order.min_from[first_after] < self.order.place[b0]
    }

    /// The cost by Figure 1; `None` for what training does not consider.
    fn cost<const WITH_SWAP: bool>(
        &self,
        system: &Hybrid<WITH_SWAP>,
        forest: &Forest,
        state: &State,
        action: ActionId,
    ) -> Option<u32> {
        let kind = system.actions().get(action);
        if (kind == Action::Swap) != self.swap_is_due(forest, state) {
            return None;
        }
        Some(match kind {
            Action::Swap => 0,
            Action::Shift if self.will_be_swapped(forest, state) => 0,
            Action::Shift => self.shift_cost(forest, state, system.single_root),
            Action::Left(_) => self.arc_cost(forest, state, action, Some(word(forest, state.b0(forest)))),
            Action::Right(_) => {
                let s1 = state.s1(forest).map(|s1| word(forest, s1));
                self.arc_cost(forest, state, action, s1)
            }
        })
    }

    /// LEFT and RIGHT: `|RDEPS(s0)| + [[h(s0) is not the new head, and s0 is in RDEPS(h(s0))]]`; a wrong relation
    /// counts as a wrong head.
    fn arc_cost(&self, forest: &Forest, state: &State, action: ActionId, head: Option<usize>) -> u32 {
        let (gold, s0) = (&self.reachable.gold, taken(forest, state));
        let is_gold = action == gold.actions[s0] && head == Some(gold.head(s0));
        self.reachable.n_dependents(s0) + u32::from(!is_gold && self.reachable.has_head(s0))
    }

    /// SHIFT, case 2: `|{d in RDEPS(b0) : d on the stack}| + [[h(b0) is on the stack below s0, and b0 is in
    /// RDEPS(h(b0))]]`, and with a single root `+ [[h(b0) = r, the stack is not empty, and b0 is in RDEPS(r)]]`.
    fn shift_cost(&self, forest: &Forest, state: &State, single_root: bool) -> u32 {
        let b0 = word(forest, state.b0(forest));
        let loses_head = self.reachable.has_head(b0) && self.shift_loses_head(forest, state, b0, single_root);
        self.reachable.n_dependents_on_stack(b0) + u32::from(loses_head)
    }

    fn shift_loses_head(&self, forest: &Forest, state: &State, b0: usize, single_root: bool) -> bool {
        let Some(s0) = state.s0(forest) else { return false };
        let gold = &self.reachable.gold;
        let head = gold.head(b0);
        if head == gold.n() {
            single_root
        } else {
            self.reachable.is_on_stack(head) && head != word(forest, s0)
        }
    }
}

/// The word that SWAP, LEFT and RIGHT take off the stack.
fn taken(forest: &Forest, state: &State) -> usize {
    word(forest, state.s0(forest).expect("SWAP and arcs take s0"))
}

impl<const WITH_SWAP: bool> Oracle<Hybrid<WITH_SWAP>> for DynamicOracle {
    fn for_gold(system: &Hybrid<WITH_SWAP>, gold: &DependencyTree) -> Result<Self, Underivable> {
        let gold = system.gold(gold)?;
        let place = gold.projective_order();
        let mut min_from = place.clone();
        for i in (0..gold.n()).rev() {
            min_from[i] = min_from[i].min(min_from[i + 1]);
        }
        let order = Arc::new(Order { place, min_from });
        Ok(DynamicOracle { reachable: Reachable::new(gold), order })
    }

    fn loss(&mut self, _system: &Hybrid<WITH_SWAP>, _forest: &Forest, _state: &State) -> Option<u32> {
        Some(self.reachable.loss)
    }

    fn loss_after(
        &mut self,
        system: &Hybrid<WITH_SWAP>,
        forest: &mut Forest,
        state: &State,
        action: ActionId,
    ) -> Option<u32> {
        Some(self.reachable.loss + self.cost(system, forest, state, action)?)
    }

    fn restrict(&self, system: &Hybrid<WITH_SWAP>, forest: &Forest, state: &State, legal: &mut ActionSet) {
        if !WITH_SWAP {
            return;
        }
        if self.swap_is_due(forest, state) {
            legal.reset(system.n_actions());
            legal.insert(SWAP);
        } else {
            legal.remove(SWAP);
        }
    }

    fn advance(&mut self, system: &Hybrid<WITH_SWAP>, forest: &Forest, state: &State, action: ActionId) {
        self.reachable.loss += self.cost(system, forest, state, action).unwrap_or(0);
        match system.actions().get(action) {
            Action::Shift => {
                let b0 = word(forest, state.b0(forest));
                if !self.will_be_swapped(forest, state) {
                    if self.shift_loses_head(forest, state, b0, system.single_root) {
                        self.reachable.close(b0);
                    }
                    self.reachable.close_dependents_on_stack(b0);
                }
                self.reachable.set_on_stack(b0, true);
            }
            Action::Swap => self.reachable.set_on_stack(taken(forest, state), false),
            Action::Left(_) | Action::Right(_) => self.reachable.attach(taken(forest, state)),
        }
    }

    fn may_follow(
        &self,
        system: &Hybrid<WITH_SWAP>,
        forest: &Forest,
        state: &State,
        action: ActionId,
    ) -> bool {
        (system.actions().get(action) == Action::Swap) == self.swap_is_due(forest, state)
    }
}

#[cfg(test)]
mod tests;
