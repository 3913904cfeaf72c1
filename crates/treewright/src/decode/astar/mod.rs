//! Exact search: the best derivation under the model, and the proof that there is none better (paper 001, section 4, as
//! corrected in docs/exact-search.md).
//!
//! A beam gives a first answer; its score is a floor, below which nothing is of interest. Bounds on the score of every tree
//! that contains a node take most nodes away ([`bounds`]), and best-first search over what is left
//! ([`search`]) finds a better derivation, or that there is none.

mod bounds;
mod budget;
mod derivations;
mod rows;
mod search;
mod space;

use std::time::Duration;

use rustc_hash::FxHashSet;

use super::k_best::{KBest, MAX_STEPS};
use super::{Beam, Decoder, Effort, Found, Guarantee, Input, Kept, Weighing, replay};
use crate::forest::Forest;
use crate::ids::ActionId;
use crate::score::Scorer;
use crate::sentence::{Sentence, Token};
use crate::system::TransitionSystem;
use crate::weights::kernel;

use bounds::Bounds;
use budget::Budget;
use derivations::FoundItems;
use search::{Edge, Ending, NONE, Outside, Problem, Search};
use space::{Grammar, NEVER, Space};

/// How exact search bounds the score of what is not built yet. With a tighter bound it looks at fewer items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heuristic {
    /// The highest score that any action can have, for every step: this is best-first search.
    None,
    /// All symbols over a span count as one, with the best that any of them has (paper 001, section 4.2).
    Projection,
    /// What lies below an item is forgotten (paper 001, section 4.3).
    LessConstituent,
    /// One after the other, each on what the one before has left, until little more goes (after paper 001, section 4.4).
    Cascade,
}

/// The settings of exact search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExactSettings {
    /// The heuristic.
    pub heuristic: Heuristic,
    /// The width of the beam that gives the first answer, and the answer where a limit stops the search.
    pub beam: usize,
    /// The most work for one sentence, counted in items of the search: sixteen rows of scores that are looked at for bounds
    /// count for one item, and so do sixteen attempts to join two items.
    pub max_items: usize,
    /// The most memory for one sentence, in bytes.
    pub max_bytes: usize,
    /// The longest time for one sentence. What is found then depends on the machine.
    pub timeout: Option<Duration>,
    /// Search also among labels over single words that the treebank never has over words with their tags. (Then nothing at
    /// all is left out; it takes much longer.)
    pub open_rules: bool,
}

impl ExactSettings {
    /// The limit on work while learning.
    pub const WHILE_LEARNING: usize = 100_000;
    /// The limit on work.
    pub const MAX_ITEMS: usize = 2_000_000;
    /// The limit on memory.
    pub const MAX_BYTES: usize = 384 << 20;
}

impl Default for ExactSettings {
    fn default() -> Self {
        ExactSettings {
            heuristic: Heuristic::Cascade,
            beam: 16,
            max_items: ExactSettings::MAX_ITEMS,
            max_bytes: ExactSettings::MAX_BYTES,
            timeout: None,
            open_rules: false,
        }
    }
}

/// Longer sentences get the answer of the beam, whatever the limits: their scores might not fit the numbers here.
const MAX_WORDS: usize = 1000;
/// Memory above this is given back after each sentence.
const KEPT_BYTES: u64 = 64 << 20;
/// Bounds are made anew as long as they leave at most this share of the nodes, in percent.
const WORTH_IT: usize = 70;
/// So few nodes are searched without tighter bounds.
const FEW_NODES: usize = 150;
/// Tighter bounds are made for so few nodes that there are at most this many pairs of states (some hundred MB).
const MAX_PAIRS: usize = 1 << 23;
/// Trees are looked for among this many nodes at first, those with the highest bounds.
const FIRST_NODES: usize = 2000;
/// If there is none among them, among this many times as many.
const MORE_NODES: usize = 4;

