//! Sentences and words of several files as ranges of one text, where segmenters have cut it differently.
//!
//! White space does not count, and what Penn treebanks escape is the same escaped and not: `-LRB-` and `(`, ` `` ` and
//! `"`. Traces have no characters.

use std::ops::Range;

use crate::sentence::Sentence;
use crate::tree::{Entry, Tree};

/// Appends what counts of a form. Escapes are written out rather than undone, so that an escape that a segmenter has
/// cut to pieces (`-`, `LRB`, `-`) still has its place.
fn add_form(form: &str, out: &mut String) {
    let mut chars = form.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '(' => out.push_str("-LRB-"),
            ')' => out.push_str("-RRB-"),
            '[' => out.push_str("-LSB-"),
            ']' => out.push_str("-RSB-"),
            '{' => out.push_str("-LCB-"),
            '}' => out.push_str("-RCB-"),
            '"' | '“' | '”' => out.push_str("''"),
            '`' | '‘' | '’' => out.push('\''),
            '\\' if matches!(chars.peek(), Some('/' | '*')) => {}
            c if c.is_whitespace() => {}
            c => out.push(c),
        }
    }
}

/// The text of some sentences, and the range of each word in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Spans {
    pub text: String,
    pub words: Vec<Range<usize>>,
}

impl Spans {
    /// Adds the words of a sentence.
    pub fn add(&mut self, sentence: &Sentence) {
        for token in &sentence.tokens {
            let start = self.text.len();
            if !token.is_trace() {
                add_form(&token.form, &mut self.text);
            }
            self.words.push(start..self.text.len());
        }
    }

    /// Adds the tokens of a sentence as written, contractions whole.
    fn add_surface(&mut self, sentence: &Sentence) {
        for (form, ..) in sentence.surface() {
            let start = self.text.len();
            add_form(form, &mut self.text);
            self.words.push(start..self.text.len());
        }
    }
}

/// A place in a file: sentence and word, both from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The sentence.
    pub sentence: usize,
    /// The word in it.
    pub word: usize,
}

/// The first place where two texts differ. `None` is the end of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The file that differs from the first one.
    pub file: usize,
    /// The place in the first file.
    pub first: Option<Place>,
    /// The place in the other file.
    pub other: Option<Place>,
}

/// The whole text of a file.
struct Text {
    text: String,
    words: Vec<Range<usize>>,
    /// Per sentence, its end in the text, and among the words.
    ends: Vec<(usize, usize)>,
}

impl Text {
    fn new(entries: &[&Entry]) -> Self {
        let mut spans = Spans::default();
        let mut ends = Vec::with_capacity(entries.len());
        for entry in entries {
            match entry.tree {
                Some(Tree::Dependency(_)) => spans.add_surface(&entry.sentence),
                _ => spans.add(&entry.sentence),
            }
            ends.push((spans.text.len(), spans.words.len()));
        }
        // disco-dop's own escapes, also when cut to pieces.
        let text = spans.text.replace("#LRB#", "-LRB-").replace("#RRB#", "-RRB-");
        Text { text, words: spans.words, ends }
    }

    fn place(&self, at: usize) -> Option<Place> {
        let word = self.words.partition_point(|word| word.end <= at);
        let sentence = self.ends.partition_point(|&(_, n_words)| n_words <= word);
        let first = sentence.checked_sub(1).map_or(0, |before| self.ends[before].1);
        (word < self.words.len()).then_some(Place { sentence, word: word - first })
    }
}

/// The fewest sentences of each file that start and end at the same places in all files. A sentence without text is in
/// none of them.
pub type Unit = Vec<Range<usize>>;

