//! (Tests only) small continuous constituent trees: from text, at random, and all of them; and what the systems with
//! openings, top-down and in-order, are tried on.

use std::marker::PhantomData;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::forest::{Forest, Kind};
use crate::ids::{LabelId, TokenIdx};
use crate::laws;
use crate::oracle::Oracle;
use crate::registry::Registered;
use crate::rng::Rng;
use crate::system::{ActionSet, SystemOptions, TransitionSystem};
use crate::systems::gold;
use crate::systems::paper::{OpeningSystem, PaperOracle};
use crate::tree::{Child, ConstituentTree, TreeBuilder};

/// The tree of a bracketing whose leaves are bare words, such as `(A (B w0) w1)`.
pub fn tree(text: &str) -> ConstituentTree {
    let mut builder = TreeBuilder::with_tokens(0);
    let (mut open, mut n) = (Vec::new(), 0);
    let text = text.replace('(', " ( ").replace(')', " ) ");
    let mut parts = text.split_whitespace();
    while let Some(part) = parts.next() {
        match part {
            "(" => {
                let node = builder.node(parts.next().expect("a label follows a bracket"));
                if let Some(&parent) = open.last() {
                    builder.attach(Child::Node(node), parent);
                }
                open.push(node);
            }
            ")" => drop(open.pop()),
            _ => {
                builder
                    .attach(Child::Token(TokenIdx::new(n)), *open.last().expect("words stand in brackets"));
                n += 1;
            }
        }
    }
    builder.finish().expect("a tree")
}

/// The labels that the trees below use.
const LABELS: [&str; 2] = ["A", "B"];

/// A random tree over `n` words with unary chains of up to `max_unary`.
pub fn random(rng: &mut Rng, n: usize, max_unary: usize) -> ConstituentTree {
    let mut text = String::new();
    write_random(rng, 0, n, max_unary, &mut text);
    if n == 1 && !text.starts_with('(') {
        text = format!("(A {text})");
    }
    tree(&text)
}

/// A random tree without unaries, below a root whose label stands nowhere else.
fn random_below_root(rng: &mut Rng, n: usize) -> ConstituentTree {
    let mut text = String::from("(R ");
    write_random(rng, 0, n, 0, &mut text);
    tree(&(text + ")"))
}

fn write_random(rng: &mut Rng, left: usize, right: usize, max_unary: usize, out: &mut String) {
    // Chains are rare, so that most trees look like trees.
    let chain = (0..max_unary).take_while(|_| rng.below(4) == 0).count();
    for _ in 0..chain {
        out.push_str(&format!("({} ", LABELS[rng.below(2)]));
    }
    if right - left == 1 {
        out.push_str(&format!("w{left}"));
    } else {
        out.push_str(&format!("({}", LABELS[rng.below(2)]));
        let mut ends: Vec<usize> = (left + 1..right).filter(|_| rng.below(3) == 0).collect();
        if ends.is_empty() {
            ends.push(left + 1 + rng.below(right - left - 1));
        }
        ends.push(right);
        let mut start = left;
        for end in ends {
            out.push(' ');
            write_random(rng, start, end, max_unary, out);
            start = end;
        }
        out.push(')');
    }
    for _ in 0..chain {
        out.push(')');
    }
}

/// Every tree over `n` words with the two labels and unary chains of up to `max_unary`.
fn all(n: usize, max_unary: usize) -> Vec<ConstituentTree> {
    let mut texts = all_items(0, n, max_unary);
    texts.retain(|text| text.starts_with('('));
    texts.iter().map(|text| tree(text)).collect()
}

/// Every subtree over `left..right`, the bare word included.
fn all_items(left: usize, right: usize, max_unary: usize) -> Vec<String> {
    let mut items = Vec::new();
    if right - left == 1 {
        items.push(format!("w{left}"));
    } else {
        for inside in all_sequences(left, right, max_unary, 2) {
            items.extend(LABELS.map(|label| format!("({label}{inside})")));
        }
    }
    let mut newest = 0;
    for _ in 0..max_unary {
        let end = items.len();
        for i in newest..end {
            let above = LABELS.map(|label| format!("({label} {})", items[i]));
            items.extend(above);
        }
        newest = end;
    }
    items
}

