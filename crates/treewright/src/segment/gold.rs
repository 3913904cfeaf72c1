//! Training text: what the sentences of a treebank looked like before they were cut.

use super::chars::is_space;
use super::penn;
use super::spaces::{Spaces, Written, is_wide, unspaced};
use crate::rng::Rng;
use crate::sentence::Sentence;

/// A token ends here.
pub(super) const TOKEN_END: u8 = 1;
/// A sentence ends here.
pub(super) const SENTENCE_END: u8 = 2;

/// A sentence as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GoldSentence {
    pub text: String,
    /// Where each token ends, in bytes.
    pub ends: Vec<usize>,
    /// Is there white space after it?
    space_after: bool,
    pub starts_document: bool,
    starts_paragraph: bool,
}

/// How sentences follow one another on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Paragraphs set off by empty lines, each on one line: the form of the shared tasks' raw text.
    Running,
    /// The same with short lines.
    Wrapped(usize),
    /// A line for each paragraph.
    Paragraphs,
    /// A line for each sentence.
    Sentences,
}

/// The comment's value, as in `# text = value`.
fn comment<'a>(sentence: &'a Sentence, key: &str) -> Option<&'a str> {
    sentence.comments.iter().find_map(|comment| {
        let value = comment.strip_prefix('#')?.trim_start().strip_prefix(key)?;
        value.trim_start().strip_prefix('=').map(|value| value.strip_prefix(' ').unwrap_or(value))
    })
}

fn has_comment(sentence: &Sentence, key: &str) -> bool {
    sentence.comments.iter().any(|comment| comment.trim_start_matches('#').trim_start().starts_with(key))
}

fn is_no_space(misc: &str) -> bool {
    misc.split('|').any(|pair| pair == "SpaceAfter=No")
}

/// Where the tokens end in this text, if they are its words.
fn align(sentence: &Sentence, text: &str) -> Option<Vec<usize>> {
    let mut at = 0;
    let mut ends = Vec::with_capacity(sentence.len());
    for (form, ..) in sentence.surface() {
        at += text[at..].len() - text[at..].trim_start_matches(is_space).len();
        text[at..].starts_with(form).then(|| at += form.len())?;
        ends.push(at);
    }
    text[at..].chars().all(is_space).then_some(ends)
}

/// True if a sentence of the treebank says where its text has spaces: by `# text`, or by `SpaceAfter=No`.
pub(super) fn knows_spaces(sentences: &[Sentence]) -> bool {
    sentences.iter().any(|sentence| {
        comment(sentence, "text").is_some() || sentence.surface().any(|(_, misc, _)| is_no_space(misc))
    })
}

/// The sentences as text. Where no sentence has text or `SpaceAfter=No`, spaces are put where Penn treebanks lost
/// them, or nowhere in scripts without spaces.
pub(super) fn gold_sentences(sentences: &[Sentence], spaces: Spaces) -> Vec<GoldSentence> {
    let written = Written::of(sentences, spaces);
    let mut gold = Vec::with_capacity(sentences.len());
    for sentence in sentences.iter().filter(|sentence| !sentence.is_empty()) {
        let given = comment(sentence, "text").map(|text| text.trim_matches(is_space));
        let aligned = given.and_then(|text| Some((text.to_owned(), align(sentence, text)?)));
        let (text, ends) = aligned.unwrap_or_else(|| {
            let words = sentence.tokens.iter().filter(|token| !token.is_trace());
            match written {
                Written::Given => spaced(sentence),
                Written::Spaced { .. } => penn::detokenize(words.map(|token| (&*token.form, &*token.tag))),
                Written::Unspaced { .. } => unspaced(words.map(|token| &*token.form)),
            }
        });
        if ends.is_empty() {
            continue;
        }
        let starts_document = has_comment(sentence, "newdoc");
        let joins_next = match written {
            Written::Unspaced { .. } => text.chars().next_back().is_some_and(is_wide),
            _ => sentence.surface().last().is_some_and(|(_, misc, _)| is_no_space(misc)),
        };
        gold.push(GoldSentence {
            text,
            ends,
            space_after: !joins_next,
            starts_document,
            starts_paragraph: starts_document || has_comment(sentence, "newpar"),
        });
    }
    gold
}

