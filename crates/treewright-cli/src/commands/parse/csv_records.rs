//! The records of a CSV file (RFC 4180), none larger than allowed.

use std::io::{BufRead, BufReader, ErrorKind, Read};

use treewright::treebank::Limit;
use treewright::{Code, Error, Result};

/// Reads records into memory of its own. Blank lines are skipped. A record beyond the limit or with quotation marks in the
/// wrong place is an error, and the next one follows. A quotation mark inside a field that does not start with one is kept.
pub(super) struct CsvRecords<R> {
    source: BufReader<R>,
    limit: Limit,
    place: Place,
    /// The line in which the record starts.
    line: usize,
    /// The fields, one after the other, and where each ends.
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

/// Where the next byte stands: line and column, from 1.
#[derive(Clone, Copy)]
struct Place {
    line: usize,
    column: usize,
}

impl Place {
    /// Goes past these bytes.
    fn pass(&mut self, bytes: &[u8]) {
        let mut last_line = bytes;
        if let Some(newline) = memchr::memrchr(b'\n', bytes) {
            last_line = &bytes[newline + 1..];
            self.line += memchr::memchr_iter(b'\n', bytes).count();
            self.column = 1;
        }
        self.column += last_line.iter().filter(|&&byte| byte & 0xC0 != 0x80).count();
    }
}

/// What has been read of a record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Nothing,
    /// All up to the start of a field.
    FieldStart,
    /// Part of a field without quotation marks around it.
    Plain,
    /// Part of a field after its opening quotation mark.
    Quoted,
    /// The same, up to another quotation mark: the closing one, or the first of two that stand for one.
    Quote,
}

impl<R: Read> CsvRecords<R> {
    pub(super) fn new(source: R, limit: Limit) -> Self {
        CsvRecords {
            source: BufReader::with_capacity(1 << 16, source),
            limit,
            place: Place { line: 1, column: 1 },
            line: 1,
            bytes: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// The line in which the record that was read last starts, from 1.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// The fields of the record that was read last.
    pub(super) fn fields(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start..end])
    }

