//! Beam search over merged states: dynamic programming for shift-reduce parsing (Huang and Sagae 2010; section 2.4 of
//! paper 001).
//!
//! States of one step are merged when nothing that rules or scores see tells them apart, now or later. What lies below the
//! topmost item of the stack is shared: an item knows the push it began with, and a push knows all states it may have
//! happened in, its predictors. So the stacks are a graph, and a beam of a few states covers very many derivations.
//!
//! Our deviation: the printed signature is not complete. Here a state is known by the push that began its topmost item, and
//! by what is seen of that item and of the buffer; a push by what is seen of all below it, by its own action (its score is added only
//! when the item is taken up), and by the first word of the buffer. `signature.rs` derives what is seen from the features.
//!
//! A representative state stands for each merged one when rules are asked and scores are computed. Its tree is not that of
//! any derivation; trees come from derivations, whose actions are applied again.

mod candidates;
mod derivations;
mod signature;
#[cfg(test)]
pub(super) mod tests;

use rustc_hash::FxHashMap;

use self::candidates::{Candidate, Candidates};
use self::signature::{Signature, Signer};
use super::greedy::SOME_ACTION;
use super::k_best::{KBest, MAX_STEPS};
use super::{Beam, Decoder, Found, Guarantee, Input, Kept, Reference, Violation, Weighing, replay};
use crate::config::Update;
use crate::features::Horizon;
use crate::forest::{Forest, View};
use crate::ids::ActionId;
use crate::score::{Rows, Scorer, SlotId, Views};
use crate::sentence::Sentence;
use crate::system::{ActionSet, Mergeable, StackEffect, TransitionSystem};

/// Nothing, where the number of an item, an edge or a list is expected.
const NONE: u32 = u32::MAX;

/// A merged state.
#[derive(Clone, Copy, Debug)]
struct Item<T> {
    /// One of the states.
    state: T,
    /// The score of the best derivation up to here.
    score: f64,
    /// The score of its actions since the push that began the topmost item, without the push.
    inside: f64,
    /// The item that this push made; itself, if nothing happened since. The first item for an empty stack.
    origin: u32,
    /// The push, in an item made by one.
    push: Option<ActionId>,
    /// In an item made by a push, the states before it: a range of the list of predictors, best first.
    predictors: (u32, u32),
    /// In other items, the ways it was made: the first and the last of a linked list. The first is the best.
    edges: (u32, u32),
}

/// A state in which a push happened.
#[derive(Clone, Copy, Debug)]
struct Predictor {
    item: u32,
    /// The score of the push there.
    gain: f64,
    /// The score of the best derivation up to and including the push.
    score: f64,
}

/// How an item was made without a push: from `item`, whose topmost item was taken off the stack of `below` if the action pops.
#[derive(Clone, Copy, Debug)]
struct Edge {
    below: u32,
    item: u32,
    action: ActionId,
    /// The score of the action, and of the push that began what it takes off the stack.
    gain: f64,
    next: u32,
}

/// A longer sentence is parsed by a plain beam, which forgets its past.
const MAX_BYTES: usize = 1 << 30;
/// Memory of a sentence that is kept for the next.
const MAX_KEPT: usize = 1 << 25;

