use std::sync::Arc;

use super::signature::Part;
use super::*;
use crate::decode::exhaustive::Exhaustive;
use crate::decode::{Greedy, Method};
use crate::features::{TemplateSet, Vocabulary, shipped};
use crate::rng::Rng;
use crate::score::perceptron::{FeatureReader, left_to_reader};
use crate::systems::arc_eager::ArcEager;
use crate::systems::arc_hybrid::ArcHybrid;
use crate::systems::arc_hybrid_swap::ArcHybridSwap;
use crate::systems::binary::Symbols;
use crate::systems::bottom_up_2n::BottomUp2n;

/// Random weights for the features of a template set.
struct RandomWeights {
    reader: FeatureReader,
    n_actions: usize,
    seed: u64,
    /// Weights are drawn from this many values: few give ties.
    values: usize,
}

impl RandomWeights {
    fn new(templates: &TemplateSet, n_actions: usize, seed: u64, values: usize) -> Self {
        // Every word is known by name.
        let twice = [sentence(12), sentence(12)];
        RandomWeights {
            reader: FeatureReader::new(Arc::new(Vocabulary::of(twice.iter())), templates),
            n_actions,
            seed,
            values,
        }
    }
}

impl Scorer for RandomWeights {
    left_to_reader!();

    fn score(&mut self, queries: &[Views<'_>], rows: &mut Rows) {
        rows.reset_for(queries, self.n_actions);
        for (row, query, view) in Views::by_row(queries) {
            let keys = self.reader.keys(query.slot, query.forest, view);
            for (action, score) in rows.row_mut(row).iter_mut().enumerate() {
                let weight = |&key: &u64| {
                    let mut rng = Rng::new(key ^ self.seed.rotate_left(32) ^ action as u64);
                    rng.below(self.values) as f32 - (self.values / 2) as f32
                };
                *score = keys.iter().map(weight).sum();
            }
        }
    }
}

/// Words and tags that are all different.
fn sentence(n: usize) -> Sentence {
    let tokens: Vec<(String, String)> = (0..n).map(|i| (format!("w{i}"), format!("T{i}"))).collect();
    Sentence::from_tagged(tokens.iter().map(|(word, tag)| (word.as_str(), tag.as_str())))
}

/// The derivations that a decoder finds, with their scores.
fn all<S: TransitionSystem>(
    decoder: &mut dyn Decoder<S>,
    system: &S,
    scorer: &mut dyn Scorer,
    n: usize,
) -> (Vec<(Vec<ActionId>, f64)>, Guarantee) {
    let mut derivations = Vec::new();
    let guarantee = decoder.decode(Input { system, scorer, sentence: &sentence(n) }, &mut |found| {
        derivations.push((found.actions(system), found.score));
        true
    });
    (derivations, guarantee)
}

fn scores(derivations: &[(Vec<ActionId>, f64)]) -> Vec<f64> {
    derivations.iter().map(|derivation| derivation.1).collect()
}

/// Merged search without pruning finds what exhaustive search finds: every derivation, in the order of scores.
#[track_caller]
pub(in crate::decode) fn check<S: TransitionSystem>(system: &S, templates: &str, n: usize) {
    let templates = TemplateSet::parse(templates).expect("templates");
    for (seed, values) in [(1, 3), (2, 1000), (3, 100)] {
        let scorer = &mut RandomWeights::new(&templates, system.n_actions(), seed, values);
        assert_eq!(Method::Dp { width: 4 }.check(system, scorer), Ok(()));
        let (exhaustive, _) = all(&mut Exhaustive, system, scorer, n);
        let mut dp = DpBeam::new(1 << 20);
        let (merged, guarantee) = all(&mut dp, system, scorer, n);
        assert_eq!(guarantee, Guarantee::Exact);
        assert_eq!(scores(&merged), scores(&exhaustive), "{n} words, seed {seed}: {templates}");
        assert_eq!(dp.n_derivations(), Some(exhaustive.len() as f64));
        let weighing = Weighing::new(exhaustive[0].1, n, false);
        let total: f64 = exhaustive.iter().map(|derivation| weighing.weight(derivation.1)).sum();
        let kept = dp.kept();
        assert!(kept.is_all && kept.total.is_some_and(|kept| (kept / total - 1.0).abs() < 1e-9), "{kept:?}");
        let sorted = |derivations: Vec<(Vec<ActionId>, f64)>| {
            let mut actions: Vec<_> = derivations.into_iter().map(|derivation| derivation.0).collect();
            actions.sort();
            actions
        };
        let best = exhaustive[0].1;
        assert_eq!(sorted(merged), sorted(exhaustive), "each derivation once");
        let (greedy, _) = all(&mut Greedy::default(), system, scorer, n);
        let (one, guarantee) = all(&mut DpBeam::new(1), system, scorer, n);
        assert_eq!(one, greedy, "a beam of one state is greedy");
        assert_eq!(guarantee == Guarantee::Exact, n == 0 || exhaustive_is_greedy(system, n));
        // A narrow beam is a part of the search space, and tells the truth about what it found.
        for width in [2, 5] {
            let (narrow, guarantee) = all(&mut DpBeam::new(width), system, scorer, n);
            assert!(narrow[0].1 <= best && narrow.is_sorted_by(|one, other| one.1 >= other.1));
            assert!(guarantee != Guarantee::Exact || narrow[0].1 == best);
        }
    }
}

/// Random weights, some of which are broken.
struct BrokenWeights {
    weights: RandomWeights,
    scores: &'static [f32],
}

impl Scorer for BrokenWeights {
    fn open(&mut self, sentences: &[&Sentence], slots: &mut Vec<SlotId>) {
        self.weights.open(sentences, slots);
    }

