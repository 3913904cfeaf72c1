//! (tests only) Reading and writing in memory.

use super::{Entry, Format, ReadOptions, WriteOptions, numbered_reader, writer};
use crate::error::Result;
use crate::tree::arbitrary;

/// What a file gives; reading that does not end is cut short.
pub(super) fn read(format: Format, text: impl AsRef<[u8]>, options: &ReadOptions) -> Vec<Result<Entry>> {
    numbered_reader(format, Box::new(text.as_ref()), options).take(1_000_000).collect()
}

pub(super) fn write(format: Format, entries: &[Entry], options: &WriteOptions) -> Result<String> {
    let mut out = Vec::new();
    let mut writer = writer(format, &mut out, options)?;
    entries.iter().try_for_each(|entry| writer.write(entry))?;
    writer.finish()?;
    drop(writer);
    Ok(String::from_utf8(out).expect("only text is written"))
}

/// The trees as discbracket, errors as they are shown.
pub(super) fn shown(items: Vec<Result<Entry>>) -> Vec<String> {
    let show = |entry: Entry| {
        let text = write(Format::Discbracket, &[entry], &WriteOptions::default()).expect("a small tree");
        text.trim_end().to_owned()
    };
    items.into_iter().map(|item| item.map_or_else(|error| error.to_string(), show)).collect()
}

/// Depth and width are limited by nothing but memory.
#[track_caller]
pub(super) fn check_deep_and_wide(format: Format, n_wide: usize) {
    for (mut sentence, tree) in [arbitrary::deep_tree(100_000), arbitrary::wide_tree(n_wide)] {
        if !matches!(format, Format::Ptb | Format::Discbracket) {
            sentence.id = "1".into();
        }
        let entry = Entry { sentence, tree: Some(tree.into()) };
        let text = write(format, std::slice::from_ref(&entry), &WriteOptions::default()).expect("any size");
        assert!(read(format, &text, &ReadOptions::default()) == [Ok(entry)]);
    }
}

/// What the format cannot hold is refused with this code; nothing of it is written, and the next entry is.
#[track_caller]
pub(super) fn check_refused(format: Format, bad: &Entry, good: &Entry, expected: crate::error::Code) {
    let mut out = Vec::new();
    let mut writer = writer(format, &mut out, &WriteOptions::default()).expect("it can be written");
    let error = writer.write(bad).expect_err("it has no place");
    assert_eq!((error.code, error.location.sentence), (expected, 1));
    assert_eq!(writer.write(good), Ok(()));
    assert_eq!(writer.finish(), Ok(()));
    drop(writer);
    let alone = write(format, std::slice::from_ref(good), &WriteOptions::default());
    assert_eq!(String::from_utf8(out).as_deref(), Ok(alone.expect("writable").as_str()));
}
