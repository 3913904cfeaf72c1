//! Tagging: from bare words to UPOS, XPOS and FEATS, or to the one tag of a constituent treebank.
//!
//! Which columns there are is learnt from the training data. Three layers of linear classifiers go over a sentence
//! from left to right: the first guesses a tag for each word; the second chooses the tags and sees the guesses on the right;
//! the third chooses one of the readings with that tag (see `labels.rs`). A dictionary limits the tags of frequent words.
//! Features of unknown words are their prefixes, suffixes and shape, their neighbours, and classes made from word
//! vectors if there are any.
//!
//! ```
//! use treewright::tag::{TagConfig, Tagger};
//! use treewright::Sentence;
//!
//! let train = vec![Sentence::from_tagged([("she", "PRON"), ("sleeps", "VERB")]); 4];
//! let tagger = Tagger::train(&train, &[], &TagConfig::default(), &mut |_| ())?;
//! let mut sentence = Sentence::from_tagged([("she", ""), ("sleeps", "")]);
//! tagger.worker().tag(&mut sentence);
//! assert_eq!(sentence.tokens[1].tag, "VERB");
//! # Ok::<(), treewright::Error>(())
//! ```

pub(crate) mod bytes;
mod decode;
mod features;
mod jackknife;
mod labels;
mod lexicon;
pub(crate) mod train;
pub(crate) mod weights;
mod words;
mod worker;

use std::sync::Arc;

pub use decode::TagAlternative;
pub use jackknife::jackknife;
pub use worker::TaggerWorker;

use crate::error::Result;
use crate::word_classes::{Cluster, WordClasses, WordVectors};
use bytes::{Reader, Writer, damaged};
use decode::{Layer, N_LAYERS};
use labels::Labels;
use lexicon::Lexicon;
use weights::Weights;

/// How to train a tagger.
#[derive(Clone, Debug)]
pub struct TagConfig {
    /// The number of passes over the training data.
    pub epochs: usize,
    /// The seed of the order of sentences.
    pub seed: u64,
    /// Vectors of words, from which classes are learnt; perhaps of no words.
    pub vectors: Arc<WordVectors>,
    /// A word whose count has at least this many binary digits (4: eight or more) gets only tags it was seen with.
    pub trust_tags: u8,
    /// The same for the readings (XPOS, FEATS) within a tag.
    pub trust_readings: u8,
    /// The share of features left out at random in training, so that none is relied on alone.
    pub dropout: f64,
    /// After this many epochs, small weights are dropped; the remaining epochs train the others.
    pub open_epochs: usize,
    /// Features none of whose weights is as large as this (in units of log-odds; for readings twice that) are dropped then.
    pub min_feature: f64,
    /// And of the other features, weights smaller than this.
    pub min_weight: f64,
}

impl Default for TagConfig {
    fn default() -> Self {
        TagConfig {
            epochs: 10,
            seed: 1,
            vectors: Arc::default(),
            trust_tags: 5,
            trust_readings: 3,
            dropout: 0.3,
            open_epochs: 6,
            min_feature: 0.2,
            min_weight: 0.05,
        }
    }
}

/// What training reports.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// An epoch of a layer is over.
    Epoch {
        /// `guesses`, `tags` or `readings`.
        layer: &'static str,
        /// Its number, from 1.
        epoch: usize,
        /// Wrong decisions on the training data while learning.
        errors: u64,
        /// Decisions in all; words for which the dictionary leaves no choice are not among them.
        of: u64,
        /// The averaged model on the development data, in percent: right tags, or right readings of the right tags.
        dev: Option<f64>,
    },
    /// A fold of a jack-knife is tagged.
    Fold {
        /// How many are done.
        done: usize,
        /// How many there are.
        folds: usize,
    },
}

/// Hears what training reports.
pub type Log<'a> = &'a mut dyn FnMut(&Progress);

/// A trained tagger. It never changes, and threads can share it; each has a [`TaggerWorker`] of its own. Cloning one shares
/// its tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tagger(Arc<Tables>);

