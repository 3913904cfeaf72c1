//! Decoders: which states to keep. They know neither features nor gold.
//!
//! One file per decoder, and one arm in [`Method`].

mod astar;
mod beam;
mod dp_beam;
#[cfg(test)]
pub(crate) mod exhaustive;
mod greedy;
mod k_best;
mod lockstep;

pub use astar::{AStar, ExactSettings, Heuristic};
pub use beam::Beam;
pub use dp_beam::DpBeam;
pub use greedy::{Greedy, Step};
pub(crate) use lockstep::Lane;

use crate::config::{DecoderKind, TrainConfig, Update};
use crate::forest::Forest;
use crate::ids::ActionId;
use crate::score::Scorer;
use crate::sentence::Sentence;
use crate::system::TransitionSystem;

/// How good the best parse of a search is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Guarantee {
    /// There may be a better one.
    Heuristic,
    /// There is none better.
    Exact,
    /// None has a higher score than this.
    Bounded {
        /// The bound.
        upper: f64,
    },
}

/// The effort of exact search for a sentence, or for several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// The items that it made.
    pub items: u64,
    /// All its work, for bounds too, in items ([`ExactSettings::max_items`]).
    pub work: u64,
    /// The most memory that it took for one sentence, in bytes.
    pub bytes: u64,
}

impl Effort {
    /// Adds that of another sentence.
    pub fn add(&mut self, other: Effort) {
        self.items += other.items;
        self.work += other.work;
        self.bytes = self.bytes.max(other.bytes);
    }
}

/// The part of all derivations of a sentence that a search kept.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Kept {
    /// True if it kept all: nothing was pruned, and no limit was reached.
    pub is_all: bool,
    /// The sum of the weights ([`Weighing`]) of all derivations that were kept, where a search knows it without handing them
    /// all over. It then hands them over for as long as they are wanted; other searches hand over all they kept.
    pub total: Option<f64>,
}

/// The weight of a derivation beside the best one of its sentence, which weighs 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weighing {
    best: f64,
    temperature: f64,
}

impl Weighing {
    /// For scores that are logarithms of probabilities these are their ratios. Those of a linear model say nothing about
    /// probabilities, and have no unit: they are first divided by a tenth of the best score per word, which is what fits the
    /// treebanks of the shipped models on average. So this shows how close the alternatives are, and is not calibrated for a model.
    pub fn new(best: f64, n_words: usize, is_log_probability: bool) -> Self {
        // A model that scored everything 0 leaves all derivations alike.
        let of_linear = || (best.abs() / (10.0 * n_words.max(1) as f64)).max(f64::MIN_POSITIVE);
        Weighing { best, temperature: if is_log_probability { 1.0 } else { of_linear() } }
    }

    /// The weight of a derivation with this score.
    pub fn weight(self, score: f64) -> f64 {
        self.ratio(score, self.best)
    }

    /// The weight of one score beside another.
    fn ratio(self, score: f64, other: f64) -> f64 {
        ((score - other) / self.temperature).exp()
    }

    /// This many derivations, as the best of them count, whose best score is the first, beside another score.
    fn share(self, n: f64, score: f64, other: f64) -> f64 {
        let ratio = self.ratio(score, other);
        // Of merged states there may be more than numbers go.
        if ratio == 0.0 { 0.0 } else { n * ratio }
    }
}

/// A finished derivation that a search found.
pub struct Found<'a, S: TransitionSystem> {
    /// The arena of the sentence.
    pub forest: &'a Forest,
    /// The final state.
    pub state: S::State,
    /// The sum of its actions' scores, in the scorer's own unit.
    pub score: f64,
    /// The largest score gap to the best hypothesis that it had on the way, if it had rivals.
    pub score_gap: f64,
}

impl<S: TransitionSystem> Found<'_, S> {
    /// Its tree.
    pub fn tree(&self, system: &S) -> S::Tree {
        system.tree(self.forest, &self.state)
    }

    /// Its actions, IDLE included.
    pub fn actions(&self, system: &S) -> Vec<ActionId> {
        self.forest.history(system.view(&self.state).past)
    }
}

