//! Labelled bracketing over sentences and words that differ: a constituent is its label and the characters under it.
//!
//! The rules are those of disco-dop: what does not count is settled by the gold tags and words, here for the characters
//! of each gold word. Where words and sentences are the same on both sides, so are the counts. A wrong sentence boundary
//! costs only the brackets that it breaks. Sentences are compared in units that end at the same place on both sides.

use std::ops::Range;

use super::alignment::Spans;
use super::disco::{Rules, Yield};
use super::totals::Counts;
use super::{Params, Parsed, ScoredNode, SentenceScore, Style, Totals};
use crate::tree::{Child, ConstituentTree};

/// The score of a unit: sentences that end at the same place on both sides.
#[derive(Clone, Debug, Default)]
pub struct UnitScore {
    /// Its counts. The length is that of its longest gold sentence.
    pub score: SentenceScore,
    /// The constituents of each gold sentence that count.
    pub gold: Vec<Vec<ScoredNode>>,
    /// The constituents of each predicted sentence that count.
    pub predicted: Vec<Vec<ScoredNode>>,
}

/// Scores constituent trees over different words and keeps the sums.
#[derive(Clone, Debug)]
pub struct CharacterScorer {
    rules: Rules,
    cutoff_len: usize,
    disc_only: bool,
    all: Totals,
    up_to_cutoff: Totals,
    tokens: Counts,
    sentences: Counts,
    tags: Counts,
}

/// One constituent of a unit.
struct Bracket<'a> {
    words: Yield,
    label: &'a str,
    sentence: usize,
    /// Its place among those of its sentence.
    index: usize,
}

impl Bracket<'_> {
    fn key(&self) -> (u128, &str) {
        (self.words.fingerprint, self.label)
    }
}

/// The characters of a unit that count, numbered, with sums of their fingerprints.
struct Counted {
    /// The number of counted characters before each character.
    before: Vec<u32>,
    /// The sums over the first characters that count.
    sums: Vec<u128>,
}

impl Counted {
    fn new(n_characters: usize, kept: impl Iterator<Item = Range<usize>>) -> Self {
        let mut counts = vec![false; n_characters];
        kept.for_each(|range| counts[range].fill(true));
        let (mut before, mut sums) = (vec![0], vec![0u128]);
        for counts in counts {
            let n = before[before.len() - 1];
            if counts {
                sums.push(sums[n as usize].wrapping_add(Yield::of_word(n).fingerprint));
            }
            before.push(n + u32::from(counts));
        }
        Counted { before, sums }
    }

    /// The characters of a word that count.
    fn within(&self, range: &Range<usize>) -> Yield {
        let (from, to) = (self.before[range.start], self.before[range.end]);
        if from == to {
            return Yield::default();
        }
        let fingerprint = self.sums[to as usize].wrapping_sub(self.sums[from as usize]);
        Yield { fingerprint, n: to - from, first: from, last: to - 1 }
    }
}

/// The constituents of a sentence that count; `words` are the ranges of its words.
fn brackets<'a>(
    tree: &'a ConstituentTree,
    rules: &'a Rules,
    (counted, words): (&Counted, &[Range<usize>]),
    sentence: usize,
    (out, nodes): (&mut Vec<Bracket<'a>>, &mut Vec<ScoredNode>),
) {
    let mut yields: Vec<Yield> = Vec::with_capacity(tree.n_nodes());
    for (node, constituent) in tree.nodes() {
        let mut sum = Yield::default();
        for &child in tree.children(node) {
            sum.add(match child {
                Child::Token(token) => counted.within(&words[token.index()]),
                Child::Node(child) => yields[child.index()],
            });
        }
        yields.push(sum);
        if rules.counts(&constituent.label, sum) {
            let label = rules.compared(&constituent.label);
            out.push(Bracket { words: sum, label, sentence, index: nodes.len() });
            nodes.push(ScoredNode { node, is_matched: false });
        }
    }
}

impl CharacterScorer {
    /// A scorer with these parameters; of EVALB's, all but quotes that are put back have their meaning.
    pub fn new(params: &Params) -> Self {
        CharacterScorer {
            rules: Rules::new(params),
            cutoff_len: params.cutoff_len,
            disc_only: params.disc_only,
            all: Totals::new(Style::Disco),
            up_to_cutoff: Totals::new(Style::Disco),
            tokens: Counts::default(),
            sentences: Counts::default(),
            tags: Counts::default(),
        }
    }

