use proptest::prelude::*;

use super::*;
use crate::treebank::{WriteOptions, testing};

const GOOD: &str = "\
# sent_id = s1
# text = du\tla
0.1\tvide\t_\t_\t_\t_\t_\t_\t0:exroot\t_
1-2\tdu\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tde\tde\tADP\tP\tA=B|C=D\t3\tcase\t3:case\t_
2\tle\tle\tDET\t_\t_\t3\tdet\t_\t_
2.1\tx\t_\t_\t_\t_\t_\t_\t_\t_
2.2\ty\t_\t_\t_\t_\t_\t_\t_\t_
3\t_\t_\tNOUN\t_\t_\t0\troot\t_\tEnd=Yes
3.1\tz\t_\t_\t_\t_\t_\t_\t_\t_

1\tno\t_\t_\t_\t_\t_\t_\t_\t_
2\ttree\t_\t_\t_\t_\t_\t_\t_\t_

";

fn read(text: &str) -> Vec<Result<Entry>> {
    testing::read(Format::Conllu, text, &ReadOptions::default())
}

fn read_conllx(text: &str) -> Vec<Result<Entry>> {
    testing::read(Format::Conllx, text, &ReadOptions::default())
}

fn write(entries: &[Entry]) -> Result<String> {
    testing::write(Format::Conllu, entries, &WriteOptions::default())
}

fn write_conllx(entries: &[Entry]) -> Result<String> {
    testing::write(Format::Conllx, entries, &WriteOptions::default())
}

/// A row with this ID, HEAD and DEPREL.
fn row(id: &str, head: &str, relation: &str) -> String {
    format!("{id}\té\t_\t_\t_\t_\t{head}\t{relation}\t_\t_\n")
}

/// A sentence of words with these heads.
fn heads(heads: &[&str]) -> String {
    let rows = heads.iter().enumerate().map(|(i, head)| row(&(i + 1).to_string(), head, "_"));
    rows.collect::<String>() + "\n"
}

/// No mistake in heads and relations matters; other mistakes are errors still.
#[test]
fn where_only_words_are_wanted_no_mistake_in_a_tree_matters() {
    let options = ReadOptions { words_only: true, ..ReadOptions::default() };
    for bad in [&["2", "1"][..], &["0", "0"], &["1"], &["7"], &["x"], &["_", "1"], &["2", "3", "2"]] {
        let text = heads(bad);
        assert!(read(&text)[0].is_err(), "{bad:?}");
        for format in [Format::Conllu, Format::Conllx] {
            let entries: Result<Vec<Entry>> = testing::read(format, &text, &options).into_iter().collect();
            let entries = entries.expect("words");
            assert_eq!((entries.len(), entries[0].sentence.len()), (1, bad.len()), "{bad:?}");
            assert_eq!(entries[0].tree, None);
        }
    }
    let out_of_order = row("2", "0", "root") + "\n";
    assert!(testing::read(Format::Conllu, &out_of_order, &options)[0].is_err());
}

/// The text gives these errors (the message up to the semicolon) and, after each, reading goes on.
#[track_caller]
fn check_error(text: &str, expected: &str) {
    let text = format!("{}{text}{}", heads(&["0"]), heads(&["0"]));
    let entries = read(&text);
    assert_eq!(entries.len(), 3, "{entries:?}");
    assert!(entries[0].is_ok() && entries[2].is_ok(), "{entries:?}");
    let error = entries[1].as_ref().expect_err("the second sentence is bad");
    assert_eq!(error.location.sentence, 2);
    let place = format!("{}:{}", error.location.line - 2, error.location.column);
    let what = error.message.split(';').next().unwrap_or_default();
    assert_eq!(format!("{place} {} {what}", error.code.as_str()), expected);
}

