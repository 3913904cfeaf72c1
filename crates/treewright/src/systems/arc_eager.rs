//! Arc-eager dependency parsing (Nivre 2003), with an exact dynamic oracle (Goldberg and Nivre 2012, 2013) for
//! projective trees.
//!
//! The root r stands after the last word; the parse ends with an empty stack and r alone in the buffer, after
//! exactly 2n steps. An item of the stack that has a head is a dependent of the item directly below it; the forest gets
//! the arc when REDUCE takes the item away, and until then the item carries its relation.
//!
//! Deviations: when r is reached, every word without a head is attached to r, so every parse is a tree. With
//! `single_root` only one such word may be left: before the last word is pushed, all words without a head must have
//! been taken by LEFT, except the lowest one if the last word gets a head. These preconditions cost the oracle one
//! term (`DynamicOracle::is_blocked`). Relations are limited to the places the treebank shows them in (see
//! `dependency.rs`).

use std::sync::Arc;

use super::dependency::{
    ArcRules, ArcSystem, Gold, LeftRelation, Reachable, Relations, RightRelation, SHIFT, word,
};
use crate::forest::{Forest, Kind, Node};
use crate::ids::ActionId;
use crate::oracle::Oracle;
use crate::system::actions::actions;
use crate::system::configuration::Configuration;
use crate::system::{ActionSet, StackEffect};
use crate::tree::{DependencyTree, Underivable};

const REDUCE: ActionId = ActionId::new(1);

/// The system.
pub type ArcEager = ArcSystem<Rules>;

/// One configuration.
pub type State = Configuration<Own>;

/// What a configuration holds beside stack and buffer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Own {
    /// How many items of the stack have no head.
    n_headless: u32,
}

/// What tells it from other dependency systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules;

actions! {
    /// **Legal** when b0 is not r; with a single root, the last word only onto an empty stack. **Effect** moves b0 to
    /// the stack. **Cost** b0's head and its dependents on the stack; with a single root, r as its head unless the
    /// stack is empty.
    Shift = "SHIFT",
    /// **Legal** when s0 has a head. **Effect** pops s0. **Cost** s0's dependents in the buffer.
    Reduce = "REDUCE",
    /// **Legal** when s0 has no head. **Effect** pops s0 and attaches it to b0. **Cost** s0's dependents in the
    /// buffer, and its head unless that is b0 (and the relation is right).
    Left(relation: LeftRelation) = "LEFT{relation}",
    /// **Legal** when there is an s0 and b0 is not r; with a single root, the last word only while one item of the
    /// stack has no head. **Effect** attaches b0 to s0 and moves it to the stack. **Cost** b0's dependents on the
    /// stack, and its head unless that is s0 (and the relation is right).
    Right(relation: RightRelation) = "RIGHT{relation}",
}

impl ArcRules for Rules {
    type Action = Action;
    type Own = Own;

    #[inline]
    fn legal(system: &ArcEager, forest: &Forest, state: &State, out: &mut ActionSet) {
        let b0 = forest.node(state.b0(forest));
        let s0 = state.s0(forest).map(|s0| forest.node(s0));
        let is_guarded = system.single_root && b0.head.index() + 1 == forest.n_tokens();
        if b0.kind != Kind::Root && (s0.is_none() || !is_guarded) {
            out.insert(SHIFT);
        }
        let Some(s0) = s0 else { return };
        if s0.label.is_some() {
            out.insert(REDUCE);
        } else {
            system.relations.allow_left(b0.kind, out);
        }
        if b0.kind != Kind::Root && (state.own.n_headless == 1 || !is_guarded) {
            system.relations.allow_right(out);
        }
    }

    #[inline]
    fn act(relations: &Relations, forest: &mut Forest, state: &mut State, action: Action) {
        match action {
            Action::Shift => {
                state.shift(forest);
                state.own.n_headless += 1;
            }
            Action::Reduce => {
                let s0 = state.s0(forest).expect("REDUCE takes an item");
                let label = forest.node(s0).label.expect("REDUCE takes an item with a head");
                state.attach_to_s1(forest, label);
            }
            Action::Left(relation) => {
                state.attach_to_b0(forest, relations.left(relation));
                state.own.n_headless -= 1;
            }
            Action::Right(relation) => {
                let b0 = state.take(forest);
                let dependent = forest.with_label(b0, relations.right(relation));
                state.push(forest, dependent);
            }
        }
    }

