//! Labelled bracketing over discontinuous trees as disco-dop counts it (van Cranenburgh, `discodop eval`).
//!
//! Words are taken out by the *gold* tag and by a word list, so both sides lose the same ones; discontinuity is
//! decided on what is left. Labels and tags are cut at the first `-`, then the first `=`, that is not their first
//! character. Deviation: where disco-dop stops at the first bad sentence, the sentence is counted as an error and
//! the caller decides.

use std::borrow::Cow;

use rustc_hash::FxHashSet;

use super::labels::{self, Classes};
use super::totals::Counts;
use super::{Functions, Mismatch, Params, Parsed, Scored, ScoredNode, ScoredNodes, SentenceScore, Status};
use crate::ids::{NodeId, TokenIdx};
use crate::sentence::{Sentence, Str};
use crate::tree::{Child, ConstituentTree};

/// Matches the brackets of two trees.
#[derive(Clone, Debug)]
pub(super) struct Disco {
    rules: Rules,
    gold: Side,
    predicted: Side,
}

#[derive(Clone, Debug)]
pub(super) struct Rules {
    /// Tags and labels, as written and as the names of their classes.
    delete_label: FxHashSet<Str>,
    delete_node: FxHashSet<Str>,
    delete_word: FxHashSet<Str>,
    delete_for_length: FxHashSet<Str>,
    eq_label: Classes,
    eq_word: Classes,
    labeled: bool,
    disc_only: bool,
    delete_root_preterms: bool,
    functions: Functions,
}

/// The words under a constituent that count. Equal sets have equal fingerprints; that different sets have
/// different ones holds but for a chance of 2^-128 a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Yield {
    pub fingerprint: u128,
    pub n: u32,
    pub first: u32,
    pub last: u32,
}

impl Yield {
    pub fn of_word(position: u32) -> Self {
        let seed = u64::from(position) + 1;
        let fingerprint = u128::from(mix(seed)) << 64 | u128::from(mix(seed ^ 0x9E37_79B9_7F4A_7C15));
        Yield { fingerprint, n: 1, first: position, last: position }
    }

    pub fn add(&mut self, other: Yield) {
        if other.n == 0 {
            return;
        }
        if self.n == 0 {
            *self = other;
            return;
        }
        self.fingerprint = self.fingerprint.wrapping_add(other.fingerprint);
        self.n += other.n;
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
    }

    pub fn is_discontinuous(&self) -> bool {
        self.n > 0 && self.last - self.first + 1 != self.n
    }
}

/// The finaliser of SplitMix64: spreads neighbouring numbers over all 64 bits.
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[derive(Clone, Copy, Debug)]
struct Bracket {
    words: Yield,
    node: NodeId,
}

/// What one tree has to offer.
#[derive(Clone, Debug, Default)]
struct Side {
    /// The place of each word among those that count.
    place: Vec<Option<u32>>,
    /// The words that count.
    kept: Vec<u32>,
    yields: Vec<Yield>,
    brackets: Vec<Bracket>,
}

/// A label without its function: `NP-SBJ` and `NP=2` are `NP`, `-NONE-` stays.
pub(super) fn cut(label: &str) -> &str {
    let cut_at = |label, mark| match str::find(label, mark) {
        Some(end) if end > 0 => &label[..end],
        _ => label,
    };
    cut_at(cut_at(label, '-'), '=')
}

/// A word as disco-dop reads it: its formats write brackets inside words as `#LRB#` and `#RRB#`.
fn unescape(word: &str) -> Cow<'_, str> {
    if word.contains("#LRB#") || word.contains("#RRB#") {
        Cow::Owned(word.replace("#LRB#", "(").replace("#RRB#", ")"))
    } else {
        Cow::Borrowed(word)
    }
}

impl Side {
    /// Keeps the words for which `keep` holds.
    fn read_words(&mut self, n_words: usize, mut keep: impl FnMut(usize) -> bool) {
        self.place.clear();
        self.kept.clear();
        for i in 0..n_words {
            let kept = keep(i);
            self.place.push(kept.then_some(self.kept.len() as u32));
            if kept {
                self.kept.push(i as u32);
            }
        }
    }

