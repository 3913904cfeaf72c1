//! What a word looks like on its own: the parts of its form, its dictionary entry, its classes.

use super::lexicon::{Entry, Lexicon};
use crate::hash::{feature, key};
use crate::word_classes::WordClasses;

/// Salts of the keys of words.
const FORM: u64 = 1;
const FOLDED: u64 = 2;

/// In characters: the longest prefix and suffix that features see; the longest ending that is taken off to find a word
/// inside a word; the shortest such word.
const LONGEST_AFFIX: usize = 5;
const LONGEST_ENDING: usize = 4;
const SHORTEST_PART: usize = 3;

/// What features of the context see of a word: keys, and the places of its candidates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub form: u32,
    pub folded: u32,
    pub suffix2: u32,
    pub suffix3: u32,
    pub shape: u32,
    /// The set of tags it was seen with: as written, or else folded.
    pub tags: u32,
    /// The set of readings it was seen with.
    pub readings: u32,
    pub clusters: [u16; 2],
    /// How it uses capitals, as in `flags`; 7 without letters.
    pub capital: u8,
    /// The dictionary's entry: as written, or else folded.
    pub entry: Option<Entry>,
    /// Was the entry found as written?
    pub exact: bool,
}

impl Word {
    /// What stands before the first and after the last word.
    pub(super) const EDGE: Word = Word {
        form: 2,
        folded: 2,
        suffix2: 2,
        suffix3: 2,
        shape: 2,
        tags: 2,
        readings: 2,
        clusters: [u16::MAX; 2],
        capital: 7,
        entry: None,
        exact: false,
    };
}

/// A form taken apart; the memory is kept from word to word.
#[derive(Default)]
pub(super) struct WordReader {
    lower: String,
    folded: String,
    shape: String,
    /// Where the characters of `folded` begin, and its length.
    starts: Vec<usize>,
}

/// The keys of a form, by which the dictionary knows it.
#[derive(Clone, Copy)]
pub(super) struct Keys {
    pub form: u32,
    pub folded: u32,
}

/// Longer words are cut here: features of a word of a megabyte would not mean anything.
const MAX_BYTES: usize = 256;

fn head(form: &str) -> &str {
    if form.len() <= MAX_BYTES {
        return form;
    }
    let end = (0..=MAX_BYTES).rev().find(|&end| form.is_char_boundary(end));
    &form[..end.unwrap_or(0)]
}