    /// LEFT when s0's head is b0, RIGHT when b0's is s0; REDUCE when an arc joins b0 and an item below s0; else SHIFT.
    fn derive(system: &ArcEager, tree: &DependencyTree) -> Result<Vec<ActionId>, Underivable> {
        let gold = Gold::projective(&system.relations, system.single_root, tree)?;
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

    /// Every word is pushed once and popped once.
    fn max_steps(n_tokens: usize) -> usize {
        2 * n_tokens
    }

    fn effect(action: Action) -> Option<StackEffect> {
        Some(match action {
            Action::Shift | Action::Right(_) => StackEffect::Push,
            Action::Reduce | Action::Left(_) => StackEffect::Pop,
        })
    }

    fn own_over(top: &Node, below: Own) -> Own {
        Own { n_headless: below.n_headless + u32::from(top.label.is_none()) }
    }

    /// With a single root, whether one item has no head, or several.
    fn own_rules(system: &ArcEager, own: Own) -> u32 {
        if system.single_root { own.n_headless.min(2) } else { 0 }
    }
}

/// The exact dynamic oracle, for projective gold trees. The loss counts words without their gold head and relation.
#[derive(Clone, Debug)]
pub struct DynamicOracle {
    /// A dependent is in RDEPS while its arc can be had as far as stack and buffer go.
    reachable: Reachable,
    /// The words on the stack that have no head, from the bottom.
    headless: Vec<u32>,
    /// The gold ancestors of the last word; never changes.
    spine: Arc<Spine>,
    /// The rightmost word of the spine that lost its head when that left the stack.
    last_lost: Option<u32>,
}

/// The last word, its gold head, the head of that, and so on up to r. Each stands to the left of the one before it, because
/// gold is projective.
#[derive(Debug)]
struct Spine {
    /// For each place, the last word of the spine before it.
    before: Vec<Option<u32>>,
    /// The dependent of each word that is on the spine.
    below: Vec<Option<u32>>,
}

impl Spine {
    fn new(gold: &Gold) -> Self {
        let n = gold.n();
        let (mut before, mut below) = (vec![None; n + 1], vec![None; n + 1]);
        let (mut at, mut end) = (n.checked_sub(1), n + 1);
        while let Some(word) = at {
            before[word + 1..end].fill(Some(word as u32));
            end = word + 1;
            let head = gold.head(word);
            below[head] = Some(word as u32);
            at = (head < n).then_some(head);
        }
        Spine { before, below }
    }
}

impl DynamicOracle {
    /// The gold arcs that an action loses by taking a word off the stack or out of the buffer.
    fn cost(&self, system: &ArcEager, forest: &Forest, state: &State, action: ActionId) -> u32 {
        let reachable = &self.reachable;
        let b0 = word(forest, state.b0(forest));
        let s0 = state.s0(forest).map(|s0| word(forest, s0));
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
        if self.last_lost.is_some_and(|word| word as usize >= b0) {
            return None;
        }
        self.spine.before[b0].map(|word| word as usize)
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
        u32::from(system.single_root && self.is_blocked(word(forest, state.b0(forest)), second))
    }

    /// [`Self::blocked_now`] in the configuration after an action.
    fn blocked_after(&self, system: &ArcEager, forest: &Forest, state: &State, action: ActionId) -> u32 {
        if !system.single_root {
            return 0;
        }
        let b0 = word(forest, state.b0(forest));
        let second = self.headless.get(1).map(|&word| word as usize);
        let is_blocked = match action {
            SHIFT => {
                let second = second.or((self.headless.len() == 1).then_some(b0));
                self.is_blocked(b0 + 1, second)
            }
            _ if action != REDUCE && !system.relations.is_left(action) => self.is_blocked(b0 + 1, second),
            _ => {
                // What hung from s0 is lost; anything else hangs below s0, so it does not matter if s0 is `second`.
                let s0 = state.s0(forest).map(|s0| word(forest, s0));
                self.last_words_ancestor(b0) != s0 && self.is_blocked(b0, second)
            }
        };
        u32::from(is_blocked)
    }
}

impl Oracle<ArcEager> for DynamicOracle {
    fn for_gold(system: &ArcEager, gold: &DependencyTree) -> Result<Self, Underivable> {
        let gold = Gold::projective(&system.relations, system.single_root, gold)?;
        let spine = Arc::new(Spine::new(&gold));
        Ok(DynamicOracle { reachable: Reachable::new(gold), headless: Vec::new(), spine, last_lost: None })
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

    fn advance(&mut self, system: &ArcEager, forest: &Forest, state: &State, action: ActionId) {
        self.reachable.loss += self.cost(system, forest, state, action);
        let b0 = word(forest, state.b0(forest));
        if action == REDUCE || action != SHIFT && system.relations.is_left(action) {
            let s0 = word(forest, state.s0(forest).expect("the action takes s0"));
            self.last_lost = self.last_lost.max(self.spine.below[s0]);
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
