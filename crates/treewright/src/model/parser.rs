//! The door: a parser that is not generic, and its workers.

use std::path::Path;

use crate::decode::{Decoder, Effort, Guarantee, Input, Inputs, Method, Weighing};
use crate::error::{Code, Error, Result};
use crate::model::{Model, ModelInfo, TypedModel};
use crate::registry::Registered;
use crate::score::{Ensemble, Scorer, WordTags};
use crate::sentence::Sentence;
use crate::tree::{ParserTree, PseudoProjective, Tree, TreeKind, deprojectivize};

/// How to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// The decoder and its settings.
    pub method: Method,
    /// How many parses are wanted; a beam never finds more than it has items. The search is the same whatever this is,
    /// so the first parse is that of `k_best = 1`; a wider beam or less pruning finds more alternatives.
    pub k_best: usize,
}

/// A tree with the score of its derivation.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredTree {
    /// The tree.
    pub tree: Tree,
    /// The sum of its actions' scores; comparable within one sentence and model only.
    pub score: f64,
    /// The largest score gap to the best hypothesis that its derivation had on the way, if it had rivals.
    pub score_gap: f64,
    /// What the search says of the best parse.
    pub guarantee: Guarantee,
    /// Its share of all parses of the sentence, where several were wanted.
    pub share: Option<Share>,
}

/// The share that a parse has of the weight of all parses that the search kept, of which those that are given may be a part. So
/// it does not depend on how many are wanted. Scores become weights as [`Weighing`] says.
///
/// A beam counts all the derivations of a tree that it kept. Where states are merged, and in exact search, the weight of a
/// tree is that of its best derivation, because others may be far down the list, unless all are given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// The share, from 0 to 1.
    pub value: f64,
    /// True if the parses given are all that the sentence has: nothing was pruned and no limit reached. Only then the share
    /// is a probability.
    pub is_probability: bool,
}

/// The trees of one sentence, as a search hands over derivations.
struct Ranking {
    trees: Vec<ScoredTree>,
    /// For each tree the weight of its best derivation, and of all that were handed over.
    weights: Vec<(f64, f64)>,
    /// The weight of all derivations that were handed over.
    total: f64,
    /// True if there are other trees.
    is_cut: bool,
    weighing: Option<Weighing>,
}

impl Ranking {
    /// Adds a derivation, whose score is not above that of the one before.
    fn add(&mut self, tree: Tree, (score, score_gap): (f64, f64), wants_more: bool, weighing: Weighing) {
        let weight = self.weighing.get_or_insert(weighing).weight(score);
        self.total += weight;
        // Different derivations, or trees for the system, may be one tree for the treebank.
        match self.trees.iter().position(|other| other.tree == tree) {
            Some(rank) => self.weights[rank].1 += weight,
            None if wants_more => {
                let guarantee = Guarantee::Heuristic;
                self.trees.push(ScoredTree { tree, score, score_gap, guarantee, share: None });
                self.weights.push((weight, weight));
            }
            None => self.is_cut = true,
        }
    }
}

/// A trained parser: immutable, shared between threads. Scratch memory belongs to its workers.
///
/// ```no_run
/// use treewright::{Sentence, model::Parser};
///
/// let parser = Parser::open("en.model")?;
/// let sentence = Sentence::from_tagged([("The", "DT"), ("public", "NN"), ("waits", "VBZ"), (".", ".")]);
/// let tree = parser.worker().parse(&sentence).expect("every sentence with words has a tree");
/// # Ok::<(), treewright::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Parser {
    pub(crate) model: Model,
    /// Models for the same actions that have a say in its scores, each with the unit of its scores; in an ensemble, all.
    voters: Vec<(Model, f32)>,
}

