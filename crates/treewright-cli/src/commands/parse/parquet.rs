//! Parquet files: each row is a document with its text in one column. The output has the same row groups with two more
//! columns, the trees of each text and why a text has none.
//!
//! The columns of the input are copied as they are, compressed pages and all, so whatever types and codecs they have come
//! out unchanged. Only the column of texts is decoded, and the new columns are written page by page: memory does not
//! grow with the size of row groups.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as PhysicalType};
use parquet::column::reader::ColumnReader;
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::properties::{EnabledStatistics, ReaderProperties, WriterProperties};
use parquet::file::reader::RowGroupReader;
use parquet::file::serialized_reader::SerializedRowGroupReader;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnDescriptor, Type, TypePtr};
use treewright::treebank::{self, Entry, Format};
use treewright::{Code, Error, Result};

use super::arrow_schema;
use super::documents::{Document, Item, Problem};
use crate::io::{Output, is_dash, usage};

/// Rows that are read, or written, at once.
const ROWS: usize = 256;

/// Portions of cells that may wait to be written.
const N_WAITING: usize = 4;

/// The files that are read, and what is made of them.
pub(super) struct Table {
    files: Vec<TableFile>,
    /// The column of texts, counted among those that hold values.
    text_column: usize,
    /// That of the output.
    schema: TypePtr,
    metadata: Vec<KeyValue>,
}

struct TableFile {
    path: PathBuf,
    name: String,
    metadata: ParquetMetaData,
}

/// What a row gets.
pub(super) enum Cell {
    /// Its text is missing.
    Null,
    Trees(String),
    Error(String),
}

impl Cell {
    /// The trees of a document.
    pub(super) fn of(
        item: &Item,
        sentences: &[Vec<Entry>],
        format: Format,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let mut problem = |error: &Error, is_failure| {
            problems.push(Problem { is_failure, error: item.place.locate(error.clone()) });
        };
        match &item.document {
            Document::MissingText => Cell::Null,
            Document::BadText(error) => {
                problem(error, false);
                Cell::Error(error.to_string())
            }
            _ => match treebank::to_string(sentences.iter().flatten(), format) {
                Ok(trees) => Cell::Trees(trees),
                Err(error) => {
                    problem(&error, true);
                    Cell::Error(error.to_string())
                }
            },
        }
    }

    /// Writes it to a file that is read by [`Cell::read_some`]: a line with its kind and length, and its text.
    pub(super) fn write(&self, out: &mut impl io::Write) -> Result<()> {
        let (kind, text) = match self {
            Cell::Null => ("null", ""),
            Cell::Trees(trees) => ("trees", &trees[..]),
            Cell::Error(message) => ("error", &message[..]),
        };
        Ok(out.write_all(format!("{kind} {}\n{text}\n", text.len()).as_bytes())?)
    }

    /// Reads some cells; none at the end.
    pub(super) fn read_some(source: &mut impl BufRead) -> Result<Vec<Self>> {
        let damaged = || bad("the rows that an earlier run has left are damaged");
        let mut cells = Vec::new();
        let mut line = String::new();
        while cells.len() < ROWS {
            line.clear();
            if source.read_line(&mut line)? == 0 {
                break;
            }
            let (kind, length) = line.trim_end().split_once(' ').ok_or_else(damaged)?;
            let length: usize = length.parse().map_err(|_| damaged())?;
            let mut text = Vec::new();
            source.by_ref().take(length as u64 + 1).read_to_end(&mut text)?;
            if text.pop() != Some(b'\n') || text.len() != length {
                return Err(damaged());
            }
            let text = String::from_utf8(text).map_err(|_| damaged())?;
            cells.push(match kind {
                "null" => Cell::Null,
                "trees" => Cell::Trees(text),
                "error" => Cell::Error(text),
                _ => return Err(damaged()),
            });
        }
        Ok(cells)
    }
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(Code::BadParquet, message)
}

