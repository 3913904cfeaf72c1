//! Outputs of long runs: what is whole stays when a run is stopped, and a later run goes on from there.
//!
//! While a run goes on, its output is `FILE.part`, and `FILE.part.state` is a journal: a line with the settings, then lines
//! that each say up to which byte the output is whole and what the run needs to go on there. The last complete line counts.
//! Gzip is written in members of about a megabyte of text each, cut by that text alone, so that the bytes do not depend
//! on where a run was stopped; what stands in the member that is still open is in the journal.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use treewright::treebank::Format;
use treewright::{Error, Result};

use super::interrupts::pending;
use super::output::keep_owner;
use super::{is_dash, usage, with_suffix};

/// About this much text is compressed together.
const MEMBER: usize = 1 << 20;

/// A journal larger than this is written anew, with its first and last line.
const MAX_JOURNAL: u64 = 4 << 20;

/// No more than this is lost when a run is killed; in runs of hours, a thousandth of the time.
const INTERVAL: Duration = Duration::from_millis(200);

/// The first line of a journal.
#[derive(Clone, Serialize, Deserialize)]
pub struct Header {
    /// The version of the program.
    treewright: String,
    /// True if the partial file holds rows of a table that is made of them at the end.
    is_table: bool,
    /// All that the output depends on, by name.
    pub settings: serde_json::Map<String, Value>,
}

impl Header {
    /// With these settings.
    pub fn new(settings: serde_json::Map<String, Value>, is_table: bool) -> Self {
        Header { treewright: env!("CARGO_PKG_VERSION").to_owned(), is_table, settings }
    }

    /// The names of the settings in which they differ.
    fn differences<'a>(&'a self, other: &'a Header) -> Vec<&'a str> {
        let mut names = Vec::new();
        if self.treewright != other.treewright {
            names.push("version of treewright");
        }
        let all = self.settings.keys().chain(other.settings.keys());
        for name in all {
            if self.settings.get(name) != other.settings.get(name) && !names.contains(&&name[..]) {
                names.push(name);
            }
        }
        names
    }
}

/// Another line of a journal.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Line {
    /// The size of the partial file.
    bytes: u64,
    /// The text added to the open gzip member since the line before; all of it if the file has grown since.
    #[serde(skip_serializing_if = "String::is_empty")]
    more: String,
    /// The state that the run needs to go on.
    state: Value,
    /// True if the output is complete, and only to be put in its place.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_finished: bool,
}

/// The journal that an earlier run has left.
struct Left {
    header: Option<Header>,
    last: Option<Line>,
    /// The text in the open gzip member.
    tail: String,
    /// The length of the complete lines.
    n_bytes: u64,
}

impl Left {
    fn read(journal: &Path) -> Option<Self> {
        let bytes = fs::read(journal).ok()?;
        let mut left = Left { header: None, last: None, tail: String::new(), n_bytes: 0 };
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            let Some(text) = line.strip_suffix(b"\n") else { break };
            if left.header.is_none() {
                left.header = Some(serde_json::from_slice(text).ok()?);
            } else {
                let Ok(line) = serde_json::from_slice::<Line>(text) else { break };
                if left.last.as_ref().is_none_or(|last| last.bytes != line.bytes) {
                    left.tail.clear();
                }
                left.tail.push_str(&line.more);
                left.last = Some(line);
            }
            left.n_bytes += line.len() as u64;
        }
        Some(left)
    }

    fn is_finished(&self) -> bool {
        self.last.as_ref().is_some_and(|last| last.is_finished)
    }
}

/// The choices for the output that an earlier run has left.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Earlier {
    /// Refuse to destroy it.
    Keep,
    /// Go on from there.
    Resume,
    /// Start anew.
    Discard,
}

/// The start of a run with a partial output.
pub enum Start {
    /// At the beginning, or after what an earlier run did, if this is its state.
    At(Partial, Option<Value>),
    /// An earlier run did everything.
    Complete,
}

/// The output of a run that can be stopped. Clones are the same output.
#[derive(Clone)]
pub struct Partial(Arc<Mutex<Inner>>);

/// The message when a run in this state is stopped.
type Message = Box<dyn Fn(&Value, &Path) -> String + Send>;

struct Inner {
    target: PathBuf,
    part: PathBuf,
    journal_path: PathBuf,
    header: Header,
    file: File,
    /// The size of the file.
    bytes: u64,
    /// The open gzip member, if that is how it is written, and how far it was searched for a place to end it.
    member: Option<Vec<u8>>,
    n_searched: usize,
    journal: File,
    journal_bytes: u64,
    /// The last place where the output was whole.
    mark: Option<Mark>,
    /// The content of the last line of the journal.
    recorded: Recorded,
    started: Instant,
    last: Instant,
    message: Message,
}