/// Beam search over merged states. Where states cannot be merged it is a plain beam ([`super::Method::check`] tells).
#[derive(Clone, Debug)]
pub struct DpBeam<S: TransitionSystem> {
    width: usize,
    /// If its items take more bytes than this, a sentence is given to the plain beam.
    max_bytes: usize,
    plain: Beam<S>,
    forest: Forest,
    signer: Option<Signer>,
    items: Vec<Item<S::State>>,
    predictors: Vec<Predictor>,
    edges: Vec<Edge>,
    /// Where the newest level begins.
    level: usize,
    /// Was anything left out in this sentence?
    is_pruned: bool,
    /// The derivations that were kept, if more than the best was asked for.
    kept: Kept,
    /// True if the states of the last sentence could not be merged.
    is_plain: bool,
    effects: Vec<StackEffect>,
    /// The legal actions of each item of the newest level.
    legal: Vec<ActionSet>,
    rows: Rows,
    views: Vec<View>,
    candidates: Candidates,
    /// The pops of one item, with their scores.
    pops: Vec<(ActionId, f32)>,
    /// What pushes see of the items of the newest level, as numbers.
    contexts: Vec<u32>,
    context_ids: FxHashMap<Signature, u32>,
    /// The items of the next level that pushes made, by context and action, and the others by their signatures.
    pushed: FxHashMap<(u32, ActionId), u32>,
    merged: FxHashMap<Signature, u32>,
}

/// What is searched.
struct Task<'a, S: TransitionSystem> {
    system: &'a S,
    mergeable: &'a dyn Mergeable<S::State>,
    scorer: &'a mut dyn Scorer,
    slot: SlotId,
}

impl<S: TransitionSystem> DpBeam<S> {
    /// A beam of this many merged states.
    pub fn new(width: usize) -> Self {
        DpBeam {
            width: width.max(1),
            max_bytes: MAX_BYTES,
            plain: Beam::new(width),
            forest: Forest::new(),
            signer: None,
            items: Vec::new(),
            predictors: Vec::new(),
            edges: Vec::new(),
            level: 0,
            is_pruned: false,
            kept: Kept::default(),
            is_plain: false,
            effects: Vec::new(),
            legal: Vec::new(),
            rows: Rows::default(),
            views: Vec::new(),
            candidates: Candidates::default(),
            pops: Vec::new(),
            contexts: Vec::new(),
            context_ids: FxHashMap::default(),
            pushed: FxHashMap::default(),
            merged: FxHashMap::default(),
        }
    }

    /// Can the states of this system be merged, with these scores?
    ///
    /// # Errors
    /// Why not, and what else to do.
    pub fn check(system: &S, scorer: &dyn Scorer) -> Result<(), String> {
        let mergeable = system.mergeable().ok_or(
            "the states of this transition system cannot be merged: use a plain beam, or a model for bottom-up-2n, \
             arc-hybrid or arc-eager",
        )?;
        let horizon = scorer.horizon().ok_or(
            "the scores of this model depend on the whole history of a state, so that no two states can be merged: \
             use a plain beam",
        )?;
        let too_far = |why: String| {
            format!("{why} in merged states: use a plain beam, or features that look at fewer places")
        };
        Signer::new(horizon, mergeable.top()).map(|_| ()).map_err(too_far)
    }

    /// The states in which the push of an item's topmost item happened; none if its stack is empty.
    fn predictors_of(&self, item: &Item<S::State>) -> &[Predictor] {
        // The origin of the item that is being looked at may be that item.
        let (start, end) =
            if item.push.is_some() { item.predictors } else { self.items[item.origin as usize].predictors };
        &self.predictors[start as usize..end as usize]
    }

    /// The ways an item was made, without a push.
    fn edges_of(&self, item: &Item<S::State>) -> impl Iterator<Item = &Edge> {
        let mut at = item.edges.0;
        std::iter::from_fn(move || {
            let edge = self.edges.get(at as usize)?;
            at = edge.next;
            Some(edge)
        })
    }

    /// Sees to it that signatures are for these scores; false if states cannot be merged.
    fn set_signer(&mut self, horizon: Option<&Horizon>, mergeable: &dyn Mergeable<S::State>) -> bool {
        let Some(horizon) = horizon else { return false };
        if !self.signer.as_ref().is_some_and(|signer| signer.is_for(horizon, mergeable.top())) {
            self.signer = Signer::new(horizon, mergeable.top()).ok();
        }
        self.signer.is_some()
    }

