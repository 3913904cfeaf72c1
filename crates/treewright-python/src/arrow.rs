//! Record batches of Arrow: a column of texts in, a column of parses and a column of errors added.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use pyo3::prelude::*;
use pyo3_arrow::PyRecordBatch;
use treewright::segment::SegmentOptions;
use treewright::treebank::{self, Format};

use crate::error::wrong;
use crate::interrupt::{Stop, Watch};
use crate::model::Shared;
use crate::pipe::{Input, default_jobs};
use crate::values::format_named;

/// Which column is read and what is written.
pub struct Columns<'a> {
    pub text_column: &'a str,
    pub output: &'a str,
    pub format: Option<&'a str>,
}

/// A row: nothing for a missing text, else the trees, or why there are none.
type Row = Option<treewright::Result<String>>;

pub fn parse<'py>(
    py: Python<'py>,
    shared: &Shared,
    batch: PyRecordBatch,
    columns: Columns<'_>,
    jobs: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    shared.check_text()?;
    let batch = batch.into_inner();
    let Columns { text_column, output, format } = columns;
    let format = format.map(format_named).transpose()?;
    let error_column = format!("{output}_error");
    let names: Vec<_> = batch.schema().fields().iter().map(|field| field.name().clone()).collect();
    if let Some(taken) = names.iter().find(|name| **name == output || **name == error_column) {
        return Err(wrong(format!("there is a column {taken:?} already: choose another output")));
    }
    let Some(column) = batch.column_by_name(text_column) else {
        return Err(wrong(format!("there is no column {text_column:?}; there are {}", names.join(", "))));
    };
    let texts = texts(column).ok_or_else(|| {
        wrong(format!("the column {text_column:?} is of type {}, expected strings", column.data_type()))
    })?;
    let format = format.unwrap_or_else(|| shared.default_format());
    let rows = py.detach(|| parse_rows(shared, &texts, format, jobs.unwrap_or_else(default_jobs).max(1)))?;
    let (mut parses, mut errors) = (StringBuilder::new(), StringBuilder::new());
    for row in rows {
        let (parse, error) = match row {
            Some(Ok(parse)) => (Some(parse), None),
            Some(Err(error)) => (None, Some(error.to_string())),
            None => (None, None),
        };
        parses.append_option(parse);
        errors.append_option(error);
    }
    let mut fields: Vec<_> = batch.schema().fields().iter().cloned().collect();
    fields.push(Arc::new(Field::new(output, DataType::Utf8, true)));
    fields.push(Arc::new(Field::new(error_column, DataType::Utf8, true)));
    let mut arrays: Vec<ArrayRef> = batch.columns().to_vec();
    arrays.push(Arc::new(parses.finish()));
    arrays.push(Arc::new(errors.finish()));
    let schema = Schema::new_with_metadata(fields, batch.schema().metadata().clone());
    let batch = RecordBatch::try_new(Arc::new(schema), arrays).map_err(|error| wrong(error.to_string()))?;
    PyRecordBatch::new(batch).into_pyarrow(py)
}

/// The texts of a column, where they lie.
fn texts(column: &ArrayRef) -> Option<Vec<Option<&str>>> {
    Some(match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().iter().collect(),
        DataType::LargeUtf8 => column.as_string::<i64>().iter().collect(),
        DataType::Utf8View => column.as_string_view().iter().collect(),
        DataType::Null => vec![None; column.len()],
        _ => return None,
    })
}

/// Parses the rows, a run of them on each thread; this one is the first, and asks for Ctrl-C.
fn parse_rows(shared: &Shared, texts: &[Option<&str>], format: Format, jobs: usize) -> PyResult<Vec<Row>> {
    let parse_run = |texts: &[Option<&str>], is_over: &mut dyn FnMut() -> bool| -> Vec<Row> {
        let mut worker = shared.worker();
        let mut parse = |text: &str| {
            let input = Input::Text(text.to_owned());
            let document = shared.parse(&mut worker, input, &SegmentOptions::default(), &mut *is_over)?;
            treebank::to_string(&*document.entries, format)
        };
        let rows = texts.iter().map(|text| text.map(&mut parse)).collect();
        shared.give_back(worker);
        rows
    };
    let stop = Stop::default();
    let mut watch = Watch::new(&stop);
    let mut runs = texts.chunks(texts.len().div_ceil(jobs).max(1));
    let first = runs.next().unwrap_or_default();
    let rows = std::thread::scope(|scope| {
        let (stop, parse_run) = (&stop, &parse_run);
        let threads: Vec<_> =
            runs.map(|run| scope.spawn(move || parse_run(run, &mut || stop.is_raised()))).collect();
        let mut rows = parse_run(first, &mut || watch.ask());
        // The others may take longer.
        while threads.iter().any(|thread| !thread.is_finished()) && !watch.ask() {
            std::thread::sleep(Duration::from_millis(1));
        }
        rows.extend(threads.into_iter().flat_map(|thread| thread.join().expect("parsing does not panic")));
        rows
    });
    watch.finish()?;
    Ok(rows)
}
