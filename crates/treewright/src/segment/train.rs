//! Trains a segmenter.

use rustc_hash::FxHashMap;

use super::chars::{Class, N_CLASSES, class, is_space};
use super::features::{Case, Cutter, History, Tok, end_features};
use super::gold::{GoldSentence, Page, SENTENCE_END, TOKEN_END, gold_sentences, pages};
use super::linear::{Examples, Fit, Table};
use super::multiword::Multiwords;
use super::scan::{Rules, Scanner};
use super::{SegmentConfig, SegmentEpoch, Segmenter};
use crate::error::{Code, Error, Result};
use crate::rng::Rng;
use crate::sentence::Sentence;

/// Trains on sentences in their order.
pub(super) fn train(
    sentences: &[Sentence],
    config: &SegmentConfig,
    log: &mut dyn FnMut(SegmentEpoch),
) -> Result<Segmenter> {
    let gold = gold_sentences(sentences);
    if gold.is_empty() {
        return Err(Error::new(Code::BadTraining, 0, 0, "no sentence to learn from; expected at least one"));
    }
    let mut rng = Rng::new(config.seed);
    let rules = learn_rules(&gold);
    let counts = count_cases(&gold);
    let mut token_examples = Examples::default();
    let mut sentence_examples = Examples::default();
    let mut collector = Collector { rules: &rules, counts: &counts, cutter: Cutter::default() };
    for page in pages(&gold, config.n_layouts.max(1), &mut rng) {
        collector.collect(&page, &mut token_examples, &mut sentence_examples);
    }
    let SegmentConfig { epochs, rate, min_count, max_features, .. } = *config;
    let mut fit = |part: &'static str, examples: &mut Examples| {
        let n_examples = examples.len();
        let mut report = |epoch, loss| log(SegmentEpoch { part, epoch, n_examples, loss });
        examples.fit(Fit { epochs, rate, min_count, max_features }, &mut rng, &mut report)
    };
    let tokens = fit("tokens", &mut token_examples);
    let sentence_ends = fit("sentences", &mut sentence_examples);
    Ok(Segmenter {
        rules,
        tokens,
        sentences: sentence_ends,
        cases: case_table(&counts),
        multiwords: Multiwords::train(sentences),
    })
}

/// Which classes of neighbours are worth a decision: those between which tokens end now and then.
fn learn_rules(gold: &[GoldSentence]) -> Rules {
    let mut n_all = [[0u32; N_CLASSES]; N_CLASSES];
    let mut n_cuts = n_all;
    let mut n_joins = n_all;
    for sentence in gold {
        let mut ends = sentence.ends.iter().copied().peekable();
        // The character before, and whether a token ended behind it.
        let mut left: Option<Class> = None;
        let mut beyond: Option<Class> = None;
        for (at, c) in sentence.text.char_indices() {
            let is_end = ends.next_if_eq(&at).is_some();
            let right = class(c);
            if is_space(c) {
                beyond = left.filter(|_| !is_end && c == ' ');
                left = None;
                continue;
            }
            if let Some(before) = beyond.take() {
                n_joins[before as usize][right as usize] += 1;
            }
            if let Some(before) = left {
                n_all[before as usize][right as usize] += 1;
                n_cuts[before as usize][right as usize] += u32::from(is_end);
            }
            left = Some(right);
        }
    }
    let classes: Vec<Class> = ('\0'..='\u{FFFF}').map(class).fold(Vec::new(), |mut seen, class| {
        if !seen.contains(&class) {
            seen.push(class);
        }
        seen
    });
    let mut rules = Rules::default();
    for &left in &classes {
        for &right in &classes {
            let (l, r) = (left as usize, right as usize);
            // Of pairs that the treebank does not have, those that look like a word's edge.
            let looks_apart = !(left.is_word() && right.is_word()) || right == Class::Han;
            let is_worth = match n_all[l][r] {
                0..=2 => looks_apart,
                n => n_cuts[l][r] * 500 >= n,
            };
            if is_worth && right != Class::Mark {
                rules.cuts[l] |= 1 << r;
            }
            // One or two may be slips.
            if n_joins[l][r] >= 5 {
                rules.joins[l] |= 1 << r;
            }
        }
    }
    rules
}

