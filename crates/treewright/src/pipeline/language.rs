//! Is a text in the language of a model?
//!
//! A parser gives a tree to any text, and to a text in another language a useless one. The share of its words that the
//! training data had tells the two apart: with the treebanks this was tried on, 51 to 89 % for texts of the model's language,
//! other domains and centuries included, and at most 29 % for texts of another.

use crate::features::Vocabulary;
use crate::sentence::Sentence;

/// A text in the model's language has more than this share of known words.
const MIN_KNOWN: f64 = 0.4;
/// This many words may be known by chance, whatever the language.
const BY_CHANCE: f64 = 2.0;

/// A model that knows fewer words does not know its own language well enough to tell.
const MIN_VOCABULARY: usize = 1_000;

/// Does a model know enough words to tell its language from others?
pub(crate) fn can_tell(vocabulary: &Vocabulary) -> bool {
    vocabulary.n_words() >= MIN_VOCABULARY
}

/// How many of the words of a text a model knows. Numbers and punctuation marks are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KnownWords {
    /// Those the model knows.
    pub n_known: usize,
    /// All.
    pub n_words: usize,
}

impl KnownWords {
    /// Counts the words of a sentence, too.
    pub(crate) fn add_sentence(&mut self, sentence: &Sentence, vocabulary: &Vocabulary) {
        for token in &sentence.tokens {
            if token.form.chars().any(char::is_alphabetic) {
                let is_known = vocabulary.knows(&token.form) || vocabulary.knows(&token.form.to_lowercase());
                self.n_known += usize::from(is_known);
                self.n_words += 1;
            }
        }
    }

    /// Adds the counts of another text.
    pub fn add(&mut self, other: KnownWords) {
        self.n_known += other.n_known;
        self.n_words += other.n_words;
    }

    /// Is the text clearly in another language? Never so for a handful of words, of which a few may be names.
    pub fn is_other_language(&self) -> bool {
        self.n_known as f64 + BY_CHANCE < MIN_KNOWN * self.n_words as f64
    }

    /// The share of known words, in percent.
    pub fn percent(&self) -> f64 {
        100.0 * self.n_known as f64 / self.n_words.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(words: &str) -> Sentence {
        Sentence::from_tagged(words.split(' ').map(|word| (word, "")))
    }

    #[track_caller]
    fn check(text: &str, n_known: usize, n_words: usize, is_other: bool) {
        // A word seen once counts as unknown.
        let training = sentence("the dog and the cat and a dog and a cat barked , 1990 , 1990");
        let vocabulary = Vocabulary::of([&training].into_iter());
        let mut known = KnownWords::default();
        known.add_sentence(&sentence(text), &vocabulary);
        assert_eq!(known, KnownWords { n_known, n_words }, "{text}");
        assert_eq!(known.is_other_language(), is_other, "{text}");
    }

    #[test]
    fn words_are_counted_and_signs_are_not() {
        check("The dog barked , 1990", 2, 3, false);
        check("1990 , , ,", 0, 0, false);
    }

    #[test]
    fn few_words_prove_nothing() {
        check("de hond en de kat", 0, 5, false);
        check("de hond en de kat blaffen", 0, 6, true);
        check("de hond en de cat blaffen", 1, 6, false);
        check("de hond en de cat blaffen en a haas", 2, 9, false);
    }

    #[test]
    fn texts_are_added_up() {
        let mut known = KnownWords { n_known: 3, n_words: 10 };
        assert!(!known.is_other_language());
        known.add(KnownWords { n_known: 1, n_words: 10 });
        assert_eq!(known, KnownWords { n_known: 4, n_words: 20 });
        assert!(known.is_other_language());
        assert!((known.percent() - 20.0).abs() < 1e-9);
    }
}
