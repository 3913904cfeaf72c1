//! What happens to model files that are damaged, old, or made by somebody else.

use treewright::model::Model;
use treewright::parser::TreeKind;
use treewright::pipeline::{PartKind, Pipeline};
use treewright::segment::{SegmentConfig, Segmenter};
use treewright::tag::{TagConfig, Tagger};
use treewright::train::{TrainConfig, Update, train};
use treewright::treebank::Entry;
use treewright::{Result, Sentence};

use crate::training::sample;

/// A few short sentences, so that files are small.
fn entries(file: &str) -> Vec<Entry> {
    let mut entries = sample(file);
    entries.retain(|entry| entry.sentence.len() < 12);
    entries.truncate(6);
    entries
}

fn model(file: &str, system: &str) -> Vec<u8> {
    let config = TrainConfig {
        system: system.parse().expect(system),
        update: Update::Local,
        beam: 1,
        epochs: 2,
        ..TrainConfig::default()
    };
    let model = train(&config, &entries(file), &[], None, &mut ()).expect("trainable");
    let mut bytes = Vec::new();
    model.save(&mut bytes).expect("memory");
    bytes
}

fn pipeline() -> Vec<u8> {
    let sentences: Vec<Sentence> =
        entries("ud_english_ewt.conllu").into_iter().map(|entry| entry.sentence).collect();
    let segmenter = Segmenter::train(&sentences, &SegmentConfig::default(), &mut |_| ()).expect("trainable");
    let config = TagConfig { epochs: 2, open_epochs: 1, ..TagConfig::default() };
    let tagger = Tagger::train(&sentences, &[], &config, &mut |_| ()).expect("trainable");
    let pipeline = Pipeline::of_parts([
        (PartKind::Segmenter, segmenter.to_bytes()),
        (PartKind::Tagger, tagger.to_bytes()),
        (PartKind::Parser(TreeKind::Dependencies), model("ud_english_ewt.conllu", "arc-hybrid")),
    ]);
    let mut bytes = Vec::new();
    pipeline.save(&mut bytes).expect("memory");
    bytes
}

/// Loads every part.
fn load(bytes: &[u8]) -> Result<()> {
    let pipeline = Pipeline::from_bytes(bytes)?;
    pipeline.segmenter()?;
    pipeline.analyser(None)?;
    Ok(())
}

/// Where the parts begin, from the table of a pipeline file.
fn starts(bytes: &[u8]) -> Vec<usize> {
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes")) as usize;
    (0..3).map(|part| number(16 + 24 * part + 8)).collect()
}

#[test]
fn no_byte_of_a_pipeline_can_change_unnoticed() {
    let bytes = pipeline();
    load(&bytes).expect("whole");
    let starts = starts(&bytes);
    // The whole table and the beginnings of the parts, the ends, and bytes all over the file.
    let mut places: Vec<usize> = (0..starts[0]).collect();
    for (i, &start) in starts.iter().enumerate() {
        let end = starts.get(i + 1).copied().unwrap_or(bytes.len());
        places.extend((start..end).take(64));
        places.extend((start..end).rev().take(64));
    }
    places.extend((0..bytes.len()).step_by(bytes.len() / 700));
    for at in places {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        let error = load(&changed).expect_err("a changed byte");
        assert_eq!(error.code.as_str(), "TW801", "byte {at} of {}: {error}", bytes.len());
    }
}

/// The file of a parser has a checksum over all of it, the lengths and the zeros before the weights included.
#[test]
fn no_byte_of_a_parser_can_change_unnoticed() {
    let bytes = model("gum.mrg", "in-order");
    let header = u32::from_le_bytes(bytes[12..16].try_into().expect("four bytes")) as usize;
    let weights = (32 + header).next_multiple_of(64);
    let places = (0..100).chain(32 + header - 20..weights + 20).chain((0..bytes.len()).step_by(997));
    for at in places {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        let error = Model::from_bytes(&changed).expect_err("a changed byte");
        assert_eq!(error.code.as_str(), "TW801", "byte {at}: {error}");
    }
}

/// Files of versions that are no longer written can still be read.
#[test]
fn files_of_older_versions_are_read() {
    let mut old = model("gum.mrg", "in-order");
    let header = u32::from_le_bytes(old[12..16].try_into().expect("four bytes")) as usize;
    let weights = (32 + header).next_multiple_of(64);
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&old[32..32 + header]);
    checksum.update(&old[weights..]);
    old[24..28].copy_from_slice(&checksum.finalize().to_le_bytes());
    for version in [2, 3] {
        old[8] = version;
        Model::from_bytes(&old).expect("an old model");
    }
    let mut old = pipeline();
    old[8] = 1;
    load(&old).expect("an old pipeline");
    old[8] = 3;
    assert!(load(&old).expect_err("a new one").message.contains("version 3"));
}
