//! The table of parts at the beginning of a pipeline file.
//!
//! ```text
//! 0   8 bytes   "TREEWPL\n"
//! 8   u32       version (2)
//! 12  u32       number of parts
//! 16            for each part: u32 kind, u32 weight of the tagger (parsers; 0: tags are not reranked), u64 start, u64 length
//!     u32       CRC-32 of all of the above
//!               the parts, each at the next multiple of 64, with checksums of their own; zeros between them
//! ```
//!
//! So every byte of a file is covered by a checksum, or must be zero.

use std::io::Write;
use std::ops::Range;

use super::ALIGNMENT;
use crate::error::{Code, Error, Result};
use crate::tree::TreeKind;

pub(crate) const MAGIC: &[u8; 8] = b"TREEWPL\n";
const VERSION: u32 = 2;
const PREFIX: usize = 16;
const ENTRY: usize = 24;
const CHECKSUM: usize = 4;

/// What a part of a pipeline is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// Text to sentences and tokens.
    Segmenter,
    /// Tokens to tags.
    Tagger,
    /// Tokens and tags to trees.
    Parser(TreeKind),
    /// Tokens and tags to lemmas.
    Lemmatiser,
}

impl PartKind {
    const ALL: [PartKind; 5] = [
        PartKind::Segmenter,
        PartKind::Tagger,
        PartKind::Parser(TreeKind::Dependencies),
        PartKind::Parser(TreeKind::Constituents),
        PartKind::Lemmatiser,
    ];
}

impl std::fmt::Display for PartKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PartKind::Segmenter => f.pad("segmenter"),
            PartKind::Tagger => f.pad("tagger"),
            PartKind::Parser(kind) => f.pad(&format!("parser ({kind})")),
            PartKind::Lemmatiser => f.pad("lemmatiser"),
        }
    }
}

/// One part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartEntry {
    /// What it is.
    pub kind: PartKind,
    /// The weight of the tagger's score when the parser reranks tags; 0 if it does not.
    pub tagger_weight: u32,
    /// Where it lies.
    pub range: Range<usize>,
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(Code::BadModel, message)
}

fn short() -> Error {
    bad("the model is cut short")
}

/// Reads the table of a pipeline file, and checks everything that is not inside a part.
///
/// # Errors
/// When the table is damaged or of another version.
pub(crate) fn read(bytes: &[u8]) -> Result<Vec<PartEntry>> {
    /// No file has more parts; a larger number is damage.
    const MAX_PARTS: usize = 64;
    let number = |at: usize| -> Result<u32> {
        let bytes = bytes.get(at..at + 4).ok_or_else(short)?;
        Ok(u32::from_le_bytes(bytes.try_into().expect("four bytes")))
    };
    let long = |at: usize| -> Result<u64> { Ok(u64::from(number(at)?) | u64::from(number(at + 4)?) << 32) };
    let version = number(8)?;
    if version != VERSION {
        return Err(bad(format!("the pipeline has version {version}; this program reads version {VERSION}")));
    }
    let n_parts = number(12)? as usize;
    if n_parts > MAX_PARTS {
        return Err(bad("the table of parts is damaged"));
    }
    let table = PREFIX + n_parts * ENTRY;
    let entry = |i: usize| -> Result<PartEntry> {
        let at = PREFIX + i * ENTRY;
        let (start, length) = (long(at + 8)?, long(at + 16)?);
        let end = start.checked_add(length).filter(|&end| end <= bytes.len() as u64).ok_or_else(short)?;
        let range = start as usize..end as usize;
        let kind = PartKind::ALL.get(number(at)? as usize);
        let kind = *kind.ok_or_else(|| bad("a part is of an unknown kind"))?;
        Ok(PartEntry { kind, tagger_weight: number(at + 4)?, range })
    };
    if number(table)? != crc32fast::hash(&bytes[..table]) {
        return Err(bad("the table of parts is damaged: its checksum does not match"));
    }
    let parts = (0..n_parts).map(entry).collect::<Result<Vec<PartEntry>>>()?;
    let mut end = table + CHECKSUM;
    for part in &parts {
        let gap = bytes.get(end..part.range.start).unwrap_or_default();
        if part.range.start != end.next_multiple_of(ALIGNMENT) || gap.iter().any(|&byte| byte != 0) {
            return Err(bad("the model is damaged: a part does not follow the one before it"));
        }
        end = part.range.end;
    }
    if end != bytes.len() {
        return Err(bad(format!("the model should have {end} bytes but has {}", bytes.len())));
    }
    Ok(parts)
}

