//! Beam search over the forest: states share their pasts, so an item costs a few words.
//!
//! Derivations of different length stay comparable through IDLE: a system that has it offers it in final states, and
//! it is scored like any action (Zhu et al. 2013; paper 004, section 2.4). In a system without it a finished item keeps
//! its score until all are finished. Fixed-length systems need neither.

use std::ops::Range;

use super::{Decoder, Found, Guarantee, Input, Kept, Reference, Violation};
use crate::config::Update;
use crate::forest::{Forest, View};
use crate::ids::ActionId;
use crate::score::{Rows, Scorer, SlotId, Views};
use crate::sentence::Sentence;
use crate::system::{ActionSet, TransitionSystem};

/// Items of past levels that a parse keeps.
const MAX_PAST: usize = if cfg!(test) { 1 << 7 } else { 1 << 12 };
/// If the arena of a sentence takes more bytes, only the best item of each level is kept from then on.
const MAX_FOREST: usize = 1 << 30;

/// A state in the beam.
#[derive(Clone, Copy, Debug)]
struct Item<T> {
    /// The configuration.
    state: T,
    /// The sum of scores up to here.
    score: f64,
    /// The item it came from, in the list of all items; itself for the first.
    parent: u32,
    /// What led here; nothing for the first item and for one that was carried over.
    action: Option<ActionId>,
    /// The largest score gap to the best of its level that it, or an item on the way to it, had.
    score_gap: f64,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    score: f64,
    parent: u32,
    action: Option<ActionId>,
}

/// Beam search, level by level, with all its items.
#[derive(Clone, Debug)]
pub struct Beam<S: TransitionSystem> {
    /// How many items are kept.
    width: usize,
    /// Items with a larger score gap to the best of their level are pruned: such items rarely win, but cost as much as any
    /// other.
    max_gap: f64,
    /// Bytes of the arena up to which it is a beam.
    max_forest: usize,
    /// The arena of the sentence.
    forest: Forest,
    /// The items of all levels; a level is a contiguous range, best first.
    items: Vec<Item<S::State>>,
    /// Where the newest level begins.
    level: usize,
    /// The levels with as many successors as the beam is wide, or more.
    full: Vec<Range<usize>>,
    /// True if one of these is known to have had more.
    is_narrow: bool,
    /// True if anything was pruned for its score gap.
    has_gap: bool,
    /// True if all derivations of the last sentence were kept, where more than the best was asked for.
    is_all: bool,
    legal: ActionSet,
    rows: Rows,
    views: Vec<View>,
    candidates: Vec<Candidate>,
}

impl<S: TransitionSystem> Beam<S> {
    /// A beam without pruning.
    pub fn new(width: usize) -> Self {
        Beam {
            width: width.max(1),
            max_gap: f64::INFINITY,
            max_forest: MAX_FOREST,
            forest: Forest::new(),
            items: Vec::new(),
            level: 0,
            full: Vec::new(),
            is_narrow: false,
            has_gap: false,
            is_all: false,
            legal: ActionSet::default(),
            rows: Rows::default(),
            views: Vec::new(),
            candidates: Vec::new(),
        }
    }

    /// The same, which prunes items with a larger score gap.
    pub fn with_max_gap(self, max_gap: f64) -> Self {
        Beam { max_gap, ..self }
    }

    /// Begins a sentence.
    fn start(&mut self, system: &S, sentence: &Sentence) {
        let state = system.start(&mut self.forest, sentence);
        self.items.clear();
        self.items.push(Item { state, score: 0.0, parent: 0, action: None, score_gap: 0.0 });
        self.level = 0;
        self.full.clear();
        (self.has_gap, self.is_all, self.is_narrow) = (false, false, false);
    }

    /// The newest level, best first.
    fn beam(&self) -> &[Item<S::State>] {
        &self.items[self.level..]
    }

    /// Are all items of the newest level final?
    fn is_done(&self, system: &S) -> bool {
        self.beam().iter().all(|item| system.is_final(&self.forest, &item.state))
    }

