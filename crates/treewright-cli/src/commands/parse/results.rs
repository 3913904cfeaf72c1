//! What becomes of the results of the threads, in the order of the input: trees are written, the rest is summed up.

use std::io::IsTerminal;

use treewright::parallel::Event;
use treewright::treebank;
use treewright::{Error, Result};

use super::ParseArgs;
use super::input::{PortionRead, WithoutTags};
use super::notices::Notices;
use super::output::Sink;
use super::work::Parsed;
use crate::io::{Output, Skipping, say};

/// Takes results, and writes.
pub(super) struct Results<'a> {
    sink: Sink<'a>,
    without_tags: &'a WithoutTags,
    summary: Summary,
    /// Errors and sentences, of the file that the threads are reading.
    n_items_of_file: usize,
}

/// What there is to say at the end.
pub(super) struct Summary {
    pub totals: Totals,
    pub notices: Notices,
    pub skipping: Skipping,
}

impl<'a> Results<'a> {
    pub(super) fn new(args: &ParseArgs, sink: Sink<'a>, without_tags: &'a WithoutTags) -> Self {
        let summary = Summary {
            totals: Totals::default(),
            notices: Notices::default(),
            skipping: Skipping::new(args.read.on_error),
        };
        Results { sink, without_tags, summary, n_items_of_file: 0 }
    }

    /// The next result; or there is none for now, and those so far are shown.
    pub(super) fn take(&mut self, event: Event<Result<Parsed>>) -> Result<()> {
        let Event::Done(parsed) = event else { return self.sink.flush() };
        let parsed = parsed?;
        let Summary { totals, notices, .. } = &mut self.summary;
        totals.add(&parsed);
        notices.add_known_words(parsed.known_words);
        notices.add_unknown_tags(parsed.unknown_tags);
        self.sink.write(parsed.trees)?;
        parsed.read.map_or(Ok(()), |read| self.take_read(read))
    }

    /// What a thread read itself.
    fn take_read(&mut self, read: PortionRead) -> Result<()> {
        if read.has_sentence_without_tags {
            self.without_tags.warn();
        }
        for error in read.errors {
            let sentence = error.location.sentence;
            let sentence = if read.n_items > 0 { self.n_items_of_file + sentence } else { sentence };
            self.summary.skipping.accept(Err::<(), Error>(error.in_sentence(sentence)))?;
        }
        self.n_items_of_file += read.n_items;
        let Some(file) = read.ends else { return Ok(()) };
        if std::mem::take(&mut self.n_items_of_file) == 0 {
            return Err(file.explained(treebank::empty_input()).in_file(&file.options.file));
        }
        Ok(())
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
    tokens: usize,
    seconds: f64,
    exact: usize,
    not_exact: usize,
    items: u64,
}

impl Totals {
    fn add(&mut self, parsed: &Parsed) {
        self.seconds += parsed.seconds;
        self.sentences += parsed.n_sentences;
        self.tokens += parsed.n_tokens;
        self.exact += parsed.n_exact;
        self.not_exact += parsed.n_not_exact;
        self.items += parsed.n_items;
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
            let mut stats = serde_json::json!({
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
            if can_prove {
                stats["exact"] = self.exact.into();
                stats["not_exact"] = self.not_exact.into();
                stats["items"] = self.items.into();
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
