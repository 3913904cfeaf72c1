//! What becomes of the results of the threads, in the order of the input: trees are written, the rest is summed up.

use std::io::IsTerminal;
use std::time::Instant;

use treewright::Result;
use treewright::decode::Effort;
use treewright::parallel::Event;
use treewright::treebank;

use super::ParseArgs;
use super::documents::Problem;
use super::errors::ErrorList;
use super::input::{PortionRead, WithoutTags};
use super::notices::Notices;
use super::output::Sink;
use super::resume::State;
use super::work::Parsed;
use crate::io::partial::Partial;
use crate::io::{Output, Skipping, say};
use crate::models;

/// Takes results, and writes.
pub(super) struct Results<'a> {
    args: &'a ParseArgs,
    sink: Sink<'a>,
    without_tags: &'a WithoutTags,
    summary: Summary,
    /// The work done, to the end of the last batch.
    state: State,
    progress: Progress<'a>,
}

/// The places where a run notes how far it has come.
pub(super) struct Progress<'a> {
    pub partial: Option<&'a Partial>,
    pub errors: Option<ErrorList>,
    pub started: Instant,
}

/// What there is to say at the end.
pub(super) struct Summary {
    pub totals: Totals,
    pub notices: Notices,
    pub skipping: Skipping,
}

impl<'a> Results<'a> {
    /// For a run that goes on in this state.
    pub(super) fn new(
        args: &'a ParseArgs,
        mut sink: Sink<'a>,
        without_tags: &'a WithoutTags,
        state: State,
        progress: Progress<'a>,
    ) -> Self {
        let mut notices = Notices::default();
        let (known, unknown) = state.notices();
        notices.add_known_words(known);
        notices.add_unknown_tags(unknown);
        sink.go_on(state.entries, state.writer);
        let summary = Summary {
            totals: Totals::of(&state),
            notices,
            skipping: Skipping::after(args.read.on_error, state.skipped + state.failed),
        };
        Results { args, sink, without_tags, summary, state, progress }
    }

    /// The next result; or there is none for now, and those so far are shown.
    pub(super) fn take(&mut self, event: Event<Result<Parsed>>) -> Result<()> {
        let Event::Done(parsed) = event else { return self.sink.flush() };
        let mut parsed = parsed?;
        let Summary { totals, notices, .. } = &mut self.summary;
        totals.add(&parsed);
        notices.add_known_words(parsed.known_words);
        notices.add_unknown_tags(parsed.unknown_tags);
        notices.add_tagged(parsed.n_tagged);
        let mut problems = std::mem::take(&mut parsed.problems);
        let written = self.sink.write(parsed.trees, self.args.read.on_error, &mut problems);
        for problem in problems {
            self.note(problem)?;
        }
        written?;
        if let Some(read) = parsed.read {
            self.take_read(read)?;
        }
        match (self.progress.partial, parsed.checksum) {
            (Some(partial), Some(checksum)) => self.mark(partial, checksum),
            _ => Ok(()),
        }
    }

    /// What a thread read itself.
    fn take_read(&mut self, read: PortionRead) -> Result<()> {
        if read.has_sentence_without_tags {
            self.without_tags.warn();
        }
        for error in read.errors {
            let sentence = error.location.sentence;
            let sentence = if read.n_items > 0 { self.state.items_of_file + sentence } else { sentence };
            let error = error.in_sentence(sentence);
            if self.args.read.on_error.is_fatal(&error) {
                return Err(error);
            }
            self.note(Problem { is_failure: false, error })?;
        }
        self.state.items_of_file += read.n_items;
        let Some(file) = read.ends else { return Ok(()) };
        if std::mem::take(&mut self.state.items_of_file) == 0 {
            return Err(file.explained(treebank::empty_input()).in_file(&file.options.file));
        }
        Ok(())
    }

    /// Something has no tree.
    fn note(&mut self, problem: Problem) -> Result<()> {
        if let Some(errors) = &mut self.progress.errors {
            errors.add(&problem)?;
        }
        let totals = &mut self.summary.totals;
        let count = if problem.is_failure { &mut totals.failed } else { &mut totals.skipped };
        *count += 1;
        self.summary.skipping.skip(problem.error);
        Ok(())
    }

    /// All that was read so far is written.
    fn mark(&mut self, partial: &Partial, checksum: u32) -> Result<()> {
        self.sink.flush()?;
        let (entries, writer) = self.sink.state();
        self.summary.totals.tell(&mut self.state);
        let (known, unknown) = self.summary.notices.parts();
        self.state.set_notices(known, unknown);
        self.state.batches += 1;
        self.state.checksum = checksum;
        self.state.entries = entries;
        self.state.writer = writer;
        self.state.errors_bytes = self.progress.errors.as_ref().map_or(0, ErrorList::n_bytes);
        let wall = self.summary.totals.earlier_seconds + self.progress.started.elapsed().as_secs_f64();
        let state = State { wall_seconds: wall, ..self.state.clone() };
        partial.mark(serde_json::to_value(state).expect("it is JSON"))
    }

