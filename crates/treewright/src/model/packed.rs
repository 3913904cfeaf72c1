//! The packed form of a model file, to be gzipped: a third or a half of what gzip alone makes of it. `weights/layout.rs`
//! has the format and unpacks it.

use std::ops::Range;

use super::{MAGIC, PartKind, part_table};
use crate::error::{Code, Error, Result};
use crate::map::{ByteRange, Bytes};
use crate::score::ScorerModel;
use crate::weights::layout::{AGAIN, PLAIN, TABLE, unpack};

pub(crate) use crate::weights::layout::PACKED_MAGIC;

/// The bytes of a model file, packed or not.
///
/// # Errors
/// When they are packed and damaged, or would unpack to far more than any model of their size.
pub(crate) fn unpacked(file: Bytes) -> Result<ByteRange> {
    if !file.get().starts_with(PACKED_MAGIC) {
        return Ok(ByteRange::all_of(file));
    }
    let unpacked =
        unpack(file.get(), file.max_unpacked()).map_err(|message| Error::new(Code::BadModel, message))?;
    Ok(ByteRange::all_of(Bytes::Unpacked(unpacked)))
}

/// Shorter ends of parsers that are the same are not worth a chunk.
const MIN_SHARED: usize = 1 << 12;
/// A parser is filled up with at most this many zeros.
const MAX_PADDING: usize = 3;

/// Packs the bytes of a model file: the weights of its parsers, and an encoder that several parsers end with only once.
/// Everything else stays as it is, because gzip does well on it. The scorers are those of the parsers, in order.
///
/// # Errors
/// When this is no model, or a damaged one.
pub(crate) fn pack(bytes: &[u8], scorers: &[&dyn ScorerModel]) -> Result<Vec<u8>> {
    let is_parser = |kind: PartKind| matches!(kind, PartKind::Parser(_));
    let parsers: Vec<_> = if bytes.starts_with(MAGIC) {
        std::iter::once(0..bytes.len()).collect()
    } else {
        let parts = part_table::read(bytes)?.into_iter();
        parts.filter(|part| is_parser(part.kind)).map(|part| part.range).collect()
    };
    let mut out = PACKED_MAGIC.to_vec();
    let plain = |out: &mut Vec<u8>, bytes: &[u8]| {
        out.extend(PLAIN.to_le_bytes());
        out.extend((bytes.len() as u32).to_le_bytes());
        out.extend(bytes);
    };
    let mut packed_up_to = 0;
    for (i, (range, scorer)) in parsers.iter().cloned().zip(scorers).enumerate() {
        let end = range.end;
        let Some(table) = scorer.packed_words() else {
            if let Some((start, again)) = shared_end(bytes, &parsers[..i], range) {
                plain(&mut out, &bytes[packed_up_to..again.start]);
                let numbers = [AGAIN, start as u32, again.len() as u32];
                out.extend(numbers.into_iter().flat_map(u32::to_le_bytes));
                packed_up_to = again.end;
            }
            continue;
        };
        plain(&mut out, &bytes[packed_up_to..end - scorer.words().len() * 4]);
        out.extend(TABLE.to_le_bytes());
        out.extend(table);
        packed_up_to = end;
    }
    plain(&mut out, &bytes[packed_up_to..]);
    Ok(out)
}

/// Where the end of a parser begins among the parsers before it, if one of them has the same, and where in the parser.
fn shared_end(bytes: &[u8], before: &[Range<usize>], parser: Range<usize>) -> Option<(usize, Range<usize>)> {
    let paddings = || (0..=MAX_PADDING).flat_map(|a| (0..=MAX_PADDING).map(move |b| (a, b)));
    let ends = before.iter().flat_map(|other| paddings().map(move |padding| (other, padding)));
    let shared = ends.filter_map(|(other, (a, b))| {
        let (theirs, own) =
            (bytes.get(other.start..other.end - a)?, bytes.get(parser.start..parser.end - b)?);
        let n = theirs.iter().rev().zip(own.iter().rev()).take_while(|(a, b)| a == b).count();
        let end = parser.end - b;
        (n >= MIN_SHARED).then_some((other.end - a - n, end - n..end))
    });
    shared.max_by_key(|(_, again)| again.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two parsers of different lengths that end alike, but for how they are filled up.
    #[test]
    fn what_parsers_end_with_is_found() {
        let mut rng = crate::rng::Rng::new(1);
        let mut random = |n: usize| (0..n).map(|_| rng.next_u64() as u8).collect::<Vec<u8>>();
        let (one, two, end) = (random(100), random(333), random(5000));
        let bytes = [&one[..], &end, &[0; 2], &two, &end, &[0; 3]].concat();
        let find = |bytes: &[u8], one: Range<usize>, two| shared_end(bytes, std::slice::from_ref(&one), two);
        let (first, second) = (0..5102, 5102..bytes.len());
        let (start, again) = find(&bytes, first.clone(), second.clone()).expect("a shared end");
        assert_eq!((start, again.clone()), (100, 5435..10437), "with two of the zeros");
        assert_eq!(bytes[start..start + again.len()], bytes[again]);
        assert_eq!(find(&bytes, 0..5000, second.clone()), None, "the end is not the same");
        assert_eq!(shared_end(&bytes, &[], first), None);
        let short = [&one[..], &end[..4000], &two, &end[..4000]].concat();
        assert_eq!(find(&short, 0..4100, 4100..short.len()), None, "not worth it");
    }

    #[test]
    fn what_comes_again_is_unpacked() {
        let chunk = |numbers: &[u32]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
        let plain = [&PACKED_MAGIC[..], &chunk(&[PLAIN, 5]), b"model"].concat();
        let with =
            |again: [u32; 2]| unpack(&[&plain[..], &chunk(&[AGAIN, again[0], again[1]])].concat(), 100);
        assert_eq!(with([1, 3]).expect("a copy"), b"modelode");
        for damaged in [[0, 6], [5, 1], [u32::MAX, u32::MAX]] {
            assert!(with(damaged).is_err(), "{damaged:?}");
        }
    }

    /// Every kind of chunk, alone, twice, and as a copy of copies.
    #[test]
    fn no_chunk_unpacks_to_more_than_a_file_of_this_size_may() {
        let numbers = |numbers: &[u32]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
        let plain = [&numbers(&[PLAIN, 100])[..], &[1; 100]].concat();
        // Two empty buckets, and columns that nothing uses.
        let table = [&numbers(&[TABLE, 2, 60_000, 0, 0, 1])[..], &[0; 4]].concat();
        let again = |n: u32| numbers(&[AGAIN, 0, n]);
        for (chunks, size) in [
            ([plain.clone(), Vec::new(), Vec::new()], 100),
            ([plain.clone(), plain.clone(), Vec::new()], 200),
            ([table.clone(), Vec::new(), Vec::new()], 128),
            ([table.clone(), table, plain.clone()], 356),
            ([plain, again(100), again(200)], 400),
        ] {
            let packed = [PACKED_MAGIC.to_vec(), chunks.concat()].concat();
            assert_eq!(unpack(&packed, size).map(|bytes| bytes.len()), Ok(size));
            let message = unpack(&packed, size - 1).expect_err("one byte too many");
            assert!(message.contains("far more than a model"), "{message}");
        }
    }
}
