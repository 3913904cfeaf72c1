//! A whole pipeline from a treebank: segmenter, tagger, lemmatiser and parser, the tags that the parser learns from, and
//! the weight of the tagger's score.

use std::borrow::Cow;
use std::sync::Arc;

use super::{
    Assumption, Checkpoint, Log, Outcome, Stage, TextPart, TrainingData, assume, check_dev, check_silver,
    check_treebank, train_on,
};
use crate::config::TrainConfig;
use crate::error::Result;
use crate::lemma::{self, LemmaConfig, Lemmatiser};
use crate::pipeline::{Part, Pipeline};
use crate::segment::{SegmentConfig, Segmenter, Spaces, Written};
use crate::sentence::Sentence;
use crate::tag::{self, TagConfig, Tagger};
use crate::tree::Entry;
use crate::word_classes::WordVectors;

/// What goes into a pipeline, and how it is trained.
///
/// ```no_run
/// use treewright::pipeline::Pipeline;
/// use treewright::train::{PipelineConfig, choose};
/// # let (treebank, dev): (Vec<treewright::treebank::Entry>, Vec<treewright::treebank::Entry>) = Default::default();
/// let choice = choose(&treebank)?;
/// let config = PipelineConfig { parts: choice.parts, parser: choice.config, ..PipelineConfig::default() };
/// let pipeline = Pipeline::train(&config, &treebank, &dev, &mut ())?;
/// # Ok::<(), treewright::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PipelineConfig {
    /// The parts before the parser.
    pub parts: Vec<TextPart>,
    /// The way in which the text is written, if the treebank does not say where its spaces are.
    pub spaces: Spaces,
    /// Their seed.
    pub text_seed: u64,
    /// Word vectors for the tagger; perhaps of no words.
    pub vectors: Arc<WordVectors>,
    /// The settings of the parser; its `jobs` are those of all parts.
    pub parser: TrainConfig,
    /// Is a parser trained at all?
    pub has_parser: bool,
    /// With a tagger: the parser's training data is tagged in this many parts, each by a tagger trained on the others; 0:
    /// the parser learns from the tags of the treebank alone.
    pub folds: usize,
    /// Beside each sentence with such tags, learn from the same sentence with the treebank's own tags.
    pub treebank_tags_too: bool,
    /// Trees of another parser, which the parser learns from, too (`silver_weight` of its settings).
    pub silver: Arc<[Entry]>,
    /// Where the training of the parser goes on.
    pub resume: Option<Checkpoint>,
}

impl Default for PipelineConfig {
    fn default() -> Self {
        PipelineConfig {
            parts: TextPart::ALL.to_vec(),
            spaces: Spaces::default(),
            text_seed: 1,
            vectors: Arc::default(),
            parser: TrainConfig::default(),
            has_parser: true,
            folds: 10,
            treebank_tags_too: true,
            silver: Arc::default(),
            resume: None,
        }
    }
}

impl PipelineConfig {
    /// Is this part wanted?
    pub fn has(&self, part: TextPart) -> bool {
        self.parts.contains(&part)
    }

    /// Does the parser learn from tags of taggers?
    fn is_retagged(&self) -> bool {
        self.has(TextPart::Tagger) && self.folds > 0 && self.has_parser
    }

    /// The same with the settings of a parser, and without a checkpoint; the number of folds is one that the treebank allows.
    fn settled(&self, parser: TrainConfig, train: &[Entry], log: &mut dyn Log) -> PipelineConfig {
        let n_sentences = train.iter().filter(|entry| !entry.sentence.is_empty()).count();
        // Each part is tagged by a tagger that learnt from the others, so there are two at least.
        let folds = Some(self.folds.min(n_sentences)).filter(|&folds| folds > 1).unwrap_or(0);
        if self.is_retagged() && folds < self.folds {
            log.assumed(&Assumption::Folds { wanted: self.folds, used: folds });
        }
        PipelineConfig {
            parts: self.parts.clone(),
            spaces: self.spaces,
            text_seed: self.text_seed,
            vectors: self.vectors.clone(),
            parser,
            has_parser: self.has_parser,
            folds,
            treebank_tags_too: self.treebank_tags_too,
            silver: self.silver.clone(),
            resume: None,
        }
    }

