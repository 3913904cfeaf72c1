//! A run that can be interrupted: what it was started with, how far it has come, and how it goes on.
//!
//! A run that goes on reads its input from the beginning, and leaves out the work that was done: reading is deterministic,
//! so the batches are the same. A checksum of their content tells whether the input still is.

use std::path::{Path, PathBuf};

use flate2::Crc;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use treewright::pipeline::{KnownWords, UnknownTags};
use treewright::treebank::{Entry, WriterState};
use treewright::{Error, Result};

use super::ParseArgs;
use super::input::Batch;
use super::source::is_regular_file;
use crate::io::partial::{self, Earlier, Header, Start};
use crate::io::{OnError, is_dash, say, shown_name, usage};
use crate::models;

/// The work that a run has done, to the end of a batch.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct State {
    /// The batches that are done, and the checksum of their content.
    pub batches: usize,
    pub checksum: u32,
    /// Documents, if the input has any.
    pub documents: usize,
    pub sentences: usize,
    pub tokens: usize,
    pub exact: usize,
    pub not_exact: usize,
    pub items: u64,
    pub work: u64,
    pub max_search_bytes: u64,
    pub skipped: usize,
    pub failed: usize,
    pub parsing_seconds: f64,
    pub wall_seconds: f64,
    /// Errors and sentences of the file that is being read.
    pub items_of_file: usize,
    /// The entries written, and the state of the writer.
    pub entries: usize,
    pub writer: WriterState,
    /// The length of the list of errors.
    pub errors_bytes: u64,
    pub known_words: (usize, usize),
    pub unknown_tags: Option<(usize, Vec<String>, bool)>,
}

impl State {
    pub(super) fn of(value: &Value) -> Self {
        serde_json::from_value(value.clone()).unwrap_or_default()
    }

    pub(super) fn set_notices(&mut self, known: &KnownWords, unknown: Option<&UnknownTags>) {
        self.known_words = (known.n_known, known.n_words);
        self.unknown_tags = unknown.map(|unknown| {
            let examples = unknown.examples.iter().map(ToString::to_string).collect();
            (unknown.n_sentences, examples, unknown.is_retagged)
        });
    }

    pub(super) fn notices(&self) -> (KnownWords, Option<UnknownTags>) {
        let (n_known, n_words) = self.known_words;
        let unknown = self.unknown_tags.clone().map(|(n_sentences, examples, is_retagged)| UnknownTags {
            n_sentences,
            examples: examples.iter().map(|example| (&example[..]).into()).collect(),
            is_retagged,
        });
        (KnownWords { n_known, n_words }, unknown)
    }

    /// The amount that is whole: "120 documents (340 sentences)".
    fn amount(&self) -> String {
        let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        match self.documents {
            0 => count(self.sentences, "sentence"),
            n => format!("{} ({})", count(n, "document"), count(self.sentences, "sentence")),
        }
    }
}

/// Starts or resumes a run whose output can be resumed; `None` if it goes to stdout, a pipe or a device.
pub(super) fn start(args: &ParseArgs, is_table: bool) -> Result<Option<Start>> {
    let Some(path) = args.output.as_deref().filter(|path| !is_dash(path)) else {
        return match args.resume {
            true => Err(usage("--resume goes on with a file: name the one that was being written with -o")),
            false => Ok(None),
        };
    };
    if args.resume
        && let Some(stream) = unrepeatable(args)
    {
        return Err(usage(format!(
            "--resume has to read the input again, and {} can be read only once: name files, or start from the beginning \
             with --force",
            shown_name(stream)
        )));
    }
    let earlier = match (args.resume, args.force) {
        (true, _) => Earlier::Resume,
        (_, true) => Earlier::Discard,
        _ => Earlier::Keep,
    };
    let way_on = match unrepeatable(args) {
        None => format!("go on with\n  {}", command_to_resume()),
        Some(stream) => {
            format!("the run cannot be resumed, because {} can be read only once", shown_name(stream))
        }
    };
    let message = move |state: &Value, part: &Path| {
        let amount = State::of(state).amount();
        format!("stopped: {amount} are whole in {}; {way_on}", part.display())
    };
    let started = partial::open(path, Header::new(settings(args)?, is_table), earlier, message)?;
    if args.resume && !args.read.quiet {
        match &started {
            Some(Start::Complete) => {
                say!("{} is complete: nothing is left to resume", path.display());
            }
            Some(Start::At(_, None)) => {
                say!("note: nothing is left of an earlier run; this one starts from the beginning");
            }
            Some(Start::At(_, Some(state))) => {
                say!("note: going on after {}", State::of(state).amount());
            }
            None => {}
        }
    }
    if started.is_none() && args.resume {
        let message =
            "this is not a file that can be written in parts, so --resume has nothing to go on with";
        return Err(usage(message).in_file(&path.to_string_lossy()));
    }
    Ok(started)
}

