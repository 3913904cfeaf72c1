//! Arc-hybrid dependency parsing (Kuhlmann, Gómez-Rodríguez and Satta 2011; as in de Lhoneux, Stymne and Nivre 2017,
//! section 2), with the exact dynamic oracle of Goldberg and Nivre (2013) for projective trees.
//!
//! The root r stands behind the last word; the parse ends with an empty stack and r alone in the buffer. Every parse
//! of n words takes exactly 2n steps.
//!
//! Deviations: relations are limited to the places the treebank shows them in (see `dependency.rs`). With
//! `single_root` the oracle has a term of its own: a gold root that is shifted onto other words is lost, because
//! they can no longer be taken from under it and r takes only the last word left on the stack.

use serde::{Deserialize, Serialize};

use super::dependency::{ArcAction, Configuration, Gold, Reachable, Relations, word};
use crate::forest::{Forest, Kind, View};
use crate::ids::{ActionId, LabelId};
use crate::oracle::Oracle;
use crate::sentence::{Sentence, Str};
use crate::system::{ActionSet, SystemOptions, TransitionSystem};
use crate::tree::DependencyTree;
use crate::tree::Underivable;

/// SHIFT is the only action before the arcs.
const SHIFT: ActionId = ActionId::new(0);

/// The system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArcHybrid {
    relations: Relations,
    single_root: bool,
}

/// One configuration.
pub type State = Configuration;

enum Action {
    /// **Legal** when b0 is not r. **Effect** moves b0 to the stack. **Cost** b0's dependents on the stack, and its
    /// head there unless that is s0; with a single root, r as its head unless the stack is empty.
    Shift,
    /// **Legal** when there is an s0; with a single root and b0 = r, only when s0 is alone. **Effect** pops s0 and
    /// hangs it from b0. **Cost** s0's other dependents, and its head unless that is b0 (and the relation is right).
    Left(LabelId),
    /// **Legal** when there is an s1. **Effect** pops s0 and hangs it from s1. **Cost** s0's other dependents, and
    /// its head unless that is s1 (and the relation is right).
    Right(LabelId),
}

impl ArcHybrid {
    /// A system with these relations, each allowed in every place; none means unlabelled trees.
    pub fn with_labels(labels: impl IntoIterator<Item = Str>, single_root: bool) -> Self {
        ArcHybrid { relations: Relations::with_labels(labels, 1), single_root }
    }

    fn decode(&self, action: ActionId) -> Action {
        if action == SHIFT {
            return Action::Shift;
        }
        match self.relations.arc_action(action) {
            ArcAction::Left(label) => Action::Left(label),
            ArcAction::Right(label) => Action::Right(label),
        }
    }
}

impl TransitionSystem for ArcHybrid {
    type Tree = DependencyTree;
    type State = State;

    fn from_trees<'a>(trees: impl Iterator<Item = &'a DependencyTree>, options: &SystemOptions) -> Self {
        ArcHybrid { relations: Relations::from_trees(trees, 1), single_root: options.single_root }
    }

    fn n_actions(&self) -> usize {
        self.relations.n_actions()
    }

    fn label(&self, label: LabelId) -> String {
        self.relations.label(label).to_owned()
    }

    fn name(&self, action: ActionId) -> String {
        if action == SHIFT { "SHIFT".to_owned() } else { self.relations.name(action) }
    }

    fn start(&self, forest: &mut Forest, sentence: &Sentence) -> State {
        Configuration::start(forest, sentence.tokens.len())
    }

    fn is_final(&self, forest: &Forest, state: &State) -> bool {
        state.is_done(forest)
    }

    fn legal(&self, forest: &Forest, state: &State, out: &mut ActionSet) {
        out.reset(self.n_actions());
        let b0 = forest.node(state.b0(forest)).kind;
        let n_stack = forest.depth(state.stack);
        if b0 != Kind::Root {
            out.insert(SHIFT);
        }
        if n_stack == 1 || n_stack > 1 && (b0 != Kind::Root || !self.single_root) {
            self.relations.allow_left(b0, out);
        }
        if n_stack > 1 {
            self.relations.allow_right(out);
        }
    }

    fn apply(&self, forest: &mut Forest, state: &State, action: ActionId) -> State {
        let mut next = *state;
        match self.decode(action) {
            Action::Shift => {
                let b0 = next.take(forest);
                next.push(forest, b0);
            }
            Action::Left(label) => {
                let (s0, b0) = (next.pop(forest), next.take(forest));
                let head = forest.attach(b0, s0, label);
                next.put_back(forest, head);
            }
            Action::Right(label) => {
                let (s0, s1) = (next.pop(forest), next.pop(forest));
                let head = forest.attach(s1, s0, label);
                next.push(forest, head);
            }
        }
        next.note(forest, action);
        next
    }

    fn view(&self, state: &State) -> View {
        state.view()
    }

    fn tree(&self, forest: &Forest, state: &State) -> DependencyTree {
        self.relations.tree(forest, state.b0(forest))
    }

    /// LEFT when the head is b0, RIGHT when it is s1 and nothing more is to hang from s0, else SHIFT.
    fn derive(&self, tree: &DependencyTree) -> Result<Vec<ActionId>, Underivable> {
        let gold = Gold::projective(&self.relations, self.single_root, tree)?;
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

    fn check_tables(&self) -> Result<(), String> {
        self.relations.check(1)
    }

    /// Every word is shifted once and attached once.
    fn max_steps(&self, n_tokens: usize) -> usize {
        2 * n_tokens
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
