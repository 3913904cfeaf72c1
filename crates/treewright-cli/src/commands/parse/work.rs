//! What the threads of `treewright parse` do: a batch of sentences becomes trees, and where the output allows it, text.

use std::time::Instant;

use treewright::decode::{Effort, Guarantee};
use treewright::model::{ScoredTree, Search, Share};
use treewright::pipeline::{Analyser, AnalyserWorker, KnownWords, Tagging, UnknownTags};
use treewright::treebank::{Entry, ParseInfo};
use treewright::{Result, Sentence};

use super::documents::{Document, Item, Problem};
use super::input::{Given, PortionRead};
use super::output::{Form, Sink, Trees};
use super::{ParseArgs, search};

/// What every thread is told.
pub(super) struct Task<'a> {
    args: &'a ParseArgs,
    analyser: &'a Analyser,
    search: Option<Search>,
    tagging: Tagging,
    said: Said,
    form: Form,
}

impl<'a> Task<'a> {
    /// Trees for this output, by this search if there is a parser.
    pub(super) fn new(
        args: &'a ParseArgs,
        analyser: &'a Analyser,
        search: Option<Search>,
        sink: &Sink<'_>,
    ) -> Self {
        let tagging = match (args.retag, args.keep_tags) {
            (true, _) => Tagging::Always,
            (false, true) => Tagging::Untagged,
            (false, false) => Tagging::Missing,
        };
        let said = match (args.k_best, sink.has_scores() || search.is_some_and(search::can_prove)) {
            (2.., _) => Said::Rank,
            (_, true) => Said::Score,
            (_, false) => Said::Nothing,
        };
        Task { args, analyser, search, tagging, said, form: sink.form() }
    }

    /// What one thread works with.
    pub(super) fn thread(&self) -> Thread<'a> {
        let tagger_weight = if self.args.no_tag_reranking { 0 } else { self.analyser.tagger_weight };
        let worker = self.analyser.worker(self.search, self.tagging).with_tagger_weight(tagger_weight);
        Thread { args: self.args, worker, said: self.said, form: self.form }
    }
}

/// What is to be said about each tree.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Said {
    /// Nothing.
    Nothing,
    /// Its score.
    Score,
    /// Its score and its place among several.
    Rank,
}

/// A batch that was parsed.
pub(super) struct Parsed {
    pub trees: Trees,
    /// The sentences and documents without a tree.
    pub problems: Vec<Problem>,
    pub n_documents: usize,
    /// See [`Given`].
    pub checksum: Option<u32>,
    pub n_sentences: usize,
    pub n_tokens: usize,
    /// How many trees are proven to be the best ones, and how many are not, where the search can tell.
    pub n_exact: usize,
    pub n_not_exact: usize,
    /// The effort of exact search.
    pub effort: Effort,
    /// The time it took.
    pub seconds: f64,
    /// Those of its first words.
    pub known_words: KnownWords,
    /// Those of the first sentence that has any.
    pub unknown_tags: Option<UnknownTags>,
    /// Sentences that came with tags.
    pub n_tagged: usize,
    /// What a thread read itself.
    pub read: Option<PortionRead>,
}

/// This many words of a batch tell whether it is in the model's language; to look at all of them would cost time.
const MAX_LOOKED_AT: usize = 100;

/// A thread that parses.
pub(super) struct Thread<'a> {
    args: &'a ParseArgs,
    worker: AnalyserWorker,
    said: Said,
    form: Form,
}

