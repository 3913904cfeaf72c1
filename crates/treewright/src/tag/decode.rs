//! The two layers at work on one sentence, the same in training and in use.

use super::features::{self, REACH};
use super::labels::Labels;
use super::lexicon::Lexicon;
use super::weights::Rows;
use super::words::Word;

/// The tag and the reading of what is outside the sentence.
const EDGE: u16 = u16::MAX;

/// What the dictionary's word counts, in updates of the perceptron.
const TRUST: i32 = 1;

/// Which layer of the tagger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layer {
    /// The first: tags.
    Tags,
    /// The second: readings with the tag given.
    Readings,
}

impl Layer {
    pub(super) fn n_labels(self, labels: &Labels) -> usize {
        match self {
            Layer::Tags => labels.n_tags(),
            Layer::Readings => labels.n_readings(),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Layer::Tags => "tags",
            Layer::Readings => "readings",
        }
    }
}

/// The words of a sentence and what was decided about them, with edges around it.
#[derive(Clone, Debug, Default)]
pub(super) struct Sequence {
    pub(super) words: Vec<Word>,
    pub(super) tags: Vec<u16>,
    pub(super) readings: Vec<u16>,
}

impl Sequence {
    /// Empties it.
    pub(super) fn start(&mut self) {
        self.words.clear();
        self.words.extend([Word::EDGE; REACH]);
    }

    /// Ends it, with nothing decided.
    pub(super) fn finish(&mut self) {
        self.words.extend([Word::EDGE; REACH]);
        for decided in [&mut self.tags, &mut self.readings] {
            decided.clear();
            decided.resize(self.words.len(), EDGE);
        }
    }

    /// The places of its words.
    pub(super) fn places(&self) -> std::ops::Range<usize> {
        REACH..self.words.len() - REACH
    }
}

/// What both layers need to know beside weights.
#[derive(Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) labels: &'a Labels,
    pub(super) lexicon: &'a Lexicon,
    pub(super) has_classes: bool,
    /// A word whose count has so many binary digits gets only tags it was seen with.
    pub(super) trust_tags: u8,
    /// The same for readings.
    pub(super) trust_readings: u8,
}

impl<'a> Setting<'a> {
    /// The tags a word may get, if the dictionary tells; else any.
    #[inline]
    pub(super) fn tags_of(&self, word: &Word) -> Option<&'a [u16]> {
        let entry = word.entry.filter(|entry| word.exact && entry.seen >= self.trust_tags)?;
        Some(&self.lexicon.classes.get(entry.class).tags)
    }

    /// The readings a word with this tag may get, rising. Never none.
    #[inline]
    pub(super) fn readings_of(&self, word: &Word, tag: u16, out: &mut Vec<u16>) {
        out.clear();
        if let Some(entry) = word.entry.filter(|entry| entry.seen >= self.trust_readings) {
            let all = &self.lexicon.classes.get(entry.class).readings;
            out.extend(all.iter().filter(|&&reading| self.labels.tag_of(reading) == tag));
        }
        if out.is_empty() {
            out.extend_from_slice(self.labels.readings_of(tag));
        }
    }

    /// Puts what a word says on its own into `row`: its features, and that the dictionary is to be believed as long as
    /// nothing speaks against it, which no feature can learn for a set of readings that is rare.
    pub(super) fn score_own<R: Rows>(
        &self,
        layer: Layer,
        word: &Word,
        keys: &[u32],
        rows: &R,
        row: &mut [i32],
    ) {
        row.fill(0);
        keys.iter().for_each(|&key| rows.add(key, row));
        if let Some(entry) = word.entry {
            let class = self.lexicon.classes.get(entry.class);
            let labels = match layer {
                Layer::Tags => &class.tags,
                Layer::Readings => &class.readings,
            };
            labels.iter().for_each(|&label| row[usize::from(label)] += TRUST * R::UNIT);
        }
    }

    /// Adds what the context of a word says about its tag. `visit` sees the keys of all features.
    #[inline]
    pub(super) fn score_tag(&self, sequence: &Sequence, at: usize, mut visit: impl FnMut(u32)) {
        let [t1, t2] = [1, 2].map(|back| u32::from(sequence.tags[at - back]));
        features::context(&sequence.words, at, self.has_classes, &mut visit);
        features::history(&sequence.words, at, t1, t2, visit);
    }

    /// Adds what the context of a word says about its reading.
    #[inline]
    pub(super) fn score_reading(&self, sequence: &Sequence, at: usize, visit: impl FnMut(u32)) {
        let [r1, r2] = [1, 2].map(|back| u32::from(sequence.readings[at - back]));
        features::second(&sequence.words, &sequence.tags, at, r1, r2, visit);
    }

    /// Tags a sequence from left to right. `own` gives the scores of a word on its own.
    pub(super) fn tag<R: Rows>(
        &self,
        sequence: &mut Sequence,
        rows: &R,
        scores: &mut Vec<i32>,
        mut own: impl FnMut(usize, &mut Vec<i32>),
    ) {
        for at in sequence.places() {
            let candidates = self.tags_of(&sequence.words[at]);
            if let Some(&[only]) = candidates {
                sequence.tags[at] = only;
                continue;
            }
            own(at, scores);
            self.score_tag(sequence, at, |key| rows.add(key, scores));
            sequence.tags[at] = best_of(candidates, scores);
        }
    }

    /// Chooses the readings of a tagged sequence from left to right.
    pub(super) fn read<R: Rows>(
        &self,
        sequence: &mut Sequence,
        rows: &R,
        scores: &mut Vec<i32>,
        candidates: &mut Vec<u16>,
        mut own: impl FnMut(usize, &mut Vec<i32>),
    ) {
        for at in sequence.places() {
            self.readings_of(&sequence.words[at], sequence.tags[at], candidates);
            if let [only] = candidates[..] {
                sequence.readings[at] = only;
                continue;
            }
            own(at, scores);
            self.score_reading(sequence, at, |key| rows.add(key, scores));
            sequence.readings[at] = best_of(Some(candidates), scores);
        }
    }
}

/// The candidate with the highest score; of equals the first.
#[inline]
pub(super) fn best_of(candidates: Option<&[u16]>, scores: &[i32]) -> u16 {
    let mut best = (i32::MIN, 0);
    match candidates {
        Some(candidates) => {
            for &label in candidates {
                if scores[usize::from(label)] > best.0 {
                    best = (scores[usize::from(label)], label);
                }
            }
        }
        None => {
            for (label, &score) in scores.iter().enumerate() {
                if score > best.0 {
                    best = (score, label as u16);
                }
            }
        }
    }
    best.1
}
