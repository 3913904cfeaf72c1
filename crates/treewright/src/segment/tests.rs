//! What a segmenter must do whatever it has learned, and a few things that it must learn.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::Code;
use crate::ids::TokenIdx;
use crate::sentence::{Multiword, Str};
use crate::treebank::{self, Entry, Format, ReadOptions, WriteOptions};

/// A little treebank: `|` between tokens without a space, a space between others, a line for each sentence, an empty
/// line between paragraphs; `=` and `+` for multiword tokens.
const TREEBANK: &str = "\
Hello|, world|.\nThis is Mr. Smith|, who lives in the U.S. now|.\nDon't=Do+n't worry|!\nShe paid 3.50 euros|.\n\n\
What did the dog say|?\nHe said|: \"|Yes|.|\"\nI saw Mr. Jones|.\nThe dog (|a big one|) ate it|.\n\n\
It cost 34 470 euros in 1999|.\nMs. Hello worries|.\nThe U.S. won 3|-|2|.\nYes|, they did|...\n\n\
今天|天气|很|好|。\nsay hello to the world|.\nNo|!\nWho is the dog|?\n";

/// A treebank so written, six times, as sentences.
fn sentences_of(treebank: &str) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    let mut starts_paragraph = true;
    for line in treebank.repeat(6).lines() {
        if line.is_empty() {
            starts_paragraph = true;
            continue;
        }
        let mut sentence = Sentence::default();
        if starts_paragraph {
            sentence.comments.push("# newpar".into());
        }
        starts_paragraph = false;
        // `34 470` is one token.
        let line = line.replace("34 470", "34_470");
        for chunk in line.split(' ') {
            let parts: Vec<&str> = chunk.split('|').collect();
            for (i, part) in parts.iter().enumerate() {
                let misc = if i + 1 < parts.len() { "SpaceAfter=No" } else { "" };
                let (form, words) = part.split_once('=').unwrap_or((part, ""));
                if words.is_empty() {
                    let mut token = crate::Token::new(form.replace('_', " "), "");
                    token.misc = misc.into();
                    sentence.tokens.push(token);
                    continue;
                }
                let first = TokenIdx::new(sentence.len());
                sentence.tokens.extend(words.split('+').map(|word| crate::Token::new(word, "")));
                let mut columns: [Str; 9] = std::array::from_fn(|_| "_".into());
                columns[0] = form.into();
                let last = TokenIdx::new(sentence.len() - 1);
                sentence.multiwords.push(Multiword { first, last, columns });
            }
        }
        sentences.push(sentence);
    }
    sentences
}

static SEGMENTER: LazyLock<Segmenter> = LazyLock::new(|| {
    Segmenter::train(&sentences_of(TREEBANK), &SegmentConfig::default(), &mut |_| {})
        .expect("the treebank has sentences")
});

#[test]
fn neighbours_decide_whether_a_token_is_split() {
    let sentences = sentences_of(&format!("{TREEBANK}\nNow its=it+s a dog|.\nThe dog ate its ear|.\n"));
    let segmenter = Segmenter::train(&sentences, &SegmentConfig::default(), &mut |_| {}).expect("sentences");
    let words = |text: &str| {
        let document = segmenter.segment(text, &SegmentOptions::default());
        let words = document.sentences.iter().flat_map(|sentence| &sentence.tokens);
        words.map(|token| token.form.to_string()).collect::<Vec<_>>().join(" ")
    };
    // By the word before, and by the word after.
    assert_eq!(
        [words("Now its it."), words("The dog ate its it.")],
        ["Now it s it .", "The dog ate its it ."]
    );
    assert_eq!([words("The its a dog."), words("The its ear.")], ["The it s a dog .", "The its ear ."]);
}

fn options(lines: Lines, max_tokens: usize) -> SegmentOptions {
    SegmentOptions { lines, max_tokens }
}

/// Sentences as tokens joined by spaces.
fn shown(sentences: &[Sentence]) -> Vec<String> {
    let line = |sentence: &Sentence| sentence.surface().map(|(form, ..)| form).collect::<Vec<_>>().join(" ");
    sentences.iter().map(line).collect()
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let document = SEGMENTER.segment(text, &SegmentOptions::default());
    assert_eq!(shown(&document.sentences), expected);
    check_text(text, &SegmentOptions::default());
}

