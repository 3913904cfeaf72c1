use super::*;
use crate::tree::arbitrary::{Rng, Shape, constituents, deep_tree, wide_tree};
use crate::tree::{Tree, TreeBuilder};
use crate::treebank::{self, Entry, Format, ReadOptions, WriteOptions};
use proptest::prelude::*;

fn parse(text: &str) -> (Sentence, ConstituentTree) {
    let entry =
        treebank::reader(Format::Ptb, text.as_bytes(), &ReadOptions::default()).next().unwrap().unwrap();
    let Some(Tree::Constituent(tree)) = entry.tree else { panic!("brackets are constituents") };
    (entry.sentence, tree)
}

fn show((sentence, tree): (Sentence, ConstituentTree)) -> String {
    let mut text = Vec::new();
    {
        let mut writer = treebank::writer(Format::Discbracket, &mut text, &WriteOptions::default()).unwrap();
        writer.write(&Entry { sentence, tree: Some(tree.into()) }).unwrap();
        writer.finish().unwrap();
    }
    String::from_utf8(text).unwrap().trim_end().to_owned()
}

#[track_caller]
fn check_removed(text: &str, expected: &str) {
    let (sentence, tree) = parse(text);
    assert_eq!(show(remove_traces(sentence, &tree).unwrap()), expected);
}

#[track_caller]
fn check_resolved(text: &str, expected: &str) {
    let (sentence, tree) = parse(text);
    assert_eq!(show(resolve_traces(sentence, &tree).unwrap()), expected);
}

#[test]
fn empty_elements_and_emptied_nodes_go() {
    check_removed(
        "(S (NP (-NONE- *)) (VP (V go) (SBAR (-NONE- 0) (S (NP (-NONE- *-1)) (VP (-NONE- *?*)))) (ADV on)))",
        "(S (VP (V 0=go) (ADV 1=on)))",
    );
    check_removed("(S (V go))", "(S (V 0=go))");
}

#[test]
fn a_sentence_of_traces_is_refused() {
    let (sentence, tree) = parse("(S (NP (-NONE- *)))");
    assert_eq!(remove_traces(sentence, &tree).unwrap_err().code, Code::Untransformable);
}

#[test]
fn the_filler_replaces_the_phrase_over_the_trace() {
    check_resolved(
        "(SBAR (WHNP-1 (W what)) (S (NP (N we)) (VP (V saw) (NP (-NONE- *T*-1)))))",
        "(SBAR (S (VP (WHNP-1 (W 0=what)) (V 2=saw)) (NP (N 1=we))))",
    );
    // Without a phrase of its own, the trace itself.
    check_resolved(
        "(SBAR (WHNP-1 (W what)) (S (NP (N we)) (VP (V saw) (-NONE- *T*-1))))",
        "(SBAR (S (VP (WHNP-1 (W 0=what)) (V 2=saw)) (NP (N 1=we))))",
    );
    // Extraposed to the right.
    check_resolved(
        "(S (NP (NP (N men)) (SBAR (-NONE- *ICH*-2))) (VP (V came)) (SBAR-2 (W who) (V sang)))",
        "(S (NP (NP (N 0=men)) (SBAR-2 (W 2=who) (V 3=sang))) (VP (V 1=came)))",
    );
}

#[test]
fn other_traces_stay() {
    let text = "(S (NP-1 (N he)) (VP (V tried) (S (NP (-NONE- *-1)) (VP (TO to)))))";
    check_resolved(text, "(S (NP-1 (N 0=he)) (VP (V 1=tried) (S (NP (-NONE- 2=*-1)) (VP (TO 3=to)))))");
    // The filler has no words; there is no filler; = is another kind of index.
    check_resolved(
        "(S (WHNP-1 (-NONE- 0)) (VP (V saw) (NP (-NONE- *T*-1))))",
        "(S (WHNP-1 (-NONE- 0=0)) (VP (V 1=saw) (NP (-NONE- 2=*T*-1))))",
    );
    check_resolved("(S (V saw) (NP (-NONE- *T*-1)))", "(S (V 0=saw) (NP (-NONE- 1=*T*-1)))");
    check_resolved(
        "(S (NP=1 (N a)) (VP (V saw) (NP (-NONE- *T*-1))))",
        "(S (NP=1 (N 0=a)) (VP (V 1=saw) (NP (-NONE- 2=*T*-1))))",
    );
}

