//! Lemmas: from a word and its tags to its dictionary form.
//!
//! Training turns each form and its lemma into an edit script (`edit.rs`). What became of the words of the training data
//! is kept in a lexicon; for all others two linear classifiers choose the edit and the capitals by the word's beginning,
//! end and shape and by its tags.
//!
//! ```
//! use treewright::lemma::{LemmaConfig, Lemmatiser};
//! use treewright::{Sentence, Token};
//!
//! let word = |form: &str, lemma: &str| Token { lemma: lemma.into(), ..Token::new(form, "NOUN") };
//! let tokens = vec![word("cats", "cat"), word("dogs", "dog"), word("cities", "city"), word("ponies", "pony")];
//! let train = vec![Sentence { tokens, ..Sentence::default() }];
//! let lemmatiser = Lemmatiser::train(&train, &[], &LemmaConfig::default(), &mut |_| ())?;
//! let mut sentence = Sentence::from_tagged([("birds", "NOUN"), ("ladies", "NOUN")]);
//! lemmatiser.worker().lemmatise(&mut sentence);
//! assert_eq!(sentence.tokens[0].lemma, "bird");
//! assert_eq!(sentence.tokens[1].lemma, "lady");
//! # Ok::<(), treewright::Error>(())
//! ```

mod edit;
mod features;
mod lexicon;
mod train;
mod worker;

pub use worker::LemmatiserWorker;

use std::sync::Arc;

use crate::error::Result;
use crate::tag::bytes::{self, Writer, damaged};
use crate::tag::weights::Weights;
use edit::{Casing, Edit};
use lexicon::Lexicon;

/// How to train a lemmatiser.
#[derive(Clone, Debug)]
pub struct LemmaConfig {
    /// The number of passes over the distinct words of the training data.
    pub epochs: usize,
    /// The seed of the order of words.
    pub seed: u64,
    /// The classifier learns edits that at least this many distinct words need; others are in the lexicon only.
    pub min_words: u64,
    /// The share of features left out at random in training, so that none is relied on alone.
    pub dropout: f64,
    /// After this many epochs, small weights are dropped; the remaining epochs train the others.
    pub open_epochs: usize,
    /// Features none of whose weights is as large as this (in units of log-odds) are dropped then.
    pub min_feature: f64,
    /// And of the other features, weights smaller than this.
    pub min_weight: f64,
}

impl Default for LemmaConfig {
    fn default() -> Self {
        LemmaConfig {
            epochs: 10,
            seed: 1,
            min_words: 2,
            dropout: 0.3,
            open_epochs: 6,
            min_feature: 0.1,
            min_weight: 0.02,
        }
    }
}

/// What training reports.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// An epoch of a classifier is over.
    Epoch {
        /// `edits` or `casing`.
        part: &'static str,
        /// Its number, from 1.
        epoch: usize,
        /// Wrong decisions while learning.
        errors: u64,
        /// Decisions in all.
        of: u64,
    },
    /// Training is over, and there is development data with lemmas.
    Done {
        /// The share of its words that get the right lemma, in percent, with the tags they have.
        dev: f64,
    },
}

/// Hears what training reports.
pub type Log<'a> = &'a mut dyn FnMut(&Progress);

/// The classifier knows at most this many edits: the most frequent ones.
const MAX_LEARNT: usize = 1 << 12;

/// A trained lemmatiser. It never changes, and threads can share it; each has a [`LemmatiserWorker`] of its own. Cloning one
/// shares its tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lemmatiser(Arc<Tables>);

#[derive(Debug, PartialEq, Eq)]
struct Tables {
    /// Which of UPOS, XPOS and FEATS the training data had.
    columns: [bool; 3],
    /// The keys of the main tags, rising.
    tags: Vec<u32>,
    /// The most frequent ones first.
    edits: Vec<Edit>,
    /// For each tag, and last for unknown ones: the edits that the classifier chooses from.
    candidates: Vec<Vec<u16>>,
    lexicon: Lexicon,
    edit_weights: Weights,
    casing_weights: Weights,
}

