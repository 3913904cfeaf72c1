//! Trees for the dependency systems' tests, an exhaustive search that is faster than the general one, and the tests
//! of what the systems share.

use proptest::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::*;
use crate::forest::Kind;
use crate::ids::TokenIdx;
use crate::laws;
use crate::oracle::Oracle;
use crate::registry::Registered;
use crate::rng::Rng;
use crate::systems::{arc_eager, arc_hybrid, arc_hybrid::ArcHybrid};

/// A tree from heads as the `oracle` command writes them: 1 to n, and n + 1 for the root.
pub fn tree(heads: &[usize]) -> DependencyTree {
    let n = heads.len();
    DependencyTree::from_heads(heads.iter().map(|&head| (head <= n).then(|| head - 1)))
}

/// Gives each arc a relation by a function of the word.
pub fn labelled(mut tree: DependencyTree, label: impl Fn(usize) -> &'static str) -> DependencyTree {
    tree.arcs.iter_mut().enumerate().for_each(|(i, arc)| arc.label = Str::from(label(i)));
    tree
}

/// All unlabelled trees over `n` words.
pub fn all_trees(n: usize, single_root: bool) -> Vec<DependencyTree> {
    let mut trees = Vec::new();
    let mut heads = vec![1; n];
    loop {
        let candidate = tree(&heads);
        let n_roots = candidate.roots().count();
        if candidate.find_cycle().is_none() && (n_roots == 1 || !single_root) {
            trees.push(candidate);
        }
        let Some(at) = heads.iter().rposition(|&head| head <= n) else { return trees };
        heads[at] += 1;
        heads[at + 1..].fill(1);
    }
}

/// A random unlabelled tree, every one with some chance: words join the tree in random order.
fn random_tree(rng: &mut Rng, n: usize, single_root: bool) -> DependencyTree {
    let mut order: Vec<usize> = (0..n).collect();
    rng.shuffle(&mut order);
    let mut heads = vec![None; n];
    for i in 1..n {
        let choice = rng.below(i + usize::from(!single_root));
        heads[order[i]] = order.get(choice).filter(|_| choice < i).copied();
    }
    DependencyTree::from_heads(heads)
}

/// The tree with its words in projective order.
fn in_projective_order(tree: &DependencyTree) -> DependencyTree {
    let gold = Gold::new(&Relations::with_labels([], 1), false, tree).unwrap();
    let order = gold.projective_order();
    let mut heads = vec![None; tree.len()];
    for (i, arc) in tree.arcs.iter().enumerate() {
        heads[order[i] as usize] = arc.head.map(|head| order[head.index()] as usize);
    }
    DependencyTree::from_heads(heads)
}

type Dynamic<R> = <ArcSystem<R> as Registered>::Dynamic;

/// The examples of an arc system: every tree of up to six words, and random ones.
pub struct Arcs<R>(PhantomData<R>);

impl<R: ArcRules> Arcs<R>
where
    ArcSystem<R>: Registered<Tree = DependencyTree, State = Configuration<R::Own>>,
{
    fn unlabelled(single_root: bool) -> ArcSystem<R> {
        ArcSystem::with_labels([], single_root)
    }

    fn ab(single_root: bool) -> ArcSystem<R> {
        ArcSystem::with_labels(["a".into(), "b".into()], single_root)
    }

    /// Every tree over `n` words that the system can build.
    fn trees(n: usize, single_root: bool) -> impl Iterator<Item = DependencyTree> {
        all_trees(n, single_root)
            .into_iter()
            .filter(|tree| ArcSystem::<R>::INFO.is_crossing || tree.is_projective())
    }

    /// A random tree that the system can build.
    pub fn random_tree(rng: &mut Rng, n: usize, single_root: bool) -> DependencyTree {
        let tree = random_tree(rng, n, single_root);
        if ArcSystem::<R>::INFO.is_crossing { tree } else { in_projective_order(&tree) }
    }
}

