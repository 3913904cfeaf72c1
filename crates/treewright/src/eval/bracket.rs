//! Labelled bracketing as EVALB counts it (Sekine and Collins, 1997).
//!
//! Words are taken out by the tags of *each* tree, so a tag that differs on a punctuation mark makes the lengths
//! differ and the sentence an error. Labels are cut at the first `-` or `=`. Equal brackets are matched as a
//! multiset. Deviation: EVALB's fixed limits (200 words, 5,000 bytes a line) do not exist here.

use rustc_hash::FxHashSet;

use super::labels::{self, FreeBrackets, Pairs};
use super::totals::Counts;
use super::{Functions, Mismatch, Params, Parsed, Scored, ScoredNode, ScoredNodes, SentenceScore, Status};
use crate::ids::{NodeId, TokenIdx};
use crate::sentence::{Sentence, Str};

/// Matches the brackets of two trees.
#[derive(Clone, Debug)]
pub(super) struct Evalb {
    rules: Rules,
    gold: Side,
    predicted: Side,
    crossing: Crossing,
}

#[derive(Clone, Debug)]
struct Rules {
    delete_tag: FxHashSet<Str>,
    delete_node: FxHashSet<Str>,
    delete_for_length: FxHashSet<Str>,
    quote_label: FxHashSet<Str>,
    eq_label: Pairs,
    eq_word: Pairs,
    labeled: bool,
    functions: Functions,
}

/// Is the whole tree `(TAG word)`? It is read as a constituent above a word without a tag; to EVALB it is a word.
fn is_bare_word(parsed: Parsed<'_>) -> bool {
    parsed.tree.is_some_and(|tree| tree.n_nodes() == 1 && tree.n_tokens() == 1)
        && parsed.sentence.tokens.first().is_some_and(|token| token.tag.is_empty())
}

/// The tag of a word.
fn tag(parsed: Parsed<'_>, token: TokenIdx) -> &Str {
    match parsed.tree {
        Some(tree) if is_bare_word(parsed) => &tree.node(tree.root()).label,
        _ => &parsed.sentence.token(token).tag,
    }
}

/// One constituent while it is scored: words `start..end` of those that count.
#[derive(Clone, Copy, Debug)]
struct Bracket {
    start: u32,
    end: u32,
    node: NodeId,
}

/// A quote that may be mistagged.
#[derive(Clone, Copy, Debug)]
struct Quote {
    token: TokenIdx,
    /// How many words that count stand before it.
    index: usize,
}

/// What one tree has to offer.
#[derive(Clone, Debug, Default)]
struct Side {
    /// The words that count.
    kept: Vec<TokenIdx>,
    /// How many words that count stand before each word, and before the end.
    before: Vec<u32>,
    brackets: Vec<Bracket>,
    quotes: Vec<Quote>,
}

/// Everything before the first `-` or `=`.
pub(super) fn cut(label: &str) -> &str {
    label.find(['-', '=']).map_or(label, |end| &label[..end])
}

impl Rules {
    /// The part of a label that counts.
    fn cut<'a>(&self, label: &'a str) -> &'a str {
        match self.functions {
            Functions::Strip => cut(label),
            Functions::Keep => label,
        }
    }
}

impl Side {
    fn clear(&mut self) {
        self.kept.clear();
        self.before.clear();
        self.brackets.clear();
        self.quotes.clear();
    }

    /// Takes out the words that do not count. Without a tree there are none that do.
    fn read_words(&mut self, parsed: Parsed<'_>, rules: &Rules) {
        self.clear();
        if parsed.tree.is_none() {
            return;
        }
        for (i, token) in parsed.sentence.tokens.iter().enumerate() {
            self.before.push(self.kept.len() as u32);
            let token_idx = TokenIdx::new(i);
            let tag = tag(parsed, token_idx);
            if !rules.quote_label.is_empty()
                && matches!(token.form.as_str(), "'" | "\"" | "/")
                && rules.quote_label.contains(tag)
            {
                self.quotes.push(Quote { token: token_idx, index: self.kept.len() });
            }
            if !rules.delete_tag.contains(tag) {
                self.kept.push(token_idx);
            }
        }
        self.before.push(self.kept.len() as u32);
    }

