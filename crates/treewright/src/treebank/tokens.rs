//! Words without trees: `tokens` (one sentence a line, tokens separated by spaces, perhaps `word/TAG`) and `text`
//! (one sentence a line as people write it).
//!
//! Text is cut at spaces, then punctuation is cut from the edges of words; `SpaceAfter=No` in MISC tells where no
//! space was, so that the text can be written again. A full stop is cut only at the end of the line: in the middle
//! it nearly always belongs to an abbreviation.

use crate::error::{Code, Error, Result};
use crate::sentence::{Sentence, Str, Token};
use crate::treebank::lines::{BYTE_ORDER_MARK, LineReader, column};
use crate::treebank::write::{Layout, unwritable};
use crate::treebank::{Entry, Format, ReadOptions, Source, WriteOptions};

const NO_SPACE: &str = "SpaceAfter=No";

/// What a line holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Tokens,
    Tagged,
    Text,
}

impl Kind {
    fn of(format: Format, tagged: bool) -> Self {
        match (format, tagged) {
            (Format::Text, _) => Kind::Text,
            (_, true) => Kind::Tagged,
            (_, false) => Kind::Tokens,
        }
    }
}

/// Reads `text`, or `tokens`, which are `word/TAG` if the options say so; blank lines are skipped.
pub(super) fn reader<'a>(
    source: Source<'a>,
    format: Format,
    options: &ReadOptions,
) -> impl Iterator<Item = Result<Entry>> + Send + use<'a> {
    let (kind, limit) = (Kind::of(format, options.tagged), options.limit);
    LineReader::new(source, limit, move |line: &str, number| {
        // Only a long line can have too many words.
        if limit.is_exceeded_by_items(line.len()) && limit.is_exceeded_by_items(max_words(line, kind)) {
            return Err(limit.error(number, 1));
        }
        let tokens = match kind {
            Kind::Tokens => words(line).map(|(_, word)| Token::new(word, "")).collect(),
            Kind::Tagged => {
                words(line).map(|(at, word)| tagged(word, line, at, number)).collect::<Result<_>>()?
            }
            // Text is cut at any white space, so a line of it has no words.
            Kind::Text if line.trim().is_empty() => return Ok(None),
            Kind::Text => tokenize(line),
        };
        Ok(Some(Entry { sentence: Sentence { tokens, ..Sentence::default() }, tree: None }))
    })
}

/// How many words a line has; of text, how many it can have at most.
fn max_words(line: &str, kind: Kind) -> usize {
    match kind {
        Kind::Text => 1 + line.chars().filter(|c| !c.is_alphanumeric()).count(),
        Kind::Tokens | Kind::Tagged => words(line).count(),
    }
}

/// What stands between spaces and tabs, with its place. Other spaces, such as the no-break space, may be part of
/// a word.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    line.split([' ', '\t', '\r']).filter_map(move |word| {
        let start = at;
        at += word.len() + 1;
        (!word.is_empty()).then_some((start, word))
    })
}

/// `word/TAG`; the tag stands after the last slash and may be `_`.
fn tagged(word: &str, line: &str, at: usize, number: usize) -> Result<Token> {
    match word.rsplit_once('/') {
        Some((form, tag)) if !form.is_empty() && !tag.is_empty() => {
            Ok(Token::new(form, if tag == "_" { "" } else { tag }))
        }
        _ => {
            let message = format!("the token {word:?}; expected word/TAG");
            Err(Error::at(Code::MissingLabel, number, column(line, at), message))
        }
    }
}

/// Cuts a line of text into words.
pub fn tokenize(line: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut chunks = line.split_whitespace().peekable();
    while let Some(chunk) = chunks.next() {
        let first = tokens.len();
        cut(chunk, chunks.peek().is_none(), &mut tokens);
        let end = tokens.len() - 1;
        tokens[first..end].iter_mut().for_each(|token| token.misc = Str::const_new(NO_SPACE));
    }
    tokens
}

/// Cuts punctuation from both edges of what stands between two spaces.
fn cut(chunk: &str, is_last: bool, out: &mut Vec<Token>) {
    let is_opening = |c: char| "([{<\"'`“‘«‹„‚¿¡".contains(c);
    let is_closing = |c: char| ")]}>\"'”’»›“‘,;:!?…،؛؟。、！？".contains(c);
    let mut rest = chunk;
    while let Some(c) = rest.chars().next().filter(|&c| is_opening(c)) {
        if rest.len() == c.len_utf8() {
            break;
        }
        out.push(Token::new(&rest[..c.len_utf8()], ""));
        rest = &rest[c.len_utf8()..];
    }
    let mut core = rest;
    let mut ends = Vec::new();
    while let Some(c) = core.chars().next_back() {
        let dots = core.len() - core.trim_end_matches('.').len();
        // The dots of an ellipsis are one word; a single one ends the sentence or an abbreviation.
        let width = match dots {
            0 if is_closing(c) => c.len_utf8(),
            1 if is_last && !is_initials(core) => 1,
            2.. => dots,
            _ => break,
        };
        if width == core.len() {
            break;
        }
        ends.push(&core[core.len() - width..]);
        core = &core[..core.len() - width];
    }
    out.push(Token::new(core, ""));
    out.extend(ends.into_iter().rev().map(|end| Token::new(end, "")));
}

