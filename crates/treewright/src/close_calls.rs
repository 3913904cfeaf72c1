//! Close calls: where a tagger could hardly decide, the parser is asked too.
//!
//! A wrong tag often makes a tree that the parser finds odd. So a sentence is also parsed with the second tag of each word
//! whose two best tags are close, and the second tag stays if the parser's score rises by more than the tagger's falls,
//! at a *price*: so much of the parser's score for one step of the tagger's. Which price is good, and whether any is,
//! depends on the two models; the development set tells ([`Pipeline::settle_close_calls`]).

use crate::error::Result;
use crate::parser::{ScoredTree, Worker};
use crate::pipeline::{Pipeline, Tagging};
use crate::sentence::Sentence;
use crate::tag::TaggerWorker;
use crate::train::{score_trees, shared_out};
use crate::treebank::Entry;

/// So many second tags are tried for a sentence, the closest first; each costs a parse.
const MOST_TRIED: usize = 4;

/// The prices to choose from; 0 stands for not asking the parser.
const PRICES: [u32; 7] = [0, 5, 10, 20, 40, 80, 160];

/// What a development set says about prices.
#[derive(Clone, Debug, PartialEq)]
pub struct Prices {
    /// The best.
    pub best: u32,
    /// All that were tried, each with the score of the trees (LAS or F1).
    pub scores: Vec<(u32, f64)>,
}

/// Parses a sentence that was just tagged, and changes tags where that is worth the price.
pub(crate) fn parse(
    tagger: &mut TaggerWorker<'_>,
    parser: &mut Worker,
    sentence: &mut Sentence,
    price: u32,
) -> Vec<ScoredTree> {
    let mut best = parser.parse_k_best(sentence);
    let mut otherwise = Vec::new();
    let mut was_refused = false;
    for call in tagger.close_calls().into_iter().take(MOST_TRIED) {
        otherwise.push(call);
        tagger.tag_otherwise(sentence, &otherwise);
        let parses = parser.parse_k_best(sentence);
        let score = |parses: &[ScoredTree]| parses.first().map_or(0.0, |parse| parse.score);
        was_refused = score(&parses) - score(&best) <= f64::from(price) * f64::from(call.margin);
        if was_refused {
            otherwise.pop();
        } else {
            best = parses;
        }
    }
    if was_refused {
        tagger.tag_otherwise(sentence, &otherwise);
    }
    best
}

impl Pipeline {
    /// Finds the price of close calls with which the first parser's trees for a development set are best, and keeps it;
    /// nothing if the parser has no tagger or the set no trees. `jobs` threads share the work, which does not change the
    /// result.
    ///
    /// # Errors
    /// When a part is damaged.
    pub fn settle_close_calls(&mut self, dev: &[Entry], jobs: usize) -> Result<Option<Prices>> {
        let analyser = self.analyser(None)?;
        if analyser.tagger.is_none() || analyser.parser.is_none() || dev.is_empty() {
            return Ok(None);
        }
        let mut scores = Vec::new();
        for price in PRICES {
            let trees = shared_out(dev, jobs, |entries| {
                let mut worker = analyser.worker(None, Tagging::Always).with_close_calls(price);
                entries.iter().map(|entry| worker.analyse(&mut entry.sentence.clone())).collect()
            });
            let (Some(score), _) = score_trees(dev, &trees) else { return Ok(None) };
            scores.push((price, score));
        }
        // Of equals the first: not to ask the parser is fastest.
        let (best, _) =
            scores.iter().fold(scores[0], |best, &next| if next.1 > best.1 { next } else { best });
        self.set_close_calls(best);
        Ok(Some(Prices { best, scores }))
    }
}
