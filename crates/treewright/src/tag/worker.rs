//! Tagging sentences with a trained tagger: scratch memory, and a cache of recent words.

use std::sync::Arc;

use super::decode::{Layer, N_LAYERS, Resources, Scratch, Sequence, TagAlternative};
use super::labels::N_COLUMNS;
use super::weights::Lookup;
use super::words::{Word, WordReader};
use super::{Tables, Tagger};
use crate::hash;
use crate::sentence::{Sentence, Str};

/// A cache of rows takes at most this many bytes (at least 64 words fit, whatever that takes).
const CACHE_BYTES: usize = 4 << 20;
/// And at most this many words.
const MAX_WORDS: usize = 1 << 13;

/// Rows of scores of words on their own, by the place of the word in the cache.
struct OwnRows {
    n_scores: usize,
    rows: Vec<i16>,
    /// Is the row there, for the word that has the place now?
    filled: Vec<bool>,
}

/// A word in the cache.
#[derive(Clone, Default)]
struct Known {
    form: Str,
    word: Word,
    taken: bool,
}

/// Tags sentences, one at a time. What it keeps between sentences changes its speed, never its results.
pub struct TaggerWorker {
    tables: Arc<Tables>,
    cache: Cache,
    sequence: Sequence,
    scratch: Scratch,
}

/// Words seen lately: each has one possible place, given by its hash, and puts out the word that was there.
struct Cache {
    tables: Arc<Tables>,
    known: Vec<Known>,
    own: [OwnRows; N_LAYERS],
    word_reader: WordReader,
    keys: Vec<u32>,
}

impl Cache {
    /// The place of a form, which holds it from now on.
    #[inline]
    fn place(&mut self, form: &Str) -> usize {
        let place = (hash::of_bytes(0, form.as_bytes()) >> 20) as usize & (self.known.len() - 1);
        if !self.known[place].taken || self.known[place].form != *form {
            let word = self.analyse(form);
            self.known[place] = Known { form: form.clone(), word, taken: true };
            self.own.iter_mut().for_each(|own| own.filled[place] = false);
        }
        place
    }

    fn analyse(&mut self, form: &Str) -> Word {
        let Tables { lexicon, classes, .. } = &*self.tables;
        let keys = self.word_reader.keys(form);
        let entries = [keys.form, keys.folded].map(|key| lexicon.get(key));
        self.keys.clear();
        self.word_reader.word(form, keys, entries, lexicon, classes, &mut self.keys)
    }

    /// The scores that a form has on its own, in one of the layers.
    fn own(
        &mut self,
        resources: &Resources<'_>,
        layer: Layer,
        form: &Str,
        lookup: &mut Lookup,
        scores: &mut Vec<i16>,
    ) {
        let place = self.place(form);
        let is_filled = self.own[layer as usize].filled[place];
        if !is_filled {
            // The features were not kept when the word came in: most words never need this.
            self.analyse(form);
        }
        let own = &mut self.own[layer as usize];
        let row = &mut own.rows[place * own.n_scores..][..own.n_scores];
        if !is_filled {
            resources.score_own(
                layer,
                &self.known[place].word,
                &self.keys,
                &self.tables.layers[layer as usize],
                lookup,
                row,
            );
            own.filled[place] = true;
        }
        scores.clear();
        scores.extend_from_slice(row);
    }
}

impl TaggerWorker {
    pub(super) fn new(tagger: &Tagger) -> Self {
        Self::with_cache(tagger, CACHE_BYTES)
    }

    /// A worker whose cache takes about this many bytes.
    pub(super) fn with_cache(tagger: &Tagger, bytes: usize) -> Self {
        let Tables { labels, layers, .. } = &*tagger.0;
        let widths = Layer::ALL.map(|layer| match layer {
            Layer::Readings if !labels.has_choice_of_readings() => 0,
            _ => layers[layer as usize].n_scores(),
        });
        let n_words = (bytes / (2 * widths.iter().sum::<usize>())).clamp(64, MAX_WORDS).next_power_of_two();
        let own = |n_scores: usize| OwnRows {
            n_scores,
            rows: vec![0; n_words * n_scores],
            filled: vec![false; n_words],
        };
        TaggerWorker {
            tables: tagger.0.clone(),
            cache: Cache {
                tables: tagger.0.clone(),
                known: vec![Known::default(); n_words],
                own: widths.map(own),
                word_reader: WordReader::default(),
                keys: Vec::new(),
            },
            sequence: Sequence::default(),
            scratch: Scratch::default(),
        }
    }

    /// Fills the columns that the tagger knows, whatever they held; leaves everything else as it is.
    pub fn tag(&mut self, sentence: &mut Sentence) {
        self.start(sentence);
        self.decide(&Layer::ALL, sentence);
    }

    /// The same where XPOS is known already: what is filled in agrees with it. Words without XPOS, or with one that the
    /// tagger does not know, are tagged as any other.
    pub fn tag_around_xpos(&mut self, sentence: &mut Sentence) {
        self.start(sentence);
        let TaggerWorker { tables, sequence, .. } = self;
        sequence.allowed.resize(sequence.words.len(), Vec::new());
        for (at, token) in sequence.places().zip(&sentence.tokens) {
            sequence.allowed[at] = tables.labels.with_xpos(&token.xpos);
        }
        self.decide(&Layer::ALL, sentence);
    }

    /// Looks at the words of a sentence.
    fn start(&mut self, sentence: &Sentence) {
        self.sequence.start();
        for token in &sentence.tokens {
            let place = self.cache.place(&token.form);
            self.sequence.words.push(self.cache.known[place].word);
        }
        self.sequence.finish();
    }

    /// The second tags that were close to the best in the sentence last tagged, the closest first.
    pub fn alternatives(&self) -> Vec<TagAlternative> {
        let mut alternatives = self.sequence.alternatives.clone();
        alternatives.sort_unstable();
        alternatives
    }

    /// Tags the sentence last tagged once more, with the second tag at these places.
    pub fn tag_with(&mut self, sentence: &mut Sentence, chosen: &[TagAlternative]) {
        self.sequence.chosen.clear();
        self.sequence.chosen.extend_from_slice(chosen);
        // First guesses do not look at tags.
        self.decide(&[Layer::Tags, Layer::Readings], sentence);
    }

    /// Lets layers decide about the words of a sentence, and writes what the last of them says.
    fn decide(&mut self, of_layers: &[Layer], sentence: &mut Sentence) {
        let TaggerWorker { tables, cache, sequence, scratch } = self;
        let Tables { labels, lexicon, layers, classes, trust_tags, trust_readings } = &**tables;
        let resources = Resources {
            labels,
            lexicon,
            has_classes: !classes.is_empty(),
            trust_tags: *trust_tags,
            trust_readings: *trust_readings,
        };
        let (tokens, start) = (&sentence.tokens, sequence.places().start);
        for &layer in of_layers {
            resources.decide(layer, sequence, &layers[layer as usize], scratch, |at, lookup, scores| {
                cache.own(&resources, layer, &tokens[at - start].form, lookup, scores);
            });
        }
        let readings = &sequence.decided[Layer::Readings as usize];
        for (at, token) in sequence.places().zip(&mut sentence.tokens) {
            labels.write(readings[at], token);
        }
    }
}

const _: () = assert!(N_COLUMNS == 3, "Tagger::columns names them");