impl WordReader {
    /// Folds a form and gives its keys.
    pub(super) fn keys(&mut self, form: &str) -> Keys {
        self.lower.clear();
        self.folded.clear();
        for c in head(form).chars() {
            if c.is_ascii() {
                self.lower.push(c.to_ascii_lowercase());
            } else {
                self.lower.extend(c.to_lowercase());
            }
        }
        self.folded.extend(self.lower.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }));
        Keys { form: key(FORM, form), folded: key(FOLDED, &self.folded) }
    }

    /// What is known of the form last given to [`WordReader::keys`], with these entries for it as written and folded.
    /// `out` gets the keys of its features.
    pub(super) fn word(
        &mut self,
        form: &str,
        keys: Keys,
        entries: [Option<Entry>; 2],
        lexicon: &Lexicon,
        classes: &WordClasses,
        out: &mut Vec<u32>,
    ) -> Word {
        let form = head(form);
        self.starts.clear();
        self.starts.extend(self.folded.char_indices().map(|(at, _)| at));
        let n = self.starts.len();
        self.starts.push(self.folded.len());
        let prefix = |k: usize| key(3, &self.folded[..self.starts[k.min(n)]]);
        let suffix = |k: usize| key(4, &self.folded[self.starts[n - k.min(n)]..]);
        let flags = flags(form);
        let shape = {
            self.shape.clear();
            shape(form, &mut self.shape);
            key(5, &self.shape)
        };
        let clusters = classes.get(&self.lower);
        let tags_key =
            |entry: Option<Entry>| entry.map_or(1, |entry| lexicon.classes.get(entry.class).tags_key);
        let readings_key =
            |entry: Option<Entry>| entry.map_or(1, |entry| lexicon.classes.get(entry.class).readings_key);
        let times = |entry: Option<Entry>| entry.map_or(0, |entry| u32::from(entry.seen).min(5));
        let [exact, folded] = entries;
        let entry = exact.or(folded);
        let word = Word {
            // An unknown word is no feature; in training this is a word that was seen this once.
            form: exact.map_or(1, |_| keys.form),
            folded: folded.map_or(1, |_| keys.folded),
            suffix2: suffix(2),
            suffix3: suffix(3),
            shape,
            tags: tags_key(entry) ^ u32::from(exact.is_none()),
            readings: readings_key(entry),
            clusters,
            capital: if form.chars().any(char::is_alphabetic) { (flags & 7) as u8 } else { 7 },
            entry,
            exact: exact.is_some(),
        };
        let capital = flags & 7;
        let mut add = |template: u32, a: u32, b: u32| out.push(feature(template, a, b, 0));
        add(0, 0, 0);
        if exact.is_some() {
            add(1, keys.form, 0);
        }
        if folded.is_some() {
            add(2, keys.folded, 0);
        }
        for k in 1..=LONGEST_AFFIX.min(n) {
            add(3, prefix(k), k as u32);
            add(4, suffix(k), k as u32);
        }
        add(5, shape, 0);
        add(6, flags, 0);
        add(7, shape, suffix(2));
        add(8, capital, suffix(3));
        add(9, tags_key(exact), times(exact));
        add(10, tags_key(folded), times(folded));
        add(11, tags_key(folded), shape);
        add(12, tags_key(folded), suffix(3));
        add(13, readings_key(entry), times(entry));
        if !classes.is_empty() {
            let [coarse, fine] = clusters.map(u32::from);
            add(14, coarse, 0);
            add(15, fine, 0);
            add(16, coarse, capital);
            add(17, fine, capital);
            add(18, coarse, suffix(2));
            add(19, coarse, suffix(3));
            add(20, fine, tags_key(folded));
        }
        add(21, n.min(12) as u32, capital);
        // The word without its last characters, and its last part on its own, may be words: "strike" in "strikes".
        let stem = (1..=LONGEST_ENDING).take_while(|k| k + SHORTEST_PART <= n).find_map(|k| {
            let entry = lexicon.get(key(FOLDED, &self.folded[..self.starts[n - k]]))?;
            Some((entry, k))
        });
        if let Some((entry, k)) = stem {
            add(24, tags_key(Some(entry)), suffix(k));
            add(25, tags_key(Some(entry)), k as u32);
        }
        let tail = (1..n.saturating_sub(SHORTEST_PART - 1))
            .find_map(|from| lexicon.get(key(FOLDED, &self.folded[self.starts[from]..])));
        if tail.is_some() {
            add(26, tags_key(tail), capital);
            add(27, readings_key(tail), 0);
        }
        word
    }
}

/// Which kinds of characters a form has. The lowest three bits tell about capitals.
fn flags(form: &str) -> u32 {
    let (mut upper, mut lower, mut digit, mut other, mut n) = (0u32, 0u32, 0u32, 0u32, 0u32);
    let mut special = 0;
    for c in form.chars() {
        n += 1;
        if c.is_lowercase() {
            lower += 1;
        } else if c.is_uppercase() {
            upper += 1;
        } else if c.is_numeric() {
            digit += 1;
        } else if !c.is_alphabetic() {
            other += 1;
            special |= match c {
                '-' | '\u{2010}'..='\u{2015}' => 1,
                '.' => 2,
                '@' => 4,
                '/' | ':' => 8,
                '\'' | '\u{2019}' => 16,
                _ => 32,
            };
        }
    }
    let first = form.chars().next().is_some_and(char::is_uppercase);
    let capital = match () {
        () if upper == 0 => 0,
        () if first && upper == 1 && n == 1 => 1,
        () if upper == n => 2,
        () if first && upper == 1 => 3,
        () if lower == 0 => 4,
        () if first => 5,
        () => 6,
    };
    let has = |count: u32, bit: u32| {
        if count == 0 {
            0
        } else if count == n {
            3 << bit
        } else {
            1 << bit
        }
    };
    capital | has(digit, 3) | has(other, 5) | special << 7
}

/// Kinds of characters in order, each run as one.
fn shape(form: &str, out: &mut String) {
    let mut last = None;
    for c in form.chars() {
        let kind = match c {
            _ if c.is_lowercase() => 'x',
            _ if c.is_uppercase() => 'X',
            _ if c.is_numeric() => '0',
            _ if c.is_alphabetic() => 'a',
            _ => c,
        };
        if last != Some(kind) && out.len() < 24 {
            out.push(kind);
        }
        last = Some(kind);
    }
}
