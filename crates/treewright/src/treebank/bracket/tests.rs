//! Both bracket formats: what is read, what is refused, where reading goes on.

use proptest::prelude::*;

use super::*;
use crate::sentence::{Sentence, Token};
use crate::tree::TreeBuilder;
use crate::tree::arbitrary::{self, NASTY_LABELS, Shape};
use crate::treebank::{Format, WriteOptions, random, testing};

/// What a file gives, one line per item: the tree as brackets without ambiguity, or the error.
fn read(text: impl AsRef<[u8]>, with_index: bool, options: &ReadOptions) -> Vec<String> {
    let items = testing::read(format(with_index), text, options);
    items.into_iter().map(|item| item.map_or_else(|e| e.to_string(), |entry| show(&entry))).collect()
}

fn format(with_index: bool) -> Format {
    if with_index { Format::Discbracket } else { Format::Ptb }
}

/// Constituents in square brackets, words as `form/tag`.
fn show(entry: &Entry) -> String {
    let Some(Tree::Constituent(tree)) = &entry.tree else { return format!("{:?}", entry.tree) };
    let mut parts: Vec<String> = Vec::new();
    for (id, node) in tree.nodes() {
        let children: Vec<String> = tree
            .children(id)
            .iter()
            .map(|child| match *child {
                Child::Token(token) => {
                    let word = entry.sentence.token(token);
                    format!("{}:{}/{}", token.index(), word.form, word.tag)
                }
                Child::Node(node) => parts[node.index()].clone(),
            })
            .collect();
        parts.push(format!("{}[{}]", node.label, children.join(" ")));
    }
    parts.pop().unwrap_or_default()
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(read(text, false, &ReadOptions::default()), expected);
}

#[track_caller]
fn check_disc(text: &str, expected: &[&str]) {
    assert_eq!(read(text, true, &ReadOptions::default()), expected);
}

#[test]
fn trees_on_lines_and_over_lines() {
    check("(S (A a) (B b))\n(S (C c))\n", &["S[0:a/A 1:b/B]", "S[0:c/C]"]);
    check("( (S\n    (NP (A a)\n\t(B\n b)))\r\n)\n\n(S (C c))", &["[S[NP[0:a/A 1:b/B]]]", "S[0:c/C]"]);
    check("(S (A a)) (S (B b))(S (C c))", &["S[0:a/A]", "S[0:b/B]", "S[0:c/C]"]);
    // Without indentation, as long as no tree has filled its line.
    check("(S\n(A a)\n(B b))\n(S (C c))", &["S[0:a/A 1:b/B]", "S[0:c/C]"]);
    check("", &[]);
}

#[test]
fn labels_tags_and_words() {
    check("(S (NP-SBJ-1 (-NONE- *T*-1)) (-LRB- -LRB-))", &["S[NP-SBJ-1[0:*T*-1/-NONE-] 1:-LRB-/-LRB-]"]);
    check("(A (B w0) w1)", &["A[0:w0/B 1:w1/]"]);
    check("(A (B ( w0)) ( w1))", &["A[B[0:w0/] 1:w1/]"]);
    check("(X w)", &["X[0:w/]"]);
    check("( w)", &["[0:w/]"]);
    check("( S (A a))", &["S[0:a/A]"]);
    check("(A w0 w1)", &["A[0:w0/ 1:w1/]"]);
    check("((S (A a)))", &["[S[0:a/A]]"]);
    check("(S (A a\u{a0}b))", &["S[0:a\u{a0}b/A]"]);
    let options = ReadOptions { bare_words: true, ..ReadOptions::default() };
    assert_eq!(read("(B (A w0) w1)\n(B (A w0))", false, &options), ["B[A[0:w0/] 1:w1/]", "B[A[0:w0/]]"]);
    assert_eq!(read("(A (B 0=w0 2=w2) (C 1=w1))", true, &options), ["A[B[0:w0/ 2:w2/] C[1:w1/]]"]);
}

#[test]
fn positions_give_the_order() {
    let expected = "A[B[0:w0/ 2:w2/] 1:w1/]";
    check_disc("(A (B 0=w0 2=w2) 1=w1)", &[expected]);
    check_disc("(A 1=w1 (B 2=w2 0=w0))", &[expected]);
    check_disc("(S (NP (N 1=b) (D 0=a)) (V 2=c=d) (P 3=))", &["S[NP[0:a/D 1:b/N] 2:c=d/V 3:/P]"]);
    check_disc("(S (NP (A 2=c)) (A 1=b) (VP (A 0=a)))", &["S[VP[0:a/A] 1:b/A NP[2:c/A]]"]);
}

