//! Scorers turn views into rows of numbers, one number per action; learners change them.
//!
//! One folder per kind of scorer, and one line in `KINDS`.

#[cfg(test)]
mod bigrams;
mod ensemble;
#[cfg(test)]
mod laws;
pub mod neural;
pub mod perceptron;
pub mod stack_lstm;

pub use ensemble::Ensemble;

use std::ops::Range;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::config::{EncoderFiles, LossKind, TrainConfig};
use crate::error::{Code, Error, Result};
pub use crate::features::Role;
use crate::features::{Horizon, Vocabulary};
use crate::forest::{Forest, Kind, View};
use crate::ids::{ActionId, LabelId};
use crate::map::WordSource;
use crate::sentence::{Sentence, Str};
use crate::system::ActionSet;
use crate::weights::kernel;

/// Every kind of scorer.
const KINDS: &[&dyn ScorerKind] = &[
    &perceptron::PerceptronKind,
    neural::KIND,
    stack_lstm::KIND,
    #[cfg(test)]
    &bigrams::Bigrams,
];

/// A kind of scorer: how to begin learning, and how to read what was learnt.
pub trait ScorerKind: Sync {
    /// The name in settings and model files.
    fn name(&self) -> &'static str;

    /// What it is, in a few words without a full stop, for those who choose.
    fn about(&self) -> &'static str;

    /// Is it a neural network? Such a scorer looks at word vectors and encoders, and learns step by step.
    fn is_network(&self) -> bool {
        false
    }

    /// A learner that knows nothing yet, for these training sentences.
    ///
    /// # Errors
    /// When the settings do not fit.
    fn learner(&self, config: &TrainConfig, shared: Shared, sentences: &[&Sentence]) -> Result<AnyLearner>;

    /// The model that a file keeps.
    ///
    /// # Errors
    /// When its parts do not fit together.
    fn load(&self, stored: StoredScorer, shared: Shared) -> Result<Arc<dyn ScorerModel>>;
}

impl dyn ScorerKind {
    /// Every kind.
    pub fn all() -> impl Iterator<Item = &'static dyn ScorerKind> {
        KINDS.iter().copied()
    }

    /// The name of every kind.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::all().map(|kind| kind.name())
    }

    /// The kind of this name.
    ///
    /// # Errors
    /// When there is none.
    pub fn named(name: &str) -> Result<&'static dyn ScorerKind> {
        Self::all().find(|kind| kind.name() == name).ok_or_else(|| {
            let known: Vec<&str> = Self::names().collect();
            let message = format!("there is no scorer {name:?}; there are {}", known.join(", "));
            Error::new(Code::BadTraining, message)
        })
    }
}

/// What a model file keeps of a scorer.
#[derive(Clone, Debug)]
pub struct StoredScorer {
    /// What [`ScorerModel::header`] gave.
    pub header: serde_json::Value,
    /// What [`ScorerModel::words`] gave.
    pub words: Arc<dyn WordSource>,
}

impl StoredScorer {
    /// The header as the type that wrote it, and the words.
    fn open<T: DeserializeOwned>(self) -> Result<(T, Arc<dyn WordSource>)> {
        let header = serde_json::from_value(self.header)
            .map_err(|error| bad_model(format!("in the model's header: {error}")))?;
        Ok((header, self.words))
    }
}

/// An error for a model file whose parts do not fit together.
fn bad_model(message: impl Into<String>) -> Error {
    Error::new(Code::BadModel, message)
}

/// What the scorers of a model have in common.
#[derive(Clone, Debug)]
pub struct Shared {
    /// The words and tags of the training data.
    pub vocabulary: Arc<Vocabulary>,
    /// Ids of actions are in order of kinds (LEFT-ARC with any label is a kind); where those of each kind end.
    pub kind_ends: Vec<usize>,
}

impl Shared {
    /// The number of actions.
    pub fn n_actions(&self) -> usize {
        self.kind_ends.last().copied().unwrap_or_default()
    }
}

/// A sentence that a scorer has open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotId(u32);

/// States of one open sentence, which are all of one forest.
#[derive(Clone, Copy, Debug)]
pub struct Views<'a> {
    /// The sentence.
    pub slot: SlotId,
    /// Its forest.
    pub forest: &'a Forest,
    /// What is to be scored.
    pub views: &'a [View],
}

impl<'a> Views<'a> {
    /// All views of queries, each with its query and the number of its row of scores.
    pub fn by_row(queries: &'a [Views<'a>]) -> impl Iterator<Item = (usize, &'a Views<'a>, &'a View)> {
        let views = queries.iter().flat_map(|query| query.views.iter().map(move |view| (query, view)));
        views.enumerate().map(|(row, (query, view))| (row, query, view))
    }
}

