//! Close calls: where a tagger could hardly decide, the parser is asked too.
//!
//! A wrong tag often makes a tree that the parser finds odd. So a sentence is also parsed with the second tag of each word
//! whose two best tags are close, and the second tag stays if the parser's score rises by more than the tagger's falls,
//! at a *price*: so much of the parser's score for one step of the tagger's. Which price is good, and whether any is,
//! depends on the two models; training asks the development set.

use crate::model::{ScoredTree, Worker};
use crate::sentence::Sentence;
use crate::tag::TaggerWorker;

/// So many second tags are tried for a sentence, the closest first; each costs a parse.
const MOST_TRIED: usize = 4;

/// Parses a sentence that was just tagged, and changes tags where that is worth the price.
pub(crate) fn parse(
    tagger: &mut TaggerWorker,
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
