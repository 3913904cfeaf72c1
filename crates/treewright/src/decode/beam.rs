//! Beam search over the forest: states share their pasts, so an item costs a few words.
//!
//! Derivations of different length stay comparable through IDLE: a system that has it offers it in final states, and
//! it is scored like any action (Zhu et al. 2013; paper 004, section 2.4). In a system without it a finished item keeps
//! its score until all are finished. Fixed-length systems need neither.

use super::{Decoder, Parse};
use crate::forest::{Forest, View};
use crate::ids::ActionId;
use crate::score::{Rows, Scorer};
use crate::sentence::Sentence;
use crate::system::{ActionSet, TransitionSystem};

/// A state in the beam.
#[derive(Clone, Copy, Debug)]
pub struct Item<T> {
    /// The configuration.
    pub state: T,
    /// The sum of scores up to here.
    pub score: f64,
    /// The item it came from, in the list of all items; itself for the first.
    pub parent: u32,
    /// What led here; nothing for the first item and for one that was carried over.
    pub action: Option<ActionId>,
    /// How far it, or an item on the way to it, was behind the best of its level at most.
    pub lag: f64,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    score: f64,
    parent: u32,
    action: Option<ActionId>,
}

/// One search, level by level, with all its items. Also what global training looks at.
#[derive(Clone, Debug)]
pub struct BeamSearch<S: TransitionSystem> {
    /// The arena of the sentence.
    pub forest: Forest,
    /// The items of all levels; a level is a contiguous range, best first.
    pub items: Vec<Item<S::State>>,
    /// Where the newest level begins.
    pub level: usize,
    legal: ActionSet,
    rows: Rows,
    views: Vec<View>,
    candidates: Vec<Candidate>,
}

impl<S: TransitionSystem> Default for BeamSearch<S> {
    fn default() -> Self {
        BeamSearch {
            forest: Forest::new(),
            items: Vec::new(),
            level: 0,
            legal: ActionSet::default(),
            rows: Rows::default(),
            views: Vec::new(),
            candidates: Vec::new(),
        }
    }
}

impl<S: TransitionSystem> BeamSearch<S> {
    /// Begins a sentence.
    pub fn start<M: Scorer + ?Sized>(&mut self, system: &S, scorer: &mut M, sentence: &Sentence) {
        scorer.start_sentence(sentence);
        let state = system.start(&mut self.forest, sentence);
        self.items.clear();
        self.items.push(Item { state, score: 0.0, parent: 0, action: None, lag: 0.0 });
        self.level = 0;
    }

    /// The newest level, best first.
    pub fn beam(&self) -> &[Item<S::State>] {
        &self.items[self.level..]
    }

    /// The parses of a search that is done, best first; trees are built as they are asked for.
    pub fn parses<'a>(&'a self, system: &'a S) -> impl Iterator<Item = Parse<S::Tree>> + 'a {
        let tree = |item: &Item<S::State>| system.tree(&self.forest, &item.state);
        self.beam().iter().map(move |item| Parse { tree: tree(item), score: item.score })
    }

    /// Are all items of the newest level final?
    pub fn is_done(&self, system: &S) -> bool {
        self.beam().iter().all(|item| system.is_final(&self.forest, &item.state))
    }

    /// Makes the next level: of the best `width` successors those that lag behind the best by `most_lag` at most. Ties go
    /// to the better parent, then to the smaller action.
    pub fn step<M: Scorer + ?Sized>(&mut self, system: &S, scorer: &mut M, width: usize, most_lag: f64) {
        let level = self.level..self.items.len();
        self.views.clear();
        self.views.extend(self.items[level.clone()].iter().map(|item| system.view(&item.state)));
        scorer.score(&self.forest, &self.views, &mut self.rows);
        self.candidates.clear();
        for (i, parent) in level.clone().enumerate() {
            let item = &self.items[parent];
            let parent = parent as u32;
            system.legal(&self.forest, &item.state, &mut self.legal);
            if self.legal.is_empty() {
                offer(&mut self.candidates, width, Candidate { score: item.score, parent, action: None });
            }
            for block in self.rows.blocks(i, &self.legal) {
                for (action, score) in block.higher(least_of(&self.candidates, width, item.score)) {
                    let (score, action) = (item.score + f64::from(score), Some(ActionId::new(action)));
                    offer(&mut self.candidates, width, Candidate { score, parent, action });
                }
            }
        }
        self.level = self.items.len();
        let best = self.candidates.first().map_or(0.0, |best| best.score);
        for &Candidate { score, parent, action } in &self.candidates {
            if best - score > most_lag {
                break;
            }
            let Item { state: before, lag, .. } = self.items[parent as usize];
            let state = match action {
                Some(action) => system.apply(&mut self.forest, &before, action),
                None => before,
            };
            self.items.push(Item { state, score, parent, action, lag: lag.max(best - score) });
        }
    }