    fn close(&mut self, slot: SlotId) {
        self.weights.close(slot);
    }

    fn horizon(&self) -> Option<&Horizon> {
        self.weights.horizon()
    }

    fn score(&mut self, queries: &[Views<'_>], rows: &mut Rows) {
        self.weights.score(queries, rows);
        for (row, ..) in Views::by_row(queries) {
            for score in rows.row_mut(row) {
                *score = self.scores[score.abs() as usize % self.scores.len()];
            }
        }
    }
}

/// Merged search finds derivations even where scores are infinite or no numbers.
#[track_caller]
pub(in crate::decode) fn check_broken<S: TransitionSystem>(
    system: &S,
    templates: &str,
    broken: &'static [f32],
) {
    let templates = TemplateSet::parse(templates).expect("templates");
    for (seed, width) in (0..3).flat_map(|seed| [(seed, 1), (seed, 4)]) {
        let weights = RandomWeights::new(&templates, system.n_actions(), seed, 1000);
        let scorer = &mut BrokenWeights { weights, scores: broken };
        assert_eq!(Method::Dp { width }.check(system, scorer), Ok(()));
        let (found, _) = all(&mut DpBeam::new(width), system, scorer, 3);
        assert!(!found.is_empty(), "{broken:?}");
    }
}

/// Is there one derivation only?
fn exhaustive_is_greedy<S: TransitionSystem>(system: &S, n: usize) -> bool {
    let scorer =
        &mut RandomWeights::new(&TemplateSet::parse("b0.w").expect("a template"), system.n_actions(), 1, 3);
    all(&mut Exhaustive, system, scorer, n).0.len() == 1
}

fn small_2n() -> BottomUp2n {
    BottomUp2n::new(Symbols::new(["A"], ["X:"], ["ROOT"]), [("A", "A"), ("A", "ROOT")])
}

fn text(name: &str) -> String {
    shipped(name).expect("a shipped set").text().to_owned()
}

#[test]
fn merged_search_is_exact_for_bottom_up_2n() {
    let sets = [text("simplified"), text("zhang-clark")];
    let own =
        ["d0.c", "d0.c+s0.c", "s2.w", "s1.c+b0.w", "d0.u.c s0.l.w", "d0.r.l.w a1", "d0.len+s0.shape a0"];
    for set in sets.iter().map(String::as_str).chain(own) {
        for n in 1..=4 {
            check(&small_2n(), set, n);
        }
    }
    let flat = BottomUp2n::new(Symbols::new([], ["S:"], ["S"]), []);
    check(&flat, "d0.c+s0.c", 6);
}

#[test]
fn merged_search_is_exact_for_dependencies() {
    let sets = ["dependency", "dependency-fast", "dependency-rich"].map(text);
    let own = [
        "s0.t",
        "s0.t+s1.t",
        "s2.w",
        "b0.l.w",
        "s0.r2.w+b0.sl s1.l2.c",
        "s0.vl+s0.vr",
        "s1.len a1",
        "s0.l.r.c",
    ];
    for single_root in [true, false] {
        for set in sets.iter().map(String::as_str).chain(own) {
            for n in 1..=3 {
                check(&ArcHybrid::with_labels(["a".into(), "b".into()], single_root), set, n);
                check(&ArcEager::with_labels(["a".into(), "b".into()], single_root), set, n);
            }
            check(&ArcHybrid::with_labels([], single_root), set, 5);
            check(&ArcEager::with_labels([], single_root), set, 5);
        }
    }
}

/// The best score, and how many derivations are covered.
fn best_and_count<S: TransitionSystem>(
    dp: &mut DpBeam<S>,
    system: &S,
    scorer: &mut dyn Scorer,
    n: usize,
) -> (f64, Option<f64>) {
    let mut best = 0.0;
    dp.decode(Input { system, scorer, sentence: &sentence(n) }, &mut |found| {
        best = found.score;
        false
    });
    (best, dp.n_derivations())
}

/// The parts of signatures without which some search goes wrong.
fn needed_parts<S: TransitionSystem>(system: &S, sets: &[&str], n: usize) -> Vec<Part> {
    let mergeable = system.mergeable().expect("states can be merged");
    let mut needed = Vec::new();
    for part in (0..12).flat_map(|part| [Part::OfState(part), Part::OfContext(part)]) {
        let goes_wrong = |set: &&str| {
            let templates = TemplateSet::parse(set).expect("templates");
            (0..6).any(|seed| {
                let scorer = &mut RandomWeights::new(&templates, system.n_actions(), seed, 1000);
                let mut whole = DpBeam::<S>::new(1 << 20);
                let expected = best_and_count(&mut whole, system, scorer, n);
                let mut dp = DpBeam::<S>::new(1 << 20);
                assert!(dp.set_signer(scorer.horizon(), mergeable));
                dp.signer().left_out = Some(part);
                // Without a part, states are merged that have different rules: the actions of one may be illegal in another.
                let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    best_and_count(&mut dp, system, scorer, n)
                }));
                found.map_or(true, |found| found != expected)
            })
        };
        if sets.iter().any(goes_wrong) {
            needed.push(part);
        }
    }
    needed
}