/// Cuts files with the same text into units.
///
/// # Errors
/// When a text differs from the first one.
pub fn units(files: &[&[&Entry]]) -> Result<Vec<Unit>, Difference> {
    let texts: Vec<Text> = files.iter().map(|entries| Text::new(entries)).collect();
    let Some((first, others)) = texts.split_first() else { return Ok(Vec::new()) };
    if let Some(i) = others.iter().position(|other| other.text != first.text) {
        let other = &others[i];
        let same = first.text.bytes().zip(other.text.bytes()).take_while(|(a, b)| a == b).count();
        return Err(Difference { file: i + 1, first: first.place(same), other: other.place(same) });
    }
    let mut units = Vec::new();
    let mut from = vec![0; files.len()];
    let (mut start, end) = (0, first.text.len());
    while start < end {
        let mut to = from.clone();
        // All files go on until they meet at the end of a sentence.
        let mut at = start + 1;
        loop {
            let mut furthest = at;
            for (text, to) in texts.iter().zip(&mut to) {
                while text.ends[*to].0 < at {
                    *to += 1;
                }
                furthest = furthest.max(text.ends[*to].0);
            }
            if furthest == at {
                break;
            }
            at = furthest;
        }
        let mut unit = Unit::new();
        for ((text, from), to) in texts.iter().zip(&mut from).zip(&to) {
            while text.ends[*from].0 <= start {
                *from += 1;
            }
            unit.push(*from..to + 1);
            *from = to + 1;
        }
        units.push(unit);
        start = at;
    }
    Ok(units)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sentences are separated by `|`, words by spaces.
    fn entries(text: &str) -> Vec<Entry> {
        let sentence = |text: &str| Sentence::from_tagged(text.split_whitespace().map(|word| (word, "X")));
        text.split('|').map(|text| Entry { sentence: sentence(text), tree: None }).collect()
    }

    fn found(texts: &[&str]) -> Result<Vec<String>, Difference> {
        let files: Vec<Vec<Entry>> = texts.iter().map(|text| entries(text)).collect();
        let files: Vec<Vec<&Entry>> = files.iter().map(|file| file.iter().collect()).collect();
        let files: Vec<&[&Entry]> = files.iter().map(Vec::as_slice).collect();
        let show = |range: &Range<usize>| format!("{}-{}", range.start, range.end);
        let show = |unit: &Unit| unit.iter().map(show).collect::<Vec<_>>().join(" ");
        units(&files).map(|units| units.iter().map(show).collect())
    }

    #[track_caller]
    fn check(texts: &[&str], expected: &[&str]) {
        assert_eq!(found(texts).expect("the same text"), expected);
    }

    #[test]
    fn units_are_the_fewest_sentences_that_end_together() {
        check(&["a b|c d", "a b|cd"], &["0-1 0-1", "1-2 1-2"]);
        check(&["a b|c d|e", "a|b c|d|e"], &["0-2 0-3", "2-3 3-4"]);
        check(&["a b|c d|e", "a|b c|d|e", "a b c d e"], &["0-3 0-4 0-1"]);
        check(&["a|b|c", "a b|c", "a|b|c"], &["0-2 0-1 0-2", "2-3 1-2 2-3"]);
        check(&["a||b|", "|a|b"], &["0-1 1-2", "2-3 2-3"]);
        check(&["", "|"], &[]);
    }

    #[test]
    fn escapes_are_the_same_text() {
        check(&["-LRB- a -RSB- `` b '' c\\/d", "- LRB - a] “b” c/d"], &["0-1 0-1"]);
        check(&["#LRB# a", "# LRB# a", "(a"], &["0-1 0-1 0-1"]);
    }

    #[test]
    fn the_first_difference_has_a_place() {
        let at = |sentence, word| Some(Place { sentence, word });
        let differ = |first, other| Err(Difference { file: 1, first, other });
        assert_eq!(found(&["a b|c d", "a|b|c x"]), differ(at(1, 1), at(2, 1)));
        assert_eq!(found(&["a b|c d", "a b"]), differ(at(1, 0), None));
        assert_eq!(found(&["a", "a b"]), differ(None, at(0, 1)));
    }
}
