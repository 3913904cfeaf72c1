//! The flags of `treewright train`, the settings they come to, and which of them do not go together.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use clap::{Args, ValueEnum};
use treewright::config::{DecoderKind, EncoderFiles, Traces, TrainConfig, Update};
use treewright::registry::OracleKind;
use treewright::registry::SystemTag;
use treewright::score::ScorerKind;
use treewright::segment::Spaces;
use treewright::train::{Choice, Recipe, TextPart};
use treewright::tree::TreeKind;
use treewright::word_classes::WordVectors;
use treewright::{Code, Error, Result};

use crate::io::{Inputs, ReadArgs, read_text, refuse_unless_model, usage, with_suffix};
use crate::jobs::{self, Jobs, at_least_one};
use crate::models;
use crate::values;

/// Train a parser on a treebank; settings and parts are chosen to suit the data
///
/// Given only data, it inspects the treebank, picks a recipe and explains the choice. Along with the parser it trains
/// a segmenter (text to tokens), a tagger and a lemmatiser, if the treebank has what they need. With --recipe, --system
/// or --config it trains the parser alone, unless --with names other parts.
#[derive(Args)]
#[command(after_help = "\
If the model has a tagger, the parser is trained on tags like those it will see: the training data is tagged in parts, \
each by a tagger trained on the others (--jackknife). The parser learns from each sentence twice, with these tags and \
with the treebank's own. Where the tagger's two best tags are close, the model parses with both and keeps the better \
total score; the weight of the tagger's score is tuned on the development data.

Examples:
  # settings and parts chosen from the data
  treewright train --train train.conllu --dev dev.conllu -o my.model
  # the parser alone, for input with tags like the treebank's
  treewright train --train train.mrg --dev dev.mrg \\
      --without segmenter,tagger,lemmatiser -o my.model
  # a recipe
  treewright train --recipe fast-dependencies --train train.conllu \\
      --dev dev.conllu -o my.model
  # every setting by hand
  treewright train --system sr-gap --beam 8 --update early \\
      --head-rules dutch --train train.discbracket \\
      --dev dev.discbracket -o my.model
  # the settings of a recipe, to edit and use with --config
  treewright train --recipe discontinuous --print-config > settings.toml")]
pub struct TrainArgs {
    /// The training treebank; may be given several times
    #[arg(long, value_name = "FILE")]
    pub train: Vec<PathBuf>,

    /// The development treebank: the epoch that scores best on it is kept. May be given several times
    #[arg(long, value_name = "FILE")]
    pub dev: Vec<PathBuf>,

    /// Silver trees (parses by another model) to train on as well. May be given several times
    ///
    /// They should be of the same kind as the treebank's trees, with the same labels; their tags are used as they are.
    /// Trees that need an action that no tree of the treebank needs are left out
    #[arg(long, value_name = "FILE")]
    pub silver: Vec<PathBuf>,

    /// With --silver: how often each silver tree is used per epoch, on average; with 0.5 in every other epoch [default: 1]
    #[arg(long, value_name = "W", requires = "silver")]
    pub silver_weight: Option<f64>,

    /// Write the model to this file
    #[arg(long, short)]
    pub output: Option<PathBuf>,

