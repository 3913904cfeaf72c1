//! A lemmatiser from training to bytes and back, and what it makes of words.

use super::*;
use crate::sentence::{Sentence, Token};

/// Sentences of one word each: form, lemma, tag.
fn sentences(words: &[(&str, &str, &str)]) -> Vec<Sentence> {
    let token =
        |&(form, lemma, tag): &(&str, &str, &str)| Token { lemma: lemma.into(), ..Token::new(form, tag) };
    // A first word that is no word, so that the second is not the first of its sentence.
    let first = || Token { lemma: "-".into(), ..Token::new("-", "PUNCT") };
    words.iter().map(|word| Sentence { tokens: vec![first(), token(word)], ..Sentence::default() }).collect()
}

const WORDS: [(&str, &str, &str); 16] = [
    ("cats", "cat", "NOUN"),
    ("dogs", "dog", "NOUN"),
    ("boys", "boy", "NOUN"),
    ("Birds", "bird", "NOUN"),
    ("cities", "city", "NOUN"),
    ("ponies", "pony", "NOUN"),
    ("dog", "dog", "NOUN"),
    ("saw", "saw", "NOUN"),
    ("saw", "see", "VERB"),
    ("is", "be", "AUX"),
    ("walked", "walk", "VERB"),
    ("barked", "bark", "VERB"),
    ("Talked", "talk", "VERB"),
    ("London", "London", "PROPN"),
    ("Paris", "Paris", "PROPN"),
    ("NASA", "NASA", "PROPN"),
];

fn train(words: &[(&str, &str, &str)]) -> Lemmatiser {
    Lemmatiser::train(&sentences(words), &[], &LemmaConfig::default(), &mut |_| ()).expect("trainable")
}

fn lemma(lemmatiser: &Lemmatiser, form: &str, tag: &str) -> String {
    let mut sentence = Sentence::from_tagged([("-", "PUNCT"), (form, tag)]);
    lemmatiser.worker().lemmatise(&mut sentence);
    sentence.tokens[1].lemma.to_string()
}

#[test]
fn words_seen_and_unseen_get_lemmas() {
    let lemmatiser = train(&WORDS);
    for (form, expected, tag) in WORDS {
        assert_eq!(lemma(&lemmatiser, form, tag), expected, "{form} {tag}");
    }
    for (form, expected, tag) in [
        ("hens", "hen", "NOUN"),
        ("ladies", "lady", "NOUN"),
        ("Cats", "cat", "NOUN"),
        ("looked", "look", "VERB"),
        ("Saw", "see", "VERB"),
        ("IS", "be", "AUX"),
        ("Berlin", "Berlin", "PROPN"),
    ] {
        assert_eq!(lemma(&lemmatiser, form, tag), expected, "{form} {tag}");
    }
}

#[test]
fn nothing_is_too_strange_for_a_lemma() {
    let lemmatiser = train(&WORDS);
    for form in ["s", "ies", "İ", "ß", "\u{301}", "أَن", "12", "…"] {
        for tag in ["NOUN", "VERB", "AUX", "PROPN", "UNKNOWN", ""] {
            assert!(!lemma(&lemmatiser, form, tag).is_empty(), "{form} {tag}");
        }
    }
    assert_eq!(lemma(&lemmatiser, "saw", "UNKNOWN"), "saw");
    assert_eq!(lemma(&lemmatiser, "is", ""), "be", "the form alone has to do");
    assert_ne!(lemma(&lemmatiser, "is", "NOUN"), "be", "a known tag says more than the form");
    // Column formats would take the lemma that is left without the ending for none.
    assert_eq!(lemma(&lemmatiser, "_s", "NOUN"), "_s");
    // They write a missing lemma as `_`, and could not write this one otherwise.
    assert_eq!(lemma(&lemmatiser, "_", "NOUN"), "");
}

/// Of the edits that a word is long enough for, the best is taken.
#[test]
fn an_edit_must_fit_the_word() {
    let lemmatiser = train(&[
        ("toabcd", "to", "X"),
        ("Miabcd", "mi", "X"),
        ("luabcd", "lu", "X"),
        ("Noabcd", "no", "X"),
        ("po", "po", "X"),
        ("Ki", "ki", "X"),
    ]);
    assert_eq!(lemma(&lemmatiser, "Raabcd", "X"), "ra");
    assert_eq!(lemma(&lemmatiser, "Bcd", "X"), "bcd");
}

/// Where a sentence begins, a capital says nothing about the lemma.
#[test]
fn the_first_word_of_a_sentence_is_another_matter() {
    let word = |form: &str, lemma: &str| Token { lemma: lemma.into(), ..Token::new(form, "X") };
    let words = [("Walk", "walk"), ("Sing", "sing"), ("Read", "read"), ("Play", "play")];
    let names = ["Smith", "Brown", "Adams", "Clark"];
    let sentence = |((form, lemma), name): ((&str, &str), &str)| Sentence {
        tokens: vec![word(form, lemma), word(name, name)],
        ..Sentence::default()
    };
    let train: Vec<Sentence> = words.into_iter().zip(names).map(sentence).collect();
    let lemmatiser = Lemmatiser::train(&train, &[], &LemmaConfig::default(), &mut |_| ()).expect("trainable");
    let mut found = Sentence::from_tagged([("Jump", "X"), ("Jump", "X")]);
    lemmatiser.worker().lemmatise(&mut found);
    assert_eq!([&*found.tokens[0].lemma, &*found.tokens[1].lemma], ["jump", "Jump"]);
}

