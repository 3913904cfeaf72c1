//! Alpino XML: what is read, what is refused, where reading goes on.

use proptest::prelude::*;

use super::*;
use crate::tree::Tree;
use crate::treebank::{Format, random, testing};

/// "Wat wil Jan zien?": the object of `zien` is fronted, and Jan is the subject of both verbs.
const GOOD: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<alpino_ds version="1.3">
  <parser cats="1" skips="0"/>
  <node begin="0" cat="top" end="5" id="0" rel="top">
    <node begin="0" cat="whq" end="4" id="1" rel="--">
      <node begin="2" end="3" index="1" rel="su" pos="name" pt="n" postag="SPEC(deeleigen)" lemma="Jan" word="Jan"/>
      <node begin="1" end="2" rel="hd" pt="ww" root="wil" word="wil"/>
      <node begin="0" cat="inf" end="4" rel="vc">
        <node begin="2" end="3" index="1" rel="su"/>
        <node begin="0" end="1" rel="obj1" pos="pron" word="Wat"/>
        <node begin="3" end="4" rel="hd" pos="verb" word="&quot;zien&quot;"/>
      </node>
    </node>
    <node begin="4" end="5" rel="--" pos="punct" word="?"/>
  </node>
  <sentence sentid="17">Wat wil Jan zien ?</sentence>
  <comments><comment>Q#17|Wat wil
    Jan &amp; zien ?|1</comment></comments>
</alpino_ds>
"#;

fn read(text: &str) -> Vec<Result<Entry>> {
    let options = ReadOptions { file: "dir/12.xml".into(), ..ReadOptions::default() };
    testing::read(Format::Alpino, text, &options)
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(testing::shown(testing::read(Format::Alpino, text, &ReadOptions::default())), expected);
}

/// The nodes stand on line 2, between two good sentences.
#[track_caller]
fn check_error(nodes: &str, expected: &str) {
    let good = "<alpino_ds><node cat='top'><node word='a' begin='0' pos='A'/></node></alpino_ds>";
    let text = format!("<treebank>{good}\n<alpino_ds>{nodes}</alpino_ds>\n{good}</treebank>");
    check(&text, &["(top (A 0=a))", expected, "(top (A 0=a))"]);
}

#[test]
fn a_sentence() {
    check(GOOD, &["(top (whq (inf (pron 0=Wat) (verb 3=\"zien\")) (ww 1=wil) (name 2=Jan)) (punct 4=?))"]);
    let entry = read(GOOD).remove(0).expect("valid");
    assert_eq!(entry.sentence.id, "17");
    assert_eq!(entry.sentence.comments, ["# Q#17|Wat wil Jan & zien ?|1"]);
    let jan = Token { lemma: "Jan".into(), xpos: "SPEC(deeleigen)".into(), ..Token::new("Jan", "name") };
    assert_eq!(entry.sentence.tokens[2], jan);
    assert_eq!(entry.sentence.tokens[1].lemma, "wil");
    let Some(Tree::Constituent(tree)) = entry.tree else { panic!("a tree") };
    let nodes: Vec<_> = tree.nodes().map(|(_, node)| (node.label.as_str(), node.edge.as_str())).collect();
    assert_eq!(nodes, [("inf", "vc"), ("whq", ""), ("top", "top")]);
    assert_eq!((tree.token_edge(TokenIdx::new(0)), tree.token_edge(TokenIdx::new(4))), ("obj1", ""));
    let secondary: Vec<_> =
        tree.secondary_edges().iter().map(|e| (e.child, e.label.as_str(), e.parent.index())).collect();
    assert_eq!(secondary, [(Child::Token(TokenIdx::new(2)), "su", 0)]);
}

#[test]
fn several_in_one_file() {
    let one = "<alpino_ds><node cat='top'><node word='a' begin='0'/></node></alpino_ds>";
    let two = "<alpino_ds id='x'><node cat='top'><node word='b' begin='0'/></node><sentence sentid='y'/></alpino_ds>";
    for text in [
        format!("{one}\n{two}"),
        format!("<?xml version='1.0'?>{one}\n<?xml version='1.0'?>{two}"),
        format!("<treebank>\n{one}{two}</treebank>"),
    ] {
        check(&text, &["(top (-- 0=a))", "(top (-- 0=b))"]);
        let ids: Vec<Str> = read(&text).into_iter().map(|item| item.expect("valid").sentence.id).collect();
        assert_eq!(ids, ["12", "x"]);
    }
    for (file, expected) in [("a/b\\c.xml.gz", "c"), ("12.xml", "12"), ("x.gz", "x"), ("", "")] {
        let options = ReadOptions { file: file.into(), ..ReadOptions::default() };
        let first = testing::read(Format::Alpino, one, &options).remove(0);
        assert_eq!(first.expect("valid").sentence.id, expected, "{file}");
    }
}

