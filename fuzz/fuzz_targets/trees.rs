//! What every reader of constituent trees must do with any bytes.

use treewright::treebank::{self, Entry, Format, ReadOptions, WriteOptions};

/// Reads `text`; what was read must come back from the writer, unless the writer refuses it. `default_id` is the name
/// that the writer gives to a sentence without one.
pub fn check(format: Format, text: &[u8], default_id: &str) {
    let (no_parse, bare_words) = (text.len() % 2 == 0, text.len() % 3 == 0);
    let options = ReadOptions { no_parse, bare_words, ..ReadOptions::default() };
    let mut n_items = 0;
    for item in treebank::reader(format, text, &options) {
        n_items += 1;
        assert!(n_items <= text.len() + 1, "more items than bytes");
        let Ok(mut entry) = item else { continue };
        let mut out = Vec::new();
        let Ok(mut writer) = treebank::writer(format, &mut out, &WriteOptions::default()) else { continue };
        if writer.write(&entry).is_ok() {
            writer.finish().expect("memory does not fail");
            drop(writer);
            if entry.sentence.id.is_empty() {
                entry.sentence.id = default_id.into();
            }
            let options = ReadOptions { no_parse: true, ..ReadOptions::default() };
            let again: Result<Vec<Entry>, _> = treebank::reader(format, &out[..], &options).collect();
            assert_eq!(again.as_deref(), Ok(&[entry][..]));
        }
    }
}
