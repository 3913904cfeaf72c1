//! Exact search: the best derivation under the model, and the proof that there is none better (paper 001, section 4, as
//! corrected in docs/exact-search.md).
//!
//! A beam gives a first answer; its score is a floor, below which nothing is of interest. Bounds on the score of every tree
//! that contains a node take most nodes away ([`bounds`]), and best-first search over what is left
//! ([`search`]) finds a better derivation, or that there is none.

mod bounds;
mod k_best;
mod rows;
mod search;
mod space;

use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;

use super::{Beam, Decoder, Found, Guarantee, Input};
use crate::forest::Forest;
use crate::ids::ActionId;
use crate::score::Scorer;
use crate::sentence::{Sentence, Token};
use crate::system::TransitionSystem;
use crate::weights::kernel;

use bounds::Bounds;
use k_best::KBest;
use search::{Edge, Ending, Item, Limits, NONE, Outside, Problem, Search};
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
    /// The most items that are made for one sentence.
    pub max_items: usize,
    /// The longest time for one sentence.
    pub timeout: Option<Duration>,
    /// Search also among labels over single words that the treebank never has over words with their tags. (Then nothing at
    /// all is left out; it takes much longer.)
    pub open_rules: bool,
}

impl Default for ExactSettings {
    fn default() -> Self {
        ExactSettings {
            heuristic: Heuristic::Cascade,
            beam: 16,
            max_items: 2_000_000,
            timeout: None,
            open_rules: false,
        }
    }
}

/// The scores of all nodes take at most this many bytes; longer sentences get the answer of the beam.
const MAX_BYTES: usize = 1 << 30;
/// Bounds are made anew as long as they leave at most this share of the nodes, in percent.
const WORTH_IT: usize = 80;
/// At most this many shifts of a word that answers of the beam have are classes of their own.
const MAX_LIKELIEST: usize = 3;

/// Exact search with its memory.
pub struct AStar<S: TransitionSystem> {
    settings: ExactSettings,
    beam: Beam<S>,
    space: Space,
    bounds: Bounds,
    search: Search,
    forest: Forest,
    n_items: u64,
}

/// An answer of the beam.
struct Answer {
    actions: Vec<ActionId>,
    score: i32,
}

impl<S: TransitionSystem> AStar<S> {
    /// Can this system be searched exactly, with these scores?
    ///
    /// # Errors
    /// Why not, and what else to do.
    pub fn check(system: &S, scorer: &dyn Scorer) -> Result<(), String> {
        if system.span_actions().is_none() {
            return Err("exact search needs the system bottom-up-2n (--recipe paper-001 trains it); for others there is \
                        --decoder beam"
                .to_owned());
        }
        if !scorer.is_by_item() {
            return Err("exact search needs features that each look at one item or at the buffer, without heads or \
                        children, as the feature set `simplified` has them; with others, --decoder dp merges what is alike"
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
            n_items: 0,
        }
    }

    /// Takes nodes away that no derivation above the floor has, and makes the bounds to search with.
    fn bound(&mut self, grammar: &Grammar, floor: i32, likeliest: &[Vec<usize>]) {
        // Up to which depth, and with how many classes of shifts.
        let stages: &[(usize, usize)] = match self.settings.heuristic {
            Heuristic::None => &[],
            Heuristic::Projection => &[(0, 0)],
            Heuristic::LessConstituent => &[(2, 1)],
            Heuristic::Cascade => &[(2, 1), (4, 3)],
        };
        let merges_labels = self.settings.heuristic == Heuristic::Projection;
        for &(max_depth, max_likeliest) in stages {
            let likeliest: Vec<Vec<usize>> =
                likeliest.iter().map(|shifts| shifts.iter().copied().take(max_likeliest).collect()).collect();
            let settings = bounds::Settings { max_depth, merges_labels, likeliest: &likeliest };
            loop {
                let before = self.space.nodes.len();
                self.fill_bounds(grammar, settings);
                let bounds = &self.bounds;
                let wanted: Vec<bool> = (0..before).map(|node| bounds.total(node) >= floor).collect();
                self.space.retain(|node| wanted[node]);
                let after = self.space.nodes.len();
                if after == 0 {
                    return;
                }
                if after * 100 > before * WORTH_IT {
                    if after < before {
                        self.fill_bounds(grammar, settings);
                    }
                    break;
                }
            }
        }
    }

    fn fill_bounds(&mut self, grammar: &Grammar, settings: bounds::Settings<'_>) {
        kernel::with_avx2(FillBounds { bounds: &mut self.bounds, grammar, space: &self.space, settings });
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
        rows::add(&mut top, &below);
        rows::max_of_sums(&top, &buffer)
    }

    /// Searches above a floor.
    fn run(&mut self, grammar: &Grammar, floor: i32, wants_all: bool) -> Ending {
        let deadline = self.settings.timeout.map(|timeout| Instant::now() + timeout);
        let limits = Limits { max_items: self.settings.max_items, deadline };
        let space = &self.space;
        let outside: &dyn Outside = match self.settings.heuristic {
            Heuristic::None => &UniformOutside { space, most: self.max_step() },
            _ => &BoundedOutside { grammar, space, bounds: &self.bounds },
        };
        let ending = self.search.run(&Problem { grammar, space, outside, floor, wants_all, limits });
        self.n_items += self.search.n_items() as u64;
        ending
    }
}

struct FillBounds<'a> {
    bounds: &'a mut Bounds,
    grammar: &'a Grammar,
    space: &'a Space,
    settings: bounds::Settings<'a>,
}