    /// The constituents over words that count, outer ones before inner ones.
    fn read_brackets(&mut self, parsed: Parsed<'_>) {
        let Some(tree) = parsed.tree.filter(|_| !is_bare_word(parsed)) else { return };
        for (node, constituent) in tree.nodes().rev() {
            let start = self.before[constituent.leftmost().index()];
            let end = self.before[constituent.rightmost().index() + 1];
            self.brackets.push(Bracket { start, end, node });
        }
    }

    /// Puts a quote back at its place among the words that count.
    fn reinsert(&mut self, parsed: Parsed<'_>, quote: Quote) {
        let Some(tree) = parsed.tree else { return };
        self.kept.insert(quote.index, quote.token);
        for bracket in &mut self.brackets {
            let node = tree.node(bracket.node);
            if node.leftmost() > quote.token {
                bracket.start += 1;
                bracket.end += 1;
            } else if node.rightmost() >= quote.token {
                bracket.end += 1;
            }
        }
    }

    /// Drops empty brackets and those whose label does not count; sorts by span, outer ones first, and lists the nodes.
    fn keep_counting(&mut self, parsed: Parsed<'_>, rules: &Rules, nodes: &mut Vec<ScoredNode>) {
        let Some(tree) = parsed.tree else { return };
        self.brackets.retain(|bracket| {
            bracket.start < bracket.end
                && !rules.delete_node.contains(rules.cut(&tree.node(bracket.node).label))
        });
        // The sort is stable: brackets over the same words stay outer before inner.
        self.brackets.sort_by_key(|bracket| (bracket.start, bracket.end));
        nodes.extend(self.brackets.iter().map(|b| ScoredNode { node: b.node, is_matched: false }));
    }
}

impl Evalb {
    pub(super) fn new(params: &Params) -> Self {
        let rules = Rules {
            delete_tag: labels::set(&params.delete_label, &[]),
            delete_node: labels::set(&params.delete_label, &params.eq_label),
            delete_for_length: labels::set(&params.delete_label_for_length, &[]),
            quote_label: labels::set(&params.quote_label, &[]),
            eq_label: Pairs::new(&params.eq_label),
            eq_word: Pairs::new(&params.eq_word),
            labeled: params.labeled,
            functions: params.functions,
        };
        Evalb { rules, gold: Side::default(), predicted: Side::default(), crossing: Crossing::default() }
    }

    /// The length of a sentence: punctuation counts, traces do not.
    pub(super) fn length(&self, gold: Parsed<'_>) -> usize {
        let tags = (0..gold.sentence.len()).map(|i| tag(gold, TokenIdx::new(i)));
        let counts = |tag: &&Str| !self.rules.delete_for_length.contains(*tag);
        if gold.tree.is_none() { 0 } else { tags.filter(counts).count() }
    }