    /// Begins a sentence.
    fn start(&mut self, task: &Task<'_, S>, sentence: &Sentence) {
        let state = task.system.start(&mut self.forest, sentence);
        self.signer().clear();
        self.items.clear();
        self.predictors.clear();
        self.edges.clear();
        self.level = 0;
        self.is_pruned = false;
        self.kept = Kept::default();
        self.items.push(Item {
            state,
            score: 0.0,
            inside: 0.0,
            origin: 0,
            push: None,
            predictors: (0, 0),
            edges: (NONE, NONE),
        });
        self.effects.clear();
        self.effects
            .extend((0..task.system.n_actions()).map(|action| task.mergeable.effect(ActionId::new(action))));
    }

    /// The bytes that a sentence takes.
    fn n_bytes(&self) -> usize {
        self.forest.n_bytes()
            + size_of_val(&*self.items)
            + size_of_val(&*self.predictors)
            + size_of_val(&*self.edges)
    }

    /// Forgets the sentence and gives back its memory.
    fn forget(&mut self) {
        self.signer = None;
        self.forest = Forest::new();
        (self.items, self.predictors, self.edges) = (Vec::new(), Vec::new(), Vec::new());
        self.level = 0;
    }

    fn signer(&mut self) -> &mut Signer {
        self.signer.as_mut().expect("it is set before the search begins")
    }

    /// The newest level, best first.
    fn beam(&self) -> &[Item<S::State>] {
        &self.items[self.level..]
    }

    fn is_done(&self, system: &S) -> bool {
        self.beam().iter().all(|item| system.is_final(&self.forest, &item.state))
    }

    /// Makes the next level of the best merged successors.
    fn step(&mut self, task: &mut Task<'_, S>) {
        let level = self.level..self.items.len();
        self.views.clear();
        self.views.extend(self.items[level.clone()].iter().map(|item| task.system.view(&item.state)));
        let query = Views { slot: task.slot, forest: &self.forest, views: &self.views };
        task.scorer.score(&[query], &mut self.rows);
        self.legal.resize_with(self.legal.len().max(level.len()), ActionSet::default);
        for (item, legal) in self.items[level.clone()].iter().zip(&mut self.legal) {
            task.system.legal(&self.forest, &item.state, legal);
        }
        self.find_contexts(task);
        self.find_candidates();
        self.pushed.clear();
        self.merged.clear();
        self.is_pruned |= self.candidates.is_pruned;
        let next = self.items.len();
        for i in 0..self.candidates.list.len() {
            let candidate = self.candidates.list[i];
            let effect = self.effects[candidate.action.index()];
            let context = (self.contexts[candidate.parent as usize], candidate.action);
            if effect == StackEffect::Push && self.pushed.contains_key(&context) {
                continue;
            }
            if self.items.len() - next == self.width {
                self.is_pruned = true;
                break;
            }
            if effect == StackEffect::Push {
                self.pushed.insert(context, self.items.len() as u32);
                self.push(task, candidate);
            } else {
                self.merge(task, candidate);
            }
        }
        self.level = next;
    }

    /// Numbers what pushes see of each item of the newest level.
    fn find_contexts(&mut self, task: &Task<'_, S>) {
        self.contexts.clear();
        self.context_ids.clear();
        let signer = self.signer.as_mut().expect("it is set before the search begins");
        for (item, view) in self.items[self.level..].iter().zip(&self.views) {
            let rules = task.mergeable.rules(&self.forest, &item.state);
            let context = signer.of_context(&self.forest, view, rules);
            let n_known = self.context_ids.len() as u32;
            self.contexts.push(*self.context_ids.entry(context).or_insert(n_known));
        }
    }

