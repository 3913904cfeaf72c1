//! (Tests only) small continuous constituent trees: from text, at random, and all of them.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::forest::{Forest, Kind};
use crate::ids::{LabelId, TokenIdx};
use crate::laws;
use crate::oracle::Oracle;
use crate::rng::Rng;
use crate::system::{ActionSet, TransitionSystem};
use crate::systems::Labels;
use crate::systems::gold;
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
pub const LABELS: [&str; 2] = ["A", "B"];

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
pub fn random_below_root(rng: &mut Rng, n: usize) -> ConstituentTree {
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
pub fn all(n: usize, max_unary: usize) -> Vec<ConstituentTree> {
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
pub fn loss(a: &ConstituentTree, b: &ConstituentTree) -> u32 {
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
pub struct Search<'a, S: TransitionSystem> {
    system: &'a S,
    /// Gold constituents by end, as (start, label), sorted.
    gold: Vec<Vec<(u32, LabelId)>>,
    flags: &'a dyn Fn(&S::State) -> [u32; 3],
    memo: FxHashMap<Vec<u32>, u32>,
}

impl<'a, S: TransitionSystem<Tree = ConstituentTree>> Search<'a, S> {
    pub fn new(
        system: &'a S,
        labels: &Labels,
        gold: &ConstituentTree,
        flags: &'a dyn Fn(&S::State) -> [u32; 3],
    ) -> Self {
        let mut by_end = vec![Vec::new(); gold.n_tokens() + 1];
        for g in gold::constituents(labels, gold).expect("known labels") {
            by_end[g.right as usize].push((g.left, g.label));
        }
        by_end.iter_mut().for_each(|list| list.sort_unstable());
        Search { system, gold: by_end, flags, memo: FxHashMap::default() }
    }

    /// The loss of a configuration.
    pub fn loss(&mut self, forest: &mut Forest, state: &S::State) -> u32 {
        let (settled, here) = self.settled(forest, state);
        settled + self.to_go(forest, state, &here)
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
        key.extend((self.flags)(state));
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
    fn to_go(&mut self, forest: &mut Forest, state: &S::State, here: &[(u32, LabelId)]) -> u32 {
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
                    return difference(here, &self.gold[next]) + self.to_go(forest, &after, &[]);
                }
                if self.system.name(action) != "RE" {
                    return self.to_go(forest, &after, here);
                }
                let top = *forest.node(forest.cell(view.stack.expect("just built")).node);
                let mut here = here.to_vec();
                here.push((top.left.index() as u32, top.label.expect("labelled")));
                here.sort_unstable();
                self.to_go(forest, &after, &here)
            });
            after.min().expect("a state that is not final has a legal action")
        };
        self.memo.insert(key, loss);
        loss
    }
}

/// Law 6 by [`Search`]: in every configuration that `visit` lets in, the oracle's loss is the exhaustive one, the loss
/// after each legal action too, and the optimal actions are exactly those of cost 0. Configurations with the same
/// future and the same settled loss are checked once. Returns how many were checked.
#[track_caller]
pub fn oracle_is_exact<S, O>(
    system: &S,
    labels: &Labels,
    gold: &ConstituentTree,
    flags: &dyn Fn(&S::State) -> [u32; 3],
    visit: impl Fn(&S::State) -> bool,
) -> usize
where
    S: TransitionSystem<Tree = ConstituentTree>,
    O: Oracle<S>,
{
    let mut search = Search::new(system, labels, gold, flags);
    let mut seen = FxHashSet::default();
    let mut forest = Forest::new();
    let start = system.start(&mut forest, &laws::sentence(gold.n_tokens()));
    let oracle = O::for_gold(system, gold).expect("a derivable tree");
    let mut todo = vec![(start, oracle)];
    while let Some((state, mut oracle)) = todo.pop() {
        let (settled, here) = search.settled(&forest, &state);
        let mut key = search.key(&forest, &state, &here);
        key.push(settled);
        if !visit(&state) || !seen.insert(key) {
            continue;
        }
        check_state(system, &mut search, &mut forest, &state, &mut oracle);
        let mut legal = ActionSet::default();
        system.legal(&forest, &state, &mut legal);
        for action in legal.iter() {
            let mut after = oracle.clone();
            after.advance(system, &forest, &state, action);
            todo.push((system.apply(&mut forest, &state, action), after));
        }
    }
    seen.len()
}

/// One configuration of the above.
#[track_caller]
pub fn check_state<S, O>(
    system: &S,
    search: &mut Search<'_, S>,
    forest: &mut Forest,
    state: &S::State,
    oracle: &mut O,
) where
    S: TransitionSystem<Tree = ConstituentTree>,
    O: Oracle<S>,
{
    let truth = search.loss(forest, state);
    let so_far = |forest: &Forest| laws::names(system, &forest.history(system.view(state).past));
    assert_eq!(
        oracle.loss(system, forest, state),
        Some(truth),
        "loss after [{}] for {:?}",
        so_far(forest),
        search.gold
    );
    let (mut legal, mut optimal) = (ActionSet::default(), ActionSet::default());
    system.legal(forest, state, &mut legal);
    oracle.optimal(system, forest, state, &legal, &mut optimal);
    for action in legal.iter() {
        let next = system.apply(forest, state, action);
        let after = search.loss(forest, &next);
        let name = system.name(action);
        let told = oracle.loss_after(system, forest, state, action);
        assert_eq!(told, Some(after), "[{}] {name} for {:?}", so_far(forest), search.gold);
        assert_eq!(
            optimal.contains(action),
            after == truth,
            "is {name} optimal after [{}] for {:?}?",
            so_far(forest),
            search.gold
        );
    }
}

/// Walks at random to the end, with an oracle at hand in every configuration.
pub fn random_walk<S, O>(
    system: &S,
    gold: &ConstituentTree,
    rng: &mut Rng,
    mut visit: impl FnMut(&mut Forest, &S::State, &mut O),
) where
    S: TransitionSystem<Tree = ConstituentTree>,
    O: Oracle<S>,
{
    let mut forest = Forest::new();
    let mut state = system.start(&mut forest, &laws::sentence(gold.n_tokens()));
    let mut oracle = O::for_gold(system, gold).expect("a derivable tree");
    let mut legal = ActionSet::default();
    loop {
        visit(&mut forest, &state, &mut oracle);
        system.legal(&forest, &state, &mut legal);
        if legal.is_empty() {
            return;
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

/// Treebanks that differ in where labels stand: for each, trees that say what is seen where, and gold trees.
pub fn root_treebanks() -> Vec<(Vec<ConstituentTree>, Vec<ConstituentTree>)> {
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
