use super::*;
use crate::treebank::{self, ReadOptions};

/// A treebank in any format; `many` copies of its text make shares small.
fn treebank(text: &str) -> Vec<Entry> {
    let options = ReadOptions { many_roots: true, ..ReadOptions::default() };
    let opened = treebank::open(text.as_bytes(), &options).expect("a format");
    opened.reader.map(|entry| entry.expect("a sentence")).collect()
}

const PROJECTIVE: &str = "# text = A b.\n1\tA\ta\tDET\t_\t_\t2\tdet\t_\t_\n2\tb\tb\tNOUN\t_\t_\t0\troot\t_\tSpaceAfter=No\n\
                          3\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_\n\n";
/// The arc from 4 to 2 crosses that from 3 to 1.
const CROSSING: &str = "1\ta\t_\tX\t_\t_\t3\tdep\t_\t_\n2\tb\t_\tX\t_\t_\t4\tdep\t_\t_\n3\tc\t_\tX\t_\t_\t0\troot\t_\t_\n\
                        4\td\t_\tX\t_\t_\t3\tdep\t_\t_\n\n";
const TWO_ROOTS: &str = "1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n2\tb\t_\t_\t_\t_\t0\troot\t_\t_\n\n";

#[test]
fn projective_dependencies_stay_as_they_are() {
    let choice = choose(&treebank(&PROJECTIVE.repeat(FEW_TREES))).unwrap();
    assert_eq!((choice.recipe.name, choice.config.pseudo_projective.as_str()), ("dependencies", ""));
    assert!(choice.config.single_root);
    assert_eq!(choice.parts, [TextPart::Segmenter, TextPart::Tagger, TextPart::Lemmatiser]);
    assert_eq!(
        choice.reasons,
        [
            "This treebank has dependencies without crossing arcs, so: recipe dependencies (arc-hybrid, beam 8).",
            "It has tags and lemmas."
        ]
    );
}

#[test]
fn crossing_arcs_are_encoded_be_they_few_or_many() {
    for (text, share) in [
        (PROJECTIVE.repeat(1999) + CROSSING, "0.02 % crossing arcs (0.1 % of the sentences)"),
        (CROSSING.repeat(FEW_TREES), "25.0 % crossing arcs (100.0 % of the sentences)"),
    ] {
        let choice = choose(&treebank(&text)).unwrap();
        assert_eq!((choice.recipe.name, choice.config.pseudo_projective.as_str()), ("dependencies", "head"));
        let expected = format!(
            "This treebank has dependencies with {share}, so: recipe dependencies (arc-hybrid, beam 8), pseudo-projective."
        );
        assert_eq!(choice.reasons[0], expected);
    }
}

#[test]
fn a_small_treebank_is_learnt_step_by_step() {
    let choice = choose(&treebank(&PROJECTIVE.repeat(FEW_TREES - 1))).unwrap();
    assert_eq!(choice.config.update, crate::train::Update::Local);
    assert_eq!(
        choice.reasons[0],
        "This treebank has dependencies without crossing arcs in 1999 sentences, which is not many, so: recipe \
         non-projective-dependencies (arc-hybrid-swap, greedy)."
    );
}

#[test]
fn rare_actions_are_left_out_of_large_treebanks_alone() {
    let count = |text: &str| choose(&treebank(text)).unwrap().config.min_action_count;
    assert_eq!(count(PROJECTIVE), 1);
    assert_eq!(count(&PROJECTIVE.repeat(MANY_DEPENDENCY_TREES - 1)), 1);
    assert_eq!(count(&PROJECTIVE.repeat(MANY_DEPENDENCY_TREES)), 3);
    let discontinuous = "(S (NP (DT 0=The) (NN 3=dog)) (VP (VBZ 1=barks)) (RB 2=now))\n";
    assert_eq!(count(&discontinuous.repeat(MANY_CONSTITUENT_TREES - 1)), 1);
    assert_eq!(count(&discontinuous.repeat(MANY_CONSTITUENT_TREES)), 6);
}

#[test]
fn small_weights_are_left_out_of_huge_models_alone() {
    let weight = |text: &str, n: usize| choose(&treebank(&text.repeat(n))).unwrap().config.min_weight;
    assert_eq!(weight(PENN, HUGE_CONSTITUENT_TREES - 1), 0.0);
    assert_eq!(weight(PENN, HUGE_CONSTITUENT_TREES), 1.0);
    // In-order has fewer features.
    assert_eq!(weight("(CL (np (noun x) (det z)) (verb y))\n", HUGE_CONSTITUENT_TREES), 0.0);
}