/// `U.S.`: the last stop belongs to the word, whatever else it does.
fn is_initials(word: &str) -> bool {
    let mut parts = word.strip_suffix('.').unwrap_or(word).split('.');
    word.matches('.').count() > 1 && parts.all(|part| part.chars().count() == 1)
}

/// Writes `text` (multiword tokens as written, spaces as MISC says) or `tokens`. Trees, comments and all but the words
/// (and tags) are left out.
pub(super) struct TokensLayout {
    kind: Kind,
    has_started: bool,
}

impl TokensLayout {
    pub(super) fn new(format: Format, options: &WriteOptions) -> Self {
        TokensLayout { kind: Kind::of(format, options.tagged), has_started: false }
    }

    fn tokens(&self, sentence: &Sentence, out: &mut Vec<u8>) -> Result<()> {
        for (i, token) in sentence.tokens.iter().enumerate() {
            if i > 0 {
                out.push(b' ');
            }
            let is_whole = |text: &str| !text.is_empty() && !text.contains([' ', '\t', '\n', '\r', '\0']);
            let tag = if token.tag.is_empty() { "_" } else { &token.tag };
            if !is_whole(&token.form) || (self.kind == Kind::Tagged && (!is_whole(tag) || tag.contains('/')))
            {
                let (number, form) = (i + 1, &token.form);
                return Err(unwritable(format!(
                    "word {number} is {form:?}/{tag:?}, which tokens cannot hold"
                )));
            }
            out.extend_from_slice(token.form.as_bytes());
            if self.kind == Kind::Tagged {
                out.push(b'/');
                out.extend_from_slice(tag.as_bytes());
            }
        }
        Ok(())
    }
}

fn text_line(sentence: &Sentence, out: &mut Vec<u8>) -> Result<()> {
    let mut number = 1;
    for (form, misc, words) in sentence.surface() {
        if form.contains(['\n', '\r', '\0']) {
            return Err(unwritable(format!("word {number} is {form:?}, which text cannot hold")));
        }
        number += words.len().max(1);
        out.extend_from_slice(form.as_bytes());
        if !misc.split('|').any(|part| part == NO_SPACE) {
            out.push(b' ');
        }
    }
    while out.pop_if(|byte| *byte == b' ').is_some() {}
    Ok(())
}

impl Layout for TokensLayout {
    fn entry(&mut self, entry: &Entry, _: usize, out: &mut Vec<u8>) -> Result<()> {
        match self.kind {
            Kind::Text => text_line(&entry.sentence, out)?,
            Kind::Tokens | Kind::Tagged => self.tokens(&entry.sentence, out)?,
        }
        if out.is_empty() {
            return Err(unwritable("a sentence without words, which tokens and text cannot hold"));
        }
        out.push(b'\n');
        // Readers drop a byte order mark at the start of a file: one that is part of a word needs another before it.
        if !std::mem::replace(&mut self.has_started, true) && out.starts_with(BYTE_ORDER_MARK) {
            out.splice(..0, BYTE_ORDER_MARK.iter().copied());
        }
        Ok(())
    }