/// Writes a pipeline file of parts given as kind, weight of the tagger and bytes.
///
/// # Errors
/// When the output fails.
pub(crate) fn write(parts: &[(PartKind, u32, &[u8])], out: &mut dyn Write) -> Result<()> {
    let mut table = Vec::with_capacity(PREFIX + parts.len() * ENTRY);
    table.extend(MAGIC);
    table.extend(VERSION.to_le_bytes());
    table.extend((parts.len() as u32).to_le_bytes());
    let first = PREFIX + parts.len() * ENTRY + CHECKSUM;
    let mut end = first;
    for (kind, tagger_weight, bytes) in parts {
        let start = end.next_multiple_of(ALIGNMENT);
        end = start + bytes.len();
        let number = PartKind::ALL.iter().position(|other| other == kind).expect("every kind is there");
        table.extend((number as u32).to_le_bytes());
        table.extend(tagger_weight.to_le_bytes());
        table.extend((start as u64).to_le_bytes());
        table.extend((bytes.len() as u64).to_le_bytes());
    }
    out.write_all(&table)?;
    out.write_all(&crc32fast::hash(&table).to_le_bytes())?;
    let mut end = first;
    for (_, _, bytes) in parts {
        let start = end.next_multiple_of(ALIGNMENT);
        out.write_all(&vec![0; start - end])?;
        out.write_all(bytes)?;
        end = start + bytes.len();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENTER: PartKind = PartKind::Segmenter;
    const TAGGER: PartKind = PartKind::Tagger;
    const PARSER: PartKind = PartKind::Parser(TreeKind::Constituents);

    fn file(parts: &[(PartKind, u32, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(parts, &mut bytes).expect("memory");
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        for parts in [&[][..], &[(TAGGER, 0, &b"tagger"[..]), (PARSER, 20, b"parser"), (SEGMENTER, 0, b"")]] {
            let bytes = file(parts);
            let read = read(&bytes).expect("what was written");
            let again: Vec<_> =
                read.iter().map(|part| (part.kind, part.tagger_weight, &bytes[part.range.clone()])).collect();
            assert_eq!(again, parts);
        }
    }

    #[test]
    fn every_change_outside_the_parts_is_found() {
        let bytes = file(&[(TAGGER, 0, b"one part"), (SEGMENTER, 7, b"another"), (PARSER, 0, b"a third")]);
        let parts = read(&bytes).expect("what was written");
        let outside = (0..bytes.len()).filter(|at| !parts.iter().any(|part| part.range.contains(at)));
        for at in outside {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                let is_magic = at < MAGIC.len();
                assert!(is_magic || read(&changed).is_err(), "byte {at}, bit {bit}");
            }
        }
        for n in 0..bytes.len() {
            assert!(read(&bytes[..n]).is_err(), "{n} bytes");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(read(&longer).is_err(), "a byte too many");
    }

    /// Also where somebody made the checksum right.
    #[test]
    fn a_part_follows_the_one_before_it() {
        let bytes = file(&[(TAGGER, 0, b"one part"), (PARSER, 0, b"another!")]);
        let (first, second) = (PREFIX + 8, PREFIX + ENTRY + 8);
        let table = PREFIX + 2 * ENTRY;
        for start in [bytes[first], bytes[second] - 1] {
            let mut edited = bytes.clone();
            edited[second] = start;
            let checksum = crc32fast::hash(&edited[..table]);
            edited[table..table + CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
            edited.truncate(usize::from(start) + 8);
            let message = read(&edited).expect_err("it lies elsewhere").message;
            assert!(message.contains("does not follow"), "{start}: {message}");
        }
    }
}
