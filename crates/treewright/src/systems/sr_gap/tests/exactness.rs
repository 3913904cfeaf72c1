//! The dynamic oracle against exhaustive search, and against its definition.

use rustc_hash::{FxHashMap, FxHashSet};

use super::*;
use crate::forest::Kind;
use crate::oracle::Oracle;
use crate::systems::sr_gap::oracle::Gold;
use crate::tree::{BinaryTreeBuilder, Child};

const AB: Shape<'static> = Shape { inner: &["A", "B"], ..SMALL };

fn ab() -> SrGap {
    SrGap::new(Symbols::new(["A", "B"], ["X:"], ["ROOT"]))
}

/// (label, yield as bits) pairs of an n-ary tree.
type Pairs = FxHashSet<(LabelId, u32)>;

fn pairs(system: &SrGap, tree: &BinaryTree) -> Pairs {
    let tree = tree.unbinarize();
    let bits = |id| tree.tokens_under(id).iter().map(|token| 1 << token.index()).sum();
    tree.nodes().map(|(id, node)| (system.symbols.label(&node.label).unwrap(), bits(id))).collect()
}

/// One binary tree for each n-ary tree.
fn every_gold(system: &SrGap, n: usize, shape: Shape<'_>) -> Vec<BinaryTree> {
    let mut seen = FxHashSet::default();
    let mut golds = every_tree(n, shape);
    golds.retain(|tree| {
        let mut pairs: Vec<_> = pairs(system, tree).into_iter().collect();
        pairs.sort_unstable();
        seen.insert(pairs)
    });
    golds
}

/// The least loss by search over configurations, of which only the yields and kinds of the items are remembered:
/// what was built before them counts the same on every way on.
struct Search<'a> {
    system: &'a SrGap,
    gold: Pairs,
    /// The least sum, over constituents still to be built, of +1 for a wrong and -1 for a gold one.
    memo: FxHashMap<Vec<u32>, i32>,
}

impl Search<'_> {
    fn bits(forest: &Forest, node: NodeId) -> u32 {
        match forest.children(node) {
            [] => 1 << forest.node(node).head.index(),
            children => children.iter().map(|&child| Self::bits(forest, child)).sum(),
        }
    }

    fn price(&self, forest: &Forest, node: NodeId) -> i32 {
        let (kind, label) = (forest.node(node).kind, forest.node(node).label);
        match label.filter(|_| kind == Kind::Constituent) {
            None => 0,
            Some(label) if self.gold.contains(&(label, Self::bits(forest, node))) => -1,
            Some(_) => 1,
        }
    }

    /// The loss of what was built.
    fn built(&self, forest: &Forest, state: &State) -> i32 {
        let mut todo: Vec<NodeId> = forest.chain(state.whole_stack()).chain(state.d0).collect();
        let mut sum = self.gold.len() as i32;
        while let Some(node) = todo.pop() {
            sum += self.price(forest, node);
            todo.extend(forest.children(node));
        }
        sum
    }

    fn key(forest: &Forest, state: &State) -> Vec<u32> {
        let mut key = vec![state.next.index() as u32, state.n_deque, state.own.last as u32];
        let nodes = forest.chain(state.whole_stack()).chain(state.d0);
        key.extend(nodes.map(|node| 2 * Self::bits(forest, node) + u32::from(is_solid(forest, node))));
        key
    }

    fn still_to_come(&mut self, forest: &mut Forest, state: &State) -> i32 {
        if self.system.is_final(forest, state) {
            return 0;
        }
        let key = Self::key(forest, state);
        if let Some(&known) = self.memo.get(&key) {
            return known;
        }
        let mut legal = ActionSet::default();
        self.system.legal(forest, state, &mut legal);
        let mut best = i32::MAX;
        for action in legal.iter() {
            // The side of the head makes no difference to what is possible afterwards.
            if let Action::Left(label) = self.system.actions().get(action)
                && legal.contains(self.system.actions().id(Action::Right(label)))
            {
                continue;
            }
            let after = self.system.apply(forest, state, action);
            let is_new = after.d0 != state.d0 && after.next == state.next;
            let price = after.d0.filter(|_| is_new).map_or(0, |d0| self.price(forest, d0));
            best = best.min(price + self.still_to_come(forest, &after));
        }
        assert_ne!(best, i32::MAX, "a dead end");
        self.memo.insert(key, best);
        best
    }

    fn loss(&mut self, forest: &mut Forest, state: &State) -> u32 {
        (self.built(forest, state) + self.still_to_come(forest, state)) as u32
    }
}

