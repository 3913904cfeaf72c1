//! WordPiece: words to the pieces that an encoder knows (Wu et al. 2016; Devlin et al. 2019).
//!
//! A word is cleaned, lower-cased and stripped of its accents, if the encoder is uncased, and cut at punctuation and
//! Chinese characters; each part is then cut greedily into the longest pieces of the vocabulary.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// Longer parts of words are unknown as a whole.
const MAX_CHARS: usize = 100;
/// What pieces begin with that continue a word.
const CONTINUES: &str = "##";

/// A vocabulary of pieces.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Plain", into = "Plain")]
pub(super) struct Tokenizer {
    pub pieces: Vec<String>,
    ids: FxHashMap<String, u32>,
    /// Are words lower-cased, and accents taken away?
    pub is_uncased: bool,
    unknown: u32,
    pub start: u32,
    pub end: u32,
}

/// What a model file keeps: the pieces in order, one a line.
#[derive(Serialize, Deserialize)]
struct Plain {
    pieces: String,
    uncased: bool,
}

impl From<Tokenizer> for Plain {
    fn from(tokenizer: Tokenizer) -> Self {
        Plain { pieces: tokenizer.pieces.join("\n"), uncased: tokenizer.is_uncased }
    }
}

impl TryFrom<Plain> for Tokenizer {
    type Error = String;

    fn try_from(plain: Plain) -> Result<Self, String> {
        Tokenizer::new(plain.pieces.split('\n').map(str::to_owned).collect(), plain.uncased)
    }
}

impl Tokenizer {
    fn new(pieces: Vec<String>, is_uncased: bool) -> Result<Self, String> {
        let ids: FxHashMap<String, u32> =
            pieces.iter().enumerate().map(|(id, piece)| (piece.clone(), id as u32)).collect();
        let id = |piece: &str| {
            ids.get(piece).copied().ok_or_else(|| format!("the encoder's vocabulary lacks the piece {piece}"))
        };
        // MPNet's vocabulary has the marks of BERT as well, but does not use them.
        let is_mpnet = pieces.first().is_some_and(|piece| piece == "<s>");
        let (start, end) = if is_mpnet { ("<s>", "</s>") } else { ("[CLS]", "[SEP]") };
        let (unknown, start, end) = (id("[UNK]")?, id(start)?, id(end)?);
        Ok(Tokenizer { unknown, start, end, pieces, ids, is_uncased })
    }

    /// Reads a vocabulary: `vocab.txt` with a piece a line, or `tokenizer.json`. A list of pieces does not tell whether
    /// words are lower-cased; the setting `do_lower_case` may, and otherwise they are if no piece has a capital.
    pub(super) fn read(text: &str, lower_case: Option<bool>) -> Result<Self, String> {
        if text.trim_start().starts_with('{') {
            return Self::read_json(text);
        }
        let pieces: Vec<String> = text.lines().map(|line| line.trim_end().to_owned()).collect();
        let is_special = |piece: &str| piece.starts_with('[') && piece.ends_with(']');
        let has_capitals =
            pieces.iter().any(|piece| !is_special(piece) && piece.chars().any(|c| c.is_ascii_uppercase()));
        Self::new(pieces, lower_case.unwrap_or(!has_capitals))
    }

    fn read_json(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct File {
            normalizer: Option<Normalizer>,
            model: Model,
        }
        #[derive(Deserialize)]
        struct Normalizer {
            #[serde(default)]
            lowercase: bool,
        }
        #[derive(Deserialize)]
        struct Model {
            #[serde(default, rename = "type")]
            kind: String,
            vocab: FxHashMap<String, usize>,
        }
        let File { normalizer, model } =
            serde_json::from_str(text).map_err(|error| format!("in tokenizer.json: {error}"))?;
        if !model.kind.is_empty() && model.kind != "WordPiece" {
            return Err(format!("the encoder cuts words by {}; only WordPiece is known", model.kind));
        }
        let mut pieces = vec![String::new(); model.vocab.len()];
        for (piece, id) in model.vocab {
            *pieces.get_mut(id).ok_or("the pieces in tokenizer.json are not numbered from 0 on")? = piece;
        }
        Self::new(pieces, normalizer.is_some_and(|normalizer| normalizer.lowercase))
    }

    /// The number of pieces.
    pub(super) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// For each piece: can no text have it? Brackets are parts of their own, so no part of a word is like `[PAD]`.
    pub(super) fn are_unused(&self) -> impl Iterator<Item = bool> {
        let marks = [self.unknown, self.start, self.end];
        let is_mark = |piece: &str| piece.len() > 2 && piece.starts_with('[') && piece.ends_with(']');
        (0u32..).zip(&self.pieces).map(move |(id, piece)| is_mark(piece) && !marks.contains(&id))
    }

    /// Appends the pieces of a word: at least one.
    pub(super) fn cut(&self, word: &str, out: &mut Vec<u32>) {
        let n_before = out.len();
        let clean = word.chars().filter(|&c| !is_removed(c));
        let text: String = match self.is_uncased {
            false => clean.collect(),
            true => clean
                .nfd()
                .filter(|c| c.general_category() != GeneralCategory::NonspacingMark)
                .flat_map(char::to_lowercase)
                .collect(),
        };
        let mut start = 0;
        for (at, c) in text.char_indices() {
            if c.is_whitespace() || is_punctuation(c) || is_chinese(c) {
                self.cut_part(&text[start..at], out);
                start = at + c.len_utf8();
                if !c.is_whitespace() {
                    self.cut_part(&text[at..start], out);
                }
            }
        }
        self.cut_part(&text[start..], out);
        if out.len() == n_before {
            out.push(self.unknown);
        }
    }

