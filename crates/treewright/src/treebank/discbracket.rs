//! Discbracket: brackets whose words carry their positions, `(S (VP (VB 0=is) (JJ 2=rich)) (NP 1=John))`.
//!
//! Positions count from 0, each stands in the tree exactly once, and children may stand in any order. Otherwise the
//! rules are those of Penn brackets (see `bracket.rs`): `(TAG 0=word)` is a word with its tag, `(-- 0=word)` and
//! `0=word` have none, escaped brackets stay as written. Only the first `=` counts, so a word may contain others, or be empty.

use super::bracket_scan::{BracketReader, LeafStyle};
use super::{ReadOptions, Source};

/// Leaves are `position=word`.
pub(super) struct Indexed;

impl LeafStyle for Indexed {
    const EXPECTED: &'static str = "(TAG index=word), where the index is a number from 0";

    #[inline]
    fn split(text: &str, _: usize) -> Option<(usize, &str)> {
        let mut position = 0usize;
        for (i, byte) in text.bytes().enumerate() {
            match byte {
                // No sentence has a billion words; nine digits cannot overflow.
                b'0'..=b'9' if i < 9 => position = position * 10 + usize::from(byte - b'0'),
                b'=' if i > 0 => return Some((position, &text[i + 1..])),
                _ => return None,
            }
        }
        None
    }
}

/// Reads discbracket.
pub(super) fn reader<'a>(source: Source<'a>, options: &ReadOptions) -> BracketReader<Source<'a>, Indexed> {
    BracketReader::new(source, options, false)
}
