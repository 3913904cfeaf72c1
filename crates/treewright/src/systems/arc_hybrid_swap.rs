//! Arc-hybrid dependency parsing with SWAP, for non-projective trees, and its static-dynamic oracle (de Lhoneux,
//! Stymne and Nivre 2017, sections 2 and 3, Figure 1).
//!
//! SWAP undoes the order of two neighbours; sorting the words into the projective order of a tree (an inorder
//! traversal, with every head between its left and its right dependents) makes the tree derivable by LEFT and RIGHT.
//!
//! Deviations: relations are limited to the places the treebank shows them in (see `dependency.rs`). Figure 1 is not
//! exact for single-root trees: shifting a gold root onto a stack that is not empty loses its arc from r, because
//! words below it cannot leave the stack before it does. The oracle has that term (only when SHIFT is final, case 2).

use super::actions::actions;
use super::dependency::{
    ArcRules, ArcSystem, Configuration, Gold, LeftRelation, Reachable, Relations, RightRelation, SHIFT, SWAP,
    word,
};
use crate::forest::{Forest, Kind};
use crate::ids::ActionId;
use crate::oracle::Oracle;
use crate::system::{ActionSet, TransitionSystem};
use crate::tree::DependencyTree;
use crate::tree::Underivable;

/// The system.
pub type ArcHybridSwap = ArcSystem<Action>;

/// One configuration.
pub type State = Configuration;

actions! {
    /// **Legal** when b0 is not r. **Effect** moves b0 to the stack. **Cost** nothing if b0 will be swapped back
    /// (case 1); else (case 2) b0's reachable dependents on the stack, and its head there unless that is s0; with a
    /// single root, r as its head unless the stack is empty.
    Shift = "SHIFT",
    /// **Legal** when there is an s0, b0 is not r, and s0 comes before b0 in the sentence: no two words are swapped
    /// twice. **Effect** puts s0 after b0 in the buffer. **Cost** nothing where training allows it.
    Swap = "SWAP",
    /// **Legal** when there is an s0; with a single root and b0 = r, only when s0 is alone. **Effect** pops s0 and
    /// hangs it from b0. **Cost** s0's reachable dependents, and its reachable head unless that is b0 (and the
    /// relation is right).
    Left(relation: LeftRelation) = "LEFT{relation}",
    /// **Legal** when there is an s1. **Effect** pops s0 and hangs it from s1. **Cost** as LEFT, with s1 for b0.
    Right(relation: RightRelation) = "RIGHT{relation}",
}

impl ArcRules for Action {
    type Own = ();