    /// Scores the sentences of a unit (see [`super::alignment::units`]) and adds them to the sums.
    pub fn add(&mut self, gold: &[Parsed<'_>], predicted: &[Parsed<'_>]) -> UnitScore {
        let rules = &self.rules;
        let [gold_spans, predicted_spans] = [gold, predicted].map(|side| {
            let mut spans = Spans::default();
            side.iter().for_each(|parsed| spans.add(parsed.sentence));
            spans
        });
        let mut kept = Vec::new();
        for parsed in gold {
            let n_words = parsed.sentence.len();
            match parsed.tree {
                Some(tree) => kept.extend((0..n_words).map(rules.kept(parsed.sentence, tree))),
                None => kept.extend((0..n_words).map(|_| true)),
            }
        }
        let n_characters = gold_spans.text.len().max(predicted_spans.text.len());
        let of_kept = gold_spans.words.iter().zip(&kept).filter(|(_, kept)| **kept);
        let counted = Counted::new(n_characters, of_kept.map(|(range, _)| range.clone()));
        let mut unit = UnitScore::default();
        let mut sides = [Vec::new(), Vec::new()];
        for (side, spans, out, nodes) in
            [(gold, &gold_spans, 0, &mut unit.gold), (predicted, &predicted_spans, 1, &mut unit.predicted)]
        {
            let mut from = 0;
            for (i, parsed) in side.iter().enumerate() {
                let words = &spans.words[from..from + parsed.sentence.len()];
                from += parsed.sentence.len();
                nodes.push(Vec::new());
                if let Some(tree) = parsed.tree {
                    brackets(tree, rules, (&counted, words), i, (&mut sides[out], &mut nodes[i]));
                }
            }
            sides[out].sort_by(|a, b| a.key().cmp(&b.key()));
        }
        let score = &mut unit.score;
        let [g, p] = &sides;
        let n_disc = |side: &[Bracket]| side.iter().filter(|b| b.words.is_discontinuous()).count() as u64;
        score.brackets = Counts { matched: 0, gold: g.len() as u64, predicted: p.len() as u64 };
        score.discontinuous = Counts { matched: 0, gold: n_disc(g), predicted: n_disc(p) };
        let (mut i, mut j) = (0, 0);
        while i < g.len() && j < p.len() {
            match g[i].key().cmp(&p[j].key()) {
                std::cmp::Ordering::Less => i += 1,
                std::cmp::Ordering::Greater => j += 1,
                std::cmp::Ordering::Equal => {
                    unit.gold[g[i].sentence][g[i].index].is_matched = true;
                    unit.predicted[p[j].sentence][p[j].index].is_matched = true;
                    score.brackets.matched += 1;
                    score.discontinuous.matched += u64::from(g[i].words.is_discontinuous());
                    i += 1;
                    j += 1;
                }
            }
        }
        let distinct = |side: &[Bracket]| {
            let repeats = side.windows(2).filter(|pair| pair[0].key() == pair[1].key()).count();
            (side.len() - repeats) as u64
        };
        score.distinct = [distinct(g), distinct(p)];
        score.length = gold.iter().map(|parsed| rules.length(parsed.sentence)).max().unwrap_or(0);
        score.words = kept.iter().filter(|kept| **kept).count() as u64;
        self.count_words((gold, &gold_spans.words), (predicted, &predicted_spans.words), &kept, score);
        let n = [gold.len(), predicted.len()];
        // Sentences that are the same on both sides are a unit of their own.
        let matched = u64::from(n == [1, 1]);
        self.sentences.add(Counts { matched, gold: n[0] as u64, predicted: n[1] as u64 });
        let leaves_out = self.disc_only && score.brackets.gold + score.brackets.predicted == 0;
        self.all.add_unit(score, n, leaves_out);
        if score.length <= self.cutoff_len {
            self.up_to_cutoff.add_unit(score, n, leaves_out);
        }
        unit
    }

