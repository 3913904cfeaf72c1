//! Corpora of documents: JSON objects, one a line, and tables (TSV, CSV), with text in one field or column. What else is in
//! a document is written as it was read.

use std::borrow::Cow;
use std::fmt;
use std::io::{BufReader, Read};

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use treewright::segment::{SegmentOptions, Segmenter};
use treewright::treebank::lines::Lines;
use treewright::treebank::{self, Entry, Format, Limit};
use treewright::{Code, Error, Result, Sentence};

use super::ParseArgs;
use super::csv_records::CsvRecords;
use super::input::{SharedPending, valid_text};
use crate::io::endings::ending;
use crate::io::usage;

/// A document of a corpus, without the trees of its text.
pub(super) enum Document {
    /// A JSON object up to its closing bracket, ready for another field of this name.
    Json { start: String, trees_field: String },
    /// The columns other than that of the text.
    Row(Vec<String>, Dialect),
    /// A row of a Parquet file, which keeps its other columns itself.
    Cell,
    /// One without a text.
    MissingText,
    /// One whose text cannot be read, and why.
    BadText(#[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "there are no tables"))] String),
    /// The names of those columns and of the ones that are added.
    Header(Vec<String>, Dialect),
}

/// The column of a table for the number of each sentence in its document.
const SENTENCE_COLUMN: &str = "sentence";

/// How a table is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Columns between tabs, as they are.
    Tsv,
    /// Columns between commas, in quotes where needed (RFC 4180).
    Csv,
}

/// How documents are laid out.
pub(super) enum Layout {
    Json {
        text_field: String,
        trees_field: String,
    },
    Table {
        column: Column,
        dialect: Dialect,
        names: Names,
        /// What the column of the trees is called.
        tree_column: String,
        /// How many columns there are; known after the first row.
        width: Option<usize>,
    },
}

/// The column with the text.
pub(super) enum Column {
    /// Its number, from 0.
    Number(usize),
    Name(String),
}

/// What is known of the names of columns.
pub(super) enum Names {
    /// There are none.
    None,
    /// The first line will have them.
    Expected,
    /// Those of the first file; other files must have the same.
    Written(Vec<String>),
}

impl Layout {
    /// As the flags say; `None` if the input has no documents.
    pub(super) fn of(args: &ParseArgs) -> Result<Option<Self>> {
        if let Some(field) = &args.jsonl_field {
            let trees_field = args.trees_field.clone();
            if *field == trees_field {
                return Err(usage("--jsonl-field and --trees-field name the same field"));
            }
            return Ok(Some(Layout::Json { text_field: field.clone(), trees_field }));
        }
        let Some(column) = &args.text_column else { return Ok(None) };
        let column = match column.parse::<usize>() {
            Ok(0) => return Err(usage("--text-column 0: columns count from 1")),
            Ok(number) => Column::Number(number - 1),
            Err(_) => Column::Name(column.clone()),
        };
        let has_names = args.header || matches!(column, Column::Name(_));
        let names = if has_names { Names::Expected } else { Names::None };
        let tree_column = match &args.parse_column {
            Some(_) if !has_names => {
                return Err(usage(
                    "--parse-column names a column, and this table has no names: add --header if its first line has them",
                ));
            }
            Some(name) if name == SENTENCE_COLUMN => {
                return Err(usage(format!(
                    "--parse-column {name}: this is the column for the numbers of sentences; choose another name"
                )));
            }
            Some(name) => name.clone(),
            None => "tree".to_owned(),
        };
        let dialect = if is_csv(args) { Dialect::Csv } else { Dialect::Tsv };
        Ok(Some(Layout::Table { column, dialect, names, tree_column, width: None }))
    }
}

/// Is a table CSV?
pub(super) fn is_csv(args: &ParseArgs) -> bool {
    args.csv || args.files.iter().any(|path| ending(path) == "csv")
}

/// The fields of a JSON object, with the text of their values.
struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> serde::Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;
        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry::<String, &RawValue>()? {
                    fields.push((Cow::Owned(field.0), field.1));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(FieldsVisitor)
    }
}

/// Reads documents and cuts their text.
pub(super) struct DocumentReader<'a> {
    pub file: &'a str,
    pub segmenter: &'a Segmenter,
    pub cut: &'a SegmentOptions,
    /// How large a document may be.
    pub limit: Limit,
}

