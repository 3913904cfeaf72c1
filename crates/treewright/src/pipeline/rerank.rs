//! Tag reranking: where the tagger's two best tags are close, parse with both and keep the better total score.
//!
//! A wrong tag often leads to a tree with a low score. So the sentence is also parsed with the second tag of each word
//! whose two best tags are close, and the second tag stays if the parser's score rises by more than the tagger's falls.
//! The *weight* of the tagger's score depends on the two models, so training tunes it on the development set; some models
//! are best without reranking.

use crate::model::{ScoredTree, Worker};
use crate::sentence::Sentence;
use crate::tag::TaggerWorker;

/// At most this many second tags are tried for a sentence, the closest first; each costs a parse.
const MAX_TRIED: usize = 4;

/// Parses a sentence that was just tagged, and changes tags where that raises the total score.
pub(crate) fn parse(
    tagger: &mut TaggerWorker,
    parser: &mut Worker,
    sentence: &mut Sentence,
    tagger_weight: u32,
) -> Vec<ScoredTree> {
    let mut best = parser.parse_k_best(sentence);
    let mut chosen = Vec::new();
    let mut was_rejected = false;
    for alternative in tagger.alternatives().into_iter().take(MAX_TRIED) {
        chosen.push(alternative);
        tagger.tag_with(sentence, &chosen);
        let parses = parser.parse_k_best(sentence);
        let score = |parses: &[ScoredTree]| parses.first().map_or(0.0, |parse| parse.score);
        was_rejected =
            score(&parses) - score(&best) <= f64::from(tagger_weight) * f64::from(alternative.margin);
        if was_rejected {
            chosen.pop();
        } else {
            best = parses;
        }
    }
    if was_rejected {
        tagger.tag_with(sentence, &chosen);
    }
    best
}