struct Mark {
    bytes: u64,
    n_open: usize,
    state: Value,
}

#[derive(Clone, Copy, Default)]
struct Recorded {
    is_any: bool,
    bytes: u64,
    n_open: usize,
}

/// The file that a partial output becomes, if it can be made beside it; pipes, devices, links that lead nowhere and
/// files in folders that allow no new ones are written as they are.
fn target_of(path: &Path) -> Option<PathBuf> {
    if is_dash(path) {
        return None;
    }
    match path.metadata() {
        Ok(metadata) if !metadata.is_file() || metadata.permissions().readonly() => None,
        Ok(_) => fs::canonicalize(path).ok(),
        Err(_) if path.symlink_metadata().is_ok() => None,
        Err(_) => Some(path.to_owned()),
    }
}

/// Opens the output for a run with these settings; `None` if it cannot be a partial one. `message` says what is whole in a
/// state, and how to go on.
///
/// # Errors
/// When an earlier run has left something that may not be destroyed, or that was made with other settings.
pub fn open(
    path: &Path,
    header: Header,
    earlier: Earlier,
    message: impl Fn(&Value, &Path) -> String + Send + 'static,
) -> Result<Option<Start>> {
    let Some(target) = target_of(path) else { return Ok(None) };
    let (part, journal_path) = (with_suffix(&target, ".part"), with_suffix(&target, ".part.state"));
    let name = part.to_string_lossy().into_owned();
    if File::open(&journal_path).is_ok_and(|journal| is_taken(&journal)) {
        return Err(usage("another run is writing this file").in_file(&name));
    }
    let left = Left::read(&journal_path);
    if left.is_none() && (part.exists() || journal_path.exists()) && earlier != Earlier::Discard {
        let message = "this file is in the way, and is not from a run that can be resumed: move it away";
        return Err(usage(message).in_file(&name));
    }
    if let Some(left) = &left
        && left.is_finished()
    {
        let is_table = left.header.as_ref().is_some_and(|header| header.is_table);
        if part.exists() && !is_table {
            put_in_place(&part, &target).map_err(|error| Error::from(error).in_file(&name))?;
        }
        let _ = fs::remove_file(&part);
        let _ = fs::remove_file(&journal_path);
        if earlier == Earlier::Resume && target.exists() {
            return Ok(Some(Start::Complete));
        }
    }
    let left = left.filter(|left| left.last.is_some() && !left.is_finished());
    let in_file = |error: io::Error| Error::from(error).in_file(&path.to_string_lossy());
    if let Some(left) = left {
        match earlier {
            Earlier::Keep => {
                let state = left.last.map(|last| last.state).unwrap_or_default();
                let message = format!(
                    "this is what an earlier run has left: {}\n--force starts from the beginning instead",
                    message(&state, &part)
                );
                return Err(usage(message).in_file(&name));
            }
            Earlier::Resume => {
                let start = resume(left, header, (target, part, journal_path), Box::new(message))?;
                return Ok(Some(start));
            }
            Earlier::Discard => {}
        }
    } else if earlier == Earlier::Resume && target.exists() && !journal_path.exists() {
        return Ok(Some(Start::Complete));
    }
    // May the target be written? Nothing is changed yet.
    if target.exists() {
        File::options().append(true).open(&target).map_err(in_file)?;
    }
    let mut pending = pending();
    let journal = File::options().create(true).append(true).open(&journal_path);
    let mut journal = match journal {
        Ok(journal) => journal,
        // The folder allows no new file: the output is written in place.
        Err(_) if target.exists() => return Ok(None),
        Err(error) => return Err(in_file(error)),
    };
    // Locked before anything is cut short.
    if is_taken(&journal) {
        return Err(usage("another run is writing this file").in_file(&name));
    }
    let prepared = (|| {
        journal.set_len(0)?;
        let line = header_line(&header);
        journal.write_all(line.as_bytes())?;
        let file = File::options().create(true).append(true).open(&part)?;
        file.set_len(0)?;
        if let Ok(metadata) = target.metadata() {
            // The journal holds parts of the text, too.
            for file in [&file, &journal] {
                keep_owner(file, &metadata);
                file.set_permissions(metadata.permissions())?;
            }
        }
        Ok((file, line.len() as u64))
    })();
    let (file, journal_bytes) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            let _ = fs::remove_file(&part);
            let _ = fs::remove_file(&journal_path);
            return Err(in_file(error));
        }
    };
    // Nothing would be lost with them yet.
    pending.add(&part);
    pending.add(&journal_path);
    drop(pending);
    let is_gzip = !header.is_table && Format::is_gzip_path(&target.to_string_lossy());
    let now = Instant::now();
    let inner = Inner {
        target,
        part,
        journal_path,
        header,
        file,
        bytes: 0,
        member: is_gzip.then(Vec::new),
        n_searched: 0,
        journal,
        journal_bytes,
        mark: None,
        recorded: Recorded::default(),
        started: now,
        last: now,
        message: Box::new(message),
    };
    Ok(Some(Start::At(Partial(Arc::new(Mutex::new(inner))), None)))
}