    /// The best successors of the newest level, before they are merged.
    fn find_candidates(&mut self) {
        self.candidates.clear(self.width);
        let candidates = &mut self.candidates;
        for (i, item) in self.items[self.level..].iter().enumerate() {
            let parent = i as u32;
            self.pops.clear();
            let mut best_pop = f32::NEG_INFINITY;
            for block in self.rows.blocks(i, &self.legal[i]) {
                for (action, gain) in block.higher(candidates.min_gain(item.score)) {
                    let action = ActionId::new(action);
                    if self.effects[action.index()] == StackEffect::Pop {
                        self.pops.push((action, gain));
                        best_pop = best_pop.max(gain);
                    } else {
                        let score = item.score + f64::from(gain);
                        candidates.offer(Candidate { score, parent, predictor: 0, action, gain });
                    }
                }
            }
            let (start, end) = self.items[item.origin as usize].predictors;
            for (predictor, below) in self.predictors[start as usize..end as usize].iter().enumerate() {
                let before = below.score + item.inside;
                if before + f64::from(best_pop) <= candidates.floor {
                    // The others are not better.
                    candidates.is_pruned |= !self.pops.is_empty();
                    break;
                }
                for &(action, gain) in &self.pops {
                    let (score, predictor) = (before + f64::from(gain), predictor as u32);
                    candidates.offer(Candidate { score, parent, predictor, action, gain });
                }
            }
        }
        candidates.finish();
        if self.candidates.list.is_empty() {
            self.go_on_without_scores();
        }
    }

    /// The successor of the best state where no action of any has a score that counts: broken weights give infinite ones, and
    /// none.
    #[cold]
    fn go_on_without_scores(&mut self) {
        let action = self.rows.best(0, &self.legal[0]).expect(SOME_ACTION);
        let score = self.items[self.level].score;
        self.candidates.list.push(Candidate { score, parent: 0, predictor: 0, action, gain: 0.0 });
    }

    /// Makes an item by a push, with all states of the level in which it may have happened.
    fn push(&mut self, task: &Task<'_, S>, Candidate { score, parent, action, .. }: Candidate) {
        let start = self.predictors.len();
        let context = self.contexts[parent as usize];
        for (i, item) in self.items[self.level..].iter().take(self.contexts.len()).enumerate() {
            if self.contexts[i] == context && self.legal[i].contains(action) {
                let gain = f64::from(self.rows.row(i)[action.index()]);
                let item_id = (self.level + i) as u32;
                self.predictors.push(Predictor { item: item_id, gain, score: item.score + gain });
            }
        }
        // Where scores are equal, the order of the level stays.
        self.predictors[start..].sort_by(|one, other| other.score.total_cmp(&one.score));
        let before = self.items[self.level + parent as usize].state;
        self.items.push(Item {
            state: task.system.apply(&mut self.forest, &before, action),
            score,
            inside: 0.0,
            origin: self.items.len() as u32,
            push: Some(action),
            predictors: (start as u32, self.predictors.len() as u32),
            edges: (NONE, NONE),
        });
    }

    /// Applies another action, and merges what comes out with an item of the next level if it looks the same.
    fn merge(&mut self, task: &Task<'_, S>, candidate: Candidate) {
        let Candidate { score, parent, predictor, action, gain } = candidate;
        let item_id = (self.level + parent as usize) as u32;
        let item = self.items[item_id as usize];
        let mut edge = Edge { below: NONE, item: item_id, action, gain: f64::from(gain), next: NONE };
        let (mut state, mut origin, mut inside) = (item.state, item.origin, item.inside + f64::from(gain));
        if self.effects[action.index()] == StackEffect::Pop {
            let before = self.predictors_of(&item)[predictor as usize];
            let below = self.items[before.item as usize];
            edge.below = before.item;
            edge.gain += before.gain;
            origin = below.origin;
            inside += below.inside + before.gain;
            state = task.mergeable.over(&mut self.forest, &below.state, &state);
        }
        let state = task.system.apply(&mut self.forest, &state, action);
        let (view, rules) = (task.system.view(&state), task.mergeable.rules(&self.forest, &state));
        let signer = self.signer.as_mut().expect("it is set before the search begins");
        let signature = signer.of_state(&self.forest, &view, origin, rules);
        let (edge_id, item_id) = (self.edges.len() as u32, self.items.len() as u32);
        self.edges.push(edge);
        let known = *self.merged.entry(signature).or_insert(item_id);
        if known == item_id {
            let edges = (edge_id, edge_id);
            self.items.push(Item { state, score, inside, origin, push: None, predictors: (0, 0), edges });
        } else {
            let edges = &mut self.items[known as usize].edges;
            self.edges[edges.1 as usize].next = edge_id;
            edges.1 = edge_id;
        }
    }

