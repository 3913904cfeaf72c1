//! Numbers and strings to bytes and back; reading checks every bound, so that a damaged model is an error.
//!
//! A part of a model is its name and version, its content and a checksum of both (`Writer::part`, `read_part`).

use crate::error::{Code, Error, Result};
use crate::sentence::Str;

/// Collects bytes.
#[derive(Default)]
pub(crate) struct Writer(pub(crate) Vec<u8>);

impl Writer {
    /// The bytes of a part of a model, whose content is written by `write`.
    pub(crate) fn part(magic: &[u8; 8], write: impl FnOnce(&mut Writer)) -> Vec<u8> {
        let mut out = Writer(magic.to_vec());
        write(&mut out);
        let checksum = crc32fast::hash(&out.0);
        out.0.extend_from_slice(&checksum.to_le_bytes());
        out.0
    }

    /// Seven bits a byte, the lowest first.
    pub(crate) fn number(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.0.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.0.push(n as u8);
    }

    /// Small numbers of either sign stay small.
    #[inline]
    pub(crate) fn signed(&mut self, n: i64) {
        self.number((n << 1 ^ n >> 63) as u64);
    }

    /// A length and that many bytes.
    pub(crate) fn string(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Rising numbers, as differences.
    pub(crate) fn rising(&mut self, numbers: impl ExactSizeIterator<Item = u32>) {
        self.number(numbers.len() as u64);
        let mut last = 0;
        for n in numbers {
            self.number(u64::from(n - last));
            last = n;
        }
    }
}

/// Takes bytes apart.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    /// Of the part that is read.
    pub version: u8,
}

pub(crate) fn damaged(what: &str) -> Error {
    Error::new(Code::BadModel, what)
}

/// Compares a part with the checksum in its last bytes, and returns what comes before it.
///
/// # Errors
/// When they do not match.
pub(crate) fn checked_content(bytes: &[u8]) -> Result<&[u8]> {
    let (content, checksum) = bytes.split_last_chunk::<4>().ok_or_else(|| damaged("it is cut short"))?;
    if crc32fast::hash(content) != u32::from_le_bytes(*checksum) {
        return Err(damaged("its checksum does not match"));
    }
    Ok(content)
}

/// Reads what [`Writer::part`] wrote; `read` takes all of its content. `magic` has the latest version; earlier ones are
/// read, too. Errors say which `part` is damaged.
pub(crate) fn read_part<T>(
    bytes: &[u8],
    magic: &[u8; 8],
    part: &str,
    read: impl FnOnce(&mut Reader<'_>) -> Result<T>,
) -> Result<T> {
    let content = || {
        let [name @ .., latest] = magic;
        let version = bytes.strip_prefix(name).and_then(|rest| rest.first());
        let version = version.filter(|version| (1..=*latest).contains(version));
        let version =
            *version.ok_or_else(|| damaged(&format!("it does not begin like a {part} of this version")))?;
        let content = checked_content(bytes)?.get(magic.len()..).ok_or_else(|| damaged("it is cut short"))?;
        let mut input = Reader { bytes: content, version };
        let value = read(&mut input)?;
        match input.bytes {
            [] => Ok(value),
            _ => Err(damaged("there is something after its end")),
        }
    };
    content().map_err(|error| Error { message: format!("the {part} is damaged: {}", error.message), ..error })
}

impl<'a> Reader<'a> {
    #[cfg(test)]
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, version: 2 }
    }

    #[inline(always)]
    pub(crate) fn number(&mut self) -> Result<u64> {
        match self.bytes.split_first() {
            // Most numbers take a byte.
            Some((&byte, rest)) if byte < 0x80 => {
                self.bytes = rest;
                Ok(u64::from(byte))
            }
            _ => self.long_number(),
        }
    }

    #[inline(never)]
    fn long_number(&mut self) -> Result<u64> {
        let (mut n, mut shift) = (0u64, 0);
        loop {
            let (&byte, rest) = self.bytes.split_first().ok_or_else(|| damaged("it ends too early"))?;
            self.bytes = rest;
            if shift > 63 {
                return Err(damaged("a number is too long"));
            }
            n |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(n);
            }
            shift += 7;
        }
    }

    #[inline(always)]
    pub(crate) fn signed(&mut self) -> Result<i64> {
        let n = self.number()?;
        Ok((n >> 1) as i64 ^ -((n & 1) as i64))
    }

    /// A number below `bound`. A tagger has a million of these: what is not inlined shows.
    #[inline(always)]
    pub(crate) fn below(&mut self, bound: usize, what: &str) -> Result<usize> {
        match self.number()? {
            n if n < bound as u64 => Ok(n as usize),
            n => Err(not_below(n, bound, what)),
        }
    }

    /// How many items follow; each takes a byte at least, so that nobody can ask for more memory than the file has.
    pub(crate) fn count(&mut self) -> Result<usize> {
        let n = self.number()?;
        if n > self.bytes.len() as u64 {
            return Err(damaged(&format!("{n} items cannot fit into {} bytes", self.bytes.len())));
        }
        Ok(n as usize)
    }

    pub(crate) fn string(&mut self) -> Result<Str> {
        let n = self.count()?;
        let (text, rest) = self.bytes.split_at(n);
        self.bytes = rest;
        let text = std::str::from_utf8(text).map_err(|_| damaged("a string is not UTF-8"))?;
        Ok(text.into())
    }

    /// Rising numbers; equal neighbours are refused from the second on.
    pub(crate) fn rising(&mut self) -> Result<Vec<u32>> {
        let n = self.count()?;
        let mut numbers = Vec::with_capacity(n);
        let mut last = 0u64;
        for i in 0..n {
            let step = self.number()?;
            last = last
                .checked_add(step)
                .filter(|&n| n <= u64::from(u32::MAX) && (i == 0 || step > 0))
                .ok_or_else(|| damaged("keys do not rise"))?;
            numbers.push(last as u32);
        }
        Ok(numbers)
    }
}

#[cold]
#[inline(never)]
fn not_below(n: u64, bound: usize, what: &str) -> Error {
    damaged(&format!("{what} {n} should be below {bound}"))
}