    #[inline]
    fn legal(system: &ArcHybridSwap, forest: &Forest, state: &State, out: &mut ActionSet) {
        let b0 = forest.node(state.b0(forest));
        let n_stack = forest.depth(state.stack);
        if b0.kind != Kind::Root {
            out.insert(SHIFT);
        }
        // r is always last, so there is something after b0 exactly when b0 is not r.
        if let Some(s0) = state.s0(forest)
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
    fn apply(relations: &Relations, forest: &mut Forest, next: &mut State, action: Action) {
        match action {
            Action::Shift => next.shift(forest),
            Action::Swap => {
                let (s0, b0) = (next.pop(forest), next.take(forest));
                next.put_back(forest, s0);
                next.put_back(forest, b0);
            }
            Action::Left(relation) => next.hang_from_b0(forest, relations.left(relation)),
            Action::Right(relation) => next.hang_from_s1(forest, relations.right(relation)),
        }
    }

    /// The eager oracle of section 3.2: SWAP whenever s0 and b0 are not in projective order; else, when nothing
    /// more is to hang from s0, LEFT if its head is b0 and RIGHT if it is s1; else SHIFT.
    fn derive(system: &ArcHybridSwap, tree: &DependencyTree) -> Result<Vec<ActionId>, Underivable> {
        let gold = Gold::new(&system.relations, system.single_root, tree)?;
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
                [.., s0] if gold.head(s0) == b0 && missing[s0] == 0 => {
                    actions.push(gold.actions[s0]);
                    missing[b0] -= 1;
                    stack.pop();
                }
                [.., s1, s0] if gold.head(s0) == s1 && missing[s0] == 0 => {
                    actions.push(gold.actions[s0]);
                    missing[s1] -= 1;
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
        2 * n_tokens + n_tokens * n_tokens.saturating_sub(1)
    }
}

/// The static-dynamic oracle: SWAP exactly when s0 and b0 are not in projective order, dynamic in everything else.
///
/// Within what [`Oracle::restrict`] leaves, the loss is exact: the number of words that cannot get their gold head
/// and relation any more. Outside it is not defined.
#[derive(Clone, Debug)]
pub struct StaticDynamicOracle {
    reachable: Reachable,
    /// PROJ and what follows from it; never changes.
    order: std::sync::Arc<Order>,
}

#[derive(Debug)]
struct Order {
    /// The place of each word, and of r, in the projective order.
    place: Vec<u32>,
    /// The least place of any word from here on.
    least_from: Vec<u32>,
}

impl StaticDynamicOracle {
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
        let first_after = state.buffer.next.index().max(b0 + 1);
        self.order.least_from[first_after] < self.order.place[b0]
    }

    /// The cost by Figure 1; `None` for what training does not consider.
    fn cost(&self, system: &ArcHybridSwap, forest: &Forest, state: &State, action: ActionId) -> Option<u32> {
        if (action == SWAP) != self.swap_is_due(forest, state) {
            return None;
        }
        Some(match action {
            SWAP => 0,
            SHIFT if self.will_be_swapped(forest, state) => 0,
            SHIFT => self.reachable.shift_cost(forest, state, system.single_root),
            _ => self.reachable.arc_cost(forest, state, action, system.relations.is_left(action)),
        })
    }
}

impl Oracle<ArcHybridSwap> for StaticDynamicOracle {
    fn for_gold(system: &ArcHybridSwap, gold: &DependencyTree) -> Result<Self, Underivable> {
        let gold = Gold::new(&system.relations, system.single_root, gold)?;
        let place = gold.projective_order();
        let mut least_from = place.clone();
        for i in (0..gold.n()).rev() {
            least_from[i] = least_from[i].min(least_from[i + 1]);
        }
        let order = std::sync::Arc::new(Order { place, least_from });
        Ok(StaticDynamicOracle { reachable: Reachable::new(gold), order })
    }

    fn loss(&mut self, _system: &ArcHybridSwap, _forest: &Forest, _state: &State) -> Option<u32> {
        Some(self.reachable.loss)
    }

    fn loss_after(
        &mut self,
        system: &ArcHybridSwap,
        forest: &mut Forest,
        state: &State,
        action: ActionId,
    ) -> Option<u32> {
        Some(self.reachable.loss + self.cost(system, forest, state, action)?)
    }

    fn optimal(
        &mut self,
        system: &ArcHybridSwap,
        forest: &mut Forest,
        state: &State,
        legal: &ActionSet,
        out: &mut ActionSet,
    ) {
        out.reset(system.n_actions());
        for action in legal.iter().filter(|&action| self.cost(system, forest, state, action) == Some(0)) {
            out.insert(action);
        }
    }

    fn restrict(&self, system: &ArcHybridSwap, forest: &Forest, state: &State, legal: &mut ActionSet) {
        if self.swap_is_due(forest, state) {
            legal.reset(system.n_actions());
            legal.insert(SWAP);
        } else {
            legal.remove(SWAP);
        }
    }

    fn advance(&mut self, system: &ArcHybridSwap, forest: &Forest, state: &State, action: ActionId) {
        self.reachable.loss += self.cost(system, forest, state, action).unwrap_or(0);
        match action {
            SHIFT if self.will_be_swapped(forest, state) => {
                self.reachable.set_on_stack(word(forest, state.b0(forest)), true);
            }
            SHIFT => self.reachable.shift(forest, state, system.single_root),
            _ => {
                let s0 = word(forest, state.s0(forest).expect("SWAP and arcs take s0"));
                if action == SWAP {
                    self.reachable.set_on_stack(s0, false);
                } else {
                    self.reachable.attach(s0);
                }
            }
        }
    }

    fn may_follow(&self, _: &ArcHybridSwap, forest: &Forest, state: &State, action: ActionId) -> bool {
        (action == SWAP) == self.swap_is_due(forest, state)
    }
}

#[cfg(test)]
mod tests;