    /// Everything was parsed.
    pub(super) fn finish(mut self) -> Result<Summary> {
        self.sink.finish()?;
        Ok(self.summary)
    }
}

/// Figures about all batches.
#[derive(Default)]
pub(super) struct Totals {
    pub sentences: usize,
    pub documents: usize,
    pub skipped: usize,
    pub failed: usize,
    /// The time that earlier runs took.
    pub earlier_seconds: f64,
    tokens: usize,
    seconds: f64,
    exact: usize,
    not_exact: usize,
    effort: Effort,
}

impl Totals {
    /// Those of a run in this state.
    fn of(state: &State) -> Self {
        Totals {
            sentences: state.sentences,
            documents: state.documents,
            skipped: state.skipped,
            failed: state.failed,
            earlier_seconds: state.wall_seconds,
            tokens: state.tokens,
            seconds: state.parsing_seconds,
            exact: state.exact,
            not_exact: state.not_exact,
            effort: Effort { items: state.items, work: state.work, bytes: state.max_search_bytes },
        }
    }

    /// Puts them into a state.
    fn tell(&self, state: &mut State) {
        state.sentences = self.sentences;
        state.documents = self.documents;
        state.skipped = self.skipped;
        state.failed = self.failed;
        state.tokens = self.tokens;
        state.parsing_seconds = self.seconds;
        state.exact = self.exact;
        state.not_exact = self.not_exact;
        (state.items, state.work) = (self.effort.items, self.effort.work);
        state.max_search_bytes = self.effort.bytes;
    }

    fn add(&mut self, parsed: &Parsed) {
        self.seconds += parsed.seconds;
        self.sentences += parsed.n_sentences;
        self.documents += parsed.n_documents;
        self.tokens += parsed.n_tokens;
        self.exact += parsed.n_exact;
        self.not_exact += parsed.n_not_exact;
        self.effort.add(parsed.effort);
    }

    /// Says how fast it was, and writes figures if they are wanted; those about proofs if the search can prove anything.
    pub(super) fn report(
        &self,
        args: &ParseArgs,
        jobs: usize,
        seconds: Seconds,
        can_prove: bool,
    ) -> Result<()> {
        let Seconds { loading, wall } = seconds;
        let wall = self.earlier_seconds + wall;
        let rate = self.tokens as f64 / wall.max(1e-9);
        // Under a drawing of one sentence, figures about speed are noise.
        let to_people = std::io::stderr().is_terminal() && self.sentences > 20;
        if !args.read.quiet && (args.verbose || to_people) {
            let exact = match can_prove {
                true => format!("; {} exact, {} not", self.exact, self.not_exact),
                false => String::new(),
            };
            say!(
                "parsed {} sentences, {} tokens in {wall:.2} s ({rate:.0} tokens/s, {jobs} jobs){exact}",
                self.sentences,
                self.tokens
            );
        }
        if let Some(path) = &args.json_stats {
            let names = args.model.iter().map(|model| model.to_string_lossy()).collect::<Vec<_>>();
            let model = if names.is_empty() { models::EMBEDDED.to_owned() } else { names.join(" ") };
            let mut stats = serde_json::json!({
                "model": model,
                "skipped": self.skipped,
                "failed": self.failed,
                "sentences": self.sentences,
                "tokens": self.tokens,
                "jobs": jobs,
                "loading_seconds": loading,
                "parsing_seconds": self.seconds,
                "wall_seconds": wall,
                "sentences_per_second": self.sentences as f64 / wall.max(1e-9),
                "tokens_per_second": rate,
                "tokens_per_parsing_second": self.tokens as f64 / self.seconds.max(1e-9),
            });
            if self.documents > 0 {
                stats["documents"] = self.documents.into();
            }
            if can_prove {
                stats["exact"] = self.exact.into();
                stats["not_exact"] = self.not_exact.into();
                let Effort { items, work, bytes } = self.effort;
                stats["items"] = items.into();
                stats["work"] = work.into();
                stats["max_search_bytes"] = bytes.into();
            }
            Output::put(Some(path), format!("{stats:#}\n"))?;
        }
        Ok(())
    }
}

/// What took how long.
#[derive(Clone, Copy)]
pub(super) struct Seconds {
    pub loading: f64,
    pub wall: f64,
}
