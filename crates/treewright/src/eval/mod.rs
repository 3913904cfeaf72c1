//! Scores that agree with the field's own tools: EVALB, disco-dop and the CoNLL 2018 script.
//!
//! A scorer takes one gold and one predicted tree at a time and adds to its totals, so that a trainer can score a
//! sentence without a file. `bracket` is EVALB, `disco` is disco-dop, `attachment` counts heads of words that both
//! sides share, `conll18` scores whole files whose tokens may differ. `characters` scores constituents
//! over different words, found by `alignment`. The rest explains the numbers: `breakdown`, `collapsed`, `significance`,
//! `plot`.

pub mod alignment;
pub mod attachment;
mod bracket;
pub mod breakdown;
mod characters;
mod collapsed;
pub mod conll18;
mod disco;
mod labels;
pub mod pairing;
pub mod params;
pub mod plot;
pub mod punctuation;
pub mod report;
pub mod significance;
#[cfg(test)]
mod testing;
mod totals;

pub use attachment::{AlignedAttachments, AttachmentScore, Attachments};
pub use breakdown::{Breakdown, By};
pub use characters::{CharacterScorer, UnitScore};
pub use collapsed::{Collapsed, collapsed_labels};
pub use conll18::Conll18;
pub use params::{Functions, Params, may_be_discontinuous};
pub use totals::{Counts, DiscTotals, Style, Tally, Totals};

use crate::ids::NodeId;
use crate::sentence::Sentence;
use crate::tree::ConstituentTree;

/// A sentence with the tree that one side gives it; no tree means "no parse".
#[derive(Clone, Copy, Debug)]
pub struct Parsed<'a> {
    /// The words and tags of this side.
    pub sentence: &'a Sentence,
    /// The tree of this side.
    pub tree: Option<&'a ConstituentTree>,
}

impl<'a> Parsed<'a> {
    /// A sentence with its tree.
    pub fn new(sentence: &'a Sentence, tree: &'a ConstituentTree) -> Self {
        Parsed { sentence, tree: Some(tree) }
    }
}

/// Why a sentence could not be scored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// Different numbers of words count: in the gold tree, in the predicted tree.
    Length(usize, usize),
    /// The first pair of words that differ: gold, predicted.
    Words(String, String),
    /// The words are the same, but the tags of the two sides take out different ones. Of the first such word:
    Tags {
        /// Its place in the predicted sentence, from 1.
        position: usize,
        /// The word.
        word: String,
        /// Its gold tag.
        gold: String,
        /// Its predicted tag.
        predicted: String,
        /// The side on which it counts: the gold one, or else the predicted one.
        counts_in_gold: bool,
    },
    /// A predicted word (by its position) that is not a word of the gold sentence.
    Unaligned(usize, String),
    /// There is no predicted tree.
    NoParse,
    /// The predicted tree could not be read.
    Unreadable,
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Mismatch::Length(gold, predicted) => {
                write!(f, "{gold} words count in the gold tree and {predicted} in the predicted tree")
            }
            Mismatch::Words(gold, predicted) => {
                write!(f, "the gold word {gold:?} stands where the predicted word is {predicted:?}")
            }
            Mismatch::Tags { position, word, gold, predicted, counts_in_gold } => {
                let (counts, does_not) = match counts_in_gold {
                    true => (("gold", gold), ("predicted", predicted)),
                    false => (("predicted", predicted), ("gold", gold)),
                };
                write!(
                    f,
                    "word {position}, {word:?}, counts with its {} tag {:?} but is taken out with its {} tag {:?}",
                    counts.0, counts.1, does_not.0, does_not.1
                )
            }
            Mismatch::Unaligned(position, word) => {
                write!(
                    f,
                    "the predicted word {position}, {word:?}, is not in the gold sentence at that place"
                )
            }
            Mismatch::NoParse => write!(f, "there is no predicted tree"),
            Mismatch::Unreadable => write!(f, "the predicted tree could not be read"),
        }
    }
}

/// What became of one sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// It was scored.
    #[default]
    Valid,
    /// It counts as an error and adds to no score.
    Error(Mismatch),
    /// There was nothing to score in the prediction.
    Skipped,
}

/// The score of one sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentenceScore {
    /// Whether it counts.
    pub status: Status,
    /// Its length: the gold words, punctuation included.
    pub length: usize,
    /// The brackets.
    pub brackets: Counts,
    /// The discontinuous brackets among them (none with EVALB).
    pub discontinuous: Counts,
    /// Predicted brackets that cross a gold bracket (EVALB only).
    pub crossing: u64,
    /// Words that count.
    pub words: u64,
    /// Words that count and have the gold tag.
    pub correct_tags: u64,
    /// Different brackets, of the gold tree and of the predicted one (disco-dop only).
    pub distinct: [u64; 2],
}

