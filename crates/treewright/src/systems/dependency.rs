//! What the dependency systems share: their relations, stack and buffer, gold trees, and all of [`ArcSystem`].
//!
//! In all of them the artificial root r stands after the last word and is never a dependent. Relations are limited
//! to the directions the treebank shows them in: a LEFT needs a relation seen on an arc from a word to its left (or,
//! when the head is r, on an arc from r), a RIGHT one seen on an arc to the right. A gold derivation attaches every
//! word in the direction of its arc, swapped or not, because the projective order keeps each head between its left
//! and its right dependents; so the limit makes no tree of the treebank underivable.

use std::fmt::Debug;
use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use crate::forest::{Forest, Kind, Node, Place};
use crate::ids::{ActionId, LabelId, NodeId};
use crate::sentence::Str;
use crate::system::actions::{Actions, Kinds, Named, Text};
use crate::system::configuration::Configuration;
use crate::system::{ActionSet, Mergeable, StackEffect, SystemOptions, TransitionSystem};
use crate::tree::{DependencyTree, Underivable};

mod gold;
mod relations;

pub(super) use gold::{Gold, Reachable};
pub use relations::{LeftRelation, Relations, RightRelation};

/// The first action of every system.
pub(super) const SHIFT: ActionId = ActionId::new(0);

/// The second action of those that have it.
pub(super) const SWAP: ActionId = ActionId::new(1);

/// A dependency system: relations, and the rules that tell it from the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct ArcSystem<R> {
    pub(super) relations: Relations,
    pub(super) single_root: bool,
    #[serde(skip)]
    rules: PhantomData<R>,
}

/// What tells one dependency system from another.
pub trait ArcRules: Debug + Send + Sync + 'static + Sized {
    /// Its actions: SHIFT, one that only some systems have, LEFT and RIGHT.
    type Action: Kinds + Named<ArcSystem<Self>>;
    /// What a configuration holds beside stack and buffer.
    type Own: Copy + Debug + Default + Send;

    /// How many actions come before the arcs.
    const N_BEFORE: usize = 2;

    /// Is the parse finished? Unless a system says otherwise, with nothing on the stack and r alone in the buffer.
    #[inline]
    fn is_final(forest: &Forest, state: &Configuration<Self::Own>) -> bool {
        state.stack.is_none() && forest.node(state.b0(forest)).kind == Kind::Root
    }

    /// Where r is in the end.
    fn root(forest: &Forest, state: &Configuration<Self::Own>) -> NodeId {
        state.b0(forest)
    }

    /// Adds the legal actions to `out`.
    fn legal(
        system: &ArcSystem<Self>,
        forest: &Forest,
        state: &Configuration<Self::Own>,
        out: &mut ActionSet,
    );

    /// What an action does to stack and buffer.
    fn act(
        relations: &Relations,
        forest: &mut Forest,
        state: &mut Configuration<Self::Own>,
        action: Self::Action,
    );

    /// The canonical derivation of a tree.
    ///
    /// # Errors
    /// When the system cannot build it.
    fn derive(system: &ArcSystem<Self>, tree: &DependencyTree) -> Result<Vec<ActionId>, Underivable>;

    /// No walk over `n_tokens` words is longer.
    fn max_steps(n_tokens: usize) -> usize;

    /// What an action does to the stack, in systems whose states can be merged.
    fn effect(_action: Self::Action) -> Option<StackEffect> {
        None
    }

    /// What a configuration holds beside stack and buffer when its topmost item lies on another stack.
    fn own_over(_top: &Node, _below: Self::Own) -> Self::Own {
        Self::Own::default()
    }

    /// What else the rules look at, beside the number of items on the stack: below 4.
    fn own_rules(_system: &ArcSystem<Self>, _own: Self::Own) -> u32 {
        0
    }
}

impl<R: ArcRules> ArcSystem<R> {
    /// A system with these relations, each allowed in every place; none means unlabelled trees.
    pub fn with_labels(labels: impl IntoIterator<Item = Str>, single_root: bool) -> Self {
        let relations = Relations::with_labels(labels, R::N_BEFORE);
        ArcSystem { relations, single_root, rules: PhantomData }
    }
}

impl<R: ArcRules> TransitionSystem for ArcSystem<R> {
    type Tree = DependencyTree;
    type State = Configuration<R::Own>;
    type Action = R::Action;
    const HAS_ROOT: bool = true;