impl Parser {
    /// Opens a model file; its weights are mapped, not read.
    ///
    /// # Errors
    /// When it is not a model, or damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Parser::new(Model::open(path)?))
    }

    /// A parser for a model at hand.
    pub fn new(model: Model) -> Self {
        Parser { model, voters: Vec::new() }
    }

    /// A parser that goes by the scores of several models together, each with a weight (1 where none is given). The first says
    /// how to search.
    ///
    /// # Errors
    /// When the models are not for the same system with the same labels, or one does not say in which unit its scores are:
    /// a linear model that was trained without a beam or without development data.
    pub fn ensemble(parsers: &[Parser], weights: &[f32]) -> Result<Self> {
        let refuse = |message: String| Error::new(Code::BadModel, message);
        let Some(first) = parsers.first() else { return Err(refuse("there is no parser".to_owned())) };
        let tables = |parser: &Parser| parser.model.0.tables().ok();
        let encoding = |parser: &Parser| parser.model.0.config().pseudo_projective.clone();
        let mut voters = Vec::with_capacity(parsers.len());
        for (i, parser) in parsers.iter().enumerate() {
            let number = i + 1;
            let (system, of_first) = (parser.model.0.tag(), first.model.0.tag());
            if system != of_first {
                return Err(refuse(format!(
                    "model {number} is for {system}, but the first is for {of_first}"
                )));
            }
            if tables(parser) != tables(first) || encoding(parser) != encoding(first) {
                let message = format!(
                    "model {number} has other actions than the first: train both on the same trees, with the same \
                     settings for rare actions and for trees that are not projective"
                );
                return Err(refuse(message));
            }
            let unit = parser.model.0.score_unit().ok_or_else(|| {
                let message =
                    format!("model {number} has no score scale; train it with a beam and a development set");
                refuse(message)
            })?;
            voters.push((parser.model.clone(), unit / weights.get(i).copied().unwrap_or(1.0)));
        }
        Ok(Parser { model: first.model.clone(), voters })
    }

    /// What the model is.
    pub fn info(&self) -> ModelInfo {
        self.model.info()
    }

    /// What it builds.
    pub fn kind(&self) -> TreeKind {
        self.info().system.info().kind
    }

    /// The search the model was trained with.
    pub fn default_search(&self) -> Search {
        let method = match Method::of(self.model.0.config()) {
            Method::Beam { width, .. } => Method::Beam { width, percentile: Method::PERCENTILE },
            method => method,
        };
        Search { method, k_best: 1 }
    }

    /// Can the model be searched like this?
    ///
    /// # Errors
    /// Why not, and what else to do.
    pub fn check(&self, search: Search) -> Result<(), String> {
        self.model.0.check(search.method)
    }

    /// Is [`Worker::parse_all`] faster than one sentence after the other?
    pub fn prefers_batches(&self) -> bool {
        self.worker().prefers_batches()
    }

    /// A worker with scratch memory of its own, for one thread.
    pub fn worker(&self) -> Worker {
        let inner = match &self.voters[..] {
            [] => self.model.0.worker(),
            voters => {
                let scorers = voters.iter().map(|(model, unit)| (model.0.parts().scorer.scorer(), *unit));
                self.model.0.worker_with(Box::new(Ensemble::new(scorers)))
            }
        };
        Worker { inner, search: self.default_search() }
    }
}

/// Parses sentences one after the other.
pub struct Worker {
    inner: Box<dyn ParseSentence + Send>,
    search: Search,
}

impl Worker {
    /// The same worker with another search.
    pub fn with_search(self, search: Search) -> Self {
        Worker { search, ..self }
    }

    /// The best tree; none only for a sentence without words.
    pub fn parse(&mut self, sentence: &Sentence) -> Option<Tree> {
        self.inner.parse_best(sentence, Search { k_best: 1, ..self.search })
    }

    /// Is [`Worker::parse_all`] faster than one sentence after the other?
    pub fn prefers_batches(&self) -> bool {
        self.inner.scorer().prefers_batches()
    }

    /// The best tree of each sentence, in order: the same as one by one, and faster with some models.
    pub fn parse_all(&mut self, sentences: &[&Sentence]) -> Vec<Option<Tree>> {
        self.inner.parse_all(sentences, Search { k_best: 1, ..self.search })
    }

    /// Does the parser find tags, too?
    pub fn finds_tags(&self) -> bool {
        self.inner.scorer().finds_tags()
    }

    /// Says whether the tags that the parser finds are wanted from now on.
    pub fn set_tagging(&mut self, is_wanted: bool) {
        self.inner.scorer_mut().set_tagging(is_wanted);
    }

    /// The tags of the words of all sentences that were parsed since this was last called, if they were wanted.
    pub fn take_tags(&mut self) -> Vec<WordTags> {
        self.inner.scorer_mut().take_tags()
    }

    /// How many derivations of the last sentence the search compared to the end, where it merged states.
    pub fn n_derivations(&self) -> Option<f64> {
        self.inner.n_derivations()
    }

    /// The effort of exact search for all sentences since this was last called; zero in any other search.
    pub fn take_effort(&mut self) -> Effort {
        self.inner.take_effort()
    }

    /// Up to `k_best` trees, best first.
    pub fn parse_k_best(&mut self, sentence: &Sentence) -> Vec<ScoredTree> {
        self.inner.parse(sentence, self.search)
    }
}

/// One dynamic call per sentence hides the system's type.
pub(crate) trait ParseSentence {
    fn parse(&mut self, sentence: &Sentence, search: Search) -> Vec<ScoredTree>;