/// An input that can be read only once.
fn unrepeatable(args: &ParseArgs) -> Option<&PathBuf> {
    // Missing files are somebody else's error.
    args.files.iter().find(|path| is_dash(path) || path.exists() && !is_regular_file(path))
}

/// Everything that the output depends on but the content of the input.
fn settings(args: &ParseArgs) -> Result<Map<String, Value>> {
    let path = |path: &PathBuf| Value::from(path.to_string_lossy());
    let debug = |value: &dyn std::fmt::Debug| Value::from(format!("{value:?}"));
    let read = &args.read;
    let mut models = vec![];
    for model in &args.model {
        models.push(match models::find(model)? {
            Some(file) => fingerprint(&file)?,
            None => json!(models::EMBEDDED),
        });
    }
    let values = [
        ("input files", args.files.iter().map(path).collect()),
        ("--model", Value::from(models)),
        ("--weights", json!(args.weights)),
        ("--as", debug(&args.kind)),
        ("--to", debug(&args.to)),
        ("--text-column", json!(args.text_column)),
        ("--header", json!(args.header)),
        ("--csv", json!(args.csv)),
        ("--parse-column", json!(args.parse_column)),
        ("--jsonl-field", json!(args.jsonl_field)),
        ("--trees-field", json!(args.trees_field)),
        ("--lines", debug(&args.lines)),
        ("--retag", json!(args.retag)),
        ("--keep-tags", json!(args.keep_tags)),
        ("--no-tag-reranking", json!(args.no_tag_reranking)),
        ("--decoder", debug(&args.decoder)),
        ("--heuristic and limits of exact search", debug(&args.exact)),
        ("--beam", json!(args.beam)),
        ("--prune-percentile", json!(args.prune_percentile)),
        ("--k-best", json!(args.k_best)),
        ("--errors-to", args.errors_to.as_ref().map_or(Value::Null, path)),
        ("--from", debug(&read.from)),
        ("--encoding", debug(&read.encoding)),
        ("--tagged", json!(read.tagged)),
        ("--many-roots", json!(read.many_roots)),
        ("--max-sentence-bytes", debug(&read.max_sentence_bytes)),
        // A column for errors is there from the first row on, or not at all.
        ("--on-error", json!(is_marked(args))),
    ];
    Ok(values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// True if rows of this output depend on whether bad ones are skipped.
fn is_marked(args: &ParseArgs) -> bool {
    args.text_column.is_some() && args.read.on_error == OnError::Skip
}

/// The size and a checksum of a model; of a very large one, of its start and end, which hold the checksums of its parts.
fn fingerprint(path: &Path) -> Result<Value> {
    use std::io::{Read, Seek, SeekFrom};
    const MOST: u64 = 64 << 20;
    let in_file = |error: std::io::Error| Error::from(error).in_file(&path.to_string_lossy());
    if !is_regular_file(path) {
        return Ok(Value::from(path.to_string_lossy()));
    }
    let mut file = std::fs::File::open(path).map_err(in_file)?;
    let size = file.metadata().map_err(in_file)?.len();
    let mut crc = Crc::new();
    let mut buffer = vec![0; 1 << 20];
    let mut n_read = 0;
    loop {
        let n = file.read(&mut buffer).map_err(in_file)?;
        if n == 0 {
            break;
        }
        crc.update(&buffer[..n]);
        n_read += n as u64;
        if size > MOST && n_read >= MOST / 4 && n_read < size - MOST / 4 {
            n_read = size - MOST / 4;
            file.seek(SeekFrom::Start(n_read)).map_err(in_file)?;
        }
    }
    Ok(json!([size, crc.sum()]))
}

/// The command that the user types to go on.
fn command_to_resume() -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=,:+@%".contains(c);
    let quoted = |argument: String| match !argument.is_empty() && argument.chars().all(is_plain) {
        true => argument,
        false => format!("'{}'", argument.replace('\'', r"'\''")),
    };
    let mut words: Vec<String> = std::env::args_os()
        .map(|argument| argument.to_string_lossy().into_owned())
        .filter(|argument| argument != "--force" && argument != "--resume")
        .map(quoted)
        .collect();
    words.push("--resume".to_owned());
    words.join(" ")
}

/// The batches that an earlier run has done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Done {
    pub batches: usize,
    pub checksum: u32,
}