impl<R: ArcRules> laws::Fixture for Arcs<R>
where
    ArcSystem<R>: Registered<Tree = DependencyTree, State = Configuration<R::Own>>,
{
    type System = ArcSystem<R>;

    fn golds() -> Vec<(ArcSystem<R>, Vec<DependencyTree>)> {
        let mut golds = Vec::new();
        for single_root in [true, false] {
            let small = (1..=6).flat_map(|n| Self::trees(n, single_root));
            let nothing = DependencyTree::default();
            golds.push((Self::unlabelled(single_root), small.chain([nothing]).collect()));
            let mut rng = Rng::new(1);
            let labelled_tree =
                |n| labelled(Self::random_tree(&mut rng, n, single_root), |i| ["a", "b"][i % 2]);
            golds.push((Self::ab(single_root), (1..40).map(labelled_tree).collect()));
        }
        golds
    }

    fn random_walks() -> Vec<laws::Walks<ArcSystem<R>>> {
        [true, false].map(|root| laws::Walks::random(Self::ab(root), 1..=8, 200, false)).into()
    }

    fn every_walk() -> Vec<laws::Walks<ArcSystem<R>>> {
        let max = if ArcSystem::<R>::INFO.is_crossing { 4 } else { 5 };
        let every = |root| laws::Walks::every(Self::unlabelled(root), 0..=max, false);
        [true, false].map(every).into()
    }

    /// One head per word, no cycle, and one root where that is asked for.
    fn check_tree(system: &ArcSystem<R>, tree: &DependencyTree, n: usize) {
        assert_eq!(tree.len(), n);
        assert_eq!(tree.find_cycle(), None, "{tree:?}");
        let n_roots = tree.roots().count();
        let is_right = if system.single_root { n_roots == 1 } else { n_roots > 0 };
        assert!(is_right || n == 0, "{tree:?}");
        assert!(tree.is_projective() || ArcSystem::<R>::INFO.is_crossing, "{tree:?}");
    }

    fn loss(tree: &DependencyTree, gold: &DependencyTree) -> u32 {
        gold.arcs.iter().zip(&tree.arcs).filter(|(a, b)| a != b).count() as u32
    }
}

impl<R: ArcRules> laws::Exact for Arcs<R>
where
    ArcSystem<R>: Registered<Tree = DependencyTree, State = Configuration<R::Own>>,
{
    fn check() {
        let mut rng = Rng::new(5);
        for single_root in [true, false] {
            let (system, ab) = (Self::unlabelled(single_root), Self::ab(single_root));
            for n in 1..=4 {
                for (i, gold) in Self::trees(n, single_root).enumerate() {
                    let oracle = Dynamic::<R>::for_gold(&system, &gold).unwrap();
                    let loss = |tree: &DependencyTree| <Self as laws::Fixture>::loss(tree, &gold);
                    laws::oracle_is_exact(&system, &oracle, n, &loss, &|_, _| vec![], |_, _| true);
                    let gold = labelled(gold.clone(), |word| ["a", "b"][(i + word) % 2]);
                    Search::<R, Dynamic<R>>::new(&ab, &gold).check_all();
                }
            }
            let six =
                Self::trees(6, single_root).step_by(if ArcSystem::<R>::INFO.is_crossing { 97 } else { 2 });
            for gold in Self::trees(5, single_root).chain(six) {
                Search::<R, Dynamic<R>>::new(&system, &gold).check_all();
            }
            for _ in 0..200 {
                let n = 5 + rng.below(4);
                let gold = Self::random_tree(&mut rng, n, single_root);
                Search::<R, Dynamic<R>>::new(&system, &gold).check_walks(&mut rng, 5);
            }
        }
    }

    /// Relations go where the trees have them that the tables are made from; gold is one of them.
    fn draw(rng: &mut Rng) -> (ArcSystem<R>, DependencyTree) {
        let single_root = rng.below(2) == 0;
        let relations = &["a", "b", "c"][..1 + rng.below(3)];
        let n = 1 + rng.below(if ArcSystem::<R>::INFO.is_crossing { 5 } else { 6 });
        let lengths = [n, 1 + rng.below(4), 1 + rng.below(4)];
        let mut tree = |&n: &usize| {
            let tree = Self::random_tree(rng, n, single_root);
            let chosen: Vec<&str> = (0..n).map(|_| relations[rng.below(relations.len())]).collect();
            labelled(tree, |word| chosen[word])
        };
        let trees: Vec<DependencyTree> = lengths.iter().map(&mut tree).collect();
        let n_seen = 1 + rng.below(3);
        let system = ArcSystem::from_trees(trees[..n_seen].iter(), &SystemOptions { single_root });
        (system, trees.into_iter().next().expect("the first is gold"))
    }

    fn check_everywhere(system: &ArcSystem<R>, gold: &DependencyTree) -> usize {
        Search::<R, Dynamic<R>>::new(system, gold).check_all()
    }
}