    /// Reads the next record; `None` if there is none.
    pub(super) fn next_record(&mut self) -> Option<Result<()>> {
        self.bytes.clear();
        self.ends.clear();
        let CsvRecords { source, limit, place, line, bytes, ends } = self;
        let (mut state, mut opened, mut mistake, mut is_large) = (State::Nothing, *place, None, false);
        let bad = |opened: Place, message: &str| Error::at(Code::BadCsv, opened.line, opened.column, message);
        let mut is_complete = false;
        while !is_complete {
            let input = match source.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Some(Err(error.into())),
                Ok(input) => input,
            };
            if input.is_empty() {
                match state {
                    State::Nothing => return None,
                    State::Quoted => {
                        let message = "a quotation mark without a closing one; expected another before the \
                                       end of the file (inside a field, quotation marks are doubled)";
                        mistake = mistake.or_else(|| Some(bad(opened, message)));
                    }
                    State::FieldStart | State::Plain | State::Quote => ends.push(bytes.len()),
                }
                break;
            }
            let mut at = 0;
            while let Some(&byte) = input.get(at)
                && !is_complete
            {
                let rest = &input[at..];
                // How much of the rest is read, and how much of that belongs to the field.
                let (n_read, n_kept) = match state {
                    State::Nothing if matches!(byte, b'\r' | b'\n') => (1, 0),
                    State::Nothing => {
                        *line = place.line;
                        state = State::FieldStart;
                        (0, 0)
                    }
                    State::FieldStart if byte == b'"' => {
                        opened = *place;
                        state = State::Quoted;
                        (1, 0)
                    }
                    State::FieldStart => {
                        state = State::Plain;
                        (0, 0)
                    }
                    State::Plain if matches!(byte, b',' | b'\r' | b'\n') => {
                        ends.push(bytes.len());
                        state = State::FieldStart;
                        is_complete = byte != b',';
                        (1, 0)
                    }
                    State::Plain => {
                        let n = memchr::memchr3(b',', b'\r', b'\n', rest).unwrap_or(rest.len());
                        (n, n)
                    }
                    State::Quoted if byte == b'"' => {
                        state = State::Quote;
                        (1, 0)
                    }
                    State::Quoted => {
                        let n = memchr::memchr(b'"', rest).unwrap_or(rest.len());
                        (n, n)
                    }
                    State::Quote if byte == b'"' => {
                        state = State::Quoted;
                        (1, 1)
                    }
                    State::Quote => {
                        if !matches!(byte, b',' | b'\r' | b'\n') {
                            let message = "a quotation mark whose closing one is followed by text; expected a \
                                           comma or the end of the line (inside a field, quotation marks are doubled)";
                            mistake = mistake.or_else(|| Some(bad(opened, message)));
                        }
                        state = State::Plain;
                        (0, 0)
                    }
                };
                place.pass(&rest[..n_read]);
                bytes.extend_from_slice(&rest[..n_kept]);
                at += n_read;
                if limit.is_exceeded_by(bytes.len()) || limit.is_exceeded_by_items(ends.len()) {
                    // Nobody will see what has been read of it.
                    is_large = true;
                    bytes.clear();
                    ends.clear();
                }
            }
            source.consume(at);
        }
        match mistake {
            Some(mistake) => Some(Err(mistake)),
            None if is_large => Some(Err(limit.error(*line, 1))),
            None => Some(Ok(())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All records: their lines, and their fields or what is wrong.
    fn records(text: &str, piece: usize) -> Vec<(usize, String)> {
        struct Drip<'a>(&'a [u8], usize);
        impl Read for Drip<'_> {
            fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
                let n = self.1.min(out.len());
                self.0.read(&mut out[..n])
            }
        }
        let mut records = CsvRecords::new(Drip(text.as_bytes(), piece), Limit::DEFAULT);
        let mut all = Vec::new();
        while let Some(record) = records.next_record() {
            all.push(match record {
                Ok(()) => {
                    let fields = records.fields().map(|field| String::from_utf8_lossy(field).into_owned());
                    (records.line(), fields.collect::<Vec<_>>().join("|"))
                }
                Err(error) => {
                    assert_eq!(error.code, Code::BadCsv);
                    (error.location.line, format!("{} {}", error.location.column, error.message))
                }
            });
        }
        all
    }

    #[track_caller]
    fn check(text: &str, expected: &[(usize, &str)]) {
        for piece in [1, 2, 1000] {
            let found = records(text, piece);
            let starts = found.iter().zip(expected).all(|((n, found), (m, part))| {
                // Of messages, the start.
                n == m && (found == part || part.contains("mark") && found.starts_with(part))
            });
            assert!(starts && found.len() == expected.len(), "{text:?} in pieces of {piece}: {found:?}");
        }
    }

    #[test]
    fn fields_and_records() {
        check("", &[]);
        check("\n\r\n\n", &[]);
        check("a,b\nc", &[(1, "a|b"), (2, "c")]);
        check("a,b\r\n\r\nc,\r\n,\r\n", &[(1, "a|b"), (3, "c|"), (4, "|")]);
        check("\"a,\n\"\"b\"\"\",c\n\"\"\n", &[(1, "a,\n\"b\"|c"), (3, "")]);
        check("5\" disk,a\"b\"\n", &[(1, "5\" disk|a\"b\"")]);
        check("a,\"b\"", &[(1, "a|b")]);
        check("a,", &[(1, "a|")]);
    }

    #[test]
    fn quotation_marks_in_the_wrong_place() {
        let (open, text) =
            ("a quotation mark without a closing one", "a quotation mark whose closing one is followed");
        check("a\né,\"b\nc\nd\n", &[(1, "a"), (2, &format!("3 {open}"))]);
        check("1,x\n2,\"a\"b\n3,y\n", &[(1, "1|x"), (2, &format!("3 {text}")), (3, "3|y")]);
        check("1,\"a\n2,\"b\"\n3,c\n", &[(1, &format!("3 {text}")), (3, "3|c")]);
        check("\"", &[(1, &format!("1 {open}"))]);
        check("\"a\" ,b\n", &[(1, &format!("1 {text}"))]);
    }
}
