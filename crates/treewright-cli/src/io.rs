//! What all commands share: opening inputs, choosing formats, outputs, progress, and what to do about bad sentences.

mod advice;
pub mod endings;
mod interrupts;
mod output;
mod overwrite;
pub mod partial;
mod visible;

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use treewright::treebank::{self, Encoding, Entry, Format, Limit, Opened, ReadOptions};
use treewright::{Code, Error, Result};

use crate::values::{self, FileFormat};

pub use advice::{advised, with_encoding};
pub use interrupts::{fail_instead_of_dying_on_large_files, say_when_interrupted};
pub use output::Output;
pub use overwrite::{Inputs, refuse_model, refuse_same_outputs, refuse_several, refuse_unless_model};
use visible::Visible;
pub use visible::visible;

/// Writes a line to stderr. Nobody may be reading it any more, which is no reason to stop.
macro_rules! say {
    ($($argument:tt)*) => { $crate::io::say_line(format_args!($($argument)*)) };
}
pub(crate) use say;

/// See [`say!`].
pub fn say_line(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{}", visible(&line.to_string()));
}

/// Flags of every command that reads treebanks.
#[derive(Args, Clone, Debug)]
pub struct ReadArgs {
    /// Format of the input [default: by extension, then by content]
    #[arg(long, value_name = "FORMAT", value_parser = values::treebank())]
    pub from: Option<FileFormat>,

    /// Encoding of the input, such as latin1 or utf-16le [default: utf-8; UTF-16 by its byte order mark]
    #[arg(long, value_name = "NAME")]
    pub encoding: Option<Encoding>,

    /// Read `word/TAG` in the format `tokens`
    #[arg(long)]
    pub tagged: bool,

    /// Allow several roots per sentence in CoNLL-U
    #[arg(long)]
    pub many_roots: bool,

    /// True if X in `(X word)` is a constituent. Commands that offer the choice have a flag of their own.
    #[arg(skip)]
    pub bare_words: bool,

    /// What to do about a sentence that cannot be read: stop, or leave it out and report it
    #[arg(long, value_enum, default_value_t = OnError::Fail)]
    pub on_error: OnError,

    /// Largest sentence (or line) to read, in bytes: 1000000, 64M, 2G; a word counts as at least 64 bytes [default: 64M]
    #[arg(long, value_name = "SIZE", value_parser = limit)]
    pub max_sentence_bytes: Option<Limit>,

    /// Print only errors on stderr, no remarks and no progress bar
    #[arg(long, short)]
    pub quiet: bool,
}

/// What to do about a bad sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnError {
    /// Stop at the first one.
    Fail,
    /// Leave it out, and report how many and where at the end.
    Skip,
}

impl OnError {
    /// Does this error end the run?
    pub fn is_fatal(self, error: &Error) -> bool {
        // Without the input itself there is nothing to skip to.
        self == OnError::Fail || matches!(error.code, Code::Io | Code::EmptyInput)
    }
}

impl ReadArgs {
    /// How a file, or stdin for `-`, is read.
    pub fn options(&self, path: impl AsRef<Path>) -> ReadOptions {
        ReadOptions {
            file: shown_name(path.as_ref()).into_owned(),
            format: self.from.and_then(FileFormat::treebank).into(),
            encoding: self.encoding,
            tagged: self.tagged,
            many_roots: self.many_roots,
            limit: self.max_sentence_bytes.unwrap_or_default(),
            bare_words: self.bare_words,
            ..ReadOptions::default()
        }
    }

    /// Opens a file, or stdin for `-`.
    pub fn open(&self, path: impl AsRef<Path>, progress: &Progress) -> Result<Opened<'static>> {
        let path = path.as_ref();
        let options = self.options(path);
        let source = progress.watch(open_raw(path)?);
        let Opened { format, gzip, reader } =
            treebank::open(source, &options).map_err(|error| advised(error, &options))?;
        let reader = reader.map(move |item| item.map_err(|error| advised(error, &options)));
        Ok(Opened { format, gzip, reader: Box::new(reader) })
    }

    /// A progress bar over all of `paths`, drawn on a terminal only, and not with `--quiet`.
    pub fn progress(&self, paths: &[PathBuf]) -> Progress {
        Progress::over_files(paths, self.quiet)
    }
}

/// Reads a size such as `64M`.
pub fn limit(text: &str) -> Result<Limit, String> {
    let (digits, shift) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 10),
        Some((at, 'm' | 'M')) => (&text[..at], 20),
        Some((at, 'g' | 'G')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let n_bytes = digits.parse::<usize>().ok().and_then(|n| n.checked_mul(1 << shift)).filter(|&n| n > 0);
    n_bytes
        .map(Limit::bytes)
        .ok_or_else(|| "expected a number of bytes from 1 on, such as 500000, 64M or 2G".to_owned())
}

/// Does this stand for stdin or stdout?
pub fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Does an output go to a terminal, where a progress bar would be in its way?
pub fn is_shown(output: Option<&Path>) -> bool {
    output.is_none_or(is_dash) && io::stdout().is_terminal()
}

/// The name to print for an input.
pub fn shown_name(path: &Path) -> Cow<'_, str> {
    if is_dash(path) { Cow::Borrowed("stdin") } else { path.to_string_lossy() }
}

/// The path with something added to its name.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// The bytes of a file, or of stdin for `-`.
pub fn open_raw(path: impl AsRef<Path>) -> Result<Box<dyn Read + Send>> {
    let path = path.as_ref();
    if is_dash(path) {
        return Ok(Box::new(io::stdin()));
    }
    match File::open(path) {
        Ok(file) => Ok(Box::new(file)),
        Err(error) => Err(Error::from(error).in_file(&path.to_string_lossy())),
    }
}