/// Takes random actions among those that training may take, and looks at the oracle before each.
pub fn on_a_random_walk<R: ArcRules, O: Oracle<ArcSystem<R>>>(
    system: &ArcSystem<R>,
    mut oracle: O,
    n: usize,
    rng: &mut Rng,
    mut look: impl FnMut(&O, &Forest, &Configuration<R::Own>),
) where
    ArcSystem<R>: Registered<Tree = DependencyTree, State = Configuration<R::Own>>,
{
    let (mut forest, mut legal) = (Forest::new(), ActionSet::default());
    let mut state = system.start(&mut forest, &laws::sentence(n));
    while !system.is_final(&forest, &state) {
        look(&oracle, &forest, &state);
        system.legal(&forest, &state, &mut legal);
        oracle.restrict(system, &forest, &state, &mut legal);
        let action = legal.iter().nth(rng.below(legal.len())).expect("a legal action");
        oracle.advance(system, &forest, &state, action);
        state = system.apply(&mut forest, &state, action);
    }
}

/// The derivation of a tree, given as heads and relations.
#[track_caller]
pub fn check_derivation<R: ArcRules>(heads: &[usize], relations: &[&'static str], expected: &str) {
    let system = ArcSystem::<R>::with_labels(relations.iter().copied().map(Str::from), true);
    let gold = labelled(tree(heads), |i| relations[i]);
    assert_eq!(laws::names(&system, &system.derive(&gold).unwrap()), expected);
}

/// Exhaustive search that forgets what was built: the arcs still to come depend on the words that are left, their
/// places and which of them have heads, so far fewer configurations are told apart than in `laws::Exhaustive`.
struct Search<'a, R: ArcRules, O> {
    system: &'a ArcSystem<R>,
    gold: &'a DependencyTree,
    oracle: O,
    memo: FxHashMap<Vec<u32>, u32>,
}

impl<'a, R: ArcRules, O: Oracle<ArcSystem<R>> + Clone> Search<'a, R, O> {
    fn new(system: &'a ArcSystem<R>, gold: &'a DependencyTree) -> Self {
        let oracle = O::for_gold(system, gold).expect("a tree that the system can build");
        Search { system, gold, oracle, memo: FxHashMap::default() }
    }

    /// The words on the stack (with or without a head) and in front of the buffer, and the next one.
    fn key(&self, forest: &Forest, state: &Configuration<R::Own>) -> Vec<u32> {
        let view = self.system.view(state);
        let item = |node| word(forest, node) as u32 * 2 + u32::from(forest.node(node).label.is_some());
        let mut key: Vec<u32> = forest.chain(view.stack).map(item).collect();
        key.push(u32::MAX);
        key.extend(forest.chain(view.buffer).map(item));
        key.push(view.next.index() as u32);
        key
    }