impl SentenceScore {
    /// Are both trees the same, as far as brackets go?
    pub fn is_exact(&self) -> bool {
        let Counts { matched, gold, predicted } = self.brackets;
        self.status == Status::Valid && matched == gold && matched == predicted
    }
}

/// A constituent that counts, and whether the other side has it too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScoredNode {
    /// The constituent, in its own tree.
    pub node: NodeId,
    /// Is it matched by a constituent of the other tree?
    pub is_matched: bool,
}

/// Scores pairs of constituent trees and keeps the sums.
#[derive(Clone, Debug)]
pub struct ConstituentScorer {
    method: Method,
    cutoff_len: usize,
    disc_only: bool,
    all: Totals,
    up_to_cutoff: Totals,
    nodes: ScoredNodes,
}

/// The score of a sentence, or why it has none.
type Scored = Result<SentenceScore, Status>;

/// How brackets are matched.
#[derive(Clone, Debug)]
enum Method {
    Evalb(Box<bracket::Evalb>),
    Disco(Box<disco::Disco>),
}

/// The constituents of a sentence that count.
#[derive(Clone, Debug, Default)]
struct ScoredNodes {
    gold: Vec<ScoredNode>,
    predicted: Vec<ScoredNode>,
}

impl ConstituentScorer {
    /// The scorer these parameters are meant for, or disco-dop's when the trees may be discontinuous.
    pub fn new(params: &Params, discontinuous: bool) -> Self {
        match discontinuous || params.is_for_disco || params.disc_only {
            true => Self::disco(params),
            false => Self::evalb(params),
        }
    }

    /// Scores as EVALB does.
    pub fn evalb(params: &Params) -> Self {
        Self::with_method(params, Method::Evalb(bracket::Evalb::new(params).into()), Style::Evalb)
    }

    /// Scores as disco-dop does.
    pub fn disco(params: &Params) -> Self {
        Self::with_method(params, Method::Disco(disco::Disco::new(params).into()), Style::Disco)
    }

    fn with_method(params: &Params, method: Method, style: Style) -> Self {
        ConstituentScorer {
            method,
            cutoff_len: params.cutoff_len,
            disc_only: params.disc_only && style == Style::Disco,
            all: Totals::new(style),
            up_to_cutoff: Totals::new(style),
            nodes: ScoredNodes::default(),
        }
    }

    /// Scores one sentence and adds it to the sums. A sentence that does not fit counts as an error.
    pub fn add(&mut self, gold: Parsed<'_>, predicted: Parsed<'_>) -> SentenceScore {
        self.count(gold, Some(predicted))
    }

    /// Adds a sentence whose prediction could not be read: an error.
    pub fn add_unreadable(&mut self, gold: Parsed<'_>) -> SentenceScore {
        self.count(gold, None)
    }

    fn count(&mut self, gold: Parsed<'_>, predicted: Option<Parsed<'_>>) -> SentenceScore {
        let nodes = &mut self.nodes;
        nodes.gold.clear();
        nodes.predicted.clear();
        let length = match &self.method {
            Method::Evalb(evalb) => evalb.length(gold),
            Method::Disco(disco) => disco.length(gold),
        };
        let scored = match (&mut self.method, predicted) {
            (_, None) => Err(Status::Error(Mismatch::Unreadable)),
            (Method::Evalb(evalb), Some(predicted)) => evalb.score([gold, predicted], nodes),
            (Method::Disco(disco), Some(predicted)) => disco.score([gold, predicted], nodes),
        };
        let score = scored.unwrap_or_else(|status| SentenceScore { status, ..SentenceScore::default() });
        let score = SentenceScore { length, ..score };
        // disco-dop counts no sentence in which there is nothing to count.
        let has_none = score.brackets.gold + score.brackets.predicted == 0;
        let leaves_out = self.disc_only && score.status == Status::Valid && has_none;
        self.all.add(&score, leaves_out);
        if length <= self.cutoff_len {
            self.up_to_cutoff.add(&score, leaves_out);
        }
        score
    }

    /// The sums over all sentences.
    pub fn all(&self) -> &Totals {
        &self.all
    }

    /// The sums over the sentences up to the cut-off length.
    pub fn up_to_cutoff(&self) -> &Totals {
        &self.up_to_cutoff
    }

    /// The constituents of the last sentence that count: of the gold tree, of the predicted tree. Empty if the
    /// sentence was not valid.
    pub fn last_nodes(&self) -> (&[ScoredNode], &[ScoredNode]) {
        (&self.nodes.gold, &self.nodes.predicted)
    }
}
