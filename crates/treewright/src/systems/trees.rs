//! (Tests only) small continuous constituent trees: from text, at random, and all of them.

use crate::ids::TokenIdx;
use crate::rng::Rng;
use crate::tree::{Child, ConstituentTree, TreeBuilder};

/// The tree of a bracketing whose leaves are bare words, such as `(A (B w0) w1)`.
pub fn tree(text: &str) -> ConstituentTree {
    let mut builder = TreeBuilder::with_tokens(0);
    let (mut open, mut n) = (Vec::new(), 0);
    let text = text.replace('(', " ( ").replace(')', " ) ");
    let mut parts = text.split_whitespace();
    while let Some(part) = parts.next() {
        match part {
            "(" => {
                let node = builder.node(parts.next().expect("a label follows a bracket"));
                if let Some(&parent) = open.last() {
                    builder.attach(Child::Node(node), parent);
                }
                open.push(node);
            }
            ")" => drop(open.pop()),
            _ => {
                builder
                    .attach(Child::Token(TokenIdx::new(n)), *open.last().expect("words stand in brackets"));
                n += 1;
            }
        }
    }
    builder.finish().expect("a tree")
}

/// The labels that the trees below use.
pub const LABELS: [&str; 2] = ["A", "B"];

/// A random tree over `n` words with unary chains of up to `max_unary`.
pub fn random(rng: &mut Rng, n: usize, max_unary: usize) -> ConstituentTree {
    let mut text = String::new();
    write_random(rng, 0, n, max_unary, &mut text);
    if n == 1 && !text.starts_with('(') {
        text = format!("(A {text})");
    }
    tree(&text)
}

fn write_random(rng: &mut Rng, left: usize, right: usize, max_unary: usize, out: &mut String) {
    // Chains are rare, so that most trees look like trees.
    let chain = (0..max_unary).take_while(|_| rng.below(4) == 0).count();
    for _ in 0..chain {
        out.push_str(&format!("({} ", LABELS[rng.below(2)]));
    }
    if right - left == 1 {
        out.push_str(&format!("w{left}"));
    } else {
        out.push_str(&format!("({}", LABELS[rng.below(2)]));
        let mut ends: Vec<usize> = (left + 1..right).filter(|_| rng.below(3) == 0).collect();
        if ends.is_empty() {
            ends.push(left + 1 + rng.below(right - left - 1));
        }
        ends.push(right);
        let mut start = left;
        for end in ends {
            out.push(' ');
            write_random(rng, start, end, max_unary, out);
            start = end;
        }
        out.push(')');
    }
    for _ in 0..chain {
        out.push(')');
    }
}

/// Every tree over `n` words with the two labels and unary chains of up to `max_unary`.
pub fn all(n: usize, max_unary: usize) -> Vec<ConstituentTree> {
    let mut texts = all_items(0, n, max_unary);
    texts.retain(|text| text.starts_with('('));
    texts.iter().map(|text| tree(text)).collect()
}

/// Every subtree over `left..right`, the bare word included.
fn all_items(left: usize, right: usize, max_unary: usize) -> Vec<String> {
    let mut items = Vec::new();
    if right - left == 1 {
        items.push(format!("w{left}"));
    } else {
        for inside in all_sequences(left, right, max_unary, 2) {
            items.extend(LABELS.map(|label| format!("({label}{inside})")));
        }
    }
    let mut newest = 0;
    for _ in 0..max_unary {
        let end = items.len();
        for i in newest..end {
            let above = LABELS.map(|label| format!("({label} {})", items[i]));
            items.extend(above);
        }
        newest = end;
    }
    items
}

/// Every sequence of at least `at_least` subtrees over `left..right`.
fn all_sequences(left: usize, right: usize, max_unary: usize, at_least: usize) -> Vec<String> {
    let mut sequences = Vec::new();
    if at_least <= 1 {
        sequences.extend(all_items(left, right, max_unary).iter().map(|item| format!(" {item}")));
    }
    for end in left + 1..right {
        let rest = all_sequences(end, right, max_unary, at_least.saturating_sub(1).max(1));
        for first in all_items(left, end, max_unary) {
            sequences.extend(rest.iter().map(|rest| format!(" {first}{rest}")));
        }
    }
    sequences
}
