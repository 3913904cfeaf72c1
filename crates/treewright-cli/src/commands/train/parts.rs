//! The parts before the parser: segmenter, tagger and lemmatiser, and the tags that the parser learns from.

use std::sync::Arc;

use treewright::config::TrainConfig;
use treewright::lemma::{self, LemmaConfig, Lemmatiser};
use treewright::pipeline::Part;
use treewright::segment::{SegmentConfig, Segmenter};
use treewright::tag::{self, TagConfig, Tagger};
use treewright::treebank::Entry;
use treewright::word_classes::WordVectors;
use treewright::{Result, Sentence, Str, Token};

use super::FOLDS;
use super::flags::{PartArg, TrainArgs};
use super::progress::{Plan, Progress, Stage};

/// What was trained before the parser, and what follows for its data.
pub struct TextParts {
    /// The parts themselves.
    pub parts: Vec<Part>,
    /// The training sentences with tags like those that the parser will see; empty if those of the treebank will do.
    pub retagged: Vec<Sentence>,
    /// The development treebank, with such tags.
    pub dev: Vec<Entry>,
    /// The percentage of tags that are right on the development treebank.
    pub accuracies: Vec<(&'static str, f64)>,
}

impl TextParts {
    /// Trains the parts that are wanted.
    ///
    /// # Errors
    /// When the treebank has nothing to learn one of them from.
    pub fn train(
        args: &TrainArgs,
        config: &TrainConfig,
        parts: &[PartArg],
        vectors: &Arc<WordVectors>,
        training: &[Entry],
        dev: Vec<Entry>,
        progress: &mut Progress,
    ) -> Result<Self> {
        let seed = args.text_seed.unwrap_or(config.seed);
        let mut trained = TextParts { parts: Vec::new(), retagged: Vec::new(), dev, accuracies: Vec::new() };
        let sentences = if parts.is_empty() { Vec::new() } else { sentences_of(training) };
        if parts.contains(&PartArg::Segmenter) {
            trained.parts.push(train_segmenter(seed, &sentences, progress)?.into());
        }
        if parts.contains(&PartArg::Tagger) {
            let vectors = if seed == config.seed { vectors.clone() } else { args.read_vectors(seed)? };
            let settings = TagConfig { seed, vectors, ..TagConfig::default() };
            trained.train_tagger(args, &settings, config.jobs, &sentences, progress)?;
        }
        if parts.contains(&PartArg::Lemmatiser) {
            trained.train_lemmatiser(seed, &sentences, progress)?;
        }
        Ok(trained)
    }

    fn train_lemmatiser(&mut self, seed: u64, training: &[Sentence], progress: &mut Progress) -> Result<()> {
        let config = LemmaConfig { seed, ..LemmaConfig::default() };
        // Edits and casing.
        let epochs = 2 * config.epochs;
        let (mut done, mut accuracy) = (0, None);
        progress.begin(Stage::Lemmatiser);
        let lemmatiser =
            Lemmatiser::train(training, &sentences_of(&self.dev), &config, &mut |step| match step {
                lemma::Progress::Epoch { .. } => {
                    done += 1;
                    progress.advance(f64::from(done) / epochs as f64, "");
                }
                lemma::Progress::Done { dev } => accuracy = Some(*dev),
            })?;
        self.accuracies.extend(accuracy.map(|percent| ("lemmas", percent)));
        progress.end(
            &accuracy.map_or(String::new(), |percent| format!("{percent:.2} % of the lemmas of dev right")),
        );
        self.parts.push(lemmatiser.into());
        Ok(())
    }