    /// Makes the next level: the best successors. Ties go to the better parent, then to the smaller action.
    fn step(&mut self, system: &S, scorer: &mut dyn Scorer, slot: SlotId) {
        let width = if self.forest.n_bytes() > self.max_forest { 1 } else { self.width };
        let level = self.level..self.items.len();
        self.views.clear();
        self.views.extend(self.items[level.clone()].iter().map(|item| system.view(&item.state)));
        scorer.score(&[Views { slot, forest: &self.forest, views: &self.views }], &mut self.rows);
        self.candidates.clear();
        let is_normalised = scorer.is_log_linear();
        for (i, parent) in level.clone().enumerate() {
            let item = &self.items[parent];
            let parent = parent as u32;
            system.legal(&self.forest, &item.state, &mut self.legal);
            if self.legal.is_empty() {
                offer(&mut self.candidates, width, Candidate { score: item.score, parent, action: None });
            }
            let before =
                if is_normalised { item.score - self.rows.log_total(i, &self.legal) } else { item.score };
            for block in self.rows.blocks(i, &self.legal) {
                for (action, score) in block.higher(min_score(&self.candidates, width, before)) {
                    let (score, action) = (before + f64::from(score), Some(ActionId::new(action)));
                    offer(&mut self.candidates, width, Candidate { score, parent, action });
                }
            }
        }
        self.level = self.items.len();
        if self.candidates.is_empty() {
            let candidate = self.without_scores(system, level.start);
            self.candidates.push(candidate);
        }
        if self.candidates.len() == width && !self.is_narrow {
            self.is_narrow = width < self.width;
            self.full.push(level);
        }
        let best = self.candidates.first().map_or(0.0, |best| best.score);
        for &Candidate { score, parent, action } in &self.candidates {
            if best - score > self.max_gap {
                self.has_gap = true;
                break;
            }
            let Item { state: before, score_gap, .. } = self.items[parent as usize];
            let state = match action {
                Some(action) => system.apply(&mut self.forest, &before, action),
                None => before,
            };
            self.items.push(Item { state, score, parent, action, score_gap: score_gap.max(best - score) });
        }
    }

    /// The successor of an item where no action of any has a score that counts: broken weights give infinite ones, and none.
    #[cold]
    fn without_scores(&mut self, system: &S, parent: usize) -> Candidate {
        let Item { state, score, .. } = self.items[parent];
        system.legal(&self.forest, &state, &mut self.legal);
        Candidate { score, parent: parent as u32, action: self.rows.best(0, &self.legal) }
    }

    /// True if the beam was too narrow for all successors of a level.
    fn was_too_narrow(&self, system: &S) -> bool {
        let mut legal = ActionSet::default();
        let mut n_successors = |item: &Item<S::State>| {
            system.legal(&self.forest, &item.state, &mut legal);
            legal.len().max(1)
        };
        let mut exceeds = |level: &Range<usize>| {
            self.items[level.clone()].iter().map(&mut n_successors).sum::<usize>() > self.width
        };
        self.is_narrow || self.full.iter().any(&mut exceeds)
    }

    /// Searches from the start, or once more; what was built before stays in the forest.
    fn search(&mut self, system: &S, scorer: &mut dyn Scorer, slot: SlotId, start: Item<S::State>) {
        self.items.clear();
        self.items.push(start);
        self.level = 0;
        self.full.clear();
        (self.has_gap, self.is_narrow) = (false, false);
        while !self.is_done(system) {
            self.step(system, scorer, slot);
            if self.level > MAX_PAST {
                self.forget_past(system);
            }
        }
    }

