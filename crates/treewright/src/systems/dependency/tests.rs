//! Trees for the dependency systems' tests, an exhaustive search that is faster than the general one, and the tests
//! of what the systems share.

use proptest::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::*;
use crate::laws;
use crate::oracle::Oracle;
use crate::rng::Rng;
use crate::system::TransitionSystem;

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
pub fn random_tree(rng: &mut Rng, n: usize, single_root: bool) -> DependencyTree {
    let mut order: Vec<usize> = (0..n).collect();
    rng.shuffle(&mut order);
    let mut heads = vec![None; n];
    for i in 1..n {
        let choice = rng.below(i + usize::from(!single_root));
        heads[order[i]] = order.get(choice).filter(|_| choice < i).copied();
    }
    DependencyTree::from_heads(heads)
}

/// A random projective tree: a random tree whose words are put in projective order.
pub fn random_projective_tree(rng: &mut Rng, n: usize, single_root: bool) -> DependencyTree {
    in_projective_order(&random_tree(rng, n, single_root))
}

fn in_projective_order(tree: &DependencyTree) -> DependencyTree {
    let gold = Gold::new(&Relations::with_labels([], 1), false, tree).unwrap();
    let order = gold.projective_order();
    let mut heads = vec![None; tree.len()];
    for (i, arc) in tree.arcs.iter().enumerate() {
        heads[order[i] as usize] = arc.head.map(|head| order[head.index()] as usize);
    }
    DependencyTree::from_heads(heads)
}

/// What a gold tree misses of another: the words with another head or relation.
pub fn loss(gold: &DependencyTree) -> impl Fn(&DependencyTree) -> u32 + '_ {
    |tree| gold.arcs.iter().zip(&tree.arcs).filter(|(a, b)| a != b).count() as u32
}

/// Law 4: one head per word, no cycle, and one root where that is asked for.
#[track_caller]
pub fn check_tree(tree: &DependencyTree, n: usize, single_root: bool) {
    assert_eq!(tree.len(), n);
    assert_eq!(tree.find_cycle(), None, "{tree:?}");
    let n_roots = tree.roots().count();
    assert!(if single_root { n_roots == 1 } else { n_roots > 0 }, "{tree:?}");
}

/// Exhaustive search that forgets what was built: the arcs still to come depend on the words that are left, their
/// places and which of them have heads, so far fewer configurations are told apart than in `laws::Exhaustive`.
pub struct Search<'a, S: TransitionSystem<Tree = DependencyTree>, O> {
    pub system: &'a S,
    pub(in super::super) relations: &'a Relations,
    pub gold: &'a DependencyTree,
    pub oracle: &'a O,
    memo: FxHashMap<Vec<u32>, u32>,
}

impl<'a, S: TransitionSystem<Tree = DependencyTree>, O: Oracle<S>> Search<'a, S, O> {
    pub(in super::super) fn new(
        system: &'a S,
        relations: &'a Relations,
        gold: &'a DependencyTree,
        oracle: &'a O,
    ) -> Self {
        Search { system, relations, gold, oracle, memo: FxHashMap::default() }
    }

    /// The words on the stack (with or without a head) and in front of the buffer, and the next one.
    fn key(&self, forest: &Forest, state: &S::State) -> Vec<u32> {
        let view = self.system.view(state);
        let item = |node| word(forest, node) as u32 * 2 + u32::from(forest.node(node).label.is_some());
        let mut key: Vec<u32> = forest.chain(view.stack).map(item).collect();
        key.push(u32::MAX);
        key.extend(forest.chain(view.buffer).map(item));
        key.push(view.next.index() as u32);
        key
    }

