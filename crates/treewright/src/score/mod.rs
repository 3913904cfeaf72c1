//! Scorers turn views into rows of numbers, one number per action; learners change them.

mod frozen;
mod perceptron;

pub use frozen::{Frozen, FrozenWeights};
pub use perceptron::Perceptron;

use crate::forest::{Forest, View};
use crate::ids::ActionId;
use crate::sentence::Sentence;
use crate::system::ActionSet;
use crate::weights::kernel;

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
    #[inline]
    pub fn reset(&mut self, n_rows: usize, n_actions: usize) {
        self.n_actions = n_actions;
        self.stride = n_actions.next_multiple_of(BLOCK);
        self.values.clear();
        self.values.resize(n_rows * self.stride, 0.0);
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

/// The highest of scored actions that come in ascending order; the first of equals.
#[inline]
fn best_of(scored: impl Iterator<Item = (f32, ActionId)>) -> Option<(f32, ActionId)> {
    scored.fold(None, |best: Option<(f32, ActionId)>, next| match best {
        Some(best) if best.0 >= next.0 => Some(best),
        _ => Some(next),
    })
}

/// One row of scores per view; the batch is the only call, one state is a batch of one.
pub trait Scorer {
    /// Called before the views of a sentence, which are all of one forest.
    fn start_sentence(&mut self, sentence: &Sentence);

    /// Fills one row per view.
    fn score(&mut self, forest: &Forest, views: &[View], rows: &mut Rows);
}

/// A scorer that learns.
pub trait Learner: Scorer {
    /// Local: `row` holds the scores of `view`. Raises the best of `good` against the best of the other legal
    /// actions if these are not already below it. Returns the loss.
    fn learn_step(
        &mut self,
        forest: &Forest,
        view: &View,
        row: &[f32],
        legal: &ActionSet,
        good: &ActionSet,
    ) -> f32;

    /// Global: adds `by` to the features of one action (structured update).
    fn nudge(&mut self, forest: &Forest, view: &View, action: ActionId, by: f32);

    /// One training example is over (for averaging).
    fn end_batch(&mut self);
}

#[cfg(test)]
mod tests;
