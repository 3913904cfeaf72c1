//! What is looked at of a word: its form, its tag, its vector.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::hash;
use crate::rng::Rng;
use crate::score::neural::words::Vectors;
use crate::sentence::{Sentence, Str, Token};

/// Unknown words share this many rows, by what they look like.
const N_UNKNOWN: usize = 128;
/// The row of unknown tags.
const UNKNOWN_TAG: u32 = 0;
const SALT: u64 = 79;

/// The words and tags of the training data, as the model file has them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Lexicon {
    /// Those that were seen twice or more come first.
    words: Vec<Str>,
    n_frequent: usize,
    tags: Vec<Str>,
}

/// How words are turned into rows of tables.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    pub lexicon: Lexicon,
    pub vectors: Vectors,
    words: FxHashMap<Str, u32>,
    tags: FxHashMap<Str, u32>,
}

/// The rows of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WordRows {
    pub word: u32,
    pub tag: u32,
    pub vector: u32,
}

impl Lexicon {
    pub(super) fn of(sentences: &[&Sentence]) -> Self {
        let mut counts: FxHashMap<&str, u32> = FxHashMap::default();
        let (mut words, mut tags): (Vec<Str>, Vec<Str>) = (Vec::new(), Vec::new());
        for token in sentences.iter().flat_map(|sentence| &sentence.tokens) {
            let count = counts.entry(&token.form).or_insert(0);
            *count += 1;
            if *count == 1 {
                words.push(token.form.clone());
            }
            tags.push(token.tag.clone());
        }
        let is_singleton = |word: &Str| counts[&**word] == 1;
        words.sort_by_key(is_singleton);
        tags.sort_unstable();
        tags.dedup();
        Lexicon { n_frequent: words.partition_point(|word| !is_singleton(word)), words, tags }
    }

    pub(super) fn n_word_rows(&self) -> usize {
        N_UNKNOWN + self.words.len()
    }

    pub(super) fn n_tag_rows(&self) -> usize {
        1 + self.tags.len()
    }
}

impl Reader {
    pub(super) fn new(lexicon: Lexicon, vectors: Vectors) -> Self {
        let rows = |words: &[Str], first: usize| {
            words.iter().enumerate().map(|(i, word)| (word.clone(), (first + i) as u32)).collect()
        };
        Reader { words: rows(&lexicon.words, N_UNKNOWN), tags: rows(&lexicon.tags, 1), lexicon, vectors }
    }

    /// The rows of a word. With a generator and a probability, words that were seen once are at times unknown.
    pub(super) fn read(&self, token: &Token, noise: Option<(&mut Rng, f64)>) -> WordRows {
        let known = self.words.get(&token.form).copied().filter(|&row| match noise {
            Some((rng, p)) if row as usize >= N_UNKNOWN + self.lexicon.n_frequent => rng.unit() >= p,
            _ => true,
        });
        WordRows {
            word: known.unwrap_or_else(|| unknown_row(&token.form)),
            tag: self.tags.get(&token.tag).copied().unwrap_or(UNKNOWN_TAG),
            vector: self.vectors.find(&token.form.to_lowercase()),
        }
    }
}

/// The row of an unknown word: by capitals, digits, hyphens and, unless it is short, its last two letters.
fn unknown_row(form: &str) -> u32 {
    let is = |test: fn(char) -> bool| if form.chars().any(test) { '1' } else { '0' };
    let first = form.chars().next().map_or('0', |c| if c.is_uppercase() { '1' } else { '0' });
    let mut look: String =
        [first, is(char::is_lowercase), is(|c| c.is_ascii_digit()), is(|c| c == '-')].into_iter().collect();
    if form.chars().count() > 3 && !form.chars().any(|c| c.is_ascii_digit()) {
        look.extend(form.chars().rev().take(2).flat_map(char::to_lowercase));
    }
    (hash::of_bytes(SALT, look.as_bytes()) % N_UNKNOWN as u64) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::neural::words::NONE;

    #[test]
    fn singletons_are_at_times_unknown() {
        let sentence = Sentence::from_tagged([("once", "N"), ("the", "D"), ("the", "D")]);
        let reader = Reader::new(Lexicon::of(&[&sentence]), Vectors::default());
        let once = reader.read(&Token::new("once", "N"), None);
        let the = reader.read(&Token::new("the", "D"), None);
        assert_eq!([the.word, once.word], [N_UNKNOWN as u32, N_UNKNOWN as u32 + 1]);
        assert_eq!([the.tag, once.tag, once.vector], [1, 2, NONE]);
        let mut rng = Rng::new(1);
        let mut count = |form: &str| {
            let rows = |_| reader.read(&Token::new(form, "X"), Some((&mut rng, 0.5))).word;
            (0..100).map(rows).filter(|row| (*row as usize) < N_UNKNOWN).count()
        };
        assert!((30..70).contains(&count("once")));
        assert_eq!([count("the"), count("other")], [0, 100]);
        assert_eq!(reader.read(&Token::new("The", "X"), None).tag, UNKNOWN_TAG);
    }

    #[test]
    fn unknown_words_share_rows_by_their_looks() {
        assert_eq!(unknown_row("walking"), unknown_row("talking"));
        assert_eq!(unknown_row("1987"), unknown_row("12"));
        assert_ne!(unknown_row("Walking"), unknown_row("walking"));
        assert!([unknown_row(""), unknown_row("é"), unknown_row("日本語文")].iter().all(|row| *row < 128));
    }
}
