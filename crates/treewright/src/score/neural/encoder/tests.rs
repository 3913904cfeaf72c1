//! A tiny random encoder against the reference implementation (`scripts/check-encoder --make-tiny`), and laws.

use serde::Deserialize;

use super::*;
use crate::config::EncoderFiles;

/// A tiny encoder of a kind, and what it should give.
macro_rules! tiny {
    ($folder:literal) => {
        (
            EncoderFiles {
                config: include_str!(concat!($folder, "/config.json")).to_owned(),
                vocabulary: include_str!(concat!($folder, "/vocab.txt")).to_owned(),
                weights: include_bytes!(concat!($folder, "/model.safetensors")).to_vec(),
            },
            include_str!(concat!($folder, "/expected.json")),
        )
    };
}

/// The files of the tiny BERT.
pub(in crate::score::neural) fn tiny_files() -> EncoderFiles {
    tiny!("tiny").0
}

fn tiny() -> Encoder {
    Encoder::read(&tiny_files(), 3).expect("an encoder")
}

fn tiny_mpnet() -> Encoder {
    Encoder::read(&tiny!("tiny-mpnet").0, 3).expect("an encoder")
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
    for (files, expected) in [tiny!("tiny"), tiny!("tiny-mpnet")] {
        let encoder = Encoder::read(&files, 3).expect("an encoder");
        check_reference(
            &encoder,
            &serde_json::from_str::<Vec<Expected>>(expected).expect("expected vectors"),
        );
    }
}

fn check_reference(encoder: &Encoder, expected: &[Expected]) {
    let sentences: Vec<Sentence> = expected
        .iter()
        .map(|expected| sentence(&expected.words.iter().map(String::as_str).collect::<Vec<_>>()))
        .collect();
    let together = encoder.vectors(&sentences.iter().collect::<Vec<_>>(), &[1, 3], false);
    let expected_all: Vec<f32> = expected.iter().flat_map(|expected| expected.vectors.concat()).collect();
    assert_eq!(together.len(), expected_all.len());
    for (i, (own, expected)) in together.iter().zip(&expected_all).enumerate() {
        assert!((own - expected).abs() < 2e-5, "number {i}: {own} instead of {expected}");
    }
    let alone: Vec<f32> =
        sentences.iter().flat_map(|sentence| encoder.vectors(&[sentence], &[1, 3], false)).collect();
    assert_eq!(alone, together, "the same bits alone as among others");
}

#[test]
fn fewer_layers_are_the_first_ones() {
    let sentence = sentence(&["the", "cat"]);
    let two = Encoder::read(&tiny_files(), 2).expect("an encoder");
    assert_eq!(two.vectors(&[&sentence], &[1, 2], false), tiny().vectors(&[&sentence], &[1, 2], false));
    for n_layers in [0, 4] {
        assert!(Encoder::read(&tiny_files(), n_layers).is_err());
    }
}

#[test]
fn long_sentences_are_read_in_windows() {
    // 200 words of one or two pieces and 48 positions.
    let words: Vec<&str> = (0..200).map(|i| if i % 3 == 0 { "cats" } else { "mat" }).collect();
    let long = tiny().vectors(&[&sentence(&words)], &[1], false);
    assert_eq!(long.len(), 200 * 8);
    assert!(long.iter().all(|number| number.is_finite()));
    // The first words are those of the first window.
    let first = tiny().vectors(&[&sentence(&words[..34])], &[1], false);
    assert!(long[..8 * 20].iter().zip(&first).all(|(a, b)| (a - b).abs() < 2.0));
    // A word with more pieces than there are positions, and one alone.
    let dots = ".".repeat(500);
    assert_eq!(
        tiny().vectors(&[&sentence(&["a", &dots, "a"]), &sentence(&["a"])], &[1, 2], false).len(),
        4 * 16
    );
}

/// What is written gives the same vectors, and so do the files of fewer layers.
#[test]
fn files_can_be_written() {
    let words = sentence(&["The", "cats", "sat", "unhappily", "."]);
    for encoder in [tiny(), tiny_mpnet()] {
        let files = load::write(&encoder.layout, &encoder.tokenizer, &encoder.all);
        for n_layers in [1, 3] {
            let again = Encoder::read(&files, n_layers).expect("what was written");
            assert_eq!(again.tokenizer, encoder.tokenizer);
            let outputs: Vec<usize> = (1..=n_layers).collect();
            let vectors = |encoder: &Encoder| encoder.vectors(&[&words], &outputs, false);
            assert_eq!(vectors(&again), vectors(&encoder));
        }
    }
}