/// The text comes back, every token is where it says, and CoNLL-U holds all of it.
#[track_caller]
fn check_text(text: &str, options: &SegmentOptions) {
    let document = SEGMENTER.segment(text, options);
    assert_eq!(document.text(), text);
    assert_eq!(document.sentences.is_empty(), text.chars().all(chars::is_space));
    let chars: Vec<char> = text.chars().collect();
    let mut out = Vec::new();
    let mut writer = treebank::writer(Format::Conllu, &mut out, &WriteOptions::default()).unwrap();
    for sentence in document.sentences.clone() {
        assert!(!sentence.is_empty());
        for (form, misc, _) in sentence.surface() {
            let range = misc.split('|').find_map(|pair| pair.strip_prefix("TokenRange=")).unwrap();
            let (start, end) = range.split_once(':').unwrap();
            let place = start.parse().unwrap()..end.parse().unwrap();
            assert_eq!(chars[place].iter().collect::<String>(), form);
        }
        writer.write(&Entry { sentence, tree: None }).unwrap();
    }
    drop(writer);
    if document.sentences.is_empty() {
        return;
    }
    let reader = treebank::reader(Format::Conllu, &out[..], &ReadOptions::default());
    let again: Vec<Sentence> = reader.map(|entry| entry.unwrap().sentence).collect();
    assert_eq!(again, document.sentences);
}

#[test]
fn emoji_hashtags_and_names_are_one_token() {
    check(
        "The dog👨\u{200D}👩\u{200D}👧, #fail (@dog).",
        &["The dog 👨\u{200D}👩\u{200D}👧 , #fail ( @dog ) ."],
    );
    check("I saw O'Neil, O’Brien.", &["I saw O'Neil , O’Brien ."]);
}

#[test]
fn words_and_sentences_as_learned() {
    check("", &[]);
    check(" \n\t", &[]);
    check("Hello, world. Hello, dog.", &["Hello , world .", "Hello , dog ."]);
    check("This is Mr. Smith. Who did it?", &["This is Mr. Smith .", "Who did it ?"]);
    check("\n The dog cost 34 470 euros.\r\n\r\nNo!", &["The dog cost 34 470 euros .", "No !"]);
}

#[test]
fn multiword_tokens_are_split_and_kept() {
    let document = SEGMENTER.segment("Don't worry.\nDON'T!", &options(Lines::EndSentences, 1000));
    let first = &document.sentences[0];
    assert_eq!(first.tokens[0].form, "Do");
    assert_eq!(first.tokens[1].form, "n't");
    assert_eq!(first.tokens[1].misc, "");
    assert_eq!(first.multiwords[0].columns[0], "Don't");
    assert_eq!(first.multiwords[0].columns[8], "TokenRange=0:5");
    assert_eq!(first.comments, ["# newdoc", "# newpar", "# text = Don't worry."]);
    check_text("Don't  worry.\nDON'T!", &SegmentOptions::default());
}

#[test]
fn line_ends_mean_what_the_options_say() {
    let text = "The dog said no. Who\nis the dog? Yes\n\nI saw it";
    let cut = |lines| shown(&SEGMENTER.segment(text, &options(lines, 1000)).sentences);
    assert_eq!(cut(Lines::AreSentences), ["The dog said no . Who", "is the dog ? Yes", "I saw it"]);
    assert_eq!(cut(Lines::EndSentences), ["The dog said no .", "Who", "is the dog ?", "Yes", "I saw it"]);
}

#[test]
fn a_sentence_without_end_is_cut() {
    let text = "dog ".repeat(5000);
    let document = SEGMENTER.segment(&text, &options(Lines::Free, 100));
    assert!(document.sentences.iter().all(|sentence| sentence.len() <= 100));
    assert!(document.sentences.len() <= 101);
    assert_eq!(document.text(), text);
    let whole = SEGMENTER.segment(&text, &options(Lines::AreSentences, 10_000));
    assert_eq!(whole.sentences.len(), 1);
}

