//! What must hold of every tagger.

use std::sync::Arc;

use proptest::prelude::*;

use super::worker::TaggerWorker;
use super::*;
use crate::error::Code;
use crate::sentence::{Sentence, Token};
use crate::treebank::{self, ReadOptions};

const ENGLISH: &str = include_str!("../../../../data/ud_english_ewt.conllu");
const GREEK: &str = include_str!("../../../../data/agdt_ancient_greek.conllu");
const DUTCH: &str = include_str!("../../../../data/ud_dutch_lassysmall.conllu");
const CRAFT: &str = include_str!("../../../../data/craft.mrg");
const VECTORS: &str = "the 1 0 0\nof 0.9 0.1 0\ndog 0 1 0\ncat 0 1 0.1\nrun 0 0 1\nwalk 0 0.1 1\n";

fn read(text: &str) -> Vec<Sentence> {
    let options = ReadOptions { many_roots: true, ..ReadOptions::default() };
    let reader = treebank::open(text.as_bytes(), &options).expect("a sample").reader;
    reader.map(|entry| entry.expect("a sample").sentence).collect()
}

fn with_classes() -> TagConfig {
    let vectors = WordVectors::read(VECTORS.as_bytes(), 1).expect("good vectors");
    TagConfig { vectors: Arc::new(vectors), ..TagConfig::default() }
}

#[track_caller]
fn trained(train: &[Sentence], config: &TagConfig) -> Tagger {
    Tagger::train(train, &[], config, &mut |_| ()).expect("it can be trained")
}

/// The sentences with their tags taken away and predicted again.
fn tagged(mut worker: TaggerWorker, sentences: &[Sentence]) -> Vec<Sentence> {
    let mut tagged = sentences.to_vec();
    for sentence in &mut tagged {
        for token in &mut sentence.tokens {
            [&mut token.tag, &mut token.xpos, &mut token.feats].into_iter().for_each(|column| column.clear());
        }
        worker.tag(sentence);
    }
    tagged
}

/// The tagger learns its training data: at least this share of the tokens is wholly right. It is given twice, for of a
/// word that occurs once only its looks are learnt.
#[track_caller]
fn check_learns(text: &str, columns: [bool; 3], least: f64) {
    let train = read(text);
    let tagger = trained(&[&train[..]; 2].concat(), &TagConfig::default());
    assert_eq!(tagger.columns(), columns);
    let predicted = tagged(tagger.worker(), &train);
    let pairs = train.iter().zip(&predicted).flat_map(|(gold, ours)| gold.tokens.iter().zip(&ours.tokens));
    let (mut right, mut all) = (0, 0);
    for (gold, ours) in pairs {
        all += 1;
        right += usize::from(gold == ours);
    }
    let share = f64::from(right as u32) / f64::from(all as u32);
    assert!(share >= least, "{right} of {all} tokens are right");
}

#[test]
fn it_learns_every_kind_of_treebank() {
    check_learns(ENGLISH, [true; 3], 0.95);
    check_learns(GREEK, [true, true, false], 0.95);
    check_learns(DUTCH, [true, false, true], 0.95);
    check_learns(CRAFT, [true, false, false], 0.95);
}

#[test]
fn columns_that_are_not_predicted_stay_as_they_are() {
    let train = vec![Sentence::from_tagged([("a", "DET"), ("b", "NOUN")]); 4];
    let tagger = trained(&train, &TagConfig::default());
    let mut sentence = Sentence::from_tagged([("a", "X")]);
    sentence.tokens[0].xpos = "kept".into();
    sentence.tokens[0].lemma = "kept too".into();
    let mut expected = sentence.clone();
    tagger.worker().tag(&mut sentence);
    expected.tokens[0].tag = "DET".into();
    assert_eq!(sentence, expected);
}

#[test]
fn training_is_deterministic_and_the_seed_matters() {
    let train = read(ENGLISH);
    let bytes = |seed| trained(&train, &TagConfig { seed, ..with_classes() }).to_bytes();
    assert_eq!(bytes(1), bytes(1));
    assert_ne!(bytes(1), bytes(2));
}

#[test]
fn bytes_and_back() {
    for (text, config) in
        [(ENGLISH, with_classes()), (GREEK, TagConfig::default()), (CRAFT, TagConfig::default())]
    {
        let train = read(text);
        let tagger = trained(&train, &config);
        let bytes = tagger.to_bytes();
        let again = Tagger::from_bytes(&bytes).expect("what was written");
        assert_eq!(again.to_bytes(), bytes);
        assert_eq!(tagged(again.worker(), &train), tagged(tagger.worker(), &train));
    }
}