/// One row of scores per view; the batch is the only call, one state is a batch of one.
pub trait Scorer: Send {
    /// Opens sentences, as many as there are, and appends a slot for each: an encoder runs over all of them at once. Every
    /// slot that is open has a forest of its own. A scorer that keeps nothing of sentences needs one slot for all.
    fn open(&mut self, sentences: &[&Sentence], slots: &mut Vec<SlotId>) {
        slots.extend(sentences.iter().map(|_| SlotId::default()));
    }

    /// Closes a sentence; its slot may be used again. Nothing to do for a scorer that keeps nothing of sentences.
    fn close(&mut self, _slot: SlotId) {}

    /// Fills one row per view, in the order of the queries and their views.
    fn score(&mut self, queries: &[Views<'_>], rows: &mut Rows);

    /// For exact search: scores as sums over single items, where that is what they are.
    fn by_item(&mut self) -> Option<&mut dyn ItemScorer> {
        None
    }

    /// Are scores logarithms of what the probabilities of legal actions are proportional to? Then search adds up logarithms
    /// of probabilities.
    fn is_log_linear(&self) -> bool {
        false
    }

    /// Is it faster to open many sentences at once and to score their states together?
    fn prefers_batches(&self) -> bool {
        false
    }

    /// What the scores of a configuration depend on, so that search may treat configurations alike that agree in it. `None`
    /// is the whole history: then no two are alike.
    fn horizon(&self) -> Option<&Horizon> {
        None
    }

    /// Does the scorer know tags of its own for the words of a sentence?
    fn finds_tags(&self) -> bool {
        false
    }

    /// Says whether the tags of sentences are wanted from now on.
    fn set_tagging(&mut self, _is_wanted: bool) {}

    /// The tags of the words of all sentences that were opened since this was last called, one sentence after the other.
    /// Empty unless they are wanted.
    fn take_tags(&mut self) -> Vec<WordTags> {
        Vec::new()
    }

    /// Opens one sentence.
    fn open_one(&mut self, sentence: &Sentence) -> SlotId {
        let mut slots = Vec::with_capacity(1);
        self.open(&[sentence], &mut slots);
        slots[0]
    }
}

/// The tags that a scorer found for a word, in the columns that its training data had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordTags {
    /// UPOS, or the tag of a treebank with one kind of tags.
    pub tag: Option<Str>,
    /// XPOS.
    pub xpos: Option<Str>,
    /// FEATS; empty for a word that has none.
    pub feats: Option<Str>,
}

/// Items over each of some spans with each of some labels.
#[derive(Clone, Copy, Debug)]
pub struct Items<'a> {
    /// The spans.
    pub spans: &'a [Range<usize>],
    /// The labels; none: a bare word.
    pub labels: &'a [Option<(Kind, LabelId)>],
}

/// A scorer whose scores are sums of what the two topmost items of the stack and the words of the buffer each add, where all
/// that counts of an item is its label and its words. All numbers are whole, so sums do not depend on their order.
pub trait ItemScorer {
    /// What each action gains from items in a role. There is a row for each, all of the same length, which is at least the
    /// number of actions; the labels of the first span come first. To ask for many spans at once takes less time. False if a number is too large, or `i16::MIN`.
    fn of_spans(&mut self, slot: SlotId, role: Role, items: Items<'_>, rows: &mut [i16]) -> bool;

    /// What each action gains from a buffer that begins at word `next`. False if a number is too large.
    fn of_buffer(&mut self, slot: SlotId, next: usize, row: &mut [i16]) -> bool;

    /// A score that no action exceeds in any state. By default the largest sum of two items and a buffer.
    fn max_score(&self) -> i32 {
        3 * i32::from(i16::MAX)
    }
}

/// Whether a learner is learning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It may leave out what makes learning robust (dropout), by choices that follow from the seed.
    Train {
        /// The seed.
        seed: u64,
    },
    /// It scores as well as it can.
    Predict,
}

/// What can be done with everything that learns.
pub trait Learning: Send {
    /// Changes the mode; by default both are alike.
    fn set_mode(&mut self, _mode: Mode) {}

    /// Sees the sentences of the training and of the development set once before the first epoch: what it needs of them and
    /// does not change can be computed now. `advance` is told how many are done, and of how many.
    ///
    /// # Errors
    /// What ends the training.
    fn prepare(
        &mut self,
        _sentences: &[&Sentence],
        _jobs: usize,
        _advance: &mut dyn FnMut(usize, usize),
    ) -> Result<()> {
        Ok(())
    }

    /// How many features or parameters have been learnt by now.
    fn n_features(&self) -> usize;

    /// What was learnt, for parsing.
    ///
    /// # Errors
    /// When it is too large.
    fn freeze(&self) -> Result<Arc<dyn ScorerModel>>;

    /// Writes the state of learning, for a checkpoint.
    fn save(&self, out: &mut Vec<u8>);