    /// Settings that work well for a kind of treebank; flags override them (--print-config shows them)
    #[arg(long, value_name = "NAME", conflicts_with = "config",
        value_parser = clap::builder::PossibleValuesParser::new(Recipe::ALL.iter().map(|recipe| recipe.name)))]
    pub recipe: Option<String>,

    /// The transition system
    #[arg(long, value_parser = values::system())]
    pub system: Option<SystemTag>,

    /// Settings as a TOML file; flags override it
    #[arg(long, value_name = "FILE.toml")]
    pub config: Option<PathBuf>,

    /// Print all settings as TOML and stop
    #[arg(long)]
    pub print_config: bool,

    /// Continue from MODEL.checkpoint; the model is the same as without the interruption
    #[arg(long)]
    pub resume: bool,

    /// What else to put into the model: segmenter (text to tokens), tagger, lemmatiser [default: what the treebank has
    /// the data for; nothing with --recipe, --system or --config]
    #[arg(long, value_parser = values::text_part(), value_delimiter = ',', value_name = "PART,..", hide_possible_values = true)]
    pub with: Vec<TextPart>,

    /// What to leave out of the model
    #[arg(long, value_parser = values::text_part(), value_delimiter = ',', value_name = "PART,..", hide_possible_values = true)]
    pub without: Vec<TextPart>,

    /// The spacing of the text, if the treebank does not give it (CoNLL-U does by `# text` or SpaceAfter=No): with
    /// spaces between words (yes), without, as in Chinese, Japanese or Thai (no), or by the script of the words (guess)
    /// [default: guess]
    #[arg(long, value_name = "yes|no|guess", value_parser = values::spaces(), hide_possible_values = true)]
    pub spaces: Option<Spaces>,

    /// Constituents: learn empty elements (-NONE-) as if they were words. By default, trees with such elements are trained
    /// as after `convert --transform remove-traces,strip-functions,collapse-same,root`
    #[arg(long)]
    pub keep_traces: bool,

    /// Train only what --with names, no parser
    #[arg(long, requires = "with", conflicts_with_all = OF_THE_PARSER)]
    pub no_parser: bool,

    /// With a tagger: tag the parser's training data in this many parts, each by a tagger trained on the others; with 0
    /// the parser is trained only on the tags of the treebank [default: 10]
    #[arg(long, value_name = "N")]
    pub jackknife: Option<usize>,

    /// With a tagger: train only on the jack-knifed tags, not also on the treebank's own. Takes half the time; the parser
    /// is less accurate, especially on input that has tags
    #[arg(long)]
    pub jackknife_only: bool,

    /// Word vectors: one word and its numbers per line, optionally gzipped (.gz). Used by neural parsers, and, for classes
    /// of words, by the tagger and by feature sets with such classes (dependency-classes)
    #[arg(long, value_name = "FILE")]
    pub vectors: Option<PathBuf>,

    /// A folder with a pre-trained encoder of the BERT family (config.json, vocab.txt or tokenizer.json, model.safetensors)
    /// as additional input for a neural parser, stored in its model; scripts/get-encoder fetches one. Or a model that has
    /// such an encoder, by path or by name, for example english-accurate
    #[arg(long, value_name = "DIR")]
    pub encoder: Option<PathBuf>,

    /// With --encoder: use only its first N layers [default: 4]
    #[arg(long, value_name = "N", requires = "encoder")]
    pub encoder_layers: Option<usize>,

    /// With --encoder: also train its layers, instead of keeping them fixed; more accurate, but training is slower
    #[arg(long, requires = "encoder")]
    pub fine_tune: bool,

    #[arg(long, help = about_scorers(), value_parser = values::scorer(), hide_possible_values = true)]
    pub scorer: Option<String>,

    /// Local training: the oracle [default: dynamic, or static if the system has no dynamic one]
    #[arg(long, value_name = "KIND", value_parser = values::oracle())]
    pub oracle: Option<OracleKind>,

    /// The name of a built-in feature set, or a file with templates [default: the set that belongs to the system]
    #[arg(long, value_name = "SET|FILE")]
    pub features: Option<String>,

    /// How to search, in global training and later in parsing: a beam, a beam of merged states (dynamic programming; for
    /// bottom-up-2n, arc-hybrid and arc-eager), or exact search (for bottom-up-2n with --features simplified; slow)
    /// [default: beam]
    #[arg(long, value_parser = values::trained_decoder())]
    pub decoder: Option<DecoderKind>,

    /// Items in the beam; 1 means local training, unless --update says otherwise [default: 4]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub beam: Option<usize>,

    /// How to update: after single steps (local training), or after beam search (global training), at the step where the
    /// gold derivation leaves the beam (early) or where its score is furthest below the best (max-violation) [default:
    /// early; local with --beam 1]
    #[arg(long, value_enum)]
    pub update: Option<UpdateArg>,

    /// Passes over the data [default: 15]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub epochs: Option<usize>,

    /// Local training: the probability of following the model's own wrong action [default: 0.9]
    #[arg(long, value_name = "P", value_parser = probability)]
    pub explore: Option<f64>,

    /// Explore only after this many epochs [default: 1]
    #[arg(long, value_name = "N")]
    pub explore_after: Option<usize>,

    /// Seed of the random numbers; the same seed gives the same model [default: 1]
    #[arg(long)]
    pub seed: Option<u64>,

    /// A different seed for the segmenter, tagger and lemmatiser [default: that of --seed]
    #[arg(long, value_name = "SEED")]
    pub text_seed: Option<u64>,

    /// Threads, at most four per core; the model does not depend on their number [default: one per core]
    #[arg(long, short)]
    pub jobs: Option<Jobs>,

    /// Head rules for systems that build binary trees: collins, german, dutch, leftmost, rightmost, or auto, for those that
    /// fit the labels and tags (leftmost if none do) [default: auto]
    #[arg(long)]
    pub head_rules: Option<String>,

    /// How many sisters a temporary symbol remembers, in systems that build binary trees [default: 0]
    #[arg(long, value_name = "N")]
    pub markov_order: Option<usize>,

    /// Dependencies: make non-projective trees projective, and undo it in parses
    #[arg(long, value_name = "ENCODING", num_args = 0..=1, default_missing_value = "head", value_parser = ["head", "path", "head+path"])]
    pub pseudo_projective: Option<String>,

    /// Leave out (and report) trees with an action that fewer than N trees need [default: 1]
    #[arg(long, value_name = "N", alias = "rare-actions")]
    pub min_action_count: Option<usize>,

    /// Leave averaged weights below this out of the model: 0.3 halves it [default: 0]
    #[arg(long, value_name = "W", alias = "least-weight", value_parser = weight)]
    pub min_weight: Option<f32>,

    /// Dependencies: allow several words to depend on the root
    #[arg(long)]
    pub several_roots: bool,

    /// A note to store in the model, for example what it was trained on and its licence
    #[arg(long)]
    pub note: Option<String>,

    /// Overwrite the output even if it is not a model
    #[arg(long)]
    pub force: bool,

    #[command(flatten)]
    pub read: ReadArgs,
}

