//! The decisions that training makes from the data where the settings leave them open, and reports: traces, head
//! rules, spaces, folds.

use std::borrow::Cow;

use super::{Log, choose_head_rules};
use crate::config::{Traces, TrainConfig};
use crate::segment::Written;
use crate::tree::{Entry, Transform, Tree};

/// A decision that training made from the data, because the settings left it open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assumption {
    /// The trees have empty elements (`-NONE-`), which no parser can build, so all trees went through the transforms
    /// [`Assumption::TRACES`].
    Traces {
        /// Trees with empty elements, in the training and development treebanks.
        n_trees: usize,
        /// Trees of nothing but empty elements, which were left out.
        n_left_out: usize,
    },
    /// The table of head rules.
    HeadRules {
        /// Its name.
        name: &'static str,
        /// A sentence for people that says why.
        why: String,
    },
    /// The treebank does not say where its text has spaces; it was written like this.
    Spaces(Written),
    /// Templates of the user's own that find nothing in the training data, each with its place in the set.
    IdleTemplates(Vec<String>),
    /// There were too few sentences for as many parts as were asked for when tagging the parser's training data.
    Folds {
        /// The number of parts that was asked for.
        wanted: usize,
        /// The number that was used; 0 for none, when the parser learns from the tags of the treebank.
        used: usize,
    },
}

impl Assumption {
    /// The transforms that trees with empty elements go through, as `convert` takes them.
    pub const TRACES: &str = "remove-traces,strip-functions,collapse-same,root";
}

/// Settings and treebanks after what they leave open has been settled.
pub(super) struct Settled<'a> {
    pub config: TrainConfig,
    pub train: Cow<'a, [Entry]>,
    pub dev: Cow<'a, [Entry]>,
}

/// Removes traces and chooses head rules, where the settings say so and the data has need of it. Settling what is settled
/// changes and reports nothing.
pub(super) fn settle<'a>(
    config: &TrainConfig,
    train: &'a [Entry],
    dev: &'a [Entry],
    log: &mut dyn Log,
) -> Settled<'a> {
    let mut settled = Settled { config: config.clone(), train: train.into(), dev: dev.into() };
    let n_trees = train.iter().chain(dev).filter(|entry| has_traces(entry)).count();
    if config.traces != Traces::Keep && n_trees > 0 {
        let transforms = Transform::parse_list(Assumption::TRACES, &mut |_| unreachable!("no file is named"));
        let transforms = transforms.expect("these transforms are known");
        let mut n_left_out = 0;
        let mut cleaned = |entries: &[Entry]| -> Vec<Entry> {
            let cleaned: Vec<Entry> = entries.iter().filter_map(|entry| clean(entry, &transforms)).collect();
            n_left_out += entries.len() - cleaned.len();
            cleaned
        };
        settled.train = cleaned(train).into();
        settled.dev = cleaned(dev).into();
        settled.config.traces = Traces::Removed;
        log.assumed(&Assumption::Traces { n_trees, n_left_out });
    }
    if config.chooses_head_rules() {
        let (name, why) = choose_head_rules(&settled.train);
        name.clone_into(&mut settled.config.head_rules);
        log.assumed(&Assumption::HeadRules { name, why });
    } else if !config.system.info().is_binary {
        // No rules are needed: the name that a model keeps says nothing.
        settled.config.head_rules = settled.config.preparation().head_rules;
    }
    settled
}

fn has_traces(entry: &Entry) -> bool {
    matches!(entry.tree, Some(Tree::Constituent(_)))
        && entry.sentence.tokens.iter().any(|token| token.is_trace())
}

/// The entry after the transforms; `None` if nothing is left of it.
fn clean(entry: &Entry, transforms: &[Transform]) -> Option<Entry> {
    match entry.tree {
        Some(Tree::Constituent(_)) => Transform::apply_all(transforms, entry.clone()).ok(),
        _ => Some(entry.clone()),
    }
}