/// Without asking for the memory first.
#[test]
fn an_encoder_with_more_weights_than_its_file_is_refused() {
    let files = tiny_files();
    let mut config: serde_json::Value = serde_json::from_str(&files.config).expect("JSON");
    for name in ["hidden_size", "intermediate_size"] {
        config[name] = (1 << 14).into();
    }
    config["max_position_embeddings"] = ((1 << 20) - 1).into();
    config["num_hidden_layers"] = 1024.into();
    let files = EncoderFiles { config: config.to_string(), ..files };
    let error = Encoder::read(&files, 1024).expect_err("sizes beyond the file");
    assert!(error.message.contains("model.safetensors has only"), "{error}");
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
    check(&|files| files.config = files.config.replace("\"bert\"", "\"roberta\""));
    check(&|files| files.config = files.config.replace("\"gelu\"", "\"relu\""));
    check(&|files| files.config = files.config.replace("\"hidden_size\": 8", "\"hidden_size\": 10"));
    check(&|files| files.config = files.config.replace("heads\": 2", "heads\": 3"));
    check(&|files| files.vocabulary.clear());
    check(&|files| files.vocabulary += "one\nmore\n");
    for n in [0, 7, 100, 9000] {
        check(&|files| files.weights.truncate(n));
    }
}

#[test]
fn vectors_in_eight_bits_are_close() {
    let (a, b) = (sentence(&["the", "cats", "sat", "."]), sentence(&["a", "mat"]));
    let exact = tiny().vectors(&[&a, &b], &[1, 3], false);
    let small = tiny().vectors(&[&a, &b], &[1, 3], true);
    let error = exact.iter().zip(&small).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(error > 0.0 && error < 0.25, "{error}");
    assert_eq!(tiny().vectors(&[&b], &[1, 3], true), small[4 * 16..], "the same bits alone as among others");
}

#[test]
fn numbers_of_sixteen_bits_are_the_nearest() {
    let numbers =
        [0.0, -0.0, 1.0, -1.5, 65504.0, 1e9, 6.1e-5, 5.960_464_5e-8, 1e-9, 0.1, 1.000_488_3, 3.14e-5];
    let expected = [
        0.0,
        -0.0,
        1.0,
        -1.5,
        65504.0,
        65504.0,
        6.097_555e-5,
        5.960_464_5e-8,
        0.0,
        0.099_975_586,
        1.0,
        3.141_164_8e-5,
    ];
    let (mut halves, mut back) = ([0; 12], [9.0; 12]);
    kernel::narrow(&numbers, &mut halves);
    kernel::widen(&halves, &mut back);
    assert_eq!(back, expected);
    assert_eq!(back[1].to_bits(), expected[1].to_bits());
    // Every number of 16 bits but infinities and what is no number.
    let all: Vec<u16> = (0..=u16::MAX).filter(|half| half & 0x7C00 != 0x7C00).collect();
    let (mut wide, mut again) = (vec![0.0; all.len()], vec![0; all.len()]);
    kernel::widen(&all, &mut wide);
    kernel::narrow(&wide, &mut again);
    assert_eq!(again, all);
}

/// Sentences of several pieces a word, one of them longer than a window.
#[test]
fn gradients_are_those_of_finite_differences() {
    check_gradients(&tiny());
    check_gradients(&tiny_mpnet());
}

fn check_gradients(encoder: &Encoder) {
    let (a, b) = (sentence(&["the", "unhappily", "."]), sentence(&["cats", "cats"]));
    let long = ".".repeat(60);
    let c = sentence(&["a", &long, "mat"]);
    for (sentences, every, p) in [(vec![&a, &b], 1, 0.0), (vec![&c], 7, 0.0), (vec![&a, &b], 1, 0.2)] {
        let outputs = [1, 3];
        let n_words: usize = sentences.iter().map(|sentence| sentence.len()).sum();
        let wanted = super::super::kernel::tests::random(&mut crate::rng::Rng::new(2), n_words * 16);
        let run = |all: &[f32]| {
            let packed = PackedEncoder::new(&encoder.layout, encoder.tokenizer.clone(), all, true);
            let (mut memory, mut out) = (Memory::default(), Vec::new());
            let mut rng = crate::rng::Rng::new(5);
            packed.encode_to_learn(&sentences, &outputs, Some((p, &mut rng)), &mut memory, &mut out);
            (packed, memory, out)
        };
        let (packed, memory, out) = run(&encoder.all);
        let without_noise = encoder.vectors(&sentences, &outputs, false);
        assert_eq!(out == without_noise, p == 0.0, "learning or not");
        for half in memory.layers.iter().flat_map(|layer| [&layer.first, &layer.second]) {
            assert_eq!(half.dropout.mask().contains(&0.0), p > 0.0, "each half of each layer");
        }
        let mut gradients = vec![9.0; encoder.all.len()];
        let mut back = BackMemory::default();
        packed.back(&encoder.layout, &outputs, &memory, &wanted, &mut back, &mut gradients);
        let used: Vec<usize> = (encoder.layout.positions.start..encoder.all.len()).step_by(every).collect();
        assert!(used.iter().filter(|&&i| gradients[i] != 0.0).count() > used.len() / 2);
        super::super::gradients::check_some(&encoder.all, &gradients, &used, |all| {
            run(all).2.iter().zip(&wanted).map(|(x, by)| f64::from(*x) * f64::from(*by)).sum()
        });
    }
}
