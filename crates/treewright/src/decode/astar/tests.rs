//! Exact search against exhaustive search, for random scores and for learnt ones.

use std::ops::Range;
use std::sync::Arc;

use super::*;
use crate::decode::exhaustive::Exhaustive;
use crate::features::Vocabulary;
use crate::forest::{Kind, Place, View};
use crate::ids::LabelId;
use crate::laws;
use crate::rng::Rng;
use crate::score::perceptron::Perceptron;
use crate::score::{ItemScorer, Items, Learner, Learning, Role, Rows, SlotId, Views};
use crate::system::ActionSet;
use crate::systems::binary::Symbols;
use crate::systems::bottom_up_2n::BottomUp2n;

/// Random scores that are sums over places.
struct SumOfNoise {
    n_actions: usize,
    seed: u64,
    values: usize,
    is_separate: bool,
}

impl SumOfNoise {
    fn new(n_actions: usize, seed: u64, values: usize) -> Self {
        SumOfNoise { n_actions, seed, values, is_separate: true }
    }

    fn fill(&self, what: [usize; 4], row: &mut [i16]) {
        for (action, score) in row.iter_mut().enumerate().take(self.n_actions) {
            let mut hash = self.seed;
            for part in what.into_iter().chain([action]) {
                hash = (hash ^ part as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
            }
            *score = Rng::new(hash).below(self.values) as i16 - self.values as i16 / 2;
        }
    }

    fn item(&self, role: Role, label: Option<(Kind, LabelId)>, span: Range<usize>, row: &mut [i16]) {
        let label =
            label.map_or(0, |(kind, label)| 1 + label.index() * 2 + usize::from(kind == Kind::Temporary));
        self.fill([role as usize, label, span.start, span.end], row);
    }
}

impl Scorer for SumOfNoise {
    fn score(&mut self, queries: &[Views<'_>], rows: &mut Rows) {
        rows.reset_for(queries, self.n_actions);
        let mut part = vec![0; self.n_actions];
        for (row, &Views { forest, .. }, view) in Views::by_row(queries) {
            let mut sum = vec![0; self.n_actions];
            for (role, place) in [(Role::Top, Place::Deque(0)), (Role::Below, Place::Stack(0))] {
                let Some(node) = forest.peek(view, place).map(|node| forest.node(node)) else { continue };
                let label = node.label.map(|label| (node.kind, label));
                self.item(role, label, node.left.index()..node.right.index(), &mut part);
                rows::add(&mut sum, &part);
            }
            self.fill([9, view.next.index(), 0, 0], &mut part);
            rows::add(&mut sum, &part);
            rows.row_mut(row).iter_mut().zip(sum).for_each(|(score, sum)| *score = sum as f32);
        }
    }

    fn by_item(&mut self) -> Option<&mut dyn ItemScorer> {
        if self.is_separate { Some(self) } else { None }
    }
}

impl ItemScorer for SumOfNoise {
    fn of_spans(&mut self, _slot: SlotId, role: Role, items: Items<'_>, rows: &mut [i16]) -> bool {
        let Items { spans, labels } = items;
        let stride = rows.len() / (spans.len() * labels.len()).max(1);
        let items = spans.iter().flat_map(|span| labels.iter().map(move |&label| (span.clone(), label)));
        for ((span, label), row) in items.zip(rows.chunks_exact_mut(stride.max(1))) {
            self.item(role, label, span, row);
        }
        true
    }

