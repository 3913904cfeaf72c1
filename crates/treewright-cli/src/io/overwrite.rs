//! What must not be overwritten: the inputs of a run, models by trees, and treebanks by models.

use std::path::Path;

use same_file::Handle;
use treewright::pipeline::is_model;
use treewright::{Error, Result};

use super::{is_dash, usage};

/// The files that a run reads, each with what it is.
#[derive(Default)]
pub struct Inputs<'a>(Vec<(&'static str, &'a Path)>);

impl<'a> Inputs<'a> {
    /// These files are read, too; `what` they are goes into the message: "the model".
    pub fn with<P: AsRef<Path> + 'a>(
        mut self,
        what: &'static str,
        paths: impl IntoIterator<Item = &'a P>,
    ) -> Self {
        self.0.extend(paths.into_iter().map(|path| (what, path.as_ref())));
        self
    }

    /// Refuses an output that is one of these files, by whatever name or link.
    ///
    /// # Errors
    /// A usage error that names both.
    pub fn refuse_as_output(&self, output: Option<&Path>) -> Result<()> {
        let Some(output) = output.filter(|path| is_plain_file(path)) else { return Ok(()) };
        let Ok(target) = Handle::from_path(output) else { return Ok(()) };
        for (what, path) in &self.0 {
            let source = if is_dash(path) { Handle::stdin() } else { Handle::from_path(path) };
            if source.is_ok_and(|source| source == target) {
                let message = format!("this is {what}, which would be overwritten: name another output");
                return Err(usage(message).in_file(&output.to_string_lossy()));
            }
        }
        Ok(())
    }
}

/// Refuses two outputs that are the same file, by whatever name or link; `first` is what the first one is: "the trees".
///
/// # Errors
/// A usage error.
pub fn refuse_same_outputs(first: &'static str, path: Option<&Path>, other: Option<&Path>) -> Result<()> {
    let (Some(path), Some(other)) = (path, other) else { return Ok(()) };
    Inputs::default().with(first, [&path]).refuse_as_output(Some(other))?;
    // A file that is yet to be made is known by its folder and name.
    let place = |path: &Path| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        Some((folder.unwrap_or(Path::new(".")).canonicalize().ok()?, path.file_name()?.to_owned()))
    };
    let is_new = !is_dash(path) && !path.exists();
    if is_new && place(path).is_some_and(|first| place(other) == Some(first)) {
        let message = format!("this is {first}, which would be overwritten: name another output");
        return Err(usage(message).in_file(&other.to_string_lossy()));
    }
    Ok(())
}

/// Refuses an output that is a folder, or a name for several files, where everything goes into one file.
///
/// # Errors
/// A usage error that says how to get a file for each input.
pub fn refuse_several(output: Option<&Path>) -> Result<()> {
    let Some(path) = output.filter(|path| !is_dash(path)) else { return Ok(()) };
    let name = path.to_string_lossy();
    let folder = if path.is_dir() || name.ends_with(std::path::is_separator) {
        name.trim_end_matches(std::path::is_separator)
    } else if name.contains("{}") {
        "trees"
    } else {
        return Ok(());
    };
    Err(usage(format!(
        "-o {name}: the trees of all input go into one file, which -o names; for a file of its own for each input, \
         run the command once for each, such as\n  for f in *.txt; do treewright parse \"$f\" -o \
         \"{folder}/${{f%.txt}}.conllu\"; done"
    )))
}

/// Devices and pipes lose nothing by being written to; `-` is stdout.
fn is_plain_file(path: &Path) -> bool {
    !is_dash(path) && path.metadata().is_ok_and(|metadata| metadata.is_file())
}

/// Refuses to write anything else over a model.
///
/// # Errors
/// A usage error.
pub fn refuse_model(path: &Path) -> Result<()> {
    if !is_plain_file(path) || !is_model(path) {
        return Ok(());
    }
    Err(refusal(path, "this is a model, which would be overwritten with something else: name another output"))
}

/// Refuses to write a model over anything but a model or an empty file.
///
/// # Errors
/// A usage error.
pub fn refuse_unless_model(path: &Path) -> Result<()> {
    let is_empty = || path.metadata().is_ok_and(|metadata| metadata.len() == 0);
    if !is_plain_file(path) || is_empty() || is_model(path) {
        return Ok(());
    }
    Err(refusal(
        path,
        "this file is there and is not a model: name another output, or overwrite it with --force",
    ))
}

fn refusal(path: &Path, message: &str) -> Error {
    usage(message).in_file(&path.to_string_lossy())
}