impl kernel::Work for FillBounds<'_> {
    #[inline(always)]
    fn run<const AVX2: bool>(self) {
        self.bounds.fill(self.grammar, self.space, self.settings);
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
        let from_below = below.map(|below| self.space.below(below)[self.grammar.plain_shift()]);
        self.bounds.outside(node, usize::from(self.space.nodes[node].left), shift, from_below)
    }
}

impl<S: TransitionSystem> AStar<S> {
    /// Asks the scorer for everything about a sentence; false if it cannot be asked.
    fn fill(&mut self, grammar: &Grammar, scorer: &mut dyn Scorer, sentence: &Sentence) -> bool {
        // In a sentence of one word, the label is that of the root.
        let is_free = self.settings.open_rules || sentence.len() == 1;
        let unaries = |token: &Token| if is_free { None } else { grammar.unaries.get(&token.tag).cloned() };
        let allowed: Vec<_> = sentence.tokens.iter().map(unaries).collect();
        let slot = scorer.open_one(sentence);
        let items = scorer.by_item();
        let can_be_asked = items.is_some();
        if let Some(items) = items {
            self.space.fill(grammar, items, slot, &allowed);
        }
        scorer.close(slot);
        can_be_asked
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
            let mut state = system.start(&mut self.forest, sentence);
            for &action in &actions {
                state = system.apply(&mut self.forest, &state, action);
            }
            found(Found { forest: &self.forest, state, score: f64::from(score), score_gap: 0.0 })
        })
    }

    /// What the score of a complete item has beside its inside: the first shift and the end.
    fn rest(&self, search: &Search, grammar: &Grammar, goal: u32) -> i32 {
        let space = &self.space;
        let Item { node, first, .. } = search.items[goal as usize];
        let shift = self.shift(grammar, 0, first);
        let end = space.top(node as usize)[grammar.finish] + space.buffer(space.n)[grammar.finish];
        space.buffer(0)[shift] + end
    }

    /// The shift of a number at a place.
    fn shift(&self, grammar: &Grammar, place: usize, first: u16) -> usize {
        let leaf = self.space.over(place, place + 1).start + usize::from(first);
        grammar.shift(self.space.nodes[leaf].symbol)
    }

    /// The derivation of a complete item; `parts` says what an item (and a way to build it) is made of.
    fn derivation<W: Copy>(
        &self,
        search: &Search,
        grammar: &Grammar,
        goal: (u32, W),
        mut parts: impl FnMut(u32, W) -> Option<(Edge, [W; 2])>,
    ) -> Vec<ActionId> {
        enum Task<W> {
            Build(u32, W),
            Do(usize),
        }
        let items = &search.items;
        let shift_of = |item: u32| {
            let Item { node, first, .. } = items[item as usize];
            self.shift(grammar, usize::from(self.space.nodes[node as usize].left), first)
        };
        let mut actions = vec![ActionId::new(shift_of(goal.0))];
        let mut todo = vec![Task::Do(grammar.finish), Task::Build(goal.0, goal.1)];
        while let Some(task) = todo.pop() {
            match task {
                Task::Do(action) => actions.push(ActionId::new(action)),
                Task::Build(item, way) => {
                    let Some((Edge { left, right, action }, ways)) = parts(item, way) else { continue };
                    todo.push(Task::Do(usize::from(action)));
                    todo.push(Task::Build(right, ways[1]));
                    todo.push(Task::Do(shift_of(right)));
                    todo.push(Task::Build(left, ways[0]));
                }
            }
        }
        actions
    }

    /// The best derivation of a complete item.
    fn best(&self, grammar: &Grammar, goal: u32) -> Answer {
        let actions = self.derivation(&self.search, grammar, (goal, ()), |item, ()| {
            let edge = self.search.items[item as usize].edge;
            (edge.left != NONE).then_some((edge, [(), ()]))
        });
        Answer {
            actions,
            score: self.search.items[goal as usize].inside + self.rest(&self.search, grammar, goal),
        }
    }

    /// Hands over derivations from the best on, but for those in `known`, down to a floor.
    fn hand_over_from(
        &mut self,
        grammar: &Grammar,
        (floor, likeliest): (i32, &[Vec<usize>]),
        (system, sentence): (&S, &Sentence),
        known: &mut FxHashSet<Vec<ActionId>>,
        found: &mut dyn FnMut(Found<'_, S>) -> bool,
    ) -> Ended {
        self.bound(grammar, floor, likeliest);
        if let Ending::Stopped(_) = self.run(grammar, floor, true) {
            return Ended::AtLimit;
        }
        let search = std::mem::take(&mut self.search);
        let mut k_best = KBest::new(&search, |goal| self.rest(&search, grammar, goal));
        let mut ended = Ended::AtFloor;
        // Below the floor there may be others that the search has left out.
        while let Some((score, goal, rank)) = k_best.next().filter(|next| next.0 >= floor) {
            let actions =
                self.derivation(&search, grammar, (goal, rank), |item, rank| k_best.parts(item, rank));
            if known.insert(actions.clone())
                && !self.hand_over(system, sentence, [Answer { actions, score }], found)
            {
                ended = Ended::Satisfied;
                break;
            }
        }
        self.search = search;
        ended
    }
}