/// The text by `SpaceAfter=No`.
fn spaced(sentence: &Sentence) -> (String, Vec<usize>) {
    let (mut text, mut ends, mut space) = (String::new(), Vec::new(), false);
    for (form, misc, _) in sentence.surface() {
        if space {
            text.push(' ');
        }
        text.push_str(form);
        ends.push(text.len());
        space = !is_no_space(misc);
    }
    (text, ends)
}

/// A document: its text, and which tokens and sentences end before each byte.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    pub text: String,
    pub marks: Vec<u8>,
}

/// Lays sentences out on one page. Paragraphs begin where `starts` says.
pub(super) fn lay_out(sentences: &[GoldSentence], starts: &[bool], layout: Layout) -> Page {
    let mut page = Page::default();
    for (i, sentence) in sentences.iter().enumerate() {
        if i > 0 {
            page.text.push_str(match layout {
                Layout::Running | Layout::Wrapped(_) if starts[i] => "\n\n",
                Layout::Paragraphs if starts[i] => "\n",
                Layout::Sentences if starts[i] && i % 3 == 0 => "\n\n",
                Layout::Sentences => "\n",
                _ if sentences[i - 1].space_after => " ",
                _ => "",
            });
        }
        let start = page.text.len();
        page.text.push_str(&sentence.text);
        page.marks.resize(page.text.len() + 1, 0);
        sentence.ends.iter().for_each(|end| page.marks[start + end] |= TOKEN_END);
        if let Some(end) = sentence.ends.last() {
            page.marks[start + end] |= SENTENCE_END;
        }
    }
    if let Layout::Wrapped(width) = layout {
        page.wrap(width);
    }
    page
}

impl Page {
    /// Breaks lines at spaces between tokens, as an editor does.
    fn wrap(&mut self, width: usize) {
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        let (mut line, mut space) = (0, None);
        for at in 0..bytes.len() {
            match bytes[at] {
                b'\n' => {
                    line = at + 1;
                    space = None;
                    continue;
                }
                b' ' if self.marks[at] & TOKEN_END != 0 => space = Some(at),
                _ => {}
            }
            if at - line >= width
                && let Some(break_at) = space.take()
            {
                bytes[break_at] = b'\n';
                line = break_at + 1;
            }
        }
        self.text = String::from_utf8(bytes).expect("only spaces have been replaced");
    }
}

/// Where paragraphs begin. A treebank that does not say gets some at random, if there is a generator.
fn paragraph_starts(sentences: &[GoldSentence], rng: Option<&mut Rng>) -> Vec<bool> {
    let mut starts: Vec<bool> = sentences.iter().map(|sentence| sentence.starts_paragraph).collect();
    let n_documents = sentences.iter().filter(|sentence| sentence.starts_document).count();
    let n_paragraphs = starts.iter().filter(|&&is_start| is_start).count();
    if let Some(rng) = rng
        && n_paragraphs <= n_documents
    {
        starts.iter_mut().for_each(|is_start| *is_start |= rng.below(6) == 0);
    }
    starts
}

/// All documents in several layouts.
pub(super) fn pages(sentences: &[GoldSentence], n_rounds: usize, rng: &mut Rng) -> Vec<Page> {
    let mut pages = Vec::new();
    for round in 0..n_rounds {
        let starts = paragraph_starts(sentences, Some(rng));
        let mut first = 0;
        while first < sentences.len() {
            // Where documents are not told apart, some sentences make one: a layout should not go on for ever.
            let next = (first + 1..sentences.len())
                .find(|&i| sentences[i].starts_document || (i - first >= 50 && starts[i]));
            let end = next.unwrap_or(sentences.len());
            let layout = match (round, rng.below(10)) {
                (0, _) | (_, 0..=1) => Layout::Running,
                (_, 2..=4) => Layout::Wrapped(50 + rng.below(40)),
                (_, 5..=7) => Layout::Paragraphs,
                _ => Layout::Sentences,
            };
            pages.push(lay_out(&sentences[first..end], &starts[first..end], layout));
            first = end;
        }
    }
    pages
}

