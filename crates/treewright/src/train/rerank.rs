//! What the tagger's score weighs against the parser's, where they disagree about a tag: tuned on the development set.

use super::{parsed, score_trees};
use crate::error::Result;
use crate::pipeline::{Pipeline, Tagging};
use crate::tree::Entry;

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
            let trees = parsed(dev, jobs, || {
                let mut worker = analyser.worker(None, Tagging::Always).with_close_calls(price);
                move |entry: &Entry| worker.analyse(&mut entry.sentence.clone())
            })?;
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