#[test]
fn leaves_need_positions() {
    let expected = "expected (TAG index=word), where the index is a number from 0 [TW204]";
    for leaf in ["w", "=w", "-1=w", "1.0=w", "1234567890=w", "0"] {
        let error = format!("1:7: sentence 1: {leaf:?} where a word should stand; {expected}");
        check_disc(&format!("(S (A {leaf}))\n(S (B 0=b))"), &[&error, "S[0:b/B]"]);
        let error = error.replace("1:7", "1:6");
        check_disc(&format!("(S ( {leaf})) (S (B 0=b))"), &[&error, "S[0:b/B]"]);
        check_disc(
            &format!("(S x\n {leaf}) (S (B 0=b))").replace('x', "1=x"),
            &[&error.replace("1:6", "2:2"), "S[0:b/B]"],
        );
        // What follows in the damaged tree is skipped with it.
        check_disc(&format!("(S ( {leaf}) (C (D 1=d))) (S (B 0=b))"), &[&error, "S[0:b/B]"]);
    }
}

#[test]
fn every_position_once() {
    check_disc(
        "(S (É 1=a) (B 0=b) (C 1=c))",
        &["1:23: sentence 1: word 1 stands in the tree twice; expected once [TW206]"],
    );
    check_disc(
        "(S (A 0=a)\n (B 5=b))\n(S (A 0=a))",
        &[
            "2:5: sentence 1: word 1 is missing; expected the words 0 to 1 in a tree of 2 words [TW205]",
            "S[0:a/A]",
        ],
    );
    check_disc(
        "(S (A 1=a))",
        &["1:7: sentence 1: word 0 is missing; expected the words 0 to 0 in a tree of 1 words [TW205]"],
    );
}

#[test]
fn unbalanced_brackets() {
    let end = "brackets not closed at the end of the file; expected as many `)` as `(` [TW201]";
    let next = "not closed where the next tree starts; expected as many `)` as `(` [TW201]";
    check("(S (A a)\n  (B b", &[&format!("1:1: sentence 1: 2 {end}")]);
    // The first tree may be one without indentation, so the file is read to its end and then from the next line.
    check(
        "(S (A a)\n(S (B b))\n(S (C c))",
        &[&format!("1:1: sentence 1: 1 {}", end.replace("brackets", "bracket")), "S[0:b/B]", "S[0:c/C]"],
    );
    // Later ones are not.
    check(
        "(S (A a))\n(S (A (B b\n(S (C c))\n(S (D d)\n(S (E e))\n",
        &[
            "S[0:a/A]",
            &format!("2:1: sentence 2: 3 brackets {next}"),
            "S[0:c/C]",
            &format!("4:1: sentence 4: 1 bracket {next}"),
            "S[0:e/E]",
        ],
    );
    check(
        "(S (A a)))) )\n(S (B b))",
        &["S[0:a/A]", "1:10: sentence 1: a `)` that closes nothing; expected `(` [TW201]", "S[0:b/B]"],
    );
}

#[test]
fn text_outside_of_trees() {
    check(
        "é hello (S (A a)) x\n(S (B b))",
        &[
            "1:1: sentence 1: \"é\" outside of any tree; expected `(` [TW202]",
            "S[0:a/A]",
            "1:19: sentence 2: \"x\" outside of any tree; expected `(` [TW202]",
            "S[0:b/B]",
        ],
    );
}

#[test]
fn empty_trees_are_errors_or_no_parses() {
    let whole = "a tree without words; expected at least one [TW207]";
    for tree in ["()", "(TOP)", "(TOP ())", "( )", "(S (NP) (VP ()))"] {
        let text = format!("(S (A a))\n{tree}\n(S (B b))\n");
        check(&text, &["S[0:a/A]", &format!("2:1: sentence 2: {whole}"), "S[0:b/B]"]);
        let options = ReadOptions { no_parse: true, ..ReadOptions::default() };
        assert_eq!(read(&text, false, &options), ["S[0:a/A]", "None", "S[0:b/B]"]);
        let lines = format!("\n{tree}\n \t\n(S (A 0=a))\n\n");
        assert_eq!(read(&lines, true, &options), ["None", "None", "None", "S[0:a/A]", "None"]);
    }
    let inner = "1:10: sentence 1: a constituent without words; expected at least one word in it [TW207]";
    check("(S (A a) (NP) (VP ()))(S (B b))", &[inner, "S[0:b/B]"]);
    // A blank line between trees is nothing by default.
    check("\n(S (A a))\n\n\n(S (B b))\n", &["S[0:a/A]", "S[0:b/B]"]);
}

