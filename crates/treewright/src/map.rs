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

use crate::error::{Code, Error, Result};

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
    /// The unpacked bytes of a gzipped file, with the number of bytes that it has.
    Gunzipped {
        words: Vec<u64>,
        length: usize,
        stored: usize,
    },
    /// Of a packed model. Long vectors are aligned in practice; where one is not, words are copied.
    Unpacked(Vec<u8>),
}

impl Bytes {
    /// Maps a file, or unpacks it if it is gzipped. What is no file, such as a pipe, is read.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let mut file = File::open(path)?;
        if !file.metadata()?.is_file() {
            return Self::of(&read_model(&mut file)?);
        }
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
        let (stored, max) = (gzipped.len(), max_unpacked(gzipped.len()));
        // The last four bytes tell the length, unless it is huge or there are several members.
        let claimed = gzipped.last_chunk().map_or(0, |length| u32::from_le_bytes(*length) as usize);
        let mut words = vec![0u64; claimed.min(max) / 8 + 1];
        let mut source = flate2::read::MultiGzDecoder::new(gzipped);
        let mut length = 0;
        loop {
            let n = match source.read(&mut bytemuck::cast_slice_mut(&mut words)[length..]) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                n => n?,
            };
            length += n;
            if length > max {
                return Err(Error::new(Code::BadModel, TOO_LARGE));
            }
            if n == 0 {
                return Ok(Bytes::Gunzipped { words, length, stored });
            }
            if length == words.len() * 8 {
                words.resize((words.len() * 2).min(max / 8 + 1), 0);
            }
        }
    }

    /// The most bytes that these, as the file they come from is large, may unpack to.
    pub(crate) fn max_unpacked(&self) -> usize {
        max_unpacked(match self {
            Bytes::Gunzipped { stored, .. } => *stored,
            _ => self.get().len(),
        })
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
            Bytes::Owned(words, length) | Bytes::Gunzipped { words, length, .. } => {
                &bytemuck::cast_slice(words)[..*length]
            }
            Bytes::Unpacked(bytes) => bytes,
        }
    }
}

/// The most bytes that a model file of `stored` bytes may unpack to, in any step. Real models grow at most twelvefold; a
/// file that grows more is damaged, or made to fill the memory.
fn max_unpacked(stored: usize) -> usize {
    stored.saturating_mul(64).saturating_add(1 << 20)
}

const TOO_LARGE: &str = "the file is damaged: it unpacks to far more than a model of its size";

/// The first bytes of every kind of model file that is not gzipped.
const MODEL_PREFIX: &[u8] = b"TREEW";

/// All bytes of a pipe or a device, if they begin like those of a model: others may never end.
fn read_model(source: &mut impl Read) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.by_ref().take(MODEL_PREFIX.len() as u64).read_to_end(&mut bytes)?;
    if bytes.starts_with(&GZIP_MAGIC) || bytes == MODEL_PREFIX {
        source.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
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

    fn gzipped(bytes: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        out.write_all(bytes).expect("memory");
        out.finish().expect("memory")
    }

    /// Its last bytes may claim any length.
    #[test]
    fn a_small_file_that_unpacks_to_gigabytes_is_refused() {
        let bomb = gzipped(&vec![0; 64 << 20]);
        assert!(bomb.len() < 1 << 17, "{}", bomb.len());
        let mut lying = bomb.clone();
        lying.last_chunk_mut::<4>().expect("a length").fill(0);
        for bomb in [bomb, lying] {
            let error = Bytes::unpack(&bomb).expect_err("far more than any model");
            assert_eq!((error.code, &*error.message), (Code::BadModel, TOO_LARGE));
        }
    }

    #[test]
    fn only_what_begins_like_a_model_is_read_from_a_pipe() {
        assert_eq!(read_model(&mut std::io::repeat(0)).expect("bytes"), [0; 5]);
        assert_eq!(read_model(&mut &b"TREEWRT\nmodel"[..]).expect("bytes"), b"TREEWRT\nmodel");
        let file = gzipped(b"TREEWRT\n");
        assert_eq!(read_model(&mut &file[..]).expect("bytes"), file);
    }
}