/// The likeliest shifts of each word: those that the beam's answers have, those that the words after it are best for, and
/// those that score highest after any node, which would else be credited to the others.
fn likeliest_shifts(grammar: &Grammar, space: &Space, answers: &[Answer]) -> Vec<Vec<usize>> {
    let mut likeliest = vec![Vec::new(); space.n];
    for answer in answers {
        let shifts =
            answer.actions.iter().map(|action| action.index()).filter(|&action| grammar.is_shift(action));
        for (likeliest, shift) in likeliest.iter_mut().zip(shifts) {
            if likeliest.len() < MAX_LIKELIEST && !likeliest.contains(&shift) {
                likeliest.push(shift);
            }
        }
    }
    for (place, likeliest) in likeliest.iter_mut().enumerate() {
        let buffer = space.buffer(place);
        let mut tops = vec![NEVER; buffer.len()];
        for left in 0..place {
            space.over(left, place).for_each(|node| rows::raise(&mut tops, space.top(node), 0));
        }
        let shifts = space.over(place, place + 1).map(|leaf| grammar.shift(space.nodes[leaf].symbol));
        let mut by_buffer: Vec<usize> = shifts.collect();
        by_buffer.sort_by_key(|&shift| std::cmp::Reverse(buffer[shift]));
        let mut by_top = by_buffer.clone();
        by_top.sort_by_key(|&shift| std::cmp::Reverse(buffer[shift] + tops[shift]));
        for shift in by_buffer.iter().take(MAX_LIKELIEST).chain(by_top.iter().take(MAX_LIKELIEST)) {
            if !likeliest.contains(shift) {
                likeliest.push(*shift);
            }
        }
    }
    likeliest
}

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
        self.n_items = 0;
        let Some(best) = answers.first() else { return Guarantee::Exact };
        let (best, worst) = (best.score, answers.last().map_or(0, |answer| answer.score));
        let grammar = system.span_actions().map(|actions| Grammar::new(&actions, system.n_actions()));
        let Some(grammar) = grammar.filter(|grammar| grammar.n_bytes(sentence.len()) <= MAX_BYTES) else {
            self.hand_over(system, sentence, answers, found);
            return Guarantee::Heuristic;
        };
        if !self.fill(&grammar, scorer, sentence) {
            self.hand_over(system, sentence, answers, found);
            return Guarantee::Heuristic;
        }
        // Only what is better than the beam's answer is of interest.
        let likeliest = likeliest_shifts(&grammar, &self.space, &answers);
        self.bound(&grammar, best + 1, &likeliest);
        let ending = self.run(&grammar, best + 1, false);
        let answer = match ending {
            Ending::Stopped(upper) => {
                self.hand_over(system, sentence, answers, found);
                return Guarantee::Bounded { upper: f64::from(upper) };
            }
            Ending::Found(goal) => self.best(&grammar, goal),
            Ending::Nothing => answers.swap_remove(0),
        };
        let mut known = FxHashSet::from_iter([answer.actions.clone()]);
        if !self.hand_over(system, sentence, [answer], found) {
            return Guarantee::Exact;
        }
        // The beam has as many derivations as it is wide, so at least as many are not worse than its last.
        for floor in [worst, NEVER] {
            self.fill(&grammar, scorer, sentence);
            match self.hand_over_from(&grammar, (floor, &likeliest), (system, sentence), &mut known, found) {
                Ended::Satisfied => break,
                Ended::AtFloor => {}
                Ended::AtLimit => {
                    self.hand_over(system, sentence, answers, found);
                    break;
                }
            }
        }
        Guarantee::Exact
    }

    fn n_items(&self) -> u64 {
        self.n_items
    }
}

#[cfg(test)]
mod tests;
