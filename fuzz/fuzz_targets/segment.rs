//! The segmenter: no text is lost, portions do not matter, and a damaged segmenter is refused.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use treewright::Sentence;
use treewright::segment::{Document, Lines, SegmentConfig, SegmentOptions, Segmenter};
use treewright::treebank::{self, Entry, Format, ReadOptions, WriteOptions};

/// Trained on a few sentences: enough for every kind of decision.
static SEGMENTER: LazyLock<Segmenter> = LazyLock::new(|| {
    let words = "1\tYes\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n2\t,\t_\t_\t_\t_\t_\t_\t_\t_\n\
                 3-4\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n3\tdo\t_\t_\t_\t_\t_\t_\t_\t_\n4\tn't\t_\t_\t_\t_\t_\t_\t_\t_\n\
                 5\t10 000\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n6\t.\t_\t_\t_\t_\t_\t_\t_\t_\n\n";
    let reader = treebank::reader(Format::Conllu, words.as_bytes(), &ReadOptions::default());
    let sentences: Vec<Sentence> = reader.map(|entry| entry.expect("good CoNLL-U").sentence).collect();
    let sentences = vec![sentences; 20].concat();
    Segmenter::train(&sentences, &SegmentConfig::default(), &mut |_| {}).expect("there are sentences")
});

fn cut(bytes: &[u8], size: usize, options: &SegmentOptions) -> Option<Document> {
    let (mut stream, mut sentences) = (SEGMENTER.stream(options), Vec::new());
    for portion in bytes.chunks(size.max(1)) {
        stream.push(portion, &mut sentences).ok()?;
    }
    let blank = stream.finish(&mut sentences).ok()?;
    Some(Document { sentences, blank })
}

fuzz_target!(|bytes: &[u8]| {
    let _ = Segmenter::from_bytes(bytes);
    let Some((&first, rest)) = bytes.split_first() else { return };
    let lines = [Lines::Free, Lines::EndSentences, Lines::AreSentences][usize::from(first % 3)];
    let max_tokens = if first & 128 == 0 { 1000 } else { 1 + usize::from(first / 3 % 7) };
    let options = SegmentOptions { lines, max_tokens };
    let whole = cut(rest, rest.len(), &options);
    assert_eq!(whole, cut(rest, 1 + usize::from(first / 8), &options));
    assert_eq!(whole.is_some(), std::str::from_utf8(rest).is_ok());
    let Some(document) = whole else { return };
    assert_eq!(document.text().as_bytes(), rest);
    for sentence in document.sentences {
        let entry = Entry { sentence, tree: None };
        let mut out = Vec::new();
        let mut writer = treebank::writer(Format::Conllu, &mut out, &WriteOptions::default()).expect("CoNLL-U");
        writer.write(&entry).expect("a sentence that CoNLL-U can hold");
        drop(writer);
        let again: Result<Vec<Entry>, _> =
            treebank::reader(Format::Conllu, &out[..], &ReadOptions::default()).collect();
        assert_eq!(again.as_deref(), Ok(&[entry][..]));
    }
});
