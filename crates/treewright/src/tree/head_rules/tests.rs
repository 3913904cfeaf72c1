use super::*;
use crate::tree::TreeBuilder;
use crate::tree::arbitrary::{Shape, constituents, deep_tree};
use proptest::prelude::*;

/// Asserts that, of the children, the one at `expected` heads a constituent with this label.
#[track_caller]
fn check(rules: &HeadRules, label: &str, children: &str, expected: usize) {
    let children: Vec<Candidate<'_>> = children
        .split_whitespace()
        .map(|child| {
            let (label, edge) = child.split_once('/').unwrap_or((child, ""));
            Candidate { label, edge }
        })
        .collect();
    let found = rules.head_child(label, &children);
    assert_eq!(found, expected, "{label} -> {children:?}");
}

#[track_caller]
fn check_error(text: &str, line: usize, column: usize, message: &str) {
    let error = HeadRules::parse(text).expect_err("the rules are wrong");
    assert_eq!(error.code, Code::BadRules);
    assert_eq!((error.location.line, error.location.column), (line, column), "{error}");
    assert!(error.message.contains(message), "{error}");
}

#[test]
fn collins_finds_the_heads_of_the_table() {
    let rules = HeadRules::named("collins").unwrap();
    check(&rules, "S", "NP VP .", 1);
    check(&rules, "VP", "MD VP", 0);
    check(&rules, "VP", "TO VP", 0);
    check(&rules, "PP", "IN NP", 0);
    check(&rules, "SBAR", "IN S", 0);
    check(&rules, "ADVP", "RB RB", 1);
    check(&rules, "WHNP", "WDT NN", 0);
    // Priorities before positions: JJ is left of NN, but NN stands earlier in the list.
    check(&rules, "ADJP", "JJ NN", 1);
    // A category without a rule.
    check(&rules, "TOP", "NP VP", 0);
    // Nothing of the list is there: the end where the search begins.
    check(&rules, "PP", "NP NP ADVP", 2);
    check(&rules, "VP", "ADVP PP", 0);
}

#[test]
fn collins_noun_phrases_follow_their_own_order() {
    let rules = HeadRules::named("collins").unwrap();
    check(&rules, "NP", "DT JJ NN", 2);
    check(&rules, "NP", "DT NN POS", 2);
    // In a set the position decides, not the order of the labels.
    check(&rules, "NP", "NNS JJR NN CD", 2);
    check(&rules, "NP", "NP PP NP", 0);
    check(&rules, "NP", "$ CD CD", 0);
    check(&rules, "NP", "DT CD JJ", 1);
    check(&rules, "NP", "DT QP JJ", 2);
    check(&rules, "NP", "DT PRP", 1);
}

#[test]
fn collins_coordination_is_headed_by_the_conjunct_before() {
    let rules = HeadRules::named("collins").unwrap();
    check(&rules, "NP", "NN CC NN", 0);
    check(&rules, "NP", "NN , NN , CC NN", 2);
    check(&rules, "NP", "CC NN", 1);
    check(&rules, "VP", "VP CC VP", 0);
    check(&rules, "ADVP", "RB CC RB", 0);
}

#[test]
fn punctuation_heads_only_punctuation() {
    let rules = HeadRules::named("collins").unwrap();
    check(&rules, "PRN", "-LRB- NP -RRB-", 1);
    check(&rules, "PRN", ", :", 0);
    check(&rules, "FRAG", "NP .", 0);
}

#[test]
fn function_tags_are_not_looked_at() {
    let rules = HeadRules::named("collins").unwrap();
    check(&rules, "S-TPC-1", "NP-SBJ VP=2 .", 1);
    check(&rules, "NP-SBJ", "NP-1 PP-LOC", 0);
}

#[test]
fn german_rules() {
    let rules = HeadRules::named("german").unwrap();
    check(&rules, "S", "NP VVFIN ADV", 1);
    check(&rules, "S", "KOUS NP VP VAFIN", 3);
    check(&rules, "VP", "NP PP VVPP", 2);
    check(&rules, "NP", "ART ADJA NN PP", 2);
    check(&rules, "NP", "PPER NP", 1);
    check(&rules, "NP", "PDS NP", 0);
    check(&rules, "PP", "APPR ART NN", 0);
    check(&rules, "PP", "NN APPO", 1);
    check(&rules, "CNP", "NN KON NN", 0);
    check(&rules, "VROOT", "$( S $.", 1);
    // The treebank's own mark wins.
    check(&rules, "S", "NP/SB VVFIN/OC VP/HD", 2);
}

#[test]
fn dutch_rules() {
    let rules = HeadRules::named("dutch").unwrap();
    check(&rules, "SMAIN", "PP VERB NOUN ADJ", 1);
    check(&rules, "smain", "np verb ppart", 1);
    check(&rules, "SSUB", "NP NP ADV VERB", 3);
    check(&rules, "PP", "PREP NP", 0);
    check(&rules, "NP", "DET ADJ NOUN PP", 2);
    check(&rules, "CP", "ADV COMP SSUB", 1);
    check(&rules, "TI", "INF COMP", 1);
    check(&rules, "REL", "NOUN SSUB", 0);
    check(&rules, "CONJ", "REL VG REL", 0);
    check(&rules, "ROOT", "PUNCT SMAIN PUNCT", 1);
    check(&rules, "np", "np/mod verb/hd", 1);
}

