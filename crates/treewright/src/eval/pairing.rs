//! Which predicted sentence belongs to which gold sentence: by position, with some patience for blank lines.

use super::Style;
use crate::tree::Entry;

/// The sentences of two files side by side.
#[derive(Clone, Debug, Default)]
pub struct Pairing<'a> {
    /// Gold and predicted sentences, in order, as far as both files go.
    pub pairs: Vec<(&'a Entry, &'a Entry)>,
    /// The number of gold sentences.
    pub n_gold: usize,
    /// The number of predicted sentences.
    pub n_predicted: usize,
    /// The first sentence that has no partner: of the gold file, or of the predicted one.
    pub left_over: Option<(Side, &'a Entry)>,
}

/// One of the two files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The gold file.
    Gold,
    /// The predicted file.
    Predicted,
}

impl Pairing<'_> {
    /// True if the words of the two files are cut differently, so that sentences side by side say little; see
    /// [`super::alignment`]. Sentences without a tree, and traces, do not matter; other forms of the same number of
    /// words only do to EVALB, which has no rule for them.
    pub fn is_cut_differently(&self, style: Style) -> bool {
        fn forms(entry: &Entry) -> impl Iterator<Item = &str> {
            entry.sentence.tokens.iter().filter(|token| !token.is_trace()).map(|token| &*token.form)
        }
        let differ = |&(gold, predicted): &(&Entry, &Entry)| match style {
            _ if gold.tree.is_none() || predicted.tree.is_none() => false,
            Style::Evalb => !forms(gold).eq(forms(predicted)),
            Style::Disco => forms(gold).count() != forms(predicted).count(),
        };
        self.left_over.is_some() || self.pairs.iter().any(differ)
    }
}

fn is_blank(entry: &Entry) -> bool {
    entry.sentence.is_empty() && entry.tree.is_none()
}

/// Puts sentences side by side. Read with `no_parse`, a blank line is a sentence without a parse; where that makes
/// the numbers differ, blank lines that only separate trees are passed over, first those of the gold file.
pub fn pair<'a>(gold: &'a [Entry], predicted: &'a [Entry]) -> Pairing<'a> {
    let all = |entries: &'a [Entry]| entries.iter().collect::<Vec<_>>();
    let without_blanks =
        |entries: &'a [Entry]| entries.iter().filter(|entry| !is_blank(entry)).collect::<Vec<_>>();
    let (mut of_gold, mut of_predicted) = (all(gold), all(predicted));
    if of_gold.len() != of_predicted.len() {
        let filled = (without_blanks(gold), without_blanks(predicted));
        if filled.0.len() == of_predicted.len() || filled.0.len() != filled.1.len() {
            of_gold = filled.0;
        } else {
            (of_gold, of_predicted) = filled;
        }
    }
    // Blank lines at the end of a file say nothing about a sentence.
    while of_predicted.len() > of_gold.len() && of_predicted.last().is_some_and(|entry| is_blank(entry)) {
        of_predicted.pop();
    }
    let n = of_gold.len().min(of_predicted.len());
    let left_over = match (of_gold.get(n), of_predicted.get(n)) {
        (Some(entry), _) => Some((Side::Gold, *entry)),
        (_, Some(entry)) => Some((Side::Predicted, *entry)),
        _ => None,
    };
    Pairing {
        n_gold: of_gold.len(),
        n_predicted: of_predicted.len(),
        left_over,
        pairs: of_gold.into_iter().zip(of_predicted).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sentence::Sentence;

    /// `a`, `b`... are sentences, `-` is a blank line.
    #[track_caller]
    fn check(gold: &str, predicted: &str, expected: &[&str], left_over: Option<Side>) {
        let entries = |text: &str| -> Vec<Entry> {
            let entry = |c: char| match c {
                '-' => Entry::default(),
                _ => Entry { sentence: Sentence::from_tagged([(c.to_string().as_str(), "X")]), tree: None },
            };
            text.chars().map(entry).collect()
        };
        let (gold, predicted) = (entries(gold), entries(predicted));
        let pairing = pair(&gold, &predicted);
        let shown = |entry: &Entry| {
            entry.sentence.tokens.first().map_or("-".to_owned(), |token| token.form.to_string())
        };
        let found: Vec<String> = pairing.pairs.iter().map(|(g, p)| shown(g) + &shown(p)).collect();
        assert_eq!(found, expected);
        assert_eq!(pairing.left_over.map(|(side, _)| side), left_over);
    }

    #[test]
    fn line_by_line_and_blank_lines() {
        check("ab", "ab", &["aa", "bb"], None);
        check("ab", "-b", &["a-", "bb"], None);
        check("a-", "a-", &["aa", "--"], None);
        check("a-b-", "ab", &["aa", "bb"], None);
        check("ab", "a-b-", &["aa", "bb"], None);
        check("a-b", "a--b", &["aa", "bb"], None);
        check("ab", "ab--", &["aa", "bb"], None);
        check("abc", "ab---", &["aa", "bb", "c-"], None);
    }

    #[test]
    fn what_is_left_over_is_told() {
        check("abc", "ab", &["aa", "bb"], Some(Side::Gold));
        check("a", "ab", &["aa"], Some(Side::Predicted));
        check("abc", "-b", &["a-", "bb"], Some(Side::Gold));
    }
}
