//! Arc-eager dependency parsing (Nivre 2003), with an exact dynamic oracle (Goldberg and Nivre 2012, 2013) for
//! projective trees.
//!
//! The root r stands behind the last word; the parse ends with an empty stack and r alone in the buffer, after
//! exactly 2n steps. An item of the stack that has a head hangs from the item directly below it; the forest gets the
//! arc when REDUCE takes the item away, and until then the item carries its relation.
//!
//! Deviations: when r is reached, every word without a head hangs from r, so every parse is a tree. With
//! `single_root` only one such word may be left: before the last word is pushed, all words without a head must have
//! been taken by LEFT, except the lowest one if the last word gets a head. These preconditions cost the oracle one
//! term (`DynamicOracle::is_blocked`). Relations are limited to the places the treebank shows them in (see
//! `dependency.rs`).

use serde::{Deserialize, Serialize};

use super::dependency::{ArcAction, Configuration, Gold, Reachable, Relations, word};
use crate::forest::{Forest, Kind, View};
use crate::ids::{ActionId, LabelId};
use crate::oracle::Oracle;
use crate::sentence::{Sentence, Str};
use crate::system::{ActionSet, SystemOptions, TransitionSystem};
use crate::tree::DependencyTree;
use crate::tree::Underivable;

const SHIFT: ActionId = ActionId::new(0);
const REDUCE: ActionId = ActionId::new(1);

/// The system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArcEager {
    relations: Relations,
    single_root: bool,
}

/// One configuration.
#[derive(Clone, Copy, Debug)]
pub struct State {
    at: Configuration,
    /// How many items of the stack have no head.
    n_headless: u32,
}

enum Action {
    /// **Legal** when b0 is not r; with a single root, the last word only onto an empty stack. **Effect** moves b0 to
    /// the stack. **Cost** b0's head and its dependents on the stack; with a single root, r as its head unless the
    /// stack is empty.
    Shift,
    /// **Legal** when s0 has a head. **Effect** pops s0. **Cost** s0's dependents in the buffer.
    Reduce,
    /// **Legal** when s0 has no head. **Effect** pops s0 and hangs it from b0. **Cost** s0's dependents in the
    /// buffer, and its head unless that is b0 (and the relation is right).
    Left(LabelId),
    /// **Legal** when there is an s0 and b0 is not r; with a single root, the last word only while one item of the
    /// stack has no head. **Effect** hangs b0 from s0 and moves it to the stack. **Cost** b0's dependents on the
    /// stack, and its head unless that is s0 (and the relation is right).
    Right(LabelId),
}

impl ArcEager {
    /// A system with these relations, each allowed in every place; none means unlabelled trees.
    pub fn with_labels(labels: impl IntoIterator<Item = Str>, single_root: bool) -> Self {
        ArcEager { relations: Relations::with_labels(labels, 2), single_root }
    }

    fn decode(&self, action: ActionId) -> Action {
        match action {
            SHIFT => Action::Shift,
            REDUCE => Action::Reduce,
            _ => match self.relations.arc_action(action) {
                ArcAction::Left(label) => Action::Left(label),
                ArcAction::Right(label) => Action::Right(label),
            },
        }
    }
}

impl TransitionSystem for ArcEager {
    type Tree = DependencyTree;
    type State = State;

