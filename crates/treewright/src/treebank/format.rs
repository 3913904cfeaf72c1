//! The formats: their names, and how a file shows which one it is.

use std::str::FromStr;

use super::lines::BYTE_ORDER_MARK;
use crate::error::{Code, Error, named};

named! {
    /// A treebank format. Its name is the one used on the command line.
    pub enum Format {
        /// CoNLL-U: ten columns, comments, ranges, empty nodes.
        Conllu = "conllu";
        /// CoNLL-X: ten columns.
        Conllx = "conllx";
        /// Penn brackets.
        Ptb = "ptb";
        /// Brackets with `index=word` leaves: discontinuous trees.
        Discbracket = "discbracket";
        /// NeGra export, versions 3 and 4.
        Export = "export";
        /// TIGER-XML.
        Tigerxml = "tigerxml";
        /// Alpino XML (read only).
        Alpino = "alpino";
        /// One JSON object per line: everything an entry holds.
        Json = "json";
        /// Running text, one sentence a line.
        Text = "text";
        /// One sentence a line, tokens separated by spaces.
        Tokens = "tokens";
    }
}

/// The tags that Universal Dependencies allows: CoNLL-X has others.
pub(super) const UPOS: [&[u8]; 18] = [
    b"ADJ", b"ADP", b"ADV", b"AUX", b"CCONJ", b"CONJ", b"DET", b"INTJ", b"NOUN", b"NUM", b"PART", b"PRON",
    b"PROPN", b"PUNCT", b"SCONJ", b"SYM", b"VERB", b"X",
];

impl Format {
    /// Is a file of this format nothing but its sentences, one after the other? Then several files put together are one,
    /// too.
    pub fn is_sequence(self) -> bool {
        match self {
            Format::Conllu | Format::Conllx | Format::Ptb | Format::Discbracket | Format::Json => true,
            // Sentences are numbered, or something stands around them.
            Format::Export | Format::Tigerxml | Format::Alpino => false,
            // A byte order mark in the first word is written twice.
            Format::Text | Format::Tokens => false,
        }
    }

    /// Do blank lines end its sentences, so that it can be cut into [`super::Portions`]?
    pub fn has_blank_lines(self) -> bool {
        matches!(self, Format::Conllu | Format::Conllx)
    }

    /// All names, separated by spaces.
    pub fn names() -> String {
        Format::ALL.iter().map(|format| format.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// The format that a file's name shows; a final `.gz` is ignored. Endings that several formats share
    /// (`.xml`, `.conll`) show none.
    pub fn from_path(path: &str) -> Option<Format> {
        let name = path.rsplit(['/', '\\']).next()?.to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let (_, extension) = name.rsplit_once('.')?;
        Some(match extension {
            "conllu" => Format::Conllu,
            "conllx" => Format::Conllx,
            "ptb" | "mrg" | "bracket" | "brackets" => Format::Ptb,
            "discbracket" | "dbr" => Format::Discbracket,
            "export" | "negra" => Format::Export,
            "tigerxml" | "tiger" => Format::Tigerxml,
            "alpino" => Format::Alpino,
            "json" | "jsonl" | "ndjson" => Format::Json,
            "txt" | "text" => Format::Text,
            "tokens" | "tok" => Format::Tokens,
            _ => return None,
        })
    }

    /// Does a file of this name hold gzip?
    pub fn is_gzip_path(path: &str) -> bool {
        path.to_ascii_lowercase().ends_with(".gz")
    }

    /// The format that the first bytes of a text show. Text and tokens are never recognised: anything could be
    /// text.
    pub fn detect(bytes: &[u8]) -> Option<Format> {
        let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes).trim_ascii_start();
        let contains = |word: &[u8]| memchr::memmem::find(bytes, word).is_some();
        match bytes.first()? {
            b'<' if contains(b"<alpino_ds") => Some(Format::Alpino),
            b'<' if contains(b"<corpus") || contains(b"<subcorpus") || contains(b"<s ") => {
                Some(Format::Tigerxml)
            }
            b'<' => None,
            b'{' => Some(Format::Json),
            b'(' => Some(brackets(bytes)),
            b'%' if bytes.starts_with(b"%%") => Some(Format::Export),
            b'#' if [&b"#FORMAT"[..], b"#BOS", b"#BOT"].iter().any(|word| bytes.starts_with(word)) => {
                Some(Format::Export)
            }
            // Several parses of a sentence, each with its number.
            b'#' if bytes.starts_with(b"# parse = ") && tree_after_comments(bytes).is_some() => {
                tree_after_comments(bytes)
            }
            _ => detect_columns(bytes),
        }
    }
}

/// The format of brackets that follow after lines of comments.
fn tree_after_comments(bytes: &[u8]) -> Option<Format> {
    let mut lines = bytes.split_inclusive(|&byte| byte == b'\n');
    let n_skipped: usize = lines.by_ref().take_while(|line| line[0] == b'#').map(<[u8]>::len).sum();
    let rest = &bytes[n_skipped..];
    (rest.first() == Some(&b'(')).then(|| brackets(rest))
}

fn brackets(bytes: &[u8]) -> Format {
    if has_indexed_leaf(bytes) { Format::Discbracket } else { Format::Ptb }
}

/// Is the first leaf written as `index=word`?
fn has_indexed_leaf(bytes: &[u8]) -> bool {
    let Some(end) = memchr::memchr(b')', bytes) else { return false };
    let leaf = bytes[..end].rsplit(|byte| byte.is_ascii_whitespace() || *byte == b'(').next().unwrap_or(b"");
    let n_digits = leaf.iter().take_while(|byte| byte.is_ascii_digit()).count();
    n_digits > 0 && leaf.get(n_digits) == Some(&b'=')
}

/// Ten columns that start with a number: CoNLL-U if anything in them is peculiar to it or all tags are its tags.
fn detect_columns(bytes: &[u8]) -> Option<Format> {
    // The last line may be cut.
    let end = memchr::memrchr(b'\n', bytes).unwrap_or(bytes.len());
    let mut found = None;
    for line in bytes[..end].split(|&byte| byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        if line[0] == b'#' {
            found = Some(Format::Conllu);
            continue;
        }
        let mut columns = line.split(|&byte| byte == b'\t');
        let id = columns.next().unwrap_or(b"");
        let tag = columns.nth(2);
        if columns.count() != 6 || !id.first().is_some_and(u8::is_ascii_digit) {
            // After a good row this is one with a mistake; the reader will say so.
            return found.filter(|&format| format == Format::Conllx).map(|_| Format::Conllu);
        }
        let is_conllu = id.iter().any(|byte| matches!(byte, b'-' | b'.'));
        if found == Some(Format::Conllu) || is_conllu {
            return Some(Format::Conllu);
        }
        if !tag.is_some_and(|tag| tag == b"_" || UPOS.contains(&tag)) {
            return Some(Format::Conllx);
        }
        found = found.or(Some(Format::Conllx));
        // Keep looking at tags; if all are UD's, it is CoNLL-U.
    }
    found.map(|_| Format::Conllu)
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Format::ALL.iter().copied().find(|format| format.as_str() == name).ok_or_else(|| {
            let message = format!("unknown format {name:?}; expected one of {}", Format::names());
            Error::new(Code::UnknownFormat, message)
        })
    }
}
