//! Heads and relations of words that both sides share, as in the CoNLL-X shared task, and non-projective arcs.

use super::totals::{Tally, percent, sums};
use crate::ids::TokenIdx;
use crate::sentence::Sentence;
use crate::tree::{Arc, DependencyTree};

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

/// Words and arcs of two sides whose words and sentences may differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AlignedAttachments {
    /// Gold words.
    pub gold: u64,
    /// Predicted words.
    pub predicted: u64,
    /// Aligned words with the right head.
    pub heads: u64,
    /// Aligned words with the right relation.
    pub labels: u64,
    /// Aligned words with the right head and relation.
    pub both: u64,
}

sums!(AlignedAttachments: gold, predicted, heads, labels, both);

impl AlignedAttachments {
    fn f1(self, matched: u64) -> Option<f64> {
        percent(2 * matched, self.gold + self.predicted)
    }

    /// Unlabelled attachment, as F1 in percent; `None` without words.
    pub fn uas(self) -> Option<f64> {
        self.f1(self.heads)
    }

    /// Labelled attachment, as F1 in percent; `None` without words.
    pub fn las(self) -> Option<f64> {
        self.f1(self.both)
    }

    /// Relations alone, as F1 in percent; `None` without words.
    pub fn label_accuracy(self) -> Option<f64> {
        self.f1(self.labels)
    }

    /// Right and wrong arcs, counted once where both sides have the word.
    pub fn n_wrong(self) -> u64 {
        self.gold + self.predicted - 2 * self.both
    }
}

/// Compares the arcs of aligned words (`conll18::aligned_words`); full relations count. Gives the counts and, for every
/// word of each side, whether its head and relation are right.
pub fn aligned_arcs(
    gold: &[&DependencyTree],
    predicted: &[&DependencyTree],
    pairs: &[(usize, usize)],
) -> (AlignedAttachments, [Vec<bool>; 2]) {
    /// Heads among the words of all sentences, and relations.
    fn arcs<'a>(trees: &[&'a DependencyTree]) -> Vec<(Option<usize>, &'a str)> {
        let mut arcs = Vec::new();
        for tree in trees {
            let first = arcs.len();
            let arc = |arc: &'a Arc| (arc.head.map(|head| first + head.index()), &*arc.label);
            arcs.extend(tree.arcs.iter().map(arc));
        }
        arcs
    }
    let (gold, predicted) = (arcs(gold), arcs(predicted));
    let mut gold_of = vec![None; predicted.len()];
    pairs.iter().for_each(|&(g, p)| gold_of[p] = Some(g));
    let mut right = [vec![false; gold.len()], vec![false; predicted.len()]];
    let mut counts = AlignedAttachments {
        gold: gold.len() as u64,
        predicted: predicted.len() as u64,
        ..AlignedAttachments::default()
    };
    for &(g, p) in pairs {
        let head = match (gold[g].0, predicted[p].0) {
            (None, None) => true,
            (Some(gold), Some(predicted)) => gold_of[predicted] == Some(gold),
            _ => false,
        };
        let label = gold[g].1 == predicted[p].1;
        counts.heads += u64::from(head);
        counts.labels += u64::from(label);
        counts.both += u64::from(head && label);
        right[0][g] = head && label;
        right[1][p] = head && label;
    }
    (counts, right)
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
    fn arcs_of_aligned_words_are_compared() {
        let gold = [(2, "s"), (0, "r"), (2, "o:x"), (2, "p")];
        let predicted = [(2, "s"), (0, "r"), (2, "o"), (3, "p")];
        let (a, b) = (dependencies(&gold), dependencies(&predicted));
        let all = score("he sees it .", &gold, &predicted).all;
        // The same words: as many are right as in the ordinary way.
        let same: Vec<_> = (0..4).map(|i| (i, i)).collect();
        let (counts, right) = aligned_arcs(&[&a], &[&b], &same);
        assert_eq!((counts.heads, counts.labels, counts.both), (all.heads, all.labels, all.both));
        assert_eq!((counts.las(), counts.n_wrong()), (all.las(), 4));
        assert_eq!(right, [vec![true, true, false, false], vec![true, true, false, false]]);
        // Two sentences against one, where the last gold word is two words of the prediction.
        let first = dependencies(&[(0, "r"), (1, "x")]);
        let second = dependencies(&[(0, "r")]);
        let one = dependencies(&[(0, "r"), (1, "x"), (4, "r"), (1, "y")]);
        let (counts, right) = aligned_arcs(&[&first, &second], &[&one], &[(0, 0), (1, 1)]);
        assert_eq!(counts, AlignedAttachments { gold: 3, predicted: 4, heads: 2, labels: 2, both: 2 });
        assert_eq!(right, [vec![true, true, false], vec![true, true, false, false]]);
    }

    #[test]
    fn figures_of_nothing_are_undefined() {
        let nothing = AttachmentScore::default();
        assert_eq!((nothing.all.uas(), nothing.all.las(), nothing.nonprojective.f1()), (None, None, None));
    }
}
