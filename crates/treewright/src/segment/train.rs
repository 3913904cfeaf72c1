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
    let gold = gold_sentences(sentences, config.spaces);
    if gold.is_empty() {
        return Err(Error::new(Code::BadTraining, "no sentence to learn from; expected at least one"));
    }
    let mut rng = Rng::new(config.seed);
    let rules = learn_rules(&gold);
    let counts = count_cases(&gold);
    let collect = |gold: &[GoldSentence], rng: &mut Rng| {
        let mut collector = Collector::new(&rules, &counts);
        pages(gold, config.n_layouts.max(1), rng).iter().for_each(|page| collector.collect(page));
        (collector.tokens, collector.sentences)
    };
    let SegmentConfig { epochs, rate, min_count, max_features, .. } = *config;
    let how = Fit { epochs, rate, min_count, max_features };
    let mut fit = |part: &'static str, examples: &mut Examples, rng: &mut Rng| {
        let n_examples = examples.len();
        let mut report = |epoch, loss| log(SegmentEpoch { part, epoch, n_examples, loss });
        examples.fit(how, rng, &mut report)
    };

    let (most, rest) = hold_out(&gold);
    let (_, mut examples) = collect(&most, &mut rng);
    let (model, scale) = fit("held-out", &mut examples, &mut rng);
    let (_, unseen) = collect(&rest, &mut rng);
    let shift = best_shift(&unseen.scored(&model), scale);
    drop((examples, unseen));

    let (mut token_examples, mut sentence_examples) = collect(&gold, &mut rng);
    let (tokens, _) = fit("tokens", &mut token_examples, &mut rng);
    drop(token_examples);
    let (mut sentence_ends, scale) = fit("sentences", &mut sentence_examples, &mut rng);
    sentence_ends.bias += (shift * scale).round() as i32;
    Ok(Segmenter {
        rules,
        tokens,
        sentences: sentence_ends,
        cases: case_table(&counts),
        multiwords: Multiwords::train(sentences),
    })
}

/// Most of the sentences, and the rest; a document, or fifty sentences, stays together.
fn hold_out(gold: &[GoldSentence]) -> (Vec<GoldSentence>, Vec<GoldSentence>) {
    let (mut most, mut rest) = (Vec::new(), Vec::new());
    let (mut block, mut n) = (0, 0);
    for sentence in gold {
        if sentence.starts_document || n >= 50 {
            block += 1;
            n = 0;
        }
        n += 1;
        if block % 8 == 5 { &mut rest } else { &mut most }.push(sentence.clone());
    }
    (most, rest)
}

/// How much more readily than by even odds a sentence should end, for the best F1 of whole sentences. A wrong end
/// and a missed one cost the same, but ends are rare, so the classifier alone misses too many.
fn best_shift(scored: &[(i32, bool)], scale: f32) -> f32 {
    let f1 = |shift: f32| {
        let (mut n_both, mut n_all, mut is_whole) = (0, 0, true);
        for &(score, answer) in scored {
            let guess = score as f32 + shift * scale > 0.0;
            n_all += usize::from(guess) + usize::from(answer);
            match (guess, answer) {
                (true, true) => {
                    n_both += usize::from(is_whole);
                    is_whole = true;
                }
                (false, false) => {}
                _ => is_whole = false,
            }
        }
        n_both as f64 / n_all.max(1) as f64
    };
    // With few sentences the best is a matter of luck.
    if scored.iter().filter(|&&(_, answer)| answer).count() < 200 {
        return 0.0;
    }
    let mut best = (f1(0.0), 0.0);
    for step in 1..=10 {
        let shift = step as f32 * 0.2;
        let score = f1(shift);
        if score > best.0 {
            best = (score, shift);
        }
    }
    best.1
}