/// Takes the checksum of batches as they come, and leaves out those that were done.
pub(super) struct Skimmer {
    done: Done,
    n_batches: usize,
    crc: Option<Crc>,
}

impl Skimmer {
    /// For a run that goes on after this; without a checksum if nobody will need it.
    pub(super) fn new(done: Done, is_resumable: bool) -> Self {
        Skimmer { done, n_batches: 0, crc: is_resumable.then(Crc::new) }
    }

    /// The checksum of everything to the end of this batch; `None` if the batch was done before.
    pub(super) fn take(&mut self, batch: &Batch) -> Result<Option<u32>> {
        let Some(crc) = &mut self.crc else { return Ok(Some(0)) };
        self.n_batches += 1;
        add(crc, batch);
        let sum = crc.sum();
        if self.n_batches == self.done.batches && sum != self.done.checksum {
            return Err(usage(
                "the run cannot go on, because the input has changed before the place that it had come to; start from the \
                 beginning with --force",
            ));
        }
        Ok((self.n_batches > self.done.batches).then_some(sum))
    }

    /// True if the next batch was done before.
    pub(super) fn is_skipping(&self) -> bool {
        self.n_batches < self.done.batches
    }

    /// Everything was read.
    pub(super) fn finish(&self) -> Result<()> {
        if self.n_batches < self.done.batches {
            return Err(usage(
                "the run cannot go on, because the input has become shorter than what was parsed of it; start from the \
                 beginning with --force",
            ));
        }
        Ok(())
    }
}

fn add(crc: &mut Crc, batch: &Batch) {
    let add_entries =
        |crc: &mut Crc, entries: &[Entry]| entries.iter().for_each(|entry| add_entry(crc, entry));
    match batch {
        Batch::Sentences(entries) => add_entries(crc, entries),
        Batch::Documents(entries, documents) => {
            for item in documents {
                item.document.each_text(&mut |text| {
                    crc.update(text.as_bytes());
                    crc.update(b"\t");
                });
                crc.update(&item.n_sentences.to_le_bytes());
            }
            add_entries(crc, entries);
        }
        Batch::Unread(portion, ..) => crc.update(portion.bytes()),
        Batch::Bad(error) => crc.update(error.to_string().as_bytes()),
        Batch::EndOfFile(_) => crc.update(b"\0end"),
    }
}

fn add_entry(crc: &mut Crc, entry: &Entry) {
    let sentence = &entry.sentence;
    let mut has_text = false;
    for comment in &sentence.comments {
        crc.update(comment.as_bytes());
        crc.update(b"\n");
        has_text |= comment.starts_with("# text =");
    }
    let tokens = &sentence.tokens[..];
    // The segmenter's words depend on the text alone.
    let is_cut = has_text
        && tokens.first().is_some_and(|token| token.tag.is_empty() && token.misc.contains("TokenRange="));
    let ends = [tokens.first(), tokens.last()];
    for token in if is_cut { &[] } else { tokens } {
        for text in [&token.form, &token.lemma, &token.tag, &token.xpos, &token.feats, &token.misc] {
            crc.update(text.as_bytes());
            crc.update(b"\t");
        }
    }
    for token in ends.into_iter().flatten() {
        crc.update(token.misc.as_bytes());
    }
    crc.update(&tokens.len().to_le_bytes());
}