    /// Takes up what `save` wrote; nothing if it is damaged.
    fn load(&mut self, bytes: &[u8]) -> Option<()>;
}

/// A scorer that learns while it scores. Trainers turn losses into gradients of scores ([`Learner::backward`]), for as many
/// states and sentences as they like, and then let it change its weights ([`Learner::step`]).
pub trait Learner: Scorer + Learning {
    /// The loss falls when the scores of these actions in this state move against their gradients.
    fn backward(&mut self, slot: SlotId, forest: &Forest, view: &View, gradient: &[(ActionId, f32)]);

    /// Changes the weights by the gradients since the last step: a minibatch is over.
    fn step(&mut self);

    /// Is every state a minibatch of its own in local training? If not, a number of sentences is.
    fn learns_by_state(&self) -> bool {
        false
    }
}

/// Learns from minibatches of sentences, which are cut into a fixed number of parts: threads can work on them at the same
/// time, and what is learnt does not depend on how many do. It learns each state by itself (local training).
pub trait BatchLearner: Learning {
    /// About how many words a minibatch has.
    fn batch_words(&self) -> usize;

    /// The loss of a state.
    fn loss(&self) -> LossKind;

    /// The parts of the next minibatch, when this share of the training is over. Each has a share of its sentences, all with
    /// the weights as they are.
    fn parts(&mut self, progress: f64) -> Vec<Box<dyn LearnerPart + '_>>;

    /// Changes the weights by the gradients of the parts, when this share of the training is over, from 0 to 1.
    ///
    /// # Errors
    /// When there is no sense in going on, because the gradients are not finite.
    fn step(&mut self, progress: f64) -> Result<()>;
}

/// A part of a minibatch. Its sentences are opened all at once, and then their states are scored, in as many calls as it
/// takes; after each call come the gradients of its scores.
pub trait LearnerPart: Scorer {
    /// The gradients of the loss by the scores of the last call of [`Scorer::score`], row by row.
    fn backward(&mut self, gradients: &Rows);

    /// All states were scored: turns the gradients of scores into those of weights.
    fn finish(&mut self);
}

/// A learner of one kind or the other.
pub enum AnyLearner {
    /// Scores and learns by turns.
    Online(Box<dyn Learner>),
    /// Learns from minibatches.
    Batch(Box<dyn BatchLearner>),
}

impl AnyLearner {
    /// What both have in common.
    pub fn learning(&self) -> &dyn Learning {
        match self {
            AnyLearner::Online(learner) => &**learner,
            AnyLearner::Batch(learner) => &**learner,
        }
    }

    /// The same, to be changed.
    pub fn learning_mut(&mut self) -> &mut dyn Learning {
        match self {
            AnyLearner::Online(learner) => &mut **learner,
            AnyLearner::Batch(learner) => &mut **learner,
        }
    }
}

/// A scorer's weights, shared by the workers of a model.
pub trait ScorerModel: Send + Sync + std::fmt::Debug {
    /// Its kind's name.
    fn kind(&self) -> &'static str;

    /// A scorer with scratch memory of its own.
    fn scorer(&self) -> Box<dyn Scorer>;

    /// What it needs beside its weights, for the header of the model file: an object.
    fn header(&self) -> serde_json::Value;

    /// Its weights, for the model file.
    fn words(&self) -> &[u32];

    /// Its weights as a packed table (`weights/layout.rs`), for a packed model; nothing if they are to stay as they are.
    fn packed_words(&self) -> Option<Vec<u8>> {
        None
    }

    /// The files of the encoder that it keeps, if it has one.
    fn encoder(&self) -> Option<EncoderFiles> {
        None
    }

    /// The same with weights of 8 bits; nothing if that is how they are, or if this kind knows no such weights.
    fn quantized(&self) -> Option<Arc<dyn ScorerModel>> {
        None
    }

    /// The number of features or parameters.
    fn n_features(&self) -> usize;

    /// Does it look at the tags of words?
    fn looks_at_tags(&self) -> bool {
        true
    }

    /// The number of feature templates, if it has any.
    fn n_templates(&self) -> usize {
        0
    }
}

/// What a scorer keeps for each open sentence. Closed slots are used again, memory and all.
#[derive(Clone, Debug)]
pub struct Slots<T> {
    items: Vec<T>,
    closed: Vec<SlotId>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Slots { items: Vec::new(), closed: Vec::new() }
    }
}

impl<T> Slots<T> {
    /// A slot that was closed, or a new one with what `make` gives.
    pub fn open(&mut self, make: impl FnOnce() -> T) -> (SlotId, &mut T) {
        let slot = self.closed.pop().unwrap_or_else(|| {
            self.items.push(make());
            SlotId(self.items.len() as u32 - 1)
        });
        (slot, &mut self.items[slot.0 as usize])
    }

