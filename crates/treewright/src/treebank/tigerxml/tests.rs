//! TIGER-XML: what is read, what is refused, where reading goes on.

use proptest::prelude::*;

use super::*;
use crate::tree::arbitrary::{self, Shape};
use crate::tree::{DependencyTree, Tree};
use crate::treebank::{Format, WriteOptions, random, testing};

const SENTENCE: &str = r#"<s id="s7">
<graph root="s7_502" discontinuous="true">
<terminals>
<t id="s7_1" word="Das" lemma="das" pos="PDS" morph="Nom.Sg"/>
<t id="s7_2" word="habe" lemma="haben" pos="VAFIN" morph="--">
<secedge label="SB" idref="s7_500"/>
</t>
<t id="s7_3" word="&quot;ich&quot;&#9;&amp; &lt;é&gt;" lemma="--" pos="--" morph="--" xpos="X" deps="--" misc="a=b"/>
<t id="s7_4" word="--" lemma="--" pos="VVPP" morph="--"/>
</terminals>
<nonterminals>
<nt id="s7_500" cat="VP">
<edge label="OA" idref="s7_1"/>
<edge label="HD" idref="s7_4"/>
</nt>
<nt id="s7_501" cat="S">
<edge label="OC" idref="s7_500"/>
<edge label="HD" idref="s7_2"/>
<edge label="--" idref="s7_3"/>
<secedge label="RE" idref="s7_500"/>
</nt>
<nt id="s7_502" cat="VROOT">
<edge label="--" idref="s7_501"/>
</nt>
</nonterminals>
</graph>
</s>
"#;

fn wrap(body: &str) -> String {
    format!("{HEAD}{body}</body>\n</corpus>\n")
}

fn read(text: &str, options: &ReadOptions) -> Vec<Result<Entry>> {
    testing::read(Format::Tigerxml, text, options)
}

fn entries(text: &str) -> Vec<Entry> {
    let items: Result<Vec<Entry>> = read(text, &ReadOptions::default()).into_iter().collect();
    items.unwrap_or_else(|error| panic!("{error} in\n{text}"))
}

fn write(entries: &[Entry]) -> Result<String> {
    testing::write(Format::Tigerxml, entries, &WriteOptions::default())
}

/// The trees as discbracket, errors as they are shown.
fn shown(text: &str, options: &ReadOptions) -> Vec<String> {
    testing::shown(read(text, options))
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(shown(text, &ReadOptions::default()), expected);
}

const ONE: &str = "<s id='o'><graph root='1'><t id='0' word='a' pos='A'/><nt id='1' cat='S'><edge idref='0'/></nt></graph></s>";

/// The bad sentence stands on line 2, between two good ones.
#[track_caller]
fn check_error(bad: &str, expected: &str) {
    let text = format!("<corpus>{ONE}\n{bad}\n{ONE}</corpus>");
    check(&text, &["(S (A 0=a))", expected, "(S (A 0=a))"]);
}

#[test]
fn everything_is_kept() {
    let text = wrap(SENTENCE);
    let found = entries(&text);
    assert_eq!(write(&found).as_deref(), Ok(text.as_str()));
    let Entry { sentence, tree } = &found[0];
    assert_eq!(sentence.id, "s7");
    assert_eq!(
        sentence.tokens[0],
        Token { lemma: "das".into(), feats: "Nom.Sg".into(), ..Token::new("Das", "PDS") }
    );
    let odd =
        Token {
            xpos: "X".into(), deps: "--".into(), misc: "a=b".into(), ..Token::new("\"ich\"\t& <é>", "")
        };
    assert_eq!(sentence.tokens[2], odd);
    assert_eq!(sentence.tokens[3].form, "--");
    let Some(Tree::Constituent(tree)) = tree else { panic!("a tree") };
    let nodes: Vec<_> = tree.nodes().map(|(_, node)| (node.label.as_str(), node.edge.as_str())).collect();
    assert_eq!(nodes, [("VP", "OC"), ("S", ""), ("VROOT", "")]);
    let secondary: Vec<_> =
        tree.secondary_edges().iter().map(|e| (e.child, e.label.as_str(), e.parent.index())).collect();
    assert_eq!(
        secondary,
        [(Child::Token(TokenIdx::new(1)), "SB", 0), (Child::Node(NodeId::new(1)), "RE", 0)]
    );
    assert_eq!(write(&[]), Ok(wrap("")));
    assert!(entries(&wrap("")).is_empty());
}