    /// The actions of the best derivation of an item.
    fn best_actions(&self, item: u32) -> Vec<ActionId> {
        /// What is still to be written, last first.
        enum Rest {
            All(u32),
            Inside(u32),
            Action(ActionId),
        }
        let mut actions = Vec::new();
        let mut rest = vec![Rest::All(item)];
        while let Some(next) = rest.pop() {
            match next {
                Rest::Action(action) => actions.push(action),
                Rest::All(item) => {
                    rest.push(Rest::Inside(item));
                    let origin = &self.items[self.items[item as usize].origin as usize];
                    if let (Some(before), Some(push)) = (self.predictors_of(origin).first(), origin.push) {
                        rest.extend([Rest::Action(push), Rest::All(before.item)]);
                    }
                }
                Rest::Inside(item) => {
                    let Some(edge) = self.edges_of(&self.items[item as usize]).next() else { continue };
                    rest.extend([Rest::Action(edge.action), Rest::Inside(edge.item)]);
                    if edge.below != NONE {
                        rest.extend([Rest::Action(self.push_of(edge.item)), Rest::Inside(edge.below)]);
                    }
                }
            }
        }
        actions
    }

    /// The push that began the topmost item.
    fn push_of(&self, item: u32) -> ActionId {
        let origin = self.items[item as usize].origin;
        self.items[origin as usize].push.expect("what is taken off the stack was pushed")
    }

    /// Is this edge among those of an item of the newest level? Then that item.
    fn item_with(&self, is_it: impl Fn(&Edge) -> bool) -> Option<u32> {
        let found = self.beam().iter().position(|item| self.edges_of(item).any(&is_it))?;
        Some((self.level + found) as u32)
    }
}

