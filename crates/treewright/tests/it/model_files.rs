//! What happens to model files that are damaged, old, or made by somebody else.

use std::sync::LazyLock;

use serde_json::Value;
use treewright::model::Model;
use treewright::model::Parser;
use treewright::pipeline::{Pipeline, Tagging};
use treewright::registry::SystemTag;
use treewright::segment::{SegmentConfig, SegmentOptions, Segmenter};
use treewright::tag::{TagConfig, Tagger};
use treewright::tree::TreeKind;
use treewright::treebank::Entry;
use treewright::{Result, Sentence};

use crate::training::{quick_model, sample, saved};

/// A few short sentences, so that files are small.
fn entries(file: &str) -> Vec<Entry> {
    let mut entries = sample(file);
    entries.retain(|entry| entry.sentence.len() < 12);
    entries.truncate(6);
    entries
}

fn model(file: &str, system: &str) -> Vec<u8> {
    let model = quick_model(system, &entries(file), 2);
    saved(|out| model.save(out))
}

/// Segmenter, tagger and parser. Trained once.
static PIPELINE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let sentences: Vec<Sentence> =
        entries("ud_english_ewt.conllu").into_iter().map(|entry| entry.sentence).collect();
    let segmenter = Segmenter::train(&sentences, &SegmentConfig::default(), &mut |_| ()).expect("trainable");
    let config = TagConfig { epochs: 2, open_epochs: 1, ..TagConfig::default() };
    let tagger = Tagger::train(&sentences, &[], &config, &mut |_| ()).expect("trainable");
    let pipeline = Pipeline::of_parts([
        segmenter.into(),
        tagger.into(),
        Model::from_bytes(&model("ud_english_ewt.conllu", "arc-hybrid")).expect("whole").into(),
    ]);
    saved(|out| pipeline.save(out))
});

/// Loads every part.
fn load(bytes: &[u8]) -> Result<()> {
    let pipeline = Pipeline::from_bytes(bytes)?;
    pipeline.segmenter()?;
    pipeline.analyser(None)?.load()
}

/// Where the parts begin, from the table of a pipeline file.
fn starts(bytes: &[u8]) -> Vec<usize> {
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes")) as usize;
    (0..3).map(|part| number(16 + 24 * part + 8)).collect()
}

#[test]
fn no_byte_of_a_pipeline_can_change_unnoticed() {
    let bytes = &*PIPELINE;
    load(bytes).expect("whole");
    let starts = starts(bytes);
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

/// The paths of all values below one: keys and places as strings, joined by slashes.
fn paths(value: &Value, at: &str, out: &mut Vec<String>) {
    out.push(at.to_owned());
    match value {
        // Tables of words are long, and every word is like the others.
        Value::Array(items) => {
            let picked = [0, 1, items.len() / 2, items.len().saturating_sub(1)];
            let places: std::collections::BTreeSet<usize> = picked.into_iter().collect();
            for i in places.into_iter().filter(|&i| i < items.len()) {
                paths(&items[i], &format!("{at}/{i}"), out);
            }
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(key, item)| paths(item, &format!("{at}/{key}"), out));
        }
        _ => {}
    }
}

/// What may be put in a value's place.
fn edits(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(items) => {
            let halved = items[..items.len() / 2].to_vec();
            let doubled = items.iter().chain(items).cloned().collect();
            let reversed = items.iter().rev().cloned().collect();
            [vec![], halved, doubled, reversed].into_iter().map(Value::Array).collect()
        }
        Value::Number(_) | Value::Null => {
            [0i64, 1, -1, 7, 1 << 31, 1 << 32].into_iter().map(Value::from).chain([Value::Null]).collect()
        }
        Value::String(_) => ["", "x", "NP", "in-order", "arc-hybrid"].map(Value::from).to_vec(),
        Value::Bool(is_so) => vec![Value::from(!is_so), Value::Null],
        Value::Object(_) => vec![Value::Null, serde_json::json!({})],
    }
}

/// The file with another header, and a checksum that fits.
fn with_header(bytes: &[u8], header: &[u8]) -> Vec<u8> {
    let old = u32::from_le_bytes(bytes[12..16].try_into().expect("four bytes")) as usize;
    let mut changed = bytes[..32].to_vec();
    changed[12..16].copy_from_slice(&(header.len() as u32).to_le_bytes());
    changed.extend(header);
    changed.resize((32 + header.len()).next_multiple_of(64), 0);
    changed.extend(&bytes[(32 + old).next_multiple_of(64)..]);
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&changed[..24]);
    checksum.update(&changed[28..]);
    changed[24..28].copy_from_slice(&checksum.finalize().to_le_bytes());
    changed
}