    /// Cuts a part of a word that has no punctuation, or is a single punctuation mark.
    fn cut_part(&self, part: &str, out: &mut Vec<u32>) {
        let n_before = out.len();
        if part.chars().nth(MAX_CHARS).is_some() {
            out.push(self.unknown);
            return;
        }
        let mut start = 0;
        let mut piece = String::new();
        while start < part.len() {
            let ends = part[start..].char_indices().map(|(at, c)| start + at + c.len_utf8()).rev();
            let mut found = None;
            for end in ends {
                piece.clear();
                if start > 0 {
                    piece.push_str(CONTINUES);
                }
                piece.push_str(&part[start..end]);
                if let Some(&id) = self.ids.get(&piece) {
                    found = Some((id, end));
                    break;
                }
            }
            let Some((id, end)) = found else {
                // One unknown piece makes all of the part unknown.
                out.truncate(n_before);
                out.push(self.unknown);
                return;
            };
            out.push(id);
            start = end;
        }
    }
}

/// Control characters, and others that mean nothing in a text.
fn is_removed(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => false,
        '\u{FFFD}' => true,
        c => c.general_category_group() == GeneralCategoryGroup::Other,
    }
}

fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation() || c.general_category_group() == GeneralCategoryGroup::Punctuation
}

/// Ideographs, each of which is a part of its own.
fn is_chinese(c: char) -> bool {
    matches!(u32::from(c),
        0x4E00..=0x9FFF | 0x3400..=0x4DBF | 0x2_0000..=0x2_A6DF | 0x2_A700..=0x2_B73F
        | 0x2_B740..=0x2_B81F | 0x2_B820..=0x2_CEAF | 0xF900..=0xFAFF | 0x2_F800..=0x2_FA1F)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIECES: &str =
        "[PAD]\n[UNK]\n[CLS]\n[SEP]\nun\n##aff\n##able\ncafe\ndon\n'\nt\n.\n-\n語\nb\n##b\nstrasse";

    #[track_caller]
    fn check(word: &str, expected: &[&str]) {
        let tokenizer = Tokenizer::read(PIECES, None).expect("a vocabulary");
        let mut ids = Vec::new();
        tokenizer.cut(word, &mut ids);
        let pieces: Vec<&str> = ids.iter().map(|&id| tokenizer.pieces[id as usize].as_str()).collect();
        assert_eq!(pieces, expected, "{word}");
    }

    #[test]
    fn words_are_cut_into_the_longest_pieces() {
        check("unaffable", &["un", "##aff", "##able"]);
        check("UNAFFABLE", &["un", "##aff", "##able"]);
        check("Café", &["cafe"]);
        check("cafe\u{301}", &["cafe"]);
        check("don't", &["don", "'", "t"]);
        check("...", &[".", ".", "."]);
        check("語語", &["語", "語"]);
        check("un b", &["un", "b"]);
        check("u\u{200B}n", &["un"]);
    }

    #[test]
    fn marks_are_no_parts_of_words() {
        let tokenizer =
            Tokenizer::read("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[unused1]\n[\n]\na", None).expect("a vocabulary");
        let unused: Vec<bool> = tokenizer.are_unused().collect();
        assert_eq!(unused, [true, false, false, false, true, false, false, false]);
        let mut ids = Vec::new();
        tokenizer.cut("[unused1]", &mut ids);
        assert_eq!(ids, [5, 1, 6]);
    }

    #[test]
    fn unknown_parts_are_unknown_as_a_whole() {
        check("unaffx", &["[UNK]"]);
        check("unx-un", &["[UNK]", "-", "un"]);
        check("", &["[UNK]"]);
        check("\u{7}", &["[UNK]"]);
        check(&"b".repeat(100), &[&["b"][..], &["##b"; 99]].concat());
        check(&"b".repeat(101), &["[UNK]"]);
    }

    #[test]
    fn vocabularies_of_both_formats_are_the_same() {
        let list = Tokenizer::read("[UNK]\n[CLS]\n[SEP]\na", None).expect("a vocabulary");
        let json = r##"{"normalizer": {"type": "BertNormalizer", "lowercase": true},
            "model": {"type": "WordPiece", "vocab": {"[CLS]": 1, "a": 3, "[UNK]": 0, "[SEP]": 2}}}"##;
        assert_eq!(Tokenizer::read(json, None).expect("a vocabulary"), list);
        let plain = serde_json::to_value(&list).expect("plain data");
        assert_eq!(serde_json::from_value::<Tokenizer>(plain).expect("the same"), list);
        let cased = Tokenizer::read("[UNK]\n[CLS]\n[SEP]\nA", None).expect("a vocabulary");
        assert!(list.is_uncased && !cased.is_uncased);
        for bad in ["[UNK]\n[CLS]", "{", r#"{"model": {"type": "BPE", "vocab": {}}}"#] {
            assert!(Tokenizer::read(bad, None).is_err(), "{bad}");
        }
    }
}
