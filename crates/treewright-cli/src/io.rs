//! What all commands share: opening inputs, choosing formats, outputs, progress, and what to do about bad sentences.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use treewright::treebank::{self, Entry, Format, Limit, Opened, ReadOptions};
use treewright::{Code, Error, Result};

/// Flags of every command that reads treebanks.
#[derive(Args, Clone, Debug)]
pub struct ReadArgs {
    /// Format of the input [default: by extension, then by content]
    #[arg(long, value_name = "FORMAT")]
    pub from: Option<Format>,

    /// Read `word/TAG` in the format `tokens`
    #[arg(long)]
    pub tagged: bool,

    /// Allow several roots per sentence in CoNLL-U
    #[arg(long)]
    pub many_roots: bool,

    /// What to do about a sentence that cannot be read: stop, or leave it out and say so
    #[arg(long, value_enum, default_value_t = OnError::Fail)]
    pub on_error: OnError,

    /// Largest sentence (or line) to read, in bytes: 1000000, 64M, 2G; a word counts as 64 bytes at least [default: 64M]
    #[arg(long, value_name = "SIZE", value_parser = limit)]
    pub max_sentence_bytes: Option<Limit>,

    /// No progress bar and no remarks on stderr, only errors
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

impl ReadArgs {
    /// How a file, or stdin for `-`, is read.
    pub fn options(&self, path: &str) -> ReadOptions {
        ReadOptions {
            file: shown_name(path).to_owned(),
            format: self.from,
            tagged: self.tagged,
            many_roots: self.many_roots,
            limit: self.max_sentence_bytes.unwrap_or_default(),
            ..ReadOptions::default()
        }
    }

    /// Opens a file, or stdin for `-`.
    pub fn open(&self, path: &str, progress: &Progress) -> Result<Opened<'static>> {
        treebank::open(progress.watch(open_raw(path)?), &self.options(path))
    }

    /// A progress bar over all of `paths`, drawn on a terminal only, and not with `--quiet`.
    pub fn progress(&self, paths: &[String]) -> Progress {
        Progress::over_files(paths, self.quiet)
    }
}

/// Reads a size such as `64M`.
fn limit(text: &str) -> Result<Limit, String> {
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

/// The name to print for a path.
pub fn shown_name(path: &str) -> &str {
    if path == "-" { "stdin" } else { path }
}

/// The bytes of a file, or of stdin for `-`.
pub fn open_raw(path: &str) -> Result<Box<dyn Read + Send>> {
    if path == "-" {
        return Ok(Box::new(io::stdin()));
    }
    match File::open(path) {
        Ok(file) => Ok(Box::new(file)),
        Err(error) => Err(Error::new(Code::Io, 0, 0, error.to_string()).in_file(path)),
    }
}

/// The output: a file, or stdout for `-` or none. A file is first written beside its place and moved there by
/// `finish`, so that a failed run leaves no half-written output.
pub struct Output {
    sink: BufWriter<Box<dyn Write + Send>>,
    moved: Option<(String, String)>,
}

impl Output {
    /// Opens the output.
    pub fn create(path: Option<&str>) -> Result<Self> {
        match path {
            None | Some("-") => Ok(Output { sink: BufWriter::new(Box::new(io::stdout())), moved: None }),
            // A pipe, device or link is written as it is.
            Some(path) if Path::new(path).symlink_metadata().is_ok_and(|m| !m.is_file()) => {
                let file =
                    File::options().write(true).open(path).map_err(|e| Error::from(e).in_file(path))?;
                Ok(Output { sink: BufWriter::new(Box::new(file)), moved: None })
            }
            Some(path) => {
                let part = format!("{path}.part");
                let file = File::create(&part).map_err(|e| Error::from(e).in_file(path))?;
                let moved = Some((part, path.to_owned()));
                Ok(Output { sink: BufWriter::new(Box::new(file)), moved })
            }
        }
    }

    /// Everything was written: put the file in its place.
    pub fn finish(mut self) -> Result<()> {
        self.sink.flush()?;
        if let Some((part, path)) = self.moved.take() {
            std::fs::rename(part, &path).map_err(|e| Error::from(e).in_file(&path))?;
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
        if let Some((part, _)) = &self.moved {
            // The run failed before `finish`; nothing more can be done if this fails too.
            let _ = std::fs::remove_file(part);
        }
    }
}

/// A progress bar over bytes read. Silent off a terminal.
#[derive(Clone)]
pub struct Progress(ProgressBar);

impl Progress {
    /// Over the sizes of these files; a spinner if one of them has none.
    pub fn over_files(paths: &[String], quiet: bool) -> Self {
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
    skipped: Vec<Error>,
}

impl Skipping {
    /// Nothing skipped yet.
    pub fn new(policy: OnError) -> Self {
        Skipping { policy, skipped: Vec::new() }
    }

    /// The entry, or `None` if it was bad and may be skipped.
    pub fn accept<T>(&mut self, item: Result<T>) -> Result<Option<T>> {
        match item {
            Ok(item) => Ok(Some(item)),
            // Without the input itself there is nothing to skip to.
            Err(error)
                if self.policy == OnError::Fail
                    || error.code == Code::Io
                    || error.code == Code::EmptyInput =>
            {
                Err(error)
            }
            Err(error) => {
                self.skipped.push(error);
                Ok(None)
            }
        }
    }

    /// Says on stderr what was skipped and gives the exit code: 1 if anything was.
    pub fn report(&self) -> ExitCode {
        const SHOWN: usize = 20;
        for error in self.skipped.iter().take(SHOWN) {
            eprintln!("skipped: {error}");
        }
        if self.skipped.len() > SHOWN {
            eprintln!("skipped: ... and {} more", self.skipped.len() - SHOWN);
        }
        match self.skipped.len() {
            0 => ExitCode::SUCCESS,
            1 => {
                eprintln!("1 sentence was skipped");
                ExitCode::FAILURE
            }
            n => {
                eprintln!("{n} sentences were skipped");
                ExitCode::FAILURE
            }
        }
    }
}

/// Calls `each` for every entry of every file.
pub fn for_each_entry(
    paths: &[String],
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
    Error::new(Code::Usage, 0, 0, message)
}

/// Turns a command's result into its exit code. A reader that closed the pipe is not an error worth a message.
pub fn conclude(result: Result<ExitCode>) -> ExitCode {
    match result {
        Ok(code) => code,
        Err(error) if error.code == Code::Io && error.message.contains("Broken pipe") => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", error.to_string().trim_start());
            if error.code == Code::Usage { ExitCode::from(2) } else { ExitCode::FAILURE }
        }
    }
}