#[test]
fn the_outermost_child() {
    check(&HeadRules::named("leftmost").unwrap(), "X", ", B C", 0);
    check(&HeadRules::named("rightmost").unwrap(), "X", "A B ,", 2);
}

#[test]
fn users_write_their_own() {
    let rules = HeadRules::parse(
        "# ours\n\n%coordination KON\nNP last POS; left-to-right {A B}C ; right-to-left D\n\\% first \\; \\{ \\*\n* right-to-left *",
    )
    .unwrap();
    check(&rules, "NP", "X POS", 1);
    check(&rules, "NP", "POS X C B A", 3);
    check(&rules, "NP", "D X D Y", 2);
    check(&rules, "NP", "D KON D", 0);
    // Nothing fits: where the first clause looks.
    check(&rules, "NP", "X Y Z", 2);
    check(&rules, "%", "; x", 0);
    check(&rules, "%", "{ x", 0);
    check(&rules, "%", "* ;", 0);
    check(&rules, "other", "X Y", 1);
    // A line for a label with its tags goes before the one for the category.
    let rules = HeadRules::parse("NP left-to-right *\nNP-TMP right-to-left *").unwrap();
    check(&rules, "NP-SBJ", "X Y", 0);
    check(&rules, "NP-TMP", "X Y", 1);
    // Without a default the first child is the head.
    check(&rules, "VP", "X Y", 0);
}

#[test]
fn wrong_rules_are_located() {
    check_error("NP", 1, 3, "expected left-to-right");
    check_error("# x\nNP leftwards X", 2, 4, "found \"leftwards\"");
    check_error("NP left-to-right", 1, 4, "at least one label");
    check_error("NP left-to-right X ;", 1, 21, "expected left-to-right");
    check_error("NP left-to-right {X", 1, 18, "{ without }");
    check_error("NP left-to-right X}", 1, 19, "} without {");
    check_error("NP left-to-right {}", 1, 19, "expected a label");
    check_error("NP left-to-right {X {", 1, 21, "inside a set");
    check_error("NP left-to-right {X *}", 1, 21, "cannot stand in a set");
    check_error("é left-to-right X\né left-to-right X", 2, 1, "twice");
    check_error("* first *\n* first *", 2, 1, "twice");
    check_error("%what X", 1, 1, "no directive");
    check_error("%ignore X\n%ignore-case", 2, 1, "before every other line");
    check_error("%ignore-case X", 1, 14, "expected nothing");
    let error = HeadRules::named("klingon").unwrap_err();
    assert!(error.message.contains("collins, german, dutch, leftmost, rightmost"), "{error}");
}

#[test]
fn the_head_of_a_sentence_is_its_verb() {
    let sentence = Sentence::from_tagged([("Es", "PPER"), ("bestünde", "VVFIN"), ("Raum", "NN")]);
    let mut builder = TreeBuilder::with_tokens(3);
    let (s, np) = (builder.node("S"), builder.node("NP"));
    builder.attach(Child::Token(TokenIdx::new(0)), np);
    builder.attach(Child::Token(TokenIdx::new(1)), s);
    builder.attach(Child::Token(TokenIdx::new(2)), np);
    builder.attach(Child::Node(np), s);
    let tree = builder.finish().unwrap();
    let rules = HeadRules::named("german").unwrap();
    assert_eq!(rules.heads(&tree, &sentence), [1, 1]);
    assert_eq!(rules.lexical_heads(&tree, &sentence), [TokenIdx::new(2), TokenIdx::new(1)]);
}

#[test]
fn deep_trees_have_heads() {
    let (sentence, tree) = deep_tree(100_000);
    let words = HeadRules::named("rightmost").unwrap().lexical_heads(&tree, &sentence);
    assert_eq!(words.last().unwrap().index(), tree.n_tokens() - 1);
}

proptest! {
    /// Every built-in set gives a head that is a child, and a head word inside the yield, for any tree.
    #[test]
    fn heads_are_inside((sentence, tree) in constituents(12, Shape::NASTY)) {
        for (name, _) in HeadRules::built_in() {
            let rules = HeadRules::named(name).unwrap();
            let heads = rules.heads(&tree, &sentence);
            let words = rules.lexical_heads(&tree, &sentence);
            for (id, _) in tree.nodes() {
                prop_assert!(heads[id.index()] < tree.children(id).len());
                prop_assert!(tree.tokens_under(id).contains(&words[id.index()]));
            }
        }
    }

    /// Any text is rules or an error with a place, never a panic.
    #[test]
    fn any_text_is_rules_or_an_error(text in "([%#*;{}\\\\ \nNP]|left-to-right |first |%ignore |é){0,30}") {
        if let Err(error) = HeadRules::parse(&text) {
            prop_assert!(error.location.line >= 1 && error.location.column >= 1);
        }
    }
}
