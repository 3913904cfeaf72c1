//! From treebank entries to what a system can learn from.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use super::TrainingData;
use crate::config::TrainConfig;
use crate::error::{Code, Error, Result};
use crate::ids::ActionId;
use crate::sentence::Sentence;
use crate::system::{ActionSet, TransitionSystem};
use crate::tree::Entry;
use crate::tree::{ParserTree, Preparer, Tree, projectivize};

/// One training sentence.
#[derive(Clone, Debug)]
pub struct Example {
    /// The words.
    pub sentence: Sentence,
    /// Its number among all training sentences, from 0.
    pub number: usize,
    /// Where its tree is among those of all examples.
    pub gold: usize,
    /// The derivation of its tree.
    pub actions: Vec<ActionId>,
}

/// The data, ready for training.
pub(super) struct Prepared<S: TransitionSystem> {
    pub system: S,
    pub examples: Vec<Example>,
    /// The trees of the examples, as the system builds them.
    pub gold: Vec<S::Tree>,
    /// Trees the system cannot derive: number from 1 and reason.
    pub underivable: Vec<(usize, String)>,
}

/// Prepares the trees, makes the system for them, and derives them.
pub(super) fn prepare<S: TransitionSystem>(
    config: &TrainConfig,
    entries: &[Entry],
    preparer: &Preparer,
) -> Result<Prepared<S>> {
    let mut underivable = Vec::new();
    let trees = prepare_trees(config, entries, preparer, &mut underivable)?;
    let (mut system, mut examples, mut gold) = derive_all::<S>(config, trees, &mut underivable);
    let rare = rare_actions(system.n_actions(), &examples, config.min_action_count);
    if !rare.is_empty() {
        // Without these trees the system has fewer actions: it is made anew.
        let mut kept = Vec::with_capacity(examples.len());
        for (example, tree) in examples.into_iter().zip(gold) {
            match example.actions.iter().copied().find(|&action| rare.contains(action)) {
                Some(action) => underivable.push((
                    example.number + 1,
                    format!("too few trees need the action {}", system.name(action)),
                )),
                None => kept.push((example.number, example.sentence, tree)),
            }
        }
        (system, examples, gold) = derive_all::<S>(config, kept, &mut underivable);
    }
    check_usable(&examples, &mut underivable)?;
    system.check_tables().map_err(|why| Error::new(Code::BadTraining, why))?;
    Ok(Prepared { system, examples, gold, underivable })
}

/// Prepares trees; each comes with its number, from 0. What cannot be prepared goes to `underivable`.
fn prepare_trees<T: ParserTree>(
    config: &TrainConfig,
    entries: &[Entry],
    preparer: &Preparer,
    underivable: &mut Vec<(usize, String)>,
) -> Result<Vec<(usize, Sentence, T)>> {
    let mut trees = Vec::with_capacity(entries.len());
    for (i, entry) in entries.iter().enumerate() {
        let Some(tree) = &entry.tree else {
            underivable.push((i + 1, "it has no tree".to_owned()));
            continue;
        };
        let projective = match (tree, config.pseudo_projective()?) {
            (Tree::Dependency(tree), Some(encoding)) => Some(Tree::Dependency(projectivize(tree, encoding))),
            _ => None,
        };
        match T::prepare(projective.as_ref().unwrap_or(tree), &entry.sentence, preparer) {
            Ok(tree) => trees.push((i, entry.sentence.clone(), tree)),
            Err(why) => underivable.push((i + 1, why.to_string())),
        }
    }
    Ok(trees)
}

/// The silver trees that a system, which was made for the treebank, can derive. Their numbers follow those of the treebank, and
/// the trees themselves go to `gold`. Gives what was left out, too.
#[allow(clippy::type_complexity, reason = "two lists")]
pub(super) fn silver<S: TransitionSystem>(
    config: &TrainConfig,
    system: &S,
    data: &TrainingData<'_>,
    preparer: &Preparer,
    gold: &mut Vec<S::Tree>,
) -> Result<(Vec<Example>, Vec<(usize, String)>)> {
    let (mut examples, mut left_out) = (Vec::new(), Vec::new());
    for (number, sentence, tree) in prepare_trees::<S::Tree>(config, data.silver, preparer, &mut left_out)? {
        match system.derive(&tree) {
            Ok(actions) => {
                examples.push(Example {
                    number: data.train.len() + number,
                    sentence,
                    gold: gold.len(),
                    actions,
                });
                gold.push(tree);
            }
            Err(why) => left_out.push((number + 1, why.to_string())),
        }
    }
    let name = |(number, why)| (data.train.len() + number, format!("silver tree {number}: {why}"));
    Ok((examples, left_out.into_iter().map(name).collect()))
}