    /// Hands over what is in the beam, but for the first derivation and those with a higher score.
    fn hand_over(
        &self,
        system: &S,
        (first, most): (&[ActionId], f64),
        found: &mut dyn FnMut(Found<'_, S>) -> bool,
    ) {
        for at in self.level..self.items.len() {
            let Item { state, score, score_gap, .. } = self.items[at];
            if score > most || self.actions(system, at) == first {
                continue;
            }
            if !found(Found { forest: &self.forest, state, score, score_gap }) {
                break;
            }
        }
    }

    /// Forgets the items of all levels but the newest, whose parents are then unknown.
    fn forget_past(&mut self, system: &S) {
        self.is_narrow = self.was_too_narrow(system);
        self.full.clear();
        self.items.drain(..self.level);
        self.level = 0;
    }

    /// The actions that led to an item.
    fn actions(&self, system: &S, item: usize) -> Vec<ActionId> {
        self.forest.history(system.view(&self.items[item].state).past)
    }

    /// The action of a derivation at a step: its own, then IDLE if the system has it, then nothing.
    fn reference_action(
        &mut self,
        system: &S,
        state: &S::State,
        reference: &[ActionId],
        step: usize,
    ) -> Option<ActionId> {
        if step < reference.len() {
            return Some(reference[step]);
        }
        system.legal(&self.forest, state, &mut self.legal);
        self.legal.first()
    }
}

/// What an action's score must exceed, at least, for an item of score `before` to have a successor that is kept.
#[inline]
fn min_score(candidates: &[Candidate], width: usize, before: f64) -> f32 {
    let worst = candidates.get(width - 1).map_or(f64::NEG_INFINITY, |worst| worst.score);
    // Half as precise, so a little lower.
    ((worst - before) as f32).next_down()
}

/// Keeps the `width` best candidates in order. Candidates come in the order of parent and action, and ties go to the earlier.
#[inline]
fn offer(candidates: &mut Vec<Candidate>, width: usize, candidate: Candidate) {
    if candidates.len() == width {
        if candidates[width - 1].score >= candidate.score {
            return;
        }
        candidates.pop();
    }
    let mut at = candidates.len();
    while at > 0 && candidates[at - 1].score < candidate.score {
        at -= 1;
    }
    candidates.insert(at, candidate);
}

impl<S: TransitionSystem> Decoder<S> for Beam<S> {
    fn decode(&mut self, input: Input<'_, S>, found: &mut dyn FnMut(Found<'_, S>) -> bool) -> Guarantee {
        let Input { system, scorer, sentence } = input;
        if !sentence.is_empty() {
            let slot = scorer.open_one(sentence);
            self.start(system, sentence);
            let start = self.items[0];
            self.search(system, scorer, slot, start);
            let Item { state, score, score_gap, .. } = self.items[self.level];
            let first = Found { forest: &self.forest, state, score, score_gap };
            if found(first) {
                let first = self.actions(system, self.level);
                if self.has_gap {
                    // Pruning is for the best derivation, which stays the same; alternatives come from the whole beam.
                    let max_gap = std::mem::replace(&mut self.max_gap, f64::INFINITY);
                    self.search(system, scorer, slot, start);
                    self.max_gap = max_gap;
                }
                self.is_all = !self.was_too_narrow(system);
                self.hand_over(system, (&first, score), found);
            }
            scorer.close(slot);
            self.forest.give_back();
        }
        Guarantee::Heuristic
    }

    fn kept(&self) -> Kept {
        Kept { is_all: self.is_all, total: None }
    }

