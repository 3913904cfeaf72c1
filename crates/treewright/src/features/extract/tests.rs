//! Keys against what templates say, and what is remembered against what is there.

use super::super::encode::Vocabulary;
use super::*;
use crate::ids::{LabelId, TokenIdx};
use crate::sentence::Sentence;

fn keys(templates: &str, sentence: &Sentence, forest: &Forest, view: &View) -> Vec<u64> {
    let vocabulary = Vocabulary::of([sentence].into_iter());
    let mut encoded = Encoded::default();
    vocabulary.encode(sentence, &mut encoded);
    let mut out = Vec::new();
    Extractor::new(&TemplateSet::parse(templates).expect(templates))
        .extract(forest, view, &encoded, &mut out);
    out
}

fn view(forest: &mut Forest, stack: &[NodeId], next: usize) -> View {
    let mut top = None;
    for &node in stack {
        top = Some(forest.push_cell(node, top));
    }
    let next = TokenIdx::new(next);
    View { stack: top, deque_top: None, deque: None, n_deque: 0, buffer: None, next, past: None }
}

#[test]
fn what_is_not_there_gives_no_key_and_what_differs_gives_another() {
    let sentence = Sentence::from_tagged([("a", "T"), ("b", "U"), ("a", "T"), ("b", "T")]);
    let mut forest = Forest::new();
    forest.start(4, false);
    let stack = [forest.leaf(TokenIdx::new(0)), forest.leaf(TokenIdx::new(2))];
    let view = view(&mut forest, &stack, 3);
    let templates = "s0.t s1.t s2.t b0.t b1.t s0.t+s1.t s0.t+s2.t s0.l.t d0.c";
    let is_there: Vec<bool> =
        templates.split(' ').map(|one| !keys(one, &sentence, &forest, &view).is_empty()).collect();
    // A template fires if anything it looks at is there.
    assert_eq!(is_there, [true, true, false, true, false, true, true, false, false]);
    let mut keys = keys(templates, &sentence, &forest, &view);
    assert!(keys.iter().map(|&key| template_class(key)).eq([0, 1, 3, 5, 6]));
    // The same tag at another place is another feature.
    keys.iter_mut().for_each(|key| *key &= (1 << HASH_BITS) - 1);
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 5);
}

#[test]
fn the_parts_of_a_set_give_the_keys_of_the_whole() {
    let sentence = Sentence::from_tagged([("a", "T"), ("b", "U"), ("a", "V"), ("b", "T"), ("c", "U")]);
    let vocabulary = Vocabulary::of([&sentence].into_iter());
    let mut encoded = Encoded::default();
    vocabulary.encode(&sentence, &mut encoded);
    let mut forest = Forest::new();
    forest.start(5, true);
    let stack = [forest.leaf(TokenIdx::new(0)), forest.leaf(TokenIdx::new(2))];
    let view = view(&mut forest, &stack, 3);
    for name in super::super::shipped_names() {
        let set = super::super::shipped(name).expect(name);
        let (mut whole, mut parts) = (Vec::new(), Vec::new());
        Extractor::new(&set).extract(&forest, &view, &encoded, &mut whole);
        let dependences = Dependence::all_of(&set);
        assert!(dependences.len() > 1, "{name}");
        let mut extractor = Extractor::without_groups(&set);
        for (dependence, _) in dependences {
            extractor.add_group(&set, |other| other == dependence);
        }
        extractor.extract(&forest, &view, &encoded, &mut parts);
        whole.sort_unstable();
        parts.sort_unstable();
        assert_eq!(whole, parts, "{name}");
    }
}

#[test]
fn what_a_set_looks_at_is_encoded() {
    let sentence = Sentence::from_tagged([("a", "T"), ("b", "U"), ("A", "V"), ("9", "T"), ("c", "U")]);
    let vocabulary = Vocabulary::of([&sentence].into_iter());
    let mut forest = Forest::new();
    forest.start(5, true);
    let stack = [forest.leaf(TokenIdx::new(0)), forest.leaf(TokenIdx::new(2))];
    let view = view(&mut forest, &stack, 3);
    let sets = super::super::shipped_names().iter().map(|name| super::super::shipped(name).expect(name));
    let alone = ["s0.c", "s0.w", "s0.t", "s0.x", "s0.f", "s0.p", "s0.shape", "s0.len"];
    for set in sets.chain(alone.map(|one| TemplateSet::parse(one).expect(one))) {
        let extractor = Extractor::new(&set);
        let [all, some] = [Encoded::default(), extractor.encoded()].map(|mut encoded| {
            vocabulary.encode(&sentence, &mut encoded);
            let mut keys = Vec::new();
            extractor.extract(&forest, &view, &encoded, &mut keys);
            keys
        });
        assert_eq!(all, some, "{}", set.text());
    }
}