/// The whole text of a file.
pub fn read_text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| Error::from(error).in_file(&path.to_string_lossy()))
}

/// A progress bar over bytes read. Silent off a terminal.
#[derive(Clone)]
pub struct Progress(ProgressBar);

impl Progress {
    /// Over the sizes of these files; a spinner if one of them has none.
    pub fn over_files(paths: &[PathBuf], quiet: bool) -> Self {
        if quiet || !io::stderr().is_terminal() {
            return Progress(ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()));
        }
        let sizes =
            paths.iter().map(|path| std::fs::metadata(path).ok().filter(|m| m.is_file()).map(|m| m.len()));
        let bar = match sizes.sum::<Option<u64>>() {
            Some(total) => ProgressBar::new(total).with_style(
                ProgressStyle::with_template(
                    "{bar:30} {percent:>3}% {binary_bytes_per_sec:>12} {eta:>4} left {msg}",
                )
                .expect("the template is valid"),
            ),
            None => ProgressBar::new_spinner().with_style(
                ProgressStyle::with_template("{spinner} {binary_bytes:>10} {binary_bytes_per_sec:>12} {msg}")
                    .expect("the template is valid"),
            ),
        };
        Progress(bar)
    }

    /// One that is never drawn.
    pub fn hidden() -> Self {
        Progress(ProgressBar::hidden())
    }

    /// Counts what is read from `source`.
    pub fn watch(&self, source: Box<dyn Read + Send>) -> Box<dyn Read + Send> {
        if self.0.is_hidden() { source } else { Box::new(self.0.wrap_read(source)) }
    }

    /// Takes the bar away.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}

/// Reads entries under an `--on-error` policy and remembers what was left out.
pub struct Skipping {
    policy: OnError,
    n_accepted: usize,
    n_skipped: usize,
    /// The first ones.
    skipped: Vec<Error>,
}

/// This many errors are shown.
const MAX_SHOWN: usize = 20;

impl Skipping {
    /// Nothing skipped yet.
    pub fn new(policy: OnError) -> Self {
        Self::after(policy, 0)
    }

    /// An earlier run has skipped this many.
    pub fn after(policy: OnError, n_skipped: usize) -> Self {
        Skipping { policy, n_accepted: 0, n_skipped, skipped: Vec::new() }
    }

    /// The entry, or `None` if it was bad and may be skipped.
    pub fn accept<T>(&mut self, item: Result<T>) -> Result<Option<T>> {
        match item {
            Ok(item) => {
                self.n_accepted += 1;
                Ok(Some(item))
            }
            Err(error) if self.policy.is_fatal(&error) => Err(error),
            Err(error) => {
                self.skip(error);
                Ok(None)
            }
        }
    }

    /// Something is left out.
    pub fn skip(&mut self, error: Error) {
        self.n_skipped += 1;
        if self.skipped.len() < MAX_SHOWN {
            self.skipped.push(error);
        }
    }

    /// Says on stderr what was skipped and gives the exit code: 3 if anything was, and 1 if that was everything.
    pub fn report(&self) -> ExitCode {
        self.report_of("sentence", self.n_accepted > 0)
    }

    /// Reports what was skipped, named `what` instead of sentences; `is_any_done` is true if anything was left.
    pub fn report_of(&self, what: &str, is_any_done: bool) -> ExitCode {
        for error in &self.skipped {
            say!("skipped: {error}");
        }
        if self.n_skipped > self.skipped.len() {
            say!("skipped: ... and {} more", self.n_skipped - self.skipped.len());
        }
        match self.n_skipped {
            0 => return ExitCode::SUCCESS,
            1 => say!("1 {what} was skipped"),
            n => say!("{n} {what}s were skipped"),
        }
        if is_any_done { ExitCode::from(SOME_SKIPPED) } else { ExitCode::FAILURE }
    }
}

/// The exit code of a command that has left something out.
pub const SOME_SKIPPED: u8 = 3;

/// Says the first of these errors, and how many more there are; gives their number.
pub fn say_errors<'a>(word: &str, errors: impl IntoIterator<Item = &'a Error>, n_shown: usize) -> usize {
    let mut n_errors = 0;
    for error in errors {
        n_errors += 1;
        if n_errors <= n_shown {
            say!("{word}: {error}");
        }
    }
    if n_errors > n_shown {
        say!("{word}: ... and {} more", n_errors - n_shown);
    }
    n_errors
}

/// Calls `each` for every entry of every file.
pub fn for_each_entry(
    paths: &[PathBuf],
    args: &ReadArgs,
    skipping: &mut Skipping,
    mut each: impl FnMut(Entry, Format) -> Result<()>,
) -> Result<()> {
    let progress = args.progress(paths);
    for path in paths {
        let opened = args.open(path, &progress)?;
        for item in opened.reader {
            if let Some(entry) = skipping.accept(item)? {
                each(entry, opened.format)?;
            }
        }
    }
    progress.clear();
    Ok(())
}

/// A mistake in the flags: the program ends with exit code 2.
pub fn usage(message: impl Into<String>) -> Error {
    Error::new(Code::Usage, message)
}

/// Turns a command's result into its exit code. A reader that closed the pipe is not an error worth a message.
pub fn conclude(result: Result<ExitCode>) -> ExitCode {
    match result {
        Ok(code) => code,
        Err(error) if error.io_kind == Some(io::ErrorKind::BrokenPipe) => ExitCode::SUCCESS,
        Err(error) => {
            let error = with_encoding(error);
            say!("error: {error}");
            if error.code == Code::Usage { ExitCode::from(2) } else { ExitCode::FAILURE }
        }
    }
}
