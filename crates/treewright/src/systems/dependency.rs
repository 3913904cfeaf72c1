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

use crate::forest::{Forest, Node, Place, View};
use crate::ids::{ActionId, NodeId};
use crate::sentence::{Sentence, Str};
use crate::system::{ActionSet, Mergeable, StackEffect, SystemOptions, TransitionSystem};
use crate::systems::actions::{Actions, Kinds, Named, Text, from_tables};
use crate::tree::DependencyTree;
use crate::tree::Underivable;

mod configuration;
mod gold;
mod relations;

pub use configuration::Configuration;
pub(super) use configuration::word;
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
///
/// It is the type of its actions: the last two kinds are LEFT and RIGHT, and there is one action of each kind before them.
pub trait ArcRules: Kinds + Named<ArcSystem<Self>> + Debug + Eq + Send + Sync + 'static {
    /// What a configuration holds beside stack and buffer.
    type Own: Copy + Debug + Default + Send;

    /// Is the parse finished? Unless a system says otherwise, with nothing on the stack and r alone in the buffer.
    #[inline]
    fn is_final(forest: &Forest, state: &Configuration<Self::Own>) -> bool {
        state.is_done(forest)
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
    fn apply(relations: &Relations, forest: &mut Forest, state: &mut Configuration<Self::Own>, action: Self);

    /// The canonical derivation of a tree.
    ///
    /// # Errors
    /// When the system cannot build it.
    fn derive(system: &ArcSystem<Self>, tree: &DependencyTree) -> Result<Vec<ActionId>, Underivable>;

    /// No walk over `n_tokens` words is longer.
    fn max_steps(n_tokens: usize) -> usize;

    /// What an action does to the stack, in systems whose states can be merged.
    fn effect(self) -> Option<StackEffect> {
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
    /// How many actions come before the arcs.
    const N_BEFORE: usize = R::N - 2;

    /// A system with these relations, each allowed in every place; none means unlabelled trees.
    pub fn with_labels(labels: impl IntoIterator<Item = Str>, single_root: bool) -> Self {
        let relations = Relations::with_labels(labels, Self::N_BEFORE);
        ArcSystem { relations, single_root, rules: PhantomData }
    }

    /// Its actions.
    #[inline]
    fn actions(&self) -> Actions<R> {
        Actions::ending_in(self.relations.n_arcs())
    }
}

impl<R: ArcRules> TransitionSystem for ArcSystem<R> {
    type Tree = DependencyTree;
    type State = Configuration<R::Own>;

    fn from_trees<'a>(trees: impl Iterator<Item = &'a DependencyTree>, options: &SystemOptions) -> Self {
        let relations = Relations::from_trees(trees, Self::N_BEFORE);
        ArcSystem { relations, single_root: options.single_root, rules: PhantomData }
    }

    from_tables!(relations);

    fn start(&self, forest: &mut Forest, sentence: &Sentence) -> Configuration<R::Own> {
        Configuration::start(forest, sentence.tokens.len())
    }

    #[inline]
    fn is_final(&self, forest: &Forest, state: &Configuration<R::Own>) -> bool {
        R::is_final(forest, state)
    }

    #[inline]
    fn legal(&self, forest: &Forest, state: &Configuration<R::Own>, out: &mut ActionSet) {
        out.reset(self.n_actions());
        R::legal(self, forest, state, out);
    }

    #[inline]
    fn apply(
        &self,
        forest: &mut Forest,
        state: &Configuration<R::Own>,
        action: ActionId,
    ) -> Configuration<R::Own> {
        let mut next = *state;
        R::apply(&self.relations, forest, &mut next, self.actions().get(action));
        next.note(forest, action);
        next
    }

    #[inline]
    fn view(&self, state: &Configuration<R::Own>) -> View {
        state.view()
    }

    fn tree(&self, forest: &Forest, state: &Configuration<R::Own>) -> DependencyTree {
        self.relations.tree(forest, R::root(forest, state))
    }

    fn derive(&self, gold: &DependencyTree) -> Result<Vec<ActionId>, Underivable> {
        R::derive(self, gold)
    }

    fn check_tables(&self) -> Result<(), String> {
        self.relations.check(Self::N_BEFORE)
    }

    fn max_steps(&self, n_tokens: usize) -> usize {
        R::max_steps(n_tokens)
    }

    fn mergeable(&self) -> Option<&dyn Mergeable<Configuration<R::Own>>> {
        self.actions().get(SHIFT).effect().map(|_| self as _)
    }
}

impl<R: ArcRules> Mergeable<Configuration<R::Own>> for ArcSystem<R> {
    fn top(&self) -> Place {
        Place::Stack(0)
    }

    fn effect(&self, action: ActionId) -> StackEffect {
        self.actions().get(action).effect().expect("asked only where states can be merged")
    }

    fn over(
        &self,
        forest: &mut Forest,
        below: &Configuration<R::Own>,
        state: &Configuration<R::Own>,
    ) -> Configuration<R::Own> {
        let top = state.s0(forest).expect("what is put on another stack is there");
        let own = R::own_over(forest.node(top), below.own);
        let mut over = *state;
        (over.stack, over.own) = (below.stack, own);
        over.push(forest, top);
        over
    }

    fn rules(&self, forest: &Forest, state: &Configuration<R::Own>) -> u32 {
        forest.depth(state.stack).min(2) << 2 | R::own_rules(self, state.own)
    }
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