impl Thread<'_> {
    /// The trees of a batch, and all that is to be told about it.
    pub(super) fn parse(&mut self, given: Given) -> Result<Parsed> {
        let Given { batch, checksum } = given;
        let on_error = self.args.read.on_error;
        let (entries, documents, read) = batch.read(on_error);
        let is_header = |item: &&Item| matches!(item.document, Document::Header(..));
        let n_documents = documents.len() - documents.iter().filter(is_header).count();
        let known_words = self.known_words(&entries);
        let n_tagged = entries.iter().filter(|entry| entry.sentence.has_tags()).count();
        let started = Instant::now();
        let (mut n_exact, mut n_not_exact) = (0, 0);
        let entries: Vec<Vec<Entry>> = match self.said {
            Said::Nothing => self.parse_together(entries)?,
            _ => {
                let parse = |entry| -> Result<Vec<Entry>> {
                    let (entries, guarantee) = self.parse_one(entry)?;
                    match guarantee {
                        Some(Guarantee::Exact) => n_exact += 1,
                        Some(_) => n_not_exact += 1,
                        None => {}
                    }
                    Ok(entries)
                };
                entries.into_iter().map(parse).collect::<Result<_>>()?
            }
        };
        let mut problems = Vec::new();
        Ok(Parsed {
            n_documents,
            checksum,
            seconds: started.elapsed().as_secs_f64(),
            n_sentences: entries.len(),
            n_tokens: entries.iter().map(|entries| entries[0].sentence.len()).sum(),
            trees: Trees::of(entries, &documents, self.form, on_error, &mut problems),
            problems,
            n_exact,
            n_not_exact,
            effort: self.worker.take_effort(),
            known_words,
            unknown_tags: self.worker.take_unknown_tags(),
            n_tagged,
            read,
        })
    }

    /// How many of the first words of a batch the parser knows, if that is to be told.
    fn known_words(&self, entries: &[Entry]) -> KnownWords {
        let mut known = KnownWords::default();
        if self.args.read.quiet {
            return known;
        }
        for entry in entries {
            if known.n_words >= MAX_LOOKED_AT {
                break;
            }
            known.add(self.worker.known_words(&entry.sentence));
        }
        known
    }

    /// The entries with the parser's trees instead of their own.
    fn parse_together(&mut self, mut entries: Vec<Entry>) -> Result<Vec<Vec<Entry>>> {
        let mut sentences: Vec<&mut Sentence> = entries.iter_mut().map(|entry| &mut entry.sentence).collect();
        let trees = self.worker.analyse_all(&mut sentences)?;
        let entries = entries.into_iter().zip(trees);
        Ok(entries.map(|(entry, tree)| vec![Entry { tree, ..entry }]).collect())
    }

    /// The entry with the parser's trees instead of its own, one entry per parse wanted, and how good the first is.
    fn parse_one(&mut self, mut entry: Entry) -> Result<(Vec<Entry>, Option<Guarantee>)> {
        let parses = self.worker.analyse_k_best(&mut entry.sentence)?;
        let Some(guarantee) = parses.first().map(|parse| parse.guarantee) else {
            return Ok((vec![Entry { tree: None, ..entry }], None));
        };
        let told = |rank: usize, parse: &ScoredTree| {
            let info = ParseInfo {
                score: Some(parse.score),
                // Only the best one can be known to be the best one.
                exact: Some(rank == 0 && guarantee == Guarantee::Exact),
                upper_bound: match guarantee {
                    Guarantee::Bounded { upper } => Some(upper),
                    _ => None,
                },
                ..ParseInfo::default()
            };
            match self.said {
                Said::Rank => {
                    // No more digits than mean anything.
                    let figure = |share: Share| (share.value * 1e6).round() / 1e6;
                    ParseInfo {
                        parse: Some(rank as u32 + 1),
                        probability: parse.share.filter(|share| share.is_probability).map(figure),
                        share_of_kept: parse.share.filter(|share| !share.is_probability).map(figure),
                        ..info
                    }
                }
                _ => info,
            }
        };
        let mut entries = Vec::with_capacity(parses.len());
        for (rank, parse) in parses.into_iter().enumerate() {
            let mut sentence = entry.sentence.clone();
            // A document or paragraph starts once.
            let starts = |comment: &str| comment.starts_with("# newdoc") || comment.starts_with("# newpar");
            sentence.comments.retain(|comment| rank == 0 || !starts(comment));
            sentence.comments.extend(told(rank, &parse).comments());
            entries.push(Entry { sentence, tree: Some(parse.tree) });
        }
        Ok((entries, Some(guarantee)))
    }
}