/// Every configuration, up to what the items are made of.
#[track_caller]
fn check_all(system: &SrGap, gold: &BinaryTree) -> usize {
    let oracle = DynamicOracle::for_gold(system, gold).unwrap();
    let mut search = Search { system, gold: pairs(system, gold), memo: FxHashMap::default() };
    let mut seen = FxHashSet::default();
    let mut forest = Forest::new();
    let mut legal = ActionSet::default();
    let mut todo = vec![(system.start(&mut forest, &laws::sentence(gold.n_tokens())), oracle)];
    while let Some((state, mut oracle)) = todo.pop() {
        if !seen.insert(Search::key(&forest, &state)) {
            // Another way to the same items: the oracle has kept count on that way, too.
            let truth = search.loss(&mut forest, &state);
            assert_eq!(oracle.loss(system, &forest, &state), Some(truth), "{gold:?}");
            continue;
        }
        let mut loss = |forest: &mut Forest, state: &State| search.loss(forest, state);
        laws::oracle_agrees(system, &mut oracle, &mut forest, &state, &mut loss);
        if system.is_final(&forest, &state) {
            continue;
        }
        system.legal(&forest, &state, &mut legal);
        for action in legal.iter() {
            let mut after = oracle.clone();
            after.advance(system, &forest, &state, action);
            todo.push((system.apply(&mut forest, &state, action), after));
        }
    }
    seen.len()
}

#[test]
fn the_oracle_is_exact_in_every_configuration_with_all_that_was_built() {
    let system = ab();
    for gold in every_gold(&system, 2, AB).iter().chain(every_gold(&system, 3, AB).iter().step_by(7)) {
        let oracle = DynamicOracle::for_gold(&system, gold).unwrap();
        let gold_pairs = pairs(&system, gold);
        let loss = |tree: &BinaryTree| gold_pairs.symmetric_difference(&pairs(&system, tree)).count() as u32;
        let flags = |_: &Forest, state: &State| vec![state.own.last as u32];
        laws::oracle_is_exact(&system, &oracle, gold.n_tokens(), &loss, &flags, |_, _| true);
    }
}

impl laws::Exact for Examples {
    /// Every small gold tree; of those of four words every 17th, because all of them take too long for every day.
    fn check() {
        let system = ab();
        for (n, step) in [(1, 1), (2, 1), (3, 1), (4, 17)] {
            for gold in every_gold(&system, n, AB).iter().step_by(step) {
                check_all(&system, gold);
            }
        }
    }

    /// Gold may need temporaries where the system has none.
    fn draw(rng: &mut Rng) -> (SrGap, BinaryTree) {
        let inner: &[&str] = [&["A", "B"] as &[_], &["A", "B", "C"], &["A"], &[]][rng.below(4)];
        let roots: &[&str] = [&["R"] as &[_], &["R", "Q"], &["R", "A"], &["A"]][rng.below(4)];
        let temporaries: &[&str] = [&[] as &[_], &["X:"], &["X:", "Y:<A>"]][rng.below(3)];
        let symbols = Symbols::new(
            inner.iter().copied(),
            temporaries.iter().copied(),
            roots.iter().copied().filter(|root| *root != "A" || !inner.is_empty()).chain(["R"]),
        );
        let n = 1 + rng.below(6);
        let shape = Shape {
            inner,
            root: if inner.is_empty() || rng.below(2) == 0 { "R" } else { roots[rng.below(roots.len())] },
            temporary: rng.below(3) > 0,
            above_words: rng.below(2),
            discontinuous: rng.below(4) > 0,
            ..SMALL
        };
        let gold = if inner.is_empty() { flat_tree(n) } else { random_tree(rng, n, shape) };
        (SrGap::new(symbols), gold)
    }

    fn check_everywhere(system: &SrGap, gold: &BinaryTree) -> usize {
        check_all(system, gold)
    }
}

/// A tree without labels inside.
fn flat_tree(n: usize) -> BinaryTree {
    let mut builder = BinaryTreeBuilder::with_tokens(n);
    let word = |i| Child::Token(TokenIdx::new(i));
    if n == 1 {
        builder.unary("R", word(0));
    }
    let mut above = word(0);
    for i in 1..n {
        let (label, is_temporary) = if i + 1 == n { ("R", false) } else { ("X", true) };
        above = Child::Node(builder.binary(label, is_temporary, above, word(i), Side::Left));
    }
    builder.finish().expect("one node above the other")
}