/// Which classes of neighbours are worth a decision: those between which tokens end now and then.
fn learn_rules(gold: &[GoldSentence]) -> Rules {
    let mut n_all = [[0u32; N_CLASSES]; N_CLASSES];
    let mut n_cuts = n_all;
    let mut n_joins = n_all;
    for sentence in gold {
        let mut ends = sentence.ends.iter().copied().peekable();
        // The character before, and whether a token ended after it.
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
            let is_worth = match n_all[l][r] {
                // Of pairs that the treebank hardly has, those that look like a word's edge.
                0..=4 => !(left.is_word() && right.is_word()) || right == Class::Han,
                n => n_cuts[l][r] * 500 >= n,
            };
            if is_worth && right != Class::Mark {
                rules.cuts[l] |= 1 << r;
                let is_edge = left.is_word() != right.is_word() && (left.is_sign() || right.is_sign());
                if n_all[l][r] <= 4 && n_cuts[l][r] * 2 >= n_all[l][r] && is_edge {
                    rules.always[l] |= 1 << r;
                }
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
    tokens: Examples,
    sentences: Examples,
}

impl<'a> Collector<'a> {
    fn new(rules: &'a Rules, counts: &'a Counts) -> Self {
        let (tokens, sentences) = Default::default();
        Collector { rules, counts, cutter: Cutter::default(), tokens, sentences }
    }

    fn collect(&mut self, page: &Page) {
        let (mut scanner, mut pieces) = (Scanner::default(), Vec::new());
        scanner.scan(&page.text, 0, self.rules, &mut pieces);
        scanner.finish(&mut pieces);
        let mut tokens = Vec::new();
        for (i, piece) in pieces.iter().enumerate() {
            let text = &page.text[piece.start..piece.end];
            let next = pieces.get(i + 1).map(|next| &page.text[next.start..next.end]);
            let decide = |features: &[u64], place: usize| {
                let is_end = page.marks[place] & TOKEN_END != 0;
                self.tokens.push(features, is_end);
                is_end
            };
            self.cutter.cut(self.rules, piece, text, next, decide, &mut tokens);
        }
        self.look_up(page, &mut tokens);
        let (mut history, mut features, mut first) = (History::default(), Vec::new(), 0);
        for (i, tok) in tokens.iter().enumerate() {
            let is_end = page.marks[tok.end] & SENTENCE_END != 0;
            history.add(tok);
            if i + 1 < tokens.len() {
                end_features(&history, &tokens, first, i, &mut features);
                self.sentences.push(&features, is_end);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::Spaces;
    use crate::sentence::Token;

    fn gold(sentence: &[(&str, bool)]) -> Vec<GoldSentence> {
        let token = |&(form, space): &(&str, bool)| {
            let misc = if space { "" } else { "SpaceAfter=No" };
            Token { form: form.into(), misc: misc.into(), ..Token::default() }
        };
        let tokens = sentence.iter().map(token).collect();
        gold_sentences(&vec![Sentence { tokens, ..Sentence::default() }; 10], Spaces::Guess)
    }

    #[test]
    fn rules_follow_the_treebank() {
        let rules =
            learn_rules(&gold(&[("ab", false), ("3", true), ("10 000", true), ("x-y", false), (".", true)]));
        assert!(rules.may_cut(Class::Lower, Class::Digit) && !rules.must_cut(Class::Lower, Class::Digit));
        assert!(!rules.may_cut(Class::Lower, Class::Lower));
        assert!(!rules.may_cut(Class::Lower, Class::Hyphen), "the treebank keeps x-y whole");
        assert!(rules.must_cut(Class::Lower, Class::Close), "the treebank has no brackets");
        assert!(!rules.may_cut(Class::Lower, Class::Mark));
        assert!(rules.joins[Class::Digit as usize] == 1 << Class::Digit as u32);
        assert!(rules.joins[Class::Lower as usize] == 0);
    }

    #[test]
    fn the_shift_finds_ends_that_even_odds_miss() {
        // Ends score -50, a tenth of the other places -30: more is won than lost below -30.
        let scored: Vec<(i32, bool)> = (0..1000)
            .flat_map(|i| [(-50, true), (-500, false), (if i % 10 == 0 { -30 } else { -500 }, false)])
            .collect();
        let shift = best_shift(&scored, 100.0);
        assert!(shift > 0.5 && shift < 1.0, "{shift}");
        let even: Vec<(i32, bool)> = (0..1000).flat_map(|_| [(50, true), (-50, false)]).collect();
        assert_eq!(best_shift(&even, 100.0), 0.0);
        assert_eq!(best_shift(&scored[..300], 100.0), 0.0);
    }

    #[test]
    fn capitals_at_the_start_do_not_count() {
        let counts = count_cases(&gold(&[("The", true), ("dog", true), ("Rex", true)]));
        let of = |form: &str| counts.get(&Tok::new(form, 0, Default::default(), 0).lower).copied();
        assert_eq!((of("the"), of("dog"), of("rex")), (None, Some((10, 0)), Some((0, 10))));
    }
}
