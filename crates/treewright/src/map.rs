//! The bytes of models: a mapped file, memory, or a part of the program. The one place where a file's bytes become a
//! slice without being read.
#![allow(unsafe_code)]

#[cfg(target_endian = "big")]
compile_error!("weights are used as they lie in the file, which is little-endian");

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use memmap2::{Mmap, MmapOptions};

use crate::error::Result;

/// The numbers: owned after training, or a view of a mapped file.
pub trait WordSource: Send + Sync + std::fmt::Debug {
    /// All words.
    fn words(&self) -> &[u32];
}

impl WordSource for Vec<u32> {
    fn words(&self) -> &[u32] {
        self
    }
}

/// What gzipped bytes begin with.
pub(crate) const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The bytes of a file, wherever they are.
#[derive(Debug)]
pub(crate) enum Bytes {
    Mapped(Mmap),
    Static(&'static [u8]),
    /// In 64-bit words, so that they are aligned, with the number of bytes.
    Owned(Vec<u64>, usize),
    /// Of a packed model. Long vectors are aligned in practice; where one is not, words are copied.
    Unpacked(Vec<u8>),
}

impl Bytes {
    /// Maps a file, or unpacks it if it is gzipped.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = File::open(path)?;
        // SAFETY: the map is read only. If another process truncates or rewrites the file meanwhile, reads may fault
        // or see other bytes; model files are replaced by renaming a finished file, which leaves a map intact.
        // All of it is wanted at once: asking for it now is faster than faults one page at a time.
        let map = unsafe { MmapOptions::new().populate().map(&file) }?;
        if !map.starts_with(&GZIP_MAGIC) {
            return Ok(Bytes::Mapped(map));
        }
        Self::unpack(&map)
    }

    /// Unpacks gzipped bytes, straight to where they stay.
    fn unpack(gzipped: &[u8]) -> Result<Self> {
        // The last four bytes tell the length, unless it is huge or there are several members. No byte can stand for more
        // than 1032: a larger number is damage.
        let length = gzipped.last_chunk().map_or(0, |length| u32::from_le_bytes(*length) as usize);
        let mut words = vec![0u64; length.min(gzipped.len() * 1032) / 8 + 1];
        let mut source = flate2::read::MultiGzDecoder::new(gzipped);
        let mut length = 0;
        loop {
            let n = match source.read(&mut bytemuck::cast_slice_mut(&mut words)[length..]) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                n => n?,
            };
            length += n;
            if n == 0 {
                return Ok(Bytes::Owned(words, length));
            }
            if length == words.len() * 8 {
                words.resize(words.len() * 2, 0);
            }
        }
    }

    /// A copy of the bytes of a file, unpacked if they are gzipped.
    pub(crate) fn of(file: &[u8]) -> Result<Self> {
        if file.starts_with(&GZIP_MAGIC) { Self::unpack(file) } else { Ok(Self::copy(file)) }
    }

    /// A copy in memory.
    pub(crate) fn copy(bytes: &[u8]) -> Self {
        let mut words = vec![0u64; bytes.len().div_ceil(8)];
        bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Bytes::Owned(words, bytes.len())
    }

    /// All bytes.
    pub(crate) fn get(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map) => map,
            Bytes::Static(bytes) => bytes,
            Bytes::Owned(words, length) => &bytemuck::cast_slice(words)[..*length],
            Bytes::Unpacked(bytes) => bytes,
        }
    }
}

/// A part of the bytes of a model.
#[derive(Clone, Debug)]
pub(crate) struct ByteRange {
    pub bytes: Arc<Bytes>,
    pub range: Range<usize>,
}

impl ByteRange {
    pub(crate) fn all_of(bytes: Bytes) -> Self {
        let range = 0..bytes.get().len();
        ByteRange { bytes: Arc::new(bytes), range }
    }

    pub(crate) fn get(&self) -> &[u8] {
        &self.bytes.get()[self.range.clone()]
    }

    /// The same from `start` on, to be used as 32-bit words where they lie, or copied if they do not lie well.
    pub(crate) fn words_from(&self, start: usize) -> Arc<dyn WordSource> {
        let range = self.range.start + start..self.range.end;
        let part = ByteRange { bytes: self.bytes.clone(), range };
        if bytemuck::try_cast_slice::<u8, u32>(part.get()).is_ok() {
            return Arc::new(part);
        }
        let word = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes);
        Arc::new(part.get().as_chunks().0.iter().map(word).collect::<Vec<u32>>())
    }
}

impl WordSource for ByteRange {
    fn words(&self) -> &[u32] {
        bytemuck::cast_slice(self.get())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// What the last bytes say may be too little (of several members they tell the last) or, if damaged, too much.
    #[test]
    fn gzipped_bytes_are_unpacked_whatever_length_they_claim() {
        let gzipped = |bytes: &[u8]| {
            let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            out.write_all(bytes).expect("memory");
            out.finish().expect("memory")
        };
        for length in [0, 1, 7, 8, 9, 1000, 4096] {
            let bytes: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
            assert_eq!(Bytes::unpack(&gzipped(&bytes)).expect("whole").get(), bytes);
            let members = [gzipped(&bytes), gzipped(b"end")].concat();
            assert_eq!(Bytes::unpack(&members).expect("whole").get(), [&bytes[..], b"end"].concat());
        }
        let mut damaged = gzipped(b"text");
        damaged.last_chunk_mut::<4>().expect("a length").fill(0xff);
        assert!(Bytes::unpack(&damaged).is_err());
    }
}
