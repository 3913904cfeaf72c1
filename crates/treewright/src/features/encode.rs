//! Words and tags as numbers: the last place where a scorer sees a string.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::template::{Column, N_COLUMNS};
use crate::sentence::{Sentence, Str, Token};
use crate::weights::kernel::zip;
use crate::word_classes::WordClasses;

/// No token there.
pub(super) const NONE: u32 = 0;
/// The artificial root, and the place after the last word.
const END: u32 = 1;
/// A value never seen in training.
const UNKNOWN: u32 = 2;
const FIRST_FREE: u32 = 3;

/// The values of one column that training saw often enough.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Str>", into = "Vec<Str>")]
struct Table {
    values: Vec<Str>,
    ids: FxHashMap<Str, u32>,
}

impl From<Vec<Str>> for Table {
    fn from(values: Vec<Str>) -> Self {
        let ids =
            values.iter().enumerate().map(|(i, value)| (value.clone(), i as u32 + FIRST_FREE)).collect();
        Table { values, ids }
    }
}

impl From<Table> for Vec<Str> {
    fn from(table: Table) -> Self {
        table.values
    }
}

impl Table {
    /// The values seen at least `least` times, in the order of their first occurrence.
    fn of<'a>(values: impl Iterator<Item = &'a str>, least: u32) -> Self {
        let mut counts: FxHashMap<&str, (u32, usize)> = FxHashMap::default();
        for (i, value) in values.enumerate() {
            counts.entry(value).or_insert((0, i)).0 += 1;
        }
        let mut kept: Vec<(usize, &str)> = counts
            .into_iter()
            .filter(|(_, (count, _))| *count >= least)
            .map(|(v, (_, first))| (first, v))
            .collect();
        kept.sort_unstable();
        kept.into_iter().map(|(_, value)| Str::from(value)).collect::<Vec<_>>().into()
    }

    #[inline]
    fn get(&self, value: &str) -> Option<u32> {
        self.ids.get(value).copied()
    }
}

/// The words, tags and word classes a model knows; frozen after training.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Vocabulary {
    words: Table,
    /// Classes of rare words: shape and suffix, or shape alone.
    classes: Table,
    tags: Table,
    xpos: Table,
    feats: Table,
    suffixes: Table,
    /// From word vectors, where there are any.
    #[serde(default, skip_serializing_if = "WordClasses::is_empty")]
    vectors: WordClasses,
}

/// The values of a token, by columns.
type Row = [u32; N_COLUMNS];

/// One sentence as numbers: a row for each word, one for the root (or the end) after the last, and one for all places
/// where there is nothing.
#[derive(Clone, Debug)]
pub struct Encoded {
    rows: Vec<Row>,
    shapes: Vec<u8>,
    /// Which columns somebody looks at; the others are not filled.
    wants: [bool; N_COLUMNS],
    wants_shapes: bool,
}

impl Default for Encoded {
    fn default() -> Self {
        Encoded::for_columns([true; N_COLUMNS], true)
    }
}