    /// Early update: up to where the reference fell out of the beam, or to the end if it came in second. Max-violation: up
    /// to where the best item was furthest ahead of it.
    fn violation(&mut self, input: Input<'_, S>, reference: Reference<'_>) -> Option<Violation> {
        let Reference { actions: reference, update } = reference;
        let Input { system, scorer, sentence } = input;
        let slot = scorer.open_one(sentence);
        self.start(system, sentence);
        let mut rows = Rows::default();
        let mut state = self.items[0].state;
        let mut padded = Vec::with_capacity(reference.len());
        // The item that is the reference, while it is in the beam.
        let mut item = Some(0);
        let mut score = 0.0;
        // Where the best item was furthest ahead: that item, the steps there, and by how much.
        let mut worst: Option<(usize, usize, f64)> = None;
        while !(self.is_done(system) && system.is_final(&self.forest, &state)) {
            let action = self.reference_action(system, &state, reference, padded.len());
            if let Some(action) = action {
                let view = system.view(&state);
                scorer.score(&[Views { slot, forest: &self.forest, views: &[view] }], &mut rows);
                score += f64::from(rows.row(0)[action.index()]);
            }
            self.step(system, scorer, slot);
            item = item.and_then(|parent| {
                let follows = |item: &Item<S::State>| item.parent as usize == parent && item.action == action;
                self.beam().iter().position(follows).map(|i| self.level + i)
            });
            if let Some(action) = action {
                padded.push(action);
                state = match item {
                    Some(item) => self.items[item].state,
                    None => system.apply(&mut self.forest, &state, action),
                };
            }
            let best = self.level;
            let ahead = self.items[best].score - score;
            let is_worse = worst.is_none_or(|(_, _, most)| ahead > most);
            match update {
                Update::Early if item.is_none() => {
                    worst = Some((best, padded.len(), ahead));
                    break;
                }
                Update::Early => worst = (item != Some(best)).then_some((best, padded.len(), ahead)),
                _ if item != Some(best) && is_worse => worst = Some((best, padded.len(), ahead)),
                _ => {}
            }
        }
        scorer.close(slot);
        let (best, steps, _) = worst?;
        padded.truncate(steps);
        Some(Violation { predicted: self.actions(system, best), reference: padded })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::tests::Noise;
    use crate::laws;
    use crate::systems::arc_hybrid_swap::ArcHybridSwap;

    /// Scores are less precise than their sums: none may be passed over that would be kept.
    #[test]
    fn what_would_be_kept_is_higher_than_the_least() {
        let mut rng = crate::rng::Rng::new(2);
        let mut number = |most: usize| (rng.below(most) as f64 - most as f64 / 2.0) / 3.0;
        for _ in 0..10_000 {
            let (worst, before, score) = (number(1 << 20), number(1 << 20), number(1 << 8));
            let candidates = [Candidate { score: worst, parent: 0, action: None }];
            let least = min_score(&candidates, 1, before);
            // Just as much as it takes, and something else.
            for score in [(worst - before) as f32, score as f32] {
                assert!(score > least || before + f64::from(score) <= worst, "{worst} {before} {score}");
            }
        }
        assert_eq!(min_score(&[], 1, 5.0), f32::NEG_INFINITY);
    }

    /// A scorer that gives every action one score.
    struct Constant(usize, f32);

    impl Scorer for Constant {
        fn score(&mut self, queries: &[Views<'_>], rows: &mut Rows) {
            rows.reset_for(queries, self.0);
            let n_rows = Views::by_row(queries).count();
            (0..n_rows).for_each(|row| rows.row_mut(row).fill(self.1));
        }
    }

    #[test]
    fn scores_that_are_no_numbers_give_a_tree() {
        let system = ArcHybridSwap::with_labels(["a".into(), "b".into()], true);
        let sentence = laws::sentence(6);
        for score in [f32::NAN, f32::NEG_INFINITY, f32::INFINITY, f32::MAX, f32::MIN] {
            for max_gap in [0.0, f64::INFINITY] {
                let scorer = &mut Constant(system.n_actions(), score);
                let mut n_found = 0;
                let input = Input { system: &system, scorer, sentence: &sentence };
                Beam::new(4).with_max_gap(max_gap).decode(input, &mut |found| {
                    n_found += usize::from(system.is_final(found.forest, &found.state));
                    true
                });
                assert!(n_found > 0, "scores of {score}");
            }
        }
    }

    /// Items that a parse forgets on the way change nothing; if its arena grows too large, the best item goes on
    /// alone.
    #[test]
    fn long_sentences_take_less_memory() {
        let system = ArcHybridSwap::with_labels(["a".into(), "b".into()], true);
        let sentence = laws::sentence(90);
        let parse = |beam: &mut Beam<_>| {
            let mut scorer = Noise::new(&system, 5, 1000);
            let mut scores = Vec::new();
            let input = Input { system: &system, scorer: &mut scorer, sentence: &sentence };
            beam.decode(input, &mut |found| {
                scores.push((found.score, system.view(&found.state).past));
                true
            });
            scores
        };
        let mut kept = Beam::new(8);
        let mut scorer = Noise::new(&system, 5, 1000);
        let slot = scorer.open_one(&sentence);
        kept.start(&system, &sentence);
        while !kept.is_done(&system) {
            kept.step(&system, &mut scorer, slot);
        }
        let mut beam = Beam::new(8);
        let whole = parse(&mut beam);
        assert!(beam.items.len() < 2 * MAX_PAST && kept.items.len() > 8 * MAX_PAST);
        let expected: Vec<_> =
            kept.beam().iter().map(|item| (item.score, system.view(&item.state).past)).collect();
        assert_eq!(whole, expected);
        let bytes = beam.forest.n_bytes();
        let mut narrowed = Beam { max_forest: bytes / 4, ..Beam::new(8) };
        assert!(parse(&mut narrowed).len() == 1 && narrowed.forest.n_bytes() < bytes / 2);
    }

    /// Pruning drops items by their score gaps, and these are what they are said to be.
    #[test]
    fn items_with_a_large_score_gap_are_pruned() {
        let system = ArcHybridSwap::with_labels(["a".into(), "b".into()], true);
        let sentence = laws::sentence(6);
        let mut sizes = Vec::new();
        for max_gap in [0.0, 200.0, 800.0, f64::INFINITY] {
            let mut scorer = Noise::new(&system, 5, 1000);
            let mut beam = Beam::new(8).with_max_gap(max_gap);
            let slot = scorer.open_one(&sentence);
            beam.start(&system, &sentence);
            let mut best_of_levels = vec![0.0];
            while !beam.is_done(&system) {
                beam.step(&system, &mut scorer, slot);
                best_of_levels.push(beam.beam()[0].score);
                for i in beam.level..beam.items.len() {
                    let mut gap = 0.0f64;
                    let mut at = i;
                    for best in best_of_levels[1..].iter().rev() {
                        gap = gap.max(best - beam.items[at].score);
                        at = beam.items[at].parent as usize;
                    }
                    assert_eq!(beam.items[i].score_gap, gap);
                    assert!(gap <= max_gap);
                }
            }
            sizes.push(beam.items.len());
        }
        assert!(sizes.is_sorted_by(|a, b| a < b), "a smaller gap leaves fewer: {sizes:?}");
    }
}