/// True if another run holds the journal. Otherwise this handle holds it now.
fn is_taken(journal: &File) -> bool {
    matches!(journal.try_lock(), Err(fs::TryLockError::WouldBlock))
}

fn header_line(header: &Header) -> String {
    serde_json::to_string(header).expect("settings are JSON") + "\n"
}

fn resume(
    left: Left,
    header: Header,
    (target, part, journal_path): (PathBuf, PathBuf, PathBuf),
    message: Message,
) -> Result<Start> {
    let name = part.to_string_lossy().into_owned();
    let Left { header: old, last, tail, n_bytes } = left;
    let (Some(old), Some(last)) = (old, last) else { unreachable!("it was seen to be there") };
    let differences = old.differences(&header);
    if !differences.is_empty() {
        let message = format!(
            "the run cannot go on, because this is not what it was started with: {}; resume with what it was, or start \
             from the beginning with --force",
            differences.join(", ")
        );
        return Err(usage(message).in_file(&name));
    }
    let in_file = |error: io::Error| Error::from(error).in_file(&name);
    let mut pending = pending();
    let mut journal = File::options().read(true).write(true).open(&journal_path).map_err(in_file)?;
    if is_taken(&journal) {
        return Err(usage("another run is writing this file").in_file(&name));
    }
    let file = File::options().append(true).open(&part).map_err(in_file)?;
    if file.metadata().map_err(in_file)?.len() < last.bytes {
        let message = "the file is shorter than it was left: start from the beginning with --force";
        return Err(usage(message).in_file(&name));
    }
    file.set_len(last.bytes).map_err(in_file)?;
    journal.set_len(n_bytes).map_err(in_file)?;
    journal.seek(SeekFrom::End(0)).map_err(in_file)?;
    let is_gzip = !header.is_table && Format::is_gzip_path(&target.to_string_lossy());
    let recorded = Recorded { is_any: true, bytes: last.bytes, n_open: tail.len() };
    pending.set_partial(&part, last.bytes);
    pending.set_message(message(&last.state, &part));
    drop(pending);
    let now = Instant::now();
    let inner = Inner {
        target,
        part,
        journal_path,
        header,
        file,
        bytes: last.bytes,
        member: is_gzip.then(|| tail.into_bytes()),
        n_searched: 0,
        journal,
        journal_bytes: n_bytes,
        mark: None,
        recorded,
        started: now,
        last: now,
        message,
    };
    Ok(Start::At(Partial(Arc::new(Mutex::new(inner))), Some(last.state)))
}

/// Moves a file to its place.
fn put_in_place(part: &Path, target: &Path) -> io::Result<()> {
    fs::rename(part, target)
}

impl Partial {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file that it becomes.
    pub fn target(&self) -> PathBuf {
        self.inner().target.clone()
    }

    /// The file that it is now.
    pub fn path(&self) -> PathBuf {
        self.inner().part.clone()
    }