    /// How many derivations of the last sentence were compared to the end, where states were merged.
    fn n_derivations(&self) -> Option<f64>;

    /// The effort of exact search for all sentences since this was last called.
    fn take_effort(&mut self) -> Effort;

    /// The first of these, without its score: a little less work.
    fn parse_best(&mut self, sentence: &Sentence, search: Search) -> Option<Tree>;

    fn scorer(&self) -> &dyn Scorer;

    fn scorer_mut(&mut self) -> &mut dyn Scorer;

    /// The same for many sentences.
    fn parse_all(&mut self, sentences: &[&Sentence], search: Search) -> Vec<Option<Tree>>;
}

pub(crate) struct TypedWorker<S: Registered> {
    model: TypedModel<S>,
    scorer: Box<dyn Scorer>,
    /// The decoder of the last search, and its settings.
    decoder: Option<(Method, Box<dyn Decoder<S>>)>,
    encoding: Option<PseudoProjective>,
    effort: Effort,
}

impl<S: Registered> TypedWorker<S> {
    pub(crate) fn new(model: TypedModel<S>, scorer: Box<dyn Scorer>) -> Self {
        // The settings were checked before training; a model file with others encodes nothing.
        let encoding = model.parts.config.pseudo_projective().ok().flatten();
        TypedWorker { scorer, decoder: None, model, encoding, effort: Effort::default() }
    }

    /// Sees to it that the decoder is the one asked for.
    fn set_decoder(&mut self, method: Method) {
        if self.decoder.as_ref().is_none_or(|(of, _)| *of != method) {
            self.decoder = Some((method, method.decoder(&self.model.parts.score_gaps)));
        }
    }
}

/// A tree as the treebank has it.
fn restored<T: ParserTree>(tree: T, encoding: Option<PseudoProjective>) -> Tree {
    match (tree.restore(), encoding) {
        (Tree::Dependency(tree), Some(encoding)) => Tree::Dependency(deprojectivize(&tree, encoding)),
        (tree, _) => tree,
    }
}

const WAS_SET: &str = "the decoder was set";

impl<S: Registered> ParseSentence for TypedWorker<S> {
    fn parse(&mut self, sentence: &Sentence, search: Search) -> Vec<ScoredTree> {
        self.set_decoder(search.method);
        let (_, decoder) = self.decoder.as_mut().expect(WAS_SET);
        let (system, encoding) = (&*self.model.system, self.encoding);
        let is_log_probability = self.scorer.is_log_linear();
        let mut ranking =
            Ranking { trees: Vec::new(), weights: Vec::new(), total: 0.0, is_cut: false, weighing: None };
        let hands_over_all = decoder.hands_over_all();
        let guarantee = decoder.decode(Input { system, scorer: &mut *self.scorer, sentence }, &mut |found| {
            let tree = restored(found.tree(system), encoding);
            let weighing = Weighing::new(found.score, sentence.len(), is_log_probability);
            let wants_more = ranking.trees.len() < search.k_best;
            ranking.add(tree, (found.score, found.score_gap), wants_more, weighing);
            // The others count for the shares.
            let is_enough = ranking.trees.len() >= search.k_best;
            ranking.is_cut |= is_enough && !hands_over_all;
            search.k_best > 1 && (hands_over_all || !is_enough)
        });
        self.effort.add(decoder.effort());
        let Ranking { mut trees, weights, total, is_cut, .. } = ranking;
        let kept = decoder.kept();
        let is_whole = kept.is_all && !is_cut;
        for (tree, (best, all)) in trees.iter_mut().zip(weights) {
            tree.guarantee = guarantee;
            let (weight, of) = match kept.total {
                Some(of) if !is_whole => (best, of.max(total)),
                _ => (all, total),
            };
            // Scores that are no numbers have no weight.
            let value = if of > 0.0 { (weight / of).clamp(0.0, 1.0) } else { 0.0 };
            tree.share = (search.k_best > 1).then_some(Share { value, is_probability: is_whole });
        }
        trees
    }

    fn n_derivations(&self) -> Option<f64> {
        self.decoder.as_ref().and_then(|(_, decoder)| decoder.n_derivations())
    }

    fn take_effort(&mut self) -> Effort {
        std::mem::take(&mut self.effort)
    }

    fn parse_best(&mut self, sentence: &Sentence, search: Search) -> Option<Tree> {
        self.set_decoder(search.method);
        let (_, decoder) = self.decoder.as_mut().expect(WAS_SET);
        let tree =
            decoder.best_tree(Input { system: &self.model.system, scorer: &mut *self.scorer, sentence });
        self.effort.add(decoder.effort());
        tree.map(|tree| restored(tree, self.encoding))
    }

