//! Model files: whatever they hold, they are refused or can be used. Checksums are made to fit, so that the fuzzer gets
//! past them; start from small models that were trained on a few sentences.
#![no_main]

use libfuzzer_sys::fuzz_target;
use treewright::Sentence;
use treewright::model::Model;
use treewright::model::Parser;
use treewright::pipeline::{Pipeline, Tagging};
use treewright::segment::{SegmentOptions, Segmenter};
use treewright::tag::Tagger;

/// Puts the CRC-32 of what comes from `from` on, but for its own four bytes, at `at`.
fn fix(bytes: &mut [u8], from: usize, at: usize) {
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(bytes.get(from..at).unwrap_or_default());
    checksum.update(&bytes[at + 4..]);
    bytes[at..at + 4].copy_from_slice(&checksum.finalize().to_le_bytes());
}

fuzz_target!(|bytes: &[u8]| {
    let sentence = Sentence::from_tagged([("The", "DT"), ("public", "NN"), ("waits", "VBZ"), (".", ".")]);
    if let Ok(pipeline) = Pipeline::from_bytes(bytes) {
        let _ = pipeline.segmenter();
        if let Ok(analyser) = pipeline.analyser(None) {
            let _ = analyser.worker(None, Tagging::Always).analyse(&mut sentence.clone());
        }
    }
    let mut bytes = bytes.to_vec();
    if bytes.starts_with(b"TREEWRT\n") && bytes.len() > 32 {
        fix(&mut bytes, 0, 24);
        if let Ok(model) = Model::from_bytes(&bytes) {
            assert!(Parser::new(model).worker().parse(&sentence).is_some());
        }
    } else if bytes.starts_with(b"TWSEGMT\n") && bytes.len() > 20 {
        fix(&mut bytes, 20, 16);
        if let Ok(segmenter) = Segmenter::from_bytes(&bytes) {
            segmenter.segment("The public (all of it) waits. Don't!", &SegmentOptions::default());
        }
    } else if bytes.starts_with(b"TWTAG") && bytes.len() > 12 {
        let end = bytes.len() - 4;
        fix(&mut bytes, 0, end);
        if let Ok(tagger) = Tagger::from_bytes(&bytes) {
            tagger.worker().tag(&mut sentence.clone());
        }
    }
});