/// The state that actions lead to.
fn replay<S: TransitionSystem>(
    system: &S,
    forest: &mut Forest,
    start: S::State,
    actions: &[ActionId],
) -> S::State {
    actions.iter().fold(start, |state, &action| system.apply(forest, &state, action))
}

/// Where a search preferred another derivation to the one it was compared with: both up to there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Violation {
    /// What the search preferred.
    pub predicted: Vec<ActionId>,
    /// What it was compared with.
    pub reference: Vec<ActionId>,
}

/// What is asked of a decoder: the derivations of a sentence, by a system's rules and a scorer's numbers.
pub struct Input<'a, S> {
    /// What may be done.
    pub system: &'a S,
    /// What it is worth.
    pub scorer: &'a mut dyn Scorer,
    /// The words.
    pub sentence: &'a Sentence,
}

/// The same for many sentences.
pub struct Inputs<'a, S> {
    /// What may be done.
    pub system: &'a S,
    /// What it is worth.
    pub scorer: &'a mut dyn Scorer,
    /// The words of each.
    pub sentences: &'a [&'a Sentence],
}

impl<S> Inputs<'_, S> {
    /// Asks for one sentence after the other.
    fn one_by_one(self, mut ask: impl FnMut(Input<'_, S>)) {
        let Inputs { system, scorer, sentences } = self;
        sentences.iter().for_each(|sentence| ask(Input { system, scorer: &mut *scorer, sentence }));
    }
}

/// A derivation that a search is compared with, in global training.
#[derive(Clone, Copy, Debug)]
pub struct Reference<'a> {
    /// Its actions.
    pub actions: &'a [ActionId],
    /// How far it is compared.
    pub update: Update,
}

/// Searches for the best derivation. It owns its memory, which it uses again.
pub trait Decoder<S: TransitionSystem>: Send {
    /// Hands over the derivations it finds, best first, until `found` has enough (it says whether to go on). A sentence without
    /// words has none.
    fn decode(&mut self, input: Input<'_, S>, found: &mut dyn FnMut(Found<'_, S>) -> bool) -> Guarantee;

    /// How many derivations of the last sentence the search compared to the end, where it merged states.
    fn n_derivations(&self) -> Option<f64> {
        None
    }

    /// The part of all derivations of the last sentence that was kept, if more than the best was asked for.
    fn kept(&self) -> Kept {
        Kept::default()
    }

    /// True if the search hands over all that it kept when it is asked to; false if there may be very many more derivations
    /// than anyone wants, whose weight [`Decoder::kept`] knows.
    fn hands_over_all(&self) -> bool {
        true
    }

    /// The effort of exact search for the last sentence; zero in any other search.
    fn effort(&self) -> Effort {
        Effort::default()
    }

    /// Only the best tree. Decoders that need fewer scores for that may skip the others.
    fn best_tree(&mut self, input: Input<'_, S>) -> Option<S::Tree> {
        let system = input.system;
        let mut tree = None;
        self.decode(input, &mut |found| {
            tree = Some(found.tree(system));
            false
        });
        tree
    }

    /// The best tree of each sentence, in order. Where scorers are faster with many sentences at once, a decoder may make
    /// use of that; the trees are the same.
    fn best_trees(&mut self, inputs: Inputs<'_, S>, out: &mut Vec<Option<S::Tree>>) {
        inputs.one_by_one(|input| out.push(self.best_tree(input)));
    }

    /// For global training: searches, and returns where the reference derivation was beaten, or nothing if it won. This
    /// default compares complete derivations; decoders that work step by step compare after each step.
    fn violation(&mut self, input: Input<'_, S>, reference: Reference<'_>) -> Option<Violation> {
        let system = input.system;
        let mut predicted = Vec::new();
        self.decode(input, &mut |found| {
            predicted = found.actions(system);
            false
        });
        let reference = reference.actions;
        (predicted != reference).then(|| Violation { predicted, reference: reference.to_vec() })
    }
}

