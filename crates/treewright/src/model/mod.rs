//! The model file: magic, version, header (system, settings, words, scorer), weights, checksum.
//!
//! ```text
//! 0   8 bytes   "TREEWRT\n"
//! 8   u32       version (6; 5 is read too: its tables have whole fingerprints)
//! 12  u32       length of the header
//! 16  u64       length of the weights, in 32-bit words
//! 24  u32       CRC-32 of everything else, from the first byte to the last
//! 28  u32       0
//! 32            header, JSON
//!     zeros up to a multiple of 64
//!     weights, 32-bit little-endian words, to the end of the file
//! ```
//!
//! The header's `scorer` says what kind of scorer the weights belong to, and what it needs beside them.

pub(crate) mod packed;
mod parser;
pub(crate) mod part_table;

pub(crate) use parser::{ParseSentence, TypedWorker};
pub use parser::{Parser, ScoredTree, Search, Share, Worker};
use part_table::PartEntry;
pub use part_table::PartKind;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::config::TrainConfig;
use crate::decode::{Method, ScoreGaps};
use crate::error::{Code, Error, Result};
use crate::features::Vocabulary;
use crate::map::{ByteRange, Bytes, WordSource};
use crate::registry::{Registered, SystemTag, SystemVisitor};
use crate::score::{Scorer, ScorerKind, ScorerModel, Shared, StoredScorer};

pub(crate) const MAGIC: &[u8; 8] = b"TREEWRT\n";
const VERSION: u32 = 6;
const OLDEST_VERSION: u32 = 5;
const PREFIX: usize = 32;
const CHECKSUM_AT: usize = 24;
const ALIGNMENT: usize = 64;
/// More weights (16 GB) are damage.
const MAX_WORDS: u64 = 1 << 32;

/// What a model has beside its system. Cloning it shares the tables.
#[derive(Clone, Debug)]
pub(crate) struct ModelParts {
    /// The words.
    pub vocabulary: Arc<Vocabulary>,
    /// The weights.
    pub scorer: Arc<dyn ScorerModel>,
    /// How it was trained.
    pub config: TrainConfig,
    /// Of the winners of beam search for the development set.
    pub score_gaps: ScoreGaps,
}

/// A model of a known system.
#[derive(Debug)]
pub(crate) struct TypedModel<S: Registered> {
    /// The system, with its labels.
    pub system: Arc<S>,
    pub parts: ModelParts,
}

impl<S: Registered> Clone for TypedModel<S> {
    fn clone(&self) -> Self {
        TypedModel { system: self.system.clone(), parts: self.parts.clone() }
    }
}

/// What the door needs of a model, whatever its system.
pub(crate) trait AnyModel: Send + Sync {
    fn tag(&self) -> SystemTag;
    fn n_actions(&self) -> usize;
    /// The system's own tables.
    fn tables(&self) -> serde_json::Result<serde_json::Value>;
    fn parts(&self) -> &ModelParts;
    /// A worker with this scorer.
    fn worker_with(&self, scorer: Box<dyn Scorer>) -> Box<dyn ParseSentence + Send>;
    /// The same with another scorer.
    fn with_scorer(&self, scorer: Arc<dyn ScorerModel>) -> Model;
    /// Can it be searched like this? If not, why.
    fn check(&self, method: Method) -> Result<(), String>;

    fn worker(&self) -> Box<dyn ParseSentence + Send> {
        self.worker_with(self.parts().scorer.scorer())
    }

    fn config(&self) -> &TrainConfig {
        &self.parts().config
    }

    /// What corresponds to a factor of e in probability, in the scores of this model. Linear models do not say; but if their
    /// scores are logarithms of probabilities in some unit, then one eventual winner in twenty was at some time twenty times
    /// (about three units) less likely than the best hypothesis.
    fn score_unit(&self) -> Option<f32> {
        let ModelParts { scorer, score_gaps, .. } = self.parts();
        if scorer.scorer().is_log_linear() {
            return Some(1.0);
        }
        let gap = score_gaps.percentile(95) as f32;
        (gap.is_finite() && gap > 0.0).then(|| gap / 20f32.ln())
    }
}

impl<S: Registered> AnyModel for TypedModel<S> {
    fn tag(&self) -> SystemTag {
        S::TAG
    }

    fn n_actions(&self) -> usize {
        self.system.n_actions()
    }

    fn tables(&self) -> serde_json::Result<serde_json::Value> {
        serde_json::to_value(&*self.system)
    }

    fn parts(&self) -> &ModelParts {
        &self.parts
    }

    fn worker_with(&self, scorer: Box<dyn Scorer>) -> Box<dyn ParseSentence + Send> {
        Box::new(TypedWorker::new(self.clone(), scorer))
    }

    fn with_scorer(&self, scorer: Arc<dyn ScorerModel>) -> Model {
        let parts = ModelParts { scorer, ..self.parts.clone() };
        Model::new(TypedModel { system: self.system.clone(), parts })
    }