#[test]
fn other_ways_to_write_it() {
    // Nothing around it, single quotes, unknown elements and attributes, edges in any order.
    let text = "<?xml version='1.0'?>\n<!-- a remark --><s id='x'><meta/>\n<graph><terminals><t id='a' word='A' number='Sg' case='--' gender='F'/>\
                <t id='b' word='B' pos='N'></t></terminals><nonterminals><nt id='t' cat='T'><edge idref='q'/></nt>\
                <nt cat='Q' id='q'><edge idref='b'/><edge idref='a'/></nt></nonterminals></graph><matches><match/></matches></s>";
    check(text, &["(T (Q (-- 0=A) (N 1=B)))"]);
    assert_eq!(entries(text)[0].sentence.tokens[0].misc, "number=Sg|gender=F");
    let both = "<s><t id='a' word='A' case='Nom' misc='x=y' number='Sg'/></s>";
    assert_eq!(entries(both)[0].sentence.tokens[0].misc, "case=Nom|x=y|number=Sg");
    // One word alone.
    check("<s><graph root='w'><t id='w' word='Ja' pos='ITJ'/></graph></s>", &["(VROOT (ITJ 0=Ja))"]);
    let options = ReadOptions { no_parse: true, ..ReadOptions::default() };
    let text = "<s id='e'></s><s/>";
    let found: Vec<Entry> = read(text, &options).into_iter().flatten().collect();
    assert_eq!((found.len(), found[0].sentence.id.as_str(), &found[0].tree), (2, "e", &None));
    let error = "1:1: sentence 1: a sentence without words; expected one [TW207]";
    assert_eq!(shown("<s></s>", &ReadOptions::default()), [error]);
}

#[test]
fn bad_sentences() {
    let t = "<t id='a' word='A'/><t id='b' word='B'/>";
    let bad = |rest: &str| format!("<s>{t}{rest}</s>");
    let both = "<edge idref='a'/><edge idref='b'/>";
    check_error("<s><t id='a'/></s>", "2:4: sentence 2: <t> without word; expected <t word=...> [TW301]");
    check_error("<s>\u{e9}<t word='a'/></s>", "2:5: sentence 2: <t> without id; expected <t id=...> [TW301]");
    check_error(&bad("<nt id='c'/>"), "2:44: sentence 2: <nt> without cat; expected <nt cat=...> [TW301]");
    check_error(
        &bad("<nt id='c' cat='C'><edge/></nt>"),
        "2:63: sentence 2: <edge> without idref; expected <edge idref=...> [TW301]",
    );
    check_error(&bad("<edge idref='a'/>"), "2:44: sentence 2: <edge> outside of <nt> [TW301]");
    check_error(
        "<s><t id='a' word='A'><edge idref='a'/></t></s>",
        "2:23: sentence 2: <edge> outside of <nt> [TW301]",
    );
    check_error(&bad("<secedge idref='a'/>"), "2:44: sentence 2: <secedge> outside of <t> or <nt> [TW301]");
    check_error(&bad("<s/>"), "2:44: sentence 2: a sentence inside another; expected </s> [TW301]");
    check_error(
        &bad("<nt id='a' cat='C'/>"),
        "2:44: sentence 2: the id \"a\" for the second time; expected each once [TW103]",
    );
    check_error(
        &bad("<nt id='c' cat='C'><edge idref='d'/></nt>"),
        "2:63: sentence 2: \"d\" is not in the sentence; expected the id of a <t> or <nt> [TW102]",
    );
    check_error(
        &bad(&format!("<nt id='c' cat='C'>{both}<edge idref='a'/></nt>")),
        "2:97: sentence 2: \"a\" has two parents; expected one, and <secedge> for others [TW206]",
    );
    check_error(
        &bad(&format!("<nt id='c' cat='C'>{both}<secedge idref='a'/></nt>")),
        "2:97: sentence 2: the second parent \"a\" is a word; expected the id of a <nt> [TW208]",
    );
}