/// Exact search with its memory.
pub struct AStar<S: TransitionSystem> {
    settings: ExactSettings,
    beam: Beam<S>,
    space: Space,
    bounds: Bounds,
    search: Search,
    forest: Forest,
    budget: Budget,
    effort: Effort,
    kept: Kept,
}

/// A derivation.
#[derive(Clone)]
struct Answer {
    actions: Vec<ActionId>,
    score: i32,
}

impl<S: TransitionSystem> AStar<S> {
    /// Can this system be searched exactly, with these scores?
    ///
    /// # Errors
    /// Why not, and what else to do.
    pub fn check(system: &S, scorer: &mut dyn Scorer) -> Result<(), String> {
        if system.span_actions().is_none() {
            return Err(
                "exact search needs the system bottom-up-2n (the recipe paper-001 trains it); others can be \
                        searched with a beam"
                    .to_owned(),
            );
        }
        if scorer.by_item().is_none() {
            return Err("exact search needs features that each look at one item or at the buffer, without heads or \
                        children, as the feature set `simplified` has them; with others, what is alike can be merged"
                .to_owned());
        }
        Ok(())
    }

    /// With these settings.
    pub fn new(settings: ExactSettings) -> Self {
        AStar {
            settings,
            beam: Beam::new(settings.beam),
            space: Space::default(),
            bounds: Bounds::default(),
            search: Search::default(),
            forest: Forest::new(),
            budget: Budget::default(),
            effort: Effort::default(),
            kept: Kept::default(),
        }
    }

