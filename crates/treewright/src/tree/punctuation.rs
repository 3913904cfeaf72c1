//! Punctuation: hung low enough to cause no discontinuity, or all from the root.
//!
//! Treebanks such as NEGRA hang punctuation from the root, which makes most sentences discontinuous without need.
//! [`lower_punctuation`] moves each such mark to the lowest constituent that dominates the words on both sides of
//! it. Marks that already hang where they cause no gap stay. At the edges of the sentence a mark may stay with the
//! root.
//!
//! A constituent of nothing but punctuation is left as it is, and its marks count as words: taking them out would
//! lose the constituent.

use crate::ids::{NodeId, TokenIdx};
use crate::sentence::{Sentence, Str};
use crate::tree::ancestors::Ancestors;
use crate::tree::{Child, ConstituentTree};

/// The tags of punctuation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PunctuationTags(pub Vec<Str>);

impl Default for PunctuationTags {
    /// The punctuation tags of the Penn, STTS, UD and Alpino tag sets.
    fn default() -> Self {
        let tags = [
            "``", "''", "\"", "`", "'", ",", ".", ":", "-LRB-", "-RRB-", "$,", "$.", "$(", "$*LRB*", "$[",
            "PUNCT", "punct", "LET",
        ];
        PunctuationTags(tags.into_iter().map(Str::from).collect())
    }
}

impl PunctuationTags {
    fn contains(&self, tag: &str) -> bool {
        self.0.iter().any(|known| known == tag)
    }
}

/// Which words are marks that may be moved: punctuation outside constituents of nothing but punctuation.
fn movable(sentence: &Sentence, tree: &ConstituentTree, tags: &PunctuationTags) -> Vec<bool> {
    let is_mark = |token: TokenIdx| sentence.tokens.get(token.index()).is_some_and(|t| tags.contains(&t.tag));
    let mut movable: Vec<bool> = (0..tree.n_tokens()).map(|i| is_mark(TokenIdx::new(i))).collect();
    let mut has_words = vec![false; tree.n_nodes()];
    for (id, _) in tree.nodes() {
        has_words[id.index()] = tree.children(id).iter().any(|child| match child {
            Child::Token(token) => !movable[token.index()],
            Child::Node(node) => has_words[node.index()],
        });
    }
    for (token, parent) in tree.token_parents().into_iter().enumerate() {
        movable[token] &= has_words[parent.index()];
    }
    movable
}

/// Hangs all punctuation from the root, as the SPMRL scorer expects it.
pub fn raise_punctuation(
    sentence: &Sentence,
    tree: &ConstituentTree,
    tags: &PunctuationTags,
) -> ConstituentTree {
    let mut builder = tree.to_builder();
    for (i, _) in movable(sentence, tree, tags).into_iter().enumerate().filter(|(_, movable)| *movable) {
        builder.move_to(Child::Token(TokenIdx::new(i)), tree.root());
    }
    builder.finish().expect("every constituent keeps a word")
}

/// Moves punctuation that causes discontinuity to where it causes none. A constituent then has a gap only if its
/// other words have one.
pub fn lower_punctuation(
    sentence: &Sentence,
    tree: &ConstituentTree,
    tags: &PunctuationTags,
) -> ConstituentTree {
    let movable = movable(sentence, tree, tags);
    let ancestors = Ancestors::new(&tree.parents());
    let parents = tree.token_parents();
    let mut builder = tree.to_builder();
    let mut places = Vec::new();
    let mut start = 0;
    while start < movable.len() {
        if !movable[start] {
            start += 1;
            continue;
        }
        let end = movable[start..].iter().position(|movable| !movable).map_or(movable.len(), |n| start + n);
        let left = start.checked_sub(1).map(|word| parents[word]);
        let right = parents.get(end).copied();
        let both = match (left, right) {
            (Some(left), Some(right)) => ancestors.lowest_common(left, right),
            _ => tree.root(),
        };
        places.clear();
        places.extend(parents[start..end].iter().copied());
        settle(&mut places, left, right, both, &ancestors);
        for (i, &place) in places.iter().enumerate() {
            builder.move_to(Child::Token(TokenIdx::new(start + i)), place);
        }
        start = end;
    }
    builder.finish().expect("every constituent keeps a word")
}