impl Vocabulary {
    /// From the training sentences. A word seen once is treated as unknown, so that training learns what to do with
    /// unknown words (paper 004, section 3.2); its shape and suffix stand for it.
    pub fn of<'a>(sentences: impl Iterator<Item = &'a Sentence> + Clone) -> Self {
        let tokens = sentences.flat_map(|sentence| &sentence.tokens);
        let words = Table::of(tokens.clone().map(|token| token.form.as_str()), 2);
        let rare: Vec<(String, String)> = tokens
            .clone()
            .filter(|token| words.get(&token.form).is_none())
            .map(|token| (fine_class(&token.form), coarse_class(&token.form)))
            .collect();
        let classes = Table::of(rare.iter().flat_map(|(fine, coarse)| [fine.as_str(), coarse.as_str()]), 2);
        let column = |get: fn(&Token) -> &str, least| {
            Table::of(tokens.clone().map(get).filter(|value| !value.is_empty()), least)
        };
        let suffixes: Vec<String> = tokens.clone().map(|token| suffix(&token.form)).collect();
        Vocabulary {
            tags: column(|token| &token.tag, 1),
            xpos: column(|token| &token.xpos, 1),
            feats: column(|token| &token.feats, 2),
            suffixes: Table::of(suffixes.iter().map(String::as_str), 2),
            words,
            classes,
            vectors: WordClasses::default(),
        }
    }

    /// The same with classes of words by their vectors.
    pub fn with_vectors(self, vectors: WordClasses) -> Self {
        Vocabulary { vectors, ..self }
    }

    /// The class of a word by its vector. (The finer of the clusterings: tags are coarse classes already.)
    fn class(&self, form: &str) -> u32 {
        let [_, fine] = self.vectors.get(&form.to_lowercase());
        u32::from(fine) + UNKNOWN
    }

    /// The number of words known by name.
    pub fn n_words(&self) -> usize {
        self.words.values.len()
    }

    /// Is this word known by name?
    pub fn knows(&self, form: &str) -> bool {
        self.words.get(form).is_some()
    }

    /// Did training see any tags?
    pub fn has_tags(&self) -> bool {
        !self.tags.values.is_empty()
    }

    /// Did training see this tag?
    pub fn knows_tag(&self, tag: &str) -> bool {
        self.tags.get(tag).is_some()
    }

    /// Did training see any XPOS?
    pub fn has_xpos(&self) -> bool {
        !self.xpos.values.is_empty()
    }

    /// Did training see this XPOS?
    pub fn knows_xpos(&self, xpos: &str) -> bool {
        self.xpos.get(xpos).is_some()
    }

    fn word(&self, form: &str) -> u32 {
        let offset = self.words.values.len() as u32;
        let class = |class: String| self.classes.get(&class).map(|id| id + offset);
        let known =
            self.words.get(form).or_else(|| class(fine_class(form))).or_else(|| class(coarse_class(form)));
        known.unwrap_or(UNKNOWN)
    }

    /// Encodes a sentence into tables that are reused.
    pub fn encode(&self, sentence: &Sentence, out: &mut Encoded) {
        let known = |table: &Table, value: &str| match value {
            "" => UNKNOWN,
            value => table.get(value).unwrap_or(UNKNOWN),
        };
        let wants = |column: Column| out.wants[column as usize] && self.has(column);
        out.rows.clear();
        out.rows.resize(sentence.len() + 2, [NONE; N_COLUMNS]);
        for column in Column::ALL.into_iter().filter(|&column| wants(column)) {
            let value = |token: &Token| match column {
                Column::Word => self.word(&token.form),
                Column::Tag => known(&self.tags, &token.tag),
                Column::Xpos => known(&self.xpos, &token.xpos),
                Column::Feats => known(&self.feats, &token.feats),
                Column::Suffix => known(&self.suffixes, &suffix(&token.form)),
                Column::Class => self.class(&token.form),
            };
            for (row, token) in zip(&mut out.rows, &sentence.tokens) {
                row[column as usize] = value(token);
            }
            out.rows[sentence.len()][column as usize] = END;
        }
        out.shapes.clear();
        if out.wants_shapes {
            out.shapes.extend(sentence.tokens.iter().map(|token| span_shape(&token.form)));
        }
    }

    /// Has a column values at all? Without vectors there are no classes.
    fn has(&self, column: Column) -> bool {
        column != Column::Class || !self.vectors.is_empty()
    }
}

impl Encoded {
    /// For those who look at these columns alone, and at shapes or not.
    pub(super) fn for_columns(wants: [bool; N_COLUMNS], wants_shapes: bool) -> Self {
        Encoded { rows: vec![[NONE; N_COLUMNS]], shapes: Vec::new(), wants, wants_shapes }
    }

    /// Forgets a long sentence and gives its memory back.
    pub(crate) fn give_back(&mut self) {
        const MAX_KEPT: usize = 1 << 16;
        if self.rows.len() > MAX_KEPT {
            (self.rows, self.shapes) = (vec![[NONE; N_COLUMNS]], Vec::new());
        }
    }

    /// The number of words.
    pub fn n_words(&self) -> usize {
        self.rows.len().saturating_sub(2)
    }

    /// The values at a place; `NONE` outside.
    #[inline(always)]
    pub(super) fn row(&self, place: usize) -> &Row {
        &self.rows[place.min(self.rows.len() - 1)]
    }

    /// A number for the shape of a span: runs of like words count once (paper 001, section 3).
    pub(super) fn shape(&self, left: usize, right: usize) -> u32 {
        let mut hash = 0x811c_9dc5u32;
        let mut last = 0;
        for &shape in self.shapes.get(left..right.min(self.shapes.len())).unwrap_or(&[]) {
            if shape != last {
                hash = (hash ^ u32::from(shape)).wrapping_mul(0x0100_0193);
                last = shape;
            }
        }
        hash
    }
}

/// One letter for a word in the shape of a span (paper 001, section 3): `X` capital, `x` ordinary, `N` number,
/// punctuation as it is, `O` anything else.
fn span_shape(form: &str) -> u8 {
    let mut chars = form.chars();
    let Some(first) = chars.next() else { return b'O' };
    if first.is_ascii_punctuation() && chars.next().is_none() {
        first as u8
    } else if first.is_uppercase() {
        b'X'
    } else if first.is_alphabetic() {
        b'x'
    } else if form.chars().any(|c| c.is_ascii_digit()) {
        b'N'
    } else {
        b'O'
    }
}