#[test]
fn a_sentence_without_words_is_read_as_it_is_written() {
    let empty = Entry::default();
    for with_index in [false, true] {
        let text = write(&[empty.clone(), empty.clone()], with_index).expect("brackets");
        assert_eq!(text, "(())\n(())\n");
        assert_eq!(entries(&text, with_index, &ReadOptions::default()), [empty.clone(), empty.clone()]);
    }
    check("(S (A a)) (()) (S (B b))", &["S[0:a/A]", "None", "S[0:b/B]"]);
}

#[test]
fn bad_bytes_cost_one_tree() {
    let read = |bytes: &[u8]| read(bytes, false, &ReadOptions::default());
    let nul = "a NUL byte; expected text, or the name of its encoding (such as utf-16le) [TW004]";
    assert_eq!(
        read(b"(S (A a))\n(S (B \0))\n(S (C c))"),
        ["S[0:a/A]", &format!("2:7: sentence 2: {nul}"), "S[0:c/C]"]
    );
    // Nobody knows how many brackets the bad line had: the next tree is the next line that starts with one.
    assert_eq!(
        read(b"(S\n  (B \0))\n  (C c))) (X (X x))\n(S (D d))"),
        [&format!("2:6: sentence 1: {nul}"), "S[0:d/D]"]
    );
    assert_eq!(
        read(b"(S (A \n (\0\n (\0\n))\n(S (D d))"),
        [&format!("2:3: sentence 1: {nul}"), &format!("3:3: sentence 1: {nul}"), "S[0:d/D]"]
    );
}

fn write(entries: &[Entry], with_index: bool) -> Result<String> {
    testing::write(format(with_index), entries, &WriteOptions::default())
}

fn entries(text: &str, with_index: bool, options: &ReadOptions) -> Vec<Entry> {
    let items: Result<Vec<Entry>> = testing::read(format(with_index), text, options).into_iter().collect();
    items.unwrap_or_else(|error| panic!("{error} in {text:?}"))
}

#[test]
fn canonical_text_is_written_as_it_was() {
    let text =
        "( (S (NP-SBJ (D a) (N b)) (-- w) (VP (-- x)) (. .)))\n(X (-- w))\n( (-- w))\n(A (B (-- w)))\n";
    assert_eq!(write(&entries(text, false, &ReadOptions::default()), false).as_deref(), Ok(text));
    let text = "(S (VP (V 0=a) (N 2=c)) (N 1==b))\n( (-- 0=w) (-- 1=))\n(X (-- 0=w))\n";
    assert_eq!(write(&entries(text, true, &ReadOptions::default()), true).as_deref(), Ok(text));
    let text = "(B (A w0) w1)\n";
    let options = ReadOptions { bare_words: true, ..ReadOptions::default() };
    let unambiguous = "(B (A (-- w0)) (-- w1))\n";
    assert_eq!(write(&entries(text, false, &options), false).as_deref(), Ok(unambiguous));
    assert_eq!(entries(unambiguous, false, &ReadOptions::default()), entries(text, false, &options));
    let options = ReadOptions { no_parse: true, ..ReadOptions::default() };
    assert_eq!(write(&entries("(TOP)\n\n", false, &options), false).as_deref(), Ok("(())\n(())\n"));
}

#[test]
fn two_dashes_are_no_tag() {
    check("(S (-- a) (B (-- b)) (-- --))", &["S[0:a/ B[1:b/] 2:--/]"]);
    check_disc("(S (-- 0=a) (-- 1=--))", &["S[0:a/ 1:--/]"]);
    let text = "(A (-- w0) w1)\n( (A ( w0) (-- w1)))\n";
    let tidy = "(A (-- w0) (-- w1))\n( (A (-- w0) (-- w1)))\n";
    assert_eq!(write(&entries(text, false, &ReadOptions::default()), false).as_deref(), Ok(tidy));
    // To scorers they are a tag, so that a word under one constituent is not taken for a bare word.
    let options = ReadOptions { literal_tags: true, ..ReadOptions::default() };
    assert_eq!(read("(S (-- a))", false, &options), ["S[0:a/--]"]);
    let entry = entries("(S (-- a))", false, &options);
    assert_eq!(write(&entry, false).map_err(|error| error.code), Err(Code::Unwritable));
}