    fn of_buffer(&mut self, _slot: SlotId, next: usize, row: &mut [i16]) -> bool {
        self.fill([9, next, 0, 0], row);
        true
    }
}

fn small() -> BottomUp2n {
    let symbols = Symbols::new(["A", "B"], ["A:"], ["ROOT", "A"]);
    BottomUp2n::new(symbols, [("A", "B"), ("A", "ROOT")])
}

/// All derivations that a decoder finds, best first.
fn all(
    decoder: &mut dyn Decoder<BottomUp2n>,
    scorer: &mut dyn Scorer,
    n: usize,
) -> (Vec<(Vec<ActionId>, f64)>, Guarantee) {
    let system = small();
    let mut parses = Vec::new();
    let guarantee =
        decoder.decode(Input { system: &system, scorer, sentence: &laws::sentence(n) }, &mut |found| {
            parses.push((found.actions(&system), found.score));
            true
        });
    (parses, guarantee)
}

const HEURISTICS: [Heuristic; 4] =
    [Heuristic::None, Heuristic::Projection, Heuristic::LessConstituent, Heuristic::Cascade];

#[test]
fn every_heuristic_finds_what_exhaustive_search_finds_and_in_its_order() {
    for (n, n_seeds) in [(1, 10), (2, 20), (3, 20), (4, 2)] {
        for (seed, values) in (0..n_seeds).flat_map(|seed| [(seed, 3), (seed, 1000)]) {
            let mut noise = SumOfNoise::new(small().n_actions(), seed, values);
            let (exhaustive, _) = all(&mut Exhaustive, &mut noise, n);
            let scores =
                |parses: &[(Vec<ActionId>, f64)]| parses.iter().map(|parse| parse.1).collect::<Vec<_>>();
            for (heuristic, beam) in HEURISTICS.into_iter().flat_map(|one| [(one, 1), (one, 4)]) {
                let settings = ExactSettings { heuristic, beam, ..ExactSettings::default() };
                let (exact, guarantee) = all(&mut AStar::new(settings), &mut noise, n);
                assert_eq!(guarantee, Guarantee::Exact);
                assert_eq!(exact[0].1, exhaustive[0].1, "{heuristic:?}, {n} words, seed {seed}");
                assert!(scores(&exact) == scores(&exhaustive), "{heuristic:?}, {n} words, seed {seed}");
                let distinct: FxHashSet<_> = exact.iter().map(|parse| &parse.0).collect();
                assert_eq!(distinct.len(), exact.len());
            }
        }
    }
}

/// A perceptron over the simplified templates that has learnt something at random.
fn learnt(system: &BottomUp2n, sentence: &Sentence, seed: u64) -> Perceptron {
    let templates = crate::features::shipped("simplified").expect("a shipped set");
    let vocabulary = Arc::new(Vocabulary::of([sentence].into_iter()));
    let mut learner = Perceptron::new(vocabulary, templates, system.n_actions());
    let slot = learner.open_one(sentence);
    let mut rng = Rng::new(seed);
    for _ in 0..40 {
        random_states(system, sentence, &mut rng, |forest, view| {
            let by = if rng_sign(view.next.index() as u64 ^ seed) { 1.0 } else { -1.0 };
            let action = ActionId::new((view.next.index() * 7 + forest.n_nodes()) % system.n_actions());
            learner.backward(slot, forest, view, &[(action, by)]);
        });
        learner.step();
    }
    learner.close(slot);
    learner
}

/// As it learns, and as it parses.
fn learnt_and_frozen(system: &BottomUp2n, sentence: &Sentence, seed: u64) -> [Box<dyn Scorer>; 2] {
    let learner = learnt(system, sentence, seed);
    let model = learner.freeze().expect("few weights");
    [Box::new(learner), model.scorer()]
}

fn rng_sign(seed: u64) -> bool {
    Rng::new(seed).below(2) == 0
}

/// Shows the states of a random derivation.
fn random_states(
    system: &BottomUp2n,
    sentence: &Sentence,
    rng: &mut Rng,
    mut see: impl FnMut(&Forest, &View),
) {
    let (mut forest, mut legal) = (Forest::new(), ActionSet::default());
    let mut state = system.start(&mut forest, sentence);
    while !system.is_final(&forest, &state) {
        see(&forest, &system.view(&state));
        system.legal(&forest, &state, &mut legal);
        let action = legal.iter().nth(rng.below(legal.len())).expect("a legal action");
        state = system.apply(&mut forest, &state, action);
    }
}

#[test]
fn what_items_add_sums_up_to_the_scores_of_states() {
    let (system, sentence) = (small(), laws::sentence(7));
    for mut scorer in learnt_and_frozen(&system, &sentence, 3) {
        assert!(scorer.by_item().is_some());
        let (mut rows, mut rng, mut n_scores) = (Rows::default(), Rng::new(5), 0);
        for _ in 0..20 {
            // Every derivation has a forest of its own.
            let slot = scorer.open_one(&sentence);
            random_states(&system, &sentence, &mut rng, |forest, view| {
                scorer.score(&[Views { slot, forest, views: &[*view] }], &mut rows);
                let n_columns = system.n_actions().next_multiple_of(16);
                let (mut sum, mut part) = (vec![0; n_columns], vec![0; n_columns]);
                let items = scorer.by_item().expect("a separable set");
                assert!(items.of_buffer(slot, view.next.index(), &mut sum));
                for (role, place) in [(Role::Top, Place::Deque(0)), (Role::Below, Place::Stack(0))] {
                    let Some(node) = forest.peek(view, place).map(|node| *forest.node(node)) else {
                        continue;
                    };
                    let span = node.left.index()..node.right.index();
                    let label = node.label.map(|label| (node.kind, label));
                    assert!(items.of_spans(
                        slot,
                        role,
                        Items { spans: &[span], labels: &[label] },
                        &mut part
                    ));
                    sum.iter_mut().zip(&part).for_each(|(sum, part)| *sum += part);
                }
                n_scores += sum.iter().filter(|score| **score != 0).count();
                assert!(rows.row(0).iter().zip(&sum).all(|(score, sum)| *score == f32::from(*sum)));
            });
            scorer.close(slot);
        }
        assert!(n_scores > 100, "something was learnt");
    }
}

/// Contexts that were seen before, or in another sentence, change nothing.
#[test]
fn many_spans_at_once_have_the_rows_that_each_has_alone() {
    let (system, sentence) = (small(), laws::sentence(9));
    let labels = [(Kind::Constituent, 0), (Kind::Constituent, 1), (Kind::Temporary, 2)]
        .map(|(kind, label)| Some((kind, LabelId::new(label))));
    let n_columns = system.n_actions().next_multiple_of(16);
    for mut scorer in learnt_and_frozen(&system, &sentence, 4) {
        for (n, role) in [(9, Role::Top), (9, Role::Below), (5, Role::Top), (9, Role::Top)] {
            let sentence = laws::sentence(n);
            let spans: Vec<Range<usize>> =
                (0..n).flat_map(|left| (left + 2..=n).map(move |right| left..right)).collect();
            let slot = scorer.open_one(&sentence);
            let items = scorer.by_item().expect("a separable set");
            let mut rows = vec![7; spans.len() * labels.len() * n_columns];
            assert!(items.of_spans(slot, role, Items { spans: &spans, labels: &labels }, &mut rows));
            assert!(rows.iter().any(|&score| score != 0), "something was learnt");
            let mut row = vec![7; n_columns];
            let wanted = spans.iter().flat_map(|span| labels.iter().map(move |&label| (span.clone(), label)));
            for ((span, label), found) in wanted.zip(rows.chunks_exact(n_columns)) {
                assert!(items.of_spans(slot, role, Items { spans: &[span], labels: &[label] }, &mut row));
                assert_eq!(found, row);
            }
            scorer.close(slot);
        }
    }
}

#[test]
fn learnt_scores_are_searched_exactly_too() {
    let system = small();
    for seed in 0..6 {
        let sentence = laws::sentence(4);
        let model = learnt(&system, &sentence, seed).freeze().expect("few weights");
        let mut scorer = model.scorer();
        let (exhaustive, _) = all(&mut Exhaustive, &mut *scorer, 4);
        for heuristic in HEURISTICS {
            let settings = ExactSettings { heuristic, beam: 1, ..ExactSettings::default() };
            let (exact, guarantee) = all(&mut AStar::new(settings), &mut *scorer, 4);
            assert_eq!(guarantee, Guarantee::Exact);
            assert_eq!(exact[0].1, exhaustive[0].1, "{heuristic:?}, seed {seed}");
        }
    }
}

/// A search that is stopped says how much better the best could be, and gives what the beam found.
#[test]
fn limits_leave_the_answer_of_the_beam_and_a_bound() {
    let mut n_bounded = 0;
    for seed in 0..10 {
        let mut noise = SumOfNoise::new(small().n_actions(), seed, 1000);
        let (best, _) = all(&mut Exhaustive, &mut noise, 4);
        let (beam, _) = all(&mut Beam::new(1), &mut noise, 4);
        let settings =
            ExactSettings { heuristic: Heuristic::None, beam: 1, max_items: 20, ..ExactSettings::default() };
        let (stopped, guarantee) = all(&mut AStar::new(settings), &mut noise, 4);
        assert_ne!(guarantee, Guarantee::Heuristic);
        if let Guarantee::Bounded { upper } = guarantee {
            n_bounded += 1;
            assert_eq!(stopped, beam);
            assert!(upper >= best[0].1);
        }
    }
    assert!(n_bounded > 5);
}

/// Bounds count against the limit too; what came up before it is never worse than the beam's answer.
#[test]
fn limits_hold_for_bounds_as_well() {
    let mut n_stopped = 0;
    for (seed, max_items) in (0..10).flat_map(|seed| [(seed, 1), (seed, 60), (seed, 120)]) {
        let mut noise = SumOfNoise::new(small().n_actions(), seed, 1000);
        let (best, _) = all(&mut Exhaustive, &mut noise, 4);
        let (beam, _) = all(&mut Beam::new(1), &mut noise, 4);
        let settings = ExactSettings { beam: 1, max_items, ..ExactSettings::default() };
        let (stopped, guarantee) = all(&mut AStar::new(settings), &mut noise, 4);
        assert!(stopped[0].1 >= beam[0].1);
        let distinct: FxHashSet<_> = stopped.iter().map(|parse| &parse.0).collect();
        assert_eq!(distinct.len(), stopped.len());
        match guarantee {
            Guarantee::Exact => assert_eq!(stopped[0].1, best[0].1),
            Guarantee::Bounded { upper } => assert!(upper >= best[0].1),
            Guarantee::Heuristic => panic!("a search that was stopped knows a bound"),
        }
        n_stopped += usize::from(guarantee != Guarantee::Exact);
    }
    assert!(n_stopped >= 10);
}

/// The work and memory that limits count follow from the sentence, not from those before it, and exceed the limits by
/// no more than one step.
#[test]
fn work_and_memory_are_limited_for_sentences_of_any_length() {
    let mut noise = SumOfNoise::new(small().n_actions(), 5, 1000);
    let settings = |max_items, max_bytes| ExactSettings { max_items, max_bytes, ..ExactSettings::default() };
    for (n, max_items, max_bytes) in [
        (12, 40, 1 << 30),
        (30, 500, 1 << 30),
        (30, 1 << 20, 200_000),
        (60, 5000, 1 << 30),
        (1200, 100, 1 << 20),
    ] {
        let (system, sentence) = (small(), laws::sentence(n));
        let mut fresh = AStar::new(settings(max_items, max_bytes));
        let mut trees = 0;
        let guarantee =
            fresh.decode(Input { system: &system, scorer: &mut noise, sentence: &sentence }, &mut |_| {
                trees += 1;
                false
            });
        assert_eq!(trees, 1);
        let Guarantee::Bounded { upper } = guarantee else { panic!("{n} words: {guarantee:?}") };
        let mut wide = 0.0;
        Beam::new(64).decode(
            Input { system: &system, scorer: &mut noise, sentence: &sentence },
            &mut |found| {
                wide = found.score;
                false
            },
        );
        assert!(upper >= wide, "{n} words: {upper} {wide}");
        let effort = fresh.effort();
        assert!(effort.bytes <= max_bytes as u64 + 100_000, "{n} words: {effort:?}");
        assert!(effort.work <= 2 * max_items as u64 + 1000, "{n} words: {effort:?}");
        // Memory that other sentences left does not count.
        let mut used = AStar::new(settings(max_items, max_bytes));
        all(&mut used, &mut noise, 3);
        assert_eq!(
            used.decode(Input { system: &system, scorer: &mut noise, sentence: &sentence }, &mut |_| false),
            guarantee
        );
        assert_eq!(used.effort(), effort);
    }
}

/// Shares are of all that the search kept, and that is everything if all is handed over.
#[test]
fn the_weight_of_all_derivations_is_known() {
    for (n, seed) in [(1, 1), (2, 2), (3, 3), (3, 4)] {
        let mut noise = SumOfNoise::new(small().n_actions(), seed, 1000);
        let (exhaustive, _) = all(&mut Exhaustive, &mut noise, n);
        let weighing = Weighing::new(exhaustive[0].1, n, false);
        let total: f64 = exhaustive.iter().map(|parse| weighing.weight(parse.1)).sum();
        for heuristic in HEURISTICS {
            let settings = ExactSettings { heuristic, open_rules: true, ..ExactSettings::default() };
            let mut search = AStar::new(settings);
            let (found, _) = all(&mut search, &mut noise, n);
            assert_eq!(found.len(), exhaustive.len());
            let kept = search.kept();
            assert!(
                kept.is_all && kept.total.is_some_and(|kept| (kept / total - 1.0).abs() < 1e-9),
                "{kept:?}"
            );
            // A few of them tell nothing of how many there are, but the beam and what is above it were kept.
            let mut n_wanted = 2;
            let system = small();
            let input = Input { system: &system, scorer: &mut noise, sentence: &laws::sentence(n) };
            search.decode(input, &mut |_| {
                n_wanted -= 1;
                n_wanted > 0
            });
            let kept = search.kept();
            let some = kept.total.expect("a weight");
            assert!(!kept.is_all && some >= 1.0 && some <= total * (1.0 + 1e-9), "{kept:?}");
        }
    }
}

#[test]
fn other_systems_and_features_are_refused() {
    let mut scorer = SumOfNoise::new(small().n_actions(), 1, 9);
    assert_eq!(AStar::check(&small(), &mut scorer), Ok(()));
    let swap = crate::systems::arc_standard_swap::ArcStandardSwap::with_labels(["a".into()], true);
    assert!(AStar::check(&swap, &mut scorer).is_err_and(|why| why.contains("bottom-up-2n")));
    scorer.is_separate = false;
    let baseline = crate::features::shipped("baseline").expect("a shipped set");
    let learner = Perceptron::new(Arc::new(Vocabulary::default()), baseline, small().n_actions());
    let mut frozen = learner.freeze().expect("no weights").scorer();
    let others: [&mut dyn Scorer; 3] = [&mut scorer, &mut { learner }, &mut *frozen];
    for other in others {
        assert!(AStar::check(&small(), other).is_err_and(|why| why.contains("simplified")));
    }
}