/// The first bytes of a lemmatiser: name and version.
const MAGIC: &[u8; 8] = b"TWLEMMA\x02";

impl Lemmatiser {
    /// A worker for one thread.
    pub fn worker(&self) -> LemmatiserWorker {
        LemmatiserWorker::new(self)
    }

    /// Which columns it looks at: UPOS (or the one tag), XPOS, FEATS.
    pub fn columns(&self) -> [bool; 3] {
        self.0.columns
    }

    /// Was this main tag in the training data?
    pub fn knows_tag(&self, tag: &str) -> bool {
        self.0.tags.binary_search(&features::tag_key(tag)).is_ok()
    }

    /// A line for people about what is in it.
    pub fn summary(&self) -> String {
        format!(
            "{} edits, {} of them learnt, {} entries in the lexicon, {} features, {} weights",
            self.0.edits.len(),
            self.n_learnt(),
            self.0.lexicon.len(),
            self.0.edit_weights.n_features() + self.0.casing_weights.n_features(),
            self.0.edit_weights.n_weights() + self.0.casing_weights.n_weights(),
        )
    }

    fn n_learnt(&self) -> usize {
        self.0.candidates.last().map_or(0, Vec::len)
    }

    /// A smaller lemmatiser that is nearly as good: without small weights, and with the others rounded.
    pub(crate) fn compact(&self) -> Self {
        let Tables { columns, tags, edits, candidates, lexicon, edit_weights, casing_weights } = &*self.0;
        Lemmatiser(Arc::new(Tables {
            columns: *columns,
            tags: tags.clone(),
            edits: edits.clone(),
            candidates: candidates.clone(),
            lexicon: lexicon.clone(),
            edit_weights: edit_weights.compact(),
            casing_weights: casing_weights.compact(),
        }))
    }

    /// The lemmatiser as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        Writer::part(MAGIC, |out| {
            self.0.columns.iter().for_each(|&column| out.number(u64::from(column)));
            out.number(self.0.edits.len() as u64);
            self.0.edits.iter().for_each(|edit| edit.to_bytes(out));
            out.number(self.n_learnt() as u64);
            out.rising(self.0.tags.iter().copied());
            for of_tag in &self.0.candidates[..self.0.tags.len()] {
                out.rising(of_tag.iter().map(|&edit| u32::from(edit)));
            }
            self.0.lexicon.to_bytes(out);
            self.0.edit_weights.to_bytes(out);
            self.0.casing_weights.to_bytes(out);
        })
    }

    /// The lemmatiser that [`Lemmatiser::to_bytes`] wrote.
    ///
    /// # Errors
    /// When the bytes are damaged, cut short, of another version, or no lemmatiser at all.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let tables = bytes::read_part(bytes, MAGIC, "lemmatiser", |input| {
            let mut columns = [false; 3];
            for column in &mut columns {
                *column = input.below(2, "a column")? == 1;
            }
            let n_edits = input.count()?;
            let edits = (0..n_edits).map(|_| Edit::from_bytes(input)).collect::<Result<Vec<_>>>()?;
            let n_learnt = input.below(MAX_LEARNT.min(n_edits) + 1, "the number of edits")?;
            if n_learnt == 0 {
                return Err(damaged("it has no edits"));
            }
            let tags = input.rising()?;
            let mut candidates = Vec::with_capacity(tags.len() + 1);
            for _ in &tags {
                let of_tag = input.rising()?;
                if of_tag.last().is_some_and(|&edit| edit as usize >= n_learnt) {
                    return Err(damaged("a tag has an unknown edit"));
                }
                candidates.push(of_tag.into_iter().map(|edit| edit as u16).collect());
            }
            candidates.push((0..n_learnt as u16).collect());
            let lexicon = Lexicon::from_bytes(input, n_edits)?;
            let edit_weights = Weights::from_bytes(input, n_learnt)?;
            let casing_weights = Weights::from_bytes(input, Casing::ALL.len())?;
            Ok(Tables { columns, tags, edits, candidates, lexicon, edit_weights, casing_weights })
        })?;
        Ok(Lemmatiser(Arc::new(tables)))
    }
}

#[cfg(test)]
mod tests;