#[test]
fn everything_round_trips() {
    let entries: Vec<Entry> = read(GOOD).into_iter().collect::<Result<_>>().expect("valid");
    assert_eq!(write(&entries).as_deref(), Ok(GOOD));
    let Entry { sentence, tree } = &entries[0];
    assert_eq!(sentence.id, "s1");
    assert_eq!((sentence.len(), sentence.multiwords.len(), sentence.empty_nodes.len()), (3, 1, 4));
    assert_eq!(sentence.tokens[0].feats, "A=B|C=D");
    assert_eq!((sentence.tokens[1].xpos.as_str(), sentence.tokens[2].form.as_str()), ("", "_"));
    let Some(Tree::Dependency(tree)) = tree else { panic!("a dependency tree") };
    assert_eq!(tree.arcs[0], Arc { head: Some(TokenIdx::new(2)), label: "case".into() });
    assert_eq!(entries[1].tree, None);
}

#[test]
fn line_ends_and_blank_lines_are_put_right() {
    let windows = format!("\u{feff}\r\n{}\r\n\r\n", GOOD.trim_end().replace('\n', "\r\n"));
    let entries: Vec<Entry> = read(&windows).into_iter().collect::<Result<_>>().expect("valid");
    assert_eq!(write(&entries).as_deref(), Ok(GOOD));
    let unended: Vec<_> = read(GOOD.trim_end());
    assert_eq!(unended, read(GOOD));
}

#[test]
fn bad_columns() {
    check_error("1\té\t_\n\n", "1:5 TW101 3 columns");
    check_error("1 é _ _\n\n", "1:1 TW101 1 columns");
    check_error(&format!("{}\t_\n\n", row("1", "0", "_").trim_end()), "1:21 TW101 11 columns");
    check_error("1\té\t\t_\t_\t_\t0\t_\t_\t_\n\n", "1:5 TW108 column 3 (LEMMA) is empty");
    check_error("1\té\t_\t_\t_\t_\t0\t_\t_\t\n\n", "1:19 TW108 column 10 (MISC) is empty");
    check_error("no row\n\n", "1:1 TW101 1 columns");
}

#[test]
fn bad_ids() {
    check_error(&format!("{}\n", row("x", "0", "_")), "1:1 TW102 the ID is \"x\"");
    check_error(&format!("{}\n", row("2", "0", "_")), "1:1 TW102 the ID is \"2\"");
    check_error(&format!("{}\n", row("0", "0", "_")), "1:1 TW102 the ID is \"0\"");
    check_error(&format!("{}\n", row("01", "0", "_")), "1:1 TW102 the ID is \"01\"");
    let one = row("1", "0", "_");
    check_error(&format!("{one}{one}\n"), "2:1 TW103 word 1 stands here twice");
    let range = |id| row(id, "_", "_");
    check_error(&format!("{one}{}\n", range("2-3")), "2:1 TW102 the range 2-3 ends after the last word, 1");
    check_error(&format!("{}{one}\n", range("1-2")), "1:1 TW102 the range 1-2 ends after the last word, 1");
    check_error(&format!("{}{one}\n", range("2-3")), "1:1 TW102 the range 2-3 is out of place");
    check_error(&format!("{}{one}\n", range("1-0")), "1:1 TW102 the range 1-0 is out of place");
    check_error(&format!("{}{0}{one}\n", range("1-1")), "2:1 TW102 the range 1-1 is out of place");
    check_error(&format!("{one}{}\n", range("1.2")), "2:1 TW102 the empty node 1.2 is out of place");
    check_error(&format!("{one}{}{0}\n", range("1.1")), "3:1 TW103 the empty node 1.1 is out of place");
    check_error(&format!("{one}{}\n", range("0.1")), "2:1 TW102 the empty node 0.1 is out of place");
    check_error(
        &format!("{}{}{one}\n", range("1-1"), range("0.1")),
        "2:1 TW102 the empty node 0.1 is out of place",
    );
}