    fn from_trees<'a>(trees: impl Iterator<Item = &'a DependencyTree>, options: &SystemOptions) -> Self {
        ArcEager { relations: Relations::from_trees(trees, 2), single_root: options.single_root }
    }

    fn n_actions(&self) -> usize {
        self.relations.n_actions()
    }

    fn label(&self, label: LabelId) -> String {
        self.relations.label(label).to_owned()
    }

    fn name(&self, action: ActionId) -> String {
        match action {
            SHIFT => "SHIFT".to_owned(),
            REDUCE => "REDUCE".to_owned(),
            _ => self.relations.name(action),
        }
    }

    fn start(&self, forest: &mut Forest, sentence: &Sentence) -> State {
        State { at: Configuration::start(forest, sentence.tokens.len()), n_headless: 0 }
    }

    fn is_final(&self, forest: &Forest, state: &State) -> bool {
        state.at.is_done(forest)
    }

    fn legal(&self, forest: &Forest, state: &State, out: &mut ActionSet) {
        out.reset(self.n_actions());
        let b0 = forest.node(state.at.b0(forest));
        let s0 = state.at.s0(forest).map(|s0| forest.node(s0));
        let is_guarded = self.single_root && b0.head.index() + 1 == forest.n_tokens();
        if b0.kind != Kind::Root && (s0.is_none() || !is_guarded) {
            out.insert(SHIFT);
        }
        let Some(s0) = s0 else { return };
        if s0.label.is_some() {
            out.insert(REDUCE);
        } else {
            self.relations.allow_left(b0.kind, out);
        }
        if b0.kind != Kind::Root && (state.n_headless == 1 || !is_guarded) {
            self.relations.allow_right(out);
        }
    }

    fn apply(&self, forest: &mut Forest, state: &State, action: ActionId) -> State {
        let State { at: mut next, mut n_headless } = *state;
        match self.decode(action) {
            Action::Shift => {
                let b0 = next.take(forest);
                next.push(forest, b0);
                n_headless += 1;
            }
            Action::Reduce => {
                let (s0, s1) = (next.pop(forest), next.pop(forest));
                let label = forest.node(s0).label.expect("REDUCE takes an item with a head");
                let head = forest.attach(s1, s0, label);
                next.push(forest, head);
            }
            Action::Left(label) => {
                let (s0, b0) = (next.pop(forest), next.take(forest));
                let head = forest.attach(b0, s0, label);
                next.put_back(forest, head);
                n_headless -= 1;
            }
            Action::Right(label) => {
                let b0 = next.take(forest);
                let dependent = forest.with_label(b0, label);
                next.push(forest, dependent);
            }
        }
        next.note(forest, action);
        State { at: next, n_headless }
    }

    fn view(&self, state: &State) -> View {
        state.at.view()
    }

    fn tree(&self, forest: &Forest, state: &State) -> DependencyTree {
        self.relations.tree(forest, state.at.b0(forest))
    }

    /// LEFT when s0's head is b0, RIGHT when b0's is s0; REDUCE when an arc joins b0 and an item below s0; else SHIFT.
    fn derive(&self, tree: &DependencyTree) -> Result<Vec<ActionId>, Underivable> {
        let gold = Gold::projective(&self.relations, self.single_root, tree)?;
        let n = gold.n();
        // Of each word, and r, the dependents on its left that it does not have yet.
        let mut missing = vec![0u32; n + 1];
        (0..n).filter(|&word| gold.head(word) > word).for_each(|word| missing[gold.head(word)] += 1);
        let mut actions = Vec::with_capacity(2 * n);
        let (mut stack, mut b0): (Vec<usize>, usize) = (Vec::new(), 0);
        while b0 < n || !stack.is_empty() {
            let head = (b0 < n).then(|| gold.head(b0));
            match stack.last() {
                Some(&s0) if gold.head(s0) == b0 => {
                    actions.push(gold.actions[s0]);
                    missing[b0] -= 1;
                    stack.pop();
                }
                Some(&s0) if head == Some(s0) => {
                    actions.push(gold.actions[b0]);
                    stack.push(b0);
                    b0 += 1;
                }
                Some(&s0) if missing[b0] > 0 || head.is_some_and(|head| head < s0) => {
                    actions.push(REDUCE);
                    stack.pop();
                }
                _ => {
                    actions.push(SHIFT);
                    stack.push(b0);
                    b0 += 1;
                }
            }
        }
        Ok(actions)
    }

    fn check_tables(&self) -> Result<(), String> {
        self.relations.check(2)
    }

    /// Every word is pushed once and popped once.
    fn max_steps(&self, n_tokens: usize) -> usize {
        2 * n_tokens
    }
}

/// The exact dynamic oracle, for projective gold trees. The loss counts words without their gold head and relation.
#[derive(Clone, Debug)]
pub struct DynamicOracle {
    /// A dependent is in RDEPS while its arc can be had as far as stack and buffer go.
    reachable: Reachable,
    /// The words on the stack that have no head, from the bottom.
    headless: Vec<u32>,
}

impl DynamicOracle {
    /// The gold arcs that an action loses by taking a word off the stack or out of the buffer.
    fn cost(&self, system: &ArcEager, forest: &Forest, state: &State, action: ActionId) -> u32 {
        let reachable = &self.reachable;
        let b0 = word(forest, state.at.b0(forest));
        let s0 = state.at.s0(forest).map(|s0| word(forest, s0));
        let taken = || s0.expect("the action takes s0");
        match action {
            SHIFT => reachable.n_dependents_on_stack(b0) + u32::from(self.shift_loses_head(system, b0)),
            REDUCE => reachable.n_dependents(taken()),
            _ if system.relations.is_left(action) => {
                let s0 = taken();
                let is_gold = reachable.gold.head(s0) == b0 && reachable.gold.actions[s0] == action;
                reachable.n_dependents(s0) + u32::from(!is_gold && reachable.has_head(s0))
            }
            _ => {
                let is_gold = s0 == Some(reachable.gold.head(b0)) && reachable.gold.actions[b0] == action;
                reachable.n_dependents_on_stack(b0) + u32::from(!is_gold && reachable.has_head(b0))
            }
        }
    }