/// Every sequence of at least `at_least` subtrees over `left..right`.
fn all_sequences(left: usize, right: usize, max_unary: usize, at_least: usize) -> Vec<String> {
    let mut sequences = Vec::new();
    if at_least <= 1 {
        sequences.extend(all_items(left, right, max_unary).iter().map(|item| format!(" {item}")));
    }
    for end in left + 1..right {
        let rest = all_sequences(end, right, max_unary, at_least.saturating_sub(1).max(1));
        for first in all_items(left, end, max_unary) {
            sequences.extend(rest.iter().map(|rest| format!(" {first}{rest}")));
        }
    }
    sequences
}

/// The size of the multiset symmetric difference between the constituents of two trees.
fn loss(a: &ConstituentTree, b: &ConstituentTree) -> u32 {
    let sorted = |tree: &ConstituentTree| {
        let mut spans: Vec<_> =
            tree.nodes().map(|(_, node)| (node.span().start, node.span().end, node.label.clone())).collect();
        spans.sort();
        spans
    };
    difference(&sorted(a), &sorted(b))
}

/// The size of the multiset symmetric difference of two sorted lists.
fn difference<T: Ord>(a: &[T], b: &[T]) -> u32 {
    let (mut i, mut k, mut same) = (0, 0, 0);
    while i < a.len() && k < b.len() {
        match a[i].cmp(&b[k]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => k += 1,
            std::cmp::Ordering::Equal => (i, k, same) = (i + 1, k + 1, same + 1),
        }
    }
    (a.len() + b.len() - 2 * same) as u32
}

/// What can still be lost from a configuration on, by memoised exhaustive search through the system itself.
///
/// Constituents that end before b0 are settled, so the memo need not know them: the key is the stack's openings and
/// items by start, what was built up to b0, and the state's flags. That makes many more configurations searchable
/// than `laws::Exhaustive`, which looks at finished trees only, and is checked against it.
struct Search<'a, S: TransitionSystem> {
    system: &'a S,
    /// Gold constituents by end, as (start, label), sorted.
    gold: Vec<Vec<(u32, LabelId)>>,
    memo: FxHashMap<Vec<u32>, u32>,
}

impl<'a, S: BracketFixture> Search<'a, S> {
    fn new(system: &'a S, gold: &ConstituentTree) -> Self {
        let mut by_end = vec![Vec::new(); gold.n_tokens() + 1];
        for g in gold::constituents(system.label_table(), gold).expect("known labels") {
            by_end[g.right as usize].push((g.left, g.label));
        }
        by_end.iter_mut().for_each(|list| list.sort_unstable());
        Search { system, gold: by_end, memo: FxHashMap::default() }
    }

    /// The loss of a configuration.
    fn loss(&mut self, forest: &mut Forest, state: &S::State) -> u32 {
        let (settled, here) = self.settled(forest, state);
        settled + self.loss_to_go(forest, state, &here)
    }

    /// The loss at ends before b0, and what was built up to b0.
    fn settled(&self, forest: &Forest, state: &S::State) -> (u32, Vec<(u32, LabelId)>) {
        let mut built = vec![Vec::new(); self.gold.len()];
        let view = self.system.view(state);
        let mut todo: Vec<_> = forest.chain(view.stack).collect();
        while let Some(id) = todo.pop() {
            let node = forest.node(id);
            if node.kind == Kind::Constituent {
                built[node.right.index()].push((node.left.index() as u32, node.label.expect("labelled")));
                todo.extend(forest.children(id));
            }
        }
        built.iter_mut().for_each(|list| list.sort_unstable());
        let next = view.next.index();
        let settled = (0..next).map(|end| difference(&built[end], &self.gold[end])).sum();
        (settled, built.swap_remove(next))
    }

