//! From raw text to sentences and tokens: a segmenter trained on a treebank.
//!
//! Text is first cut at white space. Two linear classifiers over hashed features then decide where tokens end inside
//! the pieces, and after which tokens sentences end. A table restores multiword tokens. Every token knows its
//! place, and [`text_of`] gives back the text byte for byte.
//!
//! ```
//! use treewright::segment::{SegmentConfig, SegmentOptions, Segmenter, text_of};
//! use treewright::treebank::{self, Format, ReadOptions};
//!
//! let treebank = "1\tYes\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n2\t.\t_\t_\t_\t_\t_\t_\t_\t_\n\n".repeat(20);
//! let reader = treebank::reader(Format::Conllu, treebank.as_bytes(), &ReadOptions::default());
//! let sentences: Vec<_> = reader.map(|entry| Ok(entry?.sentence)).collect::<Result<_, treewright::Error>>()?;
//! let segmenter = Segmenter::train(&sentences, &SegmentConfig::default(), &mut |_| {})?;
//! let document = segmenter.segment("Yes. Yes.\n", &SegmentOptions::default());
//! assert_eq!(document.sentences.len(), 2);
//! assert_eq!(document.sentences[1].tokens[0].misc, "SpaceAfter=No|TokenRange=5:8");
//! assert_eq!(text_of(&document.sentences), "Yes. Yes.\n");
//! # Ok::<(), treewright::Error>(())
//! ```

mod ambiguous;
mod chars;
mod features;
mod file;
mod gold;
mod linear;
mod multiword;
mod output;
mod penn;
mod portions;
mod scan;
mod spaces;
mod stream;
#[cfg(test)]
mod tests;
mod train;

use std::io::BufRead;

use serde::{Deserialize, Serialize};

pub use gold::raw_text;
pub use output::{text_of, write_text};
pub use penn::{escape as penn_escape, unescape as penn_unescape};
pub use spaces::{Spaces, Written};
pub use stream::Stream;

use crate::error::{Error, Result};
use crate::sentence::Sentence;
use linear::{Linear, Table};
use multiword::Multiwords;
use scan::Rules;

/// How a segmenter is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SegmentConfig {
    /// Rounds over the examples.
    pub epochs: usize,
    /// The learning rate.
    pub rate: f32,
    /// Features that occur less often are left out.
    pub min_count: u32,
    /// The largest number of features kept for either classifier.
    pub max_features: usize,
    /// How many times the treebank is laid out as text: once as paragraphs, then with short lines, with a line for
    /// each sentence or each paragraph.
    pub n_layouts: usize,
    /// The way in which the text is written, if the treebank does not say where its spaces are.
    pub spaces: Spaces,
    /// The seed of all that is random.
    pub seed: u64,
}

impl Default for SegmentConfig {
    fn default() -> Self {
        SegmentConfig {
            epochs: 6,
            rate: 0.2,
            min_count: 2,
            max_features: 80_000,
            n_layouts: 3,
            spaces: Spaces::default(),
            seed: 1,
        }
    }
}

/// One round of training.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SegmentEpoch {
    /// Which classifier: `tokens`, `sentences`, or `held-out`, the sentences of a part that tells how readily a
    /// sentence should end.
    pub part: &'static str,
    /// The round, from 0.
    pub epoch: usize,
    /// The number of examples.
    pub n_examples: usize,
    /// The mean loss over the round.
    pub loss: f64,
}

/// What the ends of lines mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lines {
    /// What the model makes of them.
    #[default]
    Free,
    /// A line end always ends a sentence; a line may hold several.
    EndSentences,
    /// Each line is one sentence.
    AreSentences,
}

/// How text is cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SegmentOptions {
    /// What the ends of lines mean.
    pub lines: Lines,
    /// Longer sentences are cut at their likeliest place.
    pub max_tokens: usize,
}

impl Default for SegmentOptions {
    fn default() -> Self {
        SegmentOptions { lines: Lines::default(), max_tokens: 1000 }
    }
}

/// A document that has been cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// Its sentences.
    pub sentences: Vec<Sentence>,
    /// White space at the end that no sentence keeps: see [`Stream::finish`].
    pub blank: String,
}

impl Document {
    /// The text it was cut from.
    pub fn text(&self) -> String {
        text_of(&self.sentences) + &self.blank
    }
}

/// Cuts text into sentences and tokens. It is immutable; each document gets a [`Stream`] of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segmenter {
    rules: Rules,
    tokens: Linear,
    sentences: Linear,
    cases: Table,
    multiwords: Multiwords,
}

impl Segmenter {
    /// Trains on the sentences of a treebank, in their order. Text and layout come from the comments `# text`,
    /// `# newdoc` and `# newpar` and from `SpaceAfter=No`; a treebank that has neither text nor `SpaceAfter=No` is
    /// taken to be written as Penn treebanks are.
    ///
    /// # Errors
    /// When there is no sentence.
    pub fn train(
        sentences: &[Sentence],
        config: &SegmentConfig,
        log: &mut dyn FnMut(SegmentEpoch),
    ) -> Result<Self> {
        train::train(sentences, config, log)
    }

    /// Starts a document that comes in portions.
    pub fn stream(&self, options: &SegmentOptions) -> Stream<'_> {
        Stream::at(self, options, Default::default())
    }

    /// Cuts a whole document.
    pub fn segment(&self, text: &str, options: &SegmentOptions) -> Document {
        let mut document = Document::default();
        let mut stream = self.stream(options);
        stream.push(text.as_bytes(), &mut document.sentences).expect("a str is UTF-8");
        document.blank = stream.finish(&mut document.sentences).expect("a str is UTF-8");
        document
    }

    /// Cuts a document while it is read.
    pub fn read<'a, R: BufRead>(&'a self, source: R, options: &SegmentOptions) -> Sentences<'a, R> {
        Sentences { source, stream: Some(self.stream(options)), ready: Vec::new().into_iter(), failed: None }
    }
}

/// The sentences of a document that is being read. An error comes after the sentences before it, and then there is no more.
#[derive(Debug)]
pub struct Sentences<'a, R> {
    source: R,
    stream: Option<Stream<'a>>,
    ready: std::vec::IntoIter<Sentence>,
    /// To be told after those that are ready.
    failed: Option<Error>,
}

impl<R: BufRead> Sentences<'_, R> {
    /// Reads until there are sentences, or to the end.
    fn fill(&mut self, out: &mut Vec<Sentence>) -> Result<()> {
        while out.is_empty()
            && let Some(stream) = &mut self.stream
        {
            let bytes = match self.source.fill_buf() {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                bytes => bytes?,
            };
            let n = bytes.len();
            stream.push(bytes, out)?;
            self.source.consume(n);
            if n == 0 {
                self.stream.take().expect("looked at just now").finish(out)?;
            }
        }
        Ok(())
    }
}

impl<R: BufRead> Iterator for Sentences<'_, R> {
    type Item = Result<Sentence>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(sentence) = self.ready.next() {
            return Some(Ok(sentence));
        }
        let mut out = Vec::new();
        if let Err(error) = self.fill(&mut out) {
            self.stream = None;
            self.failed = Some(error);
        }
        self.ready = out.into_iter();
        self.ready.next().map(Ok).or_else(|| self.failed.take().map(Err))
    }
}