#[test]
fn of_several_traces_one_is_taken() {
    check_resolved(
        "(S (NP-1 (N x)) (A (V a) (NP (-NONE- *T*-1))) (B (V b) (NP (-NONE- *T*-1))))",
        "(S (A (NP-1 (N 0=x)) (V 1=a)) (B (V 2=b) (NP (-NONE- 3=*T*-1))))",
    );
    check_resolved(
        "(S (A (V a) (NP (-NONE- *RNR*-1))) (B (V b) (NP (-NONE- *RNR*-1))) (NP-1 (N x)))",
        "(S (A (V 0=a) (NP (-NONE- 1=*RNR*-1))) (B (V 2=b) (NP-1 (N 3=x))))",
    );
    // One of them is *RNR*: the last of all.
    check_resolved(
        "(S (A (V a) (NP (-NONE- *RNR*-1))) (B (V b) (NP (-NONE- *ICH*-1))) (NP-1 (N x)))",
        "(S (A (V 0=a) (NP (-NONE- 1=*RNR*-1))) (B (V 2=b) (NP-1 (N 3=x))))",
    );
}

#[test]
fn a_parenthetical_inside_its_filler_is_lifted_out() {
    check_resolved(
        "(TOP (S-1 (NP (N it)) (PRN (, ,) (NP (N he)) (VP (V said) (S (-NONE- *T*-1))) (, ,)) (VP (V works))))",
        "(TOP (PRN (VP (S-1 (NP (N 0=it)) (VP (V 5=works))) (V 3=said)) (, 1=,) (NP (N 2=he)) (, 4=,)))",
    );
    // The filler would have to stay where it is.
    check_resolved("(TOP (S-1 (V a) (S (-NONE- *T*-1))))", "(TOP (S-1 (V 0=a)))");
    // The filler is the root, or the trace its child: nothing to be done.
    check_resolved("(S-1 (V a) (S (-NONE- *T*-1)))", "(S-1 (V 0=a) (S (-NONE- 1=*T*-1)))");
    check_resolved("(TOP (S-1 (V a) (-NONE- *T*-1)))", "(TOP (S-1 (V 0=a) (-NONE- 1=*T*-1)))");
}

#[test]
fn chains_of_fillers_are_followed() {
    // The filler of 2 contains the trace of 1.
    check_resolved(
        "(S (W-1 (w who)) (X-2 (v do) (NP (-NONE- *T*-1))) (Y (z you) (VP (-NONE- *T*-2))))",
        "(S (Y (X-2 (W-1 (w 0=who)) (v 1=do)) (z 2=you)))",
    );
}

#[test]
fn several_constituents_with_one_index() {
    check_resolved(
        "(S (NP-1 (N a) (SBAR (WHNP-1 (W who)) (VP (V b) (NP (-NONE- *T*-1))))) (V c))",
        "(S (NP-1 (N 0=a) (SBAR (VP (WHNP-1 (W 1=who)) (V 2=b)))) (V 3=c))",
    );
}

#[test]
fn deep_and_wide_trees() {
    for (mut sentence, mut tree) in [deep_tree(100_000), wide_tree(1_000_000)] {
        sentence.tokens[0] = crate::Token::new("*T*-1", "-NONE-");
        let filler = tree.root();
        *tree.label_mut(filler) = "S-1".into();
        let n = tree.n_tokens();
        let (_, resolved) = resolve_traces(sentence.clone(), &tree).unwrap();
        assert_eq!(resolved.n_tokens(), n);
        let (sentence, removed) = remove_traces(sentence, &tree).unwrap();
        assert_eq!((removed.n_tokens(), sentence.len()), (n - 1, n - 1));
    }
}

/// Makes some words traces and gives some constituents indices.
fn with_traces(seed: u64, mut sentence: Sentence, mut tree: ConstituentTree) -> (Sentence, ConstituentTree) {
    let mut rng = Rng(seed);
    for token in &mut sentence.tokens {
        if rng.once_in(3) {
            let kind = rng.pick(&["*T*-", "*ICH*-", "*EXP*-", "*RNR*-", "*-"]);
            *token = crate::Token::new(format!("{kind}{}", rng.below(4)), "-NONE-");
        }
    }
    for i in 0..tree.n_nodes() {
        if rng.once_in(2) {
            let index = format!("-{}", rng.below(4));
            tree.label_mut(NodeId::new(i)).push_str(&index);
        }
    }
    (sentence, tree)
}