/// What went wrong in reading, or in writing.
fn failure(error: ParquetError) -> Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(cause) => Error::from(*cause),
            Err(cause) => bad(cause.to_string()),
        },
        ParquetError::General(message) => bad(message),
        ParquetError::EOF(message) => bad(format!("the file is cut short: {message}")),
        ParquetError::NYI(message) => bad(format!("not supported: {message}")),
        error => bad(error.to_string()),
    }
}

impl TableFile {
    fn open(path: &Path) -> Result<Self> {
        if is_dash(path) {
            return Err(usage(
                "Parquet is not read from stdin: its index is at its end, so it must be a file",
            ));
        }
        let name = path.to_string_lossy().into_owned();
        let file = File::open(path).map_err(|error| Error::from(error).in_file(&name))?;
        let metadata = guarded(|| ParquetMetaDataReader::new().parse_and_finish(&file))
            .map_err(|error| error.in_file(&name))?;
        Ok(TableFile { path: path.to_owned(), name, metadata })
    }

    fn fields(&self) -> &[TypePtr] {
        self.metadata.file_metadata().schema().get_fields()
    }
}

/// Damaged files must not end the program, whatever the crate that reads them thinks of them.
fn guarded<T>(read: impl FnOnce() -> parquet::errors::Result<T>) -> Result<T> {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)) {
        Ok(read) => read.map_err(failure),
        Err(_) => Err(bad("the file is damaged")),
    }
}

impl Table {
    /// Opens the files, which must all have the same columns.
    pub(super) fn open(paths: &[PathBuf], text_column: &str, output_column: &str) -> Result<Self> {
        let files = paths.iter().map(|path| TableFile::open(path)).collect::<Result<Vec<_>>>()?;
        let first = files.first().expect("there is at least one file");
        for other in &files[1..] {
            if other.fields() != first.fields() {
                let message = format!("the columns are not those of {}", first.name);
                return Err(bad(message).in_file(&other.name));
            }
        }
        let fields = first.fields();
        let names: Vec<&str> = fields.iter().map(|field| field.name()).collect();
        let added = [output_column.to_owned(), format!("{output_column}_error")];
        if let Some(taken) = added.iter().find(|name| names.contains(&name.as_str())) {
            let message =
                format!("there is a column {taken:?} already; choose another name with --parse-column");
            return Err(bad(message).in_file(&first.name));
        }
        let text_column =
            find_column(first, text_column, &names).map_err(|error| error.in_file(&first.name))?;
        for file in &files {
            check_codec(file, text_column).map_err(|error| error.in_file(&file.name))?;
        }
        let column = |name: &String| -> Result<TypePtr> {
            let column = Type::primitive_type_builder(name, PhysicalType::BYTE_ARRAY)
                .with_repetition(Repetition::OPTIONAL)
                .with_logical_type(Some(LogicalType::String))
                .build();
            column.map(Arc::new).map_err(failure)
        };
        let mut fields = fields.to_vec();
        for name in &added {
            fields.push(column(name)?);
        }
        let root = first.metadata.file_metadata().schema().name();
        let schema = Type::group_type_builder(root).with_fields(fields).build().map_err(failure)?;
        let metadata = first.metadata.file_metadata().key_value_metadata().cloned().unwrap_or_default();
        let metadata = metadata.into_iter().filter_map(|entry| with_columns(entry, &added)).collect();
        Ok(Table { files, text_column, schema: Arc::new(schema), metadata })
    }

