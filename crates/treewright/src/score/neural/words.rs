//! What is looked at of a word by itself: its lower-cased form, its affixes and shape, its tags, its vector.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::characters::{Alphabet, Spellings};
use crate::hash;
use crate::score::WordTags;
use crate::sentence::{Sentence, Str, Token};
use crate::word_classes::WordVectors;

/// Prefixes of up to three letters, suffixes of up to four, the shape, the form as written.
const N_AFFIXES: usize = 9;
/// UPOS, XPOS, FEATS.
const N_TAGS: usize = 3;
/// No row: the feature is left out.
pub(in crate::score) const NONE: u32 = u32::MAX;
/// The row of unknown words.
pub(super) const UNKNOWN: u32 = 0;

/// The words that have a row of their own: those seen at least twice in lower case.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Str>", into = "Vec<Str>")]
pub(super) struct Lexicon {
    words: Vec<Str>,
    rows: FxHashMap<Str, u32>,
}

impl From<Vec<Str>> for Lexicon {
    fn from(words: Vec<Str>) -> Self {
        let rows = words.iter().enumerate().map(|(i, word)| (word.clone(), i as u32 + 1)).collect();
        Lexicon { words, rows }
    }
}

impl From<Lexicon> for Vec<Str> {
    fn from(lexicon: Lexicon) -> Self {
        lexicon.words
    }
}

impl Lexicon {
    pub(super) fn of(sentences: &[&Sentence]) -> Self {
        let mut counts: FxHashMap<Str, u32> = FxHashMap::default();
        let mut words = Vec::new();
        for token in sentences.iter().flat_map(|sentence| &sentence.tokens) {
            let word = token.form.to_lowercase();
            let count = counts.entry(word.clone()).or_insert(0);
            *count += 1;
            if *count == 2 {
                words.push(word);
            }
        }
        words.into()
    }

    /// The number of rows, that of unknown words included.
    pub(super) fn n_rows(&self) -> usize {
        self.words.len() + 1
    }
}

/// Vectors of words from elsewhere, which are not learnt, in 8 bits a number.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::score) struct Vectors {
    pub width: usize,
    /// Keys of the lower-cased words, rising.
    pub keys: Vec<u32>,
    pub scales: Vec<f32>,
    pub values: Vec<i8>,
}

const SALT: u64 = 78;
/// Vectors are stretched to this length, so that their numbers are about as large as those of embeddings.
const LENGTH: f32 = 4.0;

impl Vectors {
    pub(in crate::score) fn of(vectors: &WordVectors) -> Self {
        let mut sorted: Vec<(u32, &[f32])> =
            vectors.iter().map(|(word, vector)| (hash::key(SALT, word), vector)).collect();
        // Of words with the same key the first stays.
        sorted.sort_by_key(|(key, _)| *key);
        sorted.dedup_by_key(|(key, _)| *key);
        let mut out = Vectors { width: sorted.first().map_or(0, |(_, v)| v.len()), ..Vectors::default() };
        for (key, vector) in sorted {
            let largest = vector.iter().fold(1e-9f32, |largest, x| largest.max(x.abs()));
            out.keys.push(key);
            out.scales.push(LENGTH * largest / 127.0);
            out.values.extend(vector.iter().map(|x| (x / largest * 127.0).round() as i8));
        }
        out
    }

    /// The vector of a lower-cased word, if it has one.
    pub(in crate::score) fn find(&self, lower: &str) -> u32 {
        if self.keys.is_empty() {
            return NONE;
        }
        self.keys.binary_search(&hash::key(SALT, lower)).map_or(NONE, |row| row as u32)
    }

    pub(in crate::score) fn fill(&self, row: u32, out: &mut [f32]) {
        match self.scales.get(row as usize) {
            Some(scale) => {
                let values = &self.values[row as usize * self.width..(row as usize + 1) * self.width];
                out.iter_mut().zip(values).for_each(|(out, &value)| *out = f32::from(value) * scale);
            }
            None => out.fill(0.0),
        }
    }

