//! Outputs: files that are there whole or not at all, or stdout.

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::NamedTempFile;
use treewright::treebank::Format;
use treewright::{Error, Result};

use super::interrupts::pending;
use super::overwrite::refuse_model;
use super::partial::Partial;
use super::{Visible, is_dash};

/// The output: a file, or stdout for `-` or none.
///
/// A file is written under a temporary name in the same folder and moved to its place by `finish`, so that a run that
/// fails or is stopped leaves what was there before. An existing file keeps its permissions; one that may not be
/// written is refused. Where the folder allows no new file, an existing file is written in place. A name that ends in
/// `.gz` is written compressed. On a terminal, control characters are shown instead of sent.
pub struct Output {
    sink: BufWriter<Sink>,
    place: Place,
    name: String,
}

/// Where the bytes go.
enum Sink {
    Plain(Box<dyn Write + Send>),
    Gzip(Box<GzEncoder<Box<dyn Write + Send>>>),
}

/// What is left to do when everything is written.
enum Place {
    /// Nothing: the bytes are where they belong.
    Final,
    /// Move the temporary file to this path.
    Moved { temporary: Option<NamedTempFile>, target: PathBuf },
}

impl Output {
    /// Opens an output that is no model.
    ///
    /// # Errors
    /// When it cannot be written, or is a model.
    pub fn create(path: Option<&Path>) -> Result<Self> {
        match path.filter(|path| !is_dash(path)) {
            None => Ok(Self::stdout()),
            Some(path) => {
                refuse_model(path)?;
                Self::file(path, Compression::default())
            }
        }
    }

    /// Writes all of an output at once.
    ///
    /// # Errors
    /// When it cannot be written, or is a model.
    pub fn put(path: Option<&Path>, bytes: impl AsRef<[u8]>) -> Result<()> {
        let mut output = Self::create(path)?;
        output.write_all(bytes.as_ref())?;
        output.finish()
    }

    /// Opens an output for a model; see [`super::refuse_unless_model`].
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn create_model(path: &Path) -> Result<Self> {
        if is_dash(path) { Ok(Self::stdout()) } else { Self::file(path, Compression::best()) }
    }

    /// Is what is written gzipped?
    pub fn is_gzipped(&self) -> bool {
        matches!(self.sink.get_ref(), Sink::Gzip(_))
    }

    /// The standard output.
    pub fn stdout() -> Self {
        let stdout = io::stdout();
        let is_terminal = stdout.is_terminal();
        let stdout = Named { sink: stdout, name: "stdout".to_owned() };
        let sink: Box<dyn Write + Send> =
            if is_terminal { Box::new(Visible::new(stdout)) } else { Box::new(stdout) };
        Self::final_place(sink)
    }

    /// The standard output for drawings, whose colours are control characters; they show those of the words.
    pub fn stdout_with_colors() -> Self {
        Self::final_place(Box::new(Named { sink: io::stdout(), name: "stdout".to_owned() }))
    }

    fn final_place(sink: Box<dyn Write + Send>) -> Self {
        Output { sink: BufWriter::new(Sink::Plain(sink)), place: Place::Final, name: "stdout".to_owned() }
    }

    /// An output that is put in its place by its owner.
    pub fn partial(partial: Partial) -> Self {
        let name = partial.target().to_string_lossy().into_owned();
        let sink: Box<dyn Write + Send> = Box::new(Named { sink: partial, name: name.clone() });
        let sink = BufWriter::with_capacity(1 << 16, Sink::Plain(sink));
        Output { sink, place: Place::Final, name }
    }

    fn file(path: &Path, compression: Compression) -> Result<Self> {
        let name = path.to_string_lossy().into_owned();
        let (file, place) = open(path).map_err(|error| Error::from(error).in_file(&name))?;
        let file: Box<dyn Write + Send> = Box::new(Named { sink: file, name: name.clone() });
        let sink = if Format::is_gzip_path(&name) {
            Sink::Gzip(Box::new(GzEncoder::new(file, compression)))
        } else {
            Sink::Plain(file)
        };
        Ok(Output { sink: BufWriter::with_capacity(1 << 16, sink), place, name })
    }

