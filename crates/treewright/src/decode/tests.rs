//! Law 7 for every system: beam 1 is greedy, and an unpruned beam finds what exhaustive search finds; so does a beam of
//! merged states, where states can be merged.

use super::exhaustive::Exhaustive;
use super::{Beam, Decoder, DpBeam, Greedy, Guarantee, Input, Weighing, dp_beam};
use crate::features::shipped;
use crate::laws;
use crate::registry::{Registered, SystemTag, SystemVisitor};
use crate::score::{Rows, Scorer, Views};
use crate::sentence::Sentence;
use crate::system::{ActionSet, SystemOptions, TransitionSystem};
use crate::systems::arc_hybrid_swap::ArcHybridSwap;
use crate::tree::{DependencyTree, ParserTree, Preparation, Preparer, Tree, TreeKind};
use crate::treebank::{self, Format, InputFormat, ReadOptions};

/// Scores that depend on the whole visible configuration and the action, and on nothing else.
pub(super) struct Noise {
    n_actions: usize,
    seed: u64,
    /// Scores are drawn from this many values: few give ties.
    values: u64,
}

impl Noise {
    pub(super) fn new<S: TransitionSystem>(system: &S, seed: u64, values: u64) -> Self {
        Noise { n_actions: system.n_actions(), seed, values }
    }
}