    /// How many of the arcs made so far are wrong. On the stack, an item with a relation hangs from the one below.
    fn wrong(&self, forest: &Forest, state: &Configuration<R::Own>) -> u32 {
        let view = self.system.view(state);
        let (n, mut wrong) = (self.gold.len(), 0);
        let mut arc = |head: usize, dependent: NodeId| {
            let Some(label) = forest.node(dependent).label else { return };
            let made = crate::tree::Arc {
                head: (head < n).then(|| TokenIdx::new(head)),
                label: self.system.relations.name(label).into(),
            };
            wrong += u32::from(made != self.gold.arcs[word(forest, dependent)]);
        };
        let stack: Vec<NodeId> = forest.chain(view.stack).collect();
        stack.windows(2).for_each(|pair| arc(word(forest, pair[1]), pair[0]));
        let mut todo = stack;
        todo.extend(forest.chain(view.buffer));
        while let Some(head) = todo.pop() {
            for dependent in forest.dependents(head) {
                arc(word(forest, head), dependent);
                todo.push(dependent);
            }
        }
        wrong
    }

    fn legal(&self, forest: &Forest, state: &Configuration<R::Own>) -> Vec<ActionId> {
        let mut legal = ActionSet::new(self.system.n_actions());
        self.system.legal(forest, state, &mut legal);
        self.oracle.restrict(self.system, forest, state, &mut legal);
        legal.iter().collect()
    }

    /// The least loss of any finished parse.
    fn loss(&mut self, forest: &mut Forest, state: &Configuration<R::Own>) -> u32 {
        self.wrong(forest, state) + self.still_lost(forest, state)
    }

    fn still_lost(&mut self, forest: &mut Forest, state: &Configuration<R::Own>) -> u32 {
        let key = self.key(forest, state);
        if let Some(&known) = self.memo.get(&key) {
            return known;
        }
        let mut least = u32::MAX;
        if self.system.is_final(forest, state) {
            least = 0;
        }
        let so_far = self.wrong(forest, state);
        for action in self.legal(forest, state) {
            let next = self.system.apply(forest, state, action);
            least = least.min(self.loss(forest, &next) - so_far);
        }
        assert!(least < u32::MAX, "dead end");
        self.memo.insert(key, least);
        least
    }

    #[track_caller]
    fn check_state(&mut self, oracle: &mut O, forest: &mut Forest, state: &Configuration<R::Own>) {
        let system = self.system;
        laws::oracle_agrees(system, oracle, forest, state, &mut |forest, state| self.loss(forest, state));
    }

    /// Checks every reachable configuration.
    #[track_caller]
    fn check_all(&mut self) -> usize {
        let (mut forest, system) = (Forest::new(), self.system);
        let start = system.start(&mut forest, &laws::sentence(self.gold.len()));
        let mut seen = FxHashSet::default();
        let mut todo = vec![(start, self.oracle.clone())];
        while let Some((state, mut oracle)) = todo.pop() {
            if !seen.insert(self.key(&forest, &state)) {
                // The same words by another walk: the oracle must have counted the same loss.
                let truth = self.loss(&mut forest, &state);
                assert_eq!(oracle.loss(system, &forest, &state), Some(truth), "{:?}", self.gold);
                continue;
            }
            self.check_state(&mut oracle, &mut forest, &state);
            for action in self.legal(&forest, &state) {
                let mut after = oracle.clone();
                after.advance(system, &forest, &state, action);
                todo.push((system.apply(&mut forest, &state, action), after));
            }
        }
        seen.len()
    }

    /// Checks every configuration of random walks.
    #[track_caller]
    fn check_walks(&mut self, rng: &mut Rng, count: usize) {
        let (mut forest, system) = (Forest::new(), self.system);
        for _ in 0..count {
            let mut state = system.start(&mut forest, &laws::sentence(self.gold.len()));
            let mut oracle = self.oracle.clone();
            while !system.is_final(&forest, &state) {
                self.check_state(&mut oracle, &mut forest, &state);
                let legal = self.legal(&forest, &state);
                let action = legal[rng.below(legal.len())];
                oracle.advance(system, &forest, &state, action);
                state = system.apply(&mut forest, &state, action);
            }
        }
    }
}

#[test]
fn there_are_as_many_trees_as_there_should_be() {
    // Cayley: (n + 1)^(n - 1) trees with r as root, n^(n - 1) of them with one child of r.
    for n in 1..6u32 {
        assert_eq!(all_trees(n as usize, false).len(), (n as usize + 1).pow(n - 1));
        assert_eq!(all_trees(n as usize, true).len(), (n as usize).pow(n - 1));
    }
}

