//! Tunes the weight of the tagger's score in tag reranking on the development set.

use super::{parsed, score_trees};
use crate::error::Result;
use crate::pipeline::{Pipeline, Tagging};
use crate::tree::Entry;

/// The weights to choose from; 0 stands for no reranking.
const TAGGER_WEIGHTS: [u32; 7] = [0, 5, 10, 20, 40, 80, 160];

/// How weights of the tagger's score did on the development set.
#[derive(Clone, Debug, PartialEq)]
pub struct TaggerWeights {
    /// The best.
    pub best: u32,
    /// All that were tried, each with the score of the trees (LAS or F1).
    pub scores: Vec<(u32, f64)>,
}

impl Pipeline {
    /// Finds the weight of the tagger's score with which the first parser's trees for a development set are best, and
    /// keeps it; `None` if the parser has no tagger or the set no trees. The result does not depend on the number of
    /// threads, `jobs`.
    ///
    /// # Errors
    /// When a part is damaged.
    pub fn tune_tagger_weight(&mut self, dev: &[Entry], jobs: usize) -> Result<Option<TaggerWeights>> {
        let analyser = self.analyser(None)?;
        if !analyser.has_tagger() || analyser.parser.is_none() || dev.is_empty() {
            return Ok(None);
        }
        let mut scores = Vec::new();
        for weight in TAGGER_WEIGHTS {
            let trees = parsed(dev, jobs, || {
                let mut worker = analyser.worker(None, Tagging::Always).with_tagger_weight(weight);
                move |entry: &Entry| worker.analyse(&mut entry.sentence.clone())
            })?;
            let trees = trees.into_iter().collect::<Result<Vec<_>>>()?;
            let (Some(score), _) = score_trees(dev, &trees) else { return Ok(None) };
            scores.push((weight, score));
        }
        // Of equals the first: no reranking is fastest.
        let (best, _) =
            scores.iter().fold(scores[0], |best, &next| if next.1 > best.1 { next } else { best });
        self.set_tagger_weight(best);
        Ok(Some(TaggerWeights { best, scores }))
    }
}