    fn key(&self, forest: &Forest, state: &S::State, here: &[(u32, LabelId)]) -> Vec<u32> {
        let view = self.system.view(state);
        let mut key = vec![view.next.index() as u32];
        key.extend(S::flags(state));
        for id in forest.chain(view.stack) {
            let node = forest.node(id);
            key.extend([node.kind as u32, node.left.index() as u32]);
            // What covers the beginning may be the root, so its label matters.
            let is_labelled = node.kind == Kind::Opening || node.left.index() == 0;
            key.extend(node.label.filter(|_| is_labelled).map(|label| label.index() as u32));
        }
        key.push(u32::MAX);
        key.extend(here.iter().flat_map(|&(left, label)| [left, label.index() as u32]));
        key
    }

    /// The loss at ends from b0 on; `here` was built and ends at b0.
    fn loss_to_go(&mut self, forest: &mut Forest, state: &S::State, here: &[(u32, LabelId)]) -> u32 {
        let view = self.system.view(state);
        let next = view.next.index();
        let key = self.key(forest, state, here);
        if let Some(&loss) = self.memo.get(&key) {
            return loss;
        }
        let loss = if self.system.is_final(forest, state) {
            difference(here, &self.gold[next])
        } else {
            let mut legal = ActionSet::default();
            self.system.legal(forest, state, &mut legal);
            let after = legal.iter().map(|action| {
                let after = self.system.apply(forest, state, action);
                let view = self.system.view(&after);
                if view.next.index() > next {
                    return difference(here, &self.gold[next]) + self.loss_to_go(forest, &after, &[]);
                }
                if self.system.name(action) != "RE" {
                    return self.loss_to_go(forest, &after, here);
                }
                let top = *forest.node(forest.cell(view.stack.expect("just built")).node);
                let mut here = here.to_vec();
                here.push((top.left.index() as u32, top.label.expect("labelled")));
                here.sort_unstable();
                self.loss_to_go(forest, &after, &here)
            });
            after.min().expect("a state that is not final has a legal action")
        };
        self.memo.insert(key, loss);
        loss
    }
}

/// Law 6 by [`Search`] in every configuration that has room below the limit, or in all with a margin of 0; beyond the others the search goes on only
/// where `passes_on` says so. Configurations with the same future and the same settled loss are checked once. Returns
/// how many were checked.
#[track_caller]
fn oracle_is_exact<S: BracketFixture>(
    system: &S,
    gold: &ConstituentTree,
    margin: u32,
    passes_on: bool,
) -> usize {
    let mut search = Search::new(system, gold);
    let (mut seen, mut checked) = (FxHashSet::default(), 0);
    let mut forest = Forest::new();
    let start = system.start(&mut forest, &laws::sentence(gold.n_tokens()));
    let mut todo = vec![(start, S::Dynamic::for_gold(system, gold).expect("a derivable tree"))];
    while let Some((state, mut oracle)) = todo.pop() {
        let (settled, here) = search.settled(&forest, &state);
        let mut key = search.key(&forest, &state, &here);
        key.push(settled);
        let has_room = margin == 0 || S::has_room(&state, margin);
        if !(has_room || passes_on) || !seen.insert(key) {
            continue;
        }
        if has_room {
            checked += 1;
            let mut loss = |forest: &mut Forest, state: &S::State| search.loss(forest, state);
            laws::oracle_agrees(system, &mut oracle, &mut forest, &state, &mut loss);
        }
        let mut legal = ActionSet::default();
        system.legal(&forest, &state, &mut legal);
        for action in legal.iter() {
            let mut after = oracle.clone();
            after.advance(system, &forest, &state, action);
            todo.push((system.apply(&mut forest, &state, action), after));
        }
    }
    checked
}