    /// Do the arrays of a model file fit together?
    pub(in crate::score) fn is_sound(&self) -> bool {
        self.keys.len() == self.scales.len()
            && self.values.len() == self.keys.len() * self.width
            && self.keys.is_sorted()
            && self.scales.iter().all(|scale| scale.is_finite())
    }
}

/// How words are turned into rows of tables.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    pub lexicon: Lexicon,
    /// The characters, if words are spelt.
    pub alphabet: Option<Alphabet>,
    pub vectors: Vectors,
    /// Rows in the table of each kind of affix.
    pub n_rows: usize,
    /// Are affixes looked at?
    pub affixes: bool,
    /// Are tags looked at?
    pub tags: bool,
}

/// The rows of the words of sentences.
#[derive(Clone, Debug, Default)]
pub(super) struct WordRows {
    pub words: Vec<u32>,
    /// Those of affixes and tags, a fixed number for each word.
    pub tables: Vec<u32>,
    pub vectors: Vec<u32>,
    /// The number of the spelling of each word, if words are spelt, and the spellings.
    pub forms: Vec<u32>,
    pub spellings: Spellings,
    numbers: FxHashMap<Str, u32>,
}

impl WordRows {
    pub(super) fn reset(&mut self, n: usize, n_tables: usize) {
        self.forms.resize(n, NONE);
        self.spellings.clear();
        self.numbers.clear();
        self.words.resize(n, NONE);
        self.tables.resize(n * n_tables, NONE);
        self.vectors.resize(n, NONE);
    }
}

impl Reader {
    /// The number of tables of affixes and tags.
    pub(super) fn n_tables(&self) -> usize {
        let (affixes, tags) = (usize::from(self.affixes), usize::from(self.tags));
        affixes * N_AFFIXES + tags * N_TAGS
    }

    /// Puts the rows of a word at place `at`.
    pub(super) fn read(&self, token: &Token, at: usize, out: &mut WordRows) {
        if let Some(alphabet) = &self.alphabet {
            let new = || out.spellings.push(alphabet, &token.form);
            out.forms[at] = *out.numbers.entry(token.form.clone()).or_insert_with(new);
        }
        let lower = token.form.to_lowercase();
        out.words[at] = self.lexicon.rows.get(&lower).copied().unwrap_or(UNKNOWN);
        out.vectors[at] = self.vectors.find(&lower);
        let n_tables = self.n_tables();
        let mut tables = out.tables[at * n_tables..(at + 1) * n_tables].iter_mut().enumerate();
        let mut put = |text: &str| {
            let (table, row) = tables.next().expect("there are as many tables as features");
            let hash = hash::of_bytes(100 + table as u64, text.as_bytes()) % self.n_rows as u64;
            *row = (table * self.n_rows) as u32 + hash as u32;
        };
        if self.affixes {
            for length in 1..=3 {
                let end = lower.char_indices().nth(length).map_or(lower.len(), |(end, _)| end);
                put(&lower[..end]);
            }
            for length in 0..4 {
                let start = lower.char_indices().rev().nth(length).map_or(0, |(start, _)| start);
                put(&lower[start..]);
            }
            put(&shape(&token.form));
            put(&token.form);
        }
        if self.tags {
            put(&token.tag);
            put(&token.xpos);
            put(&token.feats);
        }
    }
}

/// The kinds of the characters of a word, runs of more than three shortened.
fn shape(form: &str) -> String {
    let kind = |c: char| match c {
        c if c.is_lowercase() => 'x',
        c if c.is_uppercase() => 'X',
        c if c.is_numeric() => '9',
        c if c.is_alphabetic() => 'x',
        c => c,
    };
    let mut shape = String::new();
    let (mut last, mut run) = (None, 0);
    for kind in form.chars().map(kind) {
        run = if last == Some(kind) { run + 1 } else { 1 };
        last = Some(kind);
        if run <= 3 {
            shape.push(kind);
        }
    }
    shape
}

/// The tags that are learnt beside actions: the values of one column.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct TagSet {
    pub column: TagColumn,
    pub tags: Vec<Str>,
}

/// A column of tags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TagColumn {
    #[default]
    Upos,
    Xpos,
    Feats,
}