/// How often a word has a small letter and a capital, away from the start of a sentence; by the hash of its lower
/// case.
type Counts = FxHashMap<u64, (u32, u32)>;

fn count_cases(gold: &[GoldSentence]) -> Counts {
    let mut counts = Counts::default();
    for sentence in gold {
        let mut start = 0;
        for (i, &end) in sentence.ends.iter().enumerate() {
            let form = sentence.text[start..end].trim_start_matches(is_space);
            let tok = Tok::new(form, 0, Default::default(), 0);
            if i > 0 && tok.has_case() {
                let (n_lower, n_upper) = counts.entry(tok.lower).or_default();
                *(if tok.is_capital() { n_upper } else { n_lower }) += 1;
            }
            start = end;
        }
    }
    counts
}

fn case_table(counts: &Counts) -> Table {
    let mut items: Vec<(u64, i32, u32)> = counts
        .iter()
        .map(|(&hash, &(n_lower, n_upper))| {
            (hash, i32::from(Case::of(n_lower, n_upper).0), n_lower + n_upper)
        })
        .collect();
    items.sort_unstable_by_key(|&(hash, _, n)| (std::cmp::Reverse(n), hash));
    let items: Vec<(u64, i32)> = items.into_iter().map(|(hash, case, _)| (hash, case)).collect();
    Table::new(&items)
}

/// Goes over pages as the segmenter does, with the treebank's decisions.
struct Collector<'a> {
    rules: &'a Rules,
    counts: &'a Counts,
    cutter: Cutter,
}

impl Collector<'_> {
    fn collect(&mut self, page: &Page, token_examples: &mut Examples, sentence_examples: &mut Examples) {
        let (mut scanner, mut pieces) = (Scanner::default(), Vec::new());
        scanner.scan(&page.text, 0, self.rules, &mut pieces);
        scanner.finish(&mut pieces);
        let mut tokens = Vec::new();
        let mut cutter = std::mem::take(&mut self.cutter);
        for (i, piece) in pieces.iter().enumerate() {
            let text = &page.text[piece.start..piece.end];
            let next = pieces.get(i + 1).map(|next| &page.text[next.start..next.end]);
            let decide = |features: &[u64], place: usize| {
                let is_end = page.marks[place] & TOKEN_END != 0;
                token_examples.push(features, is_end);
                is_end
            };
            cutter.cut(self.rules, piece, text, next, decide, &mut tokens);
        }
        self.cutter = cutter;
        self.look_up(page, &mut tokens);
        let (mut history, mut features, mut first) = (History::default(), Vec::new(), 0);
        for (i, tok) in tokens.iter().enumerate() {
            let is_end = page.marks[tok.end] & SENTENCE_END != 0;
            history.add(tok);
            if i + 1 < tokens.len() {
                end_features(&history, &tokens, first, i, &mut features);
                sentence_examples.push(&features, is_end);
            }
            history.decide(tok, is_end);
            if is_end {
                first = i + 1;
            }
        }
    }

    /// What the dictionary would say of each token if it did not know this very occurrence: in use it does not.
    fn look_up(&self, page: &Page, tokens: &mut [Tok]) {
        let mut is_first = true;
        for tok in tokens {
            let (mut n_lower, mut n_upper) = self.counts.get(&tok.lower).copied().unwrap_or_default();
            if !is_first {
                if tok.is_capital() {
                    n_upper = n_upper.saturating_sub(1);
                } else {
                    n_lower = n_lower.saturating_sub(1);
                }
            }
            tok.case = Case::of(n_lower, n_upper);
            is_first = page.marks[tok.end] & SENTENCE_END != 0;
        }
    }
}