/// The flags that do nothing where no parser is trained.
const OF_THE_PARSER: [&str; 27] = [
    "fine_tune",
    "silver",
    "silver_weight",
    "recipe",
    "system",
    "config",
    "resume",
    "jackknife",
    "jackknife_only",
    "scorer",
    "encoder",
    "encoder_layers",
    "oracle",
    "features",
    "decoder",
    "beam",
    "update",
    "epochs",
    "explore",
    "explore_after",
    "head_rules",
    "markov_order",
    "pseudo_projective",
    "min_action_count",
    "min_weight",
    "several_roots",
    "note",
];

#[derive(Clone, Copy, ValueEnum)]
pub enum UpdateArg {
    Local,
    Early,
    MaxViolation,
}

/// The help of `--scorer`.
fn about_scorers() -> &'static str {
    static HELP: LazyLock<String> = LazyLock::new(|| {
        let mut kinds: Vec<String> =
            <dyn ScorerKind>::all().map(|kind| format!("{} ({})", kind.name(), kind.about())).collect();
        let last = kinds.pop().expect("there are several kinds");
        let default = TrainConfig::default().scorer;
        format!("The scorer: {} or {last} [default: {default}]", kinds.join(", "))
    });
    &HELP
}

fn is_network(scorer: &str) -> bool {
    <dyn ScorerKind>::named(scorer).is_ok_and(ScorerKind::is_network)
}

/// Is the scorer a neural network?
pub fn is_neural(config: &TrainConfig) -> bool {
    is_network(&config.scorer)
}

fn probability(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value| (0.0..=1.0).contains(value));
    value.ok_or_else(|| "expected a probability, from 0 to 1".to_owned())
}

fn weight(text: &str) -> Result<f32, String> {
    let value = text.parse().ok().filter(|value: &f32| value.is_finite() && *value >= 0.0);
    value.ok_or_else(|| "expected a number that is not negative".to_owned())
}

impl TrainArgs {
    /// Does the data decide about the settings?
    pub fn is_automatic(&self) -> bool {
        self.system.is_none() && self.config.is_none() && self.recipe.is_none() && !self.no_parser
    }

