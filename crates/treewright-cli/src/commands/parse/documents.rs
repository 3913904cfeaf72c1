//! Corpora of documents: JSON objects, one a line, and tables (TSV, CSV), with text in one field or column. What else is in
//! a document is written as it was read.

mod write;

use std::borrow::Cow;
use std::fmt;
use std::io::{BufReader, Read};
use std::sync::Arc;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use treewright::segment::{SegmentOptions, Segmenter};
use treewright::treebank::lines::Lines;
use treewright::treebank::{Entry, Limit};
use treewright::{Code, Error, Result, Sentence};

pub(super) use write::write;

use super::ParseArgs;
use super::csv_records::CsvRecords;
use super::input::{SharedPending, valid_text};
use crate::io::endings::ending;
use crate::io::{OnError, usage, with_encoding};

/// A document of a corpus, without the trees of its text.
pub(super) enum Document {
    /// A JSON object up to its closing bracket, ready for another field of this name.
    Json { start: String, trees_field: String },
    /// The columns other than that of the text.
    Row(Vec<String>, Table),
    /// A row of a Parquet file, which keeps its other columns itself.
    Cell,
    /// One without a text.
    MissingText,
    /// One of Parquet whose text cannot be read, and why.
    BadText(Error),
    /// One that cannot be read, and why. It keeps its place: as much of it as is known is written.
    Bad(Box<Document>, Error),
    /// The names of those columns and of the ones that are added.
    Header(Vec<String>, Dialect),
}

impl Document {
    /// Gives all that is kept of it to `each`.
    pub(super) fn each_text(&self, each: &mut impl FnMut(&str)) {
        match self {
            Document::Json { start, .. } => each(start),
            Document::Row(columns, _) | Document::Header(columns, _) => {
                columns.iter().for_each(|column| each(column));
            }
            Document::Cell => {}
            Document::MissingText => each("-"),
            Document::BadText(error) => each(&error.message),
            Document::Bad(document, error) => {
                document.each_text(each);
                each(&error.message);
            }
        }
    }
}

/// A document with its place in the input and the number of its sentences.
pub(super) struct Item {
    pub document: Document,
    pub place: Place,
    pub n_sentences: usize,
}

/// A file, and a line or row of it.
#[derive(Clone)]
pub(super) struct Place {
    pub file: Arc<str>,
    pub line: usize,
}

impl Place {
    /// The error with this place.
    pub(super) fn locate(&self, mut error: Error) -> Error {
        error.location.line = self.line;
        error.location.column = error.location.column.max(1);
        error.location.sentence = 0;
        error.in_file(&self.file)
    }
}

/// A sentence or document without a tree.
#[derive(Debug)]
pub(super) struct Problem {
    /// True if it was read, but could not be written.
    pub is_failure: bool,
    pub error: Error,
}

