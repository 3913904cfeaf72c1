//! Files that are no text, or text only around markup: PDF, office documents, web pages, pictures, archives and others, known by their
//! first bytes. A tagger would read them without complaint.

use super::lines::BYTE_ORDER_MARK;
use crate::error::{Code, Error};

/// The kind of a file, as far as its first bytes tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A file of this kind.
    Foreign(Foreign),
    /// Nothing that is known here.
    Other,
    /// More bytes are needed.
    Unknown,
}

/// A kind of file, and how to get text out of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Foreign {
    name: &'static str,
    /// The advice to the user.
    way_out: &'static str,
}

impl Foreign {
    pub(super) fn error(self) -> Error {
        let Foreign { name, way_out } = self;
        Error::at(Code::NotText, 1, 1, format!("this is {name}, not plain text: {way_out}"))
    }
}

const PANDOC: &str = "convert it to text first, for example with pandoc -t plain";
const OFFICE: &str = "save it as plain text first, or convert it, for example with pandoc -t plain or libreoffice --convert-to txt";
const SHEET: &str = "save it as CSV first";
const PICTURE: &str = "text in it has to be recognised first, for example with tesseract";

/// Kinds of files by their first bytes.
const MAGIC: &[(&[u8], Foreign)] = &[
    (
        b"%PDF-",
        Foreign { name: "a PDF document", way_out: "convert it to text first, for example with pdftotext" },
    ),
    (b"%!PS", Foreign { name: "PostScript", way_out: "convert it to text first, for example with ps2ascii" }),
    (b"{\\rtf", Foreign { name: "an RTF document", way_out: OFFICE }),
    (
        b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1",
        Foreign { name: "an old Office document (.doc, .xls or .ppt)", way_out: OFFICE },
    ),
    (b"\x89PNG\r\n", Foreign { name: "a PNG picture", way_out: PICTURE }),
    (b"\xFF\xD8\xFF", Foreign { name: "a JPEG picture", way_out: PICTURE }),
    (b"GIF87a", Foreign { name: "a GIF picture", way_out: PICTURE }),
    (b"GIF89a", Foreign { name: "a GIF picture", way_out: PICTURE }),
    (b"II*\0", Foreign { name: "a TIFF picture", way_out: PICTURE }),
    (b"MM\0*", Foreign { name: "a TIFF picture", way_out: PICTURE }),
    (
        b"\xFD7zXZ\0",
        Foreign { name: "compressed with xz", way_out: "uncompress it first, for example with unxz" },
    ),
    (
        b"\x28\xB5\x2F\xFD",
        Foreign { name: "compressed with zstd", way_out: "uncompress it first, for example with unzstd" },
    ),
    (
        b"BZh",
        Foreign { name: "compressed with bzip2", way_out: "uncompress it first, for example with bunzip2" },
    ),
    (b"7z\xBC\xAF\x27\x1C", Foreign { name: "a 7z archive", way_out: "unpack it first" }),
    (b"Rar!\x1A\x07", Foreign { name: "a RAR archive", way_out: "unpack it first" }),
    (
        b"SQLite format 3\0",
        Foreign {
            name: "an SQLite database",
            way_out: "export the texts first, for example with sqlite3 -csv",
        },
    ),
    (b"PAR1", Foreign { name: "a Parquet table", way_out: "its texts are in one of its columns" }),
    (
        b"ARROW1\0\0",
        Foreign { name: "an Arrow table", way_out: "save it as Parquet, CSV or JSON lines first" },
    ),
    (b"TREEWRT\n", MODEL),
    (b"TREEWPL\n", MODEL),
    (b"TREEWPK\n", MODEL),
];

const MODEL: Foreign =
    Foreign { name: "a treewright model", way_out: "a model is named apart from the texts" };
const HTML: Foreign = Foreign {
    name: "a web page (HTML)",
    way_out: "its tags would be parsed as words; convert it to text first, for example with pandoc -t plain",
};