    /// Notes that everything written so far is whole, with the state that a run needs to go on after it.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub fn mark(&self, state: Value) -> Result<()> {
        let mut inner = self.inner();
        let n_open = inner.member.as_ref().map_or(0, Vec::len);
        inner.mark = Some(Mark { bytes: inner.bytes, n_open, state });
        let now = Instant::now();
        let is_due = now - inner.last >= INTERVAL.max((now - inner.started) / 1000);
        if is_due || !inner.recorded.is_any {
            inner.last = now;
            inner.record(false).map_err(|error| inner.named(&error))?;
        }
        Ok(())
    }

    /// Everything was written: ends the file.
    ///
    /// # Errors
    /// When the last bytes cannot be written.
    pub fn end(&self) -> Result<()> {
        let mut inner = self.inner();
        inner.end().map_err(|error| inner.named(&error))
    }

    /// Puts the file in its place, and removes the journal; a table that was made of it is in its place already.
    ///
    /// # Errors
    /// When it cannot be moved.
    pub fn finish(&self) -> Result<()> {
        let mut inner = self.inner();
        inner.finish().map_err(|error| inner.named(&error))
    }

    /// The run has failed: keeps what is whole and says how to go on; removes everything if nothing is.
    pub fn stop(&self) -> Option<String> {
        let mut inner = self.inner();
        // If there is no room for another line, the last one counts.
        let _ = inner.record(false);
        let mut pending = pending();
        pending.clear();
        let inner = &mut *inner;
        if !inner.recorded.is_any {
            let _ = fs::remove_file(&inner.part);
            let _ = fs::remove_file(&inner.journal_path);
            return None;
        }
        let _ = inner.file.set_len(inner.recorded.bytes);
        let left = Left::read(&inner.journal_path)?;
        Some((inner.message)(&left.last?.state, &inner.part))
    }
}

impl Inner {
    fn named(&self, error: &io::Error) -> Error {
        Error::from(error).in_file(&self.target.to_string_lossy())
    }

    /// Writes a line to the journal about the last mark, if there is something new to say.
    fn record(&mut self, is_finished: bool) -> io::Result<()> {
        let Some(Mark { bytes, n_open, state }) = self.mark.take() else { return Ok(()) };
        let member = self.member.as_deref().unwrap_or_default();
        let start =
            if self.recorded.is_any && self.recorded.bytes == bytes { self.recorded.n_open } else { 0 };
        let text = |part: &[u8]| String::from_utf8_lossy(part).into_owned();
        let mut line = Line { bytes, more: text(&member[start..n_open]), state, is_finished };
        let mut bytes_of = serde_json::to_string(&line)? + "\n";
        if self.journal_bytes + bytes_of.len() as u64 > MAX_JOURNAL && start + bytes_of.len() > 0 {
            line.more = text(&member[..n_open]);
            bytes_of = serde_json::to_string(&line)? + "\n";
            self.compact(&bytes_of)?;
        } else {
            self.journal.write_all(bytes_of.as_bytes())?;
            self.journal_bytes += bytes_of.len() as u64;
        }
        let mut pending = pending();
        if !self.recorded.is_any {
            pending.remove(&self.part);
            pending.remove(&self.journal_path);
        }
        pending.set_partial(&self.part, bytes);
        if !is_finished {
            pending.set_message((self.message)(&line.state, &self.part));
        }
        self.recorded = Recorded { is_any: true, bytes, n_open };
        Ok(())
    }