#[test]
fn what_brackets_cannot_hold_is_refused() {
    #[track_caller]
    fn check(text: &str, edit: impl FnOnce(&mut Entry), with_index: bool, expected: Result<&str, &str>) {
        let mut entry = entries(text, true, &ReadOptions::default()).remove(0);
        edit(&mut entry);
        let written = write(&[entry], with_index).map_err(|error| error.to_string());
        assert_eq!(written.as_deref().map_err(String::as_str), expected);
    }
    let word = |form: &'static str| move |entry: &mut Entry| entry.sentence.tokens[0].form = form.into();
    let one = "(S (A 0=a))";
    check(one, word("(:"), false, Ok("(S (A -LRB-:))\n"));
    check(one, word("a)"), true, Ok("(S (A 0=a-RRB-))\n"));
    for form in ["a b", "a\t", "\n", "\ra", "a\0"] {
        for with_index in [false, true] {
            let message = format!(
                "sentence 1: the word {form:?} contains white space, which brackets cannot hold [TW008]"
            );
            check(one, word(form), with_index, Err(&message));
        }
    }
    check(one, word(""), false, Err("sentence 1: word 1 is empty, which Penn brackets cannot hold [TW008]"));
    check(one, word(""), true, Ok("(S (A 0=))\n"));
    let disc =
        "sentence 1: Penn brackets cannot hold a discontinuous tree; use discbracket or export [TW007]";
    check("(S (X (A 0=a) (A 2=c)) (A 1=b))", |_| {}, false, Err(disc));
    let missing = "sentence 1: a sentence without a tree cannot be written as brackets [TW007]";
    check(one, |entry| entry.tree = None, true, Err(missing));
    let longer = "sentence 1: the tree has 1 words but the sentence 2 [TW007]";
    check(one, |entry| entry.sentence.tokens.push(Token::default()), true, Err(longer));
    let heads = "sentence 1: brackets cannot hold a dependency tree; use conllu [TW007]";
    check(
        one,
        |entry| entry.tree = Some(crate::tree::DependencyTree::from_heads([None]).into()),
        true,
        Err(heads),
    );
}

/// What brackets hold of an entry: forms, tags, labels and structure, with brackets escaped.
fn reduced(entry: &Entry) -> Entry {
    let Some(Tree::Constituent(tree)) = &entry.tree else { panic!("a constituent tree") };
    let mut builder = TreeBuilder::with_tokens(tree.n_tokens());
    for (_, node) in tree.nodes() {
        builder.node(escape(&node.label));
    }
    for (id, _) in tree.nodes() {
        tree.children(id).iter().for_each(|&child| builder.attach(child, id));
    }
    let token = |token: &Token| Token::new(escape(&token.form), escape(&token.tag));
    let tokens = entry.sentence.tokens.iter().map(token).collect();
    let tree = builder.finish().expect("the same tree");
    Entry { sentence: Sentence { tokens, ..Sentence::default() }, tree: Some(tree.into()) }
}

fn escape(text: &str) -> String {
    text.replace('(', "-LRB-").replace(')', "-RRB-")
}

const ODD_TAGS: &[&str] = &["", "N", "0=a", "=", "-NONE-", "é", "#", "A=1", "\u{a0}"];