/// Which decoder, and its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The best action at each step.
    Greedy,
    /// The best hypotheses at each step.
    Beam {
        /// How many.
        width: usize,
        /// Hypotheses are pruned whose score gap to the best is larger than this percentile of the gaps that eventual
        /// winners had on the development set. 100 prunes nothing, nor does any number if the model has not seen gaps.
        percentile: usize,
    },
    /// The best merged states at each step; only for some systems and scorers ([`Method::check`]).
    Dp {
        /// How many.
        width: usize,
    },
    /// Exact search, where system and scorer allow it.
    Exact(ExactSettings),
}

impl Method {
    /// The default percentile: takes two thirds of the time, for a tenth of a point of accuracy in most models
    /// (docs/log/2026-11.md).
    pub const PERCENTILE: usize = 95;

    /// A beam of this width without pruning; a beam of one hypothesis is greedy.
    pub fn beam(width: usize) -> Self {
        match width {
            0 | 1 => Method::Greedy,
            _ => Method::Beam { width, percentile: 100 },
        }
    }

    /// The search of these settings, without pruning by score gaps.
    pub fn of(config: &TrainConfig) -> Self {
        match config.decoder {
            DecoderKind::Beam => Method::beam(config.beam),
            DecoderKind::Dp => Method::Dp { width: config.beam },
            DecoderKind::Astar => {
                Method::Exact(ExactSettings { beam: config.beam, ..ExactSettings::default() })
            }
        }
    }

    /// The same while learning: exact search gives up early, because at first nearly anything may be best.
    pub fn while_learning(config: &TrainConfig) -> Self {
        match Method::of(config) {
            Method::Exact(settings) => {
                Method::Exact(ExactSettings { max_items: ExactSettings::WHILE_LEARNING, ..settings })
            }
            other => other,
        }
    }

    /// How many hypotheses it keeps.
    pub fn width(self) -> usize {
        match self {
            Method::Greedy => 1,
            Method::Beam { width, .. } | Method::Dp { width } => width,
            Method::Exact(settings) => settings.beam,
        }
    }

    /// Can this system be searched by it, with these scores?
    ///
    /// # Errors
    /// Why not, and what else to do.
    pub fn check<S: TransitionSystem>(self, system: &S, scorer: &mut dyn Scorer) -> Result<(), String> {
        match self {
            Method::Greedy | Method::Beam { .. } => Ok(()),
            Method::Dp { .. } => DpBeam::check(system, scorer),
            Method::Exact(_) => AStar::check(system, scorer),
        }
    }

    /// A decoder for a model with these score gaps.
    pub fn decoder<S: TransitionSystem>(self, gaps: &ScoreGaps) -> Box<dyn Decoder<S>> {
        match self {
            Method::Greedy => Box::new(Greedy::default()),
            Method::Beam { width, percentile } => {
                Box::new(Beam::new(width).with_max_gap(gaps.percentile(percentile)))
            }
            Method::Dp { width } => Box::new(DpBeam::new(width)),
            Method::Exact(settings) => Box::new(AStar::new(settings)),
        }
    }
}

/// Percentiles, from 0 to 100, of the largest score gaps that the winners of beam search had on their way, for the
/// sentences of a development set; perhaps none.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct ScoreGaps(Vec<f32>);

impl ScoreGaps {
    /// Of these gaps.
    pub fn of(mut gaps: Vec<f64>) -> Self {
        gaps.sort_by(f64::total_cmp);
        let last = gaps.len().saturating_sub(1);
        let ranks = (0..=100).map(|percent| (last * percent).div_ceil(100));
        ScoreGaps(ranks.filter_map(|rank| gaps.get(rank)).map(|&gap| gap as f32).collect())
    }

    /// The gap that this percentage of the winners did not exceed; no limit at 100, or where none was seen.
    pub fn percentile(&self, percent: usize) -> f64 {
        let gap = self.0.get(percent).filter(|_| percent < 100);
        gap.map_or(f64::INFINITY, |&gap| f64::from(gap))
    }

    /// Are they percentiles?
    pub fn is_sound(&self) -> bool {
        let is_gap = |gap: &f32| gap.is_finite() && *gap >= 0.0;
        (self.0.is_empty() || self.0.len() == 101) && self.0.iter().all(is_gap) && self.0.is_sorted()
    }
}

#[cfg(test)]
mod tests;