#[test]
fn bad_heads() {
    check_error(&heads(&["0", "x"]), "2:13 TW104 the head is \"x\"");
    check_error(&heads(&["0", "00"]), "2:13 TW104 the head is \"00\"");
    check_error(&heads(&["0", "-1"]), "2:13 TW104 the head is \"-1\"");
    check_error(&heads(&["0", "3"]), "2:13 TW104 the head is 3");
    check_error(&heads(&["0", "999999999"]), "2:13 TW104 the head is 999999999");
    check_error(&heads(&["0", "4294967296"]), "2:13 TW104 the head is \"4294967296\"");
    check_error(&heads(&["0", "2"]), "2:13 TW106 word 2 is its own head");
    check_error(&heads(&["0", "3", "2"]), "2:13 TW106 word 2 is its own ancestor");
    check_error(&heads(&["2", "1"]), "1:13 TW106 word 1 is its own ancestor");
    check_error(&heads(&["_", "0"]), "1:13 TW105 word 1 has no head");
    check_error(&heads(&["0", "_", "_"]), "2:13 TW105 word 2 has no head");
    check_error(&format!("{}\n", row("1", "_", "root")), "1:15 TW105 a relation without a head");
    check_error(&heads(&["0", "1", "0", "0"]), "3:13 TW107 word 3 is a second root");
}

#[test]
fn misplaced_lines() {
    check_error(&format!("{}# no\n\n", row("1", "0", "_")), "2:1 TW109 a comment inside a sentence");
    check_error("# alone\n# here\n\n", "1:1 TW109 a sentence without words");
    check_error(&format!("{}\n", row("0.1", "_", "_")), "1:1 TW109 a sentence without words");
}

#[test]
fn bad_bytes_cost_one_sentence() {
    let text = [heads(&["0"]).as_bytes(), b"1\t\xFF\t\0\n2\t\xFF\n\n", heads(&["0"]).as_bytes()].concat();
    let codes: Vec<_> = testing::read(Format::Conllu, text, &ReadOptions::default())
        .into_iter()
        .map(|entry| entry.err().map(|error| (error.code, error.location.line, error.location.column)))
        .collect();
    assert_eq!(codes, [None, Some((Code::InvalidUtf8, 3, 3)), None]);
}

#[test]
fn several_roots_are_allowed_on_demand_and_in_conllx() {
    let text = heads(&["0", "0"]);
    assert!(read_conllx(&text)[0].is_ok());
    let options = ReadOptions { many_roots: true, ..ReadOptions::default() };
    let entries: Result<Vec<Entry>> = testing::read(Format::Conllu, &text, &options).into_iter().collect();
    assert_eq!(write(&entries.expect("allowed")), Ok(text));
}

#[test]
fn conllx_keeps_its_columns() {
    let text = "1\tA\ta\tN\tNN\tx|y\t0\tROOT\t2\tP\n2\tB\t_\tV\tVB\t_\t1\tOBJ\t_\t_\n\n";
    let entries: Vec<Entry> = read_conllx(text).into_iter().collect::<Result<_>>().expect("valid");
    assert_eq!(entries[0].sentence.tokens[0].deps, "2");
    assert_eq!(write_conllx(&entries).as_deref(), Ok(text));
    for id in ["1-1", "0.1"] {
        let error = read_conllx(&row(id, "_", "_")).remove(0).expect_err("not in CoNLL-X");
        assert_eq!(error.code, Code::BadId);
    }
    // What CoNLL-X cannot hold is left out.
    let entries: Vec<Entry> = read(GOOD).into_iter().collect::<Result<_>>().expect("valid");
    let text = write_conllx(&entries).expect("writable");
    assert_eq!(text.lines().next(), Some("1\tde\tde\tADP\tP\tA=B|C=D\t3\tcase\t_\t_"));
    assert_eq!(text.lines().filter(|line| !line.is_empty()).count(), 5);
}

#[track_caller]
fn check_unwritable(change: impl Fn(&mut Entry), expected: Code) {
    let mut entry = read(GOOD).remove(0).expect("valid");
    change(&mut entry);
    assert_eq!(write(&[entry]).map_err(|error| error.code), Err(expected));
}