#[test]
fn references() {
    // A constituent that holds references only is dropped, and with it the edges into it and from it.
    let text = "<alpino_ds><node cat='top'><node cat='x' index='1'><node word='a' begin='0' index='2'/></node>\
                <node cat='y' rel='vc' index='3'><node index='1' rel='su'/><node cat='z'><node index='2' rel='hd'/></node></node>\
                <node index='3' rel='q'/><node index='1' rel='r'/></node></alpino_ds>";
    check(text, &["(top (x (-- 0=a)))"]);
    let Some(Tree::Constituent(tree)) = read(text).remove(0).expect("valid").tree else { panic!("a tree") };
    let secondary: Vec<_> =
        tree.secondary_edges().iter().map(|e| (e.child, e.label.as_str(), e.parent.index())).collect();
    assert_eq!(secondary, [(Child::Node(crate::ids::NodeId::new(0)), "r", 1)]);
    check_error(
        "<node cat='top'><node word='a' begin='0'/><node index='5'/></node>",
        "2:54: sentence 2: no <node> with content has the index \"5\"; expected one [TW102]",
    );
    // The first node with content counts.
    let text = "<alpino_ds><node cat='top'><node index='1' rel='r'/><node word='a' begin='0' index='1'/>\
                <node word='b' begin='1' index='1'/></node></alpino_ds>";
    let Some(Tree::Constituent(tree)) = read(text).remove(0).expect("valid").tree else { panic!("a tree") };
    assert_eq!(tree.secondary_edges()[0].child, Child::Token(TokenIdx::new(0)));
    // An index on a constituent without category is no reference.
    check("<alpino_ds><node index='1'><node word='a' begin='0'/></node></alpino_ds>", &["( (-- 0=a))"]);
}

#[test]
fn bad_sentences() {
    check_error("", "2:1: sentence 2: a sentence without words; expected one [TW207]");
    check_error("<node cat='top'/>", "2:1: sentence 2: a sentence without words; expected one [TW207]");
    for begin in ["", "begin='x'", "begin='-1'"] {
        check_error(
            &format!(
                "<node cat='top'><node word='a' {begin}/><node word='b' begin='0'><node/></node></node>"
            ),
            "2:28: sentence 2: a word without position; expected begin=\"number\" [TW204]",
        );
    }
    check_error(
        "<node cat='top'><node word='a' begin='0'/><node word='b' begin='0'/></node>",
        "2:54: sentence 2: word 0 stands in the tree twice; expected once [TW206]",
    );
    check_error(
        "<node cat='top'><node word='b' begin='2'/><node word='a' begin='0'/></node>",
        "2:28: sentence 2: word 1 is missing before word 2; expected every position from 0 [TW205]",
    );
    check_error(
        "<node cat='top'><node word='a' begin='0'/><node cat='np'/></node>",
        "2:54: sentence 2: a <node> with neither word, index nor children; expected one of them [TW207]",
    );
    check_error(
        "<node cat='top'><node word='a' begin='0'><node cat='np'/></node></node>",
        "2:53: sentence 2: a <node> inside a word; expected it inside a constituent [TW301]",
    );
    check_error(
        "<node word='a' begin='0'/>",
        "2:12: sentence 2: a word at the top; expected a constituent [TW107]",
    );
    check_error(
        "<node cat='top'><node word='a' begin='0'/></node><node cat='top'><node word='b' begin='1'/></node>",
        "2:61: sentence 2: a second <node> at the top; expected one [TW107]",
    );
    check_error(
        "<alpino_ds/><node/>",
        "2:12: sentence 2: <alpino_ds> inside another; expected </alpino_ds> [TW301]",
    );
    check(
        "<alpino_ds><node>\n",
        &["2:1: sentence 1: the file ends inside an element; expected its end tag [TW209]"],
    );
}

proptest! {
    /// Damaged text gives trees or errors, and ends.
    #[test]
    fn damaged_text_is_read_to_its_end(mutations in random::mutations()) {
        let text = random::mutate(format!("<treebank>{GOOD}{GOOD}</treebank>").as_bytes(), &mutations);
        let items = testing::read(Format::Alpino, &text, &ReadOptions::default());
        prop_assert!(items.len() < 50);
    }
}

#[test]
fn deep_and_wide_trees() {
    let text = format!(
        "<alpino_ds>{}<node word='a' begin='0'/>{}</alpino_ds>",
        "<node cat='x'>".repeat(100_000),
        "</node>".repeat(100_000)
    );
    let Some(Tree::Constituent(tree)) = read(&text).remove(0).expect("valid").tree else { panic!("a tree") };
    assert_eq!(tree.n_nodes(), 100_000);
    let words: String = (0..300_000).rev().map(|i| format!("<node word='w' begin='{i}'/>\n")).collect();
    let text = format!("<alpino_ds><node cat='top'>{words}</node></alpino_ds>");
    assert_eq!(read(&text).remove(0).expect("valid").sentence.len(), 300_000);
}