    /// How tight bounds are, from the first to the last: with how many groups of items, and classes of shifts.
    fn stages(&self) -> &'static [(usize, usize)] {
        match self.settings.heuristic {
            Heuristic::None => &[],
            Heuristic::Projection | Heuristic::LessConstituent => &[(1, 1)],
            Heuristic::Cascade => &[(1, 1), (2, 2), (4, 4), (8, 8)],
        }
    }

    /// Do the bounds of a stage take little enough memory and time for the nodes that are left?
    fn has_room(&self, (max_groups, max_classes): (usize, usize)) -> bool {
        self.space.nodes.len() * (max_groups * max_classes).pow(2) <= MAX_PAIRS
    }

    /// Makes bounds of a stage again and again, as long as they take many nodes away that no derivation above the floor has.
    /// Where `best` is given, it is replaced by better derivations that come up, and the floor with it.
    fn bound(
        &mut self,
        (grammar, likeliest): (&Grammar, &[Vec<usize>]),
        (max_groups, max_classes): (usize, usize),
        floor: &mut i32,
        mut best: Option<&mut Answer>,
    ) -> Result<(), Late> {
        let merges_labels = self.settings.heuristic == Heuristic::Projection;
        loop {
            let before = self.space.nodes.len();
            if before == 0 {
                return Ok(());
            }
            let settings =
                bounds::Settings { max_groups, max_classes, merges_labels, likeliest, floor: *floor };
            let mut is_done = false;
            let (bounds, space, budget) = (&mut self.bounds, &self.space, &mut self.budget);
            kernel::with_avx2(FillBounds { bounds, grammar, space, settings, budget, is_done: &mut is_done });
            if !is_done {
                return Err(Late);
            }
            if let Some(best) = best.as_deref_mut().filter(|_| !merges_labels)
                && let Some((actions, score)) = self.bounds.best_tree(grammar, &self.space)
                && score > best.score
            {
                *best = Answer { actions, score };
                *floor = (*floor).max(score + 1);
            }
            let totals = &self.bounds.totals;
            let after = totals.iter().filter(|&&total| total >= *floor).count();
            if after * 100 > before * WORTH_IT {
                return Ok(());
            }
            self.space.retain(|node| totals[node] >= *floor);
        }
    }

    /// The best derivation, if it is better than `best`, which else is what it was. `upper` becomes the best bound known.
    fn improve(
        &mut self,
        grammar: &Grammar,
        likeliest: &[Vec<usize>],
        best: &mut Answer,
        upper: &mut Option<i32>,
    ) -> Result<(), Late> {
        let mut floor = best.score + 1;
        let stages = self.stages();
        if let Some(&first) = stages.first() {
            self.bound((grammar, likeliest), first, &mut floor, Some(best))?;
            *upper = self.bounds.totals.iter().copied().max();
        }
        let mut n_nodes = FIRST_NODES;
        // Are the bounds those of other nodes?
        let mut is_stale = false;
        loop {
            // Where many nodes are left, the best tree may be far above the floor: it is looked for among those with the highest
            // bounds. If one is found there, it is better than everything with any of the others.
            let others = (stages.len() > 1 && self.space.nodes.len() > n_nodes).then(|| {
                let mut totals = self.bounds.totals.clone();
                totals.sort_unstable_by(|one, other| other.cmp(one));
                (totals[n_nodes], self.space.nodes.clone(), self.bounds.totals.clone())
            });
            let mut target = others.as_ref().map_or(floor, |others| others.0 + 1).max(floor);
            if let Some((_, _, totals)) = &others {
                self.space.retain(|node| totals[node] >= target);
                is_stale = true;
            }
            for &stage in stages.iter().skip(usize::from(!is_stale)) {
                if is_stale || (self.space.nodes.len() > FEW_NODES && self.has_room(stage)) {
                    is_stale = false;
                    self.bound((grammar, likeliest), stage, &mut target, Some(best))?;
                }
            }
            match self.run(grammar, target, false) {
                Ending::Stopped(bound) => {
                    *upper = others.map_or(Some(bound), |_| *upper);
                    return Err(Late);
                }
                Ending::Found(goal) => {
                    *best = self.best(grammar, goal);
                    return Ok(());
                }
                Ending::Nothing => {}
            }
            floor = floor.max(best.score + 1);
            let Some((_, nodes, totals)) = others.filter(|_| floor < target) else { return Ok(()) };
            *upper = Some(target - 1);
            self.space.restore(nodes);
            self.space.retain(|node| totals[node] >= floor);
            self.bounds.totals = totals.into_iter().filter(|&total| total >= floor).collect();
            is_stale = true;
            n_nodes *= MORE_NODES;
        }
    }

    /// The highest score that an action can have anywhere.
    fn max_step(&self) -> i32 {
        let space = &self.space;
        let columns = space.buffer(0).len();
        // An item may be missing, and then adds nothing.
        let [mut top, mut below, mut buffer] = [vec![0; columns], vec![0; columns], vec![NEVER; columns]];
        for node in 0..space.nodes.len() {
            rows::raise(&mut top, space.top(node), 0);
            rows::raise(&mut below, space.below(node), 0);
        }
        (0..=space.n).for_each(|next| rows::raise(&mut buffer, space.buffer(next), 0));
        let sums = top.iter().zip(&below).zip(&buffer).map(|((top, below), buffer)| top + below + buffer);
        sums.max().unwrap_or(0)
    }

    /// Searches above a floor, with the bounds that were made last.
    fn run(&mut self, grammar: &Grammar, floor: i32, wants_all: bool) -> Ending {
        let space = &self.space;
        let outside: &dyn Outside = match self.settings.heuristic {
            Heuristic::None => &UniformOutside { space, most: self.max_step() },
            _ => &BoundedOutside { grammar, space, bounds: &self.bounds },
        };
        let ending =
            self.search.run(&Problem { grammar, space, outside, floor, wants_all }, &mut self.budget);
        self.effort.items += self.search.n_items() as u64;
        ending
    }
}

struct FillBounds<'a> {
    bounds: &'a mut Bounds,
    grammar: &'a Grammar,
    space: &'a Space,
    settings: bounds::Settings<'a>,
    budget: &'a mut Budget,
    is_done: &'a mut bool,
}

