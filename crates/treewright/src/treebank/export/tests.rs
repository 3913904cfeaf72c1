//! Export: what is read, what is refused, where reading goes on.

use proptest::prelude::*;

use super::*;
use crate::tree::arbitrary::{self, Shape};
use crate::tree::{DependencyTree, Tree};
use crate::treebank::{Format, WriteOptions, random, testing};

const GOOD: &str = "\
#FORMAT 4
%% a line about the sentence
#BOS 1 2 1098266456 0 %% headline
Das\tdas\tPDS\tNom.Sg\tOA\t500
habe\thaben\tVAFIN\t1.Sg\tHD\t501\tSB\t500
ich\tich\tPPER\t--\tSB\t501\tRE\t0\t%% who?
gesehen\tsehen\tVVPP\t--\tHD\t500
.\t--\t$.\t--\t--\t0
#500\t--\tVP\t--\tOC\t501
#501\t--\tS\t--\t--\t0\tRE\t500
#EOS 1
";

fn read_with(text: &str, options: &ReadOptions) -> Vec<Result<Entry>> {
    testing::read(Format::Export, text, options)
}

fn entries(text: &str) -> Vec<Entry> {
    let items: Result<Vec<Entry>> = read_with(text, &ReadOptions::default()).into_iter().collect();
    items.unwrap_or_else(|error| panic!("{error} in\n{text}"))
}

fn write_with(entries: &[Entry], options: &WriteOptions) -> Result<String> {
    testing::write(Format::Export, entries, options)
}

fn write(entries: &[Entry]) -> Result<String> {
    write_with(entries, &WriteOptions::default())
}

/// The trees as discbracket, errors as they are shown.
fn shown(text: &str, options: &ReadOptions) -> Vec<String> {
    testing::shown(read_with(text, options))
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(shown(text, &ReadOptions::default()), expected);
}

/// The bad lines stand in the second of three sentences, on line 4 of the file.
#[track_caller]
fn check_error(lines: &str, expected: &str) {
    let good = "#BOS 1\na A -- -- 0\n#EOS 1\n";
    let text = format!("{good}{lines}\n{good}");
    let expected = expected.replace("; ", ": ").replacen(": ", ": sentence 2: ", 1);
    let found = shown(&text, &ReadOptions::default());
    assert_eq!(
        (found.len(), found[0].as_str(), found[2].as_str()),
        (3, "(TOP (A 0=a))", "(TOP (A 0=a))"),
        "{found:?}"
    );
    assert_eq!(found[1].replace("; ", ": "), expected);
}

#[test]
fn everything_is_kept() {
    let found = entries(GOOD);
    assert_eq!(write(&found).as_deref(), Ok(GOOD));
    let Entry { sentence, tree } = &found[0];
    assert_eq!(sentence.id, "1");
    assert_eq!(sentence.comments, ["%% a line about the sentence", "#BOS 2 1098266456 0 %% headline"]);
    assert_eq!(
        sentence.tokens[0],
        Token { lemma: "das".into(), feats: "Nom.Sg".into(), ..Token::new("Das", "PDS") }
    );
    assert_eq!(sentence.tokens[2].misc, "%% who?");
    let Some(Tree::Constituent(tree)) = tree else { panic!("a tree") };
    let labels: Vec<_> = tree.nodes().map(|(_, node)| (node.label.as_str(), node.edge.as_str())).collect();
    assert_eq!(labels, [("VP", "OC"), ("S", ""), ("TOP", "")]);
    assert_eq!((tree.token_edge(TokenIdx::new(3)), tree.token_edge(TokenIdx::new(4))), ("HD", ""));
    let secondary: Vec<_> =
        tree.secondary_edges().iter().map(|e| (e.child, e.label.as_str(), e.parent.index())).collect();
    let token = |i| Child::Token(TokenIdx::new(i));
    assert_eq!(secondary, [(token(1), "SB", 0), (token(2), "RE", 2), (Child::Node(NodeId::new(1)), "RE", 0)]);
    check(GOOD, &["(TOP (S (VP (PDS 0=Das) (VVPP 3=gesehen)) (VAFIN 1=habe) (PPER 2=ich)) ($. 4=.))"]);
}

