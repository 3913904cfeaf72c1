//! Which settings suit a treebank: the choice that `treewright train` makes when it is told nothing but the data.

use super::Recipe;
use crate::config::TrainConfig;
use crate::error::{Code, Error, Result};
use crate::stats::Stats;
use crate::tree::Entry;
use crate::tree::TreeKind;
use crate::tree::{HeadRules, Tree};

/// What a treebank holds, as far as a choice depends on it. Shares are between 0 and 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// What kind of trees.
    pub kind: TreeKind,
    /// How many sentences have a tree.
    pub trees: usize,
    /// The share of arcs that cross others, or of discontinuous constituents.
    pub crossing: f64,
    /// The share of sentences with one.
    pub crossing_sentences: f64,
    /// The share of sentences in which several words hang from the root (dependencies).
    pub many_roots: f64,
    /// The head rules that fit the labels, if a table does (constituents).
    pub head_rules: Option<&'static str>,
    /// Do the words have tags?
    pub tags: bool,
    /// Do they have lemmas?
    pub lemmas: bool,
}

/// A column counts as filled if at least this share of the words has something in it.
const MIN_FILLED: f64 = 0.5;

impl Facts {
    /// Looks at a treebank.
    ///
    /// # Errors
    /// When it has no trees, or trees of both kinds.
    pub fn of(treebank: &[Entry]) -> Result<Self> {
        let mut stats = Stats::new();
        treebank.iter().for_each(|entry| stats.add(entry));
        let refuse = |message: &str| Err(Error::new(Code::BadTraining, message));
        let has =
            |wanted: fn(&Tree) -> bool| treebank.iter().filter_map(|entry| entry.tree.as_ref()).any(wanted);
        let kind = match (
            has(|t| matches!(t, Tree::Dependency(_))),
            has(|t| matches!(t, Tree::Constituent(_))),
        ) {
            (true, true) => {
                return refuse(
                    "the training data has dependencies and constituents; train a parser for each, and join them",
                );
            }
            (false, false) => return refuse("no sentence of the training data has a tree"),
            (true, false) => TreeKind::Dependencies,
            (false, true) => TreeKind::Constituents,
        };
        let shares = stats.shares();
        let tokens = || treebank.iter().flat_map(|entry| &entry.sentence.tokens);
        let n_tokens = tokens().count().max(1) as f64;
        let filled = |count: usize| count as f64 / n_tokens >= MIN_FILLED;
        Ok(Facts {
            kind,
            trees: shares.trees,
            crossing: shares.crossing,
            crossing_sentences: shares.crossing_sentences,
            many_roots: shares.many_roots,
            head_rules: match kind {
                TreeKind::Dependencies => None,
                TreeKind::Constituents => HeadRules::fitting(stats.labels(), stats.tags()),
            },
            tags: filled(tokens().filter(|token| !token.tag.is_empty()).count()),
            lemmas: filled(tokens().filter(|token| !token.lemma.is_empty()).count()),
        })
    }
}

/// A part of a model that comes before the parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPart {
    /// Text to sentences and tokens.
    Segmenter,
    /// Tokens to tags.
    Tagger,
    /// Tokens and tags to lemmas.
    Lemmatiser,
}

impl TextPart {
    /// All of them, in the order in which they are trained.
    pub const ALL: &[TextPart] = &[TextPart::Segmenter, TextPart::Tagger, TextPart::Lemmatiser];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            TextPart::Segmenter => "segmenter",
            TextPart::Tagger => "tagger",
            TextPart::Lemmatiser => "lemmatiser",
        }
    }
}

impl std::str::FromStr for TextPart {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let part = TextPart::ALL.iter().copied().find(|part| part.name() == name);
        part.ok_or_else(|| format!("there is no part {name:?}; there are segmenter, tagger and lemmatiser"))
    }
}

/// The settings that suit a treebank, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The recipe.
    pub recipe: Recipe,
    /// Its settings, adapted to the treebank.
    pub config: TrainConfig,
    /// What the treebank has the data for, beside a parser.
    pub parts: Vec<TextPart>,
    /// Why, in a few sentences for people, each fit for a line.
    pub reasons: Vec<String>,
}

/// Chooses settings for a treebank. The choice depends on the treebank alone.
///
/// # Errors
/// When it has no trees, or trees of both kinds.
pub fn choose(treebank: &[Entry]) -> Result<Choice> {
    Ok(choose_for(&Facts::of(treebank)?))
}

/// The head rules that fit the labels and tags of a treebank, and a sentence for people that says why.
pub fn choose_head_rules(treebank: &[Entry]) -> (&'static str, String) {
    let mut stats = Stats::new();
    treebank.iter().for_each(|entry| stats.add(entry));
    head_rules_for(HeadRules::fitting(stats.labels(), stats.tags()))
}

fn head_rules_for(fitting: Option<&'static str>) -> (&'static str, String) {
    match fitting {
        Some(name) => (name, format!("The head rules \"{name}\" fit its labels and tags.")),
        None => (
            "leftmost",
            "No table of head rules fits its labels, so the first child is the head (leftmost).".to_owned(),
        ),
    }
}

/// With at least this many trees, one that needs an action which hardly any other needs is not worth the time that the
/// action costs in every state.
const MANY_DEPENDENCY_TREES: usize = 10_000;
/// The same for constituents.
const MANY_CONSTITUENT_TREES: usize = 3_000;
/// With fewer trees, all are.
const ALL_ACTIONS: usize = 1;