    fn check(&self, method: Method) -> Result<(), String> {
        method.check(&*self.system, &mut *self.parts.scorer.scorer())
    }
}

#[derive(Serialize, Deserialize)]
struct Header {
    system: SystemTag,
    config: TrainConfig,
    /// The system's own tables.
    tables: serde_json::Value,
    vocabulary: Vocabulary,
    score_gaps: ScoreGaps,
    /// Its kind, and what that needs beside its weights.
    scorer: serde_json::Value,
}

/// What a model is, for people and programs.
#[derive(Clone, Debug, Serialize)]
pub struct ModelInfo {
    /// The transition system.
    pub system: SystemTag,
    /// The kind of scorer.
    pub scorer: &'static str,
    /// The number of its actions.
    pub n_actions: usize,
    /// The number of feature templates.
    pub n_templates: usize,
    /// The number of features with a weight; of a network, its parameters.
    pub n_features: usize,
    /// The number of words known by name.
    pub n_words: usize,
    /// The size of the weights.
    pub weight_bytes: usize,
    /// How it was trained, and on what.
    pub config: TrainConfig,
}

/// A trained model.
#[derive(Clone)]
pub struct Model(pub(crate) Arc<dyn AnyModel>);

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Model").field(&self.info()).finish()
    }
}

impl Model {
    pub(crate) fn new<S: Registered>(model: TypedModel<S>) -> Self {
        Model(Arc::new(model))
    }

    /// What it is.
    pub fn info(&self) -> ModelInfo {
        let ModelParts { vocabulary, scorer, config, .. } = self.0.parts();
        ModelInfo {
            system: self.0.tag(),
            scorer: scorer.kind(),
            n_actions: self.0.n_actions(),
            n_templates: scorer.n_templates(),
            n_features: scorer.n_features(),
            n_words: vocabulary.n_words(),
            weight_bytes: scorer.words().len() * 4,
            config: config.clone(),
        }
    }

    fn header(&self) -> serde_json::Result<Vec<u8>> {
        let ModelParts { vocabulary, scorer, config, score_gaps } = self.0.parts();
        let mut scorer_header = scorer.header();
        scorer_header["kind"] = scorer.kind().into();
        serde_json::to_vec(&Header {
            system: self.0.tag(),
            config: config.clone(),
            tables: self.0.tables()?,
            vocabulary: (**vocabulary).clone(),
            score_gaps: score_gaps.clone(),
            scorer: scorer_header,
        })
    }

    /// Writes the model file.
    ///
    /// # Errors
    /// When the output fails.
    pub fn save(&self, out: &mut dyn Write) -> Result<()> {
        let header = self.header().map_err(|error| Error::new(Code::BadModel, error.to_string()))?;
        let words = self.0.parts().scorer.words();
        let bytes: &[u8] = bytemuck::cast_slice(words);
        let start = weights_start(header.len());
        let mut front = Vec::with_capacity(start);
        front.extend(MAGIC);
        front.extend(VERSION.to_le_bytes());
        front.extend((header.len() as u32).to_le_bytes());
        front.extend((words.len() as u64).to_le_bytes());
        front.extend([0; PREFIX - CHECKSUM_AT]);
        front.extend(header);
        front.resize(start, 0);
        let checksum = checksum(&front, bytes);
        front[CHECKSUM_AT..CHECKSUM_AT + 4].copy_from_slice(&checksum.to_le_bytes());
        out.write_all(&front)?;
        out.write_all(bytes)?;
        Ok(())
    }

    /// The same model with weights of 8 bits; nothing if its scorer has no such weights, or has them already.
    pub fn quantized(&self) -> Option<Model> {
        Some(self.0.with_scorer(self.0.parts().scorer.quantized()?))
    }

