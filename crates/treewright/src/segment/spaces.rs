//! Scripts that put no spaces between words, and the text of a treebank in one of them.

use serde::{Deserialize, Serialize};

use super::gold::knows_spaces;
use crate::names::by_name;
use crate::sentence::Sentence;

/// The way in which text is written, if a treebank does not say where its spaces are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spaces {
    /// As the script of its words is: with spaces, unless most letters are of a script without.
    #[default]
    Guess,
    /// With spaces between words, but not before or after punctuation.
    Yes,
    /// Without spaces between words.
    No,
}

impl Spaces {
    /// Every one of them.
    pub const ALL: &[Spaces] = &[Spaces::Guess, Spaces::Yes, Spaces::No];

    /// Its name in settings and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Spaces::Guess => "guess",
            Spaces::Yes => "yes",
            Spaces::No => "no",
        }
    }
}

by_name!(Spaces, "kind of spaces");

/// The places of spaces in the text of a treebank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// Those that the treebank gives: it has `# text` or `SpaceAfter=No`.
    Given,
    /// Between words, but not before or after punctuation.
    Spaced {
        /// True if this was guessed from the script.
        is_guess: bool,
    },
    /// Nowhere but between words of other scripts, such as Latin letters and digits.
    Unspaced {
        /// True if this was guessed from the script.
        is_guess: bool,
    },
}

impl Written {
    /// The places of spaces in the text of these sentences.
    pub fn of(sentences: &[Sentence], spaces: Spaces) -> Written {
        if knows_spaces(sentences) {
            return Written::Given;
        }
        match spaces {
            Spaces::Yes => Written::Spaced { is_guess: false },
            Spaces::No => Written::Unspaced { is_guess: false },
            Spaces::Guess if is_unspaced_script(sentences) => Written::Unspaced { is_guess: true },
            Spaces::Guess => Written::Spaced { is_guess: true },
        }
    }
}

/// The blocks of scripts that put no spaces between words. (Korean does, whatever of it is Han.)
const UNSPACED: [(char, char); 24] = [
    ('\u{E00}', '\u{E7F}'),     // Thai
    ('\u{E80}', '\u{EFF}'),     // Lao
    ('\u{F00}', '\u{FFF}'),     // Tibetan
    ('\u{1000}', '\u{109F}'),   // Myanmar
    ('\u{1780}', '\u{17FF}'),   // Khmer
    ('\u{1950}', '\u{19DF}'),   // Tai Le, New Tai Lue
    ('\u{19E0}', '\u{19FF}'),   // Khmer symbols
    ('\u{1A20}', '\u{1AAF}'),   // Tai Tham
    ('\u{1B00}', '\u{1B7F}'),   // Balinese
    ('\u{3005}', '\u{3007}'),   // Han iteration mark and zero
    ('\u{3040}', '\u{30FF}'),   // Hiragana, Katakana
    ('\u{3105}', '\u{312F}'),   // Bopomofo
    ('\u{31A0}', '\u{31BF}'),   // Bopomofo
    ('\u{31F0}', '\u{31FF}'),   // Katakana
    ('\u{3400}', '\u{4DBF}'),   // Han
    ('\u{4E00}', '\u{9FFF}'),   // Han
    ('\u{A980}', '\u{A9DF}'),   // Javanese
    ('\u{A9E0}', '\u{A9FF}'),   // Myanmar
    ('\u{AA60}', '\u{AA7F}'),   // Myanmar
    ('\u{AA80}', '\u{AADF}'),   // Tai Viet
    ('\u{F900}', '\u{FAFF}'),   // Han
    ('\u{FF66}', '\u{FF9F}'),   // Katakana
    ('\u{1AFF0}', '\u{1B16F}'), // Kana
    ('\u{20000}', '\u{3FFFF}'), // Han
];

fn is_unspaced(c: char) -> bool {
    UNSPACED.iter().any(|&(first, last)| (first..=last).contains(&c))
}

/// True of full-width signs and of the letters that go with them, after which a sentence ends without a space.
pub(super) fn is_wide(c: char) -> bool {
    matches!(c, '\u{3000}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{FE30}'..='\u{FE4F}' | '\u{FF00}'..='\u{FFEF}'
        | '\u{1AFF0}'..='\u{3FFFF}')
}

/// True if most letters are of a script without spaces.
fn is_unspaced_script(sentences: &[Sentence]) -> bool {
    let words = sentences.iter().flat_map(|sentence| &sentence.tokens).filter(|token| !token.is_trace());
    let (mut n_unspaced, mut n_letters) = (0u64, 0u64);
    for c in words.flat_map(|token| token.form.chars()).filter(|c| c.is_alphabetic()) {
        n_letters += 1;
        n_unspaced += u64::from(is_unspaced(c));
    }
    2 * n_unspaced > n_letters
}

/// The text of a sentence in a script without spaces, and where each token ends in it. Words of other scripts that follow
/// one another have a space between them.
pub(super) fn unspaced<'a>(forms: impl Iterator<Item = &'a str>) -> (String, Vec<usize>) {
    let is_other = |c: char| c.is_alphanumeric() && !is_unspaced(c) && !is_wide(c);
    let (mut text, mut ends) = (String::new(), Vec::new());
    for form in forms {
        let form = super::penn_unescape(form);
        if text.chars().next_back().is_some_and(is_other) && form.chars().next().is_some_and(is_other) {
            text.push(' ');
        }
        text.push_str(&form);
        ends.push(text.len());
    }
    (text, ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(words: &str) -> Sentence {
        Sentence::from_tagged(words.split(' ').map(|form| (form, "")))
    }

    #[track_caller]
    fn check(words: &str, is_unspaced: bool) {
        let expected = match is_unspaced {
            true => Written::Unspaced { is_guess: true },
            false => Written::Spaced { is_guess: true },
        };
        assert_eq!(Written::of(&[sentence(words)], Spaces::Guess), expected, "{words}");
    }

    #[test]
    fn scripts_without_spaces_are_known() {
        check("吾輩 は 猫 で ある 。", true);
        check("ฉัน รัก ภาษา ไทย", true);
        check("我 爱 北京 天安门", true);
        check("ຂ້ອຍ ກິນ ເຂົ້າ", true);
        check("ខ្ញុំ ស្រឡាញ់ ភាសា ខ្មែរ", true);
        check("ကျွန်တော် စာ ဖတ် တယ်", true);
        check("나는 고양이를 좋아한다 .", false);
        check("The dog barks .", false);
        check("Ο σκύλος γαβγίζει", false);
        check("3 + 4", false);
        check("東京 is the capital of Japan .", false);
    }

    #[test]
    fn the_flag_overrides_the_script_but_not_the_treebank() {
        let mut sentences = [sentence("猫 だ")];
        assert_eq!(Written::of(&sentences, Spaces::Yes), Written::Spaced { is_guess: false });
        assert_eq!(Written::of(&sentences, Spaces::No), Written::Unspaced { is_guess: false });
        sentences[0].tokens[0].misc = "SpaceAfter=No".into();
        assert_eq!(Written::of(&sentences, Spaces::Yes), Written::Given);
    }

    #[test]
    fn only_other_scripts_have_spaces() {
        let (text, ends) = unspaced("私 は New York で 3 匹 を 飼う 。".split(' '));
        assert_eq!(text, "私はNew Yorkで3匹を飼う。");
        assert_eq!((ends.len(), ends.last()), (10, Some(&text.len())));
    }
}
