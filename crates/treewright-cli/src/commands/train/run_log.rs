//! The log of a run, as a file.

use std::fmt::Display;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use treewright::{Error, Result};

use crate::io::with_suffix;

/// The lines of `MODEL.log.jsonl`, written as they come. If there is such a log, of a model or of a run that was stopped,
/// it stays until this run has a model: up to then the lines are in `MODEL.log.jsonl.part`. A run that fails before its
/// first epoch leaves no log.
pub struct RunLog {
    file: File,
    path: PathBuf,
    target: PathBuf,
    is_worth_keeping: bool,
}

impl RunLog {
    /// Begins the log of a run for this model.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn begin(model: &Path) -> Result<Self> {
        let target = with_suffix(model, ".log.jsonl");
        let path = if target.exists() { with_suffix(&target, ".part") } else { target.clone() };
        let in_file =
            |path: &Path, error: std::io::Error| Error::from(error).in_file(&path.to_string_lossy());
        if path != target {
            // It is to be replaced in the end: is that possible?
            File::options().append(true).open(&target).map_err(|error| in_file(&target, error))?;
        }
        let file = File::create(&path).map_err(|error| in_file(&path, error))?;
        Ok(RunLog { file, path, target, is_worth_keeping: false })
    }

    /// Adds a line. The log is a convenience: a full disk is noticed when the model is written.
    pub fn add(&mut self, line: impl Display) {
        let _ = writeln!(self.file, "{line}");
    }

    /// Adds the line of an epoch; from now on the log stays, whatever happens.
    pub fn add_epoch(&mut self, line: impl Display) {
        self.add(line);
        self.is_worth_keeping = true;
    }

    /// The model is there: this is its log.
    ///
    /// # Errors
    /// When the log cannot be moved to its place.
    pub fn finish(&mut self) -> Result<()> {
        self.is_worth_keeping = true;
        if self.path != self.target {
            let in_file = |error| Error::from(error).in_file(&self.target.to_string_lossy());
            std::fs::rename(&self.path, &self.target).map_err(in_file)?;
            self.path.clone_from(&self.target);
        }
        Ok(())
    }

    /// The path of the log while training, if that is not its final path.
    pub fn partial(&self) -> Option<&Path> {
        (self.path != self.target).then_some(&self.path)
    }
}

impl Drop for RunLog {
    fn drop(&mut self) {
        if !self.is_worth_keeping {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