#[test]
fn damage_is_an_error() {
    let bytes = trained(&read(DUTCH), &with_classes()).to_bytes();
    for n in 0..bytes.len().min(2000) {
        assert_eq!(Tagger::from_bytes(&bytes[..n]).expect_err("cut short").code, Code::BadModel);
    }
    let mut changed = bytes.clone();
    changed[bytes.len() / 2] ^= 1;
    assert_eq!(Tagger::from_bytes(&changed).expect_err("one bit").code, Code::BadModel);
    // After the checksum nothing may panic either, nor ask for endless memory, nor make a tagger that panics.
    let body = &bytes[MAGIC.len()..bytes.len() - 4];
    let mut rng = crate::rng::Rng::new(5);
    let mut accepted = 0;
    for _ in 0..3000 {
        let mut changed = body.to_vec();
        for _ in 0..1 + rng.below(3) {
            let at = rng.below(body.len());
            changed[at] = rng.next_u64() as u8;
        }
        if rng.below(4) == 0 {
            changed.truncate(rng.below(body.len()));
        }
        let bytes = Writer::part(MAGIC, |out| out.0.extend_from_slice(&changed));
        if let Ok(tagger) = Tagger::from_bytes(&bytes) {
            accepted += 1;
            tagger.worker().tag(&mut Sentence::from_tagged([("De", ""), ("hond", ""), ("xyz", "")]));
        }
    }
    assert!(accepted > 0, "a changed weight is still a weight");
}

#[test]
fn the_cache_changes_nothing() {
    let train = read(ENGLISH);
    let tagger = trained(&train, &with_classes());
    let small = || TaggerWorker::with_cache(&tagger, 0);
    let expected: Vec<Sentence> =
        train.iter().flat_map(|sentence| tagged(tagger.worker(), std::slice::from_ref(sentence))).collect();
    assert_eq!(tagged(tagger.worker(), &train), expected);
    assert_eq!(tagged(small(), &train), expected);
    // All sentences in one: more different words than the small cache holds.
    let tokens: Vec<Token> = train.iter().flat_map(|sentence| sentence.tokens.clone()).collect();
    let long = [Sentence { tokens, ..Sentence::default() }];
    assert_eq!(tagged(small(), &long), tagged(tagger.worker(), &long));
}

#[test]
fn long_sentences_are_tagged() {
    let tagger = trained(&read(ENGLISH), &TagConfig::default());
    let words: Vec<String> = (0..200_000).map(|i| format!("w{}", i % 70_000)).collect();
    let mut sentence = Sentence::from_tagged(words.iter().map(|word| (word.as_str(), "")));
    sentence.tokens[500].form = "x".repeat(3_000_000).into();
    tagger.worker().tag(&mut sentence);
    assert!(sentence.tokens.iter().all(|token| !token.tag.is_empty()));
}

#[test]
fn there_must_be_something_to_learn() {
    let error = |train: &[Sentence], config: &TagConfig| {
        Tagger::train(train, &[], config, &mut |_| ()).expect_err("nothing to learn").code
    };
    assert_eq!(error(&[], &TagConfig::default()), Code::BadTraining);
    assert_eq!(error(&[Sentence::from_tagged([("a", "")])], &TagConfig::default()), Code::BadTraining);
    let none = TagConfig { epochs: 0, ..TagConfig::default() };
    assert_eq!(error(&[Sentence::from_tagged([("a", "b")])], &none), Code::BadTraining);
}

#[test]
fn the_best_epoch_on_dev_counts() {
    let (train, dev) = (read(ENGLISH), read(ENGLISH));
    let mut scores = Vec::new();
    let tagger = Tagger::train(&train[..4], &dev[4..], &TagConfig::default(), &mut |progress| {
        if let Progress::Epoch { layer: "tags", dev: Some(dev), .. } = progress {
            scores.push(*dev);
        }
    });
    let tagger = tagger.expect("it can be trained");
    // Those whose weights are settled; before that a layer is not measured.
    assert_eq!(scores.len(), TagConfig::default().epochs - TagConfig::default().open_epochs);
    let predicted = tagged(tagger.worker(), &dev[4..]);
    let pairs =
        || dev[4..].iter().zip(&predicted).flat_map(|(gold, ours)| gold.tokens.iter().zip(&ours.tokens));
    let right = pairs().filter(|(gold, ours)| (&gold.tag, &gold.xpos) == (&ours.tag, &ours.xpos)).count();
    let best = scores.iter().copied().fold(0.0, f64::max);
    assert!((right as f64 * 100.0 / pairs().count() as f64 - best).abs() < 1e-9, "{best} among {scores:?}");
}

