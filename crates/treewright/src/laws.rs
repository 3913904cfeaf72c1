//! Laws: what must hold for every system and oracle, as generic functions, and the suite of them that every system's
//! tests call in one line.

use std::ops::RangeInclusive;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::forest::{Forest, Node, View};
use crate::ids::{ActionId, NodeId};
use crate::oracle::Oracle;
use crate::registry::Registered;
use crate::rng::Rng;
use crate::sentence::{Sentence, Token};
use crate::system::{ActionSet, TransitionSystem};
use crate::tree::{BinaryTree, ConstituentTree, DependencyTree, ParserTree};

/// The laws of a system as tests of the module that calls it: `laws::suite!(Fixture)`, or `laws::suite!(Fixture, exact)`
/// for a system with an exact dynamic oracle.
macro_rules! suite {
    ($($name:ident => $law:expr;)*) => {$(
        #[test]
        fn $name() {
            $law();
        }
    )*};
    ($fixture:ty) => {
        $crate::laws::suite! {
            actions_and_names_are_one_to_one_and_survive_serde => $crate::laws::tables_are_sound::<$fixture>;
            law_1_derivations_rebuild_their_trees => $crate::laws::derivations_rebuild::<$fixture>;
            laws_2_to_5_walks_end_in_time_and_in_trees => $crate::laws::walks_end_in_trees::<$fixture>;
            law_6_optimal_walks_give_gold => $crate::laws::optimal_walks_give_gold::<$fixture>;
        }
    };
    ($fixture:ty, exact) => {
        $crate::laws::suite!($fixture);
        $crate::laws::suite! {
            law_6_the_oracle_is_exact => <$fixture as $crate::laws::Exact>::check;
            law_6_the_oracle_is_exact_whatever_the_tables => $crate::laws::exact_with_random_tables::<$fixture>;
        }
    };
}

pub(crate) use suite;

/// A system's examples for the suite.
pub trait Fixture {
    /// The system.
    type System: Registered + TransitionSystem<Tree: Words>;

    /// Systems with trees that they can build, for laws 1 and 6.
    fn golds() -> Vec<(Self::System, Vec<Tree<Self>>)>;

    /// More of them, for law 1 alone.
    fn large_golds() -> Vec<(Self::System, Vec<Tree<Self>>)> {
        Vec::new()
    }

    /// Systems and lengths of sentences, of which random walks are tried.
    fn random_walks() -> Vec<Walks<Self::System>>;

    /// The same, of which every walk is tried.
    fn every_walk() -> Vec<Walks<Self::System>> {
        Vec::new()
    }

    /// Law 4: is the tree well-formed?
    #[track_caller]
    fn check_tree(_system: &Self::System, tree: &Tree<Self>, n: usize) {
        assert_eq!(tree.n_words(), n);
    }

    /// How far a finished tree is from gold, as the oracle counts it.
    fn loss(tree: &Tree<Self>, gold: &Tree<Self>) -> u32 {
        u32::from(tree != gold)
    }
}

/// The examples of a system with an exact oracle.
pub trait Exact: Fixture {
    /// Law 6: compares the oracle with exhaustive search.
    fn check();

    /// A system with random tables (labels and where they may stand, temporaries, limits, roots) and a random gold tree
    /// that it has the labels for.
    fn draw(rng: &mut Rng) -> (Self::System, Tree<Self>);

    /// Law 6 in every reachable configuration; gives how many there are.
    fn check_everywhere(system: &Self::System, gold: &Tree<Self>) -> usize;
}