impl kernel::Work for FillBounds<'_> {
    #[inline(always)]
    fn run<const AVX2: bool>(self) {
        *self.is_done = self.bounds.fill(self.grammar, self.space, self.settings, self.budget);
    }
}

/// The same for every step.
struct UniformOutside<'a> {
    space: &'a Space,
    most: i32,
}

impl Outside for UniformOutside<'_> {
    fn outside(&self, node: usize, _shift: usize, _below: Option<usize>) -> i32 {
        let node = self.space.nodes[node];
        let n_inside = 2 * i32::from(node.right - node.left) - 2;
        self.most * (2 * self.space.n as i32 - n_inside)
    }
}

struct BoundedOutside<'a> {
    grammar: &'a Grammar,
    space: &'a Space,
    bounds: &'a Bounds,
}

impl Outside for BoundedOutside<'_> {
    fn outside(&self, node: usize, shift: usize, below: Option<usize>) -> i32 {
        self.bounds.outside(self.grammar, self.space, node, shift, below)
    }
}

impl<S: TransitionSystem> AStar<S> {
    /// Asks the scorer for everything about a sentence; false if it cannot be asked, or that would take too much.
    fn fill(&mut self, grammar: &Grammar, scorer: &mut dyn Scorer, sentence: &Sentence) -> bool {
        let n = sentence.len();
        if n > MAX_WORDS
            || !self.budget.has_room_for_space(grammar.n_bytes(n))
            || !self.budget.spend(grammar.n_rows(n))
        {
            self.budget.space_bytes = 0;
            return false;
        }
        // In a sentence of one word, the label is that of the root.
        let is_free = self.settings.open_rules || sentence.len() == 1;
        let unaries = |token: &Token| if is_free { None } else { grammar.unaries.get(&token.tag).cloned() };
        let allowed: Vec<_> = sentence.tokens.iter().map(unaries).collect();
        let slot = scorer.open_one(sentence);
        let is_filled = scorer.by_item().is_some_and(|items| self.space.fill(grammar, items, slot, &allowed));
        scorer.close(slot);
        is_filled
    }