    pub(super) fn score(&mut self, [gold, predicted]: [Parsed<'_>; 2], nodes: &mut ScoredNodes) -> Scored {
        self.gold.read_words(gold, &self.rules);
        self.predicted.read_words(predicted, &self.rules);
        if self.predicted.kept.is_empty() {
            return Err(Status::Skipped);
        }
        self.gold.read_brackets(gold);
        self.predicted.read_brackets(predicted);
        if self.gold.kept.len() != self.predicted.kept.len() {
            self.fix_quotes(gold, predicted);
        }
        if let Some(mismatch) = self.mismatch(gold, predicted) {
            return Err(Status::Error(mismatch));
        }
        self.gold.keep_counting(gold, &self.rules, &mut nodes.gold);
        self.predicted.keep_counting(predicted, &self.rules, &mut nodes.predicted);
        let brackets = Counts {
            matched: self.match_brackets(gold, predicted, nodes),
            gold: self.gold.brackets.len() as u64,
            predicted: self.predicted.brackets.len() as u64,
        };
        self.crossing.prepare(self.gold.kept.len(), &self.gold.brackets);
        let same_tag =
            |(&g, &p): (&TokenIdx, &TokenIdx)| self.rules.eq_label.same(tag(gold, g), tag(predicted, p));
        let pairs = self.gold.kept.iter().zip(&self.predicted.kept);
        Ok(SentenceScore {
            brackets,
            crossing: self.predicted.brackets.iter().filter(|b| self.crossing.crosses(b)).count() as u64,
            words: self.gold.kept.len() as u64,
            correct_tags: pairs.filter(|&pair| same_tag(pair)).count() as u64,
            ..SentenceScore::default()
        })
    }

    fn mismatch(&self, gold: Parsed<'_>, predicted: Parsed<'_>) -> Option<Mismatch> {
        let (g, p) = (&self.gold.kept, &self.predicted.kept);
        if g.len() != p.len() {
            let by_tags = self.differing_tags(gold, predicted);
            return Some(by_tags.unwrap_or(Mismatch::Length(g.len(), p.len())));
        }
        let forms = |(&g, &p)| (&gold.sentence.token(g).form, &predicted.sentence.token(p).form);
        let differ = |(g, p): &(&Str, &Str)| !self.rules.eq_word.same(g, p);
        let (g, p) = g.iter().zip(p).map(forms).find(differ)?;
        let by_tags = self.differing_tags(gold, predicted);
        Some(by_tags.unwrap_or_else(|| Mismatch::Words(g.to_string(), p.to_string())))
    }

    /// The first word that only one side's tag takes out, if the words themselves are the same.
    fn differing_tags(&self, gold: Parsed<'_>, predicted: Parsed<'_>) -> Option<Mismatch> {
        fn words(sentence: &Sentence) -> impl Iterator<Item = (usize, &Str)> {
            let tokens = sentence.tokens.iter().enumerate().filter(|(_, token)| !token.is_trace());
            tokens.map(|(i, token)| (i, &token.form))
        }
        let pairs = || words(gold.sentence).zip(words(predicted.sentence));
        let n_words = |sentence| words(sentence).count();
        if n_words(gold.sentence) != n_words(predicted.sentence) || pairs().any(|((_, g), (_, p))| g != p) {
            return None;
        }
        let counts = |side: &Side, i: usize| side.kept.binary_search(&TokenIdx::new(i)).is_ok();
        let differ = |&((g, _), (p, _)): &((usize, _), (usize, _))| {
            counts(&self.gold, g) != counts(&self.predicted, p)
        };
        let ((g, word), (p, _)) = pairs().find(differ)?;
        Some(Mismatch::Tags {
            position: p + 1,
            word: word.to_string(),
            gold: tag(gold, TokenIdx::new(g)).to_string(),
            predicted: tag(predicted, TokenIdx::new(p)).to_string(),
            counts_in_gold: counts(&self.gold, g),
        })
    }

    /// Puts back quotes that only one side took out, as EVALB's `fix_quote` does, index bookkeeping included.
    fn fix_quotes(&mut self, gold: Parsed<'_>, predicted: Parsed<'_>) {
        for i in 0..self.predicted.quotes.len() {
            let quote2 = self.predicted.quotes[i];
            let tag2 = tag(predicted, quote2.token);
            for j in 0..self.gold.quotes.len() {
                let quote1 = self.gold.quotes[j];
                let tag1 = tag(gold, quote1.token);
                if quote1.index != quote2.index || tag1 == tag2 {
                    continue;
                }
                match (self.rules.delete_tag.contains(tag1), self.rules.delete_tag.contains(tag2)) {
                    (true, false) => {
                        self.gold.reinsert(gold, quote1);
                        self.gold.quotes[j..].iter_mut().for_each(|quote| quote.index += 1);
                    }
                    (false, true) => {
                        let now = self.predicted.quotes[i];
                        self.predicted.reinsert(predicted, now);
                        self.predicted.quotes[i..].iter_mut().for_each(|quote| quote.index += 1);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Each gold bracket takes the first free predicted bracket over the same words with the same label.
    fn match_brackets(&self, gold: Parsed<'_>, predicted: Parsed<'_>, nodes: &mut ScoredNodes) -> u64 {
        let (Some(gold), Some(predicted)) = (gold.tree, predicted.tree) else { return 0 };
        let rules = &self.rules;
        let span = |b: &Bracket| (b.start, b.end);
        let (mut matched, mut from) = (0, 0);
        let mut free = FreeBrackets::default();
        for (i, bracket) in self.gold.brackets.iter().enumerate() {
            let is_new = i == 0 || span(&self.gold.brackets[i - 1]) != span(bracket);
            while self.predicted.brackets.get(from).is_some_and(|p| span(p) < span(bracket)) {
                from += 1;
            }
            let label = rules.cut(&gold.node(bracket.node).label);
            let same_span = self.predicted.brackets[from..].iter().take_while(|p| span(p) == span(bracket));
            if is_new {
                let labels = same_span.map(|p| rules.cut(&predicted.node(p.node).label));
                free.start(labels.map(|label| if rules.labeled { label } else { "" }));
            }
            let label = if rules.labeled { label } else { "" };
            if let Some(offset) = free.take(label, &rules.eq_label) {
                nodes.predicted[from + offset].is_matched = true;
                nodes.gold[i].is_matched = true;
                matched += 1;
            }
        }
        matched
    }
}

/// Answers "does this bracket cross a gold bracket?" in logarithmic time.
#[derive(Clone, Debug, Default)]
struct Crossing {
    n: usize,
    /// A segment tree over positions: the least start of the gold brackets that end there.
    min_start: Vec<u32>,
    /// A segment tree over positions: the greatest end of the gold brackets that start there.
    greatest_end: Vec<u32>,
}

impl Crossing {
    fn prepare(&mut self, n_words: usize, gold: &[Bracket]) {
        let n = n_words + 1;
        self.n = n;
        self.min_start.clear();
        self.min_start.resize(2 * n, u32::MAX);
        self.greatest_end.clear();
        self.greatest_end.resize(2 * n, 0);
        for bracket in gold {
            let least = &mut self.min_start[n + bracket.end as usize];
            *least = (*least).min(bracket.start);
            let greatest = &mut self.greatest_end[n + bracket.start as usize];
            *greatest = (*greatest).max(bracket.end);
        }
        for i in (1..n).rev() {
            self.min_start[i] = self.min_start[2 * i].min(self.min_start[2 * i + 1]);
            self.greatest_end[i] = self.greatest_end[2 * i].max(self.greatest_end[2 * i + 1]);
        }
    }

    fn crosses(&self, bracket: &Bracket) -> bool {
        // A gold bracket ends inside and starts before, or starts inside and ends after.
        let (mut l, mut r) = (bracket.start as usize + 1 + self.n, bracket.end as usize + self.n);
        let (mut least, mut greatest) = (u32::MAX, 0);
        while l < r {
            if l % 2 == 1 {
                least = least.min(self.min_start[l]);
                greatest = greatest.max(self.greatest_end[l]);
                l += 1;
            }
            if r % 2 == 1 {
                r -= 1;
                least = least.min(self.min_start[r]);
                greatest = greatest.max(self.greatest_end[r]);
            }
            l /= 2;
            r /= 2;
        }
        least < bracket.start || greatest > bracket.end
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::ConstituentScorer;
    use super::super::testing::{parsed, tree};
    use super::*;

    const CAT: &str =
        "(TOP (S (NP (DT The) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (DT the) (NN mat)))) (. .)))";

    fn score(params: &Params, gold: &str, predicted: &str) -> SentenceScore {
        ConstituentScorer::evalb(params).add(parsed(&tree(gold, false)), parsed(&tree(predicted, false)))
    }

    /// Matched, gold, predicted, crossing, words, right tags under the Collins rules.
    #[track_caller]
    fn check(gold: &str, predicted: &str, expected: [u64; 6]) {
        check_with(&Params::named("collins").expect("a known name"), gold, predicted, expected);
    }

    #[track_caller]
    fn check_with(params: &Params, gold: &str, predicted: &str, expected: [u64; 6]) {
        let score = score(params, gold, predicted);
        assert_eq!(score.status, Status::Valid);
        let Counts { matched, gold, predicted } = score.brackets;
        assert_eq!([matched, gold, predicted, score.crossing, score.words, score.correct_tags], expected);
    }

    #[track_caller]
    fn check_status(params: &str, gold: &str, predicted: &str, expected: &Status) {
        let score = score(&Params::named(params).expect("a known name"), gold, predicted);
        assert_eq!(score.status, *expected);
        assert_eq!(score.brackets, Counts::default());
    }

    fn tags(position: usize, word: &str, gold: &str, predicted: &str, counts_in_gold: bool) -> Mismatch {
        let [word, gold, predicted] = [word, gold, predicted].map(str::to_owned);
        Mismatch::Tags { position, word, gold, predicted, counts_in_gold }
    }

    #[test]
    fn the_word_whose_tags_take_it_out_on_one_side_is_named() {
        let gold = "(TOP (S (N a) (-NONE- *) (. .) (N b)))";
        let error = tags(2, ".", ".", "N", false);
        check_status("collins", gold, "(TOP (S (N a) (N .) (N b)))", &Status::Error(error.clone()));
        assert_eq!(
            error.to_string(),
            "word 2, \".\", counts with its predicted tag \"N\" but is taken out with its gold tag \".\""
        );
        // As many words count on both sides, but not the same ones.
        let error = tags(3, ".", ".", "N", false);
        check_status(
            "collins",
            "(TOP (S (N a) (N b) (. .)))",
            "(TOP (S (N a) (N b) (N .)))",
            &Status::Error(error),
        );
        let error = tags(1, "a", "N", ".", true);
        check_status("collins", "(TOP (S (N a) (. b)))", "(TOP (S (. a) (N b)))", &Status::Error(error));
    }

    #[test]
    fn labels_can_be_compared_whole() {
        let (gold, predicted) = ("(TOP (IP-MAT (NP (N a)) (V b)))", "(TOP (IP-SUB (NP (N a)) (V b)))");
        check(gold, predicted, [2, 2, 2, 0, 2, 2]);
        let params = Params { functions: Functions::Keep, ..Params::fitting(false) };
        check_with(&params, gold, predicted, [1, 2, 2, 0, 2, 2]);
        check_with(&params, gold, gold, [2, 2, 2, 0, 2, 2]);
    }

    #[test]
    fn labels_spans_and_tags() {
        check(CAT, CAT, [5, 5, 5, 0, 6, 6]);
        check(CAT, &CAT.replace("VBD", "VBZ"), [5, 5, 5, 0, 6, 5]);
        check(CAT, &CAT.replace("(PP", "(SBAR"), [4, 5, 5, 0, 6, 6]);
        // Another root counts; TOP does not.
        check(CAT, &CAT.replace("TOP", "ROOT"), [5, 5, 6, 0, 6, 6]);
        check("(TOP (S (NP (A a) (B b)) (C c)))", "(TOP (S (A a) (VP (B b) (C c))))", [1, 2, 2, 1, 3, 3]);
    }

    #[test]
    fn functions_are_cut_and_brackets_over_nothing_do_not_count() {
        check(
            "(TOP (S (NP-SBJ=2 (-NONE- *)) (VP=1 (VB go) (. .))))",
            "(TOP (S (VP-X (VB go)) (. .)))",
            [2, 2, 2, 0, 1, 1],
        );
    }

    #[test]
    fn equal_brackets_are_a_multiset_and_order_in_a_chain_is_free() {
        check("(TOP (NP (NP (NP (N x)))))", "(TOP (NP (N x)))", [1, 3, 1, 0, 1, 1]);
        check("(TOP (S (VP (NP (N x)))))", "(TOP (NP (S (N x))))", [2, 3, 2, 0, 1, 1]);
    }

    /// `(A (B ... (N x)))`
    fn chain<'a>(labels: impl Iterator<Item = &'a str>) -> String {
        let mut text = String::from("(TOP ");
        let n = labels.map(|label| text.extend(["(", label, " "])).count();
        text + "(N x)" + &")".repeat(n + 1)
    }

    #[test]
    fn long_chains_are_matched_in_time() {
        let n = 100_000;
        let names: Vec<String> = (0..2 * n).map(|i| format!("X{i}")).collect();
        let labels = |from: usize| chain(names[from..from + n].iter().map(String::as_str));
        check(&labels(0), &labels(0), [n as u64, n as u64, n as u64, 0, 1, 1]);
        check(&labels(0), &labels(n), [0, n as u64, n as u64, 0, 1, 1]);
    }

    #[test]
    fn equivalent_labels_are_not_chained_and_the_first_free_bracket_is_taken() {
        check("(TOP (ADVP (PRT up)))", "(TOP (PRT (ADVP up)))", [1, 1, 1, 0, 1, 1]);
        let params = Params::parse("EQ_LABEL A B\nEQ_LABEL B C\n").expect("valid");
        check_with(&params, "(A (X x))", "(C (X x))", [0, 1, 1, 0, 1, 1]);
        // Gold B takes the outer A, so gold A finds only C: the greedy order is EVALB's.
        check_with(&params, "(B (A (X x)))", "(A (C (X x)))", [1, 2, 2, 0, 1, 1]);
        // A deleted label takes its equivalents with it.
        let params = Params::parse("EQ_LABEL A B\nDELETE_LABEL A\n").expect("valid");
        check_with(&params, "(B (Y (X x)))", "(Y (X x))", [1, 1, 1, 0, 1, 1]);
    }

    #[test]
    fn unlabelled_and_equal_words() {
        let params = Params::parse("LABELED 0\nEQ_WORD x y").expect("valid");
        check_with(&params, "(A (X x))", "(B (X y))", [1, 1, 1, 0, 1, 1]);
    }

    #[test]
    fn what_is_an_error_and_what_is_skipped() {
        let bob = "(TOP (S (NP (NNP Bob)) (: --) (VP (VBZ runs)) (. .)))";
        check_status(
            "collins",
            bob,
            &bob.replace("(: --)", "(NN --)"),
            &Status::Error(tags(2, "--", ":", "NN", false)),
        );
        let words = Mismatch::Words("cat".into(), "Cat".into());
        check_status("collins", CAT, &CAT.replace("cat", "Cat"), &Status::Error(words));
        check_status("collins", CAT, "", &Status::Skipped);
        check_status("collins", CAT, "(TOP (S (. .)))", &Status::Skipped);
        check_status("collins", "(TOP (S (. .)))", CAT, &Status::Error(Mismatch::Length(0, 6)));
        // Punctuation counts under spmrl.
        check_status("spmrl", CAT, "(TOP (S (. .)))", &Status::Error(Mismatch::Length(7, 1)));
    }

    #[test]
    fn a_bare_word_is_a_word_and_not_a_bracket() {
        let bare = |tag: &str| {
            let mut builder = crate::tree::TreeBuilder::with_tokens(1);
            let node = builder.node(tag);
            builder.attach(crate::tree::Child::Token(TokenIdx::new(0)), node);
            (Sentence::from_tagged([("Yes", "")]), builder.finish().ok())
        };
        let score = |gold: &str, predicted: &str| {
            let mut scorer = ConstituentScorer::evalb(&Params::named("collins").expect("a known name"));
            scorer.add(parsed(&bare(gold)), parsed(&bare(predicted)))
        };
        let expected = SentenceScore { length: 1, words: 1, correct_tags: 1, ..SentenceScore::default() };
        assert_eq!(score("UH", "UH"), expected);
        assert_eq!(score("UH", "X"), SentenceScore { correct_tags: 0, ..expected });
        assert_eq!(score("UH", ".").status, Status::Skipped);
    }

    #[test]
    fn an_unreadable_prediction_is_an_error() {
        let mut scorer = ConstituentScorer::evalb(&Params::named("collins").expect("a known name"));
        let score = scorer.add_unreadable(parsed(&tree(CAT, false)));
        assert_eq!((score.status, score.length), (Status::Error(Mismatch::Unreadable), 7));
        assert_eq!((scorer.all().errors, scorer.up_to_cutoff().errors, scorer.all().valid()), (1, 1, 0));
    }

    #[test]
    fn mistagged_quotes_are_put_back_under_evalb_only() {
        let gold = "(TOP (S (`` ') (NP (N a)) (VP (V b)) ('' ')))";
        let predicted = "(TOP (S (POS ') (NP (N a)) (VP (V b) ('' '))))";
        check_status("collins", gold, predicted, &Status::Error(tags(1, "'", "``", "POS", false)));
        check_with(&Params::named("evalb").expect("known"), gold, predicted, [3, 3, 3, 0, 3, 2]);
        check_with(&Params::named("evalb").expect("known"), predicted, gold, [3, 3, 3, 0, 3, 2]);
        // Only quotes: a dash under NN stays an error.
        let dash = |text: &str| text.replace(" '", " -");
        check_status(
            "evalb",
            &dash(gold),
            &dash(predicted),
            &Status::Error(tags(1, "-", "``", "POS", false)),
        );
    }

    #[test]
    fn the_cutoff_counts_punctuation_but_not_traces() {
        let mut scorer =
            ConstituentScorer::evalb(&Params { cutoff_len: 3, ..Params::named("collins").expect("known") });
        for text in [
            "(TOP (S (A a) (B b) (. .)))",
            "(TOP (S (A a) (B b) (. .) (. .)))",
            "(TOP (S (A a) (B b) (. .) (-NONE- *)))",
        ] {
            let pair = tree(text, false);
            scorer.add(parsed(&pair), parsed(&pair));
        }
        assert_eq!((scorer.all().sentences, scorer.up_to_cutoff().sentences), (3, 2));
        assert_eq!((scorer.all().longest, scorer.up_to_cutoff().longest), (4, 3));
    }

    #[test]
    fn figures_of_nothing() {
        let mut scorer = ConstituentScorer::evalb(&Params::default());
        let (gold, predicted) = (tree(CAT, false), tree("", false));
        scorer.add(parsed(&gold), parsed(&predicted));
        let all = scorer.all();
        assert_eq!((all.sentences, all.skipped, all.valid()), (1, 1, 0));
        assert_eq!(
            (all.recall(), all.precision(), all.f1(), all.exact()),
            (Some(0.0), Some(0.0), None, Some(0.0))
        );
        assert_eq!(all.average_crossing(), Some(0.0));
    }

    proptest! {
        #[test]
        fn crossing_agrees_with_the_definition(
            spans in prop::collection::vec((0u32..9, 1u32..9), 0..12), start in 0u32..9, length in 1u32..9
        ) {
            let bracket = |start: u32, length: u32| Bracket { start, end: (start + length).min(10), node: NodeId::new(0) };
            let gold: Vec<Bracket> = spans.into_iter().map(|(start, length)| bracket(start, length)).collect();
            let b = bracket(start, length);
            let expected = gold.iter().any(|a| {
                (a.start < b.start && a.end > b.start && a.end < b.end)
                    || (a.start > b.start && a.start < b.end && a.end > b.end)
            });
            let mut crossing = Crossing::default();
            crossing.prepare(10, &gold);
            prop_assert_eq!(crossing.crosses(&b), expected);
        }
    }
}
