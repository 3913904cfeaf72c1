//! Both bracket formats: what is read, what is refused, where reading goes on.

use super::*;
use crate::treebank::{DiscbracketReader, DiscbracketWriter};

/// What a file gives, one line per item: the tree as brackets without ambiguity, or the error.
fn read(text: &str, with_index: bool, options: &ReadOptions) -> Vec<String> {
    let items: Vec<Result<Entry>> = if with_index {
        DiscbracketReader::new(text.as_bytes(), options).collect()
    } else {
        PennReader::new(text.as_bytes(), options).collect()
    };
    items.into_iter().map(|item| item.map_or_else(|e| e.to_string(), |entry| show(&entry))).collect()
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