/// The layout of rows.
#[derive(Clone, Copy)]
pub(super) struct Table {
    dialect: Dialect,
    /// True if there is a column for errors.
    has_errors: bool,
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
        /// True if there is a column for errors.
        has_errors: bool,
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
        // Rows that may not be bad need no column that says so.
        let has_errors = args.read.on_error == OnError::Skip;
        Ok(Some(Layout::Table { column, dialect, names, tree_column, has_errors, width: None }))
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
    pub name: Arc<str>,
    pub on_error: OnError,
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
                let shell = match &line {
                    Ok(line) if self.on_error == OnError::Skip => json_shell(line, trees_field),
                    _ => Document::Json { start: "{".to_owned(), trees_field: trees_field.clone() },
                };
                let document =
                    line.and_then(|line| self.json_document(line, number, text_field, trees_field));
                self.send(document.map_err(|error| (Box::new(shell), error)), number, pending)
            }),
            Layout::Table { column, dialect, names, tree_column, has_errors, width } => {
                let mut table = TableReader {
                    column,
                    names,
                    tree_column,
                    width,
                    text_column: None,
                    table: Table { dialect: *dialect, has_errors: *has_errors },
                };
                let mut row = |row: Result<Vec<String>>, number: usize| {
                    let has_names = table.expects_names();
                    let shell = || Box::new(Document::Row(table.blank_columns(), table.table));
                    match row
                        .map_err(|error| (shell(), error))
                        .and_then(|row| table.document(row, number, self.file))
                    {
                        // Without the names nobody knows what the rows after them mean.
                        Err((_, error)) if has_names => Err(error),
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
        let place = self.place(number);
        let text = text.map(|text| {
            let text = text.map_err(|message| Error::new(Code::InvalidUtf8, message));
            text.and_then(|text| self.cut(text, number))
        });
        let (document, sentences) = match text {
            None => (Document::MissingText, Vec::new()),
            Some(Ok(sentences)) => (Document::Cell, sentences),
            // Its place is that of its row.
            Some(Err(error)) => (Document::BadText(Error::new(error.code, error.message)), Vec::new()),
        };
        let entries = sentences.into_iter().map(|sentence| Entry { sentence, ..Entry::default() });
        pending.with(|pending| pending.document(document, place, entries))
    }

    fn place(&self, line: usize) -> Place {
        Place { file: self.name.clone(), line }
    }

    /// Cuts the text of a document and sends it; or what is known of one that is bad, with the error.
    fn send(&self, document: Found, number: usize, pending: &SharedPending<'_>) -> Result<()> {
        let cut = match document {
            Ok(Some((text, document))) => match self.cut(&text, number) {
                Ok(sentences) => Ok((sentences, document)),
                Err(error) => Err((Box::new(document), error)),
            },
            Ok(None) => return Ok(()),
            Err(bad) => Err(bad),
        };
        let (sentences, document) = match cut {
            Ok(cut) => cut,
            Err((_, error)) if self.on_error.is_fatal(&error) => {
                return pending.with(|pending| pending.bad(error));
            }
            Err((document, error)) => (Vec::new(), Document::Bad(document, with_encoding(error))),
        };
        let entries = sentences.into_iter().map(|sentence| Entry { sentence, ..Entry::default() });
        pending.with(|pending| pending.document(document, self.place(number), entries))
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
        let start = json_start(line, true);
        Ok(Some((text, Document::Json { start, trees_field: trees_field.to_owned() })))
    }
}

/// An object up to its closing bracket, ready for another field.
fn json_start(line: &str, has_fields: bool) -> String {
    let start = line.trim_ascii_end().strip_suffix('}').expect("an object ends with it");
    let comma = if has_fields { "," } else { "" };
    format!("{}{comma}", start.trim_ascii_end())
}

/// A document without trees: a JSON object as it is, anything else as an empty one.
fn json_shell(line: &str, trees_field: &str) -> Document {
    let start = match serde_json::from_str(line) {
        Ok(Fields(fields))
            if !fields.iter().any(|(name, _)| name == trees_field || *name == error_name(trees_field)) =>
        {
            json_start(line, !fields.is_empty())
        }
        _ => "{".to_owned(),
    };
    Document::Json { start, trees_field: trees_field.to_owned() }
}

/// The field or column that says why there are no trees.
fn error_name(trees: &str) -> String {
    format!("{trees}_error")
}

/// The text of a document and the rest of it, nothing for a row of names, or what is known of a bad document.
type Found = Result<Option<(String, Document)>, (Box<Document>, Error)>;

/// A table that is being read.
struct TableReader<'a> {
    column: &'a Column,
    table: Table,
    names: &'a mut Names,
    tree_column: &'a str,
    /// That of all rows, in all files.
    width: &'a mut Option<usize>,
    /// Known after the line with the names.
    text_column: Option<usize>,
}

impl TableReader<'_> {
    /// Has the next line the names of the columns?
    fn expects_names(&self) -> bool {
        self.text_column.is_none() && !matches!(self.names, Names::None)
    }

    /// The text of a row, and the rest of it.
    fn document(&mut self, mut row: Vec<String>, number: usize, file: &str) -> Found {
        let document = if self.expects_names() {
            self.header(std::mem::take(&mut row))
        } else {
            self.row(&mut row).map(|text| Some((text, Document::Row(std::mem::take(&mut row), self.table))))
        };
        document.map_err(|message| {
            // What there is of the row, in as many columns as the others have.
            row.resize(self.width.map_or(row.len(), |width| width - 1), String::new());
            let error = Error::at(Code::ColumnCount, number, 1, message).in_file(file);
            (Box::new(Document::Row(row, self.table)), error)
        })
    }

    /// The columns of a row of which nothing is known.
    fn blank_columns(&self) -> Vec<String> {
        vec![String::new(); self.width.map_or(0, |width| width - 1)]
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
        let error_column = error_name(self.tree_column);
        let more = (&error_column[..], "choose another name for the trees with --parse-column");
        for (name, way_out) in ways_out.into_iter().chain(self.table.has_errors.then_some(more)) {
            if row.iter().any(|other| other == name) {
                return Err(format!("there is a column {name:?} already; {way_out}"));
            }
        }
        *self.width = Some(width);
        self.text_column = Some(column);
        *self.names = Names::Written(row.clone());
        row.extend([SENTENCE_COLUMN, self.tree_column].map(str::to_owned));
        row.extend(self.table.has_errors.then_some(error_column));
        Ok(Some((String::new(), Document::Header(row, self.table.dialect))))
    }

    /// Takes the text out of a row; also out of one that is bad.
    fn row(&mut self, row: &mut Vec<String>) -> Result<String, String> {
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
            let n_columns = row.len();
            row.remove(column);
            return Err(format!("there are {n_columns} columns; expected {width}, as in {like}"));
        }
        Ok(row.remove(column))
    }
}

fn lacks_column(column: usize, width: usize) -> String {
    format!("expected text in column {}; there are {width}", column + 1)
}