#[test]
fn several_roots_need_no_flag() {
    let choice = choose(&treebank(&(PROJECTIVE.repeat(9) + TWO_ROOTS))).unwrap();
    assert!(!choice.config.single_root);
    assert_eq!(
        choice.reasons[1],
        "10.0 % of the sentences have several roots, so the parser may give several."
    );
    // A few mistakes of the annotators are no reason to let every sentence have several.
    let choice = choose(&treebank(&(PROJECTIVE.repeat(999) + TWO_ROOTS))).unwrap();
    assert!(choice.config.single_root);
    assert_eq!(choice.reasons[1], "The 0.1 % of the sentences that have several roots are left out.");
}

#[test]
fn parts_are_what_the_treebank_has_data_for() {
    let parts = |text: &str| choose(&treebank(text)).unwrap().parts;
    assert_eq!(parts(CROSSING), [TextPart::Segmenter, TextPart::Tagger]);
    assert_eq!(parts(TWO_ROOTS), [TextPart::Segmenter]);
    // Lemmas for 3 words of 7, and for 6 of 10.
    assert!(!parts(&(PROJECTIVE.to_owned() + CROSSING)).contains(&TextPart::Lemmatiser));
    assert!(parts(&(PROJECTIVE.repeat(2) + CROSSING)).contains(&TextPart::Lemmatiser));
    let reasons = choose(&treebank(TWO_ROOTS)).unwrap().reasons;
    assert_eq!(reasons.last().unwrap(), "It has neither tags nor lemmas.");
}

#[test]
fn a_choice_needs_trees_of_one_kind() {
    let no_trees = treebank("1\ta\t_\tX\t_\t_\t_\t_\t_\t_\n\n");
    assert!(choose(&no_trees).unwrap_err().message.contains("no sentence of the training data has a tree"));
    assert!(choose(&[]).is_err());
    let both = [treebank(PROJECTIVE), treebank("(S (X a))")].concat();
    assert!(choose(&both).unwrap_err().message.contains("dependencies and constituents"));
}

const PENN: &str = "(S (NP (DT The) (NN dog)) (VP (VBZ barks)) (. .))\n";
const ALPINO: &str = "(ROOT (SMAIN (NP (DET 0=de) (NOUN 3=hond)) (VERB 1=blaft) (ADV 2=hard)) (PUNCT 4=.))\n";
const NEGRA: &str = "(VROOT (S (NP (ART 0=Der) (NN 3=Hund)) (VVFIN 1=bellt) (ADV 2=laut)) ($. 4=.))\n";
const OTHER: &str = "(CL (np (noun 0=x) (det 2=z)) (verb 1=y))\n";

#[test]
fn hardly_any_discontinuous_trees_are_left_out() {
    let mixed = |n: usize| choose(&[treebank(&PENN.repeat(n)), treebank(OTHER)].concat()).unwrap();
    assert_eq!(mixed(199).recipe.name, "discontinuous");
    let choice = mixed(999);
    assert_eq!(choice.recipe.name, "headed-constituents");
    assert!(choice.reasons[0].contains("in no more than 0.1 % of the sentences, which are left out"));
}

#[track_caller]
fn check(text: &str, recipe: &str, head_rules: &str) {
    let choice = choose(&treebank(text)).unwrap();
    assert_eq!(choice.recipe.name, recipe);
    assert!(choice.config.check().is_ok());
    assert_eq!(choice.config.head_rules, head_rules);
}

#[test]
fn head_rules_are_those_of_the_labels_and_decide_on_the_recipe() {
    check(ALPINO, "discontinuous", "dutch");
    check(&ALPINO.to_lowercase(), "discontinuous", "dutch");
    check(NEGRA, "discontinuous", "german");
    check("(S (NP (DT 0=The) (NN 3=dog)) (VP (VBZ 1=barks)) (RB 2=now))", "discontinuous", "collins");
    check(OTHER, "discontinuous", "leftmost");
    check(PENN, "headed-constituents", "collins");
    check("(CL (np (noun x) (det z)) (verb y))", "constituents", "leftmost");
}
