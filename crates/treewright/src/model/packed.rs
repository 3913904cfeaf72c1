//! The packed form of a model file, to be gzipped: a third or a half of what gzip alone makes of it. `weights/layout.rs`
//! has the format and unpacks it.

use std::path::Path;

use super::{MAGIC, Model, PartKind, part_table};
use crate::error::{Code, Error, Result};
use crate::map::{ByteRange, Bytes};
use crate::weights::layout::{PLAIN, TABLE, unpack};

pub(crate) use crate::weights::layout::PACKED_MAGIC;

/// The bytes of a model file, packed or not, gzipped or not.
///
/// # Errors
/// When the file cannot be read, or is packed and damaged.
pub(crate) fn open(path: &Path) -> Result<Bytes> {
    let bytes = Bytes::open(path)?;
    if !bytes.get().starts_with(PACKED_MAGIC) {
        return Ok(bytes);
    }
    let mut unpacked = Vec::new();
    unpack(bytes.get(), |bytes| unpacked.extend_from_slice(bytes))
        .map_err(|message| Error::new(Code::BadModel, message))?;
    Ok(Bytes::copy(&unpacked))
}

/// Packs the bytes of a model file: the weights of its parsers. Everything else stays as it is, because gzip does well on it.
///
/// # Errors
/// When this is no model, or a damaged one.
pub(crate) fn pack(file: &[u8]) -> Result<Vec<u8>> {
    let file = ByteRange::all_of(Bytes::copy(file));
    let bytes = file.get();
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
    for range in parsers {
        let end = range.end;
        let model = Model::from_range(&ByteRange { bytes: file.bytes.clone(), range })?;
        let scorer = &model.0.parts().scorer;
        let Some(table) = scorer.packed_words() else { continue };
        plain(&mut out, &bytes[packed_up_to..end - scorer.words().len() * 4]);
        out.extend(TABLE.to_le_bytes());
        out.extend(table);
        packed_up_to = end;
    }
    plain(&mut out, &bytes[packed_up_to..]);
    Ok(out)
}