const ZIP: &[u8] = b"PK\x03\x04";
/// The place where the name of the first file in a zip begins.
const ZIP_NAME: usize = 30;
/// As much of a zip as shows what it is.
const ENOUGH_OF_ZIP: usize = 4096;
/// The declaration at the beginning of XML is shorter.
const MAX_DECLARATION: usize = 200;
const BZIP2_BLOCK: &[u8] = b"1AY&SY";

/// Looks at the first bytes of a file; `is_all` if no more can be had.
pub(super) fn kind_of(bytes: &[u8], is_all: bool) -> Kind {
    let is_start = |magic: &[u8]| !is_all && bytes.len() < magic.len() && magic.starts_with(bytes);
    for (magic, foreign) in MAGIC {
        if is_start(magic) {
            return Kind::Unknown;
        }
        if bytes.starts_with(magic) {
            return match *magic {
                // A text may begin with these letters.
                b"BZh" => bzip2(&bytes[3..], is_all, *foreign),
                _ => Kind::Foreign(*foreign),
            };
        }
    }
    if is_start(ZIP) {
        return Kind::Unknown;
    }
    if bytes.starts_with(ZIP) {
        return if is_all || bytes.len() >= ENOUGH_OF_ZIP {
            Kind::Foreign(zip(&bytes[..bytes.len().min(ENOUGH_OF_ZIP)]))
        } else {
            Kind::Unknown
        };
    }
    html(bytes, is_all)
}

/// After `BZh` comes the size of blocks, and the first block or the end.
fn bzip2(rest: &[u8], is_all: bool, foreign: Foreign) -> Kind {
    match rest.split_first() {
        Some((b'1'..=b'9', rest)) if rest.starts_with(BZIP2_BLOCK) => Kind::Foreign(foreign),
        Some((b'1'..=b'9', rest)) if !is_all && BZIP2_BLOCK.starts_with(rest) => Kind::Unknown,
        None if !is_all => Kind::Unknown,
        _ => Kind::Other,
    }
}

/// The kind of file that a zip is, by the names of its first files.
fn zip(bytes: &[u8]) -> Foreign {
    let has = |name: &[u8]| memchr::memmem::find(bytes, name).is_some();
    let starts = |name: &[u8]| bytes.get(ZIP_NAME..).is_some_and(|rest| rest.starts_with(name));
    let (name, way_out) = if starts(b"mimetypeapplication/epub") {
        ("an EPUB book", PANDOC)
    } else if starts(b"mimetypeapplication/vnd.oasis.opendocument.text") {
        ("an OpenDocument text (.odt)", OFFICE)
    } else if starts(b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet") || has(b"xl/") {
        ("a spreadsheet", SHEET)
    } else if has(b"word/") {
        ("a Word document (.docx)", OFFICE)
    } else if starts(b"[Content_Types].xml")
        || starts(b"_rels/")
        || starts(b"mimetypeapplication/vnd.oasis")
        || has(b"ppt/")
    {
        ("an Office document", OFFICE)
    } else {
        ("a zip archive", "unpack it first")
    };
    Foreign { name, way_out }
}