    /// Everything was written: put the file in its place.
    ///
    /// # Errors
    /// When the last bytes cannot be written, or the file cannot be moved.
    pub fn finish(mut self) -> Result<()> {
        self.sink.flush()?;
        match self.sink.get_mut() {
            Sink::Plain(sink) => sink.flush()?,
            Sink::Gzip(encoder) => {
                encoder.try_finish()?;
                encoder.get_mut().flush()?;
            }
        }
        if let Place::Moved { temporary, target } = &mut self.place
            && let Some(file) = temporary.take()
        {
            let mut pending = pending();
            let path = file.path().to_owned();
            let moved = file.persist(target);
            pending.remove(&path);
            moved.map_err(|failed| Error::from(failed.error).in_file(&self.name))?;
        }
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.sink.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Place::Moved { temporary, .. } = &mut self.place
            && let Some(file) = temporary.take()
        {
            // The run failed before `finish`; nothing more can be done if this fails too.
            let mut pending = pending();
            pending.remove(file.path());
            let _ = file.close();
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::Plain(sink) => sink.write(bytes),
            Sink::Gzip(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::Plain(sink) => sink.flush(),
            // Flushing a compressor costs compression, and the trailer comes later anyway.
            Sink::Gzip(_) => Ok(()),
        }
    }
}

/// A sink whose errors name the file.
struct Named<W> {
    sink: W,
    name: String,
}

impl<W> Named<W> {
    fn named(name: &str, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), Error::from(error).in_file(name))
    }
}

impl<W: Write> Write for Named<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.sink.write(bytes).map_err(|error| Self::named(&self.name, &error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush().map_err(|error| Self::named(&self.name, &error))
    }
}

/// Opens a file for writing, if possible under a temporary name.
fn open(path: &Path) -> io::Result<(File, Place)> {
    let existing = match path.metadata() {
        // A pipe or device is written as it is; a folder gives the system's error.
        Ok(metadata) if !metadata.is_file() => {
            return Ok((File::options().write(true).open(path)?, Place::Final));
        }
        Ok(metadata) => Some(metadata),
        // A link to a file that is not there yet: moving a file to its place would replace the link.
        Err(_) if path.symlink_metadata().is_ok() => return Ok((File::create(path)?, Place::Final)),
        Err(_) => None,
    };
    if let Some(metadata) = &existing {
        if metadata.permissions().readonly() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
        }
        // May it be written? Nothing is changed yet.
        File::options().append(true).open(path)?;
    }
    // A link stays a link; the file that it leads to is replaced.
    let target = if existing.is_some() { fs::canonicalize(path)? } else { path.to_owned() };
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut pending = pending();
    let temporary = match temporary_in(folder.unwrap_or(Path::new("."))) {
        Ok(temporary) => temporary,
        Err(_) if existing.is_some() => return Ok((File::create(path)?, Place::Final)),
        Err(error) => return Err(error),
    };
    if let Some(metadata) = &existing {
        keep_owner(temporary.as_file(), metadata);
        temporary.as_file().set_permissions(metadata.permissions())?;
    }
    let file = temporary.as_file().try_clone()?;
    pending.add(temporary.path());
    Ok((file, Place::Moved { temporary: Some(temporary), target }))
}

/// A temporary file with the permissions that new files have.
fn temporary_in(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".treewright-").suffix(".part");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

/// A file of somebody else's stays theirs where the system allows it.
#[cfg(unix)]
pub(super) fn keep_owner(file: &File, existing: &fs::Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};
    if file.metadata().is_ok_and(|new| (new.uid(), new.gid()) != (existing.uid(), existing.gid())) {
        let _ = fchown(file, Some(existing.uid()), Some(existing.gid()));
    }
}

#[cfg(not(unix))]
pub(super) fn keep_owner(_: &File, _: &fs::Metadata) {}