#[derive(Debug, PartialEq, Eq)]
struct Tables {
    labels: Labels,
    lexicon: Lexicon,
    classes: WordClasses,
    layers: [Weights; N_LAYERS],
    trust_tags: u8,
    trust_readings: u8,
}

/// The first bytes of a tagger: name and version.
const MAGIC: &[u8; 8] = b"TWTAG\0\0\x02";

impl Tagger {
    /// A worker for one thread.
    pub fn worker(&self) -> TaggerWorker {
        TaggerWorker::new(self)
    }

    /// A tagger of half the size that is nearly as good: without small weights, and with the others rounded.
    pub(crate) fn compact(&self) -> Self {
        let Tables { labels, lexicon, classes, layers, trust_tags, trust_readings } = &*self.0;
        Tagger(Arc::new(Tables {
            labels: labels.clone(),
            lexicon: lexicon.clone(),
            classes: classes.clone(),
            layers: layers.each_ref().map(Weights::compact),
            trust_tags: *trust_tags,
            trust_readings: *trust_readings,
        }))
    }

    /// Which columns it fills: UPOS (or the one tag), XPOS, FEATS.
    pub fn columns(&self) -> [bool; 3] {
        self.0.labels.columns
    }

    /// The main tags it gives (UPOS, or the one tag).
    pub fn tags(&self) -> impl Iterator<Item = &str> {
        self.0.labels.main_tags()
    }

    /// A line for people about what is in it.
    pub fn summary(&self) -> String {
        let list = |count: fn(&Weights) -> usize| {
            self.0.layers.each_ref().map(|rows| count(rows).to_string()).join(" + ")
        };
        format!(
            "{} tags, {} readings, {} features, {} weights, {} words with classes",
            self.0.labels.n_tags(),
            self.0.labels.n_readings(),
            list(Weights::n_features),
            list(Weights::n_weights),
            self.0.classes.len()
        )
    }

    /// The tagger as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        Writer::part(MAGIC, |out| {
            out.number(u64::from(self.0.trust_tags));
            out.number(u64::from(self.0.trust_readings));
            self.0.labels.to_bytes(out);
            self.0.lexicon.to_bytes(out);
            write_classes(&self.0.classes, out);
            self.0.layers.iter().for_each(|rows| rows.to_bytes(out));
        })
    }

    /// The tagger that [`Tagger::to_bytes`] wrote.
    ///
    /// # Errors
    /// When the bytes are damaged, cut short, of another version, or no tagger at all.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let tables = bytes::read_part(bytes, MAGIC, "tagger", |input| {
            let trust_tags = input.below(256, "a threshold")? as u8;
            let trust_readings = input.below(256, "a threshold")? as u8;
            let labels = Labels::from_bytes(input)?;
            if labels.n_readings() == 0 {
                return Err(damaged("it has no tags"));
            }
            let lexicon = Lexicon::from_bytes(input, &labels)?;
            let classes = read_classes(input)?;
            let mut layer = |layer: Layer| Weights::from_bytes(input, layer.n_labels(&labels));
            let layers = [layer(Layer::Guesses)?, layer(Layer::Tags)?, layer(Layer::Readings)?];
            Ok(Tables { labels, lexicon, classes, layers, trust_tags, trust_readings })
        })?;
        Ok(Tagger(Arc::new(tables)))
    }
}

fn write_classes(classes: &WordClasses, out: &mut Writer) {
    let clusters = classes.sorted();
    out.rising(clusters.iter().map(|(key, _)| *key));
    for (_, cluster) in clusters {
        cluster.iter().for_each(|&c| out.number(u64::from(c)));
    }
}

fn read_classes(input: &mut Reader<'_>) -> Result<WordClasses> {
    let keys = input.rising()?;
    let mut read = |key: u32| {
        let mut cluster = Cluster::default();
        for c in &mut cluster {
            *c = input.below(1 << 16, "a word class")? as u16;
        }
        Ok((key, cluster))
    };
    keys.into_iter().map(&mut read).collect()
}

#[cfg(test)]
mod tests;