impl DocumentReader<'_> {
    pub(super) fn read(
        &self,
        layout: &mut Layout,
        source: impl Read,
        pending: &SharedPending<'_>,
    ) -> Result<()> {
        match layout {
            Layout::Json { text_field, trees_field } => self.for_each_line(source, |line, number| {
                let document =
                    line.and_then(|line| self.json_document(line, number, text_field, trees_field));
                self.send(document, number, pending)
            }),
            Layout::Table { column, dialect, names, tree_column, width } => {
                let mut table =
                    Table { column, dialect: *dialect, names, tree_column, width, text_column: None };
                let mut row = |row: Result<Vec<String>>, number: usize| {
                    let has_names = table.expects_names();
                    match row.and_then(|row| table.document(row, number, self.file)) {
                        // Without the names nobody knows what the rows after them mean.
                        Err(error) if has_names => Err(error),
                        document => self.send(document, number, pending),
                    }
                };
                match dialect {
                    Dialect::Tsv => self.for_each_line(source, |line, number| {
                        row(line.map(|line| line.split('\t').map(str::to_owned).collect()), number)
                    }),
                    Dialect::Csv => self.for_each_record(source, row),
                }
            }
        }
    }

    /// Cuts the text of a row of a Parquet file and sends it; what is wrong with it is for its row alone.
    pub(super) fn send_cell(
        &self,
        text: Option<Result<&str, String>>,
        number: usize,
        pending: &SharedPending<'_>,
    ) -> Result<()> {
        // Its place is that of its row.
        let in_row = |error: Error| Error::new(error.code, error.message).to_string();
        let text = text.map(|text| text.and_then(|text| self.cut(text, number).map_err(in_row)));
        let (document, sentences) = match text {
            None => (Document::MissingText, Vec::new()),
            Some(Ok(sentences)) => (Document::Cell, sentences),
            Some(Err(message)) => (Document::BadText(message), Vec::new()),
        };
        let entries = sentences.into_iter().map(|sentence| Entry { sentence, ..Entry::default() });
        pending.with(|pending| pending.document(document, entries))
    }

    /// Cuts the text of a document and sends it.
    fn send(
        &self,
        document: Result<Option<(String, Document)>>,
        number: usize,
        pending: &SharedPending<'_>,
    ) -> Result<()> {
        let cut = document.and_then(|document| {
            let Some((text, document)) = document else { return Ok(None) };
            Ok(Some((self.cut(&text, number)?, document)))
        });
        match cut {
            Ok(Some((sentences, document))) => {
                let entries = sentences.into_iter().map(|sentence| Entry { sentence, ..Entry::default() });
                pending.with(|pending| pending.document(document, entries))
            }
            Ok(None) => Ok(()),
            Err(error) => pending.with(|pending| pending.bad(error)),
        }
    }

    /// The sentences of a document's text.
    fn cut(&self, text: &str, number: usize) -> Result<Vec<Sentence>> {
        // Only a long text can have too many words.
        if !self.limit.is_exceeded_by_items(text.len()) {
            return Ok(self.segmenter.segment(text, self.cut).sentences);
        }
        let (mut sentences, mut n_words) = (Vec::new(), 0);
        for sentence in self.segmenter.read(BufReader::with_capacity(1 << 16, text.as_bytes()), self.cut) {
            let sentence = sentence?;
            n_words += sentence.len();
            if self.limit.is_exceeded_by_items(n_words) {
                return Err(self.limit.error(number, 1).in_file(self.file));
            }
            sentences.push(sentence);
        }
        Ok(sentences)
    }

    fn error(&self, code: Code, line: usize, column: usize, message: impl Into<String>) -> Error {
        Error::at(code, line, column, message).in_file(self.file)
    }

    /// The lines of a source, without their ends and the byte order mark, with their numbers.
    fn for_each_line(
        &self,
        source: impl Read,
        mut each: impl FnMut(Result<&str>, usize) -> Result<()>,
    ) -> Result<()> {
        let mut lines = Lines::new(source, self.limit);
        loop {
            let number = lines.number() + 1;
            lines.start_sentence();
            match lines.next_line() {
                None => return Ok(()),
                Some(Err(error)) if error.code == Code::Io => return Err(error.in_file(self.file)),
                Some(line) => each(line.map_err(|error| error.in_file(self.file)), number)?,
            }
        }
    }

    /// The records of a CSV file, with the numbers of their first lines.
    fn for_each_record(
        &self,
        source: impl Read,
        mut each: impl FnMut(Result<Vec<String>>, usize) -> Result<()>,
    ) -> Result<()> {
        let mut records = CsvRecords::new(source, self.limit);
        while let Some(record) = records.next_record() {
            let number = records.line();
            match record {
                Err(error) if error.code == Code::Io => return Err(error.in_file(self.file)),
                Err(error) => each(Err(error.in_file(self.file)), number)?,
                Ok(()) => {
                    let field = |field| Ok(valid_text(field, number, self.file)?.to_owned());
                    each(records.fields().map(field).collect(), number)?;
                }
            }
        }
        Ok(())
    }

    fn json_document(
        &self,
        line: &str,
        number: usize,
        text_field: &str,
        trees_field: &str,
    ) -> Result<Option<(String, Document)>> {
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let bad = |column, message: String| self.error(Code::BadJson, number, column, message);
        let Fields(fields) = serde_json::from_str(line).map_err(|cause| {
            let message = cause.to_string();
            let message = message.split(" at line ").next().unwrap_or_default();
            bad(cause.column(), format!("{message}; expected one JSON object per line"))
        })?;
        if fields.iter().any(|(name, _)| name == trees_field) {
            let message = format!(
                "the document has a field {trees_field:?} already; choose another name for the trees with --trees-field"
            );
            return Err(bad(1, message));
        }
        let text = fields.iter().rev().find(|(name, _)| name == text_field);
        let text = text.and_then(|(_, value)| serde_json::from_str::<String>(value.get()).ok());
        let Some(text) = text else {
            let names: Vec<String> = fields.iter().map(|(name, _)| format!("{name:?}")).collect();
            let message =
                format!("no string in the field {text_field:?}; the fields are {}", names.join(", "));
            return Err(bad(1, message));
        };
        let start = line.trim_ascii_end().strip_suffix('}').expect("an object ends with it");
        let start = format!("{},", start.trim_ascii_end());
        Ok(Some((text, Document::Json { start, trees_field: trees_field.to_owned() })))
    }
}