/// Law 6 in every reachable configuration of random systems, 40 of them or as many as `TREEWRIGHT_LAWS` says.
pub fn exact_with_random_tables<F: Exact>() {
    let wanted = std::env::var("TREEWRIGHT_LAWS").ok().and_then(|count| count.parse().ok());
    let (n_systems, mut n_configurations) = (wanted.unwrap_or(40), 0);
    for seed in 0..n_systems {
        let (system, gold) = F::draw(&mut Rng::new(seed));
        let check = std::panic::AssertUnwindSafe(|| F::check_everywhere(&system, &gold));
        let checked = std::panic::catch_unwind(check);
        n_configurations += checked.unwrap_or_else(|_| {
            let tables = serde_json::to_string(&system).expect("tables are plain values");
            panic!("system number {seed} with the tables {tables} and gold {gold:?}")
        });
    }
    let name = F::System::TAG.name();
    println!("{name}: exact in all {n_configurations} configurations of {n_systems} systems");
}

/// The trees of a fixture.
pub type Tree<F> = <<F as Fixture>::System as TransitionSystem>::Tree;

/// Walks over sentences of some lengths.
pub struct Walks<S> {
    pub system: S,
    pub lengths: RangeInclusive<usize>,
    /// How many random walks for each length.
    pub count: usize,
    /// Law 5: does every tree have one derivation?
    pub one_derivation: bool,
    /// Is the longest walk as long as `max_steps` says? Only where every walk is tried.
    pub is_tight: bool,
}

impl<S> Walks<S> {
    /// Random walks, this many for each length.
    pub fn random(system: S, lengths: RangeInclusive<usize>, count: usize, one_derivation: bool) -> Self {
        Walks { system, lengths, count, one_derivation, is_tight: false }
    }

    /// Every walk; the longest is as long as the bound.
    pub fn every(system: S, lengths: RangeInclusive<usize>, one_derivation: bool) -> Self {
        Walks { system, lengths, count: 0, one_derivation, is_tight: true }
    }
}

/// Trees over words.
pub trait Words: ParserTree {
    /// How many words there are.
    fn n_words(&self) -> usize;
}

impl Words for ConstituentTree {
    fn n_words(&self) -> usize {
        self.n_tokens()
    }
}

impl Words for BinaryTree {
    fn n_words(&self) -> usize {
        self.n_tokens()
    }
}

impl Words for DependencyTree {
    fn n_words(&self) -> usize {
        self.len()
    }
}

/// The tables of a system pass their own check and survive serde, and every action is found by its name.
pub fn tables_are_sound<F: Fixture>() {
    let golds = F::golds().into_iter().map(|(system, _)| system);
    let walks = F::random_walks().into_iter().chain(F::every_walk()).map(|walks| walks.system);
    for system in golds.chain(walks) {
        assert_eq!(system.check_tables(), Ok(()));
        let text = serde_json::to_string(&system).expect("tables are plain values");
        let again: F::System = serde_json::from_str(&text).expect("what was written is read");
        assert_eq!(serde_json::to_string(&again).expect("again"), text);
        assert_eq!(again.n_actions(), system.n_actions());
        for id in (0..system.n_actions()).map(ActionId::new) {
            assert_eq!(system.action(&system.name(id)), Some(id), "{}", system.name(id));
            assert_eq!(again.name(id), system.name(id));
        }
    }
}

/// Law 1 for a fixture.
pub fn derivations_rebuild<F: Fixture>() {
    for (system, golds) in F::golds().into_iter().chain(F::large_golds()) {
        golds.iter().for_each(|gold| derivation_rebuilds(&system, gold, gold.n_words()));
    }
}

/// Laws 2 to 5 for a fixture.
pub fn walks_end_in_trees<F: Fixture>() {
    for walks in F::random_walks() {
        let system = &walks.system;
        for n in walks.lengths {
            let check = |tree: &Tree<F>| F::check_tree(system, tree, n);
            random_walks(system, n, walks.count, n as u64, walks.one_derivation, check);
        }
    }
    for walks in F::every_walk() {
        let system = &walks.system;
        for n in walks.lengths {
            let found = finished_walks(system, n, walks.one_derivation, |tree, _| {
                F::check_tree(system, tree, n);
            });
            let is_tight = found.longest == system.max_steps(n);
            assert!(is_tight || !walks.is_tight, "{n} words: {found:?}");
        }
    }
}