/// Is there anything to learn from? Puts what cannot be learnt from in order.
fn check_usable(examples: &[Example], underivable: &mut [(usize, String)]) -> Result<()> {
    underivable.sort_unstable();
    if !examples.is_empty() {
        return Ok(());
    }
    let message = match underivable.first() {
        Some((number, why)) => format!("none of the training trees can be used; sentence {number}: {why}"),
        None => "there is nothing to train on".to_owned(),
    };
    Err(Error::new(Code::BadTraining, message))
}

/// Gives the sentences the tags that the parser is to learn from. Trees and derivations stay: head rules saw the tags
/// of the treebank.
pub(super) fn retag(examples: Vec<Example>, data: &TrainingData<'_>) -> Vec<Example> {
    if data.retagged.is_empty() {
        return examples;
    }
    assert_eq!(data.retagged.len(), data.train.len(), "every training sentence is retagged");
    let mut retagged = Vec::with_capacity(examples.len() * (1 + usize::from(data.treebank_tags_too)));
    for example in examples {
        let sentence = data.retagged[example.number].clone();
        if data.treebank_tags_too {
            retagged.push(Example { sentence, actions: example.actions.clone(), ..example });
            retagged.push(example);
        } else {
            retagged.push(Example { sentence, ..example });
        }
    }
    retagged
}

/// A system for trees, their derivations, and the trees that have one.
fn derive_all<S: TransitionSystem>(
    config: &TrainConfig,
    trees: Vec<(usize, Sentence, S::Tree)>,
    underivable: &mut Vec<(usize, String)>,
) -> (S, Vec<Example>, Vec<S::Tree>) {
    let mut system = S::from_trees(trees.iter().map(|(_, _, tree)| tree), &config.system_options());
    trees.iter().for_each(|(_, sentence, tree)| system.see_tags(tree, sentence));
    let (mut examples, mut gold) = (Vec::with_capacity(trees.len()), Vec::with_capacity(trees.len()));
    for (number, sentence, tree) in trees {
        match system.derive(&tree) {
            Ok(actions) => {
                examples.push(Example { number, sentence, gold: gold.len(), actions });
                gold.push(tree);
            }
            Err(why) => underivable.push((number + 1, why.to_string())),
        }
    }
    (system, examples, gold)
}

/// The actions that at least one but fewer than `min_count` examples need.
fn rare_actions(n_actions: usize, examples: &[Example], min_count: usize) -> ActionSet {
    let mut counts = vec![0usize; n_actions];
    let mut seen = ActionSet::new(n_actions);
    for example in examples {
        seen.reset(n_actions);
        example.actions.iter().for_each(|&action| seen.insert(action));
        seen.indices().for_each(|action| counts[action] += 1);
    }
    seen.reset(n_actions);
    let rare = counts.iter().enumerate().filter(|(_, count)| (1..min_count).contains(count));
    rare.for_each(|(action, _)| seen.insert(ActionId::new(action)));
    seen
}

/// A number for the settings and the data, all but the number of epochs and threads: a checkpoint belongs to it.
pub(super) fn fingerprint(config: &TrainConfig, examples: &[Example], dev: &[Entry]) -> u64 {
    let settings = TrainConfig { epochs: 1, jobs: 1, ..config.clone() };
    let mut hasher = FxHasher::default();
    serde_json::to_string(&(settings, &*config.classes)).expect("plain data").hash(&mut hasher);
    for (word, vector) in config.vectors.iter() {
        word.hash(&mut hasher);
        vector.iter().for_each(|number| number.to_bits().hash(&mut hasher));
    }
    if !config.encoder.is_empty() {
        config.encoder.hash(&mut hasher);
    }
    let add = |sentence: &Sentence, hasher: &mut FxHasher| {
        for token in &sentence.tokens {
            (token.form.as_str(), token.tag.as_str(), token.xpos.as_str(), token.feats.as_str()).hash(hasher);
        }
    };
    for example in examples {
        example.actions.hash(&mut hasher);
        add(&example.sentence, &mut hasher);
    }
    for entry in dev {
        add(&entry.sentence, &mut hasher);
        serde_json::to_string(&entry.tree).expect("plain data").hash(&mut hasher);
    }
    hasher.finish()
}