    /// The settings, from a choice if the data decided, otherwise from a file, a recipe or the defaults; flags override
    /// all of them.
    ///
    /// # Errors
    /// When a file cannot be read, there is no such feature set, or a flag has no effect.
    pub fn settings(&self, choice: Option<&Choice>) -> Result<TrainConfig> {
        let mut config = match (choice, &self.config, &self.recipe) {
            (Some(choice), ..) => choice.config.clone(),
            (None, Some(path), _) => {
                let in_file = |error: Error| error.in_file(&path.to_string_lossy());
                TrainConfig::from_toml(&read_text(path)?).map_err(in_file)?
            }
            (None, None, Some(name)) => Recipe::named(name).expect("clap knows the recipes").config(),
            (None, None, None) => TrainConfig::default(),
        };
        macro_rules! set {
            ($($name:ident),*) => { $(if let Some(value) = &self.$name { config.$name = value.clone(); })* };
        }
        set!(
            system,
            scorer,
            features,
            decoder,
            beam,
            epochs,
            explore,
            explore_after,
            seed,
            head_rules,
            markov_order,
            pseudo_projective,
            min_action_count,
            min_weight,
            note
        );
        config.oracle = self.oracle.or(config.oracle);
        config.jobs = self.jobs.map_or_else(jobs::cores, |jobs| jobs.threads(self.read.quiet));
        // What a recipe says about crossing arcs is for its own system.
        if self.pseudo_projective.is_none() && self.config.is_none() && !config.system.info().is_projective()
        {
            config.pseudo_projective = String::new();
        }
        // A neural network learns step by step, and its scores are good enough for greedy search.
        if self.scorer.as_deref().is_some_and(is_network) {
            config.update = Update::Local;
            config.beam = self.beam.unwrap_or(1);
        }
        // A beam of one has nothing to compare: learn step by step, unless told otherwise.
        if self.beam == Some(1) {
            config.update = Update::Local;
        }
        if self.several_roots {
            config.single_root = false;
        }
        if self.keep_traces {
            config.traces = Traces::Keep;
        }
        if let Some(update) = self.update {
            config.update = match update {
                UpdateArg::Local => Update::Local,
                UpdateArg::Early => Update::Early,
                UpdateArg::MaxViolation => Update::MaxViolation,
            };
        }
        if let Some(path) = self.features.as_deref().filter(|name| Path::new(name).exists()) {
            config.templates =
                std::fs::read_to_string(path).map_err(|error| Error::from(error).in_file(path))?;
            config.features = String::new();
            config.templates().map_err(|error| error.in_file(path))?;
        } else if self.features.is_some() {
            config.templates = String::new();
            config.templates().map_err(|error| usage(format!("{}, and no such file", error.message)))?;
        }
        if let Some(weight) = self.silver_weight {
            config.silver_weight = weight;
        }
        if let Some(n_layers) = self.encoder_layers {
            config.neural.encoder_layers = n_layers;
        }
        config.neural.fine_tune |= self.fine_tune;
        self.check_encoder(&config)?;
        self.refuse_flags_without_effect(&config, choice.is_some())?;
        Ok(config)
    }

    /// An error in a line of the templates names their file.
    pub fn in_templates(&self, error: Error) -> Error {
        let has_line = error.location.file.is_empty() && error.location.line > 0;
        match self.features.as_deref().filter(|_| has_line && error.code == Code::BadRules) {
            Some(path) => error.in_file(path),
            None => error,
        }
    }

    /// Refuses an oracle that the system has not.
    fn check_oracle(&self, config: &TrainConfig, system: &str) -> Result<()> {
        let oracle = config.oracle();
        if config.system.info().has_oracle(oracle) {
            return Ok(());
        }
        let of_them: Vec<&str> =
            SystemTag::ALL.iter().filter(|tag| tag.info().has_oracle(oracle)).map(|tag| tag.name()).collect();
        let asked = if self.oracle.is_some() { "--oracle" } else { "the line with oracle" };
        Err(usage(format!(
            "{system} has no {oracle} oracle: leave {asked} out, or use --system with one that has it ({})",
            of_them.join(", ")
        )))
    }

