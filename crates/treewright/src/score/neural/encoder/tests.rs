//! A tiny random encoder against the reference implementation (`scripts/check-encoder --make-tiny`), and laws.

use serde::Deserialize;

use super::*;
use crate::config::EncoderFiles;

/// The files of the tiny encoder.
pub(in crate::score::neural) fn tiny_files() -> EncoderFiles {
    EncoderFiles {
        config: include_str!("tiny/config.json").to_owned(),
        vocabulary: include_str!("tiny/vocab.txt").to_owned(),
        weights: include_bytes!("tiny/model.safetensors").to_vec(),
    }
}

fn tiny() -> Encoder {
    Encoder::read(&tiny_files(), 3).expect("an encoder")
}

pub(super) fn sentence(words: &[&str]) -> Sentence {
    Sentence::from_tagged(words.iter().map(|word| (*word, "")))
}

#[derive(Deserialize)]
struct Expected {
    words: Vec<String>,
    vectors: Vec<Vec<f32>>,
}

#[test]
fn vectors_are_those_of_the_reference() {
    let expected: Vec<Expected> =
        serde_json::from_str(include_str!("tiny/expected.json")).expect("expected vectors");
    let sentences: Vec<Sentence> = expected
        .iter()
        .map(|expected| sentence(&expected.words.iter().map(String::as_str).collect::<Vec<_>>()))
        .collect();
    let together = tiny().vectors(&sentences.iter().collect::<Vec<_>>(), &[1, 3]);
    let expected_all: Vec<f32> = expected.iter().flat_map(|expected| expected.vectors.concat()).collect();
    assert_eq!(together.len(), expected_all.len());
    for (i, (own, expected)) in together.iter().zip(&expected_all).enumerate() {
        assert!((own - expected).abs() < 2e-5, "number {i}: {own} instead of {expected}");
    }
    let alone: Vec<f32> =
        sentences.iter().flat_map(|sentence| tiny().vectors(&[sentence], &[1, 3])).collect();
    assert_eq!(alone, together, "the same bits alone as among others");
}

#[test]
fn fewer_layers_are_the_first_ones() {
    let sentence = sentence(&["the", "cat"]);
    let two = Encoder::read(&tiny_files(), 2).expect("an encoder");
    assert_eq!(two.vectors(&[&sentence], &[1, 2]), tiny().vectors(&[&sentence], &[1, 2]));
    for n_layers in [0, 4] {
        assert!(Encoder::read(&tiny_files(), n_layers).is_err());
    }
}

#[test]
fn long_sentences_are_read_in_windows() {
    // 200 words of one or two pieces and 48 positions.
    let words: Vec<&str> = (0..200).map(|i| if i % 3 == 0 { "cats" } else { "mat" }).collect();
    let long = tiny().vectors(&[&sentence(&words)], &[1]);
    assert_eq!(long.len(), 200 * 8);
    assert!(long.iter().all(|number| number.is_finite()));
    // The first words are those of the first window.
    let first = tiny().vectors(&[&sentence(&words[..34])], &[1]);
    assert!(long[..8 * 20].iter().zip(&first).all(|(a, b)| (a - b).abs() < 2.0));
    // A word with more pieces than there are positions, and one alone.
    let dots = ".".repeat(500);
    assert_eq!(tiny().vectors(&[&sentence(&["a", &dots, "a"]), &sentence(&["a"])], &[1, 2]).len(), 4 * 16);
}

#[test]
fn bad_files_are_refused() {
    let files = tiny_files();
    let check = |change: &dyn Fn(&mut EncoderFiles)| {
        let mut bad = files.clone();
        change(&mut bad);
        assert!(Encoder::read(&bad, 2).is_err());
    };
    check(&|files| files.config.clear());
    check(&|files| files.config = files.config.replace("\"bert\"", "\"mpnet\""));
    check(&|files| files.config = files.config.replace("\"gelu\"", "\"relu\""));
    check(&|files| files.config = files.config.replace("\"hidden_size\": 8", "\"hidden_size\": 10"));
    check(&|files| files.config = files.config.replace("heads\": 2", "heads\": 3"));
    check(&|files| files.vocabulary.clear());
    check(&|files| files.vocabulary += "one\nmore\n");
    for n in [0, 7, 100, 9000] {
        check(&|files| files.weights.truncate(n));
    }
}