#[test]
fn tags_beside_the_main_one_count() {
    let word = |form: &str, lemma: &str, xpos: &str, feats: &str| Token {
        lemma: lemma.into(),
        xpos: xpos.into(),
        feats: feats.into(),
        ..Token::new(form, "VERB")
    };
    let tokens = vec![
        word("found", "found", "VB", "VerbForm=Inf"),
        word("found", "find", "VBD", "VerbForm=Fin"),
        word("found", "find", "VBD", "VerbForm=Fin"),
    ];
    let train = [Sentence { tokens: tokens.clone(), ..Sentence::default() }];
    let lemmatiser =
        Lemmatiser::train(&train, &train, &LemmaConfig::default(), &mut |_| ()).expect("trainable");
    assert_eq!(lemmatiser.columns(), [true; 3]);
    let mut found = train[0].clone();
    found.tokens.iter_mut().for_each(|token| token.lemma.clear());
    found.tokens.push(word("found", "", "", ""));
    lemmatiser.worker().fill_missing(&mut found);
    let lemmas: Vec<&str> = found.tokens.iter().map(|token| &*token.lemma).collect();
    assert_eq!(lemmas, ["found", "find", "find", "find"]);
}

#[test]
fn training_says_what_it_cannot_learn_from() {
    let train = |words: &[Sentence], config: &LemmaConfig| {
        Lemmatiser::train(words, &[], config, &mut |_| ()).map(|_| ()).map_err(|error| error.to_string())
    };
    let config = LemmaConfig::default();
    for bare in [vec![], vec![Sentence::from_tagged([("a", "DET")])], sentences(&[])] {
        let message = train(&bare, &config).expect_err("no lemmas");
        assert!(message.contains("no word of the training data has a lemma"), "{message}");
    }
    let message = train(&sentences(&WORDS), &LemmaConfig { epochs: 0, ..config }).expect_err("no epoch");
    assert!(message.contains("epoch"), "{message}");
}

#[test]
fn words_without_a_lemma_are_passed_over() {
    let with_gaps = [&WORDS[..], &[("odd", "", "X"), ("odd", "_", "X"), ("odds", "", "NOUN")]].concat();
    let lemmatiser = train(&with_gaps);
    assert_eq!(lemma(&lemmatiser, "odds", "NOUN"), "odd");
    assert!(!lemmatiser.knows_tag("X") && lemmatiser.knows_tag("NOUN"));
}

#[test]
fn bytes_come_back_and_training_is_repeatable() {
    let lemmatiser = train(&WORDS);
    let bytes = lemmatiser.to_bytes();
    assert_eq!(train(&WORDS).to_bytes(), bytes);
    let read = Lemmatiser::from_bytes(&bytes).expect("whole");
    assert_eq!((read.to_bytes(), &read), (bytes, &lemmatiser));
}

#[test]
fn the_order_of_sentences_does_not_matter() {
    let mut words = WORDS;
    words.reverse();
    assert_eq!(train(&words).to_bytes(), train(&WORDS).to_bytes());
}

/// The bytes with their checksum made right.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.len() - 4;
    let checksum = crc32fast::hash(&bytes[..end]);
    bytes[end..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

#[test]
fn damaged_bytes_are_errors() {
    let whole = train(&WORDS).to_bytes();
    for length in 0..whole.len() {
        assert!(Lemmatiser::from_bytes(&whole[..length]).is_err(), "{length}");
    }
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        let error = Lemmatiser::from_bytes(&flipped).expect_err("the checksum does not match");
        assert!(error.message.starts_with("the lemmatiser is damaged"), "{error}");
    }
}

#[test]
fn hostile_bytes_are_errors_or_a_lemmatiser_that_works() {
    let whole = train(&WORDS).to_bytes();
    let (mut refused, mut accepted) = (0, 0);
    for at in MAGIC.len()..whole.len() - 4 {
        for value in [0, 1, 0x7F, 0xFF, whole[at] ^ 1] {
            let mut edited = whole.clone();
            edited[at] = value;
            match Lemmatiser::from_bytes(&sealed(edited)) {
                Err(_) => refused += 1,
                Ok(lemmatiser) => {
                    accepted += 1;
                    for (form, _, tag) in [("", "", "NOUN"), ("s", "", "NOUN"), ("Horses", "", ""), WORDS[8]]
                    {
                        let made = lemma(&lemmatiser, form, tag);
                        assert!(made != "_" && !made.chars().any(char::is_control), "{made:?}");
                        assert_eq!(made.is_empty(), form.is_empty());
                    }
                }
            }
        }
    }
    assert!(refused > 100 && accepted > 100, "{refused} refused, {accepted} accepted");
}