/// Law 6, first half, for a fixture.
pub fn optimal_walks_give_gold<F: Fixture>() {
    for (system, golds) in F::golds() {
        for (seed, gold) in golds.iter().enumerate() {
            let oracle = <F::System as Registered>::Dynamic::for_gold(&system, gold)
                .expect("a tree that the system can build");
            let found = optimal_walk(&system, &oracle, gold.n_words(), seed as u64);
            assert_eq!(F::loss(&found, gold), 0, "{found:?} for {gold:?}");
        }
    }
}

/// The number of walks to the end, and the lengths of the shortest and the longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    pub count: usize,
    pub shortest: usize,
    pub longest: usize,
}

/// Laws 2 and 3 (and 5 with `one_derivation`) for every walk over `n` words; `visit` sees each finished tree.
#[track_caller]
pub fn finished_walks<S: TransitionSystem>(
    system: &S,
    n: usize,
    one_derivation: bool,
    mut visit: impl FnMut(&S::Tree, &[ActionId]),
) -> Finished {
    let mut found = Finished { count: 0, shortest: usize::MAX, longest: 0 };
    every_walk(system, n, |forest, state, walk| {
        assert!(walk.len() <= system.max_steps(n), "no end after {}", names(system, walk));
        if system.is_final(forest, state) {
            found.count += 1;
            found.shortest = found.shortest.min(walk.len());
            found.longest = found.longest.max(walk.len());
            let tree = system.tree(forest, state);
            if one_derivation {
                assert_eq!(system.derive(&tree).as_deref(), Ok(walk), "{}", names(system, walk));
            }
            visit(&tree, walk);
        }
        true
    });
    found
}

/// A sentence of `n` made-up words.
pub fn sentence(n: usize) -> Sentence {
    let tokens = (0..n).map(|i| Token::new(format!("w{i}"), "T")).collect();
    Sentence { tokens, ..Sentence::default() }
}

/// The names of a derivation, for messages.
pub fn names<S: TransitionSystem>(system: &S, actions: &[ActionId]) -> String {
    actions.iter().map(|&action| system.name(action)).collect::<Vec<_>>().join(" ")
}

/// Law 1: every gold action is legal, no final state comes early, and the derivation rebuilds the tree.
#[track_caller]
pub fn derivation_rebuilds<S: TransitionSystem>(system: &S, gold: &S::Tree, n: usize) {
    let actions = system.derive(gold).unwrap_or_else(|why| panic!("{why}: {gold:?}"));
    assert!(actions.len() <= system.max_steps(n), "{} steps for {n} words", actions.len());
    let mut forest = Forest::new();
    let mut legal = ActionSet::new(system.n_actions());
    let mut state = system.start(&mut forest, &sentence(n));
    for (i, &action) in actions.iter().enumerate() {
        let so_far = || names(system, &actions[..i]);
        assert!(!system.is_final(&forest, &state), "final too early, after {} for {gold:?}", so_far());
        system.legal(&forest, &state, &mut legal);
        assert!(legal.contains(action), "{} is illegal after {} for {gold:?}", system.name(action), so_far());
        state = system.apply(&mut forest, &state, action);
    }
    assert!(system.is_final(&forest, &state), "not final after {}", names(system, &actions));
    assert_eq!(&system.tree(&forest, &state), gold, "after {}", names(system, &actions));
    assert_eq!(forest.history(system.view(&state).past), actions, "the past holds the derivation");
}