#[test]
fn bytes_that_are_no_text() {
    #[track_caller]
    fn check(bytes: &[u8], line: usize, column: usize) {
        for size in 1..=bytes.len() {
            let mut stream = SEGMENTER.stream(&SegmentOptions::default());
            let mut out = Vec::new();
            let mut result = Ok(());
            for portion in bytes.chunks(size) {
                result = result.and_then(|()| stream.push(portion, &mut out));
            }
            let error = result.and_then(|()| stream.finish(&mut out)).unwrap_err();
            assert_eq!(
                (error.code, error.location.line, error.location.column),
                (Code::InvalidUtf8, line, column)
            );
        }
        let read = SEGMENTER.read(bytes, &SegmentOptions::default());
        assert_eq!(read.filter(Result::is_err).count(), 1);
    }
    check(b"\xFF", 1, 1);
    check("é\nab\u{1F600}c".as_bytes().split_last().unwrap().1.split_last().unwrap().1, 2, 3);
    check(b"one\ntwo\xC3(", 2, 4);
    check(b"\r\n\xC3\xA9\xC3", 2, 2);
}

#[test]
fn a_segmenter_survives_its_bytes_and_notices_damage() {
    let bytes = SEGMENTER.to_bytes();
    assert_eq!(Segmenter::from_bytes(&bytes).unwrap(), *SEGMENTER);
    for cut in [0, 7, 8, 19, 20, 50, bytes.len() - 1] {
        assert_eq!(Segmenter::from_bytes(&bytes[..cut]).unwrap_err().code, Code::BadModel);
    }
    for at in [0, 9, 13, 17, 21, 100, bytes.len() / 2, bytes.len() - 1] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x41;
        assert_eq!(Segmenter::from_bytes(&damaged).unwrap_err().code, Code::BadModel);
    }
}

#[test]
fn training_twice_gives_the_same_bytes() {
    let again = Segmenter::train(&sentences_of(TREEBANK), &SegmentConfig::default(), &mut |_| {}).unwrap();
    assert_eq!(again.to_bytes(), SEGMENTER.to_bytes());
    let error = Segmenter::train(&[], &SegmentConfig::default(), &mut |_| {}).unwrap_err();
    assert_eq!(error.code, Code::BadTraining);
}

/// Whether `go` ends a sentence shows only in the second token after it.
#[test]
fn two_tokens_ahead_are_waited_for() {
    let sentences: Vec<Sentence> = ["dogs go", "on two", "dogs go on one", "on two", "dogs go"]
        .iter()
        .cycle()
        .take(500)
        .map(|line| Sentence::from_tagged(line.split(' ').map(|form| (form, ""))))
        .collect();
    let segmenter = Segmenter::train(&sentences, &SegmentConfig::default(), &mut |_| {}).unwrap();
    let text = "dogs go on two dogs go on one dogs go on two";
    let expected = ["dogs go", "on two", "dogs go on one", "dogs go", "on two"];
    for size in 1..text.len() {
        let (mut stream, mut out) = (segmenter.stream(&SegmentOptions::default()), Vec::new());
        for portion in text.as_bytes().chunks(size) {
            stream.push(portion, &mut out).unwrap();
        }
        stream.finish(&mut out).unwrap();
        assert_eq!(shown(&out), expected, "portions of {size}");
    }
}

/// Text of all sorts: words of the treebank, and whatever else there may be.
fn any_text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        8 => "[A-Za-z]{1,8}",
        4 => Just("Mr.".to_owned()),
        4 => Just("Don't".to_owned()),
        3 => "[0-9]{1,3}( [0-9]{3})?",
        8 => "[.,;:!?()\"'-]{1,3}",
        12 => "[ \n\t\r]{1,3}",
        8 => Just(" ".to_owned()),
        2 => "[\u{0}\u{B}\u{85}\u{A0}\u{2028}\u{2029}\u{3000}\u{FEFF}\u{1C}|\\\\]{1,2}",
        2 => "[\u{300}\u{200D}\u{FE0F}\u{1F600}\u{1F468}\u{1F3FD}]{1,4}",
        2 => "[\u{5D0}-\u{5EA}\u{627}-\u{64A}\u{202E}\u{61F}]{1,5}",
        2 => "[今天气很好。]{1,5}",
        2 => any::<String>(),
        1 => (1usize..9000).prop_map(|n| "é".repeat(n)),
    ];
    prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

fn any_options() -> impl Strategy<Value = SegmentOptions> {
    let lines = prop_oneof![Just(Lines::Free), Just(Lines::EndSentences), Just(Lines::AreSentences)];
    (lines, prop_oneof![1usize..8, Just(1000)]).prop_map(|(lines, max_tokens)| options(lines, max_tokens))
}

