//! The records of a CSV file, none larger than allowed.

use std::io::{BufRead, BufReader, ErrorKind, Read};

use csv_core::ReadRecordResult;
use treewright::Result;
use treewright::treebank::Limit;

/// Reads records into memory of its own. A record beyond the limit is an error, and the next one follows.
pub(super) struct CsvRecords<R> {
    source: BufReader<R>,
    parser: csv_core::Reader,
    limit: Limit,
    /// The fields, one after the other, and where each ends.
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl<R: Read> CsvRecords<R> {
    pub(super) fn new(source: R, limit: Limit) -> Self {
        CsvRecords {
            source: BufReader::with_capacity(1 << 16, source),
            parser: csv_core::Reader::new(),
            limit,
            bytes: vec![0; 1 << 12],
            ends: vec![0; 1 << 6],
        }
    }

    /// The line that will be read next, from 1.
    pub(super) fn line(&self) -> usize {
        self.parser.line() as usize
    }

    /// The fields of the next record.
    pub(super) fn next_record(&mut self) -> Option<Result<impl Iterator<Item = &[u8]>>> {
        let line = self.line();
        let CsvRecords { source, parser, limit, bytes, ends } = self;
        let (mut n_bytes, mut n_fields, mut is_large) = (0, 0, false);
        loop {
            let input = match source.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Some(Err(error.into())),
                Ok(input) => input,
            };
            let (result, n_read, more_bytes, more_fields) =
                parser.read_record(input, &mut bytes[n_bytes..], &mut ends[n_fields..]);
            source.consume(n_read);
            n_bytes += more_bytes;
            n_fields += more_fields;
            is_large |= limit.is_exceeded_by(n_bytes) || limit.is_exceeded_by_items(n_fields);
            match result {
                ReadRecordResult::End => return None,
                ReadRecordResult::Record if is_large => return Some(Err(limit.error(line, 1))),
                ReadRecordResult::Record => break,
                ReadRecordResult::OutputFull if !is_large => bytes.resize(bytes.len() * 2, 0),
                ReadRecordResult::OutputEndsFull if !is_large => ends.resize(ends.len() * 2, 0),
                ReadRecordResult::InputEmpty if !is_large => {}
                // Nobody will see what has been read of it.
                _ => (n_bytes, n_fields) = (0, 0),
            }
        }
        let starts = std::iter::once(0).chain(ends[..n_fields].iter().copied());
        Some(Ok(starts.zip(&ends[..n_fields]).map(|(start, &end)| &bytes[start..end])))
    }
}