/// Laws 2 to 4 (and 5 with `one_derivation`): random walks never get stuck, end in time, and give trees that `check`
/// accepts and that `derive` leads back to.
#[track_caller]
pub fn random_walks<S: TransitionSystem>(
    system: &S,
    n: usize,
    count: usize,
    seed: u64,
    one_derivation: bool,
    check: impl Fn(&S::Tree),
) {
    let mut rng = Rng::new(seed);
    let mut forest = Forest::new();
    let mut legal = ActionSet::new(system.n_actions());
    for _ in 0..count {
        let mut state = system.start(&mut forest, &sentence(n));
        let mut walk = Vec::new();
        while !system.is_final(&forest, &state) {
            system.legal(&forest, &state, &mut legal);
            assert!(!legal.is_empty(), "dead end after {}", names(system, &walk));
            assert!(walk.len() < system.max_steps(n), "no end after {}", names(system, &walk));
            let action = legal.iter().nth(rng.below(legal.len())).expect("within the set");
            state = system.apply(&mut forest, &state, action);
            walk.push(action);
        }
        let tree = system.tree(&forest, &state);
        check(&tree);
        if one_derivation {
            let again =
                system.derive(&tree).unwrap_or_else(|why| panic!("{why} after {}", names(system, &walk)));
            assert_eq!(names(system, &again), names(system, &walk));
        }
    }
}

/// Takes actions out of the legal ones of a state.
pub type Restrict<'a, S> = &'a dyn Fn(&Forest, &<S as TransitionSystem>::State, &mut ActionSet);

/// Visits every walk over `n` words depth first: `visit(forest, state, walk)` for every state, final ones included,
/// and says whether to go on below it.
pub fn every_walk<S: TransitionSystem>(
    system: &S,
    n: usize,
    visit: impl FnMut(&mut Forest, &S::State, &[ActionId]) -> bool,
) {
    every_walk_within(system, n, &|_, _, _| (), visit);
}

/// [`every_walk`], of the walks that `restrict` leaves.
pub fn every_walk_within<S: TransitionSystem>(
    system: &S,
    n: usize,
    restrict: Restrict<S>,
    mut visit: impl FnMut(&mut Forest, &S::State, &[ActionId]) -> bool,
) {
    let mut forest = Forest::new();
    let start = system.start(&mut forest, &sentence(n));
    let mut legal = ActionSet::new(system.n_actions());
    // (state, actions still to try); the walk is one shorter than this stack.
    let mut walk: Vec<ActionId> = Vec::new();
    let mut stack: Vec<(S::State, Vec<ActionId>)> = Vec::new();
    let mut expand = |forest: &mut Forest, state: S::State, walk: &[ActionId]| {
        let mut todo = Vec::new();
        if visit(forest, &state, walk) && !system.is_final(forest, &state) {
            system.legal(forest, &state, &mut legal);
            restrict(forest, &state, &mut legal);
            assert!(!legal.is_empty(), "dead end after {}", names(system, walk));
            todo.extend(legal.iter());
            todo.reverse();
        }
        (state, todo)
    };
    stack.push(expand(&mut forest, start, &walk));
    while let Some((state, todo)) = stack.last_mut() {
        if let Some(action) = todo.pop() {
            let next = system.apply(&mut forest, &*state, action);
            walk.push(action);
            stack.push(expand(&mut forest, next, &walk));
        } else {
            stack.pop();
            walk.pop();
        }
    }
}

/// Everything a view can see, as numbers: two configurations with the same key look the same from here on, as far as
/// the forest can tell. Flags a system keeps outside the view go into the caller's own part of the key.
pub fn key(forest: &Forest, view: &View) -> Vec<u32> {
    let mut key = vec![view.next.index() as u32, view.n_deque];
    let mut todo: Vec<Option<NodeId>> = Vec::new();
    for chain in [view.stack, view.deque, view.buffer] {
        todo.extend(forest.chain(chain).map(Some));
        todo.push(None);
    }
    todo.push(view.deque_top);
    // Children are written after their parent's numbers, so that no two configurations have the same sequence.
    todo.reverse();
    while let Some(item) = todo.pop() {
        let Some(node) = item else {
            key.push(u32::MAX);
            continue;
        };
        let Node { kind, label, head, left, right, .. } = *forest.node(node);
        let parts: Vec<NodeId> = if forest.children(node).is_empty() {
            forest.dependents(node).collect()
        } else {
            forest.children(node).to_vec()
        };
        key.extend([kind as u32, label.map_or(0, |l| l.index() as u32 + 1), head.index() as u32]);
        key.extend([left.index() as u32, right.index() as u32, parts.len() as u32]);
        todo.extend(parts.into_iter().rev().map(Some));
    }
    key
}