    /// A slot for each sentence, with what `make` gives if it is new and `fill` makes of it for the sentence.
    pub fn open_all(
        &mut self,
        sentences: &[&Sentence],
        slots: &mut Vec<SlotId>,
        mut make: impl FnMut() -> T,
        mut fill: impl FnMut(&mut T, &Sentence),
    ) {
        for sentence in sentences {
            let (slot, item) = self.open(&mut make);
            fill(item, sentence);
            slots.push(slot);
        }
    }

    /// Closes a slot.
    pub fn close(&mut self, slot: SlotId) {
        self.closed.push(slot);
    }

    /// What an open slot holds.
    #[inline]
    pub fn get(&mut self, slot: SlotId) -> &mut T {
        &mut self.items[slot.0 as usize]
    }
}

/// Scores: one row per view, one column per action.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    values: Vec<f32>,
    n_actions: usize,
    /// From one row to the next: whole blocks.
    stride: usize,
}

/// Scores are looked through in blocks.
const BLOCK: usize = 8;

impl Rows {
    /// Makes `n_rows` rows of zeros.
    pub fn reset(&mut self, n_rows: usize, n_actions: usize) {
        self.values.clear();
        self.make(n_rows, n_actions);
    }

    /// Makes `n_rows` rows of anything, to be written over.
    #[inline]
    fn make(&mut self, n_rows: usize, n_actions: usize) {
        self.n_actions = n_actions;
        self.stride = n_actions.next_multiple_of(BLOCK);
        let n_values = n_rows * self.stride;
        if self.values.len() != n_values {
            self.values.resize(n_values, 0.0);
        }
    }

    /// Makes a row of zeros for each view of these queries.
    pub fn reset_for(&mut self, queries: &[Views<'_>], n_actions: usize) {
        self.values.clear();
        self.make_for(queries, n_actions);
    }

    /// Makes a row of anything for each view of these queries, to be written over.
    #[inline]
    pub(crate) fn make_for(&mut self, queries: &[Views<'_>], n_actions: usize) {
        self.make(queries.iter().map(|query| query.views.len()).sum(), n_actions);
    }

    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        self.values.len() / self.stride.max(1)
    }

    /// The number of actions.
    pub fn n_actions(&self) -> usize {
        self.n_actions
    }

    /// All rows, and how many numbers lie between the beginnings of two.
    pub(crate) fn values_mut(&mut self) -> (&mut [f32], usize) {
        (&mut self.values, self.stride)
    }

    /// One row.
    #[inline]
    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.stride..row * self.stride + self.n_actions]
    }

    /// One row, to be filled.
    #[inline]
    pub fn row_mut(&mut self, row: usize) -> &mut [f32] {
        &mut self.values[row * self.stride..row * self.stride + self.n_actions]
    }

    /// The legal action with the highest score in a row; ties go to the smaller id.
    #[inline]
    pub fn best(&self, row: usize, legal: &ActionSet) -> Option<ActionId> {
        let (mut best, mut highest) = (None, f32::NEG_INFINITY);
        for block in self.blocks(row, legal) {
            for (action, score) in block.higher(highest) {
                if score > highest {
                    (best, highest) = (Some(ActionId::new(action)), score);
                }
            }
        }
        best.or_else(|| legal.first())
    }

    /// The logarithm of the sum of the exponentials of the scores of legal actions.
    pub fn log_total(&self, row: usize, legal: &ActionSet) -> f64 {
        let row = self.row(row);
        let highest = legal.indices().map(|action| row[action]).fold(f32::NEG_INFINITY, f32::max);
        let total: f64 = legal.indices().map(|action| f64::from(row[action] - highest).exp()).sum();
        f64::from(highest) + total.ln()
    }

    /// The legal actions of a row in ascending order, in blocks.
    #[inline]
    pub fn blocks<'a>(&'a self, row: usize, legal: &'a ActionSet) -> impl Iterator<Item = Block<'a>> {
        let scores = self.values[row * self.stride..(row + 1) * self.stride].as_chunks::<BLOCK>().0;
        scores.iter().enumerate().map(|(i, scores)| Block { legal: legal.eight(i), start: i * BLOCK, scores })
    }
}

/// Some legal actions with their scores.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    legal: u8,
    start: usize,
    scores: &'a [f32; BLOCK],
}

impl Block<'_> {
    /// The legal actions whose scores are higher than `least`, with their scores.
    #[inline]
    pub fn higher(&self, least: f32) -> impl Iterator<Item = (usize, f32)> {
        let mut rest = self.legal & kernel::higher(self.scores, least);
        std::iter::from_fn(move || {
            let i = rest.trailing_zeros() as usize;
            let score = self.scores.get(i)?;
            rest &= rest - 1;
            Some((self.start + i, *score))
        })
    }
}

#[cfg(test)]
mod tests;
