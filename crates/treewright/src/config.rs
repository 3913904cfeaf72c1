//! The settings of a training run, as data: flags, a TOML file and the model file all hold this.

mod encoder;
mod neural;
mod section;
mod stack_lstm;

pub use encoder::EncoderFiles;
pub use neural::{LossKind, NeuralConfig};
pub use stack_lstm::{Composition, OptimiserKind, StackLstmConfig};

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Code, Error, Result};
use crate::features::{TemplateSet, shipped, shipped_names};
use crate::names::by_name;
use crate::registry::{OracleKind, SystemTag};
use crate::system::SystemOptions;
use crate::tree::{Preparation, PseudoProjective};
use crate::word_classes::{WordClasses, WordVectors};

/// Which states training learns from, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Update {
    /// Each state by itself, with an oracle.
    Local,
    /// Whole derivations in a beam, up to where the gold one falls out (Collins and Roark 2004).
    Early,
    /// Whole derivations in a beam, up to where the gold one is worst (Huang et al. 2012).
    MaxViolation,
}

/// Which search a model is trained with, and parses with unless told otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecoderKind {
    /// A plain beam; greedy, if it has one item.
    #[default]
    Beam,
    /// A beam of merged states: dynamic programming.
    Dp,
    /// Exact search, after a beam.
    Astar,
}

impl DecoderKind {
    /// Every one of them.
    pub const ALL: &[DecoderKind] = &[DecoderKind::Beam, DecoderKind::Dp, DecoderKind::Astar];

    /// Its name in settings and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            DecoderKind::Beam => "beam",
            DecoderKind::Dp => "dp",
            DecoderKind::Astar => "astar",
        }
    }

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over references")]
    fn is_beam(&self) -> bool {
        *self == DecoderKind::Beam
    }
}

by_name!(DecoderKind, "decoder");

/// The treatment of trees with empty elements (`-NONE-`), as Penn treebanks have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Traces {
    /// The empty elements are removed, with the function labels whose indices point to them.
    #[default]
    Remove,
    /// They are words like any others.
    Keep,
    /// They were removed: a model records this if its treebank had some.
    Removed,
}

impl Traces {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over references")]
    fn is_default(&self) -> bool {
        *self == Traces::Remove
    }
}

/// Everything that a training run depends on beside its data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TrainConfig {
    /// The transition system.
    pub system: SystemTag,
    /// The kind of scorer.
    #[serde(skip_serializing_if = "is_perceptron")]
    pub scorer: String,
    /// Sentences in a minibatch.
    #[serde(skip_serializing_if = "is_one")]
    pub batch: usize,
    /// The name of a shipped template set, or empty if `templates` holds one; by default the system's own.
    pub features: String,
    /// The text of a template set of the user's own.
    pub templates: String,
    /// Which update.
    pub update: Update,
    /// The oracle of local training; by default the dynamic one, or the static one for a system that has no dynamic one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oracle: Option<OracleKind>,
    /// Which search.
    #[serde(skip_serializing_if = "DecoderKind::is_beam")]
    pub decoder: DecoderKind,
    /// Items in the beam; 1 is greedy.
    pub beam: usize,
    /// Passes over the data.
    pub epochs: usize,
    /// With this probability local training follows the model's own wrong action.
    pub explore: f64,
    /// ... after this many epochs.
    pub explore_after: usize,
    /// The order of sentences and all choices follow from it.
    pub seed: u64,
    /// Threads; never changes the result, so it is not kept.
    #[serde(skip)]
    pub jobs: usize,
    /// Classes of words, from word vectors; kept in the model's vocabulary.
    #[serde(skip)]
    pub classes: Arc<WordClasses>,
    /// Head rules for binary systems: the name of a table, or `auto`, for the one that fits the labels of the training data.
    /// A model keeps the name of the table.
    pub head_rules: String,
    /// Constituents: what happens to trees with empty elements.
    #[serde(skip_serializing_if = "Traces::is_default")]
    pub traces: Traces,
    /// Sisters that a temporary symbol remembers.
    pub markov_order: usize,
    /// Dependencies: exactly one word hangs from the root.
    pub single_root: bool,
    /// Dependencies: make the training trees projective by this encoding (`head`, `path` or `head+path`) and undo it
    /// in parses; empty for not at all.
    pub pseudo_projective: String,
    /// Trees that need an action which fewer trees need are left out (and reported): a label seen once costs time in
    /// every state, and nothing can be learnt about it.
    #[serde(alias = "rare-actions")]
    pub min_action_count: usize,
    /// Averaged weights smaller than this are left out of the model (an update adds 1): smaller files, a little less
    /// accurate.
    #[serde(alias = "least-weight")]
    pub min_weight: f32,
    /// How often a tree of the silver treebank is seen in an epoch, on average; one of the treebank is seen once.
    #[serde(skip_serializing_if = "is_whole")]
    pub silver_weight: f64,
    /// What the model was trained on and its licence, for people.
    pub note: String,
    /// Word vectors for a neural scorer, which keeps what it needs of them.
    #[serde(skip)]
    pub vectors: Arc<WordVectors>,
    /// A pre-trained encoder for a neural scorer, whose model keeps it.
    #[serde(skip)]
    pub encoder: Arc<EncoderFiles>,
    /// The neural scorer.
    #[serde(skip_serializing_if = "NeuralConfig::is_default")]
    pub neural: NeuralConfig,
    /// The stack-LSTM scorer.
    #[serde(skip_serializing_if = "StackLstmConfig::is_default")]
    pub stack_lstm: StackLstmConfig,
}

