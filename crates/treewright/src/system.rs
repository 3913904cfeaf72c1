//! What a transition system is, and sets of its actions; `actions` is the table of a system's actions, `configuration`
//! the state that systems work on.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::forest::{Forest, Place, View};
use crate::ids::{ActionId, LabelId};
use crate::sentence::{Sentence, Str};
use crate::tree::{ParserTree, Side, Unaries, Underivable};

pub mod actions;
pub mod configuration;

use actions::{Actions, Kinds, Named};
use configuration::State;

/// The largest limit on chains of actions (unaries, openings in a row, gaps or swaps) that a trained system may have: far
/// more than any treebank needs, and low enough that every walk stays short, whatever the scores.
pub(crate) const MAX_LIMIT: u32 = 1000;

/// Refuses a limit that is too large, missing, or less than `min`.
pub(crate) fn check_limit(name: &str, limit: Option<u32>, min: u32) -> Result<(), String> {
    match limit {
        Some(limit) if (min..=MAX_LIMIT).contains(&limit) => Ok(()),
        Some(limit) => Err(format!("{name} is {limit}; it should be from {min} to {MAX_LIMIT}")),
        None => Err(format!("{name} is missing")),
    }
}

/// Settings that some systems read when they are made; the others ignore them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SystemOptions {
    /// Dependency systems: exactly one word is attached to the root.
    pub single_root: bool,
}

impl Default for SystemOptions {
    fn default() -> Self {
        SystemOptions { single_root: true }
    }
}

/// A transition system: when an action is legal, what it does, and how a gold tree is derived.
///
/// A state is a small value that points into the forest. `apply` appends to the forest and returns a new state; the
/// old one stays valid. Decoders call `start`, then `legal`, `view` (for the scorer) and `apply` until `is_final`.
/// Every non-final state has a legal action, and every walk ends within `max_steps`. A system that works on a
/// [`configuration::Configuration`] writes `act`; `start`, `apply` and `view` follow from that.
pub trait TransitionSystem: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// What it builds.
    type Tree: ParserTree;
    /// One configuration.
    type State: State;
    /// Its actions, without their ids.
    type Action: Kinds + Named<Self>;

    /// What unary chains a binary tree may keep for this system; other trees keep all.
    const UNARIES: Unaries = Unaries::Keep;

    /// Is there an artificial root after the last word?
    const HAS_ROOT: bool = false;

    /// A system for these trees: their labels, and limits that make none of them underivable.
    fn from_trees<'a>(trees: impl Iterator<Item = &'a Self::Tree>, options: &SystemOptions) -> Self
    where
        Self: Sized;

    /// Sees a tree it was made for once more, with the tags of its words; most systems have no use for them.
    fn see_tags(&mut self, _tree: &Self::Tree, _sentence: &Sentence) {}

    /// The table of its actions: ids run from 0.
    fn actions(&self) -> Actions<Self::Action>;

    /// The text of a label that a node of this system's forest has.
    fn label(&self, label: LabelId) -> String;

    /// Is the parse finished?
    fn is_final(&self, forest: &Forest, state: &Self::State) -> bool;

    /// The legal actions, into `out`, which is cleared first. A final state has none, except IDLE where the system has
    /// it.
    fn legal(&self, forest: &Forest, state: &Self::State, out: &mut ActionSet);

    /// What a legal action does to a configuration.
    fn act(&self, forest: &mut Forest, state: &mut Self::State, action: Self::Action);

    /// The tree of a final state.
    fn tree(&self, forest: &Forest, state: &Self::State) -> Self::Tree;

    /// The canonical action sequence of a gold tree (the static oracle), without IDLE padding.
    ///
    /// # Errors
    /// When the system cannot build this tree, or a label or limit is not in its tables.
    fn derive(&self, gold: &Self::Tree) -> Result<Vec<ActionId>, Underivable>;

    /// Checks tables that were read from a model file, which anybody may have written: every id in them must be valid,
    /// and every walk must end soon.
    ///
    /// # Errors
    /// What is wrong, as a clause.
    fn check_tables(&self) -> Result<(), String>;

    /// No walk over `n_tokens` words is longer.
    fn max_steps(&self, n_tokens: usize) -> usize;

    /// The number of actions.
    #[inline]
    fn n_actions(&self) -> usize {
        self.actions().len()
    }

    /// The action's name, for people, logs and golden tables.
    fn name(&self, action: ActionId) -> String {
        self.actions().get(action).name(self)
    }

    /// The initial configuration; clears the forest.
    fn start(&self, forest: &mut Forest, sentence: &Sentence) -> Self::State {
        forest.start(sentence.len(), Self::HAS_ROOT);
        Self::State::default()
    }

    /// The configuration after a legal action.
    #[inline]
    fn apply(&self, forest: &mut Forest, state: &Self::State, action: ActionId) -> Self::State {
        let mut next = *state;
        self.act(forest, &mut next, self.actions().get(action));
        next.note(forest, action);
        next
    }

    /// What a scorer sees.
    #[inline]
    fn view(&self, state: &Self::State) -> View {
        state.view()
    }

    /// How its states are merged in dynamic programming; nothing if they cannot be.
    fn mergeable(&self) -> Option<&dyn Mergeable<Self::State>> {
        None
    }

    /// What its actions do to spans, if it builds binary trees by shifts and reductions and nothing else, and all derivations
    /// of a sentence have the same length: then its best derivation can be searched for exactly.
    fn span_actions(&self) -> Option<SpanActions> {
        None
    }

    /// The action of this name.
    fn action(&self, name: &str) -> Option<ActionId> {
        (0..self.n_actions()).map(ActionId::new).find(|&action| self.name(action) == name)
    }
}