/// A table that is being read.
struct Table<'a> {
    column: &'a Column,
    dialect: Dialect,
    names: &'a mut Names,
    tree_column: &'a str,
    /// That of all rows, in all files.
    width: &'a mut Option<usize>,
    /// Known after the line with the names.
    text_column: Option<usize>,
}

impl Table<'_> {
    /// Has the next line the names of the columns?
    fn expects_names(&self) -> bool {
        self.text_column.is_none() && !matches!(self.names, Names::None)
    }

    /// The text of a row, and the rest of it.
    fn document(
        &mut self,
        row: Vec<String>,
        number: usize,
        file: &str,
    ) -> Result<Option<(String, Document)>> {
        let document = if self.expects_names() { self.header(row) } else { self.row(row).map(Some) };
        document.map_err(|message| Error::at(Code::ColumnCount, number, 1, message).in_file(file))
    }

    /// The names of the columns, if they are to be written.
    fn header(&mut self, mut row: Vec<String>) -> Result<Option<(String, Document)>, String> {
        let column = match self.column {
            Column::Number(column) => *column,
            Column::Name(name) => row
                .iter()
                .position(|other| other == name)
                .ok_or_else(|| format!("there is no column {name:?}; the columns are {}", row.join(", ")))?,
        };
        if column >= row.len() {
            return Err(lacks_column(column, row.len()));
        }
        let width = row.len();
        row.remove(column);
        if let Names::Written(names) = &*self.names {
            if *names != row {
                let (found, expected) = (row.join(", "), names.join(", "));
                return Err(format!("the columns are {found}; expected {expected}, as in the first file"));
            }
            self.text_column = Some(column);
            return Ok(None);
        }
        let ways_out = [
            (SENTENCE_COLUMN, "rename it, for the numbers of the sentences get a column of this name"),
            (self.tree_column, "choose another name for the trees with --parse-column"),
        ];
        for (name, way_out) in ways_out {
            if row.iter().any(|other| other == name) {
                return Err(format!("there is a column {name:?} already; {way_out}"));
            }
        }
        *self.width = Some(width);
        self.text_column = Some(column);
        *self.names = Names::Written(row.clone());
        row.extend([SENTENCE_COLUMN, self.tree_column].map(str::to_owned));
        Ok(Some((String::new(), Document::Header(row, self.dialect))))
    }

    fn row(&mut self, mut row: Vec<String>) -> Result<(String, Document), String> {
        let column = match (self.text_column, self.column) {
            (Some(column), _) => column,
            (None, Column::Number(column)) => *column,
            (None, Column::Name(_)) => unreachable!("the names come first"),
        };
        if column >= row.len() {
            return Err(lacks_column(column, row.len()));
        }
        let width = *self.width.get_or_insert(row.len());
        if row.len() != width {
            let like =
                if matches!(self.names, Names::None) { "the first row" } else { "the line with the names" };
            return Err(format!("there are {} columns; expected {width}, as in {like}", row.len()));
        }
        let text = row.remove(column);
        Ok((text, Document::Row(row, self.dialect)))
    }
}

fn lacks_column(column: usize, width: usize) -> String {
    format!("expected text in column {}; there are {width}", column + 1)
}

/// Writes documents with their trees; `parses` are those of all their sentences, of which each document has some.
pub(super) fn write(
    documents: &[(Document, usize)],
    mut parses: &[Vec<Entry>],
    format: Format,
    out: &mut Vec<u8>,
) -> Result<()> {
    for (document, n_sentences) in documents {
        let (sentences, others) = parses.split_at(*n_sentences);
        parses = others;
        let start = out.len();
        if let Err(error) = write_document(document, sentences, format, out) {
            // Half a document is none.
            out.truncate(start);
            return Err(error);
        }
    }
    Ok(())
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
        Document::Row(columns, dialect) => {
            // A document without a sentence keeps its place, too.
            if sentences.is_empty() {
                write_row(columns, &["0", ""], *dialect, out)?;
            }
            for (number, entries) in sentences.iter().enumerate() {
                for entry in entries {
                    let text = treebank::to_string([entry], format)?;
                    // In brackets, what is said about a tree stands on lines before it.
                    let tree = text.trim_end().rsplit('\n').next().unwrap_or_default();
                    write_row(columns, &[&(number + 1).to_string(), tree], *dialect, out)?;
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