    fn train_tagger(
        &mut self,
        args: &TrainArgs,
        settings: &TagConfig,
        jobs: usize,
        training: &[Sentence],
        progress: &mut Progress,
    ) -> Result<()> {
        // Tags and readings, and guesses before them.
        let epochs = 3 * settings.epochs;
        let mut done = 0;
        progress.begin(Stage::Tagger);
        let gold = sentences_of(&self.dev);
        let tagger = Tagger::train(training, &gold, settings, &mut |_| {
            done += 1;
            progress.advance(f64::from(done) / epochs as f64, "");
        })?;
        let mut tagged = gold.clone();
        let mut worker = tagger.worker();
        tagged.iter_mut().for_each(|sentence| worker.tag(sentence));
        let is_dependencies =
            matches!(self.dev.first(), Some(Entry { tree: Some(treewright::Tree::Dependency(_)), .. }));
        let name = if is_dependencies { "UPOS" } else { "tags" };
        let accuracy = percent_right(&gold, &tagged, |token| &token.tag);
        self.accuracies.extend(accuracy.map(|percent| (name, percent)));
        progress.end(
            &accuracy.map_or(String::new(), |percent| format!("{percent:.2} % of the tags of dev right")),
        );
        let folds = args.jackknife.unwrap_or(FOLDS);
        if folds > 0 && !args.no_parser {
            progress.begin(Stage::Jackknife);
            self.retagged = tag::jackknife(training, folds, settings, jobs, &mut |step| {
                if let tag::Progress::Fold { done, folds } = step {
                    progress.advance(*done as f64 / *folds as f64, "");
                }
            })?;
            let accuracy = percent_right(training, &self.retagged, |token| &token.tag);
            progress.end(&accuracy.map_or(String::new(), |percent| {
                format!("the training data tagged in {folds} parts, each by a tagger of the others, {percent:.2} % right")
            }));
            self.dev.iter_mut().zip(tagged).for_each(|(entry, tagged)| entry.sentence = tagged);
        }
        self.parts.push(tagger.into());
        Ok(())
    }
}

fn sentences_of(entries: &[Entry]) -> Vec<Sentence> {
    entries.iter().map(|entry| entry.sentence.clone()).collect()
}

fn train_segmenter(seed: u64, sentences: &[Sentence], progress: &mut Progress) -> Result<Segmenter> {
    let config = SegmentConfig { seed, ..SegmentConfig::default() };
    // Tokens, sentences, and sentences of a part that is held out.
    let epochs = 3 * config.epochs;
    let mut done = 0;
    progress.begin(Stage::Segmenter);
    let segmenter = Segmenter::train(sentences, &config, &mut |_| {
        done += 1;
        progress.advance(f64::from(done) / epochs as f64, "");
    })?;
    progress.end("");
    Ok(segmenter)
}

/// The percentage of the tokens with a value in a column whose predicted value is the same.
fn percent_right(gold: &[Sentence], predicted: &[Sentence], column: fn(&Token) -> &Str) -> Option<f64> {
    let tokens = |sentences: &'_ [Sentence]| -> Vec<Str> {
        sentences.iter().flat_map(|sentence| &sentence.tokens).map(|token| column(token).clone()).collect()
    };
    let (gold, predicted) = (tokens(gold), tokens(predicted));
    let given = gold.iter().zip(&predicted).filter(|(gold, _)| !gold.is_empty());
    let (right, all) = given.fold((0u64, 0u64), |(right, all), (g, p)| (right + u64::from(g == p), all + 1));
    (all > 0).then(|| 100.0 * right as f64 / all as f64)
}

/// The stages of a run and about how long each takes, in microseconds on one machine; only their ratios matter.
pub fn plan(
    args: &TrainArgs,
    config: &TrainConfig,
    parts: &[PartArg],
    training: &[Entry],
    dev: &[Entry],
) -> Plan {
    let tokens = |entries: &[Entry]| entries.iter().map(|entry| entry.sentence.len()).sum::<usize>() as f64;
    let (n_train, n_dev) = (tokens(training), tokens(dev));
    let folds = args.jackknife.unwrap_or(FOLDS);
    let mut plan = Plan::new();
    if parts.contains(&PartArg::Segmenter) {
        plan.push((Stage::Segmenter, 30.0 * n_train));
    }
    let has_tagger = parts.contains(&PartArg::Tagger);
    let tagging = 100.0 * n_train;
    if has_tagger {
        plan.push((Stage::Tagger, tagging));
    }
    let is_retagged = has_tagger && folds > 0 && !args.no_parser;
    if is_retagged {
        let rounds = folds.div_ceil(config.jobs) as f64;
        plan.push((Stage::Jackknife, tagging * rounds * (folds as f64 - 1.0) / folds as f64));
    }
    if parts.contains(&PartArg::Lemmatiser) {
        plan.push((Stage::Lemmatiser, 15.0 * n_train));
    }
    if args.no_parser {
        return plan;
    }
    let learning = if config.is_global() { 9.0 * config.beam as f64 } else { 20.0 };
    let parsing = 1.5 * config.beam as f64 / config.jobs as f64;
    let copies = if is_retagged && !args.jackknife_only { 2.0 } else { 1.0 };
    plan.push((Stage::Parser, config.epochs as f64 * (learning * copies * n_train + parsing * n_dev)));
    if has_tagger {
        plan.push((Stage::CloseCalls, 10.0 * parsing * n_dev));
    }
    plan
}