    /// Counts the words that both sides have, and their tags.
    fn count_words(
        &mut self,
        (gold, gold_words): (&[Parsed<'_>], &[Range<usize>]),
        (predicted, predicted_words): (&[Parsed<'_>], &[Range<usize>]),
        kept: &[bool],
        score: &mut SentenceScore,
    ) {
        fn tokens<'a>(
            side: &'a [Parsed<'a>],
            words: &'a [Range<usize>],
        ) -> impl Iterator<Item = (usize, &'a Range<usize>, &'a str)> {
            let tags = side.iter().flat_map(|parsed| &parsed.sentence.tokens).map(|token| &*token.tag);
            let tokens = words.iter().zip(tags).enumerate().map(|(i, (range, tag))| (i, range, tag));
            tokens.filter(|(_, range, _)| !range.is_empty())
        }
        let mut others = tokens(predicted, predicted_words).peekable();
        let n_predicted = tokens(predicted, predicted_words).count() as u64;
        let mut counts = Counts { predicted: n_predicted, ..Counts::default() };
        let mut tags = counts;
        for (i, range, tag) in tokens(gold, gold_words) {
            counts.gold += 1;
            while others.next_if(|(_, other, _)| other.start < range.start).is_some() {}
            let Some((_, other, other_tag)) = others.peek() else { continue };
            let is_same_tag = *other == range && self.rules.cut(tag) == self.rules.cut(other_tag);
            counts.matched += u64::from(*other == range);
            tags.matched += u64::from(is_same_tag);
            score.correct_tags += u64::from(is_same_tag && kept[i]);
        }
        self.tokens.add(counts);
        self.tags.add(Counts { gold: counts.gold, ..tags });
    }

    /// The sums over all units.
    pub fn all(&self) -> &Totals {
        &self.all
    }

    /// The sums over the units whose gold sentences all are up to the cut-off length.
    pub fn up_to_cutoff(&self) -> &Totals {
        &self.up_to_cutoff
    }

    /// Words with the same characters on both sides.
    pub fn tokens(&self) -> Counts {
        self.tokens
    }

    /// Sentences with the same characters on both sides.
    pub fn sentences(&self) -> Counts {
        self.sentences
    }

    /// Words with the same characters and the same tag on both sides.
    pub fn tags(&self) -> Counts {
        self.tags
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::ConstituentScorer;
    use super::super::testing::{Pair, parsed, tree};
    use super::*;
    use crate::tree::arbitrary::{self, Shape};

    /// Matched, gold, predicted; the same of discontinuous brackets.
    fn counts(score: &SentenceScore) -> [u64; 6] {
        let (all, disc) = (score.brackets, score.discontinuous);
        [all.matched, all.gold, all.predicted, disc.matched, disc.gold, disc.predicted]
    }

    fn score(params: &Params, gold: &[&str], predicted: &[&str]) -> (UnitScore, CharacterScorer) {
        let read = |texts: &[&str]| texts.iter().map(|text| tree(text, true)).collect::<Vec<Pair>>();
        let (gold, predicted) = (read(gold), read(predicted));
        let sides = [&gold, &predicted].map(|side| side.iter().map(parsed).collect::<Vec<_>>());
        let mut scorer = CharacterScorer::new(params);
        (scorer.add(&sides[0], &sides[1]), scorer)
    }

    #[track_caller]
    fn check(gold: &[&str], predicted: &[&str], expected: [u64; 6]) {
        let params = Params::fitting(true);
        assert_eq!(counts(&score(&params, gold, predicted).0.score), expected);
    }

    #[test]
    fn a_wrong_word_boundary_costs_only_the_brackets_it_breaks() {
        let gold = "(S (NP (D 0=the) (N 1=ice) (N 2=cream)) (VP (V 3=melts)) (. 4=.))";
        check(&[gold], &["(S (NP (D 0=the) (N 1=icecream)) (VP (V 2=melts)) (. 3=.))"], [3, 3, 3, 0, 0, 0]);
        check(&[gold], &["(S (NP (D 0=the) (N 1=ice)) (VP (N 2=creammelts)) (. 3=.))"], [1, 3, 3, 0, 0, 0]);
        // The full stop does not count, also where it is part of a word.
        check(&[gold], &["(S (NP (D 0=the) (N 1=icecream)) (VP (V 2=melts.)))"], [3, 3, 3, 0, 0, 0]);
        // A gap of characters is a gap.
        let gold = "(S (VP (V 0=gives) (P 2=up)) (NP (N 1=it)))";
        check(&[gold], &["(S (VP (V 0=gives) (P 2=u) (P 3=p)) (NP (N 1=it)))"], [3, 3, 3, 1, 1, 1]);
    }

    #[test]
    fn a_wrong_sentence_boundary_costs_only_the_brackets_it_breaks() {
        let gold = ["(S (NP (N 0=We)) (VP (V 1=go)))", "(S (NP (N 0=You)) (VP (V 1=stay)))"];
        check(&gold, &["(S (NP (N 0=We)) (VP (V 1=go)) (NP (N 2=You)) (VP (V 3=stay)))"], [4, 6, 5, 0, 0, 0]);
        let (unit, scorer) =
            score(&Params::fitting(true), &gold, &["(S (X 0=W) (X 1=ego) (X 2=You) (X 3=stay))"]);
        assert_eq!((scorer.all().sentences, scorer.all().exact_sentences), (2, 0));
        assert_eq!(scorer.sentences(), Counts { matched: 0, gold: 2, predicted: 1 });
        assert_eq!(scorer.tokens(), Counts { matched: 2, gold: 4, predicted: 4 });
        assert_eq!((scorer.tags().matched, scorer.all().words, unit.gold.len()), (0, 4, 2));
    }

    #[test]
    fn escaped_words_are_the_same_words() {
        let (unit, scorer) = score(
            &Params::fitting(false),
            &["(TOP (NP (-LRB- 0=-LRB-) (N 1=a) (-RRB- 2=-RRB-)))"],
            &["(TOP (NP (HYPH 0=-) (N 1=LRB) (HYPH 2=-) (N 3=a) (-RRB- 4=-RRB-)))"],
        );
        assert_eq!(counts(&unit.score), [1, 1, 1, 0, 0, 0]);
        assert_eq!(scorer.tokens(), Counts { matched: 2, gold: 3, predicted: 5 });
    }

    proptest! {
        #[test]
        fn over_the_same_words_the_counts_are_the_ordinary_ones(
            seeds in prop::collection::vec((1usize..9, any::<u64>()), 1..5),
            discontinuous: bool, disc_only: bool, name in prop::sample::select(vec!["collins", "evalb", "spmrl", "proper"]),
        ) {
            let shape = if discontinuous { Shape::DISCONTINUOUS } else { Shape::CONTINUOUS };
            let params = Params { disc_only: disc_only && discontinuous, ..Params::named(name).expect("known") };
            let mut ordinary = ConstituentScorer::disco(&params);
            let mut evalb = ConstituentScorer::evalb(&params);
            let mut aligned = CharacterScorer::new(&params);
            for (n, seed) in seeds {
                let mut rng = arbitrary::Rng(seed);
                let sentence = arbitrary::sentence(&mut rng, n, arbitrary::TAGS);
                let trees = [0, 1].map(|_| arbitrary::constituent_tree(&mut rng, n, shape));
                let [gold, predicted] = [&trees[0], &trees[1]].map(|tree| Parsed::new(&sentence, tree));
                let score = ordinary.add(gold, predicted);
                let unit = aligned.add(&[gold], &[predicted]);
                prop_assert_eq!(counts(&unit.score), counts(&score));
                prop_assert_eq!((unit.score.words, unit.score.correct_tags), (score.words, score.correct_tags));
                prop_assert_eq!(unit.score.distinct, score.distinct);
                let found = [&unit.gold[0], &unit.predicted[0]].map(|nodes| {
                    let mut matched: Vec<_> = nodes.iter().filter(|n| n.is_matched).map(|n| n.node).collect();
                    matched.sort();
                    matched.len()
                });
                prop_assert_eq!(found, [score.brackets.matched as usize; 2]);
                if !discontinuous {
                    let score = evalb.add(gold, predicted);
                    if matches!(score.status, super::super::Status::Valid) {
                        prop_assert_eq!(unit.score.brackets, score.brackets);
                    }
                }
            }
            prop_assert_eq!(aligned.all(), ordinary.all());
            prop_assert_eq!(aligned.up_to_cutoff(), ordinary.up_to_cutoff());
            let n = aligned.tokens();
            prop_assert!(n.matched == n.gold && n.matched == n.predicted);
        }

        #[test]
        fn a_document_cut_elsewhere_keeps_its_brackets(
            seeds in prop::collection::vec((1usize..6, any::<u64>()), 1..4),
        ) {
            // The same trees below one root, as one sentence: only the roots are wrong.
            let params = Params { delete_label: Vec::new(), delete_word: Vec::new(), ..Params::fitting(true) };
            let mut sides: [Vec<Pair>; 2] = Default::default();
            let (mut words, mut builder) = (Vec::new(), crate::tree::TreeBuilder::default());
            let top = builder.node("ALL");
            for (n, seed) in seeds {
                let mut rng = arbitrary::Rng(seed);
                let sentence = arbitrary::sentence(&mut rng, n, arbitrary::TAGS);
                let tree = arbitrary::constituent_tree(&mut rng, n, Shape::DISCONTINUOUS);
                let nodes: Vec<_> = tree.nodes().map(|(_, node)| builder.node(&*node.label)).collect();
                for (id, _) in tree.nodes() {
                    for &child in tree.children(id) {
                        let child = match child {
                            Child::Token(token) => Child::Token(crate::ids::TokenIdx::new(words.len() + token.index())),
                            Child::Node(node) => Child::Node(nodes[node.index()]),
                        };
                        builder.attach(child, nodes[id.index()]);
                    }
                }
                builder.attach(Child::Node(nodes[tree.root().index()]), top);
                words.extend(sentence.tokens.clone());
                sides[0].push((sentence, Some(tree)));
            }
            let sentence = crate::sentence::Sentence { tokens: words, ..Default::default() };
            sides[1].push((sentence, Some(builder.finish().expect("a tree"))));
            let n_gold: usize = sides[0].iter().filter_map(|(_, tree)| tree.as_ref()).map(ConstituentTree::n_nodes).sum();
            let sides = [&sides[0], &sides[1]].map(|side| side.iter().map(parsed).collect::<Vec<_>>());
            let score = CharacterScorer::new(&params).add(&sides[0], &sides[1]).score;
            prop_assert_eq!((score.brackets.matched, score.brackets.gold), (n_gold as u64, n_gold as u64));
            prop_assert_eq!(score.brackets.predicted, n_gold as u64 + 1);
        }
    }
}