/// Finds places for a run of marks: `left` and `right` are the parents of the words beside it, `both` the lowest
/// constituent that dominates both.
///
/// A mark may stay with the left word if it is in a constituent of that word and so are all marks between; from
/// left to right these constituents can only grow. The same holds on the right. All others go to `both`.
fn settle(
    places: &mut [NodeId],
    left: Option<NodeId>,
    right: Option<NodeId>,
    both: NodeId,
    ancestors: &Ancestors,
) {
    let stays_with = |word: Option<NodeId>, place: NodeId| {
        place != both
            && ancestors.dominates(both, place)
            && word.is_some_and(|word| ancestors.dominates(place, word))
    };
    // How many marks stay with a word, from the nearest on.
    let settled = |word: Option<NodeId>, marks: &mut dyn Iterator<Item = &mut NodeId>| {
        let (mut count, mut reached) = (0, None);
        for place in marks {
            if !stays_with(word, *place) {
                break;
            }
            // A mark inside a smaller constituent than the one before it would leave a gap there.
            if let Some(reached) = reached
                && ancestors.depth(*place) > ancestors.depth(reached)
            {
                *place = reached;
            }
            reached = Some(*place);
            count += 1;
        }
        count
    };
    let n_left = settled(left, &mut places.iter_mut());
    let n_right = settled(right, &mut places[n_left..].iter_mut().rev());
    let end = places.len() - n_right;
    places[n_left..end].fill(both);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::TreeBuilder;
    use crate::tree::arbitrary::{Shape, constituents, deep_tree, wide_tree};
    use proptest::prelude::*;

    /// (VROOT (S (NP 0 2) 4 6) , 1 3 5 7): marks at odd places hang from the root.
    fn high_marks() -> (Sentence, ConstituentTree) {
        let words = (0..8).map(|i| if i % 2 == 1 { (",", "$,") } else { ("w", "N") });
        let mut builder = TreeBuilder::with_tokens(8);
        let (root, s, np) = (builder.node("VROOT"), builder.node("S"), builder.node("NP"));
        builder.attach(Child::Node(s), root);
        builder.attach(Child::Node(np), s);
        for (token, parent) in [(0, np), (2, np), (4, s), (6, s), (1, root), (3, root), (5, root), (7, root)]
        {
            builder.attach(Child::Token(TokenIdx::new(token)), parent);
        }
        (Sentence::from_tagged(words), builder.finish().unwrap())
    }

    fn parent_labels(tree: &ConstituentTree) -> Vec<&str> {
        tree.token_parents().into_iter().map(|node| tree.node(node).label.as_str()).collect()
    }

    #[test]
    fn marks_go_to_the_lowest_constituent_around_them() {
        let (sentence, tree) = high_marks();
        let lowered = lower_punctuation(&sentence, &tree, &PunctuationTags::default());
        assert_eq!(parent_labels(&lowered), ["NP", "NP", "NP", "S", "S", "S", "S", "VROOT"]);
        let raised = raise_punctuation(&sentence, &lowered, &PunctuationTags::default());
        assert_eq!(raised, tree);
        let other = PunctuationTags(vec!["X".into()]);
        assert_eq!(lower_punctuation(&sentence, &tree, &other), tree);
    }

    #[test]
    fn deep_and_wide_trees() {
        for (mut sentence, tree) in [deep_tree(100_000), wide_tree(1_000_000)] {
            sentence.tokens.iter_mut().step_by(2).for_each(|token| token.tag = ",".into());
            let raised = raise_punctuation(&sentence, &tree, &PunctuationTags::default());
            let lowered = lower_punctuation(&sentence, &raised, &PunctuationTags::default());
            assert!(!lowered.is_discontinuous());
        }
    }

    /// The gap degrees of all constituents over the words for which `counts` holds, the slow way.
    fn gaps(tree: &ConstituentTree, counts: &[bool]) -> Vec<usize> {
        let rank: Vec<usize> =
            (0..counts.len()).map(|i| counts[..i].iter().filter(|c| **c).count()).collect();
        let gaps = |(id, _): (NodeId, _)| {
            let words: Vec<usize> =
                tree.tokens_under(id).iter().map(|t| t.index()).filter(|&i| counts[i]).collect();
            words.windows(2).filter(|pair| rank[pair[1]] != rank[pair[0]] + 1).count()
        };
        tree.nodes().map(gaps).collect()
    }

    proptest! {
        #[test]
        fn punctuation_causes_no_gap((sentence, tree) in constituents(14, Shape { tags: &["N", ",", "."], ..Shape::NASTY })) {
            let tags = PunctuationTags::default();
            let lowered = lower_punctuation(&sentence, &tree, &tags);
            let words: Vec<bool> = movable(&sentence, &tree, &tags).iter().map(|movable| !movable).collect();
            let sorted = |mut gaps: Vec<usize>| { gaps.sort_unstable(); gaps };
            // The words other than marks keep their parents; marks add no gap.
            prop_assert_eq!(sorted(gaps(&lowered, &words)), sorted(gaps(&tree, &words)));
            prop_assert_eq!(gaps(&lowered, &words), gaps(&lowered, &vec![true; words.len()]));
            prop_assert_eq!(lowered.n_nodes(), tree.n_nodes());
            prop_assert_eq!(&lower_punctuation(&sentence, &lowered, &tags), &lowered);
            // Raising gives the same from either, unless a mark went into a gap of a constituent of marks.
            if movable(&sentence, &lowered, &tags) == movable(&sentence, &tree, &tags) {
                let raised = raise_punctuation(&sentence, &tree, &tags);
                prop_assert_eq!(raise_punctuation(&sentence, &lowered, &tags), raised);
            }
            if gaps(&tree, &words) == gaps(&tree, &vec![true; words.len()]) {
                prop_assert_eq!(&lowered, &tree, "marks that cause no gap stay");
            }
        }
    }
}
