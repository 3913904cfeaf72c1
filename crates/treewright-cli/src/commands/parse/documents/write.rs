//! Documents as they are written: as they were read, with their trees.

use treewright::treebank::{self, Entry, Format};
use treewright::{Code, Error, Result};

use super::{Dialect, Document, Item, Problem, Table, error_name};
use crate::io::OnError;

/// Writes documents with their trees; `parses` are those of all their sentences, of which each document has some. What
/// cannot be written is the end, or a problem.
pub(in super::super) fn write(
    documents: &[Item],
    mut parses: &[Vec<Entry>],
    format: Format,
    on_error: OnError,
    problems: &mut Vec<Problem>,
    out: &mut Vec<u8>,
) -> Result<()> {
    for Item { document, place, n_sentences } in documents {
        let (sentences, others) = parses.split_at(*n_sentences);
        parses = others;
        if let Document::Bad(_, error) = document {
            problems.push(Problem { is_failure: false, error: error.clone() });
        }
        let start = out.len();
        if let Err(error) = write_document(document, sentences, format, out) {
            // Half a document is none.
            out.truncate(start);
            if on_error.is_fatal(&error) {
                return Err(error);
            }
            let error = place.locate(error);
            write_bad(document, &error, out)?;
            problems.push(Problem { is_failure: true, error });
        }
    }
    Ok(())
}

/// Writes a document that has no trees, and why.
fn write_bad(document: &Document, error: &Error, out: &mut Vec<u8>) -> Result<()> {
    let message = error.to_string();
    match document {
        Document::Json { start, trees_field } => {
            out.extend_from_slice(start.as_bytes());
            write_json(trees_field, out);
            out.extend_from_slice(b":null,");
            write_json(&error_name(trees_field), out);
            out.push(b':');
            write_json(&message, out);
            out.extend_from_slice(b"}\n");
            Ok(())
        }
        Document::Row(columns, Table { dialect, .. }) => {
            // In TSV nothing is quoted.
            let message = message.replace(['\t', '\n', '\r'], " ");
            write_row(columns, &["0", "", &message], *dialect, out)
        }
        Document::Bad(document, _) => write_bad(document, error, out),
        Document::Header(..) | Document::Cell | Document::MissingText | Document::BadText(_) => Ok(()),
    }
}

fn write_document(
    document: &Document,
    sentences: &[Vec<Entry>],
    format: Format,
    out: &mut Vec<u8>,
) -> Result<()> {
    match document {
        Document::Json { start, trees_field } => {
            out.extend_from_slice(start.as_bytes());
            write_json(trees_field, out);
            out.extend_from_slice(b":[");
            for (i, entry) in sentences.iter().flatten().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                let text = treebank::to_string([entry], format)?;
                match format {
                    Format::Json => out.extend_from_slice(text.trim_end().as_bytes()),
                    _ => write_json(&text, out),
                }
            }
            out.extend_from_slice(b"]}\n");
        }
        Document::Cell | Document::MissingText | Document::BadText(_) => {
            unreachable!("rows of Parquet files are written to Parquet")
        }
        Document::Header(names, dialect) => write_row(names, &[], *dialect, out)?,
        Document::Bad(document, error) => write_bad(document, error, out)?,
        Document::Row(columns, Table { dialect, has_errors }) => {
            let n_more = if *has_errors { 3 } else { 2 };
            // A document without a sentence keeps its place, too.
            if sentences.is_empty() {
                write_row(columns, &["0", "", ""][..n_more], *dialect, out)?;
            }
            for (number, entries) in sentences.iter().enumerate() {
                for entry in entries {
                    let text = treebank::to_string([entry], format)?;
                    // In brackets, what is said about a tree stands on lines before it.
                    let tree = text.trim_end().rsplit('\n').next().unwrap_or_default();
                    let more = [&(number + 1).to_string(), tree, ""];
                    write_row(columns, &more[..n_more], *dialect, out)?;
                }
            }
        }
    }
    Ok(())
}

fn write_json(text: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(out, text).expect("a string can be written to memory");
}

fn write_row(columns: &[String], more: &[&str], dialect: Dialect, out: &mut Vec<u8>) -> Result<()> {
    let columns = columns.iter().map(|column| &column[..]).chain(more.iter().copied());
    match dialect {
        Dialect::Tsv => {
            for (i, column) in columns.enumerate() {
                if i > 0 {
                    out.push(b'\t');
                }
                out.extend_from_slice(column.as_bytes());
            }
            out.push(b'\n');
            Ok(())
        }
        Dialect::Csv => {
            let mut writer = csv::Writer::from_writer(out);
            writer.write_record(columns).map_err(|error| Error::new(Code::Unwritable, error.to_string()))?;
            Ok(writer.flush()?)
        }
    }
}