/// Law 6 by [`Search`] in those configurations of a random walk that `visit` lets in; returns how many there were.
#[track_caller]
fn oracle_is_exact_on_a_walk<S: BracketFixture>(
    system: &S,
    gold: &ConstituentTree,
    rng: &mut Rng,
    visit: impl Fn(&S::State) -> bool,
) -> usize {
    let mut search = Search::new(system, gold);
    let mut forest = Forest::new();
    let mut state = system.start(&mut forest, &laws::sentence(gold.n_tokens()));
    let mut oracle = S::Dynamic::for_gold(system, gold).expect("a derivable tree");
    let mut legal = ActionSet::default();
    let mut checked = 0;
    loop {
        if visit(&state) {
            checked += 1;
            let mut loss = |forest: &mut Forest, state: &S::State| search.loss(forest, state);
            laws::oracle_agrees(system, &mut oracle, &mut forest, &state, &mut loss);
        }
        system.legal(&forest, &state, &mut legal);
        if legal.is_empty() {
            return checked;
        }
        // Half of the time a gold-like action, so that the walks do not drown in openings.
        let action = if rng.below(2) == 0 {
            let mut optimal = ActionSet::default();
            oracle.optimal(system, &mut forest, &state, &legal, &mut optimal);
            optimal.iter().nth(rng.below(optimal.len())).expect("there is one")
        } else {
            legal.iter().nth(rng.below(legal.len())).expect("within the set")
        };
        oracle.advance(system, &forest, &state, action);
        state = system.apply(&mut forest, &state, action);
    }
}

/// What the law suite asks of a system with openings.
///
/// Most limits here are those of a gold tree and a margin, and only configurations with room left are looked at, which
/// makes larger trees searchable; in random systems the limits bind.
pub trait BracketFixture: OpeningSystem + Registered + Clone {
    /// How much larger than a gold tree's own the limit is: for small trees, for larger ones, and where labels keep to
    /// their places. A low one makes the search short; with a margin of 1 it must pass on beyond configurations without
    /// room, or it would end where it starts.
    const MARGINS: [u32; 3];
    /// How many random walks are looked at near their ends; and where labels keep to their places.
    const N_WALKS: [usize; 2];
    /// How many configurations are looked at, at least: of small trees, larger trees, near the end of random walks, by
    /// the search over finished trees, where labels keep to their places, and there near the end of random walks.
    const CHECKED: [usize; 6];

    /// Gold, actions, and the loss after them: as printed, and the true one.
    const PRINTED: &[(&str, &str, u32, u32)];
    /// A limit that is too low for `(A (B (A w0)) w1)`, and what is said then.
    const TOO_LOW: (u32, &str);
    /// The tables of a file without places, with a limit of 2.
    const OLD_TABLE: &str;

    /// The system with this limit.
    fn with_limit(&self, limit: Option<u32>) -> Self;

    /// The number of constituents of an own choice that there may be over `n` words under a limit, several words
    /// apart: the space to search grows with it.
    fn n_places(n: u32, limit: u32) -> u32;

    /// The lowest limit under which a gold tree can be built.
    fn least_limit(gold: &ConstituentTree) -> u32;

    /// The limit that a gold tree needs, as far as the oracle sees.
    fn needed(gold: &ConstituentTree) -> u32;

    /// Is there room below a limit that leaves this margin, even after one more step?
    fn has_room(state: &Self::State, margin: u32) -> bool;

    /// What a state holds beside its view.
    fn flags(state: &Self::State) -> [u32; 3];

    /// Is so little left to do that exhaustive search is quick?
    fn is_near_end(state: &Self::State, n: usize) -> bool;

    /// Is the search quick enough for this gold tree, from the start on?
    fn is_quick(gold: &ConstituentTree) -> bool;

    /// Is it near the end?
    fn is_quick_near_end(_gold: &ConstituentTree) -> bool {
        true
    }

    /// Is it where labels keep to their places?
    fn is_quick_with_roots(_gold: &ConstituentTree) -> bool {
        true
    }
}

/// The examples of a system with openings.
pub struct Brackets<S>(PhantomData<S>);

/// A system for these trees.
fn system_of<'a, S: BracketFixture>(trees: impl IntoIterator<Item = &'a ConstituentTree>) -> S {
    S::from_trees(trees.into_iter(), &SystemOptions::default())
}

/// A system with the two labels, which may stand anywhere.
pub fn anywhere<S: BracketFixture>(limit: Option<u32>) -> S {
    system_of::<S>(&[tree("(A (A w0) (B w1))"), tree("(B w0)")]).with_limit(limit)
}

impl<S: BracketFixture> laws::Fixture for Brackets<S> {
    type System = S;