/// The others follow from these: all states of a step have done equally many actions, so where the buffer begins follows
/// from where the topmost item began.
#[test]
fn every_part_of_a_signature_is_needed() {
    use Part::{OfContext, OfState};
    let check = |needed: &[Part], expected: &[Part]| {
        let missing: Vec<&Part> = expected.iter().filter(|part| !needed.contains(part)).collect();
        assert!(missing.is_empty(), "search without {missing:?} goes wrong nowhere");
    };
    // Of a state: the push that began its topmost item, the front of the buffer, that item, and the newest actions. Of what a
    // push sees: rules, the front of the buffer, and the items of the stack.
    let sets = [text("zhang-clark"), text("simplified"), "b0.w a0+a1+a2".to_owned()];
    let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
    let expected = [OfState(0), OfState(4), OfState(5), OfState(6), OfContext(1), OfContext(3), OfContext(4)];
    check(&needed_parts(&small_2n(), &sets, 4), &expected);
    let sets = ["s0.sl+b0.vl+s0.r.w+s1.w+s2.w+s0.w", "b0.w a0+a1+a2", "s0.w"];
    let hybrid = ArcHybrid::with_labels(["a".into(), "b".into()], true);
    let expected = [OfState(0), OfState(3), OfState(4), OfState(5), OfContext(2), OfContext(3)];
    check(&needed_parts(&hybrid, &sets, 4), &expected);
    let eager = ArcEager::with_labels([], true);
    let expected = [
        OfState(0),
        OfState(3),
        OfState(4),
        OfState(6),
        OfContext(1),
        OfContext(2),
        OfContext(3),
        OfContext(4),
    ];
    check(&needed_parts(&eager, &sets, 5), &expected);
}

#[test]
fn what_cannot_be_merged_is_refused_and_searched_by_a_plain_beam() {
    let swap = ArcHybridSwap::with_labels(["a".into()], true);
    let templates = TemplateSet::parse("s0.w").expect("templates");
    let scorer = &mut RandomWeights::new(&templates, swap.n_actions(), 1, 100);
    let refused = |why: Result<(), String>, part: &str| {
        let why = why.expect_err(part);
        assert!(why.contains(part) && why.contains("use a plain beam"), "{why}");
    };
    refused(Method::Dp { width: 4 }.check(&swap, scorer), "cannot be merged");
    assert_eq!(all(&mut DpBeam::new(4), &swap, scorer, 5), all(&mut Beam::new(4), &swap, scorer, 5));
    let system = ArcHybrid::with_labels(["a".into()], true);
    for (text, part) in [("s9.w", "10 items"), ("a5", "6 actions")] {
        let templates = TemplateSet::parse(text).expect("templates");
        let scorer = &mut RandomWeights::new(&templates, system.n_actions(), 1, 100);
        refused(Method::Dp { width: 4 }.check(&system, scorer), part);
        assert_eq!(all(&mut DpBeam::new(4), &system, scorer, 5), all(&mut Beam::new(4), &system, scorer, 5));
    }
    let noise = &mut crate::decode::tests::Noise::new(&system, 1, 100);
    refused(Method::Dp { width: 4 }.check(&system, noise), "whole history");
    assert_eq!(all(&mut DpBeam::new(4), &system, noise, 5), all(&mut Beam::new(4), &system, noise, 5));
}

