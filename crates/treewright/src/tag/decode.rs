//! How the layers decide about one sentence; the same code runs in training and in use.

use super::features::{self, REACH};
use super::labels::Labels;
use super::lexicon::Lexicon;
use super::weights::{Lookup, Weights};
use super::words::Word;

/// The tag and the reading of what is outside the sentence.
const EDGE: u16 = u16::MAX;

// Stored weights depend on the next two constants, which count in their steps: changing one needs a new version of taggers.

/// The bonus of labels that the dictionary lists for a word; none in training.
const TRUST: i16 = 8;

/// A guess whose score is higher than all others by this much is kept.
const SURE: i32 = 384;

/// Two tags are close if their scores differ by no more than this (two units of log-odds).
const CLOSE: i32 = 160;

/// A word that nearly got another tag. The closest comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TagAlternative {
    /// The score gap between the tag and the second, in steps of weights: 80 are one unit of log-odds.
    pub margin: i32,
    /// The place of the word in the sequence.
    pub(super) at: usize,
    /// The second tag.
    pub(super) second: u16,
}

/// The layers of the tagger, in the order of their work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layer {
    /// First guesses of tags.
    Guesses,
    /// Tags: the guesses once more, with those on the right known.
    Tags,
    /// Readings, with the tags given.
    Readings,
}

pub(super) const N_LAYERS: usize = 3;

impl Layer {
    pub(super) const ALL: [Layer; N_LAYERS] = [Layer::Guesses, Layer::Tags, Layer::Readings];

    pub(super) fn n_labels(self, labels: &Labels) -> usize {
        match self {
            Layer::Guesses | Layer::Tags => labels.n_tags(),
            Layer::Readings => labels.n_readings(),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Layer::Guesses => "guesses",
            Layer::Tags => "tags",
            Layer::Readings => "readings",
        }
    }
}

/// The words of a sentence and what was decided about them, with edges around it.
#[derive(Clone, Debug, Default)]
pub(super) struct Sequence {
    pub words: Vec<Word>,
    /// What each layer decided.
    pub decided: [Vec<u16>; N_LAYERS],
    /// Which guesses are kept as tags.
    pub sure: Vec<bool>,
    /// How the sentence as a whole uses capitals.
    pub case: u32,
    /// The second tags that were close to the best.
    pub alternatives: Vec<TagAlternative>,
    /// The second tags that are to be taken.
    pub chosen: Vec<TagAlternative>,
    /// By place: the readings that agree with what is known of the word already; none if nothing is. Empty if nothing
    /// is known of any word.
    pub allowed: Vec<Vec<u16>>,
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
        self.case = case_of(&self.words[(REACH + 1).min(self.words.len() - REACH)..]);
        self.chosen.clear();
        self.allowed.clear();
        self.sure.clear();
        self.sure.resize(self.words.len(), false);
        for decided in &mut self.decided {
            decided.clear();
            decided.resize(self.words.len(), EDGE);
        }
    }

    /// The tag of a word: the best, or the second if that is chosen. Notes down second tags that are close.
    fn tag(&mut self, at: usize, best: u16, candidates: &[u16], scores: &[i16]) -> u16 {
        if let Some(chosen) = self.chosen.iter().find(|chosen| chosen.at == at) {
            return chosen.second;
        }
        let others = candidates.iter().copied().filter(|&label| label != best);
        let second = best_of(others, scores);
        let margin = i32::from(scores[usize::from(best)]) - i32::from(scores[usize::from(second)]);
        if margin <= CLOSE {
            self.alternatives.push(TagAlternative { margin, at, second });
        }
        best
    }

    /// The places of its words.
    pub(super) fn places(&self) -> std::ops::Range<usize> {
        REACH..self.words.len() - REACH
    }
}

/// What all layers need besides weights.
#[derive(Clone, Copy)]
pub(super) struct Resources<'a> {
    pub labels: &'a Labels,
    pub lexicon: &'a Lexicon,
    pub has_classes: bool,
    /// A word whose count has this many binary digits gets only tags it was seen with.
    pub trust_tags: u8,
    /// The same for readings.
    pub trust_readings: u8,
}

impl<'a> Resources<'a> {
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

    /// Writes the scores of a word on its own into `row`: those of its features, and the dictionary's bonus, which no feature
    /// could learn for a rare set of readings.
    pub(super) fn score_own(
        &self,
        layer: Layer,
        word: &Word,
        keys: &[u32],
        weights: &Weights,
        lookup: &mut Lookup,
        row: &mut [i16],
    ) {
        row.fill(0);
        weights.add_all(keys, lookup, row);
        if let Some(entry) = word.entry {
            let class = self.lexicon.classes.get(entry.class);
            let labels = match layer {
                Layer::Guesses | Layer::Tags => &class.tags,
                Layer::Readings => &class.readings,
            };
            for &label in labels {
                let score = &mut row[usize::from(label)];
                *score = score.saturating_add(TRUST);
            }
        }
    }