    fn golds() -> Vec<(S, Vec<ConstituentTree>)> {
        let small = [(1, 3, 14), (2, 2, 686), (3, 1, 2106)].map(|(n, max_unary, count)| {
            let all = all(n, max_unary);
            assert_eq!(all.len(), count);
            (system_of(&all), all)
        });
        let mut rng = Rng::new(1);
        let random = (1..40).map(|n| random(&mut rng, n, 3)).map(|tree| (system_of([&tree]), vec![tree]));
        small.into_iter().chain(random).collect()
    }

    /// A deep tree needs no deep call stack.
    fn large_golds() -> Vec<(S, Vec<ConstituentTree>)> {
        let mut builder = TreeBuilder::with_tokens(1);
        let mut above = builder.node("A");
        for _ in 0..100_000 {
            let node = builder.node("A");
            builder.attach(Child::Node(node), above);
            above = node;
        }
        builder.attach(Child::Token(TokenIdx::new(0)), above);
        let tree = builder.finish().expect("a tree");
        vec![(system_of([&tree]), vec![tree])]
    }

    fn random_walks() -> Vec<laws::Walks<S>> {
        vec![laws::Walks::random(anywhere(Some(2)), 1..=7, 200, true)]
    }

    fn every_walk() -> Vec<laws::Walks<S>> {
        vec![
            laws::Walks::every(anywhere(Some(2)), 1..=1, true),
            laws::Walks::every(anywhere(Some(1)), 1..=2, true),
        ]
    }

    fn loss(tree: &ConstituentTree, gold: &ConstituentTree) -> u32 {
        loss(tree, gold)
    }
}

impl<S: BracketFixture> laws::Exact for Brackets<S> {
    fn check() {
        let [margin, margin_of_larger, margin_of_roots] = S::MARGINS;
        let with_margin = |gold: &ConstituentTree| anywhere::<S>(Some(S::needed(gold) + margin));
        let exact = |gold: &ConstituentTree, margin: u32| {
            let system = anywhere::<S>(Some(S::needed(gold) + margin));
            // The loss does not see in which order constituents over one span stand.
            let mut spans: Vec<_> = gold.nodes().map(|(_, node)| node.span()).collect();
            spans.dedup();
            if spans.len() == gold.n_nodes() {
                let oracle = S::Dynamic::for_gold(&system, gold).unwrap();
                assert_eq!(&laws::optimal_walk(&system, &oracle, gold.n_tokens(), 1), gold);
            }
            oracle_is_exact(&system, gold, margin, margin == 1)
        };
        let small: usize = all(1, 2).iter().chain(&all(2, 1)).map(|gold| exact(gold, margin)).sum();
        let mut rng = Rng::new(5);
        let mut larger = 0;
        for (n, count) in [(3, 8), (4, 2)] {
            let golds = std::iter::repeat_with(|| random(&mut rng, n, 1)).filter(S::is_quick).take(count);
            larger += golds.map(|gold| exact(&gold, margin_of_larger)).sum::<usize>();
        }
        let mut rng = Rng::new(8);
        let mut near_end = 0;
        for round in 0..S::N_WALKS[0] {
            let n = 4 + round % 5;
            let mut golds = std::iter::repeat_with(|| random(&mut rng, n, 1)).filter(S::is_quick_near_end);
            let gold = golds.next().expect("there is always another");
            near_end += oracle_is_exact_on_a_walk(&with_margin(&gold), &gold, &mut rng, |state| {
                S::is_near_end(state, n) && S::has_room(state, margin)
            });
        }
        let mut finished = 0;
        for gold in [tree("(A w0)"), tree("(A w0 w1)")] {
            let system = with_margin(&gold);
            finished += laws::oracle_is_exact(
                &system,
                &S::Dynamic::for_gold(&system, &gold).unwrap(),
                gold.n_tokens(),
                &|tree| loss(tree, &gold),
                &|_, state| S::flags(state).to_vec(),
                |_, state| S::has_room(state, margin),
            );
        }
        let (mut roots, mut refused) = (0, 0);
        for (seen, golds) in root_treebanks() {
            let system: S = system_of(&seen);
            for gold in golds.iter().filter(|gold| S::is_quick_with_roots(gold)) {
                let system = system.with_limit(Some(S::needed(gold) + margin_of_roots));
                // Labels keep to their places, and what `derive` accepts is what the system can build.
                if system.derive(gold).is_err() {
                    refused += 1;
                    continue;
                }
                laws::derivation_rebuilds(&system, gold, gold.n_tokens());
                roots += oracle_is_exact(&system, gold, margin_of_roots, false);
            }
        }
        assert!(refused > 50, "{refused} trees refused");
        let mut rng = Rng::new(9);
        let mut roots_near_end = 0;
        for round in 0..S::N_WALKS[1] {
            let n = 3 + round % 4;
            let gold = random_below_root(&mut rng, n);
            let system = system_of::<S>([&gold]).with_limit(Some(S::needed(&gold) + margin_of_roots));
            roots_near_end += oracle_is_exact_on_a_walk(&system, &gold, &mut rng, |state| {
                S::is_near_end(state, n) && S::has_room(state, margin_of_roots)
            });
        }
        let checked = [small, larger, near_end, finished, roots, roots_near_end];
        assert!(checked.iter().zip(S::CHECKED).all(|(&count, least)| count >= least), "{checked:?}");
    }