    /// Hands over derivations, as long as they are wanted; false if not all were.
    fn hand_over(
        &mut self,
        system: &S,
        sentence: &Sentence,
        answers: impl IntoIterator<Item = Answer>,
        found: &mut dyn FnMut(Found<'_, S>) -> bool,
    ) -> bool {
        answers.into_iter().all(|Answer { actions, score }| {
            let start = system.start(&mut self.forest, sentence);
            let state = replay(system, &mut self.forest, start, &actions);
            found(Found { forest: &self.forest, state, score: f64::from(score), score_gap: 0.0 })
        })
    }

    /// The best derivation of a complete item.
    fn best(&self, grammar: &Grammar, goal: u32) -> Answer {
        enum Task {
            Build(u32),
            Do(usize),
        }
        let (items, space) = (&self.search.items, &self.space);
        let shift_of = |item: u32| items[item as usize].first_shift(grammar, space);
        let mut actions = Vec::with_capacity(2 * space.n);
        let mut todo = vec![Task::Do(grammar.finish), Task::Build(goal), Task::Do(shift_of(goal))];
        while let Some(task) = todo.pop() {
            match task {
                Task::Do(action) => actions.push(ActionId::new(action)),
                Task::Build(item) => {
                    let Edge { left, right, action } = items[item as usize].edge;
                    if left != NONE {
                        let after = [Task::Do(usize::from(action)), Task::Build(right)];
                        todo.extend(after.into_iter().chain([Task::Do(shift_of(right)), Task::Build(left)]));
                    }
                }
            }
        }
        let goal = &items[goal as usize];
        Answer { actions, score: goal.inside + goal.rest(grammar, space) }
    }

    /// Hands over derivations from the best on, but for those in `known`, down to a floor.
    fn hand_over_from(
        &mut self,
        grammar: &Grammar,
        (mut floor, likeliest): (i32, &[Vec<usize>]),
        (system, sentence): (&S, &Sentence),
        weighing: Weighing,
        known: &mut FxHashSet<Vec<ActionId>>,
        found: &mut dyn FnMut(Found<'_, S>) -> bool,
    ) -> Ended {
        for &stage in self.stages() {
            let is_wanted = stage == (1, 1) || self.has_room(stage);
            if is_wanted && self.bound((grammar, likeliest), stage, &mut floor, None).is_err() {
                return Ended::AtLimit;
            }
        }
        if let Ending::Stopped(_) = self.run(grammar, floor, true) {
            return Ended::AtLimit;
        }
        let search = std::mem::take(&mut self.search);
        let space = std::mem::take(&mut self.space);
        let items = FoundItems::new(grammar, &space, &search);
        self.kept.total = Some(items.total(weighing));
        let mut k_best = KBest::new(&items);
        let mut ended = Ended::AtLimit;
        // Below the floor there may be others that the search has left out.
        for rank in 0..=MAX_STEPS / (2 * space.n) {
            let next = k_best.get(rank).map(|(score, actions)| Answer { actions, score: score as i32 });
            let Some(answer) = next.filter(|answer| answer.score >= floor) else {
                ended = Ended::AtFloor;
                break;
            };
            if known.insert(answer.actions.clone()) && !self.hand_over(system, sentence, [answer], found) {
                ended = Ended::Satisfied;
                break;
            }
        }
        self.space = space;
        self.search = search;
        ended
    }
}

/// The shifts of each word, the likeliest first: those that the beam's answers have, then those that the words after it are
/// best for.
fn likeliest_shifts(grammar: &Grammar, space: &Space, answers: &[Answer]) -> Vec<Vec<usize>> {
    let mut likeliest: Vec<Vec<usize>> = (0..space.n)
        .map(|place| {
            let mut shifts: Vec<usize> = space.shifts(grammar, place).collect();
            shifts.sort_by_key(|&shift| std::cmp::Reverse(space.buffer(place)[shift]));
            shifts
        })
        .collect();
    for answer in answers.iter().rev() {
        let shifts =
            answer.actions.iter().map(|action| action.index()).filter(|&action| grammar.is_shift(action));
        for (likeliest, shift) in likeliest.iter_mut().zip(shifts) {
            if let Some(rank) = likeliest.iter().position(|&other| other == shift) {
                likeliest[..=rank].rotate_right(1);
            }
        }
    }
    likeliest
}

/// A limit was reached.
struct Late;

/// Why no more derivations were handed over.
#[derive(PartialEq)]
enum Ended {
    Satisfied,
    AtFloor,
    AtLimit,
}

impl<S: TransitionSystem> Decoder<S> for AStar<S> {
    fn decode(&mut self, input: Input<'_, S>, found: &mut dyn FnMut(Found<'_, S>) -> bool) -> Guarantee {
        let Input { system, scorer, sentence } = input;
        let mut answers = Vec::new();
        self.beam.decode(Input { system, scorer: &mut *scorer, sentence }, &mut |found| {
            answers.push(Answer { actions: found.actions(system), score: found.score as i32 });
            true
        });
        self.budget = Budget::new(&self.settings);
        (self.effort, self.kept) = (Effort::default(), Kept::default());
        if answers.is_empty() {
            return Guarantee::Exact;
        }
        let guarantee = self.improve_on(answers, Input { system, scorer, sentence }, found);
        self.count();
        if self.effort.bytes > KEPT_BYTES {
            (self.space, self.bounds, self.search) = Default::default();
        }
        guarantee
    }

    fn kept(&self) -> Kept {
        self.kept
    }

    fn hands_over_all(&self) -> bool {
        false
    }

    fn effort(&self) -> Effort {
        self.effort
    }
}

impl<S: TransitionSystem> AStar<S> {
    /// Adds up what was used for the sentence.
    fn count(&mut self) {
        self.effort.work += self.budget.work();
        self.effort.bytes = self.effort.bytes.max(self.budget.bytes() as u64);
    }