#[test]
fn merged_states_cover_many_derivations() {
    let templates = shipped("simplified").expect("a shipped set");
    let system = small_2n();
    let scorer = &mut RandomWeights::new(&templates, system.n_actions(), 4, 100);
    let mut dp = DpBeam::new(8);
    let mut plain = Beam::new(8);
    let (mut better, mut worse) = (0, 0);
    for n in 5..=12 {
        let mut score = |decoder: &mut dyn Decoder<BottomUp2n>| {
            let mut score = 0.0;
            decoder.decode(Input { system: &system, scorer, sentence: &sentence(n) }, &mut |found| {
                score = found.score;
                false
            });
            score
        };
        let (merged, plain) = (score(&mut dp), score(&mut plain));
        better += u32::from(merged > plain);
        worse += u32::from(merged < plain);
        let covered = dp.n_derivations().expect("states were merged");
        assert!(covered > 8.0, "{n} words: {covered}");
    }
    assert!(better > worse, "{better} {worse}");
}

/// Scratch memory of one sentence, or scorer, does not show in another.
#[test]
fn a_used_beam_is_as_good_as_a_new_one() {
    let system = small_2n();
    let mut used = DpBeam::new(6);
    for (i, name) in ["simplified", "zhang-clark", "simplified"].into_iter().enumerate() {
        let templates = shipped(name).expect("a shipped set");
        let scorer = &mut RandomWeights::new(&templates, system.n_actions(), i as u64, 50);
        for n in [5, 2, 7, 1, 4] {
            assert_eq!(all(&mut used, &system, scorer, n), all(&mut DpBeam::new(6), &system, scorer, n));
        }
    }
}

/// Updates compare the best derivation with the reference up to the same step, and there is none where the reference wins.
#[test]
fn violations_are_real() {
    let system = small_2n();
    let templates = shipped("simplified").expect("a shipped set");
    for seed in 0..20 {
        let scorer = &mut RandomWeights::new(&templates, system.n_actions(), seed, 100);
        let (exhaustive, _) = all(&mut Exhaustive, &system, scorer, 3);
        let best = exhaustive[0].1;
        let is_tie = exhaustive[1].1 == best;
        for update in [Update::Early, Update::MaxViolation] {
            for width in [1, 3, 1 << 10] {
                let mut dp = DpBeam::new(width);
                for (reference, score) in exhaustive.iter().step_by(7) {
                    let input = Input { system: &system, scorer, sentence: &sentence(3) };
                    let violation = dp.violation(input, Reference { actions: reference, update });
                    let is_best = *score == best;
                    match violation {
                        Some(Violation { predicted, reference: part }) => {
                            let is_late = part.len() == reference.len();
                            assert!(
                                !is_best || is_tie || !is_late || width < 10,
                                "nothing is better than the best"
                            );
                            assert!(is_late || update == Update::MaxViolation || width < 10);
                            assert!(reference.starts_with(&part) && predicted.len() == part.len());
                            assert_ne!(predicted, part);
                        }
                        None => assert!(width < 10 || is_best, "{score} of {best}"),
                    }
                }
            }
        }
    }
}

/// A sentence that would take too much memory is parsed by a plain beam, and the next is not.
#[test]
fn long_sentences_are_given_to_the_plain_beam() {
    let system = ArcHybrid::with_labels(["a".into(), "b".into()], true);
    let templates = TemplateSet::parse("s0.w s1.w b0.w").expect("templates");
    let mut scorer = RandomWeights::new(&templates, system.n_actions(), 3, 9);
    let (short, long) = (sentence(5), sentence(12));
    let mut scores = |decoder: &mut dyn Decoder<ArcHybrid>, sentence: &Sentence| {
        let mut scores = Vec::new();
        let input = Input { system: &system, scorer: &mut scorer, sentence };
        decoder.decode(input, &mut |found| {
            scores.push(found.score);
            false
        });
        scores
    };
    let (mut merged, mut plain) = (DpBeam::new(4), Beam::new(4));
    let of_short = scores(&mut merged, &short);
    assert!(merged.n_derivations().is_some());
    merged.max_bytes = merged.n_bytes() + 1;
    assert_eq!(scores(&mut merged, &long), scores(&mut plain, &long));
    assert_eq!((merged.n_bytes(), merged.n_derivations()), (0, None));
    assert_eq!(scores(&mut merged, &short), of_short);
    assert!(merged.n_derivations().is_some());
}