/// The text of a treebank as the CoNLL shared tasks gave it: an empty line between paragraphs and between documents,
/// sentences of a paragraph one after the other, a line end after the last one. `width` asks for lines of this many
/// bytes at most.
pub fn raw_text(sentences: &[Sentence], width: Option<usize>) -> String {
    let gold = gold_sentences(sentences, Spaces::Guess);
    let starts = paragraph_starts(&gold, None);
    let layout = width.map_or(Layout::Running, Layout::Wrapped);
    let mut text = lay_out(&gold, &starts, layout).text;
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sentence::Token;

    /// A sentence of tokens (`|` where no space follows) with comments before them.
    fn sentence(comments: &[&str], tokens: &str) -> Sentence {
        let comments = comments.iter().map(|&comment| comment.into()).collect();
        let mut sentence = Sentence { comments, ..Sentence::default() };
        for chunk in tokens.split_inclusive([' ', '|']) {
            let mut token = Token::new(chunk.trim_end_matches([' ', '|']), "");
            token.misc = if chunk.ends_with('|') { "SpaceAfter=No".into() } else { "".into() };
            sentence.tokens.push(token);
        }
        sentence
    }

    #[track_caller]
    fn check(sentences: &[Sentence], width: Option<usize>, expected: &str) {
        assert_eq!(raw_text(sentences, width), expected);
    }

    #[test]
    fn text_comes_from_the_comment_where_it_fits() {
        check(&[sentence(&["# text = A  b."], "A b .")], None, "A  b.\n");
        check(&[sentence(&["# text = something else"], "A b|.")], None, "A b.\n");
        check(&[sentence(&[], "A b|.")], None, "A b.\n");
        check(&[sentence(&[], "A b .")], None, "A b.\n");
    }

    #[test]
    fn paragraphs_and_documents_are_set_off() {
        let sentences = [
            sentence(&["# newdoc id = 1"], "A|."),
            sentence(&[], "B|.|"),
            sentence(&[], "C|."),
            sentence(&["# newpar"], "D|."),
            sentence(&["#newdoc_id = 2"], "E e e e e|."),
        ];
        check(&sentences, None, "A. B.C.\n\nD.\n\nE e e e e.\n");
        check(&sentences, Some(4), "A.\nB.C.\n\nD.\n\nE e\ne e\ne.\n");
    }

    #[test]
    fn every_end_is_marked() {
        let gold = gold_sentences(&[sentence(&[], "A|."), sentence(&[], "B|.")], Spaces::Guess);
        for layout in [Layout::Running, Layout::Wrapped(2), Layout::Paragraphs, Layout::Sentences] {
            let page = lay_out(&gold, &[true, false], layout);
            let expected =
                if matches!(layout, Layout::Running | Layout::Paragraphs) { "A. B." } else { "A.\nB." };
            assert_eq!(page.text, expected);
            assert_eq!(page.marks, [0, 1, 3, 0, 1, 3]);
        }
    }

    #[test]
    fn a_treebank_without_paragraphs_gets_some() {
        let gold = gold_sentences(&vec![sentence(&[], "A|."); 60], Spaces::Guess);
        assert!(!paragraph_starts(&gold, None).contains(&true));
        let n = paragraph_starts(&gold, Some(&mut Rng::new(1))).iter().filter(|&&start| start).count();
        assert!((2..30).contains(&n), "{n}");
        let text: usize =
            pages(&gold, 2, &mut Rng::new(1)).iter().map(|page| page.text.matches('A').count()).sum();
        assert_eq!(text, 120);
    }
}
