use super::*;
use crate::tree::TreeBuilder;
use crate::tree::arbitrary::{Shape, constituents, deep_tree};
use proptest::prelude::*;

/// Checks lines `LABEL: CHILD [HEAD] CHILD`; a child may have an edge, `NP/SB`. Lines without a colon are remarks.
#[track_caller]
fn check(rules: &HeadRules, lines: &str) {
    for line in lines.lines() {
        let Some((label, children)) = line.trim().split_once(": ") else { continue };
        let mut head = None;
        let candidates = children.split_whitespace().enumerate().map(|(i, child)| {
            let marked = child.strip_prefix('[').and_then(|child| child.strip_suffix(']'));
            head = head.or(marked.map(|_| i));
            let child = marked.unwrap_or(child);
            let (label, edge) = child.split_once('/').unwrap_or((child, ""));
            Candidate { label, edge }
        });
        let candidates: Vec<Candidate<'_>> = candidates.collect();
        assert_eq!(Some(rules.head_child(label, &candidates)), head, "{line}");
    }
}

#[track_caller]
fn check_error(text: &str, expected: &str) {
    assert_eq!(HeadRules::parse(text).expect_err(text).to_string(), expected);
}

#[test]
fn collins_finds_the_heads_of_the_table() {
    let rules = HeadRules::named("collins").unwrap();
    check(
        &rules,
        r"
        S: NP [VP] .
        VP: [MD] VP
        VP: [TO] VP
        PP: [IN] NP
        SBAR: [IN] S
        ADVP: RB [RB]
        WHNP: [WDT] NN
        Priorities before positions, JJ is left of NN, but NN stands earlier in the list.
        ADJP: JJ [NN]
        A category without a rule.
        TOP: [NP] VP
        Nothing of the list is there, the end where the search begins.
        PP: NP NP [ADVP]
        VP: [ADVP] PP",
    );
}

#[test]
fn collins_noun_phrases_follow_their_own_order() {
    let rules = HeadRules::named("collins").unwrap();
    check(
        &rules,
        r"
        NP: DT JJ [NN]
        NP: DT NN [POS]
        In a set the position decides, not the order of the labels.
        NP: NNS JJR [NN] CD
        NP: [NP] PP NP
        NP: [$] CD CD
        NP: DT [CD] JJ
        NP: DT QP [JJ]
        NP: DT [PRP]",
    );
}

#[test]
fn collins_coordination_is_headed_by_the_conjunct_before() {
    let rules = HeadRules::named("collins").unwrap();
    check(
        &rules,
        r"
        NP: [NN] CC NN
        NP: NN , [NN] , CC NN
        NP: CC [NN]
        VP: [VP] CC VP
        ADVP: [RB] CC RB",
    );
}

#[test]
fn punctuation_heads_only_punctuation() {
    let rules = HeadRules::named("collins").unwrap();
    check(
        &rules,
        r"
        PRN: -LRB- [NP] -RRB-
        PRN: [,] :
        FRAG: [NP] .",
    );
}

#[test]
fn function_tags_are_not_looked_at() {
    let rules = HeadRules::named("collins").unwrap();
    check(
        &rules,
        r"
        S-TPC-1: NP-SBJ [VP=2] .
        NP-SBJ: [NP-1] PP-LOC",
    );
}

#[test]
fn german_rules() {
    let rules = HeadRules::named("german").unwrap();
    check(
        &rules,
        r"
        S: NP [VVFIN] ADV
        S: KOUS NP VP [VAFIN]
        VP: NP PP [VVPP]
        NP: ART ADJA [NN] PP
        NP: PPER [NP]
        NP: [PDS] NP
        PP: [APPR] ART NN
        PP: NN [APPO]
        CNP: [NN] KON NN
        VROOT: $( [S] $.
        The treebank's own mark wins.
        S: NP/SB VVFIN/OC [VP/HD]",
    );
}

#[test]
fn dutch_rules() {
    let rules = HeadRules::named("dutch").unwrap();
    check(
        &rules,
        r"
        SMAIN: PP [VERB] NOUN ADJ
        smain: np [verb] ppart
        SSUB: NP NP ADV [VERB]
        PP: [PREP] NP
        NP: DET ADJ [NOUN] PP
        CP: ADV [COMP] SSUB
        TI: INF [COMP]
        REL: [NOUN] SSUB
        CONJ: [REL] VG REL
        ROOT: PUNCT [SMAIN] PUNCT
        np: np/mod [verb/hd]",
    );
}

#[test]
fn the_outermost_child() {
    check(&HeadRules::named("leftmost").unwrap(), "X: [,] B C");
    check(&HeadRules::named("rightmost").unwrap(), "X: A B [,]");
}

#[test]
fn users_write_their_own() {
    let rules = HeadRules::parse(
        "# ours\n\n%coordination KON\nNP last POS; left-to-right {A B}C ; right-to-left D\n\\% first \\; \\{ \\*\n* right-to-left *",
    )
    .unwrap();
    check(
        &rules,
        r"
        NP: X [POS]
        NP: POS X C [B] A
        NP: D X [D] Y
        NP: [D] KON D
        Nothing fits, where the first clause looks.
        NP: X Y [Z]
        %: [;] x
        %: [{] x
        %: [*] ;
        other: X [Y]",
    );
    // A line for a label with its tags goes before the one for the category.
    let rules = HeadRules::parse("NP left-to-right *\nNP-TMP right-to-left *").unwrap();
    check(
        &rules,
        r"
        NP-SBJ: [X] Y
        NP-TMP: X [Y]
        Without a default the first child is the head.
        VP: [X] Y",
    );
}

#[test]
fn wrong_rules_are_located() {
    check_error("NP", "1:3: expected left-to-right, right-to-left, first or last [TW402]");
    check_error(
        "# x\nNP leftwards X",
        "2:4: expected left-to-right, right-to-left, first or last, found \"leftwards\" [TW402]",
    );
    check_error("NP left-to-right", "1:4: expected at least one label or * in this clause [TW402]");
    check_error("NP left-to-right X ;", "1:21: expected left-to-right, right-to-left, first or last [TW402]");
    check_error("NP left-to-right {X", "1:18: { without } [TW402]");
    check_error("NP left-to-right X}", "1:19: } without { [TW402]");
    check_error("NP left-to-right {}", "1:19: expected a label before } [TW402]");
    check_error("NP left-to-right {X {", "1:21: a set cannot stand inside a set [TW402]");
    check_error("NP left-to-right {X *}", "1:21: * cannot stand in a set [TW402]");
    check_error("é left-to-right X\né left-to-right X", "2:1: the category é is given twice [TW402]");
    check_error("* first *\n* first *", "2:1: the default rule * is given twice [TW402]");
    check_error(
        "%what X",
        "1:1: \"%what\" is no directive, expected %ignore, %coordination, %head-edges or %ignore-case [TW402]",
    );
    check_error("%ignore X\n%ignore-case", "2:1: %ignore-case must come before every other line [TW402]");
    check_error("%ignore-case X", "1:14: expected nothing, found \"X\" [TW402]");
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