    /// Writes the journal anew, with this as its only line after the first.
    fn compact(&mut self, line: &str) -> io::Result<()> {
        let new_path = with_suffix(&self.journal_path, ".new");
        let text = header_line(&self.header) + line;
        let written = (|| {
            let mut new = File::create(&new_path)?;
            let _ = new.try_lock();
            new.write_all(text.as_bytes())?;
            fs::rename(&new_path, &self.journal_path)?;
            Ok(new)
        })();
        match written {
            Ok(new) => {
                self.journal = new;
                self.journal_bytes = text.len() as u64;
                Ok(())
            }
            Err(error) => {
                let _ = fs::remove_file(&new_path);
                Err(error)
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(member) = &mut self.member else { return self.write_file(bytes) };
        member.extend_from_slice(bytes);
        while let Some(end) = self.member_end() {
            self.write_member(end)?;
        }
        Ok(())
    }

    /// Writes to the file itself. A signal waits until this is done.
    fn write_file(&mut self, bytes: &[u8]) -> io::Result<()> {
        let _pending = pending();
        self.file.write_all(bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// The place where the open member ends: the first end of a line after enough text.
    fn member_end(&mut self) -> Option<usize> {
        let member = self.member.as_ref()?;
        let from = self.n_searched.max(MEMBER);
        let found = member.get(from..).and_then(|rest| memchr::memchr(b'\n', rest));
        self.n_searched = member.len();
        Some(from + found? + 1)
    }

    fn write_member(&mut self, end: usize) -> io::Result<()> {
        // What was whole in this member can be told only as long as it is open.
        self.record(false)?;
        let Some(member) = &mut self.member else { return Ok(()) };
        let rest = member.split_off(end);
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(member)?;
        let compressed = encoder.finish()?;
        *member = rest;
        self.n_searched = 0;
        self.write_file(&compressed)
    }

    fn end(&mut self) -> io::Result<()> {
        if let Some(member) = &self.member
            && (!member.is_empty() || self.bytes == 0)
        {
            self.write_member(member.len())?;
        }
        self.record(false)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.mark = Some(Mark { bytes: self.bytes, n_open: 0, state: Value::Null });
        self.record(true)?;
        // From here on a signal comes before or after everything.
        let mut pending = pending();
        pending.clear();
        if !self.header.is_table {
            put_in_place(&self.part, &self.target)?;
        } else {
            fs::remove_file(&self.part)?;
        }
        let _ = fs::remove_file(&self.journal_path);
        Ok(())
    }
}

impl Write for Partial {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner().write(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn start(path: &Path, earlier: Earlier) -> Result<(Partial, Value)> {
        let header = Header::new(serde_json::Map::new(), false);
        match open(path, header, earlier, |state, _| state.to_string())? {
            Some(Start::At(partial, state)) => Ok((partial, state.unwrap_or(Value::Null))),
            _ => panic!("it starts"),
        }
    }

    /// Text of several members; lines of many lengths.
    fn line(i: usize) -> String {
        format!("{i} {}\n", "word é ".repeat(i * 7919 % 300))
    }

    fn write(partial: &mut Partial, lines: std::ops::Range<usize>) {
        for i in lines {
            partial.write_all(line(i).as_bytes()).expect("room");
            partial.mark(Value::from(i + 1)).expect("room");
        }
    }

    /// The bytes do not depend on where a run was stopped, nor on how.
    #[test]
    fn a_file_goes_on_after_what_is_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["a.txt", "a.txt.gz"] {
            let (whole, path) = (folder.path().join(format!("whole-{name}")), folder.path().join(name));
            let n = 2500;
            let (mut partial, _) = start(&whole, Earlier::Keep).expect("new");
            write(&mut partial, 0..n);
            partial.end().and_then(|()| partial.finish()).expect("room");
            let whole = fs::read(&whole).expect("written");
            for stop in [1, 700, 1999, n] {
                let (mut partial, _) = start(&path, Earlier::Keep).expect("new");
                write(&mut partial, 0..stop);
                // Half a line more.
                partial.write_all(b"half").expect("room");
                let is_told = stop % 2 == 1;
                if is_told {
                    assert_eq!(partial.stop(), Some(stop.to_string()));
                }
                drop(partial);
                assert!(start(&path, Earlier::Keep).is_err(), "it is not destroyed");
                let (mut partial, state) = start(&path, Earlier::Resume).expect("it goes on");
                let done = usize::try_from(state.as_u64().expect("a number")).expect("small");
                assert!(done > 0 && done <= stop && (!is_told || done == stop), "{done} of {stop}");
                write(&mut partial, done..n);
                partial.end().and_then(|()| partial.finish()).expect("room");
                assert!(fs::read(&path).expect("written") == whole, "{name} stopped after {stop}");
            }
            let mut text = String::new();
            let read = match name.ends_with(".gz") {
                true => flate2::read::MultiGzDecoder::new(&whole[..]).read_to_string(&mut text),
                false => (&whole[..]).read_to_string(&mut text),
            };
            read.expect("text");
            assert!(text == (0..n).map(line).collect::<String>());
        }
    }

    /// A line that was cut off by a full disk does not count.
    #[test]
    fn the_last_complete_line_of_the_journal_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.txt");
        let (mut partial, _) = start(&path, Earlier::Keep).expect("new");
        write(&mut partial, 0..1);
        drop(partial);
        let journal = folder.path().join("a.txt.part.state");
        let mut text = fs::read(&journal).expect("there");
        text.extend_from_slice(b"{\"bytes\":99999,\"sta");
        fs::write(&journal, text).expect("room");
        let (mut partial, state) = start(&path, Earlier::Resume).expect("it goes on");
        assert_eq!(state, 1);
        write(&mut partial, 1..3);
        partial.end().and_then(|()| partial.finish()).expect("room");
        assert_eq!(fs::read_to_string(&path).expect("written"), (0..3).map(line).collect::<String>());
    }

    #[test]
    fn two_runs_to_one_file_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.txt");
        let first = start(&path, Earlier::Keep).expect("new");
        for earlier in [Earlier::Keep, Earlier::Resume, Earlier::Discard] {
            let error = start(&path, earlier).map(|_| ()).expect_err("the first one goes on");
            assert!(error.message.contains("another run"), "{error}");
        }
        drop(first);
    }
}