    /// The sum of the weights of these answers.
    fn total(answers: &[Answer], weighing: Weighing) -> f64 {
        answers.iter().map(|answer| weighing.weight(f64::from(answer.score))).sum()
    }

    /// Hands over the best derivation, and others if they are wanted, after a beam has found these.
    fn improve_on(
        &mut self,
        answers: Vec<Answer>,
        Input { system, scorer, sentence }: Input<'_, S>,
        found: &mut dyn FnMut(Found<'_, S>) -> bool,
    ) -> Guarantee {
        let is_log_linear = scorer.is_log_linear();
        let weighing = |score: i32| Weighing::new(f64::from(score), sentence.len(), is_log_linear);
        let (best, worst) = (answers[0].score, answers.last().map_or(0, |answer| answer.score));
        let grammar = system.span_actions().map(|actions| Grammar::new(&actions, system.n_actions()));
        let Some(grammar) = grammar.filter(|grammar| self.fill(grammar, scorer, sentence)) else {
            let max_step = scorer.by_item().map(|items| f64::from(items.max_score()));
            self.kept.total = Some(Self::total(&answers, weighing(best)));
            self.hand_over(system, sentence, answers, found);
            // Every derivation has this many steps.
            let n_steps = 2.0 * sentence.len() as f64;
            return max_step
                .map_or(Guarantee::Heuristic, |most| Guarantee::Bounded { upper: n_steps * most });
        };
        let all_nodes = self.space.nodes.clone();
        let likeliest = likeliest_shifts(&grammar, &self.space, &answers);
        let mut answer = answers[0].clone();
        let mut upper = None;
        if let Err(Late) = self.improve(&grammar, &likeliest, &mut answer, &mut upper) {
            // Nodes that were pruned have no tree above the best one.
            let upper = upper.unwrap_or_else(|| self.space.upper_bound(&grammar)).max(answer.score);
            // What came up on the way is better than what the beam found.
            let better = Some(answer).filter(|answer| answer.score > best);
            let answers: Vec<Answer> = better.into_iter().chain(answers).collect();
            self.kept.total = Some(Self::total(&answers, weighing(answers[0].score)));
            self.hand_over(system, sentence, answers, found);
            return Guarantee::Bounded { upper: f64::from(upper) };
        }
        let weighing = weighing(answer.score);
        let mut known = FxHashSet::from_iter([answer.actions.clone()]);
        let others = answers.iter().filter(|other| other.actions != answer.actions);
        self.kept.total =
            Some(1.0 + others.map(|other| weighing.weight(f64::from(other.score))).sum::<f64>());
        if !self.hand_over(system, sentence, [answer], found) {
            return Guarantee::Exact;
        }
        // The beam has as many derivations as it is wide, so at least as many are not worse than its last.
        for floor in [worst, NEVER] {
            self.count();
            self.budget = self.budget.again(&self.settings);
            self.space.restore(all_nodes.clone());
            let asked = (system, sentence);
            match self.hand_over_from(&grammar, (floor, &likeliest), asked, weighing, &mut known, found) {
                Ended::Satisfied => break,
                Ended::AtFloor => {
                    let has_all_labels = self.settings.open_rules || sentence.len() == 1;
                    self.kept.is_all = floor == NEVER && has_all_labels;
                }
                Ended::AtLimit => {
                    let others = answers.into_iter().filter(|answer| !known.contains(&answer.actions));
                    self.hand_over(system, sentence, others, found);
                    break;
                }
            }
        }
        Guarantee::Exact
    }
}

#[cfg(test)]
mod tests;