#[test]
fn versions_are_told_or_seen() {
    let three = "#BOS 1\n--\t:\t\t--  --\t500\n#500\tNP\t--\t--\t0\n#EOS 1\n";
    check(three, &["(TOP (NP (: 0=--)))"]);
    check(&format!("#FORMAT 3\n{three}"), &["(TOP (NP (: 0=--)))"]);
    let four = "#BOS 1\na\tb\tC\t--\t--\t500\tX\t500 %% note %% more\n#500\t--\tNP\t--\t--\t0\n#EOS 1\n";
    check(four, &["(TOP (NP (C 0=a)))"]);
    let wrong = "sentence 1: 8 columns; expected 5 in version 3, or two more for each secondary edge [TW101]";
    check(&format!("#FORMAT 3\n{four}"), &[&format!("3:1: {wrong}")]);
    check(&format!("{three}{four}"), &["(TOP (NP (: 0=--)))", "(TOP (NP (C 0=a)))"]);
    let unknown = "1:9: sentence 1: format version \"5\"; expected 3 or 4 [TW006]";
    check(&format!("#FORMAT 5\n{three}"), &[unknown, "(TOP (NP (: 0=--)))"]);
    // The writer takes 4 once there are lemmas, or what it is told.
    let both = entries(&format!("{three}{four}"));
    let start = |text: String| {
        text.lines().filter(|line| line.starts_with("#F")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(start(write(&both).expect("any")), ["#FORMAT 3", "#FORMAT 4"]);
    let turned = [both[1].clone(), both[0].clone()];
    assert_eq!(start(write(&turned).expect("any")), ["#FORMAT 4"]);
    let told = |version| WriteOptions { export_version: Some(version), ..WriteOptions::default() };
    assert_eq!(start(write_with(&both, &told(4)).expect("any")), ["#FORMAT 4"]);
    assert_eq!(start(write_with(&both, &told(3)).expect("any")), ["#FORMAT 3"]);
}

#[test]
fn tables_and_comments_around_sentences() {
    let sentence = "#BOS 1\na A -- -- 0\n#EOS 1\n";
    let text = format!(
        "%% about the corpus\n#BOT ORIGIN\n0 x\nfree text\n#EOT ORIGIN\n\n{sentence}\n%% # text = a\n{sentence}"
    );
    check(&text, &["(TOP (A 0=a))", "(TOP (A 0=a))"]);
    let found = entries(&text);
    assert_eq!(found[0].sentence.comments, ["%% about the corpus"]);
    assert_eq!(found[1].sentence.comments, ["# text = a"]);
    assert_eq!(entries(&write(&found).expect("any")), found);
    // Found by fuzzing: comments that look like what a #BOS line held, and such a line itself, keep their order.
    for lines in [
        "%% #BOS 7\n%% x\n#BOS 1 8 9\n",
        "%% #BOS 7\n#BOS 1 0 %%\n",
        "%% #BOS 0 %%\n#BOS 1\n",
        "%% #BOS  8\n#BOS 1\n",
        "%% #BOS\n#BOS 1\n",
        "%% x\n#BOS 1 0 %% a  b\n",
    ] {
        for root in ["", " %% root=S"] {
            let text = format!("{lines}a A -- -- 500\n#500 S -- -- 0\n#EOS 1\n");
            let text = text.replacen("#BOS 1", &format!("#BOS 1{root}"), 1);
            let found = entries(&text);
            assert_eq!(entries(&write(&found).expect("any")), found, "{text}");
        }
    }
    let no_parse = ReadOptions { no_parse: true, ..ReadOptions::default() };
    let found: Result<Vec<Entry>> = read_with("#BOS 1 8 9\n#EOS 1\n", &no_parse).into_iter().collect();
    assert_eq!(write(&found.expect("an empty one")).as_deref(), Ok("#FORMAT 3\n#BOS 1 8 9\n#EOS 1\n"));
    check(
        &format!("#BOT X\n1\n{sentence}"),
        &["1:1: sentence 1: a table without end; expected #EOT [TW209]", "(TOP (A 0=a))"],
    );
    check(
        &format!("a A -- -- 0\nb\n{sentence}"),
        &["1:1: sentence 1: \"a A -- -- 0\" outside of any sentence; expected #BOS [TW109]", "(TOP (A 0=a))"],
    );
}

#[test]
fn the_root_is_virtual_or_marked() {
    let options = ReadOptions { root_label: Some("VROOT".into()), ..ReadOptions::default() };
    assert_eq!(shown("#BOS 1\na A -- -- 0\n#EOS 1\n", &options), ["(VROOT (A 0=a))"]);
    let lines = |bos: &str, label: &str| {
        format!("#FORMAT 3\n#BOS 1{bos}\na\tA\t--\t--\t500\n#500\t{label}\t--\t--\t0\n#EOS 1\n")
    };
    #[track_caller]
    fn check_same(text: &str, tree: &str, comments: &[&str]) {
        check(text, &[tree]);
        let found = entries(text);
        assert_eq!(found[0].sentence.comments, comments);
        assert_eq!(write(&found).as_deref(), Ok(text));
    }
    check_same(&lines("", "S"), "(TOP (S (A 0=a)))", &[]);
    check_same(&lines(" %% root=S", "S"), "(S (A 0=a))", &[]);
    check_same(&lines(" 0 1 2 %% root=S", "S"), "(S (A 0=a))", &["#BOS 0 1 2"]);
    check_same(&lines(" 0 %% head root=S", "S"), "(S (A 0=a))", &["#BOS 0 %% head"]);
    check_same(&lines(" %% root=--", "--"), "( (A 0=a))", &[]);
    // A mark that does not fit is an ordinary comment, and one that would be misunderstood is followed by another.
    check_same(&lines(" %% root=NP root=", "S"), "(TOP (S (A 0=a)))", &["#BOS %% root=NP"]);
    check_same(&lines(" %% root=S root=", "S"), "(TOP (S (A 0=a)))", &["#BOS %% root=S"]);
    check_same(&lines(" root=S", "S"), "(TOP (S (A 0=a)))", &["#BOS root=S"]);
    // Nor does a mark fit when a word stands beside the constituent.
    let beside = "#BOS 1 %% root=S\na A -- -- 500\nb B -- -- 0\n#500 S -- -- 0\n#EOS 1\n";
    check(beside, &["(TOP (S (A 0=a)) (B 1=b))"]);
    assert_eq!(entries(beside)[0].sentence.comments, ["#BOS %% root=S"]);
    // A root with an edge label, or below a secondary edge, needs a line.
    let edge = lines(" %% root=TOP", "TOP").replace("TOP\t--\t--", "TOP\t--\tHD");
    check_same(&edge, "(TOP (A 0=a))", &[]);
    let secondary = lines(" %% root=TOP", "TOP").replace("--\t0", "--\t0\tRE\t500");
    check_same(&secondary, "(TOP (A 0=a))", &[]);
}

#[test]
fn bad_lines() {
    check_error(
        "#BOS 2\na A -- 0\n#EOS 2",
        "5:1: 4 columns; expected 6 in version 4, or two more for each secondary edge [TW101]",
    );
    check_error(
        "#BOS 2\na A -- -- 0\nb B -- 0\n#EOS 2",
        "6:1: 4 columns; expected 5 in version 3, or two more for each secondary edge [TW101]",
    );
    check_error("#BOS 2\né A -- -- x\n#EOS 2", "5:11: the parent is \"x\"; expected a number [TW208]");
    check_error("#BOS 2\na A -- -- -1\n#EOS 2", "5:11: the parent is \"-1\"; expected a number [TW208]");
    check_error("#BOS 2\na A -- -- 0 X y\n#EOS 2", "5:15: the parent is \"y\"; expected a number [TW208]");
    check_error(
        "#BOS 2\né A -- -- 501\n#500 X -- -- 0\n#EOS 2",
        "5:11: the parent 501 is not in the sentence; expected 0 or a constituent of it [TW208]",
    );
    check_error(
        "#BOS 2\na A -- -- 500\n#500 X -- -- 7\n#EOS 2",
        "6:14: the parent 7 is not in the sentence; expected 0 or a constituent of it [TW208]",
    );
    check_error(
        "#BOS 2\na A -- -- 500\n#500 X -- -- 0\n#500 Y -- -- 0\n#EOS 2",
        "7:1: constituent #500 for the second time; expected each once [TW103]",
    );
    check_error(
        "#BOS 2\na A -- -- 500\n#500 X -- -- 0\nb A -- -- 500\n#EOS 2",
        "7:1: a word after the constituent on line 6; expected words first [TW109]",
    );
    check_error(
        "#BOS 2\na A -- -- 0\n#EOS 3",
        "6:6: #EOS 3 ends sentence 2; expected the same number [TW102]",
    );
    check_error("#BOS 2\n#EOS 2", "4:1: a sentence without words; expected one [TW207]");
}

#[test]
fn bad_trees() {
    check_error(
        "#BOS 2\na A -- -- 0\n#500 X -- -- 0\n#EOS 2",
        "6:1: constituent #500 has no words; expected at least one [TW207]",
    );
    check_error(
        "#BOS 2\na A -- -- 500\n#500 X -- -- 501\n#501 Y -- -- 500\n#EOS 2",
        "7:1: constituent #501 is its own ancestor; expected a tree [TW106]",
    );
    check_error(
        "#BOS 2\na A -- -- 0\n#500 X -- -- 501\n#501 Y -- -- 500\n#EOS 2",
        "7:1: constituent #501 is its own ancestor; expected a tree [TW106]",
    );
    check_error(
        "#BOS 2\na A -- -- 0\nb A -- -- 500\n#500 X -- -- 500\n#EOS 2",
        "7:1: constituent #500 is its own ancestor; expected a tree [TW106]",
    );
}

#[test]
fn sentences_that_do_not_end() {
    check_error("#BOS 2\na A -- -- 0", "6:1: a sentence starts inside another; expected #EOS [TW209]");
    check(
        "#BOS 1\na A -- -- 0\n",
        &["1:1: sentence 1: the file ends inside the sentence; expected #EOS [TW209]"],
    );
    // The lines of a bad sentence are skipped, even those that are not text.
    let text = b"#BOS 1\nx\n\xFF\n#EOS 1\n#BOS 2\n\0\n#EOS 2\n#BOS 3\na A -- -- 0\n#EOS 3\n";
    let items = testing::read(Format::Export, text, &ReadOptions::default());
    let codes: Vec<_> =
        items.iter().map(|item| item.as_ref().map_or_else(|e| e.code.as_str(), |_| "")).collect();
    assert_eq!(codes, ["TW101", "TW004", ""]);
}

#[test]
fn empty_sentences_are_no_parses_if_asked_for() {
    let options = ReadOptions { no_parse: true, ..ReadOptions::default() };
    let text = "#FORMAT 3\n#BOS 7\n#EOS 7\n";
    let found: Vec<Entry> = read_with(text, &options).into_iter().flatten().collect();
    assert_eq!((found.len(), found[0].sentence.id.as_str(), &found[0].tree), (1, "7", &None));
    assert_eq!(write(&found).as_deref(), Ok(text));
}

#[test]
fn what_export_cannot_hold_is_refused() {
    #[track_caller]
    fn check(edit: impl FnOnce(&mut Entry), expected: Code) {
        let mut entry = entries(GOOD).remove(0);
        edit(&mut entry);
        testing::check_refused(Format::Export, &entry, &entries(GOOD)[0], expected);
    }
    for form in
        ["", "a b", "a\tb", "\n", "#500", "#70000", "#99999999999999999999999", "#EOS", "#BOS", "%%", "%%a"]
    {
        check(|entry| entry.sentence.tokens[1].form = form.into(), Code::Unwritable);
    }
    for value in ["--", "a b", "\r"] {
        check(|entry| entry.sentence.tokens[1].tag = value.into(), Code::Unwritable);
        check(|entry| entry.sentence.tokens[1].lemma = value.into(), Code::Unwritable);
        check(|entry| entry.sentence.tokens[1].feats = value.into(), Code::Unwritable);
        let edge = |entry: &mut Entry, f: fn(&mut crate::tree::ConstituentTree) -> &mut Str| {
            let Some(Tree::Constituent(tree)) = &mut entry.tree else { panic!("a tree") };
            *f(tree) = value.into();
        };
        check(|entry| edge(entry, |tree| tree.label_mut(NodeId::new(0))), Code::Unwritable);
        check(|entry| edge(entry, |tree| tree.edge_mut(NodeId::new(0))), Code::Unwritable);
    }
    check(|entry| entry.sentence.tokens[1].misc = "%%\n".into(), Code::Unwritable);
    // After the parent, this would be a comment.
    let remark = |entry: &mut Entry| {
        let Some(Tree::Constituent(tree)) = &entry.tree else { panic!("a tree") };
        let mut builder = tree.to_builder();
        builder.secondary(Child::Token(TokenIdx::new(0)), "%%x", tree.root());
        entry.tree = Some(builder.finish().expect("the same tree").into());
    };
    check(remark, Code::Unwritable);
    check(|entry| entry.sentence.comments.push("a\nb".into()), Code::Unwritable);
    check(|entry| entry.sentence.id = "a b".into(), Code::Unwritable);
    check(|entry| entry.tree = None, Code::WrongTreeKind);
    check(|entry| entry.tree = Some(DependencyTree::from_heads([None; 5]).into()), Code::WrongTreeKind);
    check(|entry| drop(entry.sentence.tokens.pop()), Code::WrongTreeKind);
    for form in ["#499", "#", "#a", "#FORMAT", "--", "%", "#500a"] {
        let mut entry = entries(GOOD).remove(0);
        entry.sentence.tokens[1].form = form.into();
        assert_eq!(entries(&write(std::slice::from_ref(&entry)).expect("an odd word")), [entry]);
    }
}

/// What export holds of an entry.
fn reduced(entry: &Entry) -> Entry {
    let mut sentence = entry.sentence.clone();
    sentence.multiwords.clear();
    sentence.empty_nodes.clear();
    if sentence.id.is_empty() {
        sentence.id = "1".into();
    }
    for token in &mut sentence.tokens {
        token.xpos = Str::default();
        token.deps = Str::default();
        // Only what looks like a comment has a place after a word.
        let is_comment = token.misc.starts_with("%%");
        token.misc =
            if is_comment { token.misc.trim_end_matches([' ', '\t']).into() } else { Str::default() };
    }
    Entry { sentence, tree: entry.tree.clone() }
}

proptest! {
    /// Trees of any shape with edge labels, secondary edges and odd labels.
    #[test]
    fn trees_round_trip((mut sentence, tree) in arbitrary::constituents(9, Shape::NASTY), version in 3u32..5, label in 0usize..3) {
        sentence.id = "s1".into();
        let entry = Entry { sentence, tree: Some(tree.into()) };
        let root_label = [None, Some(Str::from("S")), Some(Str::default())][label].clone();
        let options = WriteOptions { export_version: Some(version), root_label: root_label.clone(), ..WriteOptions::default() };
        let text = write_with(std::slice::from_ref(&entry), &options).expect("export holds any tree");
        let options = ReadOptions { root_label, ..ReadOptions::default() };
        let found: Result<Vec<Entry>> = read_with(&text, &options).into_iter().collect();
        prop_assert_eq!(found, Ok(vec![entry]), "{}", text);
    }

    /// Any entry is either refused or read back, with what the format holds.
    #[test]
    fn any_entry_round_trips_or_is_refused(entry in random::constituent_entry()) {
        match write(std::slice::from_ref(&entry)) {
            Ok(text) => prop_assert_eq!(entries(&text), vec![reduced(&entry)], "{}", text),
            Err(error) => prop_assert_eq!(error.code, Code::Unwritable),
        }
    }

    /// Damaged text gives trees or errors, and ends; what is read can be written.
    #[test]
    fn damaged_text_is_read_to_its_end(mutations in random::mutations()) {
        let text = random::mutate(format!("{GOOD}{GOOD}").as_bytes(), &mutations);
        let items = testing::read(Format::Export, &text, &ReadOptions::default());
        prop_assert!(items.len() < 100);
        for entry in items.into_iter().flatten() {
            match write(std::slice::from_ref(&entry)) {
                Ok(text) => prop_assert_eq!(entries(&text), vec![entry], "{}", text),
                Err(error) => prop_assert!(false, "{error}"),
            }
        }
    }
}

#[test]
fn deep_and_wide_trees() {
    testing::check_deep_and_wide(Format::Export, 1_000_000);
    // A long cycle.
    let ring: String =
        (0..100_000).map(|i| format!("#{} X -- -- {}\n", 500 + i, 500 + (i + 1) % 100_000)).collect();
    let found = shown(&format!("#BOS 1\na A -- -- 500\n{ring}#EOS 1\n"), &ReadOptions::default());
    assert!(found[0].ends_with("[TW106]"), "{found:?}");
}