proptest! {
    /// What was written is what is read, bare words, empty labels and odd labels included.
    #[test]
    fn trees_round_trip(
        (mut sentence, tree) in arbitrary::constituents(9, Shape { tags: ODD_TAGS, edges: false, secondary: false, ..Shape::NASTY }),
        (flat_sentence, flat) in arbitrary::constituents(9, Shape { tags: ODD_TAGS, labels: NASTY_LABELS, ..Shape::CONTINUOUS }),
    ) {
        sentence.tokens[0].form = "".into();
        let disc = [Entry { sentence, tree: Some(tree.into()) }, Entry { sentence: flat_sentence, tree: Some(flat.into()) }];
        let text = write(&disc, true).expect("discbracket holds any tree");
        prop_assert_eq!(&entries(&text, true, &ReadOptions::default())[..], &disc[..]);
        let text = write(&disc[1..], false).expect("a continuous tree");
        prop_assert_eq!(&entries(&text, false, &ReadOptions::default())[..], &disc[1..]);
    }

    /// Any entry is either refused or read back, with what the format holds.
    #[test]
    fn any_entry_round_trips_or_is_refused(entry in random::constituent_entry()) {
        match write(std::slice::from_ref(&entry), true) {
            Ok(text) => prop_assert_eq!(entries(&text, true, &ReadOptions::default()), vec![reduced(&entry)]),
            Err(error) => prop_assert_eq!(error.code, Code::Unwritable),
        }
    }

    /// Damaged text gives trees or errors, and ends.
    #[test]
    fn damaged_text_is_read_to_its_end(mutations in random::mutations(), with_index: bool) {
        let text: &[u8] = match with_index {
            true => b"(S (VP (V 0=a) (N 2=c)) (N 1=b))\n( (S\n   (A 0=x)\n  (B 1=y=)))\n(X 0=w)\n(A 0=b (C 1=d))\n",
            false => b"(S (VP (V a) (N b)) (N c))\n( (S\n   (A x)\n  (B y)))\n(X w)\n(A b (C d))\n",
        };
        let text = random::mutate(text, &mutations);
        for bare_words in [false, true] {
            let options = ReadOptions { bare_words, no_parse: bare_words, ..ReadOptions::default() };
            let items = testing::read(format(with_index), &text, &options);
            prop_assert!(items.len() < 200);
            let mut good: Vec<Entry> = items.into_iter().flatten().collect();
            // The others have no place in this format.
            good.iter_mut().for_each(|entry| entry.sentence.comments.retain(|line| is_parse_comment(line)));
            let written = write(&good, with_index).expect("what was read can be written");
            let options = ReadOptions { no_parse: true, ..ReadOptions::default() };
            prop_assert_eq!(entries(&written, with_index, &options), good);
        }
    }
}

#[test]
fn deep_and_wide_trees() {
    testing::check_deep_and_wide(Format::Ptb, 1_000_000);
    testing::check_deep_and_wide(Format::Discbracket, 1_000_000);
    // An unclosed one, and one in the wrong order.
    let open = "(S ".repeat(100_000);
    assert_eq!(read(&open, false, &ReadOptions::default()).len(), 1);
    let n = 100_000;
    let backwards: String = (0..n).rev().map(|i| format!(" (A {i}=w)")).collect();
    let trees = entries(&format!("(S{backwards})"), true, &ReadOptions::default());
    assert_eq!(trees[0].sentence.len(), n);
}

#[test]
fn a_line_of_many_trees_takes_linear_time() {
    let n = 100_000;
    let options = ReadOptions::default();
    // Text, then one empty tree after the other, and in the end one that is not closed.
    assert_eq!(read("é )(".repeat(n), false, &options).len(), n + 1);
    let text = "(S (A a))".repeat(n);
    assert_eq!(read(&text, false, &options).len(), n);
}

#[test]
fn lines_between_trees_that_start_with_a_hash_are_comments() {
    let text = "# parse = 1\n# score = 2.5\n(A (B b))\n\n# any\r\n(A (# #))\n(A (B\n# b))\n";
    let items = testing::read(Format::Ptb, text, &ReadOptions::default());
    let comments = |i: usize| items[i].as_ref().expect("a tree").sentence.comments.clone();
    assert_eq!(
        (comments(0), comments(1)),
        (vec!["# parse = 1".into(), "# score = 2.5".into()], vec!["# any".into()])
    );
    assert!(items.len() == 3 && comments(2).is_empty(), "inside a tree it is a word");
    // What a parser says is written, other comments are not.
    let trees: Vec<Entry> = items.into_iter().take(2).map(|item| item.expect("a tree")).collect();
    assert_eq!(write(&trees, false).expect("writable"), "# parse = 1\n# score = 2.5\n(A (B b))\n(A (# #))\n");
}

#[test]
fn comments_count_for_the_size_of_a_sentence() {
    let options = ReadOptions { limit: crate::treebank::Limit::bytes(6400), ..ReadOptions::default() };
    let text = format!("{}(A (B b))\n", "#\n".repeat(150));
    let items = testing::read(Format::Ptb, text, &options);
    assert_eq!(items.len(), 2);
    assert_eq!(items[0].as_ref().map_err(|error| error.code).err(), Some(Code::TooLarge));
    assert!(items[1].is_ok());
}