/// What an action does to the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackEffect {
    /// Puts an item on it that is made of the front of the buffer alone.
    Push,
    /// Takes the topmost item off it, which becomes part of the item below or of the front of the buffer.
    Pop,
    /// Leaves its items where they are.
    None,
}

/// For systems whose states may be merged in dynamic programming (Huang and Sagae 2010): what is built on top of a stack
/// does not depend on what lies below, as far as scores and rules do not look there.
///
/// All derivations of a sentence are equally long, and actions have the effects of [`StackEffect`] and no others. Of the
/// buffer only the first word may have dependents.
pub trait Mergeable<T> {
    /// Where the top of the stack is in the view. Further items are s0, s1 and so on.
    fn top(&self) -> Place;

    /// What an action does to the stack.
    fn effect(&self, action: ActionId) -> StackEffect;

    /// The topmost item and the buffer of `state`, on the stack of `below`.
    fn over(&self, forest: &mut Forest, below: &T, state: &T) -> T;

    /// A number for what the rules look at beside the words left. Where two states agree in it and the same push began
    /// their topmost items, their legal actions are the same, and so are those of states that equal pushes make of them.
    fn rules(&self, forest: &Forest, state: &T) -> u32;
}

/// The actions of a system that can be searched exactly, by what they do to spans. Its symbols are those of `systems/binary.rs`;
/// what is legal is what `systems/bottom_up_2n.rs` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanActions {
    /// The symbols that may stand at the root.
    pub roots: Range<usize>,
    /// The symbols that may stand inside a tree.
    pub inner: Range<usize>,
    /// The symbols that binarisation made up.
    pub temporaries: Range<usize>,
    /// Pushes the next word.
    pub shift: ActionId,
    /// Push the next word with a symbol over it.
    pub shift_unary: Vec<(ActionId, LabelId)>,
    /// Join the two topmost items.
    pub reductions: Vec<Reduction>,
    /// Ends the parse.
    pub finish: ActionId,
    /// For each tag of the treebank, the symbols that it has right above words with this tag.
    pub unaries: BTreeMap<Str, BTreeSet<u32>>,
}