proptest! {
    /// Whatever the traces and indices: the words stay, in order; labels of constituents with words stay.
    #[test]
    fn no_word_is_lost((sentence, tree) in constituents(12, Shape::DISCONTINUOUS), seed: u64) {
        let (sentence, tree) = with_traces(seed, sentence, tree);
        let words = |s: &Sentence| -> Vec<_> { s.tokens.iter().filter(|t| !t.is_trace()).cloned().collect() };
        let labels = |tree: &ConstituentTree| {
            let mut labels: Vec<_> = tree.nodes().map(|(_, node)| node.label.clone()).collect();
            labels.sort();
            labels
        };
        if words(&sentence).is_empty() {
            prop_assert!(remove_traces(sentence, &tree).is_err());
        } else {
            let (resolved, moved) = resolve_traces(sentence.clone(), &tree).unwrap();
            prop_assert_eq!(words(&resolved), words(&sentence));
            prop_assert_eq!(resolved.len(), moved.n_tokens());
            let (removed, bare) = remove_traces(sentence.clone(), &tree).unwrap();
            let (both, bare_moved) = remove_traces(resolved, &moved).unwrap();
            prop_assert_eq!(&removed.tokens, &words(&sentence));
            prop_assert_eq!(&both.tokens, &words(&sentence));
            prop_assert_eq!(bare.n_tokens(), removed.len());
            // Only empty constituents go. One that is left with nothing but moved fillers goes too.
            prop_assert!(bare_moved.n_nodes() <= tree.n_nodes());
            let n_overt = tree.nodes()
                .filter(|(id, _)| tree.tokens_under(*id).iter().any(|t| !sentence.token(*t).is_trace()))
                .count();
            prop_assert_eq!(labels(&bare).len(), n_overt);
        }
    }

    /// Removing from a sentence with multiwords keeps their ranges around the same words.
    #[test]
    fn multiwords_follow_their_words(keep in proptest::collection::vec(any::<bool>(), 1..8), a in 0..8usize, b in 0..8usize) {
        let n = keep.len();
        let (first, last) = ((a % n).min(b % n), (a % n).max(b % n));
        let mut sentence = Sentence::from_tagged((0..n).map(|_| ("", "")));
        for (i, token) in sentence.tokens.iter_mut().enumerate() {
            token.form = i.to_string().into();
        }
        let columns: [crate::Str; 9] = Default::default();
        let (from, to) = (TokenIdx::new(first), TokenIdx::new(last));
        sentence.multiwords.push(crate::sentence::Multiword { first: from, last: to, columns: columns.clone() });
        sentence.empty_nodes.push(crate::sentence::EmptyNode { after: last, number: 1, columns });
        let kept = retain_tokens(sentence, &keep);
        let expected: Vec<String> = (first..=last).filter(|&i| keep[i]).map(|i| i.to_string()).collect();
        let found: Vec<String> = kept.multiwords.iter()
            .flat_map(|m| kept.tokens[m.first.index()..=m.last.index()].iter().map(|t| t.form.to_string()))
            .collect();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(kept.empty_nodes[0].after, keep[..last].iter().filter(|k| **k).count());
    }
}

#[test]
fn secondary_edges_go_with_their_ends() {
    let mut builder = TreeBuilder::with_tokens(2);
    let (s, np) = (builder.node("S"), builder.node("NP"));
    builder.attach(Child::Token(TokenIdx::new(0)), np);
    builder.attach(Child::Token(TokenIdx::new(1)), s);
    builder.attach(Child::Node(np), s);
    builder.secondary(Child::Token(TokenIdx::new(1)), "A", s);
    builder.secondary(Child::Token(TokenIdx::new(1)), "B", np);
    let tree = builder.finish().unwrap();
    let sentence = Sentence::from_tagged([("*", "-NONE-"), ("w", "N")]);
    let (_, removed) = remove_traces(sentence, &tree).unwrap();
    let labels: Vec<&str> = removed.secondary_edges().iter().map(|edge| edge.label.as_str()).collect();
    assert_eq!(labels, ["A"]);
    assert_eq!(removed.secondary_edges()[0].child, Child::Token(TokenIdx::new(0)));
}