impl<S: TransitionSystem> Decoder<S> for DpBeam<S> {
    fn decode(&mut self, input: Input<'_, S>, found: &mut dyn FnMut(Found<'_, S>) -> bool) -> Guarantee {
        let Input { system, scorer, sentence } = input;
        // What the last sentence left, if it was long.
        if self.n_bytes() > MAX_KEPT {
            self.forget();
        }
        let mergeable = match system.mergeable() {
            Some(mergeable) if self.set_signer(scorer.horizon(), mergeable) => mergeable,
            _ => {
                self.is_plain = true;
                return self.plain.decode(Input { system, scorer, sentence }, found);
            }
        };
        self.is_plain = false;
        if sentence.is_empty() {
            return Guarantee::Exact;
        }
        let slot = scorer.open_one(sentence);
        let is_log_linear = scorer.is_log_linear();
        let mut task = Task { system, mergeable, scorer, slot };
        self.start(&task, sentence);
        while !self.is_done(system) {
            self.step(&mut task);
            if self.n_bytes() > self.max_bytes {
                scorer.close(slot);
                self.forget();
                self.is_plain = true;
                return self.plain.decode(Input { system, scorer, sentence }, found);
            }
        }
        scorer.close(slot);
        let best = self.level as u32;
        let actions = self.best_actions(best);
        let (start, score) = (self.items[0].state, self.items[best as usize].score);
        let state = replay(system, &mut self.forest, start, &actions);
        if found(Found { forest: &self.forest, state, score, score_gap: 0.0 }) {
            let total = self.total(Weighing::new(score, sentence.len(), is_log_linear));
            let mut forest = std::mem::replace(&mut self.forest, Forest::new());
            let mut k_best = KBest::new(self);
            let most = MAX_STEPS / actions.len().max(1);
            let mut is_cut = true;
            for rank in 1..=most {
                let Some((score, actions)) = k_best.get(rank) else {
                    is_cut = false;
                    break;
                };
                let start = system.start(&mut forest, sentence);
                let state = replay(system, &mut forest, start, &actions);
                if !found(Found { forest: &forest, state, score, score_gap: 0.0 }) {
                    break;
                }
            }
            self.forest = forest;
            self.kept = Kept { is_all: !self.is_pruned && !is_cut, total: Some(total) };
        }
        if self.is_pruned { Guarantee::Heuristic } else { Guarantee::Exact }
    }

    fn kept(&self) -> Kept {
        if self.is_plain { self.plain.kept() } else { self.kept }
    }

    fn hands_over_all(&self) -> bool {
        self.is_plain
    }

    fn n_derivations(&self) -> Option<f64> {
        self.signer.as_ref().map(|_| self.count())
    }

    /// As in a plain beam; the reference is in the beam while its own way through the merged states is.
    fn violation(&mut self, input: Input<'_, S>, reference: Reference<'_>) -> Option<Violation> {
        let Input { system, scorer, sentence } = input;
        let mergeable = match system.mergeable() {
            Some(mergeable) if self.set_signer(scorer.horizon(), mergeable) => mergeable,
            _ => return self.plain.violation(Input { system, scorer, sentence }, reference),
        };
        let Reference { actions: reference, update } = reference;
        let slot = scorer.open_one(sentence);
        let mut task = Task { system, mergeable, scorer, slot };
        self.start(&task, sentence);
        let mut rows = Rows::default();
        let mut state = self.items[0].state;
        // The item of the reference while it is in the beam, and those in which its pushes happened.
        let mut item = Some(0);
        let mut below = Vec::new();
        let mut score = 0.0;
        // Where the best item was furthest ahead: that item, the steps there, and by how much.
        let mut worst: Option<(u32, usize, f64)> = None;
        for (i, &action) in reference.iter().enumerate() {
            let query = Views { slot, forest: &self.forest, views: &[system.view(&state)] };
            task.scorer.score(&[query], &mut rows);
            score += f64::from(rows.row(0)[action.index()]);
            state = system.apply(&mut self.forest, &state, action);
            self.step(&mut task);
            item = item.and_then(|before| match self.effects[action.index()] {
                StackEffect::Push => {
                    below.push(before);
                    let has_it = |item: &Item<S::State>| {
                        item.push == Some(action)
                            && self.predictors_of(item).iter().any(|one| one.item == before)
                    };
                    self.beam().iter().position(has_it).map(|at| (self.level + at) as u32)
                }
                StackEffect::Pop => {
                    let below = below.pop().unwrap_or(NONE);
                    self.item_with(|edge| (edge.below, edge.item, edge.action) == (below, before, action))
                }
                StackEffect::None => self.item_with(|edge| (edge.item, edge.action) == (before, action)),
            });
            let best = self.level as u32;
            let ahead = self.items[self.level].score - score;
            let is_worse = worst.is_none_or(|(_, _, most)| ahead > most);
            // The reference may be in the best item and not be its best derivation.
            let is_beaten = item != Some(best) || ahead > 0.0;
            match update {
                Update::Early if item.is_none() => {
                    worst = Some((best, i + 1, ahead));
                    break;
                }
                Update::Early => worst = is_beaten.then_some((best, i + 1, ahead)),
                _ if is_beaten && is_worse => worst = Some((best, i + 1, ahead)),
                _ => {}
            }
        }
        task.scorer.close(slot);
        let (best, steps, _) = worst?;
        let predicted = self.best_actions(best);
        let reference = &reference[..steps];
        (predicted != reference).then(|| Violation { predicted, reference: reference.to_vec() })
    }
}