/// The smallest loss of any finished parse reachable from a state, by memoised exhaustive search. The state graph of
/// a system that ends within `max_steps` has no cycles, so depth-first search is enough.
pub struct Exhaustive<'a, S: TransitionSystem> {
    /// The system; give it small limits, or the search never ends.
    pub system: &'a S,
    /// The loss of a finished tree.
    pub loss: &'a dyn Fn(&S::Tree) -> u32,
    /// What a state holds beside its view.
    pub flags: &'a dyn Fn(&Forest, &S::State) -> Vec<u32>,
    /// Which actions the search may not take.
    pub restrict: Restrict<'a, S>,
    /// What has been found out so far.
    pub memo: FxHashMap<Vec<u32>, u32>,
}

impl<'a, S: TransitionSystem> Exhaustive<'a, S> {
    /// A search that has seen nothing yet. Everything `loss` depends on must be visible in the view: the memo is
    /// keyed by the whole configuration, with all that was built.
    pub fn new(
        system: &'a S,
        loss: &'a dyn Fn(&S::Tree) -> u32,
        flags: &'a dyn Fn(&Forest, &S::State) -> Vec<u32>,
    ) -> Self {
        Exhaustive { system, loss, flags, restrict: &|_, _, _| (), memo: FxHashMap::default() }
    }

    /// The loss of one state. Recursion is bounded by the length of a derivation of a few words.
    pub fn loss(&mut self, forest: &mut Forest, state: &S::State) -> u32 {
        let view = self.system.view(state);
        let mut memo_key = key(forest, &view);
        memo_key.extend((self.flags)(forest, state));
        if let Some(&loss) = self.memo.get(&memo_key) {
            return loss;
        }
        let loss = if self.system.is_final(forest, state) {
            (self.loss)(&self.system.tree(forest, state))
        } else {
            let mut legal = ActionSet::new(self.system.n_actions());
            self.system.legal(forest, state, &mut legal);
            (self.restrict)(forest, state, &mut legal);
            let after = legal.iter().map(|action| {
                let next = self.system.apply(forest, state, action);
                self.loss(forest, &next)
            });
            after.min().expect("a state that is not final has a legal action")
        };
        self.memo.insert(memo_key, loss);
        loss
    }
}