/// Every value of a header is replaced by others, and the checksum made to fit. Each time the model is refused, or it
/// parses; nothing panics or runs away. Returns how many were refused.
fn attack(system: SystemTag) -> usize {
    let file = match system.info().kind {
        TreeKind::Dependencies => "ud_english_ewt.conllu",
        TreeKind::Constituents => "gum.mrg",
    };
    let bytes = model(file, system.name());
    let end = 32 + u32::from_le_bytes(bytes[12..16].try_into().expect("four bytes")) as usize;
    let header: Value = serde_json::from_slice(&bytes[32..end]).expect("JSON");
    assert!(with_header(&bytes, &bytes[32..end]) == bytes, "an edit without a change");
    let mut places = Vec::new();
    paths(&header, "", &mut places);
    let sentences: Vec<Sentence> = entries(file).into_iter().take(2).map(|entry| entry.sentence).collect();
    let mut refused = 0;
    for place in places {
        let value = header.pointer(&place).expect("a path of the header");
        for edit in edits(value) {
            let mut changed = header.clone();
            *changed.pointer_mut(&place).expect("the same path") = edit;
            let changed = serde_json::to_vec(&changed).expect("JSON");
            match Model::from_bytes(&with_header(&bytes, &changed)) {
                Err(error) => {
                    assert_eq!(error.code.as_str(), "TW801", "{system} {place}: {error}");
                    refused += 1;
                }
                Ok(model) => {
                    let mut worker = Parser::new(model).worker();
                    for sentence in &sentences {
                        assert!(worker.parse(sentence).is_some(), "{system} {place}");
                    }
                }
            }
        }
    }
    refused
}

#[test]
fn edited_headers_are_refused_or_harmless() {
    for &system in SystemTag::ALL {
        let refused = attack(system);
        assert!(refused > 60, "{system}: {refused} refused");
    }
}

/// The tables of a tagger and of a segmenter, changed where the checksum then fits.
#[test]
fn edited_taggers_and_segmenters_are_refused_or_harmless() {
    let bytes = &*PIPELINE;
    let starts = starts(bytes);
    let (segmenter, tagger) = (&bytes[starts[0]..starts[1]], &bytes[starts[1]..starts[2]]);
    let length = |part: usize| {
        let at = 16 + 24 * part + 16;
        u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes")) as usize
    };
    let (segmenter, tagger) = (&segmenter[..length(0)], &tagger[..length(1)]);
    let text = "The boy (she said) \"saw\" a dog. He ran, didn't he?";
    let values = |old: u8| [0, 1, 0x7f, 0x80, 0xff, old ^ 1, old.wrapping_add(1)];
    for at in (20..segmenter.len().min(600)).chain((600..segmenter.len()).step_by(segmenter.len() / 150)) {
        for value in values(segmenter[at]) {
            let mut changed = segmenter.to_vec();
            changed[at] = value;
            let checksum = crc32fast::hash(&changed[20..]);
            changed[16..20].copy_from_slice(&checksum.to_le_bytes());
            match Segmenter::from_bytes(&changed) {
                Err(error) => assert_eq!(error.code.as_str(), "TW801", "byte {at}: {error}"),
                Ok(segmenter) => drop(segmenter.segment(text, &SegmentOptions::default())),
            }
        }
    }
    let sentence = Sentence::from_tagged(text.split(' ').map(|word| (word, "")));
    let end = tagger.len() - 4;
    for at in (8..end.min(800)).chain((800..end).step_by(end / 300)) {
        for value in values(tagger[at]) {
            let mut changed = tagger.to_vec();
            changed[at] = value;
            let checksum = crc32fast::hash(&changed[..end]);
            changed[end..].copy_from_slice(&checksum.to_le_bytes());
            match Tagger::from_bytes(&changed) {
                Err(error) => assert_eq!(error.code.as_str(), "TW801", "byte {at}: {error}"),
                Ok(tagger) => tagger.worker().tag(&mut sentence.clone()),
            }
        }
    }
}

/// A tagger is read when a sentence needs it; until then nobody notices damage that its checksum does not show.
#[test]
fn a_damaged_tagger_is_an_error_when_it_is_needed() {
    let mut bytes = PIPELINE.clone();
    let starts = starts(&bytes);
    let length = u64::from_le_bytes(bytes[56..64].try_into().expect("eight bytes")) as usize;
    let tagger = &mut bytes[starts[1]..][..length];
    let end = length - 4;
    tagger[8..12].fill(0xff);
    let checksum = crc32fast::hash(&tagger[..end]);
    tagger[end..].copy_from_slice(&checksum.to_le_bytes());
    let analyser = Pipeline::from_bytes(&bytes).and_then(|pipeline| pipeline.analyser(None)).expect("unread");
    let mut worker = analyser.worker(None, Tagging::Missing);
    let mut sentence = Sentence::from_tagged([("The", "DET"), ("boy", "NOUN")]);
    assert!(worker.analyse(&mut sentence).expect("nothing to tag").is_some());
    sentence.tokens.iter_mut().for_each(|token| token.tag.clear());
    for error in [worker.analyse(&mut sentence).expect_err("damaged"), analyser.load().expect_err("damaged")]
    {
        assert_eq!(error.code.as_str(), "TW801", "{error}");
        assert!(error.message.starts_with("the tagger is damaged"), "{error}");
    }
}