/// Paragraphs of the treebank and of anything, some of which do not end a sentence.
fn any_paragraphs() -> impl Strategy<Value = String> {
    let known = sentences_of(TREEBANK).into_iter().map(|sentence| shown(&[sentence]).concat());
    let line = prop_oneof![
        4 => prop::sample::select(known.collect::<Vec<_>>()),
        2 => prop::sample::select(vec!["and the", "a (big \"dog", "said Mr.", "34 470", "  it ate", "é…", "()"]).prop_map(str::to_owned),
        1 => any_text(),
    ];
    let end =
        prop::sample::select(vec![" ", "\n", "\n\n", "\r\n\r\n", "\n \t\n  ", "\r", "\u{2029}", "\n\n\n"]);
    prop::collection::vec((line, end), 0..40)
        .prop_map(|lines| lines.into_iter().flat_map(|(line, end)| [line, end.to_owned()]).collect())
}

/// All sentences up to an error.
fn read_all(sentences: impl Iterator<Item = Result<Sentence>>) -> (Vec<Sentence>, Option<Error>) {
    let mut read = Vec::new();
    for sentence in sentences {
        match sentence {
            Ok(sentence) => read.push(sentence),
            Err(error) => return (read, Some(error)),
        }
    }
    (read, None)
}

/// A source that fails at its end.
struct Failing;

impl std::io::Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("gone"))
    }
}

/// Threads cut a text into the sentences of one stream, wherever it is split, even if it ends badly.
#[track_caller]
fn check_threads(text: &[u8], is_broken_off: bool, options: &SegmentOptions, size: usize, jobs: usize) {
    use std::io::{BufReader, Read};
    let source = || -> Box<dyn Read + Send + '_> {
        if is_broken_off { Box::new(text.chain(Failing)) } else { Box::new(text) }
    };
    let expected = read_all(SEGMENTER.read(BufReader::new(source()), options));
    let mut sentences = Vec::new();
    let result = SEGMENTER.read_portions(source(), options, jobs, size, |sentence| {
        sentences.push(sentence);
        Ok(())
    });
    assert_eq!((sentences, result.err()), expected, "{:?}", String::from_utf8_lossy(text));
}

#[test]
fn a_sentence_may_go_on_after_a_blank_line() {
    let text = "The dog (a big\n\none) ate it.\n\nI saw Mr.\n\nSmith\n\n".repeat(20);
    for size in [1, 20, 100, 1000] {
        check_threads(text.as_bytes(), false, &SegmentOptions::default(), size, 3);
    }
}

proptest! {
    #[test]
    fn threads_do_not_matter(text in any_paragraphs(), options in any_options(), size in 1usize..300, jobs in 1usize..4) {
        check_threads(text.as_bytes(), false, &options, size, jobs);
    }

    #[test]
    fn threads_do_not_matter_where_a_text_ends_badly(
        text in any_paragraphs(), options in any_options(), size in 1usize..300, bad in 0.0..1.0, is_broken_off: bool
    ) {
        let mut bytes = text.into_bytes();
        if is_broken_off {
            bytes.truncate((bad * bytes.len() as f64) as usize);
        } else {
            bytes.insert((bad * bytes.len() as f64) as usize, 0xFF);
        }
        check_threads(&bytes, is_broken_off, &options, size, 2);
    }

    #[test]
    fn no_text_is_lost(text in any_text(), options in any_options()) {
        check_text(&text, &options);
    }

    #[test]
    fn portions_do_not_matter(text in any_text(), options in any_options(), sizes in prop::collection::vec(1usize..50, 1..9)) {
        let whole = SEGMENTER.segment(&text, &options);
        let (mut stream, mut out) = (SEGMENTER.stream(&options), Vec::new());
        let (mut rest, mut sizes) = (text.as_bytes(), sizes.iter().cycle());
        while !rest.is_empty() {
            let (portion, others) = rest.split_at((*sizes.next().unwrap()).min(rest.len()));
            stream.push(portion, &mut out).unwrap();
            rest = others;
        }
        let blank = stream.finish(&mut out).unwrap();
        prop_assert_eq!(Document { sentences: out, blank }, whole);
    }

    #[test]
    fn sentences_are_no_longer_than_asked(text in any_text(), options in any_options()) {
        let document = SEGMENTER.segment(&text, &options);
        for sentence in &document.sentences {
            prop_assert!(sentence.surface().count() <= options.max_tokens);
        }
    }
}
