//! `--errors-to`: a list of all that has no tree, written as it is found.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use serde_json::json;
use treewright::{Error, Result};

use super::documents::Problem;
use crate::io::endings::ending;
use crate::io::{is_dash, refuse_model, usage};

/// The names of the columns.
const COLUMNS: [&str; 7] = ["what", "file", "line", "column", "sentence", "code", "message"];

/// The list of errors.
pub(super) struct ErrorList {
    file: File,
    name: String,
    is_json: bool,
    n_bytes: u64,
}

impl ErrorList {
    /// Opens the list; one that has this many bytes already goes on after them.
    ///
    /// # Errors
    /// When it cannot be written, or is shorter.
    pub(super) fn open(path: &Path, n_bytes: Option<u64>) -> Result<Self> {
        if is_dash(path) {
            return Err(usage("--errors-to needs a file: stdout is for the trees"));
        }
        let name = path.to_string_lossy().into_owned();
        if name.to_ascii_lowercase().ends_with(".gz") {
            return Err(usage("the list of errors is not compressed: leave .gz out").in_file(&name));
        }
        refuse_model(path)?;
        let is_json = matches!(&ending(path)[..], "json" | "jsonl" | "ndjson");
        let in_file = |error: io::Error| Error::from(error).in_file(&name);
        let mut file =
            File::options().create(true).truncate(false).write(true).open(path).map_err(in_file)?;
        // Pipes and devices have no length.
        if file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            if n_bytes.is_some_and(|n| file.metadata().is_ok_and(|metadata| metadata.len() < n)) {
                let message =
                    "the list of errors is shorter than it was left: start from the beginning with --force";
                return Err(usage(message).in_file(&name));
            }
            file.set_len(n_bytes.unwrap_or(0)).map_err(in_file)?;
            file.seek(SeekFrom::End(0)).map_err(in_file)?;
        }
        let mut list = ErrorList { file, name, is_json, n_bytes: n_bytes.unwrap_or(0) };
        if list.n_bytes == 0 && !is_json {
            list.write(&(COLUMNS.join("\t") + "\n"))?;
        }
        Ok(list)
    }

    /// Its length so far.
    pub(super) fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    /// Adds a line.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn add(&mut self, problem: &Problem) -> Result<()> {
        let Problem { is_failure, error } = problem;
        let what = if *is_failure { "failed" } else { "skipped" };
        let place = &error.location;
        let line = if self.is_json {
            let number = |n: usize| if n == 0 { serde_json::Value::Null } else { n.into() };
            let line = json!({
                "what": what,
                "file": place.file,
                "line": number(place.line),
                "column": number(place.column),
                "sentence": number(place.sentence),
                "code": error.code.as_str(),
                "message": error.message,
            });
            format!("{line}\n")
        } else {
            let number = |n: usize| if n == 0 { String::new() } else { n.to_string() };
            let clean = |text: &str| text.replace(['\t', '\n', '\r'], " ");
            let columns = [
                what.to_owned(),
                clean(&place.file),
                number(place.line),
                number(place.column),
                number(place.sentence),
                error.code.to_string(),
                clean(&error.message),
            ];
            columns.join("\t") + "\n"
        };
        self.write(&line)
    }

    fn write(&mut self, line: &str) -> Result<()> {
        self.file.write_all(line.as_bytes()).map_err(|error| Error::from(error).in_file(&self.name))?;
        self.n_bytes += line.len() as u64;
        Ok(())
    }
}