    /// How many of the arcs made so far are wrong. On the stack, an item with a relation hangs from the one below.
    fn wrong(&self, forest: &Forest, state: &S::State) -> u32 {
        let view = self.system.view(state);
        let (n, mut wrong) = (self.gold.len(), 0);
        let mut arc = |head: usize, dependent: NodeId| {
            let Some(label) = forest.node(dependent).label else { return };
            let made = TreeArc {
                head: (head < n).then(|| TokenIdx::new(head)),
                label: self.relations.names[label.index()].clone(),
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

    fn legal(&self, forest: &Forest, state: &S::State) -> Vec<ActionId> {
        let mut legal = ActionSet::new(self.system.n_actions());
        self.system.legal(forest, state, &mut legal);
        self.oracle.restrict(self.system, forest, state, &mut legal);
        legal.iter().collect()
    }

    /// The least loss of any finished parse.
    pub fn loss(&mut self, forest: &mut Forest, state: &S::State) -> u32 {
        self.wrong(forest, state) + self.still_lost(forest, state)
    }

    fn still_lost(&mut self, forest: &mut Forest, state: &S::State) -> u32 {
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

    /// The oracle against the search in one state: its loss, the loss after every action, the optimal actions.
    #[track_caller]
    fn check_state(&mut self, oracle: &mut O, forest: &mut Forest, state: &S::State) {
        let truth = self.loss(forest, state);
        let system = self.system;
        let past = |forest: &Forest| {
            format!("{:?} after {}", self.gold, laws::names(system, &forest.history(system.view(state).past)))
        };
        assert_eq!(oracle.loss(system, forest, state), Some(truth), "loss for {}", past(forest));
        let actions = self.legal(forest, state);
        let (mut legal, mut optimal) = (ActionSet::new(system.n_actions()), ActionSet::default());
        actions.iter().for_each(|&action| legal.insert(action));
        oracle.optimal(system, forest, state, &legal, &mut optimal);
        for action in actions {
            let next = system.apply(forest, state, action);
            let (after, name) = (self.loss(forest, &next), system.name(action));
            let said = oracle.loss_after(system, forest, state, action);
            let past = |forest: &Forest| {
                format!(
                    "{:?} after {}",
                    self.gold,
                    laws::names(system, &forest.history(system.view(state).past))
                )
            };
            assert_eq!(said, Some(after), "{name} for {}", past(forest));
            assert_eq!(optimal.contains(action), after == truth, "is {name} optimal for {}", past(forest));
        }
    }

    /// Checks every reachable configuration; gives the number of configurations and of actions in them.
    #[track_caller]
    pub fn check_all(&mut self) -> (usize, usize) {
        let (mut forest, system) = (Forest::new(), self.system);
        let start = system.start(&mut forest, &laws::sentence(self.gold.len()));
        let (mut seen, mut n_actions) = (FxHashSet::default(), 0);
        let mut todo = vec![(start, self.oracle.clone())];
        while let Some((state, mut oracle)) = todo.pop() {
            if !seen.insert(self.key(&forest, &state)) {
                // Another way to the same words: the books must agree.
                let truth = self.loss(&mut forest, &state);
                assert_eq!(oracle.loss(system, &forest, &state), Some(truth), "{:?}", self.gold);
                continue;
            }
            self.check_state(&mut oracle, &mut forest, &state);
            for action in self.legal(&forest, &state) {
                n_actions += 1;
                let mut after = oracle.clone();
                after.advance(system, &forest, &state, action);
                todo.push((system.apply(&mut forest, &state, action), after));
            }
        }
        (seen.len(), n_actions)
    }

    /// Checks every configuration of random walks.
    #[track_caller]
    pub fn check_walks(&mut self, rng: &mut Rng, count: usize) {
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

#[test]
fn relations_go_where_the_treebank_has_them() {
    let gold = labelled(tree(&[2, 4, 2]), |i| ["a", "root", "b"][i]);
    let relations = Relations::from_trees([&gold].into_iter(), 1);
    let names: Vec<String> = (1..relations.n_actions()).map(|i| relations.name(ActionId::new(i))).collect();
    assert_eq!(names, ["LEFT-a", "LEFT-root", "RIGHT-b"]);
    let allowed = |head| {
        let mut set = ActionSet::new(4);
        relations.allow_left(head, &mut set);
        set.iter().map(ActionId::index).collect::<Vec<_>>()
    };
    assert_eq!((allowed(Kind::Word), allowed(Kind::Root)), (vec![1], vec![2]));
    // A relation seen on both sides of the border is allowed on both.
    let mixed = labelled(tree(&[2, 4, 2]), |i| ["a", "a", "b"][i]);
    let relations = Relations::from_trees([&gold, &mixed].into_iter(), 1);
    let names: Vec<String> = (1..relations.n_actions()).map(|i| relations.name(ActionId::new(i))).collect();
    assert_eq!(names, ["LEFT-a", "LEFT-root", "RIGHT-b"]);
}

#[test]
fn a_direction_without_relations_borrows_some() {
    let one = labelled(tree(&[2]), |_| "root");
    let relations = Relations::from_trees([&one].into_iter(), 1);
    let names: Vec<String> = (1..relations.n_actions()).map(|i| relations.name(ActionId::new(i))).collect();
    assert_eq!(names, ["LEFT-root", "RIGHT-root"]);
    let none = Relations::from_trees([].into_iter(), 1);
    let names: Vec<String> = (1..none.n_actions()).map(|i| none.name(ActionId::new(i))).collect();
    assert_eq!(names, ["LEFT", "RIGHT"]);
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