    /// The stages of a training and about how long each takes, in microseconds on one machine; only their ratios matter.
    pub fn plan(&self, train: &[Entry], dev: &[Entry]) -> Vec<(Stage, f64)> {
        let tokens =
            |entries: &[Entry]| entries.iter().map(|entry| entry.sentence.len()).sum::<usize>() as f64;
        let (n_train, n_dev) = (tokens(train), tokens(dev));
        let PipelineConfig { parser, folds, .. } = self;
        let mut plan = Vec::new();
        if self.has(TextPart::Segmenter) {
            plan.push((Stage::Segmenter, 30.0 * n_train));
        }
        let tagging = 100.0 * n_train;
        if self.has(TextPart::Tagger) {
            plan.push((Stage::Tagger, tagging));
        }
        if self.is_retagged() {
            let rounds = folds.div_ceil(parser.jobs) as f64;
            plan.push((Stage::Jackknife, tagging * rounds * (*folds as f64 - 1.0) / *folds as f64));
        }
        if self.has(TextPart::Lemmatiser) {
            plan.push((Stage::Lemmatiser, 15.0 * n_train));
        }
        if !self.has_parser {
            return plan;
        }
        let learning = if parser.is_global() { 9.0 * parser.beam as f64 } else { 20.0 };
        let parsing = 1.5 * parser.beam as f64 / parser.jobs as f64;
        let copies = if self.is_retagged() && self.treebank_tags_too { 2.0 } else { 1.0 };
        let n_learnt = copies * n_train + parser.silver_weight * tokens(&self.silver);
        plan.push((Stage::Parser, parser.epochs as f64 * (learning * n_learnt + parsing * n_dev)));
        if self.has(TextPart::Tagger) {
            plan.push((Stage::TaggerWeight, 10.0 * parsing * n_dev));
        }
        plan
    }
}

impl Pipeline {
    /// Trains the parts of a pipeline, and the parser on tags like those that it will see. The development trees choose the
    /// best epoch and the weight of the tagger's score; there may be none. The result depends on the data, the settings
    /// and the seeds alone, never on the number of threads.
    ///
    /// # Errors
    /// When the treebank has nothing to learn a part from, and as [`train`](super::train).
    pub fn train(
        config: &PipelineConfig,
        train: &[Entry],
        dev: &[Entry],
        log: &mut dyn Log,
    ) -> Result<Pipeline> {
        if config.has_parser {
            config.parser.check()?;
            let kind = config.parser.system.info().kind;
            check_treebank(kind, train)?;
            check_dev(kind, dev)?;
            check_silver(kind, &config.silver)?;
        }
        let assume::Settled { config: parser, train, dev } = assume::settle(&config.parser, train, dev, log);
        let resume = config.resume.as_ref();
        let config = &config.settled(parser, &train, log);
        let (train, dev) = (&train[..], &dev[..]);
        let sentences = if config.parts.is_empty() { Vec::new() } else { sentences_of(train) };
        let mut run = Run { config, sentences, dev: dev.into(), retagged: Vec::new(), log };
        let mut parts: Vec<Part> = Vec::new();
        if config.has(TextPart::Segmenter) {
            parts.push(run.segmenter()?.into());
        }
        if config.has(TextPart::Tagger) {
            parts.push(run.tagger()?.into());
        }
        if config.has(TextPart::Lemmatiser) {
            parts.push(run.lemmatiser()?.into());
        }
        if !config.has_parser {
            return Ok(Pipeline::of_parts(parts));
        }
        let Run { dev, retagged, log, .. } = run;
        let treebank_tags_too = config.treebank_tags_too;
        let silver = &config.silver;
        let data = TrainingData { train, retagged: &retagged, treebank_tags_too, silver, dev: &dev };
        log.begin(Stage::Parser);
        parts.push(train_on(&config.parser, &data, resume, log)?.into());
        log.end(&Outcome::Parser);
        let mut pipeline = Pipeline::of_parts(parts);
        if config.has(TextPart::Tagger) {
            log.begin(Stage::TaggerWeight);
            if let Some(weights) = pipeline.tune_tagger_weight(&dev, config.parser.jobs)? {
                log.end(&Outcome::TaggerWeight(weights));
            }
        }
        Ok(pipeline)
    }
}