    fn from_trees<'a>(trees: impl Iterator<Item = &'a DependencyTree>, options: &SystemOptions) -> Self {
        let relations = Relations::from_trees(trees, R::N_BEFORE);
        ArcSystem { relations, single_root: options.single_root, rules: PhantomData }
    }

    #[inline]
    fn actions(&self) -> Actions<R::Action> {
        let [n_left, n_right] = self.relations.n_arcs();
        Actions::new([1, R::N_BEFORE - 1, n_left, n_right])
    }

    fn label(&self, label: LabelId) -> String {
        self.relations.name(label).to_string()
    }

    #[inline]
    fn is_final(&self, forest: &Forest, state: &Self::State) -> bool {
        R::is_final(forest, state)
    }

    #[inline]
    fn legal(&self, forest: &Forest, state: &Self::State, out: &mut ActionSet) {
        out.reset(self.n_actions());
        R::legal(self, forest, state, out);
    }

    #[inline]
    fn act(&self, forest: &mut Forest, state: &mut Self::State, action: R::Action) {
        R::act(&self.relations, forest, state, action);
    }

    fn tree(&self, forest: &Forest, state: &Self::State) -> DependencyTree {
        self.relations.tree(forest, R::root(forest, state))
    }

    fn derive(&self, gold: &DependencyTree) -> Result<Vec<ActionId>, Underivable> {
        R::derive(self, gold)
    }

    fn check_tables(&self) -> Result<(), String> {
        self.relations.check(R::N_BEFORE)
    }

    fn max_steps(&self, n_tokens: usize) -> usize {
        R::max_steps(n_tokens)
    }

    fn mergeable(&self) -> Option<&dyn Mergeable<Self::State>> {
        R::effect(self.actions().get(SHIFT)).map(|_| self as _)
    }
}

impl<R: ArcRules> Mergeable<Configuration<R::Own>> for ArcSystem<R> {
    fn top(&self) -> Place {
        Place::Stack(0)
    }

    fn effect(&self, action: ActionId) -> StackEffect {
        R::effect(self.actions().get(action)).expect("asked only where states can be merged")
    }

    fn over(
        &self,
        forest: &mut Forest,
        below: &Configuration<R::Own>,
        state: &Configuration<R::Own>,
    ) -> Configuration<R::Own> {
        let top = state.s0(forest).expect("what is put on another stack is there");
        let own = R::own_over(forest.node(top), below.own);
        let mut over = Configuration { stack: below.stack, own, ..*state };
        over.push(forest, top);
        over
    }

    fn rules(&self, forest: &Forest, state: &Configuration<R::Own>) -> u32 {
        forest.depth(state.stack).min(2) << 2 | R::own_rules(self, state.own)
    }
}

/// How arcs are made and words reordered.
impl<O> Configuration<O> {
    /// Puts s0 after b0 in the buffer.
    #[inline]
    pub(super) fn put_after_b0(&mut self, forest: &mut Forest) {
        let (s0, b0) = (self.pop(forest), self.take(forest));
        self.put_back(forest, s0);
        self.put_back(forest, b0);
    }

    /// Pops s0 and attaches it to b0.
    #[inline]
    pub(super) fn attach_to_b0(&mut self, forest: &mut Forest, label: LabelId) {
        let (s0, b0) = (self.pop(forest), self.take(forest));
        let head = forest.attach(b0, s0, label);
        self.put_back(forest, head);
    }

    /// Pops s0 and attaches it to s1.
    #[inline]
    pub(super) fn attach_to_s1(&mut self, forest: &mut Forest, label: LabelId) {
        let (s0, s1) = (self.pop(forest), self.pop(forest));
        let head = forest.attach(s1, s0, label);
        self.push(forest, head);
    }
}

/// The word (n for r) that a node stands for.
#[inline]
pub(super) fn word(forest: &Forest, node: NodeId) -> usize {
    forest.node(node).head.index()
}

/// The relation with a hyphen before it; nothing, if it is empty.
fn suffix(relation: &str) -> String {
    if relation.is_empty() { String::new() } else { format!("-{relation}") }
}

impl<R: ArcRules> Text<ArcSystem<R>> for LeftRelation {
    fn text(self, system: &ArcSystem<R>) -> String {
        suffix(system.relations.name(system.relations.left(self)))
    }
}

impl<R: ArcRules> Text<ArcSystem<R>> for RightRelation {
    fn text(self, system: &ArcSystem<R>) -> String {
        suffix(system.relations.name(system.relations.right(self)))
    }
}

#[cfg(test)]
pub(super) mod tests;