/// What kind of characters a word has, in a few letters.
fn coarse_class(form: &str) -> String {
    let mut class = String::from("?");
    let mut chars = form.chars();
    match chars.next() {
        Some(c) if c.is_uppercase() => {
            class.push(if form.chars().all(|c| !c.is_lowercase()) && form.chars().count() > 1 {
                'A'
            } else {
                'X'
            });
        }
        Some(c) if c.is_alphabetic() => class.push('x'),
        _ => {}
    }
    if form.chars().any(|c| c.is_ascii_digit()) {
        class.push('9');
    }
    if form.contains('-') {
        class.push('-');
    }
    if form.chars().all(|c| !c.is_alphanumeric()) {
        class.push('.');
    }
    class
}

/// The same, with the word's ending.
fn fine_class(form: &str) -> String {
    let mut class = coarse_class(form);
    class.push('|');
    class.push_str(&suffix(form));
    class
}

/// The last three characters, in lower case.
fn suffix(form: &str) -> String {
    let start = form.char_indices().rev().nth(2).map_or(0, |(i, _)| i);
    form[start..].to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::word_classes::WordVectors;

    #[test]
    fn rare_words_fall_back_to_their_class() {
        let sentence = Sentence::from_tagged([
            ("the", "D"),
            ("the", "D"),
            ("walking", "V"),
            ("talking", "V"),
            ("Paris", "N"),
            ("1999", "N"),
        ]);
        let vocabulary = Vocabulary::of([&sentence].into_iter());
        let mut encoded = Encoded::default();
        vocabulary.encode(
            &Sentence::from_tagged([("the", "D"), ("singing", "V"), ("London", "Q"), ("1234", "N")]),
            &mut encoded,
        );
        assert_eq!(vocabulary.n_words(), 1);
        let word = |place| encoded.row(place)[Column::Word as usize];
        assert_eq!(word(0), FIRST_FREE);
        assert_eq!(word(1), vocabulary.word("walking"), "the same ending, the same class");
        assert_eq!(word(2), UNKNOWN, "a class seen once is no class");
        assert_eq!(
            [0, 1, 2, 3, 4].map(|place| encoded.row(place)[Column::Tag as usize]),
            [3, 4, UNKNOWN, 5, END]
        );
        assert_eq!(encoded.row(9)[Column::Word as usize], NONE);
    }

    #[test]
    fn what_nobody_looks_at_is_not_filled() {
        let sentence = Sentence::from_tagged([("a", "T"), ("b", "U")]);
        let vocabulary = Vocabulary::of([&sentence].into_iter());
        let (mut all, mut tags) =
            (Encoded::default(), Encoded::for_columns(Column::ALL.map(|c| c == Column::Tag), false));
        vocabulary.encode(&sentence, &mut all);
        vocabulary.encode(&sentence, &mut tags);
        for place in [0, 1, 2, 3, usize::MAX] {
            let mut expected = [NONE; N_COLUMNS];
            expected[Column::Tag as usize] = all.row(place)[Column::Tag as usize];
            assert_eq!(*tags.row(place), expected);
        }
        assert!(tags.shapes.is_empty() && all.shapes.len() == 2);
    }

    #[test]
    fn a_vocabulary_survives_serde() {
        let sentence = Sentence::from_tagged([("a", "T"), ("a", "T"), ("b", "U")]);
        let vocabulary = Vocabulary::of([&sentence].into_iter());
        let text = serde_json::to_string(&vocabulary).expect("plain data");
        let again: Vocabulary = serde_json::from_str(&text).expect("what was written");
        let (mut one, mut two) = (Encoded::default(), Encoded::default());
        vocabulary.encode(&sentence, &mut one);
        again.encode(&sentence, &mut two);
        assert_eq!((one.rows, one.shapes), (two.rows, two.shapes));
    }

    #[test]
    fn words_have_the_classes_of_their_vectors() {
        let sentence = Sentence::from_tagged([("Cat", "N"), ("dog", "N"), ("zzz", "N")]);
        let vectors = WordVectors::read("cat 1 0\ndog 0 1\nthing 0.1 0.9\n".as_bytes(), 1);
        let vocabulary = Vocabulary::of([&sentence].into_iter())
            .with_vectors(vectors.expect("three vectors of two numbers").classes([].iter(), 1));
        let text = serde_json::to_string(&vocabulary).expect("plain data");
        for vocabulary in [vocabulary, serde_json::from_str(&text).expect("what was written")] {
            let mut encoded = Encoded::default();
            vocabulary.encode(&sentence, &mut encoded);
            let [cat, dog, other, end] = [0, 1, 2, 3].map(|place| encoded.row(place)[Column::Class as usize]);
            assert!(cat > UNKNOWN && dog > UNKNOWN && cat != dog);
            assert_eq!((other, end), (UNKNOWN, END));
            assert_eq!(encoded.row(4)[Column::Class as usize], NONE);
        }
        let mut encoded = Encoded::default();
        Vocabulary::of([&sentence].into_iter()).encode(&sentence, &mut encoded);
        assert_eq!(encoded.row(0)[Column::Class as usize], NONE, "without vectors there are no classes");
    }
}
