//! What every reader must do with any bytes.

use treewright::treebank::{self, Entry, Format, ReadOptions, WriteOptions};

/// Reads `text`; what was read must come back from the writer, unless the writer refuses it.
pub fn check(format: Format, text: &[u8], read: &ReadOptions, write: &WriteOptions, is_lossless: bool) {
    let n_lines = text.split(|&byte| byte == b'\n').count();
    let mut n_items = 0;
    for item in treebank::reader(format, text, read) {
        n_items += 1;
        assert!(n_items <= n_lines + 1, "more items than lines");
        let Ok(entry) = item else { continue };
        let mut out = Vec::new();
        let Ok(mut writer) = treebank::writer(format, &mut out, write) else { continue };
        if writer.write(&entry).is_ok() {
            writer.finish().expect("memory does not fail");
            drop(writer);
            let again: Result<Vec<Entry>, _> = treebank::reader(format, &out[..], read).collect();
            match again {
                Ok(again) if is_lossless => assert_eq!(again, [entry]),
                Ok(again) => assert_eq!(again.len(), 1),
                Err(error) => panic!("what was written cannot be read: {error}"),
            }
        }
    }
}