/// Stands for head rules that are chosen by the labels.
const AUTO: &str = "auto";

const PERCEPTRON: &str = "perceptron";

fn is_perceptron(scorer: &str) -> bool {
    scorer == PERCEPTRON
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over references")]
fn is_one(batch: &usize) -> bool {
    *batch == 1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over references")]
fn is_whole(weight: &f64) -> bool {
    *weight == 1.0
}

impl Default for TrainConfig {
    fn default() -> Self {
        TrainConfig {
            system: SystemTag::InOrder,
            scorer: PERCEPTRON.to_owned(),
            batch: 1,
            features: String::new(),
            templates: String::new(),
            update: Update::Early,
            oracle: None,
            decoder: DecoderKind::Beam,
            beam: 4,
            epochs: 15,
            explore: 0.9,
            explore_after: 1,
            seed: 1,
            jobs: 1,
            classes: Arc::default(),
            head_rules: AUTO.to_owned(),
            traces: Traces::default(),
            markov_order: 0,
            single_root: true,
            pseudo_projective: String::new(),
            min_action_count: 1,
            min_weight: 0.0,
            silver_weight: 1.0,
            note: String::new(),
            vectors: Arc::default(),
            encoder: Arc::default(),
            neural: NeuralConfig::default(),
            stack_lstm: StackLstmConfig::default(),
        }
    }
}

impl TrainConfig {
    /// Do the settings make sense?
    ///
    /// # Errors
    /// With the name of the setting that does not.
    pub fn check(&self) -> Result<()> {
        let complain = |message: &str| Err(Error::new(Code::BadTraining, message));
        match () {
            () if self.beam == 0 => complain("beam must be at least 1"),
            () if self.batch == 0 => complain("batch must be at least 1"),
            () if self.epochs == 0 => complain("epochs must be at least 1"),
            () if !(0.0..=1.0).contains(&self.explore) => complain("explore is a probability, from 0 to 1"),
            () if !self.min_weight.is_finite() || self.min_weight < 0.0 => {
                complain("min-weight must be a number that is not negative")
            }
            () if !(0.0..=100.0).contains(&self.silver_weight) => {
                complain("silver-weight must be from 0 to 100")
            }
            () if !self.pseudo_projective.is_empty() && !self.system.info().is_projective() => {
                complain("pseudo-projective is for the projective systems, arc-hybrid and arc-eager")
            }
            () => self
                .neural
                .check()
                .and(self.stack_lstm.check())
                .and(self.templates())
                .and(self.pseudo_projective())
                .map(|_| ()),
        }
    }

    /// The oracle that is asked in local training.
    pub fn oracle(&self) -> OracleKind {
        self.oracle.unwrap_or(match self.system.info().has_dynamic_oracle {
            true => OracleKind::Dynamic,
            false => OracleKind::Static,
        })
    }

    /// These settings with the oracle named, as a model records them.
    ///
    /// # Errors
    /// When the system has no such oracle. A dynamic one may be named in global training, which asks none.
    pub(crate) fn with_oracle(&self) -> Result<Self> {
        let (system, oracle) = (self.system, self.oracle());
        let what = match oracle {
            _ if system.info().has_oracle(oracle) => {
                return Ok(TrainConfig { oracle: Some(oracle), ..self.clone() });
            }
            OracleKind::Dynamic if self.is_global() => {
                return Ok(TrainConfig { oracle: Some(OracleKind::Static), ..self.clone() });
            }
            OracleKind::Static | OracleKind::Dynamic => format!("no {oracle} oracle"),
            OracleKind::Paper => "no oracle as printed in a paper beside its exact one".to_owned(),
            OracleKind::Authors => {
                "no oracle as computed by a paper's authors beside its exact one".to_owned()
            }
        };
        Err(Error::new(Code::BadTraining, format!("{system} has {what}")))
    }

    /// Is training global, with whole derivations in a beam? Then no oracle is asked and nothing is explored.
    pub fn is_global(&self) -> bool {
        self.update != Update::Local
    }

    /// Settings from TOML; what is not named has its default.
    ///
    /// # Errors
    /// With line and column, when the text is not TOML or names a setting that does not exist.
    pub fn from_toml(text: &str) -> Result<Self> {
        toml::from_str(text).map_err(|error| {
            let before = &text[..error.span().map_or(0, |span| span.start)];
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().map_or(0, |start| start.chars().count()) + 1;
            Error::at(Code::BadTraining, line, column, error.message())
        })
    }

    /// All settings as TOML.
    pub fn to_toml(&self) -> String {
        let settings = TrainConfig { oracle: Some(self.oracle()), ..self.clone() };
        toml::to_string(&settings).expect("settings are plain data")
    }

    /// The template set.
    ///
    /// # Errors
    /// When there is no set of this name, or the user's own cannot be read.
    pub fn templates(&self) -> Result<TemplateSet> {
        if !self.templates.is_empty() {
            return TemplateSet::parse(&self.templates);
        }
        let name =
            if self.features.is_empty() { self.system.info().features } else { self.features.as_str() };
        shipped(name).ok_or_else(|| {
            let message =
                format!("there is no feature set {name:?}; there are {}", shipped_names().join(", "));
            Error::new(Code::BadTraining, message)
        })
    }

    /// The encoding of non-projective arcs, if there is one.
    ///
    /// # Errors
    /// When there is no encoding of this name.
    pub fn pseudo_projective(&self) -> Result<Option<PseudoProjective>> {
        match self.pseudo_projective.as_str() {
            "" => Ok(None),
            name => PseudoProjective::named(name).map(Some).ok_or_else(|| {
                let message = format!(
                    "there is no pseudo-projective encoding {name:?}; there are head, path and head+path"
                );
                Error::new(Code::BadTraining, message)
            }),
        }
    }

    /// True if the head rules are to be chosen by the labels of the training data, and the system needs some.
    pub fn chooses_head_rules(&self) -> bool {
        self.head_rules == AUTO && self.system.info().is_binary
    }

    /// What is done to trees before the system sees them.
    pub fn preparation(&self) -> Preparation {
        let default = Preparation::default();
        let head_rules = if self.head_rules == AUTO { default.head_rules } else { self.head_rules.clone() };
        Preparation { head_rules, markov_order: self.markov_order }
    }

    /// What the system is told.
    pub fn system_options(&self) -> SystemOptions {
        SystemOptions { single_root: self.single_root }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_sections_are_named_as_users_write_them() {
        let message = |toml: &str| {
            let config = TrainConfig::from_toml(toml).expect("TOML");
            config.check().expect_err("it makes no sense").message
        };
        assert_eq!(
            message("scorer = \"neural\"\nupdate = \"local\"\nbeam = 1\n[neural]\nword-size = 0\n"),
            "neural.word-size must be from 1 to 16384"
        );
        let stack_lstm =
            "scorer = \"stack-lstm\"\nupdate = \"local\"\nbeam = 1\n[stack-lstm]\nbeta-1 = 1.0\n";
        assert_eq!(message(stack_lstm), "stack-lstm.beta-1 must be from 0 to less than 1");
    }

    #[test]
    fn every_setting_is_documented() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");
        let page = std::fs::read_to_string(page).expect("the page");
        // Settings with these values are not left out.
        let config = TrainConfig {
            scorer: "neural".to_owned(),
            batch: 2,
            decoder: DecoderKind::Dp,
            silver_weight: 0.5,
            traces: Traces::Keep,
            ..TrainConfig::default()
        };
        let keys = |value: toml::Table| value.into_iter().map(|(key, _)| key).collect::<Vec<_>>();
        let section = |from: &str, to: &str| {
            let start = page.find(from).expect("a section") + from.len();
            let end = page[start..].find(to).map_or(page.len(), |end| start + end);
            page[start..end].to_owned()
        };
        let neural = toml::Table::try_from(NeuralConfig::default()).expect("plain data");
        let stack_lstm = toml::Table::try_from(StackLstmConfig::default()).expect("plain data");
        let all = [
            (config.to_toml().parse().expect("TOML"), section("# Settings", "## `[neural]`")),
            (neural, section("## `[neural]`", "## `[stack-lstm]`")),
            (stack_lstm, section("## `[stack-lstm]`", "no such text")),
        ];
        for (table, text) in all {
            for key in keys(table) {
                assert!(text.contains(&format!("| `{key}` |")), "{key} is not in docs/settings.md");
            }
        }
        for old in ["rare-actions", "least-weight"] {
            assert!(page.contains(&format!("`{old}`")), "{old}");
        }
    }

    #[test]
    fn settings_under_their_old_names_are_read() {
        let config = TrainConfig::from_toml("rare-actions = 3\nleast-weight = 0.5\n").unwrap();
        assert_eq!((config.min_action_count, config.min_weight), (3, 0.5));
        assert!(config.to_toml().contains("min-action-count = 3\nmin-weight = 0.5\n"));
    }

    #[test]
    fn decoders_have_the_same_names_in_settings_and_elsewhere() {
        for &decoder in DecoderKind::ALL {
            let config = TrainConfig::from_toml(&format!("decoder = \"{decoder}\"")).unwrap();
            assert_eq!((config.decoder, decoder.name().parse()), (decoder, Ok(decoder)));
        }
    }

    #[track_caller]
    fn check(toml: &str, line: usize, column: usize) {
        let error = TrainConfig::from_toml(toml).and_then(|config| config.check()).unwrap_err();
        assert_eq!(
            (error.code, error.location.line, error.location.column),
            (Code::BadTraining, line, column),
            "{error}"
        );
    }

    #[test]
    fn bad_settings_are_refused() {
        check("beam = 4\nbeem = 8\n", 2, 1);
        check("beam = 0", 0, 0);
        check("min-weight = nan", 0, 0);
        check("system = \"in-order\"\npseudo-projective = \"head\"", 0, 0);
        check("system = \"arc-hybrid-swap\"\npseudo-projective = \"head\"", 0, 0);
        for section in ["neural", "stack-lstm"] {
            let sizes = ["units = 0", "hidden = 16385", "layers = 65"];
            let numbers = ["dropout = 1.0", "beta-1 = -0.1", "clip = 0.0", "learning-rate = inf"];
            for bad in sizes.iter().chain(&numbers) {
                check(&format!("[{section}]\n{bad}\n"), 0, 0);
            }
        }
        check("[neural]\ntag-weight = -1.0\n", 0, 0);
        check("[neural]\nencoder-outputs = [5]\n", 0, 0);
        check("[stack-lstm]\nsingleton-dropout = 1.1\n", 0, 0);
    }
}
