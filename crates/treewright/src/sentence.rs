//! Words and what is known about them before parsing: all that a parser may read.

use compact_str::CompactString;
use serde::{Deserialize, Serialize};

use crate::ids::TokenIdx;

/// A short string: up to 24 bytes are stored in place.
pub type Str = CompactString;

/// One syntactic word. An empty field means "not given" (`_` in the column formats, `--` in export).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// The word as written.
    pub form: Str,
    /// The lemma.
    #[serde(default, skip_serializing_if = "Str::is_empty")]
    pub lemma: Str,
    /// The main part of speech: UPOS, or the one tag of a constituent treebank.
    #[serde(default, skip_serializing_if = "Str::is_empty")]
    pub tag: Str,
    /// The treebank-specific part of speech beside UPOS (XPOS; POSTAG in CoNLL-X).
    #[serde(default, skip_serializing_if = "Str::is_empty")]
    pub xpos: Str,
    /// Morphological features (FEATS; the morph column of export).
    #[serde(default, skip_serializing_if = "Str::is_empty")]
    pub feats: Str,
    /// Enhanced dependencies (DEPS), carried through untouched; PHEAD in CoNLL-X.
    #[serde(default, skip_serializing_if = "Str::is_empty")]
    pub deps: Str,
    /// Everything else (MISC, such as `SpaceAfter=No`); PDEPREL in CoNLL-X.
    #[serde(default, skip_serializing_if = "Str::is_empty")]
    pub misc: Str,
}

impl Token {
    /// A token of which only the form and the tag are known.
    pub fn new(form: impl Into<Str>, tag: impl Into<Str>) -> Self {
        Token { form: form.into(), tag: tag.into(), ..Token::default() }
    }

    /// Is this an empty element of a Penn treebank (a trace)?
    pub fn is_trace(&self) -> bool {
        self.tag == "-NONE-"
    }
}

/// A surface token that stands for several words, such as French `du` = `de` + `le`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Multiword {
    /// The first word it covers.
    pub first: TokenIdx,
    /// The last word it covers.
    pub last: TokenIdx,
    /// Columns 2 to 10 of its line, FORM first, as written.
    pub columns: [Str; 9],
}

/// An empty node of the enhanced graph (`8.1`): it has a place among the words but is not one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmptyNode {
    /// How many words stand before it (the 8 of `8.1`).
    pub after: usize,
    /// Its number there (the 1 of `8.1`).
    pub number: u32,
    /// Columns 2 to 10 of its line, FORM first, as written.
    pub columns: [Str; 9],
}

/// A sentence: its words, and what the treebank file says around them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sentence {
    /// The sentence's name in its treebank; may be empty.
    pub id: Str,
    /// The syntactic words.
    pub tokens: Vec<Token>,
    /// Comment lines as written, with their `#` or `%%`.
    pub comments: Vec<Str>,
    /// Surface tokens that cover several words, from left to right.
    pub multiwords: Vec<Multiword>,
    /// Empty nodes, in file order.
    pub empty_nodes: Vec<EmptyNode>,
}

impl Sentence {
    /// The tokens as written: form, MISC, and the words that a multiword token stands for.
    pub fn surface(&self) -> impl Iterator<Item = (&str, &str, &[Token])> {
        let mut ranges = self.multiwords.iter().peekable();
        let mut at = 0;
        std::iter::from_fn(move || {
            let token = self.tokens.get(at)?;
            let range = ranges.next_if(|range| range.first.index() == at && range.last.index() < self.len());
            let Some(range) = range else {
                at += 1;
                return Some((&*token.form, &*token.misc, &[][..]));
            };
            let words = &self.tokens[at..=range.last.index()];
            at = range.last.index() + 1;
            Some((&*range.columns[0], &*range.columns[8], words))
        })
    }

    /// A sentence of bare words and tags.
    pub fn from_tagged<'a>(words: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let tokens = words.into_iter().map(|(form, tag)| Token::new(form, tag)).collect();
        Sentence { tokens, ..Sentence::default() }
    }

    /// The number of words.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Has it no words?
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Has any word a tag?
    pub fn has_tags(&self) -> bool {
        self.tokens.iter().any(|token| !token.tag.is_empty() || !token.xpos.is_empty())
    }

    /// The word at `token`.
    pub fn token(&self, token: TokenIdx) -> &Token {
        &self.tokens[token.index()]
    }
}