fn choose_for(facts: &Facts) -> Choice {
    let (mut choice, many) = match facts.kind {
        TreeKind::Dependencies => (for_dependencies(facts), MANY_DEPENDENCY_TREES),
        TreeKind::Constituents => (for_constituents(facts), MANY_CONSTITUENT_TREES),
    };
    if facts.trees < many {
        choice.config.min_action_count = ALL_ACTIONS;
    }
    add_parts(&mut choice, facts);
    choice
}

fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    // A small share is not none.
    let digits = if percent > 0.0 && percent < 0.05 { 2 } else { 1 };
    format!("{percent:.digits$} %")
}

fn recipe(name: &str) -> Recipe {
    Recipe::named(name).expect("the recipes that are chosen are there")
}

fn shown(recipe: Recipe, config: &TrainConfig) -> String {
    let search = if config.beam > 1 { format!("beam {}", config.beam) } else { "greedy".to_owned() };
    format!("recipe {} ({}, {search})", recipe.name, config.system)
}

/// With fewer trees, training step by step learns more than training in a beam, which learns once from each sentence.
const FEW_TREES: usize = 2_000;
/// With at least this share of sentences with several roots a parser has to build them; below, they are left out.
const MIN_MANY_ROOTS: f64 = 0.005;

fn for_dependencies(facts: &Facts) -> Choice {
    let is_small = facts.trees < FEW_TREES;
    // Crossing arcs, even many, are better made projective and restored: the beam gains more than the encoding loses.
    let recipe = recipe(if is_small { "non-projective-dependencies" } else { "dependencies" });
    let mut config = recipe.config();
    let found = if facts.crossing > 0.0 {
        let (arcs, sentences) = (percent(facts.crossing), percent(facts.crossing_sentences));
        format!("dependencies with {arcs} crossing arcs ({sentences} of the sentences)")
    } else {
        config.pseudo_projective = String::new();
        "dependencies without crossing arcs".to_owned()
    };
    let size =
        if is_small { format!(" in {} sentences, which is not many", facts.trees) } else { String::new() };
    let encoding = if config.pseudo_projective.is_empty() { "" } else { ", pseudo-projective" };
    let reason = format!("This treebank has {found}{size}, so: {}{encoding}.", shown(recipe, &config));
    let mut reasons = vec![reason];
    if facts.many_roots >= MIN_MANY_ROOTS {
        config.single_root = false;
        let share = percent(facts.many_roots);
        reasons.push(format!("{share} of the sentences have several roots, so the parser may give several."));
    } else if facts.many_roots > 0.0 {
        let share = percent(facts.many_roots);
        reasons.push(format!("The {share} of the sentences that have several roots are left out."));
    }
    Choice { recipe, config, parts: Vec::new(), reasons }
}

/// With at least this share of sentences with a discontinuous constituent a treebank is discontinuous.
const MIN_DISCONTINUOUS_SENTENCES: f64 = 0.005;
/// With at least this many trees, weights that were hardly ever changed are left out of binary systems' models, which
/// would take hundreds of megabytes.
const HUGE_CONSTITUENT_TREES: usize = 10_000;
/// An update adds 1.
const MIN_WEIGHT: f32 = 1.0;

fn for_constituents(facts: &Facts) -> Choice {
    let is_discontinuous = facts.crossing_sentences >= MIN_DISCONTINUOUS_SENTENCES;
    // Head words are worth more than the constituents that are foreseen in-order, but not if the heads are arbitrary.
    let recipe = recipe(match (is_discontinuous, facts.head_rules) {
        (true, _) => "discontinuous",
        (false, Some(_)) => "headed-constituents",
        (false, None) => "constituents",
    });
    let mut config = recipe.config();
    let found = match (is_discontinuous, facts.crossing > 0.0) {
        (true, _) => format!(
            "constituents, {} of them discontinuous (in {} of the sentences)",
            percent(facts.crossing),
            percent(facts.crossing_sentences)
        ),
        (false, true) => format!(
            "constituents, discontinuous in no more than {} of the sentences, which are left out",
            percent(facts.crossing_sentences)
        ),
        (false, false) => "continuous constituents".to_owned(),
    };
    let mut reasons = vec![format!("This treebank has {found}, so: {}.", shown(recipe, &config))];
    let (head_rules, why) = head_rules_for(facts.head_rules);
    config.head_rules = head_rules.to_owned();
    if config.system.info().is_binary {
        if facts.trees >= HUGE_CONSTITUENT_TREES {
            config.min_weight = MIN_WEIGHT;
            reasons.push(format!(
                "It is large, so weights below {MIN_WEIGHT:.1} are left out: a model of a third of the size, hardly less \
                 accurate."
            ));
        }
        reasons.push(why);
    }
    Choice { recipe, config, parts: Vec::new(), reasons }
}

/// Adds the parts that the treebank has the data for.
fn add_parts(choice: &mut Choice, facts: &Facts) {
    choice.parts.push(TextPart::Segmenter);
    if facts.tags {
        choice.parts.push(TextPart::Tagger);
    }
    if facts.lemmas {
        choice.parts.push(TextPart::Lemmatiser);
    }
    let given = match (facts.tags, facts.lemmas) {
        (true, true) => "tags and lemmas",
        (true, false) => "tags and no lemmas",
        (false, true) => "lemmas and no tags",
        (false, false) => "neither tags nor lemmas",
    };
    choice.reasons.push(format!("It has {given}."));
}

#[cfg(test)]
mod tests;
