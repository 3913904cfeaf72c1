//! Heads and relations of words that both sides share, as in the CoNLL-X shared task, and non-projective arcs.

use super::totals::{Tally, percent, sums};
use crate::ids::TokenIdx;
use crate::sentence::Sentence;
use crate::tree::DependencyTree;

/// Words, right heads, and right heads with the right relation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attachments {
    /// Words scored.
    pub words: u64,
    /// Words whose head is right.
    pub heads: u64,
    /// Words whose relation is right.
    pub labels: u64,
    /// Words whose head and relation are right.
    pub both: u64,
}

sums!(Attachments: words, heads, labels, both);

impl Attachments {
    /// Unlabelled attachment in percent; `None` without words.
    pub fn uas(&self) -> Option<f64> {
        percent(self.heads, self.words)
    }

    /// Labelled attachment in percent; `None` without words.
    pub fn las(&self) -> Option<f64> {
        percent(self.both, self.words)
    }

    /// Relations alone in percent; `None` without words.
    pub fn label_accuracy(&self) -> Option<f64> {
        percent(self.labels, self.words)
    }
}

/// Sums over dependency trees on the same words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttachmentScore {
    /// Sentences scored.
    pub sentences: u64,
    /// Sentences with every head right.
    pub exact_heads: u64,
    /// Sentences with every head and relation right.
    pub exact: u64,
    /// All words.
    pub all: Attachments,
    /// Words that are not made of punctuation only.
    pub without_punctuation: Attachments,
    /// Non-projective arcs.
    pub nonprojective: Tally,
}

impl AttachmentScore {
    /// Adds another sum.
    pub fn add(&mut self, other: &AttachmentScore) {
        self.sentences += other.sentences;
        self.exact_heads += other.exact_heads;
        self.exact += other.exact;
        self.all.add(other.all);
        self.without_punctuation.add(other.without_punctuation);
        self.nonprojective.add(other.nonprojective);
    }

    /// The score of one sentence.
    ///
    /// # Panics
    /// When the trees are not both over the words of `sentence`.
    pub fn of(sentence: &Sentence, gold: &DependencyTree, predicted: &DependencyTree) -> Self {
        assert!(gold.len() == sentence.len() && predicted.len() == sentence.len(), "one arc per word");
        let (mut all, mut without_punctuation) = (Attachments::default(), Attachments::default());
        for ((token, gold), predicted) in sentence.tokens.iter().zip(&gold.arcs).zip(&predicted.arcs) {
            let (head, label) = (gold.head == predicted.head, gold.label == predicted.label);
            let word = Attachments {
                words: 1,
                heads: u64::from(head),
                labels: u64::from(label),
                both: u64::from(head && label),
            };
            all.add(word);
            if !super::punctuation::is_punctuation(&token.form) {
                without_punctuation.add(word);
            }
        }
        AttachmentScore {
            sentences: 1,
            exact_heads: u64::from(all.heads == all.words),
            exact: u64::from(all.both == all.words),
            all,
            without_punctuation,
            nonprojective: nonprojective(gold, predicted),
        }
    }
}

fn nonprojective(gold: &DependencyTree, predicted: &DependencyTree) -> Tally {
    let mut counts = Tally::default();
    let (of_gold, of_predicted) = (gold.nonprojective_arcs(), predicted.nonprojective_arcs());
    for (i, (&in_gold, &in_predicted)) in of_gold.iter().zip(&of_predicted).enumerate() {
        let token = TokenIdx::new(i);
        let same = u64::from(gold.head(token) == predicted.head(token));
        if in_gold {
            counts.gold += 1;
            counts.found += same;
        }
        if in_predicted {
            counts.predicted += 1;
            counts.right += same;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sentence::Token;

    fn dependencies(arcs: &[(usize, &str)]) -> DependencyTree {
        let mut tree = DependencyTree::from_heads(arcs.iter().map(|&(head, _)| head.checked_sub(1)));
        for (arc, (_, label)) in tree.arcs.iter_mut().zip(arcs) {
            arc.label = (*label).into();
        }
        tree
    }

    fn score(words: &str, gold: &[(usize, &str)], predicted: &[(usize, &str)]) -> AttachmentScore {
        let tokens = words.split(' ').map(|word| Token::new(word, "X")).collect();
        let sentence = Sentence { tokens, ..Sentence::default() };
        AttachmentScore::of(&sentence, &dependencies(gold), &dependencies(predicted))
    }

    #[test]
    fn heads_and_relations_with_and_without_punctuation() {
        let gold = [(2, "s"), (0, "r"), (2, "o"), (2, "p")];
        let score = score("he sees it .", &gold, &[(2, "s"), (0, "r"), (2, "x"), (3, "p")]);
        assert_eq!(score.all, Attachments { words: 4, heads: 3, labels: 3, both: 2 });
        assert_eq!(score.without_punctuation, Attachments { words: 3, heads: 3, labels: 2, both: 2 });
        assert_eq!((score.all.uas(), score.all.las()), (Some(75.0), Some(50.0)));
        assert_eq!((score.exact_heads, score.exact), (0, 0));
    }

    #[test]
    fn nonprojective_arcs_are_counted_on_each_side() {
        let gold = [(3, ""), (0, ""), (2, ""), (1, "")];
        assert_eq!(dependencies(&gold).nonprojective_arcs(), [true, false, false, true]);
        let found = score("a b c d", &gold, &[(3, ""), (0, ""), (2, ""), (2, "")]).nonprojective;
        assert_eq!(found, Tally { gold: 2, found: 1, predicted: 1, right: 1 });
        assert_eq!(
            (found.recall(), found.precision(), found.f1()),
            (Some(50.0), Some(100.0), Some(200.0 / 3.0))
        );
        // The head is right, but with the other arcs of the prediction it is projective there.
        let found = score("a b c d", &gold, &[(3, ""), (3, ""), (0, ""), (1, "")]).nonprojective;
        assert_eq!(found, Tally { gold: 2, found: 2, predicted: 1, right: 1 });
    }

    #[test]
    fn figures_of_nothing_are_undefined() {
        let nothing = AttachmentScore::default();
        assert_eq!((nothing.all.uas(), nothing.all.las(), nothing.nonprojective.f1()), (None, None, None));
    }
}