    /// Maps a model file into memory; of a pipeline, the first parser.
    ///
    /// # Errors
    /// When the file cannot be read or is not a whole model of this version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let model = Bytes::open(path.as_ref()).and_then(Self::of_file);
        model.map_err(|error| error.in_file(&path.as_ref().display().to_string()))
    }

    /// Reads a model from the bytes of a file, which are copied; of a pipeline, the first parser.
    ///
    /// # Errors
    /// When this is not a whole model of this version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::of_file(Bytes::of(bytes)?)
    }

    fn of_file(file: Bytes) -> Result<Self> {
        let file = packed::unpacked(file)?;
        if !file.get().starts_with(part_table::MAGIC) {
            return Self::from_range(&file);
        }
        let is_parser = |part: &PartEntry| matches!(part.kind, PartKind::Parser(_));
        let parser = part_table::read(file.get())?.into_iter().find(is_parser);
        let none = || Error::new(Code::BadModel, "there is no parser in this model");
        let range = parser.ok_or_else(none)?.range;
        Self::from_range(&ByteRange { bytes: file.bytes.clone(), range })
    }

    pub(crate) fn from_range(range: &ByteRange) -> Result<Self> {
        let (header, start) = Self::check(range.get())?;
        Self::build(header, range.words_from(start))
    }

    /// Its scorer.
    pub(crate) fn scorer(&self) -> &dyn ScorerModel {
        &*self.0.parts().scorer
    }

    /// Its words and tags.
    pub(crate) fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.0.parts().vocabulary
    }

    /// The header and the place of the weights, once lengths and checksum hold.
    fn check(bytes: &[u8]) -> Result<(Header, usize)> {
        let bad = |message: String| Error::new(Code::BadModel, message);
        if !bytes.starts_with(MAGIC) {
            return Err(bad("this is not a treewright model".to_owned()));
        }
        let short = || bad(format!("the model is cut short: it has {} bytes", bytes.len()));
        let prefix = bytes.get(..PREFIX).ok_or_else(short)?;
        let number = |at: usize| u32::from_le_bytes(prefix[at..at + 4].try_into().expect("four bytes"));
        let version = number(8);
        if !(OLDEST_VERSION..=VERSION).contains(&version) {
            return Err(bad(format!(
                "the model has version {version}; this program reads versions {OLDEST_VERSION} to {VERSION}"
            )));
        }
        let n_words = u64::from_le_bytes(prefix[16..24].try_into().expect("eight bytes"));
        if n_words > MAX_WORDS {
            return Err(bad(format!("the model has {n_words} weights, more than this program reads")));
        }
        let header_len = number(12) as usize;
        let start = weights_start(header_len);
        let length = n_words.checked_mul(4).and_then(|size| size.checked_add(start as u64));
        if length != Some(bytes.len() as u64) {
            return Err(bad(match length {
                Some(length) => format!("the model should have {length} bytes but has {}", bytes.len()),
                None => "the model's lengths are damaged".to_owned(),
            }));
        }
        let header = &bytes[PREFIX..PREFIX + header_len];
        if checksum(&bytes[..start], &bytes[start..]) != number(CHECKSUM_AT) {
            return Err(bad("the model is damaged: its checksum does not match".to_owned()));
        }
        let header = serde_json::from_slice(header);
        Ok((header.map_err(|error| bad(format!("in the model's header: {error}")))?, start))
    }

    fn build(header: Header, words: Arc<dyn WordSource>) -> Result<Self> {
        struct Build(Header, Arc<dyn WordSource>);
        impl SystemVisitor for Build {
            type Output = Result<Model>;
            fn visit<S: Registered>(self) -> Result<Model> {
                let Build(mut header, words) = self;
                let wrong = |why: String| bad(format!("in the system's tables: {why}"));
                let system = serde_json::from_value(header.tables.take());
                let system: S = system.map_err(|error| wrong(error.to_string()))?;
                system.check_tables().map_err(wrong)?;
                let parts = ModelParts::load(header, words, system.actions().kind_ends().to_vec())?;
                Ok(Model::new(TypedModel { system: Arc::new(system), parts }))
            }
        }
        header.system.visit(Build(header, words))
    }
}

impl ModelParts {
    fn load(header: Header, words: Arc<dyn WordSource>, kind_ends: Vec<usize>) -> Result<Self> {
        let Header { system, config, vocabulary, score_gaps, scorer, .. } = header;
        check_settings(&config, system, &score_gaps).map_err(bad)?;
        let vocabulary = Arc::new(vocabulary);
        let shared = Shared { vocabulary: vocabulary.clone(), kind_ends };
        let kind = scorer["kind"].as_str().unwrap_or_default();
        let kind = <dyn ScorerKind>::named(kind).map_err(|error| bad(error.message))?;
        Ok(ModelParts {
            vocabulary,
            scorer: kind.load(StoredScorer { header: scorer, words }, shared)?,
            config,
            score_gaps,
        })
    }
}

fn bad(message: String) -> Error {
    Error::new(Code::BadModel, message)
}

/// The widest beam that a model file may ask for. Users may ask for a wider one.
const MAX_BEAM: usize = 4096;

/// Checks the settings of a header that matter when parsing, and the percentiles of score gaps.
fn check_settings(
    config: &TrainConfig,
    system: SystemTag,
    score_gaps: &ScoreGaps,
) -> std::result::Result<(), String> {
    if config.system != system {
        return Err(format!("the model is for {system}, but was trained for {}", config.system));
    }
    if !(1..=MAX_BEAM).contains(&config.beam) {
        return Err(format!("the model's beam is {}; it should be from 1 to {MAX_BEAM}", config.beam));
    }
    config.pseudo_projective().map_err(|error| error.message.to_string())?;
    if !score_gaps.is_sound() {
        return Err("the model's percentiles of score gaps are not in order".to_owned());
    }
    Ok(())
}

/// Where the weights begin: aligned, so that they can be used where they lie.
fn weights_start(header_len: usize) -> usize {
    (PREFIX + header_len).next_multiple_of(ALIGNMENT)
}

/// The checksum of a file, without the place where it stands itself: of what comes before the weights, and of these.
fn checksum(front: &[u8], weights: &[u8]) -> u32 {
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&front[..CHECKSUM_AT]);
    checksum.update(&front[CHECKSUM_AT + 4..]);
    checksum.update(weights);
    checksum.finalize()
}