/// Law 6, second half: in every state that `visit` lets in, the oracle's loss is the exhaustive one, the loss after
/// each legal action too, and the optimal actions are exactly those of cost 0, all within what the oracle's `restrict`
/// leaves. A state that is met again by another walk has its loss checked again, for oracles that keep a record of the walk. Returns
/// how many states were checked.
#[track_caller]
pub fn oracle_is_exact<S: TransitionSystem, O: Oracle<S> + Clone>(
    system: &S,
    oracle: &O,
    n: usize,
    loss: &dyn Fn(&S::Tree) -> u32,
    flags: &dyn Fn(&Forest, &S::State) -> Vec<u32>,
    visit: impl Fn(&Forest, &S::State) -> bool,
) -> usize {
    let restrict = |forest: &Forest, state: &S::State, legal: &mut ActionSet| {
        oracle.restrict(system, forest, state, legal);
    };
    let mut search = Exhaustive::new(system, loss, flags);
    search.restrict = &restrict;
    let mut seen = FxHashSet::default();
    let mut oracles = vec![oracle.clone()];
    let mut checked = 0;
    // The oracle at each depth of the walk, so that those that keep a record see every step.
    let mut trail: Vec<S::State> = Vec::new();
    every_walk_within(system, n, &restrict, |forest, state, walk| {
        oracles.truncate(walk.len().max(1));
        trail.truncate(walk.len());
        if let Some(&action) = walk.last()
            && oracles.len() == walk.len()
        {
            let mut next = oracles[walk.len() - 1].clone();
            next.advance(system, forest, &trail[walk.len() - 1], action);
            oracles.push(next);
        }
        trail.push(*state);
        let mut state_key = key(forest, &system.view(state));
        state_key.extend(flags(forest, state));
        if !visit(forest, state) {
            return false;
        }
        let oracle = oracles.last_mut().expect("one per depth");
        if !seen.insert(state_key) {
            let truth = search.loss(forest, state);
            assert_eq!(oracle.loss(system, forest, state), Some(truth), "after [{}]", names(system, walk));
            return false;
        }
        checked += 1;
        oracle_agrees(system, oracle, forest, state, &mut |forest, state| search.loss(forest, state));
        true
    });
    checked
}

/// Law 6 in one state: the oracle's loss is the true one, the loss after each legal action too, and the optimal actions
/// are exactly those of cost 0, all within what the oracle's `restrict` leaves.
#[track_caller]
pub fn oracle_agrees<S: TransitionSystem, O: Oracle<S> + Clone>(
    system: &S,
    oracle: &mut O,
    forest: &mut Forest,
    state: &S::State,
    true_loss: &mut dyn FnMut(&mut Forest, &S::State) -> u32,
) {
    let truth = true_loss(forest, state);
    let so_far = |forest: &Forest| names(system, &forest.history(system.view(state).past));
    assert_eq!(oracle.loss(system, forest, state), Some(truth), "loss after [{}]", so_far(forest));
    let (mut legal, mut optimal) = (ActionSet::default(), ActionSet::default());
    system.legal(forest, state, &mut legal);
    oracle.restrict(system, forest, state, &mut legal);
    oracle.optimal(system, forest, state, &legal, &mut optimal);
    assert_eq!(optimal.is_empty(), legal.is_empty(), "what is optimal after [{}]?", so_far(forest));
    for action in legal.iter() {
        let next = system.apply(forest, state, action);
        let (after, name) = (true_loss(forest, &next), system.name(action));
        let told = oracle.loss_after(system, forest, state, action);
        assert_eq!(told, Some(after), "loss after [{}] {name}", so_far(forest));
        assert_eq!(optimal.contains(action), after == truth, "is {name} optimal after [{}]?", so_far(forest));
    }
}

/// The tree that a walk of optimal actions (random ones among them) from the start builds.
#[track_caller]
pub fn optimal_walk<S: TransitionSystem, O: Oracle<S> + Clone>(
    system: &S,
    oracle: &O,
    n: usize,
    seed: u64,
) -> S::Tree {
    let mut rng = Rng::new(seed);
    let mut oracle = oracle.clone();
    let mut forest = Forest::new();
    let (mut legal, mut optimal) = (ActionSet::new(system.n_actions()), ActionSet::new(system.n_actions()));
    let mut state = system.start(&mut forest, &sentence(n));
    while !system.is_final(&forest, &state) {
        system.legal(&forest, &state, &mut legal);
        oracle.restrict(system, &forest, &state, &mut legal);
        oracle.optimal(system, &mut forest, &state, &legal, &mut optimal);
        let past = forest.history(system.view(&state).past);
        assert!(!optimal.is_empty(), "no optimal action after {}", names(system, &past));
        let action = optimal.iter().nth(rng.below(optimal.len())).expect("within the set");
        oracle.advance(system, &forest, &state, action);
        state = system.apply(&mut forest, &state, action);
    }
    system.tree(&forest, &state)
}
