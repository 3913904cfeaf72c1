//! A segmenter as bytes.
//!
//! ```text
//! 0   8 bytes   "TWSEGMT\n"
//! 8   u32       version (1)
//! 12  u32       length of the header
//! 16  u32       CRC-32 of header and tables
//! 20            header, JSON
//!     tables of tokens, sentences and cases, 32-bit little-endian words, to the end
//! ```

use serde::{Deserialize, Serialize};

use super::Segmenter;
use super::linear::{Linear, Table};
use super::multiword::Multiwords;
use super::scan::Rules;
use crate::error::{Code, Error, Result};

const MAGIC: &[u8; 8] = b"TWSEGMT\n";
const VERSION: u32 = 1;
const PREFIX: usize = 20;

#[derive(Serialize, Deserialize)]
struct Header {
    rules: Rules,
    token_bits: u32,
    token_bias: i32,
    sentence_bits: u32,
    sentence_bias: i32,
    case_bits: u32,
    multiwords: Multiwords,
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(Code::BadModel, message)
}

impl Segmenter {
    /// The segmenter as bytes, always the same for the same segmenter.
    pub fn to_bytes(&self) -> Vec<u8> {
        let header = Header {
            rules: self.rules.clone(),
            token_bits: self.tokens.weights.bits(),
            token_bias: self.tokens.bias,
            sentence_bits: self.sentences.weights.bits(),
            sentence_bias: self.sentences.bias,
            case_bits: self.cases.bits(),
            multiwords: self.multiwords.clone(),
        };
        let mut body = serde_json::to_vec(&header).expect("a header has only strings and numbers");
        let header_len = body.len() as u32;
        let tables = [&self.tokens.weights, &self.sentences.weights, &self.cases];
        for word in tables.iter().flat_map(|table| table.words()) {
            body.extend(word.to_le_bytes());
        }
        let mut bytes = Vec::with_capacity(PREFIX + body.len());
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(header_len.to_le_bytes());
        bytes.extend(crc32fast::hash(&body).to_le_bytes());
        bytes.extend(body);
        bytes
    }

    /// A segmenter from its bytes.
    ///
    /// # Errors
    /// When they are damaged, cut short or of another version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        if !bytes.starts_with(MAGIC) {
            return Err(bad("this is not a segmenter"));
        }
        let prefix =
            bytes.get(..PREFIX).ok_or_else(|| bad("the segmenter is cut short: its lengths are missing"))?;
        let number = |at: usize| u32::from_le_bytes(prefix[at..at + 4].try_into().expect("four bytes"));
        if number(8) != VERSION {
            let message = format!("the segmenter has version {}; expected {VERSION}", number(8));
            return Err(bad(message));
        }
        let body = &bytes[PREFIX..];
        if crc32fast::hash(body) != number(16) {
            return Err(bad("the segmenter is damaged: its checksum does not match"));
        }
        let header_len = number(12) as usize;
        let header = body.get(..header_len).ok_or_else(|| bad("the segmenter's header is cut short"))?;
        let header: Header = serde_json::from_slice(header)
            .map_err(|error| bad(format!("in the segmenter's header: {error}")))?;
        let mut words = &body[header_len..];
        let mut table = |bits: u32| {
            let n_bytes = Table::n_words(bits).map(|n| n * 4).filter(|&n| n <= words.len());
            let (mine, others) =
                words.split_at(n_bytes.ok_or_else(|| bad("the segmenter's tables are cut short"))?);
            words = others;
            let number = |word: &[u8]| u32::from_le_bytes(word.try_into().expect("four bytes"));
            let entries = mine.chunks_exact(4).map(number).collect();
            Table::from_words(bits, entries).ok_or_else(|| bad("a table of the segmenter has a wrong size"))
        };
        let segmenter = Segmenter {
            tokens: Linear { bias: header.token_bias, weights: table(header.token_bits)? },
            sentences: Linear { bias: header.sentence_bias, weights: table(header.sentence_bits)? },
            cases: table(header.case_bits)?,
            rules: header.rules,
            multiwords: header.multiwords,
        };
        if !words.is_empty() {
            return Err(bad("the segmenter is longer than its tables"));
        }
        if !segmenter.multiwords.is_sound() {
            return Err(bad(
                "a multiword token of the segmenter has a word that is empty or holds white space",
            ));
        }
        Ok(segmenter)
    }
}