    /// Adds the keys of what a layer sees around a word.
    #[inline]
    pub(super) fn context(&self, layer: Layer, sequence: &Sequence, at: usize, out: &mut Vec<u32>) {
        let Sequence { words, decided: [guesses, tags, readings], case, .. } = sequence;
        let add = |key| out.push(key);
        match layer {
            Layer::Guesses => features::guess(words, guesses, *case, at, self.has_classes, add),
            Layer::Tags => features::tag(words, guesses, tags, at, self.has_classes, add),
            Layer::Readings => features::reading(words, tags, readings, at, add),
        }
    }

    /// The labels a layer may choose from for a word.
    #[inline]
    pub(super) fn candidates(&self, layer: Layer, word: &Word, tag: u16, out: &mut Vec<u16>) {
        match layer {
            Layer::Readings => self.readings_of(word, tag, out),
            Layer::Guesses | Layer::Tags => {
                out.clear();
                match self.tags_of(word) {
                    Some(tags) => out.extend_from_slice(tags),
                    None => out.extend(0..self.labels.n_tags() as u16),
                }
            }
        }
    }

    /// Leaves of the candidates those that agree with the allowed readings; if none does, what is known of the word
    /// counts more than the dictionary.
    fn restrict(&self, layer: Layer, allowed: &[u16], tag: u16, candidates: &mut Vec<u16>) {
        let of_reading = |&reading: &u16| match layer {
            Layer::Readings => (self.labels.tag_of(reading) == tag).then_some(reading),
            Layer::Guesses | Layer::Tags => Some(self.labels.tag_of(reading)),
        };
        let mut labels: Vec<u16> = allowed.iter().filter_map(of_reading).collect();
        labels.sort_unstable();
        labels.dedup();
        if candidates.iter().any(|label| labels.contains(label)) {
            candidates.retain(|label| labels.contains(label));
        } else if !labels.is_empty() {
            *candidates = labels;
        }
    }

    /// Decides a layer for the words of a sequence from left to right; the layers before have decided. `own` gives the
    /// scores of a word on its own.
    pub(super) fn decide(
        &self,
        layer: Layer,
        sequence: &mut Sequence,
        weights: &Weights,
        scratch: &mut Scratch,
        mut own: impl FnMut(usize, &mut Lookup, &mut Vec<i16>),
    ) {
        let Scratch { scores, candidates, keys, lookup } = scratch;
        if layer == Layer::Tags {
            sequence.alternatives.clear();
        }
        for at in sequence.places() {
            if layer == Layer::Tags && sequence.sure[at] {
                sequence.decided[layer as usize][at] = sequence.decided[Layer::Guesses as usize][at];
                continue;
            }
            let tag = sequence.decided[Layer::Tags as usize][at];
            self.candidates(layer, &sequence.words[at], tag, candidates);
            if let Some(allowed) = sequence.allowed.get(at).filter(|allowed| !allowed.is_empty()) {
                self.restrict(layer, allowed, tag, candidates);
            }
            let chosen = if let [only] = candidates[..] {
                only
            } else {
                own(at, lookup, scores);
                keys.clear();
                self.context(layer, sequence, at, keys);
                weights.add_all(keys, lookup, scores);
                let best = best_of(candidates.iter().copied(), scores);
                if layer == Layer::Tags { sequence.tag(at, best, candidates, scores) } else { best }
            };
            if layer == Layer::Guesses {
                sequence.sure[at] = candidates.len() == 1 || is_sure(chosen, candidates, scores, SURE);
            }
            sequence.decided[layer as usize][at] = chosen;
        }
    }
}

/// Memory for the decisions of a layer.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    scores: Vec<i16>,
    candidates: Vec<u16>,
    keys: Vec<u32>,
    lookup: Lookup,
}

/// Is a guess's score so much higher than all others that it need not be looked at again?
fn is_sure(chosen: u16, candidates: &[u16], scores: &[i16], lead: i32) -> bool {
    let least = i32::from(scores[usize::from(chosen)]) - lead;
    candidates.iter().all(|&label| label == chosen || i32::from(scores[usize::from(label)]) <= least)
}

/// How words use capitals: all, most or none of them, or here and there.
fn case_of(words: &[Word]) -> u32 {
    let count = |kinds: &[u8]| words.iter().filter(|word| kinds.contains(&word.capital)).count();
    let (lower, title, upper) = (count(&[0]), count(&[3, 5]), count(&[2, 4]));
    match () {
        () if lower + title + upper == 0 => 0,
        () if upper > lower + title => 1,
        () if lower == 0 => 2,
        () if title > lower => 3,
        () if title + upper == 0 => 4,
        () => 5,
    }
}

/// The candidate with the highest score; ties go to the first.
#[inline]
fn best_of(candidates: impl Iterator<Item = u16>, scores: &[i16]) -> u16 {
    let mut best = (i32::MIN, 0);
    for label in candidates {
        if i32::from(scores[usize::from(label)]) > best.0 {
            best = (i32::from(scores[usize::from(label)]), label);
        }
    }
    best.1
}