    fn shift_loses_head(&self, system: &ArcEager, b0: usize) -> bool {
        let head = self.reachable.gold.head(b0);
        let is_lost = if head == self.reachable.gold.n() {
            system.single_root && !self.headless.is_empty()
        } else {
            self.reachable.is_on_stack(head)
        };
        is_lost && self.reachable.has_head(b0)
    }

    /// The stack item from which the last word would hang, over words of the buffer, if every arc that can still be
    /// had is made; `b0` is where the buffer begins.
    fn last_words_ancestor(&self, b0: usize) -> Option<usize> {
        let gold = &self.reachable.gold;
        let mut at = gold.n() - 1;
        while at >= b0 {
            if !self.reachable.has_head(at) || gold.head(at) == gold.n() {
                return None;
            }
            at = gold.head(at);
        }
        Some(at)
    }

    /// With a single root: must one more arc be lost, although each can be had by itself?
    ///
    /// `second` is the lowest item without a head above the bottom one. It cannot hang from r, so a word of the
    /// buffer must take it by LEFT, after all that is above it has gone. If the last word is to hang, directly or
    /// not, from `second` or something above it, one arc on the way there must be given up.
    fn is_blocked(&self, b0: usize, second: Option<usize>) -> bool {
        second.is_some_and(|second| self.last_words_ancestor(b0).is_some_and(|at| at >= second))
    }

    fn blocked_now(&self, system: &ArcEager, forest: &Forest, state: &State) -> u32 {
        let second = self.headless.get(1).map(|&word| word as usize);
        u32::from(system.single_root && self.is_blocked(word(forest, state.at.b0(forest)), second))
    }

    /// [`Self::blocked_now`] in the configuration after an action.
    fn blocked_after(&self, system: &ArcEager, forest: &Forest, state: &State, action: ActionId) -> u32 {
        if !system.single_root {
            return 0;
        }
        let b0 = word(forest, state.at.b0(forest));
        let second = self.headless.get(1).map(|&word| word as usize);
        let is_blocked = match action {
            SHIFT => {
                let second = second.or((self.headless.len() == 1).then_some(b0));
                self.is_blocked(b0 + 1, second)
            }
            _ if action != REDUCE && !system.relations.is_left(action) => self.is_blocked(b0 + 1, second),
            _ => {
                // What hung from s0 is lost; anything else hangs below s0, so it does not matter if s0 is `second`.
                let s0 = state.at.s0(forest).map(|s0| word(forest, s0));
                self.last_words_ancestor(b0) != s0 && self.is_blocked(b0, second)
            }
        };
        u32::from(is_blocked)
    }
}

impl Oracle<ArcEager> for DynamicOracle {
    fn for_gold(system: &ArcEager, gold: &DependencyTree) -> Result<Self, Underivable> {
        let gold = Gold::projective(&system.relations, system.single_root, gold)?;
        Ok(DynamicOracle { reachable: Reachable::new(gold), headless: Vec::new() })
    }

    fn loss(&mut self, system: &ArcEager, forest: &Forest, state: &State) -> Option<u32> {
        Some(self.reachable.loss + self.blocked_now(system, forest, state))
    }

    fn loss_after(
        &mut self,
        system: &ArcEager,
        forest: &mut Forest,
        state: &State,
        action: ActionId,
    ) -> Option<u32> {
        let lost = self.cost(system, forest, state, action);
        Some(self.reachable.loss + lost + self.blocked_after(system, forest, state, action))
    }

    fn optimal(
        &mut self,
        system: &ArcEager,
        forest: &mut Forest,
        state: &State,
        legal: &ActionSet,
        out: &mut ActionSet,
    ) {
        out.reset(system.n_actions());
        let loss = self.loss(system, forest, state);
        for action in legal.iter() {
            if self.loss_after(system, forest, state, action) == loss {
                out.insert(action);
            }
        }
    }

    fn advance(&mut self, system: &ArcEager, forest: &Forest, state: &State, action: ActionId) {
        self.reachable.loss += self.cost(system, forest, state, action);
        let b0 = word(forest, state.at.b0(forest));
        if action == REDUCE || action != SHIFT && system.relations.is_left(action) {
            let s0 = word(forest, state.at.s0(forest).expect("the action takes s0"));
            self.reachable.attach(s0);
            if action != REDUCE {
                self.headless.pop();
            }
            return;
        }
        if action != SHIFT || self.shift_loses_head(system, b0) {
            self.reachable.close(b0);
        }
        if action == SHIFT {
            self.headless.push(b0 as u32);
        }
        self.reachable.close_dependents_on_stack(b0);
        self.reachable.set_on_stack(b0, true);
    }
}

#[cfg(test)]
mod tests;