/// A web page, by its doctype or its first element.
fn html(bytes: &[u8], is_all: bool) -> Kind {
    if !is_all && BYTE_ORDER_MARK.starts_with(bytes) {
        return Kind::Unknown;
    }
    let mut bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes).trim_ascii_start();
    if !is_all && b"<?xml".starts_with(bytes) {
        return Kind::Unknown;
    }
    if bytes.starts_with(b"<?xml") {
        match memchr::memmem::find(bytes, b"?>") {
            Some(end) => bytes = bytes[end + 2..].trim_ascii_start(),
            None if is_all || bytes.len() > MAX_DECLARATION => return Kind::Other,
            None => return Kind::Unknown,
        }
        if bytes.is_empty() && !is_all {
            return Kind::Unknown;
        }
    }
    for word in [&b"<!doctype html"[..], b"<html", b"<head", b"<body"] {
        let n = word.len().min(bytes.len());
        if !bytes[..n].eq_ignore_ascii_case(&word[..n]) {
            continue;
        }
        match bytes.get(n) {
            Some(after) if n == word.len() => {
                let is_end = *after == b'>' || after.is_ascii_whitespace();
                return if is_end { Kind::Foreign(HTML) } else { Kind::Other };
            }
            _ if !is_all => return Kind::Unknown,
            _ => {}
        }
    }
    Kind::Other
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the kind of these bytes, and that the answer does not depend on how many of them are seen at first.
    #[track_caller]
    fn check(bytes: &[u8], name: Option<&str>) {
        let found = kind_of(bytes, true);
        let expected = match found {
            Kind::Foreign(foreign) => Some(foreign.name),
            Kind::Other | Kind::Unknown => None,
        };
        assert_eq!(expected, name, "{}", String::from_utf8_lossy(bytes));
        for end in 0..bytes.len() {
            let early = kind_of(&bytes[..end], false);
            assert!(early == Kind::Unknown || early == found, "{end} bytes: {early:?} and then {found:?}");
        }
    }

    fn zipped(name: &[u8], content: &[u8], rest: &[u8]) -> Vec<u8> {
        [ZIP, &[0; ZIP_NAME - 4], name, content, &[1; 100], rest].concat()
    }

    #[test]
    fn files_that_are_no_text_are_known_by_their_first_bytes() {
        check(b"%PDF-1.7\n%\xE2\xE3\xCF\xD3\n", Some("a PDF document"));
        check(b"{\\rtf1\\ansi Hello.}\n", Some("an RTF document"));
        check(b"<!DOCTYPE html>\n<html lang=\"en\">\n", Some("a web page (HTML)"));
        check(b"\xEF\xBB\xBF\n <HTML>\n", Some("a web page (HTML)"));
        check(b"<html xmlns=\"http://www.w3.org/1999/xhtml\">", Some("a web page (HTML)"));
        check(b"<?xml version=\"1.0\"?>\n<!DOCTYPE html PUBLIC>", Some("a web page (HTML)"));
        check(b"BZh91AY&SY\x01\x02\x03", Some("compressed with bzip2"));
        check(b"\xFD7zXZ\0\0\x04", Some("compressed with xz"));
        check(b"\x28\xB5\x2F\xFD\x24", Some("compressed with zstd"));
        check(b"SQLite format 3\0\x10", Some("an SQLite database"));
        check(b"PAR1\x15\0", Some("a Parquet table"));
        check(b"\x89PNG\r\n\x1A\n", Some("a PNG picture"));
        check(b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1\0", Some("an old Office document (.doc, .xls or .ppt)"));
        check(b"TREEWPL\n\x02", Some("a treewright model"));
    }

    #[test]
    fn a_zip_says_what_it_is() {
        check(&zipped(b"word/document.xml", b"", b""), Some("a Word document (.docx)"));
        check(&zipped(b"[Content_Types].xml", b"", b"word/_rels"), Some("a Word document (.docx)"));
        check(&zipped(b"mimetype", b"application/epub+zip", b""), Some("an EPUB book"));
        let odt = zipped(b"mimetype", b"application/vnd.oasis.opendocument.text", b"");
        check(&odt, Some("an OpenDocument text (.odt)"));
        check(&zipped(b"letters.txt", b"Dear", b""), Some("a zip archive"));
    }

    #[test]
    fn text_and_treebanks_are_not_taken_for_something_else() {
        for text in [
            "",
            "PAR for the course.\n",
            "BZh is no word.\n",
            "GIFs are pictures.\n",
            "PK is short.\n",
            "% of people\n",
            "<html_like> markup\n",
            "<b>bold</b> words\n",
            "<!-- a comment -->\n<alpino_ds>",
            "<?xml version=\"1.0\"?>\n<corpus>",
            "{\"tokens\": []}\n",
            "{\\it italic}\n",
            "II. The second chapter\n",
            "TREES\n",
        ] {
            check(text.as_bytes(), None);
        }
    }
}
