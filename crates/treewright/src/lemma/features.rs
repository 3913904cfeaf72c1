//! What a lemma is decided by: the word's letters and its tags. Neighbouring words are not looked at.

use super::edit::lower;
use crate::hash;
use crate::sentence::Token;

/// Beginnings and ends of a word have at most this many characters.
const MAX_PREFIX: usize = 4;
const MAX_SUFFIX: usize = 7;
/// And together with all tags this many.
const MAX_TAGGED_SUFFIX: usize = 5;

/// How a word is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum Shape {
    /// Without letters that could be capitals.
    #[default]
    Uncased,
    Lower,
    Capitalised,
    /// All capitals, at least two.
    Upper,
    Mixed,
}

/// A word taken apart; memory is reused from word to word.
#[derive(Default)]
pub(super) struct Word {
    /// The form, by character.
    pub chars: Vec<char>,
    /// The same in small letters.
    lowered: String,
    /// Where each of its characters begins, and its end.
    starts: Vec<usize>,
    shape: Shape,
    /// The keys of the form, of the form in small letters, of the tag, and of all tags.
    pub form: u32,
    pub folded: u32,
    pub tag: u32,
    pub reading: u32,
    /// Is it the first of its sentence?
    is_first: bool,
    pattern: String,
}

/// The key of a main tag.
pub(super) fn tag_key(tag: &str) -> u32 {
    hash::key(2, tag)
}

/// Marks above and below letters: of Latin, Greek, Hebrew and Arabic.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36F}' | '\u{591}'..='\u{5C7}' | '\u{610}'..='\u{61A}' | '\u{64B}'..='\u{65F}' | '\u{670}')
}

impl Word {
    /// Looks at a word.
    pub(super) fn set(&mut self, token: &Token, is_first: bool) {
        let Word { chars, lowered, starts, .. } = self;
        chars.clear();
        lowered.clear();
        starts.clear();
        let (mut n_upper, mut n_lower, mut first_is_upper) = (0, 0, false);
        for (i, c) in token.form.chars().enumerate() {
            let small = lower(c);
            let is_upper = small != c;
            first_is_upper |= i == 0 && is_upper;
            n_upper += usize::from(is_upper);
            n_lower += usize::from(!is_upper && c.is_lowercase());
            chars.push(c);
            starts.push(lowered.len());
            lowered.push(small);
        }
        starts.push(lowered.len());
        self.shape = match (n_upper, n_lower) {
            (0, 0) => Shape::Uncased,
            (0, _) => Shape::Lower,
            (1, _) if first_is_upper => Shape::Capitalised,
            (_, 0) => Shape::Upper,
            _ => Shape::Mixed,
        };
        self.form = hash::key(1, &token.form);
        self.folded = if n_upper == 0 { self.form } else { hash::key(1, &self.lowered) };
        self.tag = tag_key(&token.tag);
        self.reading = hash::feature(0, self.tag, hash::key(3, &token.xpos), hash::key(4, &token.feats));
        self.is_first = is_first;
    }

    /// Can the casing of its lemma be in doubt?
    pub(super) fn has_case(&self) -> bool {
        self.shape != Shape::Uncased
    }

    fn len(&self) -> usize {
        self.chars.len()
    }

    /// The key of the last `n` characters; a whole word differs from the end of a longer one.
    fn suffix(&self, n: usize) -> u32 {
        let n = n.min(self.len());
        hash::key(5 + u64::from(n == self.len()), &self.lowered[self.starts[self.len() - n]..])
    }

    fn prefix(&self, n: usize) -> u32 {
        let n = n.min(self.len());
        hash::key(7 + u64::from(n == self.len()), &self.lowered[..self.starts[n]])
    }

    /// The features by which the edit is chosen.
    pub(super) fn edit_keys(&mut self, out: &mut Vec<u32>) {
        out.clear();
        let (tag, reading) = (self.tag, self.reading);
        let shape = self.shape as u32;
        out.push(hash::feature(1, tag, 0, 0));
        out.push(hash::feature(2, reading, 0, 0));
        out.push(hash::feature(3, reading, shape, self.len().min(8) as u32));
        out.push(hash::feature(4, tag, shape, 0));
        for n in 1..=self.len().min(MAX_SUFFIX) {
            let suffix = self.suffix(n);
            out.push(hash::feature(5, suffix, tag, 0));
            if n <= MAX_TAGGED_SUFFIX {
                out.push(hash::feature(6, suffix, reading, 0));
            }
        }
        for n in 1..=self.len().min(MAX_PREFIX) {
            out.push(hash::feature(7, self.prefix(n), tag, 0));
        }
        for n in 2..=self.len().min(3) {
            out.push(hash::feature(8, self.prefix(n), self.suffix(n), reading));
        }
        // Where vowels are written as marks, they show how the word was made from its root.
        self.pattern.clear();
        let mark = |c: char| if is_mark(c) { c } else { '-' };
        self.pattern.extend(self.chars.iter().map(|&c| mark(c)));
        if self.pattern.bytes().any(|b| b != b'-') {
            let pattern = hash::key(9, &self.pattern);
            out.push(hash::feature(9, pattern, tag, 0));
            out.push(hash::feature(10, pattern, reading, 0));
            out.push(hash::feature(11, pattern, reading, self.suffix(1)));
            out.push(hash::feature(12, pattern, reading, self.prefix(1)));
            out.push(hash::feature(13, pattern, tag, hash::feature(0, self.prefix(3), self.suffix(3), 0)));
        }
    }

    /// The features by which the casing is chosen.
    pub(super) fn casing_keys(&self, out: &mut Vec<u32>) {
        out.clear();
        let (tag, reading, shape) = (self.tag, self.reading, self.shape as u32);
        let place = shape * 2 + u32::from(self.is_first);
        out.push(hash::feature(21, shape, 0, 0));
        out.push(hash::feature(22, shape, tag, 0));
        out.push(hash::feature(23, shape, reading, 0));
        out.push(hash::feature(24, place, tag, 0));
        out.push(hash::feature(25, place, reading, 0));
        out.push(hash::feature(26, shape, reading, self.len().min(6) as u32));
        out.push(hash::feature(27, shape, self.suffix(2), tag));
        out.push(hash::feature(28, shape, self.suffix(3), tag));
        out.push(hash::feature(29, shape, self.suffix(4), tag));
        out.push(hash::feature(30, shape, self.prefix(3), tag));
    }
}