    fn go_on(&mut self, _: Option<u32>) {
        self.has_started = true;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::treebank::{random, testing};

    fn read(text: &str, tagged: bool) -> Vec<Result<Entry>> {
        testing::read(Format::Tokens, text, &ReadOptions { tagged, ..ReadOptions::default() })
    }

    fn write(entry: &Entry, tagged: bool) -> Result<String> {
        let options = WriteOptions { tagged, ..WriteOptions::default() };
        testing::write(Format::Tokens, std::slice::from_ref(entry), &options)
    }

    fn write_text(entry: &Entry) -> Result<String> {
        testing::write(Format::Text, std::slice::from_ref(entry), &WriteOptions::default())
    }

    #[test]
    fn tokens_are_separated_by_spaces() {
        let entries: Vec<_> =
            read(" a  b\u{a0}c \n \nd\r\n", false).into_iter().map(Result::unwrap).collect();
        let forms =
            |entry: &Entry| entry.sentence.tokens.iter().map(|t| t.form.to_string()).collect::<Vec<_>>();
        assert_eq!(entries.iter().map(forms).collect::<Vec<_>>(), [vec!["a", "b\u{a0}c"], vec!["d"]]);
        assert_eq!(write(&entries[0], false).as_deref(), Ok("a b\u{a0}c\n"));
    }

    #[test]
    fn tags_stand_after_the_last_slash() {
        let text = "1/2/CD é/_\nbad\n/X\ny/\nok/X\n";
        let mut entries = read(text, true);
        assert_eq!(
            entries[0].as_ref().expect("valid").sentence,
            Sentence::from_tagged([("1/2", "CD"), ("é", "")])
        );
        assert_eq!(write(entries[0].as_ref().expect("valid"), true).as_deref(), Ok("1/2/CD é/_\n"));
        assert!(entries.pop().expect("five lines").is_ok());
        for (i, entry) in entries.into_iter().enumerate().skip(1) {
            let error = entry.expect_err("no word or no tag");
            assert_eq!(
                (error.code, error.location.line, error.location.sentence),
                (Code::MissingLabel, i + 1, i + 1)
            );
        }
        let error = read("ab/é c", true).remove(0).expect_err("no tag");
        assert_eq!(error.location.column, 6);
    }

    #[track_caller]
    fn check_tokenized(text: &str, expected: &str) {
        let tokens = tokenize(text);
        let forms: Vec<&str> = tokens.iter().map(|token| token.form.as_str()).collect();
        assert_eq!(forms.join(" "), expected);
        let entry = Entry { sentence: Sentence { tokens, ..Sentence::default() }, tree: None };
        assert_eq!(write_text(&entry), Ok(format!("{text}\n")));
    }

    #[test]
    fn punctuation_is_cut_off() {
        check_tokenized("He left.", "He left .");
        check_tokenized("Mr. Li said: \"(No!)\"", "Mr. Li said : \" ( No ! ) \"");
        check_tokenized("in the U.S.", "in the U.S.");
        check_tokenized("so... what...", "so ... what ...");
        check_tokenized("... ? .", "... ? .");
        check_tokenized("«Ça va?» 3,5 %", "« Ça va ? » 3,5 %");
        check_tokenized("he said \"no.\"", "he said \" no . \"");
        assert!(testing::read(Format::Text, "\u{a0}\n\u{2003}\n", &ReadOptions::default()).is_empty());
    }

    #[test]
    fn text_shows_multiwords_and_spaces() {
        let text = "1-2\tdu\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n1\tde\t_\t_\t_\t_\t_\t_\t_\t_\n\
                    2\tle\t_\t_\t_\t_\t_\t_\t_\t_\n3\t!\t_\t_\t_\t_\t_\t_\t_\t_\n\n";
        let entry = testing::read(Format::Conllu, text, &ReadOptions::default()).remove(0).expect("valid");
        assert_eq!(write_text(&entry).as_deref(), Ok("du!\n"));
        assert_eq!(write(&entry, false).as_deref(), Ok("de le !\n"));
    }

    #[test]
    fn what_would_not_come_back_is_not_written() {
        for (form, tag) in [("a b", "X"), ("", "X"), ("a", "X/Y"), ("a", "X Y")] {
            let entry = Entry { sentence: Sentence::from_tagged([(form, tag)]), tree: None };
            assert_eq!(write(&entry, true).map_err(|e| e.code), Err(Code::Unwritable));
        }
        let error = write_text(&Entry::default());
        assert_eq!(error.map_err(|e| e.code), Err(Code::Unwritable));
    }

    #[test]
    fn a_byte_order_mark_in_a_word_comes_back() {
        // Found by fuzzing: the word was the first to be written, and its mark was lost.
        let entry = read("\n\u{feff}.\n", false).remove(0).expect("one word");
        assert_eq!(entry.sentence.tokens[0].form, "\u{feff}.");
        let text = write(&entry, false).expect("writable");
        assert_eq!(read(&text, false), [Ok(entry)]);
    }

    proptest! {
        #[test]
        fn random_words_come_back(entry in random::dependency_entry(), tagged: bool) {
            let clean = |text: &Str| text.replace([' ', '/'], "x");
            let words = entry.sentence.tokens.iter();
            let words = words.map(|t| Token::new(clean(&t.form), if tagged { clean(&t.tag) } else { String::new() }));
            let entry = Entry { sentence: Sentence { tokens: words.collect(), ..Sentence::default() }, tree: None };
            let text = write(&entry, tagged).expect("writable");
            prop_assert_eq!(read(&text, tagged), [Ok(entry)]);
        }

        #[test]
        fn any_text_comes_back_but_for_its_spaces(text in "\\PC{0,40}") {
            let tokens = tokenize(&text);
            prop_assert!(tokens.iter().all(|token| !token.form.is_empty()));
            if !tokens.is_empty() {
                let entry = Entry { sentence: Sentence { tokens, ..Sentence::default() }, tree: None };
                let expected = text.split_whitespace().collect::<Vec<_>>().join(" ") + "\n";
                prop_assert_eq!(write_text(&entry), Ok(expected));
            }
        }
    }
}
