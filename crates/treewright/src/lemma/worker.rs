//! Lemmas for the words of sentences: the lexicon first, then the classifiers.

use std::sync::Arc;

use super::edit::Casing;
use super::features::Word;
use super::lexicon::{Known, Script};
use super::{Lemmatiser, Tables};
use crate::sentence::{Sentence, Token};
use crate::tag::weights::Lookup;

/// Fills in lemmas, one sentence at a time; owns the memory this takes.
pub struct LemmatiserWorker {
    tables: Arc<Tables>,
    word: Word,
    keys: Vec<u32>,
    lookup: Lookup,
    scores: Vec<i16>,
    lemma: String,
}

impl LemmatiserWorker {
    pub(super) fn new(lemmatiser: &Lemmatiser) -> Self {
        LemmatiserWorker {
            tables: lemmatiser.0.clone(),
            word: Word::default(),
            keys: Vec::new(),
            lookup: Lookup::default(),
            scores: Vec::new(),
            lemma: String::new(),
        }
    }

    /// Gives every word a lemma, whatever it had.
    pub fn lemmatise(&mut self, sentence: &mut Sentence) {
        self.fill(sentence, |_| true);
    }

    /// Gives a lemma to words that have none.
    pub fn fill_missing(&mut self, sentence: &mut Sentence) {
        self.fill(sentence, |token| token.lemma.is_empty());
    }

    fn fill(&mut self, sentence: &mut Sentence, is_wanted: impl Fn(&Token) -> bool) {
        for (i, token) in sentence.tokens.iter_mut().enumerate() {
            if is_wanted(token) {
                self.word.set(token, i == 0);
                self.decide();
                token.lemma.clear();
                token.lemma.push_str(&self.lemma);
            }
        }
    }

    /// Makes the lemma of the current word.
    fn decide(&mut self) {
        let n_chars = self.word.chars.len();
        let tag = self.tables.tags.binary_search(&self.word.tag).ok();
        let script = match self.tables.lexicon.get(&self.word, tag.is_some()) {
            Known::Script(script) => script,
            Known::Edit(edit) => Script { edit, casing: self.casing() },
            Known::No => Script { edit: self.edit(tag), casing: self.casing() },
        };
        // Two words may, by chance, have one key.
        match self.tables.edits.get(script.edit as usize).filter(|edit| edit.fits(n_chars)) {
            Some(edit) => edit.apply(script.casing, &self.word.chars, &mut self.lemma),
            None => self.lemma.clear(),
        }
        // An empty lemma, or one that column formats take for empty, would be none.
        if self.lemma.is_empty() || self.lemma == "_" {
            self.lemma.clear();
            self.lemma.extend(self.word.chars.iter());
        }
        // The word `_` itself: a column with `_` stands for its lemma, and that is how a missing lemma is written.
        if self.lemma == "_" {
            self.lemma.clear();
        }
    }

    /// The best edit among those seen with the tag that fit the word; copying it if there is none.
    fn edit(&mut self, tag: Option<usize>) -> u32 {
        let Tables { edits, candidates, edit_weights, .. } = &*self.tables;
        let candidates = &candidates[tag.unwrap_or(candidates.len() - 1)];
        self.word.edit_keys(&mut self.keys);
        edit_weights.score(&self.keys, &mut self.lookup, &mut self.scores);
        let n_chars = self.word.chars.len();
        let mut best: Option<(i16, u16)> = None;
        for &edit in candidates {
            let score = self.scores[usize::from(edit)];
            if best.is_none_or(|best| score > best.0) && edits[usize::from(edit)].fits(n_chars) {
                best = Some((score, edit));
            }
        }
        best.map_or(u32::MAX, |best| u32::from(best.1))
    }

    fn casing(&mut self) -> Casing {
        if !self.word.has_case() {
            return Casing::Keep;
        }
        let weights = &self.tables.casing_weights;
        self.word.casing_keys(&mut self.keys);
        weights.score(&self.keys, &mut self.lookup, &mut self.scores);
        let score = |casing: Casing| self.scores[casing as usize];
        let better = |best, other| if score(other) > score(best) { other } else { best };
        Casing::ALL.into_iter().reduce(better).expect("there are casings")
    }
}