/// `odd` is a VERB in one sentence and occurs nowhere else; all other words are NOUNs.
fn with_one_odd_word() -> Vec<Sentence> {
    let mut sentences: Vec<Sentence> =
        (0..30).map(|_| Sentence::from_tagged([("some", "NOUN"), ("word", "NOUN")])).collect();
    sentences[17] = Sentence::from_tagged([("some", "NOUN"), ("odd", "VERB")]);
    sentences
}

#[test]
fn no_fold_sees_itself() {
    let train = with_one_odd_word();
    let whole = trained(&train, &TagConfig::default());
    assert!(tagged(whole.worker(), &train) == train, "a tagger that has seen the word knows it");
    for folds in [2, 3, 7, 30] {
        let tags = jackknife(&train, folds, &TagConfig::default(), 2, &mut |_| ()).expect("it works");
        let mut expected = train.clone();
        expected[17].tokens[1].tag = "NOUN".into();
        assert!(tags == expected, "{folds} folds");
    }
}

#[test]
fn threads_do_not_change_a_jackknife() {
    let train = read(ENGLISH);
    let mut folds_seen = Vec::new();
    let mut run = |jobs| {
        jackknife(&train, 4, &TagConfig::default(), jobs, &mut |progress| folds_seen.push(progress.clone()))
            .expect("it works")
    };
    let one = run(1);
    assert_eq!((run(3), one.len()), (one, train.len()));
    let last = Progress::Fold { done: 4, folds: 4 };
    assert_eq!((folds_seen.len(), folds_seen.last()), (8, Some(&last)));
    for folds in [0, 1, train.len() + 1] {
        let error = jackknife(&train, folds, &TagConfig::default(), 1, &mut |_| ()).expect_err("no folds");
        assert_eq!(error.code, Code::BadTraining);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_text_can_be_tagged(forms in prop::collection::vec("\\PC{0,6}|[a-z]{1,3}|\\p{Lu}{1,4}|[0-9\u{0301}.-]{0,4}|", 0..20)) {
        thread_local! {
            static TAGGER: Tagger = trained(&read(ENGLISH), &with_classes());
        }
        TAGGER.with(|tagger| {
            let sentence = Sentence::from_tagged(forms.iter().map(|form| (form.as_str(), "")));
            let ours = tagged(tagger.worker(), std::slice::from_ref(&sentence)).remove(0);
            let bare = |sentence: &Sentence| sentence.tokens.iter().map(|token| token.form.clone()).collect::<Vec<_>>();
            prop_assert_eq!(bare(&ours), bare(&sentence));
            prop_assert!(ours.tokens.iter().all(|token| !token.tag.is_empty()));
            Ok(())
        })?;
    }
}

#[test]
fn the_second_tag_can_be_chosen() {
    // "run" is a noun as often as a verb, and nothing around it tells.
    let noun = Sentence::from_tagged([("they", "PRON"), ("run", "NOUN"), ("dogs", "NOUN")]);
    let verb = Sentence::from_tagged([("they", "PRON"), ("run", "VERB"), ("dogs", "NOUN")]);
    let tagger = trained(&vec![[noun, verb]; 8].concat(), &TagConfig::default());
    let mut worker = tagger.worker();
    let mut sentence = Sentence::from_tagged([("they", ""), ("run", ""), ("dogs", "")]);
    worker.tag(&mut sentence);
    let first = sentence.clone();
    let alternatives = worker.alternatives();
    assert_eq!(alternatives.len(), 1, "{alternatives:?}");
    worker.tag_with(&mut sentence, &alternatives);
    let tags = |sentence: &Sentence| sentence.tokens.iter().map(|t| t.tag.to_string()).collect::<Vec<_>>();
    let (before, after) = (tags(&first), tags(&sentence));
    assert_ne!(before[1], after[1]);
    assert!(["NOUN", "VERB"].contains(&after[1].as_str()), "{after:?}");
    assert_eq!((&before[0], &before[2]), (&after[0], &after[2]));
    worker.tag_with(&mut sentence, &[]);
    assert_eq!(sentence, first);
    // The next sentence is tagged as if nothing had been.
    worker.tag_with(&mut sentence, &alternatives);
    worker.tag(&mut sentence);
    assert_eq!(sentence, first);
}