#[test]
fn the_oracle_is_exact_in_every_configuration_of_up_to_eight_words() {
    let system = small();
    let mut rng = Rng::new(11);
    for (n, count) in [(5, 40), (6, 8), (7, 3), (8, 1)] {
        for _ in 0..count {
            check_all(&system, &random_tree(&mut rng, n, SMALL));
        }
    }
}

#[test]
fn the_oracle_is_exact_on_random_walks_of_up_to_eight_words() {
    // Configurations with a long past; the search above visits each only once, whatever led there.
    let system = SrGap::new(Symbols::new(["A", "B"], ["X:"], ["ROOT", "B"]));
    let mut rng = Rng::new(5);
    let mut forest = Forest::new();
    let mut legal = ActionSet::default();
    for n in [5, 6, 6, 7, 8] {
        let gold = random_tree(&mut rng, n, AB);
        let mut search = Search { system: &system, gold: pairs(&system, &gold), memo: FxHashMap::default() };
        for _ in 0..100 {
            let mut oracle = DynamicOracle::for_gold(&system, &gold).unwrap();
            let mut state = system.start(&mut forest, &laws::sentence(n));
            while !system.is_final(&forest, &state) {
                let mut loss = |forest: &mut Forest, state: &State| search.loss(forest, state);
                laws::oracle_agrees(&system, &mut oracle, &mut forest, &state, &mut loss);
                system.legal(&forest, &state, &mut legal);
                let action = legal.iter().nth(rng.below(legal.len())).unwrap();
                oracle.advance(&system, &forest, &state, action);
                state = system.apply(&mut forest, &state, action);
            }
        }
    }
}

#[test]
fn without_temporaries_every_surplus_piece_costs_a_constituent() {
    let system = SrGap::new(Symbols::new(["A", "B"], [], ["ROOT"]));
    let shape = Shape { temporary: false, ..AB };
    let mut rng = Rng::new(13);
    for gold in (1..=3).flat_map(|n| every_tree(n, shape)) {
        check_all(&system, &gold);
    }
    for (n, count) in [(4, 30), (5, 10), (6, 4)] {
        for _ in 0..count {
            check_all(&system, &random_tree(&mut rng, n, shape));
        }
    }
    // Gold trees that take temporaries, in a system that has none.
    for (n, count) in [(3, 10), (4, 20), (5, 10), (6, 4)] {
        for _ in 0..count {
            check_all(&system, &random_tree(&mut rng, n, AB));
        }
    }
}

/// Compares the oracle with its definition on random walks.
#[track_caller]
fn check_with_plain(system: &SrGap, gold: &BinaryTree, rng: &mut Rng, n_wrong: usize) {
    let n = gold.n_tokens();
    let plain = Gold::new(system, &gold.unbinarize()).unwrap();
    let mut oracle = DynamicOracle::for_gold(system, gold).unwrap();
    let (mut forest, mut legal, mut optimal) = (Forest::new(), ActionSet::default(), ActionSet::default());
    let mut state = system.start(&mut forest, &laws::sentence(n));
    while !system.is_final(&forest, &state) {
        let mut loss = |forest: &mut Forest, state: &State| plain::loss(system, &plain, forest, state);
        laws::oracle_agrees(system, &mut oracle, &mut forest, &state, &mut loss);
        system.legal(&forest, &state, &mut legal);
        oracle.optimal(system, &mut forest, &state, &legal, &mut optimal);
        let choices = if rng.below(100) < n_wrong { &legal } else { &optimal };
        let action = choices.iter().nth(rng.below(choices.len())).unwrap();
        oracle.advance(system, &forest, &state, action);
        state = system.apply(&mut forest, &state, action);
    }
    assert_eq!(oracle.loss(system, &forest, &state), Some(plain::loss(system, &plain, &mut forest, &state)));
}

#[test]
fn long_walks_keep_the_loss_that_is_read_from_scratch() {
    let mut rng = Rng::new(17);
    for round in 0..150 {
        let n = 2 + rng.below(30);
        let with = |temporary, discontinuous| Shape { temporary, discontinuous, ..AB };
        let gold = random_tree(&mut rng, n, with(round % 3 > 0, round % 4 > 0));
        let temporaries: &[&str] = if round % 3 == 1 { &["X:"] } else { &[] };
        let roots: &[&str] = if round % 5 == 0 { &["ROOT", "B"] } else { &["ROOT"] };
        let system = SrGap::new(Symbols::new(["A", "B"], temporaries.iter().copied(), roots.iter().copied()));
        check_with_plain(&system, &gold, &mut rng, [2, 10, 50][round / 7 % 3]);
    }
}