#[test]
fn bad_trees() {
    let sentence = |root: &str, rest: &str| {
        format!("<s><graph root='{root}'/><t id='a' word='A'/><t id='b' word='B'/>\n{rest}</s>")
    };
    let both = "<edge idref='a'/><edge idref='b'/>";
    check_error(
        &sentence("c", "<nt id='c' cat='C'><edge idref='a'/></nt>"),
        "2:41: sentence 2: the word hangs nowhere; expected an <edge> to it [TW205]",
    );
    check_error(
        &sentence("c", &format!("<nt id='c' cat='C'>{both}</nt><nt id='d' cat='D'/>")),
        "3:59: sentence 2: a constituent without words; expected one in it [TW207]",
    );
    check_error(
        &sentence("c", "<nt id='c' cat='C'><edge idref='a'/></nt><nt id='d' cat='D'><edge idref='b'/></nt>"),
        "3:42: sentence 2: a constituent apart from the root; expected one root [TW107]",
    );
    check_error(
        &sentence("a", &format!("<nt id='c' cat='C'>{both}</nt>")),
        "2:1: sentence 2: the root \"a\" is no <nt> without parent; expected the topmost <nt> [TW107]",
    );
    check_error(
        &sentence("d", &format!("<nt id='c' cat='C'><edge idref='d'/></nt><nt id='d' cat='D'>{both}</nt>")),
        "2:1: sentence 2: the root \"d\" is no <nt> without parent; expected the topmost <nt> [TW107]",
    );
    check_error(
        "<s><t id='a' word='A'/>\n<nt id='c' cat='C'><edge idref='a'/><edge idref='d'/></nt>\n<nt id='d' cat='D'><edge idref='c'/></nt></s>",
        "4:1: sentence 2: a constituent is its own ancestor; expected a tree [TW106]",
    );
    check_error(
        "<s><t id='a' word='A'/><nt id='r' cat='R'><edge idref='a'/></nt>\n<nt id='d' cat='D'><edge idref='d'/></nt></s>",
        "3:1: sentence 2: a constituent is its own ancestor; expected a tree [TW106]",
    );
}

#[test]
fn bad_xml_ends_the_file() {
    let text = format!("<corpus>{ONE}\n<s><t id='a' word='A'></s>{ONE}</corpus>");
    let found = shown(&text, &ReadOptions::default());
    assert_eq!((found.len(), found[0].as_str()), (2, "(S (A 0=a))"));
    assert!(
        found[1].starts_with("2:23: sentence 2: not well-formed XML, reading ends here: ")
            && found[1].ends_with("[TW301]"),
        "{found:?}"
    );
    for cut in [
        r#"<corpus><s><t id="a" word="&nix;"/></s></corpus>"#,
        "<corpus><s><t id='a",
        "<corpus></s></corpus>",
    ] {
        let found = shown(cut, &ReadOptions::default());
        assert!(found.len() == 1 && found[0].contains("[TW301]"), "{found:?}");
    }
    // An attribute given twice, among few and among many.
    let many: String = (0..20).map(|i| format!(" a{i}='x'")).collect();
    for many in ["", many.as_str()] {
        let again =
            format!("not well-formed XML, reading ends here: the attribute {:?} for the second time", "word");
        let text = format!("{ONE}\n<s><t id='a' word='A'{many} word='B'/></s>{ONE}");
        check(&text, &["(S (A 0=a))", &format!("2:4: sentence 2: {again}; expected each once [TW301]")]);
        check(&format!("<s><t id='a' word='A'{many}/></s>"), &["(VROOT (-- 0=A))"]);
    }
    let truncated = "2:1: sentence 1: the file ends inside an element; expected its end tag [TW209]";
    check("<corpus><s>", &[truncated]);
    let items = read("<s>\n \0</s>", &ReadOptions::default());
    assert_eq!(items.len(), 1);
    assert_eq!(
        items[0].as_ref().map_err(|e| (e.code, e.location.line, e.location.column)),
        Err((Code::NulByte, 2, 2))
    );
}