    fn read_brackets(&mut self, tree: &ConstituentTree, rules: &Rules, nodes: &mut Vec<ScoredNode>) {
        self.yields.clear();
        self.brackets.clear();
        for (id, node) in tree.nodes() {
            let mut words = Yield::default();
            for &child in tree.children(id) {
                match child {
                    Child::Token(token) => {
                        if let Some(place) = self.place[token.index()] {
                            words.add(Yield::of_word(place));
                        }
                    }
                    Child::Node(child) => words.add(self.yields[child.index()]),
                }
            }
            self.yields.push(words);
            if rules.counts(&node.label, words) {
                self.brackets.push(Bracket { words, node: id });
            }
        }
        self.brackets.sort_by(|a, b| rules.key(tree, a).cmp(&rules.key(tree, b)));
        nodes.extend(self.brackets.iter().map(|b| ScoredNode { node: b.node, is_matched: false }));
    }
}

impl Rules {
    /// Brackets with the same key count as the same.
    fn key<'a>(&'a self, tree: &'a ConstituentTree, bracket: &Bracket) -> (u128, &'a str) {
        (bracket.words.fingerprint, self.compared(&tree.node(bracket.node).label))
    }

    pub(super) fn new(params: &Params) -> Self {
        let eq_label = Classes::new(&params.eq_label);
        Rules {
            delete_label: labels::set(&params.delete_label, &[]),
            delete_node: params.delete_label.iter().map(|label| eq_label.name(label).into()).collect(),
            delete_word: labels::set(&params.delete_word, &[]),
            delete_for_length: labels::set(&params.delete_label_for_length, &[]),
            eq_label,
            eq_word: Classes::new(&params.eq_word),
            labeled: params.labeled,
            disc_only: params.disc_only,
            delete_root_preterms: params.delete_root_preterms,
            functions: params.functions,
        }
    }

    /// The part of a label or tag that counts.
    pub(super) fn cut<'a>(&self, label: &'a str) -> &'a str {
        match self.functions {
            Functions::Strip => cut(label),
            Functions::Keep => label,
        }
    }

    /// The name that must be the same for two labels to match.
    pub(super) fn compared<'a>(&'a self, label: &'a str) -> &'a str {
        if self.labeled { self.eq_label.name(self.cut(label)) } else { "" }
    }

    /// True if a constituent over these words counts.
    pub(super) fn counts(&self, label: &str, words: Yield) -> bool {
        words.n > 0
            && !self.delete_node.contains(self.eq_label.name(self.cut(label)))
            && (!self.disc_only || words.is_discontinuous())
    }

    /// The length of a sentence.
    pub(super) fn length(&self, sentence: &Sentence) -> usize {
        let tags = sentence.tokens.iter().map(|token| self.cut(&token.tag));
        tags.filter(|tag| !self.delete_for_length.contains(*tag)).count()
    }

    fn keeps_tag(&self, tag: &str) -> bool {
        !self.delete_label.contains(self.cut(tag))
    }

    fn keeps_form(&self, form: &str) -> bool {
        !self.delete_word.contains(&*unescape(form))
    }

    /// The words directly under the root of the gold tree, where these are to be taken out, in their order.
    fn under_root(&self, gold: &ConstituentTree) -> Vec<TokenIdx> {
        let word = |child: &Child| match child {
            Child::Token(token) if self.delete_root_preterms => Some(*token),
            _ => None,
        };
        // Children stand in the order of their words.
        gold.children(gold.root()).iter().filter_map(word).collect()
    }

    /// A test of which words of a gold sentence count.
    pub(super) fn kept<'a>(
        &'a self,
        sentence: &'a Sentence,
        tree: &ConstituentTree,
    ) -> impl Fn(usize) -> bool + 'a {
        let under_root = self.under_root(tree);
        move |i| {
            let token = &sentence.tokens[i];
            self.keeps_tag(&token.tag)
                && self.keeps_form(&token.form)
                && under_root.binary_search(&TokenIdx::new(i)).is_err()
        }
    }
}

impl Disco {
    pub(super) fn new(params: &Params) -> Self {
        Disco { rules: Rules::new(params), gold: Side::default(), predicted: Side::default() }
    }