    /// The items on the way to `index`, the first level's excluded, in order.
    pub fn path(&self, index: usize, out: &mut Vec<usize>) {
        out.clear();
        let mut at = index;
        while self.items[at].parent as usize != at {
            out.push(at);
            at = self.items[at].parent as usize;
        }
        out.reverse();
    }
}

/// What an action's score must exceed, at least, for an item of score `before` to have a successor that is kept.
#[inline]
fn least_of(candidates: &[Candidate], width: usize, before: f64) -> f32 {
    let worst = candidates.get(width - 1).map_or(f64::NEG_INFINITY, |worst| worst.score);
    // Half as precise, so a little lower.
    ((worst - before) as f32).next_down()
}

/// Keeps the `width` best candidates in order. Candidates come by parent and action, so a later equal goes behind.
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

/// Beam search as a decoder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beam {
    /// How many items are kept.
    pub width: usize,
    /// How far an item may be behind the best. What lags much rarely wins, but costs as much as any other.
    pub most_lag: f64,
}

impl Beam {
    /// A beam that drops nothing for its lag.
    pub fn new(width: usize) -> Self {
        Beam { width, most_lag: f64::INFINITY }
    }

    /// Searches with scratch memory of the caller.
    pub fn k_best_in<S: TransitionSystem, M: Scorer + ?Sized>(
        self,
        search: &mut BeamSearch<S>,
        system: &S,
        scorer: &mut M,
        sentence: &Sentence,
        k: usize,
    ) -> Vec<Parse<S::Tree>> {
        self.search_in(search, system, scorer, sentence);
        search.parses(system).take(k).collect()
    }

    /// Searches with scratch memory of the caller, where the parses are found afterwards.
    pub fn search_in<S: TransitionSystem, M: Scorer + ?Sized>(
        self,
        search: &mut BeamSearch<S>,
        system: &S,
        scorer: &mut M,
        sentence: &Sentence,
    ) {
        if sentence.is_empty() {
            search.items.clear();
            search.level = 0;
            return;
        }
        search.start(system, scorer, sentence);
        while !search.is_done(system) {
            search.step(system, scorer, self.width.max(1), self.most_lag);
        }
    }
}

impl Decoder for Beam {
    fn k_best<S: TransitionSystem, M: Scorer + ?Sized>(
        &mut self,
        system: &S,
        scorer: &mut M,
        sentence: &Sentence,
        k: usize,
    ) -> Vec<Parse<S::Tree>> {
        self.k_best_in(&mut BeamSearch::default(), system, scorer, sentence, k)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scores are less precise than their sums: none may be passed over that would be kept.
    #[test]
    fn what_would_be_kept_is_higher_than_the_least() {
        let mut rng = crate::rng::Rng::new(2);
        let mut number = |most: usize| (rng.below(most) as f64 - most as f64 / 2.0) / 3.0;
        for _ in 0..10_000 {
            let (worst, before, score) = (number(1 << 20), number(1 << 20), number(1 << 8));
            let candidates = [Candidate { score: worst, parent: 0, action: None }];
            let least = least_of(&candidates, 1, before);
            // Just as much as it takes, and something else.
            for score in [(worst - before) as f32, score as f32] {
                assert!(score > least || before + f64::from(score) <= worst, "{worst} {before} {score}");
            }
        }
        assert_eq!(least_of(&[], 1, 5.0), f32::NEG_INFINITY);
    }
}
