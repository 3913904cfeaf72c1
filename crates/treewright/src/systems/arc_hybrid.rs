//! Arc-hybrid dependency parsing (Kuhlmann, Gómez-Rodríguez and Satta 2011; as in de Lhoneux, Stymne and Nivre 2017,
//! section 2), with the exact dynamic oracle of Goldberg and Nivre (2013) for projective trees.
//!
//! The root r stands after the last word; the parse ends with an empty stack and r alone in the buffer. Every parse
//! of n words takes exactly 2n steps.
//!
//! Deviations: relations are limited to the places the treebank shows them in (see `dependency.rs`). With
//! `single_root` the oracle has a term of its own: a gold root that is shifted onto other words is lost, because
//! they can no longer be taken from under it and r takes only the last word left on the stack.

use super::actions::actions;
use super::dependency::{
    ArcRules, ArcSystem, Configuration, Gold, LeftRelation, Reachable, Relations, RightRelation, SHIFT, word,
};
use crate::forest::{Forest, Kind};
use crate::ids::ActionId;
use crate::oracle::Oracle;
use crate::system::{ActionSet, StackEffect, TransitionSystem};
use crate::tree::DependencyTree;
use crate::tree::Underivable;

/// The system.
pub type ArcHybrid = ArcSystem<Action>;

/// One configuration.
pub type State = Configuration;

actions! {
    /// **Legal** when b0 is not r. **Effect** moves b0 to the stack. **Cost** b0's dependents on the stack, and its
    /// head there unless that is s0; with a single root, r as its head unless the stack is empty.
    Shift = "SHIFT",
    /// **Legal** when there is an s0; with a single root and b0 = r, only when s0 is alone. **Effect** pops s0 and
    /// hangs it from b0. **Cost** s0's other dependents, and its head unless that is b0 (and the relation is right).
    Left(relation: LeftRelation) = "LEFT{relation}",
    /// **Legal** when there is an s1. **Effect** pops s0 and hangs it from s1. **Cost** s0's other dependents, and
    /// its head unless that is s1 (and the relation is right).
    Right(relation: RightRelation) = "RIGHT{relation}",
}

impl ArcRules for Action {
    type Own = ();

    #[inline]
    fn legal(system: &ArcHybrid, forest: &Forest, state: &State, out: &mut ActionSet) {
        let b0 = forest.node(state.b0(forest)).kind;
        let n_stack = forest.depth(state.stack);
        if b0 != Kind::Root {
            out.insert(SHIFT);
        }
        if n_stack == 1 || n_stack > 1 && (b0 != Kind::Root || !system.single_root) {
            system.relations.allow_left(b0, out);
        }
        if n_stack > 1 {
            system.relations.allow_right(out);
        }
    }

    #[inline]
    fn apply(relations: &Relations, forest: &mut Forest, next: &mut State, action: Action) {
        match action {
            Action::Shift => next.shift(forest),
            Action::Left(relation) => next.hang_from_b0(forest, relations.left(relation)),
            Action::Right(relation) => next.hang_from_s1(forest, relations.right(relation)),
        }
    }

    /// LEFT when the head is b0, RIGHT when it is s1 and nothing more is to hang from s0, else SHIFT.
    fn derive(system: &ArcHybrid, tree: &DependencyTree) -> Result<Vec<ActionId>, Underivable> {
        let gold = Gold::projective(&system.relations, system.single_root, tree)?;
        let n = gold.n();
        let mut missing = gold.n_dependents();
        let mut actions = Vec::with_capacity(2 * n);
        let (mut stack, mut b0): (Vec<usize>, usize) = (Vec::new(), 0);
        while actions.len() < 2 * n {
            if let Some(&s0) = stack.last()
                && (gold.head(s0) == b0
                    || missing[s0] == 0 && stack.len() > 1 && gold.head(s0) == stack[stack.len() - 2])
            {
                actions.push(gold.actions[s0]);
                missing[gold.head(s0)] -= 1;
                stack.pop();
            } else {
                actions.push(SHIFT);
                stack.push(b0);
                b0 += 1;
            }
        }
        Ok(actions)
    }

    /// Every word is shifted once and attached once.
    fn max_steps(n_tokens: usize) -> usize {
        2 * n_tokens
    }

    fn effect(self) -> Option<StackEffect> {
        Some(match self {
            Action::Shift => StackEffect::Push,
            Action::Left(_) | Action::Right(_) => StackEffect::Pop,
        })
    }
}

/// The exact dynamic oracle, for projective gold trees. The loss counts words without their gold head and relation.
#[derive(Clone, Debug)]
pub struct DynamicOracle {
    reachable: Reachable,
}

impl DynamicOracle {
    fn cost(&self, system: &ArcHybrid, forest: &Forest, state: &State, action: ActionId) -> u32 {
        if action == SHIFT {
            self.reachable.shift_cost(forest, state, system.single_root)
        } else {
            self.reachable.arc_cost(forest, state, action, system.relations.is_left(action))
        }
    }
}

impl Oracle<ArcHybrid> for DynamicOracle {
    fn for_gold(system: &ArcHybrid, gold: &DependencyTree) -> Result<Self, Underivable> {
        let gold = Gold::projective(&system.relations, system.single_root, gold)?;
        Ok(DynamicOracle { reachable: Reachable::new(gold) })
    }

    fn loss(&mut self, _system: &ArcHybrid, _forest: &Forest, _state: &State) -> Option<u32> {
        Some(self.reachable.loss)
    }

    fn loss_after(
        &mut self,
        system: &ArcHybrid,
        forest: &mut Forest,
        state: &State,
        action: ActionId,
    ) -> Option<u32> {
        Some(self.reachable.loss + self.cost(system, forest, state, action))
    }

    fn optimal(
        &mut self,
        system: &ArcHybrid,
        forest: &mut Forest,
        state: &State,
        legal: &ActionSet,
        out: &mut ActionSet,
    ) {
        out.reset(system.n_actions());
        for action in legal.iter().filter(|&action| self.cost(system, forest, state, action) == 0) {
            out.insert(action);
        }
    }

    fn advance(&mut self, system: &ArcHybrid, forest: &Forest, state: &State, action: ActionId) {
        self.reachable.loss += self.cost(system, forest, state, action);
        if action == SHIFT {
            self.reachable.shift(forest, state, system.single_root);
        } else {
            let s0 = state.s0(forest).expect("an arc action takes s0");
            self.reachable.attach(word(forest, s0));
        }
    }
}

#[cfg(test)]
mod tests;