    pub(super) fn length(&self, gold: Parsed<'_>) -> usize {
        self.rules.length(gold.sentence)
    }

    pub(super) fn score(&mut self, [gold, predicted]: [Parsed<'_>; 2], nodes: &mut ScoredNodes) -> Scored {
        let rules = &self.rules;
        let mut score = SentenceScore::default();
        let fail = |mismatch| Err(Status::Error(mismatch));
        let Some(gold_tree) = gold.tree else {
            return fail(Mismatch::Length(0, predicted.sentence.len()));
        };
        let Some(predicted_tree) = predicted.tree else { return fail(Mismatch::NoParse) };
        let under_root = rules.under_root(gold_tree);
        let is_under_root = |i| under_root.binary_search(&TokenIdx::new(i)).is_ok();
        self.gold.read_words(gold.sentence.len(), rules.kept(gold.sentence, gold_tree));
        // A predicted word has the tag of the next gold word of the same form.
        let mut at = 0;
        let mut unaligned = None;
        self.predicted.read_words(predicted.sentence.len(), |i| {
            let form = unescape(&predicted.sentence.tokens[i].form);
            let Some(gold_token) = gold.sentence.tokens[at..].iter().find(|token| {
                at += 1;
                unescape(&token.form) == form
            }) else {
                unaligned.get_or_insert(i);
                return true;
            };
            let token = &predicted.sentence.tokens[i];
            rules.keeps_tag(&gold_token.tag) && rules.keeps_form(&token.form) && !is_under_root(i)
        });
        if let Some(i) = unaligned {
            return fail(Mismatch::Unaligned(i + 1, predicted.sentence.tokens[i].form.to_string()));
        }
        let (g, p) = (&self.gold.kept, &self.predicted.kept);
        if g.len() != p.len() {
            return fail(Mismatch::Length(g.len(), p.len()));
        }
        let tokens = |(&g, &p): (&u32, &u32)| {
            (&gold.sentence.tokens[g as usize], &predicted.sentence.tokens[p as usize])
        };
        for (g, p) in g.iter().zip(p).map(tokens) {
            if rules.eq_word.name(&unescape(&g.form)) != rules.eq_word.name(&unescape(&p.form)) {
                return fail(Mismatch::Words(g.form.to_string(), p.form.to_string()));
            }
            score.words += 1;
            score.correct_tags += u64::from(rules.cut(&g.tag) == rules.cut(&p.tag));
        }
        self.gold.read_brackets(gold_tree, rules, &mut nodes.gold);
        self.predicted.read_brackets(predicted_tree, rules, &mut nodes.predicted);
        self.match_brackets(gold_tree, predicted_tree, nodes, &mut score);
        score.distinct =
            [self.distinct(&self.gold, gold_tree), self.distinct(&self.predicted, predicted_tree)];
        Ok(score)
    }

    fn distinct(&self, side: &Side, tree: &ConstituentTree) -> u64 {
        let key = |b: &Bracket| self.rules.key(tree, b);
        let repeats = side.brackets.windows(2).filter(|pair| key(&pair[0]) == key(&pair[1])).count();
        (side.brackets.len() - repeats) as u64
    }

    /// Walks both sorted lists at once; equal brackets match one to one.
    fn match_brackets(
        &self,
        gold: &ConstituentTree,
        predicted: &ConstituentTree,
        nodes: &mut ScoredNodes,
        score: &mut SentenceScore,
    ) {
        let (g, p) = (&self.gold.brackets, &self.predicted.brackets);
        let n_disc = |side: &[Bracket]| side.iter().filter(|b| b.words.is_discontinuous()).count() as u64;
        score.brackets = Counts { matched: 0, gold: g.len() as u64, predicted: p.len() as u64 };
        score.discontinuous = Counts { matched: 0, gold: n_disc(g), predicted: n_disc(p) };
        let (mut i, mut j) = (0, 0);
        while i < g.len() && j < p.len() {
            match self.rules.key(gold, &g[i]).cmp(&self.rules.key(predicted, &p[j])) {
                std::cmp::Ordering::Less => i += 1,
                std::cmp::Ordering::Greater => j += 1,
                std::cmp::Ordering::Equal => {
                    nodes.gold[i].is_matched = true;
                    nodes.predicted[j].is_matched = true;
                    score.brackets.matched += 1;
                    score.discontinuous.matched += u64::from(g[i].words.is_discontinuous());
                    i += 1;
                    j += 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ConstituentScorer;
    use super::super::testing::{parsed, tree};
    use super::*;

    const GOLD: &str = "(ROOT (S (VP (ADV 0=Da) (VVPP 2=gedacht)) (VMFIN 1=muss) (VAINF 3=werden)) ($. 4=.))";
    const FLAT: &str = "(ROOT (S (ADV 0=Da) (VMFIN 1=muss) (VP (VVPP 2=gedacht) (VAINF 3=werden))) ($. 4=.))";

    fn scorer(extra: &str) -> ConstituentScorer {
        let mut params = Params::named("proper").expect("a known name");
        let more = Params::parse(extra).expect("valid");
        params.disc_only = more.disc_only;
        params.labeled = more.labeled;
        params.delete_root_preterms = more.delete_root_preterms;
        params.eq_label.extend(more.eq_label);
        params.delete_label.extend(more.delete_label);
        ConstituentScorer::disco(&params)
    }

    /// Matched, gold, predicted; the same of discontinuous brackets; words, right tags.
    #[track_caller]
    fn check(extra: &str, gold: &str, predicted: &str, expected: [u64; 8]) {
        let score = scorer(extra).add(parsed(&tree(gold, true)), parsed(&tree(predicted, true)));
        assert_eq!(score.status, Status::Valid);
        let (all, disc) = (score.brackets, score.discontinuous);
        let found = [all.matched, all.gold, all.predicted, disc.matched, disc.gold, disc.predicted];
        assert_eq!([&found[..], &[score.words, score.correct_tags]].concat(), expected);
    }

    #[track_caller]
    fn check_error(gold: &str, predicted: &str, expected: Mismatch) {
        let score = scorer("").add(parsed(&tree(gold, true)), parsed(&tree(predicted, true)));
        assert_eq!(score.status, Status::Error(expected));
    }

    #[test]
    fn words_under_a_bracket_are_a_set() {
        check("", GOLD, GOLD, [2, 2, 2, 1, 1, 1, 4, 4]);
        check("", GOLD, FLAT, [1, 2, 2, 0, 1, 0, 4, 4]);
        check("LABELED 0", GOLD, &GOLD.replace("(VP", "(X"), [2, 2, 2, 1, 1, 1, 4, 4]);
        check("", GOLD, &GOLD.replace("(VP", "(X"), [1, 2, 2, 0, 1, 1, 4, 4]);
    }

    #[test]
    fn punctuation_goes_by_the_gold_tag_and_by_word() {
        check("", GOLD, &GOLD.replace("$.", "NN"), [2, 2, 2, 1, 1, 1, 4, 4]);
        // A gap made by punctuation alone is none.
        let gold = "(ROOT (NP (NN 0=a) (NN 2=b)) ($, 1=,) (V 3=c))";
        check("", gold, "(ROOT (NP (NN 0=a) ($, 1=,) (NN 2=b)) (V 3=c))", [1, 1, 1, 0, 0, 0, 3, 3]);
        // By word, whatever the tag, and as disco-dop reads it.
        check(
            "",
            "(ROOT (NP (X 0=a) (X 1=#LRB#)))",
            "(ROOT (NP (X 0=a)) (X 1=#LRB#))",
            [1, 1, 1, 0, 0, 0, 1, 1],
        );
        check("", "(ROOT (NP (X 0=a) (X 1=-)))", "(ROOT (NP (X 0=a)) (X 1=-))", [1, 1, 1, 0, 0, 0, 1, 1]);
        check(
            "DELETE_ROOT_PRETERMS 1",
            "(ROOT (NP (X 0=a)) (X 1=b))",
            "(ROOT (NP (X 0=a) (X 1=b)))",
            [1, 1, 1, 0, 0, 0, 1, 1],
        );
        // A prediction without the punctuation is welcome.
        check(
            "",
            GOLD,
            "(ROOT (S (VP (ADV 0=Da) (VVPP 2=gedacht)) (VMFIN 1=muss) (VAINF 3=werden)))",
            [2, 2, 2, 1, 1, 1, 4, 4],
        );
    }

    #[test]
    fn labels_can_be_compared_whole() {
        let (gold, predicted) = ("(ROOT (IP-MAT (N 0=a)) (N-A 1=b))", "(ROOT (IP-SUB (N 0=a)) (N-G 1=b))");
        check("", gold, predicted, [1, 1, 1, 0, 0, 0, 2, 2]);
        let mut scorer =
            ConstituentScorer::disco(&Params { functions: Functions::Keep, ..Params::fitting(true) });
        let score = scorer.add(parsed(&tree(gold, true)), parsed(&tree(predicted, true)));
        assert_eq!((score.brackets.matched, score.correct_tags), (0, 1));
    }

    #[test]
    fn labels_are_cut_and_chained() {
        check("", "(ROOT (NP-SB (N-X 0=a)))", "(ROOT (NP=2 (N 0=a)))", [1, 1, 1, 0, 0, 0, 1, 1]);
        check(
            "EQ_LABEL A B\nEQ_LABEL B C",
            "(ROOT (A (N 0=a)))",
            "(ROOT (C (N 0=a)))",
            [1, 1, 1, 0, 0, 0, 1, 1],
        );
        check("", "(ROOT (NP (N 0=a)))", "(ROOT (NP (NOPARSE (NP (N 0=a)))))", [1, 1, 2, 0, 0, 0, 1, 1]);
        assert_eq!(["-NONE-", "NP-=x", "=", "a=b-c"].map(cut), ["-NONE-", "NP", "=", "a"]);
    }

    #[test]
    fn tags_are_compared_as_written() {
        check("", "(ROOT (X (ADVP 0=a)))", "(ROOT (X (PRT 0=a)))", [1, 1, 1, 0, 0, 0, 1, 0]);
    }

    #[test]
    fn errors() {
        check_error(GOLD, "", Mismatch::NoParse);
        check_error(GOLD, &GOLD.replace("muss", "kann"), Mismatch::Unaligned(2, "kann".into()));
        check_error(GOLD, "(ROOT (S (ADV 0=Da) (VMFIN 1=muss)))", Mismatch::Length(4, 2));
        // Aligned with the second x, but the first counts and has no partner.
        check_error("(ROOT (A (N 0=x) (N 1=y)))", "(ROOT (A (N 0=y)))", Mismatch::Length(2, 1));
    }

    #[test]
    fn discontinuous_only_counts_sentences_that_have_such_brackets() {
        let mut scorer = scorer("DISC_ONLY 1");
        for (gold, predicted) in [(GOLD, GOLD), (GOLD, FLAT), (FLAT, FLAT), (FLAT, GOLD)] {
            scorer.add(parsed(&tree(gold, true)), parsed(&tree(predicted, true)));
        }
        let all = scorer.all();
        assert_eq!(all.brackets, Counts { matched: 1, gold: 2, predicted: 2 });
        assert_eq!((all.sentences, all.exact_sentences, all.words), (3, 1, 16));
        assert_eq!((all.discontinuous.sentences, all.discontinuous.exact_sentences), (3, 1));
    }

    #[test]
    fn distinct_brackets_are_what_disco_dop_prints() {
        let mut scorer = scorer("");
        let (gold, predicted) =
            (tree("(ROOT (NP (N 0=x)))", true), tree("(ROOT (NP (NP (NP (N 0=x)))))", true));
        scorer.add(parsed(&gold), parsed(&predicted));
        let all = scorer.all();
        assert_eq!((all.distinct_gold, all.distinct_predicted), (1, 1));
        assert_eq!(all.brackets, Counts { matched: 1, gold: 1, predicted: 3 });
        assert_eq!((all.recall(), all.f1()), (Some(100.0), Some(50.0)));
    }

    #[test]
    fn figures_of_nothing_are_undefined() {
        let all = *scorer("").all();
        assert_eq!(
            (all.recall(), all.precision(), all.f1(), all.exact(), all.tag_accuracy()),
            (None, None, None, None, None)
        );
    }
}