    /// Refuses flags that would have no effect.
    fn refuse_flags_without_effect(&self, config: &TrainConfig, is_chosen: bool) -> Result<()> {
        let system = if is_chosen && self.system.is_none() {
            format!("{}, which was chosen for the data", config.system)
        } else {
            config.system.to_string()
        };
        let refuse = |flag: &str, why: &str| Err(usage(format!("{flag} has no effect {why}")));
        if config.is_global() {
            let flags = [
                ("--oracle", self.oracle.is_some()),
                ("--explore", self.explore.is_some()),
                ("--explore-after", self.explore_after.is_some()),
            ];
            if let Some((flag, _)) = flags.iter().find(|(_, is_given)| *is_given) {
                return refuse(
                    flag,
                    "in global training: leave it out, or train locally with --beam 1 (and without --update early \
                     or max-violation)",
                );
            }
        } else {
            self.check_oracle(config, &system)?;
            let follows_gold = config.oracle() == OracleKind::Static;
            if self.explore.is_some_and(|p| p > 0.0) && follows_gold {
                return refuse(
                    "--explore",
                    "with a static oracle, which cannot continue after a wrong action: leave it out, or use --oracle \
                     dynamic with a system that has one",
                );
            }
            if self.explore_after.is_some() && (config.explore == 0.0 || follows_gold) {
                return refuse("--explore-after", "without exploration: leave it out, or give --explore too");
            }
        }
        if self.pseudo_projective.is_some() && !config.system.info().is_projective() {
            let why = match config.system.info().kind {
                TreeKind::Constituents => "on constituents",
                TreeKind::Dependencies => "where the system itself builds crossing arcs",
            };
            let why = format!("{why} ({system}): leave it out, or use --system arc-hybrid");
            return refuse("--pseudo-projective", &why);
        }
        if !config.system.info().is_binary {
            let flags = [
                ("--head-rules", self.head_rules.is_some()),
                ("--markov-order", self.markov_order.is_some()),
            ];
            if let Some((flag, _)) = flags.iter().find(|(_, is_given)| *is_given) {
                let why = format!(
                    "with {system}: leave it out, or use a system that builds binary trees, such as sr-gap or bottom-up"
                );
                return refuse(flag, &why);
            }
        }
        if self.keep_traces && config.system.info().kind == TreeKind::Dependencies {
            return refuse("--keep-traces", &format!("on dependencies ({system}): leave it out"));
        }
        if self.several_roots && config.system.info().kind == TreeKind::Constituents {
            return refuse("--several-roots", &format!("on constituents ({system}): leave it out"));
        }
        Ok(())
    }

    /// The parts before the parser.
    ///
    /// # Errors
    /// When flags contradict each other, or have no effect without a part that is not there.
    pub fn parts(&self, choice: Option<&Choice>) -> Result<Vec<TextPart>> {
        if let Some(part) = self.with.iter().find(|part| self.without.contains(part)) {
            let name = part.name();
            return Err(usage(format!("--with {name} and --without {name}: leave one of them out")));
        }
        let chosen = choice.map_or(&[][..], |choice| &choice.parts);
        let is_in = |part: &&TextPart| {
            (chosen.contains(part) || self.with.contains(part)) && !self.without.contains(part)
        };
        let parts: Vec<TextPart> = TextPart::ALL.iter().filter(is_in).copied().collect();
        if !parts.contains(&TextPart::Tagger) {
            let flags =
                [("--jackknife", self.jackknife.is_some()), ("--jackknife-only", self.jackknife_only)];
            if let Some((flag, _)) = flags.iter().find(|(_, is_given)| *is_given) {
                return Err(usage(format!(
                    "{flag} has no effect without a tagger: leave it out, or add --with tagger"
                )));
            }
        }
        if self.jackknife == Some(1) {
            return Err(usage(
                "--jackknife 1: the training data is tagged in at least 2 parts, each by a tagger trained on the others; \
                 0 stands for not at all",
            ));
        }
        if !parts.contains(&TextPart::Segmenter) && self.spaces.is_some() {
            return Err(usage(
                "--spaces has no effect without a segmenter: leave it out, or add --with segmenter",
            ));
        }
        if self.jackknife_only && self.jackknife == Some(0) {
            return Err(usage("--jackknife-only has no effect with --jackknife 0: leave one of them out"));
        }
        if parts.is_empty() && self.text_seed.is_some() {
            return Err(usage("--text-seed has no effect on a parser alone: leave it out, or add --with"));
        }
        Ok(parts)
    }

    /// Refuses word vectors that nothing looks at.
    pub fn check_vectors(&self, config: &TrainConfig, parts: &[TextPart]) -> Result<()> {
        let uses_classes = || config.templates().is_ok_and(|templates| templates.uses_classes());
        let is_used = !self.no_parser && (is_neural(config) || uses_classes());
        if self.vectors.is_some() && !parts.contains(&TextPart::Tagger) && !is_used {
            return Err(usage(
                "--vectors has no effect without a tagger, a neural scorer or features of word classes: leave it out, \
                 or add --with tagger, --scorer neural or --features dependency-classes",
            ));
        }
        Ok(())
    }