/// An action that joins two items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reduction {
    /// The action.
    pub action: ActionId,
    /// The symbol it makes; with a unary, the upper one.
    pub symbol: LabelId,
    /// The item that is the head. The other must not be a temporary.
    pub head: Side,
}

/// A set of actions, as bits; made once per system and refilled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActionSet {
    words: Vec<u64>,
}

impl ActionSet {
    /// An empty set with room for `n_actions`.
    pub fn new(n_actions: usize) -> Self {
        ActionSet { words: vec![0; n_actions.div_ceil(64)] }
    }

    /// Empties the set and makes room for `n_actions`.
    #[inline]
    pub fn reset(&mut self, n_actions: usize) {
        let n_words = n_actions.div_ceil(64);
        if self.words.len() != n_words {
            self.words.resize(n_words, 0);
        }
        for word in &mut self.words {
            *word = 0;
        }
    }

    /// Adds one action.
    #[inline]
    pub fn insert(&mut self, action: ActionId) {
        self.words[action.index() / 64] |= 1 << (action.index() % 64);
    }

    /// Takes one action out.
    #[inline]
    pub fn remove(&mut self, action: ActionId) {
        self.words[action.index() / 64] &= !(1 << (action.index() % 64));
    }

    /// Adds the actions numbered `start..end`.
    #[inline]
    pub fn insert_range(&mut self, start: usize, end: usize) {
        let mut at = start;
        while at < end {
            let (word, bit) = (at / 64, at % 64);
            let count = (64 - bit).min(end - at);
            let ones = if count == 64 { u64::MAX } else { (1 << count) - 1 };
            self.words[word] |= ones << bit;
            at += count;
        }
    }

    /// Is it there?
    #[inline]
    pub fn contains(&self, action: ActionId) -> bool {
        self.words.get(action.index() / 64).is_some_and(|word| word >> (action.index() % 64) & 1 == 1)
    }

    /// Is nothing there?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// Is there one alone?
    #[inline]
    pub fn is_single(&self) -> bool {
        self.words.iter().map(|word| word.count_ones()).sum::<u32>() == 1
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The actions in ascending order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = ActionId> + '_ {
        self.indices().map(ActionId::new)
    }

    /// The actions in ascending order, as places in a row.
    #[inline]
    pub fn indices(&self) -> Indices<'_> {
        Indices { words: &self.words, at: 0, rest: self.words.first().copied().unwrap_or(0) }
    }

    /// Which of the actions `8 * block..8 * block + 8` are there, as bits.
    #[inline]
    pub fn eight(&self, block: usize) -> u8 {
        self.words.get(block / 8).map_or(0, |word| (word >> (block % 8 * 8)) as u8)
    }

    /// The smallest action.
    pub fn first(&self) -> Option<ActionId> {
        self.iter().next()
    }
}

/// The actions of a set, in ascending order.
#[derive(Clone, Debug)]
pub struct Indices<'a> {
    words: &'a [u64],
    at: usize,
    /// What is left of the word at `at`.
    rest: u64,
}

impl Iterator for Indices<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.rest == 0 {
            self.at += 1;
            self.rest = *self.words.get(self.at)?;
        }
        let bit = self.rest.trailing_zeros() as usize;
        self.rest &= self.rest - 1;
        Some(self.at * 64 + bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_single_insertions_agree() {
        for (start, end) in [(0, 0), (0, 1), (3, 64), (0, 64), (63, 65), (10, 200), (64, 128)] {
            let (mut range, mut single) = (ActionSet::new(300), ActionSet::new(300));
            range.insert_range(start, end);
            (start..end).for_each(|i| single.insert(ActionId::new(i)));
            assert_eq!(range, single, "{start}..{end}");
            assert_eq!(range.len(), end - start);
            assert_eq!(range.is_single(), end - start == 1);
            assert!(range.iter().map(ActionId::index).eq(start..end));
        }
    }
}