    fn draw(rng: &mut Rng) -> (S, ConstituentTree) {
        let inner: &[&str] = [&["A", "B"] as &[_], &["A"], &["A", "B", "C"], &[]][rng.below(4)];
        let roots: &[&str] = [&["R"] as &[_], &["R", "Q"], &["R", "A"], &["A"], &["A", "B"]][rng.below(5)];
        let n = 1 + rng.below(4);
        let root = roots[rng.below(roots.len())];
        let gold = random_with_labels(rng, n, inner, root);
        let limit = S::least_limit(&gold).max(1) + [0, 0, 1][rng.below(3)];
        let n_labels = inner.len().max(1) + roots.len();
        if n_labels.pow(S::n_places(n as u32, limit)) > 2000 {
            return Self::draw(rng);
        }
        let at_root = |label: &&str| tree(&format!("({label} w0 w1)"));
        let inside = |label: &&str| tree(&format!("({} ({label} w0) w1)", roots[0]));
        let seen: Vec<_> =
            roots.iter().map(at_root).chain(inner.iter().map(inside)).chain([gold.clone()]).collect();
        (system_of::<S>(&seen).with_limit(Some(limit)), gold)
    }

    fn check_everywhere(system: &S, gold: &ConstituentTree) -> usize {
        oracle_is_exact(system, gold, 0, false)
    }
}

/// A random tree with these labels inside, and chains of up to two constituents now and then.
fn random_with_labels(rng: &mut Rng, n: usize, inner: &[&str], root: &str) -> ConstituentTree {
    fn parts(rng: &mut Rng, left: usize, right: usize, inner: &[&str], at_least: usize, out: &mut String) {
        let mut ends: Vec<usize> = (left + 1..right).filter(|_| rng.below(2) == 0).collect();
        if ends.is_empty() && at_least > 1 && right - left > 1 {
            ends.push(left + 1 + rng.below(right - left - 1));
        }
        ends.push(right);
        let mut start = left;
        for end in ends {
            part(rng, start, end, inner, out);
            start = end;
        }
    }
    fn part(rng: &mut Rng, left: usize, right: usize, inner: &[&str], out: &mut String) {
        if inner.is_empty() {
            (left..right).for_each(|word| out.push_str(&format!(" w{word}")));
            return;
        }
        let chain = (0..2).take_while(|_| rng.below(4) == 0).count();
        (0..chain).for_each(|_| out.push_str(&format!(" ({}", inner[rng.below(inner.len())])));
        if right - left == 1 {
            out.push_str(&format!(" w{left}"));
        } else {
            out.push_str(&format!(" ({}", inner[rng.below(inner.len())]));
            parts(rng, left, right, inner, 2, out);
            out.push(')');
        }
        (0..chain).for_each(|_| out.push(')'));
    }
    let mut text = format!("({root}");
    let at_least = 1 + rng.below(4).min(1);
    parts(rng, 0, n, inner, at_least, &mut text);
    tree(&(text + ")"))
}