    /// Refuses an encoder that nothing looks at, and a recipe for one without one.
    fn check_encoder(&self, config: &TrainConfig) -> Result<()> {
        if self.encoder.is_some() && !is_neural(config) {
            return Err(usage("--encoder has no effect without a neural scorer: add --scorer neural"));
        }
        let recipe = self.recipe.as_deref().and_then(Recipe::named);
        match recipe.filter(Recipe::needs_encoder) {
            Some(Recipe { name, .. }) if self.encoder.is_none() && !self.print_config => Err(usage(format!(
                "the recipe {name} is for a pre-trained encoder: add --encoder DIR (scripts/get-encoder fetches one)"
            ))),
            _ => Ok(()),
        }
    }

    /// The files of the pre-trained encoder, if there is one.
    pub fn read_encoder(&self) -> Result<Arc<EncoderFiles>> {
        let Some(folder) = &self.encoder else { return Ok(Arc::default()) };
        if !folder.is_dir() {
            return models::open(Some(folder))?.encoder().map(Arc::new);
        }
        let in_file =
            |error: std::io::Error, path: &Path| Error::from(error).in_file(&path.to_string_lossy());
        let text = |name: &str| {
            let path = folder.join(name);
            std::fs::read_to_string(&path).map_err(|error| in_file(error, &path))
        };
        let weights = folder.join("model.safetensors");
        Ok(Arc::new(EncoderFiles {
            config: text("config.json")?,
            // Only one of them says whether letters are lower-cased.
            vocabulary: text("tokenizer.json").or_else(|_| text("vocab.txt"))?,
            weights: std::fs::read(&weights).map_err(|error| in_file(error, &weights))?,
        }))
    }

    /// The word vectors, if there are any.
    pub fn read_vectors(&self, seed: u64) -> Result<Arc<WordVectors>> {
        let Some(path) = &self.vectors else { return Ok(Arc::default()) };
        let name = path.to_string_lossy();
        let file = File::open(path).map_err(|error| Error::from(error).in_file(&name))?;
        let source: Box<dyn std::io::Read> = if name.ends_with(".gz") {
            Box::new(flate2::read::MultiGzDecoder::new(file))
        } else {
            Box::new(file)
        };
        let vectors = WordVectors::read(source, seed).map_err(|error| error.in_file(&name))?;
        Ok(Arc::new(vectors))
    }

    /// The output and the training files, without which there is nothing to do.
    ///
    /// # Errors
    /// When one is missing, or the output must not be written.
    pub fn output(&self) -> Result<&Path> {
        if self.train.is_empty() {
            return Err(usage("--train FILE is missing: the treebank to learn from"));
        }
        let missing = || usage("-o MODEL is missing: the file to write the model to");
        let output = self.output.as_deref().ok_or_else(missing)?;
        self.check_output(output)?;
        Ok(output)
    }

    /// Nothing that is read may be overwritten, nor anything but a model by the model.
    fn check_output(&self, output: &Path) -> Result<()> {
        let features = self.features.as_deref().map(Path::new);
        let inputs = Inputs::default()
            .with("a training treebank", &self.train)
            .with("a development treebank", &self.dev)
            .with("the settings", &self.config)
            .with("the word vectors", &self.vectors)
            .with("the feature templates", &features);
        inputs.refuse_as_output(Some(output))?;
        for suffix in [".log.jsonl", ".curve.svg", ".checkpoint"] {
            inputs.refuse_as_output(Some(&with_suffix(output, suffix)))?;
        }
        if self.force { Ok(()) } else { refuse_unless_model(output) }
    }

    /// The file from which training goes on.
    pub fn checkpoint(&self, output: &Path) -> PathBuf {
        with_suffix(output, ".checkpoint")
    }

    /// What to say when there is no checkpoint to go on from.
    pub fn no_checkpoint(path: &Path) -> Error {
        let message = "there is no such checkpoint: the training was stopped before the end of its first epoch, or it \
                       was finished; train without --resume";
        Error::new(Code::Io, message).in_file(&path.to_string_lossy())
    }
}
