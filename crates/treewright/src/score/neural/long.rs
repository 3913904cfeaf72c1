//! Sentences that are too long to keep all that a network computes for their words. They are read in windows that overlap, and
//! of each word only its vector in context is kept, in 8 bits. What a word adds to the hidden units is computed from it when
//! a configuration looks at the word.

use std::ops::Range;

use super::network::{Network, Weights};
use super::places::Seen;
use crate::score::Views;

/// Sentences with more words are read in windows.
pub(super) const MAX_WHOLE: usize = if cfg!(test) { 90 } else { 1 << 15 };
/// Words that a window is read for.
const STEP: usize = if cfg!(test) { 40 } else { 1 << 12 };
/// Words on either side of these, which are their context.
const MARGIN: usize = if cfg!(test) { 20 } else { 1 << 8 };

/// Words next to each other, for which the hidden units are computed together.
const BLOCK: usize = if cfg!(test) { 8 } else { 1 << 5 };
/// With more blocks, all are forgotten.
const MAX_BLOCKS: usize = if cfg!(test) { 4 } else { 1 << 8 };
/// A block that is not there.
const ABSENT: u32 = u32::MAX;

/// The windows of a sentence: the words that are read, and the place in these of those that they are read for.
pub(super) fn windows(n_words: usize) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
    (0..n_words).step_by(STEP).map(move |start| {
        let end = (start + STEP).min(n_words);
        let read = start.saturating_sub(MARGIN)..(end + MARGIN).min(n_words);
        let kept = start - read.start..end - read.start;
        (read, kept)
    })
}

/// A sentence that was read in windows.
#[derive(Debug)]
pub(super) struct LongSentence {
    /// Numbers of a word in context.
    width: usize,
    /// These numbers, in steps of the word's scale.
    vectors: Vec<i8>,
    scales: Vec<f32>,
    /// For each block its number among those of `rows`.
    blocks: Vec<u32>,
    /// The blocks that are there.
    loaded: Vec<usize>,
    /// The numbers that the words of these blocks add to the hidden units, for each place.
    rows: Vec<f32>,
    wanted: Vec<usize>,
    x: Vec<f32>,
    first: Vec<f32>,
}

impl LongSentence {
    /// Room for a sentence.
    pub(super) fn new(weights: Weights<'_>, n_words: usize) -> Self {
        let width = weights.context_size();
        LongSentence {
            width,
            vectors: Vec::with_capacity(n_words * width),
            scales: Vec::with_capacity(n_words),
            blocks: vec![ABSENT; n_words.div_ceil(BLOCK)],
            loaded: Vec::new(),
            rows: Vec::new(),
            wanted: Vec::new(),
            x: Vec::new(),
            first: Vec::new(),
        }
    }

    /// Adds the next words: these of the vectors of a window.
    pub(super) fn push(&mut self, vectors: &[f32], words: Range<usize>) {
        for vector in vectors[words.start * self.width..words.end * self.width].chunks_exact(self.width) {
            let largest = vector.iter().fold(1e-9f32, |largest, x| largest.max(x.abs()));
            self.scales.push(largest / 127.0);
            self.vectors.extend(vector.iter().map(|x| (x / largest * 127.0).round() as i8));
        }
    }

    /// Computes what configurations are about to look at.
    pub(super) fn load(&mut self, weights: Weights<'_>, query: &Views<'_>) {
        self.want(weights.network, query);
        if self.wanted.is_empty() {
            return;
        }
        if self.loaded.len() + self.wanted.len() > MAX_BLOCKS {
            self.loaded.drain(..).for_each(|block| self.blocks[block] = ABSENT);
            self.rows.clear();
            self.want(weights.network, query);
        }
        let size = BLOCK * weights.first_size();
        for block in std::mem::take(&mut self.wanted) {
            let words = block * BLOCK..((block + 1) * BLOCK).min(self.scales.len());
            let vectors = &self.vectors[words.start * self.width..words.end * self.width];
            let pairs = vectors.chunks_exact(self.width).zip(&self.scales[words]);
            self.x.clear();
            self.x
                .extend(pairs.flat_map(|(vector, scale)| vector.iter().map(move |x| f32::from(*x) * scale)));
            weights.first_of(&self.x, &mut self.first);
            self.blocks[block] = self.loaded.len() as u32;
            self.loaded.push(block);
            self.rows.extend_from_slice(&self.first);
            self.rows.resize(self.loaded.len() * size, 0.0);
        }
    }

    /// Finds the blocks that configurations look at and that are not there.
    fn want(&mut self, network: &Network, query: &Views<'_>) {
        let LongSentence { blocks, wanted, .. } = self;
        wanted.clear();
        for view in query.views {
            network.places.look(query.forest, view, |_, seen, _| {
                if let Seen::Word(word) = seen
                    && blocks[word / BLOCK] == ABSENT
                {
                    wanted.push(word / BLOCK);
                }
            });
        }
        wanted.sort_unstable();
        wanted.dedup();
    }

    /// The numbers that words that were loaded add to the hidden units.
    pub(super) fn rows(&self) -> &[f32] {
        &self.rows
    }

    /// The row of a word among these.
    pub(super) fn row(&self, word: usize) -> usize {
        self.blocks[word / BLOCK] as usize * BLOCK + word % BLOCK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_keep_each_word_once() {
        for n in [0, 1, STEP, STEP + 1, 5 * STEP - 1] {
            let mut words = Vec::new();
            for (read, kept) in windows(n) {
                words.extend(read.start + kept.start..read.start + kept.end);
                assert!(read.len() <= STEP + 2 * MARGIN);
                assert!(read.start == 0 || kept.start == MARGIN);
                assert!(read.end == n || read.len() - kept.end == MARGIN);
            }
            assert!(words.into_iter().eq(0..n), "{n}");
        }
    }
}