impl TagColumn {
    pub(super) const ALL: [TagColumn; 3] = [TagColumn::Upos, TagColumn::Xpos, TagColumn::Feats];

    /// What a word has in this column; nothing if it was not annotated. A word without features is, if it has a tag.
    fn of(self, token: &Token) -> Option<&Str> {
        match self {
            TagColumn::Upos => Some(&token.tag).filter(|tag| !tag.is_empty()),
            TagColumn::Xpos => Some(&token.xpos).filter(|tag| !tag.is_empty()),
            TagColumn::Feats => Some(&token.feats).filter(|_| !token.tag.is_empty()),
        }
    }

    /// The place of the column among the tags of a word.
    pub(super) fn of_mut(self, tags: &mut WordTags) -> &mut Option<Str> {
        match self {
            TagColumn::Upos => &mut tags.tag,
            TagColumn::Xpos => &mut tags.xpos,
            TagColumn::Feats => &mut tags.feats,
        }
    }
}

impl TagSet {
    /// The tags of a treebank, in alphabetical order.
    pub(super) fn of(column: TagColumn, sentences: &[&Sentence]) -> Self {
        let tokens = sentences.iter().flat_map(|sentence| &sentence.tokens);
        let mut tags: Vec<Str> = tokens.filter_map(|token| column.of(token).cloned()).collect();
        tags.sort_unstable();
        tags.dedup();
        TagSet { column, tags }
    }

    /// The place of a word's tag, if it is one of them.
    pub(super) fn find(&self, token: &Token) -> Option<usize> {
        self.tags.binary_search(self.column.of(token)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(reader: &Reader, form: &str) -> (u32, Vec<u32>, u32) {
        let mut rows = WordRows::default();
        rows.reset(1, reader.n_tables());
        reader.read(&Token::new(form, "N"), 0, &mut rows);
        (rows.words[0], rows.tables, rows.vectors[0])
    }

    #[test]
    fn words_share_rows_by_what_they_have_in_common() {
        let sentence = Sentence::from_tagged([("The", "D"), ("walking", "V"), ("the", "D")]);
        let vectors = WordVectors::read("the 1 0\nwalking 0 -1\n".as_bytes(), 1).expect("two vectors");
        let lexicon = Lexicon::of(&[&sentence]);
        let (vectors, alphabet) = (Vectors::of(&vectors), None);
        let reader = Reader { lexicon, alphabet, vectors, n_rows: 500, affixes: true, tags: false };
        let (the, capital, walking, talking) =
            (rows(&reader, "the"), rows(&reader, "The"), rows(&reader, "walking"), rows(&reader, "talking"));
        assert_eq!([the.0, capital.0, walking.0], [1, 1, UNKNOWN], "seen twice in lower case");
        assert_eq!(the.1[..7], capital.1[..7], "affixes are lower-cased");
        assert!(the.1[7] != capital.1[7] && the.1[8] != capital.1[8], "shape and form are not");
        assert!(walking.1[3..8] == talking.1[3..8] && walking.1[..3] != talking.1[..3]);
        assert!(walking.1.iter().enumerate().all(|(i, &row)| row as usize / 500 == i), "a table for each");
        assert_eq!(talking.2, NONE);
        let mut vector = [9.0; 2];
        reader.vectors.fill(walking.2, &mut vector);
        assert_eq!(vector, [0.0, -4.0]);
        reader.vectors.fill(talking.2, &mut vector);
        assert_eq!(vector, [0.0, 0.0]);
    }

    #[test]
    fn short_words_and_other_scripts_have_affixes_too() {
        let (lexicon, alphabet, vectors) = Default::default();
        let reader = Reader { lexicon, alphabet, vectors, n_rows: 9, affixes: true, tags: true };
        for form in ["", "a", "é", "日本語", "x1-Y"] {
            assert!(rows(&reader, form).1.iter().all(|&row| row != NONE), "{form}");
        }
        assert_eq!([shape("McDonald's"), shape("1,000,000")], ["XxXxxx'x", "9,999,999"]);
    }
}