/// More nodes than are remembered, in stacks of all depths, some seen again and some not; then another sentence.
#[test]
fn what_is_remembered_is_what_is_there() {
    let set = super::super::shipped("spans").expect("a set");
    let (fresh, mut remembering) = (Extractor::new(&set), Extractor::new(&set));
    let mut rng = crate::rng::Rng::new(1);
    for round in 0..2 {
        let words: Vec<(String, String)> =
            (0..90).map(|_| (format!("w{}", rng.below(9)), format!("t{}", rng.below(4)))).collect();
        let sentence = Sentence::from_tagged(words.iter().map(|(w, t)| (w.as_str(), t.as_str())));
        let vocabulary = Vocabulary::of([&sentence].into_iter());
        let mut encoded = Encoded::default();
        vocabulary.encode(&sentence, &mut encoded);
        let mut forest = Forest::new();
        forest.start(90, false);
        remembering.forget();
        let mut nodes: Vec<NodeId> = (0..90).map(NodeId::new).collect();
        let mut n_new = 0;
        for _ in 0..400 {
            let children = [rng.below(nodes.len()), rng.below(nodes.len())].map(|i| nodes[i]);
            let head = forest.node(children[0]).head;
            let label = LabelId::new(rng.below(5));
            nodes.push(forest.push_constituent(Kind::Constituent, label, head, &children));
            // The newest nodes are those that come again.
            let depth = rng.below(5);
            let stack: Vec<NodeId> = (0..depth).map(|_| nodes[nodes.len() - 1 - rng.below(40)]).collect();
            let view = view(&mut forest, &stack, rng.below(91));
            let mut expected = Vec::new();
            fresh.extract(&forest, &view, &encoded, &mut expected);
            let mut keys = Vec::new();
            remembering.look(&forest, &view, &encoded, |_| n_new += 1);
            keys.resize(set.len(), 0);
            let mut list = BranchlessList::new(&mut keys);
            remembering.keys(0, &mut list, |key| key);
            let n_keys = list.len();
            keys.truncate(n_keys);
            assert_eq!(keys, expected, "sentence {round}");
        }
        assert!(n_new < 400 * remembering.places.len() / 2, "{n_new}: some are remembered");
    }
}

#[test]
fn children_and_spans_of_constituents() {
    let sentence = Sentence::from_tagged([("a", "T"), ("b", "U"), ("c", "V")]);
    let mut forest = Forest::new();
    forest.start(3, false);
    let leaves: Vec<NodeId> = (0..3).map(|i| forest.leaf(TokenIdx::new(i))).collect();
    let head = TokenIdx::new(1);
    let node = forest.push_constituent(Kind::Constituent, LabelId::new(0), head, &leaves[..2]);
    let view = view(&mut forest, &[node], 2);
    let same = |a: &str, b: &str| {
        let place = |t: &str| keys(t, &sentence, &forest, &view);
        place(a) == place(b)
    };
    assert!(same("s0.t", "s0.tr") && same("s0.l.t", "s0.tl") && same("s0.tro", "b0.t"));
    assert!(!same("s0.t", "s0.tl") && !same("s0.c", "s0.l.c"));
    assert!(keys("s0.u.c s0.tlo", &sentence, &forest, &view).is_empty());
}

#[test]
fn second_dependents_and_valency() {
    let sentence = Sentence::from_tagged([("a", "A"), ("b", "B"), ("c", "C"), ("d", "D")]);
    let mut forest = Forest::new();
    forest.start(4, true);
    let leaf = |i| NodeId::new(i);
    let one = forest.attach(leaf(3), leaf(2), LabelId::new(0));
    let two = forest.attach(one, leaf(0), LabelId::new(1));
    let three = forest.attach(two, leaf(1), LabelId::new(0));
    let view = view(&mut forest, &[three, leaf(0), leaf(1)], 4);
    let place = |t: &str| keys(t, &sentence, &forest, &view);
    assert_eq!(place("s2.l.t"), place("s1.t"), "outermost by place, not by time");
    assert_eq!(place("s2.l2.t"), place("s0.t"));
    assert!(place("s2.r.t").is_empty());
    assert_ne!(place("s2.sl"), place("s2.sr"));
}