    fn scorer(&self) -> &dyn Scorer {
        &*self.scorer
    }

    fn scorer_mut(&mut self) -> &mut dyn Scorer {
        &mut *self.scorer
    }

    fn parse_all(&mut self, sentences: &[&Sentence], search: Search) -> Vec<Option<Tree>> {
        /// Sentences that are searched at the same time. With more, what is known about their words leaves the cache.
        const TOGETHER: usize = 32;
        /// And their words, if there is more than one sentence: what is known about all of them is in memory.
        const MAX_WORDS: usize = 1 << 12;
        self.set_decoder(search.method);
        let (_, decoder) = self.decoder.as_mut().expect(WAS_SET);
        // Exact search counts its items sentence by sentence.
        if matches!(search.method, Method::Exact(_)) {
            return sentences.iter().map(|sentence| self.parse_best(sentence, search)).collect();
        }
        let mut trees = Vec::with_capacity(sentences.len());
        let mut rest = sentences;
        while !rest.is_empty() {
            let mut n_words = 0;
            let fits = |sentence: &&&Sentence| {
                n_words += sentence.len();
                n_words <= MAX_WORDS
            };
            let n = rest.iter().take(TOGETHER).take_while(fits).count().max(1);
            let (sentences, after) = rest.split_at(n);
            rest = after;
            let (system, scorer) = (&*self.model.system, &mut *self.scorer);
            decoder.best_trees(Inputs { system, scorer, sentences }, &mut trees);
        }
        trees.into_iter().map(|tree| tree.map(|tree| restored(tree, self.encoding))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::systems::trees;

    /// The shares of trees with these scores in a list of this many.
    fn shares(scores: &[(&str, f64)], k: usize, n_words: usize, is_log_probability: bool) -> Vec<f64> {
        let mut ranking =
            Ranking { trees: Vec::new(), weights: Vec::new(), total: 0.0, is_cut: false, weighing: None };
        for &(tree, score) in scores {
            let wants_more = ranking.trees.len() < k;
            let weighing = Weighing::new(score, n_words, is_log_probability);
            ranking.add(Tree::from(trees::tree(tree)), (score, 0.0), wants_more, weighing);
        }
        ranking.weights.iter().map(|(_, all)| all / ranking.total).collect()
    }

    #[track_caller]
    fn check(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        assert!(found.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-9), "{found:?}");
    }

    const A: &str = "(A w0)";
    const B: &str = "(B w0)";
    const C: &str = "(C w0)";

    #[test]
    fn shares_are_a_softmax_by_score_per_word() {
        // With 10 a word the unit is 1, whatever the length.
        let odds = 1.0 / (1.0 + (-1f64).exp());
        check(&shares(&[(A, 20.0), (B, 19.0)], 2, 2, false), &[odds, 1.0 - odds]);
        check(&shares(&[(A, -30.0), (B, -31.0)], 2, 3, false), &[odds, 1.0 - odds]);
        // The unit grows with the scores, so their scale does not matter, even if it is huge.
        check(&shares(&[(A, 2e300), (B, 1.9e300)], 2, 2, false), &[odds, 1.0 - odds]);
        check(&shares(&[(A, 10000.0), (B, 9999.0)], 2, 1000, false), &[odds, 1.0 - odds]);
        check(&shares(&[(A, 7.0)], 2, 3, false), &[1.0]);
    }

    #[test]
    fn logarithms_of_probabilities_are_those_of_probabilities() {
        let scores = [(A, 0.5f64.ln()), (B, 0.2f64.ln()), (C, 0.1f64.ln())];
        for n_words in [0, 1, 100] {
            check(&shares(&scores, 3, n_words, true), &[0.625, 0.25, 0.125]);
            // Those that are not listed count as well.
            check(&shares(&scores, 2, n_words, true), &[0.625, 0.25]);
        }
    }

    #[test]
    fn derivations_of_one_tree_are_added_up() {
        let scores = [(A, 0.4f64.ln()), (B, 0.3f64.ln()), (A, 0.1f64.ln())];
        check(&shares(&scores, 2, 1, true), &[0.625, 0.375]);
        check(&shares(&scores, 1, 1, true), &[0.625]);
    }

    #[test]
    fn a_model_that_scores_nothing_leaves_all_trees_alike() {
        check(&shares(&[(A, 0.0), (B, 0.0)], 2, 5, false), &[0.5, 0.5]);
        check(&shares(&[(A, 0.0), (B, 0.0)], 2, 0, false), &[0.5, 0.5]);
        check(&shares(&[(A, 0.0), (B, -1.0)], 2, 5, false), &[1.0, 0.0]);
    }
}