#[test]
fn what_would_not_come_back_is_not_written() {
    check_unwritable(|e| e.sentence.tokens[0].form = "a\tb".into(), Code::Unwritable);
    check_unwritable(|e| e.sentence.tokens[0].lemma = "a\nb".into(), Code::Unwritable);
    check_unwritable(|e| e.sentence.tokens[0].feats = "a\0b".into(), Code::Unwritable);
    check_unwritable(|e| e.sentence.tokens[0].misc = "a\r".into(), Code::Unwritable);
    check_unwritable(|e| e.sentence.tokens[0].lemma = "_".into(), Code::Unwritable);
    check_unwritable(|e| e.sentence.tokens[2].tag = "_".into(), Code::Unwritable);
    check_unwritable(|e| e.sentence.tokens[0].misc = "_".into(), Code::Unwritable);
    check_unwritable(
        |e| {
            let mut tree = DependencyTree::from_heads([None, Some(0), Some(0)]);
            tree.arcs[1].label = "_".into();
            e.tree = Some(tree.into());
        },
        Code::Unwritable,
    );
    check_unwritable(|e| e.sentence.comments[0] = "# a\n".into(), Code::Unwritable);
    check_unwritable(|e| e.sentence.tokens[0].form = "".into(), Code::EmptyColumn);
    check_unwritable(|e| e.sentence.multiwords[0].columns[3] = "".into(), Code::EmptyColumn);
    check_unwritable(|e| e.sentence.multiwords[0].last = TokenIdx::new(3), Code::Unwritable);
    check_unwritable(|e| e.sentence.multiwords[0].first = TokenIdx::new(3), Code::Unwritable);
    check_unwritable(|e| e.sentence.empty_nodes[1].number = 2, Code::Unwritable);
    check_unwritable(|e| e.sentence.empty_nodes[0].after = 3, Code::Unwritable);
    check_unwritable(|e| e.sentence.empty_nodes[3].after = 4, Code::Unwritable);
    check_unwritable(|e| e.sentence = Sentence::default(), Code::Unwritable);
    check_unwritable(|e| e.tree = Some(DependencyTree::from_heads([None]).into()), Code::Unwritable);
    check_unwritable(
        |e| e.tree = Some(DependencyTree::from_heads([None, Some(0), Some(3)]).into()),
        Code::BadHead,
    );
    let constituents = || {
        let mut builder = crate::tree::TreeBuilder::with_tokens(3);
        let root = builder.node("S");
        (0..3).for_each(|i| builder.attach(crate::tree::Child::Token(TokenIdx::new(i)), root));
        builder.finish().expect("one node over three words")
    };
    check_unwritable(|e| e.tree = Some(constituents().into()), Code::WrongTreeKind);
}

#[test]
fn the_id_wins_over_an_old_comment() {
    let mut entry = read(GOOD).remove(0).expect("valid");
    entry.sentence.id = "new".into();
    assert!(write(&[entry.clone()]).expect("writable").starts_with("# sent_id = new\n# text"));
    entry.sentence.comments = vec!["%% other".into()];
    assert!(write(&[entry]).expect("writable").starts_with("# sent_id = new\n# %% other\n0.1"));
}

#[test]
fn a_million_words() {
    let n = 1_000_000;
    let tokens = (0..n).map(|_| Token::new("w", "X")).collect();
    let sentence = Sentence { tokens, ..Sentence::default() };
    // A chain: as deep as it is long.
    let tree = DependencyTree::from_heads((0..n).map(|i: usize| i.checked_sub(1)));
    let entry = Entry { sentence, tree: Some(tree.into()) };
    let text = write(std::slice::from_ref(&entry)).expect("writable");
    assert!(read(&text) == [Ok(entry)]);
}

proptest! {
    #[test]
    fn random_entries_come_back(entry in crate::treebank::random::dependency_entry()) {
        let text = write(std::slice::from_ref(&entry)).expect("writable");
        prop_assert_eq!(read(&text), [Ok(entry)]);
    }

    #[test]
    fn random_entries_come_back_from_conllx(mut entry in crate::treebank::random::dependency_entry()) {
        let Sentence { id, comments, multiwords, empty_nodes, tokens } = &mut entry.sentence;
        id.clear();
        comments.clear();
        multiwords.clear();
        empty_nodes.clear();
        for token in tokens {
            token.deps = if token.deps.is_empty() { "".into() } else { "7".into() };
        }
        let text = write_conllx(std::slice::from_ref(&entry)).expect("writable");
        prop_assert_eq!(read_conllx(&text), [Ok(entry)]);
    }
}