/// The printed loss differs from the true one where it is known to.
pub fn printed_losses<S: BracketFixture>() {
    for &(gold, actions, printed, truth) in S::PRINTED {
        let gold = tree(gold);
        let system: S = anywhere(None);
        let mut forest = Forest::new();
        let mut state = system.start(&mut forest, &laws::sentence(gold.n_tokens()));
        let mut paper: PaperOracle = Oracle::for_gold(&system, &gold).unwrap();
        let mut exact = S::Dynamic::for_gold(&system, &gold).unwrap();
        for name in actions.split_whitespace() {
            let action = system.action(name).unwrap();
            paper.advance(&system, &forest, &state, action);
            exact.advance(&system, &forest, &state, action);
            state = system.apply(&mut forest, &state, action);
        }
        assert_eq!(paper.loss(&system, &forest, &state), Some(printed), "printed, after {actions}");
        assert_eq!(exact.loss(&system, &forest, &state), Some(truth), "true, after {actions}");
    }
}

/// Files of older versions do not say where labels stood; then every label may stand everywhere.
pub fn tables_without_places<S: BracketFixture + PartialEq + std::fmt::Debug>() {
    let old: S = serde_json::from_str(S::OLD_TABLE).expect("a table");
    assert_eq!(old, anywhere(Some(2)));
}

/// Trees outside the tables are refused with a reason.
pub fn refusals<S: BracketFixture>() {
    let why = |limit, gold: &ConstituentTree| anywhere::<S>(Some(limit)).derive(gold).unwrap_err().0;
    assert_eq!(why(2, &tree("(A (C w0) w1)")), "the label C is not among the system's labels");
    let (limit, expected) = S::TOO_LOW;
    assert_eq!(why(limit, &tree("(A (B (A w0)) w1)")), expected);
    let mut gap = tree("(A (B w0) w1 w2)").to_builder();
    gap.move_to(Child::Token(TokenIdx::new(2)), crate::ids::NodeId::new(0));
    assert_eq!(why(2, &gap.finish().unwrap()), "B (from word 1 to word 3) is discontinuous");
}

/// Treebanks that differ in where labels stand: for each, trees that say what is seen where, and gold trees.
fn root_treebanks() -> Vec<(Vec<ConstituentTree>, Vec<ConstituentTree>)> {
    let some = all(2, 1).into_iter().step_by(7);
    let small: Vec<ConstituentTree> = all(1, 2).into_iter().chain(all(2, 0)).chain(some).collect();
    let more = [
        "(A (C w0))",
        "(A (C w0 w1))",
        "(A (C (B w0) w1))",
        "(A (C (B w0 w1)))",
        "(A (B (C w0 w1)))",
        "(A (C (C w0 w1)))",
        "(A (C w0) (C w1))",
        "(A (B w0) w1 w2)",
        "(A (C w0 w1) w2)",
        "(A (C (C w0 w1) w2))",
        "(C (B (C w0)) w1)",
        "(C (C w0 w1))",
    ];
    let more: Vec<ConstituentTree> = more.into_iter().map(tree).collect();
    let seen: [&[&str]; 7] = [
        // One label at roots and nowhere else.
        &["(A (B w0) w1)"],
        // One that is at roots and inside, and one only inside.
        &["(A (A w0) (B w1))"],
        // One only at roots, one at both.
        &["(A (B w0) w1)", "(B w0 w1)"],
        // Both only at roots, beside one that is inside.
        &["(A (C w0) w1)", "(B (C w0) w1)"],
        // One of each kind.
        &["(A (C w0) (B w1))", "(C w0 w1)"],
        // Two at both, one only inside.
        &["(A (A w0) (C w1))", "(C (B w0) w1)"],
        // Nothing inside.
        &["(A w0 w1)", "(B w0)"],
    ];
    seen.iter()
        .map(|seen| {
            (seen.iter().map(|text| tree(text)).collect(), small.iter().chain(&more).cloned().collect())
        })
        .collect()
}