/// The names of the arcs that arc-hybrid has for these trees.
#[track_caller]
fn check_arcs(trees: &[&DependencyTree], expected: &str) {
    let system = ArcHybrid::from_trees(trees.iter().copied(), &SystemOptions::default());
    let arcs: Vec<ActionId> = (1..system.n_actions()).map(ActionId::new).collect();
    assert_eq!(laws::names(&system, &arcs), expected);
}

#[test]
fn relations_go_where_the_treebank_has_them() {
    let gold = labelled(tree(&[2, 4, 2]), |i| ["a", "root", "b"][i]);
    check_arcs(&[&gold], "LEFT-a LEFT-root RIGHT-b");
    let relations = Relations::from_trees([&gold].into_iter(), 1);
    let allowed = |head| {
        let mut set = ActionSet::new(4);
        relations.allow_left(head, &mut set);
        set.iter().map(ActionId::index).collect::<Vec<_>>()
    };
    assert_eq!((allowed(Kind::Word), allowed(Kind::Root)), (vec![1], vec![2]));
    // A relation seen on both sides of the border is allowed on both.
    let mixed = labelled(tree(&[2, 4, 2]), |i| ["a", "a", "b"][i]);
    check_arcs(&[&gold, &mixed], "LEFT-a LEFT-root RIGHT-b");
}

#[test]
fn a_direction_without_relations_borrows_some() {
    check_arcs(&[&labelled(tree(&[2]), |_| "root")], "LEFT-root RIGHT-root");
    check_arcs(&[], "LEFT RIGHT");
}

#[test]
fn crossing_arcs_are_named() {
    fn check<R: ArcRules>() {
        let why = ArcSystem::<R>::with_labels([], true).derive(&tree(&[3, 4, 5, 3])).unwrap_err();
        assert_eq!(why.0, "the arc from word 4 to word 2 is not projective");
    }
    check::<arc_hybrid::Rules<false>>();
    check::<arc_eager::Rules>();
}

#[test]
fn what_is_no_tree_is_refused() {
    #[track_caller]
    fn check(tree: &DependencyTree, single_root: bool, why: &str) {
        let relations = Relations::with_labels(["x".into()], 1);
        assert_eq!(Gold::new(&relations, single_root, tree).unwrap_err().0, why);
    }
    let x = |tree| labelled(tree, |_| "x");
    check(&x(tree(&[2, 1])), false, "word 1 is on a cycle");
    check(&x(DependencyTree::from_heads([Some(7)])), false, "the head of word 1 is not in the sentence");
    check(&x(tree(&[3, 3])), true, "2 words hang from the root, and the system allows one");
    check(&tree(&[2]), true, "the relation `` was never seen in training");
}

#[test]
fn the_projective_order_keeps_heads_between_their_dependents() {
    #[track_caller]
    fn check(heads: &[usize], order: &[u32]) {
        let gold = Gold::new(&Relations::with_labels([], 1), false, &tree(heads)).unwrap();
        assert_eq!(gold.projective_order(), order, "{heads:?}");
    }
    check(&[2, 4, 2], &[0, 1, 2, 3]);
    // 1 <- 3 -> ., 2 <- 4: 3's dependent 1 goes with it.
    check(&[3, 4, 5, 3], &[0, 2, 1, 3, 4]);
    check(&[], &[0]);
}

proptest! {
    #[test]
    fn the_projective_order_of_a_projective_tree_is_that_of_the_words(seed: u64, n in 1usize..30) {
        let tree = random_tree(&mut Rng::new(seed), n, false);
        let gold = Gold::new(&Relations::with_labels([], 1), false, &tree).unwrap();
        let order = gold.projective_order();
        prop_assert_eq!(tree.is_projective(), order.iter().copied().eq(0..=n as u32));
        // Reordering by it makes any tree projective.
        prop_assert!(in_projective_order(&tree).is_projective());
    }
}