impl Scorer for Noise {
    fn score(&mut self, queries: &[Views<'_>], rows: &mut Rows) {
        rows.reset_for(queries, self.n_actions);
        for (row, query, view) in Views::by_row(queries) {
            let mut hash = self.seed;
            for part in laws::key(query.forest, view) {
                hash = (hash ^ u64::from(part)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
            }
            for (action, score) in rows.row_mut(row).iter_mut().enumerate() {
                let mut rng = crate::rng::Rng::new(hash ^ action as u64);
                *score = rng.below(self.values as usize) as f32 - self.values as f32 / 2.0;
            }
        }
    }
}

/// Scores as broken weights give them: some or all are infinite or no numbers.
struct Broken {
    noise: Noise,
    scores: &'static [f32],
    is_log_linear: bool,
}

impl Scorer for Broken {
    fn score(&mut self, queries: &[Views<'_>], rows: &mut Rows) {
        self.noise.score(queries, rows);
        for (row, ..) in Views::by_row(queries) {
            for score in rows.row_mut(row) {
                *score = self.scores[score.abs() as usize % self.scores.len()];
            }
        }
    }

    fn is_log_linear(&self) -> bool {
        self.is_log_linear
    }
}

/// All trees that a decoder finds, with their scores.
fn all<S: TransitionSystem>(
    decoder: &mut dyn Decoder<S>,
    system: &S,
    scorer: &mut Noise,
    sentence: &Sentence,
) -> (Vec<(S::Tree, f64)>, Guarantee) {
    let mut parses = Vec::new();
    let guarantee = decoder.decode(Input { system, scorer, sentence }, &mut |found| {
        parses.push((found.tree(system), found.score));
        true
    });
    (parses, guarantee)
}

/// A beam knows whether it kept every derivation, and pruning for the best one takes no others away.
#[track_caller]
fn check_kept<S: TransitionSystem>(system: &S, noise: &mut Noise, (n, n_all): (usize, usize)) {
    let sentence = laws::sentence(n);
    for width in [2, 4, n_all.max(2), 1 << 20] {
        let mut beam = Beam::new(width);
        let (whole, _) = all(&mut beam, system, noise, &sentence);
        assert!(!beam.kept().is_all || whole.len() == n_all, "{} of {n_all}", whole.len());
        assert!(beam.kept().is_all || width < 1 << 20);
        for max_gap in [0.0, 1.0, 300.0] {
            let mut pruned = Beam::new(width).with_max_gap(max_gap);
            let input = Input { system, scorer: &mut *noise, sentence: &sentence };
            let best = pruned.best_tree(input).expect("a tree");
            let (several, _) = all(&mut pruned, system, noise, &sentence);
            assert!(several[0].0 == best, "the first is the one of a search for one");
            assert!(several.windows(2).all(|pair| pair[0].1 >= pair[1].1), "best first");
            let n_others = whole.iter().filter(|parse| parse.1 < several[0].1).count();
            assert!(several.len() > n_others, "all others of the beam that are not better");
        }
    }
}

#[test]
fn weights_beside_the_best_are_ratios_of_probabilities() {
    let weighing = Weighing::new(-2.0, 7, true);
    assert_eq!(weighing.weight(-2.0), 1.0);
    assert!((weighing.weight(-3.0) - (-1f64).exp()).abs() < 1e-12);
    // A linear model's unit is a tenth of the best score per word.
    let weighing = Weighing::new(200.0, 2, false);
    assert!((weighing.weight(190.0) - (-1f64).exp()).abs() < 1e-12);
    assert_eq!(Weighing::new(0.0, 2, false).weight(0.0), 1.0);
}

#[track_caller]
fn check<S: TransitionSystem>(system: &S, n: usize) {
    let sentence = laws::sentence(n);
    for (seed, values) in (0..4).flat_map(|seed| [(seed, 3), (seed, 1000)]) {
        let noise = &mut Noise::new(system, seed, values);
        let (greedy, _) = all(&mut Greedy::default(), system, noise, &sentence);
        let tree = Greedy::default().best_tree(Input { system, scorer: noise, sentence: &sentence });
        assert!(tree.as_ref() == Some(&greedy[0].0), "a step without a choice needs no score");
        let (one, _) = all(&mut Beam::new(1), system, noise, &sentence);
        assert_eq!(greedy, one, "beam 1 is greedy");
        let mut has_idle = false;
        Beam::new(1).decode(Input { system, scorer: noise, sentence: &sentence }, &mut |found| {
            let mut legal = ActionSet::default();
            system.legal(found.forest, &found.state, &mut legal);
            has_idle = !legal.is_empty();
            false
        });
        let (narrow, guarantee) = all(&mut Beam::new(4), system, noise, &sentence);
        assert_eq!(guarantee, Guarantee::Heuristic);
        let (unpruned, _) = all(&mut Beam::new(1 << 20), system, noise, &sentence);
        let (exhaustive, guarantee) = all(&mut Exhaustive, system, noise, &sentence);
        assert_eq!(guarantee, Guarantee::Exact);
        assert_eq!(unpruned.len(), exhaustive.len(), "an unpruned beam has every derivation");
        check_kept(system, noise, (n, exhaustive.len()));
        assert!(unpruned.windows(2).all(|pair| pair[0].1 >= pair[1].1), "best first");
        let scores = |parses: &[(S::Tree, f64)]| parses.iter().map(|parse| parse.1).collect::<Vec<_>>();
        assert_eq!(scores(&unpruned), scores(&exhaustive), "an unpruned beam is exact");
        // These scores depend on everything, so nothing is merged.
        assert_eq!(all(&mut DpBeam::new(4), system, noise, &sentence).0, narrow);
        // Where derivations are padded with IDLE, a narrower beam may be done earlier and pad less.
        assert!(has_idle || narrow[0].1 <= unpruned[0].1);
    }
}

/// A system for small trees.
fn small<S: Registered>() -> S {
    let trees: Vec<(Tree, Sentence)> = match S::TAG.info().kind {
        TreeKind::Dependencies => {
            let mut tree = DependencyTree::from_heads([None, Some(0), Some(1)]);
            tree.arcs
                .iter_mut()
                .zip(["root", "a", "b"])
                .for_each(|(arc, relation)| arc.label = relation.into());
            vec![(tree.into(), laws::sentence(3))]
        }
        TreeKind::Constituents => {
            let text = b"(ROOT (A (T w0) (T w1)))\n(ROOT (A (T w0)))\n(ROOT (A (A (T w0) (T w1)) (T w2)))\n";
            let options = ReadOptions { format: InputFormat::Given(Format::Ptb), ..ReadOptions::default() };
            let opened = treebank::open(&text[..], &options).expect("a format");
            let entries = opened.reader.map(|entry| entry.expect("a tree"));
            entries.map(|entry| (entry.tree.expect("a tree"), entry.sentence)).collect()
        }
    };
    let preparer = Preparer::new(&Preparation::default(), S::UNARIES).expect("settings");
    let prepare = |(tree, sentence): &(Tree, Sentence)| {
        S::Tree::prepare(tree, sentence, &preparer).expect("a tree of the kind")
    };
    let trees: Vec<S::Tree> = trees.iter().map(prepare).collect();
    S::from_trees(trees.iter(), &SystemOptions::default())
}

/// Checks a system for small trees.
struct Check;

impl SystemVisitor for Check {
    type Output = ();

    fn visit<S: Registered>(self) {
        let system = small::<S>();
        for n in 1..=if S::TAG.info().kind == TreeKind::Dependencies { 3 } else { 2 } {
            check(&system, n);
            if system.mergeable().is_some() {
                let features = shipped(S::INFO.features).expect("the system's own features");
                dp_beam::tests::check(&system, features.text(), n);
            }
        }
    }
}

#[test]
fn every_system_obeys_the_decoder_laws() {
    for tag in SystemTag::ALL {
        tag.visit(Check);
    }
}

/// Checks that a system's sentences get trees whatever the scores are.
struct CheckBroken;

impl SystemVisitor for CheckBroken {
    type Output = ();

    fn visit<S: Registered>(self) {
        const BROKEN: [&[f32]; 6] = [
            &[f32::NAN],
            &[f32::NEG_INFINITY],
            &[f32::INFINITY],
            &[f32::NAN, f32::NEG_INFINITY],
            &[f32::NEG_INFINITY, f32::INFINITY],
            &[1.0, f32::NAN, f32::NEG_INFINITY, -1.0],
        ];
        let system = small::<S>();
        let cases = BROKEN.into_iter().flat_map(|scores| [(scores, false), (scores, true)]);
        for (seed, (scores, is_log_linear)) in
            (0..3).flat_map(|seed| cases.clone().map(move |case| (seed, case)))
        {
            let mut scorer = Broken { noise: Noise::new(&system, seed, 1000), scores, is_log_linear };
            let sentence = laws::sentence(3);
            let decoders: [&mut dyn Decoder<S>; 4] = [
                &mut Greedy::default(),
                &mut Beam::new(1),
                &mut Beam::new(4),
                &mut Beam::new(4).with_max_gap(1.0),
            ];
            for decoder in decoders {
                let mut n_found = 0;
                decoder.decode(
                    Input { system: &system, scorer: &mut scorer, sentence: &sentence },
                    &mut |found| {
                        found.tree(&system);
                        n_found += 1;
                        true
                    },
                );
                assert!(n_found > 0, "{:?}, {scores:?}", S::TAG);
                let input = Input { system: &system, scorer: &mut scorer, sentence: &sentence };
                assert!(decoder.best_tree(input).is_some());
            }
            if system.mergeable().is_some() {
                let features = shipped(S::INFO.features).expect("the system's own features");
                dp_beam::tests::check_broken(&system, features.text(), scores);
            }
        }
    }
}

#[test]
fn a_sentence_with_words_gets_a_tree_whatever_the_scores_are() {
    for tag in SystemTag::ALL {
        tag.visit(CheckBroken);
    }
}

#[test]
fn a_sentence_without_words_has_no_parse() {
    let system = ArcHybridSwap::with_labels(["a".into()], true);
    let mut noise = Noise::new(&system, 1, 9);
    let decoders: [&mut dyn Decoder<ArcHybridSwap>; 3] =
        [&mut Greedy::default(), &mut Beam::new(4), &mut Exhaustive];
    for decoder in decoders {
        assert!(all(decoder, &system, &mut noise, &Sentence::default()).0.is_empty());
        assert!(
            decoder
                .best_tree(Input { system: &system, scorer: &mut noise, sentence: &Sentence::default() })
                .is_none()
        );
    }
}

#[test]
fn scratch_memory_leaves_no_trace() {
    let system = ArcHybridSwap::with_labels(["a".into(), "b".into()], true);
    let mut noise = Noise::new(&system, 3, 50);
    let mut beam = Beam::new(3);
    for n in [5, 2, 9, 1, 6] {
        let sentence = laws::sentence(n);
        let fresh = all(&mut Beam::new(3), &system, &mut noise, &sentence);
        assert_eq!(all(&mut beam, &system, &mut noise, &sentence), fresh);
    }
}

#[test]
fn ties_go_to_the_smaller_action() {
    let mut rows = Rows::default();
    rows.reset(1, 4);
    rows.row_mut(0).copy_from_slice(&[1.0, 5.0, 5.0, 0.0]);
    let mut legal = ActionSet::new(4);
    legal.insert_range(0, 4);
    assert_eq!(rows.best(0, &legal).map(crate::ids::ActionId::index), Some(1));
}