    /// Gives every row to `each`: its text, or why it cannot be read; with the file and the number of the row in it, from 1.
    pub(super) fn for_each_row(
        &self,
        mut each: impl FnMut(Option<Result<&str, String>>, &str, usize) -> Result<()>,
    ) -> Result<()> {
        for file in &self.files {
            let in_file = |error: Error| error.in_file(&file.name);
            // Each reader has a handle of its own, because handles that are cloned share their place in the file.
            let source = Arc::new(File::open(&file.path).map_err(Error::from).map_err(in_file)?);
            let mut number = 0;
            for group in file.metadata.row_groups() {
                let properties = Arc::new(ReaderProperties::builder().build());
                let mut column = guarded(|| {
                    let group = SerializedRowGroupReader::new(source.clone(), group, None, properties)?;
                    group.get_column_reader(self.text_column)
                })
                .map_err(in_file)?;
                let ColumnReader::ByteArrayColumnReader(reader) = &mut column else {
                    unreachable!("it was checked to be a column of bytes")
                };
                let is_set = group.column(self.text_column).column_descr().max_def_level();
                let n_rows = usize::try_from(group.num_rows()).unwrap_or_default();
                let (mut n_read, mut levels, mut texts) = (0, Vec::new(), Vec::new());
                while n_read < n_rows {
                    levels.clear();
                    texts.clear();
                    let read = || reader.read_records(ROWS, Some(&mut levels), None, &mut texts);
                    let (n_records, ..) = guarded(read).map_err(in_file)?;
                    if n_records == 0 || n_read + n_records > n_rows {
                        let message = format!("a row group has {n_rows} rows, but its texts are not as many");
                        return Err(in_file(bad(message)));
                    }
                    n_read += n_records;
                    // Where nothing may be missing, there are no levels.
                    levels.resize(n_records, is_set);
                    let mut texts = texts.iter();
                    for &level in &levels {
                        number += 1;
                        let text = (level == is_set).then(|| texts.next()).flatten();
                        each(text.map(valid_text), &file.name, number)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes the table, with cells as they come, to an output that is complete once the last has come.
    fn write(&self, output: Output, cells: Receiver<Message>) -> Result<()> {
        let properties = WriterProperties::builder()
            .set_created_by(concat!("treewright ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(Compression::SNAPPY)
            // Nearly all trees are different, and pages without a dictionary can be written at once.
            .set_dictionary_enabled(false)
            // Indexes of pages are for all columns or none, and many files have none.
            .set_offset_index_disabled(true)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_key_value_metadata(Some(self.metadata.clone()))
            .build();
        let mut writer =
            SerializedFileWriter::new(output, self.schema.clone(), Arc::new(properties)).map_err(failure)?;
        let mut cells = Cells { cells, waiting: VecDeque::new() };
        for file in &self.files {
            let in_file = |error: Error| error.in_file(&file.name);
            let source = File::open(&file.path).map_err(Error::from).map_err(in_file)?;
            for number in 0..file.metadata.num_row_groups() {
                let mut group = writer.next_row_group().map_err(failure)?;
                copy_columns(&file.metadata, number, &source, &mut group).map_err(in_file)?;
                let n_rows = usize::try_from(file.metadata.row_group(number).num_rows()).unwrap_or_default();
                if !write_cells(&mut group, n_rows, &mut cells)? {
                    return Ok(());
                }
                group.close().map_err(failure)?;
            }
        }
        if cells.is_complete() {
            writer.into_inner().map_err(failure)?.finish()?;
        }
        Ok(())
    }
}

fn valid_text(text: &ByteArray) -> Result<&str, String> {
    std::str::from_utf8(text.data()).map_err(|_| "bytes that are not UTF-8".to_owned())
}

/// The column of that name, or else of that number.
fn find_column(file: &TableFile, wanted: &str, names: &[&str]) -> Result<usize> {
    let columns = file.metadata.file_metadata().schema_descr().columns();
    let by_name = columns.iter().position(|column| column.path().string() == wanted);
    let by_number = || {
        let name = names.get(wanted.parse::<usize>().ok()?.checked_sub(1)?)?;
        columns.iter().position(|column| column.path().string() == *name)
    };
    let Some(at) = by_name.or_else(by_number) else {
        let message = if names.contains(&wanted) {
            format!("the column {wanted:?} has others inside it; expected texts")
        } else {
            format!("there is no column {wanted:?}; the columns are {}", names.join(", "))
        };
        return Err(bad(message));
    };
    if is_text(&columns[at]) {
        return Ok(at);
    }
    Err(bad(format!("the column {wanted:?} is of type {}; expected texts", type_of(&columns[at]))))
}

/// Refuses texts that this program cannot decompress.
fn check_codec(file: &TableFile, text_column: usize) -> Result<()> {
    for group in file.metadata.row_groups() {
        let codec = group.column(text_column).compression();
        let is_known = match codec {
            Compression::UNCOMPRESSED | Compression::SNAPPY | Compression::GZIP(_) => true,
            Compression::ZSTD(_) => cfg!(feature = "zstd"),
            _ => false,
        };
        if !is_known {
            let codec = codec.to_string();
            let name = codec.split('(').next().unwrap_or_default();
            let way_out = match name {
                "ZSTD" => {
                    "build the program with the cargo feature `zstd`, or write the file anew with snappy"
                }
                _ => "write the file anew with snappy or gzip",
            };
            return Err(bad(format!(
                "the texts are compressed with {name}, which is not read here: {way_out}"
            )));
        }
    }
    Ok(())
}

/// One text a row, or none?
fn is_text(column: &ColumnDescriptor) -> bool {
    let is_text = match (column.logical_type_ref(), column.converted_type()) {
        (Some(logical), _) => matches!(logical, LogicalType::String | LogicalType::Json | LogicalType::Enum),
        // Old programs say nothing about their texts.
        (None, converted) => matches!(
            converted,
            ConvertedType::NONE | ConvertedType::UTF8 | ConvertedType::JSON | ConvertedType::ENUM
        ),
    };
    column.physical_type() == PhysicalType::BYTE_ARRAY && column.max_rep_level() == 0 && is_text
}

fn type_of(column: &ColumnDescriptor) -> String {
    match column.max_rep_level() {
        0 => column.physical_type().to_string(),
        _ => format!("list of {}", column.physical_type()),
    }
}

/// What is said about a file, made true for one with two more columns; nothing if that cannot be done.
fn with_columns(entry: KeyValue, added: &[String; 2]) -> Option<KeyValue> {
    let value = entry.value.as_deref();
    let json = |path: &[&str], change: &dyn Fn(&mut serde_json::Value) -> Option<()>| {
        let mut whole: serde_json::Value = serde_json::from_str(value?).ok()?;
        let mut part = &mut whole;
        for name in path {
            part = part.get_mut(name)?;
        }
        change(part)?;
        Some(whole.to_string())
    };
    let changed = match entry.key.as_str() {
        // Spark believes this more than the columns.
        "org.apache.spark.sql.parquet.row.metadata" => json(&["fields"], &|fields| {
            let fields = fields.as_array_mut()?;
            fields.extend(added.iter().map(
                |name| serde_json::json!({"name": name, "type": "string", "nullable": true, "metadata": {}}),
            ));
            Some(())
        }),
        // So does the library `datasets`.
        "huggingface" => json(&["info", "features"], &|features| {
            let features = features.as_object_mut()?;
            for name in added {
                features.insert(name.clone(), serde_json::json!({"dtype": "string", "_type": "Value"}));
            }
            Some(())
        }),
        "ARROW:schema" => arrow_schema::with_texts(value?, added),
        _ => return Some(entry),
    };
    changed.map(|value| KeyValue { key: entry.key, value: Some(value) })
}

/// Copies the columns of a row group as they are.
fn copy_columns<W: io::Write + Send>(
    metadata: &ParquetMetaData,
    number: usize,
    source: &File,
    out: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<()> {
    let group = metadata.row_group(number);
    for column in group.columns() {
        let copied = ColumnCloseResult {
            bytes_written: column.compressed_size() as u64,
            rows_written: group.num_rows() as u64,
            metadata: column.clone(),
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        guarded(|| out.append_column(source, copied))?;
    }
    Ok(())
}

/// Writes the two new columns of a row group; false if there will be no more cells.
fn write_cells<W: io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    n_rows: usize,
    cells: &mut Cells,
) -> Result<bool> {
    let mut column = group.next_column().map_err(failure)?.expect("the schema has it");
    let mut errors = Vec::new();
    let (mut row, mut values, mut levels) = (0, Vec::new(), Vec::new());
    while row < n_rows {
        values.clear();
        levels.clear();
        for _ in 0..ROWS.min(n_rows - row) {
            let Some(cell) = cells.next() else { return Ok(false) };
            levels.push(i16::from(matches!(cell, Cell::Trees(_))));
            match cell {
                Cell::Trees(trees) => values.push(ByteArray::from(trees.into_bytes())),
                Cell::Error(message) => errors.push((row, message)),
                Cell::Null => {}
            }
            row += 1;
        }
        let written = column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None);
        written.map_err(failure)?;
    }
    column.close().map_err(failure)?;
    let mut column = group.next_column().map_err(failure)?.expect("the schema has it");
    let mut errors = errors.into_iter().peekable();
    for start in (0..n_rows).step_by(ROWS) {
        let end = n_rows.min(start + ROWS);
        levels.clear();
        levels.resize(end - start, 0);
        values.clear();
        while let Some((row, message)) = errors.next_if(|(row, _)| *row < end) {
            levels[row - start] = 1;
            values.push(ByteArray::from(message.into_bytes()));
        }
        let written = column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None);
        written.map_err(failure)?;
    }
    column.close().map_err(failure)?;
    Ok(true)
}

enum Message {
    Cells(Vec<Cell>),
    /// These were all.
    End,
}

/// Cells as they come.
struct Cells {
    cells: Receiver<Message>,
    waiting: VecDeque<Cell>,
}

impl Cells {
    fn next(&mut self) -> Option<Cell> {
        while self.waiting.is_empty() {
            match self.cells.recv() {
                Ok(Message::Cells(cells)) => self.waiting.extend(cells),
                Ok(Message::End) | Err(_) => return None,
            }
        }
        self.waiting.pop_front()
    }

    /// Did the sender finish, rather than stop because of an error?
    fn is_complete(&self) -> bool {
        self.waiting.is_empty() && matches!(self.cells.recv(), Ok(Message::End))
    }
}

/// A thread that writes a table.
pub(super) struct TableWriter {
    cells: Option<SyncSender<Message>>,
    thread: Option<JoinHandle<Result<()>>>,
    format: Format,
}

impl TableWriter {
    pub(super) fn start(table: Arc<Table>, output: Output, format: Format) -> Self {
        let (send, cells) = sync_channel(N_WAITING);
        let thread = std::thread::spawn(move || table.write(output, cells));
        TableWriter { cells: Some(send), thread: Some(thread), format }
    }

    /// How trees are written.
    pub(super) fn format(&self) -> Format {
        self.format
    }

    pub(super) fn write(&mut self, cells: Vec<Cell>) -> Result<()> {
        self.send(Message::Cells(cells))
    }

    /// Everything was written.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.send(Message::End)?;
        self.join()
    }

    fn send(&mut self, message: Message) -> Result<()> {
        match self.cells.as_ref().map(|cells| cells.send(message)) {
            Some(Ok(())) => Ok(()),
            // The thread has stopped, and knows why.
            _ => self.join(),
        }
    }

    fn join(&mut self) -> Result<()> {
        self.cells = None;
        let Some(thread) = self.thread.take() else { return Ok(()) };
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for TableWriter {
    /// Waits until the thread has taken its temporary file away.
    fn drop(&mut self) {
        let _ = self.join();
    }
}
