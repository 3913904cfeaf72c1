use proptest::prelude::*;

use super::*;
use crate::treebank::{Format, WriteOptions, random, testing};

fn read(text: &str) -> Vec<Result<Entry>> {
    testing::read(Format::Json, text, &ReadOptions::default())
}

fn write(entry: &Entry) -> String {
    testing::write(Format::Json, std::slice::from_ref(entry), &WriteOptions::default()).expect("writable")
}

#[track_caller]
fn check_error(line: &str, expected: &str) {
    let entries = read(&format!("{{\"tokens\":[]}}\n{line}\n\n{{\"tokens\":[]}}\n"));
    assert_eq!(entries.len(), 3);
    assert!(entries[0].is_ok() && entries[2].is_ok());
    let error = entries[1].as_ref().expect_err("the second line is bad");
    assert_eq!((error.location.line, error.location.sentence), (2, 2));
    let what = error.message.split(';').next().unwrap_or_default();
    assert_eq!(format!("{} {} {what}", error.location.column, error.code.as_str()), expected);
}

#[test]
fn an_object_reads_as_documented() {
    let text = "{\"id\":\"s\",\"tokens\":[{\"form\":\"a\",\"tag\":\"X\"},{\"form\":\"b\"}],\
                \"constituents\":{\"nodes\":[{\"label\":\"NP\",\"edge\":\"SB\",\"parent\":1},{\"label\":\"S\",\"parent\":null}],\
                \"tokens\":[{\"parent\":1},{\"parent\":0,\"edge\":\"HD\"}],\
                \"secondary\":[{\"token\":1,\"label\":\"x\",\"parent\":0}]}}\n";
    let entry = read(text).remove(0).expect("valid");
    assert_eq!(write(&entry), text);
    let Some(Tree::Constituent(tree)) = &entry.tree else { panic!("a constituent tree") };
    assert_eq!((tree.n_nodes(), tree.token_edge(TokenIdx::new(1))), (2, "HD"));
    let text = "{\"tokens\":[{\"form\":\"a\"},{\"form\":\"b\"}],\
                \"dependencies\":[{\"head\":2,\"relation\":\"x\"},{\"head\":0}]}\n";
    let entry = read(text).remove(0).expect("valid");
    assert_eq!(entry.tree, {
        let mut tree = DependencyTree::from_heads([Some(1), None]);
        tree.arcs[0].label = "x".into();
        Some(tree.into())
    });
    assert_eq!(write(&entry), text);
}

#[test]
fn bad_json() {
    check_error("é", "1 TW302 this line is no JSON object");
    check_error("[\"id\"]", "1 TW302 this line is no JSON object");
    check_error("{\"tokens\":[}", "12 TW302 expected value");
    check_error("{\"id\":\"é\"}", "10 TW302 missing field `tokens`");
    let unknown = "{\"tokens\":[],\"é\":1}";
    let error = read(unknown).remove(0).expect_err("unknown field");
    assert!(error.message.starts_with("unknown field `é`"), "{error}");
    let deep = format!("{{\"tokens\":{}", "[".repeat(100_000));
    check_error(&deep, "12 TW302 invalid type: sequence, expected a string");
}

#[test]
fn bad_trees() {
    let one = "{\"tokens\":[{\"form\":\"a\"}],";
    let dependencies = |heads: &str| format!("{one}\"dependencies\":[{heads}]}}");
    check_error(&dependencies(""), "1 TW302 0 dependencies");
    check_error(&dependencies("{\"head\":2}"), "1 TW104 the head of word 1 is 2");
    check_error(&dependencies("{\"head\":1}"), "1 TW106 word 1 is its own ancestor");
    let tree = |nodes: &str, tokens: &str| {
        format!("{one}\"constituents\":{{\"nodes\":[{nodes}],\"tokens\":[{tokens}]}}}}")
    };
    let (root, leaf) = ("{\"label\":\"S\",\"parent\":null}", "{\"parent\":0}");
    check_error(&tree(root, ""), "1 TW302 constituents over 0 tokens");
    check_error(&tree(root, "{\"parent\":1}"), "1 TW208 node 1");
    check_error(&tree("{\"label\":\"S\",\"parent\":7}", leaf), "1 TW208 node 7");
    check_error(
        &tree("{\"label\":\"S\",\"parent\":0}", leaf),
        "1 TW208 a constituent is not connected to the root",
    );
    check_error(&tree(&format!("{root},{root}"), leaf), "1 TW207 a constituent dominates no word");
    let secondary = |edge: &str| {
        let inner = format!("\"nodes\":[{root}],\"tokens\":[{leaf}],\"secondary\":[{edge}]");
        format!("{one}\"constituents\":{{{inner}}}}}")
    };
    check_error(&secondary("{\"token\":0,\"parent\":0}"), "1 TW208 a secondary edge");
    check_error(&secondary("{\"token\":1,\"node\":0,\"parent\":0}"), "1 TW208 a secondary edge");
    check_error(&secondary("{\"node\":1,\"parent\":0}"), "1 TW208 node 1");
    check_error(&format!("{one}\"multiwords\":[{}]}}", RANGE.replace('2', "1")), "1 TW102 the multiword 0-1");
    check_error(&format!("{one}\"multiwords\":[{}]}}", RANGE.replace('0', "1")), "1 TW102 the multiword 1-2");
    let backwards = RANGE.replace('2', "1").replace('0', "2");
    check_error(
        &format!("{{\"tokens\":[{{\"form\":\"a\"}},{{\"form\":\"b\"}}],\"multiwords\":[{backwards}]}}"),
        "1 TW102 the multiword 2-1",
    );
    let node = "{\"after\":2,\"number\":1,\"columns\":[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"]}";
    check_error(&format!("{one}\"empty_nodes\":[{node}]}}"), "1 TW102 an empty node after word 2");
}

const RANGE: &str = "{\"first\":0,\"last\":2,\"columns\":[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"]}";

#[test]
fn a_deep_tree() {
    let n = 100_000;
    let mut builder = TreeBuilder::with_tokens(1);
    let nodes: Vec<NodeId> = (0..n).map(|_| builder.node("X")).collect();
    builder.attach(Child::Token(TokenIdx::new(0)), nodes[0]);
    nodes.windows(2).for_each(|pair| builder.attach(Child::Node(pair[0]), pair[1]));
    let tree = builder.finish().expect("a chain");
    let entry = Entry { sentence: Sentence::from_tagged([("w", "T")]), tree: Some(tree.into()) };
    assert!(read(&write(&entry)) == [Ok(entry)]);
}

proptest! {
    #[test]
    fn random_entries_come_back(
        mut entry in prop_oneof![random::dependency_entry(), random::constituent_entry()],
        any_text in any::<String>(),
    ) {
        // JSON holds what columns cannot: line ends, tabs, NUL.
        entry.sentence.tokens[0].misc = any_text.into();
        prop_assert_eq!(read(&write(&entry)), [Ok(entry)]);
    }
}
