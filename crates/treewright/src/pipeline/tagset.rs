//! Are the tags of a sentence those that a parser was trained on?
//!
//! A parser that meets tags of another tagset would be misled without a word. So each sentence that comes with tags is
//! compared with the tags of the training data, on its own: the answer does not depend on other sentences, on the order
//! of reading or on the number of threads. A column fits if the model knows the tags of at least half of the words that
//! have one; tags that are punctuation marks are left aside, because most tagsets share those.

use crate::features::Vocabulary;
use crate::sentence::{Sentence, Str, Token};

/// How many tags are shown as examples of those that are not known.
const MAX_EXAMPLES: usize = 3;

/// What a parser can make of the tags of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// There are none.
    Absent,
    /// The tags are the model's, and so are those of the second column, if it looks at any.
    Tags,
    /// The tags are the model's, but those of the second column are not.
    TagsWithoutXpos,
    /// The tags are not the model's, but those of the second column are: Penn tags beside UPOS, and a parser for Penn
    /// tags.
    XposAsTags,
    /// UPOS is missing or not the model's, but the tags are what it knows as XPOS: Penn tags, and a parser for Universal
    /// Dependencies. They stand where XPOS does.
    XposAlone,
    /// The same, but they stand where UPOS should.
    XposInTags,
    /// No column has tags that the model knows.
    Unknown,
}

impl Fit {
    /// Compares the tags of a sentence with those of the training data.
    pub(crate) fn of(sentence: &Sentence, vocabulary: &Vocabulary) -> Self {
        let tag = |token: &Token| vocabulary.knows_tag(&token.tag);
        // A parser that never saw a tag does not look at them.
        let tags = fits(sentence, |token| &token.tag, |token| !vocabulary.has_tags() || tag(token));
        if tags == Some(true) {
            let known = |token: &Token| vocabulary.knows_xpos(&token.xpos);
            let is_misleading =
                vocabulary.has_xpos() && fits(sentence, |token| &token.xpos, known) == Some(false);
            return if is_misleading { Fit::TagsWithoutXpos } else { Fit::Tags };
        }
        let xpos = fits(sentence, |token| &token.xpos, |token| vocabulary.knows_tag(&token.xpos));
        match xpos {
            Some(true) => return Fit::XposAsTags,
            None if tags.is_none() => return Fit::Absent,
            _ => {}
        }
        let known = |token: &Token| vocabulary.knows_xpos(&token.xpos);
        if fits(sentence, |token| &token.xpos, known) == Some(true) {
            return Fit::XposAlone;
        }
        let known = |token: &Token| vocabulary.knows_xpos(&token.tag);
        if fits(sentence, |token| &token.tag, known) == Some(true) { Fit::XposInTags } else { Fit::Unknown }
    }
}

/// Are at least half of the tags in a column known? Nothing if the column is empty.
fn fits(
    sentence: &Sentence,
    column: impl Fn(&Token) -> &Str,
    is_known: impl Fn(&Token) -> bool,
) -> Option<bool> {
    // Words, then punctuation marks: how many tags there are, and how many are known.
    let mut counts = [(0, 0); 2];
    for token in &sentence.tokens {
        let tag = column(token);
        if !tag.is_empty() {
            let (n, n_known) = &mut counts[usize::from(is_mark(tag))];
            *n += 1;
            *n_known += usize::from(is_known(token));
            // Whatever follows, at least half of the words will be known.
            if counts[0].1 * 2 >= sentence.len() {
                return Some(true);
            }
        }
    }
    let (n, n_known) = counts.into_iter().find(|(n, _)| *n > 0)?;
    Some(n_known * 2 >= n)
}

/// Is a tag nothing but punctuation, such as `,` or `''`?
fn is_mark(tag: &str) -> bool {
    tag.bytes().all(|byte| byte.is_ascii_punctuation())
}

/// Tags that a model does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownTags {
    /// How many sentences have such tags.
    pub n_sentences: usize,
    /// A few tags of the first of these sentences.
    pub examples: Vec<Str>,
    /// Did the tagger replace them? Without a tagger they are used as they are.
    pub is_retagged: bool,
}

impl UnknownTags {
    /// Those of a sentence; of the second column where the first is empty.
    pub(crate) fn of(sentence: &Sentence, vocabulary: &Vocabulary, is_retagged: bool) -> Self {
        let mut examples: Vec<Str> = Vec::new();
        for token in &sentence.tokens {
            let tag = if token.tag.is_empty() { &token.xpos } else { &token.tag };
            let is_new = !tag.is_empty() && !vocabulary.knows_tag(tag) && !examples.contains(tag);
            if is_new && !is_mark(tag) {
                examples.push(tag.clone());
            }
            if examples.len() == MAX_EXAMPLES {
                break;
            }
        }
        UnknownTags { n_sentences: 1, examples, is_retagged }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sentence of `TAG` or `TAG|XPOS`, separated by spaces.
    fn sentence(tags: &str) -> Sentence {
        let token = |tags: &str| {
            let (tag, xpos) = tags.split_once('|').unwrap_or((tags, ""));
            Token { xpos: xpos.into(), ..Token::new("w", tag) }
        };
        Sentence { tokens: tags.split(' ').map(token).collect(), ..Sentence::default() }
    }

    #[track_caller]
    fn check(known: &str, given: &str, expected: Fit) {
        let vocabulary = Vocabulary::of([&sentence(known)].into_iter());
        assert_eq!(Fit::of(&sentence(given), &vocabulary), expected, "{given} for {known}");
    }

    const UD: &str = "DET|DT NOUN|NN VERB|VBZ PUNCT|. ADJ|JJ";
    const PENN: &str = "DT NN VBZ . JJ ,";

    #[test]
    fn the_column_is_chosen_whose_tags_are_known() {
        check(UD, "DET|DT NOUN|NN", Fit::Tags);
        check(UD, "DET NOUN", Fit::Tags);
        check(UD, "DET|art NOUN|n", Fit::TagsWithoutXpos);
        check(UD, "DT NN .", Fit::XposInTags);
        check(UD, "|DT |NN", Fit::XposAlone);
        check(UD, "Art|DT N|NN", Fit::XposAlone);
        check(UD, "Art|art N|n", Fit::Unknown);
        check(UD, "| |", Fit::Absent);
        check(PENN, "DET|DT NOUN|NN", Fit::XposAsTags);
        check(PENN, "|DT |NN", Fit::XposAsTags);
        check(PENN, "DET NOUN", Fit::Unknown);
        check(PENN, "DT|x NN|y", Fit::Tags);
    }

    #[test]
    fn a_few_odd_tags_do_not_matter_and_punctuation_does_not_count() {
        check(PENN, "DT NN FOO BAR", Fit::Tags);
        check(PENN, "DT NN FOO BAR BAZ", Fit::Unknown);
        check(PENN, "UH , . , .", Fit::Unknown);
        check(PENN, ". .", Fit::Tags);
        check("N ( )", "$ $ (", Fit::Unknown);
    }

    #[test]
    fn a_model_without_tags_takes_any() {
        check("|", "DT NN", Fit::Tags);
    }

    #[test]
    fn examples_are_different_words() {
        let vocabulary = Vocabulary::of([&sentence(UD)].into_iter());
        let unknown = UnknownTags::of(&sentence("DET NN . NN |VBZ JJ FW"), &vocabulary, true);
        assert_eq!(unknown.examples, ["NN", "VBZ", "JJ"]);
    }
}