/// The training of the parts before the parser.
struct Run<'a> {
    config: &'a PipelineConfig,
    sentences: Vec<Sentence>,
    /// The development treebank; once there is a tagger, with tags like those that the parser will see.
    dev: Cow<'a, [Entry]>,
    /// The training sentences with such tags; empty if those of the treebank will do.
    retagged: Vec<Sentence>,
    log: &'a mut dyn Log,
}

impl Run<'_> {
    fn segmenter(&mut self) -> Result<Segmenter> {
        let PipelineConfig { text_seed, spaces, .. } = *self.config;
        let config = SegmentConfig { seed: text_seed, spaces, ..SegmentConfig::default() };
        let written = Written::of(&self.sentences, spaces);
        if written != Written::Given {
            self.log.assumed(&Assumption::Spaces(written));
        }
        self.log.begin(Stage::Segmenter);
        // Tokens, sentences, and sentences of a part that is held out.
        let mut share = shares(3 * config.epochs);
        let segmenter = Segmenter::train(&self.sentences, &config, &mut |_| self.log.advance(share()))?;
        self.log.end(&Outcome::Segmenter);
        Ok(segmenter)
    }

    fn tagger(&mut self) -> Result<Tagger> {
        let PipelineConfig { text_seed, vectors, folds, parser, .. } = self.config;
        let config = TagConfig { seed: *text_seed, vectors: vectors.clone(), ..TagConfig::default() };
        self.log.begin(Stage::Tagger);
        let gold = sentences_of(&self.dev);
        // Tags and readings, and guesses before them.
        let mut share = shares(3 * config.epochs);
        let tagger = Tagger::train(&self.sentences, &gold, &config, &mut |_| self.log.advance(share()))?;
        let tagger = tagger.compact();
        let mut tagged = gold.clone();
        let mut worker = tagger.worker();
        tagged.iter_mut().for_each(|sentence| worker.tag(sentence));
        self.log.end(&Outcome::Tagger { percent_right: percent_right(&gold, &tagged) });
        if self.config.is_retagged() {
            self.log.begin(Stage::Jackknife);
            let mut share = shares(*folds);
            let advance = &mut |_: &tag::Progress| self.log.advance(share());
            self.retagged = tag::jackknife(&self.sentences, *folds, &config, parser.jobs, advance)?;
            let percent_right = percent_right(&self.sentences, &self.retagged);
            self.log.end(&Outcome::Jackknife { folds: *folds, percent_right });
            self.dev.to_mut().iter_mut().zip(tagged).for_each(|(entry, tagged)| entry.sentence = tagged);
        }
        Ok(tagger)
    }

    fn lemmatiser(&mut self) -> Result<Lemmatiser> {
        let config = LemmaConfig { seed: self.config.text_seed, ..LemmaConfig::default() };
        self.log.begin(Stage::Lemmatiser);
        // Edits and casing.
        let mut share = shares(2 * config.epochs);
        let mut percent_right = None;
        let log = &mut |step: &lemma::Progress| match step {
            lemma::Progress::Epoch { .. } => self.log.advance(share()),
            lemma::Progress::Done { dev } => percent_right = Some(*dev),
        };
        let lemmatiser = Lemmatiser::train(&self.sentences, &sentences_of(&self.dev), &config, log)?;
        let lemmatiser = lemmatiser.compact();
        self.log.end(&Outcome::Lemmatiser { percent_right });
        Ok(lemmatiser)
    }
}

/// The share that is done after one step of several, after two, and so on.
fn shares(n_steps: usize) -> impl FnMut() -> f64 {
    let mut done = 0;
    move || {
        done += 1;
        f64::from(done) / n_steps as f64
    }
}

fn sentences_of(entries: &[Entry]) -> Vec<Sentence> {
    entries.iter().map(|entry| entry.sentence.clone()).collect()
}

/// The percentage of right tags among those that the treebank has.
fn percent_right(gold: &[Sentence], predicted: &[Sentence]) -> Option<f64> {
    fn tokens(sentences: &[Sentence]) -> impl Iterator<Item = &crate::sentence::Token> {
        sentences.iter().flat_map(|sentence| &sentence.tokens)
    }
    let (mut right, mut all) = (0u64, 0u64);
    for (gold, predicted) in tokens(gold).zip(tokens(predicted)).filter(|(gold, _)| !gold.tag.is_empty()) {
        right += u64::from(gold.tag == predicted.tag);
        all += 1;
    }
    (all > 0).then(|| 100.0 * right as f64 / all as f64)
}