#[test]
fn what_tigerxml_cannot_hold_is_refused() {
    #[track_caller]
    fn check(edit: impl FnOnce(&mut Entry), expected: Code) {
        let good = entries(&wrap(SENTENCE));
        let mut bad = good[0].clone();
        edit(&mut bad);
        testing::check_refused(Format::Tigerxml, &bad, &good[0], expected);
    }
    check(|entry| entry.sentence.tokens[0].form = "\u{1}".into(), Code::Unwritable);
    check(|entry| entry.sentence.tokens[0].misc = "\u{ffff}".into(), Code::Unwritable);
    check(|entry| entry.sentence.tokens[0].tag = "--".into(), Code::Unwritable);
    check(|entry| entry.sentence.id = "\0".into(), Code::Unwritable);
    let mut odd = entries(&wrap(SENTENCE));
    odd[0].sentence.tokens[0].form = " \t\r\n\r ".into();
    assert_eq!(entries(&write(&odd).expect("as character references")), odd);
    check(|entry| entry.tree = None, Code::WrongTreeKind);
    check(|entry| entry.tree = Some(DependencyTree::from_heads([None; 4]).into()), Code::WrongTreeKind);
    check(|entry| drop(entry.sentence.tokens.pop()), Code::WrongTreeKind);
}

proptest! {
    /// Trees of any shape with edge labels, secondary edges and odd labels.
    #[test]
    fn trees_round_trip((mut sentence, tree) in arbitrary::constituents(9, Shape::NASTY)) {
        sentence.id = "s1".into();
        let entry = Entry { sentence, tree: Some(tree.into()) };
        let text = write(std::slice::from_ref(&entry)).expect("TIGER-XML holds any tree");
        prop_assert_eq!(entries(&text), vec![entry], "{}", text);
    }

    /// Any entry is either refused or read back, without comments and multiword tokens.
    #[test]
    fn any_entry_round_trips_or_is_refused(mut entry in random::constituent_entry()) {
        match write(std::slice::from_ref(&entry)) {
            Err(error) => prop_assert_eq!(error.code, Code::Unwritable),
            Ok(text) => {
                entry.sentence.comments.clear();
                entry.sentence.multiwords.clear();
                entry.sentence.empty_nodes.clear();
                if entry.sentence.id.is_empty() {
                    entry.sentence.id = "s1".into();
                }
                prop_assert_eq!(entries(&text), vec![entry], "{}", text);
            }
        }
    }

    /// Damaged text gives trees or errors, and ends.
    #[test]
    fn damaged_text_is_read_to_its_end(mutations in random::mutations()) {
        let text = random::mutate(wrap(&format!("{SENTENCE}{SENTENCE}")).as_bytes(), &mutations);
        let items = testing::read(Format::Tigerxml, &text, &ReadOptions::default());
        prop_assert!(items.len() < 50);
    }
}

#[test]
fn deep_and_wide_trees() {
    testing::check_deep_and_wide(Format::Tigerxml, 300_000);
    let open = "<a>".repeat(100_000);
    assert_eq!(read(&open, &ReadOptions::default()).len(), 1);
    let many: String = (0..50_000).map(|i| format!(" a{i}='x'")).collect();
    check(&format!("<s><t id='w' word='v'{many}/></s>").replace("='x'", "='--'"), &["(VROOT (-- 0=v))"]);
}
